"""How two values differ that are known to differ: found, and put into lines of text.

Owns `difference`, which looks into arrays, texts and sets, the records of what it
finds, and what there is to say of a change (`told`): the old and the new text, a note,
and below them rows of places that differ. Printed, that is a line that begins with its
sign and the key path, and indented lines. What counts as different is asked of those
who compare, and nobody asks here before there is something to show. What values
contain is escaped, so that it is never mistaken for lines or colours.

    >>> from leafwise.selection.difference import difference
    >>> difference("a long story", "a long stone").position
    10
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from ..equality import content
from ..equality.content import Asked, is_array
from ..equality.leaves import PLAIN, contrast, type_names
from ..paint import Paint
from ..safely import FAULTS, clip, printable, printed, shown, type_name


if TYPE_CHECKING:
    from .diff import Change


FEW: Final = 3
"""How many places of an array are told, if nobody asks for more."""
_LONGEST: Final = 60
_BEFORE: Final = 20
_AROUND: Final = 60


class Form(NamedTuple):
    """The dtype and the shape of an array.

    Attributes:
        dtype: The name of the dtype, as its library says it, without `torch.`.
        shape: The lengths of its dimensions.

    Example:
        >>> from leafwise.selection import Form
        >>> print(Form("float32", (256, 3)), Form("bfloat16", ()), Form("bool", (2,)))
        f32[256,3] bf16[] bool[2]
    """

    dtype: str
    shape: tuple[int, ...]

    def __str__(self) -> str:
        short = _NUMBER.sub(r"\1", self.dtype)
        if len(short) > _LONGEST:  # fields have names and dtypes of their own
            short = f"{short[: _LONGEST - 3]}..."
        return printable(f"{short}[{','.join(map(str, self.shape))}]")


_NUMBER: Final = re.compile(r"^(bf|c|f|i|u)(?:loat|omplex|nt|int)(?=\d)")


def form_of(array: Any) -> Form:
    """Return what an array is, whatever library it is of."""
    return Form(printed(array.dtype).removeprefix("torch."), tuple(array.shape))


class Place(NamedTuple):
    """A place of two arrays at which they differ.

    Attributes:
        at: Its index.
        before: The element of the first array.
        after: The element of the second array.

    Example:
        >>> import leafwise as lw
        >>> import pytest
        >>> np = pytest.importorskip("numpy")
        >>> change = lw.tree_diff(np.array(["a", "b"]), np.array(["a", "c"]))[0]
        >>> place = change.detail().places[0]
        >>> place.at, str(place.before), str(place.after)
        ((1,), 'b', 'c')
    """

    at: tuple[int, ...]
    before: Any
    after: Any


class ArrayDifference(NamedTuple):
    """How two arrays differ.

    Errors are distances between numbers, at places that count as different and at
    which both numbers are finite.

    Attributes:
        before: What the first array is.
        after: What the second array is.
        differing: At how many places they differ; None if that cannot be said, because
            the shapes differ or the elements cannot be compared.
        places: The first of these places.
        absolute: The largest absolute error; None without one.
        relative: The largest relative error, that is `|a - b| / max(|a|, |b|)`, as a
            relative tolerance is used; None without one.
        not_finite: At how many of these places a number is NaN or infinite.
        why: Why the elements cannot be compared, "" if that goes without saying.
        at: The index of the largest absolute error; None if no error is known.

    Example:
        >>> import leafwise as lw
        >>> import pytest
        >>> np = pytest.importorskip("numpy")
        >>> change = lw.tree_diff(np.array([1, 2, 3]), np.array([1, 2, 4]))[0]
        >>> found = change.detail()
        >>> found.differing, found.size, found.absolute, found.relative
        (1, 3, 1, 0.25)
        >>> found.places[0].at
        (2,)
    """

    before: Form
    after: Form
    differing: int | None = None
    places: tuple[Place, ...] = ()
    absolute: float | None = None
    relative: float | None = None
    not_finite: int = 0
    why: str = ""
    at: tuple[int, ...] | None = None

    @property
    def size(self) -> int:
        """The number of elements of the first array."""
        return math.prod(self.before.shape)


class TextDifference(NamedTuple):
    r"""Where two texts begin to differ.

    Of other values than `str` and `bytes`, the texts are what they print.

    Attributes:
        what: What is counted: `"character"`, or `"byte"`.
        sizes: The lengths of both.
        position: How many characters are the same at the beginning.
        line: The line where they begin to differ, counted from 1.
        column: The character of that line, counted from 1.
        before: What the first one has around there, with three dots where it is cut.
        after: What the second one has around there.

    Example:
        >>> import leafwise as lw
        >>> lw.tree_diff("one\ntwo", "one\nten")[0].detail()
        ... # doctest: +NORMALIZE_WHITESPACE
        TextDifference(what='character', sizes=(7, 7), position=5, line=2, column=2,
            before="'one\\ntwo'", after="'one\\nten'")
    """

    what: str
    sizes: tuple[int, int]
    position: int
    line: int
    column: int
    before: str
    after: str


class SetDifference(NamedTuple):
    """How two sets differ.

    Attributes:
        before: How many items the first set has.
        after: How many items the second set has.
        removed: The items that only the first one has, in the order of their texts.
        added: The items that only the second one has.

    Example:
        >>> import leafwise as lw
        >>> lw.tree_diff({1, 2}, {2, 3})[0].detail()
        SetDifference(before=2, after=2, removed=(1,), added=(3,))
    """

    before: int
    after: int
    removed: tuple[Any, ...]
    added: tuple[Any, ...]


Detail: TypeAlias = ArrayDifference | TextDifference | SetDifference


def difference(
    before: Any, after: Any, asked: Asked = PLAIN, places: int = FEW
) -> Detail | None:
    """Return how two values differ that are known to differ. Never raises.

    Takes time and memory in proportion to their size.

    Args:
        before, after: The values.
        asked: What counts as different.
        places: How many places of an array to tell.

    Returns:
        A record; None if there is nothing to say but what the values are.
    """
    try:
        if is_array(before) and is_array(after):
            return _of_arrays(before, after, asked, places)
        for cls, what in ((str, "character"), (bytes, "byte")):
            if isinstance(before, cls) and isinstance(after, cls):
                return _of_texts(before, after, what)
        if isinstance(before, AbstractSet) and isinstance(after, AbstractSet):
            removed, added = (
                tuple(sorted((x for x in one if x not in other), key=shown))
                for one, other in ((before, after), (after, before))
            )
            found = SetDifference(len(before), len(after), removed, added)
            return found if removed or added else None
        texts = shown(before), shown(after)
        if type(before) is type(after) and max(map(len, texts)) > _AROUND:
            return _of_texts(*texts, "character", quoted=False)
    except FAULTS:  # what a class does that only looks like one of those known here
        pass
    return None


def _of_arrays(a: Any, b: Any, asked: Asked, places: int) -> ArrayDifference | None:
    forms = form_of(a), form_of(b)
    if forms[0].shape != forms[1].shape:
        return ArrayDifference(*forms)
    why = "which cannot be compared by element" if forms[0] == forms[1] else ""
    unknown = ArrayDifference(*forms, why=why)
    try:
        x, y = content.as_numpy(a), content.as_numpy(b)
        if any(
            content.is_masked(z) or z.dtype.hasobject or z.dtype.names for z in (x, y)
        ):
            return unknown
        differ = ~content.same_places(x, y, asked)
    except FAULTS:  # they are of two sorts, or have no elements, as in a trace of jax
        return unknown
    count = int(differ.sum())
    if not count and forms[0] == forms[1] and type(a) is type(b):
        return None  # it is not the elements that differ
    numpy: Any = sys.modules["numpy"]
    indices = numpy.argwhere(differ)
    first = [tuple(map(int, index)) for index in indices[:places]]
    found = ArrayDifference(*forms, count, tuple(Place(n, x[n], y[n]) for n in first))
    if not count or not content.is_number_dtype(x.dtype):
        return found
    with content.quiet():
        apart, sizes = content.distances(x[differ], y[differ])
        finite = numpy.isfinite(sizes)
        found = found._replace(not_finite=int((~finite).sum()))
        if not finite.any():
            return found
        worst = apart[finite].argmax()
        return found._replace(
            absolute=apart[finite][worst].item(),
            relative=float((apart[finite] / sizes[finite]).max()),
            at=tuple(map(int, indices[finite][worst])),
        )


# ------------------------------------------------------------------------------ texts


def _of_texts(
    a: Any, b: Any, what: str, *, quoted: bool = True
) -> TextDifference | None:
    """Return where two texts, or two of bytes, begin to differ."""
    pairs = enumerate(zip(a, b, strict=False))
    position = next((n for n, (x, y) in pairs if x != y), min(len(a), len(b)))
    if position == len(a) == len(b):
        return None
    end: Any = b"\n" if isinstance(a, bytes) else "\n"
    line = a.count(end, 0, position) + 1
    column = position - a.rfind(end, 0, position)
    start = max(0, position - _BEFORE)
    end, around = start + _AROUND, []
    for text in (a, b):
        piece: Any = text[start:end]
        dots = "..." * (start > 0), "..." * (end < len(text))
        around.append(printable(shown(piece) if quoted else piece).join(dots))
    return TextDifference(what, (len(a), len(b)), position, line, column, *around)


# ----------------------------------------------------------------------------- lines


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
        >>> from leafwise.selection.difference import counted
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
        >>> from leafwise.selection.difference import told
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
                return _tell_arrays(before, after, found)
            case TextDifference() as found:
                place = f"{found.what} {found.position + 1}"
                if found.line > 1:
                    place += f" (line {found.line}, column {found.column})"
                old, new = (counted(size, found.what) for size in found.sizes)
                if not isinstance(before, str | bytes):
                    old, new = clip(before), clip(after)
                rows: list[Row] = [("", old, new), ("", found.before, found.after)]
                return Told(rows, f"which differ from {place} on")
            case SetDifference() as found:
                old, new = (f"{type_name(x)} of {len(x)}" for x in (before, after))
                note, columns = [], []
                for word, items in (("removed", found.removed), ("added", found.added)):
                    texts = [clip(item) for item in items[:_ITEMS]]
                    if len(items) > _ITEMS:
                        texts.append(f"and {len(items) - _ITEMS} more")
                    note += [f"{len(items)} {word}"] if items else []
                    columns.append(texts)
                rows = [("", old, new)]
                rows += [("", x, y) for x, y in zip_longest(*columns)]
                return Told(rows, ", ".join(note))
    labels: Any = ("", "")  # what else tells them apart
    if type(before) is not type(after):
        labels = type_names(type(before), type(after))
    if old == new:
        labels = contrast(before, after)
    if isinstance(labels, str):
        return Told([("", old, f"{new} ({printable(labels)})")])
    marks = [f" ({printable(label)})" if label else "" for label in labels]
    return Told([("", old + marks[0], new + marks[1])])


def _is_many(value: Any) -> bool:
    """Return whether a value is an array with dimensions, and has elements."""
    return bool(content.shape_of(value)) and content.is_readable(value)


def _brief(value: Any) -> str:
    """Return the text of a value, or what an array is if its text is not short."""
    text = clip(value)
    return str(form_of(value)) if _is_many(value) and text != shown(value) else text


def _tell_arrays(before: Any, after: Any, found: ArrayDifference) -> Told:
    forms = str(found.before), str(found.after)
    if forms[0] == forms[1] and type(before) is not type(after):
        old, new = map(printable, type_names(type(before), type(after)))
        forms = f"{forms[0]} ({old})", f"{forms[1]} ({new})"
    rows: list[Row] = [("", *forms)]
    for place in found.places:
        texts = printed(place.before), printed(place.after)
        if texts[0] == texts[1] or issubclass(type(place.before), str | bytes):
            texts = clip(place.before.item()), clip(place.after.item())
        rows.append((str([*place.at]), *texts))
    if not found.differing:
        is_same = found.differing == 0 and found.size > 0
        return Told(rows, "with the same values" if is_same else found.why)
    note = f"{found.differing} of {counted(found.size, 'element')} "
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
