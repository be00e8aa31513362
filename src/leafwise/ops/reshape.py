"""Trees in another shape: a small tree broadcast over a larger one, trees inside out.

Trees are compared by their whole structure, never by their number of leaves alone. Of a
prefix and the tree that it is broadcast over, `is_leaf` is asked of the prefix only.
For the arguments that most functions share see `map`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, TypeAlias, overload

from .._text import short_repr, typed_repr
from ..core.context import Context, context_of, flatten_by, stopping_context
from ..core.keypath import KeyPath
from ..core.matching import (
    Difference,
    code_differences,
    covering,
    differences,
    mismatch_error,
    nth_tree,
)
from ..core.registry import GLOBAL
from ..core.treedef import (
    PyTreeDef,
    build_tree,
    code_of,
    is_compiled,
    joined_mode,
    map_columns,
    map_leaves,
    match_tree,
    view_of_treedef,
)
from ..errors import StructureError


if TYPE_CHECKING:
    from .._typing import Hashed, IsLeaf, K, Leaf, Node

__all__ = [
    "broadcast_leaves",
    "equality_errors",
    "prefix_errors",
    "tree_broadcast_common",
    "tree_broadcast_map",
    "tree_broadcast_map_with_path",
    "tree_broadcast_prefix",
    "tree_transpose",
    "tree_transpose_map",
    "tree_transpose_map_with_path",
    "tree_unzip",
    "tree_zip",
]


def _covering(prefix: PyTreeDef, full: PyTreeDef) -> list[int] | None:
    """Return for each leaf of a structure which leaf of a prefix covers it, or None."""
    if prefix.is_leaf():
        return [0] * full.num_leaves
    # treedefs of structures that do not recur would fill the cache for nothing
    if is_compiled(full):
        return _cached_covering(prefix, full)
    # It does not recur, or torch's compiler traces, which cannot see through a cache.
    return covering(code_of(prefix), code_of(full))


@functools.lru_cache(64)
def _cached_covering(prefix: PyTreeDef, full: PyTreeDef) -> list[int] | None:
    return covering(code_of(prefix), code_of(full))


def _repeated(
    prefix: Any,
    full: Any,
    context: Context,
    name: str,
) -> tuple[list[Any], PyTreeDef]:
    """Return the repeated leaves of a prefix, and the treedef of the full tree.

    Raises:
        StructureError: It is not a prefix; the message calls it by the name.
    """
    leaves, treedef = context.flatten(prefix)
    _, full_treedef = flatten_by(full, context.view, None)
    indices = _covering(treedef, full_treedef)
    if indices is None:
        subject = f"{name} is not a prefix of "
        subject += "full_tree" if name == _PREFIX else "the tree it is broadcast over"
        # None in a prefix often means "not mapped", and then it has to be a leaf.
        with_none = context.also_stopping(_is_none)
        none_leaves = stopping_context(context.view, type(None))
        if _is_cover(prefix, with_none, full, none_leaves):
            pass  # each place that differs has the hint that None can be a leaf
        elif _covering(full_treedef, treedef) is not None:
            subject += " (but the reverse holds: swap the two arguments)"
        elif _is_cover(full, none_leaves, prefix, with_none):
            subject += " (but with None as a leaf the reverse holds: swap the two"
            subject += " arguments, and pass none_is_leaf=True)"
        places = differences(code_of(treedef), full, context.view)
        raise mismatch_error(places, subject=subject)
    return [leaves[index] for index in indices], full_treedef


def _is_cover(
    prefix: Any,
    prefix_context: Context,
    full: Any,
    full_context: Context,
) -> bool:
    """Return whether a tree is a prefix of another, each read in a context."""
    _, treedef = prefix_context.flatten(prefix)
    _, full_treedef = full_context.flatten(full)
    return _covering(treedef, full_treedef) is not None


def _is_none(node: Any) -> bool:
    return node is None


_PREFIX: Final = "prefix_tree"


@overload
def tree_broadcast_prefix(
    prefix_tree: object,
    full_tree: Node,
    *,
    is_leaf: IsLeaf = ...,
    none_is_leaf: bool = ...,
    namespace: str = ...,
    name: str = ...,
) -> Node: ...
@overload
def tree_broadcast_prefix(
    prefix_tree: Leaf,
    full_tree: dict[K, Hashed],
    *,
    namespace: str = ...,
    name: str = ...,
) -> dict[K, Leaf]: ...
@overload
def tree_broadcast_prefix(
    prefix_tree: object,
    full_tree: Any,
    is_leaf: IsLeaf = ...,
    *,
    none_is_leaf: bool = ...,
    namespace: str = ...,
    name: str = ...,
) -> Any: ...
def tree_broadcast_prefix(
    prefix_tree: Any,
    full_tree: Any,
    is_leaf: IsLeaf = None,
    *,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
    name: str = _PREFIX,
) -> Any:
    """Broadcast a prefix tree: repeat each of its leaves over the subtree it covers.

    Args:
        prefix_tree: A tree with the structure of `full_tree`, but possibly cut off
            earlier: each of its leaves may cover a whole subtree.
        full_tree: The tree that gives the structure.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        none_is_leaf: Whether None is a leaf and not a node without children.
        namespace: Where classes are looked up before the global registry.
        name: What errors call `prefix_tree`, such as the name of your own parameter.

    Returns:
        A tree with the structure of `full_tree` and the repeated leaves of
        `prefix_tree`.

    Raises:
        StructureError: `prefix_tree` is not a prefix of `full_tree`.

    Example:
        >>> import leafwise as lw
        >>> lw.tree_broadcast_prefix((0, 1), ("a", {"x": "b", "y": ["c", "d"]}))
        (0, {'x': 1, 'y': [1, 1]})
        >>> lw.tree_broadcast_prefix(
        ...     (None, 0), ("a", {"x": "b", "y": "c"}), none_is_leaf=True)
        (None, {'x': 0, 'y': 0})
        >>> lw.tree_broadcast_prefix([0, 1], (1, 2), name="in_axes")
        Traceback (most recent call last):
        ...
        leafwise.errors.StructureError: in_axes is not a prefix of the tree it is \
