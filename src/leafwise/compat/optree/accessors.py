"""Path entries and accessors: how the place of a child is written down."""

from __future__ import annotations

import builtins
import dataclasses
import functools
from collections.abc import Iterable, Mapping, Sequence
from types import GenericAlias
from typing import Any, ClassVar, Final, Self

from ...core.keys import DictKey, GetAttrKey, SequenceKey
from ...core.node import NodeType
from ...core.treedef import PyTreeDef, code_of
from ...core.walk import iter_steps
from ._nodes import (
    UNNAMED,
    PyTreeKind,
    entries_of,
    is_namedtuple_class,
    is_structseq_class,
    kind_of,
    namedtuple_fields,
    structseq_fields,
)


__all__ = [
    "AutoEntry",
    "DataclassEntry",
    "FlattenedEntry",
    "GetAttrEntry",
    "GetItemEntry",
    "MappingEntry",
    "NamedTupleEntry",
    "PyTreeAccessor",
    "PyTreeEntry",
    "SequenceEntry",
    "StructSequenceEntry",
]

FIELDS: Final = "__optree_dataclass_fields__"
"""Where a dataclass that is a node keeps its fields: two dicts, children and others."""


# ---------------------------------------------------------------------------- entries


@dataclasses.dataclass(repr=False, frozen=True, slots=True)
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
            raise ValueError(f"a {self.kind.name} has no children, and no path entries")

    def __call__(self, obj: Any, /) -> Any:
        """Return the child of a node."""
        try:
            return obj[self.entry]
        except TypeError as error:
            message = f"{type(obj)!r} cannot be read by {self!r}"
            raise TypeError(message) from error

    def __add__(self, other: Any, /) -> Any:
        return PyTreeAccessor((self,)) + other

    def __repr__(self) -> str:
        value = getattr(self, self.shown)
        return f"{type(self).__name__}({self.shown}={value!r}, type={self.type!r})"

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
        if cls is not AutoEntry:  # a subclass of a user
            return super().__new__(cls)
        if kind != PyTreeKind.CUSTOM:
            raise ValueError(f"AutoEntry is for nodes of kind CUSTOM, got {kind}")
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

    @property
    def name(self) -> str:
        """The name of the attribute."""
        return self.entry  # type: ignore[no-any-return]  # a name

    def __call__(self, obj: Any, /) -> Any:
        """Return the attribute of a node."""
        return functools.reduce(getattr, self.name.split("."), obj)

    def codify(self, /, node: str = "") -> str:
        """Return the code that reads the attribute."""
        for name in self.name.split("."):
            if name.isidentifier():  # else Python could not read the code
                node = f"{node}.{name}"
            else:
                node = f"getattr({node}, {name!r})"
        return node


class FlattenedEntry(PyTreeEntry):
    """The child is identified by its position among the children; it cannot be read."""

    __slots__ = ()


class SequenceEntry(GetItemEntry):
    """The child is the item at a position."""

    __slots__ = ()

    shown = "index"

    @property
    def index(self) -> int:
        """The position."""
        return self.entry  # type: ignore[no-any-return]  # a position


class MappingEntry(GetItemEntry):
    """The child is the value of a key."""

    __slots__ = ()

    shown = "key"

    @property
    def key(self) -> Any:
        """The key."""
        return self.entry


class NamedTupleEntry(SequenceEntry):
    """The child is a field of a named tuple; the entry is its position."""

    __slots__ = ()

    shown = "field"

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of all fields."""
        return namedtuple_fields(self.type)

    @property
    def field(self) -> str:
        """The name of the field."""
        return self.fields[self.index]

    def codify(self, /, node: str = "") -> str:
        """Return the code that reads the field."""
        return f"{node}.{self.field}"


class StructSequenceEntry(NamedTupleEntry):
    """The child is a field of a struct sequence; the entry is its position."""

    __slots__ = ()

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of all fields."""
        return structseq_fields(self.type)

    @property
    def is_unnamed(self) -> bool:
        """Whether the field has no name."""
        return self.field == UNNAMED

    @property
    def shown(self) -> str:  # type: ignore[override]  # read of instances only
        """The attribute that is printed."""
        return "entry" if self.is_unnamed else "field"

    def codify(self, /, node: str = "") -> str:
        """Return the code that reads the field."""
        if self.is_unnamed:
            return f"{node}[{self.entry!r}]"
        return super().codify(node)


