"""Inline caches: which compiled structures are met behind one type of root.

Owns the choice among them. Nothing here knows how structures are learned.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any, Final

from ..core.registry import View
from .compiled import Compiled, Flatten


__all__ = ["MAX_MISSES", "MAX_REST", "InlineCache", "told_by"]

_MAX_KEYS = 16
_MAX_FUNCTIONS = 48
_SELDOM = 1000
MAX_MISSES = 16
MAX_REST = 128
_MAPPINGS: Final = frozenset({dict, OrderedDict, defaultdict})
_SEQUENCES: Final = frozenset({list, tuple, deque})


def _in_turn(functions: list[Flatten]) -> Flatten:
    """Return a function for structures that the root does not tell apart.

    Programs repeat themselves: what came after the last structure the last time is
    tried first.
    """
    if len(functions) == 1:
        return functions[0]
    steps: list[list[Any]] = [[function, None] for function in functions]
    for step in steps:
        step[1] = step
    last = steps[0]

    def find(tree: Any) -> tuple[list[Any], Any] | None:
        nonlocal last
        step = last[1]
        found: tuple[list[Any], Any] | None = step[0](tree)
        if found is None:
            for other in steps:
                if other is not step and (found := other[0](tree)) is not None:
                    last[1] = step = other
                    break
            else:
                return None
        last = step
        return found

    return find


class InlineCache:
    """The compiled structures of trees with one type of root, under one view.

    With one structure it costs nothing: its function is called at once. With several,
    the root tells them apart where it can (its keys, its length), else the order in
    which they were met. A cache that keeps missing rests for some calls.

    Attributes:
        asks: Whether a predicate is asked.
        view: The view.
        cls: The type of the roots.
        table: Where the operations look for the way in.
        functions: The structures, oldest first, each with its `flatten`.
        counts: How often structures were met that are not compiled yet, by hash.
        skip: How many trees that were walked to let pass.
        fruitless: How many in a row led to nothing.
        rest: How many calls to leave to the walk.
        misses: How many calls in a row none of the structures fitted.
        failures: How often a structure was walked though it was compiled.
        refused: How often a structure came when there was no room.
    """

    asks = False

    __slots__ = (
        "cls",
        "counts",
        "failures",
        "fruitless",
        "functions",
        "misses",
        "refused",
        "rest",
        "skip",
        "table",
        "view",
    )

    def __init__(self, view: View, cls: type) -> None:
        self.view = view
        self.cls = cls
        self.table: dict[type, Any] = view.hot
        self.functions: dict[Compiled, Any] = {}
        self.failures: dict[Compiled, int] = {}
        self.counts: dict[int, int] = {}
        self.skip = self.fruitless = self.rest = self.misses = 0
        self.refused = 0

    def is_full(self) -> bool:
        """Return whether there is no room; once in a while there is, for a change."""
        if len(self.functions) < _MAX_FUNCTIONS:
            return False
        self.refused += 1
        return self.refused % _SELDOM != 0

    def add(self, compiled: Compiled, function: Any) -> None:
        """Take a structure in; the oldest leaves if there are too many."""
        functions = {**self.functions, compiled: function}
        if len(functions) > _MAX_FUNCTIONS:
            del functions[next(iter(functions))]
        self.functions = functions
        self.install()

    def drop(self, compiled: Compiled) -> None:
        """Leave a structure to the walk."""
        self.functions = {k: f for k, f in self.functions.items() if k is not compiled}
        self.failures.pop(compiled, None)
        self.install()

    def remove(self) -> None:
        """Take the way in away from where the operations look for it."""
        self.table.pop(self.cls, None)

    def install(self) -> None:
        """Put the way in where the operations look for it."""
        self.misses = self.rest = 0
        if not self.functions:
            self.remove()
        elif len(self.functions) == 1:
            self.table[self.cls] = next(iter(self.functions.values()))
        else:
            self.dispatch()

    def dispatch(self) -> None:
        """Choose among the structures from now on, and count what misses."""
        tell = self.teller()
        alike: dict[Any, list[Flatten]] = {}
        for compiled, function in self.functions.items():
            alike.setdefault(told_by(compiled, tell), []).append(function)
        found = {mark: _in_turn(functions) for mark, functions in alike.items()}
        self.table[self.cls] = self._dispatcher(tell, found.get)

    def teller(self) -> Callable[[Any], Any]:
        """Return a function of a root that tells many of them apart."""
        if self.cls in _SEQUENCES:
            return len
        if self.cls in _MAPPINGS:
            longest = max(made.plan.root.arity for made in self.functions)
            return tuple if longest <= _MAX_KEYS else len
        return type

    def _dispatcher(
        self, tell: Callable[[Any], Any], function_for: Callable[[Any], Flatten | None]
    ) -> Flatten:
        """Return a function that chooses among the structures."""

        def choose(tree: Any) -> tuple[list[Any], Any] | None:
            try:
                flatten = function_for(tell(tree))
                found = None if flatten is None else flatten(tree)
            except Exception:
                found = None
            if found is None:
                self._miss(choose)
            elif self.misses:
                self.misses = 0
            return found

        return choose

    def _miss(self, choose: Flatten) -> None:
        """Count a miss; after many in a row, leave some calls to the walk."""
        self.misses += 1
        if self.misses <= MAX_MISSES:
            return
        self.rest = min(self.misses, MAX_REST)

        def pause(_tree: Any) -> None:
            self.rest -= 1
            if self.rest <= 0 and self.table.get(self.cls) is pause:
                self.table[self.cls] = choose

        if self.table.get(self.cls) is choose:
            self.table[self.cls] = pause


def told_by(compiled: Compiled, tell: Callable[[Any], Any]) -> Any:
    """Return what the root of a structure is told apart by."""
    root = compiled.plan.root
    if tell is type:
        return root.cls
    if tell is len:
        return root.arity
    if root.varies:
        return None
    return root.aux if root.kind == "OrderedDict" else root.aux[0]
