"""What stands beside the pages: `llms.txt` and a sitemap; and small pages.

Owns the files that are written when all pages are there, and what pages do not need.
"""

from __future__ import annotations

import html
import re
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


_PLAIN = re.compile(r'<span class="(?:n|p|w|o|pre)">([^<]*)</span>')
_CODE = re.compile(r'<code class="docutils literal notranslate">')
_CELL = re.compile(r"<td><p>((?:(?!</?p>).)*)</p>\s*</td>", re.DOTALL)
_ROW = re.compile(r'<tr class="row-\w+">')


def slim(
    app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Drop elements and classes that have no look, up to half of a page."""
    if "body" in context:
        body = _PLAIN.sub(r"\1", context["body"])
        body = _CELL.sub(r"<td>\1</td>", _CODE.sub("<code>", body))
        context["body"] = _ROW.sub("<tr>", body)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register all of it."""
    app.add_config_value("description", "", "html")
    app.connect("doctree-read", remember_first_words)
    app.connect("html-page-context", slim)
    app.connect("build-finished", write)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
