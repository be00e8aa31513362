"""Tables: aligned text that fits a width, HTML, and tables of rich.

Owns how cells are laid out, and how numbers are written in them. Knows nothing of what
the cells say.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from html import escape
from importlib import import_module
from typing import Any, Final, NamedTuple


_UNITS: Final = ("kB", "MB", "GB", "TB", "PB")
_GAP: Final = "  "
_WIDE: Final = frozenset("WF")


# -------------------------------------------------------------------------- numbers


def number_text(number: int) -> str:
    """Return a number with separators between thousands.

    Example:
        >>> from leafwise.show.table import number_text
        >>> number_text(1234567)
        '1,234,567'
    """
    return f"{number:,}"


def bytes_text(size: int) -> str:
    """Return a number of bytes in a unit that suits it.

    Example:
        >>> from leafwise.show.table import bytes_text
        >>> bytes_text(512), bytes_text(262144), bytes_text(7_000_000_000)
        ('512 B', '262.1 kB', '7.0 GB')
    """
    if size < 1000:
        return f"{size} B"
    scale = 1
    for unit in _UNITS:
        scale *= 1000
        tenths = (size * 10 + scale // 2) // scale
        if tenths < 10_000:
            break
    return f"{tenths // 10:,}.{tenths % 10} {unit}"


def share_text(share: float) -> str:
    """Return a share of a whole in percent.

    Example:
        >>> from leafwise.show.table import share_text
        >>> share_text(0.125), share_text(0.0001), share_text(0.0)
        ('12.5%', '<0.1%', '0.0%')
    """
    return "<0.1%" if 0 < share < 0.0005 else f"{share:.1%}"


# --------------------------------------------------------------------------- columns


class Column(NamedTuple):
    """A column.

    Attributes:
        name: Its heading.
        is_right: Whether its cells are aligned at the right, as numbers are.
        least: To how many characters its cells may be cut; 0 if they may not.
        rank: Which columns go first where there is no room: those of the lowest rank;
            0 for those that stay.
    """

    name: str
    is_right: bool = False
    least: int = 0
    rank: int = 0


class Line(NamedTuple):
    """A line of a table.

    Attributes:
        cells: Its texts, one for each column, safe to print.
        branch: What stands before the first one in a text, such as `├── `.
        depth: How far the first one is indented elsewhere.
        role: A word for what it is.
        title: What is said of the first one beside it, where there is a way.
        share: How much of the whole it is.
    """

    cells: Sequence[str]
    branch: str = ""
    depth: int = 0
    role: str = ""
    title: str = ""
    share: float = 0.0


class Table(NamedTuple):
    """A table.

    Attributes:
        columns: Its columns.
        lines: Its lines.
        notes: What is said below.
    """

    columns: Sequence[Column]
    lines: Sequence[Line]
    notes: Sequence[str] = ()

    def to_text(self, width: int) -> str:
        """Return the table as text, at most so many columns wide where that can be.

        Long cells are cut, and columns left out if even that does not do.

        Example:
            >>> from leafwise.show.table import Column, Line, Table
            >>> columns = Column("name", least=4), Column("size", is_right=True)
            >>> table = Table(columns, [Line(("a", "9")), Line(("b" * 9, "10"), "└── ")])
            >>> print(table.to_text(80))
            name           size
            ───────────────────
            a                 9
            └── bbbbbbbbb    10
            >>> print(table.to_text(14))
            name      size
            ──────────────
            a            9
            └── bbb…    10
        """
        kept, widths = self._fit(width)
        rows = [[self.columns[place].name for place in kept]]
        for line in self.lines:
            first = f"{line.branch}{line.cells[0]}"
            rows.append([line.cells[place] if place else first for place in kept])
        pairs = [(self.columns[place], widths[place]) for place in kept]
        texts = [_joined(row, pairs) for row in rows]
        texts.insert(1, "─" * (sum(widths[place] + 2 for place in kept) - 2))
        notes = [cut(note, max(width, 20)) for note in self.notes]
        return "\n".join([*texts, *([texts[1], *notes] if notes else [])])

    def _fit(self, width: int) -> tuple[list[int], list[int]]:
        """Return the places of the columns that are shown, and how wide each is."""
        widths = [width_of(column.name) for column in self.columns]
        for line in self.lines:
            for place, cell in enumerate(line.cells):
                extra = 0 if place else len(line.branch)
                widths[place] = max(widths[place], width_of(cell) + extra)
        kept = [*range(len(self.columns))]
        least = [
            min(column.least or widest, widest)
            for column, widest in zip(self.columns, widths, strict=True)
        ]
        room = width + len(_GAP)
        while sum(least[place] + len(_GAP) for place in kept) > room:
            ranks = {self.columns[p].rank: p for p in kept if self.columns[p].rank}
            if not ranks:
                break
            kept.remove(ranks[min(ranks)])
        spare = room - sum(least[place] + len(_GAP) for place in kept)
        wanting = sorted(kept, key=lambda place: widths[place] - least[place])
        for number, place in enumerate(wanting):
            share = max(spare, 0) // (len(wanting) - number)
            wanted = widths[place]
            widths[place] = min(wanted, least[place] + share)
            spare -= widths[place] - least[place]
        return kept, widths

    def to_html(self) -> str:
        """Return the table as HTML that needs nothing else."""
        heads = "".join(
            f"<th{_side(column)}>{escape(column.name)}</th>" for column in self.columns
        )
        body = "\n".join(map(self._row, self.lines))
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return (
            f'<div class="leafwise-table"><style>{_STYLE}</style>\n'
            f"<table><thead><tr>{heads}</tr></thead>\n<tbody>\n{body}\n"
            f"</tbody></table>{notes}</div>"
        )

    def _row(self, line: Line) -> str:
        cells = [
            f"<td{_side(column)}>{escape(cell)}</td>"
            for column, cell in zip(self.columns[1:], line.cells[1:], strict=True)
        ]
        title = f' title="{escape(line.title)}"' if line.title else ""
        return (
            f'<tr class="{escape(line.role)}" style="--share:{line.share:.2%}">'
            f'<th scope="row" style="--depth:{line.depth}"{title}>'
            f"{escape(line.cells[0])}</th>{''.join(cells)}</tr>"
        )

    def to_rich(self, width: int) -> Any:
        """Return the table as one of rich, which has to be there.

        Args:
            width: How many columns it may have.
        """
        text = import_module("rich.text").Text
        kept, widths = self._fit(width - len(_GAP))
        made = import_module("rich.table").Table(
            box=import_module("rich.box").SIMPLE_HEAD,
            padding=(0, 1, 0, 0),
            show_edge=False,
            caption=text("\n".join(self.notes)) if self.notes else None,
            caption_justify="left",
        )
        for place in kept:
            side = "right" if self.columns[place].is_right else "left"
            made.add_column(
                text(self.columns[place].name),
                justify=side,
                no_wrap=True,
                overflow="ellipsis",
                width=widths[place],
            )
        for line in self.lines:
            first = f"{line.branch}{line.cells[0]}"
            cells = [line.cells[place] if place else first for place in kept]
            style = "dim" if line.role in ("again", "more") else None
            made.add_row(*map(text, cells), style=style)
        return made


def _joined(row: Sequence[str], columns: Sequence[tuple[Column, int]]) -> str:
    """Return the cells of one row side by side."""
    cells = []
    for cell, (column, width) in zip(row, columns, strict=True):
        text = cut(cell, width)
        blank = " " * (width - width_of(text))
        cells.append(f"{blank}{text}" if column.is_right else f"{text}{blank}")
    return _GAP.join(cells).rstrip()


def _side(column: Column) -> str:
    return ' class="number"' if column.is_right else ""


def width_of(text: str) -> int:
    """Return how many columns of a terminal a text takes.

    Example:
        >>> from leafwise.show.table import width_of
        >>> width_of("weight"), width_of("重み"), width_of("é")
        (6, 4, 1)
    """
    if text.isascii():
        return len(text)
    return sum(map(_width, text))


def _width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 1 + (unicodedata.east_asian_width(character) in _WIDE)


def cut(text: str, width: int) -> str:
    """Return a text that takes at most so many columns, with `…` where it was cut.

    Example:
        >>> from leafwise.show.table import cut
        >>> cut("embedding", 9), cut("embedding", 6)
        ('embedding', 'embed…')
    """
    if width_of(text) <= width:
        return text
    taken = 1  # of the dots
    for place, character in enumerate(text):
        taken += _width(character)
        if taken > width:
            return f"{text[:place]}…"
    return text


_STYLE: Final = """
.leafwise-table{overflow-x:auto;
font:13px/1.5 ui-monospace,monospace}
.leafwise-table table{border-collapse:collapse;font:inherit;color:inherit}
.leafwise-table th,.leafwise-table td{text-align:left;white-space:pre;
padding:.1em .8em .1em 0;font-weight:normal;max-width:40em;overflow:hidden;
text-overflow:ellipsis}
.leafwise-table thead th{border-bottom:1px solid;opacity:.7}
.leafwise-table tbody th{padding-left:calc(var(--depth,0)*1.5em)}
.leafwise-table .number{text-align:right}
.leafwise-table .node th{font-weight:bold}
.leafwise-table .again,.leafwise-table .more{opacity:.6}
.leafwise-table td:last-child{background:linear-gradient(90deg,
rgba(90,140,220,.35) var(--share,0),transparent 0)}
.leafwise-table p{margin:.4em 0;opacity:.8}
"""
