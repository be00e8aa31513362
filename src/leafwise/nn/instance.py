"""One object: how it keeps its entries, gets them, and is flattened.

All values of an object are in its `__dict__`; see `statics`. What else there is to know
of it is in its `ObjectRecord`. The kind of an entry is decided when it is assigned.

`below` makes the first step into a graph of objects: it also knows the objects that
are not nodes of trees.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from .._hooks import description_of, hooks
from .._records import MISSING
from ..core.codec import (
    AUX_FORMS,
    AuxForm,
    Writer,
    codec_of,
    read_aux,
    read_value,
    write_aux,
)
from ..core.node import Attributes, BoundNodeType, NodeType, Shaped
from ..core.words import WORDS, Brackets, Words
from ..fields import Kind, Marked
from .checks import (
    DataNode,
    Occurrence,
    check_level,
    contents_of,
    find_foreign,
    holds_data,
    learned,
    new_stamp,
    node_type_of,
    sort,
)
from .refusals import foreign_refusal, refusal, stray_marks
from .spec import ClassSpec, NodeSpec, spec_of
from .statics import (
    MAX_SHARED,
    STATIC_KINDS,
    Fields,
    Kinds,
    Statics,
    fields_of,
    key_of,
    part_of,
    statics_for,
)


OBJECTS: Final = "leafwise.nn"
"""The namespace of the node types of objects that are no nodes of trees."""


class ObjectRecord:
    """What an object keeps beside its values.

    Attributes:
        fields: The description of the entries; while they change, their kinds in a dict
            that belongs to this object alone.
        aux: The aux data of the object when it was flattened last, None before.
        stamp: The trace level at which the object was made; None for the level outside
            of all transforms.
        is_building: Whether the `__init__` of the object is still running.
    """

    __slots__ = ("aux", "fields", "stamp")

    is_building: ClassVar[bool] = False

    def __init__(
        self,
        fields: Fields | Kinds,
        aux: Statics | None,
        stamp: Any,
    ) -> None:
        self.fields = fields
        self.aux = aux
        self.stamp = stamp


class UnfinishedRecord(ObjectRecord):
    """The record of an object whose `__init__` is still running."""

    __slots__ = ()

    is_building = True


class Shell(DataNode):
    """The storage of an object: its `__dict__`, and one slot for the `ObjectRecord`."""

    __slots__ = ("__dict__", "__weakref__", "_leafwise")

    if TYPE_CHECKING:
        _leafwise: ObjectRecord


# The functions of the slots themselves, which no `__setattr__` of a class can redirect;
# they are also the fastest way in.
set_record: Final = vars(Shell)["_leafwise"].__set__
set_table: Final = vars(Shell)["__dict__"].__set__


def record_of(obj: Any) -> ObjectRecord:
    """Return the record of an object; a new one if it was made without `__new__`."""
    try:
        record: ObjectRecord = obj._leafwise
    except AttributeError:
        record = ObjectRecord({}, None, None)
        set_record(obj, record)
    return record


def kinds_in(obj: Any) -> Kinds:
    """Return the kind of each entry of an object's table; not to be changed."""
    fields = record_of(obj).fields
    return fields.kinds if isinstance(fields, Fields) else fields


def set_kind(obj: Any, name: Any, kind: Kind | None) -> None:
    """Change the kind of an entry."""
    kinds = kinds_in(obj)
    if kinds.get(name, MISSING) is kind:
        return
    record = record_of(obj)
    if record.fields is not kinds:  # other objects have these fields, too
        kinds = dict(kinds)
        record.fields = kinds
    kinds[name] = kind


