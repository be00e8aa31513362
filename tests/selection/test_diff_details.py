"""How two values differ: places, errors, texts, sets."""

import pickle

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps

import leafwise as lw
from leafwise.equality.arrays import Criteria
from leafwise.selection import Change, Form


def details_of(a, b, places=3, **options):
    """Return what a diff says of two values that differ in it."""
    (change,) = lw.tree_diff(
        {"x": a}, {"x": b}, is_leaf=lambda x: x is a or x is b, **options
    )
    return change.detail(places)


NUMBERS = (
    nps.floating_dtypes(endianness="=")
    | nps.integer_dtypes(endianness="=")
    | nps.unsigned_integer_dtypes(endianness="=")
    | nps.complex_number_dtypes(endianness="=")
)
TOLERANCES = st.sampled_from([(0.0, 0.0), (0.1, 0.0), (0.0, 0.5), (1e-3, 1e-3)])


@st.composite
def two_arrays(draw, dtypes):
    """Return two arrays of one form, which share about half of their elements."""
    dtype = draw(dtypes)
    shape = draw(nps.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
    a = draw(nps.arrays(dtype, shape))
    b = draw(nps.arrays(dtype, shape))
    keep = draw(nps.arrays(bool, shape))
    return a, np.where(keep, a, b).astype(dtype)


def plainly_differing(a, b, rtol, atol, equal_nan):
    """Return the indices where arrays differ, element by element, as Python numbers."""
    options = {"rtol": rtol, "atol": atol, "equal_nan": equal_nan}
    pairs = ((i, a[i], b[i]) for i in np.ndindex(a.shape))
    return [i for i, x, y in pairs if not lw.tree_equal(x, y, **options)]


@example((np.array([-(2**63), 5]), np.array([2**63 - 1, 5])), (0.0, 0.0), True)
@example((np.array([np.nan, np.inf, 1.0]), np.array([1.0, 2.0, 4.0])), (0.1, 0.0), True)
@example((np.array([np.nan, 1.0]), np.array([np.nan, 1.0])), (0.0, 0.0), False)
@given(two_arrays(NUMBERS), TOLERANCES, st.booleans())
def test_places_and_errors_are_those_of_a_plain_computation(pair, tolerance, equal_nan):
    """Which, how many, and by how much; within the tolerances of the diff."""
    a, b = pair
    rtol, atol = tolerance
    differing = plainly_differing(a, b, rtol, atol, equal_nan)
    options = {"rtol": rtol, "atol": atol, "equal_nan": equal_nan}
    assert bool(lw.tree_diff(a, b, **options)) is bool(differing)
    assume(differing)
    details = details_of(a, b, 4, **options)
    assert details.before == details.after == Form(str(a.dtype), a.shape)
    assert details.differing == len(differing)
    assert [place.at for place in details.places] == differing[:4]
    for place in details.places:
        np.testing.assert_equal((place.before, place.after), (a[place.at], b[place.at]))
    check_errors(details, [(a[i].item(), b[i].item()) for i in differing])


def check_errors(details, pairs):
    """Compare the errors with those of Python's own numbers."""
    with np.errstate(over="ignore"):
        finite = [p for p in pairs if np.isfinite(np.abs(np.array(p, complex))).all()]
        assert details.not_finite == len(pairs) - len(finite)
        apart = [abs(x - y) for x, y in finite]
        sizes = [max(abs(x), abs(y)) for x, y in finite]
    if not finite:
        assert details.absolute is details.relative is None
        return
    assert details.absolute == pytest.approx(max(apart), rel=1e-12)
    if max(apart) != np.inf:
        relative = max(x / y for x, y in zip(apart, sizes, strict=True))
        assert details.relative == pytest.approx(relative, rel=1e-9)


@given(two_arrays(nps.floating_dtypes(sizes=64, endianness="=")))
def test_counts_and_errors_are_those_of_numpy(pair):
    """As `numpy.testing` words them; it leaves out what is not finite, too."""
    a, b = pair
    assume(lw.tree_diff(a, b) and a.ndim)
    with np.errstate(all="ignore"), pytest.raises(AssertionError) as caught:
        np.testing.assert_array_equal(a, b, strict=True)
    details = details_of(a, b)
    message = str(caught.value)
    if "Mismatched elements" in message:
        (line,) = (x for x in message.splitlines() if "Mismatched elements" in x)
        count, size = line.split(":")[1].split("(")[0].split("/")
        if "nan location" not in message:  # else it stops there
            assert (details.differing, details.size) == (int(count), int(size))
    if "Max absolute difference" in message and not details.not_finite:
        (line,) = (x for x in message.splitlines() if "Max absolute difference" in x)
        expected = float(line.split(":")[-1])
        assert details.absolute == pytest.approx(expected, rel=1e-6, abs=1e-8)


@given(two_arrays(nps.unicode_string_dtypes(endianness="=") | nps.boolean_dtypes()))
def test_places_of_what_is_no_number(pair):
    """They have no errors."""
    a, b = pair
    assume(lw.tree_diff(a, b))
    details = details_of(a, b)
    assert details.differing == int((a != b).sum())
    assert [place.at for place in details.places] == [
        tuple(map(int, index)) for index in np.argwhere(a != b)[:3]
    ]
    assert (details.absolute, details.relative, details.not_finite) == (None, None, 0)


def test_a_detail_means_what_the_diff_meant():
    """Also of a diff that was turned around, of a copy, and of one change alone."""
    a = {"w": np.array([1.0, 2.0])}
    b = {"w": np.array([1.05, 3.0])}
    diff = lw.tree_diff(a, b, rtol=0.1)
    for change in (diff[0], diff.invert()[0], pickle.loads(pickle.dumps(diff[0]))):
        assert [place.at for place in change.detail().places] == [(1,)]
    assert diff.invert()[0].detail().places[0].before == 3.0
    assert lw.tree_diff(a, b)[0].detail().differing == 2
    assert lw.selection.Change("value", (), a["w"], b["w"]).detail().differing == 2
    assert pickle.loads(pickle.dumps(diff[0].detail())) == diff[0].detail()


def test_where_there_is_no_detail():
    """Numbers, short texts of other values, what was added or is of another type."""
    assert details_of(1, 2) is None
    assert details_of([1], [2]) is None
    added, removed = lw.tree_diff({"a": "x"}, {"b": "x"})
    assert added.detail() is removed.detail() is None
    assert lw.tree_diff({"a": [1]}, {"a": "x"})[0].detail() is None
    assert Change("value", (), {1}, {True}).detail() is None


@given(st.text(max_size=200), st.text(max_size=100), st.text(max_size=100))
def test_where_texts_begin_to_differ(start, one, other):
    """The first place where the characters are not the same, or one text ends."""
    a = start + one
    b = start + other
    assume(a != b)
    details = details_of(a, b)
    shared = 0
    while shared < min(len(a), len(b)) and a[shared] == b[shared]:
        shared += 1
    lines = a[:shared].split("\n")
    assert (details.position, details.line, details.column) == (
        shared,
        len(lines),
        len(lines[-1]) + 1,
    )
    assert details.sizes == (len(a), len(b))
    assert details.before != details.after
    assert (details.before + details.after).isprintable()
    assert details_of(a.encode("utf-8", "surrogatepass"), b"\xff").what == "byte"


def test_nothing_is_raised():
    """Whatever a class does that looks like an array, a text or a set."""

    class Bad:
        def __getattr__(self, name):
            raise ZeroDivisionError

    class Array:
        shape = dtype = property(lambda self: 1 / 0)

    class Text(str):
        __slots__ = ()

        def __getitem__(self, key):
            raise ZeroDivisionError

    for value in (Bad(), Array(), Text("a")):
        for other in (Bad(), Array(), Text("b"), np.ones(2), "b", {1}):
            tolerance = Criteria(False, 0.1, 0.0, True)
            Change("value", (), value, other, None, (), tolerance).detail()
            Change("value", (), other, value).detail()
