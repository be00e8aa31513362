"""`pyproject.toml`: what pip is told to install."""

import tomllib
from pathlib import Path


PROJECT = tomllib.loads(
    (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
)
EXTRAS = PROJECT["project"]["optional-dependencies"]
GROUPS = PROJECT["dependency-groups"]


def test_groups_do_not_name_leafwise():
    """`pip install --group docs` would ask the index for a project of that name."""
    requirements = {name: [] for name in GROUPS}
    for name, entries in GROUPS.items():
        requirements[name] += [entry for entry in entries if type(entry) is str]
    named = [
        name
        for name, entries in requirements.items()
        if any(entry.startswith("leafwise") for entry in entries)
    ]
    assert named == []


def test_groups_with_the_name_of_an_extra_are_the_same():
    """They stand in for it in other groups."""
    for name in EXTRAS.keys() & GROUPS.keys():
        assert GROUPS[name] == EXTRAS[name]
