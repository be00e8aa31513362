"""What the formats cannot hold is refused with its place; nothing is lost silently."""

import datetime
import io
import json
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import leafwise as lw
from leafwise.io.formats import Document, FormatError, dump, load
from transcripts import output_of


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Go to an empty folder, and return what writes a file there."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["leafwise"])
    return lambda name, text: (tmp_path / name).write_text(text, encoding="utf-8")


# ----------------------------------------------------------------------- duplicate keys

EQUAL = "are equal in Python, so a dict cannot have both"


@pytest.mark.parametrize(
    ("kind", "text", "reason"),
    [
        ("json", '{"a": 1, "a": 2}', "line 1, column 10: duplicate key 'a', first on "
         "line 1"),
        ("json", '{"a": {"b": 1},\n "c": [{"b":2,\n  "\\u0062" : 3}]}',
         "line 3, column 3: duplicate key 'b', first on line 2"),
        ("json", '{"a": {"x": 1, "y": 2, "x": 3}, "a": 4}',
         "line 1, column 24: duplicate key 'x', first on line 1"),
        ("json", '{"\\"}{[": 1,\n"\\"}{[": 2}',
         "line 2, column 1: duplicate key '\"}{[', first on line 1"),
        ("yaml", "a: 1\nb:\n  c: 1\n  'c': 2", "line 4, column 3: duplicate key 'c', "
         "first on line 3"),
        ("yaml", "- {x: 1}\n- {x: 1, x: 2}", "line 2, column 10: duplicate key 'x', "
         "first on line 2"),
        ("yaml", "a: 1\n---\na: 1\na: 2", "line 4, column 1: duplicate key 'a', first "
         "on line 3"),
        ("yaml", "1: a\ntrue: b", f"line 2, column 1: the keys 1 (line 1) and true "
         f"{EQUAL}"),
        ("yaml", "1: a\nx: b\n1.0: c", "line 3, column 1: the keys 1 (line 1) and 1.0 "
         f"{EQUAL}"),
        ("yaml", "null: a\n~: b", f"line 2, column 1: the keys null (line 1) and ~ "
         f"{EQUAL}"),
        ("yaml", "!!set {x, x}", "line 1, column 11: duplicate key 'x', first on line "
         "1"),
        ("yaml", "a: &a {x: 1}\nb:\n  <<: *a\n  <<: *a", "line 4, column 3: duplicate "
         "key '<<', first on line 3"),
    ],
)  # fmt: skip
def test_duplicate_keys_are_refused(write, kind, text, reason):
    """With file, line and key, by every command."""
    write(f"a.{kind}", text)
    for command in ("show {}", "set {} +z=1", "diff {} {}", "merge {} {}", "flat {}"):
        name = f"a.{kind}"
        assert output_of(command.format(name, name)) == (
            f"leafwise: {name}: {reason}\n[exit status 2]"
        )


def test_duplicate_keys_in_toml(write):
    """Are refused by its reader, which says where."""
    write("a.toml", "a = 1\na = 2\nb = 3\n")
    assert output_of("show a.toml").startswith(
        "leafwise: a.toml: not valid TOML: Cannot overwrite a value (at line 2, column "
    )


