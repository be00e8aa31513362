"""Measure selections and edits beside a map of the same tree.

Usage: python benchmarks/selections.py [--quick] [--write] [--json FILE]

Everything is timed in one process, in turn, by CPU time. A figure is the time of an
operation over that of `tree_map_with_path` of the same tree, the median over the
rounds: 1 is the price of a map. The structures recur, so they are compiled. `--write`
puts the table into the docs, `--json` what `beside.py` reads into a file.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from reports import conditions, parse_options, publish, table_row
from timing import Functions, Timing, compare, measure, warm_up

import leafwise as lw
from leafwise import nn


class Case(NamedTuple):
    """A tree, and what is selected in it.

    Attributes:
        tree: The tree.
        pattern: A pattern of several leaves.
        cls: A type of leaves.
        path: The path of one leaf.
    """

    tree: Any
    pattern: str
    cls: type
    path: str


# ------------------------------------------------------------------------- the trees


def linear(number: int) -> dict[str, float]:
    """Return the leaves of a layer."""
    return {"w": number * 1.0, "bias": 2.0}


def block(number: int) -> dict[str, Any]:
    """Return the leaves of a block of a transformer."""
    return {
        "attention": {name: linear(number) for name in "qkvo"},
        "mlp": {"up": linear(number), "down": linear(number)},
        "norm": {"scale": 1.0, "bias": 0.0},
    }


def transformer() -> dict[str, Any]:
    """Return a model of 200 leaves in dicts and a list."""
    return {
        "embedding": linear(0),
        "layers": [block(number) for number in range(14)],
        "head": linear(1),
    }


def cluster() -> dict[str, Any]:
    """Return a config of 385 leaves: services with ports and variables."""
    services = [
        {
            "name": f"service-{number}",
            "image": "registry/image",
            "ports": [80, 443],
            "env": {f"VARIABLE_{i}": str(i) for i in range(9)},
            "limits": {"cpu": 1, "memory": "2G"},
            "replicas": number,
        }
        for number in range(24)
    ]
    return {"services": services, "version": "3"}


@lw.dataclass
class Layer:
    """A layer with a static name."""

    w: float
    bias: float
    name: str = lw.static(default="layer")


def layers() -> dict[str, Any]:
    """Return 100 dataclasses."""
    return {"layers": [Layer(number * 1.0, 2.0) for number in range(100)]}


class Linear(nn.Module):
    """A layer of a model, with a function that is no data."""

    def __init__(self, number: int) -> None:
        self.w = nn.Param(number * 1.0)
        self.bias = nn.Param(2.0)
        self.activation = abs


class Model(nn.Module):
    """A model of 25 layers."""

    def __init__(self) -> None:
        self.layers = nn.List([Linear(number) for number in range(24)])
        self.head = Linear(0)


CASES: dict[str, Case] = {
    "a transformer of 200 leaves": Case(
        transformer(), "**.bias", float, "layers[3].mlp.up.w"
    ),
    "ten of them, 2,000 leaves": Case(
        {f"model{i}": transformer() for i in range(10)},
        "**.bias",
        float,
        "model3.layers[3].mlp.up.w",
    ),
    "a cluster of 385 leaves": Case(
        cluster(), "services[*].env.*", int, "services[3].replicas"
    ),
    "100 dataclasses, 200 leaves": Case(layers(), "**.bias", float, "layers[3].w"),
    "25 modules of `nn`, 50 leaves": Case(Model(), "**.bias", float, "head.w"),
}


# -------------------------------------------------------------------- the operations


def operations(case: Case) -> Functions:
    """Return the operations; `leafwise` is the map that all are compared with."""
    tree, pattern, cls, path = case
    predicate: Callable[[Any], bool] = lambda leaf: type(leaf) is cls  # noqa: E731
    return {
        "leafwise": lambda: lw.tree_map_with_path(lambda _, leaf: leaf, tree),
        "`tree_map`": lambda: lw.tree_map(lambda leaf: leaf, tree),
        "get": lambda: lw.at(tree)[pattern].get(),  # noqa: PLW0108  # with the lookup
        "set": lambda: lw.at(tree)[pattern].set(0),
        "apply": lambda: lw.at(tree)[pattern].apply(lambda leaf: leaf),
        "mask": lambda: lw.at(tree)[pattern].mask(),  # noqa: PLW0108  # as above
        "partition": lambda: lw.tree_partition(tree, pattern),
        "two parts": lambda: lw.tree_partition(tree, pattern, cls),
        "labels": lambda: lw.selection.tree_labels(tree, {pattern: 1}, default=0),
        "update": lambda: lw.tree_update(tree, {pattern: 0}),
        "by type": lambda: lw.at(tree)[cls].set(0),
        "by function": lambda: lw.at(tree)[predicate].set(0),
        "one path": lambda: lw.at(tree)[path].set(0),
    }


def price(times: dict[str, list[float]], name: str) -> float:
    """Return how many times as long as the map an operation takes."""
    pairs = zip(times[name], times["leafwise"], strict=True)
    return statistics.median(ours / of_map for ours, of_map in pairs)


def table(results: dict[str, dict[str, list[float]]]) -> Iterator[str]:
    """Yield the lines of a Markdown table."""
    first_times = next(iter(results.values()))
    names = [name for name in first_times if name != "leafwise"]
    yield table_row(["tree", "map, µs", *names])
    yield f"|---|{'--:|' * (1 + len(names))}"
    for title, times in results.items():
        microseconds = statistics.median(times["leafwise"]) * 1e6
        prices = [f"{price(times, name):.2f}" for name in names]
        yield table_row([title, f"{microseconds:.0f}", *prices])


def main() -> int:
    """Measure, print, and write what the options ask for."""
    options = parse_options(__doc__)
    rounds = 5 if options.quick else 21
    slice_seconds = 0.005 if options.quick else 0.02
    results: dict[str, dict[str, list[float]]] = {}
    timings: dict[str, Timing] = {}
    for title, case in CASES.items():
        functions = operations(case)
        for function in functions.values():  # each of them is ours
            warm_up("leafwise", function)
        times = measure(functions, rounds, slice_seconds)
        results[title] = times
        for name in times:
            timings[f"{name}, {title}"] = compare({"leafwise": times[name]})
    lines = [*table(results), "", conditions()]
    publish("select", timings, lines, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
