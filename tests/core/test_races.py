"""Threads, finalizers and forks that come in between."""

import functools
import gc
import itertools
import os
import sys
import sysconfig
from collections import OrderedDict, defaultdict

import pytest

import leafwise as lw
from interrupts import at_once, interrupted, run_apart
from leafwise.core import keys, registry
from leafwise.core.registry import add_adopter
from leafwise.errors import RegistryError


REGISTERING = ("core/registry.py", "leafwise/safely.py")


@pytest.fixture
def box():
    """Return a class that is registered for one test."""
    cls = type("Box", (), {"__module__": "nowhere"})
    lw.register_static(cls)
    yield cls
    if lw.is_registered(cls):
        lw.unregister_pytree_node(cls)


# ------------------------------------------------------------------------------ keys


def test_positions_that_two_threads_name_at_once(monkeypatch):
    """A thread that comes in between does not shift the positions of all sequences."""
    longer = [500]

    class Interrupted(keys.SequenceKey):
        def __init__(self, idx):
            super().__init__(idx)
            if longer:
                keys.sequence_keys(longer.pop())

    monkeypatch.setattr(keys, "_shared", ())
    monkeypatch.setattr(keys, "SequenceKey", Interrupted)
    keys.sequence_keys(3)
    for length in (3, 64, 65, 500, 564, 600):
        assert [key.idx for key in keys.sequence_keys(length)] == [*range(length)]


@pytest.mark.needs("threads")
def test_paths_of_lists_that_threads_name_at_once(monkeypatch):
    """Each path says the position of its leaf, in all threads."""
    wrong = []

    def name(start):
        for length in range(start, 3000, 7):
            wrong.extend({length - 1} - {keys.sequence_keys(length)[-1].idx})

    for _ in range(5):
        monkeypatch.setattr(keys, "_shared", ())
        assert at_once(*(lambda n=n: name(n) for n in (1, 64, 65, 200))) == []
    assert wrong == []


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
        with interrupted(swap, at, REGISTERING) as done:
            lw.register_static(outside)
        assert lw.is_registered(outside)
        assert lw.tree_leaves([outside()]) == []
        if done:
            assert not lw.is_registered(box)
            assert lw.is_registered(inside)
            assert lw.tree_leaves([inside()]) == []
            lw.unregister_pytree_node(inside)
            lw.register_static(box)
        lw.unregister_pytree_node(outside)


def test_the_same_class_registered_inside_of_its_registration():
    """Whoever comes second is refused; the class has one rule."""
    refused = []

    def register(cls):
        try:
            lw.register_static(cls)
        except RegistryError as error:
            refused.append((cls, "is registered in the global registry" in str(error)))

    for at in range(0, 300, 3):
        cls = type("Twice", (), {"__module__": "nowhere"})
        with interrupted(lambda cls=cls: register(cls), at, REGISTERING) as done:
            register(cls)
        assert refused == [(cls, True)] * len(done)
        assert lw.is_registered(cls)
        lw.unregister_pytree_node(cls)
        refused.clear()


def test_an_interrupt_inside_of_a_registration(request):
    """Ctrl-C comes in between: the class is registered or not, for everybody."""
    gc.disable()  # what is raised while it calls us, Python drops
    request.addfinalizer(gc.enable)

    def stop():
        raise KeyboardInterrupt

    for at in range(0, 300, 3):
        cls = type("Stopped", (), {"__module__": "nowhere"})
        with interrupted(stop, at, REGISTERING, signals=True) as done:
            try:
                lw.register_static(cls)
            except KeyboardInterrupt:
                assert done
        known = lw.is_registered(cls)
        assert (lw.tree_leaves([cls()]) == []) is known
        if not known:
            lw.register_static(cls)
        lw.unregister_pytree_node(cls)


@pytest.mark.needs("processes")
def test_a_finalizer_that_takes_back_a_registration():
    """The collector may run it while something is registered: no deadlock."""
    code = """
import gc, leafwise as lw
class Handle:
    def __init__(self, cls):
        self.cls, self.me = cls, self
    def __del__(self):
        lw.unregister_pytree_node(self.cls)
for pause in range(1, 120):
    old, new = (type(name, (), {}) for name in ("Old", "New"))
    lw.register_static(old)
    Handle(old)
    gc.set_threshold(pause)
    lw.register_static(new)
    gc.set_threshold(100_000)
    gc.collect()
    assert not lw.is_registered(old), pause
    assert lw.is_registered(new), pause
    lw.unregister_pytree_node(new)
print("done")
"""
    assert run_apart(code) == "done\n"


