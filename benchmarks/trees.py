"""The trees that the benchmarks walk, as plain data and as registered classes.

No benchmark by itself.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple


@dataclasses.dataclass
class Point:
    """A registered class with two children."""

    x: float
    y: float


class Box:
    """A registered class with a child and a name."""

    def __init__(self, value: Any, name: str) -> None:
        self.value = value
        self.name = name


def flatten_box(box: Box) -> tuple[tuple[Any], str]:
    """Return the child of a box, and its name."""
    return (box.value,), box.name


def unflatten_box(name: str, children: Any) -> Box:
    """Return a box with a name and one child."""
    return Box(*children, name)


class Moments(NamedTuple):
    """The state of an optimizer for one tree of parameters."""

    count: int
    mean: Any
    variance: Any


class Chain(NamedTuple):
    """Two states of an optimizer, one after the other."""

    clip: tuple[()]
    adam: Moments


def config() -> dict[str, Any]:
    """Twenty-nine leaves of a training configuration."""
    return {
        "seed": 0,
        "data": {
            "path": "train.bin",
            "batch": 32,
            "shuffle": True,
            "crop": (224, 224),
            "augment": {"flip": 0.5, "mix": None, "scale": [0.8, 1.2]},
        },
        "model": {
            "width": 512,
            "heads": 8,
            "dropout": 0.1,
            "layers": [
                {"kind": "attention", "bias": True},
                {"kind": "mlp", "bias": False},
                {"kind": "norm", "bias": False},
            ],
        },
        "optim": {
            "name": "adam",
            "lr": 3e-4,
            "betas": (0.9, 0.999),
            "decay": 0.1,
            "schedule": {"kind": "cosine", "warmup": 100, "steps": [1000, 2000]},
        },
        "tags": ["base", "v2"],
    }


def mlp() -> dict[str, Any]:
    """Eight leaves: four layers of weights and biases."""
    return {f"layer_{i}": {"w": float(i), "b": 0.5} for i in range(4)}


def linear() -> dict[str, float]:
    """Two leaves."""
    return {"kernel": 1.0, "bias": 0.5}


def layers(count: int) -> list[Any]:
    """Sixteen leaves for each block."""
    return [
        {
            "attention": {name: linear() for name in ("query", "key", "value", "out")},
            "mlp": {"up": linear(), "down": linear()},
            "norm_1": {"scale": 1.0, "bias": 0.5},
            "norm_2": {"scale": 1.0, "bias": 0.5},
        }
        for _ in range(count)
    ]


def transformer(blocks: int = 12) -> dict[str, Any]:
    """About two hundred leaves: parameters of a small transformer."""
    return {
        "embed": {"tokens": 1.0, "positions": 2.0},
        "blocks": layers(blocks),
        "head": linear(),
        "norm": {"scale": 1.0, "bias": 0.5},
    }


def optimizer() -> Chain:
    """Named tuples around two trees of parameters."""
    return Chain(clip=(), adam=Moments(3, mlp(), mlp()))


def chain(depth: int = 200) -> Any:
    """Nested dicts with one key each."""
    tree: Any = 1.0
    for _ in range(depth):
        tree = {"inner": tree}
    return tree


def ordered_dicts() -> Any:
    """Forty leaves: layers in ordered dicts."""
    tree = OrderedDict()
    for i in range(20):
        tree[f"layer_{i}"] = OrderedDict(weight=1.0, bias=0.5)
    return tree


def deployment() -> dict[str, Any]:
    """Nearly four hundred leaves: services with ports, variables and limits."""
    services = {}
    for number in range(24):
        services[f"service-{number}"] = {
            "image": "registry/image",
            "ports": [80, 443],
            "env": {f"VARIABLE_{i}": str(i) for i in range(9)},
            "limits": {"cpu": 1, "memory": "2G"},
            "replicas": number,
        }
    return {"services": services, "version": "3"}


def adam(blocks: int = 8) -> Chain:
    """The state of an optimizer of a transformer."""
    return Chain((), Moments(3, transformer(blocks), transformer(blocks)))


def rollout(steps: int = 50) -> list[Any]:
    """Steps of an environment: observations, action, reward, end."""
    return [
        ({"image": 1.0, "speed": (0.5, 0.25)}, number, 0.1, False)
        for number in range(steps)
    ]


def records(count: int = 30) -> list[Any]:
    """Answers of a service, of which some have a field more."""
    answers = []
    for number in range(count):
        answer = {"id": number, "name": "text", "tags": ["a", "b"], "owner": None}
        if number % 3 == 0:
            answer["error"] = {"code": 404, "message": "text"}
        answers.append(answer)
    return answers


TREES: dict[str, Callable[[], Any]] = {
    "bare leaf": lambda: 1.0,
    "pair": lambda: (1.0, 2.0),
    "config, 29 leaves": config,
    "MLP dict, 8 leaves": mlp,
    "transformer dict, 198 leaves": transformer,
    "optimizer state, named tuples": optimizer,
    "list of 1000 floats": lambda: [float(i) for i in range(1000)],
    "chain, 200 deep": chain,
    "500 dataclasses": lambda: [Point(float(i), 0.5) for i in range(500)],
    "1000 registered objects": lambda: [Box(float(i), "box") for i in range(1000)],
    "ordered dicts": ordered_dicts,
    "100 layers, 1600 leaves": lambda: layers(100),
    "wide dict, 10000 keys": lambda: {f"key_{i}": float(i) for i in range(10_000)},
}
"""Titles and how the trees are made."""

OTHER: dict[str, Callable[[], Any]] = {
    "deployment": deployment,
    "Adam's state": adam,
    "rollout": rollout,
    "records": records,
}
"""Trees of other programs, beside those that leafwise was tuned on."""

LARGE: dict[str, Callable[[], Any]] = {
    "layers, 100000 leaves": lambda: layers(6_250),
    "list of 100000 floats": lambda: [float(i) for i in range(100_000)],
    "layers, 1000000 leaves": lambda: layers(62_500),
    "list of 1000000 floats": lambda: [float(i) for i in range(1_000_000)],
}
"""Trees that are walked a few times only."""

COUNTED = frozenset(TREES) - {
    "bare leaf",
    "pair",
    "chain, 200 deep",
    "wide dict, 10000 keys",
}
"""The trees of 8 to 2 000 leaves, which the geometric means are taken over."""
