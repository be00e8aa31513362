"""The one meaning of "the same value": equal, diff and assert agree, and are right."""

import array
import collections
import copy
import dataclasses
import datetime
import enum
import fractions
import functools
import types
from collections import OrderedDict, deque, namedtuple
from decimal import Decimal
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import leafwise as lw
from helpers.confusable_trees import Raising
from helpers.exact_forms import agreed_equality
from leafwise import nn
from leafwise.equality.leaves import (
    Comparison,
    UndecidedError,
    are_equal_scalars,
    are_same,
    compare_scalars,
)


NAN = float("nan")


def nan():
    """Return a NaN that is no other one."""
    return float("nan")


@dataclasses.dataclass
class Point:
    x: object
    note: object = dataclasses.field(default=0, compare=False)


@dataclasses.dataclass
class Point3(Point):
    z: object = 0


@dataclasses.dataclass
class ByName:
    name: str
    value: object

    def __eq__(self, other):
        return type(other) is ByName and self.name == other.name

    __hash__ = None


class Config(dict):
    pass


class Text(str):
    __slots__ = ()


class Color(enum.IntEnum):
    RED = 1
    BLUE = 2


class Labelled:
    """A labelled array, as those of pandas: its `==` compares elements."""

    shape = (2,)
    dtype = np.dtype(float)
    __hash__ = None

    def __eq__(self, other):
        return np.array([True, False])

    def equals(self, other):
        return True


class Vague:
    __hash__ = None

    def __eq__(self, other):
        return "maybe"


class Odd:
    __hash__ = None

    def __eq__(self, other):
        return True


class Silent:
    __hash__ = None

    def __eq__(self, other):
        return NotImplemented


class Hidden:
    """An array without `==`, as some libraries have it."""

    def __init__(self, *items):
        self.items = np.array(items)
        self.shape = self.items.shape
        self.dtype = self.items.dtype

    def __array__(self, dtype=None, copy=None):
        return self.items


Named = namedtuple("Named", "a b")
Tree = namedtuple("Tree", "x y")
RECORD = np.dtype([("a", "i4"), ("b", "f8"), ("c", "f4", (2,))])


def is_leaf(value):
    """Keep containers together, as leaves."""
    return type(value) is not Tree


def agreed(a, b, **options):
    """Return the one answer of all functions that compare, both ways round."""
    return agreed_equality(Tree(0, a), Tree(0, b), is_leaf=is_leaf, **options)


