"""Settings that all tests share."""

import gc
import importlib.util
import os

import pytest
from hypothesis import HealthCheck, settings


pytest.register_assert_rewrite("nnx_cases", "pax_cases")

collect_ignore = [] if importlib.util.find_spec("jax") else ["nnx_models.py"]

settings.register_profile(
    "same",  # the same examples in each run, on each machine
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.register_profile("quick", settings.get_profile("same"), max_examples=30)
settings.register_profile(
    "explore",  # new examples in each run: pytest -m hypothesis with this profile
    settings.get_profile("same"),
    derandomize=False,
    max_examples=int(os.environ.get("LEAFWISE_EXAMPLES", "1000")),
    suppress_health_check=[*HealthCheck],
)
settings.load_profile("same")


def pytest_collection_finish():
    """Let the collector pass over the tests themselves, a million objects."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def no_gc():
    """Keep the collector away: looking at a million objects again and again is slow."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()
