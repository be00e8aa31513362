"""Control flow of jax over modules, and `remat`, `eval_shape`: as in Flax NNX."""

import functools
import logging
import re

import numpy as np
import pytest

from leafwise import nn


def layer(library, *shape, **attributes):
    """Return a module of one of the libraries, with a parameter and a count."""

    class Layer(library.Module):
        def __init__(self):
            size = int(np.prod(shape))
            values = np.arange(1.0, size + 1, dtype=np.float32) / size
            self.w = library.Param(as_array(values.reshape(shape)))
            self.count = library.BatchStat(as_array(np.zeros(shape[:1])))
            for name, value in attributes.items():
                setattr(self, name, value)

        def __call__(self, x):
            self.count[...] = self.count[...] + 1
            return jnp().tanh(self.w[...] * x)

    return Layer()


def jnp():
    """Return `jax.numpy`."""
    import jax.numpy

    return jax.numpy


def lax():
    """Return `jax.lax`."""
    import jax.lax

    return jax.lax


def as_array(value):
    """Return an array of jax."""
    return jnp().asarray(value, dtype=np.float32)


def values_of(*objects):
    """Return the values of layers."""
    return [(one.w[...], one.count[...]) for one in objects]


# ------------------------------------------------------------------------------ remat


def remat_with_gradients(L):
    one = layer(L, 2)

    @L.remat
    def forward(one, x):
        return one(one(x))

    def loss(one, x):
        return forward(one, x).sum()

    x = as_array([1.0, 2.0])
    value, slope = L.value_and_grad(loss)(one, x)
    return value, slope["w"][...], forward(one, x), values_of(one)


def remat_with_options(L):
    one = layer(L, 2)

    @functools.partial(L.remat, static_argnums=(1,), prevent_cse=False)
    def forward(one, twice, x):
        return one(one(x)) if twice else one(x)

    found = forward(one, True, 2.0), forward(one, False, 2.0)
    return found, values_of(one), forward.__name__


def shapes(L):
    one = layer(L, 2)
    found = L.eval_shape(
        lambda one, x: (one(x), {"k": one.w[...] @ x}), one, np.ones(2)
    )
    made = L.eval_shape(lambda x: layer(L, 3), 1.0)
    return [x.shape for x in (found[0], found[1]["k"], made.w.get_raw_value())]


def scan_over_layers(L):
    graphdef, state = L.split(layer(L, 3))

    def step(x, state):
        return L.merge(graphdef, state)(x), x

    return lax().scan(step, as_array(0.5), state)


def cond_shares(L):
    one = layer(L, 2)
    one.tied = L.List([one.w])
    graphdef, state = L.split(one)

    def branch(by):
        def run(state):
            one = L.merge(graphdef, state)
            one.tied[0][...] = one.w[...] * by
            return L.state(one)

        return run

    L.update(one, lax().cond(True, branch(2.0), branch(3.0), state))
    assert one.tied[0] is one.w
    return values_of(one)


CASES = [
    scan_over_layers,
    cond_shares,
    remat_with_gradients,
    remat_with_options,
    shapes,
]


def plain(found):
    """Return what was found with lists for arrays and tuples."""
    if isinstance(found, dict):
        return {key: plain(value) for key, value in found.items()}
    if isinstance(found, tuple | list):
        return [*map(plain, found)]
    return np.asarray(found).tolist() if hasattr(found, "dtype") else found


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_control_flow_as_in_flax(case, nnx):
    """The same outcome with ours and with Flax NNX's."""
    assert plain(case(nn)) == plain(case(nnx))


def test_modules_are_trees_of_jax(jax):
    """Loops and branches of jax take them as they are, where nothing is shared."""
    one, xs = layer(nn, 2), as_array([1.0, 2.0, 3.0])

    def step(one, x):
        return one, one(x)

    again, ys = jax.lax.scan(step, one, xs)
    assert ys.shape == (3, 2)
    assert again is not one
    assert (again.count.value.tolist(), one.count.value.tolist()) == ([3, 3], [0, 0])
    again = jax.lax.fori_loop(0, 2, lambda i, one: step(one, 1.0)[0], again)
    assert again.count.value.tolist() == [5.0, 5.0]
    again = jax.lax.while_loop(
        lambda one: one.count.value[0] < 9, lambda one: step(one, 1.0)[0], again
    )
    assert again.count.value.tolist() == [9.0, 9.0]
    chosen = jax.lax.switch(1, [lambda one: one, lambda one: step(one, 1.0)[0]], again)
    assert chosen.count.value.tolist() == [10.0, 10.0]


