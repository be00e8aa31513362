"""Patterns: how their text is read into steps, and where these lead in a tree.

A pattern is a path in which a step may match several keys:

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

One walk from the root finds the places of a pattern, in leaf order; it goes on only
where some step matches. Paths are linked lists `(above, key)` on the way, `()` for
the root. Knows nothing of other selectors, nor of edits.
"""

from __future__ import annotations

import fnmatch
import functools
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
from ..safely import FAULTS, MISSING, clip


KINDS: Final[dict[Any, str]] = {
    SequenceKey: "position",
    DictKey: "key",
    GetAttrKey: "attribute",
    FlattenedIndexKey: "position",
}


def key_kind(key: Any) -> str:
    """Return the kind of a key: `position`, `key`, `attribute` or `other`."""
    return KINDS.get(type(key), "other")


Raw: TypeAlias = "tuple[str, Any, int, int]"
"""The kind of a key, its value, its place among its siblings, and their number."""
Test: TypeAlias = "Callable[[str, Any, int, int], bool]"


class Step(NamedTuple):
    """One step of a pattern: which keys it matches.

    Attributes:
        text: The step as it was written.
        test: Takes the parts of a `Raw`; returns whether the step matches that key.
        key: The only key that it matches, a str if its kind is open, else None.
        having: The key and the text of a value that the child must have, or None.
        name: The only name that it matches, else None.
        is_direct: Whether a dict may be asked for the name.
    """

    text: str
    test: Test
    key: Any = None
    having: tuple[str, str] | None = None
    name: str | None = None
    is_direct: bool = False

    def matches(self, child: Any, raw: Raw) -> bool:
        """Return whether it matches a child with this key."""
        if not self.test(*raw):
            return False
        if self.having is None:
            return True
        key, text = self.having
        is_mapping = isinstance(child, Mapping)
        found = child.get(key, MISSING) if is_mapping else getattr(child, key, MISSING)
        if found is None or type(found) is bool:
            return text == {None: "null", False: "false", True: "true"}[found]
        return isinstance(found, str | int | float) and str(found) == text


def _any(_kind: str, _value: Any, _place: int, _count: int) -> bool:
    return True


DEEP: Final = Step("**", _any)
"""Any number of keys."""
END: Final = SequenceKey(sys.maxsize)
"""The key of `[+]`, where nothing is."""


# ------------------------------------------------------------------------ tests


def _any_item(kind: str, _value: Any, _place: int, _count: int) -> bool:
    return kind != "attribute"


def _named(name: str) -> Test:
    number = int(name) if _is_number(name) else None

    def test(kind: str, value: Any, _place: int, _count: int) -> bool:
        if isinstance(value, str):
            return value == name and (number is not None or kind != "position")
        return number is not None and type(value) is int and value == number

    return test


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdigit()


def _like(glob: str) -> Test:
    # without brackets, which a name with wildcards cannot have
    matches = re.compile(fnmatch.translate(glob)).match

    def test(_kind: str, value: Any, _place: int, _count: int) -> bool:
        try:
            return matches(str(value)) is not None
        except FAULTS:  # a key that has no text matches no name
            return False

    return test


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


def _attribute(text: str, key: GetAttrKey) -> Step:
    test: Test = lambda kind, value, *_: kind == "attribute" and value == key.name  # noqa: E731
    return Step(text, test, key, name=key.name)


def step_of(key: Any) -> Step:
    """Return the step that matches only this key."""
    kind = key_kind(key)
    if kind == "attribute":
        return _attribute(str(key), key)
    if kind == "other":
        return Step(str(key), lambda _kind, found, *_: bool(found == key), key)
    return Step(str(key), _item(key.entry), key)


# ---------------------------------------------------------------------- parsing

_BOUND: Final = re.compile(r"(-?[0-9]+)?")
_FLAT: Final = "<flat index "
_HAVING: Final = re.compile(r"\s*([^\W\d][\w-]*)\s*=\s*(.*?)\s*")


