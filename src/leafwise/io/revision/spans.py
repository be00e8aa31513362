"""Where the values and the entries of a YAML or JSON text are."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Final, NamedTuple


__all__ = ["ALIAS", "BLOCK", "FLOW", "LEAF", "Entry", "Part", "fits"]

LEAF: Final = "leaf"
"""A scalar, or what is replaced as a whole."""
FLOW: Final = "flow"
"""Entries between brackets, with commas between them."""
BLOCK: Final = "block"
"""Entries on lines of their own, at one column."""
ALIAS: Final = "alias"
"""The name of a value that stands elsewhere."""


class Entry(NamedTuple):
    """An item of a list or a pair of a mapping.

    Attributes:
        key: The key in a dict; None in a list, and for what is merged into a dict.
        start: Where it begins: in a block, with the comments directly above it.
        head: Where the key, the dash or, in a flow, the item begins.
        after: Where the colon or the dash ends; in a flow list, where the item begins.
        value: The value.
        end: Where it ends: in a block, with its last line.
        is_merge: Whether it is what YAML writes as `<<`.
    """

    key: Hashable
    start: int
    head: int
    after: int
    value: Part
    end: int
    is_merge: bool = False


class Part(NamedTuple):
    """A value in a text.

    Attributes:
        kind: `LEAF`, `FLOW`, `BLOCK` or `ALIAS`.
        start, end: Its span. That of a block has whole lines, but for the first line
            where the block begins behind a dash.
        entries: Those of a collection.
        is_list: Whether it is a list.
        column: That of a block.
        bare: Where its own text begins, behind an anchor.
        target: What an alias stands for.
    """

    kind: str
    start: int
    end: int
    entries: Sequence[Entry] = ()
    is_list: bool = False
    column: int = 0
    bare: int = -1
    target: Part | None = None


def fits(part: Part, new: Any) -> bool:
    """Return whether a value can be written by changes of the entries of a part."""
    if part.kind not in (FLOW, BLOCK):
        return False
    return type(new) is (list if part.is_list else dict) and bool(
        new or part.kind is FLOW
    )
