"""Path entries and accessors: how the place of a child is written down.

Owns the classes of entries, each with the way in which it reads a child and prints
as code, and `PyTreeAccessor`, a tuple of them. Which class a node's children have is
decided in `kinds`.
"""

from __future__ import annotations

import builtins
import dataclasses
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum, nonmember
from types import GenericAlias
from typing import Any, ClassVar, Final, Self

from . import forms


__all__ = [  # pyright: ignore[reportUnsupportedDunderAll]
    *("AutoEntry", "DataclassEntry", "FlattenedEntry", "GetAttrEntry", "GetItemEntry"),
    *("MappingEntry", "NamedTupleEntry", "PyTreeAccessor", "PyTreeEntry"),
    *("SequenceEntry", "StructSequenceEntry"),
]

FIELDS: Final = "__optree_dataclass_fields__"
"""Where a dataclass that is a node keeps its fields: two dicts, children and others."""


class PyTreeKind(IntEnum):
    """The kind of a node."""

    CUSTOM, LEAF, NONE, TUPLE, LIST, DICT, NAMEDTUPLE, ORDEREDDICT = range(8)
    DEFAULTDICT, DEQUE, STRUCTSEQUENCE, FROZENDICT = range(8, 12)

    NUM_KINDS = nonmember(12)


# ---------------------------------------------------------------------------- entries


@dataclasses.dataclass(repr=False, eq=False, frozen=True, slots=True)
class PyTreeEntry:
    """The place of a child in a node.

    Attributes:
        entry: What the child is found by: a key, a position, a name.
        type: The class of the node.
        kind: The kind of the node.
        shown: The attribute that is printed.

    Example:
        >>> from leafwise.compat import optree
        >>> entry = optree.MappingEntry("lr", dict, optree.PyTreeKind.DICT)
        >>> entry({"lr": 0.1}), entry.codify("config")
        (0.1, "config['lr']")
    """

    entry: Any
    type: builtins.type
    kind: PyTreeKind

    shown: ClassVar[str] = "entry"
    __class_getitem__: ClassVar[Any] = classmethod(GenericAlias)

    def __post_init__(self) -> None:
        """Refuse what has no children."""
        if self.kind in (PyTreeKind.LEAF, PyTreeKind.NONE):
            is_leaf = self.kind is PyTreeKind.LEAF
            told = "leaf path entry" if is_leaf else "path entry for None"
            raise ValueError(f"Cannot create a {told}.")

    def __call__(self, obj: Any, /) -> Any:
        """Return the child of a node."""
        try:
            return obj[self.entry]
        except TypeError as error:
            told = f"cannot access through {self!r} via entry {self.entry!r}"
            raise TypeError(f"{obj.__class__!r} {told}") from error

    def __add__(self, other: Any, /) -> PyTreeAccessor:
        made: PyTreeAccessor = PyTreeAccessor((self,)) + other
        return made

    def _identity(self) -> tuple[Any, ...]:
        cls = self.__class__
        return self.entry, self.type, self.kind, cls.__call__, cls.codify

    def __eq__(self, other: object, /) -> bool:
        return isinstance(other, PyTreeEntry) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def __repr__(self) -> str:
        value = getattr(self, self.shown)
        return f"{self.__class__.__name__}({self.shown}={value!r}, type={self.type!r})"

    def codify(self, /, node: str = "") -> str:
        """Return the code that reads the child.

        Args:
            node: The code for the node.
        """
        return f"{node}[<flat index {self.entry!r}>]"


class AutoEntry(PyTreeEntry):
    """The entry for a registered class; a call returns an entry of a suitable class.

    By name or position for named tuples, struct sequences and dataclasses, by key for
    mappings and sequences; else a `FlattenedEntry`.
    """

    __slots__ = ()

    def __new__(  # type: ignore[misc]  # it decides for another class
        cls, /, entry: Any, type: builtins.type, kind: PyTreeKind
    ) -> PyTreeEntry:
        """Make the entry."""
        if cls is not AutoEntry:
            return super().__new__(cls)
        if kind != PyTreeKind.CUSTOM:
            raise ValueError(
                f"Cannot create an automatic path entry for PyTreeKind {kind}."
            )
        return auto_class(type)(entry, type, kind)


class GetItemEntry(PyTreeEntry):
    """The child is `node[entry]`."""

    __slots__ = ()

    def codify(self, /, node: str = "") -> str:
        """Return the code that reads the item."""
        return f"{node}[{self.entry!r}]"


class GetAttrEntry(PyTreeEntry):
    """The child is an attribute; a dotted name leads through several attributes."""

    __slots__ = ()

    name = property(lambda self: self.entry, doc="The name of the attribute.")

    def __call__(self, obj: Any, /) -> Any:
        """Return the attribute of a node."""
        return functools.reduce(getattr, self.name.split("."), obj)

    def codify(self, /, node: str = "") -> str:
        """Return the code that reads the attribute."""
        for name in self.name.split("."):
            plain = name.isidentifier()
            node = f"{node}.{name}" if plain else f"getattr({node}, {name!r})"
        return node


class FlattenedEntry(PyTreeEntry):
    """The child is identified by its position among the children; it cannot be read."""

    __slots__ = ()


