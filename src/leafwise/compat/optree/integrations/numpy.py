"""Trees of numpy arrays as one vector, as `optree.integrations.numpy` has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..ops import tree_flatten
from ..typing import PyTreeTypeVar
from .ravel import ravel_by


__all__ = ["ArrayLikeTree", "ArrayTree", "tree_ravel"]

ArrayLikeTree: Any = PyTreeTypeVar("ArrayLikeTree", ArrayLike)
ArrayTree: Any = PyTreeTypeVar("ArrayTree", np.ndarray)


def tree_ravel(
    tree: Any,
    /,
    is_leaf: Callable[[Any], bool] | None = None,
    *,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> tuple[Any, Callable[[Any], Any]]:
    """Return all arrays of a tree as one vector, and a function that undoes it.

    Example:
        >>> import numpy as np
        >>> from leafwise.compat.optree.integrations.numpy import tree_ravel
        >>> vector, unravel = tree_ravel({"w": np.ones((1, 2)), "b": np.zeros(1)})
        >>> vector.tolist(), unravel(vector)["w"].shape
        ([0.0, 1.0, 1.0], (1, 2))
    """
    leaves, spec = tree_flatten(
        tree, is_leaf, none_is_leaf=none_is_leaf, namespace=namespace
    )
    return ravel_by(np, leaves, spec.unflatten)


ravel_pytree = tree_ravel
