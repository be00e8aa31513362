"""Assertions about two trees; their errors list the differences path by path.

The differences are those of `selection.diff`. This module adds the comparison within a
tolerance and the messages.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from ..core.context import Context, context_of
from ..core.registry import GLOBAL
from ..core.treedef import PyTreeDef
from ..equality import arrays
from ..equality.arrays import Criteria, is_array
from ..equality.leaves import Comparison
from ..selection.compare import changes_between
from ..selection.diff import tree_diff
from ..selection.explain import Change, form_of, headline, lines_of_all


_MAX_DIFFERENCES: Final = 20
"""How many differences an error shows."""


def assert_trees_equal(
    actual: Any,
    expected: Any,
    *,
    lists: str | Mapping[Any, str] = "align",
    typematch: bool = False,
    rtol: float = 0.0,
    atol: float = 0.0,
    equal_nan: bool = True,
    ignore: Any = None,
    is_leaf: Any = None,
    namespace: str = GLOBAL,
) -> None:
    """Assert that two trees are equal; the error lists all differences.

    Args:
        actual: The tree to test.
        expected: The expected tree.
        lists, typematch, rtol, atol, equal_nan, ignore: As for `tree_diff`.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        namespace: Where classes are looked up before the global registry.

    Raises:
        AssertionError: The trees differ.
        CompareError: Two leaves cannot be compared.

    Example:
        >>> import leafwise as lw
        >>> lw.testing.assert_trees_equal({"a": [1, 2]}, {"a": [1, 3]})
        Traceback (most recent call last):
        ...
        AssertionError: the trees differ in 1 place (actual -> expected):
          ~ a[1]: 2 -> 3
    """
    __tracebackhide__ = True  # pytest leaves this frame out
    changes = tree_diff(
        actual,
        expected,
        lists=lists,
        typematch=typematch,
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        ignore=ignore,
        is_leaf=is_leaf,
        namespace=namespace,
    )
    if changes:
        lines = [headline(changes), *lines_of_all(changes, _MAX_DIFFERENCES)]
        raise AssertionError("\n  ".join(lines))


# ------------------------------------------------------------------------------- close


def assert_trees_close(
    actual: Any,
    expected: Any,
    *,
    rtol: float = 1e-6,
    atol: float = 0.0,
    equal_nan: bool = True,
    dtypes: bool = False,
    ignore: Any = None,
    is_leaf: Any = None,
    namespace: str = GLOBAL,
) -> None:
    """Assert that two trees are equal within a tolerance; the error lists differences.

    The trees are close if their structures and the shapes of their arrays are equal,
    and the leaves, position by position, are the same within a tolerance. The tolerance
    applies to floating-point and complex numbers: an integer must equal another integer
    exactly. Leaves other than numbers must be the same as for `assert_trees_equal`.

    Args:
        actual: The tree to test.
        expected: The expected tree.
        rtol, atol: Numbers `x` and `y` are close if `|x - y|` is at most
            `atol + rtol * max(|x|, |y|)`.
        equal_nan: Whether NaN is close to NaN.
        dtypes: Whether dtypes must agree as well; for example, `float32` and `float64`
            do not agree.
        ignore: As for `tree_diff`.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        namespace: Where classes are looked up before the global registry.

    Raises:
        AssertionError: The trees are not close.
        CompareError: Two leaves cannot be compared.
        ValueError: A tolerance is negative or not finite.

    Example:
        >>> import leafwise as lw
        >>> tree = {"lr": 0.3, "n": 7}
        >>> lw.testing.assert_trees_close(tree, {"lr": 0.1 + 0.2, "n": 7})
        >>> lw.testing.assert_trees_close(tree, {"lr": 0.2, "n": 8})
        Traceback (most recent call last):
        ...
        AssertionError: the trees differ in 2 places (actual -> expected, rtol=1e-06, \
atol=0):
          ~ lr: 0.3 -> 0.2: error 0.1, relative 0.333
          ~ n: 7 -> 8: error 1, relative 0.125
    """
    __tracebackhide__ = True
    values = _Close(rtol, atol, equal_nan, dtypes)
    context = context_of(is_leaf, namespace=namespace)
    changes = changes_between(actual, expected, context, values, ignore, "position")
    if changes:
        title = headline(changes, f"actual -> expected, {rtol=:g}, {atol=:g}")
        lines = [title, *lines_of_all(changes, _MAX_DIFFERENCES, _error_note)]
        raise AssertionError("\n  ".join(lines))


class _Close(Comparison):
    """Compares numbers by value, whatever their dtypes.

    Args:
        rtol, atol, equal_nan: As for `Comparison`.
        dtypes: Whether dtypes must agree.
    """

    __slots__ = ("dtypes", "exact")

    def __init__(self, rtol: float, atol: float, equal_nan: bool, dtypes: bool) -> None:
        super().__init__(rtol=rtol, atol=atol, equal_nan=equal_nan)
        self.exact = Comparison(equal_nan=equal_nan)
        self.dtypes = dtypes

    def criteria_for(self, a: Any, b: Any) -> Criteria:
        if _is_integer(a) and _is_integer(b):
            return self.exact.criteria
        return self.criteria

    def _compare(self, a: Any, b: Any) -> Any:
        rules = self.criteria_for(a, b)
        if not self.dtypes and _is_numeric(a) and _is_numeric(b):
            if tuple(a.shape) != tuple(b.shape):
                return False
            matches = arrays.same_places(arrays.as_numpy(a), arrays.as_numpy(b), rules)
            return bool(matches.all())
        if rules is self.exact.criteria:
            return self.exact.same(a, b)
        return super()._compare(a, b)


def _is_numeric(value: Any) -> bool:
    """Return whether a value is an array of numbers whose elements can be read."""
    if not is_array(value) or arrays.is_tracer(value):
        return False
    return arrays.is_number_dtype(value.dtype) and arrays.is_readable(value)


def _is_integer(value: Any) -> bool:
    """Return whether a value is an integer or an array of integers."""
    if is_array(value):
        return form_of(value).dtype.startswith(("int", "uint"))
    return isinstance(value, int) and not isinstance(value, bool)


def _error_note(change: Change) -> str:
    """Return how far apart two single numbers are; "" for other values."""
    try:
        before = _as_number(change.before)
        after = _as_number(change.after)
        if not {type(before), type(after)} <= {int, float, complex}:
            return ""
        error = abs(before - after)
        relative = error / max(abs(before), abs(after))
    except (ArithmeticError, TypeError, ValueError):  # too large, zero, or not readable
        return ""
    if not math.isfinite(error):
        return ""
    text = str(error) if isinstance(error, int) else f"{error:.6g}"
    return f": error {text}, relative {relative:.3g}"


def _as_number(value: Any) -> Any:
    """Return the element of an array without axes; any other value as it is."""
    if is_array(value) and not value.shape:
        return value.item()
    return value


# --------------------------------------------------------------------------- structure


def assert_same_structure(
    actual: Any,
    expected: Any,
    *,
    is_leaf: Any = None,
    namespace: str = GLOBAL,
) -> None:
    """Assert that two trees have the same structure; the error lists differences.

    The values and the types of the leaves are ignored.

    Args:
        actual: The tree to test, or a treedef.
        expected: A tree with the expected structure, or a treedef.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        namespace: Where classes are looked up before the global registry.

    Raises:
        AssertionError: The structures differ.

    Example:
        >>> import leafwise as lw
        >>> lw.testing.assert_same_structure({"a": [1, 2]}, {"a": [None]})
        Traceback (most recent call last):
        ...
        AssertionError: the structures differ:
          at ['a']: expected list of length 1, got list of length 2
          at ['a'][0]: expected None, got a leaf
    """
    __tracebackhide__ = True
    context = context_of(is_leaf, namespace=namespace)
    actual_treedef = _treedef_of(actual, context)
    expected_treedef = _treedef_of(expected, context)
    if actual_treedef == expected_treedef:
        return
    lines = ["the structures differ:"]
    lines += [str(error) for error in expected_treedef.explain(actual_treedef)]
    hidden = len(lines) - 1 - _MAX_DIFFERENCES
    if hidden > 0:
        del lines[-hidden:]
        lines.append(f"and {hidden} more")
    raise AssertionError("\n  ".join(lines))


def _treedef_of(tree: Any, context: Context) -> PyTreeDef[Any]:
    """Return the structure of a tree, or a treedef as it is."""
    if isinstance(tree, PyTreeDef):
        return tree
    _, treedef = context.flatten(tree)
    return treedef