SAME = {
    "ints and floats": (1, 1.0),
    "complex": (1 + 0j, 1),
    "NaN": (NAN, nan()),
    "complex NaN": (complex(1, NAN), complex(1, nan())),
    "decimals": (Decimal("1.50"), Decimal("1.5")),
    "decimal NaN": (Decimal("NaN"), Decimal("NaN")),
    "signalling NaN": (Decimal("sNaN"), Decimal("sNaN")),
    "fractions": (fractions.Fraction(1, 2), 0.5),
    "fraction and array": (fractions.Fraction(1, 2), np.array(0.5)),
    "a decimal and an int of numpy": (Decimal(1), np.int64(1)),
    "str subclass": ("a", Text("a")),
    "NaN arrays": (np.array([1, NAN]), np.array([1, nan()])),
    "complex arrays": (np.array([complex(1, NAN)]), np.array([complex(1, NAN)])),
    "NaT": (np.datetime64("NaT", "s"), np.datetime64("NaT", "s")),
    "NaT arrays": (np.array(["NaT", 1], "M8[s]"), np.array(["NaT", 1], "M8[s]")),
    "empty": (np.ones((0, 2)), np.zeros((0, 2))),
    "numpy scalars": (np.float32(1), np.float32(1)),
    "a numpy scalar and a number": (np.float32(0.1), 0.1),
    "an array without dimensions and a number": (np.array(3), 3),
    "a bool of numpy": (np.bool_(True), True),
    "a str of numpy": (np.str_("a"), "a"),
    "scalar and array": (np.float64(2), np.array(2.0)),
    "records": (np.array([(1, NAN, 2)], RECORD), np.array([(1, nan(), 2)], RECORD)),
    "objects": (
        np.array([1, "a", NAN, np.ones(2), None], object),
        np.array([1.0, "a", nan(), np.ones(2), None], object),
    ),
    "masked": (
        np.ma.array([1.0, 2.0, NAN], mask=[0, 1, 0]),
        np.ma.array([1.0, 9.0, NAN], mask=[0, 1, 0]),
    ),
    "nothing masked": (np.ma.array([1.0, 2.0]), np.array([1.0, 2.0])),
    "a masked record": (
        np.ma.array([(1, 2.0, 3)], RECORD, mask=[(0, 1, 0)]),
        np.ma.array([(1, 7.0, 3)], RECORD, mask=[(0, 1, 0)]),
    ),
    "bytes": (np.zeros(2, "V4"), np.zeros(2, "V4")),
    "no operator": (Hidden(1, 2), Hidden(1, 2)),
    "tuples": ((1, nan()), (1, nan())),
    "lists": ([np.ones(2), [nan()]], [np.ones(2), [nan()]]),
    "named tuples": (Named(1, np.ones(2)), Named(1, np.ones(2))),
    "dicts": ({"a": np.ones(2), "b": 1}, {"b": 1, "a": np.ones(2)}),
    "dict subclasses": (Config(a=np.ones(2)), Config(a=np.ones(2))),
    "a mapping": (types.MappingProxyType({"a": NAN}), {"a": nan()}),
    "a user's dict": (
        collections.UserDict(a=np.ones(2)),
        collections.UserDict(a=np.ones(2)),
    ),
    "sets": ({1, "a"}, frozenset({1, "a"})),
    "deques": (deque([np.ones(2)]), deque([np.ones(2)])),
    "dataclasses": (Point(np.ones(2), 1), Point(np.ones(2), 2)),
    "dataclasses with NaN": (Point(nan()), Point(nan())),
    "an `==` of its own": (ByName("a", 1), ByName("a", 2)),
    "partials": (
        functools.partial(max, np.ones(2), key=abs),
        functools.partial(max, np.ones(2), key=abs),
    ),
    "anything": (mock.ANY, np.ones(2)),
    "anything at all": (mock.ANY, 1),
    "equal to everything, it says": (Odd(), 1),
    "approximately": (pytest.approx(np.ones(2)), np.ones(2) + 1e-12),
    "array.array": (array.array("i", [1]), array.array("i", [1])),
    "dates": (datetime.date(2020, 1, 1), datetime.date(2020, 1, 1)),
    "ranges": (range(3), range(0, 3, 1)),
}
DIFFERENT = {
    "numbers": (1, 2),
    "True": (1, True),
    "True of numpy": (np.int64(1), True),
    "True in a list": ([1], [True]),
    "True in a set": ({1}, {True}),
    "True as a key": ({1: 0}, {True: 0}),
    "large ints": (2**53 + 1, float(2**53)),
    "NaN and a number": (NAN, 1.0),
    "complex NaN": (complex(1, NAN), complex(NAN, 1)),
    "complex parts": (complex(1, NAN), complex(2, NAN)),
    "complex arrays": (np.array([complex(1, NAN)]), np.array([complex(2, NAN)])),
    "str and bytes": ("a", b"a"),
    "NaN in another place": (np.array([1, NAN]), np.array([NAN, 1])),
    "shape of NaN": (np.array([NAN]), np.array([[NAN]])),
    "dtype of NaN": (np.array([NAN]), np.array([NAN], "f4")),
    "an array of one NaN": (np.array([NAN]), NAN),
    "lengths": (np.ones(2), np.ones(1)),
    "empty": (np.ones((0, 2)), np.ones((0, 3))),
    "dtypes": (np.arange(2), np.arange(2.0)),
    "byte order": (np.ones(2, "<f8"), np.ones(2, ">f8")),
    "units of time": (np.datetime64(1, "s"), np.datetime64(1, "ms")),
    "a time and an int": (np.datetime64(1, "ns"), 1),
    "NaT and NaN": (np.datetime64("NaT", "s"), NAN),
    "array and list": (np.ones(2), [1.0, 1.0]),
    "array and object": (np.ones(0), object()),
    "array and None": (np.ones(2), "None"),
    "scalars of two dtypes": (np.float32(1), np.float64(1)),
    "an int beyond the dtype": (np.int8(1), 1000),
    "records": (np.array([(1, NAN, 2)], RECORD), np.array([(9, NAN, 2)], RECORD)),
    "objects": (np.array([1, [2]], object), np.array([1, [3]], object)),
    "masks": (
        np.ma.array([1.0, 2.0], mask=[0, 1]),
        np.ma.array([1.0, 2.0], mask=[1, 0]),
    ),
    "masked and not": (np.ma.array([1.0, 2.0], mask=[0, 1]), np.array([1.0, 2.0])),
    "no operator": (Hidden(1, 2), Hidden(1, 3)),
    "tuple and list": ((1,), [1]),
    "tuples": ((1, NAN), (1, 2)),
    "dicts": ({"a": np.ones(2)}, {"a": np.zeros(2)}),
    "keys": ({"a": 1}, {"b": 1}),
    "order": (OrderedDict(a=1, b=2), OrderedDict(b=2, a=1)),
    "sets": ({1, 2}, {1, 3}),
    "sets with NaN": ({1, NAN}, {2, NAN}),
    "dataclasses": (Point(np.ones(2)), Point(np.zeros(2))),
    "classes": (Point(1), Point3(1)),
    "an `==` of its own": (ByName("a", 1), ByName("b", 1)),
    "partials": (functools.partial(max, 1), functools.partial(max, 2)),
    "functions": (functools.partial(max, 1), functools.partial(min, 1)),
    "objects without ==": (object(), object()),
    "NotImplemented": (Silent(), Silent()),
    "asked the other way": (Odd(), ByName("a", 1)),
}


