"""Loops, branches and `remat` that keep sharing: case by case with Flax NNX."""

import csv
import functools
import logging
import re
from pathlib import Path

import numpy as np
import pytest

import leafwise as lw
from leafwise import nn
from peers import peer


def layer(library, *shape, **attributes):
    """Return a module of one of the libraries, with a parameter and a count."""

    class Layer(library.Module):
        def __init__(self):
            size = int(np.prod(shape))
            values = np.arange(1.0, size + 1, dtype=np.float32) / size
            self.w = library.Param(as_array(values.reshape(shape)))
            self.count = library.BatchStat(as_array(np.zeros(shape[:1])))
            for name, value in attributes.items():
                setattr(self, name, value)

        def __call__(self, x):
            self.count[...] = self.count[...] + 1
            return jnp().tanh(self.w[...] * x)

    return Layer()


def jnp():
    """Return `jax.numpy`."""
    import jax.numpy

    return jax.numpy


def as_array(value):
    """Return an array of jax."""
    return jnp().asarray(value, dtype=np.float32)


def values_of(*objects):
    """Return the values of layers."""
    return [(one.w[...], one.count[...]) for one in objects]


# ---------------------------------------------------------------------------- scan


def scan_over_layers(L):
    one = layer(L, 3)

    @L.scan(in_axes=(L.Carry, 0), out_axes=(L.Carry, 0))
    def forward(x, one):
        y = one(x)
        return y, x

    return forward(as_array(0.5), one), values_of(one)


def scan_of_the_carry_alone(L):
    one = layer(L, 2)

    @L.scan(in_axes=(L.Carry, None), out_axes=L.Carry, length=4)
    def forward(x, by):
        return x * by + 1

    f = L.scan(lambda x: x * 2, in_axes=L.Carry, out_axes=L.Carry, length=3)
    return forward(as_array([1.0, 2.0]), as_array(2.0)), f(1.0), values_of(one)


def scan_carries_an_object(L):
    one = layer(L, 2)

    @L.scan
    def step(carry, x):
        one, total = carry
        y = one(x)
        return (one, total + y.sum()), y

    (again, total), ys = step((one, 0.0), as_array(np.ones((3, 2))))
    return again is one, total, ys, values_of(one)


def scan_by_state_axes(L):
    one = layer(L, 3)
    one.count = L.BatchStat(as_array(0.0))
    axes = L.StateAxes({L.Param: 0, ...: L.Carry})

    @L.scan(in_axes=(axes, L.Carry), out_axes=(0, L.Carry))
    def forward(one, x):
        return one.w[...], one(x)

    ws, last = forward(one, as_array(0.5))
    return ws, last, values_of(one)


def scan_by_state_axes_without_a_carry_argument(L):
    one = layer(L, 3, 2)
    one.count = L.BatchStat(as_array(0.0))
    axes = L.StateAxes([(L.PathContains("w"), 1), (L.BatchStat, None)])
    one.w = L.Param(one.w[...].T)
    f = L.scan(lambda one, x: one.w[...] * x, in_axes=(axes, 0), out_axes=1)
    return f(one, as_array([1.0, 2.0, 3.0])), values_of(one)


def scan_over_other_axes(L):
    one = layer(L, 2, 3)
    one.count = L.BatchStat(as_array(np.zeros((2, 3))))

    @L.scan(in_axes=(1, L.Carry, -1), out_axes=(L.Carry, 1, -1))
    def forward(one, x, y):
        z = one(x)
        return z + y.sum(), y, y * 2

    x = as_array([1.0, 2.0])
    y = as_array(np.arange(12.0).reshape(2, 2, 3))
    return forward(one, x, y), values_of(one)


def scan_over_trees(L):
    tree = {"a": as_array(np.arange(3.0)), "b": (as_array(np.ones((2, 3))), None)}

    def f(tree, x):
        return {"s": tree["a"] + x["k"], "t": [tree["b"][0]]}

    axes = ({"a": 0, "b": 1}, {"k": 0, "l": None})
    g = L.scan(f, in_axes=axes, out_axes={"s": 0, "t": 1})
    return g(tree, {"k": as_array(np.ones(3)), "l": as_array(9.0)})


def scan_in_reverse(L):
    f = L.scan(lambda c, x: (c * 2 + x, c), reverse=True, unroll=2)
    return f(1.0, as_array(np.arange(4.0)))


def scan_by_keyword(L):
    f = L.scan(lambda c, x: (c + x, c * x))
    return f(as_array(1.0), x=as_array(np.arange(4.0)))


def scan_makes_objects(L):
    def f(c, x):
        one = layer(L, 2)
        one.w[...] = one.w[...] * x
        return c, one

    return values_of(L.scan(f)(1.0, as_array(np.arange(3.0)))[1])


def scan_sets_attributes(L):
    one = layer(L, 3, size=1)

    def f(c, one):
        one.more = L.Param(one.w[...] * 2)
        one.size = 2
        return c, None

    L.scan(f)(1.0, one)
    return one.more[...], one.size


def scan_shares(L):
    shared = layer(L, 3)
    both = layer(L, 3, left=shared, right=shared)
    seen = []

    def f(x, both):
        seen.append(both.left is both.right)
        return both.right(both.left(x)), 0

    x, _ = L.scan(f)(as_array(0.5), both)
    return all(seen), x, both.left is both.right, values_of(shared, both)


