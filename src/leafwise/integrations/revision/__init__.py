"""Updating texts: values change, and everything else stays as it was.

Owns the steps from a text and a new tree to a new text: which values changed, what is
written instead, and the check that the result reads as it should. Comments, blank
lines, order, quotes, anchors, indentation and line ends are kept.
"""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple

from .. import formats
from ..formats import Document, FormatError
from .parts import Unkept, same


__all__ = ["Revised", "revise"]


class Revised(NamedTuple):
    """An updated text, with a flag that tells whether its layout was kept.

    Attributes:
        text: The new text.
        is_kept: Whether the comments and the layout of the old text were kept.

    Example:
        >>> from leafwise.integrations.formats import load
        >>> from leafwise.integrations.revision import revise
        >>> revise("[1, 2]", load("[1, 2]", "json"), [1, 3])
        Revised(text='[1, 3]', is_kept=True)
    """

    text: str
    is_kept: bool


def revise(
    text: str, document: Document, tree: Any, *, allow_nan: bool = False
) -> Revised:
    r"""Update a JSON, TOML or YAML text to a new tree, and keep the rest of the text.

    A comment at the end of a line, or on the lines directly above it, belongs to the
    entry on that line. It is moved and deleted with the entry. In YAML, a change to the
    value of an alias appears wherever the alias is used.

    Args:
        text: The text of a JSON, TOML or YAML file.
        document: The `Document` that `load` returned for the text.
        tree: The new tree.
        allow_nan: Whether JSON may have `NaN` and `Infinity`.

    Returns:
        A `Revised` with the new text. If the layout cannot be kept, the text is the one
        that `dump` writes for the tree.

    Raises:
        FormatError: The format cannot represent the tree, or a required package is not
            installed.

    Example:
        >>> from leafwise.integrations.formats import load
        >>> from leafwise.integrations.revision import revise
        >>> text = '{"lr": 0.1, "betas": [0.9,\n  0.999]}\n'
        >>> document = load(text, "json")
        >>> revise(text, document, document.tree | {"lr": 0.5}).text
        '{"lr": 0.5, "betas": [0.9,\n  0.999]}\n'
    """
    if same(document.tree, tree):
        return Revised(text, True)
    if document.kind == "json":  # which has no dates, and may have no NaN
        written = formats.dump(document._replace(tree=tree), allow_nan=allow_nan)
        tree = formats.load(written, "json").tree
    is_windows = text.count("\r\n") == text.count("\n") > 0
    plain = text.replace("\r\n", "\n") if is_windows else text
    for reuse in (True, False):
        try:
            made, expected, is_kept = _way(document.kind).remade(
                plain, document, tree, reuse=reuse
            )
        except (Unkept, RecursionError, FormatError, ValueError, TypeError):
            continue
        for result in (made, f"{made}\n"):
            if _reads_as(result, document, expected):
                final = result.replace("\n", "\r\n") if is_windows else result
                return Revised(final, is_kept)
    written = formats.dump(document._replace(tree=tree), allow_nan=allow_nan)
    return Revised(written, False)


def _reads_as(text: str, document: Document, tree: Any) -> bool:
    try:
        return same(formats.load(text, document.kind).tree, tree)
    except FormatError:
        return False


def _way(kind: str) -> Any:
    """Return the module of a format; that of another one would load what it needs."""
    return importlib.import_module(f".of_{kind}", __name__)
