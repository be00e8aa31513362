"""How two values differ that are known to differ: records for whoever shows it.

Owns `difference`, which looks into arrays, texts and sets, and the records of what it
finds. What counts as different is asked of those who compare, so it is the same here;
nobody asks here before there is something to show. Knows nothing of trees, of lines, or
of colours.

    >>> from leafwise.selection.difference import difference
    >>> difference("a long story", "a long stone").position
    10
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Set as AbstractSet
from typing import Any, Final, NamedTuple, TypeAlias

from ..equality.content import (
    Asked,
    as_numpy,
    distances,
    is_array,
    is_masked,
    is_number_dtype,
    is_table,
    quiet,
    same_places,
)
from ..equality.leaves import PLAIN
from ..safely import FAULTS, printable, printed, shown


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
        if all(is_array(x) and not is_table(x) for x in (before, after)):
            return _of_arrays(before, after, asked, places)
        for cls, what in ((str, "character"), (bytes, "byte")):
            if isinstance(before, cls) and isinstance(after, cls):
                return _of_texts(before, after, what)
        if isinstance(before, AbstractSet) and isinstance(after, AbstractSet):
            return _of_sets(before, after)
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
        x, y = as_numpy(a), as_numpy(b)
        if any(is_masked(z) or z.dtype.hasobject or z.dtype.names for z in (x, y)):
            return unknown
        differ = ~same_places(x, y, asked)
    except FAULTS:  # they are of two sorts, or have no elements, as in a trace of jax
        return unknown
    count = int(differ.sum())
    if not count and forms[0] == forms[1] and type(a) is type(b):
        return None  # it is not the elements that differ
    numpy: Any = sys.modules["numpy"]
    indices = numpy.argwhere(differ)
    first = [tuple(map(int, index)) for index in indices[:places]]
    found = ArrayDifference(*forms, count, tuple(Place(n, x[n], y[n]) for n in first))
    if not count or not (is_number_dtype(x.dtype) and is_number_dtype(y.dtype)):
        return found
    with quiet():
        apart, sizes = distances(x[differ], y[differ])
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


# --------------------------------------------------------------------- texts and sets


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
    around = (_around(text, position, quoted=quoted) for text in (a, b))
    return TextDifference(what, (len(a), len(b)), position, line, column, *around)


def _around(text: Any, position: int, *, quoted: bool) -> str:
    """Return what a text has around a position, marked where it is cut."""
    start = max(0, position - _BEFORE)
    piece = text[start : start + _AROUND]
    said = printable(shown(piece) if quoted else piece)
    dots = "..." * (start > 0), "..." * (start + _AROUND < len(text))
    return said.join(dots)


def _of_sets(a: AbstractSet[Any], b: AbstractSet[Any]) -> SetDifference | None:
    removed, added = (
        tuple(sorted((x for x in one if x not in other), key=shown))
        for one, other in ((a, b), (b, a))
    )
    if not (removed or added):
        return None
    return SetDifference(len(a), len(b), removed, added)
