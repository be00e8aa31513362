"""Flat tables: `leafwise.selection.flat`."""

import contextlib
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import leafwise as lw
from helpers.random_trees import every_tree, leaves
from leafwise.errors import EditError, PathError


@lw.dataclass
class Layer:
    weight: Any
    name: str = lw.static(default="layer")


KEYS = st.text(max_size=4) | st.text(alphabet=".[]'\"\\_/0 a", max_size=5)
PLAIN = lw.testing.trees(
    leaves, nodes=[type(None), list, dict], keys=KEYS, max_leaves=12
)
SEPARATORS = st.sampled_from([".", "/", "__", "..", " -> ", "a", "0"])


def same(a: Any, b: Any) -> bool:
    """Say whether two trees are the same, with their dicts in one order."""
    return repr(a) == repr(b)


def flat_or(tree: Any, why: str, **options: Any) -> dict[str, Any] | None:
    """Return a flat table, or None if it is refused for a reason."""
    try:
        return lw.selection.to_flat(tree, **options)
    except EditError as error:
        if why not in str(error):
            raise
        return None


@example({"a_": {"b": 1}, "a": {"_b": 2}}, "__")
@example({"": {"": 1}, "['']": 2}, ".")
@example([[], {}, None, [{}]], ".")
@given(PLAIN, SEPARATORS)
def test_back_from_flat(tree, sep):
    """Any dicts with string keys and lists come back, in the order they had."""
    flat = lw.selection.to_flat(tree, sep)
    assert same(lw.selection.from_flat(flat, sep=sep), tree)
    assert same(lw.selection.from_flat(list(flat.items())[::-1], tree, sep=sep), tree)
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
    """There is no tree that comes back as another one; objects need one like them."""
    flat = flat_or(tree, "from_flat could not restore ")
    if flat is None:
        return
    types = set()
    lw.tree_leaves(tree, is_leaf=lambda node: types.add(type(node)))
    nodes = {cls for cls in types if lw.registry.lookup(cls) is not None}
    if nodes <= {dict, list, type(None)}:
        assert same(lw.selection.from_flat(flat), tree)
        return
    again = lw.selection.from_flat(flat, lw.tree_map(lambda _: None, tree))
    assert lw.tree_structure(again) == lw.tree_structure(tree)
    assert all(map(lambda a, b: a is b, lw.tree_leaves(again), lw.tree_leaves(tree)))


def test_a_dataclass_is_a_table_of_its_fields():
    """As it is logged; in it, containers of all kinds are no error."""

    @lw.dataclass
    class Config:
        layer: Layer
        sizes: tuple[int, ...] = (1, 2)
        table: Any = None

    config = Config(Layer(0.5), table={1: "a"})
    flat = lw.to_flat(config)
    assert flat == {
        "layer.weight": 0.5, "sizes[0]": 1, "sizes[1]": 2, "table[1]": "a",
    }  # fmt: skip
    assert lw.from_flat(flat, config) == config
    assert lw.to_flat([config])["[0].layer.weight"] == 0.5
    with pytest.raises(EditError, match=r"restore the tuple at b;"):
        lw.to_flat({"a": config, "b": (1, 2)})


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


def test_leaves_of_one_name_are_refused():
    """As an int key and a position of one node can be."""

    class Both:
        def __init__(self, a, b):
            self.a = a
            self.b = b

    lw.register_pytree_node(
        Both,
        lambda n: ((n.a, n.b), None, (lw.DictKey("x"), lw.GetAttrKey("x"))),
        lambda _, children: Both(*children),
    )
    with pytest.raises(EditError) as error:
        lw.selection.to_flat([Both(1, 2)], strict=False)
    assert str(error.value) == "two leaves have the name '[0].x'; one is at [0].x"


LISTS = "expected names, or all positions from 0 on"
PLAIN = "without `like`, keys must be strings or positions"


