"""Leaves other than arrays, as JSON: each is restored as it was.

Owns the form of numbers, strings, dtypes, sets and dates; see `core.serial` for what is
written there, as what has a name in a module. A value that JSON has itself is written
as it is; any other one as a list that begins with a word, never as an object, so that
objects can stand for other things. Reading imports nothing, and calls nothing that the
file names.
"""

from __future__ import annotations

import contextlib
import datetime
import decimal
import math
import pathlib
import uuid
from collections.abc import Callable
from typing import Any, Final

from ..core.serial import read_value, write_value
from ..equality.content import dtype_name, instance_of
from ..errors import TreeDefError
from ..lazy import need
from ..safely import clip, printed
from .arrays import REGISTERED


__all__ = ["is_unicode", "read_leaf", "write_leaf"]

_TEXTS: Final[dict[str, tuple[type, Callable[[Any], str], Callable[[str], Any]]]] = {
    "date": (datetime.date, str, datetime.date.fromisoformat),
    "datetime": (
        datetime.datetime,
        datetime.datetime.isoformat,
        datetime.datetime.fromisoformat,
    ),
    "time": (datetime.time, str, datetime.time.fromisoformat),
    "decimal": (decimal.Decimal, str, decimal.Decimal),
    "path": (type(pathlib.Path()), str, pathlib.Path),
    "pure path": (pathlib.PurePosixPath, str, pathlib.PurePosixPath),
    "uuid": (uuid.UUID, str, uuid.UUID),
}
"""Classes whose values are read back from their text, by the word that names them."""
_BY_CLASS: Final = {cls: word for word, (cls, _, _) in _TEXTS.items()}
_SETS: Final = {"set": set, "frozenset": frozenset}


def is_unicode(text: str) -> bool:
    """Return whether a string has no lone surrogates: JSON would join two of them."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def write_leaf(value: Any) -> Any:
    """Return the JSON form of a value: a list, or the value itself.

    Raises:
        TreeDefError: It has no form, or none that is read back as the same.
    """
    cls = type(value)
    if cls is str:
        return value if is_unicode(value) else ["text", repr(value)]
    if cls is float and not math.isfinite(value):
        return ["float", repr(value)]
    if cls is complex:
        return ["complex", write_leaf(value.real), write_leaf(value.imag)]
    if cls in _BY_CLASS:
        return _write_text(value)
    if cls in (set, frozenset):
        return [cls.__name__, *sorted(map(write_leaf, value), key=repr)]
    if instance_of(value, "numpy", "generic"):
        return _write_scalar(value)
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
    if word in _SETS:
        return _SETS[word](map(read_leaf, items))
    if word == "complex":
        real_part, imaginary = map(read_leaf, items)
        return complex(real_part, imaginary)
    if word == "numpy":
        dtype, data = items
        return _read_scalar(_read_dtype(dtype), data)
    if word == "dtype":
        (form,) = items
        return _read_dtype(form)
    if word not in _TEXTS and word not in ("text", "float"):
        return read_value(written)
    (text,) = items
    if type(text) is not str:
        raise TreeDefError(f"a {word} cannot be read from {clip(text)}")
    if word == "float":
        return float(text)
    if word in _TEXTS:
        return _TEXTS[word][2](text)
    found = read_value(["literal", text])
    if type(found) is not str:
        raise TreeDefError(f"{clip(text)} is not a string")
    return found


def _write_text(value: Any) -> list[Any]:
    word = _BY_CLASS[type(value)]
    _, write, read = _TEXTS[word]
    text = write(value)
    again = read(text)
    # by their text, as times in two zones may be equal; it does not show the fold
    is_same = repr(again) == repr(value)
    is_same = is_same and getattr(again, "fold", 0) == getattr(value, "fold", 0)
    if not is_same or not is_unicode(text):
        raise TreeDefError(f"{clip(value)} has no text form that reads back the same")
    return [word, text]


# ------------------------------------------------------------------------------- numpy


def _write_dtype(dtype: Any) -> Any:
    """Return the form of a dtype, from which `_read_dtype` makes it.

    Raises:
        TreeDefError: There is none.
    """
    numpy = need("numpy", "a dtype", "arrays")
    with contextlib.suppress(TreeDefError, TypeError, ValueError):
        form = (
            dtype.name
            if dtype.isbuiltin == REGISTERED
            else write_value(numpy.lib.format.dtype_to_descr(dtype))
        )
        if _read_dtype(form) == dtype:
            return form
    raise TreeDefError(
        f"the dtype {clip(dtype)} has no text form that reads back the same"
    )


def _read_dtype(form: Any) -> Any:
    """Return the numpy dtype of a form, including the dtypes of ml_dtypes.

    Raises:
        TreeDefError: There is none.
    """
    numpy = need("numpy", "a dtype", "arrays")
    try:
        if type(form) is str and form.isidentifier():
            return numpy.dtype(getattr(need("ml_dtypes", form, "arrays"), form))
        return numpy.lib.format.descr_to_dtype(read_value(form))
    except (AttributeError, TypeError, ValueError) as error:
        raise TreeDefError(f"{clip(form)} is not a dtype: {printed(error)}") from None


def _write_scalar(value: Any) -> list[Any]:
    """Return the form of a scalar of numpy.

    Numbers are written as such where that is exact, strings as those of Python, which
    keep null characters at their ends, and everything else as bytes.
    """
    dtype = value.dtype
    if dtype.hasobject:
        raise TreeDefError(f"{clip(value)} contains Python objects")
    if dtype.kind in "SU":
        bare = str.__str__(value) if dtype.kind == "U" else bytes(value)
        return ["numpy", f"|{dtype.kind}0", write_leaf(bare)]
    form = _write_dtype(dtype)
    if dtype.kind in "biuf" and dtype.isbuiltin == 1:
        item = value.item()
        if type(item) in (bool, int, float) and math.isfinite(item):
            return ["numpy", form, item]
    return ["numpy", form, ["bytes", value.tobytes().hex()]]


def _read_scalar(dtype: Any, data: Any) -> Any:
    """Return the scalar that `_write_scalar` wrote.

    Raises:
        TreeDefError: There are too few or too many bytes.
    """
    numpy = need("numpy", "a scalar", "arrays")
    if dtype.kind in "SU":
        found = read_leaf(data)
        if type(found) is not (str if dtype.kind == "U" else bytes):
            raise TreeDefError(f"{clip(data)} is not a value of {clip(dtype)}")
        return dtype.type(found)
    if type(data) in (bool, int, float) and dtype.kind in "biuf":
        return dtype.type(data)
    word, text = data
    raw = bytes.fromhex(text)
    if word != "bytes" or len(raw) != dtype.itemsize or dtype.hasobject:
        raise TreeDefError(f"{clip(data)} is not a value of {clip(dtype)}")
    return numpy.frombuffer(raw, dtype)[0] if raw else numpy.zeros((), dtype)[()]
