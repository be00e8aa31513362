"""Names for annotations, as `optree.typing` has them.

Owns `PyTree[T]` as a union that can be looked into at run time, and the protocols of
nodes and of the functions of a registration.
"""

from __future__ import annotations

import threading
import types
import typing
from builtins import dict as Dict  # the names that optree has
from builtins import list as List
from builtins import tuple as Tuple
from collections import OrderedDict
from collections import defaultdict as DefaultDict
from collections import deque as Deque
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from typing import (
    Any,
    ClassVar,
    ForwardRef,
    Generic,
    Never,
    Protocol,
    Self,
    TypeAlias,
    TypeVar,
)
from typing import Union as _Union
from weakref import WeakKeyDictionary

from typing_extensions import (
    NamedTuple,
    ParamSpec,
    runtime_checkable,
)

from .. import forms
from ..forms import *
from . import accessors
from .accessors import *
from .accessors import PyTreeKind
from .spec import PyTreeSpec


__all__ = [
    "KT",
    "VT",
    "Children",
    "CustomTreeNode",
    "DefaultDict",
    "Deque",
    "Dict",
    "F",
    "FlattenFunc",
    "Iterable",
    "List",
    "MetaData",
    "NamedTuple",
    "OrderedDict",
    "P",
    "PyTree",
    "PyTreeDef",
    "PyTreeKind",
    "PyTreeSpec",
    "PyTreeTypeVar",
    "S",
    "Sequence",
    "T",
    "Tuple",
    "U",
    "UnflattenFunc",
]
__all__ += accessors.__all__
__all__ += forms.__all__

PyTreeDef: TypeAlias = PyTreeSpec

T = TypeVar("T")
S = TypeVar("S")
U = TypeVar("U")
KT = TypeVar("KT")
VT = TypeVar("VT")
P = ParamSpec("P")
F = TypeVar("F", bound=Callable[..., Any])

Children: TypeAlias = Iterable[T]
MetaData: TypeAlias = typing.Optional[Hashable]  # noqa: UP045  # as optree's


@runtime_checkable
class CustomTreeNode(Protocol[T]):  # type: ignore[misc]  # as optree's
    """A class that can be registered by its own methods."""

    def __tree_flatten__(self) -> Any:
        """Return children and metadata, and if it likes, entries."""

    @classmethod
    def __tree_unflatten__(cls, metadata: Any, children: Any, /) -> Self:
        """Return a node of metadata and children."""
        ...


class FlattenFunc(Protocol[T]):  # type: ignore[misc]  # as optree's
    """A function from a node to its children, metadata and, optionally, entries."""

    def __call__(self, container: Collection[T], /) -> Any:
        """Flatten a node."""


class UnflattenFunc(Protocol[T]):  # type: ignore[misc]  # as optree's
    """A function from metadata and children to a node."""

    def __call__(self, metadata: Any, children: Any, /) -> Collection[T]:
        """Rebuild a node."""
        ...


# ------------------------------------------------------------------------------ PyTree


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

    __slots__: ClassVar[tuple[()]] = ()
    __instances__: ClassVar[Any] = WeakKeyDictionary()
    __instance_lock__: ClassVar[Any] = threading.Lock()

    def __class_getitem__(cls, item: Any) -> Any:
        """Return the union of a type, and of a name, if one is given."""
        param, name = item if type(item) is tuple else (item, None)
        if (type(item) is tuple and len(item) != 2) or not _is_name(name):
            raise TypeError(
                f"{cls.__name__}[...] takes a type and maybe a name, got {item!r}."
            )
        if name is None and _known(param):
            return param
        reference: Any = ForwardRef(name or f"{cls.__name__}[{_spelled(param)}]")
        made: Any = _Union[  # noqa: UP007  # of what is no class
            param,
            Tuple[reference, ...],
            List[reference],
            Dict[Any, reference],
            Deque[reference],
            CustomTreeNode[reference],
        ]
        with cls.__instance_lock__:
            cls.__instances__[made] = (param, name)
        return made

    def __new__(cls) -> Never:
        """Refuse: it is for annotations."""
        raise TypeError("Cannot instantiate special typing classes.")

    def __init_subclass__(cls, /, *args: Any, **kwargs: Any) -> Never:
        raise TypeError("Cannot subclass special typing classes.")


_unions: Any = PyTree


def _is_name(name: Any) -> bool:
    return name is None or isinstance(name, str)


def _known(param: Any) -> bool:
    """Return whether a type is such a union already."""
    try:
        return param in _unions.__instances__
    except TypeError:  # it has no weak references
        return False


def _spelled(param: Any) -> str:
    """Return the name of a type, as code would spell it."""
    if not isinstance(param, type) or isinstance(param, types.GenericAlias):
        return repr(param)
    if param.__module__ == "builtins":
        return param.__qualname__
    return f"{param.__module__}.{param.__qualname__}"


class PyTreeTypeVar:
    """Make a union as `PyTree[param, name]`.

    Args:
        name: The name by which the union mentions itself.
        param: The type of the leaves.
    """

    def __new__(cls, /, name: str, param: Any) -> Any:
        """Make the union."""
        if not isinstance(name, str):
            raise TypeError(
                f"{cls.__name__} only supports a string of type name, got {name!r}."
            )
        return _unions[param, name]

    def __init_subclass__(cls, /, *args: Any, **kwargs: Any) -> Never:
        raise TypeError("Cannot subclass special typing classes.")
