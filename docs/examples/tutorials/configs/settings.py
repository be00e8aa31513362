"""Settings of a run: a base file, an experiment on top, and changes from the shell."""

from pathlib import Path

import leafwise as lw
from leafwise.io.formats import load


def read(name):
    """Return the tree in a YAML file."""
    return load(Path(name).read_text(encoding="utf-8"), "yaml").tree


def build(experiment, overrides):
    """Return the settings of one run."""
    base = read("base.yaml")
    settings = lw.tree_merge(base, read(experiment), rules={"tags": "extend"})
    return lw.selection.override(settings, overrides)
