"""Transforms that keep sharing: jit case by case with Flax NNX, vmap, grad."""

import numpy as np
import pytest

import leafwise as lw
from leafwise import nn


def layer(library, **attributes):
    """Return a module of one of the libraries with some attributes."""

    class Layer(library.Module):
        def __init__(self):
            self.w = library.Param(np.ones(2, np.float32))
            for name, value in attributes.items():
                setattr(self, name, value)

    return Layer()


def made_inside_and_returned_twice(jit, library):
    def f(m):
        inner = layer(library)
        return inner, m, inner

    one = layer(library)
    a, b, c = jit(f)(one)
    return a is c, b is one, a is one


def retracing(jit, library):
    traced = []
    one = layer(library, size=1)

    @jit
    def f(m):
        traced.append(m.size)
        return m.w[...]

    f(one)
    f(one)
    one.w[...] = np.zeros(2, np.float32)
    f(one)
    one.size = 3
    f(one)
    return traced


def lists_that_grow(jit, library):
    def f(m):
        m.log.append(len(m.log))

    one = layer(library, log=[])
    other = layer(library, log=[])
    jitted = jit(f)
    for m in (one, other):
        jitted(m)
    return one.log, other.log, one.log is other.log


def texts_in_containers(jit, library):
    def f(m):
        m.held["name"] += "y"
        return m.held["w"] * 2

    one = layer(library)
    one.held = library.data({"name": "x", "none": None, "w": np.ones(2)})
    jitted = jit(f)
    results = [np.asarray(jitted(one)).tolist() for _ in range(3)]
    return results, one.held["name"], one.held["none"]


CASES = [
    lists_that_grow,
    texts_in_containers,
    made_inside_and_returned_twice,
    retracing,
]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_jit_as_in_flax(case, nnx):
    """The same outcome with `jit` of ours and `nnx.jit`."""
    assert case(nn.jit, nn) == case(nnx.jit, nnx)


def test_statics_stay_those_of_their_module(jax):
    """Also where the function changes something else."""
    one, other = (layer(nn, config={"a": [1]}, old=1) for _ in range(2))
    configs = one.config, other.config
    f = nn.jit(lambda m: delattr(m, "old"))
    f(one)
    f(other)
    assert (one.config is configs[0], other.config is configs[1]) == (True, True)


@pytest.mark.parametrize(
    "keep",
    [
        pytest.param(lambda m, x: m.w.set_metadata("seen", x), id="metadata"),
        pytest.param(lambda m, x: m.w.set_metadata(seen=[x]), id="a list in metadata"),
        pytest.param(lambda m, x: m.log.append({"x": x}), id="a static list"),
    ],
)
def test_a_traced_value_in_something_static_is_refused(keep, jax):
    """It would be there after the call; nothing is changed."""
    one = layer(nn, log=[])
    for transform in (nn.jit, nn.grad):
        with pytest.raises(lw.errors.TraceError, match="holds a value that is being"):
            transform(lambda m, x: (keep(m, m.w.sum()), m.w.sum())[1])(one, 1.0)
        assert (one.log, one.w.get_metadata()) == ([], {})


def test_no_tracer_leaks(jax):
    """What is written back is concrete."""
    one = layer(nn)
    with jax.checking_leaks():
        nn.jit(lambda m: setattr(m, "y", m.w[...] + 1))(one)
    assert isinstance(one.y, jax.Array)
    assert one.y.tolist() == [2.0, 2.0]


def test_vmap(jax):
    """Changes come back along the axis of the argument; ties are refused."""
    batched = layer(nn)
    batched.w.value = jax.numpy.arange(6.0).reshape(3, 2)
    fixed = layer(nn)
    x = jax.numpy.ones((2, 3))

    def f(batched, fixed, x):
        batched.sum = (batched.w[...] * fixed.w[...]).sum() + x.sum()
        return batched.w[...] * 2, batched

    out, again = nn.vmap(f, in_axes=(0, None, 1))(batched, fixed, x)
    assert again is batched
    assert out.tolist() == [[0.0, 2.0], [4.0, 6.0], [8.0, 10.0]]
    assert batched.sum.tolist() == [3.0, 7.0, 11.0]
    assert fixed.w.value.tolist() == [1.0, 1.0]
    with pytest.raises(
        ValueError,
        match="batched and fixed are the same Layer, which can only",
    ):
        nn.vmap(f, in_axes=(0, None, 1))(batched, batched, x)
    with pytest.raises(
        ValueError, match="in_axes is of length 1, and there are 3 arguments"
    ):
        nn.vmap(f, in_axes=(0,))(batched, fixed, x)
    assert nn.vmap(lambda a, b: a + b)(x, x).shape == (2, 3)


