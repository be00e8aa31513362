"""Every example of the README and of the pages in `docs` runs as printed."""

import doctest
import re
import shutil
from pathlib import Path

import pytest
from sybil import Sybil
from sybil.parsers.myst import PythonCodeBlockParser


ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
IMPORTS_NUMPY = re.compile(r"^>>> import .*\bnumpy\b", re.MULTILINE)
LIBRARIES = re.compile(r"^<!-- needs: (.*) -->$", re.MULTILINE)
"""What a page says at its top if it uses libraries that not every machine has."""
NEEDS = {
    "docs/guide/parallel.md": [
        pytest.mark.needs("a loop"),
        pytest.mark.needs("threads"),
    ],
    "docs/performance.md": [pytest.mark.needs("threads")],
    "docs/how-to/recipes.md": [pytest.mark.needs("threads")],
}


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(ROOT / page, id=page, marks=NEEDS.get(page, []))
        for page in (path.relative_to(ROOT).as_posix() for path in PAGES)
    ],
)
def test_examples(page, tmp_path, monkeypatch):
    """The page's examples, run in order, print what the page shows.

    They run beside a copy of the files that the pages use.
    """
    monkeypatch.delenv("COLUMNS", raising=False)
    files = ROOT / "docs" / "examples" / "configs"
    monkeypatch.chdir(shutil.copytree(files, tmp_path / "files"))
    if page.name == "performance.md":
        pytest.importorskip("leafwise.engine")
    text = page.read_text(encoding="utf-8")
    if IMPORTS_NUMPY.search(text):
        pytest.importorskip("numpy")
    for names in LIBRARIES.findall(text):
        for name in names.split(", "):
            pytest.importorskip(name)
    parser = PythonCodeBlockParser(doctest_optionflags=doctest.ELLIPSIS)
    document = Sybil(parsers=[parser]).parse(page)
    for example in document.examples():
        example.evaluate()
