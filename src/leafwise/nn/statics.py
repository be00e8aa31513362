"""What entries an object has, and its static part.

All values of an object are in one table, its `__dict__`: attributes under their names,
the items of a list under their positions, and the items of a dict under their keys,
each in a tuple, so that it differs from a name. An entry of the table has a kind.
Objects with equal entries share a description, `Fields`. The static values of one
object are the aux data of its node, `Statics`.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from operator import is_, itemgetter
from types import BuiltinFunctionType, FunctionType
from typing import Any, Final, TypeAlias

from .._text import safe_repr
from ..core.keys import DictKey, GetAttrKey, SequenceKey
from ..equality import exact
from ..fields import Kind
from .checks import have_types, node_type_of


Names: TypeAlias = tuple[Any, ...]
Values: TypeAlias = tuple[Any, ...]

Kinds = dict[Any, "Kind | None"]
"""The kind of each entry of a table; None for what is static by default."""

MAX_SHARED: Final = 200
"""Objects with more entries than this do not share their description."""

STATIC_KINDS: Final = (None, Kind.STATIC)

_MAX_DESCRIPTIONS: Final = 1000


def key_of(name: Any) -> Any:
    """Return the key of a name, a position, or the key of an item in a tuple."""
    if type(name) is str:
        return GetAttrKey(name)
    if type(name) is int:
        return SequenceKey(name)
    return DictKey(name[0])


def name_of(key: Any) -> Any:
    """Return the name of the entry that a key refers to; the inverse of `key_of`."""
    return (key.key,) if type(key) is DictKey else key.entry


def part_of(name: Any) -> Any:
    """Return a name or position, or the key of an item without the tuple around it."""
    return name[0] if type(name) is tuple else name


# ----------------------------------------------------------------- the description


class Fields:
    """The entries of an object's table, in order of assignment, with their kinds.

    Objects that were built alike share one description, which never changes.

    Attributes:
        cls: The class.
        kinds: The kind of each entry.
        names: The names of all entries, in order of assignment.
        data: The names of the children, in leaf order: attributes before items.
        static: The names of the static entries, sorted.
        keys: The key of each child.
        parts: The name, position or key of each child.
        child_kinds: The kind of each child.
        signature: Equal for two descriptions if their objects have the same children
            and the same static entries, in any order of assignment.
        children: Takes a table, returns the children.
        statics: Takes a table, returns the static values.
        attributes: Takes the children and the static values, returns the `__dict__` of
            an object. The engine may replace it by a compiled function.
        last: The aux data of the object that was flattened last, if it can be shared.
        read: Takes an object, returns its children and aux data, or None if it cannot;
            None until the engine compiles such a function.
        sights: How often the engine was asked for one.
    """

    cls: Any
    kinds: Kinds
    names: Names
    data: Names
    static: Names
    keys: tuple[Any, ...]
    parts: tuple[Any, ...]
    child_kinds: tuple[Kind, ...]
    signature: tuple[Any, ...]
    children: Callable[[Any], Values]
    statics: Callable[[Any], Values]
    attributes: Callable[[Any, Values], dict[Any, Any]]
    last: Statics | None
    read: Callable[[Any], tuple[Values, Statics] | None] | None
    sights: int

    def __init__(self, cls: Any, kinds: Kinds) -> None:
        data = [name for name, kind in kinds.items() if kind not in STATIC_KINDS]
        static = sorted(kinds.keys() - set(data), key=_rank)
        if cls.__leafwise__.order == "name":
            data.sort(key=_rank)
        else:
            data.sort(key=_is_item)
        self.cls = cls
        self.kinds = kinds
        self.names = tuple(kinds)
        self.data = tuple(data)
        self.static = tuple(static)
        self.keys = tuple([key_of(name) for name in data])
        self.parts = tuple([part_of(name) for name in data])
        self.child_kinds = tuple([self.kind_of(name) for name in data])
        # The values of kinds are texts: fingerprints are made of the signature.
        kind_texts = tuple([kind.value for kind in self.child_kinds])
        self.signature = (cls, self.data, kind_texts, self.static)
        self.children = _picker(self.data)
        self.statics = _picker(self.static)
        self.attributes = _attribute_maker(self.names, self.data + self.static)
        self.last = None
        self.read = None
        self.sights = 0

    def kind_of(self, name: Any) -> Kind:
        """Return the kind of an entry."""
        return self.kinds[name] or Kind.STATIC

    def __reduce__(self) -> tuple[Any, ...]:
        return fields_of, (self.cls, self.kinds)


def _is_item(name: Any) -> bool:
    return type(name) is not str


def _rank(name: Any) -> Any:
    """Return a sort key that puts attributes before items.

    The items of one class are all positions or all keys, so names can be compared.
    """
    return _is_item(name), name


def _attribute_maker(
    names: Names, sources: Names
) -> Callable[[Any, Values], dict[Any, Any]]:
    """Return a function from children and static values to a dict of both.

    Args:
        names: The names of all entries, in the order of the dict.
        sources: The names of the children, then those of the static values.
    """
    places = {name: place for place, name in enumerate(sources)}
    in_order = _picker([places[name] for name in names])

    def attributes(children: Any, values: Values) -> dict[Any, Any]:
        return dict(zip(names, in_order((*children, *values)), strict=True))

    return attributes


def _picker(keys: Iterable[Any]) -> Callable[[Any], Values]:
    """Return a function that reads these keys of a value into a tuple."""
    keys = tuple(keys)
    if not keys:
        return lambda _value: ()
    pick = itemgetter(*keys)
    if len(keys) == 1:  # an `itemgetter` of one key returns no tuple
        return lambda value: (pick(value),)
    return pick


def fields_of(cls: Any, kinds: Kinds) -> Fields:
    """Return the description of objects with these entries."""
    if len(kinds) > MAX_SHARED:
        return Fields(cls, dict(kinds))
    descriptions: dict[Any, Fields] = cls.__leafwise__.descriptions
    key = (*kinds, *kinds.values())
    fields = descriptions.get(key)
    if fields is None:
        if len(descriptions) >= _MAX_DESCRIPTIONS:
            descriptions.clear()
        # Another thread's description may come first, and is used then.
        fields = descriptions.setdefault(key, Fields(cls, dict(kinds)))
    return fields


# ----------------------------------------------------------------- the static part


_SCALARS: Final = frozenset({bool, bytes, complex, float, int, str, type(None)})
_TEXTS: Final = frozenset({str})
_UNCHANGING: Final = _SCALARS | {BuiltinFunctionType, FunctionType, type}
_MAX_DEPTH: Final = 100


class Statics:
    """The static part of one object: aux data of its node.

    Attributes:
        fields: Which fields the object has, and of which kind.
        values: Its static values, in the order of `fields.static`.
        seen: Copies of the values when the object was flattened, which later changes
            to the values do not affect.
    """

    __slots__ = ("_has_flat_copies", "fields", "seen", "values")

    fields: Fields
    values: Values
    seen: Values
    _has_flat_copies: bool | None

    def __init__(
        self,
        fields: Fields,
        values: Values,
        seen: Values | None = None,
    ) -> None:
        self.fields = fields
        self.values = values
        self.seen = snapshots(values) if seen is None else seen
        self._has_flat_copies = None

    def matches(self, fields: Fields, values: Values) -> bool:
        """Return whether a quick comparison shows these to be the same values.

        Of mutable values, only lists of strings are compared: others may differ in ways
        that `==` does not see.
        """
        if self.fields is not fields or not _are_identical(self.values, values):
            return False
        if self.seen is self.values:
            return True
        # The values are the same objects, but they may have changed since.
        if self._has_flat_copies is None:
            pairs = zip(self.seen, self.values, strict=True)
            self._has_flat_copies = all(_is_flat(copy, value) for copy, value in pairs)
        return self._has_flat_copies and self.seen == self.values

    def renewed(self, obj: Any = None) -> Statics:
        """Return static values that no other object shares.

        Args:
            obj: An object whose own values are used where they are still the same.
        """
        if obj is None:
            copies = snapshots(self.seen)
            if copies is self.values:
                return self
            return Statics(self.fields, copies, self.seen)
        own_values = vars(obj)
        values = []
        for name, old in self:
            if name in own_values and exact.same(own_values[name], old, typed=True):
                values.append(own_values[name])
            else:
                values.append(snapshot(old))
        return Statics(self.fields, tuple(values))

    def __eq__(self, other: object) -> bool:
        if type(other) is not Statics:
            return NotImplemented
        if self is other:
            return True
        fields = self.fields
        # Objects may have got the same entries in another order.
        if fields is not other.fields and fields.signature != other.fields.signature:
            return False
        return exact.same(self.seen, other.seen, typed=True)

    def __hash__(self) -> int:
        return hash((self.fields.signature, exact.digest(self.seen, typed=True)))

    def describe(self) -> str:
        """Describe the entries in words, for errors."""
        children = []
        for part, kind in zip(self.fields.parts, self.fields.child_kinds, strict=True):
            is_plain = kind is Kind.DATA
            children.append(str(part) if is_plain else f"{part} ({kind.value})")
        phrases = []
        if children:
            phrases.append(f"data {', '.join(children)}")
        if self.values:
            phrases.append(f"static {self}")
        return "; ".join(phrases) or "no attributes"

    def __reduce__(self) -> tuple[Any, ...]:
        return Statics, (self.fields, self.seen)

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        """Yield the static attributes with their values, as they were."""
        return zip(self.fields.static, self.seen, strict=True)

    def __repr__(self) -> str:
        return ", ".join(f"{part_of(name)}={safe_repr(value)}" for name, value in self)


def _is_flat(copy: Any, value: Any) -> bool:
    """Return whether `==` of a value and its copy shows any change to the value."""
    return copy is value or (type(copy) is list and have_types(copy, _TEXTS))


def statics_for(
    fields: Fields,
    values: Values,
    last: Statics | None = None,
) -> Statics:
    """Return the static part of an object, an existing one if it is unchanged.

    Args:
        fields: The fields of the object.
        values: Its static values.
        last: The static part that the object had before.
    """
    if last is not None and last.matches(fields, values):
        return last
    shared = fields.last
    if shared is not None and shared.matches(fields, values):
        return shared
    statics = Statics(fields, values)
    # Numbers and texts only: objects that were built alike often share these, and a
    # description must not keep anything else alive.
    if _SCALARS.issuperset(map(type, values)):
        fields.last = statics
    return statics


# ----------------------------------------------------------------------- snapshots


def snapshots(values: Values) -> Values:
    """Return copies of values that later changes do not affect."""
    if _UNCHANGING.issuperset(map(type, values)):
        return values
    copies = tuple([snapshot(value) for value in values])
    return values if _are_identical(copies, values) else copies


def _are_identical(values: Values, others: Values) -> bool:
    return all(map(is_, values, others))


def snapshot(value: Any) -> Any:
    """Return a copy of a value: its containers and nodes are copied, not its leaves."""
    if type(value) in _UNCHANGING:
        return value
    return _copy_nodes(value, {}, _MAX_DEPTH)


def _copy_nodes(value: Any, copies: dict[int, Any], depth: int) -> Any:
    """Copy a value to some depth.

    Args:
        value: The value.
        copies: The containers that were copied, by the id of the original, so that
            sharing and cycles are kept.
        depth: How many levels to copy; what is below is shared.
    """
    cls: Any = type(value)
    if cls in _UNCHANGING or not depth:
        return value
    if id(value) in copies:
        return copies[id(value)]
    if cls is tuple:
        items = tuple([_copy_nodes(item, copies, depth - 1) for item in value])
        return value if _are_identical(items, value) else items
    if cls in _SETS:
        return cls(value)
    if cls in _SEQUENCES:
        return _copy_container(value, value, enumerate(value), copies, depth)
    if cls in _MAPPINGS:
        return _copy_container(value, value.values(), value.items(), copies, depth)
    node_type = node_type_of(cls)
    # What is equal only to itself would differ from its own copy.
    if node_type is None or cls.__eq__ is object.__eq__:
        return value
    children, aux = node_type.flatten(value)
    if aux is value:  # its class is registered as static
        return value
    parts = (*children, aux)
    part_copies = tuple([_copy_nodes(part, copies, depth - 1) for part in parts])
    if cls.__hash__ is not None and _are_identical(part_copies, parts):
        return value  # it is immutable, and so are its parts
    *child_copies, aux_copy = part_copies
    return node_type.unflatten(aux_copy, child_copies)


def _copy_container(
    container: Any,
    values: Iterable[Any],
    items: Iterable[tuple[Any, Any]],
    copies: dict[int, Any],
    depth: int,
) -> Any:
    """Copy a list, deque or dict of any kind with its values."""
    duplicate = container.copy()
    copies[id(container)] = duplicate  # before its values, which may refer to it
    if not have_types(values, _UNCHANGING):
        for key, value in items:
            duplicate[key] = _copy_nodes(value, copies, depth - 1)
    return duplicate


_SETS: Final = frozenset({set, bytearray})
_SEQUENCES: Final = frozenset({list, deque})
_MAPPINGS: Final = frozenset({dict, OrderedDict, defaultdict, Counter})
