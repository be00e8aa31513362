"""What the command line reads and writes: files, pipes, the terminal.

Owns encodings, and what can go wrong between a command and the outside: files that
cannot be read, trees that would never end, pipes that were closed. Files and pipes are
read and written as UTF-8, whatever the locale; a terminal gets its own encoding.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from .. import io
from ..errors import FileError


if TYPE_CHECKING:
    import argparse

    from ..io.formats import Document

_MOST: Final = 20_000_000


class Unreadable(ValueError):
    """Raised if a file cannot be read or written; the message is for the user."""


class NotWritten(Unreadable):
    """Raised if an edit in place would lose comments or layout."""

    status = 1


class Source(NamedTuple):
    """A file that was read.

    Attributes:
        path: The file; `-` for the standard input.
        text: Its text, without a byte order mark.
        document: The content.
        charset: The encoding.
    """

    path: str
    text: str
    document: Document
    charset: str = "utf-8"

    @property
    def has_nan(self) -> bool:
        """Whether it is a JSON file with numbers that JSON lacks."""
        is_json = self.document.kind == "json"
        return is_json and ("NaN" in self.text or "Infinity" in self.text)


def read(options: argparse.Namespace, *, written: bool = False) -> list[Source]:
    """Read the files of a command into plain containers.

    Args:
        options: Those of the command; `-` among the files is the standard input.
        written: Whether numbers know how they are written, see `formats.load`.

    Raises:
        OSError: A file cannot be read.
        Unreadable: Its format is unknown, it is malformed, or its content is endless;
            or `-` is given twice.
    """
    if options.files.count("-") > 1:
        raise Unreadable("-: the standard input can be read only once")
    return [_read(path, options.format, written) for path in options.files]


def _read(path: str, kind: str | None, written: bool) -> Source:
    formats = io.formats
    suffix = os.path.splitext(path)[1].lower()
    kind = kind or formats.SUFFIXES.get(suffix)
    if kind is None and suffix not in formats.OF_ARRAYS:
        endings = ", ".join((*formats.SUFFIXES, *formats.OF_ARRAYS))
        raise Unreadable(
            f"{path}: unknown format: use --format, or a file that ends in {endings}"
        )
    try:
        if kind is None:
            return Source(path, "", formats.Document(_of_arrays(path), suffix[1:]))
        text, charset = formats.decoded(_data_of(path))
        document = formats.load(text, kind, written=written)
        if kind == "yaml" and _size(document.tree) > _MOST:
            raise Unreadable(f"{path}: its anchors expand to more than {_MOST} values")
    except (ImportError, formats.FormatError) as error:
        raise Unreadable(f"{path}: {error}") from error
    except UnicodeDecodeError as error:
        raise Unreadable(f"{path}: not valid {str(kind).upper()}: {error}") from error
    return Source(path, text, document, charset)


def _of_arrays(path: str) -> Any:
    try:
        return io.load(path)
    except FileError:  # of a class that is not here, or of damage
        return io.load(path, treedef=False)


def _data_of(path: str) -> bytes:
    if path != "-":
        with open(path, "rb") as file:
            return file.read()
    if sys.stdin is None:
        raise Unreadable("-: there is no standard input")
    return sys.stdin.buffer.read()


def _size(tree: Any) -> int:
    """Return how many values there are in dicts and lists, shared ones each time."""
    sizes: dict[int, int] = {}

    def size(node: Any) -> int:
        if not isinstance(node, dict | list):
            return 1
        if id(node) not in sizes:
            sizes[id(node)] = 1  # if it contains itself, which the commands will tell
            below = node.values() if isinstance(node, dict) else node
            sizes[id(node)] = sum(map(size, below))
        return sizes[id(node)]

    return size(tree)


def write(lines: Iterable[str], path: str = "-") -> None:
    """Write lines; characters that a terminal cannot represent are escaped.

    Args:
        lines: The lines, without their ends.
        path: The file; `-` for the standard output.

    Raises:
        Unreadable: There is no standard output.
        OSError: They cannot be written. A closed pipe is not an error.
    """
    if path != "-":
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{line}\n" for line in lines)
        return
    out = sys.stdout
    if out is None:
        raise Unreadable("there is no standard output to write to")
    if isinstance(out, TextIOWrapper):
        charset = out.encoding if out.isatty() else "utf-8"
        out.reconfigure(encoding=charset, errors="backslashreplace")
    try:
        for line in lines:
            print(line)
        out.flush()
    except OSError as error:
        # what is buffered goes nowhere, or the interpreter complains when it exits
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())
        if not isinstance(error, BrokenPipeError):
            raise


def complain(text: str) -> None:
    """Print a line on the standard error, if there is one to print on.

    Args:
        text: The line.
    """
    if sys.stderr is None:
        return  # print would use the standard output
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr, flush=True)
