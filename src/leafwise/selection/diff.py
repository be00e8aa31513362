"""Differences between two trees: found, explained, printed, applied, inverted.

Containers are compared key by key; where two nodes are of different types, a `Change`
holds both. `align` decides which items of two lists belong together. How two values
differ (which elements of an array, which line of a text) is computed only when it is
asked for or printed. Texts of values are escaped, so they are never mistaken for lines
or colours of the diff. Changes can be written as JSON Patch (RFC 6902), and trees can
be patched.

    >>> from leafwise.selection.diff import difference
    >>> difference("a long story", "a long stone").position
    10
"""

from __future__ import annotations

import contextlib
import copy
import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import starmap, zip_longest
from operator import itemgetter
from typing import Any, ClassVar, Final, Literal, NamedTuple, TypeAlias, TypeVar

from .._hooks import Displayable, hooks
from .._records import MISSING, Frozen
from .._text import (
    FAULTS,
    bare_text,
    escape_controls,
    nearest_names,
    other_type,
    safe_repr,
    safe_str,
    short_repr,
)
from ..core.context import Context, context_of
from ..core.keypath import ROOT, KeyPath, Link, path_below
from ..core.keys import DictKey, GetAttrKey, SequenceKey
from ..core.node import NodeType
from ..core.register import ItemsNodeType
from ..core.registry import GLOBAL, View
from ..equality import arrays, exact
from ..equality.arrays import Criteria, UndecidedError, is_array
from ..equality.leaves import (
    DEFAULT_CRITERIA,
    Comparison,
    are_equal_scalars,
    are_same,
    cannot_compare,
    contrast,
    type_names,
)
from ..errors import EditError
from ..ops.inspect import how_to_register
from .align import Numbering, aligned, paired_items
from .changes import (
    Delete,
    Edit,
    Edited,
    Insert,
    Move,
    Set,
    edit_at,
    entries_of,
    item_key,
    rebuild,
)
from .convert import Converter, Declared, opening_dataclasses, text_of
from .descent import Descent
from .pairs import (
    MarksPair,
    PairKey,
    key_of,
    mark_places,
    marked_values,
    marks_below,
    paths_of,
)
from .patterns import place_text
from .select import Place as TreePlace
from .select import few, fields_of, selector


Tree = TypeVar("Tree")


# ---------------------------------------------------------- how two values differ

FEW: Final = 3
"""How many places of an array are shown by default."""
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
        return escape_controls(f"{short}[{','.join(map(str, self.shape))}]")


_NUMBER: Final = re.compile(r"^(bf|c|f|i|u)(?:loat|omplex|nt|int)(?=\d)")


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
        >>> from leafwise.selection.diff import array_text
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
    if shape is None or len(shape) > _FEW_ELEMENTS or arrays.is_traced(array):
        return False
    return math.prod(shape) <= _FEW_ELEMENTS


def _elements_text(elements: Any) -> str:
    if isinstance(elements, list):
        return f"[{', '.join(_elements_text(element) for element in elements)}]"
    return f"{elements:.6g}" if type(elements) is float else short_repr(elements)


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


def difference(
    before: Any,
    after: Any,
    criteria: Criteria = DEFAULT_CRITERIA,
    places: int = FEW,
) -> Detail | None:
    """Return how two different values differ. Never raises.

    Takes time and memory in proportion to their size.

    Args:
        before, after: The values.
        criteria: What counts as different.
        places: How many places of an array to show.

    Returns:
        A record; None if there is nothing to say but what the values are.
    """
    try:
        if is_array(before) and is_array(after):
            return _of_arrays(before, after, criteria, places)
        for cls, what in ((str, "character"), (bytes, "byte")):
            if isinstance(before, cls) and isinstance(after, cls):
                return _of_texts(before, after, what)
        if isinstance(before, AbstractSet) and isinstance(after, AbstractSet):
            return _of_sets(before, after)
        old_text = safe_repr(before)
        new_text = safe_repr(after)
        is_long = max(len(old_text), len(new_text)) > _AROUND
        if is_long and type(before) is type(after):
            return _of_texts(old_text, new_text, "character", quoted=False)
    except FAULTS:  # a class that only looks like one of these may do anything
        pass
    return None


def _of_sets(a: AbstractSet[Any], b: AbstractSet[Any]) -> SetDifference | None:
    removed = sorted([item for item in a if item not in b], key=safe_repr)
    added = sorted([item for item in b if item not in a], key=safe_repr)
    if not removed and not added:
        return None
    return SetDifference(len(a), len(b), tuple(removed), tuple(added))


def _of_arrays(
    a: Any,
    b: Any,
    criteria: Criteria,
    places: int,
) -> ArrayDifference | None:
    form_a = form_of(a)
    form_b = form_of(b)
    if form_a.shape != form_b.shape:
        return ArrayDifference(form_a, form_b)
    why = "which cannot be compared by element" if form_a == form_b else ""
    only_forms = ArrayDifference(form_a, form_b, why=why)
    try:
        x = arrays.as_numpy(a)
        y = arrays.as_numpy(b)
        if not _has_plain_elements(x) or not _has_plain_elements(y):
            return only_forms
        differ = ~arrays.same_places(x, y, criteria)
        if not criteria.is_tolerant and _is_rounded(x.dtype, y.dtype):
            differ = (x.astype(object) != y.astype(object)).astype(bool)
    except FAULTS:  # they are of two sorts, or have no elements, as in a trace of jax
        return only_forms
    count = int(differ.sum())
    if not count and form_a == form_b and type(a) is type(b):
        return None  # it is not the elements that differ
    numpy: Any = sys.modules["numpy"]
    indices = numpy.argwhere(differ)
    first_indices = [tuple(map(int, index)) for index in indices[:places]]
    first_places = [Place(index, x[index], y[index]) for index in first_indices]
    result = ArrayDifference(form_a, form_b, count, tuple(first_places))
    if not count or not arrays.is_number_dtype(x.dtype):
        return result
    with arrays.quiet():
        distances, sizes = arrays.distances(x[differ], y[differ])
        finite = numpy.isfinite(sizes)
        result = result._replace(not_finite=int((~finite).sum()))
        if not finite.any():
            return result
        worst = distances[finite].argmax()
        return result._replace(
            absolute=distances[finite][worst].item(),
            relative=float((distances[finite] / sizes[finite]).max()),
            at=tuple(map(int, indices[finite][worst])),
        )


def _has_plain_elements(array: Any) -> bool:
    """Return whether the elements of a NumPy array can be compared one by one."""
    dtype = array.dtype
    return not (arrays.is_masked(array) or dtype.hasobject or dtype.names)


def _is_rounded(a: Any, b: Any) -> bool:
    """Return whether comparing two dtypes rounds integers, which 2**53 + 1 shows."""
    kinds = {a.kind, b.kind}
    is_wide = any(dtype.kind in "iu" and dtype.itemsize == 8 for dtype in (a, b))
    return is_wide and "f" in kinds


# ------------------------------------------------------------------------------ texts


