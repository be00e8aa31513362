"""Reductions over leaves: `leafwise.ops.fold`."""

import inspect
from collections import OrderedDict

import pytest

import leafwise as lw
from leafwise.ops import fold


TREE = {"c": 3, "a": [1, (2,)], "b": None}
FOLDS = {
    "tree_all": lw.tree_all,
    "tree_any": lw.tree_any,
    "tree_max": lw.tree_max,
    "tree_min": lw.tree_min,
    "tree_sum": lw.tree_sum,
    "tree_reduce": lambda tree, **options: lw.tree_reduce(max, tree, **options),
    "tree_reduce_associative": lambda tree, **options: lw.tree_reduce_associative(
        max, tree, **options
    ),
}


class Odd(Exception):
    """An exception of the user's own."""


def raiser(*_args):
    """Raise, whatever the arguments."""
    raise Odd("oops")


def pair(a, b):
    """Show how two values were combined."""
    return f"({a}{b})"


def test_every_fold_is_tested_here():
    """The table of this file names all functions of the module."""
    assert {*FOLDS} == {*fold.__all__}


@pytest.mark.parametrize("function", FOLDS.values(), ids=FOLDS)
def test_common_arguments(function):
    """Each fold takes `is_leaf`, `none_is_leaf` and `namespace`."""

    class Box:
        def __init__(self, x):
            self.x = x

    lw.register_pytree_node(
        Box,
        lambda box: ((box.x,), None),
        lambda _, kids: Box(*kids),
        namespace="ops-fold",
    )
    assert function([Box(1)], namespace="ops-fold") == 1
    assert function([1, None]) == 1
    with pytest.raises(TypeError) as caught:
        function([1], is_leaf="no")
    assert str(caught.value) == (
        "is_leaf must be a predicate, a type or a tuple of types, got str: 'no'"
    )
    with pytest.raises(lw.NamespaceError):
        function([1], namespace="ops-fold-nobody-declared-this")


@pytest.mark.parametrize("function", FOLDS.values(), ids=FOLDS)
def test_an_exception_of_is_leaf(function):
    """It keeps its type and gains one note of the path."""

    def is_leaf(x):
        if x == (2,):
            raise Odd("oops")
        return False

    with pytest.raises(Odd, match=r"^oops") as caught:
        function({"b": 1, "a": [(2,)]}, is_leaf=is_leaf)
    assert caught.value.__notes__ == ["at key path ['a'][0]"]


@pytest.mark.parametrize("function", FOLDS.values(), ids=FOLDS)
def test_a_cycle(function):
    """A tree that contains itself has no result, unless that is clear before."""
    knot = [] if function is lw.tree_any else [1]
    knot.append(knot)
    with pytest.raises(lw.CycleError, match=r"^the tree contains itself: "):
        function(knot)


def test_the_signatures_name_the_common_arguments():
    """No fold lacks one of the three."""
    for name in fold.__all__:
        parameters = inspect.signature(getattr(lw, name)).parameters
        assert {"is_leaf", "none_is_leaf", "namespace"} <= parameters.keys(), name


# ---------------------------------------------------------------------- reduce


def test_reduce_goes_from_left_to_right():
    """Leaves come in leaf order, after the initializer if there is one."""
    assert lw.tree_reduce(pair, TREE) == "((12)3)"
    assert lw.tree_reduce(pair, TREE, 0) == "(((01)2)3)"
    assert lw.tree_reduce(pair, OrderedDict(b=1, a=2)) == "(12)"


def test_reduce_of_one_leaf_and_of_none():
    """One leaf is the result itself; an initializer does for no leaves."""
    assert lw.tree_reduce(raiser, 5) == 5
    assert lw.tree_reduce(raiser, [[], None], "start") == "start"
    assert lw.tree_reduce(raiser, (), None) is None


