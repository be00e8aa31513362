"""Read which public names the reference lists, and on which pages.

A topic page in `docs/reference` lists names like this, so that it reads well as plain
Markdown, too:

    <!-- names: leafwise.selection -->
    `selector`, `TreeDiff` <!-- members -->

Each name gets a page of its own. The comments behind names are options of `autoclass`.
Nothing here needs Sphinx, so that tests can use it as well.
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
"""The folder of the pages of single names, below `docs`."""

BLOCK = re.compile(r"<!-- names: (leafwise\S*) -->\n(.*?\n)(?=\n|\Z)", re.DOTALL)
"""A list of names up to the next empty line: the module, and the text of the list."""

LISTED_NAME = re.compile(r"`([\w.]+)`(?: <!-- (.*?) -->)?")
"""A name in such a list, and the options behind it."""

ROLE = re.compile(r":\w+:(`[^`]+`)")
"""A role of reStructuredText, such as `:doc:`, and its text."""


class Entry(NamedTuple):
    """A public name that the reference lists.

    Attributes:
        name: The name with its module, as users import it.
        options: The options of its directive, separated by semicolons.
        topic: The page that lists it, without its suffix.
        page: Its own page, without its suffix.
    """

    name: str
    options: str
    topic: str
    page: str

    @property
    def module(self) -> str:
        """The name of the module that has it."""
        return self.name.rpartition(".")[0]

    @property
    def short(self) -> str:
        """The name without its module."""
        return self.name.rpartition(".")[2]

    def value(self) -> Any:
        """Import the object, and return it."""
        return getattr(importlib.import_module(self.module), self.short)

    def doc(self) -> str:
        """Return the docstring of the object."""
        return inspect.getdoc(self.value()) or ""

    def summary(self) -> str:
        """Return the first paragraph of the docstring, as Markdown on one line."""
        paragraph, _, _ = self.doc().partition("\n\n")
        line = " ".join(paragraph.split())
        return ROLE.sub(r"\1", line).replace("``", "`")


@functools.cache
def entries() -> tuple[Entry, ...]:
    """Return the names that the reference lists, in its order."""
    listed: dict[str, Entry] = {}
    used_pages: set[str] = set()
    for file in sorted(REFERENCE.glob("*.md")):
        for module, names in BLOCK.findall(file.read_text(encoding="utf-8")):
            for short, options in LISTED_NAME.findall(names):
                name = f"{module}.{short}"
                assert name not in listed, f"{name} is listed twice in the reference"
                page = unused_page(name, used_pages)
                used_pages.add(page.casefold())
                listed[name] = Entry(name, options, file.stem, f"{PAGES}/{page}")
    return tuple(listed.values())


def unused_page(name: str, used: set[str]) -> str:
    """Return a name for the page of an object.

    Two pages must also differ on systems whose file names ignore case.
    """
    page = name
    while page.casefold() in used:
        page += "_"
    return page
