"""Keys: how the place of a child in its parent is named, and the order of dict keys.

The four key classes have the names and texts of `jax.tree_util`, with two refinements
that make a text say one thing only: Enum members print by their qualified name, and
names that are not identifiers print quoted. What a key holds is called `idx`, `key` or
`name` as in jax, and `entry` in all of them.

The leaves of a dict come in the order of its keys (law L3): sorted if the keys have
one order, by families of types if types are mixed, and as inserted if nothing else is
the same for equal dicts. `DictKeys` has the keys in both orders.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any, ClassVar, Final, Literal, TypeVar

from .._lazy import is_compiling
from .._records import Frozen
from .._text import safe_repr


T = TypeVar("T")


class Key(Frozen):
    """Base of the four classes of keys."""

    __slots__ = ()

    entry: Any
    """What the key holds: its `idx`, `key` or `name`."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        # the slot itself: to read a property takes several times as long
        cls.entry = vars(cls)[cls.__match_args__[0]]


class SequenceKey(Key):
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

    __slots__ = ("idx",)
    __match_args__: ClassVar[tuple[Literal["idx"]]] = ("idx",)

    idx: int

    def __init__(self, idx: int) -> None:
        object.__setattr__(self, "idx", idx)

    def __str__(self) -> str:
        return f"[{safe_repr(self.idx)}]"

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


class DictKey(Key):
    """The key of a child in a dict, `OrderedDict` or `defaultdict`.

    Args:
        key: Any hashable object.

    Example:
        >>> import leafwise as lw
        >>> str(lw.DictKey("a"))
        "['a']"
    """

    __slots__ = ("key",)
    __match_args__: ClassVar[tuple[Literal["key"]]] = ("key",)

    key: Any

    def __init__(self, key: Any) -> None:
        object.__setattr__(self, "key", key)

    def __str__(self) -> str:
        return f"[{literal(self.key)}]"

    def __hash__(self) -> int:
        return hash((DictKey, self.key))

    def get(self, node: Any) -> Any:
        """Read the child at this key of a node.

        Raises:
            LookupError: There is no such child.
        """
        return node[self.key]


_set_key: Final = vars(DictKey)["key"].__set__


@lru_cache(maxsize=4096)
def _shared_key(key: Any) -> DictKey:
    """Return the `DictKey` of an exact string or int, shared."""
    dict_key = object.__new__(DictKey)
    _set_key(dict_key, key)  # takes half the time of a call of the class
    return dict_key


class GetAttrKey(Key):
    """The name of the attribute that holds a child.

    Args:
        name: The name of the attribute.

    Example:
        >>> import leafwise as lw
        >>> str(lw.GetAttrKey("weight"))
        '.weight'
    """

    __slots__ = ("name",)
    __match_args__: ClassVar[tuple[Literal["name"]]] = ("name",)

    name: str

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "name", name)

    def __str__(self) -> str:
        if isinstance(self.name, str) and self.name.isidentifier():
            return f".{self.name}"
        return f".{safe_repr(self.name)}"

    def get(self, node: Any) -> Any:
        """Read the child at this key of a node.

        Raises:
            AttributeError: There is no such child.
        """
        return getattr(node, self.name)


