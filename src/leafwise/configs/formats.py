"""Reading and writing nested data as JSON, TOML and YAML.

Owns what is specific to each format: the values that it cannot represent, its escapes,
and the keys that collide. YAML is read by the rules of YAML 1.2 where those of 1.1
surprise: `on`, `yes`, `no` and `=` are text, `22:22` is text, `3e-4` is a number.
ruamel.yaml and tomlkit are imported only when they are needed.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import sys
from collections.abc import Callable
from functools import cache, partial
from importlib.util import find_spec
from io import StringIO
from typing import Any, ClassVar, Final, NamedTuple

from .._text import escape_controls, short_repr
from ..core.serial import unique_keys
from ..errors import FileError
from ..ops.map import tree_leaves, tree_leaves_with_path, tree_map


__all__ = ["Document", "FormatError", "dump", "load", "read"]

SUFFIXES: Final = {".json": "json", ".toml": "toml", ".yaml": "yaml", ".yml": "yaml"}
"""The formats by file extension."""
OF_ARRAYS: Final = (".npz", ".safetensors")
"""The file extensions of what `leafwise.load` reads instead."""

_DEEPEST: Final = 500
_MOST_BROUGHT: Final = 1_000_000


class FormatError(ValueError):
    """A text is malformed, or a format cannot represent a tree.

    Example:
        >>> from leafwise.configs.formats import FormatError, load
        >>> try:
        ...     load('{"a": 1, "a": 2}', "json")
        ... except FormatError as error:
        ...     print(error)
        duplicate key 'a'
    """


class Document(NamedTuple):
    """The parsed content of a file, with its format.

    Attributes:
        tree: The data; for a YAML stream of several documents, a list of them.
        kind: The format: `"json"`, `"toml"` or `"yaml"`.
        is_stream: Whether the file is a YAML stream of several documents.

    Example:
        >>> from leafwise.configs.formats import load
        >>> load('{"lr": 0.1}', "json")
        Document(tree={'lr': 0.1}, kind='json', is_stream=False)
    """

    tree: Any
    kind: str
    is_stream: bool = False


class WrittenInt(int):
    """An int from a text that writes it in another way than Python: `0644`, `0x1F`."""

    plain: ClassVar[type[int]] = int
    text: str

    def __repr__(self) -> str:
        return self.text


class WrittenFloat(float):
    """A float from a text that writes it in another way than Python: `1e3`, `1.20`."""

    plain: ClassVar[type[float]] = float
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
    if type(value) not in (int, float) or repr(value) == text:
        return value
    made: Any = (WrittenInt if type(value) is int else WrittenFloat)(value)
    made.text = text
    return made


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
        ...     with lw.files.replace_file(name, text=True) as file:
        ...         _ = file.write("optim: {lr: 3e-4}\nsteps: 1_000  # a day\n")
        ...     lw.read(name)
        {'optim': {'lr': 0.0003}, 'steps': 1000}
    """
    given = os.fsdecode(path)
    kind = format or SUFFIXES.get(os.path.splitext(given)[1].lower())
    if kind not in _FORMATS:
        hint = "; use leafwise.load" if given.endswith(OF_ARRAYS) else ""
        raise FileError(
            f"{escape_controls(given)}: unknown format, expected json, toml or "
            f"yaml{hint}"
        )
    try:
        with open(given, "rb") as file:
            return load(decoded(file.read())[0], kind).tree
    except (FormatError, UnicodeDecodeError) as error:
        raise FileError(f"{escape_controls(given)}: {error}") from error


