"""Laws: what a transform does to objects that share is what a loop of Python does.

Random graphs of objects, with ties and cycles, go through random programs: on a copy
by Python's own `for`, `while` and `if`, and through the transforms.
"""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leafwise import nn
from leafwise.nn.flatgraph import flatten_graph


FEW = settings(max_examples=10, deadline=None)


class Node(nn.Module):
    """An object with a variable, a bare array, something static, and other objects."""

    def __init__(self, value):
        self.v = nn.Param(value)
        self.d = value * 2
        self.size = 1
        self.next = nn.List([])


class Op(NamedTuple):
    """One thing that a program does."""

    kind: str
    i: int
    j: int
    by: float


KEEPING = ["variable", "array", "number", "swap", "negate"]
"""Those that leave the structure alone."""
CHANGING = ["static", "new", "tie", "delete"]


def run_program(program, objects, x):
    """Do what a program says, and return something of each sort."""
    for kind, i, j, by in program:
        one = objects[i % len(objects)]
        other = objects[j % len(objects)]
        if kind == "variable":
            one.v[...] = one.v[...] * by + other.d + x
        elif kind == "array":
            one.d = one.d - other.v[...] * x
        elif kind == "number":
            x = x * by + one.d
        elif kind == "swap":
            one.v[...], other.v[...] = other.v[...], one.v[...]
        elif kind == "negate":
            for inner in one.next:
                inner.d = -inner.d
        elif kind == "static":
            one.size += 1
        elif kind == "new":
            one.more = nn.BatchStat(other.d + 1)
        elif kind == "tie":
            one.tied = other
        elif hasattr(one, "more"):
            del one.more
    return x


def programs(kinds):
    """Generate programs."""
    op = st.builds(
        Op,
        st.sampled_from(kinds),
        st.integers(0, 3),
        st.integers(0, 3),
        st.sampled_from([0.5, -0.25, 1.0]),
    )
    return st.lists(op, max_size=5)


@st.composite
def graphs(draw):
    """Generate how many objects there are, who holds whom, and who is an argument."""
    count = draw(st.integers(1, 4))
    number = st.integers(0, count - 1)
    edges = draw(st.lists(st.tuples(number, number), max_size=4))
    return count, edges, draw(st.lists(number, min_size=1, max_size=3))


def build(graph, *shape):
    """Return the objects of a graph that are arguments."""
    import jax.numpy as jnp

    count, edges, roots = graph
    size = int(np.prod(shape))
    objects = []
    for n in range(count):
        values = np.linspace(-0.5, 0.5, size, dtype=np.float32) + n / 8
        objects.append(Node(jnp.asarray(values.reshape(shape))))
    for a, b in edges:
        objects[a].next.append(objects[b])
    return tuple(objects[n] for n in roots)


def assert_same(ours, theirs):
    """The same objects in the same places, and the same values, but for rounding."""
    one = flatten_graph(ours)
    other = flatten_graph(theirs)
    assert one.graphdef == other.graphdef
    for mine, its in zip(one.leaves, other.leaves, strict=True):
        values = (
            x.get_raw_value() if isinstance(x, nn.Variable) else x for x in (mine, its)
        )
        np.testing.assert_allclose(*values, rtol=2e-3, atol=2e-3)


XS = np.asarray([0.5, -1.0, 0.25], np.float32)


def slices(graph, count):
    """Return objects like those of a graph, one for each place of their arrays."""
    parts = []
    for n in range(count):
        objects = build(graph, count)
        for obj in flatten_graph(objects).tracked:
            if isinstance(obj, nn.Param):
                obj.set_value(obj.get_raw_value()[n])
            elif isinstance(obj, Node):
                obj.d = obj.d[n]
        parts.append(objects)
    return parts


def stacked(jax, listed):
    """Return the first of several objects, with the values of all on one axis."""
    flats = list(map(flatten_graph, listed))

    def together(n):
        leaves = [flat.leaves[n] for flat in flats]
        bare = [x.get_raw_value() if isinstance(x, nn.Variable) else x for x in leaves]
        return jax.numpy.stack(list(map(jax.numpy.asarray, bare)))

    return [flats[0].graphdef, *map(together, range(len(flats[0].leaves)))]


def contents(jax, value):
    """Return what objects are made of, as `stacked` does."""
    flat = flatten_graph(value)
    bare = [x.get_raw_value() if isinstance(x, nn.Variable) else x for x in flat.leaves]
    return [flat.graphdef, *bare]


def assert_stacked(jax, ours, listed):
    """The values are those of all on one axis, the structure that of each."""
    mine = contents(jax, ours)
    theirs = stacked(jax, listed)
    assert mine[0] == theirs[0]
    for one, other in zip(mine[1:], theirs[1:], strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-3, atol=2e-3)


@given(graphs(), programs(KEEPING + CHANGING))
@FEW
def test_vmap_is_a_loop_and_a_stack(jax, graph, program):
    """The function sees one place of all arrays, and may do what it likes."""

    def call(objects, x):
        return run_program(program, objects, x), objects[0]

    ours = build(graph, len(XS))
    result = nn.vmap(call)(ours, XS)
    assert result[1] is ours[0]
    parts = slices(graph, len(XS))
    results = [
        call(one, x) for one, x in zip(parts, jax.numpy.asarray(XS), strict=True)
    ]
    assert_stacked(jax, (ours, result), list(zip(parts, results, strict=True)))


@given(graphs(), programs(KEEPING + CHANGING))
@FEW
def test_jit_is_nothing(jax, graph, program):
    """Call after call, while the structure changes."""

    def call(objects, x):
        return run_program(program, objects, x), objects[0]

    ours = build(graph)
    theirs = build(graph)
    compiled = nn.jit(call)
    for x in jax.numpy.asarray(XS):
        result = compiled(ours, x)
        assert result[1] is ours[0]
        assert_same((ours, result), (theirs, call(theirs, x)))


@given(graphs(), programs(KEEPING + CHANGING))
@FEW
def test_remat_is_nothing(jax, graph, program):
    """The value, the changes and the gradients are those of the function."""

    def loss(objects, x):
        return jax.numpy.sum(run_program(program, objects, x) * x) + objects[0].d

    ours = build(graph)
    theirs = build(graph)
    of_ours = nn.value_and_grad(nn.remat(loss), argnums=1)(ours, 0.5)
    of_theirs = nn.value_and_grad(loss, argnums=1)(theirs, 0.5)
    assert_same((ours, of_ours), (theirs, of_theirs))
    ours = build(graph)
    theirs = build(graph)
    of_ours = nn.grad(nn.remat(loss))(ours, 0.5)
    assert_same((ours, of_ours), (theirs, nn.grad(loss)(theirs, 0.5)))


@given(graphs(), programs(KEEPING), st.integers(0, 2))
@FEW
def test_a_function_that_raises_changes_nothing(jax, graph, program, when):
    """Wherever it does, and through whatever it goes."""

    class Stop(Exception):
        pass

    def fails(objects, x):
        run_program(program[:when], objects, x)
        raise Stop

    for call in (
        lambda objects: nn.vmap(fails, in_axes=(None, 0))(objects, XS),
        lambda objects: nn.remat(fails)(objects, 0.5),
        lambda objects: nn.jit(fails)(objects, 0.5),
        lambda objects: nn.grad(fails, argnums=1)(objects, 0.5),
    ):
        ours = build(graph)
        with pytest.raises(Stop):
            call(ours)
        assert_same(ours, build(graph))
