"""Trees as drawings: text with box characters, and Mermaid flowcharts.

What a drawing shows of a tree, a selection or a diff is one outline, whose equal
neighbours are folded. `svg` draws the same outline.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from .._text import counted
from ..core.context import Context, context_of
from ..core.registry import GLOBAL
from ..fields import Kind
from ..selection.diff import TreeDiff
from ..selection.edit import Selection
from ..selection.explain import Change, lines_of
from ..selection.patterns import place_text
from ..selection.select import read_selector
from .colors import LOOKS, Paint
from .doc import WIDTH
from .fold import count_text, fold, key_text, sign_of, value_text
from .outline import BRANCH, DEPTH, Item, outline
from .picture import Picture
from .text import branches_of, clipped, columns


if TYPE_CHECKING:
    from .._typing import IsLeaf


_NARROWEST: Final = 20  # columns that a line has for its text, however deep it stands
_LONGEST: Final = 40
_READ: Final = 10_000  # values to read of a tree that may fold into few


# ------------------------------------------------------------------ box characters


def draw(
    tree: Any,
    *,
    depth: int | None = None,
    select: Any = None,
    max_leaves: int = 1000,
    collapse: int = 3,
    width: int = WIDTH,
    color: str = "never",
    is_leaf: IsLeaf = None,
    namespace: str = GLOBAL,
) -> str:
    """Draw a tree as text, with one line for each key and its children below it.

    A node is shown as its class, a leaf as its value, an array as its dtype and shape.
    Equal neighbours have one line. An object that occurs again is drawn once, with a
    number, and `→ #1` marks its other places. Omitted values are counted.

    Args:
        tree: A tree, a treedef or an object. For a selection, the selected values are
            drawn; for a diff, the places of its changes.
        depth: How many levels to open below the root; None for all, up to 100.
        select: A selector. Only the values that it picks are drawn, and the nodes that
            lead to them.
        max_leaves: About how many values to write at most; values near the root come
            first.
        collapse: Draw neighbours that are equal, as far as they are drawn, as one line
            if there are at least this many; 0 draws all of them. Ten and more numbers
            of one type side by side are one line, too.
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
        >>> config = {"lr": 0.1, "layers": [layer, layer], "data": {"shards": [1] * 9}}
        >>> print(draw(config))
        dict
        ├── 'data': dict
        │   └── 'shards': list
        │       └── [0] … [8]: 9 ints  # each 1
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
        └── ... 2 more
        >>> print(draw(lw.tree_diff(config, {**config, "lr": 0.2, "layers": [layer]})))
        TreeDiff: 2 changes
        ├── ~ 'lr': 0.1 -> 0.2
        └── 'layers'
            └── - [1]: {'width': 64, 'activation': 'relu'}
    """
    paint = Paint(color)
    context = context_of(is_leaf, namespace=namespace)
    root = scene(tree, context, select, depth, max_leaves, collapse, by_value=True)
    boxes = boxes_of(root)
    branches = branches_of([box.depth for box in boxes])
    lines = [
        _line(box, branch, width, paint)
        for box, branch in zip(boxes, branches, strict=True)
    ]
    return Picture("\n".join(lines))


def _line(
    item: Item,
    branch: str,
    width: int,
    paint: Paint,
) -> str:
    """Return the line of an item, cut at the width."""
    sign = sign_of(item)
    key = key_text(item)
    value = f"{value_text(item)}{count_text(item)}"
    notes = []
    if item.kind not in (None, Kind.DATA, Kind.MODULE, item.kind_above):
        notes.append(item.kind.value)
    if item.comment:
        notes.append(item.comment)
    value_colour = sign
    if item.role in ("again", "more"):
        value_colour = "dim"
        notes = []
    parts = [
        (f"{sign} " if sign else "", sign),
        (key, "path"),
        (": " if item.above and value and key else "", ""),
        (value, value_colour),
        (f"  # {', '.join(notes)}" if notes else "", "dim"),
    ]
    text = paint(branch, "dim") if branch else ""
    spare = max(width - len(branch), _NARROWEST)
    for part, colour in parts:
        visible = clipped(part, spare)
        text += paint(visible, colour) if visible and colour else visible
        spare -= columns(visible)
        if visible != part or not spare:
            break
    return text


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
        collapse: Draw neighbours of equal structure as one box if there are at least
            this many; 0 draws all of them. Leaves side by side have to be equal, too,
            but for ten and more numbers.
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
    root = scene(tree, context, select, depth, max_leaves, collapse)
    boxes = boxes_of(root)
    names = {box: f"n{number}" for number, box in enumerate(boxes)}
    lines = ["flowchart LR"]
    for box in boxes:
        if box.role == "again":
            continue
        style = style_of(box)
        text = f'"{_in_mermaid(_box_text(box))}"'
        shape = f"[{text}]" if style == "node" else f"([{text}])"
        suffix = f":::{style}" if style in _STYLES else ""
        lines.append(f"    {names[box]}{shape}{suffix}")
    for start, end, box in arrows_of(boxes):
        key = clipped(key_text(box), _LONGEST)
        label = f'|"{_in_mermaid(key)}"|' if key else ""
        arrow = "-->" if end is box else "-.->"
        lines.append(f"    {names[start]} {arrow}{label} {names[end]}")
    styles = {style_of(box) for box in boxes}
    for style, rule in _STYLES.items():
        if style in styles:
            lines.append(f"    classDef {style} {rule}")
    text = "\n".join(lines)
    fenced = f"```mermaid\n{text}\n```"
    return Picture(text, {"text/vnd.mermaid": text, "text/markdown": fenced})


_STYLES: Final = {
    "static": "stroke-dasharray: 4 3",
    "more": "stroke-dasharray: 1 3",
    **{look.word: f"stroke: {look.light}" for look in LOOKS.values()},
}
"""The styles of boxes that do not look like others."""


def _box_text(box: Item) -> str:
    """Return the text in a box."""
    text = value_text(box)
    if box.number:  # arrows lead to the box instead
        text = text.removeprefix(f"#{box.number} ")
    sign = sign_of(box)
    if sign:
        text = f"{sign} {text}"
    return clipped(text or "·", _LONGEST) + count_text(box)


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


# -------------------------------------------------------------------------- scenes


def scene(
    tree: Any,
    context: Context,
    select: Any = None,
    depth: int | None = None,
    most: int = 200,
    collapse: int = 3,
    *,
    by_value: bool = False,
) -> Item:
    """Return the outline of a drawing, with equal neighbours folded.

    Args:
        tree: A tree, a selection, of which only what it picks is drawn, or a diff.
        context: Which values are nodes.
        select: A selector for what is drawn; None for all.
        depth: How many levels to open.
        most: How many values without visible children to show.
        collapse: How many equal neighbours to fold; 0 for none.
        by_value: See `fold`.

    Raises:
        PathError: The selector matches nothing.
        ValueError: There is a selector for a diff.
    """
    root = _read(tree, context, select, depth, most)
    # asked before: folding makes one item of several
    is_cut = collapse and _leaves_out(root)
    fold(root, collapse, by_value=by_value)
    if is_cut and most < _READ:
        # what is folded may stand for much, so more may be read than can be shown
        larger = _read(tree, context, select, depth, _READ)
        fold(larger, collapse, by_value=by_value)
        if sum(not box.children for box in boxes_of(larger)) <= most:
            return larger
    return root


def _leaves_out(item: Item) -> bool:
    return item.role == "more" or any(_leaves_out(inner) for inner in item.items)


def _read(
    tree: Any,
    context: Context,
    select: Any,
    depth: int | None,
    most: int,
) -> Item:
    """Return the outline of a tree, a selection or a diff."""
    if isinstance(tree, TreeDiff):
        if select is not None:
            raise ValueError(
                "select is not supported for a TreeDiff: select in its trees instead"
            )
        return _of_changes(tree, DEPTH if depth is None else min(depth, DEPTH), most)
    only = None
    if isinstance(tree, Selection):
        selection = tree if select is None else tree[select]
        only = selection.paths()
        context = selection.context
        tree = selection.tree
    elif select is not None:
        selectors = (read_selector(select, context.view),)
        only = Selection(tree, selectors, context, missing_ok=False).paths()
    return outline(tree, context, depth=depth, most=most, only=only)


def _of_changes(diff: TreeDiff, depth: int, most: int) -> Item:
    """Return the outline of the paths of changes."""
    root = Item("node", BRANCH, None, None)
    root.opening = f"TreeDiff: {counted(len(diff), 'change')}"
    items: dict[tuple[Item, Any], Item] = {}
    for change in diff[:most]:
        item = root
        for key in change.path[:depth]:
            if (item, key) not in items:
                inner = Item("node", BRANCH, item, key)
                item.items.append(inner)
                items[item, key] = inner
            item = items[item, key]
        if len(change.path) > depth:
            _leave_out(item, 1)
            continue
        if isinstance(item.value, Change) or not change.path:
            # a second change at this place, or one of the whole tree
            above = item
            item = Item("leaf", BRANCH, above, None)
            above.items.append(item)
        item.value = change
        item.opening = _change_text(change)
    if len(diff) > most:
        _leave_out(root, len(diff) - most)
    return root


def _change_text(change: Change) -> str:
    """Return the first line of a change, without its sign and its path."""
    line = lines_of(change, Paint("never"))[0]
    path = place_text(change.path)
    sign = line[0]
    text = line.removeprefix(f"{sign} {path}").removeprefix(": ")
    return text.removeprefix(" ")  # before the arrow of what was moved


def _leave_out(item: Item, number: int) -> None:
    """Count changes that are left out below an item."""
    if not item.items or item.items[-1].role != "more":
        item.items.append(Item("more", None, item, None))
    more = item.items[-1]
    more.nodes += number
    more.opening = f"... {counted(more.nodes, 'change')} more"


def boxes_of(root: Item) -> list[Item]:
    """Return the items of a drawing that have a box, each before those inside it."""
    boxes: list[Item] = []
    stack = [root]
    while stack:
        box = stack.pop()
        boxes.append(box)
        stack.extend(reversed(box.children))
    return boxes


def style_of(box: Item) -> str:
    """Return how a box looks: a role, or the word for the sign of a change."""
    sign = sign_of(box)
    if sign:
        return LOOKS[sign].word
    if box.items:
        return "node"
    return "leaf" if box.role == "node" else box.role


def arrows_of(boxes: Sequence[Item]) -> list[tuple[Item, Item, Item]]:
    """Return the arrows between boxes: from, to, and the box that has the key.

    The arrow to an object that occurs again leads to its first box.
    """
    first_boxes = {box.number: box for box in boxes if box.role != "again"}
    arrows = []
    for box in boxes:
        for inner in box.children:
            end = first_boxes[inner.number] if inner.role == "again" else inner
            arrows.append((box, end, inner))
    return arrows
