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
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Final

from ..core.keypath import KeyPath, end_of_quote, parse_literal, read
from ..core.keys import DictKey, GetAttrKey, SequenceKey
from ..core.node import Rule
from ..errors import EditError, PathError
from ..ops.context import Context
from ..safely import FAULTS, MISSING, clip
from .rebuild import data_keys, entries_of, item_key, remade


# --------------------------------------------------------------- texts of one type

_NULL: Final = ("null", "None")
_FLAGS: Final = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}
_WIDER: Final[dict[Any, tuple[type, ...]]] = {float: (int,), complex: (int, float)}
"""The types whose values count as values of another one."""
_TEXTUAL: Final = frozenset(
    {"datetime", "decimal", "fractions", "ipaddress", "pathlib", "uuid"}
)
"""Modules whose classes have values that are written as text."""


def _integer(text: str) -> int:
    return int(text, 0)  # which refuses 0600: octal for some, not for others


def _float(text: str) -> float:
    if re.match(r"[-+]?0[0-9_]", text):
        raise ValueError(text)
    return float(text)


def _text(text: str) -> str:
    is_quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "'\""
    return str(parse_literal(text)) if is_quoted else text


def _set(text: str) -> Iterable[Any]:
    value = guess(text)
    if not isinstance(value, _LISTS):
        raise TypeError(value)
    return value


_READERS: Final[dict[Any, Callable[[str], Any]]] = {
    bool: lambda text: _FLAGS[text.lower()],
    int: _integer,
    float: _float,
    complex: complex,
    str: _text,
    set: lambda text: {*_set(text)},
    frozenset: lambda text: frozenset(_set(text)),
}
_SCALARS: Final = frozenset({bool, int, float, complex, str})
_LISTS: Final = (list, tuple, set)


def _read(cls: Any, text: str) -> Any:
    """Return a text as a value of a class.

    Raises:
        Exception: The text does not represent such a value, as the class says.
    """
    if cls in _READERS:
        return _READERS[cls](text)
    if not issubclass(cls, enum.Enum):
        return getattr(cls, "fromisoformat", cls)(text)
    for member in cls:
        if text == str(member.value) and text not in cls.__members__:
            return member
    return cls[text]


def number_type(value: Any) -> type:
    """Return the type of a value; of a number that knows its text, int or float."""
    plain: Any = getattr(type(value), "plain", None)
    return plain if plain in (int, float) else type(value)


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
    if rule is not None:
        return _node_like(old, rule, guess(text), is_typed=False)
    cls = number_type(old)
    if old is None:
        return guess(text)
    if text in _NULL:
        return None
    if isinstance(old, type) or getattr(old, "shape", ()) != ():
        raise TypeError(text)  # of which one argument makes no other one
    if hasattr(old, "dtype"):
        item = type(old.item())
        return cls(_integer(text) if item is int else _read(item, text))
    if cls is int:
        with contextlib.suppress(ValueError):
            return _integer(text)
        number = _float(text)
        if number - number != 0:
            raise ValueError(text)  # infinity and NaN are no number of steps
        return number
    return _read(cls, text)


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
    if not (key_type is DictKey and isinstance(new, Mapping)) and not (
        key_type is SequenceKey and isinstance(new, list | tuple)
    ):
        raise ValueError(new)
    entries = entries_of(old, rule)
    types = {key: number_type(x) for key, x in entries.items()}
    if key_type is SequenceKey:  # items of a list have one type, or any
        kinds = {*types.values()}
        types = dict.fromkeys(range(len(new)), *kinds) if len(kinds) == 1 else {}
    pairs = new.items() if isinstance(new, Mapping) else enumerate(new)
    items = {
        key: value if is_typed else _of_type(types.get(key), value)
        for key, value in pairs
    }
    return remade(old, rule, entries, items, lambda: data_keys([old]))


def _of_type(cls: type | None, value: Any) -> Any:
    """Return a value if it is of a type, or one number as another.

    Raises:
        ValueError: It is of another type.
    """
    if cls in (None, NoneType, type(value)) or value is None:
        return value
    if cls is float and type(value) is int:
        return float(value)
    if cls is int and type(value) is float:
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
    scalars = tuple(m for m in members if isinstance(m, type) and m in _SCALARS)
    is_finer = isinstance(old, scalars) and type(old) not in scalars
    if not all(map(_is_known, members)) or is_finer or hasattr(old, "dtype"):
        return MISSING  # a scalar of numpy, or a member of an enum, keeps its type
    if old is None:
        members.append(NoneType)
    if {str, NoneType}.issuperset(members):
        return None if NoneType in members and text in _NULL else _text(text)
    value = _fitted(guess(text), text, members)
    if rule is not None and isinstance(value, list | tuple | dict):
        with contextlib.suppress(ValueError):  # a list where there was a dict
            return _node_like(old, rule, value, is_typed=True)
    return value


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


_CONTAINERS: Final[dict[Any, Any]] = {
    **{cls: cls for cls in (list, tuple, dict, set, frozenset)},
    Sequence: list,
    Mapping: dict,
}


def _container(member: Any) -> Any:
    """Return the built-in container that a type stands for; None for other types."""
    cls = typing.get_origin(member) or member
    return _CONTAINERS.get(cls) if isinstance(cls, type) else None


def _is_known(member: Any) -> bool:
    """Return whether an annotation says how to read a text."""
    cls = typing.get_origin(member) or member
    if cls is typing.Literal or cls is NoneType or _container(member) is not None:
        return True
    return isinstance(cls, type) and (
        cls in _SCALARS
        or issubclass(cls, enum.Enum)
        or cls.__module__.partition(".")[0] in _TEXTUAL
    )


