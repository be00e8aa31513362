"""Trees of torch tensors as one vector, as `optree.integrations.torch` has it."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

from ..typing import PyTreeTypeVar
from .ravel import raveler


__all__ = ["TensorTree", "tree_ravel"]

_torch = importlib.import_module("torch")

TensorTree: Any = PyTreeTypeVar("TensorTree", _torch.Tensor)


def _ravel(
    leaves: list[Any], unflatten: Callable[[Any], Any]
) -> tuple[Any, Callable[[Any], Any]]:
    """Return all tensors as one vector, and a function that undoes it.

    Raises:
        ValueError: A leaf is not a tensor.
    """
    if not all(map(_torch.is_tensor, leaves)):
        raise ValueError("All leaves must be tensors.")
    shapes = tuple(leaf.shape for leaf in leaves)
    dtypes = tuple(leaf.dtype for leaf in leaves)
    undo = functools.partial(_unravel, unflatten, shapes, dtypes)
    if not leaves:
        return _torch.zeros(0), undo
    dtype = functools.reduce(_torch.promote_types, dtypes)
    return _torch.cat([_torch.ravel(leaf).to(dtype) for leaf in leaves]), undo


tree_ravel = raveler(_ravel)
ravel_pytree = tree_ravel


def _unravel(
    unflatten: Callable[[Any], Any],
    shapes: tuple[Any, ...],
    dtypes: tuple[Any, ...],
    flat: Any,
    /,
) -> Any:
    """Return the tree of a vector.

    Raises:
        ValueError: It is not a tensor of that shape; or of another type, and the leaves
            had several.
    """
    if not _torch.is_tensor(flat):
        raise ValueError(f"Expected a tensor to unravel, got {type(flat)!r}.")
    sizes = [shape.numel() for shape in shapes]
    if tuple(flat.shape) != (sum(sizes),):
        raise ValueError(
            f"The unravel function expected a tensor of shape {(sum(sizes),)}, got "
            f"shape {tuple(flat.shape)}."
        )
    several = len({*dtypes}) > 1
    if several:
        dtype = functools.reduce(_torch.promote_types, dtypes)
        if flat.dtype != dtype:
            raise ValueError(
                f"The unravel function expected a tensor of dtype {dtype}, got dtype "
                f"{flat.dtype}."
            )
    parts = zip(_torch.split(flat, sizes) if sizes else (), shapes, strict=True)
    tensors = [part.reshape(shape) for part, shape in parts]
    if several:
        pairs = zip(tensors, dtypes, strict=True)
        tensors = [_cast(tensor, dtype) for tensor, dtype in pairs]
    return unflatten(tensors)


def _cast(tensor: Any, dtype: Any) -> Any:
    """Return a tensor of another type; a complex one loses its imaginary part."""
    is_real = tensor.is_complex() and not dtype.is_complex
    return (tensor.real if is_real else tensor).to(dtype)
