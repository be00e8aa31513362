"""Maps on ray: the module is the executor."""

import asyncio
import operator
import os
import sys
import time

import pytest

import leafwise as lw


# ray starts its processes by fork; each is another program at once, so jax's threads,
# which jax warns of, are not missed there
pytestmark = pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")

TREE = {"b": 1, "a": [2, (3, None)], "c": "text"}


def fail_on_three(x):
    """Return a number, unless it is three."""
    if x == 3:
        raise ValueError("three")
    return x


@pytest.fixture(scope="module")
def ray(need):
    """Start ray with one worker."""
    ray = need("ray")
    ray.init(
        num_cpus=1,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="error",
        runtime_env={"env_vars": {"PYTHONPATH": path()}},
    )
    yield ray
    ray.shutdown()


def path():
    """Return where workers find this package, and the module of this test."""
    return os.pathsep.join(sys.path)


@pytest.mark.parametrize("chunk", [None, 3])
def test_the_maps_are_those_of_trees(ray, chunk):
    """Functions that are built in, too; results stand at their leaves."""
    told = []
    maps = lw.parallel(ray, chunk=chunk, progress=lambda *what: told.append(what))
    assert maps.tree_map_only(int, operator.neg, TREE) == {
        "b": -1,
        "a": [-2, (-3, None)],
        "c": "text",
    }
    assert [what[:2] for what in told] == [(1, 3), (2, 3), (3, 3)]
    found = maps.tree_map_with_path(lambda path, x: (str(path), x), TREE)
    assert found == lw.tree_map_with_path(lambda path, x: (str(path), x), TREE)
    edited = lw.at(TREE)["a"].apply(len, parallel=maps)
    assert edited == {**TREE, "a": 2}


@pytest.mark.parametrize("chunk", [None, 2])
def test_failures(ray, chunk):
    """They are raised or collected, with their paths."""
    with pytest.raises(ValueError, match="three") as caught:
        lw.parallel(ray, chunk=chunk).tree_map(fail_on_three, {"a": [1, 3]})
    assert "at key path ['a'][1]" in caught.value.__notes__
    maps = lw.parallel(ray, chunk=chunk, errors="collect")
    first, failed, last = maps.tree_map(fail_on_three, [2, 3, 4])
    assert (first, last) == (2, 4)
    assert isinstance(failed, ValueError)
    assert "at key path [1]" in failed.__notes__


def test_the_first_failure_cancels_the_rest(ray, tmp_path):
    """Most of the fifty calls never begin."""

    def fail_or_wait(x):
        if x == 0:
            raise ValueError("three")
        (tmp_path / str(x)).touch()
        time.sleep(0.5)

    with pytest.raises(ValueError, match="three"):
        lw.parallel(ray).tree_map(fail_or_wait, [*range(50)])
    assert lw.parallel(ray).tree_map(abs, [-1]) == [1]
    assert len([*tmp_path.iterdir()]) < 49


def test_gather(ray):
    """References are awaited, bare and as futures."""
    double = ray.remote(lambda x: 2 * x)

    async def run(tree):
        return await lw.tree_gather(tree)

    tree = {"a": double.remote(1), "b": [double.remote(2).future(), 3]}
    assert asyncio.run(run(tree)) == {"a": 2, "b": [4, 3]}
    failing = ray.remote(fail_on_three)
    with pytest.raises(ValueError, match="three") as caught:
        asyncio.run(run({"a": [double.remote(1), failing.remote(3)]}))
    assert caught.value.__notes__ == ["at key path ['a'][1]"]
