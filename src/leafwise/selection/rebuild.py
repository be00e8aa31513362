"""Edited trees: edits at many places, applied in one pass.

Only the nodes above an edit are rebuilt; everything else is shared with the given
tree, which stays as it is. Owns what can be done to each kind of node, how a node like
another one is made of given children, and when objects whose classes validate are
validated: once, after all edits of a call.
"""

from __future__ import annotations

import copy
from collections.abc import (
    Callable,
    Iterable,
    Mapping,
    MutableMapping,
    MutableSequence,
    Sequence,
)
from itertools import islice
from operator import delitem, getitem, is_, itemgetter, setitem
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from ..core.keypath import KeyPath, read
from ..core.keys import DictKey, GetAttrKey, SequenceKey
from ..core.node import Rule, Shaped
from ..core.registry import lookup
from ..core.walk import locate, unlink
from ..equality.exact import same
from ..errors import EditError
from ..kinds import Kind, Marked
from ..ops.context import Context
from ..safely import type_name
from .select import Place, call_at, has_kinds, keys_of


Tree = TypeVar("Tree")


class Set(NamedTuple):
    """Replace what is there by a value."""

    value: Any


class Insert(NamedTuple):
    """Insert a value where there is nothing; in a list, before what is there.

    Attributes:
        target: Its position among the keys of a mapping, counted from 0; None for the
            end. In a list, its position when all edits of the list are made.
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


Edit: TypeAlias = Set | Insert | Delete | Move | Rename
"""An edit at one key of a node."""


# ------------------------------------------------------------------ edited objects


class Edited:
    """The objects that edits made, to be completed when all edits are done.

    Each is validated once, with all of its new values, and its children before it.

    Attributes:
        validate: Whether to run the validation of their classes.
    """

    __slots__ = ("_made", "validate")

    def __init__(self, validate: bool) -> None:
        self.validate = validate
        self._made: dict[int, tuple[Place, Any, Rule, frozenset[str]]] = {}

    def add(
        self, link: Any, node: Any, made: Any, rule: Rule, edits: Iterable[Any]
    ) -> None:
        """Note that an object was made of another one, after all that are in it.

        Args:
            link: Where it is, as a linked list.
            node: The object before.
            made: The object.
            rule: The rule of both.
            edits: The edits at its keys.
        """
        changed = frozenset(
            edit.name if type(edit) is Rename else key.name
            for key, edit in edits
            if isinstance(key, GetAttrKey) and type(edit) is not Delete
        )
        if id(node) in self._made:  # by an edit before this one
            _, node, _, before = self._made.pop(id(node))
            changed |= before
        self._made[id(made)] = Place(link, made), node, rule, changed

    def complete(self) -> None:
        """Complete the objects.

        Raises:
            Exception: What the validation of a class raises, with a note of the path.
        """
        for place, node, rule, changed in self._made.values():
            complete: Any = rule.edited
            call_at(complete, (node, place.value, changed, self.validate), place)


def edited(
    tree: Tree,
    edits: Iterable[tuple[KeyPath, Edit]],
    context: Context,
    *,
    validate: bool,
) -> Tree:
    """Return a tree with edits applied, and the objects that they changed completed.

    Args:
        tree: The tree.
        edits: Paths from the root, each with the edit to make there.
        context: What is a leaf.
        validate: Whether the objects run the validation of their classes.

    Raises:
        EditError: As `rebuild`.
        Exception: What the validation of a class raises, with a note of the path.
    """
    record = Edited(validate)
    made = rebuild(tree, edits, context, record)
    record.complete()
    return made


# ---------------------------------------------------------------------- many edits


class _Step(NamedTuple):
    """A node above edits.

    Attributes:
        link: Where it is, as a linked list.
        node: The node.
        rule: Its rule.
        above: The step of the node above it, None for the root.
        below: The steps of its children that have edits below them, by key.
        edits: The edits at its keys. Several at one key are insertions, but for one.
    """

    link: Any
    node: Any
    rule: Any
    above: Any
    below: dict[Any, Any]
    edits: dict[Any, list[Edit]]


def rebuild(
    tree: Tree,
    edits: Iterable[tuple[KeyPath, Edit]],
    context: Context,
    record: Edited | None = None,
) -> Tree:
    """Return a tree with edits applied.

    Args:
        tree: The tree.
        edits: Paths from the root, each with the edit to make there.
        context: What is a leaf.
        record: Is told of the objects that are made, which the caller then completes.

    Raises:
        EditError: Two edits are at one place, or one is inside another; or a node does
            not allow one.
        Exception: What a class raises where rebuilding runs its code, with a note of
            the path.
    """
    listed = [*edits]
    if not listed:
        return tree
    if len(listed) == 1 and not listed[0][0] and type(listed[0][1]) is Set:
        root: Tree = listed[0][1].value
        return root
    made: Any = tree
    for link, node, rule, above, _, table in reversed(_steps(tree, listed, context)):
        flat = [(key, one) for key, some in table.items() for one in some]
        try:
            made = changed_node(link, node, rule, flat)
        except EditError:
            raise
        except Exception as error:  # of the class
            locate(error, [*unlink(link)][::-1])
            raise
        if record is not None and rule.edited is not None:
            record.add(link, node, made, rule, flat)
        if above is not None:
            above.edits.setdefault(link[1], []).append(Set(made))
    return made  # type: ignore[no-any-return]


def _steps(
    tree: Any, edits: Iterable[tuple[KeyPath, Edit]], context: Context
) -> list[_Step]:
    """Return the nodes above edits, each after the one above it.

    Raises:
        EditError: Two edits are at one place, one is inside another, or one is of the
            root.
    """
    resolve = context.view.resolve
    steps = [_Step((), tree, resolve(type(tree)), None, {}, {})]
    for path, edit in edits:
        if not path:
            raise EditError(
                "the root can only be replaced, by a single edit", path=path
            )
        step = steps[0]
        *above, last = path
        for depth, key in enumerate(above):
            below = step.below.get(key)
            if below is None:
                if not all(map(_leaves, step.edits.get(key, ()))):
                    raise _overlap(path[: depth + 1], path)
                node, reads = step.node, step.rule.reads_items
                child = node[key.entry] if reads else read(key, node, context.view)
                rule = resolve(type(child))
                below = _Step((step.link, key), child, rule, step, {}, {})
                step.below[key] = below
                steps.append(below)
            step = below
        known = step.edits.setdefault(last, [])
        if not _leaves(edit):
            if not all(map(_leaves, known)):
                raise EditError(f"cannot edit {path.where()} twice", path=path)
            if last in step.below:
                raise _overlap(path, path)
        known.append(edit)
    return steps


def _leaves(edit: Edit) -> bool:
    """Return whether an edit leaves what is at its key as it is."""
    return type(edit) is Insert or (type(edit) is Move and edit.target is not None)


def _overlap(outer: KeyPath, inner: KeyPath) -> EditError:
    what = inner.where() if len(inner) > len(outer) else "something"
    return EditError(
        f"cannot edit both {outer.where()} and {what} inside it", path=outer
    )


def _refusal(link: Any, text: str) -> EditError:
    """Return an error about a node; `{where}` in the text is replaced by its place."""
    path = KeyPath(unlink(link))
    return EditError(text.replace("{where}", path.where()), path=path)


# ------------------------------------------------------------------------ one node


def changed_node(link: Any, node: Any, rule: Rule, flat: list[tuple[Any, Edit]]) -> Any:
    """Return a node with edits applied, each with its key.

    Args:
        link: Where the node is, as a linked list.
        node: The node.
        rule: Its rule.
        flat: The edits.

    Raises:
        EditError: The node does not allow one.
    """
    if rule.is_mapping:
        items = _changed_mapping(link, rule.items(node), flat)
        return rule.from_items(rule.rest(node), items)
    if rule.is_sequence and (not rule.is_fixed or any(map(_is_final, flat))):
        items = _change_items(link, rule.items(node), flat)
        size = len(items)
        made = rule.from_items(rule.rest(node), items)
        if len(made) == size:
            return made
        told = f"the {type_name(node)} at {{where}} can hold at most {len(made)} items"
        raise _refusal(link, told)
    return _changed_object(link, node, rule, flat)


def _is_final(one: tuple[Any, Edit]) -> bool:
    """Return whether an edit says at which position an item is in the end."""
    edit = one[1]
    return type(edit) is Move or (type(edit) is Insert and edit.target is not None)


def _changed_mapping(
    link: Any, items: dict[Any, Any], edits: list[tuple[Any, Edit]]
) -> dict[Any, Any]:
    """Return the items of a mapping after some edits."""
    made = items.copy()
    renamed: dict[Any, Any] = {}
    placed: list[tuple[int, Any]] = []
    for key, edit in edits:
        match edit:
            case Insert() if key.key in items:
                raise _exists(link, key)
            case Insert(value, index):
                made[key.key] = value
                if index is not None:
                    placed.append((index, key.key))
            case Set(value):
                made[key.key] = value
            case Delete():
                del made[key.key]
            case Rename(name):
                renamed[key.key] = name
    if placed:
        moved = {key for _, key in placed}
        order = at_places((key for key in made if key not in moved), placed)
        made = {key: made[key] for key in order}
    if renamed:
        taken = {key for key in made if key not in renamed}
        for name in renamed.values():
            if name in taken:
                raise _exists(link, DictKey(name))
            taken.add(name)
        made = {renamed.get(key, key): value for key, value in made.items()}
    return made


def at_places(keys: Iterable[Any], placed: list[tuple[int, Any]]) -> list[Any]:
    """Insert keys among others.

    Args:
        keys: The keys, in their order.
        placed: Further keys, each with its position in the result.
    """
    rest = iter(keys)
    made: list[Any] = []
    for index, key in sorted(placed, key=itemgetter(0)):
        made += islice(rest, index - len(made))
        made.append(key)
    return [*made, *rest]


def _change_items(link: Any, items: Any, edits: list[tuple[Any, Edit]]) -> Any:
    """Return the items of a sequence, in which edits are made in place.

    Insertions are before the old items, unless an edit has a final position.
    """
    is_final = any(map(_is_final, edits))
    before: dict[int, list[Any]] = {}
    gone: set[int] = set()
    placed: list[tuple[int, Any]] = []
    moved: list[tuple[int, int]] = []
    for key, edit in edits:
        match edit:
            case Insert(value, index) if is_final:
                placed.append((key.idx if index is None else index, value))
            case Insert(value):
                before.setdefault(key.idx, []).append(value)
            case Set(value):
                items[key.idx] = value
            case Rename():
                raise _refusal(link, "positions at {where} cannot be renamed")
            case _:
                gone.add(key.idx)
                if isinstance(edit, Move) and edit.target is not None:
                    moved.append((edit.target, key.idx))
    if is_final:
        placed += [(index, items[place]) for index, place in moved]
        return at_places((x for n, x in enumerate(items) if n not in gone), placed)
    for place in sorted({*before, *gone}, reverse=True):
        if place in gone:
            del items[place]
        for value in reversed(before.get(place, ())):
            items.insert(place, value)
    return items


def _changed_object(
    link: Any, node: Any, rule: Rule, edits: list[tuple[Any, Edit]]
) -> Any:
    """Return an object with edits applied to its children and static values."""
    children, aux = rule.flatten(node)
    children = [*children]
    places = {key: n for n, key in enumerate(rule.keys(aux, len(children)))}
    rest: list[tuple[Any, Edit]] = []
    for key, edit in edits:
        if type(edit) is Set and key in places:
            children[places[key]] = edit.value
        else:
            rest.append((key, edit))
    made = rule.unflatten(aux, children)
    extras = None if rule.extras is None else rule.extras(made)
    refusal = _refusal(
        link,
        f"the {type_name(node)} at {{where}} has a fixed number of children: they can "
        "be set, but not deleted, inserted or renamed",
    )
    grows = extras is not None or has_kinds(node)
    if not grows and any(type(edit) is not Set for _, edit in rest):
        raise refusal
    _change_items(link, made, [one for one in rest if type(one[0]) is SequenceKey])
    for key, edit in rest:
        if type(key) is SequenceKey:
            continue
        old, is_item = key.entry, type(key) is DictKey
        new = edit.name if type(edit) is Rename else old
        exists = new in made if is_item else hasattr(made, new)
        if exists and type(edit) in (Insert, Rename):
            raise _exists(link, type(key)(new))
        store: Any = made if is_item or extras is None else extras
        get, put, drop = _ATTRIBUTES if store is made and not is_item else _ITEMS
        if isinstance(edit, Delete | Rename):
            if store is extras and old not in extras:
                raise refusal
            value = get(store, old)
            if isinstance(rule.form, Shaped) and not is_item:
                value = Marked(rule.flatten(node)[1].fields.kind_of(old), value)
            elif has_kinds(node) and key in places:
                value = Marked(Kind.DATA, value)
            drop(store, old)
            if type(edit) is Rename:
                put(store, new, value)
        elif type(edit) is Set and not is_item and not has_kinds(node):
            object.__setattr__(made, old, edit.value)  # a static field
        else:
            put(store, new, edit.value)
    return made


_ATTRIBUTES: Final[Any] = (getattr, setattr, delattr)
_ITEMS: Final[Any] = (getitem, setitem, delitem)


def _exists(link: Any, key: Any) -> EditError:
    there = KeyPath((*unlink(link), key))
    return EditError(f"{there.where()} already exists", path=there)


# ---------------------------------------------------- nodes taken apart and remade


def item_key(node: Any, rule: Rule) -> type | None:
    """Return the type of the keys of a node's items.

    That is `DictKey` for a mapping and `SequenceKey` for a sequence, if there can be
    such nodes with other items; None for any other node.
    """
    if rule.is_mapping or isinstance(node, MutableMapping):
        return DictKey
    return (
        SequenceKey if rule.is_sequence or isinstance(node, MutableSequence) else None
    )


def entries_of(node: Any, rule: Rule) -> dict[Any, Any]:
    """Return the items of a mapping or sequence by key or position, as it has them."""
    if rule.is_mapping or rule.is_sequence:
        return rule.entries(node)
    return dict(node) if isinstance(node, Mapping) else dict(enumerate(node))


def remade(
    node: Any,
    rule: Rule,
    old: dict[Any, Any],
    entries: dict[Any, Any],
    data: Callable[[], set[Any]],
) -> Any:
    """Return a mapping or sequence of the type of a node with other items.

    It is the node if it has exactly these. Comparing values is not enough: None and
    other shared objects may be under any key. A key that is only equal to the old one,
    as True is to 1, is another key.

    Args:
        node: The node.
        rule: Its rule.
        old: Its items, as `entries_of` returns them.
        entries: The new items by key, in a dict that may be kept; those of a sequence
            in their order.
        data: Returns the keys of the items that are data, where the node asks for it.
    """
    is_table = item_key(node, rule) is DictKey
    if not is_table:
        entries = dict(enumerate(entries.values()))
    if (
        len(old) == len(entries)
        and all(map(is_, entries.values(), old.values()))
        and (all(map(is_, entries, old)) or same([*entries], [*old], typed=True))
    ):
        return node
    if rule.is_mapping or rule.is_sequence:
        return rule.remade(node, entries)
    made = copy.copy(node)
    for key in [key for key in old if key not in entries][::-1]:
        del made[key]
    is_data = data() if has_kinds(node) else ()
    for key, value in entries.items():
        item = Marked(Kind.DATA, value) if key in is_data else value
        if key not in old and not is_table:
            made.append(item)
        elif key not in old or made[key] is not value:
            made[key] = item
    return made


def data_keys(nodes: Sequence[Any]) -> set[Any]:
    """Return the keys of items that are data in one of the nodes.

    In a container that has kinds, those of kind data; in any other, the nodes.
    """
    found: set[Any] = set()
    for node in nodes:
        rule = lookup(type(node))
        if rule is not None and has_kinds(node):
            keys = keys_of(node, rule)
            found |= {key.entry for key in keys if not isinstance(key, GetAttrKey)}
        elif rule is not None and item_key(node, rule) is not None:
            items = entries_of(node, rule).items()
            found |= {key for key, x in items if lookup(type(x)) is not None}
    return found
