"""What the formats cannot hold is refused with its place; nothing is lost silently."""

import datetime
import re
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leafwise as lw
from leafwise.configs import yaml_reader
from leafwise.configs.formats import Document, FormatError, dump, load


TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda below: (
        st.lists(below, max_size=3)
        | st.dictionaries(st.text(max_size=2), below, max_size=3)
    ),
    max_leaves=8,
)
ODD_TEXTS = st.sampled_from(
    ["Zürich € 😀", "a\nb\x85c", "\x85", "a\u2028b\nc", "\x7f", "\ufeff", "a\r\nb", "=",
     "é\nü\n", "\x1f\n", "a\n\x00", "\ufffe\n", "€\\u20ac",
     "\U0010ffff", "<<", ": a", "- ", "#", "'", '"', "? b"]
)  # fmt: skip


@given(TREES)
def test_what_is_written_is_read_again(tree):
    """Nothing is changed; only YAML refuses half characters."""
    for kind in ("json", "yaml"):
        if kind == "json" or "\\ud" not in repr(tree):
            text = dump(Document(tree, kind), allow_nan=True)
            text.encode()
            assert repr(load(text, kind).tree) == repr(tree)


@given(ODD_TEXTS | st.text("ab:#'\"-? \n", max_size=5))
def test_text_comes_back_from_every_format(text):
    """As a value, as a key, in a list; what a format takes for a line end, too."""
    tree = {"k": text, text: [text, {text: "x"}]}
    for kind in ("json", "yaml", "toml"):
        written = dump(Document(tree, kind))
        assert load(written, kind).tree == tree
        if kind == "toml":
            assert tomllib.loads(written) == tree


def test_keys_that_are_no_duplicates():
    """Text beside numbers, keys that override what `<<` brings, keys of other dicts."""
    assert load('1: a\n"1": b', "yaml").tree == {1: "a", "1": "b"}
    text = "x: &x {a: 1, b: 2}\ny: &y {a: 5}\nz:\n  a: 3\n  <<: [*x, *y]\nw: {<<: *y}"
    assert load(text, "yaml").tree["z"] == {"a": 3, "b": 2}
    assert load('{"a": {"a": {"a": ["a", "a"]}}}', "json").tree["a"]["a"]
    assert load("a: &a {x: 1}\nb: [*a, *a]", "yaml").tree["b"] == [{"x": 1}] * 2
    text = "a: &a {x: 1}\nb: &b {<<: *a, x: 2}\nc: {<<: *b}\nd: {<<: *b, x: 3}"
    assert load(text, "yaml").tree["d"] == {"x": 3}


@pytest.mark.parametrize(
    ("kind", "tree", "reason"),
    [
        ("json", {"a": [1, {2}]}, "the value at a[1], {2}: JSON has no set"),
        ("json", {"a": float("nan")}, "the value at a, nan: Out of range float"),
        ("json", float("inf"), "the value at the root, inf: Out of range float"),
        ("json", {"a": {datetime.date(2026, 11, 21): 1}}, "keys must be str, int, "),
        ("json", {"x": {1: "a", "1": "b"}}, "duplicate key '1'"),
        ("toml", {"a": "x\ud800"}, "the value at a, 'x\\ud800': 'utf-8' codec"),
        ("yaml", {"a": ["x\ud800"]}, "the value at a[0], 'x\\ud800': 'utf-8'"),
        ("yaml", {"a": datetime.time(7, 32)}, "the value at a, datetime.time(7, "),
        ("yaml", [object], "the value at [0], <class 'object'>: YAML has no type"),
        ("yaml", {"a": [np.float32(1)]},
         f"the value at a[0], {np.float32(1)!r}: YAML has no numpy.float32; write its "
         ".item(), or the tree by leafwise.save"),
        ("json", {"a": np.int64(2)},
         f"the value at a, {np.int64(2)!r}: JSON has no numpy.int64; write its ."),
        ("json", {"a": np.zeros(2)},
         "the value at a, array([0., 0.]): JSON has no numpy.ndarray; write its ."),
        ("json", [np.bool_(True)],
         f"the value at [0], {np.bool_(True)!r}: JSON has no numpy.bool"),
        ("toml", {"a": np.float32(1)}, f"the value at a, {np.float32(1)!r}: Unable"),
        ("toml", {"a": {"b": [1, None]}}, "the value at a.b[1], None: "),
        ("toml", {"a": {1: 2}}, "Keys must be strings"),
        ("toml", {"a": {3}}, "the value at a, {3}: "),
        ("toml", [1, 2], "Expecting Mapping"),
        *((kind, {"a": 10**5000}, "the value at a, ")
          for kind in ("json", "yaml", "toml")),
    ],
)  # fmt: skip
def test_what_a_format_cannot_represent(kind, tree, reason):
    """Is refused with the path of the value, or with the key."""
    reason = f"cannot be written as {kind.upper()}: {reason}"
    with pytest.raises(FormatError, match=f"^({re.escape(reason)}|duplicate key '1')"):
        dump(Document(tree, kind))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: 2020-02-30", "line 1, column 4: '2020-02-30' is not a valid timestamp: "),
        ("x: 1\na: !!bool maybe", "line 2, column 4: 'maybe' is not a valid bool"),
        ("a: !!int ''", "line 1, column 4: '' is not a valid int"),
        ("a: !!float ''", "line 1, column 4: '' is not a valid float"),
        ("a: !!timestamp x", "line 1, column 4: failed to construct timestamp"),
        ('é: 1\nb: "a\x01b"', "unacceptable character #x0001"),
        ("? [a]\n: 1", "line 1, column 3: found unhashable key"),
    ],
)
def test_malformed_yaml_is_told_with_its_place(text, reason):
    """Also what only the constructor of a scalar finds."""
    with pytest.raises(FormatError) as error:
        load(text, "yaml")
    assert str(error.value).startswith(f"not valid YAML: {reason}")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on", "on"), ("no", "no"), ("true", True), ("False", False), ("null", None),
        ("22:22", "22:22"), ("1:30.5", "1:30.5"), ("3e-4", 3e-4), ("1.", 1.0),
        (".5", 0.5), ("-.inf", float("-inf")), ("0x1F", 31), ("0644", 0o644),
        ("1_000", 1000), ("08", "08"), ("1e", "1e"), ("'1'", "1"), ("~", None),
        ("=", "="),
    ],
)  # fmt: skip
def test_plain_scalars_of_yaml(text, value):
    """As YAML 1.2 has them, where 1.1 surprises; written so that they come back."""
    document = load(f"x: {text}\n", "yaml")
    assert document.tree == {"x": value}
    assert type(document.tree["x"]) is type(value)
    assert load(dump(document), "yaml") == document
    quoted = Document({"x": text.strip("'")}, "yaml")
    assert load(dump(quoted), "yaml") == quoted


