"""List, Dict and Sequential: what they share with the containers of Python."""

import pickle

import numpy as np
import pytest

import leafwise as lw
from leafwise import nn
from leafwise.nn.instance import assign
from leafwise.nn.pytree import PytreeSpec


ARRAY = np.ones(2)


def kinds(container):
    """Return which items are data, by what the treedef and the leaves say."""
    return [str(path) for path in lw.tree_paths(container)]


# ------------------------------------------------------------------------- List


def test_lists_behave_like_sequences():
    """Length, iteration, negative positions, slices, and errors that name things."""
    items = nn.List([lw.data(1), lw.static(10), "a"])
    assert (len(items), [*items], items[-1], items[1:], items[::-1]) == (
        3,
        [1, 10, "a"],
        "a",
        [10, "a"],
        ["a", 10, 1],
    )
    assert lw.tree_leaves(items) == [1]
    items[-1] = "b"
    items[0:2] = [2, 20]
    assert [*items] == [2, 20, "b"]
    assert lw.tree_leaves(items) == [2]
    assert (items.index("b"), items.count(2), 20 in items) == (2, 1, True)
    with pytest.raises(ValueError, match="Length mismatch: 1 items for a slice of 2"):
        items[0:2] = [1]
    with pytest.raises(IndexError, match="position 3 is out of bounds for a List of 3"):
        items[3]
    with pytest.raises(IndexError, match="position -4 is out of bounds"):
        items[-4] = 1
    with pytest.raises(TypeError, match="must be integers or slices, not str"):
        items["a"]
    assert [*items] == [2, 20, "b"]


def test_a_slice_is_assigned_whole_or_not_at_all():
    """A refused item in the middle changes nothing."""
    items = nn.List([lw.data(1), "a", lw.data(3)])
    with pytest.raises(lw.errors.KindError):
        items[:] = [10, [ARRAY], 30]
    assert [*items] == [1, "a", 3]


def test_lists_have_attributes_too():
    """A subclass may keep attributes beside its items."""

    class Named(nn.List):
        def __init__(self, name, *items):
            super().__init__(items)
            self.name = name
            self.scale = lw.data(2.0)

    named = Named("n", ARRAY, 1)
    assert kinds(named) == [".scale", "[0]"]
    again = lw.tree_map(lambda x: x * 2, named)
    assert (type(again), again.name, again.scale, [*again][1]) == (Named, "n", 4.0, 1)
    assert again[0].tolist() == [2.0, 2.0]
    assert repr(lw.tree_structure(named)) == (
        "PyTreeDef(CustomNode(Named[name='n', 1=1], [*, *]))"
    )


# ------------------------------------------------------------------------- Dict


def test_dicts_behave_like_mappings():
    """All ways to make one, items as attributes, and errors that name things."""
    items = nn.Dict({"a": ARRAY}, b=1)
    assert nn.Dict([("a", 1)])["a"] == 1
    assert (len(items), [*items], "a" in items, items.b) == (2, ["a", "b"], True, 1)
    assert items.setdefault("c", 3) == 3
    items.d = lw.data(4)
    assert items["d"] == 4
    del items.c
    del items["b"]
    assert [*items] == ["a", "d"]
    assert kinds(items) == ["['a']", "['d']"]
    with pytest.raises(KeyError):
        items["none"]
    with pytest.raises(AttributeError, match="Dict has no item or attribute 'none'"):
        _ = items.none
    with pytest.raises(AttributeError):
        del items.none
    with pytest.raises(TypeError, match="the keys of a Dict are strings, got int: 3"):
        items[3] = 1
    with pytest.raises(TypeError, match="strings, got int"):
        nn.Dict({1: 2})


def test_items_never_collide_with_methods():
    """An item may be called as a method is; the method stays one."""
    items = nn.Dict(keys=lw.data(1), update=2)
    assert items["keys"] == 1
    assert [*items.keys()] == ["keys", "update"]
    with pytest.raises(AttributeError, match="'values' is a reserved name of Dict"):
        items.values = 3
    assert lw.tree_map(lambda x: x + 1, items)["keys"] == 2


