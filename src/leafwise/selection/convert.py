"""Declared types, and values that are made to fit them.

A class declares types for its attributes, and an annotation such as `list[Layer]` those
of what is inside. `Converter` looks these types up and converts what was read from a
text or a file. Overrides, merges and JSON Patches all convert with it.
"""

from __future__ import annotations

import collections
import enum
import math
import re
import typing
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Mapping,
    MutableMapping,
    MutableSequence,
    MutableSet,
    Sequence,
)
from collections.abc import (
    Set as AbstractSet,
)
from types import NoneType, UnionType
from typing import Any, Final, NamedTuple

from .._records import MISSING
from .._runtime import late_imports
from .._text import FAULTS, counted, nearest_names, safe_str, short_repr
from ..core.context import Context, plain_context
from ..core.keypath import KeyPath, read
from ..core.keys import DictKey, GetAttrKey, SequenceKey
from ..core.node import NodeType
from ..core.register import DataclassNodeType
from ..core.registry import View, remembering
from ..errors import EditError
from .patterns import place_text
from .select import few


class Declared(NamedTuple):
    """What is declared for a place in a tree.

    Attributes:
        type: An annotation; MISSING if there is none.
        converts: Whether the class converts values itself when it validates them, and
            so may be given a value of another type.
    """

    type: Any = MISSING
    converts: bool = False


UNDECLARED: Final = Declared()


class TypeMismatch(ValueError):  # noqa: N818  # it is no error of the user yet
    """A value is not of a type.

    Attributes:
        value: The value, which may be inside of the one that was to be converted.
        type: The type.
        reason: What is wrong, if that is more than the type.
        keys: The keys that lead to the value.
    """

    def __init__(
        self,
        value: Any,
        type: Any,
        reason: str = "",
        keys: tuple[Any, ...] = (),
    ) -> None:
        self.value = value
        self.type = type
        self.reason = reason
        self.keys = keys
        super().__init__(value)

    def __str__(self) -> str:
        return f"{short_repr(self.value)} {self.problem}"

    @property
    def problem(self) -> str:
        """What is wrong with the value."""
        text = f"is not of the declared type {type_name(self.type)}"
        return f"{text}: {self.reason}" if self.reason else text

    def inside(self, key: Any) -> TypeMismatch:
        """Return the same error about a value that has the value under a key."""
        keys = (key, *self.keys)
        return TypeMismatch(self.value, self.type, self.reason, keys)

    def at(self, place: KeyPath) -> EditError:
        """Return the error for a value that was to be at a place."""
        path = KeyPath((*place, *self.keys))
        text = f"{short_repr(self.value)} at {place_text(path)} {self.problem}"
        return EditError(text, path=path)


def type_name(hint: Any) -> str:
    """Return the text of a type for messages, without the names of modules."""
    if hint is NoneType:
        return "None"
    arguments = typing.get_args(hint)
    origin = typing.get_origin(hint)
    if origin in (typing.Union, UnionType):
        return " | ".join(type_name(argument) for argument in arguments)
    if isinstance(origin, type):
        inside = ", ".join(type_name(argument) for argument in arguments)
        return f"{origin.__name__}[{inside or '()'}]"
    if hint is ...:
        return "..."
    return hint.__name__ if isinstance(hint, type) else short_repr(hint)


def unknown_field(name: Any, names: Iterable[str]) -> str:
    """Return the part of a message that says which names there are instead of one."""
    nearest = nearest_names(safe_str(name), names)
    return f"has no field {short_repr(name)}; it has {few(nearest)}"


def wrong_length(length: int, declared: int) -> str:
    """Return the part of a message about a tuple that has not the declared length."""
    return f"it has {counted(length, 'item')}, not {declared}"


def text_of(item: Any) -> str | None:
    """Return the text of a value that was read from a file: that of a string."""
    return item if isinstance(item, str) else None


# ------------------------------------------------------------------------- annotations


