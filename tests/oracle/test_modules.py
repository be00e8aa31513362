"""Modules beside those of Flax NNX, and under jax."""

import operator

import numpy as np
import pytest

from leafwise import nn


class Layer(nn.Module):
    def __init__(self, size, *inner):
        self.size = size
        self.weight = nn.Param(np.full(size, 2.0))
        self.inner = nn.List(inner)


def test_the_mode_is_part_of_what_is_compiled(jax):
    """A function is traced once for each mode."""
    traced = []

    @nn.jit
    def step(model, x):
        traced.append(model.is_training)
        return x if model.is_training else -x

    model = Layer(1)
    modes = (model.train, model.eval, model.train, model.eval)
    found = [float(step(change(), 1.0)) for change in modes]
    assert found == [1.0, -1.0, 1.0, -1.0]
    assert traced == [True, False]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_filters_by_a_part_of_the_path(nnx):
    """With names, positions and parts of both, exactly and not."""
    paths = [("layers", 0, "bias"), ("bias_net", "w"), (10, "x"), ("a.b",), ()]
    for key in ("bias", "b", 0, "0", 1, "", ".", 10, "layers"):
        for exact in (True, False):
            ours = nn.PathContains(key, exact=exact)
            theirs = nnx.PathContains(key, exact=exact)
            found = [ours(path, None) for path in paths]
            assert found == [theirs(path, None) for path in paths], (key, exact)


def test_copies_of_arrays(nnx, jax):
    """Those of variables and bare ones are other arrays; a donated copy is no loss."""

    def model_of(library):
        class Model(library.Module):
            def __init__(self):
                self.w = library.Param(jax.numpy.ones(2))
                self.bare = jax.numpy.zeros(2)

        return Model()

    for library in (nn, nnx):
        model = model_of(library)
        shared, copied = library.clone(model), library.clone(model, arrays=True)
        arrays = [model.w.get_value(), model.bare]
        same = map(operator.is_, leaves(jax, shared), leaves(jax, model))
        assert all(same)
        pointers = {array.unsafe_buffer_pointer() for array in arrays}
        others = {array.unsafe_buffer_pointer() for array in leaves(jax, copied)}
        assert len(others) == 2
        assert not pointers & others
        with pytest.raises(ValueError, match="variables"):
            library.clone(model, variables=False, arrays=True)


def leaves(jax, model):
    return jax.tree_util.tree_leaves(model)
