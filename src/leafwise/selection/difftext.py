"""Differences as lines of text, in colour if that is wanted.

Owns how a change is printed: a line that begins with its sign and the key path, and
below it, indented, where arrays, texts and sets differ; and the same in two columns,
for what shows old and new side by side. What values contain is escaped, so that it is
never mistaken for lines or colours. What differs is found elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from ..equality.content import is_array, is_readable, is_table
from ..equality.leaves import contrast, type_names
from ..paint import Paint
from ..safely import FAULTS, clip, printable, printed, shown, type_name
from .difference import (
    ArrayDifference,
    Place,
    SetDifference,
    TextDifference,
    form_of,
)


if TYPE_CHECKING:
    from .change import Change


SIGNS: Final = {
    "added": "+",
    "removed": "-",
    "moved": ">",
    "type": "!",
    "aux": "~",
    "value": "~",
}
_WORDS: Final = {"added", "removed", "moved"}
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
    sorts = [change.kind if change.kind in _WORDS else "changed" for change in diff]
    words = "changed", "added", "removed", "moved"
    counts = {word: sorts.count(word) for word in words}
    told = ", ".join(f"{number} {word}" for word, number in counts.items() if number)
    which = "" if len(diff) in counts.values() else f": {told}"
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
    kind, sign = change.kind, SIGNS[change.kind]
    where = printable(change.path.where())
    start = f"{paint(sign, sign)} {paint(where, 'path')}: "
    if kind == "moved":
        start = f"{start[:-2]} -> {paint(f'[{change.index}]', 'path')}: "
    if kind in _WORDS:
        value = change.before if kind == "removed" else change.after
        return [f"{start}{paint(_brief(value), sign)}"]
    try:
        first, *rest = _difference(change, paint)
    except FAULTS:  # a class that only looks like one of those known here
        first, rest = _arrow((clip(change.before), clip(change.after)), paint), []
    return [f"{start}{first}", *(f"{_INDENT}{line}" for line in rest)]


def _difference(change: Change, paint: Paint) -> list[str]:
    """Return what there is to say about two values, and the lines below it."""
    before, after = change.before, change.after
    if not _needs_detail(before, after):
        return [_from_to(before, after, paint)]
    match change.detail():
        case ArrayDifference() as found:
            return _of_arrays(before, after, found, paint)
        case TextDifference() as found:
            return _of_texts(before, after, found, paint)
        case SetDifference() as found:
            return _of_sets(before, after, found, paint)
    return [_from_to(before, after, paint)]


def _needs_detail(before: Any, after: Any) -> bool:
    """Return whether the texts of two values do not show how they differ."""
    if _is_many(before) and _is_many(after):
        return True
    texts = _whole(before), _whole(after)
    if texts[0] != texts[1] and None not in texts:
        return False
    if isinstance(before, _SHOWN_BY_PLACE) and isinstance(after, _SHOWN_BY_PLACE):
        return True
    return clip(before) == clip(after) and type(before) is type(after)


_SHOWN_BY_PLACE: Final = (str, bytes, set, frozenset)


def _whole(value: Any) -> str | None:
    """Return the text of a value if it is short, else None."""
    if (isinstance(value, _SHOWN_BY_PLACE) or _is_many(value)) and _size(
        value
    ) > _SHORT:
        return None
    text = shown(value)
    return text if text == clip(value) else None


def _is_many(value: Any) -> bool:
    """Return whether a value is an array with dimensions, and has elements."""
    is_plain = is_array(value) and not is_table(value) and is_readable(value)
    return is_plain and len(value.shape) > 0


def _size(value: Any) -> int:
    return math.prod(value.shape) if is_array(value) else len(value)


def _brief(value: Any) -> str:
    """Return the text of a value, or what an array is if its text is not short."""
    try:
        is_many = _is_many(value)
        text = _whole(value) if is_many else clip(value)
        return str(form_of(value)) if text is None else text
    except FAULTS:  # it only looks like an array
        return clip(value)


def _arrow(texts: Sequence[str], paint: Paint, labels: Sequence[str] = ()) -> str:
    """Return two texts with an arrow between them, and what else each of them is."""
    said = [paint(text, sign) for text, sign in zip(texts, "-+", strict=True)]
    if labels:
        said = [f"{text} ({label})" for text, label in zip(said, labels, strict=True)]
    return " -> ".join(said)


def _from_to(before: Any, after: Any, paint: Paint) -> str:
    """Return the text of two values that differ, and how, if the texts are equal."""
    texts = _brief(before), _brief(after)
    labels = _labels(before, after, texts)
    if isinstance(labels, str):
        return _arrow(texts, paint) + (f" ({printable(labels)})" if labels else "")
    return _arrow(texts, paint, [*map(printable, labels)])


def _labels(before: Any, after: Any, texts: tuple[str, str]) -> Sequence[str]:
    """Return what else to say of two values: one text about both, or one of each."""
    if texts[0] == texts[1]:
        return contrast(before, after)
    same = type(before) is type(after)
    return "" if same else type_names(type(before), type(after))


# --------------------------------------------------------------------------- arrays


def _of_arrays(
    before: Any, after: Any, found: ArrayDifference, paint: Paint
) -> list[str]:
    if not found.before.shape and found.places:
        return [_elements(found.places[0], paint)]
    rest = len(found.places) and (found.differing or 0) - len(found.places)
    told = _summary(found)
    return [
        _forms(before, after, found, paint) + (f", {told}" if told else ""),
        *(
            f"{paint(str([*place.at]), 'path')}: {_elements(place, paint)}"
            for place in found.places
        ),
        *([paint(f"and {rest} more", "dim")] if rest else []),
    ]


def _forms(before: Any, after: Any, found: ArrayDifference, paint: Paint) -> str:
    """Return what two arrays are: once, if they are the same in this."""
    forms = str(found.before), str(found.after)
    if forms[0] == forms[1]:
        if type(before) is type(after):
            return forms[0]
        return _arrow(forms, paint, type_names(type(before), type(after)))
    if found.differing is None:
        texts = _whole(before), _whole(after)
        if texts[0] is not None and texts[1] is not None:
            return _arrow((texts[0], texts[1]), paint, forms)
    return _arrow(forms, paint)


def _summary(found: ArrayDifference) -> str:
    """Return at how many places arrays differ, and by how much at most."""
    if found.differing is None:
        return printable(found.why)
    if not found.differing:
        return "with the same values" * (found.size > 0)
    told = f"{found.differing} of {counted(found.size, 'place')} "
    told += "differs" if found.differing == 1 else "differ"
    errors = []
    if found.absolute is not None:
        absolute, relative = found.absolute, found.relative
        size = str(absolute) if isinstance(absolute, int) else f"{absolute:.6g}"
        is_shown = found.at in [None, *(place.at for place in found.places)]
        where = "" if is_shown else f" at {[*(found.at or ())]}"
        errors += [f"largest error {size}{where}", f"relative {relative:.3g}"]
    if found.not_finite:
        errors.append(f"{found.not_finite} with NaN or infinity")
    return f"{told}: {', '.join(errors)}" if errors else told


def _elements(place: Place, paint: Paint) -> str:
    """Return both elements of a place."""
    texts = _both(place)
    # equal texts: NaN that is not to be the same as NaN, or objects
    if texts[0] != texts[1] or hasattr(place.before, "dtype"):
        return _arrow(texts, paint)
    return _from_to(place.before, place.after, paint)


def _both(place: Place) -> tuple[str, str]:
    """Return both elements, as exactly as it takes to tell them apart."""
    texts = _element(place.before), _element(place.after)
    if texts[0] != texts[1]:
        return texts
    return _exactly(place.before), _exactly(place.after)


def _element(value: Any) -> str:
    """Return an element of an array, without the name of its type."""
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        return clip(value)
    if getattr(dtype, "kind", "") in ("S", "U") or getattr(dtype, "names", None):
        return _exactly(value)
    line = " ".join(printed(value).split())
    return printable(line) if len(line) <= _SHORT else clip(value)


def _exactly(value: Any) -> str:
    """Return an element as an object of Python."""
    try:
        return clip(value.item())
    except FAULTS:  # it has no such form
        return clip(value)


# --------------------------------------------------------------------- texts and sets


def _of_texts(
    before: Any, after: Any, found: TextDifference, paint: Paint
) -> list[str]:
    what, place = found.what, _start_of(found)
    if isinstance(before, str | bytes):
        sizes = str(found.sizes[0])
        if found.sizes[0] != found.sizes[1]:
            sizes = _arrow([*map(str, found.sizes)], paint)
        said = f"{sizes} {what}s, which differ from {place} on"
    else:
        said = f"{clip(before)}, of which the texts differ from {place} on"
    sides = (("-", found.before), ("+", found.after))
    return [said, *(paint(f"{sign} {text}", sign) for sign, text in sides)]


def _start_of(found: TextDifference) -> str:
    """Return where two texts begin to differ."""
    place = f"{found.what} {found.position + 1}"
    if found.line > 1:
        place += f" (line {found.line}, column {found.column})"
    return place


def _of_sets(before: Any, after: Any, found: SetDifference, paint: Paint) -> list[str]:
    sides = (("-", "removed", found.removed), ("+", "added", found.added))
    names = type_name(before), type_name(after)
    sizes = f"{names[0]} of {found.before}", f"{names[1]} of {found.after}"
    counts = [f"{len(items)} {word}" for _, word, items in sides if items]
    lines = [f"{_arrow(sizes, paint)} items, {', '.join(counts)}"]
    for sign, _, items in sides:
        lines += [paint(f"{sign} {clip(item)}", sign) for item in items[:_ITEMS]]
        if len(items) > _ITEMS:
            lines.append(paint(f"{sign} and {len(items) - _ITEMS} more", "dim"))
    return lines


# --------------------------------------------------------------------- side by side


Line: TypeAlias = tuple[str, str | None, str | None]
"""Where it is, the old text, the new one; None on the side that has none."""


class Sides(NamedTuple):
    """A change with the old and the new value side by side.

    Attributes:
        note: A note about both values, "" if there is none.
        lines: The texts of both, line by line.
    """

    note: str
    lines: list[Line]


def sides_of(change: Change) -> Sides:
    """Return a change with the old and the new value side by side. Never raises.

    Args:
        change: The change.

    Example:
        >>> import leafwise as lw
        >>> from leafwise.selection.difftext import sides_of
        >>> sides_of(lw.tree_diff({"s": {1, 2}}, {"s": {2, 3}})[0]).lines
        [('', '{1, 2}', '{2, 3}')]
    """
    before, after = change.before, change.after
    if change.kind == "added":
        return Sides("", [("", None, _brief(after))])
    if change.kind == "removed":
        return Sides("", [("", _brief(before), None)])
    if change.kind == "moved":
        return Sides(f"to [{change.index}]", [("", _brief(before), _brief(after))])
    try:
        return _sides(change)
    except FAULTS:  # a class that only looks like one of those known here
        return Sides("", [("", clip(before), clip(after))])


def _sides(change: Change) -> Sides:
    before, after = change.before, change.after
    if _needs_detail(before, after):
        match change.detail():
            case ArrayDifference() as found:
                return _sides_of_arrays(before, after, found)
            case TextDifference() as found:
                note = f"differ from {_start_of(found)} on"
                return Sides(note, [("", found.before, found.after)])
            case SetDifference() as found:
                return _sides_of_sets(found)
    texts = _brief(before), _brief(after)
    labels = _labels(before, after, texts)
    if isinstance(labels, str):
        return Sides(printable(labels), [("", *texts)])
    old, new = map(printable, labels)
    return Sides("", [("", *texts), ("type", old, new)])


def _sides_of_arrays(before: Any, after: Any, found: ArrayDifference) -> Sides:
    if not found.before.shape and found.places:
        return Sides("", [("", *_both(found.places[0]))])
    lines: list[Line] = [("", str(found.before), str(found.after))]
    if type(before) is not type(after):
        old, new = type_names(type(before), type(after))
        lines.append(("type", printable(old), printable(new)))
    lines += [(str([*place.at]), *_both(place)) for place in found.places]
    rest = len(found.places) and (found.differing or 0) - len(found.places)
    note = _summary(found)
    return Sides(note + f" (and {rest} more places)" * (rest > 0), lines)


def _sides_of_sets(found: SetDifference) -> Sides:
    lines: list[Line] = [("size", str(found.before), str(found.after))]
    sides = [[clip(item) for item in items[:_ITEMS]] for items in found[2:]]
    lines += [("", old, new) for old, new in zip_longest(*sides)]
    for place, items in enumerate(found[2:]):
        if len(items) > _ITEMS:
            rest: list[str | None] = [None, None]
            rest[place] = f"and {len(items) - _ITEMS} more"
            lines.append(("", rest[0], rest[1]))
    return Sides("", lines)