def scan_has_gradients(L):
    one = layer(L, 3)

    def loss(one, x):
        last, all_ = L.scan(lambda x, one: (one(x), x))(x, one)
        return last + all_.sum()

    return L.grad(loss)(one, as_array(0.5))["w"][...], values_of(one)


def scan_in_jit(L):
    one, traced = layer(L, 3), []

    @L.jit
    def f(one, x):
        traced.append(1)
        return L.scan(lambda x, one: (one(x), x))(x, one)

    f(one, as_array(0.5))
    return f(one, as_array(0.5)), values_of(one), len(traced)


# --------------------------------------------------------------------------- branches


def cond_changes_objects(L):
    one, two = layer(L, 2), layer(L, 2, other=3)

    def up(one, two, x):
        one.w[...] = one.w[...] + x
        return two(x)

    def down(one, two, x):
        two.w[...] = two.w[...] - x
        return one(x)

    found = [L.cond(p, up, down, one, two, 2.0) for p in (True, False, as_array(1))]
    return found, values_of(one, two)


def cond_sets_attributes(L):
    one = layer(L, 2, size=1)

    def f(one, by):
        one.more = L.Param(one.w[...] * by)
        one.size = 2
        return one

    again = L.cond(False, lambda one: f(one, 2), lambda one: f(one, 3), one)
    return again is one, one.more[...], one.size


def cond_returns_trees(L):
    one = layer(L, 2)
    f = lambda one, tree: {"k": (tree["x"], [one.w[...]])}  # noqa: E731  # a branch
    g = lambda one, tree: {"k": (one.w[0], [tree["y"]])}  # noqa: E731  # a branch
    tree = {"x": as_array(7.0), "y": as_array([8.0, 9.0])}
    return [L.cond(p, f, g, one, tree) for p in (True, False)]


def cond_shares(L):
    shared = layer(L, 2)
    both = layer(L, 2, left=shared, right=shared)
    f = lambda both: both.left(1.0) * 0 if both.left is both.right else both.w[...]  # noqa: E731  # a branch
    found = L.cond(True, f, lambda both: both.w[...], both)
    return found, both.left is both.right, values_of(shared)


def cond_in_jit_with_gradients(L):
    one = layer(L, 2)

    @L.jit
    def slope(one, x):
        def loss(one, x):
            f = lambda one, x: one(x).sum()  # noqa: E731  # a branch
            return L.cond(x > 0, f, lambda one, x: (one.w[...] * x).sum(), one, x)

        return L.grad(loss)(one, x)

    found = [slope(one, as_array(x))["w"][...] for x in (1.0, -1.0)]
    return found, values_of(one)


def switch_among_three(L):
    one = layer(L, 2)

    def add(by):
        def f(one, x):
            one.w[...] = one.w[...] + by
            return x * by

        return f

    branches = [add(by) for by in (1.0, 2.0, 3.0)]
    found = [L.switch(n, branches, one, 5.0) for n in (0, 2, as_array(1).astype(int))]
    return found, values_of(one), L.switch(0, branches[:1], one, 5.0)


# ------------------------------------------------------------------------------ loops


def while_with_objects(L):
    one = layer(L, 2)

    def body(value):
        one, x, count = value
        return one, one(x), count - 1.0

    again, x, count = L.while_loop(
        lambda value: value[-1] > 0, body, (one, as_array([1.0, 2.0]), 3.0)
    )
    return again is one, x, count, values_of(one)


def while_that_never_begins(L):
    one = layer(L, 2)
    again, x = L.while_loop(
        lambda v: v[1] < 0, lambda v: (v[0], v[0](v[1]).sum()), (one, as_array(1.0))
    )
    return again is one, x, values_of(one)


def while_over_a_dict(L):
    tree = {"n": as_array(1.0), "l": [as_array([1.0, 2.0]), None]}

    def body(tree):
        return {"n": tree["n"] * 2, "l": [tree["l"][0] + tree["n"], None]}

    return L.while_loop(lambda tree: tree["n"] < 20, body, tree)


def for_with_objects(L):
    one = layer(L, 2)

    def body(i, value):
        one, x = value
        one.w[...] = one.w[...] * i
        return one, one(x)

    again, x = L.fori_loop(1, 4, body, (one, as_array([1.0, 2.0])))
    return again is one, x, values_of(one)


def for_that_shares(L):
    shared = layer(L, 2)
    both = layer(L, 2, left=shared, right=shared)

    def body(i, both):
        assert both.left is both.right
        both.left.w[...] = both.right.w[...] + i
        return both

    again = L.fori_loop(0, as_array(3).astype(int), body, both)
    return again is both, both.left is both.right, values_of(both, shared)


# ------------------------------------------------------------------------------ remat


def remat_with_gradients(L):
    one = layer(L, 2)

    @L.remat
    def forward(one, x):
        return one(one(x))

    def loss(one, x):
        return forward(one, x).sum()

    x = as_array([1.0, 2.0])
    value, slope = L.value_and_grad(loss)(one, x)
    return value, slope["w"][...], forward(one, x), values_of(one)


def remat_with_options(L):
    one = layer(L, 2)

    @functools.partial(L.remat, static_argnums=(1,), prevent_cse=False)
    def forward(one, twice, x):
        return one(one(x)) if twice else one(x)

    found = forward(one, True, 2.0), forward(one, False, 2.0)
    return found, values_of(one), forward.__name__


def shapes(L):
    one = layer(L, 2)
    found = L.eval_shape(
        lambda one, x: (one(x), {"k": one.w[...] @ x}), one, np.ones(2)
    )
    made = L.eval_shape(lambda x: layer(L, 3), 1.0)
    return [x.shape for x in (found[0], found[1]["k"], made.w.get_raw_value())]


