"""Trees merged into one another, and joined side by side."""

from collections import defaultdict, namedtuple
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import leafwise as lw
from helpers.random_trees import every_tree, leaves, names
from leafwise.errors import EditError


Pair = namedtuple("Pair", ["x", "y"])  # as users write it


@lw.dataclass
class Layer:
    weight: Any
    name: str = lw.static(default="layer")


# ------------------------------------------------------------------------------ laws


@given(every_tree())
def test_a_tree_laid_over_itself_is_itself(tree):
    """So is a tree that nothing, or nothing new, is merged into: the same object."""
    assert lw.tree_merge(tree, tree) is tree
    assert lw.tree_merge(tree) is tree


def configs() -> Any:
    """Return a strategy for nested dicts with lists, of one sort at each place."""

    def extend(children: Any) -> Any:
        return st.fixed_dictionaries(
            {},
            optional={
                "leaf": leaves,
                "list": st.lists(leaves, max_size=3),
                "dict": st.dictionaries(names, leaves, max_size=3),
                "deep": children,
            },
        )

    return st.recursive(st.just({}), extend, max_leaves=6)


WORDS = [{}, {"lists": "extend"}, {"lists": "position"}, {"conflict": "base"}]


@given(configs(), configs(), configs(), st.sampled_from(WORDS))
def test_merging_is_associative(a, b, c, words):
    """Where each place holds one sort of thing: outer, by any rule for lists."""
    left = lw.tree_merge(lw.tree_merge(a, b, **words), c, **words)
    right = lw.tree_merge(a, lw.tree_merge(b, c, **words), **words)
    assert left == right == lw.tree_merge(a, b, c, **words)


@given(configs(), configs())
def test_joins_keep_the_keys_they_say(a, b):
    """By the words of databases; the other word for conflicts turns them around."""
    joined = {
        j: lw.tree_merge(a, b, join=j) for j in ("outer", "left", "inner", "right")
    }
    assert list(joined["left"]) == list(a)
    assert set(joined["right"]) == set(b)
    assert set(joined["inner"]) == set(a) & set(b)
    assert set(joined["outer"]) == set(a) | set(b)
    assert lw.tree_merge(a, b, conflict="base") == lw.tree_merge(b, a)
    assert lw.tree_merge(a, b, join="left") == lw.tree_merge(
        b, a, join="right", conflict="base"
    )


@given(configs(), configs())
def test_what_an_overlay_does_not_touch_is_shared(a, b):
    """Children that it does not have are the same objects, as are its own."""
    merged = lw.tree_merge(a, b)
    for key, value in merged.items():
        if key not in b:
            assert value is a[key]
        elif key not in a:
            assert value is b[key]


@given(every_tree(), every_tree())
def test_an_overlay_that_always_wins_is_there(a, b):
    """With a rule for the root nothing fails, and each leaf is of one of the two."""
    try:
        merged = lw.tree_merge(a, b, rules={"": "overlay"})
    except TypeError as error:  # a key that a `Dict` does not take
        if not str(error).startswith("the keys of a Dict are strings"):
            raise
        return
    identities = {id(x) for t in (a, b) for x in lw.tree_leaves(t, none_is_leaf=True)}
    leaves = lw.tree_leaves(merged, none_is_leaf=True)
    assert {id(x) for x in leaves} <= identities
    assert (
        lw.tree_merge(a, b, rules={"": "overlay"}, join="right", lists="replace")
        is not None
        or b is None
    )


# --------------------------------------------------------------------- sorts of nodes


