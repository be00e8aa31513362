"""Ratios of libraries as tables of Markdown.

No benchmark by itself.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Collection, Iterable, Iterator

from reports import table_row
from timing import Timing


IN_C = ("jax", "optree", "dm-tree")
"""The libraries that are more than Python."""

CLEAR = 1.05
"""A lesser lead is no more than what two runs differ by."""


@dataclasses.dataclass(frozen=True)
class Measurement:
    """One operation on one tree.

    Attributes:
        tree: The title of the tree.
        operation: The name of the operation.
        leaves: The number of leaves of the tree.
        timing: How long it takes.
    """

    tree: str
    operation: str
    leaves: int
    timing: Timing


@dataclasses.dataclass(frozen=True)
class Row:
    """How many times as fast leafwise is as each other library at something."""

    title: str
    ratios: dict[str, float]


def mean_ratios(
    title: str,
    operations: Collection[str],
    measurements: Iterable[Measurement],
    libraries: Iterable[str],
) -> Row:
    """Return the geometric means of operations over all trees.

    Args:
        title: The title of the row.
        operations: The names of the operations.
        measurements: The measurements of all operations, on the trees that count.
        libraries: The other libraries; one without such an operation has no mean.
    """
    measurements = list(measurements)
    means: dict[str, float] = {}
    for library in libraries:
        ratios = [
            measurement.timing.ratios[library]
            for measurement in measurements
            if measurement.operation in operations
            and library in measurement.timing.ratios
        ]
        if ratios:
            means[library] = statistics.geometric_mean(ratios)
    return Row(title, means)


def ratio_cell(ratio: float, digits: int = 2) -> str:
    """Return a ratio as text: bold where leafwise is clearly the faster one."""
    text = f"{ratio:.{digits}f}"
    return f"**{text}**" if float(text) >= CLEAR else text


def table_of_ratios(
    title: str, rows: Iterable[Row], libraries: list[str]
) -> Iterator[str]:
    """Yield the lines of a table of ratios."""
    yield table_row([title, *libraries])
    yield "|---|" + "--:|" * len(libraries)
    for row in rows:
        cells = [row.title]
        for library in libraries:
            ratio = row.ratios.get(library)
            cells.append("-" if ratio is None else ratio_cell(ratio))
        yield table_row(cells)


def table_of_slower(measurements: list[Measurement]) -> Iterator[str]:
    """Yield the lines of a table of what is slower than a library in C++.

    Trees of one or two leaves are left out.
    """
    rows = []
    count = 0
    for measurement in measurements:
        if measurement.leaves <= 2:
            continue
        count += 1
        ratios = measurement.timing.ratios
        slower = {name for name in IN_C if ratios.get(name, 1) < 1}
        if slower:
            cells = [f"{ratios[name]:.2f}" if name in slower else "" for name in IN_C]
            rows.append([measurement.tree, measurement.operation, *cells])
    yield f"In {len(rows)} of {count} rows one of these is faster than leafwise:"
    yield ""
    yield table_row(["tree", "operation", *IN_C])
    yield "|---|---|" + "--:|" * len(IN_C)
    for row in rows:
        yield table_row(row)
