"""Agreement with the peers, on trees of the nodes that both know: case by case.

A case is a function of a library, two trees and options, called with the peer and with
leafwise. torch and dm-tree have other rules: None is a leaf, torch walks dicts as
inserted, and dm-tree any mapping in sorted order.
"""

from collections import OrderedDict, deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

import leafwise as lw
from strategies import common_trees, keys, leaves


class Homes:
    """The names of several modules, with options for all of their functions."""

    def __init__(self, *modules, **options):
        self.modules = modules
        self.options = options

    def __getattr__(self, name):
        names = (name, name.removeprefix("tree_"))
        homes = ((home, one) for home in self.modules for one in names)
        found = next(getattr(*pair) for pair in homes if hasattr(*pair))
        if not self.options:
            return found
        return lambda *args, **more: found(*args, **self.options, **more)


def ids(values):
    return [*map(id, values)]


def text(treedef):
    """Return the text of a treedef without white space: ours is laid out over lines."""
    return "".join(repr(treedef).split())


def pair(*leaves):
    return ["leaf", *leaves]


def join(x, y):
    return f"({x}{y})"


def is_tuple(node, *_):
    return isinstance(node, tuple)


def counts(treedef):
    return treedef.num_leaves, treedef.num_nodes


def asked(m, tree):
    """Return the paths that a predicate is asked about."""
    seen = []

    def is_leaf(path, _node):
        seen.append(m.keystr(path))

    m.tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path=True)
    return seen


JAX = {
    "leaves": lambda m, t, o: ids(m.tree_leaves(t)),
    "counts": lambda m, t, o: counts(m.tree_structure(t)),
    "text": lambda m, t, o: text(m.tree_structure(t)),
    "equality": lambda m, t, o: m.tree_structure(t) == m.tree_structure(o),
    "rebuilt": lambda m, t, o: m.tree_unflatten(m.tree_structure(t), m.tree_leaves(t)),
    "map": lambda m, t, o: m.tree_map(pair, t),
    "paths": lambda m, t, o: [m.keystr(p) for p, _ in m.tree_leaves_with_path(t)],
    "simple paths": lambda m, t, o: [
        m.keystr(p, simple=True, separator="/") for p, _ in m.tree_leaves_with_path(t)
    ],
    "is_leaf": lambda m, t, o: m.tree_leaves(t, is_leaf=is_tuple),
    "is_leaf with paths": lambda m, t, o: asked(m, t),
    "children": lambda m, t, o: [*map(text, m.tree_structure(t).children())],
    "compose": lambda m, t, o: text(m.tree_structure(t).compose(m.tree_structure(o))),
    "tuple": lambda m, t, o: text(m.treedef_tuple([m.tree_structure(t)] * 2)),
    "node data": lambda m, t, o: m.tree_structure(t).node_data(),
    "reduce": lambda m, t, o: m.tree_reduce(join, t, ""),
    "associative": lambda m, t, o: m.reduce_associative(join, t, identity=""),
}
PLAIN = {"map of two": lambda m, t, o: m.tree_map(pair, t, o)}
"""Cases for trees of lists, tuples, named tuples and plain dicts."""
OPTREE = {
    "leaves": lambda m, t, o, **k: ids(m.tree_leaves(t, **k)),
    "counts": lambda m, t, o, **k: counts(m.tree_structure(t, **k)),
    "children": lambda m, t, o, **k: m.tree_structure(t, **k).num_children,
    "map": lambda m, t, o, **k: repr(m.tree_map(repr, t, **k)),
    "map of two": lambda m, t, o, **k: m.tree_map(pair, t, o, **k),
    "all": lambda m, t, o, **k: m.tree_all(t, **k),
    "any": lambda m, t, o, **k: m.tree_any(t, **k),
    "reduce": lambda m, t, o, **k: m.tree_reduce(join, t, "", **k),
    "prefix": lambda m, t, o, **k: m.tree_broadcast_prefix(t, o, **k),
    "common": lambda m, t, o, **k: m.tree_broadcast_common(t, o, **k),
    "order": lambda m, t, o, **k: m.tree_structure(t, **k).is_prefix(
        m.tree_structure(o, **k)
    ),
    "compose": lambda m, t, o, **k: counts(
        m.tree_structure(t, **k).compose(m.tree_structure(o, **k))
    ),
}
TORCH = {
    "leaves": lambda m, t, o: ids(m.tree_leaves(t)),
    "counts": lambda m, t, o: counts(m.tree_structure(t)),
    "map": lambda m, t, o: repr(m.tree_map(repr, t)),
    "map_only": lambda m, t, o: repr(m.tree_map_only(str, str.upper, t)),
    "map of two": lambda m, t, o: m.tree_map(pair, t, o),
    "equality": lambda m, t, o: m.tree_structure(t) == m.tree_structure(o),
}


