"""Modules as users write them: in the way of NNX, of PAX, and plain `Pytree`s.

The type checkers read this file, and it is run, too. Needs numpy.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, Generic, Protocol, TypeVar, assert_type

import numpy as np
import numpy.typing as npt

import leafwise as lw
from leafwise import nn
from leafwise.show import TreeSummary


Array = npt.NDArray[np.float64]
T = TypeVar("T")


# ----------------------------------------------------------- in the way of NNX


class Rngs:
    """A stream of random numbers."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    def normal(self, *shape: int) -> Array:
        return self._generator.normal(size=shape)


class Linear(nn.Module):
    bias: nn.Param[Array] | None

    def __init__(
        self, inputs: int, outputs: int, *, use_bias: bool = True, rngs: Rngs
    ) -> None:
        self.weight = nn.Param(rngs.normal(inputs, outputs), sharding=("in", "out"))
        self.bias = nn.Param(np.zeros(outputs)) if use_bias else None
        self.inputs, self.outputs = inputs, outputs

    def __call__(self, x: Array) -> Array:
        y: Array = x @ self.weight.value
        return y if self.bias is None else y + self.bias.value


class Dropout(nn.Module):
    def __init__(self, rate: float) -> None:
        self.rate = rate
        self.deterministic = False

    def __call__(self, x: Array) -> Array:
        return x if self.deterministic else x * (1.0 - self.rate)


class BatchNorm(nn.Module):
    mean: nn.BatchStat[Array]

    def __init__(self, size: int) -> None:
        self.mean = nn.BatchStat(np.zeros(size))
        self.steps: nn.BatchStat[int] = nn.BatchStat(0)

    def __call__(self, x: Array) -> Array:
        self.mean.value = 0.9 * self.mean.value + 0.1 * x.mean(axis=0)
        self.steps[...] += 1
        _ = self.sow(nn.Intermediate, "centre", float(self.mean.value.mean()))
        return x - self.mean.value


class MLP(nn.Module):
    def __init__(self, sizes: list[int], rngs: Rngs) -> None:
        self.layers = nn.List([Linear(a, b, rngs=rngs) for a, b in pairwise(sizes)])
        self.norms = nn.Dict(first=BatchNorm(sizes[0]))
        self.dropout = Dropout(0.1)

    def __call__(self, x: Array) -> Array:
        x = self.norms["first"](x)
        for layer in self.layers:
            x = self.dropout(layer(x))
        return x

    def widths(self) -> list[int]:
        return [layer.outputs for layer in self.layers]


rngs = Rngs(0)
linear = Linear(2, 3, rngs=rngs)
assert_type(linear, Linear)
assert_type(linear.weight, nn.Param[Array])
assert_type(linear.bias, nn.Param[Array] | None)
assert_type(linear.inputs, int)
assert_type(linear(np.ones((1, 2))), Array)

model = MLP([2, 4, 1], rngs)
assert_type(model, MLP)
assert_type(model.layers, nn.List[Linear])
assert_type(model.layers[0], Linear)
assert_type(model.layers[0].weight.value, Array)
assert_type(model.layers[:1], list[Linear])
assert_type(model.norms, nn.Dict[BatchNorm])
assert_type(model.norms["first"].mean.value, Array)
assert_type(model.norms.first, BatchNorm)
assert_type(model.norms["first"].steps.value, int)
assert_type(model(np.ones((5, 2))), Array)
assert_type(model.widths(), list[int])
assert_type([*model.norms.items()], list[tuple[str, BatchNorm]])
for number, layer in enumerate(model.layers):
    assert_type(number, int)
    assert_type(layer, Linear)


# ------------------------------------------------ structure and state, and back

graphdef, state = nn.split(model)
assert_type(graphdef, nn.GraphDef[MLP])
assert_type(state, nn.State)
assert_type(nn.merge(graphdef, state), MLP)
assert_type(nn.merge(graphdef, state, copy=True).layers[1], Linear)

assert_type(nn.split(linear, nn.Param), tuple[nn.GraphDef[Linear], nn.State])
graphdef, params, rest = nn.split(model, nn.Param, ...)
assert_type((graphdef, params), tuple[nn.GraphDef[MLP], nn.State])
_, weights, stats, others = nn.split(
    model, nn.PathContains("weight"), nn.BatchStat[Any], ...
)
assert_type((weights, stats, others), tuple[nn.State, nn.State, nn.State])
parts = nn.split(model, "params", nn.Cache, ["batch_stats", "intermediates"], ...)
assert_type(len(parts), int)
again = nn.merge(graphdef, rest, params)
assert_type(again.dropout.rate, float)

