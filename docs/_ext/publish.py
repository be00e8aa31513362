"""What stands beside the pages: `llms.txt` and a sitemap.

Owns the files that are written when all pages are there.
"""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

from docutils import nodes
from listing import entries
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment


def titles(env: BuildEnvironment) -> dict[str, str]:
    """Return the title of each page."""
    return {page: env.titles[page].astext() for page in sorted(env.found_docs)}


def remember_first_words(app: Sphinx, doctree: nodes.document) -> None:
    """Note the first sentence of a page."""
    page = app.env.docname
    said = app.env.__dict__.setdefault("leafwise_first_words", {})
    paragraphs = (
        node
        for node in doctree.findall(nodes.paragraph)
        if isinstance(node.parent, nodes.section | nodes.document)
    )
    first = next(paragraphs, None)
    said[page] = " ".join(first.astext().split()).split(". ")[0] if first else ""


def write(app: Sphinx, exception: Exception | None) -> None:
    """Write all of it into the folder of the site."""
    if exception is not None or app.builder.name != "html":
        return
    out = Path(app.outdir)
    (out / "llms.txt").write_text(index(app), encoding="utf-8")
    if base := app.config.html_baseurl:
        text = sitemap(base, titles(app.env))
        (out / "sitemap.xml").write_text(text, encoding="utf-8")


def index(app: Sphinx) -> str:
    """Return the list of pages for programs that read: a line for each."""
    said = app.env.__dict__.get("leafwise_first_words", {})
    names = {entry.page: entry for entry in entries()}
    guides = ["# leafwise", "", f"> {app.config.description}", "", "## Pages", ""]
    reference = ["", "## Reference", ""]
    for page, title in titles(app.env).items():
        if page in names:
            what = names[page].summary()
            reference.append(f"- [{title}]({page}.html): {what}")
        elif page != "index":
            what = said.get(page, "").rstrip(".:")
            guides.append(f"- [{title}]({page}.html)" + (f": {what}" if what else ""))
    return "\n".join(guides + reference) + "\n"


def sitemap(base: str, pages: dict[str, str]) -> str:
    """Return the list of addresses for search engines."""
    places = "".join(
        f"<url><loc>{html.escape(base.rstrip('/'))}/{page}.html</loc></url>\n"
        for page in pages
    )
    space = "http://www.sitemaps.org/schemas/sitemap/0.9"
    head = '<?xml version="1.0" encoding="utf-8"?>\n'
    return f'{head}<urlset xmlns="{space}">\n{places}</urlset>\n'


def setup(app: Sphinx) -> dict[str, Any]:
    """Register all of it."""
    app.add_config_value("description", "", "html")
    app.connect("doctree-read", remember_first_words)
    app.connect("build-finished", write)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
