"""A plugin for pytest: explains path by path why two trees are not equal.

It is enabled by `-p leafwise.testing.plugin`, or `pytest_plugins` in a conftest. It
explains `==` of nested containers and of nodes of registered classes; everything else
is left to pytest.
"""

from __future__ import annotations

from typing import Any

from ..equality.leaves import Values
from ..ops.context import Context, context_of
from ..paint import Paint
from ..safely import FAULTS, clip
from ..selection.diff import Change, changes_between
from ..selection.difference import headline, lines_of_all


def pytest_assertrepr_compare(
    config: Any, op: str, left: object, right: object
) -> list[str] | None:
    """Return lines about two trees that are not equal; None about anything else.

    Args:
        config: The configuration of pytest; with `-vv`, all differences are shown.
        op: The operator; only `==` is explained.
        left, right: The operands.
    """
    context = context_of()
    try:
        if op != "==" or not _are_trees(left, right, context):
            return None
        changes = changes_between(left, right, context, Values(equal_nan=False))
        found = [change for change in changes if not _is_equal(change)]
        if not found:
            return None
        most = None if config.option.verbose > 1 else 20
        lines = [f"  {line}" for line in lines_of_all(found, Paint("never"), most)]
        title = f"{clip(left)} == {clip(right)}"
        return [title, "", headline(found, "left -> right"), *lines]
    except FAULTS:  # of the operands: an == that raises, a cycle
        return None


def _are_trees(left: object, right: object, context: Context) -> bool:
    """Return whether both are nodes, and one has a registered class or nodes inside."""
    rules = [context.rule_of(node) for node in (left, right)]
    if None in rules:
        return False
    if any(rule.where for rule in rules if rule is not None):
        return True
    nodes = zip(rules, (left, right), strict=True)
    children = [
        child for rule, node in nodes if rule for child in rule.flatten(node)[0]
    ]
    return any(x is not None and context.rule_of(x) is not None for x in children)


def _is_equal(change: Change) -> bool:
    """Return whether `==` finds no difference there, though trees have one."""
    try:
        return bool(change.before == change.after)
    except FAULTS:  # arrays, for which there is no one answer
        return False
