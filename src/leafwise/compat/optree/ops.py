"""The functions on trees and on structures, by optree's names and arguments.

The options that most functions share:

    is_leaf: A predicate that is called on each node, from the root down; nodes for
        which it is true are leaves.
    none_is_leaf: Whether None is a leaf; by default it is a node without children.
    namespace: The namespace to look classes up in before the global registry; one
        without registrations is like the global one.
"""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from ..._records import MISSING
from ..._text import short_repr
from ...core.matching import Difference, differences
from ...core.treedef import PyTreeDef, code_of
from ...ops.reshape import common_columns, common_trees
from ._context import Function, Walk, options, options_by_name
from ._makers import (
    treespec_defaultdict,
    treespec_deque,
    treespec_dict,
    treespec_from_collection,
    treespec_frozendict,
    treespec_leaf,
    treespec_list,
    treespec_namedtuple,
    treespec_none,
    treespec_ordereddict,
    treespec_structseq,
    treespec_tuple,
)
from ._nodes import PyTreeKind, Unflatten, entries_of, kind_of, metadata
from ._treespec import PyTreeSpec, joined_namespace
from .accessors import PyTreeAccessor, PyTreeEntry, accessors_of, entry_class, paths_of


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
    "treespec_accessors",
    "treespec_child",
    "treespec_children",
    "treespec_defaultdict",
    "treespec_deque",
    "treespec_dict",
    "treespec_entries",
    "treespec_entry",
    "treespec_from_collection",
    "treespec_frozendict",
    "treespec_is_leaf",
    "treespec_is_one_level",
    "treespec_is_prefix",
    "treespec_is_strict_leaf",
    "treespec_is_suffix",
    "treespec_leaf",
    "treespec_list",
    "treespec_namedtuple",
    "treespec_none",
    "treespec_one_level",
    "treespec_ordereddict",
    "treespec_paths",
    "treespec_structseq",
    "treespec_transform",
    "treespec_tuple",
]

MAX_RECURSION_DEPTH: Final = 1000
"""How deep optree goes. Here there is no such limit."""
NONE_IS_NODE: Final = False
NONE_IS_LEAF: Final = True


# ------------------------------------------------------------------- flatten, unflatten


@options
def tree_flatten(walk: Walk, tree: Any, /) -> tuple[list[Any], PyTreeSpec]:
    """Return the leaves of a tree and its structure.

    Example:
        >>> from leafwise.compat import optree
        >>> optree.tree_flatten({"b": (1, None), "a": 2})
        ([2, 1], PyTreeSpec({'a': *, 'b': (*, None)}))
    """
    return walk.flatten(tree)


@options
def tree_flatten_with_path(
    walk: Walk, tree: Any, /
) -> tuple[list[tuple[Any, ...]], list[Any], PyTreeSpec]:
    """Return the path to each leaf, the leaves and the structure.

    Example:
        >>> from leafwise.compat import optree
        >>> optree.tree_flatten_with_path({"a": [1]})
        ([('a', 0)], [1], PyTreeSpec({'a': [*]}))
    """
    leaves, spec = walk.flatten(tree)
    return spec.paths(), leaves, spec


@options
def tree_flatten_with_accessor(
    walk: Walk, tree: Any, /
) -> tuple[list[PyTreeAccessor], list[Any], PyTreeSpec]:
    """Return the accessor of each leaf, the leaves and the structure."""
    leaves, spec = walk.flatten(tree)
    return spec.accessors(), leaves, spec


def tree_unflatten(treespec: PyTreeSpec, leaves: Iterable[Any]) -> Any:
    """Build a tree from its structure and its leaves."""
    return treespec.unflatten(leaves)


@options
def tree_iter(walk: Walk, tree: Any, /) -> Iterable[Any]:
    """Return an iterator over the leaves that walks the tree only as far as needed."""
    return walk.iter_leaves(tree)


@options
def tree_leaves(walk: Walk, tree: Any, /) -> list[Any]:
    """Return the leaves of a tree."""
    return walk.leaves(tree)


