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
from leafwise.errors import EditError, PathError
from strategies import Box, every_tree


class Linear(lw.Pytree):
    def __init__(self, w, size):
        self.w = lw.data(w)
        self.size = size


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


@example({"b": 1, "a": 2}, {"b": 3, "a": 4}, True)
@example({"a": float("nan")}, {"a": float("nan")}, False)
@example([1, {"a": 2.0}], [True, {"a": 2.0}], True)
@given(every_tree(), every_tree(), st.booleans())
def test_trees_of_one_structure_are_compared_as_any_others(a, b, equal_nan):
    """With a predicate, which is asked about every node, there is no short way."""
    for other in (b, lw.tree_map(lambda x: x, a), lw.tree_map(str, a)):
        short = lw.tree_diff(a, other, equal_nan=equal_nan)
        far = lw.tree_diff(a, other, equal_nan=equal_nan, is_leaf=lambda _: False)
        assert [*map(str, short)] == [*map(str, far)]
        assert [c.path for c in short] == [c.path for c in far]


def test_equal_keys_that_are_other_objects_are_the_same_keys():
    """Strings at sight, others by what the mapping says of them."""
    one, other = ({"".join("ab"): {1: 2, "x": 3}} for _ in range(2))
    assert not lw.tree_diff(one, other, is_leaf=lambda _: False)
    assert str(lw.tree_diff({1: 2}, {True: 2})) == str(
        lw.tree_diff({1: 2}, {True: 2}, is_leaf=lambda _: False)
    )


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
    "value": ({"a": [1, 2]}, {"a": [1, 3]}, "~ ['a'][1]: 2 -> 3"),
    "same text": ({"a": 1}, {"a": "1"}, "~ ['a']: 1 (int) -> '1' (str)"),
    "keys": ({"a": 1, "b": 2}, {"c": 3, "b": 2}, "- ['a']: 1\n+ ['c']: 3"),
    "longer": ([1], [1, 2, [3]], "+ [1]: 2\n+ [2]: [3]"),
    "shorter": ([1, 2, 3], [1], "- [1]: 2\n- [2]: 3"),
    "type": ({"a": [1]}, {"a": (1,)}, "! ['a']: [1] (list) -> (1,) (tuple)"),
    "tuples": ((1, 2), (1,), "- [1]: 2"),
    "front": ([1, 2], [0, 1, 2], "+ [0]: 0"),
    "moved": ([1, 2, 3], [3, 1, 2], "> [2] -> [0]: 3"),
    "swapped": ([1, 2, 3], [3, 2, 1], "> [0] -> [2]: 1\n> [2] -> [0]: 3"),
    "replaced": ([1, 2, 3], [1, 9, 3, 4], "~ [1]: 2 -> 9\n+ [3]: 4"),
    "leaf and node": ({"a": 1}, {"a": [1]}, "! ['a']: 1 (int) -> [1] (list)"),
    "None": ({"a": None}, {"a": 1}, "! ['a']: None (NoneType) -> 1 (int)"),
    "static": (Layer(1, "a"), Layer(2, "b"), "~ .weight: 1 -> 2\n~ .name: 'a' -> 'b'"),
    "object": (Linear(1, 2), Linear(1, 3), "~ .size: 2 -> 3"),
    "ordered": (OrderedDict(a=1, b=2), OrderedDict(a=1, b=2, c=3), "+ ['c']: 3"),
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


def test_the_order_of_an_ordered_dict():
    """It is part of it, so another order is a change of the whole."""
    a, b = OrderedDict(a=1, b=2), OrderedDict(b=2, a=1)
    (change,) = lw.tree_diff(a, b)
    assert (change.kind, change.path) == ("aux", ())
    assert [*lw.tree_diff(a, b).apply(a)] == ["b", "a"]
    assert not lw.tree_diff(dict(a), dict(b))


@pytest.mark.parametrize(
    ("a", "b", "text"),
    [
        ("ba", "a", "- ['b']: 1"),
        ("ab", "a", "- ['b']: 1"),
        ("a", "ab", "+ ['b']: 1"),
        ("abc", "abd", "- ['c']: 2\n+ ['d']: 3"),
        ("abc", "acd", "- ['b']: 1\n+ ['d']: 3"),
        ("ab", "cab", "+ ['c']: 2"),
        ("abcd", "cbd", None),
        ("ab", "ba", None),
    ],
)
def test_a_diff_of_ordered_dicts_keeps_the_order_both_ways(a, b, text):
    """Single keys come and go, unless those that stay change places."""
    a, b = (OrderedDict((key, "abcd".index(key)) for key in keys) for keys in (a, b))
    diff = lw.tree_diff({"x": a}, {"x": b})
    assert [*diff.apply({"x": a})["x"].items()] == [*b.items()]
    assert [*diff.invert().apply({"x": b})["x"].items()] == [*a.items()]
    if text is None:
        assert [change.kind for change in diff] == ["aux"]
    else:
        assert str(lw.tree_diff(a, b)) == text


