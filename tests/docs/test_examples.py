"""Every example of the README and of the pages in `docs` runs as printed."""

import doctest
from pathlib import Path

import pytest
from sybil import Sybil
from sybil.parsers.myst import PythonCodeBlockParser


ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples(page):
    """The page's examples, run in order, print what the page shows."""
    if page.name == "performance.md":
        pytest.importorskip("leafwise.engine")
    parser = PythonCodeBlockParser(doctest_optionflags=doctest.ELLIPSIS)
    document = Sybil(parsers=[parser]).parse(page)
    document.namespace["docs"] = ROOT / "docs"
    for example in document.examples():
        example.evaluate()
