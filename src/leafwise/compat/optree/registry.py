"""Registration by optree's names, in the registry of leafwise."""

from __future__ import annotations

import builtins
import dataclasses
import functools
import inspect
import warnings
from collections import namedtuple
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from operator import methodcaller
from typing import Any, Final

from ..._text import typed_repr
from ...core.builtins import BUILTINS, BY_NAME
from ...core.keys import DictKey, FlattenedIndexKey, GetAttrKey, SequenceKey
from ...core.node import NodeType
from ...core.register import FunctionNodeType
from ...core.registry import EMPTY, GLOBAL, current, install, is_built_in_leaf
from ...core.registry import unregister_pytree_node as unregister
from ...core.words import origin
from ._context import ordered, view
from ._nodes import DictMetaData as DictMetaData
from ._nodes import (
    PyTreeKind,
    Unflatten,
    entries_of,
    is_namedtuple_class,
    is_structseq_class,
    kind_of,
    metadata,
)
from .accessors import (
    AutoEntry,
    GetAttrEntry,
    GetItemEntry,
    PyTreeEntry,
    auto_class,
    registered_entry_class,
)
from .typing import StructSequence


__all__ = [
    "dict_insertion_ordered",
    "register_pytree_node",
    "register_pytree_node_class",
    "unregister_pytree_node",
]


__GLOBAL_NAMESPACE: Final[Any] = object()  # the name that programs import
GLOBAL_NAMESPACE: Final = __GLOBAL_NAMESPACE
"""What is passed as the namespace to register a class globally; an empty string, which
would say the same, is an error in optree."""


# ------------------------------------------------------------------------- node types


class OptreeNodeType(FunctionNodeType):
    """The node type of a class that was registered by optree's names.

    Attributes:
        path_entry_type: The class of the entries of its children.
        names: The entries of its children, where these are always the same, so that
            the flatten function does not return them.
    """

    path_entry_type: type[PyTreeEntry] = AutoEntry
    names: tuple[str, ...] | None = None

    def keys(self, aux: Any, arity: int) -> Sequence[Any]:
        """Return the keys that leafwise has for the entries."""
        _, entries = aux
        if entries is None:
            entries = range(arity) if self.names is None else self.names
        cls = self.path_entry_type
        if cls is AutoEntry:
            cls = auto_class(self.cls)
        return [_key_of(cls, entry) for entry in entries]

    def checked(self, result: Any) -> tuple[Sequence[Any], Any]:
        """Return children, metadata and entries of what the flatten function returned.

        Raises:
            RuntimeError: They are not two or three things, or not as many entries as
                children.
        """
        parts = tuple(result)
        if len(parts) not in (2, 3):
            raise RuntimeError(
                f"the flatten function of {self.cls!r} must return children, metadata "
                f"and optionally entries, got {len(parts)} things"
            )
        children = tuple(parts[0])
        if len(parts) == 2 or parts[2] is None:
            return children, (parts[1], None)
        entries = tuple(parts[2])
        if len(entries) != len(children):
            raise RuntimeError(
                f"the flatten function of {self.cls!r} returned {len(children)} "
                f"children, but {len(entries)} entries"
            )
        return children, (parts[1], entries)


def _key_of(cls: type[PyTreeEntry], entry: Any) -> Any:
    """Return the key that leafwise has for an entry of a class."""
    if issubclass(cls, GetAttrEntry) and type(entry) is str:
        return GetAttrKey(entry)
    if not issubclass(cls, GetItemEntry):
        return FlattenedIndexKey(entry)
    return SequenceKey(entry) if type(entry) is int else DictKey(entry)


# ------------------------------------------------------------------------------ entries


