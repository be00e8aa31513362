"""Selectors: all the ways to pick nodes and leaves of a tree, patterns among them.

A selector picks *targets*: nodes or leaves of a tree, in leaf order. Whatever is at or
below a target is its region; `&` and `~` work on regions.

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
the root. Owns what may be a selector, and the error when one has no match.
"""

from __future__ import annotations

import fnmatch
import functools
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import index
from typing import Any, Final, NamedTuple, TypeAlias

from .._runtime import late_imports
from .._text import (
    FAULTS,
    escape_controls,
    is_similar,
    join_names,
    nearest_names,
    other_type,
    safe_str,
    short_repr,
)
from ..core.builtins import ContainerRule, MappingRule, SequenceRule
from ..core.context import Context, path_of, plain_context, stopping_context
from ..core.keypath import KeyPath, keystr, parse_literal
from ..core.keys import DictKey, FlattenedIndexKey, GetAttrKey, SequenceKey, literal
from ..core.node import Rule
from ..core.registry import GLOBAL, View, view_of
from ..core.treedef import PyTreeDef
from ..core.walk import flatten, locate
from ..equality.exact import is_array_like
from ..errors import EditError, PathError
from ..ops.inspect import how_to_register


_KINDS: Final[dict[Any, str]] = {
    SequenceKey: "position",
    DictKey: "key",
    GetAttrKey: "attribute",
    FlattenedIndexKey: "position",
}


def key_kind(key: Any) -> str:
    """Return the kind of a key: `position`, `key`, `attribute` or `other`."""
    return _KINDS.get(type(key), "other")


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
        is_direct: Whether a dict may be asked for its key.
    """

    text: str
    test: Test
    key: Any = None
    having: tuple[str, str] | None = None
    is_direct: bool = False

    @property
    def name(self) -> str | None:
        """The only name that it matches, else None."""
        name = getattr(self.key, "name", self.key)
        return name if type(name) is str else None

    def matches(self, child: Any, raw: Raw) -> bool:
        """Return whether it matches a child with this key."""
        if not self.test(*raw):
            return False
        if self.having is None:
            return True
        key, text = self.having
        is_mapping = isinstance(child, Mapping)
        found = child.get(key, ...) if is_mapping else getattr(child, key, ...)
        if found is None or type(found) is bool:
            return text == {None: "null", False: "false", True: "true"}[found]
        return isinstance(found, str | int | float) and str(found) == text


def _any(_kind: str, _value: Any, _place: int, _count: int) -> bool:
    return True


def _any_item(kind: str, _value: Any, _place: int, _count: int) -> bool:
    return kind != "attribute"


DEEP: Final = Step("**", _any)
"""Any number of keys."""
ANY: Final = Step("*", _any)
"""Any key."""
END: Final = SequenceKey(sys.maxsize)
"""The key of `[+]`, where nothing is."""


# ------------------------------------------------------------------------ tests


def is_number(name: str) -> bool:
    """Return whether a name has only digits, as a position has."""
    return name.isascii() and name.isdigit() and len(name) < 4000


def _named(name: str) -> Test:
    """Return the test of a name, which may have wildcards."""
    if "*" in name or "?" in name:  # not brackets, which a name cannot have
        matches = re.compile(fnmatch.translate(name)).match

        def is_like(_kind: str, value: Any, _place: int, _count: int) -> bool:
            try:
                return matches(str(value)) is not None
            except FAULTS:  # a key that has no text matches no name
                return False

        return is_like
    number = int(name) if is_number(name) else None

    def test(kind: str, value: Any, _place: int, _count: int) -> bool:
        if isinstance(value, str):
            return value == name and (number is not None or kind != "position")
        return number is not None and type(value) is int and value == number

    return test


def _exactly(wanted: Any, kind: str = "key") -> Test:
    """Return the test of what one key has: its kind, and what is in it.

    An int is a position or a key. NaN equals nothing, so its text counts.
    """
    cls = type(wanted)
    text = literal(wanted) if cls in (float, complex, tuple) else None

    def test(found: str, value: Any, place: int, count: int) -> bool:
        if cls is int and found == "position":
            return bool(place == (wanted + count if wanted < 0 else wanted))
        fits = isinstance(value, cls) and isinstance(value, bool) is (cls is bool)
        if not fits or found != kind:
            return False
        return bool(value == wanted or (text and literal(value) == text))

    return test


def _one_of(tests: Iterable[Test]) -> Test:
    known = [*tests]
    return lambda *key: any(test(*key) for test in known)


def step_of(key: Any, text: str | None = None) -> Step:
    """Return the step that matches only this key, as it was written or is printed."""
    kind = key_kind(key)
    test = _exactly(getattr(key, "entry", key), "key" if kind == "position" else kind)
    return Step(str(key) if text is None else text, test, key)


# ---------------------------------------------------------------------- parsing

QUOTED: Final = r"(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
"""A string in quotes, as a regular expression."""
_STRING: Final = re.compile(QUOTED, re.DOTALL)
_BRACES: Final = re.compile(r"\{[^\[\].{}@,]+(?:,[^\[\].{}@,]+)*\}")
_BRACKETS: Final = re.compile(rf"\[((?:[^\[\]'\"]|{QUOTED})*)(\]?)", re.DOTALL)
_BOUND: Final = r"\s*(-?[0-9]{1,4000})?\s*"
_RANGE: Final = re.compile(rf"{_BOUND}:{_BOUND}(?::\s*(-?[1-9][0-9]{{,3999}})?\s*)?")
_FLAT: Final = re.compile(r"<flat index ([0-9]{1,4000})>")
_HAVING: Final = re.compile(r"\s*([^\W\d][\w-]*)\s*=\s*(.*?)\s*")


def parse(text: str, sep: str = ".") -> tuple[Step, ...]:
    """Read a pattern.

    Args:
        text: The pattern; the empty text is the root.
        sep: What stands between names.

    Raises:
        PathError: The text is not a pattern; the message points to the place.

    Example:
        >>> from leafwise.selection.select import parse
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
    word = re.compile(rf"(?:(?!{re.escape(sep)})[^\[\]{{}},@])*")
    while place < len(text):
        if text[place] == "[":
            step, place = _in_brackets(text, place)
        else:
            is_separated = text.startswith(sep, place)
            if place and not is_separated:
                why = f"a step begins with {sep} or [; other keys need quotes: ['a@b']"
                raise _error(text, place, why)
            step, place = _name(text, place + is_separated * len(sep), word)
        steps.append(step)
    return tuple(steps)


