"""YAML by ruamel.yaml: its loader and its dumper, by the rules of YAML 1.2.

Importing this module imports ruamel.yaml, so it is imported only where YAML is read or
written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from io import StringIO
from typing import Any, ClassVar, Final

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer
from ruamel.yaml.constructor import ConstructorError, SafeConstructor
from ruamel.yaml.error import YAMLError
from ruamel.yaml.events import AliasEvent
from ruamel.yaml.nodes import ScalarNode
from ruamel.yaml.representer import SafeRepresenter
from ruamel.yaml.resolver import BaseResolver, implicit_resolvers
from ruamel.yaml.scanner import Scanner
from ruamel.yaml.tag import Tag

from .._text import short_repr
from .documents import (
    Document,
    FormatError,
    Tagged,
    WrittenFloat,
    WrittenInt,
    as_written,
    no_form_error,
)


MERGE: Final = "tag:yaml.org,2002:merge"
"""The tag of the key `<<`."""
_DEEPEST: Final = 500
MOST_MERGED: int = 1_000_000
"""How many values the merge keys of a file may bring in all."""
_STANDARD: Final = "tag:yaml.org,2002:"
_SCALARS: Final = {
    "bool": ("true|True|TRUE|false|False|FALSE", "tTfF"),
    "int": (
        r"[-+]?(0b[01_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|0|[1-9][0-9_]*)",
        "-+0123456789",
    ),
    "float": (
        r"[-+]?(\.[0-9]+|[0-9]+\.[0-9]*)([eE][-+]?[0-9]+)?|[-+]?[0-9]+[eE][-+]?[0-9]+"
        r"|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        "-+.0123456789",
    ),
}
"""What YAML 1.2 reads otherwise than 1.1: patterns, and their first letters."""
_MISREAD: Final = re.compile(
    r"yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF|="
    r"|[-+]?[0-9][0-9_]*(:[0-5]?[0-9])*(\.[0-9_]*)?([eE][-+]?[0-9]+)?|\.[0-9_]+"
)
"""Plain text in YAML 1.2, something else in 1.1."""
_OLD_BOOLEAN: Final = re.compile("yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF")


def read_yaml(text: str, written: bool) -> Document:
    """Parse a YAML text; see `formats.load`."""
    try:
        documents = list(yaml_loader(written=written).load_all(text))
    except YAMLError as error:
        raise FormatError(f"not valid YAML: {_explanation(error)}") from error
    if len(documents) == 1:
        return Document(documents[0], "yaml")
    return Document(documents or None, "yaml", bool(documents))


def write_yaml(document: Document) -> str:
    """Return a document as YAML text; see `formats.dump`."""
    dumper = yaml_dumper()
    dumper.explicit_start = document.is_stream
    trees = document.tree if document.is_stream else [document.tree]
    return yaml_text(dumper, trees)


def _explanation(error: Any) -> str:
    """Return what is wrong in a YAML text, with the place."""
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", "")
    if mark is not None and problem:
        return f"{_place(mark)}: {problem}"
    return " ".join(str(error).split())


def _place(mark: Any) -> str:
    return f"line {mark.line + 1}, column {mark.column + 1}"


# ----------------------------------------------------------------------------- reading


class _Resolver(BaseResolver):
    """Tells plain scalars apart; the dumper has it, too."""

    yaml_implicit_resolvers: ClassVar[dict[Any, Any]] = {}  # type: ignore[misc]

    def __init__(self, version: Any = None, loader: Any = None) -> None:
        super().__init__(loader)

    @property
    def processing_version(self) -> tuple[int, int]:
        return (1, 2)


# ruamel's table has what both versions read. Of that we take what reads alike, but not
# "=", a value of its own in YAML 1.1 that nobody means; the rest is in `_SCALARS`.
for _versions, _tag, _pattern, _first in implicit_resolvers:
    _name = _tag.removeprefix(_STANDARD)
    if (1, 2) in _versions and _name not in _SCALARS and _name != "value":
        _Resolver.add_implicit_resolver_base(_tag, _pattern, _first)
for _name, (_text, _letters) in _SCALARS.items():
    _whole = re.compile(rf"(?:{_text})\Z")
    _Resolver.add_implicit_resolver_base(_STANDARD + _name, _whole, list(_letters))


class _Scanner(Scanner):
    def fetch_flow_collection_start(self, *token: Any, **to: Any) -> None:
        """Refuse depth here: looking ahead in deep brackets takes quadratic time."""
        if self.flow_level > _DEEPEST:
            raise RecursionError
        super().fetch_flow_collection_start(*token, **to)


class _Composer(Composer):
    def compose_node(self, parent: Any, index: Any) -> Any:
        """Return a node, and refuse depth."""
        if self.depth > _DEEPEST:
            raise RecursionError
        return super().compose_node(parent, index)


class AliasNode(ScalarNode):
    """An alias, where a text is composed as it is written.

    Attributes:
        target: The node with the anchor.
    """

    __slots__ = ("target",)
    id = "alias"
    target: Any


class _AliasComposer(_Composer):
    def compose_node(self, parent: Any, index: Any) -> Any:
        """Return a node; an alias has one of its own."""
        event = self.parser.peek_event()
        node = super().compose_node(parent, index)
        if not isinstance(event, AliasEvent):
            return node
        alias = AliasNode(None, event.anchor, event.start_mark, event.end_mark)
        alias.target = node
        return alias


class _Constructor(SafeConstructor):
    """Makes plain values, and refuses keys that are equal in Python."""

    written: bool = False
    merged: int = 0
    mappings: dict[Any, dict[Any, Any]]

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        """Return the dict of a node, once: what `<<` brings, then its own keys."""
        if node in self.mappings:
            return self.mappings[node]
        if node.id != "mapping":
            raise _malformed("expected a mapping", node)
        mapping: dict[Any, Any] = {}
        # before its values are made: one of them may be an alias of the mapping itself
        self.mappings[node] = mapping
        own: dict[Any, Any] = {}
        key_nodes: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            key = self._key(key_node, key_nodes)
            if key is MERGE:
                self._merge(mapping, value_node, deep)
            else:
                own[key] = self.construct_object(value_node, deep=deep)
        mapping.update(own)
        return mapping

    def _key(self, node: Any, nodes: dict[Any, Any]) -> Any:
        """Return the key of a node, `MERGE` for `<<`; it must be a new one."""
        if node.id != "scalar":
            raise _malformed("found unhashable key", node)
        is_merge = node.tag == MERGE
        key = MERGE if is_merge else self.construct_object(node)
        if isinstance(key, Tagged):
            raise _malformed(f"found a key with the tag {key.tag}", node)
        first = nodes.setdefault((is_merge, key), node)
        if first is not node:
            raise FormatError(
                f"{_place(node.start_mark)}: duplicate key {short_repr(node.value)}, "
                f"first {short_repr(first.value)} on line {first.start_mark.line + 1}"
            )
        return key

    def _merge(
        self,
        mapping: dict[Any, Any],
        node: Any,
        deep: bool,
    ) -> None:
        """Add what a merge key brings; the first of several mappings wins."""
        others = node.value if node.id == "sequence" else [node]
        for other in reversed(others):
            values = self.construct_mapping(other, deep)
            mapping.update(values)
            # a few lines can ask for billions of values, each merge doubling the last
            self.merged += len(values)
            if self.merged > MOST_MERGED:
                most = f"more than {MOST_MERGED} values"
                raise FormatError(f"its merge keys bring {most}")

    def construct_non_recursive_object(self, node: Any, tag: Any = None) -> Any:
        """Return the value of a node; an error says where a scalar is."""
        try:
            value = super().construct_non_recursive_object(node, tag)
        except (ValueError, LookupError) as error:
            if node.id != "scalar":
                raise
            reason = f": {error}" if isinstance(error, ValueError) else ""
            name = node.tag.rpartition(":")[2]
            problem = f"{short_repr(node.value)} is not a valid {name}{reason}"
            raise _malformed(problem, node) from error
        return as_written(node.value, value) if self.written else value

    def construct_tagged(self, node: Any) -> Tagged:
        """Return the value of a node whose tag only its program knows."""
        tag = node.tag
        if tag.startswith(_STANDARD):
            tag = f"!!{tag.removeprefix(_STANDARD)}"
        elif not tag.startswith("!"):
            tag = f"!<{tag}>"
        if node.id == "scalar":
            return Tagged(tag, node.value)
        if node.id == "sequence":
            return Tagged(tag, self.construct_sequence(node, deep=True))
        return Tagged(tag, self.construct_mapping(node, deep=True))


def _malformed(problem: str, node: Any) -> ConstructorError:
    return ConstructorError(None, None, problem, node.start_mark)


def _construct_int(loader: Any, node: Any) -> int:
    text = loader.construct_scalar(node).replace("_", "")
    digits = text.lstrip("+-")
    is_octal = digits.isdigit() and digits.startswith("0")
    return int(text, 8 if is_octal else 0)


def _construct_float(loader: Any, node: Any) -> float:
    text = loader.construct_scalar(node).replace("_", "").lower()
    return float(re.sub(r"\.(?=inf|nan)", "", text))  # Python's have no dot


_Constructor.add_constructor(f"{_STANDARD}int", _construct_int)
_Constructor.add_constructor(f"{_STANDARD}float", _construct_float)
_Constructor.add_constructor(f"{_STANDARD}omap", _Constructor.construct_yaml_pairs)
_Constructor.add_constructor(None, _Constructor.construct_tagged)


def is_tagged(node: Any) -> bool:
    """Return whether the value of a node is a `Tagged`."""
    return node.tag not in _Constructor.yaml_constructors


def yaml_loader(*, written: bool = False, aliases: bool = False) -> Any:
    """Return a loader of YAML 1.2 that refuses duplicate keys and depth.

    Args:
        written: See `formats.load`.
        aliases: Whether aliases are composed as `AliasNode`.
    """
    loader = YAML(typ="safe", pure=True)  # the parser in C knows YAML 1.1 alone
    loader.Resolver = _Resolver
    loader.Scanner = _Scanner
    loader.Composer = _AliasComposer if aliases else _Composer
    loader.Constructor = _Constructor
    # YAML allows an anchor to be set again: later aliases mean the last one
    loader.composer.warn_double_anchors = False
    loader.constructor.written = written
    loader.constructor.mappings = {}
    return loader


# ----------------------------------------------------------------------------- writing


class _QuotedText(str):
    """A text that YAML is to write in quotes."""

    __slots__ = ("quote",)
    quote: str


def quoted(value: Any, quote: str) -> Any:
    """Return a value; if it is a text of one line, YAML writes it in this quote."""
    if type(value) is not str or "\n" in value:
        return value
    if quote not in ("'", '"'):
        return value
    text = _QuotedText(value)
    text.quote = quote
    return text


def is_old_boolean(value: Any) -> bool:
    """Return whether a value is a text that is a boolean for YAML 1.1 if it is plain.

    Example:
        >>> from leafwise.configs.yaml_reader import is_old_boolean
        >>> is_old_boolean("yes"), is_old_boolean("'yes'")
        (True, False)
    """
    return isinstance(value, str) and _OLD_BOOLEAN.fullmatch(value) is not None


# What a block can hold: the printable characters of YAML 1.2 (section 5.1), without
# those that YAML 1.1 takes for the end of a line and without the byte order mark.
_BLOCK_TEXT: Final = re.compile(
    "[\t\n -~\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]*"
)


class _Representer(SafeRepresenter):
    """Quotes text that YAML 1.1 or 1.2 misread, and keeps spellings and tags."""


def _represent_text(dumper: Any, text: str) -> Any:
    """Return a text as a scalar, one of several lines as a block.

    A block has no escapes, so a text with characters that need them is quoted.
    """
    text.encode()  # readers of YAML refuse half a character
    style = getattr(text, "quote", None)
    if style is None and _MISREAD.fullmatch(text):
        style = "'"
    if "\n" in text:
        style = "|"
    if not _BLOCK_TEXT.fullmatch(text):
        style = '"'
    return dumper.represent_scalar(f"{_STANDARD}str", text, style)


def _represent_number(dumper: Any, number: Any) -> Any:
    tag = _STANDARD + number.plain.__name__
    return dumper.represent_scalar(tag, number.text)


def _represent_tagged(dumper: Any, tagged: Tagged) -> Any:
    tag = tagged.tag
    if tag.startswith("!!"):
        tag = _STANDARD + tag.removeprefix("!!")
    elif tag.startswith("!<"):
        tag = tag[2:-1]
    if isinstance(tagged.value, str):
        return dumper.represent_scalar(tag, tagged.value)
    node = dumper.represent_data(tagged.value)  # has the tag of a plain list or dict
    node.ctag = Tag(suffix=tag)
    return node


def _refuse(_dumper: Any, value: Any) -> Any:
    raise no_form_error("yaml", value)


_Representer.add_representer(str, _represent_text)
_Representer.add_representer(_QuotedText, _represent_text)
_Representer.add_representer(WrittenInt, _represent_number)
_Representer.add_representer(WrittenFloat, _represent_number)
_Representer.add_representer(Tagged, _represent_tagged)
_Representer.add_representer(None, _refuse)  # None stands for all other types


class _PartRepresenter(_Representer):
    def ignore_aliases(self, data: Any) -> bool:
        """Write values that occur twice as they are: a part has no anchors."""
        return True


def yaml_dumper(*, is_part: bool = False) -> Any:
    """Return a dumper of blocks.

    Args:
        is_part: Whether it writes parts of a text, without anchors.
    """
    dumper: Any = YAML(typ="safe", pure=True)
    dumper.Representer = _PartRepresenter if is_part else _Representer
    dumper.Resolver = _Resolver
    dumper.default_flow_style = False
    dumper.sort_base_mapping_type_on_output = False
    return dumper


def yaml_text(dumper: Any, documents: Iterable[Any]) -> str:
    """Return some documents as text.

    Raises:
        TypeError: YAML cannot represent them.
    """
    out = StringIO()
    try:
        dumper.dump_all(documents, out)
    except YAMLError as error:
        raise TypeError(str(error.args[0])) from error
    # which the dumper writes behind a scalar that is a whole document
    return out.getvalue().removesuffix("...\n")
