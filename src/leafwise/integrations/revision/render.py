"""A text of spans written again with other values.

Owns what happens to lines, commas, brackets and comments when an entry changes, goes,
comes, or moves. Knows spans; a style of the format has the text of what is new.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from .parts import (
    ALIAS,
    BLOCK,
    FLOW,
    GONE,
    LEAF,
    Entry,
    Made,
    Part,
    Step,
    Unkept,
    fits,
    same,
    steps,
)


__all__ = ["Render", "rendered"]

_BEFORE_COMMA: Final = re.compile(r"(?:\s|#[^\n]*+)*+(?=,)")
_REST: Final = re.compile(r"[ \t]*(?:#[^\r\n]*)?(?=\r?\n)")
_MANY: Final = 200


class _Source(NamedTuple):
    """Something that was removed, and may come back elsewhere."""

    value: Any
    entry: Entry
    above: Part


class _Piece(NamedTuple):
    """An item between brackets: before it, itself, up to the comma, and behind that."""

    lead: str
    body: str
    gap: str
    trail: str


class Render:
    """Writes the text of one root.

    Attributes:
        is_kept: Whether all comments are there, but for those of what was removed.
    """

    def __init__(self, text: str, style: Any, *, reuse: bool = True) -> None:
        self.text, self.style, self.reuse = text, style, reuse
        self.is_kept = True
        self.gone: list[_Source] = []
        self.plans: dict[int, list[Step]] = {}
        self.news: dict[int, Any] = {}
        """The new values of parts that stay, by where they begin."""
        self.results: dict[int, Any] = {}
        """What they will be read as."""
        self.elsewhere: list[tuple[Any, str]] = []
        """Values that were removed from around this text, and theirs."""
        self.homeless: set[int] = set()
        """Where parts began that aliases stand for, and that do not stay."""

    def run(self, root: Part, old: Any, new: Any) -> tuple[str, Any]:
        """Return the text of a root with a new value, and what it will be read as.

        The two values differ where an alias stands for something that was changed.
        """
        targets = {*_aliased(root)}
        self.has_aliases = bool(targets)
        self._survey(root, old, new)
        if root.kind is BLOCK and root.start not in self.plans and not same(old, new):
            raise Unkept
        self.homeless = targets - self.news.keys()
        result = self._followed(root, old, new) if targets else new
        text = self._value(root, old, new, indent="", has_lines=self.style.has_lines)
        return text, result

    # ------------------------------------------------------------------ what changes

    def _survey(self, part: Part, old: Any, new: Any) -> None:
        """Note the steps of each part, what is removed, and what aliases stand for."""
        self.news[part.start] = new
        if type(old) is not type(new):
            return
        if part.kind is BLOCK and not new:
            for index, entry in enumerate(part.entries):
                if not entry.is_merge:
                    name = index if part.is_list else entry.key
                    self.gone.append(_Source(old[name], entry, part))
            return
        if not fits(part, new):
            return
        if old is new and not self.has_aliases:
            return
        own = {entry.key for entry in part.entries if not entry.is_merge}
        if not part.is_list and any(key not in own and key not in new for key in old):
            return  # what `<<` brings cannot be left out
        plan = self.plans[part.start] = [
            (place, key)
            for place, key in steps(part, old, new)
            if place is not None or not self._comes(part, key, old, new)
        ]
        for place, key in plan:
            if place is None or part.entries[place].is_merge:
                continue
            entry = part.entries[place]
            name = place if part.is_list else entry.key
            if key is GONE:
                self.gone.append(_Source(old[name], entry, part))
            else:
                self._survey(entry.value, old[name], new[key])

    def _comes(self, part: Part, key: Any, old: Any, new: Any) -> bool:
        """Return whether an item that is no entry comes from what is merged into it."""
        if part.is_list or key not in old:
            return False
        for entry in part.entries if self.has_aliases else ():
            sources = entry.value.entries if entry.value.is_list else (entry,)
            for source in sources if entry.is_merge else ():
                target = source.value.target
                known = self.news.get(target.start) if target else None
                if type(known) is dict and key in known:
                    return same(known[key], new[key])
        return False

    def _followed(self, part: Part, old: Any, new: Any) -> Any:
        """Return what a part will be read as."""
        if part.kind is ALIAS and part.target is not None:
            at = part.target.start
            if same(old, new) or same(new, self.news.get(at, GONE)):
                return self.results.get(at, new)
            return new
        made = new
        if part.start in self.plans:
            made = self._followed_in(part, old, new)
        self.results[part.start] = made
        return made

    def _followed_in(self, part: Part, old: Any, new: Any) -> Any:
        merged: dict[Any, Any] = {}
        made: dict[Any, Any] = {}
        for place, key in self.plans[part.start]:
            if key is GONE:
                continue
            if place is None:
                made[key] = new[key]
                continue
            entry = part.entries[place]
            if not entry.is_merge:
                name = place if part.is_list else entry.key
                made[key] = self._followed(entry.value, old[name], new[key])
                continue
            sources = entry.value.entries if entry.value.is_list else (entry,)
            for source in reversed(sources):
                target = source.value.target
                if target is None:
                    merged |= {one.key: old[one.key] for one in source.value.entries}
                elif target.start in self.results:
                    merged |= self.results[target.start]
                else:
                    return new  # written out
        return [*made.values()] if part.is_list else merged | made

    def _taken(self, value: Any) -> _Source | None:
        """Return what was removed and comes back with this value."""
        is_one = len(self.gone) == 1
        for source in self.gone[:_MANY]:
            if (is_one or isinstance(value, dict | list)) and same(source.value, value):
                if self.reuse:
                    self.gone.remove(source)
                    return source
                self._lose(self.text[source.entry.start : source.entry.end])
        return None

    # ------------------------------------------------------------------------- values

    def _value(
        self, part: Part, old: Any, new: Any, *, indent: str, has_lines: bool
    ) -> str:
        """Return the text of a part with a new value, in its place."""
        if part.start in self.plans:
            write = self._flow if part.kind is FLOW else self._block
            return write(part, old, new, indent)
        own = self.text[part.start : part.end]
        if part.kind is ALIAS:
            return self._alias(part, old, new, indent, own)
        if same(old, new):
            return own
        if isinstance(old, dict | list):
            self._lose(own)
        anchor = re.match(r"&\S+[ \t]*", own) if part.bare > part.start else None
        bare = own[part.bare - part.start :] if part.bare >= 0 else own
        made = self.style.inline(new, indent, has_lines=has_lines, like=bare)
        return f"{anchor[0]}{made}" if anchor and made else made

    def _lose(self, text: str) -> None:
        """Note that a text is not kept, if it has comments."""
        if self.style.comment and re.search(r"(^|\s)#", text):
            self.is_kept = False

    def _stays(self, part: Part, old: Any, new: Any) -> bool:
        """Return whether a part is an alias that stays, or brings what it names."""
        if part.kind is not ALIAS or part.target is None:
            return False
        known = self.news.get(part.target.start, GONE)
        return same(old, new) or same(new, known)

    def _alias(self, part: Part, old: Any, new: Any, indent: str, own: str) -> str:
        """Return the text of an alias, or of what it stands for, if that is gone."""
        target = part.target
        if target is None:
            raise Unkept
        if not self._stays(part, old, new):
            return str(self.style.inline(new, indent, has_lines=False))
        if target.start not in self.homeless:
            return own
        self.homeless.remove(target.start)
        self.news[target.start] = old
        text = self.text[target.start : target.end]
        if target.kind is not BLOCK:
            return text
        there, inner = " " * target.column, indent + self.style.unit
        is_inside = self.text[target.start - 1 : target.start] not in ("", "\n")
        lines = _moved(text, there, inner, is_inside=is_inside)
        return f"&{own[1:]}\n{inner if is_inside else ''}{lines}".removesuffix("\n")

    # -------------------------------------------------------------------- in brackets

    def _flow(self, part: Part, old: Any, new: Any, indent: str) -> str:
        """Return a collection in brackets."""
        text, plan = self.text, self.plans[part.start]
        begin = text.index("[" if part.is_list else "{", max(part.bare, part.start)) + 1
        pieces, tail, has_comma = self._pieces(part, begin)
        inner, lines = self._indent_in(part, pieces, indent)
        made, detached = self._items(part, old, new, pieces, inner, lines)
        tail = detached + tail
        if not made:
            self._lose(detached)
            return f"{text[part.start : begin]}{text[part.end - 1]}"
        if plan != [(n, key) for n, (_, key) in enumerate(plan) if key is not GONE]:
            made = self._spaced(made, pieces)
        if not pieces and lines:
            tail = f"\n{indent}"
        parts = [text[part.start : begin]]
        for n, piece in enumerate(made):
            comma = "," if has_comma or n < len(made) - 1 else ""
            parts += [piece.lead, piece.body, piece.gap, comma, piece.trail]
        return "".join([*parts, tail, text[part.end - 1]])

    def _items(
        self,
        part: Part,
        old: Any,
        new: Any,
        pieces: list[_Piece],
        indent: str,
        lines: bool,
    ) -> tuple[list[_Piece], str]:
        """Return the new items, and comments behind them that are about none."""
        has_lines = lines and not self.style.comment
        made: list[_Piece] = []
        detached = ""
        for place, key in self.plans[part.start]:
            if place is None:
                body = self._fresh_item(
                    part, key, new[key], indent, has_lines=has_lines
                )
                lead = self._lead(pieces, len(made), indent, lines)
                made.append(_Piece(lead, body, "", ""))
                continue
            piece, entry = pieces[place], part.entries[place]
            if key is GONE:
                detached += _detached(piece.lead)
                continue
            body = piece.body
            if not entry.is_merge:
                name = place if part.is_list else entry.key
                body = self._head(part, entry, key) + self._value(
                    entry.value, old[name], new[key], indent=indent, has_lines=has_lines
                )
            made.append(piece._replace(lead=detached + piece.lead, body=body))
            detached = ""
        return made, detached

    def _pieces(self, part: Part, begin: int) -> tuple[list[_Piece], str, bool]:
        """Return the items of a flow, what follows, and whether a comma does first."""
        text, place, made, has_comma = self.text, begin, [], False
        for entry in part.entries:
            lead, end = text[place : entry.start], entry.end
            comma = _BEFORE_COMMA.match(text, end, part.end)
            has_comma = comma is not None
            gap = comma[0] if comma else ""
            end += len(gap) + has_comma
            rest = _REST.match(text, end, part.end - 1)
            trail = rest[0] if rest else ""
            made.append(_Piece(lead, text[entry.start : entry.end], gap, trail))
            place = end + len(trail)
        return made, text[place : part.end - 1], has_comma

    def _indent_in(
        self, part: Part, pieces: Sequence[_Piece], indent: str
    ) -> tuple[str, bool]:
        """Return the indentation of the items, and whether they are on lines."""
        for piece in pieces:
            _, found, last = piece.lead.rpartition("\n")
            if found:
                return last, True
        if pieces or self.style.comment or not self.style.has_lines:
            return indent, False
        return indent + self.style.unit, True

    def _lead(self, pieces: list[_Piece], n: int, inner: str, lines: bool) -> str:
        """Return what stands before a new item."""
        if lines:
            return f"\n{inner}"
        if n == 0:
            return pieces[0].lead if pieces else ""
        return pieces[1].lead if len(pieces) > 1 else str(self.style.comma[1:])

    def _spaced(self, made: list[_Piece], pieces: list[_Piece]) -> list[_Piece]:
        """Return items of which the first begins as the first one did."""
        for n, piece in enumerate(made):
            if "\n" not in piece.lead and pieces and "\n" not in pieces[0].lead:
                lead = self._lead(pieces, n, "", lines=False)
                made[n] = piece._replace(lead=lead)
        return made

    def _head(self, part: Part, entry: Entry, key: Any) -> str:
        """Return what stands before the value of an item that stays."""
        head = self.text[entry.start : entry.value.start]
        if not part.is_list and key != entry.key:
            head = self.style.key(key) + self._from_colon(entry)
        return f"{head} " if head[-1:] == ":" and self.style.comment else head

    def _from_colon(self, entry: Entry) -> str:
        """Return the text from behind a key to its value."""
        between = self.text[entry.head : entry.value.start]
        colon = self.text.rindex(self.style.sign, entry.head, entry.after)
        blank = len(self.text[entry.head : colon].rstrip())
        return between[blank:]

    def _fresh_item(
        self, part: Part, key: Any, value: Any, indent: str, *, has_lines: bool
    ) -> str:
        """Return the text of a new item."""
        made = None
        source = self._taken(value)
        for text in (text for old, text in self.elsewhere if same(old, value)):
            self._lose(text)
        if source is not None:
            self._lose(self._around(source))
        if source is not None and source.entry.value.kind is not BLOCK:
            made = self.text[source.entry.value.start : source.entry.value.end]
            if "\n" in made:
                was = self._indent_at(source.entry.start)
                made = _moved(made, was, indent, is_inside=True)
        if made is None:
            like = self._like(part)
            made = self.style.inline(value, indent, has_lines=has_lines, like=like)
        if part.is_list:
            return made
        colon = self.style.colon
        if part.entries and not part.entries[0].is_merge:
            colon = self._from_colon(part.entries[0])
            colon = self.style.colon if "\n" in colon or "&" in colon else colon
        return f"{self.style.key(key)}{colon}{made}"

    def _around(self, source: _Source) -> str:
        """Return the lines of what was removed, but for what comes back in brackets."""
        entry, text = source.entry, self.text
        end = max(entry.end, text.find("\n", entry.end - 1))
        if entry.value.kind is BLOCK:
            return text[entry.start : end]
        return text[entry.start : entry.value.start] + text[entry.value.end : end]

    def _indent_at(self, place: int) -> str:
        """Return the indentation of a line."""
        start = self.text.rfind("\n", 0, place) + 1
        found = re.compile(r"[ \t]*").match(self.text, start)
        return found[0] if found else ""

    def _like(self, part: Part) -> str:
        """Return a text whose quotes new values take: that of all the texts beside."""
        quotes = {
            self.text[entry.value.bare : entry.value.bare + 1]
            for entry in part.entries
            if entry.value.kind == "leaf"
        }
        return quotes.pop() if len(quotes) == 1 else ""

    # ----------------------------------------------------------------------- on lines

    def _block(self, part: Part, old: Any, new: Any, _indent: str) -> str:
        """Return the lines of a block."""
        made: list[str] = []
        filler = ""
        indent = " " * part.column
        is_behind = self.text[part.start - 1 : part.start] not in ("", "\n")
        for place, key in self.plans[part.start]:
            if place is None:
                made.append(self._fresh_entry(part, key, new[key], indent))
                continue
            entry = part.entries[place]
            if key is not GONE:
                lines = self._entry(part, entry, place, key, old, new)
                lines = indent + lines if is_behind and place == 0 else lines
                made += [filler, lines]
                filler = ""
            following = part.entries[place + 1 : place + 2]
            if following:
                filler += self.text[entry.end : following[0].start]
        text = "".join([*made, filler])
        return text.removeprefix(indent) if is_behind else text

    def _entry(
        self, part: Part, entry: Entry, place: int, key: Any, old: Any, new: Any
    ) -> str:
        """Return the lines of an entry that stays, with its value or name changed."""
        text, value = self.text, entry.value
        if entry.is_merge:
            if value.target is not None and value.target.start in self.homeless:
                raise Unkept
            return text[entry.start : entry.end]
        name = place if part.is_list else entry.key
        head = text[entry.start : entry.after]
        if not part.is_list and key != entry.key:
            gap = self._from_colon(entry).split(":")[0]
            head = f"{text[entry.start : entry.head]}{self.style.key(key)}{gap}:"
        before, after = old[name], new[key]
        if value.start in self.plans:
            try:
                indent = " " * part.column
                made = self._value(value, before, after, indent=indent, has_lines=True)
                between = text[entry.after : value.start]
                return head + between + made + text[value.end : entry.end]
            except Unkept:
                if value.kind is not BLOCK:
                    raise
        elif value.kind is not ALIAS and same(before, after):
            return head + text[entry.after : entry.end]
        return head + self._behind(part, entry, before, after)

    def _behind(self, part: Part, entry: Entry, old: Any, new: Any) -> str:
        """Return what follows the colon or the dash when the value is another one."""
        text, value = self.text, entry.value
        indent = " " * part.column
        if value.kind is BLOCK:
            if new or type(new) is not type(old):
                self._lose(text[value.start : value.end])
            first = text[entry.after : value.start].split("\n", 1)
            rest = re.search(r"[ \t]+#.*", first[0]) if len(first) > 1 else None
            between, behind = " ", f"{rest[0] if rest else ''}\n"
        else:
            between = text[entry.after : value.start] or " "
            behind = text[value.end : entry.end]
        is_flow = value.kind is FLOW or self._stays(value, old, new)
        if isinstance(new, dict | list) and new and not is_flow:
            if value.kind is LEAF and isinstance(old, dict | list):
                self._lose(text[value.start : value.end])
            return self._below(part, new, behind)
        if value.kind is BLOCK:
            made = self.style.inline(new, indent, has_lines=True)
        else:
            made = self._value(value, old, new, indent=indent, has_lines=True)
        if "\n" in made and "\n" not in text[value.start : value.end]:
            first_line, _, lines = made.partition("\n")
            return f"{between}{first_line}{behind.rstrip()}\n{lines}\n"
        return f"{between if made else ''}{made}{behind}"

    def _below(self, part: Part, value: Any, behind: str) -> str:
        """Return a collection as a block behind a colon or a dash."""
        lines = self.style.lines(value)
        indent = " " * part.column
        if part.is_list and not behind.strip():
            first, *more = lines
            return "\n".join([f" {first}", *(f"{indent}  {line}" for line in more), ""])
        if part.is_list:
            indent += "  "
        elif isinstance(value, dict):
            indent += self.style.unit
        else:
            indent += " " * self.style.offset
        return "\n".join([behind.rstrip(), *(indent + line for line in lines), ""])

    def _fresh_entry(self, part: Part, key: Any, value: Any, indent: str) -> str:
        """Return the lines of a new entry."""
        marker = "-" if part.is_list else f"{self.style.key(key)}:"
        source = self._taken(value)
        if source is not None and source.above.kind is BLOCK:
            return self._brought(part, key, source, indent)
        if source is not None:
            span = source.entry.value
            return f"{indent}{marker} {self.text[span.start : span.end]}\n"
        if isinstance(value, dict | list) and value:
            return f"{indent}{marker}{self._below(part, value, '')}"
        like = self._like(part)
        made = self.style.inline(
            value, indent, has_lines=isinstance(value, str) and "\n" in value, like=like
        )
        return f"{indent}{marker}{' ' if made else ''}{made}\n"

    def _brought(self, part: Part, key: Any, source: _Source, indent: str) -> str:
        """Return the lines of an entry that stood elsewhere, with its comments."""
        entry, above, text = source.entry, source.above, self.text
        was = " " * above.column
        lead = text[entry.start : entry.head].rstrip(" ")
        if not lead.strip():
            lead = ""
        marker = "-"
        if not part.is_list:
            is_named = not above.is_list and entry.key == key
            name = text[entry.head : entry.after] if is_named else None
            marker = name or f"{self.style.key(key)}:"
        if entry.value.kind is not BLOCK:
            behind = _moved(text[entry.after : entry.end], was, indent, is_inside=True)
            return f"{_moved(lead, was, indent)}{indent}{marker}{behind}"
        header = text[entry.after : entry.value.start].split("\n", 1)
        rest = re.search(r"[ \t]+#.*", header[0]) if len(header) > 1 else None
        column = part.column + 2 if part.is_list else part.column + self.style.step
        if not part.is_list and entry.value.is_list:
            column = part.column + self.style.offset
        inner, there = " " * column, " " * entry.value.column
        lines = text[entry.value.start : entry.value.end]
        lines = _moved(lines if len(header) > 1 else there + lines, there, inner)
        head = f"{_moved(lead, was, indent)}{indent}{marker}"
        if part.is_list and not rest and not lines.lstrip(" ").startswith("#"):
            return f"{head} {lines.lstrip(' ')}"
        return f"{head}{rest[0] if rest else ''}\n{lines}"


def rendered(
    text: str, style: Any, roots: Sequence[tuple[Part, Any, Any]], *, reuse: bool
) -> Made:
    """Return a text with new values.

    Args:
        text: The text.
        style: How its format writes values.
        roots: Its roots, with their old and their new values.
        reuse: Whether what is removed in one place and added in another moves.

    Returns:
        The text, what its roots will be read as, and whether the form is kept.
    """
    parts: list[str] = []
    results = []
    place, is_kept = 0, True
    for root, old, new in roots:
        render = Render(text, style, reuse=reuse)
        made, result = render.run(root, old, new)
        parts += [text[place : root.start], made]
        results.append(result)
        place, is_kept = root.end, is_kept and render.is_kept
    return "".join([*parts, text[place:]]), results, is_kept


def _moved(lines: str, was: str, indent: str, *, is_inside: bool = False) -> str:
    """Return lines with another indentation; the first may begin inside a line."""
    return "\n".join(
        line
        if not line.strip() or not line.startswith(was) or (is_inside and n == 0)
        else indent + line[len(was) :]
        for n, line in enumerate(lines.split("\n"))
    )


def _detached(lead: str) -> str:
    """Return those of the lines before an item that are not directly above it."""
    lines = lead.split("\n")[:-1]
    while lines and lines[-1].lstrip().startswith("#"):
        lines.pop()
    text = "\n".join(lines)
    return text if "#" in text else ""


def _aliased(part: Part) -> Iterator[int]:
    """Yield where the parts begin that aliases stand for."""
    for entry in part.entries:
        if entry.value.target is not None:
            yield entry.value.target.start
        yield from _aliased(entry.value)
