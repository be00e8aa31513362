"""Measure the table that optree's README had until 2025: nine models, eight operations.

Usage: python benchmarks/optree_table.py [--quick] [--write] [--json FILE]

The models are nested dicts of parameters, as programs have them, and once more what
optree's script made of them: lists, ordered dicts and named tuples, many of them empty.
Trees of other programs are measured beside them. All libraries are timed in one
process, in turn, round after round, by CPU time; a ratio is the median over rounds of
their time divided by ours in the same round. A number above 1 says how many times as
fast leafwise is.

`--write` puts the geometric means over the models into the README, and all tables into
the docs. Needs the dependency group `bench`; a library that is not installed is left
out, and said to be.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from libraries import Library, installed_peers, leafwise
from models import MODELS, as_containers, as_dicts
from operations import OF_OPTREE, measure
from reports import (
    PERFORMANCE,
    README,
    conditions,
    parse_options,
    replace_section,
    save_timings,
)
from tables import Measurement, Row, mean_ratios, table_of_ratios
from trees import OTHER


KINDS: dict[str, dict[str, Callable[[], Any]]] = {
    "models in nested dicts": {
        title: partial(as_dicts, model) for title, model in MODELS.items()
    },
    "models in lists, ordered dicts, named tuples": {
        title: partial(as_containers, model) for title, model in MODELS.items()
    },
    "trees of other programs": OTHER,
}
"""How the trees of a table are made, by their titles."""


def measure_trees(
    libraries: list[Library], kind: str, *, quick: bool
) -> Iterator[Measurement]:
    """Measure each operation on the trees of one kind."""
    rounds = 3 if quick else 11
    slice_seconds = 0.001 if quick else 0.003
    for title, make_tree in KINDS[kind].items():
        tree = make_tree()
        yield from measure(libraries, title, tree, OF_OPTREE, rounds, slice_seconds)


def rows_of_trees(measurements: list[Measurement], peers: list[str]) -> Iterator[Row]:
    """Yield the means over all operations, for each tree."""
    leaves = {item.tree: item.leaves for item in measurements}
    for tree, count in leaves.items():
        of_tree = [item for item in measurements if item.tree == tree]
        yield mean_ratios(f"{tree}, {count} leaves", OF_OPTREE, of_tree, peers)


def rows_of_operations(
    measurements: list[Measurement], peers: list[str]
) -> Iterator[Row]:
    """Yield the means over the trees, for each operation and for all of them."""
    for name in OF_OPTREE:
        yield mean_ratios(name, (name,), measurements, peers)
    yield mean_ratios("all eight", OF_OPTREE, measurements, peers)


def main() -> int:
    """Measure, print, and write what the options ask for."""
    options = parse_options(__doc__)
    makers = installed_peers()
    peers = list(makers)
    libraries = [leafwise(), *(make() for make in makers.values())]
    # a collection would be charged to whichever library runs at that moment
    gc.collect()
    gc.disable()
    tables: dict[str, list[str]] = {}
    lines: list[str] = []
    timings = []
    for kind in KINDS:
        measurements = list(measure_trees(libraries, kind, quick=options.quick))
        timings += [
            (kind, f"{item.tree}, {item.operation}", item.timing)
            for item in measurements
        ]
        by_operation = rows_of_operations(measurements, peers)
        by_tree = rows_of_trees(measurements, peers)
        tables[kind] = list(table_of_ratios(kind, by_operation, peers))
        lines += [*tables[kind], "", *table_of_ratios("all eight", by_tree, peers), ""]
    lines.append(conditions())
    print(*lines, sep="\n")
    if options.json is not None:
        save_timings(options.json, timings)
    if options.write:
        in_readme = [*tables["models in nested dicts"], "", conditions()]
        replace_section(README, "models", in_readme)
        replace_section(PERFORMANCE, "models", lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
