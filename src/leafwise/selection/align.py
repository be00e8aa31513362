"""Items of two lists that belong together, found in bounded time for any lists.

Owns the search for items that both lists have in the same order, and for those that
moved (`aligned`), in numbers that stand for the items (`classes`); which lists of two
trees are paired how; and where items are before and after changes (`Shifts`). What is a
change, and how it is recorded, is not known here.

Where two lists have few equal pairs of items, the longest common subsequence is found
with the method of Hunt and Szymanski (A fast algorithm for computing longest common
subsequences, 1977); where they have many, with the greedy one of Myers (An O(ND)
difference algorithm and its variations, 1986), which begins anew where it got to when
it takes too long.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import compress, count, islice
from operator import ne
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from ..core.keypath import KeyPath, path_below
from ..core.keys import SequenceKey
from ..core.node import Rule
from ..equality.content import as_numpy, is_array, is_traced
from ..equality.leaves import Values, equal_at_sight
from ..errors import EditError
from ..ops.context import Context
from ..safely import clip
from .classes import Classes, plain_classes
from .pattern import Selector, read_selector, selector


__all__ = [
    "LISTS",
    "Lists",
    "Picked",
    "Row",
    "Shifted",
    "Shifts",
    "aligned",
    "filled",
    "fitted",
    "numbers_by_key",
    "of_one_type",
    "plain_keys",
    "rows_of",
]

Pairs: TypeAlias = list[tuple[int, int]]
"""Positions in one list, and in the other."""


class Shifted(NamedTuple):
    """Stands for the key of an item that is at two positions of two lists."""

    before: int
    after: int


class Row(NamedTuple):
    """The positions of an item in two lists, -1 if missing, and whether it moved."""

    before: int
    after: int
    has_moved: bool

    @property
    def key(self) -> Any:
        """The key of the item in a linked list of keys."""
        before, after, _ = self
        if before < 0 or before == after:
            return SequenceKey(after)
        return SequenceKey(before) if after < 0 else Shifted(before, after)

    def beyond(self, start: int) -> Row:
        """Return the row for lists with this many more items in front."""
        before, after, has_moved = self
        before = before if before < 0 else before + start
        return Row(before, after if after < 0 else after + start, has_moved)


# ------------------------------------------------------------------- common items


def aligned(mine: Sequence[int], theirs: Sequence[int]) -> tuple[Pairs, Pairs]:
    """Return which items of two lists are the same.

    Args:
        mine, theirs: Numbers that identify the items.

    Returns:
        The pairs of equal items in the same order in both lists, as many as possible,
        unless that would take too long; and the other pairs of equal items.

    Example:
        >>> from leafwise.selection.align import aligned
        >>> aligned([1, 2, 3, 4], [4, 1, 3])
        ([(0, 1), (2, 2)], [(3, 0)])
    """
    kept = _in_order(mine, theirs)
    mine_kept, theirs_kept = {i for i, _ in kept}, {j for _, j in kept}
    left: defaultdict[int, list[int]] = defaultdict(list)
    for j in range(len(theirs) - 1, -1, -1):
        if j not in theirs_kept:
            left[theirs[j]].append(j)
    moved = []
    for i, number in enumerate(mine):
        if i not in mine_kept and left.get(number):
            moved.append((i, left[number].pop()))
    return kept, moved


def _in_order(mine: Sequence[int], theirs: Sequence[int]) -> Pairs:
    """Return pairs of equal items in the order of both lists.

    Those at the same position, if there are not more of others.
    """
    found = _in_sequence(mine, theirs)
    pairs = enumerate(zip(mine, theirs, strict=False))
    fixed = [(i, i) for i, (x, y) in pairs if x == y]
    return fixed if len(fixed) >= len(found) else found


def _in_sequence(mine: Sequence[int], theirs: Sequence[int]) -> Pairs:
    start, end, other_end = 0, len(mine), len(theirs)
    least = min(end, other_end)
    while start < least and mine[start] == theirs[start]:
        start += 1
    while min(end, other_end) > start and mine[end - 1] == theirs[other_end - 1]:
        end, other_end = end - 1, other_end - 1
    one, other = {*mine[start:end]}, {*theirs[start:other_end]}
    rows = [i for i in range(start, end) if mine[i] in other]
    columns = [j for j in range(start, other_end) if theirs[j] in one]
    found = _common([mine[i] for i in rows], [theirs[j] for j in columns])
    return [
        *((i, i) for i in range(start)),
        *((rows[i], columns[j]) for i, j in found),
        *zip(range(end, len(mine)), range(other_end, len(theirs)), strict=True),
    ]


_MOST_PAIRS: Final = 1_000_000
_FIRST_LEG: Final = 500
_LEG: Final = 32


def _common(x: Sequence[int], y: Sequence[int]) -> Pairs:
    counts, others = Counter(x), Counter(y)
    if sum(n * others[number] for number, n in counts.items()) <= _MOST_PAIRS:
        return _by_pairs(x, y)
    found: Pairs = []
    i = j = 0
    most = _FIRST_LEG
    while i < len(x) and j < len(y):
        i, j = _leg(x, y, i, j, most, found)
        most = _LEG
    return found


def _by_pairs(x: Sequence[int], y: Sequence[int]) -> Pairs:
    """Return a longest common subsequence: `ends[k]` ends the best of length k + 1."""
    places: defaultdict[int, list[int]] = defaultdict(list)
    for j in range(len(y) - 1, -1, -1):
        places[y[j]].append(j)
    ends: list[int] = []
    tips: list[int] = []
    steps: list[tuple[int, int, int]] = []
    for i, number in enumerate(x):
        for j in places[number]:
            k = bisect_left(ends, j)
            if k == len(ends):
                ends.append(j)
                tips.append(0)
            elif ends[k] == j:
                continue
            ends[k] = j
            tips[k] = len(steps)
            steps.append((i, j, tips[k - 1] if k else -1))
    found = []
    tip = tips[-1] if tips else -1
    while tip >= 0:
        i, j, tip = steps[tip]
        found.append((i, j))
    return found[::-1]


def _leg(
    x: Sequence[int], y: Sequence[int], i: int, j: int, most: int, found: Pairs
) -> tuple[int, int]:
    """Go from a point towards the end with few edits, and return how far that is.

    Args:
        x, y: Two lists.
        i, j: Where to begin.
        most: How many edits to go.
        found: Where to add the pairs of equal items on the way.
    """
    width, height = len(x) - i, len(y) - j
    rounds: list[dict[int, int]] = []
    reached: dict[int, int] = {}
    budget = 2 * most * most + 2 * (width + height if most > _LEG else 0)
    edits = best = 0
    while edits <= most and budget > 0:
        made: dict[int, int] = {}
        least = -edits if edits <= height else -height + (edits - height) % 2
        for k in range(least, min(edits, width) + 1, 2):
            at = start = _entry(reached, k, width, height) if edits else 0
            if start < 0:
                continue
            while at < width and at - k < height and x[i + at] == y[j + at - k]:
                at += 1
            made[k] = at
            budget -= 1 + at - start
        rounds.append(made)
        reached = made
        best = max(made, key=lambda k: 2 * made[k] - k)
        if made[best] == width and made[best] - best == height:
            break
        edits += 1
    return _retraced(rounds, best, (width, height), (i, j), found)


def _entry(reached: dict[int, int], k: int, width: int, height: int) -> int:
    """Return where a diagonal is entered from its neighbours, -1 for nowhere."""
    right = reached.get(k - 1, width) + 1
    down = reached.get(k + 1, height + k + 1)
    right = right if right <= width else -1
    return max(right, down if down - k <= height else -1)


def _retraced(
    rounds: list[dict[int, int]],
    k: int,
    size: tuple[int, int],
    start: tuple[int, int],
    found: Pairs,
) -> tuple[int, int]:
    """Add the pairs on the way back from the end of a diagonal; return that end."""
    i, j = start
    last = rounds[-1][k]
    end = i + last, j + last - k
    way: Pairs = []
    for number in range(len(rounds) - 1, -1, -1):
        at = rounds[number][k]
        before = rounds[number - 1] if number else {}
        entry = _entry(before, k, *size) if number else 0
        way += [(i + p, j + p - k) for p in range(at - 1, entry - 1, -1)]
        k = k - 1 if before.get(k - 1, size[0]) + 1 == entry else k + 1
    found += reversed(way)
    return end


_MOST_FITTED: Final = 4_096


def fitted(
    mine: Sequence[int],
    theirs: Sequence[int],
    parts: Callable[[int, int], Counter[Any]],
) -> Pairs:
    """Return pairs of items that replace each other, in the order of both lists.

    There are as many pairs as possible. They are paired by position, unless one list is
    longer and the items have parts; then as many parts as possible are shared.

    Args:
        mine, theirs: Positions in two lists.
        parts: Takes 0 or 1 for the list, and a position.
    """
    if len(mine) > len(theirs):
        turned = fitted(theirs, mine, lambda side, place: parts(1 - side, place))
        return [(i, j) for j, i in turned]
    size = len(theirs)
    if not 0 < len(mine) < size or len(mine) * size > _MOST_FITTED:
        return [*zip(mine, theirs, strict=False)]
    others = [parts(1, j) for j in theirs]
    table = [[0] * (size + 1)]
    for row, i in enumerate(mine):
        known = parts(0, i)
        line = [-1] * (size + 1)
        for column in range(row, size):
            shared = table[row][column] + (known & others[column]).total()
            line[column + 1] = max(line[column], shared)
        table.append(line)
    found = []
    column = size
    for row in range(len(mine), 0, -1):
        while column > row and table[row][column] == table[row][column - 1]:
            column -= 1
        column -= 1
        found.append((mine[row - 1], theirs[column]))
    return found[::-1]


def filled(
    sizes: tuple[int, int],
    kept: Pairs,
    moved: Pairs,
    parts: Callable[[int, int], Counter[Any]],
) -> Pairs:
    """Return pairs of equal items, and between them pairs that replace each other.

    Args:
        sizes: The lengths of two lists.
        kept: The pairs of equal items, in the order of both lists.
        moved: Other pairs of equal items, which are excluded.
        parts: As for `fitted`.
    """
    gone, new = {i for i, _ in moved}, {j for _, j in moved}
    found: Pairs = []
    i = j = 0
    for stop, other in [*kept, sizes]:
        rest = [n for n in range(i, stop) if n not in gone]
        found += fitted(rest, [n for n in range(j, other) if n not in new], parts)
        if stop < sizes[0]:
            found.append((stop, other))
        i, j = stop + 1, other + 1
    return found


def akin(
    mine: Sequence[int],
    theirs: Sequence[int],
    parts: Callable[[int, int], Counter[Any]],
) -> Pairs:
    """Return pairs of items that have at least half of their parts in common.

    Args:
        mine, theirs: Positions in two lists.
        parts: As for `fitted`.
    """
    if not 0 < len(mine) * len(theirs) <= _MOST_FITTED:
        return []
    others = [(j, parts(1, j)) for j in theirs]
    rows: list[tuple[int, int, int]] = []
    for i in mine:
        known = parts(0, i)
        for j, other in others:
            shared = (known & other).total()
            if 2 * shared >= max(known.total(), other.total(), 1):
                rows.append((-shared, i, j))
    taken: tuple[set[int], set[int]] = set(), set()
    found = []
    for _, i, j in sorted(rows):
        if i not in taken[0] and j not in taken[1]:
            taken[0].add(i)
            taken[1].add(j)
            found.append((i, j))
    return found


# ----------------------------------------------------------------- lists in two trees


class Picked:
    """The options of a comparison that concern single places in two trees.

    Args:
        ignore: A selector, or None.
        lists: How lists are compared, see `tree_diff`.
        context: What is a leaf.
        trees: The trees.

    Attributes:
        ignored: The ignored paths in the first and in the second tree; empty if there
            are none.
        keys: The lists whose items are paired by a key, in the first and in the second
            tree; empty if there are none.
        aligns: Whether other lists are compared after equal items are matched.

    Raises:
        ValueError: `lists` has an invalid value.
    """

    __slots__ = ("aligns", "context", "ignored", "keys")

    def __init__(
        self, ignore: Any, lists: Any, context: Context, trees: Sequence[Any] = ()
    ) -> None:
        if not isinstance(lists, Mapping) and lists not in LISTS:
            raise ValueError(
                f"lists must be one of {', '.join(map(repr, LISTS))}, or a mapping "
                f"from selectors to keys; got {clip(lists)}"
            )
        self.context = context
        self.aligns = lists != "position"
        self.ignored: Sequence[set[KeyPath]] = ()
        self.keys: Sequence[dict[KeyPath, Selector]] = ()
        if ignore is not None:
            chosen = read_selector(ignore, self.context.view)
            places = [chosen.targets(tree, self.context) for tree in trees]
            sets = [{place.path for place in found} for found in places]
            self.ignored = sets if any(sets) else ()
        if isinstance(lists, Mapping):
            tables = [keyed_lists(lists, tree, self.context) for tree in trees]
            self.keys = tables if any(tables) else ()

    @property
    def is_empty(self) -> bool:
        """Whether there are no such places."""
        return not (self.ignored or self.keys)

    def by_position(self) -> Picked:
        """Return the same options for a comparison position by position."""
        made = Picked(None, "position", self.context)
        made.ignored = self.ignored
        return made


LISTS: Final = ("align", "position")


def keyed_lists(
    lists: Mapping[Any, str], tree: Any, context: Context
) -> dict[KeyPath, Selector]:
    """Return the places that selectors pick, each with the selector for its key."""
    found: dict[KeyPath, Selector] = {}
    for what, key in lists.items():
        chosen, named = read_selector(what, context.view), selector(key)
        found |= {place.path: named for place in chosen.targets(tree, context)}
    return found


def numbers_by_key(
    items: Sequence[Any],
    key: Selector,
    context: Context,
    number_of: Callable[[Any], int],
    path: KeyPath,
) -> list[int]:
    """Return numbers that identify the values of a key in the items of a list.

    Args:
        items: The items of a list.
        key: The key to read in each item.
        context: What is a leaf.
        number_of: Takes the value of the key.
        path: The path of the list.

    Raises:
        EditError: An item has no value or several values for the key, or two items have
            the same value.
    """
    known: dict[int, int] = {}
    for place, item in enumerate(items):
        found = key.targets(item, context)
        where = path_below(path, SequenceKey(place))
        if len(found) != 1:
            has = f"{len(found)} values at" if found else "no"
            raise EditError(
                f"the item at {where.where()} has {has} {key.text!r}, the key that "
                "pairs the items",
                path=where,
            )
        number = number_of(found[0].value)
        if known.setdefault(number, place) != place:
            first = path_below(path, SequenceKey(known[number]))
            raise EditError(
                f"the items at {first.where()} and {where.where()} have the same "
                f"{key.text!r}, {clip(found[0].value)}, the key that pairs the items",
                path=where,
            )
    return [*known]


class Comparing(Protocol):
    """The interface of a comparison of two trees."""

    context: Context
    values: Values
    trees: tuple[Any, Any]
    asks: bool
    asks_paths: bool
    skips: bool

    def path(self, link: Any, side: int = 0) -> KeyPath:
        """Return a path from the root down, in one of the trees."""
        raise NotImplementedError

    def rule_of(self, node: Any, link: Any, side: int) -> Rule | None:
        """Return the rule of a node, None for a leaf."""
        raise NotImplementedError

    def differ(self, one: Any, two: Any, link: Any) -> bool:
        """Return whether two values differ."""
        raise NotImplementedError


class Lists:
    """Finds the items of lists that belong together, for a comparison of two trees."""

    def __init__(
        self, picked: Picked, comparing: Comparing, check_cycles: Callable[[], None]
    ) -> None:
        self.picked = picked
        self.comparing = comparing
        context = comparing.context
        is_ignored = self.is_ignored if picked.ignored else None
        self.names: Classes | None = None
        plain = not comparing.asks and context.stop is None
        resolve = context.view.resolve
        self.classes = Classes(
            (lambda x, _link, _side: resolve(type(x))) if plain else comparing.rule_of,
            comparing.values,
            lambda: (x for tree in comparing.trees for x in _numbers(tree, context)),
            is_ignored,
            by_path=comparing.asks_paths or is_ignored is not None,
            leaf_types=context.view.leaf_types if plain else (),
            check_cycles=check_cycles,
        )

    @property
    def in_doubt(self) -> bool:
        """Whether items may be the same without having been recognized as the same."""
        return self.classes.in_doubt

    def is_ignored(self, link: Any, side: int) -> bool:
        """Return whether a place in one of the trees is not compared."""
        return self.comparing.path(link, side) in self.picked.ignored[side]

    def rows(
        self, ours: Sequence[Any], others: Sequence[Any], link: Any
    ) -> Iterable[Row] | None:
        """Return the differing items of two lists, and their counterparts.

        Args:
            ours, others: The items.
            link: The path to the lists.

        Returns:
            Rows, in leaf order; None if items are ignored, so that positions count.

        Raises:
            EditError: The items cannot be paired by their key.
        """
        key = self._key(link)
        if key is not None:
            return self._by_key(ours, others, link, key)
        if self.picked.ignored and self._has_ignored(ours, others, link):
            return None
        start, end, other_end = self._trimmed(ours, others)
        sizes = end - start, other_end - start
        kept: Pairs = []
        moved: Pairs = []
        same: set[int] = set()
        if sizes == (1, 1):
            kept = [(0, 0)]
        elif 0 not in sizes:
            kept, moved, same = self._aligned(
                ours[start:end], others[start:other_end], start, link
            )
        rows = rows_of(sizes, kept, moved)
        return [row.beyond(start) for row in rows if row.before not in same]

    def _key(self, link: Any) -> Selector | None:
        for side, table in enumerate(self.picked.keys):
            found = table.get(self.comparing.path(link, side))
            if found is not None:
                return found
        return None

    def _by_key(
        self, ours: Sequence[Any], others: Sequence[Any], link: Any, key: Selector
    ) -> Iterator[Row]:
        context = self.comparing.context
        if self.names is None:
            self.names = plain_classes(context)
        numbers = []
        for side, items in enumerate((ours, others)):
            path = self.comparing.path(link, side)
            numbers.append(numbers_by_key(items, key, context, self.names.of, path))
        return rows_of((len(ours), len(others)), *aligned(*numbers))

    def _has_ignored(
        self, ours: Sequence[Any], others: Sequence[Any], link: Any
    ) -> bool:
        return any(
            self.is_ignored((link, SequenceKey(place)), side)
            for side, items in enumerate((ours, others))
            for place in range(len(items))
        )

    def _trimmed(
        self, ours: Sequence[Any], others: Sequence[Any]
    ) -> tuple[int, int, int]:
        """Return where items are no longer the same at sight, from both ends."""
        skips, asks = self.comparing.skips, self.comparing.asks

        def same(x: Any, y: Any) -> bool:
            return (x is y and skips) or (not asks and equal_at_sight(x, y))

        least = min(len(ours), len(others))
        if skips and not asks and of_one_type(ours, others):
            differ: Callable[[Any, Any], object] = ne
        else:
            differ = lambda x, y: not same(x, y)  # noqa: E731
        start = next(compress(count(), map(differ, ours, others)), least)
        backwards = map(differ, reversed(ours), reversed(others))
        size = next(compress(count(), islice(backwards, least - start)), least - start)
        return start, len(ours) - size, len(others) - size

    def _aligned(
        self, ours: Sequence[Any], others: Sequence[Any], start: int, link: Any
    ) -> tuple[Pairs, Pairs, set[int]]:
        """Return the items that belong together, and those that moved.

        And the positions of those of the former that are the same for sure.
        """
        classes, loose = self.classes, self.classes.loose
        mine, theirs = (
            [
                classes.of(x, (link, SequenceKey(n)), side)
                for n, x in enumerate(xs, start)
            ]
            for side, xs in enumerate((ours, others))
        )
        kept, moved = aligned(mine, theirs)
        comparing = self.comparing
        moved = [
            (i, j)
            for i, j in moved
            if mine[i] not in loose
            or not comparing.differ(ours[i], others[j], (link, SequenceKey(start + i)))
        ]

        def parts(side: int, place: int) -> Counter[Any]:
            item = (ours, others)[side][place]
            return classes.parts(item, (link, SequenceKey(start + place)), side)

        same: set[int] = {i for i, _ in kept if mine[i] not in loose}
        found = filled((len(mine), len(theirs)), kept, moved, parts)
        left = {*range(len(mine))}.difference(i for i, _ in [*moved, *found])
        news = {*range(len(theirs))}.difference(j for _, j in [*moved, *found])
        return found, moved + akin(sorted(left), sorted(news), parts), same


def of_one_type(ours: Sequence[Any], others: Sequence[Any]) -> bool:
    """Return whether all items of two lists are of one type that `==` compares."""
    kinds = {*map(type, ours), *map(type, others)}
    return len(kinds) == 1 and kinds <= _COMPARED


_COMPARED: Final = frozenset({str, int, bytes, bool})


def _numbers(tree: Any, context: Context) -> Iterator[Any]:
    """Yield the numbers among the leaves of a tree."""
    for leaf in context.flatten(tree)[0]:
        held = leaf
        if is_array(leaf) and not is_traced(leaf) and tuple(leaf.shape) == ():
            held = as_numpy(leaf).item()
        if isinstance(held, int | float) or hasattr(type(held), "as_integer_ratio"):
            yield held


def plain_keys(keys: Iterable[Any], side: int) -> Iterator[Any]:
    """Yield the keys of a path in the first tree or in the second."""
    for key in keys:
        yield SequenceKey(key[side]) if type(key) is Shifted else key


# ------------------------------------------------------------------- before and after


class Shifts:
    """Tracks where nodes and leaves are after items of lists were changed.

    Example:
        >>> import leafwise as lw
        >>> from leafwise.selection.align import Shifts
        >>> shifts = Shifts()
        >>> shifts.remove(lw.KeyPath.parse("['a'][0]"))
        >>> shifts.put(lw.KeyPath.parse("['a'][3]"))
        >>> print(shifts.after(lw.KeyPath.parse("['a'][2].x")))
        ['a'][1].x
    """

    def __init__(self) -> None:
        self._root = _Shift()

    def remove(self, path: KeyPath) -> None:
        """Note that an item is removed from its list."""
        insort(self._at(path.parent).gone, path[-1].idx)

    def put(self, path: KeyPath) -> None:
        """Note that an item is put into a list; the last key is its new position."""
        insort(self._at(path.parent).new, path[-1].idx)

    def move(self, path: KeyPath, index: int) -> None:
        """Note that an item is moved in its list."""
        shift = self._at(path.parent)
        shift.moved[path[-1].idx] = index
        insort(shift.gone, path[-1].idx)
        insort(shift.new, index)

    def after(self, path: KeyPath) -> KeyPath:
        """Return the path after the changes, given the path before them."""
        keys: list[Any] = []
        shift: _Shift | None = self._root
        for key in path:
            keys.append(key)
            if shift is not None:
                if shift.new or shift.gone:
                    keys[-1] = SequenceKey(shift.after(key.idx))
                shift = shift.below.get(key)
        return KeyPath(keys)

    def _at(self, path: KeyPath) -> _Shift:
        shift = self._root
        for key in path:
            shift = shift.below.setdefault(key, _Shift())
        return shift


class _Shift:
    """What happens to the items of a list, and below it.

    Attributes:
        gone: The positions before that are left.
        new: The positions after that are taken anew.
        moved: From which of them to which.
        below: The lists below, by key.
    """

    __slots__ = ("below", "gone", "moved", "new")

    def __init__(self) -> None:
        self.gone: list[int] = []
        self.new: list[int] = []
        self.moved: dict[int, int] = {}
        self.below: dict[Any, _Shift] = {}

    def after(self, place: int) -> int:
        """Return where an item is afterwards."""
        if place in self.moved:
            return self.moved[place]
        rank = place - bisect_left(self.gone, place)
        new = self.new
        return rank + bisect_right(range(len(new)), rank, key=lambda n: new[n] - n)


def rows_of(sizes: tuple[int, int], kept: Pairs, moved: Pairs) -> Iterator[Row]:
    """Yield the items of two lists in leaf order, those of the first list first.

    Args:
        sizes: The lengths of the lists.
        kept: The paired items, in the order of both lists.
        moved: The other paired items.
    """
    targets = dict(moved)
    taken = {*targets.values()}
    i = j = 0
    for stop, other in [*kept, sizes]:
        for place in range(i, stop):
            yield Row(place, targets.get(place, -1), place in targets)
        for place in range(j, other):
            if place not in taken:
                yield Row(-1, place, False)
        if stop < sizes[0]:
            yield Row(stop, other, False)
        i, j = stop + 1, other + 1
