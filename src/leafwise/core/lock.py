"""Locks that nothing leaves closed for good: neither a finalizer nor a fork.

A finalizer may run wherever objects are made, in a thread that holds a lock already,
so locks are reentrant. A thread that holds a lock does not exist in a forked child,
so a child begins with new ones. Neither makes what a lock protects whole: do under a
lock what calls nothing, and say what a child has to put right.
"""

from __future__ import annotations

import os
from _thread import RLock  # that of threading, whose import costs more
from collections.abc import Callable
from typing import Any, Final


__all__ = ["Guard"]

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
