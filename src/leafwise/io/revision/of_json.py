"""Where the values of a JSON text stand, and how new ones are written there.

A new value takes the indentation and the separators of the text.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from .. import formats
from ..formats import Document
from .editor import Editor, check_values, scan


_TOKEN: Final = re.compile(
    r"[ \t\r\n,]*((?P<open>[{\[])|(?P<close>[}\]])"
    r'|(?:"[^"\\]*(?:\\.[^"\\]*)*"|[^\s,:{}\[\]]+)(?P<colon>[ \t\r\n]*:)?)'
)


def remade(text: str, document: Document, tree: Any) -> str:
    """Return a JSON text with another tree; see `revise`."""
    root = scan(text, _TOKEN)
    made = _Editor(text).edited(root, document.tree, tree)
    made = text[: root.start] + made + text[root.end :]
    check_values(formats.load(made, "json").tree, tree)
    return made


class _Editor(Editor):
    def __init__(self, text: str) -> None:
        """Look at a text for what it does."""
        super().__init__(text)
        colon = re.search(r'"([ \t]*:[ \t]*)', text)
        self.colon = colon[1] if colon else ": "
        plain = re.sub(r'"(?:[^"\\]|\\.)*"', '""', text)
        comma = re.search(r",[ \t]*(?=[^ \t\r\n])", plain)
        self.comma = comma[0] if comma else ", "
        self.is_ascii = r"\u" in text and text.isascii()
        indent = re.search(r"\n([ \t]+)\S", text)
        self.unit = indent[1] if indent else "  "
        self.has_lines = "\n" in text.strip()

    def leaf(self, value: Any, like: str) -> str:
        """Return the text of a scalar."""
        if isinstance(value, formats.WrittenInt | formats.WrittenFloat):
            return value.text
        return json.dumps(value, ensure_ascii=self.is_ascii)
