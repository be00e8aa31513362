"""Differences between two trees: found, shown, applied, inverted.

Owns `tree_diff` and what it returns. Containers are compared key by key; where two
nodes are of different types, the record holds both as a whole. Which items of two lists
belong together is decided in `align`; what there is to say of two values is looked for
when somebody asks (`difference`); how a diff is printed is the affair of
`difftext`, and that of JSON Patches of `patch`.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import is_
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar, overload

from ..core.keypath import KeyPath, path_below
from ..core.keys import DictKey, GetAttrKey, SequenceKey
from ..core.node import Rule
from ..core.registry import GLOBAL, View
from ..core.walk import ROOT, unlink
from ..equality import exact
from ..equality.content import Asked, Undecided
from ..equality.leaves import (
    PLAIN,
    Values,
    alike,
    cannot_compare,
    equal_at_sight,
)
from ..errors import CompareError, EditError
from ..lazy import Shown
from ..ops.context import Context, context_of
from ..paint import Paint
from ..safely import MISSING, Frozen, clip, shown
from . import difftext
from .align import (
    LISTS,
    Numbering,
    Row,
    aligned,
    keyed_lists,
    numbers_by_key,
    plain_keys,
    rows_of,
)
from .difference import FEW, Detail, difference
from .edit import Delete, Edit, Insert, Move, Set, at_places, rebuild
from .patch import operations, patched
from .select import (
    DEPTH_IN_DOUBT,
    Selector,
    check_cycles,
    keys_of,
    read_selector,
    static_names,
)


Tree = TypeVar("Tree")


# ------------------------------------------------------------------ one difference


_OPPOSITE: Final = {"added": "removed", "removed": "added"}


class Change(Frozen):
    """One difference between two trees.

    Attributes:
        kind: `added`, `removed`, `moved` (an item to another position of its list),
            `type` (another type of node, or a leaf where there was a node), `aux`
            (another static value or other aux data), or `value`.
        path: The key path in the first tree. For an item that was added to a list, the
            last key is the position in the list of the second tree.
        before: The old value; MISSING if the value was added.
        after: The new value; MISSING if the value was removed.
        index: If the value was added to or removed from a mapping, the position of its
            key there. If it was moved, the position in the list of the second tree.
            None otherwise.

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
    _asked: Asked

    def __init__(
        self,
        kind: str,
        path: KeyPath,
        before: Any,
        after: Any,
        index: int | None = None,
        _asked: Asked = PLAIN,
    ) -> None:
        self._set(kind, path, before, after, index)
        object.__setattr__(self, "_asked", _asked)

    def detail(self, places: int = FEW) -> Detail | None:
        """Return how the two values differ, for arrays, texts and sets.

        Each call computes the result again. Values are compared as in the `tree_diff`
        call that found the change, with its tolerances.

        Args:
            places: How many differing elements of an array to report.

        Returns:
            An `ArrayDifference`, `TextDifference` or `SetDifference`; None if there
            are no details beyond the two values.

        Example:
            >>> import leafwise as lw
            >>> lw.tree_diff({"s": {1, 2}}, {"s": {2, 3}})[0].detail()
            SetDifference(before=2, after=2, removed=(1,), added=(3,))
        """
        if self.kind not in ("value", "aux"):
            return None
        return difference(self.before, self.after, self._asked, places)

    def __str__(self) -> str:
        return "\n".join(difftext.lines_of(self, Paint("never")))

    def __eq__(self, other: object) -> bool:
        if type(other) is not Change:
            return NotImplemented
        if (self.kind, self.path) != (other.kind, other.path) or (
            self.kind == "moved" and self.index != other.index
        ):
            return False
        return alike((self.before, self.after), (other.before, other.after))

    def __hash__(self) -> int:
        return hash((self.kind, self.path))

    def __reduce__(self) -> tuple[Any, ...]:
        return Change, (*self._values(), self._asked)


def _is_in_list(change: Change) -> bool:
    """Return whether a change is that of a list: an item more, less or elsewhere."""
    return (
        change.kind in ("added", "removed", "moved")
        and type(change.path[-1]) is SequenceKey
    )


