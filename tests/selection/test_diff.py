"""Differences between trees: found, shown, applied, turned around."""

import copy
import json
from collections import OrderedDict, defaultdict, deque
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import leafwise as lw
from helpers.random_trees import Box, Linear, every_tree
from leafwise.configs.formats import load
from leafwise.errors import EditError, PathError


@lw.dataclass
class Layer:
    weight: Any
    name: str = lw.static(default="layer")


def alike(a, b):
    """Say whether two trees are the same, NaN being the same as NaN."""
    return not lw.tree_diff(a, b)


@example(Box(Box(None, 0)), Box(Box(0, 0)))
@given(every_tree(), every_tree())
def test_a_diff_leads_from_one_to_the_other(a, b):
    """Applied to the first it gives the second, turned around the first again."""
    diff = lw.tree_diff(a, b)
    there = diff.apply(a)
    assert alike(there, b)
    assert lw.tree_equal(there, b) or not lw.tree_equal(b, copy.deepcopy(b))
    assert lw.tree_equal(a, b) is not bool(diff)
    assert alike(diff.invert().apply(b), a)
    assert diff.invert().invert() == diff
    assert json.loads(diff.to_json()) is not None
    heads = [line for line in str(diff).splitlines() if not line.startswith("    ")]
    assert len(heads) == max(len(diff), 1)  # below one, texts may stand that differ


@given(every_tree())
def test_nothing_differs_from_itself(tree):
    """A tree and a copy of it; and what is found agrees with `tree_equal`."""
    assert not lw.tree_diff(tree, tree)
    assert not lw.tree_diff(tree, lw.tree_map(lambda x: x, tree))
    assert str(lw.tree_diff(tree, tree)) == "no differences"


@given(every_tree(), st.data())
def test_one_edit_is_one_change(tree, data):
    """What one edit changes is one record, at its path."""
    paths = lw.tree_paths(tree)
    if paths:
        path = data.draw(st.sampled_from(paths))
        changed = lw.at(tree)[path].set("something else")
        (change,) = lw.tree_diff(tree, changed)
        assert (change.kind, change.path) == ("value", path)
        assert change.after == "something else"


RECORDS = {
    "value": ({"a": [1, 2]}, {"a": [1, 3]}, "~ a[1]: 2 -> 3"),
    "same text": ({"a": 1}, {"a": "1"}, "~ a: 1 (int) -> '1' (str)"),
    "keys": ({"a": 1, "b": 2}, {"c": 3, "b": 2}, "- a: 1\n+ c: 3"),
    "keys of another type": (
        {"x": {1: "a", "b": 2}},
        {"x": {"1": "a", "b": 2}},
        "- x[1]: 'a'\n+ x.1: 'a', the str '1' is not the int 1",
    ),
    "longer": ([1], [1, 2, [3]], "+ [1]: 2\n+ [2]: [3]"),
    "shorter": ([1, 2, 3], [1], "- [1]: 2\n- [2]: 3"),
    "type": ({"a": [1]}, {"a": (1,)}, "! a: [1] (list) -> (1,) (tuple)"),
    "tuples": ((1, 2), (1,), "- [1]: 2"),
    "front": ([1, 2], [0, 1, 2], "+ [0]: 0"),
    "moved": ([1, 2, 3], [3, 1, 2], "> [2] -> [0]: 3"),
    "swapped": ([1, 2, 3], [3, 2, 1], "> [0] -> [2]: 1\n> [2] -> [0]: 3"),
    "replaced": ([1, 2, 3], [1, 9, 3, 4], "~ [1]: 2 -> 9\n+ [3]: 4"),
    "leaf and node": ({"a": 1}, {"a": [1]}, "! a: 1 (int) -> [1] (list)"),
    "None": ({"a": None}, {"a": 1}, "! a: None (NoneType) -> 1 (int)"),
    "static": (Layer(1, "a"), Layer(2, "b"), "~ weight: 1 -> 2\n~ name: 'a' -> 'b'"),
    "object": (Linear(1, 2), Linear(1, 3), "~ size: 2 -> 3"),
    "ordered": (OrderedDict(a=1, b=2), OrderedDict(a=1, b=2, c=3), "+ c: 3"),
    "factory": (
        defaultdict(int, a=1),
        defaultdict(list, a=1),
        "~ the root: defaultdict(<class 'int'>, {'a': 1}) -> "
        "defaultdict(<class 'list'>, {'a': 1})",
    ),
    "maxlen": (
        deque([1], maxlen=2),
        deque([1], maxlen=3),
        "~ the root: deque([1], maxlen=2) -> deque([1], maxlen=3)",
    ),
    "List": (
        lw.nn.List([lw.data(1), "s"]),
        lw.nn.List([lw.data(2), "s"]),
        "~ [0]: 1 -> 2",
    ),
}


