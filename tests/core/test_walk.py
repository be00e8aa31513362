"""The reference walk: depth, cycles, mutation, users' exceptions (L7, L8)."""

import copy
import functools
import pickle
import sys
from collections import OrderedDict
from contextlib import nullcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

import leafwise as lw
from interrupts import at_once
from leafwise.core.builtins import LIST
from leafwise.core.registry import current, view_of
from leafwise.core.walk import (
    _long_leaf_paths,
    flatten,
    flatten_up_to,
    leaf_path,
    leaf_paths,
)
from strategies import every_tree


DEPTH = 100_000


class Box:
    def __init__(self, x):
        self.x = x


lw.register_pytree_node(
    Box, lambda box: ((box.x,), "aux"), lambda _, kids: Box(*kids), exist_ok=True
)


def nested(wrap, depth=DEPTH, leaf=1):
    """Return a leaf inside that many nodes."""
    tree = leaf
    for _ in range(depth):
        tree = wrap(tree)
    return tree


WRAPS = [
    lambda x: [x],
    lambda x: {"a": x},
    Box,
    lambda x: (None, x),
    lambda x: OrderedDict(a=x),
]
names = ["list", "dict", "custom", "tuple", "OrderedDict"]


def innermost(tree):
    """Go down without recursion and return the last leaf."""
    while children := lw.tree.children(tree):
        tree = children[-1]
    return tree


@pytest.mark.slow
@pytest.mark.usefixtures("no_gc")
@pytest.mark.parametrize("wrap", WRAPS[:3], ids=names[:3])
def test_any_depth(wrap):
    """A hundred thousand levels go through every operation."""
    tree, twin = nested(wrap), nested(wrap)
    leaves, treedef = lw.tree_flatten(tree)
    assert leaves == lw.tree_leaves(tree) == [*lw.tree.iter(tree)] == [1]
    assert treedef.num_leaves == 1
    assert innermost(lw.tree_map(lambda x: x + 1, tree)) == 2
    assert innermost(lw.tree_map(lambda x, y: x + y, tree, twin)) == 2
    assert innermost(lw.tree_unflatten(treedef, [5])) == 5
    other = lw.tree_structure(twin)
    assert treedef == other
    assert hash(treedef) == hash(other)
    assert repr(treedef).count("*") == 1
    assert pickle.loads(pickle.dumps(treedef)) == treedef
    assert copy.deepcopy(treedef) == copy.copy(treedef) == treedef
    assert treedef.flatten_up_to(twin) == [1]
    assert len(lw.tree_paths(tree)[0]) == DEPTH
    assert lw.tree_equal(tree, twin)
    assert treedef.children()[-1].num_leaves == 1
    assert lw.tree_leaves(tree, is_leaf=int) == [1]
    assert treedef.compose(treedef).num_leaves == 1


def levels(tree):
    """Return all nodes of a chain, innermost first: a list drops its last one first."""
    found = [tree]
    while children := lw.tree.children(found[-1]):
        found.append(children[-1])
    return found[::-1]


@pytest.mark.usefixtures("no_gc")
@pytest.mark.parametrize("wrap", WRAPS[:3], ids=names[:3])
def test_depth_with_little_stack(wrap):
    """Nothing of what a walk makes is a chain, which some platforms cannot drop."""
    tree, twin = nested(wrap, 8_000), nested(wrap, 8_000)
    held = [levels(tree), levels(twin)]
    leaves, treedef = lw.tree_flatten(tree)
    held.append(levels(lw.tree_map(lambda x: x + 1, tree)))
    held.append(levels(lw.tree_map(lambda x, y: x + y, tree, twin)))
    held.append(levels(treedef.unflatten(leaves)))
    assert [chain[0] for chain in held] == [1, 1, 2, 2, 1]
    assert [*lw.tree.iter(tree)] == treedef.flatten_up_to(twin) == [1]
    other = lw.tree_structure(twin)
    assert (treedef, hash(treedef)) == (other, hash(other))
    assert repr(treedef).count("*") == 1
    assert pickle.loads(pickle.dumps(treedef)) == copy.deepcopy(treedef) == treedef
    assert len(lw.tree_paths(tree)[0]) == 8_000
    assert lw.tree_equal(tree, twin)
    assert lw.PyTreeDef.from_json(lw.tree_structure([tree]).to_json()).num_leaves == 1
    del tree, twin  # `held` goes last


