"""Rules of containers that are not built in: mappings and sequences of any class.

Owns how their nodes keep, beside the items, what else a container is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .forms import Items
from .frozen import Frozen
from .keyorder import key_order, leaf_order
from .keys import DictKey, SequenceKey
from .rule import Rule, aux_keyed_rule
from .safely import printed


__all__ = ["items_rule"]


class _Kept(Frozen):
    """Aux data of a container.

    Attributes:
        keys: The keys in leaf order; rules compare nothing else.
        own: The bare keys in the order of the container.
        rest: What else it is.
    """

    __slots__ = __match_args__ = ("keys", "own", "rest")

    keys: tuple[Any, ...]
    own: Sequence[Any]
    rest: Any

    def __init__(self, keys: tuple[Any, ...], own: Sequence[Any], rest: Any) -> None:
        self._set(keys, own, rest)

    def __repr__(self) -> str:
        return ", ".join(printed(key.key) for key in self.keys if type(key) is DictKey)


def _same_keys(a: _Kept, b: _Kept) -> bool:
    return a.keys == b.keys


def items_rule(
    cls: type,
    form: Items,
    namespace: str = "",
    where: str = "",
    adapt: Callable[[type], Rule | None] | None = None,
) -> Rule:
    """Return the rule of a container class, whose children are its items.

    Keys are in leaf order as those of a dict are; a rebuilt mapping has the order of
    the one it came from.
    """

    def flatten(node: Any) -> tuple[Sequence[Any], Any]:
        own, items, rest = form.take(node)
        if not form.is_mapping:
            return items, _Kept(tuple(map(SequenceKey, range(len(items)))), (), rest)
        order = key_order(tuple(own))
        keys = tuple(map(DictKey, leaf_order(tuple(own), order)))
        children = items if order is None else order.gather(items)
        return children, _Kept(keys, own, rest)

    def unflatten(aux: Any, children: Any) -> Any:
        if not form.is_mapping:
            return form.make(aux.rest, (), children)
        table = dict(zip((key.key for key in aux.keys), children, strict=True))
        return form.make(aux.rest, aux.own, [table[key] for key in aux.own])

    return aux_keyed_rule(
        cls,
        _Kept,
        flatten,
        unflatten,
        _same_keys,
        namespace=namespace,
        where=where,
        adapt=adapt,
        form=form,
    )
