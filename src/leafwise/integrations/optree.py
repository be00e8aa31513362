"""How optree registers a class: in the namespace `"leafwise"`.

optree's global registry is closed to others, so its functions want to be called with
`namespace="leafwise"`.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final


if TYPE_CHECKING:
    from .bridge import Aux, Node

__all__ = ["NAMESPACE", "begin", "register"]

NAMESPACE: Final = "leafwise"
"""The namespace in which optree knows the classes."""


def begin(optree: Any) -> None:
    """Do nothing: optree needs no preparation."""


def register(optree: Any, cls: type, node: Node) -> None:
    """Register a class in optree.

    Args:
        optree: The module.
        cls: The class.
        node: Its rule here, as functions.

    Raises:
        ValueError: optree knows the class in the namespace already.
    """

    def flatten(value: Any) -> tuple[Sequence[Any], Aux, list[Any]]:
        children, aux = node.flatten(value)
        keys = node.keys(aux, len(children))
        return children, aux, [key.entry for key in keys]

    is_container = issubclass(cls, Mapping | Sequence)
    entry = optree.AutoEntry if is_container else optree.GetAttrEntry
    with warnings.catch_warnings():  # optree warns of each named tuple
        warnings.simplefilter("ignore", UserWarning)
        optree.register_pytree_node(
            cls, flatten, node.unflatten, path_entry_type=entry, namespace=NAMESPACE
        )