def test_reduce_with_an_initializer_of_none():
    """None is an initializer like any other."""
    assert lw.tree_reduce(lambda a, b: (a, b), [1], None) == (None, 1)
    assert lw.tree_reduce(lambda a, b: (a, b), [1], initializer=None) == (None, 1)


@pytest.mark.parametrize("tree", [None, (), {"a": []}])
def test_reduce_without_leaves(tree):
    """The error says what is missing."""
    with pytest.raises(TypeError) as caught:
        lw.tree_reduce(pair, tree)
    assert str(caught.value) == (
        "tree_reduce of a tree without leaves needs an initializer"
    )


def test_reduce_with_is_leaf():
    """`is_leaf` is the fourth argument, or named; all three forms do."""
    tree = [(1,), [2]]
    for stop in (tuple, (tuple, set), lambda x: type(x) is tuple):
        assert lw.tree_reduce(pair, tree, "", stop) == "(((1,))2)"
        assert lw.tree_reduce(pair, tree, is_leaf=stop) == "((1,)2)"
    assert lw.tree_reduce(pair, [None, 1], none_is_leaf=True) == "(None1)"


@pytest.mark.parametrize("kind", [Odd, StopIteration])
def test_an_exception_of_the_reducing_function(kind):
    """It passes through with its type."""
    error = kind("oops")

    def fail(*_args):
        raise error

    for function in (lw.tree_reduce, lw.tree_reduce_associative):
        with pytest.raises(kind) as caught:
            function(fail, [1, 2])
        assert caught.value is error


# --------------------------------------------------------- reduce, associative


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (1, "0"),
        (2, "(01)"),
        (3, "(0(12))"),
        (4, "((01)(23))"),
        (5, "((01)(2(34)))"),
        (7, "((0(12))((34)(56)))"),
    ],
)
def test_halves_are_folded_on_their_own(count, text):
    """The first half is the shorter one, and the order of leaves is kept."""
    assert lw.tree_reduce_associative(pair, tuple(map(str, range(count)))) == text


def test_the_identity_is_for_empty_trees_only():
    """With leaves, the identity is not used."""
    assert lw.tree_reduce_associative(pair, [1, 2], identity="e") == "(12)"
    assert lw.tree_reduce_associative(raiser, [1], identity="e") == 1
    assert lw.tree_reduce_associative(raiser, [None], identity="e") == "e"
    assert lw.tree_reduce_associative(raiser, {}, identity=None) is None
    with pytest.raises(TypeError) as caught:
        lw.tree_reduce_associative(pair, [])
    assert str(caught.value) == (
        "tree_reduce_associative of a tree without leaves needs an identity"
    )


def test_reduce_associative_with_is_leaf_and_none():
    """What counts as a leaf is chosen as everywhere."""
    assert lw.tree_reduce_associative(pair, [(1,), 2], is_leaf=tuple) == "((1,)2)"
    assert lw.tree_reduce_associative(pair, [None, 2], none_is_leaf=True) == "(None2)"


# -------------------------------------------------------------------- all, any


@pytest.mark.parametrize(
    ("tree", "every", "some"),
    [
        ([], True, False),
        (None, True, False),
        (1, True, True),
        (0, False, False),
        ([1, (2, {"a": "x"})], True, True),
        ([1, (0, {"a": "x"})], False, True),
        ([0, ("", {"a": 0.0})], False, False),
    ],
    ids=str,
)
def test_all_and_any(tree, every, some):
    """The answers are bools, by the truth of the leaves."""
    assert lw.tree_all(tree) is every
    assert lw.tree_any(tree) is some


def test_all_and_any_with_is_leaf_and_none():
    """An empty list is a false leaf if it is one, and so is None."""
    assert lw.tree_all([1, []]) is True
    assert lw.tree_all([1, []], is_leaf=lambda x: x == []) is False
    assert lw.tree_any([0, [0]], is_leaf=(list, set)) is True
    assert lw.tree_all([1, None], none_is_leaf=True) is False
    assert lw.tree_any(None, none_is_leaf=True) is False


