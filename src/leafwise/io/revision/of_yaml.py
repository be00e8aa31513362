"""Where the values of a YAML text stand, and how new ones are written there.

Owns what the marks of ruamel.yaml's events mean: which lines are those of an entry,
with comments. Owns lines, anchors and aliases, and entries that move.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator, Sequence
from io import StringIO
from typing import Any, Final

from .. import formats
from ..formats import Document
from .editor import ALIAS, BLOCK, FLOW, LEAF, Editor, Entry, Part, start_of
from .parts import GONE, MERGE, RevisionError, check_comments, same


__all__ = ["remade"]

_PLAIN: Final = ("None", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")
_PROPERTIES: Final = re.compile(r"(?:[&!]\S*[ \t]*)*")
_COLON: Final = re.compile(r"[ \t]*:")
_FIRST: Final = r"(?:\s|#[^\n]*+)*+-"
_INDENTS: Final = [
    rf"(?m)^( *)[^\s#-][^\n]*:(?:[ \t]+[#&][^\n]*)?\n\1( {least})(?={begin})"
    for least, begin in (("+", "[^\\s#-]"), ("*", "- "))
]
"""How mappings are indented in others, and dashes in mappings; as the second group."""
_COMMENTS: Final = re.compile(r"(?:^|[ \t])(?=(#.*))", re.MULTILINE)


def remade(text: str, document: Document, tree: Any) -> tuple[str, Any]:
    """Return a YAML text with another tree; see `revise`."""
    lines = text if text.endswith("\n") else f"{text}\n"
    scanner = _Scanner(lines)
    roots = [*scanner.roots()]
    if not roots:
        return text + formats.dump(document._replace(tree=tree)), tree
    old, new = (
        (document.tree, tree) if document.is_stream else ([document.tree], [tree])
    )
    if type(new) is not list or len(new) != len(roots):
        raise RevisionError("the number of documents would change")
    editor = _Editor(lines)
    parts, results, place = [], [], 0
    for root, was, now in zip(roots, old, new, strict=True):
        editor.find_removed(root, was, now)
        made = editor.edited(root, was, now)
        if root.kind is BLOCK and not root.fits(now):
            made += "\n"
        parts += [lines[place : root.start], made]
        results.append(editor.results[root.start])
        place = root.end
    whole = "".join([*parts, lines[place:]])
    whole = whole if text.endswith("\n") else whole.removesuffix("\n")
    kept = editor.comments(scanner.without_scalars(), _COMMENTS)
    check_comments(kept, _COMMENTS.findall(whole))  # and what looks like one
    return whole, results if document.is_stream else results[0]


class _Scanner:
    """Turns events into parts."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.loader = formats.yaml_loader()
        self.events = [*self.loader.parse(text)][::-1]
        self.anchors: dict[str, Part] = {}
        self.scalars: list[tuple[int, int]] = []

    def roots(self) -> Iterator[Part]:
        """Yield the roots of the documents."""
        while self.events:
            if type(self.events.pop()).__name__ == "DocumentStartEvent":
                yield self.part(0, self.events[-1].start_mark.index)

    def without_scalars(self) -> str:
        """Return the text with others in place of its scalars, with number signs."""
        parts, place = [], 0
        for start, end in sorted(self.scalars):
            blank = re.sub(r"[^\n]", "x", self.text[start:end])
            parts += [self.text[place:start], blank]
            place = end
        return "".join([*parts, self.text[place:]])

    def part(self, least: int, empty_at: int) -> Part:
        """Return the next part.

        Args:
            least: Where its first entry may begin at the earliest, comments included.
            empty_at: Where it is if it has no text of its own.
        """
        event = self.events.pop()
        kind = type(event).__name__
        start, end = event.start_mark.index, event.end_mark.index
        if kind == "AliasEvent":
            target = self.anchors.get(event.anchor)
            return Part(ALIAS, start, end, bare=end, target=target)
        found = _PROPERTIES.match(self.text, start)
        has_properties = event.anchor is not None or self.text[start : start + 1] == "!"
        bare = found.end() if found and has_properties else start
        if kind != "ScalarEvent":
            is_list = kind == "SequenceStartEvent"
            made = self.collection(event, bare, least, is_list)
        elif event.style in ("|", ">"):
            end = self.end_of_lines(bare, end)
            self.scalars.append((self.text.index("\n", bare), end))
            made = Part(LEAF, start, end, bare=bare)
        else:
            if not self.text[start:end].strip():
                start = end = bare = empty_at
            self.scalars.append((start, end))
            made = Part(LEAF, start, end, bare=min(bare, end))
        if event.anchor is not None:
            self.anchors[event.anchor] = made
        return made

    def end_of_lines(self, start: int, end: int) -> int:
        """Return where a scalar of several lines ends, before its last line break."""
        lines = self.text[start:end]
        if "+" in lines.split("\n", 1)[0].split("#")[0]:
            lines = lines.rstrip(" ").removesuffix("\n")
        else:
            lines = lines.rstrip(" \r\n")
        return start + len(lines)

    def collection(self, event: Any, bare: int, least: int, is_list: bool) -> Part:
        """Return the part of a collection, `LEAF` if its form cannot be changed."""
        start, is_flow, text = event.start_mark.index, event.flow_style, self.text
        is_known = str(event.tag) in _PLAIN and (not is_flow or text[bare] in "[{")
        entries: list[Entry] = []
        place, column = least, 0
        while not type(self.events[-1]).__name__.endswith("EndEvent"):
            key = None
            if is_list and is_flow:
                head = after = self.events[-1].start_mark.index
            elif is_list:
                dash = rf"(?m)^ {{{column}}}-(?=\s)" if entries else _FIRST
                found = re.compile(dash).search(text, place if entries else bare)
                head = found.end() - 1 if found else place
                after = head + 1
            else:
                node = self.events[-1]
                name = self.part(place, node.start_mark.index)
                head, colon = name.start, _COLON.match(text, name.end)
                after = colon.end() if colon else name.end
                is_odd = text[:head].rstrip(" \t").endswith("?") if head else False
                if type(node).__name__ == "ScalarEvent" and colon and not is_odd:
                    key = self.key(node)
                else:
                    is_known = False
            column = column if entries else head - text.rfind("\n", 0, head) - 1
            first = head if is_flow else start_of(text, head, place)
            value = self.part(after, after)
            if is_list and is_flow:
                first = head = after = value.start
            end = value.end
            if value.kind is not BLOCK and not is_flow:
                end = text.index("\n", end) + 1
            entries.append(Entry(key, first, head, after, value, end))
            place = end
        last = self.events.pop().end_mark.index
        if is_flow:
            kind = FLOW if is_known else LEAF
            return Part(kind, start, last, entries, is_list, bare=bare)
        if not is_known:
            return Part(LEAF, start, place - 1, bare=bare)
        first = entries[0].start
        return Part(BLOCK, first, place, entries, is_list, column, first)

    def key(self, event: Any) -> Any:
        """Return the key of a scalar."""
        nodes, loader = importlib.import_module("ruamel.yaml.nodes"), self.loader
        tag = event.ctag or loader.resolver.resolve(
            nodes.ScalarNode, event.value, event.implicit
        )
        marks = event.start_mark, event.end_mark
        node = nodes.ScalarNode(tag, event.value, *marks, style=event.style)
        if node.tag == "tag:yaml.org,2002:merge":
            return MERGE
        return loader.constructor.construct_object(node)


