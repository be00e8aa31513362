"""Traversals: the leaves of a tree folded into one value, and every node visited.

For the arguments that most functions share see `map`.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, overload

from .._records import MISSING, Missing
from ..core.context import Context, context_of, flatten_by
from ..core.keypath import ROOT, KeyPath
from ..core.node import NodeType, items_by_key, with_items
from ..core.registry import GLOBAL
from ..core.treedef import locate_call
from ..core.walk import Walk, require_function
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
    require_function(function)  # a single leaf is returned without a call
    context = context_of(is_leaf, none_is_leaf=none_is_leaf, namespace=namespace)
    leaves = context.leaves(tree)
    if not leaves and initializer is MISSING:
        raise TypeError("tree_reduce of a tree without leaves needs an initializer")

    def reduce(leaves_left: Iterator[Any]) -> Any:
        if initializer is MISSING:
            return functools.reduce(function, leaves_left)
        return functools.reduce(function, leaves_left, initializer)

    return _folded(reduce, leaves, tree, context)


def _folded(
    fold: Callable[[Iterator[Any]], T],
    leaves: list[Any],
    tree: Any,
    context: Context,
) -> T:
    """Return what a function makes of the leaves of a tree.

    If it fails, the error says which leaf it had come to. The tree is read again then,
    since only a failure needs its structure.
    """
    leaves_left = iter(leaves)  # says after a failure how far the fold had come
    try:
        return fold(leaves_left)
    except Exception as error:
        all_leaves, treedef = context.flatten(tree)
        locate_call(error, functools.reduce, [all_leaves], treedef, leaves_left)
        raise


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
    context = context_of(is_leaf, none_is_leaf=none_is_leaf, namespace=namespace)
    return _folded(all, context.leaves(tree), tree, context)


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
    context = context_of(is_leaf, none_is_leaf=none_is_leaf, namespace=namespace)
    return _folded(any, context.leaves(tree), tree, context)


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
    context = context_of(is_leaf, none_is_leaf=none_is_leaf, namespace=namespace)
    leaves = context.leaves(tree)
    if isinstance(start, str | bytes | bytearray):
        # `sum` refuses text; joining takes time in proportion to its length
        return start + type(start)().join(leaves)  # type: ignore[operator]
    return _folded(functools.partial(sum, start=start), leaves, tree, context)


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
    context = context_of(is_leaf, none_is_leaf=none_is_leaf, namespace=namespace)
    return _extreme(max, tree, context, default, key)


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
    context = context_of(is_leaf, none_is_leaf=none_is_leaf, namespace=namespace)
    return _extreme(min, tree, context, default, key)


def _extreme(
    choose: Callable[..., Any],
    tree: Any,
    context: Context,
    default: Any | Missing,
    key: Callable[[Any], Any] | None,
) -> Any:
    leaves = context.leaves(tree)
    if leaves:
        return _folded(functools.partial(choose, key=key), leaves, tree, context)
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
    visit = _Visit(tree, enter, leave, context)
    return visit.run()  # type: ignore[no-any-return]  # of the visitors


class _Visit:
    """The state of one visit.

    Args:
        tree, enter, leave: See `tree_visit`.
        context: What is a node.
    """

    def __init__(
        self,
        tree: Any,
        enter: Visitor | None,
        leave: Visitor | None,
        context: Context,
    ) -> None:
        self.tree = tree
        self.enter = enter
        self.leave = leave
        self.context = context
        self.steps = Walk(tree, context.view, leaving=True)
        self.is_stopped = False
        # The nodes from the root down, each with the number of nodes from `enter` among
        # them, and the results of children whose parents are not rebuilt yet.
        self.open_nodes: list[tuple[Any, int]] = []
        self.results: list[Any] = []

    def run(self) -> Any:
        """Visit the tree."""
        for _, node, node_type, is_leaving in self.steps:
            if is_leaving:
                self.open_nodes.pop()
                result = self._rebuild(node, node_type)
            else:
                result = self._enter(node, node_type)
                if result is _BELOW:
                    continue
                if result is DELETE:
                    self.results.append(DELETE)
                    continue
            if self.leave is not None:
                result = self._call(self.leave, result)
            self.results.append(result)
        (result,) = self.results
        if result is DELETE:
            raise StructureError("the root of a tree cannot be deleted", path=ROOT)
        return result

    def _enter(self, node: Any, node_type: NodeType | None) -> Any:
        """Return what stands in place of a node or leaf.

        This is `_BELOW` if it is a node, and the walk goes on to its children.
        """
        result = node
        if self.enter is not None:
            result = self._call(self.enter, node)
        if result is SKIP or self.is_stopped:
            self.steps.skip()
            return node
        if result is DELETE:
            self.steps.skip()
            return DELETE
        is_new = result is not node
        if is_new:
            node_type = self.steps.replace(result)
        if node_type is None:
            return result
        if self.context.stop is not None and self.context.stops_at(result):
            self.steps.skip()
            return result
        count = self.open_nodes[-1][1] if self.open_nodes else 0
        count += is_new
        if count > _MAX_NEW_NODES and count > _MAX_NEW_NODES + self.depth:
            where = self.steps.path()[:_SHOWN].where()
            raise CycleError(
                f"the visit would never end: below {where}, enter has nested {count} "
                "new nodes, and what it returns is visited as well; to replace a node "
                "without visiting what replaces it, use `leave`"
            )
        self.open_nodes.append((result, count))
        return _BELOW

    def _call(self, visitor: Visitor, node: Any) -> Any:
        """Call a visitor, and return its result; a node that is to stay, for `STOP`."""
        if self.is_stopped:
            return node
        parent = self.open_nodes[-1][0] if self.open_nodes else None
        result = visitor(node, self.steps.path(), parent)
        if result is STOP:
            self.is_stopped = True
            return node
        if visitor is self.leave and result is SKIP:
            return node
        return result

    @functools.cached_property
    def depth(self) -> int:
        """How deeply nodes are nested in the tree; as deep may new ones be."""

        def depth_of(_cls: type, _data: Any, depths: tuple[int, ...]) -> int:
            return 1 + max(depths, default=0)

        leaves, treedef = flatten_by(self.tree, self.context.view, None)
        return treedef.walk(leaves, depth_of, lambda _leaf: 0)  # type: ignore[no-any-return]

    def _rebuild(self, node: Any, node_type: Any) -> Any:
        """Return a node with its visited children; itself if nothing changed."""
        children, aux = self.steps.flatten()
        start = len(self.results) - len(children)
        results = self.results[start:]
        del self.results[start:]
        if list(map(id, results)) == list(map(id, children)):
            return node
        if not any(result is DELETE for result in results):
            return node_type.unflatten(aux, results)
        if node_type.item_key is not None:
            items = items_by_key(node_type, node)
            for key, result in zip(
                node_type.keys(aux, len(children)), results, strict=True
            ):
                if result is DELETE:
                    del items[key.entry]
                else:
                    items[key.entry] = result
            return with_items(node_type, node, items)
        path = self.steps.path()
        raise StructureError(
            f"a child of the {type(node).__name__} at {path.where()} cannot be "
            "deleted: only lists, tuples, deques and dicts can change their number of "
            "children",
            path=path,
        )


_BELOW: Final = object()
_MAX_NEW_NODES: Final = 1000
_SHOWN: Final = 3


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
    steps = Walk(tree, context.view, context.stop, leaving=bottom_up)
    for _, node, node_type, is_leaving in steps:
        if node_type is None or is_leaving == bottom_up:
            yield steps.path(), node
