"""When a structure is compiled, and which compiled structure a tree is tried with.

    tree
     ├─ view.hot[type(tree)]       one structure is compiled for this type of root:
     │                             its `flatten` is called at once
     │   or Dispatcher             several are: the one that is expected next is tried,
     │       └─ Candidates.choose  and then those that fit the keys of the root
     └─ core.walk.flatten          none fits: the walk; and for one walk in 17,
         └─ Engine.observe         the structure is counted, and compiled when due

Results never depend on what happens here: for a tree that it was not made for, a
compiled function returns None or hands over to the walk. So a wrong guess, a structure
that is dropped too early, or a change made by another thread costs time only. For the
same reason no call waits for another thread that is learning: it learns nothing then.
"""

from __future__ import annotations

import math
from _thread import allocate_lock
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any, Final, TypeAlias

from .._hooks import hooks
from .._lazy import is_compiling
from .._runtime import Guard
from ..core.builtins import BUILTINS, ContainerNodeType, MappingNodeType
from ..core.registry import View, view_of
from ..core.treedef import (
    PyTreeDef,
    Runner,
    code_of,
    count_use,
    make_treedef,
    reference,
    runner_of,
    set_runner,
)
from ..core.walk import flatten, flatten_up_to, rebuild
from .plan import Part, make_plan, structure_key
from .predicates import predicate_of_answers
from .read import attribute_builder, object_reader
from .settings import settings
from .structure import CompiledStructure
from .text import forget_files


Key: TypeAlias = "tuple[Any, ...]"
"""Identifies a structure, with one entry for each node; see `plan.structure_key`."""

# ------------------------------------------------------------------- counting uses

_NEVER: Final = math.inf
_AT_ONCE: Final = math.inf  # as many uses as one likes: more than any limit
"""So many uses make each structure due, except those that are never compiled."""


class UseCounter:
    """Counts the uses of structures that are not compiled yet.

    Attributes:
        factor: How much more often than usual a structure must be used. It grows when
            compiled structures are dropped for want of room, so that programs with
            more structures than fit do not compile all the time.
        uses: The uses so far, by the hash of a structure.
        ignored: The hashes of structures that are never compiled.
        novelty: Grows with each note of a new structure, and shrinks twice as fast with
            each note of a known one.
    """

    def __init__(self, factor: float) -> None:
        self.factor = factor
        self.uses: dict[int, float] = {}
        self.ignored: set[int] = set()
        self.novelty = 0

    def note_interval(self) -> int:
        """Return in how many walks one is to be noted."""
        is_rare = self.novelty >= settings.max_novelty
        return settings.note_interval(is_rare=is_rare)

    def is_due(self, key: Key, node_count: int, uses: float) -> bool:
        """Count uses of a structure; return whether it is to be compiled."""
        digest = hash(key)
        if digest in self.ignored:
            return False
        total = self.uses.get(digest)
        if total is None:
            self.novelty = min(self.novelty + 1, settings.max_novelty)
            if len(self.uses) >= settings.max_counts:
                self.uses.clear()
            # It may never occur again, so a rare note counts as a usual one.
            total = uses if uses == _AT_ONCE else min(uses, settings.sample_every)
        else:
            self.novelty = max(self.novelty - 2, 0)
            total += uses
        self.uses[digest] = total
        if total < settings.min_uses * self.factor:
            return False  # most structures get no further: their lines are not counted
        return total >= _uses_needed(key, node_count) * self.factor

    def ignore(self, key: Key) -> None:
        """Never compile a structure."""
        if len(self.ignored) >= settings.max_counts:
            self.ignored.clear()
        self.ignored.add(hash(key))


def _uses_needed(key: Key, node_count: int) -> float:
    """Return after how many uses it pays to compile a structure.

    Measured in walks, compiling costs more the more lines are generated per node: equal
    neighbours share their lines, except for a few that are written out.

    Args:
        key: Identifies the structure.
        node_count: The number of its nodes and leaves.
    """
    fewest = _count_lines(set(key))
    most = _count_lines(key)
    lines = max(fewest, min(most, settings.max_unrolled_lines))
    lines_per_node = min(1, lines / node_count)
    return settings.min_uses + (settings.max_uses - settings.min_uses) * lines_per_node


