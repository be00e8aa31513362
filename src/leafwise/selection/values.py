"""Texts as values: `0.5`, `yes`, `[a, b]`, each of the type that it should have.

Owns how a text is read without knowing a type, as JSON, as a Python literal, as a list
or dict of words, or else as a string; and how it is cast: to the type of the value that
it replaces, or to a declared one. Which value and which declaration, it is told.
"""

from __future__ import annotations

import contextlib
import enum
import json
import re
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from types import NoneType, UnionType
from typing import Any, Final

from ..core.keypath import end_of_quote, parse_literal
from ..core.keys import DictKey, SequenceKey
from ..core.node import Rule
from ..errors import EditError, PathError
from ..safely import FAULTS, MISSING, class_name, clip
from .rebuild import data_keys, entries_of, item_key, remade


# ------------------------------------------------------- the value that is replaced


def as_replaced(text: str, old: Any, rule: Rule | None) -> Any:
    """Return a text as a value of the type of another one.

    A number replaces a number, whether it is an int or a float.

    Args:
        text: The text.
        old: The value.
        rule: Its rule; None for a leaf.

    Raises:
        Exception: It cannot be cast, as the type of a leaf says; `EditError` if a dict
            in it has equal keys.
    """
    if rule is None:
        return _leaf_like(old, text)
    return _node_like(old, rule, _literal(text), is_typed=False)


_NULL: Final = ("null", "None")
_FLAGS: Final = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}


def _flag(text: str) -> bool:
    if text.lower() not in _FLAGS:
        raise ValueError(text)
    return _FLAGS[text.lower()]


def number_type(value: Any) -> type:
    """Return the type of a value; of a number that knows its text, int or float."""
    plain: Any = getattr(type(value), "plain", None)
    return plain if plain in (int, float) else type(value)


def _integer(text: str) -> int:
    return int(text, 0)  # which refuses 0600: octal for some, not for others


_INFINITE: Final = float("inf")


def _number(text: str) -> int | float:
    try:
        return _integer(text)
    except ValueError:
        if not any(letter.isdigit() for letter in text):
            raise  # "inf" is no number of steps
        number = _float(text)
        if number in (_INFINITE, -_INFINITE):
            raise
        return number


def _float(text: str) -> float:
    if re.match(r"[-+]?0[0-9_]", text):
        raise ValueError(text)
    return float(text)