@pytest.mark.parametrize("case", RECORDS)
def test_records_and_their_text(case):
    """What each sort of difference looks like, and that it can be applied."""
    a, b, text = RECORDS[case]
    diff = lw.tree_diff(a, b)
    assert str(diff) == text
    assert alike(diff.apply(a), b)
    assert alike(diff.invert().apply(b), a)
    assert bool(diff) is True
    assert isinstance(diff[0], lw.selection.Change)


@given(
    *(
        st.lists(st.sampled_from(["a", "b", "c", "d"]), unique=True)
        .map(dict.fromkeys)
        .map(OrderedDict)
        for _ in range(2)
    ),
    st.sampled_from(["", "diff-insertion"]),
)
def test_any_order_comes_back(a, b, namespace):
    """Of ordered dicts, and of dicts in insertion order."""
    lw.namespace("diff-insertion", dict_order="insertion")
    kind = dict if namespace else OrderedDict
    a = {"x": kind(a)}
    b = {"x": kind(b)}
    diff = lw.tree_diff(a, b, namespace=namespace)
    assert bool(diff) is not lw.tree_equal(a, b, namespace=namespace)
    assert list(diff.apply(a)["x"]) == list(b["x"])
    assert list(diff.invert().apply(b)["x"]) == list(a["x"])


def test_what_is_ignored():
    """A selector means places in either tree."""
    a = {"time": 1, "runs": [{"id": 1, "x": 2}], "old": 1}
    b = {"time": 2, "runs": [{"id": 7, "x": 3}], "new": 2}
    diff = lw.tree_diff(a, b, ignore=["time", "**.id", "old", "new"])
    assert str(diff) == "~ runs[0].x: 2 -> 3"
    assert not lw.tree_diff(a, b, ignore="**")


def test_applying_is_checked():
    """A tree that is not as it was is refused, whole."""
    diff = lw.tree_diff({"a": 1, "b": [1, 2]}, {"a": 2, "b": [1]})
    with pytest.raises(EditError, match=r"^expected 2 at b\[1\], found 3$"):
        diff.apply({"a": 1, "b": [1, 3]})
    with pytest.raises(PathError, match=r"no \['a'\] at the root"):
        diff.apply({"b": [1, 2]})
    with pytest.raises(EditError, match=r"^c already exists"):
        lw.tree_diff({}, {"c": 1}).apply({"c": 2})


def test_json():
    """Kind, path and both sides; what has no JSON form is its repr."""
    diff = lw.tree_diff({"a": 1, "b": {1, 2}}, {"a": [2], "c": None})
    assert json.loads(diff.to_json()) == [
        {"kind": "type", "path": "['a']", "before": 1, "after": [2]},
        {"kind": "removed", "path": "['b']", "before": "{1, 2}"},
        {"kind": "added", "path": "['c']", "after": None},
    ]
    arrays = [np.zeros(2_000), np.zeros(2_000)]
    arrays[1][3] = 1
    (change,) = json.loads(lw.tree_diff(*arrays).to_json())
    assert change == {
        "kind": "value",
        "path": "",
        "before": {"dtype": "float64", "shape": [2000]},
        "after": {"dtype": "float64", "shape": [2000]},
        "differing": 1,
        "size": 2000,
        "absolute": 1.0,
        "relative": 1.0,
        "not_finite": 0,
        "places": [{"at": [3], "before": 0.0, "after": 1.0}],
    }


def test_integers_that_floats_round():
    """2**53 + 1 is no float, so the values are not the same."""
    (change,) = lw.tree_diff(np.array([2**53 + 1]), np.array([2.0**53]))
    assert "with the same values" not in str(change)
    assert change.detail().differing == 1


def test_numbers_that_know_their_text_are_ints_and_floats():
    """Their classes are nobody's business."""
    before = load("a: 0644\nb: 1e3", "yaml", written=True).tree
    assert str(lw.tree_diff(before, {"a": 5, "b": 2})) == (
        "~ a: 0644 -> 5\n~ b: 1e3 (float) -> 2 (int)"
    )


def test_true_is_not_one():
    """In a config they are different things, although Python calls them equal."""
    assert str(lw.tree_diff([1, 0.0], [True, False])) == (
        "~ [0]: 1 (int) -> True (bool)\n~ [1]: 0.0 (float) -> False (bool)"
    )
    assert not lw.tree_diff([1, True], [1.0, True])


def texts(a, b):
    """Return the text of one change, without its path."""
    return str(lw.tree_diff([a], [b])).removeprefix("~ [0]: ")


def test_classes_of_one_name_are_told_apart():
    """By their modules, where they have two."""
    one, other = (
        type("Pair", (), {"__module__": m, "__repr__": lambda _: "p"}) for m in "ab"
    )
    assert texts(one(), other()) == "p (a.Pair) -> p (b.Pair)"
