"""What happens to files: processes are killed, disks are full, bits are flipped."""

import io
import json
import os
import random
import struct
import subprocess
import sys
import time
import tracemalloc
import zipfile

import pytest

import leafwise as lw
from helpers.random_trees import Box, Point
from leafwise import nn
from leafwise.errors import FileError


np = pytest.importorskip("numpy")
SUFFIXES = [".npz", ".safetensors", ".json"]


@pytest.fixture(params=SUFFIXES)
def path(request, tmp_path):
    """A file of each format."""
    if request.param == ".safetensors":
        pytest.importorskip("safetensors")
    return tmp_path / f"tree{request.param}"


def tree_for(path, number=0):
    """Return a tree of many sorts of nodes and leaves, with arrays if it may."""
    weight = nn.Param(0.5 + number)
    tree = {
        "step": number,
        "config": {"betas": (0.9, 0.99), "name": "adam\u00e9", "big": 2**70},
        "nodes": [Point(1, None), Box(weight, weight, tag=("t", 1)), {1: {2.5}}],
    }
    if path.suffix != ".json":
        shared = np.arange(40.0) + number
        tree["arrays"] = [shared, shared, np.zeros((0, 3), "i4"), np.ones((2, 3), "?")]
    return tree


def same(a, b):
    leaves, treedef = lw.tree_flatten(a)
    others, other = lw.tree_flatten(b)
    return treedef == other and all(
        type(x) is type(y) and np.array_equal(x, y)
        for x, y in zip(leaves, others, strict=True)
    )


# ------------------------------------------------------------------------ flipped bits


def outcome(path, expected):
    """Return whether a damaged file is refused by its name, or is still the tree.

    Only `.npz` has checksums: the others may be another tree.
    """
    try:
        loaded = lw.load(path)
    except FileError as error:
        return str(path) in str(error)
    return path.suffix != ".npz" or same(loaded, expected)


def damaged(data, random):
    """Return a file that was cut off, or has other bits or bytes."""
    kind = random.randrange(4)
    place = random.randrange(len(data))
    if kind == 0:
        return data[:place]
    content = bytearray(data)
    if kind == 1:
        content[place] = random.randrange(256)
    else:
        content[place] ^= 1 << random.randrange(8)
    return bytes(content)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("count", [25, pytest.param(3_000, marks=pytest.mark.slow)])
def test_damaged_files_are_refused(path, count):
    tree = tree_for(path)
    lw.save(path, tree)
    data = path.read_bytes()
    chance = random.Random(f"{path.suffix}{count}")
    for number in range(count):
        path.write_bytes(damaged(data, chance))
        assert outcome(path, tree), number
    path.write_bytes(data)
    assert same(lw.load(path), tree)


def test_a_file_that_is_cut_off_is_refused(path):
    """Whatever the format: lengths, the index of a zip, and JSON show it."""
    lw.save(path, tree_for(path))
    data = path.read_bytes()
    for place in range(0, len(data) - 2, 97):
        path.write_bytes(data[:place])
        with pytest.raises(FileError, match=path.name):
            lw.load(path)


def npy(shape, dtype="<f8", data=b"\0" * 100):
    """Return a member of an archive with that shape, which it may not have."""
    text = f"{{'descr': {dtype!r}, 'fortran_order': False, 'shape': {shape}, }}"
    return of_npy(text, data)


