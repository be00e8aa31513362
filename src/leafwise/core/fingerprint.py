"""Fingerprints: a short text for a structure, or any value, wherever it is made.

Owns the text of which a fingerprint is the hash. Each value writes its type, its length
and its content, so no two sequences of values write the same. Nothing in it hangs on
the process (addresses, hashes of strings, the order of sets), on the machine or on the
version of Python. Values that are equal and of one type write the same; what has no
such text is refused. What a rule compares of aux data, the rule says. Knows nothing of
arguments, nor of the leaves of a tree.
"""

from __future__ import annotations

import enum
import hashlib
import struct
import sys
import types
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias, Union, get_args, get_origin

from ..equality.content import Undecided, instance_of, is_array, is_table, parts_of
from ..equality.elements import describe_array, describe_dtype, feed_elements
from ..equality.exact import is_partial, partial_parts
from ..equality.leaves import field_names
from ..errors import TreeDefError
from ..safely import Frozen, class_name, module_name, named_object, printed, type_name
from .builtins import BY_NAME
from .node import Rule
from .register import StaticRule
from .registry import Mode, View, view_of
from .serial import has_codec, written_by_codec
from .walk import Code, locate, node_path


_VERSION: Final = "lw1"
_DEPTH: Final = 100
GiveBytes: TypeAlias = "Callable[[Any], bytes] | None"
"""Takes a value of a type that is not known here, returns what tells it from others."""


def of_treedef(code: Code, mode: Mode) -> str:
    """Return the fingerprint of a structure.

    Raises:
        TreeDefError: Aux data has none; with a note of the key path.
    """
    writer = Writer(view_of(mode.namespace, mode.none_is_leaf))
    writer.structure(code, mode)
    return writer.text()


class Writer:
    """Takes values, one after the other, and makes a hash of them.

    Args:
        view: Which values are nodes.
        give_bytes: What is asked about values that have no text; may be set later.
    """

    __slots__ = ("_hash", "_view", "give_bytes")

    def __init__(self, view: View, give_bytes: GiveBytes = None) -> None:
        self.give_bytes = give_bytes
        self._hash = hashlib.sha256(usedforsecurity=False)
        self._view = view

    def text(self) -> str:
        """Return the fingerprint of all that was taken."""
        return f"{_VERSION}-{self._hash.hexdigest()}"

    # ----------------------------------------------------------------- parts

    def put(self, kind: str, data: bytes = b"") -> None:
        """Take a piece of a kind."""
        self._hash.update(b"%s %d " % (kind.encode(), len(data)) + data)

    def put_text(self, kind: str, text: str) -> None:
        """Take a text."""
        self.put(kind, text.encode("utf-8", "surrogatepass"))

    def put_class(self, cls: type) -> None:
        """Take a class by its name, also of one that is not found under it."""
        name = _CLASSES.get(cls)
        if name is None:
            name = f"{_public(module_name(cls), cls)}:{class_name(cls)}"
        self.put_text("class", name)

    def sequence(self, kind: str, values: Iterable[Any], depth: int) -> None:
        """Take values in their order."""
        listed = [*values]
        self.put(kind, b"%d" % len(listed))
        for value in listed:
            self.value(value, depth + 1)

    def collection(self, kind: str, values: Iterable[Any], depth: int) -> None:
        """Take values that have no order."""
        apart = []
        for value in values:
            writer = Writer(self._view, self.give_bytes)
            writer.value(value, depth + 1)
            apart.append(writer._hash.digest())
        self.put(kind, b"".join(sorted(apart)))

    # ------------------------------------------------------------- structure

    def structure(self, code: Code, mode: Mode) -> None:
        """Take a structure.

        Raises:
            TreeDefError: Aux data has no text; with a note of the key path.
        """
        self.put("treedef", b"%d %d" % (len(code), mode.none_is_leaf))
        for position, (run, rule, arity, aux) in enumerate(code):
            try:
                self.node(run, rule, arity, aux)
            except Undecided as why:
                error = TreeDefError(
                    f"the aux data of {class_name(rule.class_of(aux))} has no "
                    f"fingerprint: {why}; leafwise.io.register_codec tells how aux "
                    "data is written"
                )
                locate(error, [*reversed(node_path(code, position))])
                raise error from why

    def node(self, run: int, rule: Rule, arity: int, aux: Any, depth: int = 0) -> None:
        """Take a node, but for what is in it.

        Raises:
            Undecided: Its aux data has no text.
        """
        is_built_in = BY_NAME.get(rule.name) is rule
        self.put(rule.name, b"%d %d" % (run, arity))
        if not is_built_in:
            self.put_text("namespace", rule.namespace)
        cls = rule.class_of(aux)
        if not is_built_in or cls is not rule.cls:  # one of a family
            self.put_class(cls)
        before = self._hash.copy() if has_codec(rule) else None
        try:
            self.value(rule.compared_aux(aux), depth)
        except Undecided:
            if before is None:
                raise
            self._hash = before
            self.put_text("codec", written_by_codec(rule, aux))

    # ---------------------------------------------------------------- values

    def value(self, value: Any, depth: int = 0) -> None:
        """Take a value.

        Raises:
            Undecided: It has no text that is the same everywhere.
        """
        plain = _PLAIN.get(type(value))
        if plain is not None:
            self.put(plain[0], plain[1](value))
            return
        if depth > _DEPTH:
            raise Undecided("it is nested too deeply, or contains itself")
        before = None if self.give_bytes is None else self._hash.copy()
        try:
            self._known(value, depth)
        except Undecided:
            if self.give_bytes is None or before is None:
                raise
            self._hash = before
            self.put_class(type(value))
            self.put("bytes", _given(self.give_bytes, value))

    def _known(self, value: Any, depth: int) -> None:
        try:
            write = _KNOWN.get(type(value)) or _find_writer(value, self._view)
            write(self, value, depth)
        except (Undecided, FromHook):
            raise
        except Exception as error:  # of the class of the value, or of its library
            raise Undecided(f"{type_name(error)}: {printed(error)}") from error


