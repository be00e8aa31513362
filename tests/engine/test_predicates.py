"""Predicates: asked of the same nodes in the same order, whatever was guessed."""

import gc
import weakref
from collections import OrderedDict, defaultdict, deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

import leafwise as lw
from helpers.confusable_trees import Layer, Node, Other, Pair, Tree, trees, variants
from helpers.exact_forms import exact_form, exact_form_of_treedef, outcome


# ------------------------------------------------------------------ the calls


class Truth:
    """An answer that is no bool, and may refuse to say what it is."""

    def __init__(self, answer, error=None):
        self.answer = answer
        self.error = error

    def __bool__(self):
        if self.error is not None:
            raise self.error
        return self.answer


STOPPING = (
    lambda node: False,
    lambda node: node is None,
    lambda node: isinstance(node, tuple),
    lambda node: isinstance(node, tuple | Layer | Node),
    lambda node: type(node) in (int, str, dict),
    lambda node: "yes" if type(node) is list and len(node) == 1 else "",
    lambda node: Truth(type(node) is dict),
)


def fail(error):
    raise error


AT_ONE_CALL = {
    "fail": lambda tree: fail(ValueError("mine")),
    "end a generator": lambda tree: fail(StopIteration("mine")),
    "fail without a path": lambda tree: fail(lw.errors.FlattenError("mine")),
    "fail to say": lambda tree: Truth(False, KeyError("mine")),
    "forget": lambda tree: lw.engine.forget(),
    "walk again": lambda tree: lw.tree_leaves(tree, is_leaf=lambda x: False) and None,
    "register": lambda tree: lw.namespace("asked, one after another"),
    "say yes": lambda tree: True,
}


def asking(stops, tree, calls, event, at):
    """Return a predicate that takes note, and does something at one call."""

    def ask(node):
        calls.append(exact_form(node))
        if len(calls) == at:
            answer = AT_ONE_CALL[event](tree)
            if answer is not None:
                return answer
        return stops(node)

    return ask


SINGLE = (
    lambda tree, ask, **how: [
        exact_form(lw.tree_leaves(tree, ask, **how)),
        exact_form_of_treedef(lw.tree_structure(tree, ask, **how)),
    ],
    lambda tree, ask, **how: lw.tree_map(lambda x: (x,), tree, is_leaf=ask, **how),
    lambda tree, ask, **how: [
        (str(path), exact_form(leaf))
        for path, leaf in lw.tree_leaves_with_path(tree, ask, **how)
    ],
    lambda tree, ask, **how: lw.tree_reduce(
        lambda a, b: [a, b], tree, 0, is_leaf=ask, **how
    ),
    lambda tree, ask, **how: lw.tree_map(
        lambda *both: both, tree, tree, is_leaf=ask, **how
    ),
)

steps = st.tuples(
    st.integers(0, 2),
    st.sampled_from(STOPPING[:3] + STOPPING),
    st.sampled_from(["nothing", "nothing", *AT_ONE_CALL]),
    st.integers(1, 20),
)


def played(mode, family, call, steps, how):
    """Return what each call gave, and what it asked, in one mode of the engine."""
    with lw.engine.disabled():
        trees = [lw.tree_map(lambda x: x, family[number]) for number, *_ in steps]
    with getattr(lw.engine, mode)():
        return list(_played(trees, call, steps, how))


def _played(trees, call, steps, how):
    for tree, (_, stops, event, at) in zip(trees, steps, strict=True):
        calls = []
        ask = asking(stops, tree, calls, event, at if event != "nothing" else 0)
        result = outcome(call, tree, ask, **how)
        yield result, calls


@pytest.mark.parametrize("mode", ["eager", "enabled"])
@given(
    st.data(),
    trees,
    st.sampled_from(SINGLE),
    st.lists(steps, min_size=1, max_size=12),
    st.sampled_from([{}, {"none_is_leaf": True}, {"namespace": "alike-nones"}]),
)
def test_the_same_calls_as_the_walk(mode, data, tree, call, steps, how):
    """Trees that differ in one place, predicates that do anything, in turn."""
    second = data.draw(variants(tree))
    family = [tree, second, data.draw(variants(second))]
    steps = [(0, STOPPING[0], "nothing", 0)] * (4 if mode == "enabled" else 1) + steps
    expected = played("disabled", family, call, steps, how)
    assert played(mode, family, call, steps, how) == expected


# ------------------------------------------------------------------- at each place


def _block(number):
    """Return a tree that is large enough for a function of its own."""
    rows = {f"row{n}": (number, [n, {"x": n}], None) for n in range(12)}
    return {"rows": rows, "kind": "block", "pair": Pair([1], {"deep": (2, (3,))})}