def drop(obj: Any, name: Any) -> None:
    """Remove an entry and its kind."""
    check_level(obj, str(key_of(name)))
    del obj.__dict__[name]
    kinds = dict(kinds_in(obj))
    kinds.pop(name, None)
    record_of(obj).fields = kinds


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
    is_building: bool = False,
) -> Kind | None:
    """Return the kind that an entry gets with a value; None if it is static by default.

    Args:
        obj: The object.
        name: The name of the entry.
        value: The value, without its mark.
        mark: The kind of the mark around it.
        is_building: Whether the object's `__init__` is still running.

    Raises:
        KindError: It cannot have this value.
    """
    cls = type(obj)
    spec: ClassSpec = cls.__leafwise__
    old_kind: Any = kinds_in(obj).get(name, MISSING)
    is_new = old_kind is MISSING
    declared = spec.declared.get(name) if type(name) is str else None
    kind: Kind | None = declared if is_new or old_kind is None else old_kind
    answer = sort(value)
    has_data = answer == "data"
    if answer == "container" or type(value) is Marked:
        has_data = _check_contents(obj, name, value, mark or kind)
    if mark is not None:
        if mark is Kind.STATIC and spec.pytree and has_data:
            after = " was assigned static(...) around data"
            raise refusal(cls, key_of(name), value, "", after)
        return mark
    if not has_data or kind not in STATIC_KINDS:
        return kind
    # From here on, the value is or holds data, and the entry is static or new.
    is_open = is_new or (old_kind is None and spec.is_module)
    if answer == "data" and is_open and declared is None:
        return _inferred_kind(value)
    if not spec.pytree or not (declared is Kind.STATIC or spec.strict):
        return _inferred_kind(value)
    if answer == "container":
        after = f", a {type(value).__name__} that would be static"
        raise refusal(cls, key_of(name), value, "Found data in ", after)
    if is_new and is_building:
        return Kind.STATIC  # `check_entries` refuses it, if it is still there
    since = "by declaration" if declared is Kind.STATIC else "since it was first set"
    after = f", which is static {since}"
    raise refusal(cls, key_of(name), value, "Cannot assign data to ", after)


def _check_contents(
    obj: Any,
    name: Any,
    value: Any,
    kind: Kind | None,
) -> bool:
    """Return whether there is data in a container or a mark.

    Args:
        obj: The object to which the value is assigned.
        name: The name of the entry.
        value: A container, or a mark inside another one.
        kind: The kind that was chosen for the entry, None without a choice.

    Raises:
        KindError: There is a mark inside, or a value of another framework that would
            silently be left out.
    """
    cls = type(obj)
    spec: ClassSpec = cls.__leafwise__
    contents: defaultdict[str, list[Occurrence]] = defaultdict(list)
    for answer, occurrence in contents_of(value):
        contents[answer].append(occurrence)
    marks = contents["mark"]
    if marks and spec.pytree:
        raise stray_marks(cls, key_of(name), marks[0])
    has_data = bool(contents["data"])
    if spec.is_module:  # other pytrees are not trained, nor switched by `eval`
        foreign = find_foreign(contents["container"], kind, has_data=has_data)
        if foreign is not None:
            raise foreign_refusal(cls, key_of(name), foreign, has_data=has_data)
    return has_data


def _inferred_kind(value: Any) -> Kind:
    """Return the kind that an undeclared entry gets with data in it."""
    spec = description_of(type(value))
    return spec.kind if isinstance(spec, NodeSpec) else Kind.DATA


def assign(obj: Any, name: Any, value: Any) -> None:
    """Assign an entry: decide its kind, write the value, then the kind.

    Raises:
        KindError: The entry cannot have this value.
    """
    value, mark = unmarked(value)
    if _is_kept_elsewhere(obj, name):
        object.__setattr__(obj, name, value)
        return
    is_building = record_of(obj).is_building
    kind = decide(obj, name, value, mark, is_building=is_building)
    # In this order: if another thread flattens the object in between, `settle` drops a
    # kind that has no value, and the mark would be lost.
    obj.__dict__[name] = value
    set_kind(obj, name, kind)


def _is_kept_elsewhere(obj: Any, name: Any) -> bool:
    """Return whether the class has a property, or the like, of this name."""
    if name == "__orig_class__":  # typing sets it, and does not mind if it cannot
        raise AttributeError(name)
    spec = spec_of(obj)
    return name in spec.descriptors


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
    spec = spec_of(obj)
    own_kinds = kinds_in(obj)
    old_kinds = own_kinds.copy()  # another thread may assign an entry meanwhile
    kinds = {name: kind for name, kind in old_kinds.items() if name in values}
    if len(values) != len(kinds):
        new_names = [name for name in list(values) if name not in old_kinds]
        for name in new_names:
            if name not in spec.hidden:
                value, mark = unmarked(values[name])
                values[name] = value
                kinds[name] = decide(obj, name, value, mark, is_building=True)
    fields = fields_of(type(obj), kinds)
    record = record_of(obj)
    record.fields = fields
    if len(own_kinds) != len(old_kinds):
        # Another thread did: its kinds are kept, and the next flatten settles them.
        record.fields = {**own_kinds, **kinds}
    if len(values) != len(kinds):
        values = {name: values[name] for name in kinds}
    return values, fields


