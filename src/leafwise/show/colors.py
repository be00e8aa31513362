"""The colours of changes, in every format, and colours in a terminal.

A terminal shows colours unless `NO_COLOR` or `FORCE_COLOR` says otherwise.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Final, NamedTuple


__all__ = ["LOOKS", "WHEN", "Look", "Paint", "terminal_width"]

WHEN: Final = ("auto", "always", "never")


class Look(NamedTuple):
    """How a kind of change looks.

    Attributes:
        word: Its name in classes of CSS and Mermaid.
        code: Its colour in a terminal.
        light, dark: Its colours on a light and on a dark page.
    """

    word: str
    code: str
    light: str
    dark: str


LOOKS: Final = {
    "+": Look("added", "32", "#1a7f37", "#3fb950"),
    "-": Look("removed", "31", "#cf222e", "#f85149"),
    "~": Look("changed", "33", "#9a6700", "#d29922"),
    "!": Look("retyped", "35", "#8250df", "#a371f7"),
    ">": Look("moved", "34", "#0969da", "#4493f8"),
}
"""The looks of changes, by their signs."""

_CODES: Final = {
    "path": "36",
    "dim": "2",
    **{sign: look.code for sign, look in LOOKS.items()},
}


class Paint:
    r"""Adds colour to text, or leaves it as it is.

    Args:
        when: `"always"`, `"never"`, or `"auto"`: as `NO_COLOR` and `FORCE_COLOR` say,
            else if the text goes to a terminal.
        out: The file that it is written to; None for the standard output.

    Raises:
        ValueError: `when` is another word.

    Example:
        >>> from leafwise.show.colors import Paint
        >>> Paint("always")("new", "+"), Paint("never")("new", "+")
        ('\x1b[32mnew\x1b[0m', 'new')
    """

    def __init__(self, when: str = "auto", out: Any = None) -> None:
        if when not in WHEN:
            raise ValueError(f"color must be one of {', '.join(WHEN)}, not {when!r}")
        self.is_on: bool = when == "always"
        if when == "auto":
            self.is_on = _shows_colours(out)

    def __call__(self, text: str, colour: str) -> str:
        """Return text in a colour: `path`, `dim`, or the sign of a change."""
        if not self.is_on:
            return text
        return f"\033[{_CODES[colour]}m{text}\033[0m"


def _shows_colours(out: Any) -> bool:
    # empty variables count as unset, see no-color.org
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
        if not out.isatty():
            return None
        width = os.get_terminal_size(out.fileno()).columns
    except (AttributeError, OSError, ValueError):  # it only has `write`, or is closed
        return None
    return width or None  # some terminals say 0