class FromHook(Exception):
    """Carries what a function of the user raised, which is its cause."""


def _given(give_bytes: Callable[[Any], bytes], value: Any) -> bytes:
    """Return what a function of the user gives for a value.

    Raises:
        FromHook: It raised something, or gave no bytes.
    """
    try:
        found = give_bytes(value)
        if not isinstance(found, bytes | bytearray | memoryview):
            raise TypeError(f"leaf_bytes must return bytes, got {type_name(found)}")
    except Exception as error:
        raise FromHook from error
    return bytes(found)


# ------------------------------------------------------------------------- plain values


def _int_bytes(value: int) -> bytes:
    return value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)


def _float_bytes(value: float) -> bytes:
    """Return the bytes of a number; there is one zero and one NaN."""
    return struct.pack("<d", value or 0.0) if value == value else b"nan"


def _complex_bytes(value: complex) -> bytes:
    return _float_bytes(value.real) + b" " + _float_bytes(value.imag)


def _text_bytes(value: str) -> bytes:
    return value.encode("utf-8", "surrogatepass")


def _no_bytes(_value: object) -> bytes:
    return b""


_PLAIN: Final[dict[type, tuple[str, Callable[[Any], bytes]]]] = {
    type(None): ("None", _no_bytes),
    types.EllipsisType: ("Ellipsis", _no_bytes),
    types.NotImplementedType: ("NotImplemented", _no_bytes),
    bool: ("bool", lambda value: b"%d" % value),
    int: ("int", _int_bytes),
    float: ("float", _float_bytes),
    complex: ("complex", _complex_bytes),
    str: ("str", _text_bytes),
    bytes: ("bytes", bytes),
    bytearray: ("bytearray", bytes),
}
"""What a value of these types writes, and the kind of it."""


# --------------------------------------------------------------------------- containers

Write: TypeAlias = "Callable[[Writer, Any, int], None]"
"""Takes a writer, a value and how deep it stands."""


def _in_order(writer: Writer, value: Any, depth: int) -> None:
    writer.sequence("items", value, depth)


def _pairs_in_order(writer: Writer, value: Any, depth: int) -> None:
    writer.sequence("pairs", value.items(), depth)