@pytest.mark.parametrize("case", SAME)
def test_what_is_the_same(case):
    """All functions say so, both ways round."""
    a, b = SAME[case]
    assert agreed(a, b)


@pytest.mark.parametrize("case", DIFFERENT)
def test_what_is_different(case):
    """All functions say so, both ways round; and the diff can be applied."""
    a, b = DIFFERENT[case]
    assert not agreed(a, b)


PLAIN = st.sampled_from(
    [0, 1, True, False, None, 1.0, -0.0, 0.0, NAN, "1", b"1", 2**70, float(2**70)]
) | st.floats() | st.integers() | st.text(max_size=2)  # fmt: skip


@given(st.lists(st.tuples(PLAIN | st.just([]), PLAIN), max_size=5))
def test_what_is_told_at_sight_is_what_values_say(pairs):
    """Where nothing is told, another type comes before the first two that differ."""
    ours = [a for a, _ in pairs]
    others = [b for _, b in pairs]
    answer = compare_scalars(ours, others)
    values = Comparison()
    if answer is not None:
        assert answer is all(map(values.same, ours, others))
    else:
        odd = next(n for n, (a, b) in enumerate(pairs) if type(a) is not type(b))
        assert all(map(values.same, ours[:odd], others[:odd]))
    for a, b in pairs:
        assert values.same(a, b) or not are_equal_scalars(a, b)


def test_types_are_compared_as_far_as_asked():
    """With `typematch`, at any depth of a leaf."""
    for case in ("ints and floats", "str subclass", "a numpy scalar and a number"):
        assert not agreed(*SAME[case], typematch=True)
    assert not agreed(np.ones(2), np.ones(2).view(np.ma.MaskedArray), typematch=True)
    assert not agreed([{"a": 1}], [{"a": 1.0}], typematch=True)
    assert not agreed({1: 0}, {1.0: 0}, typematch=True)
    assert not agreed(Config(a=1), {"a": 1}, typematch=True)
    for case in ("NaN", "NaN arrays", "objects without dtype", "dicts", "records"):
        assert case not in SAME or agreed(*SAME[case], typematch=True)


