"""jax: registration of classes, trace levels, and `ravel`.

A class is registered with key paths, and with aux data that jax can compare.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .._lazy import real
from .._runtime import late_imports
from ..core.keys import DictKey, FlattenedIndexKey, GetAttrKey, SequenceKey
from ..ops.map import tree_flatten


if TYPE_CHECKING:
    from .bridge import Node

__all__ = ["begin", "ravel", "register"]

Flatten = Callable[[Any], tuple[Sequence[Any], Any]]


def begin(jax: Any) -> None:
    """Make objects record the trace level at which they are changed.

    If jax has no function for this, trace levels are not recorded and a warning is
    issued.

    Args:
        jax: The module.
    """
    # here, since classes of `nn` are registered in jax while `nn` is imported
    with late_imports:
        from ..nn.checks import watch  # noqa: PLC0415

    try:
        core = importlib.import_module("jax.extend.core")
        watch(core.get_opaque_trace_state)
    except (ImportError, AttributeError, TypeError) as error:
        warnings.warn(
            f"objects cannot tell jax's trace levels apart: {error}", stacklevel=2
        )


def register(jax: Any, cls: type, node: Node) -> None:
    """Register a class in jax.

    Args:
        jax: The module.
        cls: The class.
        node: Its rule here, as functions.

    Raises:
        ValueError: jax knows the class already.
    """
    util = real("jax.tree_util") or jax.tree_util
    makers = {
        GetAttrKey: util.GetAttrKey,
        DictKey: util.DictKey,
        SequenceKey: util.SequenceKey,
        FlattenedIndexKey: util.FlattenedIndexKey,
    }

    flatten: Flatten = node.flatten
    unflatten: Callable[[Any, Any], Any] = node.unflatten
    keys_of: Callable[[Any, int], Sequence[Any]] = node.keys
    if node.rule.unflatten_into is not None:
        # An object of `nn`, whose aux data compares itself. It is flattened so often
        # that asking for the current rule would cost a quarter: jax keeps this one.
        flatten, unflatten = node.rule.flatten, node.rule.unflatten
        keys_of = node.rule.keys

    def flatten_with_keys(value: Any) -> tuple[list[Any], Any]:
        children, aux = flatten(value)
        keys = keys_of(aux, len(children))
        named = [
            makers[type(key)](key.entry) if type(key) in makers else key for key in keys
        ]
        return [*zip(named, children, strict=True)], aux

    util.register_pytree_with_keys(cls, flatten_with_keys, unflatten, flatten)


def ravel(tree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Return all arrays of a tree as one vector, and a function that undoes it.

    Both directions can be traced and differentiated.

    Args:
        tree: A tree of arrays and numbers.

    Returns:
        An array of shape `(size,)` and a function from such an array to a tree. The
        array has a dtype that can represent all leaves. The function restores the
        shapes and dtypes of arrays; numbers become arrays without axes.

    Raises:
        TypeError: A leaf is neither a number nor an array, or the array has a different
            dtype from the vector.
        ValueError: The array has another shape.

    Example:
        >>> import pytest
        >>> jnp = pytest.importorskip("jax.numpy")
        >>> from leafwise.integrations.jax import ravel
        >>> vector, unravel = ravel({"w": jnp.ones((2, 2)), "b": jnp.zeros(1)})
        >>> vector
        Array([0., 1., 1., 1., 1.], dtype=float32)
        >>> unravel(vector * 2)["b"]
        Array([0.], dtype=float32)

    This is `jax.flatten_util.ravel_pytree` with the nodes and leaves of leafwise.
    """
    leaves, treedef = tree_flatten(tree)
    util = importlib.import_module("jax.flatten_util")
    vector, unravel = util.ravel_pytree(leaves)
    return vector, lambda changed: treedef.unflatten(unravel(changed))