def _name(text: str, start: int, word: re.Pattern[str]) -> tuple[Step, int]:
    """Read the name, or the names in braces, that begin at a place.

    Args:
        text: The pattern.
        start: The place.
        word: Matches up to what is special.
    """
    first = text[start : start + 1]
    start += first == "@"
    form = {"'": _STRING, '"': _STRING, "{": _BRACES}.get(first, word)
    found = form.match(text, start)
    if not found or not found[0]:
        braces = "braces hold names, separated by commas"
        whys = {_STRING: "this quote is not closed", _BRACES: braces}
        raise _error(text, start, whys.get(form, "a name is missing here"))
    name, end = found[0], found.end()
    if form is _STRING:
        return step_of(GetAttrKey(_literal(text, start, end)), name), end
    if first == "@":
        return step_of(GetAttrKey(name), f"@{name}"), end
    if name in ("*", "**"):
        return (DEEP if name == "**" else ANY), end
    if "**" in name:
        place = text.index("**", start)
        raise _error(text, place, "** must be a step of its own, between dots")
    if form is _BRACES:
        names = [one.strip() for one in name[1:-1].split(",")]
        return Step(name, _one_of(map(_named, names))), end
    is_like = "*" in name or "?" in name
    is_direct = not is_like and not is_number(name)
    return Step(name, _named(name), None if is_like else name, None, is_direct), end


