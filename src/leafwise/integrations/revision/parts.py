"""What a text is made of: where its values and their entries stand.

Owns the spans that the formats' readers fill in, which old entry becomes which new one,
and when two values are the same. Knows no format.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from ...ops.context import context_of
from ...selection.align import Numbering, Row, aligned, filled, rows_of


__all__ = ["ALIAS", "BLOCK", "FLOW", "LEAF", "Entry", "Part", "Step", "Unkept"]
__all__ += ["Made", "fits", "same", "steps"]

LEAF: Final = "leaf"
"""A scalar, or what is replaced as a whole."""
FLOW: Final = "flow"
"""Entries between brackets, with commas between them."""
BLOCK: Final = "block"
"""Entries on lines of their own, at one column."""
ALIAS: Final = "alias"
"""The name of a value that stands elsewhere."""


Made = tuple[str, Any, bool]
"""A text, what it should read as, and whether the form is kept."""


class Unkept(Exception):
    """The form cannot be kept here."""


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


def same(a: Any, b: Any) -> bool:
    """Return whether two plain values are the same, types and all; NaN is itself."""
    pairs = [(a, b)]
    while pairs:
        a, b = pairs.pop()
        if a is b:
            continue
        if type(a) is not type(b):
            return False
        if type(a) is dict:
            if a.keys() != b.keys():
                return False
            pairs += [(value, b[key]) for key, value in a.items()]
        elif type(a) is list:
            if len(a) != len(b):
                return False
            pairs += zip(a, b, strict=True)
        elif a != b and (a == a or b == b):
            return False
    return True


def fits(part: Part, new: Any) -> bool:
    """Return whether a value can be written by changes of the entries of a part."""
    if part.kind not in (FLOW, BLOCK):
        return False
    return type(new) is (list if part.is_list else dict) and bool(
        new or part.kind is FLOW
    )


Step = tuple[int | None, Any]
"""The index of an old entry, None for a new one; and its new key, `GONE` for none."""
GONE: Final = object()


def steps(part: Part, old: Any, new: Any) -> list[Step]:
    """Return what becomes of the entries of a part, and which are new, in order."""
    if part.is_list:
        return [*_of_lists(old, new)]
    return _of_dicts(part, old, new)


def _of_dicts(part: Part, old: Any, new: Any) -> list[Step]:
    known = [entry.key for entry in part.entries if not entry.is_merge]
    own = {*known}
    added = [key for key in new if key not in own]
    if len(own) < len(old):  # some are merged into it
        added = [key for key in added if key not in old or not same(old[key], new[key])]
    renamed = _renamed(known, old, new, added)
    after: dict[Any, list[Any]] = {}
    before, fresh = GONE, {*added} - {*renamed.values()}
    late = [key for key in added if key in old]  # over what is merged into it
    fresh -= {*late}
    for key in new:
        if key in fresh:
            after.setdefault(before, []).append(key)
        elif key in own:
            before = key
        else:
            before = next((a for a, b in renamed.items() if b == key), before)
    found: list[Step] = [(None, key) for key in after.get(GONE, ())]
    for index, entry in enumerate(part.entries):
        name = entry.key
        if entry.is_merge:
            found.append((index, None))
            continue
        found.append((index, name if name in new else renamed.get(name, GONE)))
        found += [(None, key) for key in after.get(name, ())]
    return [*found, *((None, key) for key in late)]


def _renamed(known: list[Any], old: Any, new: Any, added: list[Any]) -> dict[Any, Any]:
    """Return new names by old ones: the same value, between the same neighbours."""
    gone = {key for key in known if key not in new}
    if not gone or not added:
        return {}
    stays = {key for key in known if key in new}
    follows = _predecessors(new, stays)
    found: dict[Any, Any] = {}
    for name, before in _predecessors(known, stays).items():
        for key in added:
            if (
                name in gone
                and key not in found.values()
                and follows[key] == before
                and same(old[name], new[key])
            ):
                found[name] = key
                break
    return found


def _predecessors(keys: Any, stays: set[Any]) -> dict[Any, Any]:
    """Return for each key the nearest one before it that stays."""
    before, found = GONE, {}
    for key in keys:
        found[key] = before
        before = key if key in stays else before
    return found


def _of_lists(old: list[Any], new: list[Any]) -> Iterator[Step]:
    start = _alike(old, new)
    end = _alike([*reversed(old[start:])], [*reversed(new[start:])])
    yield from ((n, n) for n in range(start))
    rest = old[start : len(old) - end], new[start : len(new) - end]
    for row in _rows(*rest):
        before, after, _ = row.beyond(start)
        yield before if before >= 0 else None, after if after >= 0 else GONE
    yield from ((len(old) - n, len(new) - n) for n in range(end, 0, -1))


def _alike(old: list[Any], new: list[Any]) -> int:
    """Return how many items are the same from the start on."""
    pairs = enumerate(zip(old, new, strict=False))
    least = min(len(old), len(new))
    return next((n for n, (x, y) in pairs if not same(x, y)), least)


def _rows(old: list[Any], new: list[Any]) -> Iterator[Row]:
    """Yield the items of two lists that differ at both ends, in the order of both."""
    sizes = len(old), len(new)
    numbering = Numbering(context_of())
    kept: list[tuple[int, int]] = []
    if min(sizes) > 0 and max(sizes) > 1:  # else there is nothing to find
        kept, _ = aligned([*map(numbering.of, old)], [*map(numbering.of, new)])
    pairs = filled(
        sizes, kept, [], lambda side, n: numbering.parts((old, new)[side][n])
    )
    return rows_of(sizes, pairs, [])