class FlattenedIndexKey(Key):
    """The index of a child in a class that was registered without keys.

    Args:
        key: The index among the children, counted from 0.

    Example:
        >>> import leafwise as lw
        >>> str(lw.registry.FlattenedIndexKey(0))
        '[<flat index 0>]'
    """

    __slots__ = ("key",)
    __match_args__: ClassVar[tuple[Literal["key"]]] = ("key",)

    key: int

    def __init__(self, key: int) -> None:
        object.__setattr__(self, "key", key)

    def __str__(self) -> str:
        return f"[<flat index {safe_repr(self.key)}>]"

    def get(self, node: Any) -> Any:
        """Raise an error: only a node type can find a child without a key.

        Raises:
            LookupError: Always. Use `KeyPath((key,))(node)`, which applies the node
                type.
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
    if isinstance(value, enum.Enum):
        return f"{cls.__module__}.{cls.__qualname__}.{value._name_}"
    if cls is tuple:
        inside = ", ".join(map(literal, value))
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    if cls is complex:
        value += 0  # no literal has a part of -0.0, and 0.0 is the same key
    return safe_repr(value)


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


_MAX_SHARED: Final = 4096


@lru_cache(maxsize=64)
def _shared(key: Callable[[int], T], length: int) -> tuple[T, ...]:
    return tuple(map(key, range(length)))


def _positions(key: Callable[[int], T], length: int) -> tuple[T, ...]:
    """Return the keys of that many children, shared if they are not too many."""
    if length <= _MAX_SHARED and not is_compiling():
        return _shared(key, length)
    return tuple(map(key, range(length)))


flat_keys: Final = partial(_positions, FlattenedIndexKey)


_SHORTEST: Final = tuple([_positions(SequenceKey, length) for length in range(17)])
"""The keys of sequences by length: most have few items."""


def sequence_keys(length: int) -> tuple[SequenceKey, ...]:
    """Return the keys of the children of a sequence."""
    if length < len(_SHORTEST):
        return _SHORTEST[length]
    return _positions(SequenceKey, length)


_cached_attributes: dict[tuple[str, ...], tuple[GetAttrKey, ...]] = {}


def attribute_keys(names: tuple[str, ...]) -> tuple[GetAttrKey, ...]:
    """Return the keys of attributes, shared."""
    keys = _cached_attributes.get(names)
    if keys is None:
        keys = tuple(map(GetAttrKey, names))
        _cache(_cached_attributes, names, keys)
    return keys


# ------------------------------------------------------ the order of the keys of a dict


_cached_items: dict[tuple[Any, ...], tuple[DictKey, ...]] = {}


def item_keys(entries: tuple[Any, ...]) -> tuple[DictKey, ...]:
    """Return the keys of items of a dict, shared."""
    if not are_plain(map(type, entries)):
        return tuple(map(DictKey, entries))
    keys = _cached_items.get(entries)
    if keys is None:
        key_of: Any = DictKey if is_compiling() else _shared_key
        keys = tuple(map(key_of, entries))
        _cache(_cached_items, entries, keys)
    return keys


class DictKeys:
    """The keys of a mapping, as inserted and in leaf order: the aux data of dicts.

    Attributes:
        inserted: The keys in the order of insertion.
        ordered: The keys in leaf order; the same tuple if that is the same order.
        is_structure: Whether the insertion order is part of the structure, because it
            was asked for or because the keys have no order.
    """

    __slots__ = ("_objects", "inserted", "is_structure", "ordered")

    inserted: tuple[Any, ...]
    ordered: tuple[Any, ...]
    is_structure: bool

    def __init__(
        self,
        inserted: tuple[Any, ...],
        ordered: tuple[Any, ...] | None = None,
        *,
        is_structure: bool = False,
    ) -> None:
        self.inserted = inserted
        self.ordered = inserted if ordered is None else ordered
        self.is_structure = is_structure
        self._objects: tuple[DictKey, ...] | None = None

    @property
    def objects(self) -> tuple[DictKey, ...]:
        """A `DictKey` for each key, in leaf order."""
        if self._objects is None:
            self._objects = item_keys(self.ordered)
        return self._objects

    def read(self, node: Any) -> tuple[Any, ...]:
        """Return the values of these keys in leaf order.

        Raises:
            KeyError: A key is gone.
        """
        return tuple(map(node.__getitem__, self.ordered))

    def build(self, values: Sequence[Any]) -> dict[Any, Any]:
        """Return a dict, in insertion order, of values in leaf order."""
        pairs = zip(self.ordered, values)  # noqa: B905  # as many
        if self.ordered is self.inserted:
            return dict(pairs)
        node: dict[Any, Any] = dict.fromkeys(self.inserted)
        node.update(pairs)
        return node

    def __iter__(self) -> Iterator[Any]:
        """Return an iterator over the keys in leaf order."""
        return iter(self.ordered)

    def __reduce__(self) -> Any:
        return (given_keys if self.is_structure else dict_keys), (self.inserted,)

    def __repr__(self) -> str:
        return safe_repr(self.inserted)


_MAX_CACHED = 4096
_MAX_KEYS = 256
known_dicts: Final[dict[tuple[Any, ...], DictKeys]] = {}
"""A cache of the keys of dicts, for exact `str` and `int` keys only.

