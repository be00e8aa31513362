"""Tables of the traps of fingerprints: each line holds, whatever the hash seed is."""

import os
import re
import subprocess
import sys

import pytest

from helpers.repository import ROOT


pytest.importorskip("numpy")
EXAMPLE = re.compile(r"^\|.*\| `(.*)` \|$")
PAGES = ["README.md", "docs/guide/files.md"]
PROGRAM = """
import sys
import numpy as np
import leafwise as lw
f = lw.fingerprint
for line in sys.stdin:
    print(eval(line) is True, line, end="")
"""


def examples(page):
    """Return the expressions in the tables of a page that are about fingerprints."""
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    matches = [match for match in map(EXAMPLE.match, lines) if match]
    return [match[1] for match in matches if "f(" in match[1]]


@pytest.mark.needs("processes")
@pytest.mark.parametrize("seed", ["1", "2"])
@pytest.mark.parametrize("page", PAGES)
def test_each_line_holds(page, seed):
    lines = examples(page)
    assert len(lines) >= 9
    env = os.environ | {
        "PYTHONHASHSEED": seed,
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), *sys.path]),
    }
    output = subprocess.check_output(
        [sys.executable, "-c", PROGRAM], input="\n".join(lines), text=True, env=env
    )
    assert output.splitlines() == [f"True {line}" for line in lines]
