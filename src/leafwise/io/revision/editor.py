"""A YAML or JSON text with other values, of which the spans are known.

Owns what happens to brackets and commas when an entry changes, goes or comes. All else
stays as it is. What YAML has besides is in `of_yaml`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final, NamedTuple

from .parts import GONE, MERGE, RevisionError, same, steps


__all__ = [
    "ALIAS",
    "BLOCK",
    "FLOW",
    "LEAF",
    "Editor",
    "Entry",
    "Part",
    "scan",
    "start_of",
]

LEAF: Final = "leaf"
"""A scalar, or what is replaced as a whole."""
FLOW: Final = "flow"
"""Entries between brackets, with commas between them."""
BLOCK: Final = "block"
"""Entries on lines of their own, at one column."""
ALIAS: Final = "alias"
"""The name of a value that stands elsewhere."""


class Entry(NamedTuple):
    """An item of a list or a pair of a mapping.

    Attributes:
        key: The key in a dict; None in a list, `MERGE` for what is merged into a dict.
        start: Where it begins: in a block, with the comments directly above it.
        head: Where the key, the dash or, in a flow, the item begins.
        after: Where the colon or the dash ends; in a flow list, where the item begins.
        value: The value.
        end: Where it ends: in a block, with its last line.
    """

    key: Hashable
    start: int
    head: int
    after: int
    value: Part
    end: int


class Part(NamedTuple):
    """A value in a text.

    Attributes:
        kind: `LEAF`, `FLOW`, `BLOCK` or `ALIAS`.
        start, end: Its span. That of a block has whole lines, but for the first line
            where the block begins behind a dash.
        entries: Those of a collection.
        is_list: Whether it is a list.
        column: That of a block.
        bare: Where its own text begins, behind an anchor.
        target: What an alias stands for.
    """

    kind: str
    start: int
    end: int
    entries: Sequence[Entry] = ()
    is_list: bool = False
    column: int = 0
    bare: int = -1
    target: Part | None = None

    def fits(self, new: Any) -> bool:
        """Return whether a value can be written by changes of the entries."""
        if self.kind not in (FLOW, BLOCK) or not (new or self.kind is FLOW):
            return False
        return type(new) is (list if self.is_list else dict)


_BEFORE_COMMA: Final = re.compile(r"(?:\s|#[^\n]*+)*+(?=,)")
_REST: Final = re.compile(r"[ \t]*(?:#[^\r\n]*)?(?=\r?\n)")
_INDENT: Final = re.compile(r"[ \t]*")


class Editor:
    """Writes a text with other values.

    Args:
        text: The text.

    Attributes:
        results: By the start of their parts, what the values will be parsed as.
        removed: Collections, their removed entries and the values of these.
    """

    colon = ": "
    comma = ", "
    unit = "  "
    has_aliases = False
    has_lines = False
    """Whether new items between brackets may stand on lines of their own."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.results: dict[int, Any] = {}
        self.removed: list[tuple[Part, Entry, Any]] = []

    def find_removed(self, part: Part, old: Any, new: Any) -> None:
        """Note the entries that are removed."""
        if old is new or type(old) is not type(new) or part.kind not in (FLOW, BLOCK):
            return
        for place, key in steps(old, new, [entry.key for entry in part.entries]):
            entry = part.entries[place] if place is not None else None
            if entry is not None and key is not MERGE:
                was = old[place if part.is_list else entry.key]
                if key is GONE:
                    self.removed.append((part, entry, was))
                else:
                    self.find_removed(entry.value, was, new[key])

    def comments(self, text: str, pattern: re.Pattern[str]) -> list[str]:
        """Return the comments that no removed entry has.

        Args:
            text: The text, or one in which nothing else looks like a comment.
            pattern: It has a group for the comment.
        """
        entries = [entry for _, entry, _ in self.removed]
        starts = [start_of(text, entry.start, 1) for entry in entries]
        ends = [max(one.end, text.find("\n", one.end - 1)) for one in entries]
        gone = [range(*pair) for pair in zip(starts, ends, strict=True)]
        found = [(one[1], one.start(1)) for one in pattern.finditer(text) if one[1]]
        return [one for one, at in found if not any(at in span for span in gone)]

    def leaf(self, value: Any, like: str) -> str:
        """Return the text of a value without entries.

        Args:
            value: The value.
            like: A quote to use, where there is a choice.
        """
        raise NotImplementedError

    def inline(self, value: Any, indent: str | None, like: str = "") -> str:
        """Return the text of a value between brackets.

        Args:
            value: The value.
            indent: That of the line on which it begins, if its items may stand on lines
                of their own.
            like: A quote to use, where there is a choice.
        """
        if not isinstance(value, dict | list) or not value:
            return self.leaf(value, like)
        inner = None if indent is None else indent + self.unit
        if isinstance(value, dict):
            items = [
                f"{self.key(key)}{self.colon}{self.inline(one, inner)}"
                for key, one in value.items()
            ]
        else:
            items = [self.inline(one, inner) for one in value]
        text = (self.comma if inner is None else f",\n{inner}").join(items)
        text = text if inner is None else f"\n{inner}{text}\n{indent}"
        return f"{{{text}}}" if isinstance(value, dict) else f"[{text}]"

    def key(self, key: Any) -> str:
        """Return the text of a key."""
        return self.leaf(key, "")

    def edited(self, part: Part, old: Any, new: Any) -> str:
        """Return the text of a value that becomes another one."""
        if part.fits(new) and (self.has_aliases or old is not new):
            return self.collection(part, old, new)
        self.results[part.start] = new
        if same(old, new):
            return self.text[part.start : part.end]
        return self.replaced(part, old, new)

    def replaced(self, part: Part, old: Any, new: Any) -> str:
        """Return the text of a value in one piece."""
        self.check_known(part, old)
        bare = max(part.bare, part.start)
        anchor = re.match(r"(&\S+[ \t]*)?", self.text[part.start : bare])
        indent = self.indent_at(part.start) if self.has_lines else None
        made = self.inline(new, indent, self.text[bare : bare + 1])
        return f"{anchor[0] if anchor else ''}{made}"

    def check_known(self, part: Part, old: Any) -> None:
        """Raise `RevisionError` for a collection of which no entries are known."""
        if part.kind is LEAF and isinstance(old, dict | list):
            line = self.text.count("\n", 0, part.start) + 1
            raise RevisionError(f"the form of the value on line {line} cannot be kept")

    def merged(self, part: Part, old: Any) -> dict[Any, Any]:
        """Return what is merged into a mapping by entries with the key `MERGE`."""
        return {}

    def collection(self, part: Part, old: Any, new: Any) -> str:
        """Return the text of a collection with other entries."""
        results = self.merged(part, old)
        for key in results:
            if key in old and key not in new:
                raise RevisionError(f"the merge key << also gives the key {key!r}")
        made: list[tuple[int | None, str | None]] = []
        for place, key in steps(old, new, [entry.key for entry in part.entries]):
            if place is None:
                if key in results and same(results[key], new[key]):
                    continue
                made.append((None, self.fresh(part, key, new[key])))
                results[key] = new[key]
                continue
            entry = part.entries[place]
            if key is GONE:
                made.append((place, None))
            elif key is MERGE:
                made.append((place, self.text[entry.start : entry.end]))
            else:
                was = old[place if part.is_list else entry.key]
                text = self.behind(part, entry, was, new[key])
                made.append((place, self.head(part, entry, key) + text))
                results[key] = self.results[entry.value.start]
        if part.is_list:
            self.results[part.start] = [results[n] for n in range(len(new))]
        else:
            self.results[part.start] = results
        return self.put_together(part, made)

    def head(self, part: Part, entry: Entry, key: Any) -> str:
        """Return what stands before the value of an entry, which may be renamed."""
        head = self.text[entry.start : entry.after]
        if part.is_list or key == entry.key:
            return head
        colon = head.rindex(self.colon.strip())
        end = len(head[:colon].rstrip())
        return head[: entry.head - entry.start] + self.key(key) + head[end:]

    def behind(self, part: Part, entry: Entry, old: Any, new: Any) -> str:
        """Return an entry from its value on."""
        text, value = self.text, entry.value
        made = self.edited(value, old, new)
        return text[entry.after : value.start] + made + text[value.end : entry.end]

    def fresh(self, part: Part, key: Any, value: Any) -> str:
        """Return a new entry."""
        indent = self.item_indent(part) if self.has_lines else None
        made = self.inline(value, indent, self.quote(part))
        return made if part.is_list else f"{self.key(key)}{self.colon}{made}"

    def quote(self, part: Part) -> str:
        """Return the quote of the texts in a collection, if all of them have it."""
        values = [entry.value for entry in part.entries if entry.value.kind is LEAF]
        quotes = {self.text[value.bare : value.bare + 1] for value in values}
        return quotes.pop() if len(quotes) == 1 else ""

    # -------------------------------------------------------------------- in brackets

    def indent_at(self, place: int) -> str:
        """Return the indentation of a line."""
        found = _INDENT.match(self.text, self.text.rfind("\n", 0, place) + 1)
        return found[0] if found else ""

    def item_indent(self, part: Part) -> str | None:
        """Return the indentation of items that have lines of their own."""
        place = part.start
        for entry in part.entries:
            if "\n" in self.text[place : entry.start]:
                return self.indent_at(entry.start)
            place = entry.end
        is_new = self.has_lines and not part.entries
        return self.indent_at(part.start) + self.unit if is_new else None

    def put_together(
        self, part: Part, made: Sequence[tuple[int | None, str | None]]
    ) -> str:
        """Return a collection in brackets with other entries.

        Args:
            part: The collection.
            made: The indices of the old entries, None for new ones; and the new texts,
                None for what is gone.
        """
        text, begin = self.text, max(part.bare, part.start) + 1
        items, place, comma = [], begin, None  # what is around each entry
        for entry in part.entries:
            comma = _BEFORE_COMMA.match(text, entry.end, part.end)
            end = comma.end() + 1 if comma else entry.end
            rest = _REST.match(text, end, part.end - 1)
            trail = rest[0] if rest else ""
            items.append((text[place : entry.start], comma[0] if comma else "", trail))
            place = end + len(trail)
        tail = text[place : part.end - 1]
        between = self.comma[1:] if len(items) < 2 else items[1][0]
        first = items[0][0] if items else tail
        if (indent := self.item_indent(part)) is not None:
            between = first = f"\n{indent}"
            tail = tail if items else f"\n{self.indent_at(part.start)}"
        pieces: list[list[str]] = []
        for n, body in made:
            if body is None:
                continue
            lead, gap, trail = ("", "", "") if n is None else items[n]
            if n is None or (indent is None and (n == 0) == bool(pieces)):
                lead = between if pieces else first
            pieces.append([lead, body, gap, ",", trail])
        if pieces and not comma:
            pieces[-1][3] = ""
        inner = "".join(["".join(piece) for piece in pieces])
        inner += tail if pieces else ""
        return text[part.start : begin] + inner + text[part.end - 1]


