"""The basic operations: flatten, unflatten, map.

Owns argument checking and the choice of the walk; how a tree is walked is the
core's affair. The arguments that most functions share:

    is_leaf: Stops the walk early. A predicate that is asked of each node from
        the root down, a type, or a tuple of types.
    is_leaf_takes_path: Whether the predicate is called as `is_leaf(path, node)`.
    none_is_leaf: Whether None is a leaf; by default it is a node without
        children.
    namespace: The namespace to look classes up in before the global registry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import UnionType
from typing import TYPE_CHECKING, Any

from ..core.auxdata import clip
from ..core.code import ROOT, Code, flatten_up_to, leaf_paths, rebuild
from ..core.keypath import KeyPath
from ..core.mismatch import deeper, differences, mismatch_error
from ..core.registry import GLOBAL, View, current, view_of
from ..core.treedef import PyTreeDef, make_treedef
from ..core.walk import (
    PathPredicate,
    Predicate,
    flatten,
    iter_leaves,
    map_leaves,
    map_tree,
)


if TYPE_CHECKING:
    from ..typing import IsLeaf

__all__ = [
    "tree_flatten",
    "tree_iter",
    "tree_leaves",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_replace_nones",
    "tree_structure",
    "tree_unflatten",
]


def predicate(is_leaf: IsLeaf, takes_path: bool = False) -> Predicate:
    """Turn what `is_leaf` takes into a predicate, or None.

    Raises:
        TypeError: It is neither a predicate, nor a type, nor a tuple of types.
    """
    if is_leaf is None:
        return None
    if isinstance(is_leaf, type | UnionType) or (
        isinstance(is_leaf, tuple) and all(isinstance(cls, type) for cls in is_leaf)
    ):
        return lambda node: isinstance(node, is_leaf)
    if callable(is_leaf) and not hasattr(is_leaf, "__origin__"):
        return PathPredicate(is_leaf) if takes_path else is_leaf
    raise TypeError(
        "is_leaf must be a predicate, a type or a tuple of types, "
        f"got {type(is_leaf).__name__}: {clip(is_leaf)}"
    )


def asks_to_stop(stop: Predicate, tree: Any, path: KeyPath = ROOT) -> bool:
    """Say whether a predicate stops at a node, by default at a root."""
    if isinstance(stop, PathPredicate):
        return bool(stop.function(path, tree))
    return stop is not None and bool(stop(tree))


# ---------------------------------------------------------- flatten, unflatten


def tree_flatten(
    tree: Any,
    is_leaf: IsLeaf = None,
    *,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> tuple[list[Any], PyTreeDef]:
    """Split a tree into its leaves and its structure.

    Args:
        tree: Any value; a value of no registered type is a leaf by itself.
        is_leaf, is_leaf_takes_path, none_is_leaf, namespace: See
            :ref:`common arguments <common>`.

    Returns:
        The leaves from left to right, dict leaves in sorted key order, and the
        treedef that `tree_unflatten` takes.

    Raises:
        CycleError: The tree contains itself.
        FlattenError: A registered flatten function returned the wrong thing.

    Example:
        >>> import leafwise as lw
        >>> lw.tree_flatten({"lr": 0.1, "betas": (0.9, 0.99)})
        ([0.9, 0.99, 0.1], PyTreeDef({'betas': (*, *), 'lr': *}))
    """
    plain = namespace is GLOBAL and none_is_leaf is False
    view = current.view if plain else view_of(namespace, none_is_leaf)
    if is_leaf is None and type(tree) in view.leaf_types:
        return [tree], view.leaf_treedef or make_treedef((), 1, view)
    leaves, code = flatten(tree, view, predicate(is_leaf, is_leaf_takes_path))
    return leaves, make_treedef(code, len(leaves), view)


def tree_leaves(
    tree: Any,
    is_leaf: IsLeaf = None,
    *,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> list[Any]:
    """Return the leaves of a tree, from left to right.

    Args:
        tree: Any value.
        is_leaf, is_leaf_takes_path, none_is_leaf, namespace: See
            :ref:`common arguments <common>`.

    Raises:
        CycleError: The tree contains itself.

    Example:
        >>> import leafwise as lw
        >>> lw.tree_leaves([1, (2, None), {"b": 3, "a": 4}])
        [1, 2, 4, 3]
        >>> lw.tree_leaves([1, (2, 3)], is_leaf=tuple)
        [1, (2, 3)]
    """
    return flatten(
        tree, view_of(namespace, none_is_leaf), predicate(is_leaf, is_leaf_takes_path)
    )[0]


def tree_structure(
    tree: Any,
    is_leaf: IsLeaf = None,
    *,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> PyTreeDef:
    """Return the structure of a tree.

    Args:
        tree: Any value.
        is_leaf, is_leaf_takes_path, none_is_leaf, namespace: See
            :ref:`common arguments <common>`.

    Raises:
        CycleError: The tree contains itself.

    Example:
        >>> import leafwise as lw
        >>> lw.tree_structure([1, (2, None)])
        PyTreeDef([*, (*, None)])
    """
    return tree_flatten(
        tree,
        is_leaf,
        is_leaf_takes_path=is_leaf_takes_path,
        none_is_leaf=none_is_leaf,
        namespace=namespace,
    )[1]


def tree_iter(
    tree: Any,
    is_leaf: IsLeaf = None,
    *,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> Iterator[Any]:
    """Return an iterator over the leaves that walks no further than it must.

    Args:
        tree: Any value.
        is_leaf, is_leaf_takes_path, none_is_leaf, namespace: See
            :ref:`common arguments <common>`.

    Raises:
        CycleError: The tree contains itself; raised when the walk gets there.

    Example:
        >>> import leafwise as lw
        >>> next(lw.tree_iter({"b": 1, "a": 2}))
        2
    """
    return iter_leaves(
        tree, view_of(namespace, none_is_leaf), predicate(is_leaf, is_leaf_takes_path)
    )


def tree_unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    """Put a tree together from its structure and its leaves.

    Args:
        treedef: The structure.
        leaves: As many leaves as the structure has, from left to right. Any
            object may stand for a leaf: no `__init__` runs.

    Raises:
        StructureError: Too few or too many leaves.
        TypeError: `treedef` is no treedef.

    Example:
        >>> import leafwise as lw
        >>> leaves, treedef = lw.tree_flatten([1, {"a": 2}])
        >>> lw.tree_unflatten(treedef, [x * 10 for x in leaves])
        [10, {'a': 20}]
    """
    if type(treedef) is not PyTreeDef:
        swapped = isinstance(leaves, PyTreeDef)
        raise TypeError(
            "tree_unflatten takes the treedef first and the leaves second, "
            f"got {type(treedef).__name__}: {clip(treedef)}"
            + (" (swap the two arguments)" if swapped else "")
        )
    return treedef.unflatten(leaves)


# -------------------------------------------------------------------------- map


def tree_map(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
    strict: bool = False,
) -> Any:
    """Call a function on each leaf and return the results in the same structure.

    Args:
        f: Called with a leaf of `tree` and what stands at its place in each
            further tree, in leaf order.
        tree: The tree that gives the structure.
        *rest: Further trees that have the structure of `tree`. They may go
            deeper; `f` gets the whole subtree then.
        is_leaf, is_leaf_takes_path, none_is_leaf, namespace: See
            :ref:`common arguments <common>`.
        strict: Whether to refuse further trees that go deeper than `tree`.

    Returns:
        A new tree. Dicts keep the insertion order of `tree`.

    Raises:
        StructureError: A further tree does not have the structure of `tree`;
            `f` has not been called then.
        CycleError: The tree contains itself.

    An exception that `f` raises passes through, with a note of the key path.

    Example:
        >>> import leafwise as lw
        >>> lw.tree_map(lambda x: x * 2, {"b": 1, "a": (2, None)})
        {'b': 2, 'a': (4, None)}
        >>> lw.tree_map(lambda x, y: x + y, [1, 2], [10, 20])
        [11, 22]
    """
    plain = namespace is GLOBAL and none_is_leaf is False
    view = current.view if plain else view_of(namespace, none_is_leaf)
    if is_leaf is None:
        if not rest:
            return map_tree(f, tree, view)
        if type(tree) in view.leaf_types and not strict:
            return map_leaves(f, [[tree], *([other] for other in rest)], ())[0]
    stop = predicate(is_leaf, is_leaf_takes_path)
    columns, code = columns_of(tree, rest, view, stop, strict=strict)
    return rebuild(code, map_leaves(f, columns, code))


def columns_of(
    tree: Any,
    rest: tuple[Any, ...],
    view: View,
    stop: Predicate,
    *,
    strict: bool = False,
    with_paths: bool = False,
) -> tuple[list[list[Any]], Code]:
    """Return what a map over several trees calls its function with, and the code.

    One list for each argument: the key paths, if they are wanted, the leaves of
    the first tree, and what each further tree has at their places.
    """
    leaves, code = flatten(tree, view, stop)
    columns = [leaves]
    for index, other in enumerate(rest, start=1):
        column = flatten_up_to(code, other)
        found = differences(code, other, view) if column is None else []
        if strict and column is not None:
            found = deeper(code, other, view)
        if column is None or found:
            raise mismatch_error(
                found,
                subject=f"tree {index} does not have the structure of the first tree",
                tree_index=index,
            )
        columns.append(column)
    if with_paths:
        columns.insert(0, [*leaf_paths(code, len(leaves))])
    return columns, code


def tree_map_(
    f: Callable[..., object],
    tree: Any,
    *rest: Any,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
    strict: bool = False,
) -> Any:
    """Call a function on each leaf for its effect and return the tree itself.

    The structure is checked whole before the first call.

    Args:
        f: Called as in `tree_map`; what it returns is dropped.
        tree: The tree that gives the structure.
        *rest: Further trees that have the structure of `tree`.
        is_leaf, is_leaf_takes_path, none_is_leaf, namespace: See
            :ref:`common arguments <common>`.
        strict: Whether to refuse further trees that go deeper than `tree`.

    Returns:
        `tree`, the same object.

    Raises:
        StructureError: A further tree does not have the structure of `tree`.
        CycleError: The tree contains itself.

    Example:
        >>> import leafwise as lw
        >>> seen = []
        >>> lw.tree_map_(seen.append, {"b": 1, "a": 2})
        {'b': 1, 'a': 2}
        >>> seen
        [2, 1]
    """
    view = view_of(namespace, none_is_leaf)
    stop = predicate(is_leaf, is_leaf_takes_path)
    columns, code = columns_of(tree, rest, view, stop, strict=strict)
    map_leaves(f, columns, code)
    return tree


def tree_map_only(
    type_or_types: IsLeaf,
    f: Callable[[Any], Any],
    tree: Any,
    *,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> Any:
    """Map the leaves of some types and leave the others as they are.

    Args:
        type_or_types: A type, a tuple of types, a union such as `int | str`, or
            a predicate on leaves.
        f: Called with each such leaf.
        tree: The tree.
        is_leaf, is_leaf_takes_path, none_is_leaf, namespace: See
            :ref:`common arguments <common>`.

    Raises:
        TypeError: `type_or_types` is none of these.
        CycleError: The tree contains itself.

    Example:
        >>> import leafwise as lw
        >>> lw.tree_map_only(str, str.upper, ["a", 1, {"k": "b"}])
        ['A', 1, {'k': 'B'}]

    The idea is that of `torch.utils._pytree.tree_map_only`.
    """
    chosen = _chooser(type_or_types)
    return tree_map(
        lambda leaf: f(leaf) if chosen(leaf) else leaf,
        tree,
        is_leaf=is_leaf,
        is_leaf_takes_path=is_leaf_takes_path,
        none_is_leaf=none_is_leaf,
        namespace=namespace,
    )


def _chooser(chosen: Any) -> Any:
    try:
        found = predicate(chosen)
    except TypeError:
        found = None
    if found is None:
        raise TypeError(
            "tree_map_only selects by a type, a tuple of types, a union or a "
            f"predicate, got {type(chosen).__name__}: {clip(chosen)}"
        )
    return found


def tree_replace_nones(
    sentinel: Any,
    tree: Any,
    *,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
    namespace: str = GLOBAL,
) -> Any:
    """Return the tree with an object in the place of each None.

    Args:
        sentinel: What to put there.
        tree: The tree; a bare None counts as well.
        is_leaf, is_leaf_takes_path, namespace: See
            :ref:`common arguments <common>`.

    Raises:
        CycleError: The tree contains itself.

    Example:
        >>> import leafwise as lw
        >>> lw.tree_replace_nones(0, {"a": None, "b": [1, None]})
        {'a': 0, 'b': [1, 0]}
    """
    return tree_map(
        lambda leaf: sentinel if leaf is None else leaf,
        tree,
        is_leaf=is_leaf,
        is_leaf_takes_path=is_leaf_takes_path,
        none_is_leaf=True,
        namespace=namespace,
    )
