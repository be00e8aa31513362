"""Plans, their text, and what a debugger sees of it."""

import ast
import inspect
import linecache
import re
import sys
from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest

import leafwise as lw
from helpers.confusable_trees import Layer, Node, Slotted, Text
from helpers.containers import MAKERS
from helpers.exact_forms import exact_form, exact_form_of_treedef
from leafwise.core import walk
from leafwise.core.registry import current
from leafwise.core.treedef import PyTreeDef


@pytest.mark.parametrize(
    "tree",
    [
        [None] * 100,
        [[]] * 50,
        [{}] * 30 + [[]] * 30,
        [[[]] * 20] * 20,
        [[1]] * 50,
        [[[1] * 10] * 10] * 10,
        [[{"a": [1] * k, "b": ()}] * n for k in (1, 3, 5, 9) for n in (2, 7, 30)],
        [[[{"w": [1, None], "b": {}}] * 9, 5] * 9] * 9,
        {f"k{i:03}": i for i in range(100)},
        {f"k{-i}": [i] for i in range(100)},
        OrderedDict((f"k{-i}", i) for i in range(100)),
        defaultdict(list, {f"k{-i}": (i,) for i in range(40)}),
        defaultdict(int, {"b": 1, "a": (2,)}),
        deque(range(50), 60),
        deque([[1], [1], 2]),
        namedtuple("Wide", [f"f{i}" for i in range(60)])(*range(60)),
        [Layer([i], (i, {"z": i}), "t") for i in range(40)],
        [Slotted(x=Layer(1, 2), tag=1)] * 40,
        [Node([i, [i]], [i]) for i in range(40)],
        [Node([i, Layer(i, 0, [i])], None) for i in range(40)],
        {"a": [Node([1], [0])] * 3, "b": Node([Node([], [1])] * 20, "t")},
        [Layer(list(range(20)), {"a": [1, 2], "b": {}})] * 3,
        [{"p": (big := {f"k{i}": [i, {"x": i}] for i in range(12)}), "q": big}, big],
        lw.Partial(len, [1, 2], key=(3,)),
        {(1, "a"): 1, (True, "b"): 2, None: 3, 4.5: [4]},
        [1, *[(2, 3)] * 12, 4, *[{"x": 5}] * 12],
    ],
    ids=lambda tree: type(tree).__name__,
)
def test_shapes_around_the_thresholds(tree, eager):
    """Loops, loops in loops, own functions, long nodes, nodes without leaves."""
    with lw.engine.disabled():
        leaves, treedef = lw.tree_flatten(tree)
        paths = treedef.paths()
    for _ in range(3):
        flat_leaves, again = lw.tree_flatten(tree)
        assert flat_leaves == leaves
        assert again == treedef
        assert again.paths() == paths
        assert exact_form(again.unflatten(leaves)) == exact_form(tree)
        assert again.flatten_up_to(tree) == leaves
        assert exact_form(lw.tree_map(lambda x, y: y, tree, tree)) == exact_form(tree)


def _others(keys):
    """Return keys that are hard to tell from some others, and what differs."""
    again = [eval(repr(key)) for key in keys]
    yield "equal", again
    yield "in another order", [*again[:-2], again[-1], again[-2]]
    yield "another one", [*again[:-1], "other"]
    yield "one more", [*again, "other"]
    yield "one less", again[:-1]
    place = 1 if type(keys[1]) is int else 0
    alike = True if place else Text(keys[0])
    yield "of another type", [*again[:place], alike, *again[place + 1 :]]


@pytest.mark.sweep
@pytest.mark.parametrize("size", [3, 12, 13, 32, 33])
@pytest.mark.parametrize("key", [lambda n: f"k{-n}", int], ids=["names", "numbers"])
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("times", [1, 20])
def test_keys_of_dicts_of_any_width(size, key, make, times, eager):
    """Other keys, another order, and equal keys of another type are seen."""
    keys = [key(n) for n in range(size)]
    trees = [make(dict.fromkeys(keys, 0))] * times
    for _ in range(3):
        treedef = lw.tree_structure(trees)
    for what, others in _others(keys):
        tree = [make(dict.fromkeys(others, 0))] * times
        structure = lw.tree_structure(tree)
        assert (structure is treedef) is (what == "equal")
        assert exact_form_of_treedef(structure) == exact_form_of_treedef(_walked(tree))
        assert exact_form(structure.unflatten(lw.tree_leaves(tree))) == exact_form(tree)


def _walked(tree):
    leaves, code = walk.flatten(tree, current.view)
    return PyTreeDef._make(tuple(code), len(leaves), current.view.mode)


