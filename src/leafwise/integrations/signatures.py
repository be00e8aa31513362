"""What type checkers see of jax's transforms: what they take, and what they return.

Owns the types, each of them the form of a function, and the decorators that give them
to the functions. At run time a function is what it is without.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Literal,
    ParamSpec,
    Protocol,
    TypedDict,
    TypeVar,
    Unpack,
    overload,
)


if TYPE_CHECKING:
    from ..nn.filters import Filter
    from ..nn.pytree import Pytree
    from ..nn.states import State
    from .options import DiffState, Names, Numbers
    from .transforms import Argnums, Axes, Stage


__all__ = [
    "Compiled",
    "ObjectT",
    "Unchecked",
    "as_grad",
    "as_jit",
    "as_remat",
    "as_scan",
    "as_value_and_grad",
    "as_vmap",
]

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
S = TypeVar("S")
T = TypeVar("T")
Aux = TypeVar("Aux")
R_co = TypeVar("R_co", covariant=True)
ObjectT = TypeVar("ObjectT", bound="Pytree")

Loose = TypeVar("Loose", bound="Callable[Concatenate[object, ...], Any]")
"""A function whose first argument may be anything, so that nobody knows its gradient.

It is a type variable so that no checker takes the parameter of a lambda for an `object`
that has no attributes.
"""


class OfScan(TypedDict, total=False):
    """The options of `scan`."""

    length: int | None
    reverse: bool
    unroll: int | bool
    _split_transpose: bool
    in_axes: Any
    out_axes: Any


class OfRemat(TypedDict, total=False):
    """The options of `remat`."""

    prevent_cse: bool
    static_argnums: Numbers
    policy: Callable[..., bool] | None


class OfGrad(TypedDict, total=False):
    """The options of `grad` and `value_and_grad` that say nothing of types."""

    wrt: Filter | tuple[Filter, ...]
    holomorphic: bool
    allow_int: bool


# --------------------------------------------------------------------- results


class Unchecked(Protocol[R_co]):
    """A function of which only the result is known."""

    def __call__(self, *args: Any, **kwargs: Any) -> R_co:
        """Call the function."""
        ...


class Compiled(Protocol[P, R]):
    """A function that is compiled by jax, as `jit` returns it."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function."""
        ...

    def lower(self, *args: P.args, **kwargs: P.kwargs) -> Stage[P, R]:
        """Trace and lower the function for these arguments."""
        ...

    def trace(self, *args: P.args, **kwargs: P.kwargs) -> Stage[P, R]:
        """Trace the function for these arguments."""
        ...

    def eval_shape(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """Return what the result looks like: a shape and a dtype for each array."""
        ...

    def clear_cache(self) -> None:
        """Forget what was compiled."""
        ...

    @overload
    def __get__(self, instance: None, owner: Any = ..., /) -> Compiled[P, R]: ...

    @overload
    def __get__(
        self: Compiled[Concatenate[S, Q], R], instance: S, owner: Any = ..., /
    ) -> Callable[Q, R]: ...

    @overload  # for checkers that cannot take the first parameter away
    def __get__(self, instance: object, owner: Any = ..., /) -> Callable[..., R]: ...


# --------------------------------------------------------------------- transforms


class Jit(Protocol):
    """What `jit` is."""

    @overload
    def __call__(
        self,
        function: Callable[P, R],
        /,
        *,
        in_shardings: Any = ...,
        out_shardings: Any = ...,
        static_argnums: Numbers = ...,
        static_argnames: Names = ...,
        donate_argnums: Numbers = ...,
        donate_argnames: Names = ...,
        **options: Any,
    ) -> Compiled[P, R]: ...

    @overload
    def __call__(
        self,
        function: None = ...,
        /,
        *,
        in_shardings: Any = ...,
        out_shardings: Any = ...,
        static_argnums: Numbers = ...,
        static_argnames: Names = ...,
        donate_argnums: Numbers = ...,
        donate_argnames: Names = ...,
        **options: Any,
    ) -> Callable[[Callable[P, R]], Compiled[P, R]]: ...


class Vmap(Protocol):
    """What `vmap` is."""

    @overload
    def __call__(
        self,
        function: Callable[P, R],
        /,
        in_axes: Axes = ...,
        out_axes: Any = ...,
        *,
        axis_name: Any = ...,
        axis_size: int | None = ...,
        spmd_axis_name: Any = ...,
    ) -> Callable[P, R]: ...

    @overload
    def __call__(
        self,
        function: None = ...,
        /,
        in_axes: Axes = ...,
        out_axes: Any = ...,
        *,
        axis_name: Any = ...,
        axis_size: int | None = ...,
        spmd_axis_name: Any = ...,
    ) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


class Scan(Protocol):
    """What `scan` is."""

    @overload
    def __call__(
        self, function: Callable[P, R], /, **options: Unpack[OfScan]
    ) -> Callable[P, R]: ...

    @overload
    def __call__(
        self, function: None = ..., /, **options: Unpack[OfScan]
    ) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


class Remat(Protocol):
    """What `remat` is."""

    @overload
    def __call__(
        self, function: Callable[P, R], /, **options: Unpack[OfRemat]
    ) -> Callable[P, R]: ...

    @overload
    def __call__(
        self, function: None = ..., /, **options: Unpack[OfRemat]
    ) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


class ValueAndGrad(Protocol):
    """What `value_and_grad` is: the first argument is differentiated, or others."""

    @overload
    def __call__(
        self,
        function: Loose,
        /,
        argnums: Literal[0] = ...,
        *,
        has_aux: bool = ...,
        **options: Unpack[OfGrad],
    ) -> Unchecked[tuple[Any, Any]]: ...

    @overload
    def __call__(  # type: ignore[overload-overlap]  # 0 is an int
        self,
        function: Callable[Concatenate[ObjectT, P], R],
        /,
        argnums: Literal[0] = ...,
        *,
        has_aux: bool = ...,
        **options: Unpack[OfGrad],
    ) -> Callable[Concatenate[ObjectT, P], tuple[R, State]]: ...

    @overload
    def __call__(  # type: ignore[overload-overlap]  # 0 is an int
        self,
        function: Callable[Concatenate[T, P], R],
        /,
        argnums: Literal[0] = ...,
        *,
        has_aux: bool = ...,
        **options: Unpack[OfGrad],
    ) -> Callable[Concatenate[T, P], tuple[R, T]]: ...

    @overload
    def __call__(
        self,
        function: Callable[P, R],
        /,
        argnums: int | DiffState,
        *,
        has_aux: bool = ...,
        **options: Unpack[OfGrad],
    ) -> Callable[P, tuple[R, Any]]: ...

    @overload
    def __call__(
        self,
        function: Callable[P, R],
        /,
        argnums: Sequence[int | DiffState],
        *,
        has_aux: bool = ...,
        **options: Unpack[OfGrad],
    ) -> Callable[P, tuple[R, tuple[Any, ...]]]: ...

    @overload
    def __call__(  # pyright: ignore[reportOverlappingOverload]  # 0 is an int
        self,
        function: None = ...,
        /,
        argnums: Literal[0] = ...,
        *,
        has_aux: bool = ...,
        **options: Unpack[OfGrad],
    ) -> ByValueAndGrad: ...

    @overload
    def __call__(
        self,
        *,
        argnums: Argnums,
        has_aux: bool = ...,
        **options: Unpack[OfGrad],
    ) -> Callable[[Callable[P, R]], Callable[P, tuple[R, Any]]]: ...


class Grad(Protocol):
    """What `grad` is."""

    @overload
    def __call__(
        self,
        function: Loose,
        /,
        argnums: Literal[0] = ...,
        *,
        has_aux: bool = ...,
        **options: Unpack[OfGrad],
    ) -> Unchecked[Any]: ...

    @overload
    def __call__(  # type: ignore[overload-overlap]  # 0 is an int
        self,
        function: Callable[Concatenate[ObjectT, P], Any],
        /,
        argnums: Literal[0] = ...,
        *,
        has_aux: Literal[False] = ...,
        **options: Unpack[OfGrad],
    ) -> Callable[Concatenate[ObjectT, P], State]: ...

    @overload
    def __call__(  # type: ignore[overload-overlap]  # 0 is an int
        self,
        function: Callable[Concatenate[T, P], Any],
        /,
        argnums: Literal[0] = ...,
        *,
        has_aux: Literal[False] = ...,
        **options: Unpack[OfGrad],
    ) -> Callable[Concatenate[T, P], T]: ...

    @overload
    def __call__(  # type: ignore[overload-overlap]  # 0 is an int
        self,
        function: Callable[Concatenate[ObjectT, P], tuple[Any, Aux]],
        /,
        argnums: Literal[0] = ...,
        *,
        has_aux: Literal[True],
        **options: Unpack[OfGrad],
    ) -> Callable[Concatenate[ObjectT, P], tuple[State, Aux]]: ...

    @overload
    def __call__(  # type: ignore[overload-overlap]  # 0 is an int
        self,
        function: Callable[Concatenate[T, P], tuple[Any, Aux]],
        /,
        argnums: Literal[0] = ...,
        *,
        has_aux: Literal[True],
        **options: Unpack[OfGrad],
    ) -> Callable[Concatenate[T, P], tuple[T, Aux]]: ...

    @overload
    def __call__(
        self,
        function: Callable[P, Any],
        /,
        argnums: int | DiffState,
        *,
        has_aux: Literal[False] = ...,
        **options: Unpack[OfGrad],
    ) -> Callable[P, Any]: ...

    @overload
    def __call__(
        self,
        function: Callable[P, Any],
        /,
        argnums: Sequence[int | DiffState],
        *,
        has_aux: Literal[False] = ...,
        **options: Unpack[OfGrad],
    ) -> Callable[P, tuple[Any, ...]]: ...

    @overload
    def __call__(
        self,
        function: Callable[P, tuple[Any, Aux]],
        /,
        argnums: Argnums,
        *,
        has_aux: Literal[True],
        **options: Unpack[OfGrad],
    ) -> Callable[P, tuple[Any, Aux]]: ...

    @overload
    def __call__(  # pyright: ignore[reportOverlappingOverload]  # 0 is an int
        self,
        function: None = ...,
        /,
        argnums: Literal[0] = ...,
        *,
        has_aux: Literal[False] = ...,
        **options: Unpack[OfGrad],
    ) -> ByGrad: ...

    @overload
    def __call__(
        self,
        function: None = ...,
        /,
        argnums: Literal[0] = ...,
        *,
        has_aux: Literal[True],
        **options: Unpack[OfGrad],
    ) -> ByGradWithAux: ...

    @overload
    def __call__(
        self,
        *,
        argnums: Argnums,
        has_aux: bool = ...,
        **options: Unpack[OfGrad],
    ) -> Callable[[Callable[P, Any]], Callable[P, Any]]: ...


class ByValueAndGrad(Protocol):
    """What `value_and_grad` returns without a function: a decorator."""

    @overload
    def __call__(self, function: Loose, /) -> Unchecked[tuple[Any, Any]]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[ObjectT, P], R], /
    ) -> Callable[Concatenate[ObjectT, P], tuple[R, State]]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[T, P], R], /
    ) -> Callable[Concatenate[T, P], tuple[R, T]]: ...