@options
def tree_structure(walk: Walk, tree: Any, /) -> PyTreeSpec:
    """Return the structure of a tree."""
    _, spec = walk.flatten(tree)
    return spec


@options
def tree_paths(walk: Walk, tree: Any, /) -> list[tuple[Any, ...]]:
    """Return the path to each leaf."""
    _, treedef = walk.context.flatten(tree)
    return paths_of(treedef)


@options
def tree_accessors(walk: Walk, tree: Any, /) -> list[PyTreeAccessor]:
    """Return the accessor of each leaf."""
    _, treedef = walk.context.flatten(tree)
    return accessors_of(treedef)


@options
def tree_is_leaf(walk: Walk, tree: Any, /) -> bool:
    """Return whether a value is a leaf by itself."""
    return walk.context.node_type_of(tree) is None


@options
def all_leaves(walk: Walk, iterable: Iterable[Any], /) -> bool:
    """Return whether each item is a leaf by itself."""
    return all(walk.context.node_type_of(item) is None for item in iterable)


# ------------------------------------------------------------------------------- map


@options_by_name
def tree_map(walk: Walk, func: Function, tree: Any, /, *rests: Any) -> Any:
    """Call a function on the leaves at each place of trees."""
    results, treedef = walk.map(func, tree, rests, None)
    return treedef.unflatten(results)


# those with a `_` at the end build no tree: a function is called for what it changes
@options_by_name
def tree_map_(walk: Walk, func: Function, tree: Any, /, *rests: Any) -> Any:
    """The same as `tree_map`; returns the tree."""
    walk.map(func, tree, rests, None)
    return tree


@options_by_name
def tree_map_with_path(walk: Walk, func: Function, tree: Any, /, *rests: Any) -> Any:
    """Call a function on the path and the leaves at each place."""
    results, treedef = walk.map(func, tree, rests, paths_of)
    return treedef.unflatten(results)


@options_by_name
def tree_map_with_path_(walk: Walk, func: Function, tree: Any, /, *rests: Any) -> Any:
    """The same as `tree_map_with_path`; returns the tree."""
    walk.map(func, tree, rests, paths_of)
    return tree


@options_by_name
def tree_map_with_accessor(
    walk: Walk, func: Function, tree: Any, /, *rests: Any
) -> Any:
    """Call a function on the accessor and the leaves at each place."""
    results, treedef = walk.map(func, tree, rests, accessors_of)
    return treedef.unflatten(results)


@options_by_name
def tree_map_with_accessor_(
    walk: Walk, func: Function, tree: Any, /, *rests: Any
) -> Any:
    """The same as `tree_map_with_accessor`; returns the tree."""
    walk.map(func, tree, rests, accessors_of)
    return tree


@options_by_name
def tree_broadcast_map(walk: Walk, func: Function, tree: Any, /, *rests: Any) -> Any:
    """Broadcast trees; call a function on the leaves at each place."""
    return walk.broadcast_map(func, (tree, *rests), None)


@options_by_name
def tree_broadcast_map_with_path(
    walk: Walk, func: Function, tree: Any, /, *rests: Any
) -> Any:
    """Broadcast trees; call a function on the path and the leaves at each place."""
    return walk.broadcast_map(func, (tree, *rests), paths_of)


@options_by_name
def tree_broadcast_map_with_accessor(
    walk: Walk, func: Function, tree: Any, /, *rests: Any
) -> Any:
    """Broadcast trees; call a function on the accessor and the leaves at each place."""
    return walk.broadcast_map(func, (tree, *rests), accessors_of)


def tree_replace_nones(sentinel: Any, tree: Any, /, namespace: str = "") -> Any:
    """Replace each None with an object.

    Example:
        >>> from leafwise.compat import optree
        >>> optree.tree_replace_nones(0, {"a": None, "b": [1, None]})
        {'a': 0, 'b': [1, 0]}
    """

    def replace(leaf: Any) -> Any:
        return sentinel if leaf is None else leaf

    return tree_map(replace, tree, none_is_leaf=True, namespace=namespace)


