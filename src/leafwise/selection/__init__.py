"""Select, edit, split, compare and merge trees.

Owns the pattern language, edits, partitions, diffs, merges and flat names. The most
general functions are in `leafwise` itself. The names here are loaded on first use.

    >>> import leafwise as lw
    >>> lw.selection.override({"lr": 0.1}, ["lr=0.2"])
    {'lr': 0.2}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..lazy import later


if TYPE_CHECKING:
    from .change import Change as Change
    from .diff import ArrayDifference as ArrayDifference
    from .diff import Form as Form
    from .diff import Place as Place
    from .diff import SetDifference as SetDifference
    from .diff import TextDifference as TextDifference
    from .diff import TreeDiff as TreeDiff
    from .diff import tree_diff as tree_diff
    from .edit import Selection as Selection
    from .edit import at as at
    from .edit import tree_at as tree_at
    from .edit import tree_move as tree_move
    from .edit import tree_rename as tree_rename
    from .edit import tree_update as tree_update
    from .merge import tree_map_outer as tree_map_outer
    from .merge import tree_merge as tree_merge
    from .merge import tree_zip_outer as tree_zip_outer
    from .names import FlatReport as FlatReport
    from .names import from_flat as from_flat
    from .names import override as override
    from .names import to_flat as to_flat
    from .partition import Masked as Masked
    from .partition import tree_combine as tree_combine
    from .partition import tree_filter as tree_filter
    from .partition import tree_group_by as tree_group_by
    from .partition import tree_labels as tree_labels
    from .partition import tree_mask as tree_mask
    from .partition import tree_partition as tree_partition
    from .partition import tree_unmask as tree_unmask
    from .pattern import Selector as Selector
    from .pattern import selector as selector


_HOMES: Final = {
    "change": "Change",
    "diff": (
        "ArrayDifference Form Place SetDifference TextDifference TreeDiff tree_diff"
    ),
    "edit": "Selection at tree_at tree_move tree_rename tree_update",
    "merge": "tree_map_outer tree_merge tree_zip_outer",
    "names": "FlatReport from_flat override to_flat",
    "partition": (
        "Masked tree_combine tree_filter tree_group_by tree_labels tree_mask "
        "tree_partition tree_unmask"
    ),
    "pattern": "Selector selector",
}
"""The modules that are loaded when one of their names is first asked for."""

if not TYPE_CHECKING:
    __getattr__, __dir__ = later(__name__, _HOMES)


__all__ = [
    "ArrayDifference",
    "Change",
    "FlatReport",
    "Form",
    "Masked",
    "Place",
    "Selection",
    "Selector",
    "SetDifference",
    "TextDifference",
    "TreeDiff",
    "at",
    "from_flat",
    "override",
    "selector",
    "to_flat",
    "tree_at",
    "tree_combine",
    "tree_diff",
    "tree_filter",
    "tree_group_by",
    "tree_labels",
    "tree_map_outer",
    "tree_mask",
    "tree_merge",
    "tree_move",
    "tree_partition",
    "tree_rename",
    "tree_unmask",
    "tree_update",
    "tree_zip_outer",
]
