"""Trees merged into one: node by node, by a rule for each place, or as an outer join.

Owns `tree_merge`, in which one value wins: mappings are merged key by key, other nodes
of one type child by child; the policy for each place; and `tree_map_outer` and
`tree_zip_outer`, in which no tree wins. How a node of a kind is made is defined in
`rebuild`.

Both walks are generators that yield the walk of a child and receive its result
(`run`): they read like recursive functions, and trees may be of any depth.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from operator import is_, itemgetter
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    NamedTuple,
    TypeAlias,
    Unpack,
    overload,
)

from ..core.keypath import KeyPath, path_below
from ..core.keys import DictKey, GetAttrKey, SequenceKey
from ..core.node import Rule
from ..core.registry import GLOBAL
from ..core.walk import flatten
from ..equality.leaves import Values, type_names
from ..errors import EditError
from ..ops.context import Context, context_of, path_of
from ..ops.inspect import how_to_register
from ..ops.traversal import DELETE
from ..safely import MISSING, brief, class_name, clip, nearest, printed, type_name
from .align import Numbering, numbers_by_key
from .diff import differ
from .edit import (
    Delete,
    Edit,
    Edited,
    Insert,
    Set,
    changed_node,
    entries_of,
    item_key,
    rebuild,
    remade,
)
from .select import (
    DEEP,
    DEPTH_IN_DOUBT,
    Place,
    Selector,
    call_at,
    check_cycles,
    children_of,
    find,
    has_kinds,
    keys_of,
    read_selector,
    selector,
    static_names,
    with_article,
)


if TYPE_CHECKING:
    from ..core.node import IsLeaf
    from ..hints import Class, K, MergeOptions, Node, T


Walk: TypeAlias = "Generator[Walk, Any, Any]"
"""Yields the walks of children, receives their results and returns its own."""


def run(walk: Walk, trees: Sequence[Any], context: Context) -> Any:
    """Return the result of a walk of trees, of any depth.

    Raises:
        CycleError: A tree contains itself.
    """
    stack, unchecked, value = [walk], [*trees], None
    while stack:
        try:
            stack.append(stack[-1].send(value))
            value = None
        except StopIteration as stop:
            stack.pop()
            value = stop.value
        if len(stack) == DEPTH_IN_DOUBT:
            check_cycles(unchecked, context)
    return value


def _called(f: Callable[..., Any], values: Sequence[Any], link: Any) -> Any:
    """Call a function with the values at a place; MISSING if it returns `DELETE`."""
    found = call_at(f, values, Place(link, None))
    return MISSING if found is DELETE else found


def _described(node: Any, context: Context) -> str:
    """Describe a node or leaf in a message."""
    if context.rule_of(node) is None:
        return f"the leaf {clip(node)}"
    return with_article(type_name(node))


def _with_values(
    link: Any, node: Any, rule: Rule, old: Mapping[Any, Any], new: Mapping[Any, Any]
) -> tuple[Any, list[tuple[Any, Edit]]]:
    """Return an object with other children and static values, and the edits made.

    Args:
        link: Where it is, as a linked list.
        node: The object.
        rule: Its rule.
        old: Its children and static values by key.
        new: The new ones; those that are not there, or MISSING, are deleted.

    Raises:
        EditError: A child that is required is deleted.
    """
    is_fixed = rule.extras is None or rule.extras(node) is None
    edits: list[tuple[Any, Edit]] = []
    for key in {**old, **new}:
        value, known = new.get(key, MISSING), old.get(key, MISSING)
        if value is known:
            continue
        if value is MISSING and is_fixed:
            path = path_below(path_of(link), key)
            raise EditError(
                f"{path.where()} cannot be deleted: its parent has a fixed number of "
                "children",
                path=path,
            )
        edit = Insert(value) if known is MISSING else Set(value)
        edits.append((key, Delete() if value is MISSING else edit))
    if not edits:
        return node, edits
    return call_at(changed_node, (link, node, rule, edits), Place(link, None)), edits


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

    def joined(link: Any, row: Sequence[Any]) -> Walk:
        nodes = [value for value in row if value is not MISSING]
        rules: list[Any] = [context.rule_of(node) for node in nodes]
        first, key_type = nodes[0], None
        rule: Any = rules[0]
        if rules.count(None) == len(rules):
            return _called(f, [fill if x is MISSING else x for x in row], link)
        tables: list[dict[Any, Any]] = []
        if None not in rules and not any(map(has_kinds, nodes)):
            key_types = {*map(item_key, nodes, rules)}
            key_type = key_types.pop() if len(key_types) == 1 else None
        if key_type is not None:
            tables += map(entries_of, nodes, rules)
        elif rules.count(rule) == len(rules):
            tables += map(children_of, nodes, rules)
        are_alike = all([*table] == [*tables[0]] for table in tables)
        if tables and (key_type is not None or are_alike):
            made, there = {}, iter(tables)
            columns = [{} if x is MISSING else next(there) for x in row]
            for key in dict.fromkeys(key for table in tables for key in table):
                children = [table.get(key, MISSING) for table in columns]
                below = link, key if key_type is None else key_type(key)
                value = yield joined(below, children)
                if value is not MISSING:
                    made[key] = value
            if key_type is None:
                return _with_values(link, first, rule, tables[0], made)[0]
            return call_at(remade, (first, rule, tables[0], made), Place(link, None))
        path = path_of(link)
        kinds = dict.fromkeys(_described(node, context) for node in nodes)
        raise EditError(
            f"cannot join {' and '.join(kinds)} at {path.where()}", path=path
        )

    return run(joined((), trees), trees, context)


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


# -------------------------------------------------------------- what counts at a place


JOINS: Final = ("outer", "left", "inner", "right")
LISTS: Final = ("replace", "extend", "position")
CONFLICTS: Final = ("overlay", "base", "error")


class Policy(NamedTuple):
    """How to merge at one place, and below it unless a rule says otherwise.

    Attributes:
        join: Which keys remain.
        lists: How lists are merged.
        conflict: Which value wins.
        function: A function from two values to the new one, at this place only.
        pairs: Picks in the items of two lists what pairs them, at this place only.
        decides: Whether a rule said which value wins, even if their types differ.
    """

    join: str
    lists: str
    conflict: str
    function: Callable[[Any, Any], Any] | None = None
    pairs: Selector | None = None
    decides: bool = False

    def changed(self, rule: Any) -> Policy:
        """Return the policy changed by a rule.

        Raises:
            ValueError: The rule is unknown.
        """
        here = self._replace(function=None, pairs=None)
        if callable(rule):
            return here._replace(function=rule)
        if isinstance(rule, Selector):
            return here._replace(pairs=rule)
        if rule in LISTS:
            return here._replace(lists=rule)
        if rule in JOINS:
            return here._replace(join=rule, pairs=self.pairs)
        if rule in CONFLICTS:
            return here._replace(conflict=rule, decides=True, pairs=self.pairs)
        known = ", ".join(map(repr, (*JOINS, *LISTS, *CONFLICTS)))
        raise ValueError(
            f"a rule must be one of {known}, or a function; got {clip(rule)}"
        )


Rules: TypeAlias = "tuple[dict[Any, Any], ...]"
"""The rules at and below a place in two trees: tables of tables by key.

