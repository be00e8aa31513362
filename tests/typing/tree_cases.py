"""What type checkers infer of trees: containers, classes, selections, namespaces.

The checkers read this file; it is run, too, and each value has to be of its type.
"""

import dataclasses
from collections import deque
from typing import Any, NamedTuple, TypedDict, TypeVar, assert_type

import leafwise as lw
from leafwise import selection
from leafwise.typing import Namespace, PyTree


Tree = TypeVar("Tree")


def as_text(x: float) -> str:
    return f"{x:.2f}"


def at_path(path: lw.KeyPath, x: float) -> str:
    return f"{path}: {x}"


def double(x: float) -> float:
    return 2 * x


def halves(x: int) -> tuple[int, float]:
    return x // 2, x / 2


# ---------------------------------------- the same container type, one level deep

rates: list[float] = [0.1, 0.01]
betas: tuple[float, float] = (0.9, 0.99)
limits: dict[str, int] = {"steps": 100, "epochs": 3}
window: deque[int] = deque([1, 2], maxlen=4)
layers: dict[str, list[float]] = {"first": [1.0, 2.0], "second": [3.0]}
grid: list[list[int]] = [[1, 2], [3]]
bound: dict[str, int | None] = {"low": 0, "high": None}
mixed: dict[str, float | list[float]] = {"lr": 0.1, "betas": [0.9, 0.99]}
anything: dict[str, Any] = {"a": 1, "b": {"c": [2.0]}}

assert_type(lw.tree_map(as_text, rates), list[str])
assert_type(lw.tree_map(as_text, betas), tuple[str, ...])
assert_type(lw.tree_map(halves, limits), dict[str, tuple[int, float]])
assert_type(lw.tree_map(len, grid, is_leaf=list), Any)
assert_type(lw.tree_map_with_path(at_path, rates), list[str])
assert_type(lw.tree_map_(print, rates), list[float])
assert_type(lw.tree.map(str, limits), dict[str, str])
filled: dict[str, int] = lw.tree.replace_nones(0, bound)
doubled: dict[str, list[float]] = lw.tree_map(lambda x: x * 2, layers)
kept: dict[str, Any] = lw.tree_map(double, anything)

# ----------------------------------------------------- leaves, structures, paths, folds

assert_type(lw.tree_leaves(layers), list[float])  # not ty
assert_type(lw.tree_leaves(mixed), list[float])  # not ty
assert_type(lw.tree_leaves(anything), list[Any])
assert_type(lw.tree_leaves({"a": [1, 2], "b": [3]}), list[int])  # not ty
assert_type(lw.tree_leaves(grid, is_leaf=list), list[Any])
assert_type(lw.tree_flatten([1]), tuple[list[int], lw.PyTreeDef[Any]])
leaves, treedef = lw.tree_flatten(layers)
restored: dict[str, list[float]] = lw.tree_unflatten(treedef, [2 * x for x in leaves])
assert_type(lw.tree_unflatten(treedef, leaves), Any)
assert_type(treedef.children(), list[lw.PyTreeDef])
assert_type(lw.tree.children(grid), list[list[int]])
pairs, shape = lw.tree_flatten_with_path(layers)
assert_type(pairs, list[tuple[lw.KeyPath, float]])  # not ty
assert_type(lw.tree_paths([1]), list[lw.KeyPath])
assert_type(lw.tree_sum(limits), int)
assert_type(lw.tree_sum(["a", "b"], ""), str)  # not ty
assert_type(lw.tree_reduce(lambda n, _leaf: n + 1, layers, 0), int)  # not ty
assert_type(lw.tree_all(limits), bool)


def norm(tree: PyTree[float]) -> float:
    total: float = lw.tree_sum(lw.tree_map(double, tree))
    return total


assert_type(norm({"a": 3.0, "b": [4.0, (0.0, None)]}), float)
assert_type(norm(layers), float)

# ------------------------------------------------------------ a class gives the class


@lw.dataclass
class Params:
    weight: float
    bias: float = 0.0
    name: str = lw.static(default="dense")


