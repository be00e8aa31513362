"""Locks and imports that survive a fork, and sets of classes that may be collected.

A finalizer can run in a thread that already holds a lock, so locks are reentrant. After
a fork, the threads that held locks do not exist in the child, so it gets new locks.
What a lock protects may then be half-changed: code under a lock should call nothing
that can fail, and a `Guard` can name a function that repairs its data in the child.

Locks of imports are Python's, and closed in the child for good if another thread was
importing. So a fork waits for the imports that leafwise makes late.

A class can be garbage-collected if it was made in a function, or redefined. Sets hold
such classes by weak references that equal them; all others are held directly, so that
looking them up costs nothing more. `core/registry` decides how long it keeps classes of
nodes.
"""

from __future__ import annotations

import os
import sys
from _thread import RLock, get_ident
from _weakref import ref
from collections.abc import Callable
from time import monotonic, sleep
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
        for guard in _guards:  # only now: a repair may take the lock of another guard
            if guard._repair is not None:
                guard._repair()


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing forks
    os.register_at_fork(after_in_child=Guard.begin_in_child)


# ------------------------------------------------------------------------ late imports

_LONGEST_WAIT: Final = 5.0
"""Seconds that a fork waits for imports. A thread may hold what an import waits for
(the lock of `logging`, which also waits for forks), so without a limit both could wait
for ever."""


class LateImports:
    """The imports that are made when something is first used, as a context manager.

    Threads do not wait for each other here, since one may hold the lock of a module
    that another one waits for: only a fork waits for all threads but its own, and
    keeps others from beginning an import until it has happened.
    """

    def __init__(self) -> None:
        self._lock: Any = RLock()
        self._depths: dict[int, int] = {}  # by thread: how deeply it is in imports

    def __enter__(self) -> None:
        thread = get_ident()
        with self._lock:
            self._depths[thread] = self._depths.get(thread, 0) + 1

    def __exit__(self, *_: object) -> None:
        thread = get_ident()
        with self._lock:
            depth = self._depths.pop(thread) - 1
            if depth:
                self._depths[thread] = depth

    def wait_before_fork(self) -> None:
        """Wait until no other thread imports, and keep the lock."""
        deadline = monotonic() + _LONGEST_WAIT
        self._lock.acquire()
        # It is released between two looks, or no thread could say that it is done.
        while self._depths.keys() - {get_ident()} and monotonic() < deadline:
            self._lock.release()
            sleep(0.001)
            self._lock.acquire()

    def continue_in_parent(self) -> None:
        """Let other threads import again."""
        self._lock.release()

    def continue_in_child(self) -> None:
        """Begin anew: only the thread that forked is still there."""
        thread = get_ident()
        self._lock = RLock()
        self._depths = {
            other: depth for other, depth in self._depths.items() if other == thread
        }


late_imports: Final = LateImports()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=late_imports.wait_before_fork,
        after_in_parent=late_imports.continue_in_parent,
        after_in_child=late_imports.continue_in_child,
    )


# ------------------------------------------------ classes that may be garbage-collected

_HEAP_TYPE: Final = 1 << 9  # Py_TPFLAGS_HEAPTYPE: made at run time, not in C


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
        # not `getattr`, which would run properties and lazy imports of other libraries
        value = vars(value).get(name) if hasattr(value, "__dict__") else None
    return value


class _WeakClass(ref):  # type: ignore[type-arg]  # of any class
    """A weak reference that equals its class and has the hash of the class."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return self() is other is not None

    __hash__ = ref.__hash__  # that of the class, which it keeps when the class is gone


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
