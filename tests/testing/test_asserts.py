"""Assertions: what is close, and what their errors say."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import leafwise as lw
from helpers.exact_forms import passes
from leafwise.testing import assert_same_structure, assert_trees_close


np = pytest.importorskip("numpy")


def close(a, b, **options):
    """Return whether two trees are close, asked both ways round."""
    pairs = (a, b), (b, a)
    (answer,) = {passes(assert_trees_close, *pair, **options) for pair in pairs}
    return answer


def arrays(value):
    """Return arrays of the libraries that are installed."""
    values = [np.asarray(value)]
    for name, of in (("jax.numpy", "asarray"), ("torch", "as_tensor")):
        try:
            module = pytest.importorskip(name)
        except pytest.skip.Exception:
            continue
        values.append(getattr(module, of)(values[0]))
    return values


CLOSE = {
    "floats": (0.3, 0.1 + 0.2),
    "dtypes": (np.float32(0.1), np.float64(0.1)),
    "a number and a scalar": (0.1, np.float32(0.1)),
    "an integer and a float": (1, 1.0),
    "arrays of integers and floats": (np.arange(1, 4), np.arange(1, 4) + 1e-9),
    "sorts of integers": (np.arange(3, dtype="i8"), np.arange(3, dtype="u1")),
    "complex": (1 + 1j, 1 + (1 + 1e-9) * 1j),
    "complex arrays": (np.ones(2, "c8"), np.ones(2, "c16") * (1 + 1e-8j)),
    "NaN": (np.array([math.nan, 1]), np.array([math.nan, 1 + 1e-9])),
    "infinity": (math.inf, math.inf),
    "texts": ("a", "a"),
    "empty": (np.zeros((0, 3)), np.zeros((0, 3), "f4")),
    "leaves in a set": ({1.0}, {1.0}),
}
APART = {
    "floats": (0.3, 0.3001),
    "integers": (10_000_000, 10_000_001),
    "large integers": (2**63, 2**63 + 1),
    "arrays of integers": (np.array([10**9]), np.array([10**9 + 1])),
    "sorts of integers": (np.array([10**9]), np.array([10**9 + 1], "u8")),
    "bools": (True, 1),
    "bool arrays": (np.array([True]), np.array([1])),
    "shapes": (np.ones((2, 1)), np.ones(2)),
    "no broadcasting": (np.ones(3), 1.0),
    "infinity": (math.inf, 1e300),
    "opposite infinities": (np.array([math.inf]), np.array([-math.inf])),
    "NaN": (math.nan, 1.0),
    "texts": ("a", "b"),
    "an array and a list": (np.ones(2), (1.0, 1.0)),
    "structures": ([1.0], (1.0,)),
    "a part": ([1.0], [1.0, 2.0]),
}


@pytest.mark.parametrize("case", CLOSE)
def test_what_is_close(case):
    """Whatever the dtypes, at the root and inside."""
    a, b = CLOSE[case]
    assert close(a, b)
    assert close({"x": [a]}, {"x": [b]})


@pytest.mark.parametrize("case", APART)
def test_what_is_not_close(case):
    """Integers are counted; shapes, structures and all else must be the same."""
    a, b = APART[case]
    assert not close(a, b)
    assert not close({"x": [a]}, {"x": [b]})


def test_options():
    """Dtypes, NaN and tolerances as they are asked for."""
    assert close(1.0, 1.05, rtol=0.1)
    assert close(0.0, 0.05, atol=0.1)
    assert close(np.float32(1), 1.0, dtypes=True)  # a number of Python has no dtype
    assert not close(np.float32(1), np.float64(1), dtypes=True)
    assert not close(np.arange(2), np.arange(2, dtype="u1"), dtypes=True)
    assert close(np.arange(2), np.arange(2), dtypes=True)
    assert not close(10**9, 10**9 + 1, dtypes=True)
    assert not close([math.nan], [math.nan], equal_nan=False)
    assert close({"a": 1.0, "b": 2}, {"a": 1.0, "b": 3}, ignore="b")
    with pytest.raises(ValueError, match="rtol must be finite"):
        assert_trees_close(1, 1, rtol=-1)


def test_arrays_of_all_libraries_are_close_to_each_other():
    """Also half precision, which numpy does not know."""
    for a in arrays([1.0, 2.0]):
        for b in arrays(np.array([1.0, 2.0], "f4")):
            assert close(a, b)
        for b in arrays([1.0, 2.1]):
            assert not close(a, b)
            assert close(a, b, rtol=0.1)
    jnp = pytest.importorskip("jax.numpy")
    short = jnp.ones(3, jnp.bfloat16)
    assert not close({"w": short}, {"w": short * 1.01})
    assert close({"w": short}, {"w": short * 1.01}, rtol=2**-6)
    assert close({"w": short}, {"w": np.ones(3)})


@given(
    st.floats(allow_nan=False),
    st.floats(allow_nan=False),
    st.sampled_from([0.0, 1e-6, 0.1]),
    st.sampled_from([0.0, 1e-3]),
)
def test_numbers_are_compared_as_arrays_are(a, b, rtol, atol):
    """A float, a scalar and an array give one answer, which is that of the formula."""
    apart = abs(a - b)
    size = max(abs(a), abs(b))
    expected = a == b or (math.isfinite(apart) and apart <= atol + rtol * size)
    how = {"rtol": rtol, "atol": atol}
    assert close(a, b, **how) is expected
    assert close(np.array([a]), np.array([b]), **how) is expected
    assert close(np.float64(a), b, **how) is expected


@given(st.data(), st.sampled_from([0.0, 1e-6, 0.1]), st.sampled_from([0.0, 0.5]))
def test_arrays_are_close_where_numpy_says_so_of_either(data, rtol, atol):
    """Its tolerance is relative to the second array, ours to the larger number."""
    size = st.integers(0, 3)
    numbers = st.floats(-2, 2) | st.sampled_from([math.nan, math.inf, -math.inf, 0.0])
    a = np.array(data.draw(st.lists(numbers, min_size=3, max_size=3)))
    b = a + data.draw(st.sampled_from([0.0, 1e-7, 0.05, 0.3]))
    b[data.draw(size) :] = a[::-1][data.draw(size) :].sum()
    how = {"rtol": rtol, "atol": atol, "equal_nan": True}
    expected = np.isclose(a, b, **how) | np.isclose(b, a, **how)
    assert close({"x": a}, {"x": b}, **how) is bool(expected.all())


def test_the_error_tells_how_far_apart_and_where():
    """Path by path; of an array, the largest error with its place."""
    w = np.zeros((4, 4))
    other = w.copy()
    other[1:] = 0.5
    other[3, 2] = 2.0
    a = {"w": w, "lr": 0.1, "n": 3, "s": np.float32(1), "z": 1j, "same": 1.0, "t": "a"}
    b = {"w": other, "lr": 0.2, "n": 5, "s": 1.5, "z": 2j, "same": 1.0, "t": "b"}
    with pytest.raises(AssertionError) as caught:
        assert_trees_close(a, b, rtol=1e-3)
    assert (
        str(caught.value)
        == """\
