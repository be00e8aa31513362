"""The language of pages and docstrings: plain phrases, short sentences."""

from pathlib import Path

import pytest

import prose
from scripts import listed


ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [page.relative_to(ROOT).as_posix() for page in PAGES]
ENTRIES = listed()
LONGEST = 30
"""How many words a sentence may have on average on a page."""


@pytest.mark.parametrize("page", [page for page in PAGES if "changelog" not in page])
def test_no_phrase_of_a_page_reads_translated(page):
    """The failure says what to write instead."""
    text = prose.of_markdown((ROOT / page).read_text(encoding="utf-8"))
    assert [*prose.translated(text)] == []


@pytest.mark.parametrize("entry", ENTRIES, ids=[one.name for one in ENTRIES])
def test_no_phrase_of_a_docstring_reads_translated(entry):
    """Those in the reference: of functions and classes, and of their methods."""
    found = []
    for name, text in prose.docstrings(entry.value()):
        found += [
            f"{name}: {one}" for one in prose.translated(prose.of_docstring(text))
        ]
    assert found == []


@pytest.mark.parametrize("page", PAGES)
def test_sentences_are_short(page):
    """On average; code, tables and headings do not count."""
    found = prose.sentences((ROOT / page).read_text(encoding="utf-8"))
    assert sum(map(len, found)) <= LONGEST * max(len(found), 1)


def test_what_counts_as_prose():
    """No code, and text in it does not hide what stands around it."""
    page = (
        "# A heading there is none of\n\n```python\n>>> nobody, none\n```\n\n"
        "A `Pytree` needs no saying. See [this\nsort](x.md).\n\n| of ours |\n|---|\n"
    )
    found = [*prose.translated(prose.of_markdown(page))]
    assert [one.partition("...: ")[2].partition(";")[0] for one in found] == [
        "'there is none'",
        "'of ours'",
        "'needs no saying'",
        "'this sort'",
    ]
    assert prose.sentences(page) == [
        ["A", "it", "needs", "no", "saying."],
        ["See", "this", "sort."],
    ]
    docstring = "Return it.\n\nExample:\n    >>> there_is_none\n    there is none\n"
    assert [*prose.translated(prose.of_docstring(docstring))] == []
