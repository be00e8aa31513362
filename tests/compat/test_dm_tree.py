"""The stand-in for dm-tree, beside the library: names, random programs, examples."""

import collections
import importlib.util
import sys
import types
from collections import OrderedDict, UserDict, UserList, defaultdict, deque
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import leafwise as lw
import leafwise.compat.dm_tree as ours
from compat.binding import missing
from compat.programs import SEEDS, Asked, Raised, pairs, ran


Point = collections.namedtuple("Point", "x y")
Other = collections.namedtuple("Other", "x y")


class Called(collections.namedtuple("Called", "x y")):  # noqa: SLOT002  # meant
    """A named tuple with attributes, whose constructor does something."""

    def __new__(cls, x, y=0):
        made = super().__new__(cls, x, y)
        made.note = "made"
        return made


class Items(dict):
    """A subclass of dict."""


class Row(list):
    """A subclass of list."""


class Line(tuple):  # noqa: SLOT001  # meant
    """A subclass of tuple."""


class Table(collections.abc.Mapping):
    """A mapping of its own."""

    def __init__(self, items):
        self.held = dict(items)

    def __getitem__(self, key):
        return self.held[key]

    def __iter__(self):
        return iter(self.held)

    def __len__(self):
        return len(self.held)

    def __repr__(self):
        return f"Table({self.held})"


# ------------------------------------------------------------------- random programs

WORDS = ["a", "b", "c", "d", "left", "right"]
LEAVES = st.sampled_from([None, "text", b"bytes", {1}, 0, 2.5, True, 1j, len])


def rows(make):
    return lambda children: st.lists(children, max_size=3).map(make)


def two(cls):
    return lambda children: st.builds(cls, children, children)


def dicts(make):
    keys = st.sampled_from(WORDS)
    return lambda children: st.dictionaries(keys, children, max_size=3).map(make)


NODES = [
    *(list, tuple, dict, OrderedDict, defaultdict, deque),
    *map(rows, (Row, Line, UserList)),
    *map(two, (Point, Other, Called)),
    *map(dicts, (Items, UserDict, Table, types.MappingProxyType)),
]


def turned(source, tree):
    """Return a tree in which some nodes are of other types, narrower or wider."""

    def turn(node):
        if source.random() > 0.3 or not ours.is_nested(node):
            return None
        if isinstance(node, collections.abc.Mapping):
            items = [*node.items()]
            return source.choice((dict, OrderedDict, Items, Table))(items)
        kids = [*node]
        if source.random() < 0.3:
            kids.append(1)
        return source.choice((list, tuple, Row, lambda kids: dict(enumerate(kids))))(
            kids
        )

    return ours.traverse(turn, tree)


def _other(source, tree, other):
    return source.choice((tree, other, turned(source, tree), turned(source, other)))


def flattened(module, source, tree, other):
    return (
        module.flatten(tree),
        module.is_nested(tree),
        [*map(module.is_nested, [1, ()])],
    )


def with_paths(module, source, tree, other):
    return module.flatten_with_path(tree)


def unflattened(module, source, tree, other):
    count = len(module.flatten(tree)) + source.choice((0, 0, 0, 1, -1))
    flat = [*range(max(count, 0))]
    return module.unflatten_as(tree, source.choice((flat, tuple(flat), deque(flat), 5)))


def mapped(module, source, tree, other):
    function = Asked(lambda *args: len(args))
    options = source.choice(({}, {}, {"check_types": False}, {"check_type": 1}))
    others = [_other(source, tree, other) for _ in range(source.randrange(3))]
    return module.map_structure(function, tree, *others, **options), function.calls


def mapped_with_path(module, source, tree, other):
    function = Asked(lambda path, *args: path)
    others = [_other(source, tree, other) for _ in range(source.randrange(3))]
    try:
        return module.map_structure_with_path(function, tree, *others), function.calls
    except ValueError:
        return function.calls


def mapped_up_to(module, source, tree, other):
    function = Asked(lambda *args: len(args))
    wider = _other(source, tree, other)
    trees = source.choice(((wider,), (wider, tree), ()))
    return module.map_structure_up_to(tree, function, *trees), function.calls


def mapped_with_path_up_to(module, source, tree, other):
    function = Asked(lambda path, *args: path)
    trees = (_other(source, tree, other), _other(source, tree, other))
    return module.map_structure_with_path_up_to(other, function, *trees)


def same_structure(module, source, tree, other):
    one = _other(source, tree, other)
    return module.assert_same_structure(tree, one, check_types=source.random() < 0.6)


