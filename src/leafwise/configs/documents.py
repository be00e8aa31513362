"""Parsed documents, and values that know how their file writes them."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from .._records import Frozen
from .._text import safe_repr


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


class RevisionError(ValueError):
    r"""A text cannot be edited without losing comments or layout; says why.

    Example:
        >>> from leafwise.configs.formats import load
        >>> from leafwise.configs.revision import revise
        >>> text = "a: 1\n---\nb: 2\n"
        >>> revise(text, load(text, "yaml"), [{"a": 1}, {"b": 2}, {"c": 3}])
        Traceback (most recent call last):
        ...
        leafwise.configs.documents.RevisionError: a document would be added
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


class Tagged(Frozen):
    """A YAML value with a tag that only its program knows, such as `!Ref Bucket`.

    It is a leaf: `read` keeps the tag, and `write` writes it back.

    Attributes:
        tag: The tag, with its exclamation mark.
        value: The value: a string, a list or a dict.

    Example:
        >>> from leafwise.configs.formats import load
        >>> load("Bucket: !Ref Logs", "yaml").tree
        {'Bucket': Tagged('!Ref', 'Logs')}
    """

    __slots__ = ("tag", "value")
    __match_args__ = ("tag", "value")

    tag: str
    value: Any

    def __init__(self, tag: str, value: Any) -> None:
        self._set(tag, value)

    def __repr__(self) -> str:
        return f"Tagged({self.tag!r}, {safe_repr(self.value)})"

    __hash__ = None  # type: ignore[assignment]  # its value may be a list


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

    def __repr__(self) -> str:
        return self.text


def no_form_error(kind: str, value: Any) -> TypeError:
    """Return the error for a value of a type that a format has no form for.

    The module is named, too: "JSON has no bool" of a `numpy.bool` would be false.
    """
    cls = type(value)
    name = cls.__name__
    if cls.__module__ != "builtins":
        name = f"{cls.__module__}.{name}"
    return TypeError(f"{kind.upper()} has no {name}")


def as_written(text: str, value: Any) -> Any:
    """Return a number that knows its text, or the value if its `repr` is that text."""
    if type(value) not in (int, float) or repr(value) == text:
        return value
    number: Any = (WrittenInt if type(value) is int else WrittenFloat)(value)
    number.text = text
    return number