@options
def tree_partition(
    walk: Walk, predicate: Callable[[Any], bool], tree: Any, /, *, fillvalue: Any = None
) -> tuple[Any, Any]:
    """Return a tree of the leaves that pass a test, and a tree of the others.

    Args:
        walk: The options, see the module.
        predicate: Called with each leaf.
        tree: The tree.
        fillvalue: The value in one tree at the places of the other tree's leaves.

    Example:
        >>> from leafwise.compat import optree
        >>> optree.tree_partition(lambda x: x > 1, {"a": 1, "b": [2]})
        ({'a': None, 'b': [2]}, {'a': 1, 'b': [None]})
    """
    leaves, treedef = walk.context.flatten(tree)
    passing: list[Any] = []
    others: list[Any] = []
    for leaf in leaves:
        passes = predicate(leaf)
        passing.append(leaf if passes else fillvalue)
        others.append(fillvalue if passes else leaf)
    return treedef.unflatten(passing), treedef.unflatten(others)


# ------------------------------------------------------------------------- transpose


def tree_transpose(
    outer_treespec: PyTreeSpec,
    inner_treespec: PyTreeSpec,
    tree: Any,
    /,
    is_leaf: Callable[[Any], Any] | None = None,
) -> Any:
    """Transpose a tree of trees.

    As in optree, only the number of leaves is checked; `leafwise.tree_transpose`
    checks the whole structure.

    Raises:
        TypeError: The tree has a different number of leaves.
        ValueError: The structures cannot be nested, or one has no leaves.
    """
    namespace = joined_namespace((outer_treespec, inner_treespec))
    outer_size = outer_treespec.num_leaves
    inner_size = inner_treespec.num_leaves
    if not outer_size or not inner_size:
        raise ValueError("the structures must have at least one leaf")
    leaves = Walk(is_leaf, outer_treespec.none_is_leaf, namespace).leaves(tree)
    if len(leaves) != outer_size * inner_size:
        expected = short_repr(outer_treespec.compose(inner_treespec))
        raise TypeError(f"the tree has {len(leaves)} leaves; expected {expected}")
    # the leaves at one place of the inner structure, from each inner subtree
    columns = [leaves[index::inner_size] for index in range(inner_size)]
    return inner_treespec.unflatten(map(outer_treespec.unflatten, columns))


@options_by_name
def tree_transpose_map(
    walk: Walk,
    func: Function,
    tree: Any,
    /,
    *rests: Any,
    inner_treespec: PyTreeSpec | None = None,
) -> Any:
    """Call a function on the leaves at each place; transpose the results.

    `inner_treespec` is the structure of the results, by default that of the first one.
    """
    return walk.transpose_map(func, tree, rests, inner_treespec, None)


@options_by_name
def tree_transpose_map_with_path(
    walk: Walk,
    func: Function,
    tree: Any,
    /,
    *rests: Any,
    inner_treespec: PyTreeSpec | None = None,
) -> Any:
    """Call a function on the path and the leaves at each place; transpose the results.

    `inner_treespec` is the structure of the results, by default that of the first one.
    """
    return walk.transpose_map(func, tree, rests, inner_treespec, paths_of)


@options_by_name
def tree_transpose_map_with_accessor(
    walk: Walk,
    func: Function,
    tree: Any,
    /,
    *rests: Any,
    inner_treespec: PyTreeSpec | None = None,
) -> Any:
    """Call a function on accessor and leaves at each place; transpose the results.

    `inner_treespec` is the structure of the results, by default that of the first one.
    """
    return walk.transpose_map(func, tree, rests, inner_treespec, accessors_of)


# ------------------------------------------------------------------------- broadcast