def test_names_of_functions_in_logs(jax, caplog):
    """A compiled function has its own name there."""

    @nn.jit
    def my_step(one):
        return one.w[...] + 1

    class Model(nn.Module):
        def __init__(self):
            self.w = nn.Param(as_array([1.0]))

        def forward(self):
            return self.w[...] * 2

        def __call__(self):
            return self.w[...] * 3

    model = Model()
    with jax.log_compiles(), caplog.at_level(logging.WARNING):
        my_step(model)
        nn.jit(model.forward)()
        nn.jit(functools.partial(Model.forward, model))()
        nn.jit(model)()
    found = re.findall(r"Compiling jit\((\w+)\)", caplog.text)
    assert found == ["my_step", "forward", "forward", "Model"]
    assert my_step.__name__ == "my_step"
    assert my_step.__wrapped__.__name__ == "my_step"
    text = str(jax.make_jaxpr(lambda w: my_step(nn.Dict(w=nn.Param(w))))(1.0))
    assert "name=my_step" in text


def test_objects_that_were_captured(jax):
    """They may be read, and not changed: the error says so, nothing is lost."""
    one = layer(nn, 2)

    def changes(c, x=0.0):
        return c + one(1.0).sum(), x

    xs = as_array([1.0, 2.0])
    for call in (
        lambda: jax.lax.scan(changes, 0.0, xs),
        lambda: nn.remat(changes)(0.0),
        lambda: nn.vmap(changes)(xs),
        lambda: nn.grad(lambda x: changes(x)[0])(0.0),
        lambda: nn.remat(lambda x: one)(0.0),
        lambda: nn.vmap(lambda x: one)(xs),
    ):
        with pytest.raises(nn.TraceError, match=r"different trace level|is captured"):
            call()
    assert one.count.value.tolist() == [0.0, 0.0]

    @nn.jit
    def inside(x):  # an object of another level as an argument, and only read
        read = lambda m, x: m.w[...] * x  # noqa: E731  # what is transformed
        return [
            nn.vmap(read, in_axes=(None, 0))(one, xs).sum(0),
            nn.remat(read)(one, x),
            nn.jit(read)(one, x),
            nn.grad(lambda m, x: read(m, x).sum())(one, x)["w"][...],
            nn.share(lambda f: f)(read)(one, x),
        ]

    found = plain(inside(1.0))
    assert found == [[1.5, 3.0], *[[0.5, 1.0]] * 2, [1, 1], [0.5, 1]]


def test_no_tracer_is_left_behind(jax):
    """jax's own search finds none."""
    one = layer(nn, 3)
    with jax.checking_leaks():
        nn.remat(lambda one: one(1.0))(one)
        nn.jit(lambda one: one(1.0))(one)
        nn.grad(lambda one: one(1.0).sum())(one)
        jax.lax.scan(lambda one, x: (one, one(x)), one, as_array([1.0]))
        assert nn.vmap(lambda one: one(1.0))(one).shape == (3,)
    assert isinstance(one.count.value, jax.Array)


def test_axes_one_by_one(jax):
    """`prefix` makes an object of axes, of filters or of a function."""
    one = layer(nn, 3)
    axes = nn.prefix({"m": one}, {nn.Param: 0, ...: None})
    assert axes["m"] is not one
    assert [getattr(axes["m"], name).get_raw_value() for name in ("w", "count")] == [
        0,
        None,
    ]
    by_path = nn.prefix(one, lambda path, value: 0 if path == ("w",) else None)
    for spec, args in ((axes, {"m": one}), ({"m": by_path}, {"m": one})):
        f = nn.vmap(lambda tree: tree["m"].w[...] * 2, in_axes=(spec,))
        assert f(args).shape == (3,)
    with pytest.raises(ValueError, match=r"no filter .* value at \('count',\)"):
        nn.prefix(one, {nn.Param: 0})
    with pytest.raises(ValueError, match="matches everything, so later filters would"):
        nn.prefix(one, {...: 0, nn.Param: 1})
