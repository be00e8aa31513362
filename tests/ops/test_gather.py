"""Waiting for awaitable leaves, and for futures."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

import leafwise as lw


def double(x):
    return x * 2


async def later(x, log=None):
    await asyncio.sleep(0)
    if log is not None:
        log.append(x)
    return x


@pytest.mark.needs("a loop")
def test_gather():
    """All at once; what is no awaitable stays; nodes are kept."""
    log = []

    async def run():
        future = asyncio.get_running_loop().create_future()
        future.set_result("f")
        tree = {"b": later(1, log), "a": [later(2, log), (3, None)], "c": future}
        return await lw.tree.gather(tree)

    found = asyncio.run(run())
    assert found == {"b": 1, "a": [2, (3, None)], "c": "f"}
    assert [*found] == ["b", "a", "c"]
    assert sorted(log) == [1, 2]
    assert asyncio.run(lw.tree.gather([])) == []


@pytest.mark.needs("a loop")
def test_gather_that_fails():
    """The others are cancelled, and the error has the path of its leaf."""
    cancelled = []

    async def fail():
        await asyncio.sleep(0)
        raise ValueError("no")

    async def wait():
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(1)
            raise

    async def run():
        with pytest.raises(ValueError, match="no") as caught:
            await lw.tree.gather({"a": [wait(), fail()], "b": wait()})
        while len(cancelled) < 2:
            await asyncio.sleep(0)
        return caught.value.__notes__

    assert asyncio.run(run()) == ["at key path ['a'][1]"]
    assert cancelled == [1, 1]


@pytest.mark.needs("a loop")
def test_gather_of_futures():
    """Futures of executors are waited for; what stands twice is waited for once."""

    async def run(executor):
        shared = later(7)
        tree = {"a": executor.submit(double, 2), "b": [shared, shared], "c": 1}
        return await lw.tree.gather(tree)

    with ThreadPoolExecutor(1) as executor:
        assert asyncio.run(run(executor)) == {"a": 4, "b": [7, 7], "c": 1}
