"""Dataclasses that are nodes, by the names of `optree.dataclasses`.

As in optree, and unlike with leafwise's own decorator, a node is rebuilt by its
constructor: `__post_init__` runs, and `init=False` fields are computed anew.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import sys
import warnings
from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY as KW_ONLY
from dataclasses import MISSING as MISSING
from dataclasses import Field as Field
from dataclasses import FrozenInstanceError as FrozenInstanceError
from dataclasses import InitVar as InitVar
from dataclasses import asdict as asdict
from dataclasses import astuple as astuple
from dataclasses import fields as fields
from dataclasses import is_dataclass as is_dataclass
from dataclasses import replace as replace
from types import MappingProxyType
from typing import Any, TypeVar

from typing_extensions import dataclass_transform

from ...safely import class_name
from .accessors import FIELDS, DataclassEntry
from .registry import (
    GLOBAL_NAMESPACE,
    check_new,
    class_and_namespace,
    name_of,
    put,
)


__all__ = [*dataclasses.__all__, "DataclassEntry", "register_node"]  # pyright: ignore[reportUnsupportedDunderAll]

F = TypeVar("F", bound=Callable[..., Any])

_NEW_ARGUMENTS = {"doc": (3, 14), "module": (3, 12), "decorator": (3, 14)}
"""The arguments of the standard library that are younger than our oldest Python."""


def _signed_like(original: Callable[..., Any]) -> Callable[[F], F]:
    """Show in the signature of a function the options that it passes to another."""

    def sign(function: F) -> F:
        own = inspect.signature(function)
        parameters = [*own.parameters.values()][:-1]
        theirs = dict(inspect.signature(original).parameters)
        for name in ("doc",) if original is dataclasses.field else ():
            more = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None)
            theirs.setdefault(name, more)
        for name, one in theirs.items():
            if one.kind is one.KEYWORD_ONLY and name not in own.parameters:
                parameters.append(one)
        shown: Any = function
        shown.__signature__ = own.replace(parameters=parameters)
        return function

    return sign


@_signed_like(dataclasses.field)
def field(
    *,
    init: bool = True,
    metadata: dict[Any, Any] | None = None,
    pytree_node: bool | None = None,
    **options: Any,
) -> Any:
    """Declare a field, and whether it is a child.

    Args:
        init, metadata, **options: As `dataclasses.field` takes them.
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
    return dataclasses.field(init=init, metadata=data, **_known_here(options))


def _known_here(options: dict[str, Any]) -> dict[str, Any]:
    """Return options without those that this Python lacks, if they are defaults."""
    return {
        name: value
        for name, value in options.items()
        if sys.version_info >= _NEW_ARGUMENTS.get(name, (3,))
        or not (value is None or value is dataclasses.dataclass)
    }


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
        raise TypeError(
            "@optree.dataclasses.dataclass() can only be used with classes, not "
            f"{cls!r}."
        )
    if FIELDS in vars(cls):
        raise TypeError(
            "@optree.dataclasses.dataclass() cannot be applied to "
            f"{class_name(cls)} more than once."
        )
    where = _global_if_empty(namespace)
    return register_node(dataclasses.dataclass(cls, **options), namespace=where)


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
    where: Any = namespace
    if isinstance(where, dict) or where is None:
        if ns is None:
            raise TypeError(
                "make_dataclass() missing 1 required keyword-only argument: 'ns'"
            )
        attributes, where = where, attributes
    where = _global_if_empty(where)
    if sys.version_info >= _NEW_ARGUMENTS["module"] and not options.get("module"):
        options["module"] = sys._getframe(1).f_globals.get("__name__", "__main__")
    if options.get("decorator") is dataclass:
        options["decorator"] = dataclasses.dataclass
    options = {"namespace": attributes, **_known_here(options)}
    made = dataclasses.make_dataclass(cls_name, fields, **options)
    return register_node(made, namespace=where)


def _global_if_empty(namespace: Any) -> Any:
    """Return a namespace, in which the empty name is the global one.

    Raises:
        TypeError: It is not a string.
    """
    if namespace is not GLOBAL_NAMESPACE and not isinstance(namespace, str):
        raise TypeError(f"The namespace must be a string, got {namespace!r}.")
    return GLOBAL_NAMESPACE if namespace == "" else namespace


def register_node(cls: Any = None, /, *, namespace: str | None = None) -> Any:
    """Make the instances of a dataclass nodes in a namespace.

    Args:
        cls: The class; a decorator is returned without one, or for a namespace.
        namespace: The namespace, `""` for the global one.

    Raises:
        TypeError: Not a dataclass, one that was registered by this module already, or
            one whose constructor takes what its instances do not hold.
        ValueError: The namespace is missing, empty or given twice, or the class is a
            node there already.
    """
    cls, where = class_and_namespace(cls, namespace)
    if cls is None:
        return functools.partial(register_node, namespace=where)
    if not isinstance(cls, type):
        raise TypeError(f"Expected a class, got {cls!r}.")
    if not is_dataclass(cls):
        raise TypeError(f"{cls!r} is not a dataclass.")
    if FIELDS in vars(cls):
        raise TypeError(
            f"Cannot register {class_name(cls)} as a pytree node more than once with "
            "`optree.dataclasses.register_node()`. Use `optree.register_pytree_node()` "
            "for another namespace."
        )
    name = name_of(_global_if_empty(where))
    _check_init(cls)
    check_new(cls, name)
    children, others = _split(cls)
    marked: Any = cls
    marked.__optree_dataclass_fields__ = MappingProxyType(children), others

    def flatten(node: Any) -> Any:
        values = tuple([getattr(node, name) for name in children])
        return values, tuple([(name, getattr(node, name)) for name in others])

    def unflatten(data: Any, values: Any) -> Any:
        return marked(**dict(zip(children, values, strict=True)), **dict(data))

    return put(cls, name, flatten, unflatten, DataclassEntry, tuple(children))


def _split(cls: Any) -> tuple[dict[str, Any], MappingProxyType[str, Any]]:
    """Return the fields that are children, and the others that the class takes.

    Raises:
        TypeError: A child is no argument of the class.
    """
    parts: tuple[dict[str, Any], dict[str, Any]] = {}, {}
    for one in fields(cls):
        is_child = one.metadata.get("pytree_node", True)
        if one.init:
            parts[not is_child][one.name] = one
        elif is_child:
            raise TypeError(
                f"PyTree node field {one.name!r} must be included in `__init__()`. Or "
                "declare it with `optree.dataclasses.field(init=False, "
                "pytree_node=False)`."
            )
    return parts[0], MappingProxyType(parts[1])


def _check_init(cls: Any) -> None:
    """Refuse a class whose constructor takes what its instances do not hold.

    Raises:
        TypeError: It has such arguments.
    """
    if not cls.__dataclass_params__.init:
        warnings.warn(
            f"Dataclass {cls.__name__!r} was defined with `init=False`. "
            "`tree_unflatten()` may fail because it calls the constructor.",
            UserWarning,
            stacklevel=3,
        )
    for_init = dataclasses._FIELD_INITVAR  # type: ignore[attr-defined]  # a mark
    only_init = [
        name
        for name, one in cls.__dataclass_fields__.items()
        if one._field_type is for_init
    ]
    if only_init:
        raise TypeError(
            f"Dataclass {cls.__name__!r} has `InitVar` field(s) {only_init!r}, which "
            "cannot round-trip. Use `optree.register_pytree_node()` or "
            "`optree.register_pytree_node_class()` instead."
        )
