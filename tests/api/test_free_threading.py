"""The build that is tested is the one that was asked for."""

import sys

import pytest


pytestmark = pytest.mark.needs("threads")


def test_the_build_that_is_tested():
    """`PYTHON_GIL=1` or a module without support would switch the GIL on again."""
    free = "free-threading" in sys.version
    assert getattr(sys, "_is_gil_enabled", lambda: True)() is not free
