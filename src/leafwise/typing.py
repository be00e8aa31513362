"""Type aliases for annotations: `PyTree[T]` and what functions take.

Owns names for types only; it imports nothing of leafwise. The package itself
reads it only when it is type-checked, so that `import leafwise` stays cheap:
write `from leafwise.typing import PyTree`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import UnionType
from typing import Any, TypeAlias, TypeVar

from typing_extensions import TypeAliasType


__all__ = [
    "FlattenFunc",
    "IsLeaf",
    "PyTree",
    "UnflattenFunc",
]

T = TypeVar("T")

PyTree = TypeAliasType(
    "PyTree",
    "T | Sequence[PyTree[T]] | Mapping[Any, PyTree[T]] | None",
    type_params=(T,),
)
"""`PyTree[T]`: a leaf of type `T`, or nested containers of such leaves.

An annotation for people and type checkers. Classes that you register are trees
too, which no type system can say; annotate them by their own name.
"""

IsLeaf: TypeAlias = "Callable[..., object] | type | UnionType | tuple[type, ...] | None"
"""What `is_leaf` takes: a predicate on nodes, a type, or several types."""

FlattenFunc: TypeAlias = Callable[
    [Any], "tuple[Iterable[Any], Any] | tuple[Iterable[Any], Any, Iterable[Any]]"
]
"""Takes a node, returns `(children, aux_data)` or `(children, aux_data, keys)`."""

UnflattenFunc: TypeAlias = Callable[[Any, "tuple[Any, ...]"], Any]
"""Takes `(aux_data, children)`, returns a node."""
