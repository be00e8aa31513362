"""Nested text laid out over lines of a given width.

Owns the words in which objects say what they are made of (`Sketch`), the door by which
notebooks and others come to their pictures (`Shown`), and the layout: a `Part` is a
text, or an opening, parts and a closing; it stands in one line if it fits, else each of
its parts has a line of its own. Knows nothing of what the text is about.

The idea of a document that is flat where it fits is Wadler's ("A prettier printer").
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any, Final, NamedTuple


WIDTH: Final = 80
"""The number of columns that texts have if nobody says."""

_STEP: Final = 2
_DEEPEST: Final = 30  # levels that are indented; or the text of a chain were quadratic
_ENDLESS: Final = 1 << 60


class Child(NamedTuple):
    """A value inside another one, as it is shown.

    Attributes:
        label: What stands before it in Python text, such as `'lr': ` or `x=`.
        key: Its key; None if it is no child of the tree.
        value: The value.
        kind: What sort of data it is, if the object around says so.
    """

    label: str
    key: Any
    value: Any
    kind: str = ""


class Sketch(NamedTuple):
    """What an object is made of, as it is shown.

    Attributes:
        children: What is inside.
        opening: The text before them, such as `Linear(`.
        closing: The text after them.
        comment: What is said beside it.
        hidden: How many children are not among those here.
    """

    children: Sequence[Child]
    opening: str
    closing: str
    comment: str = ""
    hidden: int = 0


class _Html:
    """A method of instances that their classes do not show.

    If the class has it, treescope appends the HTML of an object to what it draws itself
    of the object.
    """

    __slots__ = ()

    def __get__(self, value: object, cls: type) -> Any:
        return self if value is None else _protocol("html_of", value)


class Shown:
    """Base of our classes that notebooks, rich and treescope show as pictures.

    What they ask for is made by `leafwise.show`, which is loaded then. A class that
    says itself how it looks, by a method of these names, is shown so.
    """

    __slots__ = ()

    _repr_html_ = _Html()

    def _repr_mimebundle_(self, **wanted: Any) -> dict[str, str]:
        """Return the HTML, for IPython, which has the text from `repr`."""
        make: Callable[[], str] | None = self._repr_html_
        return {} if make is None else {"text/html": make()}

    def __rich_console__(self, console: Any, options: Any) -> Iterable[Any]:
        """Return the text, as wide as rich wants it."""
        lines: Iterable[Any] = _protocol("rich_of", self)(options)
        return lines

    def __treescope_repr__(self, path: str | None, subtree_renderer: Any) -> Any:
        """Return what treescope draws."""
        return _protocol("treescope_of", self)(path, subtree_renderer)


def _protocol(name: str, value: Any) -> Callable[..., Any]:
    """Return what answers for a value; that module stands above this one."""
    function = getattr(import_module(".show.protocols", __package__), name)
    return lambda *args: function(value, *args)


class Part:
    """A text, or something with parts inside.

    Attributes:
        label: What stands before it, such as `'lr': ` or `x=`.
        opening: Its text, or what stands before its parts.
        parts: What is inside.
        closing: What stands after them.
        comment: What is said beside it. With a comment, parts have lines of their own.
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


def lay_out(root: Part, width: int = WIDTH) -> str:
    """Return the text of a part, at most so many columns wide where that can be.

    What is nested more than 30 levels deep is not indented further.

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
    if "\n" in part.opening or part.comment:
        return _ENDLESS
    inside = sum([widths[id(inner)] + 2 for inner in part.parts])
    around = len(part.label) + len(part.opening) + len(part.closing)
    return around + inside - 2 * bool(part.parts)


class _Writer:
    """Writes one part; what is still to be written is on a stack."""

    def __init__(self, width: int, widths: dict[int, int]) -> None:
        self.width = width
        self.widths = widths
        self.pieces: list[str] = []

    def write(self, root: Part) -> list[str]:
        """Return the pieces of the text."""
        stack: list[tuple[Any, int, str]] = [(root, 0, "")]
        while stack:
            part, depth, comma = stack.pop()
            if type(part) is str:
                self.pieces.append(part)
                continue
            indent = _STEP * min(depth, _DEEPEST)
            if not part.parts:
                self.leaf(part, indent, comma)
            elif indent + self.widths[id(part)] + len(comma) <= self.width:
                self.pieces.append(_flat(part) + comma)
            elif _is_row(part):
                self.fill(part, indent, comma)
            else:
                stack += reversed(_lines(part, depth, comma))
        return self.pieces

    def leaf(self, part: Part, indent: int, comma: str) -> None:
        """Write what has no parts, with its comment."""
        text = f"{part.label}{part.opening}{part.closing}{comma}"
        comment = f"  # {part.comment}" if part.comment else ""
        self.pieces.append(text.replace("\n", "\n" + " " * indent) + comment)

    def fill(self, part: Part, indent: int, comma: str) -> None:
        """Write parts that are bare texts, as many in a line as fit."""
        start = "\n" + " " * (indent + _STEP)
        self.pieces.append(f"{part.label}{part.opening}")
        column, last = self.width, len(part.parts) - 1
        for place, inner in enumerate(part.parts):
            text = f"{inner.opening}{',' * (place < last)}"
            if column + 1 + len(text) > self.width and (column != indent + _STEP):
                self.pieces.append(start)
                column = indent + _STEP
            else:
                self.pieces.append(" ")
                column += 1
            self.pieces.append(text)
            column += len(text)
        self.pieces.append(f"\n{' ' * indent}{part.closing}{comma}")


def _flat(root: Part) -> str:
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
    return (
        len(part.parts) > 4
        and not part.comment
        and not any(
            [p.parts or p.label or p.comment or "\n" in p.opening for p in part.parts]
        )
    )


def _lines(part: Part, depth: int, comma: str) -> list[tuple[Any, int, str]]:
    """Return what is written of a part whose parts have lines of their own."""
    comment = f"  # {part.comment}" if part.comment else ""
    start = "\n" + " " * (_STEP * min(depth + 1, _DEEPEST))
    end = "\n" + " " * (_STEP * min(depth, _DEEPEST))
    found: list[tuple[Any, int, str]] = [
        (f"{part.label}{part.opening}{comment}", 0, "")
    ]
    last = len(part.parts) - 1
    for place, inner in enumerate(part.parts):
        found += [(start, 0, ""), (inner, depth + 1, "," if place < last else "")]
    return [*found, (f"{end}{part.closing}{comma}", 0, "")]
