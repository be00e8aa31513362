"""Measure objects that are trees beside those of Flax NNX, and plain dataclasses.

Usage: python benchmarks/objects.py [--quick] [--write] [--json FILE]

All are timed in one process, in turn; ratios are medians over the rounds. A number
above 1 says how many times as fast leafwise is. "plain" is a class without
any checks, registered in jax where it is flattened: what cannot be done faster.
`--write` puts the tables into the docs, `--json` what `beside.py` reads into a file.
Needs flax, which the `bench` extra installs.
"""

from __future__ import annotations

import dataclasses
import gc
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
import timing
from flax import nnx
from timing import Timed, side_by_side

import leafwise as lw
from leafwise import nn


ROOT = Path(__file__).parents[1]
ARRAY = np.ones((4, 4), np.float32)
NUMBERS = [*range(10_000)]

Functions = dict[str, Callable[[], Any]]


class Ours(lw.Pytree):
    """Whatever attributes there are."""


class Theirs(nnx.Pytree):
    """Whatever attributes there are."""


class Plain:
    """Whatever attributes there are."""


def assigning(value: Any) -> Functions:
    """Assign an attribute that is there already."""

    def make(cls: type) -> Callable[[], None]:
        obj = cls()
        obj.value = value

        def run() -> None:
            obj.value = value

        return run

    return {"leafwise": make(Ours), "flax": make(Theirs), "plain": make(Plain)}


def building() -> Functions:
    """Make an object of eleven attributes: numbers, texts, arrays."""

    def make(base: type) -> Callable[[], Any]:
        class Block(base):  # type: ignore[misc,valid-type]  # one for each base
            def __init__(self) -> None:
                self.din = self.dout = 4
                self.rate = 0.5
                self.name = "block"
                self.use_bias = True
                self.shape = (4, 4)
                self.activation = "relu"
                self.w = self.b = self.scale = ARRAY
                self.step = 0

        return Block

    return {"leafwise": make(Ours), "flax": make(Theirs), "plain": make(Plain)}


def appending() -> Functions:
    """Append a hundred arrays to a list."""

    def make(cls: type) -> Callable[[], None]:
        def run() -> None:
            items = cls([])
            for _ in range(100):
                items.append(ARRAY)

        return run

    return {"leafwise": make(nn.List), "flax": make(nnx.List), "plain": make(list)}


class Layer:
    """Two arrays and a size."""

    def __init__(self) -> None:
        self.w = ARRAY
        self.b = ARRAY
        self.size = 4


class OurLayer(Layer, lw.Pytree):
    """As a tree of ours."""


class TheirLayer(Layer, nnx.Pytree):
    """As a tree of theirs."""


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class PlainLayer:
    """As a dataclass that jax flattens."""

    w: Any = dataclasses.field(default_factory=lambda: ARRAY)
    b: Any = dataclasses.field(default_factory=lambda: ARRAY)
    size: int = dataclasses.field(default=4, metadata={"static": True})


def models() -> tuple[Any, Any, Any]:
    """Return a tree of 200 objects in a list, from each library."""
    ours, theirs = Ours(), Theirs()
    ours.layers = nn.List([OurLayer() for _ in range(200)])
    theirs.layers = nnx.List([TheirLayer() for _ in range(200)])
    return ours, theirs, {"layers": [PlainLayer() for _ in range(200)]}


def flattening() -> Functions:
    """Flatten 200 sub-objects."""
    ours, theirs, plain = models()
    return {
        "leafwise": lambda: lw.tree_flatten(ours),
        "flax": lambda: jax.tree_util.tree_flatten(theirs),
        "plain": lambda: jax.tree_util.tree_flatten(plain),
    }


def mapping() -> Functions:
    """Map over 200 sub-objects, which rebuilds them."""
    ours, theirs, plain = models()
    return {
        "leafwise": lambda: lw.tree_map(lambda x: x, ours),
        "flax": lambda: jax.tree_util.tree_map(lambda x: x, theirs),
        "plain": lambda: jax.tree_util.tree_map(lambda x: x, plain),
    }


def blocks(library: Any, count: int, norm: type | None = None) -> Any:
    """Return layers of two parameters and a running mean, and of a norm."""

    class Block(library.Module):  # type: ignore[misc]  # one for each library
        def __init__(self) -> None:
            self.w = library.Param(ARRAY)
            self.b = library.Param(ARRAY)
            self.mean = library.BatchStat(ARRAY)
            self.size = 4
            if norm is not None:
                self.norm = norm()

    return library.List([Block() for _ in range(count)])


def tied(library: Any, norm: type) -> Any:
    """Return a model of 100 layers, of which one stands twice."""
    model = library.Module()
    model.layers = blocks(library, 100, norm)
    model.tied = model.layers[0]
    return model


def graph(name: str, ours: Any, theirs: Any) -> Callable[[], Functions]:
    """Return what measures one graph function on one object of each library."""

    def make(library: Any, obj: Any) -> Callable[[], Any]:
        graphdef, state = library.split(obj)
        if name == "merge":
            return lambda: library.merge(graphdef, state)
        if name == "update":
            return lambda: library.update(obj, state)
        function = getattr(library, name)
        return lambda: function(obj)

    return lambda: {"leafwise": make(nn, ours), "flax": make(nnx, theirs)}


