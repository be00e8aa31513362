"""Measure each structure once: what a program pays whose trees all differ.

Usage: python benchmarks/once.py [--rounds N]

`run.py` measures the trees with new keys as well. Here there are random trees too, of
which no two have the same structure: their keys recur, as they do in configurations
and in requests, or each is new.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import random
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from libraries import Library, jax, leafwise
from timing import Timing, compare


TREES_PER_ROUND = 500
VALUES_PER_ROUND = 4_000
"""About how many nodes and leaves the random trees of a round have together."""

Walk = Callable[[Any], Any]
"""An operation of a library on one tree."""

KEYS = (
    ("weight", "bias"),
    ("query", "key", "value", "output"),
    ("name", "size", "url"),
    ("mean", "variance"),
    ("host", "port", "timeout", "retries"),
    ("x", "y"),
    ("items",),
    ("id", "kind", "payload"),
)
"""The keys of dicts whose keys recur."""

_numbers = itertools.count()


def new_trees(count: int) -> list[Any]:
    """Return trees with a key that no tree had before."""
    trees: list[Any] = []
    for number in itertools.islice(_numbers, count):
        layer = {"w": 1.0, "b": 0.5}
        tree = {f"k{number}": layer, "opt": [1, (2, 3)], "lr": 0.1}
        trees.append(tree)
    return trees


def random_tree(size: int, *, has_new_keys: bool) -> Any:
    """Return a random tree of about so many nodes and leaves.

    Half of its nodes are dicts, the others lists and tuples.
    """
    trees: list[Any] = [
        random.choice((1, 0.5, "text", True, None)) for _ in range(size)
    ]
    while len(trees) > 1:
        random.shuffle(trees)
        keys = random.choice(KEYS)
        children = [trees.pop() for _ in keys if trees]
        kind = random.random()
        if kind < 0.25:
            trees.append(children)
        elif kind < 0.5:
            trees.append(tuple(children))
        else:
            if has_new_keys:
                keys = tuple(f"{key}{next(_numbers)}" for key in keys)
            trees.append(dict(zip(keys, children)))  # noqa: B905  # perhaps too few
    return trees[0]


def random_trees(size: int, *, has_new_keys: bool = False) -> Callable[[], list[Any]]:
    """Return a function that makes the trees of a round."""
    count = VALUES_PER_ROUND // size
    return lambda: [random_tree(size, has_new_keys=has_new_keys) for _ in range(count)]


KINDS: dict[str, Callable[[], list[Any]]] = {
    "ten nodes, one new key": lambda: new_trees(TREES_PER_ROUND),
    "20 values, keys that recur": random_trees(20),
    "100 values, keys that recur": random_trees(100),
    "20 values, new keys": random_trees(20, has_new_keys=True),
}


def flatten(library: Library) -> Walk:
    """Return `flatten` of a library."""
    return library.flatten


def leaves(library: Library) -> Walk:
    """Return `leaves` of a library."""
    return library.leaves


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
    "leaves": leaves,
    "map": map_tree,
    "map, 2 trees": map_two_trees,
    "flatten with path": flatten_with_path,
}


def seconds_per_round(walk: Walk, trees: list[Any]) -> float:
    """Return the CPU time of walking each tree once."""
    start = time.process_time()
    for tree in trees:
        walk(tree)
    return time.process_time() - start


def time_once(
    libraries: list[Library],
    rounds: int,
    make_trees: Callable[[], list[Any]] = KINDS["ten nodes, one new key"],
) -> Iterator[tuple[str, Timing]]:
    """Yield the name and the timing of each operation.

    Args:
        libraries: The libraries.
        rounds: How often each of them walks new trees.
        make_trees: Makes the trees of a round.
    """
    for name, walk_of in WALKS.items():
        times: dict[str, list[float]] = {library.name: [] for library in libraries}
        for turn in range(rounds):
            for library in libraries:
                random.seed(turn)  # each library walks equal trees
                seconds = seconds_per_round(walk_of(library), make_trees())
                times[library.name].append(seconds)
        yield name, compare(times)


def main() -> int:
    """Measure leafwise beside jax on all kinds of trees, and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    gc.disable()
    libraries = [leafwise(), jax()]
    for title, make_trees in KINDS.items():
        for name, timing in time_once(libraries, options.rounds, make_trees):
            ratios = [f"{other} {ratio:.2f}" for other, ratio in timing.ratios.items()]
            print(f"{title:28} {name:18}", *ratios, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
