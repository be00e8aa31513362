"""The one meaning of "the same value": how leaves are compared.

`tree_equal`, `tree_diff`, `assert_trees_equal`, merges and states all ask here. There
are two notions of sameness. Structure has the other one (`exact`, law L6): it is that
of `==`, never raises and has a hash. Of values more can be asked: a tolerance, NaN by
place, types; and what cannot be determined is an error, never an answer. What arrays
and tables are is known to `content`.

    >>> from leafwise.equality.leaves import Values
    >>> exact, close = Values(), Values(atol=0.1)
    >>> exact.same(float("nan"), float("nan")), exact.same(1, True)
    (True, False)
    >>> exact.same([1.0, {"a": 2.0}], [1.0, {"a": 2.05}])
    False
    >>> close.same([1.0, {"a": 2.0}], [1.0, {"a": 2.05}])
    True
"""

from __future__ import annotations

import enum
import functools
import math
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from operator import and_
from types import MappingProxyType
from typing import Any, Final

from .._runtime import late_imports
from .._text import safe_repr, safe_str, short_repr
from ..errors import CompareError
from .arrays import (
    Asked,
    Pairs,
    Undecided,
    compare_arrays,
    compare_scalar,
    is_array,
    is_jax_array,
    is_traced,
    says_equal,
    traced_agreement,
)
from .exact import is_partial, partial_parts


_QUICK: Final = frozenset({bool, bytes, float, int, str, type(None)})
"""Types whose values `==` compares at once; of floats, it does not know NaN."""


class Values:
    """Compares values, as exactly as somebody asked.

    Made once for a call. It is symmetric, whatever is compared; identical values are
    the same, but for NaN where NaN is not to be the same as NaN.

    Args:
        typematch: Whether values of two types differ, though they are equal.
        rtol, atol: Numbers `a` and `b` are the same if `|a - b|` is at most
            `atol + rtol * max(|a|, |b|)`.
        equal_nan: Whether NaN is the same as NaN.
        traces: Whether the answer may be a traced one, see `outcome`.

    Raises:
        ValueError: A tolerance is negative or not finite.
    """

    __slots__ = ("asked", "equal_nan", "tolerant", "traced")

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
        self.asked: Asked = Asked(typematch, float(rtol), float(atol), equal_nan)
        self.equal_nan: bool = equal_nan
        self.tolerant: bool = rtol > 0 or atol > 0
        self.traced: list[Any] | None = [] if traces else None

    def asked_of(self, _a: Any, _b: Any) -> Asked:
        """Return what counts for two values, which a subclass may know better."""
        return self.asked

    def outcome(self) -> Any:
        """Return the answer, when all values compared so far were the same.

        It is True, or a traced bool that says whether the traced ones are.
        """
        return functools.reduce(and_, self.traced) if self.traced else True

    def same(self, a: Any, b: Any) -> bool:
        """Return whether two values are the same, however deep.

        With `traces`, True may also mean that it hangs on traced values.

        Raises:
            Undecided: It cannot be determined, and nothing differs for sure.
        """
        todo = [(a, b)]
        seen: dict[tuple[int, int], tuple[Any, Any]] = {}  # keeps them, and their ids
        in_doubt: Undecided | None = None
        while todo:
            pair = one, other = todo.pop()
            if (one is other and self.equal_nan) or equal_at_sight(one, other):
                continue
            cls, ids = type(one), (id(one), id(other))
            if cls is type(other) and cls in _QUICK and not self.tolerant:
                if self.equal_nan and one != one and other != other:
                    continue
                return False
            if ids in seen:
                continue
            try:
                found = self._compare(one, other)
            except Undecided as error:
                if one is not other:
                    in_doubt = in_doubt or error
                continue
            if found is False:
                return False
            if found is not True:
                seen[ids] = pair
                todo += found
        if in_doubt is not None:
            raise in_doubt
        return True

    def _compare(self, a: Any, b: Any) -> bool | Pairs:
        """Return whether values are the same, or which pairs of values must be.

        Raises:
            Undecided: It cannot be determined.
        """
        differ = self.asked.typematch and type(a) is not type(b)
        if differ and not (is_jax_array(a) and is_jax_array(b)):  # jax has several
            return False
        try:
            for knows, compare in _COMPARISONS:
                if knows(a):
                    return compare(a, b, self)
                if knows(b):
                    return compare(b, a, self)
            found = _by_parts(a, b)
            return _by_operator(a, b) if found is None else found
        except Undecided:
            raise
        except Exception as error:
            raise Undecided(f"{type(error).__name__}: {safe_str(error)}") from error

    def defer(self, condition: Any) -> bool:
        """Take a condition that may be a traced one.

        Raises:
            Undecided: It is, and nobody waits for it.
        """
        try:
            return bool(condition)
        except Exception as error:
            if self.traced is None:
                raise Undecided(
                    "jax is tracing, so the values are not known yet; tree_equal "
                    "returns a traced bool"
                ) from error
        self.traced.append(condition)
        return True


