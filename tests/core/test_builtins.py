"""The built-in nodes (laws L1 to L3)."""

import copy
import enum
import functools
import os
import pickle
import sys
import time
from collections import (
    ChainMap,
    Counter,
    OrderedDict,
    UserDict,
    defaultdict,
    deque,
    namedtuple,
)
from types import MappingProxyType, SimpleNamespace

import pytest

import leafwise as lw


Point = namedtuple("Point", "x y")


class Size(enum.IntEnum):
    SMALL = 2
    LARGE = 1


class Level(enum.Enum):
    LOW = "z"
    HIGH = "a"


class Word(enum.StrEnum):
    b = "b"
    a = "a"


@pytest.mark.parametrize(
    ("tree", "leaves", "text"),
    [
        (None, [], "PyTreeDef(None)"),
        ((), [], "PyTreeDef(())"),
        ((1,), [1], "PyTreeDef((*,))"),
        ([1, [2]], [1, 2], "PyTreeDef([*, [*]])"),
        ({"b": 1, "a": 2}, [2, 1], "PyTreeDef({'a': *, 'b': *})"),
        (
            OrderedDict(b=1, a=2),
            [1, 2],
            "PyTreeDef(CustomNode(OrderedDict[('b', 'a')], [*, *]))",
        ),
        (
            defaultdict(int, b=1, a=2),
            [2, 1],
            "PyTreeDef(CustomNode(defaultdict[(<class 'int'>, ('a', 'b'))], [*, *]))",
        ),
        (deque([1, 2], 3), [1, 2], "PyTreeDef(CustomNode(deque[3], [*, *]))"),
        (Point(1, 2), [1, 2], "PyTreeDef(CustomNode(namedtuple[Point], [*, *]))"),
    ],
    ids=repr,
)
def test_built_in_nodes(tree, leaves, text):
    """Each built-in node flattens, prints and rebuilds."""
    flat_leaves, treedef = lw.tree_flatten(tree)
    assert flat_leaves == leaves
    assert repr(treedef) == text
    rebuilt = lw.tree_unflatten(treedef, flat_leaves)
    assert repr(rebuilt) == repr(tree)
    assert type(rebuilt) is type(tree)


@pytest.mark.parametrize(
    "leaf",
    [
        Counter("ab"),
        ChainMap({}),
        UserDict(),
        MappingProxyType({}),
        SimpleNamespace(a=1),
        {1, 2},
        frozenset(),
        range(3),
        "text",
        b"bytes",
        {}.keys(),
        type("Sub", (dict,), {})(a=1),
        type("Sub", (list,), {})([1]),
        type("Sub", (tuple,), {})((1,)),
        type("Sub", (OrderedDict,), {})(),
        lw.tree_structure([1]),
        type("Fields", (tuple,), {"_fields": ("x",)})((1,)),
        type("Fields", (tuple,), {"_fields": ("x",), "_make": list})((1,)),
        type("Fields", (tuple,), {"_fields": ("x",), "_asdict": dict})((1,)),
        type("Fields", (tuple,), {"_fields": ("x",), "_make": 1, "_asdict": 2})((1,)),
        sys.version_info,
        sys.flags,
    ],
    ids=lambda leaf: type(leaf).__name__,
)
def test_everything_else_is_a_leaf(leaf):
    """Dispatch is on the exact type; what is not registered is a leaf."""
    assert lw.tree_leaves(leaf) == [leaf]
    assert lw.tree.is_leaf(leaf)


def test_named_tuples_rebuild_without_their_constructor():
    """A subclass with another signature rebuilds, and stays what it was."""

    class Strange(Point):
        def __new__(cls, both):
            return super().__new__(cls, both, both)

    node = Strange(3)
    again = lw.tree_map(lambda x: x + 1, node)
    assert type(again) is Strange
    assert tuple(again) == (4, 4)


# ------------------------------------------------------------------- dict keys