def _of_texts(
    a: Any,
    b: Any,
    what: str,
    *,
    quoted: bool = True,
) -> TextDifference | None:
    """Return where two texts, or two of bytes, begin to differ."""
    position = min(len(a), len(b))
    for n, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            position = n
            break
    if position == len(a) == len(b):
        return None
    newline: Any = b"\n" if isinstance(a, bytes) else "\n"
    line = a.count(newline, 0, position) + 1
    column = position - a.rfind(newline, 0, position)
    start = max(0, position - _BEFORE)
    before = _excerpt(a, start, quoted)
    after = _excerpt(b, start, quoted)
    sizes = (len(a), len(b))
    return TextDifference(what, sizes, position, line, column, before, after)


def _excerpt(
    text: Any,
    start: int,
    quoted: bool,
) -> str:
    """Return a part of a text in one line, with dots where it is cut."""
    end = start + _AROUND
    excerpt: Any = text[start:end]
    excerpt = escape_controls(safe_repr(excerpt) if quoted else excerpt)
    if start > 0:
        excerpt = f"...{excerpt}"
    if end < len(text):
        excerpt = f"{excerpt}..."
    return excerpt  # type: ignore[no-any-return]  # a text


# ----------------------------------------------------------------------------- lines


SIGNS: Final = {
    "added": "+",
    "removed": "-",
    "moved": ">",
    "type": "!",
    "aux": "~",
    "value": "~",
}


Painter: TypeAlias = Callable[[str, str], str]
"""Adds a colour to a text: `path`, `dim`, or that of the sign of a change."""


def unpainted(text: str, _colour: str) -> str:
    """Return a text as it is, as a `Painter`."""
    return text


