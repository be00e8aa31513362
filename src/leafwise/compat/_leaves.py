"""Built-in nodes that a library does not have are leaves in its stand-in."""

from __future__ import annotations

from collections.abc import Callable

from ..core.builtins import BUILTINS, structural_node_type
from ..core.node import NodeType


class _ForeignClass(type):
    """A class whose subclasses are the built-in node types that a library lacks."""

    is_node: Callable[[NodeType, type], bool]

    def __subclasscheck__(cls, subclass: type) -> bool:
        node_type = BUILTINS.get(subclass) or structural_node_type(subclass)
        return node_type is not None and not cls.is_node(node_type, subclass)


def foreign_nodes(is_node: Callable[[NodeType, type], bool]) -> type:
    """Return a class to be declared as the `leaves` of a namespace.

    Args:
        is_node: Takes a built-in node type and the class of a value; returns whether
            the library has such nodes. A node type that leafwise gains later is a leaf
            in the stand-in, until this function says otherwise.
    """
    return _ForeignClass("ForeignNodes", (), {"is_node": staticmethod(is_node)})
