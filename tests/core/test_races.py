"""Threads, finalizers and forks that come in between."""

import gc
import os
import sys
import sysconfig
from collections import OrderedDict, defaultdict

import pytest

import leafwise as lw
from helpers.interrupts import interrupted
from helpers.processes import run_in_process
from helpers.threads import run_together


REGISTERING = ("core/registry.py", "leafwise/_runtime.py")


@pytest.fixture
def box():
    """Return a class that is registered for one test."""
    cls = type("Box", (), {"__module__": "nowhere"})
    lw.register_static(cls)
    yield cls
    if lw.is_registered(cls):
        lw.unregister_pytree_node(cls)


# --------------------------------------------------------------------------- registry


@pytest.mark.parametrize("start", range(0, 400, 40))
def test_a_registration_inside_of_a_registration(start, box):
    """Wherever one comes in between, neither is lost, and walks see both."""
    inside = type("Inside", (), {"__module__": "nowhere"})
    outside = type("Outside", (), {"__module__": "nowhere"})

    def swap():
        lw.unregister_pytree_node(box)
        lw.register_static(inside)

    for at in range(start, start + 40):
        with interrupted(swap, at, REGISTERING) as interruption:
            lw.register_static(outside)
        assert lw.is_registered(outside)
        assert lw.tree_leaves([outside()]) == []
        if interruption:
            assert not lw.is_registered(box)
            assert lw.is_registered(inside)
            assert lw.tree_leaves([inside()]) == []
            lw.unregister_pytree_node(inside)
            lw.register_static(box)
        lw.unregister_pytree_node(outside)


def test_an_interrupt_inside_of_a_registration(request):
    """Ctrl-C comes in between: the class is registered or not, for everybody."""
    gc.disable()  # what is raised while it calls us, Python drops
    request.addfinalizer(gc.enable)

    def stop():
        raise KeyboardInterrupt

    for at in range(0, 300, 3):
        cls = type("Stopped", (), {"__module__": "nowhere"})
        with interrupted(stop, at, REGISTERING, signals=True) as interruption:
            try:
                lw.register_static(cls)
            except KeyboardInterrupt:
                assert interruption
        is_known = lw.is_registered(cls)
        assert (lw.tree_leaves([cls()]) == []) is is_known
        if not is_known:
            lw.register_static(cls)
        lw.unregister_pytree_node(cls)


# -------------------------------------------------------------------------------- fork


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
IN_A_CHILD = """
import os, sys, threading, warnings
import leafwise as lw
warnings.simplefilter("ignore")  # that this process has threads
reached, go = threading.Event(), threading.Event()

def in_a_child(work):
    child = os.fork()
    if not child:
        try:
            work()
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0

def register_something():
    cls = type("Fresh", (), {})
    lw.register_static(cls)
    assert lw.tree_leaves([cls(), 1]) == [1]
    lw.unregister_pytree_node(cls)
    assert lw.tree_map(lambda x: x + 1, {"a": [1]}) == {"a": [2]}
"""


@pytest.mark.needs("processes")
@needs_fork
def test_a_fork_while_another_thread_holds_all_locks():
    """The child has new ones."""
    code = """
import contextlib
from leafwise import _runtime

def hold():
    with contextlib.ExitStack() as stack:
        for guard in _runtime._guards:
            stack.enter_context(guard.lock)
        if hasattr(lw, "engine"):
            stack.enter_context(sys.modules["leafwise.engine.dispatch"].engine._lock)
        reached.set()
        go.wait()

def work():
    register_something()
    lw.integrations.status()
    class Model(lw.Pytree):
        def __init__(self):
            self.x = lw.nn.Param(1)
    assert lw.tree_leaves(Model()) == [1]
    if hasattr(lw, "engine"):
        with lw.engine.eager():
            for _ in range(4):
                lw.tree_leaves([1, 2])
            assert lw.engine.stats()["structures"] > 0

thread = threading.Thread(target=hold, daemon=True)
thread.start()
reached.wait()
in_a_child(work)
go.set()
thread.join()
"""
    run_in_process(IN_A_CHILD + code)


FIRST_USES = {
    "registration": """
cls = type(f"Class{number}", (), {})
lw.register_static(cls)
assert lw.tree_leaves([cls(), 1]) == [1]
""",
    "map": """
assert lw.tree_map(lambda x: x + 1, {"a": [1]}) == {"a": [2]}
""",
    "error": """
try:
    lw.tree_map(max, {"a": 1, "misspelt": 1}, {"b": 2, "mispelt": 1})
except lw.StructureError as error:
    assert "misspelling" in str(error)
""",
    "save": """
with tempfile.TemporaryDirectory() as folder:
    lw.save(f"{folder}/tree.json", {"a": [1]})
    assert lw.load(f"{folder}/tree.json") == {"a": [1]}
""",
}
WHILE_OTHERS_BEGIN = """
import os, sys, tempfile, textwrap, threading, time, warnings
import leafwise as lw
warnings.simplefilter("ignore")  # that this process has threads
tempfile.gettempdir()
begin = threading.Event()

def work(number):
    exec(FIRST_USE, {**globals(), "number": number})

def work_at_once(number):
    begin.wait()
    work(number)

threads = [threading.Thread(target=work_at_once, args=(n,)) for n in range(2)]
for thread in threads:
    thread.start()
begin.set()
children = []
for number in range(6):
    child = os.fork()
    if not child:
        try:
            work(10 + number)
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    children.append(child)
    time.sleep(number / 2000)
deadline = time.monotonic() + 60
states = []
for child in children:
    while True:
        ended, state = os.waitpid(child, os.WNOHANG)
        if ended:
            states.append(state)
            break
        if time.monotonic() > deadline:
            os.kill(child, 9)
            os.waitpid(child, 0)
            states.append("hangs")
            break
        time.sleep(0.01)
assert states == [0] * 6, states
for thread in threads:
    thread.join()
"""


