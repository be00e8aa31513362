"""Classes that nobody uses any more are collected, whatever was learned about them.

Those of nodes after 64 others were met, those of leaves at once.
"""

import collections
import dataclasses
import enum
import functools
import gc
import typing
import weakref

import pytest

import leafwise as lw
from leafwise import nn


pytestmark = [
    pytest.mark.needs("collectable classes"),
    pytest.mark.usefixtures("frameworks_are_not_notified"),
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
    cls = collections.namedtuple("Local", "x y")
    return cls, functools.partial(cls, 1, 2)


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
    for _ in range(3):  # node types of subclasses go in the first round
        gc.collect()


# ----------------------------------------------------------------------- they all go


@pytest.mark.parametrize("sort", LEAVES + OTHERS + REGISTERED)
def test_a_class_goes_after_64_others(sort):
    reference = use_and_forget(sort)
    collect()
    assert reference() is None


@pytest.mark.parametrize("sort", LEAVES)
def test_classes_of_leaves_go_at_once(sort, no_gc):
    def once():
        cls, make = sort()
        for tree in (make(), [make(), 1], {"a": make(), "b": [make()] * 200}) * 5:
            lw.tree_flatten(tree)
            lw.tree_map(lambda x: x, tree)
            lw.tree_leaves(tree, is_leaf=lambda x: x is None)
        return weakref.ref(cls)

    references = [once() for _ in range(50)]
    gc.collect(0)
    assert sum(reference() is not None for reference in references) <= 4
    collect()
    assert [reference() for reference in references] == [None] * 50


def test_what_is_registered_stays():
    reference = weakref.ref(registered()[0])
    collect()
    cls = reference()
    assert lw.tree_leaves([cls(7)]) == [7]
    lw.unregister_pytree_node(cls)


# ------------------------------------------------------------------------- interrupts


def test_no_function_of_ours_runs_in_the_garbage_collector():
    """Python drops what is raised in one, such as the KeyboardInterrupt of Ctrl-C."""
    modules = [getattr(f, "__module__", None) or "" for f in gc.callbacks]
    assert not [name for name in modules if name.startswith("leafwise")]
