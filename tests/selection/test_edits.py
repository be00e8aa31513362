"""Edits: the laws of lenses, sharing of what is not touched, each sort of node."""

from collections import OrderedDict, defaultdict, deque
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import leafwise as lw
from helpers.random_trees import Linear, Point, every_tree
from leafwise import nn
from leafwise.errors import EditError, PathError


@lw.dataclass(frozen=True)
class Layer:
    weight: Any
    name: str = lw.static(default="layer")


def nodes(tree):
    """Return every node with its path, the root first."""
    pairs = [(lw.KeyPath(), tree)]
    for path, node in pairs:
        if not lw.tree.is_leaf(node) and node is not None:
            level = lw.tree.flatten_one_level(node)
            pairs += [
                (lw.KeyPath((*path, key)), child)
                for key, child in zip(level.keys, level.children, strict=True)
            ]
    return pairs


@given(every_tree(), st.data())
def test_laws_of_lenses(tree, data):
    """What was set is there; setting what is there is nothing; the last set counts."""
    path, value = data.draw(st.sampled_from(nodes(tree)))
    place = lw.at(tree)[path]
    one = object()
    two = object()
    assert lw.at(place.set(one))[path].get() is one
    again = place.set(value)
    assert lw.tree_structure(again) == lw.tree_structure(tree)
    assert all(map(lambda a, b: a is b, lw.tree_leaves(again), lw.tree_leaves(tree)))
    twice = lw.at(place.set(one))[path].set(two)
    assert lw.tree_equal(twice, place.set(two))


@given(every_tree(), st.data())
def test_what_is_not_touched_is_shared(tree, data):
    """Only the nodes above an edit are new; the tree that was given is as it was."""
    path, _ = data.draw(st.sampled_from(nodes(tree)))
    before = [(p, node) for p, node in nodes(tree)]
    structure = lw.tree_structure(tree)
    leaves = lw.tree_leaves(tree)
    changed = lw.at(tree)[path].set(None)
    for other, node in before:
        above = other and lw.at(tree)[other.parent].get()
        if other[: len(path)] == path or isinstance(above, lw.Partial):
            continue  # it is gone, or its holder makes a new dict each time
        value = lw.at(changed)[other].get()
        is_above = path[: len(other)] == other
        assert (value is node) is not is_above or not lw.tree_leaves(node)
    assert lw.tree_structure(tree) == structure
    assert all(map(lambda a, b: a is b, lw.tree_leaves(tree), leaves))


@given(every_tree(), st.data())
def test_many_edits_are_as_one_after_another(tree, data):
    """`tree_update` does in one pass what `set` does in several."""
    leaves = lw.tree_paths(tree)
    assume(leaves)
    chosen = data.draw(st.lists(st.sampled_from(leaves), unique=True, min_size=1))
    expected = tree
    for number, path in enumerate(chosen):
        expected = lw.at(expected)[path].set(number)
    edits = {path: number for number, path in enumerate(chosen)}
    assert lw.tree_equal(lw.selection.tree_update(tree, edits), expected)


SLICED = {
    "slice": (slice(0, 2), [1, 2]),
    "slice in a pattern": ("[0:2]", [1, 2]),
    "from the end": (slice(-2, None), [2, 3]),
    "every other one": (slice(None, None, 2), [1, 3]),
    "positions": ((0, 2), [1, 3]),
    "a list of positions": ([2, 0, -1], [3, 1]),
    "positions and slices": ((slice(1, 2), "[2]"), [2, 3]),
    "nothing": ((), []),
    "no item": ([], []),
}


@pytest.mark.parametrize("case", SLICED)
def test_slices_and_positions_in_brackets(case):
    """As in a pattern: `[0:2]` and `[0,2]`."""
    what, expected = SLICED[case]
    tree = [1, 2, 3]
    assert lw.at(tree)[what].get() == expected
    assert lw.at({"a": tree})["a"][what].get() == expected
    assert expected or lw.at(tree)[what]["x"].get() == []
    assert lw.at(tree)[what].set(0) == [0 if x in expected else x for x in tree]
    assert lw.at(tree)[what].delete() == [x for x in tree if x not in expected]


EDITABLE = {
    "dict": {"b": 1, "a": 2},
    "OrderedDict": OrderedDict(b=1, a=2),
    "defaultdict": defaultdict(list, b=1, a=2),
    "Dict": nn.Dict(b=lw.data(1), a=lw.data(2)),
}


