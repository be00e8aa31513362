"""Editing a text in place: values change, and everything else stays as it was.

Owns which old entry becomes which new one, whatever the format; when two values are the
same, and when an edit is refused. Owns what happens to brackets and commas when an
entry changes, goes or comes. Comments, blank lines, order, quotes, anchors, indentation
and line ends are kept. JSON needs no more; what TOML and YAML have besides is in
`toml` and `yaml`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any, Final, NamedTuple

from ...selection.align import aligned
from .. import formats
from ..formats import Document


class RevisionError(ValueError):
    r"""A text cannot be edited without losing comments or layout; says why.

    Example:
        >>> from leafwise.configs.formats import load
        >>> from leafwise.configs.revision import revise
        >>> text = "a: [1,  # b\n  2]\n"
        >>> revise(text, load(text, "yaml"), {"a": 5})
        Traceback (most recent call last):
        ...
        leafwise.configs.revision.editor.RevisionError: the comment '# b' would be lost
    """


def revise(text: str, document: Document, tree: Any, *, allow_nan: bool = False) -> str:
    r"""Update a JSON, TOML or YAML text to a new tree, and keep the rest of the text.

    A comment at the end of a line, or on the lines directly above it, belongs to the
    entry on that line. It is moved and deleted with the entry. In YAML, a change to the
    value of an alias appears wherever the alias is used.

    Args:
        text: The text of a JSON, TOML or YAML file.
        document: The `Document` that `load` returned for the text.
        tree: The new tree.
        allow_nan: Whether JSON may have `NaN` and `Infinity`.

    Returns:
        The new text, which is parsed as the new tree.

    Raises:
        RevisionError: The comments and the layout cannot be kept; the message says why.
        FormatError: The format cannot represent the tree, or a required package is not
            installed.

    Example:
        >>> from leafwise.configs.formats import load
        >>> from leafwise.configs.revision import revise
        >>> text = '{"lr": 0.1, "betas": [0.9,\n  0.999]}\n'
        >>> document = load(text, "json")
        >>> revise(text, document, document.tree | {"lr": 0.5})
        '{"lr": 0.5, "betas": [0.9,\n  0.999]}\n'
    """
    is_windows = text.count("\r\n") == text.count("\n") > 0
    plain = text.replace("\r\n", "\n") if is_windows else text
    try:
        if same(document.tree, tree):
            return text
        if document.kind == "json":
            made = _of_json(plain, document, tree, allow_nan)
        else:
            writer = import_module(f".{document.kind}", __package__)
            made = writer.remade(plain, document, tree)
        made.encode()
    except RecursionError as error:
        raise RevisionError("it is nested too deeply to be edited") from error
    except (TypeError, ValueError):
        formats.dump(document._replace(tree=tree), allow_nan=allow_nan)  # or says why
        raise
    return made.replace("\n", "\r\n") if is_windows else made


def check_values(found: Any, expected: Any) -> None:
    """Raise `RevisionError` if a new text has other values than an edit."""
    if not same(found, expected, written=False):
        raise RevisionError("the new text would have other values than the edit")


def same(a: Any, b: Any, *, written: bool = True) -> bool:
    """Return whether two plain values are the same, types and all; NaN is itself.

    And 0.0 is not -0.0.

    Args:
        a, b: The values.
        written: Whether numbers that know their text must have the same one.
    """
    if not written:
        a, b = (x.plain(x) if hasattr(x, "plain") else x for x in (a, b))
    if a is b or type(a) is not type(b):
        return a is b
    if type(a) is dict:
        return a.keys() == b.keys() and all(
            same(value, b[key], written=written) for key, value in a.items()
        )
    if type(a) is list:
        return len(a) == len(b) and all(
            same(*pair, written=written) for pair in zip(a, b, strict=True)
        )
    if isinstance(a, float) or hasattr(a, "plain"):
        return repr(a) == repr(b)
    return bool(a == b)


Step = tuple[Any, Any]
"""The index of an old entry, None for a new one; and its new key, `GONE` for none."""
GONE: Final = object()


def steps(old: Any, new: Any) -> list[Step]:
    """Return in order what becomes of the entries of a dict or list, and which are new.

    Args:
        old: The old value.
        new: The new one, of the same type.
    """
    if isinstance(old, dict) and [*old] == [*new]:
        return [*enumerate(new)]
    return _of_lists(old, new) if isinstance(old, list) else [*_of_dicts(old, new)]


def _of_dicts(old: dict[Any, Any], new: dict[Any, Any]) -> Iterator[Step]:
    renamed = {
        one: other
        for one, other in zip(old, new, strict=False)
        if one not in new and other not in old and same(old[one], new[other])
    }
    names = [key if key in new else renamed.get(key, GONE) for key in old]
    stay, after = {*names}, GONE
    added: dict[Any, list[Any]] = {}  # by the key before them that stays
    for key in new:
        if key in stay:
            after = key
        else:
            added.setdefault(after, []).append(key)
    yield from ((None, key) for key in added.pop(GONE, ()))
    for index, name in enumerate(names):
        yield index, name
        yield from ((None, key) for key in added.get(name, ()))


def _of_lists(old: list[Any], new: list[Any]) -> list[Step]:
    numbers: dict[str, int] = {}
    sides = [[numbers.setdefault(repr(item), len(numbers)) for item in side]
             for side in (old, new)]  # fmt: skip
    kept, _ = aligned(*sides)
    found: list[Step] = []
    i = j = 0
    for stop, other in [*kept, (len(old), len(new))]:
        # between items that stay: one of the same type replaces another
        while i < stop or j < other:
            if i < stop and j < other and (
                stop - i == other - j or type(old[i]) is type(new[j])
            ):  # fmt: skip
                found.append((i, j))
                i, j = i + 1, j + 1
            elif other - j > stop - i:
                found.append((None, j))
                j += 1
            else:
                found.append((i, GONE))
                i += 1
        if i < len(old):
            found.append((i, j))
            i, j = i + 1, j + 1
    return found


# ------------------------------------------------------------------------------- spans


LEAF: Final = "leaf"
"""A scalar, or what is replaced as a whole."""
FLOW: Final = "flow"
"""Entries between brackets, with commas between them."""
BLOCK: Final = "block"
"""Entries on lines of their own, at one column."""


class Entry(NamedTuple):
    """An item of a list or a pair of a mapping.

    Attributes:
        start: Where it begins: in a block, with the comments directly above it.
        head: Where the key, the dash or, in a flow, the item begins.
        after: Where the colon or the dash ends; in a flow list, where the item begins.
        value: The value.
        end: Where it ends: in a block, with its last line.
    """

    start: int
    head: int
    after: int
    value: Part
    end: int


class Part(NamedTuple):
    """A value in a text.

    Attributes:
        kind: `LEAF`, `FLOW` or `BLOCK`.
        start, end: Its span. That of a block has whole lines, but for the first line
            where the block begins behind a dash.
        bare: Where its own text begins, behind an anchor.
        entries: Those of a collection, in the order of the dict or list.
        is_list: Whether it is a list.
        column: That of a block.
    """

    kind: str
    start: int
    end: int
    bare: int
    entries: Sequence[Entry] = ()
    is_list: bool = False
    column: int = 0

    def fits(self, old: Any, new: Any) -> bool:
        """Return whether a value can be written by changes of the entries."""
        if self.kind is LEAF or not (new or self.kind is FLOW):
            return False
        return type(old) is type(new) and len(self.entries) == len(old)


_BEHIND: Final = re.compile(
    r"((?:\s|#[^\n]*+)*+(?=,))?+(,?)([ \t]*(?:#[^\r\n]*)?(?=\r?\n))?"
)
"""What is behind an item between brackets: up to its comma, that, and a comment."""


class Editor:
    """Writes a text with other values.

    Args:
        text: The text.
        plain: The same without number signs in scalars.

    Attributes:
        removed: The lines of entries that are removed, and their values.
        added: The values of new entries.
    """

    colon = ": "
    comma = ", "
    unit = "  "
    has_lines = False
    """Whether new items between brackets may stand on lines of their own."""

    def __init__(self, text: str, plain: str = "") -> None:
        self.text: str = text
        self.plain: str = plain or text
        self.removed: list[tuple[str, Any]] = []
        self.added: list[Any] = []

    def check_comments(self, pattern: re.Pattern[str], old: str, new: str) -> None:
        """Raise `RevisionError` if a comment is lost.

        Those of removed entries may go; one whose value is added elsewhere was moved.

        Args:
            pattern: It has a group for a comment.
            old, new: The text before and after.
        """
        lost = Counter(pattern.findall(old)) - Counter(pattern.findall(new))
        for text, was in self.removed:
            if lost and not any(same(was, value) for value in self.added):
                lost -= Counter(pattern.findall(text))
        for comment in filter(None, lost):
            raise RevisionError(f"the comment {comment!r} would be lost")

    def remove(self, entry: Entry, value: Any) -> None:
        """Note that an entry goes, and the comments on its lines with it."""
        start = start_of(self.text, entry.start, 1)
        end = max(entry.end, self.text.find("\n", entry.end - 1))
        self.removed.append((self.plain[start:end], value))

    def leaf(self, value: Any, like: str) -> str:
        """Return the text of a scalar.

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
        if not isinstance(value, dict | list):
            return self.leaf(value, like)
        inner = None if indent is None or not value else indent + self.unit
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
        if same(old, new):
            return self.text[part.start : part.end]
        if part.fits(old, new):
            return self.collection(part, old, new)
        # in one piece, with its anchor
        self.drop_entries(part, old, new)
        is_deep = self.has_lines and isinstance(new, dict | list)
        indent = self.indent_at(part.start) if is_deep else None
        made = self.inline(new, indent, self.text[part.bare : part.bare + 1])
        return self.text[part.start : part.bare] + made

    def drop_entries(self, part: Part, old: Any, new: Any) -> None:
        """Note that a value is replaced in one piece.

        Raises:
            RevisionError: It is a collection of which the entries are not known.
        """
        if not isinstance(old, dict | list):
            return
        if len(part.entries) != len(old):
            line = self.text.count("\n", 0, part.start) + 1
            raise RevisionError(f"the form of the value on line {line} cannot be kept")
        if type(old) is type(new):  # which is empty
            values = old.values() if isinstance(old, dict) else old
            for entry, value in zip(part.entries, values, strict=True):
                self.remove(entry, value)

    def collection(self, part: Part, old: Any, new: Any) -> str:
        """Return the text of a collection with other entries."""
        names = range(len(old)) if part.is_list else [*old]
        made: list[tuple[int | None, str | None]] = []
        for place, key in steps(old, new):
            if place is None:
                self.added.append(new[key])
                made.append((None, self.fresh(part, key, new[key])))
                continue
            entry, name = part.entries[place], names[place]
            if key is GONE:
                self.remove(entry, old[name])
                made.append((place, None))
                continue
            head = self.text[entry.start : entry.after]
            if not part.is_list and key != name:
                colon = head.rindex(self.colon.strip())
                end = len(head[:colon].rstrip())
                head = head[: entry.head - entry.start] + self.key(key) + head[end:]
            made.append((place, head + self.behind(part, entry, old[name], new[key])))
        if part.kind is FLOW and any(None in pair for pair in made):
            return self.put_together(part, made)
        text, indent = self.text, " " * part.column
        is_behind = part.kind is BLOCK and text[part.start - 1] != "\n"  # behind a dash
        pieces, at = [], part.start
        for place, body in made:
            if place is not None:
                entry = part.entries[place]
                pieces.append(text[at : entry.start])
                pieces.append(indent if body and is_behind and place == 0 else "")
                at = entry.end
            pieces.append(body or "")
        whole = "".join([*pieces, text[at : part.end]])
        return whole.removeprefix(indent) if is_behind else whole

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
        line = self.text[self.text.rfind("\n", 0, place) + 1 : place]
        return line[: len(line) - len(line.lstrip(" \t"))]

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
        """Return a collection in brackets, from or to which entries go or come.

        Args:
            part: The collection.
            made: The indices of the old entries, None for new ones; and the new texts,
                None for what is gone.
        """
        text, begin = self.text, part.bare + 1
        items, place, comma = [], begin, ""  # what is around each entry
        for entry in part.entries:
            found = _BEHIND.match(text, entry.end, part.end - 1)
            assert found
            gap, comma, trail = found.groups("")
            items.append((text[place : entry.start], gap, trail))
            place = found.end()
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


