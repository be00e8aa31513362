"""What PAX asks of a module, requirement by requirement (P2 to P8)."""

import copy

import numpy as np
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


def test_p3_1_attributes_are_no_part_unless_registered():
    """A number is static; registered, it is a leaf."""
    module = nn.Module()
    module.a = 0
    module.register_subtree("b", 0)
    assert lw.tree_leaves(module) == [0]


def test_p3_2_insertion_order():
    """Children come in the order in which attributes were first assigned."""
    module = nn.Module()
    module.register_subtree("z", 1)
    module.a = 2
    module.register_subtree("m", 3)
    module.register_subtree("a", 4)
    assert lw.tree_leaves(module) == [1, 4, 3]
    other = nn.Module()
    for name in ("m", "z", "a"):
        other.register_subtree(name, 0)
    assert lw.tree_structure(other) != lw.tree_structure(module)


def test_p3_5_registering_on_a_copy():
    """It does not change the original."""
    module = Leaf()
    again = copy.copy(module)
    again.register_parameter("bias", 2.0)
    again.register_state("weight", 3.0)
    assert lw.tree_leaves(module) == [1.0, 0]
    assert module.name_to_kind["weight"] is nn.Kind.PARAMETER


def test_p5_the_mapping():
    """It is read-only, copied on write, and has the kinds in order."""
    module = nn.Module()
    empty = module.name_to_kind
    module.register_state("a", 1)
    first = module.name_to_kind
    module.register_parameter("a", 1)
    assert (dict(empty), dict(first)) == ({}, {"a": nn.Kind.STATE})
    assert module.name_to_kind == {"a": nn.Kind.PARAMETER}
    with pytest.raises(TypeError):
        first["a"] = nn.Kind.DATA
    with pytest.raises(AttributeError):
        module.name_to_kind = {}


def test_p7_select_and_update():
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


def test_p8_1_register_module():
    """The kind is MODULE, and leaves reach into it."""
    module = nn.Module()
    module.register_module("inner", [Leaf(), Leaf()])
    assert module.name_to_kind == {"inner": nn.Kind.MODULE}
    assert lw.tree_leaves(module) == [1.0, 0, 1.0, 0]


def test_p8_2_detection():
    """A module is detected for a new name; nothing else makes one a module."""
    tree = Tree()
    assert {name: kind.name for name, kind in tree.name_to_kind.items()} == {
        "left": "MODULE",
        "rest": "DATA",
        "extra": "DATA",
    }
    tree.extra = Leaf()
    tree.left = 3
    assert tree.name_to_kind["extra"] is nn.Kind.DATA
    assert tree.name_to_kind["left"] is nn.Kind.MODULE


def test_p8_4_assigning_before_super_init():
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
    assert [path for path, _ in found] == [("left",), ("rest", 0), ()]
    assert found[0][1] is tree.left
    mixed = {"b": [tree.left], "a": (1, Leaf())}
    assert [path for path, _ in nn.iter_modules(mixed)] == [("a", 1), ("b", 0)]
    assert [*nn.iter_modules(3)] == []


def test_summary():
    """A table of the objects, with what they hold of each kind."""
    rows = lw.tree_summary({"m": Tree()}, depth=2).rows
    assert [(row.path, row.type, row.kind) for row in rows] == [
        ("", "dict", "data: 2, parameter: 2, state: 2"),
        ("['m']", "Tree", "data: 2, parameter: 2, state: 2"),
        ("['m'].left", "Leaf", "parameter: 1, state: 1"),
        ("['m'].rest", "List", "parameter: 1, state: 1"),
        ("['m'].extra", "list", "data"),
    ]


class Tied(nn.Module):
    """One object in three places, one variable in two, and itself."""

    def __init__(self):
        self.encode = Leaf()
        self.shared = nn.Param(np.ones((2, 3)))
        self.decode = self.encode
        self.again = self.shared
        self.listed = lw.data({"x": [self.encode, Leaf()]})
        self.me = self
        self.off = Off([("x", self.shared), ("y", nn.Param(np.ones(5)))])


class Off(nn.Object):
    def __init__(self, layers):
        self.layers = layers


def test_a_summary_counts_what_is_shared_once():
    """Each other place says where it stands first, of objects and variables."""
    summary = lw.tree_summary(Tied())
    again = [(row.path, row.same_as) for row in summary.rows if row.role == "again"]
    assert again == [
        (".decode", ".encode"),
        (".again", ".shared"),
        (".listed['x'][0]", ".encode"),
        (".me", "(root)"),
        (".off.layers[0][1]", ".shared"),
    ]
    assert summary.shared == 5
    assert summary.rows[0].kind == "parameter: 13, state: 2"
    assert summary.bytes == 88
    assert "'x'" not in [row.type for row in summary.rows]
    weight = nn.Param(np.ones(4))
    assert lw.tree_summary([weight, weight]).count == 4
    assert lw.tree_summary(nn.Param({"a": 1, "b": 2})).rows[0].kind == "parameter"
