"""Maps that run on an executor, and maps that wait for pending leaves.

Owns `parallel`, which makes maps of calls that take long, and `tree_gather`. How calls
are submitted, cancelled and fail is in `calls`; what is shown meanwhile in `progress`.
Results are in leaf order, whatever order they come in.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from types import CoroutineType
from typing import TYPE_CHECKING, Any, Literal, overload

from ..core.registry import GLOBAL
from ..core.walk import Code, leaf_paths, locate, map_leaves
from ..lazy import unchanged
from ..safely import described
from .calls import Calls, Executor, Paths, check_executor
from .context import context_of
from .map import chooser
from .progress import Progress, telling


if TYPE_CHECKING:
    from types import ModuleType

    from ..core.node import IsLeaf
    from ..signatures.folds import Collecting, as_gather, as_map_only
    from ..signatures.maps import as_map
    from ..signatures.path_maps import as_map_with_path
else:
    as_gather = as_map = as_map_only = as_map_with_path = unchanged

__all__ = ["parallel", "tree_gather"]


class Parallel:
    """Maps for slow functions; `parallel` returns it.

    Calls do not change it: you can use it several times, and from several threads.

    Attributes:
        executor: The executor that runs the calls, or None.
        progress: A function, or whether to show a bar.
        chunk: How many calls are submitted as one task, or None.
        errors: `"raise"` or `"collect"`.

    Example:
        >>> import leafwise as lw
        >>> slow = lw.parallel(errors="collect")
        >>> slow.errors, slow.executor
        ('collect', None)
        >>> slow.tree_map(lambda x: x + 1, {"a": 1})
        {'a': 2}
    """

    __slots__ = ("chunk", "errors", "executor", "progress")

    def __init__(
        self, executor: Any, progress: Progress, chunk: int | None, errors: str
    ) -> None:
        self.executor = executor
        self.progress = progress
        self.chunk = chunk
        self.errors = errors

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

        Nothing is called before the structures are checked. The first call that fails
        cancels those that have not begun; its exception is raised with a note of the
        key path. With `errors="collect"`, it takes the place of the result.

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
        return treedef.unflatten(self._run(f, columns, treedef.paths))

    @as_map_with_path
    def tree_map_with_path(
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
        """Map as `tree_map` does, with a function that also takes the key path.

        Returns:
            A new tree with the structure of `tree`.

        Raises:
            StructureError: A further tree does not have the structure of `tree`.
            CycleError: The tree contains itself.

        Example:
            >>> import leafwise as lw
            >>> from concurrent.futures import ThreadPoolExecutor
            >>> with ThreadPoolExecutor(2) as executor:
            ...     lw.parallel(executor).tree_map_with_path(
            ...         lambda path, x: f"{path} is {x}", {"a": [1]}
            ...     )
            {'a': ["['a'][0] is 1"]}
        """
        context = context_of(is_leaf, is_leaf_takes_path, none_is_leaf, namespace)
        columns, treedef = context.columns(tree, rest, strict, True)
        return treedef.unflatten(self._run(f, columns, lambda: columns[0]))

    @as_map_only
    def tree_map_only(
        self,
        type_or_types: IsLeaf,
        f: Callable[[Any], Any],
        tree: Any,
        *,
        is_leaf: IsLeaf = None,
        is_leaf_takes_path: bool = False,
        none_is_leaf: bool = False,
        namespace: str = GLOBAL,
    ) -> Any:
        """Map the leaves of some types as `leafwise.tree_map_only` does.

        The leaves are selected in the calling thread, before the first call. Only
        selected leaves count as progress.

        Returns:
            A new tree with the structure of `tree`.

        Raises:
            TypeError: `type_or_types` selects nothing.
            CycleError: The tree contains itself.

        Example:
            >>> import leafwise as lw
            >>> from concurrent.futures import ThreadPoolExecutor
            >>> with ThreadPoolExecutor(2) as executor:
            ...     lw.parallel(executor).tree_map_only(str, str.upper, ["a", 1])
            ['A', 1]
        """
        chosen = chooser(type_or_types)
        context = context_of(is_leaf, is_leaf_takes_path, none_is_leaf, namespace)
        leaves, treedef = context.flatten(tree)
        marks = map_leaves(chosen, [leaves], treedef._code)
        places = [place for place, mark in enumerate(marks) if mark]

        def paths() -> list[Any]:
            known = treedef.paths()
            return [known[place] for place in places]

        picked = [leaves[place] for place in places]
        leaves = [*leaves]
        found = self._run(f, [picked], paths)
        for place, result in zip(places, found, strict=True):
            leaves[place] = result
        return treedef.unflatten(leaves)

    def _run(
        self, f: Callable[..., Any], columns: Sequence[list[Any]], paths: Paths
    ) -> list[Any]:
        """Return the results of all calls, in leaf order."""
        known: list[Any] = []

        def known_paths() -> Any:
            if not known:
                known.extend(paths())
            return known

        total = len(columns[0])
        with telling(self.progress, total, known_paths) as tell:
            calls = Calls(f, columns, known_paths, self.errors == "collect", tell)
            if self.executor is None:
                calls.run_here()
            else:
                calls.run_on(self.executor, self.chunk)
        return calls.results


@overload
def parallel(
    executor: Executor | ModuleType | None = ...,
    *,
    progress: Progress = ...,
    chunk: int | None = ...,
    errors: Literal["raise"] = ...,
) -> Parallel: ...
@overload
def parallel(
    executor: Executor | ModuleType | None = ...,
    *,
    progress: Progress = ...,
    chunk: int | None = ...,
    errors: Literal["collect"],
) -> Collecting: ...
def parallel(
    executor: Executor | ModuleType | None = None,
    *,
    progress: Progress = None,
    chunk: int | None = None,
    errors: str = "raise",
) -> Any:
    """Return an object with maps for slow functions: on an executor, with progress.

    It has `tree_map`, `tree_map_with_path` and `tree_map_only`, and
    `at(tree)[...].apply` takes it as `parallel`.

    Args:
        executor: Where the calls run: an executor such as a `ThreadPoolExecutor` or a
            `ProcessPoolExecutor` of `concurrent.futures`, a `Client` of
            dask.distributed, or the module `ray`. None runs them in the calling thread,
            in leaf order.
        progress: A function that is called as `progress(done, total, path)` after each
            leaf, in the calling thread and in the order of completion; its exceptions
            end the map. True shows a tqdm or rich progress bar, or else a line, on
            stderr if that is a terminal.
        chunk: How many leaves to submit in one task, for fast functions. By default,
            each leaf is submitted as a task of its own.
        errors: How to handle exceptions of the function. `"raise"` raises the first one
            and cancels calls that have not started. `"collect"` puts each exception in
            place of the result and continues.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: `chunk` or `errors` has an invalid value.

    In both cases, exceptions carry a note that names the key path.

    Example:
        >>> import leafwise as lw
        >>> from concurrent.futures import ThreadPoolExecutor
        >>> with ThreadPoolExecutor(2) as executor:
        ...     lw.parallel(executor).tree_map(max, [1, 5], [4, 2])
        [4, 5]
        >>> def tell(done, total, path):
        ...     print(f"{done} of {total}: {path}")
        >>> careful = lw.parallel(progress=tell, errors="collect")
        >>> careful.tree_map(lambda x: 6 / x, {"a": 2, "b": 0})
        1 of 2: ['a']
        2 of 2: ['b']
        {'a': 3.0, 'b': ZeroDivisionError('division by zero')}
    """
    check_executor(executor)
    if progress is not None and type(progress) is not bool and not callable(progress):
        raise TypeError(
            f"progress must be a function, a bool or None, got {described(progress)}"
        )
    if chunk is not None and (not isinstance(chunk, int) or isinstance(chunk, bool)):
        raise TypeError(f"chunk must be an int or None, got {described(chunk)}")
    if chunk is not None and chunk < 1:
        raise ValueError(f"chunk must be at least 1, got {chunk}")
    if errors not in ("raise", "collect"):
        raise ValueError(f'errors must be "raise" or "collect", got {errors!r}')
    return Parallel(executor, progress, chunk, errors)


@as_gather
async def tree_gather(
    tree: Any, *, none_is_leaf: bool = False, namespace: str = GLOBAL
) -> Any:
    """Await all pending leaves of a tree concurrently, under asyncio.

    Pending leaves are awaitables, futures of `concurrent.futures` and dask, and
    `Delayed` objects of dask, which are computed. An object at several leaves is
    awaited once. When one fails, the others are cancelled.

    Args:
        tree: A tree; all other leaves stay as they are.
        none_is_leaf, namespace: See :ref:`common arguments <common>`.

    Returns:
        The tree with the results.

    Raises:
        TypeError: A leaf is an asynchronous generator, which has many results, or the
            result of a future is a coroutine.

    An exception of a pending leaf propagates, with a note that names the key path.
    Without asyncio, `tree_map(lambda x: x.result(), tree)` waits for futures.

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
                f"the leaf at {path.where()} is an asynchronous generator, which "
                "yields many results: collect them in a coroutine"
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
    """Compute a dask object in a thread."""
    loop = sys.modules["asyncio"].get_running_loop()
    return await loop.run_in_executor(None, delayed.compute)


async def _outcome(future: Any) -> Any:
    """Wait for a future that does not support asyncio, such as those of dask.

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
