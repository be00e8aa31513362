"""Agreement with Flax NNX on what both do with objects."""

import numpy as np
import pytest

from leafwise import nn


def models(library):
    """Return a class of modules with what both libraries know, of one of them."""

    class Layer(library.Module):
        def __init__(self, size):
            self.size = size
            self.w = library.Param(np.full((size, 2), 3.0))
            self.stat = library.BatchStat(np.zeros(2))
            self.bare = np.ones(1)

    class Model(library.Module):
        def __init__(self):
            self.layers = library.List([Layer(1), Layer(2)])
            self.tied = self.layers[0]
            self.table = library.Dict(b=Layer(3), a=library.Param(np.ones(1)))
            self.also = self.layers[1].w

    return Model()


def flat(library, state):
    """Return paths and bare values of a state."""
    found = library.to_flat_state(state)
    pairs = zip(found.paths, found.leaves, strict=True)
    return {
        path: np.asarray(getattr(leaf, "value", leaf)).tolist() for path, leaf in pairs
    }


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_states(nnx):
    """The same paths and values, for each filter; what is shared comes once."""
    ours, theirs = models(nn), models(nnx)
    for mine, other in (
        (..., ...),
        (nn.Param, nnx.Param),
        (nn.filters.Not(nn.Param), nnx.Not(nnx.Param)),
        (nn.filters.PathContains("stat"), nnx.PathContains("stat")),
        ([nn.BatchStat, "params"], [nnx.BatchStat, nnx.Param]),
    ):
        found = flat(nn, nn.state(ours, mine))
        expected = flat(nnx, nnx.state(theirs, other))
        # of two names for one variable, each library takes the first that it meets
        rename = {("also",): ("layers", 1, "w"), ("tied",): ("layers", 0)}

        def canonical(flat_state, rename=rename):
            return {
                (*rename.get(path[:1], path[:1]), *path[1:]): value
                for path, value in flat_state.items()
            }

        assert canonical(found) == canonical(expected)


def no_trees(library):
    """Return an object that is no tree, with texts and numbers in its containers."""

    class Layer(library.Module):
        def __init__(self):
            self.w = library.Param(np.full(2, 0.5, np.float32))

    class Net(library.Module, pytree=False):
        def __init__(self):
            self.layers = [("sin", Layer()), ("cos", Layer())]
            self.table = {"size": 2, "scale": np.ones(2, np.float32)}

        def __call__(self, x):
            import jax.numpy as jnp

            for name, layer in self.layers:
                x = getattr(jnp, name)(x * layer.w[...])
                layer.w[...] = layer.w[...] + 1
            return x.reshape(self.table["size"]) * self.table["scale"]

    return Net()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_texts_beside_layers_in_objects_that_are_no_trees(nnx):
    """The same states, results and changes under `jit` as in Flax."""
    results = []
    for library, jit in ((nn, nn.jit), (nnx, nnx.jit)):
        net = no_trees(library)
        found = flat(library, library.state(net))
        made = jit(lambda net, x: net(x))(net, np.ones(2, np.float32))
        assert net.layers[0][0] == "sin"
        results.append((found, made.tolist(), flat(library, library.state(net))))
    assert results[0] == results[1]


def test_duplicates(nnx):
    """The same groups of paths, in whatever order."""

    def groups(found):
        return sorted(sorted(map(repr, group)) for group in found)

    ours = groups(nn.find_duplicates(models(nn)))
    theirs = groups(nnx.find_duplicates(models(nnx)))
    assert ours == theirs
    assert len(ours) == 2


def double(_, value):
    """Return a variable with twice its value; anything else as it is."""
    if not hasattr(value, "get_metadata"):
        return value
    return value.replace(value.get_value() * 2)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_update_and_merge(nnx):
    """Values that go in are those that come out, under all names."""
    for library in (nn, nnx):
        model = models(library)
        graphdef, state = library.split(model)
        doubled = library.map_state(double, state)
        merged = library.merge(graphdef, doubled)
        assert merged.tied is merged.layers[0]
        assert merged.also is merged.layers[1].w
        library.update(model, doubled)
        for found in (model, merged):
            assert np.asarray(found.tied.w[...]).tolist() == [[6.0, 6.0]]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_popping_what_stands_twice(nnx):
    """The same state; Flax leaves all names but the first, and we leave none."""

    def tied(library):
        model = library.Module()
        model.a = library.Intermediate(1)
        model.b = model.a
        model.inner = library.Module()
        model.inner.c = model.a
        model.w = library.Param(2)
        return model

    ours, theirs = tied(nn), tied(nnx)
    mine, other = nn.pop(ours, nn.Intermediate), nnx.pop(theirs, nnx.Intermediate)
    assert flat(nn, mine) == flat(nnx, other) == {("a",): 1}
    assert flat(nnx, nnx.state(theirs, nnx.Intermediate)) == {("b",): 1}
    assert theirs.inner.c.get_value() == 1
    assert nn.state(ours, nn.Intermediate) == nn.State({})
    assert not hasattr(ours.inner, "c")
    assert flat(nn, nn.state(ours)) == {("w",): 2}


