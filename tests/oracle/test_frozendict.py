"""The stand-ins treat `frozendict` as jax and optree do, on a Python that has it."""

import builtins
from collections import OrderedDict

import pytest

from leafwise.compat import jax_tree_util
from leafwise.compat import optree as our_optree


frozendict = getattr(builtins, "frozendict", None)
pytestmark = pytest.mark.skipif(
    frozendict is None, reason="frozendict is not on this Python"
)


def examples():
    """Return trees with frozendicts in them."""
    return [
        frozendict(),
        frozendict(b=1, a=[2, None]),
        {"x": frozendict(b=(1, 2)), "y": [frozendict({2: 3, 1: 4})]},
        OrderedDict(b=frozendict(a=1)),
    ]


def test_jax_has_the_same_leaves_paths_and_text(need):
    """And the same aux data."""
    util = need("jax").tree_util
    for tree in examples():
        leaves, treedef = util.tree_flatten(tree)
        our_leaves, our_treedef = jax_tree_util.tree_flatten(tree)
        assert our_leaves == leaves
        assert str(our_treedef) == str(treedef)
        assert our_treedef.node_data() == treedef.node_data()
        assert our_treedef.unflatten(leaves) == treedef.unflatten(leaves)
        paths = [util.keystr(path) for path, _ in util.tree_leaves_with_path(tree)]
        our_paths = [
            jax_tree_util.keystr(path)
            for path, _ in jax_tree_util.tree_leaves_with_path(tree)
        ]
        assert our_paths == paths


def test_optree_has_the_same_structures(need):
    """Leaves, text, kinds, metadata, entries and accessors; and the maker."""
    optree = need("optree")
    for tree in examples():
        leaves, spec = optree.tree_flatten(tree)
        our_leaves, our_spec = our_optree.tree_flatten(tree)
        assert our_leaves == leaves
        assert str(our_spec) == str(spec)
        assert our_spec.kind == spec.kind
        assert our_spec.paths() == spec.paths()
        assert str(our_spec.accessors()) == str(spec.accessors())
        assert our_spec.unflatten(leaves) == spec.unflatten(leaves)
    tree = frozendict(b=1, a=[2])
    level = optree.tree_flatten_one_level(tree)
    our_level = our_optree.tree_flatten_one_level(tree)
    assert tuple(our_level)[:3] == tuple(level)[:3]
    rebuilt = our_level.unflatten_func(our_level.metadata, our_level.children)
    assert rebuilt == tree
    assert list(rebuilt) == ["b", "a"]
    leaf = our_optree.treespec_leaf()
    made = our_optree.treespec_frozendict(b=leaf, a=leaf)
    assert made == our_optree.tree_structure(frozendict(a=1, b=2))
    entry = optree.register_pytree_node.get(frozendict)
    our_entry = our_optree.register_pytree_node.get(frozendict)
    assert (our_entry.kind, our_entry.namespace) == (entry.kind, entry.namespace)


def test_optree_pairs_it_with_other_dicts(need):
    """By key, the first tree decides the type."""
    for library in (need("optree"), our_optree):
        one = frozendict(b=1, a=2)
        result = library.tree_map(max, one, {"a": 20, "b": 10})
        assert result == frozendict(b=10, a=20)
        assert type(result) is frozendict
