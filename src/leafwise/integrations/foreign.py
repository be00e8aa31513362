"""Nodes that other frameworks know: as nodes here, and in their treedefs.

`adopt` makes the nodes of jax nodes here: they are flattened by jax's own public
functions, one level at a time. `treedef_from` and `treedef_to` convert treedefs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from .._hooks import hooks
from .._lazy import real
from .._text import FAULTS
from ..core.keys import DictKey, FlattenedIndexKey, GetAttrKey, SequenceKey
from ..core.node import NodeType
from ..core.register import FunctionNodeType
from ..core.registry import GLOBAL, add_adopter, remembering
from ..core.treedef import PyTreeDef
from ..errors import RegistryError
from ..ops.map import tree_structure
from .optree import NAMESPACE


__all__ = ["adopt", "treedef_from", "treedef_to"]


# ------------------------------------------------------------------- what jax knows


def adopt(name: str, *, namespace: str = GLOBAL) -> None:
    """Treat classes that are registered only in jax as nodes.

    Registrations in leafwise take precedence. Call `adopt` again for classes that are
    registered in jax after leafwise met their instances. `adopt` keeps the functions
    of jax as they are now. It never calls functions that replace them later, as those
    of `leafwise.compat` may.

    Args:
        name: `"jax"`, which has to be imported.
        namespace: The namespace in which they become nodes; `""` is every namespace.

    Raises:
        ValueError: The name is another one, or jax is not imported.

    Example:
        >>> from leafwise.integrations import adopt
        >>> try:
        ...     adopt("keras")
        ... except ValueError as error:
        ...     print(error)
        unknown framework 'keras'; known: 'jax'
    """
    if name != "jax":
        raise ValueError(f"unknown framework {name!r}; known: 'jax'")
    jax = real("jax")
    if jax is None:
        raise ValueError("jax is not loaded; import it before its classes are used")
    util = _jax_trees(jax)
    is_node = _node_test(util)
    flatten = functools.partial(_flatten_one_level, util.tree_flatten_with_path)
    unflatten = util.tree_unflatten

    def adopter(cls: type) -> NodeType | None:
        # a type of Python that is a leaf here stays one, whatever jax has registered
        if cls.__module__ == "builtins" or not is_node(cls):
            return None
        return _AdoptedNodeType(cls, flatten, unflatten, where="the registry of jax")

    add_adopter(remembering(adopter), namespace=namespace)


class _AdoptedNodeType(FunctionNodeType):
    """The node type of a class that jax knows; its aux data has a treedef of jax."""

    def compared_aux(self, aux: Any) -> Any:
        treedef, keys = aux
        return keys, treedef.node_data()[1]


def _jax_trees(jax: Any) -> Any:
    """Return jax's own module of trees, also where something stands in for it."""
    return real("jax.tree_util") or jax.tree_util


def _node_test(util: Any) -> Callable[[type], bool]:
    """Return a function that says whether instances of a class are nodes in jax."""

    def is_node(cls: type) -> bool:
        try:
            return not util.all_leaves([_blank(cls)])  # it looks at the type alone
        except FAULTS:
            return False

    return getattr(util, "is_tree_node", is_node)  # since jax 0.10


def _blank(cls: Any) -> Any:
    """Return an instance of a class without values in it."""
    try:
        return cls.__new__(cls)
    except FAULTS:
        return object.__new__(cls)


def _flatten_one_level(
    tree_flatten_with_path: Any, node: Any
) -> tuple[list[Any], Any, list[Any]]:
    """Return the children of a node, the treedef that jax rebuilds it by, the keys."""
    # all but the node itself is a leaf: jax has no public function for one level
    pairs, treedef = tree_flatten_with_path(node, lambda x: x is not node)
    keys = [_key_from_jax(path[0]) for path, _ in pairs]
    children = [child for _, child in pairs]
    return children, treedef, keys


def _key_from_jax(key: Any) -> Any:
    """Return the key of ours for a key of jax, or of a class of jax's users."""
    if hasattr(key, "name"):
        return GetAttrKey(key.name)
    if hasattr(key, "idx"):
        return SequenceKey(key.idx)
    if not hasattr(key, "key"):
        return DictKey(key)
    if "Flattened" in type(key).__name__:
        return FlattenedIndexKey(key.key)
    return DictKey(key.key)


def _jax_node(value: Any) -> tuple[str, Callable[[Any], Any]] | None:
    """Return `"jax"` and a function from a value to its children and their keys.

    Returns:
        None if the value is a leaf in jax, or jax is not loaded.
    """
    jax = real("jax")
    if jax is None:
        return None
    util = _jax_trees(jax)
    if util.all_leaves([value]):
        return None

    def children_and_keys(node: Any) -> tuple[Sequence[Any], Sequence[Any]]:
        children, _, keys = _flatten_one_level(util.tree_flatten_with_path, node)
        return children, keys

    return "jax", children_and_keys


hooks.foreign_nodes.append(_jax_node)


# ------------------------------------------------------------------------ treedefs


def treedef_from(treedef: Any, *, namespace: str = GLOBAL) -> PyTreeDef:
    """Convert a treedef of another framework to a treedef of leafwise.

    Args:
        treedef: A treedef of jax or torch, or a treespec of optree.
        namespace: The namespace in which its classes are looked up.

    Raises:
        TypeError: The argument is not one of these.

    Example:
        >>> import leafwise as lw
        >>> try:
        ...     lw.integrations.treedef_from([1])
        ... except TypeError as error:
        ...     print(error)
        no treedef of jax, optree or torch: list
    """
    unflatten = getattr(treedef, "unflatten", None)
    count = getattr(treedef, "num_leaves", None)
    if unflatten is None or count is None:
        raise TypeError(f"no treedef of jax, optree or torch: {type(treedef).__name__}")
    # by way of a tree, since each library keeps the nodes of its treedefs to itself
    tree = unflatten([_Leaf() for _ in range(count)])
    return tree_structure(tree, namespace=namespace)


class _Leaf:
    """Stands at a leaf while a treedef is converted."""

    __slots__ = ()


def treedef_to(name: str, treedef: PyTreeDef) -> Any:
    """Convert a treedef of leafwise to a treedef of another framework.

    Args:
        name: `"jax"`, `"optree"` or `"torch"`; the framework has to be imported.
        treedef: The treedef.

    Raises:
        RegistryError: The treedef has a node of a class that the framework does not
            know.
        ValueError: The name is not one of these, or the framework is not imported.

    Example:
        >>> import leafwise as lw
        >>> try:
        ...     lw.integrations.treedef_to("keras", lw.tree_structure([1]))
        ... except ValueError as error:
        ...     print(error)
        keras is unknown or not loaded
    """
    module = real(name)
    if name not in ("jax", "optree", "torch") or module is None:
        raise ValueError(f"{name} is unknown or not loaded")
    tree = treedef.unflatten([_Leaf() for _ in range(treedef.num_leaves)])
    if name == "jax":
        leaves, converted = _jax_trees(module).tree_flatten(tree)
    elif name == "torch":
        leaves, converted = real("torch.utils._pytree").tree_flatten(tree)
    else:
        leaves, converted = module.tree_flatten(tree, namespace=NAMESPACE)
    for leaf in leaves:
        if leaf is not None and type(leaf) is not _Leaf:  # torch has None for a leaf
            raise RegistryError(
                f"{type(leaf).__name__} is a node in leafwise but a leaf in {name}; "
                f"register it in leafwise without bridge=False, or in {name} itself"
            )
    return converted
