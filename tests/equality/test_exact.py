"""What is exactly the same: aux data (law L6), and static values by their types."""

import functools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leafwise as lw
from leafwise.equality import exact


class Raises:
    __hash__ = None

    def __eq__(self, other):
        raise RuntimeError("no")


class NoBool:
    __hash__ = None

    def __eq__(self, other):
        return "yes"


class Description:
    """What an array is to be: it has a shape and a dtype, and no content."""

    def __init__(self, *shape, sharding=None):
        self.shape = shape
        self.dtype = np.dtype(float)
        self.sharding = sharding

    def __eq__(self, other):
        return (self.shape, self.sharding) == (other.shape, other.sharding)

    def __hash__(self):
        return hash(self.shape)


NAN = float("nan")
FUNCTION = functools.partial(max, 1, key=abs)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (1, True),
        (1, 1.0),
        ((1, [2]), (1, [2])),
        ({"a": np.ones(2)}, {"a": np.ones(2)}),
        (np.array([1, 2]), np.array([1, 2])),
        (np.float32(1), np.float32(1)),
        (np.array([NAN]), np.array([NAN])),
        ((NAN,), (NAN,)),
        (FUNCTION, functools.partial(max, 1, key=abs)),
        (lw.Partial(max, 1, key=abs), lw.Partial(max, 1, key=abs)),
        (
            functools.partial(FUNCTION, np.ones(2)),
            functools.partial(functools.partial(max, 1, key=abs), np.ones(2)),
        ),
        (set("ab"), frozenset("ab")),
        (bytearray(b"x"), b"x"),
        (np.array([1, "a"], dtype=object), np.array([1, "a"], dtype=object)),
        (Description(2), Description(2)),
    ],
)
def test_same(a, b):
    """Equal values and equal arrays are the same, and hash alike."""
    assert exact.same(a, b)
    assert exact.same(b, a)
    assert exact.digest(a) == exact.digest(b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (1, 2),
        ("1", 1),
        ((1,), [1]),
        (np.array([1, 2]), np.array([1, 3])),
        (np.array([1, 2]), np.array([1.0, 2.0])),
        (np.array([1]), np.array([[1]])),
        (np.ones(2), [1.0, 1.0]),
        ((np.ones(2),), (np.zeros(2),)),
        ({"a": 1}, {"b": 1}),
        (FUNCTION, functools.partial(max, 2, key=abs)),
        (FUNCTION, lw.Partial(max, 1, key=abs)),
        (lw.Partial(max, 1), lw.Partial(max, 1, key=abs)),
        (Raises(), Raises()),
        (NoBool(), NoBool()),
        (float("nan"), float("nan")),
        (Description(2), Description(3)),
        (Description(2), Description(2, sharding="rows")),
        (Description(2), np.ones(2)),
        (np.array([Raises()]), np.array([Raises()])),
    ],
)
def test_not_the_same(a, b):
    """Different values differ, and so does what cannot be compared."""
    assert not exact.same(a, b)
    assert not exact.same(b, a)


@pytest.mark.parametrize("aux", [Raises(), NoBool(), NAN, np.ones(3), [1]], ids=type)
def test_an_object_is_the_same_as_itself(aux):
    """Identity is enough, whatever `==` does."""
    assert exact.same(aux, aux)
    assert isinstance(exact.digest(aux), int)


NUMBERS = st.sampled_from([0, 1, False, True, 0.0, 1.0, -0.0, 0j, 1 + 0j, "1", None])
HASHED = NUMBERS | st.builds(float, st.just("nan")) | st.tuples(NUMBERS, NUMBERS)
VALUES = st.recursive(
    HASHED | st.builds(complex, st.sampled_from([0.0, NAN]), st.just(NAN)),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.tuples(inner, inner)
        | st.dictionaries(NUMBERS, inner, max_size=2)
        | st.sets(NUMBERS, max_size=2)
        | st.builds(functools.partial, st.just(max), inner)
    ),
    max_leaves=5,
)


def shape_of(value):
    """Return what two typed values must share, as a text; the model of `typed`."""
    name = type(value).__name__
    if isinstance(value, complex):
        return f"{name}({shape_of(value.real)}, {shape_of(value.imag)})"
    if isinstance(value, float):
        return f"{name}({value + 0.0})"  # -0.0 is 0.0
    if isinstance(value, list | tuple):
        return f"{name}({', '.join(map(shape_of, value))})"
    if isinstance(value, set):
        return f"{name}({', '.join(sorted(map(shape_of, value)))})"
    if isinstance(value, dict):
        items = (f"{shape_of(k)}: {shape_of(v)}" for k, v in value.items())
        return f"{name}({', '.join(sorted(items))})"
    if isinstance(value, functools.partial):
        return f"{name}({shape_of(value.args)})"
    return f"{name}({value!r})"


@given(VALUES, VALUES)
def test_typed(a, b):
    """Types count wherever they are, and NaN is NaN; the hash agrees."""
    are_same = exact.same(a, b, typed=True)
    assert are_same == exact.same(b, a, typed=True) == (shape_of(a) == shape_of(b))
    if are_same:
        assert exact.digest(a, typed=True) == exact.digest(b, typed=True)


@pytest.mark.parametrize(
    "value", [Raises(), NoBool(), {NoBool: Raises()}, [np.ones(2)]]
)
def test_typed_values_never_raise(value):
    """What cannot be compared differs, but not from itself."""
    other = type(value)() if isinstance(value, Raises | NoBool) else None
    assert exact.same(value, value, typed=True)
    assert not exact.same(value, other, typed=True)
    assert isinstance(exact.digest(value, typed=True), int)


class Deep:
    """A node with aux data."""

    def __init__(self, x, aux):
        self.x = x
        self.aux = aux


lw.register_pytree_node(
    Deep, lambda node: ((node.x,), node.aux), lambda aux, children: Deep(*children, aux)
)


def nested(depth):
    """Return lists inside lists."""
    value = []
    for _ in range(depth):
        value = [value]
    return value


def test_deeply_nested_aux_data_is_never_taken_for_different():
    """It is compared at any depth."""
    for depth in (200, 900, 5_000):
        one, other = (lw.tree_structure(Deep(1, nested(depth))) for _ in range(2))
        assert one == other
        assert hash(one) == hash(other)
        assert one != lw.tree_structure(Deep(1, nested(depth + 1)))


class Timeout(Exception):
    """As a handler of signals raises it, wherever the program is."""


class Interrupted:
    def __eq__(self, other):
        raise Timeout

    __hash__ = None


def test_what_is_no_answer_of_a_class_reaches_the_caller():
    """A timeout does not say that two values differ."""
    with pytest.raises(Timeout):
        exact.same(Interrupted(), Interrupted())
    one, other = (lw.tree_structure(Deep(1, Interrupted())) for _ in range(2))
    with pytest.raises(Timeout):
        bool(one == other)
    with pytest.raises(lw.errors.CompareError) as caught:
        lw.tree_equal([Interrupted()], [Interrupted()])
    assert isinstance(caught.value.__cause__, Timeout)