def outcome(case, library, *args, **options):
    """Return the result of a call, or the builtin class of its error."""
    try:
        return case(library, *args, **options)
    except ValueError:
        return ValueError


TREES = common_trees() | st.lists(common_trees(), max_size=3).map(deque)


@pytest.mark.parametrize("case", JAX)
@given(a=common_trees(), b=common_trees())
def test_jax(jax, jax_tree, case, a, b):
    theirs = outcome(JAX[case], Homes(jax_tree, jax.tree), a, b)
    assert outcome(JAX[case], Homes(lw, lw.tree), a, b) == theirs


@given(a=common_trees(mappings=False), b=common_trees(mappings=False))
def test_maps_of_two_trees_in_jax(jax_tree, a, b):
    """Dicts of all kinds pair by key with us."""
    theirs = outcome(PLAIN["map of two"], jax_tree, a, b)
    assert outcome(PLAIN["map of two"], lw, a, b) == theirs


@pytest.mark.parametrize("case", OPTREE)
@given(a=TREES, b=TREES, none_is_leaf=st.booleans())
def test_optree(optree, case, a, b, none_is_leaf):
    options = {"none_is_leaf": none_is_leaf}
    theirs = outcome(OPTREE[case], optree, a, b, **options)
    assert outcome(OPTREE[case], Homes(lw, lw.tree), a, b, **options) == theirs


@given(tree=st.dictionaries(keys, leaves, max_size=5))
def test_keys_that_do_not_compare_in_optree(optree, tree):
    """Both walk any dict, to the same set of leaves."""
    ours, theirs = lw.tree_leaves(tree), optree.tree_leaves(tree)
    assert sorted(map(repr, ours)) == sorted(map(repr, theirs))


@given(tree=common_trees())
def test_insertion_order_in_optree(optree, tree):
    """A namespace that walks dicts as inserted does what optree's mode does."""
    ordered = lw.namespace("oracle-insertion", dict_order="insertion")
    with optree.dict_insertion_ordered(True, namespace="oracle"):
        theirs = optree.tree_leaves(tree, namespace="oracle")
    assert ids(ordered.tree_leaves(tree)) == ids(theirs)


@pytest.mark.parametrize("case", TORCH)
@given(a=common_trees(), b=common_trees())
def test_torch(torch_tree, case, a, b):
    lw.namespace("oracle-torch", dict_order="insertion")
    ours = Homes(lw, none_is_leaf=True, namespace="oracle-torch")
    theirs = outcome(TORCH[case], torch_tree, a, b)
    assert outcome(TORCH[case], ours, a, b) == theirs


@given(tree=common_trees(mappings=False))
def test_dm_tree(dm_tree, tree):
    """Leaves, a mapped tree with the orders of its dicts, bare keys of paths."""
    options = {"none_is_leaf": True}
    assert lw.tree_leaves(tree, **options) == dm_tree.flatten(tree)
    theirs = dm_tree.map_structure(repr, tree)
    assert repr(lw.tree_map(repr, tree, **options)) == repr(theirs)
    paths = [tuple(k.entry for k in path) for path in lw.tree_paths(tree, **options)]
    assert paths == [path for path, _ in dm_tree.flatten_with_path(tree)]


def test_registered_class(jax_tree):
    """A class registered in both prints, flattens and rebuilds alike."""

    class Registered:
        def __init__(self, x, tag):
            self.x, self.tag = x, tag

    for register in (jax_tree.register_pytree_node, lw.register_pytree_node):
        register(
            Registered,
            lambda node: ([node.x], (node.tag,)),
            lambda aux, children: Registered(*children, *aux),
        )
    tree = [Registered({"a": 1}, "t"), OrderedDict(b=2)]
    for case in ("leaves", "text", "paths"):
        assert JAX[case](lw, tree, tree) == JAX[case](jax_tree, tree, tree)
