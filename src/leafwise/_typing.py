"""What type checkers are told of trees; nothing here is loaded when a program runs.

A checker knows no registry, so a class counts as a node inside containers if it looks
like one: a dataclass, a named tuple, a typed dict, a class with a method that flattens.
All other classes are leaves inside containers, and nodes where they are the tree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field
from types import UnionType
from typing import Any, ClassVar, Protocol, TypedDict, TypeVar

from typing_extensions import TypeAliasType
from typing_extensions import TypeVar as DefaultTypeVar


K = TypeVar("K")
Path = TypeVar("Path")
"""The class of key paths, which is not imported here."""
R = TypeVar("R")
S = TypeVar("S")
T = TypeVar("T")
TreeT = TypeVar("TreeT")
"""Any tree, of which a function returns another one of the same type."""


class AnyClass(Protocol):
    """Any class; `type` would hide from pyright what a lambda beside it takes."""

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
    """A node by the methods that `register_pytree_node_class` looks for."""

    def tree_flatten(self) -> Any: ...


class PytreeNode(Protocol):
    """An instance of a subclass of `Pytree`."""

    def _leafwise_rule(self, where: str) -> Any: ...


class StateNode(Protocol):
    """A state of `leafwise.nn`, which is a mapping, too."""

    def to_pure_dict(self) -> dict[Any, Any]: ...


class Array(Protocol):
    """An array of any library; arrays of numpy have no hash."""

    @property
    def shape(self) -> Any: ...


class Hashed(Protocol):
    """Anything with a hash, which is to say: no list, no dict, no `PyTree[T]`."""

    def __hash__(self) -> int: ...


class Registered:
    """Placeholder in `PyTree[T]` for nodes that only the registry knows.

    No value is an instance. The class keeps the union apart from classes that have a
    hash.
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
"""A class that looks like a node, wherever it stands."""

Level = TypeAliasType("Level", "Sequence[T] | Mapping[Any, T]", type_params=(T,))
"""A container."""

Unseen = TypeAliasType("Unseen", "Opaque | Level[Opaque] | Level[Level[Opaque]]")
"""A tree whose leaves are of unknown type."""

Class = TypeVar("Class", bound=Hashed)
"""A class that is the tree."""

Leaf = TypeVar("Leaf", bound="Hashed | Array")
"""A leaf in a container; a list or a dict there is a node."""

Node = TypeVar("Node", bound="Record")
"""A class that looks like a node."""

Nodes = TypeVar(
    "Nodes", bound="Record | Level[Record | tuple[Any, ...]] | Level[Level[Record]]"
)
"""The same, or containers of such: a map keeps their type."""

Tree = DefaultTypeVar("Tree", default=Any)
Tree_co = DefaultTypeVar("Tree_co", covariant=True, default=Any)
"""The tree of a structure; anything, if that is not said."""

Value = DefaultTypeVar("Value", default=Any)
"""What a selector finds; anything, if the selector does not tell."""


Function = TypeAliasType(
    "Function",
    Callable[[T], R]
    | Callable[[T, Any], R]
    | Callable[[T, Any, Any], R]
    | Callable[[T, Any, Any, Any], R]
    | Callable[[T, Any, Any, Any, Any], R],
    type_params=(T, R),
)
"""A function of a leaf, and of those of further trees."""

PathFunction = TypeAliasType(
    "PathFunction",
    Callable[[Path, T], R]
    | Callable[[Path, T, Any], R]
    | Callable[[Path, T, Any, Any], R],
    type_params=(Path, T, R),
)
"""The same with the key path first."""


Predicate = TypeAliasType(
    "Predicate", Callable[[Any], object] | Callable[[Any, Any], object]
)
"""A function of a node, or of a path and a node; true for a leaf."""

IsLeaf = TypeAliasType(
    "IsLeaf", "Predicate | AnyClass | UnionType | tuple[type, ...] | None"
)
"""What `is_leaf` takes: a predicate on nodes, or on paths and nodes; types."""


class Options(TypedDict, total=False):
    """The arguments of most functions."""

    is_leaf: IsLeaf
    namespace: str


class PathModes(TypedDict, total=False):
    """The arguments of functions that flatten, beside a positional `is_leaf`."""

    is_leaf_takes_path: bool
    none_is_leaf: bool
    namespace: str


class PathOptions(PathModes, total=False):
    """The arguments of functions that flatten and map."""

    is_leaf: IsLeaf


class MapOptions(PathOptions, total=False):
    """The arguments of maps over several trees."""

    strict: bool
