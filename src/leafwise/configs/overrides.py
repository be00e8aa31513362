"""Changes written as text: `optim.lr=3e-4`, `+seed=7`, `~optim`.

Owns how such a text is parsed; how its value is read without knowing a type, as JSON,
as a Python literal, as a list or dict of words, or else as a string; and how it is
cast: to a declared type, or to the type of the value that it replaces. A container that
is replaced stands for a type, too: that of containers with such items.
"""

from __future__ import annotations

import contextlib
import enum
import json
import math
import re
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from .._runtime import late_imports
from .._text import FAULTS, short_repr
from ..core.context import Context, context_of
from ..core.keypath import parse_literal, read
from ..core.keys import DictKey, GetAttrKey, SequenceKey
from ..core.node import Rule
from ..core.registry import GLOBAL
from ..errors import EditError, PathError
from ..selection import edit, select
from ..selection.edit import Set
from ..selection.select import END, QUOTED, Place


if TYPE_CHECKING:
    from .._typing import Tree


# ---------------------------------------------------------------------------- overrides


def override(
    tree: Tree, overrides: Iterable[str] | str, *, namespace: str = GLOBAL
) -> Tree:
    """Apply changes written as text, such as `optim.lr=0.1`, and return the new tree.

    `optim.lr=3e-4` replaces a value, and casts the new value to the type of the old
    one. `+optim.wd=0.1` adds a value, `++optim.wd=0.1` adds or replaces it, also by a
    value of another type, and `~optim.wd` deletes it. You can write any pattern in
    place of a path. Overrides are applied in order. Then each changed object whose
    class validates is validated once, see :ref:`objects that validate <validated>`.

    If the class of an object or the annotation of a container declares a type, the
    value is cast to that type. Elsewhere a number replaces a number, whether it is an
    int or a float, and `null` is None, whatever the old value is. A string needs no
    quotes. Lists and dicts are written as in JSON or Python, or without quotes:
    `[a, b]`, `{x: 2}`. An added value is parsed in the same ways; anything else is a
    string. A number that is added beside strings alone is a string, too, unless it is
    added by `++`.

    Args:
        tree: Any tree; None counts as a leaf.
        overrides: A list of strings, or a single string.
        namespace: The namespace in which classes are looked up.

    Returns:
        The changed tree, which shares unchanged subtrees with the old one.

    Raises:
        EditError: A value cannot be cast, a string is not an override, or a value to
            add exists already.
        PathError: A pattern has no match or is malformed.

    Example:
        >>> import leafwise as lw
        >>> config = {"optim": {"lr": 0.1, "nesterov": False}, "widths": [64, 32]}
        >>> lw.configs.override(config,
        ...     ["optim.lr=1", "optim.nesterov=yes", "widths[0]=128"])
        {'optim': {'lr': 1.0, 'nesterov': True}, 'widths': [128, 32]}
        >>> lw.configs.override(config, ["~optim", "+seed=7"])
        {'widths': [64, 32], 'seed': 7}
        >>> lw.configs.override(config, "widths[0]=wide")
        Traceback (most recent call last):
        ...
        leafwise.errors.EditError: override 'widths[0]=wide': 'wide' is not an int; \
the value at ['widths'][0] is 64
    """
    texts = [overrides] if isinstance(overrides, str) else overrides
    context = context_of(none_is_leaf=True, namespace=namespace)
    return Overrides(guess, context).applied(tree, texts)


_OVERRIDE = re.compile(rf"((?:[^=\[]|\[(?:[^\]'\"]|{QUOTED})*\])*)=(.*)", re.DOTALL)
"""A path and a value, on both sides of the first equal sign outside of brackets."""


