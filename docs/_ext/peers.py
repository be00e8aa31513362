"""The tables of names in `docs/start/migrating.md`, from the files of `docs/peers`.

Usage: python docs/_ext/peers.py

Writes them between their marks. A name whose answer is the same name has no row: the
page says so. Those of `optree.pytree` and `optree.treespec` are the names without that
prefix.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path


DOCS = Path(__file__).parents[1]
PAGE = DOCS / "start" / "migrating.md"
MARKS = re.compile(r"(<!-- names: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_HOMES = r"(?:tree|typing|Module|Rngs|RngStream|Optimizer|registry)\."
_SAME = re.compile(
    rf"(?:lw|nn|leafwise|treedef)\.(?:{_HOMES})?(?:tree_)?(\w+)(?:\(.*\))?"
)
_PREFIX = re.compile(r"^(?:tree_|treespec_)")


def differ(name: str, answer: str) -> bool:
    """Tell whether the answer is more than the name in another module or as a method.

    optree has functions of accessors, which are the paths here.
    """
    found = _SAME.fullmatch(answer)
    short = _PREFIX.sub("", name.rpartition(".")[2].replace("accessor", "path"))
    return found is None or found[1] != short


def table(library: str) -> str:
    """Return the table of the names of a library that are others here."""
    with (DOCS / "peers" / f"{library}.csv").open(encoding="utf-8", newline="") as file:
        rows = [(row["name"], row["leafwise"]) for row in csv.DictReader(file)]
    answers: dict[str, list[str]] = {}
    for name, answer in rows:
        if differ(name, answer) and not name.startswith(("pytree.", "treespec.")):
            answers.setdefault(answer, []).append(f"`{name}`")
    lines = [f"| {library} | here |", "|---|---|"]
    for answer, names in answers.items():
        shown = answer.replace("|", "\\|")
        lines.append(f"| {', '.join(names)} | `{shown}` |")
    return "\n".join(lines) + "\n"


def written(page: str) -> str:
    """Return the page with its tables."""
    return MARKS.sub(lambda found: found[1] + table(found[2]) + found[3], page)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
