"""How long it takes to save and load a gigabyte of arrays, and how much memory.

Usage: python benchmarks/io.py [--quick] [--write] [--folder FOLDER]

Each figure is of a process of its own, in which the arrays are made first. What others
write is brought to the disk by `fsync`, as `leafwise.save` does with what it writes. Of
each figure the least of several rounds counts, as for `timeit`: a disk that is busy
with something else only adds to it. The figures are multiples of those of the writer of
the format itself: numpy for `.npz`, the package `safetensors` for its files.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from timing import write

import leafwise as lw


ROOT = Path(__file__).parents[1]
MEGABYTES = 1_000
ARRAYS = 50
Arrays = dict[str, np.ndarray]


def arrays(megabytes: int) -> Arrays:
    """Return arrays of so many megabytes together."""
    length = megabytes * 1_000_000 // ARRAYS // 4
    return {
        f"layers[{n}].weight": np.arange(n, n + length, dtype=np.float32)
        for n in range(ARRAYS)
    }


def brought_to_disk(path: Path) -> None:
    with open(path, "rb+") as file:
        os.fsync(file.fileno())


def numpy_save(path: Path, tree: Arrays) -> None:
    np.savez(path, **tree)
    brought_to_disk(path)


def numpy_load(path: Path, tree: Arrays) -> Arrays:
    with np.load(path) as file:
        return {name: file[name] for name in file.files}


def safetensors_save(path: Path, tree: Arrays) -> None:
    from safetensors.numpy import save_file

    save_file(tree, path)
    brought_to_disk(path)


def safetensors_load(path: Path, tree: Arrays) -> Arrays:
    from safetensors.numpy import load_file

    return load_file(path)


def equinox_save(path: Path, tree: Arrays) -> None:
    import equinox

    equinox.tree_serialise_leaves(path, tree)
    brought_to_disk(path)


def equinox_load(path: Path, tree: Arrays) -> Arrays:
    import equinox

    return equinox.tree_deserialise_leaves(path, tree)


def torch_save(path: Path, tree: Arrays) -> None:
    import torch

    torch.save({name: torch.from_numpy(x) for name, x in tree.items()}, path)
    brought_to_disk(path)


def torch_load(path: Path, tree: Arrays) -> Any:
    import torch

    return torch.load(path)


def ours_load(path: Path, tree: Arrays) -> Any:
    return lw.load(path)


Save = Callable[[Path, Arrays], None]
WAYS: dict[str, tuple[str, str, Save, Callable[[Path, Arrays], Any]]] = {
    "leafwise, .npz": ("npz", "numpy.savez", lw.save, ours_load),
    "numpy.savez": ("npz", "numpy.savez", numpy_save, numpy_load),
    "leafwise, .safetensors": ("safetensors", "safetensors", lw.save, ours_load),
    "safetensors": ("safetensors", "safetensors", safetensors_save, safetensors_load),
    "equinox": ("eqx", "numpy.savez", equinox_save, equinox_load),
    "torch.save": ("pt", "safetensors", torch_save, torch_load),
}
"""By name: the end of the file's name, what it is compared with, and both functions."""
FIGURES = ("save", "save MB", "load", "load MB")


def peak() -> float:
    """Return the most megabytes that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def measured(function: Callable[[Path, Arrays], Any], path: Path, tree: Arrays) -> Any:
    """Return the seconds of a call, and by how many megabytes the peak grew."""
    function(path.with_name(f"warm-{path.name}"), {"a": np.zeros(2, np.float32)})
    before = peak()
    begin = time.perf_counter()
    kept = function(path, tree)
    spent = time.perf_counter() - begin
    del kept
    return spent, peak() - before


def one(name: str, does: str, megabytes: int, folder: Path) -> None:
    """Print the figures of one way, in this process."""
    suffix, _, save, load = WAYS[name]
    path, tree = folder / f"tree.{suffix}", arrays(megabytes)
    if does == "save":
        path.unlink(missing_ok=True)
    else:
        small = {"a": np.zeros(2, np.float32)}
        save(path.with_name(f"warm-{path.name}"), small)
    os.sync()
    print(json.dumps(measured(save if does == "save" else load, path, tree)))


def figures(name: str, megabytes: int, folder: Path) -> dict[str, float]:
    """Return the figures of one way, each from a process of its own."""
    found = {}
    for does in ("save", "load"):
        command = [sys.executable, __file__, "--one", name, does, str(megabytes)]
        text = subprocess.check_output([*command, "--folder", folder], text=True)
        found[does], found[f"{does} MB"] = json.loads(text)
    return found


def least_of(rounds: list[dict[str, float]]) -> dict[str, float]:
    return {key: min(turn[key] for turn in rounds) for key in FIGURES}


def table(rounds: int, megabytes: int, folder: Path) -> list[str]:
    """Return a line for each way, with the least of the rounds."""
    times: dict[str, list[dict[str, float]]] = {name: [] for name in WAYS}
    for turn in range(rounds):
        # in another order each time: what one wrote, the disk may still be busy with
        for name in random.Random(turn).sample([*WAYS], len(WAYS)):
            times[name].append(figures(name, megabytes, folder))
    lines = [
        "| | save, s | as the raw writer | memory, MB | load, s | as the raw reader "
        "| memory, MB |",
        f"|---|{'--:|' * 6}",
    ]
    for name, (_, raw, _, _) in WAYS.items():
        least, base = least_of(times[name]), least_of(times[raw])
        ratio = {key: least[key] / base[key] for key in ("save", "load")}
        lines.append(
            f"| {name} | {least['save']:.2f} | {ratio['save']:.2f} | "
            f"{least['save MB']:.0f} | {least['load']:.2f} | {ratio['load']:.2f} | "
            f"{least['load MB']:.0f} |"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="less, one round")
    parser.add_argument("--write", action="store_true", help="put the table into docs")
    parser.add_argument("--folder", type=Path, help="where to write the files")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        name, does, megabytes = options.one
        one(name, does, int(megabytes), options.folder)
        return
    rounds = 1 if options.quick else 7
    megabytes = MEGABYTES // 10 if options.quick else MEGABYTES
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        lines = table(rounds, megabytes, Path(folder))
    lines += [
        "",
        f"{megabytes} MB in {ARRAYS} arrays; memory is what the peak of the process "
        "grew by.",
        f"CPython {platform.python_version()}; a process for each figure, in turn, "
        f"the least of {rounds}.",
    ]
    print(*lines, sep="\n")
    if options.write:
        write(ROOT / "docs" / "performance.md", "io", lines)


if __name__ == "__main__":
    main()
