"""A JSON text with another tree: only what changes is looked at."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cached_property
from itertools import zip_longest
from typing import Any, Final

from .. import formats
from .editor import FLOW, LEAF, Editor, Entry, Part


_BLANKS: Final = re.compile(r"[ \t\r\n,]*")
_KEY: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"[ \t\r\n]*:')
_read_value: Final = json.JSONDecoder().raw_decode
"""Returns the value at a place of a text, and where it ends."""


def revised(
    text: str,
    tree: Any,
    new: Any,
    allow_nan: bool,
) -> str:
    """Return a JSON text with another tree; see `revise`."""
    root = _read_part(text, _end_of(_BLANKS, text, 0), tree, new)
    value = _JsonEditor(text, allow_nan).edited(root, tree, new)
    return text[: root.start] + value + text[root.end :]


def _read_part(
    text: str,
    start: int,
    old: Any,
    new: Any,
) -> Part:
    """Return the part of a value; of what stays, its end alone is looked for."""
    is_collection = isinstance(old, dict | list)
    if not is_collection or old is new or type(old) is not type(new):
        kind = FLOW if is_collection else LEAF
        _, end = _read_value(text, start)
        return Part(kind, start, end, start, is_list=isinstance(old, list))
    entries: list[Entry] = []
    place = _end_of(_BLANKS, text, start + 1)
    for key, value, new_value in _old_and_new(old, new):
        head = after = place
        if key is not None:
            after = _end_of(_KEY, text, head)
        start_of_value = _end_of(_BLANKS, text, after)
        part = _read_part(text, start_of_value, value, new_value)
        entries.append(Entry(head, head, after, part, part.end))
        place = _end_of(_BLANKS, text, part.end)
    is_list = isinstance(old, list)
    return Part(FLOW, start, place + 1, start, entries, is_list=is_list)


def _old_and_new(old: Any, new: Any) -> Iterator[tuple[str | None, Any, Any]]:
    """Yield the keys and values of a collection, and what is there afterwards.

    An item of a list that has another position then is taken for one that changes.
    """
    if isinstance(old, dict):
        for key, value in old.items():
            yield key, value, new.get(key)
        return
    for value, new_value in zip_longest(old, new[: len(old)]):
        yield None, value, new_value


def _end_of(pattern: re.Pattern[str], text: str, place: int) -> int:
    match = pattern.match(text, place)
    assert match is not None  # the text is known to be well-formed
    return match.end()


class _JsonEditor(Editor):
    """Writes JSON with the indentation and the separators of a text."""

    def __init__(self, text: str, allow_nan: bool) -> None:
        """Look at a text for what it does."""
        super().__init__(text)
        colon = re.search(r'"([ \t]*:[ \t]*)', text)
        if colon is not None:
            self.colon = colon[1]
        indent = re.search(r"\n([ \t]+)\S", text)
        if indent is not None:
            self.unit = indent[1]
        self.has_lines = "\n" in text.strip()
        self.is_ascii = r"\u" in text and text.isascii()
        self.allow_nan = allow_nan

    @cached_property
    def comma(self) -> str:  # type: ignore[override]
        """A comma between two items on one line, with the blanks behind it."""
        plain = re.sub(r'"(?:[^"\\]|\\.)*"', '""', self.text)
        match = re.search(r",[ \t]*(?=[^ \t\r\n])", plain)
        return match[0] if match else ", "

    def key(self, key: Any) -> str:
        """Return the text of a key, which JSON makes of numbers, too."""
        return self.dumped({key: 0})[1:-4]

    def leaf(self, value: Any, quote: str) -> str:
        """Return the text of a scalar, in its own spelling if it has one."""
        text = self.dumped(value)  # which may have no NaN
        return str(value.text) if hasattr(value, "plain") else text

    def dumped(self, value: Any) -> str:
        """Return a value as JSON."""
        return json.dumps(
            value,
            ensure_ascii=self.is_ascii,
            allow_nan=self.allow_nan,
            default=formats.json_default,
        )