# ------------------------------------------------------------------ one difference


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

    Example:
        >>> import leafwise as lw
        >>> print(lw.tree_diff({"a": 1}, {"a": 2})[0])
        ~ a: 1 -> 2
    """

    __slots__ = ("_criteria", "_other_path", "after", "before", "index", "kind", "path")
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
    _other_path: KeyPath  # in the second tree
    _criteria: Criteria

    def __init__(
        self,
        kind: str,
        path: KeyPath,
        before: Any,
        after: Any,
        index: int | None = None,
        _other_path: KeyPath = ROOT,
        _criteria: Criteria = DEFAULT_CRITERIA,
    ) -> None:
        self._set(kind, path, before, after, index)
        object.__setattr__(self, "_other_path", _other_path)
        object.__setattr__(self, "_criteria", _criteria)

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
        if self.kind not in ("value", "aux"):
            return None
        return difference(self.before, self.after, self._criteria, places)

    def __str__(self) -> str:
        return "\n".join(lines_of(self))

    def __eq__(self, other: object) -> bool:
        if type(other) is not Change:
            return NotImplemented
        return are_same(self._values(), other._values())

    def __hash__(self) -> int:
        return hash((self.kind, self.path))

    def __reduce__(self) -> tuple[Any, ...]:
        return Change, (*self._values(), self._other_path, self._criteria)


# ------------------------------------------------------------------- all of them


class TreeDiff(Displayable, tuple[Change, ...]):  # noqa: SLOT001  # it has a `__dict__`
    """The differences between two trees, in leaf order.

    It is a tuple of `Change` objects, and is true if there is at least one.

    Example:
        >>> import leafwise as lw
        >>> diff = lw.tree_diff({"lr": 0.1, "sizes": [1]}, {"lr": 0.2, "sizes": [1, 2]})
        >>> print(diff)
        ~ lr: 0.1 -> 0.2
        + sizes[1]: 2
        >>> diff.apply({"lr": 0.1, "sizes": [1]})
        {'lr': 0.2, 'sizes': [1, 2]}
    """

    _context: Context
    _values: Comparison

    def __str__(self) -> str:
        return "\n".join(self.lines()) or "no differences"

    def __repr__(self) -> str:
        head = f"<TreeDiff of {counted(len(self), 'change')}>"
        return "\n  ".join([head, *self.lines(most=_IN_REPR)])

    def lines(
        self,
        *,
        color: str = "never",
        most: int | None = None,
    ) -> Iterator[str]:
        """Yield the lines of `str(diff)`, one or more for each change.

        Args:
            color: `"always"`, `"never"`, or `"auto"` for colors if the standard output
                is a terminal; `NO_COLOR` and `FORCE_COLOR` are respected.
            most: How many changes to show, None for all. If there are more, the last
                line says how many.

        Raises:
            ValueError: `color` has an invalid value.

        Example:
            >>> import leafwise as lw
            >>> diff = lw.tree_diff([1, 2, 3], [4, 5, 6])
            >>> [*diff.lines(most=1)]
            ['~ [0]: 1 -> 4', 'and 2 more']
        """
        return lines_of_all(self, most, paint=hooks.painter(color, None))

    def show(
        self,
        *,
        color: str = "auto",
        most: int | None = None,
        file: Any = None,
    ) -> None:
        """Print the differences, in color on a terminal.

        Args:
            color, most: As for `lines`.
            file: The file to print to; None for the standard output.

        Raises:
            ValueError: `color` has an invalid value.

        Example:
            >>> import leafwise as lw
            >>> lw.tree_diff({"a": 1}, {"a": 2}).show(color="never")
            ~ a: 1 -> 2
        """
        lines = lines_of_all(self, most, paint=hooks.painter(color, file))
        print("\n".join(lines) or "no differences", file=file)

    def invert(self) -> TreeDiff:
        """Return the differences in the opposite direction.

        Example:
            >>> import leafwise as lw
            >>> print(lw.tree_diff([1], [1, 2]).invert())
            - [1]: 2
        """
        opposite = {"added": "removed", "removed": "added"}
        changes = [
            Change(
                opposite.get(change.kind, change.kind),
                change._other_path,
                change.after,
                change.before,
                change.path[-1].idx if change.kind == "moved" else change.index,
                change.path,
                change._criteria,
            )
            for change in self
        ]
        return _diff_of(changes, self._context, self._values)

    def apply(self, tree: Tree) -> Tree:
        """Return a tree with the changes applied.

        Args:
            tree: The first tree of the comparison, or a similar one.

        Raises:
            CompareError: A value cannot be compared with the old one.
            EditError: The tree does not have the old value of a change.
            PathError: The tree does not have the path of a change.

        Example:
            >>> import leafwise as lw
            >>> diff = lw.tree_diff({"a": 1, "b": 2}, {"a": 1, "c": 3})
            >>> diff.apply({"a": 1, "b": 2})
            {'a': 1, 'c': 3}
            >>> diff.apply({"a": 1, "b": 9})
            Traceback (most recent call last):
            ...
            leafwise.errors.EditError: expected 2 at b, found 9
        """
        context = self._context
        namespace = context.view.mode.namespace
        edits: list[tuple[KeyPath, Edit]] = []
        for change in self:
            path = change.path
            if change.kind != "added":
                value = path(tree, namespace=namespace)
                if value is not change.before and differ(
                    change.before, value, context.below(path), self._values
                ):
                    raise mismatch(path, change.before, value)
            edit: Edit = Set(change.after)
            if change.kind == "added":
                edit = Insert(change.after, change.index)
            elif change.kind == "removed":
                edit = Move(None) if type(path[-1]) is SequenceKey else Delete()
            elif change.kind == "moved":
                edit = Move(change.index)
            edits.append((path, edit))
        return rebuild(tree, edits, context)

    def to_json(self, *, indent: int | None = None) -> str:
        r"""Return the changes as JSON text: a list of objects.

        Each object has `kind` and `path`, `before` and `after` if they exist, and
        `index` if the item was moved. An array is written as its `dtype` and `shape`,
        and a change of one has `differing`, `size`, the largest errors `absolute` and
        `relative`, and the first `places` that differ. Another value that JSON cannot
        represent is written as its `repr`.

        Args:
            indent: As for `json.dumps`.

        Example:
            >>> import leafwise as lw
            >>> lw.tree_diff({"a": 1}, {"a": 2}).to_json()
            '[{"kind": "value", "path": "[\'a\']", "before": 1, "after": 2}]'
        """
        records = []
        for change in self:
            record: dict[str, Any] = {}
            record["kind"] = change.kind
            record["path"] = str(change.path)
            if change.kind == "moved":
                record["index"] = change.index
            for name, value in (("before", change.before), ("after", change.after)):
                if value is not MISSING:
                    record[name] = _json_form(value)
            detail = change.detail()
            if isinstance(detail, ArrayDifference):
                record |= _json_of_arrays(detail)
            records.append(record)
        return json.dumps(records, indent=indent)

    def to_json_patch(self, *, indent: int | None = None) -> str:
        r"""Return the changes as a JSON Patch (RFC 6902) that other programs can apply.

        An object is written as the dict of its fields.

        Args:
            indent: As for `json.dumps`.

        Raises:
            EditError: JSON cannot hold a key or a value.

        Example:
            >>> import leafwise as lw
            >>> lw.tree_diff({"a": [1]}, {"a": [1, 2]}).to_json_patch()
            '[{"op": "add", "path": "/a/1", "value": 2}]'
        """
        view = opening_dataclasses(self._context).view
        patch = operations(self, view)
        return json.dumps(patch, indent=indent, allow_nan=False)

    @classmethod
    def from_json_patch(
        cls,
        patch: str | bytes | Sequence[Mapping[str, Any]],
        tree: Any,
        *,
        namespace: str = GLOBAL,
    ) -> TreeDiff:
        """Return the changes that a JSON Patch (RFC 6902) makes to a tree.

        A pointer leads through dicts, lists and the fields of objects. Values are cast
        to the types that classes declare, and a dict becomes an object where one is
        declared or replaced. Objects whose class validates are validated once.

        Args:
            patch: The patch as a string or as a list of operations.
            tree: The tree to which the patch applies.
            namespace: Where classes are looked up before the global registry.

        Raises:
            EditError: Operations are invalid or cannot be applied, or a `test` fails.
                The message says so of each of them, with the keys that there are.
            ValueError: The string is not JSON.
            Exception: What the validation of a class raises, with a note of the path.

        Example:
            >>> import leafwise as lw
            >>> tree = {"a": [1, 2]}
            >>> patch = '[{"op": "move", "from": "/a/0", "path": "/a/1"}]'
            >>> diff = lw.selection.TreeDiff.from_json_patch(patch, tree)
            >>> print(diff)
            > a[0] -> [1]: 1
            >>> diff.apply(tree)
            {'a': [2, 1]}
        """
        context = context_of(none_is_leaf=True, namespace=namespace)
        context = opening_dataclasses(context)
        after = patched(tree, patch, context)
        exact = Comparison(typematch=True)
        return _diff_of(changes_between(tree, after, context, exact), context, exact)


def _json_form(value: Any) -> Any:
    """Return a value for JSON: an array as what it is, others as their text."""
    if _is_many(value):
        form = form_of(value)
        return {"dtype": form.dtype, "shape": list(form.shape)}
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):  # it has no JSON form
        return safe_repr(value)
    return value


def _json_of_arrays(detail: ArrayDifference) -> dict[str, Any]:
    """Return how two arrays differ, for JSON."""
    if detail.differing is None:
        return {}
    places = [
        {
            "at": list(place.at),
            "before": _json_form(_item_of(place.before)),
            "after": _json_form(_item_of(place.after)),
        }
        for place in detail.places
    ]
    return {
        "differing": detail.differing,
        "size": detail.size,
        "absolute": _json_form(detail.absolute),
        "relative": _json_form(detail.relative),
        "not_finite": detail.not_finite,
        "places": places,
    }


def _item_of(element: Any) -> Any:
    """Return an element of an array as a value of Python."""
    return element.item() if hasattr(element, "item") else element


def mismatch(
    path: KeyPath,
    expected: Any,
    value: Any,
) -> EditError:
    """Return the error about a value that is not there, but another one."""
    text = f"expected {short_repr(expected)} at {place_text(path)}"
    return EditError(f"{text}, found {short_repr(value)}", path=path)


# ------------------------------------------------------------------------- comparing


def tree_diff(
    a: Any,
    b: Any,
    *,
    lists: str | Mapping[Any, str] = "align",
    typematch: bool = False,
    rtol: float = 0.0,
    atol: float = 0.0,
    equal_nan: bool = True,
    ignore: Any = None,
    is_leaf: Any = None,
    namespace: str = GLOBAL,
) -> TreeDiff:
    """Find all differences between two trees.

    Dicts are compared key by key, and objects of the same class attribute by attribute.
    Lists and tuples are compared after equal items are matched. Leaves are compared as
    in `tree_equal`, so two trees have no differences exactly when they are equal. See
    :ref:`which leaves are the same <same-value>`.

    Args:
        a: The first tree.
        b: The second tree.
        lists: How two lists are compared. `"align"` finds the fewest items to add and
            to remove. An item that is both removed and added counts as moved, and an
            item that is replaced is compared with its replacement. Items are matched
            without a tolerance. If two long lists have few distinct items, the changes
            may be more than necessary. `"position"` compares position by position. A
            mapping of selectors to keys, such as `{"**.containers": "name"}`, pairs the
            items of these lists by the value of this key; other lists are aligned.
        typematch, rtol, atol, equal_nan: As for `tree_equal`.
        ignore: A selector; nodes and leaves that it picks in either tree are ignored.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        namespace: Where classes are looked up before the global registry.

    Returns:
        The changes that turn `a` into `b`, in the order of `a`.

    Raises:
        CompareError: Two leaves cannot be compared.
        CycleError: A tree contains itself.
        EditError: An item lacks the key that pairs it, or two items have the same key.
        ValueError: A tolerance is negative or not finite, or `lists` is invalid.

    Example:
        >>> import leafwise as lw
        >>> a = {"optim": {"lr": 0.1}, "sizes": (1, 2), "old": None}
        >>> b = {"optim": {"lr": 0.1 + 1e-12, "wd": 0}, "sizes": (1, 3)}
        >>> print(lw.tree_diff(a, b, rtol=1e-6))
        + optim.wd: 0
        ~ sizes[1]: 2 -> 3
        - old: None
        >>> print(lw.tree_diff(["a", "b", "c"], ["new", "c", "b"]))
        ~ [0]: 'a' -> 'new'
        > [1] -> [2]: 'b'
    """
    context = context_of(is_leaf, namespace=namespace)
    values = Comparison(typematch=typematch, rtol=rtol, atol=atol, equal_nan=equal_nan)
    changes = changes_between(a, b, context, values, ignore, lists)
    # a tree to which it is applied matches where it has the same NaN
    matching = Comparison(typematch=typematch, rtol=rtol, atol=atol)
    return _diff_of(changes, context, matching)


def _diff_of(
    changes: Iterable[Change],
    context: Context,
    values: Comparison,
) -> TreeDiff:
    """Return changes as a `TreeDiff` that knows what is a leaf, and what is equal."""
    diff = TreeDiff(changes)
    diff._context = context
    diff._values = values
    return diff


def changes_between(
    a: Any,
    b: Any,
    context: Context,
    values: Comparison,
    ignore: Any = None,
    lists: str | Mapping[Any, str] = "align",
) -> list[Change]:
    """Return the changes that turn one tree into another.

    Args:
        a, b: The trees.
        context: What is a leaf.
        values: Which leaves are the same.
        ignore, lists: As for `tree_diff`.

    Raises:
        CompareError: Two leaves cannot be compared.
        EditError: An item lacks the key that pairs it, or two items have the same key.
        ValueError: `lists` has an invalid value.
    """
    if not isinstance(lists, Mapping) and lists not in ("align", "position"):
        raise ValueError(
            "lists must be one of 'align', 'position', or a mapping from selectors to "
            f"keys; got {short_repr(lists)}"
        )
    marks: list[tuple[Any, Any]] = []
    if isinstance(lists, Mapping):
        marks += [(what, selector(key)) for what, key in lists.items()]
    if ignore is not None:
        marks.append((ignore, _IGNORED))
    start = _Pair(Link(), a, b)
    if marks:
        start = start._replace(marks=mark_places(marks, (a, b), context))
    comparing = _Comparing(context, values, aligns=lists != "position")
    return list(comparing.walk(start))


def differ(
    a: Any,
    b: Any,
    context: Context,
    values: Comparison,
) -> bool:
    """Return whether two trees differ; stops at the first difference.

    Args:
        a, b: The trees.
        context: What is a leaf.
        values: Which leaves are the same.

    Raises:
        CompareError: Two leaves cannot be compared.
    """
    comparing = _Comparing(context, values, aligns=False)
    return any(comparing.walk(_Pair(Link(), a, b)))


class _Pair(NamedTuple):
    """What two trees have at a place, MISSING for nothing.

    Attributes:
        link: The place.
        before: What the first tree has there.
        after: What the second tree has there.
        marks: Which places are ignored, and by which key the items of lists are paired.
        kind: The kind of difference; "" before they are compared.
        position: The `index` of a `Change`.
    """

    link: Link
    before: Any
    after: Any
    marks: MarksPair = None
    kind: str = ""
    position: int | None = None

    def child(
        self,
        key: Any,
        before: Any,
        after: Any,
        kind: str = "",
        position: int | None = None,
    ) -> _Pair:
        """Return what they have below."""
        marks = marks_below(self.marks, key, before, after)
        return _Pair(Link(self.link, key), before, after, marks, kind, position)


_IGNORED: Final = object()
"""The mark of a place that is ignored."""


class _Comparing:
    """One comparison of two trees.

    Attributes:
        aligns: Whether lists are compared after equal items are matched.
    """

    def __init__(
        self,
        context: Context,
        values: Comparison,
        *,
        aligns: bool,
    ) -> None:
        self.context = context
        self.values = values
        self.aligns = aligns
        self.numbering = Numbering(context, values.criteria)
        self.by_position: _Comparing | None = None
        # by the ids of two values, with both, so that the ids stay theirs
        self._verdicts: dict[tuple[int, int], tuple[Any, Any, bool]] = {}

    def paths(self, link: Link) -> tuple[KeyPath, KeyPath]:
        """Return the path of a place in the first tree and in the second."""
        return paths_of(link, self.context.root)

    def same_at_sight(
        self,
        a: Any,
        b: Any,
    ) -> bool:
        """Return whether two values are the same, without looking into them."""
        return (a is b and self.values.equal_nan) or are_equal_scalars(a, b)

    def walk(self, start: _Pair) -> Iterator[Change]:
        """Yield the changes at a place and below.

        Raises:
            CycleError: A tree contains itself.
        """
        steps = Descent(start, (start.before, start.after), self.context)
        for pair in steps:
            kind, pairs_below = self.compare(pair)
            steps.go_on(pairs_below)
            if kind:
                path, other_path = self.paths(pair.link)
                before = pair.before
                after = pair.after
                criteria = self.values.criteria_for(before, after)
                yield Change(
                    kind, path, before, after, pair.position, other_path, criteria
                )

    def same_by_position(self, start: _Pair) -> bool:
        """Return whether values are the same if lists are compared by position.

        The items of a list in a list were compared so before, when those of the outer
        list were aligned. So it is noted which are the same, and nothing is compared
        twice.
        """
        if self.by_position is None:
            self.by_position = _Comparing(self.context, self.values, aligns=False)
        if start.marks is not None:  # places count, not just values
            return not any(self.by_position.walk(start))
        pairs: list[_Pair] = []
        link: Link | None = None  # the place of the first difference
        steps = Descent(start, (start.before, start.after), self.context)
        for pair in steps:
            verdict = None
            if type(pair.link.key) in (SequenceKey, PairKey):
                verdict = self._verdicts.get((id(pair.before), id(pair.after)))
                if verdict is not None and verdict[-1]:
                    continue
                pairs.append(pair)
            kind = "known"
            if verdict is None:
                kind, pairs_below = self.by_position.compare(pair)
                steps.go_on(pairs_below)
            if kind:
                link = pair.link
                break
        is_same = link is None
        links: set[Link] = set()  # of what contains the difference
        while link is not None:
            links.add(link)
            link = link.above
        for pair in pairs:
            key = (id(pair.before), id(pair.after))
            self._verdicts[key] = (pair.before, pair.after, pair.link not in links)
        return is_same

    def compare(self, pair: _Pair) -> tuple[str, list[_Pair]]:
        """Return the kind of difference at a place, "" for none, and what is below."""
        if pair.marks is not None and _IGNORED in marked_values(pair.marks):
            return "", []
        if pair.kind or self.same_at_sight(pair.before, pair.after):
            return pair.kind, []
        try:
            kind, rows = self.values_at(pair)
        except UndecidedError as why:
            path, _ = self.paths(pair.link)
            error = cannot_compare(path, pair.before, pair.after, why)
            raise error from why.__cause__
        return kind, [pair.child(*row) for row in rows]

    def values_at(self, pair: _Pair) -> tuple[str, Rows]:
        """Compare two values; return the kind of difference, and the rows below."""
        a = pair.before
        b = pair.after
        node_type = self.context.node_type_of(a)
        other_node_type = self.context.node_type_of(b)
        if node_type is None and other_node_type is None:
            return ("" if self.values.same(a, b) else "value"), ()
        if node_type is not other_node_type or node_type is None:
            return "type", ()
        if node_type.item_key is None:
            return self.nodes(a, b, node_type)
        # What is in containers of other libraries beside their items does not count.
        if not isinstance(node_type, ItemsNodeType):
            aux = node_type.rest(a)
            other_aux = node_type.rest(b)
            if aux is not other_aux and not exact.same(aux, other_aux):
                return "aux", ()
        if node_type.is_mapping:
            return self.mappings(a, b, node_type)
        return self.sequences(pair, node_type)

    def mappings(
        self,
        a: Any,
        b: Any,
        node_type: NodeType,
    ) -> tuple[str, Rows]:
        """Compare two mappings: first the old keys in their order, then the new ones.

        Where the order of keys is structure, and those of both are in another order,
        the record holds both as a whole.
        """
        items = node_type.items(a)
        other_items = node_type.items(b)
        if not _is_order_same(items, other_items, a, b, node_type):
            return "aux", ()
        rows: list[Any] = []
        skips = self.values.equal_nan
        for index, (key, x) in enumerate(items.items()):
            y = other_items.get(key, _NOTHING)
            if y is _NOTHING:
                rows.append((DictKey(key), x, MISSING, "removed", index))
            elif (x is not y or not skips) and not are_equal_scalars(x, y):
                rows.append((DictKey(key), x, y, "", None))
        rows += [
            (DictKey(key), MISSING, y, "added", index)
            for index, (key, y) in enumerate(other_items.items())
            if key not in items
        ]
        return "", rows

    def sequences(
        self,
        pair: _Pair,
        node_type: NodeType,
    ) -> tuple[str, Rows]:
        """Compare two sequences: after equal items are matched, or by position."""
        items = node_type.items(pair.before)
        other_items = node_type.items(pair.after)
        keys = self.aligned(items, other_items, pair) if self.aligns else None
        if keys is None and node_type.is_fixed:
            return self.nodes(pair.before, pair.after, node_type)
        if keys is None:
            positions = range(len(items))
            other_positions = range(len(other_items))
            by_position = zip_longest(positions, other_positions, fillvalue=-1)
            keys = starmap(PairKey, by_position)
        rows: list[Any] = []
        for i, j, has_moved in keys:
            key = key_of(i, j)
            x = items[i] if i >= 0 else MISSING
            y = other_items[j] if j >= 0 else MISSING
            if has_moved:
                rows.append((key, x, y, "moved", j))
            if i < 0:
                rows.append((key, x, y, "added", j))
            elif j < 0:
                rows.append((key, x, y, "removed", i))
            elif not self.same_at_sight(x, y):
                rows.append((key, x, y, "", None))
        return "", rows

    def aligned(
        self,
        items: list[Any],
        other_items: list[Any],
        pair: _Pair,
    ) -> Iterable[PairKey] | None:
        """Return the items of two lists that may differ, and their counterparts.

        None if they are to be compared by position: some of them are ignored, or at
        most one pair of them differs.
        """
        sizes = len(items), len(other_items)
        if pair.marks is not None:
            keys = marked_values(pair.marks)
            if keys:
                path, other_path = self.paths(pair.link)
                numbers = self.numbering.by_key(items, keys[-1], path)
                other_numbers = self.numbering.by_key(other_items, keys[-1], other_path)
                return paired_items(sizes, *aligned(numbers, other_numbers))
            below = [
                one for marks in pair.marks if marks for one in marks.below.values()
            ]
            if any(_IGNORED in marks.values for marks in below):
                return None
        is_same = map(self.same_at_sight, items, other_items)
        if sizes[0] == sizes[1] and sum(is_same) >= sizes[0] - 1:
            return None

        def same(i: int, j: int) -> bool:
            x = items[i]
            y = other_items[j]
            if pair.marks is None and self.same_at_sight(x, y):
                return True
            return self.same_by_position(pair.child(key_of(i, j), x, y))

        start = 0
        stop, other_stop = sizes
        while start < min(sizes) and same(start, start):
            start += 1
        while start < min(stop, other_stop) and same(stop - 1, other_stop - 1):
            stop -= 1
            other_stop -= 1
        middle = items[start:stop]
        other_middle = other_items[start:other_stop]
        numbers = [self.numbering.of(item) for item in middle]
        other_numbers = [self.numbering.of(item) for item in other_middle]

        def shared(i: int, j: int) -> int:
            return self.numbering.shared(middle[i], other_middle[j])

        sizes = (len(middle), len(other_middle))
        pairs = aligned(numbers, other_numbers)
        return paired_items(sizes, *pairs, start, shared)

    def nodes(
        self,
        a: Any,
        b: Any,
        node_type: NodeType,
    ) -> tuple[str, Rows]:
        """Compare two nodes with a fixed number of children."""
        children, aux = node_type.flatten(a)
        other_children, other_aux = node_type.flatten(b)
        keys = node_type.keys(aux, len(children))
        if keys != node_type.keys(other_aux, len(other_children)):
            return ("type" if isinstance(a, tuple) else "aux"), ()
        pairs = zip(keys, children, other_children, strict=True)
        rows: list[Any] = []
        for key, x, y in pairs:
            if not self.same_at_sight(x, y):
                rows.append((key, x, y, "", None))
        if node_type.same(aux, other_aux):
            return "", rows
        names = node_type.attributes.static_names(a)
        if not names or names != node_type.attributes.static_names(b):
            return "aux", ()
        statics = [(name, getattr(a, name), getattr(b, name)) for name in names]
        changes = [
            (GetAttrKey(name), x, y, "aux", None)
            for name, x, y in statics
            if x is not y
            and not (type(x) is type(y) and are_same(x, y, typematch=True))
        ]
        # without changes, the kinds differ, or something inside static values
        return ("", rows + changes) if changes else ("aux", ())


def _is_order_same(
    items: dict[Any, Any],
    other_items: dict[Any, Any],
    a: Any,
    b: Any,
    node_type: NodeType,
) -> bool:
    """Return whether two mappings have their common keys in one order, if it counts."""
    keys = tuple(items)
    other_keys = tuple(other_items)
    if items.keys() == other_items.keys():
        if keys == other_keys and all(type(key) is str for key in keys):
            return True
        _, aux = node_type.flatten(a)
        _, other_aux = node_type.flatten(b)
        return node_type.same(aux, other_aux)
    common = [key for key in items if key in other_items]
    if common == [key for key in other_items if key in items]:
        return True
    return not _counts_order(keys, node_type) and not _counts_order(
        other_keys, node_type
    )


def _counts_order(keys: tuple[Any, ...], node_type: NodeType) -> bool:
    """Return whether other keys come first if the keys are inserted backwards."""
    order = node_type.order(keys)
    other_order = node_type.order(keys[::-1])
    return not exact.same(order, other_order)


Rows: TypeAlias = Sequence[tuple[Any, Any, Any, str, int | None]]
"""A key, two values, the kind of change ("" before they are compared), and an index."""

_NOTHING: Final = object()
_IN_REPR: Final = 10
"""How many changes are shown there."""


# --------------------------------------------------------------------- lines of text

_WORDS: Final = "changed", "added", "removed", "moved"
_INDENT: Final = "    "
_ITEMS: Final = 3


def counted(number: int, noun: str) -> str:
    """Return a number of things.

    Example:
        >>> from leafwise.selection.diff import counted
        >>> counted(1, "place"), counted(2, "place")
        ('1 place', '2 places')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def headline(diff: Sequence[Change], sides: str = "actual -> expected") -> str:
    """Return the text of an error about two trees, up to the differences."""
    kinds = [c.kind if c.kind in _WORDS else "changed" for c in diff]
    counts = {word: kinds.count(word) for word in _WORDS}
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
    removed_keys = _removed_keys(changes)
    for change in changes[:most]:
        lines = lines_of(change, paint)
        if change.kind == "added" and removed_keys:
            lines[0] += _key_note(change, removed_keys)
        if note is not None:
            lines[0] += note(change)
        yield from lines
    if most is not None and len(changes) > most:
        yield paint(f"and {len(changes) - most} more", "dim")


