"""Users' code that selects, splits, merges and compares, and that has namespaces."""

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any, assert_type

import leafwise as lw
from leafwise import selection
from leafwise.typing import Namespace, PyTree


@lw.dataclass
class Optim:
    rate: float
    betas: tuple[float, float] = (0.9, 0.99)


@lw.dataclass
class Config:
    optim: Optim
    widths: list[int]
    seed: int = 0


config = Config(Optim(0.1), [64, 32])
table: dict[str, float] = {"w": 1.0, "bias": 2.0}
counts: list[int] = [1, 2, 3]

# ------------------------------------------------------------------ reading and editing


def warmer(config: Config, by: float) -> Config:
    return lw.at(config)["optim.rate"].apply(lambda rate: rate * by)


def seeded(config: Config, seed: int) -> Config:
    return lw.at(config)["seed"].set(seed)


assert_type(warmer(config, 2.0).optim.rate, float)
assert_type(seeded(config, 7).seed, int)
assert_type(lw.at(config)["widths"][0].set(128), Config)
assert_type(lw.at(config)["widths[0]"].delete(), Config)
assert_type(lw.at(config)["widths[2]"].insert(16), Config)
assert_type(lw.at(config)["**.rate"].paths(), list[lw.KeyPath])
assert_type(lw.at(config)["**.rate"].items(), list[tuple[lw.KeyPath, Any]])
assert_type(lw.at(table)["w"].set(3.0), dict[str, float])
assert_type(lw.at(table)["w"].tree, dict[str, float])
assert_type(lw.at(table)["*"], selection.Selection[dict[str, float]])
assert_type(lw.at(config, missing_ok=True)["nothing"].set(1), Config)
rate: float = lw.at(config)["optim.rate"].get()
assert_type(rate, float)
assert_type(selection.override(config, ["optim.rate=0.2"]), Config)
assert_type(selection.tree_update(config, {"seed": 3}), Config)
assert_type(selection.tree_at(lambda c: c.optim.rate, config, 0.5), Config)
assert_type(selection.tree_rename(table, "w", "weight"), dict[str, float])
assert_type(selection.tree_move(table, "w", "weight"), dict[str, float])
flat = selection.to_flat(table)
assert_type(flat, dict[str, float])
assert_type(selection.from_flat(flat, table), dict[str, float])
assert_type(
    selection.from_flat(flat, table, partial=True),
    tuple[dict[str, float], selection.FlatReport],
)

pair = tuple(counts)
assert_type(lw.at(counts)[0].get(), int)
assert_type(lw.at(counts)[-1].one(), int)
assert_type(lw.at(counts)[0].get(default=None), int | None)
assert_type(lw.at([[1.5], [2.5]])[1][0].get(), float)
assert_type(lw.at(pair)[0].items(), list[tuple[lw.KeyPath, int]])
assert_type(lw.at(counts)[1].apply(lambda count: count.bit_length()), list[int])
assert_type(lw.at(table)["w"].mask(), PyTree[bool])
held: selection.Selection[list[int], int] = lw.at(counts)[0]
assert_type(held.set(5), list[int])

# ------------------------------------------------------ labels, masks, parts by label

grid: dict[str, dict[str, float]] = {"dense": {"w": 1.0, "b": 0.5}}
lists: dict[str, list[float]] = {"first": [1.0], "second": [2.0]}
loose: dict[str, float | list[float]] = {"rate": 0.1, "betas": [0.9, 0.99]}
slow = {"w": "slow"}
Masked = selection.Masked
masked = selection.tree_mask(table, "w")
assert_type(Masked("name").value, str)
assert_type(selection.tree_filter(counts, "[0]", fill=0), list[int])
assert_type(selection.tree_filter(config, "seed", fill=None), Config)


def size(x: float) -> str:
    return "large" if x > 1 else "small"


groups = selection.tree_group_by(table, size)
assert_type(lw.tree_combine(*groups.values()), dict[str, float])
assert_type([*selection.tree_group_by(config, size).values()], list[Config])


def either(x: float | None, y: float | None) -> str:
    return f"{x} {y}"


