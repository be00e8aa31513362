"""Helpers that programs import from `optree.utils`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any


__all__ = ["safe_zip", "total_order_sorted", "unzip2"]


def total_order_sorted(
    iterable: Iterable[Any],
    /,
    *,
    key: Callable[[Any], Any] | None = None,
    reverse: bool = False,
) -> list[Any]:
    """Sort items; by type first, if they are not comparable; else leave them.

    Example:
        >>> from leafwise.compat.optree.utils import total_order_sorted
        >>> total_order_sorted([2, "b", 1, "a"])
        [1, 2, 'a', 'b']
    """
    items = [*iterable]
    keys = items if key is None else [key(item) for item in items]
    places = [*range(len(items))]
    by_key: Any = keys.__getitem__
    by_type: Any = lambda place: (_type_name(keys[place]), keys[place])  # noqa: E731
    for rank in (by_key, by_type):
        try:
            order = sorted(places, key=rank, reverse=reverse)
        except TypeError:
            continue
        return [items[place] for place in order]
    return items


def _type_name(value: Any) -> str:
    cls = value.__class__
    return f"{cls.__module__}.{cls.__qualname__}"


def safe_zip(*args: Iterable[Any]) -> zip[tuple[Any, ...]]:
    """Zip iterables that have to have the same length.

    Raises:
        ValueError: They have not.
    """
    columns = [arg if isinstance(arg, Sequence) else [*arg] for arg in args]
    lengths = [*map(len, columns)]
    if len({*lengths}) > 1:
        raise ValueError(f"length mismatch: {lengths}")
    return zip(*columns, strict=True)


def unzip2(xys: Iterable[tuple[Any, Any]], /) -> tuple[tuple[Any, ...], ...]:
    """Return the first items of pairs, and the second ones."""
    pairs = [*xys]
    return tuple(x for x, _ in pairs), tuple(y for _, y in pairs)
