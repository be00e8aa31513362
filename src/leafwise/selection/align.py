"""Items of two lists that belong together, found in bounded time for any lists.

Owns the numbers that stand for equal values (`Numbering`), the search for equal items
(`aligned`), and the paths of what belongs together in two trees (`paths_of`, `placed`).
What is a change, and how it is recorded, is not known here.

A longest common subsequence is found with the method of Hunt and Szymanski (A fast
algorithm for computing longest common subsequences, 1977). Its time grows with the
number of pairs of equal items; if there are too many, items are paired by position.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import (
    Callable,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Set,
)
from typing import Any, Final, NamedTuple, TypeAlias

from .._text import FAULTS, short_repr
from ..core.codec import form_of
from ..core.context import Context
from ..core.keypath import ROOT, KeyPath, path_below
from ..core.keys import SequenceKey
from ..core.walk import unlink
from ..equality.arrays import Criteria, as_numpy, is_array
from ..equality.leaves import DEFAULT_CRITERIA
from ..errors import EditError
from .patterns import place_text
from .select import Place, Selector, children_of, read_selector


Pairs: TypeAlias = list[tuple[int, int]]
"""Positions in one list, and in the other."""


class Row(NamedTuple):
    """The positions of an item in two lists, -1 if missing, and whether it moved.

    It stands for the key of the item in a linked list of keys.
    """

    before: int
    after: int
    has_moved: bool = False

    def on(self, side: int) -> SequenceKey:
        """Return the key in one of the lists, where it is missing in the other."""
        return SequenceKey(self[side] if self[side] >= 0 else self[1 - side])


def key_of(before: int, after: int) -> Any:
    """Return the key of an item in two lists: a row where its positions differ."""
    return SequenceKey(before) if before == after else Row(before, after)


def paths_of(link: Any, root: KeyPath = ROOT) -> tuple[KeyPath, KeyPath]:
    """Return the path of a place in two trees; where it is missing, as in the other.

    Args:
        link: The linked list of its keys, of which some may be rows.
        root: The path to where the list begins.
    """
    keys = (*root, *unlink(link))
    if Row not in map(type, keys):
        return (path := KeyPath(keys)), path
    plain = [
        [key.on(side) if type(key) is Row else key for key in keys] for side in (0, 1)
    ]
    return KeyPath(plain[0]), KeyPath(plain[1])


def placed(
    said: Iterable[tuple[Any, Any]], trees: Sequence[Any], context: Context
) -> list[dict[KeyPath, list[Any]]]:
    """Return for each tree what is said of its places, by path.

    Args:
        said: Selectors, each with what is said of the places that it picks.
        trees: The trees.
        context: What is a leaf.
    """
    tables: list[dict[KeyPath, list[Any]]] = [{} for _ in trees]
    for what, value in said:
        targets = read_selector(what, context.view).targets
        for table, tree in zip(tables, trees, strict=True):
            for place in targets(tree, context):
                table.setdefault(place.path, []).append(value)
    return tables


class Marks:
    """What is said of a place in a tree, and of the places below it.

    Attributes:
        values: What is said of the place.
        below: The marks of its children, by key.
    """

    __slots__ = ("below", "values")

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.below: dict[Any, Marks] = {}

    def of_place(self, place: Place, cache: dict[int, Marks]) -> Marks:
        """Return the marks of a place below, which are made if there are none.

        Args:
            place: The place.
            cache: The marks of linked lists by `id`. Places share the lists of keys
                that lead to them, so each key of a deep tree is followed once.
        """
        links: list[Any] = []
        link = place.link
        while link.above is not None and id(link) not in cache:
            links.append(link)
            link = link.above
        marks = self if link.above is None else cache[id(link)]
        for link in reversed(links):
            if link.key not in marks.below:
                marks.below[link.key] = Marks()
            marks = marks.below[link.key]
            cache[id(link)] = marks
        return marks


def mark_places(said: Iterable[tuple[Any, Any]], tree: Any, context: Context) -> Marks:
    """Return what is said of the places of a tree.

    Args:
        said: Selectors, each with what is said of the places that it picks.
        tree: The tree.
        context: What is a leaf.
    """
    root = Marks()
    for what, value in said:
        places = read_selector(what, context.view).targets(tree, context)
        cache: dict[int, Marks] = {}
        for place in places:
            root.of_place(place, cache).values.append(value)
    return root


# ------------------------------------------------------------------- equal items


class Numbering:
    """Assigns equal numbers to equal values.

    Different values may get one number in rare cases. Leaves are compared exactly,
    whatever tolerance a comparison has; what only its class can compare equals nothing.

    Args:
        context: What is a leaf.
        criteria: Whether types count, and whether NaN is the same as NaN.
    """

    def __init__(self, context: Context, criteria: Criteria = DEFAULT_CRITERIA) -> None:
        self.context = context
        self.criteria = criteria
        self._numbers: dict[Hashable, int] = {}

    def of(self, value: Any) -> int:
        """Return the number of a value.

        Raises:
            CycleError: It contains itself.
        """
        leaves, treedef = self.context.flatten(value)
        keys = map(self._key, leaves)
        is_leaf = len(leaves) == 1 and leaves[0] is value
        key: Hashable = next(keys) if is_leaf else (treedef, *keys)
        return self._numbers.setdefault(key, len(self._numbers))

    def shared(self, a: Any, b: Any) -> int:
        """Return how many children two nodes share: equal ones under equal keys."""
        parts = []
        for node in (a, b):
            rule = self.context.rule_of(node)
            table = {} if rule is None else children_of(node, rule)
            parts.append({*zip(table, map(self.of, table.values()), strict=True)})
        return len(parts[0] & parts[1])

    def by_key(self, items: Sequence[Any], key: Selector, path: KeyPath) -> list[int]:
        """Return numbers that identify the values of a key in the items of a list.

        Args:
            items: The items of the list.
            key: The key to read in each item.
            path: The path of the list.

        Raises:
            EditError: An item has no value or several values for the key, or two items
                have the same value.
        """
        known: dict[int, KeyPath] = {}
        for place, item in enumerate(items):
            found = key.targets(item, self.context)
            where = path_below(path, SequenceKey(place))
            if len(found) != 1:
                has = f"{len(found)} values at" if found else "no"
                raise EditError(
                    f"the item at {place_text(where)} has {has} {key.text!r}, the key "
                    "that pairs the items",
                    path=where,
                )
            value = found[0].value
            first = known.setdefault(self.of(value), where)
            if first is not where:
                raise EditError(
                    f"the items at {place_text(first)} and {place_text(where)} have "
                    f"the same {key.text!r}, {short_repr(value)}, the key that pairs "
                    "the items",
                    path=where,
                )
        return [*known]

    def _key(self, leaf: Any) -> Hashable:
        """Return what stands for a leaf: it is equal for equal leaves."""
        cls = type(leaf)
        if cls is str or cls is int:
            return leaf  # type: ignore[no-any-return]  # it has a hash
        try:
            key = _array_key(leaf) if is_array(leaf) else _hashable(leaf)
            if key != key:
                return (float, "nan") if self.criteria.equal_nan else object()
            hash(key)
        except FAULTS:  # of its class: it may have neither `==` nor a hash
            return object()
        if self.criteria.typematch or cls is bool:
            return cls, key
        return key  # type: ignore[no-any-return]  # it has a hash


def _array_key(array: Any) -> Any:
    """Return the value of an array without dimensions; of others, a sample."""
    array = as_numpy(array)
    if not array.shape:
        return array.item()
    step = max(1, array.size // _MOST_ELEMENTS)
    sample = array.reshape(-1)[::step]
    return array.shape, str(array.dtype), sample.tobytes()


def _hashable(value: Any) -> Any:
    """Return the content of a value without a hash, any other value itself."""
    cls = type(value)
    form = form_of(cls)
    if cls.__hash__ is not None or form is None or form.content is None:
        return value
    content = form.content(value)
    return frozenset(content) if isinstance(content, Set) else content


_MOST_ELEMENTS: Final = 1_000
_MOST_PAIRS: Final = 1_000_000


def aligned(mine: Sequence[int], theirs: Sequence[int]) -> tuple[Pairs, Pairs]:
    """Return which items of two lists are the same.

    Args:
        mine, theirs: Numbers that identify the items.

    Returns:
        The pairs of equal items in the same order in both lists, as many as possible;
        those at equal positions, if there are more than a million pairs of equal items.
        And the other pairs of equal items.

    Example:
        >>> from leafwise.selection.align import aligned
        >>> aligned([1, 2, 3, 4], [4, 1, 3])
        ([(0, 1), (2, 2)], [(3, 0)])
    """
    places: defaultdict[int, list[int]] = defaultdict(list)
    for j in range(len(theirs) - 1, -1, -1):
        places[theirs[j]].append(j)
    kept = [
        (n, n) for n, (x, y) in enumerate(zip(mine, theirs, strict=False)) if x == y
    ]
    if sum(len(places.get(number, ())) for number in mine) <= _MOST_PAIRS:
        kept = max(kept, _longest_common(mine, places), key=len)
    ours, others = {i for i, _ in kept}, {j for _, j in kept}
    left = {number: [j for j in js if j not in others] for number, js in places.items()}
    moved = []
    for i, number in enumerate(mine):
        if i not in ours and left.get(number):
            moved.append((i, left[number].pop()))
    return kept, moved


def _longest_common(mine: Sequence[int], places: Mapping[int, Sequence[int]]) -> Pairs:
    """Return the pairs of a longest common subsequence.

    Args:
        mine: The numbers of one list.
        places: The positions of the numbers in the other one, the last ones first.
    """
    ends: list[int] = []  # ends[k] is where the best sequence of length k + 1 ends
    tips: list[int] = []
    steps: list[tuple[int, int, int]] = []
    for i, number in enumerate(mine):
        for j in places.get(number, ()):
            k = bisect_left(ends, j)
            if k == len(ends) or ends[k] != j:
                ends[k : k + 1] = [j]
                tips[k : k + 1] = [len(steps)]
                steps.append((i, j, tips[k - 1] if k else -1))
    found = []
    tip = tips[-1] if tips else -1
    while tip >= 0:
        i, j, tip = steps[tip]
        found.append((i, j))
    return found[::-1]


def rows_of(
    sizes: tuple[int, int],
    kept: Pairs,
    moved: Pairs,
    start: int = 0,
    shared: Callable[[int, int], int] = lambda _i, _j: 0,
) -> Iterator[Row]:
    """Yield the items of two lists in leaf order, those of the first list first.

    Items between those that stay replace each other.

    Args:
        sizes: The lengths of the lists.
        kept: The paired items, in the order of both lists.
        moved: The other paired items.
        start: How many more items are in front of both lists.
        shared: Says of an item of each list how many parts they share.
    """
    targets = dict(moved)
    taken = {*targets.values()}
    i = j = 0
    for stop, other in [*kept, sizes]:
        gone = [n for n in range(i, stop) if n not in targets]
        new = [n for n in range(j, other) if n not in taken]
        for before, after in [*_replaced(gone, new, shared), (stop, other)]:
            for n in range(i, before):
                yield Row(n + start, targets.get(n, -1 - start) + start, n in targets)
            yield from (Row(-1, n + start) for n in range(j, after) if n not in taken)
            if before < sizes[0]:
                yield Row(before + start, after + start)
            i, j = before + 1, after + 1


_MOST_COMPARED: Final = 1_024


def _replaced(
    gone: list[int], new: list[int], shared: Callable[[int, int], int]
) -> Pairs:
    """Return pairs of items that replace each other, in the order of both lists.

    Each item of the shorter list takes that of the others which is most like it, as
    long as enough are left.
    """
    if len(gone) > len(new):
        turned = _replaced(new, gone, lambda j, i: shared(i, j))
        return [(i, j) for j, i in turned]
    if len(gone) == len(new) or len(gone) * len(new) > _MOST_COMPARED:
        return [*zip(gone, new, strict=False)]
    pairs, first = [], 0
    for number, i in enumerate(gone):
        choice = range(first, len(new) - len(gone) + number + 1)
        best = max(choice, key=lambda at: shared(i, new[at]))
        pairs.append((i, new[best]))
        first = best + 1
    return pairs
