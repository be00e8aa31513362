"""The built site: its checks find what is wrong, and nothing in ours.

The site itself is looked at if `LEAFWISE_SITE` names the folder that it was built into;
in a browser, if `LEAFWISE_PYODIDE` names the folder of Pyodide's npm package, too.
"""

import os
from pathlib import Path

import pytest

from scripts import module_at


check_site = module_at("tests/docs/check_site.py")
SITE, PYODIDE = os.environ.get("LEAFWISE_SITE"), os.environ.get("LEAFWISE_PYODIDE")
PAGE = '<h1 id="top">a</h1><a href="{}">b</a>'


def site(folder, **pages):
    """Write a site of some pages."""
    for name, text in pages.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("link", "wrong"),
    [
        ("two.html", None),
        ("two.html#top", None),
        ("#top", None),
        ("https://example.org/x", None),
        ("mailto:a@example.org", None),
        ("three.html", "one.html: no file for three.html"),
        ("two.html#bottom", "one.html: no anchor for two.html#bottom"),
        ("#bottom", "one.html: no anchor for #bottom"),
        ("%74wo.html", None),
    ],
)
def test_links(tmp_path, link, wrong):
    """Of files and of anchors."""
    site(tmp_path, one=PAGE.format(link), two='<h1 id="top">c</h1>')
    assert [*check_site.broken(tmp_path)] == ([wrong] if wrong else [])


def test_sizes(tmp_path):
    """In bytes."""
    site(tmp_path, one="a" * 60_000, two="é" * 30_001, genindex="a" * 120_000)
    assert [*check_site.too_large(tmp_path)] == ["two.html: 60002 bytes, at most 60000"]


def test_what_is_missing(tmp_path):
    """Files, pages of names, and their examples."""
    example = '<span class="gp">&gt;&gt;&gt; </span>'
    site(tmp_path, a='<dt id="x.a">', b=f'<dt id="x.b">{example}', index="")
    names = {"x.a": "a", "x.b": "b", "x.c": "c"}
    assert [*check_site.missing(tmp_path, names)] == [
        "llms.txt is missing",
        "search.html is missing",
        "reference/index.html is missing",
        "the page of x.a has no example",
        "x.c has no page",
    ]


@pytest.mark.slow
@pytest.mark.skipif(not SITE, reason="no site was built")
def test_the_site():
    """Links, anchors, sizes, names."""
    assert check_site.wrong(Path(SITE).resolve()) == []


@pytest.mark.slow
@pytest.mark.skipif(not (SITE and PYODIDE), reason="no site was built")
def test_the_site_in_a_browser():
    """Wide and narrow, light and dark; search, and examples that run."""
    check_pages = module_at("tests/docs/check_pages.py")
    site, pyodide = Path(SITE).resolve(), Path(PYODIDE).resolve()
    assert check_pages.wrong(site, pyodide) == []
