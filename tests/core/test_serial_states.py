"""Pickled treedefs: what comes back, and what is refused."""

import pickle
import time
from collections import OrderedDict, defaultdict, deque

import numpy as np
import pytest

import leafwise as lw
from leafwise.core.keys import AS_GIVEN, KeyOrder
from leafwise.core.serial import load
from strategies import Box, Color, Layer, Point


def state_of(tree, **options):
    return lw.tree_structure(tree, **options).__reduce__()[1][0]


TREES = [
    1,
    None,
    [1, (2, {"b": 3, "a": 4})],
    OrderedDict(b=1, a=2),
    defaultdict(list, b=1, a=2),
    deque([1], 5),
    Point(1, [2]),
    time.gmtime(0),
    Layer(1, 2, "n"),
    Box(1, 2, tag=np.arange(3)),
    {frozenset({1}): 1, frozenset({2}): 2},
    {Color.RED: 1, "a": 2, 3: 4},
    lw.Partial(max, 1, key=abs),
]


@pytest.mark.parametrize("tree", TREES, ids=lambda tree: type(tree).__name__)
def test_round_trip(tree):
    """An unpickled treedef equals the old one and rebuilds the same."""
    leaves, treedef = lw.tree_flatten(tree)
    again = pickle.loads(pickle.dumps(treedef))
    assert again == treedef
    assert hash(again) == hash(treedef)
    assert repr(again.unflatten(leaves)) == repr(tree)
    assert again.flatten_up_to(tree) == leaves


def test_modes_survive():
    """None mode, namespace and dict policy come back."""
    lw.namespace("pickled", dict_order="insertion")
    treedef = lw.tree_structure(
        {"b": 1, "a": None}, none_is_leaf=True, namespace="pickled"
    )
    again = pickle.loads(pickle.dumps(treedef))
    assert again == treedef
    assert (again.none_is_leaf, again.namespace) == (True, "pickled")
    assert again.unflatten([1, 2]) == {"b": 1, "a": 2}


def test_a_class_that_is_not_registered_here():
    """The error names the class and says what to do."""
    state = state_of([Layer(1, 2)])
    lw.unregister_pytree_node(Layer)
    try:
        with pytest.raises(lw.errors.TreeDefError) as error:
            load(state)
    finally:
        lw.register_dataclass(Layer)
    assert str(error.value) == (
        "this treedef has a node of Layer, which is not registered globally in this "
        "process; register the class before reading it"
    )


TUPLE = (1, "tuple", 1, None)
DICT = (2, "dict", 2, (("a", "b"), None))


def whole(*entries, count=None, mode=("", False)):
    """Return a state with these entries."""
    total = sum(entry[0] for entry in entries) if count is None else count
    return (1, *mode, total, entries)


@pytest.mark.parametrize(
    ("state", "why"),
    [
        (None, "it is not a tuple of version, mode, count and entries"),
        ((), "it is not a tuple of version, mode, count and entries"),
        ((1, 2, 3, 4, 5), "it is not a tuple of version, mode, count and entries"),
        ((2, "", False, 1, ()), "version 2 is unknown, only 1 is read"),
        ((1, "", False, 1, []), "its count or its entries have the wrong type"),
        ((1, "", False, True, ()), "its count or its entries have the wrong type"),
        ((1, "", False, 2, ()), "its entries do not form one tree"),
        (whole(TUPLE, TUPLE), "its entries do not form one tree"),
        (whole(TUPLE, count=2), "its entries do not form one tree"),
        (
            whole((0, "tuple", 1, None)),
            "a node has more children than there are entries for them",
        ),
        (whole((1, "tuple", 1)), "an entry is not a tuple of four"),
        (whole((1, "tuple", -1, None)), "a count in an entry is not a natural number"),
        (whole((1, "tuple", 1.0, None)), "a count in an entry is not a natural number"),
        (whole((1, "unknown", 1, None)), "an entry does not name a rule"),
        (whole((1, ("x", ""), 1, None)), "an entry does not name a rule"),
        (whole((1, (Box, 3), 1, None)), "an entry does not name a namespace"),
        (whole((1, "tuple", 1, 5)), "aux data does not fit a tuple: it must be None"),
        (
            whole((1, "None", 1, None)),
            "aux data does not fit a None: it must have neither children nor aux data",
        ),
        (
            whole((2, "dict", 2, (("a",), None))),
            "aux data does not fit a dict: one key for each child",
        ),
        (
            whole((2, "dict", 2, (("a", "a"), None))),
            "aux data does not fit a dict: a key occurs twice",
        ),
        (
            whole((2, "dict", 2, (("a", "b"), (0, 0)))),
            "aux data does not fit a dict: it is not an order of the keys",
        ),
        (
            whole((2, "dict", 2, (("a", "b"), 7))),
            "aux data does not fit a dict: it is not an order of the keys",
        ),
        (
            whole((1, "dict", 1, (([],), None))),
            "aux data does not fit a dict: a key is not hashable",
        ),
        (
            whole((1, "defaultdict", 1, (("a",), None, 3))),
            "aux data does not fit a defaultdict: the factory is not callable",
        ),
        (
            whole((1, "deque", 1, 0)),
            "aux data does not fit a deque: it is not a valid maxlen",
        ),
        (
            whole((2, "Partial", 2, 3)),
            "aux data does not fit a Partial: it is not a function with args and "
            "keywords",
        ),
        (
            whole((1, "namedtuple", 1, tuple)),
            "aux data does not fit a namedtuple: it is not a named tuple",
        ),
        (
            whole((1, "namedtuple", 1, Point)),
            "aux data does not fit a namedtuple: one child for each field",
        ),
        (
            whole((1, "structseq", 1, (time.struct_time, {}))),
            "aux data does not fit a structseq: one child for each field",
        ),
        (
            whole((1, "structseq", 1, (int, {}))),
            "aux data does not fit a structseq: it is not a struct sequence",
        ),
        (
            whole((9, "structseq", 9, (time.struct_time, {3: 4}))),
            "aux data does not fit a structseq: they are not fields",
        ),
        (
            whole((1, (Layer, ""), 1, ("n",))),
            "aux data does not fit a custom: wrong number of children or values",
        ),
        (
            whole((1, (Box, ""), 1, "x")),
            "aux data does not fit a custom: wrong number of children or values",
        ),
    ],
)
def test_malformed_states_are_refused(state, why):
    """Whatever is wrong with a state is said, and no treedef comes of it."""
    with pytest.raises(lw.errors.TreeDefError) as error:
        load(state)
    assert str(error.value) == f"malformed state of a treedef: {why}"


def test_reading_a_state_calls_nothing_that_it_names():
    """Functions in a state are stored, never called."""
    called = []

    def factory():
        called.append(1)

    load(whole((1, "defaultdict", 1, (("a",), None, factory))))
    load(whole((2, "Partial", 2, factory)))
    assert called == []


def test_huge_counts_allocate_nothing():
    """A state that claims a great many leaves is small until it is used."""
    code, count, _ = load(whole((10**15, "list", 10**15, None)))
    assert len(code) == 1
    assert count == 10**15


def test_key_orders_come_back():
    """The three kinds of key order survive."""
    for order, shown in ((None, None), (AS_GIVEN, "as given"), ((1, 0), (1, 0))):
        code, _, _ = load(whole((2, "dict", 2, (("a", "b"), shown))))
        found = code[0][3][1]
        if isinstance(order, tuple):
            assert isinstance(found, KeyOrder)
            assert found.perm == order
        else:
            assert found is order
