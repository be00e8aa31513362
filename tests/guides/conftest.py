"""The examples of guides to jax, Flax NNX and PAX, run with leafwise.

Those that need jax run where it is installed.
"""

import pytest

from helpers.peers import jax, jax_tree, optax, peer


__all__ = ["jax", "jax_tree", "optax"]


@pytest.fixture(params=["leafwise", "jax.tree_util"])
def tree_util(request):
    """Return what has the functions of `jax.tree_util`: leafwise, and jax itself."""
    return peer(request.param)
