"""The one meaning of "the same value": how leaves are compared.

`tree_equal`, `tree_diff`, `assert_trees_equal`, merges and states all use it. Structure
is compared in another way (`exact`, law L6): as `==` does, without errors, and with a
hash. Values can be compared with a tolerance, NaN by place, and types; what cannot be
determined is an error, never an answer. `arrays` compares arrays.

    >>> from leafwise.equality.leaves import Comparison
    >>> exact, close = Comparison(), Comparison(atol=0.1)
    >>> exact.same(float("nan"), float("nan")), exact.same(1, True)
    (True, False)
    >>> exact.same([1.0, {"a": 2.0}], [1.0, {"a": 2.05}])
    False
    >>> close.same([1.0, {"a": 2.0}], [1.0, {"a": 2.05}])
    True
"""

from __future__ import annotations

import builtins
import enum
import functools
import math
import sys
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from operator import and_
from types import MappingProxyType
from typing import Any, Final

from .._runtime import late_imports
from .._text import safe_repr, safe_str, short_repr
from ..errors import CompareError
from .arrays import (
    Criteria,
    Pairs,
    UndecidedError,
    compare_arrays,
    compare_scalar,
    is_array,
    is_jax_array,
    is_tracer,
    says_equal,
    traced_agreement,
)
from .exact import is_partial, partial_parts


_SCALARS: Final = frozenset({bool, bytes, float, int, str, type(None)})
"""Types whose values `==` compares at once, except for NaN."""


class Comparison:
    """The comparison of one call: what counts, and what is known so far.

    It is symmetric, whatever is compared. Identical values are the same, except for NaN
    where NaN is not the same as NaN.

    Args:
        typematch: Whether values of two types differ, though they are equal.
        rtol, atol: Numbers `a` and `b` are the same if `|a - b|` is at most
            `atol + rtol * max(|a|, |b|)`.
        equal_nan: Whether NaN is the same as NaN.
        traces: Whether the answer may be traced by jax, see `outcome`.

    Raises:
        ValueError: A tolerance is negative or not finite.
    """

    __slots__ = ("conditions", "criteria", "equal_nan", "is_tolerant")

    def __init__(
        self,
        *,
        typematch: bool = False,
        rtol: float = 0.0,
        atol: float = 0.0,
        equal_nan: bool = True,
        traces: bool = False,
    ) -> None:
        for name, number in (("rtol", rtol), ("atol", atol)):
            if not 0 <= number < float("inf"):
                raise ValueError(f"{name} must be finite and not negative: {number!r}")
        self.criteria: Criteria = Criteria(
            typematch, float(rtol), float(atol), equal_nan
        )
        self.equal_nan: bool = equal_nan
        self.is_tolerant: bool = rtol > 0 or atol > 0
        self.conditions: list[Any] | None = [] if traces else None

    def criteria_for(self, _a: Any, _b: Any) -> Criteria:
        """Return what counts for two values; a subclass may choose."""
        return self.criteria

    def outcome(self) -> Any:
        """Return the answer, when all values compared so far were the same.

        It is True, or a traced bool if it depends on traced values.
        """
        if not self.conditions:
            return True
        return functools.reduce(and_, self.conditions)

    def same(self, a: Any, b: Any) -> bool:
        """Return whether two values are the same, however deep.

        With `traces`, True may also mean that it depends on traced values.

        Raises:
            UndecidedError: It cannot be determined, and nothing differs for sure.
        """
        pairs = [(a, b)]
        # By their ids: the pairs that were compared, which are kept alive, since an id
        # may be used again. So values that contain themselves come to an end.
        compared: dict[tuple[int, int], tuple[Any, Any]] = {}
        doubt: UndecidedError | None = None
        while pairs:
            a, b = pairs.pop()
            if (a is b and self.equal_nan) or are_equal_scalars(a, b):
                continue
            cls = type(a)
            if cls is type(b) and cls in _SCALARS and not self.is_tolerant:
                if self.equal_nan and a != a and b != b:
                    continue
                return False
            ids = (id(a), id(b))
            if ids in compared:
                continue
            try:
                answer = self._compare(a, b)
            except UndecidedError as error:
                if a is not b:
                    doubt = doubt or error
                continue
            if answer is False:
                return False
            if answer is not True:
                compared[ids] = (a, b)
                pairs += answer
        if doubt is not None:
            raise doubt
        return True

    def _compare(self, a: Any, b: Any) -> bool | Pairs:
        """Return whether values are the same, or which pairs of values must be.

        Raises:
            UndecidedError: It cannot be determined.
        """
        is_one_type = type(a) is type(b) or (is_jax_array(a) and is_jax_array(b))
        if self.criteria.typematch and not is_one_type:
            return False
        try:
            for is_known, compare in _COMPARISONS:
                if is_known(a):
                    return compare(a, b, self)
                if is_known(b):
                    return compare(b, a, self)
            answer = _by_parts(a, b)
            return _by_operator(a, b) if answer is None else answer
        except UndecidedError:
            raise
        except Exception as error:
            raise UndecidedError(
                f"{type(error).__name__}: {safe_str(error)}"
            ) from error

    def defer(self, condition: Any) -> bool:
        """Return a condition as a bool; True if it is traced, see `outcome`.

        Raises:
            UndecidedError: It is traced, and the answer may not be.
        """
        try:
            return bool(condition)
        except Exception as error:
            if self.conditions is None:
                raise UndecidedError(
                    "jax is tracing, so the values are not known yet; tree_equal "
                    "returns a traced bool"
                ) from error
        self.conditions.append(condition)
        return True