# ----------------------------------------------------------------------- axes, filters


def mapped_by_state_axes(L):
    one = layer(L, 3)
    one.count = L.BatchStat(as_array([5.0]))
    axes = L.StateAxes({L.Param: 0, ...: None})

    @L.vmap(in_axes=(axes, None), out_axes=(0, None))
    def f(one, x):
        one.w[...] = one.w[...] * 2
        return one.w[...] * x + one.count[...], one.count[...]

    return f(one, 2.0), values_of(one)


def mapped_by_state_axes_in_a_dict(L):
    both = {"a": layer(L, 3), "b": layer(L, 3)}
    axes = {"a": L.StateAxes({L.PathContains("w"): 0, ...: 0}), "b": 0}
    f = L.vmap(lambda both: both["a"].w[...] * both["b"].w[...], in_axes=(axes,))
    return f(both)


def made_by_state_axes(L):
    axes = L.StateAxes({L.Param: 1, L.BatchStat: 0})
    f = L.vmap(lambda x: scaled(layer(L, 2), x), out_axes=axes)
    return values_of(f(as_array([1.0, 2.0, 3.0])))


def scaled(one, x):
    """Return a layer times a number."""
    one.w[...] = one.w[...] * x
    return one


def two_axes_for_one_object(L):
    one = layer(L, 3)
    first, other = (L.StateAxes({L.Param: n, ...: 0}) for n in (0, None))
    f = lambda a, b: a.w[...] + b.w[...]  # noqa: E731  # what is mapped
    for axes in ((first, other), (other, 0), (0, None)):
        with pytest.raises(ValueError, match=r"\.?w"):
            L.vmap(f, in_axes=axes)(one, one)
    again = L.StateAxes({L.Param: 0, ...: 0})
    return [L.vmap(f, in_axes=(first, axes))(one, one) for axes in (again, 0)]


def state_axes_are_values(L):
    axes = L.StateAxes({L.Param: 0, ...: L.Carry})
    return (
        axes == L.StateAxes([(L.Param, 0), (..., L.Carry)]),
        axes == L.StateAxes({L.Param: 1, ...: L.Carry}),
        hash(axes) == hash(L.StateAxes([(L.Param, 0), (..., L.Carry)])),
        axes[L.Param],
        [*axes] == [L.Param, ...],
        len(axes),
        axes.axes[1] is L.Carry,
        axes.filters == (L.Param, ...),
    )


def gradients_by_diff_state(L):
    one = layer(L, 2)

    def loss(one, x):
        return (one.w[...] * one.count[...] * x).sum() + (one.count[...] ** 3).sum()

    one.count = L.BatchStat(as_array([2.0]))
    x = as_array([1.0, 3.0])
    by_count = L.grad(loss, argnums=L.DiffState(0, L.BatchStat))(one, x)
    both = L.grad(loss, argnums=(L.DiffState(0, (L.Param, L.BatchStat)), 1))(one, x)
    value, by_w = L.value_and_grad(loss, argnums=(L.DiffState(0, L.Param),))(one, x)
    return (
        by_count["count"][...],
        "w" in by_count,
        [both[0][name][...] for name in ("w", "count")],
        both[1],
        value,
        [*by_w[0]],
    )


# ----------------------------------------------------------- models that are trained


def blocks_with_streams(L):
    """As the page of `nnx.scan` has it: blocks that `vmap` makes, and `scan` calls."""
    import jax

    class Linear(L.Module):
        def __init__(self, size, rngs):
            self.w = L.Param(jax.random.normal(rngs.params(), (size, size)))
            self.rngs = rngs.dropout.fork()

        def __call__(self, x):
            keep = jax.random.bernoulli(self.rngs(), 0.9, x.shape)
            return jax.nn.relu(jnp().where(keep, x @ self.w[...], 0))

    class Model(L.Module):
        def __init__(self, rngs):
            make = L.vmap(lambda rngs: Linear(4, rngs), in_axes=(0,), out_axes=0)
            self.blocks = make(rngs.fork(split=3))

        @L.remat
        def __call__(self, x):
            forward = L.scan(lambda x, one: one(x), out_axes=L.Carry)
            return forward(x, self.blocks)

    model, x = Model(L.Rngs(0, params=1, dropout=2)), as_array(np.ones((2, 4)))
    slope = L.jit(L.grad(lambda model, x: model(x).sum()))
    found = [slope(model, x)["blocks"]["w"][...] for _ in range(2)]
    return found, model(x), model.blocks.rngs.count[...]


def a_loop_of_training(L):
    optax = peer("optax")
    one = layer(L, 3)
    optimizer = L.Optimizer(one, optax.adam(1e-1), wrt=L.Param)

    def train(carry, x):
        one, optimizer = carry
        loss, slopes = L.value_and_grad(lambda one: ((one(x) - 1) ** 2).sum())(one)
        optimizer.update(one, slopes)
        return carry, loss

    @L.jit
    def all_steps(one, optimizer, xs):
        return L.scan(train)((one, optimizer), xs)

    (again, same), losses = all_steps(one, optimizer, as_array(np.ones(5)))
    assert again is one
    assert same is optimizer
    return losses, values_of(one), optimizer.step[...]


