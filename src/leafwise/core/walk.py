"""The reference walk: how trees are flattened, rebuilt and mapped.

This is the executable specification; whatever is faster elsewhere must agree with it.

The structure of a tree is one flat list, its *code*, with one entry for each node in
post-order, `(run, rule, arity, aux_data)`, where `run` is the number of leaves that
stand between the node before and this one. So it says everything in one list, whatever
the depth, and holds nothing for a leaf.

Trees are walked with an explicit stack, which has no limit of depth. The path in an
error, and the one that a predicate wants, is read off that stack, and cycles are looked
for in it when it gets deep, so that other walks pay nothing for these.

A treedef is walked through its `Runner`. The reference runner does so by the code.
The engine fills in slots of `_hooks`, and gives single treedefs runners of their
own; nothing here knows who that is, and without anybody everything works, slower.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import length_hint
from typing import Any, Final, TypeAlias

from .._hooks import hooks
from .._text import add_note
from ..errors import CycleError, FlattenError
from .builtins import DICT, LIST, TUPLE
from .keypath import KeyPath
from .keys import dict_keys, known_dicts
from .node import Rule
from .registry import View


# -------------------------------------------------------------------------------- codes


Entry: TypeAlias = "tuple[int, Rule, int, Any]"
Code: TypeAlias = "Sequence[Entry]"
Step: TypeAlias = "tuple[Rule, int, Any] | None"
"""A node of a structure, or None for a leaf."""


# --------------------------------------------------------------------- rebuild


def rebuild(code: Code, leaves: list[Any]) -> Any:
    """Build a tree from its code and as many leaves as the code has.

    The commonest nodes are written out, because a call for each is what costs.

    Args:
        code: The code.
        leaves: The leaves, left to right; the number is not checked.
    """
    if not code:
        return leaves[0]
    stack: list[Any] = []
    end = 0
    rest = iter(code)
    try:
        for run, rule, arity, aux in rest:
            start, end = end, end + run
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
            if rule is DICT:
                is_sorted = aux.ordered is aux.inserted
                if arity == 2:
                    (a, b), (p, q) = aux.inserted, children
                    stack.append({a: p, b: q} if is_sorted else {a: q, b: p})
                elif is_sorted:
                    stack.append(dict(zip(aux.ordered, children)))  # noqa: B905
                else:
                    stack.append(aux.build(children))
            elif rule is LIST:
                stack.append(children)
            elif rule is TUPLE:
                stack.append(tuple(children))
            else:
                stack.append(rule.unflatten(aux, children))
    except Exception as error:
        locate(error, [*reversed(node_path(code, len(code) - length_hint(rest) - 1))])
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
    found: list[Any] = []
    children: Sequence[Any] | None
    for run, rule, arity, aux in reversed(code):
        node = stack.pop()
        children = None
        if rule is DICT and type(node) is dict and len(node) == arity:
            try:
                children = aux.read(node)
            except KeyError:
                return None
        else:
            children = rule.match(aux, arity, node)
        if children is None:
            return None
        left = run - arity
        if left >= 0:  # all of them stand at leaves
            found += children[::-1]
        else:
            stack += children
            left = run
        if left:
            found += stack[: -left - 1 : -1]
            del stack[-left:]
    if not code:
        return stack
    found.reverse()
    return found


# ----------------------------------------------------------- steps of a structure


def iter_steps(code: Code, *, backwards: bool = False) -> Iterator[Step]:
    """Yield a structure step by step in post-order: a node, or None for a leaf."""
    if not code:
        yield None
    elif backwards:
        for run, rule, arity, aux in reversed(code):
            yield rule, arity, aux
            yield from (None,) * run
    else:
        for run, rule, arity, aux in code:
            yield from (None,) * run
            yield rule, arity, aux


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

ROOT = KeyPath()
Links: TypeAlias = list[tuple[int, Any]]
"""The index of the node above, and the key; no chain, which WebAssembly cannot drop.
The root stands first."""


def leaf_paths(code: Code, count: int) -> list[KeyPath]:
    """Return the key path of each leaf, in leaf order.

    Args:
        code: The code.
        count: The number of leaves.
    """
    if not code:
        return [ROOT] * count
    paths: list[tuple[Any, ...]] = []
    stack: list[tuple[Any, ...]] = [()]
    for run, rule, arity, aux in reversed(code):
        path = stack.pop()
        keys = aux.objects if rule is DICT else rule.keys(aux, arity)
        left = run - arity
        if left >= 0:
            for key in reversed(keys):
                paths.append(path + (key,))  # noqa: RUF005, PERF401  # takes less time
        else:
            if len(path) > _LONG:
                return _long_leaf_paths(code)
            for key in keys:
                stack.append(path + (key,))  # noqa: RUF005, PERF401
            left = run
        if left:
            paths += stack[: -left - 1 : -1]
            del stack[-left:]
    paths.reverse()
    return [*map(KeyPath, paths)]


def _long_leaf_paths(code: Code) -> list[KeyPath]:
    """Return the key path of each leaf, with nothing built for the nodes between."""
    paths: list[KeyPath] = []
    links: Links = [(0, None)]
    stack = [0]
    parent = -1
    prefix: tuple[Any, ...] = ()
    for run, rule, arity, aux in reversed(code):
        index = stack.pop()
        stack += range(len(links), len(links) + arity)
        links += [(index, key) for key in rule.keys(aux, arity)]
        if run:
            for below in stack[: -run - 1 : -1]:
                above, key = links[below]
                if above != parent:
                    parent, prefix = above, unlink(above, links)
                paths.append(KeyPath((*prefix, key)))
            del stack[-run:]
    paths.reverse()
    return paths


def unlink(slot: Any, links: Links | None = None) -> tuple[Any, ...]:
    """Return the keys from the root down to a slot `(above, key)`, or an index."""
    keys: list[Any] = []
    while slot:
        slot, key = slot if links is None else links[slot]
        keys.append(key)
    return tuple(reversed(keys))


def node_path(code: Code, position: int) -> KeyPath:
    """Return the key path of the node at that position of the code."""
    return _path_of_subtree(code[position + 1 :], 0)


def leaf_path(code: Code, index: int) -> KeyPath:
    """Return the key path of the leaf with that index."""
    end = 0
    for position, entry in enumerate(code):
        end += entry[0]
        if end > index:
            return _path_of_subtree(code[position:], end - 1 - index - entry[0])
    return ROOT


def _path_of_subtree(code: Code, right: int) -> KeyPath:
    """Return the key path of a subtree that the nodes of the code come after.

    Args:
        code: The entries that come after the subtree.
        right: How many subtrees without a parent stand to the right of it so far.
    """
    keys: list[Any] = []
    for run, rule, arity, aux in code:
        right += run
        if right < arity:  # a child of this node
            keys.append(rule.keys(aux, arity)[arity - 1 - right])
            right = 0
        else:
            right -= arity - 1
    return KeyPath(reversed(keys))


# -------------------------------------------------------------------- failures


def locate(error: Exception, trail: list[Any]) -> None:
    """Tell an error where it happened: its path, or one note."""
    path = KeyPath(reversed(trail))
    if isinstance(error, FlattenError) and error.path is None:
        error.path = path
    note = f"at key path {path}" if path else "at the root of the tree"
    notes = [*getattr(error, "__notes__", ())]
    if note not in notes and len(notes) < _MOST_NOTES:
        add_note(error, note)


# ------------------------------------------------------------------------------ walking


class PathPredicate:
    """A predicate that takes the key path before the node."""

    def __init__(self, function: Callable[[KeyPath, Any], object]) -> None:
        self.function = function


Predicate: TypeAlias = "Callable[[Any], object] | PathPredicate | None"

_LONG = 50
_MOST_NOTES = 16  # of an exception object that is raised again and again
_SUSPICIOUS = 1_000

Frame: TypeAlias = "tuple[Iterator[Any], Rule, int, Any, Any]"
"""An open node: its children that are left, its rule, their number, its aux data, the
node itself."""


# --------------------------------------------------------------------- flatten


class Failed(Exception):
    """What a function of the user raised, as its `__cause__`."""


def flatten(
    tree: Any, view: View, is_leaf: Predicate = None, calls: list[Any] | None = None
) -> tuple[list[Any], list[Entry]]:
    """Return the leaves of a tree, left to right, and its code.

    The commonest nodes are written out, because a call for each node is what a walk
    costs. Children whose types are all known leaves are taken in one go.

    Args:
        tree: The tree.
        view: The view to look types up in.
        is_leaf: Says of each node, from the root down, whether to stop there.
        calls: The calls of flatten functions that were made already, in order: a node,
            and what the function returned for it, or a `Failed`.

    Raises:
        CycleError: The tree contains itself.
        FlattenError: A registered flatten function returned the wrong thing.
    """
    stack: list[Frame] = []
    leaves: list[Any] = []
    code: list[Entry] = []
    stop = _asking(is_leaf, stack)
    again = _replayed(calls) if calls else None
    rules, leaf_types = view.rules, view.leaf_types
    rest: Iterator[Any] = iter((tree,))
    mark, limit = 0, _SUSPICIOUS
    try:
        while True:
            for node in rest:
                cls = type(node)
                if (stop is not None and stop(node)) or cls in leaf_types:
                    leaves.append(node)
                    continue
                rule: Any = rules.get(cls) or view.resolve(cls)
                aux: Any = None
                if rule is DICT:
                    keys = tuple(node)
                    try:
                        for key in keys:
                            if type(key) is not str and type(key) is not int:
                                raise KeyError
                        aux = known_dicts.get(keys) or dict_keys(keys)
                        children: Any = aux.read(node)
                    except KeyError:  # other keys, or another thread took one away
                        children, aux = rule.flatten(node)
                elif rule is LIST or rule is TUPLE:
                    children = node[:]
                elif rule is None:
                    leaves.append(node)
                    continue
                elif again is None:
                    children, aux = rule.flatten(node)
                else:
                    children, aux = again(rule, node)
                arity = len(children)
                if arity == 2:
                    first, second = children
                    flat = type(first) in leaf_types and type(second) in leaf_types
                else:
                    flat = leaf_types.issuperset(map(type, children))
                if flat and stop is None:
                    leaves += children
                    count = len(leaves)
                    code.append((count - mark, rule, arity, aux))
                    mark = count
                    continue
                rest = iter(children)
                stack.append((rest, rule, arity, aux, node))
                if len(stack) > limit:
                    _check_cycle(stack)
                    limit *= 2
                break
            else:
                if not stack:
                    return leaves, code
                _, rule, arity, aux, _ = stack.pop()
                count = len(leaves)
                code.append((count - mark, rule, arity, aux))
                mark = count
                if stack:
                    rest = stack[-1][0]
    except CycleError:
        raise
    except Exception as error:
        locate(error, [*reversed(_keys(stack))])
        raise


def _replayed(calls: list[Any]) -> Callable[[Rule, Any], Any]:
    """Return a function that flattens nodes, each that was flattened before as then."""
    left = [*reversed(calls)]

    def read(rule: Rule, node: Any) -> Any:
        if not left or left[-1] is not node:
            return rule.flatten(node)
        _, result = left.pop(), left.pop()
        if isinstance(result, Failed):
            raise result.__cause__  # type: ignore[misc]  # it has one
        return rule.form.checked(result)

    return read


def iter_leaves(tree: Any, view: View, is_leaf: Predicate = None) -> Iterator[Any]:
    """Yield the leaves one by one, looking no further ahead than needed.

    Raises:
        CycleError: The tree contains itself; raised when the walk gets there.
    """
    stack: list[Frame] = []
    stop = _asking(is_leaf, stack)
    rest: Iterator[Any] = iter((tree,))
    limit = _SUSPICIOUS
    try:
        while True:
            for node in rest:
                rule = None
                if stop is None or not stop(node):
                    rule = view.resolve(type(node))
                if rule is None:
                    yield node
                    continue
                children, aux = rule.flatten(node)
                rest = iter(children)
                stack.append((rest, rule, len(children), aux, node))
                if len(stack) > limit:
                    _check_cycle(stack)
                    limit *= 2
                break
            else:
                if not stack:
                    return
                stack.pop()
                if stack:
                    rest = stack[-1][0]
    except CycleError:
        raise
    except Exception as error:
        locate(error, [*reversed(_keys(stack))])
        raise


def _asking(is_leaf: Predicate, stack: list[Frame]) -> Any:
    """Return a predicate of a node, which finds the path of the node if it needs it."""
    if not isinstance(is_leaf, PathPredicate):
        return is_leaf
    function = is_leaf.function
    return lambda node: function(KeyPath(_keys(stack)), node)


def _keys(stack: list[Frame]) -> list[Any]:
    """Return the keys from the root down to where a walk is."""
    keys: list[Any] = []
    for rest, rule, arity, aux, _ in stack:
        taken = arity - length_hint(rest)
        keys += rule.keys(aux, arity)[taken - 1 : taken]  # none before the first child
    return keys


def _check_cycle(stack: list[Frame]) -> None:
    """Raise an error if a node stands below itself: a cycle always gets deep.

    Raises:
        CycleError: A node of the stack stands below itself.
    """
    depths: dict[int, int] = {}
    for depth, frame in enumerate(stack):
        node = frame[-1]
        known = depths.setdefault(id(node), depth)
        if known != depth:
            again = KeyPath(_keys(stack[:depth]))
            first = KeyPath(again[:known])
            raise CycleError(
                f"the tree contains itself: the {type(node).__name__} at "
                f"{first.where()} "
                f"occurs again at {again.where()}",
                first=first,
                again=again,
            )


# ------------------------------------------------------------------------- map


def map_leaves(
    function: Callable[..., Any], columns: Sequence[list[Any]], code: Code
) -> list[Any]:
    """Call a function on the first leaves of all columns, the second, and so on.

    An exception gains a note with the path of the leaf.
    """
    first = iter(columns[0])
    try:
        if len(columns) == 1:
            return [function(leaf) for leaf in first]
        if len(columns) == 2:
            second = columns[1]
            return [function(a, b) for a, b in zip(first, second)]  # noqa: B905  # as many
        return [function(*row) for row in zip(first, *columns[1:], strict=True)]
    except Exception as error:  # of the function; or it is none
        if not callable(function):
            add_note(error, "the first argument is the function, the tree comes after")
        failed = len(columns[0]) - length_hint(first) - 1
        if failed >= 0:
            locate(error, [*reversed(leaf_path(code, failed))])
        raise


# ------------------------------------------------------------------------- runners


class Runner:
    """How trees of a structure are flattened and unflattened.

    Attributes:
        unflatten: Takes a treedef and a list of as many leaves, returns a tree.
        flatten_up_to: Takes a treedef and a tree, returns what stands at the leaves of
            the treedef, or None if it does not know; the reference always does,
            so its None says that the tree does not have the structure.
        paths: Takes a treedef, returns the key paths of its leaves.
        known_paths: What `paths` returns, once it is known to be always the same; not
            to be changed.
    """

    __slots__ = ("flatten_up_to", "known_paths", "paths", "unflatten")

    unflatten: Callable[[Any, list[Any]], Any]
    flatten_up_to: Callable[[Any, Any], list[Any] | None]
    paths: Callable[[Any], list[KeyPath]]

    def __init__(
        self,
        unflatten: Callable[[Any, list[Any]], Any],
        flatten_up_to: Callable[[Any, Any], list[Any] | None],
        paths: Callable[[Any], list[KeyPath]],
    ) -> None:
        self.unflatten = unflatten
        self.flatten_up_to = flatten_up_to
        self.paths = paths
        self.known_paths: list[KeyPath] | None = None


def _paths(treedef: Any) -> list[KeyPath]:
    return leaf_paths(treedef._code, treedef._count)


reference: Final = Runner(
    lambda treedef, leaves: rebuild(treedef._code, leaves),
    lambda treedef, tree: flatten_up_to(treedef._code, tree),
    _paths,
)
"""Runs any structure by its code."""


leaf: Final = Runner(
    lambda _treedef, leaves: leaves[0], lambda _treedef, tree: [tree], _paths
)
"""Runs the structure of a bare leaf."""
leaf.known_paths = [ROOT]


hooks.runner = reference