class Overrides(NamedTuple):
    """How changes that are written as text are applied.

    Attributes:
        reader: What makes a value of a text without knowing a type, as `guess` does.
        context: What is a leaf.
    """

    reader: Callable[[str], Any]
    context: Context

    def applied(self, tree: Tree, texts: Iterable[str]) -> Tree:
        """Return a tree with changes; see `override`."""
        record = edit.Edited()
        for text in texts:
            try:
                edits = self._edits(tree, text)
                tree = edit.rebuild(tree, edits, self.context, record)
            except (EditError, PathError) as error:
                made = type(error)(f"override {short_repr(text)}: {error}")
                made.path = error.path
                raise made from None
        record.validate()
        return tree

    def _edits(self, tree: Any, text: str) -> edit.Edits:
        """Return the edits that an override stands for."""
        context = self.context
        if text.startswith("~"):
            chosen = select.read_selector(text[1:], context.view)
            there = select.require(chosen, tree, context)
            return [(place.path, edit.Delete()) for place in there]
        found = _OVERRIDE.fullmatch(text)
        if found is None:
            raise EditError("expected path=value, +path=value, ++path=value or ~path")
        where, value = found[1].strip(), found[2].strip()
        forces = where.startswith("++")
        adds = not forces and (where.startswith("+") or where.endswith("[+]"))
        where = where.removeprefix("++" if forces else "+")
        chosen = select.read_selector(where, context.view)
        if there := [] if adds else chosen.targets(tree, context):
            return [(x.path, Set(self._cast(value, tree, x, forces))) for x in there]
        if adds or forces:
            return self._added(tree, where, value, forces)
        error = select.no_match(chosen, Place((), tree), context)
        try:
            edit.rebuild(tree, self._added(tree, where, value, False), context)
        except (EditError, PathError):
            raise error from None
        raise PathError(f"{error}; use +{text} to add it")

    def _added(self, tree: Any, where: str, text: str, forces: bool) -> edit.Edits:
        """Return the edits that insert a value, and dicts for the missing parents.

        None is an empty dict. A number stays a text beside texts alone, unless `forces`
        is set.
        """
        steps, value = select.parse(where), self.reader(text)
        for count in reversed(range(len(steps))):
            holders = select.find(tree, steps[:count], self.context)
            if not holders:
                continue
            is_number = _class_of(value) in (int, float)
            if is_number and not forces and count + 1 == len(steps):
                beside = select.find(tree, (*steps[:count], select.ANY), self.context)
                if beside and all(isinstance(x.value, str) for x in beside):
                    value = text
            are_none = all(holder.value is None for holder in holders)
            for step in reversed(steps[count + (not are_none) :]):
                if step.key is not END and step.name is None:
                    what = f"{short_repr(step.text)} has no match"
                    raise EditError(f"{what} and is not a name for a new key")
                value = [value] if step.key is END else {step.name: value}
            if are_none:
                return [(holder.path, Set(value)) for holder in holders]
            return edit.insertions(holders, steps[count], value, self.context)
        raise EditError("the root already exists; name what to add: +name=value")

    def _cast(self, text: str, tree: Any, place: Place, forces: bool) -> Any:
        """Return a text as a value of the declared type, or of that which it replaces.

        Args:
            text: The text.
            tree: The tree.
            place: The place in it of what is replaced.
            forces: Whether a text that cannot be cast is read as a value of its own
                type.

        Raises:
            EditError: It cannot be cast.
        """
        context, old, value = self.context, place.value, self.reader(text)
        rule = None if type(old) in context.view.leaf_types else context.rule_of(old)
        hint, converts = Any, False
        if any(isinstance(key, GetAttrKey) for key in place.path):
            hint, converts = _declared(tree, place.path, context)
        types: Any = () if hint is Any else _members(hint)
        is_declared = bool(types) and _say_how(types) and not hasattr(old, "dtype")
        if not is_declared and rule is None:
            cls, new = _class_of(old), _class_of(value)
            if NoneType in (cls, new) or cls is new or (cls, new) == (int, float):
                return value
        try:
            if not is_declared:
                types = (*_members(_like(old, rule)), NoneType)
            made = _fitted(value, text, (*types, NoneType) if old is None else types)
        except (*FAULTS, SyntaxError) as error:  # what the type of a leaf raises
            if forces or converts:
                return value
            if is_declared:
                is_class, cls = isinstance(hint, type), types[0]
                name = cls.__name__ if is_class else short_repr(hint)
                what = f"is not of the declared type {name}"
            elif rule is None:
                what = f"is not {select.with_article(types[0].__qualname__)}"
                if types[0] is int and re.fullmatch("0[0-7]+", text):
                    what += f" (write 0o{text[1:]} for an octal number)"
            else:
                what = f"cannot replace the {type(old).__name__}"
            there = f"the value at {place.path.where()} is {short_repr(old)}"
            raise EditError(
                f"{short_repr(text)} {what}; {there}", path=place.path
            ) from error
        key_type = None if rule is None else edit.item_key(old, rule)
        if rule is None or not isinstance(made, _ITEMS_OF.get(key_type, ())):
            return made
        pairs = made.items() if key_type is DictKey else enumerate(made)
        return edit.remade(old, rule, edit.entries_of(old, rule), dict(pairs))


_ITEMS_OF: Final[dict[Any, Any]] = {DictKey: dict, SequenceKey: (list, tuple)}


# --------------------------------------------------------------- texts of one type


_FLAGS: Final = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}
_WIDER: Final[dict[Any, tuple[type, ...]]] = {float: (int,), complex: (int, float)}
"""The types whose values count as values of another one."""


def _float(text: str) -> float:
    number = float(text)
    if re.match(r"[-+]?0[0-9_]", text) or (math.isinf(number) and text[-1].isdigit()):
        raise ValueError(text)  # which has too many digits, or might be octal
    return number


