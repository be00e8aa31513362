"""A YAML text with another tree: block entries, scalars, and brackets on one line.

Nodes of ruamel.yaml have marks, which say where values stand. What an edit would change
elsewhere, by an alias or a merge key, is refused, and so are new and removed entries
between brackets that go over several lines.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from ...core.keypath import KeyPath
from ...core.keys import DictKey, SequenceKey
from ...selection.patterns import place_text
from ..documents import Document, RevisionError, Tagged
from ..yaml_reader import MERGE, is_tagged, quoted, yaml_dumper, yaml_loader, yaml_text
from .changes import GONE, same, steps
from .editor import BLOCK, FLOW, LEAF, Editor, Entry, Part, start_of


ALIAS: Final = "alias"
"""An alias, which is never changed."""
ODD: Final = "odd"
"""A collection in a form that is not edited, such as keys behind `?`."""

_PLAIN: Final = ("tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")
_PROPERTIES: Final = re.compile(r"(?:[&!]\S*[ \t]*)*")
_ANCHOR: Final = re.compile(r"&\S+")
_COLON: Final = re.compile(r"[ \t]*:")
_DASH: Final = re.compile(r"(?:\s|#[^\n]*+)*+-")
_SEPARATOR: Final = re.compile(r"^(?:%.*\n)*---(?!\S)", re.MULTILINE)
_COMMENTS: Final = re.compile(r"(?:^|[ \t])(?=(#.*))", re.MULTILINE)
_COMMENT_BEHIND: Final = re.compile(r"[ \t]+#.*")
_NESTED_MAPPING: Final = re.compile(
    r"^( *)[^\s#-][^\n]*:(?:[ \t]+[#&][^\n]*)?\n\1( +)(?=[^\s#-])", re.MULTILINE
)
_NESTED_LIST: Final = re.compile(
    r"^( *)[^\s#-][^\n]*:(?:[ \t]+[#&][^\n]*)?\n\1( *)(?=- )", re.MULTILINE
)

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
        is_merge: Whether `<<` names it.
    """

    name: str
    path: Path
    start: int
    target: int
    is_merge: bool


def _place(path: Path) -> str:
    """Return a path as one types it."""
    keys: list[Any] = []
    for key in path:
        key_class = SequenceKey if type(key) is int else DictKey
        keys.append(key_class(key))
    return place_text(KeyPath(keys))


