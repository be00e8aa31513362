"""The libraries that are measured, each behind the same operations.

No benchmark by itself.
"""

from __future__ import annotations

import dataclasses
import importlib.util
from collections.abc import Callable
from functools import partial
from typing import Any

from timing import Call
from trees import Box, Point, flatten_box, unflatten_box


Prepare = Callable[[Any, Any], Call]
"""Takes the result of `flatten` and the tree, returns what is measured."""


@dataclasses.dataclass(frozen=True)
class Library:
    """The operations of one library.

    Functions of the library stand here as they are, or in a `functools.partial`, which
    adds less to a call than a Python function would: what is added counts against the
    library, and on a small tree one can see it.

    Attributes:
        name: How the table names it.
        flatten: Takes a tree, returns leaves and structure; also takes `is_leaf`, as
            `map` does, but for dm-tree.
        leaves: Takes a tree.
        unflatten: Returns a function without arguments that rebuilds a tree.
        map: Takes a function and one or two trees.
        flatten_with_path: Takes a tree.
        map_with_path: Takes a function of path and leaf, and a tree.
        flatten_up_to: Returns a function without arguments that flattens a tree up to
            its own structure.
        copy: Takes a tree, flattens and rebuilds it.
        broadcast: Takes a prefix and a tree; None where there is no such function.
    """

    name: str
    flatten: Callable[..., Any]
    leaves: Callable[[Any], Any]
    unflatten: Prepare
    map: Callable[..., Any]
    flatten_with_path: Callable[[Any], Any]
    map_with_path: Callable[..., Any]
    flatten_up_to: Prepare
    copy: Callable[[Any], Any]
    broadcast: Callable[[Any, Any], Any] | None = None


def treedef_first(unflatten: Callable[[Any, Any], Any]) -> Prepare:
    """Prepare a function that takes the treedef, then the leaves."""

    def prepare(flat: Any, tree: Any) -> Call:
        leaves, treedef = flat
        return lambda: unflatten(treedef, leaves)

    return prepare


def leaves_first(unflatten: Callable[[Any, Any], Any]) -> Prepare:
    """Prepare a function that takes the leaves, then the treedef."""

    def prepare(flat: Any, tree: Any) -> Call:
        leaves, treedef = flat
        return lambda: unflatten(leaves, treedef)

    return prepare


def copy_by(
    flatten: Callable[[Any], Any], unflatten: Callable[[Any, Any], Any]
) -> Callable[[Any], Any]:
    """Return a copy by two functions, of which the second takes the treedef first."""

    def copy(tree: Any) -> Any:
        leaves, treedef = flatten(tree)
        return unflatten(treedef, leaves)

    return copy


def method_of_treedef(flat: Any, tree: Any) -> Call:
    """Prepare the method `flatten_up_to` of a treedef."""
    _, treedef = flat
    return lambda: treedef.flatten_up_to(tree)


def leafwise() -> Library:
    """Register the classes of the trees in leafwise, and return its operations."""
    import leafwise as lw

    lw.register_dataclass(Point, bridge=False)
    lw.register_pytree_node(Box, flatten_box, unflatten_box, bridge=False)
    return Library(
        name="leafwise",
        flatten=lw.tree_flatten,
        leaves=lw.tree_leaves,
        unflatten=treedef_first(lw.tree_unflatten),
        map=lw.tree_map,
        flatten_with_path=lw.tree_flatten_with_path,
        map_with_path=lw.tree_map_with_path,
        flatten_up_to=method_of_treedef,
        copy=copy_by(lw.tree_flatten, lw.tree_unflatten),
        broadcast=lw.tree.broadcast_leaves,
    )


def jax() -> Library:
    """Register the classes of the trees in jax, and return its operations."""
    from jax import tree_util

    tree_util.register_dataclass(Point, ["x", "y"], [])
    tree_util.register_pytree_node(Box, flatten_box, unflatten_box)
    return Library(
        name="jax",
        flatten=tree_util.tree_flatten,
        leaves=tree_util.tree_leaves,
        unflatten=treedef_first(tree_util.tree_unflatten),
        map=tree_util.tree_map,
        flatten_with_path=tree_util.tree_flatten_with_path,
        map_with_path=tree_util.tree_map_with_path,
        flatten_up_to=method_of_treedef,
        copy=copy_by(tree_util.tree_flatten, tree_util.tree_unflatten),
        broadcast=tree_util.tree_broadcast,
    )


