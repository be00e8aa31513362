"""The command line itself: its arguments, its errors, its exit status.

Status 0 for success, 1 if `diff` found differences, 2 for errors, as for diff(1).
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from .. import __version__
from ..errors import LeafwiseError
from ..selection.merge import CONFLICTS, JOINS, LISTS
from . import commands
from .files import Unreadable, write


__all__ = ["main"]

_KINDS: Final = ("json", "toml", "yaml")
_WHEN: Final = ("auto", "always", "never")
_ABOUT_ALL: Final = ("-h", "--help", "--version")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status.

    Args:
        arguments: The command line without the program; None for `sys.argv`.

    Returns:
        0, 1 if `diff` found differences, or 2 after an error.
    """
    parser = _parser()
    given = sys.argv[1:] if arguments is None else arguments
    options = parser.parse_args(_with_command(given))
    _decode_options(options)
    try:
        report = COMMANDS[options.command](options)
        write(report.lines)
    except (Unreadable, LeafwiseError, ValueError) as error:
        _complain(f"{parser.prog}: {_told(error)}")
        return 2
    return report.status


def _with_command(given: Sequence[str]) -> list[str]:
    """Return the arguments with a command: `show` if a file comes without one.

    Options of a command may stand before the file: `--format json -`.
    """
    words = [word for word in given if word == "-" or not word.startswith("-")]
    is_complete = not given or given[0] in _ABOUT_ALL or COMMANDS.keys() & words[:1]
    return [*given] if is_complete else ["show", *given]


def _decode_options(options: argparse.Namespace) -> None:
    """Read arguments as UTF-8 where the locale, `LC_ALL=C` say, cannot.

    Files keep the name that the system knows.
    """
    for name, value in vars(options).items():
        if isinstance(value, str):
            setattr(options, name, _decoded(value))
        elif isinstance(value, list):
            decoded = [_decoded(x) if isinstance(x, str) else x for x in value]
            setattr(options, name, decoded)


def _decoded(text: str) -> str:
    try:
        return os.fsencode(text).decode() if not text.isascii() else text
    except UnicodeError:
        return text


def _complain(text: str) -> None:
    """Print a line on the standard error, if there is one to print on."""
    if sys.stderr is None:
        return  # print would use the standard output
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr, flush=True)


def _told(error: Exception) -> str:
    """Return an error as one line; a pattern with a caret below it as it is."""
    text = str(error)
    if not text.endswith("^"):
        text = " ".join(line.strip() for line in text.split("\n"))
    return text.encode("utf-8", "backslashreplace").decode()


COMMANDS: Final[dict[str, Callable[[argparse.Namespace], commands.Report]]] = {
    "show": commands.show,
    "paths": commands.paths,
    "get": commands.get,
    "set": commands.put,
    "diff": commands.diff,
    "merge": commands.merge,
    "flat": commands.flat,
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m leafwise" if _is_module() else "leafwise",
        description="Show, query, edit, compare and merge nested config files: JSON, "
        "TOML, and YAML if PyYAML is installed. - is the standard input. FILE without "
        "a command is shown.",
    )
    parser.add_argument("--version", action="version", version=__version__)
    parsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str) -> argparse.ArgumentParser:
        told = (COMMANDS[name].__doc__ or "").rstrip(".")
        made = parsers.add_parser(name, help=told, description=f"{told}.")
        made.add_argument("--json", action="store_true", help="print JSON, for scripts")
        made.add_argument("--format", choices=_KINDS, help="the format of the files")
        made.add_argument("--color", choices=_WHEN, default="auto")
        return made

    for name in ("show", "paths"):
        made = command(name)
        _file(made)
        made.add_argument("selectors", nargs="*", metavar="SELECTOR")
    made = command("get")
    _file(made)
    made.add_argument("selector", metavar="SELECTOR", help="such as 'jobs.*.steps[0]'")
    made = command("set")
    _file(made)
    made.add_argument("changes", nargs="+", metavar="CHANGE", help="such as optim.lr=1")
    made.add_argument("--to", choices=_KINDS, help="the format of the output")
    _diff_arguments(command("diff"))
    _merge_arguments(command("merge"))
    made = command("flat")
    _file(made)
    made.add_argument("--sep", default=".", help="separator between names")
    return parser


def _is_module() -> bool:
    return Path(sys.argv[0]).name == "__main__.py"


def _file(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE")


def _diff_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", type=Path, nargs=2, metavar="FILE")
    parser.add_argument("--rtol", type=float, default=0.0, help="relative tolerance")
    parser.add_argument("--atol", type=float, default=0.0, help="absolute tolerance")
    parser.add_argument(
        "--ignore", action="append", default=[], metavar="SELECTOR", help="leave out"
    )


def _merge_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE")
    parser.add_argument("--join", choices=JOINS, default="outer")
    parser.add_argument("--lists", choices=LISTS, default="replace")
    parser.add_argument("--conflict", choices=CONFLICTS, default="overlay")
    parser.add_argument("--delete", metavar="VALUE", help="what deletes, such as null")
    parser.add_argument(
        "--rule", action="append", default=[], metavar="SELECTOR=WORD",
        help="one of these words for the selected part, such as '**.tags=extend'",
    )  # fmt: skip
    parser.add_argument("--to", choices=_KINDS, help="the format of the output")
