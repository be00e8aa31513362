"""A stand-in for dm-tree, the package that is imported as `tree`.

    >>> import leafwise.compat.dm_tree as tree
    >>> tree.map_structure(lambda v: v**2, [[1], {"b": 2, "a": (3,)}])
    [[1], {'b': 4, 'a': (9,)}]

Names, arguments, results and types of exceptions are those of dm-tree 0.1.10; error
messages are more detailed and name the place. `dm_nodes` defines which values are
nodes.

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

from .._text import clip, described
from ..core.walk import map_leaves
from ..ops.traversal import SKIP, Visiting
from .dm_nodes import Path, check_pair, check_same, context, rule_of, values_up_to


__all__ = [  # pyright: ignore[reportUnsupportedDunderAll]
    *("MAP_TO_NONE", "assert_same_structure", "flatten", "flatten_up_to"),
    *("flatten_with_path", "flatten_with_path_up_to", "is_nested", "map_structure"),
    *("map_structure_up_to", "map_structure_with_path"),
    *("map_structure_with_path_up_to", "traverse", "unflatten_as"),
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
    return rule_of(structure) is not None


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
    return context().flatten(structure)[0]


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
    leaves, treedef = context().flatten(structure)
    pairs = zip(treedef.paths(), leaves, strict=True)
    return [(_plain(path), leaf) for path, leaf in pairs]


def _plain(path: Any) -> Path:
    """Return a key path without key objects."""
    return tuple([key.entry for key in path])


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
    if not is_nested(flat_sequence):
        told = described(flat_sequence)
        raise TypeError(f"flat_sequence must be a sequence, got {told}")
    _, treedef = context().flatten(structure)
    expected, count = treedef.num_leaves, len(flat_sequence)
    if count != expected:
        said = "is a scalar" if treedef.is_leaf() else f"had {expected} elements"
        told = f"Structure {said}, but flat_sequence had {count} elements"
        raise ValueError(f"Could not pack sequence. {told}: {clip(flat_sequence)}")
    # a dict is read by positions, too
    return treedef.unflatten([flat_sequence[index] for index in range(count)])


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
        raise ValueError(f"Only valid keyword arguments are `check_types`: {kwargs}")
    for other in structures[1:]:
        check_same(structures[0], other, check_types)
    walked = context()
    flat = [walked.flatten(structure) for structure in structures]
    columns, treedef = [leaves for leaves, _ in flat], flat[0][1]
    return treedef.unflatten(map_leaves(func, columns, treedef._code))


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
    return map_structure_with_path_up_to(
        shallow_structure, lambda _path, *values: func(*values), *structures, **kwargs
    )


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
    if "check_types" in kwargs:
        logging.warning("check_types is deprecated here and does not have any effect.")
    rows = _rows_up_to(shallow_structure, structures)
    return unflatten_as(shallow_structure, [func(*row) for row in rows])


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
        told = f"Could not find key {clip(error.args[0])} in some of the structures"
        raise ValueError(f"{told}; the last path that all have is {path}") from error


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
    check_same(a, b, check_types)


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
    pairs = flatten_with_path_up_to(shallow_structure, input_structure, check_types)
    return [value for _, value in pairs]


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
    check = functools.partial(check_pair, check_types)
    try:
        return [*values_up_to(shallow_structure, input_structure, check)]
    except KeyError as error:
        told = "The shallow_tree's keys are not a subset of the input_tree's keys"
        raise ValueError(f"{told}: no {clip(error.args[0])} in the input") from error


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
    return traverse_with_path(lambda _, node: fn(node), structure, top_down)


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

    def visit(node: Any, path: Any, _parent: Any) -> Any:
        found = fn(_plain(path), node)
        return node if found is None else SKIP(None if found is MAP_TO_NONE else found)

    enter, leave = (visit, None) if top_down else (None, visit)
    return Visiting(structure, enter, leave, context(), anew=True).run()
