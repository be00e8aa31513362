"""Dataclasses that are nodes, by the names of `optree.dataclasses`.

As in optree, and unlike with leafwise's own decorator, a node is rebuilt by its
constructor: `__post_init__` runs, and `init=False` fields are computed anew.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import sys
from collections.abc import Iterable
from dataclasses import (
    KW_ONLY,
    MISSING,
    Field,
    FrozenInstanceError,
    InitVar,
    asdict,
    astuple,
    fields,
    is_dataclass,
    replace,
)
from types import MappingProxyType
from typing import Any

from typing_extensions import dataclass_transform

from . import registry
from .accessors import FIELDS, DataclassEntry


__all__ = [
    "KW_ONLY",
    "MISSING",
    "DataclassEntry",
    "Field",
    "FrozenInstanceError",
    "InitVar",
    "asdict",
    "astuple",
    "dataclass",
    "field",
    "fields",
    "is_dataclass",
    "make_dataclass",
    "register_node",
    "replace",
]


def field(
    *,
    default: Any = MISSING,
    default_factory: Any = MISSING,
    init: bool = True,
    repr: bool = True,
    hash: bool | None = None,
    compare: bool = True,
    metadata: dict[Any, Any] | None = None,
    kw_only: Any = MISSING,
    doc: str | None = None,
    pytree_node: bool | None = None,
) -> Any:
    """Declare a field, and whether it is a child.

    Args:
        default, default_factory, init, repr, hash, compare, metadata, kw_only, doc: As
            `dataclasses.field` takes them.
        pytree_node: Whether it is a child, which the metadata may say as well; by
            default, it is one. A child must be an argument of the constructor.

    Raises:
        TypeError: A child with `init=False`.

    Example:
        >>> from leafwise.compat import optree
        >>> @optree.dataclasses.dataclass(namespace="doc-layers")
        ... class Layer:
        ...     weight: float
        ...     name: str = optree.dataclasses.field(pytree_node=False)
        >>> optree.tree_map(lambda w: w * 2, Layer(0.5, "a"), namespace="doc-layers")
        Layer(weight=1.0, name='a')
    """
    data = dict(metadata or {})
    if pytree_node is None:
        pytree_node = data.get("pytree_node", True)
    data["pytree_node"] = pytree_node
    if not init and pytree_node:
        raise TypeError("a field with init=False cannot have pytree_node=True")
    options: dict[str, Any] = {}
    if doc is not None:
        options["doc"] = doc  # Python 3.14 has this option
    return dataclasses.field(
        default=default,
        default_factory=default_factory,
        init=init,
        repr=repr,
        hash=hash,
        compare=compare,
        metadata=data,
        kw_only=kw_only,
        **options,
    )


@dataclass_transform(field_specifiers=(field,))
def dataclass(cls: Any = None, /, *, namespace: str, **options: Any) -> Any:
    """Make a class a dataclass, and its instances nodes in a namespace.

    Args:
        cls: The class; a decorator is returned without one.
        namespace: The namespace, `""` for the global one.
        **options: As `dataclasses.dataclass` takes them.

    Raises:
        TypeError: Not a class, or one that was registered by this module already.
        ValueError: The class is a node there already.
    """
    if cls is None:
        return functools.partial(dataclass, namespace=namespace, **options)
    if not isinstance(cls, type):
        raise TypeError(f"expected a class, got {cls!r}")
    return register_node(dataclasses.dataclass(cls, **options), namespace=namespace)


def make_dataclass(
    cls_name: str,
    fields: Iterable[Any],
    *,
    ns: dict[str, Any] | None = None,
    namespace: Any,
    **options: Any,
) -> Any:
    """Make a dataclass from a list of fields, and its instances nodes in a namespace.

    Args:
        cls_name, fields, **options: As `dataclasses.make_dataclass` takes them.
        ns: The attributes of the class, which are called `namespace` there; the two
            may be swapped.
        namespace: The namespace, `""` for the global one.

    Example:
        >>> from leafwise.compat import optree
        >>> make = optree.dataclasses.make_dataclass
        >>> optree.tree_leaves(make("Point", ["x"], namespace="xs")(1), namespace="xs")
        [1]
    """
    attributes: Any = ns
    if namespace is None or isinstance(namespace, dict):  # `ns` is the namespace then
        attributes = namespace
        namespace = ns
    # an older Python has no such option, and takes this module for that of the class
    if sys.version_info >= (3, 12) and "module" not in options:
        caller = sys._getframe(1).f_globals  # noqa: SLF001  # as `dataclasses` does
        options["module"] = caller.get("__name__")
    cls = dataclasses.make_dataclass(cls_name, fields, namespace=attributes, **options)
    return register_node(cls, namespace=namespace)


def register_node(cls: Any = None, /, *, namespace: str | None = None) -> Any:
    """Make the instances of a dataclass nodes in a namespace.

    Args:
        cls: The class; a decorator is returned without one, or for a namespace.
        namespace: The namespace, `""` for the global one.

    Raises:
        TypeError: Not a dataclass, one that was registered by this module already, or
            one with a child that its constructor does not take.
        ValueError: The namespace is missing, empty or given twice, or the class is a
            node there already.
    """
    cls, where = registry.class_and_namespace(cls, namespace)
    if cls is None:
        return functools.partial(register_node, namespace=where)
    return _register_dataclass(cls, registry.name_or_global(where))


def _register_dataclass(cls: Any, name: str) -> Any:
    if not hasattr(cls, "__dataclass_fields__"):
        raise TypeError(f"{cls!r} is not a dataclass")
    # Not `hasattr`: a subclass of a registered class is registered by itself.
    if FIELDS in vars(cls):
        raise TypeError(f"{cls!r} is registered already")
    registry.check_new(cls, name)
    children, others = _children_and_others(cls)
    setattr(cls, FIELDS, (MappingProxyType(children), MappingProxyType(others)))

    def flatten(node: Any) -> Any:
        values = [getattr(node, name) for name in children]
        static_values = [(name, getattr(node, name)) for name in others]
        return tuple(values), tuple(static_values)

    def unflatten(static_values: Any, values: Any) -> Any:
        child_values = zip(children, values, strict=True)
        return cls(**dict(child_values), **dict(static_values))

    registry.put_node_type(
        cls,
        name,
        flatten,
        unflatten,
        path_entry_type=DataclassEntry,
        names=tuple(children),
    )
    return cls


def _children_and_others(cls: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the fields that are children, and the others of the constructor.

    Raises:
        TypeError: The constructor does not take a child, or takes what is no field.
    """
    children: dict[str, Any] = {}
    others: dict[str, Any] = {}
    all_fields = dataclasses.fields(cls)
    for one in all_fields:
        is_child = one.metadata.get("pytree_node", True)
        if is_child and not one.init:
            raise TypeError(f"`__init__` of {cls!r} must take the child {one.name!r}")
        if is_child:
            children[one.name] = one
        elif one.init:
            others[one.name] = one
    # An `InitVar` cannot be read from a node, so the node could not be rebuilt.
    pseudo_fields = set(cls.__dataclass_fields__)
    pseudo_fields.difference_update(one.name for one in all_fields)
    if not pseudo_fields.isdisjoint(inspect.signature(cls).parameters):
        raise TypeError(f"{cls!r} has an InitVar, and cannot be rebuilt")
    return children, others