@pytest.mark.parametrize(
    ("base", "overlay", "words", "merged"),
    [
        ({"a": 1}, {"b": 2}, {}, {"a": 1, "b": 2}),
        ({"a": None}, {"a": {"b": 1}}, {}, {"a": {"b": 1}}),
        ({"a": {"b": 1}}, {"a": None}, {}, {"a": None}),
        ([1, 2], [3], {}, [3]),
        ([1, 2], [3], {"lists": "extend"}, [1, 2, 3]),
        ([1, 2], (3,), {"lists": "extend"}, [1, 2, 3]),
        ((1, 2), (3,), {"lists": "extend"}, (1, 2, 3)),
        ([1, 2], [3], {"lists": "position"}, [3, 2]),
        ([1, 2], [3], {"lists": "position", "join": "inner"}, [3]),
        ([{"a": 1}], [{"b": 2}, 3], {"lists": "position"}, [{"a": 1, "b": 2}, 3]),
        (Pair(1, {"a": 2}), Pair(3, {"b": 4}), {}, Pair(3, {"a": 2, "b": 4})),
        (Layer(1), Layer(2, "new"), {}, Layer(2, "new")),
        (Layer(1), Layer(2, "new"), {"conflict": "base"}, Layer(1)),
        ({"a": 1}, {"a": lw.DELETE}, {}, {}),
        ({}, {"a": lw.DELETE, "b": {"c": lw.DELETE, "d": 1}}, {}, {"b": {"d": 1}}),
        ([1, 2, 3], [1, lw.DELETE], {"lists": "position"}, [1, 3]),
        ([1], [lw.DELETE, [2, lw.DELETE]], {}, [[2]]),
        ({1: "a"}, {"1": "b"}, {}, {1: "a", "1": "b"}),
    ],
)  # fmt: skip
def test_each_sort_of_node(base, overlay, words, merged):
    """Mappings by key, sequences as told, others child by child."""
    assert lw.tree_merge(base, overlay, **words) == merged


def test_mappings_of_every_sort_get_other_keys_with_the_same_values():
    """Also those with a factory and with kinds."""
    counts = lw.tree_merge(defaultdict(int, a=0), {"a": lw.DELETE, "b": 0})
    assert counts == {"b": 0}
    assert counts["c"] == 0
    shared = lw.data(None)
    merged = lw.tree_merge(lw.nn.Dict(a=shared), lw.nn.Dict(b=shared), join="right")
    assert dict(merged) == {"b": None}


def test_items_of_containers_keep_their_kinds():
    """What was data stays data where it goes."""
    base = lw.nn.Dict(w=lw.data(1), name="a")
    merged = lw.tree_merge(base, lw.nn.Dict(w=lw.data(2), b=lw.data(3), name="b"))
    assert isinstance(merged, lw.nn.Dict)
    assert dict(merged) == {"w": 2, "name": "b", "b": 3}
    assert sorted(lw.tree_leaves(merged)) == [2, 3]
    items = lw.nn.List([lw.data(1), "x"])
    longer = lw.tree_merge(items, lw.nn.List([lw.data(3), "y"]), lists="extend")
    assert list(longer) == [1, "x", 3, "y"]
    assert lw.tree_leaves(longer) == [1, 3]
    paired = lw.tree_merge(
        items, lw.nn.List([lw.data(3), "y", lw.data(4)]), lists="position"
    )
    assert lw.tree_leaves(paired) == [3, 4]
    assert lw.tree_leaves(items) == [1]
    with_node = lw.tree_merge(base, {"in": {"b": 5}})
    assert sorted(lw.tree_leaves(with_node)) == [1, 5]


def test_what_a_container_refuses_is_told_with_its_place():
    """The error is its own, with a note of the path."""
    with pytest.raises(TypeError, match="the keys of a Dict are strings") as error:
        lw.tree_merge({"a": lw.nn.Dict()}, {"a": {1: 2}})
    assert error.value.__notes__ == ["at key path ['a']"]


# ------------------------------------------------------------------------------ rules


def test_rules_hold_below_and_the_last_one_counts():
    """A rule for a node is one for all below, until another one is for a place."""
    base = {"a": {"x": 1, "y": [1]}, "b": {"x": 1}}
    overlay = {"a": {"x": 2, "y": [2], "z": 3}, "b": {"x": 2}}
    merged = lw.tree_merge(base, overlay, rules={"a": "base", "a.y": "extend"})
    assert merged == {"a": {"x": 1, "y": [1, 2], "z": 3}, "b": {"x": 2}}
    rules = {"a": "left", "**.x": "base", "b.x": "overlay"}
    merged = lw.tree_merge(base, overlay, rules=rules)
    assert merged == {"a": {"x": 1, "y": [2]}, "b": {"x": 2}}


