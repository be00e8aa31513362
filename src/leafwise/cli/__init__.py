"""The command line: show, query, edit, compare and merge nested config files.

Owns the arguments. What a command does is in `commands`, what is read and written in
`files`. Output is coloured as `--color` says, else as `NO_COLOR`, `FORCE_COLOR` and the
standard output do.

Status 0 for success; 1 if `diff` found differences or an edit in place was refused; 2
for errors.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from .. import __version__
from ..errors import LeafwiseError
from ..paint import WHEN
from ..safely import is_near
from . import commands
from .files import Unreadable, complain, write


__all__ = ["main"]

_KINDS: Final = ("json", "toml", "yaml")
_COMPLETION: Final = "--print-completion"
_ABOUT_ALL: Final = ("-h", "--help", "--version", _COMPLETION)
_SHELLS: Final = ("bash", "zsh", "tcsh")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status.

    Args:
        arguments: The command line without the program; None for `sys.argv`.

    Returns:
        0; 1 if `diff` found differences, or if an edit in place was refused because it
        would lose comments or layout; 2 after an error.
    """
    command, given = _with_command(sys.argv[1:] if arguments is None else arguments)
    parser, parsers = _parser(command)
    if (mistyped := _mistyped(given)) is not None:
        parser.error(mistyped)
    if given[:1] == [command]:
        # its own parser lets options stand between FILE and SELECTOR
        options = parsers[command].parse_intermixed_args(given[1:])
    else:
        options = parser.parse_args(given)
    _decode_options(options)
    try:
        report = COMMANDS[command].run(options)
        write(report.lines)
    except (Unreadable, LeafwiseError, ValueError) as error:
        complain(f"{parser.prog}: {_in_one_line(error)}")
        return getattr(error, "status", 2)
    return report.status


def _with_command(given: Sequence[str]) -> tuple[str, list[str]]:
    """Return the command, and arguments with it: `show` if a file comes without one.

    Options of a command may stand before the file: `--format json -`.
    """
    words = (word for word in given if word == "-" or not word.startswith("-"))
    command = next(words, "")
    if command in COMMANDS or not given or given[0].split("=")[0] in _ABOUT_ALL:
        return command, [*given]
    return "show", ["show", *given]


def _mistyped(given: Sequence[str]) -> str | None:
    """Return what is wrong if a word stands for neither a command nor a file."""
    word = given[1] if len(given) > 1 and given[0] == "show" else ""
    if word[:1] in ("", "-") or "." in word or os.path.exists(word):
        return None
    close = [name for name in COMMANDS if is_near(word, name)]
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return f"{word!r} is neither a command nor a file{hint}"


def _decode_options(options: argparse.Namespace) -> None:
    """Read arguments as UTF-8 where the locale, `LC_ALL=C` say, cannot.

    Files keep the name that the system knows.
    """
    for name, value in vars(options).items():
        if name in ("file", "files"):
            continue
        values = value if isinstance(value, list) else [value]
        decoded = [*map(_as_utf8, values)]
        setattr(options, name, decoded if values is value else decoded[0])


def _as_utf8(value: Any) -> Any:
    try:
        return os.fsencode(value).decode() if isinstance(value, str) else value
    except UnicodeError:
        return value


def _in_one_line(error: Exception) -> str:
    """Return an error as one line; a pattern with a caret below it as it is."""
    text = str(error)
    if not text.endswith("^"):
        text = " ".join(line.strip() for line in text.split("\n"))
    return text.encode("utf-8", "backslashreplace").decode()


# --------------------------------------------------------------------- arguments


