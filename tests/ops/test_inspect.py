"""Questions about trees: `leafwise.ops.inspect`."""

import copy
import dataclasses
import re
import sys
import time
from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest

import leafwise as lw


Point = namedtuple("Point", "x y")


class Odd(Exception):
    """An exception of the user's own."""


def raiser(*_args):
    """Raise, whatever the arguments."""
    raise Odd("oops")


def make_box(namespace=""):
    """Return a fresh class with one child and its own aux data."""

    class Box:
        def __init__(self, x):
            self.x = x

    return lw.register_pytree_node(
        Box,
        lambda box: ((box.x,), "aux", ("x",)),
        lambda _, kids: Box(*kids),
        namespace=namespace,
    )


# -------------------------------------------------------------------- is leaf


def test_a_leaf_with_a_state_dict():
    """As modules of torch have: the message names it."""

    class Linear:
        def state_dict(self):
            return {"weight": 1.0}

    explanation = lw.explain_leaf(Linear())
    what_to_do = "Linear is not registered; its state_dict() is a tree"
    assert explanation.endswith(what_to_do)
    with pytest.raises(lw.errors.PathError, match=re.escape(what_to_do)):
        lw.at(Linear())["weight"].get()


@pytest.mark.parametrize(
    "function",
    [
        lw.tree.is_leaf,
        pytest.param(
            lambda tree, stop: lw.tree.all_leaves([tree], stop), id="all_leaves"
        ),
        lw.tree.children,
        lw.tree.flatten_one_level,
        lw.explain_leaf,
        pytest.param(
            lambda tree, stop: lw.tree_equal(tree, list(tree), is_leaf=stop),
            id="tree_equal",
        ),
    ],
)
def test_is_leaf_that_is_wrong_or_raises(function):
    """A wrong `is_leaf` is named; an exception keeps its type."""
    with pytest.raises(TypeError) as caught:
        function([1], 3)
    assert str(caught.value) == (
        "is_leaf must be a predicate, a type or a tuple of types, got int: 3"
    )
    with pytest.raises(Odd, match=r"^oops"):
        function([1], raiser)


# ------------------------------------------------------------------- one level


