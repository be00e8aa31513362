"""Patterns: how their text is read into steps, and where these lead in a tree.

A pattern is a path in which a step may match several keys:

    optim.lr        a name: an attribute or a text key; digits: a position or a key
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

One walk from the root finds the places of a pattern, in leaf order; it goes on only
where some step matches. Paths are linked lists `(above, key)` on the way, `()` for
the root. Knows nothing of other selectors, nor of edits.
"""

from __future__ import annotations

import fnmatch
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

from ..core.keypath import KeyPath, end_of_quote, parse_literal
from ..core.keys import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    SequenceKey,
    literal,
)
from ..core.node import Fields, Rule, Shaped
from ..core.treedef import PyTreeDef
from ..core.walk import flatten, locate
from ..errors import PathError
from ..ops.context import Context, link_key, path_of
from ..safely import FAULTS, MISSING, Frozen, clip, printed


KINDS: Final[dict[Any, str]] = {
    SequenceKey: "position",
    DictKey: "key",
    GetAttrKey: "attribute",
    FlattenedIndexKey: "position",
}


def key_kind(key: Any) -> str:
    """Return the kind of a key: `position`, `key`, `attribute` or `other`."""
    return KINDS.get(type(key), "other")


Test: TypeAlias = "Callable[[str, Any, int, int], bool]"


def _any(_kind: str, _value: Any, _place: int, _count: int) -> bool:
    return True


class Step(Frozen):
    """One step of a pattern: which keys it matches.

    Attributes:
        text: The step as it was written.
        test: Takes the kind of a key, its value, its place among its siblings and
            their number; returns whether the step matches it.
        key: The only key that it matches, a str if its kind is open, else None.
        name: The only name that it matches, else None.
        is_direct: Whether a dict may be asked for the name.
        is_any: Whether it matches every key.
        having: The key and the text of a value that the child must have, or None.
    """

    __slots__ = ("having", "is_any", "is_direct", "key", "name", "test", "text")
    __match_args__ = ("text", "test", "key", "name", "is_direct", "is_any", "having")

    text: str
    test: Test
    key: Any
    name: str | None
    is_direct: bool
    is_any: bool
    having: tuple[str, str] | None

    def __init__(
        self, text: str, test: Test, key: Any = None, having: Any = None
    ) -> None:
        is_name = type(key) is str
        name = key if is_name else getattr(key, "name", None)
        is_direct = is_name and not _is_number(key)
        self._set(text, test, key, name, is_direct, test is _any, having)

    def matches(self, child: Any, raw: tuple[str, Any, int, int]) -> bool:
        """Return whether it matches a child, whose key `raw` describes for `test`."""
        if not self.test(*raw):
            return False
        if self.having is None:
            return True
        key, text = self.having
        if isinstance(child, Mapping):
            found = child.get(key, MISSING)
        else:
            found = getattr(child, key, MISSING)
        if found is None or type(found) is bool:
            return text == {None: "null", False: "false", True: "true"}[found]
        return isinstance(found, str | int | float) and str(found) == text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Step) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


DEEP: Final = Step("**", lambda *_: True)
"""Any number of keys."""
END: Final = SequenceKey(sys.maxsize)
"""The key of `[+]`, where nothing is."""


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
    # without brackets, which a name with wildcards cannot have
    matches = re.compile(fnmatch.translate(glob)).match

    def test(_kind: str, value: Any, _place: int, _count: int) -> bool:
        try:
            text = str(value)
        except FAULTS:  # a key that has no text matches no name
            return False
        return matches(text) is not None

    return test


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


def _one_of(tests: Sequence[Test]) -> Test:
    return lambda *key: any(test(*key) for test in tests)


def _span(span: slice) -> Test:
    return lambda kind, _value, place, count: (
        kind == "position" and place in range(*span.indices(count))
    )


def step_of(key: Any) -> Step:
    """Return the step that matches only this key."""
    kind = key_kind(key)
    if kind == "attribute":
        return Step(str(key), _attribute(key.entry), key)
    if kind == "other":
        return Step(str(key), lambda _kind, found, *_: bool(found == key), key)
    return Step(str(key), _item(key.entry), key)


# ---------------------------------------------------------------------- parsing

