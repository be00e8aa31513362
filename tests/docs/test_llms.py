"""`llms.txt`, which the build of the site writes."""

import re
from pathlib import Path

from helpers.repository import load_module


DOCS = Path(__file__).parents[2] / "docs"
FOR_CONTRIBUTORS = {"architecture.md", "contributing.md"}
ENTRY = re.compile(r"^- \[.+\]\((\S+)\): [^#].+\.$", re.MULTILINE)
"""The line of a page: its address, and a sentence, which is not its title."""


def test_it_has_all_pages():
    """Each with a sentence, and with the address of a file that is there."""
    llms = load_module("docs/_ext/llms.py")
    addresses = ENTRY.findall(llms.llms_text())
    listed = {address.removeprefix(f"{llms.ADDRESS}/") for address in addresses}
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    assert listed == pages - FOR_CONTRIBUTORS - {"index.md"}
