"""`check_node`: finds what is wrong with a registration, and nothing in a right one."""

import re
import time
from collections import OrderedDict, defaultdict, deque
from functools import cached_property
from typing import Any

import pytest

import leafwise as lw
from helpers.random_trees import Layer, Net, Point, Slotted, add
from leafwise import nn
from leafwise.testing import check_node


class Pair:
    """Two children and something static: the base of the broken classes."""

    def __init__(self, x: Any, y: Any, tag: Any = None) -> None:
        self.x, self.y, self.tag = x, y, tag


def made(cls, x, y, tag=None):
    """Return an instance without calling `__init__`."""
    node = object.__new__(cls)
    node.x, node.y, node.tag = x, y, tag
    return node


def pair(flatten=None, unflatten=None, keyed=None, base=Pair, **members):
    """Return a new class with two children, registered with these functions."""
    cls = type("Broken", (base,), members)
    lw.register_pytree_node(
        cls,
        flatten or (lambda p: ((p.x, p.y), p.tag)),
        unflatten or (lambda tag, kids: made(cls, *kids, tag)),
        keyed,
    )
    return cls


def one(cls):
    """Return a table entry: a class with one example."""
    return cls, [cls(1.5, [2], "t")]


# ----------------------------------------------------------------- broken registrations


class Unequal:
    """Has no `==` of its own."""


class Raising:
    __hash__ = None

    def __eq__(self, other):
        raise RuntimeError("not now")


def children_and_aux_swapped():
    cls = pair(unflatten=lambda kids, tag: made(cls, *kids, tag))
    return one(cls)


def base_class_is_made():
    return one(pair(unflatten=lambda tag, kids: Pair(*kids, tag)))


def nothing_is_returned():
    return one(pair(unflatten=lambda tag, kids: None))


def order_is_another_one():
    def unflatten(tag, kids):
        return made(cls, *reversed(kids), tag)

    cls = pair(unflatten=unflatten)
    return one(cls)


def child_is_lost():
    cls = pair(lambda p: ((p.x,), p.tag), lambda tag, kids: made(cls, *kids, None, tag))
    return one(cls)


def attribute_is_lost():
    cls = pair(lambda p: ((p.x, p.y), None), lambda _, kids: made(cls, *kids))
    return one(cls)


def init_checks():
    class Broken(Pair):
        def __init__(self, x, y, tag=None):
            if not x > 0:
                raise ValueError("x must be positive")
            super().__init__(x, y, tag)

    lw.register_pytree_node(
        Broken, lambda p: ((p.x, p.y), p.tag), lambda tag, kids: Broken(*kids, tag)
    )
    return Broken, [Broken(1.5, [2], "t")]


def init_converts():
    cls = pair(unflatten=lambda tag, kids: made(cls, str(kids[0]), kids[1], tag))
    return one(cls)


def flatten_converts():
    cls = pair(lambda p: ((p.x, [*p.y]), p.tag))
    return one(cls)


def children_by_type():
    def flatten(p):
        return tuple(x for x in (p.x, p.y) if x is not None), p.tag

    def unflatten(tag, kids):
        return made(cls, *kids, *[None] * (2 - len(kids)), tag)

    cls = pair(flatten, unflatten)
    return one(cls)


def flatten_changes():
    def flatten(p):
        p.count = getattr(p, "count", 0) + 1
        return (p.x, p.y), p.tag

    return one(pair(flatten))


def aux_holds_a_child():
    cls = pair(
        lambda p: ((p.x, p.y), (p.tag, tuple(p.__dict__.values())[:1])),
        lambda aux, kids: made(cls, *kids, aux[0]),
    )
    shared = Unequal()
    return cls, [cls(shared, 1, "t")]


def aux_is_a_list():
    cls = pair()
    return cls, [cls(1, 2, ["relu"])]


def aux_has_no_equality():
    cls = pair()
    return cls, [cls(1, 2, Unequal())]


def aux_raises():
    cls = pair()
    return cls, [cls(1, 2, Raising())]


