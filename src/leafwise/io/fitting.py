"""Compare the content of a file with a tree that defines the expected content.

Owns all differences between the two, found before any array is read, and what becomes
of a leaf that fits. Knows nothing of formats.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from ..core.keypath import KeyPath
from ..core.keys import DictKey
from ..core.matching import Difference
from ..equality.content import instance_of, is_array
from ..safely import class_name, type_name
from .arrays import Stored, as_array_like, form_of


_HINT: Final = (
    "strict=False ignores unexpected leaves and keeps the leaves of `like` for missing "
    "ones"
)


def leaf_differences(
    wanted: Mapping[str, tuple[KeyPath, Any]],
    found: Mapping[str, Any],
    strict: bool,
    foreign: bool,
) -> list[Difference]:
    """Return where the leaves of a file differ from those that are wanted.

    Args:
        wanted: By name, the leaves that are to come from the file, with their paths.
        found: By name, the leaves of the file.
        strict: Whether names may neither be missing nor unexpected.
        foreign: Whether the file has no types of its own, so that an array of one
            number may stand for the number.
    """
    told = []
    for name, (path, like) in wanted.items():
        if name in found and not _fits(like, found[name], foreign):
            told.append(Difference(path, _told(like), _told(found[name])))
        elif name not in found and strict:
            told.append(Difference(path, _told(like), "nothing", _HINT))
    if strict:
        told += [
            Difference(KeyPath((DictKey(name),)), "nothing", _told(leaf), _HINT)
            for name, leaf in found.items()
            if name not in wanted
        ]
    return told


def _fits(like: Any, found: Any, foreign: bool) -> bool:
    is_stored = is_array(like) and not instance_of(like, "numpy", "generic")
    if type(found) is not Stored:
        is_int = foreign and type(like) is float and type(found) is int
        return is_int or (type(like) is type(found) and not is_stored)
    if is_stored:
        return form_of(like) == form_of(found)
    kinds = _DTYPES.get(type(like), ())
    return foreign and found.shape == () and found.dtype.startswith(kinds)


_DTYPES: Final = {bool: ("bool",), int: ("int", "uint"), float: ("float", "bfloat")}
"""By type of a number, how the dtypes begin whose numbers are read as it."""


def _told(value: Any) -> str:
    """Return a description of a leaf."""
    if isinstance(value, type):
        return f"the class {class_name(value)}"
    if instance_of(value, "numpy", "generic"):
        return f"numpy.{value.dtype}"
    is_form = type(value) is Stored or is_array(value)
    return form_of(value) if is_form else type_name(value)


def filled(found: Any, like: Any, read: Callable[..., Any]) -> Any:
    """Return the replacement of a leaf, with the type of the leaf, which it fits."""
    if type(found) is not Stored:
        return float(found) if type(like) is float else found
    if not is_array(like):
        return type(like)(read(found).item())
    return as_array_like(read(found), like)
