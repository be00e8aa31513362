"""Each public name has a page in the reference, with an example, or stands on one."""

import re
from pathlib import Path

import pytest

import leafwise
from helpers.repository import listed_names, load_module


DOCS = Path(__file__).parents[2] / "docs"
ENTRIES = {entry.name: entry for entry in listed_names()}
CONSTANTS = re.findall(
    r"^(?:\.\. data::|  {8})\s*(leafwise\.[\w.]+)$",
    (DOCS / "reference" / "types.md").read_text(encoding="utf-8"),
    re.MULTILINE,
)
SUBMODULES = {
    "compat",
    "configs",
    "engine",
    "errors",
    "files",
    "integrations",
    "nn",
    "selection",
}
SUBMODULES |= {"registry", "show", "tree", "typing", "testing"}
MODULES = [leafwise, leafwise.nn.filters]
MODULES += [getattr(leafwise, name, None) for name in SUBMODULES - {"tree"}]
SUBMODULES |= {"filters"}


def test_pages_differ_where_capitals_do_not_count():
    """As on Windows and macOS."""
    pages = [entry.page.casefold() for entry in ENTRIES.values()]
    assert len(set(pages)) == len(pages)


def test_public_names_are_in_the_reference():
    """Under their own names, or under another one where the same thing is public."""
    shorts = {(entry.short, id(entry.value())) for entry in ENTRIES.values()}
    constants = {one.rpartition(".")[2] for one in CONSTANTS}
    missing = [
        f"{module.__name__}.{name}"
        for module in filter(None, MODULES)
        for name in set(getattr(module, "__all__", None) or dir(module)) - SUBMODULES
        if not name.startswith("_") and name not in constants
        if (name, id(getattr(module, name))) not in shorts
    ]
    ids = {identity for _, identity in shorts}
    tree = leafwise.tree  # its names may be listed under those with `tree_`
    missing += [
        f"tree.{name}" for name in tree.__all__ if id(getattr(tree, name)) not in ids
    ]
    assert missing == [], "list them in a `names` block of docs/reference"


def test_pages_have_an_example():
    """And a sentence on what it is, from the docstring."""
    entries = ENTRIES.values()
    assert [one.name for one in entries if ">>> " not in one.doc()] == []
    assert [e.name for e in entries if not e.summary().endswith((".", ":"))] == []


def test_each_name_leads_to_the_guide():
    """By the link of its section, or of its page."""
    assert [entry.name for entry in ENTRIES.values() if not entry.guide] == []


def test_lists_have_the_signatures_and_summaries():
    """As the code has them; `python docs/_ext/listing.py` writes them."""
    pytest.importorskip("numpy")  # of which the reference lists a module
    pytest.importorskip("leafwise.engine")
    listing = load_module("docs/_ext/listing.py")
    outdated = []
    for page in listing.REFERENCE.glob("*.md"):
        text = page.read_text(encoding="utf-8")
        if listing.fill_lists(text) != text:
            outdated.append(page.name)
    assert outdated == [], "run python docs/_ext/listing.py"
