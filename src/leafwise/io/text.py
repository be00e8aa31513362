"""Trees in `.json` files, for people to read and to edit.

Owns which trees are written as JSON has them, without a header: those of dicts and
lists, with strings, numbers, bools and None in them, which are read back as they were.
All others are a header (see there), one line for each leaf.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import SimpleNamespace
from typing import IO, Any, Final

from ..safely import MISSING
from .header import is_header, loads
from .values import is_unicode


__all__ = ["SUFFIX", "opened", "plain_text", "why_not", "write"]

SUFFIX: Final = ".json"
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
    if type(tree) not in (dict, list) or is_header(tree) or not _is_plain(tree):
        return None
    return json.dumps(tree, ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def _is_plain(node: Any, depth: int = 0) -> bool:
    cls = type(node)
    if cls is dict or cls is list:
        if cls is dict and not all(type(k) is str and is_unicode(k) for k in node):
            return False
        items = node.values() if cls is dict else node
        return depth < _DEEPEST and all(_is_plain(item, depth + 1) for item in items)
    if cls is str:
        return is_unicode(node)
    if cls is int:
        return bool(node.bit_length() < _LARGEST)
    return node is None or cls is bool or (cls is float and math.isfinite(node))


@contextmanager
def opened(path: str) -> Iterator[SimpleNamespace]:
    """Open a file for reading; it has a header or a tree, and no arrays."""
    with open(path, "rb") as file:
        data = file.read()
    found = loads(data.decode(json.detect_encoding(data)))
    if is_header(found):
        yield SimpleNamespace(header=found, tree=MISSING, names=())
    else:
        yield SimpleNamespace(header=None, tree=found, names=())
