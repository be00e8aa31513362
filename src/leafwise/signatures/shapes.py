"""What type checkers see of functions that give trees another shape.

Owns signatures alone; see `words`. They say: where the new shape is that of a
class or of a plain container, it is that one; else it is a `PyTree`, or anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Never, Protocol, TypeVar, overload

from typing_extensions import Unpack

from .words import (
    Class,
    Level,
    Nested2,
    Node,
    Opaque,
    Plainly,
    Scalar,
    Wide,
)


if TYPE_CHECKING:
    from ..core.keypath import KeyPath
    from ..core.node import IsLeaf
    from ..core.treedef import PyTreeDef
    from ..typing import PyTree

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
J = TypeVar("J")
K = TypeVar("K")
R = TypeVar("R")
S = TypeVar("S")
T = TypeVar("T")
Tree = TypeVar("Tree")


class BroadcastMap(Protocol):
    """A map over trees that are broadcast."""

    @overload
    def __call__(
        self, f: Callable[[Any], object], tree: Node, **how: Unpack[Plainly]
    ) -> Node: ...
    @overload
    def __call__(
        self, f: Callable[[T], R], tree: Sequence[PyTree[T]], **how: Unpack[Plainly]
    ) -> Sequence[PyTree[R]]: ...
    @overload
    def __call__(
        self, f: Callable[[T], R], tree: Mapping[K, PyTree[T]], **how: Unpack[Plainly]
    ) -> Mapping[K, PyTree[R]]: ...
    @overload
    def __call__(
        self, f: Callable[[Any], object], tree: Class, **how: Unpack[Plainly]
    ) -> Class: ...
    @overload
    def __call__(
        self, f: Callable[[T], R], tree: Wide[T], **how: Unpack[Plainly]
    ) -> PyTree[R]: ...
    @overload
    def __call__(
        self,
        f: Callable[[Any, Any], object],
        tree: Node,
        other: Any,
        /,
        **how: Unpack[Plainly],
    ) -> Node: ...
    @overload
    def __call__(
        self,
        f: Callable[[T, A], R],
        tree: Sequence[PyTree[T]],
        other: Wide[A] | Level[PyTree[A]],
        /,
        **how: Unpack[Plainly],
    ) -> Sequence[PyTree[R]]: ...
    @overload
    def __call__(
        self,
        f: Callable[[T, A], R],
        tree: Mapping[K, PyTree[T]],
        other: Wide[A] | Level[PyTree[A]],
        /,
        **how: Unpack[Plainly],
    ) -> Mapping[K, PyTree[R]]: ...
    @overload
    def __call__(
        self,
        f: Callable[[Any, A], R],
        tree: Class,
        other: Wide[A] | Level[PyTree[A]],
        /,
        **how: Unpack[Plainly],
    ) -> Any: ...
    @overload
    def __call__(
        self,
        f: Callable[[T, A], R],
        tree: Wide[T],
        other: Wide[A] | Level[PyTree[A]],
        /,
        **how: Unpack[Plainly],
    ) -> PyTree[R]: ...
    @overload
    def __call__(
        self,
        f: Callable[..., R],
        tree: Any,
        other: Any,
        third: Any,
        /,
        *rest: Any,
        **how: Unpack[Plainly],
    ) -> PyTree[R]: ...
    @overload
    def __call__(
        self,
        f: Callable[..., Any],
        tree: Any,
        *rest: Any,
        is_leaf: IsLeaf,
        is_leaf_takes_path: bool = ...,
        none_is_leaf: bool = ...,
        namespace: str = ...,
    ) -> Any: ...
    @overload
    def __call__(
        self,
        f: Callable[..., Any],
        tree: Any,
        *rest: Any,
        is_leaf: None = ...,
        is_leaf_takes_path: bool = ...,
        none_is_leaf: Literal[True],
        namespace: str = ...,
    ) -> Any: ...


def as_broadcast_map(function: Callable[..., Any]) -> BroadcastMap:
    """Give a function this type."""
    return function


class BroadcastMapWithPath(Protocol):
    """The same with key paths."""

    @overload
    def __call__(
        self, f: Callable[[KeyPath, Any], object], tree: Node, **how: Unpack[Plainly]
    ) -> Node: ...
    @overload
    def __call__(
        self,
        f: Callable[[KeyPath, T], R],
        tree: Sequence[PyTree[T]],
        **how: Unpack[Plainly],
    ) -> Sequence[PyTree[R]]: ...
    @overload
    def __call__(
        self,
        f: Callable[[KeyPath, T], R],
        tree: Mapping[K, PyTree[T]],
        **how: Unpack[Plainly],
    ) -> Mapping[K, PyTree[R]]: ...
    @overload
    def __call__(
        self, f: Callable[[KeyPath, Any], object], tree: Class, **how: Unpack[Plainly]
    ) -> Class: ...
    @overload
    def __call__(
        self, f: Callable[[KeyPath, T], R], tree: Wide[T], **how: Unpack[Plainly]
    ) -> PyTree[R]: ...
    @overload
    def __call__(
        self,
        f: Callable[[KeyPath, Any, Any], object],
        tree: Node,
        other: Any,
        /,
        **how: Unpack[Plainly],
    ) -> Node: ...
    @overload
    def __call__(
        self,
        f: Callable[[KeyPath, T, A], R],
        tree: Sequence[PyTree[T]],
        other: Wide[A] | Level[PyTree[A]],
        /,
        **how: Unpack[Plainly],
    ) -> Sequence[PyTree[R]]: ...
    @overload
    def __call__(
        self,
        f: Callable[[KeyPath, T, A], R],
        tree: Mapping[K, PyTree[T]],
        other: Wide[A] | Level[PyTree[A]],
        /,
        **how: Unpack[Plainly],
    ) -> Mapping[K, PyTree[R]]: ...
    @overload
    def __call__(
        self,
        f: Callable[[KeyPath, Any, A], R],
        tree: Class,
        other: Wide[A] | Level[PyTree[A]],
        /,
        **how: Unpack[Plainly],
    ) -> Any: ...
    @overload
    def __call__(
        self,
        f: Callable[[KeyPath, T, A], R],
        tree: Wide[T],
        other: Wide[A] | Level[PyTree[A]],
        /,
        **how: Unpack[Plainly],
    ) -> PyTree[R]: ...
    @overload
    def __call__(
        self,
        f: Callable[..., R],
        tree: Any,
        other: Any,
        third: Any,
        /,
        *rest: Any,
        **how: Unpack[Plainly],
    ) -> PyTree[R]: ...
    @overload
    def __call__(
        self,
        f: Callable[..., Any],
        tree: Any,
        *rest: Any,
        is_leaf: IsLeaf,
        is_leaf_takes_path: bool = ...,
        none_is_leaf: bool = ...,
        namespace: str = ...,
    ) -> Any: ...
    @overload
    def __call__(
        self,
        f: Callable[..., Any],
        tree: Any,
        *rest: Any,
        is_leaf: None = ...,
        is_leaf_takes_path: bool = ...,
        none_is_leaf: Literal[True],
        namespace: str = ...,
    ) -> Any: ...


def as_broadcast_map_with_path(function: Callable[..., Any]) -> BroadcastMapWithPath:
    """Give a function this type."""
    return function


class BroadcastTree(Protocol):
    """A prefix broadcast over a tree."""

    @overload
    def __call__(
        self, prefix_tree: object, full_tree: Node, **how: Unpack[Plainly]
    ) -> Node: ...
    @overload
    def __call__(
        self,
        prefix_tree: object,
        full_tree: Level[Opaque] | Nested2,
        **how: Unpack[Plainly],
    ) -> Any: ...
    @overload
    def __call__(
        self, prefix_tree: Scalar, full_tree: dict[K, T], **how: Unpack[Plainly]
    ) -> dict[K, Scalar]: ...
    @overload
    def __call__(
        self, prefix_tree: Scalar, full_tree: list[T], **how: Unpack[Plainly]
    ) -> list[Scalar]: ...
    @overload
    def __call__(
        self, prefix_tree: Scalar, full_tree: tuple[T, ...], **how: Unpack[Plainly]
    ) -> tuple[Scalar, ...]: ...
    @overload
    def __call__(
        self,
        prefix_tree: Level[PyTree[T]],
        full_tree: Sequence[Any],
        **how: Unpack[Plainly],
    ) -> Sequence[PyTree[T]]: ...
    @overload
    def __call__(
        self,
        prefix_tree: Level[PyTree[T]],
        full_tree: Mapping[K, Any],
        **how: Unpack[Plainly],
    ) -> Mapping[K, PyTree[T]]: ...
    @overload
    def __call__(
        self, prefix_tree: object, full_tree: Class, **how: Unpack[Plainly]
    ) -> Class: ...
    @overload
    def __call__(
        self, prefix_tree: Wide[T], full_tree: Wide[Any], **how: Unpack[Plainly]
    ) -> PyTree[T]: ...
    @overload
    def __call__(
        self,
        prefix_tree: Any,
        full_tree: Any,
        is_leaf: IsLeaf,
        *,
        is_leaf_takes_path: bool = ...,
        none_is_leaf: bool = ...,
        namespace: str = ...,
    ) -> Any: ...
    @overload
    def __call__(
        self,
        prefix_tree: Any,
        full_tree: Any,
        is_leaf: None = ...,
        *,
        is_leaf_takes_path: bool = ...,
        none_is_leaf: Literal[True],
        namespace: str = ...,
    ) -> Any: ...


def as_broadcast_tree(function: Callable[..., Any]) -> BroadcastTree:
    """Give a function this type."""
    return function


class BroadcastCommon(Protocol):
    """The leaves of two trees, repeated."""

    @overload
    def __call__(
        self,
        tree: Opaque | Level[Opaque] | Level[Level[Opaque]],
        other: object,
        **how: Unpack[Plainly],
    ) -> tuple[list[Any], list[Any]]: ...
    @overload
    def __call__(
        self, tree: Level[PyTree[T]], other: Level[PyTree[S]], **how: Unpack[Plainly]
    ) -> tuple[list[T], list[S]]: ...
    @overload
    def __call__(
        self,
        tree: object,
        other: object,
        is_leaf: IsLeaf = ...,
        *,
        is_leaf_takes_path: bool = ...,
        none_is_leaf: bool = ...,
        namespace: str = ...,
    ) -> tuple[list[Any], list[Any]]: ...


def as_broadcast_common(function: Callable[..., Any]) -> BroadcastCommon:
    """Give a function this type."""
    return function


class Transpose(Protocol):
    """A tree of trees turned inside out."""

    @overload
    def __call__(
        self,
        outer_treedef: PyTreeDef,
        inner_treedef: PyTreeDef[Never] | None,
        tree: Any,
        is_leaf: IsLeaf = ...,
        *,
        is_leaf_takes_path: bool = ...,
    ) -> Any: ...
    @overload
    def __call__(
        self,
        outer_treedef: PyTreeDef,
        inner_treedef: PyTreeDef[Node] | None,
        tree: Any,
        is_leaf: IsLeaf = ...,
        *,
        is_leaf_takes_path: bool = ...,
    ) -> Node: ...
    @overload
    def __call__(
        self,
        outer_treedef: PyTreeDef[Tree],
        inner_treedef: PyTreeDef[list[Any]],
        tree: Any,
        is_leaf: IsLeaf = ...,
        *,
        is_leaf_takes_path: bool = ...,
    ) -> list[Tree]: ...
    @overload
    def __call__(
        self,
        outer_treedef: PyTreeDef[Tree],
        inner_treedef: PyTreeDef[dict[K, Any]],
        tree: Any,
        is_leaf: IsLeaf = ...,
        *,
        is_leaf_takes_path: bool = ...,
    ) -> dict[K, Any]: ...
    @overload
    def __call__(
        self,
        outer_treedef: PyTreeDef[Tree],
        inner_treedef: PyTreeDef[tuple[Any, ...]],
        tree: Any,
        is_leaf: IsLeaf = ...,
        *,
        is_leaf_takes_path: bool = ...,
    ) -> tuple[Any, ...]: ...
    @overload
    def __call__(
        self,
        outer_treedef: PyTreeDef,
        inner_treedef: PyTreeDef | None,
        tree: Any,
        is_leaf: IsLeaf = ...,
        *,
        is_leaf_takes_path: bool = ...,
    ) -> Any: ...


def as_transpose(function: Callable[..., Any]) -> Transpose:
    """Give a function this type."""
    return function


class TransposeMap(Protocol):
    """A map whose results are transposed."""

    @overload
    def __call__(
        self,
        f: Callable[[Any], tuple[object, object]],
        tree: Node,
        *,
        inner_treedef: PyTreeDef | None = ...,
        **how: Unpack[Plainly],
    ) -> tuple[Node, Node]: ...
    @overload
    def __call__(
        self,
        f: Callable[[Any], tuple[object, object, object]],
        tree: Node,
        *,
        inner_treedef: PyTreeDef | None = ...,
        **how: Unpack[Plainly],
    ) -> tuple[Node, Node, Node]: ...
    @overload
    def __call__(
        self,
        f: Callable[..., Any],
        tree: Nested2,
        *rest: Any,
        inner_treedef: PyTreeDef | None = ...,
        **how: Unpack[Plainly],
    ) -> Any: ...
    @overload
    def __call__(
        self,
        f: Callable[[T], tuple[A, B]],
        tree: list[T],
        *,
        inner_treedef: PyTreeDef | None = ...,
        **how: Unpack[Plainly],
    ) -> tuple[list[A], list[B]]: ...
    @overload
    def __call__(
        self,
        f: Callable[[T], tuple[A, B, C]],
        tree: list[T],
        *,
        inner_treedef: PyTreeDef | None = ...,
        **how: Unpack[Plainly],
    ) -> tuple[list[A], list[B], list[C]]: ...
    @overload
    def __call__(
        self,
        f: Callable[[T], dict[J, A]],
        tree: list[T],
        *,
        inner_treedef: PyTreeDef | None = ...,
        **how: Unpack[Plainly],
    ) -> dict[J, list[A]]: ...
    @overload
    def __call__(
        self,
        f: Callable[[T], tuple[A, B]],
        tree: dict[K, T],
        *,
        inner_treedef: PyTreeDef | None = ...,
        **how: Unpack[Plainly],
    ) -> tuple[dict[K, A], dict[K, B]]: ...
    @overload
    def __call__(
        self,
        f: Callable[[T], tuple[A, B, C]],
        tree: dict[K, T],
        *,
        inner_treedef: PyTreeDef | None = ...,
        **how: Unpack[Plainly],
    ) -> tuple[dict[K, A], dict[K, B], dict[K, C]]: ...
    @overload
    def __call__(
        self,
        f: Callable[[T], dict[J, A]],
        tree: dict[K, T],
        *,
        inner_treedef: PyTreeDef | None = ...,
        **how: Unpack[Plainly],
    ) -> dict[J, dict[K, A]]: ...
    @overload
    def __call__(
        self,
        f: Callable[[T], tuple[A, B]],
        tree: tuple[T, ...],
        *,
        inner_treedef: PyTreeDef | None = ...,
        **how: Unpack[Plainly],
    ) -> tuple[tuple[A, ...], tuple[B, ...]]: ...
    @overload
    def __call__(
        self,
        f: Callable[[T], tuple[A, B, C]],
        tree: tuple[T, ...],
        *,
        inner_treedef: PyTreeDef | None = ...,
        **how: Unpack[Plainly],
    ) -> tuple[tuple[A, ...], tuple[B, ...], tuple[C, ...]]: ...
    @overload
    def __call__(
        self,
        f: Callable[[T], dict[J, A]],
        tree: tuple[T, ...],
        *,
        inner_treedef: PyTreeDef | None = ...,
        **how: Unpack[Plainly],
    ) -> dict[J, tuple[A, ...]]: ...
    @overload
    def __call__(
        self,
        f: Callable[..., Any],
        tree: Any,
        *rest: Any,
        inner_treedef: PyTreeDef | None = ...,
        is_leaf: IsLeaf = ...,
        is_leaf_takes_path: bool = ...,
        none_is_leaf: bool = ...,
        namespace: str = ...,
    ) -> Any: ...


def as_transpose_map(function: Callable[..., Any]) -> TransposeMap:
    """Give a function this type."""
    return function


class TransposeMapWithPath(Protocol):
    """The same with key paths."""

    @overload
    def __call__(
        self,
        f: Callable[[KeyPath, Any], tuple[object, object]],
        tree: Node,
        *,
        inner_treedef: PyTreeDef | None = ...,
        **how: Unpack[Plainly],
    ) -> tuple[Node, Node]: ...
    @overload
    def __call__(
        self,
        f: Callable[[KeyPath, Any], tuple[object, object, object]],
        tree: Node,
        *,
        inner_treedef: PyTreeDef | None = ...,
        **how: Unpack[Plainly],
    ) -> tuple[Node, Node, Node]: ...
    @overload
    def __call__(
        self,
        f: Callable[..., Any],
        tree: Nested2,
        *rest: Any,
        inner_treedef: PyTreeDef | None = ...,
        **how: Unpack[Plainly],
    ) -> Any: ...
    @overload
    def __call__(
        self,
        f: Callable[[KeyPath, T], tuple[A, B]],
        tree: list[T],
        *,
        inner_treedef: PyTreeDef | None = ...,
        **how: Unpack[Plainly],
    ) -> tuple[list[A], list[B]]: ...
    @overload
    def __call__(
        self,
        f: Callable[[KeyPath, T], tuple[A, B, C]],
        tree: list[T],
        *,
        inner_treedef: PyTreeDef | None = ...,
        **how: Unpack[Plainly],
    ) -> tuple[list[A], list[B], list[C]]: ...
    @overload
    def __call__(
        self,
        f: Callable[[KeyPath, T], dict[J, A]],
        tree: list[T],
        *,
        inner_treedef: PyTreeDef | None = ...,
        **how: Unpack[Plainly],
    ) -> dict[J, list[A]]: ...
    @overload
    def __call__(
        self,
        f: Callable[[KeyPath, T], tuple[A, B]],
        tree: dict[K, T],
        *,
        inner_treedef: PyTreeDef | None = ...,
        **how: Unpack[Plainly],
    ) -> tuple[dict[K, A], dict[K, B]]: ...
    @overload
    def __call__(
        self,
        f: Callable[[KeyPath, T], tuple[A, B, C]],
        tree: dict[K, T],
        *,
        inner_treedef: PyTreeDef | None = ...,
        **how: Unpack[Plainly],
    ) -> tuple[dict[K, A], dict[K, B], dict[K, C]]: ...
    @overload
    def __call__(
        self,
        f: Callable[[KeyPath, T], dict[J, A]],
        tree: dict[K, T],
        *,
        inner_treedef: PyTreeDef | None = ...,
        **how: Unpack[Plainly],
    ) -> dict[J, dict[K, A]]: ...
    @overload
    def __call__(
        self,
        f: Callable[[KeyPath, T], tuple[A, B]],
        tree: tuple[T, ...],
        *,
        inner_treedef: PyTreeDef | None = ...,
        **how: Unpack[Plainly],
    ) -> tuple[tuple[A, ...], tuple[B, ...]]: ...
    @overload
    def __call__(
        self,
        f: Callable[[KeyPath, T], tuple[A, B, C]],
        tree: tuple[T, ...],
        *,
        inner_treedef: PyTreeDef | None = ...,
        **how: Unpack[Plainly],
    ) -> tuple[tuple[A, ...], tuple[B, ...], tuple[C, ...]]: ...
    @overload
    def __call__(
        self,
        f: Callable[[KeyPath, T], dict[J, A]],
        tree: tuple[T, ...],
        *,
        inner_treedef: PyTreeDef | None = ...,
        **how: Unpack[Plainly],
    ) -> dict[J, tuple[A, ...]]: ...
    @overload
    def __call__(
        self,
        f: Callable[..., Any],
        tree: Any,
        *rest: Any,
        inner_treedef: PyTreeDef | None = ...,
        is_leaf: IsLeaf = ...,
        is_leaf_takes_path: bool = ...,
        none_is_leaf: bool = ...,
        namespace: str = ...,
    ) -> Any: ...


def as_transpose_map_with_path(function: Callable[..., Any]) -> TransposeMapWithPath:
    """Give a function this type."""
    return function


class Unzip(Protocol):
    """A tree of tuples taken apart."""

    @overload
    def __call__(
        self, tree: list[tuple[A, B]], n: Literal[2], **how: Unpack[Plainly]
    ) -> tuple[list[A], list[B]]: ...
    @overload
    def __call__(
        self, tree: dict[K, tuple[A, B]], n: Literal[2], **how: Unpack[Plainly]
    ) -> tuple[dict[K, A], dict[K, B]]: ...
    @overload
    def __call__(
        self, tree: list[tuple[A, B, C]], n: Literal[3], **how: Unpack[Plainly]
    ) -> tuple[list[A], list[B], list[C]]: ...
    @overload
    def __call__(
        self, tree: dict[K, tuple[A, B, C]], n: Literal[3], **how: Unpack[Plainly]
    ) -> tuple[dict[K, A], dict[K, B], dict[K, C]]: ...
    @overload
    def __call__(
        self,
        tree: Any,
        n: int,
        *,
        is_leaf: IsLeaf = ...,
        is_leaf_takes_path: bool = ...,
        none_is_leaf: bool = ...,
        namespace: str = ...,
    ) -> tuple[Any, ...]: ...


def as_unzip(function: Callable[..., Any]) -> Unzip:
    """Give a function this type."""
    return function
