"""Nodes of several trees joined into one, and the outer join of whole trees.

Owns what nodes need to have in common to be joined, how the joined nodes are rebuilt
from the bottom up, and `tree_map_outer` and `tree_zip_outer`, in which no tree wins.
Which value wins in a merge is decided in `merge`.
"""

from __future__ import annotations

import copy
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    MutableMapping,
    MutableSequence,
    Sequence,
)
from operator import is_
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ..core.keypath import KeyPath
from ..core.keys import DictKey, GetAttrKey, SequenceKey
from ..core.node import Rule
from ..core.registry import GLOBAL, lookup
from ..core.walk import locate, unlink
from ..errors import EditError
from ..kinds import Kind, Marked
from ..ops.context import Context, context_of
from ..ops.visit import DELETE
from ..safely import MISSING, clip, type_name
from .find import DEPTH_IN_DOUBT, CycleCheck, call_at, has_kinds, keys_of


if TYPE_CHECKING:
    from ..core.node import IsLeaf

__all__ = [
    "Joint",
    "Parts",
    "Spot",
    "by_key",
    "by_place",
    "by_shape",
    "called",
    "extended",
    "is_items",
    "is_mapping",
    "items_like",
    "items_of",
    "join",
    "mapping_like",
    "shown",
    "table_of",
    "tree_map_outer",
    "tree_zip_outer",
    "with_article",
]

Make: TypeAlias = Callable[[Sequence[Any], Sequence[Any]], Any]
"""Makes a node from the keys and the values of its children."""


class Parts:
    """The children of nodes that are joined.

    Attributes:
        keys: The keys of all children, bare.
        as_key: Makes a key object of one.
        columns: For each node, what it has at these keys; MISSING for nothing.
        make: Rebuilds the node from the bare keys and children that remain.
        is_fixed: Whether all children must remain.
    """

    __slots__ = ("as_key", "columns", "is_fixed", "keys", "make")

    def __init__(
        self,
        keys: Sequence[Any],
        as_key: Callable[[Any], Any],
        columns: Sequence[Sequence[Any]],
        make: Make,
        *,
        is_fixed: bool = False,
    ) -> None:
        self.keys = keys
        self.as_key = as_key
        self.columns = columns
        self.make = make
        self.is_fixed = is_fixed


class Joint:
    """A node of the result that is being built.

    Attributes:
        parts: The children of the nodes that are joined.
        above: The joint of the parent.
        slot: The position among the children of the parent.
        values: The children, as far as they are known; MISSING for nothing.
        link: The path to it, as a linked list.
        depth: How many joints are above it.
    """

    __slots__ = ("above", "depth", "link", "parts", "slot", "values")

    def __init__(self, parts: Parts, above: Joint | None, slot: int) -> None:
        self.parts = parts
        self.above = above
        self.slot = slot
        self.values: list[Any] = [MISSING] * len(parts.keys)
        self.link: Any = ()
        self.depth = 0
        if above is not None:
            self.depth = above.depth + 1
            self.link = above.link_to(slot)

    def link_to(self, slot: int) -> Any:
        """Return the path to a child, as a linked list."""
        return () if self.above is None else (self.link, self.key_of(slot))

    def key_of(self, slot: int) -> Any:
        """Return the key of a child."""
        return self.parts.as_key(self.parts.keys[slot])

    def path_to(self, slot: int) -> KeyPath:
        """Return the path to a child."""
        return KeyPath(unlink(self.link_to(slot)))

    def made(self) -> Any:
        """Return the node.

        Raises:
            EditError: A child is missing that the node must have.
        """
        try:
            return self._made()
        except EditError:
            raise
        except Exception as error:
            locate(error, [*unlink(self.link)][::-1])
            raise

    def _made(self) -> Any:
        keys, values, parts = self.parts.keys, self.values, self.parts
        there = [number for number, x in enumerate(values) if x is not MISSING]
        if len(there) == len(keys):
            return parts.make(keys, values)
        if parts.is_fixed:
            gone = next(n for n, x in enumerate(values) if x is MISSING)
            path = self.path_to(gone)
            raise EditError(
                f"{path.where()} cannot be deleted: its parent has a fixed number of "
                "children",
                path=path,
            )
        return parts.make([keys[n] for n in there], [values[n] for n in there])


