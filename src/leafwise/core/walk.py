"""How trees are read, matched, rebuilt and mapped, whatever their depth.

`reference` says what that means; here it is done fast, and errors have paths.

The structure of a tree is one flat list, its *code*, with one entry for each node in
post-order, `(run, node_type, arity, aux_data)`, where `run` is the number of leaves
that stand between the node before and this one. So it says everything in one list,
whatever the depth, and holds nothing for a leaf.

Three ways lead through a tree. The first levels are walked by recursion, which takes
half the time: one function reads a tree (`_make_reader`), one maps it (`_make_mapper`).
What lies deeper is read with an explicit stack (`_read_deep`), which has no limit of
depth; cycles are looked for only there, since a cycle always gets deep. Everything else
that goes from node to node does so by `Walk`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import length_hint
from typing import Any, Final, TypeAlias

from .._text import add_note, short_repr
from ..errors import CycleError, FlattenError
from .builtins import DICT, LIST, NONE, TUPLE
from .keypath import ROOT, KeyPath, Link
from .keys import FEW, DictKey, dict_keys, known_dicts, leaf_order, sequence_keys
from .node import NodeType
from .reasons import unexpected_leaf
from .registry import View


# -------------------------------------------------------------------------------- codes


Entry: TypeAlias = "tuple[int, NodeType, int, Any]"
Code: TypeAlias = "Sequence[Entry]"
Step: TypeAlias = "tuple[NodeType, int, Any] | None"
"""A node of a structure, or None for a leaf."""


# --------------------------------------------------------------------- rebuild


def rebuild(code: Code, leaves: list[Any]) -> Any:
    """Build a tree from its code and as many leaves as the code has.

    Args:
        code: The code.
        leaves: The leaves, left to right; the number is not checked.
    """
    trail: list[Any] = []
    try:
        return _rebuild(code, leaves, trail)
    except Exception as error:
        locate(error, KeyPath(reversed(trail)))
        raise


def _rebuild(code: Code, leaves: list[Any], trail: list[Any]) -> Any:
    """Build a tree; put the keys of the place of a failure on a trail, from there up.

    The commonest nodes are written out, because a call for each is what costs.
    """
    if not code:
        return leaves[0]
    stack: list[Any] = []
    end = 0
    entries = iter(code)
    try:
        for run, node_type, arity, aux in entries:
            start = end
            end += run
            if run == arity:
                children = leaves[start:end]
            elif run > arity:
                stack += leaves[start : end - arity]
                children = leaves[end - arity : end]
            else:
                if run:
                    stack += leaves[start:end]
                children = stack[-arity:]
                del stack[-arity:]
            if node_type is DICT:
                if arity == 2:
                    first, second = children
                    if aux.ordered is not aux.inserted:
                        second, first = children
                    first_key, second_key = aux.inserted
                    stack.append({first_key: first, second_key: second})
                elif aux.ordered is aux.inserted:
                    stack.append(dict(zip(aux.ordered, children)))  # noqa: B905
                else:
                    stack.append(aux.build(children))
            elif node_type is LIST:
                stack.append(children)
            elif node_type is TUPLE:
                stack.append(tuple(children))
            else:
                stack.append(node_type.unflatten(aux, children))
    except Exception:
        position = len(code) - length_hint(entries) - 1
        trail += reversed(node_path(code, position))
        raise
    return stack[0]


# --------------------------------------------------------------- flatten_up_to


def flatten_up_to(code: Code, tree: Any) -> list[Any] | None:
    """Return the subtree of a tree at each leaf of a code, None if the tree differs.

    The tree must have the structure of the code and may go deeper. Dicts of
    all kinds pair by key.

    Args:
        code: The code.
        tree: The tree.
    """
    stack = [tree]
    subtrees: list[Any] = []
    children: Sequence[Any] | None
    # From the last node to the first, so that children are pushed in their order. Of
    # the `run` leaves before a node of the code, its last children are some or all.
    for run, node_type, arity, aux in reversed(code):
        node = stack.pop()
        if node_type is DICT and type(node) is dict and len(node) == arity:
            try:
                children = list(map(node.__getitem__, aux.ordered))
            except KeyError:
                return None
        else:
            children = node_type.match(aux, arity, node)
            if children is None:
                return None
        leaves_left = run - arity
        if leaves_left >= 0:  # all of them stand at leaves
            subtrees += children[::-1]
        else:
            stack += children
            leaves_left = run
        if leaves_left:
            subtrees += stack[: -leaves_left - 1 : -1]
            del stack[-leaves_left:]
    if not code:
        return stack
    subtrees.reverse()
    return subtrees


# ----------------------------------------------------------- steps of a structure


def iter_steps(code: Code, *, backwards: bool = False) -> Iterator[Step]:
    """Yield a structure step by step in post-order: a node, or None for a leaf."""
    if not code:
        yield None
    elif backwards:
        for run, node_type, arity, aux in reversed(code):
            yield node_type, arity, aux
            yield from (None,) * run
    else:
        for run, node_type, arity, aux in code:
            yield from (None,) * run
            yield node_type, arity, aux


def pack(steps: Iterable[Step]) -> tuple[Entry, ...]:
    """Make a code of steps in post-order."""
    code: list[Entry] = []
    run = 0
    for step in steps:
        if step is None:
            run += 1
        else:
            code.append((run, *step))
            run = 0
    return tuple(code)


# ----------------------------------------------------------------------- paths


_LONG: Final = 16
"""How many keys a path has before a prefix takes the place of them."""


class _Prefix:
    """The first keys of a path below many levels; it stands in their place.

    Nodes have paths only so that their leaves can have them. With whole paths, the
    nodes of a deep tree would take quadratic time.
    """

    __slots__ = ("_keys", "path")

    def __init__(self, path: tuple[Any, ...]) -> None:
        self.path = path  # which may begin with a prefix as well
        self._keys: tuple[Any, ...] | None = None

    def keys(self) -> tuple[Any, ...]:
        """Return all keys that it stands for."""
        if self._keys is None:
            pieces: list[tuple[Any, ...]] = []
            path = self.path
            while type(path[0]) is _Prefix:
                pieces.append(path[1:])
                path = path[0].path
            keys = list(path)
            for piece in reversed(pieces):
                keys += piece
            self._keys = tuple(keys)
        return self._keys


def leaf_paths(code: Code, count: int) -> list[KeyPath]:
    """Return the key path of each leaf, in leaf order.

    Args:
        code: The code.
        count: The number of leaves.
    """
    if not code:
        return [ROOT] * count
    keys: Sequence[Any]
    paths: list[tuple[Any, ...]] = []
    # The paths of the nodes and leaves that are still to come, the next one last.
    stack: list[tuple[Any, ...]] = [()]
    has_prefixes = False
    for run, node_type, arity, aux in reversed(code):
        path = stack.pop()
        leaves_left = run
        if arity:
            if len(path) > _LONG:
                path = (_Prefix(path),)
                has_prefixes = True
            if node_type is DICT:
                keys = aux.objects
            elif node_type is LIST or node_type is TUPLE:
                keys = sequence_keys(arity)
            else:
                keys = node_type.keys(aux, arity)
            if run >= arity:  # all children are leaves
                leaves_left = run - arity
                for key in reversed(keys):
                    paths.append(path + (key,))  # noqa: RUF005, PERF401  # takes less time
            else:
                for key in keys:
                    stack.append(path + (key,))  # noqa: RUF005, PERF401
        if leaves_left:
            paths += stack[: -leaves_left - 1 : -1]
            del stack[-leaves_left:]
    paths.reverse()
    if has_prefixes:
        for index, path in enumerate(paths):
            first_key = path[0]
            if type(first_key) is _Prefix:
                paths[index] = first_key.keys() + path[1:]
    return list(map(KeyPath, paths))


def node_path(code: Code, position: int) -> KeyPath:
    """Return the key path of the node at that position of the code."""
    return _path_of_subtree(code[position + 1 :], 0)


def leaf_path(code: Code, index: int) -> KeyPath:
    """Return the key path of the leaf with that index."""
    end = 0
    for position, entry in enumerate(code):
        run = entry[0]
        end += run
        if end > index:
            # This node is the first one after the leaf, which is one of its run. The
            # leaves of the run to the right of it come to the negative number when the
            # run is added to it.
            leaves_to_the_right = end - 1 - index
            return _path_of_subtree(code[position:], leaves_to_the_right - run)
    return ROOT


def _path_of_subtree(code: Code, right: int) -> KeyPath:
    """Return the key path of a subtree that the nodes of the code come after.

    Args:
        code: The entries that come after the subtree.
        right: How many subtrees without a parent stand to the right of it so far.
    """
    keys: list[Any] = []
    for run, node_type, arity, aux in code:
        right += run
        if right < arity:  # a child of this node
            keys.append(node_type.keys(aux, arity)[arity - 1 - right])
            right = 0
        else:
            right -= arity - 1
    return KeyPath(reversed(keys))


# -------------------------------------------------------------------- failures


def locate(error: Exception, path: KeyPath, reason: str = "") -> None:
    """Add where an error happened to it: its path, or one note.

    Args:
        error: The error.
        path: Where it happened.
        reason: Why there is a leaf, see `unexpected_leaf`.
    """
    if isinstance(error, FlattenError) and error.path is None:
        error.path = path
    note = f"at key path {path}" if path else "at the root of the tree"
    if reason:
        note += f", a leaf: {reason}"
    notes = getattr(error, "__notes__", ())
    if note not in notes and len(notes) < _MOST_NOTES:
        add_note(error, note)


# --------------------------------------------------------------------- reading


class PathPredicate:
    """A predicate that takes the key path before the node."""

    def __init__(self, function: Callable[[KeyPath, Any], object]) -> None:
        self.function = function


Predicate: TypeAlias = "Callable[[Any], object] | PathPredicate | None"

_READ_LEVELS: Final = 64
"""How many levels are read by recursion. Where Python's stack has less room, the tree
is read again with the explicit stack."""
_MAP_LEVELS: Final = 16
"""How many levels are mapped by recursion before the room on Python's stack is tested.
A map cannot begin again elsewhere, since the function was called."""
_MORE_LEVELS: Final = 48
"""How many levels are mapped by recursion after that."""
_ROOM: Final = 200
"""How many free frames are room for these, and for what the function calls."""
_MOST_NOTES: Final = 16
"""Notes with paths on one exception object, which may be raised again and again."""
_SUSPICIOUS: Final = 1_000
"""The depth at which cycles are looked for."""

Frame: TypeAlias = "tuple[Iterator[Any], NodeType, int, Any, Any]"
"""An open node: its children that are left, its node type, their number, aux data, the
node itself."""


class CallError(Exception):
    """Stands for the result of a call that failed, with its exception as the cause."""


def flatten(
    tree: Any,
    view: View,
    is_leaf: Predicate = None,
    calls: list[Any] | None = None,
) -> tuple[list[Any], Code]:
    """Return the leaves of a tree, left to right, and its code; see `read`."""
    nodes: list[Entry] = []
    leaves = read(tree, view, nodes, is_leaf, calls)
    return leaves, settle(nodes)


def read(
    tree: Any,
    view: View,
    nodes: list[Entry] | None = None,
    is_leaf: Predicate = None,
    calls: list[Any] | None = None,
) -> list[Any]:
    """Return the leaves of a tree, left to right.

    Args:
        tree: The tree.
        view: The view to look types up in.
        nodes: Where to note the nodes, for `settle`; None if only leaves are wanted.
        is_leaf: Says of each node, from the root down, whether to stop there.
        calls: The calls of flatten functions that were made already, in order: a node,
            and what the function returned for it, or a `CallError`.

    Raises:
        CycleError: The tree contains itself.
        FlattenError: A registered flatten function returned the wrong thing.
    """
    leaves: list[Any] = []
    trail: list[Any] = []
    try:
        if is_leaf is None and not calls:
            _read(tree, leaves, nodes, view, trail)
        elif isinstance(is_leaf, PathPredicate):
            _read_places(tree, leaves, nodes, view, is_leaf)
        else:
            _read_deep(tree, leaves, nodes, view, trail, is_leaf, calls)
    except CycleError:
        raise  # it has both of its paths
    except Exception as error:
        locate(error, KeyPath(reversed(trail)))
        raise
    return leaves


def _read(
    tree: Any,
    leaves: list[Any],
    nodes: list[Entry] | None,
    view: View,
    trail: list[Any],
) -> None:
    """Read a tree by recursion; see `_read_deep` for the arguments."""
    read_node = view.read_node or _make_reader(view)
    try:
        read_node(tree, leaves, nodes, _READ_LEVELS, trail)
    except (CycleError, RecursionError):
        # Read again with the explicit stack: the paths of a cycle begin at the root,
        # and a caller who is deep in Python's stack gets an answer.
        leaves.clear()
        trail.clear()
        if nodes is not None:
            nodes.clear()
        _read_deep(tree, leaves, nodes, view, trail)


def _read_places(
    tree: Any,
    leaves: list[Any],
    nodes: list[Entry] | None,
    view: View,
    is_leaf: PathPredicate,
) -> None:
    """Read a tree with a predicate that takes the path of each node."""
    steps = Walk(tree, view, is_leaf, leaving=True)
    for _, node, node_type, is_leaving in steps:
        if node_type is None:
            leaves.append(node)
        elif is_leaving and nodes is not None:
            children, aux = steps.flatten()
            nodes.append((len(leaves), node_type, len(children), aux))


def settle(nodes: Iterable[Entry]) -> Code:
    """Return the code of the nodes that a walk noted.

    A walk notes how many leaves there are so far instead of a run, and the bare keys of
    a dict, as inserted: making their `DictKeys` takes longer than the walk, and most
    treedefs are never asked for them.
    """
    code: list[Entry] = []
    start = 0
    for end, node_type, arity, aux in nodes:
        settled_aux = aux
        if node_type is DICT and type(aux) is tuple:
            settled_aux = known_dicts.get(aux) or dict_keys(aux)
        code.append((end - start, node_type, arity, settled_aux))
        start = end
    return tuple(code)


def _make_reader(view: View) -> Callable[..., None]:
    """Return the function that reads a node, and those below it, under a view.

    Most structures occur a few times only, and most trees are shallow, so this is what
    most calls take time for. Therefore dicts, lists, tuples and None are written out,
    and keys are made only for a failure: they are put on the trail on the way up.
    """
    node_types = view.node_types
    leaf_types = view.leaf_types
    resolve = view.resolve

    def read_node(
        node: Any,
        leaves: list[Any],
        nodes: list[Entry] | None,
        levels: int,
        trail: list[Any],
    ) -> None:
        node_type: Any = node_types.get(type(node)) or resolve(type(node))
        if node_type is None or not levels:  # a leaf of a new type, or a deep node
            _read_deep(node, leaves, nodes, view, trail)
            return
        children: Any
        aux: Any = None
        if node_type is DICT:
            items = node.copy()  # in one step: others may change the dict meanwhile
            order = leaf_order(items)
            arity = len(items)
            key = None
            try:
                for key in order:
                    child = items[key]
                    if type(child) in leaf_types:
                        leaves.append(child)
                    else:
                        read_node(child, leaves, nodes, levels - 1, trail)
            except Exception:
                trail.append(DictKey(key))
                raise
            if nodes is not None:
                aux = tuple(items) if type(order) is list else order  # see `settle`
        else:
            if node_type is LIST or node_type is TUPLE:
                children = node[:]  # a tuple itself
            elif node is None:
                children = ()
            else:
                children, aux = node_type.flatten(node)
            arity = len(children)
            if arity > FEW and leaf_types.issuperset(map(type, children)):
                leaves += children
            else:
                children_left = iter(children)
                try:
                    for child in children_left:
                        if type(child) in leaf_types:
                            leaves.append(child)
                        else:
                            read_node(child, leaves, nodes, levels - 1, trail)
                except Exception:
                    index = arity - length_hint(children_left) - 1
                    _note_child(trail, node_type, aux, arity, index)
                    raise
        if nodes is not None:
            nodes.append((len(leaves), node_type, arity, aux))

    view.read_node = read_node
    return read_node


def _note_child(
    trail: list[Any],
    node_type: NodeType,
    aux: Any,
    arity: int,
    index: int,
) -> None:
    """Put the key of the child that a walk is at on a trail.

    An exception of a signal handler may come before the first child or after the last.
    """
    if 0 <= index < arity:  # else there is no child to blame
        trail.append(node_type.keys(aux, arity)[index])


def _read_deep(
    tree: Any,
    leaves: list[Any],
    nodes: list[Entry] | None,
    view: View,
    trail: list[Any],
    is_leaf: Callable[[Any], object] | None = None,
    calls: list[Any] | None = None,
) -> None:
    """Read a tree of any depth with an explicit stack.

    Children whose types are all known leaves are taken in one go.

    Args:
        tree: The tree.
        leaves: Where to put the leaves.
        nodes: Where to note the nodes, or None.
        view: The view to look types up in.
        trail: Where to put the keys of the place of a failure, from there up.
        is_leaf: See `read`.
        calls: See `read`.
    """
    stack: list[Frame] = []
    flatten_node = _replayed(calls) if calls else _flatten_node
    node_types = view.node_types
    leaf_types = view.leaf_types
    # The root is the child of a frame that is not there, so that the loop has one form.
    children_left: Iterator[Any] = iter((tree,))
    limit = _SUSPICIOUS
    try:
        while True:
            for node in children_left:
                cls = type(node)
                if (is_leaf is not None and is_leaf(node)) or cls in leaf_types:
                    leaves.append(node)
                    continue
                node_type: Any = node_types.get(cls) or view.resolve(cls)
                if node_type is None:
                    leaves.append(node)
                    continue
                children: Any
                aux: Any = None
                if node_type is DICT:
                    items = node.copy()
                    order = leaf_order(items)
                    children = [items[key] for key in order]
                    aux = tuple(items) if type(order) is list else order
                elif node_type is LIST or node_type is TUPLE:
                    children = node[:]
                else:
                    children, aux = flatten_node(node_type, node)
                arity = len(children)
                # a predicate has to be asked about each of them, in order
                if is_leaf is None and leaf_types.issuperset(map(type, children)):
                    leaves += children
                    if nodes is not None:
                        nodes.append((len(leaves), node_type, arity, aux))
                    continue
                children_left = iter(children)
                stack.append((children_left, node_type, arity, aux, node))
                if len(stack) > limit:
                    _check_cycle(stack)
                    limit *= 2  # so all checks together take no longer than the last
                break
            else:
                if not stack:
                    return
                _, node_type, arity, aux, _ = stack.pop()
                if nodes is not None:
                    nodes.append((len(leaves), node_type, arity, aux))
                if stack:
                    children_left = stack[-1][0]
    except Exception:
        trail += reversed(_keys(stack))
        raise


def _flatten_node(node_type: NodeType, node: Any) -> tuple[Sequence[Any], Any]:
    return node_type.flatten(node)


def _replayed(calls: list[Any]) -> Callable[[NodeType, Any], Any]:
    """Return a function that flattens nodes, each that was flattened before as then."""
    calls_left = calls[::-1]  # the next one last, to be popped

    def flatten_again(node_type: NodeType, node: Any) -> Any:
        if not calls_left or calls_left[-1] is not node:
            return node_type.flatten(node)
        calls_left.pop()
        result = calls_left.pop()
        if isinstance(result, CallError):
            raise result.__cause__  # type: ignore[misc]  # it has one
        return node_type.form.checked(result)

    return flatten_again


def iter_leaves(tree: Any, view: View, is_leaf: Predicate = None) -> Iterator[Any]:
    """Yield the leaves one by one, looking no further ahead than needed.

    Raises:
        CycleError: The tree contains itself; raised when the walk gets there.
    """
    if isinstance(is_leaf, PathPredicate):
        for _, node, node_type, _ in Walk(tree, view, is_leaf):
            if node_type is None:
                yield node
        return
    leaf_types = view.leaf_types
    stack: list[Frame] = []
    children_left: Iterator[Any] = iter((tree,))
    limit = _SUSPICIOUS
    try:
        while True:
            for node in children_left:
                node_type = None
                if is_leaf is None or not is_leaf(node):
                    node_type = view.resolve(type(node))
                if node_type is None:
                    yield node
                    continue
                children, aux = node_type.flatten(node)
                arity = len(children)
                if (
                    arity > FEW
                    and is_leaf is None
                    and leaf_types.issuperset(map(type, children))
                ):
                    yield from children
                    continue
                children_left = iter(children)
                stack.append((children_left, node_type, arity, aux, node))
                if len(stack) > limit:
                    _check_cycle(stack)
                    limit *= 2
                break
            else:
                if not stack:
                    return
                stack.pop()
                if stack:
                    children_left = stack[-1][0]
    except CycleError:
        raise
    except Exception as error:
        locate(error, KeyPath(_keys(stack)))
        raise


def _keys(stack: list[Frame]) -> list[Any]:
    """Return the keys from the root down to where a walk is."""
    keys: list[Any] = []
    for children_left, node_type, arity, aux, _ in stack:
        started = arity - length_hint(children_left)
        if not started:  # the walk is not at a child yet
            continue
        settled_aux = aux
        if node_type is DICT and type(aux) is tuple:
            settled_aux = dict_keys(aux)
        keys.append(node_type.keys(settled_aux, arity)[started - 1])
    return keys


def _check_cycle(stack: list[Frame]) -> None:
    """Raise an error if a node stands below itself: a cycle always gets deep.

    Raises:
        CycleError: A node of the stack stands below itself.
    """
    depths: dict[int, int] = {}  # by id: the stack keeps all of the nodes alive
    for depth, frame in enumerate(stack):
        node = frame[-1]
        first_depth = depths.setdefault(id(node), depth)
        if first_depth != depth:
            again = KeyPath(_keys(stack[:depth]))
            first = KeyPath(again[:first_depth])
            raise cycle_error(node, first, again)


# --------------------------------------------------------------------- every place


class Walk:
    """A walk over a tree of any depth: a node, and then what is below it.

    Iterate over it; each step is a tuple of

    - the `Link` of a place,
    - the node or leaf there,
    - its node type, or None for a leaf,
    - whether the walk is leaving the node, since all below it is done. Without
      `leaving`, this is always False.

    Children are in leaf order. A node is flattened only when the walk goes on from it,
    so it may be changed before. Until then, the methods are about that node: the caller
    may skip what is below it or put another node in its place, and learn its path or
    its children.

    Args:
        tree: The tree.
        view: The view to look types up in.
        stop: Says of each node, from the root down, whether it is a leaf.
        leaving: Whether each node comes a second time, after its children.

    Raises:
        CycleError: A node stands below itself; raised when the walk gets there again.

    Example:
        >>> from leafwise.core.registry import view_of
        >>> from leafwise.core.walk import Walk
        >>> steps = Walk({"a": [1, 2], "b": (3,)}, view_of(""))
        >>> for link, node, node_type, _ in steps:
        ...     print(link.path().where(), node)
        ...     if type(node) is list:
        ...         steps.skip()
        the root {'a': [1, 2], 'b': (3,)}
        ['a'] [1, 2]
        ['b'] (3,)
        ['b'][0] 3
    """

    def __init__(
        self,
        tree: Any,
        view: View,
        stop: Predicate = None,
        *,
        leaving: bool = False,
    ) -> None:
        self._node: Any = tree
        self._node_type: NodeType | None = None
        self._flat: tuple[Sequence[Any], Any] | None = None
        self._keys: list[Any] = []  # from the root down to where the walk is
        self._view = view
        self._stop = stop
        self._leaving = leaving

    def path(self) -> KeyPath:
        """Return the path of the place where the walk is.

        This takes less time than `link.path()`, since the keys are at hand. Where most
        places need their paths, nothing is faster.
        """
        return KeyPath(self._keys)

    def flatten(self) -> tuple[Sequence[Any], Any]:
        """Return the children and the aux data of the node, which is no leaf.

        The walk goes on to these very children, and the node is not flattened again.
        """
        flat = self._flat
        if flat is None:
            node_type: Any = self._node_type
            try:
                flat = node_type.flatten(self._node)
            except Exception as error:
                locate(error, self.path())
                raise
            self._flat = flat
        return flat

    def skip(self) -> None:
        """Leave out what is below the node; without children, it comes only once."""
        self._node_type = None

    def replace(self, node: Any) -> NodeType | None:
        """Walk another node in place of this one; return its type, None for a leaf."""
        self._node = node
        self._node_type = self._view.resolve(type(node))
        self._flat = None
        return self._node_type

    def __iter__(self) -> Iterator[tuple[Link, Any, NodeType | None, bool]]:
        keys = self._keys
        node_types = self._view.node_types
        resolve = self._view.resolve
        open_links: dict[int, Link] = {}  # of the nodes from the root down, by id
        stack: list[tuple[Link, Any, Any, Any, zip[tuple[Any, Any]]]] = []
        link = Link()
        node = self._node
        try:
            while True:
                self._node = node
                self._flat = None
                node_type = None
                if self._stop is None or not self._asks(node):
                    node_type = node_types.get(type(node)) or resolve(type(node))
                self._node_type = node_type
                yield link, node, node_type, False
                node_type = self._node_type  # unless the caller said otherwise
                if node_type is not None:
                    node = self._node
                    first = open_links.setdefault(id(node), link)
                    if first is not link:
                        break
                    flat = self._flat or node_type.flatten(node)
                    children, aux = flat
                    node_keys = node_type.keys(aux, len(children))
                    children_left = zip(node_keys, children, strict=True)
                    stack.append((link, node, node_type, flat, children_left))
                while stack:
                    above, node, node_type, flat, children_left = stack[-1]
                    child = next(children_left, None)
                    if child is not None:
                        break
                    stack.pop()
                    del open_links[id(node)]  # beside itself, a node may occur again
                    if self._leaving:
                        del keys[len(stack) :]
                        self._flat = flat
                        yield above, node, node_type, True
                else:
                    return
                key, node = child
                # in place of the keys of the sibling before, and of all below it
                keys[len(stack) - 1 :] = [key]
                link = Link(above, key)
        except Exception as error:  # of a predicate or a flatten function
            locate(error, self.path())
            raise
        raise cycle_error(node, first.path(), link.path())

    def _asks(self, node: Any) -> bool:
        """Return whether the predicate makes a leaf of the node."""
        stop: Any = self._stop
        if isinstance(stop, PathPredicate):
            return bool(stop.function(self.path(), node))
        return bool(stop(node))


def cycle_error(node: Any, first: KeyPath, again: KeyPath) -> CycleError:
    """Return the error for a node that stands below itself.

    Args:
        node: The node.
        first: Its path.
        again: The path below it where it occurs again.
    """
    return CycleError(
        f"the tree contains itself: the {type(node).__name__} at {first.where()} "
        f"occurs again at {again.where()}",
        first=first,
        again=again,
    )


# ------------------------------------------------------------------------- map


def map_tree(function: Callable[[Any], Any], tree: Any, view: View) -> Any:
    """Call a function on each leaf and return the results in the same structure.

    Each node is read when the walk gets there and rebuilt on the way up, so there is
    neither a list of leaves nor a code. The function is called while the tree is read:
    what it changes in nodes that are not reached yet is seen. What lies below the first
    levels is read before the function is called there. So a cycle is found after a
    bounded number of calls, and a map needs few frames of Python's stack at any depth.

    Raises:
        CycleError: The tree contains itself.
        FlattenError: A registered flatten function returned the wrong thing.
    """
    trail: list[Any] = []
    try:
        if view.map_node is None:
            view.map_node = _make_mapper(view, _map_below)
        return view.map_node(tree, function, _MAP_LEVELS, trail)
    except Exception as error:
        if isinstance(error, CycleError):
            read(tree, view)  # raises one whose paths begin at the root
        note_argument_order(error, function)
        path = KeyPath(reversed(trail))
        locate(error, path, _reason_at(path, tree, view))
        raise


def _reason_at(path: KeyPath, tree: Any, view: View) -> str:
    """Return why there is a leaf at a path, see `unexpected_leaf`."""
    try:
        leaf = path(tree, namespace=view.mode.namespace)
    except Exception:  # of the user's class; the failure of the map is what matters
        return ""
    return unexpected_leaf(leaf, view)


def _make_mapper(
    view: View,
    map_below: Callable[..., Any],
) -> Callable[..., Any]:
    """Return the function that maps a node, and those below it; see `_make_reader`.

    Args:
        view: The view.
        map_below: Maps what is below the levels that the function goes down, and
            leaves of types that are new to the view.
    """
    node_types = view.node_types
    leaf_types = view.leaf_types
    resolve = view.resolve
    # None is mapped to itself, in the loops because calls would take up to a tenth of
    # the time. It may also be a leaf here, or a node of another kind.
    is_none_empty = node_types.get(type(None)) is NONE

    def map_node(
        node: Any,
        function: Callable[[Any], Any],
        levels: int,
        trail: list[Any],
    ) -> Any:
        node_type: Any = node_types.get(type(node)) or resolve(type(node))
        if node_type is None or not levels:  # a leaf of a new type, or a deep node
            return map_below(node, function, view, trail)
        children: Any
        aux: Any = None
        if node_type is DICT:
            result = node.copy()  # in the order of insertion, with the values of now
            key = None
            try:
                for key in leaf_order(result):
                    child = result[key]
                    if type(child) in leaf_types:
                        result[key] = function(child)
                    elif child is not None or not is_none_empty:
                        result[key] = map_node(child, function, levels - 1, trail)
            except Exception:
                trail.append(DictKey(key))
                raise
            return result
        if node_type is LIST or node_type is TUPLE:
            children = node[:]  # a tuple itself
        else:
            children, aux = node_type.flatten(node)
        results: list[Any] = []
        try:
            for child in children:
                if type(child) in leaf_types:
                    results.append(function(child))
                elif child is None and is_none_empty:
                    results.append(None)
                else:
                    results.append(map_node(child, function, levels - 1, trail))
        except Exception:
            _note_child(trail, node_type, aux, len(children), len(results))
            raise
        if node_type is LIST:
            return results
        if node_type is TUPLE:
            return tuple(results)
        return node_type.unflatten(aux, results)

    return map_node


def _map_below(
    node: Any,
    function: Callable[[Any], Any],
    view: View,
    trail: list[Any],
) -> Any:
    """Map a node below the first levels, by recursion if Python's stack has room."""
    if view.resolve(type(node)) is None:
        return function(node)
    if not _has_room():  # a RecursionError would come after calls of the function
        return _map_deep(node, function, view, trail)
    if view.map_lower_node is None:
        view.map_lower_node = _make_mapper(view, _map_deep)
    return view.map_lower_node(node, function, _MORE_LEVELS, trail)


