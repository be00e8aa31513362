"""One codec of plain values: as JSON, as content for fingerprints, as exact keys.

`FORMS` says of each type what equal values share, how a value is written as JSON and
read again, and whether it is inert. `AUX_FORMS` says of each node type how its aux data
is written, read and checked.

Values that JSON has stand for themselves; any other value is a list that begins with a
word. Reading imports no module and calls no function that the text names.

    >>> from leafwise.core.codec import Writer, read_value
    >>> Writer().value((1, {"a": float("inf")}))
    ['tuple', 1, ['dict', ["'a'", ['float', 'inf']]]]
    >>> read_value(_)
    (1, {'a': inf})
"""

from __future__ import annotations

import enum
import math
import re
import struct
import sys
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterable
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

from .._lazy import late_module, need
from .._runtime import is_permanent, named_object
from .._text import short_repr
from ..equality.arrays import REGISTERED, describe_dtype, dtype_name, extension_dtype
from ..errors import PathError, TreeDefError
from . import builtins, register
from .keypath import KeyPath, parse_literal
from .keys import (
    DictKey,
    DictKeys,
    FlattenedIndexKey,
    GetAttrKey,
    SequenceKey,
    dict_keys,
    literal,
)
from .node import NodeType
from .registry import GLOBAL, check_callable, check_class


_MAX_DEPTH: Final = 64
"""Containers around a value: more are taken for a value that contains itself."""


class Form(NamedTuple):
    """What is known about the values of one type.

    Attributes:
        content: Takes a value; returns what equal values share, and no others of the
            type: bytes or a text, a sequence of values, a `Set` of values that have no
            order, or None if there is one value only. None for arrays.
        word: What the JSON list of a value begins with, "" if there is no such list.
        to_json: Takes a value and a `Writer`, returns what follows the word.
        from_json: Takes what follows the word, returns the value.
        is_inert: Whether a value is inert if all items of its content are: nothing
            changes it, and nothing else counts when it is compared. Scalars are inert
            without this; see `exact_key`.
    """

    content: Any
    word: str = ""
    to_json: Any = None
    from_json: Any = None
    is_inert: bool = False


def form_of(cls: type) -> Form | None:
    """Return the form of the values of a class, None if it has none.

    It is that of the class alone: subclasses may hold more.
    """
    form = FORMS.get(cls)
    if form is not None:
        return form
    form = LATE_FORMS.get(class_name(cls))
    for module, name, library_form in LIBRARY_FORMS:
        base = getattr(sys.modules.get(module), name, None)
        if isinstance(base, type) and issubclass(cls, base):
            form = library_form
    if form is None or not is_permanent(cls):  # a class may have any name
        return None
    FORMS[cls] = form
    return form


# ------------------------------------------------------------------------------- names

_ALIASES: Final = {
    "pathlib:PosixPath": "pathlib:Path",
    "pathlib:WindowsPath": "pathlib:Path",
}


def class_name(cls: type) -> str:
    """Return the name of a class, which need not be found under it."""
    name = f"{public_module(cls.__module__, cls)}:{cls.__qualname__}"
    return _ALIASES.get(name, name)


def public_module(module: str, value: Any) -> str:
    """Return the name of a module without private parts at its end, if they can go.

    Versions of Python differ in them, as `pathlib` and `pathlib._local`.
    """
    package, _, last = module.rpartition(".")
    if not package or not last.startswith("_"):
        return module
    name = getattr(value, "__name__", "")
    if getattr(sys.modules.get(package), name, None) is not value:
        return module
    return public_module(package, value)


def split_name(name: Any) -> tuple[str, str]:
    """Return the module and the qualified name of a class or function.

    Raises:
        TreeDefError: It is a gap; see `Writer`.
    """
    if type(name) is list:
        raise TreeDefError(f"{name[0]} is code without a name, which no file holds")
    module, _, qualname = str(name).partition(":")
    return module, qualname


