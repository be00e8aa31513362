"""The order of the pages in the sidebar.

Owns what is added to the pages when the site is built, so that they are plain Markdown:
the trees of contents of the first page, the directives in comments that begin with
`rst`, and the tables of names of the reference.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any


if TYPE_CHECKING:
    from sphinx.application import Sphinx


CONTENTS = {
    "Learn": (
        "start/quickstart",
        "tutorials/configs",
        "tutorials/training",
        "tutorials/library",
        "how-to/recipes",
        "start/migrating",
    ),
    "Trees and configs": (
        "guide/trees",
        "guide/selecting",
        "guide/configs",
        "guide/commands",
        "guide/show",
        "guide/treedefs",
    ),
    "Classes and models": ("guide/registering", "guide/objects", "guide/bridges"),
    "Arrays, files, tools": (
        "guide/files",
        "guide/parallel",
        "guide/testing",
        "guide/typing",
    ),
    "Background": ("explanation/why", "performance", "changelog"),
    "Reference": ("reference/index",),
}
"""The pages below each caption of the sidebar."""


_RST = re.compile(r"<!-- rst\n(.*?)-->\n", re.DOTALL)
_NAMES = re.compile(r"<!-- names: (leafwise\S*) -->\n(.*?\n)(?=\n|\Z)", re.DOTALL)


def _names(found: re.Match[str]) -> str:
    names = "\n".join(re.findall(r"`([\w.]+)`", found[2]))
    return f"```{{names}} {found[1]}\n{names}\n```\n"


def add(app: Sphinx, docname: str, source: list[str]) -> None:
    """Add the trees of contents to the first page, and the directives to all."""
    text = _RST.sub(r"```{eval-rst}\n\1```\n", source[0])
    source[0] = _NAMES.sub(_names, text)
    if docname == app.config.root_doc:
        source[0] += "".join(
            "\n```{toctree}\n:hidden:\n"
            f":caption: {caption}\n\n{chr(10).join(pages)}\n```\n"
            for caption, pages in CONTENTS.items()
        )


def setup(app: Sphinx) -> dict[str, Any]:
    """Register it."""
    app.connect("source-read", add)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
