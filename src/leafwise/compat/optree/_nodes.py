"""How optree describes nodes: their kinds, metadata and text; named tuples by form."""

from __future__ import annotations

import dataclasses
import functools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum, nonmember
from typing import Any, Final, TypeVar

from ...core import builtins, words
from ...core.builtins import (
    BY_NAME,
    FamilyNodeType,
    MappingNodeType,
    bare_keys,
    structseq_names,
)
from ...core.keys import DictKeys
from ...core.node import NodeType
from ...core.register import FunctionNodeType
from ...core.words import Brackets


# --------------------------------------------------------------------------- kinds


class PyTreeKind(IntEnum):
    """The kind of a node."""

    CUSTOM = 0
    LEAF = 1
    NONE = 2
    TUPLE = 3
    LIST = 4
    DICT = 5
    NAMEDTUPLE = 6
    ORDEREDDICT = 7
    DEFAULTDICT = 8
    DEQUE = 9
    STRUCTSEQUENCE = 10
    FROZENDICT = 11

    NUM_KINDS = nonmember(12)


_KINDS_BY_NAME: Final = {
    "None": PyTreeKind.NONE,
    "tuple": PyTreeKind.TUPLE,
    "list": PyTreeKind.LIST,
    "dict": PyTreeKind.DICT,
    "dict as given": PyTreeKind.DICT,
    "namedtuple": PyTreeKind.NAMEDTUPLE,
    "OrderedDict": PyTreeKind.ORDEREDDICT,
    "defaultdict": PyTreeKind.DEFAULTDICT,
    "defaultdict as given": PyTreeKind.DEFAULTDICT,
    "deque": PyTreeKind.DEQUE,
    "structseq": PyTreeKind.STRUCTSEQUENCE,
    "frozendict": PyTreeKind.FROZENDICT,  # not on each Python
    "frozendict as given": PyTreeKind.FROZENDICT,
}
_KINDS: Final[dict[NodeType, PyTreeKind]] = {
    BY_NAME[name]: kind for name, kind in _KINDS_BY_NAME.items() if name in BY_NAME
}
"""The built-in nodes that optree has, and their kinds."""


def kind_of(node_type: NodeType | None) -> PyTreeKind:
    """Return the kind of the nodes of a node type, None for leaves."""
    if node_type is None:
        return PyTreeKind.LEAF
    return _KINDS.get(node_type, PyTreeKind.CUSTOM)


def is_node(node_type: NodeType, cls: type) -> bool:
    """Return whether the instances of a built-in node type are nodes in optree."""
    if node_type is BY_NAME["namedtuple"]:
        return is_namedtuple_class(cls)
    # programs have no `Partial` unless they use leafwise beside optree
    return node_type in _KINDS or node_type is BY_NAME["Partial"]


# ---------------------------------------------------- named tuples, struct sequences

UNNAMED = "unnamed field"
"""The name of a field of a struct sequence that has none."""


def _class_of(obj: object) -> type:
    return obj if isinstance(obj, type) else type(obj)


def is_namedtuple(obj: object) -> bool:
    """Return whether a value is a named tuple or a named tuple class."""
    return is_namedtuple_class(_class_of(obj))


def is_namedtuple_class(cls: object) -> bool:
    """Return whether a value is a named tuple class."""
    if not isinstance(cls, type) or not builtins.is_namedtuple_class(cls):
        return False
    # A tuple class that only has `_fields` is no named tuple for optree.
    return callable(getattr(cls, "_make", None)) and hasattr(cls, "_asdict")


def is_namedtuple_instance(obj: object) -> bool:
    """Return whether a value is a named tuple."""
    return is_namedtuple_class(type(obj))


def namedtuple_fields(obj: Any, /) -> tuple[str, ...]:
    """Return the field names of a named tuple or a named tuple class.

    Raises:
        TypeError: It is neither.

    Example:
        >>> from collections import namedtuple
        >>> from leafwise.compat import optree
        >>> optree.namedtuple_fields(namedtuple("Point", "x y"))
        ('x', 'y')
    """
    cls: Any = _class_of(obj)
    if not is_namedtuple_class(cls):
        raise TypeError(f"Expected a named tuple, or its class, got {obj!r}.")
    return cls._fields  # type: ignore[no-any-return]  # of strings


def is_structseq(obj: object) -> bool:
    """Return whether a value is a struct sequence or a struct sequence class."""
    return is_structseq_class(_class_of(obj))


def is_structseq_class(cls: object) -> bool:
    """Return whether a value is a struct sequence class whose instances are nodes."""
    return isinstance(cls, type) and builtins.is_structseq_class(cls)


def is_structseq_instance(obj: object) -> bool:
    """Return whether a value is a struct sequence."""
    return is_structseq_class(type(obj))


def structseq_fields(obj: Any, /) -> tuple[str, ...]:
    """Return the item names of a struct sequence or a struct sequence class.

    Raises:
        TypeError: It is neither.

    Example:
        >>> import time
        >>> from leafwise.compat import optree
        >>> optree.structseq_fields(time.struct_time)[:3]
        ('tm_year', 'tm_mon', 'tm_mday')
    """
    cls: Any = _class_of(obj)
    if not is_structseq_class(cls):
        raise TypeError(f"Expected a struct sequence, or its class, got {obj!r}.")
    unnamed_count: int = cls.n_unnamed_fields
    named_count = cls.n_sequence_fields - unnamed_count
    return structseq_names(cls)[:named_count] + (UNNAMED,) * unnamed_count


