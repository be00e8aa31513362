"""Parts of trees: splitting, putting together, labels."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import leafwise as lw
from helpers.random_trees import every_tree
from leafwise.errors import EditError, PathError


SELECTORS = st.lists(
    st.sampled_from(["**", "*", "[0]", "**[0]", "**.x", int, str, float, list, dict]),
    max_size=3,
)


@given(every_tree(), SELECTORS)
def test_parts_are_the_tree(tree, selectors):
    """Each leaf is in one part, the first that means it; together they are the tree."""
    parts = lw.tree_partition(tree, *selectors, missing_ok=True)
    assert len(parts) == len(selectors) + 1
    again = lw.tree_combine(*parts)
    assert lw.tree_structure(again) == lw.tree_structure(tree)
    leaves = lw.tree_leaves(tree)
    assert all(map(lambda a, b: a is b, lw.tree_leaves(again), leaves))
    masks = [lw.at(tree, missing_ok=True)[s].mask() for s in selectors]
    for place, leaf in enumerate(leaves):
        flags = [lw.tree_leaves(mask)[place] for mask in masks]
        expected = flags.index(True) if True in flags else len(selectors)
        values = [lw.tree_leaves(part)[place] for part in parts]
        assert values[expected] is leaf
        assert all(x is lw.MISSING for n, x in enumerate(values) if n != expected)


def test_none_is_a_value():
    """It is neither a gap nor a leaf, unless `is_leaf` or the namespace says so."""
    tree = {"a": None, "b": 1}
    ints, nothing = lw.tree_partition(tree, int)
    assert (ints, nothing) == (tree, {"a": None, "b": lw.MISSING})
    lw.namespace("nones", none_is_leaf=True)
    for options in ({"is_leaf": type(None)}, {"namespace": "nones"}):
        a, others = lw.tree_partition(tree, "a", **options)
        assert (a, others) == ({"a": None, "b": lw.MISSING}, {"a": lw.MISSING, "b": 1})
        assert lw.tree_combine(a, others, **options) == tree
    assert not lw.MISSING


def test_combining_is_checked():
    """Gaps, overlaps and other structures are errors with the path."""
    gap = {"a": lw.MISSING}
    one = {"a": 1}
    with pytest.raises(EditError, match=r"^the leaf at a is in no part$"):
        lw.tree_combine(gap, gap)
    with pytest.raises(EditError, match=r"^the leaf at a is in parts 0 and 2"):
        lw.tree_combine(one, gap, one)
    with pytest.raises(
        lw.StructureError, match=r"the second tree does not have the structure"
    ):
        lw.tree_combine(one, {"b": 1})
    with pytest.raises(TypeError, match="at least one tree"):
        lw.tree_combine()


def test_labels():
    """The first rule that means a leaf counts; a leaf without a rule is an error."""
    tree = {"enc": {"w": 1, "bias": 2}, "head": {"w": 3}}
    rules = {re.compile("bias"): "none", "head": "fast", "**": "slow"}
    labels = lw.selection.tree_labels(tree, rules)
    assert labels == {"enc": {"w": "slow", "bias": "none"}, "head": {"w": "fast"}}
    with pytest.raises(EditError, match=r"^no rule matches the leaf at head"):
        lw.selection.tree_labels(tree, {"enc": 1})


def test_filtering():
    """What is not meant becomes the filler; nothing meant is an error."""
    tree = [1, "a", (2.5,)]
    assert lw.selection.tree_filter(tree, (int, float)) == [1, lw.MISSING, (2.5,)]
    assert lw.selection.tree_filter(tree, "[2]", fill=0) == [0, 0, (2.5,)]
    with pytest.raises(PathError, match="no match for 'of type bytes'"):
        lw.selection.tree_filter(tree, bytes)
    assert lw.selection.tree_filter(tree, bytes, missing_ok=True, fill=0) == [
        0,
        0,
        (0,),
    ]


def test_the_tree_comes_first():
    """A call in another order, as for a map, says so."""
    order = "the first argument is the tree, and selectors come after it"
    for tree in ({"a": 1}, {"a": True}, {"a": None}):
        with pytest.raises(TypeError) as error:
            lw.tree_partition(len, tree)
        assert str(error.value) == f"{order}; got <built-in function len> as the tree"
    with pytest.raises(PathError, match="no match") as error:
        lw.tree_partition(len, "b")
    assert error.value.__notes__ == [order]
