"""Measure objects that are trees beside those of Flax NNX, and plain dataclasses.

Usage: python benchmarks/objects.py [--quick] [--write] [--json FILE]

All are timed in one process, in turn, by CPU time, which includes the threads that run
a compiled function; ratios are medians over the rounds. A number above 1 says how many
times as fast leafwise is. "plain" is a class without any checks, registered in jax
where it is flattened: what cannot be done faster. `--write` puts the tables into the
docs, `--json` what `beside.py` reads into a file. Needs flax, which the dependency
group `bench` installs.
"""

from __future__ import annotations

import dataclasses
import statistics
import sys
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
import optax
from flax import nnx
from reports import conditions, parse_options, publish, table_row
from timing import Call, Functions, Timing, Workload, time_small_workloads

import leafwise as lw
from leafwise import nn


ARRAY = np.ones((4, 4), np.float32)
NUMBERS = list(range(10_000))


# ------------------------------------------------------------------------------ objects


class OurPytree(lw.Pytree):
    """A class of leafwise, with any attributes."""


class TheirPytree(nnx.Pytree):
    """A class of Flax, with any attributes."""


class Plain:
    """A class without any checks."""


def assign(value: Any) -> Workload:
    """Assign an attribute that is there already."""

    def assignment(cls: type) -> Callable[[], None]:
        obj = cls()
        obj.value = value

        def run() -> None:
            obj.value = value

        return run

    return lambda: {
        "leafwise": assignment(OurPytree),
        "flax": assignment(TheirPytree),
        "plain": assignment(Plain),
    }


def build_object() -> Functions:
    """Create an object of eleven attributes: numbers, texts, arrays."""

    def block_class(base: type) -> Call:
        class Block(base):  # type: ignore[misc,valid-type]  # one for each base
            def __init__(self) -> None:
                self.din = 4
                self.dout = 4
                self.rate = 0.5
                self.name = "block"
                self.use_bias = True
                self.shape = (4, 4)
                self.activation = "relu"
                self.w = ARRAY
                self.b = ARRAY
                self.scale = ARRAY
                self.step = 0

        return Block

    return {
        "leafwise": block_class(OurPytree),
        "flax": block_class(TheirPytree),
        "plain": block_class(Plain),
    }


def append_arrays() -> Functions:
    """Append a hundred arrays to a list."""

    def loop(cls: type) -> Callable[[], None]:
        def run() -> None:
            items = cls([])
            for _ in range(100):
                items.append(ARRAY)

        return run

    return {"leafwise": loop(nn.List), "flax": loop(nnx.List), "plain": loop(list)}


class Layer:
    """Two arrays and a size."""

    def __init__(self) -> None:
        self.w = ARRAY
        self.b = ARRAY
        self.size = 4


class OurLayer(Layer, lw.Pytree):
    """A layer as a tree of leafwise."""


class TheirLayer(Layer, nnx.Pytree):
    """A layer as a tree of Flax."""


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class PlainLayer:
    """A layer as a dataclass that jax flattens."""

    w: Any = dataclasses.field(default_factory=lambda: ARRAY)
    b: Any = dataclasses.field(default_factory=lambda: ARRAY)
    size: int = dataclasses.field(default=4, metadata={"static": True})


def trees_of_layers() -> tuple[Any, Any, Any]:
    """Return a tree of 200 objects in a list, of leafwise, Flax and plain classes."""
    ours = OurPytree()
    ours.layers = nn.List([OurLayer() for _ in range(200)])
    theirs = TheirPytree()
    theirs.layers = nnx.List([TheirLayer() for _ in range(200)])
    plain = {"layers": [PlainLayer() for _ in range(200)]}
    return ours, theirs, plain


def flatten_objects() -> Functions:
    """Flatten 200 sub-objects."""
    ours, theirs, plain = trees_of_layers()
    return {
        "leafwise": lambda: lw.tree_flatten(ours),
        "flax": lambda: jax.tree_util.tree_flatten(theirs),
        "plain": lambda: jax.tree_util.tree_flatten(plain),
    }


