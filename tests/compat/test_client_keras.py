"""Keras on leafwise: its backend for trees beside that for optree, its own tests.

Keras is loaded with numpy for its arrays; it runs on other trees in a process of its
own, since it chooses its backend when it is imported.
"""

import os
import subprocess
import sys
import textwrap
from collections import OrderedDict, deque, namedtuple
from pathlib import Path

import pytest

import leafwise.compat.keras as ours
from compat.programs import Asked, differences, trees_of
from peers import need, peer


__all__ = ["need"]  # a fixture

Point = namedtuple("Point", "x y")


@pytest.fixture(scope="module")
def keras_home(tmp_path_factory):
    """Return a place where Keras may write."""
    return tmp_path_factory.mktemp("keras")


@pytest.fixture(scope="module")
def theirs(keras_home):
    """Return the backend of Keras for optree."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERAS_BACKEND", "numpy")
        patch.setenv("KERAS_HOME", str(keras_home))
        peer("keras")
        return peer("keras.src.tree.optree_impl")


@pytest.fixture(scope="module")
def classes(theirs):
    """Return classes that both backends know, which keep their items in a list."""

    class Row(list):
        def tree_flatten(self):
            return self, None

        @classmethod
        def tree_unflatten(cls, metadata, children):
            return cls(children)

    class Bag(dict):
        def tree_flatten(self):
            keys = sorted(self)
            return [self[key] for key in keys], keys, keys

        @classmethod
        def tree_unflatten(cls, keys, children):
            return cls(zip(keys, children, strict=True))

    for cls in (Row, Bag):
        for module in (theirs, ours):
            assert module.register_tree_node_class(cls) is cls
            with pytest.raises(ValueError, match="already"):
                module.register_tree_node_class(cls)
    return Row, Bag


# ----------------------------------------- each function, beside that of Keras


def _pick(source, *values):
    return source.choice(values)


def flattened(module, source, tree, other):
    pairs = module.flatten_with_path(tree)
    return module.flatten(tree), module.is_nested(tree), pairs


def mapped(module, source, tree, other):
    function = Asked(lambda *args: len(args))
    rest = [_pick(source, tree, other) for _ in range(source.randrange(3))]
    return module.map_structure(function, tree, *rest), function.calls


def mapped_but_none(module, source, tree, other):
    return module.map_structure(repr, tree, none_is_leaf=False)


def mapped_up_to(module, source, tree, other):
    rest = [_pick(source, tree, other) for _ in range(source.randrange(3))]
    shallow = module.map_structure(lambda x: 0, tree)  # theirs refuses None there
    return module.map_structure_up_to(shallow, lambda *args: [*args], *rest)


def same_structure(module, source, tree, other):
    return module.assert_same_structure(tree, _pick(source, tree, other))


def same_paths(module, source, tree, other):
    return module.assert_same_paths(tree, _pick(source, tree, other))


def packed(module, source, tree, other):
    count = len(module.flatten(tree)) + _pick(source, 0, 0, 0, 1, -1)
    return module.pack_sequence_as(tree, _pick(source, range(count), [0] * count, 5))


def traversed(module, source, tree, other):
    to_none = type("MAP_TO_NONE", (), {})
    answers = _pick(source, (None,), (None, None, "new", to_none))
    function = Asked(lambda *args: source.choice(answers))
    top_down = source.random() < 0.5
    return module.traverse(function, tree, top_down=top_down), function.calls


def with_tuples(module, source, tree, other):
    return module.lists_to_tuples([tree, other])


def shapes(module, source, tree, other):
    shape = _pick(source, (None, 3), [1, 2], [], [(1,), (None, 2)], Point(1, 2))
    return module.map_shape_structure(repr, {"b": shape, "a": [tree, (1, 2)]})


PROGRAMS = [
    flattened,
    mapped,
    mapped_but_none,
    mapped_up_to,
    same_structure,
    same_paths,
    packed,
    traversed,
    with_tuples,
    shapes,
]


@pytest.mark.parametrize("calls", [500, pytest.param(5_000, marks=pytest.mark.slow)])
def test_each_function_does_what_that_for_optree_does(theirs, classes, calls):
    assert {name for name in vars(theirs) if name in ours.__all__} == {*ours.__all__}
    trees = trees_of(deque=True)
    assert differences(PROGRAMS, theirs, ours, trees, calls, seed=calls) == []


def test_registered_classes_do_as_there(theirs, classes):
    row, bag = classes
    tree = bag(b=row([1, Point(2, None)]), a=deque([OrderedDict(d=3, c=4)]))
    for module in (theirs, ours):
        assert module.flatten(tree) == [3, 4, 1, 2, None]
        assert [path for path, _ in module.flatten_with_path(tree)] == [
            ("a", 0, "d"),
            ("a", 0, "c"),
            ("b", 0),
            ("b", 1, 0),
            ("b", 1, 1),
        ]
        again = module.map_structure(str, tree)
        assert (type(again), type(again["b"])) == (bag, row)
        assert module.pack_sequence_as(tree, range(5))["b"] == row([2, Point(3, 4)])
        with pytest.raises(ValueError, match="structure"):
            module.assert_same_structure(row([1]), row([[1]]))


def test_errors_say_what_keras_says_and_where():
    with pytest.raises(ValueError, match="same nested structure") as caught:
        ours.assert_same_structure({"a": [1]}, {"a": [[1]]})
    assert "['a'][0]" in str(caught.value)
    with pytest.raises(ValueError, match="expected 2, got 1"):
        ours.pack_sequence_as([0, 0], [1])
    with pytest.raises(ValueError, match="at least one"):
        ours.map_structure(repr)
    with pytest.raises(ValueError, match="at least one"):
        ours.map_structure_up_to([0], repr)
    with pytest.raises(ValueError, match=r"missing in `b`:\n\{\('a',\)\}"):
        ours.assert_same_paths({"a": 1}, {"b": 1})


# ----------------------------------------------------------------- Keras itself on it


def _run(code, keras_home, backend, **more):
    """Run a program with Keras on our backend."""
    begin = """
        import sys, leafwise.compat.keras as ours
        sys.modules["keras.src.tree.optree_impl"] = ours
        import keras
        from keras.src.tree import tree_api
        assert tree_api.tree_impl is ours
    """
    source = Path(ours.__file__).parents[2]
    env = {
        **os.environ,
        "KERAS_BACKEND": backend,
        "KERAS_HOME": str(keras_home),
        **more,
    }
    env["PYTHONPATH"] = os.pathsep.join([str(source), env.get("PYTHONPATH", "")])
    program = textwrap.dedent(begin) + textwrap.dedent(code)
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=env,
        cwd=keras_home,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


OWN_TESTS = """
import unittest
from keras.src import testing
from keras.src.tree import tree_test

