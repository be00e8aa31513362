"""The walk does what the reference says, for every node type."""

from hypothesis import given
from hypothesis import strategies as st

import leafwise as lw
from helpers.exact_forms import exact_form
from helpers.random_trees import every_tree
from leafwise.core import reference, walk
from leafwise.core.registry import current, view_of
from leafwise.core.walk import PathPredicate


def identities(values):
    return [id(value) for value in values]


@given(every_tree(), st.booleans())
def test_flatten(tree, none_is_leaf):
    """Leaves and structure, and that a structure and a code say the same."""
    view = view_of("", none_is_leaf)
    leaves, code = walk.flatten(tree, view)
    expected, structure = reference.flatten(tree, view)
    assert identities(leaves) == identities(expected)
    expected_treedef = lw.PyTreeDef._of(reference.steps_of(structure), view.mode)
    assert lw.PyTreeDef._make(code, len(leaves), view.mode) == expected_treedef
    steps = list(walk.iter_steps(code))
    assert reference.steps_of(reference.structure_of(code)) == steps


def identity(path, node):
    """Return what identifies a node; a partial copies its keywords each time."""
    is_copy = path[-1:] == (lw.GetAttrKey("keywords"),)
    return dict if is_copy and type(node) is dict else id(node)


@given(every_tree(), st.sampled_from([list, dict, tuple, 2]))
def test_flatten_with_a_predicate(tree, stop):
    """It is asked of the same nodes, in the same order, with the same paths."""

    def is_leaf(path, node):
        calls.append((path, identity(path, node)))
        return type(node) is stop or len(path) == stop

    view = current.view
    calls = []
    leaves, code = walk.flatten(tree, view, PathPredicate(is_leaf))
    walk_calls = calls
    calls = []
    expected, structure = reference.flatten(tree, view, is_leaf)
    assert walk_calls == calls
    paths = reference.leaf_paths(structure)
    assert list(map(identity, paths, leaves)) == list(map(identity, paths, expected))
    expected_treedef = lw.PyTreeDef._of(reference.steps_of(structure), view.mode)
    assert lw.PyTreeDef._make(code, len(leaves), view.mode) == expected_treedef


@given(every_tree())
def test_unflatten_match_and_paths(tree):
    leaves, code = walk.flatten(tree, current.view)
    structure = reference.structure_of(code)
    assert walk.leaf_paths(code, len(leaves)) == reference.leaf_paths(structure)
    subtrees = reference.flatten_up_to(structure, tree)
    assert identities(walk.flatten_up_to(code, tree)) == identities(subtrees)
    boxes = [[leaf] for leaf in leaves]
    rebuilt = reference.unflatten(structure, iter(boxes))
    assert exact_form(walk.rebuild(code, boxes)) == exact_form(rebuilt)
    assert walk.flatten_up_to(code, rebuilt) == boxes
    other = object()
    expected = reference.flatten_up_to(structure, other)
    assert walk.flatten_up_to(code, other) == expected


@given(every_tree())
def test_map(tree):
    """The function is called with the same leaves, and the results are the same."""

    def record(leaf):
        calls.append(id(leaf))
        return [leaf]

    calls = []
    mapped = lw.tree_map(record, tree)
    walk_calls = calls
    calls = []
    expected = reference.map_tree(record, tree, current.view)
    assert walk_calls == calls
    assert exact_form(mapped) == exact_form(expected)