class YamlStream:
    """The documents of a text.

    Attributes:
        roots: Their values.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        lines = text if text.endswith("\n") else f"{text}\n"
        scanner = _Scanner(lines)
        self.roots: list[YamlPart] = scanner.read()
        self.editor = _YamlEditor(lines, scanner.plain())
        self.aliases = scanner.aliases

    def revised(self, document: Document, tree: Any) -> str:
        """Return the text with another tree; see `revise`."""
        old = document.tree if document.is_stream else [document.tree]
        new = tree if document.is_stream else [tree]
        if type(new) is not list or not new:
            raise RevisionError("no document would be left, delete the file instead")
        edits: list[tuple[int, int, str]] = []
        last_is_deleted = False
        for index, key in self._plan(old, new):
            last_is_deleted = key is GONE
            if last_is_deleted:
                edits.append(self._delete(index, old[index]))
            elif not same(old[index], new[key]):
                edits.append(self._replace(index, old[index], new[key]))
        self._check_anchors()
        text = _spliced(self.editor.text, edits)
        if not self.text.endswith("\n") and not last_is_deleted:
            text = text.removesuffix("\n")
        return text

    def _plan(self, old: list[Any], new: list[Any]) -> list[tuple[int, Any]]:
        """Return what becomes of each document."""
        if len(old) == len(new):
            return [(index, index) for index in range(len(new))]
        plan = []
        for index, key in steps(old, new):
            if index is None:
                raise RevisionError("a document would be added")
            plan.append((index, key))
        return plan

    def _delete(self, index: int, value: Any) -> tuple[int, int, str]:
        """Return the edit that deletes a document."""
        plain = self.editor.plain
        starts = [match.start() for match in _SEPARATOR.finditer(plain)]
        if len(starts) < len(self.roots):  # the first one may have no `---` above it
            starts.insert(0, self.roots[0].start)
        if len(starts) != len(self.roots):
            raise RevisionError("a document has no --- above it")
        starts.append(len(plain))
        start = starts[index]
        end = starts[index + 1]
        has_separator = _SEPARATOR.match(plain, start) is not None
        if not has_separator and plain.startswith("---\n", end):
            end += len("---\n")  # the next document is the first one now
        self.editor.removed.append((start, end, value))
        return start, end, ""

    def _replace(
        self,
        index: int,
        old: Any,
        new: Any,
    ) -> tuple[int, int, str]:
        """Return the edit that changes a document."""
        root = self.roots[index]
        if root.kind is BLOCK and not root.fits(old, new):
            self.editor.drop_entries(root, old, new)
            lines = "\n".join(self.editor.lines(new))
            return root.entries[0].head, root.end, f"{lines}\n"
        text = self.editor.edited(root, old, new)
        return root.start, root.end, text

    def _check_anchors(self) -> None:
        """Raise `RevisionError` if an anchor is deleted that an alias uses."""
        editor = self.editor
        spans = [(start, end) for start, end, _ in editor.removed]
        spans += editor.replaced_at

        def is_gone(place: int) -> bool:
            return any(start <= place < end for start, end in spans)

        for alias in self.aliases:
            if is_gone(alias.target) and not is_gone(alias.start):
                raise RevisionError(
                    f"{_place(alias.path)} uses the anchor &{alias.name} of the "
                    "deleted part"
                )

    def reason(self) -> str:
        """Return why a new text has other values than the edit, "" if unknown."""
        editor = self.editor
        anchors = {part.node_start: value for part, value in editor.changed_anchors}
        targets = {alias.start: alias.target for alias in self.aliases}
        for part, value in editor.changed_aliases:
            target = targets[part.start]
            if target not in anchors or not same(anchors[target], value):
                return (
                    f"{_place(part.path)} is the alias *{part.anchor}, which cannot "
                    "change alone"
                )
        if editor.changed_by_merge:
            path = editor.changed_by_merge[0]
            aliases = [alias for alias in self.aliases if alias.path == path[:-1]]
            names = ", ".join(f"&{alias.name}" for alias in aliases)
            source = f"comes from {names} by" if names else "comes from"
            return f"{_place(path)} {source} <<"
        for part, _ in editor.changed_anchors:
            for alias in self.aliases:
                if alias.target == part.node_start:
                    return (
                        f"{_place(alias.path)} uses the anchor &{alias.name} of "
                        f"{_place(part.path)} and would change with it"
                    )
        return ""

    def check_all_comments(self, text: str) -> None:
        """Raise `RevisionError` if a new text lacks a comment."""
        self.editor.check_comments(_COMMENTS, text)


def _spliced(text: str, edits: Iterable[tuple[int, int, str]]) -> str:
    """Return a text in which spans have other texts."""
    pieces = []
    place = 0
    for start, end, piece in edits:
        pieces += [text[place:start], piece]
        place = end
    return "".join([*pieces, text[place:]])


class _Scanner:
    """Turns the nodes of a text into parts.

    Attributes:
        aliases: The aliases in the text.
        scalars: The spans of its scalars.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.aliases: list[Alias] = []
        self.scalars: list[tuple[int, int]] = []
        self.loader = yaml_loader(aliases=True)

    def read(self) -> list[YamlPart]:
        """Return the parts of the documents."""
        return [
            self.part(node, (), 0, node.start_mark.index)
            for node in self.loader.compose_all(self.text)
        ]

    def plain(self) -> str:
        """Return the text with others in place of its scalars, without number signs."""
        edits = []
        for start, end in sorted(self.scalars):
            scalar = self.text[start:end]
            edits.append((start, end, re.sub(r"[^\n]", "x", scalar)))
        return _spliced(self.text, edits)

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
        text = self.text
        start = node.start_mark.index
        end = node.end_mark.index
        if node.id == "alias":
            part = YamlPart(ALIAS, start, end, start)
            part.anchor = node.value
            self.add_alias(node, path)
        else:
            match = _PROPERTIES.match(text, start)
            bare = match.end() if match else start
            if node.id != "scalar":
                part = self.collection(node, path, bare, least)
            elif node.style in ("|", ">"):
                end = bare + len(text[bare:end].rstrip())
                self.scalars.append((text.index("\n", bare), end))
                part = YamlPart(LEAF, start, end, bare)
            else:
                if not text[start:end].strip():
                    start = end = bare = empty_at
                self.scalars.append((min(bare, end), end))
                part = YamlPart(LEAF, start, end, min(bare, end))
            part.anchor = node.anchor or ""
        part.path = path
        part.node_start = node.start_mark.index
        return part

    def add_alias(
        self,
        node: Any,
        path: Path,
        *,
        is_merge: bool = False,
    ) -> None:
        """Note an alias, or those that `<<` names."""
        if is_merge and node.id == "sequence":
            for item in node.value:
                self.add_alias(item, path, is_merge=True)
        elif node.id == "alias":
            alias = Alias(
                name=node.value,
                path=path,
                start=node.start_mark.index,
                target=node.target.start_mark.index,
                is_merge=is_merge,
            )
            self.aliases.append(alias)

    def collection(
        self,
        node: Any,
        path: Path,
        bare: int,
        least: int,
    ) -> YamlPart:
        """Return the part of a collection."""
        text = self.text
        start = node.start_mark.index
        is_flow = bool(node.flow_style)
        is_list = node.id == "sequence"
        entries: list[Entry] = []
        is_odd = False
        place = least
        for index, child in enumerate(node.value):
            item_path = (*path, index)
            if not is_list:
                entry = self.pair(child, path, place, is_flow=is_flow)
                is_odd |= entry is None or (is_flow and entry.key is MERGE)
                if entry is None:
                    entry = self.odd_pair(child, path, place)
            elif is_flow:
                head = child.start_mark.index
                value = self.part(child, item_path, head, head)
                entry = Entry(head, head, head, value, value.end)
            else:
                first = bare if not entries else place
                entry = self.item(child, item_path, place, first)
            entries.append(entry)
            place = entry.end
        end = node.end_mark.index if is_flow else place
        if is_tagged(node):
            return YamlPart(LEAF, start, end if is_flow else end - 1, bare)
        if is_flow and text[bare] not in "[{":
            is_odd = True
        if is_odd or str(node.tag) not in _PLAIN:
            return YamlPart(ODD, start, end if is_flow else end - 1, bare)
        if is_flow:
            return YamlPart(FLOW, start, end, bare, entries, is_list=is_list)
        first = entries[0].start
        part = YamlPart(BLOCK, first, end, first, entries, is_list=is_list)
        head = entries[0].head
        part.column = head - text.rfind("\n", 0, head) - 1
        return part

    def item(
        self,
        node: Any,
        path: Path,
        least: int,
        dash_from: int,
    ) -> Entry:
        """Return an item of a block."""
        match = _DASH.match(self.text, dash_from)
        assert match is not None
        after = match.end()
        value = self.part(node, path, after, after)
        head = after - 1
        start = start_of(self.text, head, least)
        end = self.line_end(value)
        return Entry(start, head, after, value, end)

    def pair(
        self,
        child: tuple[Any, Any],
        path: Path,
        least: int,
        *,
        is_flow: bool,
    ) -> Entry | None:
        """Return a pair of a mapping, None if it is not written as `key: value`."""
        key_node, value_node = child
        text = self.text
        name = self.part(key_node, path, least, key_node.start_mark.index)
        colon = _COLON.match(text, name.end)
        before = text[least : name.start].rstrip(" \t")
        if colon is None or before.endswith("?"):
            return None
        key_node = key_node.target if key_node.id == "alias" else key_node
        is_merge = key_node.tag == MERGE
        if is_merge:
            key = MERGE
            self.add_alias(value_node, path, is_merge=True)
            path_of_value = path
        else:
            key = self.loader.constructor.construct_object(key_node)
            path_of_value = (*path, key)
        after = colon.end()
        count = len(self.aliases)
        value = self.part(value_node, path_of_value, after, after)
        if is_merge:
            del self.aliases[count:]  # they are known as those of `<<`
        if is_flow:
            return Entry(name.start, name.start, after, value, value.end, key)
        start = start_of(text, name.start, least)
        end = self.line_end(value)
        return Entry(start, name.start, after, value, end, key)

    def odd_pair(
        self,
        child: tuple[Any, Any],
        path: Path,
        least: int,
    ) -> Entry:
        """Return a pair of a mapping that is not edited, but for its end."""
        key_node, value_node = child
        head = key_node.start_mark.index
        end = key_node.end_mark.index
        value = self.part(value_node, path, end, end)
        return Entry(head, head, end, value, self.line_end(value))

    def line_end(self, value: YamlPart) -> int:
        """Return where an entry of a block ends with its value."""
        if value.kind is BLOCK:
            return value.end
        return self.text.index("\n", value.end) + 1


