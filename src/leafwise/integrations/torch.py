"""How torch's pytree module registers a class."""

from __future__ import annotations

from typing import Any

from ..core.keys import GetAttrKey, SequenceKey
from ..core.rule import Rule
from .context import Aux


__all__ = ["register"]


def register(torch: Any, cls: type, rule: Rule) -> None:
    """Register a class in torch's Python pytree module, with key paths.

    Args:
        torch: The module.
        cls: The class.
        rule: Its rule here.

    Raises:
        ValueError: torch knows the class already.
    """
    pytree = torch.utils._pytree

    def key_of(key: Any) -> Any:
        if isinstance(key, GetAttrKey):
            return pytree.GetAttrKey(key.name)
        if isinstance(key, SequenceKey):
            return pytree.SequenceKey(key.idx)
        return pytree.MappingKey(key._values()[0])

    def flatten(node: Any) -> tuple[list[Any], Aux]:
        children, aux = rule.flatten(node)
        return [*children], Aux(rule, aux)

    def flatten_with_keys(node: Any) -> tuple[list[tuple[Any, Any]], Aux]:
        children, aux = rule.flatten(node)
        keys = map(key_of, rule.keys(aux, len(children)))
        return [*zip(keys, children, strict=True)], Aux(rule, aux)

    def unflatten(children: Any, context: Aux) -> Any:
        return rule.unflatten(context.aux, [*children])

    pytree.register_pytree_node(
        cls, flatten, unflatten, flatten_with_keys_fn=flatten_with_keys
    )
