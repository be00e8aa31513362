"""The built-in nodes (laws L1 to L3), each a class in one place.

Owns the table `BUILTINS` from type to rule, and `Partial`, the one node type that is
ours. The order of dict keys is found in `keys`. Named tuples and struct sequences are
families of types rather than one type, so they are found by `structural_rule`. Knows
nothing of namespaces or registration.
"""

from __future__ import annotations

import functools
import sys
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import repeat
from operator import is_, itemgetter
from typing import Any, ClassVar, Final, Generic, TypeVar

from ..equality import exact
from ..safely import class_name, clip, shown
from .keys import (
    AS_GIVEN,
    GetAttrKey,
    KeyOrder,
    attribute_keys,
    dict_keys,
    key_order,
    leaf_order,
    make_dict,
    sequence_keys,
)
from .node import Brackets, Rule, bracketed, count_of_children, require


# ------------------------------------------------------------- dicts of any kind

_ABSENT: Final = object()
_MOST_LISTED = 6


def listed(keys: Sequence[Any]) -> str:
    """Return a few dict keys as text, and how many more there are."""
    few = ", ".join(clip(key) for key in keys[:_MOST_LISTED])
    more = len(keys) - _MOST_LISTED
    return f"{few} and {more} more" if more > 0 else few


class MappingRule(Rule):
    """What dicts of all kinds share: their children are items, matched by key."""

    is_mapping = pairs_by_key = reads_items = True

    def bare_keys(self, aux: Any, _arity: int = 0) -> tuple[Any, ...]:
        """Return the keys of the children in leaf order, without key objects."""
        return leaf_order(aux[0], aux[1])

    def keys(self, aux: Any, _arity: int) -> Sequence[Any]:
        return dict_keys(self.bare_keys(aux))

    def match(self, aux: Any, arity: int, node: Any) -> Sequence[Any] | None:
        if type(node) not in _DICTS or len(node) != arity:
            return None
        keys = self.bare_keys(aux)
        if arity > 1 and type(node) is not defaultdict:  # which makes what is missing
            try:
                children: tuple[Any, ...] = itemgetter(*keys)(node)
                return children
            except KeyError:
                pass
        values = [*map(node.get, keys, repeat(_ABSENT))]
        return None if any(map(is_, values, repeat(_ABSENT))) else values

    def empty(self, _aux: Any) -> Any:
        return self.cls()

    def unflatten_into(self, node: Any, aux: Any, children: Any) -> Any:
        node.update(self.unflatten(aux, children))
        return node

    def items(self, node: Any) -> Any:
        return dict(node)

    def describe(self, aux: Any, _arity: int) -> str:
        keys, name = self.bare_keys(aux), class_name(self.cls)
        return f"{name} with keys {listed(keys)}" if keys else f"empty {name}"

    def contrast(self, _aux: Any, _other: Any) -> tuple[str, str] | str | None:
        return "in another order"

    def node_from(self, _cls: type, data: Any, children: list[Any]) -> Any:
        return self.from_items(None, dict(zip(data, children, strict=True)))


_DICTS = frozenset({dict, OrderedDict, defaultdict})