@lw.dataclass(frozen=True, kw_only=True)
class Options:
    rate: float = 0.1
    sizes: list[int] = lw.data(default_factory=lambda: [64, 32])
    label: str = lw.field(default="run", pytree_node=False)


class Momentum(NamedTuple):
    step: int
    trace: dict[str, float]


class Batch(TypedDict):
    inputs: list[float]
    target: float


@lw.register_dataclass
@dataclasses.dataclass
class Head:
    scale: float


@lw.register_pytree_node_class
class Box:
    def __init__(self, value: float) -> None:
        self.value = value

    def tree_flatten(self) -> tuple[tuple[float], None]:
        return (self.value,), None

    @classmethod
    def tree_unflatten(cls, _aux: None, children: tuple[float]) -> "Box":
        return cls(*children)


@lw.register_static
class Marker:
    pass


def any_tree(tree: Tree) -> Tree:
    made: Tree = lw.tree_map(double, tree)
    return made


params = Params(1.0, 2.0)
momentum, batch = Momentum(1, {"w": 0.5}), Batch(inputs=[1.0], target=2.0)
assert_type(Options().sizes, list[int])
assert_type(Marker(), Marker)
assert_type(lw.tree_map(double, params), Params)
assert_type(lw.tree_map(double, momentum), Momentum)  # not pyrefly
assert_type(lw.tree_map(double, batch), Batch)  # not ty, not pyrefly
assert_type(lw.tree_map(lambda x: x + 1, Head(1.0)), Head)
assert_type(lw.tree_map(double, Box(1.5)), Box)
assert_type(lw.tree_map(lambda p, g: p - 0.1 * g, params, params), Params)
assert_type(lw.tree_map(double, [params]), list[Params])  # not pyrefly
assert_type(any_tree([1.0]), list[float])
assert_type(lw.tree_leaves(params), list[Any])
assert_type(lw.tree_structure(params), lw.PyTreeDef[Params])
assert_type(lw.tree_structure(params).unflatten([1.0, 2.0]), Params)
assert_type(lw.tree_broadcast_prefix(0.0, params), Params)

# ------------------------------------------------------- selections, parts, differences

table: dict[str, float] = {"w": 1.0, "bias": 2.0}
counts: list[int] = [1, 2, 3]
assert_type(lw.at(params)["weight"].set(2.0), Params)
assert_type(lw.at(table)["w"].apply(lambda x: x + 1), dict[str, float])
assert_type(lw.at(counts)[0].get(), int)
assert_type(lw.at(counts)[0].get(default=None), int | None)
assert_type(lw.at(params)["**"].items(), list[tuple[lw.KeyPath, Any]])
assert_type(lw.at(table)["*"], selection.Selection[dict[str, float]])
assert_type(lw.override(params, ["weight=0.2"]), Params)
assert_type(selection.tree_at(lambda p: p.weight, params, 0.5), Params)
assert_type(selection.to_flat(table), dict[str, Any])
assert_type(selection.from_flat({"a": 1}, {"a": 0}), dict[str, int])
assert_type(lw.tree_partition(params, "weight"), tuple[Params, ...])
assert_type(lw.tree_combine(*lw.tree_partition(params, "weight")), Params)
assert_type(lw.tree_merge(table, {"scale": 0.5}), dict[str, float])
diff = lw.tree_diff(table, {"w": 1.0, "bias": 3.0})
assert_type(diff[0], selection.Change)
assert_type(diff.apply(table), dict[str, float])

# --------------------------------------------------------------------------- namespaces

shapes = lw.namespace("tests.typing.shapes")
assert_type(shapes, Namespace)


@lw.dataclass(namespace="tests.typing.shapes")
class Square:
    side: float


assert_type(shapes.tree_map(lambda x: x + 1, Square(1.0)), Square)
assert_type(shapes.map(str, table), dict[str, str])
assert_type(shapes.leaves(Square(1.0)), list[Any])
assert_type(shapes.at(Square(1.0))["side"].set(2.0), Square)
