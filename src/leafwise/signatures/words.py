"""The words of signatures: which values are trees of which leaves.

A checker knows no registry, so a class counts as a node if it looks like one: a
dataclass, a named tuple, a typed dict, a class with a method that flattens. All other
classes are leaves where they stand in a container, and nodes where they are the tree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Literal,
    Protocol,
    Required,
    TypedDict,
    TypeVar,
)

from typing_extensions import TypeAliasType
from typing_extensions import TypeVar as DefaultTypeVar


if TYPE_CHECKING:
    from collections import deque
    from dataclasses import Field

    from ..core.node import IsLeaf
    from ..typing import Registered

__all__ = [
    "AnyClass",
    "Anyhow",
    "AnyhowStrictly",
    "Array",
    "ByLeaf",
    "ByLeafStrictly",
    "Class",
    "DictOf",
    "Hashed",
    "Leafy",
    "Level",
    "ListOf",
    "Nested2",
    "Nested3",
    "Node",
    "Nodes",
    "Opaque",
    "Plainly",
    "Scalar",
    "Simply",
    "Strictly",
    "Tree",
    "Tree_co",
    "Unseen",
    "Value",
    "Wide",
    "WithNone",
    "WithNoneStrictly",
]

K_co = TypeVar("K_co", covariant=True)
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


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

    def _asdict(self) -> dict[str, Any]: ...


class TypedDictNode(Protocol):
    """A dict whose keys are declared."""

    __required_keys__: ClassVar[frozenset[str]]


class FlattenNode(Protocol):
    """A node by the methods that `register_pytree_node_class` looks for."""

    def tree_flatten(self) -> Any: ...


class DunderNode(Protocol):
    """A node by the methods with double underscores."""

    def __tree_flatten__(self) -> Any: ...


class KeyedNode(Protocol):
    """A node by the methods that `register_pytree_with_keys_class` looks for."""

    def tree_flatten_with_keys(self) -> Any: ...


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

    @property
    def dtype(self) -> Any: ...


class ListOf(Protocol[T_co]):
    """A list of a type or of a narrower one: `list[int]` is no `list[PyTree[int]]`."""

    __hash__: ClassVar[None]  # type: ignore[assignment]  # that is the point

    def copy(self) -> list[Any]: ...

    def pop(self, index: Any = ..., /) -> T_co: ...


class DictOf(Protocol[K_co, T_co]):
    """The same for dicts."""

    __hash__: ClassVar[None]  # type: ignore[assignment]  # that is the point

    def copy(self) -> dict[Any, Any]: ...

    def popitem(self) -> tuple[K_co, T_co]: ...


class Hashed(Protocol):
    """Anything with a hash, which is to say: no list, no dict, no `PyTree[T]`."""

    def __hash__(self) -> int: ...


Opaque = TypeAliasType(
    "Opaque",
    "DataclassNode | FlattenNode | DunderNode | KeyedNode | PytreeNode | StateNode",
)
"""A node whose leaves are of unknown type."""

Level = TypeAliasType("Level", "Sequence[T] | Mapping[Any, T]", type_params=(T,))
"""A container."""

Unseen = TypeAliasType("Unseen", "Opaque | Level[Opaque] | Level[Level[Opaque]]")
"""A tree whose leaves are of unknown type."""

_Record = TypeAliasType("_Record", "Opaque | NamedNode | TypedDictNode")

_Nested1 = TypeAliasType(
    "_Nested1", "list[Any] | tuple[Any, ...] | deque[Any] | Mapping[Any, Any]"
)

Nested2 = TypeAliasType("Nested2", "Sequence[_Nested1] | Mapping[Any, _Nested1]")
"""Containers of containers; a string is none."""

Nested3 = TypeAliasType("Nested3", "Sequence[Nested2] | Mapping[Any, Nested2]")
"""Containers of containers of containers."""

_Wide0 = TypeAliasType(
    "_Wide0",
    "T | Sequence[Any] | Mapping[Any, Any] | Registered | None",
    type_params=(T,),
)
_Wide1 = TypeAliasType(
    "_Wide1",
    "T | Sequence[_Wide0[T]] | Mapping[Any, _Wide0[T]] | Registered | None",
    type_params=(T,),
)
_Wide2 = TypeAliasType(
    "_Wide2",
    "T | Sequence[_Wide1[T]] | Mapping[Any, _Wide1[T]] | Registered | None",
    type_params=(T,),
)
_Wide3 = TypeAliasType(
    "_Wide3",
    "T | Sequence[_Wide2[T]] | Mapping[Any, _Wide2[T]] | Registered | None",
    type_params=(T,),
)

Wide = TypeAliasType(
    "Wide",
    "T | Sequence[_Wide3[T]] | Mapping[Any, _Wide3[T]] | Registered | None",
    type_params=(T,),
)
"""What a `PyTree[T]` is, without the recursion by which mypy would add None to `T`.

Mypy takes no other container for one, so these signatures do not compete with those of
plain containers.
"""

Class = TypeVar("Class", bound=Hashed)
"""A class that is the tree."""

Node = TypeVar("Node", bound="_Record")
"""A class that looks like a node, wherever it stands."""

Nodes = TypeVar("Nodes", bound="_Record | Level[_Record] | Level[Level[_Record]]")
"""The same, or containers of such: what a map does not change for a checker."""

Scalar = TypeVar("Scalar", bound="int | float | complex | str | bytes | Array")
"""What is a leaf, wherever it stands."""


Tree = DefaultTypeVar("Tree", default=Any)
Tree_co = DefaultTypeVar("Tree_co", covariant=True, default=Any)
"""The tree of a structure; anything, if that is not said."""

Value = DefaultTypeVar("Value", default=Any)
"""What stands at a place of a tree; anything, if the selector does not tell."""


class Plainly(TypedDict, total=False):
    """Options that do not change what a leaf is."""

    none_is_leaf: Literal[False]
    namespace: str


class Simply(TypedDict, total=False):
    """The options of functions that have no `is_leaf`."""

    none_is_leaf: bool
    namespace: str


class Strictly(Plainly, total=False):
    """The same for functions that compare further trees."""

    strict: bool


class Leafy(TypedDict, total=False):
    """Options that may change what a leaf is, beside `is_leaf`."""

    is_leaf_takes_path: bool
    none_is_leaf: bool
    namespace: str


class Anyhow(Leafy, total=False):
    """All of the common options."""

    is_leaf: IsLeaf


class AnyhowStrictly(Anyhow, total=False):
    """The same for functions that compare further trees."""

    strict: bool


class ByLeaf(Leafy, total=False):
    """The options of a call in which `is_leaf` decides what a leaf is."""

    is_leaf: Required[IsLeaf]


class ByLeafStrictly(ByLeaf, total=False):
    """The same for functions that compare further trees."""

    strict: bool


class WithNone(TypedDict, total=False):
    """The options of a call for which None is a leaf."""

    is_leaf_takes_path: bool
    none_is_leaf: Required[Literal[True]]
    namespace: str


class WithNoneStrictly(WithNone, total=False):
    """The same for functions that compare further trees."""

    strict: bool
