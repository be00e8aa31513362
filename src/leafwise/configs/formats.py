"""Reading and writing nested data as JSON, TOML and YAML text.

YAML is read by the rules of YAML 1.2 where those of 1.1 surprise: `on`, `yes`, `no` and
`=` are text, `22:22` is text, `3e-4` is a number. ruamel.yaml and tomlkit are imported
only when they are needed.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, Final

from .._lazy import late_module
from .._runtime import late_imports
from .._text import short_repr
from ..core.serial import unique_keys
from ..ops.map import tree_leaves, tree_leaves_with_path, tree_map
from ..selection.patterns import place_text
from .documents import (
    Document,
    FormatError,
    Tagged,
    WrittenFloat,
    WrittenInt,
    as_written,
    no_form_error,
)


__all__ = ["Document", "FormatError", "Tagged", "dump", "load"]

SUFFIXES: Final = {
    ".json": "json",
    ".ipynb": "json",
    ".toml": "toml",
    ".lock": "toml",
    ".yaml": "yaml",
    ".yml": "yaml",
}
"""The formats by file extension."""


def load(text: str, kind: str, *, written: bool = False) -> Document:
    """Parse a JSON, TOML or YAML text.

    A duplicate key in a JSON object or a YAML mapping is an error. So are YAML keys
    that are equal in Python, such as `1` and `true`. A YAML value with a tag of its
    program, such as `!Ref Bucket`, is a `Tagged`.

    Args:
        text: The text.
        kind: `"json"`, `"toml"` or `"yaml"`.
        written: Whether numbers that Python would write in another way know their text:
            they are of subclasses of int and float whose `repr` is that text.

    Returns:
        The data, with its format.

    Raises:
        FormatError: The text is malformed, nested too deeply or has a duplicate key; or
            a required package is not installed.

    Example:
        >>> from leafwise.configs.formats import load
        >>> load('{"a": [1, null]}', "json").tree
        {'a': [1, None]}
        >>> load('{"a": 1, "a": 2}', "json")
        Traceback (most recent call last):
        ...
        leafwise.configs.documents.FormatError: duplicate key 'a'
    """
    try:
        return _READERS[kind](text, written)
    except RecursionError as error:
        raise FormatError("nested too deeply for its reader") from error
    except FormatError:
        raise
    except ValueError as error:
        raise FormatError(f"not valid {kind.upper()}: {error}") from error


def recognize(text: str, *, written: bool = False) -> Document:
    """Parse a text of unknown format: the first of JSON, TOML and YAML that reads it.

    Args:
        text: The text.
        written: See `load`.

    Raises:
        FormatError: None of them does, or YAML reads no more than a single string.

    Example:
        >>> from leafwise.configs.formats import recognize
        >>> recognize("a = 1").kind, recognize('{"a": 1}').kind
        ('toml', 'json')
    """
    # if YAML cannot read it either, the error is that of JSON, which was meant
    if text.lstrip()[:1] == "{":
        try:
            return load(text, "json", written=written)
        except FormatError as error:
            try:
                return load(text, "yaml", written=written)
            except FormatError:
                raise error from None
    if not re.fullmatch(r"(\s|#[^\n]*)*", text):
        for kind in ("json", "toml", "yaml"):
            try:
                document = load(text, kind, written=written)
            except FormatError:
                continue
            if kind != "yaml" or isinstance(document.tree, dict | list):
                return document
    raise FormatError("unknown format, expected json, toml or yaml")


def dump(document: Document, *, allow_nan: bool = False) -> str:
    r"""Return a tree as JSON, TOML or YAML text, with a newline at its end.

    Args:
        document: The tree and the format.
        allow_nan: Whether JSON may contain `NaN` and `Infinity`. Python's `json` reads
            and writes them, but most other parsers reject them.

    Raises:
        FormatError: The format cannot represent the tree, the tree is nested too
            deeply, or a required package is not installed.

    Example:
        >>> from leafwise.configs.formats import Document, dump
        >>> print(dump(Document({"a": [1, None]}, "json")), end="")
        {
          "a": [
            1,
            null
          ]
        }
    """
    kind = document.kind
    tree = fitted(document.tree, kind)
    try:
        written = document._replace(tree=tree)
        text = _WRITERS[kind](written, allow_nan)
        text.encode()  # no file has half a character
    except RecursionError as error:
        raise FormatError("nested too deeply for its writer") from error
    except FormatError:
        raise
    except (TypeError, ValueError) as error:
        reason = _misfit(tree, kind, allow_nan, str(error))
        raise FormatError(f"cannot be written as {kind.upper()}: {reason}") from error
    return text


def _misfit(
    tree: Any,
    kind: str,
    allow_nan: bool,
    reason: str,
) -> str:
    """Return why a tree cannot be written, with the first value that is at fault.

    Args:
        tree: The tree.
        kind: The format.
        allow_nan: See `dump`.
        reason: What the writer says, which is all if no single value is at fault.
    """
    for path, leaf in tree_leaves_with_path(tree, none_is_leaf=True):
        try:
            document = Document({"a": leaf}, kind)
            _WRITERS[kind](document, allow_nan).encode()
        except (TypeError, ValueError):
            place = f"the value at {place_text(path)}, {short_repr(leaf)}"
            return f"{place}: {reason}{_remedy(leaf)}"
    return reason


def _remedy(leaf: Any) -> str:
    """Return what to write in place of an array or a number of numpy."""
    if not hasattr(leaf, "dtype"):
        return ""
    is_number = getattr(leaf, "shape", ()) == ()
    method = "item" if is_number else "tolist"
    return f"; write its .{method}(), or the tree by leafwise.save"


# ------------------------------------------------------------- numbers as written


def read_number(text: str, kind: str) -> Any:
    """Return the number that a text is in a format, which knows its text, or None.

    Example:
        >>> from leafwise.configs.formats import read_number
        >>> int(read_number("0600", "yaml")), read_number("0600", "toml")
        (384, None)
    """
    if not re.fullmatch(r"[-+.\w]+", text, re.ASCII):
        return None
    try:
        tree = load(f"a = {text}" if kind == "toml" else text, kind).tree
    except FormatError:
        return None
    value = tree["a"] if kind == "toml" else tree
    if type(value) not in (int, float):
        return None
    return as_written(text, value)


def fitted(tree: Any, kind: str) -> Any:
    """Return a tree in which numbers know their text only if the format reads it."""

    def adapted(leaf: Any) -> Any:
        if not isinstance(leaf, WrittenInt | WrittenFloat):
            return leaf
        number = read_number(leaf.text, kind)
        is_read = type(number) is type(leaf) and number == leaf
        return leaf if is_read else leaf.plain(leaf)

    return tree_map(adapted, tree) if _has_spellings(tree) else tree


def without_spellings(tree: Any) -> Any:
    """Return a tree in which no number knows its text."""

    def plain(leaf: Any) -> Any:
        is_written = isinstance(leaf, WrittenInt | WrittenFloat)
        return leaf.plain(leaf) if is_written else leaf

    return tree_map(plain, tree) if _has_spellings(tree) else tree


def _has_spellings(tree: Any) -> bool:
    types = set(map(type, tree_leaves(tree)))
    return WrittenInt in types or WrittenFloat in types


# -------------------------------------------------------------------------------- JSON


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the dict of a JSON object, for `json.loads`.

    Raises:
        FormatError: It has a key twice.
    """
    try:
        return unique_keys(pairs)
    except ValueError as error:
        raise FormatError(str(error)) from None


