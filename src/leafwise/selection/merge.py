"""Merge trees: node by node, by a rule for each place.

What two trees have at a place is a case for one of four functions: leaves, mappings,
sequences or objects. Where there are nodes, their children are paired and merged next.
What comes out is edits of the first tree, which are applied from the bottom up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from operator import is_, itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypedDict, Unpack, overload

from .._hooks import hooks
from .._records import MISSING
from .._text import escape_controls, safe_str, short_repr
from ..core.context import Context, context_of
from ..core.keypath import KeyPath, Link, path_below
from ..core.keys import DictKey, GetAttrKey, SequenceKey
from ..core.node import NodeType
from ..core.reasons import how_to_register
from ..core.registry import GLOBAL, lookup
from ..equality.leaves import Comparison, type_names
from ..errors import EditError
from ..fields import Kind, Marked
from ..ops.traversal import DELETE
from .align import Numbering
from .changes import (
    Delete,
    Edit,
    Edited,
    Insert,
    Move,
    NodeEdits,
    apply_edits,
    entries_of,
    item_key,
    rebuild,
)
from .changes import Set as SetTo
from .compare import differ
from .convert import (
    UNDECLARED,
    Converter,
    Declared,
    TypeMismatch,
    dataclass_node_type,
    fixed_length,
    text_of,
    unknown_field,
    wrong_length,
)
from .descent import Descent
from .pairs import (
    MarksPair,
    key_of,
    key_on,
    mark_places,
    marked_values,
    marks_below,
    paths_of,
)
from .patterns import END, place_text
from .select import (
    Selector,
    call_at,
    children_of,
    fields_of,
    has_kinds,
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


# --------------------------------------------------------------------------- the edits


class _MergedNode(NodeEdits):
    """A node of the first tree, with the edits that make it the merged one.

    Attributes:
        length: The length that is declared for it, None if any will do.
        declared: The type that is declared for it.
        data_ids: The ids of items of the second tree that are data there.
    """

    __slots__ = ("data_ids", "declared", "length")

    def __init__(
        self,
        node: Any,
        node_type: Any,
        above: NodeEdits | None = None,
        key: Any = None,
    ) -> None:
        super().__init__(node, node_type, above, key)
        self.declared: Any = MISSING
        self.length: int | None = None
        self.data_ids: Set[int] = frozenset()

    def put(
        self,
        key: Any,
        below: Any,
        value: Any,
    ) -> None:
        """Add the edit that puts a value in place of another one.

        Args:
            key: The key of the child.
            below: The child, MISSING if there is none.
            value: The merged child; MISSING for none.
        """
        if value is below:
            return
        if id(value) in self.data_ids:
            # the kind goes with the value: `nn` would decide anew by its type
            value = Marked(Kind.DATA, value)
        is_item = type(key) is SequenceKey
        edit: Edit = SetTo(value)
        if value is MISSING:
            edit = Move(None) if is_item else Delete()
        elif below is MISSING:
            edit = Insert(value, END.idx if is_item else None)
        self.edits.append((key, edit))

    def changed(self) -> Any:
        node = super().changed()
        if self.length is not None and len(node) != self.length:
            reason = wrong_length(len(node), self.length)
            raise TypeMismatch(node, self.declared, reason).at(self.path)
        return node


def _data_ids(node: Any, node_type: NodeType) -> Set[int]:
    """Return the ids of the items of a container that are data.

    In what has no kinds, these are the nodes.
    """
    children, _ = node_type.flatten(node)
    if has_kinds(node):
        return {id(child) for child in children}
    return {id(child) for child in children if lookup(type(child)) is not None}


def _call(
    f: Callable[..., Any],
    values: Sequence[Any],
    place: Any,
) -> Any:
    """Call a function with the values at a place; MISSING if it returns `DELETE`."""
    value = call_at(f, values, place)
    return MISSING if value is DELETE else value


def _describe(node: Any, context: Context) -> str:
    """Describe a node or leaf in a message."""
    if context.node_type_of(node) is None:
        return f"the leaf {short_repr(node)}"
    return with_article(type(node).__name__)


# ---------------------------------------------------------------- how to merge, where


_WORDS: Final = {
    "join": ("outer", "left", "inner", "right"),
    "lists": ("replace", "extend", "position"),
    "conflict": ("overlay", "base", "error"),
}


class _Policy(NamedTuple):
    """How to merge at a place, and below it unless a rule says otherwise.

    Attributes:
        join: Which keys remain.
        lists: How lists are merged.
        conflict: Which value wins.
        decides: Whether a rule said which value wins, even if their types differ.
        function: A function from two values to the new one, at this place only.
        pairs: Picks in the items of two lists what pairs them, at this place only.
    """

    join: str
    lists: str
    conflict: str
    decides: bool = False
    function: Callable[[Any, Any], Any] | None = None
    pairs: Selector | None = None

    def with_rule(self, rule: Any) -> _Policy:
        """Return the policy of a place for which there is a rule.

        Raises:
            ValueError: The rule is unknown.
        """
        if callable(rule):
            return self._replace(function=rule, pairs=None)
        if isinstance(rule, Selector):
            return self._replace(function=None, pairs=rule)
        if rule in _WORDS["join"]:
            return self._replace(join=rule, function=None)
        if rule in _WORDS["lists"]:
            return self._replace(lists=rule, function=None, pairs=None)
        if rule in _WORDS["conflict"]:
            return self._replace(conflict=rule, decides=True, function=None)
        words = ", ".join(repr(word) for words in _WORDS.values() for word in words)
        raise ValueError(
            f"a rule must be one of {words}, or a function; got {short_repr(rule)}"
        )

    def inherited(self) -> _Policy:
        """Return the policy for places below."""
        if self.function is None and self.pairs is None:
            return self
        return self._replace(function=None, pairs=None)


class _Place(NamedTuple):
    """A place in two trees.

    Attributes:
        link: The place.
        below: What the first tree has there, MISSING for nothing.
        above: What the second tree has there.
        policy: How to merge there.
        marks: The rules of both trees for this place and those below.
        declared: The type that is declared for it.
        parent: The node above it, None for the root.
    """

    link: Link
    below: Any
    above: Any
    policy: _Policy
    marks: MarksPair = None
    declared: Declared = UNDECLARED
    parent: _MergedNode | None = None

    @property
    def path(self) -> KeyPath:
        """The path in the first tree."""
        return paths_of(self.link)[0]

    @property
    def key(self) -> Any:
        """The key in the parent."""
        return key_on(0, self.link.key)


# ------------------------------------------------------------------------ deep merges


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
    A dict is merged field by field into an object: a dataclass (registered or not), a
    named tuple, a `Pytree`, a pydantic model or an attrs instance. The object keeps its
    class and all its fields. The values of the dict are cast to the types that the
    class declares for its fields, as by `override`; arrays are taken as they are. A
    class that validates does so once, after all overlays are merged, see
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
            that it is merged into, or values of other types than it declares.
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
        leafwise.errors.EditError: cannot merge the leaf 3 onto a dict at optim; \
add a rule for this path, "overlay" or "base", to choose which one wins
        >>> lw.tree_merge(base, {"optim": 3}, rules={"optim": "overlay"})
        {'optim': 3, 'tags': ['a']}
        >>> base = {"users": [{"id": 1, "age": 30}, {"id": 2}]}
        >>> lw.tree_merge(base, {"users": [{"id": 2, "age": 7}]}, lists={"users": "id"})
        {'users': [{'id': 1, 'age': 30}, {'id': 2, 'age': 7}]}
    """
    pair_keys = lists if isinstance(lists, Mapping) else {}
    lists = lists if isinstance(lists, str) else "replace"
    _check_word("join", join)
    _check_word("lists", lists)
    _check_word("conflict", conflict)
    policy = _Policy(join, lists, conflict)
    context = context_of(none_is_leaf=True, namespace=namespace)
    all_rules = [(what, selector(key)) for what, key in pair_keys.items()]
    all_rules += (rules or {}).items()
    for _, rule in all_rules:
        policy.with_rule(rule)
    numbered = [(what, (n, rule)) for n, (what, rule) in enumerate(all_rules)]
    merging = _Merging(context)
    merged = base
    for overlay in overlays:
        place = _Place(Link(), merged, overlay, policy)
        if numbered:
            marks = mark_places(numbered, (merged, overlay), context)
            place = place._replace(marks=marks)
        try:
            merged = merging.merge(place)
        except EditError as error:
            file = None if hooks.file_of is None else hooks.file_of(overlay)
            if file is None:
                raise
            text = f"{escape_controls(file)}: {error}"
            raise EditError(text, path=error.path) from error
        if merged is MISSING:
            raise EditError("the root cannot be deleted", path=KeyPath())
    merging.record.validate()
    return merged


