"""The basic operations: flatten, unflatten, map.

The arguments that most functions share:

    is_leaf: Stops the walk early. A predicate that is asked of each node from
        the root down, a type, or a tuple of types.
    is_leaf_takes_path: Whether the predicate is called as `is_leaf(path, node)`.
    none_is_leaf: Whether None is a leaf; by default it is a node without
        children.
    namespace: The namespace to look classes up in before the global registry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal

from ..core.auxdata import clip, described
from ..core.registry import current
from ..core.treedef import PyTreeDef
from ..core.view import GLOBAL, View
from ..core.walk import Predicate, iter_leaves, map_leaves
from .outlook import columns_of, outlook, predicate, take_apart
from .parallel import Executor, map_on
from .tied import map_tied


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
    if is_leaf is None and namespace is GLOBAL and none_is_leaf is False:
        view, stop = current.view, None
        hot = view.hot.get(type(tree))
        if hot is not None and (found := hot(tree)) is not None:
            return found
    else:
        view, stop = outlook(is_leaf, is_leaf_takes_path, none_is_leaf, namespace)
    return take_apart(tree, view, stop)


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
    return tree_flatten(
        tree,
        is_leaf,
        is_leaf_takes_path=is_leaf_takes_path,
        none_is_leaf=none_is_leaf,
        namespace=namespace,
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
        tree, *outlook(is_leaf, is_leaf_takes_path, none_is_leaf, namespace)
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
            f"got {described(treedef)}"
            + (" (swap the two arguments)" if swapped else "")
        )
    if type(leaves) is list and len(leaves) == treedef._count:
        return treedef._runner.build(treedef, leaves)
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
    share: Literal["preserve"] | None = None,
    executor: Executor | None = None,
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
        share: `"preserve"` maps what is one object in `tree` once, and puts the one
            result wherever it stands, so that what is tied stays tied. Numbers and
            texts are mapped each time.
        executor: What calls `f` elsewhere, such as a `ThreadPoolExecutor`; see
            `concurrent.futures`. The first call that fails cancels those that have not
            begun.

    Returns:
        A new tree. Dicts keep the insertion order of `tree`.

    Raises:
        StructureError: A further tree does not have the structure of `tree`;
            `f` has not been called then.
        CycleError: The tree contains itself.
        ValueError: `share` is unknown, or given together with `executor`.

    An exception that `f` raises passes through, with a note of the key path.

    Example:
        >>> import leafwise as lw
        >>> lw.tree_map(lambda x: x * 2, {"b": 1, "a": (2, None)})
        {'b': 2, 'a': (4, None)}
        >>> lw.tree_map(lambda x, y: x + y, [1, 2], [10, 20])
        [11, 22]
        >>> row = [1, 2]
        >>> tied = lw.tree_map(lambda x: x, {"a": row, "b": row}, share="preserve")
        >>> tied["a"] is tied["b"]
        True
    """
    if share is not None:
        if executor is not None:
            raise ValueError("share and executor cannot be given together")
        return _map_tied(
            share,
            f,
            (tree, *rest),
            *outlook(is_leaf, is_leaf_takes_path, none_is_leaf, namespace),
            strict=strict,
        )
    if is_leaf is None and namespace is GLOBAL and none_is_leaf is False:
        view, stop = current.view, None
    else:
        view, stop = outlook(is_leaf, is_leaf_takes_path, none_is_leaf, namespace)
    if not rest:
        leaves, treedef = take_apart(tree, view, stop)
        columns = [leaves]
    else:
        columns, treedef = columns_of(tree, rest, view, stop, strict=strict)
    if executor is None:
        values = map_leaves(f, columns, treedef._code)
    else:
        values = map_on(executor, f, columns, treedef._code)
    return treedef._runner.build(treedef, values)


def _map_tied(
    share: str,
    f: Callable[..., Any],
    trees: tuple[Any, ...],
    view: View,
    stop: Predicate,
    *,
    strict: bool,
) -> Any:
    if share != "preserve":
        raise ValueError(f"share must be None or 'preserve', got {clip(share)}")
    return map_tied(f, trees, view, stop, strict=strict)


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
    view, stop = outlook(is_leaf, is_leaf_takes_path, none_is_leaf, namespace)
    columns, treedef = columns_of(tree, rest, view, stop, strict=strict)
    map_leaves(f, columns, treedef._code)
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
            f"predicate, got {described(chosen)}"
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
