"""torch: how its pytree module registers a class, and `ravel`."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sequence
from typing import Any

from ..core.keys import GetAttrKey, SequenceKey
from ..core.treedef import PyTreeDef
from ..errors import StructureError
from ..ops.map import tree_flatten_with_path
from .bridge import Aux, Node


__all__ = ["begin", "ravel", "register"]


# ------------------------------------------------------------------ registration


def begin(torch: Any) -> None:
    """Do nothing: torch needs no preparation."""


def register(torch: Any, cls: type, node: Node) -> None:
    """Register a class in torch's Python pytree module, with key paths.

    Args:
        torch: The module.
        cls: The class.
        node: Its rule here, as functions.

    Raises:
        ValueError: torch knows the class already.
    """
    pytree = torch.utils._pytree

    def key_of(key: Any) -> Any:
        if isinstance(key, GetAttrKey):
            return pytree.GetAttrKey(key.name)
        if isinstance(key, SequenceKey):
            return pytree.SequenceKey(key.idx)
        return pytree.MappingKey(key.entry)

    def flatten(value: Any) -> tuple[list[Any], Aux]:
        children, aux = node.flatten(value)
        return [*children], aux

    def flatten_with_keys(value: Any) -> tuple[list[tuple[Any, Any]], Aux]:
        children, aux = node.flatten(value)
        keys = map(key_of, node.keys(aux, len(children)))
        return [*zip(keys, children, strict=True)], aux

    def unflatten(children: Any, aux: Aux) -> Any:
        return node.unflatten(aux, children)

    pytree.register_pytree_node(
        cls, flatten, unflatten, flatten_with_keys_fn=flatten_with_keys
    )


# ------------------------------------------------------------------------- ravel


def ravel(tree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Return all tensors of a tree as one vector, and a function that undoes it.

    Both ways are differentiable.

    Args:
        tree: A tree of tensors on one device, and of numbers.

    Returns:
        A tensor of shape `(size,)`, of the type that all leaves fit into, and a
        function from such a tensor to a tree: tensors have the shapes and types that
        they had, numbers have become tensors without axes.

    Raises:
        TypeError: A leaf is neither a tensor nor a number.

    Example:
        >>> import pytest
        >>> torch = pytest.importorskip("torch")
        >>> from leafwise.integrations.torch import ravel
        >>> vector, unravel = ravel({"w": torch.ones(2, 2), "b": torch.zeros(1)})
        >>> vector
        tensor([0., 1., 1., 1., 1.])
        >>> unravel(vector * 2)["b"]
        tensor([0.])

    The idea is that of `jax.flatten_util.ravel_pytree`.
    """
    torch = importlib.import_module("torch")
    pairs, treedef = tree_flatten_with_path(tree)
    tensors = []
    for path, leaf in pairs:
        if not isinstance(leaf, torch.Tensor | bool | int | float | complex):
            raise TypeError(
                f"the leaf at {path.where()} is neither a tensor nor a number: "
                f"{type(leaf).__name__}"
            )
        tensors.append(torch.as_tensor(leaf))
    types = [tensor.dtype for tensor in tensors] or [torch.get_default_dtype()]
    dtype = functools.reduce(torch.promote_types, types)
    parts = [tensor.reshape(-1).to(dtype) for tensor in tensors]
    vector = torch.cat(parts) if parts else torch.zeros(0, dtype=dtype)
    wanted = [(tensor.shape, tensor.dtype) for tensor in tensors]
    return vector, functools.partial(_unravel, treedef, wanted)


def _unravel(treedef: PyTreeDef, wanted: Sequence[Any], vector: Any) -> Any:
    """Return the tree of a vector.

    Raises:
        StructureError: The vector has another shape.
    """
    sizes = [shape.numel() for shape, _ in wanted]
    if tuple(vector.shape) != (sum(sizes),):
        expected, actual = str((sum(sizes),)), str(tuple(vector.shape))
        raise StructureError(
            f"a vector of shape {expected} is needed, got shape {actual}",
            expected=expected,
            actual=actual,
        )
    parts = zip(vector.split(sizes), wanted, strict=True)
    return treedef.unflatten(
        [part.reshape(shape).to(dtype) for part, (shape, dtype) in parts]
    )
