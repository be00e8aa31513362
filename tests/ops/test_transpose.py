"""Transposing, checked for structure."""

import pytest

import leafwise as lw


PAIR = lw.tree_structure((0, 0))
TRIPLE = lw.tree_structure([0, 0, 0])


def test_transpose():
    """A list of pairs becomes a pair of lists."""
    assert lw.tree_transpose(TRIPLE, PAIR, [(1, 2), (3, 4), (5, 6)]) == (
        [1, 3, 5],
        [2, 4, 6],
    )
    assert lw.tree_transpose(TRIPLE, None, [(1, 2), (3, 4), (5, 6)])[1] == [2, 4, 6]


def test_a_tree_of_the_wrong_shape_is_refused():
    """The right number of leaves is not enough."""
    with pytest.raises(lw.StructureError) as error:
        lw.tree_transpose(TRIPLE, PAIR, [(1, 2, 3), (4, 5, 6)])
    assert str(error.value) == (
        "the tree does not have the structure of the treedef, in 1 place:\n"
        "  at the root: expected list of length 3, got list of length 2"
    )
    with pytest.raises(lw.StructureError) as error:
        lw.tree_transpose(TRIPLE, PAIR, [(1, 2), (3, 4), [5, 6]])
    assert str(error.value) == (
        "the tree does not have the inner structure at each outer leaf, in 1 place:\n"
        "  at [2]: expected tuple of length 2, got list of length 2"
    )
    with pytest.raises(lw.StructureError, match=r"at \[1\]\[0\]: expected a leaf, got"):
        lw.tree_transpose(TRIPLE, PAIR, [(1, 2), ((3,), 4), (5, 6)])


def test_structures_without_leaves():
    """Without outer leaves the inner structure must be given."""
    empty = lw.tree_structure([])
    assert lw.tree_transpose(empty, PAIR, []) == ([], [])
    assert lw.tree_transpose(PAIR, empty, ([], [])) == []
    with pytest.raises(lw.StructureError, match="has no leaves, so the inner"):
        lw.tree_transpose(empty, None, [])
    with pytest.raises(TypeError, match="takes two treedefs and then the tree, got"):
        lw.tree_transpose([0], PAIR, [])


def test_transpose_map():
    """What a function returns is turned out."""
    low, high = lw.tree_transpose_map(lambda x: (x, x + 1), {"b": 1, "a": [2]})
    assert (low, high) == ({"b": 1, "a": [2]}, {"b": 2, "a": [3]})
    assert list(low) == ["b", "a"]
    made = lw.tree_transpose_map(
        lambda x, y: {"sum": x + y, "both": [x, y]}, (1, 2), (3, 4)
    )
    assert made == {"sum": (4, 6), "both": [(1, 2), (3, 4)]}
    with pytest.raises(lw.StructureError, match="inner structure"):
        lw.tree_transpose_map(lambda x: (x,) * x, [1, 2])
    assert lw.tree_transpose_map(lambda x: x, [], inner_treedef=PAIR) == ([], [])
    paths = lw.tree_transpose_map_with_path(
        lambda p, x, y: (str(p), y),
        [1],
        [[2]],
        inner_treedef=lw.tree_structure((0, [0])),
    )
    assert paths == (["[0]"], [[2]])


def test_unzip():
    """A tree of n-tuples becomes n trees; anything else is named."""
    assert lw.tree_unzip([(1, 2), {"a": (3, 4)}], 2) == ([1, {"a": 3}], [2, {"a": 4}])
    assert lw.tree_unzip((1, 2), 2) == (1, 2)
    assert lw.tree_unzip([], 3) == ([], [], [])
    nested = ((1, 2), (3, 4))
    assert lw.tree_unzip(nested, 2) == ((1, 2), (3, 4))
    innermost = lw.tree_unzip(nested, 2, is_leaf=lambda x: x in ((1, 2), (3, 4)))
    assert innermost == ((1, 3), (2, 4))
    with pytest.raises(lw.StructureError) as error:
        lw.tree_unzip({"a": (1, 2), "b": [3]}, 2)
    assert str(error.value) == (
        "the tree does not end in 2-tuples, in 1 place:\n"
        "  at ['b'][0]: expected tuple of length 2, got leaf 3"
    )