@pytest.mark.parametrize(
    "case",
    [name for name in SAME if "NaN" in name or name in ("NaT", "records", "masked")],
)
def test_nan_by_place_can_be_switched_off(case):
    """Then NaN is not even the same as itself, wherever it stands."""
    a, b = SAME[case]
    assert Comparison(equal_nan=False).same(a, b) is False
    assert Comparison(equal_nan=False).same(a, a) is False
    tree = Tree(2, a)
    assert lw.tree_equal(tree, tree, equal_nan=False, is_leaf=is_leaf) is False
    (change,) = lw.tree_diff(tree, tree, equal_nan=False, is_leaf=is_leaf)
    assert str(change.path) == ".y"
    with pytest.raises(AssertionError):
        lw.testing.assert_trees_equal(tree, tree, equal_nan=False, is_leaf=is_leaf)
    assert lw.tree_equal([1, "a"], [1, "a"], equal_nan=False)
    assert Comparison(equal_nan=False).same(Raising, Raising)


@pytest.mark.parametrize("options", [{}, {"typematch": True}, {"atol": 1.0}])
def test_a_tree_is_equal_to_itself_at_once(options):
    """Nothing in it is looked at, unless NaN differs from NaN."""

    class Unread(dict):
        pass

    def flatten(node):
        raise ZeroDivisionError

    lw.register_pytree_node(Unread, flatten, lambda _, children: Unread())
    tree = [Unread(), float("nan")]
    assert lw.tree_equal(tree, tree, **options) is True
    assert lw.tree_equal(tree, list(tree), **options) is True
    with pytest.raises(ZeroDivisionError):
        lw.tree_equal(tree, [Unread(), float("nan")], **options)
    with pytest.raises(ZeroDivisionError):
        lw.tree_equal(tree, tree, equal_nan=False, **options)


CLOSE = {
    "floats": (1.0, 1.01),
    "ints": (100, 101),
    "int and float": (100, 101.0),
    "complex": (1 + 1j, 1.01 + 1j),
    "complex and real": (1.0, 1 + 0.01j),
    "decimals": (Decimal("1.00"), Decimal("1.01")),
    "decimal and float": (Decimal("1.00"), 1.01),
    "large ints": (10**400, 10**400 + 1),
    "arrays": (np.array([1, NAN]), np.array([1.01, NAN])),
    "unsigned arrays": (np.array([200], "u1"), np.array([199], "u1")),
    "signed arrays": (np.array([100, -100], "i1"), np.array([101, -101], "i1")),
    "large arrays": (np.array([2**62]), np.array([2**62 + 1])),
    "half": (np.array([1.0], "f2"), np.array([1.01], "f2")),
    "complex arrays": (np.array([1 + 1j]), np.array([1.01 + 1j])),
    "scalar and number": (np.float32(1), 1.01),
    "inside a leaf": ({"a": [1.0, np.ones(2)]}, {"a": [1.01, np.ones(2) * 1.01]}),
    "records": (np.array([(1, 1.0, 2)], RECORD), np.array([(1, 1.01, 2)], RECORD)),
    "masked": (np.ma.array([1.0, 5], mask=[0, 1]), np.ma.array([1.01, 9], mask=[0, 1])),
    "objects": (np.array([1.0, "a"], object), np.array([1.01, "a"], object)),
}
FAR = {
    "texts": ("a", "b"),
    "bools": (True, False),
    "bool arrays": (np.array([True]), np.array([False])),
    "enums": (Color.RED, Color.BLUE),
    "shapes": (np.ones(2), np.ones((2, 1))),
    "dtypes": (np.ones(2), np.ones(2, "f4")),
    "infinity": (float("inf"), 1.0),
    "infinities": (float("inf"), float("-inf")),
    "infinite arrays": (np.array([np.inf]), np.array([1.0])),
    "infinity and a large int": (float("inf"), 10**400),
    "a large int and a float": (10**400, 1.0),
    "a large int and an array": (10**400, np.array(1.0)),
    "NaN": (NAN, 1.0),
    "NaN arrays": (np.array([NAN]), np.array([1.0])),
    "complex infinity": (complex("inf"), 1 + 1j),
    "opposite": (np.array([127], "i1"), np.array([-128], "i1")),
}


