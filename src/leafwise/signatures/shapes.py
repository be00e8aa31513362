"""What type checkers see of functions that give trees another shape.

Owns signatures alone; see `words`. They say: where the new shape is that of a
class or of a plain container, it is that one; else it is a `PyTree`, or anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    Never,
    Protocol,
    TypeAlias,
    TypedDict,
    TypeVar,
    overload,
)

from typing_extensions import Unpack

from .words import (
    Anyhow,
    Class,
    Leafy,
    Level,
    Nested2,
    Node,
    Opaque,
    Plainly,
    Scalar,
    Unseen,
    Wide,
)


if TYPE_CHECKING:
    from ..core.node import IsLeaf
    from ..core.treedef import PyTreeDef
    from ..typing import PyTree

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
K = TypeVar("K")
S = TypeVar("S")
T = TypeVar("T")
Tree = TypeVar("Tree")
Numbers: TypeAlias = "complex | Level[complex] | Level[Level[complex]]"


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
        is_leaf: IsLeaf = ...,
        **how: Unpack[Leafy],
    ) -> Any: ...


def as_broadcast_tree(function: Callable[..., Any]) -> BroadcastTree:
    """Give a function this type."""
    return function


class BroadcastCommon(Protocol):
    """The leaves of two trees, repeated."""

    @overload
    def __call__(
        self, tree: Unseen, other: object, **how: Unpack[Plainly]
    ) -> tuple[list[Any], list[Any]]: ...
    @overload
    def __call__(
        self, tree: Level[PyTree[T]], other: Level[PyTree[S]], **how: Unpack[Plainly]
    ) -> tuple[list[T], list[S]]: ...
    @overload
    def __call__(
        self, tree: object, other: object, is_leaf: IsLeaf = ..., **how: Unpack[Leafy]
    ) -> tuple[list[Any], list[Any]]: ...


def as_broadcast_common(function: Callable[..., Any]) -> BroadcastCommon:
    """Give a function this type."""
    return function


class BroadcastTrees(Protocol):
    """Two trees broadcast over each other."""

    @overload
    def __call__(
        self, tree: Node, other: Node, **how: Unpack[Plainly]
    ) -> tuple[Node, Node]: ...
    @overload
    def __call__(
        self, tree: Level[PyTree[T]], other: Level[PyTree[S]], **how: Unpack[Plainly]
    ) -> tuple[PyTree[T], PyTree[S]]: ...
    @overload
    def __call__(
        self, tree: object, other: object, is_leaf: IsLeaf = ..., **how: Unpack[Leafy]
    ) -> tuple[Any, Any]: ...


def as_broadcast_trees(function: Callable[..., Any]) -> BroadcastTrees:
    """Give a function this type."""
    return function


class Transposing(TypedDict, total=False):
    """The options of a transposition."""

    is_leaf_takes_path: bool


class Transpose(Protocol):
    """A tree of trees turned inside out."""

    @overload
    def __call__(
        self,
        outer_treedef: PyTreeDef,
        inner_treedef: PyTreeDef[Never] | None,
        tree: Any,
        is_leaf: IsLeaf = ...,
        **how: Unpack[Transposing],
    ) -> Any: ...
    @overload
    def __call__(
        self,
        outer_treedef: PyTreeDef,
        inner_treedef: PyTreeDef[Node] | None,
        tree: Any,
        is_leaf: IsLeaf = ...,
        **how: Unpack[Transposing],
    ) -> Node: ...
    @overload
    def __call__(
        self,
        outer_treedef: PyTreeDef[Tree],
        inner_treedef: PyTreeDef[list[Any]],
        tree: Any,
        is_leaf: IsLeaf = ...,
        **how: Unpack[Transposing],
    ) -> list[Tree]: ...
    @overload
    def __call__(
        self,
        outer_treedef: PyTreeDef[Tree],
        inner_treedef: PyTreeDef[dict[K, Any]],
        tree: Any,
        is_leaf: IsLeaf = ...,
        **how: Unpack[Transposing],
    ) -> dict[K, Any]: ...
    @overload
    def __call__(
        self,
        outer_treedef: PyTreeDef[Tree],
        inner_treedef: PyTreeDef[tuple[Any, ...]],
        tree: Any,
        is_leaf: IsLeaf = ...,
        **how: Unpack[Transposing],
    ) -> tuple[Any, ...]: ...
    @overload
    def __call__(
        self,
        outer_treedef: PyTreeDef,
        inner_treedef: PyTreeDef | None,
        tree: Any,
        is_leaf: IsLeaf = ...,
        **how: Unpack[Transposing],
    ) -> Any: ...


def as_transpose(function: Callable[..., Any]) -> Transpose:
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
    def __call__(self, tree: Any, n: int, **how: Unpack[Anyhow]) -> tuple[Any, ...]: ...


def as_unzip(function: Callable[..., Any]) -> Unzip:
    """Give a function this type."""
    return function


class Zip(Protocol):
    """Trees made into one of tuples."""

    @overload
    def __call__(
        self, trees: Iterable[list[Scalar]], **how: Unpack[Plainly]
    ) -> list[tuple[Scalar, ...]]: ...
    @overload
    def __call__(
        self, trees: Iterable[dict[K, Scalar]], **how: Unpack[Plainly]
    ) -> dict[K, tuple[Scalar, ...]]: ...
    @overload
    def __call__(self, trees: Iterable[Any], **how: Unpack[Anyhow]) -> Any: ...


def as_zip(function: Callable[..., Any]) -> Zip:
    """Give a function this type."""
    return function


class Join(Protocol):
    """Trees of arrays made into one; numbers become arrays."""

    @overload
    def __call__(
        self, trees: Iterable[Numbers], axis: object = ..., **how: Unpack[Anyhow]
    ) -> Any: ...
    @overload
    def __call__(
        self, trees: Iterable[T], axis: object = ..., **how: Unpack[Anyhow]
    ) -> T: ...


def as_join(function: Callable[..., Any]) -> Join:
    """Give a function this type."""
    return function
