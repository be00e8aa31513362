"""Threads, forks and changes that come while generated functions run."""

from collections import OrderedDict, defaultdict
from itertools import count

import pytest

import leafwise as lw
from helpers.interrupts import interrupted


GENERATED = ("<leafwise flatten",)


def turned(tree):
    """Let the last item of a dict come first, and all others after it."""
    for key in list(tree)[:-1]:
        tree[key] = tree.pop(key)


@pytest.mark.sweep
@pytest.mark.parametrize("size", [2, 5, 12, 13, 30])
@pytest.mark.parametrize(
    "make",
    [dict, OrderedDict, lambda d: defaultdict(int, d)],
    ids=["dict", "OrderedDict", "defaultdict"],
)
def test_each_value_stays_with_its_key_while_a_dict_turns(make, size, eager):
    """Wherever another thread comes in between."""
    items = {f"k{n:02}": n for n in range(size)}
    backwards = dict(reversed(items.items()))
    for at in count():
        tree = [1, make(items), (make(backwards), [])]
        lw.tree_flatten(tree)
        lw.tree_flatten(tree)

        def turn(tree=tree):
            turned(tree[1])
            turned(tree[2][0])

        with interrupted(turn, at, GENERATED) as interruption:
            leaves, treedef = lw.tree_flatten(tree)
        rebuilt = treedef.unflatten(leaves)
        assert rebuilt[1] == items
        assert rebuilt[2][0] == items
        if not interruption:  # all places were tried
            break
    assert at > 20


@pytest.mark.parametrize("size", [3, 8, 20, 100])
def test_as_many_leaves_as_the_treedef_has_while_lists_change(size, eager):
    """A list that grows while another one shrinks is read as it was, or as it is."""
    for at in count():
        tree = [
            list(range(size)),
            {"a": list(range(size))},
            [list(range(size)) for _ in "ab"],
        ]
        lw.tree_flatten(tree)
        lw.tree_flatten(tree)

        def change(tree=tree):
            tree[0].append("new")
            tree[1]["a"].pop()
            tree[2][0].insert(0, "new")
            tree[2][1].pop(0)

        with interrupted(change, at, GENERATED) as interruption:
            leaves, treedef = lw.tree_flatten(tree)
        assert len(leaves) == treedef.num_leaves
        rebuilt = treedef.unflatten(leaves)
        old = list(range(size))
        assert rebuilt[0] in (old, [*old, "new"])
        assert rebuilt[1]["a"] in (old, old[:-1])
        assert rebuilt[2][0] in (old, ["new", *old])
        assert rebuilt[2][1] in (old, old[1:])
        if not interruption:
            break
    assert at > 20


# --------------------------------------------------------------------------- switching


def mode():
    return lw.engine.stats()["mode"]


def test_switching_as_a_decorator():
    """Each call is one use."""

    @lw.engine.disabled()
    def inside(depth):
        modes = inside(depth - 1) if depth else ()
        return (mode(), *modes)

    before = mode()
    assert inside(2) == ("off",) * 3
    assert mode() == before
