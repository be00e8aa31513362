"""The pages of the site: each is in the sidebar, and plain Markdown."""

import re
from pathlib import Path

from leafwise.cli import COMMANDS
from leafwise.core.builtins import BUILTINS


DOCS = Path(__file__).parents[2] / "docs"
FOR_CONTRIBUTORS = {"architecture", "contributing"}
PAGES = sorted(
    page.relative_to(DOCS).with_suffix("").as_posix()
    for page in DOCS.rglob("*.md")
    if page.relative_to(DOCS).parts[0] != "reference"
)
SPHINX_MARKUP = re.compile(
    r"^`{3,}\{.*|^:::.*|^\([\w-]+\)=$|\{[a-z]+(?::[a-z]+)?\}`[~\w]", re.MULTILINE
)


def test_each_page_is_in_the_sidebar_once():
    """Except for those for contributors; the reference is one entry."""
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    entries = re.findall(r"^   ([a-z][\w/-]+)$", index, re.MULTILINE)
    pages = {*PAGES, "reference/index"} - FOR_CONTRIBUTORS - {"index"}
    assert sorted(entries) == sorted(pages)


def test_pages_are_plain_markdown():
    """They have no roles, directives or labels, which code hosts would show as text."""
    markup = {}
    for page in PAGES:
        text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
        matches = SPHINX_MARKUP.findall(text)
        if matches:
            markup[page] = matches
    assert markup == {}


def test_the_guide_lists_the_built_in_node_types():
    """Each by its name."""
    guide = (DOCS / "guide/trees.md").read_text(encoding="utf-8")
    _, section = guide.split("\n## Nodes and leaves\n")
    listing, _ = section.split("Everything else is a leaf")
    names = [node_type.name for node_type in BUILTINS.values()]
    assert [name for name in names if f"`{name}`" not in listing] == []


def test_the_guide_has_each_command():
    """In an example, or at least in the text."""
    guide = (DOCS / "guide/commands.md").read_text(encoding="utf-8")
    missing = [
        name
        for name in COMMANDS
        if not re.search(rf"leafwise {name}\b|`{name}\b", guide)
    ]
    assert missing == [], "add them to docs/guide/commands.md"
