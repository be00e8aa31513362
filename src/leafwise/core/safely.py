"""Text of values whose classes may do anything, and notes on any exception.

Messages are written when something failed already: what a user sees then is that
failure, not another one from a `__repr__` on the way. So whatever is not ours is put
into words here, where an exception leads to a stand-in. What is no `Exception`
(`KeyboardInterrupt`, `SystemExit`) passes through.
"""

from __future__ import annotations

from typing import Any


__all__ = ["add_note", "class_name", "printed", "shown", "type_name"]


def shown(value: Any) -> str:
    """Return `repr(value)`, or a stand-in where that fails.

    Example:
        >>> from leafwise.core.safely import shown
        >>> class Broken:
        ...     def __repr__(self): raise ValueError("no")
        >>> shown("a"), shown(Broken())
        ("'a'", '<Broken that cannot be printed>')
        >>> shown(16 ** 5000)[:10]
        '0x10000000'
    """
    try:
        return str.__str__(repr(value))  # of a subclass of str: the bare text
    except Exception:
        return _stand_in(value)


def printed(value: Any) -> str:
    """Return `str(value)`, or a stand-in where that fails.

    Example:
        >>> from leafwise.core.safely import printed
        >>> class Broken:
        ...     def __str__(self): return 3
        >>> printed("a"), printed(Broken())
        ('a', '<Broken that cannot be printed>')
    """
    try:
        return str.__str__(str(value))
    except Exception:
        return _stand_in(value)


def _stand_in(value: Any) -> str:
    """Return what an object is; an int of too many digits still has its hex text."""
    if type(value) is int:
        return hex(value)
    return f"<{class_name(type(value))} that cannot be printed>"


_name: Any = vars(type)["__name__"]
_qualname: Any = vars(type)["__qualname__"]


def class_name(cls: type, *, qualified: bool = True) -> str:
    """Return the name of a class, whatever its metaclass says.

    Example:
        >>> from leafwise.core.safely import class_name
        >>> class Meta(type):
        ...     __name__ = property(lambda cls: 1 / 0)
        >>> class_name(Meta("Odd", (), {}), qualified=False)
        'Odd'
    """
    name: str = (_qualname if qualified else _name).__get__(cls)
    return name


def type_name(value: Any) -> str:
    """Return the short name of the class of a value.

    Example:
        >>> from leafwise.core.safely import type_name
        >>> type_name([1])
        'list'
    """
    return class_name(type(value), qualified=False)


def add_note(error: BaseException, note: str) -> None:
    """Add a note to an exception that may refuse to be changed.

    A frozen dataclass can be raised, too, and refuses attributes; its note is put
    where Python keeps it all the same. If even that fails the exception goes on
    without.
    """
    try:
        error.add_note(note)
        return
    except Exception:
        pass
    try:
        notes = object.__getattribute__(error, "__dict__").get("__notes__", ())
        object.__setattr__(error, "__notes__", [*notes, note])
    except Exception:
        pass
