"""Trees of bools and predicates as selectors, wherever a selector may stand."""

import re
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leafwise as lw
from helpers.random_trees import every_tree
from leafwise import nn
from leafwise.errors import PathError


class Model(nn.Module):
    """A model that can be called, as models can."""

    def __init__(self, w: Any, b: Any) -> None:
        self.w = lw.data(w)
        self.b = lw.data(b)

    def __call__(self, x: Any) -> Any:
        return self.w * x + self.b


@lw.dataclass
class Pair:
    """A node that says yes to everything when it is called."""

    w: Any
    b: Any

    def __call__(self, *_: Any) -> bool:
        return True


class Asks:
    """A leaf that can be called."""

    def __call__(self, leaf: Any) -> bool:
        return leaf > 1


space = lw.namespace("masks")


@space.dataclass
class Local:
    """A node in one namespace, elsewhere a leaf that can be called."""

    w: Any
    b: Any

    def __call__(self, *_: Any) -> bool:
        return True


PAIR = Pair(1, 2)


def test_masks_as_keys_of_labels_and_of_edits():
    """Where selectors are the keys of a table, masks that can be hashed."""
    model = Model(1, 2)
    mask = Model(True, False)
    labels = lw.selection.tree_labels(model, {mask: "on"}, default="off")
    assert (labels.w, labels.b) == ("on", "off")
    edited = lw.selection.tree_update(model, {mask: 11})
    assert (edited.w, edited.b) == (11, 2)
    merged = lw.tree_merge(model, Model(3, 4), rules={mask: "base"})
    assert (merged.w, merged.b) == (1, 4)


@given(every_tree(), st.sampled_from(["**", "*", "**.x", "[0]", int, str]))
def test_masks_mean_the_leaves_that_they_were_made_of(tree, what):
    """For every sort of node."""
    chosen = lw.at(tree, missing_ok=True)[what]
    mask = chosen.mask()
    again = lw.at(tree, missing_ok=True)[mask].mask()
    assert lw.tree_structure(again) == lw.tree_structure(mask)
    assert lw.tree_leaves(again) == lw.tree_leaves(mask)
    part, others = lw.tree_partition(tree, mask, missing_ok=True)
    assert [leaf is not lw.MISSING for leaf in lw.tree_leaves(part)] == (
        lw.tree_leaves(mask)
    )
    again = lw.tree_combine(part, others)
    assert list(map(id, lw.tree_leaves(again))) == list(map(id, lw.tree_leaves(tree)))


TREE = {"enc": {"w": 1, "bias": 2.5}, "head": {"w": 3, "bias": 4.5}, "n": 5}


@pytest.mark.parametrize(
    ("spec", "means"),
    [
        ({"enc": True, "head": False, "n": lambda x: x > 4}, ["enc", "n"]),
        ({"enc": lambda x: x > 2, "head": False, "n": True}, ["enc.bias", "n"]),
        ({"enc": float, "head": (lambda x: x < 4), "n": False}, ["enc.bias", "head.w"]),
        (
            {"enc": lw.selection.selector("w"), "head": re.compile("bias"), "n": False},
            ["enc.w", "head.bias"],
        ),
        ({"enc": {"w": Asks(), "bias": Asks()}, "head": True, "n": partial(max, 0)},
         ["enc.bias", "head", "n"]),
        ({"enc": lambda path, x: str(path) == "['enc']['w']", "head": False,
          "n": np.False_}, ["enc.w"]),
    ],
)  # fmt: skip
def test_bools_predicates_types_and_selectors_in_one_tree(spec, means):
    """Each says what is meant at its place and below; paths are those from the root."""
    expected = [lw.at(TREE)[one].paths()[0] for one in means]
    assert lw.at(TREE)[spec].paths() == expected


def test_predicates_see_the_path_from_the_root():
    """Also after another selector, as expressions do; nodes come last."""
    asked = []
    with pytest.raises(PathError):
        lw.at(TREE)["enc"][lambda path, _: asked.append(str(path))].get()
    assert asked == ["['enc']['bias']", "['enc']['w']", "['enc']"]
    assert lw.at(TREE)["enc"][re.compile(r"enc.*w")].get() == [1]


def test_a_node_with_something_else_in_it_is_no_selector():
    """The error says why it is not called."""
    with pytest.raises(TypeError) as caught:
        lw.at(PAIR)[Pair(1.5, True)]
    assert str(caught.value) == (
        "a selector is a pattern, a KeyPath, a regular expression, a type, a "
        "predicate, or a tree of bools and predicates; got Pair that has 1.5; it is "
        "a node, so it is read as a tree and not called"
    )
    for wrong in ({"a": "b"}, {"a": 1}, 1.5, np.array([True]), [1, True]):
        with pytest.raises(TypeError, match="a selector is a pattern, "):
            lw.selection.selector(wrong)
    with pytest.raises(TypeError, match="a selector is a pattern, "):
        lw.selection.selector(
            space.tree_map(lambda x: 3, Local(1, 2)), namespace="masks"
        )


