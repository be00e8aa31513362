"""The examples of Flax NNX's "Module & Pytree" that need jax, with our classes."""

import numpy as np
import pytest

import leafwise as lw
from helpers.nnx_pytree_cases import Never, Off
from leafwise import nn as nnx


@pytest.fixture
def models(jax):
    """Return the models; they import jax."""
    from helpers import nnx_guide_models

    return nnx_guide_models


def test_a_module_under_plain_jit(jax, models):
    """The object goes into `jax.jit` as any pytree does."""
    rngs = nnx.Rngs(0)
    weights = nnx.Linear(2, 3, rngs=rngs)

    @jax.jit
    def forward(weights, x):
        return x @ weights.kernel

    x = rngs.uniform((5, 2))
    y = forward(weights, x)
    assert y.shape == (5, 3)
    np.testing.assert_allclose(y, np.asarray(x) @ np.asarray(weights.kernel), 1e-5)
    paths = jax.tree_util.tree_flatten_with_path(weights)[0]
    assert [jax.tree_util.keystr(path) for path, _ in paths] == [
        ".kernel.value",
        ".bias.value",
    ]


@pytest.mark.parametrize("cls", [Off, Never])
def test_jit_on_what_is_no_pytree(cls, jax):
    """It is a leaf to jax, and can be changed under our `jit`."""
    foo = cls().fill(jax.numpy)

    @nnx.jit
    def double(foo):
        foo.a = [x * 2 for x in foo.a]
        foo.b *= 2

    double(foo)
    assert [int(x) for x in (*foo.a, foo.b)] == [2, 4, 6]
    assert repr(nnx.state(foo)) == (
        "State({'a': {0: i32[](2), 1: i32[](4)}, 'b': i32[](6)})"
    )
    assert jax.tree_util.all_leaves([foo])


@pytest.mark.parametrize("compiled", [False, True])
def test_sown_intermediates(compiled, jax, models):
    """Each block's mean is popped under the path of the block."""
    model = models.MLP(3, 20, nnx.Rngs(0))
    x = jax.numpy.ones((10, 20))
    call = nnx.jit(type(model).__call__) if compiled else type(model).__call__
    y = call(model, x)
    intermediates = nnx.pop(model, nnx.Intermediate)
    assert list(intermediates.blocks) == [0, 1, 2]
    last = intermediates.blocks[2].y_mean
    assert type(last) is nnx.Intermediate
    assert type(last.value) is tuple
    np.testing.assert_allclose(last.value[0], np.mean(y), rtol=1e-5)
    assert nnx.to_flat_state(nnx.state(model, nnx.Intermediate)).paths == ()
    assert int(model.blocks[0].dropout.rngs.count) == 1
    means = [float(intermediates.blocks[place].y_mean.value[0]) for place in range(3)]
    printed = [4.659754e-06, 0.00025933, 0.05561922]  # by the page, and by Flax
    np.testing.assert_allclose(means, printed, rtol=1e-3)
    assert float(model.blocks[0].bn.var.value[0]) < 1.0


def test_training_with_perturbations(jax, optax, models):
    """Gradients for the parameters train the model; one for an intermediate is seen."""
    rngs = nnx.Rngs(0)
    model = models.Perturbed(rngs)
    optimizer = nnx.Optimizer(model, tx=optax.sgd(1e-1), wrt=nnx.Param)
    x = rngs.uniform((1, 2))
    y = rngs.uniform((1, 4))
    model(x)
    assert str(nnx.state(model, nnx.Perturbation)) == (
        "State({\n  'xgrad': Perturbation(value=f32[1,3]([[0, 0, 0]]))  # 3 (12 B)\n})"
    )
    train_step = nnx.jit(models.train_step)

    def inner_gradient(model):
        """Return the gradient at the intermediate, worked out by hand."""
        error = model.linear2(jax.nn.gelu(model.linear1(x))) - y
        return (2 * error / error.size) @ model.linear2.kernel.value.T

    losses = []
    for _ in range(3):
        expected = inner_gradient(model)
        before = np.mean((np.asarray(model(x)) - y) ** 2)
        loss, inner = train_step(model, optimizer, x, y)
        assert type(inner.xgrad) is nnx.Perturbation
        np.testing.assert_allclose(inner.xgrad.value, expected, rtol=1e-5)
        np.testing.assert_allclose(loss, before, rtol=1e-5)
        losses.append(float(loss))
    np.testing.assert_allclose(losses[:2], [0.7326511, 0.65039134], rtol=1e-5)
    assert losses[1] > losses[2]
    assert int(optimizer.step) == 3
    assert model.xgrad.value.tolist() == [[0.0, 0.0, 0.0]]


def test_gradients_come_in_the_order_of_the_weights(jax):
    """The leaves of the gradient pair with those of the model, in any nesting."""
    rngs = nnx.Rngs(0)
    model = nnx.List([nnx.Linear(2, 3, rngs=rngs), nnx.Linear(3, 1, rngs=rngs)])
    x = rngs.uniform((5, 2))

    def loss(model, x):
        return (model[1](model[0](x)) ** 2).mean()

    weights = lw.tree_leaves(model)
    gradients = lw.tree_leaves(nnx.grad(loss)(model, x))
    assert len(weights) == 4
    for weight, gradient in zip(weights, gradients, strict=True):
        assert weight.shape == gradient.shape
    assert lw.tree_paths(nnx.state(model)) == [
        ((lw.DictKey(place), lw.DictKey(name), lw.GetAttrKey("value")))
        for place in (0, 1)
        for name in ("kernel", "bias")
    ]