def _fitted(value: Any, text: str | None, members: list[Any]) -> Any:
    """Return a value as one of some types, those first that it is of.

    Args:
        value: The value.
        text: The text that it was read from; None for an item of a container.
        members: The types.

    Raises:
        ValueError: It is of no such type.
    """
    if not all(map(_is_known, members)):
        return value
    for member in members:
        if member is not str or text is None:
            with contextlib.suppress(*FAULTS):  # it is not of this type
                return _exactly(value, member)
    for member in members:
        if type(value) in _WIDER.get(member, ()):
            return member(value)
    for member in members:
        with contextlib.suppress(*FAULTS):
            return _from_text(value if text is None else text, member)
    raise ValueError(value)


def _exactly(value: Any, member: Any) -> Any:
    """Return a value that is of a type, its items as those of the type."""
    cls = typing.get_origin(member) or member
    if cls is typing.Literal:
        known = [(type(x), x) for x in typing.get_args(member)]
        if (type(value), value) in known:
            return value
    made = _container(member)
    if made is not None and isinstance(value, dict if made is dict else _LISTS):
        pairs: Any = value.items() if isinstance(value, dict) else enumerate(value)
        items = {
            key: _fitted(x, None, _members(child_hint(member, key))) for key, x in pairs
        }
        return items if made is dict else made(items.values())
    if type(value) is not cls or made is not None:
        raise ValueError(value)
    return value


def _from_text(text: Any, member: Any) -> Any:
    if not isinstance(text, str) or _container(member) is not None:
        raise TypeError(text)
    if typing.get_origin(member) is typing.Literal:
        return _exactly(_text(text), member)
    return _read(member, text)


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
        if not arguments or not isinstance(cls, type):
            continue
        if issubclass(cls, Mapping) and len(arguments) == 2:
            return arguments[1]
        if cls is tuple and arguments[-1] is not Ellipsis:
            return arguments[key] if key in range(len(arguments)) else Any
        if issubclass(cls, Iterable):
            return arguments[0]
    return Any


def declared_at(tree: Any, path: KeyPath, context: Context) -> tuple[Any, bool]:
    """Return the annotation for a place in a tree, `Any` if there is none.

    Args:
        tree: The tree.
        path: The place.
        context: What is a leaf.

    Returns:
        The annotation, and whether the class of the parent converts its arguments.
    """
    node, hint, converts = tree, Any, False
    for key in path:
        if isinstance(key, GetAttrKey):
            cls, rule = type(node), context.view.resolve(type(node))
            own = {} if rule is None or rule.declared is None else rule.declared(cls)
            declared = hints_of(cls).get(key.name, Any), False
            hint, converts = own.get(key.name, declared)
        else:
            hint, converts = child_hint(hint, key.entry), False
        node = read(key, node, context.view)
    return hint, converts


# ------------------------------------------------------------------ without a type


def guess(text: str) -> Any:
    """Read a value as JSON, as a Python literal, as `[a, b]` or `{a: b}`, or a string.

    Raises:
        EditError: It has a dict with equal keys.

    Example:
        >>> from leafwise.selection.values import guess
        >>> guess("1e-3"), guess("[a, {x: 2, y: 'b, c'}]"), guess("a b")
        (0.001, ['a', {'x': 2, 'y': 'b, c'}], 'a b')
    """
    for reader in (_json, _python_literal, _words):
        try:
            return reader(text)
        except EditError:
            raise
        except (ValueError, RecursionError):
            continue
    return text


def _json(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_dict_of)


def _python_literal(text: str) -> Any:
    from ..core.literals import read_python  # and with it ast

    try:
        return read_python(text, _dict_of)
    except (SyntaxError, TypeError, MemoryError) as error:
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


_KEY: Final = re.compile(r"(?:\\.|\$\{[^}]*\}|[^\\,:\[\]{}()])+", re.DOTALL)
_VALUE: Final = re.compile(r"(?:\\.|\$\{[^}]*\}|[^\\,\[\]{}()])+", re.DOTALL)
_ESCAPED: Final = re.compile(r"\\([\\()\[\]{}:=, \t'\"])")


def _words(text: str) -> Any:
    """Read a list or dict in which strings need no quotes.

    They are written as on the command line of Hydra: `[a, b c, {x: 1, y: null}]`. A
    backslash makes the next bracket, comma, colon, quote or space a part of a word.

    Raises:
        ValueError: It is not such a text.
        EditError: A dict has equal keys.
    """
    value, place = _container_at(text, 0)
    if text[place:].strip():
        raise ValueError(text)
    return value


def _container_at(text: str, place: int) -> tuple[Any, int]:
    """Return the list or dict that begins at a place, and where it ends."""
    opening, place = _letter(text, place)
    if opening not in ("[", "{"):
        raise ValueError(text)
    closing, items = "]" if opening == "[" else "}", []
    letter, place = _letter(text, place + 1)
    while letter != closing:
        key: Any = None
        if closing == "}":
            key, place = _word(text, place, _KEY)
            letter, place = _letter(text, place)
            if letter != ":":
                raise ValueError(text)
            letter, place = _letter(text, place + 1)
        is_inside = letter in ("[", "{")
        value, place = (
            _container_at(text, place) if is_inside else _word(text, place, _VALUE)
        )
        items.append((key, value))
        letter, place = _letter(text, place)
        if letter == ",":
            letter, place = _letter(text, place + 1)
        elif letter != closing:
            raise ValueError(text)
    made = _dict_of(items) if closing == "}" else [value for _, value in items]
    return made, place + 1


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
    if "\\" in bare:
        ends_in_space = bare.endswith("\\") and len(bare) < len(word)
        return _ESCAPED.sub(r"\1", f"{bare} " if ends_in_space else bare), end
    for reader in (_json, _python_literal):
        with contextlib.suppress(ValueError):
            return reader(bare), end
    return bare, end
