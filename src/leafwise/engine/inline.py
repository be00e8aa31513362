"""Inline caches: which compiled structures are met behind one type of root.

Owns the choice among them. Nothing here knows how structures are learned.

A predicate is asked about a tree only once, so with one a structure has to be chosen
before anything is asked. What the same predicate found in such a tree the last time is
the guess; a predicate is known by its code, which says nothing about its closure. A
wrong guess costs time and nothing else.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Collection
from types import FunctionType
from typing import Any, Final

from ..core.registry import View
from ..safely import Lasts
from .asking import Asking
from .compiled import Compiled, Flatten


_MAX_KEYS = 16
_MAX_FUNCTIONS = 48
_SELDOM = 1000
_MAX_MISSES = 16
_MAX_REST = 128
_MAX_GUESSES = 256
_SETTLED_AFTER = 16
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
        functions: The structures, oldest first, each with its `flatten`; replaced as a
            whole, since some are dropped while others are learned.
        is_over: Whether nobody learns here any more.
        counts: How often structures were met that are not compiled yet, by hash.
        skip: How many trees that were walked to let pass.
        fruitless: How many in a row led to nothing.
        rest: How many calls to leave to the walk.
        misses: How many calls in a row none of the structures fitted.
        failures: How often a structure was walked though it was compiled.
        refused: How often a structure came when there was no room.
    """

    asks = False

    def __init__(self, view: View, cls: type) -> None:
        self.view = view
        self.cls = cls
        self.table: dict[type, Any] = view.hot
        self.functions: dict[Compiled, Any] = {}
        self.is_over = False
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

    def end(self) -> None:
        """Take the way in away for good, whatever another thread is about to do."""
        self.is_over = True
        self.table.pop(self.cls, None)

    def lead(self, way_in: Any) -> None:
        """Put the way in where the operations look for it."""
        self.table[self.cls] = way_in
        if self.is_over:  # asked last: who ends it takes away what is there by then
            self.table.pop(self.cls, None)

    def is_lasting(self, lasts: Lasts) -> bool:
        """Return whether all classes last that the cache itself is about."""
        return lasts(self.cls) and self.view.has_lasting_stops(lasts)

    def drop_fleeting(self, lasts: Lasts) -> None:
        """Leave structures to the walk whose functions have types that do not last."""
        for compiled, function in self.functions.items():
            names = [*function.__globals__.values()]
            if not all(lasts(value) for value in names if isinstance(value, type)):
                compiled.forget_copy(function)
                self.drop(compiled)

    def install(self) -> None:
        """Put the way in where the operations look for it."""
        self.misses = self.rest = 0
        functions = [*self.functions.values()]
        if not functions:
            self.table.pop(self.cls, None)
        elif len(functions) == 1:
            self.lead(functions[0])
        else:
            self.dispatch()

    def dispatch(self) -> None:
        """Choose among the structures from now on, and count what misses."""
        chosen = self.functions
        tell = self.teller(chosen)
        alike: dict[Any, list[Flatten]] = {}
        for compiled, function in chosen.items():
            alike.setdefault(_told(compiled, tell), []).append(function)
        found = {mark: _in_turn(functions) for mark, functions in alike.items()}
        self.lead(self._dispatcher(tell, found.get))

    def teller(self, chosen: Collection[Compiled]) -> Callable[[Any], Any]:
        """Return a function of a root that tells many of these apart."""
        if self.cls in _SEQUENCES:
            return len
        if self.cls in _MAPPINGS:
            longest = max([made.plan.root.arity for made in chosen], default=0)
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
        if self.misses <= _MAX_MISSES:
            return
        self.rest = min(self.misses, _MAX_REST)

        def pause(_tree: Any) -> None:
            self.rest -= 1
            if self.rest <= 0 and self.table.get(self.cls) is pause:
                self.lead(choose)

        if self.table.get(self.cls) is choose:
            self.lead(pause)


def _told(compiled: Compiled, tell: Callable[[Any], Any]) -> Any:
    """Return what the root of a structure is told apart by."""
    root = compiled.plan.root
    if tell is type:
        return root.cls
    if tell is len:
        return root.arity
    if root.varies:
        return None
    return root.aux if root.kind == "OrderedDict" else root.aux[0]


# --------------------------------------------------------------------------- guesses