_CONTAINERS: Final[Mapping[Any, type]] = {
    list: list,
    tuple: tuple,
    dict: dict,
    set: set,
    frozenset: frozenset,
    collections.deque: collections.deque,
    Iterable: list,
    Collection: list,
    Sequence: list,
    MutableSequence: list,
    Mapping: dict,
    MutableMapping: dict,
    AbstractSet: set,
    MutableSet: set,
}
"""The container that is made where one of these types is declared."""
_NUMBERS: Final = (bool, int, float, complex)
_KNOWN: Final = frozenset(
    {typing.Literal, NoneType, str, bytes, *_NUMBERS, *_CONTAINERS}
)
_TEXT_MODULES: Final = frozenset(
    {"datetime", "decimal", "fractions", "ipaddress", "pathlib", "uuid"}
)
"""Modules whose classes are made of one text."""


def members_of(hint: Any) -> tuple[Any, ...]:
    """Return the types of a union, or the only type."""
    if type(hint).__name__ == "TypeAliasType":  # new in Python 3.12
        return members_of(hint.__value__)
    origin = typing.get_origin(hint)
    arguments = typing.get_args(hint)
    if origin in (typing.Annotated, typing.Final):
        return members_of(arguments[0])
    if origin not in (typing.Union, UnionType):
        return (hint,)
    return tuple(member for one in arguments for member in members_of(one))


def origin_of(member: Any) -> Any:
    """Return the class of a type with arguments, or the type itself."""
    return typing.get_origin(member) or member


def class_of(value: Any) -> type:
    """Return the class of a value.

    A number from a file may be of a subclass that keeps its text, such as `1e3`. It
    counts as the int or float that it is.
    """
    cls = getattr(type(value), "plain", None)
    return cls if cls in (int, float) else type(value)


def _fixed_types(member: Any) -> tuple[Any, ...] | None:
    """Return the types of the items of a tuple whose length is declared."""
    arguments = typing.get_args(member)
    is_any = member in (tuple, typing.Tuple)  # noqa: UP006  # as some still write it
    is_any = is_any or arguments[-1:] == (...,)
    return None if is_any or origin_of(member) is not tuple else arguments


def fixed_length(hint: Any) -> int | None:
    """Return the length that is declared for a tuple, None if any will do."""
    lengths = [_fixed_types(member) for member in members_of(hint)]
    return len(lengths[0]) if len(lengths) == 1 and lengths[0] is not None else None


# ------------------------------------------------------ unregistered dataclasses


def _find_dataclass_node_type(cls: type) -> NodeType | None:
    if not hasattr(cls, "__dataclass_fields__"):
        return None
    with late_imports:  # it is slow to import, but loaded if there are any
        import dataclasses

    return DataclassNodeType(
        cls, tuple(field.name for field in dataclasses.fields(cls)), ()
    )


dataclass_node_type: Final = remembering(_find_dataclass_node_type)
"""Returns the node type in which all fields of a dataclass are children; else None."""


def opening_dataclasses(context: Context) -> Context:
    """Return a context in which dataclasses that are not registered are nodes.

    A config is often such a dataclass. What is written for it names its fields, so that
    it must be opened where other functions see a leaf.

    Args:
        context: A context without a predicate.
    """
    return plain_context(context.view.adopting(dataclass_node_type))


# -------------------------------------------------------------------------- conversion