def _in_brackets(text: str, start: int) -> tuple[Step, int]:
    """Read what is in the brackets that begin at a place."""
    found: Any = _BRACKETS.match(text, start)
    shown, inside, end = found[0], found[1], found.end()
    bare = inside.strip()
    if not found[2]:
        is_quote = text[end : end + 1] in ("'", '"')
        what = "quote" if is_quote else "["
        raise _error(text, end if is_quote else start, f"this {what} is not closed")
    if bare == "*":
        return Step(shown, _any_item), end
    if bare == "+":
        return step_of(END, shown), end
    if flat := _FLAT.fullmatch(inside):
        return step_of(FlattenedIndexKey(int(flat[1])), shown), end
    if bounds := _RANGE.fullmatch(inside):
        span = slice(*[int(bound) if bound else None for bound in bounds.groups()])
        test: Test = lambda kind, _, place, count: (  # noqa: E731
            kind == "position" and place in range(*span.indices(count))
        )
        return Step(shown, test), end
    if having := _HAVING.fullmatch(inside):
        key, value = having.groups()
        if value[:1] in ("'", '"'):
            value = str(_literal(text, start + 1 + having.start(2), end - 1))
        return Step(shown, _any_item, having=(key, value)), end
    wanted = _literal(text, start + 1, end - 1)
    if type(wanted) is tuple and not bare.startswith("("):
        return Step(shown, _one_of(map(_exactly, wanted))), end
    cls: Any = SequenceKey if type(wanted) is int else DictKey
    return step_of(cls(wanted), shown), end


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
        return PathError(
            f"not a pattern: {why}, at character {place}: {short_repr(text)}"
        )
    return PathError(f"not a pattern: {why}\n  {shown}\n  {' ' * (place - begin)}^")


# ------------------------------------------------------------- paths as patterns


def name_of(path: Iterable[Any], sep: str = ".") -> str:
    """Return the name that flat tables have for a path: a pattern that leads there."""
    texts = []
    for key in path:
        name = key.entry if type(key) in (DictKey, GetAttrKey) else None
        if type(name) is not str:
            texts.append(safe_str(key))
        elif _is_plain(name, sep):
            texts.append(sep + name)
        else:
            texts.append(f"[{name!r}]" if type(key) is DictKey else f"{sep}{name!r}")
    return "".join(texts).removeprefix(sep)


@functools.lru_cache(maxsize=4096)
def _is_plain(name: str, sep: str) -> bool:
    """Return whether a pattern, and an override, read a name without quotes."""
    try:
        keys = [step.key for step in parse(name, sep)]
    except PathError:
        return False
    is_open = keys == [name] and (name + sep).find(sep) == len(name)
    is_path = name.isprintable() and name == name.strip() and "=" not in name
    return is_open and is_path and name[0] not in "+~"


def place_text(path: KeyPath) -> str:
    """Return a path for a message, as one writes it in a selector.

    The empty path is "the root". Control characters are escaped.

    Example:
        >>> import leafwise as lw
        >>> from leafwise.selection.select import place_text
        >>> path = lw.KeyPath.parse("['services'][0].image['a.b']")
        >>> place_text(path), place_text(lw.KeyPath())
        ("services[0].image['a.b']", 'the root')
    """
    return escape_controls(name_of(path)) or "the root"


# ---------------------------------------------------------------- places in a tree


class Place:
    """A place in a tree: a path, and the node or leaf there.

    Attributes:
        value: The node or leaf there.
        path: The path from the root.
    """

    __slots__ = ("_link", "value")

    def __init__(self, link: Any, value: Any) -> None:
        """Take a path, or a linked list of keys."""
        self._link = link
        self.value: Any = value

    @property
    def link(self) -> Any:
        """The path from the root, as a linked list of keys."""
        if type(self._link) is not KeyPath:
            return self._link
        link: Any = ()
        for key in self._link:
            link = (link, key)
        return link

    @property
    def path(self) -> KeyPath:
        """The path from the root, made on demand."""
        link = self._link
        if type(link) is not KeyPath:
            link = self._link = path_of(link)
        return link


def leaves_of(tree: Any, context: Context) -> Iterable[tuple[KeyPath, Any]]:
    """Return the leaves of a tree with their paths."""
    leaves, treedef = context.flatten(tree)
    return zip(treedef.paths(), leaves, strict=True)


def call_at(f: Callable[..., Any], values: Iterable[Any], place: Any) -> Any:
    """Call a function for a place; its exceptions get a note of the path.

    Args:
        f: The function.
        values: Its arguments.
        place: Anything with a `path`.
    """
    try:
        return f(*values)
    except EditError:  # which names its path
        raise
    except Exception as error:  # of the user's function, which is told where
        locate(error, place.path)
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


def keys_of(node: Any, rule: Rule) -> Sequence[Any]:
    """Return the keys of a node's children."""
    children, aux = rule.flatten(node)
    return rule.keys(aux, len(children))


