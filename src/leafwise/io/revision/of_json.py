"""Where the values of a JSON text stand, and how new ones are written there.

Owns the scanning of a text that is known to be JSON. A new value takes the indentation
and the separators of the text.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from .. import formats
from ..formats import Document
from .parts import Made
from .render import Editor
from .spans import FLOW, LEAF, Entry, Part


__all__ = ["comments", "remade"]

_TOKEN: Final = re.compile(
    r"[ \t\r\n,]*((?P<open>[{\[])|(?P<close>[}\]])"
    r'|(?P<leaf>"[^"\\]*(?:\\.[^"\\]*)*"|[^\s,:{}\[\]]+)(?P<colon>[ \t\r\n]*:)?)'
)
_SPACE: Final = re.compile(r"[ \t\r\n]*")


def remade(text: str, document: Document, tree: Any) -> Made:
    """Return a JSON text with another tree; see `revise`."""
    made, _ = Editor(text, _Style(text)).run([(_scan(text), document.tree, tree)])
    return Made(made, tree, (), ())


def comments(_text: str) -> tuple[str, ...]:
    """Return nothing: JSON has no comments."""
    return ()


def _scan(text: str) -> Part:
    """Return the root of a JSON text.

    Args:
        text: The text, which Python's `json` has read.
    """
    open_: list[tuple[int, list[Entry], bool]] = [(0, [], True)]
    keys: list[tuple[str | None, int, int] | None] = [None]
    place = 0
    while token := _TOKEN.match(text, place):
        place = token.end()
        start = token.start(1)
        if token["colon"]:
            keys[-1] = json.loads(token["leaf"]), start, place
            continue
        if token["open"]:
            open_.append((start, [], token["open"] == "["))
            keys.append(None)
            continue
        if token["close"]:
            start, entries, is_list = open_.pop()
            keys.pop()
            part = Part(FLOW, start, place, entries, is_list)
        else:
            part = Part(LEAF, start, place)
        key, head, after = keys[-1] or (None, part.start, part.start)
        open_[-1][1].append(Entry(key, head, head, after, part, part.end))
        keys[-1] = None
    return open_[0][1][0].value


class _Style:
    """How values are written into a JSON text."""

    comment: Final = ""
    sign: Final = ":"

    def __init__(self, text: str) -> None:
        """Look at a text for what it does."""
        colon = re.search(r'"[ \t]*:[ \t]*', text)
        self.colon = colon[0][1:] if colon else ": "
        comma = re.search(
            r",([ \t]*)[^ \t\r\n]", re.sub(r'"(?:[^"\\]|\\.)*"', '""', text)
        )
        self.comma = f",{comma[1]}" if comma else ", "
        self.is_ascii = r"\u" in text and text.isascii()
        indent = re.search(r"\n([ \t]+)\S", text)
        self.unit = indent[1] if indent else "  "
        self.has_lines = "\n" in text.strip()

    def key(self, key: Any) -> str:
        """Return the text of a key."""
        return str(json.dumps(key, ensure_ascii=self.is_ascii))

    def inline(
        self, value: Any, indent: str, *, has_lines: bool, like: str = ""
    ) -> str:
        """Return the text of a value.

        Args:
            value: The value.
            indent: That of the line on which it begins.
            has_lines: Whether its items may stand on lines of their own.
            like: A text whose quotes it takes, where there is a choice.
        """
        if isinstance(value, dict | list) and value:
            inner = indent + self.unit if has_lines else indent
            pairs = (
                value.items() if isinstance(value, dict) else ((None, x) for x in value)
            )
            items = [
                ("" if key is None else f"{self.key(key)}{self.colon}")
                + self.inline(one, inner, has_lines=has_lines)
                for key, one in pairs
            ]
            text = (f",\n{inner}" if has_lines else self.comma).join(items)
            text = f"\n{inner}{text}\n{indent}" if has_lines else text
            return f"{{{text}}}" if isinstance(value, dict) else f"[{text}]"
        if isinstance(value, formats.WrittenInt | formats.WrittenFloat):
            return value.text
        return json.dumps(value, ensure_ascii=self.is_ascii)
