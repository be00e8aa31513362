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
    flat_state = library.to_flat_state(state)
    pairs = zip(flat_state.paths, flat_state.leaves, strict=True)
    return {
        path: np.asarray(getattr(leaf, "value", leaf)).tolist() for path, leaf in pairs
    }


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_states(nnx):
    """The same paths and values, for each filter; what is shared comes once."""
    ours = models(nn)
    theirs = models(nnx)
    for mine, other in (
        (..., ...),
        (nn.Param, nnx.Param),
        (nn.filters.Not(nn.Param), nnx.Not(nnx.Param)),
        (nn.filters.PathContains("stat"), nnx.PathContains("stat")),
        ([nn.BatchStat, "params"], [nnx.BatchStat, nnx.Param]),
    ):
        pairs = flat(nn, nn.state(ours, mine))
        expected = flat(nnx, nnx.state(theirs, other))
        # of two names for one variable, each library takes the first that it meets
        rename = {("also",): ("layers", 1, "w"), ("tied",): ("layers", 0)}

        def canonical(flat_state, rename=rename):
            return {
                (*rename.get(path[:1], path[:1]), *path[1:]): value
                for path, value in flat_state.items()
            }

        assert canonical(pairs) == canonical(expected)


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
        for updated in (model, merged):
            assert np.asarray(updated.tied.w[...]).tolist() == [[6.0, 6.0]]


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
        flat_state = library.to_flat_state(state)
        for path, leaf in zip(flat_state.paths, flat_state.leaves, strict=True):
            value = leaf.get_value()
            yield path, value if isinstance(value, tuple) else (value,)

    def steps(library, grad):
        model = sowing(library)
        x = np.ones(2, np.float32)
        _, perturbations = library.capture(model, library.Perturbation)(x)
        yield numbers(perturbations)
        assert not hasattr(model.inner, "seen")

        def loss(model, perturbations, x):
            return library.capture(model, library.Intermediate, init=perturbations)(x)

        for _ in range(2):
            yield numbers(loss(model, perturbations, x)[1])
            (inner, at), aux = grad(loss, argnums=(0, 1), has_aux=True)(
                model, perturbations, x
            )
            yield from (numbers(inner), numbers(at), numbers(aux))
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

    ours = list(steps(nn, nn.grad))
    assert ours == list(steps(nnx, nnx.grad))
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
        gradient = nn.grad(loss, **options)(layer)
        inside = nn.jit(lambda layer: nn.value_and_grad(loss, **options)(layer))
        assert flat(nn, inside(layer)[1]) == flat(nn, gradient)
        return flat(nn, gradient)

    layer = Layer()
    every = {("bare",): [6.0] * 2, ("w",): [3.0] * 2, ("b",): [2.0] * 2}
    assert gradients(layer) == every
    assert gradients(layer, wrt=...) == every
    assert gradients(layer, wrt=nn.Kind.PARAMETER) == every
    frozen = nn.freeze(layer, nn.filters.PathContains("w"))
    assert gradients(frozen) == {path: every[path] for path in (("bare",), ("b",))}
    assert list(gradients(frozen, wrt=...)) == [("bare",), ("b",)]
    assert list(gradients(frozen, wrt=nn.Kind.PARAMETER)) == [("bare",), ("b",)]
    assert list(
        gradients(nn.freeze(frozen, nn.filters.PathContains("bare")), wrt=...)
    ) == [("b",)]
    assert gradients(nn.unfreeze(frozen)) == every
    for wrt in (nn.Param, nn.filters.PathContains("w"), nn.Kind.FROZEN):
        with pytest.raises(ValueError, match=r"differentiate \(3 of its"):
            nn.grad(loss, wrt=wrt)(nn.freeze(layer))

    @nn.jit
    def step(layer):
        gradient = nn.grad(loss)(layer)
        _, params, _ = nn.split(layer, nn.Param, ...)
        nn.update(layer, jax.tree.map(lambda p, g: p - g, params, gradient))

    step(frozen)
    assert frozen.w[...].tolist() == [2.0, 2.0]
    assert frozen.b[...].tolist() == [1.0, 1.0]
    assert frozen.name_to_kind["w"] is nn.Kind.FROZEN
