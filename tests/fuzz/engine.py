"""The engine on and eager against the plain walk, over programs that change trees.

A program is played three times from the same random choices: each time with fresh
trees and fresh classes. The first time is the reference, the walk without the engine
and without what it remembers of earlier trees.
"""

import copy
import pickle
from collections.abc import Callable
from random import Random
from typing import Any

import leafwise as lw
import leafwise.engine
from leafwise.core.keys import known_dicts
from leafwise.engine import cache

from . import odd
from .runner import Differs, Round, shown
from .tell import outcome, told
from .trees import SORTS, Trees, only


# let structures be compiled after a few uses: programs repeat little
cache._FEWEST_USES = cache._MOST_USES = 3
cache._SAMPLE = 1

MODES: tuple[str, ...] = ("disabled", "enabled", "eager")


def play(one: Round) -> None:
    """Play one program in all modes, and compare what each step gave."""
    programs = {mode: played(one.again(), mode) for mode in MODES}
    reference = programs.pop("disabled")
    for mode, program in programs.items():
        one.comparisons += len(program.results)
        pairs = zip(reference.results, program.results, strict=True)
        for place, (expected, found) in enumerate(pairs):
            if expected != found:
                one.steps = reference.steps(place)
                text = shown(expected, found)
                raise Differs(f"the engine {mode}, step {place}\n{text}")


def played(random: Random, mode: str) -> "Program":
    """Return a program that was played in one mode of the engine."""
    odd.unregister_all()
    known_dicts.clear()
    program = Program(random, fresh=mode == "disabled")
    try:
        with getattr(leafwise.engine, mode)():
            program.run()
    finally:
        odd.unregister_all()
    return program


