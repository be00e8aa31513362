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
from collections.abc import Iterable, Iterator

from libraries import Library, installed_peers, leafwise
from once import time_once
from operations import GROUPS, MAIN, OPERATIONS, PLAIN, measure
from reports import (
    PERFORMANCE,
    README,
    conditions,
    parse_options,
    replace_section,
    save_timings,
)
from tables import Measurement, Row, mean_ratios, table_of_ratios, table_of_slower
from trees import COUNTED, TREES


IN_README = ("flatten", "unflatten", "map", "map with path")
"""The operations that the README shows."""

WITHOUT_ENGINE = {
    name: PLAIN[name] for name in (*MAIN, "flatten with path", "map with path")
}
"""The operations that are measured with the engine off."""


def measure_all(
    libraries: list[Library], rounds: int, slice_seconds: float
) -> Iterator[Measurement]:
    """Measure each operation on each tree, again and again."""
    for title, make in TREES.items():
        yield from measure(libraries, title, make(), OPERATIONS, rounds, slice_seconds)


def mean_rows(
    titles: Iterable[str], measurements: list[Measurement], peers: list[str]
) -> list[Row]:
    """Return the means of operations, or of groups, over trees of 8 to 2 000 leaves."""
    counted = [item for item in measurements if item.tree in COUNTED]
    return [
        mean_ratios(title, GROUPS.get(title, (title,)), counted, peers)
        for title in titles
    ]


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
    warm = mean_rows((*PLAIN, *GROUPS), measurements, peers)
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
    slower_lines = [*table_of_slower(measurements), *note]
    replace_section(PERFORMANCE, "slower", slower_lines)


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
    cold_rows = mean_rows((*WITHOUT_ENGINE, "the first four"), cold, peers)
    warm_rows = mean_rows((*OPERATIONS, *GROUPS), measurements, peers)
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
