"""Processes that fork while other threads register: the child works, and ends."""

import os
import select
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from random import Random
from typing import Any

import leafwise as lw

from . import odd
from .runner import Differs, Round
from .threads import ENGINE, Shared, expect, forget, register, register_other, switch


_PATIENCE = 20.0  # seconds for a child, which takes a few milliseconds
WRITERS = (register, register_other, switch, forget)


def play(one: Round) -> None:
    """Fork a few times while threads register and switch."""
    if not hasattr(os, "fork"):
        return
    odd.unregister_all()
    shared = Shared(one.random)
    writers = one.random.choices(WRITERS, k=2)
    one.step(f"threads: {', '.join(writer.__name__ for writer in writers)}")
    stop = threading.Event()
    seeds = [one.random.random() for _ in writers]
    threads = [
        threading.Thread(target=_until, args=(stop, writer, shared, seed), daemon=True)
        for writer, seed in zip(writers, seeds, strict=True)
    ]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    for thread in threads:
        thread.start()
    try:
        for _ in range(5):
            one.comparisons += 1
            time.sleep(one.random.random() / 1000)
            forked(shared)
    finally:
        stop.set()
        for thread in threads:
            thread.join(_PATIENCE)
        sys.setswitchinterval(before)
        odd.unregister_all()


def _until(
    stop: threading.Event,
    writer: Callable[[Random, Shared], None],
    shared: Shared,
    seed: float,
) -> None:
    random = Random(seed)
    while not stop.is_set():
        writer(random, shared)


def forked(shared: Shared) -> None:
    """Fork; wait for what the child says, and end it if it says nothing.

    Raises:
        Differs: The child failed, or did not end.
    """
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # there are threads: that is the point
        child = os.fork()
    if child == 0:
        _say(writer, shared)
    os.close(writer)
    try:
        ready, _, _ = select.select([reader], [], [], _PATIENCE)
        said = os.read(reader, 65536).decode() if ready else "no end"
    finally:
        os.close(reader)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    if said != "done":
        raise Differs(f"the child: {said}")


def _say(writer: int, shared: Shared) -> Any:
    """Work in the child, say how it went, and leave without any cleaning up."""
    said = "done"
    try:
        work(shared)
    except BaseException:
        said = traceback.format_exc()
    os.write(writer, said.encode())
    os._exit(0)


def work(shared: Shared) -> None:
    """Do a bit of everything."""
    random = Random(0)
    lw.tree_map(lambda x, y: x, shared.tree, shared.tree)
    odd.register(odd.Late, way=0)
    tree = [odd.Late([1, 2], None)]
    expect("leaves", lw.tree_leaves(tree) == [2, 1], lw.tree_leaves(tree))
    odd.unregister(odd.Late)
    expect("leaves", lw.tree_leaves(tree) == tree, lw.tree_leaves(tree))
    register_other(random, shared)
    if ENGINE:
        with ENGINE.eager():
            for _ in range(3):
                lw.tree_flatten(shared.tree)
    lw.namespace("fuzz-child")