def _count_lines(nodes: Iterable[Any]) -> int:
    """Return about how many lines are generated for nodes."""
    count = 0
    for _, _, arity, _ in nodes:
        count += 2 + min(arity, 5)
    return count


# ------------------------------------------------------------------------ choosing


class _Candidate:
    """A compiled structure, and what came after it the last time.

    Attributes:
        structure: The structure.
        flatten: Flattens its trees.
        calls_user: Whether that calls a predicate or a flatten function of the user.
        successor: The candidate that came next among all with this type of root.
        successor_alike: The one that came next among those with this root key.
    """

    __slots__ = ("calls_user", "flatten", "structure", "successor", "successor_alike")

    def __init__(
        self, structure: CompiledStructure, flatten: Any, *, asks: bool
    ) -> None:
        self.structure = structure
        self.flatten = flatten
        self.calls_user = asks or structure.plan.root.calls_user
        self.successor = self
        self.successor_alike = self


class Candidates:
    """Compiled structures that the root of a tree does not tell apart.

    The structure that followed the current one the last time is tried first. If it does
    not fit, the others are tried, unless there is a predicate, which must not be asked
    twice about a node.

    Attributes:
        asks: Whether there is a predicate.
        by_structure: The candidates.
        last: The one that fitted last.
        flatten: Flattens a tree: `choose`, or the function of the only candidate.
        misses: How many trees in a row fitted none.
        pause: How many trees to leave to the walk.
    """

    def __init__(self, *, asks: bool) -> None:
        self.asks = asks
        self.by_structure: dict[CompiledStructure, _Candidate] = {}
        self.last: Any = None
        self.flatten: Any = self.choose
        self.misses = 0
        self.pause = 0

    def choose(self, *arguments: Any) -> Any:
        """Flatten a tree, given alone or with a predicate.

        Returns:
            Leaves and treedef, or None to leave the tree to the walk.
        """
        if self.pause > 0:
            self.pause -= 1
            return None
        candidate = self.last.successor_alike
        result = candidate.flatten(*arguments)
        if result is None and not self.asks:
            for candidate in list(self.by_structure.values()):  # threads may add some
                result = candidate.flatten(*arguments)
                if result is not None:
                    break
        is_miss = result is None
        if result is not None and candidate.calls_user:
            # After calls of functions of the user it does not return None for another
            # structure, but what the walk found.
            is_miss = runner_of(result[1]) is not candidate.structure
        if is_miss:
            self.misses += 1
            if self.misses > settings.max_misses:
                self.pause = settings.pause
            return result
        self.misses = 0
        self.last.successor_alike = candidate
        self.last = candidate
        if len(self.by_structure) == 1:
            self.flatten = candidate.flatten  # nothing to choose, until a miss
        return result

    def note(self, structure: CompiledStructure, flatten: Any) -> None:
        """Note which structure a tree had that was walked."""
        candidate = self.by_structure.get(structure)
        if candidate is None:
            candidate = _Candidate(structure, flatten, asks=self.asks)
            self.by_structure[structure] = candidate
            self.misses = 0
            self.pause = 0
        if self.last is not None:
            self.last.successor_alike = candidate
        self.last = candidate
        self.flatten = self.choose

    def note_miss(self) -> None:
        """Note that a tree was walked that has the structure of no candidate."""
        self.flatten = self.choose


