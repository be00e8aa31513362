"""Locks that survive a fork, and sets of classes that may be garbage-collected.

A finalizer can run in a thread that already holds a lock, so locks are reentrant. After
a fork, the threads that held locks do not exist in the child, so it gets new locks.
What a lock protects may then be half-changed: code under a lock should call nothing
that can fail, and a `Guard` can name a function that repairs its data in the child.

A class can be garbage-collected if it was made in a function, or redefined. Sets hold
such classes by weak references that equal them; all others are held directly, so that
looking them up costs nothing more. `core/registry` decides how long it keeps classes of
nodes.
"""

from __future__ import annotations

import os
import sys
from _thread import RLock
from _weakref import ref
from collections.abc import Callable
from typing import Any, Final
from weakref import WeakKeyDictionary


_guards: Final[list[Guard]] = []


class Guard:
    """The lock of a module, used as `with guard.lock: ...`.

    Args:
        repair: Called in a forked child, after all locks are replaced by new ones.

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
        """Give a forked child new locks, and repair the data that they protect."""
        for guard in _guards:
            guard.lock = RLock()
        for guard in _guards:
            if guard._repair is not None:
                guard._repair()


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing forks
    os.register_at_fork(after_in_child=Guard.begin_in_child)


# ------------------------------------------------ classes that may be garbage-collected

_HEAP_TYPE: Final = 1 << 9


def is_permanent(cls: type) -> bool:
    """Return whether a class is built in, or found in its module under its name.

    Example:
        >>> from collections import UserDict
        >>> from leafwise._runtime import is_permanent
        >>> is_permanent(int), is_permanent(UserDict)
        (True, True)
        >>> is_permanent(type("UserDict", (), {}))
        False
    """
    is_static = not cls.__flags__ & _HEAP_TYPE
    return is_static or named_object(cls.__module__, cls.__qualname__) is cls


def named_object(module: str, qualname: str) -> Any:
    """Return the object of a qualified name in a loaded module, or None."""
    value: Any = sys.modules.get(module)
    for name in qualname.split("."):
        value = vars(value).get(name) if hasattr(value, "__dict__") else None
    return value


class _WeakClass(ref):  # type: ignore[type-arg]  # of any class
    """A weak reference that equals its class and has the hash of the class."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return self() is other is not None

    __hash__ = ref.__hash__


def add_class(classes: set[Any], cls: type) -> None:
    """Add a class to a set; it is removed when it is garbage-collected."""
    classes.add(cls if is_permanent(cls) else _WeakClass(cls, classes.discard))


def live_classes(classes: WeakKeyDictionary[type, Any]) -> list[type]:
    """Return the keys that still exist, in the order in which they were added.

    It is one step for other threads, and for a collection that begins meanwhile.

    Example:
        >>> from weakref import WeakKeyDictionary
        >>> from leafwise._runtime import live_classes
        >>> live_classes(WeakKeyDictionary({int: None, str: None}))
        [<class 'int'>, <class 'str'>]
    """
    return [cls for reference in classes.keyrefs() if (cls := reference()) is not None]
