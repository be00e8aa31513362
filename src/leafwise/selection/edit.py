"""Read and edit the nodes and leaves that a selector picks; the tree is not changed.

Owns `at`, and the functions that edit several places at once, move, rename or point.
Edits at many places are applied in one pass. Only the nodes above an edit are rebuilt;
everything else is shared with the given tree. Owns also what can be done to each kind
of node, how a node like another one is made of given children, and when objects whose
classes validate are validated: once, after all edits of a call.
"""

from __future__ import annotations

import copy
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, MutableMapping, MutableSequence
from itertools import islice
from operator import delitem, getitem, is_, itemgetter, setitem
from types import GenericAlias
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, overload

from .._hooks import Displayable
from .._records import MISSING
from ..core.builtins import ContainerRule
from ..core.context import Context, context_of, path_of, plain_context
from ..core.keypath import KeyPath, path_below, read
from ..core.keys import DictKey, GetAttrKey, SequenceKey
from ..core.node import Rule, Shaped, items_by_key, with_items
from ..core.registry import GLOBAL, lookup
from ..errors import EditError, PathError
from ..fields import Kind, Marked
from .select import (
    ANY,
    DEEP,
    END,
    Place,
    Region,
    Selector,
    Step,
    along,
    call_at,
    few,
    find,
    follow,
    has_kinds,
    is_function,
    is_number,
    no_match,
    place_text,
    read_selector,
    unique,
)


if TYPE_CHECKING:
    from .._typing import IsLeaf, PyTree, T, Tree, Value
else:
    Tree = TypeVar("Tree")
    Value = TypeVar("Value")


# ------------------------------------------------------------------------- the edits


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


Edit = Set | Insert | Delete | Move | Rename
"""An edit at one key of a node."""
Edits = Iterable[tuple[KeyPath, Edit]]
"""Paths from the root, each with the edit to make there."""


def is_placed(edit: Edit) -> bool:
    """Return whether an edit says at which position an item is in the end."""
    return getattr(edit, "target", None) is not None


# ------------------------------------------------------------------ edited objects


class Edited(dict[int, tuple[Place, Rule, frozenset[str]]]):
    """The objects that edits made and that are validated when all edits are done.

    Each is validated once, with all of its new values, and its children before it.
    """

    __slots__ = ()

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
        if id(node) in self:  # by an edit before this one
            _, _, before = self.pop(id(node))
            changed |= before
        self[id(made)] = Place(link, made), rule, changed

    def validate(self) -> None:
        """Run the validation of the objects' classes.

        Raises:
            Exception: What the validation of a class raises, with a note of the path.
        """
        for place, rule, changed in self.values():
            validate: Any = rule.attributes.validate
            call_at(validate, (place.value, changed), place)


def edited(tree: Tree, edits: Edits, context: Context) -> Tree:
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
    made = rebuild(tree, edits, context, record)
    record.validate()
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
        edits: The edits, each after its key. Several at one key are insertions, but for
            one.
    """

    link: Any
    node: Any
    rule: Any
    above: Any
    below: dict[Any, Any]
    edits: list[tuple[Any, Any]]

    @property
    def path(self) -> KeyPath:
        """Where it is."""
        return path_of(self.link)


def rebuild(
    tree: Tree, edits: Edits, context: Context, record: Edited | None = None
) -> Tree:
    """Return a tree with edits applied.

    Args:
        tree: The tree.
        edits: The edits.
        context: What is a leaf.
        record: Collects the objects that are made and that the caller then validates.

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
        return listed[0][1].value  # type: ignore[no-any-return]
    rules, resolve = context.view.rules, context.view.resolve
    rule: Any = rules.get(type(tree)) or resolve(type(tree))
    steps = [_Step((), tree, rule, None, {}, [])]
    for path, edit in listed:
        if not path:
            what = "the root can only be replaced, by a single edit"
            raise EditError(what, path=path)
        step = steps[0]
        *keys, last = path
        for key in keys:
            below = step.below.get(key)
            if below is None:
                node, reads = step.node, isinstance(step.rule, ContainerRule)
                child = node[key.entry] if reads else read(key, node, context.view)
                rule = rules.get(type(child)) or resolve(type(child))
                below = _Step((step.link, key), child, rule, step, {}, [])
                step.below[key] = below
                steps.append(below)
            step = below
        step.edits.append((last, edit))
    made: Any = tree
    for step in reversed(steps):
        link, node, rule, above, below, flat = step
        if len(flat) > 1:
            at_key: dict[Any, list[Edit]] = {}
            for key, edit in flat:
                at_key.setdefault(key, []).append(edit)
            for key, some in at_key.items() if len(at_key) < len(flat) else ():
                added = [type(x) is Insert or is_placed(x) for x in some]
                if added.count(False) > 1:  # of what is there
                    path = path_below(step.path, key)
                    both = f"both {place_text(path)} and something inside it"
                    what = both if key in below else f"{place_text(path)} twice"
                    raise EditError(f"cannot edit {what}", path=path)
        made = node.copy() if type(node) in (dict, list) else None
        for key, edit in flat:
            if made is None or type(edit) is not Set:
                made = call_at(changed_node, (link, node, rule, flat), step)
                break
            made[key.entry] = edit.value
        if record is not None and rule.attributes.validate is not None:
            record.add(link, node, made, rule, flat)
        if above is not None:
            above.edits.append((link[1], Set(made)))
    return made  # type: ignore[no-any-return]


