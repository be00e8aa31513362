"""Summaries of trees: tables of shapes, numbers and bytes.

Owns the counting, which rows a table has, and the table as text, as HTML, for rich and
as rows.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from html import escape
from importlib import import_module
from itertools import accumulate, compress, repeat
from operator import add, mul, sub
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, get_args

from .._text import FAULTS, escape_controls, safe_str, short_repr
from ..core.context import Context, context_of
from ..core.keypath import KeyPath
from ..core.keys import DictKey, SequenceKey
from ..core.registry import GLOBAL
from ..core.treedef import PyTreeDef
from ..equality.arrays import has_memory, shape_of, size_of
from ..fields import Kind
from ..selection.diff import form_of
from ..selection.edit import Selection
from .outline import fair_share
from .page import caption, framed
from .text import branches_of, bytes_text, clipped, leaves_text
from .text import columns as taken


if TYPE_CHECKING:
    from .._typing import IsLeaf


By: TypeAlias = Literal["type", "dtype"]

_DEEPEST: Final = 100
_LONGEST: Final = 100
_ROOT: Final = "(root)"
_DATA: Final = Kind.DATA.value


def tree_summary(
    tree: Any,
    *,
    depth: int | None = None,
    by: By | None = None,
    max_rows: int | None = 100,
    is_leaf: IsLeaf = None,
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
        by: Show one row for each `"type"` or `"dtype"`, instead of nodes and leaves.
        max_rows: About how many rows to show; rows near the root come first, and the
            rest is counted in separate rows. None for all.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        namespace: Where classes are looked up before the global registry.

    Raises:
        ValueError: `by` is not one of these, or a number is negative.

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
    if by is not None and by not in get_args(By):
        words = ", ".join(map(repr, get_args(By)))
        raise ValueError(f"by must be one of {words} or None, got {short_repr(by)}")
    for name, number in (("depth", depth), ("max_rows", max_rows)):
        if number is not None and number < 0:
            raise ValueError(f"{name} must not be negative, got {number}")
    if issubclass(type(tree), Selection):
        tree = {str(path): value for path, value in tree.items()}
    context = context_of(is_leaf, namespace=namespace)
    if type(tree) is PyTreeDef:
        context = context_of(None, False, tree.none_is_leaf, tree.namespace)
        tree = tree.unflatten([_Star()] * tree.num_leaves)
    root, shared = _read(tree, context)
    most = sys.maxsize if max_rows is None else max_rows
    if by is not None:
        rows = _groups(root, by, most)
    else:
        levels = _DEEPEST if depth is None else min(depth, _DEEPEST)
        rows = _rows(root, levels, most)
    return TreeSummary(rows, root.amounts, shared, by)


# --------------------------------------------------------------------------- the table

Role: TypeAlias = Literal["node", "leaf", "again", "more", "group"]

_WIDTH: Final = 100
_NARROWEST: Final = 20
_NARROWEST_COLUMN: Final = 6
_LONGEST_PATH: Final = 1000  # in HTML
_GAP: Final = "  "


class SummaryRow(NamedTuple):
    """A row of a summary.

    Attributes:
        path: The path as text.
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
        kinds: Mapping[str, tuple[int, int, int]],
        shared: int,
        by: str | None = None,
    ) -> None:
        self.rows = rows
        total = _total(kinds.values())
        self.leaves: int = total.leaves
        self.count: int = total.count
        self.bytes: int = total.bytes
        self.kinds: dict[str, Amount] = {
            kind: Amount(*amount) for kind, amount in kinds.items()
        }
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
        widths = [max(map(taken, cells)) for _, cells in columns]
        # columns of text share what the others leave
        wide = [w for (is_text, _), w in zip(columns, widths, strict=True) if is_text]
        spare = width - (sum(widths) - sum(wide)) - len(_GAP) * (len(widths) - 1)
        most = max(fair_share(wide, spare - len(wide)), _NARROWEST_COLUMN)
        texts = []
        for n, (is_text, cells) in enumerate(columns):
            widths[n] = min(widths[n], most) if is_text else widths[n]
            cut = [clipped(text, widths[n]) for text in cells]
            blanks = [" " * (widths[n] - taken(text)) for text in cut]
            sides = (cut, blanks) if is_text else (blanks, cut)
            texts.append([*map("".join, zip(*sides, strict=True))])
        head, *lines = [_GAP.join(row).rstrip() for row in zip(*texts, strict=True)]
        rule = "─" * (sum(widths) + len(_GAP) * (len(widths) - 1))
        notes = [clipped(note, max(width, _NARROWEST)) for note in self._notes()]
        return "\n".join([head, rule, *lines, rule, *notes])

    def to_html(self) -> str:
        """Return the table as self-contained HTML for light and dark pages."""
        columns = self._columns()
        sides = ["" if is_text else ' class="lw-right"' for is_text, _ in columns]
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

    def _columns(self, branches: Sequence[str] = ()) -> list[tuple[bool, list[str]]]:
        """Return the columns that say something.

        Each with whether its cells are text, which may be cut, and heading and cells.
        """
        rows, by = self.rows, self._by
        if by is None:
            names, above = [], [""]
            for row in rows:  # of each path what is not said by the rows above
                del above[row.depth + 1 :]
                label = row.path.removeprefix(above[-1]) or _ROOT
                above.append(row.path)
                same_as = f" → {row.same_as}" if row.role == "again" else ""
                names.append(row.more_text or f"{label}{same_as}")
        else:
            names = [row.more_text or getattr(row, by) for row in rows]
        if branches:
            names = [f"{a}{b}" for a, b in zip(branches, names, strict=True)]
        found = [(True, [by or "path", *names])]
        hidden = {"leaves"} if by is None else {"type", "shape", "dtype", "kind"}
        if {row.kind for row in rows} <= {"", _DATA}:
            hidden |= {"kind"}
        for name, (is_text, text_of) in _CELLS.items():
            texts = [] if name in hidden else [text_of(row) for row in rows]
            if any(texts):
                found.append((is_text, [name, *texts]))
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


