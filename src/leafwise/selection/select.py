"""Selectors: what picks nodes and leaves of a tree.

A selector picks *targets*: nodes or leaves of a tree, in leaf order. Whatever is at or
below a target is its region; `&`, `~` and masks work on regions. `find` walks a tree
for the targets of a pattern; see `patterns` for what a pattern is. What needs no walk,
since the tree has a structure that was searched before, is in `prefix`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import compress, repeat
from operator import index
from types import FunctionType
from typing import Any, Final, NamedTuple, TypeAlias

from .._hooks import description_of
from .._runtime import is_permanent, late_imports
from .._text import (
    FAULTS,
    counted,
    escape_controls,
    is_similar,
    join_names,
    nearest_names,
    other_type,
    safe_str,
    short_repr,
)
from ..core.builtins import ContainerNodeType
from ..core.context import Context, plain_context, stopping_context
from ..core.keypath import ROOT, KeyPath, Link, keystr
from ..core.keys import DictKey, GetAttrKey, SequenceKey, item_keys
from ..core.node import NodeType
from ..core.reasons import how_to_register
from ..core.registry import GLOBAL, View, view_of
from ..core.treedef import PyTreeDef, code_of, memo_of, varying_of
from ..core.walk import PathPredicate, locate
from ..equality.exact import is_array_like
from ..errors import CycleError, EditError, PathError
from .descent import Descent
from .patterns import (
    DEEP,
    Automaton,
    Row,
    State,
    Step,
    is_number,
    name_of,
    parse,
    place_text,
    step_of,
)
from .region import Region


# ---------------------------------------------------------------- places in a tree


class Place:
    """A place in a tree: a path, and the node or leaf there.

    Attributes:
        where: Its link, or its path once somebody has asked for it.
        value: The node or leaf there.
    """

    __slots__ = ("value", "where")

    def __init__(
        self,
        where: Link | KeyPath,
        value: Any,
    ) -> None:
        """Take the link or the path of the place."""
        self.where: Link | KeyPath = where
        self.value: Any = value

    @property
    def link(self) -> Link:
        """The path from the root, as a link."""
        if isinstance(self.where, Link):
            return self.where
        link = Link()
        for key in self.path:
            link = Link(link, key)
        return link

    @property
    def path(self) -> KeyPath:
        """The path from the root, made on demand."""
        path = self.where
        if not isinstance(path, KeyPath):
            path = path.path()
            self.where = path
        return path


def unique(places: Sequence[Place]) -> list[Place]:
    """Return places without duplicates, in their order."""
    by_path: dict[KeyPath, Place] = {}
    for place in places:
        by_path.setdefault(place.path, place)
    return list(by_path.values())


def call_at(
    f: Callable[..., Any],
    values: Iterable[Any],
    place: Any,
) -> Any:
    """Call a function for a place; its exceptions get a note of the path.

    Args:
        f: The function.
        values: Its arguments.
        place: Anything with a `path`.
    """
    try:
        return f(*values)
    except EditError:  # which names its path
        raise
    except Exception as error:
        locate(error, place.path)
        raise


# --------------------------------------------------------------- children of a node


def keys_of(node: Any, node_type: NodeType) -> Sequence[Any]:
    """Return the keys of a node's children."""
    children, aux = node_type.flatten(node)
    return node_type.keys(aux, len(children))


def own_children(node: Any, node_type: NodeType) -> tuple[Sequence[Any], Sequence[Any]]:
    """Return the keys and the children of a node, those of a mapping in its order."""
    if node_type.is_mapping:
        items = node_type.items(node)
        return item_keys(tuple(items)), list(items.values())
    children, aux = node_type.flatten(node)
    return node_type.keys(aux, len(children)), children


def children_of(node: Any, node_type: NodeType) -> dict[Any, Any]:
    """Return a node's children by key, those of a mapping in its own order."""
    return dict(zip(*own_children(node, node_type), strict=True))


def fields_of(node: Any, node_type: NodeType) -> dict[GetAttrKey, Any]:
    """Return children and static attributes of an object by key.

    There are none if its children have other keys than names of attributes.
    """
    fields = children_of(node, node_type)
    if any(type(key) is not GetAttrKey for key in fields):
        return {}
    for name in node_type.attributes.static_names(node):
        fields[GetAttrKey(name)] = getattr(node, name)
    return fields


def has_kinds(node: Any) -> bool:
    """Return whether an object knows which of its attributes or items are data."""
    description = description_of(type(node))
    return description is not None and description.has_kinds


