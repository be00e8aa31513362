"""The meaning of "the same aux data" (law L6)."""

import functools

import numpy as np
import pytest

import leafwise as lw
from leafwise.equality import exact
from leafwise.safely import clip, printed


class Raises:
    __hash__ = None

    def __eq__(self, other):
        raise RuntimeError("no")


class NoBool:
    __hash__ = None

    def __eq__(self, other):
        return "yes"


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


class Unprintable:
    def __repr__(self):
        raise RuntimeError("no")


def test_printing_never_raises():
    """What cannot be printed is named by its type."""
    expected = "<Unprintable that cannot be printed>"
    assert printed(Unprintable()) == expected
    assert clip(Unprintable()) == expected


def test_clip_keeps_one_short_line():
    """A long repr is cut, and line ends become spaces."""
    assert clip("x" * 100) == "'" + "x" * 56 + "..."
    assert clip(np.ones((2, 1))) == "array([[1.], [1.]])"


def test_a_hash_that_raises_counts_as_none():
    """Hashing falls back to a constant rather than raising."""

    class Shaped:
        @property
        def shape(self):
            raise RuntimeError("no")

        dtype = "x"

    assert isinstance(exact.digest(Shaped()), int)
    assert not exact.same(Shaped(), Shaped())
