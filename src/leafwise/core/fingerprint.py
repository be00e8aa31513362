"""Fingerprints: short strings that identify trees and structures on any machine.

Each value writes the name of its class, its length and its content into one hash, so no
two sequences of values write the same. Nothing in it depends on the process (addresses,
hashes of strings, the order of sets), on the machine or on the version of Python.
Values that are equal and of one type write the same; other values are refused. What a
rule compares of aux data, the rule says.
"""

from __future__ import annotations

import enum
import hashlib
import struct
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from .._records import Frozen
from .._runtime import named_object
from .._text import typed_repr
from ..equality.arrays import (
    Undecided,
    describe_array,
    describe_dtype,
    feed_elements,
    instance_of,
    is_array,
)
from ..equality.exact import is_partial, partial_parts
from ..equality.leaves import field_names
from ..errors import CompareError, TreeDefError
from .builtins import BY_NAME
from .context import context_of
from .registry import GLOBAL, Mode
from .serial import codecs, written_by_codec
from .walk import Code, locate, node_path


if TYPE_CHECKING:
    from .._typing import IsLeaf

__all__ = ["fingerprint"]

_VERSION: Final = "lw1"
_DEPTH: Final = 100


def fingerprint(
    tree: Any,
    *,
    leaf_bytes: Callable[[Any], bytes] | None = None,
    is_leaf: IsLeaf = None,
    namespace: str = GLOBAL,
) -> str:
    """Return a short string that identifies the content of a tree.

    Equal trees have the same fingerprint in every process, on every machine and Python
    version, whatever the order of their dicts. The fingerprint changes if anything
    differs: structure, keys, aux data and static values, types, dtypes, shapes,
    elements. So it can name a file, or a result that was computed from the tree.

    Trees are equal in the sense of `tree_equal(a, b, typematch=True)`: 1, 1.0 and True
    differ; 0.0 and -0.0 do not, and all NaNs are the same. Classes and functions count
    by name, not by what they do. Array elements are read in place if they are
    contiguous and little-endian, and have neither zeros nor NaN; else they are copied.

    Args:
        tree: A tree. Its leaves are numbers, strings, bytes, enums, dates, paths, and
            containers and dataclasses of these; arrays of numpy, jax and torch;
            classes and functions of a module.
        leaf_bytes: Called with each leaf value that has no fingerprint otherwise;
            returns bytes that distinguish it from other values of its class.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        namespace: Where classes are looked up before the global registry.

    Returns:
        A version and 64 hexadecimal digits. The version changes when a new algorithm
        gives the same tree another fingerprint.

    Raises:
        CompareError: A leaf has nothing that is the same everywhere, such as an object
            of an unknown type or a lambda.
        TreeDefError: Aux data has nothing that is the same everywhere. A note names the
            key path.

    Example:
        >>> import leafwise as lw
        >>> lw.fingerprint({"lr": 0.1, "layers": [64, 64]})[:16]
        'lw1-0024f6d07a65'
        >>> name = lw.fingerprint({"layers": [64, 64], "lr": 0.1})
        >>> name == lw.fingerprint({"lr": 0.1, "layers": [64, 64]})
        True
        >>> class Point:
        ...     def __init__(self, x): self.x = x
        >>> lw.fingerprint([Point(1)])
        Traceback (most recent call last):
        ...
        leafwise.errors.CompareError: the leaf at [0] has no fingerprint \
(Point: <...Point object at ...>): Point is not a type that has one; leaf_bytes can \
give its bytes
        >>> by_repr = lambda value: repr(vars(value)).encode()
        >>> len(lw.fingerprint([Point(1)], leaf_bytes=by_repr))
        68
    """
    context = context_of(is_leaf, namespace=namespace)
    leaves, treedef = context.flatten(tree)
    writer = Writer()
    writer.put("tree")  # that of a structure alone begins otherwise
    writer.structure(treedef._code, treedef._mode)
    writer.give_bytes = leaf_bytes
    for place, leaf in enumerate(leaves):
        try:
            writer.value(leaf)
        except Undecided as why:
            path = treedef.paths()[place]
            raise CompareError(
                f"the leaf at {path.where()} has no fingerprint ({typed_repr(leaf)}): "
                f"{why}; leaf_bytes can give its bytes",
                path=path,
            ) from why
        except Exception as error:  # of leaf_bytes, or of the library of an array
            locate(error, treedef.paths()[place])
            raise
    return writer.text()


# ----------------------------------------------------------------- writing values


