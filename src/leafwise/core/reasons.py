"""Why a value is a leaf, and what to do about it where users expect a node."""

from __future__ import annotations

from typing import Any, Final

from .._records import MISSING
from .._text import safe_repr
from ..equality.leaves import type_names
from .builtins import BUILTINS
from .registry import View, namespaces, view_of


def unexpected_leaf(leaf: Any, view: View) -> str:
    """Return why a value that has parts is a leaf; "" for any other value.

    Args:
        leaf: The value.
        view: Decides which classes are nodes.
    """
    cls = type(leaf)
    if view.resolve(cls) is not None:
        return ""
    if hasattr(cls, "__next__"):
        return f"{cls.__qualname__} is an iterator; make a list of it"
    has_items = hasattr(cls, "__iter__") and not issubclass(cls, _TEXTS)
    is_array = hasattr(cls, "dtype")
    has_fields = any(hasattr(cls, mark) for mark in (*_FAMILIES, "state_dict"))
    if has_fields or (has_items and not is_array):
        return why_leaf(cls, view)
    return ""


_TEXTS: Final = (str, bytes, bytearray)


def why_leaf(cls: type, view: View) -> str:
    """Return why values of a class are leaves."""
    name = cls.__qualname__
    if callable(getattr(cls, "state_dict", None)):
        return how_to_register(cls)
    if cls is type(None) and view.mode.none_is_leaf:
        namespace = safe_repr(view.mode.namespace)
        return f"namespace {namespace} was declared with none_is_leaf=True"
    if view.registered(cls, MISSING) is None:
        return f"{name} was registered as a leaf"
    for other in namespaces():
        if view_of(other).registered(cls) is not None:
            return f"{name} is registered in namespace {safe_repr(other)} only"
    for base in cls.__mro__[1:]:
        node_type = view.registered(base)
        if (
            node_type is not None
            and node_type.adapt is not None
            and not node_type.adapt(cls)
        ):
            return (
                f"{name} is a subclass of {_other(base, cls)} that opted to be a leaf"
            )
        if base in BUILTINS or node_type is not None:
            return (
                f"{name} is a subclass of {_other(base, cls)}, and subclasses are "
                "leaves unless they are registered"
            )
    return how_to_register(cls) or f"{name} is not registered"


_FAMILIES: Final = {
    "__dataclass_fields__": "a dataclass that is not registered; use "
    "leafwise.dataclass or leafwise.register_dataclass",
    "__attrs_attrs__": "a class of attrs; use leafwise.integrations.support('attrs')",
    "__pydantic_validator__": "a model of pydantic; use "
    "leafwise.integrations.support('pydantic')",
}
"""What to do about classes with fields that are leaves, by what they have."""


def how_to_register(cls: type) -> str:
    """Return why instances of a class with attributes are leaves; "" for any other.

    Example:
        >>> from leafwise.core.reasons import how_to_register
        >>> how_to_register(int)
        ''
        >>> class Point:
        ...     x = 0
        >>> how_to_register(Point)
        'Point is not registered'
    """
    for mark, what in _FAMILIES.items():
        if hasattr(cls, mark):
            return f"{cls.__qualname__} is {what}"
    if callable(getattr(cls, "state_dict", None)):  # as a module of torch has
        return f"{cls.__qualname__} is not registered; its state_dict() is a tree"
    has_attributes = cls.__dictoffset__ != 0 and cls.__module__ != "builtins"
    if has_attributes and not hasattr(cls, "dtype"):
        return f"{cls.__qualname__} is not registered"
    return ""


def _other(base: type, cls: type) -> str:
    """Return the name of a base class, which may have the same name."""
    if base.__qualname__ != cls.__qualname__:
        return base.__qualname__
    return type_names(cls, base)[1]
