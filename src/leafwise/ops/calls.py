"""The calls of one map: run in this thread or on an executor, with their results.

Owns chunks, the order in which calls end, cancellation, what is done with exceptions,
and how executors that differ from those of `concurrent.futures` are spoken to. Knows no
trees: it is handed columns of arguments, their key paths, and whom to tell.

All that is written to is written by the thread that called the map; a future that is
done only puts a number into a queue.
"""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib import import_module
from itertools import islice
from typing import Any, Protocol

from ..core.keypath import KeyPath
from ..core.walk import locate
from ..lazy import real
from ..safely import add_note, described, type_name


__all__ = ["Calls", "Executor", "Paths", "Tell", "check_executor", "submitter"]

Paths = Callable[[], Sequence[KeyPath]]
"""Gives the key paths of the leaves; asked when one is needed."""
Tell = Callable[[int, int], object]
"""Takes how many calls are done, and the number of the leaf whose call is."""


class Executor(Protocol):
    """Runs functions elsewhere, as the executors of `concurrent.futures` do."""

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> Any:
        """Start a call, and return its future."""


# -------------------------------------------------------------------------- failures


class Failed:
    """Stands for the result of a call that raised.

    Attributes:
        error: The exception.
    """

    __slots__ = ("error",)

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __reduce__(self) -> Any:
        """Take the exception apart, so that one that cannot be made does no harm."""
        text = "".join(traceback.format_exception(self.error))
        return _received, (self.error.__reduce_ex__(2), text)


class RemoteTraceback(Exception):
    """The cause of an exception from another process: its traceback, as text."""

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'


def _received(parts: Any, text: str) -> Failed:
    error: Any
    make, args, *state = parts
    try:
        error = make(*args)
        if state and state[0]:
            error.__setstate__(state[0])
    except Exception:
        error = RuntimeError("a call raised an exception that cannot be unpickled here")
    error.__cause__ = RemoteTraceback(text)
    return Failed(error)


def _outcome(function: Callable[..., Any], row: Sequence[Any]) -> Any:
    try:
        return function(*row)
    except Exception as error:
        return Failed(error)


def call_each(
    function: Callable[..., Any], rows: Iterable[Sequence[Any]], collect: bool
) -> list[Any]:
    """Call a function with several rows of arguments: one chunk.

    Args:
        function: The function.
        rows: The arguments of each call.
        collect: Whether to go on when a call has failed.

    Returns:
        The results, with a `Failed` for that of a call that raised.
    """
    found = []
    for row in rows:
        found.append(_outcome(function, row))
        if type(found[-1]) is Failed and not collect:
            break
    return found


class _Refused:
    """The future of a call that the executor did not take."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def result(self) -> Any:
        raise self.error


# ------------------------------------------------------------------------- executors


def check_executor(executor: Any) -> None:
    """Raise an error for an object that cannot run calls.

    Raises:
        TypeError: It has no `submit`.
    """
    ray = real("ray")
    if executor is None or (ray is not None and executor is ray):
        return
    if isinstance(executor, type) or not callable(getattr(executor, "submit", None)):
        raise TypeError(
            "parallel takes an executor such as concurrent.futures.ThreadPoolExecutor, "
            f"a dask Client, the module ray or None, got {described(executor)}"
        )


def submitter(executor: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that starts a call with some arguments, and gives its future.

    Raises:
        TypeError: The executor is an asynchronous client of dask.
    """
    distributed, ray = real("distributed"), real("ray")
    if ray is not None and executor is ray:
        return _on_ray(ray, function)
    if distributed is not None and isinstance(executor, distributed.Client):
        if executor.asynchronous:
            raise TypeError(
                "a map cannot wait for an asynchronous dask Client: submit the calls "
                "with tree_map, and await tree_gather of the futures"
            )
        executor = executor.get_executor(pure=False)  # equal leaves, yet two calls
    submit: Callable[..., Any] = executor.submit
    return partial(submit, function)


def _apply(function: Callable[..., Any], *args: Any) -> Any:
    return function(*args)  # ray runs no builtin functions


