"""Built-in nodes that a library does not have are leaves in its stand-in."""

from __future__ import annotations

from collections.abc import Callable

from ..core.builtins import BUILTINS, structural_node_type
from ..core.node import NodeType


IsNode = Callable[[NodeType, type], bool]
"""Takes a built-in node type and the class of a value, returns whether the library has
such nodes."""


class _ForeignNodes(type):
    """The class of a class whose subclasses are what the library lacks.

    A namespace declares its leaves as classes, and asks `issubclass`. Named tuples and
    struct sequences have no class in common, so this class answers for them.
    """

    is_node: IsNode

    def __subclasscheck__(cls, subclass: type) -> bool:
        node_type = BUILTINS.get(subclass) or structural_node_type(subclass)
        if node_type is None:  # a leaf, or a class that was registered
            return False
        return not cls.is_node(node_type, subclass)


def foreign_nodes(is_node: IsNode) -> type:
    """Return a class to be declared as the `leaves` of a namespace.

    Args:
        is_node: Says which nodes the library has. A node type that leafwise gains later
            is a leaf in the stand-in, until this function says otherwise.
    """
    return _ForeignNodes("ForeignNodes", (), {"is_node": staticmethod(is_node)})
