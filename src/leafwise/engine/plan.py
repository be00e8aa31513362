"""Plans: what functions are generated from.

A plan is a graph of `Part`s, one for each kind of subtree: equal subtrees are one part,
and equal neighbours are one run of it. So the size of a plan is that of what differs in
a structure: a model of a hundred equal layers has the plan of one layer.
"""

from __future__ import annotations

import keyword
from collections import OrderedDict, defaultdict
from collections.abc import Hashable, Iterator
from itertools import chain, groupby, repeat
from typing import Any, Final, NamedTuple

from ..core import builtins, keys
from ..core import node as nodes
from ..core.builtins import DICT, MappingNodeType
from ..core.codec import NotInertError, exact_key
from ..core.walk import Code
from .settings import settings


# --------------------------------------------------- which aux data is the very same

_ALL_STR: Final = frozenset({str}).issuperset


def is_exactly(value: Any, expected: Any) -> bool:
    """Return whether a value can stand for an inert one.

    Example:
        >>> from leafwise.engine.plan import is_exactly
        >>> is_exactly((1, 2.0), (1, 2.0)), is_exactly((1, 2), (1, 2.0))
        (True, False)
        >>> is_exactly(-0.0, 0.0)
        False
    """
    if value is expected:
        return True
    try:
        return exact_key(value) == exact_key(expected)
    except NotInertError:
        return False


# ------------------------------------------------------------------------- plans

_WRITTEN_OUT: Final = frozenset(
    {builtins.LIST, builtins.TUPLE, builtins.NONE, builtins.NAMEDTUPLE}
)
"""The node types that are written out, so that the text does not call them."""
_OWN_KINDS: Final[dict[type, str]] = {
    dict: "dict",
    defaultdict: "defaultdict",
    OrderedDict: "OrderedDict",
}
"""The mappings that are read or built in a way of their own."""
MAPPINGS: Final = (*_OWN_KINDS.values(), "mapping")
"""The kinds of mappings."""


class _Varies(tuple[Any, ...]):
    """Stands for aux data that is read anew; holds what of it does not vary.

    The class is its first item, so that it equals no key of aux data, which is a plain
    tuple.
    """

    __slots__ = ()


class Part:
    """One kind of subtree.

    Attributes:
        kind: How the node is read: `list`, `tuple`, `None`, `dict`, `defaultdict`,
            `OrderedDict`, `mapping` (any other dict), `namedtuple`, `record`
            (attributes), `shaped` (attributes that the node tells), `custom` (two
            functions of the user) or `called` (the node type itself).
        node_type: The node type of the node.
        cls: The class that a node must have.
        aux: Its aux data, None where it varies.
        shape: The shape of a `shaped` node, None for all others.
        runs: Its children, equal neighbours together.
        arity: The number of its children.
        key_objects: Its keys, if a function of the user gives them, else None.
        varies: Whether its aux data is read anew each time.
        leaves: How many leaves are below it.
        weight: How much text it takes.
        depth: How many nodes are on the longest way down.
        loops: How many loops are in one another.
        calls_flatten: Whether reading it calls a flatten function of the user.
        calls_user: Whether reading it, or something below it, does.
    """

    def __init__(
        self,
        kind: str,
        node_type: nodes.NodeType,
        aux: Any,
        runs: tuple[tuple[Part | None, int], ...],
        *,
        varies: bool,
    ) -> None:
        self.kind = kind
        self.node_type = node_type
        self.cls: type = node_type.class_of(aux)
        self.aux: Any = None if varies else aux
        self.shape: Any = aux.fields if kind == "shaped" else None
        self.key_objects: Any = None
        if kind == "custom" and not varies:
            self.key_objects = aux[1]
        self.runs = runs
        self.arity = sum(count for _, count in runs)
        self.varies = varies
        self.leaves = 0
        self.weight = 1
        self.depth = 1
        self.loops = 0
        self.calls_flatten = isinstance(node_type.form, nodes.Functions)
        self.calls_user = self.calls_flatten
        for part, count in runs:
            if part is None:
                self.leaves += count
                self.weight += min(count, 4)
                continue
            loops = part.loops
            if is_loop(part, count):
                loops += 1
                self.weight += 2 + part.weight
            else:
                self.weight += count * part.weight
            self.leaves += count * part.leaves
            self.depth = max(self.depth, 1 + part.depth)
            self.loops = max(self.loops, loops)
            self.calls_user |= part.calls_user

    def children(self) -> Iterator[Part | None]:
        """Return an iterator over the children."""
        return chain.from_iterable(repeat(part, count) for part, count in self.runs)

    @property
    def keys(self) -> keys.DictKeys:
        """The keys of a mapping."""
        return self.node_type.keys_in(self.aux)  # type: ignore[attr-defined,no-any-return]


