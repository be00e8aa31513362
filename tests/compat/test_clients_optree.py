"""Libraries that import optree by name, on the stand-in and on optree itself.

A process runs the programs in `clients`, and what it prints has to be the same. What
differs, and is seen by none of these programs, is told in `docs/start/migrating.md`:
texts of errors, the depth that trees may have, the order of dict keys of several types.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import leafwise
from peers import peer


CLIENTS = Path(__file__).parent / "clients"
SOURCE = Path(leafwise.__file__).parents[1]


def printed(program, *before):
    """Return what a program prints, run by some arguments of Python."""
    here = {"PYTHONPATH": str(SOURCE), "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    ran = subprocess.run(
        [sys.executable, *before, str(CLIENTS / program)],
        capture_output=True,
        text=True,
        env={**os.environ, **here},
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    return ran.stdout


def on_both(program):
    """Return what a program prints on the stand-in, and on optree if that is there."""
    ours = printed(program, "-m", "leafwise.compat", "--force", "optree")
    there = importlib.util.find_spec("optree") is not None
    return ours, printed(program) if there else ours


@pytest.mark.parametrize("client", ["autoform", "torchopt"])
def test_a_library_works_on_the_stand_in(client):
    """And gives what it gives on optree."""
    if importlib.util.find_spec(client) is None:
        peer(client)
    ours, theirs = on_both(f"{client}_programs.py")
    assert ours == theirs
    assert len(ours.splitlines()) >= 10
    assert "failed=0" in ours or client != "autoform"
