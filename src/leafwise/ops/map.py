"""Flatten, unflatten, map: with and without key paths.

These are the operations that all others are made of.

The arguments that most functions share:

    is_leaf: Stops the walk early. A predicate that is asked of each node from
        the root down, a type, or a tuple of types.
    namespace: The namespace to look classes up in before the global registry.

Some functions also take options of jax and optree:

    is_leaf_takes_path: Whether the predicate is called as `is_leaf(path, node)`.
    none_is_leaf: Whether None is a leaf; by default it is a node without children,
        unless the namespace was declared with `none_is_leaf=True`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import UnionType
from typing import TYPE_CHECKING, Any, Final, TypeVar, overload

from .._text import typed_repr
from ..core.builtins import TUPLE
from ..core.context import (
    context_of,
    flatten_by,
    flatten_tree,
    leaves_by,
    map_by,
    plain_context,
    predicate,
    read_tree,
)
from ..core.keypath import ROOT, KeyPath
from ..core.reasons import unexpected_leaf
from ..core.registry import GLOBAL, Mode, current
from ..core.treedef import (
    PyTreeDef,
    code_of,
    joined_mode,
    map_columns,
    map_leaves,
    shared_paths,
    treedef_of,
)
from ..core.walk import (
    Step,
    Walk,
    iter_leaves,
    iter_steps,
    locate,
    note_argument_order,
    require_function,
)


if TYPE_CHECKING:
    from .._typing import (
        Function,
        IsLeaf,
        K,
        Leaf,
        Level,
        Node,
        Nodes,
        PathFunction,
        PyTree,
        R,
        T,
        TreeT,
        Unseen,
    )

__all__ = [
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_iter",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_shared",
    "tree_map_with_path",
    "tree_paths",
    "tree_replace_nones",
    "tree_structure",
    "tree_unflatten",
    "treedef_tuple",
]


Tree = TypeVar("Tree")

# ---------------------------------------------------------- flatten, unflatten


@overload
def tree_flatten(
    tree: Level[PyTree[T]], *, namespace: str = ""
) -> tuple[list[T], PyTreeDef[Any]]: ...
@overload
def tree_flatten(
    tree: Node, *, namespace: str = ""
) -> tuple[list[Any], PyTreeDef[Node]]: ...
@overload
def tree_flatten(
    tree: Any,
    is_leaf: IsLeaf = None,
    *,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> tuple[list[Any], PyTreeDef[Any]]: ...
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
        tree: Any value. A value whose type is not registered is a single leaf.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        is_leaf_takes_path: Call the predicate as `is_leaf(path, node)`.
        none_is_leaf: Whether None is a leaf and not a node without children.
        namespace: Where classes are looked up before the global registry.

    Returns:
        The leaves from left to right, dict leaves in sorted key order, and the
        treedef that `tree_unflatten` takes.

    Raises:
        CycleError: The tree contains itself.
        FlattenError: A registered flatten function returned an invalid result.

    Example:
        >>> import leafwise as lw
        >>> lw.tree_flatten({"lr": 0.1, "betas": (0.9, 0.99)})
        ([0.9, 0.99, 0.1], PyTreeDef({'betas': (*, *), 'lr': *}))
    """
    if is_leaf is None and namespace is GLOBAL and none_is_leaf is False:
        view = current.view
        compiled = view.hot.get(type(tree))
        if compiled is None:
            return flatten_by(tree, view, None)
        result = compiled(tree)
        return read_tree(tree, view, None) if result is None else result
    return flatten_tree(tree, is_leaf, is_leaf_takes_path, none_is_leaf, namespace)


