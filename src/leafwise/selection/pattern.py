"""Selectors: all the ways to say which places of a tree are meant.

A selector means *targets*: nodes or leaves of a tree, in leaf order. What stands at
or below a target is its region; `&` and `~` work on regions. Owns what may be a
selector, and the error when one means nothing. Patterns are read in `grammar` and
found in `find`.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from ..core.auxdata import clip
from ..core.keypath import KeyPath, keystr
from ..core.near import brief, nearest
from ..core.safely import class_name, printed, type_name
from ..core.treedef import PyTreeDef
from ..errors import EditError, PathError
from ..ops.basic import tree_flatten
from ..ops.outlook import asks_to_stop, take_apart
from .find import Place, Scope, find, keys_of, leaf_places, static_names
from .grammar import DEEP, Step, parse, step_of


__all__ = [
    "Region",
    "Selector",
    "along",
    "fail",
    "follow",
    "require",
    "selector",
    "unique",
]


class Selector:
    """Which places of a tree are meant; `&`, `|` and `~` join selectors.

    `a | b` means the targets of both; `a & b` what is in a target of both; `~a` all
    leaves that are in no target of `a`. `selector(...)` makes one.

    Attributes:
        text: What it is, in words or as it was written.
        means_one: Whether it means one place at most, by its form.

    Example:
        >>> import leafwise as lw
        >>> tree = {"a": {"w": 1, "b": 2}, "c": {"w": 3}}
        >>> lw.select(tree, lw.selector("**.w") & "a").get()
        [1]
        >>> lw.select(tree, ~lw.selector("a")).get()
        [3]
    """

    __slots__ = ("means_one", "text")

    def __init__(self, text: str, *, means_one: bool = False) -> None:
        self.text = text
        self.means_one = means_one

    def targets(self, tree: Any, scope: Scope) -> list[Place]:
        """Return the targets in a tree."""
        raise NotImplementedError

    def split_last(self) -> tuple[Selector, Any]:
        """Return what means the nodes above, and the last key; a name is a str.

        Raises:
            EditError: The selector does not end in one key.
        """
        raise EditError(f"{self.text!r} does not say where to insert: give a path")

    def there_is(self, start: Place, scope: Scope) -> str:
        """Say what there is below a place where the selector means nothing."""
        leaves, _ = take_apart(start.value, scope.view, scope.stop)
        return f"the tree has {_count(len(leaves))}, and it means none"

    def __and__(self, other: Any) -> Selector:
        return _Both(self, selector(other))

    __rand__ = __and__

    def __or__(self, other: Any) -> Selector:
        return _Either((self, selector(other)))

    def __ror__(self, other: Any) -> Selector:
        return _Either((selector(other), self))

    def __invert__(self) -> Selector:
        return _Outside(self)

    def __repr__(self) -> str:
        return f"<selector {self.text}>"


# ----------------------------------------------------------------- sorts of selectors


class _Path(Selector):
    """Places whose path has a form."""

    __slots__ = ("steps",)

    def __init__(self, text: str, steps: Sequence[Step]) -> None:
        super().__init__(text, means_one=all(step.key is not None for step in steps))
        self.steps = steps

    def targets(self, tree: Any, scope: Scope) -> list[Place]:
        return find(tree, self.steps, scope)

    def split_last(self) -> tuple[Selector, Any]:
        if not self.steps or self.steps[-1].key is None:
            return super().split_last()
        return _Path(self.text, self.steps[:-1]), self.steps[-1].key

    def there_is(self, start: Place, scope: Scope) -> str:
        if DEEP in self.steps:
            treedef = take_apart(start.value, scope.view, scope.stop)[1]
            return _nearest_leaves(self.text, treedef)
        above = [Place((), start.value)]
        for done, step in enumerate(self.steps, start=1):
            below = find(start.value, self.steps[:done], scope)
            if not below:
                last = Place(start.path + above[0].path, above[0].value)
                return _nearest_keys(step.text, last, scope)
            above = below
        return "the tree is empty"


class _Leaves(Selector):
    """Leaves of which something holds, by path and value."""

    __slots__ = ("test",)

    def __init__(self, text: str, test: Callable[[KeyPath, Any], object]) -> None:
        super().__init__(text)
        self.test = test

    def targets(self, tree: Any, scope: Scope) -> list[Place]:
        leaves, treedef = take_apart(tree, scope.view, scope.stop)
        pairs = zip(treedef.paths(), leaves, strict=True)
        return [Place(path, leaf) for path, leaf in pairs if self.test(path, leaf)]


class _Values(Selector):
    """Leaves of which something holds."""

    __slots__ = ("test",)

    def __init__(self, text: str, test: Callable[[Any], object]) -> None:
        super().__init__(text)
        self.test = test

    def targets(self, tree: Any, scope: Scope) -> list[Place]:
        leaves, treedef = take_apart(tree, scope.view, scope.stop)
        chosen = [number for number, leaf in enumerate(leaves) if self.test(leaf)]
        return leaf_places(leaves, treedef, chosen)


class _OfType(Selector):
    """The outermost nodes or leaves that are of some types."""

    __slots__ = ("types",)

    def __init__(self, types: tuple[type, ...]) -> None:
        super().__init__(
            f"of type {' or '.join(class_name(cls, qualified=False) for cls in types)}"
        )
        self.types = types

    def targets(self, tree: Any, scope: Scope) -> list[Place]:
        types, stop, view = self.types, scope.stop, scope.view
        if stop is None and all(type(cls) is type for cls in types):
            leaves, treedef = take_apart(tree, view.stopping_at(types), None)
        else:
            leaves, treedef = take_apart(
                tree,
                view,
                lambda node: isinstance(node, types) or asks_to_stop(stop, node),
            )
        chosen = [n for n, leaf in enumerate(leaves) if isinstance(leaf, types)]
        return leaf_places(leaves, treedef, chosen)


class _Mask(Selector):
    """What stands where a tree of bools, or a prefix of one, has True."""

    __slots__ = ("mask",)

    def __init__(self, mask: Any) -> None:
        super().__init__("a tree of bools")
        self.mask = mask

    def targets(self, tree: Any, scope: Scope) -> list[Place]:
        flags, treedef = take_apart(self.mask, scope.view, None)
        values = treedef.flatten_up_to(tree)
        rows = zip(treedef.paths(), flags, values, strict=True)
        return [Place(path, value) for path, flag, value in rows if flag]


class _Either(Selector):
    """The targets of several selectors, each once."""

    __slots__ = ("parts",)

    def __init__(self, parts: Sequence[Selector]) -> None:
        super().__init__(" | ".join(part.text for part in parts))
        self.parts = parts

    def targets(self, tree: Any, scope: Scope) -> list[Place]:
        found = [place for part in self.parts for place in part.targets(tree, scope)]
        return unique(found)


class _Both(Selector):
    """What is in a target of both of two selectors."""

    __slots__ = ("parts",)

    def __init__(self, *parts: Selector) -> None:
        super().__init__(" & ".join(f"({part.text})" for part in parts))
        self.parts = parts

    def targets(self, tree: Any, scope: Scope) -> list[Place]:
        first, second = (part.targets(tree, scope) for part in self.parts)
        in_first, in_second = Region(first), Region(second)
        found = [place for place in first if place.path in in_second]
        found += [place for place in second if place.path in in_first]
        return unique(found)


class _Outside(Selector):
    """The leaves that are in no target of a selector."""

    __slots__ = ("part",)

    def __init__(self, part: Selector) -> None:
        super().__init__(f"~({part.text})")
        self.part = part

    def targets(self, tree: Any, scope: Scope) -> list[Place]:
        region = Region(self.part.targets(tree, scope))
        leaves, treedef = take_apart(tree, scope.view, scope.stop)
        pairs = zip(treedef.paths(), leaves, strict=True)
        return [Place(path, leaf) for path, leaf in pairs if path not in region]


# ------------------------------------------------------------------------- regions


class Region:
    """What stands at some places, or below them; paths are `in` it or not."""

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
    """Return places, each once, in the order in which they came."""
    known: dict[KeyPath, Place] = {}
    for place in places:
        known.setdefault(place.path, place)
    return [*known.values()]


# ------------------------------------------------------------------- what may be one


def selector(what: Any) -> Selector:
    """Return the selector that a value stands for.

    Args:
        what: A pattern, see :doc:`the page on selectors <selecting>`; a `KeyPath`; a
            position; a
            compiled regular expression, which is searched in the text of the path of
            each leaf; a type or a tuple of types, for the outermost values of them; a
            predicate on the leaf, or on path and leaf if it takes two arguments; a
            tree of bools, which may be a prefix; several of these, as a tuple or list
            of patterns; or a selector.

    Raises:
        PathError: The text is no pattern.
        TypeError: It is none of these.

    Example:
        >>> import leafwise as lw
        >>> config = {"optim": {"lr": 0.1, "steps": 100}, "name": "run"}
        >>> lw.select(config, lw.selector("**.s*") | str).items()
        [(KeyPath((DictKey(key='optim'), DictKey(key='steps'))), 100), \
(KeyPath((DictKey(key='name'),)), 'run')]
    """
    if isinstance(what, Selector):
        return what
    if type(what) is str:
        return _of_text(what)
    if isinstance(what, str | int) and not isinstance(what, bool):
        return _of_text(str(what) if isinstance(what, str) else f"[{what}]")
    if isinstance(what, KeyPath):
        return _Path(what.where(), [step_of(key) for key in what])
    if isinstance(what, re.Pattern):
        search = what.search
        return _Leaves(repr(what.pattern), lambda path, _leaf: search(str(path)))
    if isinstance(what, type):
        return _OfType((what,))
    if isinstance(what, tuple | list) and what:
        if all(isinstance(item, type) for item in what):
            return _OfType(tuple(what))
        if all(
            isinstance(item, str | KeyPath | Selector | re.Pattern) for item in what
        ):
            return _Either([selector(item) for item in what])
    return _predicate(what) if callable(what) else _mask(what)


@functools.lru_cache(maxsize=1024)
def _of_text(text: str) -> Selector:
    """Return the selector of a pattern, the same one each time."""
    return _Path(text, parse(text))


def along(steps: Sequence[Step]) -> Selector:
    """Return the selector that goes some steps of a pattern."""
    return _Path(".".join(step.text for step in steps), steps)


def _predicate(what: Callable[..., object]) -> Selector:
    name = getattr(what, "__name__", type(what).__name__)
    if _takes_path(what):
        return _Leaves(f"where {name}", what)
    return _Values(f"where {name}", what)


def _takes_path(what: Callable[..., object]) -> bool:
    """Say whether a predicate needs two arguments: path and leaf."""
    try:
        parameters = inspect.signature(what).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = (p for p in parameters if p.kind in (p.POSITIONAL_ONLY, _BY_PLACE))
    return sum(p.default is p.empty for p in positional) >= 2


_BY_PLACE: Final = inspect.Parameter.POSITIONAL_OR_KEYWORD


def _mask(what: Any) -> Selector:
    leaves, _ = tree_flatten(what)
    if not all(type(leaf) is bool for leaf in leaves):
        wrong = next(leaf for leaf in leaves if type(leaf) is not bool)
        raise TypeError(
            "a selector is a pattern, a KeyPath, a regular expression, a type, a "
            f"predicate, or a tree of bools; got {type_name(what)} with "
            f"{clip(wrong)} in it"
        )
    return _Mask(what)


# -------------------------------------------------------------------------- errors


def require(
    what: Selector, tree: Any, scope: Scope, *, missing_ok: bool = False
) -> list[Place]:
    """Return the targets of a selector, of which there must be some.

    Raises:
        PathError: There are none, which is not `missing_ok`; the message says what is
            near.
    """
    found = what.targets(tree, scope)
    return found if found or missing_ok else fail(what, Place((), tree), scope)


def fail(what: Selector, start: Place, scope: Scope) -> Any:
    """Say what there is below a place where a selector means nothing.

    Raises:
        PathError: Always.
    """
    there_is = what.there_is(start, scope)
    raise PathError(f"nothing is meant by {what.text!r}: {there_is}")


def follow(start: Place, what: Selector, scope: Scope) -> list[Place]:
    """Return the targets of a selector below a place, with paths from the root."""
    found = what.targets(start.value, scope)
    if not start.path:
        return found
    return [Place(start.path + place.path, place.value) for place in found]


_SHOWN: Final = 5
_SEARCHED: Final = 2000


def _nearest_leaves(text: str, treedef: PyTreeDef) -> str:
    paths = treedef.paths()
    last = text.rpartition(".")[2].strip("[]'\"@*")
    names = {_last_name(path): path for path in reversed(paths[:_SEARCHED])}
    near = nearest(last, names)[:_SHOWN]
    shown = brief(str(names[name]) or "the root" for name in near)
    return f"the tree has {_count(len(paths))}; nearest are {shown or 'none'}"


def _last_name(path: KeyPath) -> str:
    return keystr(path[-1:], simple=True)


def _nearest_keys(text: str, place: Place, scope: Scope) -> str:
    node, where = place.value, place.path.where()
    rule = scope.rule_of(node)
    if rule is None:
        return f"at {where} there is a leaf: {clip(node)}"
    keys = [printed(key) for key in keys_of(node, rule)]
    keys += [f".{name}" for name in static_names(node, rule)]
    kind = type_name(node)
    if not keys:
        return f"the {kind} at {where} is empty"
    near = nearest(text, keys)
    more = f" and {len(keys) - _SHOWN} more" if len(keys) > _SHOWN else ""
    return f"the {kind} at {where} has {brief(near[:_SHOWN])}{more}"


def _count(number: int) -> str:
    return "one leaf" if number == 1 else f"{number} leaves"
