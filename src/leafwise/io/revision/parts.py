"""What becomes of the entries of a dict or list, whatever the format.

Owns which old entry becomes which new one, which removed values come back elsewhere,
when two values are the same, and when an edit is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from ...ops.context import context_of
from ...selection.align import Numbering, aligned, rows_of


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
    stays = {key for key in keys if key in new}
    gone = _after(keys, stays, lambda key: key is not MERGE and key not in new)
    added = _after(new, stays, lambda key: key not in old)
    renamed: dict[Any, Any] = {}
    for place, names in gone.items():
        for key in names:
            for one in added.get(place, ()):
                if same(old[key], new[one]):
                    renamed[key] = one
                    added[place].remove(one)
                    break
    yield from ((None, one) for one in added.get(GONE, ()) if GONE not in gone)
    before: Any = GONE
    for index, key in enumerate(keys):
        yield index, key if key is MERGE or key in new else renamed.get(key, GONE)
        if key in stays:
            before = key
        if (key in stays and before not in gone) or key in gone.get(before, ())[-1:]:
            yield from ((None, one) for one in added.get(before, ()))
    brought = (key for key in new if key in old and key not in stays)
    yield from ((None, key) for key in brought if not same(old[key], new[key]))


def _after(keys: Iterable[Any], stays: set[Any], is_one: Any) -> dict[Any, list[Any]]:
    """Return the keys of one kind by the nearest one before them that stays."""
    before: Any = GONE
    found: dict[Any, list[Any]] = {}
    for key in keys:
        before = key if key in stays else before
        if is_one(key):
            found.setdefault(before, []).append(key)
    return found


def _of_lists(old: list[Any], new: list[Any]) -> Iterator[Step]:
    start = _alike(old, new)
    end = _alike(old[start:][::-1], new[start:][::-1])
    sides = old[start : len(old) - end], new[start : len(new) - end]
    sizes, numbering = (len(sides[0]), len(sides[1])), Numbering(context_of())
    kept: list[tuple[int, int]] = []
    if min(sizes) > 0 and max(sizes) > 1:  # otherwise there is nothing to align
        kept, _ = aligned(*([*map(numbering.of, side)] for side in sides))
    yield from ((n, n) for n in range(start))
    shared = lambda i, j: numbering.shared(sides[0][i], sides[1][j])  # noqa: E731
    for before, after, _ in rows_of(sizes, kept, [], start, shared):
        yield before if before >= 0 else None, after if after >= 0 else GONE
    yield from ((len(old) - n, len(new) - n) for n in range(end, 0, -1))


def _alike(old: list[Any], new: list[Any]) -> int:
    """Return how many items are the same from the start on."""
    pairs = enumerate(zip(old, new, strict=False))
    least = min(len(old), len(new))
    return next((n for n, (x, y) in pairs if not same(x, y)), least)
