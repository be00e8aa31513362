"""What a diff says of arrays of jax and torch: the same as of numpy's."""

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps

import leafwise as lw


DTYPES = ("float32", "float64", "int8", "int32", "uint8", "bool", "complex64")


@st.composite
def two_arrays(draw):
    """Return two numpy arrays of one form that differ."""
    dtype = draw(st.sampled_from(DTYPES))
    shape = draw(nps.array_shapes(min_dims=0, max_dims=3, min_side=1, max_side=4))
    elements = nps.from_dtype(np.dtype(dtype), allow_subnormal=False)
    a, b = (draw(nps.arrays(dtype, shape, elements=elements)) for _ in range(2))
    assume(lw.tree_diff(a, b))
    return a, b


def report(a, b, **options):
    """Return the lines of a diff, and its record."""
    diff = lw.tree_diff([a], [b], **options)
    return str(diff), diff[0].detail()


def agree(own_report, expected):
    """Compare two records, whatever library the elements came from."""
    assert own_report[:3] == expected[:3]
    assert own_report[4:] == expected[4:]
    for place, other in zip(own_report.places, expected.places, strict=True):
        assert place.at == other.at
        np.testing.assert_equal(place[1:], other[1:])


def as_arrays_of(convert, pair, rtol):
    """Compare what is said of two arrays with what is said of them in numpy."""
    ours = [convert(x) for x in pair]
    assume(lw.tree_diff([pair[0]], [pair[1]], rtol=rtol))
    assume(not pair[0].ndim or str(ours[0].dtype).endswith(str(pair[0].dtype)))
    text, record = report(*ours, rtol=rtol)
    expected_text, expected = report(*pair, rtol=rtol)
    agree(record, expected)
    if pair[0].ndim:
        assert text == expected_text


RTOL = st.sampled_from([0.0, 0.5])


@given(two_arrays(), RTOL)
def test_arrays_of_torch(need, pair, rtol):
    """The same places, errors, and texts."""
    torch = need("torch")
    as_arrays_of(lambda x: torch.from_numpy(x.copy()), pair, rtol)


@given(two_arrays(), RTOL)
def test_arrays_of_jax(jax, pair, rtol):
    """The same places, errors, and texts; 64 bits are not on."""
    assume(pair[0].dtype != "float64")
    as_arrays_of(jax.numpy.asarray, pair, rtol)


def test_dtypes_that_numpy_lacks(jax, need):
    """bfloat16 and float8, in both libraries."""
    torch = need("torch")
    for one in (
        jax.numpy.array([1.0, 2.0, 3.0], "bfloat16"),
        torch.tensor([1.0, 2.0, 3.0], dtype=torch.bfloat16),
    ):
        text, record = report(one, one * one)
        assert text == (
            "~ [0]: bf16[3], 2 of 3 elements differ: largest error 6, relative 0.667\n"
            "    [1]: 2.0 -> 4.0\n"
            "    [2]: 3.0 -> 9.0"
        ).replace(".0", ".0" if hasattr(one, "detach") else "")
        assert (record.absolute, record.not_finite) == (6.0, 0)
        assert report(one, one * one, rtol=0.6)[1].differing == 1
    eight = jax.numpy.array([1, 2], "float8_e4m3fn")
    assert report(eight, eight + eight)[0].startswith("~ [0]: f8_e4m3fn[2], 2 of 2")
    four = jax.numpy.array([1, 2], "int4")
    assert report(four, four - four)[1].absolute == 2


def test_arrays_of_two_libraries(jax, need):
    """Their types are named; the elements are compared."""
    torch = need("torch")
    assert report(np.zeros(20, "f4"), torch.ones(20))[0] == (
        "~ [0]: f32[20] (ndarray) -> f32[20] (Tensor), 20 of 20 elements differ: "
        "largest error 1, relative 1\n"
        "    [0]: 0.0 -> 1.0\n    [1]: 0.0 -> 1.0\n    [2]: 0.0 -> 1.0\n"
        "    and 17 more"
    )
    assert report(jax.numpy.zeros(20), np.zeros(20, "f4"), typematch=True)[0] == (
        "~ [0]: f32[20] (ArrayImpl) -> f32[20] (ndarray), with the same values"
    )
    assert report(jax.numpy.zeros(20), torch.zeros(20, 3))[0] == (
        "~ [0]: f32[20] -> f32[20,3]"
    )


def test_arrays_that_jax_traces(jax):
    """Their shapes and dtypes are known; what they hold is not."""
    reports = []

    @jax.jit
    def compiled(x):
        reports.append(report(x, x[:2])[1])
        reports.append(report(x, x.astype("int32"))[0])
        return x

    compiled(jax.numpy.ones(100))
    assert reports[0].differing is None
    assert reports[1] == "~ [0]: f32[100] -> i32[100]"