def _statics_of(node: Any, node_type: NodeType) -> Iterator[tuple[Any, Any]]:
    """Yield what a node has beside its children, each value after its key."""
    for name in node_type.attributes.static_names(node):
        yield GetAttrKey(name), getattr(node, name)
    if has_kinds(node) and isinstance(node, Mapping):
        for key, item in node.items():
            yield DictKey(key), item
    elif has_kinds(node) and isinstance(node, Sequence):
        for position, item in enumerate(node):
            yield SequenceKey(position), item


# ------------------------------------------------------------------------- the walk


class _Ways(NamedTuple):
    """Where a pattern goes on below nodes with the same keys.

    Attributes:
        keys: The keys.
        rows: The children where it goes on.
        matches: Those of them that it matches.
    """

    keys: Sequence[Any]
    rows: list[Row]
    matches: list[Row]


class _Search:
    """A search for the places that a pattern matches in one tree."""

    def __init__(
        self,
        automaton: Automaton,
        context: Context,
    ) -> None:
        self.automaton = automaton
        self.context = context
        self._rows: dict[tuple[State, int, int], _Ways] = {}

    def places(self, tree: Any) -> list[Place]:
        """Return the places in leaf order, a node before those below it."""
        context = self.context
        picks_leaves = self.automaton.picks_leaves
        leaf_types: Any = frozenset()
        if context.stop is None:
            leaf_types = context.view.leaf_types
        places: list[Place] = []
        start = (Link(), tree, self.automaton.start)
        steps = Descent(start, [tree], context)
        for link, node, state in steps:
            node_type = None if type(node) in leaf_types else context.node_type_of(node)
            if state.is_match and (node_type is None or not picks_leaves):
                places.append(Place(link, node))
            if node_type is None or state.is_last:
                continue
            way, children = self._way_on(node, node_type, state)
            if leaf_types and leaf_types.issuperset(map(type, children)):
                # nothing is below them, so they are no steps of the walk: most nodes of
                # a tree have only leaves
                places += [
                    Place(Link(link, key), children[position])
                    for position, key, _ in way.matches
                ]
                continue
            below: list[tuple[Link, Any, State]] = []
            for position, key, after in way.rows:
                child = children[position]
                if after.is_match or type(child) not in leaf_types:
                    below.append((Link(link, key), child, after))
            steps.go_on(below)
        return places

    def _way_on(
        self,
        node: Any,
        node_type: NodeType,
        state: State,
    ) -> tuple[_Ways, Sequence[Any]]:
        """Return where the pattern goes on below a node, and the node's children."""
        step = state.only_step
        if step is not None:
            child = _child_at(node, node_type, step)
            if child is not None:
                after = self.automaton.after(state)
                rows = [(0, child[0], after)] if child else []
                matches = rows if after.is_match else []
                return _Ways((), rows, matches), child[1:]
        children, aux = node_type.flatten(node)
        keys = node_type.keys(aux, len(children))
        count = len(children)
        if has_kinds(node) and isinstance(node, Sequence):
            count = len(node)  # with items that are no children
        way = self._rows_of(state, keys, count, children)
        if way.rows or step is None or step.key is None:
            return way, children
        pairs = list(_statics_of(node, node_type))
        keys = [key for key, _ in pairs]
        values = [value for _, value in pairs]
        return self._make_rows(state, keys, count, values), values

    def _rows_of(
        self,
        state: State,
        keys: Sequence[Any],
        count: int,
        children: Sequence[Any],
    ) -> _Ways:
        """Return where the pattern goes on below nodes with some keys.

        Nodes of one kind share the tuple of their keys.
        """
        if state.reads_children:
            return self._make_rows(state, keys, count, children)
        cache_key = (state, id(keys), count)
        rows = self._rows.get(cache_key)
        if rows is None:
            if len(self._rows) >= _MOST_ROWS:
                self._rows.clear()
            # they hold the keys, so that no others get their id
            rows = self._make_rows(state, keys, count, children)
            self._rows[cache_key] = rows
        return rows

    def _make_rows(
        self,
        state: State,
        keys: Sequence[Any],
        count: int,
        children: Sequence[Any],
    ) -> _Ways:
        rows = self.automaton.rows(state, keys, count, children)
        return _Ways(keys, rows, [row for row in rows if row[2].is_match])


_MOST_ROWS: Final = 1024


