"""Trees merged into one: node by node, by a rule for each place, or as an outer join.

Owns what nodes need to have in common to be joined and how the joined nodes are built
from the bottom up; `tree_merge`, in which one value wins: mappings are merged key by
key, other nodes of one type child by child; and `tree_map_outer` and `tree_zip_outer`,
in which no tree wins. How a node of a kind is made is defined in `rebuild`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import repeat
from operator import is_
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, overload

from ..core.keypath import KeyPath
from ..core.keys import DictKey, GetAttrKey, SequenceKey
from ..core.node import Rule
from ..core.registry import GLOBAL
from ..core.walk import flatten, locate, unlink
from ..equality.leaves import Values, type_names
from ..errors import EditError
from ..ops.context import Context, context_of
from ..ops.inspect import how_to_register
from ..ops.traversal import DELETE
from ..safely import MISSING, class_name, clip, printed, type_name
from .align import Numbering, numbers_by_key
from .diff import differ
from .fields import fields_of, no_field
from .find import DEEP, DEPTH_IN_DOUBT, call_at, check_cycles, find, has_kinds, keys_of
from .pattern import with_article
from .policy import CONFLICTS, JOINS, LISTS, Policy, Rules, placed
from .rebuild import (
    Delete,
    Edit,
    Edited,
    Insert,
    Set,
    changed_node,
    data_keys,
    entries_of,
    item_key,
    rebuild,
    remade,
)


if TYPE_CHECKING:
    from ..core.node import IsLeaf
    from ..hints import Class, K, Node, T


Make: TypeAlias = Callable[[Sequence[Any], Sequence[Any]], Any]
"""Makes a node from the keys and the values of its children."""


class Parts:
    """The children of nodes that are joined.

    Attributes:
        keys: The keys of all children, bare.
        as_key: Makes a key object of one.
        columns: For each node, what it has at these keys; MISSING for nothing.
        places: For each child, its key in each of two nodes, None for nothing; None
            where all nodes have the same keys.
        make: Rebuilds the node from the bare keys and children that remain.
        is_fixed: Whether all children must remain.
    """

    is_fixed = False
    places: Sequence[Sequence[Any]] | None = None

    def __init__(
        self,
        keys: Sequence[Any],
        as_key: Callable[[Any], Any],
        columns: Sequence[Sequence[Any]],
        make: Make,
    ) -> None:
        self.keys = keys
        self.as_key = as_key
        self.columns = columns
        self.make = make


class Joint:
    """A node of the result that is being built.

    Attributes:
        parts: The children of the nodes that are joined.
        above: The joint of the parent.
        slot: The position among the children of the parent.
        values: The children, as far as they are known; MISSING for nothing.
        depth: How many joints are above it.
    """

    __slots__ = ("_link", "above", "depth", "parts", "slot", "values")

    def __init__(self, parts: Parts, above: Joint | None, slot: int) -> None:
        self.parts = parts
        self.above = above
        self.slot = slot
        self.values: list[Any] = [MISSING] * len(parts.keys)
        self.depth: int = 0 if above is None else above.depth + 1
        self._link: Any = () if above is None or above.above is None else None

    @property
    def link(self) -> Any:
        """The path to it, as a linked list, made when it is first asked for."""
        joints: list[Any] = [self]
        while joints[-1]._link is None:
            joints.append(joints[-1].above)
        link = joints.pop()._link
        while joints:
            joint = joints.pop()
            link = joint._link = (link, joint.above.key_of(joint.slot))
        return link

    def link_to(self, slot: int) -> Any:
        """Return the path to a child, as a linked list."""
        return () if self.above is None else (self.link, self.key_of(slot))

    def key_of(self, slot: int) -> Any:
        """Return the key of a child."""
        return self.parts.as_key(self.parts.keys[slot])

    def made(self) -> Any:
        """Return the node.

        Raises:
            EditError: A child is missing that the node must have.
        """
        keys, values, parts = self.parts.keys, self.values, self.parts
        if any(map(is_, values, repeat(MISSING))):
            there = [number for number, x in enumerate(values) if x is not MISSING]
            if parts.is_fixed:
                gone = next(n for n, x in enumerate(values) if x is MISSING)
                path = KeyPath(unlink(self.link_to(gone)))
                raise EditError(
                    f"{path.where()} cannot be deleted: its parent has a fixed number "
                    "of children",
                    path=path,
                )
            keys, values = [keys[n] for n in there], [values[n] for n in there]
        try:
            return parts.make(keys, values)
        except EditError:
            raise
        except Exception as error:  # of the class, which is told where
            locate(error, [*unlink(self.link)][::-1])
            raise


class Spot(NamedTuple):
    """A place in the trees that are joined."""

    joint: Joint
    slot: int

    @property
    def link(self) -> Any:
        """The path to it, as a linked list."""
        return self.joint.link_to(self.slot)

    @property
    def path(self) -> KeyPath:
        """The path to it."""
        return KeyPath(unlink(self.link))


def _same(key: Any) -> Any:
    return key


def join_trees(
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
    unchecked = [*trees]
    while stack:
        opened = next(stack[-1], None)
        if opened is None:
            stack.pop()
            continue
        joint, state = opened
        if joint.depth == DEPTH_IN_DOUBT:
            check_cycles(unchecked, context)
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


# ------------------------------------------------------------------- nodes, joined


def by_key(nodes: Sequence[Any], rules: Sequence[Rule], as_key: Any) -> Parts:
    """Join mappings, or sequences position by position.

    The keys are in the order in which the nodes bring them.
    """
    tables = [*map(entries_of, nodes, rules)]
    keys = [*dict.fromkeys(key for table in tables for key in table)]
    columns = [[*map(table.get, keys, repeat(MISSING))] for table in tables]

    def make(found: Sequence[Any], values: Sequence[Any]) -> Any:
        entries = dict(zip(found, values, strict=True))
        return remade(nodes[0], rules[0], tables[0], entries, lambda: data_keys(nodes))

    return Parts(keys, as_key, columns, make)


def by_numbers(
    nodes: Sequence[Any], rules: Sequence[Rule], numbers: Sequence[Sequence[int]]
) -> Parts:
    """Join sequences by numbers that stand for their items."""
    parts = by_key(nodes, rules, SequenceKey)
    tables = [{n: place for place, n in enumerate(row)} for row in numbers]
    known = dict.fromkeys(number for table in tables for number in table)
    rows: list[Any] = [[table.get(number) for table in tables] for number in known]
    parts.keys = [next(place for place in row if place is not None) for row in rows]
    parts.columns = [
        [MISSING if row[n] is None else column[row[n]] for row in rows]
        for n, column in enumerate(parts.columns)
    ]
    parts.places = [
        [place if place is None else SequenceKey(place) for place in row]
        for row in rows
    ]
    make = parts.make
    parts.make = lambda _, values: make(range(len(values)), values)
    return parts


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

    parts = Parts(keys, _same, columns, make)
    parts.is_fixed = True
    return parts


def by_field(
    spot: Spot, node: Any, rule: Rule, table: Mapping[Any, Any], policy: Policy
) -> Parts | None:
    """Join an object with a mapping that is merged onto it; None if one of them wins.

    Raises:
        EditError: A name is no field, and no rule decides.
    """
    fields = fields_of(node, rule)
    if not fields:
        return None
    is_fixed = rule.extras is None or rule.extras(node) is None
    unknown = [name for name in table if name not in fields]
    if unknown and policy.join in ("left", "inner"):
        table = {name: x for name, x in table.items() if name in fields}
    elif unknown and is_fixed:
        if policy.decides:
            return None
        raise no_field(spot.path, node, unknown[0], fields)
    names = dict.fromkeys([*fields, *table])
    old = [fields.get(name, MISSING) for name in names]
    new = [table.get(name, value) for name, value in zip(names, old, strict=True)]

    def make(keys: Sequence[Any], values: Sequence[Any]) -> Any:
        kept = dict(zip(keys, values, strict=True))
        edits: list[tuple[Any, Edit]] = []
        for key, before in zip(parts.keys, old, strict=True):
            value = kept.get(key, MISSING)
            if value is MISSING and before is not MISSING:
                edits.append((key, Delete()))
            elif value is not before:
                edits.append((key, (Insert if before is MISSING else Set)(value)))
        return changed_node(spot.link, node, rule, edits) if edits else node

    parts = Parts([*map(GetAttrKey, names)], _same, (old, new), make)
    parts.is_fixed = is_fixed
    return parts


# ------------------------------------------------------------------- the outer join


def tree_map_outer(
    f: Callable[..., Any],
    *trees: Any,
    fill: Any = MISSING,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> Any:
    """Map a function over trees that may have different keys.

    The result has each key that any of the trees has, in order of appearance. Subtrees
    that do not change are shared.

    Args:
        f: Takes one value for each tree: the leaf of the tree at a key path, or `fill`.
            Its exceptions get a note that names the key path.
        *trees: One tree or more.
        fill: The value to pass for a leaf that a tree does not have.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        none_is_leaf: Whether None is a leaf and not a node without children.
        namespace: Where classes are looked up before the global registry.

    Raises:
        EditError: Nodes of different types, or a leaf and a node, are at the same path.
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
    context = context_of(is_leaf, none_is_leaf=none_is_leaf, namespace=namespace)

    def settle(joint: Joint, _state: None) -> Iterator[tuple[Joint, None]]:
        for slot, row in enumerate(zip(*joint.parts.columns, strict=True)):
            spot = Spot(joint, slot)
            parts = _parts_at(spot, row, context)
            if parts is None:
                filled = [fill if value is MISSING else value for value in row]
                joint.values[slot] = called(f, filled, spot)
            else:
                yield Joint(parts, joint, slot), None

    return join_trees(trees, context, settle)


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
        (as_key, *others) = {*map(item_key, nodes, rules)}
        if as_key is not None and not others:
            return by_key(nodes, rules, as_key)
    if any(rule is not rules[0] for rule in rules):
        return None
    return by_shape(nodes, rules[0], lambda auxes: auxes[0])