def _on_ray(ray: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    remote, kept = ray.remote(_apply), ray.put(function)

    def submit(*args: Any) -> Any:
        reference = remote.remote(kept, *args)
        future = reference.future()

        def done(future: Any) -> None:
            if future.cancelled():
                ray.cancel(reference)

        future.add_done_callback(done)
        return future

    return submit


# ----------------------------------------------------------------------------- calls

_OF_ASYNCIO = "_asyncio_future_blocking"
"""What futures have that are of a loop, which stands still while a map waits."""


class Calls:
    """The calls of one map.

    Attributes:
        function: What is called.
        columns: For each of its arguments the list of values.
        paths: Gives the key paths.
        collect: Whether exceptions become results.
        tell: Whom to tell what is done, or None.
        results: What was returned, in leaf order.
        done: How many calls are over.
        noted: How often an exception that is collected came, by its id.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        columns: Sequence[list[Any]],
        paths: Paths,
        collect: bool,
        tell: Tell | None,
    ) -> None:
        self.function = function
        self.columns = columns
        self.paths = paths
        self.collect = collect
        self.tell = tell
        self.results: list[Any] = [None] * len(columns[0])
        self.done = 0
        self.noted: dict[int, int] = {}

    def run_here(self) -> None:
        """Make the calls one after the other, in leaf order."""
        for place, row in enumerate(zip(*self.columns, strict=True)):
            self.settle(place, _outcome(self.function, row))

    def run_on(self, executor: Any, chunk: int | None) -> None:
        """Make the calls on an executor.

        However it ends, no call begins afterwards, as far as the executor can prevent
        that; those that have begun are not waited for.

        Args:
            executor: See `check_executor`.
            chunk: How many calls to submit as one; None submits the function itself, so
                that the executor sees what fails.
        """
        if not self.results:
            return
        function = self.function
        if chunk is not None:
            function = partial(call_each, function, collect=self.collect)
        submit = submitter(executor, function)
        over = import_module("queue").SimpleQueue()
        rows = zip(*self.columns, strict=True)
        pending: dict[int, Any] = {}
        try:
            for start in range(0, len(self.results), chunk or 1):
                args = next(rows) if chunk is None else ([*islice(rows, chunk)],)
                future = pending[start] = self._submitted(submit, args, start)
                if hasattr(future, "add_done_callback"):
                    future.add_done_callback(partial(_put, over, start))
                else:
                    over.put(start)
                while not over.empty():
                    self._take(over.get(), pending, chunk)
            while pending:
                self._take(over.get(), pending, chunk)
        finally:
            for future in [*pending.values()]:
                with contextlib.suppress(Exception):  # nothing hides what ended it
                    future.cancel()

    def _submitted(self, submit: Callable[..., Any], args: Any, start: int) -> Any:
        """Return the future of a call.

        An executor that broke on the way is a failure like that of the calls before.
        """
        try:
            future = submit(*args)
        except Exception as error:
            if start == 0 or not self.collect:
                raise
            return _Refused(error)
        if not hasattr(future, "result") or hasattr(future, _OF_ASYNCIO):
            raise TypeError(
                f"a map cannot wait for the result of submit ({type_name(future)}): "
                "submit the calls with tree_map, and await tree_gather of the "
                "resulting tree"
            )
        return future

    def _take(self, start: int, pending: dict[int, Any], chunk: int | None) -> None:
        """Take the results of a finished task."""
        future = pending.pop(start, None)
        if future is None:  # told of twice
            return
        try:
            found = future.result()
        except Exception as error:
            failed = Failed(error)
        else:
            for place, value in enumerate([found] if chunk is None else found, start):
                self.settle(place, value)
            return
        size = min(chunk or 1, len(self.results) - start)
        if size == 1:
            self.settle(start, failed)
            return
        self._note(failed.error, start, size - 1)
        if not self.collect:
            raise failed.error
        for place in range(start, start + size):
            self.settle(place, failed.error)

    def settle(self, place: int, value: Any) -> None:
        """Keep the result of a call or, if exceptions are collected, its exception."""
        if type(value) is Failed:
            value = value.error
            self._note(value, place)
            if not self.collect:
                raise value
        self.results[place] = value
        self.done += 1
        if self.tell is not None:
            self.tell(self.done, place)

    def _note(self, error: Exception, place: int, others: int = 0) -> None:
        """Add a note to an exception: the leaf where it was raised, or how many others.

        One that stands at many places, as that of a pool that broke, has two notes.
        """
        known = self.noted.get(id(error), 0)
        self.noted[id(error)] = known + 1
        if known == 1:
            add_note(error, "and at other key paths")
        elif known == 0 and others:
            add_note(
                error,
                f"at key path {self.paths()[place]}, or at one of the {others} leaves "
                "after it, which were submitted with it",
            )
        elif known == 0:
            locate(error, [*reversed(self.paths()[place])])


def _put(over: Any, start: int, _future: Any) -> None:
    over.put(start)
