"""Differences of trees: which, there and back, and one after another."""

from collections import OrderedDict
from random import Random
from typing import Any

import numpy as np

import leafwise as lw

from . import model
from .model import Path
from .runner import Round
from .tell import told
from .trees import NAN, SORTS, WORDED, WORDS, Trees, only


TABLE = {**only(list, tuple), dict: WORDED, OrderedDict: SORTS[OrderedDict]}


def leaf(random: Random) -> Any:
    """Return a leaf whose equality is beyond doubt."""
    return random.choice(
        (
            *(0, 1, True, False, "s", "", b"x", 2.5, NAN, float("nan"), 1j, None),
            *(np.array([NAN]), np.array([[NAN]]), np.array([NAN], np.float32)),
            *(np.arange(2), np.arange(2.0), np.zeros(0), np.array("s")),
            *(np.array(NAN), np.array(1), np.array(True)),
        )
    )


def play(one: Round) -> None:
    """Compare two trees, which differ in a few places or in all."""
    trees = Trees(one.random, TABLE, leaf, keys=WORDS)
    a = trees.node()
    b = trees.changed(a) if one.random.random() < 0.7 else trees.node()
    for _ in range(one.random.randrange(3)):
        b = trees.changed(b)
    c = trees.changed(b)
    for name, tree in (("a", a), ("b", b), ("c", c)):
        one.step(f"{name} = {told(tree)}")
    compare_changes(one, a, b, lw.tree_diff(a, b, lists="position"))
    for lists in ("align", "position"):
        there_and_back(one, (a, b, c), lists)


def there_and_back(one: Round, trees: tuple[Any, Any, Any], lists: str) -> None:
    """Apply what differs between trees, in both directions."""
    a, b, c = trees
    one.step(f"lists={lists!r}")
    diff = lw.tree_diff(a, b, lists=lists)
    one.same("differs", bool(changes(a, b)), bool(diff))
    one.same("apply", [], changes(b, diff.apply(a)))
    back = diff.invert()
    one.same("invert and apply", [], changes(a, back.apply(b)))
    one.holds("inverted twice", back.invert() == diff)
    after = lw.tree_diff(b, c, lists=lists).apply(diff.apply(a))
    one.same("one after another", [], changes(c, after))
    one.holds("a tree and itself", not lw.tree_diff(a, a, lists=lists))
    copy = lw.tree_map(copied, a)
    one.holds("a tree and its copy", not lw.tree_diff(a, copy, lists=lists))
    lines = str(diff).splitlines()
    one.holds("a line for each change", len(lines) >= max(len(diff), 1))


def copied(value: Any) -> Any:
    """Return another object of the same value, where there is one."""
    return value.copy() if isinstance(value, np.ndarray) else value


def compare_changes(one: Round, a: Any, b: Any, diff: lw.selection.TreeDiff) -> None:
    """Compare what was found with the model, and the two functions that say less."""
    expected = changes(a, b)
    found = [(change.kind, str(change.path)) for change in diff]
    one.same("changes", sorted(expected), sorted(found))
    for change in diff:
        for value, tree in ((change.before, a), (change.after, b)):
            if value is not lw.MISSING:
                one.holds("the value at the path", change.path(tree) is value)
    try:
        lw.testing.assert_trees_equal(a, b)
        passes = True
    except AssertionError:
        passes = False
    one.same("assert_trees_equal", not expected, passes)


def changes(a: Any, b: Any, path: Path = ()) -> list[tuple[str, str]]:
    """Return the kinds of the changes between two trees, with the paths."""
    here = model.text(path)
    if not is_node(a) and not is_node(b):
        return [] if same(a, b) else [("value", here)]
    if type(a) is not type(b) or (type(a) is tuple and len(a) != len(b)):
        return [("type", here)]
    if a is None:
        return []
    if type(a) is OrderedDict and not in_order([*a], [*b]):
        return [("aux", here)]
    first, second = dict(items(a)), dict(items(b))
    found = []
    for key in [*first, *(key for key in second if key not in first)]:
        place = (*path, key)
        if key not in second:
            found.append(("removed", model.text(place)))
        elif key not in first:
            found.append(("added", model.text(place)))
        else:
            found += changes(first[key], second[key], place)
    return found


def in_order(a: list[str], b: list[str]) -> bool:
    """Say whether the keys that both have stand in the same order."""
    return [key for key in a if key in b] == [key for key in b if key in a]


def items(node: Any) -> list[tuple[Any, Any]]:
    """Return the keys and children of a node."""
    return [*node.items()] if isinstance(node, dict) else [*enumerate(node)]


def is_node(value: Any) -> bool:
    """Say whether a value is a node."""
    return value is None or type(value) in (dict, list, tuple, OrderedDict)


def same(a: Any, b: Any) -> bool:
    """Say whether two leaves are the same."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return told(a) == told(b)
    a, b = bare(a), bare(b)
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return False
    if isinstance(a, bool) is not isinstance(b, bool):
        return False
    return bool(a == b or (a != a and b != b))


def bare(value: Any) -> Any:
    """Return the item of an array that has no shape, which stands for it."""
    is_item = isinstance(value, np.ndarray) and value.shape == ()
    return value.item() if is_item else value
