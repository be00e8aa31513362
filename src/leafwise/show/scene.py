"""What stands in a drawing, before anybody decides where: lines, boxes and arrows.

Owns what is read for a drawing (a tree, what a selector picks of one, the places of a
diff), the texts of keys and values in it, and boxes, in which siblings of equal
structure are one. Knows nothing of the formats that are written.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any, Final

from ..core.keypath import KeyPath
from ..core.keys import DictKey, GetAttrKey
from ..core.treedef import PyTreeDef
from ..equality.content import is_array
from ..ops.context import Context
from ..paint import Paint
from ..safely import class_name, printable, printed
from ..selection.change import Change
from ..selection.diff import TreeDiff
from ..selection.difference import form_of
from ..selection.difftext import counted, lines_of
from ..selection.edit import Selection
from ..selection.pattern import read_selector
from .outline import DEPTH, Item, label_of, outline


BRANCH: Final = object()
"""The value of an item that only leads to changes."""
_LONGEST: Final = 60
_LONGEST_PATH: Final = 200


# ------------------------------------------------------------------------- reading


def read(
    tree: Any,
    context: Context,
    *,
    select: Any = None,
    depth: int | None = None,
    most: int = 1000,
) -> Item:
    """Return the outline of the tree to draw.

    Args:
        tree: A tree, a selection, of which only what it picks is drawn, or a diff.
        context: Which values are nodes.
        select: A selector for what is drawn; None for all.
        depth: How many levels to open.
        most: How many values to show at the ends.

    Raises:
        PathError: The selector matches nothing.
        ValueError: There is a selector for a diff.
    """
    if isinstance(tree, TreeDiff):
        if select is not None:
            raise ValueError(
                "select is not supported for a TreeDiff: select in its trees instead"
            )
        return _of_changes(tree, DEPTH if depth is None else min(depth, DEPTH), most)
    only = None
    if isinstance(tree, Selection):
        chosen = tree if select is None else tree[select]
        tree, context, only = chosen._leafwise_chosen()
    elif select is not None:
        picked = (read_selector(select, context.view),)
        only = Selection(tree, picked, context, missing_ok=False).paths()
    return outline(tree, context, depth=depth, most=most, only=only)


def _of_changes(diff: TreeDiff, depth: int, most: int) -> Item:
    """Return the paths of changes as an outline; a change has its sign as its kind."""
    root = Item("node", BRANCH, None, None)
    root.opening = f"TreeDiff: {counted(len(diff), 'change')}"
    known: dict[tuple[int, Any], Item] = {}
    for change in diff[:most]:
        item, keys = root, change.path
        for key in keys[:depth]:
            name = id(item), key
            if name not in known:
                known[name] = Item("node", BRANCH, item, key)
                item.items.append(known[name])
            item = known[name]
        if len(keys) > depth:
            _leave_out(item, 1)
        elif isinstance(item.value, Change) or not keys:  # a second one at this place
            item.items.append(_of_change(Item("leaf", BRANCH, item, None), change))
        else:
            _of_change(item, change)
    if len(diff) > most:
        _leave_out(root, len(diff) - most)
    return root


def _of_change(item: Item, change: Change) -> Item:
    line = lines_of(change, Paint("never"))[0]
    where = printable(change.path.where())
    item.value, item.kind = change, line[0]
    told = line.removeprefix(f"{line[0]} {where}").removeprefix(": ")
    item.opening = told.removeprefix(" ")  # where something moved, an arrow
    return item


def _leave_out(item: Item, number: int) -> None:
    """Count changes that are left out below an item."""
    if not item.items or item.items[-1].role != "more":
        item.items.append(Item("more", None, item, None))
    more = item.items[-1]
    more.nodes += number
    more.opening = f"... {counted(more.nodes, 'change')} more"


# --------------------------------------------------------------------------- texts


def key_text(item: Item) -> str:
    """Return the key of an item as it is drawn: `'lr'`, `x`, `[0]`.

    Example:
        >>> import leafwise as lw
        >>> from leafwise.show.scene import key_text
        >>> from leafwise.show.outline import Item
        >>> keys = lw.DictKey("lr"), lw.GetAttrKey("x"), lw.SequenceKey(0)
        >>> [key_text(Item("leaf", 1, None, key)) for key in keys]
        ["'lr'", 'x', '[0]']
    """
    key = item.key
    if key is None:
        return printable(item.label.rstrip(":= "))
    if type(key) is DictKey:
        return label_of(key)[:-2]
    text = key.name if type(key) is GetAttrKey else printed(key)
    return clipped(printable(text), _LONGEST)


def type_text(item: Item) -> str:
    """Return the class name of a node; for a treedef, that of the node it builds."""
    if item.value is BRANCH or isinstance(item.value, Change):
        return item.opening
    if isinstance(item.value, PyTreeDef):
        cls = item.value.type
        name = class_name(type(None) if cls is None else cls, qualified=False)
    else:
        name = item.type
    return clipped(printable(name), _LONGEST)


def value_text(item: Item) -> str:
    """Return the text of an item: the class of a node, the text of a leaf."""
    if item.role == "again":
        return f"→ #{item.number}"
    mark = f"#{item.number} " if item.number else ""
    if not item.items:
        return f"{mark}{printable(item.opening)}{printable(item.closing)}"
    if is_closed(item):
        inner = item.items[0]
        inside = f"{inner.label}{inner.opening}"
        return f"{mark}{printable(f'{item.opening}{inside}{item.closing}')}"
    return f"{mark}{type_text(item)}"


def is_closed(item: Item) -> bool:
    """Return whether what is in an item stands in its own line or box.

    That is how much there is, if no more is shown, and the value of a variable.
    """
    if len(item.items) != 1 or item.value is BRANCH:
        return False
    inner = item.items[0]
    is_value = inner.role == "leaf" and type(inner.key) is GetAttrKey
    return inner.role == "more" or (is_value and not inner.number)


def columns(text: str) -> int:
    """Return the width of a text in columns: two for wide letters, none for marks.

    Example:
        >>> from leafwise.show.scene import columns
        >>> columns("lr"), columns("学習"), columns("e\u0301")
        (2, 4, 1)
    """
    return len(text) if text.isascii() else sum(map(_column, text))


def _column(letter: str) -> int:
    if unicodedata.combining(letter) or unicodedata.category(letter) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def clipped(text: str, width: int) -> str:
    """Return a text shortened to a number of columns.

    Example:
        >>> from leafwise.show.scene import clipped
        >>> clipped("transformer", 8), clipped("学習率", 5)
        ('transfo…', '学習…')
    """
    if len(text) <= width and columns(text) <= width:
        return text
    taken = 0
    for place, letter in enumerate(text):
        taken += _column(letter)
        if taken >= width and (taken > width or text[place + 1 :]):
            return f"{text[:place]}…"
    return text


# --------------------------------------------------------------------------- boxes


class Box:
    """One box of a drawing.

    Attributes:
        items: What it stands for: one item, or the same part of each of some siblings.
        key: The text of its key, or of the keys of the siblings.
        path: The text of its key path, cut if it is long; of the first of the items.
        text: What it is.
        count: How many siblings it stands for.
        number: Its place among the boxes, the root being 0.
        depth: How far it is from the root.
        boxes: The boxes inside.
    """

    __slots__ = ("boxes", "count", "depth", "items", "key", "number", "path", "text")

    def __init__(self, items: Sequence[Item], above: Box | None = None) -> None:
        self.items: Sequence[Item] = items
        first = items[0]
        runs, self.depth, self.path = 1, 0, ""
        if above is not None:
            runs, self.depth = len(above.items), above.depth + 1
            self.path = clipped(f"{above.path}{_step_text(first)}", _LONGEST_PATH)
        self.count = len(items) // runs
        self.key = key_text(first)
        if self.count > 1:
            last = key_text(items[self.count - 1])
            self.key = f"{self.key} … {last}" if self.key != last else self.key
        self.text = _text_of_all(items)
        self.number = 0
        self.boxes: list[Box] = []

    @property
    def item(self) -> Item:
        """The first of the items."""
        return self.items[0]

    @property
    def sort(self) -> str:
        """The sort of box: a role of an item, or the sign of a change."""
        item = self.item
        if isinstance(item.value, Change):
            return item.kind
        if self.boxes or is_closed(item):
            return "node"
        return "leaf" if item.role == "node" else item.role

    @property
    def where(self) -> str:
        """The place of the box, for a tooltip."""
        item = self.item
        is_place = item.key is not None or item.above is None or item.role == "static"
        return (self.path or "the root") if is_place else self.text


def _step_text(item: Item) -> str:
    """Return what an item adds to the path of the one above, as text."""
    key = GetAttrKey(key_text(item)) if item.key is None else item.key
    return printable(printed(KeyPath([key])))


def _text_of_all(items: Sequence[Item]) -> str:
    """Return what items of equal structure are; where they differ, only their type."""
    texts = {value_text(item) for item in items}
    return texts.pop() if len(texts) == 1 else _form(items[0])


def _form(item: Item) -> str:
    if is_array(item.value):
        try:
            return str(form_of(item.value))
        except Exception:  # it only looks like an array
            pass
    return type_text(item)


_Signs = dict[int, int]
"""For each item, by identity, a number which equal structures have in common."""


def _signs(root: Item) -> _Signs:
    """Return which items have equal structure.

    Those with equal keys, classes, static values and forms of arrays. What is shared
    has a number, and is equal to nothing else.
    """
    order = [root]
    for item in order:
        order += item.items
    known: dict[Any, int] = {}
    signs: _Signs = {}
    for item in reversed(order):
        inside = tuple([(key_text(inner), signs[id(inner)]) for inner in item.items])
        what: Any = item.role, item.number, inside
        if item.role in ("static", "more") or item.value is BRANCH:
            what = *what, item.opening
        elif isinstance(item.value, PyTreeDef) or not item.items:
            what = *what, type_text(item), _form(item)
        what = *what, type(item.value), item.kind
        signs[id(item)] = known.setdefault(what, len(known))
    return signs


def boxes_of(root: Item, collapse: int = 0) -> list[Box]:
    """Return the boxes of an outline, each before the boxes inside it.

    Args:
        root: The outline.
        collapse: How many siblings of equal structure it takes to draw them as one; 0
            to draw all. Leaves are drawn as one only if they are arrays.
    """
    signs = _signs(root) if collapse else {}
    first = Box([root])
    found: list[Box] = []
    stack = [first]
    while stack:
        box = stack.pop()
        box.number = len(found)
        found.append(box)
        if is_closed(box.item):
            continue
        for start, count in _runs(box.item.items, signs, collapse):
            span = slice(start, start + count)
            inside = [inner for item in box.items for inner in item.items[span]]
            box.boxes.append(Box(inside, box))
        stack += reversed(box.boxes)
    return found


def _runs(
    items: Sequence[Item], signs: _Signs, collapse: int
) -> Iterable[tuple[int, int]]:
    """Yield where runs of items begin that are drawn as one, and how long they are."""
    start = 0
    kind: Callable[[Item], Any] = lambda item: signs.get(id(item), id(item))  # noqa: E731
    for _, run in groupby(items, kind):
        same = [*run]
        whole = same[0].items or same[0].role in ("node", "again")
        one = collapse and len(same) >= collapse
        if one and (whole or is_array(same[0].value)):
            yield start, len(same)
        else:
            yield from ((start + place, 1) for place in range(len(same)))
        start += len(same)


_MORE: Final = (32, 1)


def scene(
    tree: Any,
    context: Context,
    *,
    select: Any = None,
    depth: int | None = None,
    max_leaves: int = 200,
    collapse: int = 3,
) -> list[Box]:
    """Return the boxes of a drawing, each before the boxes inside it.

    What is drawn as one may stand for much, so more is read at first than is drawn.

    Args:
        tree, select, depth: As `read` takes them.
        context: Which values are nodes.
        max_leaves: How many boxes to have at the ends, about.
        collapse: See `boxes_of`.

    Raises:
        PathError: The selector matches nothing.
        ValueError: There is a selector for a diff.
    """
    found: list[Box] = []
    for factor in _MORE if collapse else _MORE[-1:]:
        most = max_leaves * factor
        root = read(tree, context, select=select, depth=depth, most=most)
        found = boxes_of(root, collapse)
        if sum(not box.boxes for box in found) <= max_leaves:
            break
    return found


def arrows_of(boxes: Iterable[Box]) -> list[tuple[Box, Box, Box]]:
    """Return the arrows between boxes: from, to, and the box that has the key.

    An object that occurs again is no box of its own; its arrow leads to the first.
    """
    kept = [*boxes]
    homes = {
        item.number: box
        for box in kept
        for item in box.items
        if item.number and item.role != "again"
    }
    return [
        (box, homes[inner.item.number] if inner.item.role == "again" else inner, inner)
        for box in kept
        for inner in box.boxes
    ]
