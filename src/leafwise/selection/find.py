"""Finding the places of a pattern in a tree, in leaf order.

One walk from the root, which goes on only where some step of the pattern is met.
Paths are linked lists `(above, key)` on the way, `()` for the root.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from ..core.builtins import DICT, LIST, TUPLE
from ..core.code import locate
from ..core.keypath import KeyPath
from ..core.keys import DictKey, GetAttrKey, SequenceKey
from ..core.node import Fields, Rule, Shaped
from ..core.safely import printed
from ..core.treedef import PyTreeDef
from ..core.walk import flatten
from ..ops.context import Context, link_key, path_of
from .grammar import DEEP, Step, Test, key_kind


__all__ = [
    "DEPTH_IN_DOUBT",
    "CycleCheck",
    "Place",
    "call_at",
    "children_of",
    "find",
    "has_kinds",
    "keys_of",
    "leaf_places",
    "static_names",
]


class Place:
    """Somewhere in a tree.

    Attributes:
        value: What stands there.
        path: The path from the root.
    """

    __slots__ = ("_link", "value")

    def __init__(self, link: Any, value: Any) -> None:
        """Take a path, a linked list of keys, or a treedef and the number of a leaf."""
        self._link = link
        self.value = value

    @property
    def path(self) -> KeyPath:
        """The path from the root, made when somebody asks."""
        link = self._link
        if type(link) is not KeyPath:
            if type(link) is tuple:
                made = path_of(link)
            else:
                made = link.treedef.paths()[link.number]
            self._link = made
            return made
        return link


class _Number:
    """One leaf of a treedef."""

    __slots__ = ("number", "treedef")

    def __init__(self, treedef: PyTreeDef, number: int) -> None:
        self.treedef = treedef
        self.number = number


def leaf_places(
    leaves: Sequence[Any], treedef: PyTreeDef, chosen: Iterable[int]
) -> list[Place]:
    """Return the places of some leaves, by their numbers."""
    return [Place(_Number(treedef, number), leaves[number]) for number in chosen]


def call_at(f: Callable[..., Any], values: Iterable[Any], place: Any) -> Any:
    """Call a function about a place; its exceptions get a note of the path.

    Args:
        f: The function.
        values: Its arguments.
        place: Anything with a `path`.
    """
    try:
        return f(*values)
    except Exception as error:
        locate(error, [*reversed(place.path)])
        raise


class CycleCheck:
    """Looks whether trees contain themselves, before a walk that would not end.

    Called at each node as deep as `DEPTH_IN_DOUBT`, it looks the first time.
    """

    __slots__ = ("context", "trees")

    def __init__(self, context: Context, *trees: Any) -> None:
        self.context = context
        self.trees = trees

    def __call__(self) -> None:
        """Look, unless that was done.

        Raises:
            CycleError: A tree contains itself.
        """
        for tree in self.trees:
            flatten(tree, self.context.view, self.context.stop)
        self.trees = ()


DEPTH_IN_DOUBT: Final = 500
"""How deep a walk may go before it looks for cycles: few trees are that deep."""


# --------------------------------------------------------------- children of a node


def children_of(node: Any, rule: Rule) -> tuple[Sequence[Any], Sequence[Any]]:
    """Return the children of a node, and their keys or what makes them.

    For dicts, lists and tuples these are the bare keys and positions.
    """
    children, aux = rule.flatten(node)
    if rule is LIST or rule is TUPLE:
        return children, range(len(children))
    if rule is DICT:
        keys, order = aux
        return children, keys if order is None else order.gather(keys)
    return children, rule.keys(aux, len(children))


def static_names(node: Any, rule: Rule) -> Sequence[str]:
    """Return the names of what a node keeps beside its children, as far as known."""
    form = rule.form
    if isinstance(form, Fields):
        return form.meta
    if isinstance(form, Shaped):
        static: Sequence[str] = rule.flatten(node)[1].anatomy.static
        return static
    return ()


def keys_of(node: Any, rule: Rule) -> list[Any]:
    """Return the keys of a node's children."""
    return [link_key(_linked(rule, key)) for key in children_of(node, rule)[1]]


_BARE: Final = frozenset({DICT, LIST, TUPLE})


def _linked(rule: Rule, key: Any) -> Any:
    """Return a key that `children_of` gave as links have it."""
    return DictKey(key) if rule is DICT and type(key) is not str else key


