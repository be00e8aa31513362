"""Texts with other values, in which all that did not change stays as it was.

Owns the way from a text and a new tree to a new text: which values changed, what is
written instead, and the proof that the result reads as it should. Comments, blank
lines, order, quotes, anchors, indentation and line ends stay.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import formats
from ..formats import Document, FormatError
from .of_json import JsonStyle
from .of_json import scan as scan_json
from .of_toml import Rewrite
from .of_yaml import YamlStyle
from .of_yaml import scan as scan_yaml
from .parts import Part, Unkept, same
from .render import Render


__all__ = ["Revised", "revise"]


_Made = tuple[str, Any, bool]
"""A text, what it should read as, and whether the form is kept."""


class Revised(NamedTuple):
    """A text with other values.

    Attributes:
        text: The text.
        is_kept: Whether it has the comments and the layout of the old one.
    """

    text: str
    is_kept: bool


def revise(
    text: str, document: Document, tree: Any, *, allow_nan: bool = False
) -> Revised:
    r"""Return a text that reads as another tree, and else stays as it was.

    A comment at the end of a line, or on the lines directly above it, belongs to the
    entry there: it moves and goes with it. In YAML, what an alias stands for changes
    wherever the alias is.

    Args:
        text: The text of a JSON, TOML or YAML file.
        document: What `load` made of it.
        tree: The new tree.
        allow_nan: Whether JSON may have `NaN` and `Infinity`.

    Returns:
        The text. If its form cannot be kept, it is what `dump` makes of the tree.

    Raises:
        FormatError: The format cannot represent the tree, or a package is missing.

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
            made, expected, is_kept = _WAYS[document.kind](plain, document, tree, reuse)
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


def _of_json(text: str, document: Document, tree: Any, reuse: bool) -> _Made:
    root = scan_json(text)
    made, (expected,), is_kept = _rendered(
        text, JsonStyle(text), [(root, document.tree, tree)], reuse
    )
    return made, expected, is_kept


def _of_yaml(text: str, document: Document, tree: Any, reuse: bool) -> _Made:
    lines = text if text.endswith("\n") else f"{text}\n"
    roots = scan_yaml(lines)
    if not roots:
        return text + formats.dump(document._replace(tree=tree)), tree, True
    old, new = document.tree, tree
    if not document.is_stream:
        old, new = [old], [new]
    if type(new) is not list or len({len(roots), len(old), len(new)}) > 1:
        raise Unkept
    style = YamlStyle(roots)
    made, expected, is_kept = _rendered(
        lines, style, [*zip(roots, old, new, strict=True)], reuse
    )
    made = made if text.endswith("\n") else made.removesuffix("\n")
    return made, expected if document.is_stream else expected[0], is_kept


def _rendered(
    text: str, style: Any, roots: list[tuple[Part, Any, Any]], reuse: bool
) -> _Made:
    parts: list[str] = []
    results = []
    place, is_kept = 0, True
    for root, old, new in roots:
        render = Render(text, style, reuse=reuse)
        made, result = render.run(root, old, new)
        parts += [text[place : root.start], made]
        results.append(result)
        place, is_kept = root.end, is_kept and render.is_kept
    return "".join([*parts, text[place:]]), results, is_kept


def _of_toml(text: str, document: Document, tree: Any, reuse: bool) -> _Made:
    formats.toml_writer()
    rewrite = Rewrite(text, reuse=reuse)
    return rewrite.run(document.tree, tree), tree, rewrite.is_kept


_WAYS = {"json": _of_json, "toml": _of_toml, "yaml": _of_yaml}
