"""Select, edit, split, compare and merge trees.

Owns the pattern language, edits, partitions, diffs, merges and flat names. The most
general functions are in `leafwise` itself. The names here are loaded on first use.

    >>> import leafwise as lw
    >>> lw.selection.tree_rename({"lr": 0.1}, "lr", "rate")
    {'rate': 0.1}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .._lazy import later


# fmt: off
if TYPE_CHECKING:
    from .diff import TreeDiff, tree_diff
    from .edit import Selection, at, tree_at, tree_move, tree_rename, tree_update
    from .explain import (
        ArrayDifference,
        Change,
        Form,
        Place,
        SetDifference,
        TextDifference,
    )
    from .flat import FlatReport, from_flat, to_flat
    from .merge import tree_merge
    from .partition import (
        tree_combine,
        tree_filter,
        tree_labels,
        tree_partition,
    )
    from .select import Selector, selector
# fmt: on


_HOMES: Final = {
    "ArrayDifference": "explain",
    "Change": "explain",
    "FlatReport": "flat",
    "Form": "explain",
    "Place": "explain",
    "Selection": "edit",
    "Selector": "select",
    "SetDifference": "explain",
    "TextDifference": "explain",
    "TreeDiff": "diff",
    "at": "edit",
    "from_flat": "flat",
    "selector": "select",
    "to_flat": "flat",
    "tree_at": "edit",
    "tree_combine": "partition",
    "tree_diff": "diff",
    "tree_filter": "partition",
    "tree_labels": "partition",
    "tree_merge": "merge",
    "tree_move": "edit",
    "tree_partition": "partition",
    "tree_rename": "edit",
    "tree_update": "edit",
}
"""The names that are imported on first use, with their modules."""

if not TYPE_CHECKING:
    __getattr__, __dir__ = later(__name__, _HOMES)


# fmt: off
__all__ = [
    "ArrayDifference", "Change", "FlatReport", "Form", "Place", "Selection", "Selector",
    "SetDifference", "TextDifference", "TreeDiff", "at", "from_flat",
    "selector", "to_flat", "tree_at", "tree_combine", "tree_diff", "tree_filter",
    "tree_labels", "tree_merge", "tree_move",
    "tree_partition", "tree_rename", "tree_update",
]
# fmt: on
