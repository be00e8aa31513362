"""Plans: a structure as instructions, before they become text.

A plan is a graph of `Part`s, one for each kind of subtree: equal subtrees are one
part, and equal neighbours are one run of it. So its size is that of what differs in
a structure, not that of the structure. Plans are data; what they mean in Python is
said in `emit`, and nothing here knows how a tree is read.
"""

from __future__ import annotations

import enum
from collections.abc import Hashable, Sequence
from itertools import groupby
from typing import Any, Final, TypeAlias

from ..core.builtins import (
    BUILTINS,
    DEQUE,
    DICT,
    LIST,
    NAMEDTUPLE,
    NONE,
    ORDEREDDICT,
    TUPLE,
    DefaultDictRule,
    DictRule,
)
from ..core.keys import DictKey, FlattenedIndexKey, GetAttrKey, SequenceKey
from ..core.node import Fields, Functions, Rule, Shaped
from ..core.walk import Code


MAX_ENTRIES: Final = 1_000_000
MAX_DEPTH: Final = 250
MAX_LOOPS: Final = 16
MAX_WEIGHT: Final = 2_000
FEW: Final = 12
"""How many children are read or written one by one, rather than as a sequence."""

FEW_KEYS: Final = 32
"""How many values are read one by one by their keys, in leaf order."""

WIDE: Final = 16
"""From how many keys on a dict is filled in, as a copy of one that has all of them.

CPython makes a display of fewer keys in one step, of more key by key. Filled in takes
0.8 of the time for 16 keys, 0.6 to 0.75 for 20, 0.4 for 200, on 3.11, 3.12 and 3.13.
"""

STORED: Final = 256
"""Up to how many keys each has its own place in the text."""

FEW_LEAVES: Final = 128
"""How many leaves are asked for their types one by one, if all have names."""

_UNROLLED = 80


class _Varies(tuple[Any, ...]):
    """Stands for aux data that is read anew; holds what of it does not vary."""

    __slots__ = ()


_READ_ANEW: Final = object()

Run: TypeAlias = "tuple[Part | None, int]"
"""Equal neighbours: a part, or None for leaves, and how many of them."""


class Part:
    """One kind of subtree.

    Attributes:
        kind: How the node is read: `list`, `tuple`, `none`, `dict`, `defaultdict`,
            `OrderedDict`, `deque`, `namedtuple`, `record` (attributes), `shaped`
            (attributes that the node tells), `custom` (two functions), `keyed` (two
            functions, which give keys as well) or `called` (the rule itself).
        rule: The rule of the node.
        cls: The class that a node must have.
        aux: Its aux data, None where it varies.
        shape: The shape of a `shaped` node, None for all others.
        arity: The number of its children.
        runs: Its children, equal neighbours together.
        varies: Whether its aux data is read anew each time.
        leaves: How many leaves are below it.
        has_loop: Whether there is a loop in it, of nodes or leaves.
        weight: How much text it takes.
        depth: How many nodes are on the longest way down.
        loops: How many loops are in one another.
        calls_user: Whether reading it, or something below it, runs functions that
            were registered.
    """

    def __init__(
        self, kind: str, rule: Rule, aux: Any, runs: tuple[Run, ...], *, varies: bool
    ) -> None:
        parts = [part for part, _ in runs if part is not None]
        self.kind = kind
        self.rule = rule
        self.cls: type = rule.class_of(aux)
        self.varies = varies
        self.aux: Any = None if varies else aux
        self.shape: Any = aux.field_layout if kind == "shaped" else None
        self.runs = runs
        self.arity = sum(count for _, count in runs)
        self.leaves: int = sum(n if p is None else n * p.leaves for p, n in runs)
        self.has_loop = any(
            n > 1 if p is None else p.has_loop or n > 1 for p, n in runs
        )
        self.depth: int = 1 + max((part.depth for part in parts), default=0)
        self.loops: int = max(
            (p.loops + is_loop(p, n) for p, n in runs if p is not None), default=0
        )
        self.weight = 1 + sum(_weight_of_run(part, count) for part, count in runs)
        self.calls_user: bool = kind in ("custom", "keyed", "called") or any(
            part.calls_user for part in parts
        )

    def __repr__(self) -> str:
        runs = [f"{count} x {part or 'leaf'!s}" for part, count in self.runs]
        return f"<{self.kind}: {', '.join(runs)}>"


