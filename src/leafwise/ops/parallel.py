"""Maps that run elsewhere: on an executor, or by waiting for what is running.

Any executor with the interface of `concurrent.futures` will do: threads, processes or
clusters. Results are in leaf order; the first call that fails ends the map.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from types import CoroutineType
from typing import TYPE_CHECKING, Any, Protocol

from ..core.registry import GLOBAL
from ..core.walk import Code, leaf_paths, locate
from ..lazy import unchanged
from .context import context_of


if TYPE_CHECKING:
    from ..core.node import IsLeaf
    from ..signatures.folds import as_gather
    from ..signatures.maps import as_map
else:
    as_gather = as_map = unchanged

__all__ = ["parallel", "tree_gather"]


class Executor(Protocol):
    """Runs functions elsewhere, as the executors of `concurrent.futures` do."""

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> Any:
        """Start a call, and return its future."""


class Parallel:
    """Maps that call their function on an executor; made by `parallel`.

    Attributes:
        executor: The executor.
    """

    __slots__ = ("executor",)

    def __init__(self, executor: Executor) -> None:
        self.executor = executor

    @as_map
    def tree_map(
        self,
        f: Callable[..., Any],
        tree: Any,
        *rest: Any,
        is_leaf: IsLeaf = None,
        is_leaf_takes_path: bool = False,
        none_is_leaf: bool = False,
        namespace: str = GLOBAL,
        strict: bool = False,
    ) -> Any:
        """Map over the leaves as `leafwise.tree_map` does, with the same arguments.

        The first call that fails cancels those that have not begun; its exception is
        raised with a note of the key path.

        Returns:
            A new tree with the structure of `tree`.

        Raises:
            StructureError: A further tree does not have the structure of `tree`.
            CycleError: The tree contains itself.

        Example:
            >>> import leafwise as lw
            >>> from concurrent.futures import ThreadPoolExecutor
            >>> with ThreadPoolExecutor(2) as executor:
            ...     lw.parallel(executor).tree_map(abs, {"a": -1, "b": [2, -3]})
            {'a': 1, 'b': [2, 3]}
        """
        context = context_of(is_leaf, is_leaf_takes_path, none_is_leaf, namespace)
        columns, treedef = context.columns(tree, rest, strict=strict)
        return treedef.unflatten(_map_on(self.executor, f, columns, treedef._code))


def parallel(executor: Executor) -> Parallel:
    """Return an object whose `tree_map` calls the function on an executor.

    Args:
        executor: An executor, such as a `ThreadPoolExecutor` or a `ProcessPoolExecutor`
            of `concurrent.futures`, or dask's `client.get_executor()`.

    Example:
        >>> import leafwise as lw
        >>> from concurrent.futures import ThreadPoolExecutor
        >>> with ThreadPoolExecutor(2) as executor:
        ...     lw.parallel(executor).tree_map(max, [1, 5], [4, 2])
        [4, 5]
    """
    return Parallel(executor)


def _map_on(
    executor: Executor,
    function: Callable[..., Any],
    columns: Sequence[list[Any]],
    code: Code,
) -> list[Any]:
    """Call a function on the leaves of all columns, each call on an executor.

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
        for place, future in enumerate(futures):
            if failed:
                break
            with _noting(place, future, failed):
                results.append(future.result())
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


@contextlib.contextmanager
def _noting(place: int, future: Any, failed: list[int]) -> Iterator[None]:
    """Note that a call failed, if its callback has not been called yet."""
    try:
        yield
    except Exception:
        is_over = future.done() and not future.cancelled()
        if not failed and is_over and future.exception() is not None:
            failed.append(place)
        raise


def _cancel(futures: Sequence[Any]) -> None:
    for future in [*futures]:
        future.cancel()


