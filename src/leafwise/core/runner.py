"""Runners: where a faster way of flattening and unflattening is plugged in.

A treedef flattens and unflattens trees through its `Runner`. The reference
runner here does so by its code. Whoever knows a faster way fills in `hooks` and
gives single treedefs runners of its own; nothing here knows who that is, and
without anybody everything works, slower.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from .algebra import coverage
from .keypath import KeyPath
from .reading import Collect, GraphReading
from .walk import flatten_up_to, leaf_paths, rebuild


__all__ = ["Runner", "hooks", "leaf", "reference"]


class Runner:
    """How trees of a structure are flattened and unflattened.

    Attributes:
        unflatten: Takes a treedef and a list of as many leaves, returns a tree.
        flatten_up_to: Takes a treedef and a tree, returns what stands at the leaves of
            the treedef, or None if it does not know; the reference always does,
            so its None says that the tree does not have the structure.
        paths: Takes a treedef, returns the key paths of its leaves.
        covers: Takes a treedef and one that it may be a prefix of, returns what
            `algebra.coverage` says.
    """

    __slots__ = ("covers", "flatten_up_to", "paths", "unflatten")

    def __init__(
        self,
        unflatten: Callable[[Any, list[Any]], Any],
        flatten_up_to: Callable[[Any, Any], list[Any] | None],
        paths: Callable[[Any], list[KeyPath]],
        covers: Callable[[Any, Any], list[int] | None],
    ) -> None:
        self.unflatten = unflatten
        self.flatten_up_to = flatten_up_to
        self.paths = paths
        self.covers = covers


def _unflatten(treedef: Any, leaves: list[Any]) -> Any:
    return rebuild(treedef._code, leaves)


def _flatten_up_to(treedef: Any, tree: Any) -> list[Any] | None:
    return flatten_up_to(treedef._code, tree)


def _paths(treedef: Any) -> list[KeyPath]:
    return leaf_paths(treedef._code, treedef._count)


def _covers(treedef: Any, whole: Any) -> list[int] | None:
    return coverage(treedef._code, whole._code)


reference: Final = Runner(_unflatten, _flatten_up_to, _paths, _covers)
"""Runs any structure by its code."""


def _unflatten_leaf(_treedef: Any, leaves: list[Any]) -> Any:
    return leaves[0]


def _flatten_up_to_leaf(_treedef: Any, tree: Any) -> list[Any]:
    return [tree]


leaf: Final = Runner(_unflatten_leaf, _flatten_up_to_leaf, _paths, _covers)
"""Runs the structure of a bare leaf."""


class _Hooks:
    """What is asked to help, if anything is.

    Attributes:
        collector: Told of each graph of objects that was walked: takes how often it was
            met, and what describes it; returns a function that reads it, or None.
        begin: Called once, before the engine takes note of its first tree; torch's
            compiler may be tracing that call.
        runner: The runner of new treedefs.
        observe: Told of each tree that was walked: takes the tree, its leaves, its
            treedef and the view.
        reader: Told of each node that is read slowly: takes its shape and the name of
            the attribute in which nodes keep the aux data that they had last; returns
            a function from a node to its children and aux data, or None.
    """

    __slots__ = ("begin", "collector", "observe", "reader", "runner")

    def __init__(self) -> None:
        self.begin: Callable[[], object] | None = None
        self.collector: (
            Callable[[int, Callable[[], GraphReading | None]], Collect | None] | None
        ) = None
        self.runner = reference
        self.observe: Callable[[Any, list[Any], Any, Any], None] | None = None
        self.reader: Callable[[Any, str], Callable[[Any], Any] | None] | None = None


hooks: Final = _Hooks()