_SPECIAL: Final = ".[]{},@"
_BOUND: Final = re.compile(r"-?[0-9]+")


def parse(text: str) -> tuple[Step, ...]:
    """Read a pattern.

    Args:
        text: The pattern; the empty text is the root.

    Raises:
        PathError: The text is not a pattern; the message points to the place.

    Example:
        >>> from leafwise.selection.find import parse
        >>> [step.text for step in parse("layers[*].{w,b}")]
        ['layers', '[*]', '{w,b}']
        >>> parse("layers[0")
        Traceback (most recent call last):
        ...
        leafwise.errors.PathError: not a pattern: this [ is not closed
          layers[0
                ^
    """
    steps = []
    place = 0
    while place < len(text):
        if text[place] == "[":
            step, place = _bracket(text, place)
        elif text[place] == ".":
            step, place = _name(text, place + 1)
        elif place == 0:
            step, place = _name(text, place)
        else:
            why = "a step begins with . or [; other keys need quotes: ['a@b']"
            raise _error(text, place, why)
        steps.append(step)
    return tuple(steps)


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
    if name == "**":
        return DEEP, end
    if name == "*":
        return Step("*", _any), end
    return Step(
        name,
        _test_of(name, text, begin, name.find("**")),
        name if _is_plain(name) else None,
    ), end


def _is_plain(name: str) -> bool:
    return "*" not in name and "?" not in name


def _test_of(name: str, text: str, start: int, index: int = 0) -> Test:
    """Return the test of a name, which may have wildcards.

    Raises:
        PathError: It has `**`, or is a number with too many digits.
    """
    if "**" in name:
        raise _error(text, start + index, "** must be a step of its own, between dots")
    if not _is_plain(name):
        return _like(name)
    _check_digits(name, text, start)
    return _named(name)


def _check_digits(number: str, text: str, start: int) -> None:
    """Raise an error for a number that Python does not read, as it would take too long.

    Raises:
        PathError: The number has too many digits.
    """
    if _BOUND.fullmatch(number):
        try:
            int(number)
        except ValueError:
            why = "this number has too many digits"
            raise _error(text, start, why) from None


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
    tests = [_test_of(name, text, start) for name in names]
    return Step(text[start : end + 1], _one_of(tests)), end + 1


def _bracket(text: str, start: int) -> tuple[Step, int]:
    end = _closing(text, start)
    inside, shown = text[start + 1 : end], text[start : end + 1]
    if inside.strip() == "*":
        return Step(shown, _any_item), end + 1
    span = _bounds(inside, text, start)
    if span is not None:
        return Step(shown, _span(span)), end + 1
    if inside.strip() == "+":
        return Step(shown, _item(END.idx), END), end + 1
    having = _HAVING.fullmatch(inside)
    if having is not None:
        key, value = having.groups()
        if value[:1] in ("'", '"'):
            value = str(_literal(text, start + 1 + having.start(2), end))
        return Step(shown, _any_item, having=(key, value)), end + 1
    if inside.startswith(_FLAT) and inside.endswith(">"):
        digits = inside[len(_FLAT) : -1]
        place = start + 1 + len(_FLAT)
        if not _is_number(digits):
            raise _error(text, place, "a flat index must be a number")
        _check_digits(digits, text, place)
        number = int(digits)
        return Step(shown, _item(number), FlattenedIndexKey(number)), end + 1
    if not inside.strip():
        raise _error(text, start, "these brackets are empty")
    value = _literal(text, start + 1, end)
    if type(value) is tuple and not inside.lstrip().startswith("("):
        return Step(shown, _one_of([*map(_item, value)])), end + 1
    key = SequenceKey(value) if type(value) is int else DictKey(value)
    return Step(shown, _item(value), key), end + 1


_FLAT: Final = "<flat index "
_HAVING: Final = re.compile(r"\s*([^\W\d][\w-]*)\s*=\s*(.*?)\s*")


