"""The header of a file: its leaves besides arrays, and its structure, as JSON.

A table has the leaves by name, and a list has the structures of the parts of the tree
(see `parts`), whose leaves follow one another. A value that JSON has is written as it
is, any other one as a list that begins with a word; JSON objects stand for arrays and
parts. Reading imports nothing, and calls nothing that the file names.
"""

from __future__ import annotations

import datetime
import json
import math
import pathlib
import re
from collections.abc import Callable
from typing import Any, Final

from .._lazy import need, real
from .._text import escape_controls, short_repr
from ..core.keys import literal
from ..core.serial import read_value, unique_keys, write_value
from ..equality.arrays import dtype_name, instance_of
from ..errors import TreeDefError
from .arrays import REGISTERED, Stored, extension_dtype
from .parts import Shared


FORMAT: Final = 2


# ----------------------------------------------------------------------------- header


def write_header(entries: dict[str, Any], treedefs: list[str]) -> str:
    """Return the text of a header, with a line for each leaf.

    Args:
        entries: The leaves by name, as JSON.
        treedefs: The structures of the tree and of objects in several places.
    """
    about = {"format": FORMAT, "version": _library_version()}
    lines = [f"    {_dumps(name)}: {_dumps(leaf)}" for name, leaf in entries.items()]
    leaves = "{}"
    if lines:
        leaves = "{\n" + ",\n".join(lines) + "\n  }"
    return (
        f'{{\n  "leafwise": {_dumps(about)},\n'
        f'  "leaves": {leaves},\n'
        f'  "treedefs": [{", ".join(treedefs)}]\n}}\n'
    )


def _library_version() -> str:
    # not imported: the package imports this module
    version: str = real("leafwise").__version__
    return version


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def parse_json(text: str | bytes) -> Any:
    """Parse a JSON text.

    Raises:
        ValueError: It is not JSON, or an object in it has a key twice.
        RecursionError: It is nested too deeply.
    """
    return json.loads(text, object_pairs_hook=unique_keys)


def read_header(data: Any) -> tuple[dict[str, Any], list[Any]]:
    """Return the leaves of a header by name, and the structures as JSON.

    Raises:
        TreeDefError: It is malformed.
        Exception: It is malformed: something in it is of another type.
    """
    _check_format(data["leafwise"])
    leaves: dict[str, Any] = {}
    for name, entry in data["leaves"].items():
        if type(entry) is not dict:
            leaves[name] = read_leaf(entry)
            continue
        match entry:
            case {"object": int(number)}:
                leaves[name] = Shared(number)
            case {"array": [str(dtype), list(shape)]} if _are_lengths(shape):
                leaves[name] = Stored(name, dtype, tuple(shape))
            case {"same": str(first_name)}:
                leaves[name] = leaves[first_name]
            case _:
                raise TreeDefError(
                    f"the leaf {short_repr(name)} is {short_repr(entry)}"
                )
    return leaves, list(data["treedefs"])


def _are_lengths(shape: list[Any]) -> bool:
    return all(type(length) is int for length in shape)


def _check_format(about: dict[str, Any]) -> None:
    """Raise an error that says which version wrote a file that cannot be read.

    Raises:
        TreeDefError: The file has another format.
    """
    number = about["format"]
    is_number = type(number) is int  # True is equal to 1
    if is_number and number == FORMAT:
        return
    writer = "another version of leafwise"
    if is_number and number == 1:
        writer = "a version before the first release"
    elif type(about.get("version")) is str:
        writer = f"leafwise {escape_controls(about['version'][:40])}"
    raise TreeDefError(
        f"it has format {short_repr(number)}, which {writer} wrote; this is leafwise "
        f"{_library_version()}, which reads format {FORMAT}"
    )


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
        return _write_text(_WORDS[cls], value)
    if cls is set or cls is frozenset:
        items = [write_leaf(item) for item in value]
        return [cls.__name__, *sorted(items, key=repr)]
    if instance_of(value, "numpy", "generic"):
        return ["numpy", *_write_scalar(value)]
    if instance_of(value, "numpy", "dtype"):
        return ["dtype", _write_dtype(value)]
    if instance_of(value, "torch", "dtype"):
        return ["object", f"torch:{dtype_name(value)}"]  # by which it is found
    return write_value(value)


def read_leaf(entry: Any) -> Any:
    """Return the value that was passed to `write_leaf`.

    Raises:
        TreeDefError: It is malformed, or names what is not here.
        Exception: Of a class that cannot read a text, or is given something else.
    """
    if type(entry) is not list:
        return read_value(entry)
    word, *items = entry
    if word in _TEXTS:
        _, _, read = _TEXTS[word]
        return read(*items)
    if word in _SETS:
        return _SETS[word](read_leaf(item) for item in items)
    if word == "numpy":
        return _read_scalar(*items)
    if word == "dtype":
        return _read_dtype(*items)
    return read_value(entry)


def _write_text(word: str, value: Any) -> list[str]:
    _, write, read = _TEXTS[word]
    text = write(value)
    # compared by `repr`: times of different zones or folds may be equal
    if repr(read(text)) != repr(value) or _SURROGATE.search(text):
        raise _no_text_form(value)
    return [word, text]


def _no_text_form(value: Any) -> TreeDefError:
    return TreeDefError(
        f"{short_repr(value)} has no text form that reads back the same"
    )


def _write_dtype(dtype: Any) -> Any:
    if dtype.isbuiltin == REGISTERED:
        return dtype.name
    numpy = need("numpy", "a dtype", "arrays")
    entry = write_value(numpy.lib.format.dtype_to_descr(dtype))
    if _read_dtype(entry) != dtype:
        raise _no_text_form(dtype)
    return entry


def _read_dtype(entry: Any) -> Any:
    if type(entry) is str and entry.isidentifier():
        return extension_dtype(entry)
    numpy = need("numpy", "a dtype", "arrays")
    return numpy.lib.format.descr_to_dtype(read_value(entry))


def _write_scalar(value: Any) -> list[Any]:
    """Return the dtype of a scalar of numpy, and its bytes in hex."""
    if value.dtype.hasobject:
        raise TreeDefError(f"{short_repr(value)} contains Python objects")
    # the bytes of a text may be more than its dtype has
    return [_write_dtype(value.dtype), value.tobytes()[: value.itemsize].hex()]


def _read_scalar(dtype_entry: Any, hex_text: Any) -> Any:
    numpy = need("numpy", "a scalar", "arrays")
    content = bytes.fromhex(hex_text)
    dtype = _read_dtype(dtype_entry)
    if len(content) != dtype.itemsize or dtype.hasobject:
        raise TreeDefError(
            f"{short_repr(hex_text)} is not a value of {short_repr(dtype)}"
        )
    # an array would lose the null characters at the end of a text
    if dtype.kind == "S":
        return dtype.type(content)
    if dtype.kind == "U":
        return dtype.type(content.decode("utf-32", "surrogatepass"))
    return numpy.ndarray((), dtype, bytearray(content))[()]