@pytest.mark.parametrize(
    ("tree", "leaf_keys"),
    [
        ({2: 0, 1: 0, 1.5: 0}, [1, 1.5, 2]),
        ({"b": 0, 1: 0, "a": 0, None: 0}, [None, 1, "a", "b"]),
        ({(2, "a"): 0, (1, "b"): 0}, [(1, "b"), (2, "a")]),
        ({Level.HIGH: 0, Level.LOW: 0}, [Level.LOW, Level.HIGH]),
        ({Size.SMALL: 0, Size.LARGE: 0}, [Size.LARGE, Size.SMALL]),
        ({Word.b: 0, Word.a: 0}, [Word.a, Word.b]),
        ({Level.HIGH: 0, "z": 0, Level.LOW: 0, 3: 0}, None),
        ({True: 0, "a": 0, b"x": 0}, [b"x", True, "a"]),
        ({1: 0, "a": 0, b"x": 0}, [b"x", 1, "a"]),
    ],
    ids=repr,
)
def test_order_of_keys(tree, leaf_keys):
    """Leaves come in sorted order, by type and then key where types mix."""
    backwards = dict(reversed(tree.items()))
    treedef = lw.tree_structure(tree)
    assert lw.tree_structure(backwards) == treedef
    assert lw.tree_structure(backwards).node_data() == treedef.node_data()
    assert list(lw.tree_map(lambda x: x, backwards)) == list(backwards)
    if leaf_keys is not None:
        assert treedef.node_data() == (dict, leaf_keys)


@pytest.mark.parametrize(
    "keys",
    [
        [object(), object()],
        [frozenset({1}), frozenset({2})],
        [float("nan"), 1.0, 0.0],
        [1j, 2j],
        [int, str],
    ],
    ids=["objects", "sets", "nan", "complex", "types"],
)
def test_keys_without_an_order_keep_their_insertion_order(keys):
    """Then, and only then, order is structure; maps still pair by key."""
    tree = {key: place for place, key in enumerate(keys)}
    other = dict(reversed(tree.items()))
    assert lw.tree_leaves(tree) == list(range(len(keys)))
    assert lw.tree_structure(tree) == lw.tree_structure(dict(tree))
    assert lw.tree_structure(tree) != lw.tree_structure(other)
    assert hash(lw.tree_structure(tree)) == hash(lw.tree_structure(dict(tree)))
    assert lw.tree_map(lambda x, y: x == y, tree, other) == dict.fromkeys(keys, True)


def test_keys_that_are_equal_across_types_keep_their_own_type():
    """A remembered order never puts one key in the place of an equal one."""
    lw.tree_leaves({"b": 0, "a": 0})
    lw.tree_leaves({2: 0, 1: 0})
    words = {Word.b: 1, Word.a: 2}
    numbers = {2.0: 1, True: 2}
    for tree in (words, numbers):
        rebuilt = lw.tree_unflatten(lw.tree_structure(tree), lw.tree_leaves(tree))
        mapped = lw.tree_map(lambda x: x, tree)
        assert list(map(type, rebuilt)) == list(map(type, tree))
        assert list(map(type, mapped)) == list(map(type, tree))


class Rank(str, enum.Enum):  # noqa: UP042  # with an order of its own
    LOW = "low"
    MID = "mid"
    TOP = "top"

    def __lt__(self, other):
        return list(Rank).index(self) < list(Rank).index(other)


class Backwards(int):
    def __lt__(self, other):
        return int(self) > int(other)


@pytest.mark.parametrize(
    ("keys", "plain"),
    [
        ([Rank.TOP, Rank.LOW, Rank.MID], ["top", "low", "mid"]),
        ([Backwards(1), Backwards(3), Backwards(2)], [1, 3, 2]),
    ],
)
def test_leaf_order_does_not_depend_on_the_trees_before(keys, plain):
    """Keys with an order of their own keep it after equal plain keys were seen."""
    own = {key: str(key) for key in keys}
    equal = {key: str(key) for key in plain}
    for trees in ([own], [equal, own], [own, equal]):
        for tree in trees * 4:
            ordered = [tree[key] for key in sorted(tree)]
            assert lw.tree_leaves(tree) == lw.tree_flatten([tree])[0] == ordered
    before = lw.tree_structure(own)
    for _ in range(4):
        lw.tree_leaves(equal)
    leaves, treedef = lw.tree_flatten(own)
    assert before == treedef
    assert before.unflatten(leaves) == own


