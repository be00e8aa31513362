"""Config files: read into plain data, and written so that comments and layout stay."""

from __future__ import annotations

import collections
import json
import os
from typing import Any, Final, NamedTuple

from .. import files
from .._hooks import hooks
from .._runtime import late_imports
from .._text import escape_controls
from ..errors import FileError
from ..files.atomic import decoded_path
from . import formats
from .documents import Document, FormatError, RevisionError


__all__ = ["read", "write"]

KINDS: Final = ("json", "toml", "yaml")
"""The formats."""
OF_ARRAYS: Final = (".npz", ".safetensors")
"""The file extensions of what `leafwise.load` reads instead."""


class Source(NamedTuple):
    """A config file that was read.

    Attributes:
        path: The file.
        text: Its text, without a byte order mark.
        document: The content.
        charset: The encoding, which writes the byte order mark, too.
    """

    path: str
    text: str
    document: Document
    charset: str


# What was read is plain data, which cannot carry the name of its file. So that errors
# can name it, the last files are kept here. They are few and small: data that nobody
# else uses any more stays in memory until other files are read.
_recent: Final[collections.deque[Source]] = collections.deque(maxlen=16)
_LONGEST_RECENT: Final = 50_000


def file_of(value: Any) -> str | None:
    """Return the file that a dict or list was read from, None if that is unknown.

    Only the last files are known, and only small ones.
    """
    for source in list(_recent):
        if _has_node(source.document.tree, value):
            return source.path
    return None


def _has_node(tree: Any, value: Any) -> bool:
    """Return whether a value is one of the dicts and lists of a tree."""
    nodes = [tree]
    visited: set[int] = set()  # aliases of YAML lead to a node by many paths
    while nodes:
        node = nodes.pop()
        if not isinstance(node, dict | list) or id(node) in visited:
            continue
        if node is value:
            return True
        visited.add(id(node))
        nodes += node.values() if isinstance(node, dict) else node
    return False


hooks.file_of = file_of


def read(path: str | bytes | os.PathLike[Any], *, format: str | None = None) -> Any:
    r"""Read a YAML, TOML or JSON file into dicts, lists and scalars.

    `load` is for trees that `save` wrote, and for files of arrays.

    Args:
        path: The file. Its text is UTF-8, unless it begins with a byte order mark.
        format: `"yaml"`, `"toml"` or `"json"`; the extension of the name if None.

    Returns:
        The data; for a YAML stream of several documents, a list of them. Scalars follow
        the rules of YAML 1.2, except that `0644` is an octal number. A YAML value with
        a tag of its program, such as `!Ref Bucket`, is a `leafwise.configs.Tagged`.

    Raises:
        FileError: The format is unknown, the text is malformed or has a duplicate key,
            or a required package is not installed.
        OSError: The file cannot be read.

    Example:
        >>> import leafwise as lw
        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     name = os.path.join(folder, "train.yaml")
        ...     with lw.files.replace_file(name, text=True) as file:
        ...         _ = file.write("optim: {lr: 3e-4}\nsteps: 1_000  # a day\n")
        ...     lw.read(name)
        {'optim': {'lr': 0.0003}, 'steps': 1000}
    """
    name = os.fsdecode(path)
    kind = _kind_of(name, format)
    try:
        source = read_source(name, kind)
    except FormatError as error:
        message = f"{escape_controls(name)}: {error}"
        raise FileError(message) from _outer_cause(error)
    if len(source.text) <= _LONGEST_RECENT:
        _recent.appendleft(source)
    return source.document.tree


