"""Reading and writing nested data as JSON, TOML and YAML.

Owns what is specific to each format: the values that it cannot represent, its escapes,
and the keys that collide. YAML is read by the rules of YAML 1.2 where those of 1.1
surprise: `on`, `yes`, `no` and `=` are text, `22:22` is text, `3e-4` is a number.
ruamel.yaml and tomlkit are imported only when they are needed.
"""

from __future__ import annotations

import codecs
import importlib
import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib.util import find_spec
from io import StringIO
from typing import Any, ClassVar, Final, NamedTuple

from ..core.keypath import KeyPath
from ..core.keys import DictKey, SequenceKey
from ..errors import FileError
from ..ops.map import tree_leaves, tree_map
from ..safely import clip, printable, type_name


__all__ = [
    "OF_ARRAYS",
    "SUFFIXES",
    "Document",
    "FormatError",
    "decoded",
    "dump",
    "fits",
    "json_default",
    "load",
    "read",
]

SUFFIXES: Final = {".json": "json", ".toml": "toml", ".yaml": "yaml", ".yml": "yaml"}
"""The formats by file extension."""
OF_ARRAYS: Final = (".npz", ".safetensors")
"""The file extensions of what `leafwise.load` reads instead."""

_DEEPEST: Final = 500
_MOST_BROUGHT: Final = 1_000_000


_MARKS: Final = (  # longer ones before those that they begin with
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (codecs.BOM_UTF8, "utf-8"),
)
"""Byte order marks, and the encodings that they announce."""


class FormatError(ValueError):
    """A text is malformed, or a format cannot represent a tree.

    Example:
        >>> from leafwise.io.formats import FormatError, load
        >>> try:
        ...     load('{"a": 1, "a": 2}', "json")
        ... except FormatError as error:
        ...     print(error)
        line 1, column 10: duplicate key 'a', first on line 1
    """


class Document(NamedTuple):
    """The parsed content of a file, with its format.

    Attributes:
        tree: The data; for a YAML stream of several documents, a list of them.
        kind: The format: `"json"`, `"toml"` or `"yaml"`.
        is_stream: Whether the file is a YAML stream of several documents.

    Example:
        >>> from leafwise.io.formats import load
        >>> load('{"lr": 0.1}', "json")
        Document(tree={'lr': 0.1}, kind='json', is_stream=False)
    """

    tree: Any
    kind: str
    is_stream: bool = False


class WrittenInt(int):
    """An int from a text that writes it in another way than Python: `0644`, `0x1F`."""

    plain: ClassVar = int
    text: str

    def __repr__(self) -> str:
        return self.text


class WrittenFloat(float):
    """A float from a text that writes it in another way than Python: `1e3`, `1.20`."""

    plain: ClassVar = float
    text: str
    __repr__ = WrittenInt.__repr__


class _QuotedText(str):
    """A text that YAML is to write in quotes."""

    __slots__ = ("quote",)
    quote: str


def quoted(value: Any, quote: str) -> Any:
    """Return a value; if it is a text of one line, YAML writes it in this quote."""
    if type(value) is not str or "\n" in value or quote not in ("'", '"'):
        return value
    made = _QuotedText(value)
    made.quote = quote
    return made


def as_written(text: str, value: Any) -> Any:
    """Return a number that knows its text, or the value if its `repr` is that text."""
    is_long = type(value) is int and value.bit_length() > 2000  # Python may refuse it
    if type(value) not in (int, float) or is_long or repr(value) == text:
        return value
    made: Any = (WrittenInt if type(value) is int else WrittenFloat)(value)
    made.text = text
    return made


