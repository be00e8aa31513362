"""autoform, which imports optree by name, on the stand-in and on optree itself.

What differs, and is seen by none of its programs, is told in `docs/start/stand-ins.md`:
texts of errors, the depth that trees may have, the order of dict keys of several types.
"""

import os
import subprocess
import sys
from pathlib import Path

import leafwise


PROGRAM = Path(__file__).with_name("client_autoform.py")
SOURCE = Path(leafwise.__file__).parents[1]


def printed(*before):
    """Return what the program prints, run by some arguments of Python."""
    here = {"PYTHONPATH": str(SOURCE), "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    process = subprocess.run(
        [sys.executable, *before, str(PROGRAM)],
        capture_output=True,
        text=True,
        env={**os.environ, **here},
        timeout=300,
        check=False,
    )
    assert process.returncode == 0, process.stderr[-3000:]
    return process.stdout


def test_autoform_works_on_the_stand_in(need, optree):
    """And gives what it gives on optree."""
    need("autoform")
    ours = printed("-m", "leafwise.compat", "--force", "optree")
    assert ours == printed()
    assert len(ours.splitlines()) >= 10
    assert "failed=0" in ours