@dataclasses.dataclass(frozen=True, slots=True)
class PyTreeNodeRegistryEntry:
    """The registration of a class of nodes.

    Attributes:
        type: The class.
        flatten_func: Takes a node, returns children, metadata and entries.
        unflatten_func: Takes metadata and children, returns a node.
        path_entry_type: The class of the entries of its children.
        kind: The kind of its nodes.
        namespace: The namespace that it is registered in.
    """

    type: Any
    flatten_func: Callable[[Any], Any]
    unflatten_func: Callable[[Any, Any], Any]
    _: dataclasses.KW_ONLY
    path_entry_type: builtins.type[PyTreeEntry] = AutoEntry
    kind: PyTreeKind = PyTreeKind.CUSTOM
    namespace: str = ""


def _flatten_by(node_type: NodeType, node: Any) -> tuple[Any, Any, Any]:
    """Flatten a node by its node type, as a flatten function of optree does."""
    children, aux = node_type.flatten(node)
    entries = entries_of(node_type, aux, len(children))
    return children, metadata(node_type, aux), tuple(entries)


_FORMS: Final[dict[Any, NodeType]] = {
    namedtuple: BY_NAME["namedtuple"],
    StructSequence: BY_NAME["structseq"],
}
"""What optree looks nodes up by that have no class of their own."""


def _entry_of(node_type: NodeType, cls: Any) -> PyTreeNodeRegistryEntry:
    """Return the registration that optree shows for the node type of a class."""
    flatten: Callable[[Any], Any] = functools.partial(_flatten_by, node_type)
    unflatten: Callable[[Any, Any], Any] = Unflatten(node_type)
    # the very functions of the user; those of a dataclass return no entries
    if isinstance(node_type, OptreeNodeType) and node_type.names is None:
        flatten = node_type.form.flatten
        unflatten = node_type.form.unflatten
    return PyTreeNodeRegistryEntry(
        cls,
        flatten,
        unflatten,
        path_entry_type=registered_entry_class(node_type) or AutoEntry,
        kind=kind_of(node_type),
        namespace=node_type.namespace,
    )


def _get(
    cls: type | None = None, /, *, namespace: str = ""
) -> dict[Any, PyTreeNodeRegistryEntry] | PyTreeNodeRegistryEntry | None:
    """Return what is known of a class, or of all classes.

    Args:
        cls: The class; None for all.
        namespace: Where to look before the global registry.

    Returns:
        An entry, None for a class of leaves; or all entries by their classes.
    """
    node_types = view(False, namespace)
    if cls is not None:
        node_type = _FORMS.get(cls) or node_types.resolve(cls)
        return None if node_type is None else _entry_of(node_type, cls)
    types_by_class = dict(_FORMS)
    for node_class in (*BUILTINS, *_node_types(GLOBAL), *_node_types(namespace)):
        node_type = node_types.resolve(node_class)
        if node_type is not None:
            types_by_class[node_class] = node_type
    return {key: _entry_of(node_type, key) for key, node_type in types_by_class.items()}


# ------------------------------------------------------------------------- registration


def name_of(namespace: Any) -> str:
    """Return the name of a namespace that is registered in.

    Raises:
        TypeError: It is not a string.
        ValueError: It is empty; the global registry has to be asked for.
    """
    if namespace is GLOBAL_NAMESPACE:
        return GLOBAL
    if not isinstance(namespace, str):
        raise TypeError(f"the namespace must be a string, got {namespace!r}")
    if namespace == "":
        raise ValueError("the namespace must not be empty")
    return namespace


def name_or_global(namespace: Any) -> str:
    """Return the name of a namespace, where an empty one is the global registry.

    Raises:
        TypeError: It is not a string.
    """
    return GLOBAL if namespace == "" else name_of(namespace)


def class_and_namespace(cls: Any, namespace: Any) -> tuple[Any, Any]:
    """Return class and namespace; the first argument may be the namespace.

    Raises:
        TypeError: The first argument is neither.
        ValueError: The namespace is missing, empty or given twice.
    """
    if cls is GLOBAL_NAMESPACE or isinstance(cls, str):
        if namespace is not None:
            raise ValueError("the namespace is given twice")
        name_of(cls)
        return None, cls
    if namespace is None:
        raise ValueError("the namespace is missing")
    if cls is not None:
        check_class(cls)
    return cls, namespace