def _pairs(writer: Writer, value: Any, depth: int) -> None:
    writer.collection("mapping", value.items(), depth)


def _collection(writer: Writer, value: Any, depth: int) -> None:
    writer.collection("set", value, depth)


def _attributes(writer: Writer, value: Any, depth: int) -> None:
    _pairs(writer, vars(value), depth)


def _range(writer: Writer, value: Any, depth: int) -> None:
    """Write what two ranges of the same numbers share."""
    parts = (len(value), *value[:1], *((value.step,) if len(value) > 1 else ()))
    writer.sequence("range", parts, depth)


def _slice(writer: Writer, value: Any, depth: int) -> None:
    writer.sequence("slice", (value.start, value.stop, value.step), depth)


_FAMILIES: Final[dict[type, Write]] = {
    tuple: _in_order,
    list: _in_order,
    deque: _in_order,
    dict: _pairs,
    OrderedDict: _pairs_in_order,
    set: _collection,
    frozenset: _collection,
    types.SimpleNamespace: _attributes,
    types.MappingProxyType: _pairs,
    range: _range,
    slice: _slice,
}
"""What is written of a value of these types, or of a subclass with their `==`."""


def _of_class(write: Write) -> Write:
    """Return a function that writes the class of a value first."""

    def write_both(writer: Writer, value: Any, depth: int) -> None:
        writer.put_class(type(value))
        write(writer, value, depth)

    return write_both


_CLASSES: Final = {cls: f"{cls.__module__}:{cls.__qualname__}" for cls in _FAMILIES}
"""The names of these."""

_KNOWN: Final[dict[type, Write]] = {
    cls: _of_class(write) for cls, write in _FAMILIES.items()
}


def _base_value(base: type) -> Write:
    """Return a function that writes a value as one of a base of its class."""
    kind, make = _PLAIN[base]
    return lambda writer, value, _depth: writer.put(kind, make(value))


_BASES: Final[tuple[tuple[type, Write], ...]] = (
    *((base, _base_value(base)) for base in (str, int, float, complex, bytes)),
    *_FAMILIES.items(),
)


# ----------------------------------------------------------------- the standard library


def _parts(*names: str) -> Write:
    """Return a function that writes the attributes of a value with these names."""

    def write(writer: Writer, value: Any, depth: int) -> None:
        writer.sequence("parts", (getattr(value, name) for name in names), depth)

    return write


def _datetime(writer: Writer, value: Any, depth: int) -> None:
    """Write a date and time; two that are equal name one instant, in any zone."""
    since = value.replace(tzinfo=None) - type(value).min
    _in_zone(writer, value, since, depth)


def _time(writer: Writer, value: Any, depth: int) -> None:
    noted = {name: getattr(value, name[:-1]) for name in _TIMES}
    _in_zone(writer, value, sys.modules["datetime"].timedelta(**noted), depth)


_TIMES: Final = ("hours", "minutes", "seconds", "microseconds")


def _in_zone(writer: Writer, value: Any, since: Any, depth: int) -> None:
    """Write how much time has passed, to whatever clock."""
    zone = value.utcoffset()
    since = since if zone is None else since - zone
    parts = zone is not None, since.days, since.seconds, since.microseconds
    writer.sequence("time", parts, depth)


def _isoformat(writer: Writer, value: Any, _depth: int) -> None:
    writer.put_text("date", value.isoformat())


def _zone(writer: Writer, value: Any, _depth: int) -> None:
    if value.key is None:
        raise Undecided("a zone of a file has no name")
    writer.put_text("zone", value.key)


def _decimal(writer: Writer, value: Any, _depth: int) -> None:
    """Write a number without the zeros at its end, as equal ones may differ in them."""
    sign, digits, exponent = value.as_tuple()
    if value.is_nan() or not value:
        writer.put_text("decimal", "nan" if value.is_nan() else "0")
        return
    text = "".join(map(str, digits))
    short = text.rstrip("0")
    if type(exponent) is int:  # of infinity it is a letter
        exponent += len(text) - len(short)
    writer.put_text("decimal", f"{sign} {short} {exponent}")


def _path(writer: Writer, value: Any, _depth: int) -> None:
    writer.put_text("path", value.as_posix())


