"""Test tools: assertions about trees, random trees, and a check of registrations.

The names here are loaded on first use. Only those that make random trees need and load
`hypothesis`.

    >>> import leafwise as lw
    >>> lw.testing.assert_trees_close({"lr": 0.1}, {"lr": 0.1 + 1e-12})
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .._lazy import later


if TYPE_CHECKING:
    from .asserts import assert_same_structure, assert_trees_close, assert_trees_equal
    from .registrations import check_node
    from .strategies import treedefs, trees, trees_like


_HOMES: Final = {
    "assert_same_structure": "asserts",
    "assert_trees_close": "asserts",
    "assert_trees_equal": "asserts",
    "check_node": "registrations",
    "treedefs": "strategies",
    "trees": "strategies",
    "trees_like": "strategies",
}
"""The names that are imported on first use, with their modules."""

if not TYPE_CHECKING:
    __getattr__, __dir__ = later(__name__, _HOMES)


# fmt: off
__all__ = [
    "assert_same_structure", "assert_trees_close", "assert_trees_equal", "check_node",
    "treedefs", "trees", "trees_like",
]
# fmt: on