def _child_at(
    node: Any,
    node_type: NodeType,
    step: Step,
) -> tuple[Any, ...] | None:
    """Return the child of a node at a single key, without a look at the others.

    Returns:
        The key and the child; nothing if there is none; None if it takes more to tell.
    """
    item_key = None
    if isinstance(node_type, ContainerNodeType):
        item_key = node_type.item_key
    elif has_kinds(node) and isinstance(node, Mapping):
        item_key = DictKey
    elif has_kinds(node) and isinstance(node, Sequence):
        item_key = SequenceKey
    if item_key is None:
        return _attribute_at(node, node_type, step)
    key = step.key
    if item_key is DictKey:
        if step.item is None:  # a number may be one in a string as well
            return None
        name = step.item.key
        return (step.item, node[name]) if name in node else ()
    if type(key) is str and is_number(key):
        key = SequenceKey(int(key))
        if not step.test("position", key.idx, key.idx, len(node)):
            return None
    if type(key) is not SequenceKey:
        return None
    position = key.idx
    if position < 0:
        position += len(node)
        key = SequenceKey(position)
    return (key, node[position]) if 0 <= position < len(node) else ()


def _attribute_at(
    node: Any,
    node_type: NodeType,
    step: Step,
) -> tuple[Any, Any] | None:
    """Return the child of an object at a name, with its key; None if none has it."""
    name = step.name
    if name is None:
        return None
    children, aux = node_type.flatten(node)
    for key, child in zip(node_type.keys(aux, len(children)), children, strict=True):
        if type(key) is GetAttrKey and key.name == name:
            return key, child
    return None


def find(
    tree: Any,
    steps: Sequence[Step],
    context: Context,
    automaton: Automaton | None = None,
) -> list[Place]:
    """Return the places that a pattern matches, in leaf order.

    Args:
        tree: The tree.
        steps: The pattern.
        context: What is a leaf.
        automaton: That of the pattern, if the caller has it.

    Raises:
        CycleError: The tree contains itself, below `**`.
    """
    place = _place_at(tree, steps, context)
    if place is not None:
        return [place]
    return _Search(automaton or Automaton(steps), context).places(tree)


def _place_at(
    tree: Any,
    steps: Sequence[Step],
    context: Context,
) -> Place | None:
    """Return the place that single keys lead to, None if only a search can tell.

    This takes a quarter of the time of a search, which must be ready for anything.
    """
    link = Link()
    node = tree
    for step in steps:
        node_type = context.node_type_of(node)
        if node_type is None:
            return None
        child = _child_at(node, node_type, step)
        if not child:
            return None
        key, node = child
        link = Link(link, key)
    return Place(link, node)


# ------------------------------------------------------------------- selectors


class LeafPicks(NamedTuple):
    """What a selector that looks at values picks.

    Attributes:
        leaves: The leaves of the tree, with the nodes that it stops at among them.
        treedef: The structure with these leaves.
        flags: For each of them, whether it is a target.
    """

    leaves: list[Any]
    treedef: PyTreeDef
    flags: tuple[bool, ...]

    def places(self) -> list[Place]:
        """Return the targets."""
        if not any(self.flags):
            return []
        rows = zip(self.treedef.paths(), self.leaves, strict=True)
        return [Place(path, leaf) for path, leaf in compress(rows, self.flags)]


Flat: TypeAlias = "tuple[list[Any], PyTreeDef]"
"""The leaves and the structure of a tree, as `Context.flatten` returns them."""
Finder: TypeAlias = "Callable[[Any, Context], list[Place]]"
"""Takes a tree and what is a leaf, returns the targets."""
Picker: TypeAlias = "Callable[[Any, Context, Flat | None], LeafPicks]"
"""Takes a tree, what is a leaf, and the flat tree if the caller has it."""


