"""Broadcasting and transposing: `leafwise.ops.reshape`."""

from collections import OrderedDict, deque

import pytest

import leafwise as lw


FULL = ("a1", {"k1": "a2", "k2": "a3"})


def test_none_is_a_node_by_default():
    """Without `none_is_leaf`, None covers only None."""
    assert lw.tree_broadcast_prefix((None, 0), (None, [1, 2])) == (None, [0, 0])
    with pytest.raises(lw.StructureError) as error:
        lw.tree_broadcast_prefix((None, 0), FULL)
    assert str(error.value) == (
        "prefix_tree is not a prefix of full_tree, in 1 place:\n"
        "  at [0]: expected None, got leaf 'a1' (str)\n"
        "hint: the expected None is a node without children; none_is_leaf=True, of a "
        "call or a namespace, makes it a leaf"
    )


def test_the_result_has_the_containers_of_the_full_tree():
    """Dicts of other kinds and order, and deques of another maxlen, stay theirs."""
    full = OrderedDict(b=[1, 2], a=3)
    spread = lw.tree_broadcast_prefix({"a": "A", "b": "B"}, full)
    assert spread == OrderedDict(b=["B", "B"], a="A")
    assert type(spread) is OrderedDict
    assert lw.tree.broadcast_leaves({"a": "A", "b": "B"}, full) == ["B", "B", "A"]
    assert lw.tree.broadcast_leaves(full | {"b": 0, "a": 9}, {"a": 1, "b": 2}) == [9, 0]
    assert lw.tree_broadcast_prefix(deque([1]), deque([[2]], 5)).maxlen == 5


def test_common_broadcasting():
    """Each tree is grown where the other goes deeper, and keeps its own nodes."""
    one, other = lw.tree.broadcast_common(
        {"a": 1, "b": (2, 3)}, OrderedDict(b=4, a=[5, 6])
    )
    assert one == {"a": [1, 1], "b": (2, 3)}
    assert other == OrderedDict(b=(4, 4), a=[5, 6])
    assert type(other) is OrderedDict


def test_mapping_over_trees_that_cover_each_other():
    """Any number of trees are spread over each other."""
    tree = lw.tree.broadcast_map(
        lambda *xs: xs, [1, (2, 3)], 10, [(100, 200), 300], [0, 0]
    )
    assert tree == [
        ((1, 10, 100, 0), (1, 10, 200, 0)),
        ((2, 10, 300, 0), (3, 10, 300, 0)),
    ]
    assert lw.tree.broadcast_map(abs, [-1]) == [1]
    assert lw.tree.broadcast_map(lambda x, y: (x, y), None, None) is None


def test_trees_without_a_common_structure():
    """The error names the tree and the place."""
    with pytest.raises(lw.StructureError) as error:
        lw.tree.broadcast_map(max, [1, [2]], 3, [1, (2,)])
    assert str(error.value) == (
        "the third tree has no common structure with those before it, in 1 place:\n"
        "  at [1]: expected list of length 1, got tuple of length 1"
    )
    assert error.value.tree_index == 2


# --------------------------------------------------------------------------- inside out


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
        "hint: the inner structure is taken from the first one; pass it as a treedef "
        "to allow anything at its leaves"
    )


def test_structures_without_leaves():
    """Without outer leaves the inner structure must be given."""
    empty = lw.tree_structure([])
    assert lw.tree_transpose(empty, PAIR, []) == ([], [])
    assert lw.tree_transpose(PAIR, empty, ([], [])) == []
    with pytest.raises(lw.StructureError, match=r"has no leaves, so the inner"):
        lw.tree_transpose(empty, None, [])
    with pytest.raises(TypeError, match=r"^tree_transpose takes treedefs .* got list"):
        lw.tree_transpose([0], PAIR, [])


def test_unzip():
    """A tree of n-tuples becomes n trees; anything else is named."""
    assert lw.tree.unzip([(1, 2), {"a": (3, 4)}], 2) == ([1, {"a": 3}], [2, {"a": 4}])
    assert lw.tree.unzip((1, 2), 2) == (1, 2)
    assert lw.tree.unzip([], 3) == ([], [], [])
    nested = ((1, 2), (3, 4))
    assert lw.tree.unzip(nested, 2) == ((1, 2), (3, 4))
    innermost = lw.tree.unzip(nested, 2, is_leaf=lambda x: x in ((1, 2), (3, 4)))
    assert innermost == ((1, 3), (2, 4))
    with pytest.raises(lw.StructureError) as error:
        lw.tree.unzip({"a": (1, 2), "b": [3]}, 2)
    assert str(error.value) == (
        "the tree does not end in 2-tuples, in 1 place:\n"
        "  at ['b'][0]: expected tuple of length 2, got leaf 3"
    )


@pytest.mark.parametrize(
    "broadcast", [lw.tree_broadcast_prefix, lw.tree.broadcast_leaves]
)
def test_a_prefix_has_the_name_that_the_caller_gives_it(broadcast):
    """In the error, which also says when the two trees are swapped."""
    swap = r"\(but the reverse holds: swap the two arguments\)"
    with pytest.raises(lw.StructureError, match=swap):
        broadcast(FULL, (0, 1))
    with pytest.raises(lw.StructureError, match=swap):
        broadcast(FULL, (None, 1), none_is_leaf=True)
    with pytest.raises(
        lw.StructureError, match="with None as a leaf the reverse holds"
    ):
        broadcast(FULL, (None, 1))
    # The given order is right if None is a leaf, so the other one is not proposed.
    with pytest.raises(lw.StructureError, match="none_is_leaf=True") as error:
        broadcast((0, None), (1, "x"))
    assert "swap" not in str(error.value)
    with pytest.raises(lw.StructureError) as error:
        broadcast((0, [1]), FULL, name="in_axes")
    assert str(error.value) == (
        "in_axes is not a prefix of the tree it is broadcast over, in 1 place:\n"
        "  at [1]: expected list of length 1, got dict with keys 'k1', 'k2'"
    )
