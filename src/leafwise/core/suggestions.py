"""Which of some names is meant by one that does not exist.

Owns one small measure of likeness; the standard library's `difflib` would do, but
takes half as long to import as this whole package may.
"""

from __future__ import annotations

from collections.abc import Iterable


__all__ = ["brief", "is_near", "nearest"]

_LONGEST = 64
_SHOWN = 100
_MOST = 2000
_ENDS = 4


def brief(names: Iterable[str]) -> str:
    """Return names in one text, none of them longer than a message can bear.

    Example:
        >>> from leafwise.core.suggestions import brief
        >>> brief(["a", "b"])
        'a, b'
    """
    return ", ".join(
        name if len(name) <= _SHOWN else f"{name[: _SHOWN - 3]}..." for name in names
    )


def nearest(wanted: str, names: Iterable[str]) -> list[str]:
    """Return the names, those most like the wanted one first.

    Of very many names only some are looked at: of those that share the beginning or
    the end with the wanted one, if there are such.

    Example:
        >>> from leafwise.core.suggestions import nearest
        >>> nearest("bais", ["weight", "bias", "name"])[0]
        'bias'
    """
    few = [*names]
    if len(few) > _MOST:
        head, tail = wanted[:_ENDS], wanted[-_ENDS:]
        few = [name for name in few if head in name or tail in name][:_MOST] or few
    return sorted(few[:_MOST], key=lambda name: distance(wanted, name))


def is_near(a: str, b: str) -> bool:
    """Say whether one text is most likely the other one, misspelt.

    Example:
        >>> from leafwise.core.suggestions import is_near
        >>> is_near("bais", "bias"), is_near("lr", "wd")
        (True, False)
    """
    return (
        distance(a, b) <= max(1, min(len(a), len(b)) // 3) and min(len(a), len(b)) > 2
    )


def distance(a: str, b: str) -> int:
    """Return how many characters must be changed to make one text of another.

    Two neighbours that changed places count once. Long texts are cut.

    Source: the optimal string alignment form of the Damerau-Levenshtein distance.

    Example:
        >>> from leafwise.core.suggestions import distance
        >>> distance("bais", "bias"), distance("lr", "wd")
        (1, 2)
    """
    a, b = a[:_LONGEST], b[:_LONGEST]
    before: list[int] = []
    last = list(range(len(b) + 1))
    for i, x in enumerate(a, start=1):
        row = [i]
        for j, y in enumerate(b, start=1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before, last = last, row
    return last[-1]
