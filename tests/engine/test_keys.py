"""Keys in generated functions: constants, and dicts with many of them."""

import sys

import pytest

import leafwise as lw
from helpers.containers import MAKERS
from helpers.exact_forms import exact_form


FEW = 12
FEW_LEAVES = 128
EDGES = sorted({n + by for n in (FEW, 16, 32, FEW_LEAVES, 256) for by in (-1, 0, 1)})
"""How many keys a dict has just before, at and after each change of the text."""


def taught(tree):
    """Let the engine know a tree, and return what its functions make of it."""
    for _ in range(5):
        leaves, treedef = lw.tree_flatten(tree)
        up_to = treedef.flatten_up_to(tree)
        rebuilt = treedef.unflatten(list(range(len(leaves))))
    return leaves, treedef, up_to, rebuilt


def check(tree):
    """Compare what the engine makes of a tree with what the walk does."""
    with lw.engine.disabled():
        expected = taught(tree)
    results = taught(tree)
    assert exact_form(results) == exact_form(expected)
    return results


@pytest.mark.sweep
@pytest.mark.parametrize("count", EDGES)
@pytest.mark.parametrize("kind", MAKERS.values(), ids=MAKERS)
def test_dicts_of_any_width(eager, count, kind):
    """Of leaves alone, with nodes between them, and of equal nodes; any order."""
    keys = [f"key {number * 7 % count}" for number in range(count)]
    keys = list(dict.fromkeys(keys))
    for make in (
        lambda place: place,
        lambda place: [place] if place % 5 == 0 else place,
        lambda place: {"a": place, "b": (place, None)},
    ):
        tree = kind({key: make(place) for place, key in enumerate(keys)})
        _, _, _, rebuilt = check(tree)
        assert list(rebuilt) == keys
        check([tree, 1, tree])


def test_rebuilt_dicts_have_the_keys_of_the_first_tree(eager):
    """The same objects, also where another equal string was interned before."""
    spelled = [sys.intern("rather_a_key"), "a key, in words"]
    keys = ["".join(list(key)) for key in spelled] + ["".join(["made", "_once"])]
    assert keys[0] is not spelled[0]
    _, _, _, rebuilt = taught(dict.fromkeys(keys, 1))
    assert [one is other for one, other in zip(rebuilt, keys, strict=True)] == [
        True
    ] * 3
