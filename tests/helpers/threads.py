"""Functions that run in threads at the same time."""

import sys
import threading


def run_together(*functions):
    """Run functions in threads that begin together and switch often.

    Returns:
        The exceptions that they raised.
    """
    barrier = threading.Barrier(len(functions))
    errors = []

    def run(function):
        try:
            barrier.wait()
            function()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(function,)) for function in functions]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    return errors
