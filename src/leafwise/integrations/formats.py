"""Nested data as text: JSON, TOML and YAML, read and written.

Owns what is particular to each format. YAML is read as YAML 1.2 wants it where 1.1
surprises: `on`, `yes` and `no` are text, `22:22` is text, `3e-4` is a number. PyYAML
and tomli-w are asked for only when they are needed.
"""

from __future__ import annotations

import importlib
import json
import re
import tomllib
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from ..core.auxdata import clip
from ..core.safely import type_name
from ..ops.paths import tree_leaves_with_path


__all__ = ["SUFFIXES", "Document", "FormatError", "dump", "load"]

SUFFIXES: Final = {".json": "json", ".toml": "toml", ".yaml": "yaml", ".yml": "yaml"}
"""The formats by the endings of files."""

_DEEPEST: Final = 500


class FormatError(ValueError):
    """A text is not of its format, or a tree cannot be written in one."""


class Document(NamedTuple):
    """What was read.

    Attributes:
        tree: The data; a list of them if the text was a YAML stream of several.
        kind: The format, `"json"`, `"toml"` or `"yaml"`.
        is_stream: Whether it was a stream of several.
    """

    tree: Any
    kind: str
    is_stream: bool = False


def load(text: str, kind: str) -> Document:
    """Read a text.

    Args:
        text: The text.
        kind: `"json"`, `"toml"` or `"yaml"`.

    Raises:
        FormatError: It is not of the format or nested too deeply, or a package is
            missing.

    Example:
        >>> from leafwise.integrations.formats import load
        >>> load('{"a": [1, null]}', "json").tree
        {'a': [1, None]}
    """
    try:
        return _READERS[kind](text)
    except RecursionError as error:
        raise FormatError("nested too deeply for its reader") from error
    except FormatError:
        raise
    except ValueError as error:
        raise FormatError(f"not valid {kind.upper()}: {error}") from error


def dump(document: Document) -> str:
    """Write a tree as text, with a newline at its end.

    Args:
        document: The tree and the format.

    Raises:
        FormatError: The format has no form for the tree, or a package is missing.

    Example:
        >>> from leafwise.integrations.formats import Document, dump
        >>> print(dump(Document({"a": [1, None]}, "json")), end="")
        {
          "a": [
            1,
            null
          ]
        }
    """
    try:
        return _WRITERS[document.kind](document)
    except RecursionError as error:
        raise FormatError("nested too deeply for its writer") from error
    except (TypeError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        kind = document.kind.upper()
        raise FormatError(f"{kind} has no form for it: {error}") from error


def _need(module: str, package: str, kind: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise FormatError(
            f"{kind} needs {package}, which is not installed: "
            'pip install "leafwise[files]"'
        ) from error


# -------------------------------------------------------------------------------- JSON


def _read_json(text: str) -> Document:
    return Document(json.loads(text), "json")


def _write_json(document: Document) -> str:
    text = json.dumps(document.tree, indent=2, ensure_ascii=False, default=_as_text)
    return f"{text}\n"


def _as_text(value: Any) -> str:
    """Return a date, time or the like as JSON has it.

    Raises:
        TypeError: It is none.
    """
    if hasattr(value, "isoformat"):
        return str(value.isoformat())
    raise TypeError(f"{clip(value)} is a {type_name(value)}")


# -------------------------------------------------------------------------------- TOML


def _read_toml(text: str) -> Document:
    return Document(tomllib.loads(text), "toml")


def _write_toml(document: Document) -> str:
    writer = _need("tomli_w", "tomli-w", "writing TOML")
    if not isinstance(document.tree, dict):
        raise TypeError("the root of a TOML file is a table")
    for path, leaf in tree_leaves_with_path(document.tree, none_is_leaf=True):
        if leaf is None:
            raise TypeError(f"it has no null, and there is one at {path}")
    return str(writer.dumps(document.tree))


# -------------------------------------------------------------------------------- YAML

_BOOL: Final = r"true|True|TRUE|false|False|FALSE"
_INT: Final = r"[-+]?(0b[01_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|0|[1-9][0-9_]*)"
_FLOAT: Final = (
    r"[-+]?(\.[0-9]+|[0-9]+\.[0-9]*)([eE][-+]?[0-9]+)?|[-+]?[0-9]+[eE][-+]?[0-9]+"
    r"|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
)
_SCALARS: Final = {
    "bool": (_BOOL, "tTfF"),
    "int": (_INT, "-+0123456789"),
    "float": (_FLOAT, "-+.0123456789"),
}


def _read_yaml(text: str) -> Document:
    yaml = _need("yaml", "PyYAML", "YAML")
    base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        _refuse_deep(yaml, text, base)
        documents = [*yaml.load_all(text, Loader=_loader(base))]
    except yaml.YAMLError as error:
        raise FormatError(f"not valid YAML: {_told(error)}") from error
    if len(documents) == 1:
        return Document(documents[0], "yaml")
    return Document(documents or None, "yaml", bool(documents))


def _told(error: Any) -> str:
    """Return what is wrong in a YAML text, with the place."""
    mark, problem = (
        getattr(error, "problem_mark", None),
        getattr(error, "problem", None),
    )
    if mark is None or problem is None:
        return str(error)
    return f"line {mark.line + 1}, column {mark.column + 1}: {problem}"


def _refuse_deep(yaml: Any, text: str, loader: Any) -> None:
    """Refuse what would need more of the stack than there is: the reader recurses.

    Raises:
        FormatError: It is nested too deeply.
    """
    depth = 0
    for event in yaml.parse(text, Loader=loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _DEEPEST:
                raise FormatError("nested too deeply for its reader")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _loader(base: Any) -> Any:
    """Return a loader class that reads plain scalars as YAML 1.2 does."""
    loader: Any = type("Loader", (base,), {})
    loader.yaml_implicit_resolvers = {
        first: [pair for pair in pairs if pair[0].rpartition(":")[2] not in _SCALARS]
        for first, pairs in base.yaml_implicit_resolvers.items()
    }
    _add_scalars(loader)
    return loader


def _add_scalars(cls: Any) -> None:
    for name, (pattern, first) in _SCALARS.items():
        whole = re.compile(rf"(?:{pattern})\Z")
        cls.add_implicit_resolver(f"tag:yaml.org,2002:{name}", whole, [*first])


def _write_yaml(document: Document) -> str:
    yaml = _need("yaml", "PyYAML", "YAML")
    dumper: Any = type("Dumper", (yaml.SafeDumper,), {})
    _add_scalars(dumper)  # beside those of YAML 1.1: what either reads is quoted
    dumper.add_representer(str, _represent_text)
    options = {"Dumper": dumper, "sort_keys": False, "allow_unicode": True}
    try:
        if document.is_stream:
            return str(yaml.dump_all(document.tree, explicit_start=True, **options))
        text = str(yaml.dump(document.tree, **options))
        return text.removesuffix("...\n")
    except yaml.YAMLError as error:
        raise FormatError(f"YAML has no form for it: {error}") from error


def _represent_text(dumper: Any, text: str) -> Any:
    """Return a text as a scalar, one of several lines as a block."""
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style)


_READERS: Final[dict[str, Callable[[str], Document]]] = {
    "json": _read_json,
    "toml": _read_toml,
    "yaml": _read_yaml,
}
_WRITERS: Final[dict[str, Callable[[Document], str]]] = {
    "json": _write_json,
    "toml": _write_toml,
    "yaml": _write_yaml,
}