@pytest.mark.parametrize("kind", EDITABLE)
def test_mappings(kind):
    """Deleting, inserting, renaming; order and type stay."""
    tree = {"in": EDITABLE[kind]}
    without = lw.at(tree)["in.b"].delete()["in"]
    assert (type(without), list(without)) == (type(EDITABLE[kind]), ["a"])
    more = lw.at(tree)["in.c"].insert(3)["in"]
    assert list(more) == ["b", "a", "c"]
    assert more["c"] == 3
    renamed = lw.selection.tree_rename(tree, "in.b", "z")["in"]
    assert dict(renamed) == {"z": 1, "a": 2}
    if kind != "Dict":
        assert list(renamed) == ["z", "a"]
    assert len(lw.tree_leaves(renamed)) == 2
    swapped = (
        lw.selection.tree_rename(tree, "in.*", {"a": "b", "b": "a"}.get)
        if kind != "Dict"
        else None
    )
    assert swapped is None or dict(swapped["in"]) == {"a": 1, "b": 2}
    if kind == "defaultdict":
        assert renamed.default_factory is list
    for edit in (
        lambda: lw.at(tree)["in.b"].insert(5),
        lambda: lw.selection.tree_rename(tree, "in.b", "a"),
    ):
        with pytest.raises(EditError, match=r"in\.. already exists"):
            edit()
    assert list(EDITABLE[kind]) == ["b", "a"]


class Items(list):
    """A list of a user, who registers it by functions."""


lw.register_pytree_node(
    Items,
    lambda node: (list(node), None, list(map(lw.SequenceKey, range(len(node))))),
    lambda _, children: Items(children),
)


@pytest.mark.parametrize(
    "make",
    [
        list,
        deque,
        Items,
        pytest.param(lambda items: nn.List(map(lw.data, items)), id="nn.List"),
    ],
)
def test_sequences(make):
    """Deleting and inserting at several positions, all said of the old ones."""
    tree = {"in": make([0, 1, 2, 3])}
    assert list(lw.at(tree)["in[1,-1]"].delete()["in"]) == [0, 2]
    assert list(lw.at(tree)["in[0]"].insert(9)["in"]) == [9, 0, 1, 2, 3]
    assert list(lw.at(tree)["in[-1]"].insert(9)["in"]) == [0, 1, 2, 9, 3]
    assert list(lw.at(tree)["in[4]"].insert(9)["in"]) == [0, 1, 2, 3, 9]
    with pytest.raises(EditError, match=r"at position 5: the \w+ at in has 4 items"):
        lw.at(tree)["in[5]"].insert(9)
    with pytest.raises(EditError, match=r"positions at in cannot be renamed"):
        lw.selection.tree_rename(tree, "in[0]", "x")
    with pytest.raises(EditError, match=r"cannot insert at .* not a single key"):
        lw.at(tree)["in[0:1]"].insert(9)


def test_a_full_deque():
    """It does not drop items silently."""
    full = deque([1, 2], maxlen=2)
    assert lw.at([full])["[0][0]"].delete() == [deque([2], maxlen=2)]
    with pytest.raises(EditError, match=r"the deque at \[0\] can hold at most 2 items"):
        lw.at([full])["[0][0]"].insert(0)


def test_objects():
    """Attributes of `Pytree` objects, static ones as well, keep their kinds."""
    model = {"out": Linear([1, 2], size=3)}
    bigger = lw.at(model)["out.size"].set(4)
    assert (bigger["out"].size, model["out"].size) == (4, 3)
    assert lw.tree_leaves(bigger) == [1, 2]
    assert bigger["out"].w is model["out"].w
    renamed = lw.selection.tree_rename(model, "out.w", "kernel")
    assert lw.tree_leaves(renamed) == [1, 2]
    assert not hasattr(renamed["out"], "w")
    more = lw.at(model)["out.bias"].insert(lw.data(0))
    assert [str(path) for path in lw.tree_paths(more)] == [
        "['out'].bias",
        "['out'].w[0]",
        "['out'].w[1]",
    ]
    assert vars(lw.at(model)["out.size"].delete()["out"]) == {"w": [1, 2]}
    with pytest.raises(EditError, match=r"^out\.size already exists"):
        lw.at(model)["out.size"].insert(1)
    with pytest.raises(lw.errors.KindError, match="size"):
        lw.at(model)["out.size"].set(nn.List([]))
    assert vars(model["out"]) == {"w": [1, 2], "size": 3}


