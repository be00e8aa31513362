"""What is hot: counting, compiling, bounds, invalidation.

Owns everything that the engine remembers. A compiled structure holds the rules of its
nodes, not their types, so it stays right whatever is registered; which of them
a tree has is learned anew under each state of the registry, from the walk of a first
tree. Nothing waits for a lock: whoever finds another thread at work goes on without
the engine.
"""

from __future__ import annotations

from _thread import allocate_lock, get_ident
from _weakref import ref
from collections.abc import Callable, Hashable, Mapping
from typing import Any, Final

from ..core.registry import EMPTY, Layer, View, layers
from ..core.treedef import make_treedef
from ..core.walk import Begun, Runner, flatten, go_on, hooks, reference
from ..lazy import is_traced
from ..safely import Guard
from .asking import MAX_DEPTH
from .compiled import Compiled, Guesses, InlineCache
from .emit import reader_after
from .plan import Plan, make_plan, structure_key


_MAX_PLANS = 256
_MAX_SIZE = 2_000_000
_MAX_CACHES = 512
_MAX_COUNTS = 512
_PATIENCE = 128
_MAX_SKIP = 256
_MAX_FAILURES = 8
_FEWEST_USES = 32
_MOST_USES = 256
_SAMPLE = 4
_MOST_LINES = 5
_READ_AFTER = 16
_REFUSED = -(1 << 40)


class _Memory:
    """What was learned under one state of the registry.

    Attributes:
        layers: The registrations.
        structures: The compiled structures, oldest first; none of them is retired.
        caches: Which of them are met under a view behind a type of root, with a
            predicate and without.
        sights: How often types of roots were met, up to `_SAMPLE`.
        evicted: How many had to leave for others.
    """

    def __init__(self) -> None:
        self.sights: dict[type, int] = {}
        self.layers = layers()
        self.structures: dict[Hashable, Compiled] = {}
        self.caches: dict[tuple[View, type, bool], InlineCache] = {}
        self.evicted = 0

    def is_rare(self, cls: type) -> bool:
        """Return whether a type of root was met a few times only, and note that."""
        seen = self.sights.get(cls, 1)
        if seen < _SAMPLE:
            if len(self.sights) >= _MAX_COUNTS:
                self.sights.clear()
            self.sights[cls] = seen + 1
        return seen < _SAMPLE

    @property
    def size(self) -> int:
        """How much all structures take together."""
        return sum(made.size + made.copies for made in [*self.structures.values()])


class _Request:
    """That the engine is in a mode, as long as nobody requests another one.

    Attributes:
        mode: The mode.
        thread: The thread that requests it, None if it is for good.
        owner: A weak reference to what withdraws it; None if it is for good. An
            interrupt may keep the owner from that, but not from going away.
    """

    __slots__ = ("mode", "owner", "thread")

    def __init__(self, mode: str, owner: object | None) -> None:
        self.mode = mode
        self.owner = None if owner is None else ref(owner)
        self.thread = None if owner is None else get_ident()

    def is_over(self) -> bool:
        """Return whether nobody is left to withdraw the request."""
        return self.owner is not None and self.owner() is None


