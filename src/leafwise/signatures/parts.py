"""What type checkers see of functions that register, split and merge.

Owns signatures alone; see `words`. They say: a part of a tree, and what is
merged into one, is a tree of the same sort; a decorator returns the class itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

from typing_extensions import Unpack

from .words import (
    Anyhow,
    Class,
    Level,
    Nested2,
    Node,
    Opaque,
)


if TYPE_CHECKING:
    from ..safely import Missing

K = TypeVar("K")
T = TypeVar("T")
Cls = TypeVar("Cls", bound=type)
Tree = TypeVar("Tree")


class Partition(Protocol):
    """A tree split into parts."""

    @overload
    def __call__(
        self, tree: Node, *selectors: Any, missing_ok: bool = ..., **how: Unpack[Anyhow]
    ) -> tuple[Node, ...]: ...
    @overload
    def __call__(
        self,
        tree: Level[Opaque] | Nested2,
        *selectors: Any,
        missing_ok: bool = ...,
        **how: Unpack[Anyhow],
    ) -> tuple[Any, ...]: ...
    @overload
    def __call__(
        self,
        tree: list[T],
        *selectors: Any,
        missing_ok: bool = ...,
        **how: Unpack[Anyhow],
    ) -> tuple[list[T | Missing], ...]: ...
    @overload
    def __call__(
        self,
        tree: dict[K, T],
        *selectors: Any,
        missing_ok: bool = ...,
        **how: Unpack[Anyhow],
    ) -> tuple[dict[K, T | Missing], ...]: ...
    @overload
    def __call__(
        self,
        tree: tuple[T, ...],
        *selectors: Any,
        missing_ok: bool = ...,
        **how: Unpack[Anyhow],
    ) -> tuple[tuple[T | Missing, ...], ...]: ...
    @overload
    def __call__(
        self,
        tree: Class,
        *selectors: Any,
        missing_ok: bool = ...,
        **how: Unpack[Anyhow],
    ) -> tuple[Class, ...]: ...
    @overload
    def __call__(
        self, tree: Any, *selectors: Any, missing_ok: bool = ..., **how: Unpack[Anyhow]
    ) -> tuple[Any, ...]: ...


def as_partition(function: Callable[..., Any]) -> Partition:
    """Give a function this type."""
    return function


class Combine(Protocol):
    """The parts of a tree combined."""

    @overload
    def __call__(self, *trees: list[T | Missing], **how: Unpack[Anyhow]) -> list[T]: ...
    @overload
    def __call__(
        self, *trees: dict[K, T | Missing], **how: Unpack[Anyhow]
    ) -> dict[K, T]: ...
    @overload
    def __call__(self, *trees: Tree, **how: Unpack[Anyhow]) -> Tree: ...


def as_combine(function: Callable[..., Any]) -> Combine:
    """Give a function this type."""
    return function


class Merge(Protocol):
    """Trees merged deeply into a tree."""

    @overload
    def __call__(
        self,
        base: Node,
        *overlays: Any,
        join: str = ...,
        lists: str = ...,
        conflict: str = ...,
        rules: Mapping[Any, Any] | None = ...,
        namespace: str = ...,
    ) -> Node: ...
    @overload
    def __call__(
        self,
        base: dict[K, T],
        *overlays: Mapping[K, T],
        join: str = ...,
        lists: str = ...,
        conflict: str = ...,
        rules: Mapping[Any, Any] | None = ...,
        namespace: str = ...,
    ) -> dict[K, T]: ...
    @overload
    def __call__(
        self,
        base: list[T],
        *overlays: list[T],
        join: str = ...,
        lists: str = ...,
        conflict: str = ...,
        rules: Mapping[Any, Any] | None = ...,
        namespace: str = ...,
    ) -> list[T]: ...
    @overload
    def __call__(
        self,
        base: dict[Any, Any],
        *overlays: Any,
        join: str = ...,
        lists: str = ...,
        conflict: str = ...,
        rules: Mapping[Any, Any] | None = ...,
        namespace: str = ...,
    ) -> dict[Any, Any]: ...
    @overload
    def __call__(
        self,
        base: list[Any],
        *overlays: Any,
        join: str = ...,
        lists: str = ...,
        conflict: str = ...,
        rules: Mapping[Any, Any] | None = ...,
        namespace: str = ...,
    ) -> list[Any]: ...
    @overload
    def __call__(
        self,
        base: Class,
        *overlays: Any,
        join: str = ...,
        lists: str = ...,
        conflict: str = ...,
        rules: Mapping[Any, Any] | None = ...,
        namespace: str = ...,
    ) -> Class: ...
    @overload
    def __call__(
        self,
        base: Any,
        *overlays: Any,
        join: str = ...,
        lists: str = ...,
        conflict: str = ...,
        rules: Mapping[Any, Any] | None = ...,
        namespace: str = ...,
    ) -> Any: ...


def as_merge(function: Callable[..., Any]) -> Merge:
    """Give a function this type."""
    return function


class ClassDecorator(Protocol):
    """A decorator of classes, with or without options."""

    @overload
    def __call__(
        self,
        cls: Cls,
        *,
        namespace: str = ...,
        inherit: bool = ...,
        exist_ok: bool = ...,
        bridge: bool = ...,
    ) -> Cls: ...
    @overload
    def __call__(
        self,
        cls: None = ...,
        *,
        namespace: str = ...,
        inherit: bool = ...,
        exist_ok: bool = ...,
        bridge: bool = ...,
    ) -> Callable[[Cls], Cls]: ...


def as_class_decorator(function: Callable[..., Any]) -> ClassDecorator:
    """Give a function this type."""
    return function
