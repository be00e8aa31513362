"""Editing a text in place: values change, and everything else stays as it was.

Owns what every format has in common: the check that the new text is parsed as the new
tree and has all comments. Comments, blank lines, order, quotes, anchors, indentation
and line ends are kept.
"""

from __future__ import annotations

import importlib
from typing import Any

from .. import formats
from ..formats import Document
from .editor import RevisionError, same


__all__ = ["RevisionError", "revise"]


def revise(text: str, document: Document, tree: Any, *, allow_nan: bool = False) -> str:
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
        The new text, which is parsed as the new tree.

    Raises:
        RevisionError: The comments and the layout cannot be kept; the message says why.
        FormatError: The format cannot represent the tree, or a required package is not
            installed.

    Example:
        >>> from leafwise.io.formats import load
        >>> from leafwise.io.revision import revise
        >>> text = '{"lr": 0.1, "betas": [0.9,\n  0.999]}\n'
        >>> document = load(text, "json")
        >>> revise(text, document, document.tree | {"lr": 0.5})
        '{"lr": 0.5, "betas": [0.9,\n  0.999]}\n'
    """
    is_windows = text.count("\r\n") == text.count("\n") > 0
    plain = text.replace("\r\n", "\n") if is_windows else text
    writer = importlib.import_module(f".of_{document.kind}", __name__)
    tree = formats.fitted(tree, document.kind)
    try:
        if same(document.tree, tree):
            return text
        dumped = formats.dump(document._replace(tree=tree), allow_nan=allow_nan)
        if document.kind == "json":
            read = formats.load(dumped, "json").tree  # which has no dates
            tree = tree if same(read, tree, written=False) else read
        made: str = writer.remade(plain, document, tree)
    except RecursionError as error:
        raise RevisionError("it is nested too deeply to be edited") from error
    return made.replace("\n", "\r\n") if is_windows else made