class Program:
    """Trees, treedefs and options that go from step to step.

    Attributes:
        is_small: Whether the trees are small, so that much can be done with them.
        results: What each step gave.
        texts: What each step did.
    """

    def __init__(self, random: Random, *, fresh: bool) -> None:
        self.random = random
        self.fresh = fresh
        sorts = random.sample([*SORTS], random.choice((2, 4, 8, len(SORTS))))
        self.trees = Trees(random, only(*sorts, list, dict))
        self.tree = self.grown(self.trees.node())
        self.other = self.trees.changed(self.tree)
        self.kept = [self.tree, self.other]
        self.treedefs = [lw.tree_structure(self.tree)]
        self.options: dict[str, Any] = {}
        self.calls: list[Any] = []
        self.results: list[Any] = []
        self.texts: list[str] = []
        self.choose_options()

    def steps(self, place: int) -> list[str]:
        """Return what was done up to a place, with the trees of that time."""
        known = range(place, -1, -1)
        last = next(n for n in known if self.texts[n] in _CHANGE_NAMES)
        first, second = self.results[last]
        trees = [f"the trees are {first}", f"and {second}"]
        return [*self.texts[: last + 1], *trees, *self.texts[last + 1 : place + 1]]

    # ------------------------------------------------------------------ what changes

    def run(self) -> None:
        """Play the whole program, of one of two sorts."""
        if self.random.random() < 0.7:
            self.play_with_a_family()
            return
        for _ in range(8):
            self.step()

    def play_with_a_family(self) -> None:
        """Call a few functions on small trees that are hard to tell apart."""
        random = self.random
        first = self.trees.node(random.choice((1, 1, 2)))
        family = [first, *(self.trees.changed(first) for _ in range(4))]
        calls = [flatten, *random.choices(CALLS, k=2)]
        self.options = random.choice(({}, {}, self.options))
        stops = [self.options.get("is_leaf"), _asking(self, random.randrange(9))]
        alternates = "is_leaf_takes_path" not in self.options and random.random() < 0.4
        for _ in range(30):
            if alternates:
                self.options = {**self.options, "is_leaf": random.choice(stops)}
            self.tree = random.choice((first, random.choice(family)))
            self.other = random.choice((first, random.choice(family)))
            if random.random() < 0.1:
                outcome(random.choice((Program.register, Program.unregister)), self)
            self.note("go_back", (told(self.tree), told(self.other)))
            self.call(random.choice(calls))

    def step(self) -> None:
        """Change something, and call some functions once or many times."""
        change = self.random.choice(_CHANGES)
        outcome(change, self)
        self.note(change.__name__, (told(self.tree), told(self.other)))
        repeat = self.random.choice((1, 2, 4, 4, 20 if self.is_small else 4))
        calls = self.random.choices(CALLS, k=2)
        for _ in range(repeat):
            for call in calls:
                self.call(call)
        self.note("trees", (told(self.tree), told(self.other)))

    def note(self, text: str, result: Any) -> None:
        """Keep what was done, and what came of it."""
        self.texts.append(text)
        self.results.append(result)

    def call(self, call: Callable[["Program"], Any]) -> None:
        """Call a function; keep what it gives, and what it called."""
        if self.fresh:
            known_dicts.clear()
        self.calls = []
        result = outcome(call, self)
        options = {name: _shown(value) for name, value in self.options.items()}
        self.note(f"{call.__name__} {options}", (result, self.calls))

    def grown(self, tree: Any) -> Any:
        """Return a tree, now and then with much around it: deep, wide, repeated."""
        self.is_small = False
        what, size = self.random.randrange(20), self.random.choice((10, 20, 60))
        if what == 0:
            for _ in range(size):
                tree = self.random.choice(([tree], (1, tree), {"a": tree, "b": 2}))
        elif what == 1:
            tree = [tree] * 20
        elif what == 2:
            tree = [*range(size), tree, *map(str, range(size))]
        elif what == 3:
            tree = {f"k{number:02}": tree for number in range(20)}
        else:
            self.is_small = True
        return tree

    def change_nothing(self) -> None:
        """Go on with the same trees."""

    def change(self) -> None:
        """Go on with a tree that differs in one place."""
        self.tree = self.trees.changed(self.tree)
        self.keep(self.tree)

    def change_other(self) -> None:
        """Let the second tree differ from the first in one place."""
        self.other = self.trees.changed(self.tree)
        self.keep(self.other)

    def mutate(self) -> None:
        """Change the tree in place."""
        self.trees.mutated(self.tree)

    def rebuild(self) -> None:
        """Go on with an equal tree made anew."""
        self.tree = lw.tree_map(lambda x: x, self.tree)

    def go_back(self) -> None:
        """Go on with trees of before."""
        self.tree, self.other = self.random.choices(self.kept, k=2)

    def derive(self) -> None:
        """Keep a treedef made of others: composed, copied, read from its text."""
        one, other = self.random.choices(self.treedefs, k=2)
        made = self.random.choice(
            (
                lambda: one.compose(other),
                lambda: lw.tree.treedef_tuple([one, other]),
                lambda: self.random.choice(one.children()),
                lambda: copy.deepcopy(one),
                lambda: pickle.loads(pickle.dumps(one)),
                lambda: lw.PyTreeDef.from_json(one.to_json()),
                lambda: one.transform(f_leaf=lambda _: other),
            )
        )()
        if made.num_leaves < 500:
            self.treedefs.append(made)

    def keep(self, tree: Any) -> None:
        """Keep a tree for later."""
        self.kept = [*self.kept[-6:], tree]

    def choose_options(self) -> None:
        """Choose what the functions are called with."""
        random, options = self.random, {}
        if random.random() < 0.4:
            options["is_leaf"] = random.choice(_STOPS)(self, random.randrange(9))
        if random.random() < 0.3:
            options["none_is_leaf"] = random.random() < 0.7
        if random.random() < 0.3:
            options["namespace"] = random.choice((odd.INSERTION, odd.OWN))
        if options.get("is_leaf") is not None and random.random() < 0.2:
            options["is_leaf"] = self.path_stop
            options["is_leaf_takes_path"] = True
        self.options = options

    def register(self) -> None:
        """Register a class, in one way or another."""
        random = self.random
        odd.register(
            random.choice(odd.LATE_CLASSES),
            way=random.randrange(2),
            namespace=random.choice(("", odd.OWN)),
            inherit=random.random() < 0.5,
        )

    def unregister(self) -> None:
        """Unregister a class, if it is registered."""
        namespace = self.random.choice(("", odd.OWN))
        odd.unregister(self.random.choice(odd.LATE_CLASSES), namespace=namespace)

    def path_stop(self, path: Any, node: Any) -> bool:
        """Say that a node is a leaf, by where it is."""
        self.calls.append((str(path), told(node)))
        return len(path) == 2

    # --------------------------------------------------------------------- callbacks

    def seen(self, *args: Any) -> Any:
        """Take note of a call; return something."""
        self.calls.append([*map(told, args)])
        return ["leaf", *args] if len(args) > 1 else args[0]

    def failing(self, *args: Any) -> Any:
        """Fail at the third call."""
        self.calls.append([*map(told, args)])
        if len(self.calls) == 3:
            raise KeyError("mine")
        return 1

    def meddling(self, *args: Any) -> Any:
        """Change the trees while they are walked."""
        self.calls.append([*map(told, args)])
        if len(self.calls) == 2:
            for tree in (self.tree, self.other):
                if type(tree) in (list, dict):
                    tree.clear()
        return 0


