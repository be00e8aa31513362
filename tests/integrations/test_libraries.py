"""Containers of any class as nodes, each kept as its own type."""

import array
import pickle
from collections import ChainMap, Counter, UserDict, UserList
from collections.abc import Mapping, MutableMapping, Sequence
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

import leafwise as lw
from helpers.random_trees import keys, leaves
from leafwise.errors import RegistryError
from leafwise.integrations import register_mapping, register_sequence, support


class Table(dict):
    """A dict whose constructor does not take the items."""

    def __init__(self, title, /):
        super().__init__()
        self.title = title


class Frozen(Mapping):
    """A mapping that cannot change."""

    def __init__(self, items):
        self._items = dict(items)

    def __getitem__(self, key):
        return self._items[key]

    def __iter__(self):
        return iter(self._items)

    def __len__(self):
        return len(self._items)


class Row(list):
    """A list of its own."""


class Stack(Sequence):
    """A sequence that cannot change, and whose constructor takes one item each."""

    def __init__(self, *items):
        self._items = items

    def __getitem__(self, index):
        return self._items[index]

    def __len__(self):
        return len(self._items)


APP = lw.namespace("containers")
support("mappings", "sequences", namespace="containers")
register_sequence(Stack, lambda items: Stack(*items), namespace="containers")


def table(title, **items):
    """Return a table with items."""
    new_table = Table(title)
    new_table.update(items)
    return new_table


TREES = [
    table("t", b=1, a=[2]),
    UserDict(b=1, a=2),
    Counter("abca"),
    ChainMap({"b": 1}, {"a": 2}),
    MappingProxyType({"b": 1, "a": 2}),
    Frozen({"b": 1, "a": {"c": 2}}),
    Row([1, Row([2])]),
    UserList([1, 2]),
    Stack(1, [2]),
]


@pytest.mark.parametrize("tree", TREES, ids=lambda tree: type(tree).__name__)
def test_nodes_come_back_as_their_own_type(tree):
    """With the same items in the same order; and as leaves where nobody asked."""
    assert lw.tree_leaves(tree) == [tree]
    leaves, treedef = APP.tree_flatten(tree)
    again = treedef.unflatten(leaves)
    assert type(again) is type(tree)
    assert list(again) == list(tree)
    if isinstance(tree, Mapping):
        assert [again[key] for key in again] == [tree[key] for key in tree]
    assert APP.tree_leaves(APP.tree_map(lambda x: [x], tree)) == leaves
    assert getattr(again, "title", None) == getattr(tree, "title", None)
    assert APP.tree_structure(tree) == treedef
    for path, leaf in APP.tree_leaves_with_path(tree):
        assert path(tree, namespace="containers") == leaf


@given(st.dictionaries(keys, leaves, max_size=5))
def test_mappings_are_walked_as_dicts_are(items):
    """In the same leaf order, with equal structures for equal keys."""
    frozen = Frozen(items)
    assert APP.tree_leaves(frozen) == lw.tree_leaves(items)
    turned = Frozen(dict(list(items.items())[::-1]))
    same = APP.tree_structure(frozen) == APP.tree_structure(turned)
    assert same == (lw.tree_structure(items) == lw.tree_structure(dict(turned)))
    assert list(APP.tree_map(lambda x: x, frozen)) == list(items)


def test_edits_keep_the_type():
    """Setting, deleting, inserting, merging and comparing work as with a dict."""
    tree = {"t": table("t", a=1, b=Row([1, 2])), "f": Frozen({"x": 1})}
    changed = APP.tree_update(tree, {"t.b[1]": 5, "f.x": 2})
    assert (type(changed["t"]), changed["t"].title) == (Table, "t")
    assert (changed["t"], type(changed["t"]["b"])) == ({"a": 1, "b": [1, 5]}, Row)
    assert dict(changed["f"]) == {"x": 2}
    assert dict(APP.at(tree)["f.y"].insert(3)["f"]) == {"x": 1, "y": 3}
    assert APP.at(tree)["t.a"].delete()["t"] == {"b": [1, 2]}
    assert APP.at(tree)["t.b[0]"].delete()["t"]["b"] == [2]
    assert dict(APP.tree_rename(tree, "f.x", "z")["f"]) == {"z": 1}
    merged = APP.tree_merge(tree, {"t": {"b": [3], "c": 4}}, lists="extend")
    assert (type(merged["t"]), merged["t"]) == (Table, {"a": 1, "b": [1, 2, 3], "c": 4})
    assert merged["f"] is tree["f"]
    assert APP.tree_merge(tree["f"], {}) is tree["f"]
    assert str(APP.tree_diff(tree, merged)) == ("+ t.b[2]: 3\n+ t.c: 4")
    assert dict(APP.override(tree, "f={'x': 3}")["f"]) == {"x": 3}
    assert tree == {"t": {"a": 1, "b": [1, 2]}, "f": tree["f"]}