# --------------------------------------------------- rebuilding odd containers


def test_mappings_pair_by_key_and_differ_as_structures():
    """dict, OrderedDict and defaultdict map together, in the order of the first."""
    plain = {"a": 1, "b": 2}
    ordered = OrderedDict(b=20, a=10)
    counting = defaultdict(int, b=200, a=100)
    assert lw.tree_map(lambda *xs: xs, plain, ordered, counting) == {
        "a": (1, 10, 100),
        "b": (2, 20, 200),
    }
    mapped = lw.tree_map(lambda x, y: x + y, ordered, plain)
    assert (type(mapped), mapped) == (OrderedDict, OrderedDict(b=22, a=11))
    structures = {lw.tree_structure(tree) for tree in (plain, ordered, counting)}
    assert len(structures) == 3


def test_deques_pair_whatever_their_maxlen():
    """The maxlen is structure, but does not stop a map."""
    assert lw.tree_map(max, deque([1], 2), deque([3])) == deque([3], 2)
    assert lw.tree_structure(deque([1], 2)) != lw.tree_structure(deque([1]))


PARTIALS = {
    "a partial": lambda n: lw.Partial(functools.partial(max, n), 2),
    "nested": lambda n: lw.Partial(lw.Partial(lw.Partial(max, n), 2), 3),
    "keywords": lambda n: lw.Partial(functools.partial(max, default=n), 2),
    "in a partial": lambda n: lw.Partial(functools.partial(lw.Partial(max, n)), 2),
    "children that are no arguments": lambda n: lw.Partial(
        lw.tree.flatten_one_level(lw.Partial(max, 1)).unflatten([n, n])
    ),
}


@pytest.mark.parametrize(
    "children",
    [("leaf", {"key": 1}), ((1, 2), "leaf"), ("leaf", "leaf"), ((1, 2), {"key": 1})],
    ids=repr,
)
def test_any_values_stand_in_place_of_arguments(children):
    """They come back as they are, also where one of them could be the arguments."""
    node = lw.tree.flatten_one_level(lw.Partial(max)).unflatten(children)
    assert tuple(lw.tree.flatten_one_level(node).children) == children


@pytest.mark.parametrize("make", PARTIALS.values(), ids=PARTIALS)
def test_partials_around_partials_are_equal_by_their_parts(make):
    """Their treedefs are equal, hash alike, map together and survive a pickle."""
    node = make(1)
    other = make(1)
    different = make(5)
    treedef = lw.tree_structure(node)
    assert treedef == lw.tree_structure(other)
    assert hash(treedef) == hash(lw.tree_structure(other))
    assert treedef != lw.tree_structure(different)
    assert lw.tree_equal(node, other)
    assert not lw.tree_diff(node, other)
    assert not lw.tree_equal(node, different)
    assert lw.tree_leaves(lw.tree_map(lambda x, y: x + y, node, other)) == [
        2 * x for x in lw.tree_leaves(node)
    ]
    with pytest.raises(lw.StructureError) as caught:
        lw.tree_map(lambda x, y: x, node, different)
    assert caught.value.expected != caught.value.actual
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(treedef, protocol))
        assert again == treedef
        assert hash(again) == hash(treedef)
    assert copy.deepcopy(treedef) == treedef


def test_struct_sequences_keep_their_hidden_fields():
    """They are carried along, and are no structure."""
    node = os.stat(os.curdir)
    again = lw.tree_map(lambda x: x, node)
    assert type(again) is os.stat_result
    assert again.st_mtime_ns == node.st_mtime_ns
    assert lw.tree_structure(time.gmtime(0)) == lw.tree_structure(time.localtime(0))


def test_matching_makes_no_keys():
    other = defaultdict(int, b=1)
    assert lw.tree.prefix_errors(defaultdict(int, a=1), other)
    assert other == {"b": 1}