_CHANGES = (
    *(Program.change_nothing, Program.change, Program.change, Program.mutate),
    *(Program.mutate, Program.change_other, Program.rebuild, Program.go_back),
    *(Program.derive, Program.derive),
    *(Program.choose_options, Program.register, Program.unregister),
)
_CHANGE_NAMES = frozenset(change.__name__ for change in _CHANGES)


# ----------------------------------------------------------------------- predicates


def _by_type(program: Program, number: int) -> Any:
    return [*SORTS][number]


def _by_types(program: Program, number: int) -> Any:
    return ([*SORTS][number], odd.Pair, str)


def _asking(program: Program, number: int) -> Any:
    wanted = _by_types(program, number)

    def is_leaf(node: Any) -> bool:
        program.calls.append(told(node))
        return isinstance(node, wanted)

    return is_leaf


def _refusing(program: Program, number: int) -> Any:
    def is_leaf(node: Any) -> bool:
        program.calls.append(told(node))
        if len(program.calls) == number:
            raise ZeroDivisionError("mine")
        return False

    return is_leaf


class _Answer:
    """Says no, or cannot say."""

    def __init__(self, says: bool) -> None:
        self.says = says

    def __bool__(self) -> bool:
        if not self.says:
            raise ZeroDivisionError("mine")
        return False


def _vague(program: Program, number: int) -> Any:
    def is_leaf(node: Any) -> Any:
        program.calls.append(told(node))
        if type(node) in (tuple, dict):
            return _Answer(len(program.calls) != 4 * number)
        return [node] if type(node) is list and len(node) == number else ""

    return is_leaf


def _changing(program: Program, number: int) -> Any:
    """Return a predicate that changes the trees, as much as it can."""

    def is_leaf(node: Any) -> Any:
        program.calls.append(told(node))
        if len(program.calls) == number:
            for tree in (program.tree, program.other, node):
                if type(tree) in (list, dict) and tree:
                    tree.clear()
        elif len(program.calls) == number + 2:
            lw.tree_leaves(node, is_leaf=is_leaf if number % 2 else lambda _: False)
        return type(node) is tuple and number % 3 == 0

    return is_leaf


_STOPS = (
    *(_by_type, _by_types, _by_type, _asking, _asking, _refusing, _vague, _changing),
)


def _shown(value: Any) -> Any:
    return getattr(value, "__qualname__", value)


# ---------------------------------------------------------------------------- calls


def _operation(name: str) -> Any:
    return getattr(lw.tree, name.removeprefix("tree_"))


def _single(name: str) -> Callable[[Program], Any]:
    def call(program: Program) -> Any:
        return _operation(name)(program.tree, **program.options)

    call.__name__ = name
    return call


def _mapping(name: str, callback: str, trees: int, **more: Any) -> Any:
    def call(program: Program) -> Any:
        given = (program.tree, program.other, program.tree)[:trees]
        function = getattr(program, callback)
        return _operation(name)(function, *given, **program.options, **more)

    call.__name__ = f"{name} of {trees} ({callback})"
    return call


def _double(name: str, **more: Any) -> Callable[[Program], Any]:
    def call(program: Program) -> Any:
        both = program.tree, program.other
        return _operation(name)(*both, **program.options, **more)

    call.__name__ = name
    return call


def flatten(program: Program) -> Any:
    """Flatten, and keep the treedef."""
    leaves, treedef = lw.tree_flatten(program.tree, **program.options)
    program.treedefs = [*program.treedefs[-3:], treedef]
    return leaves, told(treedef)