def children_of(node: Any, rule: Rule) -> dict[Any, Any]:
    """Return a node's children by key, those of a mapping in its own order."""
    if rule.is_mapping:
        return {DictKey(key): child for key, child in rule.items(node).items()}
    children, aux = rule.flatten(node)
    return dict(zip(rule.keys(aux, len(children)), children, strict=True))


def fields_of(node: Any, rule: Rule) -> dict[GetAttrKey, Any]:
    """Return children and static attributes of an object by key.

    There are none if its children have other keys than names of attributes.
    """
    fields = children_of(node, rule)
    if any(type(key) is not GetAttrKey for key in fields):
        return {}
    for name in rule.attributes.static_names(node):
        fields[GetAttrKey(name)] = getattr(node, name)
    return fields


def has_kinds(node: Any) -> bool:
    """Return whether an object knows which of its attributes or items are data."""
    return hasattr(node, "_leafwise_fields")


def _linked(node: Any, rule: Rule) -> Iterable[tuple[Any, Any]]:
    """Return the children of a node, each after its key in a linked list."""
    children, aux = rule.flatten(node)
    keys: Iterable[Any]
    if isinstance(rule, MappingRule):
        ordered = rule.keys_in(aux).ordered
        keys = [key if type(key) is str else DictKey(key) for key in ordered]
    elif isinstance(rule, SequenceRule):
        keys = range(len(children))
    else:
        keys = rule.keys(aux, len(children))
    return zip(keys, children, strict=True)


def _children(node: Any, pairs: Iterable[Any]) -> Iterator[tuple[Any, Any, Raw]]:
    """Yield each child after its key in a linked list, and with what tests take."""
    listed = [*pairs]
    has_statics = has_kinds(node) and isinstance(node, Sequence)
    count = len(node) if has_statics else len(listed)
    for place, (key, child) in enumerate(listed):
        kind, value, at = "key", key, place
        if type(key) is int:
            kind = "position"
        elif type(key) is not str:
            kind = key_kind(key)
            value = key if kind == "other" else key.entry
            at = key.idx if type(key) is SequenceKey else place
        yield key, child, (kind, value, at, count)


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
        return _find_deep(tree, steps, context)
    places: list[tuple[Any, Any]] = [((), tree)]
    rules = context.view.rules
    for step in steps:
        below: list[tuple[Any, Any]] = []
        name = step.key if step.is_direct and context.stop is None else None
        for link, node in places:
            rule = rules.get(type(node)) if name is not None else None
            if not isinstance(rule, MappingRule):
                below += [((link, key), x) for key, x in _one_step(node, step, context)]
            elif name in node:
                below.append(((link, name), node[name]))
        places = below
    return [Place(link, value) for link, value in places]


def _one_step(node: Any, step: Step, context: Context) -> list[tuple[Any, Any]]:
    """Return the children of a node that a step matches, as `_linked` does."""
    rule = context.rule_of(node)
    if rule is None:
        return []
    is_any_item = step.test is _any_item and step.having is None
    if step.test is _any or (is_any_item and isinstance(rule, ContainerRule)):
        return [*_linked(node, rule)]
    rows = _children(node, _linked(node, rule))
    found = [(key, child) for key, child, raw in rows if step.matches(child, raw)]
    if len(found) > 1 and step.name is not None and rule.is_mapping:
        wanted = step.name, DictKey(step.name)  # not the number with these digits
        found = [pair for pair in found if pair[0] in wanted]
    if not found and step.key is not None:
        static_names = rule.attributes.static_names(node)
        names = [name for name in static_names if name == step.name]
        statics: list[Any] = [(GetAttrKey(name), getattr(node, name)) for name in names]
        if has_kinds(node) and isinstance(node, Mapping):
            statics += [(DictKey(key), value) for key, value in node.items()]
        elif has_kinds(node) and isinstance(node, Sequence):
            statics += enumerate(node)
        rows = _children(node, statics)
        found = [(key, child) for key, child, raw in rows if step.matches(child, raw)]
    return found


