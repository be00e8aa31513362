"""Transforms of jax for functions of objects.

Functions receive objects with their shared references intact, and their changes are
written back to the caller's objects. jax's own control flow, such as `jax.lax.scan` and
`jax.lax.cond`, takes modules as they are, since they are pytrees. jax is imported when
a transform is first used.
"""

from .calls import pure
from .grad import grad, value_and_grad
from .jit import eval_shape, jit, remat
from .vmap import prefix, vmap


__all__ = [
    "eval_shape",
    "grad",
    "jit",
    "prefix",
    "pure",
    "remat",
    "value_and_grad",
    "vmap",
]
