"""Named tuples and struct sequences: what has their form, and the names of fields."""

from __future__ import annotations

from typing import Any

from ...core import builtins
from ...core.builtins import structseq_names


__all__ = [  # pyright: ignore[reportUnsupportedDunderAll]
    *("is_namedtuple", "is_namedtuple_class", "is_namedtuple_instance"),
    *("is_structseq", "is_structseq_class", "is_structseq_instance"),
    *("namedtuple_fields", "structseq_fields"),
]

UNNAMED = "unnamed field"
"""The name of a field of a struct sequence that has none."""

_CAN_BE_A_BASE = 1 << 10
_COUNTS = ("n_fields", "n_sequence_fields", "n_unnamed_fields")


def is_namedtuple(obj: object) -> bool:
    """Return whether a value is a named tuple or a named tuple class."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_namedtuple_class(cls: object) -> bool:
    """Return whether a value is a named tuple class."""
    return isinstance(cls, type) and builtins.is_namedtuple_class(cls)


def is_namedtuple_instance(obj: object) -> bool:
    """Return whether a value is a named tuple."""
    return is_namedtuple_class(type(obj))


def namedtuple_fields(obj: Any, /) -> tuple[str, ...]:
    """Return the field names of a named tuple or a named tuple class.

    Raises:
        TypeError: It is neither.

    Example:
        >>> from collections import namedtuple
        >>> from leafwise.compat import optree
        >>> optree.namedtuple_fields(namedtuple("Point", "x y"))
        ('x', 'y')
    """
    cls: Any = _class_of(obj, is_namedtuple_class, "collections.namedtuple")
    return cls._fields  # type: ignore[no-any-return]  # of strings


def is_structseq(obj: object) -> bool:
    """Return whether a value is a struct sequence or a struct sequence class."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def is_structseq_class(cls: object) -> bool:
    """Return whether a value is a struct sequence class.

    That of `sys.flags` counts as well, whose instances are leaves since they cannot be
    rebuilt.
    """
    return (
        isinstance(cls, type)
        and cls.__bases__ == (tuple,)
        and not cls.__flags__ & _CAN_BE_A_BASE
        and all(isinstance(getattr(cls, name, None), int) for name in _COUNTS)
    )


def is_structseq_instance(obj: object) -> bool:
    """Return whether a value is a struct sequence."""
    return is_structseq_class(type(obj))


def structseq_fields(obj: Any, /) -> tuple[str, ...]:
    """Return the item names of a struct sequence or a struct sequence class.

    Raises:
        TypeError: It is neither.

    Example:
        >>> import time
        >>> from leafwise.compat import optree
        >>> optree.structseq_fields(time.struct_time)[:3]
        ('tm_year', 'tm_mon', 'tm_mday')
    """
    cls: Any = _class_of(obj, is_structseq_class, "PyStructSequence")
    unnamed: int = cls.n_unnamed_fields
    named = structseq_names(cls)[: cls.n_sequence_fields - unnamed]
    return (*named, *[UNNAMED] * unnamed)


def _class_of(obj: Any, test: Any, name: str) -> type:
    cls = obj if isinstance(obj, type) else type(obj)
    if not test(cls):
        raise TypeError(f"Expected a {name}, or its class, got {obj!r}.")
    return cls
