"""Patterns: paths in which a step may match several keys.

    optim.lr        a name: an attribute or a string key; digits: an index or a key
    layers[0]       a position, or an int key; [-1] counts from the end
    ['a.b']         a key, exactly; any literal that a key path prints
    @w              an attribute, exactly
    *  [*]          any key; any position or key, but no attribute
    w* ?            a name with wildcards
    {lr,wd} [0,2]   one of several
    [1:3] [:-1]     a range of positions
    [name=web]      an item whose `name` is printed as `web`
    [+]             the end of a list, where an item is inserted
    **              any number of keys, zero included; at the end: all leaves below

`parse` turns a text into steps, each of which tests one key. An `Automaton` says which
steps may come next at each node on the way down a tree.
"""

from __future__ import annotations

import fnmatch
import functools
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from .._text import FAULTS, escape_controls, short_repr
from ..core.keypath import KeyPath, parse_literal
from ..core.keys import DictKey, FlattenedIndexKey, GetAttrKey, SequenceKey, literal
from ..errors import PathError


# ------------------------------------------------------------------------- steps

_KINDS: Final[dict[type, str]] = {
    SequenceKey: "position",
    DictKey: "key",
    GetAttrKey: "attribute",
    FlattenedIndexKey: "position",
}


def key_kind(key: Any) -> str:
    """Return the kind of a key: `position`, `key`, `attribute` or `other`."""
    return _KINDS.get(type(key), "other")


Test: TypeAlias = "Callable[[str, Any, int, int], bool]"
"""Tests a key by its kind, its entry, its position among its siblings, and their
number."""


class Step(NamedTuple):
    """One step of a pattern: which keys it matches.

    Attributes:
        text: The step as it was written.
        test: Tests a key.
        key: The only key that it matches, a str if its kind is open, else None.
        having: The key and the text of a value that the child must have, or None.
        item: If it matches one string as the key of a dict, that key, else None.
    """

    text: str
    test: Test
    key: Any = None
    having: tuple[str, str] | None = None
    item: DictKey | None = None

    @property
    def name(self) -> str | None:
        """The only name that it matches, else None."""
        name = getattr(self.key, "name", self.key)
        return name if type(name) is str else None

    def accepts(self, child: Any) -> bool:
        """Return whether a child has the value that it must have."""
        if self.having is None:
            return True
        name, text = self.having
        if isinstance(child, Mapping):
            value = child.get(name, ...)
        else:
            value = getattr(child, name, ...)
        if value is None or type(value) is bool:
            return text == {None: "null", False: "false", True: "true"}[value]
        return isinstance(value, str | int | float) and str(value) == text


def _is_any(
    _kind: str,
    _entry: Any,
    _position: int,
    _count: int,
) -> bool:
    return True


def _is_any_item(
    kind: str,
    _entry: Any,
    _position: int,
    _count: int,
) -> bool:
    return kind != "attribute"


DEEP: Final = Step("**", _is_any)
"""Any number of keys."""
ANY: Final = Step("*", _is_any)
"""Any key."""
END: Final = SequenceKey(sys.maxsize)
"""The key of `[+]`, where nothing is."""


# ------------------------------------------------------------------------- tests


def is_number(name: str) -> bool:
    """Return whether a name has only digits, as a position has."""
    return name.isascii() and name.isdigit() and len(name) < 4000


def _name_test(name: str) -> Test:
    """Return the test of a name, which may have wildcards."""
    if "*" in name or "?" in name:  # not brackets, which a name cannot have
        return _wildcard_test(name)
    number = int(name) if is_number(name) else None

    def test(
        kind: str,
        entry: Any,
        _position: int,
        _count: int,
    ) -> bool:
        if isinstance(entry, str):
            return entry == name and (number is not None or kind != "position")
        return number is not None and type(entry) is int and entry == number

    return test


def _wildcard_test(name: str) -> Test:
    matches = re.compile(fnmatch.translate(name)).match

    def test(
        _kind: str,
        entry: Any,
        _position: int,
        _count: int,
    ) -> bool:
        try:
            return matches(str(entry)) is not None
        except FAULTS:  # a key that has no text matches no name
            return False

    return test


def _entry_test(expected: Any, expected_kind: str = "key") -> Test:
    """Return the test of what one key has: its kind, and what is in it.

    An int is a position or a key. NaN equals nothing, so its text counts.
    """
    cls = type(expected)
    text = literal(expected) if cls in (float, complex, tuple) else None

    def test(
        kind: str,
        entry: Any,
        position: int,
        count: int,
    ) -> bool:
        if cls is int and kind == "position":
            return bool(position == (expected + count if expected < 0 else expected))
        is_bool = isinstance(entry, bool)
        if kind != expected_kind or not isinstance(entry, cls):
            return False
        if is_bool is not (cls is bool):
            return False
        return bool(entry == expected or (text and literal(entry) == text))

    return test