def test_dataclasses_and_named_tuples():
    """Fields are set, static ones as well, without `__init__`; none is deleted."""
    tree = [Layer(1, name="a"), Point(2, 3), (4, 5)]
    assert lw.at(tree)["[0].name"].set("b")[0] == Layer(1, name="b")
    assert lw.at(tree)["**.weight"].set(object) == [Layer(object, name="a"), *tree[1:]]
    assert lw.at(tree)["[1].y"].apply(str)[1] == Point(2, "3")
    assert tree[0].name == "a"
    for pattern, name in {
        "[0].weight": "Layer",
        "[1].x": "Point",
        "[2][0]": "tuple",
    }.items():
        for edit in (
            lw.at(tree)[pattern].delete,
            lambda pattern=pattern: lw.selection.tree_rename(tree, pattern, "z"),
        ):
            with pytest.raises(EditError) as caught:
                edit()
            where = pattern[:3]
            assert str(caught.value) == (
                f"the {name} at {where} has a fixed number of children: they can be "
                "set, but not deleted, inserted or renamed"
            )
            assert str(caught.value.path) == where
    with pytest.raises(EditError, match=r"cannot insert at .* into the leaf at"):
        lw.at({"a": 1})["a.b"].insert(1)


def test_overlaps():
    """One place twice, or a place inside another one, is an error; nothing happens."""
    tree = {"a": {"w": 1}, "b": 2}
    for edits, text in {
        ("a", "a.w"): "cannot edit both a and something inside it",
        ("a.w", "a"): "cannot edit both a and something inside it",
        ("b", "['b']"): "cannot edit b twice",
        ("", "b"): "the root can only be replaced, by a single edit",
    }.items():
        with pytest.raises(EditError) as caught:
            lw.selection.tree_update(tree, dict.fromkeys(edits, 0))
        assert str(caught.value).startswith(text)
    assert tree == {"a": {"w": 1}, "b": 2}
    assert lw.selection.tree_update(tree, {"": 5}) == 5
    with pytest.raises(EditError, match="the root can only be replaced"):
        lw.at(tree)[""].delete()


def test_one_and_get():
    """One value where the form says so; an error with the places where it is not so."""
    tree = {"a": {"w": 1}, "b": {"w": 2}}
    with pytest.raises(PathError) as caught:
        lw.at(tree)["**.w"].one()
    assert str(caught.value) == ("expected one match, found 2: a.w, b.w")
    assert lw.at(tree)["a.w"].get() == 1
    assert lw.at(tree)["{a}.w"].get() == [1]
    assert lw.at(tree)["c.w"].get(None) is None
    assert lw.at(tree, missing_ok=True)["*.v"].get() == []
    assert lw.at(tree, missing_ok=True)["*.v"].set(0) == tree


def test_moving():
    """Across containers; the target is said of the tree without the source."""
    tree = {"a": [1, 2, 3], "b": {}}
    assert lw.selection.tree_move(tree, "a[0]", "a[2]") == {"a": [2, 3, 1], "b": {}}
    assert lw.selection.tree_move(tree, "a", "b.a") == {"b": {"a": [1, 2, 3]}}
    assert lw.selection.tree_move(tree, "b", "a[0]") == {"a": [{}, 1, 2, 3]}
    with pytest.raises(PathError, match=r"no match for 'a\.x': the dict at the"):
        lw.selection.tree_move(tree, "a", "a.x")
    with pytest.raises(EditError, match="already exists"):
        lw.selection.tree_move(tree, "a[0]", "b")
    assert tree == {"a": [1, 2, 3], "b": {}}


def test_pointing():
    """`tree_at` with one node, several, the root, shared and empty ones, None."""
    shared = [1]
    tree = {"a": shared, "b": shared, "c": None, "d": (), "p": Point(1, 2)}
    assert lw.selection.tree_at(lambda t: t["a"], tree, 0) == {**tree, "a": 0}
    assert lw.selection.tree_at(lambda t: (t["a"][0], t["p"].y), tree, (8, 9)) == {
        **tree,
        "a": [8],
        "p": Point(1, 9),
    }
    assert lw.selection.tree_at(lambda t: t, tree, 3) == 3
    assert lw.selection.tree_at(lambda t: t["c"], tree, 3)["c"] == 3
    assert lw.selection.tree_at(lambda t: t["d"], tree, 3)["d"] == 3
    assert lw.selection.tree_at(lambda t: t["p"], tree, replace_fn=sum)["p"] == 3
    assert lw.selection.tree_at(lambda t: t["p"], tree, (3,))["p"] == (3,)
    assert lw.selection.tree_at(lambda t: [t["a"]], tree, ["x"])["a"] == "x"
    with pytest.raises(
        EditError, match="where returned a list that is not in the tree"
    ):
        lw.selection.tree_at(lambda t: (t["a"], [1]), tree, (1, 2))
    with pytest.raises(EditError, match=r"cannot edit .* twice"):
        lw.selection.tree_at(lambda t: (t["a"], t["a"]), tree, (1, 2))
    with pytest.raises(EditError, match=r"cannot edit both .* inside it"):
        lw.selection.tree_at(lambda t: (t["a"], t["a"][0]), tree, (1, 2))
    with pytest.raises(ValueError, match="longer than argument 1"):
        lw.selection.tree_at(lambda t: (t["a"], t["b"]), tree, (1, 2, 3))
    for options in ({}, {"replace": 1, "replace_fn": str}):
        with pytest.raises(TypeError, match="either replace or replace_fn"):
            lw.selection.tree_at(lambda t: t["a"], tree, **options)