def _treedef(writer: Writer, value: Any, _depth: int) -> None:
    writer.structure(value._code, value._mode)


_BY_NAME: Final[dict[str, tuple[str, Write]]] = {
    "datetime:datetime": ("", _datetime),
    "datetime:date": ("", _isoformat),
    "datetime:time": ("", _time),
    "datetime:timedelta": ("", _parts("days", "seconds", "microseconds")),
    "datetime:timezone": ("", lambda w, v, d: w.value(v.utcoffset(None), d + 1)),
    "zoneinfo:ZoneInfo": ("", _zone),
    "decimal:Decimal": ("", _decimal),
    "fractions:Fraction": ("", _parts("numerator", "denominator")),
    "uuid:UUID": ("", _parts("int")),
    "re:Pattern": ("", _parts("pattern", "flags")),
    "pathlib:PosixPath": ("pathlib:Path", _path),
    "pathlib:WindowsPath": ("pathlib:Path", _path),
    "pathlib:PurePosixPath": ("", _path),
    "pathlib:PureWindowsPath": ("", _path),
    "leafwise.core.treedef:PyTreeDef": ("", _treedef),
    "leafwise.core.builtins:Sealed": ("", _parts("func")),
}
"""By the name of a class, the name that is written for it, if another, and the rest.

None of these modules is loaded for it.
"""


def _named_writer(cls: type) -> Write | None:
    """Return the function for a class of a module that may not be loaded here."""
    name = f"{_public(module_name(cls), cls)}:{class_name(cls)}"
    if (
        name not in _BY_NAME
        or named_object(module_name(cls), class_name(cls)) is not cls
    ):
        return None
    written, write = _BY_NAME[name]

    def write_both(writer: Writer, value: Any, depth: int) -> None:
        writer.put_text("class", written or name)
        write(writer, value, depth)

    return write_both


# ------------------------------------------------------------ what is found by its name


def _public(module: str, value: Any) -> str:
    """Return the name of a module without private parts at its end, if they can go.

    Versions of Python differ in them, as `pathlib` and `pathlib._local`.
    """
    while "." in module and module.rpartition(".")[2].startswith("_"):
        above = module.rpartition(".")[0]
        found = getattr(sys.modules.get(above), getattr(value, "__name__", ""), None)
        if found is not value:
            break
        module = above
    return module


def _by_name(value: Any) -> str:
    """Return the name of a class or function, by which any process finds it.

    Raises:
        Undecided: There is none.
    """
    owner = getattr(value, "__objclass__", value)
    module, name = owner.__module__, getattr(value, "__qualname__", None)
    if type(name) is not str and instance_of(value, "numpy", "ufunc"):
        module, name = "numpy", value.__name__
    if type(module) is str and named_object(module, str(name)) is value:
        return f"{_public(module, value)}:{name}"
    for known, found in vars(types).items():  # those that `builtins` does not show
        if found is value:
            return f"types:{known}"
    raise Undecided(
        "no module contains it under its name, for example because it was created "
        "inside a function"
    )


def _write_name(writer: Writer, value: Any, _depth: int) -> None:
    writer.put_text("named", _by_name(value))


def _write_method(writer: Writer, value: Any, depth: int) -> None:
    writer.put_text("method", value.__name__)
    writer.value(value.__self__, depth + 1)


def _write_partial(writer: Writer, value: Any, depth: int) -> None:
    writer.put_class(type(value))
    writer.sequence("partial", partial_parts(value), depth)


def _write_generic(writer: Writer, value: Any, depth: int) -> None:
    """Write `list[int]` and the like; `int | str` is `Union[str, int]`."""
    origin, args = get_origin(value), get_args(value)
    if origin is Union or origin is types.UnionType:
        writer.collection("union", args, depth)
    else:
        writer.sequence("generic", (origin, *args), depth)


def _write_member(writer: Writer, value: Any, _depth: int) -> None:
    writer.put_class(type(value))
    if isinstance(value, enum.Flag):
        writer.put("flag", _int_bytes(value._value_))
    else:
        writer.put_text("member", value._name_)


# --------------------------------------------------------------- arrays, objects, nodes


