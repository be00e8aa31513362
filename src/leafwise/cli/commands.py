"""The commands: what each of them does with its arguments.

Owns what is read, printed, and written into files. A function takes the options that
the parser has read; its docstring is what `--help` says.

Owns encodings, and what can go wrong between a command and the outside: files that
cannot be read, trees that would never end, pipes that were closed. Files and pipes are
read and written as UTF-8, whatever the locale; a terminal gets its own encoding.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterable
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from .. import configs, files, selection
from .. import show as show_
from .._text import escape_controls
from ..core.context import context_of
from ..core.registry import declare_namespace
from ..equality.arrays import is_array
from ..errors import FileError
from ..ops.map import tree_leaves, tree_leaves_with_path, tree_map
from ..ops.traversal import DELETE
from ..show.colors import Paint, terminal_width


if TYPE_CHECKING:
    import argparse

    from ..configs.formats import Document

_MOST: Final = 20_000_000
"""How many values the anchors of a YAML file may expand to."""

_NAMESPACE: Final = "leafwise.cli"
"""The namespace of the commands, in which None is a leaf: files have it as a value."""
declare_namespace(_NAMESPACE, none_is_leaf=True)


class ReadError(ValueError):
    """Raised if a file cannot be read or written; the message is for the user."""


class LossyEditError(ReadError):
    """Raised if an edit in place would lose comments or layout."""

    status = 1


class Source(NamedTuple):
    """A file that was read.

    Attributes:
        path: The file; `-` for the standard input.
        text: Its text, without a byte order mark.
        document: The content.
        charset: The encoding.
    """

    path: str
    text: str
    document: Document
    charset: str


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
    document = configs.formats.Document(value, kind)
    text = configs.formats.dump(document, allow_nan=allow_nan)
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
    default = configs.formats.json_default
    try:
        text = dumps(value, ensure_ascii=False, default=default)
        return (
            text
            if text.isprintable()
            else escape_controls(dumps(value, default=default))
        )
    except TypeError:
        return escape_controls(repr(value))


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


def _read(
    options: argparse.Namespace, *, written: bool = True, edits: bool = False
) -> list[Source]:
    """Read the files of a command into plain containers.

    Args:
        options: Those of the command; `-` among the files is the standard input.
        written: Whether numbers know how they are written, see `formats.load`.
        edits: Whether they are to be written again.

    Raises:
        OSError: A file cannot be read.
        ReadError: Its format is unknown, it is malformed, or its content is endless;
            it has arrays and is to be edited; or `-` is given twice.
    """
    if options.files.count("-") > 1:
        raise ReadError("-: the standard input can be read only once")
    formats, sources = configs.formats, []
    for path in options.files:
        suffix = os.path.splitext(path)[1].lower()
        kind = options.format or formats.SUFFIXES.get(suffix)
        if kind is None and suffix not in formats.OF_ARRAYS:
            endings = ", ".join((*formats.SUFFIXES, *formats.OF_ARRAYS))
            raise ReadError(
                f"{path}: unknown format: use --format, or a file that ends in "
                f"{endings}"
            )
        try:
            if kind is None:
                try:
                    tree = files.load(path)
                except FileError:  # of a class that is not here, or of damage
                    tree = files.load(path, treedef=False)
                document = formats.Document(tree, suffix[1:])
                sources.append(Source(path, "", document, ""))
                if edits:
                    raise ReadError(f"{path}: files of arrays cannot be edited")
                continue
            if path != "-":
                with open(path, "rb") as file:
                    data = file.read()
            elif sys.stdin is None:
                raise ReadError("-: there is no standard input")
            else:
                data = sys.stdin.buffer.read()
            text, charset = formats.decoded(data)
            document = formats.load(text, kind, written=written)
        except (ImportError, formats.FormatError) as error:
            raise ReadError(f"{path}: {error}") from error
        except UnicodeDecodeError as error:
            raise ReadError(
                f"{path}: not valid {str(kind).upper()}: {error}"
            ) from error
        if kind == "yaml" and "*" in text and _size(document.tree) > _MOST:
            raise ReadError(f"{path}: its anchors expand to more than {_MOST} values")
        sources.append(Source(path, text, document, charset))
    return sources


def _size(tree: Any) -> int:
    """Return how many values there are in dicts and lists, shared ones each time."""
    sizes: dict[int, int] = {}

    def size(node: Any) -> int:
        if not isinstance(node, dict | list):
            return 1
        if id(node) not in sizes:
            sizes[id(node)] = 1  # if it contains itself, which the commands will tell
            below = node.values() if isinstance(node, dict) else node
            sizes[id(node)] = sum(map(size, below))
        return sizes[id(node)]

    return size(tree)


def _tree(options: argparse.Namespace, *, written: bool = True) -> Any:
    (source,) = _read(options, written=written)
    return source.document.tree


def _picked(options: argparse.Namespace, tree: Any) -> Any:
    """Return the selection that the selectors make."""
    first, *more = options.selectors  # one alone has the better message if it fails
    chosen = options.selectors if more else first
    return selection.at(tree, namespace=_NAMESPACE)[chosen]


def _rows(options: argparse.Namespace, tree: Any) -> dict[str, Any]:
    """Return the values of all leaves, or of what the selectors match, by paths."""
    if options.selectors:
        pairs = _picked(options, tree).items()
    else:
        pairs = tree_leaves_with_path(tree, namespace=_NAMESPACE)
    return {str(path): value for path, value in pairs}


_FORMS = ("draw", "tree_summary", "to_mermaid", "to_svg", "to_html")


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
    draw = getattr(show_, form)
    made = draw(tree, depth=options.depth, namespace=_NAMESPACE, **more)
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
            raise ReadError(f"--to: {options.selectors[0]!r} may match several values")
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


def write(lines: Iterable[str], path: str = "-") -> None:
    """Write lines; characters that a terminal cannot represent are escaped.

    Args:
        lines: The lines, without their ends.
        path: The file; `-` for the standard output.

    Raises:
        ReadError: There is no standard output.
        OSError: They cannot be written. A closed pipe is not an error.
    """
    if path != "-":
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{line}\n" for line in lines)
        return
    out = sys.stdout
    if out is None:
        raise ReadError("there is no standard output to write to")
    if isinstance(out, TextIOWrapper):
        charset = out.encoding if out.isatty() else "utf-8"
        out.reconfigure(encoding=charset, errors="backslashreplace")
    try:
        for line in lines:
            print(line)
        out.flush()
    except OSError as error:
        # what is buffered goes nowhere, or the interpreter complains when it exits
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())
        if not isinstance(error, BrokenPipeError):
            raise


def complain(text: str) -> None:
    """Print a line on the standard error, if there is one to print on.

    Args:
        text: The line.
    """
    if sys.stderr is None:
        return  # print would use the standard output
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr, flush=True)


def _written(tree: Any, source: Source, options: argparse.Namespace) -> Report:
    """Write a tree: into its file, or in the requested format or that of the file.

    Its layout is kept if possible. A JSON file that has `NaN` keeps it; nothing else is
    written with one.

    Raises:
        LossyEditError: The file cannot keep its comments and layout.
        ReadError: The source cannot be edited.
    """
    path, text, document, charset = source
    in_place, formats = options.in_place, configs.formats
    if in_place and path == "-":
        raise ReadError("-: the standard input cannot be written in place")
    has_nan = document.kind == "json" and ("NaN" in text or "Infinity" in text)
    kind = "json" if options.json else options.to or document.kind
    is_kept = in_place or (kind == document.kind and not options.json)
    has_aliases = document.kind == "yaml" and "*" in text
    made = ""
    if has_aliases:
        tree_leaves(tree)  # or it contains itself
    if is_kept or has_aliases:
        try:
            made = configs.revision.revise(text, document, tree, allow_nan=has_nan)
        except configs.revision.RevisionError as error:
            if in_place:
                raise LossyEditError(
                    f"{path}: not written: the comments and the layout cannot be "
                    f"kept: {error}; without --in-place it is printed"
                ) from error
            complain(f"{path}: printed without comments and layout: {error}")
            made = formats.dump(document._replace(tree=tree), allow_nan=has_nan)
    if in_place:
        if made != text:
            with files.replace_file(path) as file:
                file.write(made.encode(charset))
        return Report([])
    if is_kept:
        return Report([made.replace("\r\n", "\n").removesuffix("\n")])
    if has_aliases:  # what they stand for has changed with it
        tree = formats.load(made, "yaml").tree
    return Report(_dumped(tree, kind, allow_nan=has_nan and not options.json))


def put(options: argparse.Namespace) -> Report:
    """Print a file with changes applied: `path=value`, `+path=value`, `~path`.

    Examples:
      leafwise set train.yaml optim.lr=3e-4 -i
      leafwise set train.yaml +optim.eps=1e-8 'tags[+]=baseline'
      leafwise set train.yaml ~optim.warmup ++seed=none
    """
    from ..configs.overrides import Overrides, guess

    (source,) = _read(options, edits=True)
    tree, kind, _ = source.document

    def value_of(text: str) -> Any:
        number = configs.formats.read_number(
            text, kind
        )  # which is written as it is typed
        return guess(text) if number is None else number

    overrides = Overrides(value_of, context_of(namespace=_NAMESPACE))
    return _written(overrides.apply(tree, options.changes), source, options)


def _edited(options: argparse.Namespace, edit: Callable[[Any], Any]) -> Report:
    """Write a file after an edit, a function of the tree."""
    (source,) = _read(options, edits=True)
    return _written(edit(source.document.tree), source, options)


def delete(options: argparse.Namespace) -> Report:
    """Print a file without the selected parts.

    Examples:
      leafwise delete train.yaml '**.debug' -i
    """
    return _edited(options, lambda tree: _picked(options, tree).delete())


def move(options: argparse.Namespace) -> Report:
    """Print a file with a part moved to another path.

    Examples:
      leafwise move train.yaml lr optim.lr -i
    """
    return _edited(options, lambda tree: selection.tree_move(
        tree, options.selectors[0], options.paths[0], namespace=_NAMESPACE
    ))  # fmt: skip


def rename(options: argparse.Namespace) -> Report:
    """Print a file with the selected keys renamed.

    Examples:
      leafwise rename train.yaml '**.lr' learning_rate -i
    """
    return _edited(options, lambda tree: selection.tree_rename(
        tree, options.selectors[0], options.names[0], namespace=_NAMESPACE
    ))  # fmt: skip


def merge(options: argparse.Namespace) -> Report:
    """Print the deep merge of files; values of later files win.

    Examples:
      leafwise merge base.yaml overlay.yaml
      leafwise merge base.yaml overlay.yaml --lists extend --delete null -i
    """
    base, *overlays = _read(options, edits=True)
    trees = [source.document.tree for source in overlays]
    if options.delete is not None:
        from ..configs.overrides import guess

        mark = guess(options.delete)
        trees = tree_map(
            lambda leaf: DELETE if type(leaf) is type(mark) and leaf == mark else leaf,
            trees,
            namespace=_NAMESPACE,
        )
    merged = selection.tree_merge(
        base.document.tree,
        *trees,
        lists=_lists(options.lists, "replace"),
        rules=_pairs("--rule", options.rule),
    )
    return _written(configs.formats.fitted(merged, base.document.kind), base, options)


def _pairs(option: str, given: list[str]) -> dict[str, str]:
    """Return what stands after the last equal sign by what stands before it."""
    for text in given:
        if "=" not in text:
            raise ReadError(f"{option} {text!r} is not of the form SELECTOR=WORD")
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
    sources = _read(options, written=not options.json)
    found = selection.tree_diff(
        *(source.document.tree for source in sources),
        lists=_lists(options.lists, "align"),
        rtol=options.rtol,
        atol=options.atol,
        ignore=options.ignore or None,
        namespace=_NAMESPACE,
    )
    lines: Iterable[str] = found.lines(color=options.color)
    if options.json:
        lines = [found.to_json(indent=2)]
    return Report(lines, status=1 if found else 0)
