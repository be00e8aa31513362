"""Filters, states, and functions on states."""

import copy
import pickle

import numpy as np
import pytest

import leafwise as lw
from leafwise import nn
from leafwise.nn import filters


PARAM, CACHE = nn.Param(1), nn.Cache(2)


@pytest.mark.parametrize(
    ("filter", "found", "text"),
    [
        (nn.Param, (True, False), "OfType(Param)"),
        ("cache", (False, True), "WithTag('cache')"),
        (..., (True, True), "Everything()"),
        (True, (True, True), "Everything()"),
        (None, (False, False), "Nothing()"),
        (False, (False, False), "Nothing()"),
        ([nn.Param, "cache"], (True, True), "Any(OfType(Param), WithTag('cache'))"),
        ((), (False, False), "Any()"),
        (filters.Not(nn.Param), (False, True), "Not(OfType(Param))"),
        (filters.All(nn.Variable, "cache"), (False, True), None),
        (filters.PathContains("a"), (True, True), "PathContains('a')"),
        (filters.PathContains(0), (False, False), "PathContains(0)"),
        (
            filters.PathContains("a", exact=False),
            (True, True),
            "PathContains('a', exact=False)",
        ),
        (filters.PathIn(("a",), ("b", 0)), (True, True), "PathIn(('a',), ('b', 0))"),
    ],
)
def test_filters(filter, found, text):
    """Each form, what it means, and how it prints, compares and hashes."""
    meant = filters.predicate(filter)
    assert (meant(("a",), PARAM), meant(("a",), CACHE)) == found
    assert text is None or repr(meant) == text
    assert meant == filters.predicate(filter)
    assert hash(meant) == hash(filters.predicate(filter))
    assert pickle.loads(pickle.dumps(meant)) == meant


def test_bad_filters():
    """A bad filter is named; what comes after `...` would get nothing."""
    with pytest.raises(TypeError, match=r"not a filter: 3 \(int\)"):
        filters.predicate(3)
    with pytest.raises(TypeError, match="not a filter"):
        nn.state(nn.List(), {"a": 1})
    with pytest.raises(ValueError, match="matches everything, so later filters"):
        nn.split(nn.List(), ..., nn.Param)
    assert filters.PathIn(("a",)) != filters.PathIn(("b",))
    assert filters.PathContains(1) != filters.PathContains("1")


def make():
    return nn.State({"a": {0: nn.Param(1.0), "x": 2}, "b": 3})


def test_a_state_is_a_nested_mapping():
    """Items and attributes; mappings inside share their storage."""
    state = make()
    inner = state["a"]
    inner.x = 5
    inner["new"] = {"deep": 1}
    assert (state.a.x, state.a.new.deep, len(state), [*state]) == (5, 1, 2, ["a", "b"])
    del state.a.new
    del state["b"]
    assert [*state] == ["a"]
    with pytest.raises(KeyError, match="no item 'c'; there are: 'a'"):
        state["c"]
    with pytest.raises(KeyError, match="no item '0'; did you mean 0"):
        state.a["0"]
    with pytest.raises(AttributeError, match="no item 'nothing'"):
        _ = state.nothing
    with pytest.raises(KeyError):
        del state["c"]
    with pytest.raises(AttributeError):
        del state.c
    with pytest.raises(AttributeError, match="a reserved name of State"):
        state.items = 1
    with pytest.raises(TypeError, match="unhashable"):
        hash(state)


def test_operators_of_states():
    """Union, difference, equality by value and type."""
    state = make()
    assert (state | {"a": {"x": 9}, "c": 1}).a.x == 9
    assert (state - {"a": {"x": 0}}) == nn.State({"a": {0: nn.Param(1.0)}, "b": 3})
    assert state == make()
    for other in ({"a": {0: nn.Param(2.0), "x": 2}, "b": 3}, {"b": 3}, {}):
        assert state != nn.State(other)
    assert state != nn.State({"a": {0: nn.Cache(1.0), "x": 2}, "b": 3})
    assert nn.State({"a": 1}) != nn.State({"a": True})
    assert nn.State({0: 1}) != nn.State({"0": 1})
    assert nn.State({"a": np.ones(2)}) == nn.State({"a": np.ones(2)})
    assert (state == {"a": 1}) is False


def test_a_state_as_a_tree():
    """Sorted keys, also of mixed types; rebuilt as a state."""
    state = nn.State({"b": 1, 0: 2, "a": {"y": 3, 1: 4}})
    leaves, treedef = lw.tree_flatten(state)
    assert lw.tree_map(lambda x: x * 2, state) == nn.State(
        {"b": 2, 0: 4, "a": {"y": 6, 1: 8}}
    )
    assert [*treedef.unflatten(leaves)] == ["b", 0, "a"]
    assert pickle.loads(pickle.dumps(state)) == state
    again = copy.copy(state)
    again.a.y = 0
    assert state.a.y == 3
    assert copy.deepcopy(make()) == make()


def test_functions_on_states():
    """Flat and pure forms, filtering, splitting, mapping, merging."""
    state = make()
    flat = nn.to_flat_state(state)
    assert flat.paths == (("a", 0), ("a", "x"), ("b",))
    assert (len(flat), dict(flat)[("b",)], flat.leaves[2]) == (3, 3, 3)
    assert nn.from_flat_state(flat) == state
    assert nn.to_pure_dict(state) == {"a": {0: 1.0, "x": 2}, "b": 3}
    assert nn.filter_state(state, nn.Param) == nn.State({"a": {0: nn.Param(1.0)}})
    numbers, rest = nn.split_state(state, int, ...)
    assert nn.merge_state(rest, numbers) == state
    with pytest.raises(
        ValueError, match=r"no filter matches 1 of the values; .*\n  \('a', 0\): Param"
    ):
        nn.split_state(state, int)
    with pytest.raises(ValueError, match="at least one filter"):
        nn.filter_state(state)
    assert nn.map_state(lambda path, _: path, state).a.x == ("a", "x")
    for bad in ({("a",): 1, ("a", "b"): 2}, {("a", "b"): 2, ("a",): 1}, {(): 1}):
        with pytest.raises(ValueError, match="path"):
            nn.from_flat_state(bad)


