"""Options, tables, pages and files: what the scripts share beside timing.

No benchmark by itself.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import importlib.metadata
import json
import platform
import sys
from collections.abc import Iterable
from pathlib import Path

from timing import Timing


ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
PERFORMANCE = ROOT / "docs" / "performance.md"
MEASUREMENTS = ROOT / "docs" / "measurements.md"
"""The pages that have the tables of all scripts."""

PACKAGES = {
    "jax": "jax",
    "flax": "flax",
    "optree": "optree",
    "torch": "torch",
    "tree": "dm-tree",
    "equinox": "equinox",
    "sepes": "sepes",
    "penzai": "penzai",
    "glom": "glom",
    "jsonpath_ng": "jsonpath-ng",
    "omegaconf": "OmegaConf",
    "deepdiff": "deepdiff",
}
"""The packages whose versions are said if they are loaded, by the names of modules."""


def parse_options(doc: str | None) -> argparse.Namespace:
    """Parse the command line of a script whose docstring is given."""
    summary = (doc or "").partition("\n")[0]
    parser = argparse.ArgumentParser(description=summary)
    parser.add_argument("--quick", action="store_true", help="few short rounds")
    parser.add_argument(
        "--write", action="store_true", help="write the tables into the docs"
    )
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="write the times into a file"
    )
    return parser.parse_args()


def conditions(
    method: str = "one process, in turn, medians of ratios",
    packages: Iterable[str] = (),
) -> str:
    """Return the line below a table that says when, how and of what it was measured.

    Args:
        method: How the figures are taken, in a few words.
        packages: The packages that other processes have loaded.
    """
    versions = [f"CPython {platform.python_version()}"]
    for module, package in PACKAGES.items():
        if module in sys.modules or package in packages:
            versions.append(f"{package} {importlib.metadata.version(package)}")
    script = Path(sys.argv[0]).name
    today = datetime.date.today().isoformat()
    return (
        f"{today}, `python benchmarks/{script} --write`: {', '.join(versions)}; "
        f"{method}."
    )


def table_row(cells: Iterable[str]) -> str:
    """Return a row of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def save_timings(file: Path, timings: Iterable[tuple[str, str, Timing]]) -> None:
    """Write the group, the title and the figures of each timing as JSON.

    `beside.py` reads the file.
    """
    records = []
    for group, title, timing in timings:
        record = {"group": group, "name": title, **dataclasses.asdict(timing)}
        records.append(record)
    file.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")


def publish(
    name: str,
    timings: dict[str, Timing],
    lines: list[str],
    options: argparse.Namespace,
) -> None:
    """Print the table of a script, and write what its options ask for.

    Args:
        name: The group of the timings, and the section of one of the pages.
        timings: The timings by title.
        lines: The lines of the table.
        options: The options of the script.
    """
    print("\n".join(lines))
    if options.json is not None:
        named = [(name, title, timing) for title, timing in timings.items()]
        save_timings(options.json, named)
    if options.write:
        for page in (PERFORMANCE, MEASUREMENTS):
            if section_mark(name) in page.read_text(encoding="utf-8"):
                replace_section(page, name, lines)


def section_mark(name: str) -> str:
    """Return the comment before the section of that name."""
    return f"<!-- {name} -->\n"


def replace_section(page: Path, name: str, lines: Iterable[str]) -> None:
    """Put lines between the comments of a page that mark the section of that name."""
    begin = section_mark(name)
    end = "<!-- end -->"
    before, after = page.read_text(encoding="utf-8").split(begin)
    after = after[after.index(end) :]
    text = "\n".join(lines)
    page.write_text(f"{before}{begin}{text}\n{after}", encoding="utf-8")
