"""A TOML text with other values: its statements, and the values in them.

Owns which statements hold what, and how they are changed, named anew, moved, left out
and added so that comments, order, dotted keys and the forms of tables stay. The text of
new values is tomlkit's.
"""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any, Final, NamedTuple

from .. import formats
from ..formats import Document
from .parts import FLOW, GONE, LEAF, Entry, Made, Part, Unkept, fits, same, steps
from .render import Render


__all__ = ["remade"]

_Path = tuple[Any, ...]

_BLANK: Final = re.compile(r"(?:\s|#[^\n]*+)*+")
_KEY: Final = re.compile(
    r"""[ \t]*(?P<key>[A-Za-z0-9_-]+|"[^"\\\n]*(?:\\.[^"\\\n]*)*"|'[^'\n]*')"""
    r"[ \t]*(?P<next>[.=\]])"
)
_LEAF: Final = re.compile(
    r'"""(?:[^\\]|\\[\s\S])*?"{3,5}|'
    r"'''[\s\S]*?'{3,5}|"
    r"""'[^'\n]*'|"[^"\\\n]*(?:\\.[^"\\\n]*)*"|[^\s,\]}#][^,\]}#\n]*"""
)
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+\Z")


def remade(text: str, document: Document, tree: Any, *, reuse: bool) -> Made:
    """Return a TOML text with another tree; see `revise` and `rendered`."""
    rewrite = _Rewrite(text, reuse=reuse)
    return rewrite.run(document.tree, tree), tree, rewrite.is_kept


class _Statement(NamedTuple):
    """A line `key = value`, or one `[table]`.

    Attributes:
        path: What it defines; an index for each array of tables.
        table: Where the names of its key begin; None for a header.
        start: Where it begins, with the comments directly above it.
        keys: The spans of the names in its key.
        value: The value; None for a header.
        end: Where its last line ends.
    """

    path: _Path
    table: _Path | None
    start: int
    keys: list[tuple[int, int]]
    value: Part | None
    end: int


class _Style:
    """How values are written into a TOML text."""

    comment: Final = "#"
    sign: Final = "="
    colon: Final = " = "
    comma: Final = ", "
    unit: Final = "  "
    has_lines: Final = True

    def __init__(self) -> None:
        """Load tomlkit."""
        self.tomlkit = formats.toml_writer()

    @staticmethod
    def key(key: Any) -> str:
        """Return the text of a key."""
        if not isinstance(key, str):
            raise Unkept
        return key if _BARE.match(key) else json.dumps(key, ensure_ascii=False)

    def inline(
        self, value: Any, indent: str, *, has_lines: bool, like: str = ""
    ) -> str:
        """Return the text of a value in one line; see `_Style.inline` of JSON."""
        if isinstance(value, dict):
            pairs = (
                f"{self.key(key)} = {self.inline(item, indent, has_lines=False)}"
                for key, item in value.items()
            )
            inner = ", ".join(pairs)
            return f"{{ {inner} }}" if inner else "{}"
        if isinstance(value, list):
            items = (self.inline(item, indent, has_lines=False) for item in value)
            return f"[{', '.join(items)}]"
        is_literal = like[:1] == "'" and like[:3] != "'''"
        if is_literal and isinstance(value, str) and _is_literal(value):
            return f"'{value}'"
        return str(self.tomlkit.item(value).as_string())