@pytest.mark.parametrize("case", CLOSE)
def test_numbers_within_a_tolerance_are_the_same(case):
    """Relative to the larger one, so that it does not matter which comes first."""
    a, b = CLOSE[case]
    assert not agreed(a, b)
    assert agreed(a, b, rtol=0.05)
    assert not agreed(a, b, atol=1e-9)
    assert agreed(a, b, atol=1.5)


@pytest.mark.parametrize("case", FAR)
def test_what_no_tolerance_covers(case):
    """Only numbers are near to each other, and infinity is near to nothing."""
    a, b = FAR[case]
    assert not agreed(a, b, rtol=0.9, atol=0.9)


def test_a_tolerance_is_a_number_that_is_not_negative():
    """Anything else would make everything the same, or nothing."""
    for wrong in (-1.0, float("inf"), float("nan")):
        with pytest.raises(ValueError, match=r"^atol must be finite and not negative"):
            lw.tree_equal(1, 1, atol=wrong)
        with pytest.raises(ValueError, match=r"^rtol must be finite and not negative"):
            lw.tree_diff(1, 1, rtol=wrong)


@pytest.mark.parametrize(
    ("a", "b", "why"),
    [
        (Raising(), 1, "(Raising and int): == raised RuntimeError: no comparison"),
        (Raising(), Raising(), "(two Raising): == raised RuntimeError: no comparison"),
        (Vague(), Vague(), "(two Vague): == returned 'maybe' (str)"),
        (np.array([Vague()]), np.array([Vague()]), "(two ndarray): == returned"),
        ((1, Raising()), (1, Raising()), "(two tuple): == raised RuntimeError"),
        (Labelled(), Labelled(), "(two Labelled): == returned array([ True, False"),
    ],
    ids=repr,
)
def test_what_cannot_be_decided_is_an_error_with_the_path(a, b, why):
    """It is the same one for all functions."""
    for compare in (lw.tree_equal, lw.tree_diff, lw.testing.assert_trees_equal):
        with pytest.raises(lw.errors.CompareError) as caught:
            compare({"x": [0, a]}, {"x": [0, b]}, is_leaf=tuple)
        assert str(caught.value).startswith(
            "at ['x'][1] cannot tell whether the leaves are equal " + why
        )
        assert str(caught.value.path) == "['x'][1]"
        assert isinstance(caught.value, TypeError)
        compare({"x": [0, a]}, {"x": [0, a]})
    merged = {"x": [0, b]}
    with pytest.raises(lw.errors.CompareError, match=r"^at \['x'\]") as caught:
        lw.tree_merge({"x": [0, a]}, merged, conflict="error", lists="position")


def test_the_cause_of_an_undecided_comparison_is_kept():
    """So that the traceback shows where the comparison failed."""
    with pytest.raises(lw.errors.CompareError) as caught:
        lw.tree_equal(Raising(), 1)
    assert type(caught.value.__cause__) is RuntimeError


def test_what_differs_for_sure_decides():
    """Beside a value of which nothing can be said, in whatever order they stand."""
    for one, other in (({"a": 1}, {"a": 2}), ({"a": (1,)}, {"a": (2,)})):
        a = {"x": Raising(), **one}
        b = {**other, "x": Raising()}
        assert Comparison().same(a, b) is False
        assert Comparison().same(b, a) is False
    with pytest.raises(UndecidedError):
        Comparison().same({"x": Raising(), "a": 1}, {"a": 1, "x": Raising()})


def test_a_leaf_that_contains_itself():
    """Two such leaves are the same if no way leads to a difference."""

    def knot(value):
        items = [value, {}]
        items[1]["again"] = items
        return items

    assert Comparison().same(knot(1), knot(1))
    assert not Comparison().same(knot(1), knot(2))


def test_states_and_masked_leaves_with_arrays_are_compared():
    """`==` of a record never raises, and means what the functions mean."""
    state = nn.State({"a": nn.Param(np.array([NAN])), "b": {"c": Config(x=np.ones(2))}})
    assert state == copy.deepcopy(state)
    assert state != nn.State({"a": nn.Param(np.array([[NAN]])), "b": {"c": 1}})
    assert nn.State({"a": 1}) != nn.State({"a": True})
    assert nn.State({"a": 1}) != nn.State({"a": 1.0})
    assert nn.State({"a": Raising()}) != nn.State({"a": Raising()})
    assert not are_same(Raising(), Raising())


