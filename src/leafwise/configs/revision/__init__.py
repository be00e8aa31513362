"""Editing a text in place: values change, and everything else stays as it was.

A new text is parsed before anybody gets it: it has exactly the values of the edit, or
the edit is refused.
"""

from __future__ import annotations

from typing import Any

from ..._runtime import late_imports
from .. import formats
from ..documents import Document, RevisionError
from .changes import same


__all__ = ["RevisionError", "revise"]


def revise(
    text: str,
    document: Document,
    tree: Any,
    *,
    allow_nan: bool = False,
) -> str:
    r"""Update a JSON, TOML or YAML text to a new tree, and keep the rest of the text.

    A comment at the end of a line, or on the lines directly above it, belongs to the
    entry on that line. It is moved and deleted with the entry.

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
        >>> from leafwise.configs.formats import load
        >>> from leafwise.configs.revision import revise
        >>> text = '{"lr": 0.1, "betas": [0.9,\n  0.999]}\n'
        >>> document = load(text, "json")
        >>> revise(text, document, document.tree | {"lr": 0.5})
        '{"lr": 0.5, "betas": [0.9,\n  0.999]}\n'
    """
    is_windows = text.count("\r\n") == text.count("\n") > 0
    lines = text.replace("\r\n", "\n") if is_windows else text
    try:
        if same(document.tree, tree):
            return text
        if document.kind == "json":
            revised = _revised_json(lines, document, tree, allow_nan)
        elif document.kind == "toml":
            revised = _revised_toml(lines, document, tree)
        else:
            revised = _revised_yaml(lines, document, tree)
        revised.encode()
    except RecursionError as error:
        raise RevisionError("it is nested too deeply to be edited") from error
    except (TypeError, ValueError):
        formats.dump(document._replace(tree=tree), allow_nan=allow_nan)  # or says why
        raise
    return revised.replace("\n", "\r\n") if is_windows else revised


def _revised_json(
    text: str,
    document: Document,
    tree: Any,
    allow_nan: bool,
) -> str:
    with late_imports:
        from .json import revised

    new_text = revised(text, document.tree, tree, allow_nan)
    try:
        check_values(new_text, "json", tree)
    except RevisionError:  # it may have dates, which JSON has not
        dumped = formats.dump(document._replace(tree=tree), allow_nan=allow_nan)
        check_values(new_text, "json", formats.load(dumped, "json").tree)
    return new_text


def _revised_toml(text: str, document: Document, tree: Any) -> str:
    with late_imports:
        from .toml import TomlEditor

    editor = TomlEditor(text)
    new_text = editor.revised(document.tree, tree)
    check_values(new_text, "toml", tree)
    editor.check_all_comments(new_text)
    return new_text


def _revised_yaml(text: str, document: Document, tree: Any) -> str:
    with late_imports:
        from .yaml import YamlStream

    stream = YamlStream(text)
    if not stream.roots:
        return text + formats.dump(document._replace(tree=tree))
    new_text = stream.revised(document, tree)
    try:
        check_values(new_text, "yaml", tree, is_stream=document.is_stream)
    except ValueError as error:
        raise RevisionError(stream.reason() or str(error)) from error
    stream.check_all_comments(new_text)
    return new_text


def check_values(
    text: str,
    kind: str,
    tree: Any,
    *,
    is_stream: bool = False,
) -> None:
    """Raise `RevisionError` if a new text has other values than an edit."""
    try:
        document = formats.load(text, kind)
    except formats.FormatError as error:
        raise RevisionError(f"the new text would be {error}") from error
    values = document.tree
    if is_stream and not document.is_stream:  # one of several documents is left
        values = [values]
    expected = formats.without_spellings(tree)
    # equal texts are the quick way to see that all values are the same
    if repr(values) == repr(expected):
        return
    if not same(values, expected):
        raise RevisionError("the new text would have other values than the edit")
