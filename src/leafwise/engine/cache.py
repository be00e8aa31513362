"""What is hot: counting, compiling, choosing, forgetting.

Owns everything that the engine remembers. A compiled structure holds the rules of its
nodes, not their types, so it stays right whatever is registered; which of them
a tree has is learned anew under each state of the registry, from the walk of a first
tree. Nothing waits for a lock: whoever finds another thread at work goes on without
the engine. Where there are too many structures, all are forgotten.
"""

from __future__ import annotations

from _thread import allocate_lock, get_ident
from _weakref import ref
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any, Final

from .._hooks import hooks
from .._lazy import is_traced
from .._runtime import Guard, is_permanent
from ..core.keypath import KeyPath
from ..core.registry import Mode, View, view_of
from ..core.treedef import PyTreeDef, make_treedef
from ..core.walk import Runner, flatten, reference
from . import text
from .text import Builder, Part, Plan, Reader, make_plan, structure_key


_MAX_PLANS, _MAX_SIZE, _MAX_COUNTS = 256, 2_000_000, 512
_MAX_PATHS = 16_384
_MAX_KEYS, _MAX_ALIKE, _MAX_TURNS = 256, 16, 256
_MAX_MISSES, _MAX_REST = 16, 128
_READ_AFTER = 16
_NEVER: Final = float("inf")


class _NoLeaf:
    """A type that no leaf has."""


class Structure(Runner):
    """The runner of a structure that was compiled.

    Its functions are made when they are first wanted. None of them depends on the
    registry but those that flatten: they know which types are leaves in a view, so each
    view has copies of its own.

    Attributes:
        key: What structures are told apart by.
        plan: Its plan.
    """

    def __init__(self, key: tuple[Any, ...], plan: Plan) -> None:
        make = self._maker
        super().__init__(make("unflatten"), make("flatten_up_to"), self._find_paths)
        self.key = key
        self.plan = plan
        self._keeps_paths = not plan.varying and plan.root.leaves <= _MAX_PATHS
        self._codes: dict[bool, tuple[CodeType, dict[str, Any]]] = {}
        self._treedefs: dict[Mode, PyTreeDef] = {}

    def retire(self, runner: Runner) -> None:
        """Leave the structure to another runner."""
        for name in ("unflatten", "flatten_up_to", "paths"):
            setattr(self, name, getattr(runner, name))
        self._treedefs = {}

    def function_for(
        self, root: _Root, treedef: PyTreeDef, leaves: list[Any], go_on: Any
    ) -> FunctionType:
        """Return a function that flattens trees of this structure under a view.

        The treedef that it gives is the first one that this structure had in the mode
        of the view, where one can stand for all others.

        Args:
            root: Says which view that is, and whether a predicate is asked.
            treedef: The treedef of such a tree under that view.
            leaves: The leaves of the tree.
            go_on: Walks a tree of another structure, of which something was asked.
        """
        view, asks = root.view, root.asks
        if asks not in self._codes:
            names = Reader(self.plan, asks=asks).compiled("flatten").__globals__
            self._codes[asks] = names.pop("flatten").__code__, names
        code, names = self._codes[asks]
        types = [cls if is_permanent(cls) else None for cls in map(type, leaves)]
        known = [cls for cls in types if cls in view.leaf_types]
        given = {
            "known_leaves": view.leaf_types.issuperset,
            "leaf_types": view.leaf_types,
            "go_on": go_on,
            "ALIKE": types[0] if len({*types}) == 1 else None,
            "T": max({*known}, key=known.count, default=_NoLeaf),
        }
        if len(types) <= text.FEW_LEAVES:
            given |= {f"T{number}": cls for number, cls in enumerate(types, start=1)}
        if self.plan.varying:
            given["treedef_with"] = self._treedef_maker(treedef)
        else:
            given["TREEDEF"] = self._treedefs.setdefault(treedef._mode, treedef)
        # a code object of its own: what the interpreter learns of names holds for one
        made = FunctionType(code.replace(), {**names, **given})
        made.__defaults__ = (None,) * (code.co_argcount - 1)
        return made

    def _treedef_maker(self, treedef: PyTreeDef) -> Callable[[list[Any]], PyTreeDef]:
        """Return a function from the aux data that varies to a treedef."""
        positions, count, mode = self.plan.varying, treedef._count, treedef._mode
        template = [*treedef._code]
        for index in positions:  # nothing of the first tree is kept
            template[index] = (*template[index][:3], None)

        def treedef_with(varying: list[Any]) -> PyTreeDef:
            code = [*template]
            for index, aux in zip(positions, varying, strict=True):
                run, rule, arity, _ = code[index]
                code[index] = (run, rule, arity, aux)
            made = PyTreeDef._make(tuple(code), count, mode)
            made._runner = self
            return made

        return treedef_with

    def _maker(self, name: str) -> Any:
        """Return what makes the function of that name, and makes way for it."""

        def first(treedef: Any, given: Any) -> Any:
            function = getattr(reference, name)
            try:
                if name == "unflatten":
                    function = Builder(self.plan).compiled(name)
                elif not self.plan.varying:
                    function = Reader(self.plan, exact=False).compiled(name)
                if getattr(self, name) is first:  # else it was retired meanwhile
                    setattr(self, name, function)
            except RecursionError:  # the caller is deep in a stack of its own
                pass
            return function(treedef, given)

        return first

    def _find_paths(self, treedef: Any) -> list[KeyPath]:
        if not self._keeps_paths:
            return reference.paths(treedef)
        if self.known_paths is None:
            self.known_paths = reference.paths(treedef)
        return [*self.known_paths]


