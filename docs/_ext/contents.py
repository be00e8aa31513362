"""The order of the pages in the sidebar.

Owns the trees of contents, which are added to the first page when the site is built, so
that the page itself is plain Markdown.
"""

from __future__ import annotations

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


def add(app: Sphinx, docname: str, source: list[str]) -> None:
    """Add the trees of contents to the first page."""
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