def _find_deep(tree: Any, steps: Sequence[Step], context: Context) -> list[Place]:
    """Return the places that a pattern with `**` matches, a node before those below.

    The walk is that of an automaton. Its states are the numbers of the steps that may
    come next: `**` stays in a state, and the step after it may come as well.
    """
    end, leaves_only = len(steps), steps[-1] is DEEP
    leaf_types: Any = context.view.leaf_types if context.stop is None else frozenset()

    @functools.cache
    def opened(states: tuple[int, ...]) -> tuple[int, ...]:
        """Return the states with those after a `**` included."""
        found = {*states}
        for state, step in enumerate(steps):
            if state in found and step is DEEP:
                found.add(state + 1)
        return tuple(found)

    @functools.cache
    def table(states: tuple[int, ...]) -> Any:
        """Return where the automaton goes from some states.

        Returns:
            The states that stay, the other steps, each before the state after it, and
            the only name that leaves can have which are found; None if they have more.
        """
        stay = opened(tuple([s for s in states if s < end and steps[s] is DEEP]))
        moves = [(steps[s], s + 1) for s in states if s < end and steps[s] is not DEEP]
        is_name = len(moves) == 1 and moves[0][0].is_direct and end not in stay
        return stay, moves, moves[0][0].key if is_name else None

    found, unchecked = [], [tree]
    stack: list[tuple[Any, Any, tuple[int, ...], int]] = [((), tree, opened((0,)), 0)]
    while stack:
        link, node, states, depth = stack.pop()
        rule = None if type(node) in leaf_types else context.rule_of(node)
        if end in states and (rule is None or not leaves_only):
            found.append(Place(link, node))
        if rule is None or states == (end,):
            continue
        if depth == DEPTH_IN_DOUBT:
            check_cycles(unchecked, context)
        stay, moves, name = table(states)
        by_name = name is not None and isinstance(rule, MappingRule)
        if by_name and leaf_types.issuperset(map(type, node.values())):
            after = opened((*stay, moves[0][1]))
            if name in node and end in after:
                found.append(Place((link, name), node[name]))
            continue
        below = []
        for key, child, raw in _children(node, _linked(node, rule)):
            moved = [after for step, after in moves if step.matches(child, raw)]
            after = opened((*stay, *moved)) if moved else stay
            if after and (type(child) not in leaf_types or end in after):
                below.append(((link, key), child, after, depth + 1))
        stack += reversed(below)
    return found


# ------------------------------------------------------------------- selectors


Targets: TypeAlias = "Callable[[Any, Context], list[Place]]"


class Selector:
    """A selector picks nodes or leaves of a tree; combine them with `&`, `|` and `~`.

    `a | b` picks the targets of `a` and of `b`. `a & b` picks what is in a target of
    both. `~a` picks all leaves that are in no target of `a`. `selector(...)` returns a
    `Selector`.

    Attributes:
        text: The selector as it was written, or a description.
        targets: Returns the targets in a tree; takes the tree and the context.
        steps: The steps of a pattern or path; None for any other selector.
        is_single: Whether its form allows at most one match.
        may_be_empty: Whether it may have no match.

    Example:
        >>> import leafwise as lw
        >>> tree = {"a": {"w": 1, "b": 2}, "c": {"w": 3}}
        >>> lw.at(tree)[lw.selection.selector("**.w") & "a"].get()
        [1]
        >>> lw.at(tree)[~lw.selection.selector("a")].get()
        [3]
    """

    may_be_empty = False

    def __init__(self, text: str, targets: Targets, steps: Any = None) -> None:
        self.text = text
        self.targets = targets
        self.steps: Sequence[Step] | None = steps
        self.is_single: bool = steps is not None and all(
            step.key is not None for step in steps
        )

    def __and__(self, other: Any) -> Selector:
        parts = self, selector(other)

        def found(tree: Any, context: Context) -> list[Place]:
            first, second = (part.targets(tree, context) for part in parts)
            in_first, in_second = Region(first), Region(second)
            found = [place for place in first if place.path in in_second]
            found += [place for place in second if place.path in in_first]
            return unique(found)

        return Selector(" & ".join(f"({part.text})" for part in parts), found)

    __rand__ = __and__

    def __or__(self, other: Any) -> Selector:
        return _either((self, selector(other)))

    def __ror__(self, other: Any) -> Selector:
        return _either((selector(other), self))

    def __invert__(self) -> Selector:

        def found(tree: Any, context: Context) -> list[Place]:
            region = Region(self.targets(tree, context))
            pairs = leaves_of(tree, context)
            return [Place(path, leaf) for path, leaf in pairs if path not in region]

        return Selector(f"~({self.text})", found)

    def __repr__(self) -> str:
        return f"<selector {self.text}>"


# ----------------------------------------------------------------- kinds of selectors


