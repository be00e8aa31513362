"""The tables of `docs/migrating.md`: every answer exists, no name is without one."""

import csv
import time
from collections import OrderedDict, defaultdict, deque, namedtuple
from pathlib import Path

import pytest

import leafwise
import leafwise.typing


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


def rows(library):
    """Return the table of one library."""
    with (FOLDER / f"{library}.csv").open(encoding="utf-8", newline="") as file:
        return [*csv.DictReader(file)]


ALL = [(lib, row) for lib in ("jax", "optree", "torch", "dm-tree") for row in rows(lib)]


@pytest.mark.parametrize(
    ("library", "row"), ALL, ids=[f"{lib}-{row['name']}" for lib, row in ALL]
)
def test_every_answer_exists(library, row):
    """The right side is a name of leafwise, or a recipe that runs."""
    assert row["leafwise"]
    assert eval(row["leafwise"], dict(NAMES)) is not ...
