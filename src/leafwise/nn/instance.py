"""One object: how its attributes get and keep their kinds, and how it is flattened.

Owns the decision about an assignment, what is kept with an object, and the rule by
which it is a node. Owns also the first step into a graph of objects: the rule of any
type, and what is directly in a value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ..core.node import BoundRule, Brackets, Rule, Shaped
from ..core.registry import current
from ..core.serial import read_value, write_value
from ..core.walk import hooks
from ..kinds import Kind, Marked
from ..safely import class_name, type_name
from .checks import (
    DataNode,
    Found,
    check_level,
    find,
    holds_data,
    learned,
    levels,
    refusal,
    sort,
    stray_marks,
)
from .spec import (
    ClassSpec,
    Fields,
    Kinds,
    Statics,
    fields_of,
    key_of,
    part_of,
    same_statics,
    statics_for,
)


OBJECTS: Final = "leafwise.nn"
"""The namespace of the rules of objects that are no nodes of trees."""

_STATIC = Kind.STATIC
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
    if levels.token is not None:
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
    inside = [*find(value)] if found == "container" else [Found((), value)]
    for one in inside if spec.pytree else ():
        if type(one.value) is Marked:
            raise stray_marks(cls, key_of(name), one)
    is_plain = found == "plain" or all(type(one.value) is Marked for one in inside)
    if mark is not None:
        if mark is _STATIC and spec.pytree and not is_plain:
            after = " was assigned static(...) around data"
            raise refusal(cls, key_of(name), value, "", after)
        return mark
    before = kinds_in(obj).get(name, _NEW)
    is_new = before is _NEW
    declared = spec.declared.get(name) if type(name) is str else None
    known: Any = declared if is_new or before is None else before
    if known is not None and known is not _STATIC:
        return known  # type: ignore[no-any-return]  # a kind
    if is_plain:
        return known
    is_open = is_new or (before is None and obj._leafwise_is_module)
    if found == "data" and is_open and declared is None:
        return _kind_of_value(value)
    if not spec.pytree or not (declared is _STATIC or spec.strict):
        return _kind_of_value(value)
    if found == "container":
        after = f", a {type_name(value)} that would be static"
        raise refusal(cls, key_of(name), value, "Found data in ", after)
    if is_new and building:
        return _STATIC  # `look_through` refuses it, if it is still there
    since = "by declaration" if declared is _STATIC else "since it was first set"
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
set_statics: Final = vars(Shell)["_leafwise_statics"].__set__
set_building: Final = vars(Shell)["_leafwise_building"].__set__


def put_fields(obj: Any, fields: Fields | Kinds) -> None:
    """Give a new object its fields, and the stamp of the trace level."""
    set_fields(obj, fields)
    if levels.token is not None:
        set_stamp(obj, levels.token())


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
    return name not in kinds_in(obj) and name in type(obj)._leafwise_spec.descriptors


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
        is_static = kind is None or kind is _STATIC
        if kind is not _NEW and (is_static or type(value) not in learned.settled):
            set_kind(obj, name, decide(obj, name, value))


def reconsider(obj: Any) -> None:
    """Turn static entries of an unchecked object into data if they hold some."""
    for name, value in [*settle(obj)[0].items()]:
        is_static = kinds_in(obj)[name] in (None, _STATIC)
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
    aux = statics_for(fields, fields.statics(values))
    if hooks.reader is not None and aux.is_lasting and fields.is_shared:
        set_statics(node, aux)
        if fields.read is None:
            fields.read = hooks.reader(fields, "_leafwise_statics")
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
    unflatten_into: Any

    def __init__(
        self,
        cls: Any,
        flatten: Callable[[Any], tuple[Sequence[Any], Statics]],
        fill: Callable[[Any, Statics, Any], Any],
        **given: Any,
    ) -> None:
        def unflatten(aux: Statics, children: Any) -> Any:
            return fill(object.__new__(cls), aux, children)

        super().__init__(
            cls,
            flatten=flatten,
            unflatten=unflatten,
            unflatten_into=fill,
            codec=(write_statics, self._read),
            **given,
        )

    def _read(self, written: Any) -> Statics:
        return read_statics(self.cls, written)

    def keys(self, aux: Statics, _arity: int) -> Sequence[Any]:
        """Return the key of each child."""
        return aux.fields.keys

    def same_aux(self, a: Any, b: Any) -> bool:
        """Return whether two objects have the same static part."""
        return same_statics(a, b)

    def hash_aux(self, aux: Statics) -> int:
        """Return a hash of the static part."""
        return hash(aux)

    def compared_aux(self, aux: Statics) -> Any:
        """Return what two static parts are compared by."""
        return [*aux.fields.signature[1:]], aux.seen

    def brackets(self, aux: Statics, _arity: int) -> Brackets:
        """Return the text around the children."""
        labels = [f"{child}=" for child in aux.fields.data]
        return (
            f"CustomNode({class_name(self.cls, qualified=False)}[{aux}], [",
            None if self.cls._leafwise_has_items else labels,
            "])",
        )

    def node_data(self, aux: Statics) -> Any:
        """Return the static part as a dict."""
        return {part_of(name): value for name, value in aux}

    def describe(self, aux: Statics, _arity: int) -> str:
        """Describe an object in words."""
        return f"{class_name(self.cls)} with {aux.describe()}"

    def validate(self, arity: int, aux: Any) -> bool:
        """Return whether children and aux data belong together."""
        return (
            type(aux) is Statics
            and type(aux.fields) is Fields
            and aux.fields.cls is self.cls
            and len(aux.fields.data) == arity
        )


def object_rule(cls: Any, **given: Any) -> Rule:
    """Return the rule of a class with a table."""
    slot = next(vars(one)["__dict__"] for one in cls.__mro__ if "__dict__" in vars(one))
    put_table = slot.__set__

    def fill(node: Any, aux: Statics, children: Any) -> Any:
        fields = aux.fields
        values = fields.ordered((*children, *aux.values))
        put_table(node, dict(zip(fields.names, values, strict=True)))
        put_fields(node, fields)
        return node

    form = Shaped("_leafwise_fields", object.__new__, put_table, put_fields, Statics)
    return ObjectRule(
        cls,
        flatten_unchecked if is_unchecked(cls) else flatten,
        fill,
        form=None if cls._leafwise_has_items else form,
        **given,
    )


def write_statics(aux: Statics) -> Any:
    """Convert aux data to values that JSON can represent."""
    kinds = [
        [[*name] if type(name) is tuple else name, kind and kind.value]
        for name, kind in aux.fields.kinds.items()
    ]
    return [kinds, [*map(write_value, aux.seen)]]


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
