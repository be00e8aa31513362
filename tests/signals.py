"""Real signals: how many exceptions of their handlers reach the program.

`python tests/signals.py` sends 200 of each signal to each program and prints how many
were lost: the handler raised, and the program went on. The programs of plain Python,
which run before anything is imported, say how many Python itself loses.
"""

import contextlib
import gc
import io
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any


class TimeIsUp(Exception):
    """What the handler of SIGALRM raises."""


class Counter:
    """Counts what a handler raised and what came out of a program.

    Attributes:
        raised: How often the handler raised.
        caught: How often the program ended with that exception.
    """

    def __init__(self, error: type[BaseException]) -> None:
        self.error = error
        self.raised = self.caught = 0

    def handle(self, *_: object) -> None:
        """Raise a new exception, as the handler of a signal."""
        self.raised += 1
        raise self.error("signal")

    def _until_raised(
        self, program: Callable[[], object], send: Callable[[], object]
    ) -> None:
        # a function of its own: a `try` around the loop does not cover its jump back
        before = self.raised
        send()
        while self.raised == before:
            program()

    def run(self, program: Callable[[], object], send: Callable[[], object]) -> None:
        """Call a program until a signal has come."""
        try:
            self._until_raised(program, send)
        except BaseException as error:
            # a `finally` of argparse raises another exception, in its context
            while type(error) is not self.error and error.__context__ is not None:
                error = error.__context__
            if type(error) is not self.error:
                raise
            self.caught += 1


def lost(
    program: Callable[[], object], name: str, times: int, seed: int = 0
) -> tuple[int, int]:
    """Send signals to a program, and count the exceptions that do not come out.

    Args:
        program: What is called again and again, in the main thread.
        name: `"SIGINT"`, sent by another thread, or `"SIGALRM"`, sent by a timer.
        times: How many to send.
        seed: Seed of the times to wait, up to 8 ms.

    Returns:
        How many exceptions were raised, and how many of them were lost.
    """
    random = Random(seed)
    counter = Counter(KeyboardInterrupt if name == "SIGINT" else TimeIsUp)
    number = getattr(signal, name)
    before = signal.signal(number, counter.handle)
    try:
        for _ in range(times):
            seconds = random.uniform(1e-4, 8e-3)
            if name == "SIGALRM":
                counter.run(
                    program,
                    lambda s=seconds: signal.setitimer(signal.ITIMER_REAL, s),
                )
                continue
            sender = threading.Thread(target=_send, args=(seconds, number))
            counter.run(program, sender.start)
            sender.join()
    finally:
        signal.signal(number, before)
    return counter.raised, counter.raised - counter.caught


def _send(seconds: float, number: int) -> None:
    time.sleep(seconds)
    os.kill(os.getpid(), number)


# ---------------------------------------------------------------------------- programs


def plain() -> dict[str, Callable[[], object]]:
    """Return programs of plain Python."""
    kept = [[i] for i in range(20_000)]
    return {
        "allocating": lambda: ([[i] for i in range(20_000)], gc.collect(), kept),
        "copying": lambda: [{"a": [i], "b": (i, [i])} for i in range(5_000)],
    }


def of_leafwise(folder: Path) -> dict[str, Callable[[], object]]:
    """Return programs that call leafwise; files go to a folder."""
    import numpy as np

    import leafwise as lw
    from leafwise.cli import main

    arrays = {name: np.ones(10_000) for name in "abcd"}
    tree = [{"a": i, "b": (i, [i])} for i in range(2_000)]
    leaves, treedef = lw.tree_flatten(tree)
    config = folder / "config.yaml"
    config.write_text("a: 1  # one\nb: [1, 2]\n")

    def edit() -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            main(["set", "-i", str(config), "a=2"])

    edit()  # what an interrupt leaves of an import stays broken
    return {
        "flattening": lambda: lw.tree_leaves(tree),
        "flattening, predicate": lambda: lw.tree_leaves(tree, is_leaf=lambda _: False),
        "mapping": lambda: lw.tree_map(lambda x: x, tree),
        "mapping with paths": lambda: lw.tree_map_with_path(lambda _, x: x, tree),
        "unflattening": lambda: treedef.unflatten(leaves),
        "saving .json": lambda: lw.save(folder / "tree.json", tree[:200]),
        "saving .npz": lambda: lw.save(folder / "tree.npz", arrays),
        "saving .safetensors": lambda: lw.save(folder / "tree.safetensors", arrays),
        "editing in place": edit,
    }


def counts(times: int) -> Iterator[tuple[str, str, int, int]]:
    """Yield programs, signals, and how many exceptions were raised and lost."""
    with tempfile.TemporaryDirectory() as folder:
        groups: list[tuple[str, Callable[[], dict[str, Any]]]] = [
            ("python: ", plain),
            ("leafwise: ", lambda: {**plain(), **of_leafwise(Path(folder))}),
        ]
        for who, programs in groups:
            for name, program in programs().items():
                for sort in ("SIGINT", "SIGALRM"):
                    yield who + name, sort, *lost(program, sort, times)


if __name__ == "__main__":
    print(f"{'program':34} {'signal':8} raised  lost")
    for what, sort, raised, missing in counts(
        int(sys.argv[1]) if sys.argv[1:] else 200
    ):
        print(f"{what:34} {sort:8} {raised:6} {missing:5}", flush=True)
