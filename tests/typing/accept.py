"""Checked by the type checkers, never run: what they make of the public types."""

from typing import Any, assert_type

import leafwise as lw
from leafwise import nn
from leafwise.typing import PyTree


def total(tree: PyTree[float]) -> float:
    return float(lw.tree_sum(tree))


total({"a": 1.0, "b": [2.0, (3.0,)], "c": None})
total(4.0)
nested: dict[str, list[float]] = {"a": [1.0]}
total(nested)

assert_type(lw.tree_flatten([1]), tuple[list[int], lw.PyTreeDef[list[Any]]])
assert_type(lw.tree_structure([1]), lw.PyTreeDef[list[Any]])
assert_type(lw.tree_all([1]), bool)
assert_type(lw.tree_paths([1]), list[lw.KeyPath])
assert_type(lw.tree_structure([1]).children(), list[lw.PyTreeDef])


@lw.dataclass(frozen=True)
class Model:
    weight: float
    name: str = lw.static(default="m")


assert_type(Model(1.0).name, str)
assert_type(Model(weight=1.0, name="n").weight, float)


@lw.register_static
class Kind:
    pass


assert_type(Kind(), Kind)

assert_type(lw.at({"a": 1})["a"].paths(), list[lw.KeyPath])
assert_type(lw.at({"a": 1})["**"].count(), int)
assert_type(lw.tree_diff(1, 2)[0], lw.selection.Change)
assert_type(lw.selection.to_flat({"a": 1}), dict[str, int])
assert_type(
    lw.selection.from_flat({"a": 1}, {"a": 0}, partial=True),
    tuple[dict[str, int], lw.selection.FlatReport],
)


class Layer(nn.Module):
    def __init__(self) -> None:
        self.weight = nn.Param(0.5)
        self.count: nn.BatchStat[int] = nn.BatchStat(0)


layer = Layer()
assert_type(layer.weight.value, float)
assert_type(layer.count.get_value(), int)
graphdef, params, rest = nn.split(layer, nn.Param, ...)
assert_type(graphdef, nn.GraphDef[Layer])
assert_type(nn.merge(graphdef, params, rest), Layer)
bare: nn.Param = nn.Param()
typed: nn.State[str, nn.Param[float]] = nn.State()