def test_merge_keys_that_multiply(monkeypatch):
    """Each level has the same keys as the one below, not nine times as many."""
    text = "a0: &a0 {k: 1}\n"
    for n in range(1, 40):
        text += f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}\n"
    assert load(text, "yaml").tree["a39"] == {"k": 1}
    monkeypatch.setattr(yaml_reader, "MOST_MERGED", 1000)
    pairs = ", ".join(f"k{n}: 1" for n in range(110))
    text = f"a: &a {{{pairs}}}\n" + "".join(f"b{n}: {{<<: *a}}\n" for n in range(10))
    with pytest.raises(FormatError, match="merge keys bring more than 1000 values"):
        load(text, "yaml")


@pytest.mark.parametrize("kind", ["yaml", "toml"])
def test_packages_that_are_missing(monkeypatch, kind):
    """Are named, with the way to get them."""
    monkeypatch.setitem(sys.modules, "ruamel.yaml", None)
    monkeypatch.setitem(sys.modules, "tomlkit", None)
    monkeypatch.delitem(sys.modules, "leafwise.configs.yaml_reader", raising=False)
    with pytest.raises(FormatError, match=r'not installed: pip install "leafwise\[fil'):
        dump(Document({}, kind))


def test_a_file_is_read_by_its_name(tmp_path, monkeypatch):
    """In each format and encoding; what is wrong is said with the name."""
    monkeypatch.chdir(tmp_path)
    files = {
        "a.yaml": b"mode: 0644\nb: [1, 2]\n",
        "a.toml": b"mode = 0o644\nb = [1, 2]\n",
        "a.conf": b'{"mode": 420, "b": [1, 2]}',
        "wide.yml": "mode: 0644\nb: [1, 2]".encode("utf-16"),
        "b.yaml": b"a: 1\na: 2",
        "c.json": b"\xff",
    }
    for name, data in files.items():
        Path(name).write_bytes(data)
    expected = {"mode": 420, "b": [1, 2]}
    assert lw.read("a.yaml") == lw.read("a.toml") == lw.read("wide.yml") == expected
    assert lw.read(b"a.conf", format="json") == lw.read(Path("a.yaml")) == expected
    assert type(lw.read("a.yaml")["mode"]) is int
    for name, reason in {
        "b.yaml": "b.yaml: line 2, column 1: duplicate key 'a', first 'a' on line 1",
        "c.json": "c.json: not valid JSON: 'utf-8' codec can't decode byte 0xff",
        "a.conf": "a.conf: unknown format, expected json, toml or yaml",
        "a.npz": "a.npz: unknown format, expected json, toml or yaml; leafwise.load",
    }.items():
        with pytest.raises(lw.errors.FileError, match=f"^{re.escape(reason)}"):
            lw.read(name)
    with pytest.raises(FileNotFoundError):
        lw.read("nowhere.yaml")
