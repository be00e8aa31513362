"""Text for messages: a `repr` that never fails, clipped to one line, and near names.

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
"""What a class of the user's, or of a library, raises where it lacks something.

What else may come, as a timeout that a handler of signals raises, passes through.
"""


def shown(value: Any) -> str:
    """Return `repr(value)`, or a stand-in where that fails.

    Example:
        >>> from leafwise._text import shown
        >>> class Broken:
        ...     def __repr__(self): raise ValueError("no")
        >>> shown("a"), shown(Broken())
        ("'a'", '<Broken that cannot be printed>')
        >>> shown(16 ** 5000)[:10]
        '0x10000000'
    """
    return _text(repr, value)


def printed(value: Any) -> str:
    """Return `str(value)`, or a stand-in where that fails.

    Example:
        >>> from leafwise._text import printed
        >>> class Broken:
        ...     def __str__(self): return 3
        >>> printed("a"), printed(Broken())
        ('a', '<Broken that cannot be printed>')
    """
    return _text(str, value)


def _text(write: Callable[[Any], str], value: Any) -> str:
    """Return a text, or a stand-in; an int of too many digits has its hex text."""
    try:
        return str.__str__(write(value))  # of a subclass of str: the bare text
    except Exception as error:  # of the value's class, which may raise anything
        cls = type(value)
        is_known = cls in (int, str) or cls.__module__.startswith("leafwise.")
        if is_known and not isinstance(error, FAULTS):
            raise  # of a handler of signals
        if cls is int:
            return hex(value)
        return f"<{class_name(cls)} that cannot be printed>"


def class_name(cls: type, *, qualified: bool = True) -> str:
    """Return the name of a class.

    Example:
        >>> from leafwise._text import class_name
        >>> class Outer:
        ...     class Inner: ...
        >>> class_name(Outer.Inner), class_name(Outer.Inner, qualified=False)
        ('Outer.Inner', 'Inner')
    """
    return cls.__qualname__ if qualified else cls.__name__


def type_name(value: Any) -> str:
    """Return the short name of the class of a value.

    Example:
        >>> from leafwise._text import type_name
        >>> type_name([1])
        'list'
    """
    return class_name(type(value), qualified=False)


_CLIP: Final = 60
_LOOKED_AT: Final = 1000
_BESIDE_BRACKETS: Final = re.compile(r"(?<=[(\[{])\n *|\n *(?=[)\]}])")


def clip(value: Any) -> str:
    """Return a short one-line `repr`, or a stand-in. Never raises."""
    text = shown(value)
    line = " ".join(_BESIDE_BRACKETS.sub("", text[:_LOOKED_AT]).split())
    if len(line) > _CLIP or len(text) > _LOOKED_AT:
        line = f"{line[: _CLIP - 3]}..."
    return printable(line)


def printable(text: str) -> str:
    r"""Return a text with escapes for all that a terminal would act upon.

    These are control characters and marks for the direction of writing.

    Example:
        >>> from leafwise._text import printable
        >>> print(printable("a\x1b[31m\u202eb"))
        a\x1b[31m\u202eb
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def printable_lines(text: str) -> str:
    r"""Return a text with escapes for all but its ends of lines, see `printable`.

    Example:
        >>> from leafwise._text import printable_lines
        >>> printable_lines("a\x1b[31m\nb")
        'a\\x1b[31m\nb'
    """
    return text if text.isprintable() else "\n".join(map(printable, text.split("\n")))


def described(value: Any) -> str:
    """Return the type of a value and its short `repr`, as errors say it.

    Example:
        >>> from leafwise._text import described
        >>> described([1])
        'list: [1]'
    """
    return f"{type_name(value)}: {clip(value)}"


def add_note(error: BaseException, note: str) -> None:
    """Add a note to an exception, unless it is a frozen dataclass, which refuses."""
    with suppress(AttributeError, TypeError):
        error.add_note(note)


# ------------------------------------------------------------------- misspelt names

_SHOWN, _COMPARED, _MOST, _ENDS, _NEAR = 100, 64, 2000, 4, 0.6


def brief(names: Iterable[str]) -> str:
    """Return names in one text, none of them longer than a message can bear.

    Example:
        >>> from leafwise._text import brief
        >>> brief(["a", "b"])
        'a, b'
    """
    return ", ".join(
        name if len(name) <= _SHOWN else f"{name[: _SHOWN - 3]}..." for name in names
    )


def nearest(wanted: str, names: Iterable[str]) -> list[str]:
    """Return the names, those most like the wanted one first.

    Of very many names only some are compared: of those that share the beginning or
    the end with the wanted one, if there are such.

    Example:
        >>> from leafwise._text import nearest
        >>> nearest("bais", ["weight", "bias", "name"])[0]
        'bias'
    """
    few = [*names]
    if len(few) > _MOST:
        head, tail = wanted[:_ENDS], wanted[-_ENDS:]
        few = [name for name in few if head in name or tail in name] or few
    return sorted(few[:_MOST], key=lambda name: -_likeness(wanted, name))


def is_near(a: str, b: str) -> bool:
    """Return whether one text is most likely the other one, misspelt.

    Example:
        >>> from leafwise._text import is_near
        >>> is_near("bais", "bias"), is_near("lr", "wd")
        (True, False)
    """
    return min(len(a), len(b)) > 2 and _likeness(a, b) >= _NEAR


def _likeness(a: str, b: str) -> float:
    """Return how much of two texts is the same, from 0 to 1; long texts are cut."""
    from difflib import SequenceMatcher  # late: it loads much

    return SequenceMatcher(None, a[:_COMPARED], b[:_COMPARED], autojunk=False).ratio()
