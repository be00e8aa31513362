"""Flax NNX's "Module & Pytree": "Pytrees 101" and "Custom Pytrees"."""

import pytest

import leafwise as lw


TREE = [{"a": 1}, {"b": 2, "c": (3, 4), "d": None}]


def test_collecting_the_leaves():
    """None is no leaf; the treedef shows it where it stands."""
    leaves, treedef = lw.tree_flatten(TREE)
    assert leaves == [1, 2, 3, 4]
    text = "PyTreeDef([{'a': *}, {'b': *, 'c': (*, *), 'd': None}])"
    assert repr(treedef) == text


def test_rebuilding_with_other_leaves():
    """A new tree is made of ten times the leaves; the old one stays."""
    leaves, treedef = lw.tree.flatten(TREE)
    new = lw.tree.unflatten(treedef, [x * 10 for x in leaves])
    assert new == [{"a": 10}, {"b": 20, "c": (30, 40), "d": None}]
    assert TREE == [{"a": 1}, {"b": 2, "c": (3, 4), "d": None}]
    with pytest.raises(ValueError, match="has 4 leaves, got 3"):
        lw.tree.unflatten(treedef, [1, 2, 3])


class Foo:
    """Two children and a static string."""

    def __init__(self):
        self.a = 1
        self.b = 2
        self.c = "hi"


def flatten_foo(foo):
    return [foo.a, foo.b], (foo.c,)


def unflatten_foo(static, nodes):
    foo = object.__new__(Foo)
    foo.a, foo.b = nodes
    foo.c = static[0]
    return foo


lw.register_pytree_node(Foo, flatten_foo, unflatten_foo)


def test_a_custom_node():
    """The children are leaves, the static part is printed in the treedef."""
    leaves, treedef = lw.tree_flatten(Foo())
    assert leaves == [1, 2]
    assert repr(treedef) == "PyTreeDef(CustomNode(Foo[('hi',)], [*, *]))"
    again = lw.tree_map(lambda x: x * 10, Foo())
    assert (again.a, again.b, again.c) == (10, 20, "hi")


def test_a_second_registration_is_refused():
    """The same class cannot be registered twice by accident."""
    with pytest.raises(ValueError, match=r"Foo is registered .* already"):
        lw.register_pytree_node(Foo, flatten_foo, unflatten_foo)
