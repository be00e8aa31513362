"""`MISSING`: the one sentinel that the package shares.

Owns that object and its type; it imports nothing of leafwise.
"""

from __future__ import annotations

import enum
from typing import Final, Literal


__all__ = ["MISSING", "Missing"]


class Missing(enum.Enum):
    """The type of `MISSING`, which means that no value was given.

    Example:
        >>> from leafwise.sentinel import MISSING
        >>> MISSING, bool(MISSING)
        (MISSING, False)
    """

    MISSING = "MISSING"

    def __repr__(self) -> str:
        return "MISSING"

    def __bool__(self) -> Literal[False]:
        return False


MISSING: Final = Missing.MISSING
"""Stands for "not given" where None is a value like any other."""