# ----------------------------------------------------------------------------- writing

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
"""Half a character, alone: of two of them, JSON would make one character."""


def _is_json(value: Any) -> bool:
    """Return whether JSON has a value itself, and reads it back as the same."""
    cls = type(value)
    if cls is str:
        return value.isascii() or not _SURROGATE.search(value)
    if cls is int:
        return bool(value.bit_length() <= 2_000)  # Python may refuse more digits
    if cls is float:
        return math.isfinite(value)
    return value is None or cls is bool


class Writer:
    """Writes values as JSON, so that each is read back with its type.

    Args:
        gaps: Whether functions and classes that have no name are written as gaps. Such
            a text cannot be read; the error says what is missing.
        keeps_equal: Whether what is read back must be equal, which NaN never is.
    """

    __slots__ = ("_depth", "gaps", "keeps_equal")

    def __init__(self, *, gaps: bool = False, keeps_equal: bool = False) -> None:
        self.gaps = gaps
        self.keeps_equal = keeps_equal
        self._depth = 0

    def value(self, value: Any) -> Any:
        """Return the JSON of a value.

        Raises:
            TreeDefError: It has none.
        """
        if _is_json(value):
            return value
        form = form_of(type(value))
        if form is not None and form.word:
            if self._depth == _MAX_DEPTH:
                raise TreeDefError("it is nested too deeply")
            self._depth += 1
            items = list(form.to_json(value, self))
            self._depth -= 1
            return [form.word, *items]
        if isinstance(value, enum.Enum):
            text = _key_text(value)
            if text is not None:
                return ["literal", text]
        elif callable(value):
            word = "class" if isinstance(value, type) else "object"
            return [word, self.name(value)]
        raise _no_text(value)

    def key(self, key: Any) -> str:
        """Return the text of a dict key.

        Raises:
            TreeDefError: No text is read back as the very same key.
        """
        text = _key_text(key)
        if text is None:
            raise TreeDefError(
                f"the dict key {short_repr(key)} cannot be written as JSON text"
            )
        return text

    def name(self, value: Any) -> Any:
        """Return the name of a function or class, None for None.

        Raises:
            TreeDefError: It has none, and there are to be no gaps.
        """
        if value is None:
            return None
        module = getattr(value, "__module__", "")
        qualname = getattr(value, "__qualname__", "")
        name = f"{module}:{qualname}"
        if named_object(*split_name(name)) is value:
            return name
        if self.gaps:
            text = short_repr(value) if qualname else f"{type(value).__qualname__}(...)"
            return [text]
        raise TreeDefError(
            f"{short_repr(value)} has no name by which it could be found again; only "
            "module-level functions and classes can be written as JSON"
        )


def _no_text(value: Any) -> TreeDefError:
    name = type(value).__qualname__
    return TreeDefError(f"{short_repr(value)} ({name}) cannot be written as text")


def _key_text(key: Any) -> str | None:
    """Return the text of a dict key, None if it is not read back as the same key.

    So NaN has none, which is not equal to the NaN that is read back.
    """
    text = literal(key)
    try:
        copy = parse_literal(text)
    except (PathError, RecursionError):
        return None
    return text if type(copy) is type(key) and copy == key else None


# ----------------------------------------------------------------------------- reading


def read_value(data: Any) -> Any:
    """Return the value that was passed to `Writer.value`.

    Raises:
        TreeDefError: The JSON is malformed, or names what is not here.
        Exception: As well; something in it has the wrong type.
    """
    if type(data) is dict:
        raise TreeDefError("malformed text of a treedef: a bare object")
    if type(data) is not list:
        return data
    word, *items = data
    if word not in READERS:
        raise TreeDefError(
            f"malformed text of a treedef: a value of kind {short_repr(word)}"
        )
    return READERS[word](*items)


@lru_cache(maxsize=1024)
def read_key(text: str) -> Any:
    """Return the dict key of a text; dicts in one file often have the same keys.

    Raises:
        PathError: The text is not a literal.
    """
    return parse_literal(text)


