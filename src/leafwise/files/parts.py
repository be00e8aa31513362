"""Trees as parts: an object in several places is a part of its own, stored once.

These are objects and variables of `leafwise.nn`. Other nodes are values: what is in
two places of the tree is stored twice, but for its arrays.
"""

from __future__ import annotations

import graphlib
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from ..core.context import Context
from ..core.keypath import KeyPath
from ..core.treedef import PyTreeDef
from ..core.walk import read
from ..errors import TreeDefError


class Shared(NamedTuple):
    """Stands for an object in several places, which is a part of its own.

    Attributes:
        number: The number of the part.
    """

    number: int


class Part(NamedTuple):
    """A tree, or an object in several places of it.

    Attributes:
        path: The path from the root of the tree to its first place.
        leaves: Its leaves, with a `Shared` for each object that is a part itself.
        treedef: Its structure, with a leaf for each such object.
    """

    path: KeyPath
    leaves: list[Any]
    treedef: PyTreeDef


def leaves_with_paths(parts: Sequence[Part]) -> Iterator[tuple[KeyPath, Any]]:
    """Yield the leaves of all parts with their paths from the root of the tree."""
    for part in parts:
        paths = part.treedef.paths()
        for path, leaf in zip(paths, part.leaves, strict=True):
            yield part.path + path, leaf


def take_apart(tree: Any, context: Context) -> list[Part]:
    """Return a tree as parts, itself first.

    Raises:
        CycleError: The tree contains itself.
    """
    leaves, treedef = context.flatten(tree)  # raises if the tree contains itself
    shared_objects = _objects_in_several_places(tree, context)
    if not shared_objects:  # the usual case
        return [Part(KeyPath(), leaves, treedef)]
    numbers: dict[int, int] = {}
    roots: list[tuple[KeyPath, Any]] = [(KeyPath(), tree)]
    parts: list[Part] = []
    for path, root in roots:  # it grows while the parts are taken apart
        part = _part(path, root, shared_objects, context)
        for index, (leaf_path, leaf) in enumerate(leaves_with_paths([part])):
            if id(leaf) not in shared_objects:
                continue
            if id(leaf) not in numbers:
                numbers[id(leaf)] = len(roots)
                roots.append((leaf_path, leaf))
            part.leaves[index] = Shared(numbers[id(leaf)])
        parts.append(part)
    return parts


def _part(
    path: KeyPath,
    root: Any,
    shared_objects: dict[int, Any],
    context: Context,
) -> Part:
    """Return the part of an object, with the objects of other parts as leaves."""

    def is_other_part(node: Any) -> bool:
        return node is not root and id(node) in shared_objects

    leaves, treedef = context.also_stopping(is_other_part).flatten(root)
    return Part(path, leaves, treedef)


def _objects_in_several_places(tree: Any, context: Context) -> dict[int, Any]:
    """Return the objects that a tree has in several places, by their ids."""
    objects: dict[int, Any] = {}  # kept, or other objects could get their ids
    shared_objects: dict[int, Any] = {}

    def is_shared(node: Any) -> bool:
        """Stop at an object that was walked through before."""
        if id(node) in objects:
            shared_objects[id(node)] = node
            return True
        node_type = context.view.resolve(type(node))
        if node_type is not None and node_type.fill is not None:
            objects[id(node)] = node
        return False

    read(tree, context.view, is_leaf=is_shared)
    return shared_objects


def put_together(
    treedefs: Sequence[PyTreeDef],
    leaves: Sequence[Any],
    read_leaf: Callable[[Any], Any] = lambda leaf: leaf,
) -> Any:
    """Return the tree of parts.

    Args:
        treedefs: The structures of the parts.
        leaves: The leaves of all parts, in order.
        read_leaf: Returns the value of a leaf.

    Raises:
        TreeDefError: A part contains itself, or does not exist; or there are more or
            fewer leaves.
    """
    counts = [treedef.num_leaves for treedef in treedefs]
    if sum(counts) != len(leaves):
        raise TreeDefError("its number of leaves is not that of stored leaves")
    remaining_leaves = iter(leaves)
    rows = [list(islice(remaining_leaves, count)) for count in counts]
    objects: dict[int, Any] = {}
    for number in _inner_parts_first(rows):
        values = []
        for leaf in rows[number]:
            if type(leaf) is Shared:
                values.append(objects[leaf.number])
            else:
                values.append(read_leaf(leaf))
        objects[number] = treedefs[number].unflatten(values)
    return objects[0]


def _inner_parts_first(rows: Sequence[Sequence[Any]]) -> list[int]:
    """Return the numbers of parts, each after those of the parts inside it."""
    inner_parts: dict[int, list[int]] = {}
    for number, row in enumerate(rows):
        numbers = [leaf.number for leaf in row if type(leaf) is Shared]
        if not all(0 < inner < len(rows) for inner in numbers):
            raise TreeDefError("an object is not there")
        inner_parts[number] = numbers
    try:
        return list(graphlib.TopologicalSorter(inner_parts).static_order())
    except graphlib.CycleError:
        raise TreeDefError("an object in several places contains itself") from None
