"""Training as users write it: jitted steps, gradients, several ways to say what.

The type checkers read this file, and it is run, too. Needs jax.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypedDict, assert_type

import jax
import jax.numpy as jnp

import leafwise as lw
from leafwise import nn


def array(*values: float) -> jax.Array:
    return jnp.asarray(values)  # pyright: ignore[reportUnknownMemberType]  # jax's


# ----------------------------------------------------------------- a model of objects


class Linear(nn.Module):
    def __init__(self, size: int) -> None:
        self.weight = nn.Param(array(*[0.5] * size))
        self.bias = nn.Param(array(0.0))
        self.calls = nn.BatchStat(array(0.0))

    def __call__(self, x: jax.Array) -> jax.Array:
        self.calls.value += 1
        return (x * self.weight.value).sum() + self.bias.value.sum()

    @nn.jit
    def predict(self, x: jax.Array) -> jax.Array:
        return self(x)

    @nn.jit(static_argnames="power")
    def powered(self, x: jax.Array, *, power: int = 2) -> jax.Array:
        return self(x) ** power

    def loss(self, x: jax.Array, y: float) -> jax.Array:
        return (self(x) - y) ** 2


model = Linear(2)
x = array(1.0, 2.0)
assert_type(model.predict(x), jax.Array)
assert_type(model.powered(x, power=3), jax.Array)
assert_type(Linear.predict(model, x), jax.Array)
lowered = Linear.predict.lower(model, x)
assert_type(lowered.compile()(model, x), jax.Array)
assert_type(nn.jit(model)(x), jax.Array)
assert_type(nn.jit(model.loss)(x, 1.0), jax.Array)


# --------------------------------------------------------------------- gradients


def loss_of(model: Linear, x: jax.Array, y: float, *, scale: float = 1.0) -> jax.Array:
    return scale * (model(x) - y) ** 2


def loss_and_aux(model: Linear, x: jax.Array) -> tuple[jax.Array, dict[str, jax.Array]]:
    out = model(x)
    return out.sum(), {"out": out}


gradients = nn.grad(loss_of)(model, x, 1.0, scale=2.0)
assert_type(gradients, nn.State)
value, gradients = nn.value_and_grad(loss_of)(model, x, 1.0)
assert_type(value, jax.Array)
assert_type(gradients, nn.State)
value, gradients = nn.value_and_grad(loss_of, wrt=nn.PathContains("bias"))(
    model, x, y=1.0
)
(value, aux), gradients = nn.value_and_grad(loss_and_aux, has_aux=True)(model, x)
assert_type(aux, dict[str, jax.Array])
gradients, aux = nn.grad(loss_and_aux, has_aux=True)(model, x)
assert_type((gradients, aux), tuple[nn.State, dict[str, jax.Array]])
value, by_x = nn.value_and_grad(model.loss)(x, 1.0)
assert_type(by_x, jax.Array)
value, both = nn.value_and_grad(loss_of, argnums=(0, 1))(model, x, 1.0)
assert_type(both, tuple[Any, ...])
assert_type(nn.grad(loss_of, argnums=1)(model, x, 1.0), Any)


@nn.grad
def slope(w: jax.Array, x: jax.Array) -> jax.Array:
    return (w * x).sum()


@nn.value_and_grad(has_aux=True)
def stepper(model: Linear, x: jax.Array) -> tuple[jax.Array, int]:
    return model(x), 3


@nn.grad(wrt=nn.Param, has_aux=True)
def slope_and_aux(model: Linear, x: jax.Array) -> tuple[jax.Array, int]:
    return model(x), 3


assert_type(slope(x, x), jax.Array)


# ------------------------------------------------------------------ steps of training


def descend(parameter: jax.Array, gradient: jax.Array) -> jax.Array:
    return parameter - 0.1 * gradient


@nn.jit
def train_step(model: Linear, x: jax.Array, y: float) -> jax.Array:
    value, gradients = nn.value_and_grad(loss_of)(model, x, y)
    params = nn.state(model, nn.Param)
    stepped = lw.tree_map(descend, params, gradients)
    nn.update(model, stepped)
    return value


@nn.jit(static_argnames=("rate",), donate_argnums=0)
def functional_step(
    params: nn.State, graphdef: nn.GraphDef[Linear], x: jax.Array, *, rate: float
) -> tuple[nn.State, jax.Array]:
    model = nn.merge(graphdef, params)
    assert_type(model, Linear)
    return nn.state(model), model(x) * rate


for _step in range(2):
    assert_type(train_step(model, x, 1.0), jax.Array)
graphdef, state = nn.split(Linear(2))
state, out = functional_step(state, graphdef, x, rate=0.5)
assert_type(state, nn.State)
assert_type(out, jax.Array)
assert_type(nn.merge(graphdef, state).bias.value, jax.Array)


# ----------------------------------------------------- an optimizer, random numbers


class Descent:
    """A transformation in the way of optax."""

    def init(self, params: Any, /) -> Any:
        return ()

    def update(self, updates: Any, state: Any, params: Any = None, /) -> Any:
        return lw.tree_map(minus, updates), state


def minus(gradient: jax.Array) -> jax.Array:
    return -0.1 * gradient


class Noisy(nn.Module):
    def __init__(self, rngs: nn.Rngs) -> None:
        key: jax.Array = rngs.params()
        self.weight = nn.Param(jax.random.normal(key, (2,)))
        self.noise = rngs.fork()

    def __call__(self, x: jax.Array) -> jax.Array:
        return (x * self.weight.value).sum()


@nn.jit
def optimize(
    model: Noisy, optimizer: nn.Optimizer[Noisy], x: jax.Array
) -> tuple[jax.Array, nn.State]:
    def loss(model: Noisy) -> jax.Array:
        return model(x) ** 2

    value, gradients = nn.value_and_grad(loss)(model)
    assert_type(gradients, nn.State)
    return value, optimizer.update(model, gradients)


noisy = Noisy(nn.Rngs(jax.random.key(0)))
assert_type(noisy.noise, nn.Rngs)
assert_type(noisy.noise["params"], nn.RngStream)
optimizer = nn.Optimizer(noisy, Descent(), wrt=nn.Param)
assert_type(optimizer, nn.Optimizer[Noisy])
assert_type(optimize(noisy, optimizer, x), tuple[jax.Array, nn.State])


# --------------------------------------------------------------- parameters as data


class Params(TypedDict):
    weight: jax.Array
    bias: jax.Array


@lw.dataclass(frozen=True)
class Affine:
    weight: jax.Array
    bias: jax.Array
    name: str = lw.static(default="affine")

    def __call__(self, x: jax.Array) -> jax.Array:
        return (self.weight * x).sum() + self.bias


def loss_of_dict(params: Params, x: jax.Array) -> jax.Array:
    return (params["weight"] * x).sum() + params["bias"]


def loss_of_affine(affine: Affine, x: jax.Array) -> jax.Array:
    return affine(x) ** 2


params: Params = {"weight": x, "bias": jnp.float32(0.0) * x.sum()}
assert_type(nn.grad(loss_of_dict)(params, x), Params)
affine = Affine(x, x.sum())
assert_type(nn.grad(loss_of_affine)(affine, x), Affine)
assert_type(nn.value_and_grad(loss_of_affine)(affine, x), tuple[jax.Array, Affine])
assert_type(nn.jit(loss_of_affine)(affine, x), jax.Array)
assert_type(nn.jit(affine)(x), jax.Array)
assert_type(replace(affine, name="other"), Affine)


# -------------------------------------------------------------------------- vmap


@nn.vmap(in_axes=(None, 0), axis_size=2)
def rows(model: Linear, x: jax.Array) -> jax.Array:
    return model.weight.value * x


def make(seed: jax.Array) -> jax.Array:
    return seed * 2


assert_type(rows(model, x), jax.Array)
assert_type(nn.vmap(make)(x), jax.Array)
assert_type(nn.jit(nn.vmap(make))(x), jax.Array)
assert_type(nn.jit(make)(x), jax.Array)


# ------------------------------------------------------------ remat, axes, shapes


class Deep(nn.Module):
    def __init__(self, depth: int) -> None:
        self.scale = nn.Param(array(*[1.5] * depth))

    @nn.remat
    def block(self, x: jax.Array) -> jax.Array:
        return x * self.scale.value.sum()

    @nn.remat(prevent_cse=False)
    def again(self, x: jax.Array) -> jax.Array:
        return self.block(x)


def up(deep: Deep, x: jax.Array) -> jax.Array:
    return x * deep.scale.value.sum()


deep = Deep(2)
assert_type(deep.block(x), jax.Array)
assert_type(deep.again(x), jax.Array)
assert_type(nn.remat(up)(deep, x), jax.Array)
assert_type(nn.eval_shape(lambda: Deep(2)), Deep)
assert_type(nn.pure(deep.block)(x), jax.Array)
assert_type(nn.prefix(deep, {nn.Param: 0}), Deep)
axes = nn.prefix(deep, {nn.Param: 0, ...: None})
assert_type(nn.vmap(up, in_axes=(axes, None))(deep, x), jax.Array)
assert_type(nn.clone(deep, arrays=True), Deep)


# ------------------------------------------------- what nobody has annotated stays so

anything = nn.grad(lambda w: (w**2).sum())(x)  # pyright: ignore
assert_type(anything, Any)


def loose(model: Any, x: jax.Array) -> jax.Array:
    out: jax.Array = model(x)
    return out


assert_type(nn.grad(loose)(model, x), Any)
