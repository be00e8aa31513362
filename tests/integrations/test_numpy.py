"""Trees of numbers and NumPy arrays as one vector."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leafwise as lw
from leafwise.integrations.numpy import ravel


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
    for restored, leaf in pairs:
        assert type(restored) is type(leaf)
        assert np.asarray(restored).dtype == np.asarray(leaf).dtype
        np.testing.assert_array_equal(restored, leaf)
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