# ------------------------------------------------------------------- choosing

_MAPPINGS: Final = frozenset({dict, OrderedDict, defaultdict})
_SEQUENCES: Final = frozenset({list, tuple, deque})


class _Turns:
    """Structures that the root of a tree does not tell apart.

    Programs repeat themselves: what came after the last structure the last time is
    tried first. Where a predicate is asked it is the only one that is tried, since
    nothing may be asked twice.

    Attributes:
        asks: Whether a predicate is asked.
        steps: For each structure its function, the step that came after it the last
            time, and the structure.
        last: The step that was found last.
        way: What is called: `choose`, or the only function where it was right.
        misses: How often in a row none was found.
        rest: How many calls to leave to the walk.
    """

    def __init__(self, asks: bool) -> None:
        self.asks = asks
        self.steps: dict[Structure, list[Any]] = {}
        self.last: list[Any] = []
        self.way: Any = self.choose
        self.misses = self.rest = 0

    def choose(self, *given: Any) -> Any:
        """Flatten a tree; return None if it is left to the walk, and nothing asked."""
        if self.rest > 0:
            self.rest -= 1
            return None
        step = self.last[1]
        found = step[0](*given)
        if found is None and not self.asks:
            for step in [*self.steps.values()]:
                found = step[0](*given)
                if found is not None:
                    break
        if found is None or found[1]._runner is not step[2]:  # it was walked
            self.misses += 1
            if self.misses > _MAX_MISSES:
                self.rest = min(self.misses, _MAX_REST)
            return found
        self.misses = 0
        self.last[1] = self.last = step
        if len(self.steps) == 1:
            self.way = step[0]
        return found

    def saw(self, structure: Structure, function: Any) -> None:
        """Take note of what was found."""
        new: list[Any] = [function, None, structure]
        new[1] = new  # before other threads see it
        step = self.steps.setdefault(structure, new)
        if self.last:
            self.last[1] = step
        self.last = step
        self.way = self.choose
        if not self.asks:
            self.misses = self.rest = 0


