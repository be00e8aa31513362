"""How optree registers a class: in the namespace `"leafwise"`.

optree's global registry is closed to others, so its functions want to be called with
`namespace="leafwise"`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..core.node import Rule
from .context import Aux


__all__ = ["NAMESPACE", "begin", "register"]

NAMESPACE: Final = "leafwise"
"""The namespace in which optree knows the classes."""


def begin(optree: Any) -> None:
    """Do nothing: optree needs no preparation."""


def register(optree: Any, cls: type, rule: Rule) -> None:
    """Register a class in optree.

    Args:
        optree: The module.
        cls: The class.
        rule: Its rule here.

    Raises:
        ValueError: optree knows the class in the namespace already.
    """

    def flatten(node: Any) -> tuple[Sequence[Any], Aux, list[Any]]:
        children, aux = rule.flatten(node)
        keys = rule.keys(aux, len(children))
        return children, Aux(rule, aux), [key._values()[0] for key in keys]

    def unflatten(aux: Aux, children: Any) -> Any:
        return rule.unflatten(aux.aux, [*children])

    is_container = issubclass(cls, Mapping | Sequence)
    entry = optree.AutoEntry if is_container else optree.GetAttrEntry
    optree.register_pytree_node(
        cls, flatten, unflatten, path_entry_type=entry, namespace=NAMESPACE
    )