def flattened_up_to(module, source, tree, other):
    one, options = (
        _other(source, tree, other),
        source.choice(({}, {"check_types": False})),
    )
    which = source.choice((module.flatten_up_to, module.flatten_with_path_up_to))
    return which(tree, one, **options)


def traversed(module, source, tree, other):
    answers = source.choice(((None,), (None, None, "new", module.MAP_TO_NONE)))
    function = Asked(lambda *args: source.choice(answers))
    which = source.choice((module.traverse, module.traverse_with_path))
    top_down = source.random() < 0.5
    return which(function, tree, top_down=top_down), function.calls


PROGRAMS = [
    flattened,
    with_paths,
    unflattened,
    mapped,
    mapped_with_path,
    mapped_up_to,
    mapped_with_path_up_to,
    same_structure,
    flattened_up_to,
    traversed,
]


KEYS = {"words": st.sampled_from(WORDS), "mixed": st.sampled_from(["a", 1, None, (1,)])}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("keys", KEYS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@given(data=st.data(), seed=SEEDS)
def test_random_programs_run_as_there(dm_tree, program, keys, data, seed):
    """Of keys that cannot be sorted, only that it fails."""
    trees = data.draw(pairs(nodes=NODES, leaves=LEAVES, keys=KEYS[keys]))
    expected, found = (
        ran(program, dm_tree, seed, *trees),
        ran(program, ours, seed, *trees),
    )
    if keys == "mixed" and isinstance(expected, Raised):
        assert isinstance(found, Raised)
    else:
        assert expected == found


# ------------------------------------------------------------------ names, documents


def test_every_name_is_there_and_takes_the_same_calls(dm_tree):
    names = [*dm_tree.__all__, "traverse_with_path", "__version__"]
    names += ["Structure", "StructureKV"]
    assert missing(dm_tree, ours, names=names) == []
    assert {*dm_tree.__all__} == {*ours.__all__}


TEXTS = {
    "testAssertSameStructure_differentNumElements",
    "testAssertSameStructure_intVsList",
    "testAssertSameStructure_listVsNdArray",
}
"""What asks for whole sentences of an error."""

PRIVATE = {
    "testAssertShallowStructure",
    "testAttrsFlattenAndUnflatten",
    "testFlattenUpTo",
    "testFlattenWithPathUpTo",
}
"""What asks for names that begin with an underscore."""


@pytest.mark.filterwarnings("ignore")
def test_the_tests_of_the_library_pass(dm_tree, need, monkeypatch, capsys):
    """As they are installed with it, on the stand-in."""
    import unittest

    for name in ("absl.testing.parameterized", "attr", "wrapt", "numpy"):
        need(name)
    path = Path(dm_tree.__file__).parent / "tree_test.py"
    if not path.exists():
        pytest.skip("the tests are not installed")
    spec = importlib.util.spec_from_file_location("tree_test", path)
    tests = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "tree_test", tests)
    monkeypatch.setitem(sys.modules, "tree", ours)
    spec.loader.exec_module(tests)
    found = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromModule(tests).run(found)
    failed = {case.id().rpartition(".")[2] for case, _ in found.failures + found.errors}
    assert found.testsRun > 50
    assert failed <= TEXTS | PRIVATE


# ----------------------------------------------------------------------- by themselves


def test_deep_trees_and_cycles():
    deep = 1
    for _ in range(2_000):
        deep = [deep]
    assert ours.flatten(deep) == [1]
    assert ours.flatten(ours.map_structure(lambda x: -x, deep)) == [-1]
    assert ours.flatten(ours.traverse(lambda x: None, deep)) == [1]
    assert len(ours.flatten_with_path(deep)[0][0]) == 2_000
    ours.assert_same_structure(deep, deep)
    node = []
    node.append({"a": node})
    for call in (ours.flatten, lambda x: ours.traverse(lambda _: None, x)):
        with pytest.raises(lw.errors.CycleError):
            call(node)


def test_errors_say_where():
    with pytest.raises(TypeError, match="not supported between") as caught:
        ours.flatten([1, {"a": {1: 0, "b": 0}}])
    assert caught.value.__notes__ == ["at key path [1]['a']"]
    with pytest.raises(ValueError, match=r"at path \('a', 1\)"):
        ours.assert_same_structure({"a": [1, [2]]}, {"a": [1, 2]})
    with pytest.raises(TypeError, match=r"at path \['a'\]"):
        ours.flatten_with_path_up_to({"a": [1]}, {"a": 1})
    with pytest.raises(ZeroDivisionError) as caught:
        ours.map_structure(lambda x: 1 / x, {"a": [1, 0]})
    assert caught.value.__notes__ == ["at key path ['a'][1]"]
