"""Programs that are written as for Flax NNX."""

import numpy as np
import pytest

import leafwise as lw
from leafwise import nn


def test_pairs_of_a_flat_state():
    """A flat state is a sequence of pairs, and is made of one."""
    state = nn.State({"a": {0: nn.Param(1.0)}, "b": 2})
    flat = nn.to_flat_state(state)
    assert [path for path, _ in flat] == [("a", 0), ("b",)]
    assert nn.from_flat_state([(path, value) for path, value in flat]) == state
    assert nn.from_flat_state(dict(flat)) == state
    assert nn.FlatState(dict(flat)) == nn.FlatState(flat) == flat


@pytest.mark.parametrize("make", [nn.List, nn.Dict, nn.Sequential])
def test_containers_are_modules(make):
    container = make()
    assert isinstance(container, nn.Module)
    assert container.eval() is container
    assert not container.is_training
    assert container.sow(nn.Intermediate, "seen", 1)


def test_train_and_eval_return_the_tree():
    layers = [nn.Module()]
    assert nn.eval(layers) is layers
    assert not layers[0].is_training
    assert nn.train(layers) is layers
    assert layers[0].is_training


class Unsorted(nn.Module):
    """Its attributes are not assigned by name."""

    def __init__(self):
        self.weight = nn.Param(3.0)
        self.bias = nn.Param(5.0)
        self.inner = nn.Dict(z=nn.Param(7.0), a=nn.Param(11.0))


def test_one_order_of_leaves():
    """So that the leaves of a model and of what is made of it can be paired."""
    model = Unsorted()
    state = nn.state(model)
    leaves = lw.tree_leaves(model)
    assert lw.tree_leaves(state) == leaves
    assert [value[...] for value in nn.to_flat_state(state).leaves] == leaves
    in_dicts = nn.to_pure_dict(state)
    assert [*in_dicts] == ["weight", "bias", "inner"]
    assert [*in_dicts["inner"].values()] == leaves[2:]
    variables = [v for _, v in nn.iter_graph(model) if isinstance(v, nn.Variable)]
    assert [variable[...] for variable in variables] == leaves


def test_a_state_equals_states_only():
    assert nn.State({"a": 1}) == nn.State({"a": 1})
    assert nn.State({"a": 1}) != {"a": 1}


def test_a_bare_value_has_no_state():
    for function in (nn.split, nn.state, nn.graphdef):
        with pytest.raises(TypeError, match="got a bare int"):
            function(3)


def test_paths_in_a_sequential():
    chain = nn.Sequential(nn.List([nn.Param(1.0)]), abs)
    assert nn.to_flat_state(nn.state(chain)).paths == ((0, 0),)


def test_an_object_is_no_pytree():
    with pytest.raises(ValueError, match="Tree is an Object, which is no pytree"):
        type("Tree", (nn.Object,), {}, pytree=True)


@pytest.mark.parametrize(
    ("transform", "option"),
    [(nn.jit, "out_shardings"), (nn.vmap, "foo"), (nn.grad, "foo"), (nn.remat, "foo")],
)
def test_unknown_options_are_refused(transform, option):
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{option}'"):
        transform(**{option: 1})
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{option}'"):
        transform(abs, **{option: 1})


def notes_on_arguments(error):
    """Return our notes; jax adds some of its own."""
    notes = getattr(error, "__notes__", [])
    return [note for note in notes if " of type " in note]


class Layer(nn.Module):
    def __init__(self):
        self.w = nn.Param(1.0)

    def grow(self, by):
        return by


def first(*rest, x=None):
    return rest[0]


def shape_of(function):
    """Return what takes arguments as the results of other transforms do."""
    return lambda *args, **kwargs: nn.eval_shape(function, *args, **kwargs)


