"""The functions on trees, by optree's names and arguments.

Owns what each of them does differently from the function of leafwise that is most like
it. The functions on structures stand in `treespecs`.

The arguments that most functions share:

    is_leaf: A predicate that is asked of each node from the root down; it stops there
        where it says yes.
    none_is_leaf: Whether None is a leaf; by default it is a node without children.
    namespace: The namespace to look classes up in before the global registry; one that
        nobody registered in is as the global one.
"""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from ...core.treedef import PyTreeDef
from ...core.walk import iter_leaves, map_leaves
from ...ops.context import Context
from ...ops.reshape import common_columns, common_trees
from ...safely import MISSING, clip
from . import treespecs
from .accessors import PyTreeAccessor
from .context import context, spec_in
from .levels import prefix_errors, tree_flatten_one_level
from .spec import PyTreeSpec, accessors_of, joined, spec_of
from .treespecs import *


__all__ = [
    "MAX_RECURSION_DEPTH",
    "NONE_IS_LEAF",
    "NONE_IS_NODE",
    "all_leaves",
    "broadcast_common",
    "broadcast_prefix",
    "prefix_errors",
    "tree_accessors",
    "tree_all",
    "tree_any",
    "tree_broadcast_common",
    "tree_broadcast_map",
    "tree_broadcast_map_with_accessor",
    "tree_broadcast_map_with_path",
    "tree_broadcast_prefix",
    "tree_flatten",
    "tree_flatten_one_level",
    "tree_flatten_with_accessor",
    "tree_flatten_with_path",
    "tree_is_leaf",
    "tree_iter",
    "tree_leaves",
    "tree_map",
    "tree_map_",
    "tree_map_with_accessor",
    "tree_map_with_accessor_",
    "tree_map_with_path",
    "tree_map_with_path_",
    "tree_max",
    "tree_min",
    "tree_partition",
    "tree_paths",
    "tree_reduce",
    "tree_replace_nones",
    "tree_structure",
    "tree_sum",
    "tree_transpose",
    "tree_transpose_map",
    "tree_transpose_map_with_accessor",
    "tree_transpose_map_with_path",
    "tree_unflatten",
]
__all__ += treespecs.__all__

MAX_RECURSION_DEPTH: Final = 1000
"""How deep optree goes. Here there is no such limit."""
NONE_IS_NODE: Final = False
NONE_IS_LEAF: Final = True

IsLeaf = Callable[[Any], Any] | None


# ------------------------------------------------------------------- flatten, unflatten