def _removed_keys(changes: Sequence[Change]) -> dict[tuple[str, str], list[Any]]:
    """Return the keys that were removed from dicts.

    They are found by the text of the dict's path and their own text.
    """
    keys: dict[tuple[str, str], list[Any]] = {}
    for change in changes:
        if change.kind == "removed" and change.path and _is_dict_key(change.path[-1]):
            key = change.path[-1].key
            place = (str(change.path.parent), bare_text(key))
            keys.setdefault(place, []).append(key)
    return keys


def _key_note(change: Change, removed_keys: dict[tuple[str, str], list[Any]]) -> str:
    """Return a note if a key was added that differs from a removed one by its type."""
    if not change.path or not _is_dict_key(change.path[-1]):
        return ""
    key = change.path[-1].key
    place = (str(change.path.parent), bare_text(key))
    sentence = other_type(key, removed_keys.get(place, ()))
    return sentence and f", {escape_controls(sentence)}"


def _is_dict_key(key: Any) -> bool:
    return type(key) is DictKey


def lines_of(change: Change, paint: Painter = unpainted) -> list[str]:
    """Return the lines of one change.

    Args:
        change: The change.
        paint: Adds colours.
    """
    sign = SIGNS[change.kind]
    text = describe_change(change)
    where = paint(place_text(change.path), "path")
    if change.kind == "moved":
        where += f" -> {paint(f'[{change.index}]', 'path')}"
    (_, old, new), *rows = text.rows
    if change.kind in _WORDS:
        values = paint(old if new is None else new, sign)
    elif old == new and text.note:
        values = old
    else:
        values = _arrow(old, new, paint)
    note = f", {text.note}" if text.note else ""
    lines = [f"{paint(sign, sign)} {where}: {values}{note}"]
    for place, old, new in rows:
        if place:
            lines.append(f"{_INDENT}{paint(place, 'path')}: {_arrow(old, new, paint)}")
    texts = [(old, new) for place, old, new in rows if not place]
    for side, sign in ((0, "-"), (1, "+")):
        sides = [pair[side] for pair in texts if pair[side] is not None]
        lines += [f"{_INDENT}{paint(f'{sign} {line}', sign)}" for line in sides]
    if text.more:
        lines.append(f"{_INDENT}{paint(f'and {text.more} more', 'dim')}")
    return lines