the trees differ in 6 places (actual -> expected, rtol=0.001, atol=0):
  ~ w: f64[4,4], 12 of 16 elements differ: largest error 2 at [3, 2], relative 1
      [1, 0]: 0.0 -> 0.5
      [1, 1]: 0.0 -> 0.5
      [1, 2]: 0.0 -> 0.5
      and 9 more
  ~ lr: 0.1 -> 0.2: error 0.1, relative 0.5
  ~ n: 3 -> 5: error 2, relative 0.4
  ~ s: np.float32(1.0) (float32) -> 1.5 (float): error 0.5, relative 0.333
  ~ z: 1j -> 2j: error 1, relative 0.5
  ~ t: 'a' -> 'b'"""
    )


def test_structures_are_compared_without_leaves():
    """Trees or treedefs; the error names each place."""
    a = {"a": [1, 2], "b": (3,)}
    b = {"a": ["x", None], "b": [3]}
    assert_same_structure(a, {"a": [0, 0], "b": (0,)})
    assert_same_structure(a, lw.tree_structure(a))
    assert_same_structure(lw.tree_structure(a), a)
    with pytest.raises(AssertionError) as caught:
        assert_same_structure(a, b)
    assert re.sub(r"\s+", " ", str(caught.value)) == (
        "the structures differ: at ['a'][1]: expected None, got a leaf "
        "at ['b']: expected list of length 1, got tuple of length 1"
    )
    assert_same_structure(a, b, is_leaf=lambda x: isinstance(x, list | tuple))
    lw.namespace("nones", none_is_leaf=True).assert_same_structure([None], [1])
    with pytest.raises(AssertionError, match="and 5 more"):
        assert_same_structure([1] * 25, [None] * 25)
