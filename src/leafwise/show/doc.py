"""Outlines laid out as Python text over lines of a given width.

An item stands in one line if it fits, else each item inside it has a line of its own.
A document that is flat where it fits is Wadler's idea ("A prettier printer"). Here
nothing else is left to choose, so one pass with a stack replaces his algebra, and any
depth can be laid out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from .outline import Item


WIDTH: Final = 80
"""The default number of columns."""

_STEP: Final = 2
_DEEPEST: Final = 30  # levels that are indented, or the text of a chain is quadratic
_MARGIN: Final = 4  # the indent takes at most one half of the width: 2 columns in 4
_ENDLESS: Final = 1 << 60
_FEWEST_IN_ROW: Final = 5


def lay_out(root: Item, width: int = WIDTH) -> str:
    """Return the text of an item, at most `width` columns wide where possible.

    Items that are nested more than 30 levels deep are not indented further.

    Args:
        root: The item.
        width: The number of columns.

    Example:
        >>> from leafwise.core.context import context_of
        >>> from leafwise.show.doc import lay_out
        >>> from leafwise.show.outline import outline
        >>> config = outline({"lr": 0.1, "sizes": [64, 32]}, context_of())
        >>> print(lay_out(config))
        {'lr': 0.1, 'sizes': [64, 32]}
        >>> print(lay_out(config, 20))
        {
          'lr': 0.1,
          'sizes': [64, 32]
        }
    """
    widths = _widths(root)
    deepest = min(_DEEPEST, width // _MARGIN)
    pieces: list[str] = []
    # each entry is an item, its depth and the comma after it, or a finished text
    stack: list[tuple[Any, int, str]] = [(root, 0, "")]
    while stack:
        item, depth, comma = stack.pop()
        if isinstance(item, str):
            pieces.append(item)
            continue
        indent = " " * (_STEP * min(depth, deepest))
        inner_indent = " " * (_STEP * min(depth + 1, deepest))
        comment = f"  # {item.comment}" if item.comment else ""
        columns = len(indent) + widths[item] + len(comma) + len(comment)
        if not item.items:
            text = f"{item.label}{item.text}{item.closing}{comma}"
            line_break = f"\n{indent}{' ' * len(item.label)}"
            pieces.append(text.replace("\n", line_break) + comment)
            continue
        if columns <= width:
            pieces.append(f"{_flat(item)}{comma}{comment}")
            continue
        pieces.append(f"{item.label}{item.text}{comment}")
        end = f"\n{indent}{item.closing}{comma}"
        if _is_row(item):
            pieces.extend(_filled(item.items, inner_indent, width))
            pieces.append(end)
            continue
        stack.append((end, 0, ""))
        comma = ""
        for inner in reversed(item.items):
            stack.append((inner, depth + 1, comma))
            stack.append((f"\n{inner_indent}", 0, ""))
            comma = ","
    return "".join(pieces)


def _widths(root: Item) -> dict[Item, int]:
    """Return how many columns each item takes in one line."""
    items = [root]
    for item in items:  # which grows meanwhile
        items.extend(item.items)
    widths: dict[Item, int] = {}
    for item in reversed(items):
        width = len(item.label) + len(item.text) + len(item.closing)
        if "\n" in item.opening:
            width = _ENDLESS
        for inner in item.items:
            # nothing can follow a comment in its line
            width += _ENDLESS if inner.comment else widths[inner]
        widths[item] = width + len(", ") * max(len(item.items) - 1, 0)
    return widths


def _flat(root: Item) -> str:
    """Return an item in one line."""
    pieces: list[str] = []
    stack: list[Item | str] = [root]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            pieces.append(item)
            continue
        pieces.append(f"{item.label}{item.text}")
        stack.append(item.closing)
        for inner in reversed(item.items):
            stack.append(inner)
            if inner is not item.items[0]:
                stack.append(", ")
    return "".join(pieces)


def _is_row(item: Item) -> bool:
    """Return whether the items inside are bare texts of one line, and several."""
    if len(item.items) < _FEWEST_IN_ROW:
        return False
    return not any(
        inner.items or inner.label or inner.comment or "\n" in inner.opening
        for inner in item.items
    )


def _filled(items: Sequence[Item], indent: str, width: int) -> Iterator[str]:
    """Yield items that are bare texts, as many in a line as fit."""
    column = width
    for item in items:
        comma = "" if item is items[-1] else ","
        text = f"{item.text}{item.closing}{comma}"
        if item is items[0] or column + len(" ") + len(text) > width:
            yield f"\n{indent}"
            column = len(indent)
        else:
            yield " "
            column += 1
        yield text
        column += len(text)
