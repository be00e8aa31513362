"""The built-in node types (laws L1 to L3), each a class in one place.

`BUILTINS` is the table of them, by type; whatever treats built-in containers alike asks
it, so a new one is a class and a line. `Partial` is the only one that is not Python's.
Named tuples and struct sequences are families of types rather than one type, so they
are found by `structural_node_type`.
"""

from __future__ import annotations

import builtins
import functools
import sys
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, TypeVar

from .._hooks import hooks
from .._text import safe_repr
from ..equality import exact
from .keys import (
    DictKey,
    DictKeys,
    GetAttrKey,
    SequenceKey,
    attribute_keys,
    dict_keys,
    given_keys,
    sequence_keys,
)
from .node import NodeType


class ContainerNodeType(NodeType):
    """Python's own containers: a subscript reads an item.

    What is in a container beside its items does not count in a match.
    """


# ------------------------------------------------------------- dicts of any kind


class MappingNodeType(ContainerNodeType):
    """Dicts of any kind. In maps, they match each other by key.

    The aux data is a `DictKeys`, or contains one.
    """

    item_key = DictKey
    arrange: Callable[[tuple[Any, ...]], DictKeys] = staticmethod(dict_keys)
    """Takes keys as inserted, returns them with their order."""

    def as_inserted(self) -> MappingNodeType:
        """Return the one for namespaces that walk dicts in the order of insertion."""
        name = f"{self.name} as given"
        return type(self)(self.cls, name=name, arrange=given_keys)

    def keys_in(self, aux: Any) -> DictKeys:
        """Return the keys in the aux data."""
        return aux  # type: ignore[no-any-return]  # the aux data are the keys

    def rest_in(self, aux: Any) -> Any:
        """Return what else is in the aux data, as `rest` returns it of a node."""
        return None

    def flatten(self, node: Any) -> tuple[Sequence[Any], Any]:
        items = self.items(node)  # in one step: others may change the dict meanwhile
        keys = self.arrange(tuple(items))
        return [items[key] for key in keys.ordered], keys

    def unflatten(self, aux: Any, children: Any) -> Any:
        return self.from_items(self.rest_in(aux), self.keys_in(aux).build(children))

    def keys(self, aux: Any, _arity: int) -> Sequence[Any]:
        return self.keys_in(aux).objects

    def same(self, a: Any, b: Any) -> bool:
        first = self.keys_in(a)
        second = self.keys_in(b)
        if first.is_structure is not second.is_structure:
            return False
        if not exact.same(first.ordered, second.ordered):
            return False
        # Keys that are equal but have other hashes are not found by another dict.
        if list(map(hash, first.ordered)) != list(map(hash, second.ordered)):
            return False
        return exact.same(self.rest_in(a), self.rest_in(b))

    def hash(self, aux: Any) -> int:
        keys = frozenset(map(exact.digest, self.keys_in(aux).ordered))
        return hash((keys, exact.digest(self.rest_in(aux))))

    def items(self, node: Any) -> Any:
        return dict(node)

    def from_items(self, _rest: Any, items: Any) -> Any:
        return self.cls(items)

    def order(self, keys: tuple[Any, ...]) -> tuple[Any, ...]:
        return self.arrange(keys).ordered

    def match(self, aux: Any, arity: int, node: Any) -> Sequence[Any] | None:
        cls = type(node)
        if cls not in MAPPINGS or len(node) != arity:
            return None
        # A defaultdict would make a missing key, so it is copied.
        items = node if cls is dict else MAPPINGS[cls].items(node)
        try:
            return [items[key] for key in self.keys_in(aux).ordered]
        except KeyError:
            return None

    def compared_aux(self, aux: Any) -> Any:
        return aux.ordered, aux.is_structure


class DictNodeType(MappingNodeType):
    """Dicts."""

    name = "dict"

    def items(self, node: Any) -> Any:
        return dict.copy(node)

    def from_items(self, _rest: Any, items: Any) -> Any:
        return items