DEFAULT_CRITERIA: Final = Criteria()
"""What counts by default."""


def compare_scalars(ours: Sequence[Any], others: Sequence[Any]) -> bool | None:
    """Return whether the values of two sequences are the same by default criteria.

    Args:
        ours, others: The sequences, of one length.

    Returns:
        The answer, None if only a `Comparison` can find it.
    """
    for a, b in zip(ours, others, strict=True):
        if a is b:
            continue
        cls = type(a)
        if cls is not type(b) or cls not in _SCALARS:
            return None
        if a != b and (cls is not float or a == a or b == b):
            return False
    return True


def are_equal_scalars(a: Any, b: Any) -> bool:
    """Return whether two values are equal scalars of one built-in type, so not NaN."""
    cls = type(a)
    return cls is type(b) and cls in _SCALARS and bool(a == b)


def are_same(a: Any, b: Any, *, typematch: bool = False) -> bool:
    """Return whether two values are the same; undecided counts as different.

    It is for `==` of our own records. Functions that compare values of the user's say
    what they cannot decide.
    """
    try:
        return Comparison(typematch=typematch).same(a, b)
    except UndecidedError:
        return False


def cannot_compare(path: Any, a: Any, b: Any, why: UndecidedError) -> CompareError:
    """Return the error about two leaves that cannot be compared.

    Args:
        path: The key path of the leaves.
        a, b: The leaves.
        why: The reason.
    """
    if type(a) is type(b):
        types = f"two {type(a).__qualname__}"
    else:
        types = f"{type(a).__qualname__} and {type(b).__qualname__}"
    return CompareError(
        f"at {path.where()} cannot tell whether the leaves are equal ({types}): {why}",
        path=path,
    )


# ---------------------------------------------------------------------------- arrays


def _compare_traced(a: Any, b: Any, comparison: Comparison) -> bool:
    if is_array(b) or isinstance(b, int | float | complex):
        return comparison.defer(traced_agreement(a, b, comparison.criteria))
    return says_equal(b, a)


def _compare_with_array(a: Any, b: Any, comparison: Comparison) -> bool | Pairs:
    if is_array(b):
        return compare_arrays(a, b, comparison.criteria)
    if isinstance(b, str | bytes) or _is_number(b):
        return compare_scalar(a, b, comparison.criteria)
    return says_equal(b, a)


# --------------------------------------------------------------------------- numbers


def _is_number(value: Any) -> bool:
    if isinstance(value, enum.Enum):
        return False
    if isinstance(value, int | float | complex):
        return True
    return hasattr(type(value), "as_integer_ratio")


