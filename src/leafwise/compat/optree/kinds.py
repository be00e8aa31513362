"""Nodes as optree tells of them: their kinds, metadata, entries and text.

Owns the tables from a rule of ours to what optree says of such a node. Everything else
beside this module asks here, and no rule by its name.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import is_dataclass
from typing import Any, Final, TypeVar

from ...core.builtins import BY_NAME, MappingRule
from ...core.keys import DictKey, GetAttrKey, SequenceKey
from ...core.node import Brackets, Rule
from ...core.treedef import PyTreeDef
from ...core.walk import iter_steps
from . import accessors
from .accessors import PyTreeAccessor, PyTreeEntry, PyTreeKind
from .forms import UNNAMED, structseq_fields


_CUSTOM: Final = PyTreeKind.CUSTOM
_KINDS: Final[dict[Rule, PyTreeKind]] = {
    rule: PyTreeKind.__members__.get(name.split()[0].upper(), _CUSTOM)
    for name, rule in BY_NAME.items()
} | {BY_NAME["structseq"]: PyTreeKind.STRUCTSEQUENCE}


def kind_of(rule: Rule | None) -> PyTreeKind:
    """Return the kind of the nodes of a rule, None for leaves."""
    return PyTreeKind.LEAF if rule is None else _KINDS.get(rule, _CUSTOM)


# ---------------------------------------------------------------------------- metadata

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
        self.original_keys = dict.fromkeys(
            self if original_keys is None else original_keys
        )


def metadata(rule: Rule, aux: Any, *, keys: Any = None) -> Any:
    """Return the metadata of a node, without its children.

    Args:
        rule: The rule of the node.
        aux: Its aux data.
        keys: What the keys of a dict are put into, if their order does not matter.
    """
    kind = kind_of(rule)
    if keys is None:
        original = rule.keys_in(aux).inserted if isinstance(rule, MappingRule) else ()
        keys = lambda found: DictMetaData(found, original_keys=original)  # noqa: E731
    if kind is PyTreeKind.DICT:
        return keys(rule.bare_keys(aux, 0))
    if kind is PyTreeKind.DEFAULTDICT:
        return aux[1], keys(rule.bare_keys(aux, 0))
    if kind is PyTreeKind.ORDEREDDICT:
        return [*aux.ordered]
    return rule.node_data(aux)


def _make_dict(data: Any, children: Iterable[Any]) -> Any:
    made = dict.fromkeys(getattr(data, "original_keys", ()))
    made.update(zip(data, children, strict=True))
    return made


def _none(_data: Any, children: Iterable[Any]) -> None:
    if [*children]:
        raise ValueError("Expected no children.")


UNFLATTEN: Final[Mapping[PyTreeKind, Callable[[Any, Iterable[Any]], Any]]] = {
    PyTreeKind.NONE: _none,
    PyTreeKind.TUPLE: lambda _, children: tuple(children),
    PyTreeKind.LIST: lambda _, children: [*children],
    PyTreeKind.DICT: _make_dict,
    PyTreeKind.NAMEDTUPLE: lambda data, children: data(*children),
    PyTreeKind.ORDEREDDICT: lambda data, children: OrderedDict(
        zip(data, children, strict=True)
    ),
    PyTreeKind.DEFAULTDICT: lambda data, children: defaultdict(
        data[0], _make_dict(data[1], children)
    ),
    PyTreeKind.DEQUE: lambda data, children: deque(children, maxlen=data),
    PyTreeKind.STRUCTSEQUENCE: lambda data, children: data(children),
}
"""Make a node of metadata and children."""


# ----------------------------------------------------------------------------- entries

ENTRIES: Final[Mapping[PyTreeKind, type[PyTreeEntry]]] = {
    **dict.fromkeys(
        (PyTreeKind.TUPLE, PyTreeKind.LIST, PyTreeKind.DEQUE), accessors.SequenceEntry
    ),
    **dict.fromkeys((PyTreeKind.DICT, PyTreeKind.ORDEREDDICT), accessors.MappingEntry),
    PyTreeKind.DEFAULTDICT: accessors.MappingEntry,
    PyTreeKind.NAMEDTUPLE: accessors.NamedTupleEntry,
    PyTreeKind.STRUCTSEQUENCE: accessors.StructSequenceEntry,
}
"""The classes of the entries of children."""

_OF_KEYS: Final[Mapping[type, type[PyTreeEntry]]] = {
    GetAttrKey: accessors.GetAttrEntry,
    DictKey: accessors.MappingEntry,
    SequenceKey: accessors.SequenceEntry,
}


def entry_class(rule: Rule, aux: Any, arity: int) -> type[PyTreeEntry]:
    """Return the class of the entries of the children of a node."""
    found = ENTRIES.get(kind_of(rule)) or getattr(rule, "path_entry_type", None)
    if found is not None:
        return found
    kinds = {type(key) for key in rule.keys(aux, arity)}  # registered as leafwise does
    of_keys = _OF_KEYS.get(kinds.pop()) if len(kinds) == 1 else None
    if of_keys is accessors.GetAttrEntry and is_dataclass(rule.cls):
        return accessors.DataclassEntry
    return of_keys or accessors.FlattenedEntry


def accessors_of(treedef: PyTreeDef) -> list[PyTreeAccessor]:
    """Return the accessor of each leaf of a structure."""
    found: list[PyTreeAccessor] = []
    stack: list[tuple[PyTreeEntry, ...]] = [()]
    for step in iter_steps(treedef._code, backwards=True):
        path = stack.pop()
        if step is None:
            found.append(PyTreeAccessor(path))
            continue
        rule, arity, aux = step
        make, cls = entry_class(rule, aux, arity), rule.class_of(aux)
        kind = kind_of(rule)
        stack += [(*path, make(key, cls, kind)) for key in rule.bare_keys(aux, arity)]
    return found[::-1]


def paths_of(treedef: PyTreeDef) -> list[tuple[Any, ...]]:
    """Return the path of each leaf of a structure: the entries, as plain values."""
    return [tuple([one.entry for one in path]) for path in accessors_of(treedef)]


# -------------------------------------------------------------------------------- text


def brackets(rule: Rule, aux: Any, arity: int) -> Brackets:
    """Return the text around the children of a node in the text of a structure."""
    kind = kind_of(rule)
    make = _BRACKETS.get(kind)
    if make is not None:
        return make(rule, aux, arity)
    if kind is not _CUSTOM:
        return rule.brackets(aux, arity)
    name, data = rule.cls.__name__, metadata(rule, aux)
    return f"CustomTreeNode({name}[{data!r}], [", None, "])"


def _labels(keys: Iterable[Any]) -> list[str]:
    return [f"{key!r}: " for key in keys]


def _ordereddict(_rule: Rule, aux: Any, _arity: int) -> Brackets:
    if not aux.ordered:
        return "OrderedDict()", None, ""
    return "OrderedDict({", _labels(aux.ordered), "})"


def _defaultdict(rule: Rule, aux: Any, _arity: int) -> Brackets:
    return f"defaultdict({aux[1]!r}, {{", _labels(rule.bare_keys(aux, 0)), "})"


def _deque(_rule: Rule, aux: Any, arity: int) -> Brackets:
    maxlen = "" if aux is None else f"maxlen={aux}"
    if not arity:
        return f"deque({maxlen})", None, ""
    return "deque([", None, f"], {maxlen})" if maxlen else "])"


def _namedtuple(rule: Rule, aux: Any, _arity: int) -> Brackets:
    cls: Any = rule.class_of(aux)
    return f"{cls.__name__}(", [f"{name}=" for name in cls._fields], ")"


def _structseq(rule: Rule, aux: Any, _arity: int) -> Brackets:
    cls = rule.class_of(aux)
    names = [
        f"<unnamed@{place}>=" if name == UNNAMED else f"{name}="
        for place, name in enumerate(structseq_fields(cls))
    ]
    return f"{cls.__module__}.{cls.__qualname__}(", names, ")"


_BRACKETS: Final[Mapping[PyTreeKind, Callable[[Rule, Any, int], Brackets]]] = {
    PyTreeKind.ORDEREDDICT: _ordereddict,
    PyTreeKind.DEFAULTDICT: _defaultdict,
    PyTreeKind.DEQUE: _deque,
    PyTreeKind.NAMEDTUPLE: _namedtuple,
    PyTreeKind.STRUCTSEQUENCE: _structseq,
}
