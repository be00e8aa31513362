"""What becomes of the entries of a dict or list, whatever the format.

Owns which old entry becomes which new one, when two values are the same, and when an
edit is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final

from ...selection.align import aligned


__all__ = ["GONE", "RevisionError", "check_comments", "check_values", "same", "steps"]


class RevisionError(ValueError):
    r"""A text cannot be edited without losing comments or layout; says why.

    Example:
        >>> from leafwise.io.formats import load
        >>> from leafwise.io.revision import revise
        >>> text = "a: [1,  # one\n  2]\n"
        >>> revise(text, load(text, "yaml"), {"a": 5})
        Traceback (most recent call last):
        ...
        leafwise.io.revision.parts.RevisionError: the comment '# one' would be lost
    """


def check_comments(before: Iterable[str], after: Iterable[str]) -> None:
    """Raise `RevisionError` if a comment that has to stay is not there any more."""
    for comment in Counter(before) - Counter(after):
        raise RevisionError(f"the comment {comment!r} would be lost")


def check_values(found: Any, expected: Any) -> None:
    """Raise `RevisionError` if a new text has other values than an edit."""
    if not same(found, expected, written=False):
        raise RevisionError("the new text would have other values than the edit")


def same(a: Any, b: Any, *, written: bool = True) -> bool:
    """Return whether two plain values are the same, types and all; NaN is itself.

    And 0.0 is not -0.0.

    Args:
        a, b: The values.
        written: Whether numbers that know their text must have the same one.
    """
    if not written:
        a, b = (x.plain(x) if hasattr(x, "plain") else x for x in (a, b))
    if a is b or type(a) is not type(b):
        return a is b
    if type(a) is dict:
        return a.keys() == b.keys() and all(
            same(value, b[key], written=written) for key, value in a.items()
        )
    if type(a) is list:
        return len(a) == len(b) and all(
            same(*pair, written=written) for pair in zip(a, b, strict=True)
        )
    if isinstance(a, float) or hasattr(a, "plain"):
        return repr(a) == repr(b)
    return bool(a == b)


Step = tuple[Any, Any]
"""The index of an old entry, None for a new one; and its new key, `GONE` for none."""
GONE: Final = object()


def steps(old: Any, new: Any) -> list[Step]:
    """Return in order what becomes of the entries of a dict or list, and which are new.

    Args:
        old: The old value.
        new: The new one, of the same type.
    """
    return _of_lists(old, new) if isinstance(old, list) else [*_of_dicts(old, new)]


def _of_dicts(old: dict[Any, Any], new: dict[Any, Any]) -> Iterator[Step]:
    renamed = {
        one: other
        for one, other in zip(old, new, strict=False)
        if one not in new and other not in old and same(old[one], new[other])
    }
    names = [key if key in new else renamed.get(key, GONE) for key in old]
    stay, after = {*names}, GONE
    added: dict[Any, list[Any]] = {}  # by the key before them that stays
    for key in new:
        if key in stay:
            after = key
        else:
            added.setdefault(after, []).append(key)
    yield from ((None, key) for key in added.pop(GONE, ()))
    for index, name in enumerate(names):
        yield index, name
        yield from ((None, key) for key in added.get(name, ()))


def _of_lists(old: list[Any], new: list[Any]) -> list[Step]:
    numbers: dict[str, int] = {}
    sides = [[numbers.setdefault(repr(item), len(numbers)) for item in side]
             for side in (old, new)]  # fmt: skip
    kept, _ = aligned(*sides)
    found: list[Step] = []
    i = j = 0
    for stop, other in [*kept, (len(old), len(new))]:
        # between items that stay: one of the same type replaces another
        while i < stop or j < other:
            if i < stop and j < other and (
                stop - i == other - j or type(old[i]) is type(new[j])
            ):  # fmt: skip
                found.append((i, j))
                i, j = i + 1, j + 1
            elif other - j > stop - i:
                found.append((None, j))
                j += 1
            else:
                found.append((i, GONE))
                i += 1
        if i < len(old):
            found.append((i, j))
            i, j = i + 1, j + 1
    return found
