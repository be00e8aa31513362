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
from operator import is_, itemgetter
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from ..core.keypath import KeyPath
from ..core.keys import DictKey, GetAttrKey, SequenceKey
from ..core.node import Rule, Shaped
from ..core.registry import lookup
from ..core.walk import locate, unlink
from ..errors import EditError
from ..kinds import Kind, Marked
from ..ops.context import Context
from ..safely import type_name
from .find import DEEP, find, has_kinds, keys_of, parse


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


class _Made(NamedTuple):
    """An object that was made by edits.

    Attributes:
        link: Where it is, as a linked list.
        node: The object before the first of them.
        made: The object.
        rule: The rule of both.
        names: The attributes that have new values.
    """

    link: Any
    node: Any
    made: Any
    rule: Rule
    names: frozenset[str]


class Edited:
    """The objects that edits made, to be completed when all edits are done.

    Each is validated once, with all of its new values, and its children before it.

    Attributes:
        validate: Whether to run the validation of their classes.
    """

    __slots__ = ("_made", "validate")

    def __init__(self, validate: bool) -> None:
        self.validate = validate
        self._made: dict[int, _Made] = {}

    def add(
        self, link: Any, node: Any, made: Any, rule: Rule, names: Iterable[str]
    ) -> None:
        """Note that an object was made of another one, after all that are in it."""
        before = self._made.pop(id(node), None)
        changed = frozenset(names)
        if before is not None:
            node, changed = before.node, before.names | changed
        self._made[id(made)] = _Made(link, node, made, rule, changed)

    def complete(self, paths: Mapping[int, KeyPath] | None = None) -> None:
        """Complete the objects that one pass of edits made.

        Args:
            paths: After several passes, where the objects are that are in the last
                tree, by identity; the others are left out.

        Raises:
            Exception: What the validation of a class raises, with a note of the path.
        """
        for made, one in self._made.items():
            if paths is not None and made not in paths:
                continue
            complete: Any = one.rule.edited
            try:
                complete(one.node, one.made, one.names, self.validate)
            except Exception as error:  # of the class, which is told where
                path = unlink(one.link) if paths is None else paths[made]
                locate(error, [*path][::-1])
                raise

    def complete_in(self, tree: Any, context: Context) -> None:
        """Complete those objects of several passes that are in the last tree.

        Raises:
            Exception: As `complete`.
        """
        if self._made:
            paths = {id(tree): KeyPath()}
            for place in find(tree, (DEEP, *parse("*")), context):
                paths[id(place.value)] = place.path
            self.complete(paths)


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


