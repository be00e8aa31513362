"""Attrs classes as nodes, with the interface of `optree.integrations.attrs`.

As in optree, a node is rebuilt by its class, so its converters run.
"""

from __future__ import annotations

import functools
import importlib
import operator
import warnings
from collections.abc import Iterable
from typing import Any, ClassVar, Final

from ..accessors import FieldEntry
from ..fields import (
    Ways,
    arguments,
    check_new,
    global_if_empty,
    node_metadata,
    register_fields,
)


_attrs: Any = importlib.import_module("attrs")

NOTHING: Any = _attrs.NOTHING
Attribute: Any = _attrs.Attribute
Factory: Any = _attrs.Factory
asdict: Any = _attrs.asdict
astuple: Any = _attrs.astuple
cmp_using: Any = _attrs.cmp_using
converters: Any = _attrs.converters
evolve: Any = _attrs.evolve
exceptions: Any = _attrs.exceptions
fields: Any = _attrs.fields
fields_dict: Any = _attrs.fields_dict
filters: Any = _attrs.filters
has: Any = _attrs.has
resolve_types: Any = _attrs.resolve_types
setters: Any = _attrs.setters
validate: Any = _attrs.validate
validators: Any = _attrs.validators

__all__ = [
    "NOTHING",
    "Attribute",
    "AttrsEntry",
    "Factory",
    "asdict",
    "astuple",
    "cmp_using",
    "converters",
    "define",
    "evolve",
    "exceptions",
    "field",
    "fields",
    "fields_dict",
    "filters",
    "frozen",
    "has",
    "make_class",
    "mutable",
    "register_node",
    "resolve_types",
    "setters",
    "validate",
    "validators",
]

_FIELDS: Final = "__optree_attrs_fields__"


class AttrsEntry(FieldEntry):
    """The child is a field of an attrs class; the entry is its name or its position."""

    __slots__ = ()

    mark: ClassVar[str] = _FIELDS

    @classmethod
    def all_fields(cls, owner: Any) -> Iterable[Any]:
        """Return the fields of an attrs class."""
        found: Iterable[Any] = _attrs.fields(owner)
        return found


_WAYS = Ways(
    "optree.integrations.attrs",
    _FIELDS,
    AttrsEntry,
    _attrs.fields,
    operator.attrgetter("alias"),
)


def field(**kwargs: Any) -> Any:
    """Declare a field, and whether it is a child.

    Args:
        **kwargs: Those of `attrs.field`, and `pytree_node`, which the metadata may say
            as well; if nothing does, the field is a child.

    Raises:
        TypeError: A child with `init=False`.
    """
    pytree_node = kwargs.pop("pytree_node", None)
    init = kwargs.get("init", True)
    metadata = node_metadata(kwargs.pop("metadata", None), pytree_node, init)
    return _attrs.field(metadata=metadata, **kwargs)


def define(cls: Any = None, /, *, namespace: str, **kwargs: Any) -> Any:
    """Make a class an attrs class, and its instances nodes in a namespace.

    Args:
        cls: The class; a decorator is returned without one.
        namespace: The namespace, `""` for the global one.
        **kwargs: Those of `attrs.define`.
    """
    if cls is None:
        return functools.partial(define, namespace=namespace, **kwargs)
    if not isinstance(cls, type):
        raise TypeError(
            "@optree.integrations.attrs.define() can only be used with classes, not "
            f"{cls!r}."
        )
    return register_node(_attrs.define(cls, **kwargs), namespace=namespace)


def frozen(cls: Any = None, /, *, namespace: str, **kwargs: Any) -> Any:
    """Make a frozen attrs class; equivalent to `define` with `frozen=True`."""
    options = {"frozen": True, "on_setattr": None, **kwargs}
    return define(cls, namespace=namespace, **options)


mutable = define


def make_class(name: str, attrs: Any, /, *, namespace: str, **kwargs: Any) -> Any:
    """Make an attrs class from a list of fields, and its instances nodes.

    Args:
        name: The name of the class.
        attrs: Names of fields, or a dict from names to fields.
        namespace: The namespace, `""` for the global one.
        **kwargs: Those of `attrs.make_class`.
    """
    made = _attrs.make_class(name, attrs, **kwargs)
    return register_node(made, namespace=namespace)


def register_node(cls: Any = None, /, *, namespace: str | None = None) -> Any:
    """Make the instances of an attrs class nodes in a namespace.

    Args:
        cls: The class; a decorator is returned without one, or for a namespace.
        namespace: The namespace, `""` for the global one.

    Raises:
        TypeError: Not an attrs class, or one that was registered here already.
        ValueError: The namespace is missing, empty or given twice, or the class is a
            node there already.
    """
    cls, namespace = arguments(cls, namespace)
    if cls is None:
        return functools.partial(register_node, namespace=namespace)
    if not isinstance(cls, type):
        raise TypeError(f"Expected a class, got {cls!r}.")
    if not _attrs.has(cls):
        raise TypeError(f"{cls!r} is not an attrs-decorated class.")
    check_new(cls, _WAYS)
    where = global_if_empty(namespace)
    props = getattr(cls, "__attrs_props__", None)
    if not getattr(props, "added_init", True):
        warnings.warn(
            f"Attrs class {cls.__name__!r} does not use an attrs-generated `__init__`. "
            "`tree_unflatten()` may fail because it calls the constructor.",
            UserWarning,
            stacklevel=2,
        )
    return register_fields(cls, where, _WAYS)