def test_value_and_grad(jax):
    """Gradients by filter, changes written back, whatever is beside the number."""

    class Model(nn.Module):
        def __init__(self):
            self.w = nn.Param(jax.numpy.ones(2))
            self.tied = self.w
            self.calls = nn.BatchStat(0)

        def __call__(self, x):
            self.calls[...] += 1
            return self.perturb("p", x * self.w)

    model = Model()
    x = jax.numpy.arange(2.0) + 1

    def loss(model, x):
        y = model(x)
        return (y**2).sum(), y

    (value, y), gradients = nn.value_and_grad(loss, has_aux=True)(model, x)
    assert (float(value), y.tolist()) == (5.0, [1.0, 2.0])
    assert nn.to_flat_state(gradients).paths == (("w",),)
    assert gradients.w.value.tolist() == [2.0, 8.0]
    assert int(model.calls.value) == 1
    by_p = nn.grad(loss, wrt=nn.Perturbation, has_aux=True)
    assert by_p(model, x)[0].p.value.tolist() == [2.0, 4.0]
    assert int(model.calls.value) == 2
    jitted = nn.jit(nn.grad(lambda m, x: loss(m, x)[0]))
    assert jitted(model, x).w.value.tolist() == [2.0, 8.0]
    assert int(model.calls.value) == 3
    with pytest.raises(ValueError, match=r"OfType\(Cache\) matches no value of"):
        nn.grad(loss, wrt=nn.Cache)(model, x)
    with pytest.raises(
        ValueError, match=r"for a name use nn.PathContains\('weight'\)$"
    ):
        nn.grad(loss, wrt="weight")(model, x)


def test_gradients_of_several_arguments(jax):
    """Objects by filter, anything else whole; what is tied has one gradient."""
    jnp = jax.numpy
    model = nn.Dict(w=nn.Param(jnp.ones(2)), scale=nn.Cache(jnp.ones(2)))
    batch = {"x": jnp.arange(2.0), "more": [jnp.ones(2), None]}
    state = nn.state(nn.Dict(p=nn.Perturbation(jnp.zeros(2))))

    def loss(model, batch, state, power):
        inside = model.w * model.scale * batch["x"] + batch["more"][0] + state.p
        return (inside**power).sum()

    args = model, batch, state, 2.0
    both = nn.grad(loss, argnums=(0, 1, 2, -1))
    of_model, of_batch, of_state, of_power = both(*args)
    assert nn.to_flat_state(of_model).paths == (("w",),)
    assert of_model.w.value.tolist() == [0.0, 4.0]
    assert of_batch["x"].tolist() == [2.0, 4.0]
    assert lw.tree_structure(of_batch) == lw.tree_structure(batch)
    assert type(of_state.p) is nn.Perturbation
    assert of_state.p.value.tolist() == [2.0, 4.0]
    assert float(of_power) == pytest.approx(4 * np.log(2))
    by_filters = nn.grad(loss, argnums=(0, 3), wrt=(nn.Cache, ...))
    assert by_filters(*args)[0].scale.value.tolist() == [0.0, 4.0]

    fixed = nn.Dict(w=nn.Cache(jnp.ones(2)))
    some = nn.grad(lambda a, b: (a.w * b.w).sum(), argnums=(0, 1))(model, fixed)
    assert (some[0].w.value.tolist(), some[1]) == ([1.0, 1.0], nn.State())

    tied = nn.Param(jnp.ones(1))
    two = nn.grad(lambda a, b: (a[0] * b["k"]).sum(), argnums=(0, 1))
    for gradient in (two([tied], {"k": tied})[0][0], two([tied], {"k": tied})[1]["k"]):
        assert gradient.value.tolist() == [2.0]
    with pytest.raises(ValueError, match="argnums has 2, but there are 1 arguments"):
        nn.grad(loss, argnums=2)(model)
