"""Class specs: what a class says about the attributes of its objects.

Owns the spec of a class, the interned descriptions of what its objects have (`Fields`),
and the static part of an object, the aux data of its node (`Statics`). It knows nothing
of how attributes are assigned or objects are flattened.

The values of an object are in one table, its `__dict__`: attributes under their names,
the items of a list under their positions, and the items of a dict under their keys,
each in a tuple, so that it differs from a name.
"""

from __future__ import annotations

import builtins
import copy
import dataclasses
import functools
import inspect
import re
import sys
import types
import typing
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import is_, itemgetter
from types import BuiltinFunctionType, FunctionType, MappingProxyType
from typing import Any, Final, Literal

from ..core.keys import DictKey, GetAttrKey, SequenceKey
from ..equality import exact
from ..kinds import KIND, Kind, Marked
from ..safely import class_name, clip, shown, type_name


Order = Literal["name", "insertion"]

Kinds = dict[Any, "Kind | None"]
"""The kind of each entry of a table; None for what is static because nobody said
otherwise."""

_MAX_SHARED: Final = 200
_MAX_KNOWN: Final = 1000
_STATIC: Final = (None, Kind.STATIC)


def key_of(name: Any) -> Any:
    """Return the key of a name, a position, or the key of an item in a tuple."""
    if type(name) is str:
        return GetAttrKey(name)
    return SequenceKey(name) if type(name) is int else DictKey(name[0])


def part_of(name: Any) -> Any:
    """Return a name or position, or the key of an item without the tuple around it."""
    return name[0] if type(name) is tuple else name


class Fields:
    """The entries of an object's table, in order of assignment, with their kinds.

    Objects that were built alike share one description, which never changes.

    Attributes:
        cls: The class.
        kinds: The kind of each entry.
        names: The names of all entries, in order of assignment.
        data: The names of the children, in leaf order: attributes before items.
        static: The names of the rest, sorted.
        keys: The key of each child.
        parts: The name, position or key of each child.
        child_kinds: The kind of each child.
        signature: What two descriptions share if objects of both have the same children
            and the same static entries, in whatever order they came.
        children: Takes a table, returns the children.
        statics: Takes a table, returns the static values.
        ordered: Takes children and static values, in one tuple; returns them in
            the order of the names.
        mapping: The kinds of the attributes, for others to read.
        last: The aux data of the object that was flattened last, if it can be kept.
        read: Takes an object, returns its children and aux data, or None if it cannot;
            None until the engine offers such a function.
        sights: How often the engine was asked for one.
    """

    def __init__(self, cls: type, kinds: Kinds) -> None:
        data = [name for name, kind in kinds.items() if kind not in _STATIC]
        spec = getattr(cls, "_leafwise_spec", None)  # variables have none
        data.sort(key=_rank if spec is None or spec.order == "name" else _is_item)
        self.cls = cls
        self.kinds = kinds
        self.names = tuple(kinds)
        self.data = tuple(data)
        self.static = tuple(sorted(kinds.keys() - set(data), key=_rank))
        self.keys = tuple(map(key_of, data))
        self.parts = tuple(map(part_of, data))
        self.child_kinds = tuple([kinds[name] or Kind.STATIC for name in data])
        values = tuple([kind._value_ for kind in self.child_kinds])
        self.signature = cls, self.data, values, self.static
        self.children: Callable[[Mapping[Any, Any]], tuple[Any, ...]]
        self.children = picker(self.data)
        self.statics: Callable[[Mapping[Any, Any]], tuple[Any, ...]]
        self.statics = picker(self.static)
        places = {name: i for i, name in enumerate((*self.data, *self.static))}
        self.ordered: Callable[[tuple[Any, ...]], tuple[Any, ...]]
        self.ordered = picker([places[name] for name in self.names])
        self.last: Any = None
        self.read: Callable[[Any], tuple[tuple[Any, ...], Any] | None] | None = None
        self.sights = 0

    @property
    def mapping(self) -> Mapping[str, Kind]:
        """The kinds of the attributes."""
        named = {n: k or Kind.STATIC for n, k in self.kinds.items() if type(n) is str}
        return MappingProxyType(named)

    @property
    def is_shared(self) -> bool:
        """Whether other objects may have the same fields."""
        return len(self.names) <= _MAX_SHARED

    def kind_of(self, name: Any) -> Kind:
        """Return the kind of an entry."""
        return self.kinds[name] or Kind.STATIC

    def __reduce__(self) -> tuple[Any, ...]:
        return fields_of, (self.cls, self.kinds)


