"""Maps whose calls run on an executor, report progress, or collect exceptions.

Results are in leaf order, whatever order they come in. All state is written by the
thread that called the map; a future that is done only puts a number into a queue.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol, TypeAlias

from .._lazy import late_module, need, real
from .._text import add_note, typed_repr
from ..core.context import context_of
from ..core.keypath import KeyPath
from ..core.registry import GLOBAL
from ..core.treedef import map_leaves
from ..core.walk import locate, require_function
from .map import chooser


if TYPE_CHECKING:
    from .._typing import IsLeaf

__all__ = ["parallel"]

Paths: TypeAlias = Callable[[], Sequence[KeyPath]]
"""Returns the key paths of the leaves; called when one is needed."""
Progress: TypeAlias = Callable[[int, int, KeyPath], object] | bool | None
"""A function of the number of calls that are done, the number of all, and the path of
the leaf; or whether to show a bar."""


class Executor(Protocol):
    """Runs functions elsewhere, as the executors of `concurrent.futures` do."""

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> Any:
        """Start a call, and return its `concurrent.futures.Future`."""


# ------------------------------------------------------------------------------- calls


class _Failed(NamedTuple):
    """Stands for the result of a call that raised."""

    error: Exception
    text: str = ""


class RemoteCallError(Exception):
    """The cause of an exception from another process: its traceback, as text."""

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'


def _call_each(
    function: Callable[..., Any],
    rows: Iterable[Sequence[Any]],
    collect: bool,
) -> list[Any]:
    """Call a function with several rows of arguments: one chunk.

    Args:
        function: The function.
        rows: The arguments of each call.
        collect: Whether to go on when a call has failed.

    Returns:
        The results, with a `_Failed` for that of a call that raised.
    """
    results: list[Any] = []
    for row in rows:
        try:
            results.append(function(*row))
        except Exception as error:  # of the function: its caller raises or collects it
            results.append(_Failed(error, traceback.format_exc()))
            if not collect:
                break
    return results


_AT_TOP_LEVEL: Final = (
    "a function for a ProcessPoolExecutor must be defined at the top level of a module"
)


def _lacks_name(function: Callable[..., Any], executor: Executor) -> bool:
    """Return whether a function is to be pickled by its name, but has none.

    Other executors, such as that of dask, may send any function.
    """
    processes = real("concurrent.futures.process")
    if processes is None or not isinstance(executor, processes.ProcessPoolExecutor):
        return False
    # what has no name of its own, such as a partial, is pickled by its parts
    return "<" in getattr(function, "__qualname__", "")  # <lambda> or <locals>


class _Calls:
    """The calls of one map.

    Args:
        function: What is called.
        columns: For each of its arguments the list of values.
        paths: Returns the key paths.
        collect: Whether exceptions become results.
        report: Called with how many calls are done, and the index of the leaf.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        columns: Sequence[list[Any]],
        paths: Paths,
        collect: bool,
        report: Callable[[int, int], object],
    ) -> None:
        self.function = function
        self.columns = columns
        self.paths = paths
        self.collect = collect
        self.report = report
        self.results: list[Any] = [None] * len(columns[0])
        self.done = 0
        self.noted: set[int] = set()  # the exceptions that have a note, by id
        self.lacks_name = False  # whether the executor cannot send the function

    def run_here(self) -> None:
        """Make the calls one after the other, in leaf order."""
        for index, row in enumerate(zip(*self.columns, strict=True)):
            (result,) = _call_each(self.function, [row], self.collect)
            self.settle(index, result)

    def run_on(self, executor: Executor, chunk: int | None) -> None:
        """Make the calls on an executor.

        However it ends, no call begins afterwards, as far as the executor can prevent
        that; those that have begun are not waited for.

        Args:
            executor: The executor.
            chunk: How many calls to submit as one; None submits the function itself, so
                that the executor sees what fails.
        """
        self.lacks_name = _lacks_name(self.function, executor)
        finished = late_module("queue").SimpleQueue()
        rows = zip(*self.columns, strict=True)
        pending: dict[int, Any] = {}
        try:
            for start in range(0, len(self.results), chunk or 1):
                future = self._submit(executor, start, rows, chunk)
                pending[start] = future
                # called in any thread, which is why it does nothing but that
                future.add_done_callback(lambda _, start=start: finished.put(start))
                # a failure ends the map before all is submitted
                while not finished.empty():
                    self._collect(finished.get(), pending, chunk)
            while pending:
                self._collect(finished.get(), pending, chunk)
        finally:
            for future in pending.values():  # none, unless an exception came
                future.cancel()

    def _submit(
        self,
        executor: Executor,
        start: int,
        rows: Iterator[Any],
        chunk: int | None,
    ) -> Any:
        """Return the future of a call, or of a chunk.

        Raises:
            TypeError: The executor returned something else.
        """
        futures = late_module("concurrent.futures")
        try:
            if chunk is None:
                future = executor.submit(self.function, *next(rows))
            else:
                part = list(islice(rows, chunk))
                future = executor.submit(_call_each, self.function, part, self.collect)
        except Exception as error:  # of the executor, which broke on the way
            if start == 0 or not self.collect:  # one that never worked has no results
                raise
            future = futures.Future()
            future.set_exception(error)
        if not isinstance(future, futures.Future):
            raise TypeError(
                "submit must return a concurrent.futures.Future, got "
                f"{type(future).__name__}; of a dask Client, pass "
                "client.get_executor(pure=False)"
            )
        return future

    def _collect(self, start: int, pending: dict[int, Any], chunk: int | None) -> None:
        """Settle the results of a finished task."""
        try:
            result = pending.pop(start).result()
        except Exception as error:  # of the function, or of the executor
            if self.lacks_name and id(error) not in self.noted:
                add_note(error, _AT_TOP_LEVEL)
            size = min(chunk or 1, len(self.results) - start)
            if size > 1 and id(error) not in self.noted:
                self.noted.add(id(error))
                path = self.paths()[start]
                add_note(error, f"at one of the {size} leaves from key path {path} on")
            # the results of a chunk come together or not at all
            for index in range(start, start + size):
                self.settle(index, _Failed(error))
            return
        results = [result] if chunk is None else result
        for index, value in enumerate(results, start):
            self.settle(index, value)

    def settle(self, index: int, value: Any) -> None:
        """Keep the result of a call or, if exceptions are collected, its exception."""
        if type(value) is _Failed:
            value, text = value
            if text and value.__traceback__ is None:  # from another process
                value.__cause__ = RemoteCallError(text)
            if id(value) not in self.noted:  # that of a pool that broke comes again
                self.noted.add(id(value))
                locate(value, self.paths()[index])
            if not self.collect:
                raise value
        self.results[index] = value
        self.done += 1
        self.report(self.done, index)


