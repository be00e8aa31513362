"""Flat tables of names, and trees of them."""

from collections import OrderedDict
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import leafwise as lw
from strategies import every_tree, leaves


@lw.dataclass
class Layer:
    weight: Any
    name: str = lw.static(default="layer")


class Model(lw.Pytree):
    def __init__(self, weight: Any, width: int) -> None:
        self.weight = lw.data(weight)
        self.width = width


KEYS = st.text(max_size=4) | st.text(alphabet=".[]'\"\\_/0 a", max_size=5)
PLAIN = st.recursive(
    leaves | st.none(),
    lambda below: (
        st.lists(below, max_size=3) | st.dictionaries(KEYS, below, max_size=3)
    ),
    max_leaves=12,
)
SEPARATORS = st.sampled_from([".", "/", "__", "..", " -> ", "a", "0"])


def same(a: Any, b: Any) -> bool:
    """Say whether two trees are the same, with their dicts in one order."""
    return repr(a) == repr(b)


def flat_or(tree: Any, why: str, **options: Any) -> dict[str, Any] | None:
    """Return a flat table, or None if it is refused for a reason."""
    try:
        return lw.selection.to_flat(tree, **options)
    except lw.EditError as error:
        if why not in str(error):
            raise
        return None


@example({"a_": {"b": 1}, "a": {"_b": 2}}, "__")
@example({"": {"": 1}, "['']": 2}, ".")
@example([[], {}, None, [{}]], ".")
@given(PLAIN, SEPARATORS)
def test_back_from_flat(tree, sep):
    """Any dicts with text keys and lists come back, in the order they had."""
    flat = lw.selection.to_flat(tree, sep)
    assert same(lw.selection.from_flat(flat, sep=sep), tree)
    assert same(lw.selection.from_flat([*flat.items()][::-1], tree, sep=sep), tree)
    size = len(lw.tree_leaves(tree, none_is_leaf=True))
    assert len(flat) >= size


@given(every_tree(), SEPARATORS)
def test_any_tree_comes_back_with_one_like_it(tree, sep):
    """Or two of its leaves have one name, and that is said."""
    flat = flat_or(tree, "two leaves have the name ", sep=sep, strict=False)
    if flat is None:
        return
    blank = lw.tree_map(lambda _: None, tree)
    again = lw.selection.from_flat(flat, blank, sep=sep)
    assert lw.tree_structure(again) == lw.tree_structure(tree)
    assert all(map(lambda a, b: a is b, lw.tree_leaves(again), lw.tree_leaves(tree)))


@given(every_tree())
def test_strict_tables_are_lossless_or_refused(tree):
    """There is no tree that comes back as another one."""
    flat = flat_or(tree, "from_flat could not restore ")
    assert flat is None or same(lw.selection.from_flat(flat), tree)


@pytest.mark.parametrize(
    ("tree", "flat"),
    [
        ({"a": {"b": 1}}, {"a.b": 1}),
        ({"a.b": 1, "a": {"b": 2}}, {"['a.b']": 1, "a.b": 2}),
        ({"a": [1, [2]]}, {"a[0]": 1, "a[1][0]": 2}),
        ([{"x": 1}], {"[0].x": 1}),
        ({"0": 1, "01": 2}, {"0": 1, "01": 2}),
        ({"": 1, "[0]": 2}, {"['']": 1, "['[0]']": 2}),
        ({"a": {}, "b": [], "c": None}, {"a": {}, "b": [], "c": None}),
        ({"it's": {'say "x"': 1}}, {'it\'s.say "x"': 1}),
        (5, {"": 5}),
        ({}, {}),
        ([], {"": []}),
    ],
)
def test_names(tree, flat):
    """As people write them; what could be taken for something else is quoted."""
    assert lw.selection.to_flat(tree) == flat
    assert lw.selection.from_flat(flat) == tree


@pytest.mark.parametrize(
    ("tree", "what"),
    [
        ({"a": {1: 2}}, "the key 1 of the dict at ['a']"),
        ({"a": (1,)}, "the tuple at ['a']"),
        ([OrderedDict(a=1)], "the OrderedDict at [0]"),
        (Layer(1), "the Layer at the root"),
        ({"a": ()}, "the tuple at ['a']"),
    ],
)
def test_what_would_not_come_back_is_refused(tree, what):
    """With its place and the way out."""
    with pytest.raises(lw.EditError) as error:
        lw.selection.to_flat(tree)
    assert str(error.value) == (
        f"from_flat could not restore {what}; pass strict=False if it will be given a "
        "tree like this one"
    )
    assert same(
        lw.selection.from_flat(lw.selection.to_flat(tree, strict=False), tree), tree
    )


def test_leaves_of_one_name_are_refused():
    """As an int key and a position of one node can be."""

    class Both:
        def __init__(self, a, b):
            self.a, self.b = a, b

    lw.register_pytree_node(
        Both,
        lambda n: ((n.a, n.b), None, (lw.DictKey("x"), lw.GetAttrKey("x"))),
        lambda _, children: Both(*children),
    )
    with pytest.raises(lw.EditError) as error:
        lw.selection.to_flat([Both(1, 2)], strict=False)
    assert str(error.value) == "two leaves have the name '[0].x'; one is at [0].x"