def iterate(program: Program) -> Any:
    """Take the leaves one by one."""
    return [*lw.tree.iter(program.tree, **program.options)]


def build(program: Program) -> Any:
    """Unflatten what was kept, also with too many leaves or too few."""
    treedef = program.random.choice(program.treedefs)
    count = treedef.num_leaves + program.random.choice((0, 0, 0, -1, 1))
    leaves = [program.trees.leaf(program.random) for _ in range(max(count, 0))]
    if program.random.random() < 0.2:
        return lw.tree_unflatten(treedef, iter(leaves))
    return lw.tree_unflatten(treedef, leaves)


def build_of_parts(program: Program) -> Any:
    """Unflatten with nodes and None as leaves."""
    treedef = program.random.choice(program.treedefs)
    parts = [program.trees.tree(1) for _ in range(treedef.num_leaves)]
    return treedef.unflatten(tuple(parts))


def up_to(program: Program) -> Any:
    """Flatten the tree as far as a treedef of before goes."""
    return program.random.choice(program.treedefs).flatten_up_to(program.tree)


def compare(program: Program) -> Any:
    """Compare treedefs in all ways."""
    new = lw.tree_structure(program.tree, **program.options)
    return [
        (
            *(old == new, new == old, hash(old) == hash(new) or old != new),
            *(old <= new, old > new, old.is_prefix(new), len(old.explain(new))),
        )
        for old in program.treedefs
    ]


def explain(program: Program) -> Any:
    """Explain in which way the tree is not of a structure."""
    return program.random.choice(program.treedefs).explain(program.tree)


def algebra(program: Program) -> Any:
    """Compose treedefs and take them apart."""
    one, other = program.random.choices(program.treedefs, k=2)
    children = [*map(told, one.children()[:3])]
    is_small = one.num_leaves * other.num_leaves < 500
    composed = one.compose(other) if is_small else None
    return told(one.one_level()), children, told(composed)


def walk_treedef(program: Program) -> Any:
    """Build with functions for nodes and leaves."""
    treedef = program.random.choice(program.treedefs)
    return treedef.traverse(range(treedef.num_leaves), program.seen, program.seen)


def reduce(program: Program) -> Any:
    """Fold the leaves."""
    return lw.tree_reduce(
        lambda a, b: program.seen(a, b), program.tree, 0, **program.options
    )


def visit(program: Program) -> Any:
    """Visit all nodes."""
    found = lw.tree_walk(program.tree, **program.options)
    return [(str(path), told(node)) for path, node in found]


def edit(program: Program) -> Any:
    """Set what stands at the path of a leaf."""
    paths = lw.tree_paths(program.tree, **program.options)
    path = program.random.choice(paths)
    return lw.at(program.tree, **program.options)[path].set(program.seen)


CALLS: tuple[Callable[[Program], Any], ...] = (
    *(flatten, flatten, flatten, iterate, build, build, build_of_parts, up_to, up_to),
    *(compare, explain, algebra, walk_treedef, reduce, visit, edit),
    *map(_single, ("tree_leaves", "tree_structure", "tree_paths", "tree_children")),
    *map(_single, ("tree_flatten_with_path", "tree_all", "tree_is_leaf")),
    *map(_single, ("tree_flatten_one_level", "tree_leaves_with_path")),
    *(_mapping("tree_map", "seen", count) for count in (1, 1, 2, 2, 3)),
    *(_mapping("tree_map", "failing", count) for count in (1, 2, 3)),
    *(_mapping("tree_map", "meddling", count) for count in (1, 2)),
    *(_mapping("tree_map", "seen", count, strict=True) for count in (2, 3)),
    *(_mapping("tree_map_with_path", "seen", count) for count in (1, 2)),
    *(_mapping("tree_map_", "seen", count) for count in (1, 2)),
    _mapping("tree_map_with_path", "failing", 1),
    _mapping("tree_transpose_map", "seen", 1),
    _mapping("tree_broadcast_map", "seen", 2),
    *map(_double, ("broadcast_leaves", "tree_broadcast_prefix", "tree_equal")),
    *map(_double, ("tree_broadcast_common", "prefix_errors", "equality_errors")),
)
