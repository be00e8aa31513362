"""Keys: how the place of a child in its parent is named, and the order of dict keys.

Owns the four key classes. Their names and texts are those of `jax.tree_util`, with two
refinements that make a text say one thing only: Enum members print by their qualified
name, and names that are not identifiers print quoted. What a key holds is called `idx`,
`key` or `name` as in jax, and `entry` in all of them.

Owns the order in which the leaves of a dict are walked (law L3): `KeyOrder`, which
takes the keys of a dict from insertion order to leaf order and back, and the search
for that order: sorted where the keys have one order, by families of types where they
mix, as inserted where nothing else is the same for equal dicts. Knows nothing of rules
or registries.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import Any, Final, TypeAlias

from ..lazy import is_traced
from ..safely import Frozen, class_name, shown


class SequenceKey(Frozen):
    """The index of a child in a list, tuple or deque.

    It equals the `DictKey` of the same int: both read `node[idx]`, and both print the
    same.

    Args:
        idx: The index, counted from 0.

    Example:
        >>> import leafwise as lw
        >>> str(lw.SequenceKey(2))
        '[2]'
    """

    __slots__ = __match_args__ = ("idx",)

    idx: int

    def __init__(self, idx: int) -> None:
        object.__setattr__(self, "idx", idx)

    @property
    def entry(self) -> int:
        """The index."""
        return self.idx

    def __str__(self) -> str:
        return f"[{shown(self.idx)}]"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DictKey):
            return _is_index(other.key) and bool(self.idx == other.key)
        return super().__eq__(other)

    def __hash__(self) -> int:
        return hash((DictKey, self.idx))

    def get(self, node: Any) -> Any:
        """Read the child at this key of a node.

        Raises:
            LookupError: There is no such child.
        """
        return node[self.idx]


class DictKey(Frozen):
    """The key of a child in a dict, `OrderedDict` or `defaultdict`.

    Args:
        key: Any hashable object.

    Example:
        >>> import leafwise as lw
        >>> str(lw.DictKey("a"))
        "['a']"
    """

    __slots__ = __match_args__ = ("key",)

    key: Any

    def __init__(self, key: Any) -> None:
        object.__setattr__(self, "key", key)

    @property
    def entry(self) -> Any:
        """The key."""
        return self.key

    def __str__(self) -> str:
        return f"[{literal(self.key)}]"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, SequenceKey):
            return other.__eq__(self)
        return super().__eq__(other)

    def __hash__(self) -> int:
        return hash((DictKey, self.key))

    def get(self, node: Any) -> Any:
        """Read the child at this key of a node.

        Raises:
            LookupError: There is no such child.
        """
        return node[self.key]


class GetAttrKey(Frozen):
    """The name of the attribute that holds a child.

    Args:
        name: The name of the attribute.

    Example:
        >>> import leafwise as lw
        >>> str(lw.GetAttrKey("weight"))
        '.weight'
    """

    __slots__ = __match_args__ = ("name",)

    name: str

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "name", name)

    @property
    def entry(self) -> str:
        """The name of the attribute."""
        return self.name

    def __str__(self) -> str:
        is_plain = isinstance(self.name, str) and self.name.isidentifier()
        return f".{self.name}" if is_plain else f".{shown(self.name)}"

    def get(self, node: Any) -> Any:
        """Read the child at this key of a node.

        Raises:
            AttributeError: There is no such child.
        """
        return getattr(node, self.name)


class FlattenedIndexKey(Frozen):
    """The index of a child in a class that was registered without keys.

    Args:
        key: The index among the children, counted from 0.

    Example:
        >>> import leafwise as lw
        >>> str(lw.registry.FlattenedIndexKey(0))
        '[<flat index 0>]'
    """

    __slots__ = __match_args__ = ("key",)

    key: int

    def __init__(self, key: int) -> None:
        object.__setattr__(self, "key", key)

    @property
    def entry(self) -> int:
        """The index among the children."""
        return self.key

    def __str__(self) -> str:
        return f"[<flat index {shown(self.key)}>]"

    def get(self, node: Any) -> Any:
        """Raise an error: only the rule of the node can find a child without a key.

        Raises:
            LookupError: Always. Use `KeyPath((key,))(node)`, which applies the rule.
        """
        raise LookupError("a flat index needs a key path: use KeyPath((key,))(node)")


def _is_index(key: Any) -> bool:
    return isinstance(key, int) and not isinstance(key, bool | enum.Enum)


def literal(value: Any) -> str:
    """Return the text of a dict key: its `repr`, as far as that can be read back.

    Enum members are named by module and qualified name, also inside tuples; an int
    that has more digits than Python writes stands there in hexadecimal.
    """
    cls = type(value)
    if cls is str:
        return repr(value)
    if isinstance(value, enum.Enum):
        return f"{cls.__module__}.{class_name(cls)}.{value._name_}"
    if cls is tuple:
        inside = ", ".join(map(literal, value))
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    return shown(value)


def as_key(key: Any) -> Any:
    """Convert a key that a flatten function returned to a key object.

    A string names an attribute and an int a position; anything else is a key
    object of its class already, with a text of its own.
    """
    if type(key) is str:
        return GetAttrKey(key)
    if type(key) is int:
        return SequenceKey(key)
    return key


_MOST_SHARED = 16_384
_shared: tuple[SequenceKey, ...] = ()


def sequence_keys(length: int) -> tuple[SequenceKey, ...]:
    """Return the keys of a sequence of that length, shared up to a bound.

    They are read and replaced as a whole: another thread may do so meanwhile, and
    put fewer of them back, but never others.
    """
    global _shared
    shared = _shared
    if length > len(shared):
        more = range(len(shared), max(length, 64))
        shared = (*shared, *map(SequenceKey, more))
        if length <= _MOST_SHARED:
            _shared = shared
    return shared[:length]


_FLAT = tuple(map(FlattenedIndexKey, range(4)))


def flat_keys(length: int) -> tuple[FlattenedIndexKey, ...]:
    """Return the keys of that many children without names, shared if they are few."""
    if length <= len(_FLAT):
        return _FLAT[:length]
    return tuple(map(FlattenedIndexKey, range(length)))


_MOST_KNOWN = 4096
_LONGEST = 256
_known_dicts: dict[tuple[Any, ...], tuple[DictKey, ...]] = {}
_known_attributes: dict[tuple[Any, ...], tuple[GetAttrKey, ...]] = {}


def dict_keys(keys: tuple[Any, ...]) -> tuple[DictKey, ...]:
    """Return the keys of a dict; those of exact `str` and `int` keys are shared."""
    for key in keys:
        if type(key) is not str and type(key) is not int:
            return tuple(map(DictKey, keys))
    return _known_dicts.get(keys) or _share(keys, DictKey, _known_dicts)


def attribute_keys(names: tuple[str, ...]) -> tuple[GetAttrKey, ...]:
    """Return the keys of attributes, shared."""
    return _known_attributes.get(names) or _share(names, GetAttrKey, _known_attributes)


def _share(entries: tuple[Any, ...], make: Any, known: dict[Any, Any]) -> Any:
    """Make keys, and remember those of a node that is not too wide."""
    made = tuple(map(make, entries))
    if len(entries) <= _LONGEST:
        if len(known) >= _MOST_KNOWN:
            known.clear()
        known[entries] = made
    return made


# ------------------------------------------------------ the order of the keys of a dict


Move: TypeAlias = "Callable[[Any], tuple[Any, ...]]"


class KeyOrder:
    """How the keys of a dict, as inserted, are put into leaf order and back.

    Attributes:
        perm: The positions of the inserted keys in leaf order.
        is_structure: Whether the insertion order is part of the structure,
            because it was asked for or because the keys have no order.
        gather: Takes values as inserted, returns them in leaf order.
        scatter: Takes values in leaf order, returns them as inserted.
    """

    __slots__ = ("_gather", "_scatter", "is_structure", "perm")

    def __init__(self, perm: tuple[int, ...], *, is_structure: bool = False) -> None:
        self.perm = perm
        self.is_structure = is_structure
        self._gather: Move | None = None
        self._scatter: Move | None = None

    @property
    def gather(self) -> Move:
        """Made when it is first wanted, as `scatter` is: making them takes longest."""
        if self._gather is None:
            self._gather = self._mover(self.perm)
        return self._gather

    @property
    def scatter(self) -> Move:
        """The way back."""
        if self._scatter is None:
            places = range(len(self.perm))
            self._scatter = self._mover(sorted(places, key=self.perm.__getitem__))
        return self._scatter

    def _mover(self, places: Sequence[int]) -> Move:
        moves = len(places) > 1 and not self.is_structure
        return itemgetter(*places) if moves else tuple


AS_GIVEN: Final = KeyOrder((), is_structure=True)
"""The order of dicts whose insertion order is their structure."""

_MAX_ORDERS = 4096
_MAX_KEYS = 256
are_plain: Final = frozenset({str, int}).issuperset
"""Takes the types of keys, says whether these are all exact `str` or `int`."""


Aux: TypeAlias = "tuple[tuple[Any, ...], KeyOrder | None]"
Read: TypeAlias = "Callable[[Any], tuple[Any, ...]]"
Known: TypeAlias = "tuple[Aux, Read, list[tuple[DictKey, ...]]]"

known_orders: Final[dict[tuple[Any, ...], Known]] = {}
"""What is known of plain keys, and to be asked for plain keys only.

