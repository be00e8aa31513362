"""Changes written as text."""

import contextlib
import datetime
import decimal
import enum
import re
import zoneinfo
from collections import OrderedDict
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leafwise as lw


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
    "pair": (0.1, 0.2),
    "table": {"a": 1, "b": "x"},
    "optim": Optim(0.1),
    "array": np.zeros(2),
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("flag=false", False), ("flag=Off", False), ("flag=1", True),
        ("int=7", 7), ("int=-0x10", -16), ("int=1_000", 1000), ("int=007", 7),
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
        ("widths=null", None),
        ("pair=[1, 0.5]", (1.0, 0.5)), ("pair=(1, 2)", (1.0, 2.0)),
        ('table={"a": 2, "c": []}', {"a": 2, "c": []}),
    ],
)  # fmt: skip
def test_values_are_cast_to_what_they_replace(text, value):
    """By the type of the leaf, not by what the text looks like."""
    name = text.partition("=")[0]
    made = lw.selection.override(CONFIG, [text])[name]
    assert made == value
    assert type(made) is type(value)


WRONG = """
flag=maybe | is not a bool; the value at ['flag'] is True
int=1.5 | is not an int; the value at ['int'] is 3
int=1e3 | is not an int; the value at ['int'] is 3
float=true | is not a float; the value at ['float'] is 0.5
mode=SLOW | is not a Mode; the value at ['mode'] is <Mode.FAST: 'fast'>
widths=[1.5] | cannot replace the list at ['widths'], [64, 32]
widths=64 | cannot replace the list at ['widths'], [64, 32]
widths=wide | cannot replace the list at ['widths'], [64, 32]
table={"a": "x"} | cannot replace the dict at ['table'], {'a': 1, 'b': 'x'}
array=[1, 2] | is not a ndarray; the value at ['array'] is array([0., 0.])
"""


@pytest.mark.parametrize(
    ("text", "shown"), [line.split(" | ") for line in WRONG.strip().splitlines()]
)
def test_what_is_not_of_the_sort_is_refused(text, shown):
    """With the text, the place and what is there."""
    with pytest.raises(lw.EditError) as error:
        lw.selection.override(CONFIG, [text])
    value = text.partition("=")[2]
    assert str(error.value) == f"override {text!r}: {value!r} {shown}"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("flag", "expected path=value, +path=value, ++path=value or ~path"),
        ("+flag=1", "['flag'] already exists"),
        ("+new.*.x=1", "'*' has no match and is not a name for a new key"),
        ("+int.x=1", "cannot insert into the leaf at ['int']"),
    ],
)
def test_what_is_no_override_is_refused(text, shown):
    """With the text, the place and what is there."""
    with pytest.raises(lw.EditError) as error:
        lw.selection.override(CONFIG, [text])
    assert str(error.value) == f"override {text!r}: {shown}"


EQUAL = """
{"a": 1, "a": 2} | 'a' and 'a'
{'a': 1, 'b': 2, 'a': 3} | 'a' and 'a'
{1: "a", True: "b"} | 1 and True
[{"b": {"c": 1, "c": 1}}] | 'c' and 'c'
"""


@pytest.mark.parametrize(
    ("value", "keys"), [line.split(" | ") for line in EQUAL.strip().splitlines()]
)
@pytest.mark.parametrize("where", ["none", "table", "+new", "++new"])
def test_dicts_with_equal_keys_are_refused(where, value, keys):
    """In JSON as in Python literals: one of the two values would be lost."""
    text = f"{where}={value}"
    with pytest.raises(lw.EditError) as error:
        lw.selection.override(CONFIG, text)
    assert str(error.value) == (
        f"override {text!r}: the value has a dict with equal keys, {keys}"
    )
    assert lw.selection.override(CONFIG, f"text={value}")["text"] == value


def test_what_is_not_there_is_a_path_error():
    """With what is near."""
    with pytest.raises(lw.PathError) as error:
        lw.selection.override(CONFIG, ["optim.lrr=1"])
    assert str(error.value) == (
        "override 'optim.lrr=1': no match for 'optim.lrr': the Optim at "
        "['optim'] has .lr, .steps; use +optim.lrr=1 to add it"
    )
    with pytest.raises(lw.PathError, match=r"override 'a\.=1': not a pattern"):
        lw.selection.override({}, "a.=1")