_READERS: Final[dict[Any, Callable[[str], Any]]] = {
    bool: lambda text: _FLAGS[text.lower()],
    int: lambda text: int(text, 0),  # which refuses 0600: octal for some
    float: _float,
    complex: complex,
    # in quotes, what is between them
    str: lambda text: str(value) if type(value := guess(text)) is str else text,
}


def _read(cls: Any, text: str) -> Any:
    """Return a text as a value of a class.

    Raises:
        Exception: The text does not represent such a value, as the class says.
    """
    if cls in _READERS:
        return _READERS[cls](text)
    if issubclass(cls, enum.Enum):
        by_value = {str(member.value): member for member in cls}
        return cls[text] if text in cls.__members__ else by_value[text]
    if issubclass(cls, type):  # of which one argument makes no other one
        raise TypeError(text)
    if hasattr(cls, "dtype"):
        return cls(_read(type(cls().item()), text))
    return getattr(cls, "fromisoformat", cls)(text)


# ------------------------------------------------------------------- types of values

_CONTAINERS: Final[dict[Any, Any]] = {
    **{cls: cls for cls in (list, tuple, dict, set, frozenset)},
    Sequence: list,
    Mapping: dict,
}
"""The built-in container that is made where one of these types is declared."""
_KNOWN: Final = {typing.Literal, NoneType, *_CONTAINERS, *_READERS}
_TEXTUAL: Final = frozenset(
    {"datetime", "decimal", "fractions", "ipaddress", "pathlib", "uuid"}
)
"""Modules whose classes have values that are written as text."""


def _class_of(value: Any) -> type:
    """Return the class of a value; of a number that knows its text, int or float."""
    plain = getattr(type(value), "plain", None)
    return plain if plain in (int, float) else type(value)


def _class(member: Any) -> Any:
    """Return the class that a type stands for; a dict of types stands for a dict."""
    return dict if type(member) is dict else typing.get_origin(member) or member


def _members(hint: Any) -> tuple[Any, ...]:
    """Return the alternatives of an annotation."""
    is_union = typing.get_origin(hint) in (typing.Union, UnionType)
    return typing.get_args(hint) if is_union else (hint,)


def _say_how(members: Iterable[Any]) -> bool:
    """Return whether types say how to read a text."""
    unknown = [cls for cls in map(_class, members) if cls not in _KNOWN]
    return all(
        isinstance(cls, type)
        and (issubclass(cls, enum.Enum) or cls.__module__.split(".")[0] in _TEXTUAL)
        for cls in unknown
    )


def _item_type(member: Any, key: Any) -> Any:
    """Return the type of the item at a key or position of a container."""
    if type(member) is dict:
        return member.get(key, Any)
    cls, arguments = _class(member), typing.get_args(member)
    if not arguments or cls not in _CONTAINERS:
        return Any
    if cls is tuple and arguments[-1] is not Ellipsis:
        return arguments[key] if key in range(len(arguments)) else Any
    return arguments[_CONTAINERS[cls] is dict]


def _like(value: Any, rule: Rule | None) -> Any:
    """Return the type of values like one: of a container, that of such items.

    A number may replace an int, whether it is an int or a float.

    Raises:
        ValueError: It is a node and no container.
    """
    if rule is None:
        cls = _class_of(value)
        return int | float if cls is int else cls
    if edit.item_key(value, rule) is None:
        raise ValueError(value)
    types = {
        key: Any if x is None else _like(x, None) | None
        for key, x in edit.entries_of(value, rule).items()
    }
    if edit.item_key(value, rule) is DictKey:
        return types
    kinds = {*types.values()}
    return list[kinds.pop()] if len(kinds) == 1 else list  # type: ignore[misc]


def _declared(tree: Any, path: Iterable[Any], context: Context) -> tuple[Any, bool]:
    """Return the type that is declared for a place in a tree, `Any` if there is none.

    Returns:
        The type, and whether the class of the parent converts its arguments.
    """
    node, hint, converts = tree, Any, False
    for key in path:
        above, hint, converts = hint, Any, False
        if isinstance(key, GetAttrKey):
            cls, rule = type(node), context.view.resolve(type(node))
            own: Mapping[str, Any] = {}
            if rule is not None and rule.attributes.declared is not None:
                own = rule.attributes.declared(cls)
            hint, converts = own.get(key.name, (Any, False))
            if key.name not in own:
                with contextlib.suppress(*FAULTS, SyntaxError):  # of names in texts
                    hint = typing.get_type_hints(cls).get(key.name, Any)
        elif above is not Any:
            types = [_item_type(member, key.entry) for member in _members(above)]
            hint = next((x for x in types if x is not Any), Any)
        node = read(key, node, context.view)
    return hint, converts


# ------------------------------------------------------------------- with a type


