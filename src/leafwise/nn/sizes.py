"""Sizes: how many numbers there are, and how many bytes they take."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from ..core.auxdata import is_array_like
from ..core.node import Rule
from ..core.registry import current
from .arrays import DataNode


__all__ = ["bytes_text", "rule_of", "size_of", "tally", "tally_text"]


_MAX_NESTED: Final = 5_000


def rule_of(cls: Any) -> Rule | None:
    """Return the rule of a type, also of objects that are no nodes of trees."""
    rule = current.view.rules.get(cls) or current.view.resolve(cls)
    if rule is None and issubclass(cls, DataNode):
        traits = getattr(cls, "_leafwise_traits", None)
        return None if traits is None else traits.rule
    return rule


def size_of(leaf: Any) -> tuple[int, int]:
    """Return how many numbers a leaf has, and how many bytes each takes, if known."""
    if not is_array_like(leaf):
        return 1, 0
    size = 1
    for length in leaf.shape:
        size *= length
    return size, getattr(leaf.dtype, "itemsize", 0)


def bytes_text(count: int) -> str:
    """Return a number of bytes for people, in brackets; nothing for none."""
    if not count:
        return ""
    if count < 1000:
        return f" ({count} B)"
    value = count / 1000
    for unit in ("KB", "MB"):
        if value < 1000:
            return f" ({value:.1f} {unit})"
        value /= 1000
    return f" ({value:,.1f} GB)"


def tally(root: Any, limit: int | None = None) -> dict[str, tuple[int, int]]:
    """Return how many numbers and bytes the variables in an object hold, by type.

    Args:
        root: The object.
        limit: How many things to look at, at most; there is no tally beyond.
    """
    counts: dict[str, tuple[int, int]] = {}
    seen: dict[int, Any] = {}
    visited = 0
    stack: list[tuple[Any, str | None]] = [(root, None)]
    while stack:
        value, name = stack.pop()
        visited += 1
        if limit is not None and visited > limit:
            return {}
        cls = type(value)
        if getattr(cls, "_leafwise_counts", False):
            name = cls.__name__
        rule = rule_of(cls)
        if rule is None:
            if name is not None:
                count, width = size_of(value)
                known = counts.get(name, (0, 0))
                counts[name] = known[0] + count, known[1] + count * width
            continue
        if id(value) in seen:
            continue
        seen[id(value)] = value
        children: Iterable[Any] = rule.flatten(value)[0]
        stack += [(child, name) for child in children]
    return counts


def tally_text(root: Any, *, nested: bool, named: bool = True) -> str:
    """Return the tally of an object as text: nothing if there are no variables.

    Args:
        root: The object.
        nested: Whether it stands inside another one that is written; a large one
            has no tally then, or each level would cost as much as all.
        named: Whether the types are named.
    """
    counts = tally(root, _MAX_NESTED if nested else None)
    parts = [
        f"{name + ': ' if named else ''}{count:,}{bytes_text(size)}"
        for name, (count, size) in sorted(counts.items())
    ]
    if len(counts) > 1 and named:
        count, size = (sum(part) for part in zip(*counts.values(), strict=True))
        parts.append(f"Total: {count:,}{bytes_text(size)}")
    return ", ".join(parts)
