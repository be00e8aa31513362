"""Peers are optional, unless the environment asks for them."""

from peers import (
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

collect_ignore_glob = ["client_*.py"]  # programs, which run in processes of their own
