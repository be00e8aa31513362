"""The figures of `run.py` as tables of Markdown.

No benchmark by itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

from operations import GROUPS, MAIN, OPERATIONS
from timing import Timed, geometric_mean
from trees import COUNTED


IN_C = ("jax", "optree", "dm-tree")
"""The libraries that are more than Python."""


@dataclasses.dataclass(frozen=True)
class Cell:
    """One operation on one tree.

    Attributes:
        tree: The title of the tree.
        operation: The name of the operation.
        leaves: How many leaves the tree has.
        timed: What was found.
    """

    tree: str
    operation: str
    leaves: int
    timed: Timed


@dataclasses.dataclass(frozen=True)
class Row:
    """How many times as fast leafwise is as each other library at something."""

    title: str
    ratios: dict[str, float]


def mean_of(cells: Iterable[Cell], names: Iterable[str], other: str) -> float | None:
    """Return the geometric mean over the trees of 8 to 2 000 leaves, if any."""
    names = {*names}
    found = [
        cell.timed.ratios[other]
        for cell in cells
        if cell.tree in COUNTED
        and cell.operation in names
        and other in cell.timed.ratios
    ]
    return geometric_mean(found) if found else None


def means(cells: list[Cell], names: Iterable[str], others: list[str]) -> list[Row]:
    """Return the means of operations or groups of them, those that were measured."""
    rows = []
    for name in names:
        ratios = {
            other: mean
            for other in others
            if (mean := mean_of(cells, GROUPS.get(name, (name,)), other)) is not None
        }
        rows.append(Row(name, ratios))
    return rows


def ratios(title: str, rows: Iterable[Row], others: list[str]) -> Iterator[str]:
    """Yield the lines of a table of ratios."""
    yield f"| {title} | " + " | ".join(others) + " |"
    yield "|---|" + "--:|" * len(others)
    for row in rows:
        yield f"| {row.title} | " + _joined(row.ratios, others, "**{:.2f}**") + " |"


def slower(cells: list[Cell]) -> Iterator[str]:
    """Yield the lines of a table of what is slower than a library in C++.

    Trees of one or two leaves are left out.
    """
    found = []
    cells = [cell for cell in cells if cell.leaves > 2]
    for cell in cells:
        below = {p: r for p, r in cell.timed.ratios.items() if p in IN_C and r < 1}
        found += [(cell, below)] * bool(below)
    yield f"In {len(found)} of {len(cells)} rows one of these is faster than leafwise:"
    yield ""
    yield "| tree | operation | " + " | ".join(IN_C) + " |"
    yield "|---|---|" + "--:|" * len(IN_C)
    for cell, below in found:
        shown = _joined(below, IN_C, "{:.2f}", none="")
        yield f"| {cell.tree} | {cell.operation} | {shown} |"


def _joined(
    found: dict[str, float], others: Iterable[str], form: str, none: str = "-"
) -> str:
    return " | ".join(
        form.format(found[other]) if other in found else none for other in others
    )


WARM = (*OPERATIONS, *GROUPS)
COLD = (*MAIN, "flatten with path", "map with path", "the first four")
