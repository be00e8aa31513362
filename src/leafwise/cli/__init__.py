"""The command line: show, query, edit, compare and merge nested config files.

Owns the arguments. What a command does is in `commands`, what is read and written in
`files`. Output is coloured as `--color` says, else as `NO_COLOR`, `FORCE_COLOR` and the
standard output do.

Status 0 for success; 1 if `diff` found differences or an edit in place was refused; 2
for errors.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from .. import __version__
from ..errors import LeafwiseError
from ..lazy import need
from ..paint import WHEN
from ..safely import is_near
from . import commands
from .files import complain, write


__all__ = ["main"]

_ABOUT_ALL: Final = ("-h", "--help", "--version", "--print-completion")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status.

    Args:
        arguments: The command line without the program; None for `sys.argv`.

    Returns:
        0; 1 if `diff` found differences, or if an edit in place was refused because it
        would lose comments or layout; 2 after an error.
    """
    given = [*(sys.argv[1:] if arguments is None else arguments)]
    parser, parsers = _parser()
    if not given:
        parser.error("a command or a file is required")
    try:
        if given[0].split("=")[0] in _ABOUT_ALL:
            shell = parser.parse_args(given).print_completion
            print(_completion(parser, parsers, shell))
            return 0
        command = _take_command(parser, given)
        # its own parser lets options stand between FILE and SELECTOR
        options = parsers[command].parse_intermixed_args(given)
        report = COMMANDS[command].run(options)
        write(report.lines, report.path)
    except (LeafwiseError, ModuleNotFoundError, OSError, ValueError) as error:
        complain(f"{parser.prog}: {_in_one_line(error)}")
        return getattr(error, "status", 2)
    return report.status


def _take_command(parser: argparse.ArgumentParser, given: list[str]) -> str:
    """Take the command out of arguments; it is `show` if a file comes without one.

    Options may stand before both: `--format json -`.
    """
    words = (word for word in given if word == "-" or not word.startswith("-"))
    word = next(words, "")
    if word in COMMANDS:
        given.remove(word)
        return word
    if word == given[0] != "-" and "." not in word and not os.path.exists(word):
        close = [name for name in COMMANDS if is_near(word, name)]
        hint = f"; did you mean {close[0]!r}?" if close else ""
        parser.error(f"{word!r} is neither a command nor a file{hint}")
    return "show"


def _in_one_line(error: Exception) -> str:
    """Return an error as one line; a pattern with a caret below it as it is."""
    text = str(error)
    if isinstance(error, OSError) and error.strerror:
        text = f"{error.filename or 'cannot write'}: {error.strerror}"
    return text if text.endswith("^") else " ".join(map(str.strip, text.split("\n")))


# --------------------------------------------------------------------- arguments


Parsers = Mapping[str, argparse.ArgumentParser]


