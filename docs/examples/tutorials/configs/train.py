"""Usage: python train.py EXPERIMENT [CHANGE ...]"""

import json
import sys
from pathlib import Path

import leafwise as lw
from settings import build, read


def main(experiment, *overrides):
    """Show what is special about a run, and write down its settings."""
    try:
        settings = build(experiment, overrides)
    except lw.LeafwiseError as error:
        sys.exit(f"train.py: {error}")
    print("this run differs from base.yaml in:")
    print(lw.tree_diff(read("base.yaml"), settings))
    flat = lw.selection.to_flat(settings)
    Path("run.json").write_text(json.dumps(flat, indent=1), encoding="utf-8")
    print(len(flat), "settings are in run.json")


main(*sys.argv[1:])