def _text(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return str(parse_literal(text))
    return text


_CASTS: Final[dict[type, Callable[[str], Any]]] = {
    bool: _flag,
    int: _integer,
    float: _float,
    complex: complex,
    str: _text,
}


def _leaf_like(old: Any, text: str) -> Any:
    """Return a text as a leaf of the type of another one.

    Raises:
        Exception: The text does not represent such a leaf, as its type says; or the
            type has no values written as text.
    """
    cls = number_type(old)
    if old is None:
        return guess(text)
    if text in _NULL:
        return None
    if cls is int:
        return _number(text)
    if cls in _CASTS:
        return _CASTS[cls](text)
    if isinstance(old, enum.Enum):
        return _member(cls, text)
    if cls in _SETS:
        return cls(_items(_literal(text)))
    if isinstance(old, type):  # of which one argument makes no other class
        raise TypeError(text)
    if hasattr(old, "dtype"):
        if getattr(old, "shape", ()) != ():
            raise TypeError(text)
        item = old.item()
        return cls(_integer(text) if type(item) is int else _leaf_like(item, text))
    if hasattr(cls, "fromisoformat"):
        return cls.fromisoformat(text)
    return cls(text)


_SETS: Final = (set, frozenset)


def _items(value: Any) -> Any:
    if not isinstance(value, list | tuple | set):
        raise TypeError(value)
    return value


def _member(cls: Any, text: str) -> Any:
    """Return the member of an enum with a name, or else a value."""
    if text in cls.__members__:
        return cls[text]
    for member in cls:
        if str(member.value) == text:
            return member
    raise ValueError(text)


def _node_like(old: Any, rule: Rule, new: Any, *, is_typed: bool) -> Any:
    """Return a value as a node of the type of another one.

    Args:
        old: The other one.
        rule: Its rule.
        new: The value.
        is_typed: Whether its children are known to have the right types.

    Raises:
        ValueError: The value is not such a container, or a child is of another type.
    """
    if new is None:
        return None
    key_type = item_key(old, rule)
    if key_type is DictKey and isinstance(new, Mapping):
        entries = entries_of(old, rule)
        sorts = {} if is_typed else {k: number_type(x) for k, x in entries.items()}
        items = {key: _of_type(sorts.get(key), child) for key, child in new.items()}
    elif key_type is SequenceKey and isinstance(new, list | tuple):
        entries = entries_of(old, rule)
        types = set() if is_typed else {*map(number_type, entries.values())}
        sort = types.pop() if len(types) == 1 else None
        items = dict(enumerate([_of_type(sort, item) for item in new]))
    else:
        raise ValueError(new)
    return remade(old, rule, entries, items, lambda: data_keys([old]))


def _of_type(sort: type | None, value: Any) -> Any:
    """Return a value if it is of a type, or one number as another.

    Raises:
        ValueError: It is of another type.
    """
    if sort is None or sort is NoneType or value is None or type(value) is sort:
        return value
    if sort is float and type(value) is int:
        return float(value)
    if sort is int and type(value) is float:
        return value
    raise ValueError(value)


# ---------------------------------------------------------------- a declared type


def as_declared(text: str, hint: Any, old: Any, rule: Rule | None) -> Any:
    """Return a text as a value of a declared type.

    Args:
        text: The text.
        hint: The annotation.
        old: The value that it replaces; a container keeps its type.
        rule: The rule of that; None for a leaf.

    Returns:
        The value; MISSING if the annotation does not say how to read a text.

    Raises:
        Exception: The text is not of that type.
    """
    members = _members(hint)
    if not all(map(_is_known, members)) or _is_finer(old, members):
        return MISSING
    if old is None:
        members.append(NoneType)
    if all(member in (str, NoneType) for member in members):
        is_null = NoneType in members and text in _NULL
        return None if is_null else _text(text)
    value = _fitted(guess(text), [m for m in members if m is not str], MISSING)
    if value is MISSING:
        value = _read_as(text, members)
    is_node = rule is not None and isinstance(value, list | tuple | dict)
    if rule is None or not is_node:
        return value
    try:
        return _node_like(old, rule, value, is_typed=True)
    except ValueError:  # a list where there was a dict
        return value


def _is_finer(old: Any, members: list[Any]) -> bool:
    """Return whether a value is of a type of its own among those of an annotation.

    Such as a scalar of numpy, or a member of an enum, where a float or str is declared.
    """
    if hasattr(old, "dtype"):
        return True
    scalars = tuple(filter(_is_scalar, members))
    return isinstance(old, scalars) and type(old) not in scalars


def described(hint: Any) -> str:
    """Return an annotation as messages show it.

    Example:
        >>> from leafwise.selection.values import described
        >>> described(int), described(float | None), described(list[int])
        ('int', 'float | None', 'list[int]')
    """
    return " | ".join(map(_name, _members(hint)))


def _name(member: Any) -> str:
    if typing.get_origin(member) is typing.Literal:
        return " | ".join(map(clip, typing.get_args(member)))
    if member is NoneType:
        return "None"
    is_class = isinstance(member, type) and not typing.get_args(member)
    return class_name(member, qualified=False) if is_class else clip(member)


_QUALIFIERS: Final = (typing.Annotated, typing.Final, typing.ClassVar)


def _members(hint: Any) -> list[Any]:
    """Return the alternatives of an annotation, without what qualifies them."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, UnionType):
        return [member for one in arguments for member in _members(one)]
    if origin in _QUALIFIERS:
        return _members(arguments[0])
    for inside in ("__supertype__", "__value__"):  # of a NewType, of a type alias
        if hasattr(hint, inside) and not isinstance(hint, type):
            return _members(getattr(hint, inside))
    return [NoneType if hint is None else hint]


_TEXTUAL: Final = frozenset(
    {"datetime", "decimal", "fractions", "ipaddress", "pathlib", "uuid"}
)
"""Modules whose classes have values that are written as text."""


def _is_scalar(member: Any) -> bool:
    return isinstance(member, type) and member in _CASTS  # others may have no hash


def _is_table(cls: Any) -> bool:
    """Return whether a class is a typed dict, of `typing` or of `typing_extensions`."""
    return isinstance(cls, type) and issubclass(cls, dict) and hasattr(cls, "__total__")


def _is_known(member: Any) -> bool:
    """Return whether an annotation says how to read a text."""
    if typing.get_origin(member) is typing.Literal or member is NoneType:
        return True
    cls = typing.get_origin(member) or member
    if not isinstance(cls, type):
        return False
    if cls in _CASTS or issubclass(cls, enum.Enum) or _is_table(cls):
        return True
    return cls.__module__.partition(".")[0] in _TEXTUAL or _container(cls) is not None


def _container(cls: Any) -> type | None:
    """Return the built-in container that stands for a class; None for other classes."""
    if cls in (list, tuple, dict, set, frozenset):
        return cls  # type: ignore[no-any-return]
    if getattr(cls, "__module__", "") != "collections.abc":
        return None
    known = ((Mapping, dict), (Sequence, list), (Set, set), (Iterable, list))
    return next((made for sort, made in known if issubclass(cls, sort)), None)


def _fitted(value: Any, members: list[Any], default: Any) -> Any:
    """Return a value as one of some types, those first that it is of."""
    for is_exact in (True, False):
        for member in members:
            try:
                return _fit(value, member, is_exact=is_exact)
            except ValueError:
                continue
    return default


def _fit(value: Any, member: Any, *, is_exact: bool) -> Any:
    """Return a value that was read as one of a type.

    Raises:
        ValueError: It is of another type.
    """
    origin = typing.get_origin(member)
    if origin is typing.Literal:
        for known in typing.get_args(member):
            if type(known) is type(value) and known == value:
                return value
        raise ValueError(value)
    cls = origin or member
    if type(value) is cls and cls in (*_CASTS, NoneType):
        return value
    wider = (int,) if cls is float else (int, float) if cls is complex else ()
    if not is_exact and type(value) in wider:
        return cls(value)
    made = dict if _is_table(cls) else _container(cls)
    if made is dict and isinstance(value, dict):
        return {key: _item(x, child_hint(member, key)) for key, x in value.items()}
    if made in (None, dict) or not isinstance(value, list | tuple | set):
        raise ValueError(value)
    items = [_item(x, child_hint(member, place)) for place, x in enumerate(value)]
    return made(items)


def _item(value: Any, hint: Any) -> Any:
    """Return an item of a container as its annotation says.

    Raises:
        ValueError: It is of another type.
    """
    members = _members(hint)
    if not all(map(_is_known, members)):
        return value
    found = _fitted(value, members, MISSING)
    if found is MISSING and isinstance(value, str):
        return _read_as(value, members)
    if found is MISSING:
        raise ValueError(value)
    return found


def _read_as(text: str, members: list[Any]) -> Any:
    """Return a text as the first type that takes it, a string at last.

    Raises:
        ValueError: None does.
    """
    for member in sorted(members, key=lambda member: member is str):
        try:
            if _is_scalar(member):
                return _CASTS[member](text)
            if isinstance(member, type) and issubclass(member, enum.Enum):
                return _member(member, text)
            if getattr(member, "__module__", "").partition(".")[0] in _TEXTUAL:
                return getattr(member, "fromisoformat", member)(text)
            if typing.get_origin(member) is typing.Literal:
                return _fit(_text(text), member, is_exact=True)
        except FAULTS:  # whatever a class says of a text
            continue
    raise ValueError(text)


def hints_of(cls: Any) -> dict[str, Any]:
    """Return the annotations of a class, as far as they can be read.

    Args:
        cls: The class; some of its annotations may have names that are not there.
    """
    try:
        return typing.get_type_hints(cls)
    except (*FAULTS, SyntaxError):  # whatever reading them as code raises
        found: dict[str, Any] = {}
        for base in reversed(cls.__mro__):
            with contextlib.suppress(*FAULTS, SyntaxError):  # since 3.14 they are code
                found.update(base.__annotations__)
        return {name: hint for name, hint in found.items() if type(hint) is not str}


def child_hint(hint: Any, key: Any) -> Any:
    """Return what the annotation of a container says about an item.

    Args:
        hint: The annotation.
        key: The key or position of the item.
    """
    for member in _members(hint):
        cls, arguments = typing.get_origin(member) or member, typing.get_args(member)
        if _is_table(cls):
            found = hints_of(cls).get(key, Any)
        elif not arguments or not isinstance(cls, type):
            continue
        elif issubclass(cls, Mapping) and len(arguments) == 2:
            found = arguments[1]
        elif cls is tuple and arguments[-1] is not Ellipsis:
            found = arguments[key] if key in range(len(arguments)) else Any
        elif issubclass(cls, Iterable):
            found = arguments[0]
        else:
            continue
        return found
    return Any


# ------------------------------------------------------------------ without a type


def _literal(text: str) -> Any:
    """Read a value as JSON, as a Python literal, or as a list or dict of words.

    Raises:
        ValueError: It is none of these.
        EditError: A dict in it has equal keys.
    """
    for read in (_json, _python_literal):
        try:
            return read(text)
        except EditError:
            raise
        except (ValueError, RecursionError):
            continue
    return _words(text)


def _json(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_dict_of)


def _python_literal(text: str) -> Any:
    from ..core.literals import read_python  # and with it ast

    try:
        return read_python(text, _dict_of)
    except (SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise ValueError(text) from error


def _dict_of(items: list[tuple[Any, Any]]) -> dict[Any, Any]:
    """Return items as a dict.

    Raises:
        EditError: Two keys are equal.
    """
    known: dict[Any, Any] = {}
    for key, _ in items:
        if key in known:
            pair = f"{clip(known[key])} and {clip(key)}"
            raise EditError(f"the value has a dict with equal keys, {pair}")
        known[key] = key
    return dict(items)


def guess(text: str) -> Any:
    """Read a value as JSON, as a Python literal, as `[a, b]` or `{a: b}`, or a string.

    Raises:
        EditError: It has a dict with equal keys.

    Example:
        >>> from leafwise.selection.values import guess
        >>> guess("1e-3"), guess("[a, {x: 2, y: 'b, c'}]"), guess("a b")
        (0.001, ['a', {'x': 2, 'y': 'b, c'}], 'a b')
    """
    try:
        return _literal(text)
    except EditError:
        raise
    except ValueError:
        return text


_KEY: Final = re.compile(r"(?:\\.|\$\{[^}]*\}|[^\\,:\[\]{}()])+", re.DOTALL)
_VALUE: Final = re.compile(r"(?:\\.|\$\{[^}]*\}|[^\\,\[\]{}()])+", re.DOTALL)
_ESCAPED: Final = re.compile(r"\\([\\()\[\]{}:=, \t'\"])")
_CLOSING: Final = {"[": "]", "{": "}"}


def _words(text: str) -> Any:
    """Read a list or dict, of any depth, in which strings need no quotes.

    They are written as on the command line of Hydra: `[a, b c, {x: 1, y: null}]`. A
    backslash makes the next bracket, comma, colon, quote or space a part of a word.

    Raises:
        ValueError: It is not such a text.
        EditError: A dict has equal keys.
    """
    wrong = ValueError(text)
    open_: list[tuple[str, list[Any]]] = []  # the bracket that closes it, and its items
    letter, place = _letter(text, 0)
    while True:
        closing, items = open_[-1] if open_ else ("none", [])
        if letter == closing:  # empty, or after the last comma
            open_.pop()
            value = _dict_of(items) if closing == "}" else items
            letter, place = _letter(text, place + 1)
        else:
            if closing == "}":
                key, place = _word(text, place, _KEY)
                letter, place = _letter(text, place)
                if letter != ":":
                    raise wrong
                items.append(key)
                letter, place = _letter(text, place + 1)
            if letter in _CLOSING:
                open_.append((_CLOSING[letter], []))
                letter, place = _letter(text, place + 1)
                continue
            if not open_:
                raise wrong
            value, place = _word(text, place, _VALUE)
            letter, place = _letter(text, place)
        while open_:
            closing, items = open_[-1]
            items.append((items.pop(), value) if closing == "}" else value)
            if letter not in (",", closing):
                raise wrong
            is_closed = letter == closing
            letter, place = _letter(text, place + 1)
            if not is_closed:
                break
            open_.pop()
            value = _dict_of(items) if closing == "}" else items
        else:
            if letter:
                raise wrong
            return value


def _letter(text: str, place: int) -> tuple[str, int]:
    """Return the next letter that is no space, "" at the end, and its place."""
    while text[place : place + 1].isspace():
        place += 1
    return text[place : place + 1], place


def _word(text: str, start: int, pattern: re.Pattern[str]) -> tuple[Any, int]:
    """Return the string or number that begins at a place, and where it ends."""
    letter, start = _letter(text, start)
    if letter in ("'", '"'):
        end = end_of_quote(text, start)
        try:
            return parse_literal(text[start : max(end, start)]), end
        except PathError:
            raise ValueError(text) from None
    found = pattern.match(text, start)
    word = "" if found is None else found.group()
    bare, end = word.strip(), start + len(word)
    if not bare:
        raise ValueError(text)
    if "\\" not in bare:
        return _scalar(bare), end
    ends_in_space = bare.endswith("\\") and len(bare) < len(word)
    return _ESCAPED.sub(r"\1", f"{bare} " if ends_in_space else bare), end


_CONSTANTS: Final = frozenset(
    ["true", "false", "null", "NaN", "Infinity", "True", "False", "None"]
)


def _scalar(word: str) -> Any:
    if word.isidentifier() and word not in _CONSTANTS:
        return word  # as most are
    for read in (_json, _python_literal):
        try:
            return read(word)
        except ValueError:
            continue
    return word