@pytest.mark.parametrize(
    ("items", "error", "text"),
    [
        (
            {"a": 1, "a.b": 2}, lw.EditError,
            "'a.b' is below a name that has a value itself",
        ),
        (
            {"a.b": 2, "a": 1}, lw.EditError,
            "'a' has a value, and so have names below it",
        ),
        (
            {"a[0]": 1, "a[2]": 2}, lw.EditError,
            "position 1 is missing in a list that has 0, 2",
        ),
        (
            {"a[0]": 1, "a.b": 2}, lw.EditError,
            "names and positions are mixed at one level: 0, 'b'",
        ),
        ([("a", 1), ("a", 2)], lw.EditError, "two items have the name 'a'"),
        (
            {"a[1.5]": 1}, lw.PathError,
            "'a[1.5]' has the key 1.5; without `like`, keys are strings or positions",
        ),
        (
            {"a..b": 1}, lw.PathError,
            "'a..b' has an empty key at character 2; write it as ['']",
        ),
        ({"a[0": 1}, lw.PathError, "'a[0': the [ at character 1 is not closed"),
        ({"a[0]b": 1}, lw.PathError, "'a[0]b': expected '.' or [ at character 4"),
    ],
)  # fmt: skip
def test_names_that_make_no_tree(items, error, text):
    """Each with the name."""
    with pytest.raises(error) as raised:
        lw.selection.from_flat(items)
    assert str(raised.value) == text


def test_separators_and_arguments():
    """A separator that names could not be told apart by is refused."""
    for sep in ("", "[", "a'"):
        with pytest.raises(
            ValueError, match="a separator is not empty and has no quotes or brackets"
        ):
            lw.selection.to_flat({}, sep)
    with pytest.raises(TypeError, match="partial=True needs a tree to compare with"):
        lw.selection.from_flat({}, partial=True)


def test_partial_restore_with_a_report():
    """What fits is taken; what does not is named, and stays as it was."""
    like = {
        "enc": Layer({"w": np.zeros((2, 2)), "b": np.zeros(2)}),
        "head": {"w": np.zeros(3), "scale": 1.0},
        "extra": {},
    }
    saved = {
        "enc.weight.w": np.ones((2, 2)),
        "enc.weight.b": np.ones(3),
        "head.w": np.ones(3, "float32"),
        "head.scale": [1, 2],
        "old": 5,
    }
    tree, report = lw.selection.from_flat(saved, like, partial=True)
    assert report == (
        ("enc.weight.w",),
        ("extra",),
        ("old",),
        ("enc.weight.b", "head.w", "head.scale"),
    )
    assert isinstance(tree["enc"], Layer)
    assert tree["enc"].weight["w"] is saved["enc.weight.w"]
    assert tree["enc"].weight["b"] is like["enc"].weight["b"]
    assert tree["head"] is like["head"]
    with pytest.raises(lw.EditError) as error:
        lw.selection.from_flat(saved, like)
    assert str(error.value) == (
        "the items do not match the tree: missing: 'extra'; extra: 'old'; changed: "
        "'enc.weight.b', 'head.w', 'head.scale'; partial=True takes what matches"
    )


def test_renaming():
    """By beginnings of names, the longest first, or by a function; None drops."""
    like = {"encoder": {"dense": 0, "norm": 0}, "layers": [0, 0]}
    saved = {"enc.fc": 1, "enc.ln": 2, "blocks[0]": 3, "blocks[1]": 4, "step": 5}
    table = {"enc": "encoder", "enc.fc": "encoder.dense", "enc.ln": "encoder.norm"}
    rename = table | {"blocks": "layers", "step": None}
    tree = lw.selection.from_flat(saved, like, rename=rename)
    assert tree == {"encoder": {"dense": 1, "norm": 2}, "layers": [3, 4]}
    tree = lw.selection.from_flat({"model.a": 1, "modelling": 2}, rename={"model": ""})
    assert tree == {"a": 1, "modelling": 2}
    assert lw.selection.from_flat({"A": 1, "B": 2}, rename=str.lower) == {
        "a": 1,
        "b": 2,
    }
    with pytest.raises(lw.EditError, match="two items have the name 'a'"):
        lw.selection.from_flat({"A": 1, "a": 2}, rename=str.lower)


def test_objects_and_leaves():
    """Objects come back as they are; `is_leaf` decides what has a name."""
    model = Model([1, 2], 3)
    flat = lw.selection.to_flat(model, strict=False)
    assert flat == {"weight[0]": 1, "weight[1]": 2}
    again = lw.selection.from_flat({"weight[0]": 5, "weight[1]": 6}, model)
    assert (again.weight, again.width, model.weight) == ([5, 6], 3, [1, 2])
    lists = lw.selection.to_flat(
        {"a": [1], "b": 2}, is_leaf=lambda x: isinstance(x, list)
    )
    assert lists == {"a": [1], "b": 2}


@pytest.mark.slow
def test_deep_and_cyclic_trees():
    """Depth is no limit; a tree that contains itself is an error."""
    tree: Any = 1
    for _ in range(20_000):
        tree = [tree]
    ((name, leaf),) = lw.selection.to_flat(tree).items()
    assert (name, leaf) == ("[0]" * 20_000, 1)
    assert lw.tree_structure(lw.selection.from_flat({name: leaf})) == lw.tree_structure(
        tree
    )
    cyclic: Any = {}
    cyclic["self"] = cyclic
    with pytest.raises(lw.CycleError):
        lw.selection.to_flat(cyclic)
