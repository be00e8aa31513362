"""Texts of drawings: how wide they are, and numbers in words.

Every format of this package shortens texts here.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Final


def columns(text: str) -> int:
    """Return the width of a text in columns: two for wide letters, none for marks.

    Example:
        >>> from leafwise.show.text import columns
        >>> columns("lr"), columns("学習"), columns("e\u0301")
        (2, 4, 1)
    """
    if text.isascii():
        return len(text)
    return sum(_columns_of(letter) for letter in text)


def _columns_of(letter: str) -> int:
    """Return the width of one letter."""
    # marks stand over the letter before them; some have no combining class
    is_mark = unicodedata.category(letter) in ("Mn", "Me")
    if is_mark or unicodedata.combining(letter):
        return 0
    if unicodedata.east_asian_width(letter) in ("W", "F"):
        return 2
    return 1


def clipped(text: str, width: int) -> str:
    """Return a text shortened to a number of columns.

    Example:
        >>> from leafwise.show.text import clipped
        >>> clipped("transformer", 8), clipped("学習率", 5)
        ('transfo…', '学習…')
    """
    # first the length: a text may have millions of letters
    if len(text) <= width and columns(text) <= width:
        return text
    used = 0
    for place, letter in enumerate(text):
        used += _columns_of(letter)
        is_last = place == len(text) - 1
        if used > width or (used == width and not is_last):
            return f"{text[:place]}…"
    return text  # its marks have no width


def branches_of(depths: Sequence[int]) -> list[str]:
    """Return the branch characters for each line of a tree.

    Example:
        >>> from leafwise.show.text import branches_of
        >>> branches_of([0, 1, 2, 1])
        ['', '├── ', '│   └── ', '└── ']
    """
    branches: list[str] = []
    later: set[int] = set()  # the depths at which a line is still to come
    # from the last line up, so that a line knows what follows it
    for depth in reversed(depths):
        later = {other for other in later if other <= depth}
        parts = ["│   " if other in later else "    " for other in range(1, depth)]
        if depth:
            parts.append("├── " if depth in later else "└── ")
        branches.append("".join(parts))
        later.add(depth)
    return branches[::-1]


def leaves_text(number: int) -> str:
    """Return the number of leaves as text: `1 leaf`, `2,000 leaves`."""
    return f"{number:,} {'leaf' if number == 1 else 'leaves'}"


_UNITS: Final = ("B", "kB", "MB", "GB", "TB", "PB")


def bytes_text(size: int) -> str:
    """Return a number of bytes in a suitable unit.

    Example:
        >>> from leafwise.show.text import bytes_text
        >>> bytes_text(512), bytes_text(262144), bytes_text(7_000_000_000)
        ('512 B', '262.1 kB', '7.0 GB')
    """
    if size < 1000:
        return f"{size} B"
    place = min((len(str(size)) - 1) // 3, len(_UNITS) - 1)
    unit = 1000**place
    # by integers: the number may be larger than any float
    tenths = (size * 10 + unit // 2) // unit
    return f"{tenths // 10:,}.{tenths % 10} {_UNITS[place]}"
