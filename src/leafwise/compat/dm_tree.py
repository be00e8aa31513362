"""A stand-in for dm-tree, the package that is imported as `tree`.

    >>> import leafwise.compat.dm_tree as tree
    >>> tree.map_structure(lambda v: v**2, [[1], {"b": 2, "a": (3,)}])
    [[1], {'b': 4, 'a': (9,)}]

Names, arguments, results and types of exceptions are those of dm-tree 0.1.10; error
messages are more detailed and name the place. Owns the functions; `dm_nodes` defines
which values are nodes. Compiled functions read structures that they know, and only the
rest is walked here.

This module differs where dm-tree fails or gives a wrong tree. Trees of any depth are
walked, and a tree that contains itself raises a `CycleError`. A `Counter`, a `ChainMap`
and a proxy of wrapt keep their types. Functions with paths see the same nodes as those
without, including views of mappings.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar, Union

from ..core.treedef import PyTreeDef
from ..core.walk import map_leaves
from ..safely import clip, described
from .common import kept_by_treedef, traversed
from .dm_nodes import (
    Path,
    check_pair,
    check_same,
    context_asking,
    flatten_nodes,
    is_node,
    values_up_to,
)


__all__ = [
    "MAP_TO_NONE",
    "assert_same_structure",
    "flatten",
    "flatten_up_to",
    "flatten_with_path",
    "flatten_with_path_up_to",
    "is_nested",
    "map_structure",
    "map_structure_up_to",
    "map_structure_with_path",
    "map_structure_with_path_up_to",
    "traverse",
    "unflatten_as",
]

__version__ = "0.1.10"

K = TypeVar("K")
V = TypeVar("V")

StructureKV = Union[  # noqa: UP007  # it is recursive, by the name of itself
    Sequence["StructureKV[K, V]"], Mapping[K, "StructureKV[K, V]"], V
]
Structure = StructureKV[str, V]

MAP_TO_NONE: Final = object()
"""What a function given to `traverse` returns to put None in the place of a node."""


# ------------------------------------------------------------------ flatten, unflatten


def is_nested(structure: Any) -> bool:
    """Return whether a value is a node.

    Example:
        >>> import leafwise.compat.dm_tree as tree
        >>> tree.is_nested({"a": 1}), tree.is_nested("text"), tree.is_nested(None)
        (True, False, False)
    """
    return is_node(structure)


def flatten(structure: Any) -> list[Any]:
    """Return the leaves of a structure; mappings are ordered by sorted keys.

    Raises:
        TypeError: A mapping has keys that cannot be sorted.
        CycleError: The structure contains itself.

    Example:
        >>> import leafwise.compat.dm_tree as tree
        >>> tree.flatten([None, {"b": 1, "a": (2, 3)}])
        [None, 2, 3, 1]
    """
    return flatten_nodes(structure)[0]


def flatten_with_path(structure: Any) -> list[tuple[Path, Any]]:
    """Return pairs of path and leaf; a path is a tuple of positions, keys and names.

    Raises:
        TypeError: A mapping has keys that cannot be sorted.
        CycleError: The structure contains itself.

    Example:
        >>> import leafwise.compat.dm_tree as tree
        >>> tree.flatten_with_path([{"a": 1}])
        [((0, 'a'), 1)]
    """
    leaves, treedef = flatten_nodes(structure)
    return [*zip(_paths(treedef), leaves, strict=True)]


def unflatten_as(structure: Any, flat_sequence: Any) -> Any:
    """Return a structure with its leaves replaced.

    Raises:
        TypeError: `flat_sequence` is not a sequence, or a mapping in the structure has
            keys that cannot be sorted.
        ValueError: There are too few or too many leaves.

    Example:
        >>> import leafwise.compat.dm_tree as tree
        >>> tree.unflatten_as({"b": 0, "a": (0, 0)}, [1, 2, 3])
        {'b': 3, 'a': (1, 2)}
    """
    if type(flat_sequence) is not list and not is_node(flat_sequence):
        raise TypeError(
            f"flat_sequence must be a sequence, got {described(flat_sequence)}"
        )
    _, treedef = flatten_nodes(structure)
    count = treedef.num_leaves
    if len(flat_sequence) != count:
        raise _count_error(treedef, len(flat_sequence), flat_sequence)
    if type(flat_sequence) is not list:  # a dict is read by positions, too
        flat_sequence = [flat_sequence[place] for place in range(count)]
    return treedef._runner.unflatten(treedef, flat_sequence)


def _count_error(treedef: PyTreeDef, found: int, flat_sequence: Any) -> ValueError:
    if not treedef._code:
        return ValueError(
            f"Structure is a scalar, but flat_sequence had {found} elements: "
            f"{clip(flat_sequence)}"
        )
    return ValueError(
        f"Could not pack sequence. Structure had {treedef.num_leaves} elements, but "
        f"flat_sequence had {found} elements. flat_sequence: {clip(flat_sequence)}"
    )


@kept_by_treedef
def _paths(treedef: PyTreeDef) -> list[Path]:
    """Return the path of each leaf, without key objects."""
    return [tuple([key.entry for key in path]) for path in treedef.paths()]


# ------------------------------------------------------------------------------ map


def map_structure(func: Callable[..., Any], *structures: Any, **kwargs: Any) -> Any:
    """Map a function over the leaves; return the results in the first structure.

    Args:
        func: Called with one leaf of each structure.
        *structures: Structures that are nested in the same way.
        **kwargs: Only `check_types`: whether types of nodes and keys of mappings must
            be the same; true by default.

    Raises:
        TypeError: `func` is not callable, or two types of nodes differ.
        ValueError: There are no structures, there are other keyword arguments, or the
            structures are not nested in the same way.

    Example:
        >>> import leafwise.compat.dm_tree as tree
        >>> tree.map_structure(lambda x, y: x + y, {"a": 1}, {"a": 10})
        {'a': 11}
        >>> tree.map_structure(max, [1, 2], (3, 0), check_types=False)
        [3, 2]
    """
    if not callable(func):
        raise TypeError(f"func must be callable, got: {described(func)}")
    if not structures:
        raise ValueError("Must provide at least one structure")
    check_types = kwargs.pop("check_types", True)
    if kwargs:
        raise ValueError(
            "Only valid keyword arguments are `check_types`, not: "
            + ", ".join(f"`{name}`" for name in kwargs)
        )
    first = structures[0]
    if len(structures) == 1:
        leaves, treedef = flatten_nodes(first)
        columns = [leaves]
    else:
        columns, treedef = _same_leaves(structures, check_types)
    results = map_leaves(func, columns, treedef._code)
    return treedef._runner.unflatten(treedef, results)


def _same_leaves(
    structures: Sequence[Any], check_types: bool
) -> tuple[list[list[Any]], PyTreeDef]:
    """Return the leaves of structures that are nested as the first one is, and how.

    Raises:
        ValueError: One is not; see `assert_same_structure`.
        TypeError: Types of nodes differ.
    """
    first, *others = structures
    known, columns = _flatten_if_sortable(first), []
    for other in others:
        found = _flatten_if_sortable(other)
        is_same = known is not None and found is not None
        if not is_same or not (found[1] is known[1] or found[1] == known[1]):  # type: ignore[index]  # not None
            check_same(first, other, check_types)
        columns.append(found[0] if found is not None else flatten(other))
    leaves, treedef = known or flatten_nodes(first)
    return [leaves, *columns], treedef


def _flatten_if_sortable(structure: Any) -> tuple[list[Any], PyTreeDef] | None:
    try:
        return flatten_nodes(structure)
    except TypeError:
        return None


def map_structure_with_path(
    func: Callable[..., Any], *structures: Any, **kwargs: Any
) -> Any:
    """Map a function that takes the path first; otherwise like `map_structure`.

    As in dm-tree, further structures can be deeper and wider than the first, types of
    nodes are not compared, and keyword arguments have no effect.

    Raises:
        IndexError: There are no structures.
        ValueError: A structure has no child for a key of the first.

    Example:
        >>> import leafwise.compat.dm_tree as tree
        >>> tree.map_structure_with_path(lambda path, x: (path, x), [{"a": 1}])
        [{'a': ((0, 'a'), 1)}]
    """
    return map_structure_with_path_up_to(structures[0], func, *structures, **kwargs)


def map_structure_up_to(
    shallow_structure: Any, func: Callable[..., Any], *structures: Any, **kwargs: Any
) -> Any:
    """Map a function over the subtrees at the leaves of a shallow structure.

    Structures can be deeper and wider than the shallow one, and have other types.

    Raises:
        ValueError: There are no structures, or one has no child for a key.
        TypeError: A part of a structure has no children at all.

    Example:
        >>> import leafwise.compat.dm_tree as tree
        >>> tree.map_structure_up_to([None, None], len, [[1, 1], [2], "wider"])
        [2, 1]
    """
    return _map_up_to(shallow_structure, func, structures, kwargs, with_path=False)


def map_structure_with_path_up_to(
    shallow_structure: Any, func: Callable[..., Any], *structures: Any, **kwargs: Any
) -> Any:
    """Map a function that takes the path first; otherwise like `map_structure_up_to`.

    Raises:
        ValueError: There are no structures, or one has no child for a key.
        TypeError: A part of a structure has no children at all.

    Example:
        >>> import leafwise.compat.dm_tree as tree
        >>> tree.map_structure_with_path_up_to(
        ...     {"a": 0}, lambda path, x, y: (path, x, y), {"a": [1]}, {"a": 2, "b": 3})
        {'a': (('a',), [1], 2)}
    """
    return _map_up_to(shallow_structure, func, structures, kwargs, with_path=True)


def _map_up_to(
    shallow: Any,
    func: Callable[..., Any],
    structures: tuple[Any, ...],
    options: Mapping[str, Any],
    with_path: bool,
) -> Any:
    """Call a function on what structures have at the leaves of a shallow one."""
    if "check_types" in options:
        logging.warning("check_types is deprecated here and does not have any effect.")
    known = _flatten_if_sortable(shallow)
    if known is None or not structures:
        rows = _rows_up_to(shallow, structures)
        return unflatten_as(shallow, _results(func, rows, with_path))
    leaves, treedef = known
    columns: list[Any] = [
        leaves if tree is shallow else treedef._match(tree) for tree in structures
    ]
    if None in columns:
        rows = _rows_up_to(shallow, structures)
        return unflatten_as(shallow, _results(func, rows, with_path))
    if with_path:
        columns.insert(0, _paths(treedef))
    results = map_leaves(func, columns, treedef._code)
    return treedef._runner.unflatten(treedef, results)


def _results(func: Callable[..., Any], rows: Any, with_path: bool) -> list[Any]:
    return [func(*row) if with_path else func(*row[1:]) for row in rows]


def _rows_up_to(shallow: Any, trees: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Yield a path and what all trees have there, up to an error.

    Raises:
        ValueError: A tree has no child under a key.
    """
    path: Path = ()
    try:
        for row in zip(*[values_up_to(shallow, tree) for tree in trees], strict=False):
            path = row[0][0]
            yield path, *(value for _, value in row)
    except KeyError as error:
        raise ValueError(
            f"Could not find key {clip(error.args[0])} in some of the structures; "
            f"the last path that all of them have is {path}"
        ) from error


