"""Overrides: how a text becomes a value, and what it may replace."""

import contextlib
import datetime
import decimal
import enum
import json
import math
import re
import zoneinfo
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leafwise as lw
from leafwise.configs.overrides import guess
from leafwise.errors import EditError, PathError


# ------------------------------------------------------- values by what they replace


class Mode(enum.Enum):
    FAST = "fast"
    EXACT = 1


@lw.dataclass
class Optim:
    lr: float
    steps: int = lw.static(default=100)


CONFIG = {
    "flag": True,
    "int": 3,
    "float": 0.5,
    "complex": 1j,
    "text": "run",
    "none": None,
    "mode": Mode.FAST,
    "path": PurePosixPath("data"),
    "day": datetime.date(2026, 1, 2),
    "half": np.float16(0.5),
    "yes": np.bool_(True),
    "widths": [64, 32],
    "mixed": [1, "a"],
    "versions": ["3.9"],
    "pair": (0.1, 0.2),
    "table": {"a": 1, "b": "x"},
    "optim": Optim(0.1),
    "array": np.zeros(2),
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("flag=false", False), ("flag=Off", False), ("flag=1", True),
        ("int=7", 7), ("int=-0x10", -16), ("int=1_000", 1000), ("int=0", 0),
        ("float=3e-4", 3e-4), ("float=2", 2.0), ("float=inf", float("inf")),
        ("complex=2+1j", 2 + 1j),
        ("text=a=b", "a=b"), ("text=", ""), ("text='null'", "null"), ("text=12", "12"),
        ("text=null", None), ("int=null", None),
        ("none=3", 3), ("none=[1, {'a': 2}]", [1, {"a": 2}]),
        ("none=some text", "some text"),
        ("mode=EXACT", Mode.EXACT), ("mode=1", Mode.EXACT), ("mode=fast", Mode.FAST),
        ("path=a/b", PurePosixPath("a/b")),
        ("day=2026-11-21", datetime.date(2026, 11, 21)),
        ("half=0.25", np.float16(0.25)), ("yes=no", np.bool_(False)),
        ("widths=[1, 2, 3]", [1, 2, 3]), ("mixed=[true]", [True]),
        ("widths=null", None), ("widths=[1.5]", [1.5]),
        ("int=1.5", 1.5), ("int=1e3", 1000.0), ("int=inf", float("inf")),
        ("pair=[1, 0.5]", (1.0, 0.5)), ("pair=(1, 2)", (1.0, 2.0)),
        ('table={"a": 2, "c": []}', {"a": 2, "c": []}),
    ],
)  # fmt: skip
def test_values_are_cast_to_what_they_replace(text, value):
    """By the type of the leaf, not by what the text looks like."""
    name = text.partition("=")[0]
    new_value = lw.override(CONFIG, [text])[name]
    assert new_value == value
    assert type(new_value) is type(value)


WRONG = """
flag=maybe | is not a bool; the value at flag is True
int=007 | is not an int (write 0o07 for an octal number); the value at int is 3
float=007 | is not a float; the value at float is 0.5
float=true | is not a float; the value at float is 0.5
mode=SLOW | is not a Mode; the value at mode is <Mode.FAST: 'fast'>
widths=[a] | cannot replace the list; the value at widths is [64, 32]
versions=[3.10] | cannot replace the list; the value at versions is ['3.9']
widths=64 | cannot replace the list; the value at widths is [64, 32]
widths=wide | cannot replace the list; the value at widths is [64, 32]
table={"a": "x"} | cannot replace the dict; the value at table is {'a': 1, 'b': 'x'}
array=[1, 2] | is not a ndarray; the value at array is array([0., 0.])
"""


@pytest.mark.parametrize(
    ("text", "message"), [line.split(" | ") for line in WRONG.strip().splitlines()]
)
def test_what_is_not_of_the_sort_is_refused(text, message):
    """With the text, the place and what is there."""
    with pytest.raises(EditError) as error:
        lw.override(CONFIG, [text])
    value = text.partition("=")[2]
    assert str(error.value) == f"override {text!r}: {value!r} {message}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("flag", "expected path=value, +path=value, ++path=value or ~path"),
        ("+flag=1", "flag already exists"),
        ("+new.*.x=1", "'*' has no match and is not a name for a new key"),
        ("+int.x=1", "cannot insert at 'x' into the leaf at int"),
    ],
)
def test_what_is_no_override_is_refused(text, message):
    """With the text, the place and what is there."""
    with pytest.raises(EditError) as error:
        lw.override(CONFIG, [text])
    assert str(error.value) == f"override {text!r}: {message}"


def test_a_mapping_of_values_is_refused():
    """The error names the function that takes one."""
    message = (
        "overrides are texts such as 'optim.lr=0.1', got dict: {'int': 1}; "
        "tree_update(config, {...}) takes a mapping"
    )
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        lw.override(CONFIG, {"int": 1})


