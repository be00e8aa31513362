"""Static values: what an object keeps beside its children.

Owns when two objects have the same static part. It is told more exactly than for
other aux data, because a function may be traced for it: `1` is not `True`, NaN is
itself, and a list that was changed in place is another one, so lists, dicts and
sets are compared as they were when the object was flattened. Comparing never raises.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from operator import is_
from types import BuiltinFunctionType, FunctionType
from typing import Any, Final

from ..core import auxdata
from ..core.safely import shown
from ..kinds import Kind
from .layout import Anatomy


__all__ = ["Constant", "Statics", "digest", "same", "snapshot", "statics_for"]

_SCALARS: Final = frozenset({bool, bytes, complex, float, int, str, type(None)})
_UNCHANGING: Final = _SCALARS | {BuiltinFunctionType, FunctionType, type}
_MAX_DEPTH: Final = 100


class Statics:
    """The static part of one object: aux data of its node.

    Attributes:
        anatomy: How the object comes apart.
        values: Its static values, in the order of `anatomy.static`.
        seen: The same, as they were at that time.
    """

    __slots__ = ("anatomy", "seen", "values")

    def __init__(self, anatomy: Anatomy, values: tuple[Any, ...]) -> None:
        self.anatomy = anatomy
        self.values = values
        self.seen = snapshots(values)

    def __eq__(self, other: object) -> bool:
        if type(other) is not Statics:
            return NotImplemented
        return same_statics(self, other)

    def __hash__(self) -> int:
        return hash((self.anatomy.mark, digest(self.seen)))

    @property
    def is_lasting(self) -> bool:
        """Whether an object with the same values, one by one, has this static part."""
        return self.seen is self.values

    def words(self) -> str:
        """Say in words what the object has, as errors do."""
        anatomy = self.anatomy
        kinds = ((child, anatomy.kind_of(child)) for child in anatomy.data)
        data = [
            f"{child}" if kind is Kind.DATA else f"{child} ({kind.value})"
            for child, kind in kinds
        ]
        parts = [f"data {', '.join(data)}"] if data else []
        if anatomy.static:
            parts.append(f"static {self!r}")
        return "; ".join(parts) or "no attributes"

    def __reduce__(self) -> tuple[Any, ...]:
        return Statics, (self.anatomy, self.seen)

    def __repr__(self) -> str:
        pairs = zip(self.anatomy.static, self.seen, strict=True)
        return ", ".join(f"{name}={shown(value)}" for name, value in pairs)


class Constant:
    """One value that belongs to the structure: aux data of a place without children.

    Attributes:
        value: The value.
        seen: The same, as it was at that time.
    """

    __slots__ = ("seen", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self.seen = snapshot(value)

    def __eq__(self, other: object) -> bool:
        if type(other) is not Constant:
            return NotImplemented
        return same(self.seen, other.seen)

    def __hash__(self) -> int:
        return digest(self.seen)

    def __reduce__(self) -> tuple[Any, ...]:
        return Constant, (self.seen,)

    def __repr__(self) -> str:
        return repr(self.seen)


def statics_for(anatomy: Anatomy, values: tuple[Any, ...]) -> Statics:
    """Return the static part of an object; the last one made, if it is just that.

    Numbers and texts that are identical need no look inside, and objects that were
    built alike often share them.
    """
    last = anatomy.last
    if last is not None and all(map(is_, last.values, values)):
        return last  # type: ignore[no-any-return]  # as many values, by the anatomy
    made = Statics(anatomy, values)
    if _SCALARS.issuperset(map(type, values)):
        anatomy.last = made
    return made


def same_statics(a: Statics, b: Statics) -> bool:
    """Say whether two objects have the same attributes and the same static part."""
    if a is b:
        return True
    mine, other = a.anatomy, b.anatomy
    return (mine is other or mine.mark == other.mark) and same(a.seen, b.seen)


def snapshots(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return values as they are now, whatever becomes of those that can change."""
    if _UNCHANGING.issuperset(map(type, values)):
        return values
    seen = tuple(map(snapshot, values))
    return values if all(map(is_, seen, values)) else seen


def snapshot(value: Any) -> Any:
    """Return a value as it is now: lists, dicts and sets inside are copied."""
    return value if type(value) in _UNCHANGING else _snapshot(value, {}, _MAX_DEPTH)


def _snapshot(value: Any, copies: dict[int, Any], depth: int) -> Any:
    cls = type(value)
    if cls in _UNCHANGING or not depth:
        return value
    if id(value) in copies:
        return copies[id(value)]
    if cls is list:
        copy = copies[id(value)] = []
        copy += [_snapshot(item, copies, depth - 1) for item in value]
        return copy
    if cls is dict:
        copied = copies[id(value)] = {}
        for key, item in value.items():
            copied[key] = _snapshot(item, copies, depth - 1)
        return copied
    if cls is tuple:
        seen = tuple([_snapshot(item, copies, depth - 1) for item in value])
        return value if all(map(is_, seen, value)) else seen
    return cls(value) if cls is set or cls is bytearray else value


# ------------------------------------------------------------------- comparing


def same(a: Any, b: Any) -> bool:
    """Say whether two static values are the same. Never raises."""
    if a is b:
        return True
    try:
        return _same(a, b)
    except Exception:
        return False


def _same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    cls = type(a)
    if cls is not type(b):
        return False
    if cls is float:
        return bool(a == b or (a != a and b != b))
    if cls in _SCALARS and cls is not complex:
        return bool(a == b)
    compare = _COMPARE.get(cls)
    return auxdata.same(a, b) if compare is None else compare(a, b)


def _same_complex(a: complex, b: complex) -> bool:
    return _same(a.real, b.real) and _same(a.imag, b.imag)


def _same_items(a: Any, b: Any) -> bool:
    return len(a) == len(b) and all(map(_same, a, b))


def _same_dicts(a: dict[Any, Any], b: dict[Any, Any]) -> bool:
    if len(a) != len(b):
        return False
    other = {(type(key), key): value for key, value in b.items()}
    return all(
        (type(key), key) in other and _same(value, other[type(key), key])
        for key, value in a.items()
    )


def _same_sets(a: Any, b: Any) -> bool:
    return {(type(item), item) for item in a} == {(type(item), item) for item in b}


_COMPARE: Final[dict[type, Callable[[Any, Any], bool]]] = {
    complex: _same_complex,
    list: _same_items,
    tuple: _same_items,
    dict: _same_dicts,
    set: _same_sets,
    frozenset: _same_sets,
}


def digest(value: Any) -> int:
    """Return a hash that agrees with `same`. Never raises."""
    try:
        return _digest(value)
    except Exception:
        return 0


def _digest(value: Any) -> int:
    cls = type(value)
    if cls is tuple or cls is list:
        return hash((cls, *map(_digest, value)))
    if cls in (dict, set, frozenset):
        return hash((cls, len(value)))
    if cls in (float, complex):
        return hash((cls, value)) if value == value else hash(cls)
    if isinstance(value, enum.Enum):
        return hash(cls)
    return hash((cls, auxdata.digest(value)))