class Selector:
    """A selector picks nodes or leaves of a tree; combine them with `&`, `|` and `~`.

    `a | b` picks the targets of `a` and of `b`. `a & b` picks what is in a target of
    both. `~a` picks all leaves that are in no target of `a`. `selector(...)` returns a
    `Selector`.

    Attributes:
        text: The selector as it was written, or a description.
        targets: Returns the targets in a tree; takes the tree and the context.
        steps: The steps of a pattern or path; None for any other selector.
        key: Equal for selectors that pick the same in all trees of one structure; None
            if what this one picks depends on more than the structure.
        pick: For a selector that looks at values, returns which leaves it picks.
        is_single: Whether its form allows at most one match.
        may_be_empty: Whether it may have no match.

    Example:
        >>> import leafwise as lw
        >>> tree = {"a": {"w": 1, "b": 2}, "c": {"w": 3}}
        >>> lw.at(tree)[lw.selection.selector("**.w") & "a"].get()
        [1]
        >>> lw.at(tree)[~lw.selection.selector("a")].get()
        [3]
    """

    may_be_empty: bool = False

    def __init__(
        self,
        text: str,
        targets: Finder,
        steps: Sequence[Step] | None = None,
        key: Hashable = None,
        pick: Picker | None = None,
    ) -> None:
        self.text: str = text
        self.targets: Finder = targets
        self.steps: Sequence[Step] | None = steps
        self.key: Hashable = key
        self.pick: Picker | None = pick
        self.is_single: bool = steps is not None and all(
            step.key is not None for step in steps
        )

    def __and__(self, other: Any) -> Selector:
        parts = (self, selector(other))

        def targets(tree: Any, context: Context) -> list[Place]:
            first, second = (part.targets(tree, context) for part in parts)
            first_region = Region([place.where for place in first])
            second_region = Region([place.where for place in second])
            places = [place for place in first if place.path in second_region]
            places += [place for place in second if place.path in first_region]
            return unique(places)

        text = " & ".join(f"({part.text})" for part in parts)
        return Selector(text, targets, key=_joined_key("&", parts))

    __rand__ = __and__

    def __or__(self, other: Any) -> Selector:
        return _union((self, selector(other)))

    def __ror__(self, other: Any) -> Selector:
        return _union((selector(other), self))

    def __invert__(self) -> Selector:

        def targets(tree: Any, context: Context) -> list[Place]:
            region = Region([place.where for place in self.targets(tree, context)])
            leaves, treedef = context.flatten(tree)
            rows = zip(treedef.paths(), leaves, strict=True)
            return [Place(path, leaf) for path, leaf in rows if path not in region]

        return Selector(f"~({self.text})", targets, key=_joined_key("~", (self,)))

    def __repr__(self) -> str:
        return f"<selector {self.text}>"


def _joined_key(sign: str, parts: Sequence[Selector]) -> Hashable:
    """Return the key of a selector that is made of others."""
    keys = [part.key for part in parts]
    if None in keys:
        return None
    return (sign, *keys)


# ----------------------------------------------------------------- kinds of selectors


def along(
    text: str,
    steps: Sequence[Step],
    key: Hashable = None,
) -> Selector:
    """Return the selector of the places whose paths match a pattern.

    Args:
        text: The pattern.
        steps: Its steps.
        key: See `Selector`.
    """
    automaton = Automaton(steps)

    def targets(tree: Any, context: Context) -> list[Place]:
        return find(tree, steps, context, automaton)

    return Selector(text, targets, steps, key)


def _leaf_selector(
    text: str,
    pick: Picker,
    key: Hashable = None,
) -> Selector:
    """Return a selector that looks at values."""

    def targets(tree: Any, context: Context) -> list[Place]:
        return pick(tree, context, None).places()

    return Selector(text, targets, key=key, pick=pick)


def _type_selector(types: tuple[type, ...]) -> Selector:
    """Return the selector of the outermost nodes or leaves that are of some types."""
    names = " or ".join(cls.__name__ for cls in types)

    def pick(
        tree: Any,
        context: Context,
        flat: Flat | None,
    ) -> LeafPicks:
        # a node of these types is a target, but the flat tree has what is inside of it
        if flat is None or _has_nodes_of(flat[1], types):
            flat = _stopping_at(types, context).flatten(tree)
        leaves, treedef = flat
        flags = tuple(map(isinstance, leaves, repeat(types)))
        return LeafPicks(leaves, treedef, flags)

    return _leaf_selector(f"of type {names}", pick)


def _stopping_at(types: tuple[type, ...], context: Context) -> Context:
    """Return the context in which values of some types are leaves as well."""
    if context.stop is None:
        return stopping_context(context.view, types)
    return context.also_stopping(lambda node: isinstance(node, types))


def _has_nodes_of(treedef: PyTreeDef, types: tuple[type, ...]) -> bool:
    """Return whether a node of a structure may be of some types."""
    memo = memo_of(treedef)
    if memo is None or not all(map(is_permanent, types)):  # else it may be collected
        return True
    key = ("has nodes of", types)
    if key not in memo:
        classes = set()
        for _, node_type, _, aux in code_of(treedef):
            classes.add(node_type.class_of(aux))
        memo[key] = any(issubclass(cls, types) for cls in classes)
    return memo[key]  # type: ignore[no-any-return]  # set just above


def _path_selector(pattern: re.Pattern[str]) -> Selector:
    """Return the selector of the leaves whose path has a match of an expression."""

    def pick(
        tree: Any,
        context: Context,
        flat: Flat | None,
    ) -> LeafPicks:
        leaves, treedef = flat or context.flatten(tree)
        paths = _full_paths(treedef, context)
        flags = tuple(pattern.search(str(path)) is not None for path in paths)
        return LeafPicks(leaves, treedef, flags)

    return _leaf_selector(repr(pattern.pattern), pick, key=pattern)


