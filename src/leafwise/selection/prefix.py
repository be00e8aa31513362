"""Prefixes: what a selector picks in every tree of one structure.

Which leaves and nodes a pattern picks follows from the keys of a tree. So only the
first tree of a structure is searched, and its treedef is cut off at the targets, and at
every subtree without any:

    tree             {"a": {"w": 1, "b": 2}, "c": [(3, 4), {"w": 5}], "d": [6]}
    targets, **.w               1                                5
    prefix           {"a": {"w": *, "b": *}, "c": [*, {"w": *}], "d": *}

An edit puts other values at some leaves of the prefix. What else stands at its leaves
is shared by both trees. Prefixes are kept with the compiled structure of the tree; they
are treedefs, so the engine compiles those that are used often.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from operator import itemgetter
from typing import Any, Final

from .._hooks import hooks
from ..core.builtins import ContainerNodeType
from ..core.keypath import KeyPath, Link
from ..core.treedef import (
    PyTreeDef,
    code_of,
    compile_prefix,
    memo_of,
    prefix_of,
    varying_of,
    with_aux,
)
from .region import Region


# ---------------------------------------------------------------------- the prefixes


class Prefix:
    """What a selector picks in all trees of one structure.

    Attributes:
        paths: The path of each target.
        flags: For each leaf of the structure, whether it is in a target.
        is_exact: Whether each target is a leaf of the prefix. If not, some are inside
            others, or values of static fields; only `paths` and `flags` are known then.
        allows_edits: Whether other values at the targets make the edited tree: the
            prefix is exact, and no class of a node above a target validates edits.
    """

    __slots__ = (
        "_cut_nodes",
        "_positions",
        "_prefix_leaves_in",
        "_targets_in",
        "_treedef",
        "_uses_left",
        "_varying",
        "allows_edits",
        "flags",
        "is_exact",
        "paths",
    )

    def __init__(
        self,
        treedef: PyTreeDef,
        paths: list[KeyPath],
    ) -> None:
        """Cut off a structure at some paths."""
        cut = Cut(treedef, paths)
        self.paths: list[KeyPath] = paths
        self.flags: list[bool] = cut.flags
        self.is_exact: bool = cut.is_exact
        self.allows_edits: bool = cut.is_exact and not cut.validates
        self._positions = cut.positions
        self._treedef = prefix_of(treedef, cut.steps)
        self._uses_left = hooks.prefix_uses
        varying = set(varying_of(treedef))
        self._varying = [
            (position, source)
            for position, source in enumerate(cut.node_sources)
            if source in varying
        ]
        # By position, where nodes stand at leaves of the prefix; None if they are many.
        self._cut_nodes: list[tuple[int, KeyPath]] | None = None
        sources = cut.leaf_sources
        cut_positions = [n for n, source in enumerate(sources) if source is None]
        is_readable = cut.has_containers_only or not cut_positions
        if is_readable and len(cut_positions) * _FEW <= len(sources):
            prefix_paths = self._treedef.paths()
            self._cut_nodes = [(n, prefix_paths[n]) for n in cut_positions]
        self._prefix_leaves_in = _getter([source or 0 for source in sources])
        self._targets_in: Callable[[list[Any]], list[Any]] | None = None
        if cut.is_exact:
            numbers = [sources[position] for position in cut.positions]
            if None not in numbers:
                self._targets_in = _getter(numbers)

    def _treedef_in(self, whole: PyTreeDef) -> PyTreeDef:
        """Return the prefix of one structure of those that share this object."""
        self._uses_left -= 1
        if self._uses_left <= 0:
            self._uses_left = _USES_BETWEEN
            compile_prefix(self._treedef)
        if not self._varying:
            return self._treedef
        code = code_of(whole)
        changes = [(position, code[source][3]) for position, source in self._varying]
        return with_aux(self._treedef, changes)

    def _subtrees(
        self,
        tree: Any,
        leaves: list[Any],
        prefix: PyTreeDef,
    ) -> list[Any]:
        """Return what stands at each leaf of the prefix in a tree."""
        if self._cut_nodes is None:
            return prefix.flatten_up_to(tree)
        # The leaves were just read, so that only a few nodes are left to read.
        subtrees = self._prefix_leaves_in(leaves)
        for position, path in self._cut_nodes:
            subtrees[position] = path(tree, namespace=prefix.namespace)
        return subtrees

    def values(
        self,
        tree: Any,
        leaves: list[Any],
        treedef: PyTreeDef,
    ) -> list[Any]:
        """Return the targets in a tree, given its leaves and its structure as well."""
        if self._targets_in is not None:
            return self._targets_in(leaves)
        subtrees = self._subtrees(tree, leaves, self._treedef_in(treedef))
        return [subtrees[position] for position in self._positions]

    def replace(
        self,
        tree: Any,
        leaves: list[Any],
        treedef: PyTreeDef,
        values: Iterable[Any],
    ) -> Any:
        """Return a tree with these values in place of the targets.

        Args:
            tree: The tree.
            leaves: Its leaves.
            treedef: Its structure.
            values: A value for each target.
        """
        prefix = self._treedef_in(treedef)
        subtrees = self._subtrees(tree, leaves, prefix)
        for position, value in zip(self._positions, values, strict=True):
            subtrees[position] = value
        return prefix.unflatten(subtrees)


def _getter(numbers: list[Any]) -> Callable[[list[Any]], list[Any]]:
    """Return a function that returns the items of a list at some positions."""
    if len(numbers) < 2:
        return lambda items: [items[number] for number in numbers]
    get_items = itemgetter(*numbers)  # faster, but it returns a tuple, or one item
    return lambda items: list(get_items(items))


_FEW: Final = 32
"""One leaf of a prefix in so many may be a node that is read by its path."""
_USES_BETWEEN: Final = 1_000
"""After so many uses the engine is asked again, since it may have dropped a prefix."""


class Cut:
    """A structure that is cut off at some places, given by their paths or links.

    Attributes:
        steps: The steps of the prefix in post-order.
        node_sources: For each node of the prefix, its position in the code of the
            structure.
        leaf_sources: For each leaf of the prefix, which leaf of the structure it is,
            None for a node.
        positions: For each target, which leaf of the prefix it is.
        flags: See `Prefix`.
        is_exact: Whether each target is a leaf of the prefix.
        validates: Whether the class of a node in the prefix validates edits.
        has_containers_only: Whether a path surely reads a child of each node.
    """

    def __init__(
        self,
        treedef: PyTreeDef,
        places: Sequence[KeyPath | Link],
    ) -> None:
        region = Region(places)
        self.steps: list[Any] = []
        self.node_sources: list[int] = []
        self.leaf_sources: list[int | None] = []
        self.positions: list[int] = [0] * len(places)
        self.flags: list[bool] = []
        self.validates: bool = False
        self.has_containers_only: bool = True
        self._targets = 0
        self._positions_by_keys: dict[int, tuple[Any, dict[Any, int]]] = {}
        self._read_backwards(code_of(treedef), region.branches)
        self.is_exact: bool = region.is_disjoint and self._targets == len(places)
        self.steps.reverse()
        self.node_sources.reverse()
        self.leaf_sources.reverse()
        self.flags.reverse()
        last = len(self.leaf_sources) - 1
        self.positions = [last - position for position in self.positions]
        last = treedef.num_leaves - 1
        self.leaf_sources = [
            None if source is None else last - source for source in self.leaf_sources
        ]

    def _read_backwards(
        self,
        code: Any,
        branches: Any,
    ) -> None:
        """Read a code from the root down and from right to left.

        What is on the stack says what to do with each subtree: a dict of branches leads
        to targets, a number is that of a target, None cuts a subtree off, and `_INSIDE`
        and `_OUTSIDE` are below a cut, in a target and in no target.
        """
        stack: list[Any] = [branches]
        if not code:
            self._read_leaves(stack)
        for position in range(len(code) - 1, -1, -1):
            run, node_type, arity, aux = code[position]
            branch = stack.pop()
            if type(branch) is dict:
                self.steps.append((node_type, arity, aux))
                self.node_sources.append(position)
                self.validates |= node_type.attributes.validate is not None
                self.has_containers_only &= isinstance(node_type, ContainerNodeType)
                stack += self._children(branch, node_type.keys(aux, arity))
            else:
                is_inside = branch is _INSIDE or type(branch) is int
                self._cut_off(branch)
                stack += [_INSIDE if is_inside else _OUTSIDE] * arity
            if run:
                leaves = stack[-run:]
                del stack[-run:]
                self._read_leaves(leaves)

    def _children(
        self,
        branch: dict[Any, Any],
        keys: Sequence[Any],
    ) -> list[Any]:
        """Return what to do with each child of a node."""
        children: list[Any] = [None] * len(keys)
        if not branch:
            return children
        # nodes of one kind share the tuple of their keys, and keys take long to hash
        entry = self._positions_by_keys.get(id(keys))
        if entry is None:
            if len(self._positions_by_keys) >= _MOST_KEYS:
                self._positions_by_keys.clear()
            entry = (keys, {key: position for position, key in enumerate(keys)})
            self._positions_by_keys[id(keys)] = entry
        positions = entry[1]
        for key, below in branch.items():
            position = positions.get(key)
            if position is not None:
                children[position] = below
        return children

    def _cut_off(
        self,
        branch: Any,
        source: int | None = None,
    ) -> None:
        """Note a leaf of the prefix, if this is one.

        Args:
            branch: What to do with the subtree.
            source: If the subtree is a leaf, its number from the right.
        """
        if branch is _INSIDE or branch is _OUTSIDE:
            return
        if type(branch) is int:
            self.positions[branch] = len(self.leaf_sources)
            self._targets += 1
        self.steps.append(None)
        self.leaf_sources.append(source)

    def _read_leaves(self, branches: list[Any]) -> None:
        """Read leaves that stand beside each other, given from left to right."""
        first = len(self.flags)
        count = len(branches)
        if branches.count(_INSIDE) == count or branches.count(_OUTSIDE) == count:
            self.flags += [branches[0] is _INSIDE] * count
            return
        self.flags += [False] * count
        branches.reverse()
        if _INSIDE in branches or _OUTSIDE in branches:
            for number, branch in enumerate(branches, first):
                self.flags[number] = branch is _INSIDE or type(branch) is int
                self._cut_off(branch, number)
            return
        # the same in less time, as each of them is a leaf of the prefix
        for offset, branch in enumerate(branches):
            if type(branch) is int:
                self.flags[first + offset] = True
                self.positions[branch] = len(self.leaf_sources) + offset
                self._targets += 1
        self.steps += [None] * count
        self.leaf_sources += range(first, first + count)


_MOST_KEYS: Final = 1024
_INSIDE: Final = "inside"
_OUTSIDE: Final = "outside"


# ------------------------------------------------------------------- keeping prefixes

_MOST_KEPT: Final = 32
"""How many prefixes of one structure are kept."""


def kept_prefix(
    treedef: PyTreeDef,
    key: Hashable,
    find_paths: Callable[[], list[KeyPath]],
) -> Prefix:
    """Return the prefix that a key stands for in a structure, made if it is new.

    Args:
        treedef: The structure; it must be compiled.
        key: Equal for equal targets in all trees of one structure.
        find_paths: Returns the paths of the targets.
    """
    memo: Any = memo_of(treedef)
    full_key = (key, _varying_keys(treedef))
    prefix: Prefix | None = memo.get(full_key)
    if prefix is None:
        prefix = Prefix(treedef, find_paths())
        if len(memo) >= _MOST_KEPT:
            memo.pop(next(iter(memo)), None)
        memo[full_key] = prefix
    return prefix


def _varying_keys(treedef: PyTreeDef) -> Hashable:
    """Return what says which keys the nodes have whose aux data varies."""
    positions = varying_of(treedef)
    if not positions:
        return None
    code = code_of(treedef)
    signatures: list[Any] = []
    for position in positions:
        _, node_type, arity, aux = code[position]
        # objects of `nn` say with one object which fields they have
        fields = getattr(aux, "fields", None)
        signatures.append(
            tuple(node_type.keys(aux, arity)) if fields is None else fields
        )
    return tuple(signatures)