def finish(obj: Any) -> None:
    """Check a new object: its static entries must not hold data."""
    record = record_of(obj)
    set_record(obj, ObjectRecord(record.fields, record.aux, record.stamp))
    values = obj.__dict__
    if len(values) != len(kinds_in(obj)):  # it wrote to `__dict__` directly
        settle(obj)
    spec = spec_of(obj)
    if spec.pytree and (spec.declared or values):
        check_entries(obj)


def check_entries(obj: Any) -> None:
    """Check that the static entries of an object hold no data.

    Raises:
        KindError: One does.
    """
    values = obj.__dict__
    kinds = kinds_in(obj)
    for name, value in list(values.items()):
        if type(value) in learned.plain:
            continue
        kind: Any = kinds.get(name, MISSING)
        if kind is MISSING:
            continue
        # Data stays data; but a container may have got a misplaced mark since.
        if kind in STATIC_KINDS or type(value) not in learned.settled:
            set_kind(obj, name, decide(obj, name, value))


def mark_new_data(obj: Any) -> None:
    """Turn static entries of an unchecked object into data if they hold some."""
    values, _ = settle(obj)
    for name, value in list(values.items()):
        is_static = kinds_in(obj)[name] in STATIC_KINDS
        if is_static and type(value) not in learned.plain and holds_data(value):
            set_kind(obj, name, _inferred_kind(value))


def refill(obj: Any, values: dict[Any, Any], kinds: Kinds) -> None:
    """Replace the table of an object, and the kinds of its entries."""
    set_table(obj, values)
    record_of(obj).fields = kinds


def is_unchecked(cls: type) -> bool:
    """Return whether the attributes of a class's objects are not checked."""
    spec = description_of(cls)
    return isinstance(spec, ClassSpec) and not spec.pytree


def blank(cls: Any, kinds: Iterable[tuple[Any, Kind | None]]) -> Any:
    """Return an object without values, with the kinds of its future entries."""
    obj = object.__new__(cls)
    set_record(obj, ObjectRecord(dict(kinds), None, new_stamp()))
    return obj


def flatten(node: Any) -> tuple[Sequence[Any], Statics]:
    """Return the children of an object and its aux data."""
    record = record_of(node)
    fields: Any = record.fields
    values = node.__dict__
    is_settled = type(fields) is Fields
    # The reader is asked for each time: the engine may be switched off.
    if is_settled and fields.read is not None and hooks.reader is not None:
        children_and_aux: tuple[Sequence[Any], Statics] | None = fields.read(node)
        if children_and_aux is not None:
            return children_and_aux
    # Code may write to `__dict__` directly, as `__setstate__` does.
    if not is_settled or values.keys() != fields.kinds.keys():
        values, fields = settle(node)
    aux = statics_for(fields, fields.statics(values), record.aux)
    record.aux = aux
    # Compiled functions compare static values by identity, which says enough of those
    # that cannot change.
    is_unchanging = aux.seen is aux.values
    is_shared = len(fields.names) <= MAX_SHARED
    if is_unchanging and is_shared and fields.read is None and hooks.reader is not None:
        functions = hooks.reader(fields, "_leafwise.aux")
        if functions is not None:
            fields.read, fields.attributes = functions
    return fields.children(values), aux


def flatten_unchecked(node: Any) -> tuple[Sequence[Any], Statics]:
    """Flatten an object whose entries are not checked when they are assigned."""
    mark_new_data(node)
    return flatten(node)


