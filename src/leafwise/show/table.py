"""Summaries as they are looked at: as text, as HTML, as tables of rich, as rows.

Owns what stands in the cells, and how they are laid out. Knows nothing of trees.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from importlib import import_module
from shutil import get_terminal_size
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from ..kinds import Kind
from .outline import bytes_text, leaves_text
from .page import caption, framed
from .scene import clipped
from .scene import columns as taken
from .tally import DATA, Amount, total


Role: TypeAlias = Literal["node", "leaf", "again", "more", "group"]

ROOT: Final = "(root)"
"""What stands in place of the path of the root, which is empty."""

_WIDTH: Final = 100
_NARROWEST: Final = 20
_LONGEST: Final = 1000  # of paths in HTML
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
        self.leaves, self.count, self.bytes = total(kinds.values())
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
            [_padded(text, size, column.is_right) for text in column.all]
            for column, size in zip(columns, widths, strict=True)
        ]
        head, *lines = [_GAP.join(row).rstrip() for row in zip(*texts, strict=True)]
        rule = "─" * (sum(widths) + len(_GAP) * (len(widths) - 1))
        notes = [clipped(note, max(width, _NARROWEST)) for note in self._notes()]
        return "\n".join([head, rule, *lines, rule, *notes])

    def to_html(self) -> str:
        """Return the table as self-contained HTML for light and dark pages."""
        names, *columns = self._columns()
        heads = [f"<th{_side(c)}>{escape(c.name)}</th>" for c in (names, *columns)]
        cells = [
            [f"<td{_side(column)}>{escape(text)}</td>" for text in column.texts]
            for column in columns
        ]
        rows = [
            f'<tr class="lw-row-{row.role}" style="--depth:{row.depth};'
            f'--share:{row.share:.1%}">{_head(row.path, name)}{"".join(texts)}</tr>'
            for row, name, *texts in zip(self.rows, names.texts, *cells, strict=True)
        ]
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
        table = import_module("rich.table").Table(
            box=import_module("rich.box").SIMPLE_HEAD,
            padding=(0, 1, 0, 0),
            show_edge=False,
            caption=text("\n".join(self._notes())),
            caption_justify="left",
        )
        columns = self._columns(branches_of([row.depth for row in self.rows]))
        widths = _fitted(columns, options.max_width - len(_GAP))
        for column, width in zip(columns, widths, strict=True):
            side = "right" if column.is_right else "left"
            table.add_column(column.name, justify=side, no_wrap=True, width=width)
        for row, *cells in zip(self.rows, *[c.texts for c in columns], strict=True):
            style = "dim" if row.role in ("again", "more") else None
            texts = [text(clipped(c, w)) for c, w in zip(cells, widths, strict=True)]
            table.add_row(*texts, style=style)
        yield table

    def _columns(self, branches: Sequence[str] = ()) -> list[_Column]:
        """Return the columns that say something."""
        rows, by = self.rows, self._by
        names = _labels(rows) if by is None else _names(rows, FIELDS[by])
        if branches:
            names = [f"{a}{b}" for a, b in zip(branches, names, strict=True)]
        found = [_Column("leaves", [f"{row.leaves:,}" for row in rows])]
        if by is None:
            kinds = [row.kind for row in rows]
            found = [
                _Column("type", [row.type for row in rows], 6),
                _Column("shape", [_shape_text(row) for row in rows], 6),
                _Column("dtype", [row.dtype for row in rows], 7),
                _Column("kind", [] if {*kinds} <= {"", DATA} else kinds, 9),
            ]
        numbers = zip(*map(_numbers, rows), strict=True)
        found += map(_Column, ("count", "bytes", "share"), map(list, numbers))
        return [
            _Column(by or "path", names, 12),
            *[column for column in found if any(column.texts)],
        ]

    def _notes(self) -> list[str]:
        """Return what is said below the table."""
        numbers = f"{self.count:,} {'number' if self.count == 1 else 'numbers'}"
        size = f", {bytes_text(self.bytes)}" if self.bytes else ""
        notes = [f"{leaves_text(self.leaves)}, {numbers}{size}"]
        if len(self.kinds) > 1:
            notes.append(kinds_text(self.kinds))
        if self.shared:
            places = "place" if self.shared == 1 else "places"
            notes.append(f"→ {self.shared:,} shared {places}, counted once")
        return notes


# ------------------------------------------------------------------------------ cells


class _Column(NamedTuple):
    """A column.

    Attributes:
        name: Its heading.
        texts: Its cells.
        least: To how many characters they may be cut; 0 if they may not.
    """

    name: str
    texts: list[str]
    least: int = 0

    @property
    def is_right(self) -> bool:
        """Whether its cells are aligned at the right, as numbers are."""
        return not self.least

    @property
    def all(self) -> list[str]:
        """Heading and cells."""
        return [self.name, *self.texts]


FIELDS: Final = {"type": "type", "kind": "kind", "dtype": "dtype", "key": "path"}


def _names(rows: Sequence[SummaryRow], field: str) -> list[str]:
    """Return the names of groups."""
    return [row.more_text or getattr(row, field) for row in rows]


def _labels(rows: Sequence[SummaryRow]) -> list[str]:
    """Return what of their paths is not said by the rows above."""
    labels = []
    above = [""]
    for row in rows:
        del above[row.depth + 1 :]
        label = row.path.removeprefix(above[-1]) or ROOT
        above.append(row.path)
        same_as = f" → {row.same_as}" if row.role == "again" else ""
        labels.append(row.more_text or f"{label}{same_as}")
    return labels


def _shape_text(row: SummaryRow) -> str:
    return "" if row.shape is None else str(row.shape)


def _numbers(row: SummaryRow) -> tuple[str, str, str]:
    if row.role == "again":
        return "", "", ""
    share = "<0.1%" if 0 < row.share < 0.0005 else f"{row.share:.1%}"
    return f"{row.count:,}", bytes_text(row.bytes) if row.bytes else "", share


def kinds_text(amounts: dict[str, Amount]) -> str:
    """Return the kinds as text, with the size of each if there are several."""
    found = [kind.value for kind in Kind if kind.value in amounts]
    if len(found) < 2:
        return "".join(found)
    return ", ".join(f"{kind}: {amounts[kind].count:,}" for kind in found)


# ----------------------------------------------------------------------------- layout


def _fitted(columns: Sequence[_Column], width: int) -> list[int]:
    """Return how wide each column is: those that may be cut share what is left."""
    widths = [max(map(taken, column.all)) for column in columns]
    least = [
        min(column.least or widest, widest)
        for column, widest in zip(columns, widths, strict=True)
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


def _head(path: str, name: str) -> str:
    return (
        f'<th scope="row" title="{escape(clipped(path, _LONGEST))}">{escape(name)}</th>'
    )


def _side(column: _Column) -> str:
    return ' class="lw-right"' if column.is_right else ""


def branches_of(depths: Sequence[int]) -> list[str]:
    """Return the branch characters for each line of a tree, from the last line up.

    Example:
        >>> from leafwise.show.table import branches_of
        >>> branches_of([0, 1, 2, 1])
        ['', '├── ', '│   └── ', '└── ']
    """
    branches: list[str] = []
    later: set[int] = set()  # the depths at which a line is still to come
    for depth in reversed(depths):
        later = {other for other in later if other <= depth}
        bars = ["│   " if other in later else "    " for other in range(1, depth)]
        tip = "" if not depth else "├── " if depth in later else "└── "
        branches.append("".join([*bars, tip]))
        later.add(depth)
    return branches[::-1]
