"""Agreement with `jax.tree_util`, on trees of the nodes that both know."""

from collections import OrderedDict

import pytest
from hypothesis import HealthCheck, given, settings

import leafwise as lw
from strategies import common_trees


fixtures = settings(suppress_health_check=list(HealthCheck))


def text_of(treedef):
    """Return the text of a treedef without white space: ours is laid out over lines."""
    return "".join(repr(treedef).split())


@fixtures
@given(tree=common_trees())
def test_leaves_counts_and_text(jax_tree, tree):
    """Leaves, counts and treedef text are those of jax."""
    theirs, their_def = jax_tree.tree_flatten(tree)
    ours, our_def = lw.tree_flatten(tree)
    assert [*map(id, ours)] == [*map(id, theirs)]
    assert our_def.num_leaves == their_def.num_leaves
    assert our_def.num_nodes == their_def.num_nodes
    assert text_of(our_def) == text_of(their_def)


@fixtures
@given(a=common_trees(), b=common_trees())
def test_equality_of_treedefs(jax_tree, a, b):
    """Two treedefs are equal for us exactly when they are for jax."""
    theirs = jax_tree.tree_structure(a) == jax_tree.tree_structure(b)
    assert (lw.tree_structure(a) == lw.tree_structure(b)) is theirs


@fixtures
@given(tree=common_trees())
def test_rebuilt_values(jax_tree, tree):
    """Unflattening gives equal values."""
    leaves, treedef = jax_tree.tree_flatten(tree)
    theirs = jax_tree.tree_unflatten(treedef, leaves)
    assert lw.tree_unflatten(lw.tree_structure(tree), leaves) == theirs


def outcome(function, *args):
    """Return the result of a call, or the builtin class of its error."""
    try:
        return function(*args)
    except ValueError:
        return ValueError


@fixtures
@given(a=common_trees(mappings=False), b=common_trees(mappings=False))
def test_mapping_two_trees(jax_tree, a, b):
    """Two trees map to the same result, or fail with a ValueError in both."""

    def pair(x, y):
        return ["leaf", x, y]

    theirs = outcome(jax_tree.tree_map, pair, a, b)
    assert outcome(lw.tree_map, pair, a, b) == theirs


@fixtures
@given(tree=common_trees())
def test_paths_and_their_text(jax_tree, tree):
    """Key paths read the same."""
    theirs, _ = jax_tree.tree_flatten_with_path(tree)
    ours, _ = lw.tree_flatten_with_path(tree)
    assert [str(path) for path, _ in ours] == [
        jax_tree.keystr(path) for path, _ in theirs
    ]


@fixtures
@given(tree=common_trees())
def test_is_leaf(jax_tree, tree):
    """Stopping at tuples stops at the same places."""

    def stop(x):
        return isinstance(x, tuple)

    assert lw.tree_leaves(tree, is_leaf=stop) == jax_tree.tree_leaves(
        tree, is_leaf=stop
    )


@fixtures
@given(tree=common_trees())
def test_children_and_compose(jax_tree, tree):
    """The algebra of treedefs prints the same."""
    theirs, ours = jax_tree.tree_structure(tree), lw.tree_structure(tree)
    assert [*map(text_of, ours.children())] == [*map(text_of, theirs.children())]
    assert text_of(ours.compose(ours)) == text_of(theirs.compose(theirs))
    assert text_of(lw.tree.treedef_tuple([ours, ours])) == text_of(
        jax_tree.treedef_tuple([theirs, theirs])
    )


@fixtures
@given(tree=common_trees())
def test_reduce(jax_tree, tree):
    """Both folds meet the leaves in the same order."""
    ours = lw.tree_reduce(lambda x, y: f"({x}{y})", tree, "")
    assert ours == jax_tree.tree_reduce(lambda x, y: f"({x}{y})", tree, "")
    theirs = jax_tree.tree_reduce_associative(
        lambda x, y: f"({x}{y})", tree, identity=""
    )
    ours = lw.tree.reduce_associative(lambda x, y: f"({x}{y})", tree, identity="")
    assert ours == theirs


@pytest.mark.parametrize(
    "case", [(1, [2]), ({"b": 1, "a": 2},), OrderedDict(b=1), None, 3], ids=repr
)
def test_node_data(jax_tree, case):
    """`node_data` shows the same class and aux data."""
    assert (
        lw.tree_structure(case).node_data() == jax_tree.tree_structure(case).node_data()
    )


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
    tree = [Registered({"a": 1}, "t"), 2]
    theirs, their_def = jax_tree.tree_flatten(tree)
    ours, our_def = lw.tree_flatten(tree)
    assert ours == theirs
    assert text_of(our_def) == text_of(their_def)
    assert lw.tree_paths(tree)[0][1:2] != ()
    assert [str(path) for path in lw.tree_paths(tree)] == [
        jax_tree.keystr(path) for path, _ in jax_tree.tree_flatten_with_path(tree)[0]
    ]


def test_partial(jax_tree):
    """Partial keeps args and keywords as leaves; a wrapped one is not merged."""
    ours = lw.Partial(lw.Partial(max, 1), 2, key=abs)
    theirs = jax_tree.Partial(jax_tree.Partial(max, 1), 2, key=abs)
    assert lw.tree_leaves(ours) == jax_tree.tree_leaves(theirs)
    assert ours.args == theirs.args == (2,)


@fixtures
@given(tree=common_trees())
def test_is_leaf_with_a_path(jax_tree, tree):
    """Predicates that take the path are asked about the same places."""
    seen = [], []
    lw.tree_flatten_with_path(
        tree, lambda p, _: seen[0].append(lw.keystr(p)), is_leaf_takes_path=True
    )
    jax_tree.tree_flatten_with_path(
        tree, lambda p, _: seen[1].append(jax_tree.keystr(p)), is_leaf_takes_path=True
    )
    assert seen[0] == seen[1]


@fixtures
@given(tree=common_trees())
def test_simple_text_of_paths(jax_tree, tree):
    """`keystr(simple=True)` reads the same."""
    theirs = [
        jax_tree.keystr(path, simple=True, separator="/")
        for path, _ in jax_tree.tree_flatten_with_path(tree)[0]
    ]
    ours = [lw.keystr(path, simple=True, separator="/") for path in lw.tree_paths(tree)]
    assert ours == theirs
