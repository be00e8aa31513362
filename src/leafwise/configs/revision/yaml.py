"""A YAML text with another tree: block entries, scalars, and brackets on one line.

What an edit would change elsewhere, by an alias or a merge key, is refused, and so are
new and removed entries between brackets that go over several lines.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Final

from ...core.keypath import KeyPath
from ...core.keys import DictKey, SequenceKey
from ...selection.patterns import place_text
from .. import formats
from ..documents import Document, RevisionError, Tagged
from ..yaml_reader import MERGE, is_old_boolean, quoted, yaml_dumper, yaml_text
from .changes import ABSENT, Step, same, steps
from .editor import (
    BLOCK,
    FLOW,
    LEAF,
    Edit,
    Editor,
    Entry,
    Part,
    Span,
    entries_by_key,
    spliced,
)
from .yaml_parts import ALIAS, ODD, PartReader, Path, YamlPart


_ANCHOR: Final = re.compile(r"&\S+")
_SEPARATOR: Final = re.compile(r"^(?:%.*\n)*---(?!\S)", re.MULTILINE)
_COMMENT: Final = re.compile(r"(?:^|[ \t])(?=(#.*))", re.MULTILINE)
_COMMENT_BEHIND: Final = re.compile(r"[ \t]+#.*")
_NESTED_MAPPING: Final = re.compile(
    r"^( *)[^\s#-][^\n]*:(?:[ \t]+[#&][^\n]*)?\n\1( +)(?=[^\s#-])", re.MULTILINE
)
_NESTED_LIST: Final = re.compile(
    r"^( *)[^\s#-][^\n]*:(?:[ \t]+[#&][^\n]*)?\n\1( *)(?=- )", re.MULTILINE
)


def _place(path: Path) -> str:
    """Return a path as one types it."""
    keys: list[Any] = []
    for key in path:
        key_class = SequenceKey if type(key) is int else DictKey
        keys.append(key_class(key))
    return place_text(KeyPath(keys))


class YamlEditor(Editor):
    """Writes a YAML text with another tree.

    Args:
        text: The text.

    Attributes:
        roots: The values of the documents.
        aliases: The aliases in the text.
        gone: The spans of what is deleted, or replaced in one piece.
        changed_aliases: Aliases whose values change, with the new values.
        changed_anchors: Values with anchors that change, with the new values.
        changed_by_merge: The paths of values that `<<` brings, and that change.
    """

    comments = _COMMENT

    def __init__(self, text: str) -> None:
        self.ending = "" if text.endswith("\n") else "\n"
        lines = text + self.ending
        reader = PartReader(lines)
        super().__init__(lines, reader.plain())
        self.roots = reader.roots
        self.aliases = reader.aliases
        self.gone: list[Span] = []
        self.changed_aliases: list[tuple[YamlPart, Any]] = []
        self.changed_anchors: list[tuple[YamlPart, Any]] = []
        self.changed_by_merge: list[Path] = []
        # new lines are indented as the first mapping and the first list are
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

    # ----------------------------------------------------------------------- documents

    def revised(self, document: Document, tree: Any) -> str:
        """Return the text with another tree; it is not checked yet."""
        if not self.roots:  # nothing but comments
            return self.text + formats.dump(document._replace(tree=tree))
        old = document.tree if document.is_stream else [document.tree]
        new = tree if document.is_stream else [tree]
        if type(new) is not list or not new:
            raise RevisionError("no document would be left, delete the file instead")
        edits = []
        is_last_deleted = False
        for index, new_index in _document_steps(old, new):
            is_last_deleted = new_index is ABSENT
            if is_last_deleted:
                edits.append(self.deletion(index, old[index]))
            elif not same(old[index], new[new_index]):
                edits.append(self.change(index, old[index], new[new_index]))
        self.check_anchors()
        text = spliced(self.text, edits)
        return text if is_last_deleted else text.removesuffix(self.ending)

    def deletion(self, index: int, value: Any) -> Edit:
        """Return the edit that deletes a document."""
        plain = self.plain
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
        self.removed.append((start, end, value))
        self.gone.append((start, end))
        return Edit(start, end, "")

    def change(
        self,
        index: int,
        old: Any,
        new: Any,
    ) -> Edit:
        """Return the edit that changes a document."""
        root = self.roots[index]
        if root.kind is BLOCK and not root.fits(old, new):
            self.drop_entries(root, old, new)
            lines = "\n".join(self.lines(new))
            return Edit(root.entries[0].head, root.end, f"{lines}\n")
        return Edit(root.start, root.end, self.edited(root, old, new))

    # ----------------------------------------------------------------- anchors, aliases

    def remove(self, entry: Entry, value: Any) -> None:
        """Note that an entry goes, and the comments on its lines with it."""
        super().remove(entry, value)
        # not up to the end of the line, where other entries may have aliases
        self.gone.append((entry.start, entry.end))

    def check_anchors(self) -> None:
        """Raise `RevisionError` if an anchor is deleted that an alias uses."""

        def is_gone(place: int) -> bool:
            return any(start <= place < end for start, end in self.gone)

        for alias in self.aliases:
            if is_gone(alias.target) and not is_gone(alias.start):
                raise RevisionError(
                    f"{_place(alias.path)} uses the anchor &{alias.name} of the "
                    "deleted part"
                )

    def reason(self) -> str:
        """Return why a new text has other values than the edit, "" if unknown."""
        return self.alias_reason() or self.merge_reason() or self.anchor_reason()

    def alias_reason(self) -> str:
        """Return which alias changes, while what it names does not."""
        new_values = {part.node_start: value for part, value in self.changed_anchors}
        targets = {alias.start: alias.target for alias in self.aliases}
        for part, value in self.changed_aliases:
            target = targets[part.start]
            if target not in new_values or not same(new_values[target], value):
                return (
                    f"{_place(part.path)} is the alias *{part.anchor}, which cannot "
                    "change alone"
                )
        return ""

    def merge_reason(self) -> str:
        """Return which value changes that `<<` brings."""
        if not self.changed_by_merge:
            return ""
        path = self.changed_by_merge[0]
        names = [f"&{alias.name}" for alias in self.aliases if alias.path == path[:-1]]
        source = f"{', '.join(names)} by <<" if names else "<<"
        return f"{_place(path)} comes from {source}"

    def anchor_reason(self) -> str:
        """Return which alias would change with what it names."""
        for part, _ in self.changed_anchors:
            for alias in self.aliases:
                if alias.target == part.node_start:
                    return (
                        f"{_place(alias.path)} uses the anchor &{alias.name} of "
                        f"{_place(part.path)} and would change with it"
                    )
        return ""

    # ------------------------------------------------------------------- values as text

    def leaf(self, value: Any, quote: str) -> str:
        """Return the text of a scalar, in one line."""
        # in a list: outside of brackets, the dumper may add `...` or break the line
        text = yaml_text(self.line_dumper, [[quoted(value, quote)]])
        line, _, _ = text.partition("\n")
        return line.removeprefix("[").removesuffix("]")

    def lines(self, value: Any) -> list[str]:
        """Return the lines of a value as a block, the first one without indentation."""
        text = yaml_text(self.block_dumper, [value])
        lines = text.removesuffix("\n").split("\n")
        indent = len(lines[0]) - len(lines[0].lstrip(" "))
        return [line[indent:] for line in lines]

    def indented(self, part: YamlPart, lines: Iterable[str]) -> list[str]:
        """Return lines of an entry of a block with the indentation of the block."""
        indent = " " * part.column
        return [f"{indent}{line}\n" if line else "\n" for line in lines]

    # ------------------------------------------------------------------- changed values

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
        self.gone.append((part.bare, part.end))
        if self.is_plain_word(part) and is_old_boolean(new):
            # in quotes, `no` would be text for a program that took the plain `yes`
            # for true by YAML 1.1, and text is true
            return self.anchor_of(part) + str(new)
        quote = self.first_letter(part)
        return self.anchor_of(part) + self.inline(new, None, quote)

    def is_plain_word(self, part: YamlPart) -> bool:
        """Return whether a value is written as a boolean of YAML 1.1, such as `yes`."""
        has_tag = "!" in _ANCHOR.sub("", self.text[part.start : part.bare])
        return not has_tag and is_old_boolean(self.text[part.bare : part.end])

    def put_together(
        self,
        part: Part,
        items: Sequence[tuple[Entry | None, str]],
    ) -> str:
        """Return a collection in brackets, from or to which entries go or come."""
        assert isinstance(part, YamlPart)
        self.check_form(part)
        return super().put_together(part, items)

    def check_form(self, part: YamlPart) -> None:
        """Raise `RevisionError` if a collection is in a form that is not edited."""
        number = self.text.count("\n", 0, part.start) + 1
        if part.kind is ODD:
            raise RevisionError(
                f"{_place(part.path)} is written in a form that cannot be edited "
                f"(line {number})"
            )
        if part.kind is FLOW and "\n" in self.text[part.start : part.end]:
            raise RevisionError(
                f"the brackets of {_place(part.path)} go over several lines "
                f"(line {number})"
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
        own_entries = [entry for entry in part.entries if entry.key is not MERGE]
        if len(own_entries) < len(part.entries):
            old, new = self.own_values(part, own_entries, old, new)
        entries = entries_by_key(own_entries, old)
        text = self.text
        indent = " " * part.column
        # the first entry of a block may stand behind the dash of an item around it
        is_behind_dash = text[part.start - 1 : part.start] not in ("", "\n")
        pieces = []
        place = part.start
        for old_key, key in steps(old, new):
            if old_key is ABSENT:
                self.added.append(new[key])
                pieces.append(self.new_lines(part, key, new[key]))
                continue
            entry = entries[old_key]
            pieces.append(text[place : entry.start])
            place = entry.end
            if key is ABSENT:
                self.remove(entry, old[old_key])
                continue
            if is_behind_dash and entry.start == part.start:
                pieces.append(indent)
            pieces.append(self.head(part, entry, old_key, key))
            pieces.append(self.block_value(part, entry, old[old_key], new[key]))
        pieces.append(text[place : part.end])
        block = "".join(pieces)
        return block.removeprefix(indent) if is_behind_dash else block

    def own_values(
        self,
        part: YamlPart,
        own_entries: Sequence[Entry],
        old: dict[Any, Any],
        new: dict[Any, Any],
    ) -> tuple[dict[Any, Any], dict[Any, Any]]:
        """Return two dicts without the keys that only `<<` brings.

        The old one is in the order of the text: what `<<` brings comes first otherwise,
        though the mapping may have a value of its own for it.
        """
        own = {entry.key: old[entry.key] for entry in own_entries}
        for key, value in old.items():
            is_changed = key not in new or not same(value, new[key])
            # if an own key is deleted, that of `<<` may come to light
            if is_changed and (key not in own or key not in new):
                self.changed_by_merge.append((*part.path, key))
        new_own = {
            key: value for key, value in new.items() if key in own or key not in old
        }
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
        if same(old, new) or value.fits(old, new) or value.kind in (ALIAS, ODD):
            return self.behind(entry, old, new)
        was_on_lines = value.kind is BLOCK or self.first_letter(value) in "|>"
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
        value = entry.value
        assert isinstance(value, YamlPart)
        if value.anchor:
            self.changed_anchors.append((value, new))
        self.drop_entries(value, old, new)
        self.gone.append((value.bare, value.end))
        new = quoted(new, self.first_letter(value))
        # how the value begins, such as `|-`, depends on what is before it
        head = "-" if part.is_list else "k:"
        first, *others = self.lines([new] if part.is_list else {"k": new})
        words = [""]
        header, _, _ = self.text[entry.after : entry.end].partition("\n")
        anchor = _ANCHOR.match(header.lstrip(" \t"))
        if value.anchor and anchor:
            words.append(anchor[0])
        beginning = first.removeprefix(head).strip(" ")
        if beginning:
            words.append(beginning)
        first_line = " ".join(words) + self.comment_behind(entry)
        return "".join([f"{first_line}\n", *self.indented(part, others)])

    def comment_behind(self, entry: Entry) -> str:
        """Return the comment at the end of the line on which a value begins."""
        value = entry.value
        start = entry.after
        line_end = self.text.index("\n", start)
        if value.kind is BLOCK and value.entries[0].head < line_end:
            return ""  # that of its first entry
        if value.kind is not BLOCK and self.first_letter(value) not in "|>":
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
        return "".join(self.indented(part, self.lines(entry)))


def _document_steps(old: list[Any], new: list[Any]) -> list[Step]:
    """Return what becomes of each document."""
    if len(old) == len(new):
        return [Step(index, index) for index in range(len(new))]
    document_steps = list(steps(old, new))
    if any(step.old_key is ABSENT for step in document_steps):
        raise RevisionError("a document would be added")
    return document_steps


def _takes_lines(value: Any) -> bool:
    """Return whether a block is written for a value."""
    if isinstance(value, Tagged):
        return not isinstance(value.value, str)
    if isinstance(value, str):
        return "\n" in value
    return isinstance(value, dict | list) and bool(value)
