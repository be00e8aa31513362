"""The content of a file besides arrays, as JSON; and `.json` files, which have no more.

Owns the header: a table from the names of leaves to values, and the structures of the
parts of the tree (see `arrays`), whose leaves follow one another. A value that JSON has
itself is written as it is, any other one as a list that begins with a word; objects
stand for arrays and parts. Reading imports nothing, and calls nothing that the file
names.

Owns which trees are written to `.json` without a header: those of dicts and lists with
strings, numbers, bools and None, which JSON restores as they were.
"""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any, Final

from .._text import short_repr
from ..core.codec import read_value
from ..core.serial import unique_keys
from ..errors import TreeDefError
from .arrays import Opened, Shared, Stored


VERSION: Final = 2


# ----------------------------------------------------------------------------- header


def write_header(leaves: dict[str, Any], treedefs: list[str]) -> str:
    """Return the text of a header, with a line for each leaf.

    Args:
        leaves: The leaves by name, as JSON.
        treedefs: The structures of the tree and of objects in several places.
    """
    rows = ",\n".join(f"    {_text(k)}: {_text(x)}" for k, x in leaves.items())
    written = f"{{\n{rows}\n  }}" if rows else "{}"
    return (
        f'{{\n  "leafwise": {_text({"format": VERSION})},\n'
        f'  "leaves": {written},\n'
        f'  "treedefs": [{", ".join(treedefs)}]\n}}\n'
    )


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def loads(text: str | bytes) -> Any:
    """Parse a JSON text.

    Raises:
        ValueError: It is not JSON, or an object in it has a key twice.
        RecursionError: It is nested too deeply.
    """
    return json.loads(text, object_pairs_hook=unique_keys)


def read_header(data: Any) -> tuple[dict[str, Any], list[str]]:
    """Return the leaves of a header by name, and the texts of the structures.

    Raises:
        TreeDefError: It is malformed.
        Exception: It is malformed: something in it is of another type.
    """
    version = data["leafwise"]["format"]
    if version != VERSION:
        raise TreeDefError(
            f"its format version is {short_repr(version)}, this library reads version "
            f"{VERSION}"
        )
    leaves: dict[str, Any] = {}
    for name, written in data["leaves"].items():
        match written:
            case {"object": int(number)}:
                leaves[name] = Shared(number)
            case {"array": [str(dtype), [*shape]]} if {*map(type, shape)} <= {int}:
                leaves[name] = Stored(name, dtype, tuple(shape))
            case {"same": str(first)}:
                leaves[name] = leaves[first]
            case dict():
                raise TreeDefError(
                    f"the leaf {short_repr(name)} is {short_repr(written)}"
                )
            case _:
                leaves[name] = read_value(written)
    return leaves, [*map(json.dumps, data["treedefs"])]


# ------------------------------------------------------------------------- .json files


_DEEPEST: Final = 100


def why_not(_name: str, _array: Any) -> str:
    """Return why an array cannot be in such a file."""
    return ".json files cannot hold arrays; use .npz or .safetensors"


def write(file: IO[bytes], header: str, _arrays: Mapping[str, Any]) -> None:
    """Write a header into a file."""
    file.write(header.encode())


@contextmanager
def opened(path: str) -> Iterator[Opened]:
    """Open a file for reading; it has a header or a tree, and no arrays."""
    found = loads(pathlib.Path(path).read_bytes())
    yield Opened(found) if _is_header(found) else Opened(None, tree=found)


def plain_text(tree: Any) -> str | None:
    """Return the JSON text of a tree that JSON can represent; None for other trees."""
    if type(tree) not in (dict, list) or _is_header(tree) or not _is_plain(tree):
        return None
    try:
        text = json.dumps(tree, ensure_ascii=False, allow_nan=False, indent=2) + "\n"
        text.encode()
    except ValueError:  # NaN, half a character, more digits than Python reads
        return None
    return text


def _is_plain(node: Any, depth: int = 0) -> bool:
    cls = type(node)
    if cls is not dict and cls is not list:
        return node is None or cls in (bool, int, float, str)
    if depth == _DEEPEST or (cls is dict and {*map(type, node)} - {str}):
        return False
    items = node.values() if cls is dict else node
    return all(_is_plain(item, depth + 1) for item in items)


def _is_header(data: Any) -> bool:
    about = data.get("leafwise") if type(data) is dict else None
    return type(about) is dict and "format" in about
