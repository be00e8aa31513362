"""How many pages the site has, how many words they have, and that they are Markdown."""

import re
from pathlib import Path


DOCS = Path(__file__).parents[2] / "docs"
NO_READING = {"changelog", "reference/index"}
PAGES = sorted(
    page.relative_to(DOCS).with_suffix("").as_posix()
    for page in DOCS.rglob("*.md")
    if page.relative_to(DOCS).parts[0] != "reference"
)
TO_READ = [page for page in PAGES if page not in {"architecture", "contributing"}]
ODD = re.compile(
    r"^`{3,}\{.*|^:::.*|^\([\w-]+\)=$|\{[a-z]+(?::[a-z]+)?\}`[~\w]", re.MULTILINE
)
MAX_PAGES = 22
MAX_WORDS = 36_000
"""Of all pages together, without the changelog; those of the reference count."""


def test_pages_are_few():
    """Each of them is in the sidebar, once."""
    first = (DOCS / "index.md").read_text(encoding="utf-8")
    shown = re.findall(r"^   ([a-z][\w/-]+)$", first, re.MULTILINE)
    read = [page for page in shown if page not in NO_READING]
    assert sorted(["index", "changelog", *read]) == TO_READ
    assert 1 + len(read) <= MAX_PAGES


def test_words_are_few():
    """As `wc -w` counts them."""
    texts = [
        page.read_text(encoding="utf-8")
        for page in DOCS.rglob("*.md")
        if page.stem != "changelog"
    ]
    assert sum(len(text.split()) for text in texts) <= MAX_WORDS


def test_pages_are_plain_markdown():
    """Code hosts show them as they are meant: no roles, directives, labels."""
    texts = {page: (DOCS / f"{page}.md").read_text(encoding="utf-8") for page in PAGES}
    odd = {page: ODD.findall(text) for page, text in texts.items()}
    assert {page: found for page, found in odd.items() if found} == {}
