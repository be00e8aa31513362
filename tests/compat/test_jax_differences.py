"""The table of what differs from jax in `docs/start/stand-ins.md`, row by row.

A case is named after the first column of its row.
"""

import warnings
from collections import OrderedDict, defaultdict
from pathlib import Path

import pytest

import leafwise as lw
from leafwise.compat import jax_tree_util


DOCS = Path(__file__).parents[2] / "docs"
CASES = {}


def case(what):
    """Name a case after its row; it takes a module, and returns what it does."""

    def keep(function):
        CASES[what] = function
        return function

    return keep


def rows():
    """Return the first column of the table, without quotes."""
    page = (DOCS / "start" / "stand-ins.md").read_text(encoding="utf-8")
    _, _, section = page.partition("## jax.tree_util and jax.tree\n")
    section, _, _ = section.partition("\n## ")
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [line[2:].split(" | ")[0] for line in lines][1:]


def tried(function, *args):
    """Return what a call gives, or the type of what it raises."""
    try:
        return function(*args)
    except Exception as error:
        return type(error)


def test_every_row_has_its_case():
    assert set(rows()) == set(CASES)


@pytest.mark.parametrize("what", CASES)
def test_the_row(jax_tree, what):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = CASES[what](jax_tree)
        ours = CASES[what](jax_tree_util)
    expected, observed = EXPECTED[what]
    assert (theirs, ours) == (expected, observed)


class Odd:
    """Aux data whose `==` raises."""

    def __eq__(self, other):
        raise RuntimeError("no")

    __hash__ = None


def class_with(module, flatten, flatten_with_keys=None):
    """Return a new class that is registered in a module."""

    class New:
        pass

    module.register_pytree_node(New, flatten, lambda a, b: New(), flatten_with_keys)
    return New


@case("rebuilt dicts")
def _(m):
    return list(m.tree_map(abs, {"b": 1, "a": 2}))


@case("dict keys that cannot be compared")
def _(m):
    return tried(m.tree_leaves, {"a": 1, 2: 2})


@case("a dict, an `OrderedDict` and a `defaultdict` in one map or broadcast")
def _(m):
    return tried(m.tree_map, max, {"a": 1}, OrderedDict(a=2), defaultdict(int, a=3))


@case("aux data (static values of a node) whose `==` raises")
def _(m):
    cls = class_with(m, lambda node: ((), Odd()))
    return tried(lambda: m.tree_structure(cls()) == m.tree_structure(cls()))


@case("`hash(treedef)`")
def _(m):
    return len({hash(m.tree_structure({key: 1})) for key in "abc"})


@case("a predicate that does not return a bool")
def _(m):
    return tried(m.tree_leaves, [[1]], lambda node: 1)


@case("children given as text, a dict or a set")
def _(m):
    return tried(m.tree_leaves, class_with(m, lambda node: ("ab", None))())


@case("`SequenceKey(1) == DictKey(1)`")
def _(m):
    return m.SequenceKey(1) == m.DictKey(1)


@case("a `str` as the key of a child")
def _(m):
    class Row:
        pass

    m.register_pytree_with_keys(
        Row, lambda row: ((("x", 1),), None), lambda aux, children: Row()
    )
    ((path, _),) = m.tree_leaves_with_path(Row())
    return m.keystr(path)


@case("`Partial(partial).func == partial`")
def _(m):
    partial = m.Partial(max, 1)
    return m.Partial(partial, 2).func == partial


EXPECTED = {
    "rebuilt dicts": (["a", "b"], ["b", "a"]),
    "dict keys that cannot be compared": (ValueError, [2, 1]),
    "a dict, an `OrderedDict` and a `defaultdict` in one map or broadcast": (
        ValueError,
        {"a": 3},
    ),
    "aux data (static values of a node) whose `==` raises": (ValueError, False),
    "`hash(treedef)`": (1, 3),
    "a predicate that does not return a bool": (ValueError, [[[1]]]),
    "children given as text, a dict or a set": (["a", "b"], lw.errors.FlattenError),
    "`SequenceKey(1) == DictKey(1)`": (False, True),
    "a `str` as the key of a child": ("x", ".x"),
    "`Partial(partial).func == partial`": (True, False),
}
"""What jax does, and what the stand-in does."""
