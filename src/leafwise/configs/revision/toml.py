"""A TOML text with another tree: its statements as spans, and edits of these spans.

A statement is a header or a pair with its lines, and the comments directly above it.
Each knows its path in the tree, so that tables may be in any order, in several parts,
or there by dotted keys alone. The text is cut at its headers first; the pairs of a
section are read when an edit asks for them.
"""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from functools import cached_property
from operator import attrgetter
from typing import Any, Final, NamedTuple

from .. import formats
from ..documents import Document
from .changes import ABSENT, same, steps
from .editor import FLOW, LEAF, Edit, Editor, Entry, Part, Span, spliced, start_of


_STRING: Final = r'"""[\s\S]*?"""|\'\'\'[\s\S]*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\''
_COMMENT: Final = re.compile(rf"{_STRING}|(#[^\n]*)")
_TOKEN: Final = re.compile(
    r"(?:[\s,]|#[^\n]*)*((?P<open>[{\[])|(?P<close>[}\]])"
    rf"|(?:{_STRING}|\d[\d:-]+ \d[\d:.]+|[^\s,={{}}\[\]#]+)(?P<colon>\s*=)?)"
)
_NAME: Final = re.compile(r'"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|[A-Za-z0-9_-]+')
_NAMES: Final = rf"(?P<names>(?:{_NAME.pattern}|[ \t]*\.[ \t]*)+)"
_HEADER: Final = re.compile(rf"[ \t]*(?P<brackets>\[\[?)[ \t]*{_NAMES}[ \t]*\]")
_PAIR: Final = re.compile(rf"[ \t]*{_NAMES}[ \t]*=")
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_BLANK_LINES: Final = re.compile(r"(?:[ \t]*\n)*")
_SIMPLE_LINES: Final = re.compile(
    r"""
    (?: [ \t]*+
        (?: [\w.\- \t]++ = [ \t]*+       # a key without quotes
            (?: [^\s"'\[{]               # a number, a date, true or false
              | " (?!"") (?: [^"\\\n] | \\. )*+ "
              | ' (?!'') [^'\n]*+ '
            )
            [^\n]*+                      # up to its end, and a comment
          | \#[^\n]*+
        )?+
        \r?\n
    )*+
    """,
    re.VERBOSE | re.ASCII,
)
"""Blank lines, comments, and pairs with a scalar on one line."""

Path = tuple[Any, ...]
"""Keys, and positions in arrays of tables."""


class Statement(NamedTuple):
    """A header, or a pair of a key and a value.

    Attributes:
        path: The path of the table or value.
        section: For a pair, the path of the table whose header is above it.
        names: The spans of the names in it.
        start: Where it begins, with the comments directly above it.
        end: Where its last line ends.
        value: The value of a pair; None for a header.
    """

    path: Path
    section: Path
    names: list[Span]
    start: int
    end: int
    value: Part | None


class Section:
    """A header, and the pairs below it up to the next one.

    Args:
        text: The whole text.
        path: The path of the table; `()` for what is above all headers.
        header: The header, None for what is above all headers.
        start, end: Where its pairs are.
    """

    def __init__(
        self,
        text: str,
        path: Path,
        header: Statement | None,
        start: int,
        end: int,
    ) -> None:
        self.text = text
        self.path = path
        self.header = header
        self.start = start
        self.end = end

    @cached_property
    def statements(self) -> list[Statement]:
        """The header, and the pairs in order."""
        statements = [] if self.header is None else [self.header]
        text = self.text
        place = least = self.start
        while place < self.end:
            match = _PAIR.match(text, place)
            if match is None:  # a comment or a blank line
                place = text.index("\n", place) + 1
                continue
            names = _names(match)
            path = self.path + tuple(_name_at(text, span) for span in names)
            value = _read_value(text, match.end())
            end = text.index("\n", value.end) + 1
            start = start_of(text, place, least)
            statements.append(Statement(path, self.path, names, start, end, value))
            place = least = end
        return statements

    @cached_property
    def pairs(self) -> dict[Path, Statement]:
        """The pairs by their paths."""
        return {pair.path: pair for pair in self.statements if pair.value is not None}

    @cached_property
    def pairs_inside(self) -> dict[Path, list[Statement]]:
        """By path, the pairs that say something about it or what it holds."""
        inside: dict[Path, list[Statement]] = {}
        for path, pair in self.pairs.items():
            for depth in range(len(self.path) + 1, len(path) + 1):
                inside.setdefault(path[:depth], []).append(pair)
        return inside

    @cached_property
    def quotes(self) -> set[str]:
        """The quotes of its strings."""
        values = [pair.value for pair in self.pairs.values() if pair.value]
        return {self.text[value.start] for value in values} & {"'", '"'}