def _prefix_parts(
    walk: Walk, prefix_tree: Any, full_tree: Any
) -> tuple[list[tuple[Any, PyTreeDef]], PyTreeDef]:
    """Return each leaf of a prefix with the structure below it, and its structure."""
    (leaves, subtrees), treedef = walk.context.columns(prefix_tree, (full_tree,))
    parts = []
    for leaf, subtree in zip(leaves, subtrees, strict=True):
        _, part = walk.context.flatten(subtree)
        parts.append((leaf, part))
    return parts, treedef


@options
def tree_broadcast_prefix(walk: Walk, prefix_tree: Any, full_tree: Any, /) -> Any:
    """Broadcast each leaf of a tree over the subtree of another tree at its place.

    The containers are those of the prefix and, below its leaves, those of the full
    tree. The predicate is called on both.

    Raises:
        ValueError: The tree is not a prefix.
    """
    parts, treedef = _prefix_parts(walk, prefix_tree, full_tree)
    subtrees = [part.unflatten([leaf] * part.num_leaves) for leaf, part in parts]
    return treedef.unflatten(subtrees)


@options
def broadcast_prefix(walk: Walk, prefix_tree: Any, full_tree: Any, /) -> list[Any]:
    """Return the leaves of `tree_broadcast_prefix`."""
    parts, _ = _prefix_parts(walk, prefix_tree, full_tree)
    return [leaf for leaf, part in parts for _ in range(part.num_leaves)]


@options
def tree_broadcast_common(walk: Walk, tree: Any, other_tree: Any, /) -> tuple[Any, Any]:
    """Broadcast two trees over each other until both have the same structure.

    Raises:
        ValueError: Both have nodes at one place that do not pair.
    """
    return common_trees(tree, other_tree, walk.context)


@options
def broadcast_common(
    walk: Walk, tree: Any, other_tree: Any, /
) -> tuple[list[Any], list[Any]]:
    """Broadcast two trees over each other, and return their leaves.

    Raises:
        ValueError: Both have nodes at one place that do not pair.
    """
    (leaves, other_leaves), _ = common_columns((tree, other_tree), walk.context)
    return leaves, other_leaves


# ------------------------------------------------------------------------------ folds


@options_by_name
def tree_reduce(
    walk: Walk, func: Function, tree: Any, /, initial: Any = MISSING
) -> Any:
    """Fold the leaves from left to right.

    Raises:
        TypeError: There are no leaves and no initial value.
    """
    leaves = walk.leaves(tree)
    if initial is MISSING:
        return functools.reduce(func, leaves)
    return functools.reduce(func, leaves, initial)


@options_by_name
def tree_sum(walk: Walk, tree: Any, /, start: Any = 0) -> Any:
    """Sum the leaves; a str or bytes as the start concatenates them."""
    leaves = walk.leaves(tree)
    if isinstance(start, str | bytes | bytearray):  # which `sum` refuses
        empty: Any = type(start)()
        return start + empty.join(leaves)
    return builtins.sum(leaves, start)


@options_by_name
def tree_max(
    walk: Walk, tree: Any, /, *, default: Any = MISSING, key: Any = None
) -> Any:
    """Return the largest leaf.

    Raises:
        ValueError: There are no leaves and no default.
    """
    return _extreme(builtins.max, walk.leaves(tree), default, key)


@options_by_name
def tree_min(
    walk: Walk, tree: Any, /, *, default: Any = MISSING, key: Any = None
) -> Any:
    """Return the smallest leaf.

    Raises:
        ValueError: There are no leaves and no default.
    """
    return _extreme(builtins.min, walk.leaves(tree), default, key)


def _extreme(
    choose: Callable[..., Any], leaves: list[Any], default: Any, key: Any
) -> Any:
    if default is MISSING:  # None is a default, too
        return choose(leaves, key=key)
    return choose(leaves, key=key, default=default)


@options_by_name
def tree_all(walk: Walk, tree: Any, /) -> bool:
    """Return whether all leaves are true."""
    return builtins.all(walk.iter_leaves(tree))


@options_by_name
def tree_any(walk: Walk, tree: Any, /) -> bool:
    """Return whether any leaf is true."""
    return builtins.any(walk.iter_leaves(tree))