The rules for the place itself are under None, each after its number.
"""


class Spot(NamedTuple):
    """A place in two trees, and how to merge there.

    Attributes:
        link: The path, as a linked list.
        policy: The policy.
        rules: The rules at and below the place, None if there are none.
    """

    link: Any
    policy: Policy
    rules: Rules | None

    @property
    def path(self) -> KeyPath:
        """The path."""
        return path_of(self.link)


def _placed(
    rules: Sequence[tuple[Any, Any]], trees: tuple[Any, Any], context: Context
) -> Rules:
    """Return rules by the places that they are for."""
    roots: Rules = ({}, {})
    for number, (what, rule) in enumerate(rules):
        chosen = read_selector(what, context.view)
        for root, tree in zip(roots, trees, strict=True):
            for place in chosen.targets(tree, context):
                table = root
                for key in place.path:
                    table = table.setdefault(key, {})
                table.setdefault(None, []).append((number, rule))
    return roots


# -------------------------------------------------------------------------- deep merges


@overload
def tree_merge(base: Node, *overlays: Any, **options: Unpack[MergeOptions]) -> Node: ...
@overload
def tree_merge(
    base: dict[K, T], *overlays: dict[K, T], **options: Unpack[MergeOptions]
) -> dict[K, T]: ...
@overload
def tree_merge(
    base: Class, *overlays: Any, **options: Unpack[MergeOptions]
) -> Class: ...
@overload
def tree_merge(base: Any, *overlays: Any, **options: Unpack[MergeOptions]) -> Any: ...
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
    listed = [(what, selector(key)) for what, key in keyed.items()]
    listed += (rules or {}).items()
    for _, rule in listed:
        policy.changed(rule)
    context = context_of(none_is_leaf=True, namespace=namespace)
    merged = base
    record = Edited(validate)
    for overlay in overlays:
        trees = merged, overlay
        placed = _placed(listed, trees, context) if listed else None
        spot = Spot((), policy, placed)
        walk = _Merging(context, record).merged(spot, *trees)
        merged = run(walk, trees, context)
        if merged is MISSING:
            raise EditError("the root cannot be deleted", path=KeyPath())
    record.complete()
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

    def merged(self, spot: Spot, below: Any, above: Any) -> Walk:
        """Return the merge of what two trees have at a place; MISSING for nothing."""
        link, policy, rules = spot
        if rules is not None:
            found = [one for table in rules for one in table.get(None, ())]
            for _, changed in sorted(found, key=itemgetter(0)):
                policy = policy.changed(changed)
            spot = Spot(link, policy, rules)
        if below is above:
            return below
        if below is MISSING:
            keeps = policy.join in ("outer", "right")
            return self.cleaned(spot, above) if keeps else MISSING
        if above is MISSING:
            return below if policy.join in ("outer", "left") else MISSING
        if above is DELETE:
            return MISSING
        if policy.function is not None:
            return _called(policy.function, (below, above), link)
        rule, other = self.resolve(type(below)), self.resolve(type(above))
        if rule is None or other is None:
            fits = rule is other or below is None or above is None
            return self.chosen(spot, below, above, fits=fits)
        key_type, other_type = item_key(below, rule), item_key(above, other)
        if key_type is not None and key_type is other_type:
            return (yield from self.items(spot, below, above, rule, other))
        if rule is other and keys_of(below, rule) == keys_of(above, rule):
            return (yield from self.nodes(spot, below, above, rule))
        table = None
        if rule is other and rule.extras is not None:
            table = fields_of(above, other)
        elif other_type is DictKey:
            table = entries_of(above, other)
        if table is not None and fields_of(below, rule):
            return (yield from self.fields(spot, below, above, table))
        return self.chosen(spot, below, above, fits=False)

    def children(
        self,
        spot: Spot,
        mine: dict[Any, Any],
        theirs: dict[Any, Any],
        pairs: Iterable[Sequence[Any]] = (),
        as_key: Callable[[Any], Any] = lambda key: key,
    ) -> Walk:
        """Return the merged children of two nodes, without those that do not remain.

        Args:
            spot: The place of the nodes.
            mine, theirs: The children of each node.
            pairs: The keys of a child in both tables, MISSING for none. Without pairs,
                children with one key belong together.
            as_key: Makes the key of a path of one of a table.
        """
        rules = spot.rules
        policy = spot.policy._replace(function=None, pairs=None)
        keeps = rules is None and policy.join in ("outer", "left")
        overlays = keeps and policy[:3:2] == ("outer", "overlay")
        made: dict[Any, Any] = {}
        for one, other in pairs or [(key, key) for key in {**mine, **theirs}]:
            below, above = mine.get(one, MISSING), theirs.get(other, MISSING)
            key, value = other if one is MISSING else one, MISSING
            if below is above or (above is MISSING and keeps):
                value = below
            elif overlays:
                value = self.overlaid(below, above)
            if value is MISSING:
                inner: Any = None
                if rules is not None:
                    sides = zip(rules, (one, other), strict=True)
                    inner = tuple([table.get(as_key(k), {}) for table, k in sides])
                here = Spot((spot.link, as_key(key)), policy, inner)
                value = yield self.merged(here, below, above)
            if value is not MISSING:
                made[key if one is other else (key, len(made))] = value
        return made

    def items(
        self, spot: Spot, below: Any, above: Any, rule: Rule, other: Rule
    ) -> Walk:
        """Return the merge of two mappings, or of two sequences."""
        mine, theirs = entries_of(below, rule), entries_of(above, other)
        pairs: Sequence[Sequence[Any]] = ()
        key_type: Any = item_key(below, rule)
        by, lists = spot.policy.pairs, spot.policy.lists
        if key_type is SequenceKey and by is not None:
            numbers = [
                numbers_by_key([*x], by, self.context, self.numbering.of, spot.path)
                for x in (mine.values(), theirs.values())
            ]
            places = [{n: at for at, n in enumerate(row)} for row in numbers]
            known = dict.fromkeys([*numbers[0], *numbers[1]])
            pairs = [[row.get(n, MISSING) for row in places] for n in known]
        elif key_type is SequenceKey and lists == "extend":
            more, size = self.cleaned(spot, above), len(mine)
            added = {size + n: x for n, x in entries_of(more, other).items()}
            return remade(below, rule, mine, {**mine, **added}, more)
        elif key_type is SequenceKey and lists == "replace":
            return self.chosen(spot, below, above, fits=True)
        made = yield from self.children(spot, mine, theirs, pairs, key_type)
        return call_at(remade, (below, rule, mine, made, above), spot)

    def nodes(self, spot: Spot, below: Any, above: Any, rule: Rule) -> Walk:
        """Return the merge of two nodes of one type that have the same keys."""
        conflict, base = spot.policy.conflict, below
        (ours, aux), (_, other_aux) = rule.flatten(below), rule.flatten(above)
        if conflict != "base" and not rule.same_aux(aux, other_aux):
            if conflict == "error":
                name = class_name(rule.cls, qualified=False)
                raise EditError(
                    f"the static fields of two {name} nodes differ at "
                    f"{spot.path.where()}",
                    path=spot.path,
                )
            base = call_at(rule.unflatten, (other_aux, [*ours]), spot)
        mine, theirs = children_of(below, rule), children_of(above, rule)
        found = yield from self.children(spot, mine, theirs)
        made, edits = _with_values(spot.link, base, rule, mine, found)
        if made is not below and rule.edited is not None:
            self.record.add(spot.link, below, made, rule, edits)
        return made

    def fields(
        self, spot: Spot, below: Any, above: Any, table: Mapping[Any, Any]
    ) -> Walk:
        """Return the merge of an object with a mapping of its fields.

        Raises:
            EditError: A name is no field, and no rule decides.
        """
        rule: Any = self.resolve(type(below))
        fields = fields_of(below, rule)
        is_fixed = rule.extras is None or rule.extras(below) is None
        unknown = [name for name in table if name not in fields]
        if unknown and spot.policy.join in ("left", "inner"):
            table = {name: x for name, x in table.items() if name in fields}
        elif unknown and is_fixed:
            if spot.policy.decides:
                return self.chosen(spot, below, above, fits=False)
            name, near = unknown[0], nearest(str(unknown[0]), fields)
            more = f" and {len(near) - 5} more" if len(near) > 5 else ""
            key = GetAttrKey(name) if isinstance(name, str) else DictKey(name)
            raise EditError(
                f"the {type_name(below)} at {spot.path.where()} has no field "
                f"{clip(name)}; it has {brief(near[:5])}{more}",
                path=path_below(spot.path, key),
            )
        mine = {GetAttrKey(name): x for name, x in fields.items()}
        theirs = {**mine, **{GetAttrKey(name): x for name, x in table.items()}}
        found = yield from self.children(spot, mine, theirs)
        made, edits = _with_values(spot.link, below, rule, mine, found)
        if made is not below and rule.edited is not None:
            self.record.add(spot.link, below, made, rule, edits)
        return made

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

    def chosen(self, spot: Spot, below: Any, above: Any, *, fits: bool) -> Any:
        """Return one of two values.

        Raises:
            EditError: It is undecided which.
        """
        if not (fits or spot.policy.decides):
            raise _misfit(spot, below, above, self.context)
        if spot.policy.conflict == "base":
            return below
        if spot.policy.conflict == "overlay":
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


def _misfit(spot: Spot, below: Any, above: Any, context: Context) -> EditError:
    over, under = (_described(node, context) for node in (above, below))
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


# -------------------------------------------------------------------- fields of objects


def fields_of(node: Any, rule: Rule) -> dict[str, Any]:
    """Return the fields of an object by name; none if its children have other keys."""
    children = children_of(node, rule)
    if any(type(key) is not GetAttrKey for key in children):
        return {}
    fields = {key.name: child for key, child in children.items()}
    fields.update((name, getattr(node, name)) for name in static_names(node, rule))
    return fields