Keys of other types may equal these and still have an order of their own, as those of an
Enum whose members are strings and that defines `__lt__`.
"""
_known_given: Final[dict[tuple[Any, ...], DictKeys]] = {}


def dict_keys(keys: tuple[Any, ...]) -> DictKeys:
    """Return the keys of a dict with their order, from those in insertion order.

    Sorted, if `<` puts them into one chain; otherwise by family of types, an
    Enum by definition order; otherwise as inserted, and then order is structure.
    """
    if not are_plain(map(type, keys)):
        return arranged(keys)
    settled = known_dicts.get(keys)
    if settled is None:
        try:
            ordered = tuple(sorted(keys))
        except TypeError:  # strings and ints
            settled = arranged(keys)
        else:
            settled = DictKeys(keys, None if ordered == keys else ordered)
        _cache(known_dicts, keys, settled)
    return settled


FEW: Final = 8
"""Up to this many keys, sorting takes no longer than a look into a cache; and up to
this many children, one test each takes no longer than a call that tests all."""


def leaf_order(node: dict[Any, Any]) -> list[Any] | DictKeys:
    """Return the keys of a dict in leaf order; iterate over them.

    A few strings, or a few ints, are in order sooner than their `DictKeys` are found or
    made, so they come in a list.
    """
    if len(node) > FEW:
        return dict_keys(tuple(node))
    keys = [*node]  # this and `sort` take less time than `list` or `sorted`
    for key in keys:
        if type(key) is not str and type(key) is not int:
            return dict_keys(tuple(node))
    try:
        keys.sort()
    except TypeError:  # strings and ints
        return dict_keys(tuple(node))
    return keys


def given_keys(keys: tuple[Any, ...]) -> DictKeys:
    """Return the keys of a mapping whose insertion order is part of its structure."""
    if not are_plain(map(type, keys)):
        return DictKeys(keys, is_structure=True)
    settled = _known_given.get(keys)
    if settled is None:
        settled = DictKeys(keys, is_structure=True)
        _cache(_known_given, keys, settled)
    return settled


are_plain: Final = frozenset({str, int}).issuperset


def _cache(cache: dict[Any, Any], keys: tuple[Any, ...], value: Any) -> None:
    """Put a value into a cache, unless there are too many keys."""
    if len(keys) <= _MAX_KEYS and not is_compiling():
        if len(cache) >= _MAX_CACHED:
            cache.clear()
        cache[keys] = value


def arranged(keys: tuple[Any, ...]) -> DictKeys:
    """Find the order of keys; see `dict_keys`, which caches it."""
    order = _chain(keys, range(len(keys)))
    if order is None:
        order = _by_family(keys)
    if order is None:
        return DictKeys(keys, is_structure=True)
    if order == list(range(len(keys))):
        return DictKeys(keys)
    return DictKeys(keys, tuple([keys[index] for index in order]))


def _chain(keys: Sequence[Any], positions: Sequence[int]) -> list[int] | None:
    """Sort positions by key; None unless each key is below the next one.

    The check refuses partial orders (sets, NaN), whose sorted order would
    depend on the order of insertion.
    """
    try:
        order = sorted(positions, key=keys.__getitem__)
        is_chain = all(bool(keys[i] < keys[j]) for i, j in pairwise(order))
    except (TypeError, ValueError, AttributeError, ArithmeticError, RecursionError):
        return None  # of the keys, which cannot be compared
    return order if is_chain else None


def _by_family(keys: tuple[Any, ...]) -> list[int] | None:
    families: dict[str, list[int]] = {}
    for position, key in enumerate(keys):
        families.setdefault(_family(key), []).append(position)
    order: list[int] = []
    for _, positions in sorted(families.items()):
        family_order = _chain(keys, positions) or _by_definition(keys, positions)
        if family_order is None:
            return None
        order += family_order
    return order


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
    return f"{cls.__module__}.{cls.__qualname__}"


def _by_definition(keys: Sequence[Any], positions: list[int]) -> list[int] | None:
    classes = {type(keys[position]) for position in positions}
    if len(classes) != 1:
        return None
    (cls,) = classes
    if not issubclass(cls, enum.Enum):
        return None
    rank = {member: index for index, member in enumerate(cls.__members__.values())}
    try:
        return sorted(positions, key=lambda position: rank[keys[position]])
    except KeyError:
        return None