def scan(text: str, token: re.Pattern[str]) -> Part:
    """Return the root of a text that has nothing but brackets and scalars.

    Args:
        text: The text, which is known to be well-formed.
        token: What matches a bracket, a scalar or a key, and the blanks before it; with
            groups `open`, `close` and `colon`.
    """
    open_: list[tuple[int, list[Entry], tuple[int, int] | None]] = [(0, [], None)]
    place, key = 0, None
    while found := token.match(text, place):
        place, start = found.end(), found.start(1)
        if found["colon"]:
            key = start, place
            continue
        if found["open"]:
            open_.append((start, [], key))
            key = None
            continue
        part = Part(LEAF, start, place, start)
        if found["close"]:
            start, entries, key = open_.pop()
            part = Part(FLOW, start, place, start, entries, found["close"] == "]")
        head, after = key or (start, start)
        open_[-1][1].append(Entry(head, head, after, part, place))
        key = None
    return open_[0][1][0].value


# -------------------------------------------------------------------------------- JSON

_TOKEN: Final = re.compile(
    r"[ \t\r\n,]*((?P<open>[{\[])|(?P<close>[}\]])"
    r'|(?:"[^"\\]*(?:\\.[^"\\]*)*"|[^\s,:{}\[\]]+)(?P<colon>[ \t\r\n]*:)?)'
)