def test_keys_that_are_no_duplicates():
    """Text beside numbers, keys that override what `<<` brings, keys of other dicts."""
    assert load('1: a\n"1": b', "yaml").tree == {1: "a", "1": "b"}
    assert load(
        "x: &x {a: 1, b: 2}\ny: &y {a: 5}\nz:\n  a: 3\n  <<: [*x, *y]\nw: {<<: *y}",
        "yaml",
    ).tree["z"] == {"a": 3, "b": 2}
    assert load('{"a": {"a": {"a": ["a", "a"]}}}', "json").tree["a"]["a"]
    assert load("a: &a {x: 1}\nb: [*a, *a]", "yaml").tree["b"] == [{"x": 1}] * 2


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=3),
        lambda below: (
            st.lists(below, max_size=3)
            | st.dictionaries(st.text(max_size=2), below, max_size=3)
        ),
        max_leaves=8,
    )
)
def test_what_has_no_duplicate_is_read(tree):
    """By the standard readers' rules: nothing else is refused, nothing else changed."""
    assert load(json.dumps(tree), "json").tree == tree
    text = json.dumps(tree, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return
    assert load(dump(Document(tree, "yaml")), "yaml").tree == tree


# ------------------------------------------------------------- what cannot be written

DAY = datetime.date(2026, 11, 21)


@pytest.mark.parametrize(
    ("kind", "tree", "reason"),
    [
        ("json", {"a": [1, {2}]}, "the value at ['a'][1] is a set, {2}"),
        ("json", {"a": b"x"}, "the value at ['a'] is a bytes, b'x'"),
        ("json", {"a": float("nan")}, "the value at ['a'] is nan"),
        ("json", [float("-inf")], "the value at [0] is -inf"),
        ("json", float("inf"), "the value at the root is inf"),
        ("json", {"a": {DAY: 1}},
         "the key at ['a'][datetime.date(2026, 11, 21)] is a date, "
         "datetime.date(2026, 11, 21)"),
        ("json", {"x": {1: "a", "1": "b"}},
         "the keys 1 and '1' of the dict at ['x'] are the same name"),
        ("json", {None: 1, "null": 2},
         "the keys None and 'null' of the dict at the root are the same name"),
        ("yaml", {"a": datetime.time(7, 32)},
         "the value at ['a'] is a time, datetime.time(7, 32)"),
        ("yaml", [object], "the value at [0] is a type, <class 'object'>"),
        ("toml", {"a": {"b": [1, None]}}, "the value at ['a']['b'][1] is null"),
        ("toml", {"a": {1: 2}}, "the key at ['a'][1] is an int, 1"),
        ("toml", {None: 2}, "the key at [None] is null"),
        ("toml", {"a": {3}}, "the value at ['a'] is a set, {3}"),
        ("toml", [1, 2], "the root is a list, [1, 2], not a dict"),
        ("toml", None, "the root is null, not a dict"),
    ],
)  # fmt: skip
def test_what_a_format_cannot_represent(kind, tree, reason):
    """Is refused with the path, the type and the value."""
    with pytest.raises(FormatError) as error:
        dump(Document(tree, kind))
    assert str(error.value) == f"cannot be written as {kind.upper()}: {reason}"


@pytest.mark.parametrize("kind", ["json", "yaml", "toml"])
def test_integers_longer_than_python_prints(write, kind):
    """The place is named, when they are shown and when they are written."""
    value = 10**5000
    with pytest.raises(FormatError, match=r"the value at \['a'\] is too long: Exceeds"):
        dump(Document({"a": value}, kind))
    write("long.yaml", f"a: 0x{'9' * 5000}")
    assert output_of("show long.yaml").startswith(
        "leafwise: the value at ['a']: Exceeds the limit"
    )
    assert output_of("get long.yaml '*'").startswith(
        "leafwise: the value at ['a']: Exceeds the limit"
    )
    assert dump(Document({"a": 2**200}, kind)).count(str(2**200)) == 1


def test_what_is_not_a_number_in_json(write):
    """A JSON file keeps the NaN that Python's json put there; none gets a new one."""
    write("a.json", '{"x": NaN, "y": [Infinity, -Infinity], "n": 1}')
    write("a.yaml", "x: .nan\nn: 1\n")
    assert output_of("set a.json n=2").startswith('{"x": NaN,')
    assert output_of("get a.json x") == "NaN"
    refused = "leafwise: cannot be written as JSON: the value at ['x'] is nan"
    assert output_of("set a.json n=2 --json") == f"{refused}\n[exit status 2]"
    assert output_of("set a.yaml n=2 --to json") == f"{refused}\n[exit status 2]"
    assert output_of("set a.json n=2 --to yaml") == (
        "x: .nan\ny:\n- .inf\n- -.inf\nn: 2"
    )
    write("b.json", '{"n": 1}')
    assert output_of("merge b.json a.yaml") == f"{refused}\n[exit status 2]"


def test_lines_of_values_that_json_lacks(write):
    """`get` and `flat` show dates as in JSON, and other objects as Python does."""
    write("a.yaml", "a: !!binary aGk=\nb: 2026-11-21T10:00:00Z\nc: !!set {x}\n")
    lines = ["['a'] = b'hi'", "['b'] = \"2026-11-21T10:00:00+00:00\"", "['c'] = {'x'}"]
    assert output_of("get a.yaml '*'").splitlines() == lines
    assert output_of("flat a.yaml").splitlines()[0] == "a = b'hi'"
    write("five.json", "5")
    assert output_of("flat five.json") == "5"


# ---------------------------------------------------------------------- malformed YAML


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: 2020-02-30", "line 1, column 4: '2020-02-30' is not a valid timestamp: "),
        ("x: 1\na: !!bool maybe", "line 2, column 4: 'maybe' is not a valid bool"),
        ("a: !!int ''", "line 1, column 4: '' is not a valid int"),
        ("a: !!float ''", "line 1, column 4: '' is not a valid float"),
        ("a: !!timestamp x", "line 1, column 4: 'x' is not a valid timestamp"),
        ('é: 1\nb: "a\x01b"', "line 2, column 6: the character '\\x01' is not allowed"),
        ("? [a]\n: 1", "line 1, column 3: found unhashable key"),
    ],
)  # fmt: skip
def test_malformed_yaml_is_told_with_line_and_column(text, reason):
    """Also what only the constructor of a scalar finds."""
    with pytest.raises(FormatError) as error:
        load(text, "yaml")
    assert str(error.value).startswith(f"not valid YAML: {reason}")


