"""Trees of what is pending on ray."""

import asyncio
import os
import sys

import pytest

import leafwise as lw


# ray starts its processes by fork; each is another program at once, so jax's threads,
# which jax warns of, are not missed there
pytestmark = pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")


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


def test_gather(ray):
    """References are awaited, bare and as futures."""
    double = ray.remote(lambda x: 2 * x)

    async def run(tree):
        return await lw.tree.gather(tree)

    tree = {"a": double.remote(1), "b": [double.remote(2).future(), 3]}
    assert asyncio.run(run(tree)) == {"a": 2, "b": [4, 3]}
    failing = ray.remote(fail_on_three)
    with pytest.raises(ValueError, match="three") as caught:
        asyncio.run(run({"a": [double.remote(1), failing.remote(3)]}))
    assert caught.value.__notes__ == ["at key path ['a'][1]"]
