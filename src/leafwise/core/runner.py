"""Runners: the place where a faster way of running a structure is put in.

A treedef builds trees and takes them apart through its `Runner`. The reference
runner here does so by its code. Whoever knows a faster way fills in `hooks` and
gives single treedefs runners of its own; nothing here knows who that is, and
without anybody everything works, slower.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from .algebra import coverage
from .keypath import KeyPath
from .walk import flatten_up_to, leaf_paths, rebuild


__all__ = ["Runner", "hooks", "leaf", "reference"]


class Runner:
    """How trees of a structure are built and taken apart.

    Attributes:
        build: Takes a treedef and a list of as many leaves, returns a tree.
        up_to: Takes a treedef and a tree, returns what stands at the leaves of
            the treedef, or None if it does not know; the reference always does,
            so its None says that the tree does not have the structure.
        paths: Takes a treedef, returns the key paths of its leaves.
        covers: Takes a treedef and one that it may be a prefix of, returns what
            `algebra.coverage` says.
    """

    __slots__ = ("build", "covers", "paths", "up_to")

    def __init__(
        self,
        build: Callable[[Any, list[Any]], Any],
        up_to: Callable[[Any, Any], list[Any] | None],
        paths: Callable[[Any], list[KeyPath]],
        covers: Callable[[Any, Any], list[int] | None],
    ) -> None:
        self.build = build
        self.up_to = up_to
        self.paths = paths
        self.covers = covers


def _build(treedef: Any, leaves: list[Any]) -> Any:
    return rebuild(treedef._code, leaves)


def _up_to(treedef: Any, tree: Any) -> list[Any] | None:
    return flatten_up_to(treedef._code, tree)


def _paths(treedef: Any) -> list[KeyPath]:
    return leaf_paths(treedef._code, treedef._count)


def _covers(treedef: Any, whole: Any) -> list[int] | None:
    return coverage(treedef._code, whole._code)


reference: Final = Runner(_build, _up_to, _paths, _covers)
"""Runs any structure by its code."""


def _build_leaf(_treedef: Any, leaves: list[Any]) -> Any:
    return leaves[0]


def _up_to_leaf(_treedef: Any, tree: Any) -> list[Any]:
    return [tree]


leaf: Final = Runner(_build_leaf, _up_to_leaf, _paths, _covers)
"""Runs the structure of a bare leaf."""


class _Hooks:
    """What is asked to help, if anything is.

    Attributes:
        begin: Called once, before the engine takes note of its first tree; torch's
            compiler may be tracing that call.
        runner: The runner of new treedefs.
        sight: Told of each tree that was walked: takes the tree, its leaves, its
            treedef and the view.
        reader: Told of each node that is read slowly: takes its shape and the name of
            the attribute in which nodes keep the aux data that they had last; returns
            a function from a node to its children and aux data, or None.
    """

    __slots__ = ("begin", "reader", "runner", "sight")

    def __init__(self) -> None:
        self.begin: Callable[[], object] | None = None
        self.runner = reference
        self.sight: Callable[[Any, list[Any], Any, Any], None] | None = None
        self.reader: Callable[[Any, str], Callable[[Any], Any] | None] | None = None


hooks: Final = _Hooks()
