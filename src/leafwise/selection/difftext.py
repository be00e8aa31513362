"""Differences as lines of text, in colour if that is wanted.

Owns what there is to say of a change (`told`): the old and the new text, a note, and
below them rows of places at which arrays, texts and sets differ; and how that is
printed, as a line that begins with its sign and the key path, and indented lines. What
values contain is escaped, so that it is never mistaken for lines or colours. What
differs is found elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from ..equality.content import is_array, is_readable, is_table
from ..equality.leaves import contrast, type_names
from ..paint import Paint
from ..safely import FAULTS, clip, printable, printed, shown, type_name
from .difference import ArrayDifference, SetDifference, TextDifference, form_of


if TYPE_CHECKING:
    from .diff import Change


SIGNS: Final = {
    "added": "+",
    "removed": "-",
    "moved": ">",
    "type": "!",
    "aux": "~",
    "value": "~",
}
_WORDS: Final = "changed", "added", "removed", "moved"
_INDENT: Final = "    "
_SHORT: Final = 60
_ITEMS: Final = 3


def counted(number: int, noun: str) -> str:
    """Return a number of things.

    Example:
        >>> from leafwise.selection.difftext import counted
        >>> counted(1, "place"), counted(2, "place")
        ('1 place', '2 places')
    """
    return f"{number} {noun}{'s' * (number != 1)}"


def headline(diff: Sequence[Change], sides: str = "actual -> expected") -> str:
    """Return the text of an error about two trees, up to the differences."""
    kinds = [c.kind if c.kind in _WORDS else "changed" for c in diff]
    counts = {word: kinds.count(word) for word in _WORDS}
    parts = ", ".join(f"{number} {word}" for word, number in counts.items() if number)
    which = "" if len(diff) in counts.values() else f": {parts}"
    return f"the trees differ in {counted(len(diff), 'place')}{which} ({sides}):"


def lines_of_all(
    changes: Sequence[Change],
    paint: Paint,
    most: int | None = None,
    note: Callable[[Change], str] = lambda _: "",
) -> Iterator[str]:
    """Yield the lines of changes.

    Args:
        changes: The changes.
        paint: The colours.
        most: How many of them to show, None for all.
        note: Returns what to add to the first line of a change.
    """
    for change in changes[:most]:
        first, *rest = lines_of(change, paint)
        yield f"{first}{note(change)}"
        yield from rest
    if most is not None and len(changes) > most:
        yield paint(f"and {len(changes) - most} more", "dim")


def lines_of(change: Change, paint: Paint) -> list[str]:
    """Return the lines of one change.

    Args:
        change: The change.
        paint: The colours.
    """
    sign, found = SIGNS[change.kind], told(change)
    where = paint(printable(change.path.where()), "path")
    if change.kind == "moved":
        where += f" -> {paint(f'[{change.index}]', 'path')}"
    (_, old, new), *rows = found.rows
    if change.kind in _WORDS:
        said = paint(old if new is None else new, sign)
    else:
        said = _arrow(old, new, paint) if old != new or not found.note else old
    lines = [f"{paint(sign, sign)} {where}: {said}{found.note and f', {found.note}'}"]
    for place, old, new in rows:
        if place:
            lines.append(f"{_INDENT}{paint(place, 'path')}: {_arrow(old, new, paint)}")
    for side, sign in ((1, "-"), (2, "+")):
        texts = [row[side] for row in rows if not row[0] and row[side] is not None]
        lines += [f"{_INDENT}{paint(f'{sign} {text}', sign)}" for text in texts]
    if found.more:
        lines.append(f"{_INDENT}{paint(f'and {found.more} more', 'dim')}")
    return lines


def _arrow(old: Any, new: Any, paint: Paint) -> str:
    return f"{paint(old, '-')} -> {paint(new, '+')}"


# ------------------------------------------------------------ what there is to say


Row: TypeAlias = "tuple[str, Any, Any]"
"""A place inside, "" for none; the old text, the new one; None on a side without."""


class Told(NamedTuple):
    """What there is to say of a change.

    Attributes:
        rows: The texts of the two values, and below them what differs inside.
        note: A note about both values, "" if there is none.
        more: How many places are not among the rows.
    """

    rows: list[Row]
    note: str = ""
    more: int = 0


def told(change: Change) -> Told:
    """Return what there is to say of a change. Never raises.

    Args:
        change: The change.

    Example:
        >>> import leafwise as lw
        >>> from leafwise.selection.difftext import told
        >>> told(lw.tree_diff({"s": {1, 2}}, {"s": {2, 3}})[0]).rows
        [('', '{1, 2}', '{2, 3}')]
    """
    before, after = change.before, change.after
    if change.kind in _WORDS:
        sides = ("added", None, _brief(after)), ("removed", _brief(before), None)
        rows = {kind: Told([("", old, new)]) for kind, old, new in sides}
        return rows.get(change.kind, Told([("", _brief(before), _brief(after))]))
    try:
        whole = _whole(before), _whole(after)
        is_clear = None not in whole and whole[0] != whole[1]
        if not is_clear or (_is_many(before) and _is_many(after)):
            match change.detail():
                case ArrayDifference() as found:
                    return _of_arrays(before, after, found)
                case TextDifference() as found:
                    return _of_texts(before, after, found)
                case SetDifference() as found:
                    return _of_sets(before, after, found)
        return Told([("", *_apart(before, after, _brief(before), _brief(after)))])
    except FAULTS:  # a class that only looks like one of those known here
        return Told([("", clip(before), clip(after))])


def _apart(before: Any, after: Any, old: str, new: str) -> tuple[str, str]:
    """Return the texts of two values, and what else tells them apart."""
    labels: Any = ("", "")
    if old == new:
        labels = contrast(before, after)
    elif type(before) is not type(after):
        labels = type_names(type(before), type(after))
    if isinstance(labels, str):
        return old, f"{new} ({printable(labels)})"
    marks = [f" ({printable(label)})" if label else "" for label in labels]
    return old + marks[0], new + marks[1]


def _whole(value: Any) -> str | None:
    """Return the text of a value if it is short, else None."""
    has_size = isinstance(value, str | bytes | set | frozenset)
    size = len(value) if has_size else math.prod(value.shape) if _is_many(value) else 0
    text = shown(value) if size <= _SHORT else ""
    return text if text == clip(value) else None


def _is_many(value: Any) -> bool:
    """Return whether a value is an array with dimensions, and has elements."""
    is_plain = is_array(value) and not is_table(value) and is_readable(value)
    return is_plain and len(value.shape) > 0


def _brief(value: Any) -> str:
    """Return the text of a value, or what an array is if its text is not short."""
    try:
        if _is_many(value):
            return _whole(value) or str(form_of(value))
    except FAULTS:  # it only looks like an array
        pass
    return clip(value)


def _of_arrays(before: Any, after: Any, found: ArrayDifference) -> Told:
    forms = str(found.before), str(found.after)
    if forms[0] == forms[1] and type(before) is not type(after):
        old, new = map(printable, type_names(type(before), type(after)))
        forms = f"{forms[0]} ({old})", f"{forms[1]} ({new})"
    elements = [(str([*p.at]), *_elements(p.before, p.after)) for p in found.places]
    rows: list[Row] = [("", *forms), *elements]
    if found.differing is None:
        return Told(rows, printable(found.why))
    if not found.differing:
        return Told(rows, "with the same values" * (found.size > 0))
    note = f"{found.differing} of {counted(found.size, 'place')} "
    note += "differs" if found.differing == 1 else "differ"
    errors = []
    if found.absolute is not None:
        size = found.absolute
        said = str(size) if isinstance(size, int) else f"{size:.6g}"
        is_below = found.at in [place.at for place in found.places]
        where = "" if is_below else f" at {[*(found.at or ())]}"
        errors = [f"largest error {said}{where}", f"relative {found.relative:.3g}"]
    if found.not_finite:
        errors.append(f"{found.not_finite} with NaN or infinity")
    note += f": {', '.join(errors)}" if errors else ""
    return Told(rows, note, found.differing - len(found.places))


def _elements(before: Any, after: Any) -> tuple[str, str]:
    """Return both elements of a place, as exactly as it takes to tell them apart."""
    old, new = printed(before), printed(after)
    if (
        old == new
        or max(len(old), len(new)) > _SHORT
        or issubclass(type(before), str | bytes)
    ):
        with suppress(*FAULTS):  # they are no objects of Python
            return clip(before.item()), clip(after.item())
        return clip(before), clip(after)
    return printable(" ".join(old.split())), printable(" ".join(new.split()))


def _of_texts(before: Any, after: Any, found: TextDifference) -> Told:
    place = f"{found.what} {found.position + 1}"
    if found.line > 1:
        place += f" (line {found.line}, column {found.column})"
    old, new = (counted(size, found.what) for size in found.sizes)
    if not isinstance(before, str | bytes):
        old, new = clip(before), clip(after)
    rows = [("", old, new), ("", found.before, found.after)]
    return Told(rows, f"which differ from {place} on")


def _of_sets(before: Any, after: Any, found: SetDifference) -> Told:
    sizes = zip((before, after), (found.before, found.after), strict=True)
    names = [f"{type_name(items)} of {size}" for items, size in sizes]
    note, columns = [], []
    for word, items in (("removed", found.removed), ("added", found.added)):
        texts = [clip(item) for item in items[:_ITEMS]]
        if len(items) > _ITEMS:
            texts.append(f"and {len(items) - _ITEMS} more")
        note += [f"{len(items)} {word}"] if items else []
        columns.append(texts)
    rows = [("", names[0], names[1])]
    rows += [("", old, new) for old, new in zip_longest(*columns)]
    return Told(rows, ", ".join(note))
