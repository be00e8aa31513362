"""Sites: which compiled structures stand behind one type of root.

Owns the choice among them. A site with one structure costs nothing: its function is
called at once. With several, the root tells them apart where it can (its keys, its
length), else the order in which they were met. A site that keeps missing rests.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from ..core.view import View
from .live import Live


__all__ = ["Site"]

Flatten: TypeAlias = Callable[[Any], "tuple[list[Any], Any] | None"]

_MAPPINGS: Final = frozenset({dict, OrderedDict, defaultdict})
_SEQUENCES: Final = frozenset({list, tuple, deque})
_MAX_KEYS = 16
_MAX_LIVE = 32
_PATIENCE = 16
_MAX_REST = 128


class _Bucket:
    """Structures that the root does not tell apart.

    Programs repeat themselves: what came after the last structure the last time is
    tried first.
    """

    __slots__ = ("after", "functions", "last")

    def __init__(self) -> None:
        self.functions: list[Flatten] = []
        self.after: dict[Flatten, Flatten] = {}
        self.last: Any = None

    def find(self, tree: Any) -> tuple[list[Any], Any] | None:
        """Take a tree apart, if one of the structures is its."""
        guess = self.after.get(self.last)
        found = None if guess is None else guess(tree)
        if found is None:
            for function in self.functions:
                if function is not guess and (found := function(tree)) is not None:
                    self.after[self.last] = guess = function
                    break
            else:
                return None
        self.last = guess
        return found


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
    """

    __slots__ = (
        "_buckets",
        "_sign",
        "cls",
        "counts",
        "failures",
        "functions",
        "misses",
        "rest",
        "skip",
        "strangers",
        "view",
    )

    def __init__(self, view: View, cls: type) -> None:
        self.view = view
        self.cls = cls
        self.functions: dict[Live, Flatten] = {}
        self.failures: dict[Live, int] = {}
        self.counts: dict[int, int] = {}
        self.skip = self.strangers = self.rest = self.misses = 0
        self._sign: Callable[[Any], Any] = type
        self._buckets: dict[Any, _Bucket] = {}

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
        if self.cls in _SEQUENCES:
            self._sign = len
        elif self.cls in _MAPPINGS:
            short = max(root.arity for root in roots) <= _MAX_KEYS
            self._sign = tuple if short else len
        buckets: dict[Any, _Bucket] = {}
        for live, function in self.functions.items():
            sign = _sign_of(live, self._sign)
            buckets.setdefault(sign, _Bucket()).functions.append(function)
        self._buckets = buckets
        self.view.hot[self.cls] = self.find

    def find(self, tree: Any) -> tuple[list[Any], Any] | None:
        """Take a tree apart, if one of the structures is its."""
        if self.rest:
            self.rest -= 1
            return None
        try:
            bucket = self._buckets[self._sign(tree)]
            functions = bucket.functions
            found = functions[0](tree) if len(functions) == 1 else bucket.find(tree)
        except Exception:
            found = None
        if found is None:
            self.misses += 1
            if self.misses > _PATIENCE:
                self.rest = min(self.misses, _MAX_REST)
        else:
            self.misses = 0
        return found


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
