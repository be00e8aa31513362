"""Maps of calls that take long: on executors, with progress, in chunks."""

import asyncio
import os
import signal
import threading
import traceback
from collections import OrderedDict
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context

import pytest
from hypothesis import given
from hypothesis import strategies as st

import leafwise as lw
from helpers.random_trees import trees


def double(x):
    return x * 2


def fail_on_three(x):
    if x == 3:
        raise ValueError("three")
    return x


@pytest.mark.needs("threads")
def test_the_first_failure_cancels_the_rest():
    """What has not begun is not begun, and the error has the path of its leaf."""
    begun = []

    def work(x):
        begun.append(x)
        if x == 3:
            raise ValueError("three")
        if x > 3:
            finished.wait()

    finished = threading.Event()
    with ThreadPoolExecutor(1) as executor:
        try:
            with pytest.raises(ValueError, match="three") as caught:
                lw.parallel(executor).tree_map(work, list(range(100)))
        finally:
            finished.set()
    assert caught.value.__notes__ == ["at key path [3]"]
    assert begun[:4] == [0, 1, 2, 3]
    assert len(begun) <= 5  # one may have been on its way


def test_structures_are_checked_before():
    """Nothing is submitted for trees that do not fit."""

    class Never:
        def submit(self, *_):
            raise AssertionError("submitted")

    with pytest.raises(lw.StructureError):
        lw.parallel(Never()).tree_map(max, [1], [1, 2])
    assert lw.parallel(Never()).tree_map(double, {}) == {}


# ------------------------------------------------------------------------------- laws


class Slow:
    """An executor whose calls end in reverse order of submission, all at once."""

    def __init__(self):
        self.calls = []
        self.lock = threading.Lock()

    def submit(self, fn, *args):
        future = Future()
        with self.lock:
            self.calls.append((future, fn, args))
            if len(self.calls) == 1:  # when the rest has been submitted
                threading.Timer(0.05, self.run).start()
        return future

    def run(self):
        with self.lock:
            calls = self.calls
            self.calls = []
        for future, fn, args in reversed(calls):
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(fn(*args))
                except ValueError as error:
                    future.set_exception(error)


class Bare:
    """An executor that runs each call when it is submitted."""

    def submit(self, fn, *args):
        future = Future()
        try:
            future.set_result(fn(*args))
        except Exception as error:  # of the function
            future.set_exception(error)
        return future


@pytest.fixture(scope="module")
def executors():
    """Return an executor of each kind."""
    spawn = get_context("spawn")
    with (
        ThreadPoolExecutor(3) as threads,
        ProcessPoolExecutor(1, mp_context=spawn) as processes,
    ):
        yield {
            "here": None,
            "threads": threads,
            "processes": processes,
            "in reverse": Slow(),
            "bare": Bare(),
        }


KINDS = ["here", "threads", "processes", "in reverse", "bare"]
LARGE = {"w": list(range(20)), "o": OrderedDict(z=(1, None), y={"k": 2}), "s": "text"}


@given(trees(), st.sampled_from([None, 1, 2, 5]), st.booleans())
@pytest.mark.needs("threads")
def test_random_trees(tree, chunk, is_elsewhere):
    """The law on random trees, with collected exceptions where calls fail."""

    def odd(path, leaf):
        if len(str(path)) % 2:
            raise ValueError(str(path))
        return path, type(leaf)

    def expected(path, leaf):
        try:
            return odd(path, leaf)
        except ValueError as error:
            return repr(error), f"at key path {path}"

    with ThreadPoolExecutor(2) as pool:
        executor = pool if is_elsewhere else None
        maps = lw.parallel(executor, chunk=chunk, errors="collect")
        result = maps.tree_map_with_path(odd, tree)
    leaves, treedef = lw.tree_flatten(tree)
    changed_leaves = [
        (repr(leaf), *leaf.__notes__) if isinstance(leaf, ValueError) else leaf
        for leaf in treedef.flatten_up_to(result)
    ]
    pairs = zip(lw.tree_paths(tree), leaves, strict=True)
    assert changed_leaves == [expected(path, leaf) for path, leaf in pairs]


# --------------------------------------------------------------------------- failures