class DictRule(MappingRule):
    """Dicts. The aux data is `(keys, order)`; keys are in the order of insertion."""

    name = "dict"

    def flatten(self, node: Any) -> tuple[Sequence[Any], Any]:
        held = dict.copy(node)  # in one step: others may change the dict meanwhile
        keys = tuple(held)
        order = key_order(keys)
        values = [*held.values()]
        return values if order is None else order.gather(values), (keys, order)

    def match(self, aux: Any, arity: int, node: Any) -> Sequence[Any] | None:
        if type(node) is dict:
            held, (keys, order) = node.copy(), aux
            if hash(there := tuple(held)) == hash(keys) and there == keys:
                values = [*held.values()]
                return values if order is None else order.gather(values)
        return super().match(aux, arity, node)

    def unflatten(self, aux: Any, children: Any) -> Any:
        keys, order = aux
        return make_dict(keys, children if order is None else order.scatter(children))

    def same_aux(self, a: Any, b: Any) -> bool:
        first, second = _is_ordered(a[1]), _is_ordered(b[1])
        if first is not second or len(a[0]) != len(b[0]):
            return False
        return _same_keys(self.bare_keys(a), self.bare_keys(b))

    def hash_aux(self, aux: Any) -> int:
        return hash(frozenset(map(exact.digest, aux[0])))

    def compared_aux(self, aux: Any) -> Any:
        return self.bare_keys(aux), _is_ordered(aux[1])

    def items(self, node: Any) -> Any:
        return dict.copy(node)

    def from_items(self, _rest: Any, items: Any) -> Any:
        return items

    def brackets(self, aux: Any, _arity: int) -> Brackets:
        return "{", [f"{shown(key)}: " for key in self.bare_keys(aux)], "}"

    def node_data(self, aux: Any) -> Any:
        return [*self.bare_keys(aux)]

    def dump_aux(self, aux: Any) -> Any:
        return aux[0], _dump_order(aux[1])

    def load_aux(self, arity: int, state: Any) -> Any:
        keys, order = state
        return _load_keys(arity, keys), _load_order(arity, order)

    def aux_to_json(self, state: Any, write: Any) -> Any:
        keys, order = state
        places = [*order] if isinstance(order, tuple) else order
        return [[*map(write.key, keys)], places]

    def aux_from_json(self, written: Any, read: Any) -> Any:
        keys, order = written
        places = tuple(order) if type(order) is list else order
        return tuple(map(read.key, keys)), places

    def origin(self) -> str:
        return "keys sorted"


class DictAsGivenRule(DictRule):
    """Dicts whose insertion order is their structure."""

    name = "dict as given"

    def flatten(self, node: Any) -> tuple[Sequence[Any], Any]:
        held = dict.copy(node)
        return [*held.values()], (tuple(held), AS_GIVEN)

    def order_keys(self, keys: tuple[Any, ...]) -> tuple[Any, ...]:
        return keys

    def origin(self) -> str:
        return "keys as inserted"


class DefaultDictRule(MappingRule):
    """Defaultdicts. The aux data is that of a dict, and the factory."""

    name = "defaultdict"

    def __init__(self, cls: type, plain: DictRule, **given: Any) -> None:
        super().__init__(cls, **given)
        object.__setattr__(self, "plain", plain)

    plain: DictRule

    def flatten(self, node: Any) -> tuple[Sequence[Any], Any]:
        children, aux = self.plain.flatten(node)
        return children, (*aux, node.default_factory)

    def unflatten(self, aux: Any, children: Any) -> Any:
        return defaultdict(aux[2], self.plain.unflatten(aux[:2], children))

    def empty(self, aux: Any) -> Any:
        return defaultdict(aux[2])

    def same_aux(self, a: Any, b: Any) -> bool:
        return self.plain.same_aux(a, b) and exact.same(a[2], b[2])

    def hash_aux(self, aux: Any) -> int:
        return hash((self.plain.hash_aux(aux), exact.digest(aux[2])))

    def compared_aux(self, aux: Any) -> Any:
        return *self.plain.compared_aux(aux), aux[2]

    def rest(self, node: Any) -> Any:
        return node.default_factory

    def from_items(self, rest: Any, items: Any) -> Any:
        return defaultdict(rest, items)

    def order_keys(self, keys: tuple[Any, ...]) -> tuple[Any, ...]:
        return self.plain.order_keys(keys)

    def node_data(self, aux: Any) -> Any:
        return aux[2], self.bare_keys(aux)

    def node_from(self, _cls: type, data: Any, children: list[Any]) -> Any:
        return defaultdict(data[0], zip(data[1], children, strict=True))

    def contrast(self, aux: Any, other: Any) -> tuple[str, str] | str | None:
        if exact.same(aux[2], other[2]):
            return super().contrast(aux, other)
        names = clip(aux[2]), clip(other[2])
        if names[0] == names[1]:
            return "a different factory with the same repr"
        return f"factory {names[0]}", f"factory {names[1]}"

    def origin(self) -> str:
        return self.plain.origin()

    def dump_aux(self, aux: Any) -> Any:
        return *self.plain.dump_aux(aux), aux[2]

    def load_aux(self, arity: int, state: Any) -> Any:
        keys, order, factory = state
        require(factory is None or callable(factory), "the factory is not callable")
        return *self.plain.load_aux(arity, (keys, order)), factory

    def aux_to_json(self, state: Any, write: Any) -> Any:
        *plain, factory = state
        return [*self.plain.aux_to_json(plain, write), write.named(factory)]

    def aux_from_json(self, written: Any, read: Any) -> Any:
        *plain, factory = written
        return *self.plain.aux_from_json(plain, read), read.named(factory)


