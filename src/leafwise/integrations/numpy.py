"""Trees of numbers and NumPy arrays as one vector: `ravel`.

Import it by name, `from leafwise.integrations import numpy`: leafwise itself never
imports NumPy.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.keypath import KeyPath
from ..core.treedef import PyTreeDef
from ..ops.map import tree_flatten_with_path
from .vectors import check_vector


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
    arrays = []
    parts = []
    for path, leaf in pairs:
        array = np.asarray(leaf)
        if array.dtype.kind not in "biufc":
            raise TypeError(
                f"the leaf at {path.where()} is neither a number nor an array of "
                f"numbers: {type(leaf).__name__}"
            )
        arrays.append(array)
        parts.append(_Part(path, type(leaf), array.shape, array.dtype))
    dtype = np.result_type(*arrays) if arrays else np.dtype(float)
    vector = np.zeros(sum(array.size for array in arrays), dtype)
    start = 0
    for array in arrays:
        vector[start : start + array.size] = array.ravel()
        start += array.size
    return vector, functools.partial(_unravel, treedef, parts, vector.size)


class _Part(NamedTuple):
    """A leaf as a part of the vector.

    Attributes:
        path: Its key path.
        cls: Its type.
        shape: Its shape as an array.
        dtype: Its dtype as an array.
    """

    path: KeyPath
    cls: type
    shape: tuple[int, ...]
    dtype: Any

    def restore(self, numbers: Any) -> Any:
        """Return numbers as what the leaf was.

        Raises:
            TypeError: They do not fit into its dtype.
        """
        restored = numbers
        if numbers.dtype.kind == "c" and self.dtype.kind != "c":
            restored = numbers.real  # or numpy would warn; checked below
        restored = restored.astype(self.dtype)
        can_lose = not np.can_cast(numbers.dtype, self.dtype, "same_kind")
        if can_lose and np.any(restored != numbers):
            raise TypeError(
                f"the numbers for the leaf at {self.path.where()} do not fit into "
                f"{self.dtype}"
            )
        restored = restored.reshape(self.shape)
        if self.cls in _SCALARS:
            return self.cls(restored.item())
        return restored


def _unravel(treedef: PyTreeDef, parts: Sequence[_Part], size: int, vector: Any) -> Any:
    """Return the tree of a vector.

    Raises:
        StructureError: The vector has another shape.
        TypeError: Its type does not go into that of a leaf.
    """
    vector = np.asarray(vector)
    check_vector(vector.shape, size)
    leaves = []
    start = 0
    for part in parts:
        stop = start + math.prod(part.shape)
        leaves.append(part.restore(vector[start:stop]))
        start = stop
    return treedef.unflatten(leaves)
