"""Text for messages: a `repr` that never fails, cut to one line, and similar names.

A message is written when something has failed already. The user should see that
failure, and not another one from a `__repr__` on the way, so the functions here catch
what classes of users raise (`FAULTS`). Exceptions of signal handlers, such as
`KeyboardInterrupt`, pass through.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Final

from ._runtime import late_imports


FAULTS: Final = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    NameError,
    RuntimeError,
    TypeError,
    ValueError,
    Warning,
)
"""What classes of users and libraries raise when they do not support something.

Other exceptions, such as a timeout that a signal handler raises, pass through.
"""


def safe_repr(value: Any) -> str:
    """Return `repr(value)`, or a text that stands for it if that fails.

    Example:
        >>> from leafwise._text import safe_repr
        >>> class Broken:
        ...     def __repr__(self): raise ValueError("no")
        >>> safe_repr("a"), safe_repr(Broken())
        ("'a'", '<Broken that cannot be printed>')
        >>> safe_repr(16 ** 5000)[:10]
        '0x10000000'
    """
    return _text(repr, value)


def safe_str(value: Any) -> str:
    """Return `str(value)`, or a text that stands for it if that fails.

    Example:
        >>> from leafwise._text import safe_str
        >>> class Broken:
        ...     def __str__(self): return 3
        >>> safe_str("a"), safe_str(Broken())
        ('a', '<Broken that cannot be printed>')
    """
    return _text(str, value)


def _text(write: Callable[[Any], str], value: Any) -> str:
    try:
        # `write` may return a subclass of str, whose methods may do anything.
        return str.__str__(write(value))
    except Exception as error:  # the class of the value may raise anything
        cls = type(value)
        is_trusted = cls in (int, str) or cls.__module__.startswith("leafwise.")
        if is_trusted and not isinstance(error, FAULTS):
            raise  # it comes from a signal handler
        if cls is int:  # Python refuses to write out an int of thousands of digits
            return hex(value)
        return f"<{cls.__qualname__} that cannot be printed>"


_SHORT_WIDTH: Final = 60
_MAX_READ: Final = 1000
_LINE_BREAK_AT_BRACKET: Final = re.compile(r"(?<=[(\[{])\n *|\n *(?=[)\]}])")


def short_repr(value: Any) -> str:
    """Return a `repr` in one line, cut to 60 characters. Never raises."""
    text = safe_repr(value)
    words = _LINE_BREAK_AT_BRACKET.sub("", text[:_MAX_READ]).split()
    line = " ".join(words)
    if len(line) > _SHORT_WIDTH or len(text) > _MAX_READ:
        line = f"{line[: _SHORT_WIDTH - 3]}..."
    return escape_controls(line)


def typed_repr(value: Any) -> str:
    """Return the type of a value and its short `repr`.

    Example:
        >>> from leafwise._text import typed_repr
        >>> typed_repr([1])
        'list: [1]'
    """
    return f"{type(value).__name__}: {short_repr(value)}"


def escape_controls(text: str) -> str:
    r"""Return a text with escapes for all characters that a terminal would act upon.

    These are control characters and marks for the direction of writing.

    Example:
        >>> from leafwise._text import escape_controls
        >>> print(escape_controls("a\x1b[31m\u202eb"))
        a\x1b[31m\u202eb
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def escape_lines(text: str) -> str:
    r"""Return a text whose lines are escaped by `escape_controls`.

    Example:
        >>> from leafwise._text import escape_lines
        >>> escape_lines("a\x1b[31m\nb")
        'a\\x1b[31m\nb'
    """
    if text.isprintable():
        return text
    return "\n".join(escape_controls(line) for line in text.split("\n"))


def add_note(error: BaseException, note: str) -> None:
    """Add a note to an exception, unless it refuses, as a frozen dataclass does."""
    with suppress(AttributeError, TypeError):
        error.add_note(note)


# ----------------------------------------------------------------------- similar names

_MAX_NAME: Final = 100
_MAX_COMPARED: Final = 64
_MAX_NAMES: Final = 2000
_END: Final = 4
_SIMILAR: Final = 0.6


def join_names(names: Iterable[str]) -> str:
    """Return names in one text, each cut to a length that fits into a message.

    Example:
        >>> from leafwise._text import join_names
        >>> join_names(["a", "b"])
        'a, b'
    """
    short_names = []
    for name in names:
        is_long = len(name) > _MAX_NAME
        short_names.append(f"{name[: _MAX_NAME - 3]}..." if is_long else name)
    return ", ".join(short_names)


def counted(number: int, noun: str) -> str:
    """Return a number of things.

    Example:
        >>> from leafwise._text import counted
        >>> counted(1, "place"), counted(2, "place")
        ('1 place', '2 places')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def nearest_names(name: str, candidates: Iterable[str]) -> list[str]:
    """Return the candidates, those most similar to a name first.

    Of very many candidates only those are compared that share the beginning or the end
    with the name, or the first ones if none of them does.

    Example:
        >>> from leafwise._text import nearest_names
        >>> nearest_names("bais", ["weight", "bias", "name"])[0]
        'bias'
    """
    compared = list(candidates)
    if len(compared) > _MAX_NAMES:
        head = name[:_END]
        tail = name[-_END:]
        sharing = [one for one in compared if head in one or tail in one]
        compared = (sharing or compared)[:_MAX_NAMES]
    return sorted(compared, key=lambda one: -_similarity(name, one))


def is_similar(a: str, b: str) -> bool:
    """Return whether one text is probably the other one, misspelled.

    Example:
        >>> from leafwise._text import is_similar
        >>> is_similar("bais", "bias"), is_similar("lr", "wd")
        (True, False)
        >>> is_similar("W", "w")
        True
    """
    if a.casefold() == b.casefold():
        return True
    # Of two letters or less, unrelated names share half too often.
    return min(len(a), len(b)) > 2 and _similarity(a, b) >= _SIMILAR


def other_type(key: object, candidates: Iterable[object]) -> str:
    """Return a sentence about a key that has the text of another one, and another type.

    Args:
        key: A key that is missing.
        candidates: The keys that are there.

    Returns:
        The sentence, "" if there is no such key.

    Example:
        >>> from leafwise._text import other_type
        >>> other_type(1, ["0", "1"]), other_type(1, ["2"])
        ("the int 1 is not the str '1'", '')
    """
    text = bare_text(key)
    for candidate in candidates:
        if type(candidate) is not type(key) and bare_text(candidate) == text:
            names = type(key).__name__, type(candidate).__name__
            return (
                f"the {names[0]} {short_repr(key)} is not the {names[1]} "
                f"{short_repr(candidate)}"
            )
    return ""


def bare_text(key: object) -> str:
    """Return the text of a key, which bytes share with a string."""
    return key.decode(errors="replace") if type(key) is bytes else safe_str(key)


def _similarity(a: str, b: str) -> float:
    """Return how much of two texts is the same, from 0 to 1; long texts are cut."""
    with late_imports:
        from difflib import SequenceMatcher  # late: it imports much

    matcher = SequenceMatcher(None, a[:_MAX_COMPARED], b[:_MAX_COMPARED], False)
    return matcher.ratio()
