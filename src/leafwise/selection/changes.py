"""Edits at paths of a tree, and what each kind of node makes of them.

All edits of a call are applied in one pass. Only the nodes above an edit are rebuilt;
everything else is shared with the given tree. Objects whose classes validate are
validated once, after all edits of a call.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import (
    Callable,
    Iterable,
    Mapping,
    MutableMapping,
    MutableSequence,
    Sequence,
)
from itertools import islice
from operator import delitem, getitem, itemgetter, setitem
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from .._hooks import description_of
from .._records import MISSING
from .._text import counted
from ..core.context import Context, path_of
from ..core.keypath import ROOT, KeyPath, Link, follow_link, path_below, read
from ..core.keys import DictKey, GetAttrKey, SequenceKey
from ..core.node import NodeType, items_by_key, with_items
from ..core.reasons import how_to_register
from ..core.registry import View
from ..errors import EditError
from ..fields import Marked
from .patterns import END, Step, is_number, place_text
from .select import Place, call_at, has_kinds


if TYPE_CHECKING:
    from .._typing import Tree


# ------------------------------------------------------------------------- the edits


class Set(NamedTuple):
    """Replace what is there by a value."""

    value: Any


class Insert(NamedTuple):
    """Insert a value where there is nothing; in a list, before what is there.

    Attributes:
        target: Its position among the keys of a mapping, counted from 0; None for the
            end. In a list, its position when all edits of the list are made, or any
            that is beyond its end.
    """

    value: Any
    target: int | None = None


class Delete(NamedTuple):
    """Delete what is there."""


class Move(NamedTuple):
    """Move an item of a list, or a tuple.

    Attributes:
        target: Its position when all edits of the list are made; None takes it out.
    """

    target: int | None


class Rename(NamedTuple):
    """Move what is there to another key of the same node."""

    name: Any


Edit = Set | Insert | Delete | Move | Rename
"""An edit at one key of a node."""
Edits = Iterable[tuple[KeyPath, Edit]]
"""Paths from the root, each with the edit to make there."""
LinkEdits = Iterable[tuple[KeyPath | Link, Edit]]
"""The same, where some places may have links instead of paths."""
KeyEdits = list[tuple[Any, Any]]
"""Keys of one node, each with the edit to make there."""


def is_placed(edit: Edit) -> bool:
    """Return whether an edit says at which position an item is in the end."""
    return getattr(edit, "target", None) is not None


# ------------------------------------------------------------------ edited objects


class Edited(dict[int, tuple[Place, NodeType, frozenset[str]]]):
    """The objects that edits made and that are validated when all edits are done.

    Each is validated once, with all of its new values, and its children before it.
    """

    __slots__ = ()

    def add(
        self,
        link: KeyPath | Link,
        node: Any,
        new_node: Any,
        node_type: NodeType,
        edits: Iterable[Any],
    ) -> None:
        """Note that an object was made of another one, after all that are in it.

        Args:
            link: Where it is, as a link or its path.
            node: The object before.
            new_node: The object.
            node_type: The node type of both.
            edits: The edits at its keys.
        """
        changed = frozenset(
            edit.name if type(edit) is Rename else key.name
            for key, edit in edits
            if isinstance(key, GetAttrKey) and type(edit) is not Delete
        )
        if id(node) in self:
            # An edit before this one made it. It is added again at the end, since what
            # is in it has to be validated before.
            _, _, changed_before = self.pop(id(node))
            changed |= changed_before
        self[id(new_node)] = Place(link, new_node), node_type, changed

    def validate(self) -> None:
        """Run the validation of the objects' classes.

        Raises:
            Exception: What the validation of a class raises, with a note of the path.
        """
        for place, node_type, changed in self.values():
            validate: Any = node_type.attributes.validate
            call_at(validate, (place.value, changed), place)


def edited(
    tree: Tree,
    edits: LinkEdits,
    context: Context,
) -> Tree:
    """Return a tree with edits applied, after validating the objects that they changed.

    Args:
        tree: The tree.
        edits: The edits.
        context: What is a leaf.

    Raises:
        EditError: As `rebuild`.
        Exception: What the validation of a class raises, with a note of the path.
    """
    record = Edited()
    new_tree = rebuild(tree, edits, context, record)
    record.validate()
    return new_tree


# ---------------------------------------------------------------------- many edits


class NodeEdits:
    """A node above edits.

    Attributes:
        link: Where it is.
        node: The node.
        node_type: Its node type.
        above: The node above it, None for the root.
        below: The nodes that have edits below this one, by key.
        edits: The edits at its keys. Several at one key are insertions, but for one.
        aux: The aux data that it gets instead of its own, MISSING for none.
        values: If it is a mapping, new values of items, which need no edit for each;
            MISSING for items that are deleted.
    """

    __slots__ = (
        "above",
        "aux",
        "below",
        "edits",
        "link",
        "node",
        "node_type",
        "values",
    )

    def __init__(
        self,
        node: Any,
        node_type: Any,
        above: NodeEdits | None = None,
        key: Any = None,
    ) -> None:
        self.link: Link = Link() if above is None else Link(above.link, key)
        self.node: Any = node
        self.node_type: Any = node_type
        self.above: NodeEdits | None = above
        self.below: dict[Any, NodeEdits] = {}
        self.edits: KeyEdits = []
        self.aux: Any = MISSING
        self.values: dict[Any, Any] = {}

    @property
    def is_changed(self) -> bool:
        """Whether there is anything to be applied."""
        return bool(self.edits or self.values) or self.aux is not MISSING

    @property
    def path(self) -> KeyPath:
        """Where it is."""
        return self.link.path()

    def changed(self) -> Any:
        """Return the node with the edits applied.

        Raises:
            EditError: Two edits contradict each other, or the node does not allow one.
        """
        node = self.node
        edits = self.edits
        if self.aux is not MISSING:
            children, _ = self.node_type.flatten(node)
            node = call_at(self.node_type.unflatten, (self.aux, list(children)), self)
        if self.values:
            items = {**self.node_type.items(node), **self.values}
            for key, value in self.values.items():
                if value is MISSING:
                    del items[key]
            node = self.node_type.from_items(self.node_type.rest(node), items)
        if not edits:
            return node
        has_items = type(node) is dict or type(node) is list
        if has_items and all(type(edit) is Set for _, edit in edits):
            values = {key.entry: edit.value for key, edit in edits}
            if len(values) == len(edits):  # no key twice
                return _with_items(node, values)
        if len(edits) > 1:
            self._check()
        return call_at(changed_node, (self.link, node, self.node_type, edits), self)

    def _check(self) -> None:
        """Check that at most one edit of each key is of what is there.

        Raises:
            EditError: There are several.
        """
        edited_keys: set[Any] = set()
        for key, edit in self.edits:
            if type(edit) is Insert or is_placed(edit):
                continue
            if key in edited_keys:
                path = path_below(self.path, key)
                conflict = f"{place_text(path)} twice"
                if key in self.below:
                    conflict = f"both {place_text(path)} and something inside it"
                raise EditError(f"cannot edit {conflict}", path=path)
            edited_keys.add(key)


def _with_items(node: Any, values: dict[Any, Any]) -> Any:
    """Return a copy of a dict or list with other values under some keys."""
    copied = node.copy()
    if type(node) is dict:
        copied.update(values)
    else:
        for position, value in values.items():
            copied[position] = value
    return copied


def rebuild(
    tree: Tree,
    edits: LinkEdits,
    context: Context,
    record: Edited | None = None,
    copies: dict[int, Any] | None = None,
) -> Tree:
    """Return a tree with edits applied.

    Args:
        tree: The tree.
        edits: The edits.
        context: What is a leaf.
        record: Collects the objects that are made and that the caller then validates.
        copies: Of a single edit, see `_edit_at`.

    Raises:
        EditError: Two edits are at one place, or one is inside another; or a node does
            not allow one.
        Exception: What a class raises where rebuilding runs its code, with a note of
            the path.
    """
    all_edits = list(edits)
    if not all_edits:
        return tree
    if len(all_edits) == 1:
        [(where, edit)] = all_edits
        place = Place(where, None)
        nodes = _nodes_on_the_way(tree, place.path, context.view)
        return _edit_at(place.link, nodes, edit, context.view, record, copies)  # type: ignore[no-any-return]
    return apply_edits(_nodes_above(all_edits, tree, context.view), record)  # type: ignore[no-any-return]


def _nodes_on_the_way(tree: Any, path: KeyPath, view: View) -> list[Any]:
    """Return the nodes above the end of a path, from the root on."""
    nodes = [tree] if path else []
    for key in path[:-1]:
        nodes.append(read(key, nodes[-1], view))
    return nodes


def _edit_at(
    link: Link,
    nodes: Sequence[Any],
    edit: Edit,
    view: View,
    record: Edited | None,
    copies: dict[int, Any] | None,
) -> Any:
    """Return a tree with one edit applied.

    Most edits are single ones, and what `apply_edits` needs for several takes time.

    Args:
        link: Where the edit is made.
        nodes: The nodes above, from the root on.
        edit: The edit.
        view: The node types.
        record: See `rebuild`.
        copies: By id, the dicts and lists that earlier edits copied: they are edited in
            place, and new ones are added. None copies each time.

    Raises:
        EditError: As `rebuild`.
    """
    if not nodes and not isinstance(edit, Set):
        raise _root_edited()
    new_node: Any
    for node in reversed(nodes):
        key = link.key
        link = link.above  # type: ignore[assignment]  # of a node above
        if copies is not None and id(node) in copies:
            _edit_in_place(node, key.entry, edit)
            return nodes[0]
        has_items = type(node) is dict or type(node) is list
        if has_items and type(edit) is Set:
            new_node = node.copy()
            new_node[key.entry] = edit.value
        else:
            node_type: Any = view.resolve(type(node))
            edits = [(key, edit)]
            arguments = (link, node, node_type, edits)
            new_node = call_at(changed_node, arguments, Place(link, node))
            if record is not None and node_type.attributes.validate is not None:
                record.add(link, node, new_node, node_type, edits)
        if has_items and copies is not None:
            copies[id(new_node)] = new_node
        edit = Set(new_node)
    return edit.value  # type: ignore[union-attr]  # the tree is set


def _edit_in_place(node: Any, entry: Any, edit: Edit) -> None:
    """Make an edit of a dict or a list."""
    match edit:
        case Insert(value) if type(node) is list:
            node.insert(entry, value)
        case Set(value) | Insert(value):
            node[entry] = value
        case _:
            del node[entry]


def _root_edited() -> EditError:
    return EditError("the root can only be replaced, by a single edit", path=ROOT)


def apply_edits(nodes: Sequence[NodeEdits], record: Edited | None = None) -> Any:
    """Return a tree with edits applied, as `rebuild` does.

    Args:
        nodes: The nodes of the tree that may have edits below them, the root first, and
            each after the one above it.
        record: See `rebuild`.
    """
    new_tree = nodes[0].node
    # from the bottom up: a node is built once, when all that is in it is built
    for step in reversed(nodes):
        if not step.is_changed:
            continue
        new_node = step.changed()
        if record is not None and step.node_type.attributes.validate is not None:
            record.add(step.link, step.node, new_node, step.node_type, step.edits)
        if step.above is None:
            new_tree = new_node
        else:
            step.above.edits.append((step.link.key, Set(new_node)))
    return new_tree


def _nodes_above(
    edits: LinkEdits,
    tree: Any,
    view: View,
) -> list[NodeEdits]:
    """Return the nodes above edits, each after the one above it, with its edits.

    Raises:
        EditError: An edit is at the root.
    """
    nodes = _EditedNodes(tree, view)
    above: Link | None = None
    parent: NodeEdits | None = None
    for where, edit in edits:
        if isinstance(where, Link) and where.above is not None:
            if parent is None or where.above is not above:  # else it is a sibling
                above = where.above
                parent = nodes.at_link(above)
            parent.edits.append((where.key, edit))
            continue
        parent = None
        path = path_of(where)
        if not path:
            raise _root_edited()
        nodes.at_path(path[:-1]).edits.append((path[-1], edit))
    return nodes.in_order


class _EditedNodes:
    """The nodes above edits of a tree.

    Attributes:
        in_order: The nodes, each after the one above it.
    """

    def __init__(
        self,
        tree: Any,
        view: View,
    ) -> None:
        self._view = view
        self._root = NodeEdits(tree, view.resolve(type(tree)))
        self._by_link: dict[Link, NodeEdits] = {}
        self.in_order: list[NodeEdits] = [self._root]

    def at_path(self, path: KeyPath) -> NodeEdits:
        """Return the node at a path."""
        node = self._root
        for key in path:
            node = self._child(node, key)
        return node

    def at_link(self, link: Link) -> NodeEdits:
        """Return the node at a link."""
        return follow_link(link, self._root, self._child, self._by_link)

    def _child(
        self,
        parent: NodeEdits,
        key: Any,
    ) -> NodeEdits:
        child = parent.below.get(key)
        if child is None:
            node = read(key, parent.node, self._view)
            node_type = self._view.resolve(type(node))
            child = NodeEdits(node, node_type, parent, key)
            parent.below[key] = child
            self.in_order.append(child)
        return child


def _refusal(link: KeyPath | Link, text: str) -> EditError:
    """Return an error about a node; `{where}` in the text is replaced by its place."""
    path = path_of(link)
    return EditError(text.replace("{where}", place_text(path)), path=path)


def _already_exists(link: KeyPath | Link, key: Any) -> EditError:
    path = path_below(path_of(link), key)
    return EditError(f"{place_text(path)} already exists", path=path)


# ------------------------------------------------------------------------ one node


def changed_node(
    link: KeyPath | Link,
    node: Any,
    node_type: NodeType,
    edits: KeyEdits,
) -> Any:
    """Return a node with edits applied, each with its key.

    Args:
        link: Where the node is, as a link or its path.
        node: The node.
        node_type: Its node type.
        edits: The edits.

    Raises:
        EditError: The node does not allow one.
    """
    if node_type.is_mapping:
        items = _changed_mapping(link, node_type.items(node), edits)
        return node_type.from_items(node_type.rest(node), items)
    if not node_type.is_sequence:
        return _changed_object(link, node, node_type, edits)
    moves_items = any(type(edit) is Move or is_placed(edit) for _, edit in edits)
    if node_type.is_fixed and not moves_items:
        return _changed_object(link, node, node_type, edits)
    items = _change_items(link, node_type.items(node), edits)
    size = len(items)
    new_node = node_type.from_items(node_type.rest(node), items)
    if len(new_node) == size:
        return new_node
    # a deque with a `maxlen` drops what is too much without a word
    name = type(node).__name__
    most = len(new_node)
    raise _refusal(link, f"the {name} at {{where}} can hold at most {most} items")


def _changed_mapping(
    link: KeyPath | Link,
    items: dict[Any, Any],
    edits: KeyEdits,
) -> dict[Any, Any]:
    """Return the items of a mapping after some edits."""
    new_items = items.copy()
    new_names: dict[Any, Any] = {}
    positions: list[tuple[int, Any]] = []
    for key, edit in edits:
        match edit:
            case Insert() if key.key in items:
                raise _already_exists(link, key)
            case Insert(value, target):
                new_items[key.key] = value
                if target is not None:
                    positions.append((target, key.key))
            case Set(value):
                new_items[key.key] = value
            case Delete():
                del new_items[key.key]
            case Rename(name):
                new_names[key.key] = name
    if positions:
        placed_keys = {key for _, key in positions}
        other_keys = [key for key in new_items if key not in placed_keys]
        order = at_places(other_keys, positions)
        new_items = {key: new_items[key] for key in order}
    if new_names:
        # all at once, so that two names can be exchanged
        names = {key for key in new_items if key not in new_names}
        for name in new_names.values():
            if name in names:
                raise _already_exists(link, DictKey(name))
            names.add(name)
        new_items = {new_names.get(key, key): value for key, value in new_items.items()}
    return new_items


def at_places(items: Iterable[Any], placed: list[tuple[int, Any]]) -> list[Any]:
    """Insert items among others.

    Args:
        items: The others, in their order.
        placed: The items, each after its position in the result.
    """
    others = iter(items)
    result: list[Any] = []
    for position, item in sorted(placed, key=itemgetter(0)):
        result += islice(others, position - len(result))
        result.append(item)
    result += others
    return result


def _change_items(
    link: KeyPath | Link,
    items: Any,
    edits: KeyEdits,
) -> Any:
    """Return the items of a sequence after some edits, which may be made in place."""
    removed = sorted(key.idx for key, edit in edits if isinstance(edit, Delete | Move))
    insertions: list[tuple[int, Any]] = []
    placed: list[tuple[int, Any]] = []
    for key, edit in edits:
        match edit:
            case Set(value):
                items[key.idx] = value
            case Insert(value, None):
                insertions.append((key.idx, value))
            case Insert(value, int(target)):
                placed.append((target, value))
            case Rename():
                raise _refusal(link, "positions at {where} cannot be renamed")
    for key, edit in edits:  # after what is set at the same key
        if isinstance(edit, Move) and edit.target is not None:
            placed.append((edit.target, items[key.idx]))
    # a stable sort: what is inserted at one position stays in the order of the edits
    insertions.sort(key=itemgetter(0))
    for number, (position, value) in enumerate(insertions):
        target = position - bisect_left(removed, position) + number
        placed.append((target, value))
    if type(items) is list:
        positions = set(removed)
        others = [item for n, item in enumerate(items) if n not in positions]
        return at_places(others, placed)
    for position in reversed(removed):
        del items[position]
    for position, value in sorted(placed, key=itemgetter(0)):
        items.insert(position, value)
    return items


# ---------------------------------------------------------------------- one object


def _changed_object(
    link: KeyPath | Link,
    node: Any,
    node_type: NodeType,
    edits: KeyEdits,
) -> Any:
    """Return an object with edits applied to its children and static values."""
    old_children, aux = node_type.flatten(node)
    children = list(old_children)
    keys = node_type.keys(aux, len(children))
    # Objects of a class share their keys, which take long to hash: a key that was read
    # from the tree is mostly one of them.
    positions_by_id = {id(key): position for position, key in enumerate(keys)}
    positions: dict[Any, int] = {}
    static_names = () if has_kinds(node) else node_type.attributes.static_names(node)
    static_values: dict[str, Any] = {}
    other_edits: KeyEdits = []
    for key, edit in edits:
        is_set = type(edit) is Set and type(edit.value) is not Marked
        position = positions_by_id.get(id(key))
        if position is None:
            positions = positions or {key: n for n, key in enumerate(keys)}
            position = positions.get(key)
        if is_set and position is not None:
            children[position] = edit.value
        elif is_set and key.entry in static_names:
            static_values[key.name] = edit.value
        else:
            other_edits.append((key, edit))
    if static_values and node_type.attributes.with_static is not None:
        aux = node_type.attributes.with_static(aux, static_values)
    new_node = node_type.unflatten(aux, children)
    if other_edits:
        members = _Members(link, node, new_node, node_type)
        members.change(other_edits)
    return new_node


class _Members:
    """The attributes and items of a new object, which no other code has yet.

    Args:
        link: Where it is, as a link or its path.
        node: The object that it was made of.
        new_node: The object.
        node_type: The node type of both.
    """

    def __init__(
        self,
        link: KeyPath | Link,
        node: Any,
        new_node: Any,
        node_type: NodeType,
    ) -> None:
        self.link = link
        self.node = node
        self.new_node = new_node
        self.node_type = node_type
        self.extras: Any = None
        if node_type.attributes.extras is not None:
            self.extras = node_type.attributes.extras(new_node)

    def change(self, edits: KeyEdits) -> None:
        """Apply edits.

        Raises:
            EditError: The object does not allow one.
        """
        node = self.node
        is_flexible = self.extras is not None or has_kinds(node)
        is_flexible |= isinstance(node, MutableMapping | MutableSequence)
        if not is_flexible and any(type(edit) is not Set for _, edit in edits):
            raise self._fixed()
        at_positions = [pair for pair in edits if type(pair[0]) is SequenceKey]
        _change_items(self.link, self.new_node, at_positions)
        for key, edit in edits:
            if type(key) is not SequenceKey:
                self._change_member(key, edit)

    def _fixed(self) -> EditError:
        return _refusal(
            self.link,
            f"the {type(self.node).__name__} at {{where}} has a fixed number of "
            "children: they can be set, but not deleted, inserted or renamed",
        )

    def _change_member(
        self,
        key: Any,
        edit: Edit,
    ) -> None:
        """Apply an edit of an attribute, or of an item under a key."""
        name = key.entry
        new_name = edit.name if isinstance(edit, Rename) else name
        is_item = type(key) is DictKey
        if is_item:
            exists = new_name in self.new_node
        else:
            exists = hasattr(self.new_node, new_name)
        if exists and isinstance(edit, Insert | Rename):
            raise _already_exists(self.link, type(key)(new_name))
        store = _ATTRIBUTES
        owner = self.new_node
        if is_item:
            store = _ITEMS
        elif self.extras is not None:
            store = _ITEMS
            owner = self.extras
        if isinstance(edit, Set | Insert):
            store.put(owner, name, edit.value)
            return
        if owner is self.extras and name not in owner:
            raise self._fixed()
        value = self._marked(key, store.get(owner, name))
        store.remove(owner, name)
        if isinstance(edit, Rename):
            store.put(owner, new_name, value)

    def _marked(
        self,
        key: Any,
        value: Any,
    ) -> Any:
        """Return a value of the object, marked with the kind that it has there."""
        description = description_of(type(self.node))
        if description is None:
            return value
        return description.marked(self.node, key, value)


class _Store(NamedTuple):
    """How members of an object are read, written and removed."""

    get: Callable[[Any, Any], Any]
    put: Callable[[Any, Any, Any], None]
    remove: Callable[[Any, Any], None]


_ATTRIBUTES: Final = _Store(getattr, setattr, delattr)
_ITEMS: Final = _Store(getitem, setitem, delitem)


# ---------------------------------------------------- nodes taken apart and remade


def item_key(node: Any, node_type: NodeType) -> type | None:
    """Return the type of the keys of a node's items.

    That is `DictKey` for a mapping and `SequenceKey` for a sequence, if there can be
    such nodes with other items; None for any other node.
    """
    if node_type.is_mapping or isinstance(node, MutableMapping):
        return DictKey
    is_list = node_type.is_sequence or isinstance(node, MutableSequence)
    return SequenceKey if is_list else None


def entries_of(node: Any, node_type: NodeType) -> dict[Any, Any]:
    """Return the items of a mapping or sequence by key or position, as it has them."""
    if node_type.item_key is not None:
        return items_by_key(node_type, node)
    return dict(node) if isinstance(node, Mapping) else dict(enumerate(node))


def with_entries(node: Any, node_type: NodeType, entries: dict[Any, Any]) -> Any:
    """Return a mapping or sequence of the type of a node with other items.

    Args:
        node: The node.
        node_type: Its node type.
        entries: The new items by key or position, in a dict that may be kept; those of
            a sequence in their order.
    """
    if node_type.item_key is not None:
        return with_items(node_type, node, entries)
    key_class: Any = item_key(node, node_type)
    old = entries_of(node, node_type)
    edits: KeyEdits = [
        (key_class(key), Set(value) if key in old else Insert(value))
        for key, value in entries.items()
    ]
    edits += [(key_class(key), Delete()) for key in old if key not in entries]
    return changed_node(Link(), node, node_type, edits)


# ------------------------------------------------------------------------ insertions


def insertions(
    holders: Iterable[Place],
    step: Step,
    value: Any,
    context: Context,
) -> list[tuple[KeyPath, Edit]]:
    """Return the edits that insert a value into some nodes.

    Args:
        holders: The nodes.
        step: The last step to the new child, of which the node decides the kind of key.
        value: The value.
        context: What is a leaf.

    Raises:
        EditError: There can be no such child.
    """
    if step.key is None:
        raise EditError(
            f"cannot insert at {step.text!r}: its last step is not a single key"
        )
    edits: list[tuple[KeyPath, Edit]] = []
    for holder in holders:
        key = _new_key(holder, step, context.node_type_of(holder.value))
        edits.append((path_below(holder.path, key), Insert(value)))
    return edits


def _new_key(
    holder: Place,
    step: Step,
    node_type: NodeType | None,
) -> Any:
    """Return the key of a new child.

    Args:
        holder: The node that gets it.
        step: The step to it.
        node_type: The node type of the node, None for a leaf.

    Raises:
        EditError: The node can have no such child.
    """
    node = holder.value
    cls: Any = GetAttrKey
    if node_type is not None:
        cls = item_key(node, node_type) or GetAttrKey
    key = step.key
    if cls is DictKey and step.item is not None:
        key = step.item
    elif type(key) is str and cls is DictKey:
        key = DictKey(key)
    elif type(key) is str and cls is GetAttrKey:
        key = GetAttrKey(key)
    elif type(key) is str and is_number(key):
        position = int(key)
        if step.test("position", position, position, position + 1):
            key = SequenceKey(position)
    elif type(key) is SequenceKey and cls is DictKey and key is not END:
        key = DictKey(key.idx)
    fits = type(key) is cls
    if type(key) is GetAttrKey and has_kinds(node):
        fits = True
    if node_type is None or not fits:
        kind = "leaf" if node_type is None else type(node).__name__
        where = place_text(holder.path)
        text = f"cannot insert at {step.text!r} into the {kind} at {where}"
        hint = how_to_register(type(node)) if node_type is None else ""
        raise EditError(text + (hint and f"; {hint}"), path=holder.path)
    if type(key) is not SequenceKey:
        return key
    return SequenceKey(_new_position(holder, key))


def _new_position(holder: Place, key: SequenceKey) -> int:
    """Return the position of a new item, counted from 0.

    Raises:
        EditError: The sequence is too short for it.
    """
    size = len(holder.value)
    position = key.idx
    if key is END:
        position = size
    elif position < 0:
        position += size
    if 0 <= position <= size:
        return position
    raise EditError(
        f"cannot insert at position {key.idx}: the {type(holder.value).__name__} at "
        f"{place_text(holder.path)} has {counted(size, 'item')}",
        path=holder.path,
    )
