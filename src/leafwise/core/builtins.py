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
from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, TypeVar

from .._hooks import hooks
from .._text import safe_repr, short_repr
from ..equality import exact
from .keys import (
    DictKeys,
    GetAttrKey,
    attribute_keys,
    dict_keys,
    given_keys,
    sequence_keys,
)
from .node import Brackets, Rule, bracketed, count_of_children


# ------------------------------------------------------------- dicts of any kind

_MOST_LISTED = 6


def listed(keys: Sequence[Any]) -> str:
    """Return a few dict keys as text, and how many more there are."""
    few = ", ".join(short_repr(key) for key in keys[:_MOST_LISTED])
    more = len(keys) - _MOST_LISTED
    return f"{few} and {more} more" if more > 0 else few


class MappingRule(Rule):
    """Dicts of any kind: their children are items, and match by key.

    The aux data is a `DictKeys`.
    """

    is_mapping = pairs_by_key = reads_items = True
    arrange: Callable[[tuple[Any, ...]], DictKeys] = staticmethod(dict_keys)
    """Takes keys as inserted, returns them with their order."""

    def keys_in(self, aux: Any) -> DictKeys:
        """Return the keys in the aux data."""
        return aux  # type: ignore[no-any-return]  # the aux data are the keys

    def rest_in(self, aux: Any) -> Any:
        """Return what else is in the aux data, as `rest` returns it of a node."""
        return None

    def bare_keys(self, aux: Any, _arity: int = 0) -> tuple[Any, ...]:
        return self.keys_in(aux).ordered

    def keys(self, aux: Any, _arity: int) -> Sequence[Any]:
        return self.keys_in(aux).objects

    def flatten(self, node: Any) -> tuple[Sequence[Any], Any]:
        held = dict.copy(node)  # in one step: others may change the dict meanwhile
        aux = self.arrange(tuple(held))
        return [held[key] for key in aux.ordered], aux

    def unflatten(self, aux: Any, children: Any) -> Any:
        return self.from_items(self.rest_in(aux), self.keys_in(aux).build(children))

    def match(self, aux: Any, arity: int, node: Any) -> Sequence[Any] | None:
        if type(node) not in _DICTS or len(node) != arity:
            return None
        held = dict.copy(node) if type(node) is defaultdict else node
        try:
            return [held[key] for key in self.bare_keys(aux)]
        except KeyError:
            return None

    def empty(self, aux: Any) -> Any:
        return self.from_items(self.rest_in(aux), {})

    def unflatten_into(self, node: Any, aux: Any, children: Any) -> Any:
        node.update(self.unflatten(aux, children))
        return node

    def same_aux(self, a: Any, b: Any) -> bool:
        first, second = self.keys_in(a), self.keys_in(b)
        return (
            first.is_structure is second.is_structure
            and exact.same(first.ordered, second.ordered)
            # as another dict would look for them
            and [*map(hash, first.ordered)] == [*map(hash, second.ordered)]
            and exact.same(self.rest_in(a), self.rest_in(b))
        )

    def hash_aux(self, aux: Any) -> int:
        keys = frozenset(map(exact.digest, self.bare_keys(aux)))
        return hash((keys, exact.digest(self.rest_in(aux))))

    def compared_aux(self, aux: Any) -> Any:
        return aux.ordered, aux.is_structure

    def items(self, node: Any) -> Any:
        return dict(node)

    def from_items(self, _rest: Any, items: Any) -> Any:
        return items

    def order_keys(self, keys: tuple[Any, ...]) -> tuple[Any, ...]:
        return self.arrange(keys).ordered

    def describe(self, aux: Any, _arity: int) -> str:
        keys, name = self.bare_keys(aux), self.cls.__qualname__
        return f"{name} with keys {listed(keys)}" if keys else f"empty {name}"

    def brackets(self, aux: Any, _arity: int) -> Brackets:
        return "{", [f"{safe_repr(key)}: " for key in self.bare_keys(aux)], "}"

    def node_data(self, aux: Any) -> Any:
        return [*self.bare_keys(aux)]

    def node_from(self, _cls: type, data: Any, children: list[Any]) -> Any:
        return self.from_items(None, dict(zip(data, children, strict=True)))

    def origin(self) -> str:
        return "keys as inserted" if self.arrange is given_keys else "keys sorted"

    def validate(self, arity: int, aux: Any) -> bool:
        return type(aux) is DictKeys and arity == len({*aux.inserted} & {*aux.ordered})

    def aux_to_json(self, aux: Any, write: Any) -> Any:
        return [[*map(write.key, aux.inserted)], _written_order(aux)]

    def aux_from_json(self, written: Any, read: Any) -> Any:
        keys, _ = written  # their order is found anew
        return self.arrange(tuple(map(read.key, keys)))


_DICTS = frozenset({dict, OrderedDict, defaultdict})


def _written_order(keys: DictKeys) -> Any:
    """Return what JSON says of an order; leafwise 0.2 reads it, too."""
    if keys.is_structure:
        return "as given"
    positions = {key: index for index, key in enumerate(keys.inserted)}
    is_sorted = keys.ordered is keys.inserted
    return None if is_sorted else [positions[key] for key in keys.ordered]


