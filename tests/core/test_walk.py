"""The reference walk: depth, cycles, mutation, users' exceptions (L7, L8)."""

import copy
import pickle
from collections import OrderedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

import leafwise as lw
from helpers.random_trees import every_tree
from leafwise.core import reference
from leafwise.core.builtins import LIST
from leafwise.core.keypath import Link
from leafwise.core.registry import current
from leafwise.core.walk import Walk, flatten, leaf_path, leaf_paths


pytestmark = pytest.mark.usefixtures("sampling")


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


def levels(tree):
    """Return all nodes of a chain, innermost first: a list drops its last one first."""
    nodes = [tree]
    while children := lw.tree.children(nodes[-1]):
        nodes.append(children[-1])
    return nodes[::-1]


@pytest.mark.sweep
@pytest.mark.usefixtures("no_gc")
@pytest.mark.parametrize("wrap", WRAPS[:3], ids=names[:3])
def test_depth_with_little_stack(wrap):
    """Nothing of what a walk makes is a chain, which some platforms cannot drop."""
    tree = nested(wrap, 8_000)
    twin = nested(wrap, 8_000)
    nodes = [levels(tree), levels(twin)]
    leaves, treedef = lw.tree_flatten(tree)
    nodes.append(levels(lw.tree_map(lambda x: x + 1, tree)))
    nodes.append(levels(lw.tree_map(lambda x, y: x + y, tree, twin)))
    nodes.append(levels(treedef.unflatten(leaves)))
    assert [chain[0] for chain in nodes] == [1, 1, 2, 2, 1]
    assert list(lw.tree.iter(tree)) == treedef.flatten_up_to(twin) == [1]
    other = lw.tree_structure(twin)
    assert (treedef, hash(treedef)) == (other, hash(other))
    assert repr(treedef).count("*") == 1
    assert pickle.loads(pickle.dumps(treedef)) == copy.deepcopy(treedef) == treedef
    assert len(lw.tree_paths(tree)[0]) == 8_000
    assert lw.tree_equal(tree, twin)
    assert lw.PyTreeDef.from_json(lw.tree_structure([tree]).to_json()).num_leaves == 1
    del tree, twin  # `held` goes last


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
        lambda tree: list(lw.tree.iter(tree)),
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


def test_a_wide_cycle_does_not_explode():
    """A list that holds itself many times is found out at once."""
    tree = []
    tree += [tree] * 50
    with pytest.raises(lw.errors.CycleError):
        lw.tree_leaves(tree)


# -------------------------------------------------------- errors of the user's


def fail(error):
    """Return a function that raises that error at the leaf 2."""

    def function(x, *_):
        if x == 2:
            raise error
        return x

    return function


TREE = {"z": [0, (1, {"k": 2})], "a": Box(3)}


def test_an_interrupt_passes_through_untouched():
    """KeyboardInterrupt is no failure of a leaf and gets no note."""
    with pytest.raises(KeyboardInterrupt) as caught:
        lw.tree_map(fail(KeyboardInterrupt()), TREE)
    assert not hasattr(caught.value, "__notes__")


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
    assert list(rebuilt.items()) == list(tree.items())
    assert treedef.flatten_up_to(dict(reversed(tree.items()))) == leaves
    if tree:
        tree.popitem()
        with pytest.raises(lw.StructureError):
            treedef.flatten_up_to({**tree, "another": 1})


def nests(below):
    """Return a strategy of nodes of some kinds."""
    return st.one_of(
        st.lists(below, max_size=6),
        st.tuples(below, below),
        st.dictionaries(st.sampled_from("abcdefg"), below, max_size=7),
        st.dictionaries(st.sampled_from([0.5, 1.5]), below, max_size=2),
    )


@given(lw.testing.trees(st.just(0), nodes=[nests]), st.integers(0, 300))
def test_paths_in_a_wide_tree_and_below_a_deep_one(tree, depth):
    """They are those of the reference, below as many keys as the tree is deep."""
    leaves, code = flatten(tree, current.view)
    paths = reference.leaf_paths(reference.structure_of(code))
    assert leaf_paths(code, len(leaves)) == paths
    for _ in range(depth):
        tree = [0, tree]
    leaves, code = flatten(tree, current.view)
    above = lw.KeyPath([lw.SequenceKey(1)] * depth)
    deep_paths = leaf_paths(code, len(leaves))
    assert deep_paths[depth:] == [above + path for path in paths]
    for index, path in enumerate(deep_paths[:depth]):
        assert path == (*above[:index], lw.SequenceKey(0))


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


@given(every_tree())
def test_the_path_of_each_leaf_is_that_among_all_paths(tree):
    leaves, code = flatten(tree, current.view)
    paths = [leaf_path(code, index) for index in range(len(leaves))]
    assert paths == leaf_paths(code, len(leaves))


