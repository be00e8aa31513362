"""Readings: what is to be known of a graph of objects in order to read it again.

Data only. Whoever knows the objects describes them; the engine may write a function
that reads graphs of just this description, and knows nothing else of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import Any, Final, NamedTuple, TypeAlias


__all__ = [
    "AGAIN",
    "VALUE",
    "Check",
    "Child",
    "Children",
    "Collect",
    "GraphReading",
    "Reading",
    "Source",
]

Source: TypeAlias = tuple[Any, ...]
"""Where something is in a node: `()` is the node, `(attribute,)` an attribute of it,
`(attribute, key)` an item of that."""

Children: TypeAlias = Callable[[Any], "Sequence[Any] | None"]
"""Takes a node, returns its children, or None if it may not be as described."""

Collect: TypeAlias = Callable[[Any], "tuple[list[Any], list[Any]] | None"]
"""Takes a root; returns the values and the counted nodes of its graph, in the order in
which they are met, or None if it may not be as described."""

VALUE: Final = "value"
AGAIN: Final = "again"


class Check(NamedTuple):
    """What must hold for a node.

    Attributes:
        source: What is looked at.
        test: `"is"` (the known object), `"len"` (as many items), `"=="`, or a function
            of it and what is known, which is not asked about the known object itself.
        known: What is known.
    """

    source: Source
    test: str | Callable[[Any, Any], bool]
    known: Any


class Reading(NamedTuple):
    """How one node is read; equal neighbours may be one reading.

    Attributes:
        cls: The class that it has.
        checks: What else must hold for it.
        sources: Where its children are, one by one.
        whole: Where all of them are, in one sequence, or what returns them.
        children: What they are: a reading, `VALUE`, or `AGAIN` for a counted node that
            was met before.
        is_counted: Whether it is a node that is met once only, but for `AGAIN`.
        value: Where a value is that is no child.
    """

    cls: type
    checks: tuple[Check, ...] = ()
    sources: tuple[Source, ...] = ()
    whole: Source | Children | None = None
    children: tuple[Child, ...] = ()
    is_counted: bool = False
    value: Source | None = None


Child: TypeAlias = Reading | str


class GraphReading(NamedTuple):
    """How a graph is read.

    Attributes:
        root: How its root is read.
        counted: How many nodes are counted.
        values: How many values there are.
        again: For each place with `AGAIN`, the number of the node there.
        leaf_types: The types that values may have which are children.
    """

    root: Reading
    counted: int
    values: int
    again: tuple[int, ...]
    leaf_types: Set[type]