# ------------------------------------------------------------------------- any values

dtypes = st.one_of(
    hnp.boolean_dtypes(),
    hnp.integer_dtypes(),
    hnp.floating_dtypes(),
    hnp.complex_number_dtypes(),
    hnp.datetime64_dtypes(),
    hnp.unicode_string_dtypes(max_len=2),
)
shapes = hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=2)
special = st.sampled_from([0.0, -0.0, 1.0, NAN, float("inf")])
numbers = (
    st.integers(-2, 2) | special | st.booleans() | st.builds(complex, special, special)
)
plain = numbers | st.text("ab", max_size=1) | st.none()


@st.composite
def arrays(draw):
    """Return an array of few values, so that two are often the same."""
    dtype = draw(dtypes)
    items = st.sampled_from([0, 1]) if dtype.kind in "biufc" else None
    if dtype.kind in "fc":
        items = items | special
    if items is None:
        return draw(hnp.arrays(dtype, draw(shapes), fill=st.nothing()))
    array = np.zeros(draw(shapes), dtype)
    for place in range(array.size):
        array.flat[place] = draw(items)
    return array


values = st.recursive(
    plain | arrays() | plain.map(Point) | plain.map(lambda x: np.array([x, 1], object)),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.lists(inner, max_size=2).map(tuple)
        | st.dictionaries(plain, inner, max_size=2)
        | st.dictionaries(st.text("ab", max_size=1), inner, max_size=2).map(Config)
        | st.frozensets(plain, max_size=2)
    ),
    max_leaves=4,
)
pairs = values.flatmap(
    lambda x: st.tuples(st.just(x), st.just(copy.deepcopy(x)) | values)
)
options = st.fixed_dictionaries(
    {},
    optional={
        "typematch": st.booleans(),
        "rtol": st.sampled_from([0.0, 0.5]),
        "atol": st.sampled_from([0.0, 1.0]),
    },
)


@given(pairs, options)
def test_any_values_get_one_answer(pair, options):
    """From all functions, both ways round; a tolerance never takes a sameness away."""
    assert agreed(pair[0], copy.deepcopy(pair[0]), typematch=True)
    answer = agreed(*pair, **options)
    if agreed(*pair, typematch=options.get("typematch", False)):
        assert answer
    if Comparison(equal_nan=False).same(*pair):
        assert Comparison().same(*pair)


@given(arrays(), arrays())
def test_arrays_are_compared_as_numpy_compares_them(a, b):
    """As strictly as `numpy.testing` can; parts of complex NaN count for themselves."""
    if any(x.dtype.kind == "c" and np.isnan(x).any() for x in (a, b)):
        return
    for one, other in ((a, b), (a, a.copy())):
        try:
            np.testing.assert_equal(one, other, strict=True)
        except (AssertionError, OverflowError):  # in the text that says what differs
            assert not agreed(one, other)
        else:
            assert agreed(one, other)
        if one.dtype == other.dtype and one.shape == other.shape:
            exact = np.array_equal(one, other)
            assert lw.tree_equal(one, other, equal_nan=False) is exact


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=3),
    st.floats(-1e-3, 1e-3),
    st.sampled_from([1e-9, 1e-6, 1e-3]),
    st.sampled_from([0.0, 1e-9, 1e-3]),
)
def test_what_allclose_calls_close_is_the_same(numbers, step, rtol, atol):
    """The tolerance is that of numpy, taken both ways; floats and arrays agree."""
    a = np.array(numbers)
    b = a + step
    close = np.allclose(a, b, rtol, atol) or np.allclose(b, a, rtol, atol)
    same = lw.tree_equal(a, b, rtol=rtol, atol=atol)
    assert same or not close
    listed = lw.tree_equal(a.tolist(), b.tolist(), rtol=rtol, atol=atol)
    assert same is listed