def _full_paths(treedef: PyTreeDef, context: Context) -> list[KeyPath]:
    """Return the paths of the leaves from the root of the whole tree."""
    paths = treedef.paths()
    if context.root:
        paths = [context.root + path for path in paths]
    return paths


def _predicate_selector(predicate: Callable[..., object]) -> Selector:
    """Return the selector of the leaves for which a predicate is true.

    If it is true for no leaf, it picks the outermost nodes for which it is.
    """
    name = getattr(predicate, "__name__", type(predicate).__name__)
    with_path = takes_path(predicate)

    def pick(
        tree: Any,
        context: Context,
        flat: Flat | None,
    ) -> LeafPicks:
        leaves, treedef = flat or context.flatten(tree)
        arguments: list[Any] = [leaves]
        if with_path:
            arguments = [_full_paths(treedef, context), leaves]
        flags = tuple(map(bool, map(predicate, *arguments)))
        if not any(flags):
            nodes = _outermost_nodes(tree, context, predicate, with_path=with_path)
            if nodes is not None:
                return nodes
        return LeafPicks(leaves, treedef, flags)

    return _leaf_selector(f"where {name}", pick)


def _outermost_nodes(
    tree: Any,
    context: Context,
    predicate: Callable[..., object],
    *,
    with_path: bool,
) -> LeafPicks | None:
    """Return the outermost nodes for which a predicate is true.

    Returns:
        None if there are none, or if the predicate is one of leaves.
    """

    def stops_at_path(path: KeyPath, node: Any) -> bool:
        if context.node_type_of(node) is None:  # a leaf, which was asked already
            return True
        return bool(predicate(context.root + path, node))

    def stops(node: Any) -> bool:
        return context.node_type_of(node) is None or bool(predicate(node))

    test: Any = PathPredicate(stops_at_path) if with_path else stops
    try:
        leaves, treedef = Context(context.view, test).flatten(tree)
    except FAULTS:  # a predicate that is not made for nodes
        return None
    flags = tuple(context.node_type_of(leaf) is not None for leaf in leaves)
    if not any(flags) or _is_true_of_anything(predicate, with_path=with_path):
        return None
    return LeafPicks(leaves, treedef, flags)


def _is_true_of_anything(
    predicate: Callable[..., object],
    *,
    with_path: bool,
) -> bool:
    """Return whether a predicate is true of an object that is no node and no leaf.

    One that excludes some leaves, such as `not is_array(x)`, would pick the root of a
    tree that has only those.
    """
    arguments = (KeyPath(), object()) if with_path else (object(),)
    try:
        return bool(predicate(*arguments))
    except FAULTS:
        return False


def _mask_selector(treedef: PyTreeDef, parts: Sequence[bool | Selector]) -> Selector:
    """Return the selector of a tree of bools and selectors, a prefix of the tree.

    It picks all of a subtree for True, nothing for False, and what a selector picks in
    the subtree.
    """

    def targets(tree: Any, context: Context) -> list[Place]:
        values = treedef.flatten_up_to(tree)
        places: list[Place] = []
        for path, part, value in zip(treedef.paths(), parts, values, strict=True):
            if isinstance(part, Selector):
                places += follow(Place(path, value), part, context)
            elif part:
                places.append(Place(path, value))
        return places

    key: Hashable = None
    is_compiled = memo_of(treedef) is not None and not varying_of(treedef)
    if is_compiled and all(type(part) is bool for part in parts):
        key = ("mask", treedef, tuple(parts))
    return Selector("a tree of bools", targets, key=key)


def _union(parts: Sequence[Selector]) -> Selector:
    """Return the selector of the targets of several selectors, each once."""

    def targets(tree: Any, context: Context) -> list[Place]:
        places: list[Place] = []
        for part in parts:
            places += part.targets(tree, context)
        return unique(places)

    text = " | ".join(part.text for part in parts)
    union = Selector(text, targets, key=_joined_key("|", parts))
    union.may_be_empty = not parts
    return union


# ------------------------------------------------------------------- what may be one


