"""The command line: show, query, edit, compare and merge nested config files.

The arguments are here; what a command does is in `commands`. Output is coloured as
`--color` says, else as `NO_COLOR`, `FORCE_COLOR` and the standard output do.

Status 0 for success; 1 if `diff` found differences or a file cannot be edited without
losing comments; 2 for errors.
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

_DOCUMENTATION: Final = "https://github.com/leafwise/leafwise/tree/main/docs"
_KINDS: Final = ("json", "toml", "yaml")
_FOR_ALL: Final = ("-h", "--help", "--version", "--print-completion")
"""The options of the program itself."""
_WITH_VALUE: Final = {
    "--atol",
    "--color",
    "--delete",
    "--depth",
    "--format",
    "--html",
    "--ignore",
    "--lists",
    "--rtol",
    "--rule",
    "--sep",
    "--svg",
    "--to",
}
"""The options whose next argument is their value, wherever they stand."""
_FILE_COMPLETION: Final[dict[str, str]] = {}
"""How shells complete the names of files; shtab knows, if it is needed."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status.

    Args:
        arguments: The command line without the program; None for `sys.argv`.

    Returns:
        0; 1 if `diff` found differences, or if an edit was refused because it would
        lose comments or layout; 2 after an error.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    parser, parsers = _parser()
    if not words:
        parser.error("a command or a file is required")
    try:
        if words[0].split("=")[0] in _FOR_ALL:
            _print_completion(parser, parser.parse_args(words).print_completion)
            return 0
        name, words = _command_of(words, parser)
        # its own parser lets options stand between FILE and SELECTOR
        options = parsers[name].parse_intermixed_args(words)
        run, _ = COMMANDS[name]
        report = run(options)
        if report.lines:
            write(report.lines, report.path)
    except (LeafwiseError, ModuleNotFoundError, OSError, ValueError) as error:
        complain(f"{parser.prog}: {_one_line(error)}")
        return getattr(error, "status", 2)
    return report.status


def _one_line(error: Exception) -> str:
    """Return the message of an error for the terminal."""
    text = str(error)
    if isinstance(error, OSError) and error.strerror:
        text = f"{error.filename or 'cannot write'}: {error.strerror}"
    if text.endswith("^"):  # a caret stands below a pattern
        return text
    return " ".join(line.strip() for line in text.split("\n"))


def _print_completion(parser: argparse.ArgumentParser, shell: str) -> None:
    shtab = need("shtab", "--print-completion", "shell")
    # the arguments of the parser refer to this dict already
    _FILE_COMPLETION.update(shtab.FILE)
    print(shtab.complete(parser, shell=shell))


def _command_of(
    words: list[str],
    parser: argparse.ArgumentParser,
) -> tuple[str, list[str]]:
    """Return the command, and its arguments; a file without one is shown.

    Options may stand before the command, or before the file.
    """
    is_value = False
    for index, word in enumerate(words):
        if is_value:
            is_value = False
        elif word.startswith("-") and word != "-":
            is_value = word in _WITH_VALUE
        elif word in COMMANDS:
            return word, words[:index] + words[index + 1 :]
        else:
            if index == 0:
                _check_file(word, parser)
            break
    return "show", words


def _check_file(word: str, parser: argparse.ArgumentParser) -> None:
    """Exit with an error if the first word is rather a misspelt command than a file."""
    if word == "-" or "." in word or os.path.exists(word):
        return
    similar = [name for name in COMMANDS if is_similar(word, name)]
    hint = f"; did you mean {similar[0]!r}?" if similar else ""
    parser.error(f"{word!r} is neither a command nor a file{hint}")


# --------------------------------------------------------------------------- arguments