assert_type(nn.graphdef(model), nn.GraphDef[MLP])
assert_type(nn.state(model), nn.State)
assert_type(nn.state(model, nn.Not(nn.Param)), nn.State)
assert_type(nn.state(model, nn.Param, nn.BatchStat), tuple[nn.State, nn.State])
assert_type(nn.state(model, lambda path, value: "bias" in path), nn.State)
assert_type(nn.pop(model, nn.Intermediate), nn.State)

wanted: list[nn.filters.Filter] = [nn.Param, "batch_stats", nn.Kind.STATE]
assert_type(nn.state(model, wanted), nn.State)

assert_type(nn.clone(model), MLP)
assert_type(nn.freeze(model), MLP)
assert_type(nn.unfreeze(nn.freeze(model, nn.PathContains("layers"))), MLP)
assert_type(nn.with_attributes(model, deterministic=True).dropout, Dropout)
assert_type(nn.recursive_map(lambda path, value: value, model), MLP)
assert_type(nn.clone({"a": [linear]}), dict[str, list[Linear]])
nn.train(model)
nn.eval(model, rate=0.0)
nn.update(model, params, rest)
assert_type(model.summary(), TreeSummary)
assert_type(nn.find_duplicates(model), list[list[tuple[Any, ...]]])

paths = [path for path, _ in nn.iter_modules(model)]
assert_type(paths, list[tuple[Any, ...]])


# --------------------------------------------------------------------- states

assert_type(params.to_flat_state().paths, tuple[tuple[Any, ...], ...])
assert_type(params.filter(nn.Param), nn.State)
assert_type(params.split(nn.Param, ...), tuple[nn.State, ...])
assert_type(params | rest, nn.State)
assert_type(nn.merge_state(params, rest), nn.State)
assert_type(nn.to_pure_dict(params), dict[Any, Any])
scaled = params.map(lambda path, value: value)
assert_type(scaled, nn.State)
typed: nn.State[str, nn.Param[Array]] = nn.State({"weight": linear.weight})
assert_type(typed.to_flat_state(), nn.FlatState[nn.Param[Array]])
assert_type([*typed], list[str])


def doubled(x: Array) -> Array:
    return 2 * x


assert_type(lw.tree_map(doubled, typed), nn.State[str, nn.Param[Array]])
assert_type(lw.tree_map(doubled, linear.weight), nn.Param[Array])
assert_type(lw.tree_map(doubled, linear), Linear)
assert_type(lw.tree_map(doubled, model.layers), nn.List[Linear])


# ------------------------------------------------------------------- variables

scale = nn.Param(2.0, unit="m")
assert_type(scale, nn.Param[float])
assert_type(scale.value, float)
assert_type(scale[...], float)
assert_type(scale.get_raw_value(), float)
assert_type(scale.copy(), nn.Param[float])
assert_type(scale.replace(3.0, unit="km"), nn.Param[float])
assert_type(copy.deepcopy(scale), nn.Param[float])
assert_type(scale.get_metadata("unit"), Any)
assert_type(float(scale * 2 + 1 - scale / 4), float)
assert_type(bool(scale > 1), bool)
assert_type(np.ones(2) @ linear.weight.value, Array)
scale.value = 3.0
scale[...] += 1
empty: nn.Cache[list[int]] = nn.Cache([])
assert_type(empty.value, list[int])


class Ema(nn.Variable[T]):
    """A variable that remembers what it was."""

    def set_value(self, value: T | nn.Variable[T]) -> None:
        self.set_metadata(before=self.get_value())
        super().set_value(value)


ema = Ema(np.zeros(2))
ema.value = np.ones(2)
assert_type(ema.get_value().dtype, np.dtype[np.float64])
assert_type(nn.variable_type("params"), type[nn.Variable])
assert_type(nn.register_variable_name("typed_ema", Ema, exist_ok=True), type[Ema[Any]])


# ------------------------------------------------------------- what comes by on the way

call = nn.capture(model)
output, seen = call(np.ones((5, 2)))
assert_type(output, Array)
assert_type(seen, nn.State)
output, seen, perturbed = nn.capture(model, nn.Intermediate, nn.Perturbation)(
    np.ones((5, 2))
)
assert_type(perturbed, nn.State)


@nn.capture(nn.Intermediate)
def run(model: MLP, x: Array) -> float:
    return float(model(x).sum())


total, seen = run(model, np.ones((5, 2)))
assert_type(total, float)
assert_type(model.perturb("inner", {"a": 1.0}), dict[str, float])
result, (called_graphdef, called_state) = nn.call(nn.split(model)).widths()
assert_type(called_graphdef, nn.GraphDef[MLP])
assert_type(called_state, nn.State)


# --------------------------------------------------- in the way of PAX: by kind