def keys_are_too_few():
    cls = pair(lambda p: ((p.x, p.y), p.tag, ("x",)))
    return one(cls)


def keys_are_swapped():
    cls = pair(lambda p: ((p.x, p.y), p.tag, ("y", "x")))
    return one(cls)


def keys_are_misspelt():
    cls = pair(lambda p: ((p.x, p.y), p.tag, ("x", "why")))
    return one(cls)


def keys_are_the_same():
    cls = pair(lambda p: ((p.x, p.y), p.tag, (lw.DictKey("x"), lw.DictKey("x"))))
    return one(cls)


def flatten_returns_a_dict():
    return one(pair(lambda p: vars(p)))


def flatten_fails():
    return one(pair(lambda p: ((p.x, p.z), p.tag)))


def node_is_its_child():
    cls = pair(lambda p: ((p.x, p), p.tag), lambda tag, kids: made(cls, *kids, tag))
    return one(cls)


def subclass_is_a_leaf():
    class Derived(pair()):
        pass

    return one(Derived)


def static_field_is_a_dict():
    @lw.dataclass
    class Broken:
        x: Any
        options: dict = lw.static(default_factory=dict)

    return Broken, [Broken(1, {"a": 1})]


BROKEN = {
    children_and_aux_swapped: "unflatten takes the children first and aux data second",
    base_class_is_made: "unflatten returns a Pair instead of a Broken",
    nothing_is_returned: "unflatten returns None instead of a Broken",
    order_is_another_one: "a round trip changes the order of the children",
    child_is_lost: "a round trip changes .y from [2] to None",
    attribute_is_lost: "a round trip changes .tag from 't' to None",
    init_checks: "unflatten fails if the children are replaced by object(): "
    "TypeError: '>' not supported",
    init_converts: "a round trip replaces a child by another object: float: 1.5 "
    "becomes str: '1.5'; neither flatten nor unflatten may copy or convert it",
    flatten_converts: "flatten returns different child objects on each call",
    children_by_type: "flatten returns 2 children, but 0 if they are None",
    flatten_changes: "flatten changes the node: .count; it must only read it",
    aux_holds_a_child: "aux data contains a child",
    aux_is_a_list: "aux data cannot be hashed: unhashable type: 'list'",
    aux_has_no_equality: "is not equal to its copy",
    aux_raises: "aux data cannot be compared: RuntimeError: not now",
    keys_are_too_few: "gave 1 keys for 2 children; give one key for each child",
    keys_are_swapped: "the key .y reads [2], not its child 1.5; "
    "give keys in the order of the children",
    keys_are_misspelt: "the key .why cannot be read: Broken has no such attribute",
    keys_are_the_same: "several children have the key ['x']",
    flatten_returns_a_dict: "must return a tuple (children, aux_data)",
    flatten_fails: "flatten fails: AttributeError: 'Broken' object has no",
    node_is_its_child: "the node is its own child, so a walk would never end",
    subclass_is_a_leaf: "Derived is not a node: an instance is a leaf: ",
    static_field_is_a_dict: "aux data cannot be hashed: unhashable type: 'dict'",
}
"""Registrations that are wrong, and what has to be said about each.

Most were found in issues of jax, equinox, optree and torch: unflatten functions that
call an `__init__` with checks or conversions, arrays and lists in aux data, children
that depend on their types, subclasses that are rebuilt as their base.
"""


@pytest.mark.parametrize("make", BROKEN, ids=lambda make: make.__name__)
def test_each_broken_registration_is_found(make):
    """The message has the words of the table, and one line for each fault."""
    cls, examples = make()
    with pytest.raises(AssertionError) as caught:
        check_node(cls, examples)
    text = str(caught.value)
    assert re.sub(r"\s+", " ", BROKEN[make]) in re.sub(r"\s+", " ", text)
    lines = text.split("\n  - ")[1:]
    assert len({*lines}) == len(lines)
    if lines:
        assert f" {len(lines)} fault" in text
        assert __file__ in text


# ------------------------------------------------------------------------ right ones