def along(text: str, steps: Sequence[Step]) -> Selector:
    """Return the selector of the places whose paths match a pattern."""
    return Selector(text, lambda tree, context: find(tree, steps, context), steps)


def _leaves(text: str, test: Callable[[KeyPath, Any], object]) -> Selector:
    """Return the selector of leaves that pass a test, of path and value."""

    def found(tree: Any, context: Context) -> list[Place]:
        pairs, root = leaves_of(tree, context), context.root
        return [
            Place(path, x)
            for path, x in pairs
            if test(root + path if root else path, x)
        ]

    return Selector(text, found)


def _of_types(types: tuple[type, ...]) -> Selector:
    """Return the selector of the outermost nodes or leaves that are of some types."""
    names = " or ".join(cls.__name__ for cls in types)

    def found(tree: Any, context: Context) -> list[Place]:
        if context.stop is None:
            context = stopping_context(context.view, types)
        else:
            context = context.also_stopping(lambda node: isinstance(node, types))
        pairs = leaves_of(tree, context)
        return [Place(path, x) for path, x in pairs if isinstance(x, types)]

    return Selector(f"of type {names}", found)


def _mask(treedef: PyTreeDef, parts: Sequence[bool | Selector]) -> Selector:
    """Return the selector of a tree of bools and selectors, a prefix of the tree.

    It picks all of a subtree for True, nothing for False, and what a selector picks in
    the subtree.
    """

    def found(tree: Any, context: Context) -> list[Place]:
        values = treedef.flatten_up_to(tree)
        places: list[Place] = []
        for path, part, value in zip(treedef.paths(), parts, values, strict=True):
            if isinstance(part, Selector):
                places += follow(Place(path, value), part, context)
            elif part:
                places.append(Place(path, value))
        return places

    return Selector("a tree of bools", found)


def _either(parts: Sequence[Selector]) -> Selector:
    """Return the selector of the targets of several selectors, each once."""

    def found(tree: Any, context: Context) -> list[Place]:
        return unique([x for part in parts for x in part.targets(tree, context)])

    made = Selector(" | ".join(part.text for part in parts), found)
    made.may_be_empty = not parts
    return made


# ------------------------------------------------------------------------- regions


class Region:
    """Whatever is at some places, or below them; paths are `in` it or not."""

    __slots__ = ("_paths", "_sizes")

    def __init__(self, places: Iterable[Place]) -> None:
        self._paths = {place.path for place in places}
        self._sizes = {len(path) for path in self._paths}

    def __contains__(self, path: KeyPath) -> bool:
        paths = self._paths
        if path in paths:
            return True
        return any(path[:size] in paths for size in self._sizes if size < len(path))


def unique(places: Sequence[Place]) -> list[Place]:
    """Return places without duplicates, in their order."""
    known: dict[KeyPath, Place] = {}
    for place in places:
        known.setdefault(place.path, place)
    return [*known.values()]


# ------------------------------------------------------------------- what may be one


def selector(what: Any, *, namespace: str = GLOBAL) -> Selector:
    """Convert a value to a selector.

    Args:
        what: A pattern, see :doc:`selectors </guide/selecting>`; a `KeyPath`; a
            position or a slice; a compiled regular expression, which is searched in the
            text of the path of each leaf; a type or a tuple of types, for the outermost
            values of these types; a predicate on the leaf, or on path and leaf if it
            takes two arguments; a tuple or list of patterns, positions and slices, for
            the targets of all of them, none if it is empty; a selector; or a tree of
            bools, which may be a prefix of the tree. That tree may also have
            predicates, types or selectors instead of bools, for what they pick below. A
            node is read as such a tree, even if it is callable.
        namespace: Where to look up whether a value is a node.

    Raises:
        PathError: The string is not a valid pattern.
        TypeError: The value is not one of these.

    Example:
        >>> import leafwise as lw
        >>> config = {"optim": {"lr": 0.1, "steps": 100}, "name": "run"}
        >>> lw.at(config)[lw.selection.selector("**.s*") | str].items()
        [(KeyPath((DictKey(key='optim'), DictKey(key='steps'))), 100), \
(KeyPath((DictKey(key='name'),)), 'run')]
        >>> large = lw.selection.selector({"optim": lambda x: x > 1, "name": False})
        >>> lw.at(config)[large].get()
        [100]
    """
    return read_selector(what, view_of(namespace))