class OrderedDictRule(MappingRule):
    """Ordered dicts. The aux data is their keys in order."""

    name = "OrderedDict"

    def flatten(self, node: Any) -> tuple[Sequence[Any], Any]:
        """Read each value by its key: others may change the node meanwhile."""
        keys = tuple(node)
        if len(keys) > 1:
            try:
                return itemgetter(*keys)(node), keys
            except KeyError:  # one was taken away
                pass
        pairs = [*node.items()]
        return [value for _, value in pairs], tuple([key for key, _ in pairs])

    def unflatten(self, aux: Any, children: Any) -> Any:
        node: OrderedDict[Any, Any] = OrderedDict()
        for key, child in zip(aux, children):  # noqa: B905  # as many as keys
            node[key] = child
        return node

    def bare_keys(self, aux: Any, _arity: int = 0) -> tuple[Any, ...]:
        keys: tuple[Any, ...] = aux
        return keys

    def same_aux(self, a: Any, b: Any) -> bool:
        return _same_keys(a, b)

    def from_items(self, _rest: Any, items: Any) -> Any:
        return OrderedDict(items)

    def order_keys(self, keys: tuple[Any, ...]) -> tuple[Any, ...]:
        return keys

    def load_aux(self, arity: int, state: Any) -> Any:
        return _load_keys(arity, state)

    def aux_to_json(self, state: Any, write: Any) -> Any:
        return [*map(write.key, state)]

    def aux_from_json(self, written: Any, read: Any) -> Any:
        return tuple(map(read.key, written))