def _check_word(option: str, word: Any) -> None:
    """Check that an option is one of its words.

    Raises:
        ValueError: It is not.
    """
    words = _WORDS[option]
    if word not in words:
        choices = ", ".join(repr(choice) for choice in words)
        raise ValueError(f"{short_repr(word)} is not one of {choices}")


_PENDING: Final = object()
_MARKER_TYPES: Final = frozenset({type(DELETE), type(MISSING)})


class _Merging:
    """The merge of overlays into a tree.

    Attributes:
        record: The objects that are made.
        converter: Converts values of mappings that are merged into objects.
        numbering: Numbers the items of lists that are paired by a key.
        nodes: The nodes of the first tree whose children are merged, from the root on.
        steps: The walk.
    """

    nodes: list[_MergedNode]
    steps: Descent[_Place]

    def __init__(self, context: Context) -> None:
        self.context = context
        self.record = Edited()
        self.converter = Converter(context.view)
        self.numbering = Numbering(context)

    def merge(self, start: _Place) -> Any:
        """Return the merge of what two trees have at a place.

        Raises:
            CycleError: A tree contains itself.
            EditError: Two values cannot be merged.
        """
        merged = start.below
        self.nodes = []
        self.steps = Descent(start, (start.below, start.above), self.context)
        for place in self.steps:
            value = self.open(place)
            if value is _PENDING:
                continue
            if place.parent is None:
                merged = value
            else:
                place.parent.put(place.key, place.below, value)
        return apply_edits(self.nodes, self.record) if self.nodes else merged

    def open(self, place: _Place) -> Any:
        """Return the merge of what two trees have at a place.

        MISSING if nothing remains; `_PENDING` if children are still to be merged.
        """
        if place.marks is not None:
            place = place._replace(policy=self.policy_of(place))
        below = place.below
        above = place.above
        policy = place.policy
        if below is above:
            return below
        if below is MISSING:
            keeps = policy.join in ("outer", "right")
            return self.taken(place) if keeps else MISSING
        if above is MISSING:
            return below if policy.join in ("outer", "left") else MISSING
        if above is DELETE:
            return MISSING
        if policy.function is not None:
            return _call(policy.function, (below, above), place)
        node_type = self.node_type_of(below, above)
        other_node_type = self.context.view.resolve(type(above))
        merge = _CASES[self.case_of(place, node_type, other_node_type)]
        return merge(self, place, node_type, other_node_type)

    def policy_of(self, place: _Place) -> _Policy:
        """Return the policy that the rules for a place say."""
        policy = place.policy
        # in the order in which they were written: the last one counts
        for _, rule in sorted(marked_values(place.marks), key=itemgetter(0)):
            policy = policy.with_rule(rule)
        return policy

    def node_type_of(
        self,
        below: Any,
        above: Any,
    ) -> NodeType | None:
        """Return the node type of a node of the first tree, None for a leaf.

        A dataclass that is not registered is a node where a mapping is merged into it.
        """
        cls = type(below)
        node_type = self.context.view.resolve(cls)
        if node_type is not None:
            return node_type
        other_node_type = self.context.view.resolve(type(above))
        if other_node_type is None or item_key(above, other_node_type) is not DictKey:
            return None
        return dataclass_node_type(cls)

    def case_of(
        self,
        place: _Place,
        node_type: Any,
        other_node_type: Any,
    ) -> str:
        """Return what is to be merged: leaves, mappings, sequences or objects."""
        if node_type is None or other_node_type is None:
            return "leaves"
        key_class = item_key(place.below, node_type)
        if key_class is None or key_class is not item_key(place.above, other_node_type):
            return "objects"
        return "mappings" if key_class is DictKey else "sequences"

    # ----------------------------------------------------------------- the four cases

    def leaves(
        self,
        place: _Place,
        node_type: Any,
        other_node_type: Any,
    ) -> Any:
        """Merge a leaf with a leaf, or with a node."""
        has_none = place.below is None or place.above is None
        return self.choose(place, fits=node_type is other_node_type or has_none)

    def mappings(
        self,
        place: _Place,
        node_type: NodeType,
        other_node_type: NodeType,
    ) -> Any:
        """Merge two mappings, key by key."""
        items = entries_of(place.below, node_type)
        others = self.with_typed_keys(place, entries_of(place.above, other_node_type))
        node = self.new_node(place, node_type)
        if has_kinds(place.below):
            node.data_ids = _data_ids(place.above, other_node_type)
        is_typed = place.declared.type is not MISSING
        self.merge_children(place, node, items, others, DictKey, is_typed=is_typed)
        return _PENDING

    def sequences(
        self,
        place: _Place,
        node_type: NodeType,
        other_node_type: NodeType,
    ) -> Any:
        """Merge two sequences: by position, by a key, or one after the other."""
        items = entries_of(place.below, node_type)
        others = entries_of(place.above, other_node_type)
        policy = place.policy
        if policy.pairs is not None:
            pairs = self.pairs(place, policy.pairs, items, others)
        elif policy.lists == "replace":
            return self.choose(place, fits=True)
        elif policy.lists == "extend":
            # no item has a counterpart, and `join` says what happens to such items
            place = place._replace(policy=policy._replace(join="outer"))
            pairs = [(position, -1) for position in items]
            pairs += [(-1, position) for position in others]
        else:
            pairs = [(position, position) for position in {**items, **others}]
        node = self.new_node(place, node_type)
        node.declared = place.declared.type
        node.length = fixed_length(node.declared)
        if has_kinds(place.below):
            node.data_ids = _data_ids(place.above, other_node_type)
        is_typed = node.declared is not MISSING
        children = []
        for position, other_position in pairs:
            below = items.get(position, MISSING)
            above = others.get(other_position, MISSING)
            value = self.at_sight(place, below, above, is_typed=is_typed)
            if value is below:
                continue
            if value is _PENDING:
                key = key_of(position, other_position)
                child = self.child(place, node, key, below, above, is_typed=is_typed)
                children.append(child)
            else:
                node.put(SequenceKey(position), below, value)
        self.steps.go_on(children)
        return _PENDING

    def objects(
        self,
        place: _Place,
        node_type: NodeType,
        other_node_type: NodeType,
    ) -> Any:
        """Merge two objects of a class, or a mapping into an object, by fields."""
        below = place.below
        other_aux = MISSING
        is_typed = False
        if node_type is other_node_type and keys_of(below, node_type) == keys_of(
            place.above, node_type
        ):
            fields = children_of(below, node_type)
            others = children_of(place.above, node_type)
            _, aux = node_type.flatten(below)
            _, other_aux = node_type.flatten(place.above)
            if node_type.same(aux, other_aux):
                other_aux = MISSING
            elif place.policy.conflict == "error":
                return self.choose(place, fits=True)
        else:
            fields = fields_of(below, node_type)
            new_fields = self.fields_above(place, node_type, other_node_type, fields)
            if new_fields is None:
                return self.choose(place, fits=False)
            others = {**fields, **new_fields}
            is_typed = node_type is not other_node_type
        node = self.new_node(place, node_type)
        if place.policy.conflict == "overlay":
            node.aux = other_aux
        self.merge_children(place, node, fields, others, None, is_typed=is_typed)
        return _PENDING

    # -------------------------------------------------------------------- children

    def new_node(
        self,
        place: _Place,
        node_type: NodeType,
    ) -> _MergedNode:
        """Return a node of the first tree, to which edits are then added."""
        node = _MergedNode(place.below, node_type, place.parent, place.key)
        self.nodes.append(node)
        return node

    def merge_children(
        self,
        place: _Place,
        node: _MergedNode,
        items: Mapping[Any, Any],
        others: Mapping[Any, Any],
        key_class: Any,
        *,
        is_typed: bool,
    ) -> None:
        """Merge the children of two nodes.

        Args:
            place: The place of the nodes.
            node: The node that gets the edits.
            items: The children in the first tree by name.
            others: The children in the second tree.
            key_class: The class of keys; None if the names are keys.
            is_typed: Whether types may be declared for the children.
        """
        children = []
        takes_values = node.node_type.is_mapping and key_class is DictKey
        for name in {**items, **others}:
            below = items.get(name, MISSING)
            above = others.get(name, MISSING)
            value = self.at_sight(place, below, above, is_typed=is_typed)
            if value is below:
                continue
            if value is not _PENDING and takes_values:
                node.values[name] = value
                continue
            key = name if key_class is None else key_class(name)
            if value is _PENDING:
                child = self.child(place, node, key, below, above, is_typed=is_typed)
                children.append(child)
            else:
                node.put(key, below, value)
        self.steps.go_on(children)

    def at_sight(
        self,
        place: _Place,
        below: Any,
        above: Any,
        *,
        is_typed: bool,
    ) -> Any:
        """Return the merge of two children that needs no place of its own.

        Most children are the same in both trees, are in one tree alone, or are leaves.
        MISSING if none remains, `_PENDING` for all other children.
        """
        if below is above:
            return below
        if place.marks is not None:
            return _PENDING
        policy = place.policy
        if above is MISSING and policy.join in ("outer", "left"):
            return below
        if above is DELETE:
            return MISSING
        if is_typed or above is MISSING or below is MISSING:
            return _PENDING
        if policy.conflict != "overlay" or policy.join != "outer":
            return _PENDING
        leaf_types = self.context.view.leaf_types
        if type(below) not in leaf_types:
            return self.overlaid(below, above)
        return above if type(above) in leaf_types else _PENDING

    def overlaid(
        self,
        below: Any,
        above: Any,
    ) -> Any:
        """Return the merge of two mappings of nothing but leaves, else `_PENDING`.

        These are many, so this saves much of the time of a merge.
        """
        view = self.context.view
        node_type = view.resolve(type(below))
        if (
            node_type is None
            or not node_type.is_mapping
            or node_type is not view.resolve(type(above))
        ):
            return _PENDING
        items = node_type.items(below)
        others = node_type.items(above)
        types = {type(value) for value in items.values()}
        types.update(type(value) for value in others.values())
        if not types <= view.leaf_types or types & _MARKER_TYPES:
            return _PENDING
        merged = {**items, **others}
        if len(merged) == len(items) and all(map(is_, merged.values(), items.values())):
            return below
        return node_type.from_items(node_type.rest(below), merged)

    def child(
        self,
        place: _Place,
        node: _MergedNode,
        key: Any,
        below: Any,
        above: Any,
        *,
        is_typed: bool,
    ) -> _Place:
        """Return the place of a child in both trees."""
        link = Link(place.link, key)
        marks = None
        if place.marks is not None:
            marks = marks_below(place.marks, key, below, above)
        declared = UNDECLARED
        if is_typed:
            own_key = key_on(0, key)
            cls = type(place.below)
            declared = self.converter.below(place.declared, cls, own_key)
        policy = place.policy.inherited()
        return _Place(link, below, above, policy, marks, declared, node)

    def pairs(
        self,
        place: _Place,
        key: Selector,
        items: dict[int, Any],
        others: dict[int, Any],
    ) -> list[tuple[int, int]]:
        """Return the positions of items that have the same value of a key.

        The position of an item that is in one list alone is paired with -1.
        """
        number = self.numbering.by_key
        path, other_path = paths_of(place.link)
        numbers = number(list(items.values()), key, path)
        other_numbers = number(list(others.values()), key, other_path)
        positions = {number: position for position, number in enumerate(numbers)}
        other_positions = {number: n for n, number in enumerate(other_numbers)}
        return [
            (positions.get(number, -1), other_positions.get(number, -1))
            for number in {**positions, **other_positions}
        ]

    def with_typed_keys(
        self,
        place: _Place,
        items: dict[Any, Any],
    ) -> dict[Any, Any]:
        """Return items of a mapping with keys of the declared type.

        Raises:
            EditError: A key cannot be converted.
        """
        key_type = MISSING
        if place.declared.type is not MISSING:
            key_type = self.converter.key_type(place.declared.type)
        if key_type is MISSING:
            return items
        typed_items = {}
        for key, item in items.items():
            try:
                typed_items[self.converter.convert_key(key, key_type)] = item
            except TypeMismatch as error:
                raise error.inside(DictKey(key)).at(place.path) from error
        return typed_items

    def fields_above(
        self,
        place: _Place,
        node_type: NodeType,
        other_node_type: NodeType,
        fields: Mapping[Any, Any],
    ) -> dict[Any, Any] | None:
        """Return the fields of an object to which the second tree gives other values.

        These are the items of a mapping, or the fields of an object of its class that
        may have other fields. None if the second tree has something else there, or if
        a rule decides between two that do not fit.

        Raises:
            EditError: A name is no field, and no rule decides.
        """
        above = place.above
        if node_type is other_node_type and node_type.attributes.extras is not None:
            new_fields = fields_of(above, node_type)
        elif item_key(above, other_node_type) is DictKey:
            items = entries_of(above, other_node_type)
            new_fields = {GetAttrKey(name): value for name, value in items.items()}
        else:
            return None
        if not fields:
            return None
        unknown = [key for key in new_fields if key not in fields]
        if not unknown:
            return new_fields
        if place.policy.join in ("left", "inner"):
            return {key: new_fields[key] for key in new_fields if key in fields}
        if (
            node_type.attributes.extras is not None
            and node_type.attributes.extras(place.below) is not None
        ):
            return new_fields
        if place.policy.decides:
            return None
        name = unknown[0].name
        text = unknown_field(name, [key.name for key in fields])
        key = GetAttrKey(name) if isinstance(name, str) else DictKey(name)
        raise EditError(
            f"the {type(place.below).__name__} at {place_text(place.path)} {text}",
            path=path_below(place.path, key),
        )

    # -------------------------------------------------------------- one of two values

    def choose(
        self,
        place: _Place,
        *,
        fits: bool,
    ) -> Any:
        """Return one of two values.

        Args:
            place: Where they are.
            fits: Whether one may replace the other one.

        Raises:
            EditError: It is undecided which.
        """
        policy = place.policy
        below = place.below
        if not fits and not policy.decides:
            return self.taken_by_type(place)
        if policy.conflict == "base":
            return below
        value = self.taken(place)
        if policy.conflict == "overlay":
            return value
        path = place.path
        if not differ(below, value, self.context.below(path), Comparison()):
            return below
        texts = f"{short_repr(below)} and {short_repr(place.above)}"
        raise EditError(f"{texts} differ at {place_text(path)}", path=path)

    def taken(self, place: _Place) -> Any:
        """Return the value of the second tree, as one of the declared type.

        Raises:
            EditError: It is of another type, and no rule says that it wins.
        """
        value = self.without_deleted(place)
        if not self.is_checked(place, value):
            return value
        declared = place.declared
        if place.policy.decides:
            declared = declared._replace(converts=True)
        return self.converter.convert_at(place, value, text_of(value), declared)

    def is_checked(
        self,
        place: _Place,
        value: Any,
    ) -> bool:
        """Return whether a value has to be of the declared type; arrays need not."""
        if place.declared.type is MISSING or value is MISSING:
            return False
        if hasattr(value, "dtype") or hasattr(place.below, "dtype"):
            return False
        return self.converter.is_readable(place.declared.type)

    def taken_by_type(self, place: _Place) -> Any:
        """Return the value of the second tree if only the declared type allows it.

        Raises:
            EditError: It does not.
        """
        if place.policy.conflict != "overlay":
            raise self.conflict(place)
        hint = place.declared.type
        value = self.without_deleted(place)
        if hint is Any or hint is object:
            return value
        if not self.is_checked(place, value):
            raise self.conflict(place)
        try:
            return self.converter.convert(value, text_of(value), hint)
        except TypeMismatch as error:
            if error.keys or error.reason:  # which say more than the two classes
                raise error.at(place.path) from error
            raise self.conflict(place) from error

    def conflict(self, place: _Place) -> EditError:
        """Return the error for two values that cannot be merged."""
        below = place.below
        above = place.above
        over = _describe(above, self.context)
        under = _describe(below, self.context)
        if over == under and type(above) is not type(below):
            names = type_names(type(above), type(below))
            over = f"{over} ({names[0]})"
            under = f"{under} ({names[1]})"
        if type(below) is type(above):
            under += " with other children"
        remedy = (
            'add a rule for this path, "overlay" or "base", to choose which one wins'
        )
        hint = ""
        if self.context.node_type_of(below) is None:
            hint = how_to_register(type(below))
        if hint:
            remedy = f"{hint}; {remedy}"
        return EditError(
            f"cannot merge {over} onto {under} at {place_text(place.path)}; {remedy}",
            path=place.path,
        )

    def without_deleted(self, place: _Place) -> Any:
        """Return the value of the second tree without what is marked as deleted."""
        value = place.above
        if value is DELETE:
            return MISSING
        if type(value) in self.context.view.leaf_types:
            return value
        leaves, treedef = self.context.flatten(value)
        if not any(leaf is DELETE for leaf in leaves):
            return value
        pairs = zip(treedef.paths(), leaves, strict=True)
        edits = [(path, Delete()) for path, leaf in pairs if leaf is DELETE]
        try:
            return rebuild(value, edits, self.context)
        except EditError as error:
            path = place.path
            text = f"in {place_text(path)}: {safe_str(error)}"
            raise EditError(text, path=path) from None


_CASES: Final[Mapping[str, Callable[..., Any]]] = {
    "leaves": _Merging.leaves,
    "mappings": _Merging.mappings,
    "sequences": _Merging.sequences,
    "objects": _Merging.objects,
}
