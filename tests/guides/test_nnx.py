"""Flax NNX's "Module & Pytree": "Pytrees 101" and "Custom Pytrees"."""

import pytest


TREE = [{"a": 1}, {"b": 2, "c": (3, 4), "d": None}]


def test_collecting_the_leaves(tree_util):
    """None is no leaf; the treedef shows it where it stands."""
    leaves, treedef = tree_util.tree_flatten(TREE)
    assert leaves == [1, 2, 3, 4]
    text = "PyTreeDef([{'a': *}, {'b': *, 'c': (*, *), 'd': None}])"
    assert repr(treedef) == text


def test_rebuilding_with_other_leaves(tree_util):
    """A new tree is made of ten times the leaves; the old one stays."""
    leaves, treedef = tree_util.tree_flatten(TREE)
    new = tree_util.tree_unflatten(treedef, [x * 10 for x in leaves])
    assert new == [{"a": 10}, {"b": 20, "c": (30, 40), "d": None}]
    assert TREE == [{"a": 1}, {"b": 2, "c": (3, 4), "d": None}]
    with pytest.raises(ValueError, match=r"expected 4 leaves, got 3|Too few leaves"):
        tree_util.tree_unflatten(treedef, [1, 2, 3])


def registered(tree_util):
    """Return a class with two children and a static string, and how it is a node."""

    class Foo:
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

    tree_util.register_pytree_node(Foo, flatten_foo, unflatten_foo)
    return Foo, flatten_foo, unflatten_foo


def test_a_custom_node(tree_util):
    """The children are leaves, the static part is printed in the treedef."""
    foo = registered(tree_util)[0]()
    leaves, treedef = tree_util.tree_flatten(foo)
    assert leaves == [1, 2]
    assert repr(treedef) == "PyTreeDef(CustomNode(Foo[('hi',)], [*, *]))"
    again = tree_util.tree_map(lambda x: x * 10, foo)
    assert (again.a, again.b, again.c) == (10, 20, "hi")


def test_a_second_registration_is_refused(tree_util):
    """The same class cannot be registered twice by accident."""
    with pytest.raises(ValueError, match=r"Foo is registered .* already|Duplicate"):
        tree_util.register_pytree_node(*registered(tree_util))