# ----------------------------------------------------------- the same structure


def assert_same_structure(a: Any, b: Any, check_types: bool = True) -> None:
    """Raise an error unless two structures are nested in the same way.

    Named tuples with the same name and fields count as one type. All lists count as one
    type, and so do all mappings with the same keys.

    Raises:
        ValueError: They are nested differently, or have different keys.
        TypeError: Types of nodes differ, and `check_types` is set.

    Example:
        >>> import leafwise.compat.dm_tree as tree
        >>> tree.assert_same_structure([(0, 1)], [(2, 3)])
        >>> tree.assert_same_structure([0], (1,), check_types=False)
    """
    _same_leaves((a, b), check_types)


def flatten_up_to(
    shallow_structure: Any, input_structure: Any, check_types: bool = True
) -> list[Any]:
    """Return the subtrees of a structure at the leaves of a shallow one.

    Raises:
        TypeError: A type differs, or a leaf is in the place of a node.
        ValueError: A node has different keys, or a different number of children.

    Example:
        >>> import leafwise.compat.dm_tree as tree
        >>> tree.flatten_up_to([0, [0, 0]], [[1, 2], [3, 4]])
        [[1, 2], 3, 4]
    """
    return _flatten_up_to(shallow_structure, input_structure, check_types, False)[1]


