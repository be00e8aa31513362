"""Files in, lines out.

Owns what can go wrong between the command line and the outside: files that cannot be
read, trees that would never end, pipes that were closed. Files and pipes are read and
written as UTF-8, whatever the locale; a terminal gets its own encoding.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Collection, Iterable, Sequence
from io import TextIOWrapper
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from ..core.keypath import KeyPath
from ..core.keys import DictKey, SequenceKey
from ..integrations.formats import SUFFIXES, Document, FormatError, load


__all__ = ["Unreadable", "encoding", "read", "read_all", "write"]

_MOST: Final = 20_000_000
_NO_FORMAT: Final = (
    f"unknown format: use --format, or a file that ends in {', '.join(SUFFIXES)}"
)


class Unreadable(Exception):
    """A file cannot be read or written; the message is for the user."""


def read(path: Path, kind: str | None = None) -> Document:
    """Read a file into plain containers.

    Args:
        path: The file; `-` for the standard input.
        kind: The format, if it is not the one of the extension.

    Returns:
        The content.

    Raises:
        Unreadable: The format is unknown, the file is missing or malformed, or its
            content is endless.
    """
    kind = kind or SUFFIXES.get(path.suffix.lower())
    if kind is None:
        raise Unreadable(f"{path}: {_NO_FORMAT}")
    try:
        document = load(_text_of(path), kind)
        _refuse_endless(document.tree)
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise Unreadable(f"{path}: not valid {kind.upper()}: {error}") from error
    except FormatError as error:
        raise Unreadable(f"{path}: {error}") from error
    return document


def read_all(paths: Sequence[Path], kind: str | None = None) -> list[Document]:
    """Read several files, as `read` does.

    Args:
        paths: The files; `-` for the standard input, at most once.
        kind: The format of all of them, if it is not the one of the extension.

    Returns:
        Their contents.

    Raises:
        Unreadable: One of them cannot be read, or `-` is given twice.
    """
    if [*map(str, paths)].count("-") > 1:
        raise Unreadable("-: the standard input can be read only once")
    return [read(path, kind) for path in paths]


def _text_of(path: Path) -> str:
    """Return the text of a file: UTF-8, or UTF-16 or UTF-32 if its bytes say so.

    Raises:
        Unreadable: There is no standard input.
        OSError: The file cannot be read.
        UnicodeDecodeError: It is not text.
    """
    if str(path) != "-":
        return _decoded(path.read_bytes())
    if sys.stdin is None:
        raise Unreadable("-: there is no standard input")
    buffer = getattr(sys.stdin, "buffer", None)  # a StringIO has none
    return sys.stdin.read() if buffer is None else _decoded(buffer.read())


def _decoded(data: bytes) -> str:
    # A mark, or the zeros around an ASCII character: YAML 1.2 tells encodings apart as
    # JSON does. Windows PowerShell writes UTF-16 for a plain `>`.
    return data.decode(json.detect_encoding(data))


def _refuse_endless(tree: Any) -> None:
    """Refuse a tree that contains itself, or whose shared parts multiply.

    Raises:
        FormatError: It does; the message has the paths or the count.
    """
    sizes: dict[int, int] = {}
    stack: list[tuple[Any, bool]] = [(tree, False)]
    while stack:
        node, is_done = stack.pop()
        children = _below(node)
        if is_done:
            sizes[id(node)] = sum(sizes.get(id(child), 1) for child in children)
        elif children and id(node) not in sizes:
            sizes[id(node)] = 0  # until all below it is counted
            stack.append((node, True))
            stack += [(child, False) for child in children]
        elif sizes.get(id(node)) == 0:
            raise FormatError(_told([n for n, is_above in stack if is_above], node))
    if sizes.get(id(tree), 1) > _MOST:
        raise FormatError(
            f"its anchors expand to {sizes[id(tree)]} values, which is too many"
        )


def _below(node: Any) -> Collection[Any]:
    if type(node) is dict:
        return node.values()
    return node if type(node) is list else ()


def _key_of(node: Any, child: Any) -> Any:
    """Return the key that a child has in a node."""
    if type(node) is list:
        return SequenceKey(next(place for place, x in enumerate(node) if x is child))
    return DictKey(next(key for key, x in node.items() if x is child))


def _told(above: Sequence[Any], again: Any) -> str:
    """Return where a tree contains itself: `again` is one of the nodes above."""
    path = [_key_of(node, child) for node, child in pairwise([*above, again])]
    depth = next(depth for depth, node in enumerate(above) if node is again)
    first, second = KeyPath(path[:depth]), KeyPath(path)
    kind = type(again).__name__
    return f"it contains itself: the {kind} at {first.where()} is also at {second}"


def encoding() -> str:
    """Return the encoding of the output: that of a terminal, otherwise UTF-8."""
    out = sys.stdout
    charset = out.encoding if out is not None and out.isatty() else None
    return charset or "utf-8"


def write(lines: Iterable[str]) -> None:
    """Print lines; characters that the output cannot represent are escaped.

    Args:
        lines: The lines, without their ends.

    Raises:
        Unreadable: They cannot be written. A closed pipe is not an error.
    """
    out = sys.stdout
    if out is None:
        raise Unreadable("there is no standard output to write to")
    if isinstance(out, TextIOWrapper):
        out.reconfigure(encoding=encoding(), errors="backslashreplace")
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
    """Discard what is still buffered, so that the interpreter exits without a word."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
