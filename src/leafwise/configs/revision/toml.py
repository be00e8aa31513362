"""A TOML text with another tree: its statements as spans, and edits of these spans.

A statement is a header or a pair with its lines, and the comments directly above it.
Each knows its path in the tree, so that tables may be in any order, in several parts,
or there by dotted keys alone.
"""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from functools import cached_property
from operator import attrgetter
from typing import Any, Final, NamedTuple

from .. import formats
from .changes import GONE, same, steps
from .editor import Editor, Part, scan, start_of


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
    names: list[tuple[int, int]]
    start: int
    end: int
    value: Part | None


class Edit(NamedTuple):
    """A span of the text, and what takes its place.

    Attributes:
        start, end: The span, which is empty for an insertion.
        text: The new text.
        rank: Of insertions at one place, the one with the lowest rank comes first.
    """

    start: int
    end: int
    text: str
    rank: tuple[int, int] = (0, 0)


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
        statements: The statements of the text.
        below: By path, the statements that say something about it or what it holds.
        last_pairs: By path of a header, the last pair below that header.
        last_dotted: By path of a table, the last pair that names it in a dotted key.
        edits: What is changed.
        deleted: The statements that are deleted.
        first_lines: By path of a table that has no header, its new pairs.
    """

    colon = " = "

    def __init__(self, text: str) -> None:
        self.ending = "" if text.endswith("\n") else "\n"
        super().__init__(text + self.ending)
        self.statements: list[Statement] = []
        self.below: defaultdict[Path, list[Statement]] = defaultdict(list)
        self.headers: dict[Path, Statement] = {}
        self.pairs: dict[Path, Statement] = {}
        self.last_pairs: dict[Path, Statement] = {}
        self.last_dotted: dict[Path, Statement] = {}
        self.edits: list[Edit] = []
        self.deleted: list[Statement] = []
        self.first_lines: dict[Path, list[str]] = {}
        self.read()

    # ------------------------------------------------------------------------- reading

    def read(self) -> None:
        """Find the statements of the text."""
        text = self.text
        place = least = 0
        section: Path = ()
        counts: dict[Path, int] = {}  # of the items of arrays of tables
        while place < len(text):
            value = None
            match = _HEADER.match(text, place)
            if match is not None:
                names = _names(match)
                path = self.table_path(names, counts, match["brackets"] == "[[")
                section = path
                end = match.end()
            else:
                match = _PAIR.match(text, place)
                if match is None:  # a comment or a blank line
                    place = text.index("\n", place) + 1
                    continue
                names = _names(match)
                value = scan(text, _TOKEN, match.end())
                path = section
                for span in names:
                    path = (*path, self.name_at(span))
                end = value.end
            end = text.index("\n", end) + 1
            start = start_of(text, place, least)
            statement = Statement(path, section, names, start, end, value)
            self.add_statement(statement)
            place = least = end

    def table_path(
        self,
        names: list[tuple[int, int]],
        counts: dict[Path, int],
        is_array: bool,
    ) -> Path:
        """Return the path of a header; the last item of an array is meant."""
        path: Path = ()
        for span in names:
            path = (*path, self.name_at(span))
            if is_array and span == names[-1]:
                counts[path] = counts.get(path, -1) + 1
            if path in counts:
                path = (*path, counts[path])
        return path

    def add_statement(self, statement: Statement) -> None:
        """Note a statement under all paths that it is about."""
        path = statement.path
        section = statement.section
        self.statements.append(statement)
        for depth in range(len(path) + 1):
            self.below[path[:depth]].append(statement)
        if statement.value is None:
            self.headers[path] = statement
            return
        self.pairs[path] = statement
        self.last_pairs[section] = statement
        for depth in range(len(section) + 1, len(path)):
            self.last_dotted[path[:depth]] = statement

    def name_at(self, span: tuple[int, int]) -> str:
        """Return the name that is written in a span."""
        text = self.text[span[0] : span[1]]
        if text[0] in "\"'":
            return str(tomllib.loads(f"name = {text}")["name"])
        return text

    # ------------------------------------------------------------------------- editing

    def revised(self, old: Any, new: Any) -> str:
        """Return the text with another tree; see `revise`."""
        self.change_table((), old, new)
        for path, lines in self.first_lines.items():
            self.insert_first_lines(path, lines)
        self.drop_deleted()
        pieces = []
        place = 0
        for edit in sorted(self.edits, key=attrgetter("start", "end", "rank")):
            pieces += [self.text[place : edit.start], edit.text]
            place = edit.end
        pieces.append(self.text[place:])
        return "".join(pieces).removesuffix(self.ending)

    def check_all_comments(self, text: str) -> None:
        """Raise `RevisionError` if a new text lacks a comment."""
        self.check_comments(_COMMENT, text)

    def change_table(
        self,
        path: Path,
        old: dict[str, Any],
        new: Any,
    ) -> None:
        """Change the entries of a table."""
        names = list(old)
        for index, key in steps(old, new):
            if index is None:
                self.add(path, key, new[key])
                continue
            name = names[index]
            below = (*path, name)
            if key is GONE:
                self.delete(below, old[name])
                continue
            if key != name:
                self.rename(below, key)
            if not same(old[name], new[key]):
                self.change(below, old[name], new[key])
        if path and not new and path not in self.headers:
            self.keep_empty(path)

    def change(
        self,
        path: Path,
        old: Any,
        new: Any,
    ) -> None:
        """Change the value at a path."""
        pair = self.pairs.get(path)
        if pair is not None and pair.value is not None:
            value = pair.value
            text = self.edited(value, old, new)
            self.edits.append(Edit(value.start, value.end, text))
        elif isinstance(old, dict) and isinstance(new, dict):
            self.change_table(path, old, new)
        elif isinstance(old, list) and _is_tables(new):
            self.change_tables(path, old, new)
        else:
            self.replace_tables(path, old, new)

    def replace_tables(self, path: Path, old: Any, new: Any) -> None:
        """Write another value in place of a table, or of an array of tables.

        If it becomes another kind of value, its comments are lost.
        """
        self.deleted += self.below[path]
        if type(old) is type(new):
            self.note_removed(path, old)
        self.add(path[:-1], path[-1], new)

    def change_tables(
        self,
        path: Path,
        old: list[Any],
        new: list[Any],
    ) -> None:
        """Change an array of tables."""
        end = None
        for index, key in steps(old, new):
            if index is None:
                text = self.section((*path, 0), new[key])
                self.added.append(new[key])
                if end is None:
                    start = self.below[path][0].start
                    rank = _rank_above(path)
                    self.edits.append(Edit(start, start, f"{text}\n", rank))
                else:
                    rank = _rank_behind(path)
                    self.edits.append(Edit(end, end, f"\n{text}", rank))
                continue
            item = (*path, index)
            end = max(statement.end for statement in self.below[item])
            if key is GONE:
                self.delete(item, old[index])
            elif not same(old[index], new[key]):
                self.change_table(item, old[index], new[key])

    def delete(self, path: Path, value: Any) -> None:
        """Delete what is about a path, with the comments directly above it."""
        self.deleted += self.below[path]
        self.note_removed(path, value)

    def note_removed(self, path: Path, value: Any) -> None:
        """Note that the comments of what is about a path may go with it."""
        for statement in self.below[path]:
            self.removed.append((statement.start, statement.end, value))

    def drop_deleted(self) -> None:
        """Note the spans of what is deleted, with the blank lines that would double."""
        text = self.text
        inserted = {edit.start for edit in self.edits if edit.start == edit.end}
        runs: list[tuple[int, int]] = []
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
            above = text[:start].rstrip("\n")
            has_blank_above = not above or start - len(above) > 1
            is_apart = inserted.isdisjoint((start, end, blank_end))
            if not has_blank_above or not is_apart:
                self.edits.append(Edit(start, end, ""))
            elif blank_end < len(text):
                self.edits.append(Edit(start, blank_end, ""))
            else:  # nor is a blank line left at the end of the file
                above_end = len(above) + 1 if above else 0
                self.edits.append(Edit(above_end, blank_end, ""))

    def blanks_behind(self, place: int) -> int:
        """Return where the blank lines at a place end."""
        match = _BLANK_LINES.match(self.text, place)
        return match.end() if match else place

    def rename(self, path: Path, key: str) -> None:
        """Rename the last key of a path, wherever it is written."""
        depth = len(_only_names(path))
        for statement in self.below[path]:
            above = 0
            if statement.value is not None:
                above = len(_only_names(statement.section))
            if depth > above:
                start, end = statement.names[depth - above - 1]
                self.edits.append(Edit(start, end, self.key(key)))

    def keep_empty(self, path: Path) -> None:
        """Write an empty table in place of its last entry."""
        first = self.below[path][0]
        if first.value is None:
            text = f"[{self.dotted(path)}]\n"
        else:
            text = f"{self.dotted(path[len(first.section) :])} = {{}}\n"
        rank = _rank_above(path)
        self.edits.append(Edit(first.start, first.start, text, rank))

    # -------------------------------------------------------------------------- adding

    def add(
        self,
        path: Path,
        key: str,
        value: Any,
    ) -> None:
        """Add an entry to a table: a table behind all, a value behind all values."""
        self.added.append(value)
        is_section = _is_tables(value)
        if isinstance(value, dict) and value:
            is_section = True
        dotted = self.last_dotted.get(path)
        if path in self.headers or not path:
            dotted = None  # it has a place for keys of its own
        if is_section and dotted is None:
            self.add_section(path, key, value)
            return
        if dotted is not None:
            last = dotted
            above = path[len(last.section) :]
            names = self.dotted((*above, key))
            line = f"{names} = {self.inline(value, None)}\n"
        else:
            quotes = self.quotes.get(path, set())
            quote = next(iter(quotes)) if len(quotes) == 1 else ""
            line = f"{self.key(key)} = {self.inline(value, None, quote)}\n"
            last_pair = self.last_pairs.get(path, self.headers.get(path))
            if last_pair is None:
                self.first_lines.setdefault(path, []).append(line)
                return
            last = last_pair
        first_name, _ = last.names[0]
        indent = self.indent_at(first_name) if last.value else ""
        self.edits.append(Edit(last.end, last.end, indent + line))

    @cached_property
    def quotes(self) -> dict[Path, set[str]]:
        """By path of a header, the quotes of the strings below it."""
        quotes: dict[Path, set[str]] = {}
        for pair in self.pairs.values():
            letter = self.text[pair.value.start] if pair.value else ""
            if letter in ("'", '"'):
                quotes.setdefault(pair.section, set()).add(letter)
        return quotes

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
        ends = [statement.end for statement in self.below[path]]
        end = max(ends, default=len(self.text))
        if self.text[:end].strip():
            text = f"\n{text}"
        self.edits.append(Edit(end, end, text, _rank_behind(path)))

    def insert_first_lines(self, path: Path, lines: list[str]) -> None:
        """Insert the first pairs of a table that has no header."""
        text = "".join(lines)
        if path:
            text = f"[{self.dotted(path)}]\n{text}"
        if self.below[path]:
            place = self.below[path][0].start
            text += "\n"
        else:
            place = len(self.text)
        self.edits.append(Edit(place, place, text, _rank_above(path)))

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


def _names(match: re.Match[str]) -> list[tuple[int, int]]:
    """Return the spans of the names in a header or a key."""
    start, end = match.span("names")
    if _BARE.fullmatch(match.string, start, end):  # the commonest
        return [(start, end)]
    return [name.span() for name in _NAME.finditer(match.string, start, end)]


def _only_names(path: Path) -> list[str]:
    """Return a path without the positions in arrays of tables."""
    return [key for key in path if type(key) is not int]


def _is_tables(value: Any) -> bool:
    """Return whether a value is written as an array of tables."""
    if not isinstance(value, list) or not value:
        return False
    return all(type(item) is dict for item in value)
