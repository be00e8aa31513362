"""A YAML or JSON text with other values.

Owns what happens to lines, commas, brackets, aliases and comments when an entry
changes, goes, comes or moves. Knows spans; a style has the text of what is new.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from .parts import GONE, MERGE, Removed, RevisionError, Step, same, steps
from .spans import ALIAS, BLOCK, FLOW, LEAF, Entry, Part, fits


__all__ = ["Editor"]

_BEFORE_COMMA: Final = re.compile(r"(?:\s|#[^\n]*+)*+(?=,)")
_REST: Final = re.compile(r"[ \t]*(?:#[^\r\n]*)?(?=\r?\n)")
_ANCHOR: Final = re.compile(r"&\S+[ \t]*")
_INDENT: Final = re.compile(r"[ \t]*")


class Editor:
    """Edits one text, by replacing spans of it.

    The first pass, `change`, decides what becomes of each entry, replaces values and
    finds what is removed. Then collections with other entries are written, inner ones
    first: what is added may be something that was removed.

    Attributes:
        removed: What was removed: a collection and an entry, with the value.
        results: The new values of the parts that stay, by their start.
    """

    def __init__(self, text: str, style: Any) -> None:
        self.text, self.style = text, style
        self.removed, self.results = Removed(), dict[int, Any]()
        self.cuts: list[tuple[int, int, str]] = []
        self.todo: list[tuple[Callable[..., None], Part, list[Step], Any]] = []

    def run(self, roots: Iterable[tuple[Part, Any, Any]]) -> tuple[str, list[Any]]:
        """Return the text of roots with new values, and what they will be parsed as."""
        roots = [*roots]
        self.has_aliases = any(_has_alias(root) for root, _, _ in roots)
        results = [self.root(root, old, new) for root, old, new in roots]
        for write, part, plan, new in reversed(self.todo):
            write(part, plan, new)
        return self.taken_out(0, len(self.text)), results

    def dropped(self) -> Iterator[str]:
        """Yield the lines of the entries that were removed and do not come back."""
        for (_, entry), _ in self.removed.left:
            end = max(entry.end, self.text.find("\n", entry.end - 1))
            yield self.text[entry.start : end]

    def taken_out(self, start: int, end: int) -> str:
        """Return a part of the text with its cuts made, and forget these cuts."""
        inside = [cut for cut in self.cuts if start <= cut[0] and cut[1] <= end]
        self.cuts = [cut for cut in self.cuts if cut not in inside]
        parts = []
        for first, last, made in sorted(inside, key=lambda cut: cut[:2]):
            parts += [self.text[start:first], made]
            start = last
        return "".join([*parts, self.text[start:end]])

    # ------------------------------------------------------------------ what changes

    def root(self, part: Part, old: Any, new: Any) -> Any:
        """Note the changes of a root; return what it will be parsed as."""
        if fits(part, new):
            return self.collection(part, old, new)
        if same(old, new):
            return new
        self.check_known(part, old)
        made = self.style.inline(new, "", has_lines=part.kind is not BLOCK)
        if part.kind is BLOCK:
            self.remove_all(part, old, new)
            made = f"{made}\n"
        self.cuts.append((part.start, part.end, made))
        return new

    def collection(self, part: Part, old: Any, new: Any) -> Any:
        """Note the changes of a collection; return what it will be parsed as."""
        if old is new and not self.has_aliases:
            return new
        keys = [MERGE if entry.is_merge else entry.key for entry in part.entries]
        after = self.merged(part, old)
        for key in after:
            if key in old and key not in new:
                raise RevisionError(f"the merge key << also gives the key {key!r}")
        plan = [*steps(old, new, None if part.is_list else keys)]
        plan = [
            (place, key) for place, key in plan
            if place is not None or part.is_list
            or key not in after or not same(after[key], new[key])
        ]  # fmt: skip
        if plan != [*enumerate(range(len(old)) if part.is_list else keys)]:
            write = self.write_flow if part.kind is FLOW else self.write_block
            self.todo.append((write, part, plan, new))
        results = dict(after)
        for place, key in plan:
            if place is None:
                results[key] = new[key]
            elif key is not MERGE:
                entry = part.entries[place]
                name = place if part.is_list else entry.key
                if key is GONE and not entry.is_merge:
                    self.removed.add((part, entry), old[name])
                elif key is not GONE:
                    results[key] = self.entry(part, entry, old[name], new[key])
        result = [results[n] for n in range(len(new))] if part.is_list else results
        self.results[part.start] = result
        return result

    def merged(self, part: Part, old: Any) -> dict[Any, Any]:
        """Return what `<<` will bring into a mapping."""
        found: dict[Any, Any] = {}
        for entry in part.entries if not part.is_list else ():
            sources = entry.value.entries if entry.value.is_list else (entry,)
            for source in reversed(sources) if entry.is_merge else ():
                target = source.value.target
                result = (
                    self.results.get(target.start) if target else
                    {one.key: old[one.key] for one in source.value.entries}
                )  # fmt: skip
                if type(result) is not dict:
                    raise RevisionError("what the merge key << names would be removed")
                found |= result
        return found

    def entry(self, part: Part, entry: Entry, old: Any, new: Any) -> Any:
        """Note the change of a value that stays; return what it will be parsed as."""
        value = entry.value
        if value.kind is ALIAS and value.target is not None:
            start = value.target.start
            if same(new, self.results.get(start, GONE)):
                return new
            if same(old, new):
                if start not in self.results:
                    self.results[start] = new
                    self.write_target(part, value)
                return self.results[start]
        elif fits(value, new):
            return self.collection(value, old, new)
        self.results[value.start] = new
        if value.kind is ALIAS or not same(old, new):
            self.check_known(value, old)
            if part.kind is FLOW:
                self.put_in_flow(part, entry, new)
            else:
                self.put_in_block(part, entry, old, new)
        return new

    def check_known(self, part: Part, old: Any) -> None:
        """Raise `RevisionError` for a collection of which no entries are known."""
        if part.kind is LEAF and isinstance(old, dict | list):
            line = self.text.count("\n", 0, part.start) + 1
            raise RevisionError(f"the form of the value on line {line} cannot be kept")

    def remove_all(self, part: Part, old: Any, new: Any) -> None:
        """Note the entries of a block that is emptied."""
        for place, entry in enumerate(part.entries if type(old) is type(new) else ()):
            if not entry.is_merge:
                name = place if part.is_list else entry.key
                self.removed.add((part, entry), old[name])

    # ------------------------------------------------------------------------- values

    def write_target(self, part: Part, value: Part) -> None:
        """Put in place of an alias what it stands for, which is removed elsewhere."""
        target, own = value.target, self.text[value.start : value.end]
        assert target is not None
        made = self.text[target.start : target.end]
        if target.kind is BLOCK:
            there, inner = " " * target.column, " " * part.column + self.style.unit
            is_inside = self.text[target.start - 1 : target.start] not in ("", "\n")
            lines = _moved(made, there, inner, is_inside=is_inside)
            made = f"&{own[1:]}\n{inner if is_inside else ''}{lines}".removesuffix("\n")
        self.cuts.append((value.start, value.end, made))

    def put_in_flow(self, part: Part, entry: Entry, new: Any) -> None:
        """Replace a value between brackets."""
        value, text = entry.value, self.text
        indent = self.indent_at(value.start)
        has_lines = self.style.has_lines and not self.style.comment
        made = self.inline(value, new, indent, has_lines=has_lines)
        if self.style.comment and text[value.start - 1] == ":":
            made = f" {made}"
        self.cuts.append((value.start, value.end, made))

    def inline(self, value: Part, new: Any, indent: str, *, has_lines: bool) -> str:
        """Return the text of a value in one piece, behind the anchor of the old one."""
        own = self.text[value.start : value.end]
        anchor = _ANCHOR.match(own) if value.bare > value.start else None
        like = self.text[max(value.bare, value.start) : value.end]
        made = str(self.style.inline(new, indent, has_lines=has_lines, like=like))
        return f"{anchor[0]}{made}" if anchor and made else made

    def put_in_block(self, part: Part, entry: Entry, old: Any, new: Any) -> None:
        """Replace what follows the colon or the dash of an entry on lines."""
        text, value, indent = self.text, entry.value, " " * part.column
        between, behind = (
            text[entry.after : value.start] or " ",
            text[value.end : entry.end],
        )
        if value.kind is BLOCK:
            self.remove_all(value, old, new)
            header, *more = text[entry.after : value.start].split("\n", 1)
            comment = re.search(r"[ \t]+#.*", header) if more else None
            between, behind = " ", f"{comment[0] if comment else ''}\n"
        elif text[value.bare : value.bare + 1] in ("|", ">") and value.kind is LEAF:
            comment = re.search(
                r"[ \t]+#.*", text[value.bare : value.end].split("\n")[0]
            )
            behind = f"{comment[0] if comment else ''}{behind}"
        if isinstance(new, dict | list) and new and value.kind is not FLOW:
            self.cuts.append((entry.after, entry.end, self.below(part, new, behind)))
            return
        made = self.inline(value, new, indent, has_lines=True)
        first, *lines = made.split("\n")
        if lines:
            made, behind = f"{first}{behind.rstrip()}\n" + "\n".join(lines), "\n"
        made = f"{between if made else ''}{made}{behind}"
        self.cuts.append((entry.after, entry.end, made))

    def below(self, part: Part, value: Any, behind: str) -> str:
        """Return a collection as a block behind a colon or a dash."""
        first, *lines = self.style.lines(value)
        indent = " " * part.column
        if part.is_list and not behind.strip():
            return "\n".join(
                [f" {first}", *(f"{indent}  {line}" for line in lines), ""]
            )
        step = self.style.unit if isinstance(value, dict) else " " * self.style.offset
        indent += "  " if part.is_list else step
        lines = [f"{indent}{line}" if line else "" for line in [first, *lines]]
        return "\n".join([behind.rstrip(), *lines, ""])

    def like(self, part: Part) -> str:
        """Return the quote of the texts in a collection, if all of them have it."""
        quotes = {
            self.text[entry.value.bare : entry.value.bare + 1]
            for entry in part.entries if entry.value.kind is LEAF
        }  # fmt: skip
        return quotes.pop() if len(quotes) == 1 else ""

    def indent_at(self, place: int) -> str:
        """Return the indentation of a line."""
        found = _INDENT.match(self.text, self.text.rfind("\n", 0, place) + 1)
        return found[0] if found else ""

    # -------------------------------------------------------------------- in brackets

    def write_flow(self, part: Part, plan: list[Step], new: Any) -> None:
        """Write a collection in brackets with other entries."""
        text = self.text
        begin = text.index("[" if part.is_list else "{", max(part.bare, part.start)) + 1
        items, place, has_comma = [], begin, False  # what is around each entry
        for entry in part.entries:
            comma = _BEFORE_COMMA.match(text, entry.end, part.end)
            has_comma = comma is not None
            end = comma.end() + 1 if comma else entry.end
            rest = _REST.match(text, end, part.end - 1)
            trail = rest[0] if rest else ""
            items.append((text[place : entry.start], comma[0] if comma else "", trail))
            place = end + len(trail)
        tail = text[place : part.end - 1]
        found = [lead.rpartition("\n") for lead, _, _ in items if "\n" in lead]
        has_lines = bool(found) or (
            not items and self.style.has_lines and not self.style.comment
        )
        outer = self.indent_at(part.start)
        indent = (
            found[0][2] if found else outer + self.style.unit if has_lines else outer
        )
        made: list[list[str]] = []
        for at, key in plan:
            if key is GONE:
                continue
            lead, gap, trail = items[at] if at is not None else ("", "", "")
            if at is None:
                body = self.fresh_item(part, key, new[key], indent, has_lines)
                lead = f"\n{indent}" if has_lines else self.lead(items, len(made))
                lead = lead if items or made or "\n" in tail else tail
            else:
                body = self.kept_item(part, part.entries[at], key)
                if not has_lines and "\n" not in items[0][0]:
                    lead = self.lead(items, len(made))
            made.append([lead, body, gap, ",", trail])
        if made and not has_comma:
            made[-1][3] = ""
        if not items and has_lines:
            tail = f"\n{outer}"
        inner = "".join(["".join(parts) for parts in made])
        self.cuts.append((begin, part.end - 1, inner + tail if made else ""))

    def lead(self, items: Sequence[tuple[str, str, str]], n: int) -> str:
        """Return what stands before an item of a line."""
        if n == 0:
            return items[0][0] if items else ""
        return items[1][0] if len(items) > 1 else str(self.style.comma[1:])

    def kept_item(self, part: Part, entry: Entry, key: Any) -> str:
        """Return the text of an item that stays, perhaps with another key."""
        made = self.taken_out(entry.start, entry.end)
        if part.is_list or key == entry.key or key is MERGE:
            return made
        name: str = self.style.key(key)
        return name + made[self.end_of_key(entry) - entry.start :]

    def end_of_key(self, entry: Entry) -> int:
        """Return where a key ends, before blanks and the colon."""
        colon = self.text.rindex(":", entry.head, entry.after)
        return entry.head + len(self.text[entry.head : colon].rstrip())

    def fresh_item(
        self, part: Part, key: Any, value: Any, indent: str, has_lines: bool
    ) -> str:
        """Return the text of a new item between brackets."""
        self.taken(value)
        lines = has_lines and not self.style.comment
        like = self.like(part)
        made: str = self.style.inline(value, indent, has_lines=lines, like=like)
        if part.is_list:
            return made
        return f"{self.style.key(key)}{self.style.colon}{made}"

    # ----------------------------------------------------------------------- on lines

    def write_block(self, part: Part, plan: list[Step], new: Any) -> None:
        """Write the lines of a block with other entries."""
        made: list[str] = []
        filler, indent = "", " " * part.column
        is_behind = self.text[part.start - 1 : part.start] not in ("", "\n")
        for place, key in plan:
            if place is None:
                made.append(self.fresh_entry(part, key, new[key], indent))
                continue
            entry = part.entries[place]
            if key is not GONE:
                lines = self.taken_out(entry.start, entry.end)
                if not part.is_list and key not in (entry.key, MERGE):
                    lead = self.text[entry.start : entry.head]
                    rest = lines[self.end_of_key(entry) - entry.start :]
                    lines = f"{lead}{self.style.key(key)}{rest}"
                made += [filler, indent + lines if is_behind and place == 0 else lines]
                filler = ""
            for following in part.entries[place + 1 : place + 2]:
                filler += self.text[entry.end : following.start]
        text = "".join([*made, filler])
        text = text.removeprefix(indent) if is_behind else text
        self.cuts.append((part.start, part.end, text))

    def fresh_entry(self, part: Part, key: Any, value: Any, indent: str) -> str:
        """Return the lines of a new entry."""
        marker = "-" if part.is_list else f"{self.style.key(key)}:"
        source = self.taken(value)
        if source is not None and source[0].kind is BLOCK:
            return self.brought(part, key, *source)
        if source is not None:
            span = source[1].value
            return f"{indent}{marker} {self.text[span.start : span.end]}\n"
        if isinstance(value, dict | list) and value:
            return f"{indent}{marker}{self.below(part, value, '')}"
        has_lines = isinstance(value, str) and "\n" in value
        made = self.style.inline(
            value, indent, has_lines=has_lines, like=self.like(part)
        )
        return f"{indent}{marker}{' ' if made else ''}{made}\n"

    def taken(self, value: Any) -> tuple[Part, Entry] | None:
        """Return where a value was removed that comes back, if its text still fits."""
        source: tuple[Part, Entry] | None = self.removed.take(value)
        target = source[1].value.target if source is not None else None
        if target is not None and not same(self.results.get(target.start, GONE), value):
            return None
        return source

    def brought(self, part: Part, key: Any, above: Part, entry: Entry) -> str:
        """Return the lines of an entry that stood elsewhere, with its comments."""
        text, indent, was = self.text, " " * part.column, " " * above.column
        lead = text[entry.start : entry.head].rstrip(" ")
        lead = _moved(lead, was, indent) if lead.strip() else ""
        marker = "-"
        if not part.is_list:
            is_named = not above.is_list and entry.key == key
            name = text[entry.head : entry.after] if is_named else None
            marker = name or f"{self.style.key(key)}:"
        if entry.value.kind is not BLOCK:
            behind = _moved(text[entry.after : entry.end], was, indent, is_inside=True)
            return f"{lead}{indent}{marker}{behind}"
        header, *more = text[entry.after : entry.value.start].split("\n", 1)
        rest = re.search(r"[ \t]+#.*", header) if more else None
        column = part.column + 2 if part.is_list else part.column + self.style.step
        if not part.is_list and entry.value.is_list:
            column = part.column + self.style.offset
        there, lines = (
            " " * entry.value.column,
            text[entry.value.start : entry.value.end],
        )
        lines = _moved(lines if more else there + lines, there, " " * column)
        head = f"{lead}{indent}{marker}"
        if part.is_list and not rest and not lines.lstrip(" ").startswith("#"):
            return f"{head} {lines.lstrip(' ')}"
        return f"{head}{rest[0] if rest else ''}\n{lines}"


def _moved(lines: str, was: str, indent: str, *, is_inside: bool = False) -> str:
    """Return lines with another indentation; the first may begin inside a line."""
    return "\n".join(
        line
        if not line.strip() or not line.startswith(was) or (is_inside and n == 0)
        else indent + line[len(was) :]
        for n, line in enumerate(lines.split("\n"))
    )


def _has_alias(part: Part) -> bool:
    values = [entry.value for entry in part.entries]
    return any(value.kind is ALIAS or _has_alias(value) for value in values)