CASES = [
    blocks_with_streams,
    a_loop_of_training,
    scan_over_layers,
    scan_of_the_carry_alone,
    scan_carries_an_object,
    scan_by_state_axes,
    scan_by_state_axes_without_a_carry_argument,
    scan_over_other_axes,
    scan_over_trees,
    scan_in_reverse,
    scan_by_keyword,
    scan_makes_objects,
    scan_sets_attributes,
    scan_shares,
    scan_has_gradients,
    scan_in_jit,
    cond_changes_objects,
    cond_sets_attributes,
    cond_returns_trees,
    cond_shares,
    cond_in_jit_with_gradients,
    switch_among_three,
    while_with_objects,
    while_that_never_begins,
    while_over_a_dict,
    for_with_objects,
    for_that_shares,
    remat_with_gradients,
    remat_with_options,
    shapes,
    mapped_by_state_axes,
    mapped_by_state_axes_in_a_dict,
    made_by_state_axes,
    two_axes_for_one_object,
    state_axes_are_values,
    gradients_by_diff_state,
]


def plain(found):
    """Return what was found with lists for arrays and tuples."""
    if isinstance(found, dict):
        return {key: plain(value) for key, value in found.items()}
    if isinstance(found, tuple | list):
        return [*map(plain, found)]
    return np.asarray(found).tolist() if hasattr(found, "dtype") else found


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_control_flow_as_in_flax(case, nnx):
    """The same outcome with ours and with Flax NNX's."""
    assert plain(case(nn)) == plain(case(nnx))


def test_the_table_of_transforms_is_whole(nnx):
    """Each of Flax's has a row, and what we have in its place is there."""
    page = Path(__file__).parents[2] / "docs" / "peers" / "nnx-transforms.csv"
    with page.open(encoding="utf-8", newline="") as file:
        rows = {row["name"]: row for row in csv.DictReader(file)}
    theirs = {
        f"nnx.{name}"
        for name, value in vars(nnx).items()
        if str(getattr(value, "__module__", "")).startswith("flax.nnx.transforms")
    }
    assert theirs <= {*rows}
    for name, row in rows.items():
        assert hasattr(nnx, name.removeprefix("nnx."))
        assert row["what differs"] or row["leafwise"]
        if row["leafwise"]:
            assert callable(eval(row["leafwise"], {"nn": nn, "lw": lw}))
    traced = nn.jit(lambda one, x: one(x)).trace(layer(nn, 2), 1.0)
    assert "tanh" in str(traced.jaxpr)


def unseen_changes(L):
    one, two = layer(L, 2), layer(L, 2)

    def step(c, x, one):
        one.w[...] = one.w[...] + x
        return c, one.w[...].sum()

    def is_small(value):
        value[0].w[...] = value[0].w[...] + 1
        return value[1] < 2

    _, sums = L.scan(step, in_axes=(L.Carry, 0, None))(0.0, as_array([1.0, 2.0]), one)
    try:
        L.while_loop(is_small, lambda value: (value[0], value[1] + 1), (two, 0))
    except ValueError:
        return sums, values_of(one, two), "refused"
    return sums, values_of(one, two)


def test_what_flax_does_not_see(nnx):
    """As the table says."""
    before = [[[0.5, 1.0], [0.0, 0.0]]] * 2
    assert plain(unseen_changes(nnx)) == [[3.5, 5.5], before]
    after = [[3.5, 4.0], [0.0, 0.0]], before[1]
    assert plain(unseen_changes(nn)) == [[3.5, 7.5], [*after], "refused"]


# ------------------------------------------------------- where we do more than Flax


def test_a_bound_object_goes_from_step_to_step(jax):
    """What a function is bound to is the same object in each step."""

    class Model(nn.Module):
        def __init__(self):
            self.w = nn.Param(as_array([1.0, 2.0]))
            self.calls = nn.BatchStat(0)

        def step(self, x, by):
            self.calls[...] += 1
            return x + self.w[...] * by, x.sum()

        def is_small(self, x):
            return x.sum() < 20

        def double(self, x):
            self.calls[...] += 1
            return x * 2

        def __call__(self, i, x):
            self.calls[...] += i
            return x + 1

    model = Model()
    x, sums = nn.scan(model.step)(as_array([0.0, 0.0]), as_array([1.0, 2.0]))
    assert (x.tolist(), sums.tolist()) == ([3.0, 6.0], [0.0, 3.0])
    assert int(model.calls) == 2
    assert nn.while_loop(model.is_small, model.double, x).tolist() == [12.0, 24.0]
    assert int(model.calls) == 4
    assert nn.cond(True, model.double, model.double, x).tolist() == [6.0, 12.0]
    assert int(model.calls) == 5
    assert nn.fori_loop(0, 4, model, x).tolist() == [7.0, 10.0]
    assert int(model.calls) == 11
    assert nn.remat(model.double)(x).tolist() == [6.0, 12.0]
    assert int(model.calls) == 12
    partial = functools.partial(Model.step, model, by=2.0)
    assert nn.switch(0, [partial], x)[1] == 9.0
    assert int(model.calls) == 13


def test_what_is_the_same_in_each_step_may_change(jax):
    """An object that is neither carried nor scanned over sees all steps."""
    one = layer(nn, 2)

    @nn.scan(in_axes=(nn.Carry, 0, None))
    def step(c, x, one):
        one.w[...] = one.w[...] + x
        return c, one.w[...].sum()

    _, sums = step(0.0, as_array([1.0, 2.0]), one)
    assert sums.tolist() == [3.5, 7.5]
    assert one.w[...].tolist() == [3.5, 4.0]