def map_objects() -> Functions:
    """Map over 200 sub-objects, which rebuilds them."""
    ours, theirs, plain = trees_of_layers()
    return {
        "leafwise": lambda: lw.tree_map(lambda x: x, ours),
        "flax": lambda: jax.tree_util.tree_map(lambda x: x, theirs),
        "plain": lambda: jax.tree_util.tree_map(lambda x: x, plain),
    }


OBJECTS: dict[str, Workload] = {
    "assign an int": assign(1),
    "assign an array": assign(ARRAY),
    "assign a list of 10,000 ints": assign(NUMBERS),
    "build an object of 11 attributes": build_object,
    "append 100 arrays to a List": append_arrays,
    "flatten 200 sub-objects": flatten_objects,
    "map over 200 sub-objects": map_objects,
}


# ------------------------------------------------------------------------------- graphs

# In what follows, `library` is `leafwise.nn` or `flax.nnx`, whose names are the same.


def blocks(library: Any, count: int, norm: type | None = None) -> Any:
    """Return layers of two parameters, a running mean, and maybe a norm."""

    class Block(library.Module):  # type: ignore[misc]  # one for each library
        def __init__(self) -> None:
            self.w = library.Param(ARRAY)
            self.b = library.Param(ARRAY)
            self.mean = library.BatchStat(ARRAY)
            self.size = 4
            if norm is not None:
                self.norm = norm()

    return library.List([Block() for _ in range(count)])


def model_of_modules(library: Any) -> Any:
    """Return an object with 200 sub-modules."""
    model = OurPytree() if library is nn else TheirPytree()
    model.layers = blocks(library, 200)
    return model


def model_of_layers(library: Any) -> Any:
    """Return a model of 100 layers with norms, of which one has two names."""
    norm = OurLayer if library is nn else TheirLayer
    model = library.Module()
    model.layers = blocks(library, 100, norm)
    model.tied = model.layers[0]
    return model


def split(library: Any, model: Any) -> Call:
    """Prepare a split of a model."""
    return lambda: library.split(model)


def merge(library: Any, model: Any) -> Call:
    """Prepare the merge of what a split returned."""
    graphdef, state = library.split(model)
    return lambda: library.merge(graphdef, state)


def state(library: Any, model: Any) -> Call:
    """Prepare reading the state of a model."""
    return lambda: library.state(model)


def update(library: Any, model: Any) -> Call:
    """Prepare an update of a model by its own state."""
    _, values = library.split(model)
    return lambda: library.update(model, values)


def clone(library: Any, model: Any) -> Call:
    """Prepare a copy of a model."""
    return lambda: library.clone(model)


def on_graphs(
    prepare: Callable[[Any, Any], Callable[[], Any]], model: Callable[[Any], Any]
) -> Workload:
    """Return a workload: one function on one model of each library."""
    return lambda: {
        "leafwise": prepare(nn, model(nn)),
        "flax": prepare(nnx, model(nnx)),
    }


def nested_modules(library: Any, levels: int = 4) -> Any:
    """Return a module with four modules in it, and so on: 341 of them."""

    class Nested(library.Module):  # type: ignore[misc]  # one for each library
        def __init__(self, levels: int) -> None:
            self.x = library.Variable(np.ones(levels + 1, np.float32))
            if levels > 0:
                for number in range(4):
                    setattr(self, f"child{number}", Nested(levels - 1))

    return Nested(levels)


def on_states(walk: Callable[[Any], Any], their_walk: Callable[[Any], Any]) -> Workload:
    """Return a workload: a function on the state of nested modules, and jax's."""

    def prepare() -> Functions:
        ours = nn.state(nested_modules(nn))
        theirs = nnx.state(nested_modules(nnx))
        return {"leafwise": lambda: walk(ours), "flax": lambda: their_walk(theirs)}

    return prepare


