"""What becomes of the entries of a dict or list: kept, renamed, removed or added.

Values are compared as a config file would show them, types and all.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from operator import itemgetter
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
        if a.keys() != b.keys():
            return False
        return all(same(value, b[key]) for key, value in a.items())
    if type(a) is list:
        if len(a) != len(b):
            return False
        return all(map(same, a, b))
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
    names = _new_names(old, new)
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


def _new_names(old: dict[Any, Any], new: dict[Any, Any]) -> list[Any]:
    """Return the new key of each old entry; `GONE` if it is removed.

    A key at the same position whose value is the same has been renamed.
    """
    names: list[Any] = []
    for old_key, new_key in zip_longest(old, new, fillvalue=GONE):
        if old_key is GONE:
            break
        if old_key in new:
            names.append(old_key)
        elif new_key is GONE or new_key in old:
            names.append(GONE)
        else:
            is_renamed = same(old[old_key], new[new_key])
            names.append(new_key if is_renamed else GONE)
    return names


def _list_steps(old: list[Any], new: list[Any]) -> Iterator[Step]:
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    for index in range(start):
        yield Step(index, index)
    old_stop = len(old) - end
    new_stop = len(new) - end
    numbers: dict[str, int] = {}
    old_numbers = _numbered(old[start:old_stop], numbers)
    new_numbers = _numbered(new[start:new_stop], numbers)
    pairs, _ = aligned(old_numbers, new_numbers)
    old_start = start
    new_start = start
    for old_place, new_place in pairs:
        old_index = start + old_place
        new_index = start + new_place
        old_range = range(old_start, old_index)
        new_range = range(new_start, new_index)
        yield from _gap_steps(old, new, old_range, new_range)
        yield Step(old_index, new_index)
        old_start = old_index + 1
        new_start = new_index + 1
    old_range = range(old_start, old_stop)
    new_range = range(new_start, new_stop)
    yield from _gap_steps(old, new, old_range, new_range)
    for index in range(end):
        yield Step(old_stop + index, new_stop + index)


def _numbered(items: list[Any], numbers: dict[str, int]) -> list[int]:
    """Return a number for each item, the same one for items with equal texts."""
    return [numbers.setdefault(repr(item), len(numbers)) for item in items]


def _common(old: list[Any], new: list[Any]) -> int:
    """Return how many items at the beginning are the same."""
    for index, (a, b) in enumerate(zip(old, new, strict=False)):
        if not same(a, b):
            return index
    return min(len(old), len(new))


def _gap_steps(
    old: list[Any],
    new: list[Any],
    old_range: range,
    new_range: range,
) -> Iterator[Step]:
    """Pair items between others that stay: those that are most alike.

    As many items as before replace each other in order. If items went or came, one that
    is like no other is a new one, so that no comment comes to stand at another item.
    """
    old_start = old_range.start
    new_start = new_range.start
    for old_index, new_index in _likest_pairs(old, new, old_range, new_range):
        yield from _unlike_steps(
            range(old_start, old_index),
            range(new_start, new_index),
        )
        yield Step(old_index, new_index)
        old_start = old_index + 1
        new_start = new_index + 1
    yield from _unlike_steps(
        range(old_start, old_range.stop),
        range(new_start, new_range.stop),
    )


def _unlike_steps(old_range: range, new_range: range) -> Iterator[Step]:
    if len(old_range) == len(new_range):
        yield from map(Step, old_range, new_range)
        return
    for index in old_range:
        yield Step(index, GONE)
    for key in new_range:
        yield Step(None, key)


def _likest_pairs(
    old: list[Any],
    new: list[Any],
    old_range: range,
    new_range: range,
) -> list[tuple[int, int]]:
    """Return the pairs of items, in order, that are most alike in all."""
    if not 0 < len(old_range) * len(new_range) <= _MOST_COMPARED:
        return []
    # best[i, j]: the likeness of the first items up to there, and its last pair
    best: dict[tuple[int, int], tuple[float, Any]] = {}
    nothing = (0.0, None)
    for i in old_range:
        for j in new_range:
            choices = [
                best.get((i - 1, j), nothing),
                best.get((i, j - 1), nothing),
            ]
            likeness = _likeness(old[i], new[j])
            if likeness > 0:
                total, link = best.get((i - 1, j - 1), nothing)
                choices.append((total + likeness, ((i, j), link)))
            best[i, j] = max(choices, key=itemgetter(0))
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
