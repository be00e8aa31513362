"""Assigning: which kind an attribute gets, or why it cannot have this value.

Owns the decision table. It looks at a value, at what was said about the attribute
and at what the attribute is; it writes nothing, so that a refusal leaves everything
as it was. The five ways to refuse are E1 to E5 in `checks`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..core.keys import GetAttrKey
from ..kinds import Kind, Marked
from . import checks
from .arrays import sort
from .traits import Traits


__all__ = ["Attribute", "decide", "recheck"]

_STATIC = Kind.STATIC


class Attribute(NamedTuple):
    """What is known of an attribute before it is assigned.

    Attributes:
        traits: Those of the object's class.
        name: The name.
        kind: The kind that it has, None if it is not there yet.
        building: Whether the object's `__init__` is still running.
        keyed: What makes a key of the name; an attribute, or an item.
    """

    traits: Traits
    name: Any
    kind: Kind | None
    building: bool
    keyed: Callable[[Any], Any] = GetAttrKey

    @property
    def key(self) -> Any:
        """The key under which the attribute stands."""
        return self.keyed(self.name)

    @property
    def declared(self) -> Kind | None:
        """The kind that the class declares."""
        is_item = self.keyed is not GetAttrKey
        return None if is_item else self.traits.declared.get(self.name)


def decide(attribute: Attribute, value: Any, mark: Kind | None) -> Kind:
    """Return the kind that an attribute gets with a value.

    Args:
        attribute: The attribute.
        value: The value, without its mark.
        mark: What stood around it.

    Raises:
        KindError: It cannot have this value.
    """
    traits = attribute.traits
    found = sort(value, checks.holds_others)
    if traits.pytree:
        _refuse_marks(attribute, value, found)
    if mark is not None:
        if mark is _STATIC and traits.pytree and _holds_data(value, found):
            raise checks.static_mark_on_data(traits.cls, attribute.key, value)
        return mark
    declared = attribute.declared
    known = attribute.kind or declared
    if known is not None and known is not _STATIC:
        return known
    if not _holds_data(value, found):
        return _STATIC
    if not traits.pytree or (known is None and found == "data"):
        return _kind_of_value(value)
    if declared is not _STATIC and not traits.strict:
        return _kind_of_value(value)
    if found == "container":
        raise checks.data_in_container(traits.cls, attribute.key, value)
    if attribute.kind is None and attribute.building:
        return _STATIC  # `recheck` refuses it, if it is still there
    is_declared = declared is _STATIC
    raise checks.data_on_static(traits.cls, attribute.key, value, declared=is_declared)


def recheck(attribute: Attribute, value: Any) -> Kind:
    """Look through an attribute that is there, and return its kind.

    Raises:
        KindError: It is static and holds data, or has marks inside.
    """
    traits, kind = attribute.traits, attribute.kind or _STATIC
    found = sort(value, checks.holds_others)
    _refuse_marks(attribute, value, found)
    if kind is not _STATIC or not _holds_data(value, found):
        return kind
    if not traits.strict and attribute.declared is not _STATIC:
        return _kind_of_value(value)
    raise checks.data_after_init(traits.cls, attribute.key, value)


def _refuse_marks(attribute: Attribute, value: Any, found: str) -> None:
    """Refuse marks that do not stand around what is assigned."""
    cls = attribute.traits.cls
    if type(value) is Marked:
        raise checks.stray_marks(cls, attribute.key, checks.Found((), value))
    if found == "container":
        for mark in checks.find_marks(value):
            raise checks.stray_marks(cls, attribute.key, mark)


def _holds_data(value: Any, found: str) -> bool:
    if found == "container":
        return next(checks.find_data(value), None) is not None
    return found == "data"


def _kind_of_value(value: Any) -> Kind:
    """Return the kind that an undeclared attribute gets with data in it."""
    cls = type(value)
    traits = getattr(cls, "_leafwise_traits", None)
    if isinstance(traits, Traits):
        return traits.kind
    return getattr(cls, "_leafwise_kind", Kind.DATA)