def test_all_and_any_ask_no_more_leaves_than_needed():
    """Leaves after the answer are not looked at."""

    class Unasked:
        def __bool__(self):
            raise Odd("oops")

    assert lw.tree_all([0, Unasked()]) is False
    assert lw.tree_any([1, Unasked()]) is True
    for function in (lw.tree_all, lw.tree_any):
        with pytest.raises(Odd, match=r"^oops"):
            function([Unasked()])


# ------------------------------------------------------------------------- sum


def test_sum_adds_from_left_to_right():
    """Numbers, tuples and strings are added to the start in leaf order."""
    assert lw.tree_sum(TREE) == 6
    assert lw.tree_sum(TREE, 10) == lw.tree_sum(TREE, start=10) == 16
    assert lw.tree_sum([]) == 0
    assert lw.tree_sum(None, "none") == "none"
    assert lw.tree_sum([(1,), [(2, 3)]], (), is_leaf=tuple) == (1, 2, 3)
    assert lw.tree_sum({"b": "y", "a": "x"}, "w") == "wxy"
    assert lw.tree_sum([b"x", [b"y"]], b"w") == b"wxy"
    assert lw.tree_sum([b"x", [b"y"]], bytearray(b"w")) == bytearray(b"wxy")


def test_sum_does_not_change_its_start():
    """The start is not added to in place."""
    start = bytearray(b"w")
    lw.tree_sum([b"x"], start)
    assert start == b"w"


def test_sum_of_what_cannot_be_added():
    """The error of `+` or `join` passes through."""
    with pytest.raises(TypeError) as caught:
        lw.tree_sum(["a"])
    assert str(caught.value) == "unsupported operand type(s) for +: 'int' and 'str'"
    with pytest.raises(TypeError) as caught:
        lw.tree_sum([1], "")
    assert str(caught.value) == "sequence item 0: expected str instance, int found"
    with pytest.raises(TypeError, match="NoneType"):
        lw.tree_sum([None], none_is_leaf=True)


# -------------------------------------------------------------------- max, min


def test_max_and_min():
    """The largest and the smallest leaf, by value or by key."""
    tree = {"a": 3, "b": [-4, (1,)]}
    assert (lw.tree_max(tree), lw.tree_min(tree)) == (3, -4)
    assert (lw.tree_max(tree, key=abs), lw.tree_min(tree, key=abs)) == (-4, 1)
    assert (lw.tree_max(5), lw.tree_min(5)) == (5, 5)
    assert lw.tree_max([(1, 2), (1, 3)], is_leaf=tuple) == (1, 3)


def test_the_first_of_several_wins():
    """Among equals, the leaf that comes first is the result."""
    tree = {"b": 1, "a": 1.0, "c": True}
    assert type(lw.tree_max(tree)) is float
    assert type(lw.tree_min(tree)) is float


@pytest.mark.parametrize(
    ("function", "name"), [(lw.tree_max, "tree_max"), (lw.tree_min, "tree_min")]
)
def test_max_and_min_without_leaves(function, name):
    """A default does for no leaves, None too; else the error says so."""
    assert function([], default=7) == 7
    assert function(None, default=None) is None
    assert function([1], default=raiser) == 1
    with pytest.raises(ValueError, match=r"^tree") as caught:
        function({"a": ()})
    assert str(caught.value) == f"{name} of a tree without leaves needs a default"


@pytest.mark.parametrize("function", [lw.tree_max, lw.tree_min])
def test_max_and_min_of_what_cannot_be_compared(function):
    """The errors of `<` and of the key function pass through."""
    with pytest.raises(TypeError, match="not supported between instances of"):
        function([1, "a"])
    with pytest.raises(TypeError, match="NoneType"):
        function([1, None], none_is_leaf=True)
    with pytest.raises(Odd, match=r"^oops"):
        function([1, 2], key=raiser)
