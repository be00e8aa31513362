"""Python's own containers that are nodes, from the table of built-in node types."""

from collections import defaultdict, deque
from functools import partial
from typing import Any

from leafwise.core.builtins import BUILTINS, MAPPINGS, Rule


CONTAINERS = {cls: rule for cls, rule in BUILTINS.items() if rule.item_key is not None}
"""The types of containers, with their rules."""

SEQUENCES = {cls: rule for cls, rule in CONTAINERS.items() if rule.is_sequence}
"""Those whose items have positions."""

RESTS: dict[type, Any] = {defaultdict: list, deque: 100}
"""What an example of a container has beside its items, if it can have anything."""


def maker(rule: Rule) -> Any:
    """Return a function from a dict or list to a container with these items."""
    return partial(rule.from_items, RESTS.get(rule.cls))


MAKERS = {rule.name: maker(rule) for rule in MAPPINGS.values()}
"""For dicts of all kinds, functions that make one of a dict."""