@given(
    st.one_of(
        st.integers(),
        st.floats(allow_nan=False),
        st.booleans(),
        st.complex_numbers(allow_nan=False),
    )
)
def test_the_text_of_a_value_is_the_value(value: Any):
    """What Python prints for a number is read as it."""
    changed = lw.override({"x": value}, f"x={value!r}")["x"]
    assert changed == value
    assert type(changed) is type(value)


@given(st.text())
def test_any_text_is_a_text_in_quotes(text):
    """Also one that looks like a number, null, or something with an `=`."""
    assert lw.override({"x": "old"}, f"x={text!r}") == {"x": text}


@pytest.mark.parametrize(
    ("old", "text", "new"),
    [
        ({"x"}, "{'y', 'zz'}", {"y", "zz"}),
        ({"x"}, '["y", "zz"]', {"y", "zz"}),
        (frozenset({1}), "[]", frozenset()),
    ],
)
def test_sets_are_written_with_their_items(old, text, new):
    """Not made of the letters of the text."""
    value = lw.override({"a": old}, f"a={text}")["a"]
    assert value == new
    assert type(value) is type(old)


@pytest.mark.parametrize(
    ("old", "text"),
    [
        (int, "str"),
        ({"x"}, "abc"),
        ({"x"}, "'abc'"),
        ({"x"}, "[[1]]"),
        (zoneinfo.ZoneInfo("UTC"), "Nowhere/At All"),
        (decimal.Decimal(1), "one"),
        (1, "9" * 5000),
    ],
    ids=["type", "set", "set of text", "set of lists", "zone", "decimal", "digits"],
)
def test_what_the_type_of_a_leaf_refuses_is_an_edit_error(old, text):
    """Whatever the type itself raises; the place and the text are told."""
    with pytest.raises(EditError) as caught:
        lw.override({"a": {"b": old}}, f"a.b={text}")
    kind = re.escape(type(old).__name__)
    where = re.escape("; the value at a.b is ")
    assert re.search(f" is not an? {kind}{where}", str(caught.value))
    assert len(str(caught.value)) < 250


PIECES = list("ab[]'.=+~*{}:-1 ")
PIECES += ["9" * 5000, "nan", "inf", "()", "f''", "\0", "\ud800", "<flat index ", ">"]
LEAVES = {
    "a": 1,
    "b": [1.5, "x", True, None, 1j, Mode.FAST],
    "c": decimal.Decimal(1),
    "d": datetime.date(2020, 1, 1),
    "e": {"x"},
    "f": b"x",
}


@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join))
def test_any_text_is_an_override_or_an_error(text):
    """Of a path, a value or both: nothing but `EditError` and `PathError` is raised."""
    for override in (text, f"{text}=1", *(f"{name}={text}" for name in LEAVES)):
        with contextlib.suppress(EditError, PathError):
            lw.override(LEAVES, override)


def test_an_override_that_adds_a_name_to_a_list():
    """It is refused with the place."""
    with pytest.raises(
        EditError, match=r"^override '\+a\.b=1': cannot insert .* at a$"
    ):
        lw.override({"a": [1]}, "+a.b=1")


def test_the_end_of_a_list():
    """`[+]` appends, also to a list that it creates."""
    tree = {"a": [1, 2], "c": {}, "d": None}
    assert lw.override(tree, "a[+]=9")["a"] == [1, 2, 9]
    assert lw.override(tree, "+a[+]=9")["a"] == [1, 2, 9]
    assert lw.override(tree, "+d[+]=9")["d"] == [9]
    assert lw.override(tree, "+e[+].x=9")["e"] == [{"x": 9}]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("~", None), ("null", None), ("Null", None), ("NULL", None), ("TRUE", True),
        ("False", False), (".inf", math.inf), ("+.INF", math.inf), ("-.Inf", -math.inf),
        ("[~, .5]", [None, 0.5]), ("1_000", 1000), ("0x1f", 31), ("0o17", 15),
        ("yes", "yes"), ("017", "017"), ("2024-01-01", "2024-01-01"), ("", ""),
        ("'~'", "~"), ('"null"', "null"), ("nULL", "nULL"), ("12:30", "12:30"),
    ],
)  # fmt: skip
def test_added_values_are_read_as_in_yaml(text, value):
    """Whatever stands beside them; except for octal numbers, dates and empty texts."""
    assert lw.override({"a": "b"}, f"+x={text}") == {"a": "b", "x": value}
    assert type(guess(text)) is type(value)


