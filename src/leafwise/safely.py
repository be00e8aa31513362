"""What must not fail, whoever calls and with whatever: the ground that all stands on.

Text of values whose classes may do anything: messages are written when something
failed already, and what a user sees then is that failure, not another one from a
`__repr__` on the way. So whatever is not ours is put into words here, where an
exception leads to a stand-in. What is no `Exception` (`KeyboardInterrupt`,
`SystemExit`) passes through. Names that do not exist get the most similar ones that do.

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
from typing import (
    Any,
    Final,
    Literal,
    dataclass_transform,
)
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
    try:
        return str.__str__(repr(value))  # of a subclass of str: the bare text
    except Exception:
        return _stand_in(value)


def printed(value: Any) -> str:
    """Return `str(value)`, or a stand-in where that fails.

    Example:
        >>> from leafwise.safely import printed
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
_module: Any = vars(type)["__module__"]


def class_name(cls: type, *, qualified: bool = True) -> str:
    """Return the name of a class, whatever its metaclass says.

    Example:
        >>> from leafwise.safely import class_name
        >>> class Meta(type):
        ...     __name__ = property(lambda cls: 1 / 0)
        >>> class_name(Meta("Odd", (), {}), qualified=False)
        'Odd'
    """
    name: str = (_qualname if qualified else _name).__get__(cls)
    return name


def module_name(cls: type) -> str:
    """Return the name of the module of a class, "" if it has none.

    Example:
        >>> from leafwise.safely import module_name
        >>> module_name(int), module_name(type("Odd", (), {"__module__": 3}))
        ('builtins', '')
    """
    try:
        name = _module.__get__(cls)
    except AttributeError:
        return ""
    return name if type(name) is str else ""


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


# ------------------------------------------------------------------- misspelt names

_LONGEST = 64
_SHOWN = 100
_MOST = 2000
_ENDS = 4
_NEAR = 0.6


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
        few = [name for name in few if head in name or tail in name][:_MOST] or few
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

    return SequenceMatcher(None, a[:_LONGEST], b[:_LONGEST], autojunk=False).ratio()


# ------------------------------------------------------------------------------ records


class Sealed:
    """A record whose slots are set once; it is equal to nothing but itself."""

    __slots__: tuple[str, ...] = ()
    __match_args__: tuple[str, ...] = ()

    def _set(self, *values: Any) -> None:
        """Set the slots, in their order; called once, by `__init__`."""
        for name, value in zip(self.__match_args__, values, strict=True):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a {type(self).__name__} cannot be changed")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a {type(self).__name__} cannot be changed")


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
_flags: Any = vars(type)["__flags__"]


def is_lasting(cls: type) -> bool:
    """Return whether a class is there for good, as far as one can see.

    Example:
        >>> from collections import UserDict
        >>> from leafwise.safely import is_lasting
        >>> is_lasting(int), is_lasting(UserDict), is_lasting(type("UserDict", (), {}))
        (True, True, False)
    """
    if not _flags.__get__(cls) & _HEAP_TYPE:
        return True
    try:
        return named_object(_module.__get__(cls), class_name(cls)) is cls
    except Exception:  # what a module, or a class around this one, says of itself
        return False


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
