"""Trees as Python text, laid out over lines: `pformat`, `pprint`, and for rich."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from typing import IO, TYPE_CHECKING, Any, Final

from .._text import safe_repr, short_repr
from ..core.context import context_of
from ..core.registry import GLOBAL
from ..core.treedef import PyTreeDef
from ..selection.diff import TreeDiff
from .colors import terminal_width
from .doc import WIDTH, lay_out
from .outline import outline
from .sketch import Arrays, sketch_of


if TYPE_CHECKING:
    from .._typing import IsLeaf


_NARROWEST: Final = 20
_MOST: Final = 1000


def pformat(
    tree: Any,
    *,
    width: int = WIDTH,
    depth: int | None = None,
    max_leaves: int = 1000,
    arrays: Arrays = "short",
    is_leaf: IsLeaf = None,
    namespace: str = GLOBAL,
) -> str:
    """Format a tree as readable text, over several lines if it is long.

    Arrays are written as dtype and shape, `f32[256,256]`, with their values if they
    have few. Omitted values are counted. An object that occurs again is written once,
    with a number, and `→ #1` marks its other places, so cycles end. No value makes it
    fail, or writes control sequences that a terminal would execute.

    Args:
        tree: A tree, a treedef or an object.
        width: How many columns the text may have.
        depth: How many levels to open below the root; None for all, up to 100.
        max_leaves: About how many values to write at most; values near the root come
            first.
        arrays: `"short"` to write dtypes and shapes, or `"values"` to write arrays by
            their `repr`.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        namespace: Where classes are looked up before the global registry.

    Raises:
        ValueError: `arrays` is not one of these.

    Example:
        >>> import leafwise as lw
        >>> layer = {"width": 64, "activation": "relu"}
        >>> config = {"name": "mlp", "layers": [layer, layer, {"width": 10}]}
        >>> print(lw.pformat(config, width=40))
        {
          'layers': [
            #1 {
              'activation': 'relu',
              'width': 64
            },
            → #1,
            {'width': 10}
          ],
          'name': 'mlp'
        }
        >>> print(lw.pformat(config, depth=1))
        {'layers': [... 3 with 5 leaves], 'name': 'mlp'}
    """
    if arrays not in ("short", "values"):
        raise ValueError(
            f"arrays must be 'short' or 'values', not {short_repr(arrays)}"
        )
    context = context_of(is_leaf, namespace=namespace)
    root = outline(tree, context, depth=depth, most=max_leaves, arrays=arrays)
    return lay_out(root, width)


def pprint(
    tree: Any,
    *,
    file: IO[str] | None = None,
    width: int | None = None,
    depth: int | None = None,
    max_leaves: int = 1000,
    arrays: Arrays = "short",
    is_leaf: IsLeaf = None,
    namespace: str = GLOBAL,
) -> None:
    """Print a tree as `pformat` formats it.

    Characters that the output cannot represent are escaped.

    Args:
        tree: A tree, a treedef or an object.
        file: Where to print the text; the standard output by default.
        width: How many columns the text may have; by default the width of the terminal,
            or 80 without a terminal.
        depth, max_leaves, arrays: See `pformat`.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        namespace: Where classes are looked up before the global registry.

    Raises:
        ValueError: `arrays` is not one of these.

    Example:
        >>> import leafwise as lw
        >>> lw.pprint({"b": [1, 2], "a": (None,)})
        {'a': (None,), 'b': [1, 2]}
    """
    out = sys.stdout if file is None else file
    if width is None:
        width = terminal_width(out) or WIDTH
    text = pformat(
        tree,
        width=width,
        depth=depth,
        max_leaves=max_leaves,
        arrays=arrays,
        is_leaf=is_leaf,
        namespace=namespace,
    )
    charset = getattr(out, "encoding", None) or "utf-8"
    print(text.encode(charset, "backslashreplace").decode(charset), file=file)


def rich_of(value: Any, options: Any) -> Iterator[Any]:
    """Yield an object of leafwise as text in colour, for `__rich_console__`.

    Args:
        value: The object.
        options: The options of the console, such as its width.
    """
    # rich is installed where it asks, and imported only then
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
