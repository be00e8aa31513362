"""A plugin for pytest: explains path by path why two trees are not equal.

It is enabled by `-p leafwise.testing.plugin`, or `pytest_plugins` in a conftest. It
explains `==` of nested containers and of nodes of registered classes; everything else
is left to pytest.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from .._text import FAULTS, short_repr
from ..core.context import context_of
from ..equality.leaves import Values
from ..selection.diff import changes_between, headline, lines_of_all


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
    context, found = context_of(), []
    try:
        rules = [rule for x in (left, right) if (rule := context.rule_of(x))]
        if len(rules) < 2:
            return None
        if not any(rule.where for rule in rules):  # none is a registered class
            pairs = zip(rules, (left, right), strict=True)
            children = [
                child for rule, node in pairs for child in rule.flatten(node)[0]
            ]
            if not any(x is not None and context.rule_of(x) for x in children):
                return None
        for change in changes_between(left, right, context, Values(equal_nan=False)):
            with suppress(*FAULTS):  # of arrays, for which == has no one answer
                if change.before == change.after:  # though trees differ there
                    continue
            found.append(change)
        if not found:
            return None
        most = None if config.option.verbose > 1 else 20
        lines = [f"  {line}" for line in lines_of_all(found, most)]
        title = f"{short_repr(left)} == {short_repr(right)}"
        return [title, "", headline(found, "left -> right"), *lines]
    except FAULTS:  # of the operands: an == that raises, a cycle
        return None
