"""The same calls on torch's pytree module, under its own rules.

There None is a leaf and dicts are walked as inserted, which is what a namespace with
`dict_order="insertion"` and `none_is_leaf=True` does here.
"""

from typing import Any

import torch.utils._pytree as torch_tree

import leafwise as lw

from .peers import (
    CLASSES,
    DEFAULTDICT,
    DEQUE,
    MAPPINGS,
    SEQUENCES,
    Box,
    Calls,
    Record,
    is_pair,
    pair_of,
    result,
    trees_of,
)
from .runner import Round
from .tell import told


AS_TORCH = "fuzz-torch"
OPTIONS: dict[str, Any] = {"none_is_leaf": True, "namespace": AS_TORCH}
lw.namespace(AS_TORCH, dict_order="insertion")
torch_tree.register_pytree_node(
    Box, lambda box: (box.kids, box.aux), lambda kids, aux: Box(kids, aux)
)
torch_tree.register_pytree_node(
    Record,
    lambda node: ([node.x, node.y], node.tag),
    lambda kids, tag: Record(*kids, tag),
)


def play(one: Round) -> None:
    """Compare some calls on two trees."""
    trees = trees_of(one, SEQUENCES, MAPPINGS, DEFAULTDICT, DEQUE, CLASSES)
    tree, other = pair_of(one, trees)
    for check in one.random.sample(CHECKS, 3):
        one.step(check.__name__)
        check(one, tree, other)


def flatten(one: Round, tree: Any, other: Any) -> None:
    """Leaves, counts; and back."""
    leaves, spec = torch_tree.tree_flatten(tree)
    ours, treedef = lw.tree_flatten(tree, **OPTIONS)
    one.same("leaves", [*map(id, leaves)], [*map(id, ours)])
    one.same("iterator", [*map(id, torch_tree.tree_iter(tree))], [*map(id, ours)])
    counts = treedef.num_leaves, treedef.num_nodes, treedef.num_children
    theirs = spec.num_leaves, spec.num_nodes, spec.num_children
    one.same("counts", theirs, counts)
    marks = [*range(len(leaves))]
    built = told(torch_tree.tree_unflatten(marks, spec))
    one.same("unflatten", built, told(lw.tree_unflatten(treedef, marks)))


def stops(one: Round, tree: Any, other: Any) -> None:
    """A predicate stops at the same nodes."""
    theirs = torch_tree.tree_leaves(tree, is_leaf=is_pair)
    ours = lw.tree_leaves(tree, is_leaf=is_pair, **OPTIONS)
    one.same("leaves with is_leaf", [*map(id, theirs)], [*map(id, ours)])
    expected = told(torch_tree.tree_map(repr, tree, is_leaf=is_pair))
    one.same(
        "mapped", expected, told(lw.tree_map(repr, tree, is_leaf=is_pair, **OPTIONS))
    )


def maps(one: Round, tree: Any, other: Any) -> None:
    """One tree, two of them, leaves of a type; and all and any."""
    expected = told(torch_tree.tree_map(repr, tree))
    one.same("map", expected, told(lw.tree_map(repr, tree, **OPTIONS)))
    theirs, ours = Calls(), Calls()
    expected = result(torch_tree.tree_map, theirs, tree, other)
    found = result(lw.tree_map, ours, tree, other, **OPTIONS)
    one.same("map of two", expected, found)
    if expected != "an error":
        one.same("calls", theirs.seen, ours.seen)
    expected = told(torch_tree.tree_map_only(str, str.upper, tree))
    one.same(
        "map_only", expected, told(lw.tree_map_only(str, str.upper, tree, **OPTIONS))
    )
    truth = lw.tree_map(bool, tree, **OPTIONS)
    one.same("all", torch_tree.tree_all(bool, tree), lw.tree_all(truth, **OPTIONS))
    one.same("any", torch_tree.tree_any(bool, tree), lw.tree_any(truth, **OPTIONS))


def structures(one: Round, tree: Any, other: Any) -> None:
    """Whether two trees are of one structure."""
    expected = torch_tree.tree_structure(tree) == torch_tree.tree_structure(other)
    treedefs = [lw.tree_structure(node, **OPTIONS) for node in (tree, other)]
    one.same("==", expected, treedefs[0] == treedefs[1])


CHECKS = (flatten, stops, maps, structures)
