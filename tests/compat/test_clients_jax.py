"""Libraries for jax with `jax.tree_util` and `jax.tree` replaced by the stand-ins.

As many of the tests that come with optax pass, of those of what has to do with trees.
"""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import leafwise as lw


STANDINS = ["-m", "leafwise.compat", "--force", "jax.tree,jax.tree_util"]
ITS_OWN = (
    "tree_utils/_state_utils_test.py",
    "tree_utils/_tree_math_test.py",
    "transforms/_masking_test.py",
    "transforms/_combining_test.py",
    "transforms/_freezing_test.py",
    "_src/base_test.py",
    "_src/update_test.py",
    "schedules/_inject_test.py",
)
"""The tests that are part of optax, of what has to do with trees."""


def run(*arguments):
    """Run Python in a process of its own; return what it printed, in two parts."""
    source = str(Path(lw.__file__).parents[1])
    path = [source, *filter(None, [os.environ.get("PYTHONPATH")])]
    process = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path), "JAX_PLATFORMS": "cpu"},
        check=False,
    )
    return process.stdout, process.stderr


@pytest.mark.slow
def test_tests_of_optax_pass_as_before(optax):
    """Those that come with it, which need chex and absl; some may fail on jax, too."""
    pytest.importorskip("chex")
    pytest.importorskip("absl.testing")
    home = Path(importlib.util.find_spec("optax").origin).parent
    files = [str(home / name) for name in ITS_OWN if (home / name).exists()]
    if not files:
        pytest.skip("this optax has no tests with it")
    pytest_of = ("-m", "pytest", "-q", "-p", "no:cacheprovider")
    theirs, _ = run(*pytest_of, *files)
    ours, _ = run(*STANDINS, *pytest_of, *files)
    assert tally(theirs)["passed"] > 50
    assert tally(ours) == tally(theirs)


def tally(text):
    """Return how many tests passed and failed, from the last line of a run."""
    return {word: int(n) for n, word in re.findall(r"(\d+) (passed|failed)", text)}
