"""The exact notion of "the same", for structure: aux data and static fields.

Aux data is whatever a flatten function returns beside the children, so it may hold
arrays, NaN, closures, or objects whose `==` raises. This is the one meaning of "the
same aux data" (law L6): identical objects are the same; otherwise the answer is that of
`==`; arrays are the same when shape, dtype and content are (those without content when
`==` says so, as `jax.ShapeDtypeStruct`), partials when their parts are. Values are
different if `==` returns anything but a bool, or raises one of `FAULTS` other than a
`RecursionError`. The hash agrees. Leaves are compared in another way, see `leaves`.

Static fields of objects are compared with `typed`: values of two types are different
then, though they are equal, and so are containers and dict keys of them; NaN is the
same as another NaN. What was traced or compiled with `1` is never used for `True`, and
not made again for each NaN.
"""

from __future__ import annotations

import functools
from typing import Any, Final

from .._text import FAULTS


_IMMEDIATE: Final = frozenset({bool, bytes, complex, float, int, str, type(None)})
_HASHING: Final = frozenset({dict, frozenset, set})


def same(a: Any, b: Any, *, typed: bool = False) -> bool:
    """Return whether two values are exactly the same.

    One of `FAULTS` in a user's `__eq__` means different. Other exceptions, as a
    `RecursionError` or a timeout, say nothing about the values and are raised.

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
    """Compare two values with a stack of pairs, so that depth does not matter."""
    pairs = [(a, b)]
    while pairs:
        a, b = pairs.pop()
        cls = type(a)
        if a is b:
            continue
        if cls is not type(b):
            is_same = not typed and (a == b) is True
        elif cls in _IMMEDIATE:
            is_same = a == b or (typed and _are_equal_nan(a, b))
        elif cls is tuple or cls is list:
            is_same = len(a) == len(b)
            if is_same:
                pairs += zip(a, b, strict=True)
        elif typed and cls in _HASHING and _typed_keys(a) != _typed_keys(b):
            is_same = False
        elif cls is dict:
            is_same = a.keys() == b.keys()
            if is_same:
                pairs += [(value, b[key]) for key, value in a.items()]
        elif is_partial(a):
            is_same = True
            pairs.append((partial_parts(a), partial_parts(b)))
        elif is_array_like(a):
            is_same = _same_array(a, b)
        else:
            is_same = (a == b) is True
        if not is_same:
            return False
    return True


def _are_equal_nan(a: Any, b: Any) -> bool:
    """Return whether two numbers of one type have NaN in the same parts."""
    return bool(a != a) and repr(a) == repr(b)


def _typed_keys(values: Any) -> set[tuple[type, Any]]:
    """Return the keys of a dict or the items of a set, with their types."""
    return {(type(key), key) for key in values}


# ------------------------------------------------------------------ arrays and partials

_SPARSE_PARTS: Final = {
    "torch.sparse_coo": ("indices", "values"),
    "torch.sparse_csr": ("crow_indices", "col_indices", "values"),
    "torch.sparse_bsr": ("crow_indices", "col_indices", "values"),
    "torch.sparse_csc": ("ccol_indices", "row_indices", "values"),
    "torch.sparse_bsc": ("ccol_indices", "row_indices", "values"),
}
"""The methods that return what a sparse tensor stores, by the text of its layout."""


def _same_array(a: Any, b: Any) -> bool:
    """Return whether two arrays of one class have the same shape, dtype and content.

    Where there is no content, the `==` of the class decides, and between tensors on the
    device "meta" the shape and the dtype. Of sparse tensors, what they store is
    compared: a zero that only one of them stores is a difference.
    """
    if tuple(a.shape) != tuple(b.shape) or a.dtype != b.dtype:
        return False
    if getattr(a, "is_meta", False) or getattr(b, "is_meta", False):
        return bool(a.is_meta == b.is_meta)
    layout = str(getattr(a, "layout", ""))
    if layout in _SPARSE_PARTS:
        return str(b.layout) == layout and _same_sparse(a, b, layout)
    if hasattr(a, "nnz"):  # a sparse array of scipy, whose `==` would be dense
        return bool((a != b).nnz == 0)
    agreement = a == b
    if isinstance(agreement, bool):  # of a description, as `jax.ShapeDtypeStruct`
        return agreement
    return bool(agreement.all()) or _same_with_nan(a, b)


def _same_sparse(a: Any, b: Any, layout: str) -> bool:
    if layout == "torch.sparse_coo":  # one entry for each place, in order
        a = a.coalesce()
        b = b.coalesce()
    return all(
        _same_array(getattr(a, name)(), getattr(b, name)())
        for name in _SPARSE_PARTS[layout]
    )


def _same_with_nan(a: Any, b: Any) -> bool:
    """Return whether two arrays that are not equal everywhere differ by NaN alone."""
    if hasattr(a, "tobytes"):
        return "object" not in str(a.dtype) and bool(a.tobytes() == b.tobytes())
    return bool(((a == b) | ((a != a) & (b != b))).all())  # a tensor of torch


def is_partial(value: Any) -> bool:
    """Return whether a value is a `functools.partial` of a class without `==`."""
    eq: Any = type(value).__eq__
    return isinstance(value, functools.partial) and eq is object.__eq__


def partial_parts(partial: functools.partial[Any]) -> tuple[Any, ...]:
    """Return what two partials of one class are compared by."""
    return partial.func, partial.args, partial.keywords, vars(partial)


def is_array_like(value: Any) -> bool:
    """Return whether a value has the two attributes that all arrays share.

    Labelled arrays, such as a column of pandas, do not count: their labels belong to
    the value, but `==` and conversions compare elements alone. They are recognized by
    the method with which their class compares whole values.
    """
    if not (hasattr(value, "shape") and hasattr(value, "dtype")):
        return False
    cls = type(value)
    return not (hasattr(cls, "equals") or hasattr(cls, "identical"))


# ------------------------------------------------------------------------------- hashes


def digest(value: Any, *, typed: bool = False) -> int:
    """Return a hash that agrees with `same`.

    What cannot be hashed counts by its type or its length only: a weak hash is
    right, a hash that disagrees with equality is not.
    """
    try:
        return _digest(value, typed)
    except RecursionError:
        raise
    except FAULTS:  # of a `__hash__` of the user's, or of an array's library
        return 0


def _digest(value: Any, typed: bool) -> int:
    cls = type(value)
    number = _untyped_digest(value, cls, typed)
    return hash((cls, number)) if typed else number


def _untyped_digest(value: Any, cls: type, typed: bool) -> int:
    if cls in _IMMEDIATE:
        return hash(value) if value == value else 0  # each NaN has a hash of its own
    if cls is tuple or (typed and cls is list):
        return hash(tuple([_digest(item, typed) for item in value]))
    if typed and cls in _HASHING:
        return len(value)
    if cls is set:
        return hash(frozenset(value))
    if cls is bytearray:
        return hash(bytes(value))
    if is_partial(value):
        return _digest((value.func, value.args), typed)
    if not isinstance(value, type) and is_array_like(value):
        return hash((tuple(value.shape), str(value.dtype)))
    return hash(value)
