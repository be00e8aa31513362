"""Objects of leafwise as rich prints them, for `Displayable`.

rich is imported only when it asks.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any, Final

from .._text import safe_repr
from ..core.context import context_of
from ..core.treedef import PyTreeDef
from ..selection.diff import TreeDiff
from .pretty import pformat
from .sketch import sketch_of


_NARROWEST: Final = 20
_MOST: Final = 1000


def rich_of(value: Any, options: Any) -> Iterator[Any]:
    """Yield a value as text in colour, for `__rich_console__`.

    Args:
        value: The object.
        options: The options of the console, such as its width.
    """
    text: Any = import_module("rich.text").Text
    if issubclass(type(value), TreeDiff):
        lines = value.lines(color="always", most=_MOST)
        yield text.from_ansi("\n".join(lines) or "no differences")
        return
    highlight: Any = import_module("rich.highlighter").ReprHighlighter()
    if type(value) is PyTreeDef or sketch_of(value, context_of()) is None:
        line = safe_repr(value)
    else:
        line = pformat(value, width=max(options.max_width, _NARROWEST))
    yield highlight(text(line))
