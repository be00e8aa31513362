"""Differences between two trees: found, shown, applied, inverted.

Owns `tree_diff` and what it returns. Containers are compared key by key; where two
nodes are of different types, the record holds both as a whole. Which items of two lists
belong together is decided in `align`; what there is to say of two values is looked for
when somebody asks, and printed, by `difference`; JSON Patches are the affair of
`patch`.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import starmap, zip_longest
from typing import Any, Final, TypeAlias, TypeVar

from ..core.keypath import KeyPath
from ..core.keys import DictKey, GetAttrKey, SequenceKey
from ..core.node import Rule
from ..core.registry import GLOBAL
from ..core.walk import ROOT
from ..equality import exact
from ..equality.content import Asked, Undecided
from ..equality.leaves import PLAIN, Values, alike, cannot_compare, equal_at_sight
from ..lazy import Shown
from ..ops.context import Context, context_of
from ..paint import Paint
from ..safely import MISSING, Frozen, clip, shown
from .align import Numbering, Row, aligned, key_of, paths_of, placed, rows_of
from .difference import (
    FEW,
    ArrayDifference,
    Detail,
    counted,
    difference,
    lines_of,
    lines_of_all,
)
from .edit import Delete, Edit, Insert, Move, Set, rebuild
from .patch import mismatch, operations, patched
from .select import (
    DEPTH_IN_DOUBT,
    check_cycles,
    keys_of,
    selector,
    static_names,
)


Tree = TypeVar("Tree")


# ------------------------------------------------------------------ one difference


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
        index: The position in a list or mapping: of what was added or moved, in the
            second tree, of what was removed, in the first; None otherwise.

    Example:
        >>> import leafwise as lw
        >>> print(lw.tree_diff({"a": 1}, {"a": 2})[0])
        ~ ['a']: 1 -> 2
    """

    __slots__ = ("_asked", "_other_path", "after", "before", "index", "kind", "path")
    __match_args__ = ("kind", "path", "before", "after", "index")

    kind: str
    path: KeyPath
    before: Any
    after: Any
    index: int | None
    _other_path: KeyPath  # in the second tree
    _asked: Asked

    def __init__(
        self,
        kind: str,
        path: KeyPath,
        before: Any,
        after: Any,
        index: int | None = None,
        _other_path: KeyPath = ROOT,
        _asked: Asked = PLAIN,
    ) -> None:
        self._set(kind, path, before, after, index)
        object.__setattr__(self, "_other_path", _other_path)
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
        return "\n".join(lines_of(self, Paint("never")))

    def __eq__(self, other: object) -> bool:
        if type(other) is not Change:
            return NotImplemented
        return alike(self._values(), other._values())

    def __hash__(self) -> int:
        return hash((self.kind, self.path))

    def __reduce__(self) -> tuple[Any, ...]:
        return Change, (*self._values(), self._other_path, self._asked)


# ------------------------------------------------------------------- all of them