class Counted(nn.Module):
    weight: Array
    calls: int

    def __init__(self, size: int) -> None:
        self.register_parameter("weight", np.ones(size))
        self.register_state("calls", 0)
        self.offset = nn.parameter(np.zeros(size))
        self.seen = nn.state_value(0)
        self.name = nn.static("counted")

    def __call__(self, x: Array) -> Array:
        self.calls += 1
        return x * self.weight + self.offset


counted = Counted(3)
assert_type(counted(np.ones(3)), Array)
assert_type(counted.weight, Array)
assert_type(counted.offset.dtype, np.dtype[np.float64])
assert_type(counted.seen, int)
assert_type(counted.name, str)
assert_type(counted.name_to_kind, Mapping[str, nn.Kind])
assert_type(nn.name_to_kind(counted)["weight"].is_data, bool)
trained = nn.select_kind(counted, nn.Kind.PARAMETER)
assert_type(trained, Counted)
assert_type(nn.update_kind(counted, trained, nn.Kind.PARAMETER), Counted)
assert_type(nn.replace(counted, name="other"), Counted)
assert_type(counted.replace(name="other").eval().train(), Counted)
assert_type(counted.is_training, bool)
assert_type(counted.state_dict(), dict[Any, Any])
assert_type(counted.load_state_dict(counted.state_dict()), Counted)


# --------------------------------------------------------------------- Pytrees


class Shape(Protocol):
    def area(self) -> float: ...


class Square(lw.Pytree):
    def __init__(self, side: float) -> None:
        self.side = lw.data(side)
        self.unit = "m"

    def area(self) -> float:
        return self.side * self.side


class Pair(lw.Pytree, Generic[T], strict=False):
    """Two of a kind."""

    first: nn.Data[T]
    second: nn.Data[T]

    def __init__(self, first: T, second: T) -> None:
        self.first, self.second = first, second

    def __iter__(self) -> Iterator[T]:
        yield from (self.first, self.second)

    def swapped(self) -> Pair[T]:
        return Pair(self.second, self.first)


class Cell(nn.Object):
    def __init__(self) -> None:
        self.items: list[int] = []


def area_of(shape: Shape) -> float:
    return shape.area()


assert_type(Square(2.0), Square)
assert_type(Square(2.0).side, float)
assert_type(area_of(Square(2.0)), float)
assert_type(Pair(1, 2), Pair[int])
assert_type(Pair("a", "b").swapped().first, str)
squares = Pair(Square(1.0), Square(2.0))
assert_type([square.side for square in squares], list[float])
assert_type(Cell().items, list[int])
assert_type(copy.copy(Square(1.0)), Square)


# ---------------------------------------------------------- dataclasses as Pytrees


@lw.dataclass
class Affine(lw.Pytree):
    weight: float
    bias: float = nn.parameter(default=0.0)
    tags: list[str] = lw.static(default_factory=list[str], kw_only=True)
    scale: nn.Data[float] = 1.0
    extra: dict[str, float] = lw.field(default_factory=dict[str, float])

    def __call__(self, x: float) -> float:
        return self.scale * (self.weight * x + self.bias)


@lw.dataclass(frozen=True, kw_only=True)
class Config(lw.Pytree):
    rate: nn.Static[float] = 0.1
    steps: int


@dataclasses.dataclass(frozen=True)
class Standard(lw.Pytree):
    x: float
    name: str = dataclasses.field(default="s", metadata={"static": True})


affine = Affine(2.0, tags=["a"])
assert_type(affine, Affine)
assert_type(affine.bias, float)
assert_type(affine.tags, list[str])
assert_type(affine.scale, float)
assert_type(affine(3.0), float)
assert_type(Config(steps=3).rate, float)
assert_type(dataclasses.replace(affine, bias=1.0), Affine)
assert_type(Standard(1.0).name, str)


# --------------------------------------------------------------------- containers

numbers = nn.List([1, 2])
assert_type(numbers, nn.List[int])
numbers.append(3)
numbers[0] = 4
assert_type(numbers.pop(), int)
assert_type([x + 1 for x in numbers], list[int])
table = nn.Dict({"a": 1.0}, b=2.0)
assert_type(table, nn.Dict[float])
assert_type(table["a"] + table.b, float)
assert_type(table.get("c"), float | None)
table.c = 3.0
assert_type(dict(table), dict[str, float])
mixed: nn.Dict[Any] = nn.Dict(layer=linear, name="x")
assert_type(mixed.layer, Any)


class Stack(nn.List[Linear]):
    def outputs(self) -> int:
        return self[-1].outputs


stack = Stack([linear])
assert_type(stack[0], Linear)
assert_type(stack.outputs(), int)
assert_type(nn.clone(stack), Stack)
chain = nn.Sequential(linear, np.tanh)
assert_type(chain, nn.Sequential)
assert_type(chain(np.ones((1, 2))), Any)