class Dispatcher:
    """Finds the compiled structure of trees with one type of root, under one view.

    Programs repeat their calls in the same order, so the structure that followed the
    current one the last time is tried first: it takes a third of the time of a look at
    the root. If it does not fit, what is cheap to see at the root tells structures
    apart: the keys of a dict, the length of a sequence, and the code of the predicate,
    if there is one. Closures share their code, so the guess may be wrong; that costs
    time only.

    Attributes:
        memory: The memory that it belongs to.
        view: The view.
        cls: The type of the roots.
        asks: Whether there is a predicate.
        functions: For each structure a function that flattens its trees under the view.
        candidates: Structures by root key, which is a hash, so that no key of a dict
            is kept alive. Roots with the same hash share their candidates.
        last: The candidate that fitted last; None if none did, or if it calls functions
            of the user.
        misses: How many trees of other structures were noted since a structure was
            added.
    """

    def __init__(self, memory: Memory, view: View, tree: Any, *, asks: bool) -> None:
        self.memory = memory
        self.view = view
        self.cls: type = type(tree)
        self.asks = asks
        self.functions: dict[CompiledStructure, Any] = {}
        self.candidates: dict[int, Candidates] = {}
        self.last: _Candidate | None = None
        self.misses = 0
        self._table: dict[type, Any] = view.hot
        if asks:
            self._table = view.asked
        self._look: Callable[[Any], Any] = type  # roots of other types all look alike
        node_type = BUILTINS.get(self.cls)
        if (
            isinstance(node_type, MappingNodeType)
            and len(tree) <= settings.max_root_keys
        ):
            self._look = tuple
        elif isinstance(node_type, ContainerNodeType):
            self._look = len

    # -------------------------------------------------------------------- choosing

    def root_key(self, tree: Any, ask: Any) -> int:
        """Return the key of the candidates for a tree."""
        key = self._look(tree)
        if self.asks:
            code_id = id(ask.__code__) if type(ask) is FunctionType else None
            key = (code_id, key)
        return hash(key)

    def _chooser(self) -> Callable[..., Any]:
        """Return a function that flattens a tree if one of the candidates fits."""
        find = self.candidates.get
        look = self._look

        # `root_key`, inline: a call takes at least a tenth of the time of a small tree.
        def choose(tree: Any) -> Any:
            last = self.last
            if last is not None:
                candidate = last.successor
                result = candidate.flatten(tree)
                if result is not None:
                    self.last = candidate
                    return result
            self.last = None
            candidates = find(hash(look(tree)))
            if candidates is None:
                return None
            result = candidates.flatten(tree)
            if result is not None and not candidates.last.calls_user:
                self.last = candidates.last
                if last is not None:
                    last.successor = candidates.last
            return result

        def choose_asking(tree: Any, ask: Any) -> Any:
            code_id = id(ask.__code__) if type(ask) is FunctionType else None
            candidates = find(hash((code_id, look(tree))))
            if candidates is None:
                return None
            return candidates.flatten(tree, ask)

        if self.asks:
            return choose_asking
        return choose

    def install(self) -> None:
        """Put a function for trees with this type of root into the view."""
        flatten = self._chooser()
        if len(self.functions) == 1 and self.misses < settings.max_misses:
            [flatten] = self.functions.values()
        self._table[self.cls] = flatten
        # Checked last: another thread may have replaced the memory in the meantime.
        if self.memory is not engine.memory:
            self.uninstall()

    def uninstall(self) -> None:
        """Take the function out of the view."""
        self._table.pop(self.cls, None)

    # -------------------------------------------------------------------- learning

    def has_room(self, root_key: int, structure: CompiledStructure) -> bool:
        """Return whether a structure is, or can become, a candidate."""
        candidates = self.candidates.get(root_key)
        if candidates is None or structure in candidates.by_structure:
            return True
        return len(candidates.by_structure) < settings.max_candidates

    def add(
        self, structure: CompiledStructure, treedef: PyTreeDef, leaves: list[Any]
    ) -> None:
        """Add a structure, given the treedef and the leaves of one of its trees."""
        self.functions[structure] = structure.flatten_function(
            self.view, treedef, leaves, self.resume_walk, asks=self.asks
        )
        self.misses = 0
        self.install()

    def note(self, root_key: int, structure: CompiledStructure) -> None:
        """Note that a tree of a compiled structure was walked: guess it next time."""
        candidates = self.candidates.get(root_key)
        if candidates is None:
            if len(self.candidates) >= settings.max_root_groups:
                self.candidates.clear()
            candidates = Candidates(asks=self.asks)
        candidates.note(structure, self.functions[structure])
        # Stored last: other threads may use it at once.
        self.candidates[root_key] = candidates

    def note_miss(self, root_key: int) -> None:
        """Note that a tree of a structure that is not compiled was walked."""
        self.misses += 1
        if self.misses == settings.max_misses and self.functions:
            self.install()
        candidates = self.candidates.get(root_key)
        if candidates is not None:
            candidates.note_miss()

    # ------------------------------------------------------------------ wrong guesses

    def resume_walk(
        self, tree: Any, calls: Any, ask: Any = None, answers: Any = ()
    ) -> Any:
        """Flatten a tree whose structure was guessed wrong.

        The predicate and registered flatten functions are called once for each node,
        since they may print, count, or be slow. So the walk begins at the root again,
        but uses what they returned so far.

        Args:
            tree: The tree.
            calls: The calls of flatten functions, as `core.walk.flatten` takes them.
            ask: The predicate, if there is one.
            answers: What it returned, in order; the last may be an error it raised.

        Returns:
            Leaves and treedef, or None if nothing was called yet.
        """
        if ask is None and not calls:
            return None
        predicate = None
        if ask is not None:
            self.note_miss(self.root_key(tree, ask))
            answers.reverse()
            predicate = predicate_of_answers(answers, ask)
        leaves, code = flatten(tree, self.view, predicate, calls)
        if answers and isinstance(answers[0], Exception):
            raise answers.pop()  # the tree changed, so that the walk did not ask
        treedef = make_treedef(code, len(leaves), self.view)
        if code:  # each wrong guess is noted, for the next guess to be right
            engine.observe(tree, leaves, treedef, self.view, ask, uses=1)
        return leaves, treedef