class TreeDiff(Shown, tuple[Change, ...]):  # noqa: SLOT001  # it has a `__dict__`
    """The differences between two trees, in leaf order.

    It is a tuple of `Change` objects, and is true if there is at least one.

    Example:
        >>> import leafwise as lw
        >>> diff = lw.tree_diff({"lr": 0.1, "sizes": [1]}, {"lr": 0.2, "sizes": [1, 2]})
        >>> print(diff)
        ~ ['lr']: 0.1 -> 0.2
        + ['sizes'][1]: 2
        >>> diff.apply({"lr": 0.1, "sizes": [1]})
        {'lr': 0.2, 'sizes': [1, 2]}
    """

    _context: Context
    _values: Values

    def __str__(self) -> str:
        return "\n".join(self.lines()) or "no differences"

    def __repr__(self) -> str:
        told = counted(len(self), "change")
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
        return lines_of_all(self, Paint(color), most)

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
        lines = lines_of_all(self, Paint(color, file), most)
        print("\n".join(lines) or "no differences", file=file)

    def invert(self) -> TreeDiff:
        """Return the differences in the opposite direction.

        Example:
            >>> import leafwise as lw
            >>> print(lw.tree_diff([1], [1, 2]).invert())
            - [1]: 2
        """
        opposite = {"added": "removed", "removed": "added"}
        turned = [
            Change(
                opposite.get(change.kind, change.kind),
                change._other_path,
                change.after,
                change.before,
                change.path[-1].idx if change.kind == "moved" else change.index,
                change.path,
                change._asked,
            )
            for change in self
        ]
        return _diff_of(turned, self._context, self._values)

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
        context = self._context
        namespace = context.view.mode.namespace
        edits: list[tuple[KeyPath, Edit]] = []
        for change in self:
            before, after, path = change.before, change.after, change.path
            if change.kind != "added":
                found = path(tree, namespace=namespace)
                if found is not before and differ(
                    before, found, context.below(path), self._values
                ):
                    raise mismatch(path, before, found)
            edit: Edit = Set(after)
            if change.kind == "added":
                edit = Insert(after, change.index)
            elif change.kind == "removed":
                edit = Move(None) if type(path[-1]) is SequenceKey else Delete()
            elif change.kind == "moved":
                edit = Move(change.index)
            edits.append((path, edit))
        return rebuild(tree, edits, context)

    def to_json(self, *, indent: int | None = None) -> str:
        r"""Return the changes as JSON text: a list of objects.

        Each object has `kind` and `path`, `before` and `after` if they exist, and
        `index` if the item was moved. A value that JSON cannot represent is written as
        its `repr`; if it is an array, `text` is what `print` says of the difference.

        Args:
            indent: As for `json.dumps`.

        Example:
            >>> import leafwise as lw
            >>> lw.tree_diff({"a": 1}, {"a": 2}).to_json()
            '[{"kind": "value", "path": "[\'a\']", "before": 1, "after": 2}]'
        """
        listed = []
        for change in self:
            found: dict[str, Any] = {"kind": change.kind, "path": str(change.path)}
            if change.kind == "moved":
                found["index"] = change.index
            for name, value in (("before", change.before), ("after", change.after)):
                if value is MISSING:
                    continue
                try:
                    json.dumps(value, allow_nan=False)
                    found[name] = value
                except (TypeError, ValueError, RecursionError):  # it has no JSON form
                    found[name] = shown(value)
            if isinstance(change.detail(0), ArrayDifference):
                found["text"] = str(change)
            listed.append(found)
        return json.dumps(listed, indent=indent)

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
        made = operations(self)
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
        context = context_of(none_is_leaf=True)
        values = Values()
        after = patched(
            tree, patch, context, lambda x, y: not differ(x, y, context, values)
        )
        exact = Values(typematch=True)
        return _diff_of(changes_between(tree, after, context, exact), context, exact)


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
    context = context_of(is_leaf, namespace=namespace)
    values = Values(typematch=typematch, rtol=rtol, atol=atol, equal_nan=equal_nan)
    found = changes_between(a, b, context, values, ignore, lists)
    # a tree to which it is applied matches where it has the NaN that was found
    matching = Values(typematch=typematch, rtol=rtol, atol=atol)
    return _diff_of(found, context, matching)


def _diff_of(changes: Iterable[Change], context: Context, values: Values) -> TreeDiff:
    """Return changes as a `TreeDiff` that knows what is a leaf, and what is equal."""
    diff = TreeDiff(changes)
    diff._context, diff._values = context, values
    return diff


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
    compared = _Comparing(context, values, aligns=lists != "position")
    if ignore is not None:
        compared.ignored = placed([(ignore, None)], (a, b), context)
    if isinstance(lists, Mapping):
        keys = [(what, selector(key)) for what, key in lists.items()]
        compared.keys = placed(keys, (a, b), context)
    elif lists not in ("align", "position"):
        raise ValueError(
            "lists must be one of 'align', 'position', or a mapping from selectors to "
            f"keys; got {clip(lists)}"
        )
    return [*compared.walk((), a, b)]


