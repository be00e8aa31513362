"""The same calls on dm-tree, on sequences and dicts, where None is a leaf."""

from typing import Any

import tree as dm_tree

import leafwise as lw

from .peers import SEQUENCES, Calls, pair_of, result, trees_of
from .runner import Round
from .tell import told
from .trees import WORDED


SORTS = {**SEQUENCES, dict: WORDED}
OPTIONS: dict[str, Any] = {"none_is_leaf": True}


def play(one: Round) -> None:
    """Compare some calls on two trees."""
    tree, other = pair_of(one, trees_of(one, SORTS))
    for check in one.random.sample(CHECKS, 4):
        one.step(check.__name__)
        check(one, tree, other)


def flatten(one: Round, tree: Any, other: Any) -> None:
    """Leaves, paths; and back."""
    leaves = dm_tree.flatten(tree)
    ours, treedef = lw.tree_flatten(tree, **OPTIONS)
    one.same("leaves", [*map(id, leaves)], [*map(id, ours)])
    marks = [*range(len(leaves))]
    built = told(dm_tree.unflatten_as(tree, marks))
    one.same("unflatten", built, told(lw.tree_unflatten(treedef, marks)))
    theirs = [(path, id(leaf)) for path, leaf in dm_tree.flatten_with_path(tree)]
    pairs = lw.tree_leaves_with_path(tree, **OPTIONS)
    bare = [(tuple(map(_bare, path)), id(leaf)) for path, leaf in pairs]
    one.same("paths", theirs, bare)


def _bare(key: Any) -> Any:
    return getattr(key, key.__match_args__[0])


def maps(one: Round, tree: Any, other: Any) -> None:
    """One tree, two of them, and with paths; the function gives leaves."""
    expected = told(dm_tree.map_structure(repr, tree))
    one.same("map", expected, told(lw.tree_map(repr, tree, **OPTIONS)))
    theirs, ours = Calls(), Calls()
    expected = result(dm_tree.map_structure, theirs, tree, other)
    found = result(lw.tree_map, ours, tree, other, strict=True, **OPTIONS)
    one.same("map of two", expected, found)
    if expected != "an error":
        one.same("calls", theirs.seen, ours.seen)
    one.same(
        "map with path",
        told(dm_tree.map_structure_with_path(lambda path, _: repr(path), tree)),
        told(
            lw.tree_map_with_path(
                lambda path, _: repr(tuple(map(_bare, path))), tree, **OPTIONS
            )
        ),
    )


def structures(one: Round, tree: Any, other: Any) -> None:
    """Whether two trees are of one structure."""
    try:
        dm_tree.assert_same_structure(tree, other)
        expected = True
    except (ValueError, TypeError):
        expected = False
    treedefs = [lw.tree_structure(node, **OPTIONS) for node in (tree, other)]
    one.same("the same structure", expected, treedefs[0] == treedefs[1])
    one.same("is_nested", dm_tree.is_nested(tree), not lw.tree.is_leaf(tree, **OPTIONS))


def prefixes(one: Round, tree: Any, other: Any) -> None:
    """Up to the leaves of another tree; maps there do not look at lengths."""
    treedef = lw.tree_structure(tree, **OPTIONS)
    expected = result(dm_tree.flatten_up_to, tree, other)
    one.same("flatten_up_to", expected, result(treedef.flatten_up_to, other))
    if expected == "an error":
        return
    expected = result(dm_tree.map_structure_up_to, tree, repr, other)
    found = result(lambda: lw.tree_map(lambda _, x: repr(x), tree, other, **OPTIONS))
    one.same("map_structure_up_to", expected, found)


CHECKS = (flatten, maps, structures, prefixes)
