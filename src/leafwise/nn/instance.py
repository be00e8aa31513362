"""Objects: what a class says of its attributes, how they get kinds, how they flatten.

Owns the spec of a class, the interned descriptions of what its objects have (`Fields`),
the static part of an object, the aux data of its node (`Statics`), the decision about
an assignment, and the rule by which an object is a node. Owns also the first step into
a graph of objects: the rule of any type, and what is directly in a value.

The values of an object are in one table, its `__dict__`: attributes under their names,
the items of a list under their positions, and the items of a dict under their keys,
each in a tuple, so that it differs from a name.
"""

from __future__ import annotations

import builtins
import dataclasses
import functools
import inspect
import re
import sys
import types
import typing
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import is_, itemgetter
from types import BuiltinFunctionType, FunctionType, MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal

from .._hooks import hooks
from .._text import safe_repr, short_repr
from ..core.codec import (
    AUX_FORMS,
    AuxForm,
    Writer,
    codec_of,
    read_aux,
    read_value,
    write_aux,
)
from ..core.keys import DictKey, GetAttrKey, SequenceKey
from ..core.node import Attributes, BoundRule, Rule, Shaped
from ..core.registry import current
from ..core.words import WORDS, Brackets, Words
from ..equality import exact
from ..fields import Kind, Marked, kind_in
from .checks import (
    DataNode,
    Found,
    check_level,
    find,
    find_foreign,
    foreign_refusal,
    have_types,
    holds_data,
    learned,
    refusal,
    sort,
    stray_marks,
)


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
        attributes: Takes the children and the static values, returns the `__dict__` of
            an object. The engine may replace it by a compiled function.
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
        self.names: tuple[Any, ...] = tuple(kinds)
        self.data: tuple[Any, ...] = tuple(data)
        self.static: tuple[Any, ...] = tuple(
            sorted(kinds.keys() - set(data), key=_rank)
        )
        self.keys: tuple[Any, ...] = tuple(map(key_of, data))
        self.parts: tuple[Any, ...] = tuple(map(part_of, data))
        self.child_kinds: tuple[Kind, ...] = tuple(
            [kinds[name] or Kind.STATIC for name in data]
        )
        values = tuple([kind._value_ for kind in self.child_kinds])
        self.signature: tuple[Any, ...] = (cls, self.data, values, self.static)
        self.children: Callable[[Any], tuple[Any, ...]] = picker(self.data)
        self.statics: Callable[[Any], tuple[Any, ...]] = picker(self.static)
        self.attributes: Callable[[Any, tuple[Any, ...]], dict[Any, Any]] = (
            _attribute_maker(self.names, self.data + self.static)
        )
        self.last: Any = None
        self.read: Callable[[Any], tuple[tuple[Any, ...], Any] | None] | None = None
        self.sights = 0

    @property
    def mapping(self) -> Mapping[str, Kind]:
        """The kinds of the attributes."""
        named = {n: k or Kind.STATIC for n, k in self.kinds.items() if type(n) is str}
        return MappingProxyType(named)

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


def _attribute_maker(
    names: tuple[Any, ...], sources: tuple[Any, ...]
) -> Callable[[Any, tuple[Any, ...]], dict[Any, Any]]:
    """Return a function from children and static values to a dict of both.

    Args:
        names: The names of all entries, in the order of the dict.
        sources: The names of the children, then those of the static values.
    """
    places = {name: place for place, name in enumerate(sources)}
    in_order = picker([places[name] for name in names])

    def attributes(children: Any, values: tuple[Any, ...]) -> dict[Any, Any]:
        return dict(zip(names, in_order((*children, *values)), strict=True))

    return attributes


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
_TEXTS: Final = frozenset({str})
_UNCHANGING: Final = _SCALARS | {BuiltinFunctionType, FunctionType, type}
_MAX_DEPTH: Final = 100


