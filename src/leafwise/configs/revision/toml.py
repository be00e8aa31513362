"""A TOML text with another tree: tomlkit reads it, holds its entries and writes it.

A comment directly above a deleted key goes with it; what else tomlkit would lose or
write in another form is refused.
"""

from __future__ import annotations

import re
from typing import Any, Final

from .. import formats
from . import editor
from .editor import GONE, Editor, RevisionError, same, scan, steps


_STRING: Final = r'"""[\s\S]*?"""|\'\'\'[\s\S]*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\''
_COMMENT: Final = re.compile(rf"{_STRING}|(#[^\n]*)")
_LAST_LINES: Final = re.compile(r"(?<=\n)(?:[ \t]*(?:#[^\n]*)?\n)*\Z")
"""Comments at the end of a table, which are rather about the next one."""
_TOKEN: Final = re.compile(
    r"(?:[\s,]|#[^\n]*)*((?P<open>[{\[])|(?P<close>[}\]])"
    rf"|(?:{_STRING}|\d[\d:-]+ \d[\d:.]+|[^\s,={{}}\[\]#]+)(?P<colon>\s*=)?)"
)


def remade(text: str, document: formats.Document, tree: Any) -> str:
    """Return a TOML text with another tree; see `revise`."""
    end = "" if text.endswith("\n") else "\n"
    root = formats.toml_writer().parse(text + end)
    if root.as_string() != text + end:
        raise RevisionError("tomlkit does not reproduce its layout")
    writer = _Editor(root.body)
    writer.change_table([root.body], document.tree, tree)
    made: str = root.as_string().removesuffix(end)
    editor.check_values(formats.load(made, "toml").tree, tree)
    writer.check_comments(_COMMENT, text, made)
    return made


class _Editor(Editor):
    """Changes tables in place, and writes the values behind `=`.

    The body of a table is a list of keys and items; the key of comments and of blank
    lines is None.
    """

    colon = " = "

    def __init__(self, root: list[Any]) -> None:
        super().__init__("")
        self.root, self.kit = root, formats.toml_writer()
        self.kinds = self.kit.items

    def change_table(self, bodies: list[list[Any]], old: Any, new: Any) -> None:
        """Change a table, which may have several parts."""
        for name, value in old.items():
            places = [(body, n) for body in bodies for n, (key, _) in enumerate(body)
                      if key is not None and key.key == name]  # fmt: skip
            if name not in new:
                for body, n in reversed(places):
                    self.remove_key(body, n, value)
            elif not same(value, new[name]):
                self.change(places, value, new[name])
        for name in new:
            if name not in old:
                self.add(bodies[-1], name, new[name])

    def remove_key(self, body: list[Any], stop: int, value: Any) -> None:
        """Remove an entry; comments at the top are rather about the file."""
        start = stop
        while start and isinstance(body[start - 1][1], self.kinds.Comment):
            start -= 1
        if start == 0 and body is self.root:
            start = stop
        rest = self.drop(body[start : stop + 1], value)
        body[start : stop + 1] = [(None, self.kinds.Whitespace(rest, fixed=True))]

    def drop(self, pairs: list[Any], value: Any) -> str:
        """Note that entries are removed; return the comments behind that stay."""
        removed = self.kit.container.Container()
        removed.body.extend(pairs)
        text = removed.as_string()
        rest = "".join(_LAST_LINES.findall(text)[:1])
        self.removed.append((text.removesuffix(rest), value))
        return rest if "#" in rest else ""

    def change(self, places: list[tuple[list[Any], int]], old: Any, new: Any) -> None:
        """Change the value of an entry of a table."""
        pairs = [body[n] for body, n in places]
        key, item = pairs[0]
        are_tables = type(new) is list and {*map(type, new)} == {dict}
        if isinstance(item, self.kinds.Table) and type(new) is dict:
            # entries are added to the last part: not to one that only names tables
            pairs.sort(key=lambda x: x[0].is_dotted() or not x[1].is_super_table())
            self.change_table([table.value.body for _, table in pairs], old, new)
        elif isinstance(item, self.kinds.AoT) and are_tables:
            self.change_tables(item.body, old, new)
        elif len(pairs) > 1 or isinstance(item, self.kinds.Table | self.kinds.AoT):
            raise RevisionError(f"the table {key.key} would have another form")
        else:
            self.text = self.plain = item.as_string()
            made = self.kit.value(self.edited(scan(self.text, _TOKEN), old, new))
            made._trivia = item.trivia
            body, n = places[0]
            body[n] = key, made

    def change_tables(self, tables: list[Any], old: Any, new: Any) -> None:
        """Change an array of tables."""
        made: list[Any] = []
        above = ""
        for was, now in steps(old, new):
            if now is GONE:
                pair = self.kit.key("item"), tables[was]
                above = self.drop([pair], old[was]).lstrip("\n")
            elif was is None:
                made.append(self.table(new[now], made[-1:]))
            else:
                made.append(tables[was])
                made[-1].trivia.indent = above + made[-1].trivia.indent
                above = ""
                self.change_table([tables[was].value.body], old[was], new[now])
        tables[:] = made

    def table(self, value: Any, above: list[Any]) -> Any:
        """Return a new table, with a blank line between it and the items above."""
        made = self.kit.item(value)
        if above and not "".join(x.as_string() for x in above).endswith("\n\n"):
            made.trivia.indent = "\n"
        else:
            made.value.body.append((None, self.kinds.Whitespace("\n")))
        self.added.append(value)
        return made

    def add(self, body: list[Any], name: Any, value: Any) -> None:
        """Add an entry: a table behind all others, a value behind all values."""
        is_table = isinstance(value, dict) and bool(value)
        sections = self.kinds.Table | self.kinds.AoT
        places = [n for n, (key, item) in enumerate(body) if key is not None and (
            is_table or key.is_dotted() or not isinstance(item, sections))]  # fmt: skip
        at = max(places, default=len(body) - 1 if is_table else -1) + 1
        items = [item for _, item in body]
        if is_table:
            made = self.table(value, items[:at])
        else:
            texts = [x for x in items if isinstance(x, self.kinds.String)]
            quotes = {text.as_string()[0] for text in texts}
            like = quotes.pop() if len(quotes) == 1 else ""
            made = self.kit.value(self.inline(value, None, like))
            made.trivia.trail = "\n" if places or at == len(body) else "\n\n"
            self.added.append(value)
        body.insert(at, (self.kit.key([name]), made))

    def key(self, key: Any) -> str:
        """Return the text of a key."""
        return str(self.kit.key([key]).as_string())

    def leaf(self, value: Any, like: str) -> str:
        """Return the text of a scalar."""
        if like == "'" and isinstance(value, str) and re.fullmatch("[ -&(-~]*", value):
            return f"'{value}'"
        return str(self.kit.item(value).as_string())