def read_number(text: str, kind: str) -> Any:
    """Return the number that a text is in a format, which knows its text, or None.

    Example:
        >>> from leafwise.io.formats import read_number
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
    return as_written(text, value) if type(value) in (int, float) else None


def fitted(tree: Any, kind: str) -> Any:
    """Return a tree in which numbers know their text only if the format reads it."""

    def adapted(leaf: Any) -> Any:
        if not isinstance(leaf, WrittenInt | WrittenFloat):
            return leaf
        found = read_number(leaf.text, kind)
        is_read = type(found) is type(leaf) and found == leaf
        return leaf if is_read else leaf.plain(leaf)

    if any(isinstance(leaf, WrittenInt | WrittenFloat) for leaf in tree_leaves(tree)):
        return tree_map(adapted, tree)
    return tree


class _How(NamedTuple):
    """How to write: see `dump`."""

    encoding: str
    allow_nan: bool


def read(path: str | bytes | os.PathLike[Any], *, format: str | None = None) -> Any:
    r"""Read a YAML, TOML or JSON file into dicts, lists and scalars.

    `load` is for trees that `save` wrote, and for files of arrays.

    Args:
        path: The file. Its text is UTF-8, unless it begins with a byte order mark.
        format: `"yaml"`, `"toml"` or `"json"`; the extension of the name if None.

    Returns:
        The data; for a YAML stream of several documents, a list of them. Scalars follow
        the rules of YAML 1.2, except that `0644` is an octal number.

    Raises:
        FileError: The format is unknown, the text is malformed or has a duplicate key,
            or a required package is not installed.
        OSError: The file cannot be read.

    Example:
        >>> import leafwise as lw
        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     name = os.path.join(folder, "train.yaml")
        ...     with lw.io.replace_file(name, text=True) as file:
        ...         _ = file.write("optim: {lr: 3e-4}\nsteps: 1_000  # a day\n")
        ...     lw.read(name)
        {'optim': {'lr': 0.0003}, 'steps': 1000}
    """
    given = os.fsdecode(path)
    kind = format or SUFFIXES.get(os.path.splitext(given)[1].lower())
    if kind not in _READERS:
        *most, last = sorted({*SUFFIXES.values()})
        hint = "; use leafwise.load" if given.endswith(OF_ARRAYS) else ""
        raise FileError(
            f"{printable(given)}: unknown format, expected {', '.join(most)} or {last}"
            f"{hint}"
        )
    with open(given, "rb") as file:
        data = file.read()
    try:
        return load(decoded(data)[0], kind).tree
    except (FormatError, UnicodeDecodeError) as error:
        raise FileError(f"{printable(given)}: {error}") from error


def decoded(data: bytes) -> tuple[str, bytes, str]:
    """Return the text of a file, its byte order mark, and its encoding.

    A mark, or the zeros around an ASCII character, tell the encoding: YAML 1.2 tells
    them apart as JSON does. Windows PowerShell writes UTF-16 for a plain `>`.

    Args:
        data: The content of the file.

    Raises:
        UnicodeDecodeError: It is not text.
    """
    for mark, charset in _MARKS:
        if data.startswith(mark):
            return data.removeprefix(mark).decode(charset), mark, charset
    found: str = json.detect_encoding(data)
    return data.decode(found), b"", found


def load(text: str, kind: str, *, written: bool = False) -> Document:
    """Parse a JSON, TOML or YAML text.

    A duplicate key in a JSON object or a YAML mapping is an error. So are YAML keys
    that are equal in Python, such as `1` and `true`.

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
        >>> from leafwise.io.formats import load
        >>> load('{"a": [1, null]}', "json").tree
        {'a': [1, None]}
        >>> load('{"a": 1, "a": 2}', "json")
        Traceback (most recent call last):
        ...
        leafwise.io.formats.FormatError: line 1, column 10: duplicate key \