@as_gather
async def tree_gather(
    tree: Any, *, none_is_leaf: bool = False, namespace: str = GLOBAL
) -> Any:
    """Await all pending leaves of a tree concurrently, under asyncio.

    Pending leaves are awaitables, the futures of `concurrent.futures` and of dask, and
    dask's `Delayed` objects, which are computed. An object at several leaves is awaited
    once. When one fails, the others are cancelled.

    Args:
        tree: A tree; all other leaves stay as they are.
        none_is_leaf, namespace: See :ref:`common arguments <common>`.

    Returns:
        The tree with the results.

    Raises:
        TypeError: A leaf is an asynchronous generator, which has many results; or the
            result of a future is a coroutine.

    An exception of a pending leaf passes through, with a note of the key path. Without
    asyncio, `tree_map(lambda x: x.result(), tree)` waits for futures.

    Example:
        >>> import asyncio, leafwise as lw
        >>> async def double(x):
        ...     return x * 2
        >>> asyncio.run(lw.tree_gather({"a": double(1), "b": [double(2), 3]}))
        {'a': 2, 'b': [4, 3]}
    """
    context = context_of(none_is_leaf=none_is_leaf, namespace=namespace)
    leaves, treedef = context.flatten(tree)
    tasks = _tasks(leaves, treedef._code)
    asyncio = sys.modules["asyncio"]  # whoever runs this has loaded it
    try:
        await asyncio.gather(*tasks.values())
    except BaseException as error:
        place = next((n for n, task in tasks.items() if _raised(task, error)), None)
        if place is not None and isinstance(error, Exception):
            locate(error, [*reversed(leaf_paths(treedef._code, len(leaves))[place])])
        for task in tasks.values():
            task.cancel()
        raise
    for place, task in tasks.items():
        leaves[place] = task.result()
        if isinstance(leaves[place], CoroutineType):
            where = leaf_paths(treedef._code, len(leaves))[place].where()
            raise TypeError(
                f"the result at {where} is a coroutine that was never awaited: submit "
                "a function that is not async, or gather the coroutine itself"
            )
    return treedef.unflatten(leaves)


def _raised(task: Any, error: BaseException) -> bool:
    return task.done() and not task.cancelled() and task.exception() is error


def _tasks(leaves: Sequence[Any], code: Code) -> dict[int, Any]:
    """Return an awaitable for each pending leaf, by place.

    Raises:
        TypeError: A leaf is an asynchronous generator.
    """
    for place, leaf in enumerate(leaves):
        if isinstance(leaf, AsyncGenerator):
            path = leaf_paths(code, len(leaves))[place]
            raise TypeError(
                f"the leaf at {path.where()} is an asynchronous generator, which has "
                "many results: collect them in a coroutine"
            )
    asyncio = sys.modules["asyncio"]
    found: dict[int, Any] = {}
    by_id: dict[int, Any] = {}
    for place, leaf in enumerate(leaves):
        if id(leaf) not in by_id:
            waiting = _awaitable(leaf)
            by_id[id(leaf)] = waiting and asyncio.ensure_future(waiting)
        if by_id[id(leaf)] is not None:
            found[place] = by_id[id(leaf)]
    return found


def _awaitable(leaf: Any) -> Any:
    """Return an awaitable for a leaf, or None if the leaf is not pending."""
    cls = type(leaf)
    asyncio = sys.modules["asyncio"]
    delayed = sys.modules.get("dask.delayed")
    if isinstance(leaf, sys.modules["concurrent.futures"].Future):
        return asyncio.wrap_future(leaf)
    if delayed is not None and isinstance(leaf, delayed.Delayed):
        return _computed(leaf)
    if hasattr(cls, "add_done_callback") and not asyncio.isfuture(leaf):
        return _outcome(leaf)
    return leaf if hasattr(cls, "__await__") else None


async def _computed(delayed: Any) -> Any:
    """Compute an object of dask in a thread."""
    loop = sys.modules["asyncio"].get_running_loop()
    return await loop.run_in_executor(None, delayed.compute)


async def _outcome(future: Any) -> Any:
    """Wait for a future that does not know asyncio, such as those of dask.

    Its methods may block, so they are called in a thread.
    """
    loop = sys.modules["asyncio"].get_running_loop()
    done = loop.create_future()

    def settle() -> None:
        if not done.done():
            done.set_result(None)

    def tell(_future: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(settle)

    future.add_done_callback(tell)
    try:
        await done
    except BaseException:
        loop.run_in_executor(None, future.cancel)
        raise
    return await loop.run_in_executor(None, future.result)
