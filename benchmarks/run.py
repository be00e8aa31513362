"""Measure leafwise beside the libraries that it can replace.

Usage: python benchmarks/run.py [--quick] [--write] [--json FILE]

All libraries are timed in one process, in turn, round after round; a ratio is
the median over rounds of their time divided by ours in the same round, so that
a machine that slows down for a while slows down everybody. A number above 1
says how many times as fast leafwise is.

`--write` puts the tables into the README and the docs; `--json`
measures the operations on the trees alone, and puts what `beside.py` reads into
a file. Needs the `bench` extra; a library that is not installed is left out,
and said to be.
"""

from __future__ import annotations

import gc
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from libraries import PEERS, Library, leafwise
from once import once
from operations import GROUPS, MAIN, OPERATIONS, PLAIN, has, operation
from tables import COLD, WARM, Cell, Row, means, ratios, slower
from timing import arguments, conditions, save, side_by_side, write
from trees import COUNTED, LARGE, TREES

from leafwise import tree_leaves


ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "performance.md"
SHOWN = ("flatten", "unflatten", "map", "map with path")
"""The operations that the README shows."""
_MODULES = {"dm-tree": "tree", "torch": "torch"}


def installed() -> dict[str, Any]:
    """Return the other libraries that are there, and name those that are not."""
    there = {
        name: make
        for name, make in PEERS.items()
        if importlib.util.find_spec(_MODULES.get(name, name)) is not None
    }
    for name in PEERS.keys() - there.keys():
        print(f"not installed, left out: {name}")
    return there


def warm(
    libraries: list[Library], rounds: int, slice_seconds: float, *, large: bool
) -> Iterator[Cell]:
    """Measure each operation on each tree, again and again."""
    for title, make in TREES.items():
        tree = make()
        for name in OPERATIONS:
            yield measured(libraries, title, name, tree, rounds, slice_seconds)
    for title, make in LARGE.items() if large else ():
        tree = make()
        for name in MAIN:
            yield measured(libraries, title, name, tree, 3, 0.0)


def cold(libraries: list[Library], rounds: int) -> Iterator[Cell]:
    """Measure the operations with the engine off: what is walked once costs that."""
    from leafwise import engine

    with engine.disabled():
        for title in sorted(COUNTED):
            tree = TREES[title]()
            for name in COLD:
                if name not in GROUPS:
                    yield measured(libraries, title, name, tree, rounds, 0.002)


def measured(
    libraries: list[Library],
    title: str,
    name: str,
    tree: Any,
    rounds: int,
    slice_seconds: float,
) -> Cell:
    """Measure one operation on one tree."""
    functions = {
        library.name: operation(name, library, tree)
        for library in libraries
        if has(library, name, title)
    }
    size = len(tree_leaves(tree))
    return Cell(title, name, size, side_by_side(functions, rounds, slice_seconds))


def show(cells: Iterator[Cell]) -> Iterator[Cell]:
    """Print cells as they come."""
    for cell in cells:
        told = " ".join(f"{p} {r:.2f}" for p, r in cell.timed.ratios.items())
        time = f"{cell.timed.microseconds:10.2f} µs "
        print(f"{cell.tree:32} {cell.operation:24}", time, told)
        yield cell


def write_all(
    cells: list[Cell], cold_rows: list[Row], rare: list[Row], peers: list[str]
) -> None:
    """Put everything that was measured into the README and the docs."""
    note = ["", conditions()]
    few = [*ratios("operation", means(cells, (*PLAIN, *GROUPS), peers), peers), *note]
    write(PAGE, "warm", few)
    main = [row for row in means(cells, PLAIN, peers) if row.title in SHOWN]
    few_rare = [row for row in rare if row.title in SHOWN]
    write(
        ROOT / "README.md",
        "benchmark",
        [
            *ratios("recurring structures", main, peers),
            "",
            *ratios("each structure once", few_rare, peers),
            *note,
        ],
    )
    write(PAGE, "cold", [*ratios("engine off", cold_rows, peers), *note])
    write(PAGE, "once", [*ratios("each structure once", rare, peers), *note])
    write(PAGE, "slower", [*slower(cells)])


def main() -> int:
    options = arguments(__doc__)
    rounds, slice_seconds = (3, 0.001) if options.quick else (15, 0.004)
    there = installed()
    peers = [*there]
    libraries = [leafwise(), *(make() for make in there.values())]
    gc.collect()
    gc.disable()
    large = not options.quick
    cells = [*show(warm(libraries, rounds, slice_seconds, large=large))]
    if options.json is not None:
        named = [(c.operation, f"{c.tree}, {c.operation}", c.timed) for c in cells]
        save(options.json, named)
        return 0
    if importlib.util.find_spec("leafwise.engine") is None:
        print("leafwise has no engine here: all of the above is cold")
        return 0
    rounds = 3 if options.quick else 9
    cold_rows = means([*show(cold(libraries, rounds))], COLD, peers)
    rare = [Row(*found) for found in once(libraries, rounds)]
    print(*ratios("warm", means(cells, WARM, peers), peers), "", sep="\n")
    print(*ratios("engine off", cold_rows, peers), "", sep="\n")
    print(*ratios("each structure once", rare, peers), "", sep="\n")
    print(*slower(cells), "", sep="\n")
    print(conditions())
    if options.write:
        write_all(cells, cold_rows, rare, peers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
