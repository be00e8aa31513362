"""Measure leafwise beside the libraries that it can replace.

Usage: python benchmarks/run.py [--quick] [--write] [--json FILE]

All libraries are timed in one process, in turn, round after round, by CPU time; a ratio
is the median over rounds of their time divided by ours in the same round, so that a
machine that slows down for a while slows down everybody. A number above 1 says how many
times as fast leafwise is.

`--write` puts the tables into the README and the docs; `--json` measures the operations
on the trees alone, and puts what `beside.py` reads into a file. Needs the dependency
group `bench`; a library that is not installed is left out, and said to be.
"""

from __future__ import annotations

import gc
import importlib.util
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from libraries import MODULES, PEERS, Library, leafwise
from once import time_once
from operations import GROUPS, MAIN, OPERATIONS, PLAIN, is_supported
from reports import (
    PERFORMANCE,
    README,
    conditions,
    parse_options,
    replace_section,
    save_timings,
)
from tables import Measurement, Row, mean_ratios, table_of_ratios, table_of_slower
from timing import side_by_side
from trees import COUNTED, LARGE, TREES

from leafwise import tree_leaves


IN_README = ("flatten", "unflatten", "map", "map with path")
"""The operations that the README shows."""

WITHOUT_ENGINE = (*MAIN, "flatten with path", "map with path")
"""The operations that are measured with the engine off."""


def installed_peers() -> dict[str, Callable[[], Library]]:
    """Return the other libraries that are installed, and print those that are not."""
    peers = {}
    for name, make in PEERS.items():
        if importlib.util.find_spec(MODULES.get(name, name)) is None:
            print(f"not installed, left out: {name}")
        else:
            peers[name] = make
    return peers


def measure(
    libraries: list[Library],
    title: str,
    tree: Any,
    operations: Iterable[str],
    rounds: int,
    slice_seconds: float,
) -> Iterator[Measurement]:
    """Measure operations on one tree; print and yield each measurement."""
    leaves = len(tree_leaves(tree))
    for name in operations:
        prepare = OPERATIONS[name]
        functions = {
            library.name: prepare(library, tree)
            for library in libraries
            if is_supported(library, name, title)
        }
        timing = side_by_side(functions, rounds, slice_seconds)
        ratios = [f"{library} {ratio:.2f}" for library, ratio in timing.ratios.items()]
        time = f"{timing.microseconds:10.2f} µs "
        print(f"{title:32} {name:24}", time, *ratios)
        yield Measurement(title, name, leaves, timing)


def measure_all(
    libraries: list[Library], rounds: int, slice_seconds: float
) -> Iterator[Measurement]:
    """Measure each operation on each tree, again and again."""
    for title, make in TREES.items():
        yield from measure(libraries, title, make(), OPERATIONS, rounds, slice_seconds)


def measure_large(libraries: list[Library]) -> Iterator[Measurement]:
    """Measure the main operations on large trees, a few times only."""
    for title, make in LARGE.items():
        yield from measure(libraries, title, make(), MAIN, rounds=3, slice_seconds=0.0)


def measure_without_engine(
    libraries: list[Library], rounds: int
) -> Iterator[Measurement]:
    """Measure operations with the engine off: what a tree costs that is walked once."""
    from leafwise import engine

    with engine.disabled():
        for title in sorted(COUNTED):
            tree = TREES[title]()
            yield from measure(
                libraries, title, tree, WITHOUT_ENGINE, rounds, slice_seconds=0.002
            )


def write_tables(
    measurements: list[Measurement],
    without_engine: list[Row],
    once: list[Row],
    peers: list[str],
) -> None:
    """Put the tables into the README and the docs."""
    note = ["", conditions()]
    warm = [mean_ratios(title, measurements, peers) for title in (*PLAIN, *GROUPS)]
    warm_in_readme = [row for row in warm if row.title in IN_README]
    once_in_readme = [row for row in once if row.title in IN_README]
    readme_lines = [
        *table_of_ratios("recurring structures", warm_in_readme, peers),
        "",
        *table_of_ratios("each structure once", once_in_readme, peers),
        *note,
    ]
    warm_lines = [*table_of_ratios("operation", warm, peers), *note]
    cold_lines = [*table_of_ratios("engine off", without_engine, peers), *note]
    once_lines = [*table_of_ratios("each structure once", once, peers), *note]
    replace_section(README, "benchmark", readme_lines)
    replace_section(PERFORMANCE, "warm", warm_lines)
    replace_section(PERFORMANCE, "cold", cold_lines)
    replace_section(PERFORMANCE, "once", once_lines)
    replace_section(PERFORMANCE, "slower", table_of_slower(measurements))


def main() -> int:
    """Measure, print, and write what the options ask for."""
    options = parse_options(__doc__)
    rounds = 3 if options.quick else 15
    slice_seconds = 0.001 if options.quick else 0.004
    makers = installed_peers()
    peers = list(makers)
    libraries = [leafwise(), *(make() for make in makers.values())]
    # a collection would be charged to whichever library runs at that moment
    gc.collect()
    gc.disable()
    measurements = list(measure_all(libraries, rounds, slice_seconds))
    if not options.quick:
        measurements.extend(measure_large(libraries))
    if options.json is not None:
        timings = [
            (item.operation, f"{item.tree}, {item.operation}", item.timing)
            for item in measurements
        ]
        save_timings(options.json, timings)
        return 0
    if importlib.util.find_spec("leafwise.engine") is None:
        print("leafwise has no engine here: all of the above is cold")
        return 0
    rounds = 3 if options.quick else 9
    cold = list(measure_without_engine(libraries, rounds))
    cold_titles = (*WITHOUT_ENGINE, "the first four")
    cold_rows = [mean_ratios(title, cold, peers) for title in cold_titles]
    warm_titles = (*OPERATIONS, *GROUPS)
    warm_rows = [mean_ratios(title, measurements, peers) for title in warm_titles]
    once_rows = [
        Row(title, timing.ratios) for title, timing in time_once(libraries, rounds)
    ]
    sections = (
        table_of_ratios("warm", warm_rows, peers),
        table_of_ratios("engine off", cold_rows, peers),
        table_of_ratios("each structure once", once_rows, peers),
        table_of_slower(measurements),
    )
    for lines in sections:
        print(*lines, "", sep="\n")
    print(conditions())
    if options.write:
        write_tables(measurements, cold_rows, once_rows, peers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
