"""How long imports take, each in a process of its own.

Usage: python benchmarks/imports.py [--quick] [--write] [--beside FOLDER]

The figures are the CPU time of a whole process, less that of one that imports nothing,
in the median of interleaved runs. With `--beside`, the package in another folder (the
`src` of another version) is imported in turn with this one, and the ratios are printed.
"""

from __future__ import annotations

import argparse
import compileall
import os
import statistics
import subprocess
import sys
from pathlib import Path

from timing import write


ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
NOTHING = "pass"
STATEMENTS = {
    "`import leafwise`: core, ops and engine": "import leafwise",
    "and a namespace": "import leafwise as lw; lw.namespace('benchmark').tree_map",
    "and `lw.at`": "import leafwise as lw; lw.at",
    "and all of `lw.selection`": (
        "from leafwise import selection as s; [getattr(s, name) for name in s.__all__]"
    ),
    "and `lw.dataclass`": "import leafwise as lw; lw.dataclass",
    "and `lw.Pytree`": "import leafwise as lw; lw.Pytree",
    "and all of `leafwise.nn`": (
        "from leafwise import nn; [getattr(nn, name) for name in nn.__all__]"
    ),
    "and the command line": "import leafwise.cli",
}
COMPARED = {
    "import leafwise": "import leafwise",
    "import leafwise.cli": "import leafwise.cli.main",
}
"""What is compared, and its name in the other folder."""


def cpu_seconds(statement: str, source: Path) -> float:
    """Return the CPU time of a fresh process that runs a statement."""
    code = f"{statement}\nimport time\nprint(time.process_time())"
    environment = {**os.environ, "PYTHONPATH": str(source)}
    command = [sys.executable, "-c", code]
    return float(subprocess.check_output(command, env=environment, text=True))


def medians(runs: list[tuple[str, Path]], rounds: int) -> dict[tuple[str, Path], float]:
    """Return the milliseconds of each run beyond those of a process with nothing."""
    times: dict[tuple[str, Path], list[float]] = {run: [] for run in runs}
    idle = []
    for _ in range(rounds):
        idle.append(cpu_seconds(NOTHING, SOURCE))
        for statement, source in runs:
            times[statement, source].append(cpu_seconds(statement, source))
    least = statistics.median(idle)
    return {
        run: 1000 * (statistics.median(spent) - least) for run, spent in times.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few rounds")
    parser.add_argument("--write", action="store_true", help="put the table into docs")
    parser.add_argument("--beside", type=Path, metavar="FOLDER", help="another `src`")
    options = parser.parse_args()
    runs = [(statement, SOURCE) for statement in STATEMENTS.values()]
    if options.beside is not None:
        runs += [(theirs, options.beside) for theirs in COMPARED.values()]
    for source in {source for _, source in runs}:
        compileall.compile_dir(source, quiet=2)
    found = medians(runs, 3 if options.quick else 30)
    lines = ["| import | ms |", "|---|--:|"]
    for title, statement in STATEMENTS.items():
        lines.append(f"| {title} | {found[statement, SOURCE]:.0f} |")
    print(*lines, sep="\n")
    if options.beside is not None:
        for ours, theirs in COMPARED.items():
            ratio = found[ours, SOURCE] / found[theirs, options.beside]
            print(f"{ours}: {ratio:.2f} of the time of {options.beside}")
    if options.write:
        write(ROOT / "docs" / "performance.md", "imports", lines)


if __name__ == "__main__":
    main()
