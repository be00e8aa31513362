"""The laws of the design, as properties of random trees."""

import copy
import pickle
from collections import OrderedDict, defaultdict
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import leafwise as lw
from helpers.random_trees import Box, Color, Layer, common_trees, keys, leaves, trees


pytestmark = pytest.mark.usefixtures("sampling")


both_modes = st.booleans()


def plain(tree: Any) -> str:
    """Return a text that shows types, values and dict orders."""
    return repr(tree)


@given(trees(), both_modes)
def test_unflatten_undoes_flatten(tree, none_is_leaf):
    """A tree that is taken apart and put together is the same, orders included."""
    leaves, treedef = lw.tree_flatten(tree, none_is_leaf=none_is_leaf)
    assert plain(lw.tree_unflatten(treedef, leaves)) == plain(tree)
    assert len(leaves) == treedef.num_leaves


@given(trees(), both_modes)
def test_any_object_may_stand_at_a_leaf(tree, none_is_leaf):
    """Rebuilding with opaque objects gives a tree of the same structure."""
    leaves, treedef = lw.tree_flatten(tree, none_is_leaf=none_is_leaf)
    marks = [object() for _ in leaves]
    rebuilt = lw.tree_unflatten(treedef, marks)
    again, same = lw.tree_flatten(rebuilt, none_is_leaf=none_is_leaf)
    assert again == marks
    assert same == treedef
    assert hash(same) == hash(treedef)


@given(trees())
def test_map_of_the_identity_changes_nothing(tree):
    """Mapping the identity gives an equal tree, with the same dict orders."""
    assert plain(lw.tree_map(lambda x: x, tree)) == plain(tree)


@given(trees())
def test_map_composes(tree):
    """Mapping twice is mapping the composition."""
    once = lw.tree_map(lambda x: (repr(x),).__hash__(), lw.tree_map(repr, tree))
    assert plain(once) == plain(
        lw.tree_map(lambda x: (repr(repr(x)),).__hash__(), tree)
    )


@given(trees())
def test_map_calls_in_leaf_order(tree):
    """The mapped function meets the leaves in the order of `tree_leaves`."""
    one = []
    two = []
    lw.tree_map(one.append, tree)
    lw.tree_map(lambda x, _: two.append(x), tree, tree)
    expected = list(map(id, lw.tree_leaves(tree)))
    assert list(map(id, one)) == expected
    assert list(map(id, two)) == expected


@given(trees(), both_modes)
def test_all_ways_of_walking_agree(tree, none_is_leaf):
    """Recursion, explicit stack, iterator and map see the same tree."""
    options: dict[str, Any] = {"none_is_leaf": none_is_leaf}
    leaves, treedef = lw.tree_flatten(tree, **options)
    deep, same = lw.tree_flatten(tree, is_leaf=lambda _: False, **options)
    assert same == treedef
    assert list(map(id, deep)) == list(map(id, leaves))
    assert list(map(id, lw.tree.iter(tree, **options))) == list(map(id, leaves))
    fast = lw.tree_map(repr, tree, **options)
    slow = lw.tree_map(repr, tree, is_leaf=lambda _: False, **options)
    assert plain(fast) == plain(slow)


def permuted(tree: Any, draw: Any) -> Any:
    """Return an equal tree whose dicts were filled in another order."""
    if type(tree) in (dict, defaultdict):
        order = draw(st.permutations(list(tree)))
        items = [(key, permuted(tree[key], draw)) for key in order]
        if type(tree) is dict:
            return dict(items)
        return defaultdict(tree.default_factory, items)
    if type(tree) in (list, tuple):
        return type(tree)(permuted(item, draw) for item in tree)
    return tree


@given(common_trees(), st.data())
def test_equal_dicts_have_equal_treedefs_and_keep_their_own_order(tree, data):
    """The order of insertion is no structure, and is never lost."""
    other = permuted(tree, data.draw)
    treedef = lw.tree_structure(tree)
    same = lw.tree_structure(other)
    assert treedef == same
    assert hash(treedef) == hash(same)
    assert repr(treedef) == repr(same)
    assert plain(lw.tree_map(lambda x: x, other)) == plain(other)
    assert lw.tree_leaves(tree) == lw.tree_leaves(other)


@given(st.dictionaries(keys, leaves, max_size=6), st.data())
def test_keys_of_any_kind_never_raise(tree, data):
    """Mixed, unordered and Enum keys are walked, and equal dicts map together."""
    other = permuted(tree, data.draw)
    assert plain(lw.tree_map(lambda x: x, tree)) == plain(tree)
    pairs = lw.tree_map(lambda x, y: (x, y), tree, other)
    assert all(pairs[key] == (tree[key], tree[key]) for key in tree)
    leaves_, treedef = lw.tree_flatten(tree)
    assert sorted(map(repr, leaves_)) == sorted(map(repr, tree.values()))
    again = pickle.loads(pickle.dumps(treedef))
    assert repr(again) == repr(treedef)
    assert (again == treedef) is all(key == key for key in tree)


