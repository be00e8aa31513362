"""`nn.Rngs` and `nn.Optimizer` beside those of Flax NNX: the same numbers."""

import functools
import random
import subprocess
import sys

import numpy as np
import pytest

import leafwise as lw
from leafwise import nn


pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def comparable(jax, value):
    """Return a key, or an array, as what can be compared."""
    if hasattr(value, "dtype") and jax.numpy.issubdtype(
        value.dtype, jax.dtypes.prng_key
    ):
        value = jax.random.key_data(value)
    return np.asarray(value).tolist()


def facts_of(library, jax, rngs):
    """Return all that a set of streams is."""
    return {
        name: (
            stream.tag,
            comparable(jax, stream.key.get_value()),
            comparable(jax, stream.count.get_value()),
        )
        for name, stream in rngs.items()
    }


NAMES = ("default", "params", "dropout", "noise", "elsewhere")


def random_program(seed):
    """Return steps that make streams and take keys from them."""
    pick = random.Random(seed)
    seeds = {
        name: pick.randrange(100)
        for name in [*pick.sample(NAMES[:4], pick.randint(1, 4)), "default"]
    }
    only = {
        pick.choice(["params", "noise", ...]): pick.choice([2, (2, 3), None, 1])
        for _ in range(2)
    }
    only = dict(sorted(only.items(), key=lambda item: item[0] is ...))
    kinds = ["call", "call", "item", "draw", "initialize", "fork", "split", "broadcast"]
    return seeds, [
        (pick.choice(kinds), pick.choice(NAMES), pick.choice([3, (2,), only]))
        for _ in range(12)
    ]


@pytest.mark.parametrize("seed", range(10))
def test_streams(nnx, jax, seed):
    """Keys, counts, what is drawn, and what is forked and split, step by step."""

    def run(library):
        seeds, steps = random_program(seed)
        rngs = library.Rngs(seeds)
        drawn = []
        for kind, name, shape in steps:
            stream = getattr(rngs, name)
            if kind == "call":
                drawn.append(comparable(jax, stream()))
            elif kind == "item":
                drawn.append(comparable(jax, rngs[name]()))
            elif kind == "draw":
                drawn.append(comparable(jax, stream.randint((3,), 0, 1000)))
            elif kind == "initialize":
                drawn.append(comparable(jax, stream.lecun_normal()((2, 3), "float32")))
            elif kind == "fork":
                rngs = rngs.fork()
            else:
                drawn.append(facts_of(library, jax, getattr(rngs, kind)(shape)))
            drawn.append(facts_of(library, jax, rngs))
        return drawn

    assert run(nn) == run(nnx)


def test_streams_in_compiled_functions(nnx, jax):
    """Counts come back; what was split is mapped over; captured ones are refused."""

    def run(library):
        rngs = library.Rngs(0, noise=1)

        @library.jit
        def draw(rngs):
            return rngs.noise.normal((2,)), rngs()

        drawn = [comparable(jax, part) for _ in range(2) for part in draw(rngs)]
        parts = rngs.split(3)

        @functools.partial(library.vmap, in_axes=(0,))
        def mapped(rngs):
            return rngs.noise.uniform()

        return [*drawn, comparable(jax, mapped(parts)), facts_of(library, jax, rngs)]

    assert run(nn) == run(nnx)
    rngs = nn.Rngs(0)
    with pytest.raises(nn.TraceError):
        jax.jit(lambda x: x + rngs.uniform())(1.0)
    assert int(rngs.default.count) == 0


# ------------------------------------------------------------------- optimizers