class Statics:
    """The static part of one object: aux data of its node.

    Attributes:
        fields: Which fields the object has, and of which kind.
        values: Its static values, in the order of `fields.static`.
        seen: The same, as they were at that time.
    """

    __slots__ = ("_is_flat", "fields", "seen", "values")

    def __init__(
        self, fields: Fields, values: tuple[Any, ...], seen: Any = None
    ) -> None:
        self.fields: Fields = fields
        self.values: tuple[Any, ...] = values
        self.seen: tuple[Any, ...] = snapshots(values) if seen is None else seen
        self._is_flat: bool | None = None

    def is_of(self, fields: Fields, values: tuple[Any, ...]) -> bool:
        """Return whether it is clear at one look that these are still the values.

        Of what can change, this can be said of lists of strings only: other values
        differ in more than `==` can see.
        """
        if self.fields is not fields or not all(map(is_, self.values, values)):
            return False
        if self.seen is self.values:
            return True
        if self._is_flat is None:
            self._is_flat = all(
                seen is value or (type(seen) is list and have_types(seen, _TEXTS))
                for seen, value in zip(self.seen, self.values, strict=True)
            )
        return self._is_flat and self.seen == self.values

    def renewed(self, obj: Any = None) -> Statics:
        """Return the same with values of its own.

        Args:
            obj: An object that keeps those of its values that are the same.
        """
        if obj is None:
            copies = snapshots(self.seen)
            is_own = copies is self.values
            return self if is_own else Statics(self.fields, copies, self.seen)
        held = vars(obj)
        values = (
            held[name]
            if name in held and exact.same(held[name], seen, typed=True)
            else snapshot(seen)
            for name, seen in self
        )
        return Statics(self.fields, tuple(values))

    def __eq__(self, other: object) -> bool:
        if type(other) is not Statics:
            return NotImplemented
        return same_statics(self, other)

    def __hash__(self) -> int:
        return hash((self.fields.signature, exact.digest(self.seen, typed=True)))

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
        return ", ".join(f"{part_of(name)}={safe_repr(value)}" for name, value in self)


def statics_for(
    fields: Fields, values: tuple[Any, ...], last: Statics | None = None
) -> Statics:
    """Return the static part of an object; if it is just that, one made before.

    Numbers and texts that are identical need no look inside, and objects that were
    built alike often share them.

    Args:
        fields: The fields of the object.
        values: Its static values.
        last: The static part that the object had before.
    """
    for known in (last, fields.last):
        if known is not None and known.is_of(fields, values):
            return known
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
    """Return a copy of a value with its containers, and what has a rule, copied."""
    return value if type(value) in _UNCHANGING else _snapshot(value, {}, _MAX_DEPTH)


def _snapshot(value: Any, copies: dict[int, Any], depth: int) -> Any:
    cls: Any = type(value)
    if cls in _UNCHANGING or not depth:
        return value
    if id(value) in copies:
        return copies[id(value)]
    if cls is tuple:
        seen = tuple([_snapshot(item, copies, depth - 1) for item in value])
        return value if all(map(is_, seen, value)) else seen
    if cls in _SETS:
        return cls(value)
    if cls in _SEQUENCES or cls in _MAPPINGS:
        items = value.values() if cls in _MAPPINGS else value
        made = copies[id(value)] = value.copy()
        if not have_types(items, _UNCHANGING):
            for key, item in value.items() if cls in _MAPPINGS else enumerate(value):
                made[key] = _snapshot(item, copies, depth - 1)
        return made
    rule = rule_of(cls)
    if rule is None or cls.__eq__ is object.__eq__:
        return value
    children, aux = rule.flatten(value)
    if aux is value:
        return value
    parts = [*children, aux]
    copied = [_snapshot(part, copies, depth - 1) for part in parts]
    if cls.__hash__ is not None and all(map(is_, copied, parts)):
        return value  # it cannot change
    return rule.unflatten(copied.pop(), copied)


_SETS: Final = frozenset({set, bytearray})
_SEQUENCES: Final = frozenset({list, deque})
_MAPPINGS: Final = frozenset({dict, OrderedDict, defaultdict, Counter})


