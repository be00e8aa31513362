"""Trees in `.json` files, which have a header and no arrays.

A tree of dicts and lists with strings, numbers, bools and None, which JSON restores as
they were, is written without a header, as `json.dump` would.
"""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any, Final

from .arrays import OpenFile
from .header import parse_json


_MAX_DEPTH: Final = 100


def why_not(_name: str, _array: Any) -> str:
    """Return why an array cannot be in such a file."""
    return ".json files cannot hold arrays; use .npz or .safetensors"


def write(file: IO[bytes], header: str, _arrays: Mapping[str, Any]) -> None:
    """Write a header into a file."""
    file.write(header.encode())


@contextmanager
def opened(path: str) -> Iterator[OpenFile]:
    """Open a file for reading; it has a header or a tree, and no arrays."""
    data = parse_json(pathlib.Path(path).read_bytes())
    if _is_header(data):
        yield OpenFile(data)
    else:
        yield OpenFile(None, data)


def plain_text(tree: Any) -> str | None:
    """Return the JSON text of a tree that JSON can represent; None for other trees."""
    is_container = type(tree) is dict or type(tree) is list
    if not is_container or _is_header(tree) or not _is_plain(tree):
        return None
    try:
        text = json.dumps(tree, ensure_ascii=False, allow_nan=False, indent=2) + "\n"
        text.encode()
    except ValueError:  # NaN, half a character, more digits than Python reads
        return None
    return text


def _is_plain(node: Any, depth: int = 0) -> bool:
    cls = type(node)
    if cls is dict:
        items = node.values()
        has_names = all(type(key) is str for key in node)
    elif cls is list:
        items = node
        has_names = True
    else:
        return node is None or cls in (bool, int, float, str)
    if depth == _MAX_DEPTH or not has_names:
        return False
    return all(_is_plain(item, depth + 1) for item in items)


def _is_header(data: Any) -> bool:
    about = data.get("leafwise") if type(data) is dict else None
    return type(about) is dict and "format" in about