# ------------------------------------------------------------------------- the walk


def find(tree: Any, steps: Sequence[Step], context: Context) -> list[Place]:
    """Return the places that a pattern means, in leaf order.

    Args:
        tree: The tree.
        steps: The pattern.
        context: What is a leaf.

    Raises:
        CycleError: The tree contains itself, below `**`.
    """
    if DEEP not in steps:
        return _find_flat(tree, steps, context)
    return [*_Deep(steps, context).find(tree)]


def _find_flat(tree: Any, steps: Sequence[Step], context: Context) -> list[Place]:
    """Find level by level: every step goes one level down."""
    places = [((), tree)]
    asks = context.stop is not None or context.view.rules.get(dict) is not DICT
    for step in steps:
        below: list[tuple[Any, Any]] = []
        name = step.name if step.is_direct and not asks else None
        for link, node in places:
            if name is not None and type(node) is dict:
                if name in node:
                    below.append(((link, name), node[name]))
            else:
                below += _one_step(link, node, step, context)
        places = below
        if not places:
            break
    return [Place(link, value) for link, value in places]


def _one_step(
    link: Any, node: Any, step: Step, context: Context
) -> Sequence[tuple[Any, Any]]:
    """Return the children of a node that a step means, with their links."""
    rule = context.rule_of(node, link)
    if rule is None:
        return ()
    name = step.name
    if rule is DICT and step.is_direct:
        return (((link, name), node[name]),) if name in node else ()
    if step.is_any and rule in _BARE:
        children, keys = children_of(node, rule)
        pairs = zip(keys, children, strict=True)
        return [((link, _linked(rule, key)), child) for key, child in pairs]
    found = [
        ((link, _linked(rule, key)), child)
        for key, child, raw in _keyed(node, rule)
        if step.test(*raw)
    ]
    if not found and step.key is not None:
        static = _static_child(node, rule, step)
        if static is not None:
            return (((link, static[0]), static[1]),)
    return found


def _static_child(node: Any, rule: Rule, step: Step) -> tuple[Any, Any] | None:
    """Return the key and value of something that a node keeps beside its children."""
    if step.name is not None and step.name in static_names(node, rule):
        return GetAttrKey(step.name), getattr(node, step.name)
    if not has_kinds(node):
        return None
    items: Sequence[tuple[Any, Any]] = ()
    if isinstance(node, Mapping):
        items = [(DictKey(key), value) for key, value in node.items()]
    elif isinstance(node, Sequence):
        items = [(SequenceKey(place), value) for place, value in enumerate(node)]
    for place, (key, value) in enumerate(items):
        if step.test(key_kind(key), key._values()[0], place, len(items)):
            return key, value
    return None


def has_kinds(node: Any) -> bool:
    """Say whether an object knows which of its attributes or items are data."""
    return hasattr(node, "_leafwise_layout")


def _keyed(
    node: Any, rule: Rule
) -> Iterator[tuple[Any, Any, tuple[str, Any, int, int]]]:
    """Yield each child with its key, and with what the test of a step takes."""
    children, keys = children_of(node, rule)
    count = len(children)
    if rule in _BARE:
        kind = "key" if rule is DICT else "position"
        for place, (key, child) in enumerate(zip(keys, children, strict=True)):
            yield key, child, (kind, key, place, count)
        return
    if has_kinds(node) and isinstance(node, Sequence):
        count = len(node)
    for place, (key, child) in enumerate(zip(keys, children, strict=True)):
        kind = key_kind(key)
        value = key if kind == "other" else key._values()[0]
        is_position = type(key) is SequenceKey
        yield key, child, (kind, value, key.idx if is_position else place, count)


# ------------------------------------------------------- patterns with `**` in them


class _Plan:
    """What may come below a node that was reached with some steps in hand.

    Attributes:
        kept: The steps that stay in hand.
        stay: Those, with what may come after them.
        move: The tests of the other steps, with the step after each.
        names: Where all of these mean names: the steps in hand after each name.
    """

    __slots__ = ("kept", "move", "names", "stay")

    def __init__(
        self,
        kept: tuple[int, ...],
        stay: tuple[int, ...],
        move: Sequence[tuple[int, Test]],
        names: dict[str, tuple[int, ...]] | None,
    ) -> None:
        self.kept = kept
        self.stay = stay
        self.move = move
        self.names = names


