"""Saving that is interrupted: the old file stays, nothing else does."""

import gc
import os
import random
import stat

import pytest
from hypothesis import settings

import leafwise as lw
from helpers.interrupts import interrupted
from helpers.random_trees import Point


np = pytest.importorskip("numpy")
SUFFIXES = [".npz", ".safetensors", ".json"]
pytestmark = [
    pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="descriptors"),
    # a file that was just made is closed by the interpreter, which says so, as does
    # zipfile of a member whose making was interrupted
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings(
        "ignore:.*zipfile._ZipWriteFile:pytest.PytestUnraisableExceptionWarning"
    ),
    pytest.mark.usefixtures("no_callbacks"),
]


@pytest.fixture(params=SUFFIXES)
def path(request, tmp_path):
    """A file of each format."""
    return tmp_path / f"tree{request.param}"


def tree_for(path, number):
    tree = {"pair": Point(number, number)}
    if path.suffix != ".json":
        tree |= {"a": np.full(40, number), "b": np.full((2, 3), number, "f4")}
    return tree


def interrupt():
    raise KeyboardInterrupt


def descriptors(folder):
    """Return which files of a folder this process has open."""
    links = []
    for number in os.listdir("/proc/self/fd"):
        try:
            name = os.readlink(f"/proc/self/fd/{number}")
            is_file = stat.S_ISREG(os.stat(f"/proc/self/fd/{number}").st_mode)
        except OSError:  # of listing these
            continue
        if is_file and name.startswith(str(folder)):
            links.append(name)
    return links


def check(path):
    """Return the number of the tree that is there, whole; nothing else may be there."""
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]
    assert descriptors(path.parent) == []
    number = 0
    with open(path, "rb") as file:
        data = file.read()
    for number in (0, 1):
        if data == CONTENT[path.suffix, number]:
            return number
    raise AssertionError(data)


CONTENT = {}


def prepare(path):
    for number in (1, 0):
        lw.save(path, tree_for(path, number))
        CONTENT[path.suffix, number] = path.read_bytes()


FILES = (os.path.join("leafwise", "files"), "zipfile")


def attempts(path, places):
    """Interrupt `save` at these places; return at how many it was."""
    prepare(path)
    count = 0
    for place in places:
        try:
            with interrupted(interrupt, place, FILES) as interruption:
                lw.save(path, tree_for(path, 1))
        except KeyboardInterrupt:
            count += 1
            gc.collect()
            check(path)
        else:
            assert not interruption
            assert check(path) == 1
        lw.save(path, tree_for(path, 0))
    return count


@pytest.mark.sweep
def test_save_is_interrupted_anywhere(path):
    if path.suffix == ".safetensors":
        pytest.importorskip("safetensors")
    chance = random.Random(path.suffix)
    count = settings.default.max_examples  # more of them in CI
    places = [chance.randrange(1500) for _ in range(count)]
    assert attempts(path, places) > count // 4