@pytest.mark.needs("processes")
def test_a_finalizer_that_runs_when_a_registration_goes():
    """What a registration held may register something else when it is let go."""
    code = """
import gc, leafwise as lw
others = []
class Last:
    def __call__(self, node):
        return (), None

    def __del__(self):
        other = type("Other", (), {})
        lw.register_static(other)
        others.append(other)

cls = type("Held", (), {})
lw.register_pytree_node(cls, Last(), lambda aux, children: cls())
lw.unregister_pytree_node(cls)
gc.collect()
assert len(others) == 1
assert lw.is_registered(others[0])
"""
    run_apart(code)


@pytest.mark.needs("processes")
def test_an_error_that_is_kept_keeps_no_registration():
    """Nor does its traceback: what was taken back later is let go."""
    code = """
import gc, weakref, leafwise as lw
kept = []
def keep(function, *args, **kwargs):
    try:
        function(*args, **kwargs)
    except lw.errors.RegistryError as error:
        kept.append(error)

keep(lw.unregister_pytree_node, type("Unknown", (), {}))
keep(lw.tree_leaves, [1], namespace="nowhere")
keep(lw.namespace, "global", dict_order="none")
cls = type("Passing", (), {})
lw.register_static(cls)
lw.unregister_pytree_node(cls)
gone = weakref.ref(cls)
del cls
for _ in range(2):
    lw.register_static(other := type("Other", (), {}))
    lw.unregister_pytree_node(other)
gc.collect()
assert len(kept) == 3
assert gone() is None
"""
    run_apart(code)


@pytest.mark.needs("threads")
def test_threads_that_register_at_once():
    """No registration is lost, and each is seen by whoever made it."""
    made = [[type(f"C{t}_{n}", (), {}) for n in range(60)] for t in range(4)]

    def register(classes):
        for cls in classes:
            lw.register_static(cls)
            assert lw.tree_leaves([cls()]) == []

    assert at_once(*(lambda c=c: register(c) for c in made)) == []
    for cls in itertools.chain(*made):
        assert lw.is_registered(cls)
        lw.unregister_pytree_node(cls)


@pytest.mark.needs("threads")
def test_subclasses_have_one_rule_whoever_asks_first():
    """Treedefs of two threads are equal: they tell rules apart by identity."""
    asked = []

    class Base:
        def tree_flatten(self):
            return (1,), None

        @classmethod
        def tree_unflatten(cls, aux, children):
            return cls()

    lw.register_pytree_node_class(Base, inherit=True)
    for _ in range(30):
        sub = type("Sub", (Base,), {})
        views = [lw.namespace(f"race{n}") for n in range(4)]
        rules = []

        def ask(view, rules=rules, sub=sub):
            rules.append(view.lookup(sub))

        assert at_once(*(functools.partial(ask, view) for view in views)) == []
        assert len({id(rule) for rule in rules}) == 1
        asked.append(rules)  # rules that nobody uses are made again
    lw.unregister_pytree_node(Base)


def test_an_adopter_is_added_once_whoever_adds_it():
    """Also where the same is added in between; whoever added it finds it in place."""
    asked = []

    def adopter(cls):
        asked.append(cls)

    def add():
        add_adopter(adopter, namespace="adopted")
        asked.clear()
        assert lw.registry.lookup(type("Asked", (), {}), namespace="adopted") is None
        assert len(asked) == 1

    for at in itertools.count(0, 3):
        with interrupted(add, at, REGISTERING) as done:
            add_adopter(adopter, namespace="adopted")
        asked.clear()
        lw.registry.lookup(type("Asked", (), {}), namespace="adopted")
        assert len(asked) == 1
        # not a namespace for each: all registrations after this would be slow
        registry._change("adopted", lambda _: registry.EMPTY)
        if not done:
            break
    assert at > 50


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
def test_a_fork_while_another_thread_registers():
    """The child registers and walks as ever."""
    code = """
class Meta(type):
    asked = 0
    def __hash__(cls):
        if threading.current_thread() is not threading.main_thread():
            Meta.asked += 1
            if Meta.asked == at:
                reached.set()
                go.wait()
        return 1

def register():
    lw.register_static(Meta("Slow", (), {}))
    reached.set()

for at in range(1, 6):
    Meta.asked = 0
    reached.clear()
    go.clear()
    thread = threading.Thread(target=register, daemon=True)
    thread.start()
    reached.wait()
    in_a_child(register_something)
    go.set()
    thread.join()
    register_something()
"""
    run_apart(IN_A_CHILD + code)