class Spot:
    """A place in the trees that are joined."""

    __slots__ = ("joint", "slot")

    def __init__(self, joint: Joint, slot: int) -> None:
        self.joint = joint
        self.slot = slot

    @property
    def path(self) -> KeyPath:
        """The path to it."""
        return self.joint.path_to(self.slot)

    @property
    def link(self) -> Any:
        """The path to it, as a linked list."""
        return self.joint.link_to(self.slot)


def _same(key: Any) -> Any:
    return key


def join(
    trees: Sequence[Any],
    context: Context,
    settle: Callable[[Joint, Any], Iterator[tuple[Joint, Any]]],
    state: Any = None,
) -> Any:
    """Return trees joined into one; `MISSING` if nothing of them remains.

    Args:
        trees: The trees.
        context: What is a leaf.
        settle: Takes a joint and a state; sets the values of children that need no
            further walk, and yields a joint and a state for each other child. It
            continues once that child is settled, so that places are settled in leaf
            order.
        state: The state for the joint that holds the root.

    Raises:
        CycleError: A tree contains itself.
        EditError: A child is missing that a node must have.
    """
    root = Joint(
        Parts([None], _same, [*zip(trees)], lambda _, values: values[0]), None, 0
    )
    joints = [root]
    stack = [settle(root, state)]
    check_cycles = CycleCheck(context, *trees)
    while stack:
        opened = next(stack[-1], None)
        if opened is None:
            stack.pop()
            continue
        joint, state = opened
        if joint.depth == DEPTH_IN_DOUBT:
            check_cycles()
        joints.append(joint)
        stack.append(settle(joint, state))
    for joint in joints[:0:-1]:  # those farthest down first
        above: Any = joint.above
        above.values[joint.slot] = joint.made()
    return root.values[0]


def called(f: Callable[..., Any], values: Sequence[Any], spot: Spot) -> Any:
    """Call a function with the values at a place; MISSING if it returns `DELETE`."""
    found = call_at(f, values, spot)
    return MISSING if found is DELETE else found


def shown(node: Any, context: Context, link: Any = ()) -> str:
    """Describe a node or leaf in a message."""
    if context.rule_of(node, link) is None:
        return f"the leaf {clip(node)}"
    return with_article(type_name(node))


def with_article(name: str) -> str:
    """Return the name of a class after "a" or "an"."""
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


# --------------------------------------------------------------------- kinds of nodes


def is_mapping(node: Any, rule: Rule) -> bool:
    """Return whether a node is a mapping that can get other keys."""
    return rule.is_mapping or isinstance(node, MutableMapping)


def is_items(node: Any, rule: Rule) -> bool:
    """Return whether a node is a sequence that can get another length."""
    return rule.is_sequence or isinstance(node, MutableSequence)


def table_of(node: Any, rule: Rule) -> Mapping[Any, Any]:
    """Return the keys and children of a mapping, in its own order."""
    table: Mapping[Any, Any] = rule.items(node) if rule.is_mapping else node
    return table


def items_of(node: Any, rule: Rule) -> Sequence[Any]:
    """Return the children of a sequence."""
    items: Sequence[Any] = rule.items(node) if rule.is_sequence else node
    return items


def by_key(nodes: Sequence[Any], rules: Sequence[Rule]) -> Parts:
    """Join mappings; the keys are in the order in which the nodes bring them."""
    tables = [*map(table_of, nodes, rules)]
    keys = [*dict.fromkeys(key for table in tables for key in table)]
    columns = [[table.get(key, MISSING) for key in keys] for table in tables]
    first, rule = nodes[0], rules[0]

    def make(found: Sequence[Any], values: Sequence[Any]) -> Any:
        return mapping_like(first, rule, found, values, nodes)

    return Parts(keys, DictKey, columns, make)


def by_place(nodes: Sequence[Any], rules: Sequence[Rule]) -> Parts:
    """Join sequences position by position."""
    items = [*map(items_of, nodes, rules)]
    size = max(map(len, items))
    columns = [[*column, *[MISSING] * (size - len(column))] for column in items]
    first, rule = nodes[0], rules[0]

    def make(_: Sequence[Any], values: Sequence[Any]) -> Any:
        return items_like(first, rule, values, nodes)

    return Parts(range(size), SequenceKey, columns, make)