class Plan(NamedTuple):
    """What the engine knows about one structure.

    Attributes:
        root: The part of the root.
        parts: All parts, children before parents.
        varying: For each node whose aux data varies, its index in the code.
    """

    root: Part
    parts: tuple[Part, ...]
    varying: tuple[int, ...]


def is_loop(part: Part | None, count: int) -> bool:
    """Return whether a run is a loop, rather than the same text again and again."""
    return (
        part is not None
        and count > 1
        and part.weight * count > settings.max_unrolled_lines
    )


def _kind_of(node_type: nodes.NodeType, aux: Any) -> str:
    form = node_type.form
    if isinstance(form, nodes.Fields) and all(map(is_plain, (*form.data, *form.meta))):
        return "record"
    if isinstance(form, nodes.Shaped):
        return "shaped"
    if isinstance(form, nodes.Functions):
        return "custom"
    if node_type in _WRITTEN_OUT:
        return node_type.name
    if node_type.cls in _OWN_KINDS and isinstance(node_type, MappingNodeType):
        return _OWN_KINDS[node_type.cls]
    has_only_items = type(node_type).rest is nodes.NodeType.rest
    if has_only_items and isinstance(node_type, MappingNodeType):
        return "mapping"
    return "called"


def is_plain(name: str) -> bool:
    """Return whether an attribute may be written out."""
    reserved = keyword.iskeyword(name) or name == "__debug__"
    return name.isascii() and name.isidentifier() and not reserved


def _identify(node_type: nodes.NodeType, aux: Any) -> tuple[str, Hashable]:
    """Return the kind of a node, and a key for its aux data."""
    if node_type is DICT and _ALL_STR(map(type, aux.inserted)):
        return "dict", aux.inserted  # the commonest, with fewer calls
    kind = _kind_of(node_type, aux)
    try:
        if kind == "shaped":
            return kind, (aux.fields, exact_key(aux.values))
        if isinstance(node_type, MappingNodeType):  # the order follows from the keys
            return kind, exact_key(
                (node_type.keys_in(aux).inserted, node_type.rest_in(aux))
            )
        return kind, exact_key(aux)
    except (NotInertError, RecursionError):
        if kind == "shaped":
            return kind, _Varies((_Varies, aux.fields))
        has_keys = kind == "custom" and aux[1] is not None
        if has_keys or kind not in ("record", "custom"):
            kind = "called"
        return kind, _Varies((_Varies, node_type.class_of(aux)))


def structure_key(code: Code) -> tuple[Any, ...]:
    """Return a key that structures share only if one plan serves all of them.

    Example:
        >>> import leafwise as lw
        >>> from leafwise.engine.plan import structure_key
        >>> one, other = lw.tree_structure({1: 0}), lw.tree_structure({True: 0})
        >>> one == other, structure_key(one._code) == structure_key(other._code)
        (True, False)
    """
    return tuple(
        [
            (
                run,
                node_type,
                arity,
                None if aux is None else _identify(node_type, aux)[1],
            )
            for run, node_type, arity, aux in code
        ]
    )


def make_plan(code: Code) -> Plan | None:
    """Return the plan of a structure, None if it is best left to the walk.

    Example:
        >>> import leafwise as lw
        >>> from leafwise.engine.plan import make_plan
        >>> treedef = lw.tree_structure({"layers": [(0, 0)] * 100, "step": 0})
        >>> [part.kind for part in make_plan(treedef._code).parts]
        ['tuple', 'list', 'dict']
    """
    if not 0 < len(code) <= settings.max_planned_nodes:
        return None
    parts: dict[Hashable, Part] = {}
    stack: list[Part | None] = []
    varying: list[int] = []
    for index, (run, node_type, arity, aux) in enumerate(code):
        stack += [None] * run
        first = len(stack) - arity
        children = stack[first:]
        del stack[first:]
        kind, identity = _identify(node_type, aux)
        varies = type(identity) is _Varies
        if varies:
            varying.append(index)
        runs = tuple((part, len(list(equal))) for part, equal in groupby(children))
        key = (node_type, identity, runs)
        part = parts.get(key)
        if part is None:
            part = Part(kind, node_type, aux, runs, varies=varies)
            if part.depth > settings.max_depth or part.loops > settings.max_loops:
                return None
            if part.weight > settings.max_lines:
                return None
            parts[key] = part
        stack.append(part)
    all_parts = tuple(parts.values())
    return Plan(all_parts[-1], all_parts, tuple(varying))