LARGE = {
    "blocks": lambda: {"a": _block(1), "b": [_block(2), _block(3)], "c": _block(4)},
    "long": lambda: [*map(float, range(20)), (1, 2), *map(str, range(20)), None, [3]],
    "loops": lambda: ([{"a": [n] * 5, "b": (n, {"c": None})} for n in range(12)], "z"),
    "wide": lambda: {f"k{n % 7}{n}": [n] if n % 5 == 0 else n for n in range(40)},
    "varying": lambda: [
        Layer(Node([1, (2,)], {"a": n}), Layer([n], None, [1]), [n]) for n in range(9)
    ],
    "records": lambda: [Layer((n,), {"x": n}, [n]) for n in range(4)],
    "objects": lambda: {
        "tree": Tree([[1], 2, (3,)], [4], "abc"),
        "nodes": [Node([n, (n, n)], "t") for n in range(20)],
        "records": [Layer(n, (n,), "t") for n in range(20)],
        "many": Node([*range(20), (1,)], None),
    },
    "kinds": lambda: (
        OrderedDict(b=1, a=[2, 3]),
        defaultdict(list, x=(4,), y=5),
        deque([6, [7]], 9),
        deque(range(20)),
        Other(8, Pair((9,), [])),
        {},
        OrderedDict((f"k{n}", (n,)) for n in range(20)),
        lw.Partial(len, [1], k=(2,)),
    ),
}


PLACES = [
    pytest.param(name, marks=pytest.mark.slow if name == "blocks" else ())
    for name in LARGE
]


def after(mode, first, other):
    """Return what a call gives and asks, after calls with another tree."""
    with getattr(lw.engine, mode)():
        for _ in range(2):
            lw.tree_leaves(first, is_leaf=lambda node: False)
        calls = []

        def ask(node):
            calls.append(exact_form(node))
            return False

        return outcome(lw.tree_flatten, other, is_leaf=ask), calls


@pytest.mark.sweep
@pytest.mark.parametrize("name", PLACES)
def test_another_tree_at_each_place(name):
    """A leaf that becomes a node, and anything that becomes a leaf."""

    def played(mode, place, other):
        leaves, treedef = lw.tree_flatten(LARGE[name]())
        leaves[place] = other
        return after(mode, LARGE[name](), treedef.unflatten(leaves))

    count = len(lw.tree_leaves(LARGE[name]()))
    for place in sorted({*range(0, count, 1 + count // 12), count - 1}):
        for other in ([1, (2,)], None, object, Node([3], [4])):
            expected = played("disabled", place, other)
            assert played("eager", place, other) == expected


# ----------------------------------------------------------------------- the guesses


@given(trees, st.sampled_from([None, tuple, lambda node: isinstance(node, tuple)]))
def test_the_walk_is_really_left_out(tree, ask):
    """Where a structure is compiled, the same treedef comes back each time."""
    with lw.engine.eager():
        for _ in range(3):
            treedef = lw.tree_structure(tree, is_leaf=ask)
        text = lw.engine.source(treedef)
        if text and "treedef_with" not in text and "Lazy" not in repr(treedef):
            assert lw.tree_structure(tree, is_leaf=ask) is treedef


def test_a_tree_that_contains_itself(engine_on):
    """The predicate is asked as often as by the walk until that is found."""

    def played():
        tree = [1, [2, [3, 0]]]
        for _ in range(5):
            lw.tree_leaves(tree, is_leaf=lambda node: False)
        calls = []
        tree[1][1][1] = tree
        error = outcome(lw.tree_leaves, tree, is_leaf=lambda node: calls.append(1))
        return error, len(calls)

    with lw.engine.disabled():
        expected = played()
    assert played() == expected
    assert expected[0][0] is lw.errors.CycleError


# --------------------------------------------------------------------- what is kept


class Thing:
    """Can be referred to weakly."""


def test_neither_predicates_nor_trees_are_kept(eager):
    """Not after hits, nor after misses, nor after failures."""
    watched = []

    def use(event):
        things = [Thing(), Thing()]
        tree = {"a": [things[0], (1, 2)], "b": Layer(Thing(), 1, things[1])}

        def ask(node, nodes=Thing()):  # noqa: B008
            if event == "fail" and node == 2:
                raise ValueError(node, nodes)
            return event == "yes" and type(node) is tuple

        watched.extend(map(weakref.ref, (*things, ask, ask.__defaults__[0], tree["b"])))
        outcome(lw.tree_map, lambda x: x, tree, is_leaf=ask)

    for event in ("hit", "hit", "yes", "fail", "hit", "yes", "fail"):
        use(event)
    gc.collect()
    assert [ref() for ref in watched] == [None] * len(watched)
    assert lw.engine.stats()["structures"] == 2
