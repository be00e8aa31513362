"""Trees as pictures: SVG that stands alone.

Owns where boxes stand, and the look of the picture. What is drawn is said by `diagram`.

A column for each level, from left to right; in a column, boxes in the order of the
tree. A box stands in the middle of those inside, and subtrees as near to one another as
their outlines allow: the tidy layout of Reingold and Tilford, turned. Letters have one
width, so how large a text is needs no font.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from zlib import crc32

from ..core.context import context_of
from ..core.registry import GLOBAL
from ..selection.diff import Change
from .colors import SIGNS
from .diagram import Box, arrows_of, scene
from .page import rules_of
from .picture import Picture
from .text import clipped, columns


if TYPE_CHECKING:
    from .._typing import IsLeaf


_LETTER: Final = 7.25  # pixels, of a monospaced font of 12
_HEIGHT: Final = 22
_STEP: Final = 27  # from one box to the next one below
_APART: Final = 6  # more than that between boxes which are not inside one box
_GAP: Final = 34  # between columns
_INSIDE: Final = 8  # between a text and the edges of its box
_MARGIN: Final = 12
_LONGEST_KEY: Final = 28
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
    Each box has its key path as a tooltip. Siblings of equal structure are one box,
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
    boxes = scene(tree, context, select, depth, max_leaves, collapse)
    text = _Drawing(boxes).text()
    return Picture(text, {"image/svg+xml": text})


# -------------------------------------------------------------------------- places


def centres(boxes: list[Box]) -> list[float]:
    """Return the distance from the top to the middle of each box.

    Args:
        boxes: The boxes of a tree, each before those inside.

    Example:
        >>> import leafwise as lw
        >>> from leafwise.core.context import context_of
        >>> from leafwise.show.diagram import scene
        >>> from leafwise.show.svg import centres
        >>> centres(scene({"a": [1, 2, 3], "b": 4}, context_of(None)))
        [51.5, 38.0, 11.0, 38.0, 65.0, 65.0]
    """
    shifts: dict[int, float] = {}  # of each box against the one that it is in
    edges: dict[int, list[tuple[float, float]]] = {}  # of what is below: first, last
    for box in reversed(boxes):
        below: list[tuple[float, float]] = []
        for inner in box.boxes:
            # put its subtree below the others, whose edges then include its
            shift, put = 0.0, edges.pop(inner.number)
            pairs = zip(below, put, strict=False)
            for level, ((_, last), (first, _)) in enumerate(pairs):
                shift = max(shift, last + _STEP + _APART * (level > 0) - first)
            for level, (first, last) in enumerate(put):
                if level < len(below):
                    below[level] = below[level][0], last + shift
                else:
                    below.append((first + shift, last + shift))
            shifts[inner.number] = shift
        middle = 0.0
        if box.boxes:
            middle = (shifts[box.boxes[0].number] + shifts[box.boxes[-1].number]) / 2
        for inner in box.boxes:
            shifts[inner.number] -= middle
        rest = [(first - middle, last - middle) for first, last in below]
        edges[box.number] = [(0.0, 0.0), *rest]
    found = [0.0] * len(boxes)
    for box in boxes:
        for inner in box.boxes:
            found[inner.number] = found[box.number] + shifts[inner.number]
    top = min(found) - _HEIGHT / 2
    return [y - top for y in found]


# ------------------------------------------------------------------------- writing


class _Drawing:
    """The picture of some boxes."""

    def __init__(self, boxes: list[Box]) -> None:
        self.boxes = boxes
        self.texts: list[list[tuple[str, str]]] = []  # of each box, with what they are
        for box in boxes:
            key, said = clipped(box.key, _LONGEST_KEY), clipped(box.text, _LONGEST)
            texts = {
                "sign": f"{box.sort} " if isinstance(box.item.value, Change) else "",
                "key": f"{key}: " if key and said and box.depth else key,
                "value": said,
                "count": f" x {box.count}" if box.count > 1 else "",
            }
            self.texts.append([(part, text) for part, text in texts.items() if text])
        self.widths = [
            round(sum(columns(text) for _, text in texts) * _LETTER) + 2 * _INSIDE
            for texts in self.texts
        ]
        self.ys = [y + _MARGIN for y in centres(boxes)]
        widest: dict[int, int] = {}
        for box, width in zip(boxes, self.widths, strict=True):
            widest[box.depth] = max(widest.get(box.depth, 0), width)
        self.lefts, self.rights, x = {}, {}, _MARGIN
        for depth, width in sorted(widest.items()):
            self.lefts[depth], self.rights[depth] = x, x + width
            x += width + _GAP
        self.width = x - _GAP + _MARGIN
        self.height = round(max(self.ys) + _HEIGHT / 2 + _MARGIN)

    def text(self) -> str:
        """Return the picture."""
        arrows = arrows_of(self.boxes)
        drawn = [self.box(box) for box in self.boxes]
        lines = [self.line(start, named) for start, _, named in arrows]
        back = [(named, end) for _, end, named in arrows if end is not named]
        lines += [self.back(named, end) for named, end in back]
        dots = {
            end.number: f'<circle class="end" cx="{self.right(end)}" '
            f'cy="{_at(self.ys[end.number])}" r="3"/>'
            for _, end in back
        }
        body = "\n".join([*lines, *drawn, *dots.values()])
        name = f"lw{crc32(body.encode()):08x}"
        width = self.width + _GAP * bool(back)
        size = f'width="{width}" height="{self.height}"'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="leafwise-diagram" '
            f'{size} viewBox="0 0 {width} {self.height}" '
            f'style="color-scheme:light dark">\n'
            f"<style>{_STYLE}</style>\n{body.replace(_NAME, name)}\n</svg>"
        )

    def box(self, box: Box) -> str:
        """Return a box with its text; its tooltip has its key path, and what it is."""
        said = [box.where, box.text]
        if box.item.kind and not isinstance(box.item.value, Change):
            said.append(box.item.kind)
        if box.count > 1:
            said.append(f"and {box.count - 1} of equal structure")
        title = "\n".join(filter(None, [*said, box.item.comment]))
        number, y = box.number, self.ys[box.number]
        left = self.lefts[box.depth]
        width = self.widths[number]
        sort = SIGNS[box.sort].word if box.sort in SIGNS else box.sort
        stacked = "" if box.count < 2 else _rect(left + 4, y + 4, width)
        texts = "".join(
            f'<tspan class="{part}">{_escaped(text)}</tspan>'
            for part, text in self.texts[number]
        )
        return (
            f'<g id="{_NAME}-{number}" class="{sort}">'
            f"<title>{_escaped(title)}</title>"
            f"{stacked}{_rect(left, y, width)}"
            f'<text x="{left + _INSIDE}" y="{_at(y + 4)}">{texts}</text></g>'
        )

    def line(self, start: Box, end: Box) -> str:
        """Return the line from a box to one inside it."""
        x, y = self.right(start), self.ys[start.number]
        turn, end_x = self.rights[start.depth], self.lefts[end.depth]
        middle, end_y = (turn + end_x) / 2, self.ys[end.number]
        return (
            f'<path class="line" d="M{x} {_at(y)}H{turn}C{_at(middle)} {_at(y)} '
            f'{_at(middle)} {_at(end_y)} {end_x} {_at(end_y)}"/>'
        )

    def back(self, again: Box, first: Box) -> str:
        """Return the line from where an object occurs again to where it is drawn."""
        x, y = self.right(again), self.ys[again.number]
        end_x, end_y = self.right(first), self.ys[first.number]
        turn = max(x, end_x) + _GAP
        return (
            f'<path class="back" d="M{x} {_at(y)}'
            f'C{turn} {_at(y)} {turn} {_at(end_y)} {end_x} {_at(end_y)}"/>'
        )

    def right(self, box: Box) -> int:
        """Return where a box ends."""
        return self.lefts[box.depth] + self.widths[box.number]


_NAME: Final = "\0"  # in no text; stands for the name, which is made of the rest


def _rect(x: int, y: float, width: int) -> str:
    top = _at(y - _HEIGHT / 2)
    return f'<rect x="{x}" y="{top}" width="{width}" height="{_HEIGHT}" rx="4"/>'


def _at(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")


def _escaped(text: str) -> str:
    return (
        text.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace(" ", "\N{NO-BREAK SPACE}")  # several would be drawn as one
    )


def _sign_rules(theme: str) -> str:
    """Return the rules of CSS for changes, `light` or `dark`."""
    return "".join(
        f".leafwise-diagram .{sign.word} rect{{stroke:{colour};fill:{colour};"
        "fill-opacity:.12}"
        for sign in SIGNS.values()
        for colour in [getattr(sign, theme)]
    )


_MEDIA: Final = "@media (prefers-color-scheme:dark){"
_LIGHT, _DARK = rules_of("picture.css").removesuffix("}").split(_MEDIA)
_STYLE: Final = f"{_LIGHT}{_sign_rules('light')}{_MEDIA}{_DARK}{_sign_rules('dark')}}}"