def _range_test(bounds: slice) -> Test:
    def test(
        kind: str,
        _entry: Any,
        position: int,
        count: int,
    ) -> bool:
        return kind == "position" and position in range(*bounds.indices(count))

    return test


def _union_test(tests: Iterable[Test]) -> Test:
    all_tests = tuple(tests)

    def test(
        kind: str,
        entry: Any,
        position: int,
        count: int,
    ) -> bool:
        return any(one(kind, entry, position, count) for one in all_tests)

    return test


def step_of(key: Any, text: str | None = None) -> Step:
    """Return the step that matches only this key, as it was written or is printed."""
    kind = key_kind(key)
    if kind == "position":
        kind = "key"
    entry = getattr(key, "entry", key)
    item = key if type(key) is DictKey and type(entry) is str else None
    if text is None:
        text = str(key)
    return Step(text, _entry_test(entry, kind), key, item=item)


def token_step(token: str) -> Step:
    """Return the step that a part of a JSON Pointer is: a name, or a position.

    Unlike a name in a pattern it has no wildcards, and `01` is no position.
    """
    number = int(token) if _INDEX.fullmatch(token) and token[0] != "-" else None

    def test(
        kind: str,
        entry: Any,
        position: int,
        _count: int,
    ) -> bool:
        if kind == "position":
            return position == number
        return isinstance(entry, str) and entry == token

    key = END if token == "-" else token
    return Step(token, test, key, item=DictKey(token))


# ---------------------------------------------------------------------- parsing

QUOTED: Final = r"(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
"""A string in quotes, as a regular expression."""
_STRING: Final = re.compile(QUOTED, re.DOTALL)
_BRACES: Final = re.compile(r"\{[^\[\].{}@,]+(?:,[^\[\].{}@,]+)*\}")
_BRACKETS: Final = re.compile(rf"\[((?:[^\[\]'\"]|{QUOTED})*)(\]?)", re.DOTALL)
_BOUND: Final = r"\s*(-?[0-9]{1,4000})?\s*"
_RANGE: Final = re.compile(rf"{_BOUND}:{_BOUND}(?::\s*(-?[1-9][0-9]{{,3999}})?\s*)?")
_INDEX: Final = re.compile(r"0|-?[1-9][0-9]{0,9}")
_FLAT_INDEX: Final = re.compile(r"<flat index ([0-9]{1,4000})>")
_HAVING: Final = re.compile(r"\s*([^\W\d][\w-]*)\s*=\s*(.*?)\s*")


def parse(text: str, sep: str = ".") -> tuple[Step, ...]:
    """Read a pattern.

    Args:
        text: The pattern; the empty text is the root.
        sep: What stands between names.

    Raises:
        PathError: The text is not a pattern; the message points to the place.

    Example:
        >>> from leafwise.selection.patterns import parse
        >>> [step.text for step in parse("layers[*].{w,b}")]
        ['layers', '[*]', '{w,b}']
        >>> parse("layers[0")
        Traceback (most recent call last):
        ...
        leafwise.errors.PathError: not a pattern: this [ is not closed
          layers[0
                ^
    """
    steps: list[Step] = []
    position = 0
    word = re.compile(rf"(?:(?!{re.escape(sep)})[^\[\]{{}},@])*")
    while position < len(text):
        if text[position] == "[":
            step, position = _read_brackets(text, position)
        else:
            if text.startswith(sep, position):
                position += len(sep)
            elif position:
                why = f"a step begins with {sep} or [; other keys need quotes: ['a@b']"
                raise _syntax_error(text, position, why)
            step, position = _read_name(text, position, word)
        steps.append(step)
    return tuple(steps)


def _read_name(
    text: str,
    start: int,
    word: re.Pattern[str],
) -> tuple[Step, int]:
    """Read the name, or the names in braces, that begin at a position.

    Args:
        text: The pattern.
        start: The position.
        word: Matches up to what is special.

    Returns:
        The step, and the position after it.
    """
    first = text[start : start + 1]
    is_attribute = first == "@"
    if is_attribute:
        start += 1
    form = {"'": _STRING, '"': _STRING, "{": _BRACES}.get(first, word)
    match = form.match(text, start)
    if not match or not match[0]:
        why = "a name is missing here"
        if form is _STRING:
            why = "this quote is not closed"
        elif form is _BRACES:
            why = "braces hold names, separated by commas"
        raise _syntax_error(text, start, why)
    name = match[0]
    end = match.end()
    if form is _STRING:
        return step_of(GetAttrKey(_read_literal(text, start, end)), name), end
    if is_attribute:
        return step_of(GetAttrKey(name), f"@{name}"), end
    if name == "**":
        return DEEP, end
    if name == "*":
        return ANY, end
    if "**" in name:
        why = "** must be a step of its own, between dots"
        raise _syntax_error(text, text.index("**", start), why)
    if form is _BRACES:
        tests = [_name_test(part.strip()) for part in name[1:-1].split(",")]
        return Step(name, _union_test(tests)), end
    return _name_step(name), end


