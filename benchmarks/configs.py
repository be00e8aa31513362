"""Measure edits, selections, differences and merges beside other libraries.

Usage: python benchmarks/configs.py [--quick] [--write] [--json FILE]

All are timed in one process, in turn, by CPU time; ratios are medians over the rounds.
A number above 1 says how many times as fast leafwise is. Each function returns a new
tree and leaves the old one as it was, except where "in place" stands: those change what
they are given, which leafwise never does. `--write` puts the table into the docs,
`--json` what `beside.py` reads into a file. Needs the dependency group `bench`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import deepdiff
import equinox
import glom
import jsonpath_ng
import sepes
from omegaconf import OmegaConf
from penzai import pz
from reports import conditions, parse_options, publish, table_row
from tables import ratio_cell
from timing import Functions, Timing, Workload, time_workloads

import leafwise as lw


def model() -> dict[str, dict[str, float]]:
    """Return a tree of 1 000 leaves: 500 layers of two."""
    return {f"layer{i}": {"w": i * 1.0, "bias": i * 2.0} for i in range(500)}


def edit_leaf() -> Functions:
    """Set one leaf of 1 000."""
    tree = model()
    glom_tree = model()
    jsonpath_tree = model()
    config = OmegaConf.create(model())
    expression = jsonpath_ng.parse("layer250.bias")
    return {
        "leafwise": lambda: lw.at(tree)["layer250.bias"].set(0.0),
        "equinox": lambda: equinox.tree_at(lambda m: m["layer250"]["bias"], tree, 0.0),
        "sepes": lambda: sepes.at(tree)["layer250"]["bias"].set(0.0),
        "penzai": lambda: pz.select(tree).at(lambda m: m["layer250"]["bias"]).set(0.0),
        "glom, on a copy": lambda: glom.assign(deepcopy(tree), "layer250.bias", 0.0),
        "jsonpath-ng, on a copy": lambda: expression.update(deepcopy(tree), 0.0),
        "OmegaConf, in place": lambda: OmegaConf.update(config, "layer250.bias", 0.0),
        "glom, in place": lambda: glom.assign(glom_tree, "layer250.bias", 0.0),
        "jsonpath-ng, in place": lambda: expression.update(jsonpath_tree, 0.0),
    }


def select_by_path(pattern: str, jsonpath: str) -> Workload:
    """Get the leaves that a pattern matches; glom takes the same patterns."""

    def prepare() -> Functions:
        tree = model()
        expression = jsonpath_ng.parse(jsonpath)
        return {
            # not the bound method: looking up the pattern belongs to what is measured
            "leafwise": lambda: lw.at(tree)[pattern].get(),  # noqa: PLW0108
            "jsonpath-ng": lambda: [match.value for match in expression.find(tree)],
            "glom": lambda: glom.glom(tree, pattern),
        }

    return prepare


def select_by_type() -> Functions:
    """Get every float by its type."""
    tree = model()
    return {
        "leafwise": lambda: lw.at(tree)[float].get(),  # noqa: PLW0108  # as above
        "penzai": lambda: pz.select(tree).at_instances_of(float).get_sequence(),
    }


def numbered_sections() -> dict[str, dict[str, int]]:
    """Return a tree of 10 000 leaves: 1 000 sections of ten numbers."""
    return {f"s{i}": {f"k{j}": j for j in range(10)} for i in range(1000)}


def two_trees() -> tuple[Any, Any]:
    """Return two trees of 10 000 leaves that differ in 100."""
    first = numbered_sections()
    second = numbered_sections()
    for i in range(3, 1000, 10):
        second[f"s{i}"]["k3"] = 4
    return first, second


def diff_trees() -> Functions:
    """Find the 100 differences of two trees of 10 000 leaves."""
    first, second = two_trees()
    return {
        "leafwise": lambda: lw.tree_diff(first, second),
        "deepdiff": lambda: deepdiff.DeepDiff(first, second),
    }


def diff_lists() -> Functions:
    """Find the 100 items that were put before the other ones in 100 lists."""
    items = [{f"k{n}": f"{i}.{n}" for n in range(10)} for i in range(1000)]
    first = [items[i : i + 10] for i in range(0, 1000, 10)]
    second = [[{"name": f"new {i}"}, *group] for i, group in enumerate(first)]
    return {
        "leafwise": lambda: lw.tree_diff(first, second),
        "deepdiff": lambda: deepdiff.DeepDiff(first, second, ignore_order=True),
    }


def merge_trees() -> Functions:
    """Lay a tree of 10 000 leaves over another one."""
    first, second = two_trees()
    first_config = OmegaConf.create(first)
    second_config = OmegaConf.create(second)
    return {
        "leafwise": lambda: lw.tree_merge(first, second),
        "OmegaConf": lambda: OmegaConf.merge(first_config, second_config),
    }


WORKLOADS: dict[str, Workload] = {
    "edit one of 1,000 leaves": edit_leaf,
    "select `*.bias` of 1,000 leaves": select_by_path("*.bias", "*.bias"),
    "select `**.bias` of 1,000 leaves": select_by_path("**.bias", "$..bias"),
    "select by type of 1,000 leaves": select_by_type,
    "diff of two trees of 10,000 leaves": diff_trees,
    "diff of two trees of 10,000 leaves in lists, aligned": diff_lists,
    "merge of two trees of 10,000 leaves": merge_trees,
}


def table(timings: dict[str, Timing]) -> Iterator[str]:
    """Yield the lines of a Markdown table."""
    yield "| workload | leafwise, µs | times as fast as |"
    yield "|---|--:|---|"
    for title, timing in timings.items():
        ratios = [
            f"{name} {ratio_cell(ratio, 1)}" for name, ratio in timing.ratios.items()
        ]
        yield table_row([title, f"{timing.microseconds:.1f}", ", ".join(ratios)])


def main() -> int:
    """Measure, print, and write what the options ask for."""
    options = parse_options(__doc__)
    rounds = 5 if options.quick else 15
    slice_seconds = 0.02 if options.quick else 0.1
    timings = dict(time_workloads(WORKLOADS, rounds, slice_seconds))
    lines = [*table(timings), "", conditions()]
    publish("configs", timings, lines, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