STATES: dict[str, Workload] = {
    "state of 341 modules, flatten": on_states(
        lw.tree_flatten, jax.tree_util.tree_flatten
    ),
    "state of 341 modules, flatten with path": on_states(
        lw.tree_flatten_with_path, jax.tree_util.tree_flatten_with_path
    ),
    "state of 341 modules, map with path": on_states(
        lambda state: lw.tree_map_with_path(lambda _, leaf: leaf, state),
        lambda state: jax.tree_util.tree_map_with_path(lambda _, leaf: leaf, state),
    ),
}
"""What one of Flax's own benchmarks measures: how states are walked."""

GRAPHS: dict[str, Workload] = {
    "split, 200 sub-modules": on_graphs(split, model_of_modules),
    "merge, 200 sub-modules": on_graphs(merge, model_of_modules),
    "state, 200 sub-modules": on_graphs(state, model_of_modules),
    "update, 200 sub-modules": on_graphs(update, model_of_modules),
    "clone, 200 sub-modules": on_graphs(clone, model_of_modules),
    "split, 100 layers": on_graphs(split, model_of_layers),
    "merge, 100 layers": on_graphs(merge, model_of_layers),
    "state, 100 layers": on_graphs(state, model_of_layers),
    "update, 100 layers": on_graphs(update, model_of_layers),
    "clone, 100 layers": on_graphs(clone, model_of_layers),
}


# ----------------------------------------------------------------------- compiled calls


def dense_layers(library: Any, box: Callable[[Any], Any]) -> Any:
    """Return a hundred layers of two arrays each, put into boxes such as `Param`."""

    class Dense(library.Module):  # type: ignore[misc]  # one for each library
        def __init__(self) -> None:
            self.w = box(jax.numpy.ones((4, 4)))
            self.b = box(jax.numpy.ones(4))
            self.size = 4

    model = library.Dict()
    model.layers = library.List([Dense() for _ in range(100)])
    return model


def dense_dicts() -> Any:
    """Return the same arrays in dicts in a list."""
    ones = jax.numpy.ones
    return {"layers": [{"w": ones((4, 4)), "b": ones(4)} for _ in range(100)]}


def unboxed(array: Any) -> Any:
    """Return the array itself, for layers without boxes."""
    return array


def compiled_call(jit: Callable[..., Any], model: Any) -> Call:
    """Return a call of a compiled function that leaves a model alone."""
    function = jit(lambda model, x: x)
    x = jax.numpy.ones(4)
    return lambda: function(model, x)