def test_a_diff_puts_the_keys_of_dicts_where_they_were():
    """The order of a config is not part of its structure, and kept all the same."""
    a, b = {"name": 1, "old": 2, "lr": 3}, {"new": 0, "name": 1, "steps": 4, "lr": 3}
    diff = lw.tree_diff(a, b)
    assert [*diff.apply(a)] == [*b]
    assert [*diff.invert().apply(b)] == [*a]


def test_what_is_ignored_does_not_count_for_the_order():
    """An ordered dict without the keys that are not compared may be the same."""
    a, b = OrderedDict(b=2, a=1), OrderedDict(a=1)
    assert lw.tree_diff(a, b)
    assert not lw.tree_diff(a, b, ignore="b")
    assert str(lw.tree_diff(OrderedDict(b=2, a=1), OrderedDict(a=3), ignore="b")) == (
        "~ ['a']: 1 -> 3"
    )


def test_the_order_of_dicts_where_it_is_structure():
    """In a namespace with insertion order, and for keys that have no order."""
    lw.namespace("diff-insertion", dict_order="insertion")
    one, other = frozenset({1}), frozenset({2})
    for options, a, b in (
        ({"namespace": "diff-insertion"}, {"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"namespace": "diff-insertion"}, {"b": 2, "a": 1}, {"a": 1}),
        ({}, {one: 1, other: 2}, {other: 2, one: 1}),
        ({}, {one: 1, other: 2}, {other: 2}),
        ({}, {"a": 1, other: 2}, {other: 2, "a": 1}),
    ):
        diff = lw.tree_diff(a, b, **options)
        assert bool(diff) is not lw.tree_equal(a, b, **options)
        assert lw.tree_equal(diff.apply(a), b, **options)
        assert lw.tree_equal(diff.invert().apply(b), a, **options)


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
    a, b = {"x": kind(a)}, {"x": kind(b)}
    diff = lw.tree_diff(a, b, namespace=namespace)
    assert bool(diff) is not lw.tree_equal(a, b, namespace=namespace)
    assert [*diff.apply(a)["x"]] == [*b["x"]]
    assert [*diff.invert().apply(b)["x"]] == [*a["x"]]


def test_numbers_within_a_tolerance():
    """Relative and absolute, for numbers and arrays; never for texts or shapes."""
    a = {"x": 1.0, "y": np.array([1.0, 2.0]), "s": "a", "n": float("nan"), "i": 100}
    b = {"x": 1.01, "y": np.array([1.0, 2.01]), "s": "a", "n": float("nan"), "i": 101}
    assert [str(c.path) for c in lw.tree_diff(a, b)] == ["['x']", "['y']", "['i']"]
    assert not lw.tree_diff(a, b, rtol=0.05)
    assert [str(c.path) for c in lw.tree_diff(a, b, atol=0.05)] == ["['i']"]
    assert lw.tree_diff({"s": "a"}, {"s": "b"}, atol=9.0)
    assert lw.tree_diff(np.ones(2), np.ones(3), rtol=9.0)
    assert lw.tree_diff(np.ones(2), np.ones((2, 1)), atol=9.0)


def test_what_is_ignored():
    """A selector means places in either tree."""
    a = {"time": 1, "runs": [{"id": 1, "x": 2}], "old": 1}
    b = {"time": 2, "runs": [{"id": 7, "x": 3}], "new": 2}
    diff = lw.tree_diff(a, b, ignore=["time", "**.id", "old", "new"])
    assert str(diff) == "~ ['runs'][0]['x']: 2 -> 3"
    assert not lw.tree_diff(a, b, ignore="**")


def test_applying_is_checked():
    """A tree that is not as it was is refused, whole."""
    diff = lw.tree_diff({"a": 1, "b": [1, 2]}, {"a": 2, "b": [1]})
    with pytest.raises(EditError, match=r"^expected 2 at \['b'\]\[1\], found 3$"):
        diff.apply({"a": 1, "b": [1, 3]})
    with pytest.raises(PathError, match=r"no \['a'\] at the root"):
        diff.apply({"b": [1, 2]})
    with pytest.raises(EditError, match=r"\['c'\] already exists"):
        lw.tree_diff({}, {"c": 1}).apply({"c": 2})


def test_json():
    """Kind, path and both sides; what has no JSON form is its repr."""
    diff = lw.tree_diff({"a": 1, "b": {1, 2}}, {"a": [2], "c": None})
    assert json.loads(diff.to_json()) == [
        {"kind": "type", "path": "['a']", "before": 1, "after": [2]},
        {"kind": "removed", "path": "['b']", "before": "{1, 2}"},
        {"kind": "added", "path": "['c']", "after": None},
    ]


def test_the_error_of_a_test():
    """It shows the differences only, twenty at most."""
    a = {"same": [1] * 50, "x": 1, "many": [0] * 25}
    b = {"same": [1] * 50, "x": 2, "many": [1] * 25}
    lw.testing.assert_trees_equal(a, copy.deepcopy(a))
    lw.testing.assert_trees_equal(a, b, ignore=["x", "many"])
    lw.testing.assert_trees_equal(1.0, 1.1, rtol=0.2)
    with pytest.raises(AssertionError) as caught:
        lw.testing.assert_trees_equal(a, b)
    lines = str(caught.value).splitlines()
    assert lines[:3] == [
        "the trees differ in 26 places (actual -> expected):",
        "  ~ ['x']: 1 -> 2",
        "  ~ ['many'][0]: 0 -> 1",
    ]
    assert lines[-1] == "  and 6 more"


@pytest.mark.slow
def test_depth_and_cycles():
    """A hundred thousand levels are compared; a cycle is an error."""

    def nested(leaf):
        tree = leaf
        for _ in range(100_000):
            tree = {"a": tree}
        return tree

    (change,) = lw.tree_diff(nested(1), nested(2))
    assert len(change.path) == 100_000
    knots = []
    for _ in range(2):
        knot = {"a": [1]}
        knot["a"].append(knot)
        knots.append(knot)
    with pytest.raises(lw.errors.CycleError):
        lw.tree_diff(*knots)


def test_true_is_not_one():
    """In a config they are different things, although Python calls them equal."""
    assert str(lw.tree_diff([1, 0.0], [True, False])) == (
        "~ [0]: 1 (int) -> True (bool)\n~ [1]: 0.0 (float) -> False (bool)"
    )
    assert not lw.tree_diff([1, True], [1.0, True])


def texts(a, b):
    """Return the text of one change, without its path."""
    return str(lw.tree_diff([a], [b])).removeprefix("~ [0]: ")


def test_two_values_that_print_the_same_are_told_apart():
    """By shape, dtype, type, places, or the place in the text."""

    def made():
        class Thing:
            def __repr__(self):
                return "a thing"

        return Thing()

    class Plain:
        def __repr__(self):
            return "plain"

    many = np.zeros(100)
    one = many.copy()
    one[70] = 1
    assert texts(many, one).startswith("f64[100], 1 of 100 places differs: ")
    assert texts(many, many[:50]) == "f64[100] -> f64[50]"
    assert (
        texts(many, many.astype("f4")) == "f64[100] -> f32[100], with the same values"
    )
    assert texts("x" * 100, "x" * 101).startswith(
        "100 characters -> 101 characters, which differ from character 101 on\n"
    )
    assert (
        texts(made(), made())
        == "a thing -> a thing (a different class with the same name)"
    )
    assert texts(Plain(), Plain()) == (
        "plain -> plain (a different value with the same repr)"
    )
    assert texts(np.float64(1), "np.float64(1.0)").endswith(
        "(float64) -> 'np.float64(1.0)' (str)"
    )


def test_classes_of_one_name_are_told_apart():
    """By their modules, where they have two."""
    one, other = (
        type("Pair", (), {"__module__": m, "__repr__": lambda _: "p"}) for m in "ab"
    )
    assert texts(one(), other()) == "p (a.Pair) -> p (b.Pair)"


@lw.namespace("diff-own").dataclass
class Own:
    x: Any


def test_applying_means_what_comparing_meant():
    """The same leaves, namespace and tolerance; equal copies are taken for the tree."""
    a, b = (
        {"t": (1, np.ones(2)), "n": np.array([float("nan")]), "v": 1.0},
        {"t": 2, "n": 3, "v": 9.0},
    )
    diff = lw.tree_diff(a, b, is_leaf=tuple)
    assert alike(diff.apply(copy.deepcopy(a)), b)
    with pytest.raises(EditError, match=r"^expected 1.0 at \['v'\], found 1.001$"):
        diff.apply(a | {"v": 1.001})
    assert alike(lw.tree_diff(a, b, rtol=0.1).apply(a | {"v": 1.001}), b)
    assert alike(lw.tree_diff(a, b, equal_nan=False).apply(copy.deepcopy(a)), b)
    own = lw.tree_diff([Own(1)], [[Own(1)]], namespace="diff-own")
    assert type(own.apply([Own(1)])[0]) is list


def test_a_leaf_that_is_missing_is_no_missing_leaf():
    """The parts of a partition can be compared, and the differences applied."""
    a, b = {"x": lw.MISSING, "y": [1, lw.MISSING]}, {"x": 1, "y": [1, 2]}
    diff = lw.tree_diff(a, b)
    assert str(diff) == "~ ['x']: MISSING (Missing) -> 1 (int)\n" + (
        "~ ['y'][1]: MISSING (Missing) -> 2 (int)"
    )
    assert diff.apply(a) == b
    assert diff.invert().apply(b) == a