class SequenceEntry(GetItemEntry):
    """The child is the item at a position."""

    __slots__ = ()

    shown = "index"
    index = property(lambda self: self.entry, doc="The position.")


class MappingEntry(GetItemEntry):
    """The child is the value of a key."""

    __slots__ = ()

    shown = "key"
    key = property(lambda self: self.entry, doc="The key.")


class NamedTupleEntry(SequenceEntry):
    """The child is a field of a named tuple; the entry is its position."""

    __slots__ = ()

    shown = "field"
    fields = property(lambda self: forms.namedtuple_fields(self.type), doc="All names.")
    field = property(lambda self: self.fields[self.index], doc="The field name.")

    def codify(self, /, node: str = "") -> str:
        """Return the code that reads the field."""
        return f"{node}.{self.field}"


class StructSequenceEntry(NamedTupleEntry):
    """The child is a field of a struct sequence; the entry is its position."""

    __slots__ = ()

    fields = property(lambda self: forms.structseq_fields(self.type), doc="All names.")
    is_unnamed = property(lambda self: self.field == forms.UNNAMED, doc="If nameless.")
    shown = property(lambda self: "entry" if self.is_unnamed else "field")

    def codify(self, /, node: str = "") -> str:
        """Return the code that reads the field."""
        return f"{node}[{self.entry!r}]" if self.is_unnamed else super().codify(node)


class DataclassEntry(GetAttrEntry):
    """The child is a field of a dataclass; the entry is its name or its position.

    Positions count the fields that are children, if the class was registered by its
    fields, otherwise all fields.
    """

    __slots__ = ()

    shown = "field"
    fields = property(lambda self: _names(self.type), doc="The names of all fields.")
    init_fields = property(
        lambda self: _names(self.type, lambda one: one.init),
        doc="The names of the fields that `__init__` takes.",
    )
    children_fields = property(
        lambda self: tuple(vars(self.type).get(FIELDS, [self.fields])[0]),
        doc="The names of the fields that are counted by positions.",
    )

    @property
    def field(self) -> str:
        """The name of the field."""
        is_index = isinstance(self.entry, int)
        return str(self.children_fields[self.entry] if is_index else self.entry)

    name = field


def _names(cls: Any, test: Callable[[Any], bool] = bool) -> tuple[str, ...]:
    return tuple(one.name for one in dataclasses.fields(cls) if test(one))


def auto_class(cls: type) -> type[PyTreeEntry]:
    """Return the class of entries that `AutoEntry` chooses for a class of nodes."""
    tests: dict[type[PyTreeEntry], bool] = {
        StructSequenceEntry: forms.is_structseq_class(cls),
        NamedTupleEntry: forms.is_namedtuple_class(cls),
        DataclassEntry: dataclasses.is_dataclass(cls),
        MappingEntry: issubclass(cls, Mapping),
        SequenceEntry: issubclass(cls, Sequence),
    }
    return next((entry for entry, fits in tests.items() if fits), FlattenedEntry)


# -------------------------------------------------------------------------- accessors


class PyTreeAccessor(tuple[PyTreeEntry, ...]):
    """The path to a place in a tree: path entries, from the root down.

    Args:
        path: The entries.

    Raises:
        TypeError: Something else is among them.

    Example:
        >>> from leafwise.compat import optree
        >>> tree = {"layers": [1, 2]}
        >>> accessor = optree.tree_accessors(tree)[1]
        >>> accessor(tree), accessor.path, accessor.codify("tree")
        (2, ('layers', 1), "tree['layers'][1]")
    """

    __slots__: ClassVar[tuple[()]] = ()

    def __new__(cls, /, path: Iterable[PyTreeEntry] = ()) -> Self:
        """Make an accessor of entries."""
        entries = tuple(path)
        if not all(isinstance(entry, PyTreeEntry) for entry in entries):
            raise TypeError(f"Expected a path of PyTreeEntry, got {path!r}.")
        return super().__new__(cls, entries)

    @property
    def path(self) -> tuple[Any, ...]:
        """The keys of the path, without the classes of the entries."""
        return tuple(entry.entry for entry in self)

    def __call__(self, obj: Any, /) -> Any:
        """Return what stands at the place in a tree."""
        for entry in self:
            obj = entry(obj)
        return obj

    def __getitem__(self, index: Any, /) -> Any:
        found = super().__getitem__(index)
        return self.__class__(found) if isinstance(index, slice) else found

    def __add__(self, other: object, /) -> Self:
        if isinstance(other, PyTreeEntry):
            return self.__class__((*self, other))
        if isinstance(other, PyTreeAccessor):
            return self.__class__((*self, *other))
        return NotImplemented

    def __mul__(self, count: Any, /) -> Self:
        return self.__class__(super().__mul__(count))

    __rmul__ = __mul__

    def __eq__(self, other: object, /) -> bool:
        return isinstance(other, PyTreeAccessor) and super().__eq__(other)

    def __ne__(self, other: object, /) -> bool:
        return not self == other

    __hash__ = tuple.__hash__

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self.codify()}, {super().__repr__()})"

    def codify(self, /, root: str = "*") -> str:
        """Return the code that reads the value at the path.

        Args:
            root: The code for the tree.
        """
        return functools.reduce(lambda code, entry: entry.codify(code), self, root)
