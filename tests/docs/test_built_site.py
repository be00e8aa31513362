"""The built site: its checks find nothing.

The site itself is looked at if `LEAFWISE_SITE` names the folder that it was built into;
in a browser, if `LEAFWISE_PYODIDE` names the folder of Pyodide's npm package, too.
"""

import os
from pathlib import Path

import pytest

from helpers.repository import load_module


SITE = os.environ.get("LEAFWISE_SITE")
PYODIDE = os.environ.get("LEAFWISE_PYODIDE")


@pytest.mark.slow
@pytest.mark.skipif(not SITE, reason="no site was built")
def test_the_site():
    """Links, anchors, sizes, names."""
    check_site = load_module("tests/docs/check_site.py")
    assert check_site.wrong(Path(SITE).resolve()) == []


@pytest.mark.slow
@pytest.mark.skipif(not (SITE and PYODIDE), reason="no site was built")
def test_the_site_in_a_browser():
    """Wide and narrow, light and dark; search, and examples that run."""
    check_pages = load_module("tests/docs/check_pages.py")
    site = Path(SITE).resolve()
    pyodide = Path(PYODIDE).resolve()
    assert check_pages.wrong(site, pyodide) == []


def test_checks_find_what_is_wrong(tmp_path):
    """Links to files and anchors that are not there, large pages, names without one."""
    check_site = load_module("tests/docs/check_site.py")
    links = ["two.html", "two.html#top", "#top", "https://example.org/x", "%74wo.html"]
    links += ["three.html", "two.html#bottom"]
    text = '<h1 id="top">a</h1>' + "".join(f'<a href="{one}">b</a>' for one in links)
    (tmp_path / "one.html").write_text(text + "a" * 60_000, encoding="utf-8")
    (tmp_path / "two.html").write_text('<h1 id="top">c</h1>', encoding="utf-8")
    assert list(check_site.broken(tmp_path)) == [
        "one.html: no file for three.html",
        "one.html: no anchor for two.html#bottom",
    ]
    assert len(list(check_site.too_large(tmp_path))) == 1
    missing = list(check_site.missing(tmp_path, {"x.c": "two"}))
    assert missing[-1] == "x.c has no page"
