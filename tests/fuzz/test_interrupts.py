"""Exceptions of signal handlers, raised anywhere in operations on random trees."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import leafwise as lw
from helpers.confusable_trees import trees, walks
from helpers.interrupts import count_instructions, exception_reaches_caller


FILES = ("leafwise/core/", "leafwise/ops/", "<leafwise")
engine = pytest.importorskip("leafwise.engine")
WORKS = {
    "flatten": lambda tree, treedef, walk: lw.tree_flatten(tree, **walk),
    "iterate": lambda tree, treedef, walk: list(lw.tree.iter(tree, **walk)),
    "map": lambda tree, treedef, walk: lw.tree_map(lambda x: x, tree, **walk),
    "map two": lambda tree, treedef, walk: lw.tree_map(lambda x, _: x, tree, tree),
    "paths": lambda tree, treedef, walk: lw.tree_map_with_path(max, tree, **walk),
    "unflatten": lambda tree, treedef, walk: treedef.unflatten([0] * len(treedef)),
    "flatten up to": lambda tree, treedef, walk: treedef.flatten_up_to(tree),
}


@given(
    trees,
    walks,
    st.sampled_from(list(WORKS)),
    st.sampled_from([engine.disabled, engine.enabled, engine.eager]),
    st.sampled_from([KeyboardInterrupt, TimeoutError]),
    st.lists(st.floats(0, 1), min_size=10, max_size=10),
)
@pytest.mark.usefixtures("no_callbacks")
def test_an_interrupt_reaches_the_caller(tree, walk, name, mode, error, places):
    """Wherever it is raised."""
    treedef = lw.tree_structure(tree)

    def work():
        WORKS[name](tree, treedef, walk)

    with mode():
        try:
            for _ in range(3):
                work()
        except Exception:  # a function that takes no such leaf
            return
        count = count_instructions(work, FILES)
        for place in places:
            exception_reaches_caller(work, error("stop"), int(place * count), FILES)