_DEFAULTS: Final[dict[str, Any]] = {
    "pytree": True,
    "order": "name",
    "strict": True,
    "kind": Kind.DATA,
}
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

    pytree: bool
    order: Order
    strict: bool
    kind: Kind

    def __init__(
        self, cls: type, base: ClassSpec | None, options: Mapping[str, Any]
    ) -> None:
        if options["order"] not in (None, "name", "insertion"):
            raise ValueError(
                "order must be 'name' or 'insertion', got "
                f"{short_repr(options['order'])}"
            )
        self.cls = cls
        cls._leafwise_known = {}  # type: ignore[attr-defined]  # see `fields_of`
        for name, default in _DEFAULTS.items():
            inherited = default if base is None else getattr(base, name)
            setattr(self, name, inherited if options[name] is None else options[name])
        self.hidden: frozenset[str] = frozenset(
            name
            for base_cls in cls.__mro__
            for name, value in vars(base_cls).items()
            if isinstance(value, functools.cached_property)
        )
        annotations = inspect.get_annotations(cls)
        found = ((n, _kind_of_annotation(x, cls)) for n, x in annotations.items())
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
                    f"{self.cls.__qualname__}.{name} is annotated as "
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
                f"{cls.__qualname__}.{name} is declared as a dataclass field, but "
                f"{cls.__qualname__} is not a dataclass; decorate it with "
                "leafwise.dataclass, or give a value: data(value), static(value)"
            )
    return {}


def _kind_of_field(cls: type, field: dataclasses.Field[Any]) -> Kind | None:
    """Read the markers of one field; refuse them if they disagree."""
    for mark in ("static", "pytree_node"):
        said = field.metadata.get(mark, True)
        if type(said) is not bool:
            raise ValueError(
                f"field {field.name!r} of {cls.__qualname__} has metadata "
                f"{{{mark!r}: {short_repr(said)}}}; expected bool, got "
                f"{type(said).__name__}"
            )
    try:
        return kind_in(field.metadata)
    except ValueError as error:
        raise ValueError(
            f"field {field.name!r} of {cls.__qualname__} has {error}"
        ) from None


# ------------------------------------------------------------------ annotations


def _kind_of_annotation(annotation: Any, cls: type) -> Kind | None:
    if isinstance(annotation, typing.ForwardRef):
        annotation = annotation.__forward_arg__
    if isinstance(annotation, str):
        module = vars(sys.modules.get(cls.__module__, types))
        names = _Names({**module, **vars(cls)})
        try:
            annotation = eval(annotation.strip(), {}, names)  # as `typing` does
        except Exception:  # whatever the code in an annotation raises
            found = _IN_TEXT.search(annotation)
            return None if found is None else _BY_NAME[found[1]]
        return _kind_of_annotation(annotation, cls)
    for said in getattr(annotation, "__metadata__", ()):
        if isinstance(said, Kind):
            return said
    if typing.get_origin(annotation) in (typing.Union, types.UnionType, typing.Final):
        inside = typing.get_args(annotation)
        kinds = (_kind_of_annotation(inner, cls) for inner in inside)
        return next(filter(None, kinds), None)
    return None


class _Names(dict[str, Any]):
    """The names in an annotation; one that only type checkers know is anything."""

    def __missing__(self, name: str) -> Any:
        return vars(builtins).get(name, Any)


_IN_TEXT: Final = re.compile(r"(?:^|\||Optional\[|Union\[)\s*(?:\w+\.)*(Data|Static)\b")
"""A kind in an annotation that cannot be evaluated."""


# ------------------------------------------------------------------------ one object


OBJECTS: Final = "leafwise.nn"
"""The namespace of the rules of objects that are no nodes of trees."""

_NEW: Final = object()


def kinds_in(obj: Any) -> Kinds:
    """Return the kind of each entry of an object's table; not to be changed."""
    try:
        fields: Fields | Kinds = obj._leafwise_fields
    except AttributeError:  # it was created without `__new__`
        fields = {}
        set_fields(obj, fields)
    return fields.kinds if isinstance(fields, Fields) else fields