def _share_text(row: SummaryRow) -> str:
    if row.role == "again":
        return ""
    return "<0.1%" if 0 < row.share < 0.0005 else f"{row.share:.1%}"


_CELLS: Final[dict[str, tuple[bool, Callable[[SummaryRow], str]]]] = {
    "type": (True, lambda row: row.type),
    "shape": (True, lambda row: "" if row.shape is None else str(row.shape)),
    "dtype": (True, lambda row: row.dtype),
    "kind": (True, lambda row: row.kind),
    "leaves": (False, lambda row: f"{row.leaves:,}"),
    "count": (False, lambda row: "" if row.role == "again" else f"{row.count:,}"),
    "bytes": (False, lambda row: bytes_text(row.bytes) if row.bytes else ""),
    "share": (False, _share_text),
}
"""Whether the cells of a column are text, and what stands in them."""


def _kinds_text(amounts: Mapping[str, tuple[int, int, int]]) -> str:
    """Return the kinds as text, with the count of each if there are several."""
    found = [kind.value for kind in Kind if kind.value in amounts]
    if len(found) < 2:
        return "".join(found)
    return ", ".join(f"{kind}: {amounts[kind][1]:,}" for kind in found)


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


def _total(amounts: Iterable[tuple[int, int, int]]) -> Amount:
    return Amount(*map(sum, zip(*amounts, (0, 0, 0), strict=True)))


_Star: Final = type("*", (), {})
"""The class of the leaves of a treedef."""
_PLAIN: Final = {bool, int, float, complex, str, bytes, _Star}
"""The classes of leaves that are no arrays."""


class _Entry:
    """A node or leaf, and what is counted there.

    Attributes:
        above, index: The node around it, and its index there; None and 0 for the root.
        value: The node or leaf.
        kind: The kind of a leaf.
        sums: By kind, the number of leaves, numbers and bytes before each leaf.
        start, end: The range of its leaves, among all that are counted.
        first: The entry at which the value is counted, if that is another one.
        rule, aux: The rule and the aux data of a node.
        keys: The keys of its children; None if the rule has bare keys.
        values, kinds: The children, and their kinds if the node knows them.
        inner: The entries of those that are nodes or counted elsewhere, by index.
        is_variable: Whether it is a variable.
        is_open: Whether only arrays in it are counted, unless an object marks others.
    """

    __slots__ = (
        "above", "aux", "end", "first", "index", "inner", "is_open", "is_variable",
        "keys", "kind", "kinds", "rule", "start", "sums", "value", "values",
    )  # fmt: skip

    def __init__(
        self, above: Any, index: int, value: Any, kind: Kind, start: int, sums: Any
    ) -> None:
        self.above, self.index, self.value, self.kind = above, index, value, kind
        self.start, self.end, self.sums = start, start, sums
        self.first: Any = None
        self.rule: Any = None

    def children(self: Any, most: int | None = None) -> list[_Entry]:
        """Return the entries of the children, or of the first ones."""
        found: list[_Entry] = []
        start = self.start
        for index, value in enumerate(self.values[:most]):
            entry = self.inner.get(index)
            if entry is None:
                kind = self.kinds[index] if self.kinds else self.kind
                entry = _Entry(self, index, value, kind, start, self.sums)
                entry.end += 1
            start = entry.end
            found.append(entry)
        return found

    @property
    def amounts(self) -> dict[str, Amount]:
        """What is counted here, by kind."""
        start, end = self.start, self.end
        return {
            kind: Amount(*[sums[end] - sums[start] for sums in columns])
            for kind, columns in self.sums.items()
            if columns[0][end] > columns[0][start]
        }

    @property
    def amount(self) -> Amount:
        """What is counted of all kinds."""
        return _total(self.amounts.values())

    @property
    def is_cell(self: Any) -> bool:
        """Whether this is a variable of one value, for which it stands."""
        if self.rule is None or not self.is_variable or len(self.values) != 1:
            return False
        return bool(self.children()[0].rule is None)

    @property
    def outer(self) -> Any:
        """The entry that is shown: the variable around a value, else this one."""
        return self.above if self.above is not None and self.above.is_cell else self

    @property
    def type(self) -> str:
        """The name of the class of the value."""
        return clipped(escape_controls(type(self.value).__name__), _LONGEST)

    @property
    def label(self) -> str:
        """The key as text that is short and safe to print; nothing for the root."""
        node = self.above
        if node is None:
            return ""
        if node.keys is not None:
            key = node.keys[self.index]
        else:
            bare = node.rule.bare_keys(node.aux, len(node.values))[self.index]
            key = DictKey(bare) if node.rule.is_mapping else SequenceKey(bare)
        return clipped(escape_controls(safe_str(KeyPath((key,)))), _LONGEST)

    @property
    def path(self) -> str:
        """The path as text; of a long one only the end."""
        labels: list[str] = []
        entry = self.outer
        while entry.above is not None and len(labels) < _DEEPEST:
            labels.append(entry.label)
            entry = entry.above
        start = "" if entry.above is None else "…"
        return "".join([start, *reversed(labels)])