broadcast over, in 1 place:
          at the root: expected list of length 2, got tuple of length 2
        hint: a list and a tuple are different nodes; convert one of them

    Modelled on `in_axes` in `jax.vmap`.
    """
    context = context_of(is_leaf, none_is_leaf=none_is_leaf, namespace=namespace)
    leaves, treedef = _repeated(prefix_tree, full_tree, context, name)
    return build_tree(treedef, leaves)


def broadcast_leaves(
    prefix_tree: Any,
    full_tree: Any,
    is_leaf: IsLeaf = None,
    *,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
    name: str = _PREFIX,
) -> list[Any]:
    """Broadcast a prefix tree and return the flat list of its repeated leaves.

    Args:
        prefix_tree: A tree whose leaves cover subtrees of `full_tree`.
        full_tree: The tree that gives the structure.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        none_is_leaf: Whether None is a leaf and not a node without children.
        namespace: Where classes are looked up before the global registry.
        name: What errors call `prefix_tree`, such as the name of your own parameter.

    Returns:
        As many leaves as `full_tree` has, in its leaf order.

    Raises:
        StructureError: `prefix_tree` is not a prefix of `full_tree`.

    Example:
        >>> import leafwise as lw
        >>> lw.tree.broadcast_leaves([0, 1], ["a", ("b", "c")])
        [0, 1, 1]
    """
    context = context_of(is_leaf, none_is_leaf=none_is_leaf, namespace=namespace)
    leaves, _ = _repeated(prefix_tree, full_tree, context, name)
    return leaves


# ------------------------------------------------------------- in both directions


Flat: TypeAlias = tuple[list[Any], PyTreeDef]


def _flat(trees: tuple[Any, ...], context: Context) -> tuple[list[Flat], PyTreeDef]:
    """Return the leaves and treedefs of trees, and their common structure.

    Raises:
        StructureError: Two trees have nodes at the same path that do not match.
    """
    flat = [context.flatten(tree) for tree in trees]
    common = flat[0][1]
    for index, (_, treedef) in enumerate(flat[1:], start=1):
        suffix = common.common_suffix(treedef)
        if suffix is None:
            name = nth_tree(index)
            raise mismatch_error(
                code_differences(code_of(common), code_of(treedef), exact=False),
                subject=f"{name} has no common structure with those before it",
                tree_index=index,
            )
        common = suffix
    return flat, common


def _spread(flat: Flat, full: PyTreeDef) -> list[Any]:
    """Return the leaves of a tree, repeated for the leaves that they cover."""
    leaves, treedef = flat
    indices: Any = _covering(treedef, full)  # it is a prefix
    return [leaves[index] for index in indices]


def tree_broadcast_common(
    tree: Any,
    other: Any,
    is_leaf: IsLeaf = None,
    *,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> tuple[Any, Any]:
    """Broadcast two trees against each other to their common structure.

    Where one tree has a leaf and the other a subtree, the leaf is repeated.

    Args:
        tree: A tree.
        other: Another tree.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate; applies to
            both trees.
        none_is_leaf: Whether None is a leaf and not a node without children; applies to
            both trees.
        namespace: Where classes are looked up before the global registry; applies to
            both trees.

    Returns:
        The two trees, broadcast.

    Raises:
        StructureError: The trees have nodes at the same path that do not match.

    Example:
        >>> import leafwise as lw
        >>> lw.tree.broadcast_common({"a": 1, "b": [2, 3]}, {"a": (4, 5), "b": 6})
        ({'a': (1, 1), 'b': [2, 3]}, {'a': (4, 5), 'b': [6, 6]})

    Modelled on `optree.tree_broadcast_common`.
    """
    context = context_of(is_leaf, none_is_leaf=none_is_leaf, namespace=namespace)
    return common_trees(tree, other, context)


def common_trees(tree: Any, other: Any, context: Context) -> tuple[Any, Any]:
    """Return two trees, broadcast over each other, each with its own nodes."""
    (flat, other_flat), common = _flat((tree, other), context)
    _, other_treedef = other_flat
    other_common: Any = other_treedef.common_suffix(common)  # with the nodes of `other`
    broadcast = build_tree(common, _spread(flat, common))
    other_broadcast = build_tree(other_common, _spread(other_flat, other_common))
    return broadcast, other_broadcast


def common_columns(
    trees: tuple[Any, ...], context: Context
) -> tuple[list[list[Any]], PyTreeDef]:
    """Return the leaves of trees that are broadcast, and their common treedef."""
    flat, common = _flat(trees, context)
    return [_spread(one, common) for one in flat], common


def tree_broadcast_map(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> Any:
    """Broadcast all trees against each other and map a function over them.

    Args:
        f: Called with one leaf of each tree.
        tree: A tree.
        *rest: Further trees.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate; applies to all
            trees.
        none_is_leaf: Whether None is a leaf and not a node without children; applies to
            all trees.
        namespace: Where classes are looked up before the global registry; applies to
            all trees.

    Returns:
        A tree with the common structure of all trees.

    Raises:
        StructureError: Two trees have nodes at the same path that do not match.

    Example:
        >>> import leafwise as lw
        >>> lw.tree.broadcast_map(lambda x, y: x * y, {"a": 2, "b": [1, 3]}, 10)
        {'a': 20, 'b': [10, 30]}
    """
    context = context_of(is_leaf, none_is_leaf=none_is_leaf, namespace=namespace)
    columns, common = common_columns((tree, *rest), context)
    return map_columns(f, columns, common)


def tree_broadcast_map_with_path(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> Any:
    """Map as `tree_broadcast_map` does, with a function that also takes the key path.

    Args:
        f: Called with the key path and one leaf of each tree.
        tree: A tree.
        *rest: Further trees.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate; applies to all
            trees.
        none_is_leaf: Whether None is a leaf and not a node without children; applies to
            all trees.
        namespace: Where classes are looked up before the global registry; applies to
            all trees.

    Returns:
        A tree with the common structure of all trees.

    Raises:
        StructureError: Two trees have nodes at the same path that do not match.

    Example:
        >>> import leafwise as lw
        >>> lw.tree.broadcast_map_with_path(lambda p, x, y: f"{p}{x}{y}", [1, 2], "!")
        ['[0]1!', '[1]2!']
    """
    context = context_of(is_leaf, none_is_leaf=none_is_leaf, namespace=namespace)
    columns, common = common_columns((tree, *rest), context)
    paths: list[Any] = common.paths()
    return map_columns(f, [paths, *columns], common)


# ---------------------------------------------------------------------- reports


def prefix_errors(
    prefix_tree: Any,
    full_tree: Any,
    is_leaf: IsLeaf = None,
    *,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> list[Difference]:
    """Return the differences that keep a tree from being a prefix of another.

    Args:
        prefix_tree: The tree that should be a prefix.
        full_tree: The tree that it should be a prefix of.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        none_is_leaf: Whether None is a leaf and not a node without children.
        namespace: Where classes are looked up before the global registry.

    Returns:
        The differences in leaf order; an empty list if it is a prefix.

    Example:
        >>> import leafwise as lw
        >>> print(*lw.tree.prefix_errors({"a": [0], "b": 1}, {"a": (2,), "b": 3}))
        at ['a']: expected list of length 1, got tuple of length 1
    """
    context = context_of(is_leaf, none_is_leaf=none_is_leaf, namespace=namespace)
    _, treedef = context.flatten(prefix_tree)
    return differences(code_of(treedef), full_tree, context.view)


def equality_errors(
    tree: Any,
    other: Any,
    is_leaf: IsLeaf = None,
    *,
    namespace: str = GLOBAL,
) -> list[Difference]:
    """Return all differences between the structures of two trees.

    Leaves are not compared; see `tree_equal` for that.

    Args:
        tree: A tree.
        other: Another tree.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate; applies to
            both trees.
        namespace: Where classes are looked up before the global registry; applies to
            both trees.

    Returns:
        The differences in leaf order; an empty list if the structures are equal.

    Example:
        >>> import leafwise as lw
        >>> for difference in lw.tree.equality_errors([1, (2, 3)], [(1,), (2,)]):
        ...     print(difference)
        at [0]: expected a leaf, got tuple of length 1
        at [1]: expected tuple of length 2, got tuple of length 1
    """
    context = context_of(is_leaf, namespace=namespace)
    _, treedef = context.flatten(tree)
    return treedef.explain(context.flatten(other)[1])


# --------------------------------------------------------------------------- inside out


def tree_transpose(
    outer_treedef: PyTreeDef,
    inner_treedef: PyTreeDef | None,
    tree: Any,
    is_leaf: IsLeaf = None,
) -> Any:
    """Transpose a tree of trees: swap the outer and the inner structure.

    Args:
        outer_treedef: The structure of the outer tree.
        inner_treedef: The structure of the subtree at each outer leaf. None takes the
            structure of the first subtree, and requires it of the others.
        tree: A tree of the structure `outer_treedef.compose(inner_treedef)`. If
            `inner_treedef` is given, the tree may go deeper: a subtree at a leaf of
            `inner_treedef` is moved as a whole.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate; applies to the
            subtrees at the outer leaves, if `inner_treedef` is None.

    Returns:
        A tree of the structure `inner_treedef.compose(outer_treedef)`.

    Raises:
        StructureError: The tree does not have that structure, or there is no
            leaf to take the inner structure from.
        TreeDefError: The treedefs have different None modes or namespaces.
        TypeError: `outer_treedef` or `inner_treedef` is not a treedef.

    Example:
        >>> import leafwise as lw
        >>> pairs = {"a": (1, 2), "b": (3, 4)}
        >>> outer = lw.tree_structure({"a": 0, "b": 0})
        >>> inner = lw.tree_structure((0, 0))
        >>> lw.tree_transpose(outer, inner, pairs)
        ({'a': 1, 'b': 3}, {'a': 2, 'b': 4})
        >>> lw.tree_transpose(inner, inner, ([[1], [2]], [[3], [4]]), list)
        Traceback (most recent call last):
        ...
        leafwise.errors.StructureError: the tree does not have the inner structure at \