@pytest.mark.needs("processes", "threads")
@needs_fork
@pytest.mark.parametrize(
    "processes",
    [pytest.param(2, id="few"), pytest.param(12, id="many", marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("use", FIRST_USES)
def test_a_fork_while_others_use_leafwise_for_the_first_time(use, processes):
    """The child does the same, and waits for no import of a thread it does not have."""
    code = f"FIRST_USE = {FIRST_USES[use]!r}\n{WHILE_OTHERS_BEGIN}"
    for _ in range(processes):
        run_in_process(code)


@pytest.mark.needs("processes", "threads")
@needs_fork
def test_a_fork_waits_for_the_imports_of_others():
    """Not for those of its own thread, and the child can import again at once."""
    code = """
import time
from leafwise._runtime import late_imports
done = []

def slow_import():
    with late_imports:
        reached.set()
        time.sleep(0.2)
        done.append("import")

def work():
    assert done == ["import"]
    with late_imports:
        import leafwise.nn

thread = threading.Thread(target=slow_import)
thread.start()
reached.wait()
in_a_child(work)
thread.join()
with late_imports:
    begin = time.monotonic()
    in_a_child(work)
    assert time.monotonic() - begin < 4
"""
    run_in_process(IN_A_CHILD + code)


# ------------------------------------------------ dicts that change while they are read


class Turning:
    """A key whose comparison turns the dict that it is in: last comes first."""

    tree: dict = {}

    def __init__(self, name):
        self.name = name

    def __lt__(self, other):
        tree = Turning.tree
        key = next(iter(tree), None)
        if key is not None:
            tree[key] = tree.pop(key)
        return self.name < other.name

    def __repr__(self):
        return self.name


@pytest.mark.sweep
@pytest.mark.parametrize("make", [dict, lambda d: defaultdict(int, d)])
@pytest.mark.parametrize("deep", [False, True])
def test_each_value_stays_with_its_key_while_a_dict_turns(make, deep):
    """Keys and values are read in one step, whatever sorting the keys does."""
    for size in (2, 3, 7, 20):
        tree = Turning.tree = make({Turning(f"k{n:02}"): n for n in range(size)})
        outer = [tree]
        for _ in range(200 * deep):
            outer = [outer]
        pairs = lw.tree_leaves_with_path(outer)
        assert [(path[-1].key.name, x) for path, x in pairs] == [
            (f"k{n:02}", n) for n in range(size)
        ]
        leaves, treedef = lw.tree_flatten(tree)
        rebuilt = treedef.unflatten(leaves)
        assert all(key.name == f"k{value:02}" for key, value in rebuilt.items())
    Turning.tree = {}


def turn(tree, rounds):
    for _ in range(rounds):
        for key in list(tree):
            tree[key] = tree.pop(key)


UNSAFE = sysconfig.get_config_var("Py_GIL_DISABLED") and sys.version_info < (3, 14)
ORDERED = pytest.param(
    OrderedDict,
    marks=pytest.mark.skipif(
        bool(UNSAFE), reason="two threads alone break an OrderedDict on this Python"
    ),
)


@pytest.mark.needs("threads")
@pytest.mark.parametrize(
    "make",
    [dict, ORDERED, pytest.param(lambda d: defaultdict(int, d), id="defaultdict")],
)
@pytest.mark.parametrize("size", [3, 40])
@pytest.mark.parametrize("order", ["sorted", "insertion"])
def test_a_dict_that_another_thread_turns(make, size, order):
    """Each leaf is the value of its key, or there is an error."""
    ns = lw.namespace(f"turning {order}", dict_order=order)
    tree = make({f"k{n}": f"k{n}" for n in range(size)})
    wrong = []
    stop = []

    def read():
        try:
            for _ in range(150):
                try:
                    pairs = ns.tree_leaves_with_path({"in": tree})
                    leaves, treedef = ns.tree_flatten(tree)
                except (RuntimeError, KeyError):
                    continue
                wrong.extend(pair for pair in pairs if pair[0][-1].key != pair[1])
                rebuilt = treedef.unflatten(leaves)
                wrong.extend(pair for pair in rebuilt.items() if pair[0] != pair[1])
        finally:
            stop.append(True)

    def change():
        while len(stop) < 2:
            turn(tree, 1)

    assert run_together(read, read, change) == []
    assert wrong == []