def set_kind(obj: Any, name: Any, kind: Kind | None) -> None:
    """Change the kind of an entry."""
    kinds = kinds_in(obj)
    if kinds.get(name, _NEW) is not kind:
        if obj._leafwise_fields is not kinds:  # other objects have these fields, too
            kinds = dict(kinds)
            set_fields(obj, kinds)
        kinds[name] = kind


def drop(obj: Any, name: Any) -> None:
    """Remove an entry and its kind."""
    check_level(obj, str(key_of(name)))
    del obj.__dict__[name]
    kinds = dict(kinds_in(obj))
    kinds.pop(name, None)
    set_fields(obj, kinds)


def unmarked(value: Any) -> tuple[Any, Kind | None]:
    """Return a value without the mark around it, and the kind of the mark."""
    return (value.value, value.kind) if type(value) is Marked else (value, None)


def decide(
    obj: Any, name: Any, value: Any, mark: Kind | None = None, *, building: bool = False
) -> Kind | None:
    """Return the kind that an entry gets with a value; None if it is plainly static.

    Args:
        obj: The object.
        name: The name of the entry.
        value: The value, without its mark.
        mark: The kind of the mark around it.
        building: Whether the object's `__init__` is still running.

    Raises:
        KindError: It cannot have this value.
    """
    cls = type(obj)
    spec: ClassSpec = cls._leafwise_spec
    found = sort(value)
    is_plain = found == "plain"
    if found == "container" or type(value) is Marked:
        inside = [*find(value)] if found == "container" else [Found((), value)]
        marked = [one for one in inside if type(one.value) is Marked]
        if marked and spec.pytree:
            raise stray_marks(cls, key_of(name), marked[0])
        is_plain = is_plain or len(marked) == len(inside)
    if found == "container" and not is_plain and obj._leafwise_is_module:
        foreign = find_foreign(value)
        if foreign is not None:
            raise foreign_refusal(cls, key_of(name), foreign)
    if mark is not None:
        if mark is Kind.STATIC and spec.pytree and not is_plain:
            after = " was assigned static(...) around data"
            raise refusal(cls, key_of(name), value, "", after)
        return mark
    before = kinds_in(obj).get(name, _NEW)
    is_new = before is _NEW
    declared = spec.declared.get(name) if type(name) is str else None
    known: Any = declared if is_new or before is None else before
    if known is not None and known is not Kind.STATIC:
        return known  # type: ignore[no-any-return]  # a kind
    if is_plain:
        return known
    is_open = is_new or (before is None and obj._leafwise_is_module)
    if found == "data" and is_open and declared is None:
        return _kind_of_value(value)
    if not spec.pytree or not (declared is Kind.STATIC or spec.strict):
        return _kind_of_value(value)
    if found == "container":
        after = f", a {type(value).__name__} that would be static"
        raise refusal(cls, key_of(name), value, "Found data in ", after)
    if is_new and building:
        return Kind.STATIC  # `look_through` refuses it, if it is still there
    since = "by declaration" if declared is Kind.STATIC else "since it was first set"
    after = f", which is static {since}"
    raise refusal(cls, key_of(name), value, "Cannot assign data to ", after)


def _kind_of_value(value: Any) -> Kind:
    """Return the kind that an undeclared entry gets with data in it."""
    cls = type(value)
    spec = getattr(cls, "_leafwise_spec", None)
    if isinstance(spec, ClassSpec):
        return spec.kind
    return getattr(cls, "_leafwise_kind", Kind.DATA)


put: Final = object.__setattr__


class Shell(DataNode):
    """The data of an object besides its table.

    Attributes:
        _leafwise_fields: The description of the entries; their kinds in a dict of its
            own as long as they change.
    """

    __slots__ = (
        "__dict__",
        "__weakref__",
        "_leafwise_building",
        "_leafwise_fields",
        "_leafwise_stamp",
        "_leafwise_statics",
    )

    if TYPE_CHECKING:
        _leafwise_building: bool
        _leafwise_fields: Fields | Kinds