assert_type(selection.to_flat([1, 2]), dict[str, int])

# ------------------------------------------------------------------------------ visits


def no_nones(node: Any, _path: lw.KeyPath, _parent: Any) -> Any:
    return lw.DELETE if node is None else node


holes: list[int | None] = [1, None, 2]
assert_type(lw.tree_visit(holes, no_nones), list[int | None])
assert_type(lw.tree_visit(config, leave=no_nones), Config)

# ----------------------------------------------------------------- parts, merges, diffs

parts = lw.tree_partition(config, "optim")
assert_type(parts, tuple[Config, ...])
assert_type(lw.tree_combine(*parts), Config)
assert lw.tree_combine(*parts) == config


def is_large(_path: lw.KeyPath, x: int) -> bool:
    return x > 1


halves = lw.tree_partition(counts, is_large)
assert_type(lw.tree_combine(*halves), list[int])
of_layers = lw.tree_partition(grid, "dense.w")
assert_type(lw.tree_combine(*of_layers), dict[str, dict[str, float]])
first, others = lw.tree_partition(lists, "first")
assert_type(lw.tree_combine(first, others), dict[str, list[float]])
assert_type(lw.tree_merge(config, seeded(config, 5)), Config)
assert_type(lw.tree_merge(table, {"scale": 0.5}), dict[str, float])
diff = lw.tree_diff(config, seeded(config, 1))
assert_type(diff, selection.TreeDiff)
assert_type(diff[0], selection.Change)
assert_type(diff[0].path, lw.KeyPath)
assert_type(diff.apply(config), Config)
assert_type([change.kind for change in diff], list[str])

# --------------------------------------------------------------------------- namespaces

shapes = lw.namespace("tests.typing.shapes")
assert_type(shapes, Namespace)


@lw.dataclass(namespace="tests.typing.shapes")
class Square:
    side: float


@shapes.register_pytree_node_class
class Ring:
    def __init__(self, radius: float) -> None:
        self.radius = radius

    def tree_flatten(self) -> tuple[tuple[float], None]:
        return (self.radius,), None

    @classmethod
    def tree_unflatten(cls, _aux: None, children: tuple[float]) -> "Ring":
        return cls(*children)


def larger(square: Square) -> Square:
    return shapes.tree_map(lambda x: x + 1, square)


assert_type(larger(Square(1.0)).side, float)
assert_type(shapes.tree_map(str, counts), list[str])
assert_type(shapes.map(str, table), dict[str, str])
assert_type(shapes.tree_leaves(table), list[float])
assert_type(shapes.leaves(Square(1.0)), list[Any])
assert_type(shapes.tree_flatten(counts), tuple[list[int], lw.PyTreeDef[list[Any]]])
assert_type(shapes.unflatten(shapes.structure(Square(1.0)), [2.0]), Square)
assert_type(shapes.tree_sum(counts), int)
assert_type(shapes.tree_all(table), bool)
assert_type(shapes.at(Square(1.0))["side"].set(2.0), Square)
assert_type(shapes.is_registered(Ring), bool)
assert_type(Ring(1.0).radius, float)
assert_type(shapes.name, str)
assert_type(lw.tree.map(str, counts), list[str])
assert_type(lw.tree.leaves(table), list[float])

# ----------------------------------------------------------------- elsewhere and later


async def fetch(x: int) -> str:
    return str(x)


async def all_of_it() -> list[str]:
    found: list[str] = await lw.tree.gather([fetch(1), fetch(2)])
    return found


if sys.platform != "emscripten":  # no loop can be run there, no thread started
    assert asyncio.run(all_of_it()) == ["1", "2"]
    with ThreadPoolExecutor(1) as executor:
        found: list[str] = lw.parallel(executor, chunk=2).tree_map(str, counts)
        assert found == ["1", "2", "3"]

careful = lw.parallel(errors="collect")
assert_type(lw.at(counts)["[0]"].apply(abs, parallel=careful), list[int])
assert_type(lw.at(counts)["[0]"].apply(abs, parallel=lw.parallel()), list[int])
