"""Trees of numpy arrays as one vector, as `optree.integrations.numpy` has it.

Example:
    >>> import numpy as np
    >>> from leafwise.compat.optree.integrations.numpy import tree_ravel
    >>> vector, unravel = tree_ravel({"w": np.ones((1, 2)), "b": np.zeros(1)})
    >>> vector.tolist(), unravel(vector)["w"].shape
    ([0.0, 1.0, 1.0], (1, 2))
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..typing import PyTreeTypeVar
from .ravel import ravel_by, raveler


__all__ = ["ArrayLikeTree", "ArrayTree", "tree_ravel"]

ArrayLikeTree: Any = PyTreeTypeVar("ArrayLikeTree", ArrayLike)
ArrayTree: Any = PyTreeTypeVar("ArrayTree", np.ndarray)

tree_ravel = raveler(functools.partial(ravel_by, np))
ravel_pytree = tree_ravel