@contextlib.contextmanager
def _reporter(
    progress: Progress,
    total: int,
    paths: Paths,
) -> Iterator[Callable[[int, int], object]]:
    """Yield the function that reports progress; a bar is closed at the end."""
    if callable(progress):
        yield lambda done, index: progress(done, total, paths()[index])
    elif progress and total:
        # None: only on a terminal, which a notebook is not
        disable = False if "ipykernel" in sys.modules else None
        need("tqdm", "progress=True", "progress")
        tqdm = late_module("tqdm.auto").tqdm
        with tqdm(total=total, disable=disable) as bar:
            yield lambda _done, _index: bar.update(1)
    else:
        yield lambda _done, _index: None


# -------------------------------------------------------------------------------- maps


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
        self,
        executor: Any,
        progress: Progress,
        chunk: int | None,
        errors: str,
    ) -> None:
        self.executor: Any = executor
        self.progress: Progress = progress
        self.chunk: int | None = chunk
        self.errors: str = errors

    def tree_map(
        self,
        f: Callable[..., Any],
        tree: Any,
        *rest: Any,
        is_leaf: IsLeaf = None,
        namespace: str = GLOBAL,
        strict: bool = False,
    ) -> Any:
        """Map over the leaves as `leafwise.tree_map` does.

        `is_leaf`, `namespace` and `strict` mean the same as there. Nothing is called
        before the structures are checked. The first call that fails cancels those that
        have not begun; its exception is raised with a note of the key path. With
        `errors="collect"`, it takes the place of the result.

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
        context = context_of(is_leaf, namespace=namespace)
        columns, treedef = context.columns(tree, rest, strict=strict)
        return treedef.unflatten(self._run(f, columns, treedef.paths))

    def tree_map_with_path(
        self,
        f: Callable[..., Any],
        tree: Any,
        *rest: Any,
        is_leaf: IsLeaf = None,
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
        context = context_of(is_leaf, namespace=namespace)
        columns, treedef = context.columns(tree, rest, strict, True)
        return treedef.unflatten(self._run(f, columns, lambda: columns[0]))

    def tree_map_only(
        self,
        type_or_types: IsLeaf,
        f: Callable[[Any], Any],
        tree: Any,
        *,
        is_leaf: IsLeaf = None,
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
        is_chosen = chooser(type_or_types, f)  # before anything runs: it checks both
        context = context_of(is_leaf, namespace=namespace)
        leaves, treedef = context.flatten(tree)
        answers = map_leaves(is_chosen, [leaves], treedef)
        indices = [index for index, answer in enumerate(answers) if answer]

        def paths() -> list[KeyPath]:
            all_paths = treedef.paths()
            return [all_paths[index] for index in indices]

        chosen_leaves = [leaves[index] for index in indices]
        results = list(leaves)
        for index, result in zip(
            indices, self._run(f, [chosen_leaves], paths), strict=True
        ):
            results[index] = result
        return treedef.unflatten(results)

    def _run(
        self,
        f: Callable[..., Any],
        columns: Sequence[list[Any]],
        paths: Paths,
    ) -> list[Any]:
        """Return the results of all calls, in leaf order."""
        require_function(f)
        # made for the first failure or report, and mostly never
        cached_paths = functools.cache(paths)
        total = len(columns[0])
        collect = self.errors == "collect"
        with _reporter(self.progress, total, cached_paths) as report:
            calls = _Calls(f, columns, cached_paths, collect, report)
            if self.executor is None:
                calls.run_here()
            else:
                calls.run_on(self.executor, self.chunk)
        return calls.results


def parallel(
    executor: Executor | None = None,
    *,
    progress: Progress = None,
    chunk: int | None = None,
    errors: Literal["raise", "collect"] = "raise",
) -> Parallel:
    """Return an object with maps for slow functions: on an executor, with progress.

    It has `tree_map`, `tree_map_with_path` and `tree_map_only`.

    Args:
        executor: Where the calls run: a `ThreadPoolExecutor` or `ProcessPoolExecutor`
            of `concurrent.futures`, or another executor whose `submit` returns a
            `concurrent.futures.Future`, such as `client.get_executor(pure=False)` of
            dask. None runs them in the calling thread, in leaf order.
        progress: A function that is called as `progress(done, total, path)` after each
            leaf, in the calling thread and in the order of completion; its exceptions
            end the map. True shows a progress bar of tqdm (`leafwise[progress]`), on
            stderr if that is a terminal.
        chunk: How many leaves to submit in one task, for fast functions. By default,
            each leaf is submitted as a task of its own.
        errors: How to handle exceptions of the function. `"raise"` raises the first one
            and cancels calls that have not started. `"collect"` puts each exception in
            place of the result and continues.

    Raises:
        TypeError: The executor has the wrong type.
        ValueError: `chunk` or `errors` has an invalid value.
        ImportError: `progress` is True, and tqdm is not installed.

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
    if executor is not None and (
        isinstance(executor, type) or not callable(getattr(executor, "submit", None))
    ):
        raise TypeError(
            "parallel takes an executor such as concurrent.futures.ThreadPoolExecutor "
            f"or None, got {typed_repr(executor)}"
        )
    if chunk is not None and chunk < 1:
        raise ValueError(f"chunk must be at least 1, got {chunk}")
    if errors not in ("raise", "collect"):
        raise ValueError(f'errors must be "raise" or "collect", got {errors!r}')
    return Parallel(executor, progress, chunk, errors)