def _write_array(writer: Writer, value: Any, depth: int) -> None:
    sort, dtype, shape = describe_array(value)
    writer.put_text("array", f"{sort} {dtype} {shape}")
    feed_elements(value, writer._hash.update, lambda one: writer.value(one, depth + 1))


def _write_dtype(writer: Writer, value: Any, _depth: int) -> None:
    order = "" if value.isnative else " swapped"
    writer.put_text("numpy.dtype", describe_dtype(value) + order)


def _write_text(writer: Writer, value: Any, _depth: int) -> None:
    writer.put_text(type(value).__name__, str(value))


_PANDAS: Final = "pandas.api.extensions"


def _write_table_dtype(writer: Writer, value: Any, depth: int) -> None:
    writer.put_text(type(value).__name__, str(value))
    if hasattr(value, "categories"):
        writer.sequence("categories", (value.categories, value.ordered), depth)


def _write_table(writer: Writer, value: Any, depth: int) -> None:
    writer.sequence("table", parts_of(value), depth)


def _write_record(writer: Writer, value: Any, depth: int) -> None:
    writer.put_class(type(value))
    writer.sequence("record", value._values(), depth)


def _write_compared(writer: Writer, value: Any, depth: int) -> None:
    writer.put_class(type(value))
    writer.value(value._leafwise_compared(), depth + 1)


def _write_fields(writer: Writer, value: Any, depth: int) -> None:
    names = field_names(type(value)) or []
    writer.put_class(type(value))
    pairs = ((name, getattr(value, name)) for name in names)
    writer.sequence("fields", pairs, depth)


def _write_node(writer: Writer, value: Any, depth: int) -> None:
    rule = writer._view.resolve(type(value))
    assert rule is not None
    children, aux = rule.flatten(value)
    writer.node(0, rule, len(children), aux, depth + 1)
    for child in children:
        writer.value(child, depth + 1)


def _is_written_by_base(value: Any, base: type) -> bool:
    """Return whether a value is compared as those of a base of its class."""
    ask: Any = type(value).__eq__
    return isinstance(value, base) and ask is base.__eq__


def _is_named(value: Any) -> bool:
    return (
        isinstance(value, type)
        or (callable(value) and hasattr(value, "__qualname__"))
        or instance_of(value, "numpy", "ufunc")
    )


def _is_method(value: Any) -> bool:
    own = getattr(value, "__self__", None)
    methods = types.MethodType | types.BuiltinMethodType
    return isinstance(value, methods) and not isinstance(own, types.ModuleType | None)


_CASES: Final[tuple[tuple[Callable[[Any], Any], Write], ...]] = (
    (lambda v: get_origin(v) is not None, _write_generic),
    (lambda v: isinstance(v, enum.Enum), _write_member),
    (lambda v: instance_of(v, "numpy", "dtype"), _write_dtype),
    (lambda v: instance_of(v, "torch", "dtype", "device"), _write_text),
    (is_table, _write_table),
    (lambda v: instance_of(v, "pandas.api.typing", "NAType", "NaTType"), _write_text),
    (lambda v: instance_of(v, _PANDAS, "ExtensionDtype"), _write_table_dtype),
    (is_array, _write_array),
    (_is_method, _write_method),
    (is_partial, _write_partial),
    (_is_named, _write_name),
    (lambda v: isinstance(v, Frozen), _write_record),
    (lambda v: hasattr(type(v), "_leafwise_compared"), _write_compared),
)
"""Who knows a sort of values, and what is written of it."""


def _find_writer(value: Any, view: View) -> Write:
    """Return what writes a value.

    Raises:
        Undecided: Nothing is known about its type.
    """
    cls = type(value)
    rule = view.resolve(cls)
    is_registered = rule is not None and BY_NAME.get(rule.name) is not rule
    if is_registered and not isinstance(rule, StaticRule):
        return _write_node
    found = _named_writer(cls)
    if found is not None:
        return found
    for knows, write in _CASES:
        if knows(value):
            return write
    for base, write in _BASES:
        if _is_written_by_base(value, base):
            return _of_class(write)
    if field_names(cls) is not None:
        return _write_fields
    raise Undecided(f"{class_name(cls)} is not a type that has one")
