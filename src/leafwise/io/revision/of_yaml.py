"""Where the values of a YAML text stand, and how new ones are written there.

Owns what ruamel.yaml's marks mean: which lines are those of an entry, with comments;
how scalars, keys and blocks look that are new.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Iterator
from io import StringIO
from typing import Any, Final

from .. import formats
from ..formats import Document, FormatError
from .parts import Made, RevisionError
from .render import Editor
from .spans import ALIAS, BLOCK, FLOW, LEAF, Entry, Part


__all__ = ["comments", "remade"]

_PLAIN: Final = {f"tag:yaml.org,2002:{name}" for name in ("map", "seq")}
_MERGE: Final = "tag:yaml.org,2002:merge"
_PROPERTIES: Final = re.compile(r"(?:[&!]\S*[ \t]*)*")
_COLON: Final = re.compile(r"[ \t]*:(?=\s|\Z)")
_FLOW_COLON: Final = re.compile(r"[ \t]*:")
_SPACE: Final = re.compile(r"(?:\s|#[^\n]*+)*+")
_COMMENTS: Final = re.compile(r"(?:^|[ \t])(?=(#.*))", re.MULTILINE)
_COMMENT: Final = re.compile(r"( *)#")


def remade(text: str, document: Document, tree: Any) -> Made:
    """Return a YAML text with another tree; see `revise`."""
    lines = text if text.endswith("\n") else f"{text}\n"
    loader = formats.yaml_loader()
    scanner = _Scanner(lines, loader)
    roots = [*scanner.roots()]
    if not roots:
        written = formats.dump(document._replace(tree=tree))
        return Made(text + written, tree, (), ())
    old, new = (
        (document.tree, tree) if document.is_stream else ([document.tree], [tree])
    )
    if type(new) is not list or len(new) != len(roots):
        raise RevisionError("the number of documents would change")
    editor = Editor(lines, _Style(roots))
    made, results = editor.run(zip(roots, old, new, strict=True))
    made = made if text.endswith("\n") else made.removesuffix("\n")
    expected = results if document.is_stream else results[0]
    dropped = [one for lines in editor.dropped() for one in comments(lines)]
    return Made(made, expected, comments(scanner.without_scalars()), dropped)


def comments(text: str) -> list[str]:
    """Return the comments of a YAML text, with what looks like them in its scalars."""
    return _COMMENTS.findall(text)


class _Unknown(Exception):
    """A form of a collection of which no entries can be changed."""


class _Scanner:
    """Turns nodes into parts."""

    def __init__(self, text: str, loader: Any) -> None:
        self.text, self.loader = text, loader
        self.known: dict[int, Part] = {}
        """The parts of nodes, which aliases stand for."""
        self.scalars: list[tuple[int, int]] = []

    def roots(self) -> Iterator[Part]:
        """Yield the roots of the documents."""
        loader, base = self.loader, self.loader.Composer

        def compose_node(self: Any, parent: Any, index: Any) -> Any:
            event = self.parser.peek_event()
            node = base.compose_node(self, parent, index)
            return (event, node) if type(event).__name__ == "AliasEvent" else node

        loader.Composer = type("Composer", (base,), {"compose_node": compose_node})
        del loader._composer  # the one of the class before
        loader.composer.warn_double_anchors = False
        info = importlib.import_module("ruamel.yaml.docinfo").DocInfo()
        loader.tags, loader.doc_infos = {}, [info]  # for directives
        loader.get_constructor_parser(self.text)
        while loader.composer.check_node():
            yield self.part(loader.composer.get_node(), 0)

    def without_scalars(self) -> str:
        """Return the text without its scalars, which may have number signs in them."""
        parts, place = [], 0
        for start, end in sorted(self.scalars):
            parts.append(self.text[place : max(start, place)])
            place = max(end, place)
        return "\n".join([*parts, self.text[place:]])

    def part(self, node: Any, least: int, empty_at: int | None = None) -> Part:
        """Return the part of a node.

        Args:
            node: A node; with its event if an alias stands for it.
            least: Where its first entry may begin at the earliest, comments included.
            empty_at: Where it is if it has no text of its own.
        """
        if isinstance(node, tuple):
            event, target = node
            span = event.start_mark.index, event.end_mark.index
            return Part(ALIAS, *span, bare=span[1], target=self.known.get(id(target)))
        made = self._part(node, least, empty_at)
        self.known[id(node)] = made
        return made

    def _part(self, node: Any, least: int, empty_at: int | None) -> Part:
        start, end = node.start_mark.index, node.end_mark.index
        bare = self._behind_properties(node, start)
        if node.id != "scalar" and node.tag in _PLAIN and node.value:
            try:
                return (self.flow if node.flow_style else self.block)(node, bare, least)
            except _Unknown:
                end = end if node.flow_style else self._line_end(self._last(node)) - 1
                return Part(LEAF, start, end, bare=bare)
        if node.id != "scalar":
            kind = FLOW if node.tag in _PLAIN and self.text[bare] in "[{" else LEAF
            return Part(kind, start, end, is_list=node.id == "sequence", bare=bare)
        head = start
        if node.style in ("|", ">"):
            end = self._end_of_lines(bare, end)
            head = self.text.find("\n", bare)
        elif not self.text[start:end].strip() and empty_at is not None:
            start = end = bare = head = empty_at
        self.scalars.append((head, end))
        return Part(LEAF, start, end, bare=min(bare, end))

    def _behind_properties(self, node: Any, start: int) -> int:
        """Return where the text of a node begins, behind its anchor and its tag."""
        if node.anchor is None and self.text[start : start + 1] != "!":
            return start
        found = _PROPERTIES.match(self.text, start)
        return found.end() if found else start

    def _end_of_lines(self, start: int, end: int) -> int:
        """Return where a scalar of several lines ends, before its last line break."""
        lines = self.text[start:end]
        if "+" in lines.split("\n", 1)[0].split("#")[0]:
            lines = lines.rstrip(" ").removesuffix("\n")
        else:
            lines = lines.rstrip(" \r\n")
        return start + len(lines)

    def _last(self, node: Any) -> int:
        """Return where the last scalar below a node ends."""
        while not isinstance(node, tuple):
            if node.id == "scalar" or node.flow_style or not node.value:
                end: int = self._part(node, 0, None).end
                return end
            last = node.value[-1]
            if node.id == "mapping":
                key, last = last
                if (
                    not isinstance(last, tuple)
                    and last.id == "scalar"
                    and not last.value
                ):
                    return int(key.end_mark.index)
            node = last
        return int(node[0].end_mark.index)

    # -------------------------------------------------------------------- in brackets

    def flow(self, node: Any, bare: int, _least: int) -> Part:
        """Return the part of a collection in brackets."""
        end = node.end_mark.index
        if self.text[bare] not in "[{":
            raise _Unknown  # a pair without braces
        entries = []
        for item in node.value:
            if node.id == "sequence":
                value = self.part(item, 0)
                at = value.start
                entries.append(Entry(None, at, at, at, value, value.end))
                continue
            key, head, colon = self._key(item[0], _FLOW_COLON)
            value = self.part(item[1], 0, colon)
            merges = self._is_merge(item[0])
            entries.append(Entry(key, head, head, colon, value, value.end, merges))
        start = node.start_mark.index
        return Part(FLOW, start, end, entries, node.id == "sequence", bare=bare)

    def _key(self, node: Any, colon: re.Pattern[str]) -> tuple[Any, int, int]:
        """Return a key, where it begins, and where its colon ends."""
        if isinstance(node, tuple) or node.id != "scalar":
            raise _Unknown
        start = node.start_mark.index
        before = self.text[:start].rstrip(" \t")[-1:] if start else ""
        found = colon.match(self.text, node.end_mark.index)
        if not found or before == "?":
            raise _Unknown
        self.scalars.append((start, node.end_mark.index))
        key = None
        if not self._is_merge(node):
            key = self.loader.constructor.construct_object(node)
        return key, start, found.end()

    @staticmethod
    def _is_merge(node: Any) -> bool:
        return bool(node.tag == _MERGE)

    # ----------------------------------------------------------------------- on lines

    def block(self, node: Any, bare: int, least: int) -> Part:
        """Return the part of a collection on lines."""
        entries: list[Entry] = []
        is_list = node.id == "sequence"
        place, column = least, 0
        for item in node.value:
            key, merges = None, False
            if is_list:
                head = self._dash(place, column) if entries else self._past(bare)
                after = head + 1
            else:
                key, head, after = self._key(item[0], _COLON)
                merges = self._is_merge(item[0])
            column = column if entries else head - self._line_start(head)
            start = self._start(place, head, column)
            value = self.part(item if is_list else item[1], after, after)
            end = value.end
            if value.kind != BLOCK:
                end = self._line_end(end)
            entries.append(Entry(key, start, head, after, value, end, merges))
            place = end
        first, last = entries[0].start, entries[-1].end
        return Part(BLOCK, first, last, entries, is_list, column, bare=first)

    def _past(self, place: int) -> int:
        """Return where the next text is, behind blanks and comments."""
        found = _SPACE.match(self.text, place)
        return found.end() if found else place

    def _dash(self, place: int, column: int) -> int:
        """Return where the next dash at a column is."""
        found = re.compile(rf"^ {{{column}}}-(?=\s)", re.MULTILINE).search(
            self.text, place
        )
        if not found:
            raise _Unknown
        return found.end() - 1

    def _start(self, least: int, head: int, column: int) -> int:
        """Return where an entry begins, with the comments directly above it.

        At the top of a file they are rather about the file.
        """
        start = self._line_start(head)
        if self.text[start:head].strip(" "):
            return head  # behind a dash
        while least and start > least:
            above = self._line_start(start - 1)
            comment = _COMMENT.match(self.text, above)
            if above < least or not comment or len(comment[1]) != column:
                break
            start = above
        return start

    def _line_start(self, place: int) -> int:
        return self.text.rfind("\n", 0, max(place, 0)) + 1

    def _line_end(self, place: int) -> int:
        found = self.text.find("\n", place)
        return found + 1 if found >= 0 else len(self.text)


class _Style:
    """How values are written into a YAML text."""

    comment: Final = "#"
    sign: Final = ":"
    colon: Final = ": "
    comma: Final = ", "
    has_lines: Final = True

    def __init__(self, roots: list[Part]) -> None:
        """Look at documents for what they do."""
        self.step, self.offset = _indents(roots)
        self.unit = " " * self.step
        self.dumper = formats.yaml_dumper()
        self.dumper.width = sys.maxsize
        self.dumper.indent(self.step, self.offset + 2, self.offset)
        self.liner, self.texter = formats.yaml_dumper(), formats.yaml_dumper()
        self.liner.width = self.texter.width = sys.maxsize
        self.liner.default_flow_style = True
        self.liner.brace_single_entry_mapping_in_flow_sequence = True

    def key(self, key: Any) -> str:
        """Return the text of a key."""
        text = self.inline(key, "", has_lines=False)
        if "\n" in text:
            raise RevisionError("a value has no form in one line")
        return text

    def inline(
        self, value: Any, indent: str, *, has_lines: bool, like: str = ""
    ) -> str:
        """Return the text of a value in one piece; see `_Style.inline` of JSON."""
        if isinstance(value, str) and "\n" not in value:
            quoted = _quoted(value, like[:1])
            if quoted and _reads(quoted, value):
                return quoted
        if isinstance(value, str) and "\n" in value and has_lines:
            first, *lines = self._dumped(self.texter, [value])
            return "\n".join([first[2:], *(line and indent + line for line in lines)])
        line, *lines = self._dumped(self.liner, [value])
        if lines:
            raise RevisionError("a value has no form in one line")
        made = line[1:-1]
        if isinstance(value, str) and not _reads(made, value):
            return json.dumps(value, ensure_ascii=False)  # ruamel writes `: a` plainly
        return made

    def lines(self, value: Any) -> list[str]:
        """Return the lines of a value as a block, the first one without indentation."""
        lines = self._dumped(self.dumper, value)
        by = len(lines[0]) - len(lines[0].lstrip(" "))
        return [line[by:] for line in lines]

    @staticmethod
    def _dumped(dumper: Any, value: Any) -> list[str]:
        out, yaml = StringIO(), importlib.import_module("ruamel.yaml")
        try:
            dumper.dump(value, out)
        except yaml.error.YAMLError as error:
            raise RevisionError(str(error)) from error
        return out.getvalue().removesuffix("...\n").removesuffix("\n").split("\n")


def _quoted(text: str, quote: str) -> str:
    if quote == "'" and text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    if quote == '"' and text.isprintable():
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return ""


def _reads(text: str, value: Any) -> bool:
    try:
        return bool(formats.load(f"[{text}]", "yaml").tree == [value])
    except FormatError:
        return False


def _indents(roots: list[Part]) -> tuple[int, int]:
    """Return by how much mappings are indented in others, and dashes in mappings."""
    step = offset = None
    stack = [*reversed(roots)]
    while stack and (step is None or offset is None):
        part = stack.pop()
        below = [entry.value for entry in part.entries]
        for child in below:
            if part.kind == child.kind == BLOCK and not part.is_list:
                by = child.column - part.column
                if child.is_list and offset is None:
                    offset = by
                elif not child.is_list and step is None:
                    step = by
        stack += reversed(below)
    return step or 2, offset or 0
