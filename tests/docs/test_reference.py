"""Each public name has a page in the reference, with an example, or stands on one."""

import re
from pathlib import Path

import pytest

import leafwise
from leafwise import (
    compat,
    errors,
    integrations,
    io,
    nn,
    registry,
    selection,
    show,
    testing,
    typing,
)
from scripts import listed, module_at


DOCS = Path(__file__).parents[2] / "docs"
listing = module_at("docs/_ext/listing.py")
ENTRIES = {entry.name: entry for entry in listed()}
CONSTANTS = re.findall(
    r"^(?:\.\. data::|  {8})\s*(leafwise\.[\w.]+)$",
    (DOCS / "reference" / "types.md").read_text(encoding="utf-8"),
    re.MULTILINE,
)
MODULES = [
    leafwise,
    compat,
    errors,
    integrations,
    io,
    nn,
    nn.filters,
    registry,
    selection,
]
MODULES += [show, testing, typing, getattr(leafwise, "engine", None)]
SUBMODULES = {"compat", "engine", "errors", "integrations", "io", "nn", "selection"}
SUBMODULES |= {"registry", "show", "tree", "typing", "testing", "filters"}


def names_of(module):
    """Return what is public in a module."""
    return {*(getattr(module, "__all__", None) or dir(module))} - SUBMODULES


PUBLIC = [
    (module, name)
    for module in MODULES
    if module is not None
    for name in sorted(names_of(module))
    if not name.startswith("_")
]


@pytest.mark.parametrize(
    ("module", "name"), PUBLIC, ids=[f"{one.__name__}.{name}" for one, name in PUBLIC]
)
def test_a_public_name_is_in_the_reference(module, name):
    """Under its own name, or under another one where the same thing is public."""
    whole = f"{module.__name__}.{name}"
    if whole in ENTRIES or whole in CONSTANTS:
        return
    value = getattr(module, name)
    same = [
        entry.name
        for entry in ENTRIES.values()
        if entry.short == name and entry.value() is value
    ]
    same += [one for one in CONSTANTS if one.endswith(f".{name}")]
    assert same, f"{whole}: list it in a `names` block of docs/reference"


@pytest.mark.parametrize("name", ENTRIES)
def test_a_page_has_an_example(name):
    """And a sentence on what it is, from the docstring."""
    entry = ENTRIES[name]
    assert ">>> " in entry.doc()
    assert entry.summary().endswith((".", ":"))


def test_pages_differ_where_capitals_do_not_count():
    """As on Windows and macOS."""
    pages = [entry.page.casefold() for entry in ENTRIES.values()]
    assert len({*pages}) == len(pages)


def test_what_is_listed_twice_is_refused(tmp_path):
    """It would have two pages."""
    block = "## A\n\n```{names} leafwise\ntree_map\n```\n"
    (tmp_path / "one.md").write_text(block, encoding="utf-8")
    assert [one.name for one in listing.entries(tmp_path)] == ["leafwise.tree_map"]
    (tmp_path / "two.md").write_text(block, encoding="utf-8")
    listing.entries.cache_clear()
    with pytest.raises(ValueError, match=r"twice .*: leafwise\.tree_map"):
        listing.entries(tmp_path)
    listing.entries.cache_clear()
