"""`NodeType`: how nodes of one type are taken apart and put together.

A node type says how a node is flattened and unflattened, which keys its children have,
and when two nodes are the same. Everything else follows from that.
Those of the built-in types are in `builtins`, those of registered classes in
`register`; no other module asks for a type by name. Node types are compared by
identity: two treedefs agree on a node only if the same registration made both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any, NamedTuple, TypeAlias

from .._records import Sealed
from .._text import escape_controls, safe_repr
from ..equality import exact
from .keys import DictKey, SequenceKey, dict_keys, flat_keys


FlattenFunc: TypeAlias = Callable[
    [Any], "tuple[Iterable[Any], Any] | tuple[Iterable[Any], Any, Iterable[Any]]"
]
"""Takes a node, returns `(children, aux_data)` or `(children, aux_data, keys)`."""

UnflattenFunc: TypeAlias = Callable[[Any, "tuple[Any, ...]"], Any]
"""Takes `(aux_data, children)`, returns a node."""


def _no_names(_node: Any) -> Sequence[str]:
    return ()


class Attributes(NamedTuple):
    """What edits, merges and overrides ask about the attributes of objects.

    Attributes:
        static_names: Takes a node, returns the names of the attributes that are aux
            data, as far as they are known.
        with_static: Takes aux data and a dict from such names to values, returns aux
            data with these values. None if static attributes are set in another way.
        validate: Validates a node after edits, as assignments to its attributes would.
            Takes the new node, which is not shared yet, and the names of the attributes
            with new values. May convert these values in place. None if the class
            validates nothing.
        extras: Takes a node and returns the dict of its attributes that can be added
            or removed, None if it has no such dict.
        declared: Takes the class and returns a dict from attribute names to types, each
            with whether the class converts the values. None if the annotations of the
            class say all.
    """

    static_names: Callable[[Any], Sequence[str]] = _no_names
    with_static: Callable[[Any, Mapping[str, Any]], Any] | None = None
    validate: Callable[[Any, Set[str]], None] | None = None
    extras: Callable[[Any], dict[str, Any] | None] | None = None
    declared: Callable[[Any], dict[str, tuple[Any, bool]]] | None = None


class NodeType(Sealed):
    """How nodes of one type are flattened and unflattened, and when they are the same.

    To define a node type, write a subclass with `flatten`, `unflatten` and (usually)
    `keys`; with `same` and `hash` if the aux data is not compared as it is, and with
    `class_of` if several classes share the node type. If nodes are containers, that is,
    if there can be nodes with any other items, set `item_key` and write `items`,
    `from_items` and, if there is more in a node than its items, `rest`; for mappings,
    `order`.

    Args:
        cls: The class of the nodes.
        **given: Other attributes of this node type. A function given here replaces the
            method of that name; it does not take the node type as its first argument.

    Attributes:
        cls: The class of the nodes.
        name: The kind of node: `list`, `dict`, ..., `custom`.
        namespace: The namespace of the registration, `""` for the global one.
        where: File and line that registered the class, `""` for built-ins.
        adapt: Called for a subclass if the class is registered with `inherit`. Returns
            the node type of the subclass, the same one each time, or None to make its
            instances leaves.
        item_key: For containers, the class of the keys of their items: `DictKey` for
            mappings, `SequenceKey` for sequences.
        is_fixed: Whether edits and diffs keep the number of items nevertheless, as for
            a tuple.
        attributes: What edits ask about the attributes of objects.
        fill: For objects, which count as one in several places: takes an empty
            instance, aux data and children, fills and returns the instance. None for
            values.
        aux_compares_itself: Whether `==` and `hash` of the aux data do what `same` and
            `hash` do. Frameworks then keep it as it is.
        form: What `flatten` and `unflatten` consist of, so that the engine can write it
            out: `Fields`, `Shaped`, `Functions`, or None if it has to call them.

    Example:
        >>> import leafwise as lw
        >>> node_type = lw.registry.lookup(list)
        >>> node_type.name, node_type.flatten([1, 2]), node_type.unflatten(None, [3, 4])
        ('list', ([1, 2], None), [3, 4])
    """

    cls: type
    name: str = "custom"
    namespace: str = ""
    where: str = ""
    adapt: Callable[[type], NodeType | None] | None = None
    item_key: type[DictKey | SequenceKey] | None = None
    is_fixed: bool = False
    attributes: Attributes = Attributes()
    fill: Any = None
    aux_compares_itself: bool = False
    form: Any = None

    def __init__(self, cls: type, **given: Any) -> None:
        object.__setattr__(self, "cls", cls)
        for name, value in given.items():
            if not hasattr(type(self), name):
                raise TypeError(f"a node type has no {name}")
            object.__setattr__(self, name, value)

    # ------------------------------------------------------ flattening, unflattening

    def flatten(self, node: Any, /) -> tuple[Sequence[Any], Any]:
        """Return the children and the aux data of a node.

        The children are a list or tuple that no other code changes.
        """
        raise NotImplementedError

    def unflatten(self, aux: Any, children: Any, /) -> Any:
        """Return a node with these children; it may keep the list."""
        raise NotImplementedError

    def keys(self, aux: Any, arity: int, /) -> Sequence[Any]:
        """Return a key for each child; by default, a `FlattenedIndexKey`."""
        return flat_keys(arity)

    def same(self, a: Any, b: Any, /) -> bool:
        """Return whether two pieces of aux data are the same. Never raises."""
        return exact.same(a, b)

    def hash(self, aux: Any, /) -> int:
        """Return a hash of aux data that agrees with `same`. Never raises."""
        return exact.digest(aux)

    def class_of(self, aux: Any, /) -> type:
        """Return the class of a node; override it if several classes share this one."""
        return self.cls

    # ------------------------------------------------------------------------ items

    def items(self, node: Any, /) -> Any:
        """Return the items of a container, in its own order, as a dict or list.

        The caller may change it.
        """
        raise NotImplementedError

    def rest(self, node: Any, /) -> Any:
        """Return everything in a container except its items."""
        return None

    def from_items(self, rest: Any, items: Any, /) -> Any:
        """Return a container with these items; it may keep their dict or list."""
        raise NotImplementedError

    def order(self, keys: tuple[Any, ...], /) -> tuple[Any, ...]:
        """Return the keys of a mapping's items in leaf order."""
        return dict_keys(keys).ordered

    # ---------------------------------------------------------- what follows from that

    @property
    def is_mapping(self) -> bool:
        """Whether nodes are containers whose items have keys."""
        return self.item_key is DictKey

    @property
    def is_sequence(self) -> bool:
        """Whether nodes are containers whose items have positions."""
        return self.item_key is SequenceKey

    def match(self, aux: Any, arity: int, node: Any, /) -> Sequence[Any] | None:
        """Return the children of another node, None if it does not match.

        A node matches one with this aux data and this number of children if its class,
        aux data and number of children are the same.

        Python's own containers override this: what is in them beside their items does
        not count in a match.
        """
        if type(node) is not self.class_of(aux):
            return None
        children, other_aux = self.flatten(node)
        if len(children) != arity:
            return None
        if aux is other_aux or self.same(aux, other_aux):
            return children
        return None

    def compared_aux(self, aux: Any, /) -> Any:
        """Return what `same` compares, or more, in one order for equal aux data.

        Fingerprints use it, together with the class and the number of children.
        """
        return aux

    # ------------------------------------------------------------------------ itself

    def __copy__(self) -> NodeType:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> NodeType:
        return self

    def __reduce__(self) -> Any:
        raise TypeError("a node type cannot be pickled; pickle the treedef that has it")

    def __repr__(self) -> str:
        scope = f" in namespace {safe_repr(self.namespace)}" if self.namespace else ""
        origin = f", registered at {self.where}" if self.where else ""
        name = escape_controls(self.cls.__qualname__)
        return f"<NodeType {self.name} for {name}{scope}{origin}>"