def decoded(data: bytes) -> tuple[str, str]:
    """Return the text of a file, and its encoding, which writes its byte order mark.

    A mark, or the zeros around an ASCII character, tell the encoding: YAML 1.2 tells
    them apart as JSON does. Windows PowerShell writes UTF-16 for a plain `>`.

    Args:
        data: The content of the file.

    Raises:
        UnicodeDecodeError: It is not text.
    """
    charset: str = json.detect_encoding(data)
    return data.decode(charset), charset


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
        >>> from leafwise.configs.formats import load
        >>> load('{"a": [1, null]}', "json").tree
        {'a': [1, None]}
        >>> load('{"a": 1, "a": 2}', "json")
        Traceback (most recent call last):
        ...
        leafwise.configs.formats.FormatError: duplicate key 'a'
    """
    try:
        return _FORMATS[kind][0](text, written)
    except RecursionError as error:
        raise FormatError("nested too deeply for its reader") from error
    except FormatError:
        raise
    except ValueError as error:
        raise FormatError(f"not valid {kind.upper()}: {error}") from error


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
    tree, kind = fitted(document.tree, document.kind), document.kind
    try:
        text = _FORMATS[kind][1](document._replace(tree=tree), allow_nan)
        text.encode()  # no file has half a character
    except RecursionError as error:
        raise FormatError("nested too deeply for its writer") from error
    except FormatError:
        raise
    except (TypeError, ValueError) as error:
        place = _misfit(tree, kind, allow_nan)
        told = f"cannot be written as {kind.upper()}: {place}{error}"
        raise FormatError(told) from error
    return text


def _misfit(tree: Any, kind: str, allow_nan: bool) -> str:
    """Return where the first value is that a format cannot represent, if it is one."""
    for path, leaf in tree_leaves_with_path(tree, none_is_leaf=True):
        try:
            _FORMATS[kind][1](Document({"a": leaf}, kind), allow_nan).encode()
        except (TypeError, ValueError):
            return f"the value at {path.where()}, {short_repr(leaf)}: "
    return ""


def _need(package: str, kind: str) -> Any:
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise FormatError(
            f"{kind} needs {package}, which is not installed: "
            'pip install "leafwise[files]"'
        ) from error


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


_WRITTEN: Final[dict[str, Callable[[str], Any]]] = {
    "parse_int": lambda text: as_written(text, int(text)),
    "parse_float": lambda text: as_written(text, float(text)),
}
"""What makes numbers that know their text, for `json.loads`."""


def _read_json(text: str, written: bool) -> Document:
    numbers: Any = _WRITTEN if written else {}
    return Document(json.loads(text, object_pairs_hook=unique, **numbers), "json")


def _write_json(document: Document, allow_nan: bool) -> str:
    form: Any = {"indent": 2, "ensure_ascii": False, "default": json_default}
    text = json.dumps(document.tree, allow_nan=allow_nan, **form)
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
    if datetime is not None and isinstance(value, datetime.date | datetime.time):
        return str(value.isoformat())
    raise TypeError(f"JSON has no {type(value).__name__}")


# -------------------------------------------------------------------------------- TOML


def _read_toml(text: str, written: bool) -> Document:
    import tomllib  # and with it datetime

    tree = tomllib.loads(
        text, parse_float=_WRITTEN["parse_float"] if written else float
    )
    if written and re.search(r"\d_\d|0[xob]|[+]\d", text) and find_spec("tomlkit"):
        tree = _with_ints(tree, toml_writer().parse(text))
    return Document(tree, "toml")


def _with_ints(value: Any, item: Any) -> Any:
    """Return a tree with ints that are written as in the document of tomlkit."""
    if type(value) is dict:
        return {key: _with_ints(one, item[key]) for key, one in value.items()}
    if type(value) is list:
        return [_with_ints(*pair) for pair in zip(value, item, strict=True)]
    return as_written(item.as_string(), value) if type(value) is int else value


toml_writer: Final[Callable[[], Any]] = partial(_need, "tomlkit", "writing TOML")
"""Returns the package that writes TOML; raises `FormatError` if it is missing."""


# -------------------------------------------------------------------------------- YAML

_MERGE: Final = "tag:yaml.org,2002:merge"
_ALIAS: Final = "tag:leafwise,alias"
_INT: Final = r"[-+]?(0b[01_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|0|[1-9][0-9_]*)"
_FLOAT: Final = (
    r"[-+]?(\.[0-9]+|[0-9]+\.[0-9]*)([eE][-+]?[0-9]+)?|[-+]?[0-9]+[eE][-+]?[0-9]+"
    r"|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
)
_SCALARS: Final = {
    "bool": ("true|True|TRUE|false|False|FALSE", "tTfF"),
    "int": (_INT, "-+0123456789"),
    "float": (_FLOAT, "-+.0123456789"),
}
_MISREAD: Final = re.compile(
    r"yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF|="
    r"|[-+]?[0-9][0-9_]*(:[0-5]?[0-9])*(\.[0-9_]*)?([eE][-+]?[0-9]+)?|\.[0-9_]+"
)
"""Plain text in YAML 1.2, something else in 1.1."""


def _read_yaml(text: str, written: bool) -> Document:
    loader = yaml_loader(written=written)
    try:
        documents = [*loader.load_all(text)]
    except _yaml().error.YAMLError as error:
        raise FormatError(f"not valid YAML: {_told(error)}") from error
    if len(documents) == 1:
        return Document(documents[0], "yaml")
    return Document(documents or None, "yaml", bool(documents))


_yaml = partial(_need, "ruamel.yaml", "YAML")


def _told(error: Any) -> str:
    """Return what is wrong in a YAML text, with the place."""
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", "")
    if mark is not None and problem:
        return f"{_place(mark)}: {problem}"
    return " ".join(str(error).split())


def _place(mark: Any) -> str:
    return f"line {mark.line + 1}, column {mark.column + 1}"


class Alias(str):
    """Stands for an alias, where a YAML text is read as it is written; its name."""

    __slots__ = ()


MERGE: Final = object()
"""Stands for the key `<<`, where a YAML text is read as it is written."""


def yaml_loader(*, written: bool = False, raw: bool = False) -> Any:
    """Return a loader of YAML 1.2, as for plain scalars, without doubles and depth.

    Args:
        written: See `load`.
        raw: Whether aliases are read as `Alias`, and the keys `<<` as `MERGE`.

    Raises:
        FormatError: The package is missing.
    """
    loader = _yaml().YAML(typ="safe", pure=True)
    loader.Resolver, loader.Scanner, loader.Composer, loader.Constructor = _classes()
    loader.composer.warn_double_anchors = False
    loader.written, loader.raw, loader.known, loader.brought = written, raw, {}, 0
    return loader


@cache
def _classes() -> tuple[Any, Any, Any, Any]:
    """Return the classes that read YAML.

    They are the resolver, which tells plain scalars apart and is that of the dumper,
    too; the scanner, the composer and the constructor.
    """
    yaml = _yaml()
    malformed = partial(yaml.constructor.ConstructorError, None, None)

    class Resolver(yaml.resolver.BaseResolver):  # type: ignore[misc, name-defined]
        yaml_implicit_resolvers: ClassVar[dict[Any, Any]] = {}
        processing_version = (1, 2)

        def __init__(self, version: Any = None, loader: Any = None) -> None:
            super().__init__(loader)

    for versions, tag, pattern, first in yaml.resolver.implicit_resolvers:
        if (1, 2) in versions and tag.rpartition(":")[2] not in (*_SCALARS, "value"):
            Resolver.add_implicit_resolver_base(tag, pattern, first)
    for name, (text, first) in _SCALARS.items():
        tag, whole = f"tag:yaml.org,2002:{name}", re.compile(rf"(?:{text})\Z")
        Resolver.add_implicit_resolver_base(tag, whole, [*first])

    class Scanner(yaml.scanner.Scanner):  # type: ignore[misc, name-defined]
        def fetch_flow_collection_start(self, *token: Any, **to: Any) -> None:
            """Refuse depth here: it takes long to look ahead in it."""
            if self.flow_level > _DEEPEST:
                raise RecursionError
            super().fetch_flow_collection_start(*token, **to)

    class Composer(yaml.composer.Composer):  # type: ignore[misc, name-defined]
        def compose_node(self, parent: Any, index: Any) -> Any:
            """Return a node; an alias has one of its own."""
            if self.depth > _DEEPEST:
                raise RecursionError
            event = self.parser.peek_event()
            node = super().compose_node(parent, index)
            if not self.loader.raw or not isinstance(event, yaml.events.AliasEvent):
                return node
            tag, marks = yaml.tag.Tag(suffix=_ALIAS), (event.start_mark, event.end_mark)
            return yaml.nodes.ScalarNode(tag, event.anchor, *marks)

    class Constructor(yaml.constructor.SafeConstructor):  # type: ignore[misc, name-defined]
        def construct_mapping(self, mapping: Any, deep: bool = False) -> Any:
            """Return the dict of a node, once: what `<<` brings, then its own keys."""
            known = self.loader.known
            if mapping in known:
                return known[mapping]
            if mapping.id != "mapping":
                raise malformed("expected a mapping", mapping.start_mark)
            made: dict[Any, Any] = known.setdefault(mapping, {})
            own: dict[Any, Any] = {}
            nodes: dict[Any, Any] = {}
            for node, value in mapping.value:
                if node.id != "scalar":
                    raise malformed("found unhashable key", node.start_mark)
                key = MERGE if node.tag == _MERGE else self.construct_object(node)
                first = nodes.setdefault(key, node)
                if first is not node:
                    raise FormatError(
                        f"{_place(node.start_mark)}: duplicate key "
                        f"{short_repr(node.value)}, "
                        f"first {short_repr(first.value)} on line "
                        f"{first.start_mark.line + 1}"
                    )
                if self.loader.raw or key is not MERGE:
                    own[key] = self.construct_object(value, deep=deep)
                    continue
                given = value.value if value.id == "sequence" else [value]
                for other in reversed(given):
                    made |= self.construct_mapping(other, deep)
                    self.loader.brought += len(known[other])
                    if self.loader.brought > _MOST_BROUGHT:
                        most = f"more than {_MOST_BROUGHT} values"
                        raise FormatError(f"its merge keys bring {most}")
            made |= own
            return made

        def construct_non_recursive_object(self, node: Any, tag: Any = None) -> Any:
            """Return the value of a node; an error says where a scalar is."""
            try:
                value = super().construct_non_recursive_object(node, tag)
            except (ValueError, LookupError) as error:
                if node.id != "scalar":
                    raise
                why = f": {error}" if isinstance(error, ValueError) else ""
                name = node.tag.rpartition(":")[2]
                raise malformed(
                    f"{short_repr(node.value)} is not a valid {name}{why}",
                    node.start_mark,
                ) from error
            return as_written(node.value, value) if self.loader.written else value

    for name, construct in {
        "2002:int": _construct_int,
        "2002:float": _construct_float,
        "2002:omap": Constructor.construct_yaml_pairs,
    }.items():
        Constructor.add_constructor(f"tag:yaml.org,{name}", construct)
    Constructor.add_constructor(_ALIAS, lambda _, node: Alias(node.value))
    return Resolver, Scanner, Composer, Constructor


def _construct_int(loader: Any, node: Any) -> int:
    text = loader.construct_scalar(node).replace("_", "")
    digits = text.lstrip("+-")
    base = 8 if digits.isdigit() and digits[:1] == "0" else 0
    return int(text, base)


def _construct_float(loader: Any, node: Any) -> float:
    text = loader.construct_scalar(node).replace("_", "").lower()
    return float(re.sub(r"\.(?=inf|nan)", "", text))


def _write_yaml(document: Document, _: bool) -> str:
    dumper, tree = yaml_dumper(), document.tree
    dumper.explicit_start = document.is_stream
    return yaml_text(dumper, tree if document.is_stream else [tree])


def yaml_text(dumper: Any, documents: list[Any]) -> str:
    """Return some documents as text.

    Raises:
        TypeError: YAML cannot represent them.
    """
    out = StringIO()
    try:
        dumper.dump_all(documents, out)
    except _yaml().error.YAMLError as error:
        raise TypeError(str(error.args[0])) from error
    return out.getvalue().removesuffix("...\n")


def yaml_dumper() -> Any:
    """Return a dumper of blocks, which quotes text that YAML 1.1 or 1.2 misread.

    Raises:
        FormatError: The package is missing.
    """
    yaml = _yaml()
    base = yaml.representer.SafeRepresenter
    representer: Any = type("Representer", (base,), {})
    representer.add_representer(str, _represent_text)
    representer.add_representer(_QuotedText, _represent_text)
    representer.add_representer(WrittenInt, _represent_number)
    representer.add_representer(WrittenFloat, _represent_number)
    dumper = yaml.YAML(typ="safe", pure=True)
    dumper.Representer, dumper.Resolver = representer, _classes()[0]
    dumper.default_flow_style = dumper.sort_base_mapping_type_on_output = False
    return dumper


def _represent_number(dumper: Any, number: Any) -> Any:
    tag = f"tag:yaml.org,2002:{number.plain.__name__}"
    return dumper.represent_scalar(tag, number.text)


def _represent_text(dumper: Any, text: str) -> Any:
    """Return a text as a scalar, one of several lines as a block.

    A text with characters that a block has no form for, or that its reader takes for
    the end of a line, is quoted.
    """
    text.encode()  # readers of YAML refuse half a character
    style = "'" if _MISREAD.fullmatch(text) else None
    style = "|" if "\n" in text else getattr(text, "quote", style)
    style = '"' if re.search(r"[\r\x85\u2028\u2029]", text) else style
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style)


_FORMATS: Final[dict[str, tuple[Callable[..., Document], Callable[..., str]]]] = {
    "json": (_read_json, _write_json),
    "toml": (_read_toml, lambda read, _: str(toml_writer().dumps(read.tree))),
    "yaml": (_read_yaml, _write_yaml),
}
"""What reads and writes each format."""