@pytest.mark.parametrize(
    ("items", "error", "text"),
    [
        ({"a": 1, "a.b": 2}, EditError,
         "'a.b' is below a name that already has a value"),
        ({"a.b": 2, "a": 1}, EditError,
         "'a' has a value, but names below it have one, too"),
        ({"a[0]": 1, "a[2]": 2}, EditError, f"{LISTS}: 0, 2"),
        ({"a[0]": 1, "a.b": 2}, EditError, f"{LISTS}: 0, 'b'"),
        ([("a", 1), ("a", 2)], EditError, "two items have the name 'a'"),
        ({"a[1.5]": 1}, PathError, f"'a[1.5]' has the key [1.5]; {PLAIN}"),
        ({"a.w*": 1}, PathError, f"'a.w*' has the key w*; {PLAIN}"),
        ({"a..b": 1}, PathError,
         "not a pattern: a name is missing here\n  a..b\n    ^"),
        ({"a[0": 1}, PathError, "not a pattern: this [ is not closed\n  a[0\n   ^"),
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
            ValueError,
            match="a separator must not be empty or contain quotes or brackets",
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
    with pytest.raises(EditError) as error:
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
    with pytest.raises(EditError, match="two items have the name 'a'"):
        lw.selection.from_flat({"A": 1, "a": 2}, rename=str.lower)


PIECES = list("ab[]'.=+~*{}:-1 ")
PIECES += ["9" * 5000, "nan", "inf", "()", "f''", "\0", "\ud800", "<flat index ", ">"]


@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join))
def test_any_text_is_the_name_of_a_leaf_or_an_error(text):
    """In a flat table, too."""
    with contextlib.suppress(EditError, PathError):
        flat = lw.selection.to_flat(lw.selection.from_flat({text: 1}))
        assert list(flat.values()) == [1]


# ------------------------------------------------------------- names are selectors

KEYS = st.sampled_from(
    [
        "@types/node",
        "a@b",
        "w*",
        "{x}",
        "0.weight",
        "0",
        "00",
        "?",
        "**",
        "a=b",
        "+a",
        "~a",
        " a",
        "a ",
        "a b",
        "'q'",
        '"',
        "[0]",
        "a[0]",
        "a,b",
        ":",
        "1:2",
        "",
        "-1",
        "<flat index 0>",
        "a\n",
        "\u00e9",
        "1" * 5_000,
        "a:b",
        "/",
        "\\",
    ]
) | st.text(max_size=4)


def leaves_are_distinct(shape):
    """Return a tree of the shape whose leaves are distinct objects."""
    return lw.tree_map(lambda _: object(), shape)


def check_names(tree, **options):
    flat = lw.selection.to_flat(tree, **options)
    assert len(flat) == len(lw.tree_leaves(tree))
    for name, leaf in flat.items():
        assert lw.at(tree)[name].get() is leaf
        if name:
            changed = lw.configs.override(tree, f"++{name}=new")
            assert lw.at(changed)[name].get() == "new"
            assert len(lw.tree_diff(tree, changed)) == 1
    return flat


@given(
    st.recursive(
        st.just(0),
        lambda below: (
            st.lists(below, min_size=1, max_size=3)
            | st.dictionaries(KEYS, below, min_size=1, max_size=3)
        ),
        max_leaves=8,
    )
)
def test_each_name_is_a_selector_of_its_leaf(shape):
    """Whatever the keys are; and `from_flat` reads the names back."""
    tree = leaves_are_distinct(shape)
    flat = check_names(tree)
    if type(tree) in (dict, list):
        assert lw.selection.from_flat(flat) == tree


OTHER_KEYS = st.sampled_from(
    [0, 1, -1, True, 1.5, float("nan"), None, (1, "a"), b"x", "0", "1", "x"]
)


@given(
    st.recursive(
        st.just(0),
        lambda below: (
            st.dictionaries(OTHER_KEYS, below, min_size=1, max_size=4)
            | st.tuples(below, below)
        ),
        max_leaves=8,
    )
)
def test_names_with_other_keys_are_selectors(shape):
    """Numbers, bools, None, bytes and tuples; and texts of the same digits."""
    check_names(leaves_are_distinct(shape), strict=False)