set_fields: Final = vars(Shell)["_leafwise_fields"].__set__
set_stamp: Final = vars(Shell)["_leafwise_stamp"].__set__
get_statics: Final = vars(Shell)["_leafwise_statics"].__get__
set_statics: Final = vars(Shell)["_leafwise_statics"].__set__
set_building: Final = vars(Shell)["_leafwise_building"].__set__


def put_fields(obj: Any, fields: Fields | Kinds) -> None:
    """Give a new object its fields, and the stamp of the trace level."""
    set_fields(obj, fields)
    if hooks.trace_level is not None:
        set_stamp(obj, hooks.trace_level())


def assign(obj: Any, name: Any, value: Any) -> None:
    """Assign an entry: decide its kind, write the value, then the kind.

    Raises:
        KindError: The entry cannot have this value.
    """
    value, mark = unmarked(value)
    if _is_kept_elsewhere(obj, name):
        put(obj, name, value)
        return
    building = getattr(obj, "_leafwise_building", False)
    kind = decide(obj, name, value, mark, building=building)
    obj.__dict__[name] = value
    set_kind(obj, name, kind)


def _is_kept_elsewhere(obj: Any, name: Any) -> bool:
    """Return whether the class has a property, or the like, of this name."""
    if name == "__orig_class__":  # typing sets it, and does not mind if it cannot
        raise AttributeError(name)
    return name in type(obj)._leafwise_spec.descriptors


def check(obj: Any, name: Any, value: Any) -> None:
    """Raise an error if an entry cannot hold a value; write nothing.

    Raises:
        KindError: It cannot.
    """
    if not _is_kept_elsewhere(obj, name):
        decide(obj, name, value)


def settle(obj: Any) -> tuple[Mapping[Any, Any], Fields]:
    """Give an object its fields, also after a direct write to its table.

    Returns:
        The entries that count, which are all but the values of cached properties, and
        their description.
    """
    values: dict[Any, Any] = obj.__dict__
    spec: ClassSpec = type(obj)._leafwise_spec
    table = kinds_in(obj)
    known = table.copy()  # another thread may assign an entry meanwhile
    kinds = {name: kind for name, kind in known.items() if name in values}
    if len(values) != len(kinds):
        for name in [name for name in [*values] if name not in known]:
            if name not in spec.hidden:
                value, mark = unmarked(values[name])
                values[name] = value
                kinds[name] = decide(obj, name, value, mark, building=True)
    fields = fields_of(type(obj), kinds)
    set_fields(obj, fields)
    if len(table) != len(known):
        set_fields(obj, {**table, **kinds})
    is_whole = len(values) == len(kinds)
    return values if is_whole else {name: values[name] for name in kinds}, fields


def finish(obj: Any) -> None:
    """Check a new object: its static entries must not hold data."""
    set_building(obj, False)
    values = obj.__dict__
    if len(values) != len(kinds_in(obj)):
        settle(obj)
    spec = type(obj)._leafwise_spec
    if spec.pytree and (spec.declared or values):
        look_through(obj)


def look_through(obj: Any) -> None:
    """Check the entries of an object."""
    values, kinds = obj.__dict__, kinds_in(obj)
    for name in [name for name, v in [*values.items()] if type(v) not in learned.plain]:
        value: Any = values[name]
        kind: Any = kinds.get(name, _NEW)
        is_static = kind is None or kind is Kind.STATIC
        if kind is not _NEW and (is_static or type(value) not in learned.settled):
            set_kind(obj, name, decide(obj, name, value))


def reconsider(obj: Any) -> None:
    """Turn static entries of an unchecked object into data if they hold some."""
    for name, value in [*settle(obj)[0].items()]:
        is_static = kinds_in(obj)[name] in (None, Kind.STATIC)
        if is_static and type(value) not in learned.plain and holds_data(value):
            set_kind(obj, name, _kind_of_value(value))


