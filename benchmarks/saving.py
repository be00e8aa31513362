"""Measure how long saving and loading a gigabyte of arrays takes, and the memory.

Usage: python benchmarks/saving.py [--quick] [--write] [--folder FOLDER]

Each figure comes from a process of its own, which creates the arrays first. Files that
others write are flushed to the disk by `fsync`, as `leafwise.save` does with its own.
Time is that of the wall clock, since most of it is spent waiting for the disk; of
several rounds the least counts, as for `timeit`: a disk that is busy with something
else only adds to it. Figures are compared with those of the writer of the format
itself: numpy for `.npz`, the package `safetensors` for its files.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from reports import MEASUREMENTS, conditions, replace_section, table_row

import leafwise as lw


MEGABYTES = 1_000
ARRAYS = 50

Arrays = dict[str, np.ndarray]

Figures = dict[str, float]
"""Seconds by "save" and "load", megabytes by "save MB" and "load MB"."""


def make_arrays(megabytes: int) -> Arrays:
    """Return arrays that have so many megabytes together."""
    length = megabytes * 1_000_000 // ARRAYS // 4
    return {
        f"layers[{n}].weight": np.arange(n, n + length, dtype=np.float32)
        for n in range(ARRAYS)
    }


def flush(path: Path) -> None:
    """Wait until a file is on the disk."""
    with open(path, "rb+") as file:
        os.fsync(file.fileno())


def leafwise_load(path: Path, arrays: Arrays) -> Any:
    """Load a file with leafwise, which needs no arrays to compare with."""
    return lw.load(path)


def numpy_save(path: Path, arrays: Arrays) -> None:
    """Save with numpy."""
    np.savez(path, **arrays)
    flush(path)


def numpy_load(path: Path, arrays: Arrays) -> Arrays:
    """Load with numpy, which reads an array when it is asked for."""
    with np.load(path) as file:
        return {name: file[name] for name in file.files}


def safetensors_save(path: Path, arrays: Arrays) -> None:
    """Save with the package `safetensors`."""
    from safetensors.numpy import save_file

    save_file(arrays, path)
    flush(path)


def safetensors_load(path: Path, arrays: Arrays) -> Arrays:
    """Load with the package `safetensors`."""
    from safetensors.numpy import load_file

    return load_file(path)


def equinox_save(path: Path, arrays: Arrays) -> None:
    """Save with equinox."""
    import equinox

    equinox.tree_serialise_leaves(path, arrays)
    flush(path)


def equinox_load(path: Path, arrays: Arrays) -> Arrays:
    """Load with equinox, into the structure of a tree that is there already."""
    import equinox

    return equinox.tree_deserialise_leaves(path, arrays)


def torch_save(path: Path, arrays: Arrays) -> None:
    """Save with torch, whose tensors share the memory of the arrays."""
    import torch

    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    torch.save(tensors, path)
    flush(path)


def torch_load(path: Path, arrays: Arrays) -> Any:
    """Load with torch."""
    import torch

    return torch.load(path)


@dataclasses.dataclass(frozen=True)
class Library:
    """A library that saves and loads arrays.

    Attributes:
        suffix: The end of the names of its files.
        raw: The name of the library that its figures are compared with.
        save: Takes the path and the arrays.
        load: Takes the path and arrays of the same shapes.
    """

    suffix: str
    raw: str
    save: Callable[[Path, Arrays], None]
    load: Callable[[Path, Arrays], Any]


LIBRARIES = {
    "leafwise, .npz": Library("npz", "numpy.savez", lw.save, leafwise_load),
    "numpy.savez": Library("npz", "numpy.savez", numpy_save, numpy_load),
    "leafwise, .safetensors": Library(
        "safetensors", "safetensors", lw.save, leafwise_load
    ),
    "safetensors": Library(
        "safetensors", "safetensors", safetensors_save, safetensors_load
    ),
    "equinox": Library("eqx", "numpy.savez", equinox_save, equinox_load),
    "torch.save": Library("pt", "safetensors", torch_save, torch_load),
}


def peak_megabytes() -> float:
    """Return the largest memory that this process has had."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes, Linux KiB
    return peak * unit / 1e6


