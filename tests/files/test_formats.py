"""Files of the formats so far: a later version loads them, or says what wrote them."""

import datetime
import json
from collections import OrderedDict, deque
from pathlib import Path

import pytest

import leafwise as lw
from leafwise import nn
from leafwise.errors import FileError


np = pytest.importorskip("numpy")
FOLDER = Path(__file__).parent / "formats"
SUFFIXES = [".json", ".npz", ".safetensors"]


@pytest.fixture(params=SUFFIXES)
def suffix(request):
    if request.param == ".safetensors":
        pytest.importorskip("safetensors")
    return request.param


def tree_in_files(suffix):
    """Return the tree that was saved in each format, by the version that had it."""
    shared = nn.Param(0.5)
    tree = {
        "step": 7,
        "config": {
            "betas": (0.9, 0.99),
            "name": "adam",
            "big": 2**70,
            "day": datetime.date(2026, 1, 2),
        },
        "nodes": [
            OrderedDict(b=1, a=2),
            deque([1, 2], maxlen=3),
            None,
            {1: {2.5}, "x": b"\0"},
        ],
        "tied": [shared, shared],
        "types": [int, len, float("inf"), 1 + 2j],
    }
    if suffix != ".json":
        array = np.arange(6, dtype="f4").reshape(2, 3)
        empty = np.zeros((0, 2), "i8")
        tree["arrays"] = [array, array, empty, np.float64(0.25)]
    return tree


def test_format_2_is_loaded(suffix):
    """Files are never written anew: this is what is promised of all later versions."""
    path = FOLDER / f"format_2{suffix}"
    expected = tree_in_files(suffix)
    for loaded in (lw.load(path), lw.load(path, like=expected)):
        assert lw.tree_structure(loaded) == lw.tree_structure(expected)
        assert lw.tree_equal(loaded, expected, typematch=True)
        assert loaded["tied"][0] is loaded["tied"][1]


def test_format_2_is_what_is_written(tmp_path, suffix):
    """If this fails, the format has changed: give it a number, and read both."""
    path = tmp_path / f"x{suffix}"
    lw.save(path, tree_in_files(suffix))
    written = path.read_bytes()
    version = json.dumps(lw.__version__).encode()
    if suffix == ".json":
        old = (FOLDER / f"format_2{suffix}").read_bytes()
        assert written.replace(version, b'"0.2.0"') == old
    assert b'"format": 2' in written or b'\\"format\\": 2' in written


def test_format_1_says_what_wrote_it(suffix):
    path = FOLDER / f"format_1{suffix}"
    text = r"format_1\S+: it has format 1, which a version before the first release"
    for like in (None, tree_in_files(suffix)):
        with pytest.raises(FileError, match=text):
            lw.load(path, like)


@pytest.mark.parametrize(
    ("about", "text"),
    [
        (
            {"format": 3, "version": "1.4.0"},
            f"format 3, which leafwise 1.4.0 wrote; this is leafwise {lw.__version__}, "
            "which reads format 2",
        ),
        ({"format": 99}, "format 99, which another version of leafwise wrote"),
        ({"format": True, "version": 3}, "format True, which another version of"),
        ({"format": "2", "version": "\x1b[31m"}, r"leafwise \x1b[31m wrote"),
    ],
)
def test_a_later_format_says_what_wrote_it(tmp_path, about, text):
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"leafwise": about, "leaves": {}, "treedefs": []}))
    with pytest.raises(FileError) as caught:
        lw.load(path)
    assert text in str(caught.value)


def test_a_namespace_that_is_not_declared_is_named(tmp_path):
    path = tmp_path / "x.json"
    lw.save(path, (1, 2))
    path.write_text(path.read_text().replace('"namespace":""', '"namespace":"lab"'))
    with pytest.raises(FileError, match=r"no namespace 'lab' was declared.*as `like`"):
        lw.load(path)
    assert lw.load(path, like=(0, 0)) == (1, 2)
