"""One difference between two trees, and what is said of it.

A `Change` holds two values. `explain` says how they differ: which elements of an array,
which line of a text, which items of a set. Each kind of value has one function for
that, which returns an `Explanation`: the record that programs read, the lines that are
printed, and what JSON has of it. Values are explained only when somebody asks.

Texts of values are escaped, so they are never mistaken for lines or colours.

    >>> import leafwise as lw
    >>> from leafwise.selection.explain import explain
    >>> explanation = explain(lw.tree_diff({1, 2}, {2, 3})[0])
    >>> explanation.rows
    [('', '{1, 2}', '{2, 3}')]
"""

from __future__ import annotations

import contextlib
import json
import math
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import zip_longest
from typing import Any, ClassVar, Final, Literal, NamedTuple, TypeAlias

from .._records import MISSING, Frozen
from .._text import (
    FAULTS,
    bare_text,
    counted,
    escape_controls,
    other_type,
    safe_repr,
    safe_str,
    short_repr,
)
from ..core.context import context_of
from ..core.keypath import ROOT, KeyPath
from ..core.keys import DictKey
from ..equality import arrays
from ..equality.arrays import Criteria, is_array
from ..equality.leaves import DEFAULT_CRITERIA, are_same, contrast, type_names
from .patterns import place_text


# ------------------------------------------------------------------ arrays in one line


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
        if len(short) > _LONGEST:  # a dtype with fields has the names of all of them
            short = f"{short[: _LONGEST - 3]}..."
        return escape_controls(f"{short}[{','.join(map(str, self.shape))}]")


_NUMBER: Final = re.compile(r"^(bf|c|f|i|u)(?:loat|omplex|nt|int)(?=\d)")
_LONGEST: Final = 60


def form_of(array: Any) -> Form:
    """Return what an array is, whatever library it is of."""
    return Form(safe_str(array.dtype).removeprefix("torch."), tuple(array.shape))


_FEW_ELEMENTS: Final = 4


def array_text(array: Any) -> str:
    """Return an array as its dtype and shape, with its elements if they are few.

    Never raises.

    Example:
        >>> import pytest
        >>> np = pytest.importorskip("numpy")
        >>> from leafwise.selection.explain import array_text
        >>> array_text(np.zeros((8, 8))), array_text(np.array([1, 2], "i4"))
        ('f64[8,8]', 'i32[2]([1, 2])')
    """
    try:
        text = escape_controls(str(form_of(array)))
    except FAULTS:
        return f"<{type(array).__name__}>"
    if has_few_elements(array):
        with contextlib.suppress(*FAULTS):  # on a meta device there are no elements
            text += f"({_elements_text(array.tolist())})"
    return text


def has_few_elements(array: Any) -> bool:
    """Return whether the elements of an array are written in its text."""
    shape = arrays.shape_of(array)
    if shape is None or len(shape) > _FEW_ELEMENTS or arrays.is_tracer(array):
        return False
    return math.prod(shape) <= _FEW_ELEMENTS


def _elements_text(elements: Any) -> str:
    if isinstance(elements, list):
        return f"[{', '.join(_elements_text(element) for element in elements)}]"
    return f"{elements:.6g}" if type(elements) is float else short_repr(elements)


def _is_many(value: Any) -> bool:
    """Return whether a value is an array with dimensions, and has elements."""
    return bool(arrays.shape_of(value)) and arrays.is_readable(value)


def _brief(value: Any) -> str:
    """Return the text of a value in one line, with arrays as dtype and shape.

    An array without dimensions is a number, which is written in full.
    """
    if _is_many(value):
        return array_text(value)
    date_text = _date_text(value)
    if date_text:
        return date_text
    context = context_of()
    if context.node_type_of(value) is None:
        return short_repr(value)
    try:
        leaves, treedef = context.flatten(value)
        if any(_is_many(leaf) for leaf in leaves):
            texts = [_ArrayText(leaf) if _is_many(leaf) else leaf for leaf in leaves]
            value = treedef.unflatten(texts)
    except FAULTS:  # the class does not take other leaves
        pass
    return short_repr(value)


