"""The exact notion of "the same": that of structure, of aux data and static fields.

Aux data is whatever a flatten function put beside the children, so it may hold
arrays, NaN, closures, or objects whose `==` raises. Owns the one meaning of
"the same aux data" (law L6): identical objects are the same; otherwise the
answer is that of `==`; arrays are the same when shape, dtype and content are,
partials when their parts are; an `==` that raises what a class raises (`FAULTS`, but
for a `RecursionError`) or returns anything but a bool means different. The hash agrees.
Leaves are compared by another notion, that of `leaves`: more can be asked there, and
there may be no answer.

Static fields of objects ask for `typed`: values of two types are different then, though
they are equal, and so are containers and dict keys of them; NaN is the same as another
NaN. What was traced or compiled with `1` is never taken for what `True` gives, and not
made again for each NaN.
"""

from __future__ import annotations

import enum
import functools
from typing import Any, Final

from ..safely import FAULTS


_IMMEDIATE: Final = frozenset({bool, bytes, complex, float, int, str, type(None)})
_HASHING: Final = frozenset({dict, frozenset, set})


def same(a: Any, b: Any, *, typed: bool = False) -> bool:
    """Return whether two values are exactly the same.

    One of `FAULTS` in a user's `__eq__` means different. Others, as a `RecursionError`
    or a timeout, say nothing of the values and are raised.

    Args:
        a, b: The values.
        typed: Whether values of two types differ, wherever they are, and NaN is the
            same as NaN.

    Example:
        >>> from leafwise.equality.exact import same
        >>> same([1], [True]), same([1], [True], typed=True)
        (True, False)
        >>> nan = float("nan"), float("nan")
        >>> same(*nan), same(*nan, typed=True)
        (False, True)
    """
    if a is b:
        return True
    try:
        return _same(a, b, typed)
    except RecursionError:
        raise
    except FAULTS:  # of an `__eq__` of the user's, or of an array's library
        return False


def _same(a: Any, b: Any, typed: bool) -> bool:
    """Compare what is inside by itself, however deep."""
    stack = [(a, b)]
    while stack:
        a, b = stack.pop()
        cls = type(a)
        if a is b:
            continue
        if cls is not type(b):
            is_same = not typed and (a == b) is True
        elif cls in _IMMEDIATE:
            is_same = bool(a == b) or (typed and _are_nan(a, b))
        elif cls is tuple or cls is list:
            is_same = len(a) == len(b)
            stack += zip(a, b) if is_same else ()  # noqa: B905  # as many
        elif typed and cls in _HASHING and _typed_keys(a) != _typed_keys(b):
            is_same = False
        elif cls is dict:
            is_same = a.keys() == b.keys()
            stack += [(v, b[k]) for k, v in a.items()] if is_same else ()
        elif is_partial(a):
            is_same = True
            stack.append((partial_parts(a), partial_parts(b)))
        elif is_array_like(a):
            is_same = _same_array(a, b)
        else:
            is_same = (a == b) is True
        if not is_same:
            return False
    return True


def _are_nan(a: Any, b: Any) -> bool:
    """Return whether numbers of one type that are not equal differ by NaN alone."""
    if type(a) is complex:
        parts = (a.real, b.real), (a.imag, b.imag)
        return all(x == y or _are_nan(x, y) for x, y in parts)
    return bool(a != a and b != b)


def _typed_keys(values: Any) -> set[tuple[type, Any]]:
    """Return the keys of a dict or the items of a set, with their types."""
    return {(type(key), key) for key in values}


def _same_array(a: Any, b: Any) -> bool:
    if tuple(a.shape) != tuple(b.shape) or a.dtype != b.dtype:
        return False
    return bool((a == b).all()) or (
        "object" not in str(a.dtype) and a.tobytes() == b.tobytes()
    )


def is_partial(value: Any) -> bool:
    """Return whether a value is a `functools.partial` of a class without `==`."""
    eq: Any = type(value).__eq__
    return isinstance(value, functools.partial) and eq is object.__eq__


def partial_parts(partial: functools.partial[Any]) -> tuple[Any, ...]:
    """Return what two partials of one class are compared by."""
    return partial.func, partial.args, partial.keywords, vars(partial)


def is_array_like(value: Any) -> bool:
    """Return whether a value has the two attributes that all arrays share."""
    return hasattr(value, "shape") and hasattr(value, "dtype")


def digest(value: Any, *, typed: bool = False) -> int:
    """Return a hash that agrees with `same`.

    What cannot be hashed counts by its type or its length only: a weak hash is
    right, a hash that disagrees with equality is not.
    """
    try:
        return _typed_digest(value) if typed else _digest(value)
    except RecursionError:
        raise
    except FAULTS:  # of a `__hash__` of the user's, or of an array's library
        return 0


def _digest(aux: Any) -> int:
    cls = type(aux)
    if cls in _IMMEDIATE:
        return hash(aux)
    if cls is tuple:
        return hash(tuple(map(_digest, aux)))
    if is_partial(aux):
        return hash((_digest(aux.func), _digest(aux.args)))
    if cls is set:
        return hash(frozenset(aux))
    if cls is bytearray:
        return hash(bytes(aux))
    if not isinstance(aux, type) and is_array_like(aux):
        return hash((tuple(aux.shape), str(aux.dtype)))
    try:
        return hash(aux)
    except RecursionError:
        raise
    except FAULTS:  # of a `__hash__` of the user's
        return 0


def _typed_digest(value: Any) -> int:
    cls = type(value)
    if cls is tuple or cls is list:
        return hash((cls, *map(_typed_digest, value)))
    if cls in _HASHING:
        return hash((cls, len(value)))
    if cls is float or cls is complex:
        return hash((cls, value)) if value == value else hash(cls)
    if isinstance(value, enum.Enum) or is_partial(value):
        return hash(cls)
    return hash((cls, _digest(value)))