def _arrow(
    old: Any,
    new: Any,
    paint: Painter,
) -> str:
    return f"{paint(old, '-')} -> {paint(new, '+')}"


# ------------------------------------------------- the values of a change, as text


TextRow: TypeAlias = "tuple[str, Any, Any]"
"""A place inside, "" for none; the old text, the new one; None on a side without."""


class ChangeText(NamedTuple):
    """The values of a change as text.

    Attributes:
        rows: The texts of the two values, and below them what differs inside.
        note: A note about both values, "" if there is none.
        more: How many places are not among the rows.
    """

    rows: list[TextRow]
    note: str = ""
    more: int = 0


def describe_change(change: Change) -> ChangeText:
    """Return the values of a change as text. Never raises.

    Args:
        change: The change.

    Example:
        >>> import leafwise as lw
        >>> from leafwise.selection.diff import describe_change
        >>> describe_change(lw.tree_diff({"s": {1, 2}}, {"s": {2, 3}})[0]).rows
        [('', '{1, 2}', '{2, 3}')]
    """
    before = change.before
    after = change.after
    old = _brief(before)
    new = _brief(after)
    if change.kind in _WORDS:
        old_side = None if change.kind == "added" else old
        new_side = None if change.kind == "removed" else new
        return ChangeText([("", old_side, new_side)])
    is_clear = old == safe_repr(before) != new == safe_repr(after)
    if not is_clear or (_is_many(before) and _is_many(after)):
        match change.detail():
            case ArrayDifference() as detail:
                return _text_of_arrays(before, after, detail)
            case TextDifference() as detail:
                return _text_of_texts(before, after, detail)
            case SetDifference() as detail:
                return _text_of_sets(before, after, detail)
    labels: Any = ("", "")  # what else tells them apart
    if _type_of(before) is not _type_of(after):
        labels = type_names(_type_of(before), _type_of(after))
    if old == new:
        labels = contrast(before, after)
    if isinstance(labels, str):
        return ChangeText([("", old, f"{new} ({escape_controls(labels)})")])
    marks = [f" ({escape_controls(label)})" if label else "" for label in labels]
    return ChangeText([("", old + marks[0], new + marks[1])])


