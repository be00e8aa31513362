"""The tree of files, and what is done with one of them."""

import time
from pathlib import Path


def tree_of_files():
    """Return the paths of all files: a dict of years, each with a dict of cities."""
    return {
        year.name: {file.stem: file for file in sorted(year.iterdir())}
        for year in sorted(Path("data").iterdir())
    }


def read(file):
    """Return the numbers in a file."""
    time.sleep(0.1)  # as if it came over a network
    return [float(line) for line in file.read_text(encoding="utf-8").splitlines()]


def spread(numbers):
    """Return how far the numbers go apart."""
    return max(numbers) - min(numbers)