def test_text_and_numbers_stay_leaves():
    """Sequences that are one value are no trees."""
    values = [
        "ab",
        b"ab",
        bytearray(b"ab"),
        range(3),
        memoryview(b"ab"),
        array.array("i"),
    ]
    assert APP.tree_leaves(values) == values


def test_a_constructor_that_does_not_take_the_items():
    """Raises its own error, with the way out; `build` mends it."""

    class Odd(Frozen):
        def __init__(self, low, high):
            super().__init__({"low": low, "high": high})

    with pytest.raises(TypeError) as error:
        APP.tree_map(abs, Odd(-1, 2))
    assert error.value.__notes__[0] == (
        "test_a_constructor_that_does_not_take_the_items.<locals>.Odd was rebuilt from "
        "{'low': 1, 'high': 2}; pass build=... to register_mapping to rebuild it in "
        "another way"
    )
    register_mapping(Odd, lambda items: Odd(**items), namespace="containers")
    assert dict(APP.tree_map(abs, Odd(-1, 2))) == {"low": 1, "high": 2}


def test_registering_one_class():
    """Subclasses follow if they are told to; others are refused."""
    register_mapping(UserDict, inherit=True, namespace="containers", exist_ok=True)

    class Sub(UserDict):
        pass

    assert type(APP.tree_map(abs, Sub(a=-1))) is Sub
    with pytest.raises(RegistryError, match="int is not a subclass of Mapping"):
        register_mapping(int)
    with pytest.raises(RegistryError, match="int is not a subclass of Sequence"):
        register_sequence(int)
    with pytest.raises(ValueError, match="no support for 'yaml'; supported: 'omeg"):
        support("mappings", "yaml")
    assert issubclass(UserDict, MutableMapping)
    treedef = APP.tree_structure(UserDict(a=1))
    assert pickle.loads(pickle.dumps(treedef)) == treedef


def test_as_json():
    """A container that is called with its items; another one by its codec."""
    register_mapping(MappingProxyType)
    register_sequence(Stack, lambda items: Stack(*items))
    register_sequence(Row)
    register_mapping(Table)
    lw.files.register_codec(Table, lambda empty: empty.title, Table)
    tree = {"m": MappingProxyType({"b": 1, "a": [2]}), "s": Stack(3, 4)}
    tree["t"] = table("t", d=5, c=Stack())
    leaves, treedef = lw.tree_flatten(tree)
    copy = lw.PyTreeDef.from_json(treedef.to_json())
    assert copy == treedef
    rebuilt = copy.unflatten(leaves)
    assert (rebuilt["m"], list(rebuilt["m"])) == (tree["m"], ["b", "a"])
    assert (type(rebuilt["t"]), rebuilt["t"].title) == (Table, "t")
    assert list(rebuilt["t"]) == ["d", "c"]
    with pytest.raises(lw.errors.TreeDefError, match=r"Row cannot be.*register_codec"):
        lw.tree_structure(Row([1])).to_json()
    text = treedef.to_json()
    assert "2,[2,null]" in text
    with pytest.raises(lw.errors.TreeDefError, match="does not fit"):
        lw.PyTreeDef.from_json(text.replace("2,[2,null]", "2,[3,null]"))
    for cls in (MappingProxyType, Stack, Row, Table):
        lw.unregister_pytree_node(cls)
