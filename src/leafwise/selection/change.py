"""One difference between two trees: a record.

Owns what a `Change` holds, what it is in the other direction, as an edit and as JSON.
How changes are found is the affair of `diff`, and how they are printed that of
`difftext`.
"""

from __future__ import annotations

import json
from typing import Any, Final

from ..core.keypath import KeyPath
from ..core.keys import SequenceKey
from ..equality.content import Asked
from ..equality.leaves import PLAIN, alike
from ..paint import Paint
from ..safely import MISSING, Frozen, shown
from . import difftext
from .align import Shifts
from .difference import FEW, Detail, difference
from .rebuild import Delete, Edit, Insert, Move, Set


_OPPOSITE: Final = {"added": "removed", "removed": "added"}


class Change(Frozen):
    """One difference between two trees.

    Attributes:
        kind: `added`, `removed`, `moved` (an item to another position of its list),
            `type` (another type of node, or a leaf where there was a node), `aux`
            (another static value or other aux data), or `value`.
        path: The key path in the first tree. For an item that was added to a list, the
            last key is the position in the list of the second tree.
        before: The old value; MISSING if the value was added.
        after: The new value; MISSING if the value was removed.
        index: If the value was added to or removed from a mapping, the position of its
            key there. If it was moved, the position in the list of the second tree.
            None otherwise.

    Example:
        >>> import leafwise as lw
        >>> print(lw.tree_diff({"a": 1}, {"a": 2})[0])
        ~ ['a']: 1 -> 2
    """

    __slots__ = ("_asked", "after", "before", "index", "kind", "path")
    __match_args__ = ("kind", "path", "before", "after", "index")

    kind: str
    path: KeyPath
    before: Any
    after: Any
    index: int | None
    _asked: Asked

    def __init__(
        self,
        kind: str,
        path: KeyPath,
        before: Any,
        after: Any,
        index: int | None = None,
    ) -> None:
        self._set(kind, path, before, after, index)
        object.__setattr__(self, "_asked", PLAIN)

    def detail(self, places: int = FEW) -> Detail | None:
        """Return how the two values differ, for arrays, texts and sets.

        Each call computes the result again. Values are compared as in the `tree_diff`
        call that found the change, with its tolerances.

        Args:
            places: How many differing elements of an array to report.

        Returns:
            An `ArrayDifference`, `TextDifference` or `SetDifference`; None if there
            are no details beyond the two values.

        Example:
            >>> import leafwise as lw
            >>> lw.tree_diff({"s": {1, 2}}, {"s": {2, 3}})[0].detail()
            SetDifference(before=2, after=2, removed=(1,), added=(3,))
        """
        if self.kind not in ("value", "aux"):
            return None
        return difference(self.before, self.after, self._asked, places)

    def __str__(self) -> str:
        return "\n".join(difftext.lines_of(self, Paint("never")))

    def __eq__(self, other: object) -> bool:
        if type(other) is not Change:
            return NotImplemented
        if (self.kind, self.path) != (other.kind, other.path) or (
            self.kind == "moved" and self.index != other.index
        ):
            return False
        return alike((self.before, self.after), (other.before, other.after))

    def __hash__(self) -> int:
        return hash((self.kind, self.path))

    def __reduce__(self) -> tuple[Any, ...]:
        return of_values, (self._values(), self._asked)


def of_values(values: tuple[Any, ...], asked: Asked) -> Change:
    """Return a change that records the options of its comparison."""
    change = Change(*values)
    object.__setattr__(change, "_asked", asked)
    return change


def _is_in_list(change: Change) -> bool:
    """Return whether a change is that of a list: an item more, less or elsewhere."""
    return (
        change.kind in ("added", "removed", "moved")
        and type(change.path[-1]) is SequenceKey
    )


def note(change: Change, shifts: Shifts) -> None:
    """Take note of what happens to the items of a list."""
    if _is_in_list(change):
        shifts.note(change.kind, change.path, change.index)


def inverse(change: Change, shifts: Shifts) -> Change:
    """Return the opposite change; its path is the one after the original change."""
    kind, path, index = change.kind, change.path, change.index
    if _is_in_list(change) and kind != "moved":  # that position is of one side only
        path = shifts.after(path.parent) + path[-1:]
    else:
        path = shifts.after(path)
    if kind == "moved":
        index = change.path[-1].idx
    values = _OPPOSITE.get(kind, kind), path, change.after, change.before, index
    return of_values(values, change._asked)


def as_json(change: Change) -> dict[str, Any]:
    """Return a change as a value that `json.dumps` accepts."""
    sides = {"before": change.before, "after": change.after}
    shown = {name: _plain(x) for name, x in sides.items() if x is not MISSING}
    if change.kind == "moved":
        shown = {"index": change.index, **shown}
    return {"kind": change.kind, "path": str(change.path), **shown}


def _plain(value: Any) -> Any:
    """Return a value if JSON can represent it, else its `repr`."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return shown(value)
    return value


def edit_of(change: Change) -> tuple[KeyPath, Edit]:
    """Return a change as an edit, and the path of the edit."""
    path, is_in_list = change.path, _is_in_list(change)
    if change.kind == "moved":
        return path, Move(change.index)
    if change.kind == "removed":
        return path, Move(None) if is_in_list else Delete()
    if change.kind == "added":
        index = path[-1].idx if is_in_list else change.index
        return path, Insert(change.after, index)
    return path, Set(change.after)
