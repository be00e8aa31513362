"""Every example of jax's pytree note, as far as trees alone go."""

import inspect
from collections import namedtuple

import numpy as np
import pytest

import leafwise as lw
from leafwise import nn


Point = namedtuple("Point", ["x", "y"])


class Special:
    """An unregistered class: a leaf."""

    def __init__(self, x, y):
        self.x = x
        self.y = y

    def __eq__(self, other):
        return type(other) is type(self) and (other.x, other.y) == (self.x, self.y)

    def __hash__(self):
        return hash((self.x, self.y))


class RegisteredSpecial(Special):
    """The same class, registered."""


lw.register_pytree_node(
    RegisteredSpecial,
    flatten_func=lambda value: ((value.x, value.y), None),
    unflatten_func=lambda _, children: RegisteredSpecial(*children),
)


@pytest.mark.parametrize(
    ("tree", "flat", "text"),
    [
        ((1.0, [2.0, 3.0]), [1.0, 2.0, 3.0], "PyTreeDef((*, [*, *]))"),
        (
            (1.0, {"b": 2.0, "a": 3.0}),
            [1.0, 3.0, 2.0],
            "PyTreeDef((*, {'a': *, 'b': *}))",
        ),
        (1.0, [1.0], "PyTreeDef(*)"),
        (None, [], "PyTreeDef(None)"),
        (
            Point(1.0, 2.0),
            [1.0, 2.0],
            "PyTreeDef(CustomNode(namedtuple[Point], [*, *]))",
        ),
        (Special(1.0, 2.0), [Special(1.0, 2.0)], "PyTreeDef(*)"),
        (
            RegisteredSpecial(1.0, 2.0),
            [1.0, 2.0],
            "PyTreeDef(CustomNode(RegisteredSpecial[None], [*, *]))",
        ),
    ],
    ids=["list", "dict", "float", "none", "namedtuple", "special", "registered"],
)
def test_example_containers(tree, flat, text):
    """Leaves, structure and rebuilt value of each example container."""
    leaves, treedef = lw.tree_flatten(tree)
    assert leaves == flat
    assert repr(treedef) == text
    rebuilt = lw.tree_unflatten(treedef, leaves)
    assert rebuilt == tree
    assert type(rebuilt) is type(tree)


@pytest.mark.parametrize(
    ("axes", "expected"),
    [
        ((None, 0), (None, {"k1": 0, "k2": 0})),
        ((None, {"k1": None, "k2": 0}), None),
        ((0, {"k1": 0, "k2": 0}), None),
    ],
)
def test_axes_of_the_jax_note_under_vmap(axes, expected, jax):
    """A prefix of axes means the same as the axes of all leaves."""

    def f(x, d):
        return x + d["k1"] + d["k2"].sum()

    mapped = np.arange(3.0)
    first = mapped if axes[0] == 0 else 1.0
    k1 = 2.0 if axes[1] == {"k1": None, "k2": 0} else mapped * 2
    args = first, {"k1": k1, "k2": np.ones((3, 2))}
    results = [nn.vmap(f, axes)(*args), jax.vmap(f, axes)(*args)]
    if expected is not None:
        results += [nn.vmap(f, expected)(*args), jax.vmap(f, expected)(*args)]
    for result in results:
        np.testing.assert_allclose(result, results[0], rtol=1e-6)


@pytest.mark.parametrize("name", ["register_pytree_node", "register_pytree_with_keys"])
def test_functions_are_named_as_in_jax(name, jax):
    """The arguments that have no default, and those of jax that have one."""
    ours, theirs = (
        list(inspect.signature(getattr(library, name)).parameters)
        for library in (lw.namespace(""), jax.tree_util)
    )
    assert ours[1:4] == theirs[1:4]
