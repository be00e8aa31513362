"""`python -m leafwise FILE`: print the leaves of a JSON or TOML file.

Owns the command line. Each leaf is printed as `path = value`, then the counts
and the treedef. What cannot be read is one line on stderr and exit status 2.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import Any, Final

from .ops.paths import tree_flatten_with_path


_READERS: Final[dict[str, Callable[[str], Any]]] = {
    ".json": json.loads,
    ".toml": tomllib.loads,
}


class Unreadable(Exception):
    """The file cannot be read or reported; the message is for the user."""


def read(path: Path) -> Any:
    """Read a JSON or TOML file into plain containers.

    Raises:
        Unreadable: The ending is unknown, or the file is missing or malformed.
    """
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        known = " or ".join(_READERS)
        raise Unreadable(f"{path}: unknown ending, a file must end in {known}")
    try:
        return reader(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror or error}") from error
    except RecursionError as error:
        raise Unreadable(f"{path}: nested too deeply for its reader") from error
    except ValueError as error:
        kind = path.suffix.lower()[1:].upper()
        reason = " ".join(str(error).split())
        raise Unreadable(f"{path}: not valid {kind}: {reason}") from error


def report(tree: Any) -> Iterator[str]:
    """Yield the lines of the report on a tree."""
    pairs, treedef = tree_flatten_with_path(tree)
    for path, leaf in pairs:
        yield f"{path} = {leaf!r}" if path else repr(leaf)
    yield f"{_count(treedef.num_leaves, 'leaf')}, {_count(treedef.num_nodes, 'node')}"
    yield repr(treedef)


def _count(number: int, what: str) -> str:
    plural = {"leaf": "leaves", "node": "nodes"}[what]
    return f"{number} {what if number == 1 else plural}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status.

    Args:
        arguments: The command line without the program; None for `sys.argv`.
    """
    parser = argparse.ArgumentParser(
        prog="python -m leafwise",
        description="Print the leaves of a JSON or TOML file, each with its key path.",
    )
    parser.add_argument("file", type=Path, help="a file that ends in .json or .toml")
    path = parser.parse_args(arguments).file
    try:
        write(report(read(path)))
    except Unreadable as error:
        print(f"{parser.prog}: {_one_line(error)}", file=sys.stderr)
        return 2
    return 0


def write(lines: Iterator[str]) -> None:
    """Print lines; characters that the terminal lacks are escaped.

    Raises:
        Unreadable: They cannot be written. A reader that went away is no error.
    """
    out = sys.stdout
    if out is None:
        raise Unreadable("there is no standard output to write to")
    if isinstance(out, TextIOWrapper):
        out.reconfigure(errors="backslashreplace")
    try:
        for line in lines:
            print(line)
        out.flush()
    except BrokenPipeError:
        _drop_output()
    except OSError as error:
        _drop_output()
        raise Unreadable(f"cannot write: {error.strerror or error}") from error


def _drop_output() -> None:
    """Send what is still buffered nowhere, so that the exit stays quiet."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


if __name__ == "__main__":
    sys.exit(main())
