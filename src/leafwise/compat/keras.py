"""A backend for `keras.tree`, besides those of Keras for optree, torch and dm-tree.

It has the functions of `keras/src/tree/optree_impl.py` with the same behaviour. None is
a leaf, dicts are walked by sorted keys, and an `OrderedDict` in its own order. Classes
are registered in a separate namespace. It imports nothing from Keras. Keras uses it if
it is installed under the name of Keras's own backend::

    import sys, leafwise.compat.keras
    sys.modules["keras.src.tree.optree_impl"] = leafwise.compat.keras
    import keras
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from ..core.keys import DictKey
from ..core.node import Rule
from ..core.register import register_pytree_node
from ..core.registry import declare_namespace, view_of
from ..core.treedef import PyTreeDef
from ..core.walk import map_leaves
from ..errors import StructureError
from ..ops.context import context_of
from ..ops.map import tree_map, tree_map_
from .common import traversed


__all__ = [
    "assert_same_paths",
    "assert_same_structure",
    "flatten",
    "flatten_with_path",
    "is_nested",
    "lists_to_tuples",
    "map_shape_structure",
    "map_structure",
    "map_structure_up_to",
    "pack_sequence_as",
    "register_tree_node_class",
    "traverse",
]

NAMESPACE: Final = "leafwise.compat.keras"
_OPTIONS: Final[dict[str, Any]] = {"none_is_leaf": True, "namespace": NAMESPACE}
C = TypeVar("C", bound=type)

declare_namespace(NAMESPACE)


def register_tree_node_class(cls: C) -> C:
    """Make instances of a class nodes, by two methods of the class.

    Args:
        cls: A class with `tree_flatten(self)`, which returns children and metadata, and
            optionally keys, and a classmethod
            `tree_unflatten(cls, metadata, children)`.

    Returns:
        The class.

    Raises:
        ValueError: The class is registered already.

    Example:
        >>> import leafwise.compat.keras as backend
        >>> @backend.register_tree_node_class
        ... class Row(list):
        ...     def tree_flatten(self): return self, None
        ...     @classmethod
        ...     def tree_unflatten(cls, metadata, children): return cls(children)
        >>> backend.flatten([Row([1, 2]), 3])
        [1, 2, 3]
    """
    node: Any = cls

    def flatten(value: Any) -> tuple[Any, ...]:
        children, metadata, *keys = value.tree_flatten()
        return tuple(children), metadata, *(map(DictKey, found) for found in keys)

    def unflatten(metadata: Any, children: tuple[Any, ...]) -> Any:
        return node.tree_unflatten(metadata, children)

    return register_pytree_node(cls, flatten, unflatten, namespace=NAMESPACE)


def _rule_of(node: Any) -> Rule | None:
    return view_of(NAMESPACE, True).resolve(type(node))


def _flatten(structure: Any) -> tuple[list[Any], PyTreeDef]:
    return context_of(None, False, True, NAMESPACE).flatten(structure)


def is_nested(structure: Any) -> bool:
    """Return whether a value is a node.

    Example:
        >>> import leafwise.compat.keras as backend
        >>> backend.is_nested([]), backend.is_nested(None)
        (True, False)
    """
    return _rule_of(structure) is not None


def traverse(func: Callable[[Any], Any], structure: Any, top_down: bool = True) -> Any:
    """Call a function on each node and leaf, and return the resulting structure.

    Args:
        func: Takes a node or leaf. If it returns None, the value is kept; anything else
            replaces the value, and a class named `MAP_TO_NONE` replaces it with None.
        structure: The structure.
        top_down: Whether nodes are visited before their children; replaced values are
            then not traversed.

    Raises:
        CycleError: The structure contains itself.

    Example:
        >>> import leafwise.compat.keras as backend
        >>> backend.traverse(lambda x: sum(x) if type(x) is tuple else None, [(1, 2)])
        [3]
    """
    context = context_of(None, False, True, NAMESPACE)
    return traversed(
        lambda _, node: func(node), structure, top_down, context, _stands_for_none
    )


def _stands_for_none(found: Any) -> bool:
    return isinstance(found, type) and found.__name__ == "MAP_TO_NONE"


def flatten(structure: Any) -> list[Any]:
    """Return the leaves of a structure.

    Example:
        >>> import leafwise.compat.keras as backend
        >>> backend.flatten({"b": 1, "a": (None, 2)})
        [None, 2, 1]
    """
    return _flatten(structure)[0]


def flatten_with_path(structure: Any) -> list[tuple[tuple[Any, ...], Any]]:
    """Return pairs of path and leaf; a path is a tuple of positions and keys.

    Example:
        >>> import leafwise.compat.keras as backend
        >>> backend.flatten_with_path({"a": [1]})
        [(('a', 0), 1)]
    """
    leaves, treedef = _flatten(structure)
    return [*zip(treedef.bare_paths(), leaves, strict=True)]


def map_structure(
    func: Callable[..., Any], *structures: Any, none_is_leaf: bool = True
) -> Any:
    """Map a function over the leaves; return the results in the first structure.

    Args:
        func: Takes a leaf of each structure.
        *structures: Structures that are nested in the same way.
        none_is_leaf: Whether the function is called on None; otherwise None is kept.

    Raises:
        ValueError: There are no structures, or they are not nested in the same way.

    Example:
        >>> import leafwise.compat.keras as backend
        >>> backend.map_structure(lambda x, y: x + y, {"a": 1}, {"a": 2})
        {'a': 3}
    """
    if not structures:
        raise ValueError("Must provide at least one structure")
    first, *rest = structures
    context = context_of(None, False, none_is_leaf, NAMESPACE)
    with _same_structure():
        columns, treedef = context.columns(first, tuple(rest), strict=bool(rest))
    return treedef.unflatten(map_leaves(func, columns, treedef._code))


def map_structure_up_to(
    shallow_structure: Any, func: Callable[..., Any], *structures: Any
) -> Any:
    """Map a function over the subtrees at the leaves of a shallow structure.

    Raises:
        ValueError: There are no structures, or one of them does not have the shallow
            structure as a prefix.

    Example:
        >>> import leafwise.compat.keras as backend
        >>> backend.map_structure_up_to([0, 0], len, [(1, 2), {}])
        [2, 0]
    """
    if not structures:
        raise ValueError("Must provide at least one structure")
    context = context_of(None, False, True, NAMESPACE)
    with _same_structure():
        columns, treedef = context.columns(shallow_structure, structures)
    return treedef.unflatten(map_leaves(func, columns[1:], treedef._code))


def assert_same_structure(a: Any, b: Any) -> None:
    """Raise an error unless two structures are nested in the same way.

    Raises:
        ValueError: They are nested differently; the error says where.

    Example:
        >>> import leafwise.compat.keras as backend
        >>> backend.assert_same_structure([(0, 1)], [(2, None)])
    """
    with _same_structure():
        tree_map_(_nothing, a, b, strict=True, **_OPTIONS)


@contextmanager
def _same_structure() -> Iterator[None]:
    """Say of structures that differ what Keras says of them, before what we say.

    Raises:
        ValueError: They differ.
    """
    try:
        yield
    except StructureError as error:
        raise ValueError(
            f"Structures don't have the same nested structure.\n{error}"
        ) from error


def _nothing(_one: Any, _other: Any) -> None:
    pass


def assert_same_paths(a: Any, b: Any) -> None:
    """Raise an error unless the leaves of two structures have the same paths.

    Raises:
        ValueError: The paths differ; the error lists the paths that only one of them
            has.

    Example:
        >>> import leafwise.compat.keras as backend
        >>> backend.assert_same_paths([1, (2,)], (3, [4]))
    """
    one, other = ({*_flatten(structure)[1].bare_paths()} for structure in (a, b))
    if one != other:
        told = [
            f"\nPaths in `{first}` missing in `{second}`:\n{paths}"
            for first, second, paths in (
                ("a", "b", one - other),
                ("b", "a", other - one),
            )
            if paths
        ]
        raise ValueError("`a` and `b` don't have the same paths." + "".join(told))


def pack_sequence_as(structure: Any, flat_sequence: Iterable[Any]) -> Any:
    """Return a structure with its leaves replaced.

    Raises:
        TypeError: `flat_sequence` is not iterable.
        ValueError: There are too few or too many leaves.

    Example:
        >>> import leafwise.compat.keras as backend
        >>> backend.pack_sequence_as({"b": 0, "a": 0}, [1, 2])
        {'b': 2, 'a': 1}
    """
    treedef = _flatten(structure)[1]
    leaves = [*flat_sequence]
    if len(leaves) != treedef.num_leaves:
        raise ValueError(
            f"wrong number of leaves: expected {treedef.num_leaves}, got {len(leaves)}"
        )
    return treedef.unflatten(leaves)


def lists_to_tuples(structure: Any) -> Any:
    """Return a structure with tuples in place of lists.

    Example:
        >>> import leafwise.compat.keras as backend
        >>> backend.lists_to_tuples({"a": [1, [2]]})
        {'a': (1, (2,))}
    """
    return traverse(
        lambda node: tuple(node) if isinstance(node, list) else None,
        structure,
        top_down=False,
    )


def map_shape_structure(func: Callable[[Any], Any], structure: Any) -> Any:
    """Map a structure of shapes: lists and tuples of ints and None are leaves.

    Args:
        func: Takes a shape, or any other leaf.
        structure: The structure.

    Example:
        >>> import leafwise.compat.keras as backend
        >>> backend.map_shape_structure(len, {"x": (None, 3), "y": [1, 2, 3]})
        {'x': 2, 'y': 3}
    """
    return tree_map(func, structure, is_leaf=_is_shape, **_OPTIONS)


def _is_shape(node: Any) -> bool:
    return isinstance(node, list | tuple) and all(
        isinstance(size, int | None) for size in node
    )