def by_shape(
    nodes: Sequence[Any], rule: Rule, pick: Callable[[Sequence[Any]], Any]
) -> Parts | None:
    """Join nodes of one type; None if they do not have the same keys.

    Args:
        nodes: The nodes.
        rule: The rule of all of them.
        pick: Takes the aux data of the nodes and returns that of the new node.
    """
    keys = keys_of(nodes[0], rule)
    if any(keys_of(node, rule) != keys for node in nodes[1:]):
        return None
    columns, auxes = zip(*map(rule.flatten, nodes), strict=True)
    aux = pick(auxes)
    first, children = nodes[0], columns[0]

    def make(_: Sequence[Any], values: Sequence[Any]) -> Any:
        if aux is auxes[0] and all(map(is_, values, children)):
            return first
        return rule.unflatten(aux, values)

    return Parts(keys, _same, columns, make, is_fixed=True)


# ------------------------------------------------------------------ nodes of one kind


def mapping_like(
    node: Any,
    rule: Rule,
    keys: Sequence[Any],
    values: Sequence[Any],
    sources: Sequence[Any],
) -> Any:
    """Return a mapping of the type of a node; the node if it has exactly these items.

    Args:
        node: The node.
        rule: Its rule.
        keys: The keys.
        values: The values.
        sources: The nodes that the items are from.
    """
    table = table_of(node, rule)
    if _same_items(keys, values, table, table.values()):
        return node
    if rule.is_mapping:
        items = dict(zip(keys, values, strict=True))
        return rule.from_items(rule.rest(node), items)
    made = copy.copy(node)
    for key in {*made}.difference(keys):
        del made[key]
    is_data = _data_keys(sources)
    for key, value in zip(keys, values, strict=True):
        if key not in made or made[key] is not value:
            made[key] = Marked(Kind.DATA, value) if key in is_data else value
    return made


_EXACT: Final = frozenset({str, int, bool, bytes})


def _same_items(
    keys: Sequence[Any],
    values: Sequence[Any],
    old_keys: Collection[Any],
    old: Iterable[Any],
) -> bool:
    """Return whether keys and values are exactly the old ones, in the same order.

    Comparing values is not enough: None and other shared objects may be under any key.
    A key that is only equal to the old one, as True is to 1, is another key.
    """
    return (
        len(old_keys) == len(keys)
        and all(map(_same_key, keys, old_keys))
        and all(map(is_, values, old))
    )


def _same_key(a: Any, b: Any) -> bool:
    """Return whether two keys are indistinguishable."""
    return a is b or (type(a) is type(b) and type(a) in _EXACT and bool(a == b))


def items_like(
    node: Any, rule: Rule, values: Sequence[Any], sources: Sequence[Any]
) -> Any:
    """Return a sequence of the type of a node; the node if it has exactly these items.

    Args:
        node: The node.
        rule: Its rule.
        values: The items.
        sources: The nodes that the items are from, position by position.
    """
    old = items_of(node, rule)
    if len(old) == len(values) and all(map(is_, values, old)):
        return node
    if rule.is_sequence:
        return rule.from_items(rule.rest(node), [*values])
    made = copy.copy(node)
    del made[len(values) :]
    is_data = _data_keys(sources)
    for place, value in enumerate(values):
        item = Marked(Kind.DATA, value) if place in is_data else value
        if place == len(made):
            made.append(item)
        elif made[place] is not value:
            made[place] = item
    return made


def extended(node: Any, rule: Rule, more: Any, other: Rule) -> Any:
    """Return a sequence of the type of a node, extended by the items of another."""
    items = items_of(more, other)
    if not has_kinds(node):
        return items_like(node, rule, [*items_of(node, rule), *items], ())
    made = copy.copy(node)
    is_data = _data_keys([more])
    for place, value in enumerate(items):
        made.append(Marked(Kind.DATA, value) if place in is_data else value)
    return made


def _data_keys(nodes: Sequence[Any]) -> set[Any]:
    """Return the keys of items that are data in one of the nodes.

    In a container that has kinds, those of kind data; in any other, the nodes.
    """
    found: set[Any] = set()
    for node in nodes:
        rule = lookup(type(node))
        if rule is None:
            continue
        if has_kinds(node):
            keys = keys_of(node, rule)
            items = (key for key in keys if not isinstance(key, GetAttrKey))
            found.update(key.entry for key in items)
        elif is_mapping(node, rule):
            table = table_of(node, rule)
            found.update(key for key in table if lookup(type(table[key])) is not None)
        elif is_items(node, rule):
            items_ = enumerate(items_of(node, rule))
            found.update(place for place, x in items_ if lookup(type(x)) is not None)
    return found


