"""Compiled structures: the runner of each, and which are met behind one type of root.

Owns the functions made of one plan, which are made when they are first wanted, and
what follows from a structure alone: its key paths, and how its leaves spread over
those of another one. None of it depends on the registry, except for `flatten`, which
asks a view which types are leaves: each view has a copy of its own.

Owns the choice among several structures in the inline caches, too. A predicate is asked
about a tree only once, so with one a structure has to be chosen before anything is
asked. What the same predicate found in such a tree the last time is the guess; a
predicate is known by its code, which says nothing about its closure. A wrong guess
costs time and nothing else. Nothing here knows how structures are learned.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Collection, Hashable
from types import CodeType, FunctionType
from typing import Any, Final, TypeAlias

from ..core.keypath import KeyPath
from ..core.registry import Mode, View
from ..core.treedef import PyTreeDef
from ..core.walk import Code, Runner, leaf_paths, reference
from ..safely import is_lasting
from .emit import FAILURES, compile_text
from .flatten import Reader
from .plan import FEW_LEAVES, Plan
from .unflatten import emit_unflatten


Flatten: TypeAlias = "Callable[[Any], tuple[list[Any], PyTreeDef] | None]"
Asking: TypeAlias = "Callable[[Any, Any], tuple[list[Any], Any] | None]"

_MAX_PATHS: Final = 16_384
_MAX_MODES: Final = 16
_MAX_COVERS: Final = 16


class _NoLeaf:
    """A type that no leaf has."""


class Compiled(Runner):
    """The runner of a structure that was compiled.

    Attributes:
        key: What structures are told apart by.
        plan: Its plan.
        size: How much it takes, in characters of text and entries of lists.
        copies: How much the copies of `flatten` take that views have.
    """

    def __init__(self, key: Hashable, plan: Plan) -> None:
        super().__init__(
            self._first_unflatten,
            self._first_up_to,
            self._find_paths,
            self._find_covers,
        )
        self.key = key
        self.plan = plan
        self.size = plan.entries + 100 * len(plan.parts)
        self.copies = 0
        self._flatten: tuple[CodeType, dict[str, Any]] | None = None
        self._asking: tuple[CodeType, dict[str, Any]] | None = None
        self._treedefs: dict[Mode, PyTreeDef] = {}
        self._covered: dict[Runner, list[int] | None] = {}

    def compile(self, text: Any, name: str) -> Callable[..., Any]:
        """Return a function of a text, and take note of what it takes."""
        function = compile_text(text, name)
        self.size += len(str(text))
        return function

    def retire(self, runner: Runner) -> None:
        """Leave the structure to another runner, and forget the generated lines."""
        self.unflatten, self.flatten_up_to = runner.unflatten, runner.flatten_up_to
        self.paths, self.covers = runner.paths, runner.covers
        self._covered.clear()
        self._treedefs.clear()

    def outdate(self) -> None:
        """Go on under another state of the registry, where no view has a copy yet."""
        self.copies = 0
        self._covered.clear()  # other structures, which may be dropped

    def flatten_for(self, view: View, treedef: PyTreeDef, leaves: list[Any]) -> Flatten:
        """Return a function that flattens trees of this structure under a view.

        The treedef that it gives is the first one that this structure had in the mode
        of the view, where one can stand for all others.

        Args:
            view: The view.
            treedef: The treedef of such a tree under that view.
            leaves: The leaves of the tree.
        """
        if self._flatten is None:
            function = self.compile(Reader(self.plan, None).write(), "flatten")
            names = function.__globals__
            self._flatten = names.pop("flatten").__code__, names
        code, names = self._flatten
        given: dict[str, Any] = {"known_leaves": view.leaf_types.issuperset}
        types = [cls if is_lasting(cls) else None for cls in map(type, leaves)]
        given["ALIKE"] = types[0] if len({*types}) == 1 else None
        if len(leaves) <= FEW_LEAVES:
            given |= {f"T{number}": cls for number, cls in enumerate(types, start=1)}
        return self._copy(code, {**names, **given}, treedef)

    def asking_for(
        self,
        view: View,
        treedef: PyTreeDef,
        leaves: list[Any],
        finish: Callable[..., tuple[list[Any], Any]],
    ) -> Asking:
        """Return a function that flattens such trees under a view, asking a predicate.

        Args:
            view: The view.
            treedef: The treedef of such a tree under that view.
            leaves: The leaves of the tree.
            finish: Walks a tree of another structure: takes the tree, the predicate,
                its answers so far and the calls of flatten functions.
        """
        if self._asking is None:
            function = self.compile(
                Reader(self.plan, None, asks=True).write(), "flatten"
            )
            names = function.__globals__
            self._asking = names.pop("flatten").__code__, names
        code, names = self._asking
        known = [cls for cls in map(type, leaves) if cls in view.leaf_types]
        given = {
            "T": max({*known}, key=known.count, default=_NoLeaf),
            "leaf_types": view.leaf_types,
            "go_on": finish,
        }
        return self._copy(code, {**names, **given}, treedef)

    def _copy(
        self, code: CodeType, names: dict[str, Any], treedef: PyTreeDef
    ) -> FunctionType:
        """Return a function with globals of its own, and the treedef among them."""
        if self.plan.varying:
            names["treedef_with"] = _treedef_maker(self, treedef)
        else:
            if len(self._treedefs) >= _MAX_MODES:
                self._treedefs.clear()
            names["TREEDEF"] = self._treedefs.setdefault(treedef._mode, treedef)
        # a code object of its own: what the interpreter learns of names holds for one
        made = FunctionType(code.replace(), names)
        self.copies += _size_of(made)
        return made

    def _template(self, treedef: PyTreeDef) -> list[Any]:
        """Return the code of a treedef without the aux data that varies."""
        template = [*treedef._code]
        for place in self.plan.varying:
            template[place] = (*template[place][:3], None)
        return template

    def _first_unflatten(self, treedef: Any, leaves: list[Any]) -> Any:
        made = self._made("unflatten", self._first_unflatten)
        return made(treedef, leaves)

    def _first_up_to(self, treedef: Any, tree: Any) -> list[Any] | None:
        made = self._made("flatten_up_to", self._first_up_to)
        found: list[Any] | None = made(treedef, tree)
        return found

    def _made(self, name: str, first: Any) -> Callable[..., Any]:
        """Return the function of that name, and put it in the place of the first."""
        function = usual = getattr(reference, name)
        try:
            if name == "unflatten":
                text = emit_unflatten(self.plan)
                text.names["explain_failure"] = _explain_failure
                function = self.compile(text, name)
            elif not self.plan.varying:
                text = Reader(self.plan, None, exact=False).write()
                function = self.compile(text, name)
        except RecursionError:  # the caller is deep in a stack of its own
            return usual  # type: ignore[no-any-return]  # of a runner
        if getattr(self, name) == first:
            setattr(self, name, function)  # else another thread came first
        return function  # type: ignore[no-any-return]  # as above

    def _find_paths(self, treedef: Any) -> list[KeyPath]:
        if self.plan.varying or self.plan.root.leaves > _MAX_PATHS:
            return reference.paths(treedef)
        if self.known_paths is None:
            self.known_paths = leaf_paths(treedef._code, treedef._count)
            self.size += 20 * len(self.known_paths)
        return [*self.known_paths]

    def bare_paths(self, treedef: Any) -> list[tuple[Any, ...]]:
        """Return the key paths of the leaves, and remember them as `paths` does."""
        if self.plan.varying or self.plan.root.leaves > _MAX_PATHS:
            return reference.bare_paths(treedef)
        if self.bare is None:
            self.bare = reference.bare_paths(treedef)
            self.size += 10 * len(self.bare)
        return [*self.bare]

    def _find_covers(self, treedef: Any, whole: Any) -> list[int] | None:
        runner = whole._runner
        if self.plan.varying or type(runner) is not Compiled or runner.plan.varying:
            return reference.covers(treedef, whole)
        try:
            return self._covered[runner]
        except KeyError:
            found = reference.covers(treedef, whole)
        if len(self._covered) >= _MAX_COVERS:
            self._covered.clear()
        self._covered[runner] = found
        return found


def _size_of(function: FunctionType) -> int:
    return len(function.__globals__) + len(function.__code__.co_code)


def _explain_failure(treedef: Any, leaves: list[Any], error: Exception) -> Any:
    """Rebuild by the code, to learn where it fails; raise what failed in any case.

    Running out of stack is no failure of the tree: the code needs none.
    """
    # the frame of its traceback holds the error: a cycle, with the leaves
    BaseException.with_traceback(error, None)
    tree = reference.unflatten(treedef, leaves)
    if isinstance(error, RecursionError):
        return tree
    raise error


def _treedef_maker(
    compiled: Compiled, treedef: PyTreeDef
) -> Callable[[list[Any]], PyTreeDef]:
    """Return a function from the aux data that varies to a treedef."""
    places, count = compiled.plan.varying, treedef._count
    mode: Mode = treedef._mode
    template = compiled._template(treedef)

    def treedef_with(varying: list[Any]) -> PyTreeDef:
        code = [*template]
        for place, aux in zip(places, varying, strict=True):
            run, rule, arity, _ = code[place]
            code[place] = (run, rule, arity, aux)
        made = PyTreeDef._make(tuple(code), count, mode)
        made._runner = compiled
        return made

    return treedef_with


# ------------------------------------------------------------------ inline caches

_MAX_KEYS = 256
_MAX_FUNCTIONS = 256
_MAX_ALIKE = 16
_MAX_ASKING = 48
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
        needed: After how many uses these are compiled, by hash.
        skip: How many trees that were walked to let pass.
        samples: How many trees were counted for others that passed.
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
        self.needed: dict[int, int] = {}
        self.skip = self.fruitless = self.rest = self.misses = self.samples = 0
        self.refused = 0

    def is_full(self, code: Code) -> bool:
        """Return whether there is no room for a structure among those with such roots.

        Once in a while there is, for a change.
        """
        if len(self.functions) < _MAX_ALIKE:
            return False
        if len(self.functions) < _MAX_FUNCTIONS:
            rule, arity, aux = code[-1][1:]
            roots = [made.plan.root for made in self.functions]
            if self.cls in _SEQUENCES:
                alike = [root for root in roots if root.arity == arity]
            elif self.cls in _MAPPINGS:
                alike = [
                    root
                    for root in roots
                    if root.varies
                    or (root.rule is rule and rule.same_aux(root.aux, aux))
                ]
            else:
                alike = roots
            if len(alike) < _MAX_ALIKE:
                return False
        self.refused += 1
        return self.refused % _SELDOM != 0

    def sample(self, size: int) -> None:
        """Count one of so many trees; not always the same of a few that take turns."""
        self.samples += 1
        self.skip = max(self.skip, size - 1 - self.samples % 2)

    def add(self, compiled: Compiled, function: Any) -> None:
        """Take a structure in; the oldest leaves if there are too many."""
        functions = {**self.functions, compiled: function}
        if len(functions) > (_MAX_ASKING if self.asks else _MAX_FUNCTIONS):
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
            except FAILURES:  # a key that changed its mind
                flatten = None
            found = None if flatten is None else flatten(tree)
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

    def is_full(self, code: Code) -> bool:
        """Return whether there is no room; once in a while there is, for a change."""
        if len(self.functions) < _MAX_ASKING:
            return False
        self.refused += 1
        return self.refused % _SELDOM != 0

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
            except FAILURES:
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
        except FAILURES:  # a key that changed its mind
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
