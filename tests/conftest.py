"""Settings that all tests share."""

import enum
import gc
import importlib.util
import os
import re
import reprlib
import sys
import sysconfig
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import none

import leafwise
from leafwise._hooks import hooks


pytest.register_assert_rewrite("helpers.nnx_pytree_cases")
pytest_plugins = ["helpers.peers"]

collect_ignore = []
if not importlib.util.find_spec("numpy"):  # Pyodide has it only if it is fetched
    NUMPY_IMPORT = re.compile(
        r"^(?:(?:import|from) numpy\b|from leafwise.* import .*\bnumpy\b)",
        re.MULTILINE,
    )
    collect_ignore += [
        str(path)
        for path in Path(__file__).parent.rglob("*.py")
        if NUMPY_IMPORT.search(path.read_text(encoding="utf-8"))
    ]

NEEDS = {"a loop", "collectable classes", "processes", "stack", "threads"}
"""What the mark `needs` may name."""
MISSING = set()
"""What this platform does not have of it."""
if sys.platform == "emscripten":
    MISSING |= NEEDS - {"collectable classes"}
if sysconfig.get_config_var("Py_GIL_DISABLED"):
    # CPython keeps classes alive once a thread was started
    MISSING.add("collectable classes")

# No collections while tests are imported: what an import makes is there to stay.
gc.disable()

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
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("same")


SWEEP_STEP = 7

CASE_TEXT = reprlib.Repr()  # it sorts sets and cuts what is long
CASE_TEXT.maxother = 200  # or an address would be cut, and stay


def pytest_collection_modifyitems(config, items):
    """Keep one in seven cases of each test with the mark `sweep`.

    The sessions of CI run all cases: they choose another profile of Hypothesis.
    """
    if settings.get_current_profile_name() != "same":
        return
    counts = Counter()
    selected = []
    deselected = []
    for item in items:
        if item.get_closest_marker("sweep") is None:
            selected.append(item)
            continue
        test = (item.path, item.originalname)
        if counts[test] % SWEEP_STEP == 0:
            selected.append(item)
        else:
            deselected.append(item)
        counts[test] += 1
    config.hook.pytest_deselected(items=deselected)
    items[:] = selected


def pytest_make_parametrize_id(val):
    """Name the case of a container or an object by its text; pytest would number it."""
    if isinstance(val, str | bytes | int | float | complex | None | type):
        return None
    if callable(val) or isinstance(val, enum.Enum):
        return None
    try:
        text = CASE_TEXT.repr(val)
    except ValueError:  # an int with too many digits
        return None
    return re.sub(r" at 0x[0-9a-f]+", "", text)


def pytest_collection_finish():
    """Exclude the tests themselves, about a million objects, from collections."""
    # Hypothesis searches all objects for random generators at its first example, and
    # finds none of those that are frozen.
    given(none())(lambda _: None)()
    gc.collect()
    gc.freeze()
    gc.enable()


if hasattr(leafwise, "engine"):
    DEFAULT_SETTINGS = leafwise.engine.configure()
    # Compile structures after a few uses, so that tests need not repeat calls.
    leafwise.engine.configure(min_uses=3, max_uses=3, sample_every=1)


@pytest.fixture(scope="module", params=["each walk is noted", "few walks are noted"])
def sampling(request):
    """Run a test twice: as usual, and with the settings that users have.

    A walk that the engine notes makes a treedef first. So only with these settings
    trees are mapped while they are read, and leaves are read without their nodes.
    """
    if request.param == "each walk is noted":
        yield
        return
    if not hasattr(leafwise, "engine"):
        pytest.skip("no engine: no walk is ever noted")
    previous = leafwise.engine.configure(**DEFAULT_SETTINGS)
    yield
    leafwise.engine.configure(**previous)


@pytest.fixture
def no_gc():
    """Run a test without collections, which are slow among very many objects."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(autouse=sys.platform == "emscripten")
def collected():
    """Collect after each test: Pyodide 314 may crash on the garbage of several."""
    yield
    gc.collect()
    gc.freeze()  # the next collection skips the objects that are left


@pytest.fixture
def frameworks_are_not_notified(monkeypatch):
    """Register classes in leafwise alone.

    Frameworks that other tests loaded would keep the classes alive.
    """
    leafwise.Partial(print)  # announces the class of partials, which happens once
    monkeypatch.setattr(hooks, "class_announced", [])


@pytest.fixture
def no_callbacks():
    """Remove the callbacks of Hypothesis and jax, in which exceptions are dropped."""
    callbacks = list(gc.callbacks)
    gc.callbacks.clear()
    yield
    gc.callbacks[:] = callbacks


def pytest_runtest_setup(item):
    """Skip a test that needs something that this platform does not have."""
    needs = {need for mark in item.iter_markers("needs") for need in mark.args}
    unknown = needs - NEEDS
    if unknown:
        raise pytest.UsageError(f"the mark `needs` does not know {unknown}")
    missing = sorted(needs & MISSING)
    if missing:
        pytest.skip(f"no {' and '.join(missing)} on {sys.platform}")
