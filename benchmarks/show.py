"""How long it takes to look at large trees.

Usage: python benchmarks/show.py [--quick] [--write]

With the limits that functions have if nobody says, texts are short, whatever the tree
is. So the figures are multiples of the time that `tree_leaves_with_path` takes.
"""

from __future__ import annotations

import argparse
import itertools
import platform
import random
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from timing import seconds

import leafwise as lw
from leafwise import nn, show


ROOT = Path(__file__).parents[1]
LEAVES = 100_000

Tree = Any


class Cell(nn.Module):
    """Two weights and a rate."""

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self.weight = nn.Param(rate)
        self.bias = nn.Param(0.0)


def random_tree(leaves: int, rng: random.Random) -> Tree:
    """Return a tree of lists and dicts with so many leaves, of any depth."""
    if leaves == 1:
        return rng.random()
    parts = [0, *sorted(rng.choices(range(1, leaves), k=rng.randrange(8))), leaves]
    inner = [
        random_tree(end - begin, rng)
        for begin, end in itertools.pairwise(parts)
        if begin < end
    ]
    if len(inner) == 1:
        return inner
    return inner if rng.random() < 0.5 else {f"k{i}": x for i, x in enumerate(inner)}


def trees(leaves: int) -> dict[str, Tree]:
    """Return trees with about so many leaves, by name."""
    rows = leaves // 100
    return {
        "one list": [*range(leaves)],
        "one dict": {f"key {i}": i for i in range(leaves)},
        "rows of texts": [
            {f"field {i}": f"{row}, {i}" for i in range(100)} for row in range(rows)
        ],
        "lists in lists": _halves(leaves),
        "at random": random_tree(leaves, random.Random(0)),
        "layers of arrays": [
            {name: np.zeros(3) for name in "wbsm"} for _ in range(leaves // 4)
        ],
        "modules": nn.List([Cell(i / 7) for i in range(leaves // 2)]),
    }


def _halves(leaves: int) -> Tree:
    if leaves == 1:
        return 0.5
    return [_halves(leaves // 2), _halves(leaves - leaves // 2)]


SHOWN: dict[str, Callable[[Tree], Any]] = {
    "`pformat`": lw.pformat,
    "`draw`": show.draw,
    "`tree_summary`": lambda tree: str(lw.tree_summary(tree)),
    "`to_html`": show.to_html,
    "`to_svg`": show.to_svg,
}
TIMED: dict[str, Callable[[Tree], Any]] = {
    "walk": lw.tree_leaves_with_path,
    **SHOWN,
}


def milliseconds(tree: Tree, rounds: int) -> dict[str, float]:
    """Return how long each function takes, in the median of rounds."""
    times: dict[str, list[float]] = {name: [] for name in TIMED}
    for _ in range(rounds):
        for name, function in TIMED.items():
            times[name].append(1000 * seconds(lambda: function(tree), 1))  # noqa: B023
    return {name: statistics.median(spent) for name, spent in times.items()}


def texts(rounds: int) -> str:
    """Return how long the texts alone take: those of trees that have room in them."""
    least = [milliseconds(tree, rounds) for tree in trees(1000).values()]
    longest = {name: max(times[name] for times in least) for name in SHOWN}
    told = ", ".join(f"{name} {spent:.0f} ms" for name, spent in longest.items())
    return f"Of that, at most, for the text itself: {told}."


def largest(found: dict[str, Tree]) -> str:
    """Return how long the longest text is, and the longest page."""
    longest = max(len(lw.pformat(tree)) for tree in found.values())
    page = max(len(show.to_html(tree).encode()) for tree in found.values())
    told = f"The longest text has {longest:,} characters"
    return f"{told}, the longest page {page:,} bytes."


def conditions(rounds: int) -> str:
    """Return how the figures were found."""
    how = f"medians of {rounds}" if rounds > 1 else "one round"
    return f"CPython {platform.python_version()}; in turn, in one process, {how}."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller trees, one round")
    options = parser.parse_args()
    rounds = 1 if options.quick else 3
    found = trees(LEAVES // 10 if options.quick else LEAVES)
    head = "| tree | walk with paths, ms | "
    lines = [f"{head}{' | '.join(SHOWN)} |", f"|---|--:{'|--:' * len(SHOWN)}|"]
    for name, tree in found.items():
        times = milliseconds(tree, rounds)
        ratios = [f"{times[shown] / times['walk']:.2f}" for shown in SHOWN]
        lines.append(f"| {name} | {times['walk']:.0f} | {' | '.join(ratios)} |")
    lines += ["", texts(rounds), largest(found), conditions(rounds)]
    print(*lines, sep="\n")


if __name__ == "__main__":
    main()
