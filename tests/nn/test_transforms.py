"""Which arguments an option means, what a function is bound to, prefix trees."""

import functools
import sys
from collections import defaultdict

import pytest

import leafwise as lw
from leafwise import nn
from leafwise.nn.transforms.functions import ARGS, KWARGS, unbind
from leafwise.nn.transforms.jit import ArgumentSelection


def taking(a, b, /, c, d=1, *, e, **more):
    """Take all sorts of arguments."""


@pytest.mark.parametrize(
    ("numbers", "names", "expected"),
    [
        (None, None, ([], [])),
        (2, None, ([2], ["c"])),
        ((0, -1), None, ([0, 3], ["d"])),
        (None, "c", ([2], ["c"])),
        (None, ["e", "z"], ([], ["e", "z"])),
        (1, "d", ([1], ["d"])),
    ],
)
def test_numbers_and_names_stand_for_each_other(numbers, names, expected):
    """Where only one of both is given, the signature says the other."""
    options = {"static_argnums": numbers, "static_argnames": names, "inline": True}
    which = ArgumentSelection("static", taking, options)
    assert options == {"inline": True}
    assert (sorted(which.numbers), sorted(which.names)) == expected
    assert bool(which) is (expected != ([], []))


def test_functions_without_a_signature():
    """They are taken at their word."""
    options = {"static_argnums": -1, "static_argnames": "x"}
    which = ArgumentSelection("static", max, options)
    assert which.means((ARGS, 2), 3)
    assert not which.means((ARGS, 1), 3)
    assert which.means((KWARGS, "x"), 3)


def test_static_values_are_told_apart_by_type():
    """So a function is compiled anew for True after 1."""
    pytest.importorskip("jax")
    traced = []

    @nn.jit(static_argnames="value")
    def function(x, value):
        traced.append(value)
        return x

    values = 1, True, 1.0, "1", float("nan")
    for value in values * 2:
        function(2.0, value)
    assert traced == list(values)


@pytest.mark.parametrize("mapping", [dict, functools.partial(defaultdict, list)])
def test_the_order_of_a_dict_changes_in_place(mapping):
    """Of the object outside as well, since the order of insertion is part of a dict."""
    pytest.importorskip("jax")

    @nn.jit
    def put_first_one_last(model):
        name = next(iter(model.layers))
        model.layers[name] = model.layers.pop(name)

    layers = mapping({"b": nn.Param(1.0), "a": nn.Param(2.0)})
    model = nn.Module()
    model.layers = lw.data(layers)
    put_first_one_last(model)
    assert list(model.layers) == ["a", "b"]


def test_only_objects_are_carried():
    """Whatever else a function is bound to stays in it."""
    model = nn.Dict(x=lw.data(1))

    def f(a, b, *, c):
        return a.x, b, c

    partial = functools.partial(f, model, "b", c=[model])
    function, held = unbind(partial)
    assert held == (None, [model, [model]])
    other = nn.Dict(x=lw.data(2))
    assert function((None, [other, "c"])) == (2, "b", "c")
    for plain in (
        len,
        "text".join,
        functools.partial(f, 1),
    ):
        assert unbind(plain)[1] in (None, (None, []))


@pytest.mark.parametrize(
    ("what", "make"),
    [
        ("nn.jit", lambda: nn.jit(abs)),
        ("nn.remat", lambda: nn.remat(abs)),
        ("nn.vmap", lambda: nn.vmap(abs)(1)),
        ("nn.grad", lambda: nn.grad(abs)(1.0)),
    ],
)
def test_without_jax(monkeypatch, what, make):
    """What needs it says so, and how to install it."""
    monkeypatch.setitem(sys.modules, "jax", None)
    hint = rf"^{what} needs jax.*, which is not installed: pip install jax"
    with pytest.raises(ModuleNotFoundError, match=hint):
        make()


@pytest.mark.parametrize(
    ("in_axes", "arrays", "line"),
    [
        (0, [(3,), (4,)], "y['k']: shape (4,), axis 0"),
        ((0, 2), [(3,), (3, 3)], "y['k']: shape (3, 3), axis 2"),
        (0, [(3,), ()], "y['k']: shape (), axis 0"),
    ],
)
def test_vmap_names_arguments_whose_axes_do_not_fit(in_axes, arrays, line):
    jnp = pytest.importorskip("jax.numpy")
    one, other = map(jnp.ones, arrays)
    with pytest.raises(ValueError, match="vmap") as caught:
        nn.vmap(lambda x, y: x + y["k"], in_axes)(one, {"k": other})
    assert any(line in note for note in caught.value.__notes__)


def test_vmap_adds_no_note_to_errors_of_the_function():
    jnp = pytest.importorskip("jax.numpy")

    def fail(_x):
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine") as caught:
        nn.vmap(fail)(jnp.ones(3))
    notes = getattr(caught.value, "__notes__", [])
    assert not any("vmap maps" in note for note in notes)


def test_vmap_refuses_axes_that_are_none():
    """When the map is made, before there are arguments."""
    with pytest.raises(
        TypeError, match=r"^an axis is an int or None, got str: 'x' in "
    ):
        nn.vmap(abs, in_axes={"a": 0, "b": "x"})
    with pytest.raises(TypeError, match=r"got float: 1\.0 in out_axes"):
        nn.vmap(abs, out_axes=1.0)