class _Guess:
    """What is expected of one predicate and of trees with one sort of root.

    Programs repeat themselves: what came after the last structure the last time is
    expected.

    Attributes:
        functions: The compiled structures, each with its function.
        ways: Where this is called from; a function that was right for long is put there
            instead, until it is wrong.
        key: Under which key.
        last: The structure that was found last.
        after: What came after which structure.
        hits: How often in a row the guess was right.
        misses: How often in a row it was wrong.
        rest: How many calls to leave to the walk.
    """

    def __init__(
        self, functions: dict[Compiled, Asking], ways: dict[Any, Asking], key: Any
    ) -> None:
        self.functions = functions
        self.ways = ways
        self.key = key
        self.last: Compiled | None = None
        self.after: dict[Compiled | None, Compiled] = {}
        self.hits = self.misses = self.rest = 0

    def expected(self) -> Compiled | None:
        """Return the structure that comes next."""
        return self.after.get(self.last, self.last)

    def __call__(self, tree: Any, ask: Any) -> tuple[list[Any], Any] | None:
        """Flatten a tree; return None if it is left to the walk, and nothing asked."""
        if self.rest > 0:
            self.rest -= 1
            return None
        compiled: Any = self.expected()
        function = self.functions.get(compiled)
        if function is None:
            return None
        found = function(tree, ask)
        if found is not None and found[1]._runner is compiled:
            self.last = compiled
            self.misses = 0
            self.hits += 1
            if self.hits >= _SETTLED_AFTER and self.expected() is compiled:
                self.ways[self.key] = function
        return found

    def saw(self, compiled: Compiled) -> None:
        """Take note of what was found, where the guess was another one."""
        if self.last is not None:
            self.after[self.last] = compiled
        self.last = compiled

    def missed(self) -> None:
        """Take note of a wrong guess; after many in a row, leave calls to the walk."""
        self.hits = 0
        self.misses += 1
        if self.misses > _MAX_MISSES:
            self.rest = min(self.misses, _MAX_REST)


class Guesses(InlineCache):
    """The compiled structures of trees that predicates were asked about.

    As long as there is one structure it is the guess, whatever the predicate.

    Attributes:
        known: The guesses, by predicate and sort of root.
        ways: What is called for each of them: the guess, or the function of the
            structure, if it has been right for long.
        is_choosing: Whether the predicate is looked at.
    """

    asks = True

    def __init__(self, view: View, cls: type) -> None:
        super().__init__(view, cls)
        self.table: dict[type, Any] = view.asked
        self.known: dict[Any, _Guess] = {}
        self.ways: dict[Any, Asking] = {}
        self.is_choosing = False
        self.tell: Callable[[Any], Any] = type

    def install(self) -> None:
        """Put the way in where the operations look for it."""
        self.known.clear()
        self.ways.clear()
        if len(self.functions) == 1 and self.is_choosing:
            self.dispatch()
        else:
            super().install()

    def dispatch(self) -> None:
        """Look at the predicate and the root from now on."""
        self.is_choosing = True
        self.tell = self.teller(self.functions)
        tell, find = self.tell, self.ways.get

        def choose(tree: Any, ask: Any) -> tuple[list[Any], Any] | None:
            try:  # as `key_of` does
                code = id(ask.__code__) if type(ask) is FunctionType else None
                way = find((code, tell(tree)))
            except Exception:
                return None
            return None if way is None else way(tree, ask)

        self.lead(choose)

    def teller(self, chosen: Collection[Compiled]) -> Callable[[Any], Any]:
        """Return `len` of a mapping if it tells as much as all its keys."""
        tell = super().teller(chosen)
        if tell is tuple:
            told = {(made.plan.root.arity, _told(made, tell)) for made in chosen}
            lengths = {arity for arity, _ in told}
            return len if len(lengths) == len(told) else tell
        return tell

    def key_of(self, tree: Any, ask: Any) -> Any:
        """Return what guesses are kept under."""
        # no reference: another code at the same address is no more than a wrong guess
        code = id(ask.__code__) if type(ask) is FunctionType else None
        try:
            return code, self.tell(tree)
        except Exception:  # a key that changed its mind
            return None

    def missed(self, tree: Any, ask: Any) -> None:
        """Take note of a wrong guess."""
        self.misses += 1
        if not self.is_choosing:
            way_in = self.table.get(self.cls)  # somebody may have taken it away
            if self.misses > _MAX_MISSES and way_in in self.functions.values():
                self.dispatch()
            return
        key = self.key_of(tree, ask)
        guess = self.known.get(key)
        if guess is not None:
            self.ways[key] = guess
            guess.missed()

    def saw(self, tree: Any, ask: Any, compiled: Compiled) -> None:
        """Take note of what a walk found."""
        if not self.is_choosing or compiled not in self.functions:
            return
        key = self.key_of(tree, ask)
        guess = self.known.get(key)
        if guess is None:
            if len(self.known) >= _MAX_GUESSES:
                self.known.clear()
                self.ways.clear()
            guess = self.known[key] = self.ways[key] = _Guess(
                self.functions, self.ways, key
            )
        guess.saw(compiled)
