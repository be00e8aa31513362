"""The command line: nested config files shown, read, edited, compared, merged.

Owns its arguments, what each command does with them, and what can go wrong between it
and the outside: files that cannot be read, trees that would never end, pipes that were
closed. Files and pipes are read and written as UTF-8, whatever the locale; a terminal
gets its own encoding. Output is coloured as `--color` says, else as `NO_COLOR`,
`FORCE_COLOR` and the standard output do.

Status 0 for success, 1 if `diff` found differences, 2 for errors, as for diff(1).
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from io import TextIOWrapper
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from . import __version__, integrations, selection
from . import show as show_
from .core.keypath import KeyPath
from .core.keys import DictKey, SequenceKey
from .errors import LeafwiseError
from .ops.map import tree_leaves, tree_leaves_with_path, tree_map, tree_structure
from .ops.traversal import DELETE
from .paint import WHEN, Paint
from .safely import type_name


if TYPE_CHECKING:
    from .integrations.formats import Document
    from .selection.edit import Selection

__all__ = ["main"]

_MOST: Final = 20_000_000


class Unreadable(Exception):
    """A file cannot be read or written; the message is for the user."""


def read(path: str, kind: str | None = None) -> Document:
    """Read a file into plain containers.

    Args:
        path: The file; `-` for the standard input.
        kind: The format, if it is not the one of the extension.

    Returns:
        The content.

    Raises:
        Unreadable: The format is unknown, the file is missing or malformed, or its
            content is endless.
    """
    formats = integrations.formats
    kind = kind or formats.SUFFIXES.get(os.path.splitext(path)[1].lower())
    if kind is None:
        endings = ", ".join(formats.SUFFIXES)
        raise Unreadable(
            f"{path}: unknown format: use --format, or a file that ends in {endings}"
        )
    try:
        document = formats.load(_text_of(path), kind)
        _refuse_endless(document.tree)
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise Unreadable(f"{path}: not valid {kind.upper()}: {error}") from error
    except formats.FormatError as error:
        raise Unreadable(f"{path}: {error}") from error
    return document


def read_all(files: Sequence[str], kind: str | None = None) -> list[Document]:
    """Read several files, as `read` does.

    Args:
        files: Their paths; `-` for the standard input, at most once.
        kind: The format of all of them, if it is not the one of the extension.

    Returns:
        Their contents.

    Raises:
        Unreadable: One of them cannot be read, or `-` is given twice.
    """
    if files.count("-") > 1:
        raise Unreadable("-: the standard input can be read only once")
    return [read(path, kind) for path in files]


def _text_of(path: str) -> str:
    """Return the text of a file: UTF-8, or UTF-16 or UTF-32 if its bytes say so.

    Raises:
        Unreadable: There is no standard input.
        OSError: The file cannot be read.
        UnicodeDecodeError: It is not text.
    """
    if path != "-":
        with open(path, "rb") as file:
            return _decoded(file.read())
    if sys.stdin is None:
        raise Unreadable("-: there is no standard input")
    buffer = getattr(sys.stdin, "buffer", None)  # a StringIO has none
    return sys.stdin.read() if buffer is None else _decoded(buffer.read())


def _decoded(data: bytes) -> str:
    import json

    # A mark, or the zeros around an ASCII character: YAML 1.2 tells encodings apart as
    # JSON does. Windows PowerShell writes UTF-16 for a plain `>`.
    return data.decode(json.detect_encoding(data))


def _refuse_endless(tree: Any) -> None:
    """Refuse a tree that contains itself, or whose shared parts multiply.

    Raises:
        FormatError: It does; the message has the paths or the count.
    """
    sizes: dict[int, int] = {}
    stack: list[tuple[Any, bool]] = [(tree, False)]
    while stack:
        node, is_done = stack.pop()
        children = _below(node)
        if is_done:
            sizes[id(node)] = sum(sizes.get(id(child), 1) for child in children)
        elif children and id(node) not in sizes:
            sizes[id(node)] = 0  # until all below it is counted
            stack.append((node, True))
            stack += [(child, False) for child in children]
        elif sizes.get(id(node)) == 0:
            raise integrations.formats.FormatError(
                _told([n for n, is_above in stack if is_above], node)
            )
    if sizes.get(id(tree), 1) > _MOST:
        raise integrations.formats.FormatError(
            f"its anchors expand to {sizes[id(tree)]} values, which is too many"
        )


def _below(node: Any) -> Collection[Any]:
    if type(node) is dict:
        return node.values()
    return node if type(node) is list else ()


def _key_of(node: Any, child: Any) -> Any:
    """Return the key that a child has in a node."""
    if type(node) is list:
        return SequenceKey(next(place for place, x in enumerate(node) if x is child))
    return DictKey(next(key for key, x in node.items() if x is child))


def _told(above: Sequence[Any], again: Any) -> str:
    """Return where a tree contains itself: `again` is one of the nodes above."""
    path = [_key_of(node, child) for node, child in pairwise([*above, again])]
    depth = next(depth for depth, node in enumerate(above) if node is again)
    first, second = KeyPath(path[:depth]), KeyPath(path)
    kind = type_name(again)
    return f"it contains itself: the {kind} at {first.where()} is also at {second}"


def encoding() -> str:
    """Return the encoding of the output: that of a terminal, otherwise UTF-8."""
    out = sys.stdout
    charset = out.encoding if out is not None and out.isatty() else None
    return charset or "utf-8"


def write(lines: Iterable[str]) -> None:
    """Print lines; characters that the output cannot represent are escaped.

    Args:
        lines: The lines, without their ends.

    Raises:
        Unreadable: They cannot be written. A closed pipe is not an error.
    """
    out = sys.stdout
    if out is None:
        raise Unreadable("there is no standard output to write to")
    if isinstance(out, TextIOWrapper):
        out.reconfigure(encoding=encoding(), errors="backslashreplace")
    try:
        for line in lines:
            print(line)
        out.flush()
    except BrokenPipeError:
        _drop_output()
    except OSError as error:
        _drop_output()
        raise Unreadable(f"cannot write: {error.strerror or error}") from error


def _drop_output() -> None:
    """Discard what is still buffered, so that the interpreter exits without a word."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Report(NamedTuple):
    """The result of a command.

    Attributes:
        lines: Lines for the standard output.
        status: The exit status.
    """

    lines: Iterable[str]
    status: int = 0