def _text_of_arrays(
    before: Any,
    after: Any,
    detail: ArrayDifference,
) -> ChangeText:
    old = str(detail.before)
    new = str(detail.after)
    if old == new and type(before) is not type(after):
        old_type, new_type = type_names(type(before), type(after))
        old = f"{old} ({escape_controls(old_type)})"
        new = f"{new} ({escape_controls(new_type)})"
    rows: list[TextRow] = [("", old, new)]
    for place in detail.places:
        old_element = safe_str(place.before)
        new_element = safe_str(place.after)
        is_text = issubclass(type(place.before), str | bytes)
        if is_text or old_element == new_element:
            old_element = short_repr(place.before.item())
            new_element = short_repr(place.after.item())
        rows.append((str(list(place.at)), old_element, new_element))
    if not detail.differing:
        is_same = detail.differing == 0 and detail.size > 0
        return ChangeText(rows, "with the same values" if is_same else detail.why)
    verb = "differs" if detail.differing == 1 else "differ"
    note = f"{detail.differing} of {counted(detail.size, 'element')} {verb}"
    errors = _errors_of_arrays(detail)
    if errors:
        note += f": {', '.join(errors)}"
    return ChangeText(rows, note, detail.differing - len(detail.places))


def _errors_of_arrays(detail: ArrayDifference) -> list[str]:
    """Return how large the differences of two arrays are, in words."""
    errors: list[str] = []
    if detail.absolute is not None:
        error = detail.absolute
        text = str(error) if isinstance(error, int) else f"{error:.6g}"
        at = detail.at or ()
        is_shown = at in [place.at for place in detail.places]
        where = "" if is_shown else f" at {list(at)}"
        errors.append(f"largest error {text}{where}")
        errors.append(f"relative {detail.relative:.3g}")
    if detail.not_finite:
        errors.append(f"{detail.not_finite} with NaN or infinity")
    return errors


