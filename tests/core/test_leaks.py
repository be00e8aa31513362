"""Classes that nobody uses any more are collected, whatever was learned about them.

Those of nodes after 64 others were met, those of leaves at once.
"""

import collections
import dataclasses
import enum
import functools
import gc
import os
import sys
import tracemalloc
import types
import typing
import weakref

import pytest

import leafwise as lw
from leafwise import nn
from leafwise.core.registry import current, view_of
from leafwise.safely import add_lasting, is_lasting


pytestmark = [
    pytest.mark.needs("classes that go"),
    pytest.mark.usefixtures("frameworks_are_not_told"),
]

# ------------------------------------------------------------------- sorts of classes


class Base:
    def __init__(self, x=1):
        self.x = x


@pytest.fixture(autouse=True, scope="module")
def base():
    lw.register_pytree_node(
        Base, lambda node: ((node.x,), None), lambda _, xs: Base(*xs), inherit=True
    )
    yield
    lw.unregister_pytree_node(Base)


@pytest.fixture(autouse=True, scope="module")
def nothing_else_to_collect():
    """Full collections are many here: let them pass over what the session holds."""
    gc.collect()
    gc.freeze()


def leaf():
    class Local:
        pass

    return Local, Local


def slotted_leaf():
    class Local:
        __slots__ = ()

    return Local, Local


def leaf_with_metaclass():
    class Meta(type):
        def __eq__(cls, other):
            return cls is other

        def __hash__(cls):
            return 1

    class Local(metaclass=Meta):
        pass

    return Local, Local


def registered():
    class Local(Base):
        pass

    lw.register_pytree_node(
        Local, lambda node: ((node.x,), None), lambda _, xs: Local(*xs)
    )
    return Local, Local


def registered_as_leaf():
    class Local(dict):
        pass

    lw.register_leaf(Local)
    return Local, Local


def registered_dataclass():
    @lw.dataclass
    class Local:
        x: float
        y: int = lw.field(pytree_node=False, default=1)

    return Local, lambda: Local(1)


def keyed():
    class Local(Base):
        pass

    lw.registry.register_pytree_with_keys(
        Local,
        lambda node: (((lw.GetAttrKey("x"), node.x),), None),
        lambda _, xs: Local(*xs),
    )
    return Local, Local


def inheriting():
    class Local(Base):
        pass

    return Local, Local


def bare_dataclass():
    @dataclasses.dataclass
    class Local:
        x: float = 1

    return Local, Local


def namedtuple():
    made = collections.namedtuple("Local", "x y")
    return made, functools.partial(made, 1, 2)


def typed_namedtuple():
    class Local(typing.NamedTuple):
        x: float = 1

    return Local, Local


def pytree():
    class Local(lw.Pytree):
        def __init__(self):
            self.x = 1

    return Local, Local


def pytree_with_class_inside():
    class Local(lw.Pytree):
        def __init__(self):
            self.x = lw.static(Local)

    return Local, Local


def module():
    class Local(nn.Module):
        def __init__(self):
            self.x = nn.Param(1.0)

    return Local, Local


def variable():
    class Local(nn.Variable):
        pass

    return Local, lambda: Local(1.0)


def default_factory():
    class Local:
        pass

    return Local, lambda: collections.defaultdict(Local, a=1)


def static_enum():
    class Local(enum.Enum):
        ONE = 1

    return Local, lambda: collections.defaultdict(Local, {"a": Local.ONE})


REGISTERED = [registered, registered_as_leaf, registered_dataclass, keyed]
LEAVES = [leaf, slotted_leaf, leaf_with_metaclass, bare_dataclass]
OTHERS = [
    inheriting,
    namedtuple,
    typed_namedtuple,
    pytree,
    pytree_with_class_inside,
    module,
    variable,
    default_factory,
    static_enum,
]


