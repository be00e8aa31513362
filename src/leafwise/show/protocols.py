"""What notebooks, rich and treescope ask objects for.

Owns the answers that `lazy.Shown` gives in the name of our classes. None of these
libraries is imported before it asks.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator
from importlib import import_module
from typing import Any, Final

from ..core.keypath import KeyPath
from ..core.registry import GLOBAL
from ..errors import PathError
from ..layout import Child, Sketch
from ..lazy import Shown
from ..ops.context import context_of
from ..safely import printable, printed, shown
from .html import to_html
from .outline import comment_of, full_label, sketch_of
from .pretty import pformat


__all__ = ["bundle_of", "html_of", "rich_of", "treescope_of"]

_NARROWEST: Final = 20


def html_of(value: Any) -> str:
    """Return a value as HTML, for `_repr_html_`."""
    return to_html(value)


# ------------------------------------------------------------------------ notebooks


def bundle_of(
    value: Any, include: Collection[str] | None, exclude: Collection[str] | None
) -> dict[str, str]:
    """Return a value as text and as HTML, for `_repr_mimebundle_`.

    What a user says of a class, by a method or by a function that is registered with
    IPython, is left to IPython: it counts more than what is in the bundle.

    Args:
        value: The object.
        include: The types that are wanted, None for all.
        exclude: The types that are not wanted.
    """
    sorts: dict[str, tuple[str, Callable[[], str]]] = {
        "text/plain": ("_repr_pretty_", lambda: shown(value)),
        "text/html": ("_repr_html_", lambda: html_of(value)),
    }
    return {
        sort: make()
        for sort, (method, make) in sorts.items()
        if (include is None or sort in include)
        and sort not in (exclude or ())
        and not _says_itself(value, method)
        and not _is_registered(value, sort)
    }


def _says_itself(value: Any, method: str) -> bool:
    """Return whether an object has a method of that name that is not ours."""
    homes = [base for base in type(value).__mro__ if method in vars(base)]
    own = getattr(value, "__dict__", ())
    return method in own or (bool(homes) and homes[0] is not Shown)


def _is_registered(value: Any, sort: str) -> bool:
    """Return whether a function is registered with IPython for a class and a type."""
    ipython = sys.modules.get("IPython")
    try:
        formatters = ipython.get_ipython().display_formatter.formatters  # type: ignore[union-attr]
        formatters[sort].lookup(value)
    except Exception:  # none is, or this is no notebook
        return False
    return True


def rich_of(value: Any, options: Any) -> Iterator[Any]:
    """Yield a value as text in colour, for `__rich_console__`."""
    highlight: Any = import_module("rich.highlighter").ReprHighlighter()
    text: Any = import_module("rich.text").Text
    width = max(options.max_width, _NARROWEST)
    sketch = _sketch(value)
    said = shown(value) if sketch is None else pformat(value, width=width)
    yield highlight(text(said))


# ------------------------------------------------------------------------ treescope


def treescope_of(value: Any, path: str | None, render: Any) -> Any:
    """Return what treescope draws of a value, NotImplemented for its `repr`.

    Args:
        value: The object.
        path: Python code that reads it, None if there is none.
        render: What draws the values inside.
    """
    parts: Any = import_module("treescope.rendering_parts")
    sketch = _sketch(value)
    if sketch is None:
        return NotImplemented
    said = comment_of(sketch, nested=bool(path))
    comment = f"  # {printable(said)}" if said else ""
    return parts.build_foldable_tree_node_from_children(
        prefix=printable(sketch.opening),
        children=_children(sketch, path, render, parts),
        suffix=printable(sketch.closing),
        comma_separated=True,
        path=path,
        first_line_annotation=parts.comment_color(parts.text(comment)),
    )


def _sketch(value: Any) -> Sketch | None:
    return sketch_of(value, context_of(None, False, False, GLOBAL))


def _children(sketch: Sketch, path: str | None, render: Any, parts: Any) -> list[Any]:
    found = [
        parts.siblings_with_annotations(
            printable(full_label(child)), render(child.value, path=_code(path, child))
        )
        for child in sketch.children
    ]
    if sketch.hidden:
        found.append(parts.comment_color(parts.text(f"... {sketch.hidden:,} more")))
    return found


def _code(path: str | None, child: Child) -> str | None:
    """Return Python code that reads a child, None if there is none."""
    if path is None or child.key is None:
        return None
    try:
        return KeyPath((child.key,)).code(path)
    except PathError:
        return f"{path}{printable(printed(child.key))}"