def _text_of_texts(
    before: Any,
    after: Any,
    detail: TextDifference,
) -> ChangeText:
    place = f"{detail.what} {detail.position + 1}"
    if detail.line > 1:
        place += f" (line {detail.line}, column {detail.column})"
    if isinstance(before, str | bytes):
        old, new = (counted(size, detail.what) for size in detail.sizes)
    else:
        old = short_repr(before)
        new = short_repr(after)
    rows: list[TextRow] = [("", old, new), ("", detail.before, detail.after)]
    return ChangeText(rows, f"which differ from {place} on")


def _text_of_sets(
    before: Any,
    after: Any,
    detail: SetDifference,
) -> ChangeText:
    old = f"{type(before).__name__} of {len(before)}"
    new = f"{type(after).__name__} of {len(after)}"
    notes: list[str] = []
    columns: list[list[str]] = []
    for word, items in (("removed", detail.removed), ("added", detail.added)):
        texts = [short_repr(item) for item in items[:_ITEMS]]
        if len(items) > _ITEMS:
            texts.append(f"and {len(items) - _ITEMS} more")
        if items:
            notes.append(f"{len(items)} {word}")
        columns.append(texts)
    rows: list[TextRow] = [("", old, new)]
    rows += [("", removed, added) for removed, added in zip_longest(*columns)]
    return ChangeText(rows, ", ".join(notes))


def _type_of(value: Any) -> type:
    """Return the type of a value; of a number that knows its text, int or float."""
    plain = getattr(type(value), "plain", None)
    return plain if plain in (int, float) else type(value)


def _is_many(value: Any) -> bool:
    """Return whether a value is an array with dimensions, and has elements."""
    return bool(arrays.shape_of(value)) and arrays.is_readable(value)


def _brief(value: Any) -> str:
    """Return the text of a value in one line, with arrays as dtype and shape.

    An array without dimensions is a number, which is written in full.
    """
    if _is_many(value):
        return array_text(value)
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


class _ArrayText:
    """A leaf in place of an array, whose `repr` is the short one."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __repr__(self) -> str:
        return array_text(self.array)


# ------------------------------------------------------------------------- JSON Patch


def operations(changes: Iterable[Change], view: View) -> list[dict[str, Any]]:
    """Return changes as operations, in an order in which they can be made.

    Operations that do not depend on list positions come first, then lists from the
    deepest up, so paths above stay valid. In a list, items are removed from the end,
    and then added; an item that moves is removed and added.

    Raises:
        EditError: JSON has no such key or value.
    """
    steps: list[tuple[Any, str, KeyPath, Any]] = []
    lists: dict[KeyPath, int] = {}
    for change in changes:
        path = change.path
        if change.index is None or type(path[-1]) is not SequenceKey:
            word = {"added": "add", "removed": "remove"}.get(change.kind, "replace")
            steps.append(((0,), word, path, change.after))
            continue
        list_number = lists.setdefault(path.parent, len(lists))
        order = (1, -len(path), list_number)
        if change.kind != "added":
            removal_order = (*order, 0, -path[-1].idx)
            steps.append((removal_order, "remove", path, MISSING))
        if change.kind != "removed":
            target = path_below(path.parent, SequenceKey(change.index))
            steps.append(((*order, 1, change.index), "add", target, change.after))
    listed = []
    for _, word, path, value in sorted(steps, key=itemgetter(0)):
        operation = {"op": word, "path": _pointer(path)}
        if value is not MISSING:
            operation["value"] = _json_value(value, path, view)
        listed.append(operation)
    return listed


def _pointer(path: KeyPath) -> str:
    """Return the JSON Pointer of a path.

    Raises:
        EditError: JSON cannot hold one of the keys.
    """
    pointer = ""
    for depth, key in enumerate(path):
        entry = getattr(key, "entry", key)
        is_name = type(key) in (DictKey, GetAttrKey) and type(entry) is str
        if not is_name and type(key) is not SequenceKey:
            place = path[: depth + 1]
            text = f"JSON cannot hold the key {short_repr(entry)} at"
            raise EditError(f"{text} {place_text(place)}", path=place)
        token = str(entry).replace("~", "~0").replace("/", "~1")
        pointer += f"/{token}"
    return pointer


def _json_value(
    value: Any,
    path: KeyPath,
    view: View,
) -> Any:
    """Return a value as JSON has it; an object is the dict of its fields.

    Raises:
        EditError: It has none.
    """
    cls = type(value)
    if cls in (str, bool, int, type(None)) or (cls is float and math.isfinite(value)):
        return value
    key_class, members = _members(value, view)
    if cls is not list and cls is not dict and key_class is not GetAttrKey:
        text = f"JSON cannot hold {short_repr(value)} ({cls.__name__}) at"
        raise EditError(f"{text} {place_text(path)}", path=path)
    table = {}
    for entry, item in enumerate(value) if cls is list else members.items():
        key = key_class(entry)  # pyright: ignore[reportArgumentType]  # fields have names
        place = path_below(path, key)
        _pointer(place)  # refuses a key that is no string
        table[entry] = _json_value(item, place, view)
    return list(table.values()) if cls is list else table


def _members(node: Any, view: View) -> tuple[Any, Any]:
    """Return the class of a node's keys, and its items or fields.

    Those of a mapping or an object have names, those of a sequence positions. A leaf
    has none, and the class is None.
    """
    node_type = view.resolve(type(node))
    if node_type is None:
        return None, {}
    key_class = item_key(node, node_type)
    if key_class is SequenceKey or isinstance(node, Mapping):
        return key_class, node
    if key_class is DictKey:
        return DictKey, entries_of(node, node_type)
    fields = {key.name: value for key, value in fields_of(node, node_type).items()}
    return (GetAttrKey if fields else None), fields


def patched(
    tree: Any,
    patch: Any,
    context: Context,
) -> Any:
    """Return a tree to which a JSON Patch is applied.

    Args:
        tree: The tree.
        patch: The patch: a text, or the list of operations.
        context: What is a leaf.

    Raises:
        EditError: The patch is no list, or some operations cannot be made. The message
            has each of them; the other operations are tried as if these were not there.
        Exception: What the validation of a class raises, with a note of the path.
    """
    operations = json.loads(patch) if isinstance(patch, str | bytes) else patch
    if not isinstance(operations, Sequence):
        text = short_repr(operations)
        raise EditError(f"a JSON Patch is a list of operations, got {text}")
    patching = _Patching(tree, context)
    errors: dict[int, EditError] = {}
    for number, operation in enumerate(operations):
        try:
            patching.apply(operation)
        except EditError as error:
            errors[number] = error
    if errors:
        lines = [f"operation {number}: {error}" for number, error in errors.items()]
        if len(errors) > 1:
            count = f"{len(errors)} of {len(operations)} operations cannot be made"
            lines.insert(0, count)
        first_error, *_ = errors.values()
        raise EditError("\n  ".join(lines), path=first_error.path)
    patching.record.validate()
    return patching.tree


_Target: TypeAlias = tuple[list[Any], TreePlace]
"""Where a JSON Pointer leads: the nodes above, from the root on, and the place.