def test_arrays_that_no_step_and_no_branch_changes_stay(jax):
    """They are neither copied nor returned by what is compiled."""
    one = layer(nn, 2)
    weights, x = one.w.get_raw_value(), as_array([1.0, 2.0])

    def step(x, one):
        return one(x)

    def stays():
        return one.w.get_raw_value() is weights

    nn.scan(lambda x, one: (x, one(x)))(1.0, one)
    assert stays()
    nn.scan(lambda x, one: (one(x), 0), in_axes=(nn.Carry, None), length=2)(x, one)
    assert stays()
    nn.while_loop(
        lambda v: v[0] < 3, lambda v: (v[0] + 1, v[1], v[1](1.0)), (0, one, x)
    )
    assert stays()
    nn.cond(True, step, lambda x, one: x, x, one)
    assert stays()
    nn.remat(step)(x, one)
    assert stays()
    nn.jit(lambda one, x: nn.cond(x[0] > 0, step, lambda x, one: x, x, one))(one, x)
    assert stays()
    assert one.count.value.tolist() == [9.0, 9.0]


def test_what_is_no_array_goes_through(jax):
    """Texts in objects and trees, and references to arrays."""
    one = layer(nn, 2, label=lw.data("text"))
    found = nn.scan(lambda c, x: (c, x * len(c["m"].label)))(
        {"m": one, "k": "more"}, as_array([1.0])
    )
    assert found[0] == {"m": one, "k": "more"}
    assert found[1].tolist() == [4.0]
    assert nn.cond(True, lambda m: m.label, lambda m: m.label, one) == "text"
    total = lw.Dict(x=jax.new_ref(as_array(0.0)))

    def add(c, x):
        total_of(c)[...] += x
        return c, x

    def total_of(c):
        return c["t"].x

    assert nn.scan(add)({"t": total}, as_array([1.0, 2.0]))[0] == {"t": total}
    assert float(total.x[...]) == 3.0


def test_traced_once_for_each_structure(jax):
    """Functions that are decorated are traced anew for new structures only."""
    traced = []

    def step(x, one):
        traced.append(one.size)
        return one(x), x

    scanned, again = nn.scan(step), nn.remat(step)
    for transform in scanned, again:
        one, other = layer(nn, 3, size=1), layer(nn, 3, size=2)
        if transform is again:
            transform = nn.jit(transform)
        transform(as_array(1.0), one)
        transform(as_array(2.0), one)
        transform(as_array(2.0), nn.clone(one))
        transform(as_array(1.0), other)
        assert traced == [1, 2]
        traced.clear()
    nn.cond(True, step, step, 1.0, layer(nn, 3, size=1))
    assert traced == [1, 1]


def test_names_of_functions_in_logs(jax, caplog):
    """A compiled function has its own name there."""

    @nn.jit
    def my_step(one):
        return one.w[...] + 1

    class Model(nn.Module):
        def __init__(self):
            self.w = nn.Param(as_array([1.0]))

        def forward(self):
            return self.w[...] * 2

        def __call__(self):
            return self.w[...] * 3

    model = Model()
    with jax.log_compiles(), caplog.at_level(logging.WARNING):
        my_step(model)
        nn.jit(model.forward)()
        nn.jit(functools.partial(Model.forward, model))()
        nn.jit(model)()
    found = re.findall(r"Compiling jit\((\w+)\)", caplog.text)
    assert found == ["my_step", "forward", "forward", "Model"]
    assert my_step.__name__ == "my_step"
    assert my_step.__wrapped__.__name__ == "my_step"
    text = str(jax.make_jaxpr(lambda w: my_step(lw.Dict(w=nn.Param(w))))(1.0))
    assert "name=my_step" in text


@pytest.mark.filterwarnings("ignore:Some donated buffers")
def test_donated_once_and_for_all(jax):
    """What is donated to a step is gone, and what came back is in the object."""
    one = layer(nn, 2)

    @nn.jit(donate_argnames="one")
    def train(one, xs):
        return nn.scan(lambda one, x: (one, one(x)))(one, xs)[1]

    before = one.w.get_raw_value(), one.count.get_raw_value()
    assert train(one, as_array([1.0, 2.0])).shape == (2, 2)
    assert [x.is_deleted() for x in before] == [True, True]
    assert one.count.value.tolist() == [2.0, 2.0]


# --------------------------------------------------------------------------- errors


def changing(change):
    """Return a step that changes what is carried in some way."""

    def step(one, x):
        change(one)
        return one, x

    return step


def grow(one):
    """Make an array of another shape of one."""
    one.w.set_value(jnp().ones(5))


