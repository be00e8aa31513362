"""The tables of `docs/migrating.md`: every answer exists, no name is without one."""

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
    assert eval(row["leafwise"], names()) is not ...
