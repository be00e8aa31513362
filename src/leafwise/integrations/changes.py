"""What a function did to the objects that it was given: what stayed, what differs.

`settled` says which values are what and where they were; the differences are the first
between two graphs, or two lists of values, with the path. `Opaque` carries through a
transform what is no array. Knows no framework.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from ..core.register import StaticRule
from ..core.registry import install
from ..core.walk import unlink
from ..nn.graph import (
    FIXED,
    LEAF,
    REF,
    VARIABLE,
    Entry,
    FlatGraph,
    same_entry,
)
from ..nn.instance import Shell, rule_of
from ..nn.spec import StaticMetadata
from ..nn.variables import Variable
from ..ops.map import tree_leaves
from ..safely import class_name, clip, shown, type_name
from .dispatch import homes, standings
from .options import Path, named
from .sharing import Ran, bare, entries_of


__all__ = [
    "OBJECTS",
    "Difference",
    "Opaque",
    "identity_difference",
    "settled",
    "structure_difference",
    "unwrap",
    "value_difference",
    "wrap",
]

OBJECTS: Final = (Shell, Variable)
"""The types of objects and variables."""

Place: TypeAlias = Callable[[Path], Path]


class Opaque:
    """A value that is no array, on its way through a transform: a node without leaves.

    Attributes:
        value: The value. Two are equal if it is the very same.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return type(other) is Opaque and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)

    def __repr__(self) -> str:
        return shown(self.value)


install(Opaque, StaticRule, bridge=True, where=__name__.partition(".")[0])


def wrap(jax: Any, values: Iterable[Any]) -> list[Any]:
    """Return values as jax takes them: what is neither array nor tree is wrapped.

    So are references to arrays, which a transform may change, but not return.
    """
    return [
        value if _is_array(jax, value) or rule_of(type(value)) else Opaque(value)
        for value in values
    ]


def unwrap(values: Iterable[Any]) -> list[Any]:
    """Return what was wrapped."""
    return [value.value if type(value) is Opaque else value for value in values]


def _is_array(jax: Any, value: Any) -> bool:
    if isinstance(value, getattr(jax, "Ref", ())):
        return False
    is_number = isinstance(value, int | float | complex)
    return is_number or (hasattr(value, "shape") and hasattr(value, "dtype"))


def settled(ran: Ran, given: Sequence[Any]) -> list[int | None]:
    """Return for each value that came out of a function which one it was, if any.

    Args:
        ran: What came out.
        given: The values that went in, without variables.

    Returns:
        The place in `given` of a value that still stands where it was in an object;
        None for all others.
    """
    known = homes(ran.before)
    after = ran.after
    found: list[int | None] = []
    for leaf, link, standing in zip(
        after.leaves, after.links, standings(after), strict=True
    ):
        place = None if unlink(link)[0] == 1 else known.get(standing)
        stayed = place is not None and bare(leaf) is given[place]
        found.append(place if stayed else None)
    return found


# ---------------------------------------------------------------------- differences


class Difference(NamedTuple):
    """The first difference between two graphs.

    Attributes:
        path: Where.
        was: What is there in the first, in words.
        now: What is there in the second.
    """

    path: Path
    was: str
    now: str


def structure_difference(
    before: FlatGraph, after: FlatGraph, place: Place
) -> Difference | None:
    """Return the first difference of two graphs but for values; None if there is none.

    A graph is a pair, of objects by number, and of a tree. An object is not told of if
    it has a number in one of the two only: it stands nowhere any more.

    Args:
        before: The first.
        after: The second.
        place: Takes a path in either, returns the one to be told.
    """
    if len(before.code) == len(after.code) and all(
        map(same_entry, before.code, after.code)
    ):
        return None
    mine, theirs = (
        {path: entry for path, entry, _ in entries_of(graph.code)}
        for graph in (before, after)
    )
    for path in [*mine, *(path for path in theirs if path not in mine)]:
        was, now = (
            _text(known[path], graph, place) if path in known else "not there"
            for known, graph in ((mine, before), (theirs, after))
        )
        is_lost = path[:1] == (0,) and len(path) == 2
        if was != now and not is_lost:
            return Difference(place(path), was, now)
    for path, entry in mine.items():
        other = None if path in ((), (0,)) else theirs.get(path)
        if other is not None and not same_entry(entry, other):
            return _entry_difference(path, entry, other, before, after, place)
    return None


def identity_difference(
    before: FlatGraph, after: FlatGraph, place: Place
) -> Difference | None:
    """Return the first object that another one has replaced, in equal structures."""
    for link, mine, theirs in zip(
        before.first, before.tracked, after.tracked, strict=True
    ):
        if mine is not theirs:
            was = f"the {type_name(mine)} that was passed in"
            return Difference(place(unlink(link)), was, f"another {type_name(theirs)}")
    return None


def value_difference(
    jax: Any, before: Sequence[Any], after: Sequence[Any], paths: Sequence[Path]
) -> Difference | None:
    """Return the first difference in the types of values, None if there is none."""
    for path, mine, theirs in zip(paths, before, after, strict=True):
        was, now = _types(jax, mine), _types(jax, theirs)
        if was != now:
            return Difference(path, was, now)
    return None


def _types(jax: Any, value: Any) -> str:
    """Return the types of the arrays in a value, in words."""
    if type(value) is Opaque:
        return shown(value)
    leaves = tree_leaves(value)
    found = []
    for leaf in leaves:
        whole = leaf if hasattr(leaf, "dtype") else jax.numpy.asarray(leaf)
        found.append(f"{whole.dtype}{[*whole.shape]}")
    return ", ".join(found) or clip(value)


def _text(entry: Entry, graph: FlatGraph, place: Place) -> str:
    """Return in words what an entry stands for."""
    tag, rule, number, aux = entry
    if tag == LEAF:
        return "a value"
    if tag == FIXED:
        return shown(aux)
    if tag == REF:
        return f"the object of {named(place(unlink(graph.first[number])))}"
    cls = rule if tag == VARIABLE else rule.class_of(aux)
    return f"of type {class_name(cls, qualified=False)}"


def _entry_difference(
    path: Path,
    mine: Entry,
    theirs: Entry,
    before: FlatGraph,
    after: FlatGraph,
    place: Place,
) -> Difference:
    """Return how two entries at one path differ."""
    was, now = _text(mine, before, place), _text(theirs, after, place)
    if was == now:
        ones, others = _named(mine), _named(theirs)
        for name in [*others, *ones]:
            one, other = (known.get(name, "not there") for known in (ones, others))
            if one != other:
                return Difference(place((*path, name)), one, other)
        if mine[0] == VARIABLE:
            was, now = (f"with metadata {shown(entry[3])}" for entry in (mine, theirs))
        else:
            was, now = f"{was} as passed in", f"{now} with different static fields"
    return Difference(place(path), was, now)


def _named(entry: Entry) -> dict[Any, str]:
    """Return the static values of an object by their names, as texts."""
    aux = entry[3]
    parts = aux if type(aux) is tuple else (aux,)
    return {
        name: f"the static value {shown(value)}"
        for part in parts
        if type(part) is StaticMetadata
        for name, value in zip(part.field_layout.static, part.seen, strict=True)
    }
