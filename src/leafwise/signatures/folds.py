"""What type checkers see of functions that fold, and that look at one level.

Owns signatures alone; see `words`. They say: what is made of the leaves of a
container of `T` has the type of a leaf, or of what the function returns.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

from typing_extensions import Unpack

from .words import (
    Anyhow,
    ByLeaf,
    Class,
    Hashed,
    Leafy,
    Level,
    Node,
    Plainly,
    Scalar,
    Simply,
    Strictly,
    Unseen,
    Wide,
    WithNone,
)


if TYPE_CHECKING:
    from concurrent.futures import Future

    from ..core.keypath import KeyPath
    from ..core.node import IsLeaf
    from ..typing import PyTree

K = TypeVar("K")
R = TypeVar("R")
S = TypeVar("S")
T = TypeVar("T")
Tree = TypeVar("Tree")


class Reduce(Protocol):
    """The leaves folded from left to right."""

    @overload
    def __call__(
        self,
        function: Callable[[T, T], T],
        tree: Level[PyTree[T]],
        **how: Unpack[Plainly],
    ) -> T: ...
    @overload
    def __call__(
        self,
        function: Callable[[S, T], S],
        tree: Level[PyTree[T]],
        initializer: S,
        **how: Unpack[Plainly],
    ) -> S: ...
    @overload
    def __call__(
        self, function: Callable[[Any, Any], Any], tree: Hashed, **how: Unpack[Plainly]
    ) -> Any: ...
    @overload
    def __call__(
        self,
        function: Callable[[S, Any], S],
        tree: Hashed,
        initializer: S,
        **how: Unpack[Plainly],
    ) -> S: ...
    @overload
    def __call__(
        self, function: Callable[[T, T], T], tree: Wide[T], **how: Unpack[Plainly]
    ) -> T: ...
    @overload
    def __call__(
        self,
        function: Callable[[S, T], S],
        tree: Wide[T],
        initializer: S,
        **how: Unpack[Plainly],
    ) -> S: ...
    @overload
    def __call__(
        self,
        function: Callable[[S, Any], S],
        tree: Any,
        initializer: S,
        is_leaf: IsLeaf,
        **how: Unpack[Leafy],
    ) -> S: ...
    @overload
    def __call__(
        self,
        function: Callable[[S, Any], S],
        tree: Any,
        initializer: S,
        **how: Unpack[WithNone],
    ) -> S: ...
    @overload
    def __call__(
        self, function: Callable[[Any, Any], Any], tree: Any, **how: Unpack[ByLeaf]
    ) -> Any: ...
    @overload
    def __call__(
        self, function: Callable[[Any, Any], Any], tree: Any, **how: Unpack[WithNone]
    ) -> Any: ...


def as_reduce(function: Callable[..., Any]) -> Reduce:
    """Give a function this type."""
    return function


class ReduceAssociative(Protocol):
    """The leaves folded by halves."""

    @overload
    def __call__(
        self,
        operation: Callable[[T, T], T],
        tree: Level[PyTree[T]],
        **how: Unpack[Plainly],
    ) -> T: ...
    @overload
    def __call__(
        self,
        operation: Callable[[T, T], T],
        tree: Level[PyTree[T]],
        *,
        identity: S,
        **how: Unpack[Plainly],
    ) -> T | S: ...
    @overload
    def __call__(
        self,
        operation: Callable[[Any, Any], Any],
        tree: Hashed,
        *,
        identity: Any = ...,
        **how: Unpack[Plainly],
    ) -> Any: ...
    @overload
    def __call__(
        self, operation: Callable[[T, T], T], tree: Wide[T], **how: Unpack[Plainly]
    ) -> T: ...
    @overload
    def __call__(
        self,
        operation: Callable[[T, T], T],
        tree: Wide[T],
        *,
        identity: S,
        **how: Unpack[Plainly],
    ) -> T | S: ...
    @overload
    def __call__(
        self,
        operation: Callable[[Any, Any], Any],
        tree: Any,
        *,
        identity: Any = ...,
        **how: Unpack[ByLeaf],
    ) -> Any: ...
    @overload
    def __call__(
        self,
        operation: Callable[[Any, Any], Any],
        tree: Any,
        *,
        identity: Any = ...,
        **how: Unpack[WithNone],
    ) -> Any: ...


def as_reduce_associative(function: Callable[..., Any]) -> ReduceAssociative:
    """Give a function this type."""
    return function


class Sum(Protocol):
    """The leaves added up."""

    @overload
    def __call__(
        self, tree: Unseen, start: Any = ..., **how: Unpack[Plainly]
    ) -> Any: ...
    @overload
    def __call__(
        self, tree: Level[PyTree[T]], start: T, **how: Unpack[Plainly]
    ) -> T: ...
    @overload
    def __call__(self, tree: Level[PyTree[T]], **how: Unpack[Plainly]) -> T | int: ...
    @overload
    def __call__(
        self, tree: Hashed, start: Any = ..., **how: Unpack[Plainly]
    ) -> Any: ...
    @overload
    def __call__(self, tree: Wide[T], start: T, **how: Unpack[Plainly]) -> T: ...
    @overload
    def __call__(self, tree: Wide[T], **how: Unpack[Plainly]) -> T | int: ...
    @overload
    def __call__(self, tree: Any, start: Any = ..., **how: Unpack[Anyhow]) -> Any: ...


def as_sum(function: Callable[..., Any]) -> Sum:
    """Give a function this type."""
    return function


class Extreme(Protocol):
    """The largest or smallest leaf."""

    @overload
    def __call__(
        self,
        tree: Unseen,
        *,
        default: Any = ...,
        key: Callable[[Any], Any] | None = ...,
        **how: Unpack[Plainly],
    ) -> Any: ...
    @overload
    def __call__(
        self,
        tree: Level[PyTree[T]],
        *,
        key: Callable[[T], Any] | None = ...,
        **how: Unpack[Plainly],
    ) -> T: ...
    @overload
    def __call__(
        self,
        tree: Level[PyTree[T]],
        *,
        default: S,
        key: Callable[[T], Any] | None = ...,
        **how: Unpack[Plainly],
    ) -> T | S: ...
    @overload
    def __call__(
        self,
        tree: Hashed,
        *,
        default: Any = ...,
        key: Callable[[Any], Any] | None = ...,
        **how: Unpack[Plainly],
    ) -> Any: ...
    @overload
    def __call__(
        self,
        tree: Wide[T],
        *,
        key: Callable[[T], Any] | None = ...,
        **how: Unpack[Plainly],
    ) -> T: ...
    @overload
    def __call__(
        self,
        tree: Wide[T],
        *,
        default: S,
        key: Callable[[T], Any] | None = ...,
        **how: Unpack[Plainly],
    ) -> T | S: ...
    @overload
    def __call__(
        self,
        tree: Any,
        *,
        default: Any = ...,
        key: Callable[[Any], Any] | None = ...,
        **how: Unpack[ByLeaf],
    ) -> Any: ...
    @overload
    def __call__(
        self,
        tree: Any,
        *,
        default: Any = ...,
        key: Callable[[Any], Any] | None = ...,
        **how: Unpack[WithNone],
    ) -> Any: ...


def as_extreme(function: Callable[..., Any]) -> Extreme:
    """Give a function this type."""
    return function


class Children(Protocol):
    """The direct children of a node."""

    @overload
    def __call__(self, tree: Sequence[T], **how: Unpack[Plainly]) -> list[T]: ...
    @overload
    def __call__(self, tree: Mapping[Any, T], **how: Unpack[Plainly]) -> list[T]: ...
    @overload
    def __call__(self, tree: object, **how: Unpack[Plainly]) -> list[Any]: ...
    @overload
    def __call__(
        self, tree: Any, is_leaf: IsLeaf = ..., **how: Unpack[Leafy]
    ) -> list[Any]: ...


def as_children(function: Callable[..., Any]) -> Children:
    """Give a function this type."""
    return function


class MapOnly(Protocol):
    """A map over the leaves of some types."""

    @overload
    def __call__(
        self,
        type_or_types: IsLeaf,
        f: Callable[[Any], object],
        tree: Node,
        **how: Unpack[Anyhow],
    ) -> Node: ...
    @overload
    def __call__(
        self,
        type_or_types: type[T],
        f: Callable[[T], T],
        tree: Tree,
        **how: Unpack[Anyhow],
    ) -> Tree: ...
    @overload
    def __call__(
        self,
        type_or_types: IsLeaf,
        f: Callable[[Any], object],
        tree: Class,
        **how: Unpack[Anyhow],
    ) -> Class: ...
    @overload
    def __call__(
        self,
        type_or_types: IsLeaf,
        f: Callable[[Any], Any],
        tree: Any,
        **how: Unpack[Anyhow],
    ) -> Any: ...


def as_map_only(function: Callable[..., Any]) -> MapOnly:
    """Give a function this type."""
    return function


class CollectingMap(Protocol):
    """A map that puts exceptions in place of results."""

    @overload
    def __call__(
        self, f: Callable[[Scalar], R], tree: list[Scalar], **how: Unpack[Strictly]
    ) -> list[R | Exception]: ...
    @overload
    def __call__(
        self, f: Callable[[Scalar], R], tree: dict[K, Scalar], **how: Unpack[Strictly]
    ) -> dict[K, R | Exception]: ...
    @overload
    def __call__(
        self,
        f: Callable[..., Any],
        tree: Any,
        *rest: Any,
        is_leaf: IsLeaf = ...,
        is_leaf_takes_path: bool = ...,
        none_is_leaf: bool = ...,
        namespace: str = ...,
        strict: bool = ...,
    ) -> Any: ...


class CollectingMapWithPath(Protocol):
    """A map with paths that puts exceptions in place of results."""

    @overload
    def __call__(
        self,
        f: Callable[[KeyPath, Scalar], R],
        tree: list[Scalar],
        **how: Unpack[Strictly],
    ) -> list[R | Exception]: ...
    @overload
    def __call__(
        self,
        f: Callable[[KeyPath, Scalar], R],
        tree: dict[K, Scalar],
        **how: Unpack[Strictly],
    ) -> dict[K, R | Exception]: ...
    @overload
    def __call__(
        self,
        f: Callable[..., Any],
        tree: Any,
        *rest: Any,
        is_leaf: IsLeaf = ...,
        is_leaf_takes_path: bool = ...,
        none_is_leaf: bool = ...,
        namespace: str = ...,
        strict: bool = ...,
    ) -> Any: ...


class CollectingMapOnly(Protocol):
    """A map of some leaves that puts exceptions in place of results."""

    def __call__(
        self,
        type_or_types: IsLeaf,
        f: Callable[[Any], Any],
        tree: Any,
        *,
        is_leaf: IsLeaf = ...,
        is_leaf_takes_path: bool = ...,
        none_is_leaf: bool = ...,
        namespace: str = ...,
    ) -> Any: ...


class Collecting(Protocol):
    """What `parallel` returns if exceptions are collected: they are leaves, too."""

    tree_map: CollectingMap
    tree_map_with_path: CollectingMapWithPath
    tree_map_only: CollectingMapOnly

    def _run(self, f: Any, columns: Any, paths: Any) -> list[Any]: ...


class ReplaceNones(Protocol):
    """Each None of a tree replaced."""

    @overload
    def __call__(
        self, sentinel: object, tree: Node, *, namespace: str = ...
    ) -> Node: ...
    @overload
    def __call__(
        self, sentinel: S, tree: list[T | None], *, namespace: str = ...
    ) -> list[T | S]: ...
    @overload
    def __call__(
        self, sentinel: S, tree: dict[K, T | None], *, namespace: str = ...
    ) -> dict[K, T | S]: ...
    @overload
    def __call__(
        self, sentinel: S, tree: Sequence[PyTree[T]], *, namespace: str = ...
    ) -> Sequence[PyTree[T | S]]: ...
    @overload
    def __call__(
        self, sentinel: S, tree: Mapping[K, PyTree[T]], *, namespace: str = ...
    ) -> Mapping[K, PyTree[T | S]]: ...
    @overload
    def __call__(self, sentinel: S, tree: None, *, namespace: str = ...) -> S: ...
    @overload
    def __call__(
        self, sentinel: object, tree: Class, *, namespace: str = ...
    ) -> Class: ...
    @overload
    def __call__(
        self, sentinel: S, tree: Wide[T], *, namespace: str = ...
    ) -> PyTree[T | S]: ...
    @overload
    def __call__(
        self,
        sentinel: Any,
        tree: Any,
        *,
        is_leaf: IsLeaf,
        is_leaf_takes_path: bool = ...,
        namespace: str = ...,
    ) -> Any: ...


def as_replace_nones(function: Callable[..., Any]) -> ReplaceNones:
    """Give a function this type."""
    return function


class Gather(Protocol):
    """The pending leaves of a tree awaited."""

    @overload
    def __call__(
        self, tree: list[Awaitable[T] | Future[T]], **how: Unpack[Simply]
    ) -> Coroutine[Any, Any, list[T]]: ...
    @overload
    def __call__(
        self, tree: dict[K, Awaitable[T] | Future[T]], **how: Unpack[Simply]
    ) -> Coroutine[Any, Any, dict[K, T]]: ...
    @overload
    def __call__(
        self, tree: tuple[Awaitable[T] | Future[T], ...], **how: Unpack[Simply]
    ) -> Coroutine[Any, Any, tuple[T, ...]]: ...
    @overload
    def __call__(
        self, tree: Any, **how: Unpack[Simply]
    ) -> Coroutine[Any, Any, Any]: ...


def as_gather(function: Callable[..., Any]) -> Gather:
    """Give a function this type."""
    return function