def _read(tree: Any, context: Context) -> tuple[_Entry, int]:
    """Count the leaves of a tree of any depth in one walk.

    An array, a variable or another object that is in several places counts where it is
    first. What cannot be flattened is a leaf.

    Returns:
        The entry of the root, and how many places hold what is counted elsewhere.
    """

    def look_up(cls: Any) -> Any:
        """Return the rule, None for a leaf, and what our own classes say of theirs."""
        rule = None
        with suppress(*FAULTS):  # a class may answer anything
            rule = context.view.resolve(cls) or cls._leafwise_spec.rule
        names = "_leafwise_spec", "_leafwise_kinds", "_leafwise_counts"
        return rule, *[getattr(getattr(rule, "cls", None), x, None) for x in names]

    def open_node(entry: Any) -> bool:
        """Find what is in a value; return whether it is a node."""
        rule, spec, find_kinds, is_variable = about(type(entry.value))
        if context.stop is not None and context.stops_at(entry.value):
            return False
        is_inside = entry.above.is_open
        only_arrays = is_inside and spec is None and not is_variable
        try:
            values, aux = rule.flatten(entry.value)
            has_bare = rule.reads_items and not only_arrays
            keys: Any = None if has_bare else rule.keys(aux, len(values))
            if only_arrays:
                is_kept = [about(type(x))[0] or shape_of(x) is not None for x in values]
                keys = [*compress(keys, is_kept)]
                values = [*compress(values, is_kept)]
            entry.kinds = find_kinds and find_kinds(aux, entry.kind)
        except FAULTS:  # of the user's flatten
            return False
        entry.rule, entry.aux, entry.keys, entry.values = rule, aux, keys, values
        entry.inner, entry.is_variable = {}, is_variable is True
        entry.is_open = is_inside if spec is None else not spec.pytree
        return True

    about: Any = functools.cache(look_up)
    shared = 0
    firsts: dict[int, tuple[Any, int]] = {}  # entries hold them: no id comes twice
    plain = {cls for cls in _PLAIN if about(cls)[0] is None}
    ndarray = getattr(sys.modules.get("numpy"), "ndarray", None)
    of_kind: list[Kind] = []
    counts, sizes = list[int](), list[int]()  # the numbers and bytes of each leaf
    sums: dict[str, list[list[int]]] = {}
    node: Any = _Entry(None, 0, None, Kind.DATA, 0, sums)
    node.values, node.kinds, node.inner, node.is_open = [tree], None, {}, False
    around: list[tuple[_Entry, Any]] = []
    rest: Any = enumerate([(tree, Kind.DATA)])
    while True:
        for index, (value, kind) in rest:
            count, size = 1, 0
            if type(value) not in plain:
                name = id(value)
                if name in firsts or about(type(value))[0] is not None:
                    entry: Any = _Entry(node, index, value, kind, len(counts), sums)
                    if name in firsts:
                        above, at = firsts[name]
                        first = above.inner.get(at)
                        entry.first = first or _Entry(above, at, value, kind, 0, sums)
                        node.inner[index] = entry
                        shared += 1
                        continue
                    if open_node(entry):
                        if entry.values and type(value) is not tuple:
                            firsts[name] = node, index  # equal constants are one
                        node.inner[index] = entry
                        around.append((node, rest))
                        pairs = zip(entry.values, entry.kinds or repeat(kind))  # noqa: B905
                        node, rest = entry, enumerate(pairs)
                        break
                is_numpy = type(value) is ndarray  # a short way
                if is_numpy or has_memory(value):
                    firsts[name] = node, index
                count, size = (value.size, value.nbytes) if is_numpy else size_of(value)
            of_kind.append(kind)
            counts.append(count)
            sizes.append(size)
        else:
            node.end = len(counts)
            if not around:
                break
            node, rest = around.pop()
    for kind in {id(kind): kind for kind in of_kind}.values():  # enums hash slowly
        is_meant = [each is kind for each in of_kind]
        columns = is_meant, map(mul, counts, is_meant), map(mul, sizes, is_meant)
        sums[kind._value_] = [[*accumulate(column, initial=0)] for column in columns]
    (root,) = node.children()
    root.above = None
    return root, shared


