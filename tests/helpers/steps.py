"""How much work a call is, in steps that no other program on the machine changes."""

import sys


def count_steps(operation):
    """Return how many lines, calls and returns of Python code an operation runs."""
    count = 0

    def step(frame, event, argument):
        nonlocal count
        count += 1
        return step

    tracer = sys.gettrace()
    sys.settrace(step)
    try:
        operation()
    finally:
        sys.settrace(tracer)
    return count