def test_a_rule_says_whether_its_place_remains():
    """Where one tree alone has it."""
    base = {"old": {"x": 1}, "both": 1}
    overlay = {"new": {"y": 2}, "both": 2}
    assert lw.tree_merge(base, overlay, rules={"new": "left"}) == {
        "old": {"x": 1},
        "both": 2,
    }
    assert lw.tree_merge(base, overlay, rules={"old": "right", "both": "inner"}) == {
        "both": 2,
        "new": {"y": 2},
    }


def test_a_function_makes_one_value_of_two():
    """It is called where both trees have something, also with whole nodes."""
    rules = {"n": lambda a, b: a + b, "d": lambda a, b: [a, b]}
    base = {"n": 1, "d": {"x": 1}}
    overlay = {"n": 2, "d": {"x": 2}, "new": 0}
    merged = lw.tree_merge(base, overlay, rules=rules)
    assert merged == {"n": 3, "d": [{"x": 1}, {"x": 2}], "new": 0}
    assert lw.tree_merge(base, {"n": 5}, rules={"n": lambda *_: lw.DELETE}) == {
        "d": {"x": 1}
    }
    with pytest.raises(ZeroDivisionError) as error:
        lw.tree_merge(
            {"n": [1]}, {"n": [0]}, lists="position", rules={int: lambda a, b: a / b}
        )
    assert error.value.__notes__ == ["at key path ['n'][0]"]


# ----------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("base", "overlay", "words", "text"),
    [
        (
            {"a": {"b": 1}}, {"a": 3}, {},
            "cannot merge the leaf 3 onto a dict at a; add a rule for this path, "
            '"overlay" or "base", to choose which one wins',
        ),
        (
            {"a": 3}, {"a": {"b": 1}}, {},
            "cannot merge a dict onto the leaf 3 at a; add a rule for this path, "
            '"overlay" or "base", to choose which one wins',
        ),
        (
            {"a": {"b": 1}}, {"a": [1]}, {},
            "cannot merge a list onto a dict at a; add a rule for this path, "
            '"overlay" or "base", to choose which one wins',
        ),
        ({"a": [1]}, {"a": [2]}, {"conflict": "error"}, "[1] and [2] differ at a"),
        ({"a": 1}, {"a": True}, {"conflict": "error"}, "1 and True differ at a"),
        (
            [Layer(1)], [Layer(1, "x")], {"conflict": "error", "lists": "position"},
            "Layer(weight=1, name='layer') and Layer(weight=1, name='x') differ at [0]",
        ),
        (
            Layer(1), Layer(lw.DELETE), {},
            "the Layer at the root has a fixed number of children: they can be set, "
            "but not deleted, inserted or renamed",
        ),
        (
            {}, {"a": (1, lw.DELETE)}, {},
            "in a: the tuple at the root has a fixed number of children: "
            "they can be set, but not deleted, inserted or renamed",
        ),
        ({"a": 1}, lw.DELETE, {}, "the root cannot be deleted"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_an_error(base, overlay, words, text):
    """With the place, and what is there."""
    with pytest.raises(EditError) as error:
        lw.tree_merge(base, overlay, **words)
    assert str(error.value) == text
    assert error.value.path is not None


def test_words_that_are_none_are_refused():
    """Before anything is merged, also in rules that mean nothing."""
    with pytest.raises(ValueError, match="'union' is not one of 'outer', 'left'"):
        lw.tree_merge({}, {}, join="union")
    with pytest.raises(
        ValueError, match=r"a rule must be one of 'outer', .* got 'append'"
    ):
        lw.tree_merge({}, rules={"nowhere": "append"})


def test_two_classes_of_one_name_that_do_not_fit_are_told_apart():
    """The error does not say that a class cannot be merged onto itself."""
    one, other = (
        lw.dataclass(type("Pair", (), {"__annotations__": {"x": int}, "__module__": m}))
        for m in ("first", "second")
    )
    with pytest.raises(EditError) as caught:
        lw.tree_merge({"a": one(1)}, {"a": other(1)})
    assert str(caught.value).startswith(
        "cannot merge a Pair (second.Pair) onto a Pair (first.Pair) at a; add"
    )
