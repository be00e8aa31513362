"""`Partial`: a function with some arguments filled in, as a node of a tree.

Owns the class; its rule stands with the other built-in rules in `containers`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from . import auxdata
from .safely import shown


__all__ = ["Partial"]

R = TypeVar("R")


class _Sealed:
    """Wraps a `functools.partial` so that an outer one does not absorb it.

    Two of them are equal when the wrapped partials are made of equal parts.
    """

    __slots__ = ("func",)

    def __init__(self, func: Callable[..., Any]) -> None:
        self.func = func

    def __eq__(self, other: object) -> bool:
        if type(other) is not _Sealed:
            return NotImplemented
        return auxdata.same(self.func, other.func)

    def __hash__(self) -> int:
        return auxdata.digest(self.func)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self.func(*args, **keywords)

    def __repr__(self) -> str:
        return shown(self.func)

    def __reduce__(self) -> tuple[Any, ...]:
        return _Sealed, (self.func,)


class Partial(functools.partial[R], Generic[R]):
    """A `functools.partial` whose arguments are leaves and whose function is not.

    The children are `args` and `keywords`; the function is aux data. A partial
    that is wrapped keeps its own arguments to itself: they are not leaves.

    Args:
        func: The function to call.
        *args: Positional arguments, filled in from the left.
        **keywords: Keyword arguments.

    Raises:
        TypeError: The function is not callable.

    Example:
        >>> import leafwise as lw
        >>> half = lw.Partial(pow, 2, mod=7)
        >>> lw.tree_leaves(half)
        [2, 7]
        >>> lw.tree_map(lambda x: x + 1, half)(5)
        3

    The idea is that of `jax.tree_util.Partial`.
    """

    def __new__(
        cls, func: Callable[..., R], /, *args: Any, **keywords: Any
    ) -> Partial[R]:
        """Fill in the arguments; a partial is wrapped, not taken apart."""
        if isinstance(func, functools.partial):
            func = _Sealed(func)
        return super().__new__(cls, func, *args, **keywords)
