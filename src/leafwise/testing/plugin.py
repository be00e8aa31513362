"""The pytest output for two trees that are not equal: the differences, path by path.

Owns when it says something at all: of nested containers and of nodes of registered
classes, where pytest itself would print both as a whole. pytest finds its way here by
the module `_leafwise_pytest`, which loads this one when an assertion has failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ..equality.leaves import Values
from ..ops.context import Context, context_of
from ..paint import Paint
from ..safely import clip
from ..selection.change import Change
from ..selection.diff import changes_between
from ..selection.difftext import headline, lines_of_all


__all__ = ["explain"]

_MOST: Final = 20


def explain(left: Any, right: Any, *, most: int | None = _MOST) -> list[str] | None:
    """Return lines about two trees that are not equal. Never raises.

    Args:
        left, right: What was compared by `==`.
        most: How many differences to show, None for all.

    Returns:
        The lines; None if there is nothing to say that pytest does not say as well.
    """
    try:
        context = context_of()
        rules = context.rule_of(left), context.rule_of(right)
        if None in rules or not (_is_deep(left, context) or _is_deep(right, context)):
            return None
        found = [
            change
            for change in changes_between(left, right, context, Values(equal_nan=False))
            if not _is_equal(change)
        ]
        return _lines(left, right, found, most) if found else None
    except Exception:  # a comparison that fails, a cycle: pytest shows what it can
        return None


def _is_deep(node: Any, context: Context) -> bool:
    """Return whether a node is of a registered class, or has nodes inside."""
    rule: Any = context.rule_of(node)
    if rule.where:
        return True
    children, _ = rule.flatten(node)
    return any(context.rule_of(x) is not None and x is not None for x in children)


def _is_equal(change: Change) -> bool:
    """Return whether `==` finds no difference there, though trees have one."""
    try:
        return bool(change.before == change.after)
    except Exception:  # arrays, for which there is no one answer
        return False


def _lines(
    left: Any, right: Any, found: Sequence[Change], most: int | None
) -> list[str]:
    return [
        f"{clip(left)} == {clip(right)}",
        "",
        headline(found, "left -> right"),
        *(f"  {line}" for line in lines_of_all(found, Paint("never"), most)),
    ]