class _Root:
    """The compiled structures of trees with one type of root, under one view.

    With one structure its function is called at once. With several, the root tells
    them apart where it can (its keys, its length), and the code of the predicate, if
    there is one; it says nothing of a closure, and a wrong guess costs time only.

    Attributes:
        view: The view.
        cls: The type of the roots.
        asks: Whether a predicate is asked.
        tell: What is looked at in a root.
        functions: The structures with their functions.
        turns: Which of them are met, by the hash of what the root tells.
        memory: What it belongs to.
        counts: How many uses of a structure are left until it is compiled, by its hash.
        skip: How many trees that were walked to let pass.
        walked: How many trees that were walked were counted.
        fruitless: How many of them in a row led to nothing.
    """

    def __init__(self, memory: _Memory, view: View, tree: Any, *, asks: bool) -> None:
        self.memory = memory
        self.view = view
        cls: type[Any] = type(tree)
        self.cls = cls
        self.asks = asks
        self.tell: Callable[[Any], Any] = type
        if cls in _SEQUENCES or cls in _MAPPINGS:
            self.tell = tuple if cls in _MAPPINGS and len(tree) <= _MAX_KEYS else len
        self.functions: dict[Structure, Any] = {}
        self.turns: dict[int, _Turns] = {}
        self.counts: dict[int, float] = {}
        self.skip = self.walked = self.fruitless = 0

    # ----------------------------------------------------------------- choosing

    def lead(self) -> None:
        """Put the way in where the operations look for it."""
        table = self.view.asked if self.asks else self.view.hot
        functions = [*self.functions.values()]
        if functions:
            is_sure = len(functions) == 1 and self.fruitless < _MAX_MISSES
            table[self.cls] = functions[0] if is_sure else self._chooser()
        if self.memory is not engine.memory:  # asked last: another thread may be at it
            table.pop(self.cls, None)

    def _chooser(self) -> Any:
        find, tell = self.turns.get, self.tell

        def choose(tree: Any) -> Any:
            turns = find(hash(tell(tree)))
            return None if turns is None else turns.way(tree)

        def choose_asking(tree: Any, ask: Any) -> Any:
            code = id(ask.__code__) if type(ask) is FunctionType else None
            turns = find(hash((code, tell(tree))))
            return None if turns is None else turns.way(tree, ask)

        return choose_asking if self.asks else choose

    def mark(self, tree: Any, ask: Any) -> int:
        """Return what turns are kept by."""
        if not self.asks:
            return hash(self.tell(tree))
        code = id(ask.__code__) if type(ask) is FunctionType else None
        return hash((code, self.tell(tree)))

    def saw(self, mark: int, structure: Structure) -> None:
        """Take note of a structure that was walked, or is new."""
        if len(self.turns) >= _MAX_TURNS:
            self.turns.clear()
        turns = self.turns.get(mark) or _Turns(self.asks)
        turns.saw(structure, self.functions[structure])
        self.turns[mark] = turns  # other threads see it when it is complete

    def missed(self, mark: int) -> None:
        """Take note of a walk that led to nothing, or of a wrong guess."""
        self.fruitless += 1
        if self.fruitless == _MAX_MISSES:
            self.lead()
        turns = self.turns.get(mark)
        if turns is not None:
            turns.way = turns.choose

    # ----------------------------------------------------------------- counting

    def pays(self, key: Any, digest: int, nodes: int) -> bool:
        """Count a use of a structure; return whether it is to be compiled.

        The more structures were forgotten, the more uses it takes.
        """
        left = self.counts.get(digest)
        if left is None:
            left = _uses_needed(key, nodes) * (1 + self.memory.evicted / 64)
        left -= 1 if self.asks else engine.sample_every
        if len(self.counts) >= _MAX_COUNTS:
            self.counts.clear()
        self.counts[digest] = left
        return left <= 0 or (engine.mode == "eager" and left < _NEVER)

    def function_for(self, structure: Structure, treedef: Any, leaves: Any) -> Any:
        """Return a function that flattens trees of a structure."""
        view = self.view

        def go_on(tree: Any, calls: Any, ask: Any = None, answers: Any = ()) -> Any:
            stop = None
            if ask is not None:
                self.missed(self.mark(tree, ask))
                stop = _answering(answers, ask)
            elif not calls:
                return None
            leaves, code = flatten(tree, view, stop, calls)
            if answers and isinstance(answers[0], Exception):
                raise answers[0]  # the tree changed meanwhile
            treedef = make_treedef(code, len(leaves), view)
            observe = hooks.observe
            if code and observe is not None:
                observe(tree, leaves, treedef, view, ask)
            return leaves, treedef

        return structure.function_for(self, treedef, leaves, go_on)


def _answering(answers: list[Any], ask: Any) -> Callable[[Any], Any]:
    """Return a predicate that gives the answers that there are, then asks on."""
    answers.reverse()

    def answer(node: Any) -> Any:
        if not answers:
            return ask(node)
        if isinstance(answers[-1], Exception):
            raise answers.pop()
        return answers.pop()

    return answer


def _uses_needed(key: tuple[Any, ...], nodes: int) -> float:
    """Return after how many uses a structure is compiled.

    Compiling takes as long as 10 to 250 walks: the more, the more of its nodes differ,
    or are few enough to be written out. So what is used less often never takes more
    than half as long again as without the engine, however often that is.

    Args:
        key: What tells the structure from others.
        nodes: How many nodes and leaves it has.
    """
    few: int = sum(2 + min(arity, 5) for _, _, arity, _ in {*key})
    most: int = sum(2 + min(arity, 5) for _, _, arity, _ in key)
    lines = max(few, min(most, text.UNROLLED))
    spread = engine.max_uses - engine.min_uses
    return engine.min_uses + spread * min(1, lines / nodes)


# ------------------------------------------------------------------- the engine


class _Memory:
    """What was learned under one state of the registry.

    Attributes:
        structures: The compiled structures; none of them is retired.
        roots: Which of them are met under a view behind a type of root, with a
            predicate and without.
        evicted: How many were forgotten, because there were too many.
    """

    def __init__(self) -> None:
        self.structures: dict[tuple[Any, ...], Structure] = {}
        self.roots: dict[tuple[View, type, bool], _Root] = {}
        self.evicted = 0


