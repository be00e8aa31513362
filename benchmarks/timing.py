"""Time functions side by side, in one process and in turn.

Times are CPU times of the process (`time.process_time`): the wall clock also counts
what other programs do meanwhile, so that on a busy machine a ratio depends on chance.
The clock of CPU time is fine enough on Linux and macOS; on Windows it is too coarse.

No benchmark by itself; the scripts of this folder use it.
"""

from __future__ import annotations

import dataclasses
import gc
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any


Call = Callable[[], Any]
"""A function without arguments, of which one call is timed."""

Functions = dict[str, Call]
"""Functions that do the same thing, by the name of the library."""

Workload = Callable[[], Functions]
"""Prepares functions that are to be compared."""

WARM_UP_CALLS = 8
LEAFWISE_WARM_UP_CALLS = 300  # the engine compiles a structure after at most 256 uses
WARM_UP_SECONDS = 3


@dataclasses.dataclass(frozen=True)
class Timing:
    """How long leafwise takes for a workload, and how the other libraries compare.

    Attributes:
        microseconds: The time of a call of leafwise, the median of the rounds.
        least: The same in the fastest round.
        ratios: For each other library, how many times as long it takes: the median of
            the ratios of the rounds.
    """

    microseconds: float
    least: float
    ratios: dict[str, float]


def seconds_per_call(function: Call, calls: int) -> float:
    """Return the mean time of a call."""
    start = time.process_time()
    for _ in range(calls):
        function()
    return (time.process_time() - start) / calls


def warm_up(name: str, function: Call) -> None:
    """Call a function until everything is cached and compiled, or time is up."""
    calls = LEAFWISE_WARM_UP_CALLS if name == "leafwise" else WARM_UP_CALLS
    deadline = time.process_time() + WARM_UP_SECONDS
    for _ in range(calls):
        function()
        if time.process_time() > deadline:
            break


def measure(
    functions: Functions, rounds: int, slice_seconds: float
) -> dict[str, list[float]]:
    """Time the functions in turn, each for a slice of time in each round.

    Returns:
        For each function, the seconds of a call by round.
    """
    calls: dict[str, int] = {}
    for name, function in functions.items():
        warm_up(name, function)
        estimate = max(seconds_per_call(function, 2), 1e-8)
        calls[name] = max(1, int(slice_seconds / estimate))
    times: dict[str, list[float]] = {name: [] for name in functions}
    names = list(functions)
    for turn in range(rounds):
        # each round begins with another function: the first one of a round would
        # otherwise always run with the caches that the last one leaves behind
        start = turn % len(names)
        for name in names[start:] + names[:start]:
            times[name].append(seconds_per_call(functions[name], calls[name]))
    return times


def compare(times: dict[str, list[float]]) -> Timing:
    """Compare the times of leafwise by round with those of the other libraries."""
    leafwise_times = times["leafwise"]
    ratios: dict[str, float] = {}
    for name, other_times in times.items():
        if name == "leafwise":
            continue
        # the two times of one round: a slow round of the machine is slow for both
        pairs = zip(other_times, leafwise_times, strict=True)
        ratios[name] = statistics.median(other / ours for other, ours in pairs)
    return Timing(
        microseconds=statistics.median(leafwise_times) * 1e6,
        least=min(leafwise_times) * 1e6,
        ratios=ratios,
    )


def side_by_side(functions: Functions, rounds: int, slice_seconds: float) -> Timing:
    """Time functions in turn, and compare that of leafwise with the other ones."""
    return compare(measure(functions, rounds, slice_seconds))


def time_workloads(
    workloads: dict[str, Workload], rounds: int, slice_seconds: float
) -> Iterator[tuple[str, Timing]]:
    """Yield the title of each workload, and its timing."""
    for title, prepare in workloads.items():
        yield title, side_by_side(prepare(), rounds, slice_seconds)


def time_small_workloads(
    workloads: dict[str, Workload], *, quick: bool
) -> dict[str, Timing]:
    """Return the timing of workloads of microseconds, by title.

    Args:
        workloads: The workloads.
        quick: Whether to time them in few short rounds.
    """
    rounds = 3 if quick else 15
    slice_seconds = 0.002 if quick else 0.01
    # a collection would be charged to whichever library runs at that moment
    gc.collect()
    gc.disable()
    return dict(time_workloads(workloads, rounds, slice_seconds))
