"""Colours, on a terminal only.

Owns when to paint: as `--color` says, else as `NO_COLOR`, `FORCE_COLOR` and the
standard output do.
"""

from __future__ import annotations

import os
import sys
from typing import Final


__all__ = ["Paint"]

_CODES: Final = {"path": "36", "+": "32", "-": "31", "~": "33", "!": "35", "dim": "2"}


class Paint:
    """Adds colour to text, if it is wanted.

    Args:
        when: `"always"`, `"never"`, or `"auto"`.
    """

    def __init__(self, when: str = "auto") -> None:
        self.is_on = when == "always" or (when == "auto" and _is_wanted())

    def __call__(self, text: str, colour: str) -> str:
        """Return text in a colour: `path`, `dim`, or the sign of a change."""
        return f"\033[{_CODES[colour]}m{text}\033[0m" if self.is_on else text


def _is_wanted() -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    out = sys.stdout
    return out is not None and out.isatty() and os.environ.get("TERM") != "dumb"
