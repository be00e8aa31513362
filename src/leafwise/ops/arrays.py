"""Trees of arrays: stacked, joined and taken apart, leaf by leaf; how large they are.

Arrays are joined by the library that they come from. None is imported here but numpy,
and that for Python numbers alone: if there is an array, its library is loaded.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from itertools import repeat
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, overload

from .._lazy import need
from .._text import add_note, short_repr, typed_repr
from ..core.context import Context, context_of, plain_context
from ..core.keypath import KeyPath
from ..core.matching import Difference, mismatch_error, nth_tree
from ..core.registry import GLOBAL, view_of
from ..core.treedef import PyTreeDef, map_columns
from ..equality.arrays import (
    dtype_name,
    has_memory,
    is_array,
    is_masked,
    library_of,
    size_of,
)
from ..equality.leaves import are_same
from ..errors import StructureError


if TYPE_CHECKING:
    from .._typing import IsLeaf, Level

__all__ = [
    "tree_concatenate",
    "tree_nbytes",
    "tree_size",
    "tree_stack",
    "tree_unstack",
]

T = TypeVar("T")

Axis: TypeAlias = "int | None"
Join: TypeAlias = "Callable[[Sequence[Any], int], Any]"
"""Takes the values of one place, and an axis."""


# ------------------------------------------------------------------------------ joining


@overload
def tree_stack(
    trees: Iterable[complex | Level[complex] | Level[Level[complex]]],
    axis: Any = 0,
    *,
    is_leaf: IsLeaf = None,
    namespace: str = "",
) -> Any: ...
@overload
def tree_stack(
    trees: Iterable[T], axis: Any = 0, *, is_leaf: IsLeaf = None, namespace: str = ""
) -> T: ...
def tree_stack(
    trees: Iterable[Any],
    axis: Any = 0,
    *,
    is_leaf: IsLeaf = None,
    namespace: str = GLOBAL,
) -> Any:
    """Stack the arrays of several trees along a new axis.

    Arrays keep their library and their dtype. Supported are numpy, jax (including
    traced arrays and PRNG keys), torch, and other libraries that follow the Python
    array API. You can mix numpy and jax arrays. Python numbers become a numpy array.

    Args:
        trees: Trees of one structure, at least one.
        axis: The position of the new axis in the result, or a prefix of the trees with
            the position for each leaf. None keeps a leaf as it is: the leaf may be any
            object, but must be the same in all trees.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        namespace: Where classes are looked up before the global registry.

    Returns:
        One tree; `tree_unstack` splits it.

    Raises:
        StructureError: The trees have different structures, the arrays at a leaf have
            different shapes or dtypes, or `axis` is not a prefix of the trees.
        TypeError: A leaf is neither an array nor a number.
        ValueError: There are no trees.
        ModuleNotFoundError: The leaves are numbers, and numpy is not installed.

    Example:
        >>> import pytest
        >>> np = pytest.importorskip("numpy")
        >>> import leafwise as lw
        >>> runs = [{"loss": 0.5, "w": np.zeros(3)}, {"loss": 0.25, "w": np.ones(3)}]
        >>> both = lw.tree_stack(runs)
        >>> both["loss"].tolist(), both["w"].shape
        ([0.5, 0.25], (2, 3))
        >>> named = [{"name": "a", "w": np.zeros(3)}, {"name": "a", "w": np.ones(3)}]
        >>> both = lw.tree_stack(named, axis={"name": None, "w": -1})
        >>> both["name"], both["w"].shape
        ('a', (3, 2))
    """
    context = context_of(is_leaf, namespace=namespace)
    return _joined("stacked", trees, axis, context, _stack, 1)


@overload
def tree_concatenate(
    trees: Iterable[complex | Level[complex] | Level[Level[complex]]],
    axis: Any = 0,
    *,
    is_leaf: IsLeaf = None,
    namespace: str = "",
) -> Any: ...
@overload
def tree_concatenate(
    trees: Iterable[T], axis: Any = 0, *, is_leaf: IsLeaf = None, namespace: str = ""
) -> T: ...
def tree_concatenate(
    trees: Iterable[Any],
    axis: Any = 0,
    *,
    is_leaf: IsLeaf = None,
    namespace: str = GLOBAL,
) -> Any:
    """Join the arrays of several trees along an existing axis.

    Works like `tree_stack`, but the arrays may have different lengths along that axis.

    Args:
        trees: Trees of one structure, at least one.
        axis: The axis, or a prefix of the trees with the axis for each leaf. None works
            as in `tree_stack`.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        namespace: Where classes are looked up before the global registry.

    Returns:
        One tree.

    Raises:
        StructureError: The trees have different structures, the arrays at a leaf have
            different dtypes, or shapes that differ along other axes, or `axis` is not a
            prefix of the trees.
        TypeError: A leaf is not an array.
        ValueError: There are no trees.

    Example:
        >>> import pytest
        >>> np = pytest.importorskip("numpy")
        >>> import leafwise as lw
        >>> batches = [{"x": np.zeros((32, 2))}, {"x": np.zeros((7, 2))}]
        >>> lw.tree_concatenate(batches)["x"].shape
        (39, 2)
    """
    context = context_of(is_leaf, namespace=namespace)
    return _joined("concatenated", trees, axis, context, _concatenate, 0)


def _joined(
    action: str,
    trees: Iterable[Any],
    axis: Any,
    context: Context,
    join: Join,
    new_axes: int,
) -> Any:
    """Join the values of each place.

    Args:
        action: What is done to the trees, for messages: a participle.
        trees: The trees.
        axis: The axis, or a prefix of axes.
        context: Which values are nodes.
        join: Joins the values of one place.
        new_axes: How many axes the result has more than they.
    """
    if isinstance(trees, Mapping) or not isinstance(trees, Iterable):
        raise TypeError(
            f"the trees to be {action} are given as one list, [a, b]; got "
            f"{typed_repr(trees)}"
        )
    all_trees = tuple(trees)
    if not all_trees:
        raise ValueError(f"expected at least one tree to be {action}")
    columns, treedef = context.columns(all_trees[0], all_trees[1:], strict=True)
    try:
        axes = _axes(axis, all_trees[0], context, treedef)
    except (StructureError, TypeError) as error:
        add_note(error, f"all trees to be {action} come in the first argument, a list")
        raise
    rows = list(zip(*columns, strict=True))
    places: list[Difference] = []
    indices: list[int] = []
    for path, row, leaf_axis in zip(treedef.paths(), rows, axes, strict=True):
        if leaf_axis is not None:
            for index, value in enumerate(row):
                if not is_array(value) and not (new_axes and _is_number(value)):
                    raise _no_array(action, value, path, f" of {nth_tree(index)}")
        for index, expected, actual in _misfits(row, leaf_axis, new_axes):
            places.append(Difference(path, expected, f"{actual} in {nth_tree(index)}"))
            indices.append(index)
    if places:
        subject = f"the trees cannot be {action}"
        raise mismatch_error(places, subject=subject, tree_index=indices[0])

    def join_row(row: Sequence[Any], leaf_axis: Axis) -> Any:
        return row[0] if leaf_axis is None else join(row, leaf_axis)

    return map_columns(join_row, [rows, axes], treedef)


def _misfits(
    row: Sequence[Any],
    axis: Axis,
    new_axes: int,
) -> Iterator[tuple[int, str, str]]:
    """Yield the values at a path that do not fit: index, expected, actual.

    Without an axis, all have to be the same.
    """
    first = row[0]
    if axis is None:
        expected = f"{short_repr(first)} as in the first tree (axis None)"
        for index, value in enumerate(row):
            if value is not first and not are_same(value, first):
                yield index, expected, short_repr(value)
        return
    form = _form(first, axis, new_axes)
    if not _has_axis(first, axis, new_axes):
        yield 0, f"an array that can have axis {axis}", form
        return
    for index, value in enumerate(row):
        if _form(value, axis, new_axes) != form:
            yield index, f"{form} as in the first tree", _form(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | complex) and not isinstance(value, Enum)


def _no_array(action: str, value: Any, path: KeyPath, of_tree: str = "") -> TypeError:
    return TypeError(
        f"the leaf at {path.where()}{of_tree} cannot be {action}: expected an array, "
        f"got {typed_repr(value)}; pass None as its axis to keep the leaf unchanged"
    )


def _form(value: Any, axis: int | None = None, new_axes: int = 1) -> str:
    """Return dtype and shape of an array, but for an axis along which it is joined."""
    if not is_array(value):
        return "bool" if isinstance(value, bool) else "number"
    lengths = list(map(str, value.shape))
    if axis is not None and not new_axes and _has_axis(value, axis):
        lengths[axis] = "*"
    return f"{dtype_name(value.dtype)}[{','.join(lengths)}]"


def _has_axis(value: Any, axis: int, new_axes: int = 0) -> bool:
    rank = len(getattr(value, "shape", ())) + new_axes
    return -rank <= axis < rank


# --------------------------------------------------------------------- taking apart


def tree_unstack(
    tree: T,
    axis: Any = 0,
    *,
    is_leaf: IsLeaf = None,
    namespace: str = GLOBAL,
) -> list[T]:
    """Split a tree of arrays along an axis into a list of trees.

    Args:
        tree: A tree whose arrays have the same length along that axis.
        axis: The axis to remove, or a prefix of the tree with the axis for each leaf.
            None passes the leaf unchanged to each result.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        namespace: Where classes are looked up before the global registry.

    Returns:
        One tree for each index along the axis. Their arrays may share memory with the
        arrays of `tree`.

    Raises:
        StructureError: The lengths differ, or an array has no such axis; or `axis` is
            not a prefix of the tree.
        TypeError: A leaf is not an array.
        ValueError: No leaf has an axis, so the number of results is unknown.

    Example:
        >>> import pytest
        >>> np = pytest.importorskip("numpy")
        >>> import leafwise as lw
        >>> lw.tree_unstack({"w": np.arange(6).reshape(2, 3), "b": np.array([7, 8])})
        [{'w': array([0, 1, 2]), 'b': ...7...}, {'w': array([3, 4, 5]), 'b': ...8...}]
    """
    context = context_of(is_leaf, namespace=namespace)
    leaves, treedef = context.flatten(tree)
    axes = _axes(axis, tree, context, treedef)
    length = _length(leaves, axes, treedef)
    columns: list[Iterable[Any]] = [
        repeat(leaf, length) if leaf_axis is None else _unstack(leaf, leaf_axis, length)
        for leaf, leaf_axis in zip(leaves, axes, strict=True)
    ]
    return [treedef.unflatten(row) for row in zip(*columns, strict=True)]


def _length(leaves: Sequence[Any], axes: Sequence[Axis], treedef: PyTreeDef) -> int:
    """Return the length that all arrays have on their axis.

    Raises:
        StructureError: There are two.
        TypeError: A leaf that has an axis is no array.
        ValueError: No leaf has an axis.
    """
    places: list[Difference] = []
    length: int | None = None
    expected = ""
    for path, leaf, axis in zip(treedef.paths(), leaves, axes, strict=True):
        if axis is None:
            continue
        if not is_array(leaf):
            raise _no_array("unstacked", leaf, path)
        if not _has_axis(leaf, axis):
            places.append(Difference(path, f"an array with axis {axis}", _form(leaf)))
            continue
        leaf_length = leaf.shape[axis]
        if length is None:
            length = leaf_length
            expected = f"length {length} as at {path.where()}"
        elif leaf_length != length:
            actual = f"length {leaf_length} on axis {axis}"
            places.append(Difference(path, expected, actual))
    if places:
        raise mismatch_error(places, subject="the tree cannot be unstacked")
    if length is None:
        raise ValueError("no leaf has an axis, so the number of trees is unknown")
    return length


# ------------------------------------------------------------------------------- axes


def _axes(axis: Any, tree: Any, context: Context, treedef: PyTreeDef) -> list[Axis]:
    """Return the axis of each leaf of a tree.

    In a prefix of axes None stands for itself; `is_leaf` is not asked about it.

    Raises:
        StructureError: The axes are not a prefix of the tree.
        TypeError: An axis is neither an int nor None.
    """
    if _is_axis(axis):
        return [axis] * treedef.num_leaves
    prefix_context = plain_context(view_of(treedef.namespace, True))
    prefix_axes, prefix_treedef = prefix_context.flatten(axis)
    try:
        parts = prefix_treedef.flatten_up_to(tree)
    except StructureError as error:
        subject = "axis is not a prefix of the tree"
        raise mismatch_error(error.differences, subject=subject) from None
    axes: list[Axis] = []
    for path, one, part in zip(prefix_treedef.paths(), prefix_axes, parts, strict=True):
        if not _is_axis(one):
            where = f" at {path.where()}" if path else ""
            raise TypeError(
                f"an axis is an int or None, or a tree of these; got {typed_repr(one)}"
                f"{where}"
            )
        axes += repeat(one, len(context.leaves(part)))
    return axes


def _is_axis(value: Any) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool))


# -------------------------------------------------------------------------- libraries

_NUMPY, _JAX, _TORCH = range(3)  # see `library_of`


def _stack(row: Sequence[Any], axis: int) -> Any:
    if not is_array(row[0]):
        return _array_of_numbers(row)
    return _library(row).stack(list(row), axis=axis)


def _concatenate(row: Sequence[Any], axis: int) -> Any:
    library = _library(row)
    join = getattr(library, "concatenate", None) or library.concat
    return join(list(row), axis=axis)


def _array_of_numbers(row: Sequence[Any]) -> Any:
    """Return a numpy array of Python numbers.

    Raises:
        OverflowError: Integers do not fit into a dtype of integers.
        ModuleNotFoundError: Numpy is not installed.
    """
    numpy = need(
        "numpy", "stacking Python numbers (an axis of None keeps them)", "arrays"
    )
    numbers = list(row)
    array = numpy.asarray(numbers)
    kinds = "iub" if all(isinstance(value, int) for value in row) else "fcb"
    if array.dtype.kind not in kinds:
        raise OverflowError(f"no integer dtype can hold all of {short_repr(numbers)}")
    return array


def _library(row: Sequence[Any]) -> Any:
    """Return the module that joins arrays; see `tree_stack`.

    Raises:
        TypeError: They are of libraries that do not go together.
    """
    libraries = set(map(library_of, row))
    if libraries <= {_NUMPY, _JAX}:
        if _JAX in libraries:
            return sys.modules["jax"].numpy
        numpy = sys.modules["numpy"]
        return numpy.ma if any(is_masked(value) for value in row) else numpy
    if libraries == {_TORCH}:
        return sys.modules["torch"]
    spaces = {_array_namespace(value) for value in row}
    if len(spaces) == 1 and None not in spaces:
        return spaces.pop()
    names = ", ".join(dict.fromkeys(type(value).__name__ for value in row))
    raise TypeError(f"no library can join arrays of these types: {names}")


def _array_namespace(value: Any) -> Any:
    """Return the module that the Python array API says an array has, or None."""
    namespace_of = getattr(type(value), "__array_namespace__", None)
    return None if namespace_of is None else namespace_of(value)


def _unstack(array: Any, axis: int, length: int) -> list[Any]:
    """Return the parts of an array, which may be views."""
    library = library_of(array)
    if library == _TORCH:
        return list(sys.modules["torch"].unbind(array, axis))
    if library == _NUMPY:
        numpy = sys.modules["numpy"]
        moved = numpy.moveaxis(numpy.asanyarray(array), axis, 0)
        is_plain = type(moved) is numpy.ndarray and moved.dtype.kind != "O"
        if moved.ndim == 1 and not is_plain:
            return [moved[index, ...] for index in range(length)]
        return list(moved)
    space = sys.modules["jax"].numpy if library == _JAX else _array_namespace(array)
    unstack = getattr(space, "unstack", None)
    if unstack is not None:
        return list(unstack(array, axis=axis))
    before = (slice(None),) * (axis % len(array.shape))
    return [array[(*before, index, ...)] for index in range(length)]


# -------------------------------------------------------------------------------- sizes


def tree_size(
    tree: Any,
    *,
    is_leaf: IsLeaf = None,
    namespace: str = GLOBAL,
) -> int:
    """Return the number of array elements in a tree; any other leaf counts as one.

    An array that appears at several leaves counts once, as in `tree_summary`.

    Args:
        tree: The tree. Array specs such as `jax.ShapeDtypeStruct` count as well.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        namespace: Where classes are looked up before the global registry.

    Example:
        >>> import pytest
        >>> np = pytest.importorskip("numpy")
        >>> import leafwise as lw
        >>> lw.tree_size({"w": np.zeros((2, 3)), "b": np.zeros(3), "step": 7})
        10
    """
    context = context_of(is_leaf, namespace=namespace)
    return sum(size_of(leaf)[0] for leaf in _once(context.leaves(tree)))


def tree_nbytes(
    tree: Any,
    *,
    is_leaf: IsLeaf = None,
    namespace: str = GLOBAL,
) -> int:
    """Return the total size in bytes of the elements of all arrays in a tree.

    An array that appears at several leaves counts once, as in `tree_summary`. If two
    arrays share memory, both count. A broadcast array counts with its full size.
    Leaves that are not arrays do not count.

    Args:
        tree: The tree. Array specs such as `jax.ShapeDtypeStruct` count as well.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        namespace: Where classes are looked up before the global registry.

    Example:
        >>> import pytest
        >>> np = pytest.importorskip("numpy")
        >>> import leafwise as lw
        >>> weight = np.zeros((2, 3), np.float32)
        >>> lw.tree.nbytes({"embed": weight, "decode": weight, "step": 7})
        24
    """
    context = context_of(is_leaf, namespace=namespace)
    return sum(size_of(leaf)[1] for leaf in _once(context.leaves(tree)))


def _once(leaves: Iterable[Any]) -> Iterator[Any]:
    """Yield leaves, but each array only at its first place."""
    ids: set[int] = set()
    for leaf in leaves:
        if id(leaf) not in ids:
            yield leaf
            if has_memory(leaf):
                ids.add(id(leaf))