def _date_text(value: Any) -> str:
    """Return a date, time or duration as people write it, "" for any other value.

    Subclasses print themselves: they may hold more than the standard library does.
    """
    datetime = sys.modules.get("datetime")  # loaded if there is a date at all
    if datetime is None:
        return ""
    cls = type(value)
    try:
        if cls in (datetime.datetime, datetime.date, datetime.time):
            return escape_controls(value.isoformat())
        if cls is datetime.timedelta:
            return str(value)
    except FAULTS:  # the class of a time zone may do anything
        pass
    return ""


class _ArrayText:
    """A leaf in place of an array, whose `repr` is the short one."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __repr__(self) -> str:
        return array_text(self.array)


# ------------------------------------------------------------------ records of details


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
        >>> detail = change.detail()
        >>> detail.differing, detail.size, detail.absolute, detail.relative
        (1, 3, 1, 0.25)
        >>> detail.places[0].at
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


# ------------------------------------------------------------------ one difference


FEW: Final = 3
"""How many places of an array, and items of a set, are shown by default."""


class Change(Frozen):
    """One difference between two trees.

    Attributes:
        kind: `added`, `removed`, `moved` (an item to another position of its list),
            `type` (another type of node, or a leaf where there was a node), `aux`
            (another static value or other aux data), or `value`.
        path: The key path in the first tree. For an item that was added to a list, the
            last key is the position in the list of the second tree.
        before: The old value; MISSING if the value was added.
        after: The new value; MISSING if the value was removed.
        index: The position in a list or mapping: of what was added or moved, in the
            second tree, of what was removed, in the first; None otherwise.
        other_path: The key path in the second tree.
        criteria: What counted as different when the values were compared.

    Example:
        >>> import leafwise as lw
        >>> print(lw.tree_diff({"a": 1}, {"a": 2})[0])
        ~ a: 1 -> 2
    """

    __slots__ = ("after", "before", "criteria", "index", "kind", "other_path", "path")
    __match_args__: ClassVar[
        tuple[
            Literal["kind"],
            Literal["path"],
            Literal["before"],
            Literal["after"],
            Literal["index"],
        ]
    ] = ("kind", "path", "before", "after", "index")

    kind: str
    path: KeyPath
    before: Any
    after: Any
    index: int | None
    other_path: KeyPath
    criteria: Criteria

    def __init__(
        self,
        kind: str,
        path: KeyPath,
        before: Any,
        after: Any,
        index: int | None = None,
        other_path: KeyPath = ROOT,
        criteria: Criteria = DEFAULT_CRITERIA,
    ) -> None:
        self._set(kind, path, before, after, index)
        object.__setattr__(self, "other_path", other_path)
        object.__setattr__(self, "criteria", criteria)

    def detail(self, places: int = FEW) -> Detail | None:
        """Return how the two values differ, for arrays, texts and sets.

        Each call computes the result again. Values are compared as in the `tree_diff`
        call that found the change, with its tolerances.

        Args:
            places: How many differing elements of an array to report.

        Returns:
            An `ArrayDifference`, `TextDifference` or `SetDifference`; None if there
            are no details beyond the two values.

        Example:
            >>> import leafwise as lw
            >>> lw.tree_diff({"s": {1, 2}}, {"s": {2, 3}})[0].detail()
            SetDifference(before=2, after=2, removed=(1,), added=(3,))
        """
        explanation = _explanation_of(self, places)
        return None if explanation is None else explanation.detail

    def __str__(self) -> str:
        return "\n".join(lines_of(self))

    def __eq__(self, other: object) -> bool:
        if type(other) is not Change:
            return NotImplemented
        return are_same(self._values(), other._values())

    def __hash__(self) -> int:
        return hash((self.kind, self.path))

    def __reduce__(self) -> tuple[Any, ...]:
        return Change, (*self._values(), self.other_path, self.criteria)


def inverted(change: Change) -> Change:
    """Return a change in the opposite direction."""
    opposite = {"added": "removed", "removed": "added"}
    return Change(
        opposite.get(change.kind, change.kind),
        change.other_path,
        change.after,
        change.before,
        change.path[-1].idx if change.kind == "moved" else change.index,
        change.path,
        change.criteria,
    )


# ------------------------------------------------------------- how two values differ


TextRow: TypeAlias = "tuple[str, Any, Any]"
"""A place inside, "" for none; the old text, the new one; None on a side without."""


class Explanation(NamedTuple):
    """How two values differ, for programs, for readers, and for JSON.

    Attributes:
        rows: The texts of the two values, and below them what differs inside.
        note: A note about both values, "" if there is none.
        more: How many places are not among the rows.
        detail: The record of it, None if the texts say everything.
        fields: What JSON has of it beside the values.
    """

    rows: list[TextRow]
    note: str = ""
    more: int = 0
    detail: Detail | None = None
    fields: dict[str, Any] = {}  # noqa: RUF012  # nobody changes it


def explain(change: Change) -> Explanation:
    """Return the texts of the values of a change. Never raises.

    Args:
        change: The change.

    Example:
        >>> import leafwise as lw
        >>> from leafwise.selection.explain import explain
        >>> explain(lw.tree_diff({"s": {1, 2}}, {"s": {2, 3}})[0]).rows
        [('', '{1, 2}', '{2, 3}')]
    """
    before = change.before
    after = change.after
    old = _brief(before)
    new = _brief(after)
    if change.kind in _ONE_SIDED:
        old_side = None if change.kind == "added" else old
        new_side = None if change.kind == "removed" else new
        return Explanation([("", old_side, new_side)])
    # short texts that are complete say more than any detail
    is_clear = old != new and _is_whole(before, old) and _is_whole(after, new)
    if not is_clear or (_is_many(before) and _is_many(after)):
        explanation = _explanation_of(change)
        if explanation is not None:
            return explanation
    labels: Any = ("", "")  # what else tells them apart
    if _type_of(before) is not _type_of(after):
        labels = type_names(_type_of(before), _type_of(after))
    if old == new:
        labels = contrast(before, after)
    if isinstance(labels, str):
        return Explanation([("", old, f"{new} ({escape_controls(labels)})")])
    marks = [f" ({escape_controls(label)})" if label else "" for label in labels]
    note = _LETTERS_NOTE if _have_same_letters(before, after) else ""
    return Explanation([("", old + marks[0], new + marks[1])], note)


def _is_whole(value: Any, text: str) -> bool:
    """Return whether a text of a value leaves out nothing."""
    return text in (safe_repr(value), _date_text(value))


def _type_of(value: Any) -> type:
    """Return the type of a value; of a number that knows its text, int or float."""
    plain = getattr(type(value), "plain", None)
    return plain if plain in (int, float) else type(value)


def _explanation_of(change: Change, places: int = FEW) -> Explanation | None:
    """Return how two different values differ. Never raises.

    Takes time and memory in proportion to their size.

    Args:
        change: The change.
        places: How many places of an array to show.

    Returns:
        None if there is nothing to say but what the values are.
    """
    if change.kind not in ("value", "aux"):
        return None
    before = change.before
    after = change.after
    try:
        if is_array(before) and is_array(after):
            return _explain_arrays(before, after, change.criteria, places)
        for cls in (str, bytes):
            if isinstance(before, cls) and isinstance(after, cls):
                return _explain_texts(before, after)
        if isinstance(before, AbstractSet) and isinstance(after, AbstractSet):
            return _explain_sets(before, after)
        old_text = safe_repr(before)
        new_text = safe_repr(after)
        is_long = max(len(old_text), len(new_text)) > _AROUND
        if is_long and type(before) is type(after):
            titles = (short_repr(before), short_repr(after))
            return _explain_texts(old_text, new_text, titles)
    except FAULTS:  # a class that only looks like one of these may do anything
        pass
    return None


def _explain_sets(a: AbstractSet[Any], b: AbstractSet[Any]) -> Explanation | None:
    removed = sorted([item for item in a if item not in b], key=safe_repr)
    added = sorted([item for item in b if item not in a], key=safe_repr)
    if not removed and not added:
        return None
    notes: list[str] = []
    columns: list[list[str]] = []
    for word, items in (("removed", removed), ("added", added)):
        texts = [short_repr(item) for item in items[:FEW]]
        if len(items) > FEW:
            texts.append(f"and {len(items) - FEW} more")
        if items:
            notes.append(f"{len(items)} {word}")
        columns.append(texts)
    old = f"{type(a).__name__} of {len(a)}"
    new = f"{type(b).__name__} of {len(b)}"
    rows: list[TextRow] = [("", old, new)]
    rows += [("", one, other) for one, other in zip_longest(*columns)]
    detail = SetDifference(len(a), len(b), tuple(removed), tuple(added))
    return Explanation(rows, ", ".join(notes), detail=detail)


# ------------------------------------------------------------------------------ texts


_BEFORE: Final = 20
_AROUND: Final = 60


def _explain_texts(
    a: Any,
    b: Any,
    titles: tuple[str, str] | None = None,
) -> Explanation | None:
    """Return where two texts, or two of bytes, begin to differ.

    Args:
        a, b: The texts.
        titles: If they are what other values print, short texts of those.
    """
    sizes = (len(a), len(b))
    position = min(sizes)
    for n, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            position = n
            break
    if position == sizes[0] == sizes[1]:
        return None
    unit = "byte" if isinstance(a, bytes) else "character"
    newline: Any = b"\n" if isinstance(a, bytes) else "\n"
    line = a.count(newline, 0, position) + 1
    column = position - a.rfind(newline, 0, position)
    is_quoted = titles is None
    before = _excerpt(a, position, is_quoted=is_quoted)
    after = _excerpt(b, position, is_quoted=is_quoted)
    place = f"{unit} {position + 1}"
    if line > 1:
        place += f" (line {line}, column {column})"
    note = f"which differ from {place} on"
    if _have_same_letters(a, b):
        note += f": {_LETTERS_NOTE}"
    old, new = titles or (counted(sizes[0], unit), counted(sizes[1], unit))
    return Explanation(
        [("", old, new), ("", before, after)],
        note,
        detail=TextDifference(unit, sizes, position, line, column, before, after),
    )


_LETTERS_NOTE: Final = "the same letters in another Unicode form"


def _have_same_letters(a: Any, b: Any) -> bool:
    """Return whether two different texts look the same, as composed letters do."""
    if not isinstance(a, str) or not isinstance(b, str):
        return False
    return a != b and _composed(a) == _composed(b)


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _excerpt(
    text: Any,
    position: int,
    *,
    is_quoted: bool,
) -> str:
    """Return a text around a position in one line, with dots where it is cut."""
    start = max(0, position - _BEFORE)
    end = start + _AROUND
    part = text[start:end]
    excerpt = escape_controls(safe_repr(part) if is_quoted else part)
    if start > 0:
        excerpt = f"...{excerpt}"
    if end < len(text):
        excerpt = f"{excerpt}..."
    return excerpt


# ----------------------------------------------------------------------------- arrays


def _explain_arrays(
    a: Any,
    b: Any,
    criteria: Criteria,
    places: int,
) -> Explanation | None:
    detail = ArrayDifference(form_of(a), form_of(b))
    old = str(detail.before)
    new = str(detail.after)
    if old == new and type(a) is not type(b):
        old_type, new_type = type_names(type(a), type(b))
        old = f"{old} ({escape_controls(old_type)})"
        new = f"{new} ({escape_controls(new_type)})"
    rows: list[TextRow] = [("", old, new)]
    if detail.before.shape != detail.after.shape:
        return Explanation(rows, detail=detail)
    elements = _compared_elements(a, b, criteria)
    if elements is None:
        if detail.before == detail.after:
            detail = detail._replace(why="which cannot be compared by element")
        return Explanation(rows, detail.why, detail=detail)
    x, y, differ = elements
    count = int(differ.sum())
    if not count and detail.before == detail.after and type(a) is type(b):
        return None  # it is not the elements that differ
    indices = sys.modules["numpy"].argwhere(differ)
    detail = detail._replace(
        differing=count,
        places=tuple(
            Place(index, x[index], y[index])
            for index in (tuple(map(int, row)) for row in indices[:places])
        ),
    )
    note = ""
    if count:
        if arrays.is_number_dtype(x.dtype):
            detail = detail._replace(**_largest_errors(x[differ], y[differ], indices))
        verb = "differs" if count == 1 else "differ"
        note = f"{count} of {counted(detail.size, 'element')} {verb}"
        errors = ", ".join(_error_texts(detail))
        note += f": {errors}" if errors else ""
    elif detail.size:
        note = "with the same values"
    rows += map(_place_row, detail.places)
    more = count - len(detail.places)
    return Explanation(rows, note, more, detail, _array_fields(detail))


def _compared_elements(
    a: Any,
    b: Any,
    criteria: Criteria,
) -> tuple[Any, Any, Any] | None:
    """Return two arrays as arrays of NumPy, and where they differ.

    None if they are of two sorts, or have no plain elements, as in a trace of jax.
    """
    try:
        x = arrays.as_numpy(a)
        y = arrays.as_numpy(b)
        if not _has_plain_elements(x) or not _has_plain_elements(y):
            return None
        differ = ~arrays.same_places(x, y, criteria)
        if not criteria.is_tolerant and _is_rounded(x.dtype, y.dtype):
            differ = (x.astype(object) != y.astype(object)).astype(bool)
    except FAULTS:
        return None
    return x, y, differ


def _has_plain_elements(array: Any) -> bool:
    """Return whether the elements of a NumPy array can be compared one by one."""
    dtype = array.dtype
    return not (arrays.is_masked(array) or dtype.hasobject or dtype.names)


def _is_rounded(a: Any, b: Any) -> bool:
    """Return whether comparing two dtypes rounds integers, which 2**53 + 1 shows."""
    kinds = {a.kind, b.kind}
    is_wide = any(dtype.kind in "iu" and dtype.itemsize == 8 for dtype in (a, b))
    return is_wide and "f" in kinds


def _largest_errors(
    x: Any,
    y: Any,
    indices: Any,
) -> dict[str, Any]:
    """Return the errors between numbers, as fields of an `ArrayDifference`.

    Args:
        x, y: The numbers that differ.
        indices: The index of each in its array.
    """
    numpy: Any = sys.modules["numpy"]
    with arrays.quiet():
        distances, sizes = arrays.distances(x, y)
        finite = numpy.isfinite(sizes)
        not_finite = int((~finite).sum())
        if not finite.any():
            return {"not_finite": not_finite}
        worst = distances[finite].argmax()
        return {
            "not_finite": not_finite,
            "absolute": distances[finite][worst].item(),
            "relative": float((distances[finite] / sizes[finite]).max()),
            "at": tuple(map(int, indices[finite][worst])),
        }


def _error_texts(detail: ArrayDifference) -> Iterator[str]:
    """Yield how large the differences of two arrays are, in words."""
    error = detail.absolute
    if error is not None:
        text = str(error) if isinstance(error, int) else f"{error:.6g}"
        is_shown = detail.at in [place.at for place in detail.places]
        where = "" if is_shown else f" at {list(detail.at or ())}"
        yield f"largest error {text}{where}"
        yield f"relative {detail.relative:.3g}"
    if detail.not_finite:
        yield f"{detail.not_finite} with NaN or infinity"


def _place_row(place: Place) -> TextRow:
    old = safe_str(place.before)
    new = safe_str(place.after)
    is_text = issubclass(type(place.before), str | bytes)
    if is_text or old == new:  # the repr of an element of NumPy names its type
        old = short_repr(place.before.item())
        new = short_repr(place.after.item())
    return str(list(place.at)), old, new


def _array_fields(detail: ArrayDifference) -> dict[str, Any]:
    places = [
        {
            "at": list(place.at),
            "before": _json_value(place.before.item()),
            "after": _json_value(place.after.item()),
        }
        for place in detail.places
    ]
    return {
        "differing": detail.differing,
        "size": detail.size,
        "absolute": _json_value(detail.absolute),
        "relative": _json_value(detail.relative),
        "not_finite": detail.not_finite,
        "places": places,
    }


# ------------------------------------------------------------------------------- JSON


def json_record(change: Change) -> dict[str, Any]:
    """Return a change as `TreeDiff.to_json` writes it."""
    record: dict[str, Any] = {"kind": change.kind, "path": str(change.path)}
    if change.kind == "moved":
        record["index"] = change.index
    for name, value in (("before", change.before), ("after", change.after)):
        if value is not MISSING:
            record[name] = _json_value(value)
    explanation = _explanation_of(change)
    if explanation is not None:
        record |= explanation.fields
    return record


def _json_value(value: Any) -> Any:
    """Return a value for JSON: an array as what it is, others as their text."""
    if _is_many(value):
        form = form_of(value)
        return {"dtype": form.dtype, "shape": list(form.shape)}
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):  # it has no JSON form
        return safe_repr(value)
    return value


# --------------------------------------------------------------------- lines of text


SIGNS: Final = {
    "added": "+",
    "removed": "-",
    "moved": ">",
    "type": "!",
    "aux": "~",
    "value": "~",
}
_ONE_SIDED: Final = frozenset({"added", "removed", "moved"})
"""Kinds of changes with one value to be shown."""
_INDENT: Final = "    "


Painter: TypeAlias = Callable[[str, str], str]
"""Adds a colour to a text: `path`, `dim`, or that of the sign of a change."""


def unpainted(text: str, _colour: str) -> str:
    """Return a text as it is, as a `Painter`."""
    return text


def headline(diff: Sequence[Change], sides: str = "actual -> expected") -> str:
    """Return the text of an error about two trees, up to the differences."""
    counts = {"changed": 0, "added": 0, "removed": 0, "moved": 0}
    for change in diff:
        word = change.kind if change.kind in _ONE_SIDED else "changed"
        counts[word] += 1
    parts = ", ".join(f"{number} {word}" for word, number in counts.items() if number)
    which = "" if len(diff) in counts.values() else f": {parts}"
    return f"the trees differ in {counted(len(diff), 'place')}{which} ({sides}):"


def lines_of_all(
    changes: Sequence[Change],
    most: int | None = None,
    note: Callable[[Change], str] | None = None,
    paint: Painter = unpainted,
) -> Iterator[str]:
    """Yield the lines of changes.

    Args:
        changes: The changes.
        most: How many of them to show, None for all.
        note: Returns what to add to the first line of a change.
        paint: Adds colours.
    """
    removed_keys: dict[Any, list[Any]] = {}
    for change in changes:
        if change.kind == "removed" and _is_item_of_dict(change):
            removed_keys.setdefault(_key_place(change), []).append(change.path[-1].key)
    for change in changes[:most]:
        lines = lines_of(change, paint)
        if removed_keys and change.kind == "added" and _is_item_of_dict(change):
            # `1` and `"1"` print alike, so that the change would look like none
            key = change.path[-1].key
            keys = removed_keys.get(_key_place(change), ())
            sentence = other_type(key, keys)
            if any(_have_same_letters(key, other_key) for other_key in keys):
                sentence = _LETTERS_NOTE
            if sentence:
                lines[0] += f", {escape_controls(sentence)}"
        if note is not None:
            lines[0] += note(change)
        yield from lines
    if most is not None and len(changes) > most:
        yield paint(f"and {len(changes) - most} more", "dim")


def _is_item_of_dict(change: Change) -> bool:
    return bool(change.path) and type(change.path[-1]) is DictKey


def _key_place(change: Change) -> tuple[str, str]:
    """Return the text of a dict's path, and that of a key as it looks."""
    return str(change.path.parent), _composed(bare_text(change.path[-1].key))