def compiled_tree_call(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function by Flax's jit for trees, which knows no shared references."""
    return nnx.jit(function, graph=False)


def call_tree_jit() -> Functions:
    """Call a function compiled by `nn.jit`, and by Flax for models that are trees."""
    return {
        "leafwise": compiled_call(nn.jit, dense_layers(nn, nn.Param)),
        "flax": compiled_call(compiled_tree_call, dense_layers(nnx, nnx.Param)),
    }


def call_own_jit() -> Functions:
    """Call a function compiled by the `jit` of each library."""
    return {
        "leafwise": compiled_call(nn.jit, dense_layers(nn, nn.Param)),
        "flax": compiled_call(nnx.jit, dense_layers(nnx, nnx.Param)),
        "plain": compiled_call(jax.jit, dense_dicts()),
    }


def step_own_jit() -> Functions:
    """Call a compiled function that changes all values, as a step of training does."""

    def step(model: Any) -> None:
        for layer in model.layers:
            layer.w[...] += 1.0
            layer.b[...] += 1.0

    def compiled_step(jit: Callable[..., Any], model: Any) -> Call:
        function = jit(step)
        return lambda: function(model)

    plain_step = jax.jit(
        lambda tree: jax.tree_util.tree_map(lambda leaf: leaf + 1.0, tree)
    )
    tree = dense_dicts()

    def run_plain_step() -> None:
        nonlocal tree
        tree = plain_step(tree)

    return {
        "leafwise": compiled_step(nn.jit, dense_layers(nn, nn.Param)),
        "flax": compiled_step(nnx.jit, dense_layers(nnx, nnx.Param)),
        "plain": run_plain_step,
    }


def model_and_optimizer(library: Any, depth: int) -> tuple[Any, Any]:
    """Return blocks of a linear layer and a norm, a count, and their optimizer."""
    rngs = library.Rngs(0)

    class Block(library.Module):  # type: ignore[misc]  # one for each library
        def __init__(self) -> None:
            self.linear = library.Linear(32, 32, rngs=rngs)
            self.norm = library.BatchNorm(32, rngs=rngs)

    class Model(library.Module):  # type: ignore[misc]  # one for each library
        def __init__(self) -> None:
            self.count = library.Variable(jax.numpy.array(0))
            self.blocks = library.List([Block() for _ in range(depth)])

    model = Model()
    return model, library.Optimizer(model, optax.sgd(1e-3), wrt=library.Param)


def empty_step(depth: int) -> Workload:
    """Call an empty compiled step of a model and its optimizer."""

    def compiled_step(library: Any) -> Call:
        model, optimizer = model_and_optimizer(library, depth)
        function = library.jit(lambda model, optimizer: None)
        return lambda: function(model, optimizer)

    return lambda: {"leafwise": compiled_step(nn), "flax": compiled_step(nnx)}


def call_jax_jit(
    our_box: Callable[[Any], Any], their_box: Callable[[Any], Any]
) -> Workload:
    """Call a function compiled by `jax.jit` with the objects of each library."""
    return lambda: {
        "leafwise": compiled_call(jax.jit, dense_layers(nn, our_box)),
        "flax": compiled_call(jax.jit, dense_layers(nnx, their_box)),
        "plain": compiled_call(jax.jit, dense_dicts()),
    }


COMPILED_CALLS: dict[str, Workload] = {
    "call of `nn.jit`, 100 layers of Params": call_own_jit,
    "call of `nn.jit`, beside `nnx.jit(graph=False)`": call_tree_jit,
    "step by `nn.jit`, 100 layers of Params": step_own_jit,
    "empty step by `nn.jit`, 5 blocks": empty_step(5),
    "empty step by `nn.jit`, 50 blocks": empty_step(50),
    "call of `jax.jit`, 100 layers of arrays": call_jax_jit(unboxed, unboxed),
    "call of `jax.jit`, 100 layers of Params": call_jax_jit(nn.Param, nnx.Param),
}


# -------------------------------------------------------------------------------- table


def table(timings: dict[str, Timing]) -> Iterator[str]:
    """Yield the lines of a Markdown table, the geometric means last."""
    yield "| | leafwise, µs | Flax NNX | plain |"
    yield "|---|--:|--:|--:|"
    for title, timing in timings.items():
        cells = [title, f"{timing.microseconds:.2f}"]
        for other in ("flax", "plain"):
            ratio = timing.ratios.get(other)
            cells.append("-" if ratio is None else f"{ratio:.2f}")
        yield table_row(cells)
    groups = {
        "the first seven": OBJECTS,
        "the rest": {**STATES, **GRAPHS, **COMPILED_CALLS},
    }
    for name, workloads in groups.items():
        ratios = [timings[title].ratios["flax"] for title in workloads]
        mean = statistics.geometric_mean(ratios)
        yield f"| **geometric mean of {name}** | | **{mean:.2f}** | |"


def main() -> int:
    """Measure, print, and write what the options ask for."""
    options = parse_options(__doc__)
    workloads = {**OBJECTS, **STATES, **GRAPHS, **COMPILED_CALLS}
    timings = time_small_workloads(workloads, quick=options.quick)
    lines = [*table(timings), "", conditions()]
    publish("objects", timings, lines, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