class TestWithJax:
    @pytest.fixture(autouse=True)
    def jax(self, need):
        return need("jax")

    def test_layers_know_their_sizes(self):
        linear = nn.Linear(2, 3, use_bias=False, rngs=nn.Rngs(0))
        assert (linear.in_features, linear.out_features) == (2, 3)
        assert linear.bias is None
        assert linear(np.ones(2)).shape == (3,)
        assert nn.BatchNorm(3).num_features == 3

    def test_a_gradient_has_the_order_of_its_model(self):
        def loss(model):
            inner = model.inner["z"] * model.inner["a"]
            return model.weight**2 + model.bias**2 + inner

        model = Unsorted()
        gradients = lw.tree_leaves(nn.grad(loss)(model))
        z, a = lw.tree_leaves(model)[2:]
        weight, bias = lw.tree_leaves(model)[:2]
        by_leaf = {weight: 2 * weight, bias: 2 * bias, z: a, a: z}
        assert gradients == [by_leaf[leaf] for leaf in lw.tree_leaves(model)]

    def test_a_variable_in_two_places_of_a_dict(self):
        """Its gradient is there twice, as the variable is."""
        shared = nn.Param(3.0)
        gradients = nn.grad(lambda both: both["a"] * both["b"])(
            {"a": shared, "b": shared}
        )
        assert gradients["a"] is gradients["b"]
        assert gradients["a"][...] == 6.0

    def test_what_jax_cannot_trace_is_named(self):
        def function(config):
            return config["x"]

        with pytest.raises(TypeError, match="function") as caught:
            nn.jit(function)({"name": "a", "x": 1.0})
        [note] = notes_on_arguments(caught.value)
        location = f"{__file__}:{function.__code__.co_firstlineno}"
        assert note.startswith("config['name'] of ")
        assert f"function at {location} is of type str, which jax cannot trace" in note
        assert "static_argnames" in note
        assert "leafwise.Pytree" in note
        assert nn.jit(function)({"x": 1.0}) == 1.0

    @pytest.mark.parametrize(
        ("call", "name"),
        [
            (lambda transform, layer: transform(layer.grow)({"n": "a"}), "by['n']"),
            (lambda transform, layer: transform(first)(1.0, ["a"]), "rest[1][0]"),
            (lambda transform, layer: transform(first)(x=["a"]), "x[0]"),
        ],
    )
    @pytest.mark.parametrize("transform", [nn.jit, nn.remat, nn.vmap, shape_of])
    def test_arguments_have_the_names_of_parameters(self, transform, call, name):
        with pytest.raises(TypeError) as caught:
            call(transform, Layer())
        [note] = notes_on_arguments(caught.value)
        assert note.startswith(f"{name} of ")

    @pytest.mark.parametrize("transform", [nn.jit, nn.jit(donate_argnums=0), nn.remat])
    def test_jax_names_values_by_parameters(self, transform):
        def function(model, config):
            return 1 if model.layers[0].w > config["n"] else 2

        model = nn.Module()
        model.layers = nn.List([Layer()])
        with pytest.raises(Exception, match=r"Attempted boolean") as caught:
            transform(function)(model, {"n": 1.0})
        assert "arguments.config['n']" in str(caught.value)
        assert ".model.layers[0].w" in str(caught.value)

    def test_grad_names_what_it_cannot_differentiate(self):
        def function(model, x):
            return model.w

        layer = Layer()
        layer.w[...] = 3
        for arguments, argnums, name in (
            ((layer, 1.0), 0, "model.w"),
            ((layer, {"n": 1}), 1, "x['n']"),
            ((layer, {"n": "a"}), 1, "x['n']"),
        ):
            with pytest.raises(TypeError) as caught:
                nn.grad(function, argnums)(*arguments)
            [note] = notes_on_arguments(caught.value)
            assert note.startswith(f"{name} of ")
            assert "wrt" in note

    def test_errors_of_a_function_get_no_note(self):
        def function(x):
            raise TypeError("mine")

        with pytest.raises(TypeError, match="mine") as caught:
            nn.jit(function)(1.0)
        assert not notes_on_arguments(caught.value)


class TestForeignLayers:
    """A module refuses a layer of another library, which would be left out of all."""

    def layers(self, need):
        jax = need("jax")
        nnx = need("flax.nnx")
        equinox = need("equinox")
        yield nnx.Linear(2, 3, rngs=nnx.Rngs(0))
        yield equinox.nn.Linear(2, 3, key=jax.random.key(0))

    def test_they_are_refused(self, need):
        for layer in self.layers(need):
            module = nn.Module()
            for value in (layer, lw.data(layer), lw.data([layer])):
                with pytest.raises(lw.errors.KindError, match="knows as a node"):
                    module.layer = value
            with pytest.raises(lw.errors.KindError, match="knows as a node"):
                nn.List([layer])

    def test_a_plain_pytree_may_have_them(self, need):
        """Its user calls jax, which sees the arrays inside."""
        for layer in self.layers(need):
            tree = lw.Pytree()
            tree.layer = lw.data(layer)
            assert lw.tree_leaves(tree) == [layer]
