"""Settings that all tests share."""

import gc
import importlib.util
import os
import re
import sys
import sysconfig
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import none

import leafwise
from leafwise._hooks import hooks


pytest.register_assert_rewrite("nnx_cases", "pax_cases")
pytest_plugins = ["peers"]

collect_ignore = [] if importlib.util.find_spec("jax") else ["nnx_models.py"]
if not importlib.util.find_spec("numpy"):  # in a browser it has to be fetched
    imported = re.compile(
        r"^(?:(?:import|from) numpy\b|from leafwise.* import .*\bnumpy\b)",
        re.MULTILINE,
    )
    collect_ignore += [
        str(path)
        for path in Path(__file__).parent.rglob("*.py")
        if imported.search(path.read_text(encoding="utf-8"))
    ]

NEEDS = {"a loop", "classes that go", "processes", "stack", "threads"}
LACKED = NEEDS - {"classes that go"} if sys.platform == "emscripten" else set()
"""What this platform does not have: see the mark `needs`."""
if sysconfig.get_config_var("Py_GIL_DISABLED"):
    LACKED |= {"classes that go"}  # CPython keeps them, once a thread was started

gc.disable()  # while tests are collected: nothing of what that makes goes again

settings.register_profile(
    "same",  # the same examples in each run, on each machine
    max_examples=8,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.register_profile("quick", settings.get_profile("same"), max_examples=20)
settings.register_profile(
    "explore",  # new examples in each run: pytest -m hypothesis with this profile
    settings.get_profile("same"),
    derandomize=False,
    max_examples=int(os.environ.get("LEAFWISE_EXAMPLES", "1000")),
    suppress_health_check=[*HealthCheck],
)
settings.load_profile("same")


SWEEPS = {
    "test_another_tree_at_each_place",
    "test_an_exception_of_a_signal_handler_reaches_the_caller",
    "test_depth_with_little_stack",
    "test_dicts_of_any_width",
    "test_each_value_stays_with_its_key_while_a_dict_turns",
    "test_files_that_announce_what_they_do_not_have_are_refused",
    "test_keys_of_dicts_of_any_width",
    "test_save_is_interrupted_anywhere",
}
"""Tests of one thing at many places, of which one in seven is tested by default.

The sessions of CI test all of them: they ask for another profile.
"""


def pytest_collection_modifyitems(config, items):
    """Leave out most places of the sweeps."""
    if settings.get_current_profile_name() != "same":
        return
    seen, kept = Counter(), []
    for item in items:
        name = getattr(item, "originalname", "")
        if name not in SWEEPS or seen[name] % 7 == 0:
            kept.append(item)
        seen[name] += 1
    config.hook.pytest_deselected(items=[*{*items} - {*kept}])
    items[:] = kept


def pytest_collection_finish():
    """Let the collector pass over the tests themselves, a million objects."""
    given(none())(lambda _: None)()  # now: it looks for what holds its random numbers
    gc.collect()
    gc.freeze()
    gc.enable()


if importlib.util.find_spec("leafwise.engine") is not None:
    from leafwise.engine import cache

    # let structures be compiled after a few uses, so that tests need not repeat more
    cache._FEWEST_USES = cache._MOST_USES = 3
    cache._SAMPLE = 1


@pytest.fixture
def no_gc():
    """Keep the collector away: looking at a million objects again and again is slow."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(autouse=sys.platform == "emscripten")
def collected():
    """Collect what a test made: Pyodide 314 may crash on that of several at once."""
    yield
    gc.collect()
    gc.freeze()  # what stays is not looked at again


@pytest.fixture
def frameworks_are_not_told(monkeypatch):
    """Those that are loaded by other tests keep classes that they are told of."""
    leafwise.Partial(print)  # which is announced once
    monkeypatch.setattr(hooks.announcements, "listeners", [lambda _cls: None])


@pytest.fixture
def no_callbacks():
    """Take hypothesis and jax out of the collector, which drops exceptions there."""
    callbacks, gc.callbacks[:] = gc.callbacks[:], []
    yield
    gc.callbacks[:] = callbacks


def pytest_runtest_setup(item):
    """Skip what needs something that this platform does not have."""
    needed = {need for mark in item.iter_markers("needs") for need in mark.args}
    assert needed <= NEEDS
    if lacked := sorted(needed & LACKED):
        pytest.skip(f"no {' and '.join(lacked)} on {sys.platform}")
