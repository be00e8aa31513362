"""Differences as lines of text, in colour if that is wanted.

Owns what there is to say of a change (`told`): the old and the new text, a note, and
below them rows of places at which arrays, texts and sets differ; and how that is
printed, as a line that begins with its sign and the key path, and indented lines. What
values contain is escaped, so that it is never mistaken for lines or colours. What
differs is found elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
    before, after, kind = change.before, change.after, change.kind
    old, new = _brief(before), _brief(after)
    if kind in _WORDS:
        sides = None if kind == "added" else old, None if kind == "removed" else new
        return Told([("", *sides)])
    is_clear = old == shown(before) != new == shown(after)
    if not is_clear or (_is_many(before) and _is_many(after)):
        match change.detail():
            case ArrayDifference() as found:
                return _of_arrays(before, after, found)
            case TextDifference() as found:
                return _of_texts(before, after, found)
            case SetDifference() as found:
                return _of_sets(before, after, found)
    return Told([("", *_labelled(before, after, old, new))])


def _labelled(before: Any, after: Any, old: str, new: str) -> tuple[str, str]:
    """Return the texts of two values, and what else tells them apart."""
    labels: Any = ("", "")
    if type(before) is not type(after):
        labels = type_names(type(before), type(after))
    if old == new:
        labels = contrast(before, after)
    if isinstance(labels, str):
        return old, f"{new} ({printable(labels)})"
    marks = [f" ({printable(label)})" if label else "" for label in labels]
    return old + marks[0], new + marks[1]


def _is_many(value: Any) -> bool:
    """Return whether a value is an array with dimensions, and has elements."""
    try:
        is_plain = is_array(value) and not is_table(value) and is_readable(value)
        return is_plain and len(value.shape) > 0
    except FAULTS:  # it only looks like an array
        return False


def _brief(value: Any) -> str:
    """Return the text of a value, or what an array is if its text is not short."""
    text = clip(value)
    return str(form_of(value)) if _is_many(value) and text != shown(value) else text


def _of_arrays(before: Any, after: Any, found: ArrayDifference) -> Told:
    forms = str(found.before), str(found.after)
    if type(before) is not type(after):
        forms = _labelled(before, after, *forms)
    rows: list[Row] = [("", *forms)]
    for place in found.places:
        texts = printed(place.before), printed(place.after)
        if texts[0] == texts[1] or isinstance(place.before, str | bytes):
            texts = clip(place.before.item()), clip(place.after.item())
        rows.append((str([*place.at]), *texts))
    if not found.differing:
        is_same = found.differing == 0 and found.size > 0
        return Told(rows, "with the same values" if is_same else found.why)
    note = f"{found.differing} of {counted(found.size, 'place')} "
    note += "differs" if found.differing == 1 else "differ"
    errors = []
    if found.absolute is not None:
        size, at = found.absolute, found.at or ()
        said = str(size) if isinstance(size, int) else f"{size:.6g}"
        where = "" if at in [place.at for place in found.places] else f" at {[*at]}"
        errors = [f"largest error {said}{where}", f"relative {found.relative:.3g}"]
    if found.not_finite:
        errors.append(f"{found.not_finite} with NaN or infinity")
    note += f": {', '.join(errors)}" if errors else ""
    return Told(rows, note, found.differing - len(found.places))


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
    names = [f"{type_name(x)} of {len(x)}" for x in (before, after)]
    note, columns = [], []
    for word, items in (("removed", found.removed), ("added", found.added)):
        texts = [clip(item) for item in items[:_ITEMS]]
        if len(items) > _ITEMS:
            texts.append(f"and {len(items) - _ITEMS} more")
        note += [f"{len(items)} {word}"] if items else []
        columns.append(texts)
    rows = [("", old, new) for old, new in zip_longest(*columns)]
    return Told([("", names[0], names[1]), *rows], ", ".join(note))
