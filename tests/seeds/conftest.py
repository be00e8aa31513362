"""The examples that need jax run where it is installed."""

from peers import jax, jax_tree, optax


__all__ = ["jax", "jax_tree", "optax"]
