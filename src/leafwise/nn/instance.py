"""One object: how its attributes get and keep their kinds, and how it is flattened.

Owns the decision about an assignment, what is kept with an object, and the rule by
which it is a node. Owns also the one walk through graphs of objects: how objects,
variables and containers are entered, whether they are nodes of trees or not, when one
is met again, and what is counted on the way. What is done there is owned by those who
walk.
"""

from __future__ import annotations

import sys
from collections.abc import (
    Callable,
    Collection,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..core.keys import GetAttrKey
from ..core.node import BoundRule, Brackets, Rule, Shaped
from ..core.registry import current
from ..core.serial import read_value, write_value
from ..core.walk import hooks
from ..equality.content import size_of
from ..kinds import Kind, Marked
from ..safely import class_name
from ..show.text import bytes_text
from .checks import (
    DataNode,
    Found,
    data_after_init,
    data_in_container,
    data_on_static,
    find_marks,
    holds_data,
    learned,
    levels,
    sort,
    static_mark_on_data,
    stray_marks,
)
from .spec import (
    ClassSpec,
    Family,
    FieldLayout,
    Layout,
    OwnLayout,
    StaticMetadata,
    layout_of,
    same_statics,
    statics_for,
)


_STATIC = Kind.STATIC


class Attribute(NamedTuple):
    """The properties of an attribute before a value is assigned.

    Attributes:
        spec: Those of the object's class.
        name: The name.
        kind: The kind that it has, None if it is not there yet.
        building: Whether the object's `__init__` is still running.
        keyed: What makes a key of the name; an attribute, or an item.
        is_open: Whether it is static, and becomes data with a value that is.
    """

    spec: ClassSpec
    name: Any
    kind: Kind | None
    building: bool
    keyed: Callable[[Any], Any] = GetAttrKey
    is_open: bool = False

    @property
    def key(self) -> Any:
        """The key of the attribute."""
        return self.keyed(self.name)

    @property
    def declared(self) -> Kind | None:
        """The kind that the class declares."""
        is_item = self.keyed is not GetAttrKey
        return None if is_item else self.spec.declared.get(self.name)


def decide(attribute: Attribute, value: Any, mark: Kind | None) -> Kind:
    """Return the kind of an attribute that is assigned a value.

    Args:
        attribute: The attribute.
        value: The value, without its mark.
        mark: What stood around it.

    Raises:
        KindError: It cannot have this value.
    """
    spec = attribute.spec
    found = sort(value)
    if spec.pytree:
        _refuse_marks(attribute, value, found)
    if mark is not None:
        if mark is _STATIC and spec.pytree and holds_data(value, found):
            raise static_mark_on_data(spec.cls, attribute.key, value)
        return mark
    declared = attribute.declared
    known = attribute.kind or declared
    if known is not None and known is not _STATIC:
        return known
    if not holds_data(value, found):
        return _STATIC
    if attribute.is_open and declared is None and found == "data":
        return _kind_of_value(value)
    if not spec.pytree or (known is None and found == "data"):
        return _kind_of_value(value)
    if declared is not _STATIC and not spec.strict:
        return _kind_of_value(value)
    if found == "container":
        raise data_in_container(spec.cls, attribute.key, value)
    if attribute.kind is None and attribute.building:
        return _STATIC  # `recheck` refuses it, if it is still there
    is_declared = declared is _STATIC
    raise data_on_static(spec.cls, attribute.key, value, declared=is_declared)


def recheck(attribute: Attribute, value: Any) -> Kind:
    """Check the value of an existing attribute, and return its kind.

    Raises:
        KindError: It is static and holds data, or has marks inside.
    """
    spec, kind = attribute.spec, attribute.kind or _STATIC
    found = sort(value)
    _refuse_marks(attribute, value, found)
    if kind is not _STATIC or not holds_data(value, found):
        return kind
    if not spec.strict and attribute.declared is not _STATIC:
        return _kind_of_value(value)
    raise data_after_init(spec.cls, attribute.key, value)


def _refuse_marks(attribute: Attribute, value: Any, found: str) -> None:
    """Refuse marks that do not stand around what is assigned."""
    cls = attribute.spec.cls
    if type(value) is Marked:
        raise stray_marks(cls, attribute.key, Found((), value))
    if found == "container":
        for mark in find_marks(value):
            raise stray_marks(cls, attribute.key, mark)


def _kind_of_value(value: Any) -> Kind:
    """Return the kind that an undeclared attribute gets with data in it."""
    cls = type(value)
    spec = getattr(cls, "_leafwise_spec", None)
    if isinstance(spec, ClassSpec):
        return spec.kind
    return getattr(cls, "_leafwise_kind", Kind.DATA)


put: Final = object.__setattr__


class Shell(DataNode):
    """The data of an object besides its attributes."""

    __slots__ = (
        "__dict__",
        "__weakref__",
        "_leafwise_building",
        "_leafwise_layout",
        "_leafwise_stamp",
        "_leafwise_statics",
    )

    if TYPE_CHECKING:
        _leafwise_building: bool
        _leafwise_layout: Layout | OwnLayout


set_layout: Final = vars(Shell)["_leafwise_layout"].__set__
set_stamp: Final = vars(Shell)["_leafwise_stamp"].__set__
set_statics: Final = vars(Shell)["_leafwise_statics"].__set__
set_building: Final = vars(Shell)["_leafwise_building"].__set__


def put_layout(obj: Any, layout: Layout | OwnLayout) -> None:
    """Give a new object its layout, and the stamp of the trace level."""
    set_layout(obj, layout)
    if levels.token is not None:
        set_stamp(obj, levels.token())


def remember(obj: Any, aux: StaticMetadata) -> None:
    """Store the aux data in an object, and let its layout learn to read it fast."""
    set_statics(obj, aux)
    layout = obj._leafwise_layout
    reader = hooks.reader
    if type(layout) is Layout and layout.read is None and reader is not None:
        layout.read = reader(layout, "_leafwise_statics")


def start(obj: Any) -> Layout:
    """Give an object its first layout if it was created without `__new__`."""
    layout: Layout = type(obj)._leafwise_spec.family.root
    set_layout(obj, layout)
    return layout


def assign(obj: Any, name: str, value: Any) -> None:
    """Assign an attribute: decide its kind, write the value, then the kind.

    Raises:
        KindError: The attribute cannot have this value.
    """
    cls = type(obj)
    known = obj._leafwise_layout.kinds.get(name)
    mark = None
    if type(value) is Marked:
        mark, value = value.kind, value.value
    if known is None and _is_kept_elsewhere(cls, name):
        put(obj, name, value)
        return
    attribute = _attribute(obj, name, getattr(obj, "_leafwise_building", False))
    plain, data = learned.plain, learned.data
    kind = decide(attribute, value, mark)
    said = mark is _STATIC and obj._leafwise_is_module
    put(obj, name, value)
    if kind is not known or (said and attribute.is_open):
        before = obj._leafwise_layout
        after = before.having(name, kind, said)
        set_layout(obj, after)
        is_current = plain is learned.plain and data is learned.data
        if known is None and mark is None and is_current:
            step = _step(name, type(value), kind, plain, data)
            _remember(before, after, step)


def _attribute(obj: Any, name: str, building: bool) -> Attribute:
    """Return what is known of an attribute of an object."""
    layout = obj._leafwise_layout
    known = layout.kinds.get(name)
    is_open = known is _STATIC and obj._leafwise_is_module and name not in layout.said
    spec = type(obj)._leafwise_spec
    return Attribute(spec, name, known, building, is_open=is_open)


def _step(
    name: str, cls: type, kind: Kind, plain: set[type], data: set[type]
) -> Hashable:
    """Return the key of an assignment in `Layout.quick`, None if it has none."""
    if cls in plain:
        return name
    return (name, cls) if cls in data and kind is not _STATIC else None


def _remember(before: Layout | OwnLayout, after: Layout | OwnLayout, step: Any) -> None:
    """Remember where a first assignment led, if it always leads there."""
    if step is not None and type(before) is Layout and type(after) is Layout:
        before.quick[step] = after


def _is_kept_elsewhere(cls: type, name: str) -> bool:
    """Return whether the class has a property, or the like, of this name."""
    if name == "__orig_class__":  # typing sets it, and does not mind if it cannot
        raise AttributeError(name)
    for base in cls.__mro__:
        found = vars(base).get(name)
        if found is not None:
            return hasattr(type(found), "__set__")
    return False


def settle(obj: Any) -> Mapping[str, Any]:
    """Correct the layout after a direct write to the `__dict__`.

    Returns:
        The attributes that count: all but the values of cached properties.
    """
    values: dict[str, Any] = obj.__dict__
    spec = type(obj)._leafwise_spec
    try:
        layout = obj._leafwise_layout
    except AttributeError:
        layout = start(obj)
    for name in [name for name in layout.kinds if name not in values]:
        layout = layout.lacking(name)
    for name in [name for name in values if name not in layout.kinds]:
        if name not in spec.hidden:
            layout = layout.having(name, _infer(obj, name, values))
    set_layout(obj, layout)
    if len(values) == len(layout.kinds):
        return values
    return {name: values[name] for name in layout.kinds}


def _infer(obj: Any, name: str, values: dict[str, Any]) -> Kind:
    """Return the kind of an attribute that is there without one."""
    value, mark = values[name], None
    if type(value) is Marked:
        mark, value = value.kind, value.value
        values[name] = value
    spec = type(obj)._leafwise_spec
    return decide(Attribute(spec, name, None, building=True), value, mark)


def finish(obj: Any) -> None:
    """Check a new object: its static attributes must not hold data."""
    set_building(obj, False)
    values = obj.__dict__
    if len(values) != len(obj._leafwise_layout.kinds):
        settle(obj)
    spec = type(obj)._leafwise_spec
    if spec.pytree and (spec.declared or values):
        look_through(obj)


def look_through(obj: Any) -> None:
    """Check the attributes of an object, and then its items."""
    spec = type(obj)._leafwise_spec
    layout = before = obj._leafwise_layout
    values = obj.__dict__
    kinds = layout.kinds
    for name in [name for name, v in values.items() if type(v) not in learned.plain]:
        value, kind = values[name], kinds.get(name)
        if kind is None or (kind is not _STATIC and type(value) in learned.settled):
            continue
        now = recheck(Attribute(spec, name, kind, building=False), value)
        if now is not kind:
            layout = layout.having(name, now)
    if layout is not before:
        set_layout(obj, layout)
    obj._leafwise_recheck_items()


def check(obj: Any, name: Any, value: Any) -> None:
    """Raise an error if an attribute cannot hold a value; write nothing.

    Raises:
        KindError: It cannot.
    """
    attribute = _attribute(obj, name, building=False)
    if attribute.kind is not None or not _is_kept_elsewhere(type(obj), name):
        decide(attribute, value, None)


def store(obj: Any, name: Any, value: Any) -> Callable[[], None]:
    """Assign an attribute; return a function that reverts it."""
    kind = obj._leafwise_layout.kinds.get(name)
    said = name in obj._leafwise_layout.said
    old = vars(obj)[name] if kind is not None else None
    assign(obj, name, value)

    def take_back() -> None:
        layout = obj._leafwise_layout
        if kind is not None:
            vars(obj)[name] = old
            set_layout(obj, layout.having(name, kind, said))
        elif name in layout.kinds:
            del vars(obj)[name]
            set_layout(obj, layout.lacking(name))

    return take_back


def reconsider(obj: Any) -> None:
    """Turn static attributes of an unchecked object into data if they hold some."""
    spec = type(obj)._leafwise_spec
    settle(obj)
    layout = obj._leafwise_layout
    for name, kind in [*layout.kinds.items()]:
        value = vars(obj)[name]
        if kind is _STATIC and type(value) not in learned.plain:
            attribute = Attribute(spec, name, None, building=False)
            layout = layout.having(name, decide(attribute, value, None))
    set_layout(obj, layout)


def is_unchecked(cls: type) -> bool:
    """Return whether the attributes of a class's objects are not checked."""
    spec = getattr(cls, "_leafwise_spec", None)
    return spec is not None and not spec.pytree


def blank(
    cls: Any, kinds: Iterable[tuple[str, Kind]], said: Collection[str] = ()
) -> Any:
    """Return an object without values, with the kinds of its future attributes."""
    made = object.__new__(cls)
    put_layout(made, layout_of(cls._leafwise_spec.family, kinds, said))
    return made


Flatten = Callable[[Any], tuple[Sequence[Any], StaticMetadata]]


def _flattener(
    settle: Callable[[Any], Any],
    remember: Callable[[Any, StaticMetadata], None],
    reconsider: Callable[[Any], None] | None,
) -> Flatten:
    """Return the function that flattens the objects of a class; see `object_rule`."""

    def flatten(node: Any) -> tuple[Sequence[Any], StaticMetadata]:
        try:
            layout = node._leafwise_layout
            read = layout.read
            if read is not None and hooks.reader is not None:
                found: tuple[Sequence[Any], StaticMetadata] | None = read(node)
                if found is not None:
                    return found
            values = node.__dict__
            fields = layout.fixed.field_layout
            if len(values) == len(fields.names):
                children = fields.children(values)
                aux = statics_for(fields, fields.statics(values))
                if hooks.reader is not None and aux.is_lasting:
                    remember(node, aux)
                return children, aux
        except (AttributeError, KeyError):
            pass
        values = settle(node)
        fields = node._leafwise_layout.fixed.field_layout
        return fields.children(values), statics_for(fields, fields.statics(values))

    if reconsider is None:
        return flatten
    first = reconsider

    def flatten_unchecked(node: Any) -> tuple[Sequence[Any], StaticMetadata]:
        first(node)
        return flatten(node)

    return flatten_unchecked


def _filler(
    put_attributes: Callable[[Any, Any], None], put_layout: Callable[[Any, Any], None]
) -> Callable[[Any, StaticMetadata, Any], Any]:
    """Return the function that gives a new object its attributes and layout."""

    def fill(node: Any, aux: StaticMetadata, children: Any) -> Any:
        fields = aux.field_layout
        values = fields.ordered((*children, *aux.values))
        put_attributes(node, dict(zip(fields.names, values, strict=True)))
        put_layout(node, fields.layout)
        return node

    return fill


def object_rule(
    cls: Any,
    settle: Callable[[Any], Any],
    put_layout: Callable[[Any, Any], None],
    remember: Callable[[Any, StaticMetadata], None],
    reconsider: Callable[[Any], None] | None,
    where: str,
    adapt: Callable[[type], Rule | None],
) -> Rule:
    """Return the rule of a class.

    Args:
        cls: The class.
        settle: Takes an object whose attributes are not those of its layout,
            because somebody wrote to its `__dict__`; puts the layout right and
            returns the attributes that count.
        put_layout: Gives a new object its layout.
        remember: Told of aux data that holds as long as an object's static values are
            the same ones.
        reconsider: Called with an object before it is flattened, if nobody checks
            its attributes, to find out what is data in it by now.
        where: File and line that registered the class.
        adapt: Makes the rule of a subclass.
    """
    new = object.__new__
    put_attributes = attributes_slot(cls).__set__
    fill = _filler(put_attributes, put_layout)

    def unflatten(aux: StaticMetadata, children: Any) -> Any:
        return fill(new(cls), aux, children)

    return _ObjectRule(
        cls,
        flatten=_flattener(settle, remember, reconsider),
        unflatten=unflatten,
        unflatten_into=fill,
        where=where,
        adapt=adapt,
        form=Shaped("_leafwise_layout", new, put_attributes, put_layout, statics_of),
    )


class _ObjectRule(BoundRule):
    """The rule of a class whose attributes are children or static, object by object."""

    cls: Any
    unflatten_into: Any

    def __init__(self, cls: type, **given: Any) -> None:
        super().__init__(cls, codec=(write_statics, self._read), **given)

    def _read(self, written: Any) -> StaticMetadata:
        return read_statics(self.cls._leafwise_spec.family, written)

    def keys(self, aux: StaticMetadata, _arity: int) -> Sequence[Any]:
        return aux.field_layout.keys

    def same_aux(self, a: Any, b: Any) -> bool:
        return same_statics(a, b)

    def hash_aux(self, aux: StaticMetadata) -> int:
        return hash(aux)

    def compared_aux(self, aux: StaticMetadata) -> Any:
        return compared_statics(aux)

    def brackets(self, aux: StaticMetadata, _arity: int) -> Brackets:
        labels = [f"{child}=" for child in aux.field_layout.data]
        return (
            f"CustomNode({class_name(self.cls, qualified=False)}[{aux}], [",
            labels,
            "])",
        )

    def node_data(self, aux: StaticMetadata) -> Any:
        return dict(zip(aux.field_layout.static, aux.seen, strict=True))

    def describe(self, aux: StaticMetadata, _arity: int) -> str:
        return f"{class_name(self.cls)} with {aux.describe()}"

    def validate(self, arity: int, aux: Any) -> bool:
        return (
            type(aux) is StaticMetadata
            and type(aux.field_layout) is FieldLayout
            and aux.field_layout.layout.family.cls is self.cls
            and len(aux.field_layout.data) == arity
        )


def attributes_slot(cls: type) -> Any:
    """Return the descriptor through which the `__dict__` of an object is set."""
    return next(
        vars(base)["__dict__"] for base in cls.__mro__ if "__dict__" in vars(base)
    )


def statics_of(layout: Any, values: tuple[Any, ...]) -> StaticMetadata:
    """Return aux data for static values in the order of the layout's fields."""
    return StaticMetadata(layout.field_layout, values)


def compared_statics(aux: StaticMetadata) -> Any:
    """Return what two pieces of aux data are compared by, without the class."""
    return [
        part for part in aux.field_layout.mark if not isinstance(part, type)
    ], aux.seen


def write_statics(aux: StaticMetadata) -> Any:
    """Convert aux data to values that JSON can represent."""
    layout = aux.field_layout.layout
    kinds = [
        [name, kind.value, *([True] if name in layout.said else [])]
        for name, kind in layout.kinds.items()
    ]
    return [kinds, [*map(write_value, aux.seen)]]


def read_statics(family: Family, written: Any) -> StaticMetadata:
    """Convert values from JSON to aux data.

    Raises:
        ValueError: It is malformed.
    """
    named, values = written
    kinds = [(name, Kind(kind)) for name, kind, *_ in named]
    if not all(type(name) is str for name, _ in kinds):
        raise ValueError("an attribute has no name")
    said = [name for name, _, *marks in named if marks == [True]]
    fields = layout_of(family, kinds, said).fixed.field_layout
    if len(fields.names) != len(kinds) or len(fields.static) != len(values):
        raise ValueError("as many values as there are static attributes")
    return StaticMetadata(fields, tuple(map(read_value, values)))


# -------------------------------------------------------------------- traversing


ENTER: Final = "enter"
LEAVE: Final = "leave"
LEAF: Final = "leaf"
AGAIN: Final = "again"
CYCLE: Final = "cycle"


Keys = Callable[[Rule, Any, int], Iterable[Any]]
"""Takes the rule of a node, its aux data and arity; gives a key for each child."""


def keys_of(rule: Rule, aux: Any, arity: int) -> Sequence[Any]:
    """Return the keys of a node's children as names, positions and keys."""
    if type(aux) is StaticMetadata:
        return aux.field_layout.data
    if rule.is_sequence:
        return range(arity)
    return [key.entry for key in rule.keys(aux, arity)]


def _without_keys(_rule: Rule, _aux: Any, arity: int) -> Iterable[Any]:
    return repeat(None, arity)


class _Rules(dict[type, "Rule | None"]):
    """The rules of the types that were met on a walk."""

    def __missing__(self, cls: type) -> Rule | None:
        rule = self[cls] = rule_of(cls)
        return rule


def traverse(
    root: Any,
    *,
    revisit: Callable[[Any], bool] | None = None,
    rule_for: Callable[[Any], Rule | None] | None = None,
    keys: Keys = keys_of,
) -> Iterator[tuple[str, Any, Any]]:
    """Walk a graph of objects, variables and containers depth first.

    Args:
        root: Where to begin.
        revisit: Which nodes are entered wherever they stand; all others only once.
        rule_for: Returns the rule of a value that is to be entered, else None; by
            default `rule_of` its type.
        keys: What to put into paths.

    Yields:
        What happens, the path as a linked list, and the value: `ENTER` before the
        children of a node and `LEAVE` after them, `LEAF` at what has no children,
        `AGAIN` at a node that is not entered a second time, and `CYCLE` at a node
        inside itself.
    """
    rules = _Rules()
    seen: dict[int, Any] = {}  # the values are held, so that no id comes twice
    entered: set[int] = set()
    frames: list[tuple[Any, Any, Iterator[tuple[Any, Any]]]] = []
    node, path, rest = None, None, iter(((None, root),))
    while True:
        for key, value in rest:
            link: Any = (path, key) if frames else ()
            rule = rules[type(value)] if rule_for is None else rule_for(value)
            if rule is None:
                yield LEAF, link, value
                continue
            place = id(value)
            if place in entered:
                yield CYCLE, link, value
            elif place in seen and not (revisit and revisit(value)):
                yield AGAIN, link, value
            else:
                seen[place] = value
                entered.add(place)
                yield ENTER, link, value
                children, aux = rule.flatten(value)
                frames.append((node, path, rest))
                node, path = value, link
                rest = zip(keys(rule, aux, len(children)), children, strict=True)
                break
        else:
            if not frames:
                return
            entered.discard(id(node))
            yield LEAVE, path, node
            node, path, rest = frames.pop()


_MAX_NESTED: Final = 1_000
_NOTHING: Final = (0, 0)


def rule_of(cls: Any) -> Rule | None:
    """Return the rule of a type, including objects that are not nodes of trees."""
    rule = current.view.rules.get(cls) or current.view.resolve(cls)
    if rule is None and issubclass(cls, DataNode):
        spec = getattr(cls, "_leafwise_spec", None)
        return None if spec is None else spec.rule
    return rule


def size_text(count: int, size: int) -> str:
    """Return the number of values as text, with the bytes in brackets if any."""
    return f"{count:,} ({bytes_text(size)})" if size else f"{count:,}"


def below(value: Any) -> list[tuple[Any, Any]]:
    """Return the children of a value with their names, positions or keys."""
    rule = rule_of(type(value))
    if rule is None:
        return []
    children, aux = rule.flatten(value)
    return [*zip(keys_of(rule, aux, len(children)), children, strict=True)]


# ------------------------------------------------------------------------ counting


def tally(root: Any, limit: int = sys.maxsize) -> dict[str, tuple[int, int]]:
    """Return the numbers and bytes that the variables in an object hold, by type.

    Args:
        root: The object.
        limit: How many things to look at, at most; there is no tally beyond.
    """
    counts: dict[str, tuple[int, int]] = {}
    names: dict[type, str] = {}
    name = ""  # of the variable around
    around: list[str] = []
    for event, _, value in traverse(root, keys=_without_keys):
        if event is LEAVE:
            name = around.pop()
            continue
        if not limit:
            return {}
        limit -= 1
        if event is ENTER:
            around.append(name)
            cls = type(value)
            if cls not in names:
                is_counted = getattr(cls, "_leafwise_counts", False)
                names[cls] = class_name(cls, qualified=False) if is_counted else ""
            name = names[cls] or name
        elif event is LEAF and name:
            count, size = size_of(value)
            known = counts.get(name, _NOTHING)
            counts[name] = known[0] + count, known[1] + size
    return counts


def tally_text(root: Any, nested: bool, *, named: bool = True) -> str:
    """Return the tally of an object as text; empty if there are no variables.

    Args:
        root: The object.
        nested: Whether it stands inside another one that is shown; a large one has
            no tally then, or each level would cost as much as all.
        named: Whether the types are named.
    """
    counts = tally(root, _MAX_NESTED if nested else sys.maxsize)
    parts = [
        f"{name + ': ' if named else ''}{size_text(count, size)}"
        for name, (count, size) in sorted(counts.items())
    ]
    if len(counts) > 1 and named:
        count, size = (sum(part) for part in zip(*counts.values(), strict=True))
        parts.append(f"Total: {size_text(count, size)}")
    return ", ".join(parts)
