"""Names for annotations: `PyTree[T]`, and the protocols of a registration."""

from __future__ import annotations

import types
from collections import deque
from typing import (
    Any,
    ForwardRef,
    Generic,
    Never,
    Protocol,
    Self,
    TypeAlias,
    TypeVar,
    Union,
    runtime_checkable,
)
from weakref import WeakSet

from .accessors import PyTreeKind as PyTreeKind
from .forms import *
from .spec import PyTreeSpec


PyTreeDef: TypeAlias = PyTreeSpec
T = TypeVar("T")


@runtime_checkable
class CustomTreeNode(Protocol[T]):  # type: ignore[misc]  # as optree's
    """A class that can be registered by its own methods."""

    def __tree_flatten__(self) -> Any:
        """Return children and metadata, and optionally entries."""

    @classmethod
    def __tree_unflatten__(cls, metadata: Any, children: Any, /) -> Self:
        """Return a node of metadata and children."""
        ...


class FlattenFunc(Protocol[T]):  # type: ignore[misc]  # as optree's
    """A function from a node to its children, metadata and, optionally, entries."""

    def __call__(self, container: Any, /) -> Any:
        """Flatten a node."""


class UnflattenFunc(Protocol[T]):  # type: ignore[misc]  # as optree's
    """A function from metadata and children to a node."""

    def __call__(self, metadata: Any, children: Any, /) -> Any:
        """Rebuild a node."""


_unions: WeakSet[Any] = WeakSet()


def _union(name: str | None, param: Any) -> Any:
    try:
        if name is None and param in _unions:
            return param
    except TypeError:  # it has no weak references
        pass
    spelled = repr(param)
    if isinstance(param, type) and not isinstance(param, types.GenericAlias):
        is_builtin = param.__module__ == "builtins"
        spelled = ("" if is_builtin else f"{param.__module__}.") + param.__qualname__
    own: Any = ForwardRef(name or f"PyTree[{spelled}]")
    nodes = tuple[own, ...], list[own], dict[Any, own], deque[own], CustomTreeNode[own]
    made: Any = Union[(param, *nodes)]  # of what is no class
    _unions.add(made)
    return made


class PyTree(Generic[T]):
    """`PyTree[T]`: a leaf of type `T`, or nested containers of such leaves.

    At run time it is a union. A second item is the name by which the union mentions
    itself.

    Example:
        >>> from leafwise.compat import optree
        >>> import typing
        >>> typing.get_args(optree.PyTree[int])[:2]
        (<class 'int'>, tuple[ForwardRef('PyTree[int]'), ...])
    """

    def __class_getitem__(cls, item: Any) -> Any:
        """Return the union of a type, and of a name, if one is given."""
        param, name = item if type(item) is tuple and len(item) == 2 else (item, None)
        if type(param) is tuple or not (name is None or isinstance(name, str)):
            raise TypeError(f"PyTree[...] takes a type and maybe a name, got {item!r}.")
        return _union(name, param)

    def __new__(cls) -> Never:
        """Refuse: it is for annotations."""
        raise TypeError("Cannot instantiate special typing classes.")

    def __init_subclass__(cls, /, *args: Any, **kwargs: Any) -> Never:
        raise TypeError("Cannot subclass special typing classes.")


class PyTreeTypeVar:
    """Make a union as `PyTree[param, name]`."""

    def __new__(cls, /, name: str, param: Any) -> Any:
        """Make the union."""
        if not isinstance(name, str):
            raise TypeError(
                f"{cls.__name__} only supports a string of type name, got {name!r}."
            )
        return _union(name, param)

    def __init_subclass__(cls, /, *args: Any, **kwargs: Any) -> Never:
        raise TypeError("Cannot subclass special typing classes.")


_FORMS = ("is_namedtuple", "is_structseq", "namedtuple_fields", "structseq_fields")
__all__ = [  # pyright: ignore[reportUnsupportedDunderAll]
    *("CustomTreeNode", "FlattenFunc", "PyTree", "PyTreeDef", "PyTreeKind"),
    *("PyTreeSpec", "PyTreeTypeVar", "UnflattenFunc"),
    *(name for name in globals() if name.startswith(_FORMS)),
]
