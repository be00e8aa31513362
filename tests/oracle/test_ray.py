"""Maps on ray, by an executor of one method."""

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


def test_references_are_futures(ray):
    """An executor returns the future of a reference."""

    class Executor:
        def submit(self, fn, *args):
            return ray.remote(fn).remote(*args).future()

    maps = lw.parallel(Executor())
    doubled = maps.tree_map(lambda x: 2 * x, {"a": 1, "b": [2, None]})
    assert doubled == {"a": 2, "b": [4, None]}
    with pytest.raises(ValueError, match="three") as caught:
        maps.tree_map(fail_on_three, {"a": [1, 3]})
    assert caught.value.__notes__ == ["at key path ['a'][1]"]
