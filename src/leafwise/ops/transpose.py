"""Turning trees inside out: a tree of tuples into a tuple of trees.

Owns transposing. Every tree is checked for its whole structure, never for its
number of leaves alone. For the arguments that most functions share see `basic`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..core.auxdata import clip, described
from ..core.code import flatten_up_to
from ..core.keypath import KeyPath
from ..core.mismatch import Difference, deeper, differences, mismatch_error
from ..core.registry import view_of
from ..core.treedef import PyTreeDef
from ..core.view import GLOBAL
from ..core.walk import map_leaves
from ..errors import StructureError
from .basic import tree_structure
from .outlook import columns_of, outlook, take_apart


if TYPE_CHECKING:
    from ..typing import IsLeaf

__all__ = [
    "tree_transpose",
    "tree_transpose_map",
    "tree_transpose_map_with_path",
    "tree_unzip",
]


def tree_transpose(
    outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, tree: Any
) -> Any:
    """Turn a tree of trees inside out.

    Args:
        outer_treedef: The structure of the outer tree.
        inner_treedef: The structure that stands at each of its leaves; None to
            take that of the first one.
        tree: A tree of the structure `outer_treedef.compose(inner_treedef)`.

    Returns:
        A tree of the structure `inner_treedef.compose(outer_treedef)`.

    Raises:
        StructureError: The tree does not have that structure, or there is no
            leaf to take the inner structure of.
        TypeError: A treedef is none.

    Example:
        >>> import leafwise as lw
        >>> pairs = {"a": (1, 2), "b": (3, 4)}
        >>> outer = lw.tree_structure({"a": 0, "b": 0})
        >>> inner = lw.tree_structure((0, 0))
        >>> lw.tree_transpose(outer, inner, pairs)
        ({'a': 1, 'b': 3}, {'a': 2, 'b': 4})
    """
    for treedef in (outer_treedef, inner_treedef):
        if not isinstance(treedef, PyTreeDef) and treedef is not None:
            raise TypeError(
                "tree_transpose takes two treedefs and then the tree, "
                f"got {described(treedef)}"
            )
    parts = outer_treedef.flatten_up_to(tree)
    return _transposed(outer_treedef, inner_treedef, parts, outer_treedef.paths())


def _transposed(
    outer: PyTreeDef,
    inner: PyTreeDef | None,
    parts: list[Any],
    paths: list[KeyPath],
) -> Any:
    """Put the n-th leaves of all parts together, for each n."""
    if inner is None:
        inner = _inner_of(outer, parts)
    rows = [_row(inner, part, path) for part, path in zip(parts, paths, strict=True)]
    columns = zip(*rows, strict=True) if rows else [()] * inner.num_leaves
    return inner.unflatten([outer.unflatten(column) for column in columns])


def _inner_of(outer: PyTreeDef, parts: list[Any]) -> PyTreeDef:
    if not parts:
        raise StructureError(
            f"{clip(outer)} has no leaves, so the inner structure cannot be taken "
            "from them; give it as a treedef"
        )
    return tree_structure(
        parts[0], none_is_leaf=outer.none_is_leaf, namespace=outer.namespace
    )


def _row(inner: PyTreeDef, part: Any, path: KeyPath) -> list[Any]:
    """Return the leaves of one part, which must have exactly the inner structure."""
    view = view_of(inner.namespace, inner.none_is_leaf)
    row = flatten_up_to(inner._code, part)
    look = differences if row is None else deeper
    found = look(inner._code, part, view)
    if row is None or found:
        raise mismatch_error(
            [Difference(path + d.path, d.expected, d.actual) for d in found],
            subject="the tree does not have the inner structure at each outer leaf",
        )
    return row


def tree_transpose_map(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    inner_treedef: PyTreeDef | None = None,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> Any:
    """Map a function that returns trees of one structure, and turn the result out.

    Args:
        f: Called as in `tree_map`; returns a tree.
        tree: The tree that gives the outer structure.
        *rest: Further trees that have the structure of `tree`.
        inner_treedef: The structure of what `f` returns; None to take that of
            the first result.
        is_leaf, is_leaf_takes_path, none_is_leaf, namespace: See
            :ref:`common arguments <common>`.

    Returns:
        A tree of the inner structure with trees like `tree` at its leaves.

    Raises:
        StructureError: The results differ in structure, or there are none.

    Example:
        >>> import leafwise as lw
        >>> lw.tree_transpose_map(lambda x: (x, x * 10), {"a": 1, "b": [2]})
        ({'a': 1, 'b': [2]}, {'a': 10, 'b': [20]})

    The idea is that of `optree.tree_transpose_map`.
    """
    view, stop = outlook(is_leaf, is_leaf_takes_path, none_is_leaf, namespace)
    columns, outer = columns_of(tree, rest, view, stop)
    values = map_leaves(f, columns, outer._code)
    return _transposed(outer, inner_treedef, values, outer.paths())


def tree_transpose_map_with_path(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    inner_treedef: PyTreeDef | None = None,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> Any:
    """Do what `tree_transpose_map` does with a function that takes the path too.

    Args:
        f: Called as `f(path, leaf, *others)`; returns a tree.
        tree: The tree that gives the outer structure.
        *rest: Further trees that have the structure of `tree`.
        inner_treedef: The structure of what `f` returns.
        is_leaf, is_leaf_takes_path, none_is_leaf, namespace: See
            :ref:`common arguments <common>`.

    Returns:
        A tree of the inner structure with trees like `tree` at its leaves.

    Raises:
        StructureError: The results differ in structure, or there are none.

    Example:
        >>> import leafwise as lw
        >>> lw.tree_transpose_map_with_path(lambda p, x: (str(p), x), {"a": 1})
        ({'a': "['a']"}, {'a': 1})
    """
    view, stop = outlook(is_leaf, is_leaf_takes_path, none_is_leaf, namespace)
    columns, outer = columns_of(tree, rest, view, stop, with_paths=True)
    values = map_leaves(f, columns, outer._code)
    return _transposed(outer, inner_treedef, values, columns[0])


def tree_unzip(
    tree: Any,
    n: int,
    *,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> tuple[Any, ...]:
    """Split a tree of n-tuples into n trees.

    A tuple of `n` items is what is split; the walk stops at the first one that
    it meets on each way down.

    Args:
        tree: A tree with a tuple of `n` items wherever the walk ends.
        n: How many items the tuples have.
        is_leaf, is_leaf_takes_path, none_is_leaf, namespace: See
            :ref:`common arguments <common>`; where tuples of `n` items are also
            containers, `is_leaf` says which ones to split.

    Returns:
        A tuple of `n` trees.

    Raises:
        StructureError: The walk ends at something else.

    Example:
        >>> import leafwise as lw
        >>> lw.tree_unzip({"a": (1, "x"), "b": [(2, "y")]}, 2)
        ({'a': 1, 'b': [2]}, {'a': 'x', 'b': ['y']})
    """
    view, stop = outlook(is_leaf, is_leaf_takes_path, none_is_leaf, namespace)
    if is_leaf is None:
        stop = lambda node: type(node) is tuple and len(node) == n  # noqa: E731
    leaves, treedef = take_apart(tree, view, stop)
    found = [
        Difference(path, f"tuple of length {n}", f"leaf {clip(leaf)}")
        for path, leaf in zip(treedef.paths(), leaves, strict=True)
        if type(leaf) is not tuple or len(leaf) != n
    ]
    if found:
        raise mismatch_error(found, subject=f"the tree does not end in {n}-tuples")
    columns = zip(*leaves, strict=True) if leaves else [()] * n
    return tuple(treedef.unflatten([*column]) for column in columns)
