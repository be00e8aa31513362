"""L7: no operation has a limit of depth, and each says where a tree contains itself."""

import copy
import pickle

import pytest

import leafwise as lw
from leafwise import nn
from leafwise.errors import CycleError
from leafwise.selection import from_flat, to_flat


DEPTH = 1_500  # deeper than Python calls functions
pytestmark = pytest.mark.usefixtures("no_gc")


class Link(lw.Pytree):
    """An object in an object."""

    def __init__(self, inner):
        self.inner = lw.data(inner)


WRAPS = {"lists": lambda x: [x], "dicts": lambda x: {"a": x}, "objects": Link}


def deep(wrap, leaf=1, depth=DEPTH):
    """Return a tree of one leaf below many nodes."""
    for _ in range(depth):
        leaf = wrap(leaf)
    return leaf


def knot():
    """Return a tree that contains itself."""
    tree = {"a": [1]}
    tree["a"].append(tree)
    return tree


OPERATIONS = {
    "leaves": lambda a, b: lw.tree_leaves(a) == [1],
    "iterator": lambda a, b: list(lw.tree.iter(a)) == [1],
    "predicate": lambda a, b: lw.tree_leaves(a, is_leaf=int) == [1],
    "paths": lambda a, b: len(lw.tree_paths(a)[0]) == DEPTH,
    "map": lambda a, b: lw.tree_leaves(lw.tree_map(str, a)) == ["1"],
    "map two": lambda a, b: lw.tree_leaves(lw.tree_map(max, a, b)) == [1],
    "reduce": lambda a, b: lw.tree_reduce(max, a) == 1,
    "sum": lambda a, b: lw.tree_sum(a) == 1,
    "all": lambda a, b: lw.tree_all(a),
    "visit": lambda a, b: lw.tree_visit(a, lambda node, *_: node) is a,
    "walk": lambda a, b: sum(1 for _ in lw.tree_walk(a)) >= DEPTH,
    "equal": lambda a, b: lw.tree_equal(a, b),
    "diff": lambda a, b: not lw.tree_diff(a, b),
    "merge": lambda a, b: lw.tree_leaves(lw.tree_merge(a, b)) == [1],
    "partition": lambda a, b: len(lw.tree_partition(a, int)) == 2,
    "pattern": lambda a, b: len(list(lw.at(a)["**"].items())) > 0,
    "fingerprint": lambda a, b: lw.fingerprint(a) == lw.fingerprint(b),
}


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("wrap", WRAPS)
def test_any_depth(name, wrap):
    assert OPERATIONS[name](deep(WRAPS[wrap]), deep(WRAPS[wrap]))


@pytest.mark.needs("stack")
def test_a_hundred_thousand_levels():
    tree, twin = (deep(WRAPS["lists"], depth=100_000) for _ in "ab")
    mapped = lw.tree_map(lambda x, y: x + y, tree, twin)
    assert lw.tree_leaves(mapped) == [2]
    assert lw.tree_structure(mapped) == lw.tree_structure(tree)
    assert lw.tree_equal(tree, twin)


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_tree_that_contains_itself(name):
    with pytest.raises(CycleError, match=r"contains itself|is its own ancestor"):
        OPERATIONS[name](knot(), knot())


@pytest.mark.parametrize("wrap", WRAPS)
def test_treedefs_of_any_depth(wrap):
    tree = deep(WRAPS[wrap])
    treedef, other = map(lw.tree_structure, (tree, deep(WRAPS[wrap])))
    assert treedef == other
    assert hash(treedef) == hash(other)
    assert repr(treedef).count("*") == 1
    assert pickle.loads(pickle.dumps(treedef)) == copy.deepcopy(treedef) == treedef
    assert treedef.flatten_up_to(treedef.unflatten([5])) == [5]
    assert treedef.compose(treedef).num_leaves == 1
    assert treedef.children()[0].num_leaves == 1
    if wrap != "objects":
        assert lw.PyTreeDef.from_json(treedef.to_json()) == treedef


def test_a_difference_and_a_failure_at_the_bottom_have_their_paths():
    wrap = WRAPS["dicts"]
    with pytest.raises(lw.StructureError) as error:
        lw.tree_map(max, deep(wrap, [1]), deep(wrap, (1,)))
    assert len(error.value.path) == DEPTH
    with pytest.raises(ZeroDivisionError) as error:
        lw.tree_map(lambda x: 1 / 0, deep(wrap))
    assert error.value.__notes__ == ["at key path " + "['a']" * DEPTH]
    (change,) = lw.tree_diff(deep(wrap), deep(wrap, 2))
    assert len(change.path) == DEPTH


def test_edits_and_names_at_the_bottom():
    tree = deep(WRAPS["dicts"])
    path = lw.tree_paths(tree)[0]
    assert lw.tree_leaves(lw.at(tree)[path].set(2)) == [2]
    assert lw.tree_leaves(lw.at(tree)["a.a"].delete()) == []
    ((name, leaf),) = to_flat(deep(WRAPS["lists"])).items()
    assert (name, leaf) == ("[0]" * DEPTH, 1)
    assert lw.tree_leaves(from_flat({name: leaf})) == [1]
    with pytest.raises(CycleError):
        to_flat(knot())


@pytest.mark.needs("stack")
def test_graphs_of_some_depth():
    """Objects in objects, as far as Python's stack reaches."""
    model = deep(Link, nn.Param(1), 400)
    graphdef, state = nn.split(model)
    assert nn.graphdef(nn.merge(graphdef, state)) == graphdef
    assert nn.graphdef(nn.clone(model)) == graphdef
    assert nn.find_duplicates(model) == []
