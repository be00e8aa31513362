"""Measure the memory that trees of a million leaves take while they are walked.

Usage: python benchmarks/memory.py [--quick] [--write]

Each figure comes from a process of its own, which builds the tree and calls the
function on a small tree first. Of `flatten` it is what the process has more afterwards,
of the other functions by how much its peak grows. Both include the lists and trees that
the functions return. Needs Linux.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from libraries import Library, jax, leafwise, optree
from reports import MEASUREMENTS, conditions, replace_section, table_row
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


def flatten_and_hash(library: Library, tree: Any) -> Any:
    """Flatten a tree and hash its treedef, which leafwise stores shorter after that."""
    flat = library.flatten(tree)
    _, treedef = flat
    hash(treedef)
    return flat


FUNCTIONS: dict[str, Walk] = {
    "flatten": lambda library, tree: library.flatten(tree),
    "flatten, treedef hashed": flatten_and_hash,
    "map": lambda library, tree: library.map(lambda leaf: leaf, tree),
    "flatten with path": lambda library, tree: library.flatten_with_path(tree),
}


KEPT = ("flatten", "flatten, treedef hashed")
"""The functions of which what is kept counts, not the peak."""


def bytes_of(field: str) -> int:
    """Return a field of the status of this process: "VmRSS", or its peak, "VmHWM"."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    _, value = status.split(f"{field}:")
    kibibytes, _, _ = value.strip().partition(" ")
    return int(kibibytes) * 1024


def forget_peak() -> None:
    """Let the peak of this process be what it has now."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def measure_here(library_name: str, function_name: str, title: str) -> float:
    """Return by how many bytes for each leaf a call makes this process larger."""
    library = LIBRARIES[library_name]()
    walk = FUNCTIONS[function_name]
    walk(library, {"a": [1.0, 2.0]})
    tree = LARGE[title]()
    gc.collect()
    gc.disable()
    forget_peak()
    before = bytes_of("VmRSS")
    result = walk(library, tree)
    after = bytes_of("VmRSS" if function_name in KEPT else "VmHWM")
    del result  # not earlier: what is kept is measured
    return (after - before) / len(tree_leaves(tree))


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
        replace_section(MEASUREMENTS, "memory", lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
