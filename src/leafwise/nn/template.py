"""Templates: graphs of objects whose structure was met before.

A template has the structure of a graph, and a function of the engine that reads graphs
of just this structure: it looks at classes, layouts, static values and metadata, and at
which objects are the same, as flattening does, and returns the values. Where it says no
the graph is flattened. Without the engine there are no templates.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from operator import is_
from typing import Any, Final

from ..core.builtins import LIST, NONE, TUPLE
from ..core.node import AGAIN, VALUE, Check, Child, Collect, GraphReading, Reading
from ..core.registry import View, current
from ..core.walk import hooks
from ..equality import exact
from ..safely import add_lasting
from .checks import levels
from .containers import container_reading_of
from .graph import (
    FIXED,
    LEAF,
    NODE,
    REF,
    TREE,
    VARIABLE,
    Entry,
    FlatGraph,
    GraphDef,
    flatten_graph,
    same_entry,
)
from .instance import is_unchecked, reading_of
from .spec import StaticMetadata, is_inert, same_value
from .variables import Metadata, variable_reading_of


_MAX_TEMPLATES: Final = 8
_MAX_COUNTS: Final = 64

Values = tuple[list[Any], list[Any]]


class Template:
    """One structure, and what reads graphs that have it.

    It reads objects of the level outside of all traces, and there alone.

    Attributes:
        graphdef: The structure.
        note: What the user of the template keeps with it.
    """

    __slots__ = (
        "_base",
        "_collector",
        "_leaf_types",
        "_view",
        "collect",
        "graphdef",
        "note",
    )

    def __init__(self, graphdef: GraphDef) -> None:
        self._collector = hooks.collector
        self._view: View = current.view
        self._base = levels.base
        self._leaf_types: set[type] = set()
        self.collect: Collect | None = None
        self.graphdef = graphdef
        self.note: Any = None

    def is_current(self) -> bool:
        """Return whether nothing is known to be otherwise than it was."""
        return (
            self._collector is hooks.collector
            and self._view is current.view
            and self._base is levels.base
        )

    def learn(self, flat: FlatGraph, met: int) -> None:
        """Take note of a graph of this structure that was flattened.

        Args:
            flat: The graph.
            met: How many such graphs there were.
        """
        base = levels.base
        for obj in flat.tracked if base is not None else ():
            stamp = getattr(obj, "_leafwise_stamp", base)
            if stamp is not base and stamp == base:  # so that one look is enough
                object.__setattr__(obj, "_leafwise_stamp", base)
        values = iter(flat.leaves)
        for tag, *_ in self.graphdef._code:
            if tag in (LEAF, VARIABLE):
                value = next(values)
                if tag == LEAF:
                    add_lasting(self._leaf_types, type(value))
        collector = hooks.collector
        if self.collect is None and collector is not None:
            self.collect = collector(met, lambda: self._describe(flat))

    def _describe(self, flat: FlatGraph) -> GraphReading | None:
        """Return how such graphs are read; None if that is best left alone."""
        code = self.graphdef._code
        if any(
            tag == FIXED or (tag == NODE and is_unchecked(rule.cls))
            for tag, rule, *_ in code
        ):
            return None
        root = _Describer(self._base).root(code, flat.tracked)
        again = tuple(number for tag, _, number, _ in code if tag == REF)
        counts = len(flat.tracked), len(flat.leaves)
        return root and GraphReading(root, *counts, again, self._leaf_types)


class _Describer:
    """Describes how graphs are read; equal nodes get one description."""

    def __init__(self, base: Any) -> None:
        self._stamp = () if base is None else (Check(("_leafwise_stamp",), "is", base),)
        self._readings: dict[Hashable, Reading] = {}
        self._constants: dict[int, list[Any]] = {}

    def root(self, code: Sequence[Entry], tracked: Sequence[Any]) -> Reading | None:
        """Return how the root of a graph is read; None if it is a bare value."""
        objects = iter(tracked)
        stack: list[tuple[Entry, Any, list[Child]]] = []
        child: Child = VALUE
        for entry in code:
            tag, _, arity, aux = entry
            if tag in (LEAF, REF):
                child = VALUE if tag == LEAF else AGAIN
            elif tag == VARIABLE:
                child = self._counted(variable_reading_of(next(objects), aux))
            else:
                stack.append((entry, next(objects) if tag == NODE else None, []))
                if arity:
                    continue
                child = self._node(*stack.pop())
            while stack:
                stack[-1][2].append(child)
                if len(stack[-1][2]) < stack[-1][0][2]:
                    break
                child = self._node(*stack.pop())
        return child if isinstance(child, Reading) else None

    def _node(self, entry: Entry, obj: Any, children: list[Child]) -> Reading:
        """Return how a node is read whose children are known."""
        tag, rule, arity, aux = entry
        below = tuple(children)
        if tag == NODE:
            reading = reading_of(rule, obj, aux, below) or container_reading_of(
                rule, obj, aux, below
            )
            return self._counted(reading or _by_rule(entry, below))
        if rule is NONE:
            return self._one(Reading(type(None)))
        if rule is LIST or rule is TUPLE:
            size = (Check((), "len", arity),)
            return self._one(Reading(rule.cls, size, whole=(), children=below))
        return _by_rule(entry, below)

    def _counted(self, reading: Reading) -> Reading:
        checks = (*reading.checks, *self._stamp)
        return self._one(reading._replace(checks=checks, is_counted=True))

    def _one(self, reading: Reading) -> Reading:
        """Return the one reading that stands for all that are equal."""
        checks = tuple(
            (
                source,
                test if isinstance(test, str) else id(test),
                self._key(test, known),
            )
            for source, test, known in reading.checks
        )
        cls, _, sources, whole, children, is_counted, value = reading
        ids = tuple(map(id, children))
        key = cls, checks, sources, whole, ids, is_counted, value
        return self._readings.setdefault(key, reading)

    def _key(self, test: Any, known: Any) -> Hashable:
        """Return a key for what is known; values that are the same have the same."""
        if test == "len":
            return known  # type: ignore[no-any-return]  # an int
        if test is not same_value:
            return id(known)
        alike = self._constants.setdefault(exact.digest(known, typed=True), [])
        found = next((value for value in alike if same_value(value, known)), None)
        if found is None:
            alike.append(known)
            return id(known)
        return id(found)


def _by_rule(entry: Entry, children: tuple[Child, ...]) -> Reading:
    """Return how a node is read that only its rule can read."""
    tag, rule, arity, aux = entry
    parts = _parts_of(entry) if tag == TREE else ()

    def read(node: Any) -> Sequence[Any] | None:
        found, aux_found = rule.flatten(node)
        if len(found) != arity or not rule.same_aux(aux_found, aux):
            return None
        is_exact = not parts or parts == _parts_of((tag, rule, arity, aux_found))
        return found if is_exact else None

    return Reading(rule.class_of(aux), whole=read, children=children)


class Templates:
    """The templates of the graphs that somebody meets: the last few."""

    __slots__ = ("_counts", "_known")

    def __init__(self) -> None:
        self._known: tuple[Template, ...] = ()
        self._counts: dict[Hashable, tuple[Template, int]] = {}

    def read(self, root: Any) -> tuple[Template, Values] | None:
        """Return the template of a graph, its values, and its objects by number.

        Returns:
            None if there is no template, or none can be used now.
        """
        known = self._known
        if not known or hooks.collector is None:
            return None
        if levels.token is not None and levels.token() != levels.base:
            return None
        for template in known:
            if template.is_current() and template.collect is not None:
                found = template.collect(root)
                if found is not None:
                    if template is not known[0]:
                        rest = (other for other in known if other is not template)
                        self._known = (template, *rest)
                    return template, found
        return None

    def flatten(self, root: Any) -> tuple[GraphDef, FlatGraph]:
        """Flatten a graph that no template can read, and take note of it.

        Returns:
            Its structure, and itself.
        """
        flat = flatten_graph(root)
        graphdef = GraphDef(tuple(flat.code))
        if hooks.collector is None:
            return graphdef, flat
        counts = self._counts
        key = graphdef, *map(id, _held_by(flat.code))
        template, met = counts.get(key) or (Template(graphdef), 0)
        if not template.is_current():
            template, met = Template(template.graphdef), 0
        if len(counts) >= _MAX_COUNTS:
            counts.clear()
        counts[key] = template, met + 1  # which holds what the ids are of
        template.learn(flat, met + 1)
        known = self._known
        if template.collect is not None and template not in known:
            rest = (old for old in known if old.is_current())
            self._known = (template, *rest)[:_MAX_TEMPLATES]
        return template.graphdef, flat


# ------------------------------------------------------------- to the last detail


def identical_entry(a: Entry, b: Entry) -> bool:
    """Return whether two entries are equal, with the very values in the same order."""
    return same_entry(a, b) and all(map(_is_same_aux, _parts_of(a), _parts_of(b)))


def _parts_of(entry: Entry) -> tuple[Any, ...]:
    """Return the static parts of an entry, those of items beside those of attributes.

    For a dict these are its keys, in their own order.
    """
    tag, rule, _, aux = entry
    if tag == NODE:
        return aux if type(aux) is tuple else (aux,)
    if tag == TREE and rule.is_mapping and type(aux) is tuple:
        return aux[:1]
    return (aux,) if tag == VARIABLE else ()


def _is_same_aux(a: Any, b: Any) -> bool:
    if type(a) is Metadata:
        return [*a.values] == [*b.values] and all(
            map(is_, a.values.values(), b.values.values())
        )
    if type(a) is not StaticMetadata:
        return bool(a == b)
    mine, other = (getattr(aux.field_layout, "names", ()) for aux in (a, b))
    return mine == other and all(map(is_, a.values, b.values))


def _held_by(code: Iterable[Entry]) -> Iterator[Any]:
    """Yield the static values in a code that may change."""
    for entry in code:
        for part in _parts_of(entry):
            values = getattr(part, "values", ())
            found = values.values() if type(values) is dict else values
            yield from (value for value in found if not is_inert(value))
