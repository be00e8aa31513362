"""What notebooks, rich and treescope ask objects for.

Owns the answers that `lazy.Shown` gives in the name of our classes. None of these
libraries is imported before it asks.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any, Final

from ..core.keypath import KeyPath
from ..core.treedef import PyTreeDef
from ..errors import PathError
from ..layout import Child, Sketch
from ..ops.context import context_of
from ..safely import printable, printed, shown
from ..selection.diff import TreeDiff
from .html import to_html
from .outline import comment_of, full_label, sketch_of
from .pretty import pformat


_NARROWEST: Final = 20
_MOST: Final = 1000


def html_of(value: Any) -> str:
    """Return a value as HTML, for `_repr_html_`."""
    return to_html(value)


def rich_of(value: Any, options: Any) -> Iterator[Any]:
    """Yield a value as text in colour, for `__rich_console__`.

    Args:
        value: The object.
        options: Those of the console, which say how wide it is.
    """
    text: Any = import_module("rich.text").Text
    if issubclass(type(value), TreeDiff):
        lines = value.lines(color="always", most=_MOST)
        yield text.from_ansi("\n".join(lines) or "no differences")
        return
    highlight: Any = import_module("rich.highlighter").ReprHighlighter()
    if type(value) is PyTreeDef or sketch_of(value, context_of()) is None:
        said = shown(value)
    else:
        said = pformat(value, width=max(options.max_width, _NARROWEST))
    yield highlight(text(said))


# ------------------------------------------------------------------------ treescope


def treescope_of(value: Any, path: str | None, render: Any) -> Any:
    """Return what treescope draws of a value.

    Args:
        value: The object.
        path: Python code that reads it, None if there is none.
        render: What draws the values inside.
    """
    parts: Any = import_module("treescope.rendering_parts")
    if issubclass(type(value), TreeDiff):
        lines = [part for line in value.lines(most=_MOST) for part in line.split("\n")]
    else:
        sketch = None if type(value) is PyTreeDef else sketch_of(value, context_of())
        if sketch is not None:
            return _node(sketch, path, render, parts)
        lines = shown(value).split("\n")
    said = [parts.text(printable(line)) for line in lines or ["no differences"]]
    if len(said) == 1:
        return parts.build_one_line_tree_node(said[0], path)
    return parts.build_foldable_tree_node_from_children(
        prefix=f"{type(value).__name__}:", children=said, suffix="", path=path
    )


def _node(sketch: Sketch, path: str | None, render: Any, parts: Any) -> Any:
    """Return an object, with values inside that treescope draws in its own way."""
    children = [
        parts.siblings_with_annotations(
            printable(full_label(child)), render(child.value, path=_code(path, child))
        )
        for child in sketch.children
    ]
    if sketch.hidden:
        children.append(parts.comment_color(parts.text(f"... {sketch.hidden:,} more")))
    said = comment_of(sketch, nested=bool(path))
    comment = f"  # {printable(said)}" if said else ""
    return parts.build_foldable_tree_node_from_children(
        prefix=printable(sketch.opening),
        children=children,
        suffix=printable(sketch.closing),
        comma_separated=True,
        path=path,
        first_line_annotation=parts.comment_color(parts.text(comment)),
    )


def _code(path: str | None, child: Child) -> str | None:
    """Return Python code that reads a child, None if there is none."""
    if path is None or child.key is None:
        return None
    try:
        return KeyPath((child.key,)).code(path)
    except PathError:
        return f"{path}{printable(printed(child.key))}"
