"""Class specs: what a class says about the attributes of its objects.

Owns the spec of a class, the layouts that its objects have (which attributes, and of
which kind each is), and the static metadata that stands beside their children. It knows
nothing of how attributes are assigned or objects are flattened.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import sys
import types
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from operator import is_, itemgetter
from types import BuiltinFunctionType, FunctionType, MappingProxyType
from typing import Any, Final, Literal

from ..core.keys import GetAttrKey
from ..core.literals import parse
from ..equality import exact
from ..kinds import KIND, Data, Kind, Marked, Static
from ..safely import class_name, clip, shown, type_name


Order = Literal["name", "insertion"]

_MAX_SHARED: Final = 200
_MAX_FAMILY: Final = 1000
_NOBODY: Final[frozenset[str]] = frozenset()
_SAID: Final = "said to be static"


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
    return cls._leafwise_family if items else cls._leafwise_spec.family  # type: ignore[no-any-return]  # set where the class is made


class Layout:
    """The attributes of an object, in order of assignment, with their kinds.

    Attributes:
        family: The layouts that it is one of.
        kinds: The kind of each attribute.
        fixed: The layout itself, which never changes.
        said: The attributes that a mark made static, in objects where others may
            become data.
        quick: The layout after the first assignment of an attribute without a mark:
            by name for values that are plain, by name and type for data.
        read: Takes an object, returns its children and aux data, or None if it cannot;
            None until somebody offers such a function.
        sights: How often the layout was met by whoever may offer one.
    """

    __slots__ = (
        "_anatomy",
        "_next",
        "family",
        "kinds",
        "quick",
        "read",
        "said",
        "sights",
    )

    def __init__(
        self, family: Family, kinds: dict[str, Kind], said: frozenset[str] = _NOBODY
    ) -> None:
        self.family = family
        self.kinds = kinds
        self.said = said
        self._anatomy: FieldLayout | None = None
        self._next: dict[tuple[str, str | None], Layout] = {}
        self.quick: dict[Any, Layout] = {}
        self.read: Callable[[Any], tuple[tuple[Any, ...], Any] | None] | None = None
        self.sights = 0

    @property
    def fixed(self) -> Layout:
        """Return a layout that never changes, which is this one."""
        return self

    @property
    def field_layout(self) -> FieldLayout:
        """Return the information for flattening."""
        made = self._anatomy
        if made is None:
            made = self._anatomy = FieldLayout(self)
        return made

    def having(self, name: str, kind: Kind, said: bool = False) -> Layout | OwnLayout:
        """Return the layout with one more attribute, or with another kind of it.

        Args:
            name: The attribute.
            kind: Its kind.
            said: Whether it is to be one of those that a mark made static.
        """
        step = (name, _SAID if said else kind._value_)
        found = self._next.get(step)
        if found is not None:
            return found
        others = self.said - {name}
        return self._step(
            step, {**self.kinds, name: kind}, others | {name} if said else others
        )

    def lacking(self, name: str) -> Layout | OwnLayout:
        """Return the layout without an attribute."""
        found = self._next.get((name, None))
        if found is not None:
            return found
        rest = {known: kind for known, kind in self.kinds.items() if known != name}
        return self._step((name, None), rest, self.said - {name})

    def _step(
        self,
        step: tuple[str, str | None],
        kinds: dict[str, Kind],
        said: frozenset[str],
    ) -> Layout | OwnLayout:
        family = self.family
        if len(kinds) > _MAX_SHARED or family.count >= _MAX_FAMILY:
            return OwnLayout(family, kinds, said)
        family.count += 1
        return self._next.setdefault(step, Layout(family, kinds, said))


class OwnLayout:
    """The layout of a single object, which changes with it.

    Attributes:
        family: The layouts of the object's class.
        kinds: The kind of each attribute.
        said: As in a layout that does not change.
    """

    __slots__ = ("_fixed", "family", "kinds", "said")

    quick: Final[Mapping[Any, Layout]] = {}
    read: Final = None

    def __init__(
        self, family: Family, kinds: dict[str, Kind], said: frozenset[str] = _NOBODY
    ) -> None:
        self.family = family
        self.kinds = kinds
        self.said = said
        self._fixed: Layout | None = None

    @property
    def fixed(self) -> Layout:
        """Return a layout of the same attributes that never changes."""
        made = self._fixed
        if made is None:
            made = self._fixed = Layout(self.family, dict(self.kinds), self.said)
        return made

    def having(self, name: str, kind: Kind, said: bool = False) -> OwnLayout:
        """Add an attribute, or change its kind."""
        self._fixed = None
        self.kinds[name] = kind
        others = self.said - {name}
        self.said = others | {name} if said else others
        return self

    def lacking(self, name: str) -> OwnLayout:
        """Remove an attribute."""
        self._fixed = None
        del self.kinds[name]
        self.said -= {name}
        return self


def layout_of(
    family: Family,
    kinds: Iterable[tuple[str, Kind]],
    said: Collection[str] = (),
) -> Layout | OwnLayout:
    """Return the layout of a class with these attributes."""
    layout: Layout | OwnLayout = family.root
    for name, kind in kinds:
        layout = layout.having(name, kind, name in said)
    return layout


class FieldLayout:
    """How objects of one layout are flattened.

    Attributes:
        layout: The layout.
        names: The names of all attributes, in order of assignment.
        data: The names of the children, in leaf order.
        static: The names of the rest, sorted.
        keys: The key of each child.
        mark: What two field layouts share if objects of both have the same children
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
        return _anatomy, (layout.family, tuple(layout.kinds.items()), layout.said)


