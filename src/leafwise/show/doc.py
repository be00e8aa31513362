"""Nested text laid out over lines of a given width.

Owns the words in which objects say what they are made of (`Sketch`), and the layout: a
`Part` is a text, or an opening, parts and a closing; it stands in one line if it fits,
else each of its parts has a line of its own. Knows nothing of what the text is about.

The idea of a document that is flat where it fits is Wadler's ("A prettier printer").
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from .._hooks import Displayable


WIDTH: Final = 80
"""The number of columns that texts have if nobody says."""

_STEP: Final = 2
_DEEPEST: Final = 30  # levels that are indented; or the text of a chain were quadratic
_MARGIN: Final = 4  # and no more of the width than one part in two, at a step of two
_ENDLESS: Final = 1 << 60


class Child(NamedTuple):
    """A value inside another one, as it is shown.

    Attributes:
        label: What stands before it in Python text, such as `'lr': ` or `x=`; if it is
            "", what the key has there.
        key: Its key; None if it is no child of the tree.
        value: The value.
        kind: What sort of data it is, if the object around says so; or what tells that
            of what is said of the object.
    """

    label: str
    key: Any
    value: Any
    kind: str | Callable[[str], str] = ""


class Sketch(NamedTuple):
    """What an object is made of, as it is shown.

    Attributes:
        children: What is inside.
        opening: The text before them, such as `Linear(`.
        closing: The text after them.
        comment: What is said beside it; or what returns that, where it takes long to
            find out. It is told whether the object stands inside another one.
        hidden: How many children are not among those here.
    """

    children: Sequence[Child]
    opening: str
    closing: str
    comment: str | Callable[[bool], str] = ""
    hidden: int = 0


class Part(Displayable):
    """A text, or something with parts inside.

    Attributes:
        label: What stands before it, such as `'lr': ` or `x=`.
        opening: Its text, or what stands before its parts.
        parts: What is inside.
        closing: What stands after them.
        comment: What is said behind it, in a line that nothing else follows.
    """

    __slots__ = ("closing", "comment", "label", "opening", "parts")

    def __init__(
        self,
        opening: str,
        parts: Sequence[Part] = (),
        closing: str = "",
        *,
        label: str = "",
        comment: str = "",
    ) -> None:
        self.opening: str = opening
        self.parts: Sequence[Part] = parts
        self.closing: str = closing
        self.label: str = label
        self.comment: str = comment

    def _leafwise_sketch(self) -> Sketch:
        inside = [Child(part.label, None, part) for part in self.parts]
        return Sketch(inside, self.opening, self.closing, self.comment)

    def labelled(self, label: str) -> Part:
        """Return the same with a label."""
        more = {"label": label, "comment": self.comment}
        return Part(self.opening, self.parts, self.closing, **more)


def _all_parts(root: Part) -> list[Part]:
    """Return a part and all that is inside, each after what it is inside of."""
    found = [root]
    for part in found:
        found += part.parts
    return found


def lay_out(root: Part, width: int = WIDTH) -> str:
    """Return the text of a part, at most so many columns wide where that can be.

    What is nested more than 30 levels deep is not indented further, nor beyond the
    middle.

    Args:
        root: The part.
        width: The number of columns.

    Example:
        >>> from leafwise.show.doc import Part, lay_out
        >>> sizes = Part("[", [Part("64"), Part("32")], "]", label="'sizes': ")
        >>> config = Part("{", [Part("0.1", label="'lr': "), sizes], "}")
        >>> print(lay_out(config))
        {'lr': 0.1, 'sizes': [64, 32]}
        >>> print(lay_out(config, 20))
        {
          'lr': 0.1,
          'sizes': [64, 32]
        }
    """
    widths = _widths(root)
    deepest = min(_DEEPEST, width // _MARGIN)
    pieces: list[str] = []
    stack: list[tuple[Any, int, str]] = [(root, 0, "")]
    while stack:
        part, depth, comma = stack.pop()
        if type(part) is str:
            pieces.append(part)
            continue
        here, below = (" " * (_STEP * min(d, deepest)) for d in (depth, depth + 1))
        remark = f"  # {part.comment}" if part.comment else ""
        columns = len(here) + widths[id(part)] + len(comma) + len(remark)
        if not part.parts:
            text = f"{part.label}{part.opening}{part.closing}{comma}"
            start = f"\n{here}{' ' * len(part.label)}"
            pieces += text.replace("\n", start), remark
        elif columns <= width:
            pieces += flat(part), comma, remark
        elif _is_row(part):
            pieces += part.label, part.opening, remark
            pieces += _filled(part.parts, below, width)
            pieces.append(f"\n{here}{part.closing}{comma}")
        else:
            pieces += part.label, part.opening, remark
            stack.append((f"\n{here}{part.closing}{comma}", 0, ""))
            for place in range(len(part.parts) - 1, -1, -1):
                comma = "," if place < len(part.parts) - 1 else ""
                stack.append((part.parts[place], depth + 1, comma))
                stack.append((f"\n{below}", 0, ""))
    return "".join(pieces)


def _widths(root: Part) -> dict[int, int]:
    """Return how many columns each part takes in one line, by identity."""
    widths: dict[int, int] = {}
    for part in reversed(_all_parts(root)):
        width = len(part.label) + len(part.opening) + len(part.closing)
        for place, inner in enumerate(part.parts):
            width += _ENDLESS if inner.comment else widths[id(inner)] + 2 * (place > 0)
        widths[id(part)] = _ENDLESS if "\n" in part.opening else width
    return widths


def _filled(parts: Sequence[Part], below: str, width: int) -> Iterator[str]:
    """Yield parts that are bare texts, as many in a line as fit."""
    column, last = width, len(parts) - 1
    for place, inner in enumerate(parts):
        text = f"{inner.opening}{inner.closing}{',' * (place < last)}"
        if not place or column + 1 + len(text) > width:
            yield f"\n{below}"
            column = len(below)
        else:
            yield " "
            column += 1
        yield text
        column += len(text)


def flat(root: Part) -> str:
    """Return a part in one line."""
    pieces: list[str] = []
    stack: list[Any] = [root]
    while stack:
        part = stack.pop()
        if type(part) is str:
            pieces.append(part)
            continue
        pieces += part.label, part.opening
        stack.append(part.closing)
        for place in range(len(part.parts) - 1, -1, -1):
            stack.append(part.parts[place])
            if place:
                stack.append(", ")
    return "".join(pieces)


def _is_row(part: Part) -> bool:
    """Return whether the parts are bare texts of one line, and several of them."""
    return len(part.parts) > 4 and all(
        not (p.parts or p.label or p.comment or "\n" in p.opening) for p in part.parts
    )