def parse(text: str, sep: str = ".") -> tuple[Step, ...]:
    """Read a pattern.

    Args:
        text: The pattern; the empty text is the root.
        sep: What stands between names.

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
        start = place
        is_separated = text.startswith(sep, place)
        if place and text[place] != "[" and not is_separated:
            why = f"a step begins with {sep} or [; other keys need quotes: ['a@b']"
            raise _error(text, place, why)
        try:
            if text[place] == "[":
                step, place = _bracket(text, place)
            else:
                step, place = _name(text, place + is_separated * len(sep), sep)
        except PathError:
            raise
        except ValueError:  # of `int`
            raise _error(text, start, "this number has too many digits") from None
        steps.append(step)
    return tuple(steps)


def _name(text: str, start: int, sep: str) -> tuple[Step, int]:
    """Read the name, or the names in braces, that begin at a place."""
    first = text[start : start + 1]
    if first == "{":
        return _braces(text, start)
    if first in ("'", '"'):
        end = _end_of_string(text, start)
        key = GetAttrKey(_literal(text, start, end))
        return _attribute(text[start:end], key), end
    begin = start + (first == "@")
    word = rf"(?:(?!{re.escape(sep)})[^\[\]{{}},@])*"  # up to what is special
    found: Any = re.compile(word).match(text, begin)
    name, end = found[0], found.end()
    if not name:
        raise _error(text, begin, "a name is missing here")
    if first == "@":
        return _attribute(text[start:end], GetAttrKey(name)), end
    if name in ("*", "**"):
        return (DEEP if name == "**" else Step("*", _any)), end
    test = _test_of(name, text, begin + max(name.find("**"), 0))
    if "*" in name or "?" in name:
        return Step(name, test), end
    return Step(name, test, name, None, name, not _is_number(name)), end


def _test_of(name: str, text: str, place: int) -> Test:
    """Return the test of a name, which may have wildcards."""
    if "**" in name:
        raise _error(text, place, "** must be a step of its own, between dots")
    return _like(name) if "*" in name or "?" in name else _named(name)


def _braces(text: str, start: int) -> tuple[Step, int]:
    end = text.find("}", start)
    if end < 0:
        raise _error(text, start, "this { is not closed")
    names = [name.strip() for name in text[start + 1 : end].split(",")]
    if not all(names):
        raise _error(text, start, "these braces have an empty name")
    if any(letter in "[].{@" for name in names for letter in name):
        raise _error(text, start, "braces hold names, separated by commas")
    tests = [_test_of(name, text, start) for name in names]
    return Step(text[start : end + 1], _one_of(tests)), end + 1


def _bracket(text: str, start: int) -> tuple[Step, int]:
    end = _closing(text, start)
    inside, shown = text[start + 1 : end], text[start : end + 1]
    bare = inside.strip()
    having = _HAVING.fullmatch(inside)
    bounds = [part.strip() for part in inside.split(":", 3)]
    if not bare:
        raise _error(text, start, "these brackets are empty")
    if bare == "*":
        step = Step(shown, _any_item)
    elif bare == "+":
        step = Step(shown, _item(END.idx), END)
    elif len(bounds) in (2, 3) and all(map(_BOUND.fullmatch, bounds)):
        numbers = [int(part) if part else None for part in bounds]
        if numbers[2:] == [0]:
            raise _error(text, start, "the step of a range cannot be 0")
        step = Step(shown, _span(slice(*numbers)))
    elif having is not None:
        key, value = having.groups()
        if value[:1] in ("'", '"'):
            value = str(_literal(text, start + 1 + having.start(2), end))
        step = Step(shown, _any_item, having=(key, value))
    elif inside.startswith(_FLAT) and inside.endswith(">"):
        digits = inside[len(_FLAT) : -1]
        if not _is_number(digits):
            place = start + 1 + len(_FLAT)
            raise _error(text, place, "a flat index must be a number")
        step = Step(shown, _item(int(digits)), FlattenedIndexKey(int(digits)))
    else:
        wanted = _literal(text, start + 1, end)
        if type(wanted) is tuple and not bare.startswith("("):
            step = Step(shown, _one_of([*map(_item, wanted)]))
        else:
            cls: Any = SequenceKey if type(wanted) is int else DictKey
            step = Step(shown, _item(wanted), cls(wanted))
    return step, end + 1


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
        hint = "; a string key needs quotes" if text[start:end].isidentifier() else ""
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
        if type(link) is not KeyPath:
            link = self._link = (
                link() if type(link) is functools.partial else path_of(link)
            )
        return link  # type: ignore[no-any-return]


def leaf_places(
    leaves: Sequence[Any], treedef: PyTreeDef, chosen: Iterable[int]
) -> list[Place]:
    """Return the places of some leaves, by their numbers."""
    path_at = lambda number: treedef.paths()[number]  # noqa: E731
    return [
        Place(functools.partial(path_at, number), leaves[number]) for number in chosen
    ]


def call_at(f: Callable[..., Any], values: Iterable[Any], place: Any) -> Any:
    """Call a function for a place; its exceptions get a note of the path.

    Args:
        f: The function.
        values: Its arguments.
        place: Anything with a `path`.
    """
    try:
        return f(*values)
    except Exception as error:  # of the user's function, which is told where
        locate(error, [*reversed(place.path)])
        raise


DEPTH_IN_DOUBT: Final = 500
"""How deep a walk goes before it checks for cycles: few trees are that deep."""


def check_cycles(trees: list[Any], context: Context) -> None:
    """Check that trees do not contain themselves, before a walk that would not end.

    Args:
        trees: The trees that are not yet checked; it is emptied.
        context: What is a leaf.

    Raises:
        CycleError: A tree contains itself.
    """
    while trees:
        flatten(trees.pop(), context.view, context.stop)


# --------------------------------------------------------------- children of a node


def static_names(node: Any, rule: Rule) -> Sequence[str]:
    """Return the names of the static fields of a node, as far as they are known."""
    form = rule.form
    if isinstance(form, Fields):
        return form.meta
    if isinstance(form, Shaped):
        static: Sequence[str] = rule.flatten(node)[1].fields.static
        return static
    return ()


def keys_of(node: Any, rule: Rule) -> Sequence[Any]:
    """Return the keys of a node's children."""
    children, aux = rule.flatten(node)
    return rule.keys(aux, len(children))


