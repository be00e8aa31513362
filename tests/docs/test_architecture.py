"""The page on the architecture describes the source as it is."""

import re

import leafwise as lw
from helpers.package_source import SOURCE
from helpers.repository import ROOT
from leafwise._hooks import Hooks


def test_files_that_the_page_names_exist():
    """Relative to the package, or to the root of the repository."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    names = set(re.findall(r"\b[\w/]+/\w+\.(?:py|md)\b", page))
    names = {name for name in names if not name.endswith("/NAME.py")}
    assert names
    if not hasattr(lw, "engine"):
        names = {name for name in names if not name.startswith("engine/")}
    folders = (SOURCE, ROOT)
    missing = [
        name
        for name in sorted(names)
        if not any((folder / name).exists() for folder in folders)
    ]
    assert missing == []


def test_the_table_of_hooks_names_each_slot():
    """And nothing else."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = page.split("\n## Hooks\n")[1].split("\n## ")[0]
    cells = re.findall(r"^\| (`.*?`) \|", section, re.MULTILINE)
    names = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}
    assert names == {*Hooks.__annotations__, *vars(Hooks())}
