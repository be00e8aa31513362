"""Maps that run elsewhere: on an executor, or by waiting for what is under way.

Any executor of the standard library's form will do, of threads, of processes, or of
machines. Results come in leaf order; the first call that fails ends the map.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ..core.code import Code, leaf_paths, locate
from ..core.registry import view_of
from ..core.view import GLOBAL
from .outlook import take_apart


__all__ = ["Executor", "map_on", "tree_gather"]


class Executor(Protocol):
    """What runs functions elsewhere, as those of `concurrent.futures` do."""

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> Any:
        """Begin a call, and return its future."""


def map_on(
    executor: Executor,
    function: Callable[..., Any],
    columns: Sequence[list[Any]],
    code: Code,
) -> list[Any]:
    """Call a function on the leaves of all columns, each call by an executor.

    When a call fails, those that have not begun are cancelled, and its exception is
    raised with a note of the key path.
    """
    futures: list[Any] = []
    failed: list[int] = []
    results: list[Any] = []

    def watch(place: int) -> Callable[[Any], None]:
        def done(future: Any) -> None:
            if not future.cancelled() and future.exception() is not None:
                failed.append(place)
                _cancel(futures)

        return done

    try:
        for place, row in enumerate(zip(*columns, strict=True)):
            if failed:
                break
            futures.append(executor.submit(function, *row))
            futures[-1].add_done_callback(watch(place))
        results = [future.result() for future in futures if not failed]
    except BaseException:
        _cancel(futures)
        if not failed:
            raise
    if not failed:
        return results
    place = failed[0]
    error = futures[place].exception()
    locate(error, [*reversed(leaf_paths(code, len(columns[0]))[place])])
    raise error


def _cancel(futures: Sequence[Any]) -> None:
    for future in [*futures]:
        future.cancel()


async def tree_gather(
    tree: Any, *, none_is_leaf: bool = False, namespace: str = GLOBAL
) -> Any:
    """Wait for all awaitable leaves of a tree at once, under asyncio.

    When one fails, the others are cancelled.

    Args:
        tree: A tree; leaves that are no awaitables stay as they are.
        none_is_leaf, namespace: See :ref:`common arguments <common>`.

    Returns:
        The tree with the results.

    An exception of an awaitable passes through, with a note of the key path.

    Example:
        >>> import asyncio, leafwise as lw
        >>> async def double(x):
        ...     return x * 2
        >>> asyncio.run(lw.tree_gather({"a": double(1), "b": [double(2), 3]}))
        {'a': 2, 'b': [4, 3]}
    """
    leaves, treedef = take_apart(tree, view_of(namespace, none_is_leaf), None)
    asyncio = sys.modules["asyncio"]  # what runs this has loaded it
    tasks = {
        place: asyncio.ensure_future(leaf)
        for place, leaf in enumerate(leaves)
        if hasattr(type(leaf), "__await__")
    }
    try:
        await asyncio.gather(*tasks.values())
    except BaseException as error:
        for place, task in tasks.items():
            is_it = task.done() and not task.cancelled() and task.exception() is error
            if is_it and isinstance(error, Exception):
                paths = leaf_paths(treedef._code, len(leaves))
                locate(error, [*reversed(paths[place])])
            task.cancel()
        raise
    for place, task in tasks.items():
        leaves[place] = task.result()
    return treedef.unflatten(leaves)
