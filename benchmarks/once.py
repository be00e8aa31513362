"""Each structure once: what a program costs whose trees all differ.

No benchmark by itself; `run.py` measures it.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from typing import Any

from libraries import Library
from timing import compared


_numbers = itertools.count()


def _strangers(count: int) -> list[Any]:
    """Return trees of which no two have the same structure."""
    names = [f"k{next(_numbers)}" for _ in range(count)]
    small = {"w": 1.0, "b": 0.5}
    return [{name: dict(small), "opt": [1, (2, 3)], "lr": 0.1} for name in names]


WALKS: dict[str, Callable[[Library], Callable[[Any], Any]]] = {
    "flatten": lambda library: library.flatten,
    "map": lambda library: lambda tree: library.map(lambda x: x, tree),
    "map, 2 trees": lambda library: (
        lambda tree: library.map(lambda x, _: x, tree, tree)
    ),
    "flatten with path": lambda library: library.flatten_with_path,
}


def once(
    libraries: list[Library], rounds: int
) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield for each operation the ratios of all libraries."""
    for name, walk_of in WALKS.items():
        walks = {library.name: walk_of(library) for library in libraries}
        times: dict[str, list[float]] = {other: [] for other in walks}
        for _ in range(rounds):
            for other, walk in walks.items():
                trees = _strangers(500)
                begin = time.perf_counter()
                for tree in trees:
                    walk(tree)
                times[other].append(time.perf_counter() - begin)
        yield name, compared(times).ratios
