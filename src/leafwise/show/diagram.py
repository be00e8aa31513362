"""Trees as drawings: text with box characters, and Mermaid flowcharts.

It has what is drawn of a tree, a selection or a diff; the texts of keys and values; and
the boxes of diagrams, in which siblings of equal structure are one. `svg` draws the
same boxes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from .._text import FAULTS, escape_controls, safe_str
from ..core.context import Context, context_of
from ..core.keypath import KeyPath
from ..core.keys import DictKey, GetAttrKey
from ..core.registry import GLOBAL
from ..core.treedef import PyTreeDef
from ..equality.arrays import is_array
from ..selection.diff import Change, TreeDiff, counted, form_of, lines_of
from ..selection.edit import Selection
from ..selection.select import place_text, read_selector
from .colors import SIGNS, Paint
from .doc import WIDTH
from .outline import BRANCH, DEPTH, Item, label_of, outline
from .picture import Picture
from .text import clipped, columns


if TYPE_CHECKING:
    from .._typing import IsLeaf


_NARROWEST: Final = 20  # columns that a line has for its text, however deep it stands
_LONGEST: Final = 40
_LONGEST_NAME: Final = 60
_LONGEST_PATH: Final = 200


# ------------------------------------------------------------------ box characters


def draw(
    tree: Any,
    *,
    depth: int | None = None,
    select: Any = None,
    max_leaves: int = 1000,
    width: int = WIDTH,
    color: str = "never",
    is_leaf: IsLeaf = None,
    namespace: str = GLOBAL,
) -> str:
    """Draw a tree as text, with one line for each key and its children below it.

    A node is shown as its class, a leaf as its value, an array as its dtype and shape.
    An object that occurs again is drawn once, with a number, and `→ #1` marks its other
    places. Omitted values are counted.

    Args:
        tree: A tree, a treedef or an object. For a selection, the selected values are
            drawn; for a diff, the places of its changes.
        depth: How many levels to open below the root; None for all, up to 100.
        select: A selector. Only the values that it picks are drawn, and the nodes that
            lead to them.
        max_leaves: About how many values to write at most; values near the root come
            first.
        width: How many columns a line may have; longer lines are cut.
        color: `"always"`, `"never"`, or `"auto"`, which follows `NO_COLOR`,
            `FORCE_COLOR` and the standard output.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        namespace: Where classes are looked up before the global registry.

    Raises:
        PathError: The selector matches nothing.
        ValueError: `color` is not one of these, or a selector is given for a diff.

    Example:
        >>> import leafwise as lw
        >>> from leafwise.show import draw
        >>> layer = {"width": 64, "activation": "relu"}
        >>> config = {"lr": 0.1, "layers": [layer, layer]}
        >>> print(draw(config))
        dict
        ├── 'layers': list
        │   ├── [0]: #1 dict
        │   │   ├── 'activation': 'relu'
        │   │   └── 'width': 64
        │   └── [1]: → #1
        └── 'lr': 0.1
        >>> print(draw(config, select="**.width", depth=2))
        dict
        ├── 'layers': list
        │   ├── [0]: {... 2}
        │   └── [1]: {... 2}
        └── ... 1 more
        >>> print(draw(lw.tree_diff(config, {"lr": 0.2, "layers": [layer]})))
        TreeDiff: 2 changes
        ├── ~ 'lr': 0.1 -> 0.2
        └── 'layers'
            └── - [1]: {'width': 64, 'activation': 'relu'}
    """
    paint = Paint(color)
    context = context_of(is_leaf, namespace=namespace)
    root = read(tree, context, select=select, depth=depth, most=max_leaves)
    lines: list[str] = []

    def add(item: Item, branch: str, margin: str) -> None:
        spare = max(width - len(branch), _NARROWEST)
        text = paint(branch, "dim") if branch else ""
        sign = item.kind if isinstance(item.value, Change) else ""
        key, said = key_text(item), value_text(item)
        around = item.above.kind if item.above else ""
        is_news = item.role != "again" and not sign and item.kind != around
        note = ", ".join(filter(None, (item.kind if is_news else "", item.comment)))
        for part, colour in (
            (f"{sign} " if sign else "", sign),
            (key, "path"),
            (": " if item.above and said and key else "", ""),
            (said, sign or ("dim" if item.role in ("again", "more") else "")),
            (f"  # {note}" if note else "", "dim"),
        ):
            cut = clipped(part, spare)
            text += paint(cut, colour) if cut and colour else cut
            spare -= columns(cut)
            if cut != part or not spare:
                break
        lines.append(text)
        inside = [] if item.is_closed else item.items
        for inner in inside:
            tip, bar = ("└── ", "    ") if inner is inside[-1] else ("├── ", "│   ")
            add(inner, f"{margin}{tip}", f"{margin}{bar}")

    add(root, "", "")
    return Picture("\n".join(lines))


# ------------------------------------------------------------------------- Mermaid


def to_mermaid(
    tree: Any,
    *,
    depth: int | None = None,
    select: Any = None,
    max_leaves: int = 200,
    collapse: int = 3,
    is_leaf: IsLeaf = None,
    namespace: str = GLOBAL,
) -> str:
    """Return a tree as a Mermaid flowchart, to embed in Markdown pages.

    An object that occurs in several places is one box; dotted arrows lead to it.

    Args:
        tree, depth, select: See `leafwise.show.draw`.
        max_leaves: About how many boxes without children to draw at most.
        collapse: Draw neighbouring siblings of equal structure as one box if there are
            at least this many; 0 draws all of them.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        namespace: Where classes are looked up before the global registry.

    Raises:
        PathError: The selector matches nothing.
        ValueError: A selector is given for a diff.

    Example:
        >>> import leafwise as lw
        >>> layer = {"width": 64}
        >>> print(lw.show.to_mermaid({"first": layer, "last": layer}))
        flowchart LR
            n0["dict"]
            n1["dict"]
            n2(["64"])
            n0 -->|"'first'"| n1
            n0 -.->|"'last'"| n1
            n1 -->|"'width'"| n2
    """
    context = context_of(is_leaf, namespace=namespace)
    boxes = scene(tree, context, select, depth, max_leaves, collapse)
    lines = ["flowchart LR"]
    for box in boxes:
        if box.sort != "again":
            text = f'"{_in_mermaid(label(box))}"'
            drawn = f"[{text}]" if box.sort == "node" else f"([{text}])"
            styled = f":::{_STYLES[box.sort][0]}" if box.sort in _STYLES else ""
            lines.append(f"    n{box.number}{drawn}{styled}")
    for start, end, named in arrows_of(boxes):
        key = f'|"{_in_mermaid(clipped(named.key, _LONGEST))}"|' if named.key else ""
        arrow = "-->" if end is named else "-.->"
        lines.append(f"    n{start.number} {arrow}{key} n{end.number}")
    sorts = {box.sort for box in boxes}
    used = [_STYLES[sort] for sort in _STYLES if sort in sorts]
    lines += [f"    classDef {name} {style}" for name, style in used]
    text = "\n".join(lines)
    fenced = f"```mermaid\n{text}\n```"
    return Picture(text, {"text/vnd.mermaid": text, "text/markdown": fenced})


_STYLES: Final = {
    "static": ("static", "stroke-dasharray: 4 3"),
    "more": ("more", "stroke-dasharray: 1 3"),
    **{sign: (how.word, f"stroke: {how.light}") for sign, how in SIGNS.items()},
}
"""For sorts of boxes, their class and its style."""


def label(box: Box) -> str:
    """Return the text in a box."""
    item = box.item
    text = f"{item.kind} {box.text}" if isinstance(item.value, Change) else box.text
    if item.number and item.role != "again":  # arrows say it
        text = text.removeprefix(f"#{item.number} ")
    text = clipped(text or "·", _LONGEST)
    return f"{text} x {box.count}" if box.count > 1 else text


_RISKY: Final = re.compile(
    r"""
    ["#&<>%:;`\\|*~{}@$!]       # quotes, entities, comments, styles, links, emphasis
    | ^[ ]+ | [ ]+$             # would be trimmed, or make code of the text
    | ^[-+](?=[ ]) | ^[-_=]{3,} # lists, rules
    | (?<=\d)[.)](?=[ ]|$)      # numbered lists
    | (?<![^\W_])_ | _(?![^\W_])  # emphasis
    | (?<=\])\(                 # links
    | (?<=www)\.
    """,
    re.VERBOSE | re.IGNORECASE,
)


def _in_mermaid(text: str) -> str:
    """Return a text as it stands between quotes, where Mermaid shows it as it is.

    Labels are read as Markdown, so this escapes more than the quotes.
    """
    return _RISKY.sub(lambda m: "".join(f"#{ord(c)};" for c in m[0]), text)


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
    where = place_text(change.path)
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
        >>> from leafwise.show.diagram import key_text
        >>> from leafwise.show.outline import Item
        >>> keys = lw.DictKey("lr"), lw.GetAttrKey("x"), lw.SequenceKey(0)
        >>> [key_text(Item("leaf", 1, None, key)) for key in keys]
        ["'lr'", 'x', '[0]']
    """
    key = item.key
    if key is None:
        return escape_controls(item.label.rstrip(":= "))
    if type(key) is DictKey:
        return label_of(key)[:-2]
    text = key.name if type(key) is GetAttrKey else safe_str(key)
    return clipped(escape_controls(text), _LONGEST_NAME)


def type_text(item: Item) -> str:
    """Return the class name of a node; for a treedef, that of the node it builds."""
    if item.value is BRANCH or isinstance(item.value, Change):
        return item.opening
    if isinstance(item.value, PyTreeDef):
        cls = item.value.type
        name = (type(None) if cls is None else cls).__name__
    else:
        name = item.type
    return clipped(escape_controls(name), _LONGEST_NAME)


def value_text(item: Item) -> str:
    """Return the text of an item: the class of a node, the text of a leaf."""
    if item.role == "again":
        return f"→ #{item.number}"
    mark = f"#{item.number} " if item.number else ""
    if not item.items:
        return f"{mark}{escape_controls(item.opening)}{escape_controls(item.closing)}"
    if item.is_closed:
        inner = item.items[0]
        inside = f"{inner.label}{inner.opening}"
        return f"{mark}{escape_controls(f'{item.opening}{inside}{item.closing}')}"
    return f"{mark}{type_text(item)}"


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

    number = 0

    def __init__(self, items: Sequence[Item], above: Box | None = None) -> None:
        first = items[0]
        self.items = items
        self.depth: int = 0
        self.path: str = ""
        self.count: int = len(items)
        if above is not None:
            self.depth = above.depth + 1
            self.count = len(items) // len(above.items)
            key = GetAttrKey(key_text(first)) if first.key is None else first.key
            step = escape_controls(safe_str(KeyPath([key])))
            self.path = clipped(f"{above.path}{step}", _LONGEST_PATH)
        self.key: str = key_text(first)
        last = key_text(items[self.count - 1])
        if self.key != last:
            self.key += f" … {last}"
        texts = {value_text(item) for item in items}
        self.text: str = texts.pop() if len(texts) == 1 else _form(first)
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
        if self.boxes or item.is_closed:
            return "node"
        return "leaf" if item.role == "node" else item.role

    @property
    def where(self) -> str:
        """The place of the box, for a tooltip."""
        item = self.item
        is_place = item.key is not None or item.above is None or item.role == "static"
        return (self.path or "the root") if is_place else self.text


def _form(item: Item) -> str:
    with suppress(*FAULTS):  # it may only look like an array
        if is_array(item.value):
            return str(form_of(item.value))
    return type_text(item)


def _forms(root: Item) -> dict[int, int]:
    """Return for each item, by identity, a number that equal structures share.

    Those with equal keys, classes, static values and forms of arrays. What is shared
    has a number, and is equal to nothing else.
    """
    known: dict[Any, int] = {}
    forms: dict[int, int] = {}

    def enter(item: Item) -> int:
        inside = tuple([(key_text(inner), enter(inner)) for inner in item.items])
        what: Any = item.role, item.number, inside, type(item.value), item.kind
        if item.role in ("static", "more") or item.value is BRANCH:
            what = *what, item.opening
        elif isinstance(item.value, PyTreeDef) or not item.items:
            what = *what, type_text(item), _form(item)
        return forms.setdefault(id(item), known.setdefault(what, len(known)))

    enter(root)
    return forms


def boxes_of(root: Item, collapse: int = 0) -> list[Box]:
    """Return the boxes of an outline, each before the boxes inside it.

    Args:
        root: The outline.
        collapse: How many siblings of equal structure it takes to draw them as one; 0
            to draw all. Leaves are drawn as one only if they are arrays.
    """
    forms = _forms(root) if collapse else {}
    found: list[Box] = []

    def add(box: Box) -> None:
        box.number = len(found)
        found.append(box)
        items = [] if box.item.is_closed else box.item.items
        start = 0
        for _, run in groupby(items, lambda item: forms.get(id(item), id(item))):
            first, *rest = run
            size = 1
            if collapse and len(rest) + 1 >= collapse:
                whole = first.items or first.role in ("node", "again")
                size += len(rest) if whole or is_array(first.value) else 0
            end = start + len(rest) + 1
            for at in range(start, end, size):
                span = slice(at, at + size)
                inside = [inner for item in box.items for inner in item.items[span]]
                box.boxes.append(Box(inside, box))
            start = end
        for inner in box.boxes:
            add(inner)

    add(Box([root]))
    return found


def scene(
    tree: Any,
    context: Context,
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
    for most in (32 * max_leaves, max_leaves) if collapse else (max_leaves,):
        root = read(tree, context, select=select, depth=depth, most=most)
        found = boxes_of(root, collapse)
        if sum(not box.boxes for box in found) <= max_leaves:
            break
    return found


def arrows_of(boxes: Sequence[Box]) -> list[tuple[Box, Box, Box]]:
    """Return the arrows between boxes: from, to, and the box that has the key.

    An object that occurs again is no box of its own; its arrow leads to the first.
    """
    homes = {
        item.number: box
        for box in boxes
        for item in box.items
        if item.number and item.role != "again"
    }
    return [
        (box, homes[inner.item.number] if inner.item.role == "again" else inner, inner)
        for box in boxes
        for inner in box.boxes
    ]
