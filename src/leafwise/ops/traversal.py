"""Traversals: the leaves of a tree folded into one value, and every node visited.

Owns the reductions, whose leaves come from `map`; the visitor; and the walk over all
nodes. Neither of the last two recurses. For the arguments that most functions share
see `map`.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, overload

from .._records import MISSING, Missing
from ..core.context import Context, context_of, flatten_by
from ..core.keypath import KeyPath
from ..core.node import Rule
from ..core.registry import GLOBAL
from ..errors import CycleError, StructureError


if TYPE_CHECKING:
    from .._typing import IsLeaf, Level, PyTree, S, T, Tree

__all__ = [
    "DELETE",
    "SKIP",
    "STOP",
    "tree_all",
    "tree_any",
    "tree_max",
    "tree_min",
    "tree_reduce",
    "tree_sum",
    "tree_visit",
    "tree_walk",
]


@overload
def tree_reduce(
    function: Callable[[T, T], T], tree: Level[PyTree[T]], *, namespace: str = ...
) -> T: ...
@overload
def tree_reduce(
    function: Callable[[S, Any], S],
    tree: Any,
    initializer: S,
    is_leaf: IsLeaf = ...,
    *,
    none_is_leaf: bool = ...,
    namespace: str = ...,
) -> S: ...
@overload
def tree_reduce(
    function: Callable[[Any, Any], Any],
    tree: Any,
    *,
    is_leaf: IsLeaf = ...,
    none_is_leaf: bool = ...,
    namespace: str = ...,
) -> Any: ...
def tree_reduce(
    function: Callable[[Any, Any], Any],
    tree: Any,
    initializer: Any = MISSING,
    is_leaf: IsLeaf = None,
    *,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> Any:
    """Fold the leaves from left to right, as `functools.reduce` does.

    Args:
        function: Takes the value so far and the next leaf.
        tree: The tree.
        initializer: The initial value; if omitted, the first leaf.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        none_is_leaf: Whether None is a leaf and not a node without children.
        namespace: Where classes are looked up before the global registry.

    Raises:
        TypeError: There are no leaves and no initializer.
        CycleError: The tree contains itself.

    Example:
        >>> import leafwise as lw
        >>> lw.tree_reduce(lambda total, x: total + x, [1, (2, 3)])
        6
    """
    leaves = _leaves(tree, is_leaf, none_is_leaf, namespace)
    if initializer is not MISSING:
        return functools.reduce(function, leaves, initializer)
    if not leaves:
        raise TypeError("tree_reduce of a tree without leaves needs an initializer")
    return functools.reduce(function, leaves)


def _leaves(
    tree: Any, is_leaf: IsLeaf, none_is_leaf: bool, namespace: str
) -> list[Any]:
    return context_of(is_leaf, False, none_is_leaf, namespace).leaves(tree)


def tree_all(
    tree: Any,
    *,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> bool:
    """Return whether all leaves are true; stop at the first one that is not.

    Args:
        tree: The tree.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        none_is_leaf: Whether None is a leaf and not a node without children.
        namespace: Where classes are looked up before the global registry.

    Raises:
        CycleError: The tree contains itself.

    Example:
        >>> import leafwise as lw
        >>> lw.tree_all({"a": True, "b": [1, 0]}), lw.tree_all([])
        (False, True)
    """
    return all(_leaves(tree, is_leaf, none_is_leaf, namespace))


def tree_any(
    tree: Any,
    *,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> bool:
    """Return whether any leaf is true; stop at the first one that is.

    Args:
        tree: The tree.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        none_is_leaf: Whether None is a leaf and not a node without children.
        namespace: Where classes are looked up before the global registry.

    Raises:
        CycleError: The tree contains itself.

    Example:
        >>> import leafwise as lw
        >>> lw.tree_any({"a": False, "b": [1, 0]}), lw.tree_any([])
        (True, False)
    """
    return any(_leaves(tree, is_leaf, none_is_leaf, namespace))


@overload
def tree_sum(tree: Level[PyTree[T]], start: T, *, namespace: str = ...) -> T: ...
@overload
def tree_sum(tree: Level[PyTree[T]], *, namespace: str = ...) -> T | int: ...
@overload
def tree_sum(
    tree: Any,
    start: Any = ...,
    *,
    is_leaf: IsLeaf = ...,
    none_is_leaf: bool = ...,
    namespace: str = ...,
) -> Any: ...
def tree_sum(
    tree: Any,
    start: Any = 0,
    *,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> Any:
    """Return the sum of the leaves, added from left to right.

    Args:
        tree: The tree.
        start: The initial value; a str or bytes joins the leaves.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        none_is_leaf: Whether None is a leaf and not a node without children.
        namespace: Where classes are looked up before the global registry.

    Raises:
        CycleError: The tree contains itself.

    Example:
        >>> import leafwise as lw
        >>> lw.tree_sum({"a": 1, "b": [2, 3]}), lw.tree_sum(["x", ("y",)], start="")
        (6, 'xy')
    """
    leaves = _leaves(tree, is_leaf, none_is_leaf, namespace)
    if isinstance(start, str | bytes | bytearray):
        return start + type(start)().join(leaves)  # type: ignore[operator]
    return sum(leaves, start)


def tree_max(
    tree: Any,
    *,
    default: Any = MISSING,
    key: Callable[[Any], Any] | None = None,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> Any:
    """Return the largest leaf; the first one if several are equal.

    Args:
        tree: The tree.
        default: The result for a tree without leaves.
        key: A function from a leaf to the value to compare.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        none_is_leaf: Whether None is a leaf and not a node without children.
        namespace: Where classes are looked up before the global registry.

    Raises:
        ValueError: There are no leaves and no default.
        CycleError: The tree contains itself.

    Example:
        >>> import leafwise as lw
        >>> lw.tree.max({"a": 1, "b": [3, 2]}), lw.tree.max([], default=0)
        (3, 0)
    """
    leaves = _leaves(tree, is_leaf, none_is_leaf, namespace)
    return _extreme(max, leaves, default, key)


def tree_min(
    tree: Any,
    *,
    default: Any = MISSING,
    key: Callable[[Any], Any] | None = None,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> Any:
    """Return the smallest leaf; the first one if several are equal.

    Args:
        tree: The tree.
        default: The result for a tree without leaves.
        key: A function from a leaf to the value to compare.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        none_is_leaf: Whether None is a leaf and not a node without children.
        namespace: Where classes are looked up before the global registry.

    Raises:
        ValueError: There are no leaves and no default.
        CycleError: The tree contains itself.

    Example:
        >>> import leafwise as lw
        >>> lw.tree.min({"a": 3, "b": [1, 2]})
        1
    """
    leaves = _leaves(tree, is_leaf, none_is_leaf, namespace)
    return _extreme(min, leaves, default, key)


def _extreme(
    choose: Callable[..., Any],
    leaves: list[Any],
    default: Any | Missing,
    key: Callable[[Any], Any] | None,
) -> Any:
    if leaves:
        return choose(leaves, key=key)
    if default is MISSING:
        raise ValueError(
            f"tree_{choose.__name__} of a tree without leaves needs a default"
        )
    return default


# --------------------------------------------------------------------------- every node


class Visit(enum.Enum):
    """A special result that a visitor may return instead of a new node.

    Attributes:
        SKIP: Keep the node and do not visit its children.
        STOP: Keep everything from here on as it is.
        DELETE: Remove the node from its parent.

    For all other functions these are ordinary values: a mapped function that returns
    `DELETE` puts it into the new tree, which `tree_merge` takes as an overlay.

    Example:
        >>> import leafwise as lw
        >>> lw.tree_visit([1, None, 2], lambda x, path, parent:
        ...     lw.DELETE if x is None else x)
        [1, 2]
    """

    SKIP = "SKIP"
    STOP = "STOP"
    DELETE = "DELETE"

    def __repr__(self) -> str:
        return self.name


SKIP: Final = Visit.SKIP
STOP: Final = Visit.STOP
DELETE: Final = Visit.DELETE

Visitor = Callable[[Any, KeyPath, Any], Any]


class _Frame:
    """A node that is being visited: its children, and the results so far."""

    def __init__(self, node: Any, rule: Rule, put: int) -> None:
        self.put = put  # how many nodes on the way here `enter` has made
        self.node, self.rule = node, rule
        self.children, self.aux = rule.flatten(node)
        self.keys = rule.keys(self.aux, len(self.children))
        self.done: list[Any] = []

    def rebuilt(self, trail: list[Any]) -> Any:
        """Return the node with its visited children; itself if nothing changed."""
        if [*map(id, self.done)] == [*map(id, self.children)]:
            return self.node
        if not any(child is DELETE for child in self.done):
            return self.rule.unflatten(self.aux, self.done)
        if self.rule.is_mapping or self.rule.is_sequence:
            entries = self.rule.entries(self.node)
            for key, child in zip(self.keys, self.done, strict=True):
                entries[key.entry] = child
            kept = {key: child for key, child in entries.items() if child is not DELETE}
            return self.rule.remade(self.node, kept)
        path = KeyPath(trail)
        raise StructureError(
            f"a child of the {type(self.node).__name__} at {path.where()} cannot be "
            "deleted: only lists, tuples, deques and dicts can change their number of "
            "children",
            path=path,
        )


def tree_visit(
    tree: Tree,
    enter: Visitor | None = None,
    leave: Visitor | None = None,
    *,
    is_leaf: IsLeaf = None,
    namespace: str = GLOBAL,
) -> Tree:
    """Visit every node and leaf, and return the tree with the changes of the visitors.

    Args:
        tree: The tree.
        enter: Called from the top down as `enter(node, path, parent)`, before
            the children. Its result replaces the node, and the children of the result
            are visited. It may return `SKIP` to keep the node and not visit its
            children, `STOP` to keep everything that follows, or `DELETE`.
        leave: Called from the bottom up as `leave(node, path, parent)`, after the
            children, with the rebuilt node. Its result replaces the node and is not
            visited again. It may also return `STOP` or `DELETE`.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        namespace: Where classes are looked up before the global registry.

    Returns:
        The new tree. Nodes in which nothing changed are the same objects. The parent
        that a visitor receives is the original one; at the root it is None.

    Raises:
        CycleError: The tree contains itself, a visitor creates a cycle, or `enter`
            adds new nodes below new nodes without end.
        StructureError: A child was deleted from a node with a fixed number of
            children, or the root was deleted.

    Example:
        >>> import leafwise as lw
        >>> def sort_lists(node, path, parent):
        ...     return sorted(node) if isinstance(node, list) else node
        >>> lw.tree_visit({"a": [3, 1], "b": (2, [5, 4])}, sort_lists)
        {'a': [1, 3], 'b': (2, [4, 5])}
        >>> def wrap(node, path, parent):
        ...     return [node] if isinstance(node, int) else node
        >>> lw.tree_visit([1, (2,)], leave=wrap)
        [[1], ([2],)]

    The idea of a visitor that may keep, replace or stop comes from `tree.traverse` in
    dm-tree.
    """
    context = context_of(is_leaf, namespace=namespace)
    visited: Tree = Visiting(tree, enter, leave, context).run()
    return visited


class Visiting:
    """The state of one visit.

    Args:
        tree, enter, leave: See `tree_visit`.
        context: What is a node.
    """

    def __init__(self, tree: Any, enter: Any, leave: Any, context: Context) -> None:
        self.tree: Any = tree
        self.enter: Visitor | None = enter
        self.leave: Visitor | None = leave
        self.context: Context = context
        self.frames: list[_Frame] = []
        self.trail: list[Any] = []  # the keys of the current node
        self.on_path: set[int] = set()
        self.stopped: bool = False

    def run(self) -> Any:
        """Visit the tree."""
        result = self._arrive(self.tree)
        while self.frames:
            frame = self.frames[-1]
            place = len(frame.done)
            if self.stopped:
                frame.done += frame.children[place:]
                place = len(frame.children)
            if place == len(frame.children):
                result = self._depart(frame)
            else:
                self.trail.append(frame.keys[place])
                result = self._arrive(frame.children[place])
            if result is not _BELOW and self.frames:
                self.frames[-1].done.append(result)
                self.trail.pop()
        if result is DELETE:
            raise StructureError("the root of a tree cannot be deleted", path=KeyPath())
        return result

    def _arrive(self, node: Any) -> Any:
        """Enter a node: it is either done at once, or the next one to go through."""
        put = self.frames[-1].put if self.frames else 0
        answer = self._ask(self.enter, node)
        if answer is DELETE:
            return DELETE
        if answer is not SKIP:
            put += answer is not node
            node = answer
        is_done = self.stopped or answer is SKIP
        rule = None if is_done else self.context.view.resolve(type(node))
        if rule is None or self.context.stops_at(node):
            return self._ask(self.leave, node)
        _enter(node, self.trail, self.on_path)
        if put > _MOST_PUT and put > _MOST_PUT + self.depth:
            where = KeyPath(self.trail[:_SHOWN]).where()
            raise CycleError(
                f"the visit would never end: below {where}, enter has nested {put} new "
                "nodes, and what it returns is visited as well; to replace a node "
                "without visiting what replaces it, use `leave`"
            )
        self.frames.append(_Frame(node, rule, put))
        return _BELOW

    @functools.cached_property
    def depth(self) -> int:
        """How deeply nodes are nested in the tree; as deep may new ones be."""
        leaves, treedef = flatten_by(self.tree, self.context.view, None)
        deeper = lambda _cls, _aux, depths: 1 + max(depths, default=0)  # noqa: E731
        depth: int = treedef.walk(leaves, deeper, lambda _leaf: 0)
        return depth

    def _depart(self, frame: _Frame) -> Any:
        """Leave a node whose children are all done."""
        self.frames.pop()
        self.on_path.discard(id(frame.node))
        return self._ask(self.leave, frame.rebuilt(self.trail))

    def _ask(self, visitor: Visitor | None, node: Any) -> Any:
        """Ask a visitor; `STOP` means that the node stays as it is."""
        if visitor is None or self.stopped:
            return node
        parent = self.frames[-1].node if self.frames else None
        answer = visitor(node, KeyPath(self.trail), parent)
        if answer is STOP:
            self.stopped = True
            return node
        if visitor is self.leave and answer is SKIP:
            return node
        return answer


_BELOW = object()
_MOST_PUT: Final = 1000
_SHOWN: Final = 3


def _enter(node: Any, trail: list[Any], on_path: set[int]) -> None:
    """Add a node to those between the root and where a walk is.

    Raises:
        CycleError: It is one of them already.
    """
    if id(node) in on_path:
        where = KeyPath(trail).where()
        raise CycleError(f"the tree contains itself: {where} is its own ancestor")
    on_path.add(id(node))


def tree_walk(
    tree: Any,
    *,
    bottom_up: bool = False,
    is_leaf: IsLeaf = None,
    namespace: str = GLOBAL,
) -> Iterator[tuple[KeyPath, Any]]:
    """Yield every node and leaf of a tree with its key path.

    Args:
        tree: The tree.
        bottom_up: Whether children come before their parents.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        namespace: Where classes are looked up before the global registry.

    Yields:
        `(path, node)` pairs.

    Raises:
        CycleError: The tree contains itself.

    Example:
        >>> import leafwise as lw
        >>> for path, node in lw.tree_walk({"a": [1]}):
        ...     print(path.where(), node)
        the root {'a': [1]}
        ['a'] [1]
        ['a'][0] 1
    """
    context = context_of(is_leaf, namespace=namespace)
    stack: list[tuple[int, Any, Any]] = [(0, None, tree)]  # (depth, key, node)
    trail: list[Any] = []  # the keys of the current node
    on_path: set[int] = set()
    while stack:
        depth, key, node = stack.pop()
        if depth < 0:  # all children of the node are done
            trail[-depth - 1 :] = []
            on_path.discard(id(node))
            if bottom_up:
                yield KeyPath(trail), node
            continue
        if depth:
            trail[depth - 1 :] = [key]
        path = KeyPath(trail)
        rule = context.rule_of(node)
        if rule is None:
            yield path, node
            continue
        _enter(node, trail, on_path)
        if not bottom_up:
            yield path, node
        children, aux = rule.flatten(node)
        keys = rule.keys(aux, len(children))
        stack.append((-depth - 1, None, node))
        below = [(depth + 1, *pair) for pair in zip(keys, children, strict=True)]
        stack += reversed(below)
