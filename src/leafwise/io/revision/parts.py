"""What becomes of the entries of a dict or list, whatever the format.

Owns which old entry becomes which new one, when two values are the same, and when an
edit is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from ...selection.align import aligned


__all__ = ["GONE", "MERGE", "RevisionError", "check_comments", "same", "steps"]


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


def same(a: Any, b: Any, *, written: bool = True) -> bool:
    """Return whether two plain values are the same, types and all; NaN is itself.

    And 0.0 is not -0.0.

    Args:
        a, b: The values.
        written: Whether numbers that know their text must have the same one.
    """
    pairs = [(a, b)]
    while pairs:
        a, b = pairs.pop()
        if not written:
            a, b = (x.plain(x) if hasattr(x, "plain") else x for x in (a, b))
        if a is b:
            continue
        if type(a) is not type(b):
            return False
        if type(a) is dict and a.keys() == b.keys():
            pairs += [(value, b[key]) for key, value in a.items()]
        elif type(a) is list and len(a) == len(b):
            pairs += zip(a, b, strict=True)
        elif isinstance(a, float) or hasattr(a, "plain"):
            if repr(a) != repr(b):
                return False
        elif a != b:
            return False
    return True


Step = tuple[Any, Any]
"""The index of an old entry, None for a new one; and its new key, `GONE` for none."""
GONE: Final = object()
MERGE: Final = object()
"""The key of an entry that has no key of its own: what YAML writes as `<<`."""


def steps(old: Any, new: Any, keys: Sequence[Any] | None = None) -> list[Step]:
    """Return in order what becomes of the entries of a dict or list, and which are new.

    Args:
        old: The old value.
        new: The new one, of the same type.
        keys: The keys of a dict in the order of the text, `MERGE` for what is merged.
    """
    if isinstance(old, list):
        return _of_lists(old, new)
    return [*_of_dicts([*old] if keys is None else keys, old, new)]


def _of_dicts(keys: Sequence[Any], old: Any, new: Any) -> Iterator[Step]:
    renamed = {
        one: other
        for one, other in zip(old, new, strict=False)
        if one not in new and other not in old and same(old[one], new[other])
    }
    names = [key if key is MERGE or key in new else renamed.get(key, GONE)
             for key in keys]  # fmt: skip
    stay, after = {name for name in names if name not in (GONE, MERGE)}, GONE
    added: dict[Any, list[Any]] = {}  # by the key before them that stays
    for key in new:
        if key in stay:
            after = key
        elif key not in old:
            added.setdefault(after, []).append(key)
    yield from ((None, key) for key in added.get(GONE, ()))
    for index, name in enumerate(names):
        yield index, name
        if name in stay:
            yield from ((None, key) for key in added.get(name, ()))
    brought = (key for key in new if key in old and key not in stay)  # by `<<`
    yield from ((None, key) for key in brought if not same(old[key], new[key]))


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
