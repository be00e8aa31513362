"""`partial` as a node and `reduce`, by the names of `optree.functools`."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, ClassVar, Self

from ...core.builtins import WrappedPartial
from .accessors import GetAttrEntry, PyTreeEntry
from .ops import tree_reduce as reduce
from .registry import GLOBAL_NAMESPACE, register_pytree_node_class
from .typing import CustomTreeNode, T


if sys.version_info >= (3, 14):
    from functools import Placeholder

    __all__ = ["Placeholder", "partial", "reduce"]  # new in Python 3.14
else:
    __all__ = ["partial", "reduce"]


@register_pytree_node_class(namespace=GLOBAL_NAMESPACE)
class partial(functools.partial[Any], CustomTreeNode[T]):  # noqa: N801  # its name in optree
    """A `functools.partial` whose arguments are leaves and whose function is not.

    Args:
        func: The function to call; a partial keeps its own arguments to itself.
        *args: Positional arguments.
        **keywords: Keyword arguments.

    Example:
        >>> from leafwise.compat import optree
        >>> half = optree.functools.partial(pow, 2, mod=7)
        >>> optree.tree_leaves(half)
        [2, 7]
        >>> optree.tree_map(lambda x: x + 1, half)(5)
        3
    """

    __slots__ = ()

    TREE_PATH_ENTRY_TYPE: ClassVar[type[PyTreeEntry]] = GetAttrEntry

    def __new__(cls, func: Callable[..., Any], /, *args: T, **keywords: T) -> Self:
        """Fill in the arguments."""
        # `functools.partial` would merge the two, and their arguments would be leaves.
        if isinstance(func, functools.partial):
            func = WrappedPartial(func)
        return super().__new__(cls, func, *args, **keywords)

    def __tree_flatten__(self) -> Any:
        """Return arguments, function and the names of the two."""
        return (self.args, self.keywords), self.func, ("args", "keywords")

    @classmethod
    def __tree_unflatten__(cls, metadata: Any, children: Any, /) -> Self:
        """Return a partial of a function and arguments."""
        args, keywords = children
        return cls(metadata, *args, **keywords)
