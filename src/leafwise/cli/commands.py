"""The commands: what each of them does with its arguments.

Owns what is printed, and what is written into files. A function takes the options that
the parser has read; its docstring is what `--help` says.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import io, selection
from .. import show as show_
from ..equality.content import is_array
from ..ops.map import tree_leaves_with_path, tree_map
from ..ops.traversal import DELETE
from ..paint import Paint, terminal_width
from ..safely import printable
from . import files
from .files import NotWritten, Source, Unreadable


if TYPE_CHECKING:
    import argparse


class Report(NamedTuple):
    """The result of a command.

    Attributes:
        lines: Lines for the output.
        status: The exit status.
        path: The file to write them to; `-` for the standard output.
    """

    lines: Iterable[str]
    status: int = 0
    path: str = "-"


# --------------------------------------------------------------------- texts


def _dumped(value: Any, kind: str = "json", *, allow_nan: bool = False) -> list[str]:
    """Return a value as text of a format."""
    document = io.formats.Document(value, kind)
    text = io.formats.dump(document, allow_nan=allow_nan)
    return [text.removesuffix("\n")]


def _short(value: Any) -> str:
    """Return a value in one line: a number as it is written, an array as its form.

    Others are JSON, or their `repr` if JSON has no form for them.
    """
    from json import dumps

    if hasattr(value, "plain"):
        return str(value.text)
    if is_array(value):
        return f"{value.dtype}{[*value.shape]}"
    default = io.formats.json_default
    try:
        text = dumps(value, ensure_ascii=False, default=default)
        return text if text.isprintable() else printable(dumps(value, default=default))
    except TypeError:
        return printable(repr(value))


def _listed(table: dict[str, Any], options: argparse.Namespace) -> Report:
    """Return values by their names as lines `name = value`, or as JSON."""
    if options.json:
        return Report(_dumped(table))
    paint = Paint(options.color)
    return Report(
        f"{paint(name, 'path')} = {_short(value)}" if name else _short(value)
        for name, value in table.items()
    )


# ---------------------------------------------------------------------------- reading


def _tree(options: argparse.Namespace, *, written: bool = True) -> Any:
    (source,) = files.read(options, written=written)
    return source.document.tree


def _picked(options: argparse.Namespace, tree: Any) -> Any:
    """Return the selection that the selectors make."""
    first, *more = options.selectors  # one alone has the better message if it fails
    chosen = options.selectors if more else first
    return selection.at(tree, none_is_leaf=True)[chosen]


def _rows(options: argparse.Namespace, tree: Any) -> dict[str, Any]:
    """Return the values of all leaves, or of what the selectors match, by paths."""
    if options.selectors:
        pairs = _picked(options, tree).items()
    else:
        pairs = tree_leaves_with_path(tree, none_is_leaf=True)
    return {str(path): value for path, value in pairs}


_FORMS = ("draw", "tree_summary", "to_mermaid", "to_dot", "to_svg", "to_html")


def show(options: argparse.Namespace) -> Report:
    """Draw a file as a tree; into a pipe, print leaves as `path = value`.

    Examples:
      leafwise show train.yaml optim --depth 1
      leafwise show weights.npz --summary
    """
    form = next((name for name in _FORMS if getattr(options, name)), "")
    tree = _tree(options, written=form != "tree_summary")
    width = terminal_width(sys.stdout)
    if not form and not options.json and (width or options.depth is not None):
        form = "draw"
    if not form:
        return _listed(_rows(options, tree), options)
    if options.selectors:
        tree = _picked(options, tree)
    more: dict[str, Any] = {"document": True} if form == "to_html" else {}
    if form == "draw":
        width = width or sys.maxsize
        more = {"width": width, "max_leaves": sys.maxsize, "color": options.color}
    path = getattr(options, form) if form in ("to_svg", "to_html") else "-"
    made = getattr(show_, form)(tree, depth=options.depth, none_is_leaf=True, **more)
    return Report(str(made).split("\n"), path=path)


def paths(options: argparse.Namespace) -> Report:
    """Print the paths of all leaves, or of what the selectors pick.

    Examples:
      leafwise paths train.yaml '**.lr'
    """
    found = [*_rows(options, _tree(options))]
    paint = Paint(options.color)
    return Report(_dumped(found) if options.json else [paint(p, "path") for p in found])


def get(options: argparse.Namespace) -> Report:
    """Print the selected value, or one line for each of several matches.

    Examples:
      leafwise get train.yaml optim.lr
      leafwise get compose.yaml 'services.*.image'
      leafwise get pod.yaml 'spec.containers[name=web].image'
      leafwise get train.yaml optim --to json
    """
    rows = _rows(options, _tree(options))
    if not selection.selector(*options.selectors).is_single:
        if options.to:
            raise Unreadable(f"--to: {options.selectors[0]!r} may match several values")
        return _listed(rows, options)
    (value,) = rows.values()
    if options.to:
        return Report(_dumped(value, options.to))
    is_text = isinstance(value, str) or hasattr(value, "plain") or is_array(value)
    if is_text and not options.json:
        return Report([str(value)])
    return Report(_dumped(value, allow_nan=not options.json))


def flat(options: argparse.Namespace) -> Report:
    """Print every leaf with its flat name.

    Examples:
      leafwise flat train.yaml --sep /
    """
    return _listed(
        selection.to_flat(_tree(options), options.sep, strict=False), options
    )


# ----------------------------------------------------------------------------- writing


def _editable(options: argparse.Namespace) -> list[Source]:
    """Read files that can be written again.

    Raises:
        Unreadable: One has arrays.
    """
    sources = files.read(options, written=True)
    for source in sources:
        if source.document.kind not in io.formats.SUFFIXES.values():
            raise Unreadable(f"{source.path}: files of arrays cannot be edited")
    return sources


def _written(tree: Any, source: Source, options: argparse.Namespace) -> Report:
    """Write a tree: into its file, or in the requested format or that of the file.

    A JSON file that has `NaN` keeps it; nothing else is written with one.

    Raises:
        NotWritten: The file cannot keep its comments and layout.
        Unreadable: The source cannot be edited.
    """
    document, formats = source.document, io.formats
    if options.in_place:
        if source.path == "-":
            raise Unreadable("-: the standard input cannot be written in place")
        text = _text_of(tree, source, in_place=True)
        if text != source.text:
            with io.replace_file(source.path) as file:
                file.write(text.encode(source.charset))
        return Report([])
    kind = "json" if options.json else options.to or document.kind
    if kind == document.kind and not options.json:
        text = _text_of(tree, source)
        return Report([text.replace("\r\n", "\n").removesuffix("\n")])
    if document.kind == "yaml" and "*" in source.text:
        # what an alias stands for has changed with it
        tree = formats.load(_text_of(tree, source), "yaml").tree
    return Report(_dumped(tree, kind, allow_nan=source.has_nan and not options.json))


def _text_of(tree: Any, source: Source, *, in_place: bool = False) -> str:
    """Return the text of a file with another tree, in its layout if possible.

    Raises:
        NotWritten: The text is for the file, and the comments and the layout cannot be
            kept.
    """
    text, document, allow_nan = source.text, source.document, source.has_nan
    try:
        return io.revision.revise(text, document, tree, allow_nan=allow_nan)
    except io.revision.RevisionError as error:
        if in_place:
            raise NotWritten(
                f"{source.path}: not written: the comments and the layout cannot be "
                f"kept: {error}; without --in-place it is printed"
            ) from error
        files.complain(f"{source.path}: printed without comments and layout: {error}")
        return io.formats.dump(document._replace(tree=tree), allow_nan=allow_nan)


def _edited(options: argparse.Namespace, edit: Callable[[Any, str], Any]) -> Report:
    """Write a file after an edit, a function of the tree and the format."""
    (source,) = _editable(options)
    tree = edit(source.document.tree, source.document.kind)
    return _written(tree, source, options)


def put(options: argparse.Namespace) -> Report:
    """Print a file with changes applied: `path=value`, `+path=value`, `~path`.

    Examples:
      leafwise set train.yaml optim.lr=3e-4 -i
      leafwise set train.yaml +optim.eps=1e-8 'tags[+]=baseline'
      leafwise set train.yaml ~optim.warmup ++seed=none
    """
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
    """Print a file without the selected parts.

    Examples:
      leafwise delete train.yaml '**.debug' -i
    """
    return _edited(options, lambda tree, _: _picked(options, tree).delete())


def move(options: argparse.Namespace) -> Report:
    """Print a file with a part moved to another path.

    Examples:
      leafwise move train.yaml lr optim.lr -i
    """
    return _edited(options, lambda tree, _: selection.tree_move(
        tree, options.selectors[0], options.paths[0], none_is_leaf=True
    ))  # fmt: skip


def rename(options: argparse.Namespace) -> Report:
    """Print a file with the selected keys renamed.

    Examples:
      leafwise rename train.yaml '**.lr' learning_rate -i
    """
    return _edited(options, lambda tree, _: selection.tree_rename(
        tree, options.selectors[0], options.names[0], none_is_leaf=True
    ))  # fmt: skip


def merge(options: argparse.Namespace) -> Report:
    """Print the deep merge of files; values of later files win.

    Examples:
      leafwise merge base.yaml overlay.yaml
      leafwise merge base.yaml overlay.yaml --lists extend --delete null -i
    """
    base, *overlays = _editable(options)
    trees = [source.document.tree for source in overlays]
    if options.delete is not None:
        from ..selection.values import guess

        mark = guess(options.delete)
        trees = tree_map(
            lambda leaf: DELETE if type(leaf) is type(mark) and leaf == mark else leaf,
            trees,
            none_is_leaf=True,
        )
    merged = selection.tree_merge(
        base.document.tree,
        *trees,
        lists=_lists(options.lists, "replace"),
        rules=_pairs("--rule", options.rule),
    )
    return _written(merged, base, options)


def _pairs(option: str, given: list[str]) -> dict[str, str]:
    """Return what stands after the last equal sign by what stands before it."""
    for text in given:
        if "=" not in text:
            raise Unreadable(f"{option} {text!r} is not of the form SELECTOR=WORD")
    return {text.rpartition("=")[0]: text.rpartition("=")[2] for text in given}


def _lists(given: list[str], default: str) -> str | dict[str, str]:
    """Return how lists are paired: by a word, or some of them by keys."""
    if len(given) == 1 and "=" not in given[0]:
        return given[0]
    return _pairs("--lists", given) or default


# --------------------------------------------------------------------------- comparing


def diff(options: argparse.Namespace) -> Report:
    """Print the differences between two files; status 1 if there are any.

    Examples:
      leafwise diff base.yaml new.yaml --ignore seed
      leafwise diff pod.yaml new.yaml --lists '**.containers=name'
      leafwise diff old.npz new.npz --atol 1e-6
    """
    sources = files.read(options, written=not options.json)
    found = selection.tree_diff(
        *(source.document.tree for source in sources),
        lists=_lists(options.lists, "align"),
        rtol=options.rtol,
        atol=options.atol,
        ignore=options.ignore or None,
        none_is_leaf=True,
    )
    lines: Iterable[str] = found.lines(color=options.color)
    if options.json:
        lines = [found.to_json(indent=2)]
    return Report(lines, status=1 if found else 0)