def graphs() -> Iterator[tuple[str, Callable[[], Functions]]]:
    """Yield the graph functions on 200 sub-modules and on a model of 100 layers."""
    ours, theirs = Ours(), Theirs()
    ours.layers, theirs.layers = blocks(nn, 200), blocks(nnx, 200)
    pairs = {
        "200 sub-modules": (ours, theirs),
        "100 layers": (tied(nn, OurLayer), tied(nnx, TheirLayer)),
    }
    for title, (mine, other) in pairs.items():
        for name in ("split", "merge", "state", "update", "clone"):
            yield f"{name}, {title}", graph(name, mine, other)


def layers(library: Any, kind: Callable[[Any], Any]) -> Any:
    """Return a hundred layers of two arrays each."""

    class Dense(library.Module):  # type: ignore[misc]  # one for each library
        def __init__(self) -> None:
            self.w = kind(jax.numpy.ones((4, 4)))
            self.b = kind(jax.numpy.ones(4))
            self.size = 4

    model = library.Dict()
    model.layers = library.List([Dense() for _ in range(100)])
    return model


def as_dict() -> Any:
    """Return the same as dicts in a list."""
    ones = jax.numpy.ones
    return {"layers": [{"w": ones((4, 4)), "b": ones(4)} for _ in range(100)]}


def calling(make: Callable[..., Any], model: Any) -> Callable[[], Any]:
    """Return a call of a compiled function that leaves a model alone."""
    function = make(lambda model, x: x)
    x = jax.numpy.ones(4)
    return lambda: function(model, x)


def sharing_jit() -> Functions:
    """Call a function compiled by each library's own `jit`."""
    return {
        "leafwise": calling(nn.jit, layers(nn, nn.Param)),
        "flax": calling(nnx.jit, layers(nnx, nnx.Param)),
        "plain": calling(jax.jit, as_dict()),
    }


def stepping_jit() -> Functions:
    """Call a compiled function that changes all values, as a step of training does."""

    def step(model: Any) -> None:
        for layer in model.layers:
            layer.w[...] += 1.0
            layer.b[...] += 1.0

    def make(jit: Callable[..., Any], model: Any) -> Callable[[], Any]:
        function = jit(step)
        return lambda: function(model)

    add = jax.jit(lambda tree: jax.tree_util.tree_map(lambda leaf: leaf + 1.0, tree))
    held = [as_dict()]

    def plain() -> None:
        held[0] = add(held[0])

    return {
        "leafwise": make(nn.jit, layers(nn, nn.Param)),
        "flax": make(nnx.jit, layers(nnx, nnx.Param)),
        "plain": plain,
    }


def jax_jit(kind: str) -> Callable[[], Functions]:
    """Call a function compiled by `jax.jit`, with arrays or variables in objects."""

    def make() -> Functions:
        ours, theirs = (
            layers(library, getattr(library, kind, lambda array: array))
            for library in (nn, nnx)
        )
        return {
            "leafwise": calling(jax.jit, ours),
            "flax": calling(jax.jit, theirs),
            "plain": calling(jax.jit, as_dict()),
        }

    return make


ROWS: dict[str, Callable[[], Functions]] = {
    "assign an int": lambda: assigning(1),
    "assign an array": lambda: assigning(ARRAY),
    "assign a list of 10,000 ints": lambda: assigning(NUMBERS),
    "build an object of 11 attributes": building,
    "append 100 arrays to a List": appending,
    "flatten 200 sub-objects": flattening,
    "map over 200 sub-objects": mapping,
    **dict(graphs()),
    "call of `nn.jit`, 100 layers of Params": sharing_jit,
    "step by `nn.jit`, 100 layers of Params": stepping_jit,
    "call of `jax.jit`, 100 layers of arrays": jax_jit("no kind"),
    "call of `jax.jit`, 100 layers of Params": jax_jit("Param"),
}


def rows(rounds: int, slice_seconds: float) -> Iterator[tuple[str, Timed]]:
    """Yield what is done, and how long it takes."""
    for title, make in ROWS.items():
        yield title, side_by_side(make(), rounds, slice_seconds)


def table(found: dict[str, Timed]) -> Iterator[str]:
    """Yield the lines of a Markdown table, the geometric means last."""
    yield "| | leafwise, µs | Flax NNX | plain |"
    yield "|---|--:|--:|--:|"
    for title, timed in found.items():
        cells = " | ".join(
            f"{timed.ratios[other]:.2f}" if other in timed.ratios else "-"
            for other in ("flax", "plain")
        )
        yield f"| {title} | {timed.microseconds:.2f} | {cells} |"
    ratios = [timed.ratios["flax"] for timed in found.values()]
    for title, part in ("the first seven", ratios[:7]), ("the rest", ratios[7:]):
        mean = timing.geometric_mean(part)
        yield f"| **geometric mean of {title}** | | **{mean:.2f}** | |"


def main() -> int:
    options = timing.arguments(__doc__)
    gc.collect()
    gc.disable()
    found = dict(rows(*((3, 0.002) if options.quick else (15, 0.01))))
    lines = [*table(found), "", timing.conditions()]
    print(*lines, sep="\n")
    if options.json is not None:
        timing.save(options.json, [("objects", *row) for row in found.items()])
    if options.write:
        timing.write(ROOT / "docs" / "performance.md", "objects", lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