@overload
def tree_leaves(
    tree: Unseen,
    *,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> list[Any]: ...
@overload
def tree_leaves(tree: Level[PyTree[T]], *, namespace: str = "") -> list[T]: ...
@overload
def tree_leaves(
    tree: Any,
    is_leaf: IsLeaf = None,
    *,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> list[Any]: ...
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
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        is_leaf_takes_path: Call the predicate as `is_leaf(path, node)`.
        none_is_leaf: Whether None is a leaf and not a node without children.
        namespace: Where classes are looked up before the global registry.

    Raises:
        CycleError: The tree contains itself.

    Example:
        >>> import leafwise as lw
        >>> lw.tree_leaves([1, (2, None), {"b": 3, "a": 4}])
        [1, 2, 4, 3]
        >>> lw.tree_leaves([1, (2, 3)], is_leaf=tuple)
        [1, (2, 3)]
    """
    if is_leaf is None and namespace is GLOBAL and none_is_leaf is False:
        return leaves_by(tree, current.view)
    context = context_of(is_leaf, is_leaf_takes_path, none_is_leaf, namespace)
    return context.leaves(tree)


@overload
def tree_structure(tree: Node, *, namespace: str = "") -> PyTreeDef[Node]: ...
@overload
def tree_structure(
    tree: Any,
    is_leaf: IsLeaf = None,
    *,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> PyTreeDef[Any]: ...
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
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        is_leaf_takes_path: Call the predicate as `is_leaf(path, node)`.
        none_is_leaf: Whether None is a leaf and not a node without children.
        namespace: Where classes are looked up before the global registry.

    Raises:
        CycleError: The tree contains itself.

    Example:
        >>> import leafwise as lw
        >>> lw.tree_structure([1, (2, None)])
        PyTreeDef([*, (*, None)])
    """
    _, treedef = flatten_tree(
        tree, is_leaf, is_leaf_takes_path, none_is_leaf, namespace
    )
    return treedef


def tree_iter(
    tree: Any,
    is_leaf: IsLeaf = None,
    *,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> Iterator[Any]:
    """Return an iterator over the leaves; it walks the tree lazily.

    Args:
        tree: Any value.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        is_leaf_takes_path: Call the predicate as `is_leaf(path, node)`.
        none_is_leaf: Whether None is a leaf and not a node without children.
        namespace: Where classes are looked up before the global registry.

    Raises:
        CycleError: The tree contains itself; raised when the walk reaches that node.

    Example:
        >>> import leafwise as lw
        >>> next(lw.tree.iter({"b": 1, "a": 2}))
        2
    """
    context = context_of(is_leaf, is_leaf_takes_path, none_is_leaf, namespace)
    return iter_leaves(tree, context.view, context.stop)


def tree_unflatten(treedef: PyTreeDef[Tree], leaves: Iterable[Any]) -> Tree:
    """Rebuild a tree from its structure and its leaves.

    Args:
        treedef: The structure.
        leaves: As many leaves as the structure has, from left to right. Any object
            may be a leaf, because no `__init__` runs.

    Raises:
        StructureError: Too few or too many leaves.
        TypeError: `treedef` is not a treedef.

    Example:
        >>> import leafwise as lw
        >>> leaves, treedef = lw.tree_flatten([1, {"a": 2}])
        >>> lw.tree_unflatten(treedef, [x * 10 for x in leaves])
        [10, {'a': 20}]
    """
    if type(treedef) is not PyTreeDef:
        message = (
            "tree_unflatten takes the treedef first and the leaves second, "
            f"got {typed_repr(treedef)}"
        )
        if isinstance(leaves, PyTreeDef):
            message += " (swap the two arguments)"
        raise TypeError(message)
    return treedef.unflatten(leaves)


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """Return the treedef of a tuple whose children have these treedefs.

    Args:
        treedefs: The treedefs of the children.

    Raises:
        TreeDefError: Not all are treedefs, or their None modes or namespaces differ.

    Example:
        >>> import leafwise as lw
        >>> lw.tree.treedef_tuple([lw.tree_structure(1), lw.tree_structure([2, 3])])
        PyTreeDef((*, [*, *]))
    """
    parts = tuple(treedefs)
    mode = joined_mode("treedef_tuple", parts) if parts else Mode(GLOBAL, False)
    steps: list[Step] = []
    for part in parts:
        steps += iter_steps(code_of(part))
    steps.append((TUPLE, len(parts), None))
    return treedef_of(steps, mode)


# -------------------------------------------------------------------------- map


# Those with `Any` for what `f` takes are for pyrefly and ty: a lambda fits the overload
# for any tree as well, and then they infer nothing; one that fits each lambda ends
# their search.


@overload
def tree_map(
    f: Function[Any, Any],
    tree: Nodes,
    *rest: Any,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = "",
    strict: bool = False,
) -> Nodes: ...
@overload
def tree_map(
    f: Function[Leaf, R],
    tree: dict[K, Leaf],
    *rest: Any,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = "",
    strict: bool = False,
) -> dict[K, R]: ...
@overload
def tree_map(
    f: Function[Leaf, R],
    tree: list[Leaf],
    *rest: Any,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = "",
    strict: bool = False,
) -> list[R]: ...
@overload
def tree_map(
    f: Function[Leaf, R],
    tree: tuple[Leaf, ...],
    *rest: Any,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = "",
    strict: bool = False,
) -> tuple[R, ...]: ...
@overload
def tree_map(  # pyright: ignore[reportOverlappingOverload]
    f: Function[Any, R],
    tree: dict[K, Leaf],
    *rest: Any,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = "",
    strict: bool = False,
) -> dict[K, R]: ...
@overload
def tree_map(  # pyright: ignore[reportOverlappingOverload]
    f: Function[Any, R],
    tree: list[Leaf],
    *rest: Any,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = "",
    strict: bool = False,
) -> list[R]: ...
@overload
def tree_map(  # pyright: ignore[reportOverlappingOverload]
    f: Function[Any, R],
    tree: tuple[Leaf, ...],
    *rest: Any,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = "",
    strict: bool = False,
) -> tuple[R, ...]: ...
@overload
def tree_map(
    f: Function[Any, Any],
    tree: Any,
    *rest: Any,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = "",
    strict: bool = False,
) -> Any: ...
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
        f: Called in leaf order, with a leaf of `tree` and the corresponding value of
            each further tree. It must not change `tree`: whether a change of a part
            that is still to come is seen is not defined.
        tree: The tree that gives the structure.
        *rest: Further trees that have the structure of `tree`. If they go deeper,
            `f` receives the whole subtree.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        is_leaf_takes_path: Call the predicate as `is_leaf(path, node)`.
        none_is_leaf: Whether None is a leaf and not a node without children.
        namespace: Where classes are looked up before the global registry.
        strict: Whether it is an error if a further tree goes deeper than `tree`.

    Returns:
        A new tree. Dicts keep the insertion order of `tree`.

    Raises:
        StructureError: A further tree does not have the structure of `tree`; raised
            before the first call of `f`.
        CycleError: The tree contains itself.

    An exception that `f` raises propagates, with a note that names the key path.

    Example:
        >>> import leafwise as lw
        >>> lw.tree_map(lambda x: x * 2, {"b": 1, "a": (2, None)})
        {'b': 2, 'a': (4, None)}
        >>> lw.tree_map(lambda x, y: x + y, [1, 2], [10, 20])
        [11, 22]
    """
    # The usual call goes past `context_of`: maps of small trees would feel it.
    if is_leaf is None and namespace is GLOBAL and none_is_leaf is False:
        view = current.view
        if not rest:
            return map_by(f, tree, view)
        context = view.context or plain_context(view)
    else:
        context = context_of(is_leaf, is_leaf_takes_path, none_is_leaf, namespace)
        if not rest:
            return context.map(f, tree)
    columns, treedef = context.columns(tree, rest, strict)
    return map_columns(f, columns, treedef)


def tree_map_(
    f: Callable[..., object],
    tree: TreeT,
    *rest: Any,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
    strict: bool = False,
) -> TreeT:
    """Call a function on each leaf for its side effects and return the tree itself.

    The whole structure is checked before the first call.

    Args:
        f: Called as in `tree_map`; its result is ignored.
        tree: The tree that gives the structure.
        *rest: Further trees that have the structure of `tree`.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        is_leaf_takes_path: Call the predicate as `is_leaf(path, node)`.
        none_is_leaf: Whether None is a leaf and not a node without children.
        namespace: Where classes are looked up before the global registry.
        strict: Whether it is an error if a further tree goes deeper than `tree`.

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
    context = context_of(is_leaf, is_leaf_takes_path, none_is_leaf, namespace)
    columns, treedef = context.columns(tree, rest, strict=strict)
    map_leaves(f, columns, treedef)  # of what was read before: `f` may change the tree
    return tree


@overload
def tree_map_only(
    type_or_types: type[T], f: Callable[[T], T], tree: TreeT, *, namespace: str = ""
) -> TreeT: ...
@overload
def tree_map_only(
    type_or_types: IsLeaf,
    f: Callable[[Any], Any],
    tree: Any,
    *,
    is_leaf: IsLeaf = None,
    namespace: str = "",
) -> Any: ...
def tree_map_only(
    type_or_types: IsLeaf,
    f: Callable[[Any], Any],
    tree: Any,
    *,
    is_leaf: IsLeaf = None,
    namespace: str = GLOBAL,
) -> Any:
    """Map the leaves of the given types and keep the others unchanged.

    Args:
        type_or_types: A type, a tuple of types, a union such as `int | str`, or
            a predicate on leaves.
        f: Called with each matching leaf.
        tree: The tree.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        namespace: Where classes are looked up before the global registry.

    Raises:
        TypeError: `type_or_types` is not one of these, or the arguments are swapped.
        CycleError: The tree contains itself.

    Example:
        >>> import leafwise as lw
        >>> lw.tree_map_only(str, str.upper, ["a", 1, {"k": "b"}])
        ['A', 1, {'k': 'B'}]

    Modelled on `torch.utils._pytree.tree_map_only`.
    """
    is_chosen = chooser(type_or_types, f)
    context = context_of(is_leaf, namespace=namespace)

    def change(leaf: Any) -> Any:
        return f(leaf) if is_chosen(leaf) else leaf

    return context.map(change, tree)


_TYPES_FIRST: Final = (
    "tree_map_only takes the types first, then the function, then the tree"
)


def chooser(type_or_types: Any, f: Any) -> Any:
    """Return the predicate that says which leaves `tree_map_only` maps.

    Raises:
        TypeError: The first argument does not select leaves, the second is no function,
            or they are swapped.
    """
    require_function(f, _TYPES_FIRST)
    is_chosen: Any
    try:
        is_chosen = predicate(type_or_types)
    except TypeError:
        is_chosen = None
    if is_chosen is None:
        raise TypeError(
            "tree_map_only selects by a type, a tuple of types, a union or a "
            f"predicate, got {typed_repr(type_or_types)}"
        )
    if not isinstance(f, type) or isinstance(type_or_types, type | tuple | UnionType):
        return is_chosen

    # A class as the function may be meant, as in `tree_map_only(is_text, float, tree)`.
    # That the predicate makes its instances shows that the two are swapped.
    def is_chosen_unless_swapped(leaf: Any) -> Any:
        answer = is_chosen(leaf)
        if type(answer) is not bool and isinstance(answer, f):
            raise TypeError(f"{_TYPES_FIRST}; the first returned {typed_repr(answer)}")
        return answer

    return is_chosen_unless_swapped


def tree_replace_nones(
    sentinel: Any,
    tree: Any,
    *,
    is_leaf: IsLeaf = None,
    namespace: str = GLOBAL,
) -> Any:
    """Replace each None in a tree with a sentinel.

    Args:
        sentinel: The replacement, any object.
        tree: The tree; a bare None is replaced, too.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        namespace: Where classes are looked up before the global registry.

    Raises:
        CycleError: The tree contains itself.

    Example:
        >>> import leafwise as lw
        >>> lw.tree.replace_nones(0, {"a": None, "b": [1, None]})
        {'a': 0, 'b': [1, 0]}
    """
    leaves, treedef = flatten_tree(tree, is_leaf, False, True, namespace)
    return treedef.unflatten([sentinel if x is None else x for x in leaves])


# ------------------------------------------------------------------- with key paths


@overload
def tree_flatten_with_path(
    tree: Level[PyTree[T]], *, namespace: str = ""
) -> tuple[list[tuple[KeyPath, T]], PyTreeDef[Any]]: ...
@overload
def tree_flatten_with_path(
    tree: Node, *, namespace: str = ""
) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef[Node]]: ...
@overload
def tree_flatten_with_path(
    tree: Any,
    is_leaf: IsLeaf = None,
    *,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef[Any]]: ...
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
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        is_leaf_takes_path: Call the predicate as `is_leaf(path, node)`.
        none_is_leaf: Whether None is a leaf and not a node without children.
        namespace: Where classes are looked up before the global registry.

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
    if is_leaf is None and namespace is GLOBAL and none_is_leaf is False:
        leaves, treedef = flatten_by(tree, current.view, None)
    else:
        leaves, treedef = flatten_tree(
            tree, is_leaf, is_leaf_takes_path, none_is_leaf, namespace
        )
    if leaves and leaves[0] is tree:  # nothing to look up; many trees are one array
        return [(ROOT, tree)], treedef
    paths = shared_paths(treedef)
    return list(zip(paths, leaves)), treedef  # noqa: B905  # as many


@overload
def tree_leaves_with_path(
    tree: Unseen,
    *,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> list[tuple[KeyPath, Any]]: ...
@overload
def tree_leaves_with_path(
    tree: Level[PyTree[T]], *, namespace: str = ""
) -> list[tuple[KeyPath, T]]: ...
@overload
def tree_leaves_with_path(
    tree: Any,
    is_leaf: IsLeaf = None,
    *,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> list[tuple[KeyPath, Any]]: ...
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
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        is_leaf_takes_path: Call the predicate as `is_leaf(path, node)`.
        none_is_leaf: Whether None is a leaf and not a node without children.
        namespace: Where classes are looked up before the global registry.

    Raises:
        CycleError: The tree contains itself.

    Example:
        >>> import leafwise as lw
        >>> for path, leaf in lw.tree_leaves_with_path({"lr": 0.1, "betas": (0.9,)}):
        ...     print(path, "=", leaf)
        ['betas'][0] = 0.9
        ['lr'] = 0.1
    """
    context = context_of(is_leaf, is_leaf_takes_path, none_is_leaf, namespace)
    leaves, treedef = context.flatten(tree)
    paths = shared_paths(treedef)
    return list(zip(paths, leaves))  # noqa: B905  # as many


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
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        is_leaf_takes_path: Call the predicate as `is_leaf(path, node)`.
        none_is_leaf: Whether None is a leaf and not a node without children.
        namespace: Where classes are looked up before the global registry.

    Raises:
        CycleError: The tree contains itself.

    Example:
        >>> import leafwise as lw
        >>> [str(path) for path in lw.tree_paths([1, {"a": 2}])]
        ['[0]', "[1]['a']"]
    """
    context = context_of(is_leaf, is_leaf_takes_path, none_is_leaf, namespace)
    return context.flatten(tree)[1].paths()


@overload
def tree_map_with_path(
    f: PathFunction[KeyPath, Any, Any],
    tree: Nodes,
    *rest: Any,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = "",
    strict: bool = False,
) -> Nodes: ...
@overload
def tree_map_with_path(
    f: PathFunction[KeyPath, Leaf, R],
    tree: dict[K, Leaf],
    *rest: Any,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = "",
    strict: bool = False,
) -> dict[K, R]: ...
@overload
def tree_map_with_path(
    f: PathFunction[KeyPath, Leaf, R],
    tree: list[Leaf],
    *rest: Any,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = "",
    strict: bool = False,
) -> list[R]: ...
@overload
def tree_map_with_path(
    f: PathFunction[KeyPath, Leaf, R],
    tree: tuple[Leaf, ...],
    *rest: Any,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = "",
    strict: bool = False,
) -> tuple[R, ...]: ...
@overload
def tree_map_with_path(  # pyright: ignore[reportOverlappingOverload]
    f: PathFunction[Any, Any, R],
    tree: dict[K, Leaf],
    *rest: Any,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = "",
    strict: bool = False,
) -> dict[K, R]: ...
@overload
def tree_map_with_path(  # pyright: ignore[reportOverlappingOverload]
    f: PathFunction[Any, Any, R],
    tree: list[Leaf],
    *rest: Any,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = "",
    strict: bool = False,
) -> list[R]: ...
@overload
def tree_map_with_path(  # pyright: ignore[reportOverlappingOverload]
    f: PathFunction[Any, Any, R],
    tree: tuple[Leaf, ...],
    *rest: Any,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = "",
    strict: bool = False,
) -> tuple[R, ...]: ...
@overload
def tree_map_with_path(
    f: PathFunction[KeyPath, Any, Any],
    tree: Any,
    *rest: Any,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = "",
    strict: bool = False,
) -> Any: ...
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
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        is_leaf_takes_path: Call the predicate as `is_leaf(path, node)`.
        none_is_leaf: Whether None is a leaf and not a node without children.
        namespace: Where classes are looked up before the global registry.
        strict: Whether it is an error if a further tree goes deeper than `tree`.

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
    context = context_of(is_leaf, is_leaf_takes_path, none_is_leaf, namespace)
    columns, treedef = context.columns(tree, rest, strict, True)
    return map_columns(f, columns, treedef)


# ----------------------------------------------------------- maps that keep sharing

_SCALARS: Final = frozenset({bool, bytes, complex, float, int, str, type(None)})


def tree_map_shared(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: IsLeaf = None,
    namespace: str = GLOBAL,
    strict: bool = False,
) -> Any:
    """Map over a tree and keep shared objects shared.

    An object that appears in several places of `tree` is mapped once, and the result
    appears in all these places. Numbers, strings, bytes and None are mapped each time.

    Args:
        f: Called as in `tree_map`.
        tree: The tree that gives the structure.
        *rest: Further trees that have the structure of `tree`. If they differ between
            two places of one object, that object is mapped in each place.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        namespace: Where classes are looked up before the global registry.
        strict: Whether it is an error if a further tree goes deeper than `tree`.

    Returns:
        A new tree with the structure of `tree`.

    Raises:
        StructureError: A further tree does not have the structure of `tree`.
        CycleError: The tree contains itself.

    An exception that `f` raises propagates, with a note that names the key path.

    Example:
        >>> import leafwise as lw
        >>> row = [1, 2]
        >>> mapped = lw.tree.map_shared(lambda x: x * 2, {"a": row, "b": row})
        >>> mapped["a"] is mapped["b"]
        True
    """
    context = context_of(is_leaf, namespace=namespace)
    context.columns(tree, rest, strict=strict)  # the check that they pair
    memo: dict[tuple[int, ...], Any] = {}  # results, by the ids at a place
    columns: list[Any] = []  # all that was read, so that no id is used again
    rows = [rest]  # what further trees have at the places to come, the next one last
    open_keys: list[tuple[int, ...]] = []  # in the memo, of the nodes down to here
    results: list[Any] = []  # of children whose parents are not rebuilt yet
    steps = Walk(tree, context.view, context.stop, leaving=True)
    for _, node, node_type, is_leaving in steps:
        if is_leaving:
            children, aux = steps.flatten()
            start = len(results) - len(children)
            result = node_type.unflatten(aux, results[start:])  # type: ignore[union-attr]
            results[start:] = [result]
            memo[open_keys.pop()] = result
            continue
        row = rows.pop()
        key = (id(node), *map(id, row))
        if key in memo:
            results.append(memo[key])
            steps.skip()
        elif node_type is None:
            try:
                result = f(node, *row)
            except Exception as error:  # of the function: it gains a note
                note_argument_order(error, f)
                locate(error, steps.path(), unexpected_leaf(node, context.view))
                raise
            results.append(result)
            if type(node) not in _SCALARS:
                memo[key] = result
        else:
            open_keys.append(key)
            children, aux = steps.flatten()
            arity = len(children)
            others: list[Any] = [node_type.match(aux, arity, other) for other in row]
            columns.append((children, others))
            rows_below = list(zip(*others, strict=True)) if row else [()] * arity
            rows += reversed(rows_below)
    return results[0]
