"""What else a program may do than walk one structure again and again.

Each function measures one such regime and yields lines to print, or rows of a table;
ratios are medians over rounds in which both sides are timed in turn. No benchmark by
itself; `run.py` measures them.
"""

from __future__ import annotations

import gc
import itertools
import statistics
import time
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

from libraries import Library
from limits import LIMITS
from timing import compared, seconds
from trees import chain, config, layers, transformer

import leafwise as lw


_names = itertools.count()


def alternating(rounds: int) -> Iterator[str]:
    """Eight structures in turn, against each of them alone."""
    kinds = {
        "roots with other keys": [
            {f"{name}_{i}": {"w": 1.0, "b": 0.5} for i in range(4)}
            for name in "abcdefgh"
        ],
        "roots with the same keys": [
            {"layers": [{"w": 1.0, "b": 0.5}] * n, "step": 0} for n in range(2, 10)
        ],
    }
    for title, trees in kinds.items():
        for _ in range(20):
            for tree in trees:
                lw.tree_flatten(tree)
        hits = all(lw.tree_structure(t) is lw.tree_structure(t) for t in trees)

        def together(trees: list[Any] = trees) -> None:
            for tree in trees:
                lw.tree_flatten(tree)

        mixed, alone = [], []
        singles = [_alone(tree) for tree in trees]
        for _ in range(rounds):
            mixed.append(seconds(together, 200))
            with lw.engine.enabled():  # each alone, in an engine of its own
                alone.append(sum(single() for single in singles))
            for _ in range(20):
                together()
        ratio = statistics.median(a / b for a, b in zip(mixed, alone, strict=True))
        yield (
            f"eight alternating structures, {title}: "
            f"{'all hit' if hits else 'NOT all hit'}, {ratio:.2f} times the time of "
            "each alone"
        )


def _alone(tree: Any) -> Callable[[], float]:
    def run() -> float:
        lw.engine.forget()
        for _ in range(20):
            lw.tree_flatten(tree)
        return seconds(lambda: lw.tree_flatten(tree), 200)

    return run


def _strangers(count: int) -> list[Any]:
    """Return trees of which no two have the same structure."""
    trees = []
    for _ in range(count):
        name = f"k{next(_names)}"
        trees.append({name: {"w": 1.0, "b": 0.5}, "opt": [1, (2, 3)], "lr": 0.1})
    return trees


def never_repeating(rounds: int) -> Iterator[str]:
    """Each structure once, with the engine on and off."""
    for title, walk in (
        ("flatten", lw.tree_flatten),
        ("map", lambda tree: lw.tree_map(lambda x: x, tree)),
    ):
        with lw.engine.enabled():
            for tree in _strangers(2000):
                walk(tree)
            ratios = []
            for _ in range(rounds):
                on = _all(walk, _strangers(1000))
                with lw.engine.disabled():
                    off = _all(walk, _strangers(1000))
                for tree in _strangers(2000):
                    walk(tree)
                ratios.append(on / off)
        yield (
            f"never-repeating structures, {title}: {statistics.median(ratios):.2f} "
            "times the time with the engine off"
        )


ONE_SHOT: dict[str, Callable[[Library], Callable[[Any], Any]]] = {
    "flatten": lambda library: library.flatten,
    "map": lambda library: lambda tree: library.map(_same, tree),
    "map, 2 trees": lambda library: lambda tree: library.map(_first, tree, tree),
    "flatten with path": lambda library: library.flatten_with_path,
}


def one_shot(
    libraries: list[Library], rounds: int
) -> Iterator[tuple[str, dict[str, float]]]:
    """Each structure once, beside the other libraries: the first call is the last."""
    for name, walk_of in ONE_SHOT.items():
        walks = {library.name: walk_of(library) for library in libraries}
        times: dict[str, list[float]] = {other: [] for other in walks}
        for _ in range(rounds):
            for other, walk in walks.items():
                times[other].append(_all(walk, _strangers(500)))
        yield name, compared(times).ratios


def _all(walk: Callable[[Any], Any], trees: list[Any]) -> float:
    begin = time.perf_counter()
    for tree in trees:
        walk(tree)
    return time.perf_counter() - begin


def memory(count: int) -> Iterator[str]:
    """What stays after many structures, some of them often enough to be compiled."""
    gc.collect()
    tracemalloc.start()
    start, _ = tracemalloc.get_traced_memory()
    for done in range(count):
        (tree,) = _strangers(1)
        for _ in range(12 if done % 50 == 0 else 1):
            lw.tree_map(lambda x: x, tree)
    gc.collect()
    now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    yield (
        f"memory after {count} distinct structures: {(now - start) / 2**20:.1f} MB "
        f"above the start, {(peak - start) / 2**20:.1f} MB at most"
    )


