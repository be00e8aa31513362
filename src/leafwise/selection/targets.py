"""Targets: what selectors pick in one tree, to be read or replaced.

There are three ways to know them. The tree was searched; or its structure was, so that
a prefix says where they are; or values were tested, which says which leaves they are.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import compress
from typing import Any

from ..core.context import Context
from ..core.keypath import ROOT, KeyPath, Link
from ..core.treedef import PyTreeDef, memo_of
from .changes import Set, edited
from .prefix import Cut, Prefix, kept_prefix
from .select import Flat, LeafPicks, Place, Selector, follow, no_match, unique


class Targets:
    """The targets in one tree.

    Attributes:
        leaves: The leaves of the tree; nothing if the targets were searched.
        treedef: Its structure, if it is compiled and says which the targets are.
        key: What they are called in that structure, see `kept_prefix`.
    """

    leaves: list[Any]
    treedef: PyTreeDef | None = None
    key: Hashable = None

    def count(self) -> int:
        """Return their number."""
        raise NotImplementedError

    def paths(self) -> list[KeyPath]:
        """Return their paths; the list is not to be changed."""
        raise NotImplementedError

    def links(self) -> Sequence[Link | KeyPath]:
        """Return their paths, or links instead where those are at hand."""
        return self.paths()

    def values(self) -> list[Any]:
        """Return the targets."""
        raise NotImplementedError

    def flags(self, treedef: PyTreeDef) -> Sequence[bool]:
        """Return for each leaf of the tree's structure whether it is in a target."""
        return Cut(treedef, self.links()).flags

    def prefix(self) -> Prefix | None:
        """Return their prefix, if the structure is compiled."""
        return None


class FoundTargets(Targets):
    """Targets that a search of the tree has found."""

    def __init__(self, places: list[Place]) -> None:
        self._places = places
        self.leaves = []

    def count(self) -> int:
        return len(self._places)

    def paths(self) -> list[KeyPath]:
        return [place.path for place in self._places]

    def links(self) -> Sequence[Link | KeyPath]:
        return [place.where for place in self._places]

    def values(self) -> list[Any]:
        return [place.value for place in self._places]


class KnownTargets(Targets):
    """Targets in a tree whose structure was searched before."""

    def __init__(
        self,
        tree: Any,
        flat: Flat,
        key: Hashable,
        prefix: Prefix,
        search_tree: Callable[[], list[Place]],
    ) -> None:
        self.leaves, self._treedef = flat
        self.treedef = self._treedef
        self.key = key
        self._tree = tree
        self._prefix = prefix
        self._search_tree = search_tree

    def count(self) -> int:
        return len(self._prefix.paths)

    def paths(self) -> list[KeyPath]:
        return self._prefix.paths

    def values(self) -> list[Any]:
        if self._prefix.is_exact:
            return self._prefix.values(self._tree, self.leaves, self._treedef)
        return [place.value for place in self._search_tree()]

    def flags(self, treedef: PyTreeDef) -> Sequence[bool]:
        if treedef == self._treedef:
            return self._prefix.flags
        return super().flags(treedef)

    def prefix(self) -> Prefix:
        return self._prefix


class PickedTargets(Targets):
    """Targets that a test of values has picked."""

    def __init__(self, picks: LeafPicks) -> None:
        self.leaves = picks.leaves
        self.key = picks.flags
        self._picks = picks
        if memo_of(picks.treedef) is not None:
            self.treedef = picks.treedef

    def count(self) -> int:
        return sum(self._picks.flags)

    def paths(self) -> list[KeyPath]:
        return list(compress(self._picks.treedef.paths(), self._picks.flags))

    def values(self) -> list[Any]:
        return list(compress(self.leaves, self._picks.flags))

    def flags(self, treedef: PyTreeDef) -> Sequence[bool]:
        if treedef == self._picks.treedef:
            return self._picks.flags
        return super().flags(treedef)

    def prefix(self) -> Prefix | None:
        if self.treedef is None:
            return None
        return kept_prefix(self.treedef, self.key, self.paths)


# ---------------------------------------------------------------------- finding them


