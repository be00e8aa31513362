"""What the commands do: each takes its options and returns lines and a status.

Owns the text of the reports, and when to colour it: as `--color` says, else as
`NO_COLOR`, `FORCE_COLOR` and the standard output do. Status 0 means success, or no
differences; 1 means that files differ.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

from ..integrations.formats import Document, dump, json_default
from ..ops.map import tree_leaves, tree_leaves_with_path, tree_map, tree_structure
from ..ops.traversal import DELETE
from ..selection.diff import tree_diff
from ..selection.edit import at
from ..selection.merge import tree_merge
from ..selection.names import guess, override, to_flat
from ..selection.pattern import selector
from .files import Unreadable, encoding, read, read_all


__all__ = ["Report", "diff", "flat", "get", "merge", "paths", "put", "show"]


class Report(NamedTuple):
    """The result of a command.

    Attributes:
        lines: Lines for the standard output.
        status: The exit status.
    """

    lines: Iterable[str]
    status: int = 0


# --------------------------------------------------------------------- texts

_CODES: Final = {"path": "36", "+": "32", "-": "31", "~": "33", "!": "35", "dim": "2"}


class Paint:
    """Adds colour to text, if it is wanted.

    Args:
        when: `"always"`, `"never"`, or `"auto"`.
    """

    def __init__(self, when: str = "auto") -> None:
        self.is_on = when == "always" or (when == "auto" and _is_wanted())

    def __call__(self, text: str, colour: str) -> str:
        """Return text in a colour: `path`, `dim`, or the sign of a change."""
        return f"\033[{_CODES[colour]}m{text}\033[0m" if self.is_on else text


def _is_wanted() -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    out = sys.stdout
    return out is not None and out.isatty() and os.environ.get("TERM") != "dumb"


def _as_json(value: Any, *, allow_nan: bool = False) -> list[str]:
    """Return a value as JSON text that the output can represent."""
    document = Document(value, "json")
    text = dump(document, encoding=encoding(), allow_nan=allow_nan)
    return [text.removesuffix("\n")]


def _short(value: Any) -> str:
    """Return a value as JSON in one line, or its `repr` if JSON has no form for it."""
    try:
        return json.dumps(value, ensure_ascii=False, default=json_default)
    except TypeError:
        return repr(value)


def _line(place: str, value: Any, form: Callable[[Any], str], paint: Paint) -> str:
    """Return `place = value`, or the value alone if the place is the root.

    Raises:
        Unreadable: The value is an integer with more digits than Python prints.
    """
    try:
        text = form(value)
    except ValueError as error:
        raise Unreadable(f"the value at {place or 'the root'}: {error}") from error
    return f"{paint(place, 'path')} = {text}" if place else text


def _tree(options: argparse.Namespace) -> Any:
    return read(options.file, options.format).tree


def _rows(options: argparse.Namespace, tree: Any) -> list[tuple[Any, Any]]:
    """Return paths and values of all leaves, or of what the selectors match."""
    if not options.selectors:
        return tree_leaves_with_path(tree, none_is_leaf=True)
    return at(tree, none_is_leaf=True)[options.selectors].items()


# ---------------------------------------------------------------------------- reading


def show(options: argparse.Namespace) -> Report:
    """Print leaves as `path = value`, then the counts and the treedef."""
    tree = _tree(options)
    rows = _rows(options, tree)
    if options.json:
        return Report(_as_json({str(path): value for path, value in rows}))
    return Report(_shown(tree, rows, Paint(options.color), bool(options.selectors)))


def _shown(
    tree: Any, rows: list[tuple[Any, Any]], paint: Paint, is_part: bool
) -> Iterator[str]:
    for path, value in rows:
        yield _line(str(path), value, repr, paint)
    if is_part:
        return
    treedef = tree_structure(tree)
    counts = _count(len(rows), "leaf", "leaves"), _count(treedef.num_nodes, "node")
    yield paint(", ".join(counts), "dim")
    yield repr(treedef)


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or f'{one}s'}"


def paths(options: argparse.Namespace) -> Report:
    """Print the paths of all leaves, or of what the selectors match."""
    found = [str(path) for path, _ in _rows(options, _tree(options))]
    if options.json:
        return Report(_as_json(found))
    return Report([Paint(options.color)(path, "path") for path in found])


def get(options: argparse.Namespace) -> Report:
    """Print the value at a selector, or a line for each of several matches."""
    chosen = selector(options.selector)
    rows = at(_tree(options), none_is_leaf=True)[chosen].items()
    if chosen.is_single:
        ((_, value),) = rows
        if isinstance(value, str) and not options.json:
            return Report([value])
        return Report(_as_json(value, allow_nan=not options.json))
    if options.json:
        return Report(_as_json({str(path): value for path, value in rows}))
    paint = Paint(options.color)
    return Report(_line(str(path), value, _short, paint) for path, value in rows)


def flat(options: argparse.Namespace) -> Report:
    """Print every leaf with its flat name."""
    table = to_flat(_tree(options), options.sep, strict=False)
    if options.json:
        return Report(_as_json(table))
    paint = Paint(options.color)
    return Report(_line(name, value, _short, paint) for name, value in table.items())


# ----------------------------------------------------------------------------- writing


def _written(tree: Any, document: Document, options: argparse.Namespace) -> Report:
    """Return a tree as text, in the requested format or that of its document.

    A JSON file that has `NaN` keeps it; nothing else is written with one.
    """
    kind = "json" if options.json else options.to or document.kind
    is_rewritten = document.kind == "json" and not options.json
    text = dump(
        Document(tree, kind, document.is_stream),
        encoding=encoding(),
        allow_nan=is_rewritten and not _is_finite(document.tree),
    )
    return Report([text.removesuffix("\n")])


def _is_finite(tree: Any) -> bool:
    numbers = (leaf for leaf in tree_leaves(tree) if isinstance(leaf, float))
    return all(map(math.isfinite, numbers))


def put(options: argparse.Namespace) -> Report:
    """Print a file with changes: `path=value`, `+path=value`, `~path`."""
    document = read(options.file, options.format)
    return _written(override(document.tree, options.changes), document, options)


def merge(options: argparse.Namespace) -> Report:
    """Print the deep merge of files; later ones win."""
    base, *overlays = read_all(options.files, options.format)
    trees = [document.tree for document in overlays]
    if options.delete is not None:
        trees = [_with_marks(tree, guess(options.delete)) for tree in trees]
    rules = dict(_rule(text) for text in options.rule)
    merged = tree_merge(
        base.tree,
        *trees,
        join=options.join,
        lists=options.lists,
        conflict=options.conflict,
        rules=rules,
    )
    return _written(merged, base, options)


def _with_marks(tree: Any, mark: Any) -> Any:
    """Return a tree with `DELETE` in place of each leaf that is equal to a mark."""

    def marked(leaf: Any) -> Any:
        return DELETE if type(leaf) is type(mark) and leaf == mark else leaf

    return tree_map(marked, tree, none_is_leaf=True)


def _rule(text: str) -> tuple[str, str]:
    what, found, word = text.rpartition("=")
    if not found:
        raise Unreadable(f"--rule {text!r} is not of the form SELECTOR=WORD")
    return what, word


# --------------------------------------------------------------------------- comparing


def diff(options: argparse.Namespace) -> Report:
    """Print the differences between two files; status 1 if there are any."""
    first, second = read_all(options.files, options.format)
    found = tree_diff(
        first.tree,
        second.tree,
        rtol=options.rtol,
        atol=options.atol,
        ignore=options.ignore or None,
        none_is_leaf=True,
    )
    status = 1 if found else 0
    if options.json:
        return Report([found.to_json(indent=2)], status)
    paint = Paint(options.color)
    lines = [paint(line, line[0]) for line in map(str, found)]
    return Report(lines, status)