class Converter:
    """Looks declared types up, and makes values fit them.

    Args:
        view: Which classes are nodes.

    Example:
        >>> import leafwise as lw
        >>> from leafwise.core.registry import view_of
        >>> from leafwise.selection.convert import Converter
        >>> converter = Converter(view_of(""))
        >>> converter.convert([1, "2"], None, tuple[float, ...])
        (1.0, 2.0)
        >>> converter.convert("fast", "fast", float | None)
        Traceback (most recent call last):
        ...
        leafwise.selection.convert.TypeMismatch: 'fast' is not of the declared type \
float | None
    """

    def __init__(self, view: View) -> None:
        self.view = view
        self._attribute_types: dict[type, dict[str, Declared]] = {}

    # ------------------------------------------------------------- what is declared

    def attribute_types(self, cls: Any) -> dict[str, Declared]:
        """Return what a class declares for its attributes."""
        types = self._attribute_types.get(cls)
        if types is not None:
            return types
        try:
            hints = typing.get_type_hints(cls)
        except (*FAULTS, SyntaxError):  # an annotation may be any expression
            hints = {}
        types = {name: Declared(hint) for name, hint in hints.items()}
        node_type = self.view.resolve(cls)
        if node_type is not None and node_type.attributes.declared is not None:
            for name, declared in node_type.attributes.declared(cls).items():
                types[name] = Declared(*declared)
        self._attribute_types[cls] = types
        return types

    def below(
        self,
        declared: Declared,
        cls: type,
        key: Any,
    ) -> Declared:
        """Return what is declared for a child.

        Args:
            declared: What is declared for its parent.
            cls: The class of its parent.
            key: The key of the child in its parent.
        """
        if isinstance(key, GetAttrKey):
            return self.attribute_types(cls).get(key.name, UNDECLARED)
        if declared.type is MISSING:
            return UNDECLARED
        for member in members_of(declared.type):
            item_type = self._item_type(member, key)
            if item_type is not MISSING:
                return Declared(item_type)
        return UNDECLARED

    def declared_at(
        self,
        tree: Any,
        path: KeyPath,
    ) -> Declared:
        """Return what is declared for a place, at which there may be nothing yet."""
        declared = UNDECLARED
        if not any(isinstance(key, GetAttrKey) for key in path):
            return declared  # dicts and lists declare nothing
        node = tree
        for depth, key in enumerate(path):
            if depth > 0:
                node = read(path[depth - 1], node, self.view)
            declared = self.below(declared, type(node), key)
        return declared

    def _item_type(
        self,
        member: Any,
        key: Any,
    ) -> Any:
        """Return the type of the item at a key of a container, MISSING if unknown."""
        cls = origin_of(member)
        arguments = typing.get_args(member)
        is_dict = _CONTAINERS.get(cls) is dict
        if isinstance(key, DictKey):
            if typing.is_typeddict(cls):
                return self.attribute_types(cls).get(key.key, UNDECLARED).type
            return arguments[1] if is_dict and arguments else MISSING
        if is_dict or cls not in _CONTAINERS or not isinstance(key, SequenceKey):
            return MISSING
        types = _fixed_types(member)
        if types is not None:
            return types[key.idx] if key.idx < len(types) else MISSING
        return arguments[0] if arguments else MISSING

    def is_readable(self, hint: Any) -> bool:
        """Return whether values can be checked against a type, and converted to it."""
        if hint is MISSING:
            return False
        return all(
            cls in _KNOWN
            or (isinstance(cls, type) and issubclass(cls, enum.Enum))
            or getattr(cls, "__module__", "").partition(".")[0] in _TEXT_MODULES
            or self.is_record(cls)
            for cls in map(origin_of, members_of(hint))
        )

    def is_record(self, cls: Any) -> bool:
        """Return whether instances of a class can be made of a dict of their fields."""
        if not isinstance(cls, type) or cls in _KNOWN or cls.__module__ == "builtins":
            return False
        has_fields = (
            typing.is_typeddict(cls)
            or hasattr(cls, "__dataclass_fields__")
            or hasattr(cls, "__attrs_attrs__")
            or hasattr(cls, "model_fields")
            or self.view.resolve(cls) is not None
        )
        return has_fields and bool(self.attribute_types(cls))

    # ------------------------------------------------------------------- conversion

    def convert(
        self,
        value: Any,
        text: str | None,
        hint: Any,
    ) -> Any:
        """Return a value as one of a type.

        A value that is of one of the types of a union stays what it is; else a number
        may become one of a wider type; else the text is parsed. Items of containers and
        fields of records are converted, too.

        Args:
            value: What was read without knowing the type.
            text: The text of the value, None if there is none.
            hint: The type.

        Raises:
            TypeMismatch: There is no such value.
        """
        try:
            return self._convert(value, text, hint)
        except RecursionError:
            reason = "it is nested too deeply"
            raise TypeMismatch(value, hint, reason) from None

    def convert_at(
        self,
        place: Any,
        value: Any,
        text: str | None,
        declared: Declared,
    ) -> Any:
        """Return a value as one of the type that is declared for a place.

        A value is returned as it is if its type is not known here, or if the class
        converts values itself and this one does not fit.

        Args:
            place: Anything with a `path`.
            value: What was read without knowing the type.
            text: The text of the value, None if there is none.
            declared: What is declared.

        Raises:
            EditError: There is no such value.
        """
        if not self.is_readable(declared.type):
            return value
        try:
            return self.convert(value, text, declared.type)
        except TypeMismatch as error:
            if declared.converts:
                return value
            raise error.at(place.path) from error

    def _convert(
        self,
        value: Any,
        text: str | None,
        hint: Any,
    ) -> Any:
        mismatch = TypeMismatch(value, hint)
        members = members_of(hint)
        for way in (self._keep, self._widen, self._parse):
            for member in members:
                try:
                    return way(value, text, member)
                except RecursionError:
                    raise
                except TypeMismatch as error:
                    is_deeper = len(error.keys) > len(mismatch.keys)
                    if is_deeper or (error.reason and not mismatch.reason):
                        mismatch = error
                except (*FAULTS, SyntaxError):  # a class may refuse a text as it likes
                    continue
        raise mismatch

    def _convert_item(
        self,
        item: Any,
        hint: Any,
        key: Any,
    ) -> Any:
        if not self.is_readable(hint):
            return item
        try:
            return self._convert(item, text_of(item), hint)
        except TypeMismatch as error:
            raise error.inside(key) from None

    def _keep(
        self,
        value: Any,
        _text: str | None,
        member: Any,
    ) -> Any:
        """Return a value that is of a type already, or has the items for it."""
        cls = origin_of(member)
        container = _CONTAINERS.get(cls)
        if cls is typing.Literal:
            choices = [(type(choice), choice) for choice in typing.get_args(member)]
            if (type(value), value) in choices:
                return value
        elif container is dict:
            if isinstance(value, Mapping):
                return self._dict(value, member)
        elif container is not None:
            if isinstance(value, list | tuple | set | frozenset | collections.deque):
                return self._sequence(value, member, container)
        elif class_of(value) is cls:
            return value
        elif isinstance(value, Mapping) and self.is_record(cls):
            return self._record(value, cls)
        elif cls not in _NUMBERS and isinstance(value, cls):
            return value
        raise TypeMismatch(value, member)

    def _dict(
        self,
        value: Mapping[Any, Any],
        member: Any,
    ) -> Any:
        arguments = typing.get_args(member)
        if not arguments:
            return value
        key_type, item_type = arguments
        items = {}
        for key, item in value.items():
            try:
                new_key = self.convert_key(key, key_type)
            except TypeMismatch as error:
                raise error.inside(DictKey(key)) from None
            items[new_key] = self._convert_item(item, item_type, DictKey(key))
        pairs = zip(items.items(), value.items(), strict=False)
        is_same = all(a is c and b is d for (a, b), (c, d) in pairs)
        return value if is_same and len(items) == len(value) else items

    def convert_key(
        self,
        key: Any,
        key_type: Any,
    ) -> Any:
        """Return the key of a dict as one of a type.

        An int becomes a string, as in `{1: a}`, and a string an int, as in JSON.

        Raises:
            TypeMismatch: It is of another type.
        """
        if type(key) is int and str in members_of(key_type):
            return str(key)
        if not self.is_readable(key_type):
            return key
        return self._convert(key, text_of(key), key_type)

    def key_type(self, hint: Any) -> Any:
        """Return the type that is declared for the keys of a dict, or MISSING."""
        for member in members_of(hint):
            arguments = typing.get_args(member)
            if _CONTAINERS.get(origin_of(member)) is dict and arguments:
                return arguments[0]
        return MISSING

    def _sequence(
        self,
        value: Collection[Any],
        member: Any,
        container: Any,
    ) -> Any:
        arguments = typing.get_args(member)
        types = _fixed_types(member)
        items: list[Any] = list(value)
        if types is not None:
            if len(types) != len(items):
                reason = wrong_length(len(items), len(types))
                raise TypeMismatch(value, member, reason)
            items = [
                self._convert_item(item, hint, SequenceKey(position))
                for position, (item, hint) in enumerate(zip(items, types, strict=True))
            ]
        elif arguments and self.is_readable(arguments[0]):
            items = [
                self._convert_item(item, arguments[0], SequenceKey(position))
                for position, item in enumerate(items)
            ]
        is_same = all(new is old for new, old in zip(items, value, strict=True))
        if is_same and isinstance(value, origin_of(member)):
            return value
        return container(items)

    def _record(
        self,
        value: Mapping[Any, Any],
        cls: Any,
    ) -> Any:
        """Return an instance of a class with these fields."""
        parameters = self._parameters(cls)
        types = self.attribute_types(cls)
        is_dict = typing.is_typeddict(cls)
        key_class: Any = DictKey if is_dict else GetAttrKey
        arguments = {}
        for name, item in value.items():
            parameter = parameters.get(name)
            if parameter is None:
                if not _takes_any_name(cls):
                    reason = f"it {unknown_field(name, parameters)}"
                    raise TypeMismatch(value, cls, reason)
                parameter = name
            hint = types.get(name, UNDECLARED).type
            arguments[parameter] = self._convert_item(item, hint, key_class(name))
        if is_dict:
            missing = sorted(cls.__required_keys__ - arguments.keys())
            if missing:
                raise TypeMismatch(value, cls, f"it has no key {missing[0]!r}")
            return arguments
        try:
            return cls(**arguments)
        except RecursionError:
            raise
        except FAULTS as error:
            raise TypeMismatch(value, cls, safe_str(error)) from error

    def _parameters(self, cls: Any) -> dict[str, str]:
        """Return the names of fields, and the parameters of the constructor for them.

        An attribute `_x` of attrs is the parameter `x`.
        """
        if hasattr(cls, "__attrs_attrs__"):
            return {one.name: one.alias for one in cls.__attrs_attrs__ if one.init}
        names: Iterable[str] = self.attribute_types(cls)
        if hasattr(cls, "__dataclass_fields__"):
            with late_imports:  # it is slow to import, but loaded if there are any
                import dataclasses

            names = [one.name for one in dataclasses.fields(cls) if one.init]
        elif hasattr(cls, "model_fields"):
            names = cls.model_fields
        return {name: name for name in names}

    def _widen(
        self,
        value: Any,
        _text: str | None,
        member: Any,
    ) -> Any:
        """Return a number as one of a type that has all such numbers."""
        cls = class_of(value)
        if cls not in _NARROWER.get(member, ()):
            raise TypeMismatch(value, member)
        return member(value) if type(value) is cls else value  # which keeps its text

    def _parse(
        self,
        value: Any,
        text: str | None,
        member: Any,
    ) -> Any:
        """Return the value of a type that a text stands for."""
        cls = origin_of(member)
        if isinstance(cls, type) and issubclass(cls, enum.Enum):
            return _parse_enum(safe_str(value) if text is None else text, cls)
        if text is None or cls in _CONTAINERS or self.is_record(cls):
            raise TypeMismatch(value, member)
        if cls is typing.Literal:
            choices = typing.get_args(member)
            return choices[choices.index(text)]
        if cls in _PARSERS:
            return _PARSERS[cls](text)
        if cls is NoneType or issubclass(cls, type):
            raise TypeMismatch(value, member)  # type("int") is no class of that name
        if hasattr(cls, "dtype"):  # a scalar of numpy
            number_class = type(cls().item())
            return cls(_PARSERS[number_class](text))
        return getattr(cls, "fromisoformat", cls)(text)