def differ(a: Any, b: Any, context: Context, values: Values) -> bool:
    """Return whether two trees differ; stops at the first difference.

    Args:
        a, b: The trees.
        context: What is a leaf.
        values: Which leaves are the same.

    Raises:
        CompareError: Two leaves cannot be compared.
    """
    return any(_Comparing(context, values, aligns=False).walk((), a, b))


class _Comparing:
    """One comparison of two trees.

    Attributes:
        aligns: Whether lists are compared after equal items are matched.
        ignored: The ignored paths in the first and in the second tree.
        keys: The lists whose items are paired by a key, in the first and in the second
            tree.
    """

    def __init__(self, context: Context, values: Values, *, aligns: bool) -> None:
        self.context = context
        self.values = values
        self.aligns = aligns
        self.ignored: Sequence[Mapping[KeyPath, Any]] = ()
        self.keys: Sequence[Mapping[KeyPath, Any]] = ()
        self.numbering = Numbering(context, values.asked)

    def paths(self, link: Any) -> tuple[KeyPath, KeyPath]:
        """Return the path of a place in the first tree and in the second."""
        return paths_of(link, self.context.root)

    def is_ignored(self, link: Any) -> bool:
        """Return whether a place is ignored in one of the trees."""
        pairs = zip(self.ignored, self.paths(link), strict=False)
        return any(path in places for places, path in pairs)

    def same_at_sight(self, a: Any, b: Any) -> bool:
        """Return whether two values are the same, as far as that is seen at once."""
        return (a is b and self.values.equal_nan) or equal_at_sight(a, b)

    def walk(self, link: Any, a: Any, b: Any) -> Iterator[Change]:
        """Yield the changes below a place.

        Raises:
            CycleError: A tree contains itself.
        """
        unchecked = [a, b]
        stack: list[Any] = [(link, 0, a, b, "", None)]
        while stack:
            link, depth, one, two, kind, index = stack.pop()
            if self.ignored and self.is_ignored(link):
                continue
            if depth == DEPTH_IN_DOUBT:
                check_cycles(unchecked, self.context)
            rows: Rows = ()
            if not kind and not self.same_at_sight(one, two):
                try:
                    kind, rows = self.compare(one, two, link)
                except Undecided as why:
                    error = cannot_compare(self.paths(link)[0], one, two, why)
                    raise error from why.__cause__
            if kind:
                path, other_path = self.paths(link)
                asked = self.values.asked_of(one, two)
                yield Change(kind, path, one, two, index, other_path, asked)
            stack += [((link, row[0]), depth + 1, *row[1:]) for row in reversed(rows)]

    def compare(self, a: Any, b: Any, link: Any) -> tuple[str, Rows]:
        """Return the kind of difference here, "" for none, and the rows below."""
        rule, other = self.context.rule_of(a), self.context.rule_of(b)
        if rule is None and other is None:
            return ("" if self.values.same(a, b) else "value"), ()
        if rule is not other or rule is None:
            return "type", ()
        if not (rule.is_mapping or rule.is_sequence):
            return self.nodes(a, b, rule)
        rests = rule.rest(a), rule.rest(b)
        if rests[0] is not rests[1] and not rule.same_rest(*rests):
            return "aux", ()
        if rule.is_mapping:
            return self.mappings(a, b, rule)
        return self.sequences(a, b, rule, link)

    def mappings(self, a: Any, b: Any, rule: Rule) -> tuple[str, Rows]:
        """Compare two mappings: first the old keys in their order, then the new ones.

        Where the order of keys is structure, and those of both are in another order,
        the record holds both as a whole.
        """
        mine, others = rule.items(a), rule.items(b)
        keys = tuple(mine), tuple(others)
        if mine.keys() == others.keys():
            is_same = keys[0] == keys[1] and {str}.issuperset(map(type, keys[0]))
            is_same = is_same or rule.same_aux(rule.flatten(a)[1], rule.flatten(b)[1])
        else:
            kept = [key for key in mine if key in others]
            is_same = kept == [key for key in others if key in mine] or all(
                exact.same(rule.order_keys(some), rule.order_keys(some[::-1]))
                for some in keys
            )
        if not is_same:
            return "aux", ()
        rows: list[Any] = []
        skips = self.values.equal_nan
        for index, (key, x) in enumerate(mine.items()):
            y = others.get(key, _NOTHING)
            if y is _NOTHING:
                rows.append((DictKey(key), x, MISSING, "removed", index))
            elif (x is not y or not skips) and not equal_at_sight(x, y):
                rows.append((DictKey(key), x, y, "", None))
        rows += [
            (DictKey(key), MISSING, y, "added", index)
            for index, (key, y) in enumerate(others.items())
            if key not in mine
        ]
        return "", rows

    def sequences(self, a: Any, b: Any, rule: Rule, link: Any) -> tuple[str, Rows]:
        """Compare two sequences: after equal items are found, or by position."""
        ours, others = rule.items(a), rule.items(b)
        found = self.aligned(ours, others, link) if self.aligns else None
        if found is None and rule.is_fixed:
            return self.nodes(a, b, rule)
        if found is None:
            indices = range(len(ours)), range(len(others))
            found = starmap(Row, zip_longest(*indices, fillvalue=-1))
        rows: list[Any] = []
        for i, j, has_moved in found:
            key = key_of(i, j)
            x = ours[i] if i >= 0 else MISSING
            y = others[j] if j >= 0 else MISSING
            if has_moved:
                rows.append((key, x, y, "moved", j))
            if i < 0 or j < 0:
                rows.append((key, x, y, "added" if i < 0 else "removed", max(i, j)))
            elif not self.same_at_sight(x, y):
                rows.append((key, x, y, "", None))
        return "", rows

    def aligned(
        self, ours: list[Any], others: list[Any], link: Any
    ) -> Iterable[Row] | None:
        """Return the items of two lists that may differ, and their counterparts.

        None if they are to be compared by position: some of them are ignored, or at
        most one pair of them differs.
        """
        sizes = len(ours), len(others)
        if self.keys:
            tables = [*zip(self.keys, self.paths(link), (ours, others), strict=True)]
            keys = [key for table, path, _ in tables for key in table.get(path, ())]
            if keys:
                by_key = self.numbering.by_key
                numbers = [by_key(items, keys[-1], path) for _, path, items in tables]
                return rows_of(sizes, *aligned(*numbers))
        if self.ignored and any(
            self.is_ignored((link, SequenceKey(n))) for n in range(max(sizes))
        ):
            return None
        is_same = map(self.same_at_sight, ours, others)
        if sizes[0] == sizes[1] and sum(is_same) >= sizes[0] - 1:
            return None
        by_position = copy.copy(self)
        by_position.aligns = False

        def same(i: int, j: int) -> bool:
            return not any(by_position.walk((link, key_of(i, j)), ours[i], others[j]))

        start = end = 0
        while start < min(sizes) and same(start, start):
            start += 1
        while end < min(sizes) - start and same(sizes[0] - end - 1, sizes[1] - end - 1):
            end += 1
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
        pairs = zip(keys, mine, others, strict=True)
        rows = [(*row, "", None) for row in pairs if not self.same_at_sight(*row[1:])]
        if rule.same_aux(aux, other_aux):
            return "", rows
        names = static_names(a, rule)
        if not names or names != static_names(b, rule):
            return "aux", ()
        statics = [(name, getattr(a, name), getattr(b, name)) for name in names]
        changes = [
            (GetAttrKey(name), x, y, "aux", None)
            for name, x, y in statics
            if x is not y and not (type(x) is type(y) and alike(x, y, typematch=True))
        ]
        # without changes, the kinds differ, or something inside static values
        return ("", rows + changes) if changes else ("aux", ())


Rows: TypeAlias = Sequence[tuple[Any, Any, Any, str, int | None]]
"""A key, two values, and the kind of change and index; "" where it is not yet known."""

_NOTHING: Final = object()
_IN_REPR: Final = 10
"""How many changes are shown there."""
