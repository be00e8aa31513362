"""Write the tables of names in `docs/start/migrating.md`, from `docs/peers`.

Usage: python docs/_ext/peers.py

Each table is written between its two comments. A name that leafwise has as well gets no
row: the page says so. Names of `optree.pytree` and `optree.treespec` are those of
optree without that prefix, and get no rows either.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path


DOCS = Path(__file__).parents[1]
PAGE = DOCS / "start" / "migrating.md"

SECTION = re.compile(r"(<!-- names: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
"""The section of a library: its first comment, the library, its last comment."""

PLAIN_ANSWER = re.compile(
    r"""
    (?: lw | nn | leafwise | treedef ) \.
    (?: (?: tree | typing | Module | Rngs | RngStream | Optimizer | registry ) \. )?
    (?: tree_ )?
    (\w+)               # the name itself
    (?: \( .* \) )?     # and its arguments
    """,
    re.VERBOSE,
)
"""An answer that is a name of leafwise, or a call of it."""

PREFIX = re.compile(r"^(?:tree_|treespec_)")


def is_renamed(name: str, answer: str) -> bool:
    """Return whether an answer is more than the name in another module, or as a method.

    optree has functions of accessors, which are called paths here.
    """
    match = PLAIN_ANSWER.fullmatch(answer)
    _, _, short = name.rpartition(".")
    short = PREFIX.sub("", short.replace("accessor", "path"))
    return match is None or match[1] != short


def table(library: str) -> str:
    """Return the table of the names of a library that have other names here."""
    names_by_answer: dict[str, list[str]] = {}
    path = DOCS / "peers" / f"{library}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            name = row["name"]
            answer = row["leafwise"]
            is_alias = name.startswith(("pytree.", "treespec."))
            if is_renamed(name, answer) and not is_alias:
                names_by_answer.setdefault(answer, []).append(f"`{name}`")
    lines = [f"| {library} | here |", "|---|---|"]
    for answer, names in names_by_answer.items():
        cell = answer.replace("|", "\\|")
        lines.append(f"| {', '.join(names)} | `{cell}` |")
    return "\n".join(lines) + "\n"


def fill_section(match: re.Match[str]) -> str:
    """Return a section of the page with its table."""
    begin, library, end = match.groups()
    return begin + table(library) + end


def fill_tables(page: str) -> str:
    """Return the text of the page with all tables."""
    return SECTION.sub(fill_section, page)


if __name__ == "__main__":
    PAGE.write_text(fill_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