def check_class(cls: object, base: type = object) -> None:
    """Raise an error for what is not a class, or not one derived from `base`.

    Raises:
        TypeError: It is not.
    """
    if not isinstance(cls, type) or not issubclass(cls, base):
        raise TypeError(f"expected a subclass of {base.__name__}, got {cls!r}")


def register_pytree_node(
    cls: Any,
    /,
    flatten_func: Callable[[Any], Any],
    unflatten_func: Callable[[Any, Any], Any],
    *,
    path_entry_type: type[PyTreeEntry] = AutoEntry,
    namespace: str,
) -> Any:
    """Make instances of a class nodes in a namespace, by two functions.

    Args:
        cls: The class.
        flatten_func: Takes a node, returns children and metadata, and if it likes, an
            entry for each child.
        unflatten_func: Takes metadata and a tuple of children, returns a node.
        path_entry_type: The class of the entries of its children.
        namespace: The namespace. Here and in leafwise's own functions it is the same.

    Returns:
        The class.

    Raises:
        TypeError: One of the arguments is of the wrong type.
        ValueError: The namespace is empty, or the class is a node there already.

    Example:
        >>> from leafwise.compat import optree
        >>> class Pair:
        ...     def __init__(self, x, y): self.x, self.y = x, y
        >>> _ = optree.register_pytree_node(
        ...     Pair, lambda p: ((p.x, p.y), None, ("x", "y")),
        ...     lambda _, children: Pair(*children),
        ...     path_entry_type=optree.GetAttrEntry, namespace="doc-pairs")
        >>> optree.tree_structure(Pair(1, 2), namespace="doc-pairs")
        PyTreeSpec(CustomTreeNode(Pair[None], [*, *]), namespace='doc-pairs')
    """
    check_class(cls)
    check_class(path_entry_type, PyTreeEntry)
    name = name_of(namespace)
    for function in (flatten_func, unflatten_func):
        if not callable(function):
            raise TypeError(f"expected a function, got {typed_repr(function)}")
    check_new(cls, name)
    if is_namedtuple_class(cls) or is_structseq_class(cls):
        message = f"{cls!r} is a node already, as a named tuple or struct sequence"
        warnings.warn(message, UserWarning, stacklevel=2)
    put_node_type(
        cls, name, flatten_func, unflatten_func, path_entry_type=path_entry_type
    )
    return cls


def put_node_type(
    cls: type,
    name: str,
    flatten_func: Callable[[Any], Any],
    unflatten_func: Callable[[Any, Any], Any],
    **attributes: Any,
) -> None:
    """Put the node type of a class into the registry.

    Args:
        cls: The class.
        name: The namespace.
        flatten_func: Takes a node, returns children, metadata and optionally entries.
        unflatten_func: Takes metadata and a tuple of children, returns a node.
        **attributes: Attributes of the `OptreeNodeType`.
    """

    def make_node_type(cls: type, **registration: Any) -> NodeType:
        return OptreeNodeType(
            cls, flatten_func, unflatten_func, **attributes, **registration
        )

    # optree lets one register a built-in leaf, as any class that is new to it
    install(cls, make_node_type, name, exist_ok=is_built_in_leaf(cls))


def check_new(cls: type, name: str) -> None:
    """Raise an error for a class that cannot be registered.

    Raises:
        ValueError: It is a node already.
    """
    if cls in BUILTINS:
        raise ValueError(f"{cls!r} is a built-in node type")
    node_type = _node_types(name).get(cls)
    if node_type is not None:
        raise ValueError(f"{cls!r} is registered already: it was {origin(node_type)}")


def _node_types(name: str) -> Mapping[type, NodeType | None]:
    """Return the node types that were registered in a namespace, by their classes."""
    return current.state.layers.get(name, EMPTY).node_types