def types_only(self, kind, pattern, *args, **options):
    return self.assertRaises(kind, *args, **options)

testing.TestCase.assertRaisesRegex = types_only  # texts are our own
found = unittest.TestResult()
for group in unittest.defaultTestLoader.loadTestsFromModule(tree_test):
    for case in group:  # those of this backend, and not of TensorFlow's containers
        if case.id().endswith("_optree") and "_tf_" not in case.id():
            case.run(found)
for case, text in found.failures + found.errors:
    print(case.id(), text)
print(found.testsRun, len(found.failures + found.errors))
"""


@pytest.mark.slow
def test_the_tests_of_keras_pass(theirs, need, keras_home):
    """Those of `keras.tree`, which are installed with it, on our backend."""
    for name in ("absl.testing.parameterized", "pytest"):
        need(name)
    told = _run(OWN_TESTS, keras_home, "numpy")
    ran, failed = map(int, told.splitlines()[-1].split())
    assert ran >= 12, told
    assert failed == 0, told


MODEL = """
import numpy as np
from keras import layers

left, right = keras.Input((3,), name="left"), keras.Input((2,), name="right")
joined = layers.Concatenate()([layers.Dense(4, activation="relu")(left), right])
outputs = {"sum": layers.Dense(1, name="sum")(joined), "all": [joined]}
model = keras.Model({"left": left, "right": right}, outputs)
model.compile("sgd", loss={"sum": "mse", "all": [None]})
x = {"left": np.ones((8, 3)), "right": np.zeros((8, 2))}
history = model.fit(x, {"sum": np.ones((8, 1)), "all": [np.ones((8, 6))]}, verbose=0)
found = model.predict(x, verbose=0)
print(sorted(found), found["sum"].shape, found["all"][0].shape, len(history.history))
again = keras.models.model_from_json(model.to_json())
again.set_weights(model.get_weights())
assert np.allclose(again.predict(x, verbose=0)["sum"], found["sum"])
"""


@pytest.mark.slow
def test_a_model_is_trained_and_loaded(theirs, need, keras_home):
    """With inputs and outputs that are trees."""
    need("jax")
    told = _run(MODEL, keras_home, "jax")
    assert told.startswith("['all', 'sum'] (8, 1) (8, 6) ")