def has_kinds(node: Any) -> bool:
    """Return whether an object knows which of its attributes or items are data."""
    return hasattr(node, "_leafwise_fields")


def _linked(node: Any, rule: Rule) -> Iterable[tuple[Any, Any]]:
    """Return the children of a node, each after its key in a linked list."""
    children, aux = rule.flatten(node)
    keys = (rule.bare_keys if rule.reads_items else rule.keys)(aux, len(children))
    if rule.reads_items and rule.is_mapping:
        keys = [key if type(key) is str else DictKey(key) for key in keys]
    return zip(keys, children, strict=True)


def _children(node: Any, rule: Rule) -> Iterator[tuple[Any, Any, Raw]]:
    """Yield each child after its key in a linked list, and with what tests take."""
    pairs = [*_linked(node, rule)]
    count = len(pairs)
    if has_kinds(node) and isinstance(node, Sequence):
        count = len(node)
    for place, (key, child) in enumerate(pairs):
        kind, value, at = "key", key, place
        if type(key) is int:
            kind = "position"
        elif type(key) is not str:
            kind = key_kind(key)
            value = key if kind == "other" else key.entry
            at = key.idx if type(key) is SequenceKey else place
        yield key, child, (kind, value, at, count)


def _static_child(node: Any, rule: Rule, step: Step) -> list[tuple[Any, Any]]:
    """Return the key and value of a static field or item that a step matches."""
    if step.name is not None and step.name in static_names(node, rule):
        return [(GetAttrKey(step.name), getattr(node, step.name))]
    items: list[tuple[Any, Any]] = []
    if has_kinds(node) and isinstance(node, Mapping):
        items = [(DictKey(key), value) for key, value in node.items()]
    elif has_kinds(node) and isinstance(node, Sequence):
        items = [(SequenceKey(place), value) for place, value in enumerate(node)]
    for place, (key, value) in enumerate(items):
        if step.matches(value, (key_kind(key), key.entry, place, len(items))):
            return [(key, value)]
    return []


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
    if DEEP in steps:
        return _Deep(steps, context).find(tree)
    places: list[tuple[Any, Any]] = [((), tree)]
    rules = context.view.rules
    for step in steps:
        below: list[tuple[Any, Any]] = []
        name = step.name if step.is_direct and context.stop is None else None
        for link, node in places:
            rule = rules.get(type(node)) if name is not None else None
            if rule is None or not (rule.reads_items and rule.is_mapping):
                below += _one_step(link, node, step, context)
            elif name in node:
                below.append(((link, name), node[name]))
        places = below
    return [Place(link, value) for link, value in places]


