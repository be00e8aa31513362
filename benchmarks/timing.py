"""Timing functions side by side, and putting tables into pages."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


WARM_UP = 8


def seconds(function: Callable[[], Any], loops: int) -> float:
    """Return the time of one call, over that many calls."""
    begin = time.perf_counter()
    for _ in range(loops):
        function()
    return (time.perf_counter() - begin) / loops


def loops_for(function: Callable[[], Any], slice_seconds: float) -> int:
    """Return how many calls fill a slice of time, once everything is warm."""
    for _ in range(WARM_UP):
        function()
    return max(1, int(slice_seconds / max(seconds(function, 2), 1e-8)))


def measure(
    functions: dict[str, Callable[[], Any]], rounds: int, slice_seconds: float
) -> dict[str, list[float]]:
    """Time the functions in turn, and return each one's seconds by round."""
    loops = {name: loops_for(f, slice_seconds) for name, f in functions.items()}
    times: dict[str, list[float]] = {name: [] for name in functions}
    names = list(functions)
    for turn in range(rounds):
        start = turn % len(names)
        for name in names[start:] + names[:start]:
            times[name].append(seconds(functions[name], loops[name]))
    return times


def geometric_mean(values: list[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, values)))


def write(page: Path, name: str, lines: list[str]) -> None:
    """Put lines between the two marks of that name in a page."""
    begin, end = f"<!-- {name} -->\n", "<!-- end -->"
    before, rest = page.read_text(encoding="utf-8").split(begin)
    after = rest[rest.index(end) :]
    text = "\n".join(lines)
    page.write_text(f"{before}{begin}{text}\n{after}", encoding="utf-8")
