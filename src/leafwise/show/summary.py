"""Summaries: what a tree holds, as a table.

Owns which rows are shown, and what they say. What there is was counted by `tally`; how
tables are laid out is owned by `table`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, get_args

from ..core.keypath import KeyPath
from ..core.registry import GLOBAL
from ..equality.difference import form_of
from ..kinds import Kind
from ..ops.context import context_of
from ..safely import clip, printable, type_name
from .table import Column, Line, Table, bytes_text, number_text, share_text
from .tally import (
    DATA,
    Amount,
    Node,
    leaves_of,
    name_of,
    path_of,
    shape_of,
    size_of,
    tally,
    type_of,
)


if TYPE_CHECKING:
    from ..core.node import IsLeaf

__all__ = ["SummaryRow", "TreeSummary", "tree_summary"]

By: TypeAlias = Literal["type", "kind", "dtype", "key"]
Sort: TypeAlias = Literal["path", "count", "bytes"]
Role: TypeAlias = Literal["node", "leaf", "again", "more", "group"]

_DEEPEST: Final = 100
_LONGEST: Final = 100
_WIDTH: Final = 100


class SummaryRow(NamedTuple):
    """A row of a summary.

    Attributes:
        path: The path, as text; of a group by key, that key.
        depth: How many nodes stand above it.
        role: `node`; `leaf`; `again`, what stands elsewhere, too, and is counted there;
            `more`, what is left out; `group`, what belongs together.
        type: The name of the class.
        shape: The shape of an array, None if it is none.
        dtype: The dtype of an array.
        kind: The kind, such as `parameter`; of a node, the kinds in it with how many
            numbers they have, if there are several.
        leaves: How many leaves are counted here.
        count: How many numbers: those in arrays, and one for any other leaf.
        bytes: How many bytes arrays take.
        share: What part of the whole it is, from 0 to 1: of the bytes, or of the
            numbers where nothing has bytes.
        same_as: Of `again`, the path where it is counted.
        left_out: Of `more`, how many values it stands for.

    Example:
        >>> import leafwise as lw
        >>> lw.tree_summary({"a": 1, "b": 2}).rows[1]
        ... # doctest: +NORMALIZE_WHITESPACE
        SummaryRow(path="['a']", depth=1, role='leaf', type='int', shape=None, dtype='',
            kind='data', leaves=1, count=1, bytes=0, share=0.5, same_as='', left_out=0)
    """

    path: str
    depth: int
    role: Role
    type: str = ""
    shape: tuple[int, ...] | None = None
    dtype: str = ""
    kind: str = ""
    leaves: int = 0
    count: int = 0
    bytes: int = 0
    share: float = 0.0
    same_as: str = ""
    left_out: int = 0


class TreeSummary:
    """What a tree holds, as a table. It prints as text, and is HTML in a notebook.

    Attributes:
        rows: The rows that are shown, for `pandas.DataFrame(summary.rows)`.
        leaves: How many leaves the tree has.
        count: How many numbers.
        bytes: How many bytes.
        kinds: By kind, how many leaves, numbers and bytes there are.
        shared: How many places hold what stands elsewhere, too.

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
        table: Callable[[], Table],
    ) -> None:
        total = _sum(kinds.values())
        self.rows = rows
        self.leaves = total.leaves
        self.count = total.count
        self.bytes = total.bytes
        self.kinds = {
            kind: (amount.leaves, amount.count, amount.bytes)
            for kind, amount in kinds.items()
        }
        self.shared = shared
        self._table = table

    def to_text(self, width: int | None = None) -> str:
        """Return it as text.

        Args:
            width: How many columns it may have; None for what the terminal has, or for
                100 if the standard output is none.
        """
        return self._table().to_text(_width() if width is None else width)

    def to_html(self) -> str:
        """Return it as HTML that needs nothing else."""
        return self._table().to_html()

    def __str__(self) -> str:
        return self.to_text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.to_html()

    def __rich_console__(self, _console: Any, options: Any) -> Iterator[Any]:
        yield self._table().to_rich(options.max_width)


def _width() -> int:
    try:
        is_terminal = sys.stdout is not None and sys.stdout.isatty()
    except (AttributeError, ValueError):  # it only has `write`, or is closed
        is_terminal = False
    return max(get_terminal_size().columns, 20) if is_terminal else _WIDTH


