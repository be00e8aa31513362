"""The functions on trees, by optree's names and arguments.

The functions on structures are in `treespecs`. The options that most functions share:

    is_leaf: A predicate that is called on each node, from the root down; nodes for
        which it is true are leaves.
    none_is_leaf: Whether None is a leaf; by default it is a node without children.
    namespace: The namespace to look classes up in before the global registry; one
        without registrations is like the global one.
"""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

from ..._records import MISSING
from ..._text import short_repr
from ...core.context import Context
from ...core.matching import Difference, differences
from ...core.treedef import PyTreeDef
from ...core.walk import iter_leaves, map_leaves
from ...ops.reshape import common_columns, common_trees
from .accessors import PyTreeAccessor, PyTreeEntry, PyTreeKind
from .context import Walk, options, options_by_name
from .kinds import accessors_of, entry_class, kind_of, metadata, paths_of
from .registry import unflatten_by
from .spec import PyTreeSpec, joined
from .treespecs import *


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
def tree_iter(walk: Walk, tree: Any, /) -> Iterator[Any]:
    """Return an iterator over the leaves that walks the tree only as far as needed."""
    return iter_leaves(tree, walk.context.view, walk.context.stop)


@options
def tree_leaves(walk: Walk, tree: Any, /) -> list[Any]:
    """Return the leaves of a tree."""
    return walk.context.flatten(tree)[0]


@options
def tree_structure(walk: Walk, tree: Any, /) -> PyTreeSpec:
    """Return the structure of a tree."""
    return walk.flatten(tree)[1]


@options
def tree_paths(walk: Walk, tree: Any, /) -> list[tuple[Any, ...]]:
    """Return the path to each leaf."""
    return walk.flatten(tree)[1].paths()


@options
def tree_accessors(walk: Walk, tree: Any, /) -> list[PyTreeAccessor]:
    """Return the accessor of each leaf."""
    return walk.flatten(tree)[1].accessors()


@options
def tree_is_leaf(walk: Walk, tree: Any, /) -> bool:
    """Return whether a value is a leaf by itself."""
    return walk.context.rule_of(tree) is None


@options
def all_leaves(walk: Walk, iterable: Iterable[Any], /) -> bool:
    """Return whether each item is a leaf by itself."""
    return all(walk.context.rule_of(item) is None for item in iterable)


# ------------------------------------------------------------------------------- map

Lead = Callable[[PyTreeDef], list[Any]] | None


def _results(
    func: Callable[..., Any], columns: list[list[Any]], treedef: PyTreeDef, lead: Lead
) -> list[Any]:
    columns = columns if lead is None else [lead(treedef), *columns]
    return map_leaves(func, columns, treedef)


def _mapper(name: str) -> Callable[..., Any]:
    """Return the function of a name that maps over the leaves of trees.

    Its name tells whether the mapped function takes paths or accessors first, whether
    all trees are broadcast, and whether the first tree is returned.
    """
    lead, first = _lead(name)

    def mapper(walk: Walk, func: Callable[..., Any], tree: Any, /, *rests: Any) -> Any:
        if "broadcast" in name:
            found, treedef = common_columns((tree, *rests), walk.context)
        else:
            found, treedef = walk.context.columns(tree, rests)
        results = _results(func, found, treedef, lead)
        return tree if name.endswith("_") else treedef.unflatten(results)

    mapper.__name__ = mapper.__qualname__ = name
    mapper.__doc__ = f"Call a function on {first}the leaves of trees, side by side."
    return options_by_name(mapper)


def _lead(name: str) -> tuple[Lead, str]:
    """Return what the mapped function takes first, and that in words."""
    if "_with_path" in name:
        return paths_of, "the path and "
    return (accessors_of, "the accessor and ") if "_with_a" in name else (None, "")


tree_map = _mapper("tree_map")
tree_map_ = _mapper("tree_map_")
tree_map_with_path = _mapper("tree_map_with_path")
tree_map_with_path_ = _mapper("tree_map_with_path_")
tree_map_with_accessor = _mapper("tree_map_with_accessor")
tree_map_with_accessor_ = _mapper("tree_map_with_accessor_")
tree_broadcast_map = _mapper("tree_broadcast_map")
tree_broadcast_map_with_path = _mapper("tree_broadcast_map_with_path")
tree_broadcast_map_with_accessor = _mapper("tree_broadcast_map_with_accessor")


