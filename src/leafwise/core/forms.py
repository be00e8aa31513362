"""Forms: what the functions of a rule are made of, where that is simple.

A rule works by its functions. Whoever wants to do the same without calling them
reads here how: by attributes, by items, or by two functions of a user's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .frozen import Frozen


if TYPE_CHECKING:
    from ..typing import FlattenFunc, UnflattenFunc

__all__ = ["Fields", "Functions", "Items", "Shaped"]


class Fields(Frozen):
    """Children and aux data are attributes, set on an empty instance.

    Attributes:
        data: The names of the children.
        meta: The names of the aux data.
        new: Makes an empty instance of a class.
        put: Sets an attribute of it.
    """

    __slots__ = ("data", "meta", "new", "put")
    __match_args__ = ("data", "meta", "new", "put")

    data: tuple[str, ...]
    meta: tuple[str, ...]
    new: Any
    put: Callable[[Any, str, Any], None]

    def __init__(
        self,
        data: tuple[str, ...],
        meta: tuple[str, ...],
        new: Any,
        put: Callable[[Any, str, Any], None],
    ) -> None:
        self._set(data, meta, new, put)


class Functions(Frozen):
    """A node comes apart and together by two functions that somebody gave.

    Attributes:
        flatten: Takes a node; its result is still to be checked.
        unflatten: Takes aux data and a tuple of children.
    """

    __slots__ = ("flatten", "unflatten")
    __match_args__ = ("flatten", "unflatten")

    flatten: FlattenFunc
    unflatten: UnflattenFunc

    def __init__(self, flatten: FlattenFunc, unflatten: UnflattenFunc) -> None:
        self._set(flatten, unflatten)


class Items(Frozen):
    """Children are the items of a container, which may have others as well.

    Attributes:
        is_mapping: Whether the items have keys; else they have positions.
        take: Takes a node, returns the keys of its items (of a sequence: nothing), the
            items, both in the node's own order, and what else the node is.
        make: Takes what else a node is, keys and items, returns a node.
    """

    __slots__ = ("is_mapping", "make", "take")
    __match_args__ = ("is_mapping", "take", "make")

    is_mapping: bool
    take: Callable[[Any], tuple[Sequence[Any], Sequence[Any], Any]]
    make: Callable[[Any, Sequence[Any], Sequence[Any]], Any]

    def __init__(
        self,
        is_mapping: bool,
        take: Callable[[Any], tuple[Sequence[Any], Sequence[Any], Any]],
        make: Callable[[Any, Sequence[Any], Sequence[Any]], Any],
    ) -> None:
        self._set(is_mapping, take, make)


class Shaped(Frozen):
    """Children and aux data are attributes; which, says a shape that a node has.

    A shape has `anatomy.data` and `anatomy.static`, the names of children and aux
    data, and `anatomy.names`, all names in their order. The aux data of a node
    has the `anatomy`, and the `values` of what is not a child.

    Attributes:
        slot: The name of the attribute where a node has its shape.
        new: Makes an empty instance of a class.
        put_attributes: Gives a node its `__dict__`.
        put_shape: Gives a node its shape.
        aux_of: Takes a shape and values, returns aux data.
    """

    __slots__ = ("aux_of", "new", "put_attributes", "put_shape", "slot")
    __match_args__ = ("slot", "new", "put_attributes", "put_shape", "aux_of")

    slot: str
    new: Any
    put_attributes: Callable[[Any, dict[str, Any]], None]
    put_shape: Callable[[Any, Any], None]
    aux_of: Callable[[Any, tuple[Any, ...]], Any]

    def __init__(
        self,
        slot: str,
        new: Any,
        put_attributes: Callable[[Any, dict[str, Any]], None],
        put_shape: Callable[[Any, Any], None],
        aux_of: Callable[[Any, tuple[Any, ...]], Any],
    ) -> None:
        self._set(slot, new, put_attributes, put_shape, aux_of)
