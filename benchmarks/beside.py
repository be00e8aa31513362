"""Measure another checkout and this one in turn, to see what a change does.

Usage: python benchmarks/beside.py FOLDER [SCRIPT ...] [--rounds N]

FOLDER is another checkout of this repository, such as a `git worktree` of the commit
before the change. The scripts (`run`, `objects` and `configs`, or those that are
named) of both checkouts run in turn, in processes of their own, each with its own
`src`. What is compared is the least CPU time that leafwise took for each thing in any
process; a ratio below 1 says that this checkout is the faster one.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from reports import ROOT


SCRIPTS = ("run", "objects", "configs")

Times = dict[tuple[str, str], float]
"""The least microseconds by group and title."""


def run_script(checkout: Path, script: str) -> Times:
    """Run a script of a checkout, and return the times that it writes."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "times.json"
        path = checkout / "benchmarks" / f"{script}.py"
        command = [sys.executable, str(path), "--quick", "--json", str(file)]
        environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
        subprocess.run(command, env=environment, cwd=checkout, check=True)
        records = json.loads(file.read_text(encoding="utf-8"))
    times: Times = {}
    for record in records:
        key = (record["group"], record["name"])
        times[key] = record["least"]
    return times


def update_least(least: Times, times: Times) -> None:
    """Replace the times that are larger than those of another process."""
    for key, time in times.items():
        least[key] = min(time, least.get(key, time))


def measure_in_turn(other: Path, script: str, rounds: int) -> tuple[Times, Times]:
    """Run a script of the other checkout and of this one in turn.

    Returns:
        The least times of each.
    """
    before: Times = {}
    after: Times = {}
    for turn in range(rounds):
        if turn % 2 == 0:
            update_least(before, run_script(other, script))
            update_least(after, run_script(ROOT, script))
        else:  # the other way round, as a machine gets hot and slow
            update_least(after, run_script(ROOT, script))
            update_least(before, run_script(other, script))
    return before, after


def comparison(before: Times, after: Times) -> Iterator[str]:
    """Yield a line for each thing that is measured, and one for each group."""
    ratios: dict[str, list[float]] = {}
    for key, time_before in before.items():
        group, title = key
        if key not in after:
            yield f"{title:60} only in the other checkout"
            continue
        time_after = after[key]
        ratio = time_after / time_before
        ratios.setdefault(group, []).append(ratio)
        yield f"{title:60} {time_before:12.2f} {time_after:12.2f} µs {ratio:6.2f}"
    for key in after:
        if key not in before:
            yield f"{key[1]:60} only in this checkout"
    for group, values in ratios.items():
        mean = statistics.geometric_mean(values)
        yield f"geometric mean, {group}: {mean:.3f}"


def main() -> int:
    """Compare the two checkouts, script by script."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="the other checkout")
    parser.add_argument("scripts", nargs="*", help=f"of {', '.join(SCRIPTS)}")
    parser.add_argument("--rounds", type=int, default=4, help="processes of each")
    options = parser.parse_args()
    other = options.folder.resolve()
    for script in options.scripts or SCRIPTS:
        before, after = measure_in_turn(other, script, options.rounds)
        print(f"{script}: {other}, then {ROOT}")
        for line in comparison(before, after):
            print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