def start_of(text: str, head: int, least: int) -> int:
    """Return where an entry begins, with the comments directly above it.

    Args:
        text: The text.
        head: Where its key, its dash or its item begins.
        least: Where it may begin at the earliest; 0 at the top of a file, where
            comments are rather about the file.
    """
    start = text.rfind("\n", 0, head) + 1
    if text[start:head].strip(" "):
        return head
    comment = f"{text[start:head]}#"
    while least and start > least:
        above = text.rfind("\n", 0, start - 1) + 1
        if above < least or not text.startswith(comment, above):
            break
        start = above
    return start


def scan(text: str, token: re.Pattern[str], key_of: Callable[[str], Any]) -> Part:
    """Return the root of a text that has nothing but brackets and scalars.

    Args:
        text: The text, which is known to be well-formed.
        token: What matches a bracket, a scalar or a key, and the blanks before it; with
            groups `open`, `close`, `leaf` and `colon`.
        key_of: Returns the key that a text stands for.
    """
    open_: list[tuple[int, list[Entry], bool]] = [(0, [], True)]
    keys: list[tuple[Any, int, int] | None] = [None]
    place = 0
    while found := token.match(text, place):
        place = found.end()
        start = found.start(1)
        if found["colon"]:
            keys[-1] = key_of(found["leaf"]), start, place
            continue
        if found["open"]:
            open_.append((start, [], found["open"] == "["))
            keys.append(None)
            continue
        if found["close"]:
            start, entries, is_list = open_.pop()
            keys.pop()
            part = Part(FLOW, start, place, entries, is_list)
        else:
            part = Part(LEAF, start, place)
        key, head, after = keys[-1] or (None, part.start, part.start)
        open_[-1][1].append(Entry(key, head, head, after, part, part.end))
        keys[-1] = None
    return open_[0][1][0].value