def test_a_mask_that_does_not_fit_is_an_error():
    """It may be a prefix of the tree, and never goes deeper."""
    assert lw.at({"a": [1, 2]})[{"a": True}].get() == [[1, 2]]
    with pytest.raises(lw.StructureError, match="expected list of length 1, got list"):
        lw.at({"a": [1, 2]})[{"a": [True]}].get()
    mask = space.selector([Local(True, False)])
    assert space.at([Local(1, 2)])[mask].get() == [1]
    assert lw.at({"a": [1, 2]}, is_leaf=list)[{"a": True}].get() == [[1, 2]]


def test_none_in_a_mask():
    """A node as in the tree; where None is a leaf, nothing that is meant."""
    assert lw.at([None, 1])[[None, True]].get() == [1]
    nones = lw.namespace("nones", none_is_leaf=True)
    for chosen in (lw.at([None, 1], is_leaf=type(None)), nones.at([None, 1])):
        assert chosen[[None, True]].get() == [1]
        assert chosen[[True, False]].get() == [None]


# ---------------------------------------------------------------- predicates and nodes

LAYERS = {
    "enc": {"act": "relu", "w": [1, 2], "in": {"act": "tanh"}},
    "dec": ({"act": "gelu"}, {"w": 3}),
}


def has_act(node):
    return isinstance(node, dict) and "act" in node


def test_a_predicate_that_is_true_of_no_leaf_picks_nodes():
    """The outermost ones, in leaf order, to read, to edit and to split."""
    chosen = lw.at(LAYERS)[has_act]
    assert chosen.get() == [LAYERS["dec"][0], LAYERS["enc"]]
    assert [str(path) for path in chosen.paths()] == ["['dec'][0]", "['enc']"]
    assert chosen.set(0) == {"enc": 0, "dec": (0, {"w": 3})}
    assert lw.tree_leaves(chosen.mask()) == [True, False, True, True, True, True]
    with_path = lw.at(LAYERS)[lambda path, node: len(path) == 2 and has_act(node)]
    assert [str(path) for path in with_path.paths()] == ["['dec'][0]", "['enc']['in']"]
    assert lw.at(LAYERS)["dec"][has_act].get() == [{"act": "gelu"}]
    assert lw.at(LAYERS)[{"enc": has_act, "dec": False}].get() == [LAYERS["enc"]]
    assert lw.at(LAYERS, is_leaf=tuple)[has_act].get() == [LAYERS["enc"]]
    model = {"a": nn.Param(1), "b": 2}
    assert lw.at(model)[lambda node: isinstance(node, nn.Param)].get() == [model["a"]]


def test_leaves_come_before_nodes():
    """Nodes are asked only where a predicate is true of no leaf."""
    asked = []

    def predicate(value):
        asked.append(value)
        return value == 3 or isinstance(value, dict)

    assert lw.at(LAYERS)[predicate].get() == [3]
    assert all(isinstance(value, int | str) for value in asked)


@pytest.mark.parametrize(
    "predicate",
    [
        pytest.param(lambda x: x > 5, id="above 5"),
        pytest.param(lambda x: x.ndim == 2, id="a matrix"),
        pytest.param(lambda x: not isinstance(x, int), id="no int"),
        pytest.param(lambda x: x != 1, id="not 1"),
        pytest.param(lambda path, x: x is None, id="None, with path"),
        pytest.param(lambda path, x: type(x) is not int, id="no int, with path"),
    ],
)
def test_a_predicate_of_leaves_picks_no_nodes(predicate):
    """Whether it fails for nodes, or is true of whatever is not such a leaf."""
    tree = {"a": [1, 1], "b": (1,)}
    if predicate.__code__.co_names == ("ndim",):
        tree = lw.tree_map(np.float32, tree)
    with pytest.raises(PathError, match="the tree has 3 leaves, no match among them"):
        lw.at(tree)[predicate].get()
    assert lw.at(tree, missing_ok=True)[predicate].set(0) is tree
    labels = lw.selection.tree_labels(tree, {predicate: 1}, default=0)
    assert labels == {"a": [0, 0], "b": (0,)}


def test_arrays_by_their_type():
    """A class that has a shape is a type, and no flag."""
    tree = {"a": np.zeros(2), "b": 1}
    assert lw.at(tree)[np.ndarray].set(0) == {"a": 0, "b": 1}


def test_a_function_of_path_and_value():
    """What is applied takes one or two arguments, as selectors do."""
    tree = {"a": {"w": 1}, "w": 2}
    scaled = lw.at(tree)["**.w"].apply(lambda path, w: w * len(path))
    assert scaled == {"a": {"w": 2}, "w": 2}
    with pytest.raises(ZeroDivisionError) as caught:
        lw.at(tree)["**.w"].apply(lambda path, w: w / (len(path) - 1))
    assert caught.value.__notes__ == ["at key path ['w']"]