def _refusal(link: Any, text: str) -> EditError:
    """Return an error about a node; `{where}` in the text is replaced by its place."""
    path = path_of(link)
    return EditError(text.replace("{where}", place_text(path)), path=path)


# ------------------------------------------------------------------------ one node


def changed_node(link: Any, node: Any, rule: Rule, flat: list[tuple[Any, Any]]) -> Any:
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
    is_final = any(type(edit) is Move or is_placed(edit) for _, edit in flat)
    if rule.is_sequence and (is_final or not rule.is_fixed):
        items = _change_items(link, rule.items(node), flat)
        size = len(items)
        made = rule.from_items(rule.rest(node), items)
        if len(made) == size:
            return made
        told = (
            f"the {type(node).__name__} at {{where}} can hold at most {len(made)} items"
        )
        raise _refusal(link, told)
    return _changed_object(link, node, rule, flat)


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
    """Return the items of a sequence after some edits, which may be made in place."""
    gone = sorted(key.idx for key, edit in edits if isinstance(edit, Delete | Move))
    before: list[tuple[int, Any]] = []
    placed: list[tuple[int, Any]] = []
    for key, edit in edits:
        match edit:
            case Set(value):
                items[key.idx] = value
            case Insert(value, None):
                before.append((key.idx, value))
            case Insert(value, int(index)):
                placed.append((index, value))
            case Rename():
                raise _refusal(link, "positions at {where} cannot be renamed")
    for key, edit in edits:  # after what is set at the same key
        if isinstance(edit, Move) and edit.target is not None:
            placed.append((edit.target, items[key.idx]))
    for number, (place, value) in enumerate(sorted(before, key=itemgetter(0))):
        placed.append((place - bisect_left(gone, place) + number, value))
    if type(items) is list:
        taken = {*gone}
        return at_places((x for n, x in enumerate(items) if n not in taken), placed)
    for place in reversed(gone):
        del items[place]
    for place, value in sorted(placed, key=itemgetter(0)):
        items.insert(place, value)
    return items