class Writer:
    """Takes values, one after the other, and makes a hash of them.

    Args:
        give_bytes: Called with values that have no text; may be set later.
    """

    def __init__(self, give_bytes: Callable[[Any], bytes] | None = None) -> None:
        self.give_bytes = give_bytes
        self._hash = hashlib.sha256(usedforsecurity=False)

    def text(self) -> str:
        """Return the fingerprint of all that was taken."""
        return f"{_VERSION}-{self._hash.hexdigest()}"

    def put(self, data: bytes | str) -> None:
        """Take bytes, or a text, with their length."""
        if isinstance(data, str):
            data = data.encode("utf-8", "surrogatepass")
        self._hash.update(b"%d " % len(data) + data)

    def sequence(self, values: Iterable[Any], depth: int) -> None:
        """Take values in their order."""
        listed = [*values]
        self.put(b"%d" % len(listed))
        for value in listed:
            self.value(value, depth + 1)

    def collection(self, values: Iterable[Any], depth: int) -> None:
        """Take values that have no order."""
        apart = []
        for value in values:
            writer = Writer(self.give_bytes)
            writer.value(value, depth + 1)
            apart.append(writer._hash.digest())
        self.put(b"".join(sorted(apart)))

    def structure(self, code: Code, mode: Mode) -> None:
        """Take a structure.

        Raises:
            TreeDefError: Aux data has no text; with a note of the key path.
        """
        self.put(b"treedef %d %d" % (len(code), mode.none_is_leaf))
        for position, (run, rule, arity, aux) in enumerate(code):
            is_built_in = BY_NAME.get(rule.name) is rule
            cls = rule.class_of(aux)
            self.put(f"{rule.name} {run} {arity}")
            if not is_built_in:
                self.put(rule.namespace)
            if not is_built_in or cls is not rule.cls:  # one of a family
                self.put(_name(cls))
            before = self._hash.copy()
            try:
                self.value(rule.compared_aux(aux))
            except Undecided as why:
                if (rule.cls, rule.namespace) in codecs:
                    self._hash = before
                    self.put(written_by_codec(rule, aux))
                    continue
                error = TreeDefError(
                    f"the aux data of {cls.__qualname__} has no fingerprint: {why}; "
                    "leafwise.files.register_codec tells how aux data is written"
                )
                locate(error, node_path(code, position))
                raise error from why

    def value(self, value: Any, depth: int = 0) -> None:
        """Take a value.

        Raises:
            Undecided: It has no text that is the same everywhere.
        """
        if depth > _DEPTH:
            raise Undecided("it is nested too deeply, or contains itself")
        name = _name(type(value))
        before = self._hash.copy()
        self.put(name)
        try:
            write = _TABLE.get(name) or _find_writer(value)
            write(self, value, depth)
        except Undecided:
            if self.give_bytes is None:
                raise
            found = self.give_bytes(value)
            if not isinstance(found, bytes | bytearray | memoryview):
                what = type(found).__name__
                raise TypeError(f"leaf_bytes must return bytes, got {what}") from None
            self._hash = before
            self.put(f"bytes of {name}")
            self.put(bytes(found))


_ONE_NAME: Final[dict[str, str]] = {
    "pathlib:PosixPath": "pathlib:Path",
    "pathlib:WindowsPath": "pathlib:Path",
}


def _name(cls: type) -> str:
    """Return the name of a class, which need not be found under it."""
    name = f"{_public(cls.__module__, cls)}:{cls.__qualname__}"
    return _ONE_NAME.get(name, name)


def _public(module: str, value: Any) -> str:
    """Return the name of a module without private parts at its end, if they can go.

    Versions of Python differ in them, as `pathlib` and `pathlib._local`.
    """
    above, _, last = module.rpartition(".")
    if not above or not last.startswith("_"):
        return module
    found = getattr(sys.modules.get(above), getattr(value, "__name__", ""), None)
    return _public(above, value) if found is value else module


# ------------------------------------------------------------------ the values by class

Write: TypeAlias = "Callable[[Writer, Any, int], None]"
"""Takes a writer, a value and its depth; the name of the class is written already."""


def _as(make: Callable[[Any], bytes | str]) -> Write:
    return lambda writer, value, _depth: writer.put(make(value))


def _of(parts: Callable[[Any], Iterable[Any]]) -> Write:
    return lambda writer, value, depth: writer.sequence(parts(value), depth)


def _without_order(parts: Callable[[Any], Iterable[Any]]) -> Write:
    return lambda writer, value, depth: writer.collection(parts(value), depth)


def _attributes(*names: str) -> Write:
    return _of(lambda value: [getattr(value, name) for name in names])


def _int_bytes(value: int) -> bytes:
    return value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)


def _float_bytes(value: float) -> bytes:
    """Return the bytes of a number; there is one zero and one NaN."""
    return struct.pack("<d", value or 0.0) if value == value else b"nan"


