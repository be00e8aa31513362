"""What becomes of the entries of a dict or list: kept, renamed, removed or added.

Values are compared as a config file would show them, types and all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from ...selection.align import aligned
from ..documents import Tagged


GONE: Final = object()
"""The new key of an entry that is removed."""
_MOST_COMPARED: Final = 10_000
"""How many pairs of items are compared to find which one became which."""


class Step(NamedTuple):
    """What becomes of an entry.

    Attributes:
        place: The index of the old entry; None for one that is added.
        key: Its new key; `GONE` if it is removed.
    """

    place: int | None
    key: Any


def same(a: Any, b: Any) -> bool:
    """Return whether two plain values are the same, types and all; NaN is itself.

    0.0 is not -0.0, and numbers that know their text must have the same one.
    """
    if a is b or type(a) is not type(b):
        return a is b
    if type(a) is dict:
        return a.keys() == b.keys() and all(
            same(value, b[key]) for key, value in a.items()
        )
    if type(a) is list:
        return len(a) == len(b) and all(map(same, a, b))
    if type(a) is Tagged:
        return a.tag == b.tag and same(a.value, b.value)
    if isinstance(a, float) or hasattr(a, "plain"):
        return repr(a) == repr(b)
    return bool(a == b)


def steps(old: Any, new: Any) -> list[Step]:
    """Return in order what becomes of the entries of a dict or list.

    Args:
        old: The old value.
        new: The new one, of the same type.
    """
    if isinstance(old, list):
        return list(_list_steps(old, new))
    if list(old) == list(new):
        return [Step(index, key) for index, key in enumerate(new)]
    return list(_dict_steps(old, new))


def _dict_steps(old: dict[Any, Any], new: dict[Any, Any]) -> Iterator[Step]:
    renamed = {
        old_key: new_key
        for old_key, new_key in zip(old, new, strict=False)
        if old_key not in new
        and new_key not in old
        and same(old[old_key], new[new_key])
    }
    names = [key if key in new else renamed.get(key, GONE) for key in old]
    staying = set(names)
    previous: Any = GONE
    added: dict[Any, list[Any]] = {}  # by the key before them that stays
    for key in new:
        if key in staying:
            previous = key
        else:
            added.setdefault(previous, []).append(key)
    for key in added.pop(GONE, ()):
        yield Step(None, key)
    for index, name in enumerate(names):
        yield Step(index, name)
        for key in added.get(name, ()):
            yield Step(None, key)


def _list_steps(old: list[Any], new: list[Any]) -> Iterator[Step]:
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    for index in range(start):
        yield Step(index, index)
    old_stop = len(old) - end
    new_stop = len(new) - end
    numbers: dict[str, int] = {}
    old_numbers = [
        numbers.setdefault(repr(x), len(numbers)) for x in old[start:old_stop]
    ]
    new_numbers = [
        numbers.setdefault(repr(x), len(numbers)) for x in new[start:new_stop]
    ]
    pairs, _ = aligned(old_numbers, new_numbers)
    i = j = start
    for old_place, new_place in pairs:
        yield from _gap_steps(
            old, new, range(i, start + old_place), range(j, start + new_place)
        )
        yield Step(start + old_place, start + new_place)
        i = start + old_place + 1
        j = start + new_place + 1
    yield from _gap_steps(old, new, range(i, old_stop), range(j, new_stop))
    for index in range(end):
        yield Step(old_stop + index, new_stop + index)


def _common(old: list[Any], new: list[Any]) -> int:
    """Return how many items at the beginning are the same."""
    for index, (a, b) in enumerate(zip(old, new, strict=False)):
        if not same(a, b):
            return index
    return min(len(old), len(new))


def _gap_steps(
    old: list[Any], new: list[Any], old_range: range, new_range: range
) -> Iterator[Step]:
    """Pair items between others that stay: those that are most alike.

    As many items as before replace each other in order. If items went or came, one that
    is like no other is a new one, so that no comment comes to stand at another item.
    """
    i = old_range.start
    j = new_range.start
    for old_index, new_index in _likest_pairs(old, new, old_range, new_range):
        yield from _unlike_steps(range(i, old_index), range(j, new_index))
        yield Step(old_index, new_index)
        i = old_index + 1
        j = new_index + 1
    yield from _unlike_steps(range(i, old_range.stop), range(j, new_range.stop))


def _unlike_steps(old_range: range, new_range: range) -> Iterator[Step]:
    if len(old_range) == len(new_range):
        yield from map(Step, old_range, new_range)
        return
    for index in old_range:
        yield Step(index, GONE)
    for key in new_range:
        yield Step(None, key)


def _likest_pairs(
    old: list[Any], new: list[Any], old_range: range, new_range: range
) -> list[tuple[int, int]]:
    """Return the pairs of items, in order, that are most alike in all."""
    if not 0 < len(old_range) * len(new_range) <= _MOST_COMPARED:
        return []
    # best[i, j]: the likeness of the first items up to there, and its last pair
    best: dict[tuple[int, int], tuple[float, Any]] = {}
    for i in old_range:
        for j in new_range:
            above = best.get((i - 1, j), (0.0, None))
            left = best.get((i, j - 1), (0.0, None))
            likeness = _likeness(old[i], new[j])
            before = best.get((i - 1, j - 1), (0.0, None))
            choices = [above, left]
            if likeness > 0:
                pair = (before[0] + likeness, ((i, j), before[1]))
                choices.append(pair)
            best[i, j] = max(choices, key=lambda choice: choice[0])
    pairs: list[tuple[int, int]] = []
    _, link = best[old_range[-1], new_range[-1]]
    while link is not None:
        pair, link = link
        pairs.append(pair)
    return pairs[::-1]


def _likeness(a: Any, b: Any) -> float:
    """Return how alike two items are, from 0 to 1; two scalars are not."""
    if type(a) is not type(b) or not isinstance(a, dict | list):
        return 0.0
    if not a or not b:
        return 0.0
    if isinstance(a, dict):
        common = sum(key in b and same(value, b[key]) for key, value in a.items())
    else:
        texts = [repr(item) for item in b]
        common = sum(repr(item) in texts for item in a)
    return 2 * common / (len(a) + len(b))