def test_the_path_of_one_leaf_is_found_without_those_of_the_others(monkeypatch):
    """A function that fails at once in a big tree costs no more than a walk of it."""
    asked = []
    keys = type(LIST).keys

    def counting(node_type, aux, arity):
        asked.append(arity)
        return keys(node_type, aux, arity)

    monkeypatch.setattr(type(LIST), "keys", counting)
    tree = [[[0] * 10 for _ in range(100)] for _ in range(100)]
    with pytest.raises(ZeroDivisionError) as caught:
        lw.tree_map(lambda x: 1 / x, tree)
    assert caught.value.__notes__ == ["at key path [0][0][0]"]
    assert len(asked) <= 3


# --------------------------------------------------------------------- every place


def test_a_link_has_the_path_of_its_place():
    """The path of the place where a walk began can stand before it."""
    root = lw.KeyPath((lw.GetAttrKey("model"),))
    below = Link(Link(Link(), lw.DictKey("a")), lw.SequenceKey(1))
    assert below.path() == lw.KeyPath((lw.DictKey("a"), lw.SequenceKey(1)))
    assert str(below.path(root)) == ".model['a'][1]"
    assert Link().path() == ()
    assert Link().path(root) is not root
    assert Link().path(root) == root


@given(every_tree())
def test_a_walk_has_the_places_of_the_leaves(tree):
    """Links and the walk itself name each place the same way."""
    steps = Walk(tree, current.view)
    places = []
    for link, node, node_type, is_leaving in steps:
        assert not is_leaving
        assert link.path() == steps.path()
        if node_type is None:
            places.append((link.path(), node))
    paths, leaves = zip(*places, strict=True) if places else ((), ())
    assert list(paths) == lw.tree_paths(tree)
    assert all(a is b for a, b in zip(leaves, lw.tree_leaves(tree), strict=True))


@given(every_tree())
def test_a_walk_can_rebuild_what_it_leaves(tree):
    """A node comes before and after what is below it, with the same children."""
    steps = Walk(tree, current.view, leaving=True)
    results = []
    for _, node, node_type, is_leaving in steps:
        if node_type is None:
            results.append(node)
        elif is_leaving:
            children, aux = steps.flatten()
            start = len(results) - len(children)
            results[start:] = [node_type.unflatten(aux, results[start:])]
    (copy_of_tree,) = results
    assert lw.tree_structure(copy_of_tree) == lw.tree_structure(tree)


def test_a_walk_skips_and_replaces():
    """What is skipped is not flattened; what replaces a node is walked instead."""

    def refuse(box):
        raise AssertionError("flattened")

    class Closed:
        pass

    lw.register_pytree_node(Closed, refuse, refuse)
    steps = Walk([Closed(), "replace", [3]], current.view)
    nodes = []
    for link, node, node_type, _ in steps:
        nodes.append((str(link.path()), node))
        if type(node) is Closed:
            steps.skip()
        if node == "replace":
            assert node_type is None
            assert steps.replace((1, 2)) is not None
    paths = ["", "[0]", "[1]", "[1][0]", "[1][1]", "[2]", "[2][0]"]
    assert [path for path, _ in nodes] == paths


def test_a_node_may_change_until_the_walk_goes_on():
    """It is flattened late, unless somebody asks for its children."""
    tree = {"a": [1], "b": [2]}
    nodes = []
    for _, node, _, _ in (steps := Walk(tree, current.view)):
        nodes.append(node)
        if node == [1]:
            node.append(5)
        if node == [2]:
            assert steps.flatten()[0] == [2]
            node.append(6)
    assert nodes == [tree, [1, 5], 1, 5, [2, 6], 2]


def test_a_walk_says_where_a_cycle_is_and_where_a_flatten_function_failed():
    """A caller who skips what was there already meets no cycle."""
    tree = {"a": [1]}
    tree["a"].append(tree)
    with pytest.raises(lw.errors.CycleError) as caught:
        list(Walk(tree, current.view))
    assert caught.value.again == lw.KeyPath.parse("['a'][1]")
    ids = set()
    for _, node, _, _ in (steps := Walk(tree, current.view)):
        if id(node) in ids:
            steps.skip()
        ids.add(id(node))

    class Broken:
        pass

    lw.register_pytree_node(Broken, lambda _: 1 / 0, lambda _, kids: Broken())
    with pytest.raises(ZeroDivisionError) as failed:
        list(Walk([0, Broken()], current.view))
    assert failed.value.__notes__ == ["at key path [1]"]


@pytest.mark.needs("stack")
@pytest.mark.parametrize("leaving", [False, True])
def test_a_walk_goes_to_any_depth(leaving):
    """Links take no more time further down."""
    for link, node, _, _ in Walk(nested(WRAPS[0]), current.view, leaving=leaving):
        if node == 1:
            assert len(link.path()) == DEPTH