def _one_step(
    link: Any, node: Any, step: Step, context: Context
) -> list[tuple[Any, Any]]:
    """Return the children of a node that a step matches, with their links."""
    rule = context.rule_of(node, link)
    if rule is None:
        return []
    if step.test is _any:
        return [((link, key), child) for key, child in _linked(node, rule)]
    found = [
        (key, child)
        for key, child, raw in _children(node, rule)
        if step.matches(child, raw)
    ]
    if len(found) > 1 and step.name is not None and rule.is_mapping:
        wanted = DictKey(step.name)  # rather than the number with these digits
        found = [pair for pair in found if link_key(pair[0]) == wanted]
    if not found and step.key is not None:
        found = _static_child(node, rule, step)
    return [((link, key), child) for key, child in found]


class _Deep:
    """A walk that runs a pattern with `**` in it as an automaton.

    A state is the numbers of the steps that may come next. `**` stays in a state, and
    the step after it may come as well.
    """

    def __init__(self, steps: Sequence[Step], context: Context) -> None:
        self.steps = steps
        self.context = context
        self.end = len(steps)
        self.leaf_types: set[type] | frozenset[type] = (
            frozenset() if context.stop is not None else context.view.leaf_types
        )
        self.closures: dict[tuple[int, ...], tuple[int, ...]] = {}
        self.tables: dict[tuple[int, ...], Any] = {}

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

    def table(self, states: tuple[int, ...]) -> Any:
        """Return where the automaton goes from a state.

        Returns:
            The steps that stay, as they are `**`; the other steps, each after the
            number of the next one; and if all of these match one name each, the next
            state after each name.
        """
        known = self.tables.get(states)
        if known is None:
            steps = self.steps
            stay = tuple([s for s in states if s < self.end and steps[s] is DEEP])
            moves = [s for s in states if s < self.end and s not in stay]
            names: dict[Any, tuple[int, ...]] | None = None
            if all(steps[s].is_direct for s in moves):
                names = {}
                for s in moves:
                    name = steps[s].name
                    names[name] = (*names.get(name, stay), s + 1)
                names = {name: self.closure(after) for name, after in names.items()}
            known = stay, [(s + 1, steps[s]) for s in moves], names
            self.tables[states] = known
        return known

    def find(self, tree: Any) -> list[Place]:
        """Return the places, a node before those below it."""
        end, rule_of, leaf_types = self.end, self.context.rule_of, self.leaf_types
        leaves_only = self.steps[-1] is DEEP
        found, unchecked = [], [tree]
        stack: list[tuple[Any, Any, tuple[int, ...], int]] = [
            ((), tree, self.closure((0,)), 0)
        ]
        while stack:
            link, node, states, depth = stack.pop()
            rule = None if type(node) in leaf_types else rule_of(node, link)
            if end in states and (rule is None or not leaves_only):
                found.append(Place(link, node))
            if rule is None or states == (end,):
                continue
            if depth == DEPTH_IN_DOUBT:
                check_cycles(unchecked, self.context)
            stack += self.below(link, node, rule, states, depth + 1)[::-1]
        return found

    def below(
        self, link: Any, node: Any, rule: Rule, states: tuple[int, ...], depth: int
    ) -> list[tuple[Any, Any, tuple[int, ...], int]]:
        """Return the children in which the walk goes on."""
        kept, moves, known = self.table(states)
        names: Any = known
        end, leaf_types, stay = self.end, self.leaf_types, self.closure(kept)
        by_name = isinstance(names, dict) and rule.reads_items and rule.is_mapping
        if (
            by_name
            and end not in stay
            and leaf_types.issuperset(map(type, node.values()))
        ):
            hits = [name for name in names if name in node]
            if len(hits) < 2:  # else they have an order
                return [((link, n), node[n], names[n], depth) for n in hits]
        found = []
        for key, child, raw in _children(node, rule):
            if by_name:
                after = names.get(key, stay)
            else:
                moved = tuple([n for n, step in moves if step.matches(child, raw)])
                after = self.closure(kept + moved) if moved else stay
            if after and (type(child) not in leaf_types or end in after):
                found.append(((link, key), child, after, depth))
        return found