def read_name(name: Any) -> Any:
    """Return the object of a name in the loaded modules, None for None.

    Raises:
        TreeDefError: There is none.
    """
    if name is None:
        return None
    value = named_object(*split_name(name))
    if value is None:
        raise TreeDefError(f"{short_repr(name)} is not in any module that is loaded")
    return value


# -------------------------------------------------------------------------- exact keys


SCALARS: Final = frozenset({bool, bytes, int, str, type(None)})
"""Types whose values are the same if they are equal and of one type."""


class NotInertError(Exception):
    """A value is mutable, is compared by its class's own rules, or is not known."""


def exact_key(value: Any) -> Hashable:
    """Return a key that two values share only if one can stand for the other.

    Raises:
        NotInertError: The value is not inert.

    Example:
        >>> from leafwise.core.codec import exact_key
        >>> exact_key((1, 2.0)) == exact_key((1, 2))
        False
    """
    cls = type(value)
    if cls in SCALARS:
        return cls, value
    if cls is float and value == value:  # each NaN is equal to itself alone
        return cls, value.hex()
    form = FORMS.get(cls)
    if form is not None and form.is_inert:
        return cls, tuple([exact_key(item) for item in form.content(value)])
    if issubclass(cls, type | enum.Enum):
        return cls, id(value)
    raise NotInertError


# ----------------------------------------------------------------- the values, by type


def _items(value: Iterable[Any], writer: Writer) -> list[Any]:
    return [writer.value(item) for item in value]


def _read_items(*items: Any) -> list[Any]:
    return [read_value(item) for item in items]


def _sorted_items(value: Iterable[Any], writer: Writer) -> list[Any]:
    return sorted(_items(value, writer), key=repr)


def _dict_items(value: dict[Any, Any], writer: Writer) -> list[Any]:
    return [[writer.key(key), writer.value(item)] for key, item in value.items()]


def _attributes(*names: str) -> Callable[[Any], list[Any]]:
    return lambda value: [getattr(value, name) for name in names]


def _int_content(value: int) -> bytes:
    return value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)


def _float_content(value: float) -> bytes:
    """Return the bytes of a number; there is one zero and one NaN."""
    return struct.pack("<d", value or 0.0) if value == value else b"nan"


def _number_items(value: complex, writer: Writer) -> list[str]:
    if writer.keeps_equal and value != value:
        raise _no_text(value)
    return [repr(value)]


def _literal_items(value: Any, _writer: Writer) -> list[str]:
    return [hex(value) if type(value) is int else literal(value)]


def _read_path_key(text: str) -> Any:
    (key,) = KeyPath.parse(text)
    return key


_ENTRY: Final = _attributes("entry")
_PATH_KEY: Final = Form(
    _ENTRY, "key", lambda key, _: [str(key)], _read_path_key, is_inert=True
)

FORMS: Final[dict[type, Form]] = {
    type(None): Form(lambda _: None),
    type(...): Form(lambda _: None),
    bool: Form(lambda value: b"%d" % value),
    int: Form(
        _int_content,
        "literal",
        _literal_items,
        read_key,
    ),
    float: Form(
        _float_content,
        "float",
        _number_items,
        float,
    ),
    complex: Form(_attributes("real", "imag"), "complex", _number_items, complex),
    str: Form(
        str.__str__,
        "literal",
        _literal_items,
        read_key,
    ),
    bytes: Form(
        bytes,
        "literal",
        _literal_items,
        read_key,
    ),
    bytearray: Form(bytes),
    tuple: Form(
        tuple,
        "tuple",
        _items,
        lambda *items: tuple(_read_items(*items)),
        is_inert=True,
    ),
    list: Form(
        list,
        "list",
        _items,
        _read_items,
    ),
    dict: Form(
        dict.items,
        "dict",
        _dict_items,
        lambda *items: {read_key(key): read_value(item) for key, item in items},
    ),
    set: Form(
        set,
        "set",
        _sorted_items,
        lambda *items: set(_read_items(*items)),
    ),
    frozenset: Form(
        frozenset,
        "frozenset",
        _sorted_items,
        lambda *items: frozenset(_read_items(*items)),
    ),
    MappingProxyType: Form(MappingProxyType.items),
    OrderedDict: Form(lambda value: list(value.items())),
    deque: Form(list),
    DictKey: Form(
        _ENTRY,
        "dict key",
        lambda key, writer: [writer.key(key.key)],
        lambda text: DictKey(read_key(text)),
        is_inert=True,
    ),
    SequenceKey: _PATH_KEY,
    GetAttrKey: _PATH_KEY,
    FlattenedIndexKey: _PATH_KEY,
    builtins.WrappedPartial: Form(_attributes("func")),
    **{
        cls: Form(lambda value: dict(value).items())
        for cls in builtins.MAPPINGS
        if not issubclass(cls, dict)  # `frozendict` of Python 3.15
    },
}
"""The forms of values by type; `form_of` adds those of types that are loaded late."""