# What is inserted behind a table may stand at the place where the next one begins.
# Pairs of the table above come first, then its sub-tables, the deepest first, since a
# header ends the item of an array; then what begins there, the outermost table first.


def _rank_behind(path: Path) -> tuple[int, int]:
    """Return the rank of a table that is inserted behind what is in another one."""
    return 1, -len(path)


def _rank_above(path: Path) -> tuple[int, int]:
    """Return the rank of what is inserted above all that is in a table."""
    return 2, len(path)


class TomlEditor(Editor):
    """Writes a TOML text with another tree.

    Args:
        text: The text.

    Attributes:
        sections: The sections by their paths.
        sections_inside: By path, the sections of it and of what it holds, in order.
        edits: What is changed.
        deleted: The statements that are deleted.
        first_lines: By path of a table that has no header, its new pairs.
    """

    comments = _COMMENT
    colon = " = "

    def __init__(self, text: str) -> None:
        self.ending = "" if text.endswith("\n") else "\n"
        super().__init__(text + self.ending)
        self.sections: dict[Path, Section] = {}
        self.sections_inside: defaultdict[Path, list[Section]] = defaultdict(list)
        self.edits: list[Edit] = []
        self.deleted: list[Statement] = []
        self.first_lines: dict[Path, list[str]] = {}

    def revised(self, document: Document, tree: Any) -> str:
        """Return the text with another tree; it is not checked yet."""
        self.read_sections()
        self.change_table((), document.tree, tree)
        for path, lines in self.first_lines.items():
            self.insert_first_lines(path, lines)
        self.drop_deleted()
        return spliced(self.text, self.edits).removesuffix(self.ending)

    # ------------------------------------------------------------------------- reading

    def read_sections(self) -> None:
        """Cut the text at its headers."""
        text = self.text
        path: Path = ()
        header = None
        body_start = place = least = 0
        counts: dict[Path, int] = {}  # of the items of arrays of tables
        while True:
            # one call skips nearly all of a section; what it cannot skip is read, since
            # a line that looks like a header may be inside of an array or a string
            match = _SIMPLE_LINES.match(text, place)
            assert match is not None  # it matches the empty text, too
            place = match.end()
            if place == len(text):
                break
            match = _HEADER.match(text, place)
            if match is None:
                place = least = _statement_end(text, place)
                continue
            start = start_of(text, place, least)
            self.note_section(Section(text, path, header, body_start, start))
            names = _names(match)
            path = self.table_path(names, counts, match["brackets"] == "[[")
            place = least = body_start = text.index("\n", match.end()) + 1
            header = Statement(path, (), names, start, place, None)
        self.note_section(Section(text, path, header, body_start, len(text)))

    def note_section(self, section: Section) -> None:
        """Note a section under all paths that it is in."""
        path = section.path
        self.sections[path] = section
        if section.header is None and not section.statements:
            return  # nothing stands above the first header
        for depth in range(len(path) + 1):
            self.sections_inside[path[:depth]].append(section)

    def table_path(
        self,
        names: list[Span],
        counts: dict[Path, int],
        is_array: bool,
    ) -> Path:
        """Return the path of a header; the last item of an array is meant."""
        path: Path = ()
        for span in names:
            path = (*path, _name_at(self.text, span))
            if is_array and span == names[-1]:
                counts[path] = counts.get(path, -1) + 1
            if path in counts:
                path = (*path, counts[path])
        return path

    def dotted_pairs(self, path: Path) -> list[Statement]:
        """Return in order the pairs about a path below the header of an outer table.

        `a.b = 1` and `a.c = 2` below `[t]` are about `t.a`.
        """
        pairs: list[Statement] = []
        for depth in range(len(path)):
            section = self.sections.get(path[:depth])
            if section is not None:
                pairs += section.pairs_inside.get(path, ())
        return pairs

    def statements(self, path: Path) -> list[Statement]:
        """Return in order the statements about a path and what it holds."""
        statements = self.dotted_pairs(path)
        for section in self.sections_inside.get(path, ()):
            statements += section.statements
        return sorted(statements, key=attrgetter("start"))

    def outer_statements(self, path: Path) -> list[Statement]:
        """Return some of the statements about a path: the first and the last at least.

        So the sections in between need not be read.
        """
        statements = self.dotted_pairs(path)
        sections = self.sections_inside.get(path)
        if sections:
            statements.append(sections[0].statements[0])
            statements.append(sections[-1].statements[-1])
        return sorted(statements, key=attrgetter("start"))

    # ------------------------------------------------------------------------- editing

    def change_table(
        self,
        path: Path,
        old: dict[str, Any],
        new: dict[str, Any],
    ) -> None:
        """Change the entries of a table."""
        for old_key, key in steps(old, new):
            if old_key is ABSENT:
                self.add(path, key, new[key])
                continue
            below = (*path, old_key)
            if key is ABSENT:
                self.delete(below, old[old_key])
                continue
            if key != old_key:
                self.rename(below, key)
            if not same(old[old_key], new[key]):
                self.change(below, old[old_key], new[key])
        if path and not new and path not in self.sections:
            self.keep_empty(path)

    def change(
        self,
        path: Path,
        old: Any,
        new: Any,
    ) -> None:
        """Change the value at a path."""
        pairs = self.dotted_pairs(path)
        if pairs and pairs[0].path == path and pairs[0].value is not None:
            value = pairs[0].value
            text = self.edited(value, old, new)
            self.edits.append(Edit(value.start, value.end, text))
        elif isinstance(old, dict) and isinstance(new, dict):
            self.change_table(path, old, new)
        elif isinstance(old, list) and _is_tables(new):
            self.change_tables(path, old, new)
        else:
            # comments of a table that becomes a value have no place any more
            may_lose_comments = type(old) is type(new)
            self.delete(path, old, may_lose_comments=may_lose_comments)
            self.add(path[:-1], path[-1], new)

    def change_tables(
        self,
        path: Path,
        old: list[Any],
        new: list[Any],
    ) -> None:
        """Change an array of tables."""
        end = None
        for index, new_index in steps(old, new):
            if index is ABSENT:
                table = new[new_index]
                text = self.section((*path, 0), table)
                self.added.append(table)
                if end is None:
                    start = self.outer_statements(path)[0].start
                    self.insert(start, f"{text}\n", _rank_above(path))
                else:
                    self.insert(end, f"\n{text}", _rank_behind(path))
                continue
            item = (*path, index)
            end = self.outer_statements(item)[-1].end
            if new_index is ABSENT:
                self.delete(item, old[index])
            elif not same(old[index], new[new_index]):
                self.change_table(item, old[index], new[new_index])

    def delete(
        self,
        path: Path,
        value: Any,
        *,
        may_lose_comments: bool = True,
    ) -> None:
        """Delete what is about a path, with the comments directly above it."""
        statements = self.statements(path)
        self.deleted += statements
        if may_lose_comments:
            for statement in statements:
                self.removed.append((statement.start, statement.end, value))

    def drop_deleted(self) -> None:
        """Note the spans of what is deleted, with the blank lines that would double."""
        text = self.text
        inserted = {edit.start for edit in self.edits if edit.start == edit.end}
        runs: list[Span] = []
        for statement in sorted(self.deleted, key=attrgetter("start")):
            start = statement.start
            if runs:
                run_start, run_end = runs[-1]
                is_next = self.blanks_behind(run_end) == start
                if is_next and inserted.isdisjoint((run_end, start)):
                    start = run_start
                    runs.pop()
            runs.append((start, statement.end))
        for start, end in runs:
            blank_end = self.blanks_behind(end)
            above_end = start
            while above_end and text[above_end - 1] == "\n":
                above_end -= 1
            has_blank_above = not above_end or start - above_end > 1
            is_apart = inserted.isdisjoint((start, end, blank_end))
            if not has_blank_above or not is_apart:
                self.edits.append(Edit(start, end, ""))
            elif blank_end < len(text):
                self.edits.append(Edit(start, blank_end, ""))
            else:  # nor is a blank line left at the end of the file
                line_end = above_end + 1 if above_end else 0
                self.edits.append(Edit(line_end, blank_end, ""))

    def blanks_behind(self, place: int) -> int:
        """Return where the blank lines at a place end."""
        match = _BLANK_LINES.match(self.text, place)
        return match.end() if match else place

    def rename(self, path: Path, key: str) -> None:
        """Rename the last key of a path, wherever it is written."""
        depth = len(_only_names(path))
        statements = self.dotted_pairs(path)
        for section in self.sections_inside.get(path, ()):
            if section.header is not None:
                statements.append(section.header)
        for statement in statements:
            above = len(_only_names(statement.section))
            start, end = statement.names[depth - above - 1]
            self.edits.append(Edit(start, end, self.key(key)))

    def keep_empty(self, path: Path) -> None:
        """Write an empty table in place of its last entry."""
        first = self.outer_statements(path)[0]
        if first.value is None:
            text = f"[{self.dotted(path)}]\n"
        else:
            text = f"{self.dotted(path[len(first.section) :])} = {{}}\n"
        self.insert(first.start, text, _rank_above(path))

    def insert(
        self,
        place: int,
        text: str,
        rank: tuple[int, int] = (0, 0),
    ) -> None:
        """Note an insertion."""
        self.edits.append(Edit(place, place, text, rank))

    # -------------------------------------------------------------------------- adding

    def add(
        self,
        path: Path,
        key: str,
        value: Any,
    ) -> None:
        """Add an entry to a table: a table behind all, a value behind all values."""
        self.added.append(value)
        section = self.sections.get(path)
        dotted_pairs = [] if section else self.dotted_pairs(path)
        if dotted_pairs:  # the table is there by dotted keys alone: so is the new entry
            last = dotted_pairs[-1]
            names = self.dotted((*path[len(last.section) :], key))
            self.add_line(last, f"{names} = {self.inline(value, None)}\n")
        elif _is_tables(value) or (isinstance(value, dict) and value):
            self.add_section(path, key, value)
        else:
            quotes = section.quotes if section else set()
            quote = next(iter(quotes)) if len(quotes) == 1 else ""
            line = f"{self.key(key)} = {self.inline(value, None, quote)}\n"
            if section and section.statements:
                self.add_line(section.statements[-1], line)
            else:
                self.first_lines.setdefault(path, []).append(line)

    def add_line(self, last: Statement, line: str) -> None:
        """Add a pair behind another one, or behind a header."""
        first_name, _ = last.names[0]
        indent = self.indent_at(first_name) if last.value else ""
        self.insert(last.end, indent + line)

    def add_section(
        self,
        path: Path,
        key: str,
        value: Any,
    ) -> None:
        """Add a table or an array of tables, behind what is in its table already."""
        if isinstance(value, dict):
            text = self.section((*path, key), value)
        else:
            item_path = (*path, key, 0)
            text = "\n".join(self.section(item_path, item) for item in value)
        statements = self.outer_statements(path)
        end = statements[-1].end if statements else len(self.text)
        if statements or self.text.strip():
            text = f"\n{text}"
        self.insert(end, text, _rank_behind(path))

    def insert_first_lines(self, path: Path, lines: list[str]) -> None:
        """Insert the first pairs of a table that has no header."""
        text = "".join(lines)
        if path:
            text = f"[{self.dotted(path)}]\n{text}"
        place = len(self.text)
        statements = self.outer_statements(path)
        if statements:
            place = statements[0].start
            text += "\n"
        self.insert(place, text, _rank_above(path))

    def section(self, path: Path, table: dict[str, Any]) -> str:
        """Return the text of a table; a position in its path makes it an item."""
        pairs = []
        sections = []
        for key, value in table.items():
            below = (*path, key)
            if isinstance(value, dict) and value:
                sections.append(self.section(below, value))
            elif _is_tables(value):
                item_path = (*below, 0)
                sections += [self.section(item_path, item) for item in value]
            else:
                pairs.append(f"{self.key(key)} = {self.inline(value, None)}\n")
        is_item = type(path[-1]) is int
        # a table that holds tables alone needs no header of its own
        if is_item or pairs or not sections:
            names = self.dotted(path)
            header = f"[[{names}]]\n" if is_item else f"[{names}]\n"
            sections.insert(0, header + "".join(pairs))
        return "\n".join(sections)

    def dotted(self, path: Path) -> str:
        """Return the names of a path as a dotted key."""
        return ".".join(self.key(name) for name in _only_names(path))

    def key(self, key: Any) -> str:
        """Return the text of a key."""
        return key if _BARE.fullmatch(key) else self.leaf(key, "")

    def leaf(self, value: Any, quote: str) -> str:
        """Return the text of a scalar."""
        if hasattr(value, "plain"):
            return str(value.text)
        if quote == "'" and isinstance(value, str):
            is_literal = re.fullmatch("[ -&(-~]*", value) is not None
            if is_literal:
                return f"'{value}'"
        return str(formats.toml_writer().item(value).as_string())


