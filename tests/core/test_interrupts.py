"""Exceptions of signal handlers (Ctrl-C, timeouts) reach the caller from anywhere."""

import random

import pytest

import leafwise as lw
from helpers.interrupts import count_instructions, exception_reaches_caller


engine = pytest.importorskip("leafwise.engine")

WALK = ("leafwise/core/", "leafwise/ops/", "<leafwise")
"""The files of the walk and of the operations, and generated code."""
TEXTS = ("leafwise/_text", "leafwise/core/keys")


class Box:
    def __init__(self, x):
        self.x = x


@pytest.fixture(autouse=True, scope="module")
def box():
    lw.register_pytree_node(Box, lambda b: ((b.x,), None), lambda _, xs: Box(*xs))
    yield
    lw.unregister_pytree_node(Box)


TREES = {
    "dicts": [{"a": i, "b": (i, [i])} for i in range(3)],
    "mixed": {"a": Box([1, None]), "b": (Box({}), 2.0)},
    "deep": [[[[[[[[[[1], 2], 3], 4], 5], 6], 7], 8], 9], 10],
}


def no(_node):
    return False


def no_path(_path, _node):
    return False


OPERATIONS = {
    "flatten": lambda tree: lambda: lw.tree_flatten(tree),
    "predicate": lambda tree: lambda: lw.tree_leaves(tree, is_leaf=no),
    "path predicate": lambda tree: (
        lambda: lw.tree_leaves(tree, is_leaf=no_path, is_leaf_takes_path=True)
    ),
    "paths": lambda tree: lambda: lw.tree_leaves_with_path(tree),
    "iterate": lambda tree: lambda: list(lw.tree.iter(tree)),
    "map": lambda tree: lambda: lw.tree_map(id, tree),
    "map two": lambda tree: lambda: lw.tree_map(max, tree, tree),
    "map path": lambda tree: lambda: lw.tree_map_with_path(no_path, tree),
    "unflatten": lambda tree: lw.Partial(
        lw.tree_unflatten, lw.tree_structure(tree), lw.tree_leaves(tree)
    ),
}


@pytest.mark.sweep
@pytest.mark.parametrize("mode", ["disabled", "eager"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, TimeoutError])
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("tree", TREES)
def test_an_exception_of_a_signal_handler_reaches_the_caller(
    tree, operation, error, mode
):
    work = OPERATIONS[operation](TREES[tree])
    with getattr(engine, mode)():
        work()
        work()
        count = count_instructions(work, WALK)
        places = random.Random(0).choices(range(count), k=60)
        assert any(
            exception_reaches_caller(work, error("stop"), at, WALK) for at in places
        )


SWITCH = ("leafwise/engine/", "leafwise/_runtime")


@pytest.mark.parametrize("mode", ["disabled", "eager", "enabled"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, TimeoutError])
def test_an_interrupt_leaves_the_engine_in_the_mode_that_it_was_in(error, mode):
    def work():
        with getattr(engine, mode)():
            pass

    before = engine.stats()["mode"]
    for at in range(count_instructions(work, SWITCH)):
        exception_reaches_caller(work, error("stop"), at, SWITCH)
        lw.tree_leaves([1])
        assert engine.stats()["mode"] == before


def test_names_in_files_are_never_stand_ins():
    """Texts of keys are guarded against classes of users, not against signals."""

    def work():
        return lw.selection.to_flat([1, {"a": [2, [3]]}])

    for at in range(count_instructions(work, TEXTS)):
        exception_reaches_caller(work, TimeoutError("stop"), at, TEXTS)
