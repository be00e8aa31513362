"""Named tuples and struct sequences: what has their form, and the names of fields."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Never, Self, TypeVar, final

from ...core import builtins
from ...core.builtins import structseq_names


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
    fields: tuple[str, ...] = cls._fields
    return fields


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
    count, unnamed = cls.n_sequence_fields, cls.n_unnamed_fields
    named = structseq_names(cls)[: count - unnamed]
    if not unnamed:
        return named
    names = dict(zip(_places(cls, count, named), named, strict=True))
    return tuple(names.get(place, UNNAMED) for place in range(count))


def _places(cls: Any, count: int, named: tuple[str, ...]) -> list[int]:
    """Return at which items the named fields are, which an instance tells."""
    marks = [object() for _ in range(count)]
    try:
        made = cls(marks)
        return [marks.index(getattr(made, name)) for name in named]
    except (TypeError, ValueError, AttributeError):  # it takes no such items
        return [*range(len(named))]


def _class_of(obj: Any, test: Any, name: str) -> type:
    cls = obj if isinstance(obj, type) else type(obj)
    if not test(cls):
        what = "a" if cls is obj else "an instance of"
        raise TypeError(f"Expected {what} {name} type, got {obj!r}.")
    return cls


_T_co = TypeVar("_T_co", covariant=True)


class _StructSequenceMeta(type):
    def __subclasscheck__(cls, subclass: type) -> bool:
        return is_structseq_class(subclass)

    def __instancecheck__(cls, instance: object) -> bool:
        return is_structseq_instance(instance)


@final
class StructSequence(tuple[_T_co, ...], metaclass=_StructSequenceMeta):
    """The type of all struct sequences, for annotations and `isinstance`."""

    __slots__ = ()

    def __new__(cls, /, sequence: Iterable[_T_co], dict: Any = ...) -> Self:
        """Refuse: it is none of these classes itself."""
        raise NotImplementedError

    def __init_subclass__(cls, /) -> Never:
        raise TypeError("type 'StructSequence' is not an acceptable base type")
