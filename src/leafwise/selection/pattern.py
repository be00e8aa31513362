"""Selectors: all the ways to pick nodes and leaves of a tree.

A selector picks *targets*: nodes or leaves of a tree, in leaf order. Whatever is at or
below a target is its region; `&` and `~` work on regions. Owns what may be a selector,
and the error when one has no match. Patterns are parsed and matched in `find`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Sequence
from operator import index
from typing import Any, Final, NoReturn

from ..core.keypath import KeyPath, keystr
from ..core.keys import literal
from ..core.registry import GLOBAL, View, view_of
from ..core.treedef import PyTreeDef
from ..equality.exact import is_array_like
from ..errors import EditError, PathError
from ..ops.context import Context, plain_context, stopping_context
from ..ops.inspect import how_to_register
from ..safely import brief, class_name, clip, nearest, printed, type_name
from .find import (
    DEEP,
    Place,
    Step,
    find,
    keys_of,
    leaf_places,
    parse,
    static_names,
    step_of,
)


class Selector:
    """A selector picks nodes or leaves of a tree; combine them with `&`, `|` and `~`.

    `a | b` picks the targets of `a` and of `b`. `a & b` picks what is in a target of
    both. `~a` picks all leaves that are in no target of `a`. `selector(...)` returns a
    `Selector`.

    Attributes:
        text: The selector as it was written, or a description.
        is_single: Whether its form allows at most one match.
        is_level: Whether all targets have the same depth, so that none is inside
            another.
        may_be_empty: Whether it may have no match.

    Example:
        >>> import leafwise as lw
        >>> tree = {"a": {"w": 1, "b": 2}, "c": {"w": 3}}
        >>> lw.at(tree)[lw.selection.selector("**.w") & "a"].get()
        [1]
        >>> lw.at(tree)[~lw.selection.selector("a")].get()
        [3]
    """

    __slots__ = ("_find", "is_level", "is_single", "may_be_empty", "text")

    def __init__(
        self,
        text: str,
        find: Callable[[Any, Context], list[Place]],
        *,
        may_be_empty: bool = False,
    ) -> None:
        self.text = text
        self._find = find
        self.is_single = self.is_level = False
        self.may_be_empty = may_be_empty

    def targets(self, tree: Any, context: Context) -> list[Place]:
        """Return the targets in a tree."""
        return self._find(tree, context)

    def split_last(self) -> tuple[Selector, Any]:
        """Return the selector of the parents, and the last key (a str for a name).

        Raises:
            EditError: The selector does not end in a single key.
        """
        raise EditError(
            f"cannot insert at {self.text!r}: its last step is not a single key"
        )

    def explain_miss(self, start: Place, context: Context) -> str:
        """Describe the tree at and below a place where the selector has no match.

        Args:
            start: The place.
            context: The context below it.
        """
        leaves, _ = context.flatten(start.value)
        return f"the tree has {_count(len(leaves))}, no match among them"

    def __and__(self, other: Any) -> Selector:
        return _both(self, selector(other))

    __rand__ = __and__

    def __or__(self, other: Any) -> Selector:
        return _either((self, selector(other)))

    def __ror__(self, other: Any) -> Selector:
        return _either((selector(other), self))

    def __invert__(self) -> Selector:
        return _outside(self)

    def __repr__(self) -> str:
        return f"<selector {self.text}>"


# ----------------------------------------------------------------- kinds of selectors


class _Path(Selector):
    """Places whose path matches a pattern."""

    __slots__ = ("steps",)

    def __init__(self, text: str, steps: Sequence[Step]) -> None:
        super().__init__(text, lambda tree, context: find(tree, steps, context))
        self.steps = steps
        self.is_single = all(step.key is not None for step in steps)
        self.is_level = DEEP not in steps

    def split_last(self) -> tuple[Selector, Any]:
        if not self.steps or self.steps[-1].key is None:
            return super().split_last()
        return _Path(self.text, self.steps[:-1]), self.steps[-1].key

    def explain_miss(self, start: Place, context: Context) -> str:
        if DEEP in self.steps:
            paths = context.flatten(start.value)[1].paths()
            last = self.text.rpartition(".")[2].strip("[]'\"@*")
            names = {keystr(p[-1:], simple=True): p for p in paths[_SEARCHED::-1]}
            near = nearest(last, names)[:_SHOWN]
            shown = brief(str(names[name]) or "the root" for name in near)
            return f"the tree has {_count(len(paths))}{shown and f'; nearest: {shown}'}"
        above = [Place((), start.value)]
        for done, step in enumerate(self.steps, start=1):
            below = find(start.value, self.steps[:done], context)
            if not below:
                rest = ".".join(one.text for one in self.steps[done - 1 :])
                return _nearest_keys(step.text, rest, above[0], context)
            above = below
        return "the tree is empty"


def _leaves(text: str, test: Callable[..., object], *, takes_path: bool) -> Selector:
    """Return the selector of leaves that pass a test, of value or of path and value."""

    def found(tree: Any, context: Context) -> list[Place]:
        leaves, treedef = context.flatten(tree)
        if not takes_path:
            chosen = [number for number, leaf in enumerate(leaves) if test(leaf)]
            return leaf_places(leaves, treedef, chosen)
        pairs, root = zip(treedef.paths(), leaves, strict=True), context.root
        return [Place(path, leaf) for path, leaf in pairs if test(root + path, leaf)]

    return Selector(text, found)


def _of_types(types: tuple[type, ...]) -> Selector:
    """Return the selector of the outermost nodes or leaves that are of some types."""
    names = " or ".join(class_name(cls, qualified=False) for cls in types)

    def found(tree: Any, context: Context) -> list[Place]:
        if context.stop is None and all(type(cls) is type for cls in types):
            context = stopping_context(context.view, types)
        else:
            context = context.also_stopping(lambda node: isinstance(node, types))
        leaves, treedef = context.flatten(tree)
        chosen = [n for n, leaf in enumerate(leaves) if isinstance(leaf, types)]
        return leaf_places(leaves, treedef, chosen)

    return Selector(f"of type {names}", found)


def _mask(treedef: PyTreeDef, parts: Sequence[bool | Selector]) -> Selector:
    """Return the selector of a tree of bools and selectors, a prefix of the tree.

    It picks all of a subtree for True, nothing for False, and what a selector picks in
    the subtree.
    """
    also = "" if _BOOL.issuperset(map(type, parts)) else " and predicates"

    def found(tree: Any, context: Context) -> list[Place]:
        values = treedef.flatten_up_to(tree)
        places: list[Place] = []
        for path, part, value in zip(treedef.paths(), parts, values, strict=True):
            if isinstance(part, Selector):
                places += follow(Place(path, value), part, context)
            elif part:
                places.append(Place(path, value))
        return places

    return Selector(f"a tree of bools{also}", found)


def _either(parts: Sequence[Selector]) -> Selector:
    """Return the selector of the targets of several selectors, each once."""

    def found(tree: Any, context: Context) -> list[Place]:
        return unique([x for part in parts for x in part.targets(tree, context)])

    text = " | ".join(part.text for part in parts)
    return Selector(text, found, may_be_empty=not parts)


def _both(*parts: Selector) -> Selector:
    """Return the selector of what is in a target of both of two selectors."""

    def found(tree: Any, context: Context) -> list[Place]:
        first, second = (part.targets(tree, context) for part in parts)
        in_first, in_second = Region(first), Region(second)
        found = [place for place in first if place.path in in_second]
        found += [place for place in second if place.path in in_first]
        return unique(found)

    return Selector(" & ".join(f"({part.text})" for part in parts), found)


def _outside(part: Selector) -> Selector:
    """Return the selector of the leaves that are in no target of a selector."""

    def found(tree: Any, context: Context) -> list[Place]:
        region = Region(part.targets(tree, context))
        leaves, treedef = context.flatten(tree)
        pairs = zip(treedef.paths(), leaves, strict=True)
        return [Place(path, leaf) for path, leaf in pairs if path not in region]

    return Selector(f"~({part.text})", found)


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
    if type(what) is str:
        return _of_text(what)
    if isinstance(what, Selector):
        return what
    if type(what) is tuple or type(what) is list:
        if what and all(isinstance(item, type) for item in what):
            return _of_types(tuple(what))
        if all(isinstance(x, _IN_TUPLES) and type(x) is not bool for x in what):
            return _either([read_selector(item, view) for item in what])
    if view.resolve(type(what)) is None:
        return _of_leaf(what)
    leaves, treedef = plain_context(view).flatten(what)
    if _BOOL.issuperset(map(type, leaves)):
        return _mask(treedef, leaves)
    parts: list[bool | Selector] = []
    for leaf in leaves:
        if isinstance(leaf, Selector | re.Pattern) or callable(leaf):
            parts.append(read_selector(leaf, view))
        elif leaf is None or _is_flag(leaf):  # None where it is a leaf of the tree too
            parts.append(bool(leaf))
        else:
            raise _no_selector(what, leaf)
    return _mask(treedef, parts)


_IN_TUPLES: Final = (str, int, slice, KeyPath, Selector, re.Pattern)


def is_function(what: Any, view: View) -> bool:
    """Return whether a value is a function and not a node that is callable."""
    return callable(what) and view.resolve(type(what)) is None


def _of_leaf(what: Any) -> Selector:
    """Return the selector of a value that is not a node.

    Raises:
        PathError: The string is not a valid pattern.
        TypeError: The value cannot be a selector.
    """
    if isinstance(what, str):
        return _of_text(str.__str__(what))
    if isinstance(what, int) and type(what) is not bool:
        return _of_text(f"[{literal(int(what))}]")
    if isinstance(what, slice):
        bounds = [what.start, what.stop, what.step]
        if all(x is None or hasattr(type(x), "__index__") for x in bounds):
            texts = ["" if x is None else str(index(x)) for x in bounds]
            return _of_text(f"[{':'.join(texts)}]")
    if isinstance(what, KeyPath):
        return _Path(what.where(), [step_of(key) for key in what])
    if isinstance(what, re.Pattern):
        search = what.search
        found = lambda path, _leaf: search(str(path))  # noqa: E731
        return _leaves(repr(what.pattern), found, takes_path=True)
    if isinstance(what, type):
        return _of_types((what,))
    if callable(what):
        name = getattr(what, "__name__", type(what).__name__)
        return _leaves(f"where {name}", what, takes_path=_takes_path(what))
    if _is_flag(what):
        return _mask(PyTreeDef.leaf(), [bool(what)])
    raise _no_selector(what, what)


@functools.lru_cache(maxsize=1024)
def _of_text(text: str) -> Selector:
    """Return the selector of a pattern, the same one each time."""
    return _Path(text, parse(text))


def along(steps: Sequence[Step]) -> Selector:
    """Return the selector of some steps of a pattern."""
    return _Path(".".join(step.text for step in steps), steps)


def _takes_path(what: Callable[..., object]) -> bool:
    """Return whether a predicate needs two arguments, path and leaf."""
    try:
        import inspect  # and with it ast, dis and tokenize

        parameters = inspect.signature(what).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = (
        p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    )
    return sum(p.default is p.empty for p in positional) >= 2


_BOOL: Final = frozenset({bool})


def _is_flag(value: Any) -> bool:
    """Return whether a value is a bool, of Python or of any array library."""
    if type(value) is bool:
        return True
    return (
        is_array_like(value)
        and tuple(value.shape) == ()
        and str(value.dtype).rpartition(".")[2] in ("bool", "bool_")
    )


def _no_selector(what: Any, wrong: Any) -> TypeError:
    name = type(what).__name__
    hint = ""
    if callable(what):
        hint = (
            f"; {name} is a node type, so this is read as a tree and not as a "
            "predicate: to use a predicate, pass a function that calls it"
        )
    got = clip(what) if wrong is what else f"{name} that contains {clip(wrong)}"
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
        fail(what, Place((), tree), context)
    return found


def fail(what: Selector, start: Place, context: Context) -> NoReturn:
    """Raise the error for a selector that has no match below a place.

    Raises:
        PathError: Always.
    """
    reason = what.explain_miss(start, context.below(start.path))
    raise PathError(f"no match for {what.text!r}: {reason}")


def follow(start: Place, what: Selector, context: Context) -> list[Place]:
    """Return the targets of a selector below a place, with paths from the root."""
    found = what.targets(start.value, context.below(start.path))
    if not start.path:
        return found
    return [Place(start.path + place.path, place.value) for place in found]


_SHOWN: Final = 5
_SEARCHED: Final = 2000


def _nearest_keys(text: str, rest: str, place: Place, context: Context) -> str:
    node, where = place.value, (context.root + place.path).where()
    rule = context.rule_of(node, place.path)
    if rule is None:
        hint = how_to_register(type(node))
        return f"{where} is a leaf: {clip(node)}" + (hint and f"; {hint}")
    keys = [printed(key) for key in keys_of(node, rule)]
    keys += [f".{name}" for name in static_names(node, rule)]
    kind = type_name(node)
    if not keys:
        return f"the {kind} at {where} is empty"
    near = nearest(text, keys)
    more = f" and {len(keys) - _SHOWN} more" if len(keys) > _SHOWN else ""
    quoted = f"[{rest!r}]"
    hint = f"; write {quoted} for the key with a dot" if quoted in keys else ""
    return f"the {kind} at {where} has {brief(near[:_SHOWN])}{more}{hint}"


def _count(number: int) -> str:
    return "one leaf" if number == 1 else f"{number} leaves"


def with_article(name: str) -> str:
    """Return the name of a class after "a" or "an"."""
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"