def selector(
    what: Any,
    *,
    namespace: str = GLOBAL,
) -> Selector:
    """Convert a value to a selector.

    Args:
        what: A pattern, see :doc:`selectors </guide/selecting>`; a `KeyPath`; a
            position or a slice; a compiled regular expression, which is searched in the
            text of the path of each leaf; a type or a tuple of types, for the outermost
            values of these types; a predicate on the value, or on path and value if it
            takes two arguments: it picks leaves, and if it is true for none, the
            outermost nodes; a tuple or list of patterns, positions and slices, for the
            targets of all of them, none if it is empty; a selector; or a tree of bools,
            which may be a prefix of the tree. That tree may also have predicates, types
            or selectors instead of bools, for what they pick below. A node is read as
            such a tree, even if it is callable.
        namespace: Where to look up whether a value is a node.

    Raises:
        PathError: The string is not a valid pattern.
        TypeError: The value is not one of these.

    Example:
        >>> import leafwise as lw
        >>> config = {"optim": {"lr": 0.1, "steps": 100}, "name": "run"}
        >>> lw.at(config)[lw.selection.selector("**.s*") | str].items()
        [(KeyPath((DictKey(key='optim'), DictKey(key='steps'))), 100), \
(KeyPath((DictKey(key='name'),)), 'run')]
        >>> large = lw.selection.selector({"optim": lambda x: x > 1, "name": False})
        >>> lw.at(config)[large].get()
        [100]
    """
    return read_selector(what, view_of(namespace))


def read_selector(what: Any, view: View) -> Selector:
    """Turn a value into a selector, with the node types of a view.

    Raises:
        PathError: The string is not a valid pattern.
        TypeError: The value cannot be a selector.
    """
    if isinstance(what, str):
        return _pattern_selector(str.__str__(what))
    if isinstance(what, Selector):
        return what
    if type(what) is tuple or type(what) is list:
        if what and all(isinstance(item, type) for item in what):
            return _type_selector(tuple(what))
        if all(_may_be_joined(item) for item in what):
            return _union([read_selector(item, view) for item in what])
    if isinstance(what, KeyPath):
        steps = [step_of(key) for key in what]
        return along(place_text(what), steps, _key_of_path(what))
    # before types and predicates: a class may make nodes that can be called
    if view.resolve(type(what)) is not None:
        return _read_mask(what, view)
    if isinstance(what, type):  # before flags: the class of an array has a shape, too
        return _type_selector((what,))
    if _is_flag(what):
        return _mask_selector(PyTreeDef.leaf(), [bool(what)])
    if isinstance(what, int):
        return _pattern_selector(f"[{int(what)}]")
    if isinstance(what, slice):
        bounds = (what.start, what.stop, what.step)
        texts = ["" if bound is None else str(index(bound)) for bound in bounds]
        return _pattern_selector(f"[{':'.join(texts)}]")
    if isinstance(what, re.Pattern):
        return _path_selector(what)
    if callable(what):
        return _predicate_selector(what)
    raise _not_a_selector(what, what)


def _may_be_joined(item: Any) -> bool:
    """Return whether a tuple of such values is no mask but picks all that they pick."""
    kinds = (str, int, slice, KeyPath, Selector, re.Pattern)
    return isinstance(item, kinds) and type(item) is not bool


def _read_mask(what: Any, view: View) -> Selector:
    """Return the selector that a tree of bools and selectors is.

    Raises:
        TypeError: It has other leaves.
    """
    leaves, treedef = plain_context(view).flatten(what)
    parts: list[bool | Selector] = []
    for leaf in leaves:
        if callable(leaf) or isinstance(leaf, Selector | re.Pattern):
            parts.append(read_selector(leaf, view))
        elif leaf is None or _is_flag(leaf):  # None where it is a leaf of the tree
            parts.append(bool(leaf))
        else:
            raise _not_a_selector(what, leaf)
    return _mask_selector(treedef, parts)


def is_function(what: Any, view: View) -> bool:
    """Return whether a value is a function and not a node that is callable."""
    return callable(what) and view.resolve(type(what)) is None


@functools.lru_cache(maxsize=1024)
def _pattern_selector(text: str) -> Selector:
    """Return the selector of a pattern, the same one each time."""
    steps = parse(text)
    reads_values = any(step.having is not None for step in steps)
    return along(text, steps, key=None if reads_values else text)


def _key_of_path(path: KeyPath) -> Hashable:
    """Return the key of the selector of a path, see `Selector`."""
    entries: list[Any] = []
    for key in path:
        entry = getattr(key, "entry", None)
        if type(entry) not in (str, int):
            return None
        entries.append((type(key), type(entry), entry))
    return tuple(entries)


