"""A TOML text with another tree: tomlkit reads it, holds its parts and writes it.

Owns where entries are added, and which comments belong to them: those directly above an
entry become the start of its own text, so that they move and go with it.
"""

from __future__ import annotations

import re
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
    for action, *arguments in editor.todo:
        action(*arguments)
    for body, pair in (place for places, _ in editor.removed.all for place in places):
        body[:] = [one for one in body if one is not pair]
    left = [pair for places, _ in editor.removed.left for _, pair in places]
    dropped = _text_of(kit, left)
    made = root.as_string().removesuffix(end)
    return Made(made, new, comments(text), comments(dropped))


def comments(text: str) -> list[str]:
    """Return the comments of a TOML text."""
    return [found for found in _COMMENT.findall(text) if found]


def _text_of(kit: Any, pairs: Body) -> str:
    made = kit.container.Container()
    made.body.extend(pairs)
    return str(made.as_string())


class _Editor:
    """Changes tables in place; notes first what is removed and what has to be added."""

    def __init__(self, kit: Any) -> None:
        self.kit, self.removed, self.is_first = kit, Removed(), True
        self.todo: list[tuple[Any, ...]] = []

    def attach(self, body: Body, held: list[tuple[Body, Any]]) -> None:
        """Make the comments directly above an entry a part of it.

        Args:
            body: The entries.
            held: The comments and blank lines since the last entry, with their bodies.
        """
        for pair in [*body]:
            key, item = pair
            if key is None:
                held.append((body, pair))
                continue
            is_table, is_array = (
                self.is_table(item),
                isinstance(item, self.kit.items.AoT),
            )
            for one in item.body if is_array else [item]:
                if not (is_table or is_array) or self.has_header(key, one):
                    self.attach_to(one, held, is_table or is_array)
                if is_table or is_array:
                    self.attach(one.value.body, held)

    def attach_to(
        self, item: Any, held: list[tuple[Body, Any]], is_table: bool
    ) -> None:
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

    def is_table(self, item: Any) -> bool:
        return isinstance(item, self.kit.items.Table)

    def has_header(self, key: Any, table: Any) -> bool:
        return not table.is_super_table() and not key.is_dotted()

    def change_table(self, bodies: list[Body], old: Any, new: Any) -> None:
        """Note what is to be done in a table, which may have several parts."""
        for place, key in steps(old, new):
            name = None if place is None else [*old][place]
            places = [
                (body, pair) for body in bodies for pair in body
                if pair[0] is not None and pair[0].key == name
                and not isinstance(pair[1], self.kit.items.Null)
            ]  # fmt: skip
            if place is None:
                self.todo.append((self.add, bodies, key, new[key]))
            elif key is GONE:
                self.removed.add(places, old[name])
            else:
                self.change(places, old[name], new[key])
                if key != name:
                    self.todo.append((self.rename, places, name, key))

    def change(self, places: list[tuple[Body, Any]], old: Any, new: Any) -> None:
        """Note what is to be done to change a value."""
        items = [pair[1] for _, pair in places]
        if same(old, new):
            return
        if type(new) is dict and all(map(self.is_table, items)):
            self.change_table([item.value.body for item in items], old, new)
            if not new and not any(self.has_header(*pair) for _, pair in places):
                self.todo.append((self.put, places, old, new))
        elif (
            type(new) is list and new and all(type(one) is dict for one in new)
            and isinstance(items[0], self.kit.items.AoT)
        ):  # fmt: skip
            tables, made = [*items[0].body], items[0].body
            made.clear()
            for was, now in steps(old, new):
                if was is None:
                    made.append(self.kit.item(new[now]))
                    if len(made) > 1:
                        made[-1].trivia.indent = "\n"
                    elif tables:
                        made[0].trivia.indent = tables[0].trivia.indent
                        tables[0].trivia.indent = "\n"
                elif now is not GONE:
                    made.append(tables[was])
                    self.change_table([tables[was].value.body], old[was], new[now])
                else:
                    pair = places[0][1][0], tables[was]
                    self.removed.add([(made, pair)], old[was])
        else:
            self.todo.append((self.put, places, old, new))

    def put(self, places: list[tuple[Body, Any]], old: Any, new: Any) -> None:
        """Change a value after `=`, or put one in place of a table."""
        (body, (key, item)), *_ = places
        if self.is_table(item) or isinstance(item, self.kit.items.AoT):
            self.removed.add(places, old)
            self.add([body], key.key, new)
            return
        made = self.edited(item, old, new)
        made._trivia = item.trivia
        body[:] = [(key, made) if pair[1] is item else pair for pair in body]

    def rename(self, places: list[tuple[Body, Any]], name: str, key: Any) -> None:
        for body, (old, item) in places:
            made = self.key(key)
            written = old.as_string()
            made.sep = written[len(written.rstrip()) :] + old.sep
            made._dotted = old.is_dotted()
            self.unname(item)
            body[:] = [(made, item) if pair[1] is item else pair for pair in body]

    def unname(self, item: Any) -> None:
        """Let tomlkit make the headers of tables from their keys."""
        for table in item.body if isinstance(item, self.kit.items.AoT) else [item]:
            if self.is_table(table):
                table.display_name = None
                for key, below in table.value.body:
                    if key is not None:
                        self.unname(below)

    def add(self, bodies: list[Body], key: Any, value: Any) -> None:
        """Add an entry: what was removed elsewhere, with its comments, or a new one."""
        source = self.removed.take(value) or []
        body, kinds = bodies[-1], self.kit.items
        pairs = [item for k, item in body if k is not None]
        tables = [item for k, item in body if k and not k.is_dotted() and
                  (self.is_table(item) or isinstance(item, kinds.AoT))]  # fmt: skip
        quotes = {
            item.as_string()[0] for item in pairs if isinstance(item, kinds.String)
        }
        made = self.item(value, quotes.pop() if len(quotes) == 1 else "")
        name = self.key(key)
        if len(source) == 1:
            made = source[0][1][1]
            name.sep, name._dotted = " = ", source[0][1][0].is_dotted()
            self.unname(made)
            if self.is_table(made):
                made._is_aot_element = False
        elif isinstance(value, dict) and value:
            made = self.kit.item(value)
            made.trivia.indent = "\n"
        is_section = self.is_table(made) or isinstance(made, kinds.AoT)
        if is_section and not name.is_dotted():
            at = max(
                (n + 1 for n, (k, _) in enumerate(body) if k is not None),
                default=len(body),
            )
        else:
            if not is_section:
                made.trivia.trail = "\n"
            at = max(
                (
                    n + 1
                    for n, (k, item) in enumerate(body)
                    if k is not None and not any(item is one for one in tables)
                ),
                default=0,
            )
            if tables and at == 0:
                at = next(n for n, (_, item) in enumerate(body) if item is tables[0])
                if not is_section:
                    made.trivia.trail = "\n\n"
        body.insert(at, (name, made))

    def edited(self, item: Any, old: Any, new: Any) -> Any:
        """Return an item with another value; entries that stay are kept as they are."""
        if same(old, new):
            return item
        inside = item.as_string()
        pad = " " if inside[1:2] == " " else ""
        if type(old) is list is type(new) and old and new and "\n" in inside:
            place = 0
            for was, now in steps(old, new):
                if now is GONE:
                    del item[place]
                elif was is None:
                    item.insert(place, self.fresh(new[now]))
                elif not same(old[was], new[now]):
                    item[place] = self.edited(item.item(place), old[was], new[now])
                place += now is not GONE
            return item
        if type(old) is list is type(new) and old and new:
            made = [
                self.fresh(new[now]) if was is None
                else self.edited(item.item(was), old[was], new[now])
                for was, now in steps(old, new) if now is not GONE
            ]  # fmt: skip
            texts = [one.as_string() for one in made]
            return self.kit.value(f"[{pad}{', '.join(texts)}{pad}]")
        if type(old) is dict is type(new) and old and new:
            items = {k.key: one for k, one in item.value.body if k is not None}
            if not any(k is not None and k.is_dotted() for k, _ in item.value.body):
                keys = [*old]
                texts = [
                    f"{self.key(now).as_string()} = " + (
                        self.fresh(new[now]) if was is None else
                        self.edited(items[keys[was]], old[keys[was]], new[now])
                    ).as_string()
                    for was, now in steps(old, new) if now is not GONE
                ]  # fmt: skip
                return self.kit.value(f"{{{pad}{', '.join(texts)}{pad}}}")
        return self.fresh(new, inside[:1])

    def key(self, key: Any) -> Any:
        if not isinstance(key, str):
            raise RevisionError(f"TOML has no key {key!r}")
        return self.kit.key([key])

    def fresh(self, value: Any, quote: str = "") -> Any:
        """Return an item for a value, which may be one that was removed elsewhere."""
        self.removed.take(value)
        return self.item(value, quote)

    def item(self, value: Any, quote: str = "") -> Any:
        """Return an item for a value, in one line."""
        if isinstance(value, dict):
            made = self.kit.inline_table()
            for key, one in value.items():
                made.append(self.key(key), self.item(one))
            return made
        if isinstance(value, list):
            made = self.kit.array()
            made.extend(map(self.item, value))
            return made
        if (
            isinstance(value, str)
            and quote == "'"
            and value.isprintable()
            and "'" not in value
        ):
            return self.kit.string(value, literal=True)
        return self.kit.item(value)
