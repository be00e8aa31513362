"""Dataclasses that are nodes, by the names of `optree.dataclasses`.

Beside what is here, the module has all public names of the standard library's
`dataclasses`. As optree does, and unlike leafwise's own decorator, a node is rebuilt by
its constructor: `__post_init__` runs, and what `init=False` fields hold is computed
anew.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
import sys
import warnings
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
from typing import Any

from typing_extensions import dataclass_transform

from ...safely import class_name
from .accessors import FIELDS, DataclassEntry
from .fields import (
    Ways,
    arguments,
    check_new,
    global_if_empty,
    node_metadata,
    register_fields,
)


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

_NEW_ARGUMENTS = {"doc": (3, 14), "module": (3, 12), "decorator": (3, 14)}
"""The arguments of the standard library that are younger than our oldest Python."""


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
        pytree_node: Whether it is a child, which the metadata may say as well; if
            nothing does, it is one. A child has to be an argument of the constructor.

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
    data = node_metadata(metadata, pytree_node, init)
    return dataclasses.field(init=init, metadata=data, **_known_here(options))


def _known_here(options: dict[str, Any]) -> dict[str, Any]:
    """Return options without those that this Python lacks, if they say nothing."""
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
            "@optree.dataclasses.dataclass() can only be used with "
            f"classes, not {cls!r}."
        )
    if FIELDS in vars(cls):
        raise TypeError(
            "@optree.dataclasses.dataclass() cannot be applied to "
            f"{class_name(cls)} more than once."
        )
    where = global_if_empty(namespace)
    made: Any = dataclasses.dataclass(cls, **options)
    return register_node(made, namespace=where)


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
    attributes, where = _swapped(ns, namespace)
    if sys.version_info >= _NEW_ARGUMENTS["module"] and not options.get("module"):
        options["module"] = sys._getframe(1).f_globals.get("__name__", "__main__")
    if options.get("decorator") is dataclass:
        options["decorator"] = dataclasses.dataclass
    options = {"namespace": attributes, **_known_here(options)}
    made = dataclasses.make_dataclass(cls_name, fields, **options)
    return register_node(made, namespace=where)


def _swapped(ns: Any, namespace: Any) -> tuple[Any, Any]:
    """Return the attributes of a class and the namespace, whichever is which.

    Raises:
        TypeError: One is missing, or the namespace is not a string.
    """
    if isinstance(namespace, dict) or namespace is None:
        if ns is None:
            raise TypeError(
                "make_dataclass() missing 1 required keyword-only argument: 'ns'"
            )
        ns, namespace = namespace, ns
    return ns, global_if_empty(namespace)


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
    cls, namespace = arguments(cls, namespace)
    if cls is None:
        return functools.partial(register_node, namespace=namespace)
    if not isinstance(cls, type):
        raise TypeError(f"Expected a class, got {cls!r}.")
    if not is_dataclass(cls):
        raise TypeError(f"{cls!r} is not a dataclass.")
    check_new(cls, _WAYS)
    where = global_if_empty(namespace)
    _check_init(cls)
    return register_fields(cls, where, _WAYS)


_WAYS = Ways(
    "optree.dataclasses", FIELDS, DataclassEntry, fields, operator.attrgetter("name")
)


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