def tree_replace_nones(sentinel: Any, tree: Any, /, namespace: str = "") -> Any:
    """Replace each None with an object.

    Example:
        >>> from leafwise.compat import optree
        >>> optree.tree_replace_nones(0, {"a": None, "b": [1, None]})
        {'a': 0, 'b': [1, 0]}
    """
    options: Any = {"none_is_leaf": True, "namespace": namespace}
    return tree_map(lambda x: sentinel if x is None else x, tree, **options)


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
    leaves, spec = walk.flatten(tree)
    pairs = [(leaf, bool(predicate(leaf))) for leaf in leaves]
    first = [leaf if passes else fillvalue for leaf, passes in pairs]
    other = [fillvalue if passes else leaf for leaf, passes in pairs]
    return spec.unflatten(first), spec.unflatten(other)


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
    none_is_leaf = outer_treespec.none_is_leaf
    namespace = joined((outer_treespec, inner_treespec), "Tree structures")
    outer_size, inner_size = outer_treespec.num_leaves, inner_treespec.num_leaves
    if not outer_size or not inner_size:
        raise ValueError("Tree structures must have at least one leaf.")
    leaves = tree_leaves(tree, is_leaf, none_is_leaf=none_is_leaf, namespace=namespace)
    if len(leaves) != outer_size * inner_size:
        expected = short_repr(outer_treespec.compose(inner_treespec))
        told = f"expected {expected}, got {len(leaves)} leaves"
        raise TypeError(f"Tree structure mismatch: {told}.")
    columns = (leaves[index::inner_size] for index in range(inner_size))
    return inner_treespec.unflatten(map(outer_treespec.unflatten, columns))


def _transposing(name: str) -> Callable[..., Any]:
    """Return a function that maps over the leaves and transposes the results."""
    lead, first = _lead(name)

    def mapper(
        walk: Walk,
        func: Callable[..., Any],
        tree: Any,
        /,
        *rests: Any,
        inner_treespec: PyTreeSpec | None = None,
    ) -> Any:
        columns, outer = walk.context.columns(tree, rests)
        results = _results(func, columns, outer, lead)
        if inner_treespec is None and not results:
            raise ValueError(f"The outer structure must have a leaf, got {outer!r}.")
        if (inner := inner_treespec) is None:
            inner = walk.flatten(results[0])[1]
        if not inner.num_leaves:
            raise ValueError(f"The inner structure must have a leaf, got {inner!r}.")
        rows = [inner.flatten_up_to(result) for result in results]
        parts = zip(*rows, strict=True) if rows else [()] * inner.num_leaves
        return inner.unflatten(map(outer.unflatten, parts))

    mapper.__name__ = mapper.__qualname__ = name
    mapper.__doc__ = f"""Call a function on {first}the leaves; transpose the results.

    `inner_treespec` is the structure of the results, by default that of the first one.
    """
    return options_by_name(mapper)


tree_transpose_map = _transposing("tree_transpose_map")
tree_transpose_map_with_path = _transposing("tree_transpose_map_with_path")
tree_transpose_map_with_accessor = _transposing("tree_transpose_map_with_accessor")


# ------------------------------------------------------------------------- broadcast


def _covered(
    context: Context, prefix_tree: Any, full_tree: Any
) -> tuple[list[tuple[Any, PyTreeDef]], PyTreeDef]:
    """Return the leaves of a prefix, with what they cover, and its structure."""
    (leaves, parts), treedef = context.columns(prefix_tree, (full_tree,))
    below = [context.flatten(part)[1] for part in parts]
    return [*zip(leaves, below, strict=True)], treedef


@options
def tree_broadcast_prefix(walk: Walk, prefix_tree: Any, full_tree: Any, /) -> Any:
    """Broadcast each leaf of a tree over the subtree of another tree at its place.

    The containers are those of the prefix and, below its leaves, those of the full
    tree. The predicate is called on both.

    Raises:
        ValueError: The tree is not a prefix.
    """
    pairs, treedef = _covered(walk.context, prefix_tree, full_tree)
    parts = [part.unflatten([leaf] * part.num_leaves) for leaf, part in pairs]
    return treedef.unflatten(parts)


