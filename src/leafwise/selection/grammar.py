"""The text of a pattern, read into steps.

A pattern is a path in which a step may stand for several keys:

    optim.lr        a name: an attribute or a text key; digits: a position or a key
    layers[0]       a position, or an int key; [-1] counts from the end
    ['a.b']         a key, exactly; any literal that a key path prints
    @w              an attribute, exactly
    *  [*]          any key; any position or key, but no attribute
    w* ?            a name with wildcards
    {lr,wd} [0,2]   one of several
    [1:3] [:-1]     a range of positions
    **              any number of keys, none as well; at the end: all leaves below

Owns the grammar and what single steps mean. Knows nothing of trees.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeAlias

from ..core.auxdata import clip
from ..core.frozen import Frozen
from ..core.keypath import end_of_quote, parse_literal
from ..core.keys import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    SequenceKey,
    literal,
)
from ..errors import PathError


__all__ = ["DEEP", "Step", "key_kind", "parse", "step_of"]

KINDS: Final = {
    SequenceKey: "position",
    DictKey: "key",
    GetAttrKey: "attribute",
    FlattenedIndexKey: "position",
}


def key_kind(key: Any) -> str:
    """Return what sort of key it is: `position`, `key`, `attribute` or `other`."""
    return KINDS.get(type(key), "other")


Test: TypeAlias = "Callable[[str, Any, int, int], bool]"


def _any(_kind: str, _value: Any, _place: int, _count: int) -> bool:
    return True


class Step(Frozen):
    """Which keys one step of a pattern means.

    Attributes:
        text: The step as it was written.
        test: Takes the kind of a key, its value, its place among its siblings and
            their number; says whether it is meant.
        key: The one key that is meant, a str where its kind is open, None for others.
        name: The one name that is meant, None where it is no name.
        is_direct: Whether a dict may be asked for the name.
        is_any: Whether it means every key.
    """

    __slots__ = ("is_any", "is_direct", "key", "name", "test", "text")
    __match_args__ = ("text", "test", "key", "name", "is_direct", "is_any")

    text: str
    test: Test
    key: Any
    name: str | None
    is_direct: bool
    is_any: bool

    def __init__(self, text: str, test: Test, key: Any = None) -> None:
        is_name = type(key) is str
        name = key if is_name else getattr(key, "name", None)
        is_direct = is_name and not _is_number(key)
        self._set(text, test, key, name, is_direct, test is _any)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Step) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


DEEP: Final = Step("**", lambda *_: True)
"""Any number of keys."""


# ------------------------------------------------------------------------ tests


def _any_item(kind: str, _value: Any, _place: int, _count: int) -> bool:
    return kind != "attribute"


def _named(name: str) -> Test:
    if not _is_number(name):
        return lambda kind, value, _place, _count: (
            kind != "position" and isinstance(value, str) and value == name
        )
    number = int(name)

    def test(_kind: str, value: Any, _place: int, _count: int) -> bool:
        if isinstance(value, str):
            return value == name
        return type(value) is int and value == number

    return test


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdigit()


def _like(glob: str) -> Test:
    matches = matcher(glob)

    def test(_kind: str, value: Any, _place: int, _count: int) -> bool:
        try:
            text = str(value)
        except Exception:  # a key that has no text is not like any name
            return False
        return matches(text)

    return test


def matcher(glob: str) -> Callable[[str], bool]:
    """Return what says whether a text is as a name with wildcards says.

    `*` is any text, `?` any one letter. What stands between two `*` is looked for from
    the left, and never looked for again once it is found: an earlier place leaves more
    room for the rest. So the time is at most that of the two lengths multiplied.

    Source: the greedy matching that `fnmatch.translate` has done since Python 3.9.

    Example:
        >>> from leafwise.selection.grammar import matcher
        >>> matcher("w*_?")("weight_2"), matcher("w*_?")("weight_")
        (True, False)
    """
    first, *rest = ["".join(map(_letter, part)) for part in re.split(r"\*+", glob)]
    if rest:
        *inner, last = rest
        first += "".join(f"(?>.*?{part})" for part in inner) + f".*{last}"
    matches = re.compile(first, re.DOTALL).fullmatch
    return lambda text: matches(text) is not None


def _letter(letter: str) -> str:
    return "." if letter == "?" else re.escape(letter)


def _attribute(name: str) -> Test:
    return lambda kind, value, _place, _count: kind == "attribute" and value == name


def _item(wanted: Any) -> Test:
    if type(wanted) is not int:
        shown = literal(wanted) if type(wanted) in _WITH_NAN else ""
        has_nan = "nan" in shown  # which equals nothing, so its text has to do
        return lambda kind, value, _place, _count: (
            kind == "key"
            and isinstance(value, type(wanted))
            and (value == wanted or (has_nan and literal(value) == shown))
        )

    def test(kind: str, value: Any, place: int, count: int) -> bool:
        if kind == "position":
            return place == (wanted + count if wanted < 0 else wanted)
        return kind == "key" and type(value) is int and bool(value == wanted)

    return test


_WITH_NAN: Final = frozenset({float, complex, tuple})


def _one_of(
    tests: Sequence[Test],
) -> Test:
    return lambda *key: any(test(*key) for test in tests)


def _span(span: slice) -> Test:
    return lambda kind, _value, place, count: (
        kind == "position" and place in range(*span.indices(count))
    )


def step_of(key: Any) -> Step:
    """Return the step that means just one key."""
    kind, values = key_kind(key), getattr(key, "_values", None)
    value = values()[0] if values is not None else key
    if kind == "attribute":
        return Step(str(key), _attribute(value), key)
    if kind == "other":
        return Step(str(key), lambda _kind, found, *_: bool(found == key), key)
    return Step(str(key), _item(value), key)


# ---------------------------------------------------------------------- parsing

_SPECIAL: Final = ".[]{},@"
_BOUND: Final = re.compile(r"-?[0-9]+")


def parse(text: str) -> tuple[Step, ...]:
    """Read a pattern.

    Args:
        text: The pattern; the empty text means the root.

    Raises:
        PathError: The text is no pattern; the message points to the place.

    Example:
        >>> from leafwise.selection.grammar import parse
        >>> [step.text for step in parse("layers[*].{w,b}")]
        ['layers', '[*]', '{w,b}']
        >>> parse("layers[0")
        Traceback (most recent call last):
        ...
        leafwise.errors.PathError: not a pattern: this [ is not closed
          layers[0
                ^
    """
    return tuple(_steps(text))


def _steps(text: str) -> Iterator[Step]:
    place = 0
    while place < len(text):
        if text[place] == "[":
            step, place = _bracket(text, place)
        elif text[place] == ".":
            step, place = _name(text, place + 1)
        elif place == 0:
            step, place = _name(text, place)
        else:
            raise _error(text, place, "a step begins with . or [")
        yield step


def _name(text: str, start: int) -> tuple[Step, int]:
    if text[start : start + 1] == "{":
        return _braces(text, start)
    if text[start : start + 1] in ("'", '"'):
        end = _end_of_string(text, start)
        name = _literal(text, start, end)
        return Step(text[start:end], _attribute(name), GetAttrKey(name)), end
    strict = text[start : start + 1] == "@"
    begin = start + strict
    end = begin
    while end < len(text) and text[end] not in _SPECIAL:
        end += 1
    name = text[begin:end]
    if not name:
        raise _error(text, begin, "a name is missing here")
    if strict:
        return Step(text[start:end], _attribute(name), GetAttrKey(name)), end
    return _plain(name, text, begin), end


def _plain(name: str, text: str, start: int) -> Step:
    if name == "**":
        return DEEP
    if name == "*":
        return Step("*", _any)
    if "**" in name:
        place = start + name.index("**")
        raise _error(text, place, "** is a step of its own, between dots")
    if _is_glob(name):
        return Step(name, _like(name))
    _check_digits(name, text, start)
    return Step(name, _named(name), name)


def _check_digits(number: str, text: str, start: int) -> None:
    """Refuse a number that Python does not read, as it would take too long.

    Raises:
        PathError: It is one.
    """
    if _BOUND.fullmatch(number) and _is_too_long(number):
        raise _error(text, start, "this number has too many digits")


def _is_too_long(number: str) -> bool:
    try:
        int(number)
    except ValueError:
        return True
    return False


def _braces(text: str, start: int) -> tuple[Step, int]:
    end = text.find("}", start)
    if end < 0:
        raise _error(text, start, "this { is not closed")
    names = [name.strip() for name in text[start + 1 : end].split(",")]
    for name in names:
        if not name:
            raise _error(text, start, "these braces have an empty name")
        if any(letter in "[].{@" for letter in name):
            raise _error(text, start, "braces hold names, separated by commas")
        if "**" in name:
            raise _error(text, start, "** is a step of its own, between dots")
        _check_digits(name, text, start)
    tests = [_like(name) if _is_glob(name) else _named(name) for name in names]
    return Step(text[start : end + 1], _one_of(tests)), end + 1


def _is_glob(name: str) -> bool:
    return "*" in name or "?" in name


def _bracket(text: str, start: int) -> tuple[Step, int]:
    end = _closing(text, start)
    inside, shown = text[start + 1 : end], text[start : end + 1]
    if inside.strip() == "*":
        return Step(shown, _any_item), end + 1
    span = _bounds(inside, text, start)
    if span is not None:
        return Step(shown, _span(span)), end + 1
    if inside.startswith(_FLAT) and inside.endswith(">"):
        number = _flat_index(text, start + 1 + len(_FLAT), end - 1)
        return Step(shown, _item(number), FlattenedIndexKey(number)), end + 1
    if not inside.strip():
        raise _error(text, start, "these brackets are empty")
    value = _literal(text, start + 1, end)
    if type(value) is tuple and not inside.lstrip().startswith("("):
        return Step(shown, _one_of([*map(_item, value)])), end + 1
    key = SequenceKey(value) if type(value) is int else DictKey(value)
    return Step(shown, _item(value), key), end + 1


_FLAT: Final = "<flat index "


def _flat_index(text: str, start: int, end: int) -> int:
    digits = text[start:end]
    if not _is_number(digits):
        raise _error(text, start, "a flat index is a number")
    _check_digits(digits, text, start)
    return int(digits)


def _bounds(inside: str, text: str, start: int) -> slice | None:
    """Return the range that stands in brackets, None if it is none.

    Raises:
        PathError: It is one that cannot be.
    """
    parts = [part.strip() for part in inside.split(":", 3)]
    are_bounds = all(not part or _BOUND.fullmatch(part) for part in parts)
    if len(parts) not in (2, 3) or not are_bounds:
        return None
    for part in parts:
        _check_digits(part, text, start)
    numbers = [int(part) if part else None for part in (*parts, "")][:3]
    if numbers[2] == 0:
        raise _error(text, start, "the step of a range cannot be 0")
    return slice(*numbers)


def _closing(text: str, start: int) -> int:
    place, open_ = start + 1, 1
    while place < len(text):
        if text[place] in "'\"":
            place = _end_of_string(text, place)
            continue
        open_ += {"[": 1, "]": -1}.get(text[place], 0)
        if not open_:
            return place
        place += 1
    raise _error(text, start, "this [ is not closed")


def _end_of_string(text: str, start: int) -> int:
    end = end_of_quote(text, start)
    if end < 0:
        raise _error(text, start, "this quote is not closed")
    return end


def _literal(text: str, start: int, end: int) -> Any:
    try:
        return parse_literal(text[start:end].strip())
    except PathError:
        hint = "; a text key needs quotes" if text[start:end].isidentifier() else ""
        raise _error(text, start, f"this is no literal{hint}") from None


_WINDOW: Final = 60


def _error(text: str, place: int, why: str) -> PathError:
    """Return an error that shows the text with a caret under the place."""
    begin = max(0, place - _WINDOW)
    shown = text[begin : place + _WINDOW]
    if not shown.isprintable():
        return PathError(f"not a pattern: {why}, at character {place}: {clip(text)}")
    return PathError(f"not a pattern: {why}\n  {shown}\n  {' ' * (place - begin)}^")