PLAIN: Final = Asked()
"""What counts if nothing else is asked."""


def same_at_sight(ours: Sequence[Any], others: Sequence[Any]) -> bool | None:
    """Return whether as many values are the same, None if only `Values` can tell.

    By what `Values` compares if nothing else is asked.
    """
    for a, b in zip(ours, others, strict=True):
        if a is b:
            continue
        cls = type(a)
        if cls is not type(b) or cls not in _QUICK:
            return None
        if a != b and (cls is not float or a == a or b == b):
            return False
    return True


def equal_at_sight(a: Any, b: Any) -> bool:
    """Return whether two values are of one builtin type and equal, so not NaN."""
    cls = type(a)
    return cls is type(b) and cls in _QUICK and bool(a == b)


def alike(a: Any, b: Any, *, typematch: bool = False) -> bool:
    """Return whether two values are known to be the same. Never raises.

    It is for `==` of records; a function that compares for somebody says what it
    cannot decide.
    """
    try:
        return Values(typematch=typematch).same(a, b)
    except Undecided:
        return False


def cannot_compare(path: Any, a: Any, b: Any, why: Undecided) -> CompareError:
    """Return the error about two leaves of which nothing can be said.

    Args:
        path: The key path of the leaves.
        a, b: The leaves.
        why: What is in the way.
    """
    names = type(a).__qualname__, type(b).__qualname__
    which = f"two {names[0]}" if type(a) is type(b) else " and ".join(names)
    return CompareError(
        f"at {path.where()} cannot tell whether the leaves are equal ({which}): {why}",
        path=path,
    )


# ---------------------------------------------------------------------------- arrays


def _compare_traced(a: Any, b: Any, values: Values) -> bool:
    if is_array(b) or isinstance(b, int | float | complex):
        return values.defer(traced_agreement(a, b, values.asked))
    return says_equal(b, a)


def _compare_with_array(a: Any, b: Any, values: Values) -> bool | Pairs:
    if is_array(b):
        return compare_arrays(a, b, values.asked)
    if isinstance(b, str | bytes) or _is_number(b):
        return compare_scalar(a, b, values.asked)
    return says_equal(b, a)


# --------------------------------------------------------------------------- numbers


def _is_number(value: Any) -> bool:
    is_number = isinstance(value, int | float | complex)
    return (is_number or hasattr(type(value), "as_integer_ratio")) and not isinstance(
        value, enum.Enum
    )


def _compare_numbers(a: Any, b: Any, values: Values) -> bool | Pairs:
    if not (_is_number(a) and _is_number(b)):
        return _by_operator(a, b)
    if isinstance(a, bool) or isinstance(b, bool):
        return isinstance(a, bool) and isinstance(b, bool) and a == b
    if isinstance(a, complex) or isinstance(b, complex):
        return _same_complex(a, b, values)
    nan = _is_nan(a), _is_nan(b)
    if any(nan):
        return all(nan) and values.equal_nan
    return _by_operator(a, b) or (values.tolerant and _close(a, b, values.asked))


def _same_complex(a: Any, b: Any, values: Values) -> bool | Pairs:
    """Compare the parts; a tolerance is for the distance in the plane."""
    if not values.tolerant or _is_nan(a) or _is_nan(b):
        return [(a.real, b.real), (a.imag, b.imag)]
    try:
        a, b = complex(a), complex(b)
        return a == b or _is_near(abs(a - b), max(abs(a), abs(b)), values.asked)
    except OverflowError:
        return False


def _is_nan(number: Any) -> bool:
    ask = getattr(type(number), "is_nan", None)  # one of Decimal cannot be compared
    return bool(number != number if ask is None else ask(number))


def _is_near(apart: float, size: float, asked: Asked) -> bool:
    return apart <= asked.allowed(size) and apart < math.inf


def _close(a: Any, b: Any, asked: Asked) -> bool:
    """Return whether two real numbers are within the tolerance, exactly if need be."""
    if isinstance(a, float) and isinstance(b, float):
        return _is_near(abs(a - b), max(abs(a), abs(b)), asked)
    with late_imports:
        from fractions import (
            Fraction,  # only where numbers are neither equal nor floats
        )

    try:
        x, y = Fraction(a), Fraction(b)
    except OverflowError:  # infinity
        return False
    size = max(abs(x), abs(y))
    return abs(x - y) <= Fraction(asked.atol) + Fraction(asked.rtol) * size