def _changed_object(
    link: Any, node: Any, rule: Rule, edits: list[tuple[Any, Edit]]
) -> Any:
    """Return an object with edits applied to its children and static values."""
    children, aux = rule.flatten(node)
    children = [*children]
    places = {key: n for n, key in enumerate(rule.keys(aux, len(children)))}
    static_names = () if has_kinds(node) else rule.attributes.static_names(node)
    statics: dict[str, Any] = {}
    rest: list[tuple[Any, Edit]] = []
    for key, edit in edits:
        if type(edit) is Set and key in places:
            children[places[key]] = edit.value
        elif type(edit) is Set and key.entry in static_names:
            statics[key.name] = edit.value
        else:
            rest.append((key, edit))
    if statics and rule.attributes.with_static is not None:
        aux = rule.attributes.with_static(aux, statics)
    made = rule.unflatten(aux, children)
    extras_of = rule.attributes.extras
    extras = None if extras_of is None else extras_of(made)
    refusal = (
        f"the {type(node).__name__} at {{where}} has a fixed number of children: they "
        "can "
        "be set, but not deleted, inserted or renamed"
    )
    grows = extras is not None or has_kinds(node)
    grows = grows or isinstance(node, MutableMapping | MutableSequence)
    if not grows and any(type(edit) is not Set for _, edit in rest):
        raise _refusal(link, refusal)
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
        if not isinstance(edit, Set | Insert):
            if store is extras and old not in extras:
                raise _refusal(link, refusal)
            value = get(store, old)
            if isinstance(rule.form, Shaped) and not is_item:
                value = Marked(rule.flatten(node)[1].fields.kind_of(old), value)
            elif has_kinds(node) and key in places:
                value = Marked(Kind.DATA, value)
            drop(store, old)
            if type(edit) is Rename:
                put(store, new, value)
        else:
            put(store, new, edit.value)
    return made


_ATTRIBUTES: Any = (getattr, setattr, delattr)
_ITEMS: Any = (getitem, setitem, delitem)


def _exists(link: Any, key: Any) -> EditError:
    there = path_below(path_of(link), key)
    return EditError(f"{place_text(there)} already exists", path=there)


# ---------------------------------------------------- nodes taken apart and remade


def item_key(node: Any, rule: Rule) -> type | None:
    """Return the type of the keys of a node's items.

    That is `DictKey` for a mapping and `SequenceKey` for a sequence, if there can be
    such nodes with other items; None for any other node.
    """
    if rule.is_mapping or isinstance(node, MutableMapping):
        return DictKey
    is_list = rule.is_sequence or isinstance(node, MutableSequence)
    return SequenceKey if is_list else None


def entries_of(node: Any, rule: Rule) -> dict[Any, Any]:
    """Return the items of a mapping or sequence by key or position, as it has them."""
    if rule.item_key is not None:
        return items_by_key(rule, node)
    return dict(node) if isinstance(node, Mapping) else dict(enumerate(node))


