"""The same calls on `jax.tree_util`, on trees of the nodes that mean the same there."""

from collections.abc import Callable
from typing import Any

import jax.tree_util as jtu

import leafwise as lw

from .peers import (
    CLASSES,
    DEFAULTDICT,
    MAPPINGS,
    SEQUENCES,
    Box,
    Calls,
    Record,
    flatten_box,
    is_pair,
    make_box,
    pair_of,
    result,
    trees_of,
    unordered,
)
from .runner import Round
from .tell import told
from .trees import WORDED


jtu.register_pytree_node(Box, flatten_box, make_box)
jtu.register_dataclass(Record, data_fields=["x", "y"], meta_fields=["tag"])

SAME_MEANING = (SEQUENCES, {dict: WORDED}, CLASSES)
"""The nodes that pair in the same way; other dicts pair with dicts only here."""


def in_a_line(treedef: Any) -> str:
    """Return the text of a treedef as jax prints it: ours is laid out over lines."""
    text: str = treedef._text(None)
    return text


def play(one: Round) -> None:
    """Compare some calls on two trees."""
    everything = trees_of(one, SEQUENCES, MAPPINGS, DEFAULTDICT, CLASSES)
    tree, other = pair_of(one, everything)
    for check in one.random.sample(ALONE, 4):
        one.step(check.__name__)
        check(one, tree)
    one.step("equality")
    equal = jtu.tree_structure(tree) == jtu.tree_structure(other)
    one.same("==", equal, lw.tree_structure(tree) == lw.tree_structure(other))
    tree, other = pair_of(one, trees_of(one, *SAME_MEANING))
    for check in one.random.sample(TOGETHER, 3):
        one.step(check.__name__)
        check(one, tree, other)


# ----------------------------------------------------------------------- one tree


def flatten(one: Round, tree: Any) -> None:
    """Leaves, counts, text; and back."""
    leaves, spec = jtu.tree_flatten(tree)
    ours, treedef = lw.tree_flatten(tree)
    one.same("leaves", [*map(id, leaves)], [*map(id, ours)])
    one.same("leaves alone", [*map(id, leaves)], [*map(id, lw.tree_leaves(tree))])
    one.same("counts", _counts(spec), _counts(treedef))
    one.same("text", repr(spec), in_a_line(treedef))
    marks = [*range(len(leaves))]
    theirs = jtu.tree_unflatten(spec, marks)
    again = lw.tree_unflatten(treedef, marks)
    one.same("leaves of what is built", jtu.tree_leaves(theirs), lw.tree_leaves(again))
    one.same("its structure", spec, jtu.tree_structure(again))
    children = [*map(repr, spec.children())]
    one.same("children", children, [*map(in_a_line, treedef.children())])


def paths(one: Round, tree: Any) -> None:
    """Paths with leaves, as text in two ways."""
    theirs, ours = jtu.tree_leaves_with_path(tree), lw.tree_leaves_with_path(tree)
    for options in ({}, {"simple": True, "separator": "/"}):
        one.same(
            f"paths {options}",
            [(jtu.keystr(path, **options), id(leaf)) for path, leaf in theirs],
            [(lw.keystr(path, **options), id(leaf)) for path, leaf in ours],
        )
    mapped = jtu.tree_map_with_path(lambda path, _: jtu.keystr(path), tree)
    again = lw.tree_map_with_path(lambda path, _: lw.keystr(path), tree)
    one.same("mapped with path", jtu.tree_leaves(mapped), lw.tree_leaves(again))


def stops(one: Round, tree: Any) -> None:
    """A predicate is asked about the same nodes, and stops at the same ones."""
    asked: tuple[list[Any], list[Any]] = ([], [])

    def predicate(number: int) -> Callable[[Any], bool]:
        return lambda node: asked[number].append(told(node)) or is_pair(node)

    theirs = jtu.tree_leaves(tree, is_leaf=predicate(0))
    ours = lw.tree_leaves(tree, is_leaf=predicate(1))
    one.same("leaves with is_leaf", [*map(id, theirs)], [*map(id, ours)])
    one.same("what it was asked", *asked)
    spec = jtu.tree_structure(tree, is_leaf=is_pair)
    treedef = lw.tree_structure(tree, is_leaf=is_pair)
    one.same("text with is_leaf", repr(spec), in_a_line(treedef))
    theirs = jtu.tree_map(repr, tree, is_leaf=is_pair)
    ours = lw.tree_map(repr, tree, is_leaf=is_pair)
    one.same("mapped", jtu.tree_leaves(theirs), lw.tree_leaves(ours))


def folds(one: Round, tree: Any) -> None:
    """Folds meet the same values in the same order."""
    names = lw.tree_map(repr, tree)
    join = "({}{})".format
    one.same(
        "reduce", jtu.tree_reduce(join, names, ""), lw.tree_reduce(join, names, "")
    )
    one.same(
        "associative",
        jtu.tree_reduce_associative(join, names, identity=""),
        lw.tree.reduce_associative(join, names, identity=""),
    )
    one.same("all", jtu.tree_all(tree), lw.tree_all(tree))
    one.same(
        "all_leaves", jtu.all_leaves([tree, names]), lw.tree.all_leaves([tree, names])
    )


ALONE = (flatten, paths, stops, folds)


def _counts(treedef: Any) -> tuple[int, int]:
    return treedef.num_leaves, treedef.num_nodes


# ---------------------------------------------------------------------- two trees


def maps(one: Round, tree: Any, other: Any) -> None:
    """Two and three trees."""
    for given in ((tree, other), (tree, other, tree)):
        theirs, ours = Calls(), Calls()
        expected = result(jtu.tree_map, theirs, *given)
        found = result(lw.tree_map, ours, *given)
        one.same("map", unordered(expected), unordered(found))
        if expected != "an error":
            one.same("calls", theirs.seen, ours.seen)


def prefixes(one: Round, tree: Any, other: Any) -> None:
    """Flattening up to, and spreading."""
    spec, treedef = jtu.tree_structure(tree), lw.tree_structure(tree)
    expected = result(spec.flatten_up_to, other)
    one.same("flatten_up_to", expected, result(treedef.flatten_up_to, other))
    expected = result(jtu.tree_broadcast, tree, other)
    found = result(lw.tree_broadcast_prefix, tree, other)
    one.same("broadcast", unordered(expected), unordered(found))


def compositions(one: Round, tree: Any, other: Any) -> None:
    """Composing and transposing."""
    specs = [*map(jtu.tree_structure, (tree, other))]
    treedefs = [*map(lw.tree_structure, (tree, other))]
    composed, ours = specs[0].compose(specs[1]), treedefs[0].compose(treedefs[1])
    one.same("compose", repr(composed), in_a_line(ours))
    pair = repr(jtu.treedef_tuple(specs))
    one.same("treedef_tuple", pair, in_a_line(lw.tree.treedef_tuple(treedefs)))
    if all(treedef.num_leaves for treedef in treedefs):
        nested = composed.unflatten(range(composed.num_leaves))
        expected = result(jtu.tree_transpose, *specs, nested)
        found = result(lw.tree_transpose, *treedefs, nested)
        one.same("transpose", unordered(expected), unordered(found))


TOGETHER = (maps, prefixes, compositions)
