"""Outlines: rows of different depth, drawn as a tree with a column beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


__all__ = ["Row", "draw"]


class Row(NamedTuple):
    """One line of an outline.

    Attributes:
        depth: How many rows stand above it.
        label: What it is.
        note: What there is to say of it.
    """

    depth: int
    label: str
    note: str


def draw(rows: Sequence[Row]) -> str:
    """Return rows as text, each below the one that it belongs to.

    Example:
        >>> from leafwise.show.summary import Row, draw
        >>> print(draw([Row(0, "a", "1"), Row(1, "b", "2"), Row(1, "c", "3")]))
        a      1
        ├── b  2
        └── c  3
    """
    pairs = zip(_branches(rows), rows, strict=True)
    labelled = [(f"{branch}{row.label}", row.note) for branch, row in pairs]
    width = max((len(label) for label, _ in labelled), default=0)
    return "\n".join(f"{label:<{width}}  {note}".rstrip() for label, note in labelled)


def _branches(rows: Sequence[Row]) -> list[str]:
    """Return what stands before each label, worked out from the last row up."""
    branches: list[str] = []
    later: list[bool] = []  # for each depth, whether a row that comes hangs there
    for row in reversed(rows):
        depth = row.depth
        later = later[: depth + 1] + [False] * (depth + 1 - len(later))
        bars = ["│   " if more else "    " for more in later[1:depth]]
        tip = "" if not depth else "├── " if later[depth] else "└── "
        branches.append("".join(bars) + tip)
        later[depth] = True
    return branches[::-1]