def _bounds(inside: str, text: str, start: int) -> slice | None:
    """Return the range in a pair of brackets, None if it is not a range.

    Raises:
        PathError: Its step is 0, or a number has too many digits.
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
        raise _error(text, start, f"this is not a literal{hint}") from None


_WINDOW: Final = 60


def _error(text: str, place: int, why: str) -> PathError:
    """Return an error that shows the text with a caret under the place."""
    begin = max(0, place - _WINDOW)
    shown = text[begin : place + _WINDOW]
    if not shown.isprintable():
        return PathError(f"not a pattern: {why}, at character {place}: {clip(text)}")
    return PathError(f"not a pattern: {why}\n  {shown}\n  {' ' * (place - begin)}^")


# ---------------------------------------------------------------- places in a tree


class Place:
    """A place in a tree: a path, and the node or leaf there.

    Attributes:
        value: The node or leaf there.
        path: The path from the root.
    """

    __slots__ = ("_link", "value")

    def __init__(self, link: Any, value: Any) -> None:
        """Take a path, a linked list of keys, or what makes a path of nothing."""
        self._link = link
        self.value = value

    @property
    def path(self) -> KeyPath:
        """The path from the root, made on demand."""
        link = self._link
        if type(link) is tuple:
            link = self._link = path_of(link)
        elif type(link) is partial:
            link = self._link = link()
        path: KeyPath = link
        return path


def leaf_places(
    leaves: Sequence[Any], treedef: PyTreeDef, chosen: Iterable[int]
) -> list[Place]:
    """Return the places of some leaves, by their numbers."""
    path_at = lambda number: treedef.paths()[number]  # noqa: E731
    return [Place(partial(path_at, number), leaves[number]) for number in chosen]


def call_at(f: Callable[..., Any], values: Iterable[Any], place: Any) -> Any:
    """Call a function for a place; its exceptions get a note of the path.

    Args:
        f: The function.
        values: Its arguments.
        place: Anything with a `path`.
    """
    try:
        return f(*values)
    except Exception as error:
        locate(error, [*reversed(place.path)])
        raise


class CycleCheck:
    """Checks whether trees contain themselves, before a walk that would not end.

    Called at each node as deep as `DEPTH_IN_DOUBT`, it checks only the first time.
    """

    __slots__ = ("context", "trees")

    def __init__(self, context: Context, *trees: Any) -> None:
        self.context = context
        self.trees = trees

    def __call__(self) -> None:
        """Check, unless that was done.

        Raises:
            CycleError: A tree contains itself.
        """
        for tree in self.trees:
            flatten(tree, self.context.view, self.context.stop)
        self.trees = ()


DEPTH_IN_DOUBT: Final = 500
"""How deep a walk goes before it checks for cycles: few trees are that deep."""


# --------------------------------------------------------------- children of a node


def children_of(node: Any, rule: Rule) -> tuple[Sequence[Any], Sequence[Any]]:
    """Return the children of a node, and their keys: bare, if the rule reads items."""
    children, aux = rule.flatten(node)
    keys = rule.bare_keys if rule.reads_items else rule.keys
    return children, keys(aux, len(children))


def static_names(node: Any, rule: Rule) -> Sequence[str]:
    """Return the names of the static fields of a node, as far as they are known."""
    form = rule.form
    if isinstance(form, Fields):
        return form.meta
    if isinstance(form, Shaped):
        static: Sequence[str] = rule.flatten(node)[1].field_layout.static
        return static
    return ()


def keys_of(node: Any, rule: Rule) -> list[Any]:
    """Return the keys of a node's children."""
    return [link_key(_linked(rule, key)) for key in children_of(node, rule)[1]]


def _linked(rule: Rule, key: Any) -> Any:
    """Return a key that `children_of` gave as links have it."""
    if type(key) is str or not (rule.reads_items and rule.is_mapping):
        return key
    return DictKey(key)


# ------------------------------------------------------------------------- the walk


def find(tree: Any, steps: Sequence[Step], context: Context) -> list[Place]:
    """Return the places that a pattern matches, in leaf order.

    Args:
        tree: The tree.
        steps: The pattern.
        context: What is a leaf.

    Raises:
        CycleError: The tree contains itself, below `**`.
    """
    if DEEP not in steps:
        return _find_flat(tree, steps, context)
    return [*_Deep(steps, context).find(tree)]