def test_pointing_at_one_object_in_two_places_is_an_error():
    """Where a class gives the same object back, there is no telling."""
    same = nn.graphdef({})
    with pytest.raises(EditError) as caught:
        lw.selection.tree_at(lambda t: t["a"], {"a": same, "b": same}, 2)
    assert str(caught.value) == (
        "where returned a GraphDef that occurs several times: a, b"
    )


def test_static_items_of_containers():
    """They are no leaves, and can be read and set as static attributes can."""
    items = nn.List(["first", lw.data(1), "last"])
    assert lw.at(items)["[0]"].get() == "first"
    assert lw.at(items)["[1]"].get() == 1
    assert lw.at(items)["[-1]"].get() == "last"
    assert list(lw.at(items)["[-1]"].set("end")) == ["first", 1, "end"]
    assert list(lw.at(items)["[1]"].delete()) == ["first", "last"]
    assert list(lw.at(items)["[0]"].delete()) == [1, "last"]
    table = nn.Dict(w=lw.data(1), name="a")
    assert lw.at(table)["name"].get() == "a"
    changed = lw.at(table)["name"].set("b")
    assert (dict(changed), lw.tree_leaves(changed)) == ({"w": 1, "name": "b"}, [1])
    assert dict(table) == {"w": 1, "name": "a"}
    assert lw.at([table])["[0].name"].paths() == [lw.KeyPath.parse("[0]['name']")]


@pytest.mark.parametrize(
    ("tree", "where", "message"),
    [
        ([1], "a", "'a' into the list"),
        ([1], "\N{SUPERSCRIPT TWO}", "'²' into the list"),
        ([1], "@a", "'@a' into the list"),
        ([1], "[1.5]", "'[1.5]' into the list"),
        ({"a": 1}, "@b", "'@b' into the dict"),
        ({"a": 1}, "[<flat index 0>]", "'[<flat index 0>]' into the dict"),
        (nn.List([1]), "x", "'x' into the List"),
    ],
    ids=str,
)
def test_a_key_that_a_node_cannot_have_is_not_inserted(tree, where, message):
    """The error names the key and the node, whatever was asked for."""
    with pytest.raises(EditError) as caught:
        lw.at([tree])["[0]"][where].insert(2)
    assert str(caught.value) == f"cannot insert at {message} at [0]"


@pytest.mark.parametrize("function", [sum, float])
def test_a_function_is_a_value(function):
    """An update does not call it."""
    updated = lw.tree_update({"act": len}, {"act": function})
    assert updated == {"act": function}


def test_the_end_of_a_list():
    """`[+]` is where an item is appended."""
    tree = {"a": [1, 2], "c": {}, "d": None}
    assert lw.at(tree)["a[+]"].insert(9)["a"] == [1, 2, 9]
    with pytest.raises(PathError, match=r"no match for 'a\[\+\]'"):
        lw.at(tree)["a[+]"].get()
    with pytest.raises(EditError, match=r"^cannot insert at '\[\+\]' into the dict at"):
        lw.at(tree)["c[+]"].insert(9)


def test_a_selection_is_not_its_value():
    """Assignments and sums say what to write instead."""
    tree = {"a": 1}
    with pytest.raises(TypeError, match=r"at\(tree\)\['a'\]\.set\(value\) returns the"):
        lw.at(tree)["a"] = 2
    with pytest.raises(TypeError, match=r"at\(tree\)\['a'\]\.delete\(\) returns the"):
        del lw.at(tree)["a"]
    for compute in (lambda s: s + 1, lambda s: 1 - s, lambda s: 2 * s, lambda s: s / 2):
        with pytest.raises(TypeError, match=r"read it by \.get\(\), or change it by"):
            compute(lw.at(tree)["a"])
    assert tree == {"a": 1}


def test_a_selection_is_not_iterated():
    """The error names what reads it; `in` would count up for ever otherwise."""
    selection = lw.at({"lr": [1, 2]})["lr[*]"]
    for read in (list, iter, lambda selection: 1 in selection):
        with pytest.raises(TypeError, match=r"\.get\(\) .*\.paths\(\).*\.items\(\)"):
            read(selection)
