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
from pathlib import Path
from typing import Any, NamedTuple


REFERENCE = Path(__file__).parents[1] / "reference"
PAGES = "reference/api"
BLOCK = re.compile(r"<!-- names: (leafwise\S*) -->\n(.*?\n)(?=\n|\Z)", re.DOTALL)
_NAME = re.compile(r"`([\w.]+)`(?: <!-- (.*?) -->)?")


class Entry(NamedTuple):
    """One public name of the reference."""

    name: str  # with the module, as users import it
    options: str
    topic: str  # the page that lists it, without its suffix
    page: str  # its own page

    @property
    def module(self) -> str:
        """The name of the module that has it."""
        return self.name.rpartition(".")[0]

    @property
    def short(self) -> str:
        """The name without its module."""
        return self.name.rpartition(".")[2]

    def value(self) -> Any:
        """Return what has the name."""
        return getattr(importlib.import_module(self.module), self.short)

    def doc(self) -> str:
        """Return its docstring."""
        return inspect.getdoc(self.value()) or ""

    def summary(self) -> str:
        """Return the first sentence of its docstring, as Markdown."""
        first = " ".join(self.doc().partition("\n\n")[0].split())
        return re.sub(r":\w+:(`[^`]+`)", r"\1", first).replace("``", "`")


@functools.cache
def entries() -> tuple[Entry, ...]:
    """Return what the pages list, in their order."""
    found: dict[str, Entry] = {}
    taken: set[str] = set()
    for file in sorted(REFERENCE.glob("*.md")):
        for module, names in BLOCK.findall(file.read_text(encoding="utf-8")):
            for short, options in _NAME.findall(names):
                name = page = f"{module}.{short}"
                while page.casefold() in taken:  # also where capitals do not count
                    page += "_"
                taken.add(page.casefold())
                assert name not in found, f"{name} is listed twice in the reference"
                found[name] = Entry(name, options, file.stem, f"{PAGES}/{page}")
    return tuple(found.values())
