"""Classes that are nodes by their fields: how they are registered, and rebuilt.

Owns what `dataclasses` and `integrations.attrs` have in common. A node is rebuilt by
its class, called with all fields that it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import MappingProxyType
from typing import Any, NamedTuple

from ...safely import class_name
from .accessors import PyTreeEntry
from .registry import GLOBAL_NAMESPACE, name_of, put, unregister_pytree_node
from .registry import check_new as check_free


__all__ = [
    "Ways",
    "arguments",
    "check_new",
    "global_if_empty",
    "node_metadata",
    "register_fields",
]


class Ways(NamedTuple):
    """What is particular to one library of such classes.

    Attributes:
        module: The name of optree's module for it.
        mark: The attribute in which a class keeps its fields.
        entry: The class of the entries of its children.
        fields: Takes a class, returns its fields.
        argument: Takes a field, returns its name as an argument of the class.
    """

    module: str
    mark: str
    entry: type[PyTreeEntry]
    fields: Callable[[Any], Iterable[Any]]
    argument: Callable[[Any], str]


def arguments(cls: Any, namespace: Any) -> tuple[Any, Any]:
    """Return class and namespace, of which the first may be left out, or be the second.

    Raises:
        ValueError: The namespace is missing, empty or given twice.
    """
    if cls is GLOBAL_NAMESPACE or isinstance(cls, str):
        if namespace is not None:
            raise ValueError(
                "Cannot specify `namespace` when the first argument is a string."
            )
        if cls == "":
            raise ValueError("The namespace cannot be an empty string.")
        return None, cls
    if namespace is None:
        raise ValueError("Must specify `namespace` when the first argument is a class.")
    return cls, namespace


def global_if_empty(namespace: Any) -> Any:
    """Return a namespace, in which the empty name is the global one.

    Raises:
        TypeError: It is not a string.
    """
    if namespace is not GLOBAL_NAMESPACE and not isinstance(namespace, str):
        raise TypeError(f"The namespace must be a string, got {namespace!r}.")
    return GLOBAL_NAMESPACE if namespace == "" else namespace


def node_metadata(metadata: Any, pytree_node: bool | None, init: bool) -> Any:
    """Return the metadata of a field, with whether it is a child.

    Raises:
        TypeError: It is one, but no argument of the class.
    """
    data = {**(metadata or {})}
    if pytree_node is None:
        pytree_node = data.get("pytree_node", True)
    data["pytree_node"] = pytree_node
    if not init and pytree_node:
        raise TypeError("`pytree_node=True` is not allowed for non-init fields.")
    return data


def check_new(cls: Any, ways: Ways) -> None:
    """Raise an error if a class is already registered by its fields.

    Raises:
        TypeError: It was.
    """
    if ways.mark in vars(cls):
        raise TypeError(
            f"Cannot register {class_name(cls)} as a pytree node more than once with "
            f"`{ways.module}.register_node()`. Use `optree.register_pytree_node()` for "
            "another namespace."
        )


def register_fields(cls: Any, namespace: Any, ways: Ways) -> Any:
    """Make instances of a class nodes whose children are fields.

    Raises:
        TypeError: A field that is to be a child is no argument of the class.
        ValueError: The class is a node there already.
    """
    known = _split(cls, ways)
    name = name_of(namespace)
    check_free(cls, name)
    put(cls, name, *_functions(cls, ways, *known), ways.entry, tuple(known[0]))
    try:
        setattr(cls, ways.mark, known)
    except BaseException:
        unregister_pytree_node(cls, namespace=namespace)
        raise
    return cls


def _split(
    cls: Any, ways: Ways
) -> tuple[MappingProxyType[str, Any], MappingProxyType[str, Any]]:
    """Return the fields that are children, and the others that the class takes."""
    children: dict[str, Any] = {}
    others: dict[str, Any] = {}
    for one in ways.fields(cls):
        if not one.metadata.get("pytree_node", True):
            others.update({one.name: one} if one.init else {})
        elif one.init:
            children[one.name] = one
        else:
            raise TypeError(
                f"PyTree node field {one.name!r} must be included in `__init__()`. Or "
                f"declare it with `{ways.module}.field(init=False, pytree_node=False)`."
            )
    return MappingProxyType(children), MappingProxyType(others)


def _functions(
    cls: Any, ways: Ways, children: Any, others: Any
) -> tuple[Callable[[Any], Any], Callable[[Any, Any], Any]]:
    """Return the functions that take an instance apart, and that rebuild it."""
    names = tuple(children)
    taken = tuple(map(ways.argument, children.values()))
    rest = tuple((one.name, ways.argument(one)) for one in others.values())

    def flatten(node: Any) -> Any:
        values = tuple([getattr(node, name) for name in names])
        return values, tuple([(arg, getattr(node, name)) for name, arg in rest])

    def unflatten(data: Any, values: Any) -> Any:
        return cls(**dict(zip(taken, values, strict=True)), **dict(data))

    return flatten, unflatten
