"""What pytest prints of two trees that are not equal, and when."""

import os
import re
import subprocess
import sys
import tomllib
from collections import OrderedDict
from pathlib import Path
from types import SimpleNamespace

import pytest

import leafwise as lw
from helpers.random_trees import Box, Layer, Net, Point
from leafwise.testing import plugin


SOURCE = Path(lw.__file__).parents[1]
PROGRAM = """
import leafwise as lw

@lw.dataclass
class Layer:
    w: object
    b: object

def test_nested():
    expected = {"model": {"layers": [1, 2, 3], "name": "a"}, "same": [*range(50)]}
    actual = {"model": {"layers": [1, 5, 3], "name": "a"}, "same": [*range(50)]}
    assert actual == expected

def test_registered():
    assert Layer(1, [2]) == Layer(1, [3])

def test_flat():
    assert [1, 2] == [1, 3]

def test_text():
    assert "a" == "b"

def test_less():
    assert [[1]] < [[0]]

def test_array():
    import numpy as np
    assert {"w": [np.ones(3)]} == {"w": [np.zeros(3)]}
"""


def explain(left, right, op="==", verbose=0):
    """Return the lines of the hook, as pytest calls it."""
    config = SimpleNamespace(option=SimpleNamespace(verbose=verbose))
    return plugin.pytest_assertrepr_compare(config, op, left, right)


def explained(left, right, **options):
    """Return what is said, without the first two lines."""
    lines = explain(left, right, **options)
    return None if lines is None else "\n".join(lines[2:])


def test_nested_containers_and_registered_classes_are_explained():
    """Path by path."""
    assert explain({"a": [1, 2], "b": 0}, {"a": [1, 3], "b": 0}) == [
        "{'a': [1, 2], 'b': 0} == {'a': [1, 3], 'b': 0}",
        "",
        "the trees differ in 1 place (left -> right):",
        "  ~ a[1]: 2 -> 3",
    ]
    assert "~ weight: 1 -> 2" in explained(Layer(1, 0), Layer(2, 0))
    assert "~ name: 'a' -> 'b'" in explained(Layer(1, 0, "a"), Layer(1, 0, "b"))
    assert "~ [<flat" not in explained(Box([1]), Box([2]))
    assert "! [1]: [2] (list) -> 2 (int)" in explained([1, [2]], [1, 2])
    assert "- [0].b: 2" in explained([{"a": 1, "b": 2}], [{"a": 1}])
    assert "~ weight: 1 -> 2" in explained(Net(1, 0, "a"), Net(2, 0, "a"))
    assert "! [0]: [1] (list) -> (1,) (tuple)" in explained([[1]], [(1,)])


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ([1, 2], [1, 3]),
        ({"a": 1}, {"a": 2}),
        (Point(1, 2), Point(1, 3)),
        ({"a": None}, {"a": 1}),
        ("ab", "ac"),
        ({1}, {2}),
        (1, [[1]]),
        ([[1]], 1),
        ([[1]], [[True]]),
        ([{"a": 1}], [OrderedDict(a=1)]),
        ([[1, (2,)]], [[1, (2,)]]),
    ],
    ids=repr,
)
def test_flat_and_equal_values_are_left_to_pytest(left, right):
    """And what is different only for trees."""
    assert explain(left, right) is None


def test_it_never_fails():
    """What cannot be compared or walked is left to pytest, too."""

    class Raising:
        def __eq__(self, other):
            raise RuntimeError("no")

        __hash__ = None

    knot = [[1]]
    knot.append(knot)
    assert explain([[Raising()]], [[Raising()]]) is None
    assert explain(knot, list(knot)) is None


def test_nan_is_a_difference_as_it_is_for_python():
    """Though not for `tree_diff` without options."""
    nan = float("nan")
    assert "~ a[0]: nan -> nan" in explained({"a": [nan]}, {"a": [float("nan")]})


def test_many_differences_are_counted():
    """Unless all are asked for."""
    many = [[i] for i in range(50)], [[-1 - i] for i in range(50)]
    assert explained(*many).endswith("\n  and 30 more")
    assert len(explained(*many, verbose=2).splitlines()) == 51


@pytest.mark.needs("processes")
def test_what_pytest_prints(tmp_path):
    """In a run of its own: the differences of trees, and its own words for the rest."""
    pytest.importorskip("numpy")
    text = 'import leafwise\npytest_plugins = ["leafwise.testing.plugin"]\n'
    (tmp_path / "conftest.py").write_text(text, encoding="utf-8")
    (tmp_path / "test_trees.py").write_text(PROGRAM, encoding="utf-8")
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "--tb=short",
            "-p",
            "no:cacheprovider",
            "-W",
            "error",
            str(tmp_path),
        ],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={  # where that is set, its summary repeats what it printed
            **{key: os.environ[key] for key in os.environ if key != "CI"},
            "PYTHONPATH": str(SOURCE),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        },
    )
    text = re.sub(r"\n+E *", "\n", run.stdout)
    assert "6 failed" in text
    assert "~ model.layers[1]: 5 -> 2" in text
    assert "~ b[0]: 2 -> 3" in text
    assert "At index 1 diff: 2 != 3" in text
    assert "assert 'a' == 'b'" in text
    assert "truth value of an array" in text
    assert text.count("the trees differ") == 2


def test_the_plugin_is_opt_in():
    """An installed leafwise does not change the output of pytest elsewhere."""
    pyproject = SOURCE.parent / "pyproject.toml"
    if not pyproject.exists():
        pytest.skip("the tests run without the project around them")
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    assert "entry-points" not in project