def use(cls, make, times=50):
    for tree in (make(), [make(), 1], {"a": make(), "b": (make(), 2.0)}):
        for _ in range(times):
            leaves, treedef = lw.tree_flatten(tree)
            lw.tree_unflatten(treedef, leaves)
            treedef.flatten_up_to(tree)
            lw.tree_map(lambda x: x, tree)
            lw.tree_map(lambda x, y: x, tree, tree)
            lw.tree_map(lambda x: x, tree, is_leaf=lambda x: isinstance(x, cls))
            lw.tree_leaves(tree, is_leaf=lambda x: x is None)
            lw.tree_leaves(tree, is_leaf=cls)
            lw.tree_leaves(tree, is_leaf=(cls, int))
            lw.tree_leaves(tree, none_is_leaf=True)
            lw.tree_flatten_with_path(tree)
        assert treedef == lw.tree_structure(tree)
        assert hash(treedef) == hash(lw.tree_structure(tree))
        assert repr(treedef)
        lw.tree_equal(tree, tree)


def use_and_forget(sort, times=50):
    cls, make = sort()
    use(cls, make, times)
    if sort in REGISTERED:
        lw.unregister_pytree_node(cls)
    return weakref.ref(cls)


def others():
    """Meet as many classes as it takes for those of before to be forgotten."""
    for _ in range(65):
        lw.tree_leaves(inheriting()[0]())


def collect():
    others()
    for _ in range(3):  # rules of subclasses go in the first round
        gc.collect()


# ----------------------------------------------------------------------- they all go


@pytest.mark.parametrize("sort", LEAVES + OTHERS + REGISTERED)
def test_a_class_goes_after_64_others(sort):
    found = use_and_forget(sort)
    collect()
    assert found() is None


@pytest.mark.parametrize("sort", LEAVES)
def test_classes_of_leaves_go_at_once(sort, no_gc):
    def once():
        cls, make = sort()
        for tree in (make(), [make(), 1], {"a": make(), "b": [make()] * 200}) * 5:
            lw.tree_flatten(tree)
            lw.tree_map(lambda x: x, tree)
            lw.tree_leaves(tree, is_leaf=lambda x: x is None)
        return weakref.ref(cls)

    known = [once() for _ in range(50)]
    gc.collect(0)
    assert sum(found() is not None for found in known) <= 4
    collect()
    assert [found() for found in known] == [None] * 50


@pytest.mark.parametrize("sort", LEAVES + OTHERS)
def test_a_class_that_is_in_use_stays_as_it_is(sort):
    cls, make = sort()
    tree = [make(), (make(), 1)]
    leaves, treedef = lw.tree_flatten(tree)
    for _ in range(3):
        use(cls, make, 5)
        gc.collect()
        again, found = lw.tree_flatten(tree)
        assert found == treedef
        assert [type(x) for x in again] == [type(x) for x in leaves]


def test_what_is_registered_stays():
    found = weakref.ref(registered()[0])
    collect()
    cls = found()
    assert lw.tree_leaves([cls(7)]) == [7]
    lw.unregister_pytree_node(cls)


def test_classes_that_were_defined_anew_go():
    module = sys.modules["made_for_a_test"] = types.ModuleType("made_for_a_test")
    source = "class Leaf: pass\nimport typing\nclass Node(typing.NamedTuple):\n x: int"

    def define():
        exec(source, vars(module))
        for _ in range(20):
            lw.tree_leaves([module.Leaf(), module.Node(1)])
            lw.tree_leaves([1, 2], is_leaf=module.Leaf)
        return weakref.ref(module.Leaf), weakref.ref(module.Node)

    try:
        first, second = define(), define()
        collect()
        assert [known() for known in first] == [None, None]
        assert all(is_lasting(known()) for known in second)
    finally:
        del sys.modules["made_for_a_test"]
    collect()


# ---------------------------------------------------------- garbage in between