class Engine:
    """The state of the engine; there is one.

    Attributes:
        mode: `on`, `off`, or `eager` (compile on first sight).
        memory: What was learned.
        compiled: How many structures were compiled so far.
        evicted: How many of them had to leave for others.
    """

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self._guard = Guard(self._begin_in_child)
        self._requests: list[_Request] = []
        self._applied: _Request | None = None
        self.memory = _Memory()
        self.mode = "off"
        self.compiled = self.evicted = 0
        self._counters = self._make_counters()

    # ---------------------------------------------------------------- switching

    def request(self, mode: str, owner: object | None = None) -> _Request:
        """Turn the engine on or off, or make it eager; what was learned is lost.

        Args:
            mode: The mode.
            owner: What the request lasts as long as, at most; None for good.

        Returns:
            What `withdraw` takes. Of several requests the last one counts.
        """
        request = _Request(mode, owner)
        self._requests.append(request)
        self._apply()
        return request

    def withdraw(self, request: _Request) -> None:
        """Go back to the request before, if this one was the last."""
        if request in self._requests:
            self._requests.remove(request)
        self._apply()

    def repair(self, *_: object) -> None:
        """Apply the last request, if an interrupt kept it from being applied."""
        if self._requests[-1].is_over() or self._applied is not self._requests[-1]:
            self._apply()

    def _apply(self) -> None:
        """Apply the last request, also if it comes while an older one is applied."""
        with self._guard.lock:
            self._applied = None
            for request in [*self._requests]:
                if request.is_over():
                    self._requests.remove(request)
            while self._applied is not self._requests[-1]:
                request = self._requests[-1]
                self._switch(request.mode)
                self._applied = request

    def _switch(self, mode: str) -> None:
        self.mode = mode
        self.forget()
        hooks.observe = self.repair if mode == "off" else self.observe
        hooks.runner = self.first_runner()
        meetings = 1 if mode == "eager" else _READ_AFTER
        hooks.reader = None if mode == "off" else reader_after(meetings)

    def _begin_in_child(self) -> None:
        """Go on in a forked child, where the other threads left off."""
        learning, self._lock = self._lock.locked(), allocate_lock()
        mine = (None, get_ident())
        self._requests = [made for made in self._requests if made.thread in mine]
        if self._applied is not self._requests[-1]:
            self._apply()
        elif learning:
            self.forget()

    def first_runner(self) -> Runner:
        """Return the runner of a treedef that nothing is known about."""
        if self.mode == "off":
            return reference
        return self._counters[-1 if self.mode == "eager" else 0]

    def forget(self) -> None:
        """Drop everything that was learned."""
        for compiled in [*self._begin_anew().structures.values()]:
            compiled.retire(self.first_runner())

    def outdate(self) -> None:
        """Begin anew under another state of the registry, with the same structures.

        Those with nodes of classes that were registered, or unregistered, go: nothing
        asks for them any more, or what does can compile its own.
        """
        before = self._begin_anew(keep=True)
        changed = _changed(before.layers, self.memory.layers)
        for compiled in [*before.structures.values()]:
            compiled.outdate()
            if changed and any(map(changed, compiled.plan.classes)):
                self._discard(self.memory, compiled)

    def _begin_anew(self, *, keep: bool = False) -> _Memory:
        """Begin a new memory, with or without the structures; return the old one."""
        fresh = _Memory()
        with self._guard.lock:  # of two who do so, each drops something else
            memory = self.memory
            if keep:
                fresh.structures, fresh.evicted = memory.structures, memory.evicted
                fresh.sights = memory.sights
            self.memory = fresh
        for cache in [*memory.caches.values()]:
            cache.end()
        return memory

    # ----------------------------------------------------------------- counting

    def observe(
        self, tree: Any, leaves: list[Any], treedef: Any, view: View, ask: Any = None
    ) -> None:
        """Take note of a tree that was walked, and compile what comes often."""
        memory, cls = self.memory, type(tree)
        cache = memory.caches.get((view, cls, ask is not None))
        if cache is not None:
            if cache.skip > 0:
                cache.skip -= 1
                return
        elif self.mode != "eager" and hooks.begin is None and memory.is_rare(cls):
            return
        self.repair()
        lock = self._lock
        begin = hooks.begin  # read once: another thread may be as far
        if begin is not None:
            begin()
            hooks.begin = None
        if is_traced() or not treedef._code:
            return
        if not lock.acquire(blocking=False):
            return
        try:
            if cache is None:
                cache = self._new_cache(memory, view, cls, ask is not None)
            if not self._learn(memory, cache, leaves, treedef):
                self._back_off(cache)
            elif not cache.asks and self.mode != "eager":
                cache.sample(_SAMPLE)
            if isinstance(cache, Guesses):
                cache.saw(tree, ask, treedef._runner)
        except RecursionError:  # the caller is deep in a stack of its own
            pass
        finally:
            lock.release()

    def _back_off(self, cache: InlineCache) -> None:
        """Look less and less often where nothing recurs."""
        cache.fruitless += 1
        if cache.fruitless < _PATIENCE or self.mode == "eager":
            return
        cache.skip = min(cache.fruitless, _MAX_SKIP)
        if cache.fruitless == _PATIENCE and cache.functions:
            cache.dispatch()

    def _new_cache(
        self, memory: _Memory, view: View, cls: type, asks: bool
    ) -> InlineCache:
        if len(memory.caches) >= _MAX_CACHES:
            for cache in [*memory.caches.values()]:
                cache.end()
            memory.caches.clear()
        made = Guesses(view, cls) if asks else InlineCache(view, cls)
        return memory.caches.setdefault((view, cls, asks), made)

    def _learn(
        self, memory: _Memory, cache: InlineCache, leaves: list[Any], treedef: Any
    ) -> bool:
        """Count a structure that was walked; return whether it was met before."""
        key = structure_key(treedef._code)
        compiled = memory.structures.get(key)
        seen = cache.counts.get(hash(key), 0) + 1
        if seen < 0:
            return False
        if compiled is None:
            uses = seen if cache.asks else seen * _SAMPLE
            if not self._pays(cache, key, treedef, uses) or cache.is_full(
                treedef._code
            ):
                self._count(cache, hash(key), seen)
                return seen > 1
            plan = make_plan(treedef._code)
            if plan is None or (cache.asks and plan.root.depth > MAX_DEPTH):
                self._count(cache, hash(key), _REFUSED)
                return False
            compiled = self._admit(memory, key, plan)
        elif compiled in cache.functions:
            treedef._runner = compiled
            return cache.asks or self._missed(cache, compiled)
        elif cache.is_full(treedef._code):
            return False
        treedef._runner = compiled
        cache.counts.pop(hash(key), None)
        if not compiled.plan.varying:
            _compact(treedef, key)
        cache.add(compiled, self._function_for(cache, compiled, treedef, leaves))
        cache.fruitless = 0
        if memory is not self.memory:  # the registry changed meanwhile
            self._discard(memory, compiled)
            cache.end()
        return True

    def _function_for(
        self, cache: InlineCache, compiled: Compiled, treedef: Any, leaves: list[Any]
    ) -> Any:
        """Return a function that flattens trees of a structure."""
        view = cache.view
        if not isinstance(cache, Guesses):
            function: Any = compiled.flatten_for(view, treedef, leaves)
            if not compiled.plan.root.calls_user:
                return function
            return _recording(function, view)

        def finish(begun: Begun, tree: Any, ask: Any) -> tuple[list[Any], Any]:
            leaves, code = go_on(tree, view, ask, begun)
            treedef = make_treedef(code, len(leaves), view)
            cache.missed(tree, ask)
            observe = hooks.observe
            if code and observe is not None:
                observe(tree, leaves, treedef, view, ask)
            return leaves, treedef

        return compiled.asking_for(view, treedef, leaves, finish)

    def _pays(self, cache: InlineCache, key: Hashable, treedef: Any, uses: int) -> bool:
        """Return whether a structure was used often enough to be compiled.

        What compiling costs depends on how many different nodes there are, what it
        saves on how many nodes and leaves. The more structures leave for others, the
        more uses it takes.
        """
        if self.mode == "eager":
            return True
        if uses < _FEWEST_USES:
            return False
        needed = cache.needed.get(hash(key))
        if needed is None:
            if len(cache.needed) >= _MAX_COUNTS:
                cache.needed.clear()
            needed = cache.needed[hash(key)] = _uses_needed(treedef)
        return uses >= needed * (1 + self.memory.evicted / 64)

    def _count(self, cache: InlineCache, digest: int, seen: int) -> None:
        if len(cache.counts) >= _MAX_COUNTS:
            cache.counts.clear()
        cache.counts[digest] = seen

    def _missed(self, cache: InlineCache, compiled: Compiled) -> bool:
        """Deal with a structure that is compiled and was walked all the same."""
        if cache.rest > 0:
            cache.rest = cache.misses = 0
            return True
        if not compiled.plan.root.calls_user:  # a leaf of a type not known yet
            return True
        failures = cache.failures[compiled] = cache.failures.get(compiled, 0) + 1
        if failures >= _MAX_FAILURES:
            cache.drop(compiled)
            self._count(cache, hash(compiled.key), _REFUSED)
        return False

    # ------------------------------------------------------------------- bounds

    def _admit(self, memory: _Memory, key: Hashable, plan: Plan) -> Compiled:
        compiled = memory.structures[key] = Compiled(key, plan)
        self.compiled += 1
        # of a copy: a registration, which waits for nobody, may discard some meanwhile
        for oldest in [*memory.structures.values()][:-1]:
            if len(memory.structures) <= _MAX_PLANS and memory.size <= _MAX_SIZE:
                break
            self._discard(memory, oldest)
            self.evicted += 1
            memory.evicted += 1
        return compiled

    def _discard(self, memory: _Memory, compiled: Compiled) -> None:
        """Let go of a structure."""
        memory.structures.pop(compiled.key, None)
        for cache in [*memory.caches.values()]:
            if compiled in cache.functions:
                cache.drop(compiled)
        compiled.retire(self.first_runner())

    # ----------------------------------------------------- treedefs without trees

    def _make_counters(self) -> tuple[Runner, ...]:
        """Return runners that hand a treedef on, one use each, to a compiled one."""
        chain = [self._last_counter()]
        for _ in range(_FEWEST_USES - 1):
            chain.append(_handing_on(chain[-1]))
        return tuple(reversed(chain))

    def _last_counter(self) -> Runner:
        def unflatten(treedef: Any, leaves: list[Any]) -> Any:
            return self.runner_of(treedef).unflatten(treedef, leaves)

        def flatten_up_to(treedef: Any, tree: Any) -> list[Any] | None:
            return self.runner_of(treedef).flatten_up_to(treedef, tree)

        return Runner(unflatten, flatten_up_to, reference.paths, reference.covers)

    def runner_of(self, treedef: Any) -> Runner:
        """Give a treedef the runner of its structure, and return it."""
        runner: Runner = reference
        lock = self._lock
        if is_traced():
            return runner
        if treedef._code and lock.acquire(blocking=False):
            try:
                runner = self._runner_of(treedef)
            except RecursionError:  # the caller is deep in a stack of its own
                pass
            finally:
                lock.release()
        treedef._runner = runner
        return runner

    def _runner_of(self, treedef: Any) -> Runner:
        memory = self.memory
        key = structure_key(treedef._code)
        compiled = memory.structures.get(key)
        if compiled is None:
            plan = make_plan(treedef._code)
            if plan is None:
                return reference
            compiled = self._admit(memory, key, plan)
            if memory is not self.memory:  # the registry changed meanwhile
                self._discard(memory, compiled)
        return compiled