def test_a_plain_equals_sign_is_text():
    """YAML 1.1 had a type for it."""
    assert load("a: =\n=: 2", "yaml").tree == {"a": "=", "=": 2}


# --------------------------------------------------------------------- standard input


@pytest.mark.parametrize(
    "line",
    ["- --format json", "--format json -", "--format=json - x", "show - --format json"],
)
def test_the_standard_input_alone_is_shown(write, monkeypatch, line):
    """Wherever the format stands."""
    monkeypatch.setattr(sys, "stdin", io.StringIO('{"x": 1}'))
    assert output_of(line).startswith("['x'] = 1")


def test_the_standard_input_is_read_once(write):
    """Twice would compare something with nothing."""
    for line in ("diff - - --format yaml", "merge - - --format yaml"):
        assert output_of(line) == (
            "leafwise: -: the standard input can be read only once\n[exit status 2]"
        )


def test_spaces_in_messages_stay(write):
    """An error is one line, in which keys are as they are."""
    write("a.json", '{"b  c": 1}')
    assert "['b  c']" in output_of("get a.json x")


def test_a_file_is_read_by_its_name(write, tmp_path):
    """In each format and encoding; what is wrong is said with the name."""
    write("a.yaml", "mode: 0644\nb: [1, 2]\n")
    write("a.toml", "mode = 0o644\nb = [1, 2]\n")
    write("a.conf", '{"mode": 420, "b": [1, 2]}')
    (tmp_path / "wide.yml").write_bytes("mode: 0644\nb: [1, 2]".encode("utf-16"))
    expected = {"mode": 420, "b": [1, 2]}
    assert lw.read("a.yaml") == lw.read("a.toml") == lw.read("wide.yml") == expected
    assert lw.read(b"a.conf", format="json") == lw.read(Path("a.yaml")) == expected
    assert type(lw.read("a.yaml")["mode"]) is int
    write("b.yaml", "a: 1\na: 2")
    (tmp_path / "c.json").write_bytes(b"\xff")
    for name, reason in {
        "b.yaml": "b.yaml: line 2, column 1: duplicate key 'a', first on line 1",
        "c.json": "c.json: 'utf-8' codec can't decode byte 0xff",
        "a.conf": "a.conf: unknown format, expected json, toml or yaml",
        "a.npz": "a.npz: unknown format, expected json, toml or yaml; use leafwise",
    }.items():
        with pytest.raises(lw.errors.FileError, match=f"^{re.escape(reason)}"):
            lw.read(name)
    with pytest.raises(FileNotFoundError):
        lw.read("nowhere.yaml")