def _decimal_content(value: Any) -> str:
    """Return the text of a number without the zeros at its end."""
    if value.is_nan():
        return "nan"
    if not value:
        return "0"
    digits = len(value.as_tuple().digits)
    return str(value.normalize(sys.modules["decimal"].Context(prec=max(digits, 1))))


def _instant(value: Any) -> list[Any]:
    """Return the parts of a time on a date; they are equal for one instant."""
    datetime: Any = sys.modules["datetime"]
    since = value.replace(tzinfo=None) - datetime.datetime.min + datetime.timedelta(1)
    offset = value.utcoffset()
    if offset is None:
        return [False, since]
    return [True, since - offset]


def _date_items(value: Any, _writer: Writer) -> list[str]:
    text = str(value)
    # compared by `repr`: times of different zones or folds may be equal
    if repr(type(value).fromisoformat(text)) != repr(value):
        raise _is_inexact(value)
    return [text]


def _read_datetime(text: str) -> Any:
    return late_module("datetime").datetime.fromisoformat(text)


def _read_date(text: str) -> Any:
    return late_module("datetime").date.fromisoformat(text)


def _is_inexact(value: Any) -> TreeDefError:
    return TreeDefError(
        f"{short_repr(value)} has no text form that reads back the same"
    )


_PATH_CONTENT: Final = Form(lambda value: value.as_posix())

LATE_FORMS: Final[dict[str, Form]] = {
    "datetime:datetime": Form(
        _instant,
        "datetime",
        _date_items,
        _read_datetime,
    ),
    "datetime:date": Form(
        str,
        "date",
        _date_items,
        _read_date,
    ),
    "datetime:timedelta": Form(_attributes("days", "seconds", "microseconds")),
    "datetime:timezone": Form(lambda value: [value.utcoffset(None)]),
    "decimal:Decimal": Form(_decimal_content),
    "fractions:Fraction": Form(_attributes("numerator", "denominator")),
    "uuid:UUID": Form(_attributes("int")),
    "pathlib:Path": Form(
        lambda value: value.as_posix(),
        "path",
        lambda value, writer: [writer.value(str(value))],
        lambda data: late_module("pathlib").Path(read_value(data)),
    ),
    "pathlib:PurePosixPath": _PATH_CONTENT,
    "pathlib:PureWindowsPath": _PATH_CONTENT,
}
"""The forms of types whose modules may not be loaded, by the names of the types."""


def _write_dtype(dtype: Any, writer: Writer) -> Any:
    if dtype.isbuiltin == REGISTERED:
        return dtype.name
    numpy = need("numpy", "a dtype", "arrays")
    data = writer.value(numpy.lib.format.dtype_to_descr(dtype))
    if _read_dtype(data) != dtype:  # numpy's description does not say all
        raise _is_inexact(dtype)
    return data


