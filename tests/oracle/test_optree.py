"""Agreement with optree, on trees of the nodes that both know."""

from collections import deque

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import leafwise as lw
from strategies import common_trees, keys, leaves


fixtures = settings(suppress_health_check=list(HealthCheck))
trees = common_trees() | st.lists(common_trees(), max_size=3).map(deque)


@fixtures
@given(tree=trees, none_is_leaf=st.booleans())
def test_leaves_and_counts(optree, tree, none_is_leaf):
    """Leaves and counts agree in both None modes."""
    theirs, spec = optree.tree_flatten(tree, none_is_leaf=none_is_leaf)
    ours, treedef = lw.tree_flatten(tree, none_is_leaf=none_is_leaf)
    assert [*map(id, ours)] == [*map(id, theirs)]
    assert treedef.num_leaves == spec.num_leaves
    assert treedef.num_nodes == spec.num_nodes
    assert treedef.num_children == spec.num_children


@fixtures
@given(tree=trees)
def test_rebuilt_dicts_keep_their_order(optree, tree):
    """A mapped tree reads the same, dict orders included."""
    assert repr(lw.tree_map(repr, tree)) == repr(optree.tree_map(repr, tree))


@fixtures
@given(a=common_trees(), b=common_trees())
def test_mapping_two_trees(optree, a, b):
    """Two trees map to the same result or fail with a ValueError, dicts by key."""

    def outcome(tree_map):
        try:
            return tree_map(lambda x, y: ["leaf", x, y], a, b)
        except ValueError:
            return ValueError

    assert outcome(lw.tree_map) == outcome(optree.tree_map)


@fixtures
@given(tree=st.dictionaries(keys, leaves, max_size=5))
def test_keys_that_do_not_compare_raise_in_neither(optree, tree):
    """Both walk any dict, to the same set of leaves."""
    assert sorted(map(repr, lw.tree_leaves(tree))) == sorted(
        map(repr, optree.tree_leaves(tree))
    )


@fixtures
@given(tree=trees)
def test_folds(optree, tree):
    """all, any, reduce and replace_nones agree."""
    assert lw.tree_all(tree) == optree.tree_all(tree)
    assert lw.tree_any(tree) == optree.tree_any(tree)
    assert lw.tree.replace_nones(0, tree) == optree.tree_replace_nones(0, tree)
    ours = lw.tree_reduce(lambda x, y: f"{x}{y}", tree, "")
    assert ours == optree.tree_reduce(lambda x, y: f"{x}{y}", tree, "")


@fixtures
@given(tree=trees)
def test_one_level(optree, tree):
    """Children of the root agree."""
    if not lw.tree.is_leaf(tree):
        theirs = optree.tree_flatten_one_level(tree)
        assert lw.tree.children(tree) == theirs.children


@fixtures
@given(tree=common_trees())
def test_insertion_order_as_a_policy(optree, tree):
    """A namespace that walks dicts as inserted does what optree's mode does."""
    ordered = lw.namespace("oracle-insertion", dict_order="insertion")
    with optree.dict_insertion_ordered(True, namespace="oracle"):
        theirs = optree.tree_leaves(tree, namespace="oracle")
    assert [*map(id, ordered.tree_leaves(tree))] == [*map(id, theirs)]


def outcome(function, *args, **options):
    """Return the result of a call, or the builtin class of its error."""
    try:
        return function(*args, **options)
    except ValueError:
        return ValueError


@fixtures
@given(a=common_trees(), b=common_trees(), none_is_leaf=st.booleans())
def test_broadcasting(optree, a, b, none_is_leaf):
    """Prefix and common broadcasting give the same trees or fail alike."""
    for name in ("broadcast_prefix", "broadcast_common"):
        theirs = outcome(
            getattr(optree, f"tree_{name}"), a, b, none_is_leaf=none_is_leaf
        )
        ours = outcome(getattr(lw.tree, name), a, b, none_is_leaf=none_is_leaf)
        assert ours == theirs, name


@fixtures
@given(a=common_trees(), b=common_trees(), none_is_leaf=st.booleans())
def test_order_of_structures(optree, a, b, none_is_leaf):
    """Prefix order and composition agree."""
    ours = [lw.tree_structure(t, none_is_leaf=none_is_leaf) for t in (a, b)]
    theirs = [optree.tree_structure(t, none_is_leaf=none_is_leaf) for t in (a, b)]
    assert ours[0].is_prefix(ours[1]) == theirs[0].is_prefix(theirs[1])
    composed, spec = ours[0].compose(ours[1]), theirs[0].compose(theirs[1])
    assert composed.num_nodes == spec.num_nodes
    assert composed.num_leaves == spec.num_leaves
    inner = ours[1], theirs[1]
    grown = ours[0].transform(f_leaf=lambda _: inner[0])
    assert grown.num_nodes == theirs[0].transform(None, lambda _: inner[1]).num_nodes
