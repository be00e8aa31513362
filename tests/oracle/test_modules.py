"""Modules beside those of Flax NNX, and under jax."""

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
    results = [float(step(change(), 1.0)) for change in modes]
    assert results == [1.0, -1.0, 1.0, -1.0]
    assert traced == [True, False]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_filters_by_a_part_of_the_path(nnx):
    """With names, positions and parts of both, exactly and not."""
    paths = [("layers", 0, "bias"), ("bias_net", "w"), (10, "x"), ("a.b",), ()]
    for key in ("bias", "b", 0, "0", 1, "", ".", 10, "layers"):
        for exact in (True, False):
            ours = nn.PathContains(key, exact=exact)
            theirs = nnx.PathContains(key, exact=exact)
            answers = [ours(path, None) for path in paths]
            assert answers == [theirs(path, None) for path in paths], (key, exact)