class _Editor(Editor):
    """Writes lines, and knows aliases."""

    def __init__(self, text: str) -> None:
        """Look at a text for what it does."""
        super().__init__(text)
        self.has_aliases = "*" in text
        self.dumper, self.liner = formats.yaml_dumper(), formats.yaml_dumper()
        self.dumper.width = self.liner.width = sys.maxsize
        inner, dash = (re.search(indent, text) for indent in _INDENTS)
        step, offset = len(inner[2]) if inner else 2, len(dash[2]) if dash else 0
        self.dumper.indent(step, offset + 2, offset)
        self.liner.default_flow_style = True

    def leaf(self, value: Any, like: str) -> str:
        """Return the text of a value without entries, in one line."""
        return self.dumped(self.liner, [formats.quoted(value, like)])[0][1:-1]

    def lines(self, value: Any) -> list[str]:
        """Return the lines of a value as a block, the first one without indentation."""
        lines = self.dumped(self.dumper, value)
        by = len(lines[0]) - len(lines[0].lstrip(" "))
        return [line[by:] for line in lines]

    @staticmethod
    def dumped(dumper: Any, value: Any) -> list[str]:
        """Return the lines of a value."""
        out = StringIO()
        dumper.dump(value, out)
        return out.getvalue().removesuffix("...\n").removesuffix("\n").split("\n")

    # ------------------------------------------------------------------------ aliases

    def edited(self, part: Part, old: Any, new: Any) -> str:
        """Return the text of a value; an alias stays where only its anchor changed."""
        if not self.follows(part, old, new):
            return super().edited(part, old, new)
        there = self.results.get(part.target.start, GONE) if part.target else GONE
        if there is GONE:
            raise RevisionError(
                f"{self.text[part.start : part.end]} stands for what would be removed"
            )
        self.results[part.start] = there
        return self.text[part.start : part.end]

    def follows(self, part: Part, old: Any, new: Any) -> bool:
        """Return whether an alias stays, with the value that its anchor has now."""
        if part.kind is not ALIAS or part.target is None:
            return False
        return same(old, new) or same(new, self.results.get(part.target.start, GONE))

    def merged(self, part: Part, old: Any) -> dict[Any, Any]:
        """Return what `<<` will bring into a mapping."""
        found: dict[Any, Any] = {}
        for entry in part.entries:
            sources = [one.value for one in entry.value.entries]
            sources = sources if entry.value.is_list else [entry.value]
            for source in reversed(sources) if entry.key is MERGE else ():
                result = (
                    self.results.get(source.target.start) if source.target else
                    {one.key: old[one.key] for one in source.entries}
                )  # fmt: skip
                if type(result) is not dict:
                    raise RevisionError("what the merge key << names would be removed")
                found |= result
        return found

    # ----------------------------------------------------------------------- on lines

    def behind(self, part: Part, entry: Entry, old: Any, new: Any) -> str:
        """Return an entry from its value on; that on lines may become another block."""
        value, text = entry.value, self.text
        is_scalar = not isinstance(new, dict | list) or not new
        if part.kind is FLOW or value.fits(new) or same(old, new) or (
            self.follows(value, old, new) or (value.kind is FLOW and not is_scalar)
        ):  # fmt: skip
            return super().behind(part, entry, old, new)
        self.check_known(value, old)
        self.results[value.start] = new
        between, behind = text[entry.after : value.start], text[value.end : entry.end]
        is_lines = text[value.bare : value.bare + 1] in ("|", ">")
        if value.kind is BLOCK or (is_lines and value.kind is LEAF):
            header = text[entry.after : entry.end].split("\n")[0]
            comment = re.search(r"[ \t]+#.*", header)
            behind = f"{comment[0] if comment else ''}\n"
        anchor = re.match(r"[ \t]*(&\S+)", text[entry.after : entry.end])
        like = text[value.bare : value.bare + 1]
        if part.is_list and (is_scalar or not behind.strip()):
            first, *lines = self.lines([formats.quoted(new, like)])
        elif part.is_list:  # a comment is behind the dash
            first, *lines = "-", *(f"  {line}" for line in self.lines(new))
        else:
            first, *lines = self.lines({"k": formats.quoted(new, like)})
        first = first[1 if part.is_list else 2 :].lstrip(" ")
        first = " ".join([*([anchor[1]] if anchor else ()), first]).rstrip(" ")
        between = " " if lines or value.kind is BLOCK else between or " "
        first = (between if first else "") + first + behind.removesuffix("\n")
        indent = " " * part.column
        lines = [f"{indent}{line}" if line else "" for line in lines]
        return "\n".join([first, *lines, ""])

    def put_together(
        self, part: Part, made: Sequence[tuple[int | None, str | None]]
    ) -> str:
        """Return a collection with other entries; see `Editor`."""
        if part.kind is FLOW:
            return super().put_together(part, made)
        texts: list[str] = []
        filler, indent = "", " " * part.column
        is_behind = self.text[part.start - 1 : part.start] not in ("", "\n")
        for place, body in made:
            if place is None:
                texts.append(body or "")
                continue
            if body is not None:
                texts += [filler, indent + body if is_behind and place == 0 else body]
                filler = ""
            for following in part.entries[place + 1 : place + 2]:
                filler += self.text[part.entries[place].end : following.start]
        text = "".join([*texts, filler])
        return text.removeprefix(indent) if is_behind else text

    def fresh(self, part: Part, key: Any, value: Any) -> str:
        """Return a new entry, or one that was removed elsewhere."""
        source = self.taken(value)
        if part.kind is FLOW:
            return super().fresh(part, key, value)
        indent = " " * part.column
        if source and source[0].kind is BLOCK and source[0].is_list is part.is_list:
            above, entry = source
            name = entry.key if part.is_list else key
            text = self.head(above, entry, name) + self.text[entry.after : entry.end]
            was = " " * above.column
            if self.text[entry.start - 1 : entry.start] not in ("", "\n"):
                text = was + text  # it was behind a dash
            return re.sub(rf"^{was}(?=.)", indent, text, flags=re.MULTILINE)
        value = formats.quoted(value, self.quote(part))
        lines = self.lines([value] if part.is_list else {key: value})
        return "".join(f"{indent}{line}\n" if line else "\n" for line in lines)

    def taken(self, value: Any) -> tuple[Part, Entry] | None:
        """Return where a value was removed that comes back.

        Equal scalars are one only if nothing else was removed.
        """
        is_one = len(self.removed) == 1
        for place, (part, entry, was) in enumerate(self.removed):
            if (is_one or isinstance(value, dict | list)) and same(was, value):
                del self.removed[place]
                return part, entry
        return None