register_pytree_node.get = _get  # type: ignore[attr-defined]  # as in optree


def register_pytree_node_class(
    cls: Any = None,
    /,
    *,
    path_entry_type: type[PyTreeEntry] | None = None,
    namespace: str | None = None,
) -> Any:
    """Make instances nodes, by `__tree_flatten__` and `__tree_unflatten__`.

    Args:
        cls: The class; a decorator is returned without one, or for a namespace.
        path_entry_type: The class of the entries; else `TREE_PATH_ENTRY_TYPE` of `cls`.
        namespace: The namespace.

    Raises:
        TypeError: A method is missing, or an argument is of the wrong type.
        ValueError: The namespace is missing, empty or given twice, or the class is a
            node there already.

    Example:
        >>> from leafwise.compat import optree
        >>> @optree.register_pytree_node_class("doc-boxes")
        ... class Box:
        ...     def __init__(self, x): self.x = x
        ...     def __tree_flatten__(self): return (self.x,), None
        ...     @classmethod
        ...     def __tree_unflatten__(cls, metadata, children): return cls(*children)
        >>> optree.tree_leaves(Box([1, 2]), namespace="doc-boxes")
        [1, 2]
    """
    cls, where = class_and_namespace(cls, namespace)
    name_of(where)
    if cls is None:
        return functools.partial(
            register_pytree_node_class, path_entry_type=path_entry_type, namespace=where
        )
    entry_type: Any = path_entry_type
    if entry_type is None:
        entry_type = getattr(cls, "TREE_PATH_ENTRY_TYPE", AutoEntry)
    for name in ("tree_flatten", "tree_unflatten"):
        # Classes that were written for jax have the names without underscores.
        if hasattr(cls, f"__{name}__"):
            continue
        if not hasattr(cls, name):
            raise TypeError(f"{cls!r} has no method `__{name}__`")
        # statically, or a class method would be bound to this class in subclasses, too
        setattr(cls, f"__{name}__", inspect.getattr_static(cls, name))
    return register_pytree_node(
        cls,
        methodcaller("__tree_flatten__"),
        cls.__tree_unflatten__,
        path_entry_type=entry_type,
        namespace=where,
    )


def unregister_pytree_node(cls: type, /, *, namespace: str) -> PyTreeNodeRegistryEntry:
    """Remove a registration.

    Structures that were made before keep what they were made with.

    Args:
        cls: The class.
        namespace: The namespace that it was registered in.

    Returns:
        What was registered.

    Raises:
        TypeError: One of the arguments is of the wrong type.
        ValueError: The class is not registered there.
    """
    check_class(cls)
    name = name_of(namespace)
    node_type = _node_types(name).get(cls)
    if node_type is None:
        raise ValueError(f"{cls!r} is not registered in the namespace {name!r}")
    unregister(cls, namespace=name)
    return _entry_of(node_type, cls)


# --------------------------------------------------------------------- order of dicts


@contextmanager
def dict_insertion_ordered(mode: bool, /, *, namespace: str) -> Generator[None]:
    """Return a context manager that walks dicts in insertion or sorted order.

    As in optree, this affects the whole process with all its threads. It changes only
    the calls of this module, not those of leafwise itself. `leafwise.namespace` can
    declare the order of a namespace permanently.

    Args:
        mode: True for insertion order, False for sorted order.
        namespace: The namespace in which the order applies; the global one applies
            everywhere.

    Example:
        >>> from leafwise.compat import optree
        >>> with optree.dict_insertion_ordered(True, namespace="doc-order"):
        ...     optree.tree_leaves({"b": 1, "a": 2}, namespace="doc-order")
        [1, 2]
    """
    name = name_of(namespace)
    was_ordered = name in ordered  # inside of another such context
    _set_ordered(name, mode)
    try:
        yield
    finally:
        _set_ordered(name, was_ordered)


def _set_ordered(name: str, mode: bool) -> None:
    if mode:
        ordered.add(name)
    else:
        ordered.discard(name)
