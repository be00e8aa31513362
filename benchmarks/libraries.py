"""The libraries that are measured, each behind the same operations.

No benchmark by itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from trees import Box, Point, flatten_box, unflatten_box


@dataclasses.dataclass(frozen=True)
class Library:
    """One library's way of saying what is measured.

    Attributes:
        name: How the table names it.
        flatten: Takes a tree, returns leaves and structure; also takes `is_leaf`, as
            `map` does, but for dm-tree.
        unflatten: Takes the result of `flatten` and the tree, returns a function
            without arguments that rebuilds the tree.
        map: Takes a function and one or two trees.
        flatten_with_path: Takes a tree; None where there is no such function, as
            with the three that follow.
        map_with_path: Takes a function of path and leaf, and a tree.
        up_to: Takes the result of `flatten` and the tree, returns a function
            without arguments that flattens the tree up to the structure.
        broadcast: Takes a prefix and a tree.
    """

    name: str
    flatten: Callable[..., Any]
    unflatten: Callable[[Any, Any], Callable[[], Any]]
    map: Callable[..., Any]
    flatten_with_path: Callable[[Any], Any] | None
    map_with_path: Callable[..., Any] | None
    up_to: Callable[[Any, Any], Callable[[], Any]] | None
    broadcast: Callable[[Any, Any], Any] | None = None


def leafwise() -> Library:
    import leafwise as lw

    lw.register_dataclass(Point, bridge=False)
    lw.register_pytree_node(Box, flatten_box, unflatten_box, bridge=False)
    return Library(
        "leafwise",
        lw.tree_flatten,
        lambda flat, _: lambda: lw.tree_unflatten(flat[1], flat[0]),
        lw.tree_map,
        lw.tree_flatten_with_path,
        lw.tree_map_with_path,
        lambda flat, tree: lambda: flat[1].flatten_up_to(tree),
        lw.tree.broadcast_leaves,
    )


def jax() -> Library:
    from jax import tree_util

    tree_util.register_dataclass(Point, ["x", "y"], [])
    tree_util.register_pytree_node(Box, flatten_box, unflatten_box)
    return Library(
        "jax",
        tree_util.tree_flatten,
        lambda flat, _: lambda: tree_util.tree_unflatten(flat[1], flat[0]),
        tree_util.tree_map,
        tree_util.tree_flatten_with_path,
        tree_util.tree_map_with_path,
        lambda flat, tree: lambda: flat[1].flatten_up_to(tree),
        tree_util.tree_broadcast,
    )


def optree() -> Library:
    import optree

    optree.register_pytree_node(
        Point,
        lambda p: ((p.x, p.y), None),
        lambda _, children: Point(*children),
        namespace="bench",
    )
    optree.register_pytree_node(Box, flatten_box, unflatten_box, namespace="bench")
    return Library(
        "optree",
        lambda tree, **how: optree.tree_flatten(tree, namespace="bench", **how),
        lambda flat, _: lambda: optree.tree_unflatten(flat[1], flat[0]),
        lambda f, *trees, **how: optree.tree_map(f, *trees, namespace="bench", **how),
        lambda tree: optree.tree_flatten_with_path(tree, namespace="bench"),
        lambda f, tree: optree.tree_map_with_path(f, tree, namespace="bench"),
        lambda flat, tree: lambda: flat[1].flatten_up_to(tree),
        lambda prefix, tree: optree.broadcast_prefix(prefix, tree, namespace="bench"),
    )


def torch() -> Library:
    from torch.utils import _pytree

    _pytree.register_dataclass(Point, field_names=["x", "y"])
    _pytree.register_pytree_node(
        Box,
        lambda box: ([box.value], box.name),
        lambda children, name: unflatten_box(name, children),
        flatten_with_keys_fn=lambda box: (
            [(_pytree.GetAttrKey("value"), box.value)],
            box.name,
        ),
    )
    return Library(
        "torch",
        _pytree.tree_flatten,
        lambda flat, _: lambda: _pytree.tree_unflatten(flat[0], flat[1]),
        _pytree.tree_map,
        _pytree.tree_flatten_with_path,
        _pytree.tree_map_with_path,
        lambda flat, tree: lambda: flat[1].flatten_up_to(tree),
        lambda prefix, tree: _pytree._broadcast_to_and_flatten(
            prefix, _pytree.tree_structure(tree)
        ),
    )


def dm_tree() -> Library:
    import tree as dm

    return Library(
        "dm-tree",
        dm.flatten,
        lambda flat, tree: lambda: dm.unflatten_as(tree, flat),
        dm.map_structure,
        dm.flatten_with_path,
        dm.map_structure_with_path,
        lambda flat, tree: lambda: dm.flatten_up_to(tree, tree),
    )


PEERS: dict[str, Callable[[], Library]] = {
    "jax": jax,
    "optree": optree,
    "torch": torch,
    "dm-tree": dm_tree,
}
UNSUPPORTED = {
    ("dm-tree", "500 dataclasses"): "no registry",
    ("dm-tree", "bare leaf"): "unflatten_as takes no bare leaf",
    ("dm-tree", "config, 29 leaves"): "None is a leaf",
    ("dm-tree", "1000 registered objects"): "no registry",
}