class OrderedDictNodeType(MappingNodeType):
    """Ordered dicts, whose order is their structure."""

    name = "OrderedDict"
    arrange = staticmethod(given_keys)

    def flatten(self, node: Any) -> tuple[Sequence[Any], Any]:
        keys = given_keys(tuple(node))
        try:
            return keys.read(node), keys
        except KeyError:  # another thread took one away
            pairs = list(node.items())
            return [value for _, value in pairs], given_keys(tuple(dict(pairs)))

    def unflatten(self, aux: Any, children: Any) -> Any:
        node: OrderedDict[Any, Any] = OrderedDict()
        for key, child in zip(aux.ordered, children):  # noqa: B905  # as many
            node[key] = child  # faster than to give it the pairs
        return node

    def compared_aux(self, aux: Any) -> Any:
        return aux.ordered


class DefaultDictNodeType(MappingNodeType):
    """Defaultdicts. The aux data is that of a dict, and the factory."""

    name = "defaultdict"

    def keys_in(self, aux: Any) -> DictKeys:
        return aux[0]  # type: ignore[no-any-return]  # the keys

    def rest_in(self, aux: Any) -> Any:
        return aux[1]

    def flatten(self, node: Any) -> tuple[Sequence[Any], Any]:
        children, keys = super().flatten(node)
        return children, (keys, node.default_factory)

    def items(self, node: Any) -> Any:
        return dict.copy(node)

    def rest(self, node: Any) -> Any:
        return node.default_factory

    def from_items(self, rest: Any, items: Any) -> Any:
        return defaultdict(rest, items)

    def compared_aux(self, aux: Any) -> Any:
        return *super().compared_aux(aux[0]), aux[1]


# ------------------------------------------------------------------- sequences


class SequenceNodeType(ContainerNodeType):
    """Lists, tuples and deques. The aux data is what is in them beside the items."""

    item_key = SequenceKey

    def keys(self, _aux: Any, arity: int) -> Sequence[Any]:
        return sequence_keys(arity)

    def items(self, node: Any) -> Any:
        return list(node)

    def match(self, _aux: Any, arity: int, node: Any) -> Sequence[Any] | None:
        if type(node) is not self.cls:
            return None
        children, _ = self.flatten(node)
        return children if len(children) == arity else None


class ListNodeType(SequenceNodeType):
    """Lists."""

    name = "list"

    def flatten(self, node: Any) -> tuple[Sequence[Any], Any]:
        return node[:], None

    def unflatten(self, _aux: Any, children: Any) -> Any:
        return children

    def from_items(self, _rest: Any, items: Any) -> Any:
        return items


class TupleNodeType(SequenceNodeType):
    """Tuples."""

    name = "tuple"
    is_fixed = True

    def flatten(self, node: Any) -> tuple[Sequence[Any], Any]:
        return node, None

    def unflatten(self, _aux: Any, children: Any) -> Any:
        return tuple(children)

    def from_items(self, _rest: Any, items: Any) -> Any:
        return tuple(items)


class DequeNodeType(SequenceNodeType):
    """Deques. The aux data is the maxlen."""

    name = "deque"

    def flatten(self, node: Any) -> tuple[Sequence[Any], Any]:
        return tuple(node), node.maxlen

    def unflatten(self, aux: Any, children: Any) -> Any:
        return deque(children, aux)

    def rest(self, node: Any) -> Any:
        return node.maxlen

    def from_items(self, rest: Any, items: Any) -> Any:
        return deque(items, rest)


# ------------------------------------------------------------------------- None


class NoneNodeType(NodeType):
    """None, a node without children."""

    name = "None"

    def flatten(self, _node: Any) -> tuple[Sequence[Any], Any]:
        return (), None

    def unflatten(self, _aux: Any, _children: Any) -> Any:
        return None


# ------------------------------------------------------------------ Partial

R = TypeVar("R")


class WrappedPartial:
    """Wraps a `functools.partial` so that an outer one does not absorb it.

    Two of them are equal when the wrapped partials are made of equal parts.
    """

    def __init__(self, func: Callable[..., Any]) -> None:
        self.func = func

    def __eq__(self, other: object) -> bool:
        if type(other) is not WrappedPartial:
            return NotImplemented
        return exact.same(self.func, other.func)

    def __hash__(self) -> int:
        return exact.digest(self.func)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self.func(*args, **keywords)

    def __repr__(self) -> str:
        return safe_repr(self.func)


