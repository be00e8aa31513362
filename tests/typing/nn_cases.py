"""What type checkers infer of modules, their states, and transforms. Needs jax.

The checkers read this file, and it is run, too.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar, assert_type

import jax
import jax.numpy as jnp

import leafwise as lw
from leafwise import nn


T = TypeVar("T")


def array(*values: float) -> jax.Array:
    return jnp.asarray(values)  # pyright: ignore[reportUnknownMemberType]  # jax's


class Linear(nn.Module):
    bias: nn.Param[jax.Array] | None

    def __init__(self, size: int, *, use_bias: bool = True) -> None:
        self.weight = nn.Param(array(*[0.5] * size), sharding=("in",))
        self.bias = nn.Param(array(0.0)) if use_bias else None
        self.calls: nn.BatchStat[int] = nn.BatchStat(0)
        self.size = size

    def __call__(self, x: jax.Array) -> jax.Array:
        self.calls[...] += 1
        return (x * self.weight.value).sum()

    @nn.jit(static_argnames="power")
    def powered(self, x: jax.Array, *, power: int = 2) -> jax.Array:
        return self(x) ** power


class Model(nn.Module):
    def __init__(self) -> None:
        self.layers = nn.List([Linear(2), Linear(2)])
        self.norms = nn.Dict(first=Linear(2))


class Counted(nn.Module):
    def __init__(self) -> None:
        self.offset = nn.parameter(0.5)
        self.seen = nn.state_value(0)
        self.name = nn.static("counted")


class Pair(lw.Pytree, Generic[T]):
    first: nn.Data[T]

    def __init__(self, first: T) -> None:
        self.first = first


@lw.dataclass
class Affine(lw.Pytree):
    weight: float
    bias: float = nn.parameter(default=0.0)
    tags: list[str] = lw.static(default_factory=list[str], kw_only=True)


model, linear, x = Model(), Linear(2), array(1.0, 2.0)

# ------------------------------------------------------- attributes and containers

assert_type(linear.weight.value, jax.Array)
assert_type(linear.bias, nn.Param[jax.Array] | None)
assert_type(linear.calls[...], int)
assert_type(model.layers[0], Linear)
assert_type(model.norms["first"].size, int)
assert_type([*model.norms.items()], list[tuple[str, Linear]])
assert_type(Counted().seen, int)
assert_type(Counted().name, str)
assert_type(Pair("a").first, str)
assert_type(Affine(2.0, tags=["a"]).bias, float)
assert_type(nn.Param(2.0).replace(3.0), nn.Param[float])
assert_type(nn.List([1, 2]).pop(), int)

# ------------------------------------------------------------ states, and back

graphdef, params, rest = nn.split(model, nn.Param, ...)
assert_type(graphdef, nn.GraphDef[Model])
assert_type(params, nn.State)
assert_type(nn.merge(graphdef, params, rest), Model)
assert_type(nn.state(model, nn.Param, nn.BatchStat), tuple[nn.State, ...])
assert_type(nn.clone(model), Model)
assert_type(nn.freeze(model, nn.filters.PathContains("weight")), Model)
assert_type(nn.select_kind(Counted(), nn.Kind.PARAMETER), Counted)
assert_type(lw.tree_map(lambda v: v, linear), Linear)
typed: nn.State[str, nn.Param[jax.Array]] = nn.State({"weight": linear.weight})
assert_type([*typed], list[str])
out, seen = nn.capture(linear)(x)
assert_type((out, seen), tuple[jax.Array, nn.State])

# -------------------------------------------------------------------- transforms


def loss_of(model: Linear, x: jax.Array, *, scale: float = 1.0) -> jax.Array:
    return scale * model(x) ** 2


def loss_and_aux(model: Linear, x: jax.Array) -> tuple[jax.Array, dict[str, jax.Array]]:
    return model(x), {"x": x}


def loose(model: Any, x: jax.Array) -> jax.Array:
    out: jax.Array = model(x)
    return out


@nn.jit
def train_step(model: Linear, x: jax.Array) -> jax.Array:
    value, gradients = nn.value_and_grad(loss_of)(model, x)
    assert_type(gradients, nn.State)
    return value


assert_type(train_step(linear, x), jax.Array)
assert_type(linear.powered(x, power=3), jax.Array)
assert_type(nn.jit(linear)(x), jax.Array)
assert_type(nn.grad(loss_of)(linear, x, scale=2.0), nn.State)
gradients, aux = nn.grad(loss_and_aux, has_aux=True)(linear, x)
assert_type(nn.grad(lambda x: x.sum())(x), Any)  # pyright: ignore  # not ty, not pyrefly
assert_type(nn.grad(loose)(linear, x), Any)
assert_type(nn.vmap(loss_of, in_axes=(None, 0))(linear, x), jax.Array)
assert_type(nn.remat(loss_of)(linear, x), jax.Array)
assert_type(nn.eval_shape(lambda: Linear(2)), Linear)
rngs = nn.Rngs(jax.random.key(0), params=1)
assert_type(rngs["params"], nn.RngStream)
assert_type(rngs.fork(), nn.Rngs)
