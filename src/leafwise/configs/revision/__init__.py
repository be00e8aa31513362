"""Editing a text in place: values change, and everything else stays as it was.

An editor finds where the values of a text stand, and puts others in their place. Then
the new text is parsed: it has exactly the values of the edit, or the edit is refused.
"""

from __future__ import annotations

from typing import Any

from ..._runtime import late_imports
from .. import formats
from ..documents import Document, RevisionError
from .changes import same
from .editor import Editor


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
    # mixed line ends stay as they are: they are no layout that new lines could follow
    is_windows = text.count("\r\n") == text.count("\n") > 0
    lines = text.replace("\r\n", "\n") if is_windows else text
    try:
        if same(document.tree, tree):
            return text
        editor = _editor(lines, document.kind, allow_nan)
        new_text = editor.revised(document, tree)
        _check_values(new_text, document, tree, editor)
        editor.check_comments(new_text)
    except RecursionError as error:
        raise RevisionError("it is nested too deeply to be edited") from error
    except (TypeError, ValueError):
        # if the format cannot represent the tree, that is the reason, and dump has a
        # better message
        formats.dump(document._replace(tree=tree), allow_nan=allow_nan)
        raise
    return new_text.replace("\n", "\r\n") if is_windows else new_text


def _editor(text: str, kind: str, allow_nan: bool) -> Editor:
    """Return the editor of a format."""
    with late_imports:
        if kind == "json":
            from .json import JsonEditor

            return JsonEditor(text, allow_nan=allow_nan)
        if kind == "toml":
            from .toml import TomlEditor

            return TomlEditor(text)
        from .yaml import YamlEditor

        return YamlEditor(text)


def _check_values(
    text: str,
    document: Document,
    tree: Any,
    editor: Editor,
) -> None:
    """Raise `RevisionError` if a new text has other values than an edit.

    The whole text is parsed again, though most of it is as it was: a reader of another
    kind than our editors notices what they overlooked.
    """
    kind = document.kind
    try:
        text.encode()  # no file has half a character
        new_document = formats.load(text, kind)
    except formats.FormatError as error:
        problem = f"the new text would be {error}"
        raise RevisionError(editor.reason() or problem) from error
    values = new_document.tree
    if document.is_stream and not new_document.is_stream:  # one document is left
        values = [values]
    expected = formats.without_spellings(tree)
    if same(values, expected):
        return
    if kind == "json":
        # what JSON has no form for, such as dates, has been written as text
        dumped = formats.dump(document._replace(tree=expected), allow_nan=True)
        if same(values, formats.load(dumped, kind).tree):
            return
    problem = "the new text would have other values than the edit"
    raise RevisionError(editor.reason() or problem)