def _recording(function: Any, view: View) -> Any:
    """Return a function that flattens, and leaves what it called to the walk.

    So a flatten function of the user is called once for a node, and what it raises is
    raised, though the tree is another one than expected.
    """

    def flatten_once(tree: Any) -> tuple[list[Any], Any] | None:
        calls: list[Any] = []
        found: tuple[list[Any], Any] | None = function(tree, calls)
        if found is not None or not calls:
            return found
        leaves, code = flatten(tree, view, calls=calls)
        treedef = make_treedef(code, len(leaves), view)
        observe = hooks.observe
        if observe is not None:
            observe(tree, leaves, treedef, view)
        return leaves, treedef

    return flatten_once


def _uses_needed(treedef: Any) -> int:
    """Return after how many uses a structure is compiled.

    Compiling takes as long as 10 to 250 walks. So what is used less often never takes
    more than half as long again as without the engine, however often that is.
    """
    plan = make_plan(treedef._code)
    if plan is None:
        return _FEWEST_USES
    lines = sum(2 + min(part.arity, _MOST_LINES) for part in plan.parts)
    nodes = len(treedef._code) + treedef._count
    needed: int = _FEWEST_USES + _MOST_USES * lines // nodes
    return min(needed, _MOST_USES)


def _changed(
    before: Mapping[str, Layer], after: Mapping[str, Layer]
) -> Callable[[type], bool] | None:
    """Return whether a class, or one that it inherits from, has another registration.

    None if no class has.
    """
    pairs = [(before.get(name, EMPTY), layer) for name, layer in after.items()]
    pairs = [(old, new) for old, new in pairs if old is not new]

    def has_changed(cls: type) -> bool:
        return any(
            old.rules.get(base) is not new.rules.get(base)
            or (base in old.rules) is not (base in new.rules)
            or (base in old.inherited) is not (base in new.inherited)
            for base in cls.__mro__
            for old, new in pairs
        )

    return has_changed if pairs else None


def _handing_on(following: Runner) -> Runner:
    """Return a runner that does as the reference does, once."""

    def unflatten(treedef: Any, leaves: list[Any]) -> Any:
        treedef._runner = following
        return reference.unflatten(treedef, leaves)

    def flatten_up_to(treedef: Any, tree: Any) -> list[Any] | None:
        treedef._runner = following
        return reference.flatten_up_to(treedef, tree)

    return Runner(unflatten, flatten_up_to, reference.paths, reference.covers)


def _compact(treedef: Any, key: Any) -> None:
    """Let equal entries of a long code be one object."""
    shared: dict[Any, Any] = {}
    pairs = zip(key, treedef._code, strict=True)
    treedef._code = tuple(shared.setdefault(mark, entry) for mark, entry in pairs)


engine: Final = Engine()
