"""A node type like a built-in one, in one class; everything else works on it."""

import copy
import pickle
from types import MappingProxyType

import pytest

import leafwise as lw
from leafwise.core.builtins import BUILTINS, BY_NAME
from leafwise.core.node import NodeType


class ProxyNodeType(NodeType):
    """Mapping proxies. The aux data is their keys, in order."""

    name = "mappingproxy"
    item_key = lw.DictKey

    def flatten(self, node):
        return list(node.values()), tuple(node)

    def unflatten(self, aux, children):
        return MappingProxyType(dict(zip(aux, children, strict=True)))

    def keys(self, aux, _arity):
        return list(map(lw.DictKey, aux))

    def items(self, node):
        return dict(node)

    def from_items(self, _rest, items):
        return MappingProxyType(items)

    def order(self, keys):
        return keys


NODE_TYPE = ProxyNodeType(MappingProxyType)


@pytest.fixture(autouse=True)
def proxies(monkeypatch):
    """Add the node type to the tables of built-ins, for the time of a test."""
    monkeypatch.setitem(BUILTINS, MappingProxyType, NODE_TYPE)
    monkeypatch.setitem(BY_NAME, NODE_TYPE.name, NODE_TYPE)
    make_views_anew()
    yield
    monkeypatch.undo()
    make_views_anew()


def make_views_anew():
    lw.register_leaf(type("Changed", (), {}))


def proxy(**items):
    return MappingProxyType(items)


TREE = proxy(b=1, a=[2, proxy(c=3)])


def test_it_is_edited():
    """Children are set, added, renamed and taken away."""
    assert lw.at(TREE)["a[1].c"].set(4) == proxy(b=1, a=[2, proxy(c=4)])
    assert lw.at(TREE)["b"].delete() == proxy(a=[2, proxy(c=3)])
    assert lw.at(TREE)["z"].insert(9) == proxy(b=1, a=[2, proxy(c=3)], z=9)
    assert list(lw.selection.tree_rename(TREE, "b", "x")) == ["x", "a"]
    assert type(lw.at(TREE)["b"].set(0)) is MappingProxyType
    deleted = lw.tree_visit(TREE, lambda x, path, _: lw.DELETE if x == 1 else x)
    assert deleted == proxy(a=[2, proxy(c=3)])


def test_it_is_compared_and_merged():
    """Differences are found at its keys, and lead from one tree to the other."""
    other = proxy(b=1, a=[2, proxy(c=4)], d=5)
    changes = lw.tree_diff(TREE, other)
    assert {str(change.path) for change in changes} == {"['a'][1]['c']", "['d']"}
    assert changes.apply(TREE) == other
    merged = lw.tree_merge(TREE, proxy(a=[7, proxy(c=8)], d=5))
    assert merged == proxy(b=1, a=[7, proxy(c=8)], d=5)
    assert type(merged) is MappingProxyType
    assert lw.tree_equal(TREE, TREE)
    assert not lw.tree_equal(TREE, other)


def test_it_has_flat_keys():
    """To flat keys and back, into the same types."""
    flat = lw.selection.to_flat(TREE, strict=False)
    assert flat == {"b": 1, "a[0]": 2, "a[1].c": 3}
    assert lw.selection.from_flat(flat, like=TREE) == TREE


def test_its_treedef_is_written_down():
    """As JSON, as a pickle and as a copy."""
    treedef = lw.tree_structure(TREE)
    for again in (
        lw.PyTreeDef.from_json(treedef.to_json()),
        pickle.loads(pickle.dumps(treedef)),
        copy.copy(treedef),
        copy.deepcopy(treedef),
    ):
        assert again == treedef
        assert hash(again) == hash(treedef)
        assert again.unflatten([1, 2, 3]) == TREE
