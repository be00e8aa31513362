"""What pytest prints of two trees that are not equal, and when."""

import importlib.util
import os
import re
import subprocess
import sys
from collections import OrderedDict, deque
from pathlib import Path

import pytest

import leafwise as lw
from leafwise.testing import plugin
from strategies import Box, Layer, Net, Point


HOOK = Path(lw.__file__).parents[1] / "_leafwise_pytest.py"
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


def explained(left, right, **options):
    """Return what is said, without the first two lines."""
    lines = plugin.explain(left, right, **options)
    return None if lines is None else "\n".join(lines[2:])


def test_nested_containers_and_registered_classes_are_explained():
    """Path by path."""
    assert plugin.explain({"a": [1, 2], "b": 0}, {"a": [1, 3], "b": 0}) == [
        "{'a': [1, 2], 'b': 0} == {'a': [1, 3], 'b': 0}",
        "",
        "the trees differ in 1 place (left -> right):",
        "  ~ ['a'][1]: 2 -> 3",
    ]
    assert "~ .weight: 1 -> 2" in explained(Layer(1, 0), Layer(2, 0))
    assert "~ .name: 'a' -> 'b'" in explained(Layer(1, 0, "a"), Layer(1, 0, "b"))
    assert "~ [<flat" not in explained(Box([1]), Box([2]))
    assert "! [1]: [2] (list) -> 2 (int)" in explained([1, [2]], [1, 2])
    assert "- [0]['b']: 2" in explained([{"a": 1, "b": 2}], [{"a": 1}])
    assert "~ .weight: 1 -> 2" in explained(Net(1, 0, "a"), Net(2, 0, "a"))
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
    assert plugin.explain(left, right) is None


def test_it_never_fails():
    """What cannot be compared or walked is left to pytest, too."""

    class Raising:
        def __eq__(self, other):
            raise RuntimeError("no")

        __hash__ = None

    knot = [[1]]
    knot.append(knot)
    assert plugin.explain([[Raising()]], [[Raising()]]) is None
    assert plugin.explain(knot, [*knot]) is None


def test_nan_is_a_difference_as_it_is_for_python():
    """Though not for `tree_diff` without options."""
    nan = float("nan")
    assert "~ ['a'][0]: nan -> nan" in explained({"a": [nan]}, {"a": [float("nan")]})


def test_what_equals_is_no_difference():
    """Beside what is one."""
    text = explained([[1, 2], deque([3])], [[True, 3], deque([3])])
    assert "differ in 1 place " in text
    assert "~ [0][1]: 2 -> 3" in text


def test_arrays_are_told_in_few_lines():
    """By the places where they differ."""
    np = pytest.importorskip("numpy")
    text = explained({"w": [np.ones(3), 1]}, {"w": [np.array([1, 1, 2.0]), 1]})
    assert "~ ['w'][0]: f64[3], 1 of 3 places differs" in text


def test_many_differences_are_counted():
    """Unless all are asked for."""
    many = [[i] for i in range(50)], [[-1 - i] for i in range(50)]
    assert explained(*many).endswith("\n  and 30 more")
    assert len(explained(*many, most=None).splitlines()) == 51


def load():
    """Return the module that pytest loads."""
    spec = importlib.util.spec_from_file_location("_leafwise_pytest", HOOK)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_hook_asks_for_equality_of_trees_alone(pytestconfig, monkeypatch):
    """And is silent if something is wrong in what it loads."""
    compare = load().pytest_assertrepr_compare
    trees = [[1]], [[2]]
    assert compare(pytestconfig, "==", *trees)[3] == "  ~ [0][0]: 1 -> 2"
    assert compare(pytestconfig, "!=", *trees) is None
    assert compare(pytestconfig, "==", "a", "b") is None
    assert compare(None, "==", *trees) is None
    monkeypatch.setitem(sys.modules, "leafwise.testing.plugin", None)
    assert compare(pytestconfig, "==", *trees) is None


@pytest.mark.needs("processes")
def test_what_pytest_prints(tmp_path):
    """In a run of its own: the differences of trees, and its own words for the rest."""
    pytest.importorskip("numpy")
    (tmp_path / "test_trees.py").write_text(PROGRAM, encoding="utf-8")
    run = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "--tb=short", "-p"),
            *("no:cacheprovider", "-p", "_leafwise_pytest", str(tmp_path)),
        ],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={  # where that is set, its summary repeats what it printed
            **{key: os.environ[key] for key in os.environ if key != "CI"},
            "PYTHONPATH": str(HOOK.parent),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        },
    )
    text = re.sub(r"\n+E *", "\n", run.stdout)
    assert "6 failed" in text
    assert "~ ['model']['layers'][1]: 5 -> 2" in text
    assert "~ .b[0]: 2 -> 3" in text
    assert "At index 1 diff: 2 != 3" in text
    assert "assert 'a' == 'b'" in text
    assert "truth value of an array" in text
    assert text.count("the trees differ") == 2


@pytest.mark.needs("processes")
def test_a_start_of_pytest_does_not_load_the_library():
    """The plugin is a small module beside it."""
    code = "import sys, _leafwise_pytest; print('leafwise' in sys.modules)"
    plain = {k: v for k, v in os.environ.items() if not k.startswith("COVERAGE")}
    text = subprocess.check_output(
        [sys.executable, "-c", code],
        text=True,
        env={**plain, "PYTHONPATH": str(HOOK.parent)},
    )
    assert text == "False\n"
