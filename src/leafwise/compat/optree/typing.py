"""Names for annotations: `PyTree[T]`, and the protocols of a registration."""

from __future__ import annotations

from typing import Any, Generic, Protocol, Self, TypeAlias, TypeVar, runtime_checkable

from ._nodes import (
    PyTreeKind,
    is_namedtuple,
    is_namedtuple_class,
    is_namedtuple_instance,
    is_structseq,
    is_structseq_class,
    is_structseq_instance,
    namedtuple_fields,
    structseq_fields,
)
from ._treespec import PyTreeSpec


__all__ = [
    "CustomTreeNode",
    "FlattenFunc",
    "PyTree",
    "PyTreeDef",
    "PyTreeKind",
    "PyTreeSpec",
    "PyTreeTypeVar",
    "UnflattenFunc",
    "is_namedtuple",
    "is_namedtuple_class",
    "is_namedtuple_instance",
    "is_structseq",
    "is_structseq_class",
    "is_structseq_instance",
    "namedtuple_fields",
    "structseq_fields",
]

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


class _StructSequences(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return is_structseq_instance(instance)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return is_structseq_class(subclass)


class StructSequence(tuple[T, ...], metaclass=_StructSequences):
    """The abstract class of struct sequences such as `time.struct_time`."""

    __slots__ = ()


class PyTree(Generic[T]):
    """`PyTree[T]`: a leaf of type `T`, or nested containers of such leaves.

    It is for annotations, and not a union at run time, as it is in optree.

    Example:
        >>> from leafwise.compat import optree
        >>> import typing
        >>> typing.get_args(optree.PyTree[int])
        (<class 'int'>,)
    """

    def __class_getitem__(cls, param: Any) -> Any:
        """Return the annotation of trees; trees of trees are trees."""
        if getattr(param, "__origin__", None) is cls:
            return param
        return super().__class_getitem__(param)  # type: ignore[misc]


def PyTreeTypeVar(name: str, param: Any) -> Any:  # noqa: N802  # its name
    """Return `PyTree[param]`; the name is that of the annotation in optree."""
    return PyTree[param]
