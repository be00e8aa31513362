"""Users' code on containers: configs, parameters in dicts, key paths, prefixes."""

import math
from collections import deque
from typing import Any, assert_type

import leafwise as lw
from leafwise.typing import PyTree


class Array:
    """An array of some library."""

    def __init__(self, *values: float) -> None:
        self.values = values

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.values),)

    @property
    def dtype(self) -> str:
        return "float64"

    def __mul__(self, by: float) -> "Array":
        return Array(*(value * by for value in self.values))

    def __sub__(self, other: "Array") -> "Array":
        pairs = zip(self.values, other.values, strict=True)
        return Array(*(mine - theirs for mine, theirs in pairs))

    def total(self) -> float:
        return sum(self.values)


def as_text(x: float) -> str:
    return f"{x:.2f}"


def double(x: float) -> float:
    return 2 * x


def halves(x: int) -> tuple[int, float]:
    return x // 2, x / 2


# ------------------------------------------------------- plain and nested containers

rates: list[float] = [0.1, 0.01]
betas: tuple[float, float] = (0.9, 0.99)
limits: dict[str, int] = {"steps": 100, "epochs": 3}
window: deque[int] = deque([1, 2], maxlen=4)
layers: dict[str, list[float]] = {"first": [1.0, 2.0], "second": [3.0]}
grid: list[list[int]] = [[1, 2], [3]]
blocks: list[dict[str, float]] = [{"w": 1.0}, {"w": 2.0, "b": 3.0}]
model: dict[str, dict[str, Array]] = {"dense": {"w": Array(1.0, 2.0), "b": Array(0.5)}}
deep: dict[str, dict[str, dict[str, float]]] = {"a": {"b": {"c": 1.0}}}
bound: dict[str, int | None] = {"low": 0, "high": None}

assert_type(lw.tree_map(as_text, rates), list[str])
assert_type(lw.tree_map(as_text, betas), tuple[str, ...])
assert_type(lw.tree_map(str, limits), dict[str, str])
assert_type(lw.tree_map(halves, limits), dict[str, tuple[int, float]])
assert_type(lw.tree_map(halves, [3, 4]), list[tuple[int, float]])
doubled: list[float] = lw.tree_map(lambda rate: rate * 2, rates)
totals: dict[str, dict[str, float]] = lw.tree_map(lambda x: x.total(), model)
assert_type(lw.tree_map(len, grid, is_leaf=list), Any)


def one_more(x: int) -> int:
    return x + 1


assert_type(lw.tree.replace_nones(0, bound), dict[str, int])
assert_type(lw.tree.replace_nones("none", bound), dict[str, int | str])


def descend(
    params: dict[str, dict[str, Array]], grads: dict[str, dict[str, Array]]
) -> dict[str, dict[str, Array]]:
    new: dict[str, dict[str, Array]] = lw.tree_map(
        lambda p, g: p - g * 0.1, params, grads
    )
    return new


assert_type(descend(model, model)["dense"]["w"], Array)

# ----------------------------------------------------------- leaves and structures

assert_type(lw.tree_leaves(rates), list[float])
assert_type(lw.tree_leaves(layers), list[float])
assert_type(lw.tree_leaves(model), list[Array])
assert_type(lw.tree_leaves(deep), list[float])
assert_type(lw.tree_leaves({"a": [1, 2], "b": [3]}), list[int])
assert_type(lw.tree_leaves(["x", "yz"]), list[str])
assert_type(lw.tree_leaves(grid, is_leaf=list), list[Any])
assert_type([leaf.shape for leaf in lw.tree.iter(model)], list[tuple[int, ...]])
for path, array in lw.tree_leaves_with_path(model):
    assert_type(path, lw.KeyPath)
    assert_type(array, Array)

leaves, treedef = lw.tree_flatten(layers)
assert_type(leaves, list[float])
assert_type(treedef, lw.PyTreeDef[dict[str, Any]])
restored: dict[str, list[float]] = lw.tree_unflatten(treedef, [2 * x for x in leaves])
assert_type(restored, dict[str, list[float]])
assert_type(lw.tree_unflatten(treedef, leaves), dict[str, Any])
assert_type(lw.tree_structure(rates).unflatten([1, 2]), list[Any])
assert_type(lw.tree_structure(model).num_leaves, int)
pairs, shape = lw.tree_flatten_with_path(model)
assert_type(pairs, list[tuple[lw.KeyPath, Array]])
assert_type(shape, lw.PyTreeDef[dict[str, Any]])
assert_type(lw.tree.children(limits), list[int])
assert_type(lw.tree.children(grid), list[list[int]])

# ---------------------------------------------------------------------- key paths

names = {str(path): leaf for path, leaf in lw.tree_leaves_with_path(limits)}
assert_type(names, dict[str, int])


def decay(path: lw.KeyPath, weight: float) -> float:
    return weight if "bias" in str(path) else weight * 0.99


assert_type(lw.tree_map_(print, rates), list[float])
assert_type(lw.tree_map_only(int, one_more, limits), dict[str, int])

# -------------------------------------------------------------------------- folds


def product(x: float, y: float) -> float:
    return x * y


def added(x: int, y: int) -> int:
    return x + y


def square(x: float) -> float:
    return x * x


def longest(so_far: str, name: str) -> str:
    return max(so_far, name, key=len)


assert_type(lw.tree_sum(limits), int)
assert_type(lw.tree_sum(rates, 0.0), float)
assert_type(lw.tree_sum(["a", "b"], ""), str)
assert_type(lw.tree.max(layers), float)
assert_type(lw.tree.min(limits, default=None), int | None)
assert_type(lw.tree_reduce(product, layers), float)
assert_type(lw.tree_reduce(longest, ["a", "bcd"]), str)
assert_type(lw.tree.reduce_associative(added, grid), int)
assert_type(lw.tree_all(limits), bool)

# ------------------------------------------------------------------------- prefixes

copied: dict[str, int] = lw.tree_broadcast_prefix(0, limits)

# ------------------------------------------------------------------ trees of any form


def norm(tree: PyTree[float]) -> float:
    squares = lw.tree_map(square, tree)
    total: float = lw.tree_sum(squares)
    return math.sqrt(total)


def shown(tree: PyTree[float]) -> PyTree[str]:
    texts: PyTree[str] = lw.tree_map(as_text, tree)
    return texts


def mean(tree: PyTree[Array]) -> float:
    found: list[Array] = lw.tree_leaves(tree)
    return sum(leaf.total() for leaf in found) / len(found)


assert_type(norm({"a": 3.0, "b": [4.0, (0.0, None)]}), float)
assert_type(norm(layers), float)
assert_type(mean(model), float)
assert norm(rates) > 0
assert shown({"a": [1.0]}) == {"a": ["1.00"]}

mixed: dict[str, float | list[float]] = {"lr": 0.1, "betas": [0.9, 0.99]}
assert_type(lw.tree_leaves(mixed), list[float])


anything: dict[str, Any] = {"a": 1, "b": {"c": [2.0]}}
kept: dict[str, Any] = lw.tree_map(double, anything)
assert_type(lw.tree_leaves(anything), list[Any])
