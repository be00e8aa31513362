"""Nested text laid out over lines of a given width.

Owns the words in which objects say what they are made of (`Sketch`), and the layout: a
`Part` is a text, or an opening, parts and a closing; it stands in one line if it fits,
else each of its parts has a line of its own. Knows nothing of what the text is about.

The idea of a document that is flat where it fits is Wadler's ("A prettier printer").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple


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


class Part:
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
        self.opening = opening
        self.parts = parts
        self.closing = closing
        self.label = label
        self.comment = comment

    def labelled(self, label: str) -> Part:
        """Return the same with a label."""
        return Part(
            self.opening, self.parts, self.closing, label=label, comment=self.comment
        )


def take_apart(root: Part) -> None:
    """Leave a part without what is inside: a long chain could not be dropped."""
    stack = [root]
    while stack:
        part = stack.pop()
        stack += part.parts
        part.parts = ()


def lay_out(root: Part, width: int = WIDTH) -> str:
    """Return the text of a part, at most so many columns wide where that can be.

    What is nested more than 30 levels deep is not indented further, nor beyond the
    middle.

    Args:
        root: The part.
        width: The number of columns.

    Example:
        >>> from leafwise.layout import Part, lay_out
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
    return "".join(_Writer(width, _widths(root)).write(root))


def _widths(root: Part) -> dict[int, int]:
    """Return how many columns each part takes in one line, by identity."""
    widths: dict[int, int] = {}
    stack: list[tuple[Part, bool]] = [(root, False)]
    while stack:
        part, is_done = stack.pop()
        if not part.parts or is_done:
            widths[id(part)] = _width(part, widths)
        else:
            stack.append((part, True))
            stack += [(inner, False) for inner in part.parts]
    return widths


def _width(part: Part, widths: dict[int, int]) -> int:
    """Return how many columns a part takes, without its comment."""
    if "\n" in part.opening:
        return _ENDLESS
    inside = sum([_in_line(inner, widths) + 2 for inner in part.parts])
    around = len(part.label) + len(part.opening) + len(part.closing)
    return around + inside - 2 * bool(part.parts)


def _in_line(part: Part, widths: dict[int, int]) -> int:
    return _ENDLESS if part.comment else widths[id(part)]


def _remark(part: Part) -> str:
    return f"  # {part.comment}" if part.comment else ""


class _Writer:
    """Writes one part; what is still to be written is on a stack."""

    def __init__(self, width: int, widths: dict[int, int]) -> None:
        self.width = width
        self.widths = widths
        self.deepest = min(_DEEPEST, width // _MARGIN)
        self.pieces: list[str] = []

    def write(self, root: Part) -> list[str]:
        """Return the pieces of the text."""
        stack: list[tuple[Any, int, str]] = [(root, 0, "")]
        while stack:
            part, depth, comma = stack.pop()
            if type(part) is str:
                self.pieces.append(part)
            elif not part.parts:
                self.leaf(part, depth, comma)
            elif self.fits(part, depth, comma):
                self.pieces += flat(part), comma, _remark(part)
            elif _is_row(part):
                self.fill(part, depth, comma)
            else:
                stack += reversed(self.lines(part, depth, comma))
        return self.pieces

    def indent(self, depth: int) -> int:
        """Return in which column a line of some depth starts."""
        return _STEP * min(depth, self.deepest)

    def fits(self, part: Part, depth: int, comma: str) -> bool:
        """Return whether a part stands in the rest of a line."""
        columns = self.widths[id(part)] + len(comma) + len(_remark(part))
        return self.indent(depth) + columns <= self.width

    def leaf(self, part: Part, depth: int, comma: str) -> None:
        """Write what has no parts, with its comment."""
        text = f"{part.label}{part.opening}{part.closing}{comma}"
        start = "\n" + " " * (self.indent(depth) + len(part.label))
        self.pieces.append(text.replace("\n", start) + _remark(part))

    def fill(self, part: Part, depth: int, comma: str) -> None:
        """Write parts that are bare texts, as many in a line as fit."""
        left = self.indent(depth + 1)
        start = "\n" + " " * left
        self.pieces += part.label, part.opening, _remark(part)
        column, last = self.width, len(part.parts) - 1
        for place, inner in enumerate(part.parts):
            text = f"{inner.opening}{',' * (place < last)}"
            if not place or column + 1 + len(text) > self.width:
                self.pieces.append(start)
                column = left
            else:
                self.pieces.append(" ")
                column += 1
            self.pieces.append(text)
            column += len(text)
        self.pieces.append(f"\n{' ' * self.indent(depth)}{part.closing}{comma}")

    def lines(self, part: Part, depth: int, comma: str) -> list[tuple[Any, int, str]]:
        """Return what is written of a part whose parts have lines of their own."""
        start = "\n" + " " * self.indent(depth + 1)
        end = "\n" + " " * self.indent(depth)
        opening = f"{part.label}{part.opening}{_remark(part)}"
        found: list[tuple[Any, int, str]] = [(opening, 0, "")]
        last = len(part.parts) - 1
        for place, inner in enumerate(part.parts):
            found += [(start, 0, ""), (inner, depth + 1, "," if place < last else "")]
        return [*found, (f"{end}{part.closing}{comma}", 0, "")]


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
