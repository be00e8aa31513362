"""Trees of dicts, lists and tuples by plain recursion, to compare with.

A path is a tuple of text keys and positions; dicts are walked in the order of their
sorted keys. Nothing here uses the library.
"""

from collections.abc import Callable, Iterable
from typing import Any


Path = tuple[Any, ...]


class Missing(Exception):
    """There is nothing at a path."""


class Refused(Exception):
    """A node does not allow what is asked for."""


def pairs(node: Any) -> list[tuple[Any, Any]]:
    """Return the keys and children of a node in leaf order, nothing for a leaf."""
    if type(node) is dict:
        return [(key, node[key]) for key in sorted(node)]
    return [*enumerate(node)] if type(node) in (list, tuple) else []


def is_node(value: Any, *, none_is_leaf: bool = False) -> bool:
    """Say whether a value is a node."""
    return type(value) in (dict, list, tuple) or (value is None and not none_is_leaf)


def places(tree: Any, path: Path = ()) -> list[tuple[Path, Any]]:
    """Return everything in a tree with its path, nodes before their children."""
    found = [(path, tree)]
    for key, child in pairs(tree):
        found += places(child, (*path, key))
    return found


def leaves(tree: Any, *, none_is_leaf: bool = False) -> list[tuple[Path, Any]]:
    """Return the leaves with their paths."""
    return [
        (path, value)
        for path, value in places(tree)
        if not is_node(value, none_is_leaf=none_is_leaf)
    ]


def get(tree: Any, path: Path) -> Any:
    """Return what stands at a path."""
    for key in path:
        tree = dict(pairs(tree)).get(key, Missing)
        if tree is Missing:
            raise Missing
    return tree


def like(node: Any, items: Iterable[tuple[Any, Any]]) -> Any:
    """Return a node of the sort of another one, with these keys and children."""
    return dict(items) if type(node) is dict else type(node)(x for _, x in items)


def own(node: Any) -> list[tuple[Any, Any]]:
    """Return the keys and children in the order of the node itself."""
    return [*node.items()] if type(node) is dict else pairs(node)


def changed(tree: Any, path: Path, change: Callable[[Any], Any]) -> Any:
    """Return a tree with something else at a path."""
    if not path:
        return change(tree)
    get(tree, path[:1])
    return like(
        tree,
        [
            (key, changed(child, path[1:], change) if key == path[0] else child)
            for key, child in own(tree)
        ],
    )


def put(tree: Any, path: Path, value: Any) -> Any:
    """Return a tree with a value at a path."""
    return changed(tree, path, lambda _: value)


def drop(tree: Any, path: Path) -> Any:
    """Return a tree without what stands at a path."""
    if not path:
        raise Refused
    get(tree, path)

    def without(node: Any) -> Any:
        if type(node) is tuple:
            raise Refused
        return like(node, [pair for pair in own(node) if pair[0] != path[-1]])

    return changed(tree, path[:-1], without)


def insert(tree: Any, path: Path, value: Any) -> Any:
    """Return a tree with a value where there was nothing; before, in a list."""
    key = path[-1]

    def within(node: Any) -> Any:
        if type(node) is dict and key not in node:
            return {**node, key: value}
        if type(node) is list and type(key) is int and 0 <= key <= len(node):
            return [*node[:key], value, *node[key:]]
        raise Refused

    return changed(tree, path[:-1], within)


def rename(tree: Any, path: Path, name: str) -> Any:
    """Return a tree with another key in the place of the last one of a path."""
    if not path:
        raise Refused
    get(tree, path)

    def renamed(node: Any) -> Any:
        if type(node) is not dict or (name in node and name != path[-1]):
            raise Refused
        return {name if key == path[-1] else key: x for key, x in node.items()}

    return changed(tree, path[:-1], renamed)


def map_leaves(
    function: Callable[[Path, Any], Any],
    tree: Any,
    path: Path = (),
    *,
    none_is_leaf: bool = False,
) -> Any:
    """Return a tree with the results of a function of path and leaf."""
    if not is_node(tree, none_is_leaf=none_is_leaf):
        return function(path, tree)
    if tree is None:
        return None
    found = {
        key: map_leaves(function, child, (*path, key), none_is_leaf=none_is_leaf)
        for key, child in pairs(tree)
    }
    return like(tree, [(key, found[key]) for key, _ in own(tree)])


def is_inside(path: Path, other: Path) -> bool:
    """Say whether a path is at or below another one."""
    return path[: len(other)] == other


def text(path: Path) -> str:
    """Return the text of a path."""
    return "".join(f"[{key!r}]" for key in path)