def find_targets(
    tree: Any,
    selectors: Sequence[Selector],
    context: Context,
    *,
    missing_ok: bool = False,
    flat: Flat | None = None,
) -> Targets:
    """Return what selectors pick in a tree, each below the targets of the one before.

    Args:
        tree: The tree.
        selectors: The selectors.
        context: What is a leaf.
        missing_ok: Whether a selector may have no match.
        flat: The leaves and the structure of the tree, if the caller reads all of it.

    Raises:
        PathError: A selector has no match.
    """

    def search_tree() -> list[Place]:
        return search(tree, selectors, context, missing_ok=missing_ok)

    is_path = all(selector.is_single for selector in selectors)
    if flat is None and is_path:  # to go there takes less time than to flatten
        return FoundTargets(search_tree())
    pick = selectors[0].pick if len(selectors) == 1 else None
    keys = tuple([selector.key for selector in selectors])
    has_key = bool(keys) and None not in keys
    if flat is None and (has_key or pick is not None):
        flat = context.flatten_compiled(tree)
    targets: Targets
    if has_key and flat is not None and memo_of(flat[1]) is not None:

        def find_paths() -> list[KeyPath]:
            return [place.path for place in search_tree()]

        prefix = kept_prefix(flat[1], keys, find_paths)
        targets = KnownTargets(tree, flat, keys, prefix, search_tree)
    elif pick is not None:
        targets = PickedTargets(pick(tree, context, flat))
    else:
        return FoundTargets(search_tree())
    if not missing_ok and not targets.count():
        if len(selectors) > 1:
            search_tree()  # which says where there is no match
        elif not selectors[0].may_be_empty:
            raise no_match(selectors[0], Place(ROOT, tree), context)
    return targets


def search(
    tree: Any,
    selectors: Sequence[Selector],
    context: Context,
    *,
    missing_ok: bool = False,
) -> list[Place]:
    """Return the places in a tree that selectors pick, without what is known of others.

    Raises:
        PathError: A selector has no match, and `missing_ok` is not set.
    """
    places = [Place(ROOT, tree)]
    for selector in selectors:
        below: list[Place] = []
        for place in places:
            below += follow(place, selector, context)
        if len(places) > 1:  # one place may be inside another
            below = unique(below)
        if places and not (below or missing_ok or selector.may_be_empty):
            raise no_match(selector, places[0], context)
        places = below
    return places


# -------------------------------------------------------------------- replacing them


def replace_targets(
    tree: Any,
    targets: Targets,
    values: Sequence[Any],
    context: Context,
) -> Any:
    """Return a tree with other values in place of its targets.

    Args:
        tree: The tree.
        targets: The targets.
        values: A value for each.
        context: What is a leaf.

    Raises:
        EditError: A target is inside another one.
        Exception: What the validation of a class raises, with a note of the path.
    """
    if not values:
        return tree
    prefix = targets.prefix()
    treedef = targets.treedef
    if treedef is not None and prefix is not None and prefix.allows_edits:
        return prefix.replace(tree, targets.leaves, treedef, values)
    edits = zip(targets.links(), map(Set, values), strict=True)
    return edited(tree, edits, context)


def replace_all(
    tree: Any,
    pairs: Sequence[tuple[Targets, Sequence[Any]]],
    context: Context,
) -> Any:
    """Return a tree with other values in place of several sets of targets.

    Args:
        tree: The tree.
        pairs: The targets, with a value for each.
        context: What is a leaf.

    Raises:
        EditError: A target is inside another one.
        Exception: What the validation of a class raises, with a note of the path.
    """
    if len(pairs) == 1:
        [(targets, values)] = pairs
        return replace_targets(tree, targets, values, context)
    all_values: list[Any] = []
    for _, values in pairs:
        all_values += values
    all_targets = [targets for targets, _ in pairs]
    treedef = all_targets[0].treedef if all_values else None
    if treedef is not None and all(one.treedef is treedef for one in all_targets):
        key = ("all of", *[targets.key for targets in all_targets])
        prefix = kept_prefix(treedef, key, lambda: _joined_paths(all_targets))
        if prefix.allows_edits:
            leaves = all_targets[0].leaves
            return prefix.replace(tree, leaves, treedef, all_values)
    links: list[Link | KeyPath] = []
    for targets in all_targets:
        links += targets.links()
    edits = zip(links, map(Set, all_values), strict=True)
    return edited(tree, edits, context)


def _joined_paths(all_targets: Iterable[Targets]) -> list[KeyPath]:
    paths: list[KeyPath] = []
    for targets in all_targets:
        paths += targets.paths()
    return paths
