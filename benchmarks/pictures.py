"""The figures of `run.py` as pictures.

No benchmark by itself; needs matplotlib. Each is written twice, for light and for dark
pages, on a transparent ground. The same figures give the same files.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib import pyplot
from matplotlib.ticker import FuncFormatter
from tables import Cell, Row


GREY = "#808080"  # of texts and lines, until a picture is written
INKS = {"": "#333333", "-dark": "#cccccc"}
COLOURS = {
    "jax": "#4c8bf5",
    "optree": "#e8833a",
    "torch": "#3fa45b",
    "dm-tree": "#c0569f",
}
STYLE = {
    "svg.hashsalt": "leafwise",
    "text.color": GREY,
    "axes.edgecolor": GREY,
    "axes.labelcolor": GREY,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "font.size": 8,
    "legend.frameon": False,
}
SCATTERED = ("flatten", "map", "flatten with path")


def bars(target: Path, parts: Iterable[list[Row]], peers: list[str]) -> None:
    """Draw rows as bars that begin at 1, each part below the other."""
    parts = [*parts]
    with matplotlib.rc_context(STYLE):
        figure, grid = pyplot.subplots(
            len(parts), figsize=(8, 3 * len(parts)), layout="constrained", squeeze=False
        )
        for axes, rows in zip(grid.flat, parts, strict=True):
            _draw_bars(axes, rows, peers)
        _legend(figure, peers)
        _save(figure, target)


def _draw_bars(axes: Any, rows: list[Row], peers: list[str]) -> None:
    """Draw one part, with those peers that are in it."""
    there = [peer for peer in peers if any(peer in row.ratios for row in rows)]
    width = 0.8 / max(len(there), 1)
    for place, peer in enumerate(there):
        found = [
            (i, row.ratios[peer]) for i, row in enumerate(rows) if peer in row.ratios
        ]
        drawn = axes.bar(
            [i + (place - (len(there) - 1) / 2) * width for i, _ in found],
            [ratio - 1 for _, ratio in found],
            width,
            bottom=1,
            color=COLOURS.get(peer),
        )
        labels = [_short(ratio) for _, ratio in found]
        axes.bar_label(drawn, labels, fontsize=6, padding=1)
    _scale(axes)
    names = [row.title.replace(", ", ",\n") for row in rows]
    axes.set_xticks(
        range(len(rows)), [name.replace(" with ", "\nwith ") for name in names]
    )
    axes.set_ylabel("times as fast as")


def sizes(target: Path, cells: list[Cell], peers: list[str]) -> None:
    """Draw a dot for each tree and peer, by how many leaves the tree has."""
    with matplotlib.rc_context(STYLE):
        figure, grid = pyplot.subplots(
            1, len(SCATTERED), figsize=(8, 3), layout="constrained", sharey=True
        )
        for axes, name in zip(grid.flat, SCATTERED, strict=True):
            for peer in peers:
                dots = [
                    (cell.leaves, cell.timed.ratios[peer])
                    for cell in cells
                    if cell.operation == name and peer in cell.timed.ratios
                ]
                axes.scatter(*zip(*dots, strict=True), 14, COLOURS.get(peer), alpha=0.8)
            axes.set_xscale("log")
            axes.set_xlabel("leaves")
            axes.set_title(name, fontsize=8)
            _scale(axes)
        grid.flat[0].set_ylabel("times as fast as")
        _legend(figure, peers)
        _save(figure, target)


def _scale(axes: Any) -> None:
    """Draw ratios on a logarithmic scale, and a line where both are as fast."""
    axes.set_yscale("log", base=2)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.axhline(1, color=GREY, linewidth=0.8)
    axes.margins(y=0.1)


def _short(value: float) -> str:
    return f"{value:.1f}" if value < 10 else f"{value:.0f}"


def _legend(figure: Any, peers: list[str]) -> None:
    """Name the peers once, above all parts."""
    patches = [
        matplotlib.patches.Patch(color=COLOURS.get(peer), label=peer) for peer in peers
    ]
    figure.legend(handles=patches, loc="outside upper center", ncols=max(len(peers), 1))


def _save(figure: Any, target: Path) -> None:
    target.parent.mkdir(exist_ok=True)
    metadata = {"Date": None, "Creator": None}
    drawn = io.StringIO()
    figure.savefig(drawn, format="svg", transparent=True, metadata=metadata)
    pyplot.close(figure)
    for ending, ink in INKS.items():
        file = target.with_stem(target.stem + ending)
        file.write_text(drawn.getvalue().replace(GREY, ink), encoding="utf-8")
