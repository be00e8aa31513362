"""What is written beside the pages, `llms.txt`; and what pages do not need."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from listing import entries
from sphinx.application import Sphinx


def write(app: Sphinx, exception: Exception | None) -> None:
    """Write all of it into the folder of the site."""
    if exception is not None or app.builder.name != "html":
        return
    out = Path(app.outdir)
    (out / "llms.txt").write_text(index(app), encoding="utf-8")


def index(app: Sphinx) -> str:
    """Return the list of pages for programs that read: a line for each."""
    names = {entry.page: f": {entry.summary()}" for entry in entries()}
    lines = [f"# leafwise\n\n> {app.config.description}\n"]
    for page in sorted(app.env.found_docs, key=lambda page: (page in names, page)):
        title = app.env.titles[page].astext()
        lines.append(f"- [{title}]({page}.html){names.get(page, '')}")
    return "\n".join(lines) + "\n"


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
    app.connect("html-page-context", slim)
    app.connect("build-finished", write)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