def of_npy(text, data=b""):
    text += " " * (-(10 + len(text) + 1) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + data


def zipped(members, size=None, method=zipfile.ZIP_STORED):
    """Return an archive; its index says that members have a size."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
        for info in archive.infolist():
            if not size:
                break
            info.file_size = size
            if method == zipfile.ZIP_STORED:
                info.compress_size = size
    return file.getvalue()


def tensors(dtype, shape, offsets, data=b"\0" * 100, length=None):
    table = {"a": {"dtype": dtype, "shape": shape, "data_offsets": offsets}}
    text = json.dumps(table).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def header(leaves, *treedefs):
    data = {"leafwise": {"format": 2}, "leaves": leaves, "treedefs": treedefs}
    return json.dumps(data).encode()


def nodes(count, *nodes):
    head = {"leafwise": 1, "namespace": "", "none_is_leaf": False, "leaves": count}
    return {**head, "nodes": list(nodes)}


_HUGE = 10**15
HOSTILE = {
    "an array of a terabyte.npz": zipped({"a.npy": npy((1 << 37,))}),
    "the index says so, too.npz": zipped(
        {"a.npy": npy((1 << 37,))}, size=(1 << 40) + 128),
    "compressed.npz": zipped(
        {"a.npy": npy((1 << 37,))}, (1 << 40) + 128, zipfile.ZIP_DEFLATED),
    "a header that unpacks to 60 MB.npz": zipped(
        {"leafwise.json": b" " * 60_000_000}, None, zipfile.ZIP_DEFLATED),
    "negative.npz": zipped({"a.npy": npy((-1, -12))}),
    "no sizes.npz": zipped({"a.npy": npy((0, 10**30))}),
    "an unclosed bracket.npz": zipped({"a.npy": of_npy("{'descr': (")}),
    "very many minus signs.npz": zipped({"a.npy": of_npy("-" * 60_000)}),
    "very many brackets.npz": zipped({"a.npy": of_npy("(" * 60_000)}),
    "an array of another shape.npz": zipped(
        {"leafwise.json": header({"a": {"array": ["float64", [_HUGE]]}}),
         "a.npy": npy((2,), data=b"\0" * 16)}
    ),
    "an array of another dtype.npz": zipped(
        {"leafwise.json": header({"a": {"array": ["int64", [2]]}}),
         "a.npy": npy((2,), data=b"\0" * 16)}
    ),
    "bits of another width.npz": zipped(
        {"leafwise.json": header({"a": {"array": ["bfloat16", [2]]}}),
         "a.npy": npy((2,), data=b"\0" * 16)}
    ),
    "an array that is not there.npz": zipped(
        {"leafwise.json": header({"a": {"array": ["float64", [2]]}})}
    ),
    "a table of a terabyte.safetensors": tensors("F64", [2], [0, 16], length=1 << 40),
    "a terabyte.safetensors": tensors("F64", [1 << 37], [0, 1 << 40]),
    "overflow.safetensors": tensors("F64", [1 << 62, 4], [0, 0], b""),
    "no dtype.safetensors": tensors("F65", [2], [0, 16], b"\0" * 16),
    "no bytes.safetensors": b"",
    "a scalar of 400 MB.json": header({"a": ["numpy", "|V8", 400_000_000]}),
    "a scalar of bytes.json": header({"a": ["numpy", "|V400000000", ["bytes", "00"]]}),
    "a string of 400 MB.json": header({"a": ["numpy", "<U100000000", 1]}),
    "very many leaves.json": header(
        {"a": 1}, nodes(_HUGE, [_HUGE, "list", _HUGE, None])
    ),
    "more children than leaves.json": header(
        {"a": 1}, nodes(1, [1, "list", _HUGE, None])
    ),
    "an object that is not there.json": header({"a": {"object": _HUGE}}, nodes(1)),
    "an object in itself.json": header(
        {"a": {"object": 1}, "b": {"object": 1}}, nodes(1), nodes(1)
    ),
    "the same as nothing.json": header({"a": {"same": "b"}}),
    "very deep.json": b"[" * 100_000,
    "very many digits.json": b"1" * 100_000,
    "a deep literal.json": header({"a": ["literal", "-" * 50_000 + "1"]}),
    "a deep list.json": header({"a": json.loads("[" * 400 + "]" * 400)}),
    "a set of lists.json": header({"a": ["set", ["list"]]}),
    "no date.json": header({"a": ["date", "one"]}),
    "a version to come.json": json.dumps({"leafwise": {"format": 99}}).encode(),
    "no version.json": json.dumps({"leafwise": {"format": []}}).encode(),
}  # fmt: skip


def written(folder, name):
    if name.endswith(".safetensors"):
        pytest.importorskip("safetensors")
    path = folder / name
    path.write_bytes(HOSTILE[name])
    return path


@pytest.mark.sweep
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", HOSTILE)
def test_files_that_announce_what_they_do_not_have_are_refused(tmp_path, name):
    if name == "bits of another width.npz":
        pytest.importorskip("ml_dtypes")  # which the error would name
    path = written(tmp_path, name)
    tracemalloc.start()
    try:
        with pytest.raises(FileError, match=name):
            lw.load(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 30_000_000


class Expired(Exception):
    """What a handler of signals raises."""


@pytest.mark.parametrize("error", [Expired, TimeoutError, MemoryError])
def test_an_exception_that_is_not_about_the_file_stays_as_it_is(
    path, monkeypatch, error
):
    """It may be raised by a handler of signals, anywhere."""
    lw.save(path, {"a": (1,)})

    def fail(*_, **__):
        raise error("mine")

    monkeypatch.setattr(json, "loads", fail)
    with pytest.raises(error, match="mine"):
        lw.load(path)


# ---------------------------------------------------------------------- full disks


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is full")
def test_writes_that_fail_leave_the_old_file(path, monkeypatch):
    """Small ones fail when the file is closed, large ones at once."""
    lw.save(path, tree_for(path))
    for size in (1, 300_000):
        real = os.open
        monkeypatch.setattr(os, "open", lambda *_, **__: real("/dev/full", os.O_RDWR))  # noqa: B023
        tree = {"a": "x" * size, "b": (1,)}
        if path.suffix != ".json":
            tree["c"] = np.ones(size)
        with pytest.raises(OSError, match="No space left"):
            lw.save(path, tree)
        monkeypatch.undo()
        assert same(lw.load(path), tree_for(path))


# ------------------------------------------------------------------------- killed


SAVING = """
import sys
import leafwise as lw
import numpy

path, number = sys.argv[1], 0
while True:
    number += 1
    tree = {"step": number, "pair": (number, -number)}
    if not path.endswith(".json"):
        tree["array"] = numpy.full(5_000, number)
    print(number, flush=True)  # from here on it may be this one
    lw.save(path, tree)
"""


def kill(path, count):
    """Kill a process that saves in a loop, and look at what it left."""
    chance = random.Random(count)
    last = None
    for _ in range(count):
        process = subprocess.Popen(
            [sys.executable, "-c", SAVING, str(path)], stdout=subprocess.PIPE
        )
        lines = [process.stdout.readline() for _ in range(3)]
        time.sleep(chance.random() * 0.03)
        process.kill()
        lines += process.stdout.read().splitlines()
        process.stdout.close()
        process.wait()
        begun = int([line for line in lines if line.strip().isdigit()][-1])
        last = lw.load(path)
        assert last["step"] in (begun - 1, begun)
        assert last["pair"] == (last["step"], -last["step"])
        if path.suffix != ".json":
            assert last["array"].tolist() == [last["step"]] * 5_000


@pytest.mark.skipif(sys.platform == "win32", reason="kills as POSIX does")
@pytest.mark.needs("processes")
@pytest.mark.parametrize("count", [1, pytest.param(100, marks=pytest.mark.slow)])
def test_processes_are_killed(path, count):
    kill(path, count)
