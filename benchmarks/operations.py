"""The operations that are measured, on a tree, by one library.

No benchmark by itself; other scripts use it. The mapped functions do nothing: what is
measured is the walk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from libraries import UNSUPPORTED, Library
from tables import Measurement
from timing import Call, side_by_side

from leafwise import PyTreeDef, tree_leaves, tree_structure


Operation = Callable[[Library, Any], Call]
"""Takes a library and a tree, returns what is timed."""

Predicate = Callable[[Any], bool]


def flatten(library: Library, tree: Any) -> Call:
    """Prepare `flatten`."""
    return lambda: library.flatten(tree)


def unflatten(library: Library, tree: Any) -> Call:
    """Prepare `unflatten`, of leaves and structure of the tree."""
    return library.unflatten(library.flatten(tree), tree)


def map_tree(library: Library, tree: Any) -> Call:
    """Prepare `map` of one tree."""
    return lambda: library.map(lambda x: x, tree)


def map_two_trees(library: Library, tree: Any) -> Call:
    """Prepare `map` of a tree with itself."""
    return lambda: library.map(lambda x, _: x, tree, tree)


def map_three_trees(library: Library, tree: Any) -> Call:
    """Prepare `map` of a tree with itself and itself."""
    return lambda: library.map(lambda x, _, __: x, tree, tree, tree)


def copy(library: Library, tree: Any) -> Call:
    """Prepare a copy, by `flatten` and `unflatten`."""
    return lambda: library.copy(tree)


def flatten_with_path(library: Library, tree: Any) -> Call:
    """Prepare `flatten_with_path`."""
    return lambda: library.flatten_with_path(tree)


def map_with_path(library: Library, tree: Any) -> Call:
    """Prepare `map_with_path`."""
    return lambda: library.map_with_path(lambda _, x: x, tree)


def map_three_with_path(library: Library, tree: Any) -> Call:
    """Prepare `map_with_path` of a tree with itself and itself."""
    return lambda: library.map_with_path(lambda _, x, __, ___: x, tree, tree, tree)


def flatten_up_to(library: Library, tree: Any) -> Call:
    """Prepare `flatten_up_to`, up to the structure of the tree itself."""
    return library.flatten_up_to(library.flatten(tree), tree)


def broadcast_prefix(library: Library, tree: Any) -> Call:
    """Prepare `broadcast` of a prefix with one leaf for each child of the root."""
    prefix = one_level(tree)
    return lambda: library.broadcast(prefix, tree)


def one_level(tree: Any) -> Any:
    """Return a prefix with a 0 for each child of the root, or a bare 0."""
    treedef = tree_structure(tree)
    if treedef.is_leaf():
        return 0
    children = [PyTreeDef.leaf()] * treedef.num_children
    level = PyTreeDef.from_node_data(treedef.node_data(), children)
    return level.unflatten([0] * level.num_leaves)


def is_never_leaf(node: Any) -> bool:
    """Say that no node is a leaf."""
    return False


def is_none_or_tuple(node: Any) -> bool:
    """Say that some nodes are leaves."""
    return node is None or type(node) is tuple


def is_tuple(node: Any) -> bool:
    """Say that tuples are leaves; leafwise takes the type itself."""
    return isinstance(node, tuple)


def flatten_until(is_leaf: Predicate) -> Operation:
    """Return the operation `flatten` with a predicate."""

    def prepare(library: Library, tree: Any) -> Call:
        predicate = predicate_for(library, is_leaf)
        return lambda: library.flatten(tree, is_leaf=predicate)

    return prepare


def map_until(is_leaf: Predicate) -> Operation:
    """Return the operation `map` with a predicate."""

    def prepare(library: Library, tree: Any) -> Call:
        predicate = predicate_for(library, is_leaf)
        return lambda: library.map(lambda x: x, tree, is_leaf=predicate)

    return prepare


def predicate_for(library: Library, is_leaf: Predicate) -> Any:
    """Return what a library takes as `is_leaf` to the same effect."""
    if is_leaf is is_tuple and library.name == "leafwise":
        return tuple
    return is_leaf


MAIN: dict[str, Operation] = {
    "flatten": flatten,
    "unflatten": unflatten,
    "map": map_tree,
    "map, 2 trees": map_two_trees,
}
"""The operations that every library has."""

PLAIN: dict[str, Operation] = {
    **MAIN,
    "flatten with path": flatten_with_path,
    "map with path": map_with_path,
    "flatten up to": flatten_up_to,
    "broadcast prefix": broadcast_prefix,
}
"""The operations without a predicate."""

WITH_PREDICATE: dict[str, Operation] = {
    "flatten, is_leaf never": flatten_until(is_never_leaf),
    "map, is_leaf never": map_until(is_never_leaf),
    "flatten, is_leaf some": flatten_until(is_none_or_tuple),
    "map, is_leaf some": map_until(is_none_or_tuple),
    "flatten, is_leaf a type": flatten_until(is_tuple),
    "map, is_leaf a type": map_until(is_tuple),
}
"""The operations that ask a predicate which nodes are leaves."""

OPERATIONS: dict[str, Operation] = {**PLAIN, **WITH_PREDICATE}

OF_OPTREE: dict[str, Operation] = {
    "flatten": flatten,
    "unflatten": unflatten,
    "flatten with path": flatten_with_path,
    "copy": copy,
    "map": map_tree,
    "map, 3 trees": map_three_trees,
    "map with path": map_with_path,
    "map with path, 3 trees": map_three_with_path,
}
"""The operations of the table that optree's README had."""

GROUPS: dict[str, dict[str, Operation]] = {
    "the first four": MAIN,
    "with is_leaf": WITH_PREDICATE,
}
"""The groups of operations over which the tables have a mean."""


def is_supported(library: Library, operation: str, tree: str) -> bool:
    """Return whether a library has an operation, and can take a tree."""
    if operation in WITH_PREDICATE and library.name == "dm-tree":
        return False
    if operation == "broadcast prefix" and library.broadcast is None:
        return False
    return (library.name, tree) not in UNSUPPORTED


def measure(
    libraries: list[Library],
    title: str,
    tree: Any,
    operations: dict[str, Operation],
    rounds: int,
    slice_seconds: float,
) -> Iterator[Measurement]:
    """Measure operations on one tree; print and yield each measurement."""
    leaves = len(tree_leaves(tree))
    for name, prepare in operations.items():
        functions = {
            library.name: prepare(library, tree)
            for library in libraries
            if is_supported(library, name, title)
        }
        timing = side_by_side(functions, rounds, slice_seconds)
        ratios = [f"{library} {ratio:.2f}" for library, ratio in timing.ratios.items()]
        time = f"{timing.microseconds:10.2f} µs "
        print(f"{title:32} {name:24}", time, *ratios, flush=True)
        yield Measurement(title, name, leaves, timing)