def flatten_with_path_up_to(
    shallow_structure: Any, input_structure: Any, check_types: bool = True
) -> list[tuple[Path, Any]]:
    """Return pairs of path and subtree; otherwise like `flatten_up_to`.

    Raises:
        TypeError: A type differs, or a leaf is in the place of a node.
        ValueError: A node has different keys, or a different number of children.

    Example:
        >>> import leafwise.compat.dm_tree as tree
        >>> tree.flatten_with_path_up_to({"a": 0}, {"a": [1, 2]})
        [(('a',), [1, 2])]
    """
    found = _flatten_up_to(shallow_structure, input_structure, check_types, True)
    return [*zip(*found, strict=True)]


def _flatten_up_to(
    shallow: Any, tree: Any, check_types: bool, with_path: bool
) -> tuple[Sequence[Path], list[Any]]:
    """Return paths and values, once it is certain that they fit."""
    known = _flatten_if_sortable(shallow)
    values = None if known is None else known[1]._match(tree)
    if known is not None and values is not None:
        return _paths(known[1]) if with_path else (), values
    check = functools.partial(check_pair, check_types, with_path)
    try:
        pairs = [*values_up_to(shallow, tree, check)]
    except KeyError as error:
        raise ValueError(
            "The shallow_tree's keys are not a subset of the input_tree's keys: the "
            f"input has no {clip(error.args[0])}"
        ) from error
    return [path for path, _ in pairs], [value for _, value in pairs]


