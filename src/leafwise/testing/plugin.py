"""A plugin for pytest: explains path by path why two trees are not equal.

It is enabled by `-p leafwise.testing.plugin`, or `pytest_plugins` in a conftest. It
explains `==` of nested containers and of nodes of registered classes; everything else
is left to pytest.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from .._text import FAULTS, short_repr
from ..core.context import Context, context_of
from ..equality.leaves import Comparison
from ..selection.compare import changes_between
from ..selection.explain import Change, headline, lines_of_all


def pytest_assertrepr_compare(
    config: Any, op: str, left: object, right: object
) -> list[str] | None:
    """Return lines about two trees that are not equal; None about anything else.

    Args:
        config: The configuration of pytest; with `-vv`, all differences are shown.
        op: The operator; only `==` is explained.
        left, right: The operands.
    """
    if op != "==":
        return None
    max_changes = None if config.option.verbose > 1 else 20
    try:
        context = context_of()
        if not _is_worth_explaining(left, right, context):
            return None
        changes = _changes(left, right, context)
        if not changes:
            return None
        lines = [f"{short_repr(left)} == {short_repr(right)}", ""]
        lines.append(headline(changes, "left -> right"))
        lines += [f"  {line}" for line in lines_of_all(changes, max_changes)]
        return lines
    except FAULTS:  # of the operands: an == that raises, a cycle
        return None


def _is_worth_explaining(left: object, right: object, context: Context) -> bool:
    """Return whether both are nodes, and one is nested or of a registered class.

    pytest itself explains flat containers well.
    """
    left_node_type = context.node_type_of(left)
    right_node_type = context.node_type_of(right)
    if left_node_type is None or right_node_type is None:
        return False
    # built-in node types have no place
    if left_node_type.where or right_node_type.where:
        return True
    left_children, _ = left_node_type.flatten(left)
    right_children, _ = right_node_type.flatten(right)
    return any(
        child is not None and context.node_type_of(child) is not None
        for child in (*left_children, *right_children)
    )


def _changes(left: object, right: object, context: Context) -> list[Change]:
    """Return the changes from one tree to the other that `==` takes for changes."""
    changes = []
    for change in changes_between(left, right, context, Comparison(equal_nan=False)):
        with suppress(*FAULTS):  # arrays have no single answer
            # Trees are stricter: for them 1 and True differ.
            if change.before == change.after:
                continue
        changes.append(change)
    return changes
