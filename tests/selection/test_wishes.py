"""What users of other libraries asked for, one test for each wish.

Each name has the number of the wish in the notes that the project began with: key
paths (8), surgery (9), groups (10), joins (15), drift of checkpoints (19), comparing
(20), several outputs (24), configs (36).
"""

import copy
from collections import UserDict
from typing import Any, NamedTuple

import numpy as np
import pytest

import leafwise as lw
from leafwise.errors import EditError, PathError
from leafwise.integrations import support


class Pair(NamedTuple):
    weight: Any
    bias: Any


class Dense(lw.Pytree):
    def __init__(self, weight: Any, bias: Any, units: int) -> None:
        self.weight = lw.data(weight)
        self.bias = lw.data(bias)
        self.units = units


MODEL = {
    "encoder": [Pair(1.0, 2.0), Pair(3.0, 4.0)],
    "head": Dense(5.0, 6.0, units=3),
}


def test_wish_8_names_that_are_unambiguous_and_come_back():
    """Where others shift "01", drop a key with a dot, or make text of an int."""
    for tree in (
        {"a.b": 1, "a": {"b": 2}},
        {"01": 1, "1": 2},
        {"~": 1, "a/b": 2, "": 3},
        {"a": {}, "b": []},
        {"Ünïcode key": {"with 'quotes'": [None]}},
    ):
        for sep in (".", "/", "~"):
            assert (
                lw.selection.from_flat(lw.selection.to_flat(tree, sep), sep=sep) == tree
            )
        for path, leaf in lw.tree_leaves_with_path(tree):
            assert lw.KeyPath.parse(str(path)) == path
            assert lw.at(tree)[str(path)].get() == leaf
    mixed = {1: "int", "1": "text"}
    with pytest.raises(EditError, match="could not restore the key 1 of the dict"):
        lw.selection.to_flat(mixed)
    assert lw.selection.to_flat(mixed, strict=False) == {"[1]": "int", "1": "text"}
    assert (
        lw.selection.from_flat(lw.selection.to_flat(mixed, strict=False), mixed)
        == mixed
    )


def test_wish_9_surgery_at_a_path():
    """Set, get, update, delete, insert, move, rename; overlaps and typos are errors."""
    bigger = lw.at(MODEL)["encoder[1].weight"].set(9.0)
    assert bigger["encoder"][1] == Pair(9.0, 4.0)
    assert bigger["head"] is MODEL["head"]
    assert lw.at(MODEL)["head.units"].get() == 3
    edited = lw.selection.tree_update(MODEL, {"**.bias": 0.0, "head.units": 4})
    assert (edited["encoder"][0].bias, edited["head"].bias) == (0.0, 0.0)
    assert (edited["head"].units, MODEL["head"].units) == (4, 3)
    config = {"lr": 0.1, "optim": {"steps": [1, 3]}}
    assert lw.at(config)["optim.steps[1]"].insert(2)["optim"]["steps"] == [1, 2, 3]
    assert lw.at(config)["optim.steps[0]"].delete()["optim"]["steps"] == [3]
    assert lw.selection.tree_move(config, "lr", "optim.lr") == {
        "optim": {"steps": [1, 3], "lr": 0.1}
    }
    assert lw.selection.tree_rename(config, "lr", "rate")["rate"] == 0.1
    with pytest.raises(EditError, match=r"at several places: \[0\], \[1\]|twice"):
        lw.selection.tree_at(lambda m: (m[0], m[0]), [1, 2], (8, 9))
    with pytest.raises(PathError) as error:
        lw.at(MODEL)["head.wieght"].get()
    assert str(error.value) == (
        "no match for 'head.wieght': the Dense at ['head'] has .weight, .units, .bias"
    )


def test_wish_10_groups_by_path_type_or_predicate():
    """More than two parts, None a value, labels by the first rule that holds."""
    biases, encoder, rest = lw.tree_partition(MODEL, "**.bias", "encoder")
    assert lw.tree_leaves(lw.tree_map(lambda x: x, biases)) == [
        lw.MISSING, 2.0, lw.MISSING, 4.0, 6.0, lw.MISSING,
    ]  # fmt: skip
    assert encoder["encoder"] == [Pair(1.0, lw.MISSING), Pair(3.0, lw.MISSING)]
    assert rest["head"].weight == 5.0
    again = lw.tree_combine(biases, encoder, rest)
    assert lw.tree_leaves(again) == lw.tree_leaves(MODEL)
    labels = lw.selection.tree_labels(
        MODEL, {"**.bias": "no decay", "head": "fast"}, default="all"
    )
    assert lw.tree_leaves(labels) == [
        "all", "no decay", "all", "no decay", "no decay", "fast",
    ]  # fmt: skip
    assert lw.at(MODEL)[lambda leaf: leaf > 4].get() == [6.0, 5.0]


