"""Trees of jax arrays as one vector, as `optree.integrations.jax` has it."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from ..ops import tree_flatten
from ..typing import PyTreeTypeVar
from .ravel import ravel_by


__all__ = ["ArrayLikeTree", "ArrayTree", "tree_ravel"]

_jax = importlib.import_module("jax")
_jnp = importlib.import_module("jax.numpy")

ArrayLikeTree: Any = PyTreeTypeVar(
    "ArrayLikeTree", importlib.import_module("jax.typing").ArrayLike
)
ArrayTree: Any = PyTreeTypeVar("ArrayTree", _jax.Array)


def tree_ravel(
    tree: Any,
    /,
    is_leaf: Callable[[Any], bool] | None = None,
    *,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> tuple[Any, Callable[[Any], Any]]:
    """Return all arrays of a tree as one vector, and a function that undoes it."""
    leaves, spec = tree_flatten(
        tree, is_leaf, none_is_leaf=none_is_leaf, namespace=namespace
    )
    return ravel_by(_jnp, leaves, spec.unflatten)


ravel_pytree = tree_ravel
