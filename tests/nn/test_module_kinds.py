"""Modules after PAX: selecting and updating by kind, and iterating over modules."""

import pytest

import leafwise as lw
from leafwise import nn


class Leaf(nn.Module):
    def __init__(self):
        self.register_parameter("weight", 1.0)
        self.register_state("calls", 0)
        self.name = "leaf"


class Tree(nn.Module):
    def __init__(self):
        self.left = Leaf()
        self.rest = nn.List([Leaf()])
        self.register_subtree("extra", [5, (6,)])


def test_select_and_update_by_kind():
    """The kind of a leaf is that of the innermost object's attribute."""
    tree = Tree()
    parameters = nn.select_kind(tree, nn.Kind.PARAMETER)
    assert lw.tree_leaves(parameters) == [1.0, 1.0]
    assert (parameters.left.calls, parameters.extra) == (None, [None, (None,)])
    assert lw.tree_leaves(nn.select_kind(tree, nn.Kind.STATE)) == [0, 0]
    assert lw.tree_leaves(nn.select_kind(tree, nn.Kind.DATA)) == [5, 6]
    both = nn.select_kind(tree, nn.Kind.STATE, nn.Kind.PARAMETER)
    assert lw.tree_leaves(both) == [1.0, 0, 1.0, 0]
    doubled = lw.tree_map(lambda x: x * 2, parameters)
    updated = nn.update_kind(tree, doubled, nn.Kind.PARAMETER)
    assert lw.tree_leaves(updated) == [2.0, 0, 2.0, 0, 5, 6]
    assert lw.tree_leaves(nn.update_kind(tree, doubled, nn.Kind.STATE)) == [
        *(1.0, 0, 1.0, 0),
        *(5, 6),
    ]
    assert lw.tree_leaves(tree) == [1.0, 0, 1.0, 0, 5, 6]
    with pytest.raises(TypeError, match="give one kind or more"):
        nn.select_kind(tree)
    with pytest.raises(TypeError, match="got str"):
        nn.select_kind(tree, "parameter")
    with pytest.raises(lw.StructureError):
        nn.update_kind(tree, Leaf(), nn.Kind.STATE)


def test_attributes_may_be_set_before_super_init():
    """Attributes may be set before, or without, `super().__init__()`."""

    class Early(nn.Module):
        def __init__(self):
            self.inner = Leaf()
            super().__init__()
            self.x = 1

    assert lw.tree_leaves(Early()) == [1.0, 0]
    bare = object.__new__(Leaf)
    bare.inner = Leaf()
    assert lw.tree_leaves(bare) == [1.0, 0]
    assert lw.tree_leaves(object.__new__(Leaf)) == []
    assert repr(object.__new__(Leaf)) == "Leaf()"


def test_modules_are_listed_once_inner_ones_first():
    """`iter_modules` goes through any tree; the root has the empty path."""
    tree = Tree()
    tree.again = tree.left
    found = [*nn.iter_modules(tree)]
    assert [path for path, _ in found] == [("left",), ("rest", 0), ("rest",), ()]
    assert found[0][1] is tree.left
    mixed = {"b": [tree.left], "a": (1, Leaf())}
    assert [path for path, _ in nn.iter_modules(mixed)] == [("a", 1), ("b", 0)]
    assert [*nn.iter_modules(3)] == []
