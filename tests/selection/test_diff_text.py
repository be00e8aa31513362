"""What a diff prints: whole texts, in colour and without, safe and short."""

import io
import json
import re
from datetime import UTC, date, datetime, time, timedelta

import numpy as np
import pytest
from hypothesis import given

import leafwise as lw
from helpers.random_trees import every_tree
from leafwise.show.colors import Paint


ZEROS = np.zeros((64, 64))
TRAINED = ZEROS.copy()
TRAINED[3, 7] = 0.5
TRAINED[9, 2] = np.nan
ROWS = np.array([(1, 2.5), (3, 4.5)], [("id", "i4"), ("x", "f8")])
POEM = "Rose is red,\nviolets are blue,\n" * 4


class Thing:
    """Prints what it is told."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text


def changed(array, **places):
    """Return an array with other elements, given as `_1=...`."""
    copied = array.copy()
    for name, value in places.items():
        copied[int(name[1:])] = value
    return copied


TEXTS = {
    "many": (
        ZEROS,
        ZEROS + np.arange(64),
        """~ x: f64[64,64], 4032 of 4096 elements differ: largest error 63 \
at [0, 63], relative 1
            [0, 1]: 0.0 -> 1.0
            [0, 2]: 0.0 -> 2.0
            [0, 3]: 0.0 -> 3.0
            and 4029 more""",
    ),
    "nan": (
        ZEROS,
        TRAINED,
        """~ x: f64[64,64], 2 of 4096 elements differ: largest error 0.5, \
relative 1, 1 with NaN or infinity
            [3, 7]: 0.0 -> 0.5
            [9, 2]: 0.0 -> nan""",
    ),
    "infinity alone": (
        np.array([np.inf, 1]),
        np.array([-np.inf, 1]),
        """~ x: f64[2], 1 of 2 elements differs: 1 with NaN or infinity
            [0]: inf -> -inf""",
    ),
    "small": (
        np.array([1, 2]),
        np.array([1, 3]),
        """~ x: i64[2], 1 of 2 elements differs: largest error 1, relative 0.333
            [1]: 2 -> 3""",
    ),
    "large integers": (
        np.array([-(2**63), 1]),
        np.array([2**63 - 1, 1]),
        """~ x: i64[2], 1 of 2 elements differs: largest error \
18446744073709551615, relative 2
            [0]: -9223372036854775808 -> 9223372036854775807""",
    ),
    "shape": (ZEROS, ZEROS[:3], "~ x: f64[64,64] -> f64[3,64]"),
    "short of another shape": (
        np.array([1, 2]),
        np.array([1]),
        "~ x: i64[2] -> i64[1]",
    ),
    "dtype": (
        ZEROS,
        ZEROS.astype("f4"),
        "~ x: f64[64,64] -> f32[64,64], with the same values",
    ),
    "dtype and values": (
        np.full(3, 0.1),
        changed(np.full(3, 0.1, "f4"), _0=2),
        """~ x: f64[3] -> f32[3], 3 of 3 elements differ: largest error 1.9, \
relative 0.95
            [0]: 0.1 -> 2.0
            [1]: 0.1 -> 0.10000000149011612
            [2]: 0.1 -> 0.10000000149011612""",
    ),
    "sort": (
        np.ones(30),
        np.ones(30, bool),
        "~ x: f64[30] -> bool[30]",
    ),
    "bool": (
        np.array([True, False]),
        np.array([True, True]),
        "~ x: bool[2], 1 of 2 elements differs\n            [1]: False -> True",
    ),
    "complex": (
        np.array([1 + 1j, 2]),
        np.array([1 + 1j, 2 + 1j]),
        """~ x: c128[2], 1 of 2 elements differs: largest error 1, relative 0.447
            [1]: (2+0j) -> (2+1j)""",
    ),
    "strings": (
        np.array(["a", "b"]),
        np.array(["a", "c"]),
        "~ x: <U1[2], 1 of 2 elements differs\n            [1]: 'b' -> 'c'",
    ),
    "objects, fields, masks": (
        ROWS,
        changed(ROWS, _1=(3, 9.0)),
        "~ x: [('id', '<i4'), ('x', '<f8')][2], which cannot be compared by element",
    ),
    "empty": (
        np.zeros((0, 99)),
        np.zeros((0, 99), "f4"),
        "~ x: f64[0,99] -> f32[0,99]",
    ),
    "no dimensions": (np.array(1.0), np.array(2.0), "~ x: array(1.) -> array(2.)"),
    "no dimensions, close": (
        np.array(0.1),
        np.array(0.1 + 1e-12),
        "~ x: f64[], 1 of 1 element differs: largest error 1.00001e-12, relative "
        "1e-11\n            []: 0.1 -> 0.10000000000100001",
    ),
    "a scalar": (
        np.float64(1),
        np.float32(1),
        "~ x: np.float64(1.0) (float64) -> np.float32(1.0) (float32)",
    ),
    "an array and a list": (
        ZEROS,
        None,
        "! x: f64[64,64] (ndarray) -> None (NoneType)",
    ),
    "short texts": ("a\nb", "a\nc", r"~ x: 'a\nb' -> 'a\nc'"),
    "spaces": (
        "a  b",
        "a b",
        """~ x: 4 characters -> 3 characters, which differ from character 3 on
            - 'a  b'
            + 'a b'""",
    ),
    "long texts": (
        POEM,
        POEM.replace("blue", "blew", 3),
        "~ x: 124 characters, which differ from character 28 (line 2, column 15) on"
        r"""
            - ...' red,\nviolets are blue,\nRose is red,\nviolets are blue,\nRose '...
            + ...' red,\nviolets are blew,\nRose is red,\nviolets are blew,\nRose '"""
        "...",
    ),
    "bytes": (
        b"x" * 100,
        b"x" * 99,
        """~ x: 100 bytes -> 99 bytes, which differ from byte 100 on
            - ...b'xxxxxxxxxxxxxxxxxxxxx'
            + ...b'xxxxxxxxxxxxxxxxxxxx'""",
    ),
    "texts that look the same": (
        "\u00e9",
        "e\u0301",
        "~ x: '\u00e9' -> 'e\u0301', the same letters in another Unicode form",
    ),
    "long texts that look the same": (
        "x" * 60 + "\u00e9",
        "x" * 60 + "e\u0301",
        f"""~ x: 61 characters -> 62 characters, which differ from character 61 on: \
