"""Measure large trees: of 100,000 and of 1,000,000 leaves, in one piece.

Usage: python benchmarks/large.py [--quick] [--write] [--json FILE]

As `run.py`, but each function is called a few times only, and beside jax and optree
alone. A number above 1 says how many times as fast leafwise is.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator

from libraries import installed_peers, leafwise
from operations import MAIN, measure
from reports import conditions, parse_options, publish
from tables import Row, table_of_ratios
from timing import Timing
from trees import LARGE


PEERS = ("jax", "optree")


def rows_of_ratios(timings: dict[str, Timing]) -> Iterator[Row]:
    """Yield a row for each operation on each tree."""
    for title, timing in timings.items():
        time = f"{timing.microseconds / 1000:.1f} ms"
        yield Row(f"{title}, {time}", timing.ratios)


def main() -> int:
    """Measure, print, and write what the options ask for."""
    options = parse_options(__doc__)
    peers = {name: make for name, make in installed_peers().items() if name in PEERS}
    libraries = [leafwise(), *(make() for make in peers.values())]
    # a collection would be charged to whichever library runs at that moment
    gc.collect()
    gc.disable()
    rounds = 1 if options.quick else 3
    timings: dict[str, Timing] = {}
    for tree_title, make_tree in LARGE.items():
        if options.quick and "1000000" in tree_title:
            continue
        tree = make_tree()
        for item in measure(libraries, tree_title, tree, MAIN, rounds, 0.0):
            timings[f"{tree_title}: {item.operation}"] = item.timing
    rows = rows_of_ratios(timings)
    lines = [
        *table_of_ratios("tree and operation", rows, list(peers)),
        "",
        conditions(),
    ]
    publish("large", timings, lines, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
