"""The order in which the leaves of a dict are walked (law L3).

Owns `KeyOrder`, which takes the keys of a dict from insertion order to leaf
order and back, and the search for that order: sorted where the keys have one
order, by families of types where they mix, as inserted where nothing else is
the same for equal dicts.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from itertools import pairwise
from operator import itemgetter
from typing import Any, Final

from .safely import class_name


__all__ = [
    "AS_GIVEN",
    "KeyOrder",
    "are_plain",
    "find_order",
    "key_order",
    "known_orders",
    "leaf_order",
]


class KeyOrder:
    """How the keys of a dict, as inserted, are put into leaf order and back.

    Attributes:
        perm: The positions of the inserted keys in leaf order.
        is_structure: Whether the insertion order is part of the structure,
            because it was asked for or because the keys have no order.
    """

    __slots__ = ("gather", "is_structure", "perm", "scatter")

    def __init__(self, perm: tuple[int, ...], *, is_structure: bool = False) -> None:
        self.perm = perm
        self.is_structure = is_structure
        inverse = sorted(range(len(perm)), key=perm.__getitem__)
        moves = len(perm) > 1 and not is_structure
        self.gather = itemgetter(*perm) if moves else tuple
        self.scatter = itemgetter(*inverse) if moves else tuple


AS_GIVEN: Final = KeyOrder((), is_structure=True)
"""The order of dicts whose insertion order is their structure."""

_MAX_ORDERS = 4096
_MAX_KEYS = 256
are_plain: Final = frozenset({str, int}).issuperset
"""Takes the types of keys, says whether these are all exact `str` or `int`."""

known_orders: Final[dict[tuple[Any, ...], KeyOrder | None]] = {}
"""The orders found so far for plain keys, and to be asked for plain keys only.

Keys of other types may equal plain ones and still have an order of their own, as
an Enum whose members are strings and that defines `__lt__`.
"""


def key_order(keys: tuple[Any, ...]) -> KeyOrder | None:
    """Return how these keys are ordered, None when they stand in order already.

    Sorted, if `<` puts them into one chain; otherwise by family of types, an
    Enum by definition order; otherwise as given, and then order is structure.
    The answer for plain keys is remembered.
    """
    if not are_plain(map(type, keys)):
        return find_order(keys)
    try:
        return known_orders[keys]
    except KeyError:
        order = find_order(keys)
    if len(keys) <= _MAX_KEYS:
        if len(known_orders) >= _MAX_ORDERS:
            known_orders.clear()
        known_orders[keys] = order
    return order


def find_order(keys: tuple[Any, ...]) -> KeyOrder | None:
    """Find how keys are ordered, as `key_order`, which remembers it."""
    perm = _chain(keys, range(len(keys)))
    if perm is None:
        perm = _by_family(keys)
    if perm is None:
        return AS_GIVEN
    return None if perm == list(range(len(keys))) else KeyOrder(tuple(perm))


def _chain(keys: Sequence[Any], positions: Sequence[int]) -> list[int] | None:
    """Sort positions by key; None unless each key is below the next one.

    The check refuses partial orders (sets, NaN), whose sorted order would
    depend on the order of insertion.
    """
    try:
        perm = sorted(positions, key=keys.__getitem__)
        chained = all(bool(keys[i] < keys[j]) for i, j in pairwise(perm))
    except Exception:
        return None
    return perm if chained else None


def _by_family(keys: tuple[Any, ...]) -> list[int] | None:
    families: dict[str, list[int]] = {}
    for position, key in enumerate(keys):
        families.setdefault(_family(key), []).append(position)
    perm: list[int] = []
    for _, positions in sorted(families.items()):
        part = _chain(keys, positions) or _by_definition(keys, positions)
        if part is None:
            return None
        perm += part
    return perm


_BASES = (
    (str, "builtins.str"),
    ((int, float, complex), "builtins.int"),
    (bytes, "builtins.bytes"),
    (tuple, "builtins.tuple"),
)


def _family(key: Any) -> str:
    """Name the type of a key, so that keys that may be equal share a name."""
    for base, name in _BASES:
        if isinstance(key, base):
            return name
    cls = type(key)
    return f"{cls.__module__}.{class_name(cls)}"


def _by_definition(keys: Sequence[Any], positions: list[int]) -> list[int] | None:
    classes = {type(keys[position]) for position in positions}
    if len(classes) != 1 or not issubclass(cls := classes.pop(), enum.Enum):
        return None
    rank = {member: place for place, member in enumerate(cls.__members__.values())}
    try:
        return sorted(positions, key=lambda position: rank[keys[position]])
    except KeyError:
        return None


def leaf_order(keys: tuple[Any, ...], order: KeyOrder | None) -> tuple[Any, ...]:
    """Return inserted keys in leaf order."""
    return keys if order is None else order.gather(keys)
