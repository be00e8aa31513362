"""What rich asks objects for.

Owns the answer that `lazy.Shown` gives in the name of our classes. It imports rich only
when rich asks.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any, Final

from .._text import safe_repr
from ..core.context import context_of
from ..core.treedef import PyTreeDef
from ..selection.diff import TreeDiff
from .outline import sketch_of
from .pretty import pformat


_NARROWEST: Final = 20
_MOST: Final = 1000


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
        said = safe_repr(value)
    else:
        said = pformat(value, width=max(options.max_width, _NARROWEST))
    yield highlight(text(said))
