"""Differences between two trees: found, shown, applied, inverted.

Owns `tree_diff` and its records. Containers are compared key by key; where two nodes
are of different types, the record holds both as a whole. What there is to say of two
values is looked for when somebody asks (`equality.difference`), and how a diff is
printed is the affair of `difftext`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import compress, count, islice, repeat
from operator import is_, not_
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar, overload

from ..core.keypath import KeyPath
from ..core.keys import DictKey, GetAttrKey, SequenceKey
from ..core.node import Rule
from ..core.registry import GLOBAL, View
from ..core.walk import ROOT, PathPredicate, unlink
from ..equality import exact
from ..equality.content import Asked
from ..equality.difference import (
    FEW,
    ArrayDifference,
    Detail,
    Form,
    Place,
    SetDifference,
    TextDifference,
    difference,
)
from ..equality.leaves import (
    PLAIN,
    Undecided,
    Values,
    alike,
    cannot_compare,
    equal_at_sight,
)
from ..errors import EditError
from ..lazy import Shown
from ..ops.context import Context, context_of
from ..paint import Paint
from ..safely import MISSING, Frozen, clip, shown
from . import difftext
from .find import DEPTH_IN_DOUBT, CycleCheck, keys_of, static_names
from .pattern import read_selector
from .rebuild import Delete, Edit, Insert, Set, at_places, rebuild


__all__ = [
    "ArrayDifference",
    "Change",
    "Form",
    "Place",
    "SetDifference",
    "TextDifference",
    "TreeDiff",
    "changes_between",
    "tree_diff",
]

_OPPOSITE: Final = {"added": "removed", "removed": "added"}


class Change(Frozen):
    """One difference.

    Attributes:
        kind: `added`, `removed`, `type` (another type of node, or a leaf where there
            was a node), `aux` (another static value or other aux data), or `value`.
        path: The key path.
        before: What was there; MISSING if it was added.
        after: What is there now; MISSING if it was removed.
        index: The position of the key in the mapping that has it, if it was added to
            or removed from one; else None.

    Example:
        >>> import leafwise as lw
        >>> print(lw.tree_diff({"a": 1}, {"a": 2})[0])
        ~ ['a']: 1 -> 2
    """

    __slots__ = ("_asked", "after", "before", "index", "kind", "path")
    __match_args__ = ("kind", "path", "before", "after", "index")

    kind: str
    path: KeyPath
    before: Any
    after: Any
    index: int | None

    def __init__(
        self,
        kind: str,
        path: KeyPath,
        before: Any,
        after: Any,
        index: int | None = None,
    ) -> None:
        self._set(kind, path, before, after, index)

    def detail(self, places: int = FEW) -> Detail | None:
        """Return how the two values differ: arrays, texts and sets.

        It is worked out anew by each call, and says what differs in the sense of the
        `tree_diff` that found it, with its tolerances.

        Args:
            places: How many places of an array to tell.

        Returns:
            An `ArrayDifference`, `TextDifference` or `SetDifference`; None if there
            is nothing to say but what the values are.

        Example:
            >>> import leafwise as lw
            >>> lw.tree_diff({"s": {1, 2}}, {"s": {2, 3}})[0].detail()
            SetDifference(before=2, after=2, removed=(1,), added=(3,))
        """
        if self.kind not in ("value", "aux"):
            return None
        return difference(self.before, self.after, _asked_of(self), places)

    def __str__(self) -> str:
        return "\n".join(difftext.lines_of(self, Paint("never")))

    def __eq__(self, other: object) -> bool:
        if type(other) is not Change:
            return NotImplemented
        return (self.kind, self.path) == (other.kind, other.path) and alike(
            (self.before, self.after), (other.before, other.after)
        )

    def __hash__(self) -> int:
        return hash((self.kind, self.path))

    def __reduce__(self) -> tuple[Any, ...]:
        return _of_values, (self._values(), _asked_of(self))


def _of_values(values: tuple[Any, ...], asked: Asked) -> Change:
    """Return a change that knows what counted when it was found."""
    change = Change(*values)
    object.__setattr__(change, "_asked", asked)
    return change


def _asked_of(change: Change) -> Asked:
    """Return what counted when a change was found, most often nothing special."""
    return getattr(change, "_asked", PLAIN)


Tree = TypeVar("Tree")


class TreeDiff(Shown, Sequence[Change]):
    """The differences between two trees, in leaf order.

    A sequence of changes, which is true if there are any.

    Example:
        >>> import leafwise as lw
        >>> diff = lw.tree_diff({"lr": 0.1, "sizes": [1]}, {"lr": 0.2, "sizes": [1, 2]})
        >>> print(diff)
        ~ ['lr']: 0.1 -> 0.2
        + ['sizes'][1]: 2
        >>> diff.apply({"lr": 0.1, "sizes": [1]})
        {'lr': 0.2, 'sizes': [1, 2]}
    """

    __slots__ = ("_changes", "_context", "_values")

    def __init__(
        self, changes: Iterable[Change], context: Context, values: Values
    ) -> None:
        self._changes = tuple(changes)
        self._context = context
        self._values = values

    def __len__(self) -> int:
        return len(self._changes)

    if TYPE_CHECKING:

        @overload
        def __getitem__(self, index: int) -> Change: ...

        @overload
        def __getitem__(self, index: slice) -> Sequence[Change]: ...

    def __getitem__(self, index: Any) -> Any:
        return self._changes[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TreeDiff) and self._changes == other._changes

    def __hash__(self) -> int:
        return hash(self._changes)

    def __str__(self) -> str:
        return "\n".join(self.lines()) or "no differences"

    def __repr__(self) -> str:
        told = difftext.counted(len(self), "change")
        return "\n  ".join([f"<TreeDiff of {told}>", *self.lines(most=_IN_REPR)])

    def lines(self, *, color: str = "never", most: int | None = None) -> Iterator[str]:
        """Yield the lines that `str` has: some for each change.

        Args:
            color: `"always"`, `"never"`, or `"auto"`, that is if the standard output is
                a terminal; `NO_COLOR` and `FORCE_COLOR` are respected.
            most: How many changes to show, None for all; of the others, how many
                they are is said.

        Raises:
            ValueError: `color` is another word.

        Example:
            >>> import leafwise as lw
            >>> diff = lw.tree_diff([1, 2, 3], [4, 5, 6])
            >>> [*diff.lines(most=1)]
            ['~ [0]: 1 -> 4', 'and 2 more']
        """
        return difftext.lines_of_all(self._changes, Paint(color), most)

    def show(
        self, *, color: str = "auto", most: int | None = None, file: Any = None
    ) -> None:
        """Print the differences, in colour on a terminal.

        Args:
            color, most: As for `lines`.
            file: Where to; None for the standard output.

        Raises:
            ValueError: `color` is another word.

        Example:
            >>> import leafwise as lw
            >>> lw.tree_diff({"a": 1}, {"a": 2}).show(color="never")
            ~ ['a']: 1 -> 2
        """
        lines = difftext.lines_of_all(self._changes, Paint(color, file), most)
        print("\n".join(lines) or "no differences", file=file)

    def invert(self) -> TreeDiff:
        """Return the differences in the other direction.

        Example:
            >>> import leafwise as lw
            >>> print(lw.tree_diff([1], [1, 2]).invert())
            - [1]: 2
        """
        turned = (
            _of_values(
                (_OPPOSITE.get(c.kind, c.kind), c.path, c.after, c.before, c.index),
                _asked_of(c),
            )
            for c in self._changes
        )
        return TreeDiff(turned, self._context, self._values)

    def apply(self, tree: Tree) -> Tree:
        """Return a tree with the changes applied.

        Args:
            tree: The tree that the differences were found in, or one like it.

        Raises:
            EditError: The tree does not have the old value of a change.
            PathError: The tree does not have the path of a change.

        Example:
            >>> import leafwise as lw
            >>> diff = lw.tree_diff({"a": 1, "b": 2}, {"a": 1, "c": 3})
            >>> diff.apply({"a": 1, "b": 2})
            {'a': 1, 'c': 3}
            >>> diff.apply({"a": 1, "b": 9})
            Traceback (most recent call last):
            ...
            leafwise.errors.EditError: expected 2 at ['b'], found 9
        """
        for change in self._changes:
            if change.kind != "added":
                _expect(change, tree, self._context, self._values)
        return rebuild(tree, map(_edit_of, self._changes), self._context)

    def to_json(self, *, indent: int | None = None) -> str:
        r"""Return the changes as JSON text: a list of objects.

        Each has `kind`, `path`, and `before` and `after` if they exist; values that
        JSON cannot represent are written as their `repr`.

        Args:
            indent: As for `json.dumps`.

        Example:
            >>> import leafwise as lw
            >>> lw.tree_diff({"a": 1}, {"a": 2}).to_json()
            '[{"kind": "value", "path": "[\'a\']", "before": 1, "after": 2}]'
        """
        return json.dumps([*map(_as_json, self._changes)], indent=indent)


def _as_json(change: Change) -> dict[str, Any]:
    sides = {"before": change.before, "after": change.after}
    shown = {name: _plain(x) for name, x in sides.items() if x is not MISSING}
    return {"kind": change.kind, "path": str(change.path), **shown}


def _plain(value: Any) -> Any:
    """Return a value if JSON can represent it, else its `repr`."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return shown(value)
    return value


