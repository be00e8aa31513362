"""Scripts that run in a process of their own."""

import os
import subprocess
import sys


def run_in_process(code):
    """Run a script in another process and return what it prints; it must succeed.

    The process is ended only if it hangs. Its coverage is not measured: if the handler
    of a signal raises inside of the measuring, a lock of coverage stays closed.
    """
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("COVERAGE")
    }
    process = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=environment,
    )
    assert process.returncode == 0, process.stderr
    return process.stdout
