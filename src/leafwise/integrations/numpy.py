"""Trees of numbers and NumPy arrays: `ravel` to one vector, `vmap` over an axis.

Import it by name, `from leafwise.integrations import numpy`: leafwise itself never
imports NumPy.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.keypath import KeyPath
from ..core.matching import mismatch_error
from ..core.treedef import PyTreeDef
from ..errors import StructureError
from ..ops.map import tree_flatten, tree_flatten_with_path, tree_leaves
from ..ops.reshape import broadcast_prefix, prefix_errors
from ..safely import described, type_name


__all__ = ["ravel", "vmap"]

_SCALARS = (bool, int, float, complex)


# ------------------------------------------------------------------------ ravel


def ravel(tree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Return all numbers of a tree as one vector, and a function that undoes it.

    Args:
        tree: A tree of numbers and arrays.

    Returns:
        An array of shape `(size,)` and a function from such an array to a tree. The
        array has a dtype that can represent all leaves. The function restores the
        shapes and dtypes of arrays, and the types of Python numbers.

    Raises:
        TypeError: A leaf is neither a number nor an array of numbers.

    Example:
        >>> from leafwise.integrations.numpy import ravel
        >>> import numpy as np
        >>> vector, unravel = ravel({"w": np.ones((2, 2)), "b": 3})
        >>> vector
        array([3., 1., 1., 1., 1.])
        >>> unravel(vector * 2)["b"]
        6

    Modelled on `jax.flatten_util.ravel_pytree`.
    """
    pairs, treedef = tree_flatten_with_path(tree)
    arrays = [_numbers(path, leaf) for path, leaf in pairs]
    dtype = np.result_type(*arrays) if arrays else np.dtype(float)
    parts = [array.ravel().astype(dtype, copy=False) for array in arrays]
    vector = np.concatenate(parts) if parts else np.zeros(0, dtype)
    wanted = [
        (path, type(leaf), array.shape, array.dtype)
        for (path, leaf), array in zip(pairs, arrays, strict=True)
    ]
    return vector, functools.partial(_unravel, treedef, wanted, vector.size)


def _numbers(path: KeyPath, leaf: Any) -> Any:
    array = np.asarray(leaf)
    if array.dtype.kind not in "biufc":
        raise TypeError(
            f"the leaf at {path.where()} is neither a number nor an array of numbers: "
            f"{type_name(leaf)}"
        )
    return array


def _unravel(treedef: PyTreeDef, wanted: Sequence[Any], size: int, vector: Any) -> Any:
    """Return the tree of a vector.

    Raises:
        StructureError: The vector has another shape.
        TypeError: Its type does not go into that of a leaf.
    """
    vector = np.asarray(vector)
    if vector.shape != (size,):
        raise StructureError(
            f"a vector of shape ({size},) is needed, got shape {vector.shape}",
            expected=str((size,)),
            actual=str(vector.shape),
        )
    leaves, start = [], 0
    for path, cls, shape, dtype in wanted:
        count = int(np.prod(shape))
        part = vector[start : start + count].reshape(shape)
        start += count
        leaves.append(_restored(path, part, cls, dtype))
    return treedef.unflatten(leaves)


def _restored(path: KeyPath, part: Any, cls: type, dtype: Any) -> Any:
    """Return a part as what the leaf was, unless numbers would be lost."""
    is_complex = np.dtype(dtype).kind == "c"
    real = part.real if part.dtype.kind == "c" and not is_complex else part
    restored = real.astype(dtype)
    if not np.can_cast(part.dtype, dtype, "same_kind") and np.any(restored != part):
        raise TypeError(
            f"the numbers for the leaf at {path.where()} do not fit into {dtype}"
        )
    return cls(restored.item()) if cls in _SCALARS else restored


# ------------------------------------------------------------------------- vmap


def vmap(
    function: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0
) -> Callable[..., Any]:
    """Map a function over an axis of the arrays in its arguments.

    The function is called once for each position along the axis.

    Args:
        function: Takes and returns trees of arrays.
        in_axes: The axis along which each array is mapped, or None for arrays that are
            not: one axis for all, or a tuple with a prefix tree for each positional
            argument. Keyword arguments are mapped over axis 0.
        out_axes: The axis of the results, as a prefix tree of the function's result.
            None for results that are the same in every call.

    Returns:
        A function of the same arguments; mapped arguments and results have one more
        axis.

    Raises:
        StructureError: The axes are not a prefix of the arguments or of the results.
        TypeError: `in_axes` is neither an int, None, nor a tuple; or an axis is neither
            an int nor None.
        ValueError: The mapped axes have different sizes; no axis is mapped; an array
            has too few axes; or a result with axis None differs between calls.

    Example:
        >>> from leafwise.integrations.numpy import vmap
        >>> import numpy as np
        >>> add = vmap(lambda x, d: x + d["k"], in_axes=(None, {"k": 0}))
        >>> add(np.ones(2), {"k": np.arange(3)}).tolist()
        [[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]

    Modelled on `jax.vmap`.
    """
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    if in_axes is not None and not isinstance(in_axes, int | tuple):
        raise TypeError(
            "in_axes must be an int, None or a tuple with an entry for each positional "
            f"argument, got {type_name(in_axes)}"
        )

    @functools.wraps(function)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        pairs, treedef = tree_flatten_with_path((args, kwargs), none_is_leaf=True)
        axes = _axes(in_axes, args, kwargs)
        found = [
            _front(path, leaf, axis)
            for (path, leaf), axis in zip(pairs, axes, strict=True)
        ]
        size = _size(found)
        results = []
        for place in range(size):
            rows = [
                leaf[place, ...] if is_mapped else leaf for _, leaf, is_mapped in found
            ]
            some, more = treedef.unflatten(rows)
            results.append(function(*some, **more))
        return _stacked(results, out_axes)

    return mapped