def takes_path(f: Callable[..., object]) -> bool:
    """Return whether a function needs two arguments, path and value."""
    # without `inspect.signature`, which takes longer than most selections
    if type(f) is FunctionType and not hasattr(f, "__wrapped__"):
        return f.__code__.co_argcount - len(f.__defaults__ or ()) >= 2
    try:
        with late_imports:
            import inspect  # and with it ast, dis and tokenize

        parameters = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        return False
    required = [
        parameter
        for parameter in parameters
        if parameter.default is parameter.empty
        and parameter.kind <= parameter.POSITIONAL_OR_KEYWORD
    ]
    return len(required) >= 2


def _is_flag(value: Any) -> bool:
    """Return whether a value is a bool, of Python or of any array library."""
    return type(value) is bool or (
        is_array_like(value)
        and tuple(value.shape) == ()
        and str(value.dtype).rpartition(".")[2] in ("bool", "bool_")
    )


def _not_a_selector(what: Any, wrong: Any) -> TypeError:
    text = short_repr(what)
    if wrong is not what:
        text = f"{type(what).__name__} that has {short_repr(wrong)}"
    if callable(what):
        text += "; it is a node, so it is read as a tree and not called"
    return TypeError(
        "a selector is a pattern, a KeyPath, a regular expression, a type, a "
        f"predicate, or a tree of bools and predicates; got {text}"
    )


# -------------------------------------------------------------------------- errors


def require(
    what: Selector,
    tree: Any,
    context: Context,
    *,
    missing_ok: bool = False,
) -> list[Place]:
    """Return the targets of a selector.

    Raises:
        PathError: There are none, and `missing_ok` is not set; the message names what
            is similar.
    """
    places = what.targets(tree, context)
    if not (places or missing_ok or what.may_be_empty):
        raise no_match(what, Place(ROOT, tree), context)
    return places


def no_match(
    what: Selector,
    start: Place,
    context: Context,
) -> PathError:
    """Return the error for a selector that has no match below a place."""
    context = context.below(start.path)
    steps = what.steps
    if steps is None or _leads_deep(steps, start.value, context):
        reason = _nearest_leaves(steps, start.value, context)
    else:
        reason = _first_missing(steps, start.value, context)
    return PathError(f"no match for {what.text!r}: {reason}")


def _leads_deep(
    steps: Sequence[Step],
    tree: Any,
    context: Context,
) -> bool:
    """Return whether the steps of a pattern before its first `**` have a match."""
    if DEEP not in steps:
        return False
    steps_before = steps[: steps.index(DEEP)]
    return bool(find(tree, steps_before, context))


def _nearest_leaves(
    steps: Sequence[Step] | None,
    tree: Any,
    context: Context,
) -> str:
    """Say which leaves there are instead of those of a selector."""
    paths = context.flatten(tree)[1].paths()
    text = f"the tree has {len(paths)} {'leaf' if len(paths) == 1 else 'leaves'}"
    if steps is None:
        return f"{text}, no match among them"
    if not paths:
        return text
    last = steps[-1].text.strip("[]'\"@*")
    by_name: dict[str, KeyPath] = {}
    for path in reversed(paths[: _SEARCHED + 1]):  # the first of one name stays
        name = keystr(path[-1:], simple=True)
        by_name[name] = path
    nearest = nearest_names(last, by_name)[:_SHOWN]
    places = [place_text(by_name[name]) for name in nearest]
    return f"{text}; nearest: {join_names(places)}"


def _first_missing(
    steps: Sequence[Step],
    tree: Any,
    context: Context,
) -> str:
    """Say which keys there are where the first step of a pattern has no match."""
    place = Place(ROOT, tree)
    depth = 0
    while places := find(tree, steps[: depth + 1], context):
        place = places[0]
        depth += 1
    node = place.value
    where = place_text(context.root + place.path)
    node_type = context.node_type_of(node)
    if node_type is None:
        hint = how_to_register(type(node))
        return f"{where} is a leaf: {short_repr(node)}" + (hint and f"; {hint}")
    keys = list(keys_of(node, node_type))
    entries = [getattr(key, "entry", key) for key in keys]
    keys += [GetAttrKey(name) for name in node_type.attributes.static_names(node)]
    if not keys:
        return f"the {type(node).__name__} at {where} is empty"
    step = steps[depth]
    names = [escape_controls(name_of((key,))) for key in keys]
    has = f"the {type(node).__name__} at {where} has"
    if step.having is not None:
        return _no_item_with(step.having, children_of(node, node_type).values(), has)
    is_position = type(step.key) is SequenceKey or is_number(step.text)
    if is_position and type(keys[0]) is SequenceKey:
        return f"{has} {counted(len(keys), 'item')}"
    if type(node) is list and all(type(x) is dict and "name" in x for x in node):
        names = [f"[name={short_repr(item['name'])}]" for item in node]
    text = f"{has} {few(nearest_names(step.text, names))}"
    quoted = f"[{'.'.join(step.text for step in steps[depth:])!r}]"
    if quoted in names:
        return f"{text}; write {quoted} for this key"
    likeness = other_type(getattr(step.key, "entry", step.key), entries)
    if step.key is not None and likeness:
        return f"{text}; {likeness}"
    correction = ""
    if "/" not in step.text:
        correction = _correction(steps, depth, node, keys, context)
    if not correction:
        correction = _place_elsewhere(steps, depth, place, context)
    return f"did you mean {correction}? {text}" if correction else text


