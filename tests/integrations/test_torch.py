"""What torch's compiler traces: run as plain Python, it gives what it stands in for."""

import pytest
from hypothesis import given

import leafwise as lw
from helpers.random_trees import common_trees
from leafwise.core.context import context_of
from leafwise.core.registry import view_of
from leafwise.core.walk import PathPredicate, leaf_paths
from leafwise.integrations import torch


@given(tree=common_trees())
def test_flattening_and_unflattening(tree):
    """The same leaves, equal treedefs, the same order of keys in what is rebuilt."""
    leaves, treedef = torch._flatten_by(tree, view_of(), None)
    expected, structure = lw.tree_flatten(tree)
    assert list(map(id, leaves)) == list(map(id, expected))
    assert treedef == structure
    again = torch._tree_unflatten(treedef, range(len(leaves)))
    assert repr(again) == repr(lw.tree_unflatten(structure, range(len(leaves))))


@given(tree=common_trees())
def test_paths(tree):
    """The paths of all leaves."""
    treedef = lw.tree_structure(tree)
    ours = torch._leaf_paths(treedef._code, treedef.num_leaves)
    assert ours == leaf_paths(treedef._code, treedef.num_leaves)


@pytest.mark.parametrize(
    "is_leaf",
    [
        None,
        tuple,
        (tuple, list),
        pytest.param(lambda x: isinstance(x, dict), id="a predicate"),
    ],
)
@given(tree=common_trees())
def test_stopping_early(is_leaf, tree):
    """By a type, by types, by a predicate; further trees have to fit."""
    ours = torch._context_of(is_leaf)
    expected = context_of(is_leaf)
    assert torch._flatten_by(tree, ours.view, ours.stop)[0] == expected.flatten(tree)[0]
    for context in (ours, expected):
        columns, _ = context.columns(tree, (tree,), with_paths=True)
        assert columns[1] == columns[2]
        assert [path(tree) for path in columns[0]] == columns[1]


def test_paths_in_a_predicate():
    """It gets the path of each node."""
    paths = []
    stop = PathPredicate(lambda path, _node: paths.append(str(path)))
    torch._flatten_by([[1]], view_of(), stop)
    assert paths == ["", "[0]", "[0][0]"]
