"""The colours of changes, in every format, and colours in a terminal.

Owns the table of signs, when a terminal shows colours, and how wide it is.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Final, NamedTuple


__all__ = ["SIGNS", "WHEN", "Paint", "Sign", "terminal_width"]

WHEN: Final = ("auto", "always", "never")


class Sign(NamedTuple):
    """How a kind of change is marked.

    Attributes:
        word: Its name in classes of CSS and Mermaid.
        code: Its colour in a terminal.
        light, dark: Its colours on a light and on a dark page.
    """

    word: str
    code: str
    light: str
    dark: str


SIGNS: Final = {
    "+": Sign("added", "32", "#1a7f37", "#3fb950"),
    "-": Sign("removed", "31", "#cf222e", "#f85149"),
    "~": Sign("changed", "33", "#9a6700", "#d29922"),
    "!": Sign("retyped", "35", "#8250df", "#a371f7"),
    ">": Sign("moved", "34", "#0969da", "#4493f8"),
}
_CODES: Final = {"path": "36", "dim": "2"} | {s: SIGNS[s].code for s in SIGNS}


class Paint:
    r"""Adds colour to text, if it is wanted.

    Args:
        when: `"always"`, `"never"`, or `"auto"`: as `NO_COLOR` and `FORCE_COLOR` say,
            else if the text goes to a terminal.
        out: Where it goes, if not to the standard output.

    Raises:
        ValueError: It is another word.

    Example:
        >>> from leafwise.show.colors import Paint
        >>> Paint("always")("new", "+"), Paint("never")("new", "+")
        ('\x1b[32mnew\x1b[0m', 'new')
    """

    def __init__(self, when: str = "auto", out: Any = None) -> None:
        if when not in WHEN:
            raise ValueError(f"color must be one of {', '.join(WHEN)}, not {when!r}")
        self.is_on: bool = when == "always" or (when == "auto" and _is_wanted(out))

    def __call__(self, text: str, colour: str) -> str:
        """Return text in a colour: `path`, `dim`, or the sign of a change."""
        return f"\033[{_CODES[colour]}m{text}\033[0m" if self.is_on else text


def _is_wanted(out: Any) -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    out = sys.stdout if out is None else out
    try:
        return out is not None and out.isatty() and os.environ.get("TERM") != "dumb"
    except (AttributeError, ValueError):  # it only has `write`, or is closed
        return False


def terminal_width(out: Any) -> int | None:
    """Return how many columns a terminal has, None if the text does not go to one.

    Args:
        out: Where the text goes.

    Example:
        >>> import io
        >>> from leafwise.show.colors import terminal_width
        >>> terminal_width(io.StringIO()) is None
        True
    """
    try:
        return (out.isatty() and os.get_terminal_size(out.fileno()).columns) or None
    except (AttributeError, OSError, ValueError):  # it only has `write`, or is closed
        return None
