"""Where the values of a YAML text stand, and how new ones are written there.

Owns what the marks of ruamel.yaml's nodes mean: which lines are those of an entry, with
comments. Owns lines, and what an edit means where aliases and merge keys stand.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from functools import reduce
from operator import getitem
from typing import Any, Final

from .. import formats
from ..formats import MERGE, Document, FormatError
from . import editor
from .editor import BLOCK, FLOW, LEAF, Editor, Entry, Part, same, start_of, steps


_PLAIN: Final = ("tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")
_PROPERTIES: Final = re.compile(r"(?:[&!]\S*[ \t]*)*")
_COLON: Final = re.compile(r"[ \t]*:")
_DASH: Final = re.compile(r"(?:\s|#[^\n]*+)*+-")
_INDENTS: Final = [
    rf"(?m)^( *)[^\s#-][^\n]*:(?:[ \t]+[#&][^\n]*)?\n\1( {least})(?={begin})"
    for least, begin in (("+", "[^\\s#-]"), ("*", "- "))
]
"""How mappings are indented in others, and dashes in mappings; as the second group."""
_SEPARATOR: Final = re.compile(r"^(?:%.*\n)*---(?!\S)", re.MULTILINE)
_COMMENTS: Final = re.compile(r"(?:^|[ \t])(?=(#.*))", re.MULTILINE)


def remade(text: str, document: Document, tree: Any) -> str:
    """Return a YAML text with another tree; see `revise`."""
    lines = text if text.endswith("\n") else f"{text}\n"
    scanner = _Scanner(lines)
    roots = scanner.roots
    if not roots:
        return text + formats.dump(document._replace(tree=tree))
    old, new = (x if document.is_stream else [x] for x in (document.tree, tree))
    if type(new) is not list or not new:
        raise editor.RevisionError("no document would be left, delete the file instead")
    plan = steps(old, new) if len(new) != len(old) else [*enumerate(range(len(new)))]
    if any(place is None for place, _ in plan):
        raise editor.RevisionError("a document would be added")
    plain, has_aliases, wanted = scanner.plain, "*" in text or "<<" in text, []
    writer, intent = _Editor(lines, plain), _Intent()
    begins = [found.start() for found in _SEPARATOR.finditer(plain)]
    begins = [*[roots[0][0].start] * (len(begins) < len(roots)), *begins, len(lines)]
    parts, at = [], 0
    for place, key in plan:
        (root, raw), was = roots[place], old[place]
        if key is editor.GONE and len(begins) != len(roots) + 1:
            raise editor.RevisionError("a document has no --- above it")
        if key is editor.GONE:
            start, end = begins[place : place + 2]
            if not _SEPARATOR.match(plain, start) and plain.startswith("---\n", end):
                end += 4  # the next document is the first one now
            writer.removed.append((plain[start:end], was))
            parts.append(lines[at:start])
            at = end
            continue
        raw = raw if has_aliases else was
        now = intent.of(raw, was, new[key], (key,)) if has_aliases else new[key]
        wanted.append(now)
        parts += [lines[at : root.start], writer.edited(root, raw, now)]
        if root.kind is BLOCK and not root.fits(raw, now):
            parts.append("\n")
        at = root.end
    whole = "".join([*parts, lines[at:]])
    if not text.endswith("\n") and plan[-1][1] is not editor.GONE:
        whole = whole.removesuffix("\n")
    try:
        made = formats.load(whole, "yaml")
        found = made.tree if made.is_stream else [made.tree]
        if has_aliases:
            for path, key in intent.deleted:
                if key in reduce(getitem, path, found):
                    why = f"the merge key << also gives the key {key!r}"
                    raise editor.RevisionError(why)
            found = [raw for _, raw in _Scanner(f"{whole}\n").roots]
        editor.check_values(found, wanted)
    except FormatError as error:  # an alias without its anchor
        raise editor.RevisionError(f"the new text would be {error}") from error
    writer.added += [raw for raw, was in intent.gone
                     if any(same(was, value) for value in writer.added)]  # fmt: skip
    writer.check_comments(_COMMENTS, plain, whole)
    return whole


class _Intent:
    """Says what the text itself is to have for an edit, where aliases stay.

    Attributes:
        anchored: By the ids of old dicts and lists, what has become of them.
        deleted: The paths of mappings with `<<`, and the keys that they lose.
        gone: What the text had for values that are gone, and the values.
    """

    def __init__(self) -> None:
        self.anchored: dict[int, Any] = {}
        self.deleted: list[tuple[Sequence[Any], Any]] = []
        self.gone: list[tuple[Any, Any]] = []

    def of(self, raw: Any, old: Any, new: Any, path: Sequence[Any]) -> Any:
        """Return what the text is to have.

        Args:
            raw: What the text has: an `Alias` for an alias, `MERGE` for `<<`.
            old, new: The value before and after the edit, as it is parsed.
            path: Where the new value is.
        """
        if self.is_given(old, new):
            return raw
        if isinstance(raw, dict | list):
            self.anchored[id(old)] = new
        if type(raw) is not type(new) or not isinstance(new, dict | list):
            return new
        whole: Any = dict(enumerate(raw)) if isinstance(raw, list) else raw
        names = range(len(old)) if isinstance(old, list) else [*old]
        items: list[tuple[Any, Any]] = []
        for place, key in steps(old, new):
            name: Any = editor.GONE if place is None else names[place]
            if name in whole and key is editor.GONE:
                self.gone.append((whole[name], old[name]))
            elif name in whole:
                below = self.of(whole[name], old[name], new[key], (*path, key))
                items.append((key, below))
            elif key is not editor.GONE and not (
                name == key and self.is_given(old[key], new[key])
            ):
                items.append((key, new[key]))  # and not by `<<`
        if isinstance(new, list):
            return [value for _, value in items]
        if MERGE in whole:
            items.insert([*whole].index(MERGE), (MERGE, whole[MERGE]))
            self.deleted += [(path, key) for key in old if key not in new]
        return dict(items)

    def is_given(self, old: Any, new: Any) -> bool:
        """Return whether a value stays, or becomes what its anchor becomes."""
        return same(old, new) or (
            id(old) in self.anchored and same(self.anchored[id(old)], new)
        )


class _Scanner:
    """Turns nodes into parts.

    Attributes:
        roots: The parts of the documents, and what the text itself has for them.
        plain: The text with others in place of its scalars, without number signs.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.scalars: list[tuple[int, int]] = []
        loader = formats.yaml_loader(written=True, raw=True)
        self.roots = [
            (self.part(node, 0, node.start_mark.index),
             loader.constructor.construct_document(node))
            for node in loader.compose_all(self.text)
        ]  # fmt: skip
        parts, place = [], 0
        for start, end in sorted(self.scalars):
            parts += [text[place:start], re.sub(r"[^\n]", "x", text[start:end])]
            place = end
        self.plain = "".join([*parts, text[place:]])

    def part(self, node: Any, least: int, empty_at: int) -> Part:
        """Return the part of a node.

        Args:
            node: The node.
            least: Where its first entry may begin at the earliest, comments included.
            empty_at: Where it is if it has no text of its own.
        """
        start, end = node.start_mark.index, node.end_mark.index
        found = _PROPERTIES.match(self.text, start)
        bare = found.end() if found else start
        if node.id != "scalar":
            return self.collection(node, bare, least)
        if node.style in ("|", ">"):
            end = bare + len(self.text[bare:end].rstrip())
            self.scalars.append((self.text.index("\n", bare), end))
        else:
            if not self.text[start:end].strip():
                start = end = bare = empty_at
            self.scalars.append((start, end))
        return Part(LEAF, start, end, min(bare, end))

    def collection(self, node: Any, bare: int, least: int) -> Part:
        """Return the part of a collection, `LEAF` if its form cannot be changed."""
        start, is_flow, text = node.start_mark.index, node.flow_style, self.text
        is_list = node.id == "sequence"
        is_known = str(node.tag) in _PLAIN and (not is_flow or text[bare] in "[{")
        entries: list[Entry] = []
        place, column = least, 0
        for child in node.value:
            item = child
            if is_list and is_flow:
                head = after = item.start_mark.index
            elif is_list:
                found = _DASH.match(text, place if entries else bare)
                after = found.end() if found else place
                head = after - 1
            else:
                key, item = child
                name = self.part(key, place, key.start_mark.index)
                head, colon = name.start, _COLON.match(text, name.end)
                after = colon.end() if colon else name.end
                is_known &= colon is not None
                is_known &= not text[place:head].rstrip(" \t").endswith("?")
            column = column if entries else head - text.rfind("\n", 0, head) - 1
            first = head if is_flow else start_of(text, head, place)
            value = self.part(item, after, after)
            end = value.end
            if value.kind is not BLOCK and not is_flow:
                end = text.index("\n", end) + 1
            entries.append(Entry(first, head, after, value, end))
            place = end
        if not is_known:
            last = node.end_mark.index if is_flow else place - 1
            return Part(LEAF, start, last, bare)
        if is_flow:
            return Part(FLOW, start, node.end_mark.index, bare, entries, is_list)
        first = entries[0].start
        return Part(BLOCK, first, place, first, entries, is_list, column)


