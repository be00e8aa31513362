"""The command line of the fuzzer: the properties of the tests, for as long as is asked.

`python -m tests.fuzz --minutes 10` runs all of them; names of files or folders follow.
"""

import argparse
import os
import subprocess
import sys
import time


def main() -> int:
    """Run rounds with new examples until the time is up or one fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0, metavar="M")
    parser.add_argument("--seed", metavar="N", help="one round, the same each time")
    parser.add_argument("tests", nargs="*", default=["tests"])
    options = parser.parse_args()
    end = time.monotonic() + 60 * options.minutes
    rounds = ["-m", "hypothesis", "--hypothesis-profile=explore", "--no-header"]
    if options.seed is not None:
        rounds.append(f"--hypothesis-seed={options.seed}")
    environment = {"LEAFWISE_EXAMPLES": "50", **os.environ}
    while True:
        command = [sys.executable, "-m", "pytest", "-q", "-x", *rounds, *options.tests]
        status = subprocess.run(command, env=environment, check=False).returncode
        if status or options.seed is not None or time.monotonic() > end:
            return status


if __name__ == "__main__":
    sys.exit(main())
