"""The tables of `docs/migrating.md` have a row for each public name of the peers."""

import csv
from pathlib import Path

import pytest


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
    names = {*optree.__all__}
    names |= {f"pytree.{name}" for name in optree.pytree.__all__}
    names |= {f"treespec.{name}" for name in optree.treespec.__all__}
    assert names - answered("optree") == set()


def test_dm_tree(dm_tree):
    """dm-tree."""
    assert {*dm_tree.__all__} - answered("dm-tree") == set()


@pytest.mark.usefixtures("optree")
def test_the_tables_name_nothing_twice():
    """A name has one answer."""
    for library in ("jax", "optree", "torch", "dm-tree"):
        with (FOLDER / f"{library}.csv").open(encoding="utf-8", newline="") as file:
            names = [row["name"] for row in csv.DictReader(file)]
        assert len({*names}) == len(names)
