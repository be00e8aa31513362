"""Trace levels: no change of an object inside a transform that merely captured it.

A framework that traces functions may put a provider here, which says at which level of
tracing the program is. Objects and variables are stamped with the level at which they
are made, and refuse to be changed at another one. Without a provider this costs one
look at an attribute.
"""

from __future__ import annotations

import contextlib
from _thread import _local, allocate_lock, start_new_thread
from collections.abc import Callable
from typing import Any, Final

from ..errors import TraceError
from ..safely import Guard


__all__ = ["check", "levels", "unsafe_mutation", "watch"]

Provider = Callable[[], Any]


class Levels:
    """What is known of levels.

    Attributes:
        token: Returns what stands for the current level, None as long as nobody
            traces anything.
        base: What stands for the level outside of all transforms.
    """

    __slots__ = ("_providers", "base", "token")

    def __init__(self) -> None:
        self.token: Provider | None = None
        self.base: Any = None
        self._providers: tuple[Provider, ...] = ()

    def add(self, provider: Provider) -> None:
        """Ask a provider, too, from now on."""
        added = False
        while not added:
            known = self._providers
            providers = (*known, provider)
            token = provider if not known else _all_of(providers)
            base = _in_fresh_thread(token)
            with _guard.lock:
                if self._providers is known:  # nobody else came first
                    self._providers, self.base, self.token = providers, base, token
                    added = True


def _all_of(providers: tuple[Provider, ...]) -> Provider:
    """Return a provider whose levels are those of several."""

    def token() -> Any:
        return tuple([one() for one in providers])

    return token


_guard: Final = Guard()
levels: Final = Levels()
_here: Final = _local()


def watch(provider: Provider) -> None:
    """Let a framework say at which level of tracing the program is.

    Args:
        provider: Returns something that is equal at the same level, and only there.

    Example:
        >>> from leafwise.nn.trace import watch
        >>> callable(watch)
        True
    """
    levels.add(provider)


def _in_fresh_thread(function: Provider) -> Any:
    """Return what a function returns where nothing is being traced."""
    found: list[Any] = []
    done = allocate_lock()
    done.acquire()

    def run() -> None:
        try:
            found.append(function())
        finally:
            done.release()

    start_new_thread(run, ())
    with done:
        return found[0]


def check(obj: Any, what: str) -> None:
    """Refuse a change of an object at another level than it was made at.

    Raises:
        TraceError: It was made at another level.
    """
    token = levels.token
    if token is None or getattr(obj, "_leafwise_stamp", levels.base) == token():
        return
    if getattr(_here, "relaxed", 0):
        return
    name = type(obj).__qualname__
    raise TraceError(
        f"Cannot mutate {name}{what} from a different trace level: the object was made "
        "outside of the function that is being traced (by jit, grad, vmap, ...), or "
        "inside another one.\n"
        "Do one of these:\n"
        "  1. pass the object to the function as an argument, and return it\n"
        "  2. make it inside the function\n"
        "  3. return the value, and assign it outside\n"
        "  4. if nothing traced can leak: with leafwise.nn.unsafe_mutation(): ...",
        attribute=what.removeprefix("."),
    )


class _Relaxed(contextlib.ContextDecorator):
    """Allows changes inside of it, in the thread that is inside."""

    def __enter__(self) -> None:
        _here.relaxed = getattr(_here, "relaxed", 0) + 1

    def __exit__(self, *_: object) -> None:
        _here.relaxed -= 1


def unsafe_mutation() -> contextlib.AbstractContextManager[None]:
    """Return a context manager that allows changes of objects from any trace level.

    It does so in this thread. What is assigned must not be traced, or it leaks.

    Example:
        >>> from leafwise import nn
        >>> box = nn.Variable(0)
        >>> with nn.unsafe_mutation():
        ...     box[...] = 1
    """
    return _Relaxed()