@lw.register_pytree_node_class
class Own:
    """By two methods."""

    def __init__(self, x, y, tag=None):
        self.x, self.y, self.tag = x, y, tag

    def tree_flatten(self):
        return (self.x, self.y), self.tag, ("x", "y")

    @classmethod
    def tree_unflatten(cls, tag, children):
        return made(cls, *children, tag)

    @cached_property
    def total(self):
        return self.x + self.y


class Ordered:
    """Has its children in a dict, in the order of its keys."""

    def __init__(self, **items):
        self.items = items

    def __eq__(self, other):
        return isinstance(other, Ordered) and self.items == other.items

    __hash__ = None

    def __getitem__(self, key):
        return self.items[key]


lw.register_pytree_node(
    Ordered,
    lambda node: (
        [node.items[key] for key in sorted(node.items)],
        tuple(sorted(node.items)),
        [lw.DictKey(key) for key in sorted(node.items)],
    ),
    lambda keys, children: Ordered(**dict(zip(keys, children, strict=True))),
)


class Tags:
    """Has a set, which is sorted."""

    def __init__(self, tags, x):
        self.tags, self.x = tags, x


lw.register_pytree_node(
    Tags,
    lambda t: ((t.x,), tuple(sorted(t.tags))),
    lambda tags, kids: Tags({*tags}, *kids),
)


@lw.register_static
class Name(str):
    __slots__ = ()


@lw.dataclass(init=False)
class Derived:
    """Not made by its own `__init__` when it is rebuilt."""

    x: Any
    double: Any

    def __init__(self, x):
        self.x, self.double = x, 2 * x


RIGHT = {
    Own: [Own(1, [2], "a"), Own(1, 2, "b")],
    Ordered: [Ordered(b=1, a=[2]), Ordered(), Ordered(a=[2], b=1)],
    Tags: [Tags({*"abcdefgh"}, 1), Tags({"a"}, 1)],
    Name: [Name("a"), Name("b")],
    Derived: [Derived(1)],
    Layer: [Layer(1, 2), Layer(1, 2, "other")],
    Slotted: [Slotted(1), Slotted([2], "km")],
    Net: [Net(1, 2, "a"), Net(1, 2, "b")],
    Point: [Point(1, 2)],
    nn.List: [nn.List([lw.data(1), "a"])],
    nn.Dict: [nn.Dict(a=lw.data(1), b="x")],
    lw.Partial: [lw.Partial(add, 1, a=2), lw.Partial(add)],
    nn.Param: [nn.Param(1.0)],
    nn.Sequential: [nn.Sequential(abs, nn.Param(2))],
    list: [[], [1, [2]]],
    tuple: [(), (1, None)],
    dict: [{"b": 1, "a": 2}, {}, {1: 2, None: 3}],
    OrderedDict: [OrderedDict(b=1, a=2), OrderedDict(a=2, b=1)],
    defaultdict: [defaultdict(int, a=1), defaultdict(list)],
    deque: [deque([1, 2], 3), deque()],
    time.struct_time: [time.gmtime(0)],
    type(None): [None],
}


@pytest.mark.parametrize("cls", RIGHT, ids=lambda cls: cls.__name__)
def test_a_right_registration_has_no_fault(cls):
    """Whatever way it was registered, and examples stay as they are."""
    assert check_node(cls, RIGHT[cls]) is None
    for example in RIGHT[cls]:
        check_node(cls, iter([example]))


def test_a_namespace_has_its_own_registrations():
    """A class is checked by the node type that it has there."""
    space = lw.namespace("test-check-node")

    @space.register_pytree_node_class
    class Here(Own):
        pass

    space.check_node(Here, [Here(1, 2)])
    with pytest.raises(AssertionError, match=r"in namespace 'test-check-node' only"):
        check_node(Here, [Here(1, 2)])


def test_examples_without_a_list():
    """One begins with them; the error shows the call."""
    with pytest.raises(TypeError, match=r"examples must be a list .*check_node\(cls, "):
        check_node(Pair, Pair(1, 2))
