"""`python -m leafwise.compat NAMES SCRIPT [ARGS]`: run a program on stand-ins.

    python -m leafwise.compat optree train.py --steps 3
    python -m leafwise.compat jax.tree,jax.tree_util -m package.module

`--force` before the names takes the place of libraries that are installed.
"""

from __future__ import annotations

import argparse
import os
import runpy
import sys
from collections.abc import Sequence

from .modules import STANDINS, install


def main(arguments: Sequence[str] | None = None) -> None:
    """Put stand-ins into their places, and run a script or a module as `__main__`.

    Args:
        arguments: The arguments; those of the command line, if it is None.

    Example:
        >>> from leafwise.compat.__main__ import main
        >>> main(["jax.tree_util"])
        Traceback (most recent call last):
        ...
        SystemExit: 2
    """
    parser = argparse.ArgumentParser(
        "python -m leafwise.compat",
        description="Run a program with stand-ins for libraries.",
        epilog=f"There are: {', '.join(STANDINS)}.",
    )
    parser.add_argument(
        "--force", action="store_true", help="replace installed libraries"
    )
    parser.add_argument("names", help="the libraries, with commas between them")
    parser.add_argument(
        "program", nargs=argparse.REMAINDER, help="SCRIPT [ARGS], or -m MODULE [ARGS]"
    )
    options = parser.parse_args(arguments)
    program = options.program
    if program in ([], ["-m"]):
        parser.error("give a script after the names, or -m and a module")
    try:
        for name in options.names.split(","):
            install(name, force=options.force)
    except ImportError as error:
        parser.error(f"{error.name} is installed; --force replaces it by the stand-in")
    except ValueError as error:
        parser.error(str(error))
    if program[0] == "-m":
        sys.argv = program[1:]
        runpy.run_module(program[1], run_name="__main__", alter_sys=True)
        return
    sys.argv = program
    # What `python SCRIPT` does, since modules beside the script are imported.
    if not sys.flags.safe_path:
        sys.path[0] = os.path.dirname(os.path.abspath(program[0]))
    runpy.run_path(program[0], run_name="__main__")


if __name__ == "__main__":
    main()