# ------------------------------------------------------------- containers at leaves


def _by_parts(a: Any, b: Any) -> bool | Pairs | None:
    """Compare two values by what they are made of; None if that is not known."""
    known = _CONTAINERS.get(type(a).__eq__)
    if known is not None and known == _CONTAINERS.get(type(b).__eq__):
        return known[1](a, b)
    if type(a) is not type(b):
        return None
    names = field_names(type(a))
    if names is not None:
        return [(getattr(a, name), getattr(b, name)) for name in names]
    if is_partial(a):
        return _sequences(partial_parts(a), partial_parts(b))
    return None


def _sequences(a: Any, b: Any) -> bool | Pairs:
    return len(a) == len(b) and [*zip(a, b, strict=True)]


def _mappings(a: Any, b: Any) -> bool | Pairs:
    are_ordered = isinstance(a, OrderedDict) and isinstance(b, OrderedDict)
    keys: Any = _sequences(a, b) if are_ordered else _sets(a, b)
    return keys and [*keys, *((a[one], b[other]) for one, other in keys)]


def _sets(a: Any, b: Any) -> bool | Pairs:
    """Pair equal items, which may have two types."""
    known = {item: item for item in b}
    is_same = len(a) == len(b) and all(item in known for item in a)
    return is_same and [(item, known[item]) for item in a]


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
"""The families of containers whose `==` compares what is in them, and how to do so."""


def field_names(cls: type) -> list[str] | None:
    """Return the fields that the `==` of a class compares, if a decorator wrote it."""
    code = getattr(cls.__eq__, "__code__", None)
    if code is None or not code.co_filename.startswith("<"):
        return None
    owner = next(base for base in cls.__mro__ if "__eq__" in vars(base))
    fields = vars(owner).get("__dataclass_fields__")
    if fields is not None and code.co_filename == "<string>":
        from dataclasses import fields  # a dataclass is there: it is loaded

        return [f.name for f in fields(owner) if f.compare]
    attributes = vars(owner).get("__attrs_attrs__")
    if attributes is None or any(a.eq_key is not None for a in attributes):
        return None
    return [a.name for a in attributes if a.eq]


# ------------------------------------------------------------------- everything else


def _by_operator(a: Any, b: Any) -> bool:
    """Ask `==`, both ways: an answer that hangs on who is asked is "different".

    Raises:
        Undecided: It gives no answer.
    """
    answers = _answer(a, b), _answer(b, a)
    return all(answers)


def _answer(a: Any, b: Any) -> bool:
    try:
        answer = a == b
    except Exception as error:  # of the user's class: it is the cause of what is raised
        why = f"== raised {type(error).__name__}: {safe_str(error)}"
        raise Undecided(why) from error
    if isinstance(answer, bool):
        return answer
    if is_array(answer) and tuple(answer.shape) == ():
        return bool(answer)
    name = type(answer).__qualname__
    raise Undecided(f"== returned {short_repr(answer)} ({name}), not a bool")


_COMPARISONS: Final[
    tuple[tuple[Callable[[Any], Any], Callable[[Any, Any, Values], bool | Pairs]], ...]
] = (
    (is_traced, _compare_traced),
    (is_array, _compare_with_array),
    (_is_number, _compare_numbers),
)
"""Who knows a sort of values, and compares one with anything."""


# --------------------------------------------------------------- telling them apart


def contrast(a: Any, b: Any) -> tuple[str, str] | str:
    """Return what differs between two values that print the same.

    Args:
        a, b: The values.

    Returns:
        What one and the other is; or one sentence about both.
    """
    if is_array(a) and is_array(b):
        for name in ("shape", "dtype"):
            one, other = str(getattr(a, name)), str(getattr(b, name))
            if one != other:
                label = "" if name == "dtype" else f"{name} "
                return f"{label}{one}", f"{label}{other}"
    if type(a) is not type(b):
        return contrast_classes(type(a), type(b))
    if type(a) in (tuple, list) and len(a) == len(b):
        pairs = zip(a, b, strict=True)
        return contrast(*next((p for p in pairs if not alike(*p)), (None, None)))
    if safe_repr(a) == safe_repr(b):
        return "a different value with the same repr"
    return "the texts differ further on"


def contrast_classes(one: type, other: type) -> tuple[str, str] | str:
    """Return what tells two classes apart, as `contrast` does for values."""
    names = [(cls.__module__, cls.__qualname__) for cls in (one, other)]
    if names[0] == names[1]:
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