# -------------------------------------------------------------------------- traverse


def traverse(fn: Callable[[Any], Any], structure: Any, top_down: bool = True) -> Any:
    """Call a function on each node and leaf, and return the resulting structure.

    Args:
        fn: Takes a node or leaf. If it returns None, the value is kept; anything else
            replaces the value, and `MAP_TO_NONE` replaces it with None. From the top
            down, replaced values are not traversed.
        structure: The structure.
        top_down: Whether nodes are visited before their children. Otherwise they are
            visited after them, and `fn` receives nodes with the new children.

    Raises:
        CycleError: The structure contains itself.

    Example:
        >>> import leafwise.compat.dm_tree as tree
        >>> tree.traverse(lambda x: sum(x) if type(x) is tuple else None, [(1, 2), 3])
        [3, 3]
    """
    return _traversed(lambda _, node: fn(node), structure, top_down)


def traverse_with_path(
    fn: Callable[[Path, Any], Any], structure: Any, top_down: bool = True
) -> Any:
    """Traverse with a function that takes the path first; otherwise like `traverse`.

    Raises:
        CycleError: The structure contains itself.

    Example:
        >>> import leafwise.compat.dm_tree as tree
        >>> tree.traverse_with_path(lambda path, x: print(path, x), {"a": [1]})
        () {'a': [1]}
        ('a',) [1]
        ('a', 0) 1
        {'a': [1]}
    """
    return _traversed(
        lambda path, node: fn(tuple([key.entry for key in path]), node),
        structure,
        top_down,
    )


def _traversed(fn: Callable[[Any, Any], Any], structure: Any, top_down: bool) -> Any:
    asking = context_asking()
    return traversed(fn, structure, top_down, asking, lambda x: x is MAP_TO_NONE)
