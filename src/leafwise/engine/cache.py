"""What is hot: counting, compiling, bounds, invalidation.

Owns everything that the engine remembers. A compiled structure holds the rules of its
nodes, not their types, so it stays right whatever is registered; which of them
a tree has is learned anew under each state of the registry, from the walk of a first
tree. Nothing waits for a lock: whoever finds another thread at work goes on without
the engine.
"""

from __future__ import annotations

import sys
from _thread import allocate_lock, get_ident
from collections.abc import Callable, Hashable, Mapping
from typing import Any, Final

from ..core.registry import EMPTY, Layer, View, layers
from ..core.runner import Runner, hooks, reference
from ..core.safely import Guard
from .live import Live
from .plan import Plan, fingerprint, make_plan
from .read import reader_after
from .site import Site


__all__ = ["Engine", "engine"]

_MAX_PLANS = 256
_MAX_SIZE = 2_000_000
_MAX_SITES = 512
_MAX_COUNTS = 512
_PATIENCE = 128
_MAX_SKIP = 256
_FAILURES = 8
_SIGHTS = 3
_MEETINGS = 16
_REFUSED = -(1 << 40)


class _Memory:
    """What was learned under one state of the registry.

    Attributes:
        layers: The registrations.
        live: The compiled structures, oldest first.
        sites: Which of them are met under a view behind a type of root.
        evicted: How many had to leave for others.
    """

    __slots__ = ("evicted", "layers", "live", "sites")

    def __init__(self, live: dict[Hashable, Live], evicted: int = 0) -> None:
        self.layers = layers()
        self.live = live
        self.sites: dict[tuple[View, type], Site] = {}
        self.evicted = evicted

    @property
    def size(self) -> int:
        """How much all structures take together."""
        return sum(live.size + live.copies for live in [*self.live.values()])


class _Wish:
    """That the engine is in a mode, as long as nobody wishes for another one.

    Attributes:
        mode: The mode.
        thread: The thread that wishes it, None if it is for good.
    """

    __slots__ = ("mode", "thread")

    def __init__(self, mode: str, thread: int | None) -> None:
        self.mode = mode
        self.thread = thread


