"""Guesses: which compiled structure a predicate leads to.

A predicate is asked about a tree only once, so one structure has to be chosen before
anything is asked. What the same predicate found in such a tree the last time is the
guess; a predicate is known by its code, which says nothing about its closure. A wrong
guess costs time and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, Final

from ..core.registry import View
from .asking import Asking
from .compiled import Compiled
from .inline import MAX_MISSES, MAX_REST, InlineCache, told_by


__all__ = ["Guesses"]

_MAX_GUESSES: Final = 256
_SETTLED_AFTER: Final = 16


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

    __slots__ = (
        "after",
        "functions",
        "hits",
        "key",
        "last",
        "misses",
        "rest",
        "ways",
    )

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
        if self.misses > MAX_MISSES:
            self.rest = min(self.misses, MAX_REST)


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

    __slots__ = ("is_choosing", "known", "tell", "ways")

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
        self.tell = self.teller()
        tell, find = self.tell, self.ways.get

        def choose(tree: Any, ask: Any) -> tuple[list[Any], Any] | None:
            try:  # as `key_of` does
                code = id(ask.__code__) if type(ask) is FunctionType else None
                way = find((code, tell(tree)))
            except Exception:
                return None
            return None if way is None else way(tree, ask)

        self.table[self.cls] = choose

    def teller(self) -> Callable[[Any], Any]:
        """Return `len` of a mapping if it tells as much as all its keys."""
        tell = super().teller()
        if tell is tuple:
            told = {
                (made.plan.root.arity, told_by(made, tell)) for made in self.functions
            }
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
            if self.misses > MAX_MISSES and way_in in self.functions.values():
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