def models(library):
    """Return a model with shared, frozen-free and other variables, and a batch."""

    class Layer(library.Module):
        def __init__(self, inputs, outputs, rngs):
            self.kernel = library.Param(rngs.params.normal((inputs, outputs)))
            self.bias = library.Param(rngs.params.uniform((outputs,)))

        def __call__(self, x):
            return x @ self.kernel[...] + self.bias[...]

    class Model(library.Module):
        def __init__(self, rngs):
            self.layers = library.List([Layer(2, 3, rngs), Layer(3, 3, rngs)])
            self.tied = self.layers[1]
            self.calls = library.BatchStat(np.zeros((), np.int32))

        def __call__(self, x):
            for layer in [*self.layers, self.tied]:
                x = layer(x) / 2
            return x

    return Model(library.Rngs(params=3))


TRANSFORMATIONS = {
    "sgd": lambda o: o.sgd(0.1),
    "momentum": lambda o: o.sgd(0.1, momentum=0.9),
    "adamw": lambda o: o.adamw(0.01),
    "chain": lambda o: o.chain(o.clip_by_global_norm(0.1), o.adam(0.1)),
    "schedule": lambda o: o.sgd(o.linear_schedule(0.1, 0.0, 5)),
    "hyperparameters": lambda o: o.inject_hyperparams(o.adam)(learning_rate=0.1),
    "several": lambda o: o.MultiSteps(o.sgd(0.1), 2),
    "adafactor": lambda o: o.adafactor(0.1),
}
"""Transformations with states of all sorts."""


@pytest.mark.parametrize("name", TRANSFORMATIONS)
@pytest.mark.parametrize("compiled", [False, True])
def test_the_same_training(nnx, jax, optax, name, compiled):
    """Losses, parameters and states of optax, step by step."""

    def run(library):
        model = models(library)
        tx = TRANSFORMATIONS[name](optax)
        optimizer = library.Optimizer(model, tx, wrt=library.Param)
        x = jax.numpy.ones((4, 2))
        y = jax.numpy.full((4, 3), 0.5)

        def step(model, optimizer, x, y):
            def loss_of(model):
                return ((model(x) - y) ** 2).mean()

            loss, grads = library.value_and_grad(loss_of)(model)
            optimizer.update(model, grads)
            return loss

        step = library.jit(step) if compiled else step
        losses = [float(step(model, optimizer, x, y)) for _ in range(4)]
        params = library.to_flat_state(library.state(model, library.Param))
        states = jax.tree_util.tree_leaves(optimizer.opt_state)
        return (
            losses,
            [np.asarray(variable[...]) for variable in params.leaves],
            sorted(map(np.asarray, states), key=shape_and_values),
            int(optimizer.step[...]),
        )

    def shape_and_values(array):
        """Return what arrays are sorted by: flax has the parameters by name."""
        return array.shape, array.ravel().tolist()

    ours = run(nn)
    theirs = run(nnx)
    assert ours[0][0] > ours[0][-1]
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-5)
    for mine, other in ((ours[1], theirs[1]), (ours[2], theirs[2])):
        assert len(mine) == len(other)
        for one, two in zip(
            sorted(mine, key=np.sum), sorted(other, key=np.sum), strict=True
        ):
            np.testing.assert_allclose(one, two, rtol=1e-4, atol=1e-6)
    assert ours[3] == theirs[3] == 4


class Net(nn.Module):
    """Layers, statistics and streams."""

    def __init__(self, seed):
        self.rngs = nn.Rngs(seed)
        self.linear = nn.Linear(2, 3, rngs=self.rngs)
        self.norm = nn.BatchNorm(3, rngs=self.rngs)
        self.dropout = nn.Dropout(0.5, rngs=self.rngs)

    def __call__(self, x):
        return nn.relu(self.dropout(self.norm(self.linear(x))))