def measure_here(name: str, action: str, megabytes: int, folder: Path) -> list[float]:
    """Save or load in this process.

    Returns:
        The seconds, and the megabytes by which the peak of memory grew.
    """
    library = LIBRARIES[name]
    path = folder / f"tree.{library.suffix}"
    arrays = make_arrays(megabytes)
    # a small file first, so that no import and no first use is measured
    small_path = path.with_name(f"warm-{path.name}")
    small_arrays = {"a": np.zeros(2, np.float32)}
    library.save(small_path, small_arrays)
    if action == "save":
        path.unlink(missing_ok=True)
        function = library.save
    else:
        library.load(small_path, small_arrays)
        function = library.load
    os.sync()
    peak = peak_megabytes()
    start = time.perf_counter()
    result = function(path, arrays)
    seconds = time.perf_counter() - start
    del result  # not earlier: freeing the memory is not measured
    return [seconds, peak_megabytes() - peak]


def measure(name: str, megabytes: int, folder: Path) -> Figures:
    """Save and load in two processes."""
    figures: Figures = {}
    for action in ("save", "load"):
        arguments = ["--one", name, action, str(megabytes), "--folder", str(folder)]
        output = subprocess.check_output([sys.executable, __file__, *arguments])
        seconds, grown = json.loads(output)
        figures[action] = seconds
        figures[f"{action} MB"] = grown
    return figures


def least_of(rounds: list[Figures]) -> Figures:
    """Return the least of each figure."""
    return {key: min(figures[key] for figures in rounds) for key in rounds[0]}


def measure_in_turn(rounds: int, megabytes: int, folder: Path) -> dict[str, Figures]:
    """Measure all libraries, round after round; return the least figures of each."""
    names = list(LIBRARIES)
    figures: dict[str, list[Figures]] = {name: [] for name in names}
    for turn in range(rounds):
        # in another order each time: the disk may still be busy with the file before
        random.Random(turn).shuffle(names)
        for name in names:
            figures[name].append(measure(name, megabytes, folder))
    return {name: least_of(figures[name]) for name in LIBRARIES}


def table(figures: dict[str, Figures]) -> Iterator[str]:
    """Yield the lines of a Markdown table."""
    yield (
        "| | save, s | as the raw writer | memory, MB "
        "| load, s | as the raw reader | memory, MB |"
    )
    yield "|---|--:|--:|--:|--:|--:|--:|"
    for name, least in figures.items():
        raw = figures[LIBRARIES[name].raw]
        cells = [name]
        for action in ("save", "load"):
            cells.append(f"{least[action]:.2f}")
            cells.append(f"{least[action] / raw[action]:.2f}")
            cells.append(f"{least[f'{action} MB']:.0f}")
        yield table_row(cells)


def main() -> None:
    """Measure and print, and write what the options ask for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="less, one round")
    parser.add_argument("--write", action="store_true", help="put the table into docs")
    parser.add_argument("--folder", type=Path, help="where to write the files")
    # what a process of its own is called with: library, "save" or "load", megabytes
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        name, action, megabytes = options.one
        print(json.dumps(measure_here(name, action, int(megabytes), options.folder)))
        return
    rounds = 1 if options.quick else 7
    size = MEGABYTES // 10 if options.quick else MEGABYTES
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        figures = measure_in_turn(rounds, size, Path(folder))
    lines = [
        *table(figures),
        "",
        f"{size} MB in {ARRAYS} arrays; memory is what the peak of the process "
        "grew by.",
        conditions(
            f"a process for each figure, in turn, the least of {rounds}",
            ["equinox", "torch"],
        ),
    ]
    print("\n".join(lines))
    if options.write:
        replace_section(MEASUREMENTS, "io", lines)


if __name__ == "__main__":
    main()