class ByGrad(Protocol):
    """What `grad` returns without a function."""

    @overload
    def __call__(self, function: Loose, /) -> Unchecked[Any]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[ObjectT, P], Any], /
    ) -> Callable[Concatenate[ObjectT, P], State]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[T, P], Any], /
    ) -> Callable[Concatenate[T, P], T]: ...


class ByGradWithAux(Protocol):
    """What `grad` returns without a function, with `has_aux`."""

    @overload
    def __call__(self, function: Loose, /) -> Unchecked[tuple[Any, Any]]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[ObjectT, P], tuple[Any, Aux]], /
    ) -> Callable[Concatenate[ObjectT, P], tuple[State, Aux]]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[T, P], tuple[Any, Aux]], /
    ) -> Callable[Concatenate[T, P], tuple[T, Aux]]: ...


# ------------------------------------------------------------------- to say so


def _same(function: Any) -> Any:
    return function


as_jit: Callable[[Any], Jit] = _same
as_vmap: Callable[[Any], Vmap] = _same
as_scan: Callable[[Any], Scan] = _same
as_remat: Callable[[Any], Remat] = _same
as_grad: Callable[[Any], Grad] = _same
as_value_and_grad: Callable[[Any], ValueAndGrad] = _same
"""Decorators that return the function as it is."""