@pytest.mark.needs("processes")
@pytest.mark.parametrize("chunk", [None, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_exceptions_stand_in_their_places(executors, kind, chunk):
    """Each with its path and with where it was raised."""
    maps = lw.parallel(executors[kind], chunk=chunk, errors="collect")
    result = maps.tree_map(fail_on_three, {"a": [1, 3, 2], "b": 3, "c": 4})
    assert result["a"][::2] == [1, 2]
    assert result["c"] == 4
    first = result["a"][1]
    second = result["b"]
    assert list(map(type, (first, second))) == [ValueError, ValueError]
    assert first.__notes__ == ["at key path ['a'][1]"]
    assert second.__notes__ == ["at key path ['b']"]
    assert "fail_on_three" in "".join(traceback.format_exception(first))


def leave(x):
    if x == 1:
        os._exit(1)
    return x


@pytest.mark.needs("processes")
@pytest.mark.parametrize("chunk", [None, 2])
def test_a_pool_that_breaks(chunk):
    """What was done is kept; the one exception of all others has two notes at most."""
    spawn = get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as executor:
        maps = lw.parallel(executor, chunk=chunk, errors="collect")
        result = maps.tree_map(leave, [2, 3, 1, 4, 5, 6, 7])
    assert result[:2] == [2, 3]
    broken = result[2:]
    assert {type(error) for error in broken} == {BrokenProcessPool}
    assert all(1 <= len(error.__notes__) <= 2 for error in broken)
    with pytest.raises(BrokenProcessPool):
        lw.parallel(executor, chunk=chunk, errors="collect").tree_map(leave, [2, 3])


def a_lock(x):
    return threading.Lock() if x == 1 else x


@pytest.mark.needs("processes")
def test_results_that_cannot_be_pickled(executors):
    """All of the chunk fails, and the others do not."""
    collecting = lw.parallel(executors["processes"], chunk=2, errors="collect")
    first, second, third = collecting.tree_map(a_lock, [0, 1, 2])
    assert third == 2
    assert first is second
    assert "pickle" in str(first)
    # the last one: from Python 3.14 on, pickle adds notes of its own
    assert first.__notes__[-1] == "at one of the 2 leaves from key path [0] on"
    with pytest.raises(TypeError, match="pickle") as caught:
        lw.parallel(executors["processes"], chunk=3).tree_map(a_lock, [0, 1, 2])
    with pytest.raises(TypeError, match="pickle") as caught:
        lw.parallel(executors["processes"]).tree_map(a_lock, [0, 1, 2])
    assert caught.value.__notes__[-1] == "at key path [1]"


@pytest.mark.needs("processes")
def test_functions_that_cannot_be_pickled(executors):
    """The exception says what a process needs."""
    for chunk in (None, 2):
        maps = lw.parallel(executors["processes"], chunk=chunk)
        with pytest.raises(Exception, match="pickle") as caught:
            maps.tree_map(lambda x: x, [1, 2])
        top_level = "a function for a ProcessPoolExecutor must be defined at the top "
        # pickle adds notes of its own since Python 3.14
        assert f"{top_level}level of a module" in caught.value.__notes__


def test_an_exception_that_is_returned_is_a_result():
    """Only what is raised ends a map."""
    error = ValueError("no")
    assert lw.parallel().tree_map(lambda _: error, [1]) == [error]
    assert lw.parallel(Bare(), chunk=2).tree_map(lambda _: error, [1]) == [error]
    assert not hasattr(error, "__notes__")


def test_calls_here_stop_at_the_first_failure():
    """In leaf order, and the error has its path, whatever the exception."""
    begun = []

    def work(x):
        begun.append(x)
        if x == 2:
            raise StopIteration("two")

    with pytest.raises(StopIteration, match="two") as caught:
        lw.parallel().tree_map(work, {"a": [1, 2, 3]})
    assert caught.value.__notes__ == ["at key path ['a'][1]"]
    assert begun == [1, 2]
    with pytest.raises(KeyboardInterrupt):
        lw.parallel(errors="collect").tree_map(interrupt, [1])
    with pytest.raises(ZeroDivisionError) as caught:
        lw.parallel(errors="collect").tree_map_only(lambda x: 1 / x, str, [1, 0])
    assert caught.value.__notes__ == ["at key path [1]"]


def interrupt(_):
    raise KeyboardInterrupt


@pytest.mark.needs("threads")
@pytest.mark.parametrize("errors", ["raise", "collect"])
@pytest.mark.parametrize("chunk", [None, 5])
def test_an_interrupt_cancels_what_has_not_begun(errors, chunk):
    """One in a call, or here: it passes through, and is never collected."""
    begun = []
    gate = threading.Event()

    def work(x):
        begun.append(x)
        if x == 0:
            raise KeyboardInterrupt
        gate.wait(60)

    def message_of(*_):
        raise KeyboardInterrupt

    with ThreadPoolExecutor(1) as executor:
        try:
            with pytest.raises(KeyboardInterrupt):
                lw.parallel(executor, errors=errors, chunk=chunk).tree_map(
                    work, list(range(50))
                )
        finally:
            gate.set()
        assert len(begun) <= 2
    begun.clear()
    with ThreadPoolExecutor(1) as executor:
        maps = lw.parallel(executor, progress=message_of, errors=errors, chunk=chunk)
        gate.clear()
        try:
            with pytest.raises(KeyboardInterrupt):
                maps.tree_map(lambda x: work(x + 1) if x else None, [0] * 9 + [1] * 99)
        finally:
            gate.set()
    assert len(begun) <= 2


@pytest.mark.needs("threads")
@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="no such signals")
def test_an_interrupt_while_the_map_waits():
    """It comes through at once, and what has not begun is cancelled."""
    begun = []
    gate = threading.Event()

    def work(x):
        begun.append(x)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        gate.wait(60)

    # a process that a shell started in the background ignores the signal
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with ThreadPoolExecutor(1) as executor:
        try:
            with pytest.raises(KeyboardInterrupt):
                lw.parallel(executor, errors="collect").tree_map(work, list(range(50)))
        finally:
            gate.set()
            signal.signal(signal.SIGINT, before)
    assert begun == [0]


def test_an_executor_that_breaks_on_the_way():
    """What it refuses fails; the results that are there are kept."""

    class Breaking(Bare):
        left = 2

        def submit(self, fn, *args):
            self.left -= 1
            if self.left < 0:
                raise RuntimeError("broken")
            return super().submit(fn, *args)

    result = lw.parallel(Breaking(), errors="collect").tree_map(double, [1, 2, 3])
    assert result[:2] == [2, 4]
    assert result[2].__notes__ == ["at key path [2]"]
    with pytest.raises(RuntimeError, match="broken"):
        lw.parallel(Breaking()).tree_map(double, [1, 2, 3])
    broken = Breaking()
    broken.left = 0
    with pytest.raises(RuntimeError, match="broken"):
        lw.parallel(broken, errors="collect").tree_map(double, [1, 2, 3])


# --------------------------------------------------------------------------- progress


@pytest.mark.needs("processes")
@pytest.mark.parametrize("chunk", [None, 4])
@pytest.mark.parametrize("kind", KINDS)
def test_progress_counts_each_leaf(executors, kind, chunk):
    """Once, here, in the order in which they are done."""
    message_of = []
    threads = set()

    def tell(*what):
        message_of.append(what)
        threads.add(threading.get_ident())

    maps = lw.parallel(executors[kind], progress=tell, chunk=chunk)
    assert maps.tree_map(double, LARGE) == lw.tree_map(double, LARGE)
    total = len(lw.tree_leaves(LARGE))
    assert [what[:2] for what in message_of] == [
        (n, total) for n in range(1, total + 1)
    ]
    paths = lw.tree_paths(LARGE)
    assert sorted(map(str, paths)) == sorted(str(path) for *_, path in message_of)
    assert threads == {threading.get_ident()}
    if kind in ("here", "bare"):
        assert [path for *_, path in message_of] == paths
    if (kind, chunk) == ("in reverse", None):
        assert [path for *_, path in message_of] == paths[::-1]
    message_of.clear()
    maps.tree_map_only(str, str.upper, LARGE)
    assert message_of == [(1, 1, lw.KeyPath((lw.DictKey("s"),)))]
    message_of.clear()
    maps.tree_map(double, [])
    assert message_of == []


# ----------------------------------------------------------------- what is submitted


@pytest.mark.needs("a loop")
def test_futures_that_can_only_be_awaited_are_refused():
    """A map that waited for them would not end."""

    class Coroutines:
        def submit(self, fn, *args):
            async def later():
                return fn(*args)

            return self.started(later())

        def started(self, coroutine):
            coroutine.close()
            return coroutine

    class Tasks(Coroutines):
        started = staticmethod(asyncio.ensure_future)

    async def run(executor):
        with pytest.raises(TypeError, match="submit must return a concurrent"):
            lw.parallel(executor).tree_map(double, [1, 2])

    asyncio.run(run(Coroutines()))
    asyncio.run(run(Tasks()))


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"executor": 4}, TypeError, "takes an executor such as .* got int: 4"),
        ({"executor": ThreadPoolExecutor}, TypeError, "takes an executor such as"),
        ({"executor": os}, TypeError, "takes an executor such as"),
        ({"chunk": 0}, ValueError, "chunk must be at least 1, got 0"),
        ({"errors": "ignore"}, ValueError, 'errors must be "raise" or "collect"'),
    ],
)
def test_options_are_checked(options, error, match):
    """When the object is made, not in the middle of a map."""
    with pytest.raises(error, match=match):
        lw.parallel(**options)
    with pytest.raises(TypeError, match="tree_map_only selects by"):
        lw.parallel().tree_map_only(3, double, [1])