class _Rewrite:
    """Writes a text again."""

    def __init__(self, text: str, *, reuse: bool) -> None:
        """Read the statements of a text."""
        self.text, self.reuse = text, reuse
        self.style = _Style()
        self.statements = [*_Scanner(text).run()]
        self.held = {one.path: one for one in self.statements if one.value}
        self.cuts: list[tuple[int, int, str]] = []
        self.gone: list[tuple[_Path, Any]] = []
        self.is_kept = True

    def run(self, old: Any, new: Any) -> str:
        """Return the text with a new tree in place of an old one."""
        self._walk((), old, new, is_survey=True)
        self._walk((), old, new)
        for path, _ in self.gone:
            self._remove(path)
        parts, place = [], 0
        for start, end, made in sorted(self.cuts, key=lambda cut: cut[:2]):
            if start < place:
                raise Unkept
            parts += [self.text[place:start], made]
            place = end
        return "".join([*parts, self.text[place:]])

    def _walk(
        self, path: _Path, old: Any, new: Any, *, is_survey: bool = False
    ) -> None:
        if same(old, new):
            return
        held = self.held.get(path)
        if held is not None and held.value is not None:
            if not is_survey:
                self._replace(held, held.value, old, new)
            return
        if type(old) is not type(new) or not isinstance(old, dict | list):
            raise Unkept
        if isinstance(old, list) and not new:
            if is_survey:
                self.gone.append((path, old))
            else:
                self._add(path[:-1], path[-1], new)
            return
        self._walk_in(path, old, new, is_survey=is_survey)

    def _walk_in(self, path: _Path, old: Any, new: Any, *, is_survey: bool) -> None:
        is_list = isinstance(old, list)
        names = [*range(len(old))] if is_list else [*old]
        dummy = Part(LEAF, 0, 0)
        entries = [Entry(name, 0, 0, 0, dummy, 0) for name in names]
        part = dummy._replace(entries=entries, is_list=is_list)
        last = None
        for place, key in steps(part, old, new):
            name = key if place is None else names[place]
            if place is not None and key is not GONE:
                if not is_list and key != name and not is_survey:
                    self._rename((*path, name), key)
                self._walk((*path, name), old[name], new[key], is_survey=is_survey)
            elif is_survey and place is not None:
                self.gone.append(((*path, name), old[name]))
            elif not is_survey and place is None:
                if is_list:
                    self._add_table(path, last, new[key])
                else:
                    self._add(path, key, new[key])
            last = last if place is None else place
        if not new and path and not is_survey and not self._headers(path):
            at = self._under(path)[-1].end
            self.cuts.append((at, at, f"{self._gap(at)}[{self._dotted(path)}]\n"))

    def _add_table(self, path: _Path, last: int | None, table: Any) -> None:
        """Add a table to an array of tables, behind another one."""
        if not isinstance(table, dict):
            raise Unkept
        _, *lines = self._section(path, table | {"": 0})
        lines = [line for line in lines if line != '"" = 0']
        made = "\n".join([f"[[{self._dotted(path)}]]", *lines])
        if last is None:
            at = self._under(path)[0].start
            self.cuts.append((at, at, f"{made}\n\n"))
        else:
            at = self._under((*path, last))[-1].end
            self.cuts.append((at, at, f"{self._gap(at)}{made}\n"))

    def _under(self, path: _Path) -> list[_Statement]:
        return [one for one in self.statements if one.path[: len(path)] == path]

    def _replace(self, held: _Statement, value: Part, old: Any, new: Any) -> None:
        """Change the value of a line."""
        render = Render(self.text, self.style, reuse=False)
        if value.kind is FLOW and not fits(value, new):
            render._lose(self.text[value.start : value.end])
        for path, gone in self.gone:
            lines = "".join(self.text[one.start : one.end] for one in self._under(path))
            render.elsewhere.append((gone, lines))
        made, _ = render.run(value, old, new)
        self.is_kept = self.is_kept and render.is_kept
        self.cuts.append((value.start, value.end, made))

    def _rename(self, path: _Path, key: Any) -> None:
        """Give what a path leads to another last name, in each statement below it."""
        depth = len(_names(path)) - 1
        for one in self._under(path):
            at = depth - len(_names(one.table or ()))
            if at >= 0:
                self.cuts.append((*one.keys[at], self.style.key(key)))

    def _remove(self, path: _Path) -> None:
        """Leave out what a path leads to, with the blank lines before a table."""
        found = self._under(path)
        if not found:
            raise Unkept
        text, run = self.text, [found[0]]
        for one, following in zip(found, [*found[1:], None], strict=True):
            if following is not None:
                between = text[one.end : following.start]
                if not between.strip():
                    run.append(following)
                    continue
            start, end = run[0].start, run[-1].end
            if run[0].table is None:
                start = len(text[:start].rstrip()) + 1 if text[:start].strip() else 0
            self.cuts.append((start, end, ""))
            run = [following] if following is not None else run

    def _add(self, path: _Path, key: Any, value: Any) -> None:
        """Add something to a table."""
        below, own = self._under(path), (*path, key)
        source = self._taken(value)
        if source and source[0].table is None:
            at = below[-1].end if below else len(self.text)
            self.cuts.append((at, at, f"{self._gap(at)}{self._brought(source, own)}"))
            return
        is_dotted = bool(self._by_dots(below, path)) and not self._headers(path)
        if isinstance(value, dict) and value and not is_dotted:
            at = below[-1].end if below else len(self.text)
            made = "\n".join(self._section(own, value))
            self.cuts.append((at, at, f"{self._gap(at)}{made}\n"))
            return
        if source:
            line = self._line(source[0], key)
        else:
            like = self._like(below, path)
            made = self.style.inline(value, "", has_lines=False, like=like)
            line = f"{self.style.key(key)} = {made}\n"
        self._insert(path, below, line)

    def _insert(self, path: _Path, below: list[_Statement], line: str) -> None:
        """Put a line `key = value` into a table."""
        pairs = [one for one in below if one.table == path]
        headers = self._headers(path)
        if pairs or headers:
            at = (pairs or headers)[-1].end
            self.cuts.append((at, at, f"{self._break(at)}{line}"))
        elif path == ():
            at = below[0].start if below else len(self.text)
            self.cuts.append(
                (at, at, f"{line}\n" if below else f"{self._break(at)}{line}")
            )
        elif self._by_dots(below, path):
            last = self._by_dots(below, path)[-1]
            names = _names(path)[len(_names(last.table or ())) :]
            dotted = ".".join(map(self.style.key, names))
            comments, found, own = line[:-1].rpartition("\n")
            text = f"{comments}{found}{dotted}.{own}\n"
            self.cuts.append((last.end, last.end, f"{self._break(last.end)}{text}"))
        elif below:
            at = below[0].start
            self.cuts.append((at, at, f"[{self._dotted(path)}]\n{line}\n"))
        else:
            raise Unkept

    def _by_dots(self, below: list[_Statement], path: _Path) -> list[_Statement]:
        """Return the lines that define a table by the dots in their keys."""
        return [one for one in below if one.value and len(one.table or ()) < len(path)]

    def _headers(self, path: _Path) -> list[_Statement]:
        return [
            one for one in self.statements if one.path == path and one.table is None
        ]

    def _dotted(self, path: _Path) -> str:
        return ".".join(map(self.style.key, _names(path)))

    def _break(self, at: int) -> str:
        return "" if at == 0 or self.text[at - 1] == "\n" else "\n"

    def _gap(self, at: int) -> str:
        """Return what stands between a statement and the table behind it."""
        return f"{self._break(at)}\n" if self.text[:at].strip() else ""

    def _like(self, below: list[_Statement], path: _Path) -> str:
        """Return a text whose quotes new values take, if all texts beside have them."""
        quotes = {
            self.text[one.value.start]
            for one in below
            if one.table == path and one.value and one.value.kind is LEAF
        } & {"'", '"'}
        return quotes.pop() if len(quotes) == 1 else ""

    def _section(self, path: _Path, table: dict[str, Any]) -> list[str]:
        """Return the lines of a new table, its own tables behind its values."""
        tables = {k: v for k, v in table.items() if isinstance(v, dict) and v}
        lines = [f"[{self._dotted(path)}]"] if len(tables) < len(table) else []
        for key, value in table.items():
            if key not in tables:
                made = self.style.inline(value, "", has_lines=False)
                lines.append(f"{self.style.key(key)} = {made}")
        for key, value in tables.items():
            lines += [*([""] if lines else []), *self._section((*path, key), value)]
        return lines

    # ---------------------------------------------------------------------- what moves

    def _taken(self, value: Any) -> list[_Statement]:
        """Return the statements of what was removed and comes back with this value."""
        for path, old in self.gone if self.reuse else ():
            if (len(self.gone) == 1 or isinstance(value, dict | list)) and same(
                old, value
            ):
                found = self._under(path)
                held = len(found) == 1 and found[0].path == path and found[0].value
                if held or (found and all(one.table is None or
                                          one.table[: len(path)] == path
                                          for one in found)):  # fmt: skip
                    self.source = path
                    return found
                if any("#" in self.text[one.start : one.end] for one in found):
                    self.is_kept = False
        return []

    def _line(self, one: _Statement, key: Any) -> str:
        """Return a line `key = value`, with its comments, by another name."""
        start, end = one.keys[0][0], one.keys[-1][1]
        lines = self.text[one.start : start] + self.style.key(key)
        lines += self.text[end : one.end]
        return lines if lines.endswith("\n") else f"{lines}\n"

    def _brought(self, found: list[_Statement], path: _Path) -> str:
        """Return the lines of tables, with their comments, at another path."""
        depth, place = len(_names(self.source)), found[0].start
        parts: list[str] = []
        for one in found:
            if one.table is None:
                start, end = one.keys[0][0], one.keys[depth - 1][1]
                parts += [self.text[place:start], self._dotted(path)]
                place = end
        text = "".join([*parts, self.text[place : found[-1].end]])
        return text if text.endswith("\n") else f"{text}\n"