class Request:
    """Asks for a mode of the engine, for as long as something refers to it."""

    def __init__(self, mode: str, thread: int | None) -> None:
        self.mode = mode
        self.thread = thread


class Engine:
    """The state of the engine; there is one.

    Attributes:
        mode: `on`, `off`, or `eager` (compile on first sight).
        memory: What was learned.
        compiled: How many structures were compiled so far.
        evicted: How many of them were forgotten, because there were too many.
        min_uses: After how many uses the cheapest structures are compiled.
        max_uses: After how many uses the most expensive ones are.
        sample_every: Of how many trees that were walked one is counted.
    """

    def __init__(self) -> None:
        self.min_uses = 32
        self.max_uses = 256
        self.sample_every = 16
        self._lock = allocate_lock()
        self._guard = Guard(self._begin_in_child)
        self._requests: list[ref[Request]] = []
        self._applied: ref[Request] | None = None
        self.memory = _Memory()
        self.mode = "off"
        self.compiled = self.evicted = 0
        self._counters = self._make_counters()

    def configure(self, min_uses: int, max_uses: int, sample_every: int) -> None:
        """Change after how many uses structures are compiled; forget all structures."""
        self.min_uses = min_uses
        self.max_uses = max_uses
        self.sample_every = sample_every
        self._counters = self._make_counters()
        self._apply()

    # ---------------------------------------------------------------- switching

    def request(self, mode: str, thread: int | None) -> Request:
        """Turn the engine on or off, or make it eager; what was learned is lost.

        Args:
            mode: The mode.
            thread: The thread that asks for it, None if it is for good.

        Returns:
            The request, to be kept until it is withdrawn; if an interrupt keeps its
            owner from that, it ends with the owner. The last one of several counts.
        """
        request = Request(mode, thread)
        self._requests.append(ref(request))
        self._apply()
        return request

    def withdraw(self, request: Request) -> None:
        """Go back to the request before, if this one was the last."""
        if ref(request) in self._requests:
            self._requests.remove(ref(request))
        self._apply()

    def repair(self, *_: object) -> None:
        """Apply the last request, if an interrupt kept it from being applied."""
        last = None if is_traced() else self._requests[-1]
        if last is not None and (last() is None or self._applied is not last):
            self._apply()

    def _apply(self) -> None:
        """Apply the last request, also if it comes while an older one is applied."""
        with self._guard.lock:
            self._applied = None
            for made in [*self._requests]:
                if made() is None:
                    self._requests.remove(made)
            while self._applied is not self._requests[-1]:
                made = self._requests[-1]
                request = made()
                if request is not None:
                    self.mode = request.mode
                self.forget()
                is_off = self.mode == "off"
                hooks.observe = self.repair if is_off else self.observe
                hooks.runner = self._first_runner()
                hooks.reader = None if is_off else _offer_reader
                self._applied = made

    def _begin_in_child(self) -> None:
        """Go on in a forked child, where the other threads left off."""
        learning, self._lock = self._lock.locked(), allocate_lock()
        mine, made = (None, get_ident()), self._requests
        self._requests = [m for m in made if (one := m()) and one.thread in mine]
        if self._applied is not self._requests[-1]:
            self._apply()
        elif learning:
            self.forget()

    def _first_runner(self) -> Runner:
        """Return the runner of a treedef that nothing is known about."""
        if self.mode == "off":
            return reference
        return self._counters[0 if self.mode == "eager" else -1]

    def forget(self) -> None:
        """Drop everything that was learned."""
        text.forget_files()
        for structure in [*self._begin_anew().structures.values()]:
            structure.retire(self._first_runner())

    def outdate(self) -> None:
        """Begin anew under another state of the registry, with the same structures.

        Those with nodes of classes that were registered, or unregistered, go: nothing
        asks for them any more, or what does can compile its own.
        """
        for structure in [*self._begin_anew(keep=True).structures.values()]:
            if not all(map(_is_current, structure.plan.parts)):
                self._discard(structure)

    def _begin_anew(self, *, keep: bool = False) -> _Memory:
        """Begin a new memory, with or without the structures; return the old one."""
        fresh = _Memory()
        with self._guard.lock:  # of two who do so, each drops something else
            memory = self.memory
            if keep:
                fresh.structures, fresh.evicted = memory.structures, memory.evicted
            self.memory = fresh
        for root in [*memory.roots.values()]:
            root.lead()
        memory.roots.clear()  # where the collector of garbage is off, or frozen
        return memory

    def _discard(self, structure: Structure) -> None:
        """Let go of a structure."""
        self.memory.structures.pop(structure.key, None)
        structure.retire(self._first_runner())

    # ------------------------------------------------------------------ learning

    def observe(
        self, tree: Any, leaves: list[Any], treedef: Any, view: View, ask: Any = None
    ) -> None:
        """Take note of a tree that was walked, and compile what comes often."""
        memory = self.memory
        root = memory.roots.get((view, type(tree), ask is not None))
        if root is not None and root.skip > 0:
            root.skip -= 1
            return
        self.repair()
        lock = self._lock
        if is_traced() or not lock.acquire(blocking=False):
            return
        try:
            if root is None:
                root = _Root(memory, view, tree, asks=ask is not None)
                memory.roots[view, root.cls, root.asks] = root
            root.walked += 1
            is_eager = self.mode == "eager"
            if not is_eager and (not root.asks or root.walked == 1):
                # not always the same of a few that take turns
                root.skip = self.sample_every - 1 - root.walked % 2
            if root.walked == 1 and root.skip > 0:
                return  # most types of roots are met once
            self._learn(root, leaves, treedef, root.mark(tree, ask))
        except RecursionError:  # the caller is deep in a stack of its own
            pass
        finally:
            lock.release()

    def _learn(self, root: _Root, leaves: Any, treedef: Any, mark: int) -> None:
        """Count a structure that was walked, and compile it when that pays."""
        key = structure_key(treedef._code)
        digest, structure = hash(key), root.memory.structures.get(key)
        if structure not in root.functions:
            nodes = len(key) + treedef._count
            is_paid = structure is not None or root.pays(key, digest, nodes)
            is_full = mark in root.turns and len(root.turns[mark].steps) >= _MAX_ALIKE
            if is_full or not is_paid:
                root.missed(mark)
                return
            structure = structure or self._compiled(key, treedef)
            if structure is None:
                root.counts[digest] = _NEVER
                return
            root.counts.pop(digest, None)
            function = root.function_for(structure, treedef, leaves)
            root.functions[structure] = function
            root.fruitless = 0
            root.lead()
        treedef._runner = structure
        root.saw(mark, structure)
        if root.memory is not self.memory:  # the registry changed meanwhile
            self._discard(structure)

    def _compiled(self, key: tuple[Any, ...], treedef: Any) -> Structure | None:
        """Return the structure of a treedef, compiled; None if it is left to the walk.

        Where there are too many, all are forgotten.
        """
        memory = self.memory
        structure = memory.structures.get(key)
        plan = None if structure else make_plan(treedef._code)
        if plan is None:
            return structure
        nodes = sum(map(len, memory.structures))
        if len(memory.structures) >= _MAX_PLANS or nodes > _MAX_SIZE:
            self.evicted += len(memory.structures)
            self.forget()
            self.memory.evicted = memory.evicted + _MAX_PLANS
            return None
        self.compiled += 1
        structure = memory.structures[key] = Structure(key, plan)
        if memory is not self.memory:  # the registry changed meanwhile
            self._discard(structure)
        return structure

    # ----------------------------------------------------- treedefs without trees

    def _make_counters(self) -> list[Runner]:
        """Return runners for each number of uses left, beginning with the last use."""
        counters = [self._counter(None)]
        while len(counters) < self.min_uses:
            counters.append(self._counter(counters[-1]))
        return counters

    def _counter(self, following: Runner | None) -> Runner:
        """Return a runner that hands a treedef on to another one after one use.

        The last of them finds the structure.
        """

        def handed(name: str) -> Any:
            def use(treedef: Any, given: Any) -> Any:
                treedef._runner = following or self._runner_of(treedef)
                return getattr(reference, name)(treedef, given)

            return use

        return Runner(handed("unflatten"), handed("flatten_up_to"), reference.paths)

    def _runner_of(self, treedef: Any) -> Runner:
        """Return the runner of the structure of a treedef."""
        if is_traced() or not treedef._code or not self._lock.acquire(blocking=False):
            return reference
        try:
            return self._compiled(structure_key(treedef._code), treedef) or reference
        except RecursionError:  # the caller is deep in a stack of its own
            return reference
        finally:
            self._lock.release()


def _is_current(part: Part) -> bool:
    """Return whether the class of a part is still registered as it was."""
    rule = part.rule
    return not rule.where or view_of(rule.namespace).find(part.cls) is rule


def _offer_reader(shape: Any, memory: str) -> Any:
    """Return a function that reads objects of a shape, if it was met often enough."""
    shape.sights += 1
    if shape.sights < (1 if engine.mode == "eager" else _READ_AFTER):
        return None
    return text.reading_text(shape, memory).compiled("read")


engine: Final = Engine()
