"""Items of two lists that belong together, found in bounded time for any lists.

Owns the numbers that stand for equal values (`Numbering`), the search for equal items
(`aligned`) and for items that replace each other (`filled`), and where items are before
and after changes (`Shifts`). What is a change, and how it is recorded, is not known
here.

A longest common subsequence is found with the method of Hunt and Szymanski (A fast
algorithm for computing longest common subsequences, 1977). Its time grows with the
number of pairs of equal items, so items that have too many equals are left out, and
paired by position.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from ..core.keypath import KeyPath, path_below
from ..core.keys import SequenceKey
from ..equality.content import as_numpy, is_array, is_table, is_traced
from ..errors import EditError
from ..ops.context import Context
from ..safely import FAULTS, clip
from .find import keys_of
from .pattern import Selector, read_selector, selector


LISTS: Final = ("align", "position")
"""How lists are compared, see `tree_diff`."""

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


# ------------------------------------------------------------------- equal items


class Numbering:
    """Assigns equal numbers to equal values.

    Different values may get one number in rare cases. Leaves are compared exactly,
    whatever tolerance a comparison has.

    Args:
        context: What is a leaf.
        typematch, equal_nan: As for `tree_equal`.

    Attributes:
        in_doubt: Whether there are values that may equal others with another number,
            since only their class knows what equals them.
    """

    def __init__(
        self, context: Context, *, typematch: bool = False, equal_nan: bool = True
    ) -> None:
        self.context = context
        self.typematch = typematch
        self.equal_nan = equal_nan
        self.in_doubt = False
        self._numbers: dict[Hashable, int] = {}
        known = () if context.stop is not None else context.view.leaf_types
        self._quick = {str, int}.intersection(known)

    def of(self, value: Any) -> int:
        """Return the number of a value.

        Raises:
            CycleError: It contains itself.
        """
        key: Hashable
        if type(value) in self._quick:
            key = value
        else:
            leaves, treedef = self.context.flatten(value)
            keys = map(self._key, leaves)
            is_node = treedef.num_nodes > 1 or not leaves
            key = (treedef, *keys) if is_node else next(keys)
        return self._numbers.setdefault(key, len(self._numbers))

    def parts(self, node: Any) -> Counter[Any]:
        """Return the parts of a node: numbers of children, with keys if it has names.

        Those of a leaf are none.
        """
        rule = self.context.rule_of(node)
        if rule is None:
            return Counter()
        numbers = map(self.of, rule.flatten(node)[0])
        if rule.is_sequence:
            return Counter(numbers)
        return Counter(zip(keys_of(node, rule), numbers, strict=True))

    def _key(self, leaf: Any) -> Hashable:
        """Return what stands for a leaf: it is equal for equal leaves."""
        cls = type(leaf)
        if cls is str or cls is int:
            return leaf  # type: ignore[no-any-return]  # it has a hash
        key: Hashable
        if cls is bool or cls is bytes or leaf is None:
            key = cls, leaf
        elif cls is float:
            key = leaf if leaf == leaf else _NAN
        else:
            try:
                key = self._of_other(leaf)
                hash(key)
            except FAULTS:  # of its class: it may have neither `==` nor a hash
                self.in_doubt = True
                return object()
        if key is _NAN and not self.equal_nan:
            return object()
        return (cls, key) if self.typematch else key

    def _of_other(self, leaf: Any) -> Hashable:
        if not is_array(leaf) or is_traced(leaf) or is_table(leaf):
            self.in_doubt = True
            return frozenset(leaf) if type(leaf) is set else leaf
        array = as_numpy(leaf)
        if not array.shape:
            item = array.item()
            if type(item) is bool or type(item) is bytes:
                return type(item), item
            return item if item == item else _NAN
        if array.dtype.kind not in "biufcSUmM":
            self.in_doubt = True
            return "array", array.shape
        few = array.reshape(-1)[:: max(1, array.size // _MOST_ELEMENTS)]
        if array.dtype.kind in "fc":
            few = few + 0  # which has no negative zeros
            few[few != few] = 0
        return "array", array.shape, str(array.dtype), few.tobytes()


_MOST_ELEMENTS: Final = 1_000
_NAN: Final = ("nan",)


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
    start, end, other_end = 0, len(mine), len(theirs)
    least = min(end, other_end)
    while start < least and mine[start] == theirs[start]:
        start += 1
    while min(end, other_end) > start and mine[end - 1] == theirs[other_end - 1]:
        end, other_end = end - 1, other_end - 1
    kept = [(i, i) for i in range(start)]
    inner = _longest_common(mine[start:end], theirs[start:other_end])
    kept += [(start + i, start + j) for i, j in inner]
    kept += zip(range(end, len(mine)), range(other_end, len(theirs)), strict=True)
    in_place = _by_position(mine, theirs, (0, 0), (len(mine), len(theirs)))
    kept = in_place if len(in_place) >= len(kept) else kept
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


_MOST_PAIRS: Final = 1_000_000


def _longest_common(x: Sequence[int], y: Sequence[int]) -> Pairs:
    """Return the pairs of a longest common subsequence.

    Numbers with too many equals are paired only between the pairs of the other ones,
    where they are at the same distance from the pair before.
    """
    counts, others = Counter(x), Counter(y)
    sizes = {number: n * others[number] for number, n in counts.items()}
    places: dict[int, list[int]] = {}
    pairs = 0
    for number in sorted(sizes, key=sizes.__getitem__):
        pairs += sizes[number]
        if sizes[number] and pairs <= _MOST_PAIRS:
            places[number] = []
    for j in range(len(y) - 1, -1, -1):
        if y[j] in places:
            places[y[j]].append(j)
    ends: list[int] = []  # ends[k] is where the best sequence of length k + 1 ends in y
    tips: list[int] = []
    steps: list[tuple[int, int, int]] = []
    for i, number in enumerate(x):
        for j in places.get(number, ()):
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
    found.reverse()
    if pairs <= _MOST_PAIRS:
        return found
    between: Pairs = []
    before = 0, 0
    for stop in [*found, (len(x), len(y))]:
        between += [*_by_position(x, y, before, stop), stop]
        before = stop[0] + 1, stop[1] + 1
    return between[:-1]


def _by_position(
    x: Sequence[int], y: Sequence[int], start: tuple[int, int], stop: tuple[int, int]
) -> Pairs:
    """Return the pairs of equal items at the same distance from a start."""
    rows = zip(range(start[0], stop[0]), range(start[1], stop[1]), strict=False)
    return [(i, j) for i, j in rows if x[i] == y[j]]


# ---------------------------------------------------------- items that are replaced


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


# ------------------------------------------------------------ items with a key


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
        >>> shifts.note("removed", lw.KeyPath.parse("['a'][0]"))
        >>> shifts.note("added", lw.KeyPath.parse("['a'][3]"))
        >>> print(shifts.after(lw.KeyPath.parse("['a'][2].x")))
        ['a'][1].x
    """

    def __init__(self) -> None:
        self._root = _Shift()

    def note(self, kind: str, path: KeyPath, index: int | None = None) -> None:
        """Note that an item of a list is added, removed, or moved to a position."""
        shift, place = self._at(path.parent), path[-1].idx
        if kind != "added":
            insort(shift.gone, place)
        if kind != "removed":
            insort(shift.new, place if index is None else index)
        if index is not None:
            shift.moved[place] = index

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