class Shifts:
    """Where nodes and leaves are after changes to the items of lists."""

    def __init__(self, changes: Iterable[Change]) -> None:
        self._lists: dict[KeyPath, tuple[list[int], list[int], dict[int, int]]] = {}
        for change in filter(_is_in_list, changes):
            path, index = change.path, change.index
            gone, new, moved = self._lists.setdefault(path.parent, ([], [], {}))
            place = path[-1].idx
            if change.kind != "added":
                gone.append(place)
            if change.kind != "removed":
                new.append(place if index is None else index)
            if index is not None:
                moved[place] = index
        for gone, new, _ in self._lists.values():
            gone.sort()
            new.sort()

    def after(self, path: KeyPath) -> KeyPath:
        """Return the path after the changes, given the path before them."""
        keys = [*path]
        for size in {len(one) for one in self._lists if len(one) < len(path)}:
            if path[:size] not in self._lists:
                continue
            gone, new, moved = self._lists[path[:size]]
            place = path[size].idx
            if place not in moved:
                rank = place - bisect_left(gone, place)
                more = range(len(new))
                moved[place] = rank + bisect_right(more, rank, key=lambda n: new[n] - n)
            keys[size] = SequenceKey(moved[place])
        return KeyPath(keys)


def inverse(change: Change, shifts: Shifts) -> Change:
    """Return the opposite change; its path is the one after the original change."""
    kind, path, index = change.kind, change.path, change.index
    if _is_in_list(change) and kind != "moved":  # that position is of one side only
        path = shifts.after(path.parent) + path[-1:]
    else:
        path = shifts.after(path)
    if kind == "moved":
        index = change.path[-1].idx
    kind = _OPPOSITE.get(kind, kind)
    return Change(kind, path, change.after, change.before, index, change._asked)


def as_json(change: Change) -> dict[str, Any]:
    """Return a change as a value that `json.dumps` accepts."""
    found: dict[str, Any] = {"kind": change.kind, "path": str(change.path)}
    if change.kind == "moved":
        found["index"] = change.index
    for name, value in (("before", change.before), ("after", change.after)):
        if value is MISSING:
            continue
        try:
            json.dumps(value, allow_nan=False)
            found[name] = value
        except (TypeError, ValueError, RecursionError):  # JSON cannot represent it
            found[name] = shown(value)
    return found


def edit_of(change: Change) -> tuple[KeyPath, Edit]:
    """Return a change as an edit, and the path of the edit."""
    path, is_in_list = change.path, _is_in_list(change)
    if change.kind == "moved":
        return path, Move(change.index)
    if change.kind == "removed":
        return path, Move(None) if is_in_list else Delete()
    if change.kind == "added":
        index = path[-1].idx if is_in_list else change.index
        return path, Insert(change.after, index)
    return path, Set(change.after)


# ------------------------------------------------------------------- all of them


