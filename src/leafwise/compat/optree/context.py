"""What a call of optree walks by, of the arguments that most functions share.

Owns the meaning of `namespace`: one that nobody registered in is as the global one.
Owns the modes in which dicts are walked as inserted, which hold for a whole process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ...core.registry import GLOBAL, View, current, view_of
from ...core.treedef import PyTreeDef
from ...ops.context import Context, plain_context
from ...safely import described
from .spec import PyTreeSpec, spec_of


__all__ = ["context", "is_inserted", "ordered", "spec_in", "view"]

ordered: Final[set[str]] = set()
"""The namespaces whose dicts are walked as inserted; the global one is all of them."""


def is_inserted(namespace: str) -> bool:
    """Return whether dicts are walked as inserted."""
    return bool(ordered) and (namespace in ordered or GLOBAL in ordered)


def view(none_is_leaf: bool = False, namespace: str = "") -> View:
    """Return the view of a namespace.

    Raises:
        TypeError: The namespace is not a string.
    """
    if not isinstance(namespace, str):
        raise TypeError(f"the namespace must be a string, got {described(namespace)}")
    name = namespace if namespace in current.state.layers else GLOBAL
    found = view_of(name, bool(none_is_leaf))
    return found.as_inserted() if is_inserted(namespace) else found


def context(
    is_leaf: Callable[[Any], object] | None,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> Context:
    """Return what a call walks by.

    Raises:
        TypeError: The namespace is not a string, or the predicate cannot be called.
    """
    if namespace == "" and none_is_leaf is False and not ordered:
        found = current.view
    else:
        found = view(none_is_leaf, namespace)
    if is_leaf is None:
        return found.context or plain_context(found)
    if not callable(is_leaf):
        raise TypeError(f"is_leaf must be a function, got {described(is_leaf)}")
    return Context(found, is_leaf)


def spec_in(treedef: PyTreeDef, namespace: str) -> PyTreeSpec:
    """Return the structure that a call with this namespace found."""
    asked = namespace != "" and namespace not in ordered
    return spec_of(treedef, namespace, asked=asked)
