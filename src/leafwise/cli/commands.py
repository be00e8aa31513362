"""The commands: what each of them does with its arguments.

Owns what is printed, and what is written into files. A function takes the options that
the parser has read; the first line of their docstrings is what `--help` says.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from .. import io, selection
from .. import show as show_
from ..equality.content import is_array
from ..ops.map import tree_leaves, tree_leaves_with_path, tree_map, tree_structure
from ..ops.traversal import DELETE
from ..paint import Paint
from . import files
from .files import NotWritten, Source, Unreadable


if TYPE_CHECKING:
    import argparse

    from ..selection.edit import Selection

__all__ = ["Report"]
__all__ += ["delete", "diff", "flat", "get", "merge", "move", "paths", "put", "rename"]
__all__ += ["show"]


class Report(NamedTuple):
    """The result of a command.

    Attributes:
        lines: Lines for the standard output.
        status: The exit status.
    """

    lines: Iterable[str]
    status: int = 0


# --------------------------------------------------------------------- texts


def _dumped(value: Any, kind: str = "json", *, allow_nan: bool = False) -> list[str]:
    """Return a value as text of a format."""
    formats = io.formats
    text = formats.dump(formats.Document(value, kind), allow_nan=allow_nan)
    return [text.removesuffix("\n")]


def _short(value: Any) -> str:
    """Return a value as JSON in one line, or its `repr` if JSON has no form for it."""
    import json

    if hasattr(value, "plain"):
        return str(value.text)
    default = io.formats.json_default
    try:
        return json.dumps(value, ensure_ascii=False, default=default)
    except TypeError:
        return repr(value)


def _whole(value: Any) -> str:
    """Return the `repr` of a value, or dtype and shape of an array."""
    return f"{value.dtype}{[*value.shape]}" if is_array(value) else repr(value)


def _line(place: str, text: str, paint: Paint) -> str:
    """Return `place = text`, or the text alone if the place is the root."""
    return f"{paint(place, 'path')} = {text}" if place else text


def _tree(options: argparse.Namespace, *, written: bool = True) -> Any:
    return files.read(options.file, options.format, written=written).document.tree


def _rows(options: argparse.Namespace, tree: Any) -> list[tuple[Any, Any]]:
    """Return paths and values of all leaves, or of what the selectors match."""
    if not options.selectors:
        return tree_leaves_with_path(tree, none_is_leaf=True)
    return _picked(options, tree).items()


def _picked(options: argparse.Namespace, tree: Any) -> Selection[Any, Any]:
    """Return the selection that the selectors make."""
    first, *more = options.selectors  # one alone has the better message if it fails
    chosen = options.selectors if more else first
    return selection.at(tree, none_is_leaf=True)[chosen]


# ---------------------------------------------------------------------------- reading


def show(options: argparse.Namespace) -> Report:
    """Draw a file as a tree; into a pipe, print leaves as `path = value`."""
    options.selectors += options.select
    form = next((name for name in _FORMS if getattr(options, name) is not None), None)
    if options.json and form:
        raise Unreadable(f"--json: not allowed with --{form}")
    tree = _tree(options, written=form != "summary")
    if form or (_is_terminal() and not options.json):
        return _drawn(_FORMS[form or "depth"], tree, options)
    rows = _rows(options, tree)
    if options.json:
        return Report(_dumped({str(path): value for path, value in rows}))
    return Report(_shown(tree, rows, Paint(options.color), bool(options.selectors)))


_FORMS: Final = {
    "summary": "tree_summary", "html": "to_html", "svg": "to_svg", "tree": "draw",
    "mermaid": "to_mermaid", "dot": "to_dot", "depth": "draw",
}  # fmt: skip
"""What of `leafwise.show` draws, by the option that asks for it."""


def _drawn(name: str, tree: Any, options: argparse.Namespace) -> Report:
    """Return what a function of `leafwise.show` makes of a tree.

    Raises:
        Unreadable: The file cannot be written.
    """
    if options.selectors:
        tree = _picked(options, tree)
    more: dict[str, Any] = {}
    if name == "draw":
        color = "always" if Paint(options.color).is_on else "never"
        from shutil import get_terminal_size

        width = get_terminal_size().columns if _is_terminal() else sys.maxsize
        more = {"width": width, "max_leaves": sys.maxsize, "color": color}
    elif name == "to_html":
        more = {"document": True}
    made = getattr(show_, name)(tree, depth=options.depth, none_is_leaf=True, **more)
    path = {"to_html": options.html, "to_svg": options.svg}.get(name, "-")
    if path != "-":
        return _saved(str(made), path)
    return Report(str(made).split("\n"))


def _is_terminal() -> bool:
    out = sys.stdout
    return out is not None and out.isatty()


def _saved(text: str, path: str) -> Report:
    """Write a text into a file.

    Raises:
        Unreadable: The file cannot be written.
    """
    try:
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(f"{text}\n")
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror or error}") from error
    return Report([])


def _shown(
    tree: Any, rows: list[tuple[Any, Any]], paint: Paint, is_part: bool
) -> Iterator[str]:
    for path, value in rows:
        yield _line(str(path), _whole(value), paint)
    if is_part:
        return
    treedef = tree_structure(tree)
    counts = _count(len(rows), "leaf", "leaves"), _count(treedef.num_nodes, "node")
    yield paint(", ".join(counts), "dim")


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or f'{one}s'}"


def paths(options: argparse.Namespace) -> Report:
    """Print the paths of all leaves, or of what the selectors pick."""
    found = [str(path) for path, _ in _rows(options, _tree(options))]
    if options.json:
        return Report(_dumped(found))
    return Report([Paint(options.color)(path, "path") for path in found])


def get(options: argparse.Namespace) -> Report:
    """Print the selected value, or one line for each of several matches."""
    chosen = selection.selector(options.selector)
    rows = selection.at(_tree(options), none_is_leaf=True)[chosen].items()
    if options.to and not chosen.is_single:
        raise Unreadable(f"--to: {options.selector!r} may match several values")
    if chosen.is_single:
        ((_, value),) = rows
        if options.to:
            return Report(_dumped(value, options.to))
        is_text = isinstance(value, str) or hasattr(value, "plain") or is_array(value)
        if is_text and not options.json:
            return Report([str(value)])
        return Report(_dumped(value, allow_nan=not options.json))
    if options.json:
        return Report(_dumped({str(path): value for path, value in rows}))
    paint = Paint(options.color)
    return Report(_line(str(path), _short(value), paint) for path, value in rows)


def flat(options: argparse.Namespace) -> Report:
    """Print every leaf with its flat name."""
    table = selection.to_flat(_tree(options), options.sep, strict=False)
    if options.json:
        return Report(_dumped(table))
    paint = Paint(options.color)
    return Report(_line(name, _short(value), paint) for name, value in table.items())


# ----------------------------------------------------------------------------- writing


def _written(tree: Any, source: Source, options: argparse.Namespace) -> Report:
    """Write a tree: into its file, or in the requested format or that of the file.

    A JSON file that has `NaN` keeps it; nothing else is written with one.

    Raises:
        Unreadable: The file cannot be replaced.
    """
    if options.in_place:
        return _replaced(tree, source, options)
    formats, document = io.formats, source.document
    kind = "json" if options.json else options.to or document.kind
    if kind == document.kind and not options.json:
        text = _revised_or_dumped(tree, source)
        return Report([text.replace("\r\n", "\n").removesuffix("\n")])
    if document.kind == "yaml" and "*" in source.text:
        # what an alias stands for has changed with it
        tree = formats.load(_revised_or_dumped(tree, source), "yaml").tree
    return Report(_dumped(tree, kind, allow_nan=_has_nan(source) and not options.json))


def _revised(tree: Any, source: Source) -> str:
    """Return the text of a file with another tree, in its layout.

    Raises:
        NotWritten: The comments and the layout cannot be kept.
    """
    text, document, allow_nan = source.text, source.document, _has_nan(source)
    try:
        return io.revision.revise(text, document, tree, allow_nan=allow_nan)
    except io.revision.RevisionError as error:
        raise NotWritten(
            f"{source.path}: not written: the comments and the layout cannot be kept: "
            f"{error}; without --in-place it is printed"
        ) from error


def _revised_or_dumped(tree: Any, source: Source) -> str:
    """Return the text of a file with another tree, if possible in its layout."""
    try:
        return _revised(tree, source)
    except NotWritten as error:
        files.complain(
            f"{source.path}: printed without comments and layout: {error.__cause__}"
        )
        document = source.document._replace(tree=tree)
        return io.formats.dump(document, allow_nan=_has_nan(source))


def _replaced(tree: Any, source: Source, options: argparse.Namespace) -> Report:
    """Write a tree into its file, if that changes it.

    Raises:
        Unreadable: The file cannot be replaced, or not without a loss.
    """
    if source.path == "-":
        raise Unreadable("-: the standard input cannot be written in place")
    if options.json or options.to:
        word = "--json" if options.json else "--to"
        raise Unreadable(f"--in-place: not allowed with {word}")
    text = _revised(tree, source)
    if text != source.text:
        files.replace(source, text)
    return Report([])


def _has_nan(source: Source) -> bool:
    """Return whether a JSON file has numbers that JSON lacks."""
    if source.document.kind != "json":
        return False
    leaves = tree_leaves(source.document.tree)
    return not all(math.isfinite(leaf) for leaf in leaves if isinstance(leaf, float))


def _editable(paths: Sequence[str], options: argparse.Namespace) -> list[Source]:
    """Read files that can be written again.

    Raises:
        Unreadable: One has arrays.
    """
    sources = files.read_all(paths, options.format, written=True)
    for source in sources:
        if source.document.kind not in io.formats.SUFFIXES.values():
            raise Unreadable(f"{source.path}: files of arrays are not edited here")
    return sources


def _edited(options: argparse.Namespace, edit: Callable[[Any, str], Any]) -> Report:
    """Write a file after an edit, a function of the tree and the format."""
    (source,) = _editable([options.file], options)
    tree = edit(source.document.tree, source.document.kind)
    return _written(tree, source, options)


def put(options: argparse.Namespace) -> Report:
    """Print a file with changes applied: `path=value`, `+path=value`, `~path`."""
    return _edited(options, lambda tree, kind: reduce(
        lambda tree, change: _changed(tree, change, kind), options.changes, tree
    ))  # fmt: skip


def _changed(tree: Any, change: str, kind: str) -> Any:
    """Return a tree with a change applied; a number is written as the user typed it."""
    from ..selection.names import split_override

    if change.startswith("~") or "=" not in change:
        return selection.override(tree, [change])
    where, text = split_override(change)
    number = io.formats.read_number(text, kind)
    if not hasattr(number, "text"):
        return selection.override(tree, [change])
    plain = repr(number.plain(number))
    tree = selection.override(tree, [f"{where}={plain}"])

    def as_typed(value: Any) -> Any:
        if type(value) is str and value == plain:
            return text
        is_number = isinstance(value, int | float) and type(value) is not bool
        return number if is_number and value == number else value

    where = re.sub(r"\[\+\]$", "[-1]", where.lstrip("+"))
    return selection.at(tree, none_is_leaf=True)[where].apply(as_typed)


def delete(options: argparse.Namespace) -> Report:
    """Print a file without the selected parts."""
    return _edited(options, lambda tree, _: _picked(options, tree).delete())


def move(options: argparse.Namespace) -> Report:
    """Print a file with a part moved to another path."""
    return _edited(options, lambda tree, _: selection.tree_move(
        tree, options.source, options.target, none_is_leaf=True
    ))  # fmt: skip


def rename(options: argparse.Namespace) -> Report:
    """Print a file with the selected keys renamed."""
    return _edited(options, lambda tree, _: selection.tree_rename(
        tree, options.selector, options.name, none_is_leaf=True
    ))  # fmt: skip


def merge(options: argparse.Namespace) -> Report:
    """Print the deep merge of files; values of later files win."""
    base, *overlays = _editable(options.files, options)
    trees = [source.document.tree for source in overlays]
    if options.delete is not None:
        from ..selection.values import guess

        trees = [_with_marks(tree, guess(options.delete)) for tree in trees]
    merged = selection.tree_merge(
        base.document.tree,
        *trees,
        join=options.join,
        lists=_lists(options.lists, "replace"),
        conflict=options.conflict,
        rules=dict(map(_rule, options.rule)),
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


def _lists(given: list[str], default: str) -> str | dict[str, str]:
    """Return how lists are paired: by a word, or some of them by keys."""
    parts = [text.rpartition("=") for text in given]
    if all(what for what, _, _ in parts) and parts:
        return {what: key for what, _, key in parts}
    if len(parts) > 1:
        raise Unreadable("--lists takes either one word or only SELECTOR=KEY")
    return given[0] if given else default


# --------------------------------------------------------------------------- comparing


def diff(options: argparse.Namespace) -> Report:
    """Print the differences between two files; status 1 if there are any."""
    written = not options.json
    sources = files.read_all(options.files, options.format, written=written)
    found = selection.tree_diff(
        *(source.document.tree for source in sources),
        lists=_lists(options.lists, "align"),
        rtol=options.rtol,
        atol=options.atol,
        ignore=options.ignore or None,
        none_is_leaf=True,
    )
    status = 1 if found else 0
    if options.json:
        return Report([found.to_json(indent=2)], status)
    return Report(found.lines(color=options.color), status)