class Partial(functools.partial[R], Generic[R]):
    """A `functools.partial` whose arguments are leaves and whose function is aux data.

    The children are `args` and `keywords`. If the function is itself a partial, the
    arguments of that partial belong to the function: they are not leaves.

    Args:
        func: The function to call.
        *args: Positional arguments, passed before those of the call.
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

    Modelled on `jax.tree_util.Partial`.
    """

    def __new__(
        cls, func: Callable[..., R], /, *args: Any, **keywords: Any
    ) -> Partial[R]:
        """Fill in the arguments; a partial is wrapped, not absorbed."""
        if isinstance(func, functools.partial):
            func = WrappedPartial(func)
        if cls is Partial:
            _announce_partial()
        return super().__new__(cls, func, *args, **keywords)


@functools.cache
def _announce_partial() -> None:
    """Register `Partial` in jax, torch and optree, once there is an instance."""
    hooks.announce(Partial)


_PARTIAL_KEYS = (GetAttrKey("args"), GetAttrKey("keywords"))


class PartialNodeType(NodeType):
    """`Partial`. The children are args and keywords, the aux data is the function."""

    name = "Partial"

    def flatten(self, node: Any) -> tuple[Sequence[Any], Any]:
        children = vars(node).get("_leafwise_children")
        if children is None:
            children = node.args, node.keywords.copy()
        return children, node.func

    def unflatten(self, aux: Any, children: Any) -> Any:
        """Rebuild a node; any objects may stand in place of the arguments (law L5)."""
        args, keywords = children
        if type(args) is tuple and type(keywords) is dict:
            return Partial(aux, *args, **keywords)
        node: Any = Partial(aux)
        vars(node)["_leafwise_children"] = args, keywords
        return node

    def keys(self, _aux: Any, _arity: int) -> Sequence[Any]:
        return _PARTIAL_KEYS


# ------------------------------------------- named tuples and struct sequences


def has_field_names(cls: type) -> bool:
    """Return whether a class is one of tuples that names its items in `_fields`.

    It need not be a named tuple: `_fields` may be an attribute of the user's own.
    """
    fields = getattr(cls, "_fields", None)
    return (
        issubclass(cls, tuple)
        and type(fields) is tuple
        and all(type(name) is str for name in fields)
    )


def is_namedtuple_class(cls: type) -> bool:
    """Return whether a class is a named tuple, by its form.

    Example:
        >>> from collections import namedtuple
        >>> from leafwise.core.builtins import is_namedtuple_class
        >>> is_namedtuple_class(namedtuple("Point", "x y")), is_namedtuple_class(tuple)
        (True, False)
    """
    has_methods = callable(getattr(cls, "_make", None)) and callable(
        getattr(cls, "_asdict", None)
    )
    return has_methods and has_field_names(cls)


def is_structseq_class(cls: type) -> bool:
    """Return whether a class is a struct sequence of which instances can be made.

    `sys.version_info` and `sys.flags` have the form but refuse to be made, so
    they are leaves.

    Example:
        >>> import sys, time
        >>> from leafwise.core.builtins import is_structseq_class
        >>> is_structseq_class(time.struct_time), is_structseq_class(type(sys.flags))
        (True, False)
    """
    counts = ("n_fields", "n_sequence_fields", "n_unnamed_fields")
    return (
        cls.__bases__ == (tuple,)
        and all(type(cls.__dict__.get(name)) is int for name in counts)
        and "__new__" in cls.__dict__
    )


def structseq_names(cls: Any) -> tuple[str, ...]:
    """Return the names of a struct sequence's fields, hidden ones last."""
    return tuple(
        name
        for name, value in vars(cls).items()
        if type(value).__name__ == "member_descriptor"
    )


class FamilyNodeType(NodeType):
    """Classes that are nodes by their form. The aux data tells the class."""

    def flatten(self, node: Any) -> tuple[Sequence[Any], Any]:
        return tuple(node), type(node)

    def same(self, a: Any, b: Any) -> bool:
        return self.class_of(a) is self.class_of(b)

    def hash(self, aux: Any) -> int:
        return hash(self.class_of(aux))

    def class_of(self, aux: Any) -> type:
        cls: type = aux
        return cls

    def compared_aux(self, aux: Any) -> Any:
        return getattr(self.class_of(aux), "_fields", None)