def _name_step(name: str) -> Step:
    """Return the step of a name without braces, quotes and `@`."""
    test = _name_test(name)
    if "*" in name or "?" in name:
        return Step(name, test)
    item = None if is_number(name) else DictKey(name)
    return Step(name, test, name, item=item)


def _read_brackets(text: str, start: int) -> tuple[Step, int]:
    """Read what is in the brackets that begin at a position.

    Returns:
        The step, and the position after it.
    """
    match: Any = _BRACKETS.match(text, start)
    step_text = match[0]
    inside = match[1]
    end = match.end()
    if not match[2]:
        if text[end : end + 1] in ("'", '"'):
            raise _syntax_error(text, end, "this quote is not closed")
        raise _syntax_error(text, start, "this [ is not closed")
    if _INDEX.fullmatch(inside):  # the commonest, without the parser of literals
        return step_of(SequenceKey(int(inside)), step_text), end
    if inside.strip() == "*":
        return Step(step_text, _is_any_item), end
    if inside.strip() == "+":
        return step_of(END, step_text), end
    if flat_index := _FLAT_INDEX.fullmatch(inside):
        return step_of(FlattenedIndexKey(int(flat_index[1])), step_text), end
    if bounds := _RANGE.fullmatch(inside):
        numbers = [int(bound) if bound else None for bound in bounds.groups()]
        return Step(step_text, _range_test(slice(*numbers))), end
    if having := _HAVING.fullmatch(inside):
        key, value = having.groups()
        if value[:1] in ("'", '"'):
            value = str(_read_literal(text, start + 1 + having.start(2), end - 1))
        return Step(step_text, _is_any_item, having=(key, value)), end
    entry = _read_literal(text, start + 1, end - 1)
    if type(entry) is tuple and not inside.strip().startswith("("):
        return Step(step_text, _union_test([_entry_test(one) for one in entry])), end
    if type(entry) is int:
        return step_of(SequenceKey(entry), step_text), end
    return step_of(DictKey(entry), step_text), end


def _read_literal(
    text: str,
    start: int,
    end: int,
) -> Any:
    try:
        return parse_literal(text[start:end].strip())
    except PathError:
        why = "this is not a literal"
        if text[start:end].isidentifier():
            why += "; a string key needs quotes"
        raise _syntax_error(text, start, why) from None


_WINDOW: Final = 60


def _syntax_error(
    text: str,
    position: int,
    why: str,
) -> PathError:
    """Return an error that shows the text with a caret under the position."""
    begin = max(0, position - _WINDOW)
    excerpt = text[begin : position + _WINDOW]
    if not excerpt.isprintable():
        return PathError(
            f"not a pattern: {why}, at character {position}: {short_repr(text)}"
        )
    caret = " " * (position - begin) + "^"
    return PathError(f"not a pattern: {why}\n  {excerpt}\n  {caret}")


# ------------------------------------------------------------- paths as patterns


def name_of(path: Iterable[Any], sep: str = ".") -> str:
    """Return the name that flat tables have for a path: a pattern that leads there."""
    return "".join([step_text(key, sep) for key in path]).removeprefix(sep)


def step_text(key: Any, sep: str) -> str:
    """Return the step of a pattern that a key is, with the separator before a name."""
    if type(key) is DictKey and type(key.key) is str:
        return sep + key.key if _is_plain(key.key, sep) else f"[{key.key!r}]"
    if type(key) is GetAttrKey and type(key.name) is str:
        text = key.name if _is_plain(key.name, sep) else repr(key.name)
        return sep + text
    return str(key)


def _is_plain(name: str, sep: str) -> bool:
    """Return whether a pattern, and an override, read a name without quotes."""
    if name.isidentifier() and (sep == "." or (name + sep).find(sep) == len(name)):
        return True
    return _is_path(name, sep)


@functools.lru_cache(maxsize=4096)
def _is_path(name: str, sep: str) -> bool:
    """Return whether a pattern, and an override, read a text as one name."""
    try:
        keys = [step.key for step in parse(name, sep)]
    except PathError:
        return False
    if keys != [name] or (name + sep).find(sep) != len(name):
        return False
    is_path = name.isprintable() and name == name.strip() and "=" not in name
    return is_path and name[0] not in "+~"


