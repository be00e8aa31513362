"""Every example of the README and of the pages in `docs` runs as printed."""

import doctest
import re
from pathlib import Path

import pytest
from sybil import Sybil
from sybil.parsers.myst import PythonCodeBlockParser


ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
IMPORTS_NUMPY = re.compile(r"^>>> import .*\bnumpy\b", re.MULTILINE)
NEEDS = {
    "docs/guide/parallel.md": [
        pytest.mark.needs("a loop"),
        pytest.mark.needs("threads"),
    ],
    "docs/explanation/threads.md": [pytest.mark.needs("threads")],
}


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(ROOT / page, id=page, marks=NEEDS.get(page, []))
        for page in (path.relative_to(ROOT).as_posix() for path in PAGES)
    ],
)
def test_examples(page, monkeypatch):
    """The page's examples, run in order, print what the page shows."""
    monkeypatch.delenv("COLUMNS", raising=False)
    if page.name == "performance.md":
        pytest.importorskip("leafwise.engine")
    if IMPORTS_NUMPY.search(page.read_text(encoding="utf-8")):
        pytest.importorskip("numpy")
    parser = PythonCodeBlockParser(doctest_optionflags=doctest.ELLIPSIS)
    document = Sybil(parsers=[parser]).parse(page)
    document.namespace["docs"] = ROOT / "docs"
    for example in document.examples():
        example.evaluate()