def tree_summary(
    tree: Any,
    *,
    depth: int | None = None,
    sort: Sort | None = None,
    by: By | None = None,
    max_rows: int | None = 100,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> TreeSummary:
    """Return a table of what a tree holds: shapes, numbers, bytes, node by node.

    Each node has a row with what is in it altogether, and each leaf one; a variable
    stands for the value in it. All leaves are counted, whatever is shown. An array, a
    variable or another object that stands in several places counts where it stands
    first; its other places say `→` and where that is.

    Args:
        tree: A tree, a treedef, an object, or a tree of what only has a shape and a
            dtype, such as `jax.ShapeDtypeStruct`.
        depth: How many levels to show below the root; None for all, up to 100.
        sort: The order of what stands in one node: by `"path"`; by `"count"` or
            `"bytes"`, the largest first; None for that of the tree.
        by: Show one row for each `"type"`, `"kind"`, `"dtype"`, or `"key"` of the root,
            instead of nodes and leaves.
        max_rows: How many rows to show, about; what is near the root comes first, and
            what is left out is counted in rows of its own. None for all.
        is_leaf, is_leaf_takes_path, none_is_leaf, namespace: See
            :ref:`common arguments <common>`.

    Raises:
        ValueError: `sort` or `by` is another word, or a number is negative.

    Example:
        >>> import leafwise as lw
        >>> import numpy as np
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
        1 place holds what stands elsewhere, too, and counts there
        >>> lw.tree_summary({"rate": 0.1, "sizes": [64, 32]}, by="type")
        type   leaves  count  share
        ───────────────────────────
        float       1      1  33.3%
        int         2      2  66.7%
        ───────────────────────────
        3 leaves, 3 numbers
    """
    _check("sort", sort, Sort)
    _check("by", by, By)
    for name, number in (("depth", depth), ("max_rows", max_rows)):
        if number is not None and number < 0:
            raise ValueError(f"{name} must not be negative, got {number}")
    context = context_of(is_leaf, is_leaf_takes_path, none_is_leaf, namespace)
    nodes = tally(tree, context)
    total = _sum(nodes[0].amounts.values())
    shared = sum([len(node.again) for node in nodes])
    notes = [_total_text(total), *_kinds_text(nodes[0].amounts), *_shared_text(shared)]
    if by is not None:
        rows = _groups(nodes, by, sort, total)
        kept = rows if max_rows is None else rows[:max_rows]
        if len(kept) < len(rows):
            kept.append(_left_out_groups(rows[len(kept) :]))
        lines = [_group_line(row, by) for row in kept]
        return TreeSummary(
            kept,
            nodes[0].amounts,
            shared,
            lambda: _table(lines, _group_columns(by), notes),
        )
    shown = _Shown(nodes[0], total, sort)
    shown.plan(_DEEPEST if depth is None else min(depth, _DEEPEST), max_rows)
    branches, rows = shown.rows()
    return TreeSummary(
        rows,
        nodes[0].amounts,
        shared,
        lambda: _table(_tree_lines(branches, rows), _COLUMNS, notes),
    )


def _check(name: str, value: Any, words: Any) -> None:
    known = get_args(words)
    if value is not None and value not in known:
        told = ", ".join(map(repr, known))
        raise ValueError(f"{name} must be one of {told} or None, got {clip(value)}")


def _sum(amounts: Iterable[Amount]) -> Amount:
    found = Amount()
    for amount in amounts:
        found.add(amount)
    return found


def _share(amount: Amount, total: Amount) -> float:
    if total.bytes:
        return amount.bytes / total.bytes
    return amount.count / total.count if total.count else 0.0


# ------------------------------------------------------------------------- which rows


class _Shown:
    """What is shown of the nodes that were counted.

    Attributes:
        orders: By node, the places of the children that are shown.
    """

    def __init__(self, top: Node, total: Amount, sort: Sort | None) -> None:
        self.top = top
        self.total = total
        self.sort = sort
        self.orders: dict[Node, list[int]] = {}

    def plan(self, levels: int, most: int | None) -> None:
        """Find out which children are shown, level by level.

        What is near the root comes first, and the nodes of a level share what may still
        be shown, so that one long list hides nothing else.
        """
        spare = float("inf") if most is None else most - 1
        level = self.opened(self.top, [0])
        while level and levels > 0 and spare > 0:
            levels -= 1
            sizes = {node: len(node.children) - len(node.hidden) for node in level}
            left = len(level)
            for node in sorted(level, key=sizes.__getitem__):
                share = min(sizes[node], spare // left)
                left -= 1
                if 1 < share or share == sizes[node]:  # else only what is left out
                    spare -= share
                    wanted = share if share == sizes[node] else share - 1
                    self.orders[node] = self.ordered(node)[: int(wanted)]
            level = [
                inner
                for node in level
                for inner in self.opened(node, self.orders.get(node, []))
            ]

    def opened(self, node: Node, places: Sequence[int]) -> list[Node]:
        """Return the children at these places that are nodes with rows below them."""
        inner = [node.nodes[place] for place in places if place in node.nodes]
        return [node for node in inner if node.children and not _is_one(node)]

    def ordered(self, node: Node) -> list[int]:
        """Return the places of the children of a node, in the order of the rows."""
        places = [*range(len(node.children))]
        if node.hidden:
            places = [place for place in places if place not in node.hidden]
        if self.sort == "path":
            places.sort(key=lambda place: _natural(node, place))
        elif self.sort is not None:
            sizes = {place: node.amount_of(place) for place in places}
            name = self.sort
            places.sort(key=lambda place: -getattr(sizes[place], name))
        return places

    def rows(self) -> tuple[list[str], list[SummaryRow]]:
        """Return the rows, with what stands before their labels."""
        rows: list[SummaryRow] = []
        branches: list[str] = []
        stack: list[tuple[Node, int, str, str, int, str]] = [
            (self.top, 0, "", "", 0, "")
        ]
        while stack:
            node, place, before, tip, depth, path = stack.pop()
            branches.append(before + tip)
            if place < 0:
                rows.append(self.left_out(node, depth, path))
                continue
            path += _label(node, place)
            rows.append(self.row(node, place, depth, path))
            inner = node.nodes.get(place)
            order = [] if inner is None else self.orders.get(inner, [])
            if inner is None or inner not in self.orders:
                continue
            if len(order) < len(inner.children) - len(inner.hidden):
                order = [*order, -1]
            below = before + _BELOW[tip]
            tips = ["├── "] * (len(order) - 1) + ["└── "]
            items = [
                (inner, child, below, tip, depth + 1, path)
                for child, tip in zip(order, tips, strict=True)
            ]
            stack += reversed(items)
        return branches, rows

    def row(self, node: Node, place: int, depth: int, path: str) -> SummaryRow:
        """Return the row of a child."""
        inner = node.nodes.get(place)
        value = node.children[place]
        if inner is None:
            again = node.again.get(place)
            role: Role = "leaf" if again is None else "again"
            amount = node.amount_of(place)
            cls, kind = type_of(value), node.kind_of(place)
            if again is not None and again[1] in again[0].nodes:
                first = again[0].nodes[again[1]]
                cls, kind = name_of(first), _kind_text(first)
                value = first.children[0] if _is_one(first) else None
        else:
            amount, cls, kind = inner.total, name_of(inner), _kind_text(inner)
            role, again = "node", None
            if _is_one(inner):
                value, again = inner.children[0], inner.again.get(0)
                role = "leaf" if again is None else "again"
            else:
                value = None
        shape, dtype = _form(value)
        return SummaryRow(
            path,
            depth,
            role,
            printable(cls),
            shape,
            dtype,
            kind,
            amount.leaves,
            amount.count,
            amount.bytes,
            _share(amount, self.total),
            "" if again is None else _path_text(*again),
        )

    def left_out(self, node: Node, depth: int, path: str) -> SummaryRow:
        """Return the row of the children that are not shown."""
        shown = self.orders[node]
        rest = node.total
        for place in shown:
            rest.take(node.amount_of(place))
        return SummaryRow(
            path,
            depth,
            "more",
            left_out=len(node.children) - len(node.hidden) - len(shown),
            leaves=rest.leaves,
            count=rest.count,
            bytes=rest.bytes,
            share=_share(rest, self.total),
        )


_BELOW: Final = {"": "", "├── ": "│   ", "└── ": "    "}


def _is_one(node: Node) -> bool:
    """Return whether a node has one row with the only value in it, as variables do."""
    return node.is_cell and len(node.children) == 1 and not node.nodes


def _natural(node: Node, place: int) -> tuple[Any, ...]:
    """Return what a child is sorted by: positions as numbers, all else as text."""
    try:
        entry = node.keys[place].entry
    except Exception:
        entry = place
    return (0, entry, "") if type(entry) is int else (1, 0, _label(node, place))


def _label(node: Node, place: int) -> str:
    """Return a key as text that is short and safe to print; nothing for the root."""
    if node.above is None:
        return ""
    try:
        text = str(KeyPath((node.keys[place],)))
    except Exception:
        return f"[{place}]"
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST - 2]}…{text[-1]}"
    return printable(text)


