"""A JSON text with another tree: only what changes is looked at."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cached_property
from itertools import zip_longest
from typing import Any, Final

from .. import formats
from ..documents import Document
from .editor import FLOW, LEAF, Edit, Editor, Entry, Part, spliced


_BLANKS: Final = re.compile(r"[ \t\r\n,]*")
_KEY: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"[ \t\r\n]*:')
_read_value: Final = json.JSONDecoder().raw_decode
"""Returns the value at a place of a text, and where it ends."""


class JsonEditor(Editor):
    """Writes JSON with the indentation and the separators of a text.

    Args:
        text: The text.
        allow_nan: Whether it may have `NaN` and `Infinity`.
    """

    def __init__(self, text: str, *, allow_nan: bool) -> None:
        super().__init__(text)
        self.allow_nan = allow_nan
        self.has_lines = "\n" in text.strip()
        self.is_ascii = r"\u" in text and text.isascii()
        indent = re.search(r"\n([ \t]+)\S", text)
        if indent is not None:
            self.unit = indent[1]
        colon = re.search(r'"([ \t]*:[ \t]*)', text)
        if colon is not None:
            self.colon = colon[1]

    @cached_property
    def comma(self) -> str:  # type: ignore[override]
        """A comma between two items on one line, with the blanks behind it."""
        without_strings = re.sub(r'"(?:[^"\\]|\\.)*"', '""', self.text)
        match = re.search(r",[ \t]*(?=[^ \t\r\n])", without_strings)
        return match[0] if match else ", "

    def revised(self, document: Document, tree: Any) -> str:
        """Return the text with another tree; it is not checked yet."""
        start = self.end_of(_BLANKS, 0)
        root = self.read_part(start, document.tree, tree)
        value = self.edited(root, document.tree, tree)
        return spliced(self.text, [Edit(root.start, root.end, value)])

    # ------------------------------------------------------------------------- reading

    def read_part(
        self,
        start: int,
        old: Any,
        new: Any,
    ) -> Part:
        """Return the part of a value."""
        is_list = isinstance(old, list)
        is_collection = is_list or isinstance(old, dict)
        if not is_collection or old is new or type(old) is not type(new):
            # only its end is asked for, which the scanner of C finds sooner than we do
            _, end = _read_value(self.text, start)
            kind = FLOW if is_collection else LEAF
            return Part(kind, start, end, start, is_list=is_list)
        entries: list[Entry] = []
        place = self.end_of(_BLANKS, start + 1)
        for key, value, new_value in _old_and_new(old, new):
            head = place
            after = head if key is None else self.end_of(_KEY, head)
            value_start = self.end_of(_BLANKS, after)
            part = self.read_part(value_start, value, new_value)
            entries.append(Entry(head, head, after, part, part.end))
            place = self.end_of(_BLANKS, part.end)
        return Part(FLOW, start, place + 1, start, entries, is_list=is_list)

    def end_of(self, pattern: re.Pattern[str], place: int) -> int:
        """Return where what matches at a place ends."""
        match = pattern.match(self.text, place)
        assert match is not None  # the text is known to be well-formed
        return match.end()

    # ------------------------------------------------------------------------- writing

    def key(self, key: Any) -> str:
        """Return the text of a key, which JSON makes of numbers, too."""
        return self.dumped({key: 0})[1:-4]

    def leaf(self, value: Any, quote: str) -> str:
        """Return the text of a scalar, in its own spelling if it has one."""
        text = self.dumped(value)  # raises for a NaN that may not be there
        return str(value.text) if hasattr(value, "plain") else text

    def dumped(self, value: Any) -> str:
        """Return a value as JSON."""
        return json.dumps(
            value,
            ensure_ascii=self.is_ascii,
            allow_nan=self.allow_nan,
            default=formats.json_default,
        )


def _old_and_new(old: Any, new: Any) -> Iterator[tuple[str | None, Any, Any]]:
    """Yield the keys and values of a collection, and what is there afterwards.

    An item of a list that has another position then is taken for one that changes.
    """
    if isinstance(old, dict):
        for key, value in old.items():
            yield key, value, new.get(key)
    else:
        for value, new_value in zip_longest(old, new[: len(old)]):
            yield None, value, new_value
