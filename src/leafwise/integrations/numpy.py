"""Trees of numbers and NumPy arrays as one vector: `ravel`.

Import it by name, `from leafwise.integrations import numpy`: leafwise itself never
imports NumPy.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.keypath import KeyPath
from ..core.treedef import PyTreeDef
from ..errors import StructureError
from ..ops.map import tree_flatten_with_path


__all__ = ["ravel"]

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
    formats = [
        (path, type(leaf), array.shape, array.dtype)
        for (path, leaf), array in zip(pairs, arrays, strict=True)
    ]
    return vector, functools.partial(_unravel, treedef, formats, vector.size)


def _numbers(path: KeyPath, leaf: Any) -> Any:
    array = np.asarray(leaf)
    if array.dtype.kind not in "biufc":
        raise TypeError(
            f"the leaf at {path.where()} is neither a number nor an array of numbers: "
            f"{type(leaf).__name__}"
        )
    return array


def _unravel(treedef: PyTreeDef, formats: Sequence[Any], size: int, vector: Any) -> Any:
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
    leaves = []
    start = 0
    for path, cls, shape, dtype in formats:
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