@given(
    st.dictionaries(
        st.one_of(st.text(max_size=2), st.integers(), st.booleans(), st.none()),
        leaves,
        max_size=6,
    ),
    st.data(),
)
def test_mixed_keys_with_an_order_in_each_type_are_order_free(tree, data):
    """Keys that sort within their types give a structure free of insertion order."""
    other = permuted(tree, data.draw)
    assert lw.tree_structure(tree) == lw.tree_structure(other)
    assert lw.tree_leaves(tree) == lw.tree_leaves(other)


@given(st.permutations(list(Color)))
def test_enum_keys_follow_their_definition(order):
    """Enum keys are walked in the order in which the class defines them."""
    tree = {key: key.name for key in order}
    assert lw.tree_leaves(tree) == ["RED", "GREEN", "BLUE"]


@given(trees(), both_modes)
def test_treedefs_survive_pickle_and_copies(tree, none_is_leaf):
    """Pickle, copy and deepcopy give an equal treedef with the same hash."""
    treedef = lw.tree_structure(tree, none_is_leaf=none_is_leaf)
    assume("nan" not in repr(treedef))  # a NaN is the same as itself only
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(treedef, protocol))
        assert again == treedef
        assert hash(again) == hash(treedef)
        assert repr(again) == repr(treedef)
    assert copy.copy(treedef) == treedef
    assert copy.deepcopy(treedef) == treedef


@given(trees())
def test_children_make_up_the_whole(tree):
    """The treedefs of the children have all the leaves and nodes but the root."""
    treedef = lw.tree_structure(tree)
    parts = treedef.children()
    assert len(parts) == treedef.num_children
    assert parts == [lw.tree_structure(child) for child in lw.tree.children(tree)]
    if not treedef.is_leaf():
        assert sum(part.num_leaves for part in parts) == treedef.num_leaves
        assert sum(part.num_nodes for part in parts) == treedef.num_nodes - 1


@given(st.lists(trees(8), max_size=4).map(tuple))
def test_a_tuple_is_the_tuple_of_its_children(tree):
    """`treedef_tuple` undoes `children`."""
    treedef = lw.tree_structure(tree)
    assert lw.tree.treedef_tuple(treedef.children()) == treedef


@given(trees(10), trees(10))
def test_compose_is_nesting(outer, inner):
    """Composing treedefs is putting the inner tree at each leaf of the outer."""
    composed = lw.tree_structure(outer).compose(lw.tree_structure(inner))
    assert composed == lw.tree_structure(lw.tree_map(lambda _: inner, outer))


@given(trees(), trees(4))
def test_flatten_up_to_finds_what_stands_at_the_leaves(tree, deeper):
    """A deeper tree gives its subtrees where the structure has leaves."""
    treedef = lw.tree_structure(tree)
    subtrees = treedef.flatten_up_to(lw.tree_map(lambda _: deeper, tree))
    assert all(subtree is deeper for subtree in subtrees)
    assert len(subtrees) == treedef.num_leaves


@given(trees(), trees())
def test_equality_is_an_equivalence_that_agrees_with_hash_and_pairing(a, b):
    """Equal treedefs hash alike and pair; different ones say so without raising."""
    first = lw.tree_structure(a)
    second = lw.tree_structure(b)
    assert (first == second) is (second == first)
    assert (first != second) is not (first == second)
    if first == second:
        assert hash(first) == hash(second)
        assert first.flatten_up_to(b) == lw.tree_leaves(b)


def failure(a: Any, b: Any) -> Any:
    """Return the error of mapping two trees, if there is one."""
    try:
        lw.tree_map(lambda *_: None, a, b)
    except lw.StructureError as error:
        return error
    return None


@given(trees(), trees())
def test_a_failed_pairing_always_has_a_difference_with_a_path(a, b):
    """Whenever two trees do not map together, the error names a place."""
    error = failure(a, b)
    if error is not None:
        assert error.differences
        assert error.path == error.differences[0].path
        assert error.expected != error.actual
        assert error.tree_index == 1


@given(trees())
def test_paths_are_as_many_as_leaves_and_all_different(tree):
    """Each leaf has a path of its own."""
    paths = lw.tree_paths(tree)
    assert len(paths) == len(lw.tree_leaves(tree))
    assert len(set(paths)) == len(paths)


@given(trees())
def test_none_mode_is_part_of_the_structure(tree):
    """Treedefs of the two None modes are never equal."""
    assert lw.tree_structure(tree) != lw.tree_structure(tree, none_is_leaf=True)


@given(trees())
def test_equality_of_trees_is_reflexive(tree):
    """A tree equals its rebuilt copy."""
    assert lw.tree_equal(tree, lw.tree_map(lambda x: x, tree))


def test_the_classes_of_the_strategies_are_nodes():
    """The random trees do hold dataclasses, registered classes and ordered dicts."""
    tree = [Layer(1, Box(2, 3)), OrderedDict(a=4)]
    assert lw.tree_leaves(tree) == [1, 2, 3, 4]
