"""Merge trees: node by node, by a rule for each place.

Mappings are merged key by key, other nodes of one type child by child. Nodes are
rebuilt by `edit.rebuild`.

The walk is a generator that yields the walk of a child and receives its result
(`run`): it reads like a recursive function, and trees may be of any depth.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from functools import reduce
from operator import is_, itemgetter
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    NamedTuple,
    TypeAlias,
    TypedDict,
    Unpack,
    overload,
)

from .._records import MISSING
from .._text import join_names, nearest_names, safe_str, short_repr
from ..core.context import Context, context_of
from ..core.keypath import KeyPath, path_below
from ..core.keys import DictKey, GetAttrKey, SequenceKey
from ..core.node import Rule
from ..core.registry import GLOBAL
from ..equality.leaves import Comparison, type_names
from ..errors import EditError
from ..ops.inspect import how_to_register
from ..ops.traversal import DELETE
from .align import Numbering, key_of, paths_of, placed
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
    DEPTH_IN_DOUBT,
    Selector,
    call_at,
    check_cycles,
    children_of,
    keys_of,
    selector,
    with_article,
)


if TYPE_CHECKING:
    from .._typing import Class, K, Node, T


class MergeOptions(TypedDict, total=False):
    """The options of `tree_merge`."""

    join: str
    lists: str | Mapping[Any, str]
    conflict: str
    rules: Mapping[Any, Any] | None
    namespace: str


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


def _described(node: Any, context: Context) -> str:
    """Describe a node or leaf in a message."""
    if context.rule_of(node) is None:
        return f"the leaf {short_repr(node)}"
    return with_article(type(node).__name__)


def _link(path: KeyPath) -> Any:
    """Return a key path as a linked list."""
    root: Any = ()
    return reduce(lambda link, key: (link, key), path, root)


def _with_values(
    place: Any, node: Any, rule: Rule, old: Mapping[Any, Any], new: Mapping[Any, Any]
) -> tuple[Any, list[tuple[Any, Edit]]]:
    """Return an object with other children and static values, and the edits made.

    Args:
        place: Where it is, with a `path`.
        node: The object.
        rule: Its rule.
        old: Its children and static values by key.
        new: The new ones; those that are not there, or MISSING, are deleted.

    Raises:
        EditError: A child that is required is deleted.
    """
    edits: list[tuple[Any, Edit]] = []
    for key in {**old, **new}:
        value, known = new.get(key, MISSING), old.get(key, MISSING)
        if value is known:
            continue
        edit = Insert(value) if known is MISSING else Set(value)
        edits.append((key, Delete() if value is MISSING else edit))
    if edits:
        node = call_at(changed_node, (_link(place.path), node, rule, edits), place)
    return node, edits


# -------------------------------------------------------------- what counts at a place


_WORDS: Final = {
    "join": ("outer", "left", "inner", "right"),
    "lists": ("replace", "extend", "position"),
    "conflict": ("overlay", "base", "error"),
}


class Spot(NamedTuple):
    """A place in two trees, and how to merge there, and below unless a rule says it.

    Attributes:
        link: The path, as a linked list of keys, and of rows in lists.
        join: Which keys remain.
        lists: How lists are merged.
        conflict: Which value wins.
        function: A function from two values to the new one, at this place only.
        pairs: Picks in the items of two lists what pairs them, at this place only.
        decides: Whether a rule said which value wins, even if their types differ.
    """

    link: Any
    join: str
    lists: str
    conflict: str
    function: Callable[[Any, Any], Any] | None = None
    pairs: Selector | None = None
    decides: bool = False

    @property
    def path(self) -> KeyPath:
        """The path in the first tree."""
        return paths_of(self.link)[0]

    def changed(self, rule: Any) -> Spot:
        """Return the place where a rule holds.

        Raises:
            ValueError: The rule is unknown.
        """
        if callable(rule):
            return self._replace(function=rule, pairs=None)
        if isinstance(rule, Selector):
            return self._replace(function=None, pairs=rule)
        for name, words in _WORDS.items():
            if rule in words:
                pairs = None if name == "lists" else self.pairs
                decides = self.decides or name == "conflict"
                changes: Any = {name: rule, "pairs": pairs, "decides": decides}
                return self._replace(function=None, **changes)
        known = ", ".join(repr(word) for words in _WORDS.values() for word in words)
        raise ValueError(
            f"a rule must be one of {known}, or a function; got {short_repr(rule)}"
        )


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
    namespace: str = GLOBAL,
) -> Any:
    """Merge trees recursively into a base tree; later trees take precedence.

    `DELETE` as a value in an overlay deletes the node or leaf there. None is a value
    like any other. A leaf and a container, or containers of different types, cannot be
    merged. This is an error, unless one of them is None or a rule says which one wins.
    A dict is merged field by field into an object: a dataclass, a named tuple, a
    `Pytree`, a pydantic model or an attrs instance. The object keeps its class and all
    its fields; a class that validates does so once, after all overlays are merged, see
    :ref:`objects that validate <validated>`.

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
    lists = lists if isinstance(lists, str) else "replace"
    spot = Spot((), join, lists, conflict)
    for word, known in zip(spot[1:4], _WORDS.values(), strict=True):
        if word not in known:
            told = ", ".join(map(repr, known))
            raise ValueError(f"{short_repr(word)} is not one of {told}")
    context = context_of(none_is_leaf=True, namespace=namespace)
    listed = [(what, selector(key)) for what, key in keyed.items()]
    listed += (rules or {}).items()
    for _, rule in listed:
        spot.changed(rule)
    numbered = [(what, (n, rule)) for n, (what, rule) in enumerate(listed)]
    merged, record = base, Edited()
    for overlay in overlays:
        trees = merged, overlay
        placed_rules = placed(numbered, trees, context) if listed else ()
        merging = _Merging(context, record, placed_rules)
        merged = run(merging.merged(spot, *trees), trees, context)
        if merged is MISSING:
            raise EditError("the root cannot be deleted", path=KeyPath())
    record.validate()
    return merged


