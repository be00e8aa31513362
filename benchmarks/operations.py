"""What is measured: the operations by name, on a tree, by one library.

No benchmark by itself; `run.py` measures them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from libraries import UNSUPPORTED, Library

from leafwise import PyTreeDef, tree_structure


MAIN = ("flatten", "unflatten", "map", "map, 2 trees")
"""What every library has."""

PLAIN = (
    *MAIN,
    "flatten with path",
    "map with path",
    "flatten up to",
    "broadcast prefix",
)
"""What asks nothing."""

ASKING = (
    "flatten, is_leaf never",
    "map, is_leaf never",
    "flatten, is_leaf some",
    "map, is_leaf some",
    "flatten, is_leaf a type",
    "map, is_leaf a type",
)
"""What asks a predicate which nodes are leaves."""

PREDICATES: dict[str, Callable[[Any], bool]] = {
    "never": lambda x: False,
    "some": lambda x: x is None or type(x) is tuple,
    "a type": lambda x: isinstance(x, tuple),  # leafwise takes the type itself
}
OPERATIONS = (*PLAIN, *ASKING)
GROUPS = {"the first four": MAIN, "with is_leaf": ASKING}
"""What is measured together."""


def operation(name: str, library: Library, tree: Any) -> Callable[[], Any]:
    """Return one operation on one tree as a function without arguments.

    The mapped function does nothing: what is measured is the walk.
    """
    if name in ASKING:
        return asking(name, library, tree)
    if name == "flatten":
        return lambda: library.flatten(tree)
    if name == "unflatten":
        return library.unflatten(library.flatten(tree), tree)
    if name == "map":
        return lambda: library.map(lambda x: x, tree)
    if name == "flatten with path":
        return lambda: library.flatten_with_path(tree)
    if name == "map with path":
        return lambda: library.map_with_path(lambda _, x: x, tree)
    if name == "flatten up to":
        return library.up_to(library.flatten(tree), tree)
    if name == "broadcast prefix":
        prefix = one_level(tree)
        return lambda: library.broadcast(prefix, tree)
    return lambda: library.map(lambda x, _: x, tree, tree)


def asking(name: str, library: Library, tree: Any) -> Callable[[], Any]:
    """Return an operation on one tree that asks which nodes are leaves."""
    what, _, which = name.partition(", is_leaf ")
    is_leaf: Any = PREDICATES[which]
    if which == "a type" and library.name == "leafwise":
        is_leaf = tuple
    if what == "flatten":
        return lambda: library.flatten(tree, is_leaf=is_leaf)
    return lambda: library.map(lambda x: x, tree, is_leaf=is_leaf)


def one_level(tree: Any) -> Any:
    """Return a prefix with a 0 for each child of the root, or a bare 0."""
    treedef = tree_structure(tree)
    if treedef.is_leaf():
        return 0
    zeros = [PyTreeDef.leaf()] * treedef.num_children
    level = PyTreeDef.from_node_data(treedef.node_data(), zeros)
    return level.unflatten([0] * level.num_leaves)


def has(library: Library, name: str, title: str) -> bool:
    """Return whether a library can do an operation on a tree."""
    if name in ASKING and library.name == "dm-tree":
        return False
    if name == "broadcast prefix" and library.broadcast is None:
        return False
    return (library.name, title) not in UNSUPPORTED