class BoundNodeType(NodeType):
    """A node type whose `flatten` and `unflatten` are functions made for its class.

    Slots hold them: attributes that hide methods would take longer to read.
    """

    __slots__ = ("flatten", "unflatten")


# ------------------------------------------------------------------- items by key


def items_by_key(node_type: NodeType, node: Any) -> dict[Any, Any]:
    """Return the items of a container by key or position."""
    items = node_type.items(node)
    if node_type.is_mapping:
        return items  # type: ignore[no-any-return]  # those of a mapping are a dict
    return dict(enumerate(items))


def with_items(node_type: NodeType, node: Any, items: dict[Any, Any]) -> Any:
    """Return a container like another one with these items; it may keep the dict.

    Args:
        node_type: The node type of the container.
        node: The container.
        items: The items by key, or those of a sequence in their order.
    """
    if node_type.is_mapping:
        return node_type.from_items(node_type.rest(node), items)
    return node_type.from_items(node_type.rest(node), list(items.values()))


# ------------------------------------------------------------------------- forms


class Fields(NamedTuple):
    """Children and aux data are attributes, set on an empty instance.

    Attributes:
        data: The names of the children.
        meta: The names of the aux data.
        new: Makes an empty instance of a class.
        put: Sets an attribute of it.
    """

    data: tuple[str, ...]
    meta: tuple[str, ...]
    new: Any
    put: Callable[[Any, str, Any], None]


class Functions(NamedTuple):
    """A node is flattened and unflattened by two functions of a user.

    Attributes:
        flatten: Takes a node; its result is still to be checked.
        unflatten: Takes aux data and a tuple of children.
        checked: Checks the result; returns children, and aux data with keys or None.
    """

    flatten: FlattenFunc
    unflatten: UnflattenFunc
    checked: Callable[[Any], tuple[Sequence[Any], tuple[Any, Any]]]


class Shaped(NamedTuple):
    """Children and aux data are attributes; which, says a shape that a node has.

    A shape has `fields.data` and `fields.static`, the names of children and
    aux data, and `fields.names`, all names in their order. The aux data of a node
    has the `fields`, and the `values` of what is not a child.

    Attributes:
        slot: The name of the attribute where a node has its shape.
        new: Makes an empty instance of a class.
        put_attributes: Gives a node its `__dict__`.
        put_shape: Gives a node its shape.
        aux_of: Takes a shape and values, returns aux data.
    """

    slot: str
    new: Any
    put_attributes: Callable[[Any, dict[str, Any]], None]
    put_shape: Callable[[Any, Any], None]
    aux_of: Callable[[Any, tuple[Any, ...]], Any]