def test_flat_states_of_what_stands_twice(nnx):
    """Once in the state of an object, twice where the state has it twice."""
    for library in (nn, nnx):
        shared = library.Param(1)
        model = library.Module()
        model.a, model.b = shared, shared
        assert library.to_flat_state(library.state(model)).paths == (("a",),)
        state = library.State({"a": shared, "b": {"c": shared}})
        found = library.to_flat_state(state)
        assert found.paths == (("a",), ("b", "c"))
        assert found.leaves[0] is found.leaves[1] is shared
        back = library.from_flat_state(found)
        assert back["b"]["c"] is back["a"]
        with pytest.raises((TypeError, AttributeError)):
            library.to_flat_state(model)
    ours = nn.to_flat_state({"b": 1, "a": 2})
    theirs = nnx.to_flat_state(nnx.State({"b": 1, "a": 2}))
    assert ours.paths == (("b",), ("a",))
    assert theirs.paths == (("a",), ("b",))
    assert ours[("b",)] == 1
    assert theirs[1] == (("b",), 1)
    assert len(nnx.statelib.FlatState.merge(theirs, theirs)) == 4


def sowing(library):
    """Return a model that sows and perturbs, in a module that stands twice."""

    class Inner(library.Module):
        def __call__(self, x):
            self.sow(library.Intermediate, "seen", x)
            return self.perturb("at", x) * 3

    class Model(library.Module):
        def __init__(self):
            self.inner = Inner()
            self.w = library.Param(np.float32(2))

        def __call__(self, x):
            y = self.inner(x) + self.inner(x)
            self.sow(library.Intermediate, "sum", y)
            return (y * self.w[...]).sum()

    return Model()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_captured_perturbations_and_their_gradients(nnx):
    """The same states, step by step, and the same gradients at the perturbations."""

    def numbers(state):
        paths = {}
        for path, value in flat_pairs(state):
            paths[path] = [np.asarray(x).tolist() for x in value]
        return paths

    def flat_pairs(state):
        library = nn if isinstance(state, nn.State) else nnx
        found = library.to_flat_state(state)
        for path, leaf in zip(found.paths, found.leaves, strict=True):
            value = leaf.get_value()
            yield path, value if isinstance(value, tuple) else (value,)

    def steps(library, grad):
        model, x = sowing(library), np.ones(2, np.float32)
        _, perturbations = library.capture(model, library.Perturbation)(x)
        yield numbers(perturbations)
        assert not hasattr(model.inner, "seen")

        def loss(model, perturbations, x):
            return library.capture(model, library.Intermediate, init=perturbations)(x)

        for _ in range(2):
            yield numbers(loss(model, perturbations, x)[1])
            (inner, at), seen = grad(loss, argnums=(0, 1), has_aux=True)(
                model, perturbations, x
            )
            yield from (numbers(inner), numbers(at), numbers(seen))
        for types in (
            [library.Intermediate],
            [library.Perturbation, library.Intermediate],
        ):
            yield [numbers(state) for state in library.capture(model, *types)(x)[1:]]

        @library.capture(library.Intermediate)
        def called(model, x):
            return model(x)

        yield numbers(called(model, x)[1])
        model(x)
        yield numbers(library.state(model, library.Intermediate))
        yield numbers(library.capture(model, library.Intermediate)(x)[1])
        yield numbers(library.state(model, library.Intermediate))

    ours = [*steps(nn, nn.grad)]
    assert ours == [*steps(nnx, nnx.grad)]
    assert ours[3] == {("inner", "at"): [[12.0, 12.0]]}


def test_frozen_parameters_are_not_differentiated(jax):
    """Not in `grad` or `value_and_grad`, under `jit` or not; the rest is as ever."""

    class Layer(nn.Module):
        def __init__(self):
            self.register_parameter("bare", jax.numpy.ones(2))
            self.w = nn.Param(jax.numpy.full(2, 2.0))
            self.b = nn.Param(jax.numpy.full(2, 3.0))

    def loss(layer):
        return (layer.bare * layer.w * layer.b).sum()

    def gradients(layer, **options):
        found = nn.grad(loss, **options)(layer)
        inside = nn.jit(lambda layer: nn.value_and_grad(loss, **options)(layer))
        assert flat(nn, inside(layer)[1]) == flat(nn, found)
        return flat(nn, found)

    layer = Layer()
    every = {("bare",): [6.0] * 2, ("w",): [3.0] * 2, ("b",): [2.0] * 2}
    assert gradients(layer) == every
    assert gradients(layer, wrt=...) == every
    assert gradients(layer, wrt=nn.Kind.PARAMETER) == every
    frozen = nn.freeze(layer, nn.filters.PathContains("w"))
    assert gradients(frozen) == {path: every[path] for path in (("bare",), ("b",))}
    assert [*gradients(frozen, wrt=...)] == [("bare",), ("b",)]
    assert [*gradients(frozen, wrt=nn.Kind.PARAMETER)] == [("bare",), ("b",)]
    assert [
        *gradients(nn.freeze(frozen, nn.filters.PathContains("bare")), wrt=...)
    ] == [("b",)]
    assert gradients(nn.unfreeze(frozen)) == every
    for wrt in (nn.Param, nn.filters.PathContains("w"), nn.Kind.FROZEN):
        with pytest.raises(ValueError, match=r"differentiate \(3 of its"):
            nn.grad(loss, wrt=wrt)(nn.freeze(layer))

    @nn.jit
    def step(layer):
        found = nn.grad(loss)(layer)
        _, params, _ = nn.split(layer, nn.Param, ...)
        nn.update(layer, jax.tree.map(lambda p, g: p - g, params, found))

    step(frozen)
    assert frozen.w[...].tolist() == [2.0, 2.0]
    assert frozen.b[...].tolist() == [1.0, 1.0]
    assert frozen.name_to_kind["w"] is nn.Kind.FROZEN