each outer leaf, in 2 places:
          at [0]: expected tuple of length 2, got list of length 2
          at [1]: expected tuple of length 2, got list of length 2
        hint: a list and a tuple are different nodes; convert one of them
        >>> lw.tree_transpose(inner, inner, (([1], [2]), ([3], [4])))
        (([1], [3]), ([2], [4]))
    """
    _check_inner("tree_transpose", outer_treedef, inner_treedef)
    parts = outer_treedef.flatten_up_to(tree)
    # as the treedef was made, whatever the registry says of the default namespace
    context = stopping_context(view_of_treedef(outer_treedef), is_leaf)
    paths = outer_treedef.paths()
    return _transposed(outer_treedef, inner_treedef, parts, paths, context)


def _check_inner(who: str, outer: Any, inner: Any) -> None:
    """Raise an error for values that are not treedefs or cannot be nested.

    Raises:
        TreeDefError: The treedefs have different None modes or namespaces.
        TypeError: One is not a treedef; the inner one may be None.
    """
    treedefs = [outer] if inner is None else [outer, inner]
    for treedef in treedefs:
        if not isinstance(treedef, PyTreeDef):
            raise TypeError(
                f"{who} takes treedefs for the structures, got {typed_repr(treedef)}"
            )
    joined_mode(who, tuple(treedefs))


def _transposed(
    outer: PyTreeDef,
    inner: PyTreeDef | None,
    parts: list[Any],
    paths: list[KeyPath],
    context: Context,
) -> Any:
    """Collect the n-th leaves of all parts, for each n.

    Raises:
        StructureError: A part does not have the inner structure; or goes deeper than
            the first, if that gave it.
    """
    if inner is None and not parts:
        raise StructureError(
            f"{short_repr(outer)} has no leaves, so the inner structure cannot be "
            "taken from the first one; pass it as a treedef"
        )
    treedef = inner
    if treedef is None:
        _, treedef = context.flatten(parts[0])
    places: list[Difference] = []
    rows: list[list[Any]] = []
    for part, path in zip(parts, paths, strict=True):
        row = match_tree(treedef, part)
        part_places: list[Difference] = []
        if row is None:
            part_places = differences(code_of(treedef), part, context.view)
            row = []
        # a structure that was given is one to cut off at; one that was taken is exact
        elif inner is None and not context.view.leaf_types.issuperset(map(type, row)):
            part_places = context.deeper(treedef, part, _PASS_TREEDEF)
        places += [place._replace(path=path + place.path) for place in part_places]
        rows.append(row)
    if places:
        raise mismatch_error(
            places,
            subject="the tree does not have the inner structure at each outer leaf",
        )
    # without rows, `zip` would not say how many columns there are
    columns = zip(*rows, strict=True) if rows else [()] * treedef.num_leaves
    return treedef.unflatten([outer.unflatten(column) for column in columns])


_PASS_TREEDEF: Final = (
    "the inner structure is taken from the first one; pass it as a treedef to allow "
    "anything at its leaves"
)


def tree_transpose_map(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    inner_treedef: PyTreeDef | None = None,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> Any:
    """Map a function that returns trees of one structure, and transpose the result.

    Args:
        f: Called as in `tree_map`; returns a tree.
        tree: The tree that gives the outer structure.
        *rest: Further trees that have the structure of `tree`.
        inner_treedef: The structure of the results of `f`, which may go deeper. None
            takes the structure of the first result, and requires it of the others.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate; applies to
            `tree`, and to the results if the inner structure is taken from them.
        none_is_leaf: Whether None is a leaf and not a node without children; applies to
            `tree`, and to the results if the inner structure is taken from them.
        namespace: Where classes are looked up before the global registry; applies to
            `tree`, and to the results if the inner structure is taken from them.

    Returns:
        A tree of the inner structure with trees like `tree` at its leaves.

    Raises:
        StructureError: The results have different structures, or there are no results.
        TreeDefError: `inner_treedef` has another None mode or namespace; raised before
            the first call of `f`.
        TypeError: `inner_treedef` is not a treedef.

    Example:
        >>> import leafwise as lw
        >>> lw.tree.transpose_map(lambda x: (x, x * 10), {"a": 1, "b": [2]})
        ({'a': 1, 'b': [2]}, {'a': 10, 'b': [20]})

    Modelled on `optree.tree_transpose_map`.
    """
    context = context_of(is_leaf, none_is_leaf=none_is_leaf, namespace=namespace)
    columns, outer = context.columns(tree, rest)
    _check_inner("tree_transpose_map", outer, inner_treedef)
    values = map_leaves(f, columns, outer)
    return _transposed(outer, inner_treedef, values, outer.paths(), context)


def tree_transpose_map_with_path(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    inner_treedef: PyTreeDef | None = None,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> Any:
    """Map as `tree_transpose_map` does, with a function that also takes the key path.

    Args:
        f: Called as `f(path, leaf, *others)`; returns a tree.
        tree: The tree that gives the outer structure.
        *rest: Further trees that have the structure of `tree`.
        inner_treedef: The structure of the results; see `tree_transpose_map`.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate; applies as in
            `tree_transpose_map`.
        none_is_leaf: Whether None is a leaf and not a node without children; applies as
            in `tree_transpose_map`.
        namespace: Where classes are looked up before the global registry; applies as in
            `tree_transpose_map`.

    Returns:
        A tree of the inner structure with trees like `tree` at its leaves.

    Raises:
        StructureError: The results have different structures, or there are no results.
        TreeDefError: `inner_treedef` has another None mode or namespace; raised before
            the first call of `f`.
        TypeError: `inner_treedef` is not a treedef.

    Example:
        >>> import leafwise as lw
        >>> lw.tree.transpose_map_with_path(lambda p, x: (str(p), x), {"a": 1})
        ({'a': "['a']"}, {'a': 1})
    """
    context = context_of(is_leaf, none_is_leaf=none_is_leaf, namespace=namespace)
    columns, outer = context.columns(tree, rest, with_paths=True)
    _check_inner("tree_transpose_map_with_path", outer, inner_treedef)
    values = map_leaves(f, columns, outer)
    return _transposed(outer, inner_treedef, values, columns[0], context)


def tree_unzip(
    tree: Any,
    n: int,
    *,
    is_leaf: IsLeaf = None,
    namespace: str = GLOBAL,
) -> tuple[Any, ...]:
    """Split a tree of n-tuples into n trees.

    The outermost tuples of `n` items are split; the walk does not go below them.

    Args:
        tree: A tree in which every branch ends in a tuple of `n` items.
        n: How many items the tuples have.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate. If some tuples
            of `n` items are containers, it chooses which ones to split.
        namespace: Where classes are looked up before the global registry.

    Returns:
        A tuple of `n` trees.

    Raises:
        StructureError: A branch ends in something else.

    Example:
        >>> import leafwise as lw
        >>> lw.tree.unzip({"a": (1, "x"), "b": [(2, "y")]}, 2)
        ({'a': 1, 'b': [2]}, {'a': 'x', 'b': ['y']})
    """
    context = context_of(is_leaf, namespace=namespace)
    if is_leaf is None:
        context = context.also_stopping(lambda x: type(x) is tuple and len(x) == n)
    leaves, treedef = context.flatten(tree)
    places = [
        Difference(path, f"tuple of length {n}", f"leaf {short_repr(leaf)}")
        for path, leaf in zip(treedef.paths(), leaves, strict=True)
        if type(leaf) is not tuple or len(leaf) != n
    ]
    if places:
        raise mismatch_error(places, subject=f"the tree does not end in {n}-tuples")
    columns = zip(*leaves, strict=True) if leaves else [()] * n
    return tuple(treedef.unflatten(column) for column in columns)


def tree_zip(
    trees: Iterable[Any],
    *,
    is_leaf: IsLeaf = None,
    namespace: str = GLOBAL,
) -> Any:
    """Zip several trees into one tree whose leaves are tuples.

    `tree_unzip(zipped, n)` is the inverse, if the trees themselves have no tuples
    of `n` items. `tree_zip` is the same as
    `tree_map(lambda *xs: xs, *trees, strict=True)`. For containers other than tuples,
    call `tree_map` with another function.

    Args:
        trees: Trees of one structure, at least one.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        namespace: Where classes are looked up before the global registry.

    Returns:
        A tree with the structure of the first tree, whose leaves are tuples.

    Raises:
        StructureError: The trees differ in structure.
        ValueError: There are no trees.

    Example:
        >>> import leafwise as lw
        >>> zipped = lw.tree_zip([{"a": 1, "b": [2]}, {"a": "x", "b": ["y"]}])
        >>> zipped
        {'a': (1, 'x'), 'b': [(2, 'y')]}
        >>> lw.tree.unzip(zipped, 2)
        ({'a': 1, 'b': [2]}, {'a': 'x', 'b': ['y']})
    """
    all_trees = tuple(trees)
    if not all_trees:
        raise ValueError("expected at least one tree to be zipped")
    context = context_of(is_leaf, namespace=namespace)
    columns, treedef = context.columns(all_trees[0], all_trees[1:], strict=True)
    return treedef.unflatten(zip(*columns, strict=True))
