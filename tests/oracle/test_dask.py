"""Maps on a cluster: `tree_map` with the executor of dask.distributed."""

import asyncio

import pytest

import leafwise as lw


TREE = {"b": 1, "a": [2, (3, None)], "c": lw.List([lw.data(4), "static"])}


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
        yield client.get_executor()


def test_results_stand_at_their_leaves(executor):
    """Leaves go to another process and come back, in order."""
    exponents = lw.tree_map(lambda x: x, TREE)
    found = lw.parallel(executor).tree_map(power, TREE, exponents)
    expected = lw.tree_map(power, TREE, exponents)
    assert lw.tree_structure(found) == lw.tree_structure(expected)
    assert lw.tree_leaves(found) == [4, 27, 1, 256]


def test_a_failure_has_its_path(executor):
    """The first failure is raised here, and says at which leaf it came about."""
    ones = lw.tree_map(lambda x: 1, TREE)
    with pytest.raises(ValueError, match=r"^three") as caught:
        lw.parallel(executor).tree_map(power, TREE, ones)
    assert "at key path ['a'][1][0]" in caught.value.__notes__


@pytest.fixture(scope="module")
def client(executor):
    """Return a client that is not asynchronous."""
    return executor._client


def test_gather_of_what_runs_on_a_cluster(client):
    """Futures give their results, and delayed objects are computed."""
    import dask

    async def gather(tree):
        return await lw.tree_gather(tree)

    tree = {"a": client.submit(power, 2, 3), "b": [dask.delayed(power)(2, 4), 1]}
    assert asyncio.run(gather(tree)) == {"a": 8, "b": [16, 1]}
    failing = [client.submit(power, 2, 5), client.submit(power, 3, 1)]
    with pytest.raises(ValueError, match=r"^three") as caught:
        asyncio.run(gather({"a": failing}))
    assert "at key path ['a'][1]" in caught.value.__notes__


def test_gather_with_an_asynchronous_client(client, distributed):
    """The same where the client itself runs under asyncio."""

    async def run():
        address = client.scheduler.address
        async with distributed.Client(address, asynchronous=True) as other:
            return await lw.tree_gather([other.submit(power, 2, 3), 1])

    assert asyncio.run(run()) == [8, 1]