def _written_int(text: str) -> Any:
    return as_written(text, int(text))


def _written_float(text: str) -> Any:
    return as_written(text, float(text))


def _read_json(text: str, written: bool) -> Document:
    numbers: dict[str, Any] = {}
    if written:
        # the C scanner calls no function for an int unless it has to: -0 and 1E3 are
        # the only spellings that JSON has beside those of Python
        numbers["parse_float"] = _written_float
        if re.search(r"-0(?![\d.eE])", text):
            numbers["parse_int"] = _written_int
    try:
        tree = json.loads(text, object_pairs_hook=unique, **numbers)
    except json.JSONDecodeError as error:
        if re.compile(r"\s*(//|/\*|#)").match(text, error.pos):
            line = text.count("\n", 0, error.pos) + 1
            raise FormatError(f"JSON has no comments: line {line}") from error
        raise
    return Document(tree, "json")


def _write_json(document: Document, allow_nan: bool) -> str:
    text = json.dumps(
        document.tree,
        allow_nan=allow_nan,
        indent=2,
        ensure_ascii=False,
        default=json_default,
    )
    json.loads(text, object_pairs_hook=unique)  # keys such as 1 and "1" are the same
    return re.sub("[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):04x}", text) + "\n"


def json_default(value: Any) -> str:
    """Return a date or time as text, for `json.dumps`.

    Args:
        value: What JSON has no form for.

    Raises:
        TypeError: It is neither a date nor a time.

    Example:
        >>> from datetime import date
        >>> from leafwise.configs.formats import json_default
        >>> json_default(date(2026, 11, 21))
        '2026-11-21'
    """
    datetime = sys.modules.get("datetime")  # loaded if there is a date at all
    if datetime is not None:
        is_date = isinstance(value, datetime.date | datetime.time)
        if is_date:
            return str(value.isoformat())
    if isinstance(value, Tagged):
        raise TypeError(f"JSON has no tag {value.tag}")
    raise no_form_error("json", value)