def _same_keys(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    """Return whether keys are those of another dict, which looks at the hash first."""
    return exact.same(a, b) and [*map(hash, a)] == [*map(hash, b)]


def _is_ordered(order: KeyOrder | None) -> bool:
    return order is not None and order.is_structure


def _dump_order(order: KeyOrder | None) -> Any:
    return None if order is None else "as given" if order.is_structure else order.perm


def _load_order(arity: int, order: Any) -> KeyOrder | None:
    if order is None:
        return None
    if order == "as given":
        return AS_GIVEN
    is_order = type(order) is tuple and all(type(place) is int for place in order)
    is_order = is_order and sorted(order) == [*range(arity)]
    require(is_order, "it is not an order of the keys")
    return KeyOrder(order)


def _load_keys(arity: int, keys: Any) -> tuple[Any, ...]:
    require(type(keys) is tuple and len(keys) == arity, "one key for each child")
    require(all(map(_is_hashable, keys)), "a key is not hashable")
    require(len(set(keys)) == arity, "a key occurs twice")
    return keys  # type: ignore[no-any-return]  # checked above


def _is_hashable(key: Any) -> bool:
    try:
        hash(key)
    except TypeError:
        return False
    return True


# ------------------------------------------------------------------- sequences


class SequenceRule(Rule):
    """What lists, tuples and deques share: their children are items at positions."""

    is_sequence = reads_items = True

    def keys(self, _aux: Any, arity: int) -> Sequence[Any]:
        return sequence_keys(arity)

    def bare_keys(self, _aux: Any, arity: int) -> Sequence[Any]:
        return range(arity)

    def items(self, node: Any) -> Any:
        return [*node]

    def unflatten_into(self, node: Any, _aux: Any, children: Any) -> Any:
        node.extend(children)
        return node

    def describe(self, _aux: Any, arity: int) -> str:
        return f"{self.name} of length {arity}"

    def load_aux(self, _arity: int, state: Any) -> Any:
        require(state is None, "it must be None")


_CONVERT = "a list and a tuple are different nodes; convert one of them"


class ListRule(SequenceRule):
    """Lists."""

    name = "list"

    def flatten(self, node: Any) -> tuple[Sequence[Any], Any]:
        return node[:], None

    def unflatten(self, _aux: Any, children: Any) -> Any:
        return children

    def empty(self, _aux: Any) -> Any:
        return []

    def match(self, _aux: Any, arity: int, node: Any) -> Sequence[Any] | None:
        return node if type(node) is list and len(node) == arity else None

    def from_items(self, _rest: Any, items: Any) -> Any:
        return items

    def brackets(self, _aux: Any, _arity: int) -> Brackets:
        return "[", None, "]"

    def hint(self, node: Any) -> str:
        return _CONVERT if type(node) is tuple else ""


class TupleRule(SequenceRule):
    """Tuples."""

    name = "tuple"
    is_fixed = True
    unflatten_into: Any = None

    def flatten(self, node: Any) -> tuple[Sequence[Any], Any]:
        return node, None

    def unflatten(self, _aux: Any, children: Any) -> Any:
        return tuple(children)

    def match(self, _aux: Any, arity: int, node: Any) -> Sequence[Any] | None:
        return node if type(node) is tuple and len(node) == arity else None

    def from_items(self, _rest: Any, items: Any) -> Any:
        return tuple(items)

    def brackets(self, _aux: Any, arity: int) -> Brackets:
        return "(", None, ",)" if arity == 1 else ")"

    def hint(self, node: Any) -> str:
        return _CONVERT if type(node) is list else ""


class DequeRule(SequenceRule):
    """Deques. The aux data is the maxlen, which does not count in a match."""

    name = "deque"

    def flatten(self, node: Any) -> tuple[Sequence[Any], Any]:
        return tuple(node), node.maxlen

    def unflatten(self, aux: Any, children: Any) -> Any:
        return deque(children, aux)

    def empty(self, aux: Any) -> Any:
        return deque(maxlen=aux)

    def match(self, _aux: Any, arity: int, node: Any) -> Sequence[Any] | None:
        return tuple(node) if type(node) is deque and len(node) == arity else None

    def match_aux(self, _aux: Any, _other: Any) -> bool:
        return True

    def rest(self, node: Any) -> Any:
        return node.maxlen

    def from_items(self, rest: Any, items: Any) -> Any:
        return deque(items, rest)

    def brackets(self, aux: Any, _arity: int) -> Brackets:
        return bracketed("deque", aux)

    def contrast(self, aux: Any, other: Any) -> tuple[str, str] | str | None:
        return f"maxlen {aux}", f"maxlen {other}"

    def load_aux(self, arity: int, state: Any) -> Any:
        fits = type(state) is int and arity <= state <= sys.maxsize
        require(state is None or fits, "it is not a valid maxlen")
        return state


class NoneRule(Rule):
    """None, a node without children."""

    name = "None"

    def flatten(self, _node: Any) -> tuple[Sequence[Any], Any]:
        return (), None

    def unflatten(self, _aux: Any, _children: Any) -> Any:
        return None

    def match(self, _aux: Any, _arity: int, node: Any) -> Sequence[Any] | None:
        return () if node is None else None

    def brackets(self, _aux: Any, _arity: int) -> Brackets:
        return "None", None, ""

    def describe(self, _aux: Any, _arity: int) -> str:
        return "None"

    def hint(self, _node: Any) -> str:
        return (
            "the expected None is a node without children; none_is_leaf=True makes "
            "it a leaf"
        )

    def load_aux(self, arity: int, state: Any) -> Any:
        require(
            state is None and arity == 0, "it must have neither children nor aux data"
        )


# ------------------------------------------------------------------ Partial

R = TypeVar("R")


class Sealed:
    """Wraps a `functools.partial` so that an outer one does not absorb it.

    Two of them are equal when the wrapped partials are made of equal parts. One is also
    equal to the partial that it wraps.
    """

    __slots__ = ("func",)

    def __init__(self, func: Callable[..., Any]) -> None:
        self.func = func

    def __eq__(self, other: object) -> bool:
        if isinstance(other, functools.partial):
            return self.func == other
        if type(other) is not Sealed:
            return NotImplemented
        return exact.same(self.func, other.func)

    def __hash__(self) -> int:
        return exact.digest(self.func)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self.func(*args, **keywords)

    def __repr__(self) -> str:
        return shown(self.func)

    def __reduce__(self) -> tuple[Any, ...]:
        return Sealed, (self.func,)


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

    _announce: ClassVar[Callable[[type], None]]  # the registry sets it

    def __new__(
        cls, func: Callable[..., R], /, *args: Any, **keywords: Any
    ) -> Partial[R]:
        """Fill in the arguments; a partial is wrapped, not absorbed."""
        if isinstance(func, functools.partial):
            func = Sealed(func)
        if cls is Partial:
            _tell_frameworks()
        return super().__new__(cls, func, *args, **keywords)


@functools.cache
def _tell_frameworks() -> None:
    """Let jax, torch and optree learn of `Partial`, with its first object."""
    Partial._announce(Partial)


_PARTIAL_KEYS = (GetAttrKey("args"), GetAttrKey("keywords"))


class PartialRule(Rule):
    """`Partial`. The children are args and keywords, the aux data is the function."""

    name = "Partial"

    def flatten(self, node: Any) -> tuple[Sequence[Any], Any]:
        return _partial_children(node), node.func

    def unflatten(self, aux: Any, children: Any) -> Any:
        """Rebuild; children that are no arguments are held as they are (law L5)."""
        args, keywords = children
        if type(args) is tuple and type(keywords) is dict:
            return Partial(aux, *args, **keywords)
        node: Any = Partial(aux)
        node._children = (args, keywords)
        return node

    def keys(self, _aux: Any, _arity: int) -> Sequence[Any]:
        return _PARTIAL_KEYS

    def load_aux(self, arity: int, state: Any) -> Any:
        fits = arity == 2 and callable(state)
        require(fits, "it is not a function with args and keywords")
        return state

    def aux_to_json(self, state: Any, write: Any) -> Any:
        return write.named(state)

    def aux_from_json(self, written: Any, read: Any) -> Any:
        return read.named(written)


def _partial_children(node: Any) -> tuple[Any, Any]:
    held: tuple[Any, Any] | None = vars(node).get("_children")
    return (node.args, node.keywords.copy()) if held is None else held


# ------------------------------------------- named tuples and struct sequences


def is_namedtuple_class(cls: type) -> bool:
    """Return whether a class is a named tuple, by its form.

    Example:
        >>> from collections import namedtuple
        >>> from leafwise.core.builtins import is_namedtuple_class
        >>> is_namedtuple_class(namedtuple("Point", "x y")), is_namedtuple_class(tuple)
        (True, False)
    """
    fields = getattr(cls, "_fields", None)
    return (
        issubclass(cls, tuple)
        and type(fields) is tuple
        and all(type(name) is str for name in fields)
        and callable(getattr(cls, "_make", None))
        and callable(getattr(cls, "_asdict", None))
    )


_CAN_BE_A_BASE: Final = 1 << 10  # Py_TPFLAGS_BASETYPE


def is_structseq_class(cls: type) -> bool:
    """Return whether a class is a struct sequence of which instances can be made.

    `sys.version_info` and `sys.flags` have the form but refuse to be made, so
    they are leaves. No class statement makes such a class: it cannot be a base.

    Example:
        >>> import sys, time
        >>> from leafwise.core.builtins import is_structseq_class
        >>> is_structseq_class(time.struct_time), is_structseq_class(type(sys.flags))
        (True, False)
    """
    counts = ("n_fields", "n_sequence_fields", "n_unnamed_fields")
    return (
        cls.__bases__ == (tuple,)
        and not cls.__flags__ & _CAN_BE_A_BASE
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


class _FamilyRule(Rule):
    """What classes share that are nodes by their form; the class is aux data."""

    family: str

    def class_of(self, aux: Any) -> type:
        cls: type = aux[0]
        return cls

    def match(self, aux: Any, arity: int, node: Any) -> Sequence[Any] | None:
        cls: Any = self.class_of(aux)
        return tuple(node) if type(node) is cls and len(node) == arity else None

    def same_aux(self, a: Any, b: Any) -> bool:
        return self.class_of(a) is self.class_of(b)

    def hash_aux(self, aux: Any) -> int:
        return hash(self.class_of(aux))

    def compared_aux(self, aux: Any) -> Any:
        return getattr(self.class_of(aux), "_fields", None)

    def node_data(self, aux: Any) -> Any:
        return self.class_of(aux)

    def node_from(self, cls: type, _data: Any, children: list[Any]) -> Any:
        return getattr(cls, "_make", cls)(children)

    def bare_keys(self, _aux: Any, arity: int) -> Sequence[Any]:
        return range(arity)

    def brackets(self, aux: Any, _arity: int) -> Brackets:
        name = class_name(self.class_of(aux), qualified=False)
        return f"CustomNode({self.family}[{name}], [", None, "])"

    def describe(self, aux: Any, arity: int) -> str:
        name = class_name(self.class_of(aux))
        return f"{self.family} {name} with {count_of_children(arity)}"

    def aux_to_json(self, state: Any, write: Any) -> Any:
        cls, more = state
        return [write.named(cls), write.value(more)]

    def aux_from_json(self, written: Any, read: Any) -> Any:
        cls, more = written
        return read.named(cls), read.value(more)


class NamedTupleRule(_FamilyRule):
    """Named tuples. The aux data is the class."""

    name = family = "namedtuple"
    unflatten: Any = staticmethod(tuple.__new__)

    def flatten(self, node: Any) -> tuple[Sequence[Any], Any]:
        return tuple(node), type(node)

    def match(self, aux: Any, arity: int, node: Any) -> Sequence[Any] | None:
        return tuple(node) if type(node) is aux and len(node) == arity else None

    def keys(self, aux: Any, arity: int) -> Sequence[Any]:
        return _namedtuple_keys(aux, arity)

    def class_of(self, aux: Any) -> type:
        cls: type = aux
        return cls

    def load_aux(self, arity: int, state: Any) -> Any:
        _check_namedtuple(arity, state)
        require(not _has_attributes(state), "its instances have attributes")
        return state

    def aux_to_json(self, state: Any, write: Any) -> Any:
        return write.named(state)

    def aux_from_json(self, written: Any, read: Any) -> Any:
        return read.named(written)


class OpenNamedTupleRule(_FamilyRule):
    """Named tuples with attributes. The aux data is the class and these.

    As `==` of named tuples, it takes no notice of the attributes: it carries them.
    """

    name = "namedtuple with attributes"
    family = "namedtuple"

    def flatten(self, node: Any) -> tuple[Sequence[Any], Any]:
        cls, attributes = type(node), node.__dict__
        return tuple(node), (cls, _lasting(cls, attributes) if attributes else ())

    def unflatten(self, aux: Any, children: Any) -> Any:
        cls, attributes = aux
        node = tuple.__new__(cls, children)
        node.__dict__.update(attributes)
        return node

    def keys(self, aux: Any, arity: int) -> Sequence[Any]:
        return _namedtuple_keys(aux[0], arity)

    def load_aux(self, arity: int, state: Any) -> Any:
        cls, attributes = state
        _check_namedtuple(arity, cls)
        require(_has_attributes(cls), "its instances have no attributes")
        names = [name for name, _ in attributes]
        require(set(map(type, names)) <= {str}, "they are not attributes")
        return cls, tuple(attributes)


class StructSequenceRule(_FamilyRule):
    """Struct sequences. The aux data is the class and the fields that are no items."""

    name = family = "structseq"

    def flatten(self, node: Any) -> tuple[Sequence[Any], Any]:
        cls = type(node)
        hidden = structseq_names(cls)[cls.n_sequence_fields - cls.n_unnamed_fields :]
        return tuple(node), (cls, {name: getattr(node, name) for name in hidden})

    def unflatten(self, aux: Any, children: Any) -> Any:
        return aux[0](children, aux[1])

    def keys(self, aux: Any, arity: int) -> Sequence[Any]:
        cls = aux[0]
        named = cls.n_sequence_fields - cls.n_unnamed_fields
        names = structseq_names(cls)[:named]
        return (*map(GetAttrKey, names), *sequence_keys(arity)[named:])

    def load_aux(self, arity: int, state: Any) -> Any:
        cls, hidden = state
        is_class = isinstance(cls, type) and is_structseq_class(cls)
        require(is_class, "it is not a struct sequence")
        names = set(map(type, hidden)) if type(hidden) is dict else {None}
        require(names <= {str}, "they are not fields")
        require(cls.n_sequence_fields == arity, "one child for each field")
        return cls, hidden


def _namedtuple_keys(cls: Any, arity: int) -> Sequence[Any]:
    fits = len(cls._fields) == arity
    return attribute_keys(cls._fields) if fits else sequence_keys(arity)


def _check_namedtuple(arity: int, cls: Any) -> None:
    require(
        isinstance(cls, type) and is_namedtuple_class(cls), "it is not a named tuple"
    )
    require(len(cls._fields) == arity, "one child for each field")


def _has_attributes(cls: type) -> bool:
    """Return whether instances of a class have a `__dict__`.

    Those of a named tuple have none; those of a subclass do, unless it has `__slots__`.
    """
    return cls.__dictoffset__ != 0


def _lasting(cls: type, attributes: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Return attributes without those that were computed of the children."""
    return tuple(
        (name, value)
        for name, value in attributes.items()
        if not isinstance(getattr(cls, name, None), cached_property)
    )


# ------------------------------------------------------------------------ the table

NONE: Final = NoneRule(type(None))
TUPLE: Final = TupleRule(tuple)
LIST: Final = ListRule(list)
DICT: Final = DictRule(dict)
DICT_AS_GIVEN: Final = DictAsGivenRule(dict)
ORDEREDDICT: Final = OrderedDictRule(OrderedDict)
DEFAULTDICT: Final = DefaultDictRule(defaultdict, DICT)
DEFAULTDICT_AS_GIVEN: Final = DefaultDictRule(
    defaultdict, DICT_AS_GIVEN, name="defaultdict as given"
)
DEQUE: Final = DequeRule(deque)
PARTIAL: Final = PartialRule(Partial)
NAMEDTUPLE: Final = NamedTupleRule(tuple)
OPEN_NAMEDTUPLE: Final = OpenNamedTupleRule(tuple)
STRUCTSEQ: Final = StructSequenceRule(tuple)

BUILTINS: Final[dict[type, Rule]] = {
    rule.cls: rule
    for rule in (NONE, TUPLE, LIST, DICT, ORDEREDDICT, DEFAULTDICT, DEQUE, PARTIAL)
}
"""The built-in node types and their rules."""

INSERTION_ORDERED: Final[dict[type, Rule]] = {
    rule.cls: rule for rule in (DICT_AS_GIVEN, DEFAULTDICT_AS_GIVEN)
}
"""The rules that stand in where a namespace has `dict_order="insertion"`."""

BY_NAME: Final[dict[str, Rule]] = {
    rule.name: rule
    for rule in (
        *(*BUILTINS.values(), *INSERTION_ORDERED.values()),
        *(NAMEDTUPLE, OPEN_NAMEDTUPLE, STRUCTSEQ),
    )
}
"""All rules of built-in nodes by their names, which pickles and JSON texts have."""


def structural_rule(cls: type) -> Rule | None:
    """Return the rule of a type that is a node by its form, or None."""
    if not issubclass(cls, tuple):
        return None
    if is_namedtuple_class(cls):
        return OPEN_NAMEDTUPLE if _has_attributes(cls) else NAMEDTUPLE
    return STRUCTSEQ if is_structseq_class(cls) else None
