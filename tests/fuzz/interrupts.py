"""Exceptions of signal handlers, raised anywhere in operations on random trees."""

from random import Random
from typing import Any

import leafwise as lw
import leafwise.engine
from interrupts import instructions, reaches_caller

from . import odd
from .runner import Differs, Round
from .trees import SORTS, Trees, only


FILES = ("leafwise/core/", "leafwise/ops/", "<leafwise")


def work_of(random: Random, tree: Any) -> Any:
    """Return a name and a function that does something with a tree."""
    leaves, treedef = lw.tree_flatten(tree)
    options: dict[str, Any] = random.choice(
        (
            {},
            {"none_is_leaf": True},
            {"is_leaf": lambda node: type(node) is tuple},
            {"is_leaf": random.choice([*SORTS])},
            {"is_leaf": lambda path, _: len(path) == 2, "is_leaf_takes_path": True},
        )
    )
    works = {
        "flatten": lambda: lw.tree_flatten(tree, **options),
        "iterate": lambda: [*lw.tree.iter(tree, **options)],
        "map": lambda: lw.tree_map(lambda x: x, tree, **options),
        "map two": lambda: lw.tree_map(lambda x, _: x, tree, tree),
        "map with path": lambda: lw.tree_map_with_path(lambda _, x: x, tree, **options),
        "unflatten": lambda: treedef.unflatten(leaves),
        "flatten up to": lambda: treedef.flatten_up_to(tree),
    }
    return random.choice([*works.items()])


def play(one: Round) -> None:
    """Interrupt an operation at a few places."""
    random = one.random
    odd.unregister_all()
    trees = Trees(random, only(*random.sample([*SORTS], 6), list, dict))
    name, work = work_of(random, trees.node())
    mode = random.choice(("disabled", "enabled", "eager"))
    error = random.choice((KeyboardInterrupt, TimeoutError))
    one.step(f"{name}, the engine {mode}, {error.__name__}")
    with getattr(leafwise.engine, mode)():
        try:
            for _ in range(3):
                work()
        except Exception:  # of a node that holds no such leaf
            return
        count = instructions(work, FILES)
        for at in random.choices(range(count), k=20):
            one.comparisons += 1
            try:
                reaches_caller(work, error("stop"), at, FILES)
            except AssertionError as problem:
                raise Differs(f"after {at} instructions: {problem}") from problem
