"""Users' code on classes: dataclasses, named tuples, typed dicts, registered ones."""

import dataclasses
from collections.abc import Iterable
from typing import Any, NamedTuple, TypedDict, TypeVar, assert_type

import leafwise as lw


Tree = TypeVar("Tree")


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


class Interval:
    def __init__(self, low: float, high: float) -> None:
        self.low = low
        self.high = high


assert_type(
    lw.register_pytree_node(
        Interval,
        lambda interval: ((interval.low, interval.high), None),
        lambda _aux, ends: Interval(*ends),
    ),
    type[Interval],
)


@lw.register_pytree_node_class
class Box:
    def __init__(self, value: float) -> None:
        self.value = value

    def tree_flatten(self) -> tuple[tuple[float], None]:
        return (self.value,), None

    @classmethod
    def tree_unflatten(cls, _aux: None, children: tuple[float]) -> "Box":
        return cls(*children)


@lw.registry.register_pytree_with_keys_class
class Keyed:
    def __init__(self, value: float) -> None:
        self.value = value

    def tree_flatten_with_keys(self) -> tuple[list[tuple[str, float]], None]:
        return [("value", self.value)], None

    @classmethod
    def tree_unflatten(cls, _aux: None, children: Iterable[float]) -> "Keyed":
        return cls(*children)


@lw.register_pytree_node_class(inherit=True)
class Shared(Box):
    pass


@lw.register_static
class Marker:
    pass


@lw.register_leaf
class Point(NamedTuple):
    x: float
    y: float


assert_type(Params(1.0), Params)
assert_type(Params(weight=1.0, name="n").name, str)
assert_type(Options(rate=0.5).sizes, list[int])
assert_type(Options().label, str)
assert_type(Box(1.0).value, float)
assert_type(Shared(1.0).value, float)
assert_type(Marker(), Marker)
assert_type(Head(1.0), Head)


# ------------------------------------------------------------ a class gives the class


def double(x: float) -> float:
    return 2 * x


def shifted(path: lw.KeyPath, x: float) -> float:
    return x + len(path)


def both_signs(x: float) -> tuple[float, float]:
    return x, -x


def step(params: Params) -> Params:
    return lw.tree_map(double, params)


def advance(state: Momentum) -> Momentum:
    return lw.tree_map(double, state)


def scaled(batch: Batch) -> Batch:
    return lw.tree_map(double, batch)


def widened(interval: Interval) -> Interval:
    wide: Interval = lw.tree_map(double, interval)
    return wide


def boxed(box: Box) -> Box:
    return lw.tree_map(double, box)


def any_tree(tree: Tree) -> Tree:
    doubled: Tree = lw.tree_map(double, tree)
    return doubled


params = Params(1.0, 2.0)
assert_type(step(params).weight, float)
assert_type(advance(Momentum(1, {"w": 0.5})).trace, dict[str, float])
assert_type(scaled({"inputs": [1.0], "target": 2.0})["target"], float)
assert_type(widened(Interval(0.0, 1.0)).high, float)
assert_type(boxed(Box(1.5)), Box)
assert_type(any_tree(params), Params)
assert_type(any_tree([1.0]), list[float])


def update(params: Params, grads: Params, rate: float) -> Params:
    return lw.tree_map(lambda p, g: p - rate * g, params, grads)


def adam(params: Params, mean: Params, var: Params) -> Params:
    return lw.tree_map(lambda p, m, v: p - m / (v + 1e-8), params, mean, var)


assert_type(update(params, params, 0.1), Params)
assert_type(adam(params, params, params), Params)
assert_type(lw.tree_map(lambda x: x + 1, Head(1.0)), Head)
assert_type(lw.tree_map_with_path(shifted, params), Params)
assert_type(lw.tree_map(double, params, is_leaf=lambda x: x is None), Params)
assert_type(lw.tree_map_(print, Keyed(1.0)), Keyed)
assert_type(lw.tree_map_only(float, double, params), Params)
assert_type(lw.tree_broadcast_prefix(0.0, params), Params)
assert_type(lw.tree.replace_nones(0.0, params), Params)
assert_type(lw.tree.map_shared(double, params), Params)

# ---------------------------------------------------------- classes inside containers

stack: list[Params] = [params, Params(3.0)]
heads: dict[str, Head] = {"a": Head(1.0)}
assert_type(lw.tree_map(double, stack), list[Params])
assert_type(lw.tree_map(double, heads), dict[str, Head])

# ------------------------------------------------------- leaves, structures, folds

assert_type(lw.tree_leaves(params), list[Any])
assert_type(lw.tree_leaves(stack), list[Any])
assert_type(lw.tree_leaves(Interval(0.0, 1.0)), list[Any])
leaves, treedef = lw.tree_flatten(params)
assert_type(treedef, lw.PyTreeDef[Params])
assert_type(lw.tree_unflatten(treedef, [0.0] * len(leaves)), Params)
assert_type(treedef.unflatten(leaves), Params)
assert_type(lw.tree_structure(Momentum(0, {})), lw.PyTreeDef[Momentum])
restored: list[Params] = lw.tree_structure(stack).unflatten(lw.tree_leaves(stack))
assert restored == stack
assert_type(lw.tree_reduce(lambda n, _leaf: n + 1, params, 0), int)
assert_type(lw.tree_equal(params, params), bool)


def bare(treedef: lw.PyTreeDef, leaves: list[float]) -> Any:
    return lw.tree_unflatten(treedef, leaves)


def norm(tree: object) -> float:
    return float(sum(x * x for x in lw.tree_leaves(tree)))


assert bare(treedef, [1.0, 2.0]) == params
assert_type(norm(params), float)
assert_type(norm({"a": [1.0]}), float)
