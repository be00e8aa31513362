"""The commands: what each of them does with its arguments.

A function takes the options that the parser has read and returns a `Report`; its
docstring is what `--help` says. Encodings are here, too, and what can go wrong between
a command and the outside: files that cannot be read, trees that would never end, pipes
that were closed. Files and pipes are read and written as UTF-8, whatever the locale; a
terminal gets its own encoding.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
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
from ..ops.map import tree_leaves, tree_map
from ..ops.traversal import DELETE
from ..show.colors import Paint, terminal_width


if TYPE_CHECKING:
    from argparse import Namespace

    from ..configs.read_write import Source

_MOST: Final = 20_000_000
"""How many values the anchors of a YAML file may expand to."""

_NAMESPACE: Final = "leafwise.cli"
"""The namespace of the commands, in which None is a leaf: files have it as a value."""
declare_namespace(_NAMESPACE, none_is_leaf=True)


_LINES_AT_ONCE: Final = 1000
"""How many lines are written by one call, each of which takes time."""

_PLAIN: Final = {str, int, float, bool, type(None)}
"""The types that most values of a file have."""


class ReadError(ValueError):
    """Raised if a file cannot be read or written; the message is for the user."""


class LossyEditError(ReadError):
    """Raised if an edit in place would lose comments or layout."""

    status = 1


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


# ------------------------------------------------------------------------------- texts


def _dumped(value: Any, kind: str = "json", *, allow_nan: bool = False) -> str:
    """Return a value as text of a format."""
    document = configs.formats.Document(value, kind)
    text = configs.formats.dump(document, allow_nan=allow_nan)
    return text.removesuffix("\n")


@functools.cache
def _encoder(*, is_ascii: bool = False) -> Callable[[Any], str]:
    """Return what writes a value as JSON in one line."""
    from json import JSONEncoder

    default = configs.formats.json_default
    return JSONEncoder(ensure_ascii=is_ascii, default=default).encode


def _short(value: Any) -> str:
    """Return a value in one line: a number as it is written, an array as its form.

    Others are JSON, or their `repr` if JSON has no form for them.
    """
    if type(value) not in _PLAIN:
        if hasattr(value, "plain"):
            return str(value.text)
        if is_array(value):
            return f"{value.dtype}{list(value.shape)}"
    try:
        text = _encoder()(value)
    except TypeError:
        return escape_controls(_tagged_text(value) or repr(value))
    if text.isprintable():
        return text
    # what a terminal would act on, such as U+009B, is written as \\u009b
    return escape_controls(_encoder(is_ascii=True)(value))


def _tagged_text(value: Any) -> str:
    """Return a YAML value with a tag as its file writes it; "" for others."""
    if not isinstance(value, configs.Tagged):
        return ""
    text = value.value
    if not isinstance(text, str):
        text = _encoder()(text)
    return f"{value.tag} {text}"


def _bare(value: Any) -> str:
    """Return a value alone: a text without quotes, a collection as JSON.

    A collection with arrays, which JSON does not have, is a line for each leaf.
    """
    if isinstance(value, str) or hasattr(value, "plain") or is_array(value):
        return str(value)
    leaves = tree_leaves(value, namespace=_NAMESPACE)
    if any(map(is_array, leaves)):
        return "\n".join(f"{name} = {_short(leaf)}" for name, leaf in _leaves(value))
    return _tagged_text(value) or _dumped(value, allow_nan=True)


def _listed(rows: Iterable[tuple[str, Any]], options: Namespace) -> Report:
    """Return values by their names as lines `name = value`, or as JSON."""
    if options.json:
        return Report([_dumped(dict(rows))])
    paint = Paint(options.color)
    return Report(
        f"{paint(name, 'path')} = {_short(value)}" if name else _short(value)
        for name, value in rows
    )


# ---------------------------------------------------------------------------- reading


def _read(
    options: Namespace, *, written: bool = True, edits: bool = False
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
    sources = []
    for path in options.files:
        suffix = os.path.splitext(path)[1].lower()
        if suffix in configs.read_write.OF_ARRAYS and not options.format:
            if edits:
                raise ReadError(f"{path}: files of arrays cannot be edited")
            sources.append(_read_arrays(path, suffix))
            continue
        kind = options.format or configs.formats.SUFFIXES.get(suffix)
        if kind is None:
            _refuse_other_programs(path, suffix)
        try:
            source = configs.read_write.source_of(
                path, _content(path), kind, written=written
            )
        except (ImportError, configs.formats.FormatError) as error:
            raise ReadError(f"{path}: {error}") from error
        if _size_of_anchors(source) > _MOST:
            raise ReadError(f"{path}: its anchors expand to more than {_MOST} values")
        sources.append(source)
    return sources


def _refuse_other_programs(path: str, suffix: str) -> None:
    """Raise an error that says what converts a file of another program."""
    from ..files.save_load import CONVERTERS

    if suffix in CONVERTERS:
        raise ReadError(f"{path}: a file of another program: {CONVERTERS[suffix]}")


def _content(path: str) -> bytes:
    """Return the content of a file, or of the standard input."""
    if path != "-":
        with open(path, "rb") as file:
            return file.read()
    if sys.stdin is None:
        raise ReadError("-: there is no standard input")
    return sys.stdin.buffer.read()


def _read_arrays(path: str, suffix: str) -> Source:
    """Read a file of arrays: as a tree, or by names if its classes are not here."""
    try:
        tree = files.load(path)
    except ImportError as error:
        raise ReadError(f"{path}: {error}") from error
    except FileError:  # of a class that is not here, or of damage
        tree = files.load(path, treedef=False)
    document = configs.formats.Document(tree, suffix[1:])
    return configs.read_write.Source(path, "", document, "")


def _size_of_anchors(source: Source) -> int:
    """Return how many values a YAML file has, shared ones each time; 0 for others."""
    if source.document.kind != "yaml" or "*" not in source.text:
        return 0
    # shared values are counted once and their sizes added: a file of a few lines may
    # expand to billions of values, which the commands would go through one by one
    sizes: dict[int, int] = {}

    def size(node: Any) -> int:
        if not isinstance(node, dict | list):
            return 1
        if id(node) not in sizes:
            sizes[id(node)] = 1  # if it contains itself, which the commands will report
            below = node.values() if isinstance(node, dict) else node
            sizes[id(node)] = sum(map(size, below))
        return sizes[id(node)]

    return size(source.document.tree)


def _tree(options: Namespace, *, written: bool = True) -> Any:
    (source,) = _read(options, written=written)
    return source.document.tree


def _picked(options: Namespace, tree: Any) -> Any:
    """Return the selection that the selectors make."""
    first, *more = options.selectors  # one alone has the better message if it fails
    chosen = options.selectors if more else first
    return selection.at(tree, namespace=_NAMESPACE)[chosen]


def _rows(options: Namespace, tree: Any) -> Iterable[tuple[str, Any]]:
    """Return the values of all leaves, or of what the selectors match, by names."""
    if not options.selectors:
        return _leaves(tree)
    from ..selection.patterns import name_of

    matches = _picked(options, tree).items()
    return [(name_of(path), value) for path, value in matches]


def _leaves(tree: Any) -> Iterable[tuple[str, Any]]:
    """Return the leaves and empty containers of a file with their names."""
    table = selection.to_flat(tree, strict=False)
    return table.items() if table else [("", tree)]


def show(options: Namespace) -> Report:
    """Draw a file as a tree; into a pipe, print leaves as `path = value`.

    Examples:
      leafwise show train.yaml optim --depth 1
      leafwise show weights.npz --summary
    """
    tree = _tree(options, written=not options.summary)
    width = terminal_width(sys.stdout)
    is_picture = options.summary or options.mermaid or options.svg or options.html
    is_drawn = options.tree or width or options.depth is not None
    if options.json or not (is_picture or is_drawn):
        return _listed(_rows(options, tree), options)
    if options.selectors:
        tree = _picked(options, tree)
    picture = _picture(tree, options, width or sys.maxsize)
    path = options.svg or options.html or "-"
    return Report(str(picture).split("\n"), path=path)


def _picture(tree: Any, options: Namespace, width: int) -> Any:
    """Return the picture that the options ask for; a drawing by default."""
    depth = options.depth
    if options.summary:
        return show_.tree_summary(tree, depth=depth, namespace=_NAMESPACE)
    if options.mermaid:
        return show_.to_mermaid(tree, depth=depth, namespace=_NAMESPACE)
    if options.svg:
        return show_.to_svg(tree, depth=depth, namespace=_NAMESPACE)
    if options.html:
        return show_.to_html(tree, depth=depth, document=True, namespace=_NAMESPACE)
    return show_.draw(
        tree,
        depth=depth,
        width=width,
        max_leaves=sys.maxsize,
        color=options.color,
        namespace=_NAMESPACE,
    )


def paths(options: Namespace) -> Report:
    """Print the paths of all leaves, or of what the selectors pick.

    Examples:
      leafwise paths train.yaml '**.lr'
    """
    names = [name for name, _ in _rows(options, _tree(options))]
    if options.json:
        return Report([_dumped(names)])
    paint = Paint(options.color)
    return Report(paint(name, "path") for name in names)


def get(options: Namespace) -> Report:
    """Print the selected value, or one line for each of several matches.

    Examples:
      leafwise get train.yaml optim.lr
      leafwise get compose.yaml 'services.*.image'
      leafwise get pod.yaml -r 'spec.containers[name=web].image'
      leafwise get train.yaml optim --to json
    """
    tree = _tree(options)
    if options.raw:
        return _raw(options, tree)
    if options.json:
        values = [value for _, value in _picked(options, tree).items()]
        return Report([_dumped(values)])
    name = options.selectors[0]
    is_single = len(options.selectors) == 1 and selection.selector(name).is_single
    if is_single:
        value = _picked(options, tree).get()
        text = _dumped(value, options.to) if options.to else _bare(value)
        return Report([text])
    if options.to:
        raise ReadError(f"--to: {name!r} may match several values")
    return _listed(_rows(options, tree), options)


def _raw(options: Namespace, tree: Any) -> Report:
    """Return the values that the selectors match, alone."""
    texts = []
    for what in options.selectors:
        matches = selection.at(tree, namespace=_NAMESPACE)[what].items()
        values = [value for _, value in matches]
        if len(values) != 1 and not options.all:
            raise ReadError(
                f"-r: {what!r} matches {len(values)} values; with --all, they are all "
                "printed"
            )
        texts += [_bare(value) for value in values]
    return Report([_dumped(texts)] if options.json else texts)


def flat(options: Namespace) -> Report:
    """Print every leaf with its flat name.

    Examples:
      leafwise flat train.yaml --sep /
    """
    table = selection.to_flat(_tree(options), options.sep, strict=False)
    return _listed(table.items(), options)


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
        # a pipe leads to programs, which expect UTF-8, whatever the locale says
        charset = out.encoding if out.isatty() else "utf-8"
        out.reconfigure(encoding=charset, errors="backslashreplace")
    remaining = iter(lines)
    try:
        while chunk := list(itertools.islice(remaining, _LINES_AT_ONCE)):
            out.write("\n".join([*chunk, ""]))
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


def _written(tree: Any, source: Source, options: Namespace) -> Report:
    """Write a tree: into its file, or in the requested format or that of the file.

    The comments and the layout of the file are kept. A JSON file that has `NaN` keeps
    it; nothing else is written with one.

    Raises:
        LossyEditError: The file cannot keep its comments and layout.
        ReadError: The source cannot be edited.
    """
    path, text, document, _ = source
    if options.in_place and path == "-":
        raise ReadError("-: the standard input cannot be written in place")
    if document.kind == "yaml" and "*" in text:
        tree_leaves(tree)  # raises if it contains itself; writers would not end
    kind = "json" if options.json else options.to or document.kind
    # --json is for scripts, most of which cannot read a NaN
    allow_nan = configs.read_write.has_nan(source) and not options.json
    if options.json or kind != document.kind:
        return Report([_dumped(tree, kind, allow_nan=allow_nan)])
    if options.reformat:
        new_document = document._replace(tree=tree)
        new_text = configs.formats.dump(new_document, allow_nan=allow_nan)
    else:
        try:
            new_text = configs.read_write.revised(source, tree)
        except configs.revision.RevisionError as error:
            raise LossyEditError(
                f"{path}: the comments and the layout cannot be kept: {error}; "
                "--reformat writes all of it without them"
            ) from error
    if options.in_place:
        configs.read_write.replace_source(source, new_text)
        return Report([])
    return Report([new_text.replace("\r\n", "\n").removesuffix("\n")])


def put(options: Namespace) -> Report:
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
        number = configs.formats.read_number(text, kind)  # written as it is typed
        if number is not None:
            return number
        if kind == "yaml" and text.startswith("!"):
            with contextlib.suppress(configs.formats.FormatError):
                return configs.formats.load(text, kind).tree
        return guess(text)

    overrides = Overrides(value_of, context_of(namespace=_NAMESPACE))
    return _written(overrides.apply(tree, options.changes), source, options)


def delete(options: Namespace) -> Report:
    """Print a file without the selected parts.

    Examples:
      leafwise delete train.yaml '**.debug' -i
    """
    (source,) = _read(options, edits=True)
    tree = _picked(options, source.document.tree).delete()
    return _written(tree, source, options)


def move(options: Namespace) -> Report:
    """Print a file with a part moved to another path.

    Examples:
      leafwise move train.yaml lr optim.lr -i
    """
    (source,) = _read(options, edits=True)
    (what,) = options.selectors
    tree = source.document.tree
    moved = selection.tree_move(tree, what, options.path, namespace=_NAMESPACE)
    return _written(moved, source, options)


def rename(options: Namespace) -> Report:
    """Print a file with the selected keys renamed.

    Examples:
      leafwise rename train.yaml '**.lr' learning_rate -i
    """
    (source,) = _read(options, edits=True)
    (what,) = options.selectors
    tree = source.document.tree
    renamed = selection.tree_rename(tree, what, options.name, namespace=_NAMESPACE)
    return _written(renamed, source, options)


def merge(options: Namespace) -> Report:
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

        def deleted_if_marked(leaf: Any) -> Any:
            is_mark = type(leaf) is type(mark) and leaf == mark
            return DELETE if is_mark else leaf

        trees = tree_map(deleted_if_marked, trees, namespace=_NAMESPACE)
    merged = selection.tree_merge(
        base.document.tree,
        *trees,
        lists=_lists(options.lists, "replace"),
        rules=_words_by_selector("--rule", options.rule),
    )
    tree = configs.formats.fitted(merged, base.document.kind)
    return _written(tree, base, options)


def _words_by_selector(option: str, texts: list[str]) -> dict[str, str]:
    """Return what stands after the last equal sign by what stands before it."""
    words = {}
    for text in texts:
        what, equals, word = text.rpartition("=")
        if not equals:
            raise ReadError(f"{option} {text!r} is not of the form SELECTOR=WORD")
        words[what] = word
    return words


def _lists(texts: list[str], default: str) -> str | dict[str, str]:
    """Return how lists are paired: by a word, or some of them by keys."""
    if len(texts) == 1 and "=" not in texts[0]:
        return texts[0]
    return _words_by_selector("--lists", texts) or default


# --------------------------------------------------------------------------- comparing


def diff(options: Namespace) -> Report:
    """Print the differences between two files; status 1 if there are any.

    Examples:
      leafwise diff base.yaml new.yaml --ignore seed
      leafwise diff pod.yaml new.yaml --lists '**.containers=name'
      leafwise diff old.npz new.npz --atol 1e-6
    """
    before, after = _read(options, written=not options.json)
    changes = selection.tree_diff(
        before.document.tree,
        after.document.tree,
        lists=_lists(options.lists, "align"),
        rtol=options.rtol,
        atol=options.atol,
        ignore=options.ignore or None,
        namespace=_NAMESPACE,
    )
    lines: Iterable[str] = changes.lines(color=options.color)
    if options.json:
        lines = [changes.to_json(indent=2)]
    return Report(lines, status=1 if changes else 0)