@options
def broadcast_prefix(walk: Walk, prefix_tree: Any, full_tree: Any, /) -> list[Any]:
    """Return the leaves of `tree_broadcast_prefix`."""
    pairs, _ = _covered(walk.context, prefix_tree, full_tree)
    return [leaf for leaf, part in pairs for _ in range(part.num_leaves)]


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
    (first, other), _ = common_columns((tree, other_tree), walk.context)
    return first, other


# ------------------------------------------------------------------------------ folds


@options_by_name
def tree_reduce(
    walk: Walk, func: Callable[[Any, Any], Any], tree: Any, /, initial: Any = MISSING
) -> Any:
    """Fold the leaves from left to right.

    Raises:
        TypeError: There are no leaves and no initial value.
    """
    start = () if initial is MISSING else (initial,)
    return functools.reduce(func, walk.context.flatten(tree)[0], *start)


@options_by_name
def tree_sum(walk: Walk, tree: Any, /, start: Any = 0) -> Any:
    """Sum the leaves; a str or bytes as the start concatenates them."""
    leaves, _ = walk.context.flatten(tree)
    if isinstance(start, str | bytes | bytearray):
        empty: Any = type(start)()
        return start + empty.join(leaves)
    return builtins.sum(leaves, start)


def _extreme(choose: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return a function that returns the largest or the smallest leaf."""

    def extreme(
        walk: Walk, tree: Any, /, *, default: Any = MISSING, key: Any = None
    ) -> Any:
        given = {} if default is MISSING else {"default": default}
        return choose(walk.context.flatten(tree)[0], key=key, **given)

    extreme.__name__ = extreme.__qualname__ = name
    extreme.__doc__ = f"Return the {choose.__name__} of the leaves."
    return options_by_name(extreme)


tree_max = _extreme(builtins.max, "tree_max")
tree_min = _extreme(builtins.min, "tree_min")


@options_by_name
def tree_all(walk: Walk, tree: Any, /) -> bool:
    """Return whether all leaves are true."""
    return builtins.all(iter_leaves(tree, walk.context.view, walk.context.stop))


@options_by_name
def tree_any(walk: Walk, tree: Any, /) -> bool:
    """Return whether any leaf is true."""
    return builtins.any(iter_leaves(tree, walk.context.view, walk.context.stop))


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
    rule = walk.context.rule_of(tree)
    if rule is None:
        raise ValueError(f"Cannot flatten leaf-type: {type(tree)} (node: {tree!r}).")
    children, aux = rule.flatten(tree)
    arity = len(children)
    found = FlattenOneLevelOutputEx(
        [*children],
        metadata(rule, aux),
        tuple(rule.bare_keys(aux, arity)),
        unflatten_by(rule, aux),
    )
    found.type, found.kind = type(tree), kind_of(rule)
    entry = PyTreeEntry if tree is None else entry_class(rule, aux, arity)
    found.path_entry_type = entry
    return found


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
        pytree structure error: different types at key path
            in_axes['a']
        prefix: list of length 1
        full tree: tuple of length 1
    """
    treedef = walk.context.flatten(prefix_tree)[1]
    found = differences(treedef._code, full_tree, walk.context.view)
    given = walk, prefix_tree, full_tree
    return [functools.partial(_prefix_error, *given, one) for one in found]


def _prefix_error(
    walk: Walk, prefix_tree: Any, full_tree: Any, difference: Difference, name: str
) -> ValueError:
    path, where = difference.path, walk.context.view.mode.namespace
    nodes = [path(tree, namespace=where) for tree in (prefix_tree, full_tree)]
    rule, other = [walk.context.rule_of(node) for node in nodes]
    what = "types"
    if rule and other and rule.pairs_by_key and other.pairs_by_key:
        what = "pytree keys"
    elif rule and rule is other:
        sizes = {len(rule.flatten(node)[0]) for node in nodes}
        what = "pytree metadata" if len(sizes) == 1 else "numbers of pytree children"
    at = f"{name}{path}" if path else f"{name} tree root"
    return ValueError(
        f"pytree structure error: different {what} at key path\n    {at}\n"
        f"prefix: {difference.expected}\nfull tree: {difference.actual}"
    )


_PUBLIC = ("tree_", "treespec_", "broadcast_", "prefix_", "all_", "MAX_", "NONE_")
__all__ = [*sorted(name for name in globals() if name.startswith(_PUBLIC))]  # pyright: ignore[reportUnsupportedDunderAll]