@pytest.mark.parametrize(
    ("node", "children", "aux", "keys"),
    [
        (None, [], None, []),
        ([1, [2]], [1, [2]], None, [lw.SequenceKey(0), lw.SequenceKey(1)]),
        ((1,), [1], None, [lw.SequenceKey(0)]),
        (
            {"b": 1, "a": [2]},
            [[2], 1],
            ["a", "b"],
            [lw.DictKey("a"), lw.DictKey("b")],
        ),
        (
            OrderedDict(b=1, a=2),
            [1, 2],
            ("b", "a"),
            [lw.DictKey("b"), lw.DictKey("a")],
        ),
        (
            defaultdict(list, b=1, a=2),
            [2, 1],
            (list, ("a", "b")),
            [lw.DictKey("a"), lw.DictKey("b")],
        ),
        (deque([1, 2], 4), [1, 2], 4, [lw.SequenceKey(0), lw.SequenceKey(1)]),
        (Point(1, [2]), [1, [2]], None, [lw.GetAttrKey("x"), lw.GetAttrKey("y")]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_taking_a_node_apart(node, children, aux, keys):
    """Children, aux data, keys and class, and the way back."""
    level = lw.tree.flatten_one_level(node)
    assert level.children == children
    assert level.aux == aux
    assert list(level.keys) == keys
    assert level.type is type(node)
    again = level.unflatten(level.children)
    assert again == node
    assert type(again) is type(node)
    assert lw.tree.children(node) == children


# --------------------------------------------------------------------- reasons


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (1, "a leaf: int is not registered"),
        (None, "a node: NoneType is a built-in node type"),
        ({}, "a node: dict is a built-in node type"),
        (lw.Partial(max), "a node: Partial is a built-in node type"),
        (Point(1, 2), "a node: Point is a namedtuple"),
        (time.gmtime(0), "a node: struct_time is a structseq"),
        (
            sys.flags,
            "a leaf: flags is a subclass of tuple, and subclasses are leaves unless "
            "they are registered",
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_explaining_values(value, reason):
    """One sentence for leaves and nodes of the standard library."""
    assert lw.explain_leaf(value) == reason


def test_explaining_options():
    """What made a value a leaf in this very call comes first."""
    nones = lw.namespace("nones", none_is_leaf=True)
    assert nones.explain_leaf(None) == (
        "a leaf: namespace 'nones' was declared with none_is_leaf=True"
    )
    for stop in (int, (int, str), lambda x: True):
        assert lw.explain_leaf(1, stop) == "a leaf: is_leaf matches it"
    assert lw.explain_leaf([1], int) == "a node: list is a built-in node type"


def test_explaining_a_registration():
    """The place of the registration is named by file and line."""
    box = make_box()
    name = "make_box.<locals>.Box"
    start = f"a node: {name} was registered globally at {__file__}:"
    assert lw.explain_leaf(box(1)).startswith(start)
    assert lw.explain_leaf(box(1)).removeprefix(start).isdigit()
    lw.unregister_pytree_node(box)
    assert lw.explain_leaf(box(1)) == f"a leaf: {name} is not registered"


def test_explaining_subclasses_dataclasses_and_opted_out_classes():
    """Each has its own sentence."""

    class Sub(make_box()):
        pass

    @dataclasses.dataclass
    class Bare:
        x: int

    class Out(list):
        pass

    lw.register_leaf(Out)
    here = "test_explaining_subclasses_dataclasses_and_opted_out_classes.<locals>."
    assert lw.explain_leaf(Sub(1)) == (
        f"a leaf: {here}Sub is a subclass of make_box.<locals>.Box, and subclasses "
        "are leaves unless they are registered"
    )
    assert lw.explain_leaf(Bare(1)) == (
        f"a leaf: {here}Bare is a dataclass that is not registered; use "
        "leafwise.dataclass or leafwise.register_dataclass"
    )
    assert lw.explain_leaf(Out()) == f"a leaf: {here}Out was registered as a leaf"


# ---------------------------------------------------------- subtrees that both share


class Watched:
    """A node that counts how often it is flattened."""

    flattened = 0

    def __init__(self, x):
        self.x = x


def flatten_watched(node):
    """Count, and return the child."""
    Watched.flattened += 1
    return (node.x,), None


lw.register_pytree_node(Watched, flatten_watched, lambda _, kids: Watched(*kids))


@pytest.mark.parametrize(
    "kind",
    [list, tuple, pytest.param(lambda pair: dict(enumerate(pair)), id="dict")],
)
def test_a_subtree_that_both_trees_share_is_not_looked_into(kind):
    """Wherever it is beside what differs; the answer is that of copies."""
    for depth in range(4):
        for value, is_equal in ((1, True), (2, False)):
            shared = Watched([1])
            one = [1]
            other = [value]
            for _ in range(depth + 1):
                one = kind([shared, one])
                other = kind([shared, other])
            Watched.flattened = 0
            assert lw.tree_equal(one, other) is is_equal
            assert Watched.flattened == 0
            assert lw.tree_equal(copy.deepcopy(one), other) is is_equal
            assert Watched.flattened > 0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": [1], "b": 1}, {"a": [1], "c": 1}),
        ({"a": [1], "b": None}, {"a": [1]}),
        ({"a": [1]}, {"a": [1], "b": None}),
        ({"a": [1], "b": [2]}, {"a": [1], "b": (2,)}),
        ([[1], None], [[1]]),
        ([[1], [2]], [[1], None]),
    ],
)
def test_shared_subtrees_do_not_make_trees_equal(one, other):
    """Keys, lengths, types and None are compared as they are without them."""
    key = 0 if isinstance(one, list) else "a"
    other[key] = one[key]
    assert not lw.tree_equal(one, other)
    assert not lw.tree_equal(other, one)


def test_shared_leaves_are_looked_at_if_nan_differs_from_nan():
    """They may be NaN; by default they are the same."""
    shared = [float("nan")]
    one = {"a": shared, "b": [1]}
    other = {"a": shared, "b": [1]}
    assert lw.tree_equal(one, other)
    assert not lw.tree_equal(one, other, equal_nan=False)


def test_an_error_beside_a_shared_subtree_has_its_path():
    """And keys whose `==` fails are compared as structures are."""

    class Vague:
        def __eq__(self, other):
            return "maybe"

        __hash__ = None

    shared = [1]
    trees = [{"a": shared, "b": [shared, [0, Vague()]]} for _ in range(2)]
    with pytest.raises(lw.errors.CompareError) as caught:
        lw.tree_equal(*trees)
    assert str(caught.value.path) == "['b'][1][1]"

    class Key:
        def __eq__(self, other):
            raise ValueError

        def __hash__(self):
            return 1

    assert not lw.tree_equal({Key(): shared}, {Key(): shared})


@pytest.mark.needs("stack")
def test_deep_trees_with_shared_subtrees():
    """Below some levels all is compared."""
    shared = [1]
    one = [2]
    other = [2]
    for _ in range(20_000):
        one = [shared, one]
        other = [shared, other]
    assert lw.tree_equal(one, other)
    assert not lw.tree_equal(one, [shared, [shared, 3]])