@pytest.mark.slow
def test_a_deep_mismatch_is_found():
    """A difference at the bottom of a deep tree is named, whole path and all."""
    with pytest.raises(lw.StructureError) as error:
        lw.tree_map(max, nested(WRAPS[0], leaf=[1]), nested(WRAPS[0], leaf=(1,)))
    assert len(error.value.path) == DEPTH
    assert error.value.expected == "list of length 1"


@pytest.mark.slow
def test_a_deep_failure_has_its_path():
    """An exception of the mapped function has its whole path in the note."""
    for trees in ((nested(WRAPS[1]),), (nested(WRAPS[1]), nested(WRAPS[1]))):
        with pytest.raises(ZeroDivisionError) as error:
            lw.tree_map(lambda *_: 1 / 0, *trees)
        assert error.value.__notes__ == ["at key path " + "['a']" * DEPTH]


def test_depth_from_a_deep_stack():
    """A call from near the recursion limit walks deep trees all the same."""
    tree = nested(WRAPS[0], 3000)

    def dive(levels):
        if levels:
            return dive(levels - 1)
        return lw.tree_leaves(tree), innermost(lw.tree_map(lambda x: x + 1, tree))

    used = len(__import__("inspect").stack())
    assert dive(sys.getrecursionlimit() - used - 200) == ([1], 2)