def place_text(path: KeyPath) -> str:
    """Return a path for a message, as one writes it in a selector.

    The empty path is "the root". Control characters are escaped.

    Example:
        >>> import leafwise as lw
        >>> from leafwise.selection.patterns import place_text
        >>> path = lw.KeyPath.parse("['services'][0].image['a.b']")
        >>> place_text(path), place_text(lw.KeyPath())
        ("services[0].image['a.b']", 'the root')
    """
    return escape_controls(name_of(path)) or "the root"


# -------------------------------------------------------------------- the automaton


class State:
    """Which steps of a pattern may come next at a node.

    Attributes:
        stay: The numbers of the `**` that may match the next key.
        moves: The other steps that may, each with the number of the step after it.
        is_match: Whether the pattern may end here.
        is_last: Whether nothing can match below.
        only_step: The step that comes next, if there is no other way to go on.
        next_state: The state after that step, once `Automaton.after` was asked for it.
        reads_children: Whether a step tests more of a child than its key.
    """

    __slots__ = (
        "is_last",
        "is_match",
        "moves",
        "next_state",
        "only_step",
        "reads_children",
        "stay",
    )

    def __init__(
        self,
        stay: frozenset[int],
        moves: list[tuple[Step, int]],
        *,
        is_match: bool,
    ) -> None:
        self.stay: frozenset[int] = stay
        self.moves: list[tuple[Step, int]] = moves
        self.is_match = is_match
        self.is_last: bool = not moves and not stay
        self.only_step: Step | None = None
        if len(moves) == 1 and not stay:
            self.only_step = moves[0][0]
        self.next_state: State | None = None
        self.reads_children: bool = any(step.having is not None for step, _ in moves)


Row: TypeAlias = "tuple[int, Any, State]"
"""A child where a pattern may go on: its position, its key, and the state there."""


class Automaton:
    """Follows a pattern down a tree.

    `**` matches any number of keys, so several steps may come next at a node. A state
    is the set of their numbers: there are few, and each is made once.

    Attributes:
        picks_leaves: Whether it ends with `**`, which leads to leaves only.
        start: The state at the root.
    """

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = steps
        self._states: dict[frozenset[int], State] = {}
        self.picks_leaves: bool = bool(steps) and steps[-1] is DEEP
        self.start: State = self._state([0])

    def _state(self, numbers: Iterable[int]) -> State:
        """Return the state in which the steps with these numbers may come next."""
        steps = self._steps
        stay: set[int] = set()
        others: set[int] = set()
        for first in numbers:
            number = first
            while number < len(steps) and steps[number] is DEEP:
                stay.add(number)
                number += 1
            others.add(number)
        key = frozenset(stay | others)
        state = self._states.get(key)
        if state is None:
            is_match = len(steps) in others
            others.discard(len(steps))
            moves = [(steps[number], number + 1) for number in sorted(others)]
            state = State(frozenset(stay), moves, is_match=is_match)
            self._states[key] = state
        return state

    def after(self, state: State) -> State:
        """Return the state after the only step that may come next."""
        if state.next_state is None:
            [(_, number)] = state.moves
            state.next_state = self._state([number])
        return state.next_state

    def rows(
        self,
        state: State,
        keys: Sequence[Any],
        count: int,
        children: Sequence[Any],
    ) -> list[Row]:
        """Return the children of a node where the pattern may go on, in order.

        Args:
            state: The state at the node.
            keys: The keys of the children.
            count: The length of the node, which positions count from.
            children: The children, which only a step like `[name=web]` looks at.
        """
        rows: list[Row] = []
        stay_state = None
        if state.stay:
            stay_state = self._state(state.stay)
        for position, key in enumerate(keys):
            kind = key_kind(key)
            entry = key if kind == "other" else key.entry
            place = entry if type(key) is SequenceKey else position
            next_steps = [
                number
                for step, number in state.moves
                if step.test(kind, entry, place, count)
                and step.accepts(children[position])
            ]
            if next_steps:
                next_steps += state.stay
                rows.append((position, key, self._state(next_steps)))
            elif stay_state is not None:
                rows.append((position, key, stay_state))
        step = state.only_step
        if step is not None and step.name is not None and len(rows) > 1:
            # a dict may have a number with the digits of the name as well
            named_rows: list[Row] = []
            for row in rows:
                _, key, _ = row
                if getattr(key, "entry", None) == step.name:
                    named_rows.append(row)
            return named_rows or rows
        return rows
