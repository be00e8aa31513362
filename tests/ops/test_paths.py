"""Leaves with their key paths: `leafwise.ops.paths`."""

import pytest

import leafwise as lw


def texts(tree, *args, **options):
    """Return the key paths of a tree as text."""
    return [str(path) for path in lw.tree_paths(tree, *args, **options)]


@pytest.mark.parametrize(
    "function",
    [
        lw.tree_paths,
        lw.tree_leaves_with_path,
        lw.tree_flatten_with_path,
        pytest.param(
            lambda tree, stop=None: lw.tree_map_with_path(max, tree, is_leaf=stop),
            id="tree_map_with_path",
        ),
    ],
)
def test_errors_of_the_arguments_and_of_the_tree(function):
    """A wrong `is_leaf` and a cycle have the same texts as everywhere."""
    with pytest.raises(TypeError) as caught:
        function([1], 3)
    assert str(caught.value) == (
        "is_leaf must be a predicate, a type or a tuple of types, got int: 3"
    )
    knot = {"k": []}
    knot["k"].append(knot)
    with pytest.raises(lw.errors.CycleError) as caught:
        function(knot)
    assert str(caught.value) == (
        "the tree contains itself: the dict at the root occurs again at ['k'][0]"
    )
    assert caught.value.first == ()
    assert str(caught.value.again) == "['k'][0]"
