"""What the commands do: each takes its options and returns lines and a status.

Owns the words of the reports. Status 0 says that all is well, or the same; 1 that
files differ.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ..integrations.formats import Document, dump
from ..ops.basic import tree_map, tree_structure
from ..ops.paths import tree_leaves_with_path
from ..ops.visit import DELETE
from ..selection.diff import tree_diff
from ..selection.edit import select
from ..selection.flat import to_flat
from ..selection.merge import tree_merge
from ..selection.override import guess, override
from ..selection.pattern import selector
from .files import Unreadable, read
from .paint import Paint


__all__ = ["Report", "diff", "flat", "get", "merge", "paths", "put", "show"]


class Report(NamedTuple):
    """What a command has to say.

    Attributes:
        lines: The lines for the standard output.
        status: The exit status.
    """

    lines: Iterable[str]
    status: int = 0


def _as_json(value: Any) -> list[str]:
    """Return a value as JSON text."""
    return [dump(Document(value, "json")).removesuffix("\n")]


def _short(value: Any) -> str:
    """Return a value as JSON text in one line."""
    return json.dumps(value, ensure_ascii=False, default=str)


def _tree(options: argparse.Namespace) -> Any:
    return read(options.file, options.format).tree


def _rows(options: argparse.Namespace, tree: Any) -> list[tuple[Any, Any]]:
    """Return paths and values: all leaves, or what the selectors mean."""
    if not options.selectors:
        return tree_leaves_with_path(tree, none_is_leaf=True)
    return select(tree, options.selectors, none_is_leaf=True).items()


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
        where = paint(str(path), "path")
        yield f"{where} = {value!r}" if path else repr(value)
    if is_part:
        return
    treedef = tree_structure(tree)
    counts = _count(len(rows), "leaf", "leaves"), _count(treedef.num_nodes, "node")
    yield paint(", ".join(counts), "dim")
    yield repr(treedef)


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or f'{one}s'}"


def paths(options: argparse.Namespace) -> Report:
    """Print the paths of leaves, or of what selectors mean."""
    found = [str(path) for path, _ in _rows(options, _tree(options))]
    if options.json:
        return Report(_as_json(found))
    return Report([Paint(options.color)(path, "path") for path in found])


def get(options: argparse.Namespace) -> Report:
    """Print the value that a selector means; or one line for each of several."""
    chosen = selector(options.selector)
    rows = select(_tree(options), chosen, none_is_leaf=True).items()
    if chosen.means_one:
        ((_, value),) = rows
        is_text = isinstance(value, str) and not options.json
        return Report([value] if is_text else _as_json(value))
    if options.json:
        return Report(_as_json({str(path): value for path, value in rows}))
    paint = Paint(options.color)
    return Report(f"{paint(str(path), 'path')} = {_short(x)}" for path, x in rows)


def flat(options: argparse.Namespace) -> Report:
    """Print every leaf with its flat name."""
    table = to_flat(_tree(options), options.sep, strict=False)
    if options.json:
        return Report(_as_json(table))
    paint = Paint(options.color)
    return Report(f"{paint(name, 'path')} = {_short(x)}" for name, x in table.items())


# ----------------------------------------------------------------------------- writing


def _written(tree: Any, document: Document, options: argparse.Namespace) -> Report:
    """Return a tree as text, in the format that is wanted, or that it came in."""
    kind = "json" if options.json else options.to or document.kind
    text = dump(Document(tree, kind, document.is_stream))
    return Report([text.removesuffix("\n")])


def put(options: argparse.Namespace) -> Report:
    """Print a file with changes: `path=value`, `+path=value`, `~path`."""
    document = read(options.file, options.format)
    return _written(override(document.tree, options.changes), document, options)


def merge(options: argparse.Namespace) -> Report:
    """Print files laid over one another."""
    base, *overlays = [read(path, options.format) for path in options.files]
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
    """Return a tree with `DELETE` in the place of each value that stands for it."""

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
    """Print what is different between two files; status 1 if something is."""
    first, second = (read(path, options.format).tree for path in options.files)
    found = tree_diff(
        first,
        second,
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