def test_dicts_keep_their_order_and_compare_without_it():
    """As plain dicts do."""
    one = nn.Dict(b=lw.data(1), a=lw.data(2))
    other = nn.Dict(a=lw.data(3), b=lw.data(4))
    assert lw.tree_leaves(one) == [2, 1]
    assert [*lw.tree_map(str, one)] == ["b", "a"]
    assert lw.tree_structure(one) == lw.tree_structure(other)
    assert lw.tree_map(lambda x, y: x + y, one, other)["b"] == 5
    assert one == nn.Dict(one)
    assert len({one, one, other}) == 2


# -------------------------------------------------------------------- both, copied


def test_checks_reach_items():
    """`check_pytree` looks into static items."""
    items = nn.List([[1]])
    table = nn.Dict(a=[1])
    items[0].append(ARRAY)
    table["a"].append(ARRAY)
    for container, path in ((items, "[0][1]"), (table, "['a'][1]")):
        with pytest.raises(lw.errors.KindError) as caught:
            nn.check_pytree(container)
        assert str(caught.value.path) == path


# -------------------------------------------------------------------- Sequential


def test_sequential_passes_results_on():
    """Tuples are spread, dicts are keywords, nothing gives back what came."""
    assert nn.Sequential()() is None
    assert nn.Sequential()(1) == 1
    assert nn.Sequential()(1, 2) == (1, 2)
    assert nn.Sequential()(a=1) == {"a": 1}
    chain = nn.Sequential(
        lambda x: (x, x + 1), lambda a, b: {"a": a, "c": b}, lambda a, c: a - c
    )
    assert chain(3) == -1
    with pytest.raises(TypeError, match="not callable"):
        nn.Sequential(abs, 3)(1)


def test_large_lists():
    """Many items cost what a list costs, and no more."""
    items = nn.List(lw.data(i) for i in range(20_000))
    items.insert(0, "s")
    assert lw.tree_leaves(items) == [*range(20_000)]
    assert [*lw.tree_map(lambda x: x, items)][:2] == ["s", 0]


def test_equality_with_plain_containers():
    """By content, and so are those of one kind."""
    assert nn.Dict(a=1) == {"a": 1}
    assert nn.Dict(a=1) != {"a": 2}
    assert nn.List([1, 2]) == [1, 2]
    assert nn.List([1]) != [2]
    assert nn.List([1]) == nn.List([1]) != nn.List([2])
    assert nn.Dict(a=1) == nn.Dict(a=1) != nn.Dict(a=2)
    assert nn.List([]) != nn.Dict()


class GridSpec(PytreeSpec):
    has_items = True
    brackets = ("({", "})")

    def entry_name(self, obj, part):
        return part if part == "note" else (part,)


class Grid(lw.Pytree, spec=GridSpec):
    """A container of one's own: its items are entries under keys in tuples."""

    def __setitem__(self, key, value):
        assign(self, (key,), value)

    def __getitem__(self, key):
        return vars(self)[(key,)]


def test_a_new_container_is_one_class():
    """It is a tree, a graph, and can be printed, pickled and updated."""
    grid = Grid()
    grid[0, 1], grid["name"], grid.note = nn.Param(1.0), "g", "n"
    assert [*map(str, lw.tree_paths(grid))] == ["[(0, 1)].value"]
    assert nn.to_pure_dict(nn.state(grid)) == {(0, 1): 1.0}
    graphdef, state = nn.split(grid)
    again = nn.merge(graphdef, state)
    assert (again["name"], again.note, again[0, 1].value) == ("g", "n", 1.0)
    assert lw.tree_structure(pickle.loads(pickle.dumps(grid))) == lw.tree_structure(
        grid
    )
    assert repr(grid) == "Grid({(0, 1): Param(value=1.0), 'name': 'g', note='n'})"
    with pytest.raises(lw.errors.KindError, match=r"\['name'\], which is static"):
        grid["name"] = np.ones(1)