if sys.version_info >= (3, 12):

    def _has_room() -> bool:
        """Return whether Python's stack has room for more levels."""
        depth = sys.getrecursionlimit() - _ROOM
        name = sys._getframemodulename(depth)  # noqa: SLF001  # the documented name
        return name is None  # there are not as many frames

else:
    _nested: Any = int
    for _ in range(_ROOM):
        _nested = (_nested,)

    def _has_room() -> bool:
        """Return whether Python's stack has room for more levels.

        C functions and Python functions have one limit here, and nothing in C gets
        deep as fast as this does.
        """
        try:
            isinstance(None, _nested)
        except RecursionError:
            return False
        return True


def _map_deep(
    node: Any,
    function: Callable[[Any], Any],
    view: View,
    trail: list[Any],
) -> Any:
    """Map a node or leaf, which is read before the first call of the function."""
    leaves: list[Any] = []
    nodes: list[Entry] = []
    _read(node, leaves, nodes, view, trail)
    code = settle(nodes)
    results: list[Any] = []
    try:
        for leaf in leaves:
            results.append(function(leaf))  # noqa: PERF401  # says where it failed
    except Exception:
        trail += reversed(leaf_path(code, len(results)))
        raise
    return _rebuild(code, results, trail)


def note_argument_order(error: Exception, function: Any) -> None:
    """Note on an error that what was called is no function, if so."""
    if not callable(function):
        add_note(error, _argument_order(function, _FUNCTION_FIRST))


_FUNCTION_FIRST: Final = (
    "the first argument is the function, and the tree comes after it"
)


def require_function(function: Any, order: str = _FUNCTION_FIRST) -> None:
    """Refuse what is no function, where no call may come to say so.

    Args:
        function: The function.
        order: The order of the arguments, in words.

    Raises:
        TypeError: It is no function.
    """
    if not callable(function):
        raise TypeError(_argument_order(function, order))


def _argument_order(function: Any, order: str) -> str:
    cls = type(function).__name__
    return f"{order}; got the {cls} {short_repr(function)} as the function"
