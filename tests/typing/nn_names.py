"""Each public name of `leafwise.nn`, in use; see `test_programs.py`. Needs jax."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from leafwise import nn


Floats = npt.NDArray[np.float64]


def seen(value: object) -> None:
    """Stand where the checkers are asked for a type."""
    assert value is not NotImplemented


def array(*values: float) -> jax.Array:
    return jnp.asarray(values)  # pyright: ignore[reportUnknownMemberType]  # jax's


class Linear(nn.Module):
    def __init__(self, size: int) -> None:
        self.weight = nn.Param(array(*[0.5] * size))
        self.calls = nn.BatchStat(0)

    def __call__(self, x: jax.Array) -> jax.Array:
        self.calls.value += 1
        return (x * self.weight.value).sum()

    def noted(self, x: jax.Array) -> jax.Array:
        self.sow(nn.Intermediate, "x", 1.0)
        return x


class Counted(nn.Module):
    def __init__(self) -> None:
        self.scale = nn.parameter(0.5)
        self.seen = nn.state_value(0)
        self.name = nn.static("counted")
        self.items = nn.data([1.0])

    def step(self, by: int) -> int:
        self.seen += by
        return self.seen


@nn.dataclass
class Affine(nn.Pytree):
    weight: float
    bias: float = nn.parameter(default=0.0)
    steps: int = nn.state_value(default=0)
    tags: list[str] = nn.static(default_factory=list[str])
    extra: float = nn.field(default=1.0)
    marked: nn.Data[float] = 1.0
    label: nn.Static[str] = ""


class Cell(nn.Object):
    def __init__(self) -> None:
        self.items = [1, 2]


x = array(1.0, 2.0)
model = Linear(2)
counted = Counted()

# ----------------------------------------------------------------- what attributes are

seen((counted.scale, counted.seen, counted.name, counted.items))
affine = Affine(2.0)
seen((affine.bias, affine.steps, affine.tags, affine.extra, affine.marked))
seen(affine.label)
seen(nn.parameter(default=0.5))  # Any: its annotation says it
seen(nn.parameter(default_factory=list[float]))  # Any: its annotation says it
seen(nn.state_value(default=0))  # Any: its annotation says it
seen(nn.state_value(default_factory=dict[str, int]))  # Any: its annotation says it
seen(nn.data(default=0.5))  # Any: its annotation says it
seen(nn.static(default="m"))  # Any: its annotation says it
seen(nn.field(default=0.5))  # Any: its annotation says it
seen(
    nn.field(default_factory=list[str], pytree_node=False)
)  # Any: its annotation says it
seen((nn.Kind.PARAMETER, nn.name_to_kind(counted), nn.is_data(x)))
seen((nn.replace(counted, name="other"), Cell().items))
nn.check_pytree(affine)


@nn.register_data_type
class Buffer:
    pass


seen(Buffer())

# ------------------------------------------------------------- variables and containers

seen((nn.Param(0.5), nn.Param(0.5).value, nn.BatchStat(0).value, nn.Cache([1]).value))
seen((nn.Intermediate(1.0).value, nn.Perturbation(1.0).value, nn.Variable(1).value))
seen((nn.List([1, 2]), nn.List([1, 2])[0], nn.Dict(a=1.0), nn.Dict(a=1.0)["a"]))
seen(nn.Sequential(model, jnp.tanh))
seen(nn.Sequential(model, jnp.tanh)(x))  # Any: what its last layer returns


class Ema(nn.Variable[float]):
    pass


seen(nn.variable_type("params"))  # Any: a type of any variable
seen(nn.register_variable_name("typed_names", Ema, exist_ok=True))

# ------------------------------------------------------------------- states and filters

graphdef: nn.GraphDef[Linear]
graphdef, state = nn.split(model)
seen(graphdef)
seen((nn.merge(graphdef, state), nn.graphdef(model)))
seen(nn.split(model, nn.Param, ...))
seen(nn.state(model))
seen(nn.state(model, nn.Param, ...))
seen(nn.pop(nn.clone(model), nn.BatchStat))
seen(nn.to_flat_state(state))
seen(nn.from_flat_state(nn.to_flat_state(state)))
seen(nn.filter_state(state, nn.Param))
seen(nn.split_state(state, nn.Param, ...))
seen(nn.merge_state(state))
seen(nn.diff_state(state, nn.state(model, nn.Param)))
seen(nn.map_state(lambda _path, value: value, state))
seen(nn.as_pure(state))
seen(nn.to_pure_dict(state))  # Any: values of every variable
seen(nn.restore_int_paths({"0": 1.0}))  # Any: keys may become numbers
nn.replace_by_pure_dict(state, nn.to_pure_dict(state))
seen(nn.State({"a": 1.0})["a"])  # Any: a variable, or a state below
seen(nn.FlatState({("a",): 1.0}))  # not ty
seen((nn.All(nn.Param), nn.Not(nn.Param), nn.Everything()))
seen(nn.Any(nn.Param))  # Any: the filter of that name
seen((nn.Nothing(), nn.OfKind(nn.Kind.STATE), nn.OfType(nn.Param)))
seen((nn.PathContains("w"), nn.PathIn(("w",)), nn.WithTag("t")))
nn.update(model, state)
seen((nn.clone(model), nn.select_kind(counted, nn.Kind.STATE)))
seen(nn.update_kind(counted, counted, nn.Kind.STATE))

# ------------------------------------------------------------------------------- models

seen((nn.freeze(model), nn.unfreeze(nn.freeze(model))))
seen(nn.find_duplicates(model))  # Any: keys of any type
seen(nn.iter_graph(model))  # Any: nodes of every sort
seen(nn.iter_children(model))  # Any: children of every sort
seen(nn.iter_modules(model))  # Any: keys of any type
seen(nn.recursive_map(lambda _path, value: value, model))
seen(nn.with_attributes(counted, name="other"))
nn.set_attributes(counted, name="other")
nn.set_metadata(model, nn.Param, tag="t")
nn.train(model)
nn.eval(model)
seen(nn.pure(counted.step)(1))
seen(nn.capture(model.noted)(x))
seen(nn.capture(model.noted, nn.Intermediate)(x))

# ---------------------------------------------------------------------- random numbers

rngs = nn.Rngs(jax.random.key(0), params=1)
seen((rngs, rngs["params"], rngs.fork(), rngs.split(2)))
seen(rngs.params)  # Any: a stream, or what draws numbers
seen((rngs.dropout, rngs.params.key))  # Any: a stream, or what draws numbers
seen((rngs.params.count, rngs.params.fork()))  # Any: of such a stream
seen(rngs.params())  # Any: a key of jax, or a generator of NumPy
seen(rngs())  # Any: a key of jax, or a generator of NumPy
seen(rngs.normal((2, 3)))  # Any: an array of jax, or of NumPy
seen(rngs.params.uniform())  # Any: an array of jax, or of NumPy
seen(nn.RngStream(jax.random.key(0), tag="t"))
seen((nn.RngState(0).tag, nn.RngKey(0), nn.RngCount(0)))


class Descent:
    """A transformation in the way of optax."""

    def init(self, params: Any, /) -> Any:
        return ()

    def update(self, updates: Any, state: Any, params: Any = None, /) -> Any:
        return updates, state


optimizer = nn.Optimizer(model, Descent(), wrt=nn.Param)
seen(optimizer)
seen(optimizer.update(model, nn.state(model, nn.Param)))
seen((nn.OptState(0), nn.OptArray(x), nn.OptVariable(x)))

# -------------------------------------------------------------------------- transforms


def loss_of(model: Linear, x: jax.Array) -> jax.Array:
    return model(x)


def doubled(x: jax.Array) -> jax.Array:
    return x * 2


seen(nn.jit(loss_of)(model, x))
seen(nn.grad(loss_of)(model, x))
seen(nn.grad(doubled)(x.sum()))  # not ty
seen(nn.value_and_grad(loss_of)(model, x))
seen(nn.vmap(doubled)(x))
seen(nn.remat(doubled)(x))
seen(nn.eval_shape(lambda: Linear(2)))
layers = nn.Linear(2, 2, rngs=nn.Rngs(0)), nn.BatchNorm(2), nn.Dropout(0.5)
seen((layers[0](x), nn.relu(x)))  # Any: arrays of jax
seen((layers[1](x), layers[2].eval()(x), nn.gelu(x)))  # Any: arrays of jax
seen(nn.prefix(model, {nn.Param: 0, ...: None}))
seen(nn.TraceError("e"))