@pytest.mark.parametrize("depth", [30, 90, 249, 251, 900])
@pytest.mark.parametrize(
    "wrap",
    [lambda x: [x], lambda x: {"k": x, "n": None}, lambda x: Layer(x, 1)],
    ids=["list", "dict", "dataclass"],
)
def test_deep_trees(wrap, depth, eager):
    """Deep trees are compiled in pieces, and the deepest left to the walk."""
    tree = 1
    for _ in range(depth):
        tree = wrap(tree)
    with lw.engine.disabled():
        leaves, treedef = lw.tree_flatten(tree)
    for _ in range(3):
        flat_leaves, again = lw.tree_flatten(tree)
        assert flat_leaves == leaves
        assert again == treedef
        rebuilt = again.unflatten(flat_leaves)
        assert lw.tree_leaves(rebuilt) == leaves
        assert again.flatten_up_to(rebuilt) == leaves
    assert (lw.engine.source(treedef) == "") == (depth > 250)


def _from_below(levels, function):
    return function() if levels == 0 else _from_below(levels - 1, function)


@pytest.mark.parametrize("room", range(60, 160, 10))
def test_a_caller_who_is_deep_in_the_stack(room, eager):
    """What the walk can do with little stack left, the engine does not spoil."""
    tree = {f"k{i}": {"a": [1, 2, (3, {"x": 4})]} for i in range(6)}

    def act():
        leaves, treedef = lw.tree_flatten(tree)
        assert treedef.unflatten(leaves) == tree
        assert treedef.flatten_up_to(tree) == leaves
        assert lw.tree_leaves(tree, is_leaf=lambda node: False) == leaves
        return leaves

    used = len(inspect.stack(0))
    levels = sys.getrecursionlimit() - used - room
    for _ in range(4):
        assert _from_below(levels, act) == [1, 2, 3, 4] * 6


# ------------------------------------------------------------------------------ text


def code_of(text):
    """Return a text without its comments, each of which is a line of its own."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert "#" not in "".join(lines)
    return "\n".join(lines)


def is_harmless(text):
    """Return whether there is nothing but comments, names and numbers in a text."""
    values = [
        node.value
        for node in ast.walk(ast.parse(code_of(text)))
        if isinstance(node, ast.Constant)
    ]
    return all(
        value is None
        or type(value) in (bool, int)
        or (len(value) <= 64 and re.fullmatch(r"\w+", value, re.ASCII))
        for value in values
    )


def test_no_user_data_enters_the_text():
    """Hostile keys and class names do no harm, and show in comments only."""
    key = "'); raise SystemExit; ('"
    cls = type("x\n): raise SystemExit", (Node,), {})
    lw.register_pytree_node(
        cls, lambda n: (n.kids, key), lambda aux, kids: cls(kids, 0)
    )
    try:
        tree = {key: [1], f"{key}2": cls([2], 0), '"""': {"\n": 3}}
        text = lw.engine.source(lw.tree_structure(tree))
        assert "SystemExit" not in code_of(text)
        assert is_harmless(text)
        with lw.engine.eager():
            for _ in range(3):
                assert sorted(lw.tree_leaves(tree)) == [1, 2, 3]
                assert lw.tree_map(lambda x: x, tree)[key] == [1]
    finally:
        lw.unregister_pytree_node(cls)


def test_odd_attribute_names(eager):
    """Fields that are keywords, or no ASCII, or debugging flags."""
    names = ("class", "é", "ﬁ", "__debug__", "_x", "__y")
    cls = type("Strange", (), {})
    lw.register_dataclass(cls, names, ())
    try:
        node = cls()
        node.__dict__.update({name: place for place, name in enumerate(names)})
        for _ in range(3):
            leaves, treedef = lw.tree_flatten([node])
            assert leaves == [0, 1, 2, 3, 4, 5]
            (rebuilt,) = treedef.unflatten(leaves)
            assert vars(rebuilt) == vars(node)
    finally:
        lw.unregister_pytree_node(cls)


def test_generated_functions_show_their_source(eager):
    """`inspect` finds the text, by the file that `linecache` holds."""
    for _ in range(3):
        leaves, treedef = lw.tree_flatten([1, {"here": 2}])
        treedef.unflatten(leaves)
    flatten = current.view.hot[list]
    build = treedef._runner.unflatten
    assert inspect.getsource(flatten).startswith("def flatten(tree):")
    assert inspect.getsource(build).startswith("def unflatten(treedef, leaves):")
    assert build.__code__.co_filename in linecache.cache


def test_source_takes_a_treedef_only():
    """The error says what was given."""
    with pytest.raises(
        lw.errors.TreeDefError, match="source takes a treedef, got list: "
    ):
        lw.engine.source([1])