def optree() -> Library:
    """Register the classes of the trees in optree, and return its operations."""
    import optree

    optree.register_pytree_node(
        Point,
        lambda point: ((point.x, point.y), None),
        lambda _, children: Point(*children),
        namespace="bench",
    )
    optree.register_pytree_node(Box, flatten_box, unflatten_box, namespace="bench")
    flatten = partial(optree.tree_flatten, namespace="bench")
    return Library(
        name="optree",
        flatten=flatten,
        leaves=partial(optree.tree_leaves, namespace="bench"),
        unflatten=treedef_first(optree.tree_unflatten),
        map=partial(optree.tree_map, namespace="bench"),
        flatten_with_path=partial(optree.tree_flatten_with_path, namespace="bench"),
        map_with_path=partial(optree.tree_map_with_path, namespace="bench"),
        flatten_up_to=method_of_treedef,
        copy=copy_by(flatten, optree.tree_unflatten),
        broadcast=partial(optree.broadcast_prefix, namespace="bench"),
    )


def torch() -> Library:
    """Register the classes of the trees in torch, and return its operations."""
    from torch.utils import _pytree

    def copy(tree: Any) -> Any:
        leaves, treedef = _pytree.tree_flatten(tree)
        return _pytree.tree_unflatten(leaves, treedef)

    def broadcast(prefix: Any, tree: Any) -> Any:
        # torch has only a function that takes the structure of the tree
        return _pytree._broadcast_to_and_flatten(prefix, _pytree.tree_structure(tree))

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
        name="torch",
        flatten=_pytree.tree_flatten,
        leaves=_pytree.tree_leaves,
        unflatten=leaves_first(_pytree.tree_unflatten),
        map=_pytree.tree_map,
        flatten_with_path=_pytree.tree_flatten_with_path,
        map_with_path=_pytree.tree_map_with_path,
        flatten_up_to=method_of_treedef,
        copy=copy,
        broadcast=broadcast,
    )


def dm_tree() -> Library:
    """Return the operations of dm-tree, which has neither registry nor treedefs."""
    import tree as dm

    return Library(
        name="dm-tree",
        flatten=dm.flatten,
        leaves=dm.flatten,
        unflatten=lambda leaves, tree: lambda: dm.unflatten_as(tree, leaves),
        map=dm.map_structure,
        flatten_with_path=dm.flatten_with_path,
        map_with_path=dm.map_structure_with_path,
        flatten_up_to=lambda leaves, tree: lambda: dm.flatten_up_to(tree, tree),
        copy=lambda tree: dm.unflatten_as(tree, dm.flatten(tree)),
    )


PEERS: dict[str, Callable[[], Library]] = {
    "jax": jax,
    "optree": optree,
    "torch": torch,
    "dm-tree": dm_tree,
}
"""The other libraries, by the names that the tables have."""

MODULES = {"dm-tree": "tree"}
"""Names under which a library is imported, where these are others."""


def installed_peers() -> dict[str, Callable[[], Library]]:
    """Return the other libraries that are installed, and print those that are not."""
    peers = {}
    for name, make in PEERS.items():
        if importlib.util.find_spec(MODULES.get(name, name)) is None:
            print(f"not installed, left out: {name}")
        else:
            peers[name] = make
    return peers


UNSUPPORTED = {
    ("dm-tree", "500 dataclasses"): "no registry",
    ("dm-tree", "bare leaf"): "unflatten_as takes no bare leaf",
    ("dm-tree", "config, 29 leaves"): "None is a leaf",
    ("dm-tree", "1000 registered objects"): "no registry",
    ("dm-tree", "records"): "None is a leaf",
}
"""Why a library cannot take a tree, by library and title of the tree."""
