"""Settings that all tests share."""

import gc
import importlib.util
import os

import pytest
from hypothesis import HealthCheck, settings


pytest.register_assert_rewrite("nnx_cases", "pax_cases")

collect_ignore = [] if importlib.util.find_spec("jax") else ["nnx_models.py"]

settings.register_profile(
    "ci",
    max_examples=100,
    deadline=None,
    derandomize=True,  # the same examples in each run; new ones are tried outside of CI
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.register_profile(
    "dev",
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("quick", settings.get_profile("ci"), max_examples=40)
PROFILES = {"": "dev", "quick": "quick"}
settings.load_profile(PROFILES.get(os.environ.get("CI", ""), "ci"))


@pytest.fixture
def no_gc():
    """Keep the collector away: looking at a million objects again and again is slow."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()