class Plan:
    """What the engine knows about one structure.

    Attributes:
        root: The part of the root.
        parts: All parts, children before parents.
        classes: The classes of their nodes, but for the built-in ones.
        entries: The number of nodes of the structure.
        varying: For each node whose aux data varies, its place in the code.
    """

    __slots__ = ("classes", "entries", "parts", "root", "varying")

    def __init__(
        self, root: Part, parts: tuple[Part, ...], entries: int, varying: Sequence[int]
    ) -> None:
        self.root = root
        self.parts = parts
        self.classes = {part.cls for part in parts} - BUILTINS.keys()
        self.entries = entries
        self.varying = varying


def is_loop(part: Part, count: int) -> bool:
    """Return whether a run is a loop, rather than the same text again and again."""
    return count > 1 and part.weight * count > _UNROLLED


def _weight_of_run(part: Part | None, count: int) -> int:
    if part is None:
        return min(count, 4)
    return 2 + part.weight if is_loop(part, count) else part.weight * count


def keys_of(part: Part) -> tuple[Any, ...]:
    """Return the keys of a mapping, as they were inserted."""
    return part.aux if part.kind == "OrderedDict" else part.aux[0]  # type: ignore[no-any-return]  # a tuple


def has_plain_keys(keys: tuple[Any, ...]) -> bool:
    """Return whether equal keys are the same keys, once their types are."""
    return SCALARS.issuperset(map(type, keys))


# ------------------------------------------------------- values, to the last bit

SCALARS: Final = frozenset({bool, bytes, int, str, type(None)})
"""The types whose equal values are the same, once the types are."""

_KEYS: Final = frozenset({DictKey, FlattenedIndexKey, GetAttrKey, SequenceKey})


class NotInertError(Exception):
    """A value is mutable, is compared by its class's own rules, or is not known."""


def exact_key(value: Any) -> Hashable:
    """Return a key that two values share only if one can stand for the other.

    Raises:
        NotInertError: The value is not inert.

    Example:
        >>> from leafwise.engine.plan import exact_key
        >>> exact_key((1, "a")) == exact_key((1, "a")), exact_key(1) == exact_key(True)
        (True, False)
    """
    cls = type(value)
    if cls in SCALARS:
        return cls, value
    if cls is float and value == value:
        return cls, value.hex()
    if cls is tuple:
        return cls, tuple(map(exact_key, value))
    if cls in _KEYS:
        return cls, tuple(map(exact_key, value._values()))
    if issubclass(cls, type | enum.Enum):
        return cls, id(value)
    raise NotInertError


def exactly(value: Any, known: Any) -> bool:
    """Return whether a value can stand for an inert one.

    Example:
        >>> from leafwise.engine.plan import exactly
        >>> exactly((1, 2.0), (1, 2.0)), exactly((1, 2), (1, 2.0)), exactly(-0.0, 0.0)
        (True, False, False)
    """
    if value is known:
        return True
    cls = type(known)
    if type(value) is not cls:
        return False
    if cls in SCALARS:
        return bool(value == known)
    if cls is float:
        return bool(value.hex() == known.hex())
    if cls is tuple:
        return len(value) == len(known) and all(map(exactly, value, known))
    return cls in _KEYS and exactly(value.entry, known.entry)


# ------------------------------------------------------------------ what a node is

_INERT_KINDS: Final[dict[Rule, str]] = {
    ORDEREDDICT: "OrderedDict",
    DEQUE: "deque",
    NAMEDTUPLE: "namedtuple",
}


