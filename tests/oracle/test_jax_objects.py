"""Objects with real jax arrays: the NNX cases again, and what only jax has."""

import pytest

import leafwise as lw
from helpers.nnx_pytree_cases import *  # noqa: F403
from leafwise import nn


@pytest.fixture
def xp(jax):
    """Return jax's numpy, for the cases."""
    return jax.numpy


@pytest.fixture
def tree_util(jax_tree):
    """Return jax's functions of trees, for the cases."""
    return jax_tree


class Model(lw.Pytree):
    def __init__(self, x):
        self.x = x


def test_arrays_of_jax(jax):
    """Arrays, keys and mutable arrays are data; shapes and scalars are not."""
    for value in (
        jax.numpy.ones(2),
        jax.numpy.array(1),
        jax.random.key(0),
        jax.random.PRNGKey(0),
        jax.new_ref(jax.numpy.ones(2)),
    ):
        assert nn.is_data(value)
        assert lw.tree_leaves(Model(value))[0] is value
    for value in (
        jax.ShapeDtypeStruct((2,), "float32"),
        jax.numpy.float32,
        jax.numpy.dtype("bfloat16").type(1),
        jax.numpy.ones,
    ):
        assert not nn.is_data(value)


def test_tracers_are_data(jax):
    """Whatever the transform: the type of a tracer is no subclass of jax.Array."""
    leaves = []

    def build(x):
        model = Model(x)
        assert nn.is_data(x)
        assert nn.name_to_kind(model) == {"x": nn.Kind.DATA}
        assert lw.tree_leaves(model)[0] is x
        with pytest.raises(lw.errors.KindError, match="dtype float32"):
            Model([x])
        leaves.append(type(x).__name__)
        return (x * 2.0).sum()

    x = jax.numpy.ones(3)
    jax.jit(build)(x)
    jax.vmap(build)(x)
    jax.grad(build)(x)
    jax.eval_shape(build, x)
    jax.jit(jax.vmap(jax.grad(build)))(x)
    assert len(set(leaves)) > 1