class OrderedDictRule(MappingRule):
    """Ordered dicts, whose order is their structure."""

    arrange = staticmethod(given_keys)

    def flatten(self, node: Any) -> tuple[Sequence[Any], Any]:
        aux = given_keys(tuple(node))
        try:
            return aux.read(node), aux
        except KeyError:  # another thread took one away
            pairs = [*node.items()]
            return [value for _, value in pairs], given_keys(tuple(dict(pairs)))

    def unflatten(self, aux: Any, children: Any) -> Any:
        node: OrderedDict[Any, Any] = OrderedDict()
        for key, child in zip(aux.ordered, children):  # noqa: B905  # as many
            node[key] = child  # faster than to give it the pairs
        return node

    def from_items(self, _rest: Any, items: Any) -> Any:
        return OrderedDict(items)

    def compared_aux(self, aux: Any) -> Any:
        return aux.ordered

    def node_data(self, aux: Any) -> Any:
        return aux.ordered

    def aux_to_json(self, aux: Any, write: Any) -> Any:
        return [*map(write.key, aux.inserted)]

    def aux_from_json(self, written: Any, read: Any) -> Any:
        return given_keys(tuple(map(read.key, written)))

    def brackets(self, aux: Any, arity: int) -> Brackets:
        return Rule.brackets(self, aux, arity)

    origin = Rule.origin


class DefaultDictRule(MappingRule):
    """Defaultdicts. The aux data is that of a dict, and the factory."""

    def keys_in(self, aux: Any) -> DictKeys:
        return aux[0]  # type: ignore[no-any-return]  # the keys

    def flatten(self, node: Any) -> tuple[Sequence[Any], Any]:
        children, keys = super().flatten(node)
        return children, (keys, node.default_factory)

    def rest_in(self, aux: Any) -> Any:
        return aux[1]

    def compared_aux(self, aux: Any) -> Any:
        return *super().compared_aux(aux[0]), aux[1]

    def rest(self, node: Any) -> Any:
        return node.default_factory

    def from_items(self, rest: Any, items: Any) -> Any:
        return defaultdict(rest, items)

    def brackets(self, aux: Any, arity: int) -> Brackets:
        return Rule.brackets(self, aux, arity)

    def node_data(self, aux: Any) -> Any:
        return aux[1], self.bare_keys(aux)

    def node_from(self, _cls: type, data: Any, children: list[Any]) -> Any:
        return defaultdict(data[0], zip(data[1], children, strict=True))

    def describe(self, aux: Any, arity: int) -> str:
        return f"{super().describe(aux, arity)} and factory {short_repr(aux[1])}"

    def validate(self, arity: int, aux: Any) -> bool:
        keys, factory = aux
        is_factory = factory is None or callable(factory)
        return is_factory and super().validate(arity, keys)

    def aux_to_json(self, aux: Any, write: Any) -> Any:
        return [*super().aux_to_json(aux[0], write), write.named(aux[1])]

    def aux_from_json(self, written: Any, read: Any) -> Any:
        *keys, factory = written
        return super().aux_from_json(keys, read), read.named(factory)


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

    def validate(self, arity: int, aux: Any) -> bool:
        return aux is None


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

    def describe(self, aux: Any, arity: int) -> str:
        maxlen = "" if aux is None else f" and maxlen {aux}"
        return f"{super().describe(aux, arity)}{maxlen}"

    def validate(self, arity: int, aux: Any) -> bool:
        return aux is None or (type(aux) is int and arity <= aux <= sys.maxsize)


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

    def validate(self, arity: int, aux: Any) -> bool:
        return aux is None and arity == 0


# ------------------------------------------------------------------ Partial

R = TypeVar("R")


class Sealed:
    """Wraps a `functools.partial` so that an outer one does not absorb it.

    Two of them are equal when the wrapped partials are made of equal parts.
    """

    def __init__(self, func: Callable[..., Any]) -> None:
        self.func = func

    def __eq__(self, other: object) -> bool:
        if type(other) is not Sealed:
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
            func = Sealed(func)
        if cls is Partial:
            _tell_frameworks()
        return super().__new__(cls, func, *args, **keywords)


@functools.cache
def _tell_frameworks() -> None:
    """Let jax, torch and optree learn of `Partial`, with its first object."""
    hooks.announce(Partial)


_PARTIAL_KEYS = (GetAttrKey("args"), GetAttrKey("keywords"))


class PartialRule(Rule):
    """`Partial`. The children are args and keywords, the aux data is the function."""

    name = "Partial"

    def flatten(self, node: Any) -> tuple[Sequence[Any], Any]:
        held = vars(node).get("_children")
        held = (node.args, node.keywords.copy()) if held is None else held
        return held, node.func

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

    def validate(self, arity: int, aux: Any) -> bool:
        return arity == 2 and callable(aux)

    def aux_to_json(self, aux: Any, write: Any) -> Any:
        return write.named(aux)

    def aux_from_json(self, written: Any, read: Any) -> Any:
        return read.named(written)


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
    methods = getattr(cls, "_make", None), getattr(cls, "_asdict", None)
    return has_field_names(cls) and all(map(callable, methods))


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


