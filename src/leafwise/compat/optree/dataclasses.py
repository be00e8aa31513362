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
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from typing_extensions import dataclass_transform

from . import registry
from .accessors import FIELDS, DataclassEntry


globals().update({name: getattr(dataclasses, name) for name in dataclasses.__all__})
__all__ = [*dataclasses.__all__, "DataclassEntry", "register_node"]  # pyright: ignore[reportUnsupportedDunderAll]

_DECORATOR = "@optree.dataclasses.dataclass()"

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


def field(
    *,
    init: bool = True,
    metadata: dict[Any, Any] | None = None,
    doc: str | None = None,
    pytree_node: bool | None = None,
    **options: Any,
) -> Any:
    """Declare a field, and whether it is a child.

    Args:
        init, metadata, doc, **options: As `dataclasses.field` takes them.
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
    data = {**(metadata or {})}
    if pytree_node is None:
        pytree_node = data.get("pytree_node", True)
    data["pytree_node"] = pytree_node
    if not init and pytree_node:
        raise TypeError("`pytree_node=True` is not allowed for non-init fields.")
    if doc is not None:
        options["doc"] = doc
    return dataclasses.field(init=init, metadata=data, **options)


_own, _theirs = [inspect.signature(f).parameters for f in (field, dataclasses.field)]
_last = {name: _own[name] for name in ("doc", "pytree_node")}
vars(field)["__signature__"] = inspect.Signature([*{**_theirs, **_last}.values()])


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
        raise TypeError(f"{_DECORATOR} can only be used with classes, not {cls!r}.")
    return register_node(dataclasses.dataclass(cls, **options), namespace=namespace)


def make_dataclass(
    cls_name: str,
    fields: Iterable[Any],
    *,
    ns: dict[str, Any] | None = None,
    namespace: str,
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
    if namespace is None or isinstance(namespace, dict):
        attributes, namespace = namespace, attributes
    if sys.version_info >= (3, 12):
        options.setdefault("module", sys._getframe(1).f_globals.get("__name__"))
    options["namespace"] = attributes
    made = dataclasses.make_dataclass(cls_name, fields, **options)
    return register_node(made, namespace=namespace)


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
    if not dataclasses.is_dataclass(cls):
        raise TypeError(f"{cls!r} is not a dataclass.")
    if FIELDS in vars(cls):
        raise TypeError(f"{_DECORATOR} cannot be applied to {cls!r} more than once.")
    declared = vars(cls)["__dataclass_fields__"].values()
    if any(one._field_type.name == "_FIELD_INITVAR" for one in declared):
        use = "`optree.register_pytree_node()` or `optree.register_pytree_node_class()`"
        told = f"has `InitVar` field(s) and cannot round-trip. Use {use}."
        raise TypeError(f"{cls!r} {told}")
    name = registry.name_or_global(where)
    marked: Any = cls
    registry.check_new(marked, name)
    children: dict[str, Any] = {}
    others: dict[str, Any] = {}
    for one in dataclasses.fields(cls):
        is_child = one.metadata.get("pytree_node", True)
        if one.init:
            (children if is_child else others)[one.name] = one
        elif is_child:
            told = f"PyTree node field {one.name!r} must be included in `__init__()`."
            raise TypeError(told)
    setattr(marked, FIELDS, tuple(map(MappingProxyType, (children, others))))

    def flatten(node: Any) -> Any:
        values = tuple([getattr(node, name) for name in children])
        return values, tuple([(name, getattr(node, name)) for name in others])

    def unflatten(data: Any, values: Any) -> Any:
        return marked(**dict(zip(children, values, strict=True)), **dict(data))

    return registry.put(cls, name, flatten, unflatten, DataclassEntry, tuple(children))