def remade(
    node: Any, rule: Rule, old: dict[Any, Any], entries: dict[Any, Any], *others: Any
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
        *others: Where items are from. Those that are data there are data here, and so
            are the nodes in what has no kinds.
    """
    is_table = item_key(node, rule) is DictKey
    if not is_table:
        entries = dict(enumerate(entries.values()))
    has_values = all(map(is_, entries.values(), old.values()))
    has_keys = not is_table or all(map(is_, entries, old))
    if len(old) == len(entries) and has_values and has_keys:
        return node
    if rule.item_key is not None:
        return with_items(rule, node, entries)
    made, data = copy.copy(node), set()
    for other in others:
        known, is_ours = lookup(type(other)), has_kinds(other)
        for item in () if known is None else known.flatten(other)[0]:
            if is_ours or lookup(type(item)) is not None:
                data.add(id(item))
    for key in [key for key in old if key not in entries][::-1]:
        del made[key]
    for key, value in entries.items():
        item = Marked(Kind.DATA, value) if id(value) in data else value
        if key not in old and not is_table:
            made.append(item)
        elif key not in old or made[key] is not value:
            made[key] = item
    return made


# ----------------------------------------------------------------- what is selected


class Selection(Displayable, Generic[Tree, Value]):
    """The selected nodes and leaves of a tree, to read or edit; `at` returns it.

    A further selector in brackets selects below them: `at(tree)["layers"][0]["w"]`.

    Attributes:
        tree: The tree.

    Example:
        >>> import leafwise as lw
        >>> config = {"optim": {"lr": 0.1, "steps": 100}, "sizes": [64, 32]}
        >>> lw.at(config)["optim.lr"].set(0.2)
        {'optim': {'lr': 0.2, 'steps': 100}, 'sizes': [64, 32]}
        >>> lw.at(config)["sizes[*]"].apply(lambda size: 2 * size)["sizes"]
        [128, 64]
    """

    __slots__ = ("_context", "_missing_ok", "_places", "_selectors", "tree")

    if not TYPE_CHECKING:  # the second parameter has a default
        __class_getitem__ = classmethod(GenericAlias)

    def __init__(
        self, tree: Tree, chain: Any, context: Context, missing_ok: bool = False
    ) -> None:
        self.tree: Tree = tree
        self._selectors: tuple[Selector, ...] = chain
        self._context = context
        self._missing_ok = missing_ok
        self._places: list[Place] | None = None

    @overload
    def __getitem__(
        self: Selection[Tree, list[T]], what: int
    ) -> Selection[Tree, T]: ...

    @overload
    def __getitem__(
        self: Selection[Tree, tuple[T, ...]], what: int
    ) -> Selection[Tree, T]: ...

    @overload
    def __getitem__(self, what: Any) -> Selection[Tree]: ...

    def __getitem__(self, what: Any) -> Any:
        """Continue with another selector from each place."""
        chain = (*self._selectors, read_selector(what, self._context.view))
        return Selection(self.tree, chain, self._context, self._missing_ok)

    def __repr__(self) -> str:
        chain = "".join(f"[{part.text}]" for part in self._selectors)
        return f"<selection {chain} in {type(self.tree).__name__}>"

    def places(self) -> list[Place]:
        """Return the selected places, in order.

        Raises:
            PathError: Nothing matches, and `missing_ok` is not set.
        """
        if self._places is not None:
            return self._places
        places = [Place((), self.tree)]
        for part in self._selectors:
            below = [p for above in places for p in follow(above, part, self._context)]
            if len(places) > 1:  # one place may be inside another
                below = unique(below)
            if places and not (below or self._missing_ok or part.may_be_empty):
                raise no_match(part, places[0], self._context)
            places = below
        self._places = places
        return places

    # -------------------------------------------------------------------- reading

    @overload
    def get(self) -> Value: ...

    @overload
    def get(self, default: T) -> Value | T: ...

    def get(self, default: Any = MISSING) -> Any:
        """Return the selected value, or a list of values.

        A selector whose form allows only one match (a path, or a pattern without
        wildcards) gives the value. Any other selector gives a list of values.

        Args:
            default: The result if the only value is missing.

        Raises:
            PathError: There is no match.

        Example:
            >>> import leafwise as lw
            >>> tree = {"a": [1, 2]}
            >>> lw.at(tree)["a[0]"].get(), lw.at(tree)["a[*]"].get()
            (1, [1, 2])
            >>> lw.at(tree)["b"].get(default=0)
            0
        """
        if not all(part.is_single for part in self._selectors):
            return [place.value for place in self.places()]
        if default is MISSING:
            return self.one()
        try:
            return self.one() if self.places() else default
        except PathError:
            return default

    def one(self) -> Value:
        """Return the value of the only match.

        Raises:
            PathError: There is no match, or more than one.

        Example:
            >>> import leafwise as lw
            >>> lw.at({"a": {"lr": 0.1}, "b": 2})["**.lr"].one()
            0.1
        """
        places = self.places()
        if len(places) != 1:
            shown = few([place_text(place.path) for place in places])
            found = f"{len(places)}: {shown}" if places else "none"
            raise PathError(f"expected one match, found {found}")
        return places[0].value  # type: ignore[no-any-return]

    def paths(self) -> list[KeyPath]:
        """Return the key paths of the matches.

        Example:
            >>> import leafwise as lw
            >>> [str(path) for path in lw.at({"a": {"w": 1}, "w": 2})["**.w"].paths()]
            ["['a']['w']", "['w']"]
        """
        return [place.path for place in self.places()]

    def items(self) -> list[tuple[KeyPath, Value]]:
        """Return the key paths and the values of the matches.

        Example:
            >>> import leafwise as lw
            >>> [(str(path), x) for path, x in lw.at({"a": [1, 2]})["a[-1]"].items()]
            [("['a'][1]", 2)]
        """
        return [(place.path, place.value) for place in self.places()]

    def count(self) -> int:
        """Return the number of matches.

        Example:
            >>> import leafwise as lw
            >>> lw.at({"a": {"w": 1}, "w": 2})["**.w"].count()
            2
        """
        return len(self.places())

    def mask(self) -> PyTree[bool]:
        """Return the tree with True for each selected leaf and False for the others.

        A leaf is selected if it is a match or is below a match.

        Example:
            >>> import leafwise as lw
            >>> lw.at({"a": [1, 2], "b": 3})["a"].mask()
            {'a': [True, True], 'b': False}
        """
        region = Region(self.places())
        _, treedef = self._context.flatten(self.tree)
        flags = [path in region for path in treedef.paths()]
        return treedef.unflatten(flags)  # type: ignore[no-any-return]

    # -------------------------------------------------------------------- editing

    def set(self, value: Any) -> Tree:
        """Return the tree with each match replaced by a value.

        Args:
            value: The value.

        Raises:
            EditError: A match is inside another one.

        Example:
            >>> import leafwise as lw
            >>> lw.at([1, [2, 3]])["[1]"].set("x")
            [1, 'x']
        """
        edits = [(path, Set(value)) for path in self.paths()]
        return edited(self.tree, edits, self._context)

    def apply(self, f: Callable[[Value], Any]) -> Tree:
        """Return the tree with each match replaced by the result of a function.

        Args:
            f: Called with each value, in order, before anything is rebuilt. Its
                exceptions get a note that names the key path.

        Raises:
            EditError: A match is inside another one.

        Example:
            >>> import leafwise as lw
            >>> lw.at({"a": {"w": 1}, "w": 2})["**.w"].apply(lambda w: -w)
            {'a': {'w': -1}, 'w': -2}
        """
        edits = []
        for place in self.places():
            value = call_at(f, (place.value,), place)
            edits.append((place.path, Set(value)))
        return edited(self.tree, edits, self._context)

    def delete(self) -> Tree:
        """Return the tree without the matches.

        Raises:
            EditError: A node has a fixed number of children, such as a dataclass.

        Example:
            >>> import leafwise as lw
            >>> lw.at({"a": [1, 2, 3], "b": 4})["a[0:2]"].delete()
            {'a': [3], 'b': 4}
        """
        edits = [(path, Delete()) for path in self.paths()]
        return edited(self.tree, edits, self._context)

    def insert(self, value: Any) -> Tree:
        """Return the tree with a value inserted at a path that does not exist yet.

        The last step of the selector must be a name or a position. At a position, the
        value is inserted before the item that is there, or at the end of the list,
        which is also `[+]`.

        Args:
            value: The value.

        Raises:
            EditError: The path exists already, or nothing can be inserted there.
            PathError: The parent does not exist.

        Example:
            >>> import leafwise as lw
            >>> lw.at({"a": [1, 3]})["a[1]"].insert(2)
            {'a': [1, 2, 3]}
            >>> lw.at({"a": [1, 3]})["b"].insert(2)
            {'a': [1, 3], 'b': 2}
        """
        return edited(self.tree, self._insertions(value), self._context)

    def _insertions(self, value: Any) -> list[tuple[KeyPath, Edit]]:
        *outer, last = self._selectors
        steps = last.steps or (ANY._replace(text=last.text),)
        chain = (*outer, along(last.text, steps[:-1]))
        above = Selection(self.tree, chain, self._context, self._missing_ok)
        return insertions(above.places(), steps[-1], value, self._context)


def selection_context(selection: Selection[Any]) -> Context:
    """Return the context in which a selection looks for its places."""
    return selection._context


def insertions(
    holders: Iterable[Place], step: Step, value: Any, context: Context
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
        node, path, key = holder.value, holder.path, step.key
        rule, where = context.rule_of(node), place_text(path)
        cls: Any = GetAttrKey if rule is None else item_key(node, rule) or GetAttrKey
        if type(key) is str and (cls is not SequenceKey or is_number(key)):
            entry: Any = int(key) if cls is SequenceKey else key
            key = cls(entry)
        elif type(key) is SequenceKey and cls is DictKey and key is not END:
            key = DictKey(key.idx)
        fits = type(key) is cls or (type(key) is GetAttrKey and has_kinds(node))
        if rule is None or not fits:
            kind = "leaf" if rule is None else type(node).__name__
            raise EditError(
                f"cannot insert at {step.text!r} into the {kind} at {where}", path=path
            )
        if type(key) is SequenceKey:
            size = len(node)
            place = size if key is END else key.idx + size * (key.idx < 0)
            if not 0 <= place <= size:
                raise EditError(
                    f"cannot insert at position {key.idx}: the {type(node).__name__} "
                    f"at {where} has {size} item{'s' * (size != 1)}",
                    path=path,
                )
            key = SequenceKey(place)
        edits.append((path_below(path, key), Insert(value)))
    return edits


# ------------------------------------------------------------------------ functions


def at(
    tree: Tree,
    *,
    missing_ok: bool = False,
    is_leaf: IsLeaf = None,
    namespace: str = GLOBAL,
) -> Selection[Tree, Tree]:
    """Select nodes or leaves of a tree to read or edit: `at(tree)[selector]`.

    Args:
        tree: Any tree. It is never changed.
        missing_ok: Whether a selector may have no match; an edit then returns the tree
            unchanged.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        namespace: Where classes are looked up before the global registry.

    Returns:
        A `Selection` of the whole tree, to be indexed with a selector.

    Example:
        >>> import leafwise as lw
        >>> model = {"layers": [{"w": 1, "bias": 2}, {"w": 3, "bias": 4}]}
        >>> lw.at(model)["layers[*].bias"].set(0)
        {'layers': [{'w': 1, 'bias': 0}, {'w': 3, 'bias': 0}]}
        >>> lw.at(model)["layers[-1].bais"].get()
        Traceback (most recent call last):
        ...
        leafwise.errors.PathError: no match for 'layers[-1].bais': did you mean \
layers[-1].bias? the dict at layers[1] has bias, w

    Modelled on `sepes.at` and `penzai.select`.
    """
    context = context_of(is_leaf, namespace=namespace)
    return Selection(tree, (), context, missing_ok)


# ----------------------------------------------- many edits at once, moves and names


def tree_update(
    tree: Tree,
    edits: Mapping[Any, Any],
    *,
    missing_ok: bool = False,
    is_leaf: IsLeaf = None,
    namespace: str = GLOBAL,
) -> Tree:
    """Apply several edits to a tree in one pass and return the new tree.

    Args:
        tree: Any tree.
        edits: For each selector, the value to set, which may be a function or a class.
            All selectors apply to `tree` as it is before the edits. To apply a function
            to the old values, use `at(tree)[selector].apply`.
        missing_ok: Whether a selector may have no match.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        namespace: Where classes are looked up before the global registry.

    Raises:
        EditError: Two selectors pick the same node or leaf, or one inside the other.
        PathError: A selector has no match.

    Example:
        >>> import leafwise as lw
        >>> config = {"optim": {"lr": 0.1, "steps": 100}, "name": "a"}
        >>> lw.selection.tree_update(config, {"**.lr": 0.01, "name": "b"})
        {'optim': {'lr': 0.01, 'steps': 100}, 'name': 'b'}
    """
    context = context_of(is_leaf, namespace=namespace)
    root = Selection(tree, (), context, missing_ok)
    listed = [
        (path, Set(x)) for what, x in edits.items() for path in root[what].paths()
    ]
    return edited(tree, listed, context)


def tree_move(
    tree: Tree,
    source: Any,
    target: Any,
    *,
    namespace: str = GLOBAL,
) -> Tree:
    """Move a node or leaf to another path in a tree.

    Args:
        tree: Any tree.
        source: A selector with one match.
        target: A path that does not exist in the tree without the source.
        namespace: Where classes are looked up before the global registry.

    Raises:
        EditError: The target exists already, or a node does not allow the edit.
        PathError: The source does not have exactly one match, or the parent of the
            target does not exist.

    Example:
        >>> import leafwise as lw
        >>> config = {"lr": 0.1, "optim": {"steps": 100}}
        >>> lw.selection.tree_move(config, "lr", "optim.lr")
        {'optim': {'steps': 100, 'lr': 0.1}}
    """
    context = context_of(namespace=namespace)
    record = Edited()
    moved = Selection(tree, (), context)[source]
    value, deletions = moved.one(), [(path, Delete()) for path in moved.paths()]
    without = rebuild(tree, deletions, context, record)
    inserted = Selection(without, (), context)[target]._insertions(value)
    made = rebuild(without, inserted, context, record)
    record.validate()
    return made


def tree_rename(
    tree: Tree,
    what: Any,
    name: Any,
    *,
    namespace: str = GLOBAL,
) -> Tree:
    """Rename keys of dicts or attributes of objects.

    Dicts keep their order.

    Args:
        tree: Any tree.
        what: A selector of the children to rename.
        name: The new key, or a function from the old key to the new one.
        namespace: Where classes are looked up before the global registry.

    Raises:
        EditError: The key exists already, or a node does not allow the edit.
        PathError: The selector has no match.

    Example:
        >>> import leafwise as lw
        >>> model = {"a": {"kernel": 1}, "b": {"kernel": 2}}
        >>> lw.selection.tree_rename(model, "**.kernel", "w")
        {'a': {'w': 1}, 'b': {'w': 2}}
        >>> lw.selection.tree_rename({"Lr": 1, "Wd": 2}, "*", str.lower)
        {'lr': 1, 'wd': 2}
    """
    context = context_of(namespace=namespace)

    calls, edits = is_function(name, context.view), []
    for path in Selection(tree, (), context)[what].paths():
        if not path:
            raise EditError("the root has no key to rename", path=path)
        edits.append((path, Rename(name(path[-1].entry) if calls else name)))
    return edited(tree, edits, context)


def tree_at(
    where: Callable[[Tree], Any],
    tree: Tree,
    replace: Any = MISSING,
    *,
    replace_fn: Callable[[Any], Any] | None = None,
    is_leaf: IsLeaf = None,
    namespace: str = GLOBAL,
) -> Tree:
    """Replace the nodes or leaves that a function returns from a tree.

    Args:
        where: Takes the tree and returns a node or leaf in it, or a tuple or list of
            several. It is called with a tree of the same structure and other leaves, so
            it cannot depend on them. At most one empty tuple can be replaced.
        tree: Any tree.
        replace: The new value. If `where` returns a tuple or list of nodes or leaves,
            the same number of new values.
        replace_fn: A function from the old value to the new one, instead of `replace`.
        is_leaf: Where to stop: a type, types, or a predicate. None is a leaf.
        namespace: Where classes are looked up before the global registry.

    Raises:
        EditError: `where` returns something that is not in the tree or that appears in
            several places, or two of its results overlap.
        TypeError: Both `replace` and `replace_fn` are given, or neither.
        ValueError: The number of values differs from the number of results of `where`.

    Example:
        >>> import leafwise as lw
        >>> model = {"layers": [{"w": 1}, {"w": 3}]}
        >>> lw.selection.tree_at(lambda m: m["layers"][1]["w"], model, 5)
        {'layers': [{'w': 1}, {'w': 5}]}
        >>> lw.selection.tree_at(lambda m: m["layers"], model, replace_fn=len)
        {'layers': 2}

    Modelled on `equinox.tree_at`.
    """
    if (replace is MISSING) == (replace_fn is None):
        raise TypeError("tree_at takes either replace or replace_fn")
    context = context_of(is_leaf, none_is_leaf=True, namespace=namespace)
    leaves, treedef = context.flatten(tree)
    marked = treedef.unflatten([object() for _ in leaves])
    known: dict[int, list[KeyPath]] = {id(marked): [KeyPath()]}
    for place in find(marked, (DEEP, ANY), plain_context(context.view)):
        known.setdefault(id(place.value), []).append(place.path)
    pointed: Any = where(marked)
    several = isinstance(pointed, tuple | list) and id(pointed) not in known
    chosen = []
    for one in pointed if several else [pointed]:
        found = known.get(id(one), [])
        if len(found) != 1:
            places = ", ".join(place_text(path) for path in found[:3])
            wrong = f"occurs several times: {places}" if found else "is not in the tree"
            raise EditError(f"where returned a {type(one).__name__} that {wrong}")
        chosen.append(found[0])
    if replace_fn is not None:
        new = [replace_fn(path(tree, namespace=namespace)) for path in chosen]
    else:
        new = [*replace] if several else [replace]
    edits = zip(chosen, map(Set, new), strict=True)
    return edited(tree, edits, context)