class Engine:
    """The state of the engine; there is one.

    Attributes:
        mode: `on`, `off`, or `eager` (compile on first sight).
        memory: What was learned.
        compiled: How many structures were compiled so far.
        evicted: How many of them had to leave for others.
    """

    __slots__ = (
        "_granted",
        "_guard",
        "_lock",
        "_watchers",
        "_wishes",
        "compiled",
        "evicted",
        "memory",
        "mode",
    )

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self._guard = Guard(self._begin_in_child)
        self._wishes: list[_Wish] = []
        self._granted: _Wish | None = None
        self.memory = _Memory({})
        self.mode = "off"
        self.compiled = self.evicted = 0
        self._watchers = self._make_watchers()

    # ---------------------------------------------------------------- switching

    def wish(self, mode: str, *, lasting: bool = False) -> _Wish:
        """Turn the engine on or off, or make it eager; what was learned is lost.

        Returns:
            What `take_back` takes. Of several wishes the last one counts.
        """
        wish = _Wish(mode, None if lasting else get_ident())
        self._wishes.append(wish)
        self._grant()
        return wish

    def take_back(self, wish: _Wish) -> None:
        """Let those who wished something else before have their way again."""
        if wish in self._wishes:
            self._wishes.remove(wish)
        self._grant()

    def _grant(self) -> None:
        """Do what the last wish says, also if it comes while an older one is done."""
        with self._guard.lock:
            self._granted = None
            while self._granted is not self._wishes[-1]:
                wish = self._wishes[-1]
                self._switch(wish.mode)
                self._granted = wish

    def _switch(self, mode: str) -> None:
        self.mode = mode
        self.forget()
        hooks.sight = None if mode == "off" else self.sight
        hooks.runner = self.first_runner()
        sights = 1 if mode == "eager" else _MEETINGS
        hooks.reader = None if mode == "off" else reader_after(sights)

    def _begin_in_child(self) -> None:
        """Go on in a forked child, where the other threads left off."""
        learning, self._lock = self._lock.locked(), allocate_lock()
        mine = (None, get_ident())
        self._wishes = [wish for wish in self._wishes if wish.thread in mine]
        if self._granted is not self._wishes[-1]:
            self._grant()
        elif learning:
            self.forget()

    def first_runner(self) -> Runner:
        """Return the runner of a treedef that nothing is known about."""
        if self.mode == "off":
            return reference
        return self._watchers[-1 if self.mode == "eager" else 0]

    def forget(self) -> None:
        """Drop everything that was learned."""
        for live in [*self._begin_anew({}).live.values()]:
            live.retire(self.first_runner())

    def outdate(self) -> None:
        """Begin anew under another state of the registry, with the same structures.

        Those with nodes of classes that were registered, or unregistered, go: nothing
        asks for them any more, or what does can compile its own.
        """
        before = self._begin_anew(None)
        changed = _changed(before.layers, self.memory.layers)
        for live in [*before.live.values()]:
            live.outdate()
            if changed and any(map(changed, live.plan.classes)):
                self._discard(self.memory, live)

    def _begin_anew(self, live: dict[Hashable, Live] | None) -> _Memory:
        """Go on with these structures, or those of before; return what was there."""
        with self._guard.lock:  # of two who do so, each drops something else
            memory = self.memory
            known = memory.live if live is None else live
            self.memory = _Memory(known, memory.evicted if live is None else 0)
        for site in [*memory.sites.values()]:
            site.view.hot.pop(site.cls, None)
        return memory

    # ----------------------------------------------------------------- counting

    def sight(self, tree: Any, leaves: list[Any], treedef: Any, view: View) -> None:
        """Take note of a tree that was walked, and compile what comes often."""
        memory, cls = self.memory, type(tree)
        site = memory.sites.get((view, cls))
        if site is not None and site.skip > 0:
            site.skip -= 1
            return
        lock = self._lock
        if hooks.begin is not None:
            hooks.begin()
            hooks.begin = None
        if "torch._dynamo" in sys.modules and _is_traced():
            return
        if not lock.acquire(blocking=False):
            return
        try:
            if site is None:
                site = self._new_site(memory, view, cls)
            if not self._learn(memory, site, leaves, treedef):
                self._be_patient(site)
        except RecursionError:  # the caller is deep in a stack of its own
            pass
        finally:
            lock.release()

    def _be_patient(self, site: Site) -> None:
        """Look less and less often at a site where nothing comes again."""
        site.strangers += 1
        if site.strangers < _PATIENCE or self.mode == "eager":
            return
        site.skip = min(site.strangers, _MAX_SKIP)
        if site.strangers == _PATIENCE and site.functions:
            site.watch()

    def _new_site(self, memory: _Memory, view: View, cls: type) -> Site:
        if len(memory.sites) >= _MAX_SITES:
            for site in memory.sites.values():
                site.view.hot.pop(site.cls, None)
            memory.sites.clear()
        return memory.sites.setdefault((view, cls), Site(view, cls))

    def _learn(
        self, memory: _Memory, site: Site, leaves: list[Any], treedef: Any
    ) -> bool:
        """Count a structure that was walked; say whether it was no stranger."""
        key = fingerprint(treedef._code)
        live = memory.live.get(key)
        seen = site.counts.get(hash(key), 0) + 1
        if seen < 0:
            return False
        if live is None:
            if seen < self._sights() or site.turns_away():
                self._count(site, hash(key), seen)
                return seen > 1
            plan = make_plan(treedef._code)
            if plan is None:
                self._count(site, hash(key), _REFUSED)
                return False
            live = self._admit(memory, key, plan)
        elif live in site.functions:
            return self._missed(site, live)
        elif site.turns_away():
            return False
        treedef._runner = live
        site.counts.pop(hash(key), None)
        if not live.plan.varying:
            _compact(treedef, key)
        site.add(live, live.flatten_for(site.view, treedef, leaves))
        site.strangers = 0
        if memory is not self.memory:  # the registry changed meanwhile
            self._discard(memory, live)
            site.view.hot.pop(site.cls, None)
        return True

    def _sights(self) -> int:
        """How often a structure must be met: more often, the more are thrown out."""
        if self.mode == "eager":
            return 1
        return _SIGHTS + min(self.memory.evicted // 16, 500)

    def _count(self, site: Site, digest: int, seen: int) -> None:
        if len(site.counts) >= _MAX_COUNTS:
            site.counts.clear()
        site.counts[digest] = seen

    def _missed(self, site: Site, live: Live) -> bool:
        """Deal with a structure that is compiled and was walked all the same."""
        if site.rest > 0:
            site.rest = site.misses = 0
            return True
        if not live.plan.root.calls_user:  # a leaf of a type that was not known yet
            return True
        failures = site.failures[live] = site.failures.get(live, 0) + 1
        if failures >= _FAILURES:
            site.drop(live)
            self._count(site, hash(live.key), _REFUSED)
        return False

    # ------------------------------------------------------------------- bounds

    def _admit(self, memory: _Memory, key: Hashable, plan: Plan) -> Live:
        live = Live(key, plan)
        memory.live[key] = live
        self.compiled += 1
        while len(memory.live) > 1 and (
            len(memory.live) > _MAX_PLANS or memory.size > _MAX_SIZE
        ):
            self._discard(memory, next(iter(memory.live.values())))
            self.evicted += 1
            memory.evicted += 1
        return live

    def _discard(self, memory: _Memory, live: Live) -> None:
        """Let go of a structure."""
        memory.live.pop(live.key, None)
        for site in [*memory.sites.values()]:
            if live in site.functions:
                site.drop(live)
        live.retire(self.first_runner())

    # ----------------------------------------------------- treedefs without trees

    def _make_watchers(self) -> tuple[Runner, ...]:
        """Return runners that hand a treedef on, one use each, to a compiled one."""
        chain = [self._last_watcher()]
        for _ in range(_SIGHTS - 1):
            chain.append(_handing_on(chain[-1]))
        return tuple(reversed(chain))

    def _last_watcher(self) -> Runner:
        def build(treedef: Any, leaves: list[Any]) -> Any:
            return self.runner_of(treedef).build(treedef, leaves)

        def up_to(treedef: Any, tree: Any) -> list[Any] | None:
            return self.runner_of(treedef).up_to(treedef, tree)

        return Runner(build, up_to, reference.paths, reference.covers)

    def runner_of(self, treedef: Any) -> Runner:
        """Give a treedef the runner of its structure, and return it."""
        runner: Runner = reference
        lock = self._lock
        if "torch._dynamo" in sys.modules and _is_traced():
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
        key = fingerprint(treedef._code)
        live = memory.live.get(key)
        if live is None:
            plan = make_plan(treedef._code)
            if plan is None:
                return reference
            live = self._admit(memory, key, plan)
            if memory is not self.memory:  # the registry changed meanwhile
                self._discard(memory, live)
        return live


def _is_traced() -> bool:
    """Return whether torch's compiler is tracing this call; it cannot trace locks."""
    traced: bool = sys.modules["torch"].compiler.is_compiling()
    return traced


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

    def build(treedef: Any, leaves: list[Any]) -> Any:
        treedef._runner = following
        return reference.build(treedef, leaves)

    def up_to(treedef: Any, tree: Any) -> list[Any] | None:
        treedef._runner = following
        return reference.up_to(treedef, tree)

    return Runner(build, up_to, reference.paths, reference.covers)


def _compact(treedef: Any, key: Any) -> None:
    """Let equal entries of a long code be one object."""
    shared: dict[Any, Any] = {}
    pairs = zip(key, treedef._code, strict=True)
    treedef._code = tuple(shared.setdefault(mark, entry) for mark, entry in pairs)


engine: Final = Engine()