class NamedTupleNodeType(FamilyNodeType):
    """Named tuples."""

    name = "namedtuple"
    unflatten: Any = staticmethod(tuple.__new__)

    def keys(self, aux: Any, arity: int) -> Sequence[Any]:
        if len(aux._fields) == arity:
            return attribute_keys(aux._fields)
        return sequence_keys(arity)


class StructSequenceNodeType(FamilyNodeType):
    """Struct sequences. The aux data is the class and the fields that are no items."""

    name = "structseq"

    def flatten(self, node: Any) -> tuple[Sequence[Any], Any]:
        cls = type(node)
        hidden_names = structseq_names(cls)[_count_of_named(cls) :]
        return tuple(node), (cls, {name: getattr(node, name) for name in hidden_names})

    def unflatten(self, aux: Any, children: Any) -> Any:
        cls, hidden = aux
        return cls(children, hidden)

    def keys(self, aux: Any, arity: int) -> Sequence[Any]:
        cls = self.class_of(aux)
        count = _count_of_named(cls)
        names = structseq_names(cls)[:count]
        return (*map(GetAttrKey, names), *sequence_keys(arity)[count:])

    def class_of(self, aux: Any) -> type:
        cls: type = aux[0]
        return cls


def _count_of_named(cls: Any) -> int:
    """Return how many items of a struct sequence have a name."""
    count: int = cls.n_sequence_fields - cls.n_unnamed_fields
    return count


# ------------------------------------------------------------------------ the table

NONE: Final = NoneNodeType(type(None))
TUPLE: Final = TupleNodeType(tuple)
LIST: Final = ListNodeType(list)
DICT: Final = DictNodeType(dict)
NAMEDTUPLE: Final = NamedTupleNodeType(tuple)
STRUCTSEQ: Final = StructSequenceNodeType(tuple)

BUILTINS: Final[dict[type, NodeType]] = {
    type(None): NONE,
    list: LIST,
    tuple: TUPLE,
    dict: DICT,
    OrderedDict: OrderedDictNodeType(OrderedDict),
    defaultdict: DefaultDictNodeType(defaultdict),
    deque: DequeNodeType(deque),
    Partial: PartialNodeType(Partial),
}
"""The built-in node types, by class."""

if sys.version_info >= (3, 15):
    BUILTINS[builtins.frozendict] = MappingNodeType(
        builtins.frozendict, name="frozendict"
    )

MAPPINGS: Final[dict[type, MappingNodeType]] = {
    cls: node_type
    for cls, node_type in BUILTINS.items()
    if isinstance(node_type, MappingNodeType)
}
"""The dicts of all kinds among them."""

INSERTION_ORDERED: Final[dict[type, NodeType]] = {
    cls: node_type.as_inserted()
    for cls, node_type in MAPPINGS.items()
    if node_type.arrange is not given_keys
}
"""The node types in their place where a namespace has `dict_order="insertion"`."""

BY_NAME: Final[dict[str, NodeType]] = {
    node_type.name: node_type
    for node_type in (
        *BUILTINS.values(),
        *INSERTION_ORDERED.values(),
        NAMEDTUPLE,
        STRUCTSEQ,
    )
}
"""All built-in node types by their names, which pickles and JSON texts have."""


def bare_keys(node_type: NodeType, aux: Any, arity: int) -> Sequence[Any]:
    """Return the entry of each key of a node; a key without one is its own entry.

    The keys of built-in containers are not made for it.
    """
    if isinstance(node_type, MappingNodeType):
        return node_type.keys_in(aux).ordered
    if isinstance(node_type, SequenceNodeType):
        return range(arity)
    return [getattr(key, "entry", key) for key in node_type.keys(aux, arity)]


def structural_node_type(cls: type) -> NodeType | None:
    """Return the node type of a class whose form makes it one, or None."""
    if not issubclass(cls, tuple):
        return None
    if is_namedtuple_class(cls):
        return NAMEDTUPLE
    return STRUCTSEQ if is_structseq_class(cls) else None