def _is_item(name: Any) -> bool:
    return type(name) is not str


def _rank(name: Any) -> Any:
    """Return what names are sorted by; a class has items of one sort only."""
    return _is_item(name), name


def fields_of(cls: Any, kinds: Kinds) -> Fields:
    """Return the description of objects with these entries."""
    if len(kinds) > _MAX_SHARED:
        return Fields(cls, dict(kinds))
    known: dict[Any, Fields] = cls._leafwise_known
    key = (*kinds, *map(id, kinds.values()))  # a kind is never gone
    found = known.get(key)
    if found is None:
        if len(known) >= _MAX_KNOWN:
            known.clear()
        found = known.setdefault(key, Fields(cls, dict(kinds)))
    return found


def picker(keys: Iterable[Any]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that reads these keys of a value into a tuple."""
    wanted = tuple(keys)
    if not wanted:
        return lambda _value: ()
    pick = itemgetter(*wanted)
    return pick if len(wanted) > 1 else lambda value: (pick(value),)


_SCALARS: Final = frozenset({bool, bytes, complex, float, int, str, type(None)})
_UNCHANGING: Final = _SCALARS | {BuiltinFunctionType, FunctionType, type}
_MAX_DEPTH: Final = 100


class Statics:
    """The static part of one object: aux data of its node.

    Attributes:
        fields: Which fields the object has, and of which kind.
        values: Its static values, in the order of `fields.static`.
        seen: The same, as they were at that time.
    """

    __slots__ = ("fields", "seen", "values")

    def __init__(self, fields: Fields, values: tuple[Any, ...]) -> None:
        self.fields = fields
        self.values = values
        self.seen = snapshots(values)

    def __eq__(self, other: object) -> bool:
        if type(other) is not Statics:
            return NotImplemented
        return same_statics(self, other)

    def __hash__(self) -> int:
        return hash((self.fields.signature, exact.digest(self.seen, typed=True)))

    @property
    def is_lasting(self) -> bool:
        """Whether an object with the same values, one by one, has this static part."""
        return self.seen is self.values

    def describe(self) -> str:
        """Describe the entries in words, for errors."""
        kinds = zip(self.fields.parts, self.fields.child_kinds, strict=True)
        data = [f"{p}" if k is Kind.DATA else f"{p} ({k.value})" for p, k in kinds]
        parts = [f"data {', '.join(data)}"] if data else []
        parts += [f"static {self}"] if self.values else []
        return "; ".join(parts) or "no attributes"

    def __reduce__(self) -> tuple[Any, ...]:
        return Statics, (self.fields, self.seen)

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        """Yield the static attributes with their values, as they were."""
        return zip(self.fields.static, self.seen, strict=True)

    def __repr__(self) -> str:
        return ", ".join(f"{part_of(name)}={shown(value)}" for name, value in self)


def statics_for(fields: Fields, values: tuple[Any, ...]) -> Statics:
    """Return the static part of an object; the last one made, if it is just that.

    Numbers and texts that are identical need no look inside, and objects that were
    built alike often share them.
    """
    last = fields.last
    if last is not None and all(map(is_, last.values, values)):
        return last  # type: ignore[no-any-return]  # as many values, by the fields
    made = Statics(fields, values)
    if _SCALARS.issuperset(map(type, values)):
        fields.last = made
    return made


def same_statics(a: Statics, b: Statics) -> bool:
    """Return whether two objects have the same attributes and the same static part."""
    if a is b:
        return True
    mine, other = a.fields, b.fields
    return (mine is other or mine.signature == other.signature) and exact.same(
        a.seen, b.seen, typed=True
    )


def snapshots(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return copies of values that later changes do not affect."""
    if _UNCHANGING.issuperset(map(type, values)):
        return values
    seen = tuple(map(snapshot, values))
    return values if all(map(is_, seen, values)) else seen


def snapshot(value: Any) -> Any:
    """Return a copy of a value with its lists, dicts and sets copied."""
    return value if type(value) in _UNCHANGING else _snapshot(value, {}, _MAX_DEPTH)


def _snapshot(value: Any, copies: dict[int, Any], depth: int) -> Any:
    cls = type(value)
    if cls in _UNCHANGING or not depth:
        return value
    if id(value) in copies:
        return copies[id(value)]
    if cls is tuple:
        seen = tuple([_snapshot(item, copies, depth - 1) for item in value])
        return value if all(map(is_, seen, value)) else seen
    if cls in _SETS:
        return cls(value)
    if cls is list and _UNCHANGING.issuperset(map(type, value)):
        return value.copy()
    if cls in _SEQUENCES or cls in _MAPPINGS:
        made = copies[id(value)] = copy.copy(value)
        for key, item in value.items() if cls in _MAPPINGS else enumerate(value):
            made[key] = _snapshot(item, copies, depth - 1)
        return made
    return value


_SETS: Final = frozenset({set, bytearray})
_SEQUENCES: Final = frozenset({list, deque})
_MAPPINGS: Final = frozenset({dict, OrderedDict, defaultdict, Counter})


_ORDERS: Final = ("name", "insertion")
_BY_NAME: Final = {"Data": Kind.DATA, "Static": Kind.STATIC}


class ClassSpec:
    """The properties of all objects of one class.

    Attributes:
        cls: The class.
        pytree: Whether its objects are nodes.
        order: Whether children come in the order of names or of assignment.
        strict: Whether a container that holds data is refused where it would be
            static, rather than made data.
        kind: The kind of an attribute that holds such an object.
        hidden: Names under which values are kept that belong to no tree: those of
            cached properties.
    """

    def __init__(
        self,
        cls: type,
        base: ClassSpec | None,
        *,
        pytree: bool | None,
        order: Order | None,
        strict: bool | None,
        kind: Kind | None,
        scope: Mapping[str, Any],
    ) -> None:
        def chosen(value: Any, name: str, default: Any) -> Any:
            if value is not None:
                return value
            return default if base is None else getattr(base, name)

        if order not in (None, *_ORDERS):
            raise ValueError(f"order must be 'name' or 'insertion', got {clip(order)}")
        self.cls = cls
        cls._leafwise_known = {}  # type: ignore[attr-defined]  # see `fields_of`
        self.pytree: bool = chosen(pytree, "pytree", True)
        self.order: Order = chosen(order, "order", "name")
        self.strict: bool = chosen(strict, "strict", True)
        self.kind: Kind = chosen(kind, "kind", Kind.DATA)
        self.hidden = frozenset(
            name
            for base_cls in cls.__mro__
            for name, value in vars(base_cls).items()
            if isinstance(value, functools.cached_property)
        )
        annotations = inspect.get_annotations(cls)
        found = (
            (n, _kind_of_annotation(x, cls, scope)) for n, x in annotations.items()
        )
        self._marks = {n: kind for n, kind in found if kind} | _unwrapped(cls)

    @functools.cached_property
    def descriptors(self) -> frozenset[str]:
        """The names that are assigned by a property, or the like, of the class."""
        found: dict[str, bool] = {"__orig_class__": True}  # see `assign`
        for base in self.cls.__mro__:
            for name, value in vars(base).items():
                if value is not None:
                    found.setdefault(name, hasattr(type(value), "__set__"))
        return frozenset(name for name, is_set in found.items() if is_set)

    @functools.cached_property
    def special(self) -> frozenset[str]:
        """The names that a class declares, or assigns by a property."""
        return self.descriptors | self.declared.keys()

    @property
    def rule(self) -> Any:
        """The rule by which objects are flattened, whether they are nodes or not."""
        made = vars(self)
        if "_rule" not in made:  # another thread's may come first, and is the rule then
            made.setdefault("_rule", self.cls._leafwise_rule(""))  # type: ignore[attr-defined]  # a Pytree
        return made["_rule"]

    @functools.cached_property
    def declared(self) -> Mapping[str, Kind]:
        """The kinds that the bodies of the class and its bases declare."""
        declared: dict[str, Kind] = {}
        for base in reversed(self.cls.__mro__):
            spec = vars(base).get("_leafwise_spec")
            if isinstance(spec, ClassSpec):
                declared |= spec._own()
        return declared

    def forget(self) -> None:
        """Read the declarations again after the class was decorated."""
        for name in ("declared", "special", "_rule"):
            vars(self).pop(name, None)

    def _own(self) -> dict[str, Kind]:
        """Return what the body of this class alone declares."""
        fields = _fields_of(self.cls)
        for name, kind in fields.items():
            if self._marks.get(name, kind) is not kind:
                raise ValueError(
                    f"{class_name(self.cls)}.{name} is annotated as "
                    f"{self._marks[name].value} but its field is declared as "
                    f"{kind.value}; declare its kind only once"
                )
        return {**self._marks, **fields}


# ------------------------------------------------------------- values and fields


def _unwrapped(cls: Any) -> dict[str, Kind]:
    """Take the marks off values in a class body, and return what they said."""
    marked = {name: value for name, value in vars(cls).items() if type(value) is Marked}
    for name, mark in marked.items():
        type.__setattr__(cls, name, mark.value)
    return {name: mark.kind for name, mark in marked.items()}


def _fields_of(cls: type) -> dict[str, Kind]:
    """Return what the fields say, if the class itself is a dataclass."""
    body = vars(cls)
    if "__dataclass_fields__" in body:
        own = body["__dataclass_fields__"]
        kinds = {name: _kind_of_field(cls, field) for name, field in own.items()}
        return {name: kind for name, kind in kinds.items() if kind is not None}
    for name, value in body.items():
        if isinstance(value, dataclasses.Field):
            raise TypeError(
                f"{class_name(cls)}.{name} is declared as a dataclass field, but "
                f"{class_name(cls)} is not a dataclass; decorate it with "
                "leafwise.dataclass, or give a value: data(value), static(value)"
            )
    return {}


def _kind_of_field(cls: type, field: dataclasses.Field[Any]) -> Kind | None:
    """Read the markers of one field; refuse them if they disagree."""
    metadata = field.metadata
    kinds = {metadata[KIND]} if KIND in metadata else set()
    for mark, other, meant in (
        ("static", Kind.DATA, Kind.STATIC),
        ("pytree_node", Kind.STATIC, Kind.DATA),
    ):
        if mark not in metadata:
            continue
        value = metadata[mark]
        if type(value) is not bool:
            raise ValueError(
                f"field {field.name!r} of {class_name(cls)} has metadata "
                f"{{{mark!r}: {clip(value)}}}; expected bool, got {type_name(value)}"
            )
        kinds.add(meant if value else other)
    if KIND in metadata and metadata[KIND].is_data:
        kinds = (kinds - {Kind.DATA}) | {metadata[KIND]}
    if len(kinds) > 1:
        raise ValueError(
            f"field {field.name!r} of {class_name(cls)} has metadata that disagrees: "
            f"{clip(dict(metadata))}"
        )
    return kinds.pop() if kinds else None


# ------------------------------------------------------------------ annotations


def _kind_of_annotation(
    annotation: Any, cls: type, scope: Mapping[str, Any]
) -> Kind | None:
    if isinstance(annotation, typing.ForwardRef):
        annotation = annotation.__forward_arg__
    if isinstance(annotation, str):
        module = vars(sys.modules.get(cls.__module__, types))
        names = _Names({**module, **scope, **vars(cls)})
        try:
            annotation = eval(annotation.strip(), {}, names)  # as `typing` does
        except Exception:  # whatever the code in an annotation raises
            found = _IN_TEXT.search(annotation)
            return None if found is None else _BY_NAME[found[1]]
        return _kind_of_annotation(annotation, cls, scope)
    for said in getattr(annotation, "__metadata__", ()):
        if isinstance(said, Kind):
            return said
    if typing.get_origin(annotation) in (typing.Union, types.UnionType, typing.Final):
        kinds = (
            _kind_of_annotation(inner, cls, scope)
            for inner in typing.get_args(annotation)
        )
        return next(filter(None, kinds), None)
    return None


class _Names(dict[str, Any]):
    """The names in an annotation; one that only type checkers know is anything."""

    def __missing__(self, name: str) -> Any:
        return vars(builtins).get(name, Any)


_IN_TEXT: Final = re.compile(r"(?:^|\||Optional\[|Union\[)\s*(?:\w+\.)*(Data|Static)\b")
"""A kind in an annotation that cannot be evaluated."""
