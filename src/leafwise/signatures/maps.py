"""What type checkers see of functions that map.

Owns signatures alone; see `words`. They say: a map over containers of `T` gives the
same containers of what the function returns; over a class it gives that class, which is
right as long as the function returns what the class has for leaves.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, overload

from typing_extensions import Unpack

from .words import (
    Class,
    Level,
    Nested3,
    Node,
    Scalar,
    Strictly,
    Wide,
)


if TYPE_CHECKING:
    from ..core.node import IsLeaf
    from ..typing import PyTree

A = TypeVar("A")
B = TypeVar("B")
I = TypeVar("I")  # noqa: E741  # the innermost key
J = TypeVar("J")
K = TypeVar("K")
R = TypeVar("R")
T = TypeVar("T")


class Map(Protocol):
    """A map over trees of one structure."""

    @overload
    def __call__(
        self, f: Callable[[Any], object], tree: Node, **how: Unpack[Strictly]
    ) -> Node: ...
    @overload
    def __call__(
        self, f: Callable[[Any], object], tree: list[Node], **how: Unpack[Strictly]
    ) -> list[Node]: ...
    @overload
    def __call__(
        self, f: Callable[[Any], object], tree: dict[K, Node], **how: Unpack[Strictly]
    ) -> dict[K, Node]: ...
    @overload
    def __call__(
        self,
        f: Callable[[Any], object],
        tree: tuple[Node, ...],
        **how: Unpack[Strictly],
    ) -> tuple[Node, ...]: ...
    @overload
    def __call__(
        self,
        f: Callable[[T], R],
        tree: dict[K, dict[J, dict[I, T]]],
        **how: Unpack[Strictly],
    ) -> dict[K, dict[J, dict[I, R]]]: ...
    @overload
    def __call__(
        self,
        f: Callable[[T], R],
        tree: dict[K, dict[J, list[T]]],
        **how: Unpack[Strictly],
    ) -> dict[K, dict[J, list[R]]]: ...
    @overload
    def __call__(
        self,
        f: Callable[[T], R],
        tree: dict[K, list[dict[J, T]]],
        **how: Unpack[Strictly],
    ) -> dict[K, list[dict[J, R]]]: ...
    @overload
    def __call__(
        self,
        f: Callable[[T], R],
        tree: list[dict[K, dict[J, T]]],
        **how: Unpack[Strictly],
    ) -> list[dict[K, dict[J, R]]]: ...
    @overload
    def __call__(
        self, f: Callable[[T], R], tree: Nested3, **how: Unpack[Strictly]
    ) -> Any: ...
    @overload
    def __call__(
        self, f: Callable[[T], R], tree: list[list[T]], **how: Unpack[Strictly]
    ) -> list[list[R]]: ...
    @overload
    def __call__(
        self, f: Callable[[T], R], tree: list[tuple[T, ...]], **how: Unpack[Strictly]
    ) -> list[tuple[R, ...]]: ...
    @overload
    def __call__(
        self, f: Callable[[T], R], tree: list[dict[K, T]], **how: Unpack[Strictly]
    ) -> list[dict[K, R]]: ...
    @overload
    def __call__(
        self, f: Callable[[T], R], tree: tuple[list[T], ...], **how: Unpack[Strictly]
    ) -> tuple[list[R], ...]: ...
    @overload
    def __call__(
        self,
        f: Callable[[T], R],
        tree: tuple[tuple[T, ...], ...],
        **how: Unpack[Strictly],
    ) -> tuple[tuple[R, ...], ...]: ...
    @overload
    def __call__(
        self, f: Callable[[T], R], tree: tuple[dict[K, T], ...], **how: Unpack[Strictly]
    ) -> tuple[dict[K, R], ...]: ...
    @overload
    def __call__(
        self, f: Callable[[T], R], tree: dict[K, list[T]], **how: Unpack[Strictly]
    ) -> dict[K, list[R]]: ...
    @overload
    def __call__(
        self, f: Callable[[T], R], tree: dict[K, tuple[T, ...]], **how: Unpack[Strictly]
    ) -> dict[K, tuple[R, ...]]: ...
    @overload
    def __call__(
        self, f: Callable[[T], R], tree: dict[K, dict[J, T]], **how: Unpack[Strictly]
    ) -> dict[K, dict[J, R]]: ...
    @overload
    def __call__(
        self, f: Callable[[T], R], tree: dict[K, T], **how: Unpack[Strictly]
    ) -> dict[K, R]: ...
    @overload
    def __call__(
        self, f: Callable[[T], R], tree: list[T], **how: Unpack[Strictly]
    ) -> list[R]: ...
    @overload
    def __call__(
        self, f: Callable[[T], R], tree: tuple[T, ...], **how: Unpack[Strictly]
    ) -> tuple[R, ...]: ...
    @overload
    def __call__(
        self, f: Callable[[T], R], tree: deque[T], **how: Unpack[Strictly]
    ) -> deque[R]: ...
    @overload
    def __call__(
        self, f: Callable[[T], R], tree: list[T | None], **how: Unpack[Strictly]
    ) -> list[R | None]: ...
    @overload
    def __call__(
        self, f: Callable[[T], R], tree: dict[K, T | None], **how: Unpack[Strictly]
    ) -> dict[K, R | None]: ...
    @overload
    def __call__(
        self, f: Callable[[T], R], tree: Sequence[PyTree[T]], **how: Unpack[Strictly]
    ) -> Sequence[PyTree[R]]: ...
    @overload
    def __call__(
        self, f: Callable[[T], R], tree: Mapping[K, PyTree[T]], **how: Unpack[Strictly]
    ) -> Mapping[K, PyTree[R]]: ...
    @overload
    def __call__(
        self, f: Callable[[T], R], tree: Sequence[Wide[T]], **how: Unpack[Strictly]
    ) -> Sequence[PyTree[R]]: ...
    @overload
    def __call__(
        self, f: Callable[[T], R], tree: Mapping[K, Wide[T]], **how: Unpack[Strictly]
    ) -> Mapping[K, PyTree[R]]: ...
    @overload
    def __call__(
        self, f: Callable[[Scalar], R], tree: Scalar, **how: Unpack[Strictly]
    ) -> R: ...
    @overload
    def __call__(
        self, f: Callable[[Any], object], tree: None, **how: Unpack[Strictly]
    ) -> None: ...
    @overload
    def __call__(
        self, f: Callable[[Any], object], tree: Class, **how: Unpack[Strictly]
    ) -> Class: ...
    @overload
    def __call__(
        self, f: Callable[[T], R], tree: Wide[T], **how: Unpack[Strictly]
    ) -> PyTree[R]: ...
    @overload
    def __call__(
        self,
        f: Callable[[Any, Any], object],
        tree: Node,
        other: Any,
        /,
        **how: Unpack[Strictly],
    ) -> Node: ...
    @overload
    def __call__(
        self,
        f: Callable[[Any, Any], object],
        tree: list[Node],
        other: Any,
        /,
        **how: Unpack[Strictly],
    ) -> list[Node]: ...
    @overload
    def __call__(
        self,
        f: Callable[[Any, Any], object],
        tree: dict[K, Node],
        other: Any,
        /,
        **how: Unpack[Strictly],
    ) -> dict[K, Node]: ...
    @overload
    def __call__(
        self,
        f: Callable[[Any, Any], object],
        tree: tuple[Node, ...],
        other: Any,
        /,
        **how: Unpack[Strictly],
    ) -> tuple[Node, ...]: ...
    @overload
    def __call__(
        self,
        f: Callable[[T, A], R],
        tree: dict[K, dict[J, dict[I, T]]],
        other: Mapping[Any, Mapping[Any, Mapping[Any, A]]],
        /,
        **how: Unpack[Strictly],
    ) -> dict[K, dict[J, dict[I, R]]]: ...
    @overload
    def __call__(
        self,
        f: Callable[[T, A], R],
        tree: list[list[T]],
        other: Sequence[Sequence[A]],
        /,
        **how: Unpack[Strictly],
    ) -> list[list[R]]: ...
    @overload
    def __call__(
        self,
        f: Callable[[T, A], R],
        tree: list[dict[K, T]],
        other: Sequence[Mapping[Any, A]],
        /,
        **how: Unpack[Strictly],
    ) -> list[dict[K, R]]: ...
    @overload
    def __call__(
        self,
        f: Callable[[T, A], R],
        tree: dict[K, list[T]],
        other: Mapping[Any, Sequence[A]],
        /,
        **how: Unpack[Strictly],
    ) -> dict[K, list[R]]: ...
    @overload
    def __call__(
        self,
        f: Callable[[T, A], R],
        tree: dict[K, tuple[T, ...]],
        other: Mapping[Any, Sequence[A]],
        /,
        **how: Unpack[Strictly],
    ) -> dict[K, tuple[R, ...]]: ...
    @overload
    def __call__(
        self,
        f: Callable[[T, A], R],
        tree: dict[K, dict[J, T]],
        other: Mapping[Any, Mapping[Any, A]],
        /,
        **how: Unpack[Strictly],
    ) -> dict[K, dict[J, R]]: ...
    @overload
    def __call__(
        self,
        f: Callable[[T, A], R],
        tree: dict[K, T],
        other: Mapping[Any, A],
        /,
        **how: Unpack[Strictly],
    ) -> dict[K, R]: ...
    @overload
    def __call__(
        self,
        f: Callable[[T, A], R],
        tree: list[T],
        other: Sequence[A],
        /,
        **how: Unpack[Strictly],
    ) -> list[R]: ...
    @overload
    def __call__(
        self,
        f: Callable[[T, A], R],
        tree: tuple[T, ...],
        other: Sequence[A],
        /,
        **how: Unpack[Strictly],
    ) -> tuple[R, ...]: ...
    @overload
    def __call__(
        self,
        f: Callable[[T, A], R],
        tree: Level[PyTree[T]],
        other: Level[PyTree[A]],
        /,
        **how: Unpack[Strictly],
    ) -> PyTree[R]: ...
    @overload
    def __call__(
        self,
        f: Callable[[Scalar, Any], R],
        tree: Scalar,
        other: Any,
        /,
        **how: Unpack[Strictly],
    ) -> R: ...
    @overload
    def __call__(
        self,
        f: Callable[[Any, Any], object],
        tree: None,
        other: Any,
        /,
        **how: Unpack[Strictly],
    ) -> None: ...
    @overload
    def __call__(
        self,
        f: Callable[[Any, Any], object],
        tree: Class,
        other: Any,
        /,
        **how: Unpack[Strictly],
    ) -> Class: ...
    @overload
    def __call__(
        self,
        f: Callable[[T, A], R],
        tree: Wide[T],
        other: Wide[A] | Level[PyTree[A]],
        /,
        **how: Unpack[Strictly],
    ) -> PyTree[R]: ...
    @overload
    def __call__(
        self,
        f: Callable[[Any, Any, Any], object],
        tree: Node,
        other: Any,
        third: Any,
        /,
        **how: Unpack[Strictly],
    ) -> Node: ...
    @overload
    def __call__(
        self,
        f: Callable[[Any, Any, Any], object],
        tree: list[Node],
        other: Any,
        third: Any,
        /,
        **how: Unpack[Strictly],
    ) -> list[Node]: ...
    @overload
    def __call__(
        self,
        f: Callable[[Any, Any, Any], object],
        tree: dict[K, Node],
        other: Any,
        third: Any,
        /,
        **how: Unpack[Strictly],
    ) -> dict[K, Node]: ...
    @overload
    def __call__(
        self,
        f: Callable[[T, A, B], R],
        tree: dict[K, dict[J, T]],
        other: Mapping[Any, Mapping[Any, A]],
        third: Mapping[Any, Mapping[Any, B]],
        /,
        **how: Unpack[Strictly],
    ) -> dict[K, dict[J, R]]: ...
    @overload
    def __call__(
        self,
        f: Callable[[T, A, B], R],
        tree: list[dict[K, T]],
        other: Sequence[Mapping[Any, A]],
        third: Sequence[Mapping[Any, B]],
        /,
        **how: Unpack[Strictly],
    ) -> list[dict[K, R]]: ...
    @overload
    def __call__(
        self,
        f: Callable[[T, A, B], R],
        tree: dict[K, list[T]],
        other: Mapping[Any, Sequence[A]],
        third: Mapping[Any, Sequence[B]],
        /,
        **how: Unpack[Strictly],
    ) -> dict[K, list[R]]: ...
    @overload
    def __call__(
        self,
        f: Callable[[T, A, B], R],
        tree: dict[K, T],
        other: Mapping[Any, A],
        third: Mapping[Any, B],
        /,
        **how: Unpack[Strictly],
    ) -> dict[K, R]: ...
    @overload
    def __call__(
        self,
        f: Callable[[T, A, B], R],
        tree: list[T],
        other: Sequence[A],
        third: Sequence[B],
        /,
        **how: Unpack[Strictly],
    ) -> list[R]: ...
    @overload
    def __call__(
        self,
        f: Callable[[T, A, B], R],
        tree: tuple[T, ...],
        other: Sequence[A],
        third: Sequence[B],
        /,
        **how: Unpack[Strictly],
    ) -> tuple[R, ...]: ...
    @overload
    def __call__(
        self,
        f: Callable[[T, A, B], R],
        tree: Level[PyTree[T]],
        other: Level[PyTree[A]],
        third: Level[PyTree[B]],
        /,
        **how: Unpack[Strictly],
    ) -> PyTree[R]: ...
    @overload
    def __call__(
        self,
        f: Callable[[Any, Any, Any], object],
        tree: Class,
        other: Any,
        third: Any,
        /,
        **how: Unpack[Strictly],
    ) -> Class: ...
    @overload
    def __call__(
        self,
        f: Callable[[T, A, B], R],
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
        tree: Node,
        other: Any,
        third: Any,
        fourth: Any,
        /,
        *rest: Any,
        **how: Unpack[Strictly],
    ) -> Node: ...
    @overload
    def __call__(
        self,
        f: Callable[..., object],
        tree: list[Node],
        other: Any,
        third: Any,
        fourth: Any,
        /,
        *rest: Any,
        **how: Unpack[Strictly],
    ) -> list[Node]: ...
    @overload
    def __call__(
        self,
        f: Callable[..., object],
        tree: dict[K, Node],
        other: Any,
        third: Any,
        fourth: Any,
        /,
        *rest: Any,
        **how: Unpack[Strictly],
    ) -> dict[K, Node]: ...
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
        tree: Level[Any],
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
        **how: Unpack[Strictly],
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
        self,
        f: Callable[[Any], object],
        tree: Node,
        *,
        is_leaf: IsLeaf,
        is_leaf_takes_path: bool = ...,
        none_is_leaf: bool = ...,
        namespace: str = ...,
        strict: bool = ...,
    ) -> Node: ...
    @overload
    def __call__(
        self,
        f: Callable[[Any], object],
        tree: Class,
        *,
        is_leaf: IsLeaf,
        is_leaf_takes_path: bool = ...,
        none_is_leaf: bool = ...,
        namespace: str = ...,
        strict: bool = ...,
    ) -> Class: ...
    @overload
    def __call__(
        self,
        f: Callable[[Any], Any],
        tree: Any,
        *,
        is_leaf: IsLeaf,
        is_leaf_takes_path: bool = ...,
        none_is_leaf: bool = ...,
        namespace: str = ...,
        strict: bool = ...,
    ) -> Any: ...
    @overload
    def __call__(
        self,
        f: Callable[[Any, Any], object],
        tree: Node,
        other: Any,
        /,
        *,
        is_leaf: IsLeaf,
        is_leaf_takes_path: bool = ...,
        none_is_leaf: bool = ...,
        namespace: str = ...,
        strict: bool = ...,
    ) -> Node: ...
    @overload
    def __call__(
        self,
        f: Callable[[Any, Any], object],
        tree: Class,
        other: Any,
        /,
        *,
        is_leaf: IsLeaf,
        is_leaf_takes_path: bool = ...,
        none_is_leaf: bool = ...,
        namespace: str = ...,
        strict: bool = ...,
    ) -> Class: ...
    @overload
    def __call__(
        self,
        f: Callable[[Any, Any], Any],
        tree: Any,
        other: Any,
        /,
        *,
        is_leaf: IsLeaf,
        is_leaf_takes_path: bool = ...,
        none_is_leaf: bool = ...,
        namespace: str = ...,
        strict: bool = ...,
    ) -> Any: ...
    @overload
    def __call__(
        self,
        f: Callable[..., object],
        tree: Node,
        other: Any,
        third: Any,
        /,
        *rest: Any,
        is_leaf: IsLeaf,
        is_leaf_takes_path: bool = ...,
        none_is_leaf: bool = ...,
        namespace: str = ...,
        strict: bool = ...,
    ) -> Node: ...
    @overload
    def __call__(
        self,
        f: Callable[..., object],
        tree: Class,
        other: Any,
        third: Any,
        /,
        *rest: Any,
        is_leaf: IsLeaf,
        is_leaf_takes_path: bool = ...,
        none_is_leaf: bool = ...,
        namespace: str = ...,
        strict: bool = ...,
    ) -> Class: ...
    @overload
    def __call__(
        self,
        f: Callable[..., Any],
        tree: Any,
        other: Any,
        third: Any,
        /,
        *rest: Any,
        is_leaf: IsLeaf,
        is_leaf_takes_path: bool = ...,
        none_is_leaf: bool = ...,
        namespace: str = ...,
        strict: bool = ...,
    ) -> Any: ...
    @overload
    def __call__(
        self,
        f: Callable[[Any], object],
        tree: Node,
        *,
        is_leaf: None = ...,
        is_leaf_takes_path: bool = ...,
        none_is_leaf: Literal[True],
        namespace: str = ...,
        strict: bool = ...,
    ) -> Node: ...
    @overload
    def __call__(
        self,
        f: Callable[[Any], object],
        tree: Class,
        *,
        is_leaf: None = ...,
        is_leaf_takes_path: bool = ...,
        none_is_leaf: Literal[True],
        namespace: str = ...,
        strict: bool = ...,
    ) -> Class: ...
    @overload
    def __call__(
        self,
        f: Callable[[Any], Any],
        tree: Any,
        *,
        is_leaf: None = ...,
        is_leaf_takes_path: bool = ...,
        none_is_leaf: Literal[True],
        namespace: str = ...,
        strict: bool = ...,
    ) -> Any: ...
    @overload
    def __call__(
        self,
        f: Callable[[Any, Any], object],
        tree: Node,
        other: Any,
        /,
        *,
        is_leaf: None = ...,
        is_leaf_takes_path: bool = ...,
        none_is_leaf: Literal[True],
        namespace: str = ...,
        strict: bool = ...,
    ) -> Node: ...
    @overload
    def __call__(
        self,
        f: Callable[[Any, Any], object],
        tree: Class,
        other: Any,
        /,
        *,
        is_leaf: None = ...,
        is_leaf_takes_path: bool = ...,
        none_is_leaf: Literal[True],
        namespace: str = ...,
        strict: bool = ...,
    ) -> Class: ...
    @overload
    def __call__(
        self,
        f: Callable[[Any, Any], Any],
        tree: Any,
        other: Any,
        /,
        *,
        is_leaf: None = ...,
        is_leaf_takes_path: bool = ...,
        none_is_leaf: Literal[True],
        namespace: str = ...,
        strict: bool = ...,
    ) -> Any: ...
    @overload
    def __call__(
        self,
        f: Callable[..., object],
        tree: Node,
        other: Any,
        third: Any,
        /,
        *rest: Any,
        is_leaf: None = ...,
        is_leaf_takes_path: bool = ...,
        none_is_leaf: Literal[True],
        namespace: str = ...,
        strict: bool = ...,
    ) -> Node: ...
    @overload
    def __call__(
        self,
        f: Callable[..., object],
        tree: Class,
        other: Any,
        third: Any,
        /,
        *rest: Any,
        is_leaf: None = ...,
        is_leaf_takes_path: bool = ...,
        none_is_leaf: Literal[True],
        namespace: str = ...,
        strict: bool = ...,
    ) -> Class: ...
    @overload
    def __call__(
        self,
        f: Callable[..., Any],
        tree: Any,
        other: Any,
        third: Any,
        /,
        *rest: Any,
        is_leaf: None = ...,
        is_leaf_takes_path: bool = ...,
        none_is_leaf: Literal[True],
        namespace: str = ...,
        strict: bool = ...,
    ) -> Any: ...


def as_map(function: Callable[..., Any]) -> Map:
    """Give a function this type."""
    return function
