"""Aliases for annotations: what `is_leaf`, flatten and unflatten functions are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import UnionType
from typing import Any, TypeAlias


__all__ = ["FlattenFunc", "IsLeaf", "UnflattenFunc"]

IsLeaf: TypeAlias = "Callable[..., object] | type | UnionType | tuple[type, ...] | None"
"""What `is_leaf` takes: a predicate on nodes, a type, or several types."""

FlattenFunc: TypeAlias = Callable[
    [Any], "tuple[Iterable[Any], Any] | tuple[Iterable[Any], Any, Iterable[Any]]"
]
"""Takes a node, returns `(children, aux_data)` or `(children, aux_data, keys)`."""

UnflattenFunc: TypeAlias = Callable[[Any, "tuple[Any, ...]"], Any]
"""Takes `(aux_data, children)`, returns a node."""