@pytest.mark.needs("processes")
@needs_fork
def test_a_fork_while_another_thread_holds_all_locks():
    """The child has new ones."""
    code = """
import contextlib
from leafwise import safely
from leafwise.integrations import bridge

def hold():
    with contextlib.ExitStack() as stack:
        for guard in safely._guards:
            stack.enter_context(guard.lock)
        if hasattr(lw, "engine"):
            stack.enter_context(sys.modules["leafwise.engine.cache"].engine._lock)
        reached.set()
        go.wait()

def work():
    register_something()
    bridge.status()
    class Model(lw.Pytree):
        def __init__(self):
            self.x = lw.nn.Param(1)
    assert lw.tree_leaves(Model()) == [1]
    if hasattr(lw, "engine"):
        with lw.engine.eager():
            for _ in range(4):
                lw.tree_leaves([1, 2])
            assert lw.engine.stats()["plans"] > 0

thread = threading.Thread(target=hold, daemon=True)
thread.start()
reached.wait()
in_a_child(work)
go.set()
thread.join()
"""
    run_apart(IN_A_CHILD + code)


@pytest.mark.needs("processes")
@needs_fork
def test_a_fork_in_the_middle_of_a_registration():
    """Whatever was begun by a thread that the child does not have is whole there."""
    code = """
sys.path.insert(0, {tests!r})
from interrupts import interrupted

for at in range(0, 260, 13):
    cls = type("Half", (), {{}})
    def fork(cls=cls):
        def work():
            told = lw.is_registered(cls), lw.tree_leaves(cls()) == []
            assert told[0] is told[1], told
            register_something()
            assert (lw.is_registered(cls), lw.tree_leaves(cls()) == []) == told
        in_a_child(work)
    with interrupted(fork, at, {files!r}):
        lw.register_static(cls)
    assert lw.tree_leaves(cls()) == []
"""
    tests = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    run_apart(IN_A_CHILD + code.format(tests=tests, files=REGISTERING))


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


@pytest.mark.parametrize("make", [dict, lambda d: defaultdict(int, d)])
@pytest.mark.parametrize("deep", [False, True])
def test_each_value_stays_with_its_key_while_a_dict_turns(make, deep):
    """Keys and values are read in one step, whatever sorting the keys does."""
    for size in (2, 3, 7, 20):
        tree = Turning.tree = make({Turning(f"k{n:02}"): n for n in range(size)})
        whole = [tree]
        for _ in range(200 * deep):
            whole = [whole]
        found = lw.tree_leaves_with_path(whole)
        assert [(path[-1].key.name, x) for path, x in found] == [
            (f"k{n:02}", n) for n in range(size)
        ]
        leaves, treedef = lw.tree_flatten(tree)
        rebuilt = treedef.unflatten(leaves)
        assert all(key.name == f"k{value:02}" for key, value in rebuilt.items())
    Turning.tree = {}


def turn(tree, rounds):
    for _ in range(rounds):
        for key in [*tree]:
            tree[key] = tree.pop(key)


UNSAFE = sysconfig.get_config_var("Py_GIL_DISABLED") and sys.version_info < (3, 14)
ORDERED = pytest.param(
    OrderedDict,
    marks=pytest.mark.skipif(
        bool(UNSAFE), reason="two threads alone break an OrderedDict on this Python"
    ),
)


@pytest.mark.needs("threads")
@pytest.mark.parametrize("make", [dict, ORDERED, lambda d: defaultdict(int, d)])
@pytest.mark.parametrize("size", [3, 40])
@pytest.mark.parametrize("order", ["sorted", "insertion"])
def test_a_dict_that_another_thread_turns(make, size, order):
    """Each leaf is the value of its key, or there is an error."""
    ns = lw.namespace(f"turning {order}", dict_order=order)
    tree = make({f"k{n}": f"k{n}" for n in range(size)})
    wrong, stop = [], []

    def read():
        try:
            for _ in range(150):
                try:
                    found = ns.tree_leaves_with_path({"in": tree})
                    leaves, treedef = ns.tree_flatten(tree)
                except (RuntimeError, KeyError):
                    continue
                wrong.extend(pair for pair in found if pair[0][-1].key != pair[1])
                rebuilt = treedef.unflatten(leaves)
                wrong.extend(pair for pair in rebuilt.items() if pair[0] != pair[1])
        finally:
            stop.append(True)

    def change():
        while len(stop) < 2:
            turn(tree, 1)

    assert at_once(read, read, change) == []
    assert wrong == []


@pytest.mark.parametrize("at", [1, 2, 3])
def test_pairing_with_a_defaultdict_that_loses_a_key(at):
    """It makes no key of its own, whenever the key is lost."""
    tree = defaultdict(list, b=2, a=1)
    asked = []

    class Losing(str):
        __slots__ = ()

        def __hash__(self):
            if armed:
                asked.append(1)
                if len(asked) == at:
                    tree.pop("a")
            return str.__hash__(self)

    armed = []
    treedef = lw.tree_structure(OrderedDict([(Losing("b"), 0), ("a", 0)]))
    armed.append(1)
    try:
        assert treedef.flatten_up_to(tree) == [2, 1]
    except lw.StructureError:
        assert len(asked) >= at
    assert tree in ({"b": 2, "a": 1}, {"b": 2})
