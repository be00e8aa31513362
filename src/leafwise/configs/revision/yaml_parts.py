"""Where the values of a YAML text stand, by the marks on the nodes of ruamel.yaml."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from ..yaml_reader import MERGE, is_tagged, yaml_loader
from .editor import BLOCK, FLOW, LEAF, Edit, Entry, Part, Span, spliced, start_of


ALIAS: Final = "alias"
"""An alias, which is never changed."""
ODD: Final = "odd"
"""A collection in a form that is not edited, such as keys behind `?`."""
_ODD_KEY: Final = object()
"""The key of an entry that is not written as `key: value`."""

_PLAIN: Final = ("tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")
_PROPERTIES: Final = re.compile(r"(?:[&!]\S*[ \t]*)*")
_COLON: Final = re.compile(r"[ \t]*:")
_DASH: Final = re.compile(r"(?:\s|#[^\n]*+)*+-")

Path = tuple[Any, ...]
"""The keys and positions of a value."""


class YamlPart(Part):
    """A value in a YAML text.

    Attributes:
        path: Where it is in the tree.
        anchor: The name of its anchor, or of the one that it is an alias of; or "".
        node_start: Where it begins, with its anchor, also if it is a block.
        column: That of the entries of a block.
    """

    path: Path = ()
    anchor = ""
    node_start = 0
    column = 0

    def fits(self, old: Any, new: Any) -> bool:
        """Return whether a value can be written by changes of the entries.

        A block is never empty, unless the line with `<<` stays.
        """
        if self.kind is not BLOCK:
            return super().fits(old, new)
        if type(old) is not type(new):
            return False
        has_merge = any(entry.key is MERGE for entry in self.entries)
        return has_merge or bool(new)


class Alias(NamedTuple):
    """An alias in a text.

    Attributes:
        name: The name of the anchor.
        path: Where it is in the tree; if `<<` names it, where that mapping is.
        start: Where it is in the text.
        target: Where the value with the anchor is in the text.
    """

    name: str
    path: Path
    start: int
    target: int


class PartReader:
    """Turns the nodes of a text into parts.

    Args:
        text: The text, with a newline at its end.

    Attributes:
        aliases: The aliases in the text.
        scalars: The spans of its scalars.
        roots: The parts of the documents.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.aliases: list[Alias] = []
        self.scalars: list[Span] = []
        loader = yaml_loader(aliases=True)
        self.construct = loader.constructor.construct_object
        self.roots = [
            self.part(node, (), 0, node.start_mark.index)
            for node in loader.compose_all(text)
        ]

    def plain(self) -> str:
        """Return the text with other characters for number signs in scalars."""
        edits = []
        for start, end in self.scalars:
            scalar = self.text[start:end]
            if "#" in scalar:
                edits.append(Edit(start, end, scalar.replace("#", "x")))
        return spliced(self.text, edits)

    def part(
        self,
        node: Any,
        path: Path,
        least: int,
        empty_at: int,
    ) -> YamlPart:
        """Return the part of a node.

        Args:
            node: The node.
            path: Where it is in the tree.
            least: Where its first entry may begin at the earliest, comments included.
            empty_at: Where it is if it has no text of its own.
        """
        if node.id == "alias":
            self.note_aliases(node, path)
            start = node.start_mark.index
            part = YamlPart(ALIAS, start, node.end_mark.index, start)
            part.anchor = node.value
        else:
            if node.id == "scalar":
                part = self.scalar(node, empty_at)
            else:
                part = self.collection(node, path, least)
            part.anchor = node.anchor or ""
        part.path = path
        part.node_start = node.start_mark.index
        return part

    def note_aliases(self, node: Any, path: Path) -> None:
        """Note an alias, or those that `<<` names in a list."""
        if node.id == "sequence":
            for item in node.value:
                self.note_aliases(item, path)
        elif node.id == "alias":
            start = node.start_mark.index
            target = node.target.start_mark.index
            self.aliases.append(Alias(node.value, path, start, target))

    def bare(self, node: Any) -> int:
        """Return where the text of a node begins, behind an anchor or tag."""
        match = _PROPERTIES.match(self.text, node.start_mark.index)
        assert match is not None  # it matches the empty text, too
        return match.end()

    def scalar(self, node: Any, empty_at: int) -> YamlPart:
        """Return the part of a scalar."""
        text = self.text
        start = node.start_mark.index
        end = node.end_mark.index
        bare = self.bare(node)
        if node.style in ("|", ">"):
            # its node ends where the next one begins, behind comments in between
            end = bare + len(text[bare:end].rstrip())
            self.scalars.append((text.index("\n", bare), end))
            return YamlPart(LEAF, start, end, bare)
        if not text[start:end].strip():
            start = end = empty_at
            bare = empty_at
        bare = min(bare, end)
        self.scalars.append((bare, end))
        return YamlPart(LEAF, start, end, bare)

    # --------------------------------------------------------------------- collections

    def collection(
        self,
        node: Any,
        path: Path,
        least: int,
    ) -> YamlPart:
        """Return the part of a collection."""
        start = node.start_mark.index
        bare = self.bare(node)
        is_flow = bool(node.flow_style)
        is_list = node.id == "sequence"
        entries = self.entries(node, path, bare, least)
        keys = {id(entry.key) for entry in entries}
        is_odd = id(_ODD_KEY) in keys or node.tag not in _PLAIN
        if is_flow:
            end = content_end = node.end_mark.index
            # `[a: 1]` has a mapping without brackets of its own
            is_odd = is_odd or id(MERGE) in keys or self.text[bare] not in "[{"
        else:
            end = entries[-1].end
            content_end = end - 1  # without the newline
        if is_tagged(node):
            return YamlPart(LEAF, start, content_end, bare)
        if is_odd:
            return YamlPart(ODD, start, content_end, bare)
        if is_flow:
            return YamlPart(FLOW, start, end, bare, entries, is_list=is_list)
        first = entries[0]
        part = YamlPart(BLOCK, first.start, end, first.start, entries, is_list=is_list)
        line_start = self.text.rfind("\n", 0, first.head) + 1
        part.column = first.head - line_start
        return part

    def entries(
        self,
        node: Any,
        path: Path,
        bare: int,
        least: int,
    ) -> Sequence[Entry]:
        """Return the entries of a collection."""
        is_flow = bool(node.flow_style)
        entries: list[Entry] = []
        place = least
        for index, child in enumerate(node.value):
            if node.id != "sequence":
                key_node, value_node = child
                entry = self.pair(key_node, value_node, path, place, is_flow=is_flow)
            elif is_flow:
                start = child.start_mark.index
                value = self.part(child, (*path, index), start, start)
                entry = Entry(start, start, start, value, value.end)
            else:
                dash_from = place if entries else bare
                entry = self.block_item(child, (*path, index), place, dash_from)
            entries.append(entry)
            place = entry.end
        return entries

    def block_item(
        self,
        node: Any,
        path: Path,
        least: int,
        dash_from: int,
    ) -> Entry:
        """Return an item of a block, whose dash no node has."""
        match = _DASH.match(self.text, dash_from)
        assert match is not None
        after = match.end()
        head = after - 1
        value = self.part(node, path, after, after)
        start = start_of(self.text, head, least)
        return Entry(start, head, after, value, self.line_end(value))

    def pair(
        self,
        key_node: Any,
        value_node: Any,
        path: Path,
        least: int,
        *,
        is_flow: bool,
    ) -> Entry:
        """Return a pair of a mapping."""
        text = self.text
        name = self.part(key_node, path, least, key_node.start_mark.index)
        colon = _COLON.match(text, name.end)
        before = text[least : name.start].rstrip(" \t")
        if colon is None or before.endswith("?"):
            return self.odd_pair(key_node, value_node, path)
        after = colon.end()
        if key_node.id == "alias":
            key_node = key_node.target
        if key_node.tag == MERGE:
            key = MERGE
            self.note_aliases(value_node, path)
            count = len(self.aliases)
            value = self.part(value_node, path, after, after)
            del self.aliases[count:]  # they are noted as those of `<<`
        else:
            key = self.construct(key_node)
            value = self.part(value_node, (*path, key), after, after)
        if is_flow:
            return Entry(name.start, name.start, after, value, value.end, key)
        start = start_of(text, name.start, least)
        return Entry(start, name.start, after, value, self.line_end(value), key)

    def odd_pair(
        self,
        key_node: Any,
        value_node: Any,
        path: Path,
    ) -> Entry:
        """Return a pair that is not written as `key: value`; only its end is right."""
        start = key_node.start_mark.index
        end = key_node.end_mark.index
        value = self.part(value_node, path, end, end)
        return Entry(start, start, end, value, self.line_end(value), _ODD_KEY)

    def line_end(self, value: YamlPart) -> int:
        """Return where an entry of a block ends with its value."""
        if value.kind is BLOCK:
            return value.end
        return self.text.index("\n", value.end) + 1
