"""Summaries of trees: tables of shapes, numbers and bytes.

Owns the counting, which rows a table has, and the table as text, as HTML, for rich and
as rows.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from html import escape
from importlib import import_module
from itertools import accumulate, count, islice, repeat
from operator import attrgetter, mul
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, get_args

from ..core.keypath import KeyPath
from ..core.registry import GLOBAL
from ..core.treedef import PyTreeDef
from ..equality.content import has_memory, shape_of, size_of
from ..kinds import Kind
from ..ops.context import Context, context_of
from ..safely import FAULTS, class_name, clip, printable, type_name
from ..selection.difference import form_of
from ..selection.edit import Selection
from .page import caption, framed
from .text import branches_of, bytes_text, clipped, leaves_text
from .text import columns as taken


if TYPE_CHECKING:
    from ..core.node import IsLeaf


By: TypeAlias = Literal["type", "kind", "dtype", "key"]
Sort: TypeAlias = Literal["count", "bytes"]

_DEEPEST: Final = 100
_LONGEST: Final = 100
_ROOT: Final = "(root)"
_FIELDS: Final = {"type": "type", "kind": "kind", "dtype": "dtype", "key": "path"}


def tree_summary(
    tree: Any,
    *,
    depth: int | None = None,
    sort: Sort | None = None,
    by: By | None = None,
    max_rows: int | None = 100,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> TreeSummary:
    """Summarize a tree as a table of shapes, numbers and bytes, node by node.

    Each leaf has a row, and each node has a row with its totals. A variable has one
    row, for the value in it. All leaves are counted, even if they are not shown. An
    array, a variable or another object that is in several places is counted at the
    first place. Its other places show `→` and that path.

    Args:
        tree: A tree, a treedef, an object, or a tree of values that have only a shape
            and a dtype, such as `jax.ShapeDtypeStruct`. For a selection, the selected
            values.
        depth: How many levels to show below the root; None for all, up to 100.
        sort: The order of the children of a node: `"count"` or `"bytes"` for the
            largest first, None for the order of the tree.
        by: Show one row for each `"type"`, `"kind"`, `"dtype"`, or `"key"` of the root,
            instead of nodes and leaves.
        max_rows: About how many rows to show; rows near the root come first, and the
            rest is counted in separate rows. None for all.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        none_is_leaf: Whether None is a leaf and not a node without children.
        namespace: Where classes are looked up before the global registry.

    Raises:
        ValueError: `sort` or `by` is not one of these, or a number is negative.

    Example:
        >>> import leafwise as lw
        >>> import pytest
        >>> np = pytest.importorskip("numpy")
        >>> table = np.zeros((50, 8), "f4")
        >>> layer = {"w": np.zeros((8, 8), "f4"), "b": np.zeros(8, "f4")}
        >>> lw.tree_summary({"embed": table, "layer": layer, "head": table})
        path                      type     shape    dtype    count   bytes   share
        ──────────────────────────────────────────────────────────────────────────
        (root)                    dict                         472  1.9 kB  100.0%
        ├── ['embed']             ndarray  (50, 8)  float32    400  1.6 kB   84.7%
        ├── ['head'] → ['embed']  ndarray  (50, 8)  float32
        └── ['layer']             dict                          72   288 B   15.3%
            ├── ['b']             ndarray  (8,)     float32      8    32 B    1.7%
            └── ['w']             ndarray  (8, 8)   float32     64   256 B   13.6%
        ──────────────────────────────────────────────────────────────────────────
        3 leaves, 472 numbers, 1.9 kB
        → 1 shared place, counted once
        >>> lw.tree_summary({"rate": 0.1, "sizes": [64, 32]}, by="type")
        type   leaves  count  share
        ───────────────────────────
        float       1      1  33.3%
        int         2      2  66.7%
        ───────────────────────────
        3 leaves, 3 numbers
    """
    for name, word, words in (("sort", sort, Sort), ("by", by, By)):
        known = get_args(words)
        if word is not None and word not in known:
            told = ", ".join(map(repr, known))
            raise ValueError(f"{name} must be one of {told} or None, got {clip(word)}")
    for name, number in (("depth", depth), ("max_rows", max_rows)):
        if number is not None and number < 0:
            raise ValueError(f"{name} must not be negative, got {number}")
    if issubclass(type(tree), Selection):
        tree = {str(path): value for path, value in tree.items()}
    context = context_of(is_leaf, False, none_is_leaf, namespace)
    if type(tree) is PyTreeDef:
        context = context_of(None, False, tree.none_is_leaf, tree.namespace)
        tree = tree.unflatten([_Star()] * tree.num_leaves)
    tally = _Tally(tree, context)
    most = sys.maxsize if max_rows is None else max_rows
    if by is not None:
        rows = _groups(tally, by, sort, most)
    else:
        levels = _DEEPEST if depth is None else min(depth, _DEEPEST)
        rows = _rows(tally, _chosen(tally, levels, most, sort))
    return TreeSummary(rows, tally.amounts(), tally.again, by)


# --------------------------------------------------------------------------- the table

Role: TypeAlias = Literal["node", "leaf", "again", "more", "group"]

_WIDTH: Final = 100
_NARROWEST: Final = 20
_LONGEST_PATH: Final = 1000  # in HTML
_GAP: Final = "  "


class SummaryRow(NamedTuple):
    """A row of a summary.

    Attributes:
        path: The path as text; in a group by key, the key.
        depth: How many nodes are above the row's node or leaf.
        role: `node`; `leaf`; `again`, a value that is counted at another place; `more`,
            the values that are left out; `group`, all leaves of one group.
        type: The name of the class.
        shape: The shape of an array, None for other values.
        dtype: The dtype of an array.
        kind: The kind, such as `parameter`; for a node with several kinds, each kind
            with its number of numbers.
        leaves: The number of leaves counted in this row.
        count: The number of numbers: those in arrays, and one for any other leaf.
        bytes: The number of bytes that arrays take.
        share: The fraction of the whole, from 0 to 1: of the bytes, or of the numbers
            if no leaf has bytes.
        same_as: For `again`, the path at which the value is counted.
        left_out: For `more`, how many values are left out.

    Example:
        >>> import leafwise as lw
        >>> lw.tree_summary({"a": 1, "b": 2}).rows[1]
        ... # doctest: +NORMALIZE_WHITESPACE
        SummaryRow(path="['a']", depth=1, role='leaf', type='int', shape=None, dtype='',
            kind='data', leaves=1, count=1, bytes=0, share=0.5, same_as='', left_out=0)
    """

    path: str = ""
    depth: int = 0
    role: Role = "node"
    type: str = ""
    shape: tuple[int, ...] | None = None
    dtype: str = ""
    kind: str = ""
    leaves: int = 0
    count: int = 0  # type: ignore[assignment]  # hides the method of tuples
    bytes: int = 0
    share: float = 0.0
    same_as: str = ""
    left_out: int = 0

    @property
    def more_text(self) -> str:
        """Return the text for `more`, and an empty text for any other role."""
        return f"… {self.left_out:,} more" if self.role == "more" else ""


class TreeSummary:
    """A summary of a tree as a table; prints as text, displays as HTML in notebooks.

    Attributes:
        rows: The rows that are shown; `pandas.DataFrame(summary.rows)` makes a data
            frame.
        leaves: The number of leaves in the tree.
        count: The number of numbers.
        bytes: The number of bytes.
        kinds: The number of leaves, numbers and bytes of each kind.
        shared: How many places hold a value that is counted at another place.

    Example:
        >>> import leafwise as lw
        >>> summary = lw.tree_summary({"a": 1, "b": [2, 3]})
        >>> summary.leaves, [row.path for row in summary.rows]
        (3, ['', "['a']", "['b']", "['b'][0]", "['b'][1]"])
    """

    def __init__(
        self,
        rows: list[SummaryRow],
        kinds: dict[str, Amount],
        shared: int,
        by: str | None = None,
    ) -> None:
        self.rows = rows
        self.leaves, self.count, self.bytes = _total(kinds.values())
        self.kinds = kinds
        self.shared = shared
        self._by = by

    def to_text(self, width: int | None = None) -> str:
        """Return the table as text, at most `width` columns wide where possible.

        Args:
            width: How many columns the text may have; None for the width of the
                terminal, or 100 if the standard output is not a terminal.
        """
        if width is None:
            width = max(get_terminal_size((_WIDTH, 0)).columns, _NARROWEST)
        columns = self._columns(branches_of([row.depth for row in self.rows]))
        widths = _fitted(columns, width)
        texts = [
            [_padded(text, size, not least) for text in cells]
            for (least, cells), size in zip(columns, widths, strict=True)
        ]
        head, *lines = [_GAP.join(row).rstrip() for row in zip(*texts, strict=True)]
        rule = "─" * (sum(widths) + len(_GAP) * (len(widths) - 1))
        notes = [clipped(note, max(width, _NARROWEST)) for note in self._notes()]
        return "\n".join([head, rule, *lines, rule, *notes])

    def to_html(self) -> str:
        """Return the table as self-contained HTML for light and dark pages."""
        columns = self._columns()
        sides = ["" if least else ' class="lw-right"' for least, _ in columns]
        names, *cells = zip(*[cells for _, cells in columns], strict=True)
        heads = [
            f"<th{side}>{escape(name)}</th>"
            for side, name in zip(sides, names, strict=True)
        ]
        rows = []
        for row, (name, *texts) in zip(self.rows, cells, strict=True):
            title = escape(clipped(row.path, _LONGEST_PATH))
            told = [
                f"<td{side}>{escape(text)}</td>"
                for side, text in zip(sides[1:], texts, strict=True)
            ]
            rows.append(
                f'<tr class="lw-row-{row.role}" style="--depth:{row.depth};'
                f'--share:{row.share:.1%}"><th scope="row" title="{title}">'
                f"{escape(name)}</th>{''.join(told)}</tr>"
            )
        top = f"<thead><tr>{''.join(heads)}</tr></thead>"
        table = f'<table class="lw-summary">{top}<tbody>{"".join(rows)}</tbody></table>'
        return framed(f"{table}{''.join(map(caption, self._notes()))}")

    def __str__(self) -> str:
        return self.to_text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.to_html()

    def __rich_console__(self, _console: Any, options: Any) -> Iterator[Any]:
        text = import_module("rich.text").Text
        yield text(self.to_text(options.max_width), no_wrap=True)

    def _columns(self, branches: Sequence[str] = ()) -> list[_Column]:
        """Return the columns that say something."""
        rows, by = self.rows, self._by
        if by is None:
            names = _labels(rows)
        else:
            names = [row.more_text or getattr(row, _FIELDS[by]) for row in rows]
        if branches:
            names = [f"{a}{b}" for a, b in zip(branches, names, strict=True)]
        found = [(12, [by or "path", *names])]
        hidden = {"leaves"} if by is None else _FORM
        if {row.kind for row in rows} <= {"", _DATA}:
            hidden |= {"kind"}
        for name, (least, text_of) in _CELLS.items():
            texts = [] if name in hidden else [text_of(row) for row in rows]
            if any(texts):
                found.append((least, [name, *texts]))
        return found

    def _notes(self) -> list[str]:
        """Return what is said below the table."""
        numbers = f"{self.count:,} {'number' if self.count == 1 else 'numbers'}"
        size = f", {bytes_text(self.bytes)}" if self.bytes else ""
        notes = [f"{leaves_text(self.leaves)}, {numbers}{size}"]
        if len(self.kinds) > 1:
            notes.append(_kinds_text(self.kinds))
        if self.shared:
            places = "place" if self.shared == 1 else "places"
            notes.append(f"→ {self.shared:,} shared {places}, counted once")
        return notes


_Column: TypeAlias = tuple[int, list[str]]
"""How narrow its cells may be cut, 0 for numbers; and heading and cells."""


def _share_text(row: SummaryRow) -> str:
    if row.role == "again":
        return ""
    return "<0.1%" if 0 < row.share < 0.0005 else f"{row.share:.1%}"


_CELLS: Final[dict[str, tuple[int, Callable[[SummaryRow], str]]]] = {
    "type": (6, lambda row: row.type),
    "shape": (6, lambda row: "" if row.shape is None else str(row.shape)),
    "dtype": (7, lambda row: row.dtype),
    "kind": (9, lambda row: row.kind),
    "leaves": (0, lambda row: f"{row.leaves:,}"),
    "count": (0, lambda row: "" if row.role == "again" else f"{row.count:,}"),
    "bytes": (0, lambda row: bytes_text(row.bytes) if row.bytes else ""),
    "share": (0, _share_text),
}
"""How narrow the cells of a column may be cut, and their texts."""
_FORM: Final = {"type", "shape", "dtype", "kind"}


def _labels(rows: Sequence[SummaryRow]) -> list[str]:
    """Return what of their paths is not said by the rows above."""
    labels = []
    above = [""]
    for row in rows:
        del above[row.depth + 1 :]
        label = row.path.removeprefix(above[-1]) or _ROOT
        above.append(row.path)
        same_as = f" → {row.same_as}" if row.role == "again" else ""
        labels.append(row.more_text or f"{label}{same_as}")
    return labels


def _kinds_text(amounts: dict[str, Amount]) -> str:
    """Return the kinds as text, with the size of each if there are several."""
    found = [kind.value for kind in Kind if kind.value in amounts]
    if len(found) < 2:
        return "".join(found)
    return ", ".join(f"{kind}: {amounts[kind].count:,}" for kind in found)


def _fitted(columns: Sequence[_Column], width: int) -> list[int]:
    """Return how wide each column is: those that may be cut share what is left."""
    widths = [max(map(taken, cells)) for _, cells in columns]
    least = [
        min(narrowest or widest, widest)
        for (narrowest, _), widest in zip(columns, widths, strict=True)
    ]
    spare = max(width - sum(least) - len(_GAP) * (len(least) - 1), 0)
    narrow = sorted(range(len(least)), key=lambda place: widths[place])
    for left, place in zip(range(len(least), 0, -1), narrow, strict=True):
        more = min(widths[place] - least[place], spare // left)
        spare -= more
        widths[place] = least[place] + more
    return widths


def _padded(text: str, width: int, is_right: bool) -> str:
    text = clipped(text, width)
    blank = " " * (width - taken(text))
    return f"{blank}{text}" if is_right else f"{text}{blank}"


# ---------------------------------------------------------------------------- counting


class Amount(NamedTuple):
    """A number of leaves, numbers and bytes.

    Attributes:
        leaves: The number of leaves.
        count: The number of numbers: those in arrays, and one for any other leaf.
        bytes: The number of bytes that arrays take.
    """

    leaves: int = 0
    count: int = 0  # type: ignore[assignment]  # hides the method of tuples
    bytes: int = 0


def _total(amounts: Iterable[Amount]) -> Amount:
    return Amount(*map(sum, zip(*amounts, (0, 0, 0), strict=True)))


class _Again(NamedTuple):
    """A child that is counted at another place: the node around that, and its index."""

    above: _Node
    place: int


_Spot: TypeAlias = tuple[int, Any, int, int]
"""The index of a child, the child, and which of the counted leaves it has."""


class _Class(NamedTuple):
    """The properties that all values of a class share.

    Attributes:
        rule: The rule of nodes, None for leaves.
        size: Returns the number of numbers of a leaf, and of bytes.
        is_plain: Whether it is a leaf that is no array.
        is_array: Whether it is an array, which may be in several places.
        kinds: Returns the kinds of the children, if the class knows them: takes aux
            data, and the kind of the place of the node.
        is_cell: Whether a node represents the one value in it, as a variable does.
        is_object: Whether it is an object that says what is data in it.
        is_open: Whether its attributes are not marked, nor what is in these.
    """

    rule: Any
    size: Callable[[Any], tuple[int, int]] = size_of
    is_plain: bool = False
    is_array: bool = False
    kinds: Callable[[Any, Kind], list[Kind] | None] | None = None
    is_cell: bool = False
    is_object: bool = False
    is_open: bool = False


class _Node:
    """A node of the tree.

    Attributes:
        above, place: The node around it and its index there; the root is in a node of
            its own.
        value, info, aux: The node itself, what is known of its class, its aux data.
        children: Its children: a `_Node`, an `_Again`, or the leaf itself.
        start, end: Which of the counted leaves are inside.
        is_open: Whether only arrays in it are counted, unless an object marks others.
    """

    def __init__(
        self, above: Any, place: int, value: Any, info: _Class, aux: Any, start: int
    ) -> None:
        self.above: _Node | None = above
        self.place = place
        self.value = value
        self.info = info
        self.aux = aux
        self.children: list[Any] = []
        self.start = self.end = start
        self.is_open = info.is_open
        self._keys: Any = None

    @property
    def keys(self) -> Sequence[Any]:
        """The keys of the children."""
        if self._keys is None:
            self._keys = self.info.rule.keys(self.aux, len(self.children))
        return self._keys  # type: ignore[no-any-return]

    @property
    def is_cell(self) -> bool:
        """Whether the node represents its only leaf, as a variable does."""
        if not self.info.is_cell:
            return False
        return [type(child) is _Node for child in self.children] == [False]

    def spots(self) -> Iterator[_Spot]:
        """Yield the children."""
        at = self.start
        for place, child in enumerate(self.children):
            start = at
            if type(child) is _Node:
                at = child.end
            elif type(child) is not _Again:
                at += 1
            yield place, child, start, at


class _Star:
    """A leaf of a treedef."""


_DATA: Final = Kind.DATA.value
_PLAIN: Final = {bool, int, float, complex, str, bytes, type(None), _Star}
_Rest: TypeAlias = "Iterator[tuple[int, Any, str]]"
"""Children that are still to come: index, value, kind."""


class _Tally:
    """The counts of a tree, made in one pass over all leaves, of any depth.

    What cannot be flattened is a leaf. An array, a variable or another object that is
    in several places counts where it is first.

    Attributes:
        top: A node that has just the root.
        again: The number of places that hold what is counted elsewhere.
        cells: The nodes that represent values, as variables do.
        values: The leaves that are counted.
        kinds, counts, sizes: Their kinds, numbers of numbers, and bytes.
    """

    def __init__(self, tree: Any, context: Context) -> None:
        self.context = context
        self.again = 0
        self.cells: list[_Node] = []
        self.values: list[Any] = []
        self.kinds: list[str] = []
        self.counts: list[int] = []
        self.sizes: list[int] = []
        self.first: dict[int, tuple[_Node, int]] = {}  # all is held: no id twice
        self.classes: dict[type, _Class] = {}
        self.top = _Node(None, 0, None, _Class(None), None, 0)
        self.top.children = [tree]
        self.read()
        self.sums = {}
        kinds = dict.fromkeys(self.kinds)
        for kind in kinds:
            columns: list[Iterable[int]] = [repeat(1, len(self.kinds))]
            columns += self.counts, self.sizes
            if len(kinds) > 1:
                chosen = [each == kind for each in self.kinds]
                columns = [map(mul, column, chosen) for column in columns]
            self.sums[kind] = [[*accumulate(c, initial=0)] for c in columns]

    def amounts(self, start: int = 0, end: int = -1) -> dict[str, Amount]:
        """Return the amounts in a range of the leaves, by kind."""
        found = {}
        for kind, sums in self.sums.items():
            amount = Amount(*[numbers[end] - numbers[start] for numbers in sums])
            if amount.leaves:
                found[kind] = amount
        return found

    def amount(self, spot: _Spot) -> Amount:
        """Return the amount of a child: nothing, if it is counted elsewhere."""
        return _total(self.amounts(*spot[2:]).values())

    def read(self) -> None:
        """Go through all leaves, and note what is counted of each."""
        classes, first, values = self.classes, self.first, self.values
        add_value, add_kind = values.append, self.kinds.append
        add_count, add_size = self.counts.append, self.sizes.append
        node = self.top
        rest: _Rest = zip(count(), node.children, (_DATA,))
        frames: list[tuple[_Node, _Rest]] = []
        while True:
            for place, value, kind in rest:
                info = classes.get(type(value)) or self.learn(value)
                numbers, size = 1, 0
                if not info.is_plain:
                    if id(value) in first:
                        node.children[place] = _Again(*first[id(value)])
                        self.again += 1
                        continue
                    if info.rule is not None:
                        inner = self.enter(value, info, node, place, kind)
                        if inner is not None:
                            frames.append((node, rest))
                            node, rest = inner
                            break
                    if info.is_array:
                        first[id(value)] = node, place
                    numbers, size = info.size(value)
                add_value(value)
                add_kind(kind)
                add_count(numbers)
                add_size(size)
            else:
                node.end = len(values)
                if not frames:
                    return
                node, rest = frames.pop()

    def enter(
        self, value: Any, info: _Class, above: _Node, place: int, kind: str
    ) -> tuple[_Node, _Rest] | None:
        """Return the node of a value, with its children; None if it is a leaf."""
        if self.context.stops_at(value):
            return None
        try:
            children, aux = info.rule.flatten(value)
            node = _Node(above, place, value, info, aux, len(self.values))
            node.children = [*children]
            if above.is_open and not (info.is_object or info.is_cell):
                node.is_open = True
                kept = [
                    place
                    for place, child in enumerate(children)
                    if self.learn(child).rule or shape_of(child) is not None
                ]
                node._keys = [node.keys[place] for place in kept]
                node.children = [children[place] for place in kept]
            given = None if info.kinds is None else info.kinds(aux, Kind(kind))
        except FAULTS:  # of the user's flatten: then it is a leaf
            return None
        kinds = repeat(kind) if given is None else [each._value_ for each in given]
        if children and type(value) is not tuple:  # equal constants are one tuple
            self.first[id(value)] = above, place
        above.children[place] = node
        if info.is_cell:
            self.cells.append(node)
        return node, zip(count(), node.children, kinds)

    def learn(self, value: Any) -> _Class:
        """Return what is known of values of a class, of which this is one."""
        cls, rule = type(value), None
        if cls in self.classes:
            return self.classes[cls]
        with suppress(*FAULTS):  # a class may answer anything
            rule = self.context.view.resolve(cls) or cls._leafwise_spec.rule
        if rule is None:
            is_numpy = cls is getattr(sys.modules.get("numpy"), "ndarray", None)
            size = attrgetter("size", "nbytes") if is_numpy else size_of
            info = _Class(None, size, cls in _PLAIN, has_memory(value))
        else:
            spec = getattr(rule.cls, "_leafwise_spec", None)
            info = _Class(
                rule,
                kinds=getattr(rule.cls, "_leafwise_kinds", None),
                is_cell=getattr(rule.cls, "_leafwise_counts", False) is True,
                is_object=spec is not None,
                is_open=spec is not None and not spec.pytree,
            )
        self.classes[cls] = info
        return info


# ------------------------------------------------------------------------------- rows


def _chosen(
    tally: _Tally, levels: int, most: int, sort: Sort | None
) -> dict[_Node, list[_Spot]]:
    """Return the children of nodes that have rows, chosen level by level.

    What is near the root comes first, and the nodes of a level share what is left of
    the limit, so that one long list hides nothing else.
    """
    name: str = sort or ""

    def first(node: _Node, number: int) -> list[_Spot]:
        spots = node.spots()
        if not name:
            return [*islice(spots, number)]
        return sorted(spots, key=lambda s: -getattr(tally.amount(s), name))[:number]

    chosen = {tally.top: first(tally.top, 1)}
    spare, level = most - 1, [tally.top]
    for _ in range(levels):
        inner = [spot[1] for node in level for spot in chosen.get(node, ())]
        level = [n for n in inner if type(n) is _Node and n.children and not n.is_cell]
        if not level or spare <= 0:
            break
        by_size = sorted(level, key=lambda node: len(node.children))
        for left, node in zip(range(len(level), 0, -1), by_size, strict=True):
            size = len(node.children)
            share = min(size, spare // left)
            number = share if share == size else share - 1  # and a row for the rest
            if number > 0:
                spare -= share
                chosen[node] = first(node, number)
    return chosen


def _rows(tally: _Tally, chosen: dict[_Node, list[_Spot]]) -> list[SummaryRow]:
    """Return the rows of nodes and leaves."""
    whole = _total(tally.amounts().values())

    def below(above: _Node, path: str, depth: int) -> Iterator[SummaryRow]:
        spots = chosen.get(above, [])
        for spot in spots:
            place, child, start, end = spot
            here = path + _label(above, place)
            yield _row(child, tally.amounts(start, end), whole, path=here, depth=depth)
            if type(child) is _Node:
                yield from below(child, here, depth + 1)
        left_out = len(above.children) - len(spots)
        if spots and left_out:
            inside = _total(tally.amounts(above.start, above.end).values())
            shown = _total(map(tally.amount, spots))
            rest = Amount(*[a - b for a, b in zip(inside, shown, strict=True)])
            numbers = _numbers(rest, whole)
            yield SummaryRow(path, depth, "more", left_out=left_out, **numbers)

    return [*below(tally.top, "", 0)]


def _row(
    child: Any, amounts: dict[str, Amount], whole: Amount, **where: Any
) -> SummaryRow:
    """Return the row of a child; a variable has that of its value."""
    role: Role = "leaf"
    same_as = ""
    if type(child) is _Again:
        role, same_as, child = "again", *_first_place(child)
    name = _type_text(child)
    if type(child) is _Node and not child.is_cell:
        role, child = (same_as and "again") or "node", None
    elif type(child) is _Node:
        (child,) = child.children
        if type(child) is _Again:
            first, child = _first_place(child)
            role, same_as = "again", same_as or first
    shape, dtype = _form(child)
    return SummaryRow(
        **where, role=role, type=name, shape=shape, dtype=dtype,
        kind=_kinds_text(amounts), same_as=same_as,
        **_numbers(_total(amounts.values()), whole),
    )  # fmt: skip


def _numbers(amount: Amount, whole: Amount) -> dict[str, Any]:
    """Return the numbers of a row."""
    share = amount.bytes / whole.bytes if whole.bytes else 0.0
    if whole.count and not whole.bytes:
        share = amount.count / whole.count
    return {**amount._asdict(), "share": share}


def _label(node: _Node, place: int) -> str:
    """Return a key as text that is short and safe to print; nothing for the root."""
    if node.above is None:
        return ""
    try:
        text = str(KeyPath((node.keys[place],)))
    except FAULTS:
        return f"[{place}]"
    return _clipped(text, "]" if text.endswith("]") else "")


def _clipped(text: str, end: str = "") -> str:
    """Return a text that is short and safe to print."""
    safe = printable(text[: _LONGEST + 1])
    if len(safe) > _LONGEST:
        safe = f"{safe[: _LONGEST - 1 - len(end)]}…{end}"
    return safe


def _first_place(again: _Again) -> tuple[str, Any]:
    """Return where a value is counted, and the value; of a long path only the end."""
    node, place = again
    child = node.children[place]
    if node.is_cell and node.above is not None:
        node, place = node.above, node.place
    labels: list[str] = []
    while node.above is not None and len(labels) < _DEEPEST:
        labels.append(_label(node, place))
        node, place = node.above, node.place
    start = "" if node.above is None else "…"
    return "".join([start, *reversed(labels)]) or _ROOT, child


def _type_text(value: Any) -> str:
    """Return the name of the class of a value, or of what a node stands for."""
    if type(value) is _Node:
        return _clipped(class_name(type(value.value), qualified=False))
    return "*" if type(value) is _Star else _clipped(type_name(value))


def _form(value: Any) -> tuple[tuple[int, ...] | None, str]:
    """Return the shape and the dtype of an array."""
    shape = shape_of(value)
    if shape is None:
        return None, ""
    try:
        return shape, _clipped(form_of(value).dtype)
    except FAULTS:
        return shape, ""


# ----------------------------------------------------------------------------- groups


def _groups(tally: _Tally, by: By, sort: Sort | None, most: int) -> list[SummaryRow]:
    """Return a row for each group, in the order in which they are met."""
    sums: dict[str, Amount] = {}
    names = _group_names(tally, by)
    for name, number, size in zip(names, tally.counts, tally.sizes, strict=True):
        leaves, numbers, held = sums.get(name) or Amount()
        sums[name] = Amount(leaves + 1, numbers + number, held + size)
    groups = [*sums.items()]
    if sort is not None:
        groups.sort(key=lambda group: -getattr(group[1], sort))
    whole = _total(sums.values())
    rows = []
    for name, amount in groups[:most]:
        said: dict[str, Any] = {"role": "group", _FIELDS[by]: name}
        rows.append(SummaryRow(**said, **_numbers(amount, whole)))
    rest = [amount for _, amount in groups[most:]]
    if rest:
        left_out = _numbers(_total(rest), whole)
        rows.append(SummaryRow(role="more", left_out=len(rest), **left_out))
    return rows


def _group_names(tally: _Tally, by: By) -> list[str]:
    """Return for each leaf that is counted which group it belongs to."""
    values = tally.values
    if by == "kind":
        return tally.kinds
    if by == "dtype":
        return [_form(value)[1] or _type_text(value) for value in values]
    if by == "type":
        examples = dict(zip(map(type, values), values, strict=True))
        texts = {cls: _type_text(value) for cls, value in examples.items()}
        names = [texts[type(value)] for value in values]
        for cell in tally.cells:
            names[cell.start : cell.end] = [_type_text(cell)] * (cell.end - cell.start)
        return names
    (root,) = tally.top.children
    node = root if type(root) is _Node and not root.is_cell else tally.top
    return [
        _label(node, place) or _ROOT
        for place, _, start, end in node.spots()
        for _ in range(end - start)
    ]
