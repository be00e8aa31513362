"""The command line itself: its arguments, its errors, its exit status.

Status 0 if all went well, 1 if `diff` found something, 2 for errors, as `diff` has it.
"""

from __future__ import annotations

import argparse
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status.

    Args:
        arguments: The command line without the program; None for `sys.argv`.
    """
    given = sys.argv[1:] if arguments is None else [*arguments]
    parser = _parser()
    if given and given[0] not in COMMANDS and not given[0].startswith("-"):
        given.insert(0, "show")
    options = parser.parse_args(given)
    try:
        report = COMMANDS[options.command](options)
        write(report.lines)
    except (Unreadable, LeafwiseError, ValueError) as error:
        print(f"{parser.prog}: {_told(error)}", file=sys.stderr)
        return 2
    return report.status


def _told(error: Exception) -> str:
    """Return an error as one line; a pattern with a caret below it as it is."""
    text = str(error)
    shown = text if text.endswith("^") else " ".join(text.split())
    return shown.encode("utf-8", "backslashreplace").decode()


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
        description="Nested config files: show them, read and change places in them, "
        "compare and merge them. JSON, TOML, and YAML if PyYAML is installed; - is the "
        "standard input. A file alone is shown.",
    )
    parser.add_argument("--version", action="version", version=__version__)
    parsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str) -> argparse.ArgumentParser:
        told = (COMMANDS[name].__doc__ or "").rstrip(".")
        made = parsers.add_parser(name, help=told, description=f"{told}.")
        made.add_argument("--json", action="store_true", help="print JSON, for scripts")
        made.add_argument("--format", choices=_KINDS, help="what the files are")
        made.add_argument(
            "--color", choices=("auto", "always", "never"), default="auto"
        )
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
    made.add_argument("--to", choices=_KINDS, help="the format to print")
    _diff_arguments(command("diff"))
    _merge_arguments(command("merge"))
    made = command("flat")
    _file(made)
    made.add_argument("--sep", default=".", help="what joins names")
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
        "--ignore", action="append", default=[], metavar="SELECTOR", help="not compared"
    )


def _merge_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE")
    parser.add_argument("--join", choices=JOINS, default="outer")
    parser.add_argument("--lists", choices=LISTS, default="replace")
    parser.add_argument("--conflict", choices=CONFLICTS, default="overlay")
    parser.add_argument("--delete", metavar="VALUE", help="what deletes: null")
    parser.add_argument(
        "--rule", action="append", default=[], metavar="SELECTOR=WORD",
        help="one of these words for some places, such as '**.tags=extend'",
    )  # fmt: skip
    parser.add_argument("--to", choices=_KINDS, help="the format to print")
