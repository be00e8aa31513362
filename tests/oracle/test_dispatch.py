"""Calls of compiled functions: the same whether a graph is read or flattened."""

import importlib.util
import random
import sys
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leafwise as lw
from leafwise import integrations, nn
from leafwise.nn.graph import GraphDef, flatten_graph


sys.path.append(str(Path(__file__).parents[1] / "nn"))
from test_template import CLASSES, change, random_graph  # noqa: E402  # just found


HAS_ENGINE = importlib.util.find_spec("leafwise.engine") is not None
MODES = ("eager", "disabled") if HAS_ENGINE else ("off",)


def mode(name):
    """Return a context in which the engine is in a mode."""
    return getattr(lw.engine, name)() if HAS_ENGINE else nullcontext()


def act(number, things, boxes, x):
    """Do something to the objects of a graph."""
    thing = things[number % len(things)] if things else lw.Dict()
    box = boxes[number % len(boxes)] if boxes else nn.Param(x)
    other = boxes[number // 3 % len(boxes)] if boxes else nn.Param(x)
    name = "abcd"[number // 5 % 4]

    def put(value):
        if isinstance(thing, lw.List):
            thing.append(value)
        else:
            setattr(thing, name, value)

    def swap():
        first, second = box.get_raw_value(), other.get_raw_value()
        box.set_value(second)
        other.set_value(first)

    def drop():
        if isinstance(thing, lw.List):
            del thing[:1]
        else:
            delattr(thing, name)

    acts = (
        lambda: box.set_value(x * 2),
        lambda: box.set_value(x + box.get_raw_value()),
        swap,
        lambda: other.set_value(box.get_raw_value()),
        lambda: put(nn.Param(x)),
        lambda: put(box),
        lambda: put(lw.data(x + 1)),
        lambda: put(lw.data((x, [box]))),
        lambda: put(lw.static(number)),
        lambda: put(lw.data(thing)),
        lambda: box.set_metadata(note=number % 2),
        drop,
        lambda: None,
    )
    acts[number % len(acts)]()


def step(acts, roots, x):
    """Do some things, and return something."""
    flat = flatten_graph(roots)
    things = [thing for thing in flat.tracked if not isinstance(thing, nn.Variable)]
    boxes = [box for box in flat.tracked if isinstance(box, nn.Variable)]
    for number in acts:
        act(number, things, boxes, x)
    results = (None, x, roots[0], {"x": x * 3, "in": (roots[-1], lw.List([x]))})
    return results[sum(acts) % len(results)]


def told(roots):
    """Return everything about a graph, but which objects these are."""
    flat = flatten_graph(roots)
    values = [
        np.asarray(leaf).tolist()
        for leaf in (
            leaf
            for box in flat.leaves
            for leaf in lw.tree_leaves(
                box.get_raw_value() if isinstance(box, nn.Variable) else box
            )
        )
    ]
    names = [[*vars(x)] for x in flat.tracked if isinstance(x, lw.Pytree)]
    return GraphDef(tuple(flat.code)), values, names


def outcome(function, acts, roots, x):
    """Return what a call gives, and what the objects are then; or what it raises."""
    known = [*map(id, flatten_graph(roots).tracked)]
    try:
        result = function(acts, roots, x)
    except Exception as error:
        return type(error), told(roots)
    after = flatten_graph((roots, result)).tracked
    numbers = {number: place for place, number in enumerate(known)}
    kept = [numbers.get(id(thing)) for thing in after]
    return told((roots, result)), kept, told(roots)


@pytest.mark.parametrize("options", [{}, {"donate_argnums": 1}])
@settings(max_examples=25)
@given(st.integers(0, 1 << 30))
def test_calls_are_the_same_with_and_without_the_engine(jax, options, seed):
    """Sequences of calls, with changes in between; and as the function itself does."""
    draw = random.Random(seed)
    roots = random_graph(draw, CLASSES)[0]
    copies = {name: nn.clone(roots) for name in (*MODES, "plain")}
    functions = {
        name: integrations.jit(step, static_argnums=0, **options) for name in MODES
    }
    acts = tuple(draw.randrange(200) for _ in range(draw.randrange(3)))
    for turn in range(5):
        if turn > 2 and draw.random() < 0.5:
            acts = tuple(draw.randrange(200) for _ in range(draw.randrange(3)))
        if turn > 2 and draw.random() < 0.7:
            state = draw.getstate()
            for copy in copies.values():
                draw.setstate(state)
                change(draw, copy)
        x = [jax.numpy.ones(2) * turn for _ in copies]  # no two have an array in common
        outcomes = {"plain": outcome(step, acts, copies["plain"], x.pop())}
        for name in MODES:
            with mode(name):
                outcomes[name] = outcome(functions[name], acts, copies[name], x.pop())
        first = outcomes[MODES[0]]
        assert all(first == outcomes[name] for name in MODES)
        if len(first) == 2:
            return
        plain = outcomes["plain"]  # which keeps what cached properties worked out
        assert (first[0][:2], first[1]) == (plain[0][:2], plain[1])
