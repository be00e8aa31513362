"""How objects keep attributes: the kind of each, and how an object is flattened.

All values of an object are in one table, its `__dict__`: attributes under their names,
the items of a list under their positions, and the items of a dict under their keys,
each in a tuple, so that it differs from a name. An entry of the table has a kind, which
`decide` finds when it is assigned. Objects with equal entries share a description,
`Fields`. The static values of one object are the aux data of its node, `Statics`, and
what a class says of its objects is in a `ClassSpec`.

`rule_of` and `below` make the first step into a graph of objects: they also know the
objects that are not nodes of trees.
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
    contents_of,
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
"""The kind of each entry of a table; None for what is static by default."""

_MAX_SHARED: Final = 200
_MAX_DESCRIPTIONS: Final = 1000
_STATIC_KINDS: Final = (None, Kind.STATIC)


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
        mapping: The kinds of the attributes, read-only.
        last: The aux data of the object that was flattened last, if it can be shared.
        read: Takes an object, returns its children and aux data, or None if it cannot;
            None until the engine compiles such a function.
        sights: How often the engine was asked for one.
    """

    def __init__(self, cls: type, kinds: Kinds) -> None:
        data = [name for name, kind in kinds.items() if kind not in _STATIC_KINDS]
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
        kinds = {}
        for name, kind in self.kinds.items():
            if type(name) is str:
                kinds[name] = kind or Kind.STATIC
        return MappingProxyType(kinds)

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
    descriptions: dict[Any, Fields] = cls._leafwise_known
    key = (*kinds, *map(id, kinds.values()))  # kinds live as long as the process
    fields = descriptions.get(key)
    if fields is None:
        if len(descriptions) >= _MAX_DESCRIPTIONS:
            descriptions.clear()
        # Another thread's description may come first, and is used then.
        fields = descriptions.setdefault(key, Fields(cls, dict(kinds)))
    return fields


