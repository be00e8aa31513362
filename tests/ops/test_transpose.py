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
        "  at [2]: expected tuple of length 2, got list of length 2\n"
        "hint: a list and a tuple are different nodes; convert one of them"
    )
    with pytest.raises(lw.StructureError) as error:
        lw.tree_transpose(TRIPLE, None, [(1, 2), ((3,), 4), (5, 6)])
    assert str(error.value) == (
        "the tree does not have the inner structure at each outer leaf, in 1 place:\n"
        "  at [1][0]: expected a leaf, got tuple of length 1\n"
        "hint: the inner structure is that of the first one; pass it as a treedef to "
        "allow anything at its leaves"
    )


def test_containers_at_the_leaves_are_moved_whole():
    """Where both structures are given, what stands at their leaves may be anything."""
    square = lw.tree_structure([0, 0])
    boxes = [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]
    assert lw.tree_transpose(square, square, boxes) == [
        [[1, 2], [5, 6]],
        [[3, 4], [7, 8]],
    ]
    assert lw.tree_transpose(TRIPLE, PAIR, [(1, 2), ((3,), 4), (5, 6)]) == (
        [1, (3,), 5],
        [2, 4, 6],
    )
    for f in (lw.tree_transpose_map, lw.tree_transpose_map_with_path):
        deeper = f(
            lambda *x: (x[-1], [x[-1]] * x[-1]), {"a": 1, "b": 2}, inner_treedef=PAIR
        )
        assert deeper == ({"a": 1, "b": 2}, {"a": [1], "b": [2, 2]})


@pytest.mark.parametrize("is_leaf", [list, lambda node: isinstance(node, list)])
def test_is_leaf_says_where_the_inner_structure_ends(is_leaf):
    """It is asked of what the inner structure is taken from, and of all the others."""
    tree = ((1, [2, 3]), (4, []))
    assert lw.tree_transpose(PAIR, None, tree, is_leaf) == ((1, 4), ([2, 3], []))
    assert lw.tree_transpose_map(lambda x: (x, [x] * x), (1, 2), is_leaf=is_leaf) == (
        (1, 2),
        ([1], [2, 2]),
    )
    with pytest.raises(lw.StructureError, match=r"at \[1\]\[0\]: expected a leaf, got"):
        lw.tree_transpose(PAIR, None, ((1, [2]), ((4,), [])), is_leaf)


def test_structures_of_two_modes_are_not_turned():
    """Two None modes, or two namespaces, are refused before anything is called."""
    other = lw.tree_structure((0, 0), none_is_leaf=True)
    one, two = (
        lw.tree_structure((0, 0), namespace=lw.namespace(name).name)
        for name in ("transpose.one", "transpose.two")
    )
    called = []
    for outer, inner in ((PAIR, other), (other, PAIR), (one, two)):
        with pytest.raises(
            lw.TreeDefError, match=r"^tree_transpose takes treedefs of one"
        ):
            lw.tree_transpose(outer, inner, ((1, 2), (3, 4)))
        options = {"none_is_leaf": outer.none_is_leaf, "namespace": outer.namespace}
        with pytest.raises(lw.TreeDefError, match=r"^tree_transpose_map takes"):
            lw.tree_transpose_map(called.append, (1, 2), inner_treedef=inner, **options)
    with pytest.raises(
        TypeError, match=r"^tree_transpose_map takes treedefs .* got int"
    ):
        lw.tree_transpose_map(called.append, (1, 2), inner_treedef=3)
    assert called == []
    for outer, inner in ((PAIR, one), (one, PAIR)):
        assert lw.tree_transpose(outer, inner, ((1, 2), (3, 4))) == ((1, 3), (2, 4))


def test_structures_without_leaves():
    """Without outer leaves the inner structure must be given."""
    empty = lw.tree_structure([])
    assert lw.tree_transpose(empty, PAIR, []) == ([], [])
    assert lw.tree_transpose(PAIR, empty, ([], [])) == []
    with pytest.raises(lw.StructureError, match=r"has no leaves, so the inner"):
        lw.tree_transpose(empty, None, [])
    with pytest.raises(TypeError, match=r"^tree_transpose takes treedefs .* got list"):
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
