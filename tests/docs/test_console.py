"""Every command that the pages in `docs` show prints what they show."""

import re
from pathlib import Path

import pytest

from transcripts import commands, output_of


DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(
    ("page", "number"),
    [("guide/commands", 16)],
)
def test_a_page(page, number, monkeypatch):
    """Its commands run beside the files that it uses."""
    monkeypatch.chdir(DOCS / "examples" / "configs")
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```console\n(.*?)```", text, re.DOTALL)
    shown = [pair for block in blocks for pair in commands(block)]
    assert len(shown) >= number
    for line, output in shown:
        assert output_of(line) == output, line
