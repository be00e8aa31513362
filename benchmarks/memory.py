"""Measure the memory that trees of a million leaves take while they are walked.

Usage: python benchmarks/memory.py [--quick] [--write]

Each figure comes from a process of its own, which builds the tree and calls the
function on a small tree first. What `flatten` returns is kept, and compared by what the
process holds before and after; of the other functions, by how much the peak of the
process grows. Both include the lists and trees that the functions return. Needs Linux.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from libraries import Library, jax, leafwise, optree
from reports import PERFORMANCE, conditions, replace_section, table_row
from trees import LARGE

from leafwise import tree_leaves


TREES = ("layers, 1000000 leaves", "list of 1000000 floats")
QUICK_TREES = ("layers, 100000 leaves", "list of 100000 floats")
LIBRARIES: dict[str, Callable[[], Library]] = {
    "leafwise": leafwise,
    "jax": jax,
    "optree": optree,
}

Walk = Callable[[Library, Any], Any]

FUNCTIONS: dict[str, Walk] = {
    "flatten": lambda library, tree: library.flatten(tree),
    "map": lambda library, tree: library.map(lambda leaf: leaf, tree),
    "flatten with path": lambda library, tree: library.flatten_with_path(tree),
}


def peak_bytes() -> int:
    """Return the largest memory that this process has had."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes, Linux KiB
    return peak * unit


def present_bytes() -> int:
    """Return the memory that this process has."""
    fields = Path("/proc/self/statm").read_text(encoding="ascii").split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")


def measure_here(library_name: str, function_name: str, title: str) -> float:
    """Return by how many bytes for each leaf a call makes this process larger."""
    library = LIBRARIES[library_name]()
    walk = FUNCTIONS[function_name]
    walk(library, {"a": [1.0, 2.0]})
    tree = LARGE[title]()
    leaves = len(tree_leaves(tree))
    gc.collect()
    gc.disable()
    count_bytes = present_bytes if function_name == "flatten" else peak_bytes
    before = count_bytes()
    result = walk(library, tree)
    grown = count_bytes() - before
    del result  # not earlier: what is kept is measured
    return grown / leaves


def measure(library: str, function: str, title: str) -> float:
    """Measure in a process of its own."""
    arguments = ["--one", library, function, title]
    output = subprocess.check_output([sys.executable, __file__, *arguments])
    return float(json.loads(output))


def table(titles: tuple[str, ...]) -> Iterator[str]:
    """Measure; yield the lines of a Markdown table. The least of a row is bold."""
    yield table_row(["bytes a leaf", *LIBRARIES])
    yield "|---|" + "--:|" * len(LIBRARIES)
    for title in titles:
        for function in FUNCTIONS:
            figures = [measure(library, function, title) for library in LIBRARIES]
            cells = []
            for figure in figures:
                text = f"{figure:.0f}"
                cells.append(f"**{text}**" if figure == min(figures) else text)
            yield table_row([f"{title}: {function}", *cells])


def main() -> int:
    """Measure and print, and write what the options ask for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller trees")
    parser.add_argument("--write", action="store_true", help="put the table into docs")
    # what a process of its own is called with: library, function, tree
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure_here(*options.one)))
        return 0
    titles = QUICK_TREES if options.quick else TREES
    lines = [
        *table(titles),
        "",
        conditions("a process for each figure", LIBRARIES),
    ]
    print("\n".join(lines))
    if options.write:
        replace_section(PERFORMANCE, "memory", lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
