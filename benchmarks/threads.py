"""Measure how much more two threads do than one, each on a tree of its own.

Usage: python benchmarks/threads.py [--quick] [--write]

Free-threaded Python runs both at once, if the machine has two cores to spare; other
Pythons run them in turn. "map" is `tree_map` of an empty function, "map of work" one of
a function that adds up numbers, and "map by hand" a recursive function that knows
nothing but dicts, lists and tuples. Times are of the wall clock: that of the CPU would
add up those of both threads.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from reports import MEASUREMENTS, conditions, replace_section, table_row
from trees import TREES

import leafwise as lw


THREADS = 2
TITLES = ("config, 29 leaves", "transformer dict, 198 leaves")

Call = Callable[[Any], Any]

# Threads that use one object wait for each other to count its references, and the
# trees of these benchmarks are made of constants.
_NUMBERS = itertools.count(1000)


def identity(leaf: Any) -> Any:
    """Return a leaf as it is."""
    return leaf


def add_up(leaf: Any) -> int:
    """Take some microseconds, without anything that threads share."""
    return sum(range(100))


def map_by_hand(node: Any) -> Any:
    """Return a tree of the same leaves, by recursion."""
    if type(node) is dict:
        return {key: map_by_hand(child) for key, child in node.items()}
    if type(node) is list:
        return [map_by_hand(child) for child in node]
    if type(node) is tuple:
        return tuple([map_by_hand(child) for child in node])
    return identity(node)


OPERATIONS: dict[str, Call] = {
    "flatten": lw.tree_flatten,
    "map": lambda tree: lw.tree_map(identity, tree),
    "map of work": lambda tree: lw.tree_map(add_up, tree),
    "map by hand": map_by_hand,
}


def with_own_leaves(tree: Any) -> Any:
    """Return a tree of numbers that no other tree has."""
    return lw.tree_map(lambda _: float(next(_NUMBERS)), tree)


def seconds_of(operation: Call, trees: list[Any], calls: int) -> float:
    """Return how long threads take that each walk a tree of their own."""
    start_line = threading.Barrier(len(trees) + 1)

    def walk(tree: Any) -> None:
        start_line.wait()
        for _ in range(calls):
            operation(tree)

    threads = [threading.Thread(target=walk, args=(tree,)) for tree in trees]
    for thread in threads:
        thread.start()
    start_line.wait()
    start = time.perf_counter()
    for thread in threads:
        thread.join()
    return time.perf_counter() - start


def scaling(operation: Call, make: Callable[[], Any], *, quick: bool) -> float:
    """Return how many times as many calls two threads make as one in the same time."""
    trees = [with_own_leaves(make()) for _ in range(THREADS)]
    for tree in trees:
        for _ in range(300):  # the engine compiles a structure after 256 uses at most
            operation(tree)
    slice_seconds = 0.01 if quick else 0.2
    calls = max(1, int(slice_seconds / (seconds_of(operation, trees[:1], 10) / 10)))
    ratios = []
    for _ in range(3 if quick else 15):
        alone = seconds_of(operation, trees[:1], calls)
        together = seconds_of(operation, trees, calls)
        ratios.append(THREADS * alone / together)
    return statistics.median(ratios)


def is_free_threaded() -> bool:
    """Return whether threads of this Python run at once."""
    is_gil_enabled = getattr(sys, "_is_gil_enabled", None)  # of Python 3.13 and later
    return is_gil_enabled is not None and not is_gil_enabled()


def table(*, quick: bool) -> Iterator[str]:
    """Measure; yield the lines of a Markdown table."""
    yield table_row(["two threads, over one", *OPERATIONS])
    yield "|---|" + "--:|" * len(OPERATIONS)
    for title in TITLES:
        figures = [
            scaling(operation, TREES[title], quick=quick)
            for operation in OPERATIONS.values()
        ]
        yield table_row([title, *(f"{figure:.2f}" for figure in figures)])


def main() -> int:
    """Measure and print, and write what the options ask for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few short rounds")
    parser.add_argument("--write", action="store_true", help="put the table into docs")
    options = parser.parse_args()
    build = "free-threaded" if is_free_threaded() else "with its lock"
    method = f"Python {build}; wall clock, medians of ratios"
    lines = [*table(quick=options.quick), "", conditions(method)]
    print("\n".join(lines))
    if options.write:
        replace_section(MEASUREMENTS, "threads", lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
