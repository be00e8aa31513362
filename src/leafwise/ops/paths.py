"""Leaves by name: the operations that give each leaf with its key path.

Owns nothing but the combination: paths are read off the code of a structure,
so they belong to exactly the children that were walked. For the arguments that
most functions share see `basic`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..core.keypath import KeyPath
from ..core.treedef import PyTreeDef
from ..core.view import GLOBAL
from ..core.walk import map_leaves
from .basic import tree_flatten, tree_structure
from .outlook import columns_of, outlook


if TYPE_CHECKING:
    from ..typing import IsLeaf

__all__ = [
    "tree_flatten_with_path",
    "tree_leaves_with_path",
    "tree_map_with_path",
    "tree_map_with_path_",
    "tree_paths",
]


def tree_flatten_with_path(
    tree: Any,
    is_leaf: IsLeaf = None,
    *,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
    """Split a tree into its leaves, each with its key path, and its structure.

    Args:
        tree: Any value.
        is_leaf, is_leaf_takes_path, none_is_leaf, namespace: See
            :ref:`common arguments <common>`.

    Returns:
        The `(path, leaf)` pairs from left to right, and the treedef.

    Raises:
        CycleError: The tree contains itself.

    Example:
        >>> import leafwise as lw
        >>> pairs, treedef = lw.tree_flatten_with_path({"a": [1, 2]})
        >>> [(str(path), leaf) for path, leaf in pairs]
        [("['a'][0]", 1), ("['a'][1]", 2)]
    """
    leaves, treedef = tree_flatten(
        tree,
        is_leaf,
        is_leaf_takes_path=is_leaf_takes_path,
        none_is_leaf=none_is_leaf,
        namespace=namespace,
    )
    return [*zip(treedef._runner.paths(treedef), leaves, strict=True)], treedef


def tree_leaves_with_path(
    tree: Any,
    is_leaf: IsLeaf = None,
    *,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> list[tuple[KeyPath, Any]]:
    """Return the leaves of a tree, each with its key path.

    Args:
        tree: Any value.
        is_leaf, is_leaf_takes_path, none_is_leaf, namespace: See
            :ref:`common arguments <common>`.

    Raises:
        CycleError: The tree contains itself.

    Example:
        >>> import leafwise as lw
        >>> for path, leaf in lw.tree_leaves_with_path({"lr": 0.1, "betas": (0.9,)}):
        ...     print(path, "=", leaf)
        ['betas'][0] = 0.9
        ['lr'] = 0.1
    """
    return tree_flatten_with_path(
        tree,
        is_leaf,
        is_leaf_takes_path=is_leaf_takes_path,
        none_is_leaf=none_is_leaf,
        namespace=namespace,
    )[0]


def tree_paths(
    tree: Any,
    is_leaf: IsLeaf = None,
    *,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> list[KeyPath]:
    """Return the key paths of the leaves, from left to right.

    Args:
        tree: Any value.
        is_leaf, is_leaf_takes_path, none_is_leaf, namespace: See
            :ref:`common arguments <common>`.

    Raises:
        CycleError: The tree contains itself.

    Example:
        >>> import leafwise as lw
        >>> [str(path) for path in lw.tree_paths([1, {"a": 2}])]
        ['[0]', "[1]['a']"]
    """
    return tree_structure(
        tree,
        is_leaf,
        is_leaf_takes_path=is_leaf_takes_path,
        none_is_leaf=none_is_leaf,
        namespace=namespace,
    ).paths()


def tree_map_with_path(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
    strict: bool = False,
) -> Any:
    """Map over the leaves with a function that also takes the key path.

    Args:
        f: Called as `f(path, leaf, *others)`, in leaf order.
        tree: The tree that gives the structure.
        *rest: Further trees that have the structure of `tree`.
        is_leaf, is_leaf_takes_path, none_is_leaf, namespace: See
            :ref:`common arguments <common>`.
        strict: Whether to refuse further trees that go deeper than `tree`.

    Returns:
        A new tree with the structure of `tree`.

    Raises:
        StructureError: A further tree does not have the structure of `tree`.
        CycleError: The tree contains itself.

    Example:
        >>> import leafwise as lw
        >>> lw.tree_map_with_path(lambda path, x: f"{path} is {x}", {"a": [1]})
        {'a': ["['a'][0] is 1"]}
    """
    view, stop = outlook(is_leaf, is_leaf_takes_path, none_is_leaf, namespace)
    columns, treedef = columns_of(
        tree, rest, view, stop, strict=strict, with_paths=True
    )
    values = map_leaves(f, columns, treedef._code)
    return treedef._runner.build(treedef, values)


def tree_map_with_path_(
    f: Callable[..., object],
    tree: Any,
    *rest: Any,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
    strict: bool = False,
) -> Any:
    """Call a function on each path and leaf for its effect; return the tree itself.

    Args:
        f: Called as `f(path, leaf, *others)`; what it returns is dropped.
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
        >>> _ = lw.tree_map_with_path_(lambda path, x: print(path, x), {"a": [1]})
        ['a'][0] 1
    """
    view, stop = outlook(is_leaf, is_leaf_takes_path, none_is_leaf, namespace)
    columns, treedef = columns_of(
        tree, rest, view, stop, strict=strict, with_paths=True
    )
    map_leaves(f, columns, treedef._code)
    return tree
