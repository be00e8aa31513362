"""Measure classes of leafwise inside jax beside jax's own, and modules beside equinox.

Usage: python benchmarks/classes.py [--quick] [--write] [--json FILE]

Each tree has 85 nodes: four levels, four children a node, one static field. A number
above 1 says how many times as fast leafwise is. All are timed in one process, in turn,
by CPU time; ratios are medians over the rounds. The row of modules needs equinox.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import sys
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
from reports import conditions, parse_options, publish, table_row
from timing import Functions, Timing, Workload, time_small_workloads

import leafwise as lw
from leafwise import nn


LEVELS = 4
FANOUT = 4


@lw.dataclass
class Plain:
    """A dataclass that jax can read and rebuild by itself."""

    a: Any
    b: Any
    c: Any
    d: Any
    name: str = lw.static(default="plain")


@lw.dataclass
class AnyStatic:
    """A dataclass whose static field may have any value."""

    a: Any
    b: Any
    c: Any
    d: Any
    name: Any = lw.static(default="any")


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class JaxDataclass:
    """The same dataclass, registered in jax."""

    a: Any
    b: Any
    c: Any
    d: Any
    name: str = dataclasses.field(default="jax", metadata={"static": True})


class Pair:
    """A class that is registered by two functions."""

    def __init__(self, children: Any, name: str = "pair") -> None:
        self.children = children
        self.name = name


class JaxPair(Pair):
    """The same class, registered in jax."""


def flatten_pair(pair: Pair) -> tuple[Any, str]:
    """Return the children and the aux data."""
    return pair.children, pair.name


lw.register_pytree_node(Pair, flatten_pair, lambda name, children: Pair(children, name))
jax.tree_util.register_pytree_node(
    JaxPair, flatten_pair, lambda name, children: JaxPair(children, name)
)


class Model(nn.Module):
    """A module of leafwise."""

    def __init__(self, children: tuple[Any, ...]) -> None:
        self.name = "model"
        self.a, self.b, self.c, self.d = children


def nested(make: Callable[[tuple[Any, ...]], Any], levels: int = LEVELS) -> Any:
    """Return a tree of objects that `make` makes of their children."""
    if levels == 0:
        return np.ones(2, np.float32)
    return make(tuple(nested(make, levels - 1) for _ in range(FANOUT)))


def operations(tree: Any) -> dict[str, Callable[[], Any]]:
    """Return what is timed, by title."""
    leaves, treedef = jax.tree.flatten(tree)
    empty = jax.jit(lambda tree: None)
    identity = jax.jit(lambda tree: tree)
    return {
        "flatten": lambda: jax.tree.flatten(tree),
        "flatten with path": lambda: jax.tree_util.tree_flatten_with_path(tree),
        "unflatten": lambda: jax.tree.unflatten(treedef, leaves),
        "map": lambda: jax.tree.map(lambda leaf: leaf, tree),
        "empty `jax.jit`": lambda: empty(tree),
        "identity `jax.jit`": lambda: identity(tree),
    }


def make_trees() -> dict[str, tuple[Any, Any]]:
    """Return pairs of trees to compare, ours first, by the title of the row."""
    jax_dataclass = nested(lambda children: JaxDataclass(*children))
    trees = {
        "dataclass": (nested(lambda children: Plain(*children)), jax_dataclass),
        "dataclass, any static value": (
            nested(lambda children: AnyStatic(*children)),
            jax_dataclass,
        ),
        "two functions": (nested(Pair), nested(JaxPair)),
    }
    if importlib.util.find_spec("equinox") is not None:
        import equinox

        class Equinox(equinox.Module):
            """A module of equinox."""

            a: Any
            b: Any
            c: Any
            d: Any
            name: str = equinox.field(static=True, default="model")

        trees["module, equinox"] = (
            nested(Model),
            nested(lambda children: Equinox(*children)),
        )
    return trees


OPERATIONS = tuple(operations({}))


def make_workloads() -> dict[str, Workload]:
    """Return the cells of the table, by their titles."""
    workloads: dict[str, Workload] = {}
    for title, trees in make_trees().items():
        ours, theirs = map(operations, trees)
        for operation in OPERATIONS:
            functions: Functions = {
                "leafwise": ours[operation],
                "other": theirs[operation],
            }
            workloads[f"{title}: {operation}"] = lambda functions=functions: functions
    return workloads


def table(timings: dict[str, Timing]) -> Iterator[str]:
    """Yield the lines of a Markdown table: classes by operations."""
    yield table_row(["", *OPERATIONS])
    yield "|---|" + "--:|" * len(OPERATIONS)
    titles = dict.fromkeys(name.partition(":")[0] for name in timings)
    for title in titles:
        ratios = [timings[f"{title}: {name}"].ratios["other"] for name in OPERATIONS]
        yield table_row([title, *(f"{ratio:.2f}" for ratio in ratios)])


def main() -> int:
    """Measure, print, and write what the options ask for."""
    options = parse_options(__doc__)
    timings = time_small_workloads(make_workloads(), quick=options.quick)
    lines = [*table(timings), "", conditions()]
    publish("classes", timings, lines, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