class TreeDiff(Shown, Sequence[Change]):
    """The differences between two trees, in leaf order.

    It is a sequence of `Change` objects, and is true if there is at least one.

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
        """Yield the lines of `str(diff)`, one or more for each change.

        Args:
            color: `"always"`, `"never"`, or `"auto"` for colors if the standard output
                is a terminal; `NO_COLOR` and `FORCE_COLOR` are respected.
            most: How many changes to show, None for all. If there are more, the last
                line says how many.

        Raises:
            ValueError: `color` has an invalid value.

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
        """Print the differences, in color on a terminal.

        Args:
            color, most: As for `lines`.
            file: The file to print to; None for the standard output.

        Raises:
            ValueError: `color` has an invalid value.

        Example:
            >>> import leafwise as lw
            >>> lw.tree_diff({"a": 1}, {"a": 2}).show(color="never")
            ~ ['a']: 1 -> 2
        """
        lines = difftext.lines_of_all(self._changes, Paint(color, file), most)
        print("\n".join(lines) or "no differences", file=file)

    def invert(self) -> TreeDiff:
        """Return the differences in the opposite direction.

        Example:
            >>> import leafwise as lw
            >>> print(lw.tree_diff([1], [1, 2]).invert())
            - [1]: 2
        """
        shifts = Shifts(self._changes)
        turned = (inverse(change, shifts) for change in self._changes)
        return TreeDiff(turned, self._context, self._values)

    def apply(self, tree: Tree) -> Tree:
        """Return a tree with the changes applied.

        Args:
            tree: The first tree of the comparison, or a similar one.

        Raises:
            CompareError: A value cannot be compared with the old one.
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
        context, values = self._context, self._values
        namespace = context.view.mode.namespace
        for change in self._changes:
            if change.kind == "added":
                continue
            before, path = change.before, change.path
            found = path(tree, namespace=namespace)
            if found is not before and differ(before, found, context, values, path):
                raise EditError(
                    f"expected {clip(before)} at {path.where()}, found {clip(found)}",
                    path=path,
                )
        return rebuild(tree, map(edit_of, self._changes), context)

    def to_json(self, *, indent: int | None = None) -> str:
        r"""Return the changes as JSON text: a list of objects.

        Each object has `kind` and `path`, `before` and `after` if they exist, and
        `index` if the item was moved. A value that JSON cannot represent is written as
        its `repr`.

        Args:
            indent: As for `json.dumps`.

        Example:
            >>> import leafwise as lw
            >>> lw.tree_diff({"a": 1}, {"a": 2}).to_json()
            '[{"kind": "value", "path": "[\'a\']", "before": 1, "after": 2}]'
        """
        return json.dumps([*map(as_json, self._changes)], indent=indent)

    def to_json_patch(self, *, indent: int | None = None) -> str:
        r"""Return the changes as a JSON Patch (RFC 6902) that other programs can apply.

        Args:
            indent: As for `json.dumps`.

        Raises:
            EditError: JSON cannot hold a key or a value.

        Example:
            >>> import leafwise as lw
            >>> lw.tree_diff({"a": [1]}, {"a": [1, 2]}).to_json_patch()
            '[{"op": "add", "path": "/a/1", "value": 2}]'
        """
        made = operations(self._changes)
        return json.dumps(made, indent=indent, allow_nan=False)

    @classmethod
    def from_json_patch(
        cls, patch: str | bytes | Sequence[Mapping[str, Any]], tree: Any
    ) -> TreeDiff:
        """Return the changes that a JSON Patch (RFC 6902) makes to a tree.

        Args:
            patch: The patch as a string or as a list of operations.
            tree: The tree to which the patch applies.

        Raises:
            EditError: An operation is invalid or cannot be applied, or a `test` fails.
            ValueError: The string is not JSON.

        Example:
            >>> import leafwise as lw
            >>> tree = {"a": [1, 2]}
            >>> patch = '[{"op": "move", "from": "/a/0", "path": "/a/1"}]'
            >>> diff = lw.selection.TreeDiff.from_json_patch(patch, tree)
            >>> print(diff)
            > ['a'][0] -> [1]: 1
            >>> diff.apply(tree)
            {'a': [2, 1]}
        """
        context, values = context_of(none_is_leaf=True), Values()

        def same(x: Any, y: Any) -> bool:
            return not differ(x, y, context, values, ROOT)

        made = patched(tree, patch, context, same)
        return tree_diff(tree, made, typematch=True, none_is_leaf=True)


# ------------------------------------------------------------------------- comparing


def tree_diff(
    a: Any,
    b: Any,
    *,
    lists: str | Mapping[Any, str] = "align",
    typematch: bool = False,
    rtol: float = 0.0,
    atol: float = 0.0,
    equal_nan: bool = True,
    ignore: Any = None,
    is_leaf: Any = None,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> TreeDiff:
    """Find all differences between two trees.

    Dicts are compared key by key, and objects of the same class attribute by attribute.
    Lists and tuples are compared after equal items are matched. Leaves are compared as
    in `tree_equal`, so two trees have no differences exactly when they are equal. See
    :ref:`which leaves are the same <same-value>`.

    Args:
        a: The first tree.
        b: The second tree.
        lists: How two lists are compared. `"align"` finds the fewest items to add and
            to remove. An item that is both removed and added counts as moved, and an
            item that is replaced is compared with its replacement. Items are matched
            without a tolerance. If two long lists have few distinct items, the changes
            may be more than necessary. `"position"` compares position by position. A
            mapping of selectors to keys, such as `{"**.containers": "name"}`, pairs the
            items of these lists by the value of this key; other lists are aligned.
        typematch, rtol, atol, equal_nan: As for `tree_equal`.
        ignore: A selector; nodes and leaves that it picks in either tree are ignored.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        none_is_leaf: Whether None is a leaf and not a node without children.
        namespace: Where classes are looked up before the global registry.

    Returns:
        The changes that turn `a` into `b`, in the order of `a`.

    Raises:
        CompareError: Two leaves cannot be compared.
        CycleError: A tree contains itself.
        EditError: An item lacks the key that pairs it, or two items have the same key.
        ValueError: A tolerance is negative or not finite, or `lists` is invalid.

    Example:
        >>> import leafwise as lw
        >>> a = {"optim": {"lr": 0.1}, "sizes": (1, 2), "old": None}
        >>> b = {"optim": {"lr": 0.1 + 1e-12, "wd": 0}, "sizes": (1, 3)}
        >>> print(lw.tree_diff(a, b, rtol=1e-6))
        + ['optim']['wd']: 0
        ~ ['sizes'][1]: 2 -> 3
        - ['old']: None
        >>> print(lw.tree_diff(["a", "b", "c"], ["new", "c", "b"]))
        ~ [0]: 'a' -> 'new'
        > [1] -> [2]: 'b'
    """
    context = context_of(is_leaf, none_is_leaf=none_is_leaf, namespace=namespace)
    values = Values(typematch=typematch, rtol=rtol, atol=atol, equal_nan=equal_nan)
    found = changes_between(a, b, context, values, ignore, lists)
    if not equal_nan:  # a tree matches where it has the NaN that was found in it
        values = Values(typematch=typematch, rtol=rtol, atol=atol)
    return TreeDiff(found, context, values)


def changes_between(
    a: Any,
    b: Any,
    context: Context,
    values: Values,
    ignore: Any = None,
    lists: str | Mapping[Any, str] = "align",
) -> list[Change]:
    """Return the changes that turn one tree into another.

    Args:
        a, b: The trees.
        context: What is a leaf.
        values: Which leaves are the same.
        ignore, lists: As for `tree_diff`.

    Raises:
        CompareError: Two leaves cannot be compared.
        EditError: An item lacks the key that pairs it, or two items have the same key.
        ValueError: `lists` has an invalid value.
    """
    if not isinstance(lists, Mapping) and lists not in LISTS:
        raise ValueError(
            f"lists must be one of {', '.join(map(repr, LISTS))}, or a mapping "
            f"from selectors to keys; got {clip(lists)}"
        )
    compared = _Comparing(context, values, aligns=lists != "position")
    if ignore is not None:
        chosen = read_selector(ignore, context.view)
        places = [chosen.targets(tree, context) for tree in (a, b)]
        compared.ignored = [{place.path for place in found} for found in places]
    if isinstance(lists, Mapping):
        compared.keys = [keyed_lists(lists, tree, context) for tree in (a, b)]
    return [*compared.walk((), a, b)]


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
    return any(_Comparing(context, values, aligns=False, above=above).walk((), a, b))


class _Comparing:
    """One comparison of two trees.

    Attributes:
        aligns: Whether lists are compared after equal items are matched.
        ignored: The ignored paths in the first and in the second tree.
        keys: The lists whose items are paired by a key, in the first and in the second
            tree.
    """

    def __init__(
        self, context: Context, values: Values, *, aligns: bool, above: KeyPath = ROOT
    ) -> None:
        self.context = context
        self.values = values
        self.aligns = aligns
        self.above = above
        self.ignored: Sequence[set[KeyPath]] = ()
        self.keys: Sequence[Mapping[KeyPath, Selector]] = ()
        asked = values.asked
        self.numbering = Numbering(
            context, typematch=asked.typematch, equal_nan=asked.equal_nan
        )
        self.skips = values.equal_nan  # an identical object may still hold a NaN
        stop = context.stop
        self.asks = not (stop is None or isinstance(stop, View))
        self.resolve = (stop if isinstance(stop, View) else context.view).resolve

    def path(self, link: Any, side: int = 0) -> KeyPath:
        """Return a path from the root down, in the first tree or in the second."""
        return KeyPath((*self.above, *plain_keys(unlink(link), side)))

    def is_ignored(self, link: Any, sides: Iterable[int] = (0, 1)) -> bool:
        """Return whether a place is ignored in one of the trees."""
        return any(self.path(link, side) in self.ignored[side] for side in sides)

    def walk(self, link: Any, a: Any, b: Any) -> Iterator[Change]:
        """Yield the changes below a place.

        Raises:
            CycleError: A tree contains itself.
        """
        unchecked = [a, b]
        stack: list[Any] = [(link, 0, a, b)]
        while stack:
            item = stack.pop()
            link, depth, one, two = item[:4]
            if self.ignored and self.is_ignored(link):
                continue
            if len(item) > 4:
                yield self.change(link, one, two, *item[4:])
                continue
            if one is two and self.skips:
                continue
            if depth == DEPTH_IN_DOUBT:
                check_cycles(unchecked, self.context)
            try:
                kind, rows = self.compare(one, two, link)
            except Undecided as why:
                error = cannot_compare(self.path(link), one, two, why)
                raise error from why.__cause__
            if kind:
                yield self.change(link, one, two, kind)
            depth += 1
            stack += [((link, row[0]), depth, *row[1:]) for row in reversed(rows)]

    def change(
        self, link: Any, one: Any, two: Any, kind: str, index: int | None = None
    ) -> Change:
        """Return the record of a difference."""
        asked = self.values.asked_of(one, two)
        return Change(kind, self.path(link), one, two, index, asked)

    def compare(self, a: Any, b: Any, link: Any) -> tuple[str, Rows]:
        """Return the kind of difference here, "" for none, and the rows below."""
        if self.asks:
            rule, other = self.context.rule_of(a), self.context.rule_of(b)
        else:
            rule = self.resolve(type(a))
            other = rule if type(b) is type(a) else self.resolve(type(b))
        if rule is None and other is None:
            return ("" if self.values.same(a, b) else "value"), ()
        if rule is not other or rule is None:
            return "type", ()
        items = rule.is_mapping or (
            rule.is_sequence and (self.aligns or not rule.is_fixed)
        )
        rests = (rule.rest(a), rule.rest(b)) if items else (None, None)
        if rests[0] is not rests[1] and not rule.same_rest(*rests):
            return "aux", ()
        if rule.is_mapping:
            return self.mappings(a, b, rule, link)
        return self.sequences(a, b, rule, link) if items else self.nodes(a, b, rule)

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

    def mappings(self, a: Any, b: Any, rule: Rule, link: Any) -> tuple[str, Rows]:
        """Compare two mappings: first the old keys in their order, then the new ones.

        Where keys are added or removed, and their order is structure, the changes must
        lead to the order of the other mapping and back; else the record holds both as a
        whole.
        """
        mine, others = rule.items(a), rule.items(b)
        is_same = len(mine) == len(others) and all(map(is_, mine, others))
        if is_same or mine.keys() == others.keys():
            is_same = is_same or (
                [*mine] == [*others] and {str}.issuperset(map(type, [*mine, *others]))
            )
            if not is_same and not rule.same_aux(
                rule.flatten(a)[1], rule.flatten(b)[1]
            ):
                return "aux", ()
            found: Any = others.values() if is_same else map(others.get, mine)
            same = self.differing(mine, mine.values(), found)
            return "", [(DictKey(key), x, y) for key, x, y in same]
        rows: list[Any] = [
            (DictKey(key), x, others[key])
            if key in others
            else (DictKey(key), x, MISSING, "removed", index)
            for index, (key, x) in enumerate(mine.items())
        ]
        rows += [
            (DictKey(key), MISSING, y, "added", index)
            for index, (key, y) in enumerate(others.items())
            if key not in mine
        ]
        keys: Sequence[list[Any]] = ([*mine], [*others])
        if self.ignored:
            gone = {*self.ignored[0], *self.ignored[1]}
            at = self.path(link)
            keys = [
                [k for k in x if path_below(at, DictKey(k)) not in gone] for x in keys
            ]
        kept = [k for k in keys[0] if k in others]
        if kept != [k for k in keys[1] if k in mine] and not (
            _leads(keys[0], keys[1], rule) and _leads(keys[1], keys[0], rule)
        ):
            return "aux", ()
        return "", rows

    def sequences(self, a: Any, b: Any, rule: Rule, link: Any) -> tuple[str, Rows]:
        """Compare two sequences: after equal items are found, or by position."""
        ours, others = rule.items(a), rule.items(b)
        rows: Iterable[Row] | None = None
        if self.aligns:
            rows = self.aligned(ours, others, link)
            if rows is None and rule.is_fixed:
                return self.nodes(a, b, rule)
        if rows is None:
            sizes = len(ours), len(others)
            pairs = self.differing(
                range(min(sizes)), ours[: sizes[1]], others[: sizes[0]]
            )
            rows = [Row(n, n) for n, _, _ in pairs]
            rows += [Row(n, -1) for n in range(sizes[1], sizes[0])]
            rows += [Row(-1, n) for n in range(sizes[0], sizes[1])]
        found: list[Any] = []
        for row in rows:
            i, j, has_moved = row
            x = ours[i] if i >= 0 else MISSING
            y = others[j] if j >= 0 else MISSING
            if has_moved:
                found.append((row, x, y, "moved", j))
            if i >= 0 and j >= 0:
                found.append((row, x, y))
            else:
                found.append((row, x, y, "added" if i < 0 else "removed"))
        return "", found

    def aligned(
        self, ours: list[Any], others: list[Any], link: Any
    ) -> Iterable[Row] | None:
        """Return the items of two lists that may differ, and their counterparts.

        None if they are to be compared by position: some of them are ignored, or at
        most one pair of them differs.
        """
        sizes = len(ours), len(others)
        for side, table in enumerate(self.keys):
            key = table.get(self.path(link, side)) if table else None
            if key is not None:
                names = Numbering(self.context)
                numbers = [
                    numbers_by_key(
                        items, key, self.context, names.of, self.path(link, n)
                    )
                    for n, items in enumerate((ours, others))
                ]
                return rows_of(sizes, *aligned(*numbers))
        if self.ignored and any(
            self.is_ignored((link, SequenceKey(place)), [side])
            for side in (0, 1)
            for place in range(sizes[side])
        ):
            return None
        if sizes[0] == sizes[1] and len(self.differing(ours, ours, others)) < 2:
            return None

        def same(i: int, j: int) -> bool:
            x, y = ours[i], others[j]
            if (x is y and self.skips) or (not self.asks and equal_at_sight(x, y)):
                return True
            try:
                return not any(by_position.walk((link, Row(i, j)), x, y))
            except CompareError:
                return False

        by_position = _Comparing(
            self.context, self.values, aligns=False, above=self.above
        )
        by_position.ignored = self.ignored
        least = min(sizes)
        start = next((n for n in range(least) if not same(n, n)), least)
        rest = range(1, least - start + 1)
        ends = (n - 1 for n in rest if not same(sizes[0] - n, sizes[1] - n))
        end = next(ends, len(rest))
        sides = ours[start : sizes[0] - end], others[start : sizes[1] - end]
        numbers = [[*map(self.numbering.of, side)] for side in sides]
        shared = lambda i, j: self.numbering.shared(sides[0][i], sides[1][j])  # noqa: E731
        sizes = len(sides[0]), len(sides[1])
        return rows_of(sizes, *aligned(*numbers), start, shared)

    def nodes(self, a: Any, b: Any, rule: Rule) -> tuple[str, Rows]:
        """Compare two nodes with a fixed number of children."""
        (mine, aux), (others, other_aux) = rule.flatten(a), rule.flatten(b)
        keys = keys_of(a, rule)
        if keys != keys_of(b, rule):
            return ("type" if isinstance(a, tuple) else "aux"), ()
        rows: list[Any] = self.differing(keys, mine, others)
        if rule.same_aux(aux, other_aux):
            return "", rows
        names = static_names(a, rule)
        if not names or names != static_names(b, rule):
            return "aux", ()
        statics = [(name, getattr(a, name), getattr(b, name)) for name in names]
        changes = [
            (GetAttrKey(name), x, y, "aux")
            for name, x, y in statics
            if x is not y and not (type(x) is type(y) and alike(x, y, typematch=True))
        ]
        # without changes, the kinds differ, or something inside static values
        return ("", rows + changes) if changes else ("aux", ())


Rows: TypeAlias = Sequence[Any]
"""A key and two values to compare, or with the kind of change that they are."""


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


_IN_REPR: Final = 10
"""How many changes are shown there."""
