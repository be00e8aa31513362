"""Laws of prefixes, suffixes, broadcasting, transposing and visiting."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import leafwise as lw
from helpers import confusable_trees
from helpers.random_trees import common_trees, every_tree, trees


pytestmark = pytest.mark.usefixtures("sampling")


structures = trees(8).map(lw.tree_structure)


@st.composite
def prefix_and_full(draw):
    """Return a tree and a tree that goes deeper at its leaves."""
    prefix = draw(trees(8))
    treedef = lw.tree_structure(prefix)
    some = draw(st.lists(trees(4), min_size=3, max_size=3))
    count = treedef.num_leaves
    places = draw(st.lists(st.sampled_from(range(3)), min_size=count, max_size=count))
    return prefix, treedef.unflatten([some[place] for place in places])


@given(prefix_and_full())
def test_broadcasting_and_flattening_up_to_agree(pair):
    """A leaf is repeated for each leaf of the subtree that it covers."""
    prefix, full = pair
    leaves, treedef = lw.tree_flatten(prefix)
    subtrees = treedef.flatten_up_to(full)
    expected = [
        leaf
        for leaf, subtree in zip(leaves, subtrees, strict=True)
        for _ in lw.tree_leaves(subtree)
    ]
    assert list(map(id, lw.tree.broadcast_leaves(prefix, full))) == list(
        map(id, expected)
    )
    spread = lw.tree_broadcast_prefix(prefix, full)
    assert lw.tree_structure(spread) == lw.tree_structure(full)
    assert list(map(id, lw.tree_leaves(spread))) == list(map(id, expected))
    assert lw.tree.prefix_errors(prefix, full) == []


@given(trees(8), trees(8))
def test_prefix_order_is_what_flatten_up_to_accepts(a, b):
    """`a <= b` exactly when the structure of a accepts the tree b."""
    first = lw.tree_structure(a)
    second = lw.tree_structure(b)
    try:
        first.flatten_up_to(b)
        accepted = True
    except lw.StructureError:
        accepted = False
    assert (first <= second) is accepted
    assert (second >= first) is accepted
    assert (lw.tree.prefix_errors(a, b) == []) is accepted
    assert (first < second) is (accepted and first.num_nodes != second.num_nodes) or (
        first.num_nodes == second.num_nodes
    )


@given(prefix_and_full())
def test_a_deeper_tree_is_a_suffix(pair):
    """Growing at the leaves only makes larger."""
    first, second = map(lw.tree_structure, pair)
    assert first <= second
    assert first.is_prefix(second)
    assert second >= first
    assert not first < first


@given(structures, structures)
def test_the_common_suffix_is_an_upper_bound(a, b):
    """Both are prefixes of their common suffix, and it is no deeper than needed."""
    common = a.common_suffix(b)
    if common is None:
        assert not a <= b
        assert not b <= a
        return
    assert a <= common
    assert b <= common
    if a <= b:
        assert common.num_nodes == b.num_nodes


@given(trees(8), trees(8))
def test_broadcasting_both_ways(a, b):
    """Two trees with a common suffix grow to it; others are refused with a place."""
    common = lw.tree_structure(a).common_suffix(lw.tree_structure(b))
    try:
        one, other = lw.tree.broadcast_common(a, b)
    except lw.StructureError as error:
        assert common is None
        assert error.differences  # noqa: PT017
        return
    assert lw.tree_structure(one) == common
    assert common <= lw.tree_structure(other)
    pairs = lw.tree.broadcast_map(lambda x, y: ["leaf", x, y], a, b)
    assert common <= lw.tree_structure(pairs)


@given(trees(8), trees(8))
def test_explain_is_empty_exactly_for_equal_structures(a, b):
    """No difference means equal, and the other way round."""
    first = lw.tree_structure(a)
    second = lw.tree_structure(b)
    assert (first.explain(second) == []) is (first == second)
    assert (lw.tree.equality_errors(a, b) == []) is (first == second)
    assert first.explain(a) == []


@given(structures, structures)
def test_transposing_twice_is_the_identity(outer, inner):
    """Inside out and inside out again is where it began."""
    composed = outer.compose(inner)
    tree = composed.unflatten(list(range(composed.num_leaves)))
    once = lw.tree_transpose(outer, inner, tree)
    assert lw.tree_structure(once) == inner.compose(outer)
    if composed.num_leaves:
        twice = lw.tree_transpose(inner, outer, once)
        assert repr(twice) == repr(tree)


@given(structures)
def test_a_fold_with_nothing_to_do(treedef):
    """Without functions, it builds."""
    leaves = list(range(treedef.num_leaves))
    built = repr(treedef.unflatten(leaves))
    assert repr(treedef.walk(leaves)) == built


@given(structures)
def test_the_root_and_its_children_make_up_the_whole(treedef):
    """They are enough to build the structure again."""
    again = lw.PyTreeDef.from_node_data(treedef.node_data(), treedef.children())
    assert again == treedef
    firsts = {path[:1] for path in treedef.paths()}
    assert firsts - {()} <= {(key,) for key in treedef.entries()}


@given(trees())
def test_paths_of_a_treedef_are_those_of_the_tree(tree):
    """A structure knows the paths of its leaves without the tree."""
    assert lw.tree_structure(tree).paths() == lw.tree_paths(tree)


@given(trees())
def test_visiting_without_visitors_gives_the_very_tree(tree):
    """Nothing changes, so nothing is built."""
    assert lw.tree_visit(tree) is tree
    assert lw.tree_visit(tree, lambda n, p, q: n, lambda n, p, q: n) is tree


@given(trees())
def test_walks_meet_every_node_once(tree):
    """Both directions yield all nodes; their leaves are those of the tree."""
    down = list(lw.tree_walk(tree))
    up = list(lw.tree_walk(tree, bottom_up=True))
    assert len(down) == len(up) == lw.tree_structure(tree).num_nodes
    assert down[0][1] is tree
    assert up[-1][1] is tree
    leaves = [(p, x) for p, x in down if lw.tree.is_leaf(x)]
    assert leaves == lw.tree_leaves_with_path(tree)
    assert set(map(str, (p for p, _ in down))) == set(map(str, (p for p, _ in up)))


@given(trees())
def test_a_visitor_of_leaves_is_a_map(tree):
    """Replacing each leaf from the top down is mapping."""

    def enter(node, path, parent):
        return repr(node) if lw.tree.is_leaf(node) else node

    assert repr(lw.tree_visit(tree, enter)) == repr(lw.tree_map(repr, tree))
    assert repr(lw.tree_visit(tree, None, enter)) == repr(lw.tree_map(repr, tree))


@given(common_trees())
def test_is_leaf_with_a_path(tree):
    """A predicate that takes the path sees the path of each node, in order."""
    paths = []

    def stop(path, node):
        paths.append((path, node))

    assert lw.tree_leaves(tree, stop, is_leaf_takes_path=True) == lw.tree_leaves(tree)
    assert paths == list(lw.tree_walk(tree))


@given(st.data(), confusable_trees.trees, confusable_trees.walks)
def test_all_that_compare_trees_agree(data, one, options):
    """Equal trees have no differences; whatever differs is told in two texts."""
    other = data.draw(
        confusable_trees.variants(one) | st.just(lw.tree_map(lambda x: x, one))
    )
    equal = lw.tree_equal(one, other, **options)
    assert lw.tree_equal(other, one, **options) is equal
    diff = lw.tree_diff(one, other, **options)
    assert bool(diff) is not equal
    assert bool(lw.tree_diff(other, one, **options)) is not equal
    assert str(diff)
    for change in diff:
        assert all(line.isprintable() for line in str(change).split("\n"))
    for difference in lw.tree.equality_errors(one, other, **options):
        assert difference.expected != difference.actual


@given(st.data(), every_tree())
def test_a_change_in_one_place_is_found_there(data, tree):
    """A leaf with another value is one change, and nothing else is."""
    places = lw.tree_leaves_with_path(tree)
    assume(places)
    path, leaf = data.draw(st.sampled_from(places))
    index = [place for place, _ in places].index(path)
    leaves, treedef = lw.tree_flatten(tree)
    changed = treedef.unflatten([*leaves[:index], f"{leaf!r}?", *leaves[index + 1 :]])
    diff = lw.tree_diff(tree, changed)
    assert [(change.path, change.kind) for change in diff] == [(path, "value")]
    lw.testing.assert_trees_equal(diff.apply(tree), changed)
