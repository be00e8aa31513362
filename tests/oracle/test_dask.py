"""Maps on a cluster: `tree_map` with the executor of dask.distributed."""

import pytest

import leafwise as lw


TREE = {"b": 1, "a": [2, (3, None)], "c": lw.nn.List([lw.data(4), "static"])}


def power(base, exponent):
    """Return a power, unless the base is three."""
    if (base, exponent) == (3, 1):
        raise ValueError("three")
    return base**exponent


@pytest.fixture(scope="module")
def executor(distributed):
    """Return the executor of a cluster of one process."""
    options = {"n_workers": 1, "threads_per_worker": 2, "dashboard_address": None}
    with (
        distributed.LocalCluster(**options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client.get_executor(pure=False)


def test_results_stand_at_their_leaves(executor):
    """Leaves go to another process and come back, in order."""
    exponents = lw.tree_map(lambda x: x, TREE)
    results = lw.parallel(executor).tree_map(power, TREE, exponents)
    expected = lw.tree_map(power, TREE, exponents)
    assert lw.tree_structure(results) == lw.tree_structure(expected)
    assert lw.tree_leaves(results) == [4, 27, 1, 256]


def test_a_failure_has_its_path(executor):
    """The first failure is raised here, and says at which leaf it came about."""
    ones = lw.tree_map(lambda x: 1, TREE)
    with pytest.raises(ValueError, match=r"^three") as caught:
        lw.parallel(executor).tree_map(power, TREE, ones)
    assert "at key path ['a'][1][0]" in caught.value.__notes__
