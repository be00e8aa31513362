"""Text: what generated functions are written with.

This module, `take` and `build` write every line of generated code. There are three
functions for a structure:

    flatten(t): the leaves and the treedef of a tree of just this structure, None
        for any other. Reads and checks types in one pass; compares the dict keys,
        and the types of keys and leaves, of the whole tree at once.
    up_to(treedef, t): what a tree has at the leaves; None if it may differ.
    build(treedef, leaves): a tree.

User data never enters the text: classes, keys and functions are globals of the
functions, and names come from a counter. Attribute names are written out where
they are ASCII identifiers.
"""

from __future__ import annotations

import keyword
from collections import OrderedDict, defaultdict, deque
from collections.abc import Sequence
from operator import countOf
from typing import Any, Final

from .exact import exactly


__all__ = ["SPREAD", "Text", "is_plain_name", "tuple_of"]

SPREAD: Final = 4
"""How many neighbouring leaves make a sequence."""

_TOOLS: Final[dict[str, Any]] = {
    "exactly": exactly,
    "copy_dict": dict.copy,
    "countOf": countOf,
    "OrderedDict": OrderedDict,
    "defaultdict": defaultdict,
    "deque": deque,
    "new_tuple": tuple.__new__,
}


class Text:
    """Lines of Python, and the objects that their global names stand for.

    Attributes:
        lines: The lines.
        names: The objects, by name.
    """

    __slots__ = ("_counter", "_known", "indent", "lines", "names")

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[str, Any] = dict(_TOOLS)
        self.indent = ""
        self._known: dict[int, str] = {}
        self._counter = 0

    def add(self, line: str) -> None:
        """Write a line at the current indentation."""
        self.lines.append(self.indent + line)

    def fresh(self, letter: str) -> str:
        """Return a name that was not used before."""
        self._counter += 1
        return f"{letter}{self._counter}"

    def constant(self, value: Any) -> str:
        """Return the global name of an object."""
        name = self._known.get(id(value))
        if name is None:
            name = self._known[id(value)] = self.fresh("K")
            self.names[name] = value
        return name

    def deeper(self) -> None:
        """Indent what follows."""
        self.indent += "    "

    def back(self) -> None:
        """End a block."""
        self.indent = self.indent[:-4]

    def __str__(self) -> str:
        return "\n".join(self.lines) + "\n"


def is_plain_name(name: str) -> bool:
    """Say whether an attribute may be written out."""
    reserved = keyword.iskeyword(name) or name == "__debug__"
    return name.isascii() and name.isidentifier() and not reserved


def tuple_of(items: Sequence[str]) -> str:
    """Return a tuple display."""
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