The aux data of such dicts: the keys as inserted, and their order. A function that
reads the values of these keys off a dict, in leaf order and in one step: each value is
that of its key, whatever another thread does meanwhile, and where a key is gone there
is a `KeyError`. And a list that has the key objects in leaf order, in one tuple, once
`find_keys` made them.

Keys of other types may equal plain ones and still have an order of their own, as
an Enum whose members are strings and that defines `__lt__`.
"""

known_aux: Final[dict[int, Known]] = {}
"""The same by the identity of the aux data, and to be asked for any."""


def key_order(keys: tuple[Any, ...]) -> KeyOrder | None:
    """Return how these keys are ordered, None when they stand in order already.

    Sorted, if `<` puts them into one chain; otherwise by family of types, an
    Enum by definition order; otherwise as given, and then order is structure.
    The answer for plain keys is remembered.
    """
    if not are_plain(map(type, keys)):
        return find_order(keys)
    return (known_orders.get(keys) or learn_order(keys))[0][1]


def learn_order(keys: tuple[Any, ...]) -> Known:
    """Return what is known of plain keys that were not met before, and remember it."""
    order: KeyOrder | None = None
    try:
        leaf_keys = tuple(sorted(keys))
    except TypeError:  # both kinds
        order = find_order(keys)
        leaf_keys = leaf_order(keys, order)
    else:
        if leaf_keys != keys:
            places = dict(zip(keys, range(len(keys)), strict=True))
            order = KeyOrder(tuple([places[key] for key in leaf_keys]))
    aux = keys, order
    known: Known = aux, _reader(leaf_keys), []
    if len(keys) <= _MAX_KEYS and not is_traced():
        if len(known_aux) >= _MAX_ORDERS:
            known_orders.clear()
            known_aux.clear()
        known_orders[keys] = known_aux[id(aux)] = known
    return known


def find_keys(known: Known) -> tuple[DictKey, ...]:
    """Return the key objects of known keys, in leaf order; they are remembered."""
    aux, _, found = known
    if not found:
        found.append(dict_keys(leaf_order(*aux)))  # in one step, and whole
    return found[0]


def _reader(keys: tuple[Any, ...]) -> Read:
    """Return a function that reads the values of these keys into a tuple."""
    if len(keys) > 1:
        return itemgetter(*keys)
    if not keys:
        return lambda _node: ()
    (key,) = keys
    return lambda node: (node[key],)


def make_dict(keys: Sequence[Any], values: Sequence[Any]) -> dict[Any, Any]:
    """Return a dict of keys and as many values, in their order.

    Small dicts are written out: that takes a third of the time.
    """
    if len(keys) < len(MAKERS):
        return MAKERS[len(keys)](keys, values)
    return dict(zip(keys, values))  # noqa: B905  # as many


def _make_1(keys: Any, values: Any) -> dict[Any, Any]:
    return {keys[0]: values[0]}


def _make_2(keys: Any, values: Any) -> dict[Any, Any]:
    (a, b), (p, q) = keys, values
    return {a: p, b: q}


def _make_3(keys: Any, values: Any) -> dict[Any, Any]:
    (a, b, c), (p, q, r) = keys, values
    return {a: p, b: q, c: r}


def _make_4(keys: Any, values: Any) -> dict[Any, Any]:
    (a, b, c, d), (p, q, r, s) = keys, values
    return {a: p, b: q, c: r, d: s}


def _make_5(keys: Any, values: Any) -> dict[Any, Any]:
    (a, b, c, d, e), (p, q, r, s, t) = keys, values
    return {a: p, b: q, c: r, d: s, e: t}


def _make_6(keys: Any, values: Any) -> dict[Any, Any]:
    (a, b, c, d, e, f), (p, q, r, s, t, u) = keys, values
    return {a: p, b: q, c: r, d: s, e: t, f: u}


MAKERS: Final[tuple[Callable[[Any, Any], dict[Any, Any]], ...]] = (
    *(lambda _keys, _values: {}, _make_1, _make_2, _make_3),
    *(_make_4, _make_5, _make_6),
)
"""Make a dict of so many keys and values."""


def find_order(keys: tuple[Any, ...]) -> KeyOrder | None:
    """Find how keys are ordered, as `key_order`, which remembers it."""
    perm = _chain(keys, range(len(keys)))
    if perm is None:
        perm = _by_family(keys)
    if perm is None:
        return AS_GIVEN
    return None if perm == list(range(len(keys))) else KeyOrder(tuple(perm))


def _chain(keys: Sequence[Any], positions: Sequence[int]) -> list[int] | None:
    """Sort positions by key; None unless each key is below the next one.

    The check refuses partial orders (sets, NaN), whose sorted order would
    depend on the order of insertion.
    """
    try:
        perm = sorted(positions, key=keys.__getitem__)
        chained = all(bool(keys[i] < keys[j]) for i, j in pairwise(perm))
    except (TypeError, ValueError, AttributeError, ArithmeticError, RecursionError):
        return None  # of the keys, which cannot be compared
    return perm if chained else None


def _by_family(keys: tuple[Any, ...]) -> list[int] | None:
    families: dict[str, list[int]] = {}
    for position, key in enumerate(keys):
        families.setdefault(_family(key), []).append(position)
    perm: list[int] = []
    for _, positions in sorted(families.items()):
        part = _chain(keys, positions) or _by_definition(keys, positions)
        if part is None:
            return None
        perm += part
    return perm


_BASES = (
    (str, "builtins.str"),
    ((int, float, complex), "builtins.int"),
    (bytes, "builtins.bytes"),
    (tuple, "builtins.tuple"),
)


def _family(key: Any) -> str:
    """Name the type of a key, so that keys that may be equal share a name."""
    for base, name in _BASES:
        if isinstance(key, base):
            return name
    cls = type(key)
    return f"{cls.__module__}.{class_name(cls)}"


def _by_definition(keys: Sequence[Any], positions: list[int]) -> list[int] | None:
    classes = {type(keys[position]) for position in positions}
    if len(classes) != 1 or not issubclass(cls := classes.pop(), enum.Enum):
        return None
    rank = {member: place for place, member in enumerate(cls.__members__.values())}
    try:
        return sorted(positions, key=lambda position: rank[keys[position]])
    except KeyError:
        return None


def leaf_order(keys: tuple[Any, ...], order: KeyOrder | None) -> tuple[Any, ...]:
    """Return inserted keys in leaf order."""
    return keys if order is None else order.gather(keys)
