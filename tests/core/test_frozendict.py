"""`frozendict` of Python 3.15 is a node as `dict` is; it needed one line of code."""

import builtins
import copy
import json
import pickle
from collections import OrderedDict, defaultdict

import pytest

import leafwise as lw


frozendict = getattr(builtins, "frozendict", None)
pytestmark = pytest.mark.skipif(
    frozendict is None, reason="frozendict is not on this Python"
)


@pytest.fixture
def tree():
    return frozendict(b=1, a=[2, frozendict(c=3)])


def times_ten(x):
    return x * 10


def test_leaves_come_in_sorted_order_and_the_order_of_insertion_is_kept(tree):
    """As those of a dict."""
    leaves, treedef = lw.tree_flatten(tree)
    assert leaves == [2, 3, 1]
    assert str(treedef) == (
        "PyTreeDef(frozendict({'a': [*, frozendict({'c': *})], 'b': *}))"
    )
    assert [str(path) for path in lw.tree_paths(tree)] == [
        "['a'][0]",
        "['a'][1]['c']",
        "['b']",
    ]
    result = lw.tree_map(times_ten, tree)
    assert result == frozendict(b=10, a=[20, frozendict(c=30)])
    assert list(result) == ["b", "a"]
    assert type(result) is type(result["a"][1]) is frozendict


@pytest.mark.parametrize(
    "kind",
    [
        dict,
        OrderedDict,
        pytest.param(lambda items: defaultdict(int, items), id="defaultdict"),
    ],
)
def test_it_is_paired_with_other_dicts_by_key(kind):
    """The first tree decides the type; treedefs are different."""
    one = frozendict(b=1, a=2)
    other = kind({"a": 20, "b": 10})
    result = lw.tree_map(max, one, other)
    assert result == frozendict(b=10, a=20)
    assert type(result) is frozendict
    assert lw.tree_map(max, other, one) == other
    assert lw.tree_structure(one) != lw.tree_structure(other)


def test_the_order_of_insertion_is_no_structure_unless_asked_for():
    """A namespace may walk it as inserted."""
    one = frozendict(b=1, a=2)
    other = frozendict(a=2, b=1)
    assert lw.tree_structure(one) == lw.tree_structure(other)
    assert hash(lw.tree_structure(one)) == hash(lw.tree_structure(other))
    app = lw.namespace("frozen-insertion", dict_order="insertion")
    assert app.tree_leaves(one) == [1, 2]


def test_edits_diffs_and_merges_keep_the_type(tree):
    """Values are set, added and taken away."""
    edited = [
        lw.at(tree)["a[1].c"].set(4),
        lw.at(tree)["z"].insert(9),
        lw.at(tree)["b"].delete(),
        lw.tree_merge(tree, {"a": [7]}),
    ]
    assert edited == [
        frozendict(b=1, a=[2, frozendict(c=4)]),
        frozendict(b=1, a=[2, frozendict(c=3)], z=9),
        frozendict(a=[2, frozendict(c=3)]),
        frozendict(b=1, a=[7]),
    ]
    assert {type(node) for node in edited} == {frozendict}
    diff = lw.tree_diff(tree, edited[0])
    assert [str(change.path) for change in diff] == ["['a'][1]['c']"]
    assert diff.apply(tree) == edited[0]


def test_errors_name_its_keys():
    """As those of a dict."""
    with pytest.raises(lw.StructureError) as caught:
        lw.tree_map(max, frozendict(a=1, b=2), frozendict(a=1, c=2))
    assert str(caught.value.differences[0]) == (
        "at the root: expected frozendict with keys 'a', 'b', got frozendict with "
        "keys 'a', 'c' (missing 'b'; extra 'c')"
    )


def test_its_treedef_is_written_down(tree):
    """As JSON, as a pickle and as a copy."""
    treedef = lw.tree_structure(tree)
    assert json.loads(treedef.to_json())["nodes"][-1][1] == "frozendict"
    for again in (
        lw.PyTreeDef.from_json(treedef.to_json()),
        pickle.loads(pickle.dumps(treedef)),
        copy.deepcopy(treedef),
        lw.PyTreeDef.from_node_data(treedef.node_data(), treedef.children()),
    ):
        assert again == treedef
        assert again.unflatten([2, 3, 1]) == tree


@pytest.mark.parametrize("size", [0, 1, 3, 40, 300])
def test_the_engine_writes_it_out(size):
    """It does not call the node type to read one."""
    engine = pytest.importorskip("leafwise.engine")
    tree = frozendict({f"k{-number}": [number] for number in range(size)})
    with engine.eager():
        for _ in range(3):
            result = lw.tree_map(times_ten, tree)
            pairs = lw.tree_map(max, tree, result)
        source = engine.source(lw.tree_structure(tree))
    assert result == frozendict({key: [x * 10] for key, [x] in tree.items()})
    assert pairs == result
    assert list(result) == list(tree)
    assert "flatten of" not in source
    with engine.eager():
        others = [{**tree}, frozendict({**tree, "more": 1})]
        for other in others:
            assert lw.tree_structure(other) != lw.tree_structure(tree)


def test_as_a_leaf_it_is_compared_by_its_items():
    """Where it is declared to be one."""
    one = [frozendict(a=float("nan"))]
    other = [frozendict(a=float("nan"))]
    assert lw.tree_equal(one, other, is_leaf=frozendict)
    assert not lw.tree_equal(one, other, is_leaf=frozendict, equal_nan=False)
    prints = [
        lw.fingerprint([frozendict(items)], is_leaf=frozendict)
        for items in ({"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 1, "b": 3})
    ]
    assert prints[0] == prints[1] != prints[2]