STEPS = [
    (
        changing(lambda one: setattr(one, "more", nn.Param(1.0))),
        lw.StructureError,
        "argument 0 at .more was not there and is of type Param after a step",
    ),
    (
        changing(lambda one: setattr(one, "size", 2)),
        lw.StructureError,
        "argument 0 at .size was the static value 1 and is the static value 2 after",
    ),
    (
        changing(lambda one: setattr(one, "text", "x")),
        lw.StructureError,
        "argument 0 at .text was not there and is the static value 'x' after a step",
    ),
    (
        changing(lambda one: delattr(one, "size")),
        lw.StructureError,
        "argument 0 at .size was the static value 1 and is not there after a step",
    ),
    (
        changing(lambda one: delattr(one, "w")),
        lw.StructureError,
        "argument 0 at .w was of type Param and is not there after a step",
    ),
    (
        changing(lambda one: setattr(one, "w", nn.Param(one.w[...]))),
        lw.StructureError,
        "argument 0 at .w was the Param that was passed in and is another Param after "
        "a step",
    ),
    (
        changing(lambda one: setattr(one, "w", one.count)),
        lw.StructureError,
        "argument 0 at .w was of type Param and is of type BatchStat after a step",
    ),
    (
        lambda one, x: (layer(nn, 2, size=1), x),
        lw.StructureError,
        "argument 0 was the Layer that was passed in and is another Layer after a step",
    ),
    (
        lambda one, x: ([one], x),
        lw.StructureError,
        "argument 0 was a value and is of type list after a step",
    ),
    (
        changing(lambda one: one.w.set_metadata(note="x")),
        lw.StructureError,
        "argument 0 at .w was with metadata",
    ),
    (
        changing(grow),
        TypeError,
        "argument 0 at .w was float32[2] and is float32[5] after a step: the carry "
        "must keep its shape and type",
    ),
    (
        changing(lambda one: one.w.set_value(one.w[...] > 0)),
        TypeError,
        "argument 0 at .w was float32[2] and is bool[2] after a step",
    ),
    (
        lambda one, x: one,
        lw.StructureError,
        "out_axes is (Carry, 0), so the function must return a tuple of 2; it returned",
    ),
    (changing(lambda one: one.nothing), AttributeError, "'Layer' object has no"),
]


@pytest.mark.parametrize(("step", "error", "said"), STEPS, ids=range(len(STEPS)))
def test_steps_that_change_the_structure(jax, step, error, said):
    """The error says where and what, in all loops, and nothing is changed."""

    def whole(one):
        return one.w.get_raw_value(), one.count.get_raw_value(), vars(one).keys()

    one = layer(nn, 2, size=1)
    before = whole(one)
    first = as_array([1.0])

    def body(one, x=0.0):
        one.count[...] = one.count[...] + 1
        return step(one, x)

    with pytest.raises(error, match=re.escape(said)):
        nn.scan(body)(one, first)
    if not said.startswith("out_axes"):
        said = said.replace("argument 0", "the value")
        with pytest.raises(error, match=re.escape(said)):
            nn.while_loop(lambda one: one.w[0] < 9, lambda one: body(one)[0], one)
        with pytest.raises(error, match=re.escape(said)):
            nn.fori_loop(0, 3, lambda i, one: body(one)[0], one)
    assert [*map(id, whole(one)[:2])] == [*map(id, before[:2])]
    assert whole(one)[2] == before[2]
    assert one.size == 1
    assert one.w.get_metadata() == layer(nn, 2).w.get_metadata()


def test_trees_that_change(jax):
    """The same for what is no object."""
    tree = {"a": 1.0, "b": {"c": 2.0, "d": None}}
    for body, said in (
        (lambda t: {"a": 1.0}, "the value at ['b'] was of type dict and is not there"),
        (lambda t: {**t, "c": 1}, "the value at ['c'] was not there and is a value"),
        (lambda t: {**t, "b": 1}, "the value at ['b'] was of type dict and is a value"),
        (lambda t: {**t, "a": None}, "['a'] was a value and is of type NoneType after"),
        (lambda t: [t], "the value was of type dict and is of type list after a step"),
        (lambda t: {**t, "a": layer(nn, 2)}, "['a'] was a value and is another Layer"),
    ):
        with pytest.raises(lw.StructureError, match=re.escape(said)):
            nn.while_loop(lambda t: True, body, tree)


def test_branches_that_differ(jax):
    """The error says where, and what is there after each."""
    one = layer(nn, 2, size=1)
    nothing = lambda one: None  # noqa: E731  # a branch
    for branch, error, said in (
        (
            lambda one: setattr(one, "more", nn.Param(1.0)),
            lw.StructureError,
            "argument 0 at .more is of type Param after true_fun, and not there after "
            "false_fun: all branches must leave the objects, and return results, with",
        ),
        (
            lambda one: setattr(one, "size", 2),
            lw.StructureError,
            "argument 0 at .size is the static value 2 after true_fun, and the static",
        ),
        (
            lambda one: setattr(one, "w", nn.Param(one.w[...])),
            lw.StructureError,
            "argument 0 at .w is a new object after true_fun, and the object of "
            "argument 0 at .w after false_fun",
        ),
        (
            grow,
            TypeError,
            "argument 0 at .w is float32[5] after true_fun, and float32[2",
        ),
        (
            lambda one: {"k": [1.0]},
            lw.StructureError,
            "the result is of type dict after true_fun, and of type NoneType after",
        ),
        (lambda one: one.nothing, AttributeError, "'Layer' object has no attribute"),
    ):
        with pytest.raises(error, match=re.escape(said)):
            nn.cond(True, branch, nothing, one)
        said = said.replace("true_fun", "branch 0").replace("false_fun", "branch 1")
        with pytest.raises(error, match=re.escape(said)):
            nn.switch(1, [branch, nothing, nothing], one)
    assert vars(one).keys() == vars(layer(nn, 2, size=1)).keys()
    assert (one.size, one.w.value.shape) == (1, (2,))
    f, g = (lambda x, key=key: {"k": [x, {key: x}]} for key in "ab")
    with pytest.raises(
        ValueError, match=r"the result at \['k'\]\[1\]\['a'\] is a val"
    ) as e:
        nn.cond(True, f, g, 1.0)
    assert str(e.value.path) == "['k'][1]['a']"
    assert (e.value.expected, e.value.actual) == ("a value", "not there")
    with pytest.raises(lw.StructureError) as e:
        nn.scan(changing(lambda one: setattr(one[0]["k"], "size", 2)))(
            [{"k": one}], as_array([1.0])
        )
    assert str(e.value.path) == "[0]['k'].size"
    with pytest.raises(
        lw.StructureError, match="is the object of argument 1 after tru"
    ):
        nn.cond(True, lambda a, b: b, lambda a, b: a, one, layer(nn, 2, size=1))
    with pytest.raises(TypeError, match="a branch must be a function, got int: 3"):
        nn.cond(True, nothing, 3, one)
    with pytest.raises(ValueError, match="switch needs at least one function"):
        nn.switch(0, [], one)