# --------------------------------------------------------------------- texts


def _as_json(value: Any, *, allow_nan: bool = False) -> list[str]:
    """Return a value as JSON text that the output can represent."""
    formats = integrations.formats
    document = formats.Document(value, "json")
    text = formats.dump(document, encoding=encoding(), allow_nan=allow_nan)
    return [text.removesuffix("\n")]


def _short(value: Any) -> str:
    """Return a value as JSON in one line, or its `repr` if JSON has no form for it."""
    import json

    default = integrations.formats.json_default
    try:
        return json.dumps(value, ensure_ascii=False, default=default)
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
    tree = _tree(options)
    if form or (_is_terminal() and not options.json):
        return _drawn(_FORMS[form or "depth"], tree, options)
    rows = _rows(options, tree)
    if options.json:
        return Report(_as_json({str(path): value for path, value in rows}))
    return Report(_shown(tree, rows, Paint(options.color), bool(options.selectors)))


_FORMS: Final = {
    "summary": "tree_summary",
    "html": "to_html",
    "svg": "to_svg",
    "mermaid": "to_mermaid",
    "dot": "to_dot",
    "tree": "draw",
    "depth": "draw",
}
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
        more = {"width": _width(), "max_leaves": sys.maxsize, "color": color}
    elif name == "to_html":
        more = {"document": True}
    made = getattr(show_, name)(tree, depth=options.depth, none_is_leaf=True, **more)
    path = {"to_html": options.html, "to_svg": options.svg}.get(name, "-")
    if path != "-":
        return _saved(str(made), path)
    return Report(_encodable(str(made)).split("\n"))


def _is_terminal() -> bool:
    out = sys.stdout
    return out is not None and out.isatty()


def _width() -> int:
    """Return how long lines may be: as the terminal is wide; in a pipe, endless."""
    from shutil import get_terminal_size

    return get_terminal_size().columns if _is_terminal() else sys.maxsize


_BRANCHES: Final = "├└│─→…"
_PLAIN_BRANCHES: Final = str.maketrans(
    dict(zip(_BRANCHES, ("|", "`", "|", "-", "->", "..."), strict=True))
)