def _find_flat(tree: Any, steps: Sequence[Step], context: Context) -> list[Place]:
    """Find level by level: every step goes one level down."""
    places = [((), tree)]
    rules = context.view.rules
    for step in steps:
        below: list[tuple[Any, Any]] = []
        name = step.name if step.is_direct and context.stop is None else None
        last: type | None = None
        is_table = False
        for link, node in places:
            if name is not None and type(node) is not last:
                last = type(node)
                rule = rules.get(last)
                is_table = rule is not None and rule.reads_items and rule.is_mapping
            if is_table:
                if name in node:
                    below.append(((link, name), node[name]))
            else:
                below += _one_step(link, node, step, context)
        places = below
        if not places:
            break
    return [Place(link, value) for link, value in places]


def _one_step(
    link: Any, node: Any, step: Step, context: Context
) -> Sequence[tuple[Any, Any]]:
    """Return the children of a node that a step matches, with their links."""
    rule = context.rule_of(node, link)
    if rule is None:
        return ()
    name = step.name
    if step.is_direct and rule.reads_items and rule.is_mapping:
        return (((link, name), node[name]),) if name in node else ()
    if step.is_any and rule.reads_items:
        children, keys = children_of(node, rule)
        pairs = zip(keys, children, strict=True)
        return [((link, _linked(rule, key)), child) for key, child in pairs]
    found = [
        ((link, _linked(rule, key)), child)
        for key, child, raw in _keyed(node, rule)
        if step.matches(child, raw)
    ]
    if len(found) > 1 and step.name is not None and rule.is_mapping:
        wanted = DictKey(step.name)  # rather than the number with these digits
        return [pair for pair in found if link_key(pair[0][1]) == wanted]
    if not found and step.key is not None:
        static = _static_child(node, rule, step)
        if static is not None:
            return (((link, static[0]), static[1]),)
    return found


def _static_child(node: Any, rule: Rule, step: Step) -> tuple[Any, Any] | None:
    """Return the key and value of a static field or item that a step matches."""
    if step.name is not None and step.name in static_names(node, rule):
        return GetAttrKey(step.name), getattr(node, step.name)
    if not has_kinds(node):
        return None
    items: Sequence[tuple[Any, Any]] = ()
    if isinstance(node, Mapping):
        items = [(DictKey(key), value) for key, value in node.items()]
    elif isinstance(node, Sequence):
        items = [(SequenceKey(place), value) for place, value in enumerate(node)]
    for place, (key, value) in enumerate(items):
        if step.matches(value, (key_kind(key), key.entry, place, len(items))):
            return key, value
    return None


def has_kinds(node: Any) -> bool:
    """Return whether an object knows which of its attributes or items are data."""
    return hasattr(node, "_leafwise_fields")


def _keyed(
    node: Any, rule: Rule
) -> Iterator[tuple[Any, Any, tuple[str, Any, int, int]]]:
    """Yield each child with its key, and with what the test of a step takes."""
    children, keys = children_of(node, rule)
    count = len(children)
    if rule.reads_items:
        kind = "key" if rule.is_mapping else "position"
        for place, (key, child) in enumerate(zip(keys, children, strict=True)):
            yield key, child, (kind, key, place, count)
        return
    if has_kinds(node) and isinstance(node, Sequence):
        count = len(node)
    for place, (key, child) in enumerate(zip(keys, children, strict=True)):
        kind = key_kind(key)
        value = key if kind == "other" else key.entry
        is_position = type(key) is SequenceKey
        yield key, child, (kind, value, key.idx if is_position else place, count)


# ------------------------------------------------------- patterns with `**` in them


class _Transitions(NamedTuple):
    """Where an automaton goes from a state: which steps may come next below a node.

    Attributes:
        kept: The steps that stay, since they are `**`.
        stay: Those, with the steps that may come after them.
        move: The other steps, each after the number of the next one.
        names: If all of these match one name each: the next state after each name.
    """

    kept: tuple[int, ...]
    stay: tuple[int, ...]
    move: Sequence[tuple[int, Step]]
    names: dict[str, tuple[int, ...]] | None


