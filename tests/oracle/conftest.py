"""Peers are optional, unless the environment asks for them."""

from peers import (
    distributed,
    dm_tree,
    equinox,
    jax,
    jax_tree,
    need,
    nnx,
    optax,
    optree,
    torch_tree,
)


__all__ = [
    "distributed",
    "dm_tree",
    "equinox",
    "jax",
    "jax_tree",
    "need",
    "nnx",
    "optax",
    "optree",
    "torch_tree",
]