def _anatomy(
    family: Family, kinds: Iterable[tuple[str, Kind]], said: Collection[str] = ()
) -> FieldLayout:
    return layout_of(family, kinds, said).fixed.field_layout


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


class StaticMetadata:
    """The static part of one object: aux data of its node.

    Attributes:
        field_layout: Which fields the object has, and of which kind.
        values: Its static values, in the order of `field_layout.static`.
        seen: The same, as they were at that time.
    """

    __slots__ = ("field_layout", "seen", "values")

    def __init__(self, fields: FieldLayout, values: tuple[Any, ...]) -> None:
        self.field_layout = fields
        self.values = values
        self.seen = snapshots(values)

    def __eq__(self, other: object) -> bool:
        if type(other) is not StaticMetadata:
            return NotImplemented
        return same_statics(self, other)

    def __hash__(self) -> int:
        return hash((self.field_layout.mark, exact.digest(self.seen, typed=True)))

    @property
    def is_lasting(self) -> bool:
        """Whether an object with the same values, one by one, has this static part."""
        return self.seen is self.values

    def describe(self) -> str:
        """Describe in words what the object holds, for errors."""
        fields = self.field_layout
        kinds = ((child, fields.kind_of(child)) for child in fields.data)
        data = [
            f"{child}" if kind is Kind.DATA else f"{child} ({kind.value})"
            for child, kind in kinds
        ]
        parts = [f"data {', '.join(data)}"] if data else []
        if fields.static:
            parts.append(f"static {self!r}")
        return "; ".join(parts) or "no attributes"

    def __reduce__(self) -> tuple[Any, ...]:
        return StaticMetadata, (self.field_layout, self.seen)

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        """Yield the static attributes with their values, as they were."""
        return zip(self.field_layout.static, self.seen, strict=True)

    def __repr__(self) -> str:
        return ", ".join(f"{name}={shown(value)}" for name, value in self)


