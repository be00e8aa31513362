"""Objects as text: nested blocks laid out over lines, and outlines.

Owns the layout alone. An object gives a `Block` of what it is made of; this module
writes blocks, the containers around them and everything else, with an explicit
stack. An object that was written before, or that is nested too deeply, is three dots.
An outline is drawn from rows of different depth, with a column of notes beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from ..equality.exact import is_array_like
from ..safely import shown, type_name


__all__ = ["Block", "Options", "Row", "draw", "options", "render"]

_STEP: Final = "  "


class Options:
    """How objects are written.

    Attributes:
        max_depth: How many levels of objects are written; what is below is `...`.
    """

    __slots__ = ("max_depth",)

    def __init__(self, max_depth: int = 50) -> None:
        self.max_depth = max_depth


options: Final = Options()
"""The options that `repr` uses."""


class Block(NamedTuple):
    """What an object is made of, as text is concerned.

    Attributes:
        opening: The text before everything, such as `Linear(`.
        items: The text before each value, and the value.
        closing: The text after everything.
        comment: What to say beside the opening.
    """

    opening: str
    items: Sequence[tuple[str, Any]]
    closing: str
    comment: str = ""


def render(value: Any, *, whole: bool = False) -> str:
    """Return an object as text, over several lines if it is made of blocks.

    Args:
        value: Anything.
        whole: Whether to write large arrays as they are, not only what they are.

    Example:
        >>> import leafwise as lw
        >>> class Layer(lw.Pytree):
        ...     def __init__(self, size): self.size = size
        >>> lw.List([Layer(2), lw.data([Layer(3)])])
        List([
          Layer(
            size=2
          ),
          [Layer(
            size=3
          )]
        ])
    """
    return "".join(_Writer(whole=whole).write(value))


class _Writer:
    """Writes one value; keeps what was written before."""

    def __init__(self, *, whole: bool) -> None:
        self.short = repr if whole else short
        self.pieces: list[str] = []
        self.seen: dict[int, Any] = {}
        self.open: set[int] = set()

    def write(self, value: Any) -> list[str]:
        """Return the pieces of the text of a value."""
        stack: list[tuple[Any, int]] = [((value,), 0)]
        while stack:
            part, depth = stack.pop()
            if type(part) is str:
                self.pieces.append(part)
            elif type(part) is _Closed:
                self.open.discard(part.container)
            else:
                stack += reversed([*self.parts(part[0], depth)])
        return self.pieces

    def parts(self, value: Any, depth: int) -> Iterable[tuple[Any, int]]:
        """Return a value as texts, and one-tuples of values that are inside."""
        describe = getattr(type(value), "_leafwise_block", None)
        if describe is None:
            return self.plain(value, depth)
        if id(value) in self.seen or depth >= options.max_depth:
            return [(f"{type_name(value)}(...)", depth)]
        self.seen[id(value)] = value
        return _block_parts(describe(value, nested=depth > 0), depth)

    def plain(self, value: Any, depth: int) -> Iterable[tuple[Any, int]]:
        """Return the parts of what is not an object of ours."""
        brackets = _BRACKETS.get(type(value))
        if brackets is None or not value:
            text = self.short(value).replace("\n", f"\n{_STEP * depth}")
            return [(text, depth)]
        if id(value) in self.open:
            return [(f"{brackets[0]}...{brackets[1]}", depth)]
        self.open.add(id(value))
        parts: list[tuple[Any, int]] = [(brackets[0], depth)]
        for place, item in enumerate(value):
            if place:
                parts.append((", ", depth))
            if brackets[0] == "{":
                parts += [(f"{shown(item)}: ", depth), ((value[item],), depth)]
            else:
                parts.append(((item,), depth))
        end = f",{brackets[1]}" if type(value) is tuple and len(value) == 1 else None
        return [*parts, (end or brackets[1], depth), (_Closed(id(value)), depth)]


class _Closed(NamedTuple):
    """The end of a container."""

    container: int


_BRACKETS: Final[dict[type, tuple[str, str]]] = {
    list: ("[", "]"),
    tuple: ("(", ")"),
    dict: ("{", "}"),
}


def _block_parts(block: Block, depth: int) -> Iterable[tuple[Any, int]]:
    comment = f" # {block.comment}" if block.comment else ""
    if not block.items:
        yield f"{block.opening}{block.closing}{comment}", depth
        return
    yield f"{block.opening}{comment}\n", depth
    for place, (label, value) in enumerate(block.items):
        if place:
            yield ",\n", depth
        yield f"{_STEP * (depth + 1)}{label}", depth
        yield (value,), depth + 1
    yield f"\n{_STEP * depth}{block.closing}", depth


def short(value: Any) -> str:
    """Return the `repr` of a value, or what an array is if it has many items."""
    if is_array_like(value) and not isinstance(value, type):
        try:
            shape = tuple(value.shape)
            if _size(shape) > 1:
                return f"Array(shape={shape}, dtype={value.dtype!r})"
        except Exception:
            return f"<{type_name(value)}>"
    return shown(value)


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for length in shape:
        size *= length
    return size


# ----------------------------------------------------------------------- outlines


class Row(NamedTuple):
    """One line of an outline.

    Attributes:
        depth: How many rows stand above it.
        label: What it is.
        note: What there is to say of it.
    """

    depth: int
    label: str
    note: str


def draw(rows: Sequence[Row]) -> str:
    """Return rows as text, each below the one that it belongs to.

    Example:
        >>> from leafwise.show.text import Row, draw
        >>> print(draw([Row(0, "a", "1"), Row(1, "b", "2"), Row(1, "c", "3")]))
        a      1
        ├── b  2
        └── c  3
    """
    pairs = zip(_branches(rows), rows, strict=True)
    labelled = [(f"{branch}{row.label}", row.note) for branch, row in pairs]
    width = max((len(label) for label, _ in labelled), default=0)
    return "\n".join(f"{label:<{width}}  {note}".rstrip() for label, note in labelled)


def _branches(rows: Sequence[Row]) -> list[str]:
    """Return what stands before each label, worked out from the last row up."""
    branches: list[str] = []
    later: list[bool] = []  # for each depth, whether a row that comes hangs there
    for row in reversed(rows):
        depth = row.depth
        later = later[: depth + 1] + [False] * (depth + 1 - len(later))
        bars = ["│   " if more else "    " for more in later[1:depth]]
        tip = "" if not depth else "├── " if later[depth] else "└── "
        branches.append("".join(bars) + tip)
        later[depth] = True
    return branches[::-1]