# -------------------------------------------------------------------------- one level


class FlattenOneLevelOutput(NamedTuple):
    """The result of `tree_flatten_one_level`, a tuple."""

    children: list[Any]
    metadata: Any
    entries: tuple[Any, ...]
    unflatten_func: Callable[[Any, Any], Any]


class FlattenOneLevelOutputEx(FlattenOneLevelOutput):
    """The result of `tree_flatten_one_level`, with the node's type and kind."""

    type: builtins.type
    path_entry_type: builtins.type[PyTreeEntry]
    kind: PyTreeKind


@options
def tree_flatten_one_level(walk: Walk, tree: Any, /) -> FlattenOneLevelOutputEx:
    """Return the children of a node, with its metadata and its unflatten function.

    Raises:
        ValueError: It is a leaf.

    Example:
        >>> from leafwise.compat import optree
        >>> node = optree.tree_flatten_one_level({"b": [1], "a": 2})
        >>> node.children, node.metadata, node.entries
        ([2, [1]], ['a', 'b'], ('a', 'b'))
        >>> node.unflatten_func(node.metadata, ["x", "y"])
        {'b': 'y', 'a': 'x'}
    """
    node_type = walk.context.node_type_of(tree)
    if node_type is None:
        raise ValueError(f"a leaf has no children: {short_repr(tree)}")
    children, aux = node_type.flatten(tree)
    arity = len(children)
    node = FlattenOneLevelOutputEx(
        list(children),
        metadata(node_type, aux),
        tuple(entries_of(node_type, aux, arity)),
        Unflatten(node_type),
    )
    # as attributes: programs unpack four values
    node.type = type(tree)
    node.kind = kind_of(node_type)
    node.path_entry_type = entry_class(node_type, aux, arity)
    return node


@options
def prefix_errors(
    walk: Walk, prefix_tree: Any, full_tree: Any, /
) -> list[Callable[[str], ValueError]]:
    """Return functions that make an error for each place where a tree is not a prefix.

    Returns:
        For each place a function from a name for the trees to an error.

    Example:
        >>> from leafwise.compat import optree
        >>> (make,) = optree.prefix_errors({"a": [0]}, {"a": (0,)})
        >>> print(make("in_axes"))
        pytree structure error at in_axes['a']
        expected: list of length 1
        got: tuple of length 1
    """
    _, treedef = walk.context.flatten(prefix_tree)
    mismatches = differences(code_of(treedef), full_tree, walk.context.view)
    return [functools.partial(_prefix_error, one) for one in _topmost(mismatches)]


def _topmost(mismatches: list[Difference]) -> list[Difference]:
    """Return the differences that are in no other one: optree looks no further."""
    topmost: list[Difference] = []
    for one in mismatches:  # those in a node come right after it
        last = topmost[-1].path if topmost else None
        if last is None or one.path[: len(last)] != last:
            topmost.append(one)
    return topmost


def _prefix_error(difference: Difference, name: str) -> ValueError:
    return ValueError(
        f"pytree structure error at {name}{difference.path}\n"
        f"expected: {difference.expected}\ngot: {difference.actual}"
    )


# ------------------------------------------------------------------------- structures

treespec_paths = PyTreeSpec.paths
treespec_accessors = PyTreeSpec.accessors
treespec_entries = PyTreeSpec.entries
treespec_entry = PyTreeSpec.entry
treespec_children = PyTreeSpec.children
treespec_child = PyTreeSpec.child
treespec_one_level = PyTreeSpec.one_level
treespec_transform = PyTreeSpec.transform
treespec_is_leaf = PyTreeSpec.is_leaf
treespec_is_one_level = PyTreeSpec.is_one_level
treespec_is_prefix = PyTreeSpec.is_prefix
treespec_is_suffix = PyTreeSpec.is_suffix


def treespec_is_strict_leaf(treespec: PyTreeSpec, /) -> bool:
    """Return whether this is a leaf."""
    return treespec.is_leaf(strict=True)
