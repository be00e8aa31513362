"""Every command that the pages in `docs` show prints what they show."""

import re
from pathlib import Path

from transcripts import commands, output_of


DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_on_configs(monkeypatch):
    """Its commands run beside the files that it uses."""
    monkeypatch.chdir(DOCS / "examples" / "configs")
    text = (DOCS / "configs.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```console\n(.*?)```", text, re.DOTALL)
    shown = [pair for block in blocks for pair in commands(block)]
    assert len(shown) >= 10
    for line, output in shown:
        assert output_of(line) == output, line