def _of_json(text: str, document: Document, tree: Any, allow_nan: bool) -> str:
    """Return a JSON text with another tree; see `revise`."""
    root, writer = scan(text, _TOKEN), _JsonEditor(text, allow_nan)
    made = text[: root.start] + writer.edited(root, document.tree, tree)
    made += text[root.end :]
    found = formats.load(made, "json").tree
    if not same(found, tree, written=False):  # it may have dates, which JSON has not
        dumped = formats.dump(document._replace(tree=tree), allow_nan=allow_nan)
        check_values(found, formats.load(dumped, "json").tree)
    return made


class _JsonEditor(Editor):
    """Writes JSON with the indentation and the separators of a text."""

    def __init__(self, text: str, allow_nan: bool) -> None:
        """Look at a text for what it does."""
        super().__init__(text)
        colons = re.finditer(r'"([ \t]*:[ \t]*)', text)
        self.colon = next((found[1] for found in colons), self.colon)
        plain = re.sub(r'"(?:[^"\\]|\\.)*"', '""', text)
        commas = re.finditer(r",[ \t]*(?=[^ \t\r\n])", plain)
        self.comma = next((found[0] for found in commas), self.comma)
        is_ascii = r"\u" in text and text.isascii()
        self.form: Any = {"ensure_ascii": is_ascii, "allow_nan": allow_nan}
        self.form["default"] = formats.json_default
        indents = re.finditer(r"\n([ \t]+)\S", text)
        self.unit = next((found[1] for found in indents), self.unit)
        self.has_lines = "\n" in text.strip()

    def key(self, key: Any) -> str:
        """Return the text of a key, which JSON makes of numbers, too."""
        return json.dumps({key: 0}, **self.form)[1:-4]

    def leaf(self, value: Any, like: str) -> str:
        """Return the text of a scalar, in its own spelling if it has one."""
        text = json.dumps(value, **self.form)  # which may have no NaN
        return str(value.text) if hasattr(value, "plain") else text
