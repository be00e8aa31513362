"""Users' code that selects, splits, merges and compares, and that has namespaces."""

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any, assert_type

import leafwise as lw
from leafwise import selection
from leafwise.typing import Namespace


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
assert_type(flat, dict[str, Any])
assert_type(selection.from_flat(flat, table), dict[str, float])
assert_type(
    selection.from_flat(flat, table, partial=True),
    tuple[dict[str, float], selection.FlatReport],
)

# ----------------------------------------------------------------- parts, merges, diffs

parts = lw.tree_partition(config, "optim")
assert_type(parts, tuple[Config, ...])
assert_type(lw.tree_combine(*parts), Config)
assert lw.tree_combine(*parts) == config


def is_large(_path: lw.KeyPath, x: int) -> bool:
    return x > 1


halves = lw.tree_partition(counts, is_large)
assert_type(lw.tree_combine(*halves), list[int])
assert_type(lw.tree_merge(config, seeded(config, 5)), Config)
assert_type(lw.tree_merge(table, {"scale": 0.5}), dict[str, float])
assert_type(lw.tree_merge(table, {"name": "x"}), dict[Any, Any])
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
    return await lw.tree_gather([fetch(1), fetch(2)])


if sys.platform != "emscripten":  # no loop can be run there, no thread started
    assert_type(asyncio.run(all_of_it()), list[str])
    with ThreadPoolExecutor(1) as executor:
        assert_type(lw.parallel(executor).tree_map(str, counts), list[str])
        assert_type(lw.parallel(executor, chunk=2).tree_map(str, counts), list[str])

assert_type(lw.parallel().tree_map_only(int, abs, counts), list[int])
assert_type(
    lw.parallel(progress=False).tree_map_with_path(lambda _, x: str(x), counts),
    list[str],
)
careful = lw.parallel(errors="collect")
assert_type(careful.tree_map(str, counts), list[str | Exception])
assert_type(careful.tree_map(len, {"a": "text"}), dict[str, int | Exception])
assert_type(lw.at(counts)["[0]"].apply(abs, parallel=careful), list[int])
assert_type(lw.at(counts)["[0]"].apply(abs, parallel=lw.parallel()), list[int])