def test_pure_dicts_and_back():
    """Checkpoints have texts for positions; a stranger is refused, and nothing set."""
    state = make()
    nn.replace_by_pure_dict(state, {"a": {"0": 7.0}, "b": 8})
    assert (state.a[0].value, state.b) == (7.0, 8)
    with pytest.raises(ValueError, match=r"at \('a', 'y'\): no item"):
        nn.replace_by_pure_dict(state, {"b": 0, "a": {"y": 1}})
    with pytest.raises(ValueError, match="no item"):
        nn.replace_by_pure_dict(state, {"b": 0, "a": 5})
    assert state.b == 8
    assert nn.restore_int_paths({"a": {"0": 1, "x1": 2}}) == {"a": {0: 1, "x1": 2}}
    odd = {"\N{ARABIC-INDIC DIGIT ONE}": 2, "\N{SUPERSCRIPT TWO}": 3}
    assert nn.restore_int_paths(odd) == odd
    both = nn.State({0: 1, "0": 2})
    assert nn.to_pure_dict(both) == {0: 1, "0": 2}
    nn.replace_by_pure_dict(both, {"0": 5})
    assert (both[0], both["0"]) == (1, 5)


def test_texts():
    """Nested by braces, integers without quotes; sizes beside the variables."""
    assert repr(make()) == "State({'a': {0: Param(value=1.0), 'x': 2}, 'b': 3})"
    state = nn.State({"a": {0: nn.Param(np.zeros((2, 3)))}, "b": 3})
    assert repr(state) == (
        "State({\n"
        "  'a': {\n"
        "    0: Param(value=f64[2,3])  # 6 (48 B)\n"
        "  },\n"
        "  'b': 3\n"
        "})"
    )
    assert repr(nn.State()) == "State()"


def test_a_treedef_of_a_state_can_be_kept():
    """In a pickle and as JSON."""
    treedef = lw.tree_structure([nn.State({"a": {0: nn.Param(1.0)}, "b": 2})])
    assert pickle.loads(pickle.dumps(treedef)) == treedef
    assert lw.PyTreeDef.from_json(treedef.to_json()) == treedef


@pytest.mark.parametrize("name", ["state.npz", "state.safetensors"])
def test_a_state_is_saved_and_loaded_without_options(tmp_path, name):
    """With its variables."""
    if name.endswith(".safetensors"):
        pytest.importorskip("safetensors")
    state = nn.State({"a": {0: nn.Param(np.ones(2))}, "b": nn.BatchStat(np.ones(1))})
    lw.save(tmp_path / name, state)
    assert lw.load(tmp_path / name) == state


def in_two_orders():
    """Two states with the same items that stand in another order, and nested so."""
    first = nn.State({"w": 1.0, "b": {"y": 2.0, "x": 3.0}})
    second = nn.State({"b": {"x": 30.0, "y": 20.0}, "w": 10.0})
    return first, second


def test_leaves_of_a_state_stand_as_assigned():
    """Nested ones too, and a rebuilt state keeps the order."""
    first, second = in_two_orders()
    assert lw.tree_leaves(first) == [1.0, 2.0, 3.0]
    assert lw.tree_leaves(second) == [30.0, 20.0, 10.0]
    assert [str(path) for path in lw.tree_paths(first)] == [
        "['w']",
        "['b']['y']",
        "['b']['x']",
    ]
    leaves, treedef = lw.tree_flatten(first)
    rebuilt = treedef.unflatten(leaves)
    assert list(rebuilt) == ["w", "b"]
    assert list(rebuilt.b) == ["y", "x"]
    assert type(rebuilt.to_pure_dict()["b"]) is dict
    assert repr(first) == "State({'w': 1.0, 'b': {'y': 2.0, 'x': 3.0}})"


def test_states_in_another_order_are_equal_and_pair_by_key():
    """The order of the first one is that of the result."""
    first, second = in_two_orders()
    assert first == nn.State({"b": {"x": 3.0, "y": 2.0}, "w": 1.0})
    assert first != second
    total = lw.tree_map(lambda x, y: x + y, first, second)
    assert total.to_pure_dict() == {"w": 11.0, "b": {"y": 22.0, "x": 33.0}}
    assert list(total) == ["w", "b"]
    with pytest.raises(lw.errors.StructureError):
        lw.tree_map(lambda x, y: x + y, first, nn.State({"w": 1.0, "c": 2.0}))


def test_a_nested_state_is_one_object():
    """Each access returns it; a mapping that is assigned is copied into a new one."""
    inner = {"x": 1}
    state = nn.State({"a": inner})
    assert state.a is state["a"] is dict(state.items())["a"]
    state.a.x = 2
    assert inner == {"x": 1}
    state["b"] = state.a
    state.b.x = 3
    assert state.to_pure_dict() == {"a": {"x": 3}, "b": {"x": 3}}


def test_a_map_may_put_mappings_in_place_of_values():
    """They are nested states like all others."""
    state = lw.tree_map(lambda x: {"y": x, "x": -x}, nn.State({"a": {"w": 1}}))
    assert state.a.w.x == -1
    assert state.to_flat_state().paths == (("a", "w", "y"), ("a", "w", "x"))
    assert lw.tree_leaves(state) == [1, -1]
