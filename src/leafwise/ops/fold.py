"""Folding the leaves of a tree into one value.

Owns the reductions; the leaves come from `map`. For the arguments that most
functions share see there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..core.registry import GLOBAL
from ..safely import MISSING, Missing
from .map import tree_leaves


if TYPE_CHECKING:
    from ..core.node import IsLeaf

__all__ = [
    "tree_all",
    "tree_any",
    "tree_max",
    "tree_min",
    "tree_reduce",
    "tree_reduce_associative",
    "tree_sum",
]


def tree_reduce(
    function: Callable[[Any, Any], Any],
    tree: Any,
    initializer: Any = MISSING,
    is_leaf: IsLeaf = None,
    *,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> Any:
    """Fold the leaves from left to right, as `functools.reduce` does.

    Args:
        function: Takes the value so far and the next leaf.
        tree: The tree.
        initializer: The value to begin with; without it, the first leaf.
        is_leaf, is_leaf_takes_path, none_is_leaf, namespace: See
            :ref:`common arguments <common>`.

    Raises:
        TypeError: There are no leaves and no initializer.
        CycleError: The tree contains itself.

    Example:
        >>> import leafwise as lw
        >>> lw.tree_reduce(lambda total, x: total + x, [1, (2, 3)])
        6
    """
    leaves = tree_leaves(
        tree,
        is_leaf,
        is_leaf_takes_path=is_leaf_takes_path,
        none_is_leaf=none_is_leaf,
        namespace=namespace,
    )
    if initializer is not MISSING:
        return functools.reduce(function, leaves, initializer)
    if not leaves:
        raise TypeError("tree_reduce of a tree without leaves needs an initializer")
    return functools.reduce(function, leaves)


def tree_reduce_associative(
    operation: Callable[[Any, Any], Any],
    tree: Any,
    *,
    identity: Any = MISSING,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> Any:
    """Fold the leaves in a balanced way, for an associative operation.

    Each half is folded on its own, so sums of floats lose less and results of
    independent halves do not wait for each other.

    Args:
        operation: Takes two values; must be associative.
        tree: The tree.
        identity: The result for a tree without leaves.
        is_leaf, is_leaf_takes_path, none_is_leaf, namespace: See
            :ref:`common arguments <common>`.

    Raises:
        TypeError: There are no leaves and no identity.
        CycleError: The tree contains itself.

    Example:
        >>> import leafwise as lw
        >>> lw.tree_reduce_associative(lambda x, y: f"({x}{y})", ["a", "b", "c"])
        '(a(bc))'

    The idea is that of `jax.tree_util.tree_reduce_associative`.
    """
    leaves = tree_leaves(
        tree,
        is_leaf,
        is_leaf_takes_path=is_leaf_takes_path,
        none_is_leaf=none_is_leaf,
        namespace=namespace,
    )
    if leaves:
        return _fold_halves(operation, leaves)
    if identity is MISSING:
        raise TypeError(
            "tree_reduce_associative of a tree without leaves needs an identity"
        )
    return identity


def _fold_halves(operation: Callable[[Any, Any], Any], values: list[Any]) -> Any:
    if len(values) == 1:
        return values[0]
    half = len(values) // 2
    return operation(
        _fold_halves(operation, values[:half]), _fold_halves(operation, values[half:])
    )


def tree_all(
    tree: Any,
    *,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> bool:
    """Return whether all leaves are true; stops at the first that is not.

    Args:
        tree: The tree.
        is_leaf, is_leaf_takes_path, none_is_leaf, namespace: See
            :ref:`common arguments <common>`.

    Raises:
        CycleError: The tree contains itself.

    Example:
        >>> import leafwise as lw
        >>> lw.tree_all({"a": True, "b": [1, 0]}), lw.tree_all([])
        (False, True)
    """
    return all(
        tree_leaves(
            tree,
            is_leaf,
            is_leaf_takes_path=is_leaf_takes_path,
            none_is_leaf=none_is_leaf,
            namespace=namespace,
        )
    )


def tree_any(
    tree: Any,
    *,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> bool:
    """Return whether any leaf is true; stops at the first that is.

    Args:
        tree: The tree.
        is_leaf, is_leaf_takes_path, none_is_leaf, namespace: See
            :ref:`common arguments <common>`.

    Raises:
        CycleError: The tree contains itself.

    Example:
        >>> import leafwise as lw
        >>> lw.tree_any({"a": False, "b": [1, 0]}), lw.tree_any([])
        (True, False)
    """
    return any(
        tree_leaves(
            tree,
            is_leaf,
            is_leaf_takes_path=is_leaf_takes_path,
            none_is_leaf=none_is_leaf,
            namespace=namespace,
        )
    )


def tree_sum(
    tree: Any,
    start: Any = 0,
    *,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> Any:
    """Add up the leaves, from left to right.

    Args:
        tree: The tree.
        start: The value to begin with; a str or bytes joins the leaves.
        is_leaf, is_leaf_takes_path, none_is_leaf, namespace: See
            :ref:`common arguments <common>`.

    Raises:
        CycleError: The tree contains itself.

    Example:
        >>> import leafwise as lw
        >>> lw.tree_sum({"a": 1, "b": [2, 3]}), lw.tree_sum(["x", ("y",)], start="")
        (6, 'xy')
    """
    leaves = tree_leaves(
        tree,
        is_leaf,
        is_leaf_takes_path=is_leaf_takes_path,
        none_is_leaf=none_is_leaf,
        namespace=namespace,
    )
    if isinstance(start, str | bytes | bytearray):
        return start + type(start)().join(leaves)  # type: ignore[operator]
    return sum(leaves, start)


def tree_max(
    tree: Any,
    *,
    default: Any = MISSING,
    key: Callable[[Any], Any] | None = None,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> Any:
    """Return the largest leaf, the first of several.

    Args:
        tree: The tree.
        default: The result for a tree without leaves.
        key: What to compare leaves by.
        is_leaf, is_leaf_takes_path, none_is_leaf, namespace: See
            :ref:`common arguments <common>`.

    Raises:
        ValueError: There are no leaves and no default.
        CycleError: The tree contains itself.

    Example:
        >>> import leafwise as lw
        >>> lw.tree_max({"a": 1, "b": [3, 2]}), lw.tree_max([], default=0)
        (3, 0)
    """
    leaves = tree_leaves(
        tree,
        is_leaf,
        is_leaf_takes_path=is_leaf_takes_path,
        none_is_leaf=none_is_leaf,
        namespace=namespace,
    )
    return _extreme(max, "tree_max", leaves, default, key)


def tree_min(
    tree: Any,
    *,
    default: Any = MISSING,
    key: Callable[[Any], Any] | None = None,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> Any:
    """Return the smallest leaf, the first of several.

    Args:
        tree: The tree.
        default: The result for a tree without leaves.
        key: What to compare leaves by.
        is_leaf, is_leaf_takes_path, none_is_leaf, namespace: See
            :ref:`common arguments <common>`.

    Raises:
        ValueError: There are no leaves and no default.
        CycleError: The tree contains itself.

    Example:
        >>> import leafwise as lw
        >>> lw.tree_min({"a": 3, "b": [1, 2]})
        1
    """
    leaves = tree_leaves(
        tree,
        is_leaf,
        is_leaf_takes_path=is_leaf_takes_path,
        none_is_leaf=none_is_leaf,
        namespace=namespace,
    )
    return _extreme(min, "tree_min", leaves, default, key)


def _extreme(
    choose: Callable[..., Any],
    name: str,
    leaves: list[Any],
    default: Any | Missing,
    key: Callable[[Any], Any] | None,
) -> Any:
    if leaves:
        return choose(leaves, key=key)
    if default is MISSING:
        raise ValueError(f"{name} of a tree without leaves needs a default")
    return default
