"""The public names that the reference lists, and on which page each stands.

A topic page in `docs/reference` lists names like this, so that it reads well as plain
Markdown, too:

    <!-- names: leafwise.selection -->
    `selector`, `TreeDiff` <!-- members -->

Each name gets a page of its own. The comments behind names are options of `autoclass`.
Owns what these lists say, and knows nothing of Sphinx, so that tests can ask, too.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any


REFERENCE = Path(__file__).parents[1] / "reference"
PAGES = "reference/api"
_HEADING = re.compile(r"^## (.+)$")
_BLOCK = re.compile(r"^<!-- names: (\S+) -->$")
_NAME = re.compile(r"`([\w.]+)`(?: <!-- (.*?) -->)?")


@dataclass(frozen=True)
class Entry:
    """One public name of the reference."""

    name: str  # with the module, as users import it
    options: tuple[str, ...]
    topic: str  # the page that lists it, without its suffix
    section: str
    page: str  # its own page

    @property
    def short(self) -> str:
        """The name without its module."""
        return self.name.rpartition(".")[2]

    @property
    def module(self) -> str:
        """The name of the module that has it."""
        return self.name.rpartition(".")[0]

    def value(self) -> Any:
        """Return what has the name."""
        return getattr(importlib.import_module(self.module), self.short)

    def sort(self) -> str:
        """Return what autodoc calls it: function, class, or exception."""
        value = self.value()
        if not inspect.isclass(value):
            return "function"
        return "exception" if issubclass(value, BaseException) else "class"

    def doc(self) -> str:
        """Return its docstring."""
        return inspect.getdoc(self.value()) or ""

    def summary(self) -> str:
        """Return the first sentence of its docstring, as Markdown."""
        first = " ".join(self.doc().partition("\n\n")[0].split())
        return re.sub(r":\w+:(`[^`]+`)", r"\1", first).replace("``", "`")


@functools.cache
def entries(folder: Path = REFERENCE) -> tuple[Entry, ...]:
    """Return what the pages of a folder list, in their order."""
    found: list[Entry] = []
    taken: set[str] = set()
    for page in sorted(folder.glob("*.md")):
        module = section = ""
        for line in page.read_text(encoding="utf-8").splitlines():
            if heading := _HEADING.match(line):
                section = heading[1]
            elif block := _BLOCK.match(line):
                module = block[1]
            elif not line:
                module = ""
            for short, rest in _NAME.findall(line) if module else ():
                options = tuple(one.strip() for one in rest.split(";") if one.strip())
                name = f"{module}.{short}"
                found.append(
                    Entry(name, options, page.stem, section, _page(name, taken))
                )
    names = [entry.name for entry in found]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"listed twice in the reference: {', '.join(sorted(twice))}")
    return tuple(found)


def _page(name: str, taken: set[str]) -> str:
    """Return a page for a name, another one also where capitals do not count."""
    page = name
    while page.casefold() in taken:
        page += "_"
    taken.add(page.casefold())
    return f"{PAGES}/{page}"
