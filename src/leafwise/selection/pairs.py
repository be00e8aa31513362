"""Places in two trees that are walked together.

An item of a list may have another position in each of them: a `PairKey` has both.
`Marks` are what selectors say of places.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

from .._records import MISSING
from ..core.context import Context
from ..core.keypath import ROOT, KeyPath, Link, follow_link
from ..core.keys import SequenceKey
from .select import read_selector


class PairKey(NamedTuple):
    """The positions of an item in two lists, -1 if missing, and whether it moved.

    It stands for the key of the item in a link.
    """

    before: int
    after: int
    has_moved: bool = False

    def on(self, side: int) -> SequenceKey:
        """Return the key in one of the lists, where it is missing in the other."""
        position = self[side]
        if position < 0:
            position = self[1 - side]
        return SequenceKey(position)


def key_of(before: int, after: int) -> Any:
    """Return the key of an item in two lists, a `PairKey` if its positions differ."""
    if before == after:
        return SequenceKey(before)
    return PairKey(before, after)


def key_on(side: int, key: Any) -> Any:
    """Return the key of a child in one of the trees."""
    return key.on(side) if type(key) is PairKey else key


def paths_of(link: Link, root: KeyPath = ROOT) -> tuple[KeyPath, KeyPath]:
    """Return the path of a place in two trees; where it is missing, as in the other.

    Args:
        link: The link of the place, in which some keys may be of pairs.
        root: The path to where the links begin.
    """
    path = link.path(root)
    if PairKey not in map(type, path):
        return path, path
    keys = [key_on(0, key) for key in path]
    other_keys = [key_on(1, key) for key in path]
    return KeyPath(keys), KeyPath(other_keys)


# ------------------------------------------------------------------------------- marks


class Marks:
    """What is said of a place in a tree, and of the places below it.

    Attributes:
        values: What is said of the place.
        below: The marks of its children, by key.
    """

    __slots__ = ("below", "values")

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.below: dict[Any, Marks] = {}

    def child(self, key: Any) -> Marks:
        """Return the marks of a child, which are made if there are none."""
        if key not in self.below:
            self.below[key] = Marks()
        return self.below[key]


MarksPair: TypeAlias = "tuple[Marks | None, Marks | None] | None"
"""The marks of a place in two trees; None where there are none."""


def mark_places(
    marks: Iterable[tuple[Any, Any]],
    trees: Sequence[Any],
    context: Context,
) -> tuple[Marks, Marks]:
    """Return what is said of the places of two trees.

    Args:
        marks: Selectors, each with what is said of the places that it picks.
        trees: The trees.
        context: What is a leaf.
    """
    roots = (Marks(), Marks())
    for what, value in marks:
        find_places = read_selector(what, context.view).targets
        for root, tree in zip(roots, trees, strict=True):
            results: dict[Link, Marks] = {}
            for place in find_places(tree, context):
                below = follow_link(place.link, root, Marks.child, results)
                below.values.append(value)
    return roots


def marks_below(
    marks: MarksPair,
    key: Any,
    before: Any,
    after: Any,
) -> MarksPair:
    """Return the marks of a child.

    Args:
        marks: The marks of the nodes above.
        key: The key of the child, which may be a `PairKey`.
        before, after: The child in both trees, MISSING where there is none.
    """
    if marks is None:
        return None
    first = second = None
    if marks[0] is not None and before is not MISSING:
        first = marks[0].below.get(key_on(0, key))
    if marks[1] is not None and after is not MISSING:
        second = marks[1].below.get(key_on(1, key))
    if first is None and second is None:
        return None
    return first, second


def marked_values(marks: MarksPair) -> list[Any]:
    """Return what is said of a place, first in the one tree and then in the other."""
    values: list[Any] = []
    for one in marks or ():
        if one is not None:
            values += one.values
    return values
