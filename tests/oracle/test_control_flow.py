"""Control flow of jax over modules, and `remat`, `eval_shape`: as in Flax NNX."""

import functools

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


CASES = [
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