def _parser(
    *chosen: str,
) -> tuple[argparse.ArgumentParser, Mapping[str, argparse.ArgumentParser]]:
    """Return a parser that knows all commands, and the arguments of chosen ones.

    Those of `merge` name words for which selections have to be loaded.

    Returns:
        The parser, and those of the commands.
    """
    is_module = os.path.basename(sys.argv[0]) == "__main__.py"
    parser = argparse.ArgumentParser(
        prog="python -m leafwise" if is_module else "leafwise",
        description="Show, query, edit, compare and merge nested config files: JSON, "
        "TOML, and YAML if ruamel.yaml is installed. Use - for the standard input. "
        "FILE without a command shows the file.",
    )
    parser.add_argument("--version", action="version", version=__version__)
    parser.add_argument(
        _COMPLETION, action=_Completion, choices=_SHELLS, metavar="SHELL",
        help="print a completion script for the shell; requires shtab",
    )  # fmt: skip
    parsers = parser.add_subparsers(
        prog=parser.prog, dest="command", required=True, metavar="COMMAND"
    )
    for name, command in COMMANDS.items():
        told = (command.run.__doc__ or "").rstrip(".")
        calls = [one for one in _EXAMPLES if one.startswith(f"{name} ")]
        made = parsers.add_parser(
            name,
            help=told,
            description=f"{told}.",
            epilog="\n".join(["examples:", *(f"  leafwise {one}" for one in calls)]),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if name not in chosen:
            continue
        for names, options in (*_COMMON, *command.arguments):
            made.add_argument(*names.split(), **options)
        group = made.add_mutually_exclusive_group() if command.forms else made
        for names, options in command.forms:
            group.add_argument(names, **options)
        if name in ("diff", "merge"):
            _add_words(made, name)
    return parser, parsers.choices


class _Completion(argparse.Action):
    """Prints what makes a shell complete our arguments."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option: str | None = None,
    ) -> None:
        try:
            shtab = importlib.import_module("shtab")
        except ImportError:
            parser.error(f'{option} needs shtab: pip install "leafwise[shell]"')
        whole, parsers = _parser(*COMMANDS)
        whole.prog = "leafwise"
        for made in parsers.values():
            for action in made._actions:
                if action.dest in ("file", "files", "svg", "html"):
                    action.complete = shtab.FILE  # type: ignore[attr-defined]
        print(shtab.complete(whole, shell=values))
        parser.exit()


def _levels(text: str) -> int:
    if text.isascii() and text.isdigit():
        return int(text)
    raise argparse.ArgumentTypeError(f"not a number of levels: {text!r}")


def _add_words(parser: argparse.ArgumentParser, name: str) -> None:
    """Add the arguments of `diff` and `merge` that take words of selections."""
    module = "align" if name == "diff" else "merge"
    words = importlib.import_module(f"leafwise.selection.{module}")
    if name == "merge":
        parser.add_argument("--join", choices=words.JOINS, default="outer")
        parser.add_argument("--conflict", choices=words.CONFLICTS, default="overlay")
    parser.add_argument(
        "--lists", action="append", default=[], metavar="HOW",
        help=f"{', '.join(words.LISTS)}, or SELECTOR=KEY: pair items by the value of "
        "this key, such as '**.containers=name'",
    )  # fmt: skip


Argument = tuple[str, dict[str, Any]]
"""The names of an argument, with blanks between them, and what argparse takes."""


def _repeated(metavar: str, told: str) -> dict[str, Any]:
    return {"action": "append", "default": [], "metavar": metavar, "help": told}


def _flag(told: str) -> dict[str, Any]:
    return {"action": "store_const", "const": True, "help": told}


_COMMON: Final[list[Argument]] = [
    ("--json", {"action": "store_true", "help": "print JSON, for scripts"}),
    ("--format", {"choices": _KINDS, "help": "the format of the files"}),
    ("--color", {"choices": WHEN, "default": "auto"}),
]
_FILE: Final[Argument] = ("file", {"metavar": "FILE"})
_SELECTORS: Final[Argument] = ("selectors", {"nargs": "*", "metavar": "SELECTOR"})
_OUTPUT: Final[list[Argument]] = [
    ("--to", {"choices": _KINDS, "help": "the format of the output"}),
    ("-i --in-place", {"action": "store_true",
                       "help": "write the file instead of printing it"}),
]  # fmt: skip
_TOLERANCE: Final[dict[str, Any]] = {"type": float, "default": 0.0}


class Command(NamedTuple):
    """A command: the function that runs it, and its arguments.

    Attributes:
        run: Takes the options and returns a report; its one-line docstring is the help
            text.
        arguments: The command's own arguments.
        forms: Those of which only one may be given.
    """

    run: Callable[[argparse.Namespace], commands.Report]
    arguments: Sequence[Argument]
    forms: Sequence[Argument] = ()


COMMANDS: Final[dict[str, Command]] = {
    "show": Command(commands.show, [
        _FILE, _SELECTORS,
        ("--select", _repeated("SELECTOR", "show only this part, as SELECTOR does")),
        ("--depth", {"type": _levels, "help": "the number of levels to draw"}),
    ], [
        ("--tree", _flag("draw the tree, even into a pipe")),
        ("--summary", _flag("print a table of shapes, counts and bytes")),
        ("--mermaid", _flag("print a Mermaid flowchart")),
        ("--dot", _flag("print a graph in the DOT language of Graphviz")),
        ("--svg", {"metavar": "FILE", "help": "write an SVG image"}),
        ("--html", {"metavar": "FILE", "help": "write a collapsible HTML page"}),
    ]),
    "paths": Command(commands.paths, [_FILE, _SELECTORS]),
    "get": Command(commands.get, [
        _FILE,
        ("selector", {"metavar": "SELECTOR", "help": "such as 'jobs.*.steps[0]'"}),
        ("--to", {"choices": _KINDS, "help": "print the value in this format"}),
    ]),
    "set": Command(commands.put, [
        _FILE,
        ("changes", {"nargs": "+", "metavar": "CHANGE", "help": "such as optim.lr=1"}),
        *_OUTPUT,
    ]),
    "delete": Command(commands.delete, [
        _FILE, ("selectors", {"nargs": "+", "metavar": "SELECTOR"}), *_OUTPUT,
    ]),
    "move": Command(commands.move, [
        _FILE,
        ("source", {"metavar": "SELECTOR", "help": "the part to move"}),
        ("target", {"metavar": "PATH", "help": "the new path, which must not exist"}),
        *_OUTPUT,
    ]),
    "rename": Command(commands.rename, [
        _FILE,
        ("selector", {"metavar": "SELECTOR", "help": "such as '**.kernel'"}),
        ("name", {"metavar": "NAME", "help": "the new key"}),
        *_OUTPUT,
    ]),
    "diff": Command(commands.diff, [
        ("files", {"nargs": 2, "metavar": "FILE"}),
        ("--rtol", {**_TOLERANCE, "help": "relative tolerance"}),
        ("--atol", {**_TOLERANCE, "help": "absolute tolerance"}),
        ("--ignore", _repeated("SELECTOR", "part to ignore")),
    ]),
    "merge": Command(commands.merge, [
        ("files", {"nargs": "+", "metavar": "FILE"}),
        ("--delete", {"metavar": "VALUE",
                      "help": "a value that marks deletions, such as null"}),
        ("--rule", _repeated("SELECTOR=WORD", "use one of the words above for the "
                             "selected part, such as '**.tags=extend'")),
        *_OUTPUT,
    ]),
    "flat": Command(commands.flat, [
        _FILE, ("--sep", {"default": ".", "help": "separator between names"}),
    ]),
}  # fmt: skip

_EXAMPLES: Final = """\
show train.yaml optim --depth 1
show weights.npz --summary
paths train.yaml '**.lr'
get train.yaml optim.lr
get compose.yaml 'services.*.image'
get pod.yaml 'spec.containers[name=web].image'
get train.yaml optim --to json
set train.yaml optim.lr=3e-4 -i
set train.yaml +optim.eps=1e-8 'tags[+]=baseline'
set train.yaml ~optim.warmup ++seed=none
delete train.yaml '**.debug' -i
move train.yaml lr optim.lr -i
rename train.yaml '**.lr' learning_rate -i
diff base.yaml new.yaml --ignore seed
diff pod.yaml new.yaml --lists '**.containers=name'
diff old.npz new.npz --atol 1e-6
merge base.yaml overlay.yaml
merge base.yaml overlay.yaml --lists extend --delete null -i
flat train.yaml --sep /
""".splitlines()
"""Calls that `--help` of each command shows."""