class _FamilyRule(Rule):
    """What classes share that are nodes by their form; the aux data tells the class."""

    def flatten(self, node: Any) -> tuple[Sequence[Any], Any]:
        return tuple(node), type(node)

    def class_of(self, aux: Any) -> type:
        cls: type = aux
        return cls

    def match(self, aux: Any, arity: int, node: Any) -> Sequence[Any] | None:
        return tuple(node) if type(node) is aux and len(node) == arity else None

    def compared_aux(self, aux: Any) -> Any:
        return getattr(self.class_of(aux), "_fields", None)

    def hash_aux(self, aux: Any) -> int:
        return hash(self.class_of(aux))

    def node_data(self, aux: Any) -> Any:
        return self.class_of(aux)

    def node_from(self, cls: type, _data: Any, children: list[Any]) -> Any:
        return getattr(cls, "_make", cls)(children)

    def bare_keys(self, _aux: Any, arity: int) -> Sequence[Any]:
        return range(arity)

    def brackets(self, aux: Any, _arity: int) -> Brackets:
        name = self.class_of(aux).__name__
        return f"CustomNode({self.name}[{name}], [", None, "])"

    def describe(self, aux: Any, arity: int) -> str:
        name = self.class_of(aux).__qualname__
        return f"{self.name} {name} with {count_of_children(arity)}"

    def aux_to_json(self, aux: Any, write: Any) -> Any:
        return write.named(aux)

    def aux_from_json(self, written: Any, read: Any) -> Any:
        return read.named(written)


class NamedTupleRule(_FamilyRule):
    """Named tuples."""

    name = "namedtuple"
    unflatten: Any = staticmethod(tuple.__new__)

    def keys(self, aux: Any, arity: int) -> Sequence[Any]:
        fits = len(aux._fields) == arity
        return attribute_keys(aux._fields) if fits else sequence_keys(arity)

    def validate(self, arity: int, aux: Any) -> bool:
        return has_field_names(aux) and len(aux._fields) == arity


class StructSequenceRule(_FamilyRule):
    """Struct sequences. The aux data is the class and the fields that are no items."""

    name = "structseq"

    def flatten(self, node: Any) -> tuple[Sequence[Any], Any]:
        cls = type(node)
        hidden = structseq_names(cls)[cls.n_sequence_fields - cls.n_unnamed_fields :]
        return tuple(node), (cls, {name: getattr(node, name) for name in hidden})

    def unflatten(self, aux: Any, children: Any) -> Any:
        return aux[0](children, aux[1])

    def class_of(self, aux: Any) -> type:
        cls: type = aux[0]
        return cls

    def match(self, aux: Any, arity: int, node: Any) -> Sequence[Any] | None:
        return super().match(aux[0], arity, node)

    def same_aux(self, a: Any, b: Any) -> bool:
        return a[0] is b[0]

    def keys(self, aux: Any, arity: int) -> Sequence[Any]:
        cls = aux[0]
        named = cls.n_sequence_fields - cls.n_unnamed_fields
        names = structseq_names(cls)[:named]
        return (*map(GetAttrKey, names), *sequence_keys(arity)[named:])

    def validate(self, arity: int, aux: Any) -> bool:
        cls, hidden = aux
        fits = is_structseq_class(cls) and cls.n_sequence_fields == arity
        return fits and {*map(type, hidden)} <= {str}

    def aux_to_json(self, aux: Any, write: Any) -> Any:
        return [write.named(aux[0]), write.value(aux[1])]

    def aux_from_json(self, written: Any, read: Any) -> Any:
        cls, hidden = written
        return read.named(cls), read.value(hidden)


# ------------------------------------------------------------------------ the table

NONE: Final = NoneRule(type(None))
TUPLE: Final = TupleRule(tuple)
LIST: Final = ListRule(list)
DICT: Final = MappingRule(dict, name="dict")
DICT_AS_GIVEN: Final = MappingRule(dict, name="dict as given", arrange=given_keys)
ORDEREDDICT: Final = OrderedDictRule(OrderedDict, name="OrderedDict")
DEFAULTDICT: Final = DefaultDictRule(defaultdict, name="defaultdict")
DEFAULTDICT_AS_GIVEN: Final = DefaultDictRule(
    defaultdict, name="defaultdict as given", arrange=given_keys
)
DEQUE: Final = DequeRule(deque)
PARTIAL: Final = PartialRule(Partial)
NAMEDTUPLE: Final = NamedTupleRule(tuple)
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
        *(NAMEDTUPLE, STRUCTSEQ),
    )
}
"""All rules of built-in nodes by their names, which pickles and JSON texts have."""


def structural_rule(cls: type) -> Rule | None:
    """Return the rule of a type that is a node by its form, or None."""
    if not issubclass(cls, tuple):
        return None
    if is_namedtuple_class(cls):
        return NAMEDTUPLE
    return STRUCTSEQ if is_structseq_class(cls) else None