class _Deep:
    """A walk that runs the pattern as an automaton.

    A state is the numbers of the steps that may come next. `**` stays in a state, and
    the step after it may come as well.
    """

    def __init__(self, steps: Sequence[Step], context: Context) -> None:
        self.steps = steps
        self.context = context
        self.end = len(steps)
        self.leaves_only = steps[-1] is DEEP
        self.leaf_types: set[type] | frozenset[type] = (
            frozenset() if context.stop is not None else context.view.leaf_types
        )
        self.closures: dict[tuple[int, ...], tuple[int, ...]] = {}
        self.tables: dict[tuple[int, ...], _Transitions] = {}

    def closure(self, states: tuple[int, ...]) -> tuple[int, ...]:
        """Return the steps that may come next, those after a `**` included."""
        known = self.closures.get(states)
        if known is None:
            found: dict[int, None] = {}
            for state in states:
                last = state
                while last < self.end and self.steps[last] is DEEP:
                    last += 1
                found.update(dict.fromkeys(range(state, last + 1)))
            known = self.closures[states] = tuple(found)
        return known

    def transitions(self, states: tuple[int, ...]) -> _Transitions:
        """Return where the automaton goes from a state."""
        known = self.tables.get(states)
        if known is not None:
            return known
        steps, next_ones = self.steps, [s for s in states if s < self.end]
        stay = tuple([s for s in next_ones if steps[s] is DEEP])
        moves = [s for s in next_ones if s not in stay]
        names: dict[str, tuple[int, ...]] | None = None
        if all(steps[s].is_direct for s in moves):
            names = {}
            for s in moves:
                name = printed(steps[s].name)
                names[name] = (*names.get(name, stay), s + 1)
            names = {name: self.closure(after) for name, after in names.items()}
        following = [(s + 1, steps[s]) for s in moves]
        made = _Transitions(stay, self.closure(stay), following, names)
        self.tables[states] = made
        return made

    def find(self, tree: Any) -> Iterator[Place]:
        """Yield the places, a node before those below it."""
        end, context, rule_of = self.end, self.context, self.context.rule_of
        check_cycles = CycleCheck(context, tree)
        stack: list[tuple[Any, Any, tuple[int, ...], int]] = [
            ((), tree, self.closure((0,)), 0)
        ]
        while stack:
            link, node, states, depth = stack.pop()
            rule = None if type(node) in self.leaf_types else rule_of(node, link)
            if end in states and (rule is None or not self.leaves_only):
                yield Place(link, node)
            if rule is None or states == (end,):
                continue
            if depth == DEPTH_IN_DOUBT:
                check_cycles()
            stack += self.below(link, node, rule, states, depth + 1)[::-1]

    def below(
        self, link: Any, node: Any, rule: Rule, states: tuple[int, ...], depth: int
    ) -> list[tuple[Any, Any, tuple[int, ...], int]]:
        """Return the children in which the walk goes on."""
        end, leaf_types, table = self.end, self.leaf_types, self.transitions(states)
        stay, names = table.stay, table.names
        if names is None or not rule.reads_items:
            return self.tested(link, node, rule, table, depth)
        if not rule.is_mapping:
            names = _NO_NAMES
        elif end not in stay and leaf_types.issuperset(map(type, node.values())):
            hits = [name for name in names if name in node]
            if len(hits) < 2:  # else they have an order
                return [((link, n), node[n], names[n], depth) for n in hits]
        found = []
        children, keys = children_of(node, rule)
        for key, child in zip(keys, children, strict=True):
            after = names.get(key, stay)
            if after and (type(child) not in leaf_types or end in after):
                found.append(((link, _linked(rule, key)), child, after, depth))
        return found

    def tested(
        self, link: Any, node: Any, rule: Rule, table: _Transitions, depth: int
    ) -> list[tuple[Any, Any, tuple[int, ...], int]]:
        """Return the children in which the walk goes on, each key being tested."""
        end, leaf_types, found = self.end, self.leaf_types, []
        for key, child, raw in _keyed(node, rule):
            moved = tuple([n for n, step in table.move if step.matches(child, raw)])
            after = self.closure(table.kept + moved) if moved else table.stay
            if after and (type(child) not in leaf_types or end in after):
                found.append(((link, _linked(rule, key)), child, after, depth))
        return found


_NO_NAMES: Final[dict[Any, tuple[int, ...]]] = {}