def tree_zip_outer(
    *trees: Any,
    fill: Any = MISSING,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> Any:
    """Zip trees that may have different keys: the leaves at each path become a tuple.

    Args:
        *trees: One tree or more, which may have different keys.
        fill: The value to use for a leaf that a tree does not have.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        none_is_leaf: Whether None is a leaf and not a node without children.
        namespace: Where classes are looked up before the global registry.

    Raises:
        EditError: Nodes of different types, or a leaf and a node, are at the same path.

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
        none_is_leaf=none_is_leaf,
        namespace=namespace,
    )


# -------------------------------------------------------------------------- deep merges


@overload
def tree_merge(
    base: Node,
    *overlays: Any,
    join: str = ...,
    lists: str | Mapping[Any, str] = ...,
    conflict: str = ...,
    rules: Mapping[Any, Any] | None = ...,
    validate: bool = ...,
    namespace: str = ...,
) -> Node: ...
@overload
def tree_merge(
    base: dict[K, T],
    *overlays: dict[K, T],
    join: str = ...,
    lists: str | Mapping[Any, str] = ...,
    conflict: str = ...,
    rules: Mapping[Any, Any] | None = ...,
    validate: bool = ...,
    namespace: str = ...,
) -> dict[K, T]: ...
@overload
def tree_merge(
    base: Class,
    *overlays: Any,
    join: str = ...,
    lists: str | Mapping[Any, str] = ...,
    conflict: str = ...,
    rules: Mapping[Any, Any] | None = ...,
    validate: bool = ...,
    namespace: str = ...,
) -> Class: ...
@overload
def tree_merge(
    base: Any,
    *overlays: Any,
    join: str = ...,
    lists: str | Mapping[Any, str] = ...,
    conflict: str = ...,
    rules: Mapping[Any, Any] | None = ...,
    validate: bool = ...,
    namespace: str = ...,
) -> Any: ...
def tree_merge(
    base: Any,
    *overlays: Any,
    join: str = "outer",
    lists: str | Mapping[Any, str] = "replace",
    conflict: str = "overlay",
    rules: Mapping[Any, Any] | None = None,
    validate: bool = True,
    namespace: str = GLOBAL,
) -> Any:
    """Merge trees recursively into a base tree; later trees take precedence.

    `DELETE` as a value in an overlay deletes the node or leaf there. None is a value
    like any other. A leaf and a container, or containers of different types, cannot be
    merged. This is an error, unless one of them is None or a rule says which one wins.
    A dict is merged field by field into an object: a dataclass, a named tuple, a
    `Pytree`, a pydantic model or an attrs instance. The object keeps its class and all
    its fields.

    Args:
        base: The tree to merge into. It is not changed.
        *overlays: The trees to merge into it, one after another. Subtrees that no
            overlay changes are shared with the base.
        join: Which keys of two mappings remain: with `"outer"` all keys, with `"left"`
            those of the base, with `"inner"` those in both, with `"right"` those of the
            overlay.
        lists: How two lists or tuples are merged: `"replace"` takes the overlay's list,
            `"extend"` concatenates both, `"position"` merges item by item. A
            mapping of selectors to keys, such as `{"**.containers": "name"}`, pairs the
            items of these lists by the value of this key; other lists are replaced.
        conflict: Which of two leaves is kept: `"overlay"` or `"base"`. `"error"` raises
            an error unless they are equal.
        rules: For each selector, one of these words, or a function from both values to
            the new one. A word applies to what the selector picks in the base or an
            overlay, and below. It also decides whether a node or leaf that only one of
            them has remains. If several selectors pick the same node or leaf, the last
            one counts. The selector `""` picks the root.
        validate: Whether changed pydantic models and attrs instances run
            :ref:`the validation of their class <validated>`, once, after all overlays
            are merged.
        namespace: The namespace to look up classes in.

    Raises:
        EditError: Two values cannot be merged, or differ where that is an error; a
            required child is deleted; an item lacks the key that pairs it, or two items
            have the same key; or a dict has names that are not fields of the object
            that it is merged into.
        CycleError: A tree contains itself.
        ValueError: An option is an unknown word.

    Example:
        >>> import leafwise as lw
        >>> base = {"optim": {"lr": 0.1, "betas": [0.9, 0.99]}, "tags": ["a"]}
        >>> mine = {"optim": {"lr": 0.2, "betas": lw.DELETE}, "tags": ["b"]}
        >>> lw.tree_merge(base, mine, rules={"tags": "extend"})
        {'optim': {'lr': 0.2}, 'tags': ['a', 'b']}
        >>> lw.tree_merge(base, {"optim": 3})
        Traceback (most recent call last):
        ...
        leafwise.errors.EditError: cannot merge the leaf 3 onto a dict at ['optim']; \
add a rule for this path, "overlay" or "base", to choose which one wins
        >>> lw.tree_merge(base, {"optim": 3}, rules={"optim": "overlay"})
        {'optim': 3, 'tags': ['a']}
        >>> base = {"users": [{"id": 1, "age": 30}, {"id": 2}]}
        >>> lw.tree_merge(base, {"users": [{"id": 2, "age": 7}]}, lists={"users": "id"})
        {'users': [{'id': 1, 'age': 30}, {'id': 2, 'age': 7}]}
    """
    keyed = lists if isinstance(lists, Mapping) else {}
    lists = lists if isinstance(lists, str) else LISTS[0]
    for word, known in ((join, JOINS), (lists, LISTS), (conflict, CONFLICTS)):
        if word not in known:
            raise ValueError(
                f"{clip(word)} is not one of {', '.join(map(repr, known))}"
            )
    policy = Policy(join, lists, conflict)
    for rule in (rules or {}).values():
        policy.changed(rule)
    context = context_of(none_is_leaf=True, namespace=namespace)
    merged = base
    record = Edited(validate)
    for overlay in overlays:
        there = None
        if rules or keyed:
            there = placed(rules or {}, keyed, (merged, overlay), context)
        settle = _Merging(context, record).settle
        merged = join_trees((merged, overlay), context, settle, (policy, there))
        if merged is MISSING:
            raise EditError("the root cannot be deleted", path=KeyPath())
    record.complete_in(merged, context)
    return merged


_MARKS: Final = frozenset({type(DELETE), type(MISSING)})


class _Merging:
    """The merge of one overlay into a tree."""

    def __init__(self, context: Context, record: Edited) -> None:
        self.context = context
        self.record = record
        self.resolve = context.view.resolve
        self.leaf_types = context.view.leaf_types
        self.numbering = Numbering(context)

    def settle(
        self, joint: Joint, state: tuple[Policy, Rules | None]
    ) -> Iterator[tuple[Joint, Any]]:
        """Settle the children of a joint, by a policy and the rules from there on."""
        policy, rules = state
        ours, others = joint.parts.columns
        keeps = rules is None and policy.join in ("outer", "left")
        joint.values[:] = ours
        rows = [
            (slot, below, above)
            for slot, (below, above) in enumerate(zip(ours, others, strict=True))
            if below is not above and (above is not MISSING or not keeps)
        ]
        overlays = keeps and policy.is_plain
        for slot, below, above in rows:
            here, inner = policy, rules
            if overlays:
                merged = self.overlaid(below, above)
                if merged is not MISSING:
                    joint.values[slot] = merged
                    continue
            if rules is not None:
                inner = rules if joint.above is None else rules.at(joint, slot)
                here = policy if inner is None else inner.applied(policy)
            found = self.settled(Spot(joint, slot), below, above, here)
            if type(found) is Parts:
                yield Joint(found, joint, slot), (here.below(), inner)
            else:
                joint.values[slot] = found

    def overlaid(self, below: Any, above: Any) -> Any:
        """Return the merge of two leaves, or of two mappings of nothing but leaves.

        MISSING for all else, and where a leaf has a meaning of its own.
        """
        rule = self.resolve(type(below))
        if rule is not self.resolve(type(above)) or below is MISSING or above is DELETE:
            return MISSING
        if rule is None:
            return above
        if not rule.is_mapping:
            return MISSING
        mine, theirs = rule.items(below), rule.items(above)
        kinds = {*map(type, mine.values()), *map(type, theirs.values())}
        if not kinds <= self.leaf_types or kinds & _MARKS:
            return MISSING
        merged = {**mine, **theirs}
        if len(merged) == len(mine) and all(map(is_, merged.values(), mine.values())):
            return below
        return rule.from_items(rule.rest(below), merged)

    def settled(self, spot: Spot, below: Any, above: Any, policy: Policy) -> Any:
        """Return the value of a place, or the parts to merge."""
        if below is MISSING:
            keeps = policy.join in ("outer", "right")
            return self.cleaned(spot, above) if keeps else MISSING
        if above is MISSING:
            return below if policy.join in ("outer", "left") else MISSING
        if above is DELETE:
            return MISSING
        if policy.function is not None:
            return called(policy.function, (below, above), spot)
        rule, other = self.resolve(type(below)), self.resolve(type(above))
        if rule is None or other is None:
            fits = rule is other or below is None or above is None
            if fits and other is None and policy.conflict == "overlay":
                return above
            return self.chosen(spot, below, above, policy, fits=fits)
        as_key, other_key = item_key(below, rule), item_key(above, other)
        if as_key is other_key is DictKey:
            return by_key((below, above), (rule, other), DictKey)
        if as_key is other_key is SequenceKey:
            return self.items(spot, (below, above), (rule, other), policy)
        if rule is other:
            parts = by_shape((below, above), rule, _picker(spot, rule, policy))
            if parts is not None:
                return self.noted(below, rule, parts)
        table = entries_of(above, other) if other_key is DictKey else None
        if rule is other and rule.extras is not None:
            table = fields_of(above, other)
        if table is not None:
            parts = by_field(spot, below, rule, table, policy)
            if parts is not None:
                return self.noted(below, rule, parts)
        return self.chosen(spot, below, above, policy, fits=False)

    def noted(self, node: Any, rule: Rule, parts: Parts) -> Parts:
        """Return parts whose object is noted as edited, if its class cares."""
        if rule.edited is None:
            return parts
        make, old = parts.make, dict(zip(parts.keys, parts.columns[0], strict=True))

        def make_noted(keys: Sequence[Any], values: Sequence[Any]) -> Any:
            made = make(keys, values)
            if made is not node:
                pairs = zip(keys, values, strict=True)
                names = [key.name for key, value in pairs if value is not old[key]]
                self.record.add((), node, made, rule, names)
            return made

        parts.make = make_noted
        return parts

    def items(
        self,
        spot: Spot,
        nodes: tuple[Any, Any],
        rules: tuple[Rule, Rule],
        policy: Policy,
    ) -> Any:
        """Return the merge of two sequences, or the parts to merge."""
        key = policy.pairs
        if key is not None and rules[0].is_sequence and rules[1].is_sequence:
            number_of, path = self.numbering.of, spot.path
            pairs = zip(nodes, rules, strict=True)
            numbers = [
                numbers_by_key(row, key, self.context, number_of, path)
                for row in ([*entries_of(*one).values()] for one in pairs)
            ]
            return by_numbers(nodes, rules, numbers)
        if policy.lists == "position":
            return by_key(nodes, rules, SequenceKey)
        if policy.lists == "extend":
            old = entries_of(nodes[0], rules[0])
            more = self.cleaned(spot, nodes[1])
            size, added = len(old), entries_of(more, rules[1])
            items = {**old, **{size + place: x for place, x in added.items()}}
            data = lambda: {size + place for place in data_keys([more])}  # noqa: E731
            return remade(nodes[0], rules[0], old, items, data)
        return self.chosen(spot, *nodes, policy, fits=True)

    def chosen(
        self, spot: Spot, below: Any, above: Any, policy: Policy, *, fits: bool
    ) -> Any:
        """Return one of two values.

        Raises:
            EditError: It is undecided which.
        """
        if not (fits or policy.decides):
            raise _misfit(spot, below, above, self.context)
        if policy.conflict == "base":
            return below
        if policy.conflict == "overlay":
            return self.cleaned(spot, above)
        path = spot.path
        if differ(below, above, self.context, Values(), path):
            raise EditError(
                f"{clip(below)} and {clip(above)} differ at {path.where()}", path=path
            )
        return below

    def cleaned(self, spot: Spot, value: Any) -> Any:
        """Return a value of an overlay without the parts marked as deleted."""
        if value is DELETE:
            return MISSING
        if self.context.rule_of(value) is None:
            return value
        leaves = flatten(value, self.context.view)[0]
        if not any(leaf is DELETE for leaf in leaves):
            return value
        places = find(value, (DEEP,), self.context)
        edits = [(p.path, Delete()) for p in places if p.value is DELETE]
        try:
            return rebuild(value, edits, self.context)
        except EditError as error:
            path = spot.path
            raise EditError(f"in {path.where()}: {printed(error)}", path=path) from None


def _picker(spot: Spot, rule: Rule, policy: Policy) -> Callable[[Sequence[Any]], Any]:
    """Return a function that picks the aux data of the merged node."""

    def pick(auxes: Sequence[Any]) -> Any:
        below, above = auxes
        if policy.conflict == "base" or rule.same_aux(below, above):
            return below
        if policy.conflict == "overlay":
            return above
        path = spot.path
        raise EditError(
            f"the static fields of two {class_name(rule.cls, qualified=False)} nodes "
            f"differ at {path.where()}",
            path=path,
        )

    return pick


def _misfit(spot: Spot, below: Any, above: Any, context: Context) -> EditError:
    over, under = (shown(node, context) for node in (above, below))
    if over == under and type(above) is not type(below):
        names = type_names(type(above), type(below))
        over, under = f"{over} ({names[0]})", f"{under} ({names[1]})"
    other = " with other children" if type(below) is type(above) else ""
    path = spot.path
    hint = how_to_register(type(below)) if context.rule_of(below) is None else ""
    return EditError(
        f"cannot merge {over} onto {under}{other} at {path.where()}; "
        f"{hint and f'{hint}; '}add a rule for this path, "
        '"overlay" or "base", to choose which one wins',
        path=path,
    )
