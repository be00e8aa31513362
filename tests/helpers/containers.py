"""Python's own containers that are nodes, from the table of built-in node types."""

from collections import defaultdict, deque
from functools import partial
from typing import Any

from leafwise.core.builtins import BUILTINS, MAPPINGS, NodeType


CONTAINERS = {
    cls: node_type
    for cls, node_type in BUILTINS.items()
    if node_type.item_key is not None
}
"""The types of containers, with their node types."""

SEQUENCES = {
    cls: node_type for cls, node_type in CONTAINERS.items() if node_type.is_sequence
}
"""Those whose items have positions."""

RESTS: dict[type, Any] = {defaultdict: list, deque: 100}
"""What an example of a container has beside its items, if it can have anything."""


def maker(node_type: NodeType) -> Any:
    """Return a function from a dict or list to a container with these items."""
    return partial(node_type.from_items, RESTS.get(node_type.cls))


MAKERS = {node_type.name: maker(node_type) for node_type in MAPPINGS.values()}
"""For dicts of all kinds, functions that make one of a dict."""
