"""Interruptions at chosen places, so that tests of races do not depend on luck."""

import subprocess
import sys
import threading
from contextlib import contextmanager


@contextmanager
def interrupted(action, at, files):
    """Run an action once, before the instruction of that number in some files.

    A finalizer, a signal handler or another thread could do the same there.

    Args:
        action: What to do.
        at: How many instructions of the files to let pass before.
        files: What the names of the files have in them, one of several.

    Yields:
        A list in which something stands once the action was run.
    """
    done, passed, before = [], [0], sys.gettrace()

    def local(frame, event, _arg):
        if event == "opcode":
            passed[0] += 1
            if passed[0] > at and not done:
                done.append(True)
                sys.settrace(before)
                action()
        return None if done else local

    def trace(frame, _event, _arg):
        if done or not any(file in frame.f_code.co_filename for file in files):
            return None
        frame.f_trace_opcodes = True
        return local

    sys.settrace(trace)
    try:
        yield done
    finally:
        sys.settrace(before)


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
    """Run a script in a process of its own, which is ended only if it hangs."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
