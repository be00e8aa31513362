"""Trees to look at: as text, tables, diagrams and pages, for any tree.

Names are loaded when they are first asked for.

    >>> from leafwise import show
    >>> print(show.pformat({"b": [1, 2], "a": (None,)}))
    {'a': (None,), 'b': [1, 2]}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..lazy import later


if TYPE_CHECKING:
    from .pretty import pformat as pformat
    from .pretty import pprint as pprint
    from .summary import tree_summary as tree_summary
    from .table import SummaryRow as SummaryRow
    from .table import TreeSummary as TreeSummary


_HOMES: Final = {
    "pretty": "pformat pprint",
    "summary": "tree_summary",
    "table": "SummaryRow TreeSummary",
}
"""The modules that are loaded when one of their names is first asked for."""

if not TYPE_CHECKING:
    __getattr__, __dir__ = later(__name__, _HOMES)


__all__ = ["SummaryRow", "TreeSummary", "pformat", "pprint", "tree_summary"]
