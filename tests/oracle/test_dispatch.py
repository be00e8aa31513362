"""Calls of compiled functions: the same whether a graph is read or flattened."""

import functools
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
from leafwise import nn
from leafwise.nn.graph import flatten_graph


sys.path.append(str(Path(__file__).parents[1] / "nn"))
from test_known_graphs import CLASSES, change, random_graph  # just found


HAS_ENGINE = importlib.util.find_spec("leafwise.engine") is not None
MODES = ("eager", "disabled") if HAS_ENGINE else ("off",)


def mode(name):
    """Return a context in which the engine is in a mode."""
    return getattr(lw.engine, name)() if HAS_ENGINE else nullcontext()


def act(number, things, boxes, x):
    """Do something to the objects of a graph."""
    thing = things[number % len(things)] if things else nn.Dict()
    box = boxes[number % len(boxes)] if boxes else nn.Param(x)
    other = boxes[number // 3 % len(boxes)] if boxes else nn.Param(x)
    name = "abcd"[number // 5 % 4]

    def put(value):
        if isinstance(thing, nn.List):
            thing.append(value)
        else:
            setattr(thing, name, value)

    def swap():
        first, second = box.get_raw_value(), other.get_raw_value()
        box.set_value(second)
        other.set_value(first)

    def drop():
        if isinstance(thing, nn.List):
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
    results = (None, x, roots[0], {"x": x * 3, "in": (roots[-1], nn.List([x]))})
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
    return flat.graphdef, values, names


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


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"donate_argnums": 1}])
@settings(max_examples=25)
@given(st.integers(0, 1 << 30))
def test_calls_are_the_same_with_and_without_the_engine(jax, options, seed):
    """Sequences of calls, with changes in between; and as the function itself does."""
    draw = random.Random(seed)
    roots = random_graph(draw, CLASSES)[0]
    copies = {name: nn.clone(roots) for name in (*MODES, "plain")}
    functions = {name: nn.jit(step, static_argnums=0, **options) for name in MODES}
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


def test_what_is_left_alone_stays(jax):
    """Values are not copied, whether they are arrays of jax or not."""
    numpy, ones = np, jax.numpy.ones(2)
    model = nn.Dict(
        w=nn.Param(ones),
        bare=lw.data(ones),
        number=nn.Cache(3),
        table=lw.data(numpy.ones(2)),
        inside=lw.data((ones, [2.5])),
    )
    total = nn.jit(lambda model, x: model.w.sum() + x)
    for turn in range(4):
        inside, x = model.inside, numpy.float32(turn)
        assert float(total(model, x)) == 2 + turn
        assert model.w.value is model.bare is model.inside[0] is ones
        assert (model.number.value, model.inside[1][0]) == (3, 2.5)
        assert type(model.table) is numpy.ndarray
        assert model.inside is inside


def test_what_only_moves_is_not_copied(jax):
    """Arrays that change their places; of one that is in two then, there is a copy."""
    a, b, c = (jax.numpy.ones(2) * n for n in range(3))
    model = nn.Dict(a=nn.Param(a), b=nn.Param(b), c=lw.data(c))

    @nn.jit
    def turn(model):
        model.a.value, model.b.value = model.b.value, model.c
        model.c = model.a.value

    turn(model)
    assert model.a.value is b
    assert model.b.value is c
    assert model.c.tolist() == b.tolist()


def test_no_array_is_in_two_places_after_a_call(jax):
    """It could not be donated; the one that stayed where it was is no copy."""
    online = jax.numpy.ones(2)
    model = nn.Dict(target=nn.Param(online * 0), online=nn.Param(online), n=nn.Cache(0))

    @nn.jit
    def follow(model):
        model.target.value = model.online.value

    @functools.partial(nn.jit, donate_argnums=0)
    def step(model):
        model.online.value = model.online.value + 1

    follow(model)
    assert model.online.value is online
    assert model.target.value is not online
    for turn in range(4):
        step(model)
        follow(model)
        assert model.target.value.tolist() == [2.0 + turn] * 2


def test_references_are_left_where_they_are(jax):
    """jax lets none come out of a compiled function."""
    if not hasattr(jax, "new_ref"):
        pytest.skip("an old jax")
    model = nn.Dict(seen=nn.Cache(jax.new_ref(jax.numpy.zeros(2))), n=nn.Cache(0))
    held = model.seen.value

    @nn.jit
    def step(model):
        model.seen.value[...] = model.seen.value[...] + 1
        model.n[...] += 1

    for _ in range(4):
        step(model)
    assert model.seen.value is held
    assert (held[...].tolist(), int(model.n)) == ([4.0, 4.0], 4)


def test_options_that_place_values_keep_none(jax):
    """What is donated comes back as the function returns it."""
    array = jax.numpy.ones(2)
    model = nn.Dict(w=nn.Param(array))
    nn.jit(lambda model: None, donate_argnums=0)(model)
    assert model.w.value is not array
    assert model.w.value.tolist() == [1.0, 1.0]


def test_hooks_and_setters_are_not_asked(jax):
    """What comes back is stored as it is, as it has always been."""
    asked = []
    hooks = {"on_set_value": lambda _, value: asked.append(value) or value}

    class Picky(nn.Module):
        def __setattr__(self, name, value):
            asked.append(name)
            super().__setattr__(name, value)

    model = Picky()
    model.w, model.b = nn.Param(jax.numpy.ones(2), **hooks), lw.data(jax.numpy.ones(2))

    @nn.jit
    def step(model):
        vars(model)["b"] = model.b + 1

    step(model)
    asked.clear()
    for _ in range(3):
        step(model)
    assert asked == []
    assert model.b.tolist() == [5.0, 5.0]


def test_variables_that_take_values_their_own_way(jax):
    """A method that a type of variables overrides is called."""
    taken = []

    class Own(nn.Param):
        def update_from_state(self, other):
            taken.append(other.get_raw_value())
            super().update_from_state(other)

    model = nn.Dict(w=Own(jax.numpy.ones(2)))
    step = nn.jit(lambda model: model.w.set_value(model.w * 2))
    for _ in range(3):
        step(model)
    assert [array.tolist()[0] for array in taken] == [2.0, 4.0, 8.0]


def test_objects_of_other_levels_are_refused_each_time(jax):
    """Also once their graph is known."""
    model = nn.Dict(n=nn.Cache(jax.numpy.zeros(())))

    @nn.jit
    def step(model):
        model.n[...] += 1

    for _ in range(3):
        step(model)
    with pytest.raises(lw.errors.TraceError, match="Cannot mutate"):
        jax.jit(lambda x: step(model) or x)(1.0)
    step(model)
    assert int(model.n) == 4


def test_a_function_that_raises_changes_nothing(jax):
    """Also once its graph is known, when it is traced anew."""
    model = nn.Dict(n=nn.Cache(jax.numpy.zeros(())))

    @nn.jit
    def step(model, x):
        model.n[...] += 1
        if x.shape:
            raise ValueError("too long")

    for _ in range(3):
        step(model, 1.0)
    before = model.n.value
    with pytest.raises(ValueError, match="too long"):
        step(model, jax.numpy.ones(2))
    assert model.n.value is before


def test_objects_from_before_jax(jax):
    """Without a stamp of the trace level they are of the outer one."""
    model = nn.Dict(n=nn.Cache(jax.numpy.zeros(())))
    for obj in (model, model.n):
        object.__delattr__(obj, "_leafwise_stamp")
    step = nn.jit(lambda model: model.n.set_value(model.n + 1))
    for _ in range(4):
        step(model)
    assert int(model.n) == 4
