"""Graphs that are met again: a graph of a known structure is read without a walk.

A training loop passes the same model again and again. `KnownGraph` is a list of steps
that read the values of such a graph, and notice if it has another structure by now:
another class, key, static value, or other shared references.
"""

from __future__ import annotations

from operator import is_
from typing import Any

from ..core.node import Rule
from ..core.registry import current
from ..safely import add_lasting
from .graph import (
    FIXED,
    LEAF,
    NODE,
    REF,
    TREE,
    VARIABLE,
    Entry,
    GraphDef,
    flatten_graph,
)
from .instance import is_unchecked, rule_of
from .spec import Statics
from .variables import Variable, metadata_of


Place = tuple[int, int]
"""The index of a node among those that are flattened, and the index of a child."""


class KnownGraph:
    """A structure, and the steps that read a graph that has it.

    Attributes:
        graphdef: The structure.
    """

    def __init__(self, graphdef: GraphDef) -> None:
        self.graphdef = graphdef
        self._view = current.view
        self._leaf_types: set[type] = set()
        self._nodes: list[tuple[Place, type, Rule, int, Any]] = []
        self._variables: list[tuple[int, Any, Any]] = []
        self._tracked: list[Place] = []
        self._values: list[tuple[Place, bool]] = []
        self._again: list[tuple[Place, int]] = []
        stack = [(0, iter(range(1)))]  # the index of a node, and its children to come
        for tag, rule, number, aux in graphdef._code:
            while (child := next(stack[-1][1], None)) is None:
                stack.pop()
            place = stack[-1][0], child
            if tag in (NODE, TREE):
                cls = rule.class_of(aux)
                self._nodes.append((place, cls, rule, number, aux))
                stack.append((len(self._nodes), iter(range(number))))
            elif tag == VARIABLE:
                self._variables.append((len(self._tracked), rule, aux))
            elif tag == REF:
                self._again.append((place, aux))
            if tag in (NODE, VARIABLE):
                self._tracked.append(place)
            if tag in (LEAF, VARIABLE):
                self._values.append((place, tag == VARIABLE))

    def read(self, root: Any) -> tuple[list[Any], list[Any]] | None:
        """Return the values of a graph and its objects by index.

        Returns:
            None if the graph has, or may have, another structure.
        """
        if current.view is not self._view:
            return None
        children: list[Any] = [(root,)]
        for (parent, index), cls, rule, arity, aux in self._nodes:
            node = children[parent][index]
            if type(node) is not cls:
                return None
            below, found = rule.flatten(node)
            if len(below) != arity or not _is_same(rule, found, aux):
                return None
            children.append(below)
        tracked: list[Any] = [
            children[parent][index] for parent, index in self._tracked
        ]
        for number, rule, aux in self._variables:
            variable = tracked[number]
            if type(variable) is not rule.cls:
                return None
            if (variable._leafwise_metadata or aux.values) and not _is_same(
                rule, metadata_of(variable), aux
            ):
                return None
        if len({*map(id, tracked)}) != len(tracked) or not all(
            children[parent][index] is tracked[number]
            for (parent, index), number in self._again
        ):
            return None
        leaves = [(children[i][j], is_variable) for (i, j), is_variable in self._values]
        types = {type(leaf) for leaf, is_variable in leaves if not is_variable}
        if not all(map(self._is_leaf, types - self._leaf_types)):
            return None
        values = [leaf._leafwise_value if boxed else leaf for leaf, boxed in leaves]
        return values, tracked

    def _is_leaf(self, cls: type) -> bool:
        if rule_of(cls) is not None:
            return False
        add_lasting(self._leaf_types, cls)
        return True


class LastGraph:
    """The graph that was flattened last, which is known once it was met twice."""

    def __init__(self) -> None:
        self._last: GraphDef | None = None
        self._known: KnownGraph | None = None

    def flatten(self, root: Any) -> tuple[GraphDef, list[Any], list[Any]]:
        """Return the structure of a graph, its values, and its objects by index."""
        known = self._known  # another thread may replace it
        found = None if known is None else known.read(root)
        if known is not None and found is not None:
            return known.graphdef, *found
        flat = flatten_graph(root)
        last, graphdef = self._last, flat.graphdef
        values = [
            leaf._leafwise_value if isinstance(leaf, Variable) else leaf
            for leaf in flat.leaves
        ]
        if last is None or not is_identical(last, graphdef):
            self._last, self._known = graphdef, None
            return graphdef, values, flat.tracked
        is_marked = all(
            tag != FIXED and not (tag == NODE and is_unchecked(rule.cls))
            for tag, rule, *_ in flat.code
        )
        self._known = KnownGraph(last) if is_marked else None
        return last, values, flat.tracked


# ------------------------------------------------------------- to the last detail


def is_identical(a: GraphDef, b: GraphDef) -> bool:
    """Return whether two graphdefs are equal, with the very values in order."""
    mine, theirs = a._code, b._code
    return len(mine) == len(theirs) and all(map(identical_entry, mine, theirs))


def identical_entry(a: Entry, b: Entry) -> bool:
    """Return whether two entries are equal, with the very values in the same order."""
    tag, rule, arity, aux = a
    return a is b or (
        (tag, rule, arity) == b[:3] and (rule is None or _is_same(rule, aux, b[3]))
    )


def _is_same(rule: Rule, a: Any, b: Any) -> bool:
    """Return whether aux data are the same, with the very values in the same order."""
    if a is b:
        return True
    if not rule.same_aux(a, b):
        return False
    if rule.is_mapping and type(a) is tuple:
        return bool(a[0] == b[0])  # the keys, in their own order
    if type(a) is not Statics:
        return True
    names = a.field_layout.names
    return names == b.field_layout.names and all(map(is_, a.values, b.values))