def _compare_numbers(a: Any, b: Any, comparison: Comparison) -> bool | Pairs:
    if not (_is_number(a) and _is_number(b)):
        return _by_operator(a, b)
    if isinstance(a, bool) or isinstance(b, bool):  # True is not the same as 1
        return isinstance(a, bool) and isinstance(b, bool) and a == b
    if isinstance(a, complex) or isinstance(b, complex):
        return _same_complex(a, b, comparison)
    if _is_nan(a) or _is_nan(b):
        return comparison.equal_nan and _is_nan(a) and _is_nan(b)
    if _by_operator(a, b):
        return True
    return comparison.is_tolerant and _close(a, b, comparison.criteria)


def _same_complex(a: Any, b: Any, comparison: Comparison) -> bool | Pairs:
    """Compare the parts, or with a tolerance the distance in the plane."""
    if not comparison.is_tolerant or _is_nan(a) or _is_nan(b):
        return [(a.real, b.real), (a.imag, b.imag)]
    try:
        a = complex(a)
        b = complex(b)
        size = max(abs(a), abs(b))
        return a == b or _is_near(abs(a - b), size, comparison.criteria)
    except OverflowError:
        return False


def _is_nan(number: Any) -> bool:
    is_nan = getattr(type(number), "is_nan", None)
    if is_nan is not None:  # a signalling NaN of Decimal cannot be compared
        return bool(is_nan(number))
    return bool(number != number)


def _is_near(distance: float, size: float, criteria: Criteria) -> bool:
    return distance <= criteria.allowed(size) and distance < math.inf


def _close(a: Any, b: Any, criteria: Criteria) -> bool:
    """Return whether two real numbers are within the tolerance, exactly if need be."""
    if isinstance(a, float) and isinstance(b, float):
        return _is_near(abs(a - b), max(abs(a), abs(b)), criteria)
    with late_imports:
        from fractions import (
            Fraction,  # only where numbers are neither equal nor floats
        )

    try:
        a = Fraction(a)
        b = Fraction(b)
    except OverflowError:  # infinity
        return False
    size = max(abs(a), abs(b))
    allowed = Fraction(criteria.atol) + Fraction(criteria.rtol) * size
    return bool(abs(a - b) <= allowed)


# ------------------------------------------------------------- containers at leaves


def _by_parts(a: Any, b: Any) -> bool | Pairs | None:
    """Compare two values by their parts; None if it is not known what these are."""
    family = _CONTAINERS.get(type(a).__eq__)
    if family is not None and family == _CONTAINERS.get(type(b).__eq__):
        _, compare = family
        return compare(a, b)
    if type(a) is not type(b):
        return None
    names = field_names(type(a))
    if names is not None:
        return [(getattr(a, name), getattr(b, name)) for name in names]
    if is_partial(a):
        return _sequences(partial_parts(a), partial_parts(b))
    return None


def _sequences(a: Any, b: Any) -> bool | Pairs:
    if len(a) != len(b):
        return False
    return list(zip(a, b, strict=True))


def _mappings(a: Any, b: Any) -> bool | Pairs:
    are_ordered = isinstance(a, OrderedDict) and isinstance(b, OrderedDict)
    keys = _sequences(a, b) if are_ordered else _sets(a, b)
    if isinstance(keys, bool):
        return keys
    return [*keys, *((a[key], b[other]) for key, other in keys)]


def _sets(a: Any, b: Any) -> bool | Pairs:
    """Pair equal items, which may have two types."""
    if len(a) != len(b):
        return False
    items = {item: item for item in b}
    if not all(item in items for item in a):
        return False
    return [(item, items[item]) for item in a]


_CONTAINERS: Final[dict[Any, tuple[type, Callable[[Any, Any], bool | Pairs]]]] = {
    list.__eq__: (list, _sequences),
    tuple.__eq__: (tuple, _sequences),
    deque.__eq__: (deque, _sequences),
    dict.__eq__: (dict, _mappings),
    OrderedDict.__eq__: (dict, _mappings),
    Mapping.__eq__: (dict, _mappings),
    MappingProxyType.__eq__: (dict, _mappings),
    set.__eq__: (set, _sets),
    frozenset.__eq__: (set, _sets),
}
"""By `==`: the family of the containers with it, and how their items are paired."""

