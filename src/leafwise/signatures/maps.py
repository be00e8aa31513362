"""What type checkers see of functions that map.

Owns signatures alone; see `words`. They say: a map over containers of `T` gives the
same containers of what the function returns; over a class it gives that class, which is
right as long as the function returns what the class has for leaves.

What `F1`, `F2` and `F3` are is all that functions with key paths have of their own, so
that `path_maps` is made from this module, by `tests/typing/test_path_maps.py`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

from typing_extensions import TypeAliasType, Unpack

from .words import (
    Anyhow,
    AnyhowStrictly,
    ByLeaf,
    ByLeafStrictly,
    Class,
    Level,
    Nested2,
    Nested3,
    Node,
    Nodes,
    Plainly,
    Scalar,
    Strictly,
    Wide,
    WithNone,
    WithNoneStrictly,
)


if TYPE_CHECKING:
    from ..core.treedef import PyTreeDef
    from ..typing import PyTree

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
I = TypeVar("I")  # noqa: E741  # the innermost key
J = TypeVar("J")
K = TypeVar("K")
R = TypeVar("R")
T = TypeVar("T")
Tree = TypeVar("Tree")

F1 = TypeAliasType("F1", "Callable[[T], R]", type_params=(T, R))
F2 = TypeAliasType("F2", "Callable[[T, A], R]", type_params=(T, A, R))
F3 = TypeAliasType("F3", "Callable[[T, A, B], R]", type_params=(T, A, B, R))
"""Functions of the leaves of one tree, of two, of three."""


class Map(Protocol):
    """A map over trees of one structure."""

    @overload
    def __call__(  # type: ignore[overload-overlap]  # as a list of nodes is a list
        self, f: F1[Any, object], tree: Nodes, **how: Unpack[AnyhowStrictly]
    ) -> Nodes: ...
    @overload
    def __call__(
        self, f: F1[T, R], tree: dict[K, dict[J, dict[I, T]]], **how: Unpack[Strictly]
    ) -> dict[K, dict[J, dict[I, R]]]: ...
    @overload
    def __call__(
        self, f: F1[T, R], tree: dict[K, dict[J, list[T]]], **how: Unpack[Strictly]
    ) -> dict[K, dict[J, list[R]]]: ...
    @overload
    def __call__(
        self, f: F1[T, R], tree: dict[K, list[dict[J, T]]], **how: Unpack[Strictly]
    ) -> dict[K, list[dict[J, R]]]: ...
    @overload
    def __call__(
        self, f: F1[T, R], tree: list[dict[K, dict[J, T]]], **how: Unpack[Strictly]
    ) -> list[dict[K, dict[J, R]]]: ...
    @overload
    def __call__(self, f: F1[T, R], tree: Nested3, **how: Unpack[Strictly]) -> Any: ...
    @overload
    def __call__(
        self, f: F1[T, R], tree: list[list[T]], **how: Unpack[Strictly]
    ) -> list[list[R]]: ...
    @overload
    def __call__(
        self, f: F1[T, R], tree: list[tuple[T, ...]], **how: Unpack[Strictly]
    ) -> list[tuple[R, ...]]: ...
    @overload
    def __call__(
        self, f: F1[T, R], tree: list[dict[K, T]], **how: Unpack[Strictly]
    ) -> list[dict[K, R]]: ...
    @overload
    def __call__(
        self, f: F1[T, R], tree: tuple[list[T], ...], **how: Unpack[Strictly]
    ) -> tuple[list[R], ...]: ...
    @overload
    def __call__(
        self, f: F1[T, R], tree: tuple[tuple[T, ...], ...], **how: Unpack[Strictly]
    ) -> tuple[tuple[R, ...], ...]: ...
    @overload
    def __call__(
        self, f: F1[T, R], tree: tuple[dict[K, T], ...], **how: Unpack[Strictly]
    ) -> tuple[dict[K, R], ...]: ...
    @overload
    def __call__(
        self, f: F1[T, R], tree: dict[K, list[T]], **how: Unpack[Strictly]
    ) -> dict[K, list[R]]: ...
    @overload
    def __call__(
        self, f: F1[T, R], tree: dict[K, tuple[T, ...]], **how: Unpack[Strictly]
    ) -> dict[K, tuple[R, ...]]: ...
    @overload
    def __call__(
        self, f: F1[T, R], tree: dict[K, dict[J, T]], **how: Unpack[Strictly]
    ) -> dict[K, dict[J, R]]: ...
    @overload
    def __call__(
        self, f: F1[T, R], tree: dict[K, T], **how: Unpack[Strictly]
    ) -> dict[K, R]: ...
    @overload
    def __call__(
        self, f: F1[T, R], tree: list[T], **how: Unpack[Strictly]
    ) -> list[R]: ...
    @overload
    def __call__(
        self, f: F1[T, R], tree: tuple[T, ...], **how: Unpack[Strictly]
    ) -> tuple[R, ...]: ...
    @overload
    def __call__(
        self, f: F1[T, R], tree: deque[T], **how: Unpack[Strictly]
    ) -> deque[R]: ...
    @overload
    def __call__(
        self, f: F1[T, R], tree: list[T | None], **how: Unpack[Strictly]
    ) -> list[R | None]: ...
    @overload
    def __call__(
        self, f: F1[T, R], tree: dict[K, T | None], **how: Unpack[Strictly]
    ) -> dict[K, R | None]: ...
    @overload
    def __call__(
        self,
        f: F1[T, R],
        tree: Sequence[PyTree[T]] | Sequence[Wide[T]],
        **how: Unpack[Strictly],
    ) -> Sequence[PyTree[R]]: ...
    @overload
    def __call__(
        self,
        f: F1[T, R],
        tree: Mapping[K, PyTree[T]] | Mapping[K, Wide[T]],
        **how: Unpack[Strictly],
    ) -> Mapping[K, PyTree[R]]: ...
    @overload
    def __call__(
        self, f: F1[Scalar, R], tree: Scalar, **how: Unpack[Strictly]
    ) -> R: ...
    @overload
    def __call__(
        self, f: F1[Any, object], tree: None, **how: Unpack[Strictly]
    ) -> None: ...
    @overload
    def __call__(
        self, f: F1[Any, object], tree: Class, **how: Unpack[AnyhowStrictly]
    ) -> Class: ...
    @overload
    def __call__(
        self, f: F1[T, R], tree: Wide[T], **how: Unpack[Strictly]
    ) -> PyTree[R]: ...
    @overload
    def __call__(
        self,
        f: F2[Any, Any, object],
        tree: Nodes,
        other: Any,
        /,
        **how: Unpack[AnyhowStrictly],
    ) -> Nodes: ...
    @overload
    def __call__(
        self,
        f: F2[T, A, R],
        tree: dict[K, dict[J, dict[I, T]]],
        other: Mapping[Any, Mapping[Any, Mapping[Any, A]]],
        /,
        **how: Unpack[Strictly],
    ) -> dict[K, dict[J, dict[I, R]]]: ...
    @overload
    def __call__(
        self,
        f: F2[T, A, R],
        tree: list[list[T]],
        other: Sequence[Sequence[A]],
        /,
        **how: Unpack[Strictly],
    ) -> list[list[R]]: ...
    @overload
    def __call__(
        self,
        f: F2[T, A, R],
        tree: list[dict[K, T]],
        other: Sequence[Mapping[Any, A]],
        /,
        **how: Unpack[Strictly],
    ) -> list[dict[K, R]]: ...
    @overload
    def __call__(
        self,
        f: F2[T, A, R],
        tree: dict[K, list[T]],
        other: Mapping[Any, Sequence[A]],
        /,
        **how: Unpack[Strictly],
    ) -> dict[K, list[R]]: ...
    @overload
    def __call__(
        self,
        f: F2[T, A, R],
        tree: dict[K, tuple[T, ...]],
        other: Mapping[Any, Sequence[A]],
        /,
        **how: Unpack[Strictly],
    ) -> dict[K, tuple[R, ...]]: ...
    @overload
    def __call__(
        self,
        f: F2[T, A, R],
        tree: dict[K, dict[J, T]],
        other: Mapping[Any, Mapping[Any, A]],
        /,
        **how: Unpack[Strictly],
    ) -> dict[K, dict[J, R]]: ...
    @overload
    def __call__(
        self,
        f: F2[T, A, R],
        tree: dict[K, T],
        other: Mapping[Any, A],
        /,
        **how: Unpack[Strictly],
    ) -> dict[K, R]: ...
    @overload
    def __call__(
        self,
        f: F2[T, A, R],
        tree: list[T],
        other: Sequence[A],
        /,
        **how: Unpack[Strictly],
    ) -> list[R]: ...
    @overload
    def __call__(
        self,
        f: F2[T, A, R],
        tree: tuple[T, ...],
        other: Sequence[A],
        /,
        **how: Unpack[Strictly],
    ) -> tuple[R, ...]: ...
    @overload
    def __call__(
        self,
        f: F2[T, A, R],
        tree: Level[PyTree[T]],
        other: Level[PyTree[A]],
        /,
        **how: Unpack[Strictly],
    ) -> PyTree[R]: ...
    @overload
    def __call__(
        self,
        f: F2[Scalar, Any, R],
        tree: Scalar,
        other: Any,
        /,
        **how: Unpack[Strictly],
    ) -> R: ...
    @overload
    def __call__(
        self,
        f: F2[Any, Any, object],
        tree: Class,
        other: Any,
        /,
        **how: Unpack[AnyhowStrictly],
    ) -> Class: ...
    @overload
    def __call__(
        self,
        f: F2[T, A, R],
        tree: Wide[T],
        other: Wide[A] | Level[PyTree[A]],
        /,
        **how: Unpack[Strictly],
    ) -> PyTree[R]: ...
    @overload
    def __call__(
        self,
        f: F3[Any, Any, Any, object],
        tree: Nodes,
        other: Any,
        third: Any,
        /,
        **how: Unpack[AnyhowStrictly],
    ) -> Nodes: ...
    @overload
    def __call__(
        self,
        f: F3[T, A, B, R],
        tree: dict[K, dict[J, T]],
        other: Mapping[Any, Mapping[Any, A]],
        third: Mapping[Any, Mapping[Any, B]],
        /,
        **how: Unpack[Strictly],
    ) -> dict[K, dict[J, R]]: ...
    @overload
    def __call__(
        self,
        f: F3[T, A, B, R],
        tree: list[dict[K, T]],
        other: Sequence[Mapping[Any, A]],
        third: Sequence[Mapping[Any, B]],
        /,
        **how: Unpack[Strictly],
    ) -> list[dict[K, R]]: ...
    @overload
    def __call__(
        self,
        f: F3[T, A, B, R],
        tree: dict[K, list[T]],
        other: Mapping[Any, Sequence[A]],
        third: Mapping[Any, Sequence[B]],
        /,
        **how: Unpack[Strictly],
    ) -> dict[K, list[R]]: ...
    @overload
    def __call__(
        self,
        f: F3[T, A, B, R],
        tree: dict[K, T],
        other: Mapping[Any, A],
        third: Mapping[Any, B],
        /,
        **how: Unpack[Strictly],
    ) -> dict[K, R]: ...
    @overload
    def __call__(
        self,
        f: F3[T, A, B, R],
        tree: list[T],
        other: Sequence[A],
        third: Sequence[B],
        /,
        **how: Unpack[Strictly],
    ) -> list[R]: ...
    @overload
    def __call__(
        self,
        f: F3[T, A, B, R],
        tree: tuple[T, ...],
        other: Sequence[A],
        third: Sequence[B],
        /,
        **how: Unpack[Strictly],
    ) -> tuple[R, ...]: ...
    @overload
    def __call__(
        self,
        f: F3[T, A, B, R],
        tree: Level[PyTree[T]],
        other: Level[PyTree[A]],
        third: Level[PyTree[B]],
        /,
        **how: Unpack[Strictly],
    ) -> PyTree[R]: ...
    @overload
    def __call__(
        self,
        f: F3[Any, Any, Any, object],
        tree: Class,
        other: Any,
        third: Any,
        /,
        **how: Unpack[AnyhowStrictly],
    ) -> Class: ...
    @overload
    def __call__(
        self,
        f: F3[T, A, B, R],
        tree: Wide[T],
        other: Wide[A] | Level[PyTree[A]],
        third: Wide[B] | Level[PyTree[B]],
        /,
        **how: Unpack[Strictly],
    ) -> PyTree[R]: ...
    @overload
    def __call__(
        self,
        f: Callable[..., object],
        tree: Nodes,
        other: Any,
        third: Any,
        fourth: Any,
        /,
        *rest: Any,
        **how: Unpack[AnyhowStrictly],
    ) -> Nodes: ...
    @overload
    def __call__(
        self,
        f: Callable[..., R],
        tree: dict[K, dict[J, T]],
        other: Any,
        third: Any,
        fourth: Any,
        /,
        *rest: Any,
        **how: Unpack[Strictly],
    ) -> dict[K, dict[J, R]]: ...
    @overload
    def __call__(
        self,
        f: Callable[..., R],
        tree: dict[K, T],
        other: Any,
        third: Any,
        fourth: Any,
        /,
        *rest: Any,
        **how: Unpack[Strictly],
    ) -> dict[K, R]: ...
    @overload
    def __call__(
        self,
        f: Callable[..., R],
        tree: list[T],
        other: Any,
        third: Any,
        fourth: Any,
        /,
        *rest: Any,
        **how: Unpack[Strictly],
    ) -> list[R]: ...
    @overload
    def __call__(
        self,
        f: Callable[..., R],
        tree: tuple[T, ...],
        other: Any,
        third: Any,
        fourth: Any,
        /,
        *rest: Any,
        **how: Unpack[Strictly],
    ) -> tuple[R, ...]: ...
    @overload
    def __call__(
        self,
        f: Callable[..., R],
        tree: Level[object],
        other: Any,
        third: Any,
        fourth: Any,
        /,
        *rest: Any,
        **how: Unpack[Strictly],
    ) -> PyTree[R]: ...
    @overload
    def __call__(
        self,
        f: Callable[..., object],
        tree: Class,
        other: Any,
        third: Any,
        fourth: Any,
        /,
        *rest: Any,
        **how: Unpack[AnyhowStrictly],
    ) -> Class: ...
    @overload
    def __call__(
        self,
        f: Callable[..., R],
        tree: Wide[Any],
        other: Any,
        third: Any,
        fourth: Any,
        /,
        *rest: Any,
        **how: Unpack[Strictly],
    ) -> PyTree[R]: ...
    @overload
    def __call__(
        self, f: F1[Any, Any], tree: Any, **how: Unpack[ByLeafStrictly]
    ) -> Any: ...
    @overload
    def __call__(
        self,
        f: F2[Any, Any, Any],
        tree: Any,
        other: Any,
        /,
        **how: Unpack[ByLeafStrictly],
    ) -> Any: ...
    @overload
    def __call__(
        self,
        f: Callable[..., Any],
        tree: Any,
        other: Any,
        third: Any,
        /,
        *rest: Any,
        **how: Unpack[ByLeafStrictly],
    ) -> Any: ...
    @overload
    def __call__(
        self, f: F1[Any, Any], tree: Any, **how: Unpack[WithNoneStrictly]
    ) -> Any: ...
    @overload
    def __call__(
        self,
        f: F2[Any, Any, Any],
        tree: Any,
        other: Any,
        /,
        **how: Unpack[WithNoneStrictly],
    ) -> Any: ...
    @overload
    def __call__(
        self,
        f: Callable[..., Any],
        tree: Any,
        other: Any,
        third: Any,
        /,
        *rest: Any,
        **how: Unpack[WithNoneStrictly],
    ) -> Any: ...


def as_map(function: Callable[..., Any]) -> Map:
    """Give a function this type."""
    return function


class Each(Protocol):
    """A call for each leaf, for its effect."""

    @overload
    def __call__(
        self, f: F1[Any, object], tree: Tree, **how: Unpack[AnyhowStrictly]
    ) -> Tree: ...
    @overload
    def __call__(
        self,
        f: F2[Any, Any, object],
        tree: Tree,
        other: Any,
        /,
        **how: Unpack[AnyhowStrictly],
    ) -> Tree: ...
    @overload
    def __call__(
        self,
        f: F3[Any, Any, Any, object],
        tree: Tree,
        other: Any,
        third: Any,
        /,
        **how: Unpack[AnyhowStrictly],
    ) -> Tree: ...
    @overload
    def __call__(
        self,
        f: Callable[..., object],
        tree: Tree,
        other: Any,
        third: Any,
        fourth: Any,
        /,
        *rest: Any,
        **how: Unpack[AnyhowStrictly],
    ) -> Tree: ...


def as_each(function: Callable[..., Any]) -> Each:
    """Give a function this type."""
    return function


class BroadcastMap(Protocol):
    """A map over trees that are broadcast."""

    @overload
    def __call__(
        self, f: F1[Any, object], tree: Node, **how: Unpack[Plainly]
    ) -> Node: ...
    @overload
    def __call__(
        self, f: F1[T, R], tree: Sequence[PyTree[T]], **how: Unpack[Plainly]
    ) -> Sequence[PyTree[R]]: ...
    @overload
    def __call__(
        self, f: F1[T, R], tree: Mapping[K, PyTree[T]], **how: Unpack[Plainly]
    ) -> Mapping[K, PyTree[R]]: ...
    @overload
    def __call__(
        self, f: F1[Any, object], tree: Class, **how: Unpack[Plainly]
    ) -> Class: ...
    @overload
    def __call__(
        self, f: F1[T, R], tree: Wide[T], **how: Unpack[Plainly]
    ) -> PyTree[R]: ...
    @overload
    def __call__(
        self, f: F2[Any, Any, object], tree: Node, other: Any, /, **how: Unpack[Plainly]
    ) -> Node: ...
    @overload
    def __call__(
        self,
        f: F2[T, A, R],
        tree: Sequence[PyTree[T]],
        other: Wide[A] | Level[PyTree[A]],
        /,
        **how: Unpack[Plainly],
    ) -> Sequence[PyTree[R]]: ...
    @overload
    def __call__(
        self,
        f: F2[T, A, R],
        tree: Mapping[K, PyTree[T]],
        other: Wide[A] | Level[PyTree[A]],
        /,
        **how: Unpack[Plainly],
    ) -> Mapping[K, PyTree[R]]: ...
    @overload
    def __call__(
        self,
        f: F2[Any, A, R],
        tree: Class,
        other: Wide[A] | Level[PyTree[A]],
        /,
        **how: Unpack[Plainly],
    ) -> Any: ...
    @overload
    def __call__(
        self,
        f: F2[T, A, R],
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
        self, f: Callable[..., Any], tree: Any, *rest: Any, **how: Unpack[ByLeaf]
    ) -> Any: ...
    @overload
    def __call__(
        self, f: Callable[..., Any], tree: Any, *rest: Any, **how: Unpack[WithNone]
    ) -> Any: ...


def as_broadcast_map(function: Callable[..., Any]) -> BroadcastMap:
    """Give a function this type."""
    return function


class Turning(Plainly, total=False):
    """The options of a map whose results are transposed."""

    inner_treedef: PyTreeDef | None


class TurningAnyhow(Anyhow, total=False):
    """All of its options."""

    inner_treedef: PyTreeDef | None


class TransposeMap(Protocol):
    """A map whose results are transposed."""

    @overload
    def __call__(
        self, f: F1[Any, tuple[object, object]], tree: Node, **how: Unpack[Turning]
    ) -> tuple[Node, Node]: ...
    @overload
    def __call__(
        self,
        f: F1[Any, tuple[object, object, object]],
        tree: Node,
        **how: Unpack[Turning],
    ) -> tuple[Node, Node, Node]: ...
    @overload
    def __call__(
        self, f: Callable[..., Any], tree: Nested2, *rest: Any, **how: Unpack[Turning]
    ) -> Any: ...
    @overload
    def __call__(
        self, f: F1[T, tuple[A, B]], tree: list[T], **how: Unpack[Turning]
    ) -> tuple[list[A], list[B]]: ...
    @overload
    def __call__(
        self, f: F1[T, tuple[A, B, C]], tree: list[T], **how: Unpack[Turning]
    ) -> tuple[list[A], list[B], list[C]]: ...
    @overload
    def __call__(
        self, f: F1[T, dict[J, A]], tree: list[T], **how: Unpack[Turning]
    ) -> dict[J, list[A]]: ...
    @overload
    def __call__(
        self, f: F1[T, tuple[A, B]], tree: dict[K, T], **how: Unpack[Turning]
    ) -> tuple[dict[K, A], dict[K, B]]: ...
    @overload
    def __call__(
        self, f: F1[T, tuple[A, B, C]], tree: dict[K, T], **how: Unpack[Turning]
    ) -> tuple[dict[K, A], dict[K, B], dict[K, C]]: ...
    @overload
    def __call__(
        self, f: F1[T, dict[J, A]], tree: dict[K, T], **how: Unpack[Turning]
    ) -> dict[J, dict[K, A]]: ...
    @overload
    def __call__(
        self, f: F1[T, tuple[A, B]], tree: tuple[T, ...], **how: Unpack[Turning]
    ) -> tuple[tuple[A, ...], tuple[B, ...]]: ...
    @overload
    def __call__(
        self, f: F1[T, tuple[A, B, C]], tree: tuple[T, ...], **how: Unpack[Turning]
    ) -> tuple[tuple[A, ...], tuple[B, ...], tuple[C, ...]]: ...
    @overload
    def __call__(
        self, f: F1[T, dict[J, A]], tree: tuple[T, ...], **how: Unpack[Turning]
    ) -> dict[J, tuple[A, ...]]: ...
    @overload
    def __call__(
        self, f: Callable[..., Any], tree: Any, *rest: Any, **how: Unpack[TurningAnyhow]
    ) -> Any: ...


def as_transpose_map(function: Callable[..., Any]) -> TransposeMap:
    """Give a function this type."""
    return function