def _kind_of(rule: Rule, aux: Any) -> str:
    if rule is LIST or rule is TUPLE:
        return rule.name
    if rule is NONE:
        return "none"
    if isinstance(rule.form, Fields):
        return "record"
    if isinstance(rule.form, Shaped):
        return "shaped"
    if isinstance(rule.form, Functions):
        return "custom" if aux[1] is None else "keyed"
    if isinstance(rule, DictRule | DefaultDictRule):  # they differ in the order only
        return "dict" if isinstance(rule, DictRule) else "defaultdict"
    return _INERT_KINDS.get(rule, "called")


def _identity(kind: str, aux: Any) -> Hashable:
    """Return a key for the aux data of a node.

    Raises:
        NotInertError: It is not inert.
    """
    if kind in ("list", "tuple", "none"):
        return None
    if kind == "shaped":
        return aux.field_layout, exact_key(aux.values)
    if kind in ("dict", "defaultdict"):  # their order follows from their keys
        return exact_key((aux[0], *aux[2:]))
    return exact_key(aux)


_ALL_STR: Final = frozenset({str})


def _identify(rule: Rule, aux: Any) -> tuple[str, Hashable]:
    """Return the kind of a node, and a key for its aux data."""
    if rule is DICT and _ALL_STR.issuperset(map(type, aux[0])):
        return "dict", aux[0]  # the commonest, with fewer calls
    kind = _kind_of(rule, aux)
    try:
        return kind, _identity(kind, aux)
    except (NotInertError, RecursionError):
        if kind == "shaped":
            return kind, _Varies((_READ_ANEW, aux.field_layout))
        known = kind if kind in ("record", "custom") else "called"
        return known, _Varies((_READ_ANEW, rule.class_of(aux)))


def structure_key(code: Code) -> Hashable:
    """Return a key that structures share only if one plan serves all of them.

    Equal entries of it are one object, so that the key of a large structure is small.

    Example:
        >>> import leafwise as lw
        >>> from leafwise.engine.plan import structure_key
        >>> one, other = lw.tree_structure({1: 0}), lw.tree_structure({True: 0})
        >>> one == other, structure_key(one._code) == structure_key(other._code)
        (True, False)
    """
    marks = [
        (run, rule, arity, None if aux is None else _identify(rule, aux)[1])
        for run, rule, arity, aux in code
    ]
    shared = {mark: mark for mark in marks}
    return tuple(map(shared.__getitem__, marks))


# ---------------------------------------------------------------- from code to plan


def make_plan(code: Code) -> Plan | None:
    """Return the plan of a structure, None if it is best left to the walk.

    Example:
        >>> import leafwise as lw
        >>> from leafwise.engine.plan import make_plan
        >>> treedef = lw.tree_structure({"layers": [(0, 0)] * 100, "step": 0})
        >>> make_plan(treedef._code).root
        <dict: 1 x <list: 100 x <tuple: 2 x leaf>>, 1 x leaf>
    """
    if not 0 < len(code) <= MAX_ENTRIES:
        return None
    known: dict[Hashable, Part] = {}
    stack: list[Part | None] = []
    varying: list[int] = []
    for place, (run, rule, arity, aux) in enumerate(code):
        stack += [None] * run
        children = stack[len(stack) - arity :]
        del stack[len(stack) - arity :]
        kind, identity = _identify(rule, aux)
        varies = type(identity) is _Varies
        if varies:
            varying.append(place)
        runs = _runs(children)
        key = (rule, identity, tuple((id(part), count) for part, count in runs))
        part = known.get(key)
        if part is None:
            part = known[key] = Part(kind, rule, aux, runs, varies=varies)
            if part.depth > MAX_DEPTH or part.loops > MAX_LOOPS:
                return None
            if part.weight > MAX_WEIGHT:
                return None
        stack.append(part)
    root = stack[-1]
    if root is None:
        return None
    return Plan(root, tuple(known.values()), len(code), tuple(varying))


def _runs(children: list[Part | None]) -> tuple[Run, ...]:
    if len(children) > 1 or (children and children[0] is not None):
        return tuple(
            (part, sum(1 for _ in same)) for part, same in groupby(children, key=_self)
        )
    return ((None, 1),) if children else ()


def _self(part: Part | None) -> Part | None:
    return part
