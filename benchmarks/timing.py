"""Timing functions side by side, and where the figures go: into pages and files.

No benchmark by itself; the scripts of this folder use it.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


WARM_UP = {"leafwise": 300}
"""Calls before anything is timed, 8 of others: a structure is compiled after 256."""
WARM_UP_SECONDS = 3


@dataclasses.dataclass(frozen=True)
class Timed:
    """What was found for one thing to do.

    Attributes:
        microseconds: How long leafwise takes, in the median of the rounds.
        least: The same in the fastest round.
        ratios: How many times as long each other one takes, in the median of the
            ratios of the rounds.
    """

    microseconds: float
    least: float
    ratios: dict[str, float]


def seconds(function: Callable[[], Any], loops: int) -> float:
    """Return the time of one call, over that many calls."""
    begin = time.perf_counter()
    for _ in range(loops):
        function()
    return (time.perf_counter() - begin) / loops


def loops_for(name: str, function: Callable[[], Any], slice_seconds: float) -> int:
    """Return how many calls fill a slice of time, once everything is warm."""
    end = time.perf_counter() + WARM_UP_SECONDS
    for _ in range(WARM_UP.get(name, 8)):
        function()
        if time.perf_counter() > end:
            break
    return max(1, int(slice_seconds / max(seconds(function, 2), 1e-8)))


def measure(
    functions: dict[str, Callable[[], Any]], rounds: int, slice_seconds: float
) -> dict[str, list[float]]:
    """Time the functions in turn, and return each one's seconds by round."""
    loops = {n: loops_for(n, f, slice_seconds) for n, f in functions.items()}
    times: dict[str, list[float]] = {name: [] for name in functions}
    names = list(functions)
    for turn in range(rounds):
        start = turn % len(names)
        for name in names[start:] + names[:start]:
            times[name].append(seconds(functions[name], loops[name]))
    return times


def side_by_side(
    functions: dict[str, Callable[[], Any]], rounds: int, slice_seconds: float
) -> Timed:
    """Time the functions in turn, and compare "leafwise" with the other ones."""
    return compared(measure(functions, rounds, slice_seconds))


def compared(times: dict[str, list[float]]) -> Timed:
    """Compare the seconds of "leafwise" by round with those of the other ones."""
    ours = times["leafwise"]
    ratios = {
        other: statistics.median(a / b for a, b in zip(theirs, ours, strict=True))
        for other, theirs in times.items()
        if other != "leafwise"
    }
    return Timed(statistics.median(ours) * 1e6, min(ours) * 1e6, ratios)


def geometric_mean(values: list[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, values)))


def conditions() -> str:
    """Return how the figures of a table were found."""
    version = platform.python_version()
    return f"CPython {version}; one process, in turn, medians of ratios."


def arguments(doc: str | None) -> argparse.Namespace:
    """Return what a script was called with; its docstring says what it does."""
    parser = argparse.ArgumentParser(description=(doc or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few short rounds")
    parser.add_argument("--write", action="store_true", help="put all into the docs")
    parser.add_argument("--json", type=Path, metavar="FILE", help="put the times there")
    return parser.parse_args()


def save(file: Path, found: list[tuple[str, str, Timed]]) -> None:
    """Write the group and the name of each thing with its times as JSON.

    `beside.py` reads it.
    """
    cells = [
        {"group": group, "name": name, **dataclasses.asdict(timed)}
        for group, name, timed in found
    ]
    file.write_text(json.dumps(cells, indent=1) + "\n", encoding="utf-8")


def write(page: Path, name: str, lines: list[str]) -> None:
    """Put lines between the two marks of that name in a page."""
    begin, end = f"<!-- {name} -->\n", "<!-- end -->"
    before, rest = page.read_text(encoding="utf-8").split(begin)
    after = rest[rest.index(end) :]
    text = "\n".join(lines)
    page.write_text(f"{before}{begin}{text}\n{after}", encoding="utf-8")
