"""`Rule`: everything leafwise knows about one node type.

A rule says how a node is flattened and unflattened, which keys its children have,
which other nodes match it, and how it is compared, described and written down. The
rules of the built-in types are in `builtins`, those of registered classes in
`register`; nothing outside them asks for a type by name. Rules are compared by
identity: two treedefs agree on a node only if the same registration made both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any, NamedTuple, TypeAlias

from .._records import Sealed
from .._text import escape_controls, safe_repr, safe_str, short_repr
from ..equality import exact
from .keys import dict_keys, flat_keys


FlattenFunc: TypeAlias = Callable[
    [Any], "tuple[Iterable[Any], Any] | tuple[Iterable[Any], Any, Iterable[Any]]"
]
"""Takes a node, returns `(children, aux_data)` or `(children, aux_data, keys)`."""

UnflattenFunc: TypeAlias = Callable[[Any, "tuple[Any, ...]"], Any]
"""Takes `(aux_data, children)`, returns a node."""

Brackets: TypeAlias = "tuple[str, Sequence[str] | None, str]"
"""Text before the children, before each child, and after the children."""


class Rule(Sealed):
    """How nodes of one type are flattened, unflattened, matched and described.

    To define a new node type, write a subclass with `flatten`, `unflatten` and
    (usually) `keys`. All other methods have defaults that follow from these.

    Args:
        cls: The class of the nodes.
        **given: Other attributes of this rule. A function given here replaces the
            method of that name; it does not take the rule as its first argument.

    Attributes:
        cls: The class of the nodes.
        name: The kind of node: `list`, `dict`, ..., `custom`.
        namespace: The namespace of the registration, `""` for the global one.
        where: File and line that registered the class, `""` for built-ins.
        is_mapping: Whether the children are items with keys, and nodes with other items
            are possible; see `items`.
        is_sequence: Whether the children are items at positions, and nodes with other
            items are possible.
        is_fixed: Whether edits and diffs keep the number of items nevertheless, as for
            a tuple.
        reads_items: Whether `node[key.entry]` reads an item, if `is_mapping` or
            `is_sequence` is set; if so, `bare_keys` are known.
        pairs_by_key: Whether a node matches dicts of all kinds with the same keys.
        adapt: Called for a subclass if the class is registered with `inherit`. Returns
            the rule of the subclass, the same one each time, or None to make its
            instances leaves.
        unflatten_into: For nodes that can be created before their children. Takes an
            empty instance, aux data and children; fills in and returns the instance.
        validate_edit: Validates a node after edits, as assignments to its attributes
            would. Takes the new node, which is not shared yet, and the names of the
            attributes with new values. May convert these values in place. None if the
            class validates nothing.
        extras: Takes a node and returns the dict of its attributes that can be added
            or removed, None if there are no such attributes.
        declared: Takes the class and returns a dict from attribute names to types, each
            with whether the class converts the values. None if the annotations of the
            class say all.
        codec: The default codec for aux data: a function of it and of what
            `aux_to_json` gets, to a value that `json.dumps` accepts, and a function
            back. None for plain values.
        form: What `flatten` and `unflatten` consist of, in simple cases: `Fields`,
            `Shaped`, `Functions` or None.

    Example:
        >>> import leafwise as lw
        >>> rule = lw.registry.lookup(list)
        >>> rule.name, rule.flatten([1, 2]), rule.unflatten(None, [3, 4])
        ('list', ([1, 2], None), [3, 4])
    """

    cls: type
    name: str = "custom"
    namespace: str = ""
    where: str = ""
    is_mapping: bool = False
    is_sequence: bool = False
    is_fixed: bool = False
    reads_items: bool = False
    pairs_by_key: bool = False
    adapt: Callable[[type], Rule | None] | None = None
    unflatten_into: Any = None
    validate_edit: Callable[[Any, Set[str]], None] | None = None
    extras: Callable[[Any], dict[str, Any] | None] | None = None
    declared: Callable[[Any], dict[str, tuple[Any, bool]]] | None = None
    codec: tuple[Callable[[Any, Any], Any], Callable[[Any], Any]] | None = None
    form: Any = None

    def __init__(self, cls: type, **given: Any) -> None:
        for name in given:
            if not hasattr(type(self), name):
                raise TypeError(f"a rule has no {name}")
        for name, value in {"cls": cls, **given}.items():
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

    def bare_keys(self, aux: Any, arity: int, /) -> Sequence[Any]:
        """Return the entry of each key; a key without `entry` is its own entry."""
        return [getattr(key, "entry", key) for key in self.keys(aux, arity)]

    def class_of(self, aux: Any, /) -> type:
        """Return the class of a node; override it if several classes share the rule."""
        return self.cls

    def empty(self, aux: Any, /) -> Any:
        """Return an empty node for `unflatten_into`, None if that is impossible."""
        return None

    def static_names(self, node: Any, /) -> Sequence[str]:
        """Return the names of the attributes of a node that are aux data, if known."""
        return ()

    def with_static(self, aux: Any, values: Mapping[str, Any], /) -> Any:
        """Return aux data in which the attributes of these names have other values.

        Only called for names that `static_names` returns.
        """
        raise NotImplementedError

    # --------------------------------------------------------------------- matching

    def match(self, aux: Any, arity: int, node: Any, /) -> Sequence[Any] | None:
        """Return the children of another node, None if it does not match.

        The children are in the order of the node that has this aux data. By default, a
        node matches if its class, aux data and number of children are the same.
        """
        if type(node) is not self.cls:
            return None
        children, other = self.flatten(node)
        if len(children) == arity and self.same_aux(aux, other):
            return children
        return None

    def match_aux(self, aux: Any, other: Any, /) -> bool:
        """Return whether nodes with these aux data match, as `match` does."""
        return self.same_aux(aux, other)

    def same_aux(self, a: Any, b: Any, /) -> bool:
        """Return whether two pieces of aux data are the same. Never raises."""
        return exact.same(a, b)

    def hash_aux(self, aux: Any, /) -> int:
        """Return a hash that agrees with `same_aux`. Never raises."""
        return exact.digest(aux)

    def compared_aux(self, aux: Any, /) -> Any:
        """Return what `same_aux` compares, or more, in one order for equal aux data.

        Fingerprints use it, together with the class and the number of children.
        """
        return aux

    # ------------------------------------------------------------------------ items

    def items(self, node: Any, /) -> Any:
        """Return the items of a node, in the node's own order.

        The result is a dict if `is_mapping`, a list if `is_sequence`. The caller may
        change it.
        """
        raise NotImplementedError

    def rest(self, node: Any, /) -> Any:
        """Return everything in a node except its items."""
        return None

    def same_rest(self, a: Any, b: Any, /) -> bool:
        """Return whether two nodes are the same except for their items."""
        return exact.same(a, b)

    def from_items(self, rest: Any, items: Any, /) -> Any:
        """Return a node with these items; it may keep the container of the items."""
        raise NotImplementedError

    def entries(self, node: Any, /) -> dict[Any, Any]:
        """Return the items of a mapping by key, those of a sequence by position."""
        items = self.items(node)
        return items if self.is_mapping else dict(enumerate(items))

    def remade(self, node: Any, entries: dict[Any, Any], /) -> Any:
        """Return a node like another one with these entries; it may keep the dict."""
        items = entries if self.is_mapping else [*entries.values()]
        return self.from_items(self.rest(node), items)

    def order_keys(self, keys: tuple[Any, ...], /) -> tuple[Any, ...]:
        """Return the keys of a mapping's items in leaf order."""
        return dict_keys(keys).ordered

    # ------------------------------------------------------------------ descriptions

    def brackets(self, aux: Any, arity: int, /) -> Brackets:
        """Return what a treedef prints around the children."""
        return bracketed(self.cls.__name__, self.node_data(aux))

    def node_data(self, aux: Any, /) -> Any:
        """Return what `PyTreeDef.node_data` shows of the aux data."""
        return aux

    def node_from(self, cls: type, data: Any, children: list[Any], /) -> Any:
        """Make a node from the result of `node_data` and the children in leaf order."""
        return self.unflatten(data, children)

    def describe(self, aux: Any, arity: int, /) -> str:
        """Return a description of a node, for messages."""
        data = self.node_data(aux)
        said = "" if data is None else f" and aux data {short_repr(data)}"
        return f"{self.cls.__qualname__} with {count_of_children(arity)}{said}"

    def origin(self) -> str:
        """Return where the rule comes from."""
        if not self.where:
            return "built in"
        scope = f"in namespace {self.namespace!r} " if self.namespace else ""
        return f"registered {scope}at {self.where}"

    # ----------------------------------------------------------------- serialization

    def validate(self, arity: int, aux: Any, /) -> bool:
        """Return whether aux data from an untrusted source fits a node."""
        return True

    def aux_to_json(self, aux: Any, write: Any, /) -> Any:
        """Convert aux data to a value that `json.dumps` accepts.

        Args:
            aux: The aux data.
            write: An object with the functions `key`, `named` and `value`, which write
                a dict key, a function or class by its name, and anything else. Its
                function `codec` takes a rule and returns the codec of its class.
        """
        codec = write.codec(self)
        return write.value(aux) if codec is None else ["codec", codec[0](aux, write)]

    def aux_from_json(self, written: Any, read: Any, /) -> Any:
        """Convert the result of `aux_to_json` back, with the functions of `read`."""
        if type(written) is not list or written[:1] != ["codec"]:
            return read.value(written)
        _, inside = written
        return read.decoded(self, inside)

    # ------------------------------------------------------------------------ itself

    def __copy__(self) -> Rule:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Rule:
        return self

    def __reduce__(self) -> Any:
        raise TypeError("a rule cannot be pickled; pickle the treedef that has it")

    def __repr__(self) -> str:
        scope = f" in namespace {safe_repr(self.namespace)}" if self.namespace else ""
        origin = f", registered at {self.where}" if self.where else ""
        name = escape_controls(self.cls.__qualname__)
        return f"<Rule {self.name} for {name}{scope}{origin}>"


class BoundRule(Rule):
    """A rule whose `flatten` and `unflatten` are functions made for its class.

    Slots hold them: attributes that hide methods would take longer to read.
    """

    __slots__ = ("flatten", "unflatten")


def bracketed(name: str, data: Any) -> Brackets:
    """Return the brackets of a node as jax prints a custom one."""
    return f"CustomNode({name}[{safe_str(data)}], [", None, "])"


def count_of_children(arity: int) -> str:
    """Return how many children a node has, in words."""
    return "1 child" if arity == 1 else f"{arity} children"


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