def _is_literal(text: str) -> bool:
    return text.isprintable() and "'" not in text


def _names(path: _Path) -> list[str]:
    return [name for name in path if isinstance(name, str)]


class _Scanner:
    """Reads a text that `tomllib` has read."""

    def __init__(self, text: str) -> None:
        self.text, self.place = text, 0

    def run(self) -> Any:
        """Yield the statements."""
        text, table, last = self.text, (), 0
        counts: dict[_Path, int] = {}
        while True:
            self.place = self._past(self.place)
            if self.place >= len(text):
                return
            start = self._above(last, text.rfind("\n", 0, self.place) + 1)
            value, is_header = None, text[self.place] == "["
            if is_header:
                is_many = text.startswith("[[", self.place)
                self.place += 2 if is_many else 1
                names, spans = self._keys("]")
                path: _Path = ()
                for n, name in enumerate(names):
                    path = (*path, name)
                    if is_many and n == len(names) - 1:
                        counts[path] = counts.get(path, -1) + 1
                    if path in counts:
                        path = (*path, counts[path])
                table = path
            else:
                names, spans = self._keys("=")
                path = (*table, *names)
                value = self._value()
            end = text.find("\n", value.end if value else self.place)
            self.place = last = end + 1 if end >= 0 else len(text)
            yield _Statement(
                path, None if is_header else table, start, spans, value, last
            )

    def _past(self, place: int) -> int:
        found = _BLANK.match(self.text, place)
        return found.end() if found else place

    def _above(self, least: int, start: int) -> int:
        """Return where the comments directly above a line begin.

        At the top of a file they are rather about the file.
        """
        first = start
        while first > least:
            above = self.text.rfind("\n", 0, first - 1) + 1
            if not self.text[above:first].lstrip().startswith("#"):
                break
            first = above
        return first if first else start

    def _keys(self, sign: str) -> tuple[list[str], list[tuple[int, int]]]:
        """Read the names of a key, up to a sign."""
        names, spans = [], []
        while found := _KEY.match(self.text, self.place):
            names.append(_name(found["key"]))
            spans.append(found.span("key"))
            self.place = found.end()
            if found["next"] == sign:
                return names, spans
        raise Unkept

    def _value(self) -> Part:
        """Read a value."""
        self.place = start = self._past(self.place)
        bracket = self.text[start]
        if bracket not in "[{":
            found = _LEAF.match(self.text, start)
            if not found:
                raise Unkept
            end = start + len(found[0].rstrip())
            self.place = end
            return Part(LEAF, start, end, bare=start)
        entries: list[Entry] = []
        is_plain = True
        self.place = self._past(start + 1)
        while self.text[self.place] not in "]}":
            head, key = self.place, None
            if bracket == "{":
                names, _ = self._keys("=")
                is_plain = is_plain and len(names) == 1
                key = names[0]
            after = self.place
            value = self._value()
            head = value.start if bracket == "[" else head
            entries.append(Entry(key, head, head, after, value, value.end))
            self.place = self._past(self.place)
            if self.text[self.place] == ",":
                self.place = self._past(self.place + 1)
        self.place += 1
        kind = FLOW if is_plain else LEAF
        return Part(kind, start, self.place, entries, bracket == "[", bare=start)


def _name(text: str) -> str:
    if text[0] == "'":
        return text[1:-1]
    return next(iter(tomllib.loads(f"{text}=0"))) if text[0] == '"' else text