def tree_flatten(
    tree: Any,
    /,
    is_leaf: IsLeaf = None,
    *,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> tuple[list[Any], PyTreeSpec]:
    """Return the leaves of a tree and its structure.

    Example:
        >>> from leafwise.compat import optree
        >>> optree.tree_flatten({"b": (1, None), "a": 2})
        ([2, 1], PyTreeSpec({'a': *, 'b': (*, None)}))
    """
    leaves, treedef = context(is_leaf, none_is_leaf, namespace).flatten(tree)
    return leaves, spec_in(treedef, namespace)


def tree_flatten_with_path(
    tree: Any,
    /,
    is_leaf: IsLeaf = None,
    *,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> tuple[list[tuple[Any, ...]], list[Any], PyTreeSpec]:
    """Return the path to each leaf, the leaves and the structure.

    Example:
        >>> from leafwise.compat import optree
        >>> optree.tree_flatten_with_path({"a": [1]})
        ([('a', 0)], [1], PyTreeSpec({'a': [*]}))
    """
    leaves, treedef = context(is_leaf, none_is_leaf, namespace).flatten(tree)
    paths = treedef.bare_paths()
    return paths, leaves, spec_in(treedef, namespace)


def tree_flatten_with_accessor(
    tree: Any,
    /,
    is_leaf: IsLeaf = None,
    *,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> tuple[list[PyTreeAccessor], list[Any], PyTreeSpec]:
    """Return the accessor of each leaf, the leaves and the structure."""
    leaves, treedef = context(is_leaf, none_is_leaf, namespace).flatten(tree)
    accessors = [*accessors_of(treedef)]
    return accessors, leaves, spec_in(treedef, namespace)


def tree_unflatten(treespec: PyTreeSpec, leaves: Iterable[Any]) -> Any:
    """Build a tree from its structure and its leaves."""
    return treespec.unflatten(leaves)


def tree_iter(
    tree: Any,
    /,
    is_leaf: IsLeaf = None,
    *,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> Iterator[Any]:
    """Return an iterator over the leaves that walks the tree only as far as needed."""
    walked = context(is_leaf, none_is_leaf, namespace)
    return iter_leaves(tree, walked.view, walked.stop)


def tree_leaves(
    tree: Any,
    /,
    is_leaf: IsLeaf = None,
    *,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> list[Any]:
    """Return the leaves of a tree."""
    return context(is_leaf, none_is_leaf, namespace).flatten(tree)[0]


def tree_structure(
    tree: Any,
    /,
    is_leaf: IsLeaf = None,
    *,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> PyTreeSpec:
    """Return the structure of a tree."""
    found = context(is_leaf, none_is_leaf, namespace).flatten(tree)[1]
    return spec_in(found, namespace)


def tree_paths(
    tree: Any,
    /,
    is_leaf: IsLeaf = None,
    *,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> list[tuple[Any, ...]]:
    """Return the path to each leaf."""
    found = context(is_leaf, none_is_leaf, namespace).flatten(tree)[1]
    return found.bare_paths()


def tree_accessors(
    tree: Any,
    /,
    is_leaf: IsLeaf = None,
    *,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> list[PyTreeAccessor]:
    """Return the accessor of each leaf."""
    found = context(is_leaf, none_is_leaf, namespace).flatten(tree)[1]
    return [*accessors_of(found)]


def tree_is_leaf(
    tree: Any,
    /,
    is_leaf: IsLeaf = None,
    *,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> bool:
    """Return whether a value is a leaf by itself."""
    return context(is_leaf, none_is_leaf, namespace).rule_of(tree) is None


def all_leaves(
    iterable: Iterable[Any],
    /,
    is_leaf: IsLeaf = None,
    *,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> bool:
    """Return whether each item is a leaf by itself."""
    walked = context(is_leaf, none_is_leaf, namespace)
    return all(walked.rule_of(item) is None for item in iterable)


# ------------------------------------------------------------------------------- map


def tree_map(
    func: Callable[..., Any],
    tree: Any,
    /,
    *rests: Any,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> Any:
    """Map a function over the leaves of a tree, and the subtrees of others there.

    Raises:
        ValueError: Another tree does not have the structure of the first.

    Example:
        >>> from leafwise.compat import optree
        >>> optree.tree_map(lambda x, y: x + y, {"b": 1, "a": 2}, {"a": 3, "b": 4})
        {'b': 5, 'a': 5}
    """
    walked = context(is_leaf, none_is_leaf, namespace)
    columns, treedef = walked.columns(tree, rests)
    build = treedef._runner.unflatten
    return build(treedef, map_leaves(func, columns, treedef._code))


def tree_map_(
    func: Callable[..., Any],
    tree: Any,
    /,
    *rests: Any,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> Any:
    """Call a function on the leaves for its effect; return the tree itself."""
    walked = context(is_leaf, none_is_leaf, namespace)
    columns, treedef = walked.columns(tree, rests)
    map_leaves(func, columns, treedef._code)
    return tree


def _mapped(
    find: Callable[[PyTreeDef], list[Any]],
    func: Callable[..., Any],
    trees: tuple[Any, ...],
    walked: Context,
) -> tuple[list[Any], PyTreeDef]:
    """Return the results of a function that takes what leads to a leaf, too."""
    columns, treedef = walked.columns(trees[0], trees[1:])
    columns = [find(treedef), *columns]
    return map_leaves(func, columns, treedef._code), treedef


def tree_map_with_path(
    func: Callable[..., Any],
    tree: Any,
    /,
    *rests: Any,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> Any:
    """Map a function that takes the path of each leaf first."""
    walked = context(is_leaf, none_is_leaf, namespace)
    results, treedef = _mapped(PyTreeDef.bare_paths, func, (tree, *rests), walked)
    return treedef.unflatten(results)


def tree_map_with_path_(
    func: Callable[..., Any],
    tree: Any,
    /,
    *rests: Any,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> Any:
    """Call a function that takes the path first for its effect; return the tree."""
    walked = context(is_leaf, none_is_leaf, namespace)
    _mapped(PyTreeDef.bare_paths, func, (tree, *rests), walked)
    return tree


def tree_map_with_accessor(
    func: Callable[..., Any],
    tree: Any,
    /,
    *rests: Any,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> Any:
    """Map a function that takes the accessor of each leaf first."""
    walked = context(is_leaf, none_is_leaf, namespace)
    results, treedef = _mapped(accessors_of, func, (tree, *rests), walked)
    return treedef.unflatten(results)


def tree_map_with_accessor_(
    func: Callable[..., Any],
    tree: Any,
    /,
    *rests: Any,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> Any:
    """Call a function that takes the accessor first for its effect; return the tree."""
    walked = context(is_leaf, none_is_leaf, namespace)
    _mapped(accessors_of, func, (tree, *rests), walked)
    return tree


def tree_replace_nones(sentinel: Any, tree: Any, /, namespace: str = "") -> Any:
    """Replace each None with an object.

    Example:
        >>> from leafwise.compat import optree
        >>> optree.tree_replace_nones(0, {"a": None, "b": [1, None]})
        {'a': 0, 'b': [1, 0]}
    """
    return tree_map(
        lambda leaf: sentinel if leaf is None else leaf,
        tree,
        none_is_leaf=True,
        namespace=namespace,
    )


def tree_partition(
    predicate: Callable[[Any], bool],
    tree: Any,
    /,
    is_leaf: IsLeaf = None,
    *,
    fillvalue: Any = None,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> tuple[Any, Any]:
    """Return a tree of the leaves that pass a test, and a tree of the others.

    Args:
        predicate: Called with each leaf.
        tree: The tree.
        is_leaf, none_is_leaf, namespace: See the module.
        fillvalue: The value in one tree at the places of the other tree's leaves.

    Example:
        >>> from leafwise.compat import optree
        >>> optree.tree_partition(lambda x: x > 1, {"a": 1, "b": [2]})
        ({'a': None, 'b': [2]}, {'a': 1, 'b': [None]})
    """
    leaves, treedef = context(is_leaf, none_is_leaf, namespace).flatten(tree)
    passed = [bool(predicate(leaf)) for leaf in leaves]
    pairs = [*zip(leaves, passed, strict=True)]
    first = [leaf if passes else fillvalue for leaf, passes in pairs]
    other = [fillvalue if passes else leaf for leaf, passes in pairs]
    return treedef.unflatten(first), treedef.unflatten(other)


# ------------------------------------------------------------------------- transpose


def tree_transpose(
    outer_treespec: PyTreeSpec,
    inner_treespec: PyTreeSpec,
    tree: Any,
    /,
    is_leaf: IsLeaf = None,
) -> Any:
    """Transpose a tree of trees.

    As in optree, only the number of leaves is checked; `leafwise.tree_transpose`
    checks the whole structure.

    Raises:
        TypeError: The tree has a different number of leaves.
        ValueError: The structures cannot be nested, or one has no leaves.
    """
    none_is_leaf = outer_treespec.none_is_leaf
    namespace = joined((outer_treespec, inner_treespec), "Tree structures")
    outer_size, inner_size = outer_treespec.num_leaves, inner_treespec.num_leaves
    if not outer_size or not inner_size:
        raise ValueError("Tree structures must have at least one leaf.")
    leaves, spec = tree_flatten(
        tree, is_leaf, none_is_leaf=none_is_leaf, namespace=namespace
    )
    if len(leaves) != outer_size * inner_size:
        expected = outer_treespec.compose(inner_treespec)
        raise TypeError(
            f"Tree structure mismatch; expected: {clip(expected)}, got: {clip(spec)}."
        )
    columns = (leaves[place::inner_size] for place in range(inner_size))
    return inner_treespec.unflatten(map(outer_treespec.unflatten, columns))


def _transposed(
    results: list[Any],
    outer: PyTreeDef,
    inner: PyTreeSpec | None,
    walked: Context,
) -> Any:
    """Turn the results of a map inside out.

    Raises:
        ValueError: There is no inner structure, or it is not that of all results.
    """
    if inner is None:
        if not results:
            raise ValueError(
                "The outer structure must have at least one leaf. Got: "
                f"{spec_of(outer)!r}."
            )
        inside = walked.flatten(results[0])[1]
    else:
        inside = inner._treedef
    if not inside.num_leaves:
        raise ValueError(
            "The inner structure must have at least one leaf. Got: "
            f"{spec_of(inside)!r}."
        )
    rows = [inside.flatten_up_to(result) for result in results]
    columns = zip(*rows, strict=True) if rows else [()] * inside.num_leaves
    return inside.unflatten(map(outer.unflatten, columns))


def tree_transpose_map(
    func: Callable[..., Any],
    tree: Any,
    /,
    *rests: Any,
    inner_treespec: PyTreeSpec | None = None,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> Any:
    """Map a function over the leaves, and transpose the tree of its results.

    Args:
        func: Returns trees of one structure.
        tree: The tree.
        *rests: Further trees.
        inner_treespec: The structure of the results; by default that of the first
            result.
        is_leaf, none_is_leaf, namespace: See the module.

    Example:
        >>> from leafwise.compat import optree
        >>> optree.tree_transpose_map(lambda x: (x, -x), {"a": 1, "b": 2})
        ({'a': 1, 'b': 2}, {'a': -1, 'b': -2})
    """
    walked = context(is_leaf, none_is_leaf, namespace)
    columns, treedef = walked.columns(tree, rests)
    results = map_leaves(func, columns, treedef._code)
    return _transposed(results, treedef, inner_treespec, walked)


def tree_transpose_map_with_path(
    func: Callable[..., Any],
    tree: Any,
    /,
    *rests: Any,
    inner_treespec: PyTreeSpec | None = None,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> Any:
    """Map a function that takes the path first; otherwise like `tree_transpose_map`."""
    walked = context(is_leaf, none_is_leaf, namespace)
    results, treedef = _mapped(PyTreeDef.bare_paths, func, (tree, *rests), walked)
    return _transposed(results, treedef, inner_treespec, walked)


def tree_transpose_map_with_accessor(
    func: Callable[..., Any],
    tree: Any,
    /,
    *rests: Any,
    inner_treespec: PyTreeSpec | None = None,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> Any:
    """Map a function that takes the accessor; otherwise like `tree_transpose_map`."""
    walked = context(is_leaf, none_is_leaf, namespace)
    results, treedef = _mapped(accessors_of, func, (tree, *rests), walked)
    return _transposed(results, treedef, inner_treespec, walked)


# ------------------------------------------------------------------------- broadcast


def _covered(
    prefix_tree: Any, full_tree: Any, walked: Context
) -> tuple[list[tuple[Any, int, PyTreeDef]], PyTreeDef]:
    """Return the leaves of a prefix with what they cover, and the prefix's treedef."""
    (leaves, parts), treedef = walked.columns(prefix_tree, (full_tree,))
    below = [walked.flatten(part)[1] for part in parts]
    found = [
        (leaf, part.num_leaves, part) for leaf, part in zip(leaves, below, strict=True)
    ]
    return found, treedef


def tree_broadcast_prefix(
    prefix_tree: Any,
    full_tree: Any,
    /,
    is_leaf: IsLeaf = None,
    *,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> Any:
    """Broadcast each leaf of a tree over the subtree of another tree at its place.

    The containers are those of the prefix and, below its leaves, those of the full
    tree. The predicate is called on both.

    Raises:
        ValueError: The tree is not a prefix.
    """
    walked = context(is_leaf, none_is_leaf, namespace)
    found, treedef = _covered(prefix_tree, full_tree, walked)
    return treedef.unflatten(
        [part.unflatten([leaf] * count) for leaf, count, part in found]
    )


def broadcast_prefix(
    prefix_tree: Any,
    full_tree: Any,
    /,
    is_leaf: IsLeaf = None,
    *,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> list[Any]:
    """Return the leaves of `tree_broadcast_prefix`."""
    walked = context(is_leaf, none_is_leaf, namespace)
    found, _ = _covered(prefix_tree, full_tree, walked)
    return [leaf for leaf, count, _ in found for _ in range(count)]


def tree_broadcast_common(
    tree: Any,
    other_tree: Any,
    /,
    is_leaf: IsLeaf = None,
    *,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> tuple[Any, Any]:
    """Broadcast two trees over each other until both have the same structure.

    Raises:
        ValueError: Both have nodes at one place that do not pair.
    """
    return common_trees(tree, other_tree, context(is_leaf, none_is_leaf, namespace))


def broadcast_common(
    tree: Any,
    other_tree: Any,
    /,
    is_leaf: IsLeaf = None,
    *,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> tuple[list[Any], list[Any]]:
    """Broadcast two trees over each other, and return their leaves.

    Raises:
        ValueError: Both have nodes at one place that do not pair.
    """
    walked = context(is_leaf, none_is_leaf, namespace)
    columns, _ = common_columns((tree, other_tree), walked)
    return columns[0], columns[1]


def tree_broadcast_map(
    func: Callable[..., Any],
    tree: Any,
    /,
    *rests: Any,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> Any:
    """Broadcast all trees over each other, and map a function over them."""
    walked = context(is_leaf, none_is_leaf, namespace)
    columns, common = common_columns((tree, *rests), walked)
    return common.unflatten(map_leaves(func, columns, common._code))


def _broadcast_mapped(
    find: Callable[[PyTreeDef], list[Any]],
    func: Callable[..., Any],
    trees: tuple[Any, ...],
    walked: Context,
) -> Any:
    columns, common = common_columns(trees, walked)
    columns = [find(common), *columns]
    return common.unflatten(map_leaves(func, columns, common._code))


def tree_broadcast_map_with_path(
    func: Callable[..., Any],
    tree: Any,
    /,
    *rests: Any,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> Any:
    """Map a function that takes the path first; otherwise like `tree_broadcast_map`."""
    walked = context(is_leaf, none_is_leaf, namespace)
    return _broadcast_mapped(PyTreeDef.bare_paths, func, (tree, *rests), walked)


def tree_broadcast_map_with_accessor(
    func: Callable[..., Any],
    tree: Any,
    /,
    *rests: Any,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> Any:
    """Map a function that takes the accessor; otherwise like `tree_broadcast_map`."""
    walked = context(is_leaf, none_is_leaf, namespace)
    return _broadcast_mapped(accessors_of, func, (tree, *rests), walked)


# ------------------------------------------------------------------------------ folds


def tree_reduce(
    func: Callable[[Any, Any], Any],
    tree: Any,
    /,
    initial: Any = MISSING,
    *,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> Any:
    """Fold the leaves from left to right.

    Raises:
        TypeError: There are no leaves and no initial value.
    """
    leaves, _ = context(is_leaf, none_is_leaf, namespace).flatten(tree)
    start = () if initial is MISSING else (initial,)
    return functools.reduce(func, leaves, *start)


def tree_sum(
    tree: Any,
    /,
    start: Any = 0,
    *,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> Any:
    """Sum the leaves; a str or bytes as the start concatenates them."""
    leaves, _ = context(is_leaf, none_is_leaf, namespace).flatten(tree)
    if isinstance(start, str | bytes | bytearray):
        empty: Any = type(start)()
        return start + empty.join(leaves)
    return builtins.sum(leaves, start)


def tree_max(
    tree: Any,
    /,
    *,
    default: Any = MISSING,
    key: Callable[[Any], Any] | None = None,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> Any:
    """Return the largest leaf.

    Raises:
        ValueError: There are no leaves and no default.
    """
    leaves, _ = context(is_leaf, none_is_leaf, namespace).flatten(tree)
    options = {} if default is MISSING else {"default": default}
    return builtins.max(leaves, key=key, **options)


def tree_min(
    tree: Any,
    /,
    *,
    default: Any = MISSING,
    key: Callable[[Any], Any] | None = None,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> Any:
    """Return the smallest leaf.

    Raises:
        ValueError: There are no leaves and no default.
    """
    leaves, _ = context(is_leaf, none_is_leaf, namespace).flatten(tree)
    options = {} if default is MISSING else {"default": default}
    return builtins.min(leaves, key=key, **options)


def tree_all(
    tree: Any,
    /,
    *,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> bool:
    """Return whether all leaves are true."""
    options: Any = {"none_is_leaf": none_is_leaf, "namespace": namespace}
    return builtins.all(tree_iter(tree, is_leaf, **options))


def tree_any(
    tree: Any,
    /,
    *,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> bool:
    """Return whether any leaf is true."""
    options: Any = {"none_is_leaf": none_is_leaf, "namespace": namespace}
    return builtins.any(tree_iter(tree, is_leaf, **options))
