"""A TOML text with another tree: tomlkit reads it, holds its entries and writes it.

Comments directly above an entry become the start of its own text, so that they stay and
go with it. A form that tomlkit would rewrite elsewhere is refused.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import partial
from typing import Any, Final

from .. import formats
from ..formats import Document
from .editor import Editor, scan
from .parts import GONE, RevisionError, check_comments, same, steps


__all__ = ["remade"]

_STRING: Final = r'"""[\s\S]*?"""|\'\'\'[\s\S]*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\''
_COMMENT: Final = re.compile(rf"{_STRING}|(#[^\n]*)")
_TOKEN: Final = re.compile(
    r"(?:[\s,]|#[^\n]*)*((?P<open>[{\[])|(?P<close>[}\]])"
    rf"|(?P<leaf>{_STRING}|\d[\d:-]+ \d[\d:.]+|[^\s,={{}}\[\]#]+)(?P<colon>\s*=)?)"
)

Body = list[tuple[Any, Any]]
"""Keys and items of a table of tomlkit; the key of comments and blank lines is None."""


def remade(text: str, document: Document, new: Any) -> tuple[str, Any]:
    """Return a TOML text with another tree; see `revise`."""
    kit, end = formats.toml_writer(), "" if text.endswith("\n") else "\n"
    root = kit.parse(text + end)
    editor = _Tables(kit)
    editor.attach(root.body, [])
    if root.as_string() != text + end:
        raise RevisionError("tomlkit does not reproduce its layout")
    editor.change_table([root.body], document.tree, new)
    for write in editor.todo:
        write()
    made = root.as_string().removesuffix(end)
    left = kit.container.Container()
    left.body.extend(pair for pairs, _ in editor.removed for pair in pairs)
    kept = _comments(text) - _comments(left.as_string()) - editor.dropped
    check_comments(kept.elements(), _comments(made).elements())
    return made, new


def _comments(text: str) -> Counter[str]:
    return Counter(found for found in _COMMENT.findall(text) if found)


class _Tables:
    """Changes tables in place; notes first what is removed and what has to be added.

    Attributes:
        removed: Removed entries, and their values; those that come back are taken.
        dropped: The comments of deleted items of arrays.
    """

    def __init__(self, kit: Any) -> None:
        self.kit, self.kinds = kit, kit.items
        self.removed: list[tuple[Body, Any]] = []
        self.dropped = Counter[str]()
        self.todo: list[partial[None]] = []
        self.is_first = True

    def is_section(self, item: Any) -> bool:
        return isinstance(item, self.kinds.Table | self.kinds.AoT)

    def attach(self, body: Body, held: list[tuple[Body, Any]]) -> None:
        """Make the comments directly above an entry a part of it.

        Args:
            body: The entries of a table.
            held: Comments and blank lines before it, with the table that has them.
        """
        for pair in [*body]:
            key, item = pair
            if key is None:
                held.append((body, pair))
                continue
            for one in item.body if isinstance(item, self.kinds.AoT) else [item]:
                is_table = self.is_section(one)
                if not is_table or not (one.is_super_table() or key.is_dotted()):
                    self.attach_to(one, held, is_table)
                if is_table:
                    self.attach(one.value.body, held)

    def attach_to(self, item: Any, held: list[Any], is_table: bool) -> None:
        texts = [pair[1].as_string() for _, pair in held]
        start = len(held)
        while start and texts[start - 1].lstrip().startswith("#"):
            start -= 1
        if start == 0 and self.is_first:
            start = len(held)  # at the top they are rather about the file
        while start and is_table and not texts[start - 1].strip():
            start -= 1
        for body, pair in held[start:]:
            body[:] = [one for one in body if one is not pair]
        item.trivia.indent = "".join([*texts[start:], item.trivia.indent])
        held.clear()
        self.is_first = False

    # -------------------------------------------------------------------------- tables

    def change_table(self, bodies: list[Body], old: Any, new: Any) -> None:
        """Change a table, which may have several parts."""
        names = [*old]
        for index, key in steps(old, new):
            if index is None:
                self.todo.append(partial(self.add, bodies[-1], key, new[key]))
                continue
            name = names[index]
            places = [(body, pair) for body in bodies for pair in body
                      if pair[0] is not None and pair[0].key == name]  # fmt: skip
            if key is GONE:
                self.remove(places, old[name])
                continue
            if not same(old[name], new[key]):
                self.change(places, old[name], new[key])
            if key != name:
                self.todo.append(partial(self.rename, places, key))

    def remove(self, places: list[tuple[Body, Any]], value: Any) -> None:
        self.removed.append(([pair for _, pair in places], value))
        for body, pair in places:
            body[:] = [one for one in body if one is not pair]

    def change(self, places: list[tuple[Body, Any]], old: Any, new: Any) -> None:
        """Change the value of an entry of a table."""
        (body, (key, item)), *more = places
        if isinstance(item, self.kinds.Table) and type(new) is dict:
            # entries are added to the last part: not to one that only names tables
            parts = [pair for _, pair in places]
            parts.sort(
                key=lambda one: one[0].is_dotted() or not one[1].is_super_table()
            )
            self.change_table([part.value.body for _, part in parts], old, new)
        elif isinstance(item, self.kinds.AoT) and type(new) is list and new:
            self.change_tables(key, item.body, old, new)
        elif (self.is_section(item) and isinstance(new, dict | list)) or more:
            raise RevisionError(f"the table {key.key} would have another form")
        elif self.is_section(item):
            self.remove(places, old)
            self.todo.append(partial(self.add, body, key.key, new))
        else:
            self.todo.append(partial(self.put, body, key, item, old, new))

    def put(self, body: Body, key: Any, item: Any, old: Any, new: Any) -> None:
        """Change a value behind `=`."""
        values = _Values(item.as_string(), self)
        root = scan(values.text, _TOKEN, self.read_key)
        values.find_removed(root, old, new)
        made = self.kit.value(values.edited(root, old, new))
        kept = values.comments(values.text, _COMMENT)
        self.dropped += _comments(values.text) - Counter(kept)
        made._trivia = item.trivia
        body[:] = [(key, made) if pair[1] is item else pair for pair in body]

    def change_tables(self, key: Any, made: list[Any], old: Any, new: Any) -> None:
        """Change an array of tables."""
        if not all(type(one) is dict for one in new):
            raise RevisionError(f"the array of tables {key.key} would have other items")
        tables = [*made]
        made.clear()
        for was, now in steps(old, new):
            if now is GONE:
                self.removed.append(([(key, tables[was])], old[was]))
            elif was is not None:
                made.append(tables[was])
                self.change_table([tables[was].value.body], old[was], new[now])
            else:
                made.append(self.kit.item(new[now]))
                made[-1].trivia.indent = "\n" if len(made) > 1 else ""

    def rename(self, places: list[tuple[Body, Any]], name: str) -> None:
        for body, (old, item) in places:
            made, written = self.key(name), old.as_string()
            made.sep = written[len(written.rstrip()) :] + old.sep
            made._dotted = old.is_dotted()
            self.unname(item)
            body[:] = [(made, item) if pair[1] is item else pair for pair in body]

    def unname(self, item: Any) -> None:
        """Let tomlkit make the headers of tables from their keys."""
        for table in item.body if isinstance(item, self.kinds.AoT) else [item]:
            if self.is_section(table):
                table.display_name = None
                for _, below in table.value.body:
                    self.unname(below)

    def add(self, body: Body, key: Any, value: Any) -> None:
        """Add an entry: what was removed elsewhere, with its comments, or a new one."""
        source = self.taken(value)
        if len(source) == 1 and not self.is_section(source[0][1]):
            made = source[0][1]
        elif isinstance(value, dict) and value:
            made = self.kit.item(value)
            made.trivia.indent = "\n"
        else:
            texts = [x.as_string() for _, x in body if isinstance(x, self.kinds.String)]
            quotes = {text[0] for text in texts}
            like = quotes.pop() if len(quotes) == 1 else ""
            made = self.kit.value(_Values("", self).inline(value, None, like))
        is_section = self.is_section(made)
        places = [n for n, (k, item) in enumerate(body) if k is not None and (
            is_section or k.is_dotted() or not self.is_section(item))]  # fmt: skip
        at = max(places, default=len(body) - 1 if is_section else -1) + 1
        if not is_section:
            made.trivia.trail = "\n" if places or at == len(body) else "\n\n"
        body.insert(at, (self.key(key), made))

    def read_key(self, text: str) -> Any:
        """Return the key of an entry between braces."""
        (name,) = self.kit.parse(f"{text} = 1").body[0][0]
        return name.key

    def taken(self, value: Any) -> Body:
        """Return the removed entry of a value that comes back, in its parts.

        Equal scalars are one only if nothing else was removed.
        """
        is_one = len(self.removed) == 1
        for place, (pairs, old) in enumerate(self.removed):
            if (is_one or isinstance(value, dict | list)) and same(old, value):
                del self.removed[place]
                return pairs
        return []

    def key(self, key: Any) -> Any:
        if not isinstance(key, str):
            raise RevisionError(f"TOML has no key {key!r}")
        return self.kit.key([key])


class _Values(Editor):
    """Writes a value that stands behind `=`."""

    colon = " = "

    def __init__(self, text: str, tables: _Tables) -> None:
        super().__init__(text)
        self.kit, self.taken = tables.kit, tables.taken

    def inline(self, value: Any, indent: str | None, like: str = "") -> str:
        """Return the text of a value; see `Editor`."""
        self.taken(value)
        return super().inline(value, indent, like)

    def key(self, key: Any) -> str:
        """Return the text of a key."""
        return str(self.kit.key([key]).as_string())

    def leaf(self, value: Any, like: str) -> str:
        """Return the text of a value without entries."""
        is_literal = like == "'" and isinstance(value, str) and "'" not in value
        if is_literal and value.isprintable():
            return f"'{value}'"
        return str(self.kit.item(value).as_string()) if value != {} else "{}"
