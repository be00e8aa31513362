"""Files in, lines out.

Owns what can go wrong between the command line and the outside: files that cannot be
read, trees that would never end, readers that went away.
"""

from __future__ import annotations

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


__all__ = ["Unreadable", "read", "write"]

_MOST: Final = 20_000_000


class Unreadable(Exception):
    """A file cannot be read or reported; the message is for the user."""


def read(path: Path, kind: str | None = None) -> Document:
    """Read a file into plain containers.

    Args:
        path: The file; `-` for the standard input.
        kind: The format, where the ending does not say it.

    Raises:
        Unreadable: The ending is unknown, the file is missing or malformed, or what is
            in it has no end.
    """
    kind = kind or SUFFIXES.get(path.suffix.lower())
    if kind is None:
        *most, last = SUFFIXES
        raise Unreadable(
            f"{path}: unknown ending, a file must end in {', '.join(most)} or {last}, "
            "or --format must say what it is"
        )
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


def _text_of(path: Path) -> str:
    if str(path) == "-":
        return sys.stdin.read()
    return path.read_text(encoding="utf-8-sig")


def _refuse_endless(tree: Any) -> None:
    """Refuse trees that contain themselves, or one thing too many times.

    Raises:
        FormatError: The tree does; the message has the paths.
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
            f"its anchors stand for {sizes[id(tree)]} values, which is too many"
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
    """Say where a tree contains itself: all nodes above, and the one among them."""
    path = [_key_of(node, child) for node, child in pairwise([*above, again])]
    depth = next(depth for depth, node in enumerate(above) if node is again)
    first, second = KeyPath(path[:depth]), KeyPath(path)
    kind = type(again).__name__
    return f"it contains itself: the {kind} at {first.where()} stands again at {second}"


def write(lines: Iterable[str]) -> None:
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