def test_conditions_must_not_change_objects(jax):
    """What one changed would be lost."""
    one = layer(nn, 2)
    with pytest.raises(
        ValueError, match=r"must not change objects: the value at \.cou"
    ):
        nn.while_loop(lambda one: one(1.0).sum() < 3, lambda one: one, one)
    with pytest.raises(ValueError, match="must not change objects; only the body may"):
        nn.while_loop(lambda one: setattr(one, "x", 1) or True, lambda one: one, one)
    assert one.count.value.tolist() == [0.0, 0.0]


def test_axes_of_scan_that_do_not_fit(jax):
    """The error names the argument, or the place in the option."""
    one, x = layer(nn, 3), as_array([1.0, 2.0, 3.0])
    step = lambda c, x: (c, x)  # noqa: E731  # a step
    Carry = nn.Carry
    for options, args, error, said in (
        ({}, (1.0, 2.0), ValueError, "argument 1 has shape (), so there is no axis 0"),
        ({}, (1.0,), ValueError, "in_axes has 2 entries for 1 argument"),
        ({}, (1.0, {}), ValueError, "scan needs length or at least one array"),
        (
            {"length": 4},
            (1.0, x),
            ValueError,
            "the mapped axes have different sizes: 4 in length, 3 in argument 1",
        ),
        (
            {"in_axes": (Carry, Carry)},
            (1.0, x),
            ValueError,
            "only one Carry is allowed, found at in_axes[0] and in_axes[1]",
        ),
        (
            {"in_axes": ({"k": Carry}, 0)},
            (1.0, x),
            ValueError,
            "a part of the result: it is at in_axes[0]['k']",
        ),
        (
            {"out_axes": 0},
            (1.0, x),
            ValueError,
            "must either both contain Carry or neither: got (Carry, 0) and 0",
        ),
        (
            {"out_axes": (Carry, {"k": None})},
            (1.0, x),
            ValueError,
            "out_axes[1]['k'] is None, but the output of each step needs an axis",
        ),
        (
            {"out_axes": (Carry, nn.StateAxes({...: Carry}))},
            (1.0, x),
            ValueError,
            "out_axes[1] has Carry in StateAxes, for a result",
        ),
        ({"in_axes": (Carry, "x")}, (1.0, x), TypeError, "must be ints, None or Carry"),
        (
            {},
            (one, one),
            ValueError,
            "the Layer at argument 0 (Carry) is the same object as the one at "
            "argument 1 (axis 0)",
        ),
        (
            {"in_axes": (Carry, nn.StateAxes({nn.Cache: 0}))},
            (1.0, one),
            lw.StructureError,
            "in_axes has no entry for argument 1 at .w",
        ),
    ):
        with pytest.raises(error, match=re.escape(said)):
            nn.scan(step, **options)(*args)
    with pytest.raises(TypeError, match="by position; x has none"):
        nn.scan(lambda c, *, x: (c, x))(1.0, x=x)
    for wrong in ("x", 5, {nn.Param: 1.5}):
        with pytest.raises(TypeError, match="StateAxes"):
            nn.StateAxes(wrong)
    with pytest.raises(ValueError, match="matches everything, so later filters would"):
        nn.StateAxes({...: 0, nn.Param: 1})


def test_objects_that_were_captured(jax):
    """They may be read, and not changed: the error says so, nothing is lost."""
    one = layer(nn, 2)

    def reads(c, x):
        return c + one.w[...].sum(), x

    def changes(c, x=0.0):
        return c + one(1.0).sum(), x

    xs = as_array([1.0, 2.0])
    assert float(nn.scan(reads)(0.0, xs)[0]) == 3.0
    assert float(nn.cond(True, reads, reads, 0.0, 0.0)[0]) == 1.5
    for call in (
        lambda: nn.scan(changes)(0.0, xs),
        lambda: nn.cond(True, changes, changes, 0.0),
        lambda: nn.while_loop(lambda x: x < 5, lambda x: changes(x)[0], 0.0),
        lambda: nn.fori_loop(0, 2, lambda i, x: changes(x)[0], 0.0),
        lambda: nn.remat(changes)(0.0),
        lambda: nn.scan(lambda c, x: (c, one))(0.0, xs),
        lambda: nn.remat(lambda x: one)(0.0),
    ):
        with pytest.raises(nn.TraceError, match=r"different trace level|is captured"):
            call()
    assert one.count.value.tolist() == [0.0, 0.0]

    @nn.jit
    def inside(x):  # an object of another level as an argument, and only read
        read = lambda m, x: m.w[...] * x  # noqa: E731  # what is transformed
        steps = nn.scan(lambda m, x: read(m, x), in_axes=(None, 0), out_axes=0)
        return [
            nn.cond(x > 0, read, read, one, x),
            steps(one, xs).sum(0),
            nn.vmap(read, in_axes=(None, 0))(one, xs).sum(0),
            nn.remat(read)(one, x),
            nn.jit(read)(one, x),
            nn.grad(lambda m, x: read(m, x).sum())(one, x)["w"][...],
            lw.integrations.share(lambda f: f)(read)(one, x),
        ]

    found = plain(inside(1.0))
    assert found == [
        [0.5, 1.0],
        [1.5, 3.0],
        [1.5, 3.0],
        *[[0.5, 1.0]] * 2,
        [1, 1],
        [0.5, 1],
    ]


