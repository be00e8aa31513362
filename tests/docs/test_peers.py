"""The tables of `docs/peers`: every answer exists, no name is without one."""

import csv
import functools
import time
from collections import OrderedDict, defaultdict, deque, namedtuple
from pathlib import Path

import pytest

import leafwise
import leafwise.typing
from leafwise import nn


FOLDER = Path(__file__).parents[2] / "docs" / "peers"
Point = namedtuple("Point", "x y")
NAMES = {
    "leafwise": leafwise,
    "lw": leafwise,
    "tree": [1, {"a": 2}],
    "treedef": leafwise.tree_structure([1, {"a": 2}]),
    "leaves": [3, 4],
    "leaf": leafwise.PyTreeDef.leaf(),
    "Point": Point,
    "point": Point(1, 2),
    "time": time,
    "OrderedDict": OrderedDict,
    "defaultdict": defaultdict,
    "deque": deque,
}


class Model(nn.Module):
    """What the recipes for models are tried on."""

    def __init__(self):
        self.weight = nn.parameter(0.5)
        self.rate = 0.1
        self.inner = nn.List([nn.Param(2.0)])

    def __call__(self, x):
        return x * self.weight


def names():
    """Return what the recipes are made of; those for models may change theirs."""
    rngs = nn.Rngs(pytest.importorskip("numpy").random.SeedSequence(0), params=1)
    return {**NAMES, "nn": nn, "functools": functools, "model": Model(), "rngs": rngs}


def rows(library):
    """Return the table of one library."""
    with (FOLDER / f"{library}.csv").open(encoding="utf-8", newline="") as file:
        return [*csv.DictReader(file)]


TABLES = ("jax", "optree", "torch", "dm-tree", "nnx", "pax")
ALL = [(lib, row) for lib in TABLES for row in rows(lib)]


@pytest.mark.parametrize(
    ("library", "row"), ALL, ids=[f"{lib}-{row['name']}" for lib, row in ALL]
)
def test_every_answer_exists(library, row):
    """The right side is a name of leafwise, or a recipe that runs."""
    assert row["leafwise"]
    scope = names()
    if row["leafwise"].startswith("jax."):
        scope["jax"] = pytest.importorskip("jax")
    assert eval(row["leafwise"], scope) is not ...


STANDINS = {"torch": "torch_pytree", "dm-tree": "dm_tree"}


@pytest.mark.parametrize("library", STANDINS)
def test_the_tables_have_the_names_of_the_stand_ins(library):
    """What is public in a module that stands in has a row, and each row is there."""
    standin = getattr(leafwise.compat, STANDINS[library])
    names = {row["name"] for row in rows(library)}
    assert {*standin.__all__} <= names
    assert [name for name in names if not hasattr(standin, name)] == []


SAME = {
    "flatten": "standin.flatten(tree)",
    "flatten_up_to": "standin.flatten_up_to(tree, tree)",
    "is_nested": "standin.is_nested(tree)",
    "map_structure": "standin.map_structure(max, tree, tree)",
    "map_structure_up_to": "standin.map_structure_up_to(tree, max, tree, tree)",
    "map_structure_with_path": "standin.map_structure_with_path(lambda p, x: x, tree)",
    "traverse": "standin.traverse(lambda node: 0 if node == 1 else None, tree)",
    "unflatten_as": "standin.unflatten_as(tree, leaves)",
    "is_namedtuple": "standin.is_namedtuple(point)",
    "is_structseq_class": "standin.is_structseq_class(time.struct_time)",
    "key_get": "standin.key_get(tree, [standin.SequenceKey(0)])",
    "tree_all": "standin.tree_all(lambda x: x > 0, tree)",
    "tree_any_only": "standin.tree_any_only(int, lambda x: x > 0, tree)",
}
"""Calls of a stand-in that give what the answer in the table gives."""


@pytest.mark.parametrize("name", SAME)
def test_answers_give_what_the_stand_ins_give(name):
    """On the same tree."""
    for library, home in STANDINS.items():
        answers = {row["name"]: row["leafwise"] for row in rows(library)}
        if name in answers:
            scope = {**NAMES, "standin": getattr(leafwise.compat, home)}
            assert eval(answers[name], dict(scope)) == eval(SAME[name], dict(scope))