# ------------------------------------------------------------------------ metadata

_KT = TypeVar("_KT")


class DictMetaData(list[_KT]):
    """The keys of a dict, in the order of its children.

    Attributes:
        original_keys: The keys in the order of insertion.
    """

    __slots__ = ("original_keys",)

    original_keys: dict[_KT, None]

    def __init__(
        self, keys: Iterable[_KT] = (), /, *, original_keys: Iterable[_KT] | None = None
    ) -> None:
        super().__init__(keys)
        if original_keys is None:
            original_keys = self
        self.original_keys = dict.fromkeys(original_keys)


def dict_metadata(keys: DictKeys) -> DictMetaData[Any]:
    """Return the metadata of a dict with these keys."""
    return DictMetaData(keys.ordered, original_keys=keys.inserted)


def metadata(
    node_type: NodeType,
    aux: Any,
    of_keys: Callable[[DictKeys], list[Any]] = dict_metadata,
) -> Any:
    """Return the metadata of a node.

    Args:
        node_type: The node type of the node.
        aux: Its aux data.
        of_keys: Takes the keys of a dict, returns what the metadata has of them.
    """
    data = words.node_data(node_type, aux)
    if not isinstance(node_type, MappingNodeType):
        return data
    if node_type.cls is OrderedDict:
        return list(data)
    keys = of_keys(node_type.keys_in(aux))
    if node_type.cls is defaultdict:
        default_factory, _ = data
        return default_factory, keys
    return keys


@dataclasses.dataclass(frozen=True)
class Unflatten:
    """Makes a node of metadata and children, as unflatten functions of optree do.

    Attributes:
        node_type: The node type of the node.
    """

    node_type: NodeType

    def __call__(self, data: Any, children: Iterable[Any]) -> Any:
        """Return the node."""
        values = list(children)
        node_type = self.node_type
        kind = kind_of(node_type)
        # programs may pass a plain list of keys, which has no order of insertion
        if kind in (PyTreeKind.DICT, PyTreeKind.FROZENDICT):
            return node_type.from_items(None, _make_dict(data, values))
        if kind is PyTreeKind.DEFAULTDICT:
            default_factory, keys = data
            return defaultdict(default_factory, _make_dict(keys, values))
        if isinstance(node_type, FunctionNodeType):
            return node_type.form.unflatten(data, tuple(values))
        # one node type is that of all named tuples, and its metadata is the class
        cls = data if isinstance(node_type, FamilyNodeType) else node_type.cls
        return words.node_from(node_type, cls, data, values)


def entries_of(node_type: NodeType, aux: Any, arity: int) -> Sequence[Any]:
    """Return the path entries of the children of a node; positions in named tuples."""
    if isinstance(node_type, FamilyNodeType):
        return range(arity)
    return bare_keys(node_type, aux, arity)


def _make_dict(keys: list[Any], values: list[Any]) -> dict[Any, Any]:
    """Return a dict in the order of insertion, if the keys know that order."""
    node = dict.fromkeys(getattr(keys, "original_keys", ()))
    node.update(zip(keys, values, strict=True))
    return node


# ---------------------------------------------------------------------------- text


def brackets(node_type: NodeType, aux: Any, arity: int) -> Brackets:
    """Return the text around the children of a node in the text of a structure."""
    kind = kind_of(node_type)
    if kind in _BRACKETS:
        return _BRACKETS[kind](metadata(node_type, aux), arity)
    if kind is PyTreeKind.CUSTOM:
        name = node_type.cls.__name__
        return f"CustomTreeNode({name}[{metadata(node_type, aux)!r}], [", None, "])"
    return words.brackets(node_type, aux, arity)


def _key_labels(keys: Iterable[Any]) -> list[str]:
    return [f"{key!r}: " for key in keys]


def _mapping(name: str, keys: list[Any], _arity: int) -> Brackets:
    if not keys:
        return f"{name}()", None, ""
    return f"{name}({{", _key_labels(keys), "})"


def _defaultdict(data: tuple[Any, list[Any]], _arity: int) -> Brackets:
    default_factory, keys = data
    return f"defaultdict({default_factory!r}, {{", _key_labels(keys), "})"


def _deque(maxlen: int | None, arity: int) -> Brackets:
    option = "" if maxlen is None else f"maxlen={maxlen}"
    if not arity:
        return f"deque({option})", None, ""
    if not option:
        return "deque([", None, "])"
    return "deque([", None, f"], {option})"


def _namedtuple(cls: Any, _arity: int) -> Brackets:
    labels = [f"{name}=" for name in namedtuple_fields(cls)]
    return f"{cls.__name__}(", labels, ")"


def _structseq(cls: type, _arity: int) -> Brackets:
    labels = []
    for position, name in enumerate(structseq_fields(cls)):
        label = f"<unnamed@{position}>" if name == UNNAMED else name
        labels.append(f"{label}=")
    return f"{cls.__module__}.{cls.__qualname__}(", labels, ")"


_BRACKETS: Final[dict[PyTreeKind, Callable[[Any, int], Brackets]]] = {
    PyTreeKind.FROZENDICT: functools.partial(_mapping, "frozendict"),
    PyTreeKind.ORDEREDDICT: functools.partial(_mapping, "OrderedDict"),
    PyTreeKind.DEFAULTDICT: _defaultdict,
    PyTreeKind.DEQUE: _deque,
    PyTreeKind.NAMEDTUPLE: _namedtuple,
    PyTreeKind.STRUCTSEQUENCE: _structseq,
}
