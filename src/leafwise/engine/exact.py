"""Telling values apart to the last bit, where `==` does not.

Owns the question whether one piece of aux data, or one dict key, can stand for
another without anybody noticing: `1`, `True` and `1.0` are equal and cannot.
A value that can be told apart so, and that holds nothing of a user's, is
*inert*; only inert values are kept in plans.
"""

from __future__ import annotations

import enum
from collections.abc import Hashable
from typing import Any, Final

from ..core.keys import DictKey, FlattenedIndexKey, GetAttrKey, SequenceKey


__all__ = ["SCALARS", "NotInertError", "exact_key", "exactly"]

SCALARS: Final = frozenset({bool, bytes, int, str, type(None)})
"""The types whose equal values are the same, once the types are."""

_KEYS: Final = frozenset({DictKey, FlattenedIndexKey, GetAttrKey, SequenceKey})


class NotInertError(Exception):
    """A value is mutable, is compared by its class's own rules, or is not known."""


def exact_key(value: Any) -> Hashable:
    """Return a key that two values share only if one can stand for the other.

    Raises:
        NotInertError: The value is not inert.

    Example:
        >>> from leafwise.engine.exact import exact_key
        >>> exact_key((1, "a")) == exact_key((1, "a")), exact_key(1) == exact_key(True)
        (True, False)
    """
    cls = type(value)
    if cls in SCALARS:
        return cls, value
    if cls is float and value == value:
        return cls, value.hex()
    if cls is tuple:
        return cls, tuple(map(exact_key, value))
    if cls in _KEYS:
        return cls, tuple(map(exact_key, value._values()))
    if issubclass(cls, type | enum.Enum):
        return cls, id(value)
    raise NotInertError


def exactly(value: Any, known: Any) -> bool:
    """Say whether a value can stand for an inert one.

    Example:
        >>> from leafwise.engine.exact import exactly
        >>> exactly((1, 2.0), (1, 2.0)), exactly((1, 2), (1, 2.0)), exactly(-0.0, 0.0)
        (True, False, False)
    """
    if value is known:
        return True
    cls = type(known)
    if type(value) is not cls:
        return False
    if cls in SCALARS:
        return bool(value == known)
    if cls is float:
        return bool(value.hex() == known.hex())
    if cls is tuple:
        return len(value) == len(known) and all(map(exactly, value, known))
    if cls in _KEYS:
        return all(map(exactly, value._values(), known._values()))
    return False