class _Trie:
    """The edits below a node: those of its children that are edited, and how.

    Attributes:
        below: The edits below its children, by key.
        edits: The edits at its children, by key; several where some are insertions.
    """

    __slots__ = ("below", "edits")

    def __init__(self) -> None:
        self.below: dict[Any, _Trie] = {}
        self.edits: dict[Any, list[Edit]] = {}


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
    """
    listed = [*edits]
    for path, edit in listed:
        if not path:
            if len(listed) > 1 or type(edit) is not Set:
                raise EditError(
                    "the root can only be replaced, by a single edit", path=path
                )
            root: Tree = edit.value
            return root
    if not listed:
        return tree
    if len(listed) == 1:
        one: Tree = _apply_one(tree, *listed[0], context, record)
        return one
    several: Tree = _apply(tree, _trie_of(listed), context, record)
    return several


def check_apart(paths: Sequence[KeyPath]) -> None:
    """Refuse places that cannot all be replaced, before their values are made.

    Raises:
        EditError: Two are the same, or one is inside another.
    """
    if len(paths) < 2:
        return
    for path in paths:
        if not path:
            raise _overlap(path, path)
    _trie_of((path, Set(None)) for path in paths)


def _apply_one(
    tree: Any, path: KeyPath, edit: Edit, context: Context, record: Edited | None
) -> Any:
    """Return a tree with one edit: no trie to build."""
    resolve: Any = context.view.resolve
    above: list[tuple[Any, Any, Any, Rule]] = []
    link: Any = ()
    node = tree
    *most, last = path
    for key in most:
        rule = resolve(type(node))
        above.append((link, node, key, rule))
        link = link, key
        reads = rule.reads_items
        node = node[key.entry] if reads else children_by_key(node, context)(key)
    rule = resolve(type(node))
    if rule.reads_items and type(edit) is Set:
        above.append((link, node, last, rule))
        made = edit.value
    else:
        made = _changed(link, node, {last: [edit]}, context, record)
    for link, node, key, rule in reversed(above):
        if rule.reads_items:
            items = rule.items(node)
            items[key.entry] = made
            made = rule.from_items(rule.rest(node), items)
        else:
            made = _changed(link, node, {key: [Set(made)]}, context, record)
    return made


def _trie_of(edits: Iterable[tuple[KeyPath, Edit]]) -> _Trie:
    """Return all edits as one trie.

    Raises:
        EditError: Two are at one place, or one is inside another.
    """
    root = _Trie()
    for path, edit in edits:
        trie = root
        for depth, key in enumerate(path[:-1]):
            if not all(map(_leaves, trie.edits.get(key, ()))):
                raise _overlap(path[: depth + 1], path)
            trie = trie.below.setdefault(key, _Trie())
        key = path[-1]
        known = trie.edits.setdefault(key, [])
        if not _leaves(edit) and not all(map(_leaves, known)):
            raise EditError(f"cannot edit {path.where()} twice", path=path)
        if not _leaves(edit) and key in trie.below:
            raise _overlap(path, path)
        known.append(edit)
    return root


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


def _apply(tree: Any, root: _Trie, context: Context, record: Edited | None) -> Any:
    """Rebuild the nodes above the edits, the deepest first."""
    order: list[tuple[Any, Any, Any, _Trie, int]] = [((), None, tree, root, -1)]
    for number, (link, _, node, trie, _) in enumerate(order):
        if trie.below:
            children = children_by_key(node, context)
            for key, below in trie.below.items():
                order.append(((link, key), key, children(key), below, number))
    changes: list[dict[Any, list[Edit]]] = [dict(trie.edits) for *_, trie, _ in order]
    made = tree
    for number in range(len(order) - 1, -1, -1):
        link, key, node, _, above = order[number]
        made = _changed(link, node, changes[number], context, record)
        if above >= 0:
            changes[above].setdefault(key, []).append(Set(made))
    return made


def children_by_key(node: Any, context: Context) -> Any:
    """Return a function from a key to the child that has it."""
    rule: Any = context.view.resolve(type(node))
    if rule.reads_items:
        return lambda key: node[key.entry]
    children = dict(zip(keys_of(node, rule), rule.flatten(node)[0], strict=True))
    return lambda key: children[key] if key in children else getattr(node, key.name)


# ------------------------------------------------------------------------ one node


def _changed(
    link: Any,
    node: Any,
    edits: Mapping[Any, list[Edit]],
    context: Context,
    record: Edited | None,
) -> Any:
    """Return a node with edits applied at its keys."""
    rule: Any = context.view.resolve(type(node))
    flat = [(key, edit) for key, listed in edits.items() for edit in listed]
    try:
        made = changed_node(link, node, rule, flat)
    except EditError:
        raise
    except Exception as error:  # of the class, where rebuilding runs its code
        locate(error, [*unlink(link)][::-1])
        raise
    if record is not None and rule.edited is not None:
        names = [
            edit.name if isinstance(edit, Rename) else key.name
            for key, edit in flat
            if isinstance(key, GetAttrKey) and not isinstance(edit, Delete)
        ]
        record.add(link, node, made, rule, names)
    return made


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
    if all(type(edit) is Set for _, edit in flat):
        return _with_children(node, rule, flat)
    return _reshaped(link, node, rule, flat)


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
        _refill(made, [(key, made[key]) for key in order])
    if not renamed:
        return made
    for name in renamed.values():
        if name in made and name not in renamed:
            raise _exists(link, DictKey(name))
    pairs = [(renamed.get(key, key), value) for key, value in made.items()]
    if len(dict(pairs)) != len(pairs):
        raise _refusal(link, "two keys at {where} would become one")
    _refill(made, pairs)
    return made


def _refill(made: Any, items: list[tuple[Any, Any]]) -> None:
    made.clear()
    made.update(items)


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


def _with_children(node: Any, rule: Rule, edits: list[tuple[Any, Edit]]) -> Any:
    """Return a node with other children or static values."""
    children, aux = rule.flatten(node)
    children = [*children]
    places = {key: place for place, key in enumerate(keys_of(node, rule))}
    rest = []
    for key, edit in edits:
        if key in places:
            children[places[key]] = edit.value  # type: ignore[union-attr]  # all are Set
        else:
            rest.append((key, edit))
    made = rule.unflatten(aux, children)
    for key, edit in rest:
        value = edit.value  # type: ignore[union-attr]  # all are Set
        if not isinstance(key, GetAttrKey):
            made[key.entry] = value
        elif isinstance(rule.form, Shaped) or has_kinds(node):
            setattr(made, key.name, value)
        else:
            object.__setattr__(made, key.name, value)
    return made


def _reshaped(link: Any, node: Any, rule: Rule, edits: list[tuple[Any, Edit]]) -> Any:
    """Return a copy of an object with more, fewer or renamed children."""
    if rule.extras is not None and rule.extras(node) is not None:
        return _with_extras(link, node, rule, edits)
    grows = isinstance(node, MutableMapping | MutableSequence)
    if isinstance(node, tuple) or not (grows or isinstance(rule.form, Shaped)):
        raise _refusal(link, f"the {type_name(node)} {_REFUSED}")
    made = _with_children(node, rule, [(k, e) for k, e in edits if type(e) is Set])
    rest = [(key, edit) for key, edit in edits if type(edit) is not Set]
    _change_items(link, made, [one for one in rest if type(one[0]) is SequenceKey])
    for key, edit in rest:
        if type(key) is SequenceKey:
            continue
        if isinstance(edit, Insert):
            _put(link, made, key, edit.value)
            continue
        is_item = type(key) is DictKey
        if isinstance(edit, Rename):
            value = made[key.key] if is_item else getattr(made, key.name)
            kind = _kind_of(node, rule, key)
            marked = value if kind is None else Marked(kind, value)
            _put(link, made, type(key)(edit.name), marked)
        if is_item:
            del made[key.key]
        else:
            delattr(made, key.name)
    return made


_REFUSED: Final = (
    "at {where} has a fixed number of children: they can be set, but not deleted, "
    "inserted or renamed"
)


def _with_extras(
    link: Any, node: Any, rule: Rule, edits: list[tuple[Any, Edit]]
) -> Any:
    """Return a copy of an object some of whose attributes may come and go."""
    made = _with_children(node, rule, [(k, e) for k, e in edits if type(e) is Set])
    extras: Any = rule.extras and rule.extras(made)
    for key, edit in edits:
        if type(edit) is Set:
            continue
        new = key
        if isinstance(edit, Insert):
            value = edit.value
        elif extras is None or key.name not in extras:
            raise _refusal(link, f"the {type_name(node)} {_REFUSED}")
        else:
            value = extras.pop(key.name)
            new = GetAttrKey(edit.name) if isinstance(edit, Rename) else None
        if new in keys_of(made, rule):
            raise _exists(link, new)
        if new is not None:
            extras[new.name] = value
    return made


def _kind_of(node: Any, rule: Rule, key: Any) -> Kind | None:
    """Return the kind of an attribute or item of an object that has kinds."""
    if isinstance(rule.form, Shaped) and isinstance(key, GetAttrKey):
        kind: Kind = rule.flatten(node)[1].field_layout.kind_of(key.name)
        return kind
    return Kind.DATA if has_kinds(node) and key in keys_of(node, rule) else None


def _put(link: Any, made: Any, key: Any, value: Any) -> None:
    """Put a value under a new key of an object."""
    is_item = type(key) is DictKey
    if key.key in made if is_item else hasattr(made, key.name):
        raise _exists(link, key)
    if is_item:
        made[key.key] = value
    else:
        setattr(made, key.name, value)


def _exists(link: Any, key: Any) -> EditError:
    there = KeyPath((*unlink(link), key))
    return EditError(f"{there.where()} already exists", path=there)


def key_for(node: Any, rule: Rule, wanted: Any) -> Any:
    """Return the key that a new child would have in a node, None if it can have none.

    Args:
        node: The node.
        rule: Its rule.
        wanted: A key; or a name, whose kind of key depends on the node.
    """
    key: Any = wanted
    is_table = rule.is_mapping or isinstance(node, Mapping)
    has_items = rule.is_sequence or isinstance(node, MutableSequence | tuple)
    if has_items and not rule.is_mapping:
        sort: type = SequenceKey
        if isinstance(wanted, str):
            is_number = wanted.isascii() and wanted.isdigit()
            key = SequenceKey(int(wanted)) if is_number else None
    elif is_table:
        sort = DictKey
        if isinstance(wanted, str):
            is_attribute = isinstance(rule.form, Shaped) and not rule.is_mapping
            key = GetAttrKey(wanted) if is_attribute else DictKey(wanted)
        elif type(wanted) is SequenceKey:
            key = DictKey(wanted.idx)
    else:
        sort = GetAttrKey
        key = GetAttrKey(wanted) if isinstance(wanted, str) else wanted
    fits = type(key) is sort or (type(key) is GetAttrKey and has_kinds(node))
    return key if fits else None


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
    if rule.is_mapping:
        items: dict[Any, Any] = rule.items(node)
        return items
    if item_key(node, rule) is DictKey:
        return dict(node)
    return dict(enumerate(rule.items(node) if rule.is_sequence else node))


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
        and (all(map(is_, entries, old)) or all(map(_same_key, entries, old)))
    ):
        return node
    if rule.is_mapping or rule.is_sequence:
        items = entries if is_table else [*entries.values()]
        return rule.from_items(rule.rest(node), items)
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


_EXACT: Final = frozenset({str, int, bool, bytes})


def _same_key(a: Any, b: Any) -> bool:
    """Return whether two keys are indistinguishable."""
    return a is b or (type(a) is type(b) and type(a) in _EXACT and bool(a == b))


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
