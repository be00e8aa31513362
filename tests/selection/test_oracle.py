"""Selections and edits beside a search of all places, and beside edits by hand."""

import random
import re
from collections import OrderedDict, defaultdict, deque
from contextlib import nullcontext
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import leafwise as lw
from leafwise import nn
from leafwise.selection.patterns import DEEP, key_kind, parse


class Pair(NamedTuple):
    x: Any
    y: Any


@lw.dataclass
class Layer:
    w: Any
    b: Any
    size: int = lw.static(default=3)


class Block(nn.Module):
    """An object whose aux data differs from one to the next."""

    def __init__(self, w: Any, x: Any) -> None:
        self.w = lw.data(w)
        self.x = lw.data(x)
        self.act = lambda value: value


# --------------------------------------------------------------------- random trees

NAMES = ["w", "b", "x", "a.b", "0"]
KEYS = [*NAMES, 0, 1, (1, 2)]


def random_dict(choose: random.Random, children: list[Any]) -> dict[Any, Any]:
    keys = choose.sample(KEYS, len(children))
    return dict(zip(keys, children, strict=True))


def random_node(choose: random.Random, children: list[Any]) -> Any:
    """Return a node of a random type with some children."""
    kinds = [list, tuple, deque, dict, OrderedDict, defaultdict]
    if len(children) == 2:
        kinds += [Pair, Layer, Block]
    kind = choose.choice(kinds)
    if kind in (Pair, Layer, Block):
        return kind(*children)
    if kind is defaultdict:
        return defaultdict(list, random_dict(choose, children))
    if kind in (dict, OrderedDict):
        return kind(random_dict(choose, children))
    return kind(children)


def random_tree(choose: random.Random, depth: int) -> Any:
    if depth == 0:
        return choose.choice([1, 2, 2.5, "s", None, ()])
    children = [random_tree(choose, depth - 1) for _ in range(choose.randrange(4))]
    return random_node(choose, children)


# ------------------------------------------------------------------------ the oracle


def level_of(node: Any) -> list[tuple[Any, Any]]:
    """Return the keys and the children of a node, nothing for a leaf."""
    if lw.tree.is_leaf(node):
        return []
    level = lw.tree.flatten_one_level(node)
    return list(zip(level.keys, level.children, strict=True))


def every_place(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, Any]]:
    """Return each node and leaf after its path, a node before what is below it."""
    places = [(path, node)]
    for key, child in level_of(node):
        places += every_place(child, (*path, key))
    return places


def matches(tree: Any, steps: Any, path: tuple[Any, ...]) -> bool:
    """Say by trying whether steps lead along a path."""
    if not steps:
        return not path
    if steps[0] is DEEP and matches(tree, steps[1:], path):
        return True
    if not path:
        return False
    level = level_of(tree)
    keys = [key for key, _ in level]
    position = keys.index(path[0])
    child = level[position][1]
    if steps[0] is DEEP:
        return matches(child, steps, path[1:])
    key = path[0]
    kind = key_kind(key)
    place = key.idx if type(key) is lw.SequenceKey else position
    if not steps[0].test(kind, key.entry, place, len(level)):
        return False
    is_number = type(key.entry) is int and steps[0].name is not None
    if is_number and not contains_deep(steps) and steps[0].name in map(entry_of, keys):
        return False  # a name comes before the number with its digits
    return matches(child, steps[1:], path[1:])


def entry_of(key: Any) -> Any:
    return key.entry


def contains_deep(steps: Any) -> bool:
    return DEEP in steps


def expected_places(tree: Any, what: Any) -> list[tuple[Any, Any]]:
    """Return the places that a selector picks, by asking each place."""
    places = every_place(tree)
    leaves = [(path, node) for path, node in places if lw.tree.is_leaf(node)]
    if isinstance(what, str):
        steps = parse(what)
        ends_deep = bool(steps) and steps[-1] is DEEP
        return [
            (path, node)
            for path, node in (leaves if ends_deep else places)
            if matches(tree, steps, path)
        ]
    if isinstance(what, re.Pattern):
        return [
            (path, leaf)
            for path, leaf in leaves
            if what.search(str(lw.KeyPath(path))) is not None
        ]
    if isinstance(what, type):
        return outermost(places, lambda node: isinstance(node, what))
    picked = [(path, leaf) for path, leaf in leaves if what(leaf)]
    nodes = [(path, node) for path, node in places if not lw.tree.is_leaf(node)]
    return picked or outermost(nodes, what)


def outermost(places: list[tuple[Any, Any]], test: Any) -> list[tuple[Any, Any]]:
    picked: list[tuple[Any, Any]] = []
    for path, node in places:
        is_inside = any(path[: len(outer)] == outer for outer, _ in picked)
        if not is_inside and test(node):
            picked.append((path, node))
    return picked


def set_at(tree: Any, values: dict[tuple[Any, ...], Any]) -> Any:
    """Return a tree with values at paths, by taking each node apart."""
    if () in values:
        return values[()]
    if not values:
        return tree
    node_level = lw.tree.flatten_one_level(tree)
    children = []
    for key, child in zip(node_level.keys, node_level.children, strict=True):
        below = {path[1:]: x for path, x in values.items() if path[0] == key}
        children.append(set_at(child, below))
    return node_level.unflatten(children)


