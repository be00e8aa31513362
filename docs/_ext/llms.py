"""Write `llms.txt`: the pages, each with a sentence and the address of its Markdown.

The order is that of the sidebar, which stands in `docs/index.md`. Nothing here but
`setup` needs Sphinx, so that tests can use it as well.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any


DOCS = Path(__file__).parents[1]
ADDRESS = "https://raw.githubusercontent.com/leafwise/leafwise/main/docs"

CAPTION = re.compile(r"^   :caption: (.+)$", re.MULTILINE)
PAGE = re.compile(r"^   ([\w/-]+)$", re.MULTILINE)

LINK = re.compile(r"\[([^]]+)\]\([^)]+\)")
"""A link, and its text."""


def first_sentence(text: str) -> str:
    """Return the first sentence of a page, without links."""
    _, body = re.split(r"^# .+$", text, maxsplit=1, flags=re.MULTILINE)
    paragraph, _, _ = body.strip().partition("\n\n")
    line = LINK.sub(r"\1", " ".join(paragraph.split()))
    sentence, _, _ = line.partition(". ")
    return sentence.rstrip(".:") + "."


def entry(page: str) -> str:
    """Return the line of a page."""
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    title = re.search(r"^# (.+)$", text, re.MULTILINE)
    assert title is not None, page
    return f"- [{title[1]}]({ADDRESS}/{page}.md): {first_sentence(text)}"


def llms_text() -> str:
    """Return the text of the file."""
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    lines = ["# leafwise", "", f"> {first_sentence(index)}", ""]
    for tree in re.findall(r"<!-- rst\n\.\. toctree::\n(.*?)-->", index, re.DOTALL):
        caption = CAPTION.search(tree)
        assert caption is not None, tree
        lines += [f"## {caption[1]}", ""]
        lines += [entry(page) for page in PAGE.findall(tree)]
        if caption[1] == "Reference":
            topics = sorted(path.stem for path in (DOCS / "reference").glob("*.md"))
            lines += [entry(f"reference/{name}") for name in topics if name != "index"]
        lines.append("")
    return "\n".join(lines)


def write_file(app: Any, exception: Exception | None) -> None:
    """Write the file beside the pages."""
    if exception is None and app.builder.name == "html":
        Path(app.outdir, "llms.txt").write_text(llms_text(), encoding="utf-8")


def setup(app: Any) -> dict[str, Any]:
    """Register the extension."""
    app.connect("build-finished", write_file)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
