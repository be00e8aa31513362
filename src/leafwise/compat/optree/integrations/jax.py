"""Trees of jax arrays as one vector, as `optree.integrations.jax` has it."""

from __future__ import annotations

import functools
import importlib
from typing import Any

from ..typing import PyTreeTypeVar
from .ravel import ravel_by, raveler


__all__ = ["ArrayLikeTree", "ArrayTree", "tree_ravel"]

_like = importlib.import_module("jax.typing").ArrayLike
ArrayLikeTree: Any = PyTreeTypeVar("ArrayLikeTree", _like)
ArrayTree: Any = PyTreeTypeVar("ArrayTree", importlib.import_module("jax").Array)

tree_ravel = raveler(functools.partial(ravel_by, importlib.import_module("jax.numpy")))
ravel_pytree = tree_ravel
