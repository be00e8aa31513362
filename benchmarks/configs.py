"""Measure edits, selections, differences and merges beside other libraries.

Usage: python benchmarks/configs.py [--quick] [--write] [--json FILE]

All are timed in one process, in turn; ratios are medians over the rounds. A number
above 1 says how many times as fast leafwise is. Each function returns a new tree
and leaves the old one as it was, except where "in place" stands: those change what they
are given, which leafwise never does. `--write` puts the table into the docs, `--json`
what `beside.py` reads into a file. Needs the `bench` extra.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import deepdiff
import equinox
import glom
import jsonpath_ng
import sepes
from omegaconf import OmegaConf
from penzai import pz
from timing import Timed, arguments, conditions, save, side_by_side, write

import leafwise as lw


ROOT = Path(__file__).parents[1]

Functions = dict[str, Callable[[], Any]]


def model() -> dict[str, dict[str, float]]:
    """Return a tree of 1 000 leaves: 500 layers of two."""
    return {f"layer{i}": {"w": i * 1.0, "bias": i * 2.0} for i in range(500)}


def editing() -> Functions:
    """Set one leaf of 1 000."""
    tree, mutable, config = model(), model(), OmegaConf.create(model())
    expression = jsonpath_ng.parse("layer250.bias")
    return {
        "leafwise": lambda: lw.at(tree)["layer250.bias"].set(0.0),
        "equinox": lambda: equinox.tree_at(lambda m: m["layer250"]["bias"], tree, 0.0),
        "sepes": lambda: sepes.at(tree)["layer250"]["bias"].set(0.0),
        "penzai": lambda: pz.select(tree).at(lambda m: m["layer250"]["bias"]).set(0.0),
        "glom, on a copy": lambda: glom.assign(deepcopy(tree), "layer250.bias", 0.0),
        "jsonpath-ng, on a copy": lambda: expression.update(deepcopy(tree), 0.0),
        "OmegaConf, in place": lambda: OmegaConf.update(config, "layer250.bias", 0.0),
        "glom, in place": lambda: glom.assign(mutable, "layer250.bias", 0.0),
    }


def selecting(ours: str, jsonpath: str) -> Callable[[], Functions]:
    """Get the bias of each layer, or every bias at any depth."""
    tree, expression = model(), jsonpath_ng.parse(jsonpath)
    return lambda: {
        "leafwise": lambda: lw.at(tree)[ours].get(),  # noqa: PLW0108  # with the look-up
        "jsonpath-ng": lambda: [match.value for match in expression.find(tree)],
        "glom": lambda: glom.glom(tree, ours),
    }


def by_type() -> Functions:
    """Get every float by its type."""
    tree = model()
    return {
        "leafwise": lambda: lw.at(tree)[float].get(),  # noqa: PLW0108  # with the look-up
        "penzai": lambda: pz.select(tree).at_instances_of(float).get_sequence(),
    }


def two_trees() -> tuple[Any, Any]:
    """Return two trees of 10 000 leaves that differ in 100."""

    def make(extra: int) -> Any:
        return {
            f"s{i}": {
                f"k{j}": j + (extra if i % 10 == j == 3 else 0) for j in range(10)
            }
            for i in range(1000)
        }

    return make(0), make(1)


def comparing() -> Functions:
    """Find the 100 differences of two trees of 10 000 leaves."""
    one, two = two_trees()
    return {
        "leafwise": lambda: lw.tree_diff(one, two),
        "deepdiff": lambda: deepdiff.DeepDiff(one, two),
    }


def aligning() -> Functions:
    """Find the 100 items that were put before the other ones in 100 lists."""
    items = [{f"k{n}": f"{i}.{n}" for n in range(10)} for i in range(1000)]
    one = [items[i : i + 10] for i in range(0, 1000, 10)]
    two = [[{"name": f"new {i}"}, *some] for i, some in enumerate(one)]
    return {
        "leafwise": lambda: lw.tree_diff(one, two),
        "deepdiff": lambda: deepdiff.DeepDiff(one, two, ignore_order=True),
    }


def merging() -> Functions:
    """Lay a tree of 10 000 leaves over another one."""
    one, two = two_trees()
    first, second = OmegaConf.create(one), OmegaConf.create(two)
    return {
        "leafwise": lambda: lw.tree_merge(one, two),
        "OmegaConf": lambda: OmegaConf.merge(first, second),
    }


WORKLOADS: dict[str, Callable[[], Functions]] = {
    "edit one of 1,000 leaves": editing,
    "select `*.bias` of 1,000 leaves": selecting("*.bias", "*.bias"),
    "select `**.bias` of 1,000 leaves": selecting("**.bias", "$..bias"),
    "select by type of 1,000 leaves": by_type,
    "diff of two trees of 10,000 leaves": comparing,
    "diff of two trees of 10,000 leaves in lists, aligned": aligning,
    "merge of two trees of 10,000 leaves": merging,
}


def rows(rounds: int, slice_seconds: float) -> Iterator[tuple[str, Timed]]:
    """Yield each workload, and how long it takes."""
    for name, make in WORKLOADS.items():
        yield name, side_by_side(make(), rounds, slice_seconds)


def main() -> int:
    options = arguments(__doc__)
    found = dict(rows(*((5, 0.02) if options.quick else (15, 0.1))))
    lines = ["| workload | leafwise, µs | times as fast as |", "|---|--:|---|"]
    for name, timed in found.items():
        cells = [f"{other} **{ratio:.1f}**" for other, ratio in timed.ratios.items()]
        lines.append(f"| {name} | {timed.microseconds:.1f} | {', '.join(cells)} |")
    lines += ["", conditions()]
    print(*lines, sep="\n")
    if options.json is not None:
        save(options.json, [("configs", *row) for row in found.items()])
    if options.write:
        write(ROOT / "docs" / "performance.md", "configs", lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
