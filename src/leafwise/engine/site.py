"""Sites: which compiled structures stand behind one type of root.

Owns the choice among them. A site with one structure costs nothing: its function is
called at once. With several, the root tells them apart where it can (its keys, its
length), else the order in which they were met. A site that keeps missing rests.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any, Final

from ..core.registry import View
from .live import Flatten, Live


__all__ = ["Site"]

_MAPPINGS: Final = frozenset({dict, OrderedDict, defaultdict})
_SEQUENCES: Final = frozenset({list, tuple, deque})
_MAX_KEYS = 16
_MAX_LIVE = 48
_SELDOM = 1000
_PATIENCE = 16
_MAX_REST = 128


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


class Site:
    """The compiled structures of trees with one type of root, under one view.

    Attributes:
        view: The view.
        cls: The type of the roots.
        functions: The structures, oldest first, each with its function.
        counts: How often structures were met that are not compiled yet, by hash.
        skip: How many sightings to let pass.
        strangers: How many sightings in a row led to nothing.
        rest: How many calls to leave to the walk.
        misses: How many calls in a row none of the structures fitted.
        failures: How often a structure was walked though it was compiled.
        turned_away: How often a structure came when there was no room.
    """

    __slots__ = (
        "cls",
        "counts",
        "failures",
        "functions",
        "misses",
        "rest",
        "skip",
        "strangers",
        "turned_away",
        "view",
    )

    def __init__(self, view: View, cls: type) -> None:
        self.view = view
        self.cls = cls
        self.functions: dict[Live, Flatten] = {}
        self.failures: dict[Live, int] = {}
        self.counts: dict[int, int] = {}
        self.skip = self.strangers = self.rest = self.misses = 0
        self.turned_away = 0

    def turns_away(self) -> bool:
        """Say whether the site is full; once in a while it is not, for a change."""
        if len(self.functions) < _MAX_LIVE:
            return False
        self.turned_away += 1
        return self.turned_away % _SELDOM != 0

    def add(self, live: Live, function: Flatten) -> None:
        """Take a structure in; the oldest leaves if there are too many."""
        functions = {**self.functions, live: function}
        if len(functions) > _MAX_LIVE:
            del functions[next(iter(functions))]
        self.functions = functions
        self.install()

    def drop(self, live: Live) -> None:
        """Leave a structure to the walk."""
        self.functions = {k: f for k, f in self.functions.items() if k is not live}
        self.failures.pop(live, None)
        self.install()

    def install(self) -> None:
        """Put the way in where the operations look for it."""
        self.misses = self.rest = 0
        if not self.functions:
            self.view.hot.pop(self.cls, None)
        elif len(self.functions) == 1:
            self.view.hot[self.cls] = next(iter(self.functions.values()))
        else:
            self.watch()

    def watch(self) -> None:
        """Choose among the structures from now on, and count what misses."""
        roots = [live.plan.root for live in self.functions]
        sign: Callable[[Any], Any] = type
        if self.cls in _SEQUENCES:
            sign = len
        elif self.cls in _MAPPINGS:
            short = max(root.arity for root in roots) <= _MAX_KEYS
            sign = tuple if short else len
        alike: dict[Any, list[Flatten]] = {}
        for live, function in self.functions.items():
            alike.setdefault(_sign_of(live, sign), []).append(function)
        found = {mark: _in_turn(functions) for mark, functions in alike.items()}
        self.view.hot[self.cls] = self._chooser(sign, found.get)

    def _chooser(
        self, sign_of: Callable[[Any], Any], way_in: Callable[[Any], Flatten | None]
    ) -> Flatten:
        """Return a function that chooses among the structures."""

        def choose(tree: Any) -> tuple[list[Any], Any] | None:
            try:
                flatten = way_in(sign_of(tree))
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
        if self.misses <= _PATIENCE:
            return
        self.rest = min(self.misses, _MAX_REST)

        def pause(_tree: Any) -> None:
            self.rest -= 1
            if self.rest <= 0 and self.view.hot.get(self.cls) is pause:
                self.view.hot[self.cls] = choose

        if self.view.hot.get(self.cls) is choose:
            self.view.hot[self.cls] = pause


def _sign_of(live: Live, sign: Callable[[Any], Any]) -> Any:
    """Return what the root of a structure is told apart by."""
    root = live.plan.root
    if sign is type:
        return root.cls
    if sign is len:
        return root.arity
    if root.varies:
        return None
    return root.aux if root.kind == "OrderedDict" else root.aux[0]
