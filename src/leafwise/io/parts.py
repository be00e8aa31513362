"""Trees as parts: an object that appears in several places is stored once.

Owns which nodes are one thing in several places, and how a tree is put together again
so that they are. These are objects and variables of `leafwise.nn`; other nodes are
values. Knows nothing of files.
"""

from __future__ import annotations

import functools
import graphlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..core.keypath import KeyPath
from ..core.treedef import PyTreeDef
from ..errors import TreeDefError
from ..lazy import real
from ..ops.context import Context


__all__ = ["Part", "Shared", "order", "put_together", "take_apart"]


class Shared(NamedTuple):
    """Stands for a node in several places, which is a part of its own.

    Attributes:
        number: The number of the part.
    """

    number: int


class Part(NamedTuple):
    """A tree, or a node in several places of it.

    Attributes:
        path: The path from the root of the tree to where it is first.
        treedef: Its structure, with a leaf for each node that is a part itself.
        leaves: Its leaves, with a `Shared` for each such node.
    """

    path: KeyPath
    treedef: PyTreeDef
    leaves: list[Any]

    def paths(self) -> list[KeyPath]:
        """Return the paths of its leaves, from the root of the tree."""
        return [self.path + path for path in self.treedef.paths()]


def take_apart(tree: Any, context: Context) -> list[Part]:
    """Return a tree as parts, itself first.

    Raises:
        CycleError: The tree contains itself.
    """
    again = _in_several_places(tree, context)
    if not again:
        leaves, treedef = context.flatten(tree)
        return [Part(KeyPath(), treedef, leaves)]
    numbers: dict[int, int] = {}
    waiting: list[tuple[KeyPath, Any]] = [(KeyPath(), tree)]
    parts: list[Part] = []
    for path, root in waiting:
        stops = functools.partial(_is_other, root, again)
        leaves, treedef = context.also_stopping(stops).flatten(root)
        part = Part(path, treedef, leaves)
        for number, (place, leaf) in enumerate(zip(part.paths(), leaves, strict=True)):
            if id(leaf) in again:
                if id(leaf) not in numbers:
                    numbers[id(leaf)] = len(waiting)
                    waiting.append((place, leaf))
                leaves[number] = Shared(numbers[id(leaf)])
        parts.append(part)
    try:
        order([part.leaves for part in parts])
    except TreeDefError:
        context.flatten(tree)  # which says where it contains itself
        raise
    return parts


def _is_other(root: Any, again: Mapping[int, Any], node: Any) -> bool:
    return node is not root and id(node) in again


def _in_several_places(tree: Any, context: Context) -> dict[int, Any]:
    """Return the objects that a tree has in several places, by their ids."""
    checks = real("leafwise.nn.checks")
    if checks is None:  # then there are none
        return {}
    resolve, objects = context.view.resolve, checks.DataNode

    def is_object(node: Any) -> bool:
        if not isinstance(node, objects) or context.stops_at(node):
            return False
        rule = resolve(type(node))
        return rule is not None and rule.unflatten_into is not None

    stopping = context.also_stopping(is_object)
    seen: dict[int, Any] = {}
    again: dict[int, Any] = {}
    waiting = [tree]
    for node in waiting:
        rule = resolve(type(node)) if is_object(node) else None
        if rule is not None:
            seen[id(node)] = node
        for child in (node,) if rule is None else rule.flatten(node)[0]:
            for leaf in stopping.flatten(child)[0]:
                if not is_object(leaf):
                    continue
                if id(leaf) in seen:
                    again[id(leaf)] = leaf
                else:
                    seen[id(leaf)] = leaf
                    waiting.append(leaf)
    return again


def put_together(
    treedefs: Sequence[PyTreeDef],
    leaves: Sequence[list[Any]],
    numbers: Sequence[int],
) -> Any:
    """Return the tree of parts.

    Args:
        treedefs: The structures of the parts.
        leaves: The leaves of each.
        numbers: The parts in an order in which each is after those in it.
    """
    made: dict[int, Any] = {}
    for number in numbers:
        filled = [
            made[leaf.number] if type(leaf) is Shared else leaf
            for leaf in leaves[number]
        ]
        made[number] = treedefs[number].unflatten(filled)
    return made[0]


def order(leaves: Sequence[list[Any]]) -> list[int]:
    """Return the parts in an order in which each is after those in it.

    Args:
        leaves: The leaves of each part.

    Raises:
        TreeDefError: A part is inside itself.
    """
    inside = {
        number: [leaf.number for leaf in part if type(leaf) is Shared]
        for number, part in enumerate(leaves)
    }
    try:
        return [*graphlib.TopologicalSorter(inside).static_order()]
    except graphlib.CycleError:
        raise TreeDefError("an object in several places contains itself") from None