def read_selector(what: Any, view: View) -> Selector:
    """Turn a value into a selector, with the node types of a view.

    Raises:
        PathError: The string is not a valid pattern.
        TypeError: The value cannot be a selector.
    """
    if isinstance(what, str):
        return _of_text(str.__str__(what))
    if isinstance(what, Selector):
        return what
    if type(what) is tuple or type(what) is list:
        if what and all(isinstance(item, type) for item in what):
            return _of_types(tuple(what))
        if all(isinstance(x, _IN_TUPLES) and type(x) is not bool for x in what):
            return _either([read_selector(item, view) for item in what])
    if view.resolve(type(what)) is not None:
        leaves, treedef = plain_context(view).flatten(what)
        parts: list[bool | Selector] = []
        for leaf in leaves:
            if callable(leaf) or isinstance(leaf, Selector | re.Pattern):
                parts.append(read_selector(leaf, view))
            elif leaf is None or _is_flag(leaf):  # None where it is a leaf of the tree
                parts.append(bool(leaf))
            else:
                raise _no_selector(what, leaf)
        return _mask(treedef, parts)
    if _is_flag(what):
        return _mask(PyTreeDef.leaf(), [bool(what)])
    if isinstance(what, int):
        return _of_text(f"[{int(what)}]")
    if isinstance(what, slice):
        bounds = [what.start, what.stop, what.step]
        texts = ["" if x is None else str(index(x)) for x in bounds]
        return _of_text(f"[{':'.join(texts)}]")
    if isinstance(what, KeyPath):
        return along(place_text(what), [step_of(key) for key in what])
    if isinstance(what, re.Pattern):
        return _leaves(repr(what.pattern), lambda path, _: what.search(str(path)))
    if isinstance(what, type):
        return _of_types((what,))
    if callable(what):
        name = getattr(what, "__name__", type(what).__name__)
        takes_path = _takes_path(what)
        test = what if takes_path else lambda _, leaf: what(leaf)
        return _leaves(f"where {name}", test)
    raise _no_selector(what, what)


_IN_TUPLES: Final = (str, int, slice, KeyPath, Selector, re.Pattern)


def is_function(what: Any, view: View) -> bool:
    """Return whether a value is a function and not a node that is callable."""
    return callable(what) and view.resolve(type(what)) is None


@functools.lru_cache(maxsize=1024)
def _of_text(text: str) -> Selector:
    """Return the selector of a pattern, the same one each time."""
    return along(text, parse(text))


def _takes_path(what: Callable[..., object]) -> bool:
    """Return whether a predicate needs two arguments, path and leaf."""
    try:
        with late_imports:
            import inspect  # and with it ast, dis and tokenize

        parameters = inspect.signature(what).parameters.values()
    except (TypeError, ValueError):
        return False
    kinds = [p.kind for p in parameters if p.default is p.empty]
    return sum(kind <= inspect.Parameter.POSITIONAL_OR_KEYWORD for kind in kinds) >= 2


def _is_flag(value: Any) -> bool:
    """Return whether a value is a bool, of Python or of any array library."""
    return type(value) is bool or (
        is_array_like(value)
        and tuple(value.shape) == ()
        and str(value.dtype).rpartition(".")[2] in ("bool", "bool_")
    )


def _no_selector(what: Any, wrong: Any) -> TypeError:
    got = (
        short_repr(what)
        if wrong is what
        else f"{type(what).__name__} that has {short_repr(wrong)}"
    )
    hint = "; it is a node, so it is read as a tree and not called" * callable(what)
    return TypeError(
        "a selector is a pattern, a KeyPath, a regular expression, a type, a "
        f"predicate, or a tree of bools and predicates; got {got}{hint}"
    )


# -------------------------------------------------------------------------- errors


def require(
    what: Selector, tree: Any, context: Context, *, missing_ok: bool = False
) -> list[Place]:
    """Return the targets of a selector.

    Raises:
        PathError: There are none, and `missing_ok` is not set; the message names what
            is similar.
    """
    found = what.targets(tree, context)
    if not (found or missing_ok or what.may_be_empty):
        raise no_match(what, Place((), tree), context)
    return found


def no_match(what: Selector, start: Place, context: Context) -> PathError:
    """Return the error for a selector that has no match below a place."""
    context = context.below(start.path)
    if what.steps is None or DEEP in what.steps:
        reason = _nearest_leaves(what.steps, start.value, context)
    else:
        reason = _first_missing(what.steps, start.value, context)
    return PathError(f"no match for {what.text!r}: {reason}")