def picker(keys: Iterable[Any]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that reads these keys of a value into a tuple."""
    keys = tuple(keys)
    if not keys:
        return lambda _value: ()
    pick = itemgetter(*keys)
    if len(keys) == 1:
        return lambda value: (pick(value),)
    return pick


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

    __slots__ = ("_is_flat", "fields", "seen", "values")

    def __init__(
        self,
        fields: Fields,
        values: tuple[Any, ...],
        seen: tuple[Any, ...] | None = None,
    ) -> None:
        self.fields: Fields = fields
        self.values: tuple[Any, ...] = values
        self.seen: tuple[Any, ...] = snapshots(values) if seen is None else seen
        self._is_flat: bool | None = None

    def is_of(self, fields: Fields, values: tuple[Any, ...]) -> bool:
        """Return whether a quick comparison shows these to be the same values.

        Of mutable values, only lists of strings are compared: others may differ in ways
        that `==` does not see.
        """
        if self.fields is not fields or not all(map(is_, self.values, values)):
            return False
        if self.seen is self.values:
            return True
        if self._is_flat is None:
            self._is_flat = all(
                copy is value or (type(copy) is list and have_types(copy, _TEXTS))
                for copy, value in zip(self.seen, self.values, strict=True)
            )
        return self._is_flat and self.seen == self.values

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
        return same_statics(self, other)

    def __hash__(self) -> int:
        return hash((self.fields.signature, exact.digest(self.seen, typed=True)))

    def describe(self) -> str:
        """Describe the entries in words, for errors."""
        children = []
        for part, kind in zip(self.fields.parts, self.fields.child_kinds, strict=True):
            children.append(
                f"{part}" if kind is Kind.DATA else f"{part} ({kind.value})"
            )
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


def statics_for(
    fields: Fields, values: tuple[Any, ...], last: Statics | None = None
) -> Statics:
    """Return the static part of an object, an existing one if it is unchanged.

    Numbers and texts that are identical need no comparison, and objects that were built
    alike often share them.

    Args:
        fields: The fields of the object.
        values: Its static values.
        last: The static part that the object had before.
    """
    if last is not None and last.is_of(fields, values):
        return last
    shared: Statics | None = fields.last
    if shared is not None and shared.is_of(fields, values):
        return shared
    statics = Statics(fields, values)
    if _SCALARS.issuperset(map(type, values)):
        fields.last = statics
    return statics


def same_statics(a: Statics, b: Statics) -> bool:
    """Return whether two objects have the same attributes and the same static part."""
    if a is b:
        return True
    is_alike = a.fields is b.fields or a.fields.signature == b.fields.signature
    return is_alike and exact.same(a.seen, b.seen, typed=True)


def snapshots(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return copies of values that later changes do not affect."""
    if _UNCHANGING.issuperset(map(type, values)):
        return values
    copies = tuple(map(snapshot, values))
    return values if all(map(is_, copies, values)) else copies


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
        return value if all(map(is_, items, value)) else items
    if cls in _SETS:
        return cls(value)
    if cls in _SEQUENCES:
        return _copy_container(value, value, enumerate(value), copies, depth)
    if cls in _MAPPINGS:
        return _copy_container(value, value.values(), value.items(), copies, depth)
    rule = rule_of(cls)
    if rule is None or cls.__eq__ is object.__eq__:
        return value
    children, aux = rule.flatten(value)
    if aux is value:
        return value
    parts = [*children, aux]
    part_copies = [_copy_nodes(part, copies, depth - 1) for part in parts]
    if cls.__hash__ is not None and all(map(is_, part_copies, parts)):
        return value  # it is immutable, and so are its parts
    aux_copy = part_copies.pop()
    return rule.unflatten(aux_copy, part_copies)


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
        hidden: The names of cached properties, whose values are not part of trees.
    """

    pytree: bool
    order: Order
    strict: bool
    kind: Kind

    def __init__(
        self,
        cls: type,
        base: ClassSpec | None,
        options: Mapping[str, Any],
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
        self._marks: dict[str, Kind] = {}
        for name, annotation in inspect.get_annotations(cls).items():
            kind = _kind_of_annotation(annotation, cls)
            if kind is not None:
                self._marks[name] = kind
        self._marks |= _unwrap_marks(cls)

    @functools.cached_property
    def descriptors(self) -> frozenset[str]:
        """The names that are assigned by a property, or the like, of the class."""
        has_setter: dict[str, bool] = {"__orig_class__": True}  # see `assign`
        for base in self.cls.__mro__:
            for name, value in vars(base).items():
                if value is not None:
                    has_setter.setdefault(name, hasattr(type(value), "__set__"))
        return frozenset(name for name, is_set in has_setter.items() if is_set)

    @functools.cached_property
    def special(self) -> frozenset[str]:
        """The names that a class declares, or assigns by a property."""
        return self.descriptors | self.declared.keys()

    @property
    def rule(self) -> Any:
        """The rule by which objects are flattened, whether they are nodes or not."""
        cache = vars(self)
        if "_rule" not in cache:
            cls: Any = self.cls
            # If another thread's rule comes first, that one is the rule.
            cache.setdefault("_rule", cls._leafwise_rule(""))
        return cache["_rule"]

    @functools.cached_property
    def declared(self) -> Mapping[str, Kind]:
        """The kinds that the bodies of the class and its bases declare."""
        declared: dict[str, Kind] = {}
        for base in reversed(self.cls.__mro__):
            spec = vars(base).get("_leafwise_spec")
            if isinstance(spec, ClassSpec):
                declared |= spec.read_body()
        return declared

    def forget(self) -> None:
        """Read the declarations again after the class was decorated."""
        for name in ("declared", "special", "_rule"):
            vars(self).pop(name, None)

    def read_body(self) -> dict[str, Kind]:
        """Return the kinds that the body of this class alone declares."""
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


def _unwrap_marks(cls: Any) -> dict[str, Kind]:
    """Take the marks off values in a class body, and return their kinds."""
    kinds = {}
    for name, value in list(vars(cls).items()):
        if type(value) is Marked:
            type.__setattr__(cls, name, value.value)
            kinds[name] = value.kind
    return kinds


def _fields_of(cls: type) -> dict[str, Kind]:
    """Return the kinds that fields declare, if the class itself is a dataclass."""
    body = vars(cls)
    if "__dataclass_fields__" in body:
        kinds = {}
        for name, field in body["__dataclass_fields__"].items():
            kind = _kind_of_field(cls, field)
            if kind is not None:
                kinds[name] = kind
        return kinds
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
        flag = field.metadata.get(mark, True)
        if type(flag) is not bool:
            raise ValueError(
                f"field {field.name!r} of {cls.__qualname__} has metadata "
                f"{{{mark!r}: {short_repr(flag)}}}; expected bool, got "
                f"{type(flag).__name__}"
            )
    try:
        return kind_in(field.metadata)
    except ValueError as error:
        raise ValueError(
            f"field {field.name!r} of {cls.__qualname__} has {error}"
        ) from None


# ------------------------------------------------------------------ annotations


def _kind_of_annotation(annotation: Any, cls: type) -> Kind | None:
    """Return the kind that an annotation declares, None if it declares none."""
    if isinstance(annotation, typing.ForwardRef):
        annotation = annotation.__forward_arg__
    if isinstance(annotation, str):
        return _kind_in_text(annotation, cls)
    for metadata in getattr(annotation, "__metadata__", ()):
        if isinstance(metadata, Kind):
            return metadata
    if typing.get_origin(annotation) in (typing.Union, types.UnionType, typing.Final):
        for inner in typing.get_args(annotation):
            kind = _kind_of_annotation(inner, cls)
            if kind is not None:
                return kind
    return None


def _kind_in_text(annotation: str, cls: type) -> Kind | None:
    """Return the kind that an annotation in quotes declares."""
    module = vars(sys.modules.get(cls.__module__, types))
    names = _Names({**module, **vars(cls)})
    try:
        value = eval(annotation.strip(), {}, names)  # as `typing` does
    except Exception:  # whatever the code in an annotation raises
        match = _KIND_IN_TEXT.search(annotation)
        return None if match is None else _BY_NAME[match[1]]
    return _kind_of_annotation(value, cls)


class _Names(dict[str, Any]):
    """The names in an annotation; one that only type checkers know is anything."""

    def __missing__(self, name: str) -> Any:
        return vars(builtins).get(name, Any)


_KIND_IN_TEXT: Final = re.compile(
    r"(?:^|\||Optional\[|Union\[)\s*(?:\w+\.)*(Data|Static)\b"
)
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
    if type(value) is Marked:
        return value.value, value.kind
    return value, None


def decide(
    obj: Any,
    name: Any,
    value: Any,
    mark: Kind | None = None,
    *,
    building: bool = False,
) -> Kind | None:
    """Return the kind that an entry gets with a value; None if it is static by default.

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
    answer = sort(value)
    is_plain = answer == "plain"
    if answer == "container" or type(value) is Marked:
        is_plain = _holds_no_data(obj, name, value)
    if mark is not None:
        if mark is Kind.STATIC and spec.pytree and not is_plain:
            after = " was assigned static(...) around data"
            raise refusal(cls, key_of(name), value, "", after)
        return mark
    old_kind: Any = kinds_in(obj).get(name, _NEW)
    is_new = old_kind is _NEW
    declared = spec.declared.get(name) if type(name) is str else None
    kind: Kind | None = declared if is_new or old_kind is None else old_kind
    if is_plain or kind not in _STATIC_KINDS:
        return kind
    # From here on, the value is or holds data, and the entry is static or new.
    is_open = is_new or (old_kind is None and obj._leafwise_is_module)
    if answer == "data" and is_open and declared is None:
        return _kind_of_value(value)
    if not spec.pytree or not (declared is Kind.STATIC or spec.strict):
        return _kind_of_value(value)
    if answer == "container":
        after = f", a {type(value).__name__} that would be static"
        raise refusal(cls, key_of(name), value, "Found data in ", after)
    if is_new and building:
        return Kind.STATIC  # `look_through` refuses it, if it is still there
    since = "by declaration" if declared is Kind.STATIC else "since it was first set"
    after = f", which is static {since}"
    raise refusal(cls, key_of(name), value, "Cannot assign data to ", after)


def _holds_no_data(obj: Any, name: Any, value: Any) -> bool:
    """Return whether there is no data in a container or a mark.

    Args:
        obj: The object to which the value is assigned.
        name: The name of the entry.
        value: A container, or a mark inside another one.

    Raises:
        KindError: There is a mark inside, or a node of another framework that would
            silently be left out.
    """
    cls = type(obj)
    contents: dict[str, list[Found]] = {"data": [], "mark": [], "container": []}
    for answer, part in contents_of(value):
        contents[answer].append(part)
    marks = contents["mark"]
    if marks and cls._leafwise_spec.pytree:
        raise stray_marks(cls, key_of(name), marks[0])
    if not contents["data"]:
        return True
    if obj._leafwise_is_module:
        foreign = find_foreign(contents["container"])
        if foreign is not None:
            raise foreign_refusal(cls, key_of(name), foreign)
    return False


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
    own_kinds = kinds_in(obj)
    old_kinds = own_kinds.copy()  # another thread may assign an entry meanwhile
    kinds = {name: kind for name, kind in old_kinds.items() if name in values}
    if len(values) != len(kinds):
        for name in list(values):
            if name not in old_kinds and name not in spec.hidden:
                value, mark = unmarked(values[name])
                values[name] = value
                kinds[name] = decide(obj, name, value, mark, building=True)
    fields = fields_of(type(obj), kinds)
    set_fields(obj, fields)
    if len(own_kinds) != len(old_kinds):
        set_fields(obj, {**own_kinds, **kinds})
    if len(values) != len(kinds):
        values = {name: values[name] for name in kinds}
    return values, fields


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
    values = obj.__dict__
    kinds = kinds_in(obj)
    for name, value in list(values.items()):
        if type(value) in learned.plain:
            continue
        kind: Any = kinds.get(name, _NEW)
        if kind is _NEW:
            continue
        if kind in _STATIC_KINDS or type(value) not in learned.settled:
            set_kind(obj, name, decide(obj, name, value))


def reconsider(obj: Any) -> None:
    """Turn static entries of an unchecked object into data if they hold some."""
    values, _ = settle(obj)
    for name, value in list(values.items()):
        is_static = kinds_in(obj)[name] in _STATIC_KINDS
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
    obj = object.__new__(cls)
    put_fields(obj, dict(kinds))
    return obj


def flatten(node: Any) -> tuple[Sequence[Any], Statics]:
    """Return the children of an object and its aux data."""
    fields: Any = getattr(node, "_leafwise_fields", None)
    values = node.__dict__
    is_settled = type(fields) is Fields
    if is_settled and fields.read is not None and hooks.reader is not None:
        children_and_aux: tuple[Sequence[Any], Statics] | None = fields.read(node)
        if children_and_aux is not None:
            return children_and_aux
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
    """Flatten an object whose entries are not checked when they are assigned."""
    reconsider(node)
    return flatten(node)


class ObjectRule(BoundRule):
    """The rule of a class whose entries are children or static, object by object.

    Args:
        cls: The class.
        flatten: Takes an object, returns its children and its aux data.
        fill: Takes an empty object, aux data and children; fills and returns it.
        **options: See `BoundRule`.
    """

    cls: Any
    aux_compares_itself = True

    def __init__(
        self,
        cls: Any,
        flatten: Callable[[Any], tuple[Sequence[Any], Statics]],
        fill: Callable[[Any, Statics, Any], Any],
        **options: Any,
    ) -> None:
        new = object.__new__

        def unflatten(aux: Statics, children: Any) -> Any:
            return fill(new(cls), aux, children)

        super().__init__(
            cls,
            flatten=flatten,
            unflatten=unflatten,
            fill=fill,
            **options,
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
        """Return the values by which two static parts are compared."""
        return list(aux.fields.signature[1:]), aux.seen


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


def object_rule(cls: Any, **options: Any) -> Rule:
    """Return the rule of a class with a table."""
    slots = (vars(base).get("__dict__") for base in cls.__mro__)
    put_table = next(filter(None, slots)).__set__

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
        return ObjectRule(cls, own_flatten, fill, **options)

    def static_names(node: Any) -> Sequence[str]:
        _, aux = own_flatten(node)
        static: Sequence[str] = aux.fields.static
        return static

    form = Shaped("_leafwise_fields", object.__new__, put_table, put_fields, Statics)
    attributes = Attributes(static_names=static_names)
    return ObjectRule(
        cls, own_flatten, fill, form=form, attributes=attributes, **options
    )


def write_statics(aux: Statics, writer: Writer) -> Any:
    """Convert aux data to values that JSON can represent."""
    code = getattr(aux.fields.cls, "_leafwise_code", ())
    kinds = []
    for name, kind in aux.fields.kinds.items():
        json_name = list(name) if type(name) is tuple else name
        kinds.append([json_name, kind and kind.value])
    values = []
    for name, value in aux:
        is_code = name in code
        values.append(
            ["object", writer.name(value)] if is_code else writer.value(value)
        )
    return [kinds, values]


def read_statics(cls: Any, written: Any) -> Statics:
    """Convert values from JSON to aux data.

    Raises:
        ValueError: It is malformed.
    """
    pairs, values = written
    kinds = {}
    for json_name, kind in pairs:
        name = tuple(json_name) if type(json_name) is list else json_name
        kinds[name] = kind and Kind(kind)
    if not all(type(part_of(name)) in (str, int) for name in kinds):
        raise ValueError("an entry has no name")
    fields = fields_of(cls, kinds)
    if len(fields.names) != len(pairs) or len(fields.static) != len(values):
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
    parts = parts_of(rule, aux, len(children))
    return list(zip(parts, children, strict=True))