def write(
    path: str | bytes | os.PathLike[Any],
    tree: Any,
    *,
    format: str | None = None,
    keep: bool = True,
) -> None:
    r"""Write dicts, lists and scalars into a YAML, TOML or JSON file.

    If the file exists, only the lines change whose values change: comments, order,
    quotes and indentation stay. The new text is parsed before it replaces the file. If
    it does not have exactly the values of the tree, or if a comment would be lost,
    nothing is written.

    `save` is for trees with arrays, tuples and objects.

    Args:
        path: The file, which is replaced atomically.
        tree: The data. Tuples are written as lists.
        format: `"yaml"`, `"toml"` or `"json"`; the extension of the name if None.
        keep: Whether to keep the comments and the layout of a file that exists. If
            False, the file is written anew.

    Raises:
        FileError: The format is unknown or cannot represent the tree; or the comments
            and the layout cannot be kept, and the message says why.
        TypeError: `path` is not a path; the message says if the arguments are swapped.
        OSError: The file cannot be read or written.

    Example:
        >>> import leafwise as lw
        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     name = os.path.join(folder, "train.yaml")
        ...     with lw.files.replace_file(name, text=True) as file:
        ...         _ = file.write("optim: {lr: 3e-4}  # found by hand\nsteps: 1_000\n")
        ...     config = lw.override(lw.read(name), ["optim.lr=0.001", "+seed=7"])
        ...     lw.write(name, config)
        ...     with open(name) as file:
        ...         print(file.read(), end="")
        optim: {lr: 0.001}  # found by hand
        steps: 1_000
        seed: 7
    """
    name = decoded_path(path, tree, "write(path, tree)")
    kind = _kind_of(name, format)
    try:
        if keep and os.path.exists(name):
            source = read_source(name, kind)
            # The tree as the file will have it: tuples are lists, and in JSON dates
            # are strings.
            nan = has_nan(source)
            document = source.document._replace(tree=tree)
            text = formats.dump(document, allow_nan=nan)
            new = formats.load(text, kind).tree
            replace_source(source, revised(source, new))
            return
        text = formats.dump(Document(tree, kind))
    except RevisionError as error:
        raise FileError(
            f"{escape_controls(name)}: not written: {error}; keep=False writes it "
            "anew, without comments"
        ) from None
    except FormatError as error:
        message = f"{escape_controls(name)}: {error}"
        raise FileError(message) from _outer_cause(error)
    with files.replace_file(name, text=True) as file:
        file.write(text)


def _outer_cause(error: FormatError) -> BaseException | None:
    """Return the failure of the system or of an import behind an error, if it is one.

    The message of a `FormatError` has all that a parser or a writer says, and their
    frames would only hide it. Why a package is not imported is in the cause alone.
    """
    cause = error.__cause__
    return cause if isinstance(cause, OSError | ImportError) else None


def _kind_of(name: str, format: str | None) -> str:
    """Return the format of a file by its name, or the one that was asked for."""
    _, suffix = os.path.splitext(name)
    kind = format or formats.SUFFIXES.get(suffix.lower())
    if kind not in KINDS:
        hint = ""
        if name.endswith(OF_ARRAYS):
            hint = "; leafwise.load and leafwise.save are for files of arrays"
        raise FileError(
            f"{escape_controls(name)}: unknown format, expected json, toml or yaml"
            f"{hint}"
        )
    return kind


def read_source(path: str, kind: str, *, written: bool = False) -> Source:
    """Read a file of a known format.

    Args:
        path: The file.
        kind: Its format.
        written: See `formats.load`.

    Raises:
        FormatError: It is malformed.
        OSError: It cannot be read.
    """
    with open(path, "rb") as file:
        data = file.read()
    return source_of(path, data, kind, written=written)


def source_of(
    path: str,
    data: bytes,
    kind: str | None,
    *,
    written: bool = False,
) -> Source:
    """Parse the content of a file.

    A mark, or the zeros around an ASCII character, tell the encoding: YAML 1.2 tells
    them apart as JSON does. Windows PowerShell writes UTF-16 for a plain `>`.

    Args:
        path: The file.
        data: Its content.
        kind: Its format; None to recognize it.
        written: See `formats.load`.

    Raises:
        FormatError: It is malformed.
    """
    charset = json.detect_encoding(data)
    try:
        text = data.decode(charset)
    except UnicodeDecodeError as error:
        name = f"valid {kind.upper()}" if kind else "text"
        raise FormatError(f"not {name}: {error}") from error
    if kind is None:
        document = formats.recognize(text, written=written)
    else:
        document = formats.load(text, kind, written=written)
    return Source(path, text, document, charset)


def has_nan(source: Source) -> bool:
    """Return whether a file has values that JSON lacks, and may be given more."""
    if source.document.kind != "json":
        return False
    return "NaN" in source.text or "Infinity" in source.text


def revised(source: Source, tree: Any) -> str:
    """Return the text of a file with the values of another tree.

    Raises:
        RevisionError: The comments and the layout cannot be kept.
        FormatError: The format cannot represent the tree.
    """
    with late_imports:
        from .revision import revise

    return revise(source.text, source.document, tree, allow_nan=has_nan(source))


def replace_source(source: Source, text: str) -> None:
    """Write a file again in its encoding, unless its text is the same.

    Raises:
        OSError: It cannot be written.
    """
    if text != source.text:
        with files.replace_file(source.path) as file:
            file.write(text.encode(source.charset))
