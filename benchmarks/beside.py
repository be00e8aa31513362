"""Measure another checkout and this one in turn, to see what a change does.

Usage: python benchmarks/beside.py FOLDER [SCRIPT ...] [--rounds N]

FOLDER is another checkout of this repository, such as a `git worktree` of the commit
before the change. The scripts (`run`, `objects` and `configs`, or those that are
named) of both checkouts run in turn, in processes of their own, each with its own
`src`. What is compared is the least time that leafwise took for each thing in any
process; a ratio below 1 says that this checkout is the faster one.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from timing import geometric_mean


ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = ("run", "objects", "configs")

Times = dict[tuple[str, str], float]
"""The least microseconds by group and name."""


def times(folder: Path, script: str) -> Times:
    """Run one script of a checkout, and return the times that it found."""
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "times.json"
        path = str(folder / "benchmarks" / f"{script}.py")
        environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
        command = [sys.executable, path, "--quick", "--json", str(file)]
        subprocess.run(command, env=environment, cwd=folder, check=True)
        cells = json.loads(file.read_text(encoding="utf-8"))
    return {(cell["group"], cell["name"]): cell["least"] for cell in cells}


def in_turn(
    folders: tuple[Path, Path], script: str, rounds: int
) -> tuple[Times, Times]:
    """Run a script of both checkouts in turn, and return the least times of each."""
    least: tuple[Times, Times] = ({}, {})
    for turn in range(rounds):
        for side in (turn % 2, 1 - turn % 2):
            for key, time in times(folders[side], script).items():
                least[side][key] = min(time, least[side].get(key, math.inf))
    return least


def compare(before: Times, after: Times) -> Iterator[str]:
    """Yield a line for each thing that both have, and for each group its mean."""
    groups: dict[str, list[float]] = {}
    for (group, name), theirs in before.items():
        if (group, name) not in after:
            yield f"{name:60} only in the other checkout"
            continue
        ours = after[group, name]
        groups.setdefault(group, []).append(ours / theirs)
        yield f"{name:60} {theirs:12.2f} {ours:12.2f} µs {ours / theirs:6.2f}"
    for _, name in after.keys() - before.keys():
        yield f"{name:60} only in this checkout"
    for group, ratios in groups.items():
        yield f"geometric mean, {group}: {geometric_mean(ratios):.3f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="the other checkout")
    parser.add_argument("scripts", nargs="*", help=f"of {', '.join(SCRIPTS)}")
    parser.add_argument("--rounds", type=int, default=4, help="processes of each")
    options = parser.parse_args()
    folders = (options.folder.resolve(), ROOT)
    scripts = options.scripts or SCRIPTS
    for script in scripts:
        found = in_turn(folders, script, options.rounds)
        print(f"{script}: {folders[0]}, then {folders[1]}")
        print(*compare(*found), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
