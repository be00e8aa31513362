"""Traversing: the one walk through graphs of objects, and what is counted on it.

Owns how objects, variables and containers are entered, whether they are nodes of trees
or not, and when one is met again. What is done on the way is owned by those who walk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from ..core.node import Rule
from ..core.registry import current
from ..equality.exact import is_array_like
from .checks import DataNode
from .spec import StaticMetadata


__all__ = [
    "AGAIN",
    "CYCLE",
    "ENTER",
    "LEAF",
    "LEAVE",
    "below",
    "bytes_text",
    "keys_of",
    "rule_of",
    "size_of",
    "tally",
    "tally_text",
    "traverse",
]


_MAX_NESTED: Final = 5_000


def rule_of(cls: Any) -> Rule | None:
    """Return the rule of a type, also of objects that are no nodes of trees."""
    rule = current.view.rules.get(cls) or current.view.resolve(cls)
    if rule is None and issubclass(cls, DataNode):
        spec = getattr(cls, "_leafwise_spec", None)
        return None if spec is None else spec.rule
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


# ---------------------------------------------------------------------- traversing


def keys_of(rule: Rule, aux: Any, arity: int) -> Sequence[Any]:
    """Return the keys of a node's children as names, positions and keys."""
    if type(aux) is StaticMetadata:
        return aux.field_layout.data
    if rule.is_sequence:
        return range(arity)
    return [key.entry for key in rule.keys(aux, arity)]


def below(value: Any) -> list[tuple[Any, Any]]:
    """Return the children of a value with their names, positions or keys."""
    rule = rule_of(type(value))
    if rule is None:
        return []
    children, aux = rule.flatten(value)
    return [*zip(keys_of(rule, aux, len(children)), children, strict=True)]


ENTER: Final = "enter"
LEAVE: Final = "leave"
LEAF: Final = "leaf"
AGAIN: Final = "again"
CYCLE: Final = "cycle"


def traverse(
    root: Any, revisit: Callable[[Any], bool] | None = None
) -> Iterator[tuple[str, Any, Any]]:
    """Walk through a graph of objects, variables and containers, depth first.

    Args:
        root: Where to begin.
        revisit: Which nodes are entered wherever they stand; all others only once.

    Yields:
        What happens, the path as a linked list, and the value: `ENTER` before the
        children of a node and `LEAVE` after them, `LEAF` at what has no children,
        `AGAIN` at a node that is not entered a second time, and `CYCLE` at a node
        inside itself.
    """
    seen: dict[int, Any] = {}  # the values are held, so that no id comes twice
    entered: set[int] = set()
    stack: list[tuple[Any, Any, bool]] = [(root, (), False)]
    while stack:
        value, link, is_done = stack.pop()
        if is_done:
            entered.discard(id(value))
            yield LEAVE, link, value
            continue
        rule = rule_of(type(value))
        if rule is None:
            yield LEAF, link, value
        elif id(value) in entered:
            yield CYCLE, link, value
        elif id(value) in seen and not (revisit and revisit(value)):
            yield AGAIN, link, value
        else:
            seen[id(value)] = value
            entered.add(id(value))
            yield ENTER, link, value
            stack.append((value, link, True))
            children, aux = rule.flatten(value)
            keys = keys_of(rule, aux, len(children))
            pairs = zip(reversed(children), reversed(keys), strict=True)
            stack += [(child, (link, key), False) for child, key in pairs]


# ------------------------------------------------------------------------ counting


def tally(root: Any, limit: int | None = None) -> dict[str, tuple[int, int]]:
    """Return how many numbers and bytes the variables in an object hold, by type.

    Args:
        root: The object.
        limit: How many things to look at, at most; there is no tally beyond.
    """
    counts: dict[str, tuple[int, int]] = {}
    names: list[str | None] = [None]  # of the variable around, for each open node
    visited = 0
    for event, _, value in traverse(root):
        if event is LEAVE:
            names.pop()
            continue
        visited += 1
        if limit is not None and visited > limit:
            return {}
        is_counted = getattr(type(value), "_leafwise_counts", False)
        name = type(value).__name__ if is_counted else names[-1]
        if event is ENTER:
            names.append(name)
        elif event is LEAF and name is not None:
            count, width = size_of(value)
            known = counts.get(name, (0, 0))
            counts[name] = known[0] + count, known[1] + count * width
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