@pytest.mark.parametrize("depth", [48, 49, 50, 51, 52, 199, 200, 201, 202, 203, 204])
@pytest.mark.parametrize("wrap", WRAPS, ids=names)
def test_the_seams_between_the_walks(wrap, depth):
    """Where one way of walking hands over to the other, nothing changes."""
    tree = nested(lambda x: wrap([0, wrap(x), 2]), depth // 2)
    leaves, treedef = lw.tree_flatten(tree)
    deep, same = lw.tree_flatten(tree, is_leaf=lambda _: False)
    assert leaves == deep
    assert treedef == same
    mapped = lw.tree_map(lambda x: -x, tree)
    assert lw.tree_leaves(mapped) == [-x for x in leaves]
    assert lw.tree_structure(mapped) == treedef


# ---------------------------------------------------------------------- cycles


def knot():
    """Return a list that contains itself, and where."""
    tree = [1]
    tree.append({"self": tree})
    return tree


def loop():
    """Return a dict that contains itself, further down."""
    tree = {"a": [0, {}]}
    tree["a"][1]["b"] = tree["a"]
    return tree


@pytest.mark.parametrize(
    ("make", "text", "first", "again"),
    [
        (
            knot,
            "the tree contains itself: the list at the root occurs again at "
            "[1]['self']",
            "",
            "[1]['self']",
        ),
        (
            loop,
            "the tree contains itself: the list at ['a'] occurs again at ['a'][1]['b']",
            "['a']",
            "['a'][1]['b']",
        ),
    ],
)
def test_a_cycle_is_an_error_with_both_paths(make, text, first, again):
    """Every walk of a tree that contains itself says where."""
    for walk in (
        lw.tree_leaves,
        lw.tree_flatten,
        lw.tree_structure,
        lambda tree: [*lw.tree.iter(tree)],
        lambda tree: lw.tree_map(lambda x: x, tree),
        lambda tree: lw.tree_map(lambda x, y: x, tree, tree),
        lambda tree: lw.tree_leaves(tree, is_leaf=str),
        lw.tree_paths,
    ):
        with pytest.raises(lw.errors.CycleError) as error:
            walk(make())
        assert str(error.value) == text
        assert str(error.value.first) == first
        assert str(error.value.again) == again


def test_a_cycle_of_registered_objects():
    """A registered object that holds itself is a cycle too."""
    box = Box(None)
    box.x = [box]
    with pytest.raises(
        lw.errors.CycleError, match="the Box at the root occurs again at"
    ):
        lw.tree_leaves(box)


def test_a_wide_cycle_does_not_explode():
    """A list that holds itself many times is found out at once."""
    tree = []
    tree += [tree] * 50
    with pytest.raises(lw.errors.CycleError):
        lw.tree_leaves(tree)


def test_shared_nodes_are_no_cycle():
    """The same object in two places is walked twice."""
    shared = [1]
    assert lw.tree_leaves([shared, {"a": shared}, ((), ())]) == [1, 1]
    assert lw.tree_leaves([shared, shared], is_leaf=lambda _: False) == [1, 1]


# ------------------------------------------------------------------- mutation


def test_a_list_that_shrinks_under_is_leaf():
    """The children are those that stood there when the walk came by."""
    tree = [1, 2, [3], 4]

    def clear(node):
        if node == 1:
            tree.clear()
        return False

    assert lw.tree_leaves(tree, is_leaf=clear) == [1, 2, 3, 4]


def test_a_list_that_grows_under_is_leaf():
    """What is added while a node is walked is not seen."""
    tree = [1, 2]

    def grow(node):
        if node == 1:
            tree.append(0)
        return False

    assert lw.tree_leaves(tree, is_leaf=grow) == [1, 2]


@pytest.mark.parametrize("change", [dict.clear, lambda d: d.update(new=0)])
def test_a_dict_that_changes_under_is_leaf(change):
    """A dict gives the values that it had when the walk came by."""
    tree = {"a": 1, "b": {"c": 2}}

    def changing(node):
        if node == 1:
            change(tree)
        return False

    assert lw.tree_leaves(tree, is_leaf=changing) == [1, 2]


@pytest.mark.parametrize(
    ("tree", "result"),
    [
        ([1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6]),
        ([1, [2], 3], [1, [2], 3]),
        ({"b": 1, "a": 2}, {"b": 1, "a": 2}),
        (OrderedDict(b=1, a=2), OrderedDict(b=1, a=2)),
    ],
    ids=repr,
)
def test_a_container_emptied_by_the_mapped_function(tree, result):
    """A node that is being mapped keeps its old values."""

    def clear(x):
        tree.clear()
        return x

    assert lw.tree_map(clear, tree) == result
    assert not tree


# -------------------------------------------------------- errors of the user's


def fail(error):
    """Return a function that raises that error at the leaf 2."""

    def function(x, *_):
        if x == 2:
            raise error
        return x

    return function


TREE = {"z": [0, (1, {"k": 2})], "a": Box(3)}


@pytest.mark.parametrize("error", [KeyError("x"), StopIteration(5), RuntimeError()])
@pytest.mark.parametrize("more", [(), (TREE,)], ids=["one tree", "two trees"])
@pytest.mark.parametrize("wide", [False, True])
def test_an_exception_keeps_its_type_and_gains_one_note(error, more, wide):
    """The note says where the leaf is; nothing is swallowed or wrapped."""
    error = type(error)(*error.args)
    tree = dict(TREE, z=[0, (1, {"k": [7, 7, 7, 7, 2, 7]})]) if wide else TREE
    with pytest.raises(type(error)) as caught:
        lw.tree_map(fail(error), tree, *(tree for _ in more))
    assert caught.value is error
    where = "['z'][1][1]['k']" + ("[4]" if wide else "")
    assert error.__notes__ == [f"at key path {where}"]


@pytest.mark.parametrize("error", [KeyError("x"), StopIteration(5)])
def test_an_exception_of_is_leaf_keeps_its_type(error):
    """An `is_leaf` that raises is reported with the path of the node."""
    for walk in (lw.tree_leaves, functools.partial(lw.tree_map, abs)):
        fresh = type(error)(*error.args)
        stop = fail(fresh)
        with pytest.raises(type(error)) as caught:
            walk(TREE, is_leaf=lambda node, stop=stop: stop(node) is None)
        assert caught.value is fresh
        assert fresh.__notes__ == ["at key path ['z'][1][1]['k']"]


def test_an_exception_at_a_bare_leaf():
    """At the root there is no path to name, and the note says so."""
    for trees in ((2,), (2, 2)):
        with pytest.raises(KeyError) as caught:
            lw.tree_map(fail(KeyError()), *trees)
        assert caught.value.__notes__ == ["at the root of the tree"]


def test_an_exception_of_unflatten_names_the_node():
    """A class that refuses to be rebuilt is named by its path."""

    class Picky:
        def __init__(self, x):
            self.x = x

    def refuse(aux, children):
        raise ValueError("no")

    lw.register_pytree_node(Picky, lambda node: ((node.x,), None), refuse)
    tree = {"a": [0, Picky(1)]}
    treedef = lw.tree_structure(tree)
    for rebuild in (
        lambda: lw.tree_map(abs, tree),
        lambda: lw.tree_map(max, tree, tree),
        lambda: treedef.unflatten([1, 2]),
    ):
        with pytest.raises(ValueError, match="no") as caught:
            rebuild()
        assert caught.value.__notes__ == ["at key path ['a'][1]"]


def test_an_interrupt_passes_through_untouched():
    """KeyboardInterrupt is no failure of a leaf and gets no note."""
    with pytest.raises(KeyboardInterrupt) as caught:
        lw.tree_map(fail(KeyboardInterrupt()), TREE)
    assert not hasattr(caught.value, "__notes__")


def test_nested_maps_add_a_note_each():
    """A map inside a map reports both places, the inner one first."""
    with pytest.raises(ZeroDivisionError) as caught:
        lw.tree_map(lambda _: lw.tree_map(lambda x: 1 / x, {"in": 0}), ["out"])
    assert caught.value.__notes__ == ["at key path ['in']", "at key path [0]"]


# ----------------------------------------------------- what is kept, and threads


def test_no_reference_to_a_leaf_survives_a_call():
    """Once a walk is over, nothing of the package holds the user's objects."""
    import gc
    import weakref

    class Leaf:
        pass

    tree = [Leaf(), {"a": (Leaf(),)}, Box(Leaf())]
    refs = [*map(weakref.ref, lw.tree_leaves(tree))]
    gc.collect()
    gc.disable()
    try:
        lw.tree_map(lambda x: x, tree)
        lw.tree_flatten(tree)
        lw.tree_map(lambda x, y: x, tree, tree)
        del tree
        assert [ref() for ref in refs] == [None] * 3
    finally:
        gc.enable()


def test_code_is_flat_and_holds_nothing_for_a_leaf():
    """A code has one entry for each node, whatever the number of leaves."""
    leaves, code = flatten([[0.0] * 1000, {"a": 1}], view_of())
    assert len(leaves) == 1001
    assert [(run, rule.name, arity) for run, rule, arity, _ in code] == [
        (1000, "list", 1000),
        (1, "dict", 1),
        (0, "list", 2),
    ]


@pytest.mark.needs("threads")
def test_mapping_while_registering():
    """Eight threads map while one registers: no wrong result."""
    tree = {"a": [1, (2, None)], "b": Box({"c": 3}), "d": OrderedDict(x=4)}
    expected = [2, 3, 4, 5]

    def work():
        for _ in range(60):
            mapped = lw.tree_map(lambda x: x + 1, tree)
            leaves, treedef = lw.tree_flatten(mapped)
            assert leaves == expected
            assert lw.tree_leaves(treedef.unflatten(leaves)) == expected

    def register():
        for _ in range(60):
            cls = type("Temporary", (), {})
            lw.register_static(cls)
            lw.register_dataclass(cls, [], [], namespace="busy", exist_ok=True)
            lw.tree_leaves(cls(), namespace="busy")
            lw.unregister_pytree_node(cls)
            lw.unregister_pytree_node(cls, namespace="busy")

    assert at_once(*[work] * 8, register) == []


# ------------------------------------------------------------- what is known of keys

PLAIN_KEYS = st.lists(
    st.one_of(st.text("ab", max_size=3), st.integers(0, 5)), unique=True, max_size=9
)


@given(PLAIN_KEYS)
def test_a_dict_of_any_size_is_rebuilt_in_its_order(keys):
    """Small ones are written out, by number of keys."""
    tree = {key: str(key) for key in keys}
    leaves, treedef = lw.tree_flatten(tree)
    rebuilt = treedef.unflatten(leaves)
    assert [*rebuilt.items()] == [*tree.items()]
    assert treedef.flatten_up_to(dict(reversed(tree.items()))) == leaves
    if tree:
        tree.popitem()
        with pytest.raises(lw.StructureError):
            treedef.flatten_up_to({**tree, "another": 1})


def test_a_dict_that_loses_a_key_while_it_is_paired():
    """Another thread takes it away after the count: that is a difference."""
    keys = ("one", "two")
    treedef = lw.tree_structure(dict.fromkeys(keys, 0))
    assert flatten_up_to(treedef._code, {"one": 1, "else": 2}) is None


def nests(below):
    """Return a strategy of nodes of some kinds."""
    return st.one_of(
        st.lists(below, max_size=6),
        st.tuples(below, below),
        st.dictionaries(st.sampled_from("abcdefg"), below, max_size=7),
        st.dictionaries(st.sampled_from([0.5, 1.5]), below, max_size=2),
    )


@given(lw.testing.trees(st.just(0), nodes=[nests]))
def test_paths_with_and_without_what_is_between(tree):
    """The two ways to the paths give the same paths."""
    leaves, code = flatten(tree, current.view)
    if code:
        assert leaf_paths(code, len(leaves)) == _long_leaf_paths(code)


@pytest.mark.parametrize("depth", [1, 49, 50, 51, 199, 200, 201, 1000])
def test_one_walk_leaves_what_is_deep_to_the_code(depth):
    """Whatever the depth, each leaf has its path, with and without siblings."""
    tree = {"in": [1, 2], "no": [], "out": 3}
    for _ in range(depth):
        tree = {"a": 0, "b": tree, "c": (4,)}
    off = lw.engine.disabled() if hasattr(lw, "engine") else nullcontext()
    with off:
        pairs, treedef = lw.tree_flatten_with_path(tree)
        seen = []
        lw.tree.map_with_path_(lambda *pair: seen.append(pair), tree)
    assert [leaf for _, leaf in pairs] == lw.tree_leaves(tree)
    assert [path for path, _ in pairs] == treedef.paths()
    assert seen == pairs
    assert all(path(tree) == leaf for path, leaf in pairs)


def test_one_walk_says_where_it_failed():
    """As the walk without paths does, and cycles are cycles."""

    def fail(_):
        raise ValueError("no")

    class Failing:
        pass

    lw.register_pytree_node(Failing, fail, lambda _, kids: None)
    with pytest.raises(ValueError, match="no") as caught:
        lw.tree_flatten_with_path({"b": 1, "a": [0, (Failing(), 2)]})
    assert caught.value.__notes__ == ["at key path ['a'][1][0]"]
    tree = {"a": [1]}
    tree["a"].append(tree)
    with pytest.raises(lw.errors.CycleError) as cycle:
        lw.tree_flatten_with_path(tree)
    assert (str(cycle.value.first), str(cycle.value.again)) == ("", "['a'][1]")


@pytest.mark.parametrize("depth", [49, 50, 51, 52, 53, 120])
def test_paths_of_deep_trees(depth):
    """Beyond some depth nothing is built for the nodes between."""
    tree = [1, 2]
    for _ in range(depth):
        tree = {"a": tree, "b": 0}
    paths = lw.tree_paths(tree)
    assert [len(path) for path in paths] == [depth + 1] * 2 + [*range(depth, 0, -1)]
    assert [path(tree) for path in paths] == [1, 2] + [0] * depth


def test_notes_do_not_pile_up_on_one_exception():
    """One object that is raised again and again carries its path once, or a few."""
    error = ValueError("cached")

    def fail(_):
        raise error

    for number in range(200):
        for tree in ({"a": 1}, {f"b{number}": 1}):
            with pytest.raises(ValueError, match="cached"):
                lw.tree_map(fail, tree)
    assert error.__notes__.count("at key path ['a']") == 1
    assert len(error.__notes__) <= 16


def test_the_path_of_one_leaf_is_found_without_those_of_the_others(monkeypatch):
    """A function that fails at once in a big tree costs no more than a walk of it."""
    asked = []
    keys = type(LIST).keys

    def counting(rule, aux, arity):
        asked.append(arity)
        return keys(rule, aux, arity)

    monkeypatch.setattr(type(LIST), "keys", counting)
    tree = [[[0] * 10 for _ in range(100)] for _ in range(100)]
    with pytest.raises(ZeroDivisionError) as caught:
        lw.tree_map(lambda x: 1 / x, tree)
    assert caught.value.__notes__ == ["at key path [0][0][0]"]
    assert len(asked) <= 3


@given(every_tree())
def test_the_path_of_each_leaf_is_that_among_all_paths(tree):
    leaves, code = flatten(tree, current.view)
    found = [leaf_path(code, index) for index in range(len(leaves))]
    assert found == leaf_paths(code, len(leaves))
