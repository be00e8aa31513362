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

import datetime
import json
import math
import pathlib
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any, Final

from .._lazy import need
from .._text import short_repr
from ..core.keys import literal
from ..core.serial import read_value, unique_keys, write_value
from ..equality.arrays import dtype_name, instance_of
from ..errors import TreeDefError
from .arrays import REGISTERED, Opened, Shared, Stored, extension_dtype


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
                leaves[name] = read_leaf(written)
    return leaves, [*map(json.dumps, data["treedefs"])]


# ----------------------------------------------------------------------------- values


_TEXTS: Final[dict[str, tuple[type, Callable[[Any], str], Callable[[str], Any]]]] = {
    "float": (float, repr, float),
    "complex": (complex, repr, complex),
    "date": (datetime.date, str, datetime.date.fromisoformat),
    "datetime": (datetime.datetime, str, datetime.datetime.fromisoformat),
    "path": (type(pathlib.Path()), str, pathlib.Path),
}
"""By word: a class, and how its values are written as text and read from it."""
_WORDS: Final = {cls: word for word, (cls, _, _) in _TEXTS.items()}
_SETS: Final = {"set": set, "frozenset": frozenset}
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
"""Half a character, alone: of two of them, JSON would make one character."""


def write_leaf(value: Any) -> Any:
    """Return the JSON form of a value: a list, or the value itself.

    Raises:
        ValueError: It has no form, or none that is read back as the same.
    """
    cls = type(value)
    if cls is str and _SURROGATE.search(value):
        return ["literal", literal(value)]
    if cls in _WORDS and not (cls is float and math.isfinite(value)):
        word = _WORDS[cls]
        text = _TEXTS[word][1](value)
        # compared by `repr`: times of different zones or folds may be equal
        if repr(_TEXTS[word][2](text)) != repr(value) or _SURROGATE.search(text):
            raise TreeDefError(
                f"{short_repr(value)} has no text form that reads back the same"
            )
        return [word, text]
    if cls in (set, frozenset):
        return [cls.__name__, *sorted(map(write_leaf, value), key=repr)]
    if instance_of(value, "numpy", "generic"):
        return ["numpy", *_write_scalar(value)]
    if instance_of(value, "numpy", "dtype"):
        return ["dtype", _write_dtype(value)]
    if instance_of(value, "torch", "dtype"):
        return ["object", f"torch:{dtype_name(value)}"]  # by which it is found
    return write_value(value)


def read_leaf(written: Any) -> Any:
    """Return the value that was passed to `write_leaf`.

    Raises:
        TreeDefError: It is malformed, or names what is not here.
        Exception: Of a class that cannot read a text, or is given something else.
    """
    if type(written) is not list:
        return read_value(written)
    word, *items = written
    if word in _TEXTS:
        return _TEXTS[word][2](*items)
    if word in _SETS:
        return _SETS[word](map(read_leaf, items))
    if word == "numpy":
        return _read_scalar(*items)
    if word == "dtype":
        return _read_dtype(*items)
    return read_value(written)


def _write_dtype(dtype: Any) -> Any:
    if dtype.isbuiltin == REGISTERED:
        return dtype.name
    numpy = need("numpy", "a dtype", "arrays")
    form = write_value(numpy.lib.format.dtype_to_descr(dtype))
    if _read_dtype(form) != dtype:
        raise TreeDefError(
            f"{short_repr(dtype)} has no text form that reads back the same"
        )
    return form


def _read_dtype(form: Any) -> Any:
    if type(form) is str and form.isidentifier():
        return extension_dtype(form)
    numpy = need("numpy", "a dtype", "arrays")
    return numpy.lib.format.descr_to_dtype(read_value(form))


def _write_scalar(value: Any) -> list[Any]:
    """Return the dtype of a scalar of numpy, and its bytes in hex."""
    if value.dtype.hasobject:
        raise TreeDefError(f"{short_repr(value)} contains Python objects")
    return [_write_dtype(value.dtype), value.tobytes()[: value.itemsize].hex()]


def _read_scalar(form: Any, data: Any) -> Any:
    numpy, raw = need("numpy", "a scalar", "arrays"), bytes.fromhex(data)
    dtype = _read_dtype(form)
    if len(raw) != dtype.itemsize or dtype.hasobject:
        raise TreeDefError(f"{short_repr(data)} is not a value of {short_repr(dtype)}")
    if dtype.kind in "SU":  # null characters at the end go in an array
        text = raw.decode("utf-32", "surrogatepass") if dtype.kind == "U" else raw
        return dtype.type(text)
    return numpy.ndarray((), dtype, bytearray(raw))[()]


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