def deep(levels: int, rounds: int) -> Iterator[str]:
    """The time for a level of a deep chain of dicts, against that of a short one."""
    short, long = chain(100), chain(levels)
    with lw.engine.disabled():
        for name, walk in DEEP.items():
            ratio = statistics.median(
                seconds(lambda walk=walk: walk(long), 1)
                / levels
                / (seconds(lambda walk=walk: walk(short), 50) / 100)
                for _ in range(rounds)
            )
            yield (
                f"{name}, {levels} levels of dicts, engine off: {ratio:.2f} times the "
                "time a level of 100"
            )


DEEP: dict[str, Callable[[Any], Any]] = {
    "flatten": lw.tree_flatten,
    "map": lambda tree: lw.tree_map(_same, tree),
    "flatten with path": lw.tree_flatten_with_path,
    "`tree_walk`": lambda tree: [*lw.tree_walk(tree)],
    "`tree_visit`": lambda tree: lw.tree_visit(tree, _kept),
}


def payback() -> Iterator[str]:
    """After how many calls compiling has paid for itself."""
    for title, tree in (("config", config()), ("transformer dict", transformer())):
        for name, walk in (
            ("flatten", lambda tree=tree: lw.tree_flatten(tree)),
            ("map", lambda tree=tree: lw.tree_map(lambda x: x, tree)),
        ):
            costs = []
            for _ in range(7):
                with lw.engine.disabled():
                    cold = seconds(walk, 50)
                with lw.engine.enabled():
                    first = seconds(walk, 6) * 6
                    warm = seconds(walk, 50)
                costs.append((first - 6 * warm) / (cold - warm))
            calls = statistics.median(costs)
            yield f"{title}, {name}: compiling has paid after {calls:.0f} calls"


def scaling(rounds: int) -> Iterator[str]:
    """The time for a leaf of a million, against that of a thousand.

    Beside it the same for the function written by hand: past the caches, memory
    itself takes longer.
    """
    kinds = {
        "small dicts": (layers, "100 layers, 1600 leaves"),
        "lists of 16": (lambda n: [[1.0] * 16 for _ in range(n)], "rows"),
    }
    for title, (make, hand) in kinds.items():
        small, large = make(62), make(62_000)
        for name in ("flatten", "map", "unflatten"):
            ratios = [
                _scaled(name, functions, small, large, rounds)
                for functions in (None, LIMITS[hand])
            ]
            yield (
                f"{name}, a million leaves in {title}: {ratios[0]:.2f} times the time "
                f"a leaf of a thousand (written by hand: {ratios[1]:.2f})"
            )


def _scaled(name: str, hand: Any, small: Any, large: Any, rounds: int) -> float:
    """Return how much longer a leaf of the large tree takes."""
    below, above = (_operation(name, hand, tree) for tree in (small, large))
    return statistics.median(
        seconds(above, 1) / 1000 / seconds(below, 100) for _ in range(rounds)
    )


def _same(x: Any) -> Any:
    return x


def _first(x: Any, _: Any) -> Any:
    return x


def _kept(node: Any, _path: Any, _parent: Any) -> Any:
    return node


def _operation(name: str, hand: Any, tree: Any) -> Callable[[], Any]:
    """Return one operation on one tree, warm, by leafwise or by hand."""
    flatten = lw.tree_flatten if hand is None else hand.flatten
    for _ in range(4):
        flat = flatten(tree)
    if name == "flatten":
        return lambda: flatten(tree)
    if name == "map":
        if hand is None:
            return lambda: lw.tree_map(_same, tree)
        return lambda: hand.unflatten([_same(x) for x in hand.flatten(tree)])
    if hand is None:
        for _ in range(4):
            lw.tree_unflatten(flat[1], flat[0])
        return lambda: lw.tree_unflatten(flat[1], flat[0])
    return lambda: hand.unflatten(flat)


def others(*, quick: bool) -> Iterator[str]:
    """Measure all that yields lines."""
    rounds = 3 if quick else 9
    yield from payback()
    yield from alternating(rounds)
    yield from never_repeating(rounds)
    yield from scaling(1 if quick else 3)
    yield from deep(10_000 if quick else 100_000, rounds)
    yield from memory(5_000 if quick else 100_000)