_MARKS: Final = frozenset({type(DELETE), type(MISSING)})


class _Merging:
    """The merge of one overlay into a tree.

    Attributes:
        record: The objects that are made.
        rules: What rules say of places in the two trees, by path, each after its
            number; empty without rules.
    """

    def __init__(self, context: Context, record: Edited, rules: Sequence[Any]) -> None:
        self.context = context
        self.record = record
        self.rules = rules
        self.resolve = context.view.resolve
        self.leaf_types = context.view.leaf_types
        self.numbering = Numbering(context)

    def merged(self, spot: Spot, below: Any, above: Any) -> Walk:
        """Return the merge of what two trees have at a place; MISSING for nothing."""
        if self.rules:
            tables = zip(self.rules, paths_of(spot.link), strict=True)
            found = [one for table, path in tables for one in table.get(path, ())]
            for _, changed in sorted(found, key=itemgetter(0)):
                spot = spot.changed(changed)
        if below is above:
            return below
        if below is MISSING:
            keeps = spot.join in ("outer", "right")
            return self.cleaned(spot, above) if keeps else MISSING
        if above is MISSING:
            return below if spot.join in ("outer", "left") else MISSING
        if above is DELETE:
            return MISSING
        if spot.function is not None:
            value = call_at(spot.function, (below, above), spot)
            return MISSING if value is DELETE else value
        rule, other = self.resolve(type(below)), self.resolve(type(above))
        if rule is None or other is None:
            fits = rule is other or below is None or above is None
            return self.chosen(spot, below, above, fits=fits)
        key_type = item_key(below, rule)
        if key_type is not None and key_type is item_key(above, other):
            return (yield from self.items(spot, below, above, rule, other))
        node: Any = below
        if rule is other and keys_of(below, rule) == keys_of(above, rule):
            mine, theirs = children_of(below, rule), children_of(above, rule)
            aux, other_aux = rule.flatten(below)[1], rule.flatten(above)[1]
            if spot.conflict != "base" and not rule.same(aux, other_aux):
                if spot.conflict == "error":
                    return self.chosen(spot, below, above, fits=True)
                node = call_at(rule.unflatten, (other_aux, [*mine.values()]), spot)
        else:
            mine = fields_of(below, rule)
            fields = self.fields(spot, below, above, rule, mine) if mine else None
            if fields is None:
                return self.chosen(spot, below, above, fits=False)
            theirs = {**mine, **fields}
        pairs = [(key, key) for key in {**mine, **theirs}]
        made = yield from self.children(spot, mine, theirs, pairs, lambda key, _: key)
        node, edits = _with_values(spot, node, rule, mine, made)
        if node is not below and rule.attributes.validate is not None:
            self.record.add(_link(spot.path), below, node, rule, edits)
        return node

    def children(
        self,
        spot: Spot,
        mine: dict[Any, Any],
        theirs: dict[Any, Any],
        pairs: Sequence[tuple[Any, Any]],
        as_key: Callable[[Any, Any], Any],
    ) -> Walk:
        """Return the merged children of two nodes, without those that do not remain.

        Args:
            spot: The place of the nodes.
            mine, theirs: The children of each node.
            pairs: The keys of a child in both tables.
            as_key: Makes the key of a path of both.
        """
        keeps = not self.rules and spot.join in ("outer", "left")
        overlays = keeps and (spot.join, spot.conflict) == ("outer", "overlay")
        made: dict[Any, Any] = {}
        for one, two in pairs:
            below, above = mine.get(one, MISSING), theirs.get(two, MISSING)
            value: Any = MISSING
            if below is above or (above is MISSING and keeps):
                value = below
            elif overlays:
                value = self.overlaid(below, above)
            if value is MISSING:
                link = spot.link, as_key(one, two)
                here = spot._replace(link=link, function=None, pairs=None)
                value = yield self.merged(here, below, above)
            if value is not MISSING:
                made[one if one is two else (one, two)] = value
        return made

    def items(
        self, spot: Spot, below: Any, above: Any, rule: Rule, other: Rule
    ) -> Walk:
        """Return the merge of two mappings, or of two sequences."""
        mine, theirs = entries_of(below, rule), entries_of(above, other)
        is_list = item_key(below, rule) is SequenceKey
        pairs: list[Any] = [(key, key) for key in {**mine, **theirs}]
        if is_list and spot.pairs is not None:
            rows = [
                self.numbering.by_key([*table.values()], spot.pairs, path)
                for table, path in zip((mine, theirs), paths_of(spot.link), strict=True)
            ]
            places = [{number: n for n, number in enumerate(row)} for row in rows]
            known = dict.fromkeys([*rows[0], *rows[1]])
            pairs = [tuple(table.get(n, -1) for table in places) for n in known]
        elif is_list and spot.lists == "replace":
            return self.chosen(spot, below, above, fits=True)
        elif is_list and spot.lists == "extend":
            spot = spot._replace(join="outer")
            pairs = [(n, -1) for n in mine] + [(-1, n) for n in theirs]
        as_key = key_of if is_list else lambda key, _: DictKey(key)
        made = yield from self.children(spot, mine, theirs, pairs, as_key)
        return call_at(remade, (below, rule, mine, made, above), spot)

    def fields(
        self, spot: Spot, below: Any, above: Any, rule: Rule, known: dict[Any, Any]
    ) -> dict[Any, Any] | None:
        """Return the fields of an object that a mapping gives other values.

        Another object of its class is such a mapping where it may have other fields.
        None if it is something else, or if a rule decides between two that do not fit.

        Raises:
            EditError: A name is no field, and no rule decides.
        """
        other: Any = self.resolve(type(above))
        if rule is other and rule.attributes.extras is not None:
            found = fields_of(above, other)
        elif item_key(above, other) is DictKey:
            names = entries_of(above, other).items()
            found = {GetAttrKey(name): value for name, value in names}
        else:
            return None
        unknown = [key.name for key in found if key not in known]
        if unknown and spot.join in ("left", "inner"):
            return {key: value for key, value in found.items() if key in known}
        if unknown and (
            rule.attributes.extras is None or rule.attributes.extras(below) is None
        ):
            if spot.decides:
                return None
            name, near = (
                unknown[0],
                nearest_names(str(unknown[0]), [k.name for k in known]),
            )
            more = f" and {len(near) - 5} more" if len(near) > 5 else ""
            key = GetAttrKey(name) if isinstance(name, str) else DictKey(name)
            raise EditError(
                f"the {type(below).__name__} at {spot.path.where()} has no field "
                f"{short_repr(name)}; it has {join_names(near[:5])}{more}",
                path=path_below(spot.path, key),
            )
        return found

    def overlaid(self, below: Any, above: Any) -> Any:
        """Return the merge of two leaves, or of two mappings of nothing but leaves.

        MISSING for all else, and where a leaf has a meaning of its own.
        """
        rule = self.resolve(type(below))
        if rule is not self.resolve(type(above)) or below is MISSING or above is DELETE:
            return MISSING
        if rule is None or not rule.is_mapping:
            return above if rule is None else MISSING
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
        if fits or spot.decides:
            if spot.conflict == "overlay":
                return self.cleaned(spot, above)
            if spot.conflict == "base":
                return below
            path = spot.path
            if not differ(below, above, self.context.below(path), Comparison()):
                return below
            text = (
                f"{short_repr(below)} and {short_repr(above)} differ at {path.where()}"
            )
            raise EditError(text, path=path)
        over, under = (_described(node, self.context) for node in (above, below))
        if over == under and type(above) is not type(below):
            names = type_names(type(above), type(below))
            over, under = f"{over} ({names[0]})", f"{under} ({names[1]})"
        other = " with other children" if type(below) is type(above) else ""
        is_leaf = self.context.rule_of(below) is None
        hint = how_to_register(type(below)) if is_leaf else ""
        raise EditError(
            f"cannot merge {over} onto {under}{other} at {spot.path.where()}; "
            f"{hint and f'{hint}; '}add a rule for this path, "
            '"overlay" or "base", to choose which one wins',
            path=spot.path,
        )

    def cleaned(self, spot: Spot, value: Any) -> Any:
        """Return a value of an overlay without the parts marked as deleted."""
        if value is DELETE:
            return MISSING
        leaves, treedef = self.context.flatten(value)
        if not any(leaf is DELETE for leaf in leaves):
            return value
        pairs = zip(treedef.paths(), leaves, strict=True)
        edits = [(path, Delete()) for path, leaf in pairs if leaf is DELETE]
        try:
            return rebuild(value, edits, self.context)
        except EditError as error:
            path = spot.path
            raise EditError(
                f"in {path.where()}: {safe_str(error)}", path=path
            ) from None


# -------------------------------------------------------------------- fields of objects


def fields_of(node: Any, rule: Rule) -> dict[Any, Any]:
    """Return the fields of an object by key; none if its children have other keys."""
    children = children_of(node, rule)
    if any(type(key) is not GetAttrKey for key in children):
        return {}
    names = rule.attributes.static_names(node)
    return {**children, **{GetAttrKey(name): getattr(node, name) for name in names}}