# ------------------------------------------------------------------- the outer join


def tree_map_outer(
    f: Callable[..., Any],
    *trees: Any,
    fill: Any = MISSING,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> Any:
    """Map a function over trees that need not have the same keys.

    The result has each key that any of the trees has, in order of appearance; subtrees
    that do not change are shared.

    Args:
        f: Takes as many values as there are trees: the leaf of each tree at a place,
            or `fill`. Its exceptions get a note of the path.
        *trees: One tree or more.
        fill: What to pass for a leaf that a tree does not have.
        is_leaf, is_leaf_takes_path, none_is_leaf, namespace: See
            :ref:`common arguments <common>`.

    Raises:
        EditError: Nodes of different types, or a leaf and a node, are at one place.
        CycleError: A tree contains itself.
        TypeError: No tree is given.

    Example:
        >>> import leafwise as lw
        >>> lw.selection.tree_map_outer(lambda x, y: x + y, {"a": 1, "b": [2]},
        ...     {"b": [3, 4]}, fill=0)
        {'a': 1, 'b': [5, 4]}
    """
    if not trees:
        raise TypeError("tree_map_outer takes at least one tree")
    context = context_of(is_leaf, is_leaf_takes_path, none_is_leaf, namespace)

    def settle(joint: Joint, _state: None) -> Iterator[tuple[Joint, None]]:
        for slot, row in enumerate(zip(*joint.parts.columns, strict=True)):
            spot = Spot(joint, slot)
            parts = _parts_at(spot, row, context)
            if parts is None:
                filled = [fill if value is MISSING else value for value in row]
                joint.values[slot] = called(f, filled, spot)
            else:
                yield Joint(parts, joint, slot), None

    return join(trees, context, settle)


def _parts_at(spot: Spot, row: Sequence[Any], context: Context) -> Parts | None:
    """Return the parts of what the trees have at a place; None if these are leaves.

    Raises:
        EditError: They cannot be joined.
    """
    nodes = [value for value in row if value is not MISSING]
    link = () if context.stop is None else spot.link
    found = [context.rule_of(node, link) for node in nodes]
    rules = [rule for rule in found if rule is not None]
    if not rules:
        return None
    parts = _joined(nodes, rules) if len(rules) == len(nodes) else None
    if parts is None:
        path = spot.path
        sorts = " and ".join(
            dict.fromkeys(shown(node, context, link) for node in nodes)
        )
        raise EditError(f"cannot join {sorts} at {path.where()}", path=path)
    if len(nodes) < len(row):
        nothing = [MISSING] * len(parts.keys)
        there = iter(parts.columns)
        parts.columns = [nothing if x is MISSING else next(there) for x in row]
    return parts


def _joined(nodes: Sequence[Any], rules: Sequence[Rule]) -> Parts | None:
    """Return the parts of nodes; None if they are of different types.

    Objects with kinds, whose static items are not leaves, must have one shape.
    """
    if not any(map(has_kinds, nodes)):
        if all(map(is_mapping, nodes, rules)):
            return by_key(nodes, rules)
        if all(map(is_items, nodes, rules)):
            return by_place(nodes, rules)
    if any(rule is not rules[0] for rule in rules):
        return None
    return by_shape(nodes, rules[0], lambda auxes: auxes[0])


def tree_zip_outer(
    *trees: Any,
    fill: Any = MISSING,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> Any:
    """Zip several trees: the leaves at each place become a tuple.

    Args:
        *trees: One tree or more, which need not have the same keys.
        fill: What to put for a leaf that a tree does not have.
        is_leaf, is_leaf_takes_path, none_is_leaf, namespace: See
            :ref:`common arguments <common>`.

    Raises:
        EditError: Nodes of different types, or a leaf and a node, are at one place.

    Example:
        >>> import leafwise as lw
        >>> lw.selection.tree_zip_outer({"a": 1, "b": 2}, {"b": 3, "c": 4})
        {'a': (1, MISSING), 'b': (2, 3), 'c': (MISSING, 4)}
    """
    return tree_map_outer(
        lambda *row: row,
        *trees,
        fill=fill,
        is_leaf=is_leaf,
        is_leaf_takes_path=is_leaf_takes_path,
        none_is_leaf=none_is_leaf,
        namespace=namespace,
    )
