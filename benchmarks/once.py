"""Measure each structure once: what a program pays whose trees all differ.

No benchmark by itself; `run.py` measures it.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from typing import Any

from libraries import Library
from timing import Timing, compare


TREES_PER_ROUND = 500

Walk = Callable[[Any], Any]
"""An operation of a library on one tree."""

_numbers = itertools.count()


def new_trees(count: int) -> list[Any]:
    """Return trees with a key that no tree had before."""
    trees: list[Any] = []
    for number in itertools.islice(_numbers, count):
        layer = {"w": 1.0, "b": 0.5}
        tree = {f"k{number}": layer, "opt": [1, (2, 3)], "lr": 0.1}
        trees.append(tree)
    return trees


def flatten(library: Library) -> Walk:
    """Return `flatten` of a library."""
    return library.flatten


def map_tree(library: Library) -> Walk:
    """Return `map` of one tree."""
    return lambda tree: library.map(lambda x: x, tree)


def map_two_trees(library: Library) -> Walk:
    """Return `map` of a tree with itself."""
    return lambda tree: library.map(lambda x, _: x, tree, tree)


def flatten_with_path(library: Library) -> Walk:
    """Return `flatten_with_path` of a library."""
    return library.flatten_with_path


WALKS: dict[str, Callable[[Library], Walk]] = {
    "flatten": flatten,
    "map": map_tree,
    "map, 2 trees": map_two_trees,
    "flatten with path": flatten_with_path,
}


def seconds_per_round(walk: Walk) -> float:
    """Return the CPU time of walking new trees."""
    trees = new_trees(TREES_PER_ROUND)
    start = time.process_time()
    for tree in trees:
        walk(tree)
    return time.process_time() - start


def time_once(libraries: list[Library], rounds: int) -> Iterator[tuple[str, Timing]]:
    """Yield the name and the timing of each operation."""
    for name, walk_of in WALKS.items():
        times: dict[str, list[float]] = {library.name: [] for library in libraries}
        for _ in range(rounds):
            for library in libraries:
                walk = walk_of(library)
                times[library.name].append(seconds_per_round(walk))
        yield name, compare(times)