the same letters in another Unicode form
            - ...'{"x" * 20}\u00e9'
            + ...'{"x" * 20}e\u0301'""",
    ),
    "dates with times": (
        datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC),
        datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC),
        "~ x: 2024-01-02T03:04:05+00:00 -> 2025-01-02T03:04:05+00:00",
    ),
    "a date and a date with a time": (
        date(2024, 1, 2),
        datetime(2024, 1, 2),
        "~ x: 2024-01-02 (date) -> 2024-01-02T00:00:00 (datetime)",
    ),
    "times": (time(2), time(3, 4), "~ x: 02:00:00 -> 03:04:00"),
    "durations": (
        timedelta(2),
        timedelta(hours=1),
        "~ x: 2 days, 0:00:00 -> 1:00:00",
    ),
    "a date and its text": (
        date(2024, 1, 2),
        "2024-01-02",
        "~ x: 2024-01-02 (date) -> '2024-01-02' (str)",
    ),
    "small sets": ({1, 2}, {1, 3}, "~ x: {1, 2} -> {1, 3}"),
    "large sets": (
        set(range(100)),
        set(range(4, 101)),
        """~ x: set of 100 -> set of 97, 4 removed, 1 added
            - 0
            - 1
            - 2
            - and 1 more
            + 100""",
    ),
    "a set of another type": (
        frozenset(range(50)),
        set(range(50)) | {"z"},
        """~ x: frozenset of 50 -> set of 51, 1 added
            + 'z'""",
    ),
    "texts of objects": (
        Thing("Thing(" + "x" * 80 + "1)"),
        Thing("Thing(" + "x" * 80 + "2)"),
        f"""~ x: Thing({"x" * 51}..., which differ from character 87 on
            - ...{"x" * 20}1)
            + ...{"x" * 20}2)""",
    ),
}


@pytest.mark.parametrize("case", TEXTS)
def test_what_is_printed(case):
    """The same in one change, in a diff, and by the error of a test."""
    a, b, text = TEXTS[case]
    text = text.replace("\n            ", "\n    ")
    diff = lw.tree_diff({"x": a}, {"x": b})
    assert str(diff) == str(diff[0]) == text
    assert "\n".join(diff.lines()) == text
    indented = text.replace("\n", "\n  ")
    assert repr(diff) == f"<TreeDiff of 1 change>\n  {indented}"
    with pytest.raises(AssertionError) as caught:
        lw.testing.assert_trees_equal({"x": a}, {"x": b})
    assert str(caught.value) == (
        f"the trees differ in 1 place (actual -> expected):\n  {indented}"
    )


def test_keys_that_look_the_same():
    """One key replaced by another looks like no change, which is said."""
    diff = lw.tree_diff({"a": {"\u00e9": 1}}, {"a": {"e\u0301": 1}})
    note = "the same letters in another Unicode form"
    lines = {"- a.\u00e9: 1", f"+ a.e\u0301: 1, {note}"}
    assert set(diff.lines()) == lines


def test_dates_in_json_are_complete():
    """What was added is short in a text, and in JSON what makes it again."""
    diff = lw.tree_diff({}, {"x": datetime(2024, 1, 2, tzinfo=UTC)})
    assert str(diff) == "+ x: 2024-01-02T00:00:00+00:00"
    [record] = json.loads(diff.to_json())
    assert record["after"] == repr(diff[0].after)


ESCAPE = re.compile(r"\033\[\d+m")


@given(every_tree(), every_tree())
def test_colours_add_nothing_but_colours(a, b):
    """A text in colour is the plain one, when the codes are taken out."""
    diff = lw.tree_diff(a, b)
    plain = "\n".join(diff.lines())
    colours = "\n".join(diff.lines(color="always"))
    assert ESCAPE.sub("", colours) == plain
    assert "\033" not in f"{diff}{diff!r}"
    assert bool(diff) is ("\033" in colours)
    assert all(line.isprintable() for line in diff.lines())


def test_which_colours():
    """Old ones red, new ones green, paths cyan."""
    lines = lw.tree_diff([1, np.array([1, 2]), 3], [2, np.array([1, 3])]).lines(
        color="always"
    )
    red, green, yellow, cyan = (f"\033[{code}m" for code in (31, 32, 33, 36))
    end = "\033[0m"
    assert list(lines) == [
        f"{yellow}~{end} {cyan}[0]{end}: {red}1{end} -> {green}2{end}",
        f"{yellow}~{end} {cyan}[1]{end}: i64[2], 1 of 2 elements differs: "
        "largest error 1, relative 0.333",
        f"    {cyan}[1]{end}: {red}2{end} -> {green}3{end}",
        f"{red}-{end} {cyan}[2]{end}: {red}3{end}",
    ]


class Terminal(io.StringIO):
    """A file that says it is a terminal."""

    def isatty(self):
        return True


def test_colours_where_a_terminal_is(monkeypatch, capsys):
    """`show` prints them there, unless `NO_COLOR` is set; never into a pipe."""
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    diff = lw.tree_diff([1, 2], [3, 4])
    diff.show()
    assert capsys.readouterr().out == "~ [0]: 1 -> 3\n~ [1]: 2 -> 4\n"
    out = Terminal()
    diff.show(file=out, most=1)
    assert out.getvalue().endswith("\n\033[2mand 1 more\033[0m\n")
    monkeypatch.setenv("NO_COLOR", "1")
    out = Terminal()
    diff.show(file=out)
    assert out.getvalue() == "~ [0]: 1 -> 3\n~ [1]: 2 -> 4\n"
    lw.tree_diff(1, 1).show()
    assert capsys.readouterr().out == "no differences\n"
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert not Paint("auto", Terminal()).is_on
    assert not Paint("auto", object()).is_on
    with pytest.raises(ValueError, match=r"^color must be one of auto, always, never"):
        diff.show(color="sometimes")


class Lookalike:
    """Has what arrays have, of another sort."""

    def __init__(self, shape, dtype="f4"):
        self.shape = shape
        self.dtype = dtype
        self.all = None

    def __repr__(self):
        return "an array"


class Unruly(set):
    """A set whose items cannot be asked for."""

    __slots__ = ()

    def __len__(self):
        raise ZeroDivisionError

    def __contains__(self, item):
        raise ZeroDivisionError

    def __repr__(self):
        raise ZeroDivisionError


@pytest.mark.parametrize(
    "value",
    [Lookalike(None), Lookalike(5), Lookalike((1, "x")), Lookalike((3,)), Unruly()],
)
def test_what_only_looks_like_an_array_or_a_set(value):
    """It has a text all the same, wherever it is."""
    make = lw.selection.Change
    for pair in ((value, np.ones(3)), (value, {1}), (value, value), ([value], value)):
        for kind in ("value", "type", "aux", "added", "removed"):
            for sides in (pair, pair[::-1]):
                change = make(kind, lw.KeyPath(()), *sides)
                assert str(change).isprintable()


def test_many_fields_are_cut():
    """Their names would fill a page."""
    rows = np.zeros(3, [(f"field{i}", "f8") for i in range(50)])
    line = str(lw.tree_diff(rows, rows[:2]))
    assert len(line) < 170
    assert "...[3] -> [(" in line


def test_arrays_in_added_subtrees_have_their_short_form():
    """Whatever is around them."""
    layer = {"w": np.zeros((8, 8), "f4"), "n": 1}
    assert str(lw.tree_diff({}, {"a": layer})) == "+ a: {'w': f32[8,8], 'n': 1}"
    assert str(lw.tree_diff([], [np.array([1, 2], "i4")])) == "+ [0]: i32[2]([1, 2])"


def test_large_values_are_not_printed_whole():
    """Ten megabytes of text, a million items."""
    a = {"text": "x" * 10_000_000, "set": set(range(200_000)), "array": np.zeros(10**6)}
    b = {"text": a["text"] + "y", "set": a["set"] | {-1}, "array": np.ones(10**6)}
    assert len(repr(lw.tree_diff(a, b))) < 1000
