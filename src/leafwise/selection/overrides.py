"""Overrides: changes written as text, as on a command line, `optim.lr=3e-4`.

Owns how such a text is parsed, and how its value is cast to the type of the value that
it replaces.
"""

from __future__ import annotations

import ast
import enum
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from ..core.keypath import end_of_quote, parse_literal
from ..core.node import Rule
from ..core.registry import GLOBAL
from ..errors import EditError, PathError
from ..ops.context import Context, context_of
from ..safely import clip, type_name
from .edit import Selection
from .find import Place, Step, find, parse
from .join import (
    is_items,
    is_mapping,
    items_like,
    items_of,
    mapping_like,
    table_of,
    with_article,
)
from .pattern import Selector, along, require, selector
from .rebuild import Set, rebuild


__all__ = ["guess", "override"]


def override(
    tree: Any, overrides: Iterable[str] | str, *, namespace: str = GLOBAL
) -> Any:
    """Return a tree with changes that are written as text.

    `optim.lr=3e-4` replaces a value, and casts the new one to the type of the old;
    `+optim.wd=0.1` adds a value, `++optim.wd=0.1` adds or replaces it, and `~optim.wd`
    deletes it. Instead of a path there may be any pattern. Overrides apply one after
    another.

    A new value for a string needs no quotes. `null` is None, whatever the old
    value is. Lists and dicts are written as in JSON or Python. A value that is added is
    read as JSON, then as a Python literal; anything else is a string.

    Args:
        tree: Any tree; None counts as a leaf.
        overrides: The texts, or a single one.
        namespace: The namespace in which classes are looked up.

    Returns:
        The changed tree, which shares what did not change with the old one.

    Raises:
        EditError: A value cannot be cast, a dict in it has equal keys, the text is not
            an override, or there is a value already where one would be added.
        PathError: A pattern has no match or is malformed.

    Example:
        >>> import leafwise as lw
        >>> config = {"optim": {"lr": 0.1, "nesterov": False}, "widths": [64, 32]}
        >>> lw.selection.override(config,
        ...     ["optim.lr=1", "optim.nesterov=yes", "widths[0]=128"])
        {'optim': {'lr': 1.0, 'nesterov': True}, 'widths': [128, 32]}
        >>> lw.selection.override(config, ["~optim", "+seed=7"])
        {'widths': [64, 32], 'seed': 7}
        >>> lw.selection.override(config, "widths[0]=wide")
        Traceback (most recent call last):
        ...
        leafwise.errors.EditError: override 'widths[0]=wide': 'wide' is not an int; \
the value at ['widths'][0] is 64
    """
    context = context_of(none_is_leaf=True, namespace=namespace)
    for text in [overrides] if isinstance(overrides, str) else overrides:
        try:
            tree = _applied(tree, text, context)
        except (EditError, PathError) as error:
            made = type(error)(f"override {clip(text)}: {error}")
            made.path = error.path
            raise made from None
    return tree


def _applied(tree: Any, text: str, context: Context) -> Any:
    if text.startswith("~"):
        return _selection(tree, selector(text[1:]), context).delete()
    where, value = _split(text)
    if where.startswith("++"):
        there = find(tree, parse(where[2:]), context)
        if not there:
            return _added(tree, where[2:], value, context)
        return _replaced(tree, there, value, context)
    if where.startswith("+"):
        return _added(tree, where[1:], value, context)
    chosen = selector(where)
    try:
        there = require(chosen, tree, context)
    except PathError as error:
        if not chosen.is_single:
            raise
        raise PathError(f"{error}; use +{text} to add it") from None
    return _replaced(tree, there, value, context)


def _selection(tree: Any, what: Selector, context: Context) -> Selection:
    return Selection(tree, (what,), context, missing_ok=False)


def _split(text: str) -> tuple[str, str]:
    """Split a text at the first `=` outside of quotes and brackets.

    Raises:
        EditError: There is no such `=`.
    """
    depth = place = 0
    while 0 <= place < len(text):
        letter = text[place]
        if letter in "'\"" and depth:
            place = end_of_quote(text, place)
            continue
        if letter == "=" and not depth:
            return text[:place].strip(), text[place + 1 :].strip()
        depth += {"[": 1, "]": -1}.get(letter, 0)
        place += 1
    raise EditError("expected path=value, +path=value, ++path=value or ~path")


def _replaced(tree: Any, places: Iterable[Place], text: str, context: Context) -> Any:
    edits = [(place.path, Set(_cast(place, text, context))) for place in places]
    return rebuild(tree, edits, context)