# ------------------------------------------------------------------------------- rows


def _rows(root: _Entry, levels: int, most: int) -> list[SummaryRow]:
    """Return the rows of nodes and leaves.

    What is near the root comes first, and the nodes of a level share what is left of
    the limit, so that one long list hides nothing else.
    """
    shown: dict[_Entry, list[_Entry]] = {}  # the children of each node that have rows
    level: list[Any] = [root]
    spare = most - 1
    for _ in range(levels):
        level = [e for e in level if e.rule and e.values and not e.is_cell]
        sizes = [len(entry.values) for entry in level]
        fair = fair_share(sizes, spare - len(level))
        if not level or fair < 1:
            break
        spare -= sum(min(size, fair) for size in sizes)
        for entry, size in zip(level, sizes, strict=True):
            share = size if size <= fair else fair - 1  # and a row for the rest
            shown[entry] = entry.children(share)
        level = [inner for entry in level for inner in shown[entry]]
    whole = root.amount

    def below(entry: Any, path: str, depth: int) -> Iterator[SummaryRow]:
        first, what = entry.first, entry.first or entry
        if what.is_cell:  # a variable has the row of its value
            (what,) = what.children()
            first = first or what.first
        is_node = what.rule is not None
        role: Role = "again" if first else "node" if is_node else "leaf"
        shape, dtype = (None, "") if is_node else _form(what.value)
        amounts = entry.amounts
        amount = _total(amounts.values())
        yield SummaryRow(
            path, depth, role, entry.type, shape, dtype, _kinds_text(amounts),
            same_as=first.path or _ROOT if first else "", **_numbers(amount, whole),
        )  # fmt: skip
        children = shown.get(entry, ())
        for inner in children:
            yield from below(inner, path + inner.label, depth + 1)
        if children and len(children) < len(entry.values):
            left_out = len(entry.values) - len(children)
            shown_here = _total(inner.amount for inner in children)
            numbers = _numbers(Amount(*map(sub, amount, shown_here)), whole)
            yield SummaryRow(path, depth + 1, "more", left_out=left_out, **numbers)

    return [*below(root, "", 0)]


def _numbers(amount: Amount, whole: Amount) -> dict[str, Any]:
    """Return the numbers of a row."""
    share = amount.bytes / whole.bytes if whole.bytes else 0.0
    if whole.count and not whole.bytes:
        share = amount.count / whole.count
    return {**amount._asdict(), "share": share}


def _form(value: Any) -> tuple[tuple[int, ...] | None, str]:
    """Return the shape and the dtype of an array."""
    shape, dtype = shape_of(value), ""
    with suppress(*FAULTS):
        dtype = "" if shape is None else escape_controls(form_of(value).dtype)
    return shape, clipped(dtype, _LONGEST)


def _groups(root: _Entry, by: By, most: int) -> list[SummaryRow]:
    """Return a row for each group, in the order in which they are met."""
    sums: dict[str, Amount] = {}
    stack = [root]
    while stack:
        entry = stack.pop()
        if entry.rule is not None:
            stack += reversed(entry.children())
            continue
        if entry.first is not None:  # it is counted at its first place
            continue
        name = entry.outer.type if by == "type" else _form(entry.value)[1] or entry.type
        sums[name] = Amount(*map(add, sums.get(name, Amount()), entry.amount))
    groups = list(sums.items())
    whole = root.amount
    rows = []
    for name, amount in groups[:most]:
        said: dict[str, Any] = {"role": "group", by: name}
        rows.append(SummaryRow(**said, **_numbers(amount, whole)))
    rest = [amount for _, amount in groups[most:]]
    if rest:
        left_out = _numbers(_total(rest), whole)
        rows.append(SummaryRow(role="more", left_out=len(rest), **left_out))
    return rows