def _parser() -> tuple[argparse.ArgumentParser, Parsers]:
    """Return the parser, and those of the commands."""
    is_module = os.path.basename(sys.argv[0]) == "__main__.py"
    parser = argparse.ArgumentParser(
        prog="python -m leafwise" if is_module else "leafwise",
        description="Show, query, edit, compare and merge nested config files: JSON, "
        "TOML, and YAML if ruamel.yaml is installed. Use - for the standard input. "
        "FILE without a command shows the file.",
    )
    parser.add_argument("--version", action="version", version=__version__)
    parser.add_argument(
        "--print-completion", choices=("bash", "zsh", "tcsh"), metavar="SHELL",
        help="print a completion script for the shell; requires shtab",
    )  # fmt: skip
    parsers = parser.add_subparsers(prog=parser.prog, metavar="COMMAND")
    for name, command in COMMANDS.items():
        told = (command.run.__doc__ or "").replace("\n    ", "\n")
        made = parsers.add_parser(
            name,
            help=told.partition(".\n")[0],
            description=told,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        forms = made.add_mutually_exclusive_group()
        for to, arguments in (made, command.arguments), (forms, command.forms):
            for names, how in arguments:
                to.add_argument(*names.split(), **how)
        forms.add_argument(
            "--json", action="store_true", help="print JSON, for scripts"
        )
        made.add_argument("--format", choices=_KINDS, help="the format of the files")
        made.add_argument("--color", choices=WHEN, default="auto")
    return parser, parsers.choices


def _completion(parser: argparse.ArgumentParser, parsers: Parsers, shell: str) -> str:
    """Return what makes a shell complete our arguments."""
    shtab = need("shtab", "--print-completion", "shell")
    for made in parsers.values():
        for action in made._actions:
            if action.metavar == "FILE":
                action.complete = shtab.FILE  # type: ignore[attr-defined]
    script: str = shtab.complete(parser, shell=shell)
    return script


Argument = tuple[str, dict[str, Any]]
"""The names of an argument, with blanks between them, and what argparse takes."""


class Command(NamedTuple):
    """A command: the function that runs it, and its arguments.

    Attributes:
        run: Takes the options and returns a report; its docstring is the help text.
        arguments: The command's own arguments.
        forms: Those of which only one may be given, or `--json`.
    """

    run: Callable[[argparse.Namespace], commands.Report]
    arguments: Sequence[Argument]
    forms: Sequence[Argument] = ()


def _repeated(name: str, metavar: str, told: str) -> Argument:
    how = {"action": "append", "default": [], "metavar": metavar, "help": told}
    return name, how


def _form(name: str, function: str, told: str, **how: Any) -> Argument:
    if not how:
        how = {"action": "store_true"}
    return name, {"dest": function, "help": told, **how}


_KINDS: Final = ("json", "toml", "yaml")
_FILE: Final[Argument] = "files", {"nargs": 1, "metavar": "FILE"}
_SELECTOR: Final[Argument] = "selectors", {
    "nargs": 1, "metavar": "SELECTOR", "help": "such as 'jobs.*.steps[0]'"
}  # fmt: skip
_SELECTORS: Final[Argument] = "selectors", {"nargs": "*", "metavar": "SELECTOR"}
_TO: Final[Argument] = "--to", {"choices": _KINDS, "help": "the format of the output"}
_OUTPUT: Final[list[Argument]] = [
    _TO,
    ("-i --in-place", {"action": "store_true",
                       "help": "write the file instead of printing it"}),
]  # fmt: skip
_LISTS: Final = _repeated("--lists", "HOW", "how lists are paired: a word, or "
                          "SELECTOR=KEY, such as '**.containers=name'")  # fmt: skip

COMMANDS: Final[dict[str, Command]] = {
    "show": Command(commands.show, [
        _FILE, _SELECTORS,
        ("--depth", {"type": int, "help": "the number of levels to draw"}),
    ], [
        _form("--tree", "draw", "draw the tree, even into a pipe"),
        _form("--summary", "tree_summary", "print a table of shapes, counts and bytes"),
        _form("--mermaid", "to_mermaid", "print a Mermaid flowchart"),
        _form("--dot", "to_dot", "print a graph in the DOT language of Graphviz"),
        _form("--svg", "to_svg", "write an SVG image", metavar="FILE"),
        _form("--html", "to_html", "write a collapsible HTML page", metavar="FILE"),
    ]),
    "paths": Command(commands.paths, [_FILE, _SELECTORS]),
    "get": Command(commands.get, [_FILE, _SELECTOR], [_TO]),
    "set": Command(commands.put, [
        _FILE,
        ("changes", {"nargs": "+", "metavar": "CHANGE", "help": "such as optim.lr=1"}),
    ], _OUTPUT),
    "delete": Command(commands.delete, [
        _FILE, ("selectors", {"nargs": "+", "metavar": "SELECTOR"}),
    ], _OUTPUT),
    "move": Command(commands.move, [
        _FILE, _SELECTOR, ("path", {"metavar": "PATH", "help": "the new path"}),
    ], _OUTPUT),
    "rename": Command(commands.rename, [
        _FILE, _SELECTOR, ("name", {"metavar": "NAME", "help": "the new key"}),
    ], _OUTPUT),
    "diff": Command(commands.diff, [
        ("files", {"nargs": 2, "metavar": "FILE"}),
        ("--rtol", {"type": float, "default": 0.0, "help": "relative tolerance"}),
        ("--atol", {"type": float, "default": 0.0, "help": "absolute tolerance"}),
        _repeated("--ignore", "SELECTOR", "part to ignore"),
        _LISTS,
    ]),
    "merge": Command(commands.merge, [
        ("files", {"nargs": "+", "metavar": "FILE"}),
        ("--delete", {"metavar": "VALUE",
                      "help": "a value that marks deletions, such as null"}),
        _repeated("--rule", "SELECTOR=WORD", "how to merge the selected part, such as "
                  "'**.tags=extend'"),
        _LISTS,
    ], _OUTPUT),
    "flat": Command(commands.flat, [
        _FILE, ("--sep", {"default": ".", "help": "separator between names"}),
    ]),
}  # fmt: skip