def _as(member: Any, value: Any, text: str | None) -> tuple[int, Any]:
    """Return a value as one of a type, after how far it was from it.

    Raises:
        Exception: It is not of that type.
    """
    cls = _class(member)
    if cls is typing.Literal:
        known = {(type(x), x): x for x in typing.get_args(member)}
        is_known = (type(value), value) in known
        return (0, value) if is_known else (2, known[str, text])
    if cls in _CONTAINERS:
        made, items = _CONTAINERS[cls], {}
        if not isinstance(value, dict if made is dict else (list, tuple, set)):
            raise ValueError(value)
        pairs: Any = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in pairs:
            types = _members(_item_type(member, key))
            items[key] = _fitted(item, None, types) if _say_how(types) else item
        return 0, items if made is dict else made(items.values())
    if _class_of(value) is cls:
        return 0, value
    if _class_of(value) in _WIDER.get(cls, ()):
        return 1, value if hasattr(value, "plain") else cls(value)
    text = value if text is None else text
    if not isinstance(text, str):
        raise TypeError(value)
    return 2, _read(cls, text)


def _fitted(value: Any, text: str | None, members: Iterable[Any]) -> Any:
    """Return a value as one of some types, the one that it is of or else the nearest.

    Args:
        value: The value.
        text: The text that it was read from; None for an item of a container.
        members: The types.

    Raises:
        ValueError: It is of no such type.
    """
    found = []
    for member in members:
        with contextlib.suppress(*FAULTS):  # it is not of this type
            found.append(_as(member, value, text))
    if not found:
        raise ValueError(value)
    return min(found, key=itemgetter(0))[1]


# ------------------------------------------------------------------ without a type


def guess(text: str) -> Any:
    """Read a value as JSON, as a Python literal, as `[a, b]` or `{a: b}`, or a string.

    Lists and dicts may be as deep as Python's recursion allows; else it is a string.

    Example:
        >>> from leafwise.configs.overrides import guess
        >>> guess("1e-3"), guess("[a, {x: 2, y: 'b, c'}]"), guess("a b")
        (0.001, ['a', {'x': 2, 'y': 'b, c'}], 'a b')
    """
    if _NAME.fullmatch(text) and text not in _CONSTANTS:
        return text
    for reader in (json.loads, _python_literal, _words):
        with contextlib.suppress(*FAULTS, SyntaxError, MemoryError):
            return reader(text)
    return text


_NAME: Final = re.compile(r"[^\W\d][\w.-]*")
_CONSTANTS: Final = frozenset(
    ("true", "false", "null", "NaN", "Infinity", "True", "False", "None")
)


def _python_literal(text: str) -> Any:
    with late_imports:
        import ast

        from ..core.literals import parse

    return ast.literal_eval(parse(text.lstrip(" \t")))


_WORD: Final = rf"({QUOTED})|((?!['\"\s])(?:\\.|\$\{{[^}}]*\}}|[^\\,[\]{{}}()"
_KEY: Final = re.compile(rf"\s*(?:{_WORD}:])+?))\s*:", re.DOTALL)
_VALUE: Final = re.compile(rf"\s*(?:{_WORD}])+?))(?=\s*[,\]}}])", re.DOTALL)
_OPENING: Final = re.compile(r"\s*([\[{]?)")
_CLOSING: Final = re.compile(r"\s*([\]}]?)")
_NEXT: Final = re.compile(r"\s*([,\]}])")
_ESCAPED: Final = re.compile(r"\\([\\()\[\]{}:=, \t'\"])")


def _words(text: str) -> Any:
    """Read a list or dict in which strings need no quotes.

    They are written as on the command line of Hydra: `[a, b c, {x: 1, y: null}]`. A
    backslash makes the next bracket, comma, colon, quote or space a part of a word.

    Raises:
        ValueError: It is not such a text.
    """
    place = 0

    def take(pattern: re.Pattern[str]) -> re.Match[str]:
        nonlocal place
        found = pattern.match(text, place)
        if found is None:
            raise ValueError(text)
        place = found.end()
        return found

    def word(pattern: re.Pattern[str]) -> Any:
        quoted, bare = take(pattern).groups()
        if quoted:
            return parse_literal(quoted)
        if "\\" in bare:
            return _ESCAPED.sub(r"\1", bare)
        return guess(bare)

    def value() -> Any:
        opening = take(_OPENING)[1]
        if not opening:
            return word(_VALUE)
        items: list[Any] = []
        letter = take(_CLOSING)[1]
        while not letter:
            items.append((word(_KEY), value()) if opening == "{" else value())
            letter = take(_NEXT)[1]
            if letter == ",":
                letter = take(_CLOSING)[1]
        if opening + letter not in ("[]", "{}"):
            raise ValueError(text)
        return dict(items) if letter == "}" else items

    found = value()
    if text[place:].strip():
        raise ValueError(text)
    return found
