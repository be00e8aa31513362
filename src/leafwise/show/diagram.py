"""Trees drawn as text: with box characters, as Mermaid, as Graphviz DOT.

Owns these three formats, and what has to be escaped in each. What is drawn is said by
`scene`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, Literal

from ..core.registry import GLOBAL
from ..layout import WIDTH
from ..ops.context import context_of
from ..paint import SIGNS, Paint
from ..selection.change import Change
from .outline import Item
from .scene import (
    Box,
    arrows_of,
    is_closed,
    key_text,
    read,
    scene,
    value_text,
)
from .text import clipped, columns


if TYPE_CHECKING:
    from ..core.node import IsLeaf

__all__ = ["draw", "to_dot", "to_mermaid"]

_NARROWEST: Final = 20  # columns that a line has for its text, however deep it stands
_LONGEST: Final = 40


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
    none_is_leaf: bool = False,
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
        is_leaf, none_is_leaf, namespace: See
            :ref:`common arguments <common>`.

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
    context = context_of(is_leaf, False, none_is_leaf, namespace)
    root = read(tree, context, select=select, depth=depth, most=max_leaves)
    lines: list[str] = []
    stack = [(root, "", "")]
    while stack:
        item, branch, margin = stack.pop()
        drawn = paint(branch, "dim") if branch else ""
        lines.append(f"{drawn}{_line(item, width - len(branch), paint)}")
        if is_closed(item):
            continue
        last = len(item.items) - 1
        for place in range(last, -1, -1):
            tip, bar = ("├── ", "│   ") if place < last else ("└── ", "    ")
            stack.append((item.items[place], f"{margin}{tip}", f"{margin}{bar}"))
    return "\n".join(lines)


def _line(item: Item, width: int, paint: Paint) -> str:
    """Return what stands behind the branch of an item."""
    width = max(width, _NARROWEST)
    sign = item.kind if isinstance(item.value, Change) else ""
    said = value_text(item)
    parts = [
        (f"{sign} " if sign else "", sign),
        (key_text(item), "path"),
        (": " if item.above and said and key_text(item) else "", ""),
        (said, sign or ("dim" if item.role in ("again", "more") else "")),
        (_note(item), "dim"),
    ]
    text = ""
    for part, colour in parts:
        cut = clipped(part, width)
        if cut:
            text += paint(cut, colour) if colour else cut
        width -= columns(cut)
        if cut != part or not width:
            break
    return text


def _note(item: Item) -> str:
    """Return what is said beside an item."""
    around = item.above.kind if item.above else ""
    is_news = item.role != "again" and not isinstance(item.value, Change)
    kind = item.kind if is_news and item.kind != around else ""
    told = ", ".join(filter(None, (kind, item.comment)))
    return f"  # {told}" if told else ""


# ------------------------------------------------------------------------- Mermaid

Direction = Literal["LR", "TB"]
"""From left to right, or from top to bottom."""


def to_mermaid(
    tree: Any,
    *,
    depth: int | None = None,
    select: Any = None,
    max_leaves: int = 200,
    collapse: int = 3,
    direction: Direction = "LR",
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> str:
    """Return a tree as a Mermaid flowchart, to embed in Markdown pages.

    An object that occurs in several places is one box; dotted arrows lead to it.

    Args:
        tree, depth, select: See `leafwise.show.draw`.
        max_leaves: About how many boxes without children to draw at most.
        collapse: Draw neighbouring siblings of equal structure as one box if there are
            at least this many; 0 draws all of them.
        direction: `"LR"` for left to right, `"TB"` for top to bottom.
        is_leaf, none_is_leaf, namespace: See
            :ref:`common arguments <common>`.

    Raises:
        PathError: The selector matches nothing.
        ValueError: The direction is not one of these, or a selector is given for a
            diff.

    Example:
        >>> import leafwise as lw
        >>> layer = {"width": 64}
        >>> print(lw.to_mermaid({"first": layer, "last": layer}))
        flowchart LR
            n0["dict"]
            n1["dict"]
            n2(["64"])
            n0 -->|"'first'"| n1
            n0 -.->|"'last'"| n1
            n1 -->|"'width'"| n2
    """
    _check(direction)
    context = context_of(is_leaf, False, none_is_leaf, namespace)
    boxes = scene(
        tree, context, select=select, depth=depth, max_leaves=max_leaves,
        collapse=collapse,
    )  # fmt: skip
    lines = [f"flowchart {direction}"]
    sorts = set()
    for box in boxes:
        if box.sort == "again":
            continue
        text = f'"{_in_mermaid(label(box))}"'
        drawn = f"[{text}]" if box.sort == "node" else f"([{text}])"
        styled = f":::{_STYLES[box.sort][0]}" if box.sort in _STYLES else ""
        sorts.add(box.sort)
        lines.append(f"    n{box.number}{drawn}{styled}")
    for start, end, named in arrows_of(boxes):
        key = f'|"{_in_mermaid(clipped(named.key, _LONGEST))}"|' if named.key else ""
        arrow = "-->" if end is named else "-.->"
        lines.append(f"    n{start.number} {arrow}{key} n{end.number}")
    used = (_STYLES[sort] for sort in _STYLES if sort in sorts)
    lines += [f"    classDef {name} {style}" for name, style in used]
    return "\n".join(lines)


_STYLES: Final = {
    "static": ("static", "stroke-dasharray: 4 3"),
    "more": ("more", "stroke-dasharray: 1 3"),
    **{sign: (how.word, f"stroke: {how.light}") for sign, how in SIGNS.items()},
}
"""For sorts of boxes, their class and its style."""


def _check(direction: Direction) -> None:
    if direction not in ("LR", "TB"):
        raise ValueError(f"direction must be 'LR' or 'TB', not {direction!r}")


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


# ------------------------------------------------------------------------ Graphviz


def to_dot(
    tree: Any,
    *,
    depth: int | None = None,
    select: Any = None,
    max_leaves: int = 200,
    collapse: int = 3,
    direction: Direction = "LR",
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> str:
    r"""Return a tree as a graph in Graphviz's DOT language.

    An object that occurs in several places is one box; dashed arrows lead to it. The
    key path of each box is its tooltip.

    Args:
        tree, depth, select, max_leaves, collapse, direction: See `leafwise.to_mermaid`.
        is_leaf, none_is_leaf, namespace: See
            :ref:`common arguments <common>`.

    Raises:
        PathError: The selector matches nothing.
        ValueError: The direction is not one of these, or a selector is given for a
            diff.

    Example:
        >>> import leafwise as lw
        >>> print(lw.to_dot({"lr": 0.1}))
        digraph tree {
            rankdir=LR;
            node [shape=box, style=rounded, fontname="Courier", fontsize=11];
            edge [fontname="Courier", fontsize=10, arrowsize=0.6];
            n0 [label="dict", tooltip="the root"];
            n1 [label="0.1", tooltip="['lr']", color="gray"];
            n0 -> n1 [label="'lr'"];
        }
    """
    _check(direction)
    context = context_of(is_leaf, False, none_is_leaf, namespace)
    boxes = scene(
        tree, context, select=select, depth=depth, max_leaves=max_leaves,
        collapse=collapse,
    )  # fmt: skip
    lines = [*_HEAD, f"    rankdir={direction};", *_DEFAULTS]
    for box in boxes:
        if box.sort != "again":
            style = _LOOKS.get(box.sort, "")
            said = f"label={_in_dot(label(box))}, tooltip={_in_dot(box.where)}{style}"
            lines.append(f"    n{box.number} [{said}];")
    for start, end, named in arrows_of(boxes):
        said = f"label={_in_dot(clipped(named.key, _LONGEST))}"
        if end is not named:
            said += ", style=dashed, constraint=false"
        lines.append(f"    n{start.number} -> n{end.number} [{said}];")
    return "\n".join([*lines, "}"])


_HEAD: Final = ("digraph tree {",)
_DEFAULTS: Final = (
    '    node [shape=box, style=rounded, fontname="Courier", fontsize=11];',
    '    edge [fontname="Courier", fontsize=10, arrowsize=0.6];',
)
_LOOKS: Final = {
    "leaf": ', color="gray"',
    "static": ', color="gray", style="rounded,dashed"',
    "more": ', color="gray", style="rounded,dotted"',
    **{sign: f', color="{how.light}"' for sign, how in SIGNS.items()},
}


def _in_dot(text: str) -> str:
    """Return a text as a quoted string, in which Graphviz reads no escapes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")
    return f'"{escaped}"'
