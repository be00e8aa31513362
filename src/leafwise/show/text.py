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
    return len(text) if text.isascii() else sum(map(_column, text))


def _column(letter: str) -> int:
    if unicodedata.combining(letter) or unicodedata.category(letter) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def clipped(text: str, width: int) -> str:
    """Return a text shortened to a number of columns.

    Example:
        >>> from leafwise.show.text import clipped
        >>> clipped("transformer", 8), clipped("学習率", 5)
        ('transfo…', '学習…')
    """
    if len(text) <= width and columns(text) <= width:
        return text
    used = 0
    for place, letter in enumerate(text):
        used += _column(letter)
        if used >= width and (used > width or text[place + 1 :]):
            return f"{text[:place]}…"
    return text


def branches_of(depths: Sequence[int]) -> list[str]:
    """Return the branch characters for each line of a tree, from the last line up.

    Example:
        >>> from leafwise.show.text import branches_of
        >>> branches_of([0, 1, 2, 1])
        ['', '├── ', '│   └── ', '└── ']
    """
    branches: list[str] = []
    later: set[int] = set()  # the depths at which a line is still to come
    for depth in reversed(depths):
        later = {other for other in later if other <= depth}
        bars = ["│   " if other in later else "    " for other in range(1, depth)]
        tip = "" if not depth else "├── " if depth in later else "└── "
        branches.append("".join([*bars, tip]))
        later.add(depth)
    return branches[::-1]


_UNITS: Final = ("kB", "MB", "GB", "TB", "PB")


def leaves_text(number: int) -> str:
    """Return the number of leaves as text: `1 leaf`, `2,000 leaves`."""
    return f"{number:,} {'leaf' if number == 1 else 'leaves'}"


def bytes_text(size: int) -> str:
    """Return a number of bytes in a suitable unit.

    Example:
        >>> from leafwise.show.text import bytes_text
        >>> bytes_text(512), bytes_text(262144), bytes_text(7_000_000_000)
        ('512 B', '262.1 kB', '7.0 GB')
    """
    if size < 1000:
        return f"{size} B"
    place = min((len(str(size)) - 1) // 3, len(_UNITS))
    tenths = (size * 10 + 1000**place // 2) // 1000**place  # it may be past all floats
    return f"{tenths // 10:,}.{tenths % 10} {_UNITS[place - 1]}"
