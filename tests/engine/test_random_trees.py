"""The engine and the walk agree on random trees, and on trees that change a little."""

import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import leafwise as lw
from engine.strict import (
    SINGLE,
    battery,
    battery_of_two,
    check,
    in_modes,
    outcome,
    snap,
    wrap,
)
from engine.zoo import (
    AUX,
    INSERTION,
    Name,
    Pair,
    Plain,
    Text,
    edited,
    leaves,
    trees,
    walks,
)


few = settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])


@given(trees, walks)
@few
def test_each_operation_on_any_tree(tree, walk):
    """Every operation gives the same, compiled or walked, each time that it runs."""
    check(lambda: battery(tree, walk))


@given(st.data(), trees, walks)
@few
def test_a_tree_that_changes_after_it_became_hot(data, tree, walk):
    """A tree with one difference is never taken for the one that is compiled."""
    others = [data.draw(edited(tree)) for _ in range(2)]
    order = [tree, tree, tree, others[0], tree, others[1], others[0], others[1], tree]
    check(lambda: [battery(one, walk) for one in order], times=1)


@given(st.data(), trees)
@few
def test_the_usual_mode_agrees_too(data, tree):
    """Counting sights, compiling at the third and choosing changes no result."""
    other = data.draw(edited(tree))

    def act():
        return [
            outcome(operation, one, {})
            for operation in SINGLE
            for one in (tree, other) * 5
        ]

    with lw.engine.disabled():
        expected = act()
    with lw.engine.enabled():
        assert act() == expected


@given(st.data(), trees, walks)
@few
def test_two_trees(data, tree, walk):
    """Further trees that fit, go deeper or differ: same results, same error texts."""
    other = data.draw(edited(tree))
    pairs = [(tree, tree), (tree, other), (other, tree)]
    check(lambda: [battery_of_two(a, b, walk) for a, b in pairs])


@given(trees, walks, st.lists(leaves | trees, min_size=1, max_size=5))
@few
def test_any_object_may_stand_at_any_leaf(tree, walk, others):
    """Unflatten takes objects of types never seen, and a walk of the result agrees."""
    strange = type("Strange", (), {})()
    others = [*others, strange]

    def act():
        treedef = lw.tree_structure(tree, **walk)
        given_ = (others * treedef.num_leaves)[: treedef.num_leaves]
        built = treedef.unflatten(given_)
        return [snap(built), *map(id, given_), battery(built, walk)]

    check(act)


@given(trees, walks)
@few
def test_leaves_of_a_type_never_seen(tree, walk):
    """A warm structure with new leaf objects is flattened to just these objects."""

    def act():
        battery(tree, walk)
        new = type("New", (), {})
        made = []

        def replace(_):
            made.append(new())
            return made[-1]

        replaced = lw.tree_map(replace, tree, **walk)
        again = lw.tree_leaves(replaced, **walk)
        return [any(x is y for y in made) for x in again], len(made)

    check(act)


LOOKALIKE_KEYS = [
    [1, True, 1.0],
    ["a", Text("a"), Name.A],
    [0.0, -0.0, 0, False],
    [(1, "a"), (True, "a"), (1.0, "a"), (1, Text("a"))],
    [b"a", "a"],
    [None, "None"],
]


@pytest.mark.parametrize("alike", LOOKALIKE_KEYS, ids=repr)
@pytest.mark.parametrize("size", [0, 3, 20])
def test_keys_that_are_equal_and_not_the_same(alike, size):
    """A warm dict gives the keys of the tree at hand, not equal ones seen before."""
    rest = {f"k{i:02}": i for i in range(size)}
    variants = [{key: 0, **rest} for key in alike] + [{**rest, key: 0} for key in alike]
    for walk in ({}, {"namespace": INSERTION}):
        order = [*variants, *variants, *variants[::-1]]
        check(lambda walk=walk, order=order: [battery(t, walk) for t in order])


@pytest.mark.parametrize("place", range(len(AUX)))
def test_aux_data_that_is_equal_and_not_the_same(place):
    """The aux data that comes back is the one that the node has."""
    warm = Plain(1, [2], AUX[place])
    others = [Plain(1, [2], other) for other in AUX]
    check(lambda: [battery(t, {}) for other in others for t in (warm, other)], times=1)


def test_aux_data_in_a_loop_and_in_shared_parts():
    """Each of many equal nodes gets its own aux data back, in its own place."""
    nodes = [Plain([i], (i, None), AUX[i % len(AUX)], i) for i in range(60)]
    for tree in (nodes, {"a": nodes[:20], "b": nodes[20:]}, [nodes[:30], nodes[30:]]):
        check(lambda tree=tree: battery(tree, {}))
        check(lambda tree=tree: battery_of_two(tree, tree, {}))


def test_broadcasting_between_mappings_of_all_kinds():
    """Dicts of all kinds pair by key; deques of any maxlen pair; results agree."""
    from collections import OrderedDict, defaultdict, deque

    maps = [
        {"a": 1, "b": 2},
        {"b": (1, 2), "a": [3]},
        OrderedDict(b=[1], a=2),
        defaultdict(int, a=(1,), b=2),
        {"a": 1, "c": 2},
    ]
    queues = [deque([1, 2]), deque([1, [2]], 2), deque([(), 2], 5), deque([1])]
    for group in (maps, queues, [[m, q] for m in maps for q in queues[:2]]):
        check(lambda group=group: [battery_of_two(a, b, {}) for a in group for b in group])


def test_wrong_counts_of_leaves():
    """The error for a wrong number of leaves is that of the walk, hot or not."""
    treedef = lw.tree_structure(Pair([1, 2], {"a": 3}))

    def act():
        counts = (3, 2, 4, 3, 0, 3)
        return [outcome(treedef.unflatten, [*range(n)]) for n in counts]

    assert [kind for kind, _ in check(act)] == ["gave", "raised", "raised"] + [
        "gave",
        "raised",
        "gave",
    ]


def test_the_list_of_leaves_is_the_caller_s():
    """Each flatten gives a new list; changing it, or that given to unflatten, is safe."""
    tree = [list(range(20)), {"a": [0] * 6}]
    with lw.engine.eager():
        for _ in range(3):
            found, treedef = lw.tree_flatten(tree)
            built = treedef.unflatten(found)
            assert built == tree
            assert built[0] is not found
            found.clear()
            assert built == tree
            assert lw.tree_leaves(tree) == [*range(20), *[0] * 6]
        flat = [*range(9)]
        treedef = lw.tree_structure(flat)
        for _ in range(3):
            built = treedef.unflatten(flat)
            assert built == flat
            assert built is not flat
            paths = treedef.paths()
            paths.clear()
            assert len(treedef.paths()) == 9


def test_reference_results_are_expected_ones():
    """The comparison itself sees differences: it is no empty test."""
    for one, other in [
        (1, True),
        (1.0, 1),
        (0.0, -0.0),
        ("a", Text("a")),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (Plain(1, 2, "t"), Plain(1, 2, Text("t"))),
    ]:
        assert snap(one) != snap(other)
    expected, found = in_modes(lambda: lw.engine.stats()["mode"])
    assert expected == "off"
    assert found == ["eager"] * 3
    assert wrap(1, sys) == (1, sys)
