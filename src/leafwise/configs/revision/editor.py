"""Entries of a text as spans, and what happens to brackets and commas around them.

What all formats have in common: where values stand (`Part`, `Entry`), how a value
between brackets is written, and that no comment is lost. Lines are for the modules of
YAML and TOML.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any, ClassVar, Final, NamedTuple

from ..documents import Document, RevisionError
from .changes import ABSENT, same, steps


LEAF: Final = "leaf"
"""A scalar, or what is replaced as a whole."""
FLOW: Final = "flow"
"""Entries between brackets, with commas between them."""
BLOCK: Final = "block"
"""Entries on lines of their own, at one column."""


Span = tuple[int, int]
"""Where something begins in a text, and where it ends."""


class Edit(NamedTuple):
    """A span of a text, and what takes its place.

    Attributes:
        start, end: The span, which is empty for an insertion.
        text: The new text.
        rank: Of insertions at one place, the one with the lowest rank comes first.
    """

    start: int
    end: int
    text: str
    rank: tuple[int, int] = (0, 0)


def spliced(text: str, edits: Iterable[Edit]) -> str:
    """Return a text after edits, whose spans do not overlap."""
    pieces = []
    place = 0
    for edit in sorted(edits, key=attrgetter("start", "end", "rank")):
        pieces += [text[place : edit.start], edit.text]
        place = edit.end
    pieces.append(text[place:])
    return "".join(pieces)


class Entry(NamedTuple):
    """An item of a list or a pair of a mapping.

    Attributes:
        start: Where it begins: in a block, with the comments directly above it.
        head: Where the key, the dash or, between brackets, the item begins.
        after: Where the colon or the dash ends; in a list between brackets, where the
            item begins.
        value: The value.
        end: Where it ends: in a block, with its last line.
        key: The key; only in YAML, where a mapping has other ones by `<<`.
    """

    start: int
    head: int
    after: int
    value: Part
    end: int
    key: Any = None


class Part:
    """A value in a text.

    Attributes:
        kind: `LEAF`, `FLOW` or `BLOCK`.
        start, end: Its span. That of a block has whole lines, but for the first line
            where the block begins behind a dash.
        bare: Where its own text begins, behind an anchor or tag.
        entries: Those of a collection, in the order of the dict or list.
        is_list: Whether it is a list.
    """

    def __init__(
        self,
        kind: str,
        start: int,
        end: int,
        bare: int,
        entries: Sequence[Entry] = (),
        *,
        is_list: bool = False,
    ) -> None:
        self.kind = kind
        self.start = start
        self.end = end
        self.bare = bare
        self.entries = entries
        self.is_list = is_list

    def fits(self, old: Any, new: Any) -> bool:
        """Return whether a value can be written by changes of the entries."""
        if self.kind is not FLOW or type(old) is not type(new):
            return False
        return len(self.entries) == len(old)


def entries_by_key(entries: Sequence[Entry], value: Any) -> dict[Any, Entry]:
    """Return the entries of a dict or list by its keys or positions."""
    keys = range(len(value)) if isinstance(value, list) else value
    return dict(zip(keys, entries, strict=True))


_BEHIND: Final = re.compile(
    r"""
    (  (?: \s | \#[^\n]*+ )*+ (?=,)  )?+   # blanks and comments up to a comma
    (,?)
    (  [ \t]* (?: \#[^\r\n]* )? (?=\r?\n)  )?   # blanks and a comment to the line's end
    """,
    re.VERBOSE,
)
"""What is behind an item between brackets: up to its comma, that, and a comment."""


class _Surroundings(NamedTuple):
    """What stands around an item between brackets.

    Attributes:
        before: What is between the comma of the item before, or the bracket, and it.
        gap: What is between it and its comma.
        comment: What is behind its comma on the same line.
    """

    before: str
    gap: str = ""
    comment: str = ""


class Editor:
    """Writes a text with other values.

    Args:
        text: The text.
        plain: The same without number signs in scalars.

    Attributes:
        removed: The spans of entries that are removed, with their values.
        added: The values of new entries.
    """

    comments: ClassVar[re.Pattern[str] | None] = None
    """Matches comments, each as a group; None if the format has none."""
    colon = ": "
    comma = ", "
    unit = "  "
    has_lines = False
    """Whether new items between brackets may stand on lines of their own."""

    def __init__(self, text: str, plain: str = "") -> None:
        self.text = text
        self.plain = plain or text
        self.removed: list[tuple[int, int, Any]] = []
        self.added: list[Any] = []

    def revised(self, document: Document, tree: Any) -> str:
        """Return the text with another tree; it is not checked yet.

        Args:
            document: The document that was read from the text.
            tree: The new tree.

        Raises:
            RevisionError: The text is in a form that cannot be edited.
        """
        raise NotImplementedError

    def reason(self) -> str:
        """Return why a new text has other values than the edit, "" if unknown."""
        return ""

    def check_comments(self, new: str) -> None:
        """Raise `RevisionError` if a comment is lost.

        Those of removed entries may go; one whose value is added elsewhere was moved.

        Args:
            new: The new text.
        """
        pattern = self.comments
        if pattern is None:
            return
        old_comments = Counter(pattern.findall(self.plain))
        new_comments = Counter(pattern.findall(new))
        lost = old_comments - new_comments
        lost.pop("", None)
        if not lost:
            return
        for start, end, value in self.removed:
            if not any(same(value, added) for added in self.added):
                lost -= Counter(pattern.findall(self.plain[start:end]))
        for comment in lost:
            raise RevisionError(f"the comment {comment!r} would be lost")

    def remove(self, entry: Entry, value: Any) -> None:
        """Note that an entry goes, and the comments on its lines with it."""
        start = start_of(self.text, entry.start, 1)
        end = max(entry.end, self.text.find("\n", entry.end - 1))
        self.removed.append((start, end, value))

    # ------------------------------------------------------------------- values as text

    def leaf(self, value: Any, quote: str) -> str:
        """Return the text of a scalar.

        Args:
            value: The value.
            quote: A quote to use, where there is a choice.
        """
        raise NotImplementedError

    def key(self, key: Any) -> str:
        """Return the text of a key."""
        return self.leaf(key, "")

    def inline(
        self,
        value: Any,
        indent: str | None,
        quote: str = "",
    ) -> str:
        """Return the text of a value between brackets.

        Args:
            value: The value.
            indent: That of the line on which it begins, if its items may stand on lines
                of their own.
            quote: A quote to use, where there is a choice.
        """
        if not isinstance(value, dict | list):
            return self.leaf(value, quote)
        inner = None if indent is None or not value else indent + self.unit
        if isinstance(value, dict):
            items = [
                f"{self.key(key)}{self.colon}{self.inline(below, inner)}"
                for key, below in value.items()
            ]
        else:
            items = [self.inline(item, inner) for item in value]
        if inner is None:
            text = self.comma.join(items)
        else:
            lines = f",\n{inner}".join(items)
            text = f"\n{inner}{lines}\n{indent}"
        return f"{{{text}}}" if isinstance(value, dict) else f"[{text}]"

    # ------------------------------------------------------------------- changed values

    def edited(
        self,
        part: Part,
        old: Any,
        new: Any,
    ) -> str:
        """Return the text of a value that becomes another one."""
        if same(old, new):
            return self.text[part.start : part.end]
        if part.fits(old, new):
            return self.collection(part, old, new)
        return self.replaced(part, old, new)

    def replaced(
        self,
        part: Part,
        old: Any,
        new: Any,
    ) -> str:
        """Return the text of a value that is replaced in one piece."""
        self.drop_entries(part, old, new)
        indent = None
        if self.has_lines and isinstance(new, dict | list):
            indent = self.indent_at(part.start)
        quote = self.first_letter(part)
        properties = self.text[part.start : part.bare]
        return properties + self.inline(new, indent, quote)

    def drop_entries(
        self,
        part: Part,
        old: Any,
        new: Any,
    ) -> None:
        """Note which entries go with a value that is replaced in one piece.

        If it becomes another kind of value, its comments are lost.
        """
        if not isinstance(old, dict | list) or type(old) is not type(new):
            return
        values = old.values() if isinstance(old, dict) else old
        # there are fewer entries than values if `<<` brings some, or none at all where
        # nobody looked into the value
        for entry, value in zip(part.entries, values, strict=False):
            self.remove(entry, value)

    def collection(
        self,
        part: Part,
        old: Any,
        new: Any,
    ) -> str:
        """Return the text of a collection between brackets with other entries."""
        entries = entries_by_key(part.entries, old)
        items: list[tuple[Entry | None, str]] = []
        for old_key, key in steps(old, new):
            if old_key is ABSENT:
                self.added.append(new[key])
                items.append((None, self.new_item(part, key, new[key])))
                continue
            entry = entries[old_key]
            if key is ABSENT:
                self.remove(entry, old[old_key])
                continue
            head = self.head(part, entry, old_key, key)
            value = self.behind(entry, old[old_key], new[key])
            items.append((entry, head + value))
        if [entry for entry, _ in items] != list(part.entries):
            return self.put_together(part, items)
        pieces = []
        place = part.start
        for entry, (_, text) in zip(part.entries, items, strict=True):
            pieces += [self.text[place : entry.start], text]
            place = entry.end
        pieces.append(self.text[place : part.end])
        return "".join(pieces)

    def head(
        self,
        part: Part,
        entry: Entry,
        old_key: Any,
        new_key: Any,
    ) -> str:
        """Return an entry up to its value, with its new key."""
        head = self.text[entry.start : entry.after]
        if part.is_list or old_key == new_key:
            return head
        before_colon, _, _ = head.rpartition(self.colon.strip())
        key_start = entry.head - entry.start
        key_end = len(before_colon.rstrip())
        return head[:key_start] + self.key(new_key) + head[key_end:]

    def behind(
        self,
        entry: Entry,
        old: Any,
        new: Any,
        gap: str = "",
    ) -> str:
        """Return an entry from its value on.

        Args:
            entry: The entry.
            old, new: The value before and now.
            gap: What to put before the value where there is nothing.
        """
        value = entry.value
        before = self.text[entry.after : value.start] or gap
        after = self.text[value.end : entry.end]
        return before + self.edited(value, old, new) + after

    # ------------------------------------------------------------------- brackets

    def new_item(
        self,
        part: Part,
        key: Any,
        value: Any,
    ) -> str:
        """Return a new entry between brackets."""
        indent = self.item_indent(part) if self.has_lines else None
        text = self.inline(value, indent, self.quote(part))
        return text if part.is_list else f"{self.key(key)}{self.colon}{text}"

    def first_letter(self, part: Part) -> str:
        """Return the letter with which a value begins, such as a quote or bracket."""
        return self.text[part.bare : part.bare + 1]

    def quote(self, part: Part) -> str:
        """Return the quote of the texts in a collection, if all of them have it."""
        quotes = set()
        for entry in part.entries:
            value = entry.value
            if value.kind is LEAF:
                quotes.add(self.first_letter(value))
        return quotes.pop() if len(quotes) == 1 else ""

    def indent_at(self, place: int) -> str:
        """Return the indentation of a line."""
        line_start = self.text.rfind("\n", 0, place) + 1
        line = self.text[line_start:place]
        width = len(line) - len(line.lstrip(" \t"))
        return line[:width]

    def item_indent(self, part: Part) -> str | None:
        """Return the indentation of items that have lines of their own."""
        place = part.start
        for entry in part.entries:
            if "\n" in self.text[place : entry.start]:
                return self.indent_at(entry.start)
            place = entry.end
        if self.has_lines and not part.entries:
            return self.indent_at(part.start) + self.unit
        return None

    def put_together(
        self,
        part: Part,
        items: Sequence[tuple[Entry | None, str]],
    ) -> str:
        """Return a collection in brackets, from or to which entries go or come.

        Args:
            part: The collection.
            items: The entries that it has now, None for new ones, with their texts.
        """
        surroundings, tail, has_comma = self.surroundings(part)
        indent = self.item_indent(part)
        if indent is not None:
            first = between = f"\n{indent}"
            if not surroundings:
                tail = f"\n{self.indent_at(part.start)}"
        else:
            first = surroundings[0].before if surroundings else tail
            between = self.comma[1:]
            if len(surroundings) > 1:
                between = surroundings[1].before
        around_entry = dict(zip(part.entries, surroundings, strict=True))
        pieces = []
        for position, (entry, text) in enumerate(items):
            before = first if position == 0 else between
            around = _Surroundings(before)
            if entry is not None:
                around = around_entry[entry]
                was_first = entry is part.entries[0]
                # the blank behind an opening bracket is not that behind a comma; on
                # lines, comments stand before an item, and go with it
                if indent is not None or was_first == (position == 0):
                    before = around.before
            is_last = position + 1 == len(items)
            comma = "," if has_comma or not is_last else ""
            pieces += [before, text, around.gap, comma, around.comment]
        if items:
            pieces.append(tail)
        opening = self.text[part.start : part.bare + 1]
        return opening + "".join(pieces) + self.text[part.end - 1]

    def surroundings(self, part: Part) -> tuple[list[_Surroundings], str, bool]:
        """Return what stands around the items between brackets.

        And what stands behind the last one, and whether that has a comma.
        """
        surroundings = []
        place = part.bare + 1
        has_comma = False
        for entry in part.entries:
            match = _BEHIND.match(self.text, entry.end, part.end - 1)
            assert match is not None  # it matches the empty text, too
            gap, comma, comment = match.groups("")
            before = self.text[place : entry.start]
            surroundings.append(_Surroundings(before, gap, comment))
            place = match.end()
            has_comma = bool(comma)
        return surroundings, self.text[place : part.end - 1], has_comma


_DIRECTIVE: Final = re.compile(
    r"#(!|\s*(-\*-|vim?:|ex:|[\w.-]+: \$?\w+=|@|SPDX|Copyright|\(c\)|©))", re.IGNORECASE
)
"""A comment that is about its file, such as `# yaml-language-server: $schema=...`."""


def start_of(text: str, head: int, least: int) -> int:
    """Return where an entry begins, with the comments directly above it.

    Args:
        text: The text.
        head: Where its key, its dash or its item begins.
        least: Where it may begin at the earliest. At the top of a file, comments that
            are about the file are not those of the first entry.
    """
    start = text.rfind("\n", 0, head) + 1
    if text[start:head].strip(" "):
        return head
    comment = f"{text[start:head]}#"
    lowest = start
    while start > least:
        above = text.rfind("\n", 0, start - 1) + 1
        if above < least or not text.startswith(comment, above):
            break
        start = above
    if start == 0 and _DIRECTIVE.match(text):
        return lowest
    return start
