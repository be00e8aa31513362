"""Counting what a tree holds: leaves, numbers and bytes, node by node.

Owns the one pass over all leaves. It takes time linear in their number, goes as deep as
the tree does, and never fails: what cannot be flattened is a leaf. An array, a variable
or another object that stands in several places counts where it stands first. How large
one is, `equality.content` says. Knows nothing of rows.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import accumulate, count, repeat
from operator import attrgetter, mul
from typing import Any, Final, NamedTuple, TypeAlias

from ..core.node import Rule
from ..core.treedef import PyTreeDef
from ..core.walk import iter_steps
from ..equality.content import has_memory, shape_of, size_of
from ..kinds import Kind
from ..ops.context import Context


DATA: Final = Kind.DATA.value


class Amount(NamedTuple):
    """A number of leaves, numbers and bytes.

    Attributes:
        leaves: The number of leaves.
        count: The number of numbers: those in arrays, and one for any other leaf.
        bytes: What the arrays take.
    """

    leaves: int = 0
    count: int = 0  # type: ignore[assignment]  # hides the method of tuples
    bytes: int = 0


def total(amounts: Iterable[Amount]) -> Amount:
    """Return the sum of several amounts.

    Example:
        >>> from leafwise.show.tally import Amount, total
        >>> total([Amount(1, 10, 40), Amount(2, 2)])
        Amount(leaves=3, count=12, bytes=40)
    """
    return Amount(*map(sum, zip(*amounts, (0, 0, 0), strict=True)))


class Again(NamedTuple):
    """Placeholder for a child that is counted at another place.

    Attributes:
        above: The node in which it stands first.
        place: Its place there.
    """

    above: Node
    place: int


class Spot(NamedTuple):
    """A child of a node.

    Attributes:
        above: The node.
        place: Its place there.
        child: What stands there: a `Node`, an `Again`, or the leaf itself.
        start, end: Which of the leaves that are counted it has.
    """

    above: Node
    place: int
    child: Any
    start: int
    end: int


class Part(NamedTuple):
    """A node of a treedef, in place of a node of a tree."""

    rule: Rule
    aux: Any
    children: list[Any]


class AnyLeaf:
    """Placeholder for a leaf of a treedef."""

    __slots__ = ()


class Node:
    """A node found on the walk.

    Attributes:
        above: The node that it stands in; the root stands in one of its own.
        place: Its place there.
        value: The node itself.
        sort: What is known of its class.
        aux: What its rule says of it.
        children: What stands in it: a `Node`, an `Again`, or the leaf itself.
        start, end: Which of the leaves that are counted are inside.
        only_arrays: Whether other leaves in it are none.
    """

    __slots__ = (
        "_keys",
        "above",
        "aux",
        "children",
        "end",
        "only_arrays",
        "place",
        "sort",
        "start",
        "value",
    )

    def __init__(
        self,
        above: Node | None,
        place: int,
        value: Any,
        sort: Sort,
        children: list[Any],
        aux: Any,
        start: int,
    ) -> None:
        self.above = above
        self.place = place
        self.value = value
        self.sort = sort
        self.children = children
        self.aux = aux
        self.start = self.end = start
        self.only_arrays = False
        self._keys: Sequence[Any] | None = None

    @property
    def cls(self) -> type:
        """The class of the node."""
        rule = self.sort.rule
        return object if rule is None else rule.class_of(self.aux)

    @property
    def keys(self) -> Sequence[Any]:
        """The keys of the children."""
        if self._keys is None:
            assert self.sort.rule is not None
            self._keys = self.sort.rule.keys(self.aux, len(self.children))
        return self._keys

    @property
    def is_cell(self) -> bool:
        """Whether the node represents its only leaf, as a variable does."""
        return (
            self.sort.is_cell
            and len(self.children) == 1
            and type(self.children[0]) is not Node
        )

    def keep(self, places: Sequence[int]) -> None:
        """Leave out all other children."""
        self._keys = [self.keys[place] for place in places]
        self.children = [self.children[place] for place in places]

    def spots(self) -> Iterator[Spot]:
        """Yield the children."""
        at = self.start
        for place, child in enumerate(self.children):
            start = at
            if type(child) is Node:
                at = child.end
            elif type(child) is not Again:
                at += 1
            yield Spot(self, place, child, start, at)


class Sort(NamedTuple):
    """The properties that all values of a class share.

    Attributes:
        rule: The rule of nodes, None for leaves.
        size: Returns how many numbers there are in a leaf, and how many bytes.
        is_plain: Of leaves, whether they are just values, not even arrays.
        is_array: Of leaves, whether they are arrays that may stand in several places.
        kinds: Returns the kinds of the children, if the class knows them: takes aux
            data, and the kind that the place of the node has.
        is_cell: Whether a node stands for the one value in it.
        is_object: Whether it is an object that says what is data in it.
        is_open: Whether its attributes are not marked, nor what is in these.
    """

    rule: Rule | None
    size: Callable[[Any], tuple[int, int]]
    is_plain: bool = False
    is_array: bool = False
    kinds: Callable[[Any, Kind], list[Kind] | None] | None = None
    is_cell: bool = False
    is_object: bool = False
    is_open: bool = False


_PLAIN: Final = {bool, int, float, complex, str, bytes, type(None), AnyLeaf}
_Rest: TypeAlias = "Iterator[tuple[int, Any, str]]"
"""Children that are still to come: place, value, kind."""


class Tally:
    """The counts of a tree.

    Attributes:
        top: A node that holds just the root.
        again: How many places hold what is counted elsewhere.
        cells: The nodes that stand for values, as variables do.
        values: The leaves that are counted.
        kinds, counts, sizes: Their kinds, how many numbers they have, and bytes.

    Args:
        tree: A tree, or a treedef.
        context: Which values are nodes.

    Example:
        >>> from leafwise.ops.context import context_of
        >>> from leafwise.show.tally import Tally
        >>> tally = Tally({"a": 1, "b": [2, 3]}, context_of(None, False, False))
        >>> (root,) = tally.top.children
        >>> [tally.amounts(spot.start, spot.end) for spot in root.spots()]
        ... # doctest: +NORMALIZE_WHITESPACE
        [{'data': Amount(leaves=1, count=1, bytes=0)},
         {'data': Amount(leaves=2, count=2, bytes=0)}]
    """

    def __init__(self, tree: Any, context: Context) -> None:
        self.context = context
        self.again = 0
        self.cells: list[Node] = []
        self.values: list[Any] = []
        self.kinds: list[str] = []
        self.counts: list[int] = []
        self.sizes: list[int] = []
        self._first: dict[int, Node | Again] = {}  # all is held: no id twice
        self._sorts: dict[Any, Sort] = {}
        root = _as_parts(tree) if issubclass(type(tree), PyTreeDef) else tree
        self.top = Node(None, 0, None, Sort(None, size_of), [root], None, 0)
        self._run()
        self._sums = self._sum_up()

    def amounts(self, start: int = 0, end: int = -1) -> dict[str, Amount]:
        """Return the amounts in a range of the leaves, by kind."""
        found = {}
        for kind, sums in self._sums.items():
            amount = Amount(*[numbers[end] - numbers[start] for numbers in sums])
            if amount.leaves:
                found[kind] = amount
        return found

    def _sum_up(self) -> dict[str, list[list[int]]]:
        """Return by kind how many leaves, numbers and bytes stand before each leaf."""
        sums = {}
        kinds = dict.fromkeys(self.kinds)
        for kind in kinds:
            columns: list[Iterable[int]] = [repeat(1, len(self.kinds))]
            columns += self.counts, self.sizes
            if len(kinds) > 1:
                is_meant = [each == kind for each in self.kinds]
                columns = [map(mul, column, is_meant) for column in columns]
            sums[kind] = [[*accumulate(column, initial=0)] for column in columns]
        return sums

    # --------------------------------------------------------------------- the pass

    def _run(self) -> None:
        sorts, first, values = self._sorts, self._first, self.values
        add_value, add_kind = values.append, self.kinds.append
        add_count, add_size = self.counts.append, self.sizes.append
        node = self.top
        rest: _Rest = zip(count(), node.children, (DATA,))
        frames: list[tuple[Node, _Rest]] = []
        while True:
            for place, value, kind in rest:
                sort = sorts.get(type(value)) or self._learn(value)
                numbers, size = 1, 0
                if not sort.is_plain:
                    where = first.get(id(value))
                    if where is not None:
                        if type(where) is Node:
                            where = first[id(value)] = _place_of(value, where)
                        node.children[place] = where
                        self.again += 1
                        continue
                    if sort.rule is not None:
                        inner = self._enter(value, sort, node, place, kind)
                        if inner is not None:
                            frames.append((node, rest))
                            node, rest = inner
                            break
                    if sort.is_array:
                        first[id(value)] = node
                    numbers, size = sort.size(value)
                add_value(value)
                add_kind(kind)
                add_count(numbers)
                add_size(size)
            else:
                node.end = len(values)
                if not frames:
                    return
                node, rest = frames.pop()

    def _enter(
        self, value: Any, sort: Sort, above: Node, place: int, kind: str
    ) -> tuple[Node, _Rest] | None:
        """Return the node that a value is, with its children; None if it is a leaf."""
        if type(value) is not Part and self.context.stops_at(value):
            return None
        try:
            children, aux = sort.rule.flatten(value)  # type: ignore[union-attr]  # a node
            if type(value) is Part:
                sort, children, aux = _sort_of(value.rule), value.children, value.aux
            node = Node(above, place, value, sort, [*children], aux, len(self.values))
            is_marked = sort.is_object or sort.is_cell
            if not is_marked and (above.only_arrays or above.sort.is_open):
                self._keep_arrays(node)
            given = None if sort.kinds is None else sort.kinds(aux, Kind(kind))
        except Exception:  # it fails: then it is a leaf
            return None
        kinds = repeat(kind) if given is None else [each._value_ for each in given]
        if children and type(value) is not tuple:  # equal constants are one tuple
            self._first[id(value)] = above
        above.children[place] = node
        if sort.is_cell:
            self.cells.append(node)
        return node, zip(count(), node.children, kinds)

    def _keep_arrays(self, node: Node) -> None:
        """Leave out what is no array in a container whose leaves nobody marks."""
        node.only_arrays = True
        kept = []
        for place, child in enumerate(node.children):
            sort = self._sorts.get(type(child)) or self._learn(child)
            if sort.rule is not None or shape_of(child) is not None:
                kept.append(place)
        node.keep(kept)

    def _learn(self, value: Any) -> Sort:
        """Return what is known of values of a class, of which this is one."""
        cls, rule = type(value), None
        with suppress(Exception):  # a class may answer anything
            rule = self.context.view.resolve(cls) or cls._leafwise_spec.rule
        if rule is not None:
            sort = _sort_of(rule)
        else:
            is_numpy = cls is getattr(sys.modules.get("numpy"), "ndarray", None)
            size = attrgetter("size", "nbytes") if is_numpy else size_of
            sort = Sort(None, size, cls in _PLAIN, has_memory(value))
        self._sorts[cls] = sort
        return sort


def _place_of(value: Any, above: Node) -> Again:
    """Return where in a node a value stands first."""
    for place, child in enumerate(above.children):
        if child is value or (type(child) is Node and child.value is value):
            return Again(above, place)
    raise AssertionError(value)


def _as_parts(treedef: PyTreeDef) -> Any:
    stack: list[Any] = []
    for step in iter_steps(treedef._code):
        if step is None:
            stack.append(AnyLeaf())
            continue
        rule, arity, aux = step
        children = stack[len(stack) - arity :]
        del stack[len(stack) - arity :]
        stack.append(Part(rule, aux, children))
    return stack[0]


def _sort_of(rule: Rule) -> Sort:
    """Return what is known of nodes; classes of ours say more than their rules do."""
    spec = getattr(rule.cls, "_leafwise_spec", None)
    return Sort(
        rule,
        size_of,
        kinds=getattr(rule.cls, "_leafwise_kinds", None),
        is_cell=getattr(rule.cls, "_leafwise_counts", False) is True,
        is_object=spec is not None,
        is_open=spec is not None and not spec.pytree,
    )
