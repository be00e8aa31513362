"""A TOML text with another tree: tomlkit reads it, holds its entries and writes it.

Comments directly above an entry become the start of its own text, so that they move and
go with it. A form that tomlkit would rewrite elsewhere is refused.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import partial
from typing import Any, Final

from .. import formats
from ..formats import Document
from .parts import GONE, Made, Removed, RevisionError, same, steps


__all__ = ["comments", "remade"]

_STRING: Final = r'"""[\s\S]*?"""|\'\'\'[\s\S]*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\''
_COMMENT: Final = re.compile(rf"{_STRING}|(#[^\n]*)")

Body = list[tuple[Any, Any]]
"""Keys and items of a table of tomlkit; the key of comments and blank lines is None."""


def remade(text: str, document: Document, new: Any) -> Made:
    """Return a TOML text with another tree; see `revise`."""
    kit, end = formats.toml_writer(), "" if text.endswith("\n") else "\n"
    root = kit.parse(text + end)
    editor = _Editor(kit)
    editor.attach(root.body, [])
    if root.as_string() != text + end:
        raise RevisionError("tomlkit does not reproduce its layout")
    editor.change_table([root.body], document.tree, new)
    for write in editor.todo:
        write()
    for body, pair in (place for places, _ in editor.removed.all for place in places):
        body[:] = [one for one in body if one is not pair]
    left = kit.container.Container()
    left.body.extend(pair for places, _ in editor.removed.left for _, pair in places)
    made = root.as_string().removesuffix(end)
    dropped = comments(left.as_string()) + editor.comments
    return Made(made, new, comments(text), dropped)


def comments(text: str) -> list[str]:
    """Return the comments of a TOML text."""
    return [found for found in _COMMENT.findall(text) if found]


class _Editor:
    """Changes tables in place; notes first what is removed and what has to be added."""

    def __init__(self, kit: Any) -> None:
        self.kit, self.kinds = kit, kit.items
        self.removed, self.todo, self.is_first = Removed(), list[Any](), True
        self.comments: list[str] = []  # of items of arrays that were deleted

    def is_section(self, item: Any) -> bool:
        return isinstance(item, self.kinds.Table | self.kinds.AoT)

    def attach(self, body: Body, held: list[tuple[Body, Any]]) -> None:
        """Make the comments directly above an entry a part of it."""
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

    def change_table(self, bodies: list[Body], old: Any, new: Any) -> None:
        """Note what is to be done in a table, which may have several parts."""
        for index, key in steps(old, new):
            if index is None:
                self.todo.append(partial(self.add, bodies[-1], key, new[key]))
                continue
            name = [*old][index]
            places = [(body, pair) for body in bodies for pair in body
                      if pair[0] is not None and pair[0].key == name]  # fmt: skip
            if key is GONE:
                self.removed.add(places, old[name])
                continue
            if not same(old[name], new[key]):
                self.change(places, old[name], new[key])
            if key != name:
                self.todo.append(partial(self.rename, places, key))

    def change(self, places: list[tuple[Body, Any]], old: Any, new: Any) -> None:
        """Note what is to be done to change a value."""
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
            self.removed.add(places, old)
            self.todo.append(partial(self.add, body, key.key, new))
        else:
            self.todo.append(partial(self.put, body, key, item, old, new))

    def put(self, body: Body, key: Any, item: Any, old: Any, new: Any) -> None:
        """Change a value after `=`."""
        made = self.edited(item, old, new)
        made._trivia = item.trivia
        body[:] = [(key, made) if pair[1] is item else pair for pair in body]

    def change_tables(self, key: Any, made: list[Any], old: Any, new: Any) -> None:
        """Bring an array of tables to another value."""
        if not all(type(one) is dict for one in new):
            raise RevisionError(f"the array of tables {key.key} would have other items")
        tables = [*made]
        made.clear()
        for was, now in steps(old, new):
            if now is GONE:
                self.removed.add([(made, (key, tables[was]))], old[was])
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
        pairs = [(k, item) for k, item in body if k is not None]
        quotes = {one.as_string()[0] for _, one in pairs
                  if isinstance(one, self.kinds.String)}  # fmt: skip
        name, source = self.key(key), self.removed.take(value)
        if source:
            (_, (old, made)), *more = source
            is_item = getattr(made, "is_aot_element", bool)
            if more or old.is_dotted() or is_item():
                raise RevisionError(f"the parts of {old.key} cannot be moved")
            name.sep = " = "
            self.unname(made)
        elif isinstance(value, dict) and value:
            made = self.kit.item(value)
            made.trivia.indent = "\n"
        else:
            made = self.item(value, quotes.pop() if len(quotes) == 1 else "")
        is_section = self.is_section(made)
        places = [n for n, (k, item) in enumerate(body) if k is not None and (
            is_section or k.is_dotted() or not self.is_section(item))]  # fmt: skip
        at = max(places, default=-1) + 1
        if not is_section:
            made.trivia.trail = "\n" if places or not pairs else "\n\n"
        elif not places:
            at = len(body)
        body.insert(at, (name, made))

    def edited(self, item: Any, old: Any, new: Any) -> Any:
        """Return an item with another value; entries that stay are kept as they are."""
        inside, is_list = item.as_string(), type(new) is list
        if same(old, new):
            return item
        if type(old) is not type(new) or new in ({}, []) or old in ({}, []) or not (
            is_list or type(new) is dict):  # fmt: skip
            return self.item(new, inside[:1])
        if is_list:
            children, olds = [*map(item.item, range(len(old)))], old
        elif any(k and k.is_dotted() for k, _ in item.value.body):
            raise RevisionError("an inline table with dotted keys would change")
        else:
            children, olds = [item.value.item(key) for key in old], [*old.values()]
        place, texts, in_place = 0, list[str](), is_list and "\n" in inside
        for was, now in steps(old, new):
            if now is GONE:
                if in_place:  # tomlkit deletes the comment on its line with it
                    before = Counter(comments(item.as_string()))
                    del item[place]
                    gone = before - Counter(comments(item.as_string()))
                    self.comments.extend(gone.elements())
                continue
            made = (self.item(new[now]) if was is None
                    else self.edited(children[was], olds[was], new[now]))  # fmt: skip
            if in_place and was is None:
                item.insert(place, made)
            elif in_place:
                item[place] = made
            place += 1
            lead = "" if is_list else f"{self.key(now).as_string()} = "
            texts.append(lead + made.as_string())
        if in_place:
            return item
        pad = " " if inside[1:2] == " " else ""
        return self.kit.value(f"{inside[0]}{pad}{', '.join(texts)}{pad}{inside[-1]}")

    def key(self, key: Any) -> Any:
        if not isinstance(key, str):
            raise RevisionError(f"TOML has no key {key!r}")
        return self.kit.key([key])

    def item(self, value: Any, quote: str = "") -> Any:
        """Return an item for a value, in one line."""
        self.removed.take(value)
        if isinstance(value, dict):
            made = self.kit.inline_table()
            for key, one in value.items():
                made.append(self.key(key), self.item(one))
            return made
        if isinstance(value, list):
            made = self.kit.array()
            made.extend(map(self.item, value))
            return made
        is_literal = quote == "'" and isinstance(value, str) and "'" not in value
        if is_literal and value.isprintable():
            return self.kit.string(value, literal=True)
        return self.kit.item(value)