def _names(match: re.Match[str]) -> list[Span]:
    """Return the spans of the names in a header or a key."""
    start, end = match.span("names")
    if _BARE.fullmatch(match.string, start, end):  # the commonest
        return [(start, end)]
    return [name.span() for name in _NAME.finditer(match.string, start, end)]


def _name_at(text: str, span: Span) -> str:
    """Return the name that is written in a span."""
    start, end = span
    name = text[start:end]
    if name[0] in "\"'":
        return str(tomllib.loads(f"name = {name}")["name"])
    return name


def _only_names(path: Path) -> list[str]:
    """Return a path without the positions in arrays of tables."""
    return [key for key in path if type(key) is not int]


def _is_tables(value: Any) -> bool:
    """Return whether a value is written as an array of tables."""
    if not isinstance(value, list) or not value:
        return False
    return all(type(item) is dict for item in value)


def _statement_end(text: str, place: int) -> int:
    """Return where the pair at a place ends, or the line if there is none."""
    match = _PAIR.match(text, place)
    value_end = place if match is None else _read_value(text, match.end()).end
    return text.index("\n", value_end) + 1


class _OpenBracket(NamedTuple):
    """A bracket whose end is not read yet.

    Attributes:
        start: Where it is.
        entries: The entries behind it.
        key: The span of the key before it and its equal sign, None if there is none.
    """

    start: int
    entries: list[Entry]
    key: Span | None


def _read_value(text: str, place: int) -> Part:
    """Return the value at a place: a scalar, or brackets with entries.

    Args:
        text: The text, which is known to be well-formed.
        place: Where the value begins, or the blanks before it.
    """
    brackets: list[_OpenBracket] = []
    key = None
    while match := _TOKEN.match(text, place):
        place = match.end()
        start = match.start(1)
        if match["colon"]:
            key = (start, place)
            continue
        if match["open"]:
            brackets.append(_OpenBracket(start, [], key))
            key = None
            continue
        part = Part(LEAF, start, place, start)
        if match["close"]:
            start, entries, key = brackets.pop()
            is_list = match["close"] == "]"
            part = Part(FLOW, start, place, start, entries, is_list=is_list)
        if not brackets:
            return part
        head, after = key or (start, start)
        entry = Entry(head, head, after, part, place)
        brackets[-1].entries.append(entry)
        key = None
    raise AssertionError("the value has no end")