# -------------------------------------------------------------------------------- TOML


def _read_toml(text: str, written: bool) -> Document:
    with late_imports:
        import tomllib  # and with it datetime

    tree = tomllib.loads(text, parse_float=_written_float if written else float)
    if written and re.search(r"\d_\d|0[xob]|[+]\d", text) and find_spec("tomlkit"):
        tree = _with_ints(tree, toml_writer().parse(text))
    return Document(tree, "toml")


def _with_ints(value: Any, item: Any) -> Any:
    """Return a tree with ints that are written as in the document of tomlkit."""
    if type(value) is dict:
        return {key: _with_ints(below, item[key]) for key, below in value.items()}
    if type(value) is list:
        pairs = zip(value, item, strict=True)
        return [_with_ints(below, its_item) for below, its_item in pairs]
    if type(value) is not int:
        return value
    return as_written(item.as_string(), value)


def _write_toml(document: Document, _allow_nan: bool) -> str:
    return str(toml_writer().dumps(document.tree))


def toml_writer() -> Any:
    """Return the package that writes TOML.

    Raises:
        FormatError: It is missing.
    """
    try:
        return late_module("tomlkit")
    except ImportError as error:
        raise _missing("writing TOML", "tomlkit") from error


# -------------------------------------------------------------------------------- YAML


def _read_yaml(text: str, written: bool) -> Document:
    try:
        with late_imports:
            from .yaml_reader import read_yaml
    except ImportError as error:
        raise _missing("YAML", "ruamel.yaml") from error
    return read_yaml(text, written)


def _write_yaml(document: Document, _allow_nan: bool) -> str:
    try:
        with late_imports:
            from .yaml_reader import write_yaml
    except ImportError as error:
        raise _missing("YAML", "ruamel.yaml") from error
    return write_yaml(document)


def _missing(what: str, package: str) -> FormatError:
    return FormatError(
        f'{what} needs {package}, which is not installed: pip install "leafwise[files]"'
    )


_READERS: Final[dict[str, Callable[[str, bool], Document]]] = {
    "json": _read_json,
    "toml": _read_toml,
    "yaml": _read_yaml,
}
_WRITERS: Final[dict[str, Callable[[Document, bool], str]]] = {
    "json": _write_json,
    "toml": _write_toml,
    "yaml": _write_yaml,
}
