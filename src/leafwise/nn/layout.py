"""Layouts: which attributes an object has, and of which kind each is.

Objects of a class that were built alike share one immutable `Layout`, found by
going from layout to layout as attributes are assigned. So the mapping costs an
object one reference, copies share it safely, and whatever is to be known for
flattening (an `Anatomy`) is worked out once. An object with very many attributes,
or of a class with very many layouts, has a mapping of its own instead.

Source: the idea of hidden classes, "maps" in Self (Chambers, Ungar and Lee, 1989).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from types import MappingProxyType
from typing import Any, Final, Literal

from ..core.keys import GetAttrKey
from ..kinds import Kind


__all__ = [
    "Anatomy",
    "Family",
    "Layout",
    "Order",
    "OwnLayout",
    "layout_of",
    "picker",
]

Order = Literal["name", "insertion"]

_MAX_SHARED: Final = 200
_MAX_FAMILY: Final = 1000


class Family:
    """The layouts that objects of one class have.

    Attributes:
        cls: The class.
        order: Whether data attributes are children in the order of their names or
            of their assignment.
        keyed: What makes a key of a name: an attribute, or an item.
        root: The layout of an object without attributes.
        count: How many layouts there are.
    """

    __slots__ = ("cls", "count", "keyed", "order", "root")

    def __init__(
        self, cls: type, order: Order, keyed: Callable[[str], Any] = GetAttrKey
    ) -> None:
        self.cls = cls
        self.order = order
        self.keyed = keyed
        self.count = 0
        self.root = Layout(self, {})

    def __reduce__(self) -> tuple[Any, ...]:
        return _family, (self.cls, self.keyed is not GetAttrKey)


def _family(cls: Any, items: bool) -> Family:
    """Find the family of the attributes of a class, or that of its items."""
    return cls._leafwise_family if items else cls._leafwise_traits.family  # type: ignore[no-any-return]  # set where the class is made


class Layout:
    """Which attributes an object has, in order of assignment, and their kinds.

    Attributes:
        family: The layouts that it is one of.
        kinds: The kind of each attribute.
        fixed: The layout itself, which never changes.
        quick: The layout after the first assignment of an attribute without a mark:
            by name for values that are plain, by name and type for data.
        read: Takes an object, returns its children and aux data, or None if it cannot;
            None until somebody offers such a function.
        sights: How often the layout was met by whoever may offer one.
    """

    __slots__ = ("_anatomy", "_next", "family", "kinds", "quick", "read", "sights")

    def __init__(self, family: Family, kinds: dict[str, Kind]) -> None:
        self.family = family
        self.kinds = kinds
        self._anatomy: Anatomy | None = None
        self._next: dict[tuple[str, str | None], Layout] = {}
        self.quick: dict[Any, Layout] = {}
        self.read: Callable[[Any], tuple[tuple[Any, ...], Any] | None] | None = None
        self.sights = 0

    @property
    def fixed(self) -> Layout:
        """Return a layout that never changes: this one."""
        return self

    @property
    def anatomy(self) -> Anatomy:
        """Return what is to be known for flattening."""
        made = self._anatomy
        if made is None:
            made = self._anatomy = Anatomy(self)
        return made

    def having(self, name: str, kind: Kind) -> Layout | OwnLayout:
        """Return the layout with one more attribute, or with another kind of it."""
        found = self._next.get((name, kind._value_))
        if found is not None:
            return found
        return self._step((name, kind._value_), {**self.kinds, name: kind})

    def lacking(self, name: str) -> Layout | OwnLayout:
        """Return the layout without an attribute."""
        found = self._next.get((name, None))
        if found is not None:
            return found
        rest = {known: kind for known, kind in self.kinds.items() if known != name}
        return self._step((name, None), rest)

    def _step(
        self, step: tuple[str, str | None], kinds: dict[str, Kind]
    ) -> Layout | OwnLayout:
        family = self.family
        if len(kinds) > _MAX_SHARED or family.count >= _MAX_FAMILY:
            return OwnLayout(family, kinds)
        family.count += 1
        return self._next.setdefault(step, Layout(family, kinds))


class OwnLayout:
    """The layout of one object alone, which changes with it.

    Attributes:
        family: The layouts of the object's class.
        kinds: The kind of each attribute.
    """

    __slots__ = ("_fixed", "family", "kinds")

    quick: Final[Mapping[Any, Layout]] = {}
    read: Final = None

    def __init__(self, family: Family, kinds: dict[str, Kind]) -> None:
        self.family = family
        self.kinds = kinds
        self._fixed: Layout | None = None

    @property
    def fixed(self) -> Layout:
        """Return a layout of the same attributes that never changes."""
        made = self._fixed
        if made is None:
            made = self._fixed = Layout(self.family, dict(self.kinds))
        return made

    def having(self, name: str, kind: Kind) -> OwnLayout:
        """Add an attribute, or change its kind."""
        self._fixed = None
        self.kinds[name] = kind
        return self

    def lacking(self, name: str) -> OwnLayout:
        """Take an attribute away."""
        self._fixed = None
        del self.kinds[name]
        return self


def layout_of(family: Family, kinds: Iterable[tuple[str, Kind]]) -> Layout | OwnLayout:
    """Return the layout of a class with these attributes."""
    layout: Layout | OwnLayout = family.root
    for name, kind in kinds:
        layout = layout.having(name, kind)
    return layout


class Anatomy:
    """How objects of one layout come apart.

    Attributes:
        layout: The layout.
        names: The names of all attributes, in order of assignment.
        data: The names of the children, in leaf order.
        static: The names of the rest, sorted.
        keys: The key of each child.
        mark: What two anatomies share if objects of both have the same children
            and the same static attributes, in whatever order they came.
        children: Takes the attributes of an object, returns its children.
        statics: Takes the attributes of an object, returns its static values.
        ordered: Takes children and static values, in one tuple; returns them in
            the order of the names.
        mapping: The kinds, for others to read.
        last: The aux data of the object that was flattened last, if it can be kept.
    """

    __slots__ = (
        "children",
        "data",
        "keys",
        "last",
        "layout",
        "mapping",
        "mark",
        "names",
        "ordered",
        "static",
        "statics",
    )

    def __init__(self, layout: Layout) -> None:
        kinds = layout.kinds
        data = [name for name, kind in kinds.items() if kind is not Kind.STATIC]
        if layout.family.order == "name":
            data.sort()
        self.layout = layout
        self.names = tuple(kinds)
        self.data = tuple(data)
        self.static = tuple(sorted(kinds.keys() - set(data)))
        self.keys = tuple(map(layout.family.keyed, self.data))
        self.mark = (
            layout.family.cls,
            self.data,
            tuple(kinds[name]._value_ for name in data),
            self.static,
        )
        self.children: Callable[[Mapping[str, Any]], tuple[Any, ...]]
        self.children = picker(self.data)
        self.statics: Callable[[Mapping[str, Any]], tuple[Any, ...]]
        self.statics = picker(self.static)
        places = {name: i for i, name in enumerate((*self.data, *self.static))}
        self.ordered: Callable[[tuple[Any, ...]], tuple[Any, ...]]
        self.ordered = picker([places[name] for name in self.names])
        self.mapping = MappingProxyType(kinds)
        self.last: Any = None

    def kind_of(self, name: str) -> Kind:
        """Return the kind of an attribute."""
        return self.layout.kinds[name]

    def __reduce__(self) -> tuple[Any, ...]:
        layout = self.layout
        return _anatomy, (layout.family, tuple(layout.kinds.items()))


def _anatomy(family: Family, kinds: Iterable[tuple[str, Kind]]) -> Anatomy:
    return layout_of(family, kinds).fixed.anatomy


def picker(keys: Iterable[Any]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that reads these keys of a value into a tuple."""
    wanted = tuple(keys)
    if not wanted:
        return lambda _value: ()
    pick = itemgetter(*wanted)
    return pick if len(wanted) > 1 else lambda value: (pick(value),)