def _decimal_text(value: Any) -> str:
    """Return the text of a number without the zeros at its end."""
    if value.is_nan() or not value:
        return "nan" if value.is_nan() else "0"
    digits = len(value.as_tuple().digits)
    return str(value.normalize(sys.modules["decimal"].Context(prec=max(digits, 1))))


def _instant(value: Any) -> list[Any]:
    """Return the parts of a time on a date; they are equal for one instant."""
    datetime: Any = sys.modules["datetime"]
    since = value.replace(tzinfo=None) - datetime.datetime.min
    since += datetime.timedelta(1)
    zone = value.utcoffset()
    return [zone is not None, since if zone is None else since - zone]


def _put_treedef(writer: Writer, value: Any, _depth: int) -> None:
    writer.structure(value._code, value._mode)


_TABLE: Final[dict[str, Write]] = {
    "builtins:NoneType": lambda writer, value, depth: None,
    "builtins:ellipsis": lambda writer, value, depth: None,
    "builtins:bool": _as(lambda value: b"%d" % value),
    "builtins:int": _as(_int_bytes),
    "builtins:float": _as(_float_bytes),
    "builtins:complex": _of(lambda value: (value.real, value.imag)),
    "builtins:str": _as(str.__str__),
    "builtins:bytes": _as(bytes),
    "builtins:bytearray": _as(bytes),
    "builtins:tuple": _of(tuple),
    "builtins:list": _of(list),
    "builtins:dict": _without_order(lambda value: value.items()),
    "builtins:mappingproxy": _without_order(lambda value: value.items()),
    "builtins:set": _without_order(set),
    "builtins:frozenset": _without_order(set),
    "collections:OrderedDict": _of(lambda value: value.items()),
    "collections:deque": _of(list),
    "datetime:datetime": _of(_instant),
    "datetime:date": _as(lambda value: value.isoformat()),
    "datetime:timedelta": _attributes("days", "seconds", "microseconds"),
    "datetime:timezone": _of(lambda value: [value.utcoffset(None)]),
    "decimal:Decimal": _as(_decimal_text),
    "fractions:Fraction": _attributes("numerator", "denominator"),
    "uuid:UUID": _attributes("int"),
    "pathlib:Path": _as(lambda value: value.as_posix()),
    "pathlib:PurePosixPath": _as(lambda value: value.as_posix()),
    "pathlib:PureWindowsPath": _as(lambda value: value.as_posix()),
    "leafwise.core.treedef:PyTreeDef": _put_treedef,
    "leafwise.core.builtins:Sealed": _attributes("func"),
}
"""What is written of a value, by the name of its class; no module is loaded for it."""


# ----------------------------------------------------------------------- other values


def _put_named(writer: Writer, value: Any, _depth: int) -> None:
    """Write the name of a class or function, by which any process finds it.

    Raises:
        Undecided: There is none.
    """
    module, name = getattr(value, "__module__", None), value.__qualname__
    if type(module) is not str or named_object(module, name) is not value:
        raise Undecided(
            "no module contains it under its name, for example because it was created "
            "inside a function"
        )
    writer.put(f"{_public(module, value)}:{name}")


def _put_array(writer: Writer, value: Any, depth: int) -> None:
    writer.put(" ".join(map(str, describe_array(value))))
    feed_elements(value, writer._hash.update, lambda one: writer.value(one, depth + 1))


_CASES: Final[tuple[tuple[Callable[[Any], Any], Write], ...]] = (
    (
        lambda v: isinstance(v, enum.Enum),
        _as(lambda v: str(v._value_ if isinstance(v, enum.Flag) else v._name_)),
    ),
    (
        lambda v: instance_of(v, "numpy", "dtype"),
        _as(lambda v: f"{describe_dtype(v)} {v.isnative}"),
    ),
    (lambda v: instance_of(v, "torch", "dtype", "device"), _as(str)),
    (is_array, _put_array),
    (is_partial, _of(partial_parts)),
    (lambda v: callable(v) and hasattr(v, "__qualname__"), _put_named),
    (lambda v: isinstance(v, Frozen), _of(lambda v: v._values())),
    (
        lambda v: hasattr(type(v), "_leafwise_compared"),
        _of(lambda v: [v._leafwise_compared()]),
    ),
)
"""What is written of the values that pass a test."""


def _find_writer(value: Any) -> Write:
    """Return the function for a value whose class is not in the table.

    Raises:
        Undecided: Nothing is known about its type.
    """
    cls = type(value)
    for knows, write in _CASES:
        if knows(value):
            return write
    for base in cls.__mro__[1:]:
        known = _TABLE.get(_name(base))
        if known is not None and cls.__eq__ is base.__eq__:
            return known
    names = field_names(cls)
    if names is not None:
        return _of(lambda value: [(name, getattr(value, name)) for name in names])
    raise Undecided(f"{cls.__qualname__} is not a type that has one")
