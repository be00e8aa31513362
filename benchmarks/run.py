"""Measure leafwise beside the libraries it wants to replace, and beside the limit.

Usage: python benchmarks/run.py [--quick] [--write]

The limit is the function that a person would write by hand for one structure,
without any check; see `limits`.

All libraries are timed in one process, in turn, round after round; a ratio is
the median over rounds of their time divided by ours in the same round, so that
a machine that slows down for a while slows down everybody. A number above 1
says how many times as fast leafwise is. Needs the `interop` extra; a library
that is not installed is left out, and said to be.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import platform
import statistics
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import regimes
from libraries import PEERS, UNSUPPORTED, Library, leafwise
from limits import limit
from timing import geometric_mean, measure, write
from trees import COUNTED, LARGE, TREES

from leafwise import tree_structure


ROOT = Path(__file__).parents[1]
OPERATIONS = (
    "flatten",
    "unflatten",
    "map",
    "map, 2 trees",
    "flatten with path",
    "map with path",
    "flatten up to",
    "broadcast prefix",
    "flatten, is_leaf never",
    "map, is_leaf never",
    "flatten, is_leaf some",
    "map, is_leaf some",
    "flatten, is_leaf a type",
    "map, is_leaf a type",
)
MAIN = OPERATIONS[:4]
LIMITED = frozenset(MAIN)
PREDICATES = {
    "never": lambda x: False,
    "some": lambda x: x is None or type(x) is tuple,
    "a type": lambda x: isinstance(x, tuple),  # leafwise takes the type itself
}
ASKING = frozenset(OPERATIONS[8:])
_MODULES = {"dm-tree": "tree", "torch": "torch"}


def operation(name: str, library: Library, tree: Any) -> Callable[[], Any]:
    """Return one operation on one tree as a function without arguments.

    The mapped function does nothing: what is measured is the walk.
    """
    if name in ASKING:
        return asking(name, library, tree)
    if name == "flatten":
        return lambda: library.flatten(tree)
    if name == "unflatten":
        return library.unflatten(library.flatten(tree), tree)
    if name == "map":
        return lambda: library.map(lambda x: x, tree)
    if name == "flatten with path":
        return lambda: library.flatten_with_path(tree)
    if name == "map with path":
        return lambda: library.map_with_path(lambda _, x: x, tree)
    if name == "flatten up to":
        return library.up_to(library.flatten(tree), tree)
    if name == "broadcast prefix":
        prefix = one_level(tree)
        return lambda: library.broadcast(prefix, tree)
    return lambda: library.map(lambda x, _: x, tree, tree)


def asking(name: str, library: Library, tree: Any) -> Callable[[], Any]:
    """Return an operation on one tree that asks which nodes are leaves."""
    what, _, which = name.partition(", is_leaf ")
    is_leaf: Any = PREDICATES[which]
    if which == "a type" and library.name == "leafwise":
        is_leaf = tuple
    if what == "flatten":
        return lambda: library.flatten(tree, is_leaf=is_leaf)
    return lambda: library.map(lambda x: x, tree, is_leaf=is_leaf)


def one_level(tree: Any) -> Any:
    """Return a prefix with a 0 for each child of the root, or a bare 0."""
    level = tree_structure(tree).one_level()
    return 0 if level is None else level.unflatten([0] * level.num_leaves)


def has(library: Library, name: str, title: str) -> bool:
    """Say whether a library can do an operation on a tree."""
    if library.name == "limit":
        return name in LIMITED
    if name in ASKING and library.name == "dm-tree":
        return False
    if name == "broadcast prefix" and library.broadcast is None:
        return False
    return (library.name, title) not in UNSUPPORTED


def rows(
    libraries: list[Library], rounds: int, slice_seconds: float, *, large: bool
) -> Iterator[tuple[str, str, float, dict[str, float]]]:
    """Yield tree, operation, our microseconds, and the ratio to each other one."""
    for title, make in TREES.items():
        tree = make()
        for name in OPERATIONS:
            yield row(libraries, title, name, tree, rounds, slice_seconds)
    for title, make in LARGE.items() if large else ():
        tree = make()
        for name in MAIN:
            yield row(libraries, title, name, tree, 3, 0.0)


def row(
    libraries: list[Library],
    title: str,
    name: str,
    tree: Any,
    rounds: int,
    slice_seconds: float,
) -> tuple[str, str, float, dict[str, float]]:
    """Measure one operation on one tree."""
    hand = limit(title)
    functions = {
        library.name: operation(name, library, tree)
        for library in (*libraries, *((hand,) if hand else ()))
        if has(library, name, title)
    }
    times = measure(functions, rounds, slice_seconds)
    ours = times.pop("leafwise")
    ratios = {
        other: statistics.median(a / b for a, b in zip(theirs, ours, strict=True))
        for other, theirs in times.items()
    }
    return title, name, statistics.median(ours) * 1e6, ratios


def table(results: list[Any], others: list[str]) -> Iterator[str]:
    """Yield the lines of a Markdown table, the geometric means last."""
    yield "| tree | operation | leafwise, µs | " + " | ".join(others) + " |"
    yield "|---|---|--:|" + "--:|" * len(others)
    for title, name, ours, ratios in results:
        cells = [f"{ratios[p]:.2f}" if p in ratios else "-" for p in others]
        yield f"| {title} | {name} | {ours:.2f} | " + " | ".join(cells) + " |"
    for name in (*OPERATIONS, ALL):
        cells = []
        for other in others:
            mean = mean_of(results, name, other)
            cells.append("-" if mean is None else f"**{mean:.2f}**")
        yield f"| **geometric mean** | {name} | | " + " | ".join(cells) + " |"


ALL = "the first four"


def mean_of(results: list[Any], name: str, other: str) -> float | None:
    """Return the geometric mean over the trees of 8 to 2 000 leaves."""
    names = MAIN if name == ALL else (name,)
    found = [
        ratios[other]
        for title, operation_, _, ratios in results
        if title in COUNTED and operation_ in names and other in ratios
    ]
    return geometric_mean(found) if found else None


def targets(results: list[Any]) -> Iterator[str]:
    """Yield the cells that are slower than they should be."""
    for title, name, _, ratios in results:
        least = 0.9 if title in COUNTED or title in LARGE else 0.7
        if name in MAIN and ratios.get("jax", least) < least:
            yield f"below {least} of jax: {title}, {name}: {ratios['jax']:.2f}"


def summary(lines: list[str]) -> Iterator[str]:
    """Yield the table of the geometric means alone."""
    for line in (*lines[:2], *lines[-len(OPERATIONS) - 1 :]):
        _, _, operation_, _, *others = line.split("|")
        yield "|".join(["", operation_, *others])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few short rounds")
    parser.add_argument(
        "--write", action="store_true", help="put the tables into README and docs"
    )
    options = parser.parse_args()
    rounds, slice_seconds = (3, 0.001) if options.quick else (15, 0.004)
    installed = {
        name: make
        for name, make in PEERS.items()
        if importlib.util.find_spec(_MODULES.get(name, name)) is not None
    }
    for name in PEERS.keys() - installed.keys():
        print(f"not installed, left out: {name}")
    libraries = [leafwise(), *(make() for make in installed.values())]
    gc.collect()
    gc.disable()
    results = []
    for result in rows(libraries, rounds, slice_seconds, large=not options.quick):
        results.append(result)
        print(f"{result[0]:32} {result[1]:24} {result[2]:10.2f} µs  ", end="")
        print("  ".join(f"{other} {ratio:.2f}" for other, ratio in result[3].items()))
    lines = list(table(results, [*installed, "limit"]))
    print(*lines[-len(OPERATIONS) - 1 :], sep="\n")
    print(*targets(results), sep="\n")
    notes = [*other_regimes(libraries, quick=options.quick)]
    print(platform.python_implementation(), platform.python_version())
    if options.write:
        listed = "\n".join(f"- {note}" for note in notes)
        note = f"CPython {platform.python_version()}.\n\n{listed}"
        write(ROOT / "docs" / "performance.md", "benchmark", [*lines, "", note])
        few = [*summary(lines), "", note.splitlines()[0]]
        write(ROOT / "README.md", "benchmark", few)
        draw(results, [*installed])
    return 0


def cold(libraries: list[Library], rounds: int) -> Iterator[str]:
    """What is walked once costs what everything costs with the engine off."""
    from leafwise import engine

    with engine.disabled():
        results = [
            row(libraries, title, name, TREES[title](), rounds, 0.002)
            for title in sorted(COUNTED)
            for name in OPERATIONS[:6]
        ]
    for name in (*OPERATIONS[:6], ALL):
        means = {peer.name: mean_of(results, name, peer.name) for peer in libraries}
        shown = [f"{m:.2f} times {peer}" for peer, m in means.items() if m is not None]
        yield f"cold, engine off, {name}: {', '.join(shown)}"


def other_regimes(libraries: list[Library], *, quick: bool) -> Iterator[str]:
    """Measure, print and yield what is no single structure again and again."""
    if importlib.util.find_spec("leafwise.engine") is None:
        return
    rounds = 3 if quick else 9
    for lines in (
        cold(libraries, rounds),
        regimes.one_shot(libraries, rounds),
        regimes.payback(),
        regimes.alternating(rounds),
        regimes.never_repeating(rounds),
        regimes.scaling(1 if quick else 3),
        regimes.memory(5_000 if quick else 100_000),
    ):
        for line in lines:
            print(line)
            yield line


def draw(results: list[Any], peers: list[str]) -> None:
    """Draw the geometric means as bars."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "leafwise"
    from matplotlib import pyplot

    names = OPERATIONS[:6]
    figure, axes = pyplot.subplots(figsize=(8, 3.6), layout="constrained")
    width = 0.8 / len(peers)
    for place, peer in enumerate(peers):
        heights = [mean_of(results, name, peer) or 0 for name in names]
        where = [index + (place - (len(peers) - 1) / 2) * width for index in range(6)]
        bars = axes.bar(where, heights, width, label=peer)
        axes.bar_label(bars, fmt="%.1f", fontsize=6)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_yscale("log", base=2)
    axes.set_xticks(range(6), names, fontsize=8)
    axes.set_ylabel("times as fast as")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.legend(fontsize=7, ncols=len(peers), frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    target = ROOT / "docs" / "_static" / "benchmark.svg"
    target.parent.mkdir(exist_ok=True)
    figure.savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    sys.exit(main())
