"""What type checkers see of functions that register, split and merge.

Owns signatures alone; see `words`. They say: a part of a tree, and what is
merged into one, is a tree of the same sort; a decorator returns the class itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, TypeVar, overload

from typing_extensions import TypeVar as DefaultTypeVar
from typing_extensions import Unpack

from .words import (
    Class,
    Level,
    Nested2,
    Node,
    Nodes,
    Plainly,
    Scalar,
    Simply,
)


if TYPE_CHECKING:
    from ..core.node import IsLeaf
    from ..safely import Missing
    from ..selection.partition import Masked
    from ..typing import PyTree

J = TypeVar("J")
K = TypeVar("K")
L = TypeVar("L")
R = TypeVar("R")
T = TypeVar("T")
Cls = TypeVar("Cls", bound=type)
Tree = TypeVar("Tree")
Fill = DefaultTypeVar("Fill", default="Missing")


class Picking(Plainly, total=False):
    """Options of functions with selectors that do not change what a leaf is."""

    missing_ok: bool


class Stopping(Simply, total=False):
    """The common options of functions with several trees or selectors."""

    is_leaf: IsLeaf


class PickingStopping(Stopping, total=False):
    """All options of functions with selectors."""

    missing_ok: bool


class Merging(TypedDict, total=False):
    """The options of a merge."""

    join: str
    lists: str | Mapping[Any, str]
    conflict: str
    rules: Mapping[Any, Any] | None
    validate: bool
    namespace: str


class Registering(TypedDict, total=False):
    """The options of a registration."""

    namespace: str
    inherit: bool
    exist_ok: bool
    bridge: bool


class Partition(Protocol):
    """A tree split into parts."""

    @overload
    def __call__(
        self, tree: Nodes, *selectors: Any, **how: Unpack[PickingStopping]
    ) -> tuple[Nodes, ...]: ...
    @overload
    def __call__(  # pyright: ignore[reportOverlappingOverload]  # goes first
        self,
        tree: dict[K, dict[J, Scalar]],
        *selectors: Any,
        **how: Unpack[PickingStopping],
    ) -> tuple[dict[K, dict[J, Scalar | Missing]], ...]: ...
    @overload
    def __call__(
        self,
        tree: dict[K, list[Scalar]],
        *selectors: Any,
        **how: Unpack[PickingStopping],
    ) -> tuple[dict[K, list[Scalar | Missing]], ...]: ...
    @overload
    def __call__(  # pyright: ignore[reportOverlappingOverload]  # goes first
        self,
        tree: list[dict[K, Scalar]],
        *selectors: Any,
        **how: Unpack[PickingStopping],
    ) -> tuple[list[dict[K, Scalar | Missing]], ...]: ...
    @overload
    def __call__(  # pyright: ignore[reportOverlappingOverload]  # goes first
        self, tree: Nested2, *selectors: Any, **how: Unpack[PickingStopping]
    ) -> tuple[Any, ...]: ...
    @overload
    def __call__(
        self, tree: dict[K, T], *selectors: Any, **how: Unpack[PickingStopping]
    ) -> tuple[dict[K, T | Missing], ...]: ...
    @overload
    def __call__(
        self, tree: list[T], *selectors: Any, **how: Unpack[PickingStopping]
    ) -> tuple[list[T | Missing], ...]: ...
    @overload
    def __call__(
        self, tree: tuple[T, ...], *selectors: Any, **how: Unpack[PickingStopping]
    ) -> tuple[tuple[T | Missing, ...], ...]: ...
    @overload
    def __call__(
        self, tree: Class, *selectors: Any, **how: Unpack[PickingStopping]
    ) -> tuple[Class, ...]: ...
    @overload
    def __call__(
        self, tree: Any, *selectors: Any, **how: Unpack[PickingStopping]
    ) -> tuple[Any, ...]: ...


def as_partition(function: Callable[..., Any]) -> Partition:
    """Give a function this type."""
    return function


class Combine(Protocol):
    """The parts of a tree combined."""

    @overload
    def __call__(
        self, *trees: dict[K, dict[J, T | Missing]], **how: Unpack[Stopping]
    ) -> dict[K, dict[J, T]]: ...
    @overload
    def __call__(
        self, *trees: dict[K, list[T | Missing]], **how: Unpack[Stopping]
    ) -> dict[K, list[T]]: ...
    @overload
    def __call__(
        self, *trees: list[dict[K, T | Missing]], **how: Unpack[Stopping]
    ) -> list[dict[K, T]]: ...
    @overload
    def __call__(
        self, *trees: dict[K, T | Missing], **how: Unpack[Stopping]
    ) -> dict[K, T]: ...
    @overload
    def __call__(
        self, *trees: list[T | Missing], **how: Unpack[Stopping]
    ) -> list[T]: ...
    @overload
    def __call__(self, *trees: Tree, **how: Unpack[Stopping]) -> Tree: ...


def as_combine(function: Callable[..., Any]) -> Combine:
    """Give a function this type."""
    return function


class Filter(Protocol):
    """A tree with the leaves that are picked, and a filler."""

    @overload
    def __call__(
        self, tree: Nodes, what: Any, *, fill: Fill = ..., **how: Unpack[Picking]
    ) -> Nodes: ...
    @overload
    def __call__(
        self,
        tree: dict[K, dict[J, Scalar]],
        what: Any,
        *,
        fill: Fill = ...,
        **how: Unpack[Picking],
    ) -> dict[K, dict[J, Scalar | Fill]]: ...
    @overload
    def __call__(
        self,
        tree: dict[K, Scalar],
        what: Any,
        *,
        fill: Fill = ...,
        **how: Unpack[Picking],
    ) -> dict[K, Scalar | Fill]: ...
    @overload
    def __call__(
        self, tree: list[Scalar], what: Any, *, fill: Fill = ..., **how: Unpack[Picking]
    ) -> list[Scalar | Fill]: ...
    @overload
    def __call__(
        self,
        tree: tuple[Scalar, ...],
        what: Any,
        *,
        fill: Fill = ...,
        **how: Unpack[Picking],
    ) -> tuple[Scalar | Fill, ...]: ...
    @overload
    def __call__(
        self,
        tree: Sequence[PyTree[T]],
        what: Any,
        *,
        fill: Fill = ...,
        **how: Unpack[Picking],
    ) -> Sequence[PyTree[T | Fill]]: ...
    @overload
    def __call__(
        self,
        tree: Mapping[K, PyTree[T]],
        what: Any,
        *,
        fill: Fill = ...,
        **how: Unpack[Picking],
    ) -> Mapping[K, PyTree[T | Fill]]: ...
    @overload
    def __call__(
        self, tree: Class, what: Any, *, fill: Fill = ..., **how: Unpack[Picking]
    ) -> Class: ...
    @overload
    def __call__(
        self,
        tree: object,
        what: Any,
        *,
        fill: Fill = ...,
        **how: Unpack[PickingStopping],
    ) -> PyTree[Any]: ...


def as_filter(function: Callable[..., Any]) -> Filter:
    """Give a function this type."""
    return function


class Mask(Protocol):
    """A tree in which leaves are hidden."""

    @overload
    def __call__(self, tree: Nodes, what: Any, **how: Unpack[Picking]) -> Nodes: ...
    @overload
    def __call__(
        self, tree: dict[K, dict[J, Scalar]], what: Any, **how: Unpack[Picking]
    ) -> dict[K, dict[J, Scalar | Masked[Scalar]]]: ...
    @overload
    def __call__(
        self, tree: dict[K, Scalar], what: Any, **how: Unpack[Picking]
    ) -> dict[K, Scalar | Masked[Scalar]]: ...
    @overload
    def __call__(
        self, tree: list[Scalar], what: Any, **how: Unpack[Picking]
    ) -> list[Scalar | Masked[Scalar]]: ...
    @overload
    def __call__(
        self, tree: tuple[Scalar, ...], what: Any, **how: Unpack[Picking]
    ) -> tuple[Scalar | Masked[Scalar], ...]: ...
    @overload
    def __call__(
        self, tree: Sequence[PyTree[T]], what: Any, **how: Unpack[Picking]
    ) -> Sequence[PyTree[T | Masked[T]]]: ...
    @overload
    def __call__(
        self, tree: Mapping[K, PyTree[T]], what: Any, **how: Unpack[Picking]
    ) -> Mapping[K, PyTree[T | Masked[T]]]: ...
    @overload
    def __call__(self, tree: Class, what: Any, **how: Unpack[Picking]) -> Class: ...
    @overload
    def __call__(
        self, tree: object, what: Any, **how: Unpack[PickingStopping]
    ) -> PyTree[Any]: ...


def as_mask(function: Callable[..., Any]) -> Mask:
    """Give a function this type."""
    return function


class Unmask(Protocol):
    """A tree in which no leaf is hidden."""

    @overload
    def __call__(self, tree: list[T | Masked[T]], **how: Unpack[Simply]) -> list[T]: ...
    @overload
    def __call__(
        self, tree: dict[K, T | Masked[T]], **how: Unpack[Simply]
    ) -> dict[K, T]: ...
    @overload
    def __call__(self, tree: Tree, **how: Unpack[Simply]) -> Tree: ...


def as_unmask(function: Callable[..., Any]) -> Unmask:
    """Give a function this type."""
    return function


class Labels(Protocol):
    """A tree with a label for each leaf."""

    @overload
    def __call__(  # type: ignore[overload-overlap]  # as a list of nodes is a list
        self,
        tree: Nodes,
        rules: Mapping[Any, L],
        *,
        default: L = ...,
        **how: Unpack[Plainly],
    ) -> Nodes: ...
    @overload
    def __call__(
        self,
        tree: dict[K, dict[J, Scalar]],
        rules: Mapping[Any, L],
        *,
        default: L = ...,
        **how: Unpack[Plainly],
    ) -> dict[K, dict[J, L]]: ...
    @overload
    def __call__(
        self,
        tree: dict[K, Scalar],
        rules: Mapping[Any, L],
        *,
        default: L = ...,
        **how: Unpack[Plainly],
    ) -> dict[K, L]: ...
    @overload
    def __call__(
        self,
        tree: list[Scalar],
        rules: Mapping[Any, L],
        *,
        default: L = ...,
        **how: Unpack[Plainly],
    ) -> list[L]: ...
    @overload
    def __call__(
        self,
        tree: tuple[Scalar, ...],
        rules: Mapping[Any, L],
        *,
        default: L = ...,
        **how: Unpack[Plainly],
    ) -> tuple[L, ...]: ...
    @overload
    def __call__(
        self,
        tree: Sequence[PyTree[T]],
        rules: Mapping[Any, L],
        *,
        default: L = ...,
        **how: Unpack[Plainly],
    ) -> Sequence[PyTree[L]]: ...
    @overload
    def __call__(
        self,
        tree: Mapping[K, PyTree[T]],
        rules: Mapping[Any, L],
        *,
        default: L = ...,
        **how: Unpack[Plainly],
    ) -> Mapping[K, PyTree[L]]: ...
    @overload
    def __call__(
        self,
        tree: Class,
        rules: Mapping[Any, L],
        *,
        default: L = ...,
        **how: Unpack[Plainly],
    ) -> Class: ...
    @overload
    def __call__(
        self,
        tree: object,
        rules: Mapping[Any, L],
        *,
        default: L = ...,
        **how: Unpack[Stopping],
    ) -> PyTree[L]: ...


def as_labels(function: Callable[..., Any]) -> Labels:
    """Give a function this type."""
    return function


class GroupBy(Protocol):
    """A part of a tree for each label."""

    @overload
    def __call__(  # type: ignore[overload-overlap]  # as a list of nodes is a list
        self,
        tree: Nodes,
        by: Callable[[Any], L] | Level[PyTree[L]],
        **how: Unpack[Simply],
    ) -> dict[L, Nodes]: ...
    @overload
    def __call__(
        self,
        tree: dict[K, Scalar],
        by: Callable[[Any], L] | Level[PyTree[L]],
        **how: Unpack[Simply],
    ) -> dict[L, dict[K, Scalar | Missing]]: ...
    @overload
    def __call__(
        self,
        tree: list[Scalar],
        by: Callable[[Any], L] | Level[PyTree[L]],
        **how: Unpack[Simply],
    ) -> dict[L, list[Scalar | Missing]]: ...
    @overload
    def __call__(
        self,
        tree: tuple[Scalar, ...],
        by: Callable[[Any], L] | Level[PyTree[L]],
        **how: Unpack[Simply],
    ) -> dict[L, tuple[Scalar | Missing, ...]]: ...
    @overload
    def __call__(
        self,
        tree: Class,
        by: Callable[[Any], L] | Level[PyTree[L]],
        **how: Unpack[Simply],
    ) -> dict[L, Class]: ...
    @overload
    def __call__(
        self,
        tree: Any,
        by: Callable[[Any], L] | Level[PyTree[L]],
        **how: Unpack[Simply],
    ) -> dict[L, Any]: ...


def as_group_by(function: Callable[..., Any]) -> GroupBy:
    """Give a function this type."""
    return function


class MapOuter(Protocol):
    """A map over trees that need not have the same keys."""

    @overload
    def __call__(
        self,
        f: Callable[..., object],
        *trees: Node,
        fill: Any = ...,
        **how: Unpack[Stopping],
    ) -> Node: ...
    @overload
    def __call__(
        self,
        f: Callable[..., R],
        *trees: dict[K, Scalar],
        fill: Any = ...,
        **how: Unpack[Plainly],
    ) -> dict[K, R]: ...
    @overload
    def __call__(
        self,
        f: Callable[..., R],
        *trees: list[Scalar],
        fill: Any = ...,
        **how: Unpack[Plainly],
    ) -> list[R]: ...
    @overload
    def __call__(
        self,
        f: Callable[..., R],
        *trees: tuple[Scalar, ...],
        fill: Any = ...,
        **how: Unpack[Plainly],
    ) -> tuple[R, ...]: ...
    @overload
    def __call__(
        self,
        f: Callable[..., R],
        *trees: Mapping[K, Any],
        fill: Any = ...,
        **how: Unpack[Plainly],
    ) -> Mapping[K, PyTree[R]]: ...
    @overload
    def __call__(
        self,
        f: Callable[..., R],
        *trees: Sequence[Any],
        fill: Any = ...,
        **how: Unpack[Plainly],
    ) -> Sequence[PyTree[R]]: ...
    @overload
    def __call__(
        self,
        f: Callable[..., object],
        *trees: Class,
        fill: Any = ...,
        **how: Unpack[Plainly],
    ) -> Class: ...
    @overload
    def __call__(
        self,
        f: Callable[..., R],
        *trees: object,
        fill: Any = ...,
        **how: Unpack[Stopping],
    ) -> PyTree[R]: ...


def as_map_outer(function: Callable[..., Any]) -> MapOuter:
    """Give a function this type."""
    return function


class ZipOuter(Protocol):
    """Trees that need not have the same keys, with a tuple at each leaf."""

    @overload
    def __call__(
        self, *trees: dict[K, Scalar], fill: Fill = ..., **how: Unpack[Plainly]
    ) -> dict[K, tuple[Scalar | Fill, ...]]: ...
    @overload
    def __call__(
        self, *trees: list[Scalar], fill: Fill = ..., **how: Unpack[Plainly]
    ) -> list[tuple[Scalar | Fill, ...]]: ...
    @overload
    def __call__(
        self, *trees: tuple[Scalar, ...], fill: Fill = ..., **how: Unpack[Plainly]
    ) -> tuple[tuple[Scalar | Fill, ...], ...]: ...
    @overload
    def __call__(
        self, *trees: Mapping[K, PyTree[T]], fill: Fill = ..., **how: Unpack[Plainly]
    ) -> Mapping[K, PyTree[tuple[T | Fill, ...]]]: ...
    @overload
    def __call__(
        self, *trees: Sequence[PyTree[T]], fill: Fill = ..., **how: Unpack[Plainly]
    ) -> Sequence[PyTree[tuple[T | Fill, ...]]]: ...
    @overload
    def __call__(
        self, *trees: object, fill: Any = ..., **how: Unpack[Stopping]
    ) -> Any: ...


def as_zip_outer(function: Callable[..., Any]) -> ZipOuter:
    """Give a function this type."""
    return function


class Merge(Protocol):
    """Trees merged deeply into a tree."""

    @overload
    def __call__(self, base: Node, *overlays: Any, **how: Unpack[Merging]) -> Node: ...
    @overload
    def __call__(
        self, base: dict[K, T], *overlays: Mapping[K, T], **how: Unpack[Merging]
    ) -> dict[K, T]: ...
    @overload
    def __call__(
        self, base: list[T], *overlays: list[T], **how: Unpack[Merging]
    ) -> list[T]: ...
    @overload
    def __call__(
        self, base: dict[Any, Any], *overlays: Any, **how: Unpack[Merging]
    ) -> dict[Any, Any]: ...
    @overload
    def __call__(
        self, base: list[Any], *overlays: Any, **how: Unpack[Merging]
    ) -> list[Any]: ...
    @overload
    def __call__(
        self, base: Class, *overlays: Any, **how: Unpack[Merging]
    ) -> Class: ...
    @overload
    def __call__(self, base: Any, *overlays: Any, **how: Unpack[Merging]) -> Any: ...


def as_merge(function: Callable[..., Any]) -> Merge:
    """Give a function this type."""
    return function


class ClassDecorator(Protocol):
    """A decorator of classes, with or without options."""

    @overload
    def __call__(self, cls: Cls, **how: Unpack[Registering]) -> Cls: ...
    @overload
    def __call__(
        self, cls: None = ..., **how: Unpack[Registering]
    ) -> Callable[[Cls], Cls]: ...


def as_class_decorator(function: Callable[..., Any]) -> ClassDecorator:
    """Give a function this type."""
    return function
