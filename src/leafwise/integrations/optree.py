"""How optree registers a class: in the namespace `"leafwise"`.

optree's global registry is closed to others, so its functions want to be called with
`namespace="leafwise"`.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from .bridge import Target
from .nodes import key_converter, make_node


if TYPE_CHECKING:
    from ..core.node import NodeType

__all__ = ["NAMESPACE", "TARGET"]

NAMESPACE: Final = "leafwise"
"""The namespace in which optree knows the classes."""


def _register(optree: Any, cls: type, node_type: NodeType) -> None:
    node = make_node(cls, node_type)
    entries_of = key_converter(attrgetter("entry"))

    def flatten(value: Any) -> tuple[Sequence[Any], Any, Sequence[Any]]:
        children, aux = node.flatten(value)
        entries = entries_of(node.keys(aux, len(children)))
        return children, aux, entries

    # an `AutoEntry` reads the items of containers; the children of any other class are
    # attributes, of which it would know the positions alone
    is_container = issubclass(cls, Mapping | Sequence)
    entry = optree.AutoEntry if is_container else optree.GetAttrEntry
    with warnings.catch_warnings():  # optree warns of each named tuple
        warnings.simplefilter("ignore", UserWarning)
        optree.register_pytree_node(
            cls, flatten, node.unflatten, path_entry_type=entry, namespace=NAMESPACE
        )


TARGET: Final = Target(_register)