def _nearest_leaves(steps: Sequence[Step] | None, tree: Any, context: Context) -> str:
    """Say which leaves there are instead of those of a selector."""
    paths = context.flatten(tree)[1].paths()
    text = f"the tree has {len(paths)} {'leaf' if len(paths) == 1 else 'leaves'}"
    if steps is None:
        return f"{text}, no match among them"
    if not paths:
        return text
    last = steps[-1].text.strip("[]'\"@*")
    by_name = {keystr(path[-1:], simple=True): path for path in paths[_SEARCHED::-1]}
    nearest = nearest_names(last, by_name)[:_SHOWN]
    places = [place_text(by_name[name]) for name in nearest]
    return f"{text}; nearest: {join_names(places)}"


def _first_missing(steps: Sequence[Step], tree: Any, context: Context) -> str:
    """Say which keys there are where the first step of a pattern has no match."""
    place = Place((), tree)
    depth = 0
    while places := find(tree, steps[: depth + 1], context):
        place = places[0]
        depth += 1
    node = place.value
    where = place_text(context.root + place.path)
    rule = context.rule_of(node)
    if rule is None:
        hint = how_to_register(type(node))
        return f"{where} is a leaf: {short_repr(node)}" + (hint and f"; {hint}")
    keys = list(keys_of(node, rule))
    entries = [getattr(key, "entry", key) for key in keys]
    keys += [GetAttrKey(name) for name in rule.attributes.static_names(node)]
    if not keys:
        return f"the {type(node).__name__} at {where} is empty"
    names = [escape_controls(name_of((key,))) for key in keys]
    if type(node) is list and all(type(x) is dict and "name" in x for x in node):
        names = [f"[name={short_repr(item['name'])}]" for item in node]
    step = steps[depth]
    nearest = few(nearest_names(step.text, names))
    text = f"the {type(node).__name__} at {where} has {nearest}"
    dotted = f"[{'.'.join(step.text for step in steps[depth:])!r}]"
    if dotted in names:
        return f"{text}; write {dotted} for the key with a dot"
    likeness = other_type(getattr(step.key, "entry", step.key), entries)
    if step.key is not None and likeness:
        return f"{text}; {likeness}"
    correction = _correction(steps, depth, node, keys, context)
    return f"did you mean {correction}? {text}" if correction else text


def _correction(
    steps: Sequence[Step],
    depth: int,
    node: Any,
    keys: Iterable[Any],
    context: Context,
) -> str:
    """Return a pattern without its misspelled name, "" if no key is like that name.

    Args:
        steps: The pattern.
        depth: Which step has no match.
        node: Where the steps before it lead.
        keys: The keys of the node.
        context: What is a leaf.
    """
    name = steps[depth].name
    if name is None:
        return ""
    entries = {getattr(key, "entry", None): key for key in keys}
    nearest = nearest_names(name, [one for one in entries if type(one) is str])
    if not nearest or not _is_misspelled(name, nearest[0]):
        return ""
    key = entries[nearest[0]]
    texts = [step.text for step in steps[:depth]]
    texts.append(name_of((key,)))
    below = steps[depth + 1 :]
    if find(node, (step_of(key), *below), context):
        texts += [step.text for step in below]
    pattern = "".join(text if text[0] == "[" else f".{text}" for text in texts)
    return escape_controls(pattern.removeprefix("."))


def _is_misspelled(name: str, other: str) -> bool:
    """Return whether a name is probably another one, such as `rl` for `lr`."""
    return is_similar(name, other) or sorted(name.lower()) == sorted(other.lower())


def follow(start: Place, what: Selector, context: Context) -> list[Place]:
    """Return the targets of a selector below a place, with paths from the root."""
    if not start._link:  # the root
        return what.targets(start.value, context)
    found = what.targets(start.value, context.below(start.path))
    return [Place(start.path + place.path, place.value) for place in found]


_SHOWN: Final = 5
_SEARCHED: Final = 2000


def few(names: Sequence[str]) -> str:
    """Return the first names in one text, and how many more there are."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return join_names(names[:_SHOWN]) + more


def with_article(name: str) -> str:
    """Return the name of a class after "a" or "an"."""
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"