def _parser() -> tuple[argparse.ArgumentParser, Mapping[str, argparse.ArgumentParser]]:
    """Return the parser, and those of the commands."""
    # what the user typed stands in the usage, so that it can be copied
    is_module = os.path.basename(sys.argv[0]) == "__main__.py"
    parser = argparse.ArgumentParser(
        prog="python -m leafwise" if is_module else "leafwise",
        description="Show, query, edit, compare and merge nested config files: JSON, "
        "TOML, and YAML if ruamel.yaml is installed. Files of arrays, .npz and "
        ".safetensors, are shown and compared. Use - for the standard input. FILE "
        "without a command shows the file.",
        epilog=f"Documentation: {_DOCUMENTATION}",
    )
    parser.add_argument("--version", action="version", version=__version__)
    parser.add_argument(
        "--print-completion",
        choices=("bash", "zsh", "tcsh", "fish"),
        metavar="SHELL",
        help="print a completion script for the shell; requires shtab",
    )
    parsers = parser.add_subparsers(prog=parser.prog, metavar="COMMAND")
    for name, (run, add_arguments) in COMMANDS.items():
        description = (run.__doc__ or "").replace("\n    ", "\n")
        command = parsers.add_parser(
            name,
            help=description.partition(".\n")[0],
            description=description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        add_arguments(command)
        command.add_argument(
            "--format",
            choices=_KINDS,
            help="the format of the files; by default, by their names and content",
        )
        command.add_argument("--color", choices=WHEN, default="auto")
    return parser, parsers.choices


def _add_files(parser: argparse.ArgumentParser, nargs: int | str = 1) -> None:
    action = parser.add_argument("files", metavar="FILE", nargs=nargs)
    action.complete = _FILE_COMPLETION  # type: ignore[attr-defined]  # for shtab


def _add_selectors(parser: argparse.ArgumentParser, nargs: int | str) -> None:
    parser.add_argument(
        "selectors", metavar="SELECTOR", nargs=nargs, help="such as 'jobs.*.steps[0]'"
    )


def _add_json(parser: Any) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON, for scripts")


def _add_output(parser: argparse.ArgumentParser) -> None:
    """Add what says where an edited file goes, and in which form."""
    parser.add_argument(
        "--reformat",
        action="store_true",
        help="write the whole file anew, without its comments and layout",
    )
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--to", choices=_KINDS, help="the format of the output")
    group.add_argument(
        "-i",
        "--in-place",
        action="store_true",
        help="write the file instead of printing it",
    )
    _add_json(group)


def _add_lists(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--lists",
        action="append",
        default=[],
        metavar="HOW",
        help="how lists are paired: a word, or SELECTOR=KEY, such as "
        "'**.containers=name'",
    )


def _add_show(parser: argparse.ArgumentParser) -> None:
    _add_files(parser)
    _add_selectors(parser, "*")
    parser.add_argument("--depth", type=int, help="the number of levels to draw")
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--tree", action="store_true", help="draw the tree, even into a pipe"
    )
    group.add_argument(
        "--summary",
        action="store_true",
        help="print a table of shapes, counts and bytes",
    )
    group.add_argument(
        "--mermaid", action="store_true", help="print a Mermaid flowchart"
    )
    group.add_argument("--svg", metavar="FILE", help="write an SVG image")
    group.add_argument("--html", metavar="FILE", help="write a collapsible HTML page")
    _add_json(group)


def _add_paths(parser: argparse.ArgumentParser) -> None:
    _add_files(parser)
    _add_selectors(parser, "*")
    _add_json(parser)


def _add_get(parser: argparse.ArgumentParser) -> None:
    _add_files(parser)
    _add_selectors(parser, "+")
    parser.add_argument(
        "-r",
        "--raw",
        action="store_true",
        help="print values alone; a selector must have exactly one match",
    )
    parser.add_argument(
        "--all", action="store_true", help="with -r, print the values of all matches"
    )
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--to", choices=_KINDS, help="print one value in a format of files"
    )
    group.add_argument(
        "--json", action="store_true", help="print a list of the values, for scripts"
    )


def _add_set(parser: argparse.ArgumentParser) -> None:
    _add_files(parser)
    parser.add_argument(
        "changes", metavar="CHANGE", nargs="+", help="such as optim.lr=1"
    )
    _add_output(parser)


def _add_delete(parser: argparse.ArgumentParser) -> None:
    _add_files(parser)
    _add_selectors(parser, "+")
    _add_output(parser)


def _add_move(parser: argparse.ArgumentParser) -> None:
    _add_files(parser)
    _add_selectors(parser, 1)
    parser.add_argument("path", metavar="PATH", help="the new path")
    _add_output(parser)


def _add_rename(parser: argparse.ArgumentParser) -> None:
    _add_files(parser)
    _add_selectors(parser, 1)
    parser.add_argument("name", metavar="NAME", help="the new key")
    _add_output(parser)


def _add_diff(parser: argparse.ArgumentParser) -> None:
    _add_files(parser, 2)
    parser.add_argument("--rtol", type=float, default=0.0, help="relative tolerance")
    parser.add_argument("--atol", type=float, default=0.0, help="absolute tolerance")
    parser.add_argument(
        "--ignore",
        action="append",
        default=[],
        metavar="SELECTOR",
        help="part to ignore",
    )
    _add_lists(parser)
    _add_json(parser)


def _add_merge(parser: argparse.ArgumentParser) -> None:
    _add_files(parser, "+")
    parser.add_argument(
        "--delete", metavar="VALUE", help="a value that marks deletions, such as null"
    )
    parser.add_argument(
        "--rule",
        action="append",
        default=[],
        metavar="SELECTOR=WORD",
        help="how to merge the selected part, such as '**.tags=extend'",
    )
    _add_lists(parser)
    _add_output(parser)


def _add_flat(parser: argparse.ArgumentParser) -> None:
    _add_files(parser)
    parser.add_argument("--sep", default=".", help="separator between names")
    _add_json(parser)


Run = Callable[[argparse.Namespace], commands.Report]
AddArguments = Callable[[argparse.ArgumentParser], None]

COMMANDS: Final[dict[str, tuple[Run, AddArguments]]] = {
    "show": (commands.show, _add_show),
    "paths": (commands.paths, _add_paths),
    "get": (commands.get, _add_get),
    "set": (commands.put, _add_set),
    "delete": (commands.delete, _add_delete),
    "move": (commands.move, _add_move),
    "rename": (commands.rename, _add_rename),
    "diff": (commands.diff, _add_diff),
    "merge": (commands.merge, _add_merge),
    "flat": (commands.flat, _add_flat),
}
"""For each command, what runs it, and what adds its arguments.

The docstring of what runs it is the help text.
"""