def _added(tree: Any, where: str, text: str, context: Context) -> Any:
    """Insert a value, and dicts for the missing parents; None is an empty dict."""
    steps = parse(where)
    value = guess(text)
    for count in range(len(steps) - 1, -1, -1):
        holders = find(tree, steps[:count], context)
        if holders:
            for step in reversed(steps[count + 1 :]):
                value = {_name(step): value}
            if all(holder.value is None for holder in holders):
                made = {_name(steps[count]): value}
                return rebuild(tree, [(h.path, Set(made)) for h in holders], context)
            there = along(steps[: count + 1])
            return _selection(tree, there, context).insert(value)
    raise EditError("the root already exists; name what to add: +name=value")


def _name(step: Step) -> str:
    if step.name is None:
        raise EditError(
            f"{clip(step.text)} has no match and is not a name for a new key"
        )
    return step.name


# ------------------------------------------------------------------------------ values


def _cast(place: Place, text: str, context: Context) -> Any:
    """Return a text as a value of the type of the one that it replaces.

    Raises:
        EditError: It cannot be cast.
    """
    old, path = place.value, place.path
    rule = context.rule_of(old)
    try:
        if rule is None:
            return _leaf_like(old, text)
        return _node_like(old, rule, _literal(text))
    except EditError:
        raise
    except Exception as error:  # whatever the type of a leaf says of the text
        where, name, shown = path.where(), type_name(old), clip(old)
        raise EditError(
            f"{clip(text)} is not {with_article(name)}; the value at {where} is {shown}"
            if rule is None
            else f"{clip(text)} cannot replace the {name} at {where}, {shown}",
            path=path,
        ) from error


_NULL: Final = ("null", "None")
_FLAGS: Final = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}


def _flag(text: str) -> bool:
    if text.lower() not in _FLAGS:
        raise ValueError(text)
    return _FLAGS[text.lower()]


def _integer(text: str) -> int:
    return int(text) if text.strip("+-").isdigit() else int(text, 0)


def _text(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return str(parse_literal(text))
    return text


_CASTS: Final[dict[type, Callable[[str], Any]]] = {
    bool: _flag,
    int: _integer,
    float: float,
    complex: complex,
    str: _text,
}


def _leaf_like(old: Any, text: str) -> Any:
    """Return a text as a leaf of the type of another one.

    Raises:
        Exception: The text does not represent such a leaf, as its type says; or the
            type has no values written as text.
    """
    cls = type(old)
    if old is None:
        return guess(text)
    if text in _NULL:
        return None
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
        return cls(_leaf_like(old.item(), text))
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


def _node_like(old: Any, rule: Rule, new: Any) -> Any:
    """Return a value as a node of the type of another one.

    Raises:
        ValueError: The value is not such a container, or a child is of another type.
    """
    if new is None:
        return None
    if is_mapping(old, rule) and isinstance(new, Mapping):
        table = table_of(old, rule)
        items = new.items()
        values = [_of_type(type(table[k]), x) if k in table else x for k, x in items]
        return mapping_like(old, rule, [*new], values, [old])
    if is_items(old, rule) and isinstance(new, list | tuple):
        sorts = {type(item) for item in items_of(old, rule)}
        sort = sorts.pop() if len(sorts) == 1 else None
        return items_like(old, rule, [_of_type(sort, item) for item in new], [old])
    raise ValueError(new)


def _of_type(sort: type | None, value: Any) -> Any:
    """Return a value if it is of a type, or an int as a float.

    Raises:
        ValueError: It is of another type.
    """
    if sort is None or sort is type(None) or value is None or type(value) is sort:
        return value
    if sort is float and type(value) is int:
        return float(value)
    raise ValueError(value)


def _literal(text: str) -> Any:
    """Read a value as JSON or a Python literal.

    Raises:
        ValueError: It is neither.
        EditError: A dict in it has equal keys.
    """
    try:
        return json.loads(text, object_pairs_hook=_table)
    except EditError:
        raise
    except (ValueError, RecursionError):
        return _python_literal(text)


def _python_literal(text: str) -> Any:
    try:
        value = ast.literal_eval(text)
        for node in ast.walk(ast.parse(text.lstrip(" \t"), mode="eval")):
            if isinstance(node, ast.Dict):
                keys = [ast.literal_eval(key) for key in node.keys if key is not None]
                _table([(key, None) for key in keys])
    except (SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise ValueError(text) from error
    return value


def _table(items: list[tuple[Any, Any]]) -> dict[Any, Any]:
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
    """Read a value as JSON, as a Python literal, or else as a string.

    Raises:
        EditError: It is a literal in which a dict has equal keys.
    """
    try:
        return _literal(text)
    except EditError:
        raise
    except ValueError:
        return text