def _encodable(text: str) -> str:
    """Return a text with branches of ASCII, if the output has no others."""
    try:
        _BRANCHES.encode(encoding())
    except UnicodeError:
        return text.translate(_PLAIN_BRANCHES)
    return text


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
        yield _line(str(path), value, repr, paint)
    if is_part:
        return
    treedef = tree_structure(tree)
    counts = _count(len(rows), "leaf", "leaves"), _count(treedef.num_nodes, "node")
    yield paint(", ".join(counts), "dim")
    yield treedef._text(None)  # in one line


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
    chosen = selection.selector(options.selector)
    rows = selection.at(_tree(options), none_is_leaf=True)[chosen].items()
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
    table = selection.to_flat(_tree(options), options.sep, strict=False)
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
    formats = integrations.formats
    text = formats.dump(
        formats.Document(tree, kind, document.is_stream),
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
    return _written(
        selection.override(document.tree, options.changes), document, options
    )


def merge(options: argparse.Namespace) -> Report:
    """Print the deep merge of files; later ones win."""
    base, *overlays = read_all(options.files, options.format)
    trees = [document.tree for document in overlays]
    if options.delete is not None:
        from .selection.values import guess

        trees = [_with_marks(tree, guess(options.delete)) for tree in trees]
    rules = dict(_rule(text) for text in options.rule)
    merged = selection.tree_merge(
        base.tree,
        *trees,
        join=options.join,
        lists=_lists(options.lists, "replace"),
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


def _lists(given: list[str], default: str) -> str | dict[str, str]:
    """Return how lists are paired: by a word, or some of them by keys."""
    parts = [text.rpartition("=") for text in given]
    if all(what for what, _, _ in parts) and parts:
        return {what: key for what, _, key in parts}
    if len(parts) > 1:
        raise Unreadable("--lists takes one word, or nothing but SELECTOR=KEY")
    return given[0] if given else default


# --------------------------------------------------------------------------- comparing


def diff(options: argparse.Namespace) -> Report:
    """Print the differences between two files; status 1 if there are any."""
    first, second = read_all(options.files, options.format)
    found = selection.tree_diff(
        first.tree,
        second.tree,
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


# --------------------------------------------------------- the command line itself

_KINDS: Final = ("json", "toml", "yaml")
_ABOUT_ALL: Final = ("-h", "--help", "--version")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status.

    Args:
        arguments: The command line without the program; None for `sys.argv`.

    Returns:
        0, 1 if `diff` found differences, or 2 after an error.
    """
    command, given = _with_command(sys.argv[1:] if arguments is None else arguments)
    parser = _parser(command)
    options = parser.parse_args(given)
    _decode_options(options)
    try:
        report = COMMANDS[command].run(options)
        write(report.lines)
    except (Unreadable, LeafwiseError, ValueError) as error:
        _complain(f"{parser.prog}: {_in_one_line(error)}")
        return 2
    return report.status


def _with_command(given: Sequence[str]) -> tuple[str, list[str]]:
    """Return the command, and arguments with it: `show` if a file comes without one.

    Options of a command may stand before the file: `--format json -`.
    """
    words = (word for word in given if word == "-" or not word.startswith("-"))
    command = next(words, "")
    if command in COMMANDS or not given or given[0] in _ABOUT_ALL:
        return command, [*given]
    return "show", ["show", *given]


def _decode_options(options: argparse.Namespace) -> None:
    """Read arguments as UTF-8 where the locale, `LC_ALL=C` say, cannot.

    Files keep the name that the system knows.
    """
    for name, value in vars(options).items():
        if name in ("file", "files"):
            continue
        if isinstance(value, str):
            setattr(options, name, _as_utf8(value))
        elif isinstance(value, list):
            setattr(options, name, [*map(_as_utf8, value)])


def _as_utf8(text: str) -> str:
    try:
        return os.fsencode(text).decode() if not text.isascii() else text
    except UnicodeError:
        return text


def _complain(text: str) -> None:
    """Print a line on the standard error, if there is one to print on."""
    if sys.stderr is None:
        return  # print would use the standard output
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr, flush=True)


def _in_one_line(error: Exception) -> str:
    """Return an error as one line; a pattern with a caret below it as it is."""
    text = str(error)
    if not text.endswith("^"):
        text = " ".join(line.strip() for line in text.split("\n"))
    return text.encode("utf-8", "backslashreplace").decode()


# --------------------------------------------------------------------- arguments


def _parser(chosen: str) -> argparse.ArgumentParser:
    """Return a parser that knows all commands, and the arguments of a chosen one.

    Those of `merge` name words for which selections have to be loaded.
    """
    parser = argparse.ArgumentParser(
        prog="python -m leafwise" if _is_module() else "leafwise",
        description="Show, query, edit, compare and merge nested config files: JSON, "
        "TOML, and YAML if PyYAML is installed. - is the standard input. FILE without "
        "a command is shown.",
    )
    parser.add_argument("--version", action="version", version=__version__)
    parsers = parser.add_subparsers(
        prog=parser.prog, dest="command", required=True, metavar="COMMAND"
    )
    for name, command in COMMANDS.items():
        told = (command.run.__doc__ or "").rstrip(".")
        made = parsers.add_parser(name, help=told, description=f"{told}.")
        if name == chosen:
            _add_common(made)
            command.add_arguments(made)
    return parser


def _is_module() -> bool:
    return os.path.basename(sys.argv[0]) == "__main__.py"


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON, for scripts")
    parser.add_argument("--format", choices=_KINDS, help="the format of the files")
    parser.add_argument("--color", choices=WHEN, default="auto")


def _of_selectors(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("selectors", nargs="*", metavar="SELECTOR")


def _of_show(parser: argparse.ArgumentParser) -> None:
    _of_selectors(parser)
    parser.add_argument(
        "--select", action="append", default=[], metavar="SELECTOR",
        help="show this part only, as SELECTOR does",
    )  # fmt: skip
    parser.add_argument("--depth", type=_levels, help="draw so many levels")
    forms = parser.add_mutually_exclusive_group()
    for name, told in (
        ("tree", "draw, even into a pipe"),
        ("summary", "print a table of shapes, counts and bytes"),
        ("mermaid", "print a flowchart"),
        ("dot", "print Graphviz's DOT"),
    ):
        forms.add_argument(f"--{name}", action="store_const", const=True, help=told)
    forms.add_argument("--svg", metavar="FILE", help="write a picture")
    forms.add_argument("--html", metavar="FILE", help="write a page that folds")


def _levels(text: str) -> int:
    if text.isascii() and text.isdigit():
        return int(text)
    raise argparse.ArgumentTypeError(f"not a number of levels: {text!r}")


def _of_get(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE")
    parser.add_argument(
        "selector", metavar="SELECTOR", help="such as 'jobs.*.steps[0]'"
    )


def _of_set(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE")
    parser.add_argument(
        "changes", nargs="+", metavar="CHANGE", help="such as optim.lr=1"
    )
    parser.add_argument("--to", choices=_KINDS, help="the format of the output")


def _add_lists(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    parser.add_argument(
        "--lists", action="append", default=[], metavar="HOW",
        help=f"{', '.join(words)}, or SELECTOR=KEY: items are paired by what they have "
        "at this key, as by '**.containers=name'",
    )  # fmt: skip


def _of_diff(parser: argparse.ArgumentParser) -> None:
    from .selection.align import LISTS

    parser.add_argument("files", nargs=2, metavar="FILE")
    _add_lists(parser, LISTS)
    parser.add_argument("--rtol", type=float, default=0.0, help="relative tolerance")
    parser.add_argument("--atol", type=float, default=0.0, help="absolute tolerance")
    parser.add_argument(
        "--ignore", action="append", default=[], metavar="SELECTOR", help="leave out"
    )


def _of_merge(parser: argparse.ArgumentParser) -> None:
    from .selection.policy import CONFLICTS, JOINS, LISTS

    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--join", choices=JOINS, default="outer")
    _add_lists(parser, LISTS)
    parser.add_argument("--conflict", choices=CONFLICTS, default="overlay")
    parser.add_argument("--delete", metavar="VALUE", help="what deletes, such as null")
    parser.add_argument(
        "--rule", action="append", default=[], metavar="SELECTOR=WORD",
        help="one of these words for the selected part, such as '**.tags=extend'",
    )  # fmt: skip
    parser.add_argument("--to", choices=_KINDS, help="the format of the output")


def _of_flat(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("--sep", default=".", help="separator between names")


class Command(NamedTuple):
    """A command.

    Attributes:
        run: Takes the options; its docstring says in one line what it does.
        add_arguments: Adds to a parser the arguments that it has beside common ones.
    """

    run: Callable[[argparse.Namespace], Report]
    add_arguments: Callable[[argparse.ArgumentParser], None]


COMMANDS: Final[dict[str, Command]] = {
    "show": Command(show, _of_show),
    "paths": Command(paths, _of_selectors),
    "get": Command(get, _of_get),
    "set": Command(put, _of_set),
    "diff": Command(diff, _of_diff),
    "merge": Command(merge, _of_merge),
    "flat": Command(flat, _of_flat),
}