'a', first on line 1
    """
    try:
        return _READERS[kind](text, written)
    except RecursionError as error:
        raise FormatError("nested too deeply for its reader") from error
    except FormatError:
        raise
    except ValueError as error:
        raise FormatError(f"not valid {kind.upper()}: {error}") from error


def dump(
    document: Document, *, encoding: str = "utf-8", allow_nan: bool = False
) -> str:
    r"""Return a tree as JSON, TOML or YAML text, with a newline at its end.

    Args:
        document: The tree and the format.
        encoding: The encoding in which you will write the text. Characters that it
            lacks become escapes of the format.
        allow_nan: Whether JSON may contain `NaN` and `Infinity`. Python's `json` reads
            and writes them, but most other parsers reject them.

    Returns:
        The text; the encoding can represent all of it.

    Raises:
        FormatError: The format cannot represent the tree, the tree is nested too
            deeply, or a required package is not installed.

    Example:
        >>> from leafwise.io.formats import Document, dump
        >>> print(dump(Document({"a": [1, None]}, "json")), end="")
        {
          "a": [
            1,
            null
          ]
        }
        >>> print(dump(Document({"name": "Zoë"}, "yaml"), encoding="ascii"), end="")
        name: "Zo\xEB"
    """
    how = _How(encoding, allow_nan)
    try:
        document = document._replace(tree=fitted(document.tree, document.kind))
        return _WRITERS[document.kind](document, how)
    except RecursionError as error:
        raise FormatError("nested too deeply for its writer") from error
    except FormatError:
        raise
    except (TypeError, ValueError) as error:
        reason = _misfit(document, how) or str(error)
        raise FormatError(
            f"cannot be written as {document.kind.upper()}: {reason}"
        ) from error


def _need(module: str, package: str, kind: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise FormatError(
            f"{kind} needs {package}, which is not installed: "
            'pip install "leafwise[files]"'
        ) from error


# ---------------------------------------------------- what a format cannot represent


def _nodes(tree: Any) -> Iterator[tuple[tuple[Any, ...], Any, bool]]:
    """Yield the paths of all keys and values, and whether it is a key."""
    stack: list[tuple[tuple[Any, ...], Any]] = [((), tree)]
    seen: set[int] = set()
    while stack:
        path, node = stack.pop()
        yield path, node, False
        if not isinstance(node, dict | list | tuple) or id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, dict):
            below = [((*path, DictKey(name)), child) for name, child in node.items()]
            yield from ((place, place[-1].key, True) for place, _ in below)
        else:
            below = [((*path, SequenceKey(n)), child) for n, child in enumerate(node)]
        stack += reversed(below)


def _misfit(document: Document, how: _How) -> str | None:
    """Return which key or value a format cannot represent; None if none is known."""
    datetime = importlib.import_module("datetime")
    date, time = datetime.date, datetime.time
    kind, scalars, null = document.kind, (str, int, float), type(None)
    keys = {"json": (*scalars, null), "toml": (str,), "yaml": (object,)}[kind]
    values = {"json": (*scalars, null, date, time), "toml": (*scalars, date, time),
              "yaml": (*scalars, null, date, bytes, set)}[kind]  # fmt: skip
    for path, part, is_key in _nodes(document.tree):
        if isinstance(part, dict | list | tuple) and not is_key:
            continue
        wrong = "" if isinstance(part, keys if is_key else values) else f"is {_a(part)}"
        if isinstance(part, float) and kind == "json" and not how.allow_nan:
            wrong = "" if math.isfinite(part) else f"is {_a(part)}"
        try:
            str(part).encode() if isinstance(part, str | int) else b""
        except UnicodeError:
            wrong = "has a lone surrogate"
        except ValueError as error:
            wrong = wrong or f"is too long: {error}"
        if wrong:
            place = KeyPath(path).where()
            return f"the {'key' if is_key else 'value'} at {place} {wrong}"
    return None


def _a(value: Any) -> str:
    """Return what a value is, in the words of a message."""
    if value is None or isinstance(value, float):
        return "null" if value is None else repr(value)
    name = type_name(value)
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}, {clip(value)}"


def fits(text: str, encoding: str) -> bool:
    """Return whether an encoding can represent a text.

    Args:
        text: The text.
        encoding: The name of the encoding.
    """
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def _escaped(text: str, encoding: str, escape: Callable[[str], str]) -> str:
    """Return a text with escapes for what an encoding lacks.

    In JSON and TOML only what stands between double quotes can be beyond ASCII, so an
    escape is right wherever it is needed.
    """

    def shown(match: re.Match[str]) -> str:
        return match[0] if fits(match[0], encoding) else escape(match[0])

    return text if fits(text, encoding) else re.sub(r"[^\x00-\x7f]", shown, text)


# -------------------------------------------------------------------- duplicate keys


def _duplicate(key: str, line: int, column: int, first: int) -> FormatError:
    return FormatError(
        f"line {line}, column {column}: duplicate key {clip(key)}, first on line "
        f"{first}"
    )


_JSON_TOKEN: Final = re.compile(r'("[^"\\]*(?:\\.[^"\\]*)*")([ \t\r\n]*:)?|[{}\[\]]')


def _find_duplicate(text: str) -> FormatError:
    """Return the error about the first duplicate key in a JSON text that has one."""
    objects: list[dict[str, int]] = []
    for token in _JSON_TOKEN.finditer(text):
        if token[0] in "{[":
            objects.append({})
        elif token[0] in "}]":
            objects.pop()
        elif token[2]:
            key, start = json.loads(token[1]), token.start()
            first = objects[-1].setdefault(key, start)
            if first != start:
                return _duplicate(key, *_mark(text, start), _mark(text, first)[0])
    raise AssertionError("a JSON object has a key twice, but no second one is found")


def _mark(text: str, place: int) -> tuple[int, int]:
    """Return line and column of a place in a text."""
    return text.count("\n", 0, place) + 1, place - text.rfind("\n", 0, place)


def _refuse_duplicates(yaml: Any, loader: Any, root: Any) -> None:
    """Refuse a YAML document with a mapping that has equal keys.

    Looks at the nodes before any is constructed: constructing adds the pairs that `<<`
    brings, and a mapping may override those.

    Raises:
        FormatError: A mapping has equal keys; the message says where.
    """
    stack, seen = [root], set()
    while stack:
        node = stack.pop()
        if id(node) in seen or isinstance(node, yaml.nodes.ScalarNode):
            continue
        seen.add(id(node))
        if isinstance(node, yaml.nodes.MappingNode):
            _refuse_equal_keys(yaml, loader, node)
            stack += [child for pair in reversed(node.value) for child in pair]
        else:
            stack += reversed(node.value)


def _refuse_equal_keys(yaml: Any, loader: Any, mapping: Any) -> None:
    known: dict[Any, Any] = {}
    for node, _ in mapping.value:
        if not isinstance(node, yaml.nodes.ScalarNode):
            raise yaml.constructor.ConstructorError(
                None, None, "found unhashable key", node.start_mark
            )
        key = (node.tag,) if node.tag == _MERGE else loader.construct_object(node)
        first = known.setdefault(key, node)
        line, column = node.start_mark.line + 1, node.start_mark.column + 1
        if first is not node and first.value == node.value:
            raise _duplicate(node.value, line, column, first.start_mark.line + 1)
        if first is not node:
            raise FormatError(
                f"line {line}, column {column}: the keys {first.value} (line "
                f"{first.start_mark.line + 1}) and {node.value} are equal in Python, "
                "so a dict cannot have both"
            )


# -------------------------------------------------------------------------------- JSON


def _read_json(text: str, written: bool) -> Document:
    more: Any = {"parse_int": _written_int, "parse_float": _written_float}
    more = more if written else {}

    def table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise _find_duplicate(text)
        return found

    return Document(json.loads(text, object_pairs_hook=table, **more), "json")


def _written_int(text: str) -> Any:
    return as_written(text, int(text))


def _written_float(text: str) -> Any:
    return as_written(text, float(text))


def _write_json(document: Document, how: _How) -> str:
    text = json.dumps(
        document.tree,
        indent=2,
        ensure_ascii=False,
        allow_nan=how.allow_nan,
        default=json_default,
    )
    _refuse_colliding_names(document.tree)
    return _escaped(f"{text}\n", how.encoding, lambda char: json.dumps(char)[1:-1])


def json_default(value: Any) -> str:
    """Return a date or time as text, for `json.dumps`.

    Args:
        value: What JSON has no form for.

    Raises:
        TypeError: It is neither a date nor a time.

    Example:
        >>> from datetime import date
        >>> from leafwise.io.formats import json_default
        >>> json_default(date(2026, 11, 21))
        '2026-11-21'
    """
    datetime = sys.modules.get("datetime")  # loaded if there is a date at all
    if datetime is not None and isinstance(value, datetime.date | datetime.time):
        return str(value.isoformat())
    raise TypeError(f"not {_a(value)}")


def _refuse_colliding_names(tree: Any) -> None:
    """Refuse dicts with keys that JSON writes alike, such as 1 and "1".

    Raises:
        FormatError: There is one.
    """
    for path, node, is_key in _nodes(tree):
        if is_key or not isinstance(node, dict) or {*map(type, node)} <= {str}:
            continue
        known: dict[str, Any] = {}
        for key in node:
            name = key if isinstance(key, str) else json.dumps(key)
            first = known.setdefault(name, key)
            if first is not key:
                raise FormatError(
                    f"cannot be written as JSON: the keys {clip(first)} and {clip(key)}"
                    f" of the dict at {KeyPath(path).where()} are the same name"
                )


# -------------------------------------------------------------------------------- TOML


def _read_toml(text: str, written: bool) -> Document:
    import tomllib  # and with it datetime

    if not written:
        return Document(tomllib.loads(text), "toml")
    tree = tomllib.loads(text, parse_float=_written_float)
    if re.search(r"\d_\d|0[xob]|[+]\d", text) and find_spec("tomlkit"):
        tree = _with_ints(tree, toml_writer().parse(text))
    return Document(tree, "toml")


def _with_ints(value: Any, item: Any) -> Any:
    """Return a tree with ints that are written as in the document of tomlkit."""
    if type(value) is dict:
        return {key: _with_ints(one, item[key]) for key, one in value.items()}
    if type(value) is list:
        return [_with_ints(*pair) for pair in zip(value, item, strict=True)]
    return as_written(item.as_string(), value) if type(value) is int else value


def _write_toml(document: Document, how: _How) -> str:
    tomlkit = toml_writer()
    if not isinstance(document.tree, dict):
        root = _a(document.tree)
        raise FormatError(f"cannot be written as TOML: the root is {root}, not a dict")
    text = str(tomlkit.dumps(document.tree))
    text.encode("utf-8")  # no TOML file has a lone surrogate, not even as an escape
    return _escaped(text, how.encoding, _toml_escape)


def toml_writer() -> Any:
    """Return the package that writes TOML.

    Raises:
        FormatError: It is missing.
    """
    return _need("tomlkit", "tomlkit", "writing TOML")


def _toml_escape(char: str) -> str:
    code = ord(char)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


# -------------------------------------------------------------------------------- YAML

_MERGE: Final = "tag:yaml.org,2002:merge"
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
_WORDS_OF_1_1: Final = (r"yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF", "yYnNoO")
_NOT_IN_1_2: Final = ("int", "float", "value")  # "value" is a plain =


def _read_yaml(text: str, written: bool) -> Document:
    loader = yaml_loader(written=written)
    try:
        documents = [*loader.load_all(text)]
    except _yaml().error.YAMLError as error:
        if type(error).__name__ == "MaxDepthExceededError":
            raise FormatError("nested too deeply for its reader") from error
        raise FormatError(f"not valid YAML: {_told(error, text)}") from error
    if len(documents) == 1:
        return Document(documents[0], "yaml")
    return Document(documents or None, "yaml", bool(documents))


def _yaml() -> Any:
    return _need("ruamel.yaml", "ruamel.yaml", "YAML")


def _told(error: Any, text: str) -> str:
    """Return what is wrong in a YAML text, with the place."""
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", "")
    if mark is not None and problem:
        return f"line {mark.line + 1}, column {mark.column + 1}: {problem}"
    character = getattr(error, "character", None)  # one that YAML does not allow
    if character is None:
        return str(error)
    character = chr(character) if isinstance(character, int) else character
    line, column = _mark(text, text.find(character))
    return f"line {line}, column {column}: the character {character!r} is not allowed"


def yaml_loader(*, written: bool = False) -> Any:
    """Return a loader of YAML 1.2, as for plain scalars, without doubles and depth.

    Args:
        written: See `load`.

    Raises:
        FormatError: The package is missing.
    """
    yaml = _yaml()
    base = yaml.constructor.SafeConstructor

    def construct_document(self: Any, node: Any) -> Any:
        _refuse_duplicates(yaml, self, node)
        return base.construct_document(self, node)

    def flatten_mapping(self: Any, node: Any) -> None:
        _flatten(yaml, self, node, base.flatten_mapping)

    methods = {"construct_document": construct_document, "brought": 0}
    methods["flatten_mapping"] = flatten_mapping
    constructor: Any = type("Constructor", (base,), methods)
    for name, construct in _CONSTRUCTORS.items():
        tag = f"tag:yaml.org,2002:{name}"
        known = construct or base.yaml_constructors[tag]
        constructor.add_constructor(tag, _with_place(yaml, name, known, written))
    constructor.add_constructor("tag:yaml.org,2002:omap", base.construct_yaml_pairs)
    loader = yaml.YAML(typ="safe", pure=True)
    loader.Scanner = _scanner(yaml)
    loader.Constructor, loader.Resolver = constructor, _resolver(is_reader=True)
    loader.max_depth = _DEEPEST
    loader.composer.warn_double_anchors = False
    return loader


def _flatten(yaml: Any, loader: Any, mapping: Any, flatten: Any) -> None:
    """Add the pairs that `<<` brings to a mapping, each key once.

    Raises:
        FormatError: There are too many of them in the file.
    """
    merges = [value for key, value in mapping.value if key.tag == _MERGE]
    for value in merges:
        if isinstance(value, yaml.nodes.SequenceNode):
            value.value = [*{id(node): node for node in value.value}.values()]
    own = len(mapping.value)
    flatten(loader, mapping)
    if merges:
        pairs = {}
        for key, value in mapping.value:
            name = key.value if isinstance(key.value, str) else id(key)
            pairs[key.tag, name] = key, value
        mapping.value = [*pairs.values()]
        loader.brought += max(len(pairs) - own, 0)
    if loader.brought > _MOST_BROUGHT:
        raise FormatError(f"its merge keys bring more than {_MOST_BROUGHT} values")


def _scanner(yaml: Any) -> Any:
    """Return a scanner that refuses depth itself: it takes long to look ahead in it."""
    base = yaml.scanner.Scanner

    def start(self: Any, TokenClass: Any, to_push: str) -> None:
        if self.flow_level > _DEEPEST:
            raise RecursionError
        base.fetch_flow_collection_start(self, TokenClass, to_push)

    return type("Scanner", (base,), {"fetch_flow_collection_start": start})


@cache
def _resolver(*, is_reader: bool) -> Any:
    """Return a class that tells plain scalars apart, for a writer also by YAML 1.1."""
    yaml = _yaml()

    class Resolver(yaml.resolver.BaseResolver):  # type: ignore[misc, name-defined]
        yaml_implicit_resolvers: ClassVar[dict[Any, Any]] = {}

        def __init__(self, version: Any = None, loader: Any = None) -> None:
            super().__init__(loader)
            self._loader_version = version

        processing_version = (1, 2)

    without = ("bool", *(_NOT_IN_1_2 if is_reader else ()))
    for versions, tag, pattern, first in yaml.resolver.implicit_resolvers:
        if (1, 1) in versions and tag.rpartition(":")[2] not in without:
            Resolver.add_implicit_resolver_base(tag, pattern, first)
    words = {} if is_reader else {"bool of 1.1": _WORDS_OF_1_1}
    for name, (text, first) in (_SCALARS | words).items():
        tag, whole = f"tag:yaml.org,2002:{name}", re.compile(rf"(?:{text})\Z")
        Resolver.add_implicit_resolver_base(tag, whole, [*first])
    return Resolver


def _with_place(yaml: Any, name: str, construct: Any, written: bool) -> Any:
    """Return a constructor whose errors say where the scalar is; see `load`."""

    def constructed(loader: Any, node: Any) -> Any:
        try:
            value = construct(loader, node)
            return as_written(node.value, value) if written else value
        except (ValueError, LookupError, AttributeError, yaml.error.YAMLError) as error:
            why = f": {error}" if isinstance(error, ValueError) else ""
            raise yaml.constructor.ConstructorError(
                None, None, f"{clip(node.value)} is not a valid {name}{why}",
                node.start_mark,
            ) from error  # fmt: skip

    return constructed


def _construct_int(loader: Any, node: Any) -> int:
    text = loader.construct_scalar(node).replace("_", "")
    digits = text.lstrip("+-")
    base = 8 if digits.isdigit() and digits[:1] == "0" else 0
    return int(text, base)


def _construct_float(loader: Any, node: Any) -> float:
    text = loader.construct_scalar(node).replace("_", "").lower()
    return float(re.sub(r"\.(?=inf|nan)", "", text))


_CONSTRUCTORS: Final[dict[str, Any]] = {
    "int": _construct_int, "float": _construct_float, "bool": None, "timestamp": None
}  # fmt: skip
"""Constructors of scalars; None for that of ruamel.yaml."""


def _write_yaml(document: Document, how: _How) -> str:
    text = _dumped(yaml_dumper(), document)
    if fits(text, how.encoding):
        return text
    return _dumped(yaml_dumper(is_ascii=True), document)


def yaml_dumper(*, is_ascii: bool = False) -> Any:
    """Return a dumper of blocks, which quotes text that YAML 1.1 or 1.2 misread.

    Args:
        is_ascii: Whether characters beyond ASCII are escaped.

    Raises:
        FormatError: The package is missing.
    """
    yaml = _yaml()
    base = yaml.representer.SafeRepresenter
    representer: Any = type("Representer", (base,), {})
    text = r"[^\n\t -~]" if is_ascii else r"[\r\x85\u2028\u2029]"
    for text_type in (str, _QuotedText):
        representer.add_representer(text_type, _represent_text(re.compile(text).search))
    for cls in (WrittenInt, WrittenFloat):
        tag = f"tag:yaml.org,2002:{cls.plain.__name__}"
        representer.add_representer(cls, partial(_represent_number, tag))
    dumper = yaml.YAML(typ="safe", pure=True)
    dumper.Representer, dumper.Resolver = representer, _resolver(is_reader=False)
    dumper.allow_unicode = not is_ascii
    dumper.default_flow_style = dumper.sort_base_mapping_type_on_output = False
    return dumper


def _dumped(dumper: Any, document: Document) -> str:
    out = StringIO()
    dumper.explicit_start = document.is_stream
    try:
        dumper.dump_all(document.tree if document.is_stream else [document.tree], out)
    except _yaml().error.YAMLError as error:
        raise TypeError(str(error.args[0])) from error
    return out.getvalue().removesuffix("...\n")


def _represent_number(tag: str, dumper: Any, number: Any) -> Any:
    return dumper.represent_scalar(tag, number.text)


def _represent_text(has_more: Callable[[str], object]) -> Callable[[Any, str], Any]:
    """Return what represents a text as a scalar, one of several lines as a block.

    A text with characters that a block has no form for, or that its reader takes for
    the end of a line, is quoted.
    """

    def represented(dumper: Any, text: str) -> Any:
        text.encode("utf-8")  # readers of YAML refuse a lone surrogate
        style = "|" if "\n" in text else getattr(text, "quote", None)
        return dumper.represent_scalar(
            "tag:yaml.org,2002:str", text, '"' if has_more(text) else style
        )

    return represented


_READERS: Final[dict[str, Callable[[str, bool], Document]]] = {
    "json": _read_json,
    "toml": _read_toml,
    "yaml": _read_yaml,
}
_WRITERS: Final[dict[str, Callable[[Document, _How], str]]] = {
    "json": _write_json,
    "toml": _write_toml,
    "yaml": _write_yaml,
}
