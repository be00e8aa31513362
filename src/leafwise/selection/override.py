"""Changes written as text, as on a command line: `optim.lr=3e-4`.

Owns how such a text is read, and how its value becomes one of the sort of the leaf that
it replaces.
"""

from __future__ import annotations

import ast
import contextlib
import enum
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from ..core.auxdata import clip
from ..core.keypath import end_of_quote, parse_literal
from ..core.rule import Rule
from ..core.safely import type_name
from ..core.view import GLOBAL
from ..errors import EditError, PathError
from ..ops.outlook import outlook
from .edit import Selection
from .find import Place, Scope, find
from .grammar import Step, parse
from .join import is_items, is_mapping, items_like, items_of, mapping_like, table_of
from .pattern import Selector, along, require, selector
from .rebuild import Set, rebuild


__all__ = ["guess", "override"]


def override(
    tree: Any, overrides: Iterable[str] | str, *, namespace: str = GLOBAL
) -> Any:
    """Return a tree with changes that are written as text.

    `optim.lr=3e-4` replaces what is there, which the value is cast to and checked
    against; `+optim.wd=0.1` adds what is not there yet, `++optim.wd=0.1` does either,
    and `~optim.wd` takes away. In the place of a path there may be any pattern. Later
    texts see what earlier ones did.

    A value for a text is taken as it is, or quoted; `null` is None, also for a number.
    For a list or dict it is written as in JSON or Python. A value that is added is
    read as JSON, a Python literal, or else text.

    Args:
        tree: Any tree; None counts as a leaf.
        overrides: The texts, or one.
        namespace: Where to look classes up.

    Raises:
        EditError: A value is not of the sort of what is there; a text is no override;
            or a place has something already.
        PathError: A pattern means nothing, or cannot be read.

    Example:
        >>> import leafwise as lw
        >>> config = {"optim": {"lr": 0.1, "nesterov": False}, "widths": [64, 32]}
        >>> lw.override(config, ["optim.lr=1", "optim.nesterov=yes", "widths[0]=128"])
        {'optim': {'lr': 1.0, 'nesterov': True}, 'widths': [128, 32]}
        >>> lw.override(config, ["~optim", "+seed=7"])
        {'widths': [64, 32], 'seed': 7}
        >>> lw.override(config, "widths[0]=wide")
        Traceback (most recent call last):
        ...
        leafwise.errors.EditError: override 'widths[0]=wide': at ['widths'][0] there \
is an int, 64, and 'wide' is none
    """
    scope = Scope(*outlook(None, False, True, namespace))
    for text in [overrides] if isinstance(overrides, str) else overrides:
        try:
            tree = _applied(tree, text, scope)
        except (EditError, PathError) as error:
            made = type(error)(f"override {text!r}: {error}")
            made.path = error.path
            raise made from None
    return tree


def _applied(tree: Any, text: str, scope: Scope) -> Any:
    if text.startswith("~"):
        return _selection(tree, selector(text[1:]), scope).delete()
    where, value = _split(text)
    if where.startswith("++"):
        there = find(tree, parse(where[2:]), scope)
        if not there:
            return _added(tree, where[2:], value, scope)
        return _replaced(tree, there, value, scope)
    if where.startswith("+"):
        return _added(tree, where[1:], value, scope)
    meant = selector(where)
    try:
        there = require(meant, tree, scope)
    except PathError as error:
        if not meant.means_one:
            raise
        raise PathError(f"{error}; +{text} would add it") from None
    return _replaced(tree, there, value, scope)


def _selection(tree: Any, what: Selector, scope: Scope) -> Selection:
    return Selection(tree, (what,), scope, missing_ok=False)


def _split(text: str) -> tuple[str, str]:
    """Split a text at the first `=` outside of quotes and brackets.

    Raises:
        EditError: There is none.
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
    raise EditError("it has no '=', as in path=value, and no ~ before a path")


def _replaced(tree: Any, places: Iterable[Place], text: str, scope: Scope) -> Any:
    edits = [(place.path, Set(_cast(place, text, scope))) for place in places]
    return rebuild(tree, edits, scope)


def _added(tree: Any, where: str, text: str, scope: Scope) -> Any:
    """Insert a value, in dicts of its own where the nodes above are not there.

    What is None counts as a dict that nothing is in yet.
    """
    steps = parse(where)
    value = guess(text)
    for count in range(len(steps) - 1, -1, -1):
        holders = find(tree, steps[:count], scope)
        if holders:
            for step in reversed(steps[count + 1 :]):
                value = {_name(step): value}
            if all(holder.value is None for holder in holders):
                made = {_name(steps[count]): value}
                return rebuild(tree, [(h.path, Set(made)) for h in holders], scope)
            there = along(steps[: count + 1])
            return _selection(tree, there, scope).insert(value)
    raise EditError("there is no root to add to")


def _name(step: Step) -> str:
    if step.name is None:
        raise EditError(f"{step.text!r} is no name, and there is nothing yet")
    return step.name


# ------------------------------------------------------------------------------ values


def _cast(place: Place, text: str, scope: Scope) -> Any:
    """Return the value that a text stands for, of the sort of what is there.

    Raises:
        EditError: It stands for none.
    """
    old, path = place.value, place.path
    try:
        rule = scope.rule_of(old)
        if rule is None:
            return _leaf_like(old, text)
        return _node_like(old, rule, _literal(text))
    except (ValueError, TypeError, ArithmeticError, PathError) as error:
        if isinstance(error, EditError):
            raise
        raise EditError(
            f"at {path.where()} there is {_a(type_name(old))}, {clip(old)}, and "
            f"{text!r} is none",
            path=path,
        ) from error


def _a(name: str) -> str:
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


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
    """Return a leaf of the type of another one.

    Raises:
        ValueError: The text is none.
        TypeError: The type cannot be made of text.
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
    if hasattr(old, "dtype"):
        if getattr(old, "shape", ()) != ():
            raise TypeError(text)
        return cls(_leaf_like(old.item(), text))
    if hasattr(cls, "fromisoformat"):
        return cls.fromisoformat(text)
    return cls(text)


def _member(cls: Any, text: str) -> Any:
    """Return the member of an enum that has a name or value."""
    if text in cls.__members__:
        return cls[text]
    for member in cls:
        if str(member.value) == text:
            return member
    raise ValueError(text)


def _node_like(old: Any, rule: Rule, new: Any) -> Any:
    """Return a node of the sort of another one.

    Raises:
        ValueError: The value is of another sort, or something in it.
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
    """Return a value if it is of a type, or a number that can be."""
    if sort is None or sort is type(None) or value is None or type(value) is sort:
        return value
    if sort is float and type(value) is int:
        return float(value)
    raise ValueError(value)


def _literal(text: str) -> Any:
    """Read a value as JSON or a Python literal.

    Raises:
        ValueError: It is neither.
    """
    with contextlib.suppress(ValueError, RecursionError):
        return json.loads(text)
    try:
        return ast.literal_eval(text)
    except (SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise ValueError(text) from error


def guess(text: str) -> Any:
    """Read a value as JSON, as a Python literal, or else as text."""
    try:
        return _literal(text)
    except ValueError:
        return text