# ---------------------------------------------------------------------- the engine


class Memory:
    """What was learned under one state of the registry.

    It is replaced as a whole. Another thread may be adding to the old one, so code that
    adds something checks afterwards that the memory is still the engine's.

    Attributes:
        structures: The compiled structures, by key.
        prefixes: The compiled prefixes of structures, by key.
        dispatchers: By view, type of root, and whether there is a predicate.
        counter: Counts the uses of the others.
    """

    def __init__(self, factor: float = 1) -> None:
        self.structures: dict[Key, CompiledStructure] = {}
        self.prefixes: dict[Key, CompiledStructure] = {}
        self.dispatchers: dict[tuple[View, type, bool], Dispatcher] = {}
        self.counter = UseCounter(factor)


class Engine:
    """The engine: its mode, and what it has learned. There is one.

    The mode is one attribute, and `apply_mode` puts it into effect. If an interrupt
    prevents that, the next note or switch makes up for it.

    Attributes:
        mode: `on`, `off`, or `eager` (compile each structure at first sight).
        memory: What was learned.
        fresh: The runner of treedefs whose structure is not compiled.
        compiled: How many structures were compiled so far.
        dropped: How many of them were dropped because there were too many.
    """

    def __init__(self) -> None:
        self.mode = "off"
        self.memory = Memory()
        self.compiled = 0
        self.dropped = 0
        self.fresh = Runner(self._unflatten, self._flatten_up_to, reference.paths)
        self._lock = allocate_lock()
        self._guard = Guard(self._begin_in_child)
        self._applied_mode: str | None = None
        self._treedef_uses = _NEVER

    # ----------------------------------------------------------------------- modes

    def start(self, mode: str) -> None:
        """Begin to learn, in a mode."""
        self.mode = mode
        self.apply_mode()
        hooks.observe = self.observe

    @contextmanager
    def switched(self, mode: str) -> Iterator[None]:
        """Set the mode for the duration of a `with` block; what was learned is lost."""
        previous_mode = self.mode
        try:
            self.mode = mode
            self._applied_mode = None  # apply it even if it is the same
            self.apply_mode()
            yield
        finally:
            # Python handles signals after calls, and there is none before this: so
            # Ctrl-C cannot prevent it.
            self.mode = previous_mode
            self._applied_mode = None
            self.apply_mode()

    def apply_mode(self) -> None:
        """Put the mode into effect, if it is not yet."""
        if self.mode == self._applied_mode:
            return
        with self._guard.lock:
            mode = self.mode
            self._applied_mode = None  # until all is done
            is_off = mode == "off"
            hooks.runner = reference if is_off else self.fresh
            hooks.reader = None if is_off else _offer_reader
            hooks.prefix_runner = None if is_off else self.compile_prefix
            hooks.prefix_uses = self._uses_of_treedefs()
            self.forget()
            self._applied_mode = mode

    def _begin_in_child(self) -> None:
        """Go on in a forked child, which has only the thread that forked."""
        was_learning = self._lock.locked()
        self._lock = allocate_lock()
        if was_learning:  # another thread was, and will not finish here
            self.forget()
        self.apply_mode()

    def _uses_of_treedefs(self) -> float:
        """Return how often a treedef is used before its structure is compiled."""
        if self.mode == "off":
            return _NEVER
        if self.mode == "eager":
            return 1
        return settings.min_uses

    # ------------------------------------------------------------------- forgetting

    def forget(self) -> None:
        """Drop everything that was learned."""
        self._treedef_uses = self._uses_of_treedefs()
        hooks.skip = 0
        forget_files()
        memory = self._replace_memory(Memory())
        for structure in list(memory.structures.values()):
            structure.retire(hooks.runner)
        _retire_prefixes(memory)

    def outdate(self) -> None:
        """Begin anew after a change of the registry.

        Structures are kept, except those with nodes whose class is registered in
        another way now.
        """
        with self._guard.lock:
            memory = Memory(self.memory.counter.factor)
            memory.structures = self.memory.structures
            self._replace_memory(memory)
        for structure in list(memory.structures.values()):
            if not all(map(_is_current, structure.plan.parts)):
                self._discard(structure)

    def _replace_memory(self, memory: Memory) -> Memory:
        """Put another memory in place of that of the engine, and return the old one."""
        with self._guard.lock:  # else two threads may replace the same memory
            old = self.memory
            self.memory = memory
        for dispatcher in list(old.dispatchers.values()):
            dispatcher.uninstall()
        # Breaks a reference cycle, for programs that disable the garbage collector.
        old.dispatchers.clear()
        return old

    def _discard(self, structure: CompiledStructure) -> None:
        """Drop a structure."""
        self.memory.structures.pop(structure.key, None)
        structure.retire(hooks.runner)

    # --------------------------------------------------------------------- learning

    def observe(
        self,
        tree: Any,
        leaves: list[Any],
        treedef: Any,
        view: View,
        ask: Any = None,
        *,
        uses: float | None = None,
    ) -> None:
        """Note a tree that was walked, and compile its structure when it is due.

        Args:
            tree: The tree.
            leaves: Its leaves.
            treedef: Its treedef.
            view: The view that it was walked under.
            ask: The predicate, if there is one.
            uses: How many uses of the structure to count; by default as many as there
                were walks since the last note, because all but one are let pass.
        """
        if uses is None:
            uses = self.memory.counter.note_interval()
            hooks.skip = uses - 1
        if self.mode == "off":
            hooks.skip = settings.off_interval
            self.apply_mode()
            return
        if is_compiling():
            return
        self.apply_mode()
        if self.mode == "eager":
            uses = _AT_ONCE
            hooks.skip = 0
        lock = self._lock  # a forked child replaces the attribute
        if not lock.acquire(blocking=False):
            return
        try:
            memory = self.memory
            asks = ask is not None
            place = (view, type(tree), asks)
            dispatcher = memory.dispatchers.get(place)
            if dispatcher is None:
                dispatcher = Dispatcher(memory, view, tree, asks=asks)
                memory.dispatchers[place] = dispatcher
            root_key = dispatcher.root_key(tree, ask)
            self._learn(dispatcher, root_key, leaves, treedef, uses)
        except RecursionError:  # the caller has used up the stack: learn next time
            pass
        finally:
            lock.release()

    def _learn(
        self,
        dispatcher: Dispatcher,
        root_key: int,
        leaves: list[Any],
        treedef: Any,
        uses: float,
    ) -> None:
        memory = dispatcher.memory
        key = structure_key(code_of(treedef))
        structure = memory.structures.get(key)
        if structure is None and memory.counter.is_due(key, treedef.num_nodes, uses):
            structure = self._compile(memory, key, treedef)
        if structure is None or not dispatcher.has_room(root_key, structure):
            dispatcher.note_miss(root_key)
            return
        if structure not in dispatcher.functions:
            dispatcher.add(structure, treedef, leaves)
        set_runner(treedef, structure)
        dispatcher.note(root_key, structure)
        if memory is not self.memory:  # the registry was changed meanwhile
            self._discard(structure)

    def _compile(
        self, memory: Memory, key: Key, treedef: Any
    ) -> CompiledStructure | None:
        """Return the compiled structure of a treedef; None leaves it to the walk."""
        plan = make_plan(code_of(treedef))
        if plan is None:  # the text would be too long, or too deeply nested
            memory.counter.ignore(key)
            return None
        nodes = sum(map(len, memory.structures))  # a key has an entry for each
        if (
            len(memory.structures) >= settings.max_structures
            or nodes > settings.max_entries
        ):
            self.dropped += len(memory.structures)
            self.forget()  # replaces `self.memory`; `memory` is what was forgotten
            self.memory.counter.factor = memory.counter.factor + settings.drop_penalty
            return None
        self.compiled += 1
        structure = CompiledStructure(key, plan)
        memory.structures[key] = structure
        if memory is not self.memory:  # the registry was changed meanwhile
            self._discard(structure)
        return structure

    # ---------------------------------------------------- treedefs without their trees

    def _unflatten(self, treedef: Any, leaves: list[Any]) -> Any:
        """Build a tree by the code of a treedef, and count that."""
        if count_use(treedef) >= self._treedef_uses:
            self._compile_treedef(treedef)
        return rebuild(code_of(treedef), leaves)

    def _flatten_up_to(self, treedef: Any, tree: Any) -> list[Any] | None:
        """Match a tree by the code of a treedef, and count that."""
        if count_use(treedef) >= self._treedef_uses:
            self._compile_treedef(treedef)
        return flatten_up_to(code_of(treedef), tree)

    def _compile_treedef(self, treedef: Any) -> None:
        """Compile the structure of a treedef that is used often.

        A program may keep a treedef and only build trees with it. Then no tree of the
        structure is walked, so `observe` never sees it.
        """
        if is_compiling():  # torch would compile the caller again for each new count
            set_runner(treedef, reference)
            return
        lock = self._lock
        if not lock.acquire(blocking=False):
            return
        try:
            memory = self.memory
            key = structure_key(code_of(treedef))
            structure = memory.structures.get(key)
            if structure is None:
                structure = self._compile(memory, key, treedef)
            set_runner(treedef, structure or reference)
        except RecursionError:  # the caller has used up the stack: try next time
            pass
        finally:
            lock.release()

    def compile_prefix(self, treedef: Any) -> CompiledStructure | None:
        """Return the compiled structure of a prefix; None leaves it to the walk."""
        if is_compiling():
            return None
        prefixes = self.memory.prefixes
        try:
            code = code_of(treedef)
            key = structure_key(code)
            prefix = prefixes.get(key)
            if prefix is None:
                plan = make_plan(code)
                if plan is None:
                    return None
                if len(prefixes) >= settings.max_prefixes:
                    _retire_prefixes(self.memory)
                prefix = CompiledStructure(key, plan)
                prefix.memo = None
                prefixes[key] = prefix
        except RecursionError:  # the caller has used up the stack
            return None
        return prefix


def _retire_prefixes(memory: Memory) -> None:
    """Drop the compiled prefixes; those that are in use are walked from then on."""
    for prefix in list(memory.prefixes.values()):
        prefix.retire(reference)
    memory.prefixes.clear()


def _is_current(part: Part) -> bool:
    """Return whether the class of a part is still registered as it was."""
    node_type = part.node_type
    return (
        not node_type.where or view_of(node_type.namespace).find(part.cls) is node_type
    )


def _offer_reader(shape: Any, memory: str) -> Any:
    """Return functions that read and build objects, if a shape occurs often enough.

    Args:
        shape: The shape; see `core.node.Shaped`.
        memory: The attribute in which an object keeps its last aux data.
    """
    shape.sights += 1
    uses = 1 if engine.mode == "eager" else settings.reader_uses
    if shape.sights < uses:
        return None
    return object_reader(shape, memory), attribute_builder(shape)


engine: Final = Engine()
