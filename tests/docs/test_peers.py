"""The tables of `docs/peers`: every answer exists, no name is without one."""

import csv
import functools
import importlib.util
import time
from collections import OrderedDict, defaultdict, deque, namedtuple
from pathlib import Path

import pytest

import leafwise
import leafwise.typing
from helpers.peers import peer
from helpers.repository import load_module
from leafwise import nn
from leafwise._names import PEER_NAMES, SUBMODULE_NAMES


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
    return {**NAMES, "nn": nn, "functools": functools, "model": Model()}


def rows(library):
    """Return the table of one library."""
    with (FOLDER / f"{library}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


TABLES = ("jax", "optree", "torch", "dm-tree", "nnx", "pax")


@pytest.mark.parametrize("library", TABLES)
def test_every_answer_exists(library):
    """The right side is a name of leafwise, or a recipe that runs."""
    wrong = []
    for row in rows(library):
        answer = row["leafwise"]
        scope = names()
        if "jax." in answer or "rngs" in answer.lower():
            if not importlib.util.find_spec("jax"):
                continue
            scope |= {
                "jax": importlib.import_module("jax"),
                "rngs": nn.Rngs(0, params=1),
            }
        try:
            eval(answer, scope)
        except Exception as error:  # of whatever the answer calls
            wrong.append((row["name"], answer, repr(error)))
    assert wrong == []


def test_the_page_has_the_tables():
    """Those of names that differ; `python docs/_ext/peers.py` writes them."""
    tables = load_module("docs/_ext/peers.py")
    page = tables.PAGE.read_text(encoding="utf-8")
    assert page.count("<!-- names: ") == len(TABLES)
    assert tables.fill_tables(page) == page


def test_errors_for_missing_names_have_the_answers_of_the_tables():
    """`leafwise._names` has those of jax, optree and torch that leafwise lacks."""
    own_names = {*leafwise.__all__, *leafwise.tree.__all__}
    own_names.update(*SUBMODULE_NAMES.values())
    answers = {"pytree": "lw.tree", "tree_util": "lw.tree"}
    for library in ("jax", "optree", "torch"):
        for row in rows(library):
            module, _, name = row["name"].rpartition(".")
            is_known = name in own_names or name.removeprefix("tree_") in own_names
            if module in ("", "tree_util") and not is_known:
                answers.setdefault(name, row["leafwise"])
    assert answers == PEER_NAMES


PEERS = {"torch": "torch.utils._pytree", "dm-tree": "tree"}


@pytest.mark.parametrize("library", PEERS)
def test_the_tables_have_the_names_of_the_libraries(library):
    """What is public in a library has a row, and each row is there."""
    theirs = peer(PEERS[library])
    names = {row["name"] for row in rows(library)}
    assert set(theirs.__all__) <= names
    assert [name for name in names if not hasattr(theirs, name)] == []
