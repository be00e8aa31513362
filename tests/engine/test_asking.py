"""Predicates: asked of the same nodes in the same order, whatever was guessed."""

import functools
import gc
import weakref
from collections import OrderedDict, defaultdict, deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

import leafwise as lw
from alike import (
    LEAVES,
    Layer,
    Node,
    Pair,
    outcome,
    told,
    told_treedef,
    trees,
    variants,
)
from leafwise.engine.asking import MAX_DEPTH, emit_asking
from leafwise.engine.cache import engine
from leafwise.engine.plan import make_plan


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


def shrink(tree):
    """Take away the last item of each list and dict, as far as a tree has them."""
    inner = list(tree.values()) if isinstance(tree, dict) else tree
    for child in inner if isinstance(inner, list | tuple) else ():
        shrink(child)
    if type(tree) in (list, deque, dict, OrderedDict, defaultdict) and tree:
        tree.popitem() if isinstance(tree, dict) else tree.pop()


def grow(tree):
    """Put a leaf and a node into each list and dict."""
    for child in [*tree.values()] if isinstance(tree, dict) else tree:
        if isinstance(child, list | dict):
            grow(child)
    if type(tree) in (list, deque):
        tree.append([1])
    elif type(tree) is dict:
        tree["grown"] = (2,)


def fail(error):
    raise error


AT_ONE_CALL = {
    "fail": lambda tree: fail(ValueError("mine")),
    "end a generator": lambda tree: fail(StopIteration("mine")),
    "fail without a path": lambda tree: fail(lw.FlattenError("mine")),
    "fail to say": lambda tree: Truth(False, KeyError("mine")),
    "shrink": lambda tree: shrink(tree) if isinstance(tree, list | tuple | dict) else 0,
    "grow": lambda tree: grow(tree) if isinstance(tree, list | dict) else 0,
    "forget": lambda tree: lw.engine.forget(),
    "walk again": lambda tree: lw.tree_leaves(tree, is_leaf=lambda x: False) and None,
    "register": lambda tree: lw.namespace("asked, one after another"),
    "say yes": lambda tree: True,
}


def asking(stops, tree, calls, event, at):
    """Return a predicate that takes note, and does something at one call."""

    def ask(node):
        calls.append(told(node))
        if len(calls) == at:
            answer = AT_ONE_CALL[event](tree)
            if answer is not None:
                return answer
        return stops(node)

    return ask


SINGLE = (
    lambda tree, ask, **how: [
        told(lw.tree_leaves(tree, ask, **how)),
        told_treedef(lw.tree_structure(tree, ask, **how)),
    ],
    lambda tree, ask, **how: lw.tree_map(lambda x: (x,), tree, is_leaf=ask, **how),
    lambda tree, ask, **how: [
        (str(path), told(leaf))
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
        made = [lw.tree_map(lambda x: x, family[number]) for number, *_ in steps]
    with getattr(lw.engine, mode)():
        return [*_played(made, call, steps, how)]


def _played(made, call, steps, how):
    for tree, (_, stops, event, at) in zip(made, steps, strict=True):
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
    st.sampled_from([{}, {}, {"none_is_leaf": True}]),
)
def test_the_same_calls_as_the_walk(mode, data, tree, call, steps, how):
    """Trees that differ in one place, predicates that do anything, in turn."""
    second = data.draw(variants(tree))
    family = [tree, second, data.draw(variants(second))]
    steps = [(0, STOPPING[0], "nothing", 0)] * (4 if mode == "enabled" else 1) + steps
    expected = played("disabled", family, call, steps, how)
    assert played(mode, family, call, steps, how) == expected
