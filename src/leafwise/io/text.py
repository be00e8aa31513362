"""Trees in `.json` files, for people to read.

Owns which trees are written as JSON has them, without a header: those of dicts and
lists, with texts, numbers, bools and None in them, which are read back as they were.
All others are a header (see there), one line for each leaf.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any, Final

from .header import is_header, loads


__all__ = ["HAS_CHECKSUMS", "SUFFIX", "opened", "plain_text", "why_not", "write"]

SUFFIX: Final = ".json"
HAS_CHECKSUMS: Final = False
_DEEPEST: Final = 100
_LARGEST: Final = 10_000
"""Bits of an int: longer ones, Python refuses to read."""


def why_not(_name: str, _array: Any) -> str:
    """Return why an array cannot be in such a file."""
    return "files cannot hold arrays; use .npz or .safetensors"


def write(file: IO[bytes], header: str, _arrays: Mapping[str, Any]) -> None:
    """Write a header into a file."""
    file.write(header.encode())


def plain_text(tree: Any) -> str | None:
    """Return the JSON text of a tree that JSON can represent; None for other trees."""
    if type(tree) not in (dict, list) or is_header(tree):
        return None
    stack = [(tree, 0)]
    while stack:
        node, depth = stack.pop()
        if type(node) is dict and depth < _DEEPEST:
            stack += [(key, -1) for key in node]
            stack += [(value, depth + 1) for value in node.values()]
        elif type(node) is list and depth < _DEEPEST:
            stack += [(value, depth + 1) for value in node]
        elif not _is_plain(node) or (depth < 0 and type(node) is not str):
            return None
    return json.dumps(tree, ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def _is_plain(leaf: Any) -> bool:
    """Return whether JSON has a value itself."""
    cls = type(leaf)
    if cls is str:
        return not any("\ud800" <= letter <= "\udfff" for letter in leaf)
    if cls is int:
        return bool(leaf.bit_length() < _LARGEST)
    return leaf is None or cls is bool or (cls is float and math.isfinite(leaf))


class _Read:
    """The content of a file.

    Attributes:
        header: What JSON says, if that is a header; None if not.
        tree: What JSON says.
        names: The names of its arrays: none.
    """

    def __init__(self, text: str) -> None:
        self.tree = loads(text)
        self.header = text if is_header(self.tree) else None
        self.names: set[str] = set()


@contextmanager
def opened(path: str) -> Iterator[_Read]:
    """Open a file for reading."""
    with open(path, "rb") as file:
        data = file.read()
    yield _Read(data.decode(json.detect_encoding(data)))