_NARROWER: Final[Mapping[Any, tuple[type, ...]]] = {
    float: (int,),
    complex: (int, float),
}


def _takes_any_name(cls: Any) -> bool:
    """Return whether a class is a model of pydantic that allows extra values."""
    config = getattr(cls, "model_config", None)
    return isinstance(config, dict) and config.get("extra") == "allow"


# ------------------------------------------------------------------------------ texts


_BOOLS: Final = {
    "true": True,
    "yes": True,
    "on": True,
    "1": True,
    "false": False,
    "no": False,
    "off": False,
    "0": False,
}


def _parse_bool(text: str) -> bool:
    return _BOOLS[text.lower()]


def _parse_int(text: str) -> int:
    return int(text, 0)  # refuses 0600, which is octal for some readers


def _parse_float(text: str) -> float:
    number = float(text)
    if re.match(r"[-+]?0[0-9_]", text):
        raise ValueError(f"{text} may be octal")
    if math.isinf(number) and text[-1].isdigit():
        raise ValueError(f"{text} is too large")
    return number


def _parse_enum(text: str, cls: type[enum.Enum]) -> enum.Enum:
    """Return the member of an enum with a name, or else with a value."""
    if text in cls.__members__:
        return cls[text]
    by_value = {str(member.value): member for member in cls}
    return by_value[text]


_PARSERS: Final[Mapping[Any, Callable[[str], Any]]] = {
    bool: _parse_bool,
    int: _parse_int,
    float: _parse_float,
    complex: complex,
    str: str,
}