def refill(obj: Any, values: dict[Any, Any], kinds: Kinds) -> None:
    """Replace the table of an object, and the kinds of its entries."""
    put(obj, "__dict__", values)
    set_fields(obj, kinds)


def is_unchecked(cls: type) -> bool:
    """Return whether the attributes of a class's objects are not checked."""
    spec = getattr(cls, "_leafwise_spec", None)
    return spec is not None and not spec.pytree


def blank(cls: Any, kinds: Iterable[tuple[Any, Kind | None]]) -> Any:
    """Return an object without values, with the kinds of its future entries."""
    made = object.__new__(cls)
    put_fields(made, dict(kinds))
    return made


def flatten(node: Any) -> tuple[Sequence[Any], Statics]:
    """Return the children of an object and its aux data."""
    fields: Any = getattr(node, "_leafwise_fields", None)
    values = node.__dict__
    is_settled = type(fields) is Fields
    if is_settled and fields.read is not None and hooks.reader is not None:
        found: tuple[Sequence[Any], Statics] | None = fields.read(node)
        if found is not None:
            return found
    if not is_settled or values.keys() != fields.kinds.keys():
        values, fields = settle(node)
    try:
        last = get_statics(node)
    except AttributeError:
        last = None
    aux = statics_for(fields, fields.statics(values), last)
    if aux is not last:
        set_statics(node, aux)
    is_lasting = aux.seen is aux.values and len(fields.names) <= _MAX_SHARED
    if fields.read is None and hooks.reader is not None and is_lasting:
        functions = hooks.reader(fields, "_leafwise_statics")
        if functions is not None:
            fields.read, fields.attributes = functions
    return fields.children(values), aux


def flatten_unchecked(node: Any) -> tuple[Sequence[Any], Statics]:
    """Flatten an object whose entries nobody checks when they are assigned."""
    reconsider(node)
    return flatten(node)


class ObjectRule(BoundRule):
    """The rule of a class whose entries are children or static, object by object.

    Args:
        cls: The class.
        flatten: Takes an object, returns its children and its aux data.
        fill: Takes an empty object, aux data and children; fills and returns it.
        **given: See `BoundRule`.
    """

    cls: Any

    def __init__(
        self,
        cls: Any,
        flatten: Callable[[Any], tuple[Sequence[Any], Statics]],
        fill: Callable[[Any, Statics, Any], Any],
        **given: Any,
    ) -> None:
        new = object.__new__

        def unflatten(aux: Statics, children: Any) -> Any:
            return fill(new(cls), aux, children)

        super().__init__(
            cls,
            flatten=flatten,
            unflatten=unflatten,
            fill=fill,
            **given,
        )

    def keys(self, aux: Statics, _arity: int) -> Sequence[Any]:
        """Return the key of each child."""
        return aux.fields.keys

    def same(self, a: Any, b: Any) -> bool:
        """Return whether two objects have the same static part."""
        return same_statics(a, b)

    def hash(self, aux: Statics) -> int:
        """Return a hash of the static part."""
        return hash(aux)

    def compared_aux(self, aux: Statics) -> Any:
        """Return what two static parts are compared by."""
        return [*aux.fields.signature[1:]], aux.seen


def _data(_rule: ObjectRule, aux: Statics) -> dict[Any, Any]:
    return {part_of(name): value for name, value in aux}


def _brackets(rule: ObjectRule, aux: Statics, _arity: int) -> Brackets:
    labels = None
    if not rule.cls._leafwise_has_items:
        labels = [f"{child}=" for child in aux.fields.data]
    return f"CustomNode({rule.cls.__name__}[{aux}], [", labels, "])"


def _description(rule: ObjectRule, aux: Statics, _arity: int) -> str:
    return f"{rule.cls.__qualname__} with {aux.describe()}"


WORDS[ObjectRule] = Words(data=_data, brackets=_brackets, description=_description)