def test_wish_15_joins_and_merges_by_place():
    """A strategy for each place, conflicts with their path, a fill for what is not."""
    base = {"tags": ["a"], "model": {"tags": ["x"], "size": 1}, "seed": 0}
    mine = {"tags": ["b"], "model": {"tags": ["y"], "size": 2}, "extra": True}
    merged = lw.tree_merge(
        base, mine, rules={"**.tags": "extend", "model.size": max, "seed": "base"}
    )
    assert merged == {
        "tags": ["a", "b"],
        "model": {"tags": ["x", "y"], "size": 2},
        "seed": 0,
        "extra": True,
    }
    with pytest.raises(EditError, match="cannot merge the leaf 1 onto"):
        lw.tree_merge(base, {"model": 1})
    total = lw.selection.tree_map_outer(
        lambda *xs: sum(xs), {"a": 1}, {"a": 2, "b": 3}, fill=0
    )
    assert total == {"a": 3, "b": 3}


def test_wish_19_structure_that_drifted():
    """A checkpoint of an older model: renamed, with gaps, and told what did not fit."""
    saved = {
        "enc[0].weight": np.ones(2),
        "enc[0].bias": np.ones(3),
        "step": 10,
    }
    model = {"encoder": [Pair(np.zeros(2), np.zeros(2))], "new": 0.5}
    restored, report = lw.selection.from_flat(
        saved, model, rename={"enc": "encoder"}, partial=True
    )
    assert isinstance(restored["encoder"][0], Pair)
    assert restored["encoder"][0].weight is saved["enc[0].weight"]
    assert restored["new"] == 0.5
    assert report._asdict() == {
        "matched": ("encoder[0].weight",),
        "missing": ("new",),
        "extra": ("step",),
        "changed": ("encoder[0].bias",),
    }


def test_wish_20_what_differs():
    """Records with paths and both sides, that apply; a message for tests."""
    old = {"model": Dense(1.0, np.zeros(2), 3), "opt": {"lr": 0.1}}
    new = {"model": Dense(1.0, np.ones(2), 4), "opt": {"lr": 0.1 + 1e-9, "wd": 0}}
    diff = lw.tree_diff(old, new, rtol=1e-6)
    assert [(c.kind, str(c.path)) for c in diff] == [
        ("value", "['model'].bias"),
        ("aux", "['model'].units"),
        ("added", "['opt']['wd']"),
    ]
    assert not lw.tree_diff(diff.apply(old), new, rtol=1e-6)
    assert not lw.tree_diff(old, new, rtol=1e-6, ignore=["model", "opt.wd"])
    with pytest.raises(AssertionError) as error:
        lw.testing.assert_trees_equal(old["opt"], new["opt"])
    assert str(error.value) == (
        "the trees differ in 2 places: 1 changed, 1 added (actual -> expected):\n"
        "  ~ ['lr']: 0.1 -> 0.100000001\n  + ['wd']: 0"
    )


def test_wish_24_several_outputs_at_once():
    """A function of two results gives two trees; a wrong shape is an error."""
    halves = lw.tree_map(lambda x: (x, -x), MODEL)
    plus, minus = lw.tree.unzip(halves, 2, is_leaf=lambda x: type(x) is tuple)
    assert lw.tree_leaves(plus) == lw.tree_leaves(MODEL)
    assert lw.tree_leaves(minus) == [-x for x in lw.tree_leaves(MODEL)]
    with pytest.raises(lw.StructureError):
        lw.tree.unzip({"a": (1, 2), "b": (1, 2, 3)}, 2)
    outer = lw.tree_structure([0, 0, 0])
    inner = lw.tree_structure((0, 0))
    with pytest.raises(lw.StructureError):
        lw.tree_transpose(outer, inner, [(1, 2, 3), (4, 5, 6)])


def test_wish_36_config_trees():
    """Plain containers in and out, flat names, overrides, adapters for other types."""
    config = {"db": {"host": "a", "ports": [1, 2]}, "debug": False}
    before = copy.deepcopy(config)
    made = lw.selection.override(config, ["db.ports[1]=8080", "debug=yes"])
    assert made == {"db": {"host": "a", "ports": [1, 8080]}, "debug": True}
    assert lw.selection.to_flat(made) == {
        "db.host": "a",
        "db.ports[0]": 1,
        "db.ports[1]": 8080,
        "debug": True,
    }
    assert config == before
    app = lw.namespace("wish-36")
    support("mappings", namespace="wish-36")
    boxed = app.override(UserDict(config), "db.host=b")
    assert (type(boxed), boxed["db"]["host"]) == (UserDict, "b")