def _read_dtype(data: Any) -> Any:
    if type(data) is str and data.isidentifier():
        return extension_dtype(data)
    numpy = need("numpy", "a dtype", "arrays")
    return numpy.lib.format.descr_to_dtype(read_value(data))


def _scalar_items(value: Any, writer: Writer) -> list[Any]:
    """Return the dtype of a scalar of numpy, and its bytes in hex."""
    dtype = value.dtype
    if dtype.hasobject:
        raise TreeDefError(f"{short_repr(value)} contains Python objects")
    if dtype.type is not type(value):  # a subclass, which may hold anything besides
        raise _no_text(value)
    # the bytes of a text may be more than its dtype has
    return [_write_dtype(dtype, writer), value.tobytes()[: value.itemsize].hex()]


def _read_scalar(dtype_data: Any, hex_text: Any) -> Any:
    numpy = need("numpy", "a scalar", "arrays")
    content = bytes.fromhex(hex_text)
    dtype = _read_dtype(dtype_data)
    if len(content) != dtype.itemsize or dtype.hasobject:
        raise TreeDefError(
            f"{short_repr(hex_text)} is not a value of {short_repr(dtype)}"
        )
    # an array would lose the null characters at the end of a text
    if dtype.kind == "S":
        return dtype.type(content)
    if dtype.kind == "U":
        return dtype.type(content.decode("utf-32", "surrogatepass"))
    return numpy.ndarray((), dtype, bytearray(content))[()]


def _torch_items(value: Any, _writer: Writer) -> list[str]:
    name = dtype_name(value)
    if named_object("torch", name) is not value:  # a name that would not be found again
        raise _no_text(value)
    return [f"torch:{name}"]


LIBRARY_FORMS: Final[tuple[tuple[str, str, Form], ...]] = (
    ("numpy", "generic", Form(None, "numpy", _scalar_items, _read_scalar)),
    (
        "numpy",
        "dtype",
        Form(
            lambda value: f"{describe_dtype(value)} {value.isnative}",
            "dtype",
            lambda value, writer: [_write_dtype(value, writer)],
            _read_dtype,
        ),
    ),
    ("torch", "dtype", Form(str, "object", _torch_items, read_name)),
    ("torch", "device", Form(str)),
)
"""Modules of other libraries, names of classes in them, and the forms of instances."""

_ALL_FORMS: Final = (
    *FORMS.values(),
    *LATE_FORMS.values(),
    *(form for _, _, form in LIBRARY_FORMS),
)
READERS: Final[dict[str, Callable[..., Any]]] = {
    **{form.word: form.from_json for form in _ALL_FORMS},
    "class": read_name,
}
"""By word: the functions that read the lists which begin with it."""


def add_form(cls: type, form: Form) -> None:
    """Add the form of a class above `core`, whose values are parts of aux data."""
    FORMS[cls] = form
    READERS[form.word] = form.from_json


# --------------------------------------------------------------- aux data, by node type

Codec: TypeAlias = "tuple[Callable[[Any], Any], Callable[[Any], Any]]"
_codecs: Final[dict[tuple[type, str], Codec]] = {}
"""By class and namespace: the functions that `register_codec` was given."""


def register_codec(
    cls: type,
    to_json: Callable[[Any], Any],
    from_json: Callable[[Any], Any],
    *,
    namespace: str = GLOBAL,
) -> None:
    """Register functions that convert the aux data of a class to JSON and back.

    For a container of `register_mapping` or `register_sequence`, they convert an empty
    copy of it.

    Args:
        cls: The class.
        to_json: Takes the aux data, returns a value that `json.dumps` accepts.
        from_json: Takes the value from `json.loads`, returns the aux data.
        namespace: The namespace that the class is registered in.

    Raises:
        RegistryError: `cls` is not a class, or a function is not callable.

    Example:
        >>> import leafwise as lw
        >>> class Tagged:
        ...     def __init__(self, x, tags): self.x, self.tags = x, tags
        >>> _ = lw.register_pytree_node(
        ...     Tagged, lambda t: ((t.x,), t.tags), lambda tags, xs: Tagged(*xs, tags))
        >>> lw.files.register_codec(Tagged, ",".join, lambda text: text.split(","))
        >>> treedef = lw.tree_structure(Tagged(1, ["a", "b"]))
        >>> lw.PyTreeDef.from_json(treedef.to_json()) == treedef
        True
    """
    check_class(cls)
    check_callable(to_json, "the to_json function", cls)
    check_callable(from_json, "the from_json function", cls)
    _codecs[cls, namespace] = (to_json, from_json)