class DataclassEntry(GetAttrEntry):
    """The child is a field of a dataclass; the entry is its name or its position.

    Positions count the fields that are children, if the class was registered by its
    fields, otherwise all fields.
    """

    __slots__ = ()

    shown = "field"

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of all fields."""
        return tuple(field.name for field in dataclasses.fields(self.type))

    @property
    def init_fields(self) -> tuple[str, ...]:
        """The names of the fields that `__init__` takes."""
        fields = dataclasses.fields(self.type)
        return tuple(field.name for field in fields if field.init)

    @property
    def children_fields(self) -> tuple[str, ...]:
        """The names of the fields that are counted by positions."""
        if FIELDS not in vars(self.type):
            return self.fields
        children, _ = vars(self.type)[FIELDS]
        return tuple(children)

    @property
    def field(self) -> str:
        """The name of the field."""
        if isinstance(self.entry, int):
            return self.children_fields[self.entry]
        return str(self.entry)

    @property
    def name(self) -> str:
        """The name of the attribute, which is that of the field."""
        return self.field


def auto_class(cls: type) -> type[PyTreeEntry]:
    """Return the class of entries that `AutoEntry` chooses for a class of nodes."""
    if is_structseq_class(cls):
        return StructSequenceEntry
    if is_namedtuple_class(cls):
        return NamedTupleEntry
    if dataclasses.is_dataclass(cls):
        return DataclassEntry
    if issubclass(cls, Mapping):
        return MappingEntry
    if issubclass(cls, Sequence):
        return SequenceEntry
    return FlattenedEntry


_OF_KINDS: Final[dict[PyTreeKind, type[PyTreeEntry]]] = {
    PyTreeKind.NONE: PyTreeEntry,
    PyTreeKind.TUPLE: SequenceEntry,
    PyTreeKind.LIST: SequenceEntry,
    PyTreeKind.DICT: MappingEntry,
    PyTreeKind.NAMEDTUPLE: NamedTupleEntry,
    PyTreeKind.ORDEREDDICT: MappingEntry,
    PyTreeKind.DEFAULTDICT: MappingEntry,
    PyTreeKind.FROZENDICT: MappingEntry,
    PyTreeKind.DEQUE: SequenceEntry,
    PyTreeKind.STRUCTSEQUENCE: StructSequenceEntry,
}

_OF_KEYS: Final[dict[type, type[PyTreeEntry]]] = {
    GetAttrKey: GetAttrEntry,
    DictKey: MappingEntry,
    SequenceKey: SequenceEntry,
}


def registered_entry_class(node_type: NodeType) -> type[PyTreeEntry] | None:
    """Return the class of entries that the kind or the registration of a node says."""
    by_registration = getattr(node_type, "path_entry_type", None)
    return _OF_KINDS.get(kind_of(node_type), by_registration)


def entry_class(node_type: NodeType, aux: Any, arity: int) -> type[PyTreeEntry]:
    """Return the class of the entries of the children of a node."""
    cls = registered_entry_class(node_type)
    if cls is not None:
        return cls
    # A class registered with leafwise: its entries follow from its keys.
    key_classes = {type(key) for key in node_type.keys(aux, arity)}
    if len(key_classes) != 1:  # one class must do for all entries of a node
        return FlattenedEntry
    of_keys = _OF_KEYS.get(key_classes.pop(), FlattenedEntry)
    if of_keys is GetAttrEntry and dataclasses.is_dataclass(node_type.cls):
        return DataclassEntry
    return of_keys


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
            raise TypeError(f"an accessor consists of PyTreeEntry, got {entries!r}")
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
        item = super().__getitem__(index)
        if isinstance(index, slice):  # a part of the path is an accessor
            return self.__class__(item)
        return item

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

    # a tuple has its own `!=`, which would not ask `==`
    def __ne__(self, other: object, /) -> bool:
        return not self == other

    __hash__ = tuple.__hash__

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.codify()}, {super().__repr__()})"

    def codify(self, /, root: str = "*") -> str:
        """Return the code that reads the value at the path.

        Args:
            root: The code for the tree.
        """
        code = root
        for entry in self:
            code = entry.codify(code)
        return code


def accessors_of(treedef: PyTreeDef) -> list[PyTreeAccessor]:
    """Return the accessor of each leaf of a structure."""
    accessors: list[PyTreeAccessor] = []
    # Read backwards, a node comes before its children, and the last child first.
    pending: list[tuple[PyTreeEntry, ...]] = [()]
    for step in iter_steps(code_of(treedef), backwards=True):
        path = pending.pop()
        if step is None:
            accessors.append(PyTreeAccessor(path))
            continue
        node_type, arity, aux = step
        make_entry = entry_class(node_type, aux, arity)
        cls = node_type.class_of(aux)
        for key in entries_of(node_type, aux, arity):
            child_path = (*path, make_entry(key, cls, kind_of(node_type)))
            pending.append(child_path)
    accessors.reverse()
    return accessors


def paths_of(treedef: PyTreeDef) -> list[tuple[Any, ...]]:
    """Return the path of each leaf of a structure: the entries, as plain values."""
    return [accessor.path for accessor in accessors_of(treedef)]
