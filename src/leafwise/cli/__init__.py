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


def _decode_options(options: argparse.Namespace) -> None:
    """Read arguments as UTF-8 where the locale, `LC_ALL=C` say, cannot.

    Files keep the name that the system knows.
    """
    for name, value in vars(options).items():
        if name in ("file", "files"):
            continue
        if isinstance(value, str):
            setattr(options, name, _as_utf8(value))
        elif isinstance(value, list):
            setattr(options, name, [*map(_as_utf8, value)])


def _as_utf8(text: str) -> str:
    try:
        return os.fsencode(text).decode() if not text.isascii() else text
    except UnicodeError:
        return text


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
    parser = argparse.ArgumentParser(
        prog="python -m leafwise" if _is_module() else "leafwise",
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
        made = parsers.add_parser(name, help=told, description=f"{told}.")
        if name in chosen:
            _add_common(made)
            command.add_arguments(made)
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


def _is_module() -> bool:
    return os.path.basename(sys.argv[0]) == "__main__.py"


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON, for scripts")
    parser.add_argument("--format", choices=_KINDS, help="the format of the files")
    parser.add_argument("--color", choices=WHEN, default="auto")


def _of_selectors(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("selectors", nargs="*", metavar="SELECTOR")


def _of_show(parser: argparse.ArgumentParser) -> None:
    _of_selectors(parser)
    parser.add_argument(
        "--select", action="append", default=[], metavar="SELECTOR",
        help="show only this part, the same as SELECTOR",
    )  # fmt: skip
    parser.add_argument("--depth", type=_levels, help="the number of levels to draw")
    forms = parser.add_mutually_exclusive_group()
    for name, told in (
        ("tree", "draw the tree, even into a pipe"),
        ("summary", "print a table of shapes, counts and bytes"),
        ("mermaid", "print a Mermaid flowchart"),
        ("dot", "print a graph in the DOT language of Graphviz"),
    ):
        forms.add_argument(f"--{name}", action="store_const", const=True, help=told)
    forms.add_argument("--svg", metavar="FILE", help="write an SVG image")
    forms.add_argument("--html", metavar="FILE", help="write a collapsible HTML page")


def _levels(text: str) -> int:
    if text.isascii() and text.isdigit():
        return int(text)
    raise argparse.ArgumentTypeError(f"not a number of levels: {text!r}")


def _of_get(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE")
    parser.add_argument(
        "selector", metavar="SELECTOR", help="such as 'jobs.*.steps[0]'"
    )


def _of_set(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE")
    parser.add_argument(
        "changes", nargs="+", metavar="CHANGE", help="such as optim.lr=1"
    )
    _of_output(parser)


def _of_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--to", choices=_KINDS, help="the format of the output")
    parser.add_argument(
        "-i", "--in-place", action="store_true",
        help="write the file instead of printing it",
    )  # fmt: skip


def _of_delete(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("selectors", nargs="+", metavar="SELECTOR")
    _of_output(parser)


def _of_move(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("source", metavar="SELECTOR", help="the part to move")
    parser.add_argument(
        "target", metavar="PATH", help="the new path, which must not exist"
    )
    _of_output(parser)


def _of_rename(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("selector", metavar="SELECTOR", help="such as '**.kernel'")
    parser.add_argument("name", metavar="NAME", help="the new key")
    _of_output(parser)


def _add_lists(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    parser.add_argument(
        "--lists", action="append", default=[], metavar="HOW",
        help=f"{', '.join(words)}, or SELECTOR=KEY: pair items by the value of this "
        "key, such as '**.containers=name'",
    )  # fmt: skip


def _of_diff(parser: argparse.ArgumentParser) -> None:
    from ..selection.align import LISTS

    parser.add_argument("files", nargs=2, metavar="FILE")
    _add_lists(parser, LISTS)
    parser.add_argument("--rtol", type=float, default=0.0, help="relative tolerance")
    parser.add_argument("--atol", type=float, default=0.0, help="absolute tolerance")
    parser.add_argument(
        "--ignore",
        action="append",
        default=[],
        metavar="SELECTOR",
        help="part to ignore",
    )


def _of_merge(parser: argparse.ArgumentParser) -> None:
    from ..selection.policy import CONFLICTS, JOINS, LISTS

    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--join", choices=JOINS, default="outer")
    _add_lists(parser, LISTS)
    parser.add_argument("--conflict", choices=CONFLICTS, default="overlay")
    parser.add_argument(
        "--delete", metavar="VALUE", help="a value that marks deletions, such as null"
    )
    parser.add_argument(
        "--rule", action="append", default=[], metavar="SELECTOR=WORD",
        help="use one of the words above for the selected part, such as "
        "'**.tags=extend'",
    )  # fmt: skip
    _of_output(parser)


def _of_flat(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("--sep", default=".", help="separator between names")


class Command(NamedTuple):
    """A command: the function that runs it, and its arguments.

    Attributes:
        run: Takes the options and returns a report; its one-line docstring is the help
            text.
        add_arguments: Adds the command's own arguments to a parser.
    """

    run: Callable[[argparse.Namespace], commands.Report]
    add_arguments: Callable[[argparse.ArgumentParser], None]


COMMANDS: Final[dict[str, Command]] = {
    "show": Command(commands.show, _of_show),
    "paths": Command(commands.paths, _of_selectors),
    "get": Command(commands.get, _of_get),
    "set": Command(commands.put, _of_set),
    "delete": Command(commands.delete, _of_delete),
    "move": Command(commands.move, _of_move),
    "rename": Command(commands.rename, _of_rename),
    "diff": Command(commands.diff, _of_diff),
    "merge": Command(commands.merge, _of_merge),
    "flat": Command(commands.flat, _of_flat),
}