def test_without_compilation(jax):
    """The same when jax runs Python as it stands."""
    with jax.disable_jit():
        one = layer(nn, 3)
        _, before = nn.scan(lambda x, one: (one(x), x))(as_array(0.5), one)
        assert one.count.value.tolist() == [1.0, 1.0, 1.0]
        assert before.shape == (3,)
        again = nn.while_loop(lambda v: v[1] < 2, lambda v: (v[0], v[1] + 1), (one, 0))
        assert again == (one, 2)
        never = (one, 5)
        assert nn.while_loop(lambda v: v[1] < 2, lambda v: v, never) == never
        nn.cond(True, lambda one: one(1.0), lambda one: one.w[...], one)
        assert one.count.value.tolist() == [2.0, 2.0, 2.0]


def test_objects_that_are_no_trees(jax):
    """Those with `pytree=False`, and lists in them."""

    class Loose(lw.Pytree, pytree=False):
        def __init__(self):
            self.items = [as_array(1.0), as_array(2.0)]
            self.b = as_array(3.0)

    def double(loose):
        loose.items = [x * 2 for x in loose.items]
        loose.b = loose.b + 1
        return loose

    loose = Loose()
    assert nn.fori_loop(0, 3, lambda i, one: double(one), loose) is loose
    assert [float(x) for x in (*loose.items, loose.b)] == [8.0, 16.0, 6.0]
    assert nn.cond(False, lambda one: one, double, loose) is loose
    assert [float(x) for x in (*loose.items, loose.b)] == [16.0, 32.0, 7.0]
    again, _ = nn.scan(lambda one, x: (double(one), x))(loose, as_array([1.0]))
    assert again is loose
    assert [float(x) for x in (*loose.items, loose.b)] == [32.0, 64.0, 8.0]


def test_no_tracer_is_left_behind(jax):
    """jax's own search finds none."""
    one, xs = layer(nn, 3), as_array([1.0, 2.0, 3.0])

    def body(value):
        value[0](1.0)
        return value[0], value[1] + 1

    with jax.checking_leaks():
        nn.scan(lambda one, x: (one, one(x)))(one, xs)
        nn.scan(lambda x, one: (x, one(x)))(1.0, one)
        nn.cond(True, lambda one: one(1.0), lambda one: one.w[...], one)
        nn.switch(0, [lambda one: one(1.0), lambda one: one.w[...]], one)
        nn.while_loop(lambda value: value[1] < 3, body, (one, 0))
        nn.fori_loop(0, 3, lambda i, value: body(value), (one, 0))
        nn.remat(lambda one: one(1.0))(one)
        nn.jit(lambda one: nn.while_loop(lambda v: v[1] < 3, body, (one, 0)))(one)
        assert nn.vmap(lambda one: one(1.0))(one).shape == (3,)
    assert isinstance(one.count.value, jax.Array)


def test_loops_in_loops(jax):
    """And in `vmap` and `grad`."""
    one = layer(nn, 3)

    @nn.scan
    def outer(one, x):
        return nn.scan(lambda one, y: (one, one(y)))(one, x)

    again, ys = outer(one, as_array(np.ones((2, 4))))
    assert again is one
    assert ys.shape == (2, 4, 3)
    assert one.count.value.tolist() == [8.0, 8.0, 8.0]

    def power(one, x):
        return nn.fori_loop(0, 3, lambda i, v: v * one.w[...].sum() * x, 1.0)

    slopes = nn.vmap(nn.grad(power, argnums=1), in_axes=(None, 0))(
        one, as_array([1, 2])
    )
    assert slopes.tolist() == [24.0, 96.0]
    choose = nn.vmap(
        lambda p, one: nn.cond(p, lambda m: m.w[...], lambda m: m.w[...] * 2, one),
        in_axes=(0, None),
    )
    found = choose(jax.numpy.asarray([True, False]), one)
    np.testing.assert_allclose(found[0] * 2, found[1])


def test_axes_one_by_one(jax):
    """`prefix` makes an object of axes, of filters or of a function."""
    one = layer(nn, 3)
    axes = nn.prefix({"m": one}, {nn.Param: 0, ...: None})
    assert axes["m"] is not one
    assert [getattr(axes["m"], name).get_raw_value() for name in ("w", "count")] == [
        0,
        None,
    ]
    by_path = nn.prefix(one, lambda path, value: 0 if path == ("w",) else None)
    for spec, args in ((axes, {"m": one}), ({"m": by_path}, {"m": one})):
        f = nn.vmap(lambda tree: tree["m"].w[...] * 2, in_axes=(spec,))
        assert f(args).shape == (3,)
    state = nn.StateAxes(nn.prefix(nn.state(one), {nn.Param: 0, ...: None}))
    assert nn.vmap(lambda m: m.w[...] * 2, in_axes=(state,))(one).shape == (3,)
    with pytest.raises(ValueError, match=r"has no entry for the value at \('count',\)"):
        nn.prefix(one, {nn.Param: 0})