def lines_of(change: Change, paint: Painter = unpainted) -> list[str]:
    """Return the lines of one change.

    Args:
        change: The change.
        paint: Adds colours.
    """
    sign = SIGNS[change.kind]
    explanation = explain(change)
    where = paint(place_text(change.path), "path")
    if change.kind == "moved":
        where += f" -> {paint(f'[{change.index}]', 'path')}"
    (_, old, new), *rows = explanation.rows
    if change.kind in _ONE_SIDED:
        values = paint(old if new is None else new, sign)
    elif old == new and explanation.note:
        values = old
    else:
        values = _arrow(old, new, paint)
    note = f", {explanation.note}" if explanation.note else ""
    lines = [f"{paint(sign, sign)} {where}: {values}{note}"]
    removed: list[str] = []
    added: list[str] = []
    for place, old, new in rows:
        if place:
            lines.append(f"{_INDENT}{paint(place, 'path')}: {_arrow(old, new, paint)}")
            continue
        if old is not None:
            removed.append(f"{_INDENT}{paint(f'- {old}', '-')}")
        if new is not None:
            added.append(f"{_INDENT}{paint(f'+ {new}', '+')}")
    lines += removed + added
    if explanation.more:
        lines.append(f"{_INDENT}{paint(f'and {explanation.more} more', 'dim')}")
    return lines


def _arrow(
    old: Any,
    new: Any,
    paint: Painter,
) -> str:
    return f"{paint(old, '-')} -> {paint(new, '+')}"