The value there is MISSING if something can be added.
"""


class _Patching:
    """A tree to which the operations of one patch are applied.

    Attributes:
        tree: The tree.
        record: The objects that were made.
    """

    def __init__(
        self,
        tree: Any,
        context: Context,
    ) -> None:
        self.tree = tree
        self.record = Edited()
        self._context = context
        self._converter = Converter(context.view)
        self._copies: dict[int, Any] = {}  # see `edit_at`

    def apply(self, operation: Any) -> None:
        """Apply one operation.

        Raises:
            EditError: It is no operation, or cannot be made.
        """
        if not isinstance(operation, Mapping):
            raise EditError(f"it is not an object: {short_repr(operation)}")
        word = operation.get("op")
        pointer = operation.get("path")
        value = copy.deepcopy(operation.get("value", MISSING))
        if word not in ("add", "copy", "move", "remove", "replace", "test"):
            raise EditError(f"unknown operation {short_repr(word)}")
        if word in ("add", "replace", "test") and value is MISSING:
            raise EditError("it has no 'value'")
        start = operation.get("from") if word in ("copy", "move") else pointer
        target = self.find(start)
        nodes, place = target
        if word == "add":
            self.add(target, value)
        elif place.value is MISSING:
            raise self.missing(target)
        elif word == "copy":
            self.add(self.find(pointer), copy.deepcopy(place.value))
        elif word == "replace":
            self.edit(target, Set(self.typed(place, value)))
        elif word == "test":
            expected = self.typed(place, value)
            if differ(place.value, expected, self._context, Comparison()):
                raise mismatch(place.path, value, place.value)
        elif not nodes:
            raise EditError("the root cannot be removed", path=ROOT)
        elif word == "move" and str(pointer).startswith(f"{start}/"):
            raise EditError(f"{start!r} cannot be moved into itself")
        else:
            is_item = type(place.link.key) is SequenceKey
            self.edit(target, Move(None) if is_item else Delete())
            if word == "move":
                self.add(self.find(pointer), place.value)

    def edit(
        self,
        target: _Target,
        edit: Edit,
    ) -> None:
        """Make an edit, which copies the nodes above it, but each only once."""
        nodes, place = target
        view = self._context.view
        self.tree = edit_at(place.link, nodes, edit, view, self.record, self._copies)

    def add(
        self,
        target: _Target,
        value: Any,
    ) -> None:
        """Add a value, or set it where something has a name."""
        _, place = target
        value = self.typed(place, value)
        key = place.link.key
        if type(key) is SequenceKey:
            self.edit(target, Insert(value, key.idx))
        elif place.value is not MISSING:
            self.edit(target, Set(value))
        else:
            try:
                self.edit(target, Insert(value))
            except EditError as error:
                raise error if type(key) is DictKey else self.missing(target) from None

    def typed(
        self,
        place: TreePlace,
        value: Any,
    ) -> Any:
        """Return a value of JSON as the declared type, or the class there, asks."""
        declared = self._converter.declared_at(self.tree, place.path)
        cls = type(place.value)
        is_record = isinstance(value, dict) and self._converter.is_record(cls)
        if declared.type is MISSING and is_record:
            declared = Declared(cls)
        if hasattr(place.value, "dtype"):
            declared = declared._replace(converts=True)  # arrays take what they like
        return self._converter.convert_at(place, value, text_of(value), declared)

    def find(self, pointer: Any) -> _Target:
        """Return where a JSON Pointer leads.

        Raises:
            EditError: It is not a pointer, or leads nowhere.
        """
        if type(pointer) is not str or not re.fullmatch("(/([^~/]|~[01])*)*", pointer):
            raise EditError(f"not a JSON Pointer: {short_repr(pointer)}")
        nodes: list[Any] = []
        place = TreePlace(Link(), self.tree)
        for part in pointer.split("/")[1:]:
            if place.value is MISSING:
                raise self.missing((nodes, place))
            nodes.append(place.value)
            place = self.child(place, part.replace("~1", "/").replace("~0", "~"))
        return nodes, place

    def child(
        self,
        place: TreePlace,
        token: str,
    ) -> TreePlace:
        """Return the place below that a part of a pointer leads to.

        Raises:
            EditError: There can be nothing.
        """
        node = place.value
        key_class, members = _members(node, self._context.view)
        entry: Any = token
        entries = members
        if key_class is SequenceKey:
            entry = _position(token, len(members), place.path)
            entries = range(len(members))
        elif key_class is None:
            cls = type(node)
            leaf = f"{short_repr(node)} ({cls.__name__}), which has no members"
            text = f"{short_repr(token)} goes into {leaf}, at {place_text(place.path)}"
            hint = how_to_register(cls)
            raise EditError(text + (hint and f"; {hint}"), path=place.path)
        value = members[entry] if entry in entries else MISSING
        return TreePlace(Link(place.link, key_class(entry)), value)

    def missing(self, target: _Target) -> EditError:
        """Return the error for a place where nothing is, with the keys that exist."""
        nodes, place = target
        path = place.path
        _, members = _members(nodes[-1], self._context.view)
        has = f"has {counted(len(members), 'item')}"
        if not members:
            has = "is empty"
        elif type(path[-1]) is not SequenceKey:
            names = [safe_str(name) for name in members]
            has = f"has {few(nearest_names(safe_str(path[-1].entry), names))}"
        where = f"the {type(nodes[-1]).__name__} at {place_text(path.parent)}"
        return EditError(f"no value at {place_text(path)}; {where} {has}", path=path)


def _position(
    token: str,
    size: int,
    path: KeyPath,
) -> int:
    """Return the position that a part of a pointer stands for in a list.

    Raises:
        EditError: There can be no such position.
    """
    position = size if token == "-" else -1
    if re.fullmatch("0|[1-9][0-9]*", token):
        position = int(token)
    where = place_text(path)
    if position < 0:
        raise EditError(f"{token!r} is not a position, at {where}", path=path)
    if position > size:
        text = f"position {token} is beyond the end of the list at {where}"
        text += f", which has {counted(size, 'item')}"
        raise EditError(text, path=path)
    return position
