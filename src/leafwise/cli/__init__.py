"""The command line: show, query, edit, compare and merge nested config files.

Owns the arguments. What a command does is in `commands`. Output is coloured as
`--color` says, else as `NO_COLOR`, `FORCE_COLOR` and the standard output do.

Status 0 for success; 1 if `diff` found differences or an edit in place was refused; 2
for errors.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from .. import __version__
from .._lazy import need
from .._text import is_similar
from ..errors import LeafwiseError
from ..show.colors import WHEN
from . import commands
from .commands import complain, write


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
            shtab = need("shtab", "--print-completion", "shell")
            for made in parsers.values():
                for action in made._actions:
                    if action.metavar == "FILE":
                        action.complete = shtab.FILE  # type: ignore[attr-defined]
            print(shtab.complete(parser, shell=shell))
            return 0
        # options may stand before the command, or a file without one: `--format json -`
        words = (word for word in given if word == "-" or not word.startswith("-"))
        word, command = next(words, ""), "show"
        if word in COMMANDS:
            given.remove(word)
            command = word
        elif word == given[0] != "-" and "." not in word and not os.path.exists(word):
            close = [name for name in COMMANDS if is_similar(word, name)]
            hint = f"; did you mean {close[0]!r}?" if close else ""
            parser.error(f"{word!r} is neither a command nor a file{hint}")
        # its own parser lets options stand between FILE and SELECTOR
        options = parsers[command].parse_intermixed_args(given)
        report = COMMANDS[command][0](options)
        if report.lines:
            write(report.lines, report.path)
    except (LeafwiseError, ModuleNotFoundError, OSError, ValueError) as error:
        text = str(error)
        if isinstance(error, OSError) and error.strerror:
            text = f"{error.filename or 'cannot write'}: {error.strerror}"
        if not text.endswith("^"):  # a caret stands below a pattern
            text = " ".join(map(str.strip, text.split("\n")))
        complain(f"{parser.prog}: {text}")
        return getattr(error, "status", 2)
    return report.status


# --------------------------------------------------------------------- arguments


Parsers = Mapping[str, argparse.ArgumentParser]
Run = Callable[[argparse.Namespace], commands.Report]


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
    for name, (run, words, forms) in COMMANDS.items():
        told = (run.__doc__ or "").replace("\n    ", "\n")
        made = parsers.add_parser(
            name,
            help=told.partition(".\n")[0],
            description=told,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        group = made.add_mutually_exclusive_group()
        own = f"{words} --format --color".split()
        for word in [*own, *f"{forms} --json".split()]:
            given: Any = _OPTIONS.get(word)
            names = [word]
            if word == "--in-place":
                names = ["-i", word]
            elif given is None:
                shown = word.rstrip("*+2")
                names, number = [f"{shown.lower()}s"], word[len(shown) :]
                given = {"nargs": {"": 1, "2": 2}.get(number, number),
                         "metavar": shown, "help": _POSITIONALS.get(shown)}  # fmt: skip
            (made if word in own else group).add_argument(*names, **given)
    return parser, parsers.choices


COMMANDS: Final[dict[str, tuple[Run, str, str]]] = {
    "show": (commands.show, "FILE SELECTOR* --depth",
             "--tree --summary --mermaid --svg --html"),
    "paths": (commands.paths, "FILE SELECTOR*", ""),
    "get": (commands.get, "FILE SELECTOR", "--to"),
    "set": (commands.put, "FILE CHANGE+", "--to --in-place"),
    "delete": (commands.delete, "FILE SELECTOR+", "--to --in-place"),
    "move": (commands.move, "FILE SELECTOR PATH", "--to --in-place"),
    "rename": (commands.rename, "FILE SELECTOR NAME", "--to --in-place"),
    "diff": (commands.diff, "FILE2 --rtol --atol --ignore --lists", ""),
    "merge": (commands.merge, "FILE+ --delete --rule --lists", "--to --in-place"),
    "flat": (commands.flat, "FILE --sep", ""),
}  # fmt: skip
"""For each command, what runs it, its arguments, and those of which one may be given.

The docstring of what runs it is the help text.
"""

_KINDS: Final = ("json", "toml", "yaml")
_POSITIONALS: Final = {
    "SELECTOR": "such as 'jobs.*.steps[0]'",
    "CHANGE": "such as optim.lr=1",
    "PATH": "the new path",
    "NAME": "the new key",
}
_FLAG: Final[dict[str, Any]] = {"action": "store_true"}
_REPEATED: Final[dict[str, Any]] = {"action": "append", "default": []}
_OPTIONS: Final[dict[str, dict[str, Any]]] = {
    "--depth": {"type": int, "help": "the number of levels to draw"},
    "--tree": {**_FLAG, "dest": "draw", "help": "draw the tree, even into a pipe"},
    "--summary": {**_FLAG, "dest": "tree_summary",
                  "help": "print a table of shapes, counts and bytes"},
    "--mermaid": {**_FLAG, "dest": "to_mermaid", "help": "print a Mermaid flowchart"},
    "--svg": {"metavar": "FILE", "dest": "to_svg", "help": "write an SVG image"},
    "--html": {"metavar": "FILE", "dest": "to_html",
               "help": "write a collapsible HTML page"},
    "--to": {"choices": _KINDS, "help": "the format of the output"},
    "--in-place": {**_FLAG, "help": "write the file instead of printing it"},
    "--rtol": {"type": float, "default": 0.0, "help": "relative tolerance"},
    "--atol": {"type": float, "default": 0.0, "help": "absolute tolerance"},
    "--ignore": {**_REPEATED, "metavar": "SELECTOR", "help": "part to ignore"},
    "--lists": {**_REPEATED, "metavar": "HOW", "help": "how lists are paired: a word, "
                "or SELECTOR=KEY, such as '**.containers=name'"},
    "--rule": {**_REPEATED, "metavar": "SELECTOR=WORD", "help": "how to merge the "
               "selected part, such as '**.tags=extend'"},
    "--delete": {"metavar": "VALUE",
                 "help": "a value that marks deletions, such as null"},
    "--sep": {"default": ".", "help": "separator between names"},
    "--json": {**_FLAG, "help": "print JSON, for scripts"},
    "--format": {"choices": _KINDS, "help": "the format of the files"},
    "--color": {"choices": WHEN, "default": "auto"},
}  # fmt: skip