class _Editor(Editor):
    """Writes lines."""

    def __init__(self, text: str, plain: str) -> None:
        """Look at a text for what it does."""
        super().__init__(text, plain)
        self.dumper, self.liner = formats.yaml_dumper(), formats.yaml_dumper()
        self.dumper.width = self.liner.width = sys.maxsize
        inner, dash = (re.search(indent, text) for indent in _INDENTS)
        step, offset = len(inner[2]) if inner else 2, len(dash[2]) if dash else 0
        self.dumper.indent(step, offset + 2, offset)
        self.liner.default_flow_style = True

    def leaf(self, value: Any, like: str) -> str:
        """Return the text of a scalar, in one line."""
        text = formats.yaml_text(self.liner, [[formats.quoted(value, like)]])
        return text.split("\n")[0][1:-1]

    def lines(self, value: Any) -> list[str]:
        """Return the lines of a value as a block, the first one without indentation."""
        text = formats.yaml_text(self.dumper, [value])
        lines = text.removesuffix("\n").split("\n")
        by = len(lines[0]) - len(lines[0].lstrip(" "))
        return [line[by:] for line in lines]

    def behind(self, part: Part, entry: Entry, old: Any, new: Any) -> str:
        """Return an entry from its value on; that on lines may become another block."""
        value, text = entry.value, self.text
        is_scalar = not isinstance(new, dict | list) or not new
        if part.kind is FLOW or value.fits(old, new) or same(old, new) or (
            value.kind is FLOW and not is_scalar
        ):  # fmt: skip
            return super().behind(part, entry, old, new)
        self.drop_entries(value, old, new)
        between, behind = text[entry.after : value.start], text[value.end : entry.end]
        like, header = text[value.bare : value.bare + 1], text[entry.after : entry.end]
        if value.kind is BLOCK or like in ("|", ">"):
            behind = "".join(re.findall(r"\A.*?([ \t]+#.*)", header))
        anchor = re.findall(r"\A[ \t]*(&\S+)", header)
        new = formats.quoted(new, like)
        first, *lines = self.lines([new] if part.is_list else {"k": new})
        first = first[1 if part.is_list else 2 :].lstrip(" ")
        first = " ".join([*anchor, first]).rstrip(" ")
        between = " " if lines or value.kind is BLOCK else between or " "
        first = (between if first else "") + first + behind.removesuffix("\n")
        indent = " " * part.column
        lines = [f"{indent}{line}" if line else "" for line in lines]
        return "\n".join([first, *lines, ""])

    def fresh(self, part: Part, key: Any, value: Any) -> str:
        """Return a new entry."""
        if part.kind is FLOW:
            return super().fresh(part, key, value)
        value = formats.quoted(value, self.quote(part))
        lines = self.lines([value] if part.is_list else {key: value})
        indent = " " * part.column
        return "".join(f"{indent}{line}\n" if line else "\n" for line in lines)