def _expect(change: Change, tree: Any, context: Context, values: Values) -> None:
    """Check that a tree has the old value of a change.

    Raises:
        CompareError: The values cannot be compared.
        EditError: Another value is there.
        PathError: Nothing is there.
    """
    found = change.path(tree, namespace=context.view.mode.namespace)
    if found is not change.before and differ(
        change.before, found, context, values, change.path
    ):
        raise EditError(
            f"expected {clip(change.before)} at {change.path.where()}, "
            f"found {clip(found)}",
            path=change.path,
        )


def _edit_of(change: Change) -> tuple[KeyPath, Edit]:
    if change.kind == "removed":
        return change.path, Delete()
    if change.kind == "added":
        return change.path, Insert(change.after, change.index)
    return change.path, Set(change.after)


# ------------------------------------------------------------------------- comparing


def tree_diff(
    a: Any,
    b: Any,
    *,
    typematch: bool = False,
    rtol: float = 0.0,
    atol: float = 0.0,
    equal_nan: bool = True,
    ignore: Any = None,
    is_leaf: Any = None,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> TreeDiff:
    """Find all differences between two trees.

    Dicts are compared key by key, lists position by position, objects of one class
    attribute by attribute; leaves as `tree_equal` compares them, so that two trees have
    no differences exactly when they are equal. See :ref:`which leaves are the same
    <same-value>`.

    Args:
        a: The first tree.
        b: The second tree.
        typematch, rtol, atol, equal_nan: As for `tree_equal`.
        ignore: A selector; what it picks in either tree is not compared.
        is_leaf, is_leaf_takes_path, none_is_leaf, namespace: See
            :ref:`common arguments <common>`.

    Returns:
        The changes that lead from `a` to `b`, in the order of `a`.

    Raises:
        CompareError: Two leaves cannot be compared.
        CycleError: A tree contains itself.
        ValueError: A tolerance is negative or not finite.

    Example:
        >>> import leafwise as lw
        >>> a = {"optim": {"lr": 0.1}, "sizes": (1, 2), "old": None}
        >>> b = {"optim": {"lr": 0.1 + 1e-12, "wd": 0}, "sizes": (1, 3)}
        >>> print(lw.tree_diff(a, b, rtol=1e-6))
        + ['optim']['wd']: 0
        ~ ['sizes'][1]: 2 -> 3
        - ['old']: None
    """
    context = context_of(is_leaf, is_leaf_takes_path, none_is_leaf, namespace)
    values = Values(typematch=typematch, rtol=rtol, atol=atol, equal_nan=equal_nan)
    found = changes_between(a, b, context, values, ignore)
    if not equal_nan:  # a tree matches where it has the NaN that was found in it
        values = Values(typematch=typematch, rtol=rtol, atol=atol)
    return TreeDiff(found, context, values)


def changes_between(
    a: Any, b: Any, context: Context, values: Values, ignore: Any = None
) -> list[Change]:
    """Return the changes that lead from one tree to another.

    Args:
        a, b: The trees.
        context: What is a leaf.
        values: Which leaves are the same.
        ignore: A selector of what is not compared, or None.

    Raises:
        CompareError: Two leaves cannot be compared.
    """
    ignored: set[KeyPath] = set()
    if ignore is not None:
        chosen = read_selector(ignore, context.view)
        for tree in (a, b):
            ignored |= {place.path for place in chosen.targets(tree, context)}
    found = None if ignored else _of_one_structure(a, b, context, values)
    if found is None:
        found = [*_Comparing(context, values, ignored).run(a, b)]
    if values.asked is PLAIN:
        return found
    return [_of_values(c._values(), values.asked_of(c.before, c.after)) for c in found]


def differ(a: Any, b: Any, context: Context, values: Values, above: KeyPath) -> bool:
    """Return whether two trees differ; stops at the first difference.

    Args:
        a, b: What is at a place of two trees.
        context: What is a leaf.
        values: Which leaves are the same.
        above: The path of the place.

    Raises:
        CompareError: Two leaves cannot be compared.
    """
    return any(_Comparing(context, values, frozenset(), above).run(a, b))


_FEW: Final = 64


def _of_one_structure(
    a: Any, b: Any, context: Context, values: Values
) -> list[Change] | None:
    """Return the changes between small trees that differ in one leaf, or in nothing.

    Leaves that come in one list each are compared without a walk. None stands for all
    other trees: the order of several changes is that of the mappings in `a`, which the
    walk knows; and in large trees it soon meets more than one.
    """
    if not (context.stop is None or isinstance(context.stop, View)):
        return None
    try:
        leaves, treedef = context.flatten(a)
        if len(leaves) > _FEW:
            return None
        others, other = context.flatten(b)
        if treedef is not other and treedef != other:
            return None
        numbers, same = count(), map(values.same, leaves, others)
        changed = [*islice(compress(numbers, map(not_, same)), 2)]
    except Exception:  # the walk gets there as well, and says where
        return None
    if not changed:
        return []
    number = changed[0]
    if len(changed) > 1:
        return None
    return [Change("value", treedef.paths()[number], leaves[number], others[number])]


class _Comparing:
    """One comparison of two trees."""

    def __init__(
        self,
        context: Context,
        values: Values,
        ignored: AbstractSet[KeyPath],
        above: KeyPath = ROOT,
    ) -> None:
        self.context = context
        self.values = values
        self.ignored = ignored
        self.above = above
        self.skips = values.equal_nan  # an identical object may still hold a NaN
        stop = context.stop
        self.asks_paths = isinstance(stop, PathPredicate)
        self.asks = not (stop is None or isinstance(stop, View))
        self.resolve = (stop if isinstance(stop, View) else context.view).resolve

    def path(self, link: Any) -> KeyPath:
        """Return a path from the root down."""
        return KeyPath((*self.above, *unlink(link)))

    def run(self, a: Any, b: Any) -> Iterator[Change]:
        """Yield the changes.

        Raises:
            CompareError: Two leaves cannot be compared.
        """
        check_cycles = CycleCheck(self.context, a, b)
        stack: list[Any] = [((), a, b, 0)]
        skips = self.skips
        while stack:
            link, one, two, depth = stack.pop()
            if (one is two and skips) or (self.ignored and self.is_ignored(link)):
                continue
            if depth == DEPTH_IN_DOUBT:
                check_cycles()
            if type(one) is _Aux:
                yield Change("aux", self.path(link), one.value, two.value)
                continue
            try:
                kind, pairs = self.compare(one, two, link)
            except Undecided as why:
                error = cannot_compare(self.path(link), one, two, why)
                raise error from why.__cause__
            if kind:
                yield _change(kind, self.path(link), one, two)
            depth += 1
            stack += [((link, key), x, y, depth) for key, x, y in reversed(pairs)]

    def is_ignored(self, link: Any) -> bool:
        """Return whether a place is to be ignored."""
        return KeyPath(unlink(link)) in self.ignored

    def rule_of(self, node: Any, link: Any) -> Rule | None:
        """Return the rule of a node, None for a leaf."""
        if self.asks_paths:
            stops = self.context.stops_at(node, self.path(link))
            return None if stops else self.context.view.resolve(type(node))
        return self.context.rule_of(node)

    def compare(self, a: Any, b: Any, link: Any) -> tuple[str, Pairs]:
        """Return the kind of difference here, "" for none, and the pairs below."""
        if type(a) is _Absent or type(b) is _Absent:
            return ("added" if type(a) is _Absent else "removed"), ()
        if self.asks:
            rule, other = self.rule_of(a, link), self.rule_of(b, link)
        else:
            rule = self.resolve(type(a))
            other = rule if type(b) is type(a) else self.resolve(type(b))
        if rule is None and other is None:
            return ("" if self.values.same(a, b) else "value"), ()
        if rule is not other or rule is None:
            return "type", ()
        if rule.is_mapping:
            return self.mappings(a, b, rule, link)
        if rule.is_sequence and not rule.is_fixed:
            return self.sequences(a, b, rule)
        return self.nodes(a, b, rule)

    def differing(
        self, keys: Iterable[Any], ours: Iterable[Any], others: Iterable[Any]
    ) -> list[tuple[Any, Any, Any]]:
        """Return the rows of keys and values without those that are the same at sight.

        A predicate is asked about every value that two nodes do not share.
        """
        rows = zip(keys, ours, others, strict=True)
        if self.asks:
            return [row for row in rows if row[1] is not row[2] or not self.skips]
        if self.skips:
            return [
                (key, x, y)
                for key, x, y in rows
                if x is not y and not equal_at_sight(x, y)
            ]
        return [row for row in rows if not equal_at_sight(*row[1:])]

    def mappings(self, a: Any, b: Any, rule: Rule, link: Any) -> tuple[str, Pairs]:
        """Compare two mappings: first the old keys in their order, then the new ones.

        Where keys are added or removed, and their order is structure, the changes must
        lead to the order of the other mapping and back; else the record holds both as a
        whole.
        """
        if not rule.same_rest(rule.rest(a), rule.rest(b)):
            return "aux", ()
        mine, others = rule.items(a), rule.items(b)
        if _same_keys(mine, others):
            rows = self.differing(mine, mine.values(), others.values())
            return "", [(DictKey(key), x, y) for key, x, y in rows]
        found = map(others.get, mine, repeat(_NOTHING))
        rows = self.differing(enumerate(mine), mine.values(), found)
        pairs = [
            (DictKey(key), x, _Absent(index) if y is _NOTHING else y)
            for (index, key), x, y in rows
        ]
        new = [
            (DictKey(k), _Absent(index), y)
            for index, (k, y) in enumerate(others.items())
            if k not in mine
        ]
        if new or len(mine) != len(others):
            keys = [
                [k for k in table if not self.is_ignored((link, DictKey(k)))]
                if self.ignored
                else [*table]
                for table in (mine, others)
            ]
            kept = [k for k in keys[0] if k in others]
            if kept != [k for k in keys[1] if k in mine] and not (
                _leads(keys[0], keys[1], rule) and _leads(keys[1], keys[0], rule)
            ):
                return "aux", ()
        elif not rule.same_aux(rule.flatten(a)[1], rule.flatten(b)[1]):
            return "aux", ()
        return "", pairs + new

    def sequences(self, a: Any, b: Any, rule: Rule) -> tuple[str, Pairs]:
        """Compare two sequences position by position."""
        if not rule.same_rest(rule.rest(a), rule.rest(b)):
            return "aux", ()
        ours, others = rule.items(a), rule.items(b)
        if len(ours) != len(others):
            absent = repeat(_Absent(None), abs(len(ours) - len(others)))
            (ours if len(ours) < len(others) else others).extend(absent)
        rows = self.differing(range(len(ours)), ours, others)
        return "", [(SequenceKey(index), x, y) for index, x, y in rows]

    def nodes(self, a: Any, b: Any, rule: Rule) -> tuple[str, Pairs]:
        """Compare two nodes with a fixed number of children."""
        (mine, aux), (others, other_aux) = rule.flatten(a), rule.flatten(b)
        keys = keys_of(a, rule)
        if keys != keys_of(b, rule):
            return ("type" if isinstance(a, tuple) else "aux"), ()
        pairs = self.differing(keys, mine, others)
        if rule.same_aux(aux, other_aux):
            return "", pairs
        names = static_names(a, rule)
        if not names or names != static_names(b, rule):
            return "aux", ()
        statics = [(name, getattr(a, name), getattr(b, name)) for name in names]
        differing = [row for row in statics if not _same_static(row[1], row[2])]
        if not differing:  # the kinds differ, or something inside static values
            return "aux", ()
        return "", pairs + [(GetAttrKey(k), _Aux(x), _Aux(y)) for k, x, y in differing]


def _same_keys(mine: Mapping[Any, Any], others: Mapping[Any, Any]) -> bool:
    """Return whether the keys of two tables are surely the same, in the same order."""
    if len(mine) != len(others):
        return False
    if all(map(is_, mine, others)):
        return True
    keys, theirs = [*mine], [*others]
    return keys == theirs and {str}.issuperset(map(type, keys + theirs))


Pairs = Sequence[tuple[Any, Any, Any]]


_NOTHING: Final = object()


class _Absent:
    """What one tree does not have; `MISSING` could be one of its leaves.

    Attributes:
        index: The position of the key in the other mapping, None for a sequence.
    """

    __slots__ = ("index",)

    def __init__(self, index: int | None) -> None:
        self.index = index


def _change(kind: str, path: KeyPath, one: Any, two: Any) -> Change:
    """Return the record of a difference."""
    if type(one) is _Absent:
        return Change(kind, path, MISSING, two, one.index)
    if type(two) is _Absent:
        return Change(kind, path, one, MISSING, two.index)
    return Change(kind, path, one, two)


class _Aux(NamedTuple):
    """A static value that is known to differ."""

    value: Any


def _leads(mine: list[Any], others: list[Any], rule: Rule) -> bool:
    """Return whether removing keys and inserting new ones gives the other keys.

    Leaf orders are compared: for most dicts that is all that matters.
    """
    known = dict.fromkeys(others)
    kept = dict.fromkeys(key for key in mine if key in known)
    new = [(index, key) for index, key in enumerate(others) if key not in kept]
    made = at_places(kept, new)
    orders = (rule.order_keys(tuple(dict.fromkeys(keys))) for keys in (made, others))
    return exact.same(*orders)


def _same_static(a: Any, b: Any) -> bool:
    """Return whether two static values are the same."""
    return a is b or (type(a) is type(b) and alike(a, b, typematch=True))


_IN_REPR: Final = 10
"""How many changes are shown there."""
