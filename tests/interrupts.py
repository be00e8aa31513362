"""Interruptions at chosen places, so that tests of races do not depend on luck."""

import dis
import functools
import os
import subprocess
import sys
import threading
from contextlib import contextmanager
from itertools import pairwise


@contextmanager
def interrupted(action, at, files, signals=False):
    """Run an action once, before the instruction of that number in some files.

    A finalizer or another thread could do the same there. With `signals` only the
    instructions count before which Python may call the handler of a signal.

    Args:
        action: What to do.
        at: How many instructions of the files to let pass before.
        files: What the names of the files have in them, one of several.

    Yields:
        A list in which something stands once the action was run.
    """
    done, passed = [], [0]

    def wanted(file):
        return not done and any(name in file for name in files)

    def step(code, offset):
        """Count an instruction; run the action when it is time."""
        if signals and offset not in _signal_offsets(code):
            return
        if signals and code.co_name == "<genexpr>":  # when closed, it drops errors
            return
        passed[0] += 1
        if passed[0] > at:
            done.append(True)
            action()

    watch = _monitored if hasattr(sys, "monitoring") else _traced
    with watch(wanted, step):
        yield done


def reaches_caller(work, error, at, files):
    """Raise an exception in some work, as a signal handler does; it must come out.

    Args:
        work: What is called.
        error: The exception.
        at: How many instructions of the files to let pass before.
        files: What the names of the files have in them, one of several.

    Returns:
        Whether the work ran so far; it came to its end otherwise.

    Raises:
        AssertionError: The exception was swallowed, or another one came out.
    """

    def raise_it():
        raise error

    with interrupted(raise_it, at, files, signals=True) as done:
        caught = None
        try:
            work()
        except type(error) as outcome:
            caught = outcome
            error.__traceback__ = None  # its frames keep what they refer to
    assert caught is (error if done else None), f"{error!r} was lost, {caught!r} came"
    return bool(done)


def instructions(work, files):
    """Return how many instructions of some files a call runs, about."""
    low, high = 0, 1
    while reaches_caller(work, KeyboardInterrupt(), high, files):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if reaches_caller(work, KeyboardInterrupt(), middle, files):
            low = middle
        else:
            high = middle
    return high


@functools.cache
def _signal_offsets(code):
    """Return the instructions before which Python may call the handler of a signal.

    It does so after a call. The exception is one of the call, so another instruction
    that other handlers of exceptions are around is none of these.
    """
    handlers = dis._parse_exception_table(code)

    def around(offset):
        return [one for one in handlers if one.start <= offset < one.end]

    known = [*dis.get_instructions(code)]
    return {
        after.offset
        for call, after in pairwise(known)
        if call.opname.startswith(("CALL", "RESUME"))
        and around(call.offset) == around(after.offset)
    }


@contextmanager
def _traced(wanted, step):
    """Tell of each instruction that this thread runs in the files that are wanted."""
    before = sys.gettrace()

    def local(frame, event, _arg):
        if event == "opcode" and wanted(frame.f_code.co_filename):
            step(frame.f_code, frame.f_lasti)
        return local

    def trace(frame, _event, _arg):
        if not wanted(frame.f_code.co_filename):
            return None
        frame.f_trace_opcodes = True
        return local

    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


@contextmanager
def _monitored(wanted, step):
    """The same as `_traced`, from Python 3.12 on; only code that is wanted is slow."""
    monitoring, here = sys.monitoring, threading.get_ident()
    tool, events = monitoring.OPTIMIZER_ID, monitoring.events
    entered = (events.PY_START, events.PY_RESUME, events.PY_THROW)
    watched = {}  # by their ids: code of the same text is equal

    def enter(code, *_):
        if id(code) not in watched and wanted(code.co_filename):
            watched[id(code)] = code
            monitoring.set_local_events(tool, code, events.INSTRUCTION)

    def instruction(code, offset):
        if wanted(code.co_filename) and threading.get_ident() == here:
            step(code, offset)

    monitoring.use_tool_id(tool, "interrupts")
    try:
        monitoring.register_callback(tool, events.INSTRUCTION, instruction)
        for event in entered:
            monitoring.register_callback(tool, event, enter)
        monitoring.set_events(tool, sum(entered))
        yield
    finally:
        monitoring.set_events(tool, 0)
        for code in watched.values():
            monitoring.set_local_events(tool, code, 0)
        for event in (*entered, events.INSTRUCTION):
            monitoring.register_callback(tool, event, None)
        monitoring.free_tool_id(tool)


def at_once(*works):
    """Run functions in threads that begin together and switch often.

    Returns:
        What they raised.
    """
    barrier, problems = threading.Barrier(len(works)), []

    def run(work):
        try:
            barrier.wait()
            work()
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    return problems


def run_apart(code):
    """Run a script in a process of its own, which is ended only if it hangs.

    What it covers is not measured: an exception of a signal's handler inside of the
    measuring would leave a lock closed.
    """
    plain = {k: v for k, v in os.environ.items() if not k.startswith("COVERAGE")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=plain,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