def _axes(in_axes: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """Return an axis for each leaf of a call.

    Raises:
        StructureError: The axes are not a prefix of the arguments.
    """
    of_kwargs = broadcast_prefix(0, kwargs, none_is_leaf=True)
    if not isinstance(in_axes, tuple):
        return broadcast_prefix(in_axes, args, none_is_leaf=True) + of_kwargs
    if len(in_axes) != len(args):
        entries = "1 entry" if len(in_axes) == 1 else f"{len(in_axes)} entries"
        plural = "" if len(args) == 1 else "s"
        raise StructureError(f"in_axes has {entries} for {len(args)} argument{plural}")
    axes = []
    for place, (axis, arg) in enumerate(zip(in_axes, args, strict=True)):
        axes += _spread(f"in_axes[{place}]", axis, f"argument {place}", arg)
    return axes + of_kwargs


def _spread(name: str, axes: Any, what: str, tree: Any) -> list[Any]:
    """Return an axis for each leaf of a tree.

    Raises:
        StructureError: The axes are not a prefix of it.
        TypeError: One is neither an int nor None.
    """
    for axis in tree_leaves(axes):
        if not hasattr(axis, "__index__"):
            raise TypeError(
                f"the axes in {name} must be ints or None, got {described(axis)}"
            )
    found = prefix_errors(axes, tree, none_is_leaf=True)
    if found:
        raise mismatch_error(found, subject=f"{name} is not a prefix of {what}")
    return broadcast_prefix(axes, tree, none_is_leaf=True)


def _front(path: KeyPath, leaf: Any, axis: Any) -> tuple[KeyPath, Any, bool]:
    """Return an array with its mapped axis in front, and whether it is mapped."""
    if axis is None or leaf is None:
        return path, leaf, False
    array = np.asarray(leaf)
    if not -array.ndim <= axis < array.ndim:
        raise ValueError(
            f"{_named(path)} has shape {array.shape}, so there is no axis {axis} to map"
        )
    return path, np.moveaxis(array, axis, 0), True


def _named(path: KeyPath) -> str:
    """Return which argument is meant: the path begins with its place."""
    kind, *rest = path
    where = KeyPath(rest[1:])
    name = rest[0].entry
    said = f"argument {name}" if kind.idx == 0 else f"keyword {name}"
    return f"{said} at {where}" if where else said


def _size(found: Sequence[tuple[KeyPath, Any, bool]]) -> int:
    """Return how long the mapped axes are."""
    sizes = [(path, len(leaf)) for path, leaf, is_mapped in found if is_mapped]
    if not sizes:
        raise ValueError("vmap needs at least one array that is mapped over an axis")
    first, size = sizes[0]
    for path, other in sizes:
        if other != size:
            raise ValueError(
                f"the mapped axes have different sizes: {size} in {_named(first)}, "
                f"{other} in {_named(path)}"
            )
    if size == 0:
        raise ValueError(f"the mapped axis of {_named(first)} is empty")
    return size


def _stacked(results: Sequence[Any], out_axes: Any) -> Any:
    """Put the results together along their axes."""
    first, treedef = tree_flatten(results[0])
    axes = _spread("out_axes", out_axes, "the result", results[0])
    if len(axes) != len(first):  # None in the results is a node, and takes no axis
        pairs = zip(axes, tree_flatten(results[0], none_is_leaf=True)[0], strict=True)
        axes = [axis for axis, leaf in pairs if leaf is not None]
    columns = zip(*(treedef.flatten_up_to(result) for result in results), strict=True)
    return treedef.unflatten(
        [_stack(column, axis) for column, axis in zip(columns, axes, strict=True)]
    )


def _stack(column: Sequence[Any], axis: Any) -> Any:
    if axis is not None:
        return np.stack([np.asarray(item) for item in column], axis)
    if any(not np.array_equal(item, column[0]) for item in column[1:]):
        raise ValueError("a result with out_axes=None must be equal in all calls")
    return column[0]
