"""Trees as SVG pictures that need no other files.

Each level of the tree is a column, from left to right, with its boxes in the order of
the tree. A box is centred on the boxes inside it, and subtrees are as close as their
contours allow: the tidy layout of Reingold and Tilford, turned on its side. The font is
monospaced, so the width of a text is known without one.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from zlib import crc32

from ..core.context import context_of
from ..core.registry import GLOBAL
from .colors import LOOKS
from .diagram import arrows_of, boxes_of, scene, style_of
from .fold import count_text, key_text, path_text, sign_of, value_text
from .outline import Item
from .page import rules_of
from .picture import Picture
from .text import clipped, columns


if TYPE_CHECKING:
    from .._typing import IsLeaf


_LETTER: Final = 7.25  # pixels, of a monospaced font of 12
_HEIGHT: Final = 22
_STEP: Final = 27  # from one box to the next one below
_EXTRA: Final = 6  # additional space between boxes that are not inside the same box
_GAP: Final = 34  # between columns
_INSIDE: Final = 8  # between a text and the edges of its box
_MARGIN: Final = 12
_LONGEST_KEY: Final = 40
_LONGEST: Final = 36


def to_svg(
    tree: Any,
    *,
    depth: int | None = None,
    select: Any = None,
    max_leaves: int = 200,
    collapse: int = 3,
    is_leaf: IsLeaf = None,
    namespace: str = GLOBAL,
) -> str:
    """Return a tree as an SVG picture that follows the reader's light or dark theme.

    The picture needs neither fonts nor scripts, and loads nothing from the network.
    Each box has its key path as a tooltip. Neighbours of equal structure are one box,
    `x 12`. An object that occurs again is shown as `→ #1`, with a dashed line to the
    box with that number. Equal trees give equal pictures.

    Args:
        tree, depth, select, max_leaves, collapse: See `leafwise.show.to_mermaid`.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        namespace: Where classes are looked up before the global registry.

    Raises:
        PathError: The selector matches nothing.
        ValueError: A selector is given for a diff.

    Example:
        >>> from leafwise.show import to_svg
        >>> picture = to_svg({"layers": [{"w": 0.1, "b": 0.2}] * 12})
        >>> picture.startswith("<svg xmlns="), picture.endswith("</svg>")
        (True, True)
    """
    context = context_of(is_leaf, namespace=namespace)
    root = scene(tree, context, select, depth, max_leaves, collapse)
    text = _Drawing(root).text()
    return Picture(text, {"image/svg+xml": text})


# -------------------------------------------------------------------------- places


def centres(root: Item) -> dict[Item, float]:
    """Return the distance from the top to the middle of each box.

    Args:
        root: The outline that is drawn.

    Example:
        >>> import leafwise as lw
        >>> from leafwise.core.context import context_of
        >>> from leafwise.show.diagram import scene
        >>> from leafwise.show.svg import centres
        >>> root = scene({"a": [1, 2, 3], "b": 4}, context_of(None))
        >>> list(centres(root).values())
        [51.5, 38.0, 11.0, 38.0, 65.0, 65.0]
    """
    boxes = boxes_of(root)
    shifts: dict[Item, float] = {}  # of each box against the one that it is in
    contours: dict[Item, list[_Span]] = {}
    # from the inside out: a subtree is complete before it is placed beside others
    for box in reversed(boxes):
        contours[box] = _place_inside(box, shifts, contours)
    positions = {root: 0.0}
    for box in boxes:
        for inner in box.children:
            positions[inner] = positions[box] + shifts[inner]
    top = min(positions.values()) - _HEIGHT / 2
    return {box: positions[box] - top for box in boxes}


_Span: TypeAlias = tuple[float, float]
"""The middle of the first and of the last box of a subtree on one level."""


def _place_inside(
    box: Item,
    shifts: dict[Item, float],
    contours: dict[Item, list[_Span]],
) -> list[_Span]:
    """Place the boxes inside a box one below the other, and return its contour.

    Args:
        box: The box.
        shifts: Where the boxes inside are added.
        contours: The spans of the subtrees inside, level by level; they are removed.
    """
    below: list[_Span] = []
    for inner in box.children:
        contour = contours.pop(inner)
        shift = _clearance(below, contour)
        shifts[inner] = shift
        for level, (first, last) in enumerate(contour):
            bottom = last + shift
            if level < len(below):
                top, _ = below[level]
                below[level] = top, bottom
            else:
                below.append((first + shift, bottom))
    if not box.children:
        return [(0.0, 0.0)]
    middle = (shifts[box.children[0]] + shifts[box.children[-1]]) / 2
    for inner in box.children:
        shifts[inner] -= middle
    lower = [(first - middle, last - middle) for first, last in below]
    return [(0.0, 0.0), *lower]


def _clearance(above: list[_Span], below: list[_Span]) -> float:
    """Return how far a subtree has to move down to stand below another one."""
    clearance = 0.0
    step = _STEP
    for (_, last), (first, _) in zip(above, below, strict=False):
        clearance = max(clearance, last + step - first)
        step = _STEP + _EXTRA  # on the next levels: boxes of different subtrees
    return clearance


# ------------------------------------------------------------------------- writing


class _Drawing:
    """The picture of an outline.

    Attributes:
        boxes: The boxes, in the order of the tree.
        texts: The texts in each box, by what they are.
        widths: The width of each box.
        ys: The middle of each box.
        lefts: The left edge of each column.
        rights: The right edge of each column.
    """

    def __init__(self, root: Item) -> None:
        self.boxes = boxes_of(root)
        self.texts: dict[Item, dict[str, str]] = {}
        self.widths: dict[Item, int] = {}
        columns_widths: dict[int, int] = {}
        for box in self.boxes:
            texts = _texts_of(box)
            letters = sum(columns(text) for text in texts.values())
            width = round(letters * _LETTER) + 2 * _INSIDE
            self.texts[box] = texts
            self.widths[box] = width
            columns_widths[box.depth] = max(columns_widths.get(box.depth, 0), width)
        self.ys = {box: y + _MARGIN for box, y in centres(root).items()}
        self.lefts: dict[int, int] = {}
        self.rights: dict[int, int] = {}
        x = _MARGIN
        for depth, width in sorted(columns_widths.items()):
            self.lefts[depth] = x
            self.rights[depth] = x + width
            x += width + _GAP
        self.width = x - _GAP + _MARGIN
        self.height = round(max(self.ys.values()) + _HEIGHT / 2 + _MARGIN)

    def text(self) -> str:
        """Return the picture."""
        lines = []
        references = []
        dots: dict[Item, str] = {}  # by box, since several references may lead to one
        for start, end, box in arrows_of(self.boxes):
            lines.append(self.line(start, box))
            if end is not box:
                references.append(self.reference(box, end))
                dots[end] = self.dot(end)
        boxes = [self.box(box, number) for number, box in enumerate(self.boxes)]
        # what comes later is drawn on top
        body = "\n".join([*lines, *references, *boxes, *dots.values()])
        # several pictures in one page have different names for their boxes
        name = f"lw{crc32(body.encode()):08x}"
        width = self.width
        if references:  # they turn on the right of the boxes
            width += _GAP
        size = f'width="{width}" height="{self.height}"'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="leafwise-diagram" '
            f'{size} viewBox="0 0 {width} {self.height}" '
            f'style="color-scheme:light dark">\n'
            f"<style>{_STYLE}</style>\n{body.replace(_NAME, name)}\n</svg>"
        )

    def box(self, box: Item, number: int) -> str:
        """Return a box with its text; its tooltip has its key path, and what it is."""
        notes = [path_text(box), value_text(box)]
        if box.kind is not None:
            notes.append(box.kind.value)
        if count_text(box):
            notes.append(f"and {len(box.members) - 1} of equal structure")
        notes.append(box.comment)
        title = "\n".join(note for note in notes if note)
        left = self.left(box)
        y = self.ys[box]
        width = self.widths[box]
        rectangles = _rectangle(left, y, width)
        if box.members:  # a second one behind it
            rectangles = _rectangle(left + 4, y + 4, width) + rectangles
        texts = "".join(
            f'<tspan class="{name}">{_escaped(text)}</tspan>'
            for name, text in self.texts[box].items()
        )
        return (
            f'<g id="{_NAME}-{number}" class="{style_of(box)}">'
            f"<title>{_escaped(title)}</title>{rectangles}"
            f'<text x="{left + _INSIDE}" y="{_number(y + 4)}">{texts}</text></g>'
        )

    def line(self, start: Item, end: Item) -> str:
        """Return the line from a box to one inside it."""
        x = self.right(start)
        y = _number(self.ys[start])
        turn = self.rights[start.depth]
        end_x = self.left(end)
        end_y = _number(self.ys[end])
        middle = _number((turn + end_x) / 2)
        curve = f"C{middle} {y} {middle} {end_y} {end_x} {end_y}"
        return f'<path class="line" d="M{x} {y}H{turn}{curve}"/>'

    def reference(self, again: Item, first: Item) -> str:
        """Return the line from where an object occurs again to its first box."""
        x = self.right(again)
        y = _number(self.ys[again])
        end_x = self.right(first)
        end_y = _number(self.ys[first])
        turn = max(x, end_x) + _GAP
        curve = f"C{turn} {y} {turn} {end_y} {end_x} {end_y}"
        return f'<path class="back" d="M{x} {y}{curve}"/>'

    def dot(self, box: Item) -> str:
        """Return the end of the lines to a box that occurs again."""
        x = self.right(box)
        return f'<circle class="end" cx="{x}" cy="{_number(self.ys[box])}" r="3"/>'

    def left(self, box: Item) -> int:
        """Return the left edge of a box."""
        return self.lefts[box.depth]

    def right(self, box: Item) -> int:
        """Return the right edge of a box."""
        return self.left(box) + self.widths[box]


_NAME: Final = "\0"  # in no text; replaced by the name, which is a sum of the body


def _texts_of(box: Item) -> dict[str, str]:
    """Return the texts in a box, by what they are."""
    sign = sign_of(box)
    key = clipped(key_text(box), _LONGEST_KEY)
    value = clipped(value_text(box), _LONGEST)
    if key and value and box.above is not None:
        key += ": "
    texts = {
        "sign": f"{sign} " if sign else "",
        "key": key,
        "value": value,
        "count": count_text(box),
    }
    return {name: text for name, text in texts.items() if text}


def _rectangle(x: int, y: float, width: int) -> str:
    top = _number(y - _HEIGHT / 2)
    return f'<rect x="{x}" y="{top}" width="{width}" height="{_HEIGHT}" rx="4"/>'


def _number(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")


def _escaped(text: str) -> str:
    # several spaces would be drawn as one
    return escape(text, quote=False).replace(" ", "\N{NO-BREAK SPACE}")


def _sign_rules(theme: str) -> str:
    """Return the rules of CSS for changes, `light` or `dark`."""
    rules = []
    for look in LOOKS.values():
        colour = look.light if theme == "light" else look.dark
        paint = f"stroke:{colour};fill:{colour};fill-opacity:.12"
        rules.append(f".leafwise-diagram .{look.word} rect{{{paint}}}")
    return "".join(rules)


_MEDIA: Final = "@media (prefers-color-scheme:dark){"
_LIGHT, _DARK = rules_of("picture.css").removesuffix("}").split(_MEDIA)
_STYLE: Final = f"{_LIGHT}{_sign_rules('light')}{_MEDIA}{_DARK}{_sign_rules('dark')}}}"
