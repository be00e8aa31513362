"""The specification: what flatten, unflatten and their companions mean.

Each function is a plain recursion, so trees may not be deep, and errors have no paths.
`walk` and the engine do the same faster, and to any depth; tests compare them with
these functions. torch's compiler traces them, since they cache and count nothing.

A structure is None for a leaf, and `(node_type, aux data, structures of the children)`
for a node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from .keypath import KeyPath
from .registry import View
from .walk import Code, Step


Structure: TypeAlias = "tuple[Any, Any, list[Structure]] | None"


def flatten(
    tree: Any,
    view: View,
    is_leaf: Callable[[KeyPath, Any], object] | None = None,
    path: tuple[Any, ...] = (),
) -> tuple[list[Any], Structure]:
    """Return the leaves of a tree, left to right, and its structure."""
    if is_leaf is not None and is_leaf(KeyPath(path), tree):
        return [tree], None
    node_type = view.find(type(tree))
    if node_type is None:
        return [tree], None
    children, aux = node_type.flatten(tree)
    keys = children  # the path is for the predicate only
    if is_leaf is not None:
        keys = node_type.keys(aux, len(children))
    leaves: list[Any] = []
    structures: list[Structure] = []
    for key, child in zip(keys, children, strict=True):
        child_leaves, structure = flatten(child, view, is_leaf, (*path, key))
        leaves += child_leaves
        structures.append(structure)
    return leaves, (node_type, aux, structures)


def unflatten(
    structure: Structure,
    leaves: Iterator[Any],
) -> Any:
    """Return the tree of a structure with the next leaves of an iterator."""
    if structure is None:
        return next(leaves)
    node_type, aux, structures = structure
    children = [unflatten(child, leaves) for child in structures]
    return node_type.unflatten(aux, children)


def flatten_up_to(
    structure: Structure,
    tree: Any,
) -> list[Any] | None:
    """Return what a tree has at the leaves of a structure, None if it differs."""
    if structure is None:
        return [tree]
    node_type, aux, structures = structure
    children = node_type.match(aux, len(structures), tree)
    if children is None:
        return None
    subtrees: list[Any] = []
    for child_structure, child in zip(structures, children, strict=True):
        child_subtrees = flatten_up_to(child_structure, child)
        if child_subtrees is None:
            return None
        subtrees += child_subtrees
    return subtrees


def leaf_paths(
    structure: Structure,
    path: tuple[Any, ...] = (),
) -> list[KeyPath]:
    """Return the key path of each leaf, from left to right."""
    if structure is None:
        return [KeyPath(path)]
    node_type, aux, structures = structure
    keys = node_type.keys(aux, len(structures))
    paths: list[KeyPath] = []
    for key, child in zip(keys, structures, strict=True):
        paths += leaf_paths(child, (*path, key))
    return paths


def map_tree(
    function: Callable[[Any], Any],
    tree: Any,
    view: View,
) -> Any:
    """Call a function on each leaf and return the results in the same structure."""
    leaves, structure = flatten(tree, view)
    results = [function(leaf) for leaf in leaves]
    return unflatten(structure, iter(results))


# ------------------------------------------------------------- structures and codes


def steps_of(structure: Structure) -> list[Step]:
    """Return the nodes and leaves of a structure in post-order."""
    if structure is None:
        return [None]
    node_type, aux, structures = structure
    steps: list[Step] = []
    for child in structures:
        steps += steps_of(child)
    steps.append((node_type, len(structures), aux))
    return steps


def structure_of(code: Code) -> Structure:
    """Return the structure that a code describes."""
    stack: list[Structure] = []
    for run, node_type, arity, aux in code:
        stack += [None] * run
        first = len(stack) - arity
        structures = stack[first:]
        del stack[first:]
        stack.append((node_type, aux, structures))
    if not stack:
        return None
    return stack[0]
