"""Every command that the pages in `docs` show prints what they show."""

import re
from pathlib import Path

import pytest

from helpers.command_line import commands_of, output_of


DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("page", ["guide/commands"])
def test_a_page(page, monkeypatch):
    """Its commands run beside the files that it uses."""
    monkeypatch.chdir(DOCS / "examples" / "configs")
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```console\n(.*?)```", text, re.DOTALL)
    commands = [pair for block in blocks for pair in commands_of(block)]
    assert commands
    for line, output in commands:
        assert output_of(line) == output, line