def test_collections_in_the_middle_of_a_walk():
    class Local(typing.NamedTuple):
        x: object

    class Greedy(Base):
        pass

    def flatten(node):
        gc.collect()
        return (node.x,), None

    def predicate(x):
        gc.collect()
        return x is None

    def function(x):
        gc.collect()
        return x

    lw.register_pytree_node(Greedy, flatten, lambda _, xs: Greedy(*xs))
    tree = [Local(1), Greedy(Local(2)), {"a": Greedy(Local(None))}]
    for _ in range(6):
        assert lw.tree_leaves(tree) == [1, 2]
        assert lw.tree_leaves(tree, is_leaf=predicate) == [1, 2, None]
        assert lw.tree_leaves(lw.tree_map(function, tree)) == [1, 2]
    lw.unregister_pytree_node(Greedy)


@pytest.mark.slow
def test_few_classes_of_nodes_are_kept():
    """At most 64; 256 where their structures are compiled."""
    is_off = not hasattr(lw, "engine") or lw.engine.stats()["mode"] == "off"
    known = [use_and_forget(inheriting, times=4) for _ in range(700)]
    gc.collect()
    assert sum(found() is not None for found in known) <= (64 if is_off else 256)
    assert len(view_of().rules) < 200
    collect()
    assert [found() for found in known] == [None] * len(known)


# ------------------------------------------------------------ ten thousand of them


@pytest.mark.slow
@pytest.mark.parametrize("sort", LEAVES[:1] + OTHERS[:4] + [module])
def test_memory_is_flat(sort):
    def some(count):
        for _ in range(count):
            cls, make = sort()
            cls.load = bytearray(100_000)
            use(cls, make, times=4)
            del cls, make
        collect()

    some(10)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        some(40)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 400_000


@pytest.mark.slow
def test_ten_thousand_classes_come_and_go():
    """Fewer where each is compiled: the first round is where something would stay."""
    rounds = 3 if os.environ.get("LEAFWISE_ENGINE") == "eager" else 9
    sorts = [*LEAVES, *OTHERS, *REGISTERED]

    def round_of(count):
        known = [
            use_and_forget(sorts[number % len(sorts)], times=2)
            for number in range(count)
        ]
        collect()
        assert not any(found() for found in known)
        view = current.view
        tables = view.leaf_types, view.rules, view.hot, view.asked, view._narrowed
        return [*map(len, tables)]

    gc.unfreeze()  # views that registrations replace go, too
    sizes = round_of(1000)
    for _ in range(rounds):
        for now, first in zip(round_of(1000), sizes, strict=True):
            assert now <= first + 64
    gc.freeze()


# --------------------------------------------------------- sets that hold classes so


def test_a_set_of_classes_finds_those_that_may_go(no_gc):
    known = set()

    class Local:
        pass

    for cls in (int, collections.UserDict, Local, Local):
        add_lasting(known, cls)
    assert {cls for cls in (int, Local, str, None) if cls in known} == {int, Local}
    assert {int, Local} <= known
    assert known.issuperset(map(type, [1, Local(), Local()]))
    assert not known.issuperset([int, type("Local", (), {})])
    del Local, cls
    gc.collect()
    assert known == {int, collections.UserDict}


@pytest.mark.parametrize("module", [None, 1, [], "", "nowhere", "sys", "collections"])
def test_a_class_may_say_anything_of_its_module(module):
    made = type("UserDict", (), {"__module__": module})
    assert not is_lasting(made)
    assert lw.tree_leaves([made(), made()], is_leaf=made)


def test_modules_may_say_anything_of_their_classes():
    class Broken:
        def __getattribute__(self, name):
            raise ValueError(name)

    sys.modules["made_for_a_test"] = Broken()
    try:
        assert not is_lasting(type("Local", (), {"__module__": "made_for_a_test"}))
    finally:
        del sys.modules["made_for_a_test"]


# ------------------------------------------------------------------------- interrupts


def test_no_function_of_ours_runs_in_the_garbage_collector():
    """Python drops what is raised in one, such as the KeyboardInterrupt of Ctrl-C."""
    known = [getattr(f, "__module__", None) or "" for f in gc.callbacks]
    assert not [name for name in known if name.startswith("leafwise")]