def codec_of(node_type: NodeType) -> Codec | None:
    """Return the codec that was registered for the class of a node type."""
    return _codecs.get((node_type.cls, node_type.namespace))


def write_aux(node_type: NodeType, aux: Any, writer: Writer) -> Any:
    """Return the JSON of aux data: by the codec of its class, or as a value."""
    codec = codec_of(node_type)
    if codec is None:
        return writer.value(aux)
    to_json, _ = codec
    if not isinstance(node_type, register.FunctionNodeType):
        return ["codec", to_json(aux)]
    data, keys = aux
    return ["codec", to_json(data), writer.value(keys)]


def read_aux(node_type: NodeType, data: Any) -> Any:
    """Return the aux data that was passed to `write_aux`."""
    if type(data) is not list or data[:1] != ["codec"]:
        return read_value(data)
    codec = codec_of(node_type)
    if codec is None:
        raise TreeDefError(f"no codec is registered for {node_type.cls.__qualname__}")
    _, from_json = codec
    _, inside, *keys = data
    aux = from_json(inside)
    return (aux, *_read_items(*keys)) if keys else aux


class AuxForm(NamedTuple):
    """How the aux data of a node type is checked, written and read.

    Attributes:
        fits: Takes the node type, a number of children and aux data from an untrusted
            source, returns whether they make up a node.
        write: Takes the node type, aux data and a `Writer`, returns JSON.
        read: Takes the node type and JSON, returns aux data.
    """

    fits: Callable[[Any, int, Any], bool] = lambda _node_type, _arity, _aux: True
    write: Callable[[Any, Any, Writer], Any] = write_aux
    read: Callable[[Any, Any], Any] = read_aux


def aux_form_of(node_type: NodeType) -> AuxForm:
    """Return how the aux data of a node type is checked, written and read."""
    # by the class of the node type, or the nearest above: `NodeType` has one
    return next(AUX_FORMS[cls] for cls in type(node_type).__mro__ if cls in AUX_FORMS)


def _keys_fit(_node_type: Any, arity: int, keys: Any) -> bool:
    if type(keys) is not DictKeys:
        return False
    # the file may come from anybody: a key may occur twice, or in one order only
    return arity == len(set(keys.inserted) & set(keys.ordered))


def _write_keys(_node_type: Any, keys: DictKeys, writer: Writer) -> list[Any]:
    texts = [writer.key(key) for key in keys.inserted]
    order: Any = None  # leafwise 0.2 reads it; here the order of the keys is found anew
    if keys.is_structure:
        order = "as given"
    elif keys.ordered is not keys.inserted:
        positions = {key: index for index, key in enumerate(keys.inserted)}
        order = [positions[key] for key in keys.ordered]
    return [texts, order]


def _read_keys(node_type: Any, data: Any) -> Any:
    texts, _ = data
    return node_type.arrange(tuple([read_key(text) for text in texts]))


def _factory_fits(node_type: Any, arity: int, aux: Any) -> bool:
    keys, factory = aux
    return (factory is None or callable(factory)) and _keys_fit(node_type, arity, keys)


def _write_factory(node_type: Any, aux: Any, writer: Writer) -> list[Any]:
    keys, factory = aux
    return [*_write_keys(node_type, keys, writer), writer.name(factory)]


def _read_factory(node_type: Any, data: Any) -> Any:
    *keys, name = data
    return _read_keys(node_type, keys), read_name(name)


