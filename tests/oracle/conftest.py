"""Peers are optional, unless the environment asks for them."""

import importlib
import os

import pytest


def peer(name):
    """Import a peer; without it skip, or fail if LEAFWISE_PEERS is "required"."""
    if os.environ.get("LEAFWISE_PEERS") == "required":
        return importlib.import_module(name)
    return pytest.importorskip(name)


@pytest.fixture(scope="session")
def jax_tree():
    """Return `jax.tree_util`."""
    return peer("jax.tree_util")


@pytest.fixture(scope="session")
def optree():
    """Return optree."""
    return peer("optree")


@pytest.fixture(scope="session")
def torch_tree():
    """Return torch's pytree module in Python."""
    return peer("torch.utils._pytree")


@pytest.fixture(scope="session")
def dm_tree():
    """Return dm-tree."""
    return peer("tree")


@pytest.fixture(scope="session")
def nnx():
    """Return Flax NNX."""
    return peer("flax.nnx")
