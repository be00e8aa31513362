"""Pickled treedefs: what comes back, and what is refused."""

import time

import pytest

import leafwise as lw
from helpers.random_trees import Box, Layer, Point
from leafwise.core.serial import load


def test_a_class_that_is_not_registered_here():
    """The error names the class and says what to do."""
    state = lw.tree_structure([Layer(1, 2)]).__reduce__()[1][0]
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


def state_with(*entries, count=None, version=2):
    """Return a state with these entries."""
    total = sum(entry[0] for entry in entries) if count is None else count
    return (version, "", False, total, entries)


TUPLE = (1, "tuple", 1, None)


@pytest.mark.parametrize(
    "state",
    [
        None,
        (),
        (1, 2, 3),
        state_with(version=1),
        (2, "", False, True, ()),
        (2, "undeclared", False, 1, ((1, (Box, "undeclared"), 1, None),)),
        state_with(count=2),
        state_with(TUPLE, TUPLE),
        state_with(TUPLE, count=2),
        state_with((0, "tuple", 1, None)),
        state_with((1, "tuple", 1)),
        state_with((1, "tuple", -1, None)),
        state_with((1, "tuple", 1.0, None)),
        state_with((1, "unknown", 1, None)),
        state_with((1, ("x", ""), 1, None)),
        state_with((1, (Box, 3), 1, None)),
        state_with((1, "tuple", 1, 5)),
        state_with((1, "None", 1, None)),
        state_with((2, "dict", 2, (("a",), None))),
        state_with((1, "defaultdict", 1, (("a",), 3))),
        state_with((1, "deque", 1, 0)),
        state_with((2, "Partial", 2, 3)),
        state_with((1, "namedtuple", 1, tuple)),
        state_with((1, "namedtuple", 1, Point)),
        state_with((1, "structseq", 1, (int, {}))),
        state_with((1, "structseq", 1, (time.struct_time, {}))),
        state_with((1, (Layer, ""), 1, ("n",))),
        state_with((1, (Box, ""), 1, "x")),
    ],
    ids=repr,
)
def test_malformed_states_are_refused(state):
    """No treedef comes of it."""
    with pytest.raises(lw.errors.TreeDefError):
        load(state)


def test_huge_counts_allocate_nothing():
    """A state that claims a great many leaves is small until it is used."""
    code, count, _ = load(state_with((10**15, "list", 10**15, None)))
    assert (len(code), count) == (1, 10**15)
