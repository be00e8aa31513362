"""What makes structures, by the short names of `optree.treespec`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from . import treespecs


_MAKERS: Final = (
    *("defaultdict", "deque", "dict", "from_collection", "frozendict", "leaf", "list"),
    *("namedtuple", "none", "ordereddict", "structseq", "tuple"),
)
globals().update({name: getattr(treespecs, f"treespec_{name}") for name in _MAKERS})

__all__ = [*_MAKERS]  # pyright: ignore[reportUnsupportedDunderAll]

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...
