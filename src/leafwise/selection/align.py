"""Items of two lists that belong together, found in bounded time for any lists.

Equal values get equal numbers (`Numbering`); `aligned` finds items with equal numbers
in two lists.

A longest common subsequence is found with the method of Hunt and Szymanski (A fast
algorithm for computing longest common subsequences, 1977). Its time grows with the
number of pairs of equal items; if there are too many, items are paired by position.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence, Set
from typing import Any, Final, TypeAlias

from .._text import FAULTS, short_repr
from ..core.codec import form_of
from ..core.context import Context
from ..core.keypath import KeyPath, path_below
from ..core.keys import SequenceKey
from ..equality.arrays import Criteria, as_numpy, is_array
from ..equality.leaves import DEFAULT_CRITERIA
from ..errors import EditError
from .pairs import PairKey
from .patterns import place_text
from .select import Selector, children_of


Pairs: TypeAlias = list[tuple[int, int]]
"""Positions in one list, and in the other."""


# ------------------------------------------------------------------- equal items


class Numbering:
    """Assigns equal numbers to equal values.

    Different values may get one number in rare cases. Leaves are compared exactly,
    whatever tolerance a comparison has; what only its class can compare equals nothing.

    Args:
        context: What is a leaf.
        criteria: Whether types count, and whether NaN is the same as NaN.
    """

    def __init__(
        self,
        context: Context,
        criteria: Criteria = DEFAULT_CRITERIA,
    ) -> None:
        self.context = context
        self.criteria = criteria
        self._numbers: dict[Hashable, int] = {}
        # by id, of large values and their parts; they are kept, so that ids stay theirs
        self._large: dict[int, tuple[Any, int]] = {}

    def of(self, value: Any) -> int:
        """Return the number of a value.

        Raises:
            CycleError: It contains itself.
        """
        if id(value) in self._large:
            return self._large[id(value)][1]
        leaves, treedef = self.context.flatten(value)
        if len(leaves) == 1 and leaves[0] is value:
            return self._number(self._key(value))
        if len(leaves) <= _SMALL:
            return self._number((treedef, *map(self._key, leaves)))
        self._number_parts(value)
        return self._large[id(value)][1]

    def shared(
        self,
        a: Any,
        b: Any,
    ) -> int:
        """Return how many children two nodes share: equal ones under equal keys."""
        return len(self._children(a) & self._children(b))

    def _children(self, node: Any) -> set[tuple[Any, int]]:
        """Return the keys of a node's children, each with the number of the child."""
        node_type = self.context.node_type_of(node)
        if node_type is None:
            return set()
        children = children_of(node, node_type)
        return {(key, self.of(child)) for key, child in children.items()}

    def _number(self, key: Hashable) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def _number_parts(self, value: Any) -> None:
        """Number a large value, the lists in it, and the items of these.

        The lists in it are aligned as well, later, and those in them: so each list and
        each item is read only once.
        """
        parts = [value]
        flat_parts: list[tuple[list[Any], Any]] = []
        for part in parts:  # which grows meanwhile
            flat_part = self.context.also_stopping(self._ends(part)).flatten(part)
            flat_parts.append(flat_part)
            parts += [leaf for leaf in flat_part[0] if self._is_part(leaf)]
        rows = list(zip(parts, flat_parts, strict=True))
        # the inner parts first, since their numbers stand for them in the outer ones
        for part, (leaves, treedef) in reversed(rows):
            keys: list[Hashable] = []
            for leaf in leaves:
                if id(leaf) in self._large:
                    keys.append(("part", self._large[id(leaf)][1]))
                else:
                    keys.append(self._key(leaf))
            number = self._number((treedef, *keys))
            self._large[id(part)] = (part, number)

    def _ends(self, part: Any) -> Callable[[Any], bool]:
        """Return a function that says whether a value in a part is a part of its own.

        These are the items of a list; in any other part, the lists.
        """
        node_type = self.context.view.resolve(type(part))
        is_list = node_type is not None and node_type.is_sequence

        def is_end(node: Any) -> bool:
            return node is not part and (is_list or self._is_list(node))

        return is_end

    def _is_list(self, node: Any) -> bool:
        node_type = self.context.view.resolve(type(node))
        return node_type is not None and node_type.is_sequence

    def _is_part(self, leaf: Any) -> bool:
        return (
            id(leaf) not in self._large and self.context.node_type_of(leaf) is not None
        )

    def by_key(
        self,
        items: Sequence[Any],
        key: Selector,
        path: KeyPath,
    ) -> list[int]:
        """Return numbers that identify the values of a key in the items of a list.

        Args:
            items: The items of the list.
            key: The key to read in each item.
            path: The path of the list.

        Raises:
            EditError: An item has no value or several values for the key, or two items
                have the same value.
        """
        paths: dict[int, KeyPath] = {}
        for position, item in enumerate(items):
            places = key.targets(item, self.context)
            where = path_below(path, SequenceKey(position))
            if len(places) != 1:
                has = f"{len(places)} values at" if places else "no"
                raise EditError(
                    f"the item at {place_text(where)} has {has} {key.text!r}, the key "
                    "that pairs the items",
                    path=where,
                )
            value = places[0].value
            first = paths.setdefault(self.of(value), where)
            if first is not where:
                raise EditError(
                    f"the items at {place_text(first)} and {place_text(where)} have "
                    f"the same {key.text!r}, {short_repr(value)}, the key that pairs "
                    "the items",
                    path=where,
                )
        return list(paths)

    def _key(self, leaf: Any) -> Hashable:
        """Return what stands for a leaf: it is equal for equal leaves."""
        cls = type(leaf)
        if cls is str or cls is int:
            return leaf  # type: ignore[no-any-return]  # it has a hash
        try:
            key = _array_key(leaf) if is_array(leaf) else _hashable(leaf)
            if key != key:  # NaN, which no dict finds again
                return (float, "nan") if self.criteria.equal_nan else object()
            hash(key)
        except FAULTS:  # of its class: it may have neither `==` nor a hash
            return object()
        if self.criteria.typematch or cls is bool:  # True is 1 for a dict
            return cls, key
        return key  # type: ignore[no-any-return]  # it has a hash


