"""What becomes of the entries of a dict or list: kept, renamed, removed or added.

Values are compared as a config file would show them, types and all.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from operator import itemgetter
from typing import Any, Final, NamedTuple

from ...selection.align import Pairs, aligned
from ..documents import Tagged


ABSENT: Final = object()
"""In a `Step`: the entry is not there before, or not afterwards."""
_MOST_COMPARED: Final = 10_000
"""How many pairs of items are compared to find which one became which."""


class Step(NamedTuple):
    """What becomes of an entry of a dict or list.

    Attributes:
        old_key: Its key or position; `ABSENT` if it is added.
        key: Its new key or position; `ABSENT` if it is removed.
    """

    old_key: Any
    key: Any


def same(a: Any, b: Any) -> bool:
    """Return whether two plain values are the same, types and all; NaN is itself.

    0.0 is not -0.0, and numbers that know their text must have the same one.
    """
    if a is b or type(a) is not type(b):
        return a is b
    if type(a) is str:  # the commonest
        return bool(a == b)
    # by map: a generator would take a second frame for each level of a deep file
    if type(a) is dict:
        if a.keys() != b.keys():
            return False
        return all(map(same, a.values(), [b[key] for key in a]))
    if type(a) is list:
        return len(a) == len(b) and all(map(same, a, b))
    if type(a) is Tagged:
        return a.tag == b.tag and same(a.value, b.value)
    if isinstance(a, float) or hasattr(a, "plain"):
        return repr(a) == repr(b)
    return bool(a == b)


def steps(old: Any, new: Any) -> Iterator[Step]:
    """Yield what becomes of the entries of a dict or list, in their new order.

    Each old entry is in one step, and these stay in order: a text is edited from its
    beginning to its end, and nothing in it changes places.

    Args:
        old: The old value.
        new: The new one, of the same type.
    """
    if isinstance(old, list):
        return _list_steps(old, new)
    return _dict_steps(old, new)


def _dict_steps(old: dict[Any, Any], new: dict[Any, Any]) -> Iterator[Step]:
    new_keys = _new_keys(old, new)
    staying = set(new_keys)
    previous: Any = ABSENT
    added: dict[Any, list[Any]] = {}  # by the key before them that stays
    for key in new:
        if key in staying:
            previous = key
        else:
            added.setdefault(previous, []).append(key)
    for key in added.pop(ABSENT, ()):
        yield Step(ABSENT, key)
    for old_key, new_key in zip(old, new_keys, strict=True):
        yield Step(old_key, new_key)
        for key in added.get(new_key, ()):
            yield Step(ABSENT, key)


def _new_keys(old: dict[Any, Any], new: dict[Any, Any]) -> list[Any]:
    """Return the new key of each old entry; `ABSENT` if it is removed.

    A key at the same position whose value is the same has been renamed.
    """
    new_keys: list[Any] = []
    for old_key, new_key in zip_longest(old, new, fillvalue=ABSENT):
        if old_key is ABSENT:
            break
        if old_key in new:
            new_keys.append(old_key)
        elif new_key is ABSENT or new_key in old:
            new_keys.append(ABSENT)
        else:
            is_renamed = same(old[old_key], new[new_key])
            new_keys.append(new_key if is_renamed else ABSENT)
    return new_keys


def _list_steps(old: list[Any], new: list[Any]) -> Iterator[Step]:
    """Yield the steps of a list.

    Items that are the same are paired first, then those between them that are most
    alike. What is left between two pairs replaces each other in order, if there are as
    many items as before. Otherwise an item that is like no other is a new one, so that
    no comment comes to stand at another item.
    """
    pairs: Pairs = []
    for old_gap, new_gap, pair in _gaps(_same_pairs(old, new), old, new):
        pairs += _likest_pairs(old, new, old_gap, new_gap)
        pairs += pair
    for old_gap, new_gap, pair in _gaps(pairs, old, new):
        if len(old_gap) == len(new_gap):
            yield from map(Step, old_gap, new_gap)
        else:
            for index in old_gap:
                yield Step(index, ABSENT)
            for index in new_gap:
                yield Step(ABSENT, index)
        for old_index, new_index in pair:
            yield Step(old_index, new_index)


def _gaps(
    pairs: Pairs,
    old: list[Any],
    new: list[Any],
) -> Iterator[tuple[range, range, Pairs]]:
    """Yield what is between pairs of items, with the pair behind it, if any."""
    old_start = 0
    new_start = 0
    for old_index, new_index in pairs:
        pair = [(old_index, new_index)]
        yield range(old_start, old_index), range(new_start, new_index), pair
        old_start = old_index + 1
        new_start = new_index + 1
    yield range(old_start, len(old)), range(new_start, len(new)), []


def _same_pairs(old: list[Any], new: list[Any]) -> Pairs:
    """Return the pairs of items that are the same, in order."""
    # most items of a long list are those at its ends, where no text has to be made
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    old_stop = len(old) - end
    new_stop = len(new) - end
    numbers: dict[str, int] = {}
    old_numbers = _numbered(old[start:old_stop], numbers)
    new_numbers = _numbered(new[start:new_stop], numbers)
    middle, _ = aligned(old_numbers, new_numbers)
    pairs = [(index, index) for index in range(start)]
    pairs += [(start + old_index, start + new_index) for old_index, new_index in middle]
    pairs += [(old_stop + index, new_stop + index) for index in range(end)]
    return pairs


def _numbered(items: list[Any], numbers: dict[str, int]) -> list[int]:
    """Return a number for each item, the same one for items with equal texts."""
    return [numbers.setdefault(repr(item), len(numbers)) for item in items]


def _common(old: list[Any], new: list[Any]) -> int:
    """Return how many items at the beginning are the same."""
    for index, (a, b) in enumerate(zip(old, new, strict=False)):
        if not same(a, b):
            return index
    return min(len(old), len(new))


def _likest_pairs(
    old: list[Any],
    new: list[Any],
    old_gap: range,
    new_gap: range,
) -> Pairs:
    """Return the pairs of items, in order, that are most alike in all."""
    if not 0 < len(old_gap) * len(new_gap) <= _MOST_COMPARED:
        return []
    # best[i, j]: the pairs among the items up to i and j, and how alike they are in all
    best: dict[tuple[int, int], tuple[float, Pairs]] = {}
    nothing: tuple[float, Pairs] = (0.0, [])
    for i in old_gap:
        for j in new_gap:
            without_old = best.get((i - 1, j), nothing)
            without_new = best.get((i, j - 1), nothing)
            best[i, j] = max(without_old, without_new, key=itemgetter(0))
            likeness = _likeness(old[i], new[j])
            if likeness > 0:
                total, pairs = best.get((i - 1, j - 1), nothing)
                if total + likeness > best[i, j][0]:
                    best[i, j] = (total + likeness, [*pairs, (i, j)])
    _, likest_pairs = best[old_gap[-1], new_gap[-1]]
    return likest_pairs


def _likeness(a: Any, b: Any) -> float:
    """Return how alike two items are, from 0 to 1; two scalars are not."""
    if type(a) is not type(b) or not isinstance(a, dict | list):
        return 0.0
    if not a or not b:
        return 0.0
    common = 0
    if isinstance(a, dict):
        for key, value in a.items():
            if key in b and same(value, b[key]):
                common += 1
    else:
        texts = {repr(item) for item in b}
        for item in a:
            if repr(item) in texts:
                common += 1
    return 2 * common / (len(a) + len(b))
