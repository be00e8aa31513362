"""What all modules stand on: text of any object, records, locks, classes that may go.

Text of values whose classes may do anything: messages are written when something
failed already, and what a user sees then is that failure, not another one from a
`__repr__` on the way. What is no `Exception` (`KeyboardInterrupt`, `SystemExit`) passes
through. Names that do not exist get the most similar ones that do.

Small immutable records, and `MISSING`, the one sentinel that the package shares. The
standard library's dataclasses would do, but making each class costs about a millisecond
at import, and this package has a budget for it.

Locks that nothing leaves closed for good, neither a finalizer nor a fork. A finalizer
may run wherever objects are made, in a thread that holds a lock already, so locks are
reentrant. A thread that holds a lock does not exist in a forked child, so a child
begins with new ones. Neither makes what a lock protects whole: do under a lock what
calls nothing, and say what a child has to put right.

Classes that come and go: those made in functions, and those that were defined anew. All
others are what a module has under their names. Classes of leaves that may go are known
by weak references which are equal to them, so a plain set has both sorts, and only
looking up the second sort costs anything. How long classes of nodes are kept says
`core/registry`.
"""

from __future__ import annotations

import enum
import os
import re
import sys
from _thread import RLock
from _weakref import ref
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Final, Literal, dataclass_transform
from weakref import WeakKeyDictionary


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


# --------------------------------------------------------------------- text of anything


def shown(value: Any) -> str:
    """Return `repr(value)`, or a stand-in where that fails.

    Example:
        >>> from leafwise.safely import shown
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
        >>> from leafwise.safely import printed
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
        >>> from leafwise.safely import class_name
        >>> class Outer:
        ...     class Inner: ...
        >>> class_name(Outer.Inner), class_name(Outer.Inner, qualified=False)
        ('Outer.Inner', 'Inner')
    """
    return cls.__qualname__ if qualified else cls.__name__


def type_name(value: Any) -> str:
    """Return the short name of the class of a value.

    Example:
        >>> from leafwise.safely import type_name
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
        >>> from leafwise.safely import printable
        >>> print(printable("a\x1b[31m\u202eb"))
        a\x1b[31m\u202eb
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def printable_lines(text: str) -> str:
    r"""Return a text with escapes for all but its ends of lines, see `printable`.

    Example:
        >>> from leafwise.safely import printable_lines
        >>> printable_lines("a\x1b[31m\nb")
        'a\\x1b[31m\nb'
    """
    return text if text.isprintable() else "\n".join(map(printable, text.split("\n")))


def described(value: Any) -> str:
    """Return the type of a value and its short `repr`, as errors say it.

    Example:
        >>> from leafwise.safely import described
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
        >>> from leafwise.safely import brief
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
        >>> from leafwise.safely import nearest
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
        >>> from leafwise.safely import is_near
        >>> is_near("bais", "bias"), is_near("lr", "wd")
        (True, False)
    """
    return min(len(a), len(b)) > 2 and _likeness(a, b) >= _NEAR


def _likeness(a: str, b: str) -> float:
    """Return how much of two texts is the same, from 0 to 1; long texts are cut."""
    from difflib import SequenceMatcher  # late: it loads much

    return SequenceMatcher(None, a[:_COMPARED], b[:_COMPARED], autojunk=False).ratio()


# ------------------------------------------------------------------------------ records


class Sealed:
    """A record whose slots are set once; it is equal to nothing but itself."""

    __slots__: tuple[str, ...] = ()
    __match_args__: tuple[str, ...] = ()

    def _set(self, *values: Any) -> None:
        """Set the slots, in their order; called once, by `__init__`."""
        for name, value in zip(self.__match_args__, values, strict=True):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, *value: object) -> None:
        raise AttributeError(f"a {type(self).__name__} cannot be changed")

    __delattr__ = __setattr__


class Frozen(Sealed):
    """An immutable record: equal, hashed, printed and pickled by its slots."""

    __slots__: tuple[str, ...] = ()

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__match_args__)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return bool(self._values() == other._values())

    def __hash__(self) -> int:
        return hash((type(self), *self._values()))

    def __repr__(self) -> str:
        pairs = zip(self.__match_args__, self._values(), strict=True)
        inside = ", ".join(f"{name}={shown(value)}" for name, value in pairs)
        return f"{type(self).__name__}({inside})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._values()


@dataclass_transform(frozen_default=True)
class Record(Frozen):
    """A record that is made of the values of its slots, in their order."""

    __slots__ = ()

    def __init__(self, *values: Any) -> None:
        self._set(*values)


class Missing(enum.Enum):
    """The type of `MISSING`, which means that no value was given.

    Example:
        >>> from leafwise.safely import MISSING
        >>> MISSING, bool(MISSING)
        (MISSING, False)
    """

    MISSING = "MISSING"

    def __repr__(self) -> str:
        return "MISSING"

    def __bool__(self) -> Literal[False]:
        return False


MISSING: Final = Missing.MISSING
"""Stands for "not given" where None is a value like any other."""


# -------------------------------------------------------------------------------- locks


_guards: Final[list[Guard]] = []


class Guard:
    """Holds the lock of a module: `with guard.lock: ...`.

    Args:
        repair: What a forked child does, once all locks are new.

    Attributes:
        lock: The lock.
    """

    __slots__ = ("_repair", "lock")

    def __init__(self, repair: Callable[[], None] | None = None) -> None:
        self.lock: Any = RLock()
        self._repair = repair
        _guards.append(self)

    @staticmethod
    def begin_in_child() -> None:
        """Give a forked child new locks, and put right what they protect."""
        for guard in _guards:
            guard.lock = RLock()
        for guard in _guards:
            if guard._repair is not None:
                guard._repair()


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing forks
    os.register_at_fork(after_in_child=Guard.begin_in_child)


# ------------------------------------------------------------------ classes that may go

_HEAP_TYPE: Final = 1 << 9


def is_lasting(cls: type) -> bool:
    """Return whether a class is there for good, as far as one can see.

    Example:
        >>> from collections import UserDict
        >>> from leafwise.safely import is_lasting
        >>> is_lasting(int), is_lasting(UserDict), is_lasting(type("UserDict", (), {}))
        (True, True, False)
    """
    is_static = not cls.__flags__ & _HEAP_TYPE
    return is_static or named_object(cls.__module__, cls.__qualname__) is cls


def named_object(module: str, qualname: str) -> Any:
    """Return what a loaded module has under a qualified name, None if nothing."""
    found: Any = sys.modules.get(module)
    for part in qualname.split("."):
        found = vars(found).get(part) if hasattr(found, "__dict__") else None
    return found


class _Fleeting(ref):  # type: ignore[type-arg]  # of any class
    """A weak reference to a class that is equal to it, and has its hash."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return self() is other is not None

    __hash__ = ref.__hash__


def add_lasting(known: set[Any], cls: type) -> None:
    """Add a class to a set; it leaves the set when it goes."""
    known.add(cls if is_lasting(cls) else _Fleeting(cls, known.discard))


def living(classes: WeakKeyDictionary[type, Any]) -> list[type]:
    """Return the keys that still exist, in the order in which they came.

    It is one step for other threads, and for a collection that begins meanwhile.

    Example:
        >>> from weakref import WeakKeyDictionary
        >>> from leafwise.safely import living
        >>> living(WeakKeyDictionary({int: None, str: None}))
        [<class 'int'>, <class 'str'>]
    """
    return [cls for made in classes.keyrefs() if (cls := made()) is not None]