@pytest.mark.parametrize("seed", range(8))
def test_training_is_resumed_from_a_file(jax, optax, tmp_path, seed):
    """Objects or their states, saved without any option, go on exactly as they were."""
    pytest.importorskip("safetensors")
    pick = random.Random(seed)
    make = TRANSFORMATIONS[list(TRANSFORMATIONS)[seed]]
    suffix = pick.choice(["npz", "safetensors"])
    are_states = [pick.choice([False, True]) for _ in range(3)]
    path = tmp_path / f"training.{suffix}"
    x = jax.numpy.arange(8.0).reshape(4, 2)

    def begin(seed):
        model = Net(seed)
        optimizer = nn.Optimizer(model, make(optax), wrt=nn.Param)
        return model, optimizer, nn.Rngs(seed, noise=3)

    def train(training, steps):
        model, optimizer, rngs = training
        for _ in range(steps):
            noisy = x + rngs.noise.normal(x.shape)

            def loss(model, x):
                return (model(x) ** 2).mean()

            value, grads = nn.value_and_grad(loss)(model, noisy)
            optimizer.update(model, grads)
        return float(value), nn.to_pure_dict(nn.state(training))

    def train_step(training):
        pairs = zip(training, are_states, strict=True)
        return [nn.state(part) if is_state else part for part, is_state in pairs]

    first = begin(0)
    again = list(begin(1))
    train(first, pick.randint(1, 3))
    lw.save(path, train_step(first))
    for n, part in enumerate(lw.load(path, train_step(again))):
        if are_states[n]:
            nn.update(again[n], part)
        else:
            again[n] = part
    assert lw.tree_equal(train(first, 3), train(again, 3), typematch=True)
    if are_states[1]:
        assert lw.tree_structure(lw.load(path)) == lw.tree_structure(train_step(first))
    else:
        with pytest.raises(
            lw.errors.FileError, match=r"code without a name.* as `like`"
        ):
            lw.load(path)


def test_layers_of_flax_are_refused(jax, nnx):
    """They would be left out of training; the error says what to do."""
    model = nn.Module()
    with pytest.raises(lw.errors.KindError, match="Linear, which jax knows as a node"):
        model.layer = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
    with pytest.raises(lw.errors.KindError, match="Dropout, which jax knows"):
        model.layer = nnx.Dropout(0.5)  # it holds no array, but has a mode
    model.layer = nn.static(nnx.Dropout(0.5))
    assert lw.tree_leaves(model) == []


@pytest.mark.slow  # it imports torch
def test_layers_of_torch_are_refused():
    """In any form, and with the ways that there are."""
    torch = pytest.importorskip("torch", reason="torch is not on this Python")

    class Model(nn.Module):
        pass

    model = Model()
    layer = torch.nn.Linear(2, 3)
    values = [layer, [layer], {"a": (layer,)}, nn.data(layer), torch.nn.Dropout()]
    for value in values:
        with pytest.raises(lw.errors.KindError, match="a module of torch: it would"):
            model.layer = value
        assert vars(model) == {}
    model.layer = nn.static(layer)
    model.weight = nn.Param(layer.weight.detach())
    assert len(lw.tree_leaves(model)) == 1


ADOPTED = """
import jax, leafwise as lw
from flax import nnx
from leafwise import nn

lw.integrations.adopt("jax")
model = nn.Module()
for layer in (nnx.Linear(2, 3, rngs=nnx.Rngs(0)), nnx.Dropout(0.5)):
    try:
        model.layer = layer
    except lw.errors.KindError as error:
        assert "a module of flax.nnx" in str(error), error
        assert "1. mark it as data(...): its arrays become leaves" in str(error), error
        assert "adopt" not in str(error), error
    else:
        raise AssertionError(layer)
model.layer = nn.data(nnx.Linear(2, 3, rngs=nnx.Rngs(0)))
assert len(lw.tree_leaves(model)) == 2
model.layer = nnx.Linear(2, 3, rngs=nnx.Rngs(1))  # it is data by now
class Model(lw.Pytree):
    pass
try:
    Model().layer = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
except lw.errors.KindError as error:
    assert "mark the whole Linear as data" in str(error), error
    assert "adopt" not in str(error), error
"""


def test_what_is_adopted_is_not_to_be_adopted_again(nnx):
    """The hints are those that still help."""
    finished = subprocess.run(
        [sys.executable, "-c", ADOPTED], capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stderr
