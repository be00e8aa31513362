"""Display of trees as text, tables, diagrams and pages.

Names are imported on first access.

    >>> from leafwise import show
    >>> print(show.pformat({"b": [1, 2], "a": (None,)}))
    {'a': (None,), 'b': [1, 2]}
    >>> print(show.draw({"lr": 0.1, "sizes": [64, 32]}))
    dict
    ├── 'lr': 0.1
    └── 'sizes': list
        ├── [0]: 64
        └── [1]: 32
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .._lazy import later


if TYPE_CHECKING:
    from .diagram import draw, to_mermaid
    from .html import to_html
    from .pretty import pformat, pprint
    from .summary import SummaryRow, TreeSummary, tree_summary
    from .svg import to_svg


_HOMES: Final = {
    "SummaryRow": "summary",
    "TreeSummary": "summary",
    "draw": "diagram",
    "pformat": "pretty",
    "pprint": "pretty",
    "to_html": "html",
    "to_mermaid": "diagram",
    "to_svg": "svg",
    "tree_summary": "summary",
}
"""The names that are imported on first use, with their modules."""

if not TYPE_CHECKING:
    __getattr__, __dir__ = later(__name__, _HOMES)

# fmt: off
__all__ = [
    "SummaryRow", "TreeSummary", "draw", "pformat", "pprint", "to_html", "to_mermaid",
    "to_svg", "tree_summary",
]
# fmt: on