class Constant:
    """One value that belongs to the structure: aux data of a place without children.

    Attributes:
        value: The value.
        seen: The same, as it was at that time.
    """

    __slots__ = ("seen", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self.seen = snapshot(value)

    def __eq__(self, other: object) -> bool:
        if type(other) is not Constant:
            return NotImplemented
        return exact.same(self.seen, other.seen, typed=True)

    def __hash__(self) -> int:
        return exact.digest(self.seen, typed=True)

    def __reduce__(self) -> tuple[Any, ...]:
        return Constant, (self.seen,)

    def __repr__(self) -> str:
        return repr(self.seen)


def statics_for(fields: FieldLayout, values: tuple[Any, ...]) -> StaticMetadata:
    """Return the static part of an object; the last one made, if it is just that.

    Numbers and texts that are identical need no look inside, and objects that were
    built alike often share them.
    """
    last = fields.last
    if last is not None and all(map(is_, last.values, values)):
        return last  # type: ignore[no-any-return]  # as many values, by the fields
    made = StaticMetadata(fields, values)
    if _SCALARS.issuperset(map(type, values)):
        fields.last = made
    return made


def same_statics(a: StaticMetadata, b: StaticMetadata) -> bool:
    """Return whether two objects have the same attributes and the same static part."""
    if a is b:
        return True
    mine, other = a.field_layout, b.field_layout
    return (mine is other or mine.mark == other.mark) and exact.same(
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
    if cls is list:
        copy = copies[id(value)] = []
        copy += [_snapshot(item, copies, depth - 1) for item in value]
        return copy
    if cls is dict:
        copied = copies[id(value)] = {}
        for key, item in value.items():
            copied[key] = _snapshot(item, copies, depth - 1)
        return copied
    if cls is tuple:
        seen = tuple([_snapshot(item, copies, depth - 1) for item in value])
        return value if all(map(is_, seen, value)) else seen
    return cls(value) if cls is set or cls is bytearray else value


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
        family: The layouts of its objects.
        hidden: Names under which values are kept that belong to no tree: those of
            cached properties.
        annotated: The names that the bodies of the class and its bases annotate.
    """

    __slots__ = (
        "_declared",
        "_made",
        "_marks",
        "annotated",
        "cls",
        "family",
        "hidden",
        "kind",
        "order",
        "pytree",
        "strict",
    )

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
        self.pytree: bool = chosen(pytree, "pytree", True)
        self.order: Order = chosen(order, "order", "name")
        self.strict: bool = chosen(strict, "strict", True)
        self.kind: Kind = chosen(kind, "kind", Kind.DATA)
        self.family = Family(cls, self.order)
        self.hidden = frozenset(
            name
            for base_cls in cls.__mro__
            for name, value in vars(base_cls).items()
            if isinstance(value, functools.cached_property)
        )
        annotations = inspect.get_annotations(cls)
        self.annotated: frozenset[str] = frozenset(annotations).union(
            () if base is None else base.annotated
        )
        self._marks = {**_annotated(annotations, cls, scope), **_unwrapped(cls)}
        self._made: dict[str, Any] = {}
        self._declared: dict[str, Kind] | None = None

    @property
    def rule(self) -> Any:
        """The rule by which objects are flattened, whether they are nodes or not."""
        made = self._made
        if "rule" not in made:  # another thread's may come first, and is the rule then
            made.setdefault("rule", self.cls._leafwise_rule(""))  # type: ignore[attr-defined]  # a Pytree
        return made["rule"]

    @property
    def declared(self) -> Mapping[str, Kind]:
        """The kinds that the bodies of the class and its bases declare."""
        declared = self._declared
        if declared is None:
            declared = self._declared = self._read()
        return declared

    def forget(self) -> None:
        """Read the declarations again after the class was decorated."""
        self._declared, self._made = None, {}
        self.family = Family(self.cls, self.order)

    def _read(self) -> dict[str, Kind]:
        declared: dict[str, Kind] = {}
        for base in reversed(self.cls.__mro__):
            spec = vars(base).get("_leafwise_spec")
            if isinstance(spec, ClassSpec):
                declared |= spec._own()
        return declared

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
    kinds = set()
    if KIND in metadata:
        kinds.add(metadata[KIND])
    for mark, when in (("static", Kind.STATIC), ("pytree_node", Kind.DATA)):
        if mark not in metadata:
            continue
        value = metadata[mark]
        if type(value) is not bool:
            raise ValueError(
                f"field {field.name!r} of {class_name(cls)} has metadata "
                f"{{{mark!r}: {clip(value)}}}; expected bool, got {type_name(value)}"
            )
        other = Kind.DATA if when is Kind.STATIC else Kind.STATIC
        kinds.add(when if value else other)
    if KIND in metadata and metadata[KIND].is_data:
        kinds.discard(Kind.DATA)
        kinds.add(metadata[KIND])
    if len(kinds) > 1:
        raise ValueError(
            f"field {field.name!r} of {class_name(cls)} has metadata that disagrees: "
            f"{clip(dict(metadata))}"
        )
    return kinds.pop() if kinds else None


# ------------------------------------------------------------------ annotations


def _annotated(
    annotations: Mapping[str, Any], cls: type, scope: Mapping[str, Any]
) -> dict[str, Kind]:
    """Return the kinds that the annotations of a class body declare."""
    found = {
        name: _kind_of_annotation(annotation, cls, scope)
        for name, annotation in annotations.items()
    }
    return {name: kind for name, kind in found.items() if kind is not None}


def _kind_of_annotation(
    annotation: Any, cls: type, scope: Mapping[str, Any]
) -> Kind | None:
    if isinstance(annotation, str):
        return _kind_of_text(annotation, cls, scope)
    for said in getattr(annotation, "__metadata__", ()):
        if isinstance(said, Kind):
            return said
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, types.UnionType, typing.Final):
        for inner in typing.get_args(annotation):
            kind = _kind_of_annotation(inner, cls, scope)
            if kind is not None:
                return kind
    return None


def _kind_of_text(text: str, cls: type, scope: Mapping[str, Any]) -> Kind | None:
    """Read an annotation that is text, without evaluating what is inside."""
    try:
        tree = parse(text.strip())
    except SyntaxError:
        return None
    names = (vars(cls), scope, vars(sys.modules.get(cls.__module__, types)))
    for node in _alternatives(tree):
        kind = _kind_of_node(node, cls, names)
        if kind is not None:
            return kind
    return None


def _alternatives(node: ast.expr) -> Iterator[ast.expr]:
    """Yield what an annotation is, or could be: the parts of unions."""
    if isinstance(node, ast.BinOp):
        yield from _alternatives(node.left)
        yield from _alternatives(node.right)
        return
    if isinstance(node, ast.Subscript):
        name = ast.unparse(node.value).rpartition(".")[2]
        if name in ("Optional", "Union", "Final"):
            inner = node.slice
            parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            for part in parts:
                yield from _alternatives(part)
            return
    yield node


def _kind_of_node(
    node: ast.expr, cls: type, names: tuple[Mapping[str, Any], ...]
) -> Kind | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return _kind_of_text(node.value, cls, names[1])
    inside: list[ast.expr] = []
    whole = node
    if isinstance(node, ast.Subscript):
        inner = node.slice
        inside = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        node = node.value
    head = _look_up(node, names)
    if head is Data or head is Static:
        return Kind.DATA if head is Data else Kind.STATIC
    if head is typing.Annotated:
        said = (_look_up(part, names) for part in inside[1:])
        return next((kind for kind in said if isinstance(kind, Kind)), None)
    if head is None and node is not whole:  # imported for type checkers only
        return _BY_NAME.get(ast.unparse(node).rpartition(".")[2])
    return _kind_of_annotation(head, cls, names[1])


def _look_up(node: ast.expr, names: tuple[Mapping[str, Any], ...]) -> Any:
    """Return what a dotted name stands for, None if nobody knows."""
    if isinstance(node, ast.Attribute):
        return getattr(_look_up(node.value, names), node.attr, None)
    if isinstance(node, ast.Name):
        for scope in names:
            if node.id in scope:
                return scope[node.id]
    return None


def kinds_of_children(aux: Any) -> list[Kind] | None:
    """Return the kinds of an object's children, or None if a node is not an object."""
    if type(aux) is StaticMetadata:
        return _kinds_in(aux)
    if type(aux) is tuple and len(aux) == 2 and type(aux[1]) is StaticMetadata:
        return _kinds_in(aux[0]) + _kinds_in(aux[1])
    return None


def _kinds_in(aux: StaticMetadata) -> list[Kind]:
    return [aux.field_layout.kind_of(child) for child in aux.field_layout.data]