def object_rule(cls: Any, **given: Any) -> Rule:
    """Return the rule of a class with a table."""
    slot = next(vars(one)["__dict__"] for one in cls.__mro__ if "__dict__" in vars(one))
    put_table = slot.__set__

    def fill(node: Any, aux: Statics, children: Any) -> Any:
        fields = aux.fields
        put_table(node, fields.attributes(children, aux.values))
        set_fields(node, fields)
        trace_level = hooks.trace_level
        if trace_level is not None:  # as `put_fields`, without a call for each node
            set_stamp(node, trace_level())
        set_statics(node, aux)
        return node

    own_flatten = flatten_unchecked if is_unchecked(cls) else flatten
    if cls._leafwise_has_items:
        return ObjectRule(cls, own_flatten, fill, **given)

    def static_names(node: Any) -> Sequence[str]:
        static: Sequence[str] = own_flatten(node)[1].fields.static
        return static

    form = Shaped("_leafwise_fields", object.__new__, put_table, put_fields, Statics)
    attributes = Attributes(static_names=static_names)
    return ObjectRule(cls, own_flatten, fill, form=form, attributes=attributes, **given)


def write_statics(aux: Statics, writer: Writer) -> Any:
    """Convert aux data to values that JSON can represent."""
    code = getattr(aux.fields.cls, "_leafwise_code", ())
    kinds = [
        [[*name] if type(name) is tuple else name, kind and kind.value]
        for name, kind in aux.fields.kinds.items()
    ]
    values = [
        ["object", writer.name(value)] if name in code else writer.value(value)
        for name, value in aux
    ]
    return [kinds, values]


def read_statics(cls: Any, written: Any) -> Statics:
    """Convert values from JSON to aux data.

    Raises:
        ValueError: It is malformed.
    """
    named, values = written
    kinds = {
        tuple(name) if type(name) is list else name: kind and Kind(kind)
        for name, kind in named
    }
    if not all(type(part_of(name)) in (str, int) for name in kinds):
        raise ValueError("an entry has no name")
    fields = fields_of(cls, kinds)
    if len(fields.names) != len(named) or len(fields.static) != len(values):
        raise ValueError("as many values as there are static attributes")
    return Statics(fields, tuple(map(read_value, values)))


def _statics_fit(rule: Rule, arity: int, aux: Any) -> bool:
    if type(aux) is not Statics or type(aux.fields) is not Fields:
        return False
    return aux.fields.cls is rule.cls and len(aux.fields.data) == arity


def _write_aux(rule: Rule, aux: Statics, writer: Writer) -> Any:
    if codec_of(rule) is not None:
        return write_aux(rule, aux, writer)
    return ["codec", write_statics(aux, writer)]


def _read_aux(rule: Rule, data: Any) -> Any:
    if codec_of(rule) is not None:
        return read_aux(rule, data)
    word, statics = data
    if word != "codec":
        raise ValueError("static attributes are written by a codec")
    return read_statics(rule.cls, statics)


AUX_FORMS[ObjectRule] = AuxForm(_statics_fit, _write_aux, _read_aux)


# ------------------------------------------------------------------------ graphs


def rule_of(cls: Any) -> Rule | None:
    """Return the rule of a type, including objects that are not nodes of trees."""
    rule = current.view.rules.get(cls) or current.view.resolve(cls)
    if rule is None and issubclass(cls, DataNode):
        spec = getattr(cls, "_leafwise_spec", None)
        return None if spec is None else spec.rule
    return rule


def parts_of(rule: Rule, aux: Any, arity: int) -> Sequence[Any]:
    """Return the keys of a node's children as names, positions and keys."""
    if type(aux) is Statics:
        return aux.fields.parts
    if rule.is_sequence:
        return range(arity)
    return [key.entry for key in rule.keys(aux, arity)]


def below(value: Any) -> list[tuple[Any, Any]]:
    """Return the children of a value with their names, positions or keys."""
    rule = rule_of(type(value))
    if rule is None:
        return []
    children, aux = rule.flatten(value)
    return [*zip(parts_of(rule, aux, len(children)), children, strict=True)]
