"""The language of pages and docstrings: plain phrases, short sentences."""

from pathlib import Path

import prose
from scripts import listed


ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [page.relative_to(ROOT).as_posix() for page in PAGES]
LONGEST = 30
"""How many words a sentence may have on average on a page."""


def test_no_phrase_reads_translated():
    """On pages, and in the docstrings of the reference; each with what to write."""
    texts = {
        page: prose.of_markdown((ROOT / page).read_text(encoding="utf-8"))
        for page in PAGES
        if "changelog" not in page
    }
    for entry in listed():
        for name, text in prose.docstrings(entry.value()):
            texts[name] = prose.of_docstring(text)
    found = {where: [*prose.translated(text)] for where, text in texts.items()}
    assert {where: phrases for where, phrases in found.items() if phrases} == {}


def test_sentences_are_short():
    """On average; code, tables and headings do not count."""
    long = []
    for page in PAGES:
        found = prose.sentences((ROOT / page).read_text(encoding="utf-8"))
        if sum(map(len, found)) > LONGEST * len(found):
            long.append(page)
    assert long == []


def test_what_counts_as_prose():
    """No code, and text in it does not hide what is around it."""
    page = "# There is none\n\n```python\n>>> none\n```\n\nA `Pytree` is none.\n"
    (found,) = prose.translated(prose.of_markdown(page).partition("\n\n")[2])
    assert "'is none'" in found
    assert prose.sentences(page) == [["A", "it", "is", "none."]]
