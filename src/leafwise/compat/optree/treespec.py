"""What makes structures, by the short names of `optree.treespec`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import treespecs


globals().update(
    {name: getattr(treespecs, f"treespec_{name}") for name in treespecs.MAKERS}
)
__all__ = [*treespecs.MAKERS]  # pyright: ignore[reportUnsupportedDunderAll]

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...