def _path_text(node: Node, place: int) -> str:
    """Return the path to a child as text, without its end if it is very long."""
    if node.is_cell and _is_one(node) and node.above is not None:
        node, place = node.above, node.place
    labels: list[str] = []
    here: Node | None = node
    while here is not None and here.above is not None:
        if len(labels) == _DEEPEST:
            labels.append("…")
            break
        labels.append(_label(here, place))
        here, place = here.above, here.place
    return "".join(reversed(labels)) or _ROOT


_ROOT: Final = "(root)"


def _form(value: Any) -> tuple[tuple[int, ...] | None, str]:
    """Return the shape and the dtype of an array."""
    shape = shape_of(value)
    if shape is None:
        return None, ""
    try:
        return shape, clip_text(form_of(value).dtype)
    except Exception:
        return shape, ""


def clip_text(text: str) -> str:
    """Return a text that is short and safe to print."""
    return printable(text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…")


def _kinds(amounts: dict[str, Amount]) -> list[tuple[str, Amount]]:
    return [(kind.value, amounts[kind.value]) for kind in Kind if kind.value in amounts]


def _kind_text(node: Node) -> str:
    """Return the kinds in a node, with how many numbers they have if several."""
    found = _kinds(node.amounts)
    if len(found) == 1:
        return found[0][0]
    return ", ".join(f"{kind}: {number_text(amount.count)}" for kind, amount in found)


# ----------------------------------------------------------------------------- groups


def _groups(
    nodes: list[Node], by: By, sort: Sort | None, total: Amount
) -> list[SummaryRow]:
    """Return a row for each group, in the order in which they are met."""
    name_of_leaf = _NAMES[by]
    amounts: dict[str, Amount] = {}
    tops = _tops(nodes) if by == "key" else {}
    for node, place, value in leaves_of(nodes):
        name = tops[node] if node in tops else name_of_leaf(node, place, value)
        amount = amounts.get(name)
        if amount is None:
            amount = amounts[name] = Amount()
        count, size = size_of(value)
        amount.leaves += 1
        amount.count += count
        amount.bytes += size
    rows = [
        SummaryRow(
            **{"path": "", "depth": 0, "role": "group", _FIELDS[by]: name},
            leaves=amount.leaves,
            count=amount.count,
            bytes=amount.bytes,
            share=_share(amount, total),
        )
        for name, amount in amounts.items()
    ]
    if sort == "path":
        rows.sort(key=lambda row: str(getattr(row, _FIELDS[by])))
    elif sort is not None:
        rows.sort(key=lambda row: -int(getattr(row, sort)))
    return rows


def _tops(nodes: list[Node]) -> dict[Node, str]:
    """Return for each node below the root which key of the root leads to it."""
    tops: dict[Node, str] = {}
    for node in nodes[2:]:
        above = node.above
        assert above is not None
        tops[node] = tops[above] if above in tops else _label(above, node.place)
    return tops


def _type_name(node: Node, _place: int, value: Any) -> str:
    here: Node | None = node
    while here is not None and not here.is_cell:
        here = here.above
    return printable(type_of(value) if here is None else name_of(here))


def _left_out_groups(rows: list[SummaryRow]) -> SummaryRow:
    return SummaryRow(
        "",
        0,
        "more",
        left_out=len(rows),
        leaves=sum(row.leaves for row in rows),
        count=sum(row.count for row in rows),
        bytes=sum(row.bytes for row in rows),
        share=sum(row.share for row in rows),
    )


_NAMES: Final[dict[str, Callable[[Node, int, Any], str]]] = {
    "type": _type_name,
    "kind": lambda node, place, _: node.kind_of(place),
    "dtype": lambda _node, _place, value: _form(value)[1] or type_name(value),
    "key": lambda node, place, _: _label(node, place) or _ROOT,
}
_FIELDS: Final = {"type": "type", "kind": "kind", "dtype": "dtype", "key": "path"}


# ------------------------------------------------------------------------------ tables

_COLUMNS: Final = (
    Column("path", least=16),
    Column("type", least=8, rank=4),
    Column("shape", least=9, rank=5),
    Column("dtype", rank=3),
    Column("kind", least=9, rank=2),
    Column("count", is_right=True),
    Column("bytes", is_right=True),
    Column("share", is_right=True, rank=1),
)


def _group_columns(by: str) -> tuple[Column, ...]:
    return (Column(by, least=8), Column("leaves", is_right=True), *_COLUMNS[-3:])


def _table(lines: list[Line], columns: Sequence[Column], notes: Sequence[str]) -> Table:
    """Return a table without the columns that say nothing."""
    kept = [
        place
        for place, column in enumerate(columns)
        if not place
        or any([line.cells[place] for line in lines])
        and not (
            column.name == "kind"
            and {line.cells[place] for line in lines} <= {"", DATA}
        )
    ]
    chosen = [
        line._replace(cells=[line.cells[place] for place in kept]) for line in lines
    ]
    return Table([columns[place] for place in kept], chosen, notes)


def _tree_lines(branches: list[str], rows: list[SummaryRow]) -> list[Line]:
    lines: list[Line] = []
    above: list[str] = []  # the paths of the rows above, by depth
    for branch, row in zip(branches, rows, strict=True):
        del above[row.depth :]
        label = row.path[len(above[-1]) :] if above else row.path or _ROOT
        above.append(row.path)
        if row.role == "more":
            cells = [_more(row), "", "", "", "", *_numbers(row)]
        else:
            if row.role == "again":
                label = f"{label} → {row.same_as}"
            shape = "" if row.shape is None else str(row.shape)
            numbers = ["", "", ""] if row.role == "again" else _numbers(row)
            cells = [label, row.type, shape, row.dtype, row.kind, *numbers]
        lines.append(Line(cells, branch, row.depth, row.role, row.path, row.share))
    return lines


def _group_line(row: SummaryRow, by: str) -> Line:
    name = _more(row) if row.role == "more" else getattr(row, _FIELDS[by])
    cells = [name, number_text(row.leaves), *_numbers(row)]
    return Line(cells, "", 0, row.role, "", row.share)


def _more(row: SummaryRow) -> str:
    return f"… {number_text(row.left_out)} more"


def _numbers(row: SummaryRow) -> list[str]:
    size = bytes_text(row.bytes) if row.bytes else ""
    return [number_text(row.count), size, share_text(row.share)]


def _total_text(total: Amount) -> str:
    word = "leaf" if total.leaves == 1 else "leaves"
    numbers = "number" if total.count == 1 else "numbers"
    text = f"{number_text(total.leaves)} {word}, {number_text(total.count)} {numbers}"
    return f"{text}, {bytes_text(total.bytes)}" if total.bytes else text


def _kinds_text(amounts: dict[str, Amount]) -> list[str]:
    found = _kinds(amounts)
    if len(found) < 2:
        return []
    told = [
        f"{kind}: {number_text(amount.count)}"
        f"{f' ({bytes_text(amount.bytes)})' if amount.bytes else ''}"
        for kind, amount in found
    ]
    return [", ".join(told)]


def _shared_text(places: int) -> list[str]:
    if not places:
        return []
    holds = "place holds" if places == 1 else "places hold"
    end = "and counts there" if places == 1 else "and count there"
    return [f"{number_text(places)} {holds} what stands elsewhere, too, {end}"]