def _array_key(array: Any) -> Any:
    """Return the value of an array without dimensions; of others, a sample."""
    array = as_numpy(array)
    if not array.shape:
        return array.item()
    # different arrays with equal samples are paired, and then compared in full
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


_SMALL: Final = 64
"""Values of so many leaves are numbered as a whole."""
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
    # The last ones first: an item of one list could otherwise be paired with several
    # equal items of the other, each extending the sequence of the one before.
    for j in range(len(theirs) - 1, -1, -1):
        places[theirs[j]].append(j)
    in_order: Pairs = []
    for n, (number, other_number) in enumerate(zip(mine, theirs, strict=False)):
        if number == other_number:
            in_order.append((n, n))
    pair_count = sum(len(places.get(number, ())) for number in mine)
    if pair_count <= _MOST_PAIRS:
        in_order = max(in_order, _longest_common(mine, places), key=len)
    my_positions = {i for i, _ in in_order}
    their_positions = {j for _, j in in_order}
    unpaired = {
        number: [j for j in js if j not in their_positions]
        for number, js in places.items()
    }
    moved = []
    # `unpaired` has the last ones first, so that equal items are paired in their order
    for i, number in enumerate(mine):
        if i not in my_positions and unpaired.get(number):
            moved.append((i, unpaired[number].pop()))
    return in_order, moved


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
                # appends for a longer sequence, else replaces the end of one as long
                ends[k : k + 1] = [j]
                tips[k : k + 1] = [len(steps)]
                before = tips[k - 1] if k else -1
                steps.append((i, j, before))
    pairs = []
    tip = tips[-1] if tips else -1
    while tip >= 0:
        i, j, tip = steps[tip]
        pairs.append((i, j))
    pairs.reverse()
    return pairs


def paired_items(
    sizes: tuple[int, int],
    in_order: Pairs,
    moved: Pairs,
    start: int = 0,
    shared: Callable[[int, int], int] = lambda _i, _j: 0,
) -> Iterator[PairKey]:
    """Yield the items of two lists in leaf order, those of the first list first.

    Items between those that stay replace each other.

    Args:
        sizes: The lengths of the lists.
        in_order: The paired items, in the order of both lists.
        moved: The other paired items.
        start: How many more items are in front of both lists.
        shared: Says of an item of each list how many parts they share.
    """
    targets = dict(moved)
    sources = set(targets.values())
    i = 0
    j = 0
    for stop, other_stop in [*in_order, sizes]:
        removed = [n for n in range(i, stop) if n not in targets]
        added = [n for n in range(j, other_stop) if n not in sources]
        stops = _replaced(removed, added, shared)
        stops.append((stop, other_stop))
        for before, after in stops:
            for n in range(i, before):
                if n in targets:
                    yield PairKey(n + start, targets[n] + start, has_moved=True)
                else:
                    yield PairKey(n + start, -1)
            for n in range(j, after):
                if n not in sources:
                    yield PairKey(-1, n + start)
            if before < sizes[0]:
                yield PairKey(before + start, after + start)
            i = before + 1
            j = after + 1


_MOST_COMPARED: Final = 1_024


def _replaced(
    removed: list[int],
    added: list[int],
    shared: Callable[[int, int], int],
) -> Pairs:
    """Return pairs of items that replace each other, in the order of both lists.

    Each item of the shorter list takes that of the others which is most like it, as
    long as enough are left.
    """
    if len(removed) > len(added):
        turned = _replaced(added, removed, lambda j, i: shared(i, j))
        return [(i, j) for j, i in turned]
    # each pair would be compared, so that long runs take quadratic time
    is_long = len(removed) * len(added) > _MOST_COMPARED
    if len(removed) == len(added) or is_long:
        return list(zip(removed, added, strict=False))
    pairs: Pairs = []
    first = 0
    for number, i in enumerate(removed):
        end = len(added) - len(removed) + number + 1
        likeness = [shared(i, j) for j in added[first:end]]
        best = first + likeness.index(max(likeness))
        pairs.append((i, added[best]))
        first = best + 1
    return pairs