class _YamlEditor(Editor):
    """Writes lines.

    Attributes:
        replaced_at: The spans of values that are replaced in one piece.
        changed_aliases: Aliases whose values change, with the new values.
        changed_anchors: Values with anchors that change, with the new values.
        changed_by_merge: The paths of values that `<<` brings, and that change.
    """

    def __init__(self, text: str, plain: str) -> None:
        """Look at a text for what it does."""
        super().__init__(text, plain)
        self.replaced_at: list[tuple[int, int]] = []
        self.changed_aliases: list[tuple[YamlPart, Any]] = []
        self.changed_anchors: list[tuple[YamlPart, Any]] = []
        self.changed_by_merge: list[Path] = []
        mapping = _NESTED_MAPPING.search(text)
        dash = _NESTED_LIST.search(text)
        step = len(mapping[2]) if mapping else 2
        offset = len(dash[2]) if dash else 0
        self.block_dumper = yaml_dumper(is_part=True)
        self.block_dumper.width = sys.maxsize
        self.block_dumper.indent(step, offset + 2, offset)
        self.line_dumper = yaml_dumper(is_part=True)
        self.line_dumper.width = sys.maxsize
        self.line_dumper.default_flow_style = True

    def leaf(self, value: Any, quote: str) -> str:
        """Return the text of a scalar, in one line."""
        item = quoted(value, quote)
        text = yaml_text(self.line_dumper, [[item]])
        line, _, _ = text.partition("\n")
        return line[1:-1]  # without the brackets

    def lines(self, value: Any) -> list[str]:
        """Return the lines of a value as a block, the first one without indentation."""
        text = yaml_text(self.block_dumper, [value])
        lines = text.removesuffix("\n").split("\n")
        indent = len(lines[0]) - len(lines[0].lstrip(" "))
        return [line[indent:] for line in lines]

    def edited(
        self,
        part: Part,
        old: Any,
        new: Any,
    ) -> str:
        """Return the text of a value that becomes another one."""
        assert isinstance(part, YamlPart)
        if same(old, new):
            return self.text[part.start : part.end]
        if part.kind is ALIAS:
            # it may be that what it names becomes the same; the new text is parsed
            self.changed_aliases.append((part, new))
            return self.text[part.start : part.end]
        if part.anchor:
            self.changed_anchors.append((part, new))
        if part.kind is BLOCK and part.fits(old, new):
            return self.block(part, old, new)
        return super().edited(part, old, new)

    def replaced(
        self,
        part: Part,
        old: Any,
        new: Any,
    ) -> str:
        """Return the text of a value that is replaced in one piece."""
        assert isinstance(part, YamlPart)
        self.check_form(part)
        self.drop_entries(part, old, new)
        self.replaced_at.append((part.bare, part.end))
        quote = self.text[part.bare : part.bare + 1]
        return self.anchor_of(part) + self.inline(new, None, quote)

    def put_together(
        self, part: Part, bodies: Sequence[tuple[int | None, str | None]]
    ) -> str:
        """Return a collection in brackets, from or to which entries go or come."""
        assert isinstance(part, YamlPart)
        self.check_form(part)
        return super().put_together(part, bodies)

    def check_form(self, part: YamlPart) -> None:
        """Raise `RevisionError` if a collection is in a form that is not edited."""
        line = f"line {self.text.count(chr(10), 0, part.start) + 1}"
        if part.kind is ODD:
            raise RevisionError(
                f"{_place(part.path)} is written in a form that cannot be edited "
                f"({line})"
            )
        text = self.text[part.start : part.end]
        if part.kind is FLOW and "\n" in text:
            raise RevisionError(
                f"the brackets of {_place(part.path)} go over several lines ({line})"
            )

    def anchor_of(self, part: Part) -> str:
        """Return the anchor of a value, with a blank behind it."""
        match = _ANCHOR.search(self.text, part.start, part.bare)
        return f"{match[0]} " if match else ""

    # --------------------------------------------------------------------------- blocks

    def block(
        self,
        part: YamlPart,
        old: Any,
        new: Any,
    ) -> str:
        """Return a block with other entries; the line with `<<` stays."""
        entries = [entry for entry in part.entries if entry.key is not MERGE]
        if len(entries) != len(part.entries):
            old, new = self.without_merged(part, old, new)
        names = range(len(old)) if part.is_list else list(old)
        text = self.text
        indent = " " * part.column
        before = text[part.start - 1 : part.start]
        is_behind_dash = before not in ("", "\n")
        pieces = []
        place = part.start
        for index, key in steps(old, new):
            if index is None:
                self.added.append(new[key])
                pieces.append(self.new_lines(part, key, new[key]))
                continue
            entry = entries[index]
            name = names[index]
            pieces.append(text[place : entry.start])
            place = entry.end
            if key is GONE:
                self.remove(entry, old[name])
                continue
            if is_behind_dash and entry.start == part.start:
                pieces.append(indent)
            pieces.append(self.head(part, entry, name, key))
            value = self.block_value(part, entry, old[name], new[key])
            pieces.append(value)
        pieces.append(text[place : part.end])
        block = "".join(pieces)
        return block.removeprefix(indent) if is_behind_dash else block

    def without_merged(
        self,
        part: YamlPart,
        old: dict[Any, Any],
        new: dict[Any, Any],
    ) -> tuple[dict[Any, Any], dict[Any, Any]]:
        """Return two dicts without the keys that only `<<` brings."""
        own_keys = {entry.key for entry in part.entries}
        own = {key: value for key, value in old.items() if key in own_keys}
        merged = {key: value for key, value in old.items() if key not in own_keys}
        for key, value in merged.items():
            if key not in new or not same(value, new[key]):
                self.changed_by_merge.append((*part.path, key))
        for key in own:
            if key not in new:  # perhaps `<<` brings it, too
                self.changed_by_merge.append((*part.path, key))
        new_own = {key: value for key, value in new.items() if key not in merged}
        return own, new_own

    def block_value(
        self,
        part: YamlPart,
        entry: Entry,
        old: Any,
        new: Any,
    ) -> str:
        """Return an entry of a block from its value on."""
        value = entry.value
        if same(old, new) or value.fits(old, new):
            return self.behind(entry, old, new)
        if value.kind in (ALIAS, ODD):
            return self.behind(entry, old, new)
        was_on_lines = value.kind is BLOCK or self.text[value.bare] in "|>"
        if was_on_lines or (value.kind is LEAF and _takes_lines(new)):
            return self.rewritten(part, entry, old, new)
        return self.behind(entry, old, new, gap=" ")

    def rewritten(
        self,
        part: YamlPart,
        entry: Entry,
        old: Any,
        new: Any,
    ) -> str:
        """Return an entry from its value on, with a value on lines of its own."""
        text = self.text
        value = entry.value
        assert isinstance(value, YamlPart)
        if value.anchor:
            self.changed_anchors.append((value, new))
        self.drop_entries(value, old, new)
        self.replaced_at.append((value.bare, value.end))
        comment = self.comment_behind(entry)
        quote = text[value.bare : value.bare + 1]
        new = quoted(new, quote)
        if part.is_list:
            first, *others = self.lines([new])
            first = first.removeprefix("-")
        else:
            first, *others = self.lines({"k": new})
            first = first.removeprefix("k:")
        words = [""]
        header, _, _ = text[entry.after : entry.end].partition("\n")
        anchor = _ANCHOR.match(header.lstrip(" \t"))
        if value.anchor and anchor:
            words.append(anchor[0])
        if first.strip(" "):
            words.append(first.strip(" "))
        lines = [" ".join(words) + comment]
        lines += self.indented(part, others)
        return "".join(f"{line}\n" for line in lines)

    def indented(self, part: YamlPart, lines: Iterable[str]) -> list[str]:
        """Return lines of an entry of a block with the indentation of the block."""
        indent = " " * part.column
        return [f"{indent}{line}" if line else "" for line in lines]

    def comment_behind(self, entry: Entry) -> str:
        """Return the comment at the end of the line on which a value begins."""
        value = entry.value
        line_end = self.text.index("\n", entry.after)
        if value.kind is BLOCK and value.entries[0].head < line_end:
            return ""  # that of its first entry
        start = entry.after
        if value.kind is not BLOCK and self.text[value.bare] not in "|>":
            start = value.end
            line_end = entry.end - 1
        match = _COMMENT_BEHIND.search(self.plain, start, line_end)
        return self.text[match.start() : match.end()] if match else ""

    def new_lines(
        self,
        part: YamlPart,
        key: Any,
        value: Any,
    ) -> str:
        """Return a new entry of a block."""
        value = quoted(value, self.quote(part))
        entry = [value] if part.is_list else {key: value}
        lines = self.indented(part, self.lines(entry))
        return "".join(f"{line}\n" for line in lines)


def _takes_lines(value: Any) -> bool:
    """Return whether a block is written for a value."""
    if isinstance(value, Tagged):
        return not isinstance(value.value, str)
    if isinstance(value, str):
        return "\n" in value
    return isinstance(value, dict | list) and bool(value)
