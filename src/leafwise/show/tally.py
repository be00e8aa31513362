"""Counting what a tree holds: leaves, numbers and bytes, node by node.

Owns the pass over all leaves. It takes time linear in their number, goes as deep as the
tree does, and never fails: what cannot be flattened is a leaf. An array, a variable or
another object that stands in several places counts where it stands first. Knows nothing
of rows and texts.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from ..core.keypath import KeyPath
from ..core.node import Rule
from ..core.treedef import PyTreeDef
from ..core.walk import PathPredicate, iter_steps
from ..equality.content import instance_of, is_array
from ..kinds import Kind
from ..ops.context import Context
from ..safely import class_name, type_name


Kinds: TypeAlias = "str | Sequence[str]"
"""The kind of all children of a node, or one for each."""

DATA: Final = Kind.DATA.value
_LARGEST: Final = 1 << 62
_MOST: Final = 64  # dimensions; numpy has no more
_PLAIN: Final = (bool, int, float, complex, str, bytes)


class Amount:
    """How much there is of something.

    Attributes:
        leaves: The number of leaves.
        count: The number of numbers: those in arrays, and one for any other leaf.
        bytes: What the arrays take.
    """

    __slots__ = ("bytes", "count", "leaves")

    def __init__(self, leaves: int = 0, count: int = 0, bytes: int = 0) -> None:  # noqa: A002
        self.leaves = leaves
        self.count = count
        self.bytes = bytes

    def add(self, other: Amount) -> None:
        """Count something else, too."""
        self.leaves += other.leaves
        self.count += other.count
        self.bytes += other.bytes

    def take(self, other: Amount) -> None:
        """Leave out something that was counted."""
        self.leaves -= other.leaves
        self.count -= other.count
        self.bytes -= other.bytes


class Part:
    """A node of a treedef, as if it were one of a tree."""

    __slots__ = ("aux", "children", "rule")

    def __init__(self, rule: Rule, aux: Any, children: list[Any]) -> None:
        self.rule = rule
        self.aux = aux
        self.children = children


class AnyLeaf:
    """What stands in a treedef for a leaf."""

    __slots__ = ()


_ANY: Final = AnyLeaf()


_NO_NODES: Final[dict[int, Node]] = {}
_NO_PLACES: Final[dict[int, tuple[Node, int]]] = {}
_NOTHING: Final[set[int]] = set()


class Node:
    """A node, and what it holds.

    Attributes:
        above: The node that it stands in; the root stands in one of its own.
        place: Its place there.
        children: What stands in it.
        kinds: The kinds of these.
        amounts: By kind, what is counted in it.
        nodes: The nodes among its children, by place.
        again: For each child that is counted elsewhere, the node and the place where.
        is_cell: Whether it stands for the one value in it, as a variable does.
    """

    __slots__ = (
        "_aux",
        "_keys",
        "_rule",
        "above",
        "again",
        "amounts",
        "children",
        "hidden",
        "is_cell",
        "is_picky",
        "kinds",
        "nodes",
        "place",
    )

    def __init__(
        self,
        above: Node | None,
        place: int,
        rule: Rule | None,
        aux: Any,
        children: Sequence[Any],
    ) -> None:
        self.above = above
        self.place = place
        self.children = children
        self.kinds: Kinds = DATA
        self.amounts: dict[str, Amount] = {}
        self.nodes = _NO_NODES
        self.again = _NO_PLACES
        self.hidden = _NOTHING
        self.is_cell = self.is_picky = False
        self._rule = rule
        self._aux = aux
        self._keys: Sequence[Any] | None = None

    @property
    def cls(self) -> type:
        """Its class; that of the node around the root is `object`."""
        return object if self._rule is None else self._rule.class_of(self._aux)

    @property
    def keys(self) -> Sequence[Any]:
        """The keys of the children."""
        if self._keys is None:
            assert self._rule is not None
            self._keys = self._rule.keys(self._aux, len(self.children))
        return self._keys

    @property
    def total(self) -> Amount:
        """All that is counted in it."""
        found = Amount()
        for amount in self.amounts.values():
            found.add(amount)
        return found

    def kind_of(self, place: int) -> str:
        """Return the kind of a child."""
        return self.kinds if type(self.kinds) is str else self.kinds[place]

    def amount_of(self, place: int) -> Amount:
        """Return what is counted in a child: nothing, if it is counted elsewhere."""
        if place in self.again:
            return Amount()
        if place in self.nodes:
            return self.nodes[place].total
        return Amount(1, *size_of(self.children[place]))

    def counted(self) -> Iterator[tuple[int, Any]]:
        """Yield the leaves among the children that are counted here, by place."""
        for place, value in enumerate(self.children):
            if not (place in self.nodes or place in self.again or place in self.hidden):
                yield place, value


def tally(tree: Any, context: Context) -> list[Node]:
    """Return the nodes of a tree with what they hold, as they are met.

    The first one holds just the root.

    Args:
        tree: A tree, or a treedef.
        context: Which values are nodes.

    Example:
        >>> from leafwise.ops.context import context_of
        >>> from leafwise.show.tally import tally
        >>> top, *nodes = tally({"a": 1, "b": [2, 3]}, context_of(None, False, False))
        >>> top.total.count, [(node.cls, node.total.count) for node in nodes]
        (3, [(<class 'dict'>, 3), (<class 'list'>, 2)])
    """
    walk = _Walk(context)
    walk.run(_as_parts(tree) if isinstance(tree, PyTreeDef) else tree)
    for node in reversed(walk.nodes):
        if node.above is not None:
            for kind, amount in node.amounts.items():
                node.above.amounts.setdefault(kind, Amount()).add(amount)
    return walk.nodes


def _as_parts(treedef: PyTreeDef) -> Any:
    stack: list[Any] = []
    for step in iter_steps(treedef._code):
        if step is None:
            stack.append(_ANY)
            continue
        rule, arity, aux = step
        children = stack[len(stack) - arity :]
        del stack[len(stack) - arity :]
        stack.append(Part(rule, aux, children))
    return stack[0]


class _Sort(NamedTuple):
    """What is known of all nodes of a class.

    Attributes:
        rule: Their rule, None for leaves.
        is_array: Of leaves, whether they are arrays that may stand in several places.
        kinds: Returns the kinds of the children, if the class knows them: takes aux
            data, and the kind that the place of the node has.
        is_cell: Whether a node stands for the one value in it.
        is_object: Whether it is an object that says what is data in it.
        is_open: Whether its attributes are not marked, nor what is in these.
    """

    rule: Rule | None
    is_array: bool = False
    kinds: Callable[[Any, Kind], list[Kind] | None] | None = None
    is_cell: bool = False
    is_object: bool = False
    is_open: bool = False


def _sort_of(rule: Rule) -> _Sort:
    """Return what is known of nodes; classes of ours say more than their rules do."""
    spec = getattr(rule.cls, "_leafwise_spec", None)
    return _Sort(
        rule,
        kinds=getattr(rule.cls, "_leafwise_kinds", None),
        is_cell=getattr(rule.cls, "_leafwise_counts", False) is True,
        is_object=spec is not None,
        is_open=spec is not None and not spec.pytree,
    )


class _Walk:
    """The pass over one tree.

    Attributes:
        nodes: What was met so far.
        seen: Where what can be shared stands first, by identity. The nodes hold what
            they were made of, so that no identity comes twice.
    """

    def __init__(self, context: Context) -> None:
        self.context = context
        self.nodes: list[Node] = []
        self.seen: dict[int, tuple[Node, int]] = {}
        self.sorts: dict[Any, _Sort] = {}
        resolve = context.view.resolve
        self.plain = {AnyLeaf, *[cls for cls in _PLAIN if resolve(cls) is None]}

    def run(self, tree: Any) -> None:
        """Count everything."""
        top = Node(None, 0, None, None, [tree])
        self.nodes.append(top)
        frames = [(top, enumerate(top.children))]
        while frames:
            inner = self.go_on(*frames[-1])
            if inner is None:
                frames.pop()
            elif not self.is_plain(inner):
                frames.append((inner, enumerate(inner.children)))

    def go_on(self, node: Node, rest: Iterator[tuple[int, Any]]) -> Node | None:
        """Count the next children of a node, up to one that is a node itself."""
        plain, seen, kinds, amounts = self.plain, self.seen, node.kinds, node.amounts
        for place, value in rest:
            count, size = 1, 0
            if type(value) not in plain:
                first = seen.get(id(value))
                if first is not None:
                    if node.again is _NO_PLACES:
                        node.again = {}
                    node.again[place] = first
                    continue
                inner = self.enter(value, node, place)
                if inner is not None:
                    return inner
                count, size = size_of(value)
            if node.is_picky and not is_array(value):
                if node.hidden is _NOTHING:
                    node.hidden = set()
                node.hidden.add(place)
                continue
            kind = kinds if type(kinds) is str else kinds[place]
            amount = amounts.get(kind)
            if amount is None:
                amount = amounts[kind] = Amount()
            amount.leaves += 1
            amount.count += count
            amount.bytes += size
        return None

    def is_plain(self, node: Node) -> bool:
        """Count all children at once if they are numbers and texts; or do nothing."""
        kinds, children = node.kinds, node.children
        if type(kinds) is not str or node.is_picky:
            return False
        if not self.plain.issuperset(map(type, children)):
            return False
        if children:
            node.amounts[kinds] = Amount(len(children), len(children))
        return True

    def enter(self, value: Any, above: Node, place: int) -> Node | None:
        """Return the node that a value is, None if it is a leaf."""
        sort = self.sort(value, above, place)
        rule = sort.rule
        if rule is None:
            if sort.is_array:
                self.seen[id(value)] = above, place
            return None
        try:
            if type(value) is Part:
                children, aux = value.children, value.aux
            else:
                children, aux = rule.flatten(value)
        except Exception:  # it fails: then it is a leaf
            return None
        node = Node(above, place, rule, aux, children)
        self.describe(node, above, sort)
        if children and type(value) is not tuple:  # equal constants are one tuple
            self.seen[id(value)] = above, place
        if above.nodes is _NO_NODES:
            above.nodes = {}
        above.nodes[place] = node
        self.nodes.append(node)
        return node

    def sort(self, value: Any, above: Node, place: int) -> _Sort:
        """Return what is known of values like one, if not by what a predicate says."""
        stop, cls = self.context.stop, type(value)
        if cls is Part:
            return self.sorts.get(value.rule) or self.learn(value.rule, value.rule)
        if stop is not None:
            takes_path = isinstance(stop, PathPredicate)
            path = KeyPath(path_of(above, place)) if takes_path else ()
            if self.context.rule_of(value, path) is None:
                return _Sort(None, _has_memory(value))
        known = self.sorts.get(cls)
        if known is None:
            rule = self.rule_of(cls)
            known = self.learn(cls, rule, rule is None and _has_memory(value))
        return known

    def learn(self, name: Any, rule: Rule | None, is_array: bool = False) -> _Sort:
        """Keep what is known of values of a class."""
        sort = _Sort(None, is_array) if rule is None else _sort_of(rule)
        self.sorts[name] = sort
        return sort

    def rule_of(self, cls: Any) -> Rule | None:
        """Return the rule of a class, also of objects that are no nodes of trees."""
        try:
            return self.context.view.resolve(cls) or cls._leafwise_spec.rule  # type: ignore[no-any-return]  # if it is ours
        except Exception:
            return None

    def describe(self, node: Node, above: Node, sort: _Sort) -> None:
        """Say of a node what its class knows: the kinds in it, and what is data."""
        around = above.kinds if type(above.kinds) is str else above.kinds[node.place]
        found = None if sort.kinds is None else sort.kinds(node._aux, Kind(around))
        node.kinds = around if found is None else [kind._value_ for kind in found]
        node.is_cell = sort.is_cell
        if not (sort.is_object or sort.is_cell):  # as a list in an object
            node.is_picky = above.is_picky or self.is_open(above)

    def is_open(self, node: Node) -> bool:
        """Return whether nobody marks the attributes of a node."""
        rule = node._rule
        sort = self.sorts.get(None if rule is None else rule.cls)
        return sort is not None and sort.is_open


def _has_memory(leaf: Any) -> bool:
    """Return whether a leaf is an array, and not only the description of one."""
    try:
        if not is_array(leaf) or instance_of(leaf, "numpy", "generic"):
            return False
        return any([hasattr(type(leaf), name) for name in _OF_ARRAYS])
    except Exception:
        return False


_OF_ARRAYS: Final = ("__array__", "__dlpack__", "__array_namespace__")


def size_of(leaf: Any) -> tuple[int, int]:
    """Return how many numbers a leaf has, and how many bytes they take, if known.

    Example:
        >>> import numpy as np
        >>> from leafwise.show.tally import size_of
        >>> size_of(np.zeros((2, 3))), size_of("text")
        ((6, 48), (1, 0))
    """
    if type(leaf) is _ndarray():
        return leaf.size, leaf.nbytes
    found = shape_of(leaf)
    if found is None:
        return 1, 0
    size = 1
    for length in found:
        size *= length
    try:
        width = leaf.dtype.itemsize
    except Exception:
        return size, 0
    known = type(width) is int and 0 < width < _LARGEST
    return size, size * width if known else 0


def _ndarray() -> Any:
    return getattr(sys.modules.get("numpy"), "ndarray", None)


def shape_of(leaf: Any) -> tuple[int, ...] | None:
    """Return the shape of an array, None if it has none that can be read."""
    try:
        if not is_array(leaf):
            return None
        shape = tuple([int(length) for length in leaf.shape])
    except Exception:
        return None
    is_true = len(shape) <= _MOST and all([0 <= n < _LARGEST for n in shape])
    return shape if is_true else None


# ------------------------------------------------------------------------ what it is


def type_of(value: Any) -> str:
    """Return the name of the class of a value; of a treedef's leaf, a star."""
    return "*" if value is _ANY else type_name(value)


def name_of(node: Node) -> str:
    """Return the name of the class of a node."""
    return class_name(node.cls, qualified=False)


def path_of(node: Node, place: int) -> tuple[Any, ...]:
    """Return the keys that lead to a child of a node."""
    keys: list[Any] = []
    here: Node | None = node
    while here is not None and here.above is not None:
        keys.append(here.keys[place])
        here, place = here.above, here.place
    return tuple(reversed(keys))


def leaves_of(nodes: Sequence[Node]) -> Iterator[tuple[Node, int, Any]]:
    """Yield each leaf that is counted, with its node and its place there."""
    for node in nodes:
        for place, value in node.counted():
            yield node, place, value
