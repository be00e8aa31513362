"""Read which public names the reference lists, and on which pages; write their lines.

Usage: python docs/_ext/listing.py

A topic page in `docs/reference` lists names like this, so that it reads well as plain
Markdown, too:

    Guide: [selecting and editing](../guide/selecting.md)

    <!-- names: leafwise -->
    - `at(tree, *, missing_ok=False)`: Select parts of a tree.

The script writes signatures and sentences, from the code; to list a name, write a line
with the name alone, and run it. The guide is that of the section, or of the page.

Each name gets a page of its own. The words of a comment behind a name are options of
`autoclass`, but for `result`: users are given the object, and do not call the class.
Nothing here needs Sphinx, so that tests can use it as well.
"""

from __future__ import annotations

import enum
import functools
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple


REFERENCE = Path(__file__).parents[1] / "reference"

PAGES = "reference/api"
"""The folder of the pages of single names, below `docs`."""

BLOCK = re.compile(r"(<!-- names: (leafwise\S*) -->\n)(.*?\n)(?=\n|\Z)", re.DOTALL)
"""A list of names up to the next empty line: comment, module, and the list."""

LISTED_NAME = re.compile(r"^- `([\w.]+)[^`]*`(?: <!-- (.*?) -->)?", re.MULTILINE)
"""The first line of a name in such a list, and the options behind it."""

GUIDE = re.compile(r"^Guide: (.+)$", re.MULTILINE)
"""The line that names the pages of the guide."""

ROLE = re.compile(r":\w+:(`[^`]+`)")
"""A role of reStructuredText, such as `:doc:`, and its text."""

RESULT = "result"
"""The option of classes that users do not call."""


class Entry(NamedTuple):
    """A public name that the reference lists.

    Attributes:
        name: The name with its module, as users import it.
        options: The options of its directive, separated by semicolons.
        topic: The page that lists it, without its suffix.
        page: Its own page, without its suffix.
        guide: The links to the guide, as Markdown of a page in `docs/reference`.
    """

    name: str
    options: str
    topic: str
    page: str
    guide: str

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

    def signature(self) -> str:
        """Return the parameters without their types, or "" for what is not called."""
        value = self.value()
        if RESULT in self.options.split("; "):
            return ""
        if inspect.isclass(value):
            if issubclass(value, enum.Enum | BaseException):
                return ""
            if value.__init__ is object.__init__ and value.__new__ is object.__new__:
                return ""
        parameters = [
            parameter.replace(
                annotation=parameter.empty, default=plain_default(parameter.default)
            )
            for name, parameter in inspect.signature(value).parameters.items()
            if not name.startswith("_")
        ]
        call = str(inspect.Signature(parameters))
        return "" if call == "(*args, **kwargs)" else call


class Code:
    """What prints as some code does."""

    def __init__(self, code: str) -> None:
        self.code = code

    def __repr__(self) -> str:
        return self.code


def plain_default(default: Any) -> Any:
    """Return a default that prints as one writes it."""
    if default is inspect.Parameter.empty:
        return default
    if default is ...:
        return Code("...")
    if inspect.isclass(default):
        return Code(default.__name__)
    return default


@functools.cache
def entries() -> tuple[Entry, ...]:
    """Return the names that the reference lists, in its order."""
    listed: dict[str, Entry] = {}
    used_pages: set[str] = set()
    for file in sorted(REFERENCE.glob("*.md")):
        for module, short, options, guide in listed_on(file):
            name = f"{module}.{short}"
            assert name not in listed, f"{name} is listed twice in the reference"
            page = unused_page(name, used_pages)
            used_pages.add(page.casefold())
            listed[name] = Entry(name, options, file.stem, f"{PAGES}/{page}", guide)
    return tuple(listed.values())


def listed_on(file: Path) -> Iterator[tuple[str, str, str, str]]:
    """Yield module, name, options and guide of the names on a page."""
    text = file.read_text(encoding="utf-8")
    page_guide = ""
    for section in re.split(r"^(?=## )", text, flags=re.MULTILINE):
        match = GUIDE.search(section)
        guide = match[1] if match else page_guide
        if not section.startswith("## "):
            page_guide = guide
        for _, module, names in BLOCK.findall(section):
            for short, options in LISTED_NAME.findall(names):
                yield module, short, options, guide


def unused_page(name: str, used: set[str]) -> str:
    """Return a name for the page of an object.

    Two pages must also differ on systems whose file names ignore case.
    """
    page = name
    while page.casefold() in used:
        page += "_"
    return page


def fill_lists(text: str) -> str:
    """Return the text of a topic page with the lines of all names."""
    by_name = {entry.name: entry for entry in entries()}

    def fill(match: re.Match[str]) -> str:
        comment, module, names = match.groups()
        lines = []
        for short, options in LISTED_NAME.findall(names):
            entry = by_name[f"{module}.{short}"]
            comment_behind = f" <!-- {options} -->" if options else ""
            call = f"`{short}{entry.signature()}`{comment_behind}"
            lines.append(f"- {call}: {entry.summary()}\n")
        return comment + "".join(lines)

    return BLOCK.sub(fill, text)


if __name__ == "__main__":
    for file in REFERENCE.glob("*.md"):
        file.write_text(fill_lists(file.read_text(encoding="utf-8")), encoding="utf-8")
