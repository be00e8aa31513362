"""A walk that goes on only to the places below that its caller names.

A pattern goes on to some children of a node, a flat table to all in the order of the
dict, a diff to what differs in two trees. Where all children are walked in leaf order,
there is `leafwise.core.walk.Walk`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, Generic, TypeVar

from ..core.context import Context
from ..core.walk import flatten


PlaceT = TypeVar("PlaceT")

DEPTH_IN_DOUBT: Final = 500
"""How deep a walk goes before it checks for cycles: few trees are that deep."""


class Descent(Generic[PlaceT]):
    """A walk over places of any depth: a place, then what is below it.

    Iterate over it. After each step, the caller may say with `go_on` which places are
    below that one.

    Args:
        start: The first place.
        trees: The trees that are there, to be checked for cycles.
        context: What is a leaf.

    Raises:
        CycleError: A tree contains itself.

    Example:
        >>> from leafwise.core.context import context_of
        >>> from leafwise.selection.descent import Descent
        >>> tree = [1, [2, [3]]]
        >>> steps = Descent(tree, [tree], context_of())
        >>> for node in steps:
        ...     print(node)
        ...     if type(node) is list:
        ...         steps.go_on(node[::-1])
        [1, [2, [3]]]
        [2, [3]]
        [3]
        3
        2
        1
    """

    def __init__(
        self,
        start: PlaceT,
        trees: Iterable[Any],
        context: Context,
    ) -> None:
        self._stack = [(start, 0)]
        self._depth = 0
        self._unchecked = list(trees)
        self._context = context

    def __iter__(self) -> Iterator[PlaceT]:
        stack = self._stack
        while stack:
            place, self._depth = stack.pop()
            if self._depth == DEPTH_IN_DOUBT:
                self._check_cycles()
            yield place

    def go_on(self, places: list[PlaceT]) -> None:
        """Go on to these places, in this order, before any other."""
        depth = self._depth + 1
        places.reverse()  # the stack gives the last one first
        self._stack += [(place, depth) for place in places]

    def _check_cycles(self) -> None:
        """Check once that the trees do not contain themselves."""
        while self._unchecked:
            flatten(self._unchecked.pop(), self._context.view, self._context.stop)
