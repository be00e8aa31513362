"""Fixtures of the peers: libraries that are optional, unless LEAFWISE_PEERS says so."""

import importlib
import os
import sys

import pytest


def peer(name):
    """Import a peer; without it skip, or fail if LEAFWISE_PEERS is "required".

    LEAFWISE_WITHOUT names the peers that have no package for this Python.
    """
    if name.partition(".")[0] in os.environ.get("LEAFWISE_WITHOUT", "").split():
        pytest.skip(f"not on this Python: {name}")
    if os.environ.get("LEAFWISE_PEERS") == "required":
        return importlib.import_module(name)
    return pytest.importorskip(name)


@pytest.fixture(scope="session")
def need():
    """Return the function that imports a peer by its name."""
    return peer


@pytest.fixture(scope="session")
def jax_tree():
    """Return `jax.tree_util`."""
    return peer("jax.tree_util")


@pytest.fixture(scope="session")
def jax(jax_tree):
    """Return jax."""
    return sys.modules["jax"]


@pytest.fixture(scope="session")
def optax(jax):
    """Return optax."""
    return peer("optax")


@pytest.fixture(scope="session")
def equinox(jax):
    """Return Equinox."""
    return peer("equinox")


@pytest.fixture(scope="session")
def distributed():
    """Return dask.distributed."""
    return peer("distributed")


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