def flax_models(nnx):
    """Return the classes of the examples, made of Flax's own layers."""
    import jax

    class Block(nnx.Module):
        def __init__(self, din, dout, rngs):
            self.linear = nnx.Linear(din, dout, rngs=rngs)
            self.bn = nnx.BatchNorm(dout, rngs=rngs)
            self.dropout = nnx.Dropout(0.1, rngs=rngs)

        def __call__(self, x):
            y = nnx.relu(self.dropout(self.bn(self.linear(x))))
            self.sow(nnx.Intermediate, "y_mean", y.mean())
            return y

    class MLP(nnx.Module):
        def __init__(self, layers, dim, rngs):
            self.blocks = nnx.List([Block(dim, dim, rngs) for _ in range(layers)])

        def __call__(self, x):
            for block in self.blocks:
                x = block(x)
            return x

    class Perturbed(nnx.Module):
        def __init__(self, rngs):
            self.linear1 = nnx.Linear(2, 3, rngs=rngs)
            self.linear2 = nnx.Linear(3, 4, rngs=rngs)

        def __call__(self, x):
            x = self.perturb("xgrad", jax.nn.gelu(self.linear1(x)))
            return self.linear2(x)

    return MLP, Perturbed


def take_over(nnx, theirs, ours):
    """Give our model the parameters of theirs; the paths are the same."""
    found = nnx.to_flat_state(nnx.state(theirs, nnx.Param))
    pairs = zip(found.paths, found.leaves, strict=True)
    nn.update(ours, nn.from_flat_state((path, leaf[...]) for path, leaf in pairs))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_sown_intermediates(nnx, jax):
    """Three blocks with the same weights: the same outputs, means and statistics."""
    import nnx_models

    theirs = flax_models(nnx)[0](3, 20, nnx.Rngs(0))
    ours = nnx_models.MLP(3, 20, nn.Rngs(1))
    take_over(nnx, theirs, ours)
    for block in theirs.blocks:
        block.dropout.deterministic = True
    nn.set_attributes(ours, deterministic=True)
    x = jax.random.normal(jax.random.key(0), (10, 20))
    for _ in range(2):
        np.testing.assert_allclose(ours(x), theirs(x), rtol=1e-4, atol=1e-5)
    mine, other = nn.pop(ours, nn.Intermediate), nnx.pop(theirs, nnx.Intermediate)
    for place in range(3):
        means = [
            state["blocks"][place]["y_mean"].get_value() for state in (mine, other)
        ]
        np.testing.assert_allclose(*means, rtol=1e-4)
        for name in ("mean", "var"):
            stats = [getattr(m.blocks[place].bn, name)[...] for m in (ours, theirs)]
            np.testing.assert_allclose(*stats, rtol=1e-4, atol=1e-6)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_training_with_perturbations(nnx, jax, optax):
    """Losses and inner gradients of the training step are those of Flax."""
    import nnx_models

    theirs = flax_models(nnx)[1](nnx.Rngs(0))
    ours = nnx_models.Perturbed(nn.Rngs(1))
    take_over(nnx, theirs, ours)
    x, y = (jax.random.uniform(jax.random.key(n), (1, 2 * n)) for n in (1, 2))
    theirs(x), ours(x)
    optimizer = nnx.Optimizer(theirs, tx=optax.adam(1e-1), wrt=nnx.Param)
    mine = nn.Optimizer(ours, optax.adam(1e-1), wrt=nn.Param)

    @nnx.jit
    def their_step(model, optimizer, x, y):
        graphdef, params, perturbations = nnx.split(model, nnx.Param, nnx.Perturbation)

        def loss_fn(params, perturbations):
            model = nnx.merge(graphdef, params, perturbations)
            return ((model(x) - y) ** 2).mean()

        step = nnx.value_and_grad(loss_fn, argnums=(0, 1))
        loss, (gradients, inner) = step(params, perturbations)
        optimizer.update(model, gradients)
        return loss, inner

    our_step = nn.jit(nnx_models.train_step)
    for _ in range(4):
        loss, inner = our_step(ours, mine, x, y)
        expected, their_inner = their_step(theirs, optimizer, x, y)
        np.testing.assert_allclose(loss, expected, rtol=1e-4)
        np.testing.assert_allclose(inner.xgrad[...], their_inner.xgrad[...], rtol=1e-3)
