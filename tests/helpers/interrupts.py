"""Interruptions before chosen instructions, so that tests of races need no luck."""

import dis
import functools
import sys
import threading
from contextlib import contextmanager
from itertools import pairwise


@contextmanager
def interrupted(action, at, files, signals=False):
    """Run an action once, before an instruction with a given number in some files.

    A finalizer or another thread could do the same there.

    Args:
        action: The function to call.
        at: How many instructions of the files to let pass before.
        files: Parts of the names of files.
        signals: Whether to count only instructions before which Python may call the
            handler of a signal.

    Yields:
        A list that is no longer empty once the action was run.
    """
    runs = []
    count = 0

    def is_watched(file):
        return not runs and any(name in file for name in files)

    def step(code, offset):
        """Count an instruction; run the action when it is time."""
        nonlocal count
        if signals and offset not in _signal_offsets(code):
            return
        if signals and code.co_name == "<genexpr>":  # when closed, it drops errors
            return
        count += 1
        if count > at:
            runs.append(True)
            action()

    watch = _monitored if hasattr(sys, "monitoring") else _traced
    with watch(is_watched, step):
        yield runs


def exception_reaches_caller(function, error, at, files):
    """Raise an exception inside a call, as the handler of a signal does.

    Args:
        function: The function to call.
        error: The exception.
        at: How many instructions of the files to let pass before.
        files: Parts of the names of files.

    Returns:
        Whether the exception was raised; else the call has fewer instructions.

    Raises:
        AssertionError: The exception was swallowed, or replaced by another one.
    """

    def raise_error():
        raise error

    with interrupted(raise_error, at, files, signals=True) as runs:
        caught = None
        try:
            function()
        except type(error) as outcome:
            caught = outcome
            error.__traceback__ = None  # its frames hold references
    expected = error if runs else None
    assert caught is expected, f"{error!r} was lost, {caught!r} was raised"
    return bool(runs)


def count_instructions(function, files):
    """Return about how many instructions of some files a call runs."""
    low = 0
    high = 1
    while exception_reaches_caller(function, KeyboardInterrupt(), high, files):
        low = high
        high = 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if exception_reaches_caller(function, KeyboardInterrupt(), middle, files):
            low = middle
        else:
            high = middle
    return high


@functools.cache
def _signal_offsets(code):
    """Return the instructions before which Python may call the handler of a signal.

    Python calls it after a call. The exception then counts as raised by the call, so
    the next instruction qualifies only if the same `try` blocks are around it.
    """
    handlers = dis._parse_exception_table(code)

    def handlers_around(offset):
        return [
            handler for handler in handlers if handler.start <= offset < handler.end
        ]

    return {
        following.offset
        for call, following in pairwise(dis.get_instructions(code))
        if call.opname.startswith(("CALL", "RESUME"))
        and handlers_around(call.offset) == handlers_around(following.offset)
    }


@contextmanager
def _traced(is_watched, step):
    """Call `step` before each instruction that this thread runs in watched files."""
    previous_trace = sys.gettrace()

    def trace_frame(frame, event, _arg):
        if event == "opcode" and is_watched(frame.f_code.co_filename):
            step(frame.f_code, frame.f_lasti)
        return trace_frame

    def trace(frame, _event, _arg):
        if not is_watched(frame.f_code.co_filename):
            return None
        frame.f_trace_opcodes = True
        return trace_frame

    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(previous_trace)


@contextmanager
def _monitored(is_watched, step):
    """Do the same as `_traced` from Python 3.12 on; only watched code is slow."""
    monitoring = sys.monitoring
    events = monitoring.events
    entries = (events.PY_START, events.PY_RESUME, events.PY_THROW)
    tool = monitoring.OPTIMIZER_ID
    this_thread = threading.get_ident()
    watched = {}  # by id, since code objects of the same text are equal

    def on_entry(code, *_):
        if id(code) not in watched and is_watched(code.co_filename):
            watched[id(code)] = code
            monitoring.set_local_events(tool, code, events.INSTRUCTION)

    def on_instruction(code, offset):
        if is_watched(code.co_filename) and threading.get_ident() == this_thread:
            step(code, offset)

    monitoring.use_tool_id(tool, "interrupts")
    try:
        monitoring.register_callback(tool, events.INSTRUCTION, on_instruction)
        for event in entries:
            monitoring.register_callback(tool, event, on_entry)
        monitoring.set_events(tool, sum(entries))
        yield
    finally:
        monitoring.set_events(tool, 0)
        for code in watched.values():
            monitoring.set_local_events(tool, code, 0)
        for event in (*entries, events.INSTRUCTION):
            monitoring.register_callback(tool, event, None)
        monitoring.free_tool_id(tool)