# -------------------------------------------------------------- texts without quotes


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[a,b]", ["a", "b"]),
        ("{x:2}", {"x": 2}),
        ("[]", []),
        ("{}", {}),
        ("[a, b c , {x: 1, y: null}]", ["a", "b c", {"x": 1, "y": None}]),
        ("[[a], [[]], {k: []}]", [["a"], [[]], {"k": []}]),
        ("[a,]", ["a"]),
        ("[1, 1e3, .5, -2, 0x10, a]", [1, 1000.0, 0.5, -2, 16, "a"]),
        ("[true, True, null, None, a]", [True, True, None, None, "a"]),
        ("[yes, on, 007, 1.2.3, 10%]", ["yes", "on", "007", "1.2.3", "10%"]),
        ("['a, b', \"c]\", it's, '1']", ["a, b", "c]", "it's", "1"]),
        (r"[a\,b, c\:d, \[e\], f\ , C:\dir]", ["a,b", "c:d", "[e]", "f ", r"C:\dir"]),
        ("{url: http://a:80/b, 'k 2': v w}", {"url": "http://a:80/b", "k 2": "v w"}),
        ("{1: a, 2.5: b}", {1: "a", 2.5: "b"}),
        ("[${a.b}, {x: ${c:d}}]", ["${a.b}", {"x": "${c:d}"}]),
        ("[a=b, x@y, /p/q.r, *.py, $HOME]", ["a=b", "x@y", "/p/q.r", "*.py", "$HOME"]),
        ("\n[ a ,\n\tb ]\n", ["a", "b"]),
    ],
)  # fmt: skip
def test_words_need_no_quotes(text, value):
    """In lists and dicts, nested as well."""
    assert guess(text) == value
    assert repr(guess(text)) == repr(value)
    assert lw.override({}, f"+a={text}") == {"a": value}
    assert lw.override({"a": None}, f"a={text}") == {"a": value}


DEEP = pytest.mark.needs("stack")


@pytest.mark.parametrize(
    "text",
    [
        "[a", "a]", "[a]b", "[,]", "[a,,b]", "[,a]", "{a}", "{a:}", "{:a}", "{a b}",
        "[a}", "{a:[}]", "[f(x)]", "['a' b]", "['a]", "[a[0]]", "{a:b,}c", "[a-z]+",
        "['\\x']", "[\\",
        pytest.param("[" * 20_000, marks=DEEP), pytest.param("[a," * 5_000, marks=DEEP),
        pytest.param("{a:" * 5_000 + "}", marks=DEEP),
    ],
)  # fmt: skip
def test_anything_else_is_a_string(text):
    """As it is written, when it is added; an error where a list is to be replaced."""
    assert guess(text) == text
    with pytest.raises(EditError, match="cannot replace the list;"):
        lw.override({"a": ["b"]}, f"a={text}")


WORDS = st.text("abcxyz_-/.$%@+*", min_size=1).filter(
    lambda word: type(guess(word)) is str
)
VALUES = st.recursive(
    WORDS | st.integers() | st.booleans() | st.none() | st.floats(allow_nan=False),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3)
    ),
)


def unquoted(value):
    """Return a value as a text without quotes."""
    if isinstance(value, dict):
        pairs = [f"{key}: {unquoted(item)}" for key, item in value.items()]
        return f"{{{','.join(pairs)}}}"
    if isinstance(value, list):
        return f"[{', '.join(unquoted(item) for item in value)}]"
    return value if isinstance(value, str) else json.dumps(value)


@given(VALUES)
def test_what_is_written_without_quotes_is_read(value):
    """Words, numbers, lists and dicts; with quotes they are the same."""
    assert repr(guess(unquoted(value))) == repr(value)
    assert repr(guess(json.dumps(value))) == repr(value)


@given(st.text("[]{},:'\"\\ a1$(\n", max_size=12))
def test_any_text_is_a_value(text):
    """Of JSON's types, or the text itself; or a dict has equal keys."""
    try:
        value = guess(text)
    except EditError:
        return
    assert isinstance(value, str | int | list | dict | tuple | set)
    if isinstance(value, list | dict) and "\\" not in text:
        assert repr(guess(f"[{text}]")) == repr([value])


def test_a_text_is_no_function():
    """Where a value is a function, an override by its name is refused."""
    with pytest.raises(EditError, match="is not a builtin_function"):
        lw.override({"function": len}, ["function=print"])


@pytest.mark.parametrize(
    "text",
    [
        "1",
        "-2",
        "+3",
        "0.1",
        ".5",
        "1.",
        "1e3",
        "1e-3",
        "-0.5E+2",
        "0x10",
        "0o17",
        "true",
        "false",
        "True",
        "null",
        ".inf",
        "-.inf",
        ".nan",
        "1_000",
        "3.10",
        "a",
        "a b",
        "a-b",
        "1.2.3",
        "yes",
        "on",
        "off",
        "10%",
        "http://a:80/b",
        "'1'",
        '"1"',
        "'a, b'",
        "[]",
        "{}",
        "[a, 1]",
        "[[1], {a: b c}]",
        "{a: [x]}",
        "[null, true, 1.5, '1']",
        "{a: {b: 1}}",
        "[\"x\", 'y']",
    ],
)
def test_an_added_value_is_read_as_in_yaml(text, tmp_path):
    """Numbers, constants, lists and dicts are; anything else is a string."""
    pytest.importorskip("ruamel.yaml")
    file = tmp_path / "a.yaml"
    file.write_text(f"a: {text}\n")
    assert repr(lw.override({"b": "x"}, f"+a={text}")["a"]) == repr(lw.read(file)["a"])