def are_nested(paths: list[tuple[Any, ...]]) -> bool:
    return any(
        one != other and other[: len(one)] == one for one in paths for other in paths
    )


def same(one: Any, other: Any) -> bool:
    """Return whether two trees have the same nodes and leaves."""
    leaves = lw.tree_leaves(one)
    others = lw.tree_leaves(other)
    if lw.tree_structure(one) != lw.tree_structure(other):
        return False
    return all(a is b or a == b for a, b in zip(leaves, others, strict=True))


def shared_nodes(result: Any, tree: Any) -> int:
    """Return how many mutable nodes of a result are those of the tree."""
    ids = {id(node) for _, node in every_place(tree)}
    nodes = [node for _, node in every_place(result) if not lw.tree.is_leaf(node)]
    return sum(id(node) in ids for node in nodes)


SELECTORS = [
    "**", "**.w", "*.*", "*", "[*]", "**[1:]", "{w,b}", "**.w.**", "x", "0", "**[-1]",
    "*.w", "", "w.x", "[0]", "**.*.w", int, dict, str, Layer, Block, re.compile("w"),
]  # fmt: skip
PREDICATES = [
    lambda node: node == 1,
    lambda node: isinstance(node, dict) and "w" in node,
    lambda node: type(node) is Block or node == 2.5,
]
NEW = {"new": [1]}


def check_selector(tree: Any, what: Any) -> int:
    """Compare all operations of one selector with the oracle."""
    places = expected_places(tree, what)
    paths = [path for path, _ in places]
    selection = lw.at(tree, missing_ok=True)[what]
    assert [tuple(path) for path in selection.paths()] == paths
    values = [place.value for place in selection.places()]
    assert len(values) == len(places)
    assert all(a is b for a, (_, b) in zip(values, places, strict=True))
    flags = [
        any(path[: len(outer)] == outer for outer in paths)
        for path in map(tuple, lw.tree_paths(tree))
    ]
    assert lw.tree_leaves(selection.mask()) == flags
    part, others = lw.tree_partition(tree, what, missing_ok=True)
    assert [leaf is not lw.MISSING for leaf in lw.tree_leaves(part)] == flags
    assert same(lw.tree_combine(part, others), tree)
    labels = lw.selection.tree_labels(tree, {what: 1}, default=0)
    assert lw.tree_leaves(labels) == [int(flag) for flag in flags]
    if are_nested(paths):
        with pytest.raises(lw.errors.EditError):
            selection.set(NEW)
        return 5
    expected = set_at(tree, dict.fromkeys(paths, NEW))
    result = selection.set(NEW)
    assert same(result, expected)
    assert shared_nodes(result, tree) == shared_nodes(expected, tree)
    numbered = selection.apply(lambda path, value: (len(path), repr(value)))
    by_path = {path: (len(path), repr(value)) for path, value in places}
    assert same(numbered, set_at(tree, by_path))
    assert same(lw.tree_update(tree, {what: NEW}, missing_ok=True), expected)
    return 8


def check_random_tree(seed: int) -> int:
    """Compare some selectors on a random tree with the oracle."""
    choose = random.Random(seed)
    tree = random_tree(choose, choose.randrange(1, 5))
    checked = 0
    for what in choose.sample([*SELECTORS, *PREDICATES], 4):
        checked += check_selector(tree, what)
    return checked


def engine_mode(name: str) -> Any:
    """Return a context in which the engine works so, where there is one."""
    engine = getattr(lw, "engine", None)
    return nullcontext() if engine is None else getattr(engine, name)()


@pytest.mark.parametrize("mode", ["enabled", "disabled", "eager"])
def test_random_operations(mode):
    """The same with and without what is kept about structures."""
    with engine_mode(mode):
        for seed in range(150):
            check_random_tree(seed)
            check_random_tree(seed)  # now the structure is known


@given(st.integers(1_000, 1_000_000))
def test_random_trees(seed):
    """Where each structure is searched once, and then known."""
    with engine_mode("eager"):
        check_random_tree(seed)
        check_random_tree(seed)


def test_two_selectors_are_replaced_at_once():
    """In one pass, with a value for each."""
    choose = random.Random(7)
    compared = 0
    with engine_mode("eager"):
        for _ in range(300):
            tree = random_tree(choose, choose.randrange(1, 5))
            chosen = choose.sample(SELECTORS[:16], 2)
            paths = [
                [path for path, _ in expected_places(tree, what)] for what in chosen
            ]
            all_paths = [*paths[0], *paths[1]]
            if are_nested(all_paths) or len(set(all_paths)) < len(all_paths):
                continue
            edits = dict(zip(chosen, ("first", [2]), strict=True))
            values = dict.fromkeys(paths[0], "first")
            values |= {path: [2] for path in paths[1]}
            for _ in range(2):
                result = lw.tree_update(tree, edits, missing_ok=True)
                assert same(result, set_at(tree, values))
            compared += 1
    assert compared > 50
