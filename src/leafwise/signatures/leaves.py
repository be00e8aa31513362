"""What type checkers see of functions that take trees apart.

Owns signatures alone; see `words`. They say: of a container of `T`, nested to any
depth, the leaves are `T`; of a class they are anything, and so they are where `is_leaf`
or `none_is_leaf` decides what a leaf is. The type of a structure is that of its tree
with anything for what is in it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

from typing_extensions import Unpack

from .words import (
    Class,
    DictOf,
    Hashed,
    Leafy,
    Level,
    ListOf,
    Node,
    Plainly,
    Scalar,
    Unseen,
    Wide,
)


if TYPE_CHECKING:
    from ..core.keypath import KeyPath
    from ..core.node import IsLeaf
    from ..core.treedef import PyTreeDef
    from ..typing import PyTree

K = TypeVar("K")
T = TypeVar("T")


class Leaves(Protocol):
    """The leaves of a tree."""

    @overload
    def __call__(self, tree: Scalar, **how: Unpack[Plainly]) -> list[Scalar]: ...
    @overload
    def __call__(self, tree: Unseen, **how: Unpack[Plainly]) -> list[Any]: ...
    @overload
    def __call__(
        self, tree: Level[Level[Level[PyTree[T]]]], **how: Unpack[Plainly]
    ) -> list[T]: ...
    @overload
    def __call__(self, tree: Level[PyTree[T]], **how: Unpack[Plainly]) -> list[T]: ...
    @overload
    def __call__(self, tree: Hashed, **how: Unpack[Plainly]) -> list[Any]: ...
    @overload
    def __call__(self, tree: Wide[T], **how: Unpack[Plainly]) -> list[T]: ...
    @overload
    def __call__(
        self, tree: Any, is_leaf: IsLeaf = ..., **how: Unpack[Leafy]
    ) -> list[Any]: ...


def as_leaves(function: Callable[..., Any]) -> Leaves:
    """Give a function this type."""
    return function


class Iter(Protocol):
    """An iterator over the leaves of a tree."""

    @overload
    def __call__(self, tree: Scalar, **how: Unpack[Plainly]) -> Iterator[Scalar]: ...
    @overload
    def __call__(self, tree: Unseen, **how: Unpack[Plainly]) -> Iterator[Any]: ...
    @overload
    def __call__(
        self, tree: Level[Level[Level[PyTree[T]]]], **how: Unpack[Plainly]
    ) -> Iterator[T]: ...
    @overload
    def __call__(
        self, tree: Level[PyTree[T]], **how: Unpack[Plainly]
    ) -> Iterator[T]: ...
    @overload
    def __call__(self, tree: Hashed, **how: Unpack[Plainly]) -> Iterator[Any]: ...
    @overload
    def __call__(self, tree: Wide[T], **how: Unpack[Plainly]) -> Iterator[T]: ...
    @overload
    def __call__(
        self, tree: Any, is_leaf: IsLeaf = ..., **how: Unpack[Leafy]
    ) -> Iterator[Any]: ...


def as_iter(function: Callable[..., Any]) -> Iter:
    """Give a function this type."""
    return function


class LeavesWithPath(Protocol):
    """The leaves of a tree, each with its key path."""

    @overload
    def __call__(
        self, tree: Scalar, **how: Unpack[Plainly]
    ) -> list[tuple[KeyPath, Scalar]]: ...
    @overload
    def __call__(
        self, tree: Unseen, **how: Unpack[Plainly]
    ) -> list[tuple[KeyPath, Any]]: ...
    @overload
    def __call__(
        self, tree: Level[Level[Level[PyTree[T]]]], **how: Unpack[Plainly]
    ) -> list[tuple[KeyPath, T]]: ...
    @overload
    def __call__(
        self, tree: Level[PyTree[T]], **how: Unpack[Plainly]
    ) -> list[tuple[KeyPath, T]]: ...
    @overload
    def __call__(
        self, tree: Hashed, **how: Unpack[Plainly]
    ) -> list[tuple[KeyPath, Any]]: ...
    @overload
    def __call__(
        self, tree: Wide[T], **how: Unpack[Plainly]
    ) -> list[tuple[KeyPath, T]]: ...
    @overload
    def __call__(
        self, tree: Any, is_leaf: IsLeaf = ..., **how: Unpack[Leafy]
    ) -> list[tuple[KeyPath, Any]]: ...


def as_leaves_with_path(function: Callable[..., Any]) -> LeavesWithPath:
    """Give a function this type."""
    return function


class BroadcastPrefix(Protocol):
    """The leaves of a prefix, repeated."""

    @overload
    def __call__(
        self, prefix_tree: Scalar, full_tree: Any, **how: Unpack[Plainly]
    ) -> list[Scalar]: ...
    @overload
    def __call__(
        self, prefix_tree: Unseen, full_tree: Any, **how: Unpack[Plainly]
    ) -> list[Any]: ...
    @overload
    def __call__(
        self,
        prefix_tree: Level[Level[Level[PyTree[T]]]],
        full_tree: Any,
        **how: Unpack[Plainly],
    ) -> list[T]: ...
    @overload
    def __call__(
        self, prefix_tree: Level[PyTree[T]], full_tree: Any, **how: Unpack[Plainly]
    ) -> list[T]: ...
    @overload
    def __call__(
        self, prefix_tree: Hashed, full_tree: Any, **how: Unpack[Plainly]
    ) -> list[Any]: ...
    @overload
    def __call__(
        self, prefix_tree: Wide[T], full_tree: Any, **how: Unpack[Plainly]
    ) -> list[T]: ...
    @overload
    def __call__(
        self,
        prefix_tree: Any,
        full_tree: Any,
        is_leaf: IsLeaf = ...,
        **how: Unpack[Leafy],
    ) -> list[Any]: ...


def as_broadcast_prefix(function: Callable[..., Any]) -> BroadcastPrefix:
    """Give a function this type."""
    return function


class Flatten(Protocol):
    """The leaves and the structure of a tree."""

    @overload
    def __call__(
        self, tree: Node, **how: Unpack[Plainly]
    ) -> tuple[list[Any], PyTreeDef[Node]]: ...
    @overload
    def __call__(
        self, tree: ListOf[PyTree[T]] | list[PyTree[T]], **how: Unpack[Plainly]
    ) -> tuple[list[T], PyTreeDef[list[Any]]]: ...
    @overload
    def __call__(
        self, tree: DictOf[K, PyTree[T]] | dict[K, PyTree[T]], **how: Unpack[Plainly]
    ) -> tuple[list[T], PyTreeDef[dict[K, Any]]]: ...
    @overload
    def __call__(
        self, tree: tuple[PyTree[T], ...], **how: Unpack[Plainly]
    ) -> tuple[list[T], PyTreeDef[tuple[Any, ...]]]: ...
    @overload
    def __call__(
        self, tree: deque[T], **how: Unpack[Plainly]
    ) -> tuple[list[T], PyTreeDef[deque[Any]]]: ...
    @overload
    def __call__(
        self, tree: Sequence[PyTree[T]], **how: Unpack[Plainly]
    ) -> tuple[list[T], PyTreeDef[Sequence[Any]]]: ...
    @overload
    def __call__(
        self, tree: Mapping[K, PyTree[T]], **how: Unpack[Plainly]
    ) -> tuple[list[T], PyTreeDef[Mapping[K, Any]]]: ...
    @overload
    def __call__(
        self, tree: None, **how: Unpack[Plainly]
    ) -> tuple[list[Any], PyTreeDef[None]]: ...
    @overload
    def __call__(
        self, tree: Class, **how: Unpack[Plainly]
    ) -> tuple[list[Any], PyTreeDef[Class]]: ...
    @overload
    def __call__(
        self, tree: Wide[T], **how: Unpack[Plainly]
    ) -> tuple[list[T], PyTreeDef[Any]]: ...
    @overload
    def __call__(
        self, tree: Any, is_leaf: IsLeaf = ..., **how: Unpack[Leafy]
    ) -> tuple[list[Any], PyTreeDef[Any]]: ...


def as_flatten(function: Callable[..., Any]) -> Flatten:
    """Give a function this type."""
    return function


class FlattenWithPath(Protocol):
    """The leaves with their key paths, and the structure."""

    @overload
    def __call__(
        self, tree: Node, **how: Unpack[Plainly]
    ) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef[Node]]: ...
    @overload
    def __call__(
        self, tree: ListOf[PyTree[T]] | list[PyTree[T]], **how: Unpack[Plainly]
    ) -> tuple[list[tuple[KeyPath, T]], PyTreeDef[list[Any]]]: ...
    @overload
    def __call__(
        self, tree: DictOf[K, PyTree[T]] | dict[K, PyTree[T]], **how: Unpack[Plainly]
    ) -> tuple[list[tuple[KeyPath, T]], PyTreeDef[dict[K, Any]]]: ...
    @overload
    def __call__(
        self, tree: tuple[PyTree[T], ...], **how: Unpack[Plainly]
    ) -> tuple[list[tuple[KeyPath, T]], PyTreeDef[tuple[Any, ...]]]: ...
    @overload
    def __call__(
        self, tree: deque[T], **how: Unpack[Plainly]
    ) -> tuple[list[tuple[KeyPath, T]], PyTreeDef[deque[Any]]]: ...
    @overload
    def __call__(
        self, tree: Sequence[PyTree[T]], **how: Unpack[Plainly]
    ) -> tuple[list[tuple[KeyPath, T]], PyTreeDef[Sequence[Any]]]: ...
    @overload
    def __call__(
        self, tree: Mapping[K, PyTree[T]], **how: Unpack[Plainly]
    ) -> tuple[list[tuple[KeyPath, T]], PyTreeDef[Mapping[K, Any]]]: ...
    @overload
    def __call__(
        self, tree: None, **how: Unpack[Plainly]
    ) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef[None]]: ...
    @overload
    def __call__(
        self, tree: Class, **how: Unpack[Plainly]
    ) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef[Class]]: ...
    @overload
    def __call__(
        self, tree: Wide[T], **how: Unpack[Plainly]
    ) -> tuple[list[tuple[KeyPath, T]], PyTreeDef[Any]]: ...
    @overload
    def __call__(
        self, tree: Any, is_leaf: IsLeaf = ..., **how: Unpack[Leafy]
    ) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef[Any]]: ...


def as_flatten_with_path(function: Callable[..., Any]) -> FlattenWithPath:
    """Give a function this type."""
    return function


class Structure(Protocol):
    """The structure of a tree."""

    @overload
    def __call__(self, tree: Node, **how: Unpack[Plainly]) -> PyTreeDef[Node]: ...
    @overload
    def __call__(
        self, tree: list[Any], **how: Unpack[Plainly]
    ) -> PyTreeDef[list[Any]]: ...
    @overload
    def __call__(
        self, tree: dict[K, Any], **how: Unpack[Plainly]
    ) -> PyTreeDef[dict[K, Any]]: ...
    @overload
    def __call__(
        self, tree: tuple[Any, ...], **how: Unpack[Plainly]
    ) -> PyTreeDef[tuple[Any, ...]]: ...
    @overload
    def __call__(
        self, tree: deque[Any], **how: Unpack[Plainly]
    ) -> PyTreeDef[deque[Any]]: ...
    @overload
    def __call__(
        self, tree: Sequence[Any], **how: Unpack[Plainly]
    ) -> PyTreeDef[Sequence[Any]]: ...
    @overload
    def __call__(
        self, tree: Mapping[K, Any], **how: Unpack[Plainly]
    ) -> PyTreeDef[Mapping[K, Any]]: ...
    @overload
    def __call__(self, tree: None, **how: Unpack[Plainly]) -> PyTreeDef[None]: ...
    @overload
    def __call__(self, tree: Class, **how: Unpack[Plainly]) -> PyTreeDef[Class]: ...
    @overload
    def __call__(
        self, tree: Any, is_leaf: IsLeaf = ..., **how: Unpack[Leafy]
    ) -> PyTreeDef[Any]: ...


def as_structure(function: Callable[..., Any]) -> Structure:
    """Give a function this type."""
    return function


class ToFlat(Protocol):
    """A table of the leaves by name; empty containers stand in it, too."""

    @overload
    def __call__(
        self, tree: Scalar, sep: str = ..., *, strict: bool = ..., namespace: str = ...
    ) -> dict[str, Scalar]: ...
    @overload
    def __call__(
        self,
        tree: Level[Scalar],
        sep: str = ...,
        *,
        strict: bool = ...,
        namespace: str = ...,
    ) -> dict[str, Scalar]: ...
    @overload
    def __call__(
        self,
        tree: object,
        sep: str = ...,
        *,
        strict: bool = ...,
        is_leaf: IsLeaf = ...,
        namespace: str = ...,
    ) -> dict[str, Any]: ...


def as_to_flat(function: Callable[..., Any]) -> ToFlat:
    """Give a function this type."""
    return function