def _structseq_fits(_node_type: Any, arity: int, aux: Any) -> bool:
    cls, hidden = aux
    if not builtins.is_structseq_class(cls) or cls.n_sequence_fields != arity:
        return False
    return all(type(name) is str for name in hidden)


def _read_structseq(_node_type: Any, data: Any) -> Any:
    name, hidden = data
    return read_name(name), read_value(hidden)


def _checked_aux_fits(_node_type: Any, arity: int, aux: Any) -> bool:
    if type(aux) is not tuple or len(aux) != 2:
        return False
    _, keys = aux
    return keys is None or (type(keys) is tuple and len(keys) == arity)


def _items_fit(node_type: Any, arity: int, aux: Any) -> bool:
    keys, _ = aux
    if node_type.is_mapping:
        return _keys_fit(node_type, arity, keys)
    return type(keys) is int and keys == arity


def _write_container(node_type: Any, aux: Any, writer: Writer) -> list[Any]:
    """Return the keys or the length of a container, and the JSON of its rest.

    A codec is about the rest: the user knows nothing of the keys.
    """
    keys, rest = aux
    if node_type.is_mapping:
        keys = [writer.key(key) for key in keys.inserted]
    return [keys, None if rest is None else write_aux(node_type, rest, writer)]


def _read_container(node_type: Any, data: Any) -> Any:
    keys, rest = data
    if node_type.is_mapping:
        keys = dict_keys(tuple([read_key(text) for text in keys]))
    return keys, read_aux(node_type, rest)


def _fields_fit(node_type: Any, arity: int, aux: Any) -> bool:
    if type(aux) is not tuple:
        return False
    return arity == len(node_type.data_fields) and len(aux) == len(
        node_type.meta_fields
    )


_NAME: Final = AuxForm(
    write=lambda _, aux, writer: writer.name(aux),
    read=lambda _, data: read_name(data),
)

AUX_FORMS: Final[dict[type[NodeType], AuxForm]] = {
    NodeType: AuxForm(),
    builtins.MappingNodeType: AuxForm(
        _keys_fit,
        _write_keys,
        _read_keys,
    ),
    builtins.OrderedDictNodeType: AuxForm(
        _keys_fit,
        lambda _, keys, writer: [writer.key(key) for key in keys.inserted],
        lambda node_type, texts: _read_keys(node_type, (texts, None)),
    ),
    builtins.DefaultDictNodeType: AuxForm(
        _factory_fits,
        _write_factory,
        _read_factory,
    ),
    builtins.SequenceNodeType: AuxForm(
        lambda _node_type, _arity, aux: aux is None,
    ),
    builtins.DequeNodeType: AuxForm(
        lambda _, arity, maxlen: (
            maxlen is None or (type(maxlen) is int and arity <= maxlen <= sys.maxsize)
        )
    ),
    builtins.NoneNodeType: AuxForm(
        lambda _, arity, aux: aux is None and arity == 0,
    ),
    builtins.PartialNodeType: _NAME._replace(
        fits=lambda _, arity, function: arity == 2 and callable(function)
    ),
    builtins.NamedTupleNodeType: _NAME._replace(
        fits=lambda _, arity, cls: (
            builtins.has_field_names(cls) and len(cls._fields) == arity
        )
    ),
    builtins.StructSequenceNodeType: AuxForm(
        _structseq_fits,
        lambda _, aux, writer: [writer.name(aux[0]), writer.value(aux[1])],
        _read_structseq,
    ),
    register.FunctionNodeType: AuxForm(_checked_aux_fits),
    register.DataclassNodeType: AuxForm(_fields_fit),
    register.StaticNodeType: AuxForm(
        lambda node_type, arity, aux: arity == 0 and type(aux) is node_type.cls
    ),
    register.ItemsNodeType: AuxForm(
        _items_fit,
        _write_container,
        _read_container,
    ),
}
"""By class of the node type; a subclass has that of its nearest base."""