def _no_item_with(
    having: tuple[str, str],
    children: Iterable[Any],
    has: str,
) -> str:
    """Say which children there are instead of the one with a value under a key."""
    name, _ = having
    keys: dict[str, None] = {}
    items: list[str] = []
    for child in children:
        if not isinstance(child, Mapping):
            continue
        keys.update((escape_controls(safe_str(key)), None) for key in child)
        if name in child:
            items.append(f"[{name}={short_repr(child[name])}]")
    if items:
        return f"{has} {few(items)}"
    text = f"{has} no item with the key {name!r}"
    return f"{text}; they have {few(list(keys))}" if keys else text


def _place_elsewhere(
    steps: Sequence[Step],
    depth: int,
    place: Place,
    context: Context,
) -> str:
    """Return a pattern for what is deeper in the tree, "" if nothing is there.

    A pattern may be the end of a longer one, or have slashes in place of dots.

    Args:
        steps: The pattern.
        depth: Which step has no match.
        place: Where the steps before it lead.
        context: What is a leaf.
    """
    below = list(steps[depth:])
    name = below[0].name
    if name is None:
        return ""
    if "/" in name.strip("/"):
        below[:1] = parse(name.strip("/"), "/")
    try:
        _, treedef = context.flatten(place.value)
    except CycleError:  # it would be searched without end
        return ""
    if treedef.num_leaves > _MOST_SEARCHED:
        return ""
    for pattern in (below, [DEEP, *below]):
        matches = find(place.value, pattern, context)
        if len(matches) == 1:
            return place_text(context.root + place.path + matches[0].path)
        if matches:
            texts = [step.text for step in (*steps[:depth], *pattern)]
            return _joined(texts)
    return ""


def _correction(
    steps: Sequence[Step],
    depth: int,
    node: Any,
    keys: Iterable[Any],
    context: Context,
) -> str:
    """Return a pattern without its misspelled name, "" if no key is like that name.

    Args:
        steps: The pattern.
        depth: Which step has no match.
        node: Where the steps before it lead.
        keys: The keys of the node.
        context: What is a leaf.
    """
    name = steps[depth].name
    if name is None:
        return ""
    entries = {getattr(key, "entry", None): key for key in keys}
    nearest = nearest_names(name, [one for one in entries if type(one) is str])
    if not nearest or not _is_misspelled(name, nearest[0]):
        return ""
    key = entries[nearest[0]]
    texts = [step.text for step in steps[:depth]]
    texts.append(name_of((key,)))
    below = steps[depth + 1 :]
    if find(node, (step_of(key), *below), context):
        texts += [step.text for step in below]
    return _joined(texts)


def _joined(texts: Iterable[str]) -> str:
    """Return the texts of steps as one pattern."""
    pattern = "".join(text if text[0] == "[" else f".{text}" for text in texts)
    return escape_controls(pattern.removeprefix("."))


def _is_misspelled(name: str, other: str) -> bool:
    """Return whether a name is probably another one, such as `rl` for `lr`."""
    return is_similar(name, other) or sorted(name.lower()) == sorted(other.lower())


def follow(
    start: Place,
    what: Selector,
    context: Context,
) -> list[Place]:
    """Return the targets of a selector below a place, with paths from the root."""
    if not start.path:
        return what.targets(start.value, context)
    places = what.targets(start.value, context.below(start.path))
    return [Place(start.path + place.path, place.value) for place in places]


_SHOWN: Final = 5
_SEARCHED: Final = 2000
_MOST_SEARCHED: Final = 20_000
"""How many leaves a tree may have to be searched for what is not at a path."""


def few(names: Sequence[str]) -> str:
    """Return the first names in one text, and how many more there are."""
    text = join_names(names[:_SHOWN])
    if len(names) > _SHOWN:
        text += f" and {len(names) - _SHOWN} more"
    return text


def with_article(name: str) -> str:
    """Return the name of a class after "a" or "an"."""
    article = "an" if name[:1].lower() in "aeiou" else "a"
    return f"{article} {name}"
