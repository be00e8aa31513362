"""What type checkers refuse: each line that is ignored here must be an error there.

Both checkers tell of a comment that ignores nothing. The functions are not called.
"""

# pyright: strict, reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

import leafwise as lw
from leafwise import nn


class Linear(nn.Module):
    def __init__(self, size: int, *, name: str = "linear") -> None:
        self.weight = nn.Param(1.0)
        self.size = size
        self.name = name

    def __call__(self, x: float) -> float:
        return x * self.weight.value

    @nn.jit(static_argnames="power")
    def powered(self, x: float, *, power: int) -> float:
        return self(x) ** power


class Empty(lw.Pytree):
    pass


@lw.dataclass(frozen=True)
class Point(lw.Pytree):
    x: float
    name: str = lw.static(default="p", kw_only=True)


def calls() -> None:
    Linear("2")  # type: ignore[arg-type]
    Linear()  # type: ignore[call-arg]
    Linear(2, nmae="a")  # type: ignore[call-arg]
    Empty(1)  # type: ignore[call-arg]
    Point("x")  # type: ignore[arg-type]
    Point(1.0, "p")  # type: ignore[call-arg]
    Point(1.0).x = 2.0  # type: ignore[misc]
    Linear(2)("x")  # type: ignore[arg-type]
    Linear(2).powered(1.0, power="2")  # type: ignore[arg-type]
    Linear(2).powered()  # type: ignore[call-arg]


def attributes(model: Linear) -> None:
    print(model.wieght)  # type: ignore[attr-defined]
    model.weight = 2.0  # type: ignore[assignment]
    model.weight.value = "2"  # type: ignore[assignment]
    model.size = "2"  # type: ignore[assignment]


def containers() -> None:
    numbers = nn.List([1])
    numbers.append("2")  # type: ignore[arg-type]
    numbers["0"]  # type: ignore[call-overload]
    table = nn.Dict(a=1)
    table["b"] = "2"  # type: ignore[assignment]
    table[0]  # type: ignore[index]


def filters(model: Linear, state: nn.State) -> None:
    nn.split(model, 3)  # type: ignore[call-overload]
    nn.state(model, only=nn.Param)  # type: ignore[call-overload]
    nn.pop(model, 0.5)  # type: ignore[call-overload]
    graphdef, params = nn.split(model, nn.Param, ...)  # type: ignore[misc]
    nn.merge(state, state)  # type: ignore[arg-type]
    print(graphdef, params)


def loss_of(model: Linear, x: float) -> float:
    return model(x)


def transforms(model: Linear) -> None:
    nn.jit(loss_of)(model, "x")  # type: ignore[arg-type]
    nn.vmap(loss_of, in_axes=0.5)  # type: ignore[call-overload]
    nn.grad(loss_of)(model)  # type: ignore[call-arg]
    nn.grad(loss_of, argnum=1)  # type: ignore[call-overload]
    nn.jit(3)  # type: ignore[call-overload]
    nn.value_and_grad(loss_of)(1.0, 1.0)  # type: ignore[arg-type]
    nn.capture(model)("x")  # type: ignore[arg-type]
    nn.remat(policy=3)  # type: ignore[call-overload]
    nn.remat(loss_of, polcy=None)  # type: ignore[call-overload]
