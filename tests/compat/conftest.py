"""Peers are optional, unless the environment asks for them."""

from peers import dm_tree, jax, jax_tree, need, optax, optree, torch_tree


__all__ = ["dm_tree", "jax", "jax_tree", "need", "optax", "optree", "torch_tree"]
