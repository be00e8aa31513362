"""Trees of numbers and NumPy arrays: `ravel` and `vmap`."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leafwise as lw
from leafwise.integrations.numpy import ravel, vmap


LEAVES = st.one_of(
    st.integers(-9, 9),
    st.booleans(),
    st.floats(-9, 9),
    st.builds(
        lambda shape, kind: np.arange(int(np.prod(shape))).reshape(shape).astype(kind),
        st.lists(st.integers(0, 3), max_size=2).map(tuple),
        st.sampled_from(["f4", "f8", "i2", "c8", "?"]),
    ),
)
TREES = lw.testing.trees(
    LEAVES, nodes=[list, dict, tuple], keys=st.sampled_from("abc"), max_leaves=6
)


@given(TREES)
def test_unravel_undoes_ravel(tree):
    """Values, shapes and types come back; so does the structure."""
    vector, unravel = ravel(tree)
    again = unravel(vector)
    assert lw.tree_structure(again) == lw.tree_structure(tree)
    pairs = zip(lw.tree_leaves(again), lw.tree_leaves(tree), strict=True)
    for found, leaf in pairs:
        assert type(found) is type(leaf)
        assert np.asarray(found).dtype == np.asarray(leaf).dtype
        np.testing.assert_array_equal(found, leaf)
    assert vector.shape == (sum(np.size(leaf) for leaf in lw.tree_leaves(tree)),)


def test_what_does_not_fit():
    """Another shape, numbers that would be lost, leaves that are no numbers."""
    vector, unravel = ravel({"a": 1, "b": np.ones(2)})
    assert unravel(vector + 1)["a"] == 2
    with pytest.raises(
        lw.StructureError, match=r"shape \(3,\) is needed, got shape \(2"
    ):
        unravel(vector[:2])
    with pytest.raises(TypeError, match=r"leaf at \['a'\] do not fit into int64"):
        unravel(vector + 0.5)
    with pytest.raises(
        TypeError, match=r"leaf at \['x'\]\[0\] is neither a number .*: str"
    ):
        ravel({"x": ["text"]})


def test_in_axes_of_the_jax_note():
    """A prefix for each argument: for all of it, a part of it, none of it."""
    args = (np.ones(3), {"k1": np.arange(2.0), "k2": np.arange(6.0).reshape(3, 2)})

    def f(x, d):
        return x + d["k1"] + d["k2"]

    found = vmap(f, in_axes=(None, {"k1": None, "k2": 0}))(args[1]["k1"], args[1])
    expected = np.stack([2 * args[1]["k1"] + row for row in args[1]["k2"]])
    np.testing.assert_array_equal(found, expected)
    with pytest.raises(
        ValueError, match="different sizes: 3 in argument 0, 2 in argume"
    ):
        vmap(f, in_axes=(0, 0))(*args)


def test_axes():
    """Any axis in and out, None for what is the same, keywords, objects."""
    x = np.arange(6).reshape(2, 3)
    out = vmap(lambda x: {"a": x, "b": 7, "c": None}, 1, {"a": -1, "b": None, "c": 0})(
        x
    )
    np.testing.assert_array_equal(out["a"], x)
    assert (out["b"], out["c"]) == (7, None)
    by_keyword = vmap(lambda y, *, z: y + z, in_axes=(None,))(1, z=np.arange(3))
    assert by_keyword.tolist() == [1, 2, 3]

    class Scale(lw.Pytree):
        def __init__(self, by):
            self.by = lw.data(by)

    scaled = vmap(lambda s, x: Scale(s.by * x), (0, None))(Scale(np.ones(3)), 2)
    assert scaled.by.tolist() == [2.0, 2.0, 2.0]


def test_errors():
    """Each says which argument, and where in it."""
    cases = [
        (
            lambda: vmap(lambda x: x)(3),
            r"argument 0 has shape \(\), so there is no axis 0",
        ),
        (lambda: vmap(lambda x: x, None)(3), "needs at least one array that is mapped"),
        (
            lambda: vmap(lambda x: x)({"a": [np.ones(0)]}),
            r"argument 0 at \['a'\]\[0\] is",
        ),
        (
            lambda: vmap(lambda x: x, out_axes=None)(np.arange(2)),
            "must be equal in all calls",
        ),
        (lambda: vmap(lambda x, k: x)(np.ones(2), k=np.ones(3)), "3 in keyword k"),
    ]
    for call, text in cases:
        with pytest.raises(ValueError, match=text):
            call()
    with pytest.raises(TypeError, match="in_axes must be an int, None or a tuple"):
        vmap(lambda x: x, {"a": 0})
    with pytest.raises(lw.StructureError):
        vmap(lambda x, y: x, in_axes=(0,))(np.ones(2), np.ones(2))


def test_errors_of_vmap_name_arguments_and_options():
    """In the words of the caller: which entry of the option, which argument."""
    x = np.ones(3)
    cases = [
        (
            lambda: vmap(lambda a, b: a, in_axes=(0, {"k": [0]}))(x, {"k": (x,)}),
            "in_axes[1] is not a prefix of argument 1, in 1 place:\n  at ['k']: "
            "expected list of length 1, got tuple of length 1\nhint: a list and a "
            "tuple are different nodes; convert one of them",
        ),
        (
            lambda: vmap(lambda a, b: a, in_axes=(0,))(x, x),
            "in_axes has 1 entry for 2 arguments",
        ),
        (
            lambda: vmap(lambda a: [a], out_axes=(0,))(x),
            "out_axes is not a prefix of the result, in 1 place:\n  at the root: "
            "expected tuple of length 1, got list of length 1\nhint: a list and a "
            "tuple are different nodes; convert one of them",
        ),
        (
            lambda: vmap(lambda a: a, in_axes=(1,))(x),
            "argument 0 has shape (3,), so there is no axis 1 to map",
        ),
    ]
    for call, said in cases:
        with pytest.raises(ValueError, match=rf"^{re.escape(said)}$"):
            call()
    with pytest.raises(
        TypeError, match=r"the axes in in_axes\[0\] must be ints or None"
    ):
        vmap(lambda a: a, in_axes=("x",))(x)