def test_adding_and_taking_away():
    """New values are read as what they look like."""
    config = {"a": 1, "b": [1, 2]}
    assert lw.selection.override(config, "+c.d.e=1e-3") == {
        **config,
        "c": {"d": {"e": 1e-3}},
    }
    assert lw.selection.override(config, "+b[2]=yes") == {"a": 1, "b": [1, 2, "yes"]}
    assert lw.selection.override(config, ["++a=5", "++f=null"]) == {
        "a": 5,
        "b": [1, 2],
        "f": None,
    }
    assert lw.selection.override(config, ["~a", "~b[0]"]) == {"b": [2]}
    assert lw.selection.override(None, "+a.b=1") == {"a": {"b": 1}}
    nothing = {"x": {"opt": None}, "y": {"opt": None}}
    assert lw.selection.override(nothing, "+*.opt.lr=1") == {
        "x": {"opt": {"lr": 1}},
        "y": {"opt": {"lr": 1}},
    }
    with pytest.raises(lw.EditError, match=r"at position 7: \['b'\] has 2 items"):
        lw.selection.override(config, "+b[7]=1")
    with pytest.raises(lw.PathError, match=r"no match for '\*\.lr': [^;]*$"):
        lw.selection.override(config, "*.lr=1")
    assert config == {"a": 1, "b": [1, 2]}


def test_patterns_sorts_of_nodes_and_order():
    """A pattern sets many leaves, each by its type; later texts see earlier ones."""
    config = {"x": {"lr": 1}, "y": {"lr": 1.0}, "o": OrderedDict(b=1), "k": {"a=b": 1}}
    made = lw.selection.override(
        config, ["**.lr=2", "['k']['a=b']=5", "o={'c': 2}", "~x"]
    )
    assert made == {"y": {"lr": 2.0}, "o": OrderedDict(c=2), "k": {"a=b": 5}}
    assert type(made["y"]["lr"]) is float
    assert type(made["o"]) is OrderedDict
    optim = lw.selection.override(CONFIG, ["optim.lr=1", "optim.steps=5"])["optim"]
    assert (optim.lr, optim.steps) == (1.0, 5)


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
    made = lw.selection.override({"x": value}, f"x={value!r}")["x"]
    assert made == value
    assert type(made) is type(value)


@given(st.text())
def test_any_text_is_a_text_in_quotes(text):
    """Also one that looks like a number, null, or something with an `=`."""
    assert lw.selection.override({"x": "old"}, f"x={text!r}") == {"x": text}


def test_a_written_mapping_has_the_keys_that_are_written():
    """Also where the values are those of the old one, and for keys that are equal."""
    assert lw.selection.override({"d": {"a": 1}}, ['d={"b": 1}']) == {"d": {"b": 1}}
    assert lw.selection.override({"d": {"a": 1, "b": 1}}, 'd={"b": 1, "a": 1}') == {
        "d": {"b": 1, "a": 1}
    }
    found = lw.selection.override(
        {"d": {"a": None, "b": None}}, 'd={"b": null, "a": null}'
    )
    assert [*found["d"]] == ["b", "a"]
    assert (
        repr(lw.selection.override({"d": {1: "x"}}, "d={True: 'x'}"))
        == "{'d': {True: 'x'}}"
    )
    base = {"d": {"a": 1}}
    assert lw.selection.override(base, 'd={"a": 1}')["d"] is base["d"]


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
    found = lw.selection.override({"a": old}, f"a={text}")["a"]
    assert found == new
    assert type(found) is type(old)


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
    with pytest.raises(lw.EditError) as caught:
        lw.selection.override({"a": {"b": old}}, f"a.b={text}")
    kind = re.escape(type(old).__name__)
    where = re.escape("; the value at ['a']['b'] is ")
    assert re.search(f" is not an? {kind}{where}", str(caught.value))
    assert len(str(caught.value)) < 250


PIECES = [*"ab[]'.=+~*{}:-1 "]
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
        with contextlib.suppress(lw.EditError, lw.PathError):
            lw.selection.override(LEAVES, override)


@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join))
def test_any_text_is_the_name_of_a_leaf_or_an_error(text):
    """In a flat table, too."""
    with contextlib.suppress(lw.EditError, lw.PathError):
        flat = lw.selection.to_flat(lw.selection.from_flat({text: 1}))
        assert [*flat.values()] == [1]