class ObjectNodeType(BoundNodeType):
    """The node type of a class whose entries are children or static, object by object.

    Args:
        cls: The class.
        flatten: Takes an object, returns its children and its aux data.
        fill: Takes an empty object, aux data and children; fills and returns it.
        **options: See `BoundNodeType`.
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
        new = object.__new__  # a local name, since this runs for each node

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
        return bool(a == b)

    def hash(self, aux: Statics) -> int:
        """Return a hash of the static part."""
        return hash(aux)

    def compared_aux(self, aux: Statics) -> Any:
        """Return the values by which two static parts are compared."""
        return list(aux.fields.signature[1:]), aux.seen


def _data(_node_type: ObjectNodeType, aux: Statics) -> dict[Any, Any]:
    return {part_of(name): value for name, value in aux}


def _brackets(node_type: ObjectNodeType, aux: Statics, _arity: int) -> Brackets:
    labels = None
    if not node_type.cls.__leafwise__.has_items:
        labels = [f"{child}=" for child in aux.fields.data]
    return f"CustomNode({node_type.cls.__name__}[{aux}], [", labels, "])"


def _description(node_type: ObjectNodeType, aux: Statics, _arity: int) -> str:
    return f"{node_type.cls.__qualname__} with {aux.describe()}"


WORDS[ObjectNodeType] = Words(data=_data, brackets=_brackets, description=_description)


def object_node_type(cls: Any, **options: Any) -> NodeType:
    """Return the node type of a class with a table."""
    new = object.__new__

    def fill(node: Any, aux: Statics, children: Any) -> Any:
        fields = aux.fields
        set_table(node, fields.attributes(children, aux.values))
        # As `ObjectRecord(...)` would, without a call of a function of Python:
        # frameworks rebuild node by node, and feel it.
        record = new(ObjectRecord)
        record.fields = fields
        record.aux = aux
        trace_level = hooks.trace_level
        record.stamp = None if trace_level is None else trace_level()
        set_record(node, record)
        return node

    def put_fields(node: Any, fields: Fields) -> None:
        set_record(node, ObjectRecord(fields, None, new_stamp()))

    own_flatten = flatten_unchecked if is_unchecked(cls) else flatten
    if cls.__leafwise__.has_items:
        return ObjectNodeType(cls, own_flatten, fill, **options)

    def static_names(node: Any) -> Sequence[str]:
        _, aux = own_flatten(node)
        static: Sequence[str] = aux.fields.static
        return static

    form = Shaped("_leafwise.fields", object.__new__, set_table, put_fields, Statics)
    attributes = Attributes(static_names=static_names)
    return ObjectNodeType(
        cls, own_flatten, fill, form=form, attributes=attributes, **options
    )


def write_statics(aux: Statics, writer: Writer) -> Any:
    """Convert aux data to values that JSON can represent."""
    spec: ClassSpec = aux.fields.cls.__leafwise__
    kinds = []
    for name, kind in aux.fields.kinds.items():
        json_name = list(name) if type(name) is tuple else name
        kinds.append([json_name, kind and kind.value])
    values = []
    for name, value in aux:
        if name in spec.code_names:
            values.append(["object", writer.name(value)])
        else:
            values.append(writer.value(value))
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
    # A file may say anything: what is not a name here would be one in `__dict__`.
    if not all(type(part_of(name)) in (str, int) for name in kinds):
        raise ValueError("an entry has no name")
    fields = fields_of(cls, kinds)
    if len(fields.names) != len(pairs) or len(fields.static) != len(values):
        raise ValueError("as many values as there are static attributes")
    return Statics(fields, tuple([read_value(value) for value in values]))


def _statics_fit(node_type: NodeType, arity: int, aux: Any) -> bool:
    if type(aux) is not Statics or type(aux.fields) is not Fields:
        return False
    return aux.fields.cls is node_type.cls and len(aux.fields.data) == arity


def _write_aux(node_type: NodeType, aux: Statics, writer: Writer) -> Any:
    if codec_of(node_type) is not None:
        return write_aux(node_type, aux, writer)
    return ["codec", write_statics(aux, writer)]


def _read_aux(node_type: NodeType, data: Any) -> Any:
    if codec_of(node_type) is not None:
        return read_aux(node_type, data)
    word, statics = data
    if word != "codec":
        raise ValueError("static attributes are written by a codec")
    return read_statics(node_type.cls, statics)


AUX_FORMS[ObjectNodeType] = AuxForm(_statics_fit, _write_aux, _read_aux)


# ------------------------------------------------------------------------ graphs


def parts_of(node_type: NodeType, aux: Any, arity: int) -> Sequence[Any]:
    """Return the keys of a node's children as names, positions and keys."""
    if type(aux) is Statics:
        return aux.fields.parts
    if node_type.is_sequence:
        return range(arity)
    return [key.entry for key in node_type.keys(aux, arity)]


def below(value: Any) -> list[tuple[Any, Any]]:
    """Return the children of a value with their names, positions or keys."""
    node_type = node_type_of(type(value))
    if node_type is None:
        return []
    children, aux = node_type.flatten(value)
    parts = parts_of(node_type, aux, len(children))
    return list(zip(parts, children, strict=True))
