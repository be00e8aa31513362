"""The leaves of a tree as one vector and back, with the functions of one library.

Owns what numpy, jax and torch share, and how numpy and jax do it; they are handed in.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

from ..ops import tree_flatten


__all__ = ["ravel_by", "raveler"]

Unravel = Callable[[Any], Any]


def raveler(
    ravel: Callable[[list[Any], Unravel], tuple[Any, Unravel]],
) -> Callable[..., tuple[Any, Unravel]]:
    """Return the function `tree_ravel` of a library.

    Args:
        ravel: Takes the leaves of a tree and what unflattens others, returns a vector
            and what undoes it.
    """

    def tree_ravel(
        tree: Any,
        /,
        is_leaf: Callable[[Any], bool] | None = None,
        *,
        none_is_leaf: bool = False,
        namespace: str = "",
    ) -> tuple[Any, Unravel]:
        """Return all arrays of a tree as one vector, and a function that undoes it."""
        leaves, spec = tree_flatten(
            tree, is_leaf, none_is_leaf=none_is_leaf, namespace=namespace
        )
        return ravel(leaves, spec.unflatten)

    return tree_ravel


def ravel_by(
    np: Any, leaves: list[Any], unflatten: Callable[[Any], Any]
) -> tuple[Any, Callable[[Any], Any]]:
    """Return all leaves as one vector, and a function from such a vector to a tree.

    Args:
        np: `numpy`, or a module with its functions.
        leaves: The arrays.
        unflatten: Takes the arrays, returns a tree.
    """
    dtypes = tuple(map(np.result_type, leaves))
    dtype = np.result_type(*dtypes) if leaves else None
    shapes = tuple(map(np.shape, leaves))
    ends = tuple(itertools.accumulate(map(np.size, leaves)))
    parts = [np.ravel(leaf) for leaf in leaves]
    kept = None
    if any(one != dtype for one in dtypes):
        kept = dtypes
        parts = [part.astype(dtype) for part in parts]
    vector = np.concatenate(parts) if parts else np.zeros(0)
    undo = functools.partial(_unravel, np, unflatten, ends, shapes, kept, dtype)
    return vector, undo


def _unravel(
    np: Any,
    unflatten: Callable[[Any], Any],
    ends: tuple[int, ...],
    shapes: tuple[tuple[int, ...], ...],
    dtypes: tuple[Any, ...] | None,
    dtype: Any,
    flat: Any,
    /,
) -> Any:
    """Return the tree of a vector.

    Raises:
        ValueError: The vector has another shape; or another type, and the leaves had
            several.
    """
    size = ends[-1] if ends else 0
    if np.shape(flat) != (size,):
        raise ValueError(
            f"The unravel function expected an array of shape {(size,)}, got shape "
            f"{np.shape(flat)}."
        )
    if dtypes is not None and np.result_type(flat) != dtype:
        raise ValueError(
            f"The unravel function expected an array of dtype {dtype}, got dtype "
            f"{np.result_type(flat)}."
        )
    if not ends:
        return unflatten([])
    parts = np.split(flat, ends[:-1])
    arrays = [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]
    if dtypes is not None:
        pairs = zip(arrays, dtypes, strict=True)
        arrays = [_cast(array, wanted) for array, wanted in pairs]
    return unflatten(arrays)


def _cast(array: Any, dtype: Any) -> Any:
    """Return an array of another type; a complex one loses its imaginary part."""
    is_real = getattr(dtype, "kind", "") != "c"
    return (array.real if array.dtype.kind == "c" and is_real else array).astype(dtype)
