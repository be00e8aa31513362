"""The tables of `docs/peers` have a row for each public name of the peers."""

import csv
import operator
import re
import types
import typing
from pathlib import Path


FOLDER = Path(__file__).parents[2] / "docs" / "peers"


def answered(library):
    """Return the names that the table of a library has."""
    with (FOLDER / f"{library}.csv").open(encoding="utf-8", newline="") as file:
        return {row["name"] for row in csv.DictReader(file)}


def public(module):
    """Return the names that a module without `__all__` shows."""
    return {name for name in dir(module) if not name.startswith("_")}


def test_jax(jax_tree):
    """jax.tree_util and jax.tree."""
    import jax.tree

    names = {f"tree_util.{name}" for name in public(jax_tree)}
    names |= {f"tree.{name}" for name in public(jax.tree)}
    assert names - answered("jax") == set()


def test_optree(optree):
    """optree, optree.pytree and optree.treespec."""
    names = set(optree.__all__)
    names |= {f"pytree.{name}" for name in optree.pytree.__all__}
    names |= {f"treespec.{name}" for name in optree.treespec.__all__}
    assert names - answered("optree") == set()


NO_TREES = {"bridge", "ids", "nn", "summary", "training.metrics"}
"""Modules of flax.nnx that are about layers and what is printed."""


def of_nnx(nnx):
    """Return the names of flax.nnx that are about objects, states and transforms."""
    modules = {
        name: getattr(getattr(nnx, name), "__module__", None) or "flax.nnx."
        for name in public(nnx)
        if not isinstance(getattr(nnx, name), types.ModuleType | typing.TypeVar)
    }
    return {
        name
        for name, module in modules.items()
        if module.startswith("flax.nnx.")
        and not any(f"{module}.".startswith(f"flax.nnx.{part}.") for part in NO_TREES)
    }


def test_nnx(nnx):
    """Each name has a row, or stands in the text; and no row is of another version."""
    text = (FOLDER.parent / "start" / "migrating.md").read_text(encoding="utf-8")
    without = text[text.index("Without a counterpart") :].partition("\n\n")[0]
    named = set(re.findall(r"`(\w+)`", without))
    names = of_nnx(nnx)
    assert names - answered("nnx") - named == set()
    assert named - names <= {"share"}
    assert not named & answered("nnx")
    for name in answered("nnx"):
        assert operator.attrgetter(name)(nnx) is not None


def test_the_tables_name_nothing_twice():
    """A name has one answer."""
    for path in FOLDER.glob("*.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            names = [row["name"] for row in csv.DictReader(file)]
        assert len(set(names)) == len(names), path