if sys.version_info >= (3, 15):
    _CONTAINERS[builtins.frozendict.__eq__] = (dict, _mappings)


def field_names(cls: type) -> list[str] | None:
    """Return the fields that the `==` of a class compares, if a decorator wrote it."""
    code = getattr(cls.__eq__, "__code__", None)
    if code is None or not code.co_filename.startswith("<"):
        return None
    owner = next(base for base in cls.__mro__ if "__eq__" in vars(base))
    if "__dataclass_fields__" in vars(owner) and code.co_filename == "<string>":
        from dataclasses import fields  # a dataclass is there: it is loaded

        return [field.name for field in fields(owner) if field.compare]
    attributes = vars(owner).get("__attrs_attrs__")
    if attributes is None:
        return None
    if any(attribute.eq_key is not None for attribute in attributes):
        return None
    return [attribute.name for attribute in attributes if attribute.eq]


# ------------------------------------------------------------------- everything else


def _by_operator(a: Any, b: Any) -> bool:
    """Return whether `==` is true both ways round.

    Raises:
        UndecidedError: It gives no answer.
    """
    is_equal = _answer(a, b)
    return _answer(b, a) and is_equal  # both are asked: either may have no answer


def _answer(a: Any, b: Any) -> bool:
    try:
        answer = a == b
    except Exception as error:  # of the user's class
        reason = f"== raised {type(error).__name__}: {safe_str(error)}"
        raise UndecidedError(reason) from error
    if isinstance(answer, bool):
        return answer
    if is_array(answer) and tuple(answer.shape) == ():
        return bool(answer)
    name = type(answer).__qualname__
    raise UndecidedError(f"== returned {short_repr(answer)} ({name}), not a bool")


_COMPARISONS: Final[
    tuple[
        tuple[Callable[[Any], Any], Callable[[Any, Any, Comparison], bool | Pairs]], ...
    ]
] = (
    (is_tracer, _compare_traced),
    (is_array, _compare_with_array),
    (_is_number, _compare_numbers),
)
"""Tests of a value, and functions that compare one that passes with any other."""


# -------------------------------------------------------- descriptions of differences


_SAME_REPR: Final = "a different value with the same repr"


def contrast(a: Any, b: Any) -> tuple[str, str] | str:
    """Return what differs between two values that print the same.

    Args:
        a, b: The values.

    Returns:
        What one and the other is; or one sentence about both.
    """
    if is_array(a) and is_array(b):
        if str(a.shape) != str(b.shape):
            return f"shape {a.shape}", f"shape {b.shape}"
        if str(a.dtype) != str(b.dtype):
            return str(a.dtype), str(b.dtype)
    if type(a) is not type(b):
        return contrast_classes(type(a), type(b))
    if type(a) in (tuple, list) and len(a) == len(b):
        for item, other in zip(a, b, strict=True):
            if not are_same(item, other):
                return contrast(item, other)
        return _SAME_REPR  # all items are the same, so what differs is not shown
    if safe_repr(a) == safe_repr(b):
        return _SAME_REPR
    return "the texts differ further on"


def contrast_classes(one: type, other: type) -> tuple[str, str] | str:
    """Return what tells two classes apart, as `contrast` does for values."""
    is_same_module = one.__module__ == other.__module__
    if is_same_module and one.__qualname__ == other.__qualname__:
        return "a different class with the same name"
    return type_names(one, other)


def type_names(one: type, other: type) -> tuple[str, str]:
    """Return the names of two types, as long as it takes to tell them apart."""
    if one.__name__ != other.__name__:
        return one.__name__, other.__name__
    if one.__qualname__ != other.__qualname__:
        return one.__qualname__, other.__qualname__
    short = one.__qualname__
    if one.__module__ != other.__module__:
        return f"{one.__module__}.{short}", f"{other.__module__}.{short}"
    return short, f"another class named {short}"
