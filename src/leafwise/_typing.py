"""Types of trees, for annotations; the package imports them only for type checkers.

Type checkers do not know the registry. For them, a class is a node inside containers if
it looks like one: a dataclass, a named tuple, a typed dict, or a class with a method
that flattens it. All other classes are leaves inside containers. At the root, any class
may be a node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field
from types import UnionType
from typing import Any, ClassVar, Concatenate, Protocol, TypeVar

from typing_extensions import TypeAliasType
from typing_extensions import TypeVar as DefaultTypeVar


K = TypeVar("K")
Path = TypeVar("Path")
"""The class of key paths, which cannot be imported here."""
R = TypeVar("R")
S = TypeVar("S")
T = TypeVar("T")
TreeT = TypeVar("TreeT")
"""A tree, for functions that return a tree of the same type."""


class AnyClass(Protocol):
    """Any class.

    With `type` instead, pyright would not infer the argument types of a lambda that is
    passed in its place.
    """

    def mro(self) -> list[type]: ...


class DataclassNode(Protocol):
    """An instance of a dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


class NamedNode(Protocol):
    """A named tuple."""

    @property
    def _fields(self) -> tuple[str, ...]: ...


class TypedDictNode(Protocol):
    """A dict whose keys are declared."""

    __required_keys__: ClassVar[frozenset[str]]


class FlattenNode(Protocol):
    """A class with the methods that `register_pytree_node_class` needs."""

    def tree_flatten(self) -> Any: ...


class PytreeNode(Protocol):
    """An instance of a subclass of `Pytree`."""

    __leafwise__: ClassVar[Any]


class StateNode(Protocol):
    """A state of `leafwise.nn`, which is also a mapping."""

    def to_pure_dict(self) -> dict[Any, Any]: ...


class Array(Protocol):
    """An array of any library. It is not `Hashed`: numpy arrays have no hash."""

    @property
    def shape(self) -> Any: ...


class Hashed(Protocol):
    """Anything with a hash. Lists, dicts and `PyTree[T]` have none."""

    def __hash__(self) -> int: ...


class Registered:
    """Placeholder in `PyTree[T]` for nodes that only the registry knows.

    It has no instances. Since it has no hash, `PyTree[T]` is not `Hashed`.
    """

    __hash__: ClassVar[None]  # type: ignore[assignment]  # that is the point


PyTree = TypeAliasType(
    "PyTree",
    "T | Sequence[PyTree[T]] | Mapping[Any, PyTree[T]] | Registered | None",
    type_params=(T,),
)
"""`PyTree[T]`: a leaf of type `T`, or nested containers of such leaves.

An annotation for people and type checkers. Classes that you register are trees
too, which no type system can express; annotate them by their own name.
"""


Opaque = TypeAliasType(
    "Opaque",
    "DataclassNode | FlattenNode | PytreeNode | StateNode",
)
"""A node whose leaves are of unknown type."""

Record = TypeAliasType("Record", "Opaque | NamedNode | TypedDictNode")
"""A class that looks like a node, so it is one inside containers as well."""

Level = TypeAliasType("Level", "Sequence[T] | Mapping[Any, T]", type_params=(T,))
"""A container."""

Unseen = TypeAliasType("Unseen", "Opaque | Level[Opaque] | Level[Level[Opaque]]")
"""A tree whose leaves are of unknown type."""

Class = TypeVar("Class", bound=Hashed)
"""The class of a tree that is one object."""

Leaf = TypeVar("Leaf", bound="Hashed | Array")
"""A leaf in a container. Lists and dicts are excluded, since they are nodes."""

Node = TypeVar("Node", bound="Record")
"""A class that looks like a node."""

Nodes = TypeVar(
    "Nodes", bound="Record | Level[Record | tuple[Any, ...]] | Level[Level[Record]]"
)
"""Such a class, or containers of them. A map returns the same type."""

Tree = DefaultTypeVar("Tree", default=Any)
Tree_co = DefaultTypeVar("Tree_co", covariant=True, default=Any)
"""The type of the trees that a treedef describes; `Any` if unknown."""

Value = DefaultTypeVar("Value", default=Any)
"""The type of the values that a selector selects; `Any` if unknown."""


Function = TypeAliasType(
    "Function",
    Callable[[T], R]
    | Callable[[T, Any], R]
    | Callable[Concatenate[T, Any, Any, ...], R],
    type_params=(T, R),
)
"""A function of a leaf and the corresponding leaves of further trees."""

PathFunction = TypeAliasType(
    "PathFunction",
    Callable[[Path, T], R]
    | Callable[[Path, T, Any], R]
    | Callable[Concatenate[Path, T, Any, Any, ...], R],
    type_params=(Path, T, R),
)
"""A function of a key path, a leaf, and the corresponding leaves of further trees."""


Predicate = TypeAliasType(
    "Predicate", Callable[[Any], object] | Callable[[Any, Any], object]
)
"""A function of a value, or of a path and a value, that is true for leaves."""

IsLeaf = TypeAliasType(
    "IsLeaf", "Predicate | AnyClass | UnionType | tuple[type, ...] | None"
)
"""The type of `is_leaf`: a predicate, a type or several types."""