class _Deep:
    """A walk with several steps of the pattern in hand at once.

    A node is looked at with the numbers of the steps that may come next, as an
    automaton does; `**` stays in hand, and lets the step after it come as well.
    """

    def __init__(self, steps: Sequence[Step], context: Context) -> None:
        self.steps = steps
        self.context = context
        self.end = len(steps)
        self.leaves_only = steps[-1] is DEEP
        self.leaf_types: set[type] | frozenset[type] = (
            frozenset() if context.stop is not None else context.view.leaf_types
        )
        self.closures: dict[tuple[int, ...], tuple[int, ...]] = {}
        self.plans: dict[tuple[int, ...], _Plan] = {}

    def closure(self, states: tuple[int, ...]) -> tuple[int, ...]:
        """Return the steps that may come next, those after a `**` included."""
        known = self.closures.get(states)
        if known is None:
            found: dict[int, None] = {}
            for state in states:
                last = state
                while last < self.end and self.steps[last] is DEEP:
                    last += 1
                found.update(dict.fromkeys(range(state, last + 1)))
            known = self.closures[states] = tuple(found)
        return known

    def plan(self, states: tuple[int, ...]) -> _Plan:
        """Return what may come below a node that these steps led to."""
        known = self.plans.get(states)
        if known is not None:
            return known
        steps, next_ones = self.steps, [s for s in states if s < self.end]
        stay = tuple([s for s in next_ones if steps[s] is DEEP])
        moves = [s for s in next_ones if s not in stay]
        names: dict[str, tuple[int, ...]] | None = None
        if all(steps[s].is_direct for s in moves):
            names = {}
            for s in moves:
                name = printed(steps[s].name)
                names[name] = (*names.get(name, stay), s + 1)
            names = {name: self.closure(after) for name, after in names.items()}
        tests = [(s + 1, steps[s].test) for s in moves]
        made = _Plan(stay, self.closure(stay), tests, names)
        self.plans[states] = made
        return made

    def find(self, tree: Any) -> Iterator[Place]:
        """Yield the places, a node before those below it."""
        end, context, rule_of = self.end, self.context, self.context.rule_of
        check_cycles = CycleCheck(context, tree)
        stack: list[tuple[Any, Any, tuple[int, ...], int]] = [
            ((), tree, self.closure((0,)), 0)
        ]
        while stack:
            link, node, states, depth = stack.pop()
            rule = None if type(node) in self.leaf_types else rule_of(node, link)
            if end in states and (rule is None or not self.leaves_only):
                yield Place(link, node)
            if rule is None or states == (end,):
                continue
            if depth == DEPTH_IN_DOUBT:
                check_cycles()
            stack += self.below(link, node, rule, states, depth + 1)[::-1]

    def below(
        self, link: Any, node: Any, rule: Rule, states: tuple[int, ...], depth: int
    ) -> list[tuple[Any, Any, tuple[int, ...], int]]:
        """Return the children in which the walk goes on."""
        end, leaf_types, plan = self.end, self.leaf_types, self.plan(states)
        stay, names = plan.stay, plan.names
        if names is None or rule not in _BARE:
            return self.tested(link, node, rule, plan, depth)
        if rule is not DICT:
            names = _NO_NAMES
        elif end not in stay and leaf_types.issuperset(map(type, node.values())):
            hits = [name for name in names if name in node]
            if len(hits) < 2:  # else they have an order
                return [((link, n), node[n], names[n], depth) for n in hits]
        found = []
        children, keys = children_of(node, rule)
        for key, child in zip(keys, children, strict=True):
            after = names.get(key, stay)
            if after and (type(child) not in leaf_types or end in after):
                found.append(((link, _linked(rule, key)), child, after, depth))
        return found

    def tested(
        self, link: Any, node: Any, rule: Rule, plan: _Plan, depth: int
    ) -> list[tuple[Any, Any, tuple[int, ...], int]]:
        """Return the children in which the walk goes on, each key being tested."""
        end, leaf_types, found = self.end, self.leaf_types, []
        for key, child, raw in _keyed(node, rule):
            moved = tuple([state for state, test in plan.move if test(*raw)])
            after = self.closure(plan.kept + moved) if moved else plan.stay
            if after and (type(child) not in leaf_types or end in after):
                found.append(((link, _linked(rule, key)), child, after, depth))
        return found


_NO_NAMES: Final[dict[Any, tuple[int, ...]]] = {}
