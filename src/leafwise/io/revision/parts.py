"""What becomes of the entries of a dict or list, whatever the format.

Owns which old entry becomes which new one, which removed values come back elsewhere,
when two values are the same, and when an edit is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from ...ops.context import context_of
from ...selection.align import Numbering, aligned, filled, rows_of


__all__ = ["GONE", "MERGE", "Made", "Removed", "RevisionError", "Step"]
__all__ += ["same", "steps"]

_MOST_MOVED: Final = 200


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


class Made(NamedTuple):
    """An edited text.

    Attributes:
        text: The text.
        tree: What it should be parsed as.
        before: The comments of the old text.
        dropped: Those that belong to removed entries.
    """

    text: str
    tree: Any
    before: Iterable[str]
    dropped: Iterable[str]

    def check_comments(self, after: Iterable[str]) -> None:
        """Raise `RevisionError` if a comment is neither there nor dropped."""
        lost = Counter(self.before) - Counter(self.dropped) - Counter(after)
        if lost:
            raise RevisionError(f"the comment {next(iter(lost))!r} would be lost")


class Removed:
    """Removed values, of which some come back elsewhere in the text.

    Attributes:
        all: The values, each after a handle of the format.
        left: Those that do not come back.
    """

    def __init__(self) -> None:
        self.all: list[tuple[Any, Any]] = []
        self.left: list[tuple[Any, Any]] = []

    def add(self, handle: Any, value: Any) -> None:
        """Note a removed value."""
        self.all.append((handle, value))
        self.left.append((handle, value))

    def take(self, value: Any) -> Any:
        """Return the handle of the removed value that comes back as this one, or None.

        Equal scalars are one only if nothing else was removed.
        """
        is_one = len(self.all) == 1
        for place, (handle, old) in enumerate(self.left[:_MOST_MOVED]):
            if (is_one or isinstance(value, dict | list)) and same(old, value):
                del self.left[place]
                return handle
        return None


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
            a, b = _plain(a), _plain(b)
        if a is b:
            continue
        if type(a) is not type(b):
            return False
        if type(a) is dict:
            if a.keys() != b.keys():
                return False
            pairs += [(value, b[key]) for key, value in a.items()]
        elif type(a) is list:
            if len(a) != len(b):
                return False
            pairs += zip(a, b, strict=True)
        elif isinstance(a, int | float):
            if a != b if type(a) is int else repr(a) != repr(b):
                return False
        elif a != b:
            return False
    return True


def _plain(value: Any) -> Any:
    cls = getattr(type(value), "plain", None)
    return cls(value) if cls in (int, float) else value


Step = tuple[int | None, Any]
"""The index of an old entry, None for a new one; and its new key, `GONE` for none."""
GONE: Final = object()
MERGE: Final = object()
"""The key of an entry that has no key of its own: what YAML writes as `<<`."""


def steps(old: Any, new: Any, keys: Sequence[Any] | None = None) -> Iterable[Step]:
    """Return in order what becomes of the entries of a dict or list, and which are new.

    Args:
        old: The old value.
        new: The new one, of the same type.
        keys: The keys of a dict in the order of the text, `MERGE` for what is merged.
    """
    if isinstance(old, list):
        return _of_lists(old, new)
    return _of_dicts([*old] if keys is None else keys, old, new)


def _of_dicts(keys: Sequence[Any], old: Any, new: Any) -> Iterator[Step]:
    known = {*keys}
    added = [
        k for k in new if k not in known and (k not in old or not same(old[k], new[k]))
    ]
    renamed = _renamed(keys, old, new, added)
    follows: dict[Any, list[Any]] = {}  # new keys, by the one that they stand after
    before: Any = GONE
    names = {new_key: key for key, new_key in renamed.items()}
    for key in new:
        if key in known or key in names:
            before = names.get(key, key)
        elif key not in old:
            follows.setdefault(before, []).append(key)
    yield from ((None, key) for key in follows.get(GONE, ()))
    for index, key in enumerate(keys):
        if key is MERGE:
            yield index, MERGE
            continue
        yield index, key if key in new else renamed.get(key, GONE)
        yield from ((None, one) for one in follows.get(key, ()))
    yield from ((None, key) for key in added if key in old and key not in names)


def _renamed(
    keys: Sequence[Any], old: Any, new: Any, added: list[Any]
) -> dict[Any, Any]:
    """Return new keys by old ones: the same value, after the same key that stays."""
    stays = {key for key in keys if key in new}
    gone = [key for key in keys if key not in stays and key is not MERGE]
    before, after = _predecessors(keys, stays), _predecessors(new, stays)
    found: dict[Any, Any] = {}
    for key in gone if added else ():
        for candidate in added:
            if after[candidate] == before[key] and same(old[key], new[candidate]):
                added.remove(candidate)
                found[key] = candidate
                break
    added += found.values()
    return found


def _predecessors(keys: Iterable[Any], stays: set[Any]) -> dict[Any, Any]:
    """Return for each key the nearest one before it that stays."""
    before: Any = GONE
    found = {}
    for key in keys:
        found[key] = before
        before = key if key in stays else before
    return found


def _of_lists(old: list[Any], new: list[Any]) -> Iterator[Step]:
    start = _alike(old, new)
    end = _alike(old[start:][::-1], new[start:][::-1])
    mine, theirs = old[start : len(old) - end], new[start : len(new) - end]
    sizes, numbering = (len(mine), len(theirs)), Numbering(context_of())
    kept: list[tuple[int, int]] = []
    if min(sizes) > 0 and max(sizes) > 1:  # otherwise there is nothing to align
        kept, _ = aligned([*map(numbering.of, mine)], [*map(numbering.of, theirs)])
    pairs = filled(
        sizes,
        kept,
        [],
        lambda side, n: numbering.parts((mine, theirs)[side][n]),
    )
    yield from ((n, n) for n in range(start))
    for row in rows_of(sizes, pairs, []):
        before, after, _ = row.beyond(start)
        yield before if before >= 0 else None, after if after >= 0 else GONE
    yield from ((len(old) - n, len(new) - n) for n in range(end, 0, -1))


def _alike(old: list[Any], new: list[Any]) -> int:
    """Return how many items are the same from the start on."""
    pairs = enumerate(zip(old, new, strict=False))
    least = min(len(old), len(new))
    return next((n for n, (x, y) in pairs if not same(x, y)), least)
